"""Which rank can each system have, as a picture?"""

from __future__ import annotations

from typing import Any

from trueness.evals.ranks import Leaderboard, leaderboard_figure
from trueness.plots._source import drawn


def leaderboard(found: Leaderboard, *, title: str = "", ax: Any = None) -> Any:
    """How often does each system pass, and which ranks can it have? A chart.

    Parameters
    ----------
    found
        From :func:`trueness.leaderboard`.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    return drawn(leaderboard_figure(found), title, ax)
