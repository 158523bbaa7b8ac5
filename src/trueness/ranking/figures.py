"""What do the figures of a ranking show? Of tallies by name, without ink."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri

from trueness._core.arrays import Floats
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
from trueness.counts.values import Tally
from trueness.ranking import curves
from trueness.ranking.areas import auc
from trueness.ranking.bands import precision_recall_band, roc_band
from trueness.ranking.gaussian import BinormalFit
from trueness.ranking.geometry import leakage
from trueness.ranking.planning import Plan, outlook

FPR = Axis("fpr", "False positive rate")
TPR = Axis("tpr", "True positive rate (recall)")
RECALL = Axis("recall", "Recall (true positive rate)")
PRECISION = Axis("precision", "Precision")
FLAGGED = Axis("flagged_rate", "Share of all cases flagged")
SPECIFICITY = Axis("u", "Specificity u")
MISSED = Axis("G", "Miss rate G(u)")
Tallies = Mapping[str, Tally]
_DIAGONAL = ([0, 1], [0, 1])


def roc_figure(
    tallies: Tallies, *, band: str | None = None, points: int = POINTS, **asked: Any
) -> Curves:
    """Which true positive rate costs which false positive rate?

    ``band`` is a kind of :func:`trueness.roc_band`, and ``asked`` goes there.
    """
    lines = _lines(_each(tallies, curves.roc), FPR, TPR, points)
    bands = _bands(tallies, roc_band, FPR, band, asked)
    return Curves("ROC curve", FPR, TPR, lines, bands, (guide(FPR, TPR, *_DIAGONAL),))


def precision_recall_figure(
    tallies: Tallies, *, band: str | None = None, points: int = POINTS, **asked: Any
) -> Curves:
    """Which precision is left at which recall?"""
    lines = _lines(_each(tallies, curves.precision_recall), RECALL, PRECISION, points)
    bands = _bands(tallies, precision_recall_band, RECALL, band, asked)
    shares = sorted({t.design.prevalence or t.prevalence for t in tallies.values()})
    chance = tuple(guide(RECALL, PRECISION, [0, 1], [p, p]) for p in shares)
    return Curves("Precision-recall curve", RECALL, PRECISION, lines, bands, chance)


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


def gain_figure(tallies: Tallies, *, points: int = POINTS) -> Curves:
    """Which share of the positives is among the cases with the highest scores?"""
    lines = _lines(_each(tallies, curves.gain_curve), FLAGGED, RECALL, points)
    chance = guide(FLAGGED, RECALL, *_DIAGONAL)
    return Curves("Cumulative gain", FLAGGED, RECALL, lines, guides=(chance,))


def lift_figure(tallies: Tallies, *, points: int = POINTS) -> Curves:
    """How many times more frequent are positives among the cases flagged?"""
    found = _each(tallies, curves.lift_curve)
    y = Axis("lift", "Lift", 0.0, max(float(c.lift.max()) for c in found.values()))
    lines, chance = _lines(found, FLAGGED, y, points), guide(FLAGGED, y, [0, 1], [1, 1])
    return Curves("Lift", FLAGGED, y, lines, guides=(chance,))


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
    edges = _even(min(s[-1] for s in known), max(s[0] for s in known), bins)
    neg, pos = (
        _each(
            tallies,
            lambda t, k: np.histogram(t.score, edges, weights=t.counts[k] + 0.0)[0],
            k=k,
        )
        for k in (0, 1)
    )
    return Bars("Scores", edges, neg, pos)


def _even(low: float, high: float, bins: int) -> Floats:
    """Put edges at even distances, also where the distance of the ends overflows."""
    largest = np.finfo(float).max
    if low == high:
        wide = max(0.5, abs(low) * 1e-9)
        low, high = max(low - wide, -largest), min(high + wide, largest)
    scale = 4.0 if max(abs(low), abs(high)) > largest / 4 else 1.0
    edges = np.linspace(low / scale, high / scale, bins + 1) * scale
    return np.clip(edges, low, high)


def auc_figure(tallies: Tallies, *, level: float = 0.95) -> Intervals:
    """How good is each ranking, and how sure are we? The AUCs under one another."""
    return intervals("AUC", "AUC", _each(tallies, auc, level=level))


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


def _lines(found: Mapping[str, Any], x: Axis, y: Axis, points: int) -> tuple[Line, ...]:
    """Draw curves by name, each with few points and their cuts."""
    most, lines = _options.whole_number(points, "points", at_least=2), []
    for name, c in found.items():
        kept = few_points(c.x, c.y / (y.high or 1.0), most, 0.0)
        columns = {x.name: c.x, y.name: c.y, "cut": c.threshold}
        lines.append(Line(name, {k: v[kept] for k, v in columns.items()}))
    return tuple(lines)


def _bands(
    tallies: Tallies,
    band: Callable[..., Any],
    x: Axis,
    kind: str | None,
    asked: Mapping[str, Any],
) -> tuple[Line, ...]:
    """Give the band of each curve, or none."""
    found = _each(tallies, band, kind=kind, **asked) if kind is not None else {}
    keys = (x.name, "low", "high")
    return tuple(Line(n, {k: getattr(b, k) for k in keys}) for n, b in found.items())


def _each(tallies: Tallies, ask: Callable[..., Any], **asked: Any) -> dict[str, Any]:
    return {name: ask(t, **asked) for name, t in tallies.items()}
