"""What do errors cost, and what is it worth to act? Figures that follow the cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from trueness.report import svg
from trueness.report._parts import Figure, Grid, grid
from trueness.report.inputs import Model, Wishes
from trueness.report.threshold import Band, band_marks, curve_figure, cut_text
from trueness.threshold.costs import (
    CostCurve,
    DecisionCurve,
    cost_curve,
    decision_curve,
)


def cost_figure(models: Sequence[Model], prices: tuple[float, float]) -> Figure:
    """Draw what the errors cost against how many cases are flagged."""
    fp, fn = prices
    steps, curves = [m.steps for m in models], []
    for s in steps:
        total = s.n_pos + s.n_neg
        cost = (fp * s.fp + fn * (s.n_pos - s.tp)) / total
        curves.append(((s.tp + s.fp) / total, cost))
    top = max(float(y.max()) for _, y in curves) * 1.05 or 1.0
    axes = svg.Axes("share of cases flagged", "cost per case", y=(0.0, top))
    marks = [svg.upright(axes, steps[0].flagged_rate, "now rule", "flagged_rate")]
    note = f"Lower is better; a false alarm costs {fp:g}, a missed positive {fn:.4g}."
    return curve_figure("Cost", axes, marks, steps, curves, "flagged_rate cost", note)


def decision_figure(models: Sequence[Model], wishes: Wishes) -> Figure | None:
    """Draw the net benefit of acting on scores that are probabilities."""
    found = [_decision(m, wishes.level) for m in models]
    known = [d for d in found if d is not None]
    if not known:
        return None
    best = max(float(d.net_benefit.max()) for d in known)
    top = 1.1 * max(best, known[0].prevalence)
    axes = svg.Axes(
        "act from this probability",
        "net benefit",
        (0.0, _reach(known)),
        (-top / 6, top),
    )
    cut = models[0].steps.threshold[models[0].steps.start]
    marks = [
        svg.line(axes, [0, 1], [0, 0], "chance"),
        *_everybody(axes, models[0].tally.prevalence),
        *band_marks(axes, ((k, _ends(d)) for k, d in enumerate(found) if d)),
        svg.upright(axes, float(cut), "now rule", "threshold"),
    ]
    curves = [d and (d.threshold, d.net_benefit) for d in found]
    note = (
        "Higher is better: true positives per case, less the false ones at the price "
        "that acting from this probability implies. Dashed: act on nobody (flat) or on "
        "everybody (falling)."
    )
    steps = [m.steps for m in models]
    return curve_figure(
        "Net benefit", axes, marks, steps, curves, "threshold net_benefit", note
    )


def _decision(m: Model, level: float) -> DecisionCurve | None:
    """Ask at the steps of the slider, so that its dot stays on the curve."""
    at = m.steps.threshold[m.steps.threshold < 1]
    if not m.is_probability or not at.size:
        return None
    return decision_curve(m.tally, threshold=np.maximum(at, 0.0), level=level)


def _reach(found: Sequence[DecisionCurve]) -> float:
    """Up to which probability is there anything to see?"""
    least = 0.02 * found[0].prevalence
    seen = [d.threshold[d.net_benefit > least] for d in found]
    last = max((float(x.max()) for x in seen if x.size), default=0.0)
    last = max(last, 2 * found[0].prevalence)
    return float(min(1.0, np.ceil(10 * last) / 10))


def _everybody(axes: svg.Axes, prevalence: float) -> list[Markup]:
    p = np.linspace(0, 0.99, 100)
    benefit = prevalence - (1 - prevalence) * p / (1 - p)
    return [svg.line(axes, p, benefit, "chance")]


def _ends(d: DecisionCurve) -> Band:
    return d.threshold, d.low, d.high


def weight_of(models: Sequence[Model], prices: tuple[float, float]) -> float:
    """Which share of the largest possible cost do missed positives make up?"""
    share = models[0].tally.prevalence
    alarm, miss = (1 - share) * prices[0], share * prices[1]
    return miss / (alarm + miss) if alarm + miss else 0.5


def weight_figure(models: Sequence[Model], wishes: Wishes) -> Figure:
    """Draw the smallest cost for every price of the errors, and the cost of the cut."""
    found = [cost_curve(m.tally, level=wishes.level) for m in models]
    axes = svg.Axes("weight of missed positives", "cost, share of largest", y=(0, 0.55))
    at = weight_of(models, wishes.prices)
    s = models[0].steps
    alarm, miss = s.fp[s.start] / s.n_neg, 1 - s.tp[s.start] / s.n_pos
    marks = [
        svg.line(axes, found[0].weight, found[0].trivial, "chance"),
        *band_marks(axes, enumerate((c.weight, c.low, c.high) for c in found)),
        *(
            svg.line(axes, c.weight, c.cost, f"curve c{k % 8}{_chosen(k)}", str(k))
            for k, c in enumerate(found)
        ),
        svg.tilted(axes, alarm, miss, "now rule", "fpr fnr"),
    ]
    now = at * miss + (1 - at) * alarm
    drawn = [
        svg.clipped(axes, marks),
        svg.dot(axes, at, now, "now", "weight weighted_cost"),
    ]
    note = (
        "Lower is better. The curve is the best cut for every weight of the two kinds "
        "of error, the straight line the cut of the slider: where they touch, that cut "
        f"is best. The dot is at the present weight, {at:.2g}; dashed: all or none."
    )
    return Figure(
        "Cost at any prices",
        svg.drawing(axes, drawn, f"Cost curve of {_names(models)}. {note}"),
        note,
        _weight_table(models, found),
    )


def _chosen(k: int) -> str:
    return "" if k else " chosen"


def _names(models: Sequence[Model]) -> str:
    return ", ".join(m.name for m in models)


def _weight_table(models: Sequence[Model], found: Sequence[CostCurve]) -> Grid:
    rows = [
        (
            m.name,
            float(c.weight[i]),
            cut_text(c.threshold[i]),
            *(float(v[i]) for v in (c.cost, c.low, c.high)),
        )
        for m, c in zip(models, found, strict=True)
        for i in range(0, c.weight.size, 10)
    ]
    head = ("classifier", "weight", "threshold", "cost", "from", "to")
    return grid("Cost at any prices", head, rows)
