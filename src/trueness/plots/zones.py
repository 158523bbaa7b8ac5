"""Where do yes and no end, what does a limit cost, how does a cut move, as pictures?"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness._core.numbers import percent
from trueness.counts.values import Tally
from trueness.plots._altair import ONE, spread
from trueness.plots._source import drawn
from trueness.plots._theme import COLOURS, alt, frame, styled
from trueness.ranking.figures import score_figure
from trueness.threshold.decisions import Decision
from trueness.threshold.figures import (
    decision_choice_figure,
    gap_price_figure,
    prevalence_figure,
)
from trueness.threshold.gap_prices import GapPrice
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.zone_validation import GuaranteedZones
from trueness.threshold.zones import Zones

_ZONES = ("no", "left to a person", "yes")


def zones(t: Tally, found: Zones | GuaranteedZones, *, title: str = "") -> Any:
    """How are the scores of the two classes spread over the three zones? A chart.

    Parameters
    ----------
    t
        The counts.
    found
        What :func:`trueness.best_thresholds` or :func:`trueness.guaranteed_thresholds`
        gave for them.
    title
        Shown above the figure.
    """
    scores = score_figure({ONE: t.labelled()})
    low, high = float(scores.edges[0]), float(scores.edges[-1])
    ends = np.clip([low, found.lower, found.upper, high], low, high)
    bands = {"from": ends[:-1].tolist(), "to": ends[1:].tolist(), "zone": list(_ZONES)}
    colours = alt.Scale(domain=list(_ZONES), range=["#eef2f7", "#fdf0d5", "#e3f1e4"])
    back = alt.Chart(frame(bands)).mark_rect(opacity=0.9)
    back = back.encode(
        x=alt.X("from:Q", title="Score"),
        x2="to:Q",
        fill=alt.Fill("zone:N", scale=colours, title=None, sort=list(_ZONES)),
    )
    lines = (
        alt.Chart(frame({"cut": ends[1:3].tolist()}))
        .mark_rule(color=COLOURS[1], strokeWidth=2)
        .encode(x="cut:Q")
    )
    about = (
        f"Scores of both classes: negative below {found.lower:.4g}, positive from "
        f"{found.upper:.4g} on, {percent(found.defer)} of the cases between."
    )
    return styled(alt.layer(back, spread(scores), lines), title, about)


def gap_price(found: GapPrice, *, title: str = "", ax: Any = None) -> Any:
    """What does each limit on the difference between groups cost? A chart.

    Parameters
    ----------
    found
        What :func:`trueness.gap_price` gave.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    return drawn(gap_price_figure(found), title, ax)


def prevalence_path(found: OperatingPoint, *, title: str = "", ax: Any = None) -> Any:
    """How does the best threshold move across a range of prevalences? A chart.

    Parameters
    ----------
    found
        What :func:`trueness.best_threshold` gave for ``prevalence=(low, high)``.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    return drawn(prevalence_figure(found), title, ax)


def best_decision(found: Decision, *, title: str = "", ax: Any = None) -> Any:
    """Which classifier should decide, and what to expect on new cases? A chart.

    Parameters
    ----------
    found
        What :func:`trueness.best_decision` gave.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    return drawn(decision_choice_figure(found), title, ax)
