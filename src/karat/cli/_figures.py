"""Which figures does the command line need beyond those of ``karat.plots``?

Drawn through that door: Altair is not imported here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from karat._doors import door
from karat._records import shown
from karat.confusion import Confusion
from karat.counts import Tally
from karat.expressions import constraints as read_constraints
from karat.planning import Plan, plan_auc
from karat.trees import LeafReport

_VERDICTS = {"trust": "circle", "thin": "triangle-up", "coin toss": "cross"}
_POINTS = 40


def plan_figure(found: Plan) -> Any:
    """Draw how the standard error of an AUC, or the power, depends on the cases."""
    theme = door("plots._theme")
    alt = theme.alt
    power = np.isfinite(found.null)
    sizes, values = _sizes(found, power)
    title = "Power" if power else "Half-width of the interval"
    reached = found.power if power else found.half_width
    x = alt.X("n:Q", title="Cases", scale=alt.Scale(zero=False))
    y = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False))
    line = alt.Chart(theme.frame({"n": sizes, "value": values})).mark_line(
        color=theme.COLOURS[0]
    )
    dot = alt.Chart(theme.frame({"n": [found.n], "value": [reached]})).mark_point(
        color=theme.COLOURS[1], filled=True, size=110, opacity=1
    )
    words = (
        f"{title} of an AUC of {found.auc:g} against the number of cases; {found.n:,} "
        f"are enough."
    )
    tips = [alt.Tooltip("n:Q", format=","), alt.Tooltip("value:Q", format=".4g")]
    layers = [layer.encode(x=x, y=y, tooltip=tips) for layer in (line, dot)]
    return theme.styled(alt.layer(*layers), "", words)


def _sizes(found: Plan, power: bool) -> tuple[list[int], list[float]]:
    """Plan for other goals around this one: each gives a point of the line."""
    keys = ("auc", "prevalence", "level", "method")
    about: dict[str, Any] = {k: getattr(found, k) for k in keys}
    if power:
        goals = np.linspace(max(0.1, 1 - found.level + 0.01), 0.995, _POINTS)
        plans = [plan_auc(**about, null=found.null, power=float(g)) for g in goals]
        return [p.n for p in plans], [p.power for p in plans]
    widths = found.half_width * np.geomspace(0.5, 2, _POINTS)
    plans = [plan_auc(**about, half_width=min(float(w), 0.99)) for w in widths]
    return [p.n for p in plans], [p.half_width for p in plans]


def guarantee_figure(t: Tally, bounds: list[str], c: Confusion) -> Any:
    """Draw the ROC plane with what is guaranteed, and the cut that has it."""
    theme, plane = door("plots._theme"), door("plots.operating")
    alt = theme.alt
    asked = read_constraints(bounds)
    place = {"fpr": [c.fp / t.n_neg], "tpr": [c.tp / t.n_pos]}
    dot = plane._plane(
        alt.Chart(theme.frame(place)).mark_point(
            color=theme.COLOURS[1], filled=True, size=110, opacity=1
        )
    )
    layers = [
        *plane._region(t, asked, t.prevalence),
        plane._diagonal(),
        plane._roc_line(t),
        dot,
    ]
    words = "ROC plane with the cut at which " + " and ".join(map(repr, asked))
    return theme.styled(alt.layer(*layers), "", f"{words} can be guaranteed.")


def leaves_figure(r: LeafReport) -> Any:
    """Draw the share of the majority in every leaf with its interval and verdict."""
    theme = door("plots._theme")
    alt = theme.alt
    names = [shown(n, 30) for n in r.node.tolist()]
    columns = {
        "leaf": names,
        "share": getattr(r, r.method),
        "low": r.low,
        "high": r.high,
        "confidence": r.confidence,
        "cases": r.n,
        "verdict": r.verdict,
    }
    known = list(_VERDICTS)
    colours = [theme.COLOURS[k] for k in (0, 4, 1)]
    y = alt.Y("leaf:N", title="Leaf", sort=names)
    base = alt.Chart(theme.frame(columns)).encode(
        y=y, color=alt.Color("verdict:N", scale=alt.Scale(domain=known, range=colours))
    )
    span = alt.Scale(domain=[0.5, 1])
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="Share of the majority", scale=span), x2="high:Q"
    )
    shapes = alt.Scale(domain=known, range=list(_VERDICTS.values()))
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("share:Q", scale=span),
        shape=alt.Shape("verdict:N", scale=shapes),
        tooltip=["leaf:N", "cases:Q", "share:Q", "confidence:Q", "verdict:N"],
    )
    trusted = int((r.verdict == "trust").sum())
    words = (
        f"Share of the majority in each of {r.node.size} leaves with its "
        f"{100 * r.level:g}% interval; {trusted} can be trusted."
    )
    height = min(1200, 40 + 18 * len(names))
    return theme.styled(alt.layer(bars, dots).properties(height=height), "", words)
