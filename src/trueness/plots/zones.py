"""Where do yes and no end, as a picture?"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness._core.numbers import cut_text, percent
from trueness.counts.values import Tally
from trueness.plots._altair import ONE, spread
from trueness.plots._theme import COLOURS, alt, frame, styled
from trueness.ranking.figures import score_figure
from trueness.threshold.rule import DEFERRED, rule_of

_ZONES = ("no", "left to a person", "yes")


def zones(t: Tally, found: Any, *, title: str = "") -> Any:
    """How are the scores of the two classes spread over the three zones? A chart.

    Parameters
    ----------
    t
        The counts.
    found
        A :class:`trueness.Rule`, or an answer that holds one, such as that of
        :func:`trueness.best_thresholds` or :func:`trueness.guaranteed_threshold`.
    title
        Shown above the figure.
    """
    scores = score_figure({ONE: t.labelled()})
    low, high = float(scores.edges[0]), float(scores.edges[-1])
    lower, upper = rule_of(found).cuts()
    ends = np.clip([low, lower, upper, high], low, high)
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
    share = percent(_deferred(t, found))
    about = (
        f"Scores of both classes: negative below {cut_text(lower)}, positive from "
        f"{cut_text(upper)} on, {share} of the cases between."
    )
    return styled(alt.layer(back, spread(scores), lines), title, about)


def _deferred(t: Tally, found: Any) -> float:
    judged = rule_of(found).verdicts(t.labelled())
    cases = judged.pos + judged.neg
    return float(cases[judged.score == DEFERRED].sum()) / float(cases.sum())
