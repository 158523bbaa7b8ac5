"""What do the figures of a ranking show? Of tallies by name, without ink."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.figures import (
    POINTS,
    Axis,
    Bars,
    Curves,
    Intervals,
    Line,
    few_points,
    guide,
    intervals,
)
from trueness._core.numbers import cut_text, percent
from trueness.counts.values import Tally
from trueness.ranking import curves
from trueness.ranking.areas import auc
from trueness.ranking.bands import precision_recall_band, roc_band
from trueness.ranking.geometry import leakage
from trueness.ranking.models import BinormalFit
from trueness.ranking.planning import Plan, outlook

FPR = Axis("fpr", "False positive rate")
TPR = Axis("tpr", "True positive rate (recall)")
RECALL = Axis("recall", "Recall (true positive rate)")
PRECISION = Axis("precision", "Precision")
FLAGGED = Axis("flagged_rate", "Proportion of all cases flagged")
SPECIFICITY = Axis("u", "Specificity u")
MISSED = Axis("G", "Miss rate G(u)")
Tallies = Mapping[str, Tally]
_DIAGONAL = ([0, 1], [0, 1])


# title, curve, band and axes of what is drawn by its name
_CURVES: dict[str, tuple[str, Callable[[Tally], curves.Curve], Any, Axis, Axis]] = {
    "roc": ("ROC curve", curves.roc, roc_band, FPR, TPR),
    "precision_recall": (
        *("Precision-recall curve", curves.precision_recall, precision_recall_band),
        *(RECALL, PRECISION),
    ),
    "gain": ("Cumulative gain", curves.gain_curve, None, FLAGGED, RECALL),
    "lift": ("Lift", curves.lift_curve, None, FLAGGED, Axis("lift", "Lift")),
}


def curve_figure(
    kind: str,
    tallies: Tallies,
    *,
    band: str | None = None,
    points: int = POINTS,
    **asked: Any,
) -> Curves:
    """Which rate costs which other one? A kind of ``_CURVES``, with chance as a guide.

    ``band`` is a kind of :func:`trueness.roc_band`, and ``asked`` goes there.
    """
    title, curve, make, x, y = _CURVES[kind]
    found = {name: curve(t) for name, t in tallies.items()}
    chance: tuple[Any, ...] = (_DIAGONAL,)
    if kind == "lift":
        chance, top = (([0, 1], [1, 1]),), max(float(c.y.max()) for c in found.values())
        y = Axis(y.name, y.title, 0.0, top)
    elif kind == "precision_recall":
        shares = sorted({t.design.prevalence or t.prevalence for t in tallies.values()})
        chance = tuple(([0, 1], [p, p]) for p in shares)
    most, lines, bands = _options.whole_number(points, "points", at_least=2), [], []
    for name, c in found.items():
        kept = few_points(c.x, c.y / (y.high or 1.0), most, 0.0)
        columns = {x.name: c.x, y.name: c.y, "cut": c.threshold}
        lines.append(Line(name, {k: v[kept] for k, v in columns.items()}))
    for name, t in tallies.items() if band is not None else ():
        b = make(t, band=band, **asked)
        bands.append(Line(name, {x.name: b.x, "low": b.low, "high": b.high}))
    guides = tuple(guide(x, y, *ends) for ends in chance)
    return Curves(title, x, y, tuple(lines), tuple(bands), guides)


# rates of 0 and 1 are infinite on probit axes: they are drawn at this one
_LEAST = 1e-4
_RATES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)


def det_figure(tallies: Tallies, *, points: int = POINTS) -> Curves:
    """Which miss rate is traded for which false alarm rate, on probit axes?"""
    end = float(ndtri(0.999))
    ticks = tuple((float(ndtri(r)), f"{r:g}") for r in _RATES)
    x = Axis("x", "False positive rate", -end, end, ticks)
    y = Axis("y", "Miss rate (false negative rate)", -end, end, ticks)
    lines = []
    for name, t in tallies.items():
        few = curves.simplify(curves.det(t), points=points)
        across, up = (ndtri(np.clip(r, _LEAST, 1 - _LEAST)) for r in (few.fpr, few.fnr))
        lines.append(Line(name, {"x": across, "y": up, "cut": few.threshold}))
    chance = guide(x, y, [-end, end], [end, -end])
    return Curves("DET curve", x, y, tuple(lines), guides=(chance,))


def leakage_figure(tallies: Tallies) -> Curves:
    """Which share of the positives is missed at which specificity?"""
    lines = []
    for name, t in tallies.items():
        few = curves.simplify(curves.roc(t), points=POINTS)
        columns = {"u": 1 - few.fpr, "G": 1 - few.tpr, "cut": few.threshold}
        lines.append(Line(f"{name}: area {leakage(t).area:.3f}", columns))
    chance = guide(SPECIFICITY, MISSED, *_DIAGONAL)
    what = "Leakage function"
    return Curves(what, SPECIFICITY, MISSED, tuple(lines), guides=(chance,))


def leakage_and_roc_figure(t: Tally) -> Curves:
    """Return y = G(x), y = 1 - G(1 - x) and the area under G, in one plane."""
    area = leakage(t).area
    roc_curve = curves.simplify(curves.roc(t), points=POINTS)
    x = Axis("x", "x: specificity (G), false positive rate (ROC)")
    y = Axis("y", "y: miss rate (G), true positive rate (ROC)")
    # G runs from the highest false positive rate to the lowest
    specificity, miss_rate = 1 - roc_curve.fpr[::-1], 1 - roc_curve.tpr[::-1]
    under_g = {"x": specificity, "low": 0 * miss_rate, "high": miss_rate}
    return Curves(
        "Leakage function and ROC curve",
        x,
        y,
        lines=(
            Line(
                f"ROC curve y = 1 - G(1 - x): area {1 - area:.3f}",
                {"x": roc_curve.fpr, "y": roc_curve.tpr, "cut": roc_curve.threshold},
            ),
            Line(
                "leakage function y = G(x)",
                {
                    "x": specificity,
                    "y": miss_rate,
                    "cut": roc_curve.threshold[::-1],
                },
            ),
        ),
        bands=(Line(f"Pr(x_p <= x_n) = {area:.3f}", under_g),),
        guides=(guide(x, y, *_DIAGONAL, "random classifier"),),
    )


def binormal_figure(t: Tally, fit: BinormalFit) -> Curves:
    """Does a binormal curve fit? The curve of the data and the fitted one."""
    few, c = curves.simplify(curves.roc(t), points=POINTS), fit.curve
    # the fitted curve is steepest near 0, where it needs more points
    fpr = np.union1d(np.linspace(0, 1, 201), np.geomspace(1e-6, 0.01, 50))
    name = f"binormal: alpha {c.alpha:.2f}, b {c.b:.2f}, AUC {c.auc:.3f}"
    lines = (
        Line(f"data, AUC {1 - leakage(t).area:.3f}", {"fpr": few.fpr, "tpr": few.tpr}),
        Line(name, {"fpr": fpr, "tpr": c.tpr(fpr)}),
    )
    return Curves("ROC curve", FPR, TPR, lines, guides=(guide(FPR, TPR, *_DIAGONAL),))


def score_figure(tallies: Tallies, bins: int = 40) -> Bars:
    """How are the scores of negatives and of positives spread, between equal edges?"""
    bins = _options.whole_number(bins, "bins", at_least=1)
    known = [t.score for t in tallies.values() if len(t)]
    if not known:
        raise NotEnoughCases("A figure of scores needs at least one case; found none.")
    low, high = min(s[-1] for s in known), max(s[0] for s in known)
    largest = np.finfo(float).max
    if low == high:
        wide = max(0.5, abs(low) * 1e-9)
        low, high = max(low - wide, -largest), min(high + wide, largest)
    # even distances, also where the distance of the ends overflows
    scale = 4.0 if max(abs(low), abs(high)) > largest / 4 else 1.0
    even = np.linspace(low / scale, high / scale, bins + 1) * scale
    edges = np.clip(even, low, high)
    neg, pos = (
        {name: np.histogram(t.score, edges, weights=t.counts[k] + 0.0)[0]
         for name, t in tallies.items()}
        for k in (0, 1)
    )  # fmt: skip
    return Bars("Scores", edges, neg, pos)


def threshold_figure(t: Tally, threshold: float, bins: int = 40) -> Curves:
    """Return the scores of both classes in four areas, which a threshold separates.

    Sameni (2025), Fig. 1 and eqs. (4) to (7). The threshold is an edge of the bins, so
    that no bin is on both sides.
    """
    bins = _options.whole_number(bins, "bins", at_least=1)
    t = t.labelled()
    _cases.both_classes(t, "score_distributions")
    low, high = min(float(t.score[-1]), threshold), max(float(t.score[0]), threshold)
    width = (high - low) / bins or 1.0
    below = int(np.ceil((threshold - low) / width))
    above = int(np.floor((high - threshold) / width)) + 1
    steps = np.arange(-below, above + 1, dtype=np.float64)
    edges = threshold + width * steps

    flagged = t.score >= threshold
    x = Axis("score", "Score", float(edges[0]), float(edges[-1]))
    areas = []
    for count, n, names in (
        (t.neg, t.n_neg, ("true negatives", "false positives")),
        (t.pos, t.n_pos, ("false negatives", "true positives")),
    ):
        for name, side in zip(names, (~flagged, flagged), strict=True):
            proportion = count[side].sum() / n
            label = f"{name}: {percent(float(proportion))} of the class"
            heights = np.asarray(
                np.histogram(t.score[side], edges, weights=count[side] / n)[0],
                dtype=np.float64,
            )
            areas.append(_area_of_bins(label, edges, heights))
    top = max(float(area["high"].max()) for area in areas)
    y = Axis("share", "Proportion of each class", 0.0, 1.05 * top)
    rule = (f"threshold {cut_text(threshold)}", threshold)
    what = "Scores of both classes and four decisions"
    return Curves(what, x, y, bands=tuple(areas), rules=(rule,))


def _area_of_bins(name: str, edges: Floats, heights: Floats) -> Line:
    """Return a histogram as an area."""
    outline = np.concatenate([[0.0], heights.repeat(2), [0.0]])
    columns = {"score": edges.repeat(2), "low": 0 * outline, "high": outline}
    return Line(name, columns)


def auc_figure(tallies: Tallies, *, level: float = 0.95) -> Intervals:
    """How good is each ranking, and how sure are we? The AUCs under one another."""
    each = {name: auc(t, level=level) for name, t in tallies.items()}
    return intervals("AUC", "AUC", each)


def plan_figure(found: Plan) -> Curves:
    """What does a larger sample buy? Half-width, or power, against cases."""
    power = bool(np.isfinite(found.null))
    what = "Power" if power else "Half-width of the interval"
    n = np.geomspace(max(6, found.n / 3), 3 * found.n, 15).astype(int)
    n = np.union1d(n, [found.n])
    value = outlook(found, n.tolist())
    x = Axis("n", "Cases", float(n.min()), float(n.max()))
    y = Axis("value", what, float(value.min()), float(value.max()))
    here = float(value[n == found.n][0])
    dot = Line("these cases", {"n": np.array([found.n]), "value": np.array([here])})
    told = f"{what} of an AUC of {found.value:g}; {found.n:,} cases are enough"
    return Curves(told, x, y, (Line(what, {"n": n, "value": value}),), dots=(dot,))
