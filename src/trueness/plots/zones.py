"""Where do yes and no end, what does a limit cost, how does a cut move, as pictures?"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness.counts.values import Tally
from trueness.plots._theme import COLOURS, GREY, alt, frame, styled
from trueness.threshold.group_cuts import GapPrice
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.zone_validation import GuaranteedZones
from trueness.threshold.zones import Zones

_BINS = 40
_ZONES = ("no", "a person looks", "yes")


def zones(t: Tally, found: Zones | GuaranteedZones, *, title: str = "") -> Any:
    """How are the scores of the two classes spread over no, doubt and yes? A chart.

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
    t = t.labelled()
    low, high = float(t.score[-1]), float(t.score[0])
    edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    columns: dict[str, list[Any]] = {"from": [], "to": [], "share": [], "class": []}
    for name, counts, n in (("negative", t.neg, t.n_neg), ("positive", t.pos, t.n_pos)):
        share, _ = np.histogram(t.score, edges, weights=counts / max(n, 1))
        columns["from"] += edges[:-1].tolist()
        columns["to"] += edges[1:].tolist()
        columns["share"] += share.tolist()
        columns["class"] += [name] * _BINS
    ends = np.clip([low, found.lower, found.upper, high], low, edges[-1])
    bands = frame(
        {"from": ends[:-1].tolist(), "to": ends[1:].tolist(), "zone": list(_ZONES)}
    )
    colours = alt.Scale(domain=list(_ZONES), range=["#eef2f7", "#fdf0d5", "#e3f1e4"])
    back = (
        alt.Chart(bands)
        .mark_rect(opacity=0.9)
        .encode(
            x=alt.X("from:Q", title="Score"),
            x2="to:Q",
            color=alt.Color("zone:N", scale=colours, title=None),
        )
    )
    bars = (
        alt.Chart(frame(columns))
        .mark_rect(opacity=0.55)
        .encode(
            x=alt.X("from:Q", title="Score"),
            x2="to:Q",
            y=alt.Y("share:Q", title="Share of the class"),
            y2=alt.datum(0),
            fill=alt.Fill(
                "class:N",
                scale=alt.Scale(
                    domain=["negative", "positive"], range=[GREY, COLOURS[0]]
                ),
                title=None,
            ),
        )
    )
    lines = (
        alt.Chart(frame({"cut": [float(ends[1]), float(ends[2])]}))
        .mark_rule(color=COLOURS[1], strokeWidth=2)
        .encode(x="cut:Q")
    )
    about = (
        f"Scores of both classes; no below {found.lower:.4g}, yes from "
        f"{found.upper:.4g} on, {100 * found.defer:.3g}% of the cases between."
    )
    return styled(alt.layer(back, bars, lines), title, about)


def gap_price(found: GapPrice, *, title: str = "") -> Any:
    """What does each step of a limit on differences between groups cost? A chart.

    Parameters
    ----------
    found
        What :func:`trueness.gap_price` gave.
    title
        Shown above the figure.
    """
    data = frame({"at": found.at, "value": found.value, "gap": found.gap})
    line = (
        alt.Chart(data)
        .mark_line(point=True, color=COLOURS[0])
        .encode(
            x=alt.X("at:Q", title=f"Largest {found.limit} that is allowed"),
            y=alt.Y("value:Q", title=found.objective, scale=alt.Scale(zero=False)),
            tooltip=[
                alt.Tooltip(f"{k}:Q", format=".4g") for k in ("at", "value", "gap")
            ],
        )
    )
    return styled(
        alt.layer(line), title, f"{found.objective} against the limit on {found.limit}."
    )


def prevalence_path(found: OperatingPoint, *, title: str = "") -> Any:
    """How does the best cut move across a range of prevalences? A chart.

    Parameters
    ----------
    found
        What :func:`trueness.best_threshold` gave for ``prevalence=(low, high)``.
    title
        Shown above the figure.
    """
    r = found.robust
    if r is None:
        return styled(alt.layer(alt.Chart(frame({"x": [0.0]})).mark_point()), title, "")
    keep = np.isfinite(r.path_threshold)
    data = frame(
        {"prevalence": r.path_prevalence[keep], "threshold": r.path_threshold[keep]}
    )
    scale = alt.Scale(zero=False)
    path = (
        alt.Chart(data)
        .mark_line(interpolate="step-after", color=COLOURS[0])
        .encode(
            x=alt.X("prevalence:Q", title="Prevalence of use", scale=scale),
            y=alt.Y("threshold:Q", title="Best cut", scale=scale),
        )
    )
    marks = {"worst case": found.threshold, "smallest regret": r.regret_threshold}
    finite = {k: v for k, v in marks.items() if np.isfinite(v)}
    rules = (
        alt.Chart(frame({"cut": list(finite.values()), "which": list(finite)}))
        .mark_rule(strokeDash=[5, 3], strokeWidth=2)
        .encode(
            y="cut:Q",
            color=alt.Color(
                "which:N",
                scale=alt.Scale(domain=list(marks), range=[COLOURS[1], GREY]),
                title=None,
            ),
        )
    )
    about = f"The best cut for each prevalence from {r.prevalence[0]:g} to " + (
        f"{r.prevalence[1]:g}; the cuts that are best in the worst case and in regret."
    )
    return styled(alt.layer(path, rules), title, about)
