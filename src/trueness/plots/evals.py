"""How often do systems pass, and which rank can each have, as a picture?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueness._core.records import Estimate
from trueness.evals.ranks import Leaderboard, rates_figure
from trueness.plots._source import drawn


def pass_rates(
    found: Leaderboard | Mapping[str, Estimate], *, title: str = "", ax: Any = None
) -> Any:
    """How often does each system pass, and which ranks can it have? A chart.

    Parameters
    ----------
    found
        From :func:`trueness.leaderboard`, or rates by name.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    return drawn(rates_figure(found), title, ax)
