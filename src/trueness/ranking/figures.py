"""Figure data of rankings: what figures of tallies show, before they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.figures import (
    POINTS,
    Axis,
    Bars,
    Curves,
    Intervals,
    Line,
    few_points,
    guide,
    histogram_area,
    intervals,
)
from trueness._core.numbers import cut_text, percent
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.ranking import curves
from trueness.ranking.areas import auc
from trueness.ranking.bands import Band, precision_recall_band, roc_band
from trueness.ranking.curves import Curve
from trueness.ranking.geometry import leakage
from trueness.ranking.models import BinormalFit
from trueness.ranking.planning import Plan, outlook
from trueness.ranking.risk_coverage import RiskCoverage

FPR = Axis("fpr", "False positive rate")
TPR = Axis("tpr", "True positive rate (recall)")
RECALL = Axis("recall", "Recall (true positive rate)")
PRECISION = Axis("precision", "Precision")
LIFT = Axis("lift", "Lift")
FLAGGED = Axis("flagged_rate", "Proportion of all cases flagged")
COVERAGE = Axis("coverage", "Coverage: proportion of cases decided")
RISK = Axis("risk", "Risk: error rate among these")
SPECIFICITY = Axis("u", "Specificity u")
MISSED = Axis("G", "Miss rate G(u)")
Tallies = Mapping[str, Tally]
_DIAGONAL = ([0, 1], [0, 1])


class _BandFunction(Protocol):
    """A function that computes the band around a curve of rates."""

    def __call__(
        self, data: Tally, /, *, band: str, level: float, rng: Seed, replicates: int
    ) -> Band:
        """Return a band of this kind and confidence level."""


@dataclass(frozen=True)
class _CurveKind:
    """How a kind of curve is computed, and the title and axes of its figure."""

    title: str
    curve: Callable[[Tally], Curve]
    x: Axis
    y: Axis
    band: _BandFunction | None = None


_CURVES = {
    "roc": _CurveKind("ROC curve", curves.roc, FPR, TPR, roc_band),
    "precision_recall": _CurveKind(
        "Precision-recall curve",
        curves.precision_recall,
        RECALL,
        PRECISION,
        precision_recall_band,
    ),
    "gain": _CurveKind("Cumulative gain", curves.gain_curve, FLAGGED, RECALL),
    "lift": _CurveKind("Lift", curves.lift_curve, FLAGGED, LIFT),
}


def curve_figure(
    kind: str,
    tallies: Tallies,
    *,
    band: str | None = None,
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 1000,
    points: int = POINTS,
) -> Curves:
    """Return a curve of rates for each classifier, with chance as a guide.

    ``kind`` is a name of ``_CURVES``. ``band``, ``level``, ``rng`` and ``replicates``
    are options of :func:`trueness.roc_band`; no band is drawn if ``band`` is None.
    """
    max_points = _options.whole_number(points, "points", at_least=2)
    curve_kind = _CURVES[kind]
    curve_by_name = {name: curve_kind.curve(tally) for name, tally in tallies.items()}
    x = curve_kind.x
    y = curve_kind.y
    if kind == "lift":
        # a lift has no upper bound: the axis ends at the highest curve
        highest = max(float(curve.y.max()) for curve in curve_by_name.values())
        y = replace(y, high=highest)

    lines = [
        _curve_line(name, curve, x, y, max_points)
        for name, curve in curve_by_name.items()
    ]
    bands = []
    if band is not None and curve_kind.band is not None:
        for name, tally in tallies.items():
            band_of_curve = curve_kind.band(
                tally, band=band, level=level, rng=rng, replicates=replicates
            )
            columns = {
                x.name: band_of_curve.x,
                "low": band_of_curve.low,
                "high": band_of_curve.high,
            }
            bands.append(Line(name, columns))

    return Curves(
        curve_kind.title,
        x,
        y,
        lines=tuple(lines),
        bands=tuple(bands),
        guides=_chance_lines(kind, tallies, x, y),
    )


def _curve_line(name: str, curve: Curve, x: Axis, y: Axis, max_points: int) -> Line:
    """Return a curve with its thresholds, at the points that show its shape best."""
    # both axes have the length 1 in the figure
    height = curve.y / (y.high or 1.0)
    shown = few_points(curve.x, height, max_points, 0.0)
    columns = {
        x.name: curve.x[shown],
        y.name: curve.y[shown],
        "cut": curve.threshold[shown],
    }
    return Line(name, columns)


def _chance_lines(kind: str, tallies: Tallies, x: Axis, y: Axis) -> tuple[Line, ...]:
    """Return the lines of a classifier that guesses."""
    if kind == "lift":
        return (guide(x, y, [0, 1], [1, 1]),)

    if kind == "precision_recall":
        # guessing has the precision of the prevalence, which may differ between tallies
        prevalences = {
            tally.design.prevalence or tally.prevalence for tally in tallies.values()
        }
        return tuple(
            guide(x, y, [0, 1], [prevalence, prevalence])
            for prevalence in sorted(prevalences)
        )

    return (guide(x, y, *_DIAGONAL),)


# rates of 0 and 1 are infinite on probit axes: they are drawn at this one
_LOWEST_RATE = 1e-4
# the rates that are written at the axes, and the rate at which both axes end
_RATES_AT_TICKS = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)
_RATE_AT_END = 0.999


def det_figure(tallies: Tallies, *, points: int = POINTS) -> Curves:
    """Return the detection error tradeoff: miss rate by false positive rate.

    Both axes are probit axes, on which Gaussian scores give a straight line.
    """
    # on axes of normal quantiles a binormal curve is a straight line
    end = float(ndtri(_RATE_AT_END))
    ticks = tuple((float(ndtri(rate)), f"{rate:g}") for rate in _RATES_AT_TICKS)
    x = Axis("x", "False positive rate", -end, end, ticks)
    y = Axis("y", "Miss rate (false negative rate)", -end, end, ticks)

    lines = []
    for name, tally in tallies.items():
        curve = curves.simplify(curves.det(tally), points=points)
        columns = {
            "x": _probit(curve.fpr),
            "y": _probit(curve.fnr),
            "cut": curve.threshold,
        }
        lines.append(Line(name, columns))

    chance = guide(x, y, [-end, end], [end, -end])
    return Curves("DET curve", x, y, tuple(lines), guides=(chance,))


def _probit(rate: Floats) -> Floats:
    """Return the normal quantiles of rates, which are clipped near 0 and 1."""
    return np.asarray(ndtri(np.clip(rate, _LOWEST_RATE, 1 - _LOWEST_RATE)))


def risk_coverage_figure(curve: RiskCoverage) -> Curves:
    """Return the error rate of the most confident cases by their proportion."""
    shown = few_points(curve.coverage, curve.risk, POINTS, 0.0)
    line = {"coverage": curve.coverage[shown], "risk": curve.risk[shown]}
    band = {
        "coverage": curve.coverage[shown],
        "low": curve.low[shown],
        "high": curve.high[shown],
    }
    highest = float(np.nanmax(curve.high[shown], initial=1e-3))
    name = f"AURC {curve.aurc.value:.3f}"
    return Curves(
        "Risk and coverage",
        COVERAGE,
        replace(RISK, high=min(highest, 1.0)),
        lines=(Line(name, line),),
        bands=(Line(name, band),),
    )


def leakage_figure(tallies: Tallies) -> Curves:
    """Return the leakage function: the miss rate at each specificity."""
    lines = []
    for name, tally in tallies.items():
        curve = curves.simplify(curves.roc(tally), points=POINTS)
        columns = {"u": 1 - curve.fpr, "G": 1 - curve.tpr, "cut": curve.threshold}
        lines.append(Line(f"{name}: area {leakage(tally).area:.3f}", columns))

    return Curves(
        "Leakage function",
        SPECIFICITY,
        MISSED,
        lines=tuple(lines),
        guides=(guide(SPECIFICITY, MISSED, *_DIAGONAL),),
    )


def leakage_and_roc_figure(t: Tally) -> Curves:
    """Return y = G(x), y = 1 - G(1 - x) and the area under G, in one plane."""
    area = leakage(t).area
    roc_curve = curves.simplify(curves.roc(t), points=POINTS)
    x = Axis("x", "x: specificity (G), false positive rate (ROC)")
    y = Axis("y", "y: miss rate (G), true positive rate (ROC)")

    # G runs from the highest false positive rate to the lowest
    specificity = 1 - roc_curve.fpr[::-1]
    miss_rate = 1 - roc_curve.tpr[::-1]
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
                {"x": specificity, "y": miss_rate, "cut": roc_curve.threshold[::-1]},
            ),
        ),
        bands=(Line(f"Pr(x_p <= x_n) = {area:.3f}", under_g),),
        guides=(guide(x, y, *_DIAGONAL, "random classifier"),),
    )


def binormal_figure(t: Tally, fit: BinormalFit) -> Curves:
    """Return the ROC curve of the data and the fitted binormal curve."""
    observed = curves.simplify(curves.roc(t), points=POINTS)
    observed_name = f"data, AUC {1 - leakage(t).area:.3f}"

    fitted = fit.curve
    fitted_name = (
        f"binormal: alpha {fitted.alpha:.2f}, b {fitted.b:.2f}, AUC {fitted.auc:.3f}"
    )
    # the fitted curve is steepest near 0, where it needs more points
    fpr = np.union1d(np.linspace(0, 1, 201), np.geomspace(1e-6, 0.01, 50))

    return Curves(
        "ROC curve",
        FPR,
        TPR,
        lines=(
            Line(observed_name, {"fpr": observed.fpr, "tpr": observed.tpr}),
            Line(fitted_name, {"fpr": fpr, "tpr": fitted.tpr(fpr)}),
        ),
        guides=(guide(FPR, TPR, *_DIAGONAL),),
    )


def score_figure(tallies: Tallies, bins: int = 40) -> Bars:
    """Return histograms of the scores of both classes, over bins of equal width."""
    bins = _options.whole_number(bins, "bins", at_least=1)
    not_empty = [tally for tally in tallies.values() if len(tally)]
    if not not_empty:
        raise NotEnoughCases("A figure of scores needs at least one case; found none.")

    # scores are sorted, highest first
    lowest_score = min(tally.score[-1] for tally in not_empty)
    highest_score = max(tally.score[0] for tally in not_empty)
    edges = _equal_edges(lowest_score, highest_score, bins)
    return Bars(
        "Scores",
        edges,
        neg={
            name: _histogram(tally.score, tally.neg, edges)
            for name, tally in tallies.items()
        },
        pos={
            name: _histogram(tally.score, tally.pos, edges)
            for name, tally in tallies.items()
        },
    )


def _equal_edges(low: float, high: float, bins: int) -> Floats:
    """Return the edges of bins of equal width between two scores."""
    largest_float = np.finfo(float).max
    if low == high:
        # bins must be wide enough for floats of this size
        half_width = max(0.5, abs(low) * 1e-9)
        low = max(low - half_width, -largest_float)
        high = min(high + half_width, largest_float)

    # the distance of scores near the largest float overflows; of a quarter it does not
    unit = 4.0 if max(abs(low), abs(high)) > largest_float / 4 else 1.0
    edges = np.linspace(low / unit, high / unit, bins + 1) * unit
    return np.asarray(np.clip(edges, low, high))


def _histogram(score: Floats, count: Array, edges: Floats) -> Floats:
    """Return the number of cases, or the sum of weights, in each bin."""
    heights, _ = np.histogram(score, edges, weights=count + 0.0)
    return np.asarray(heights, dtype=np.float64)


def threshold_figure(t: Tally, threshold: float, bins: int = 40) -> Curves:
    """Return the scores of both classes in four areas, which a threshold separates.

    Sameni (2025), Fig. 1 and eqs. (4) to (7).
    """
    bins = _options.whole_number(bins, "bins", at_least=1)
    t = t.labelled()
    _cases.both_classes(t, "score_distributions")
    edges = _edges_around(threshold, float(t.score[-1]), float(t.score[0]), bins)

    decided_negative = t.score < threshold
    decided_positive = t.score >= threshold
    areas = (
        _decision_area("true negatives", t.score, t.neg, decided_negative, edges),
        _decision_area("false positives", t.score, t.neg, decided_positive, edges),
        _decision_area("false negatives", t.score, t.pos, decided_negative, edges),
        _decision_area("true positives", t.score, t.pos, decided_positive, edges),
    )

    top = max(float(area["high"].max()) for area in areas)
    return Curves(
        "Scores of both classes and four decisions",
        Axis("score", "Score", float(edges[0]), float(edges[-1])),
        Axis("share", "Proportion of each class", 0.0, 1.05 * top),
        bands=areas,
        rules=((f"threshold {cut_text(threshold)}", threshold),),
    )


def _edges_around(threshold: float, low: float, high: float, bins: int) -> Floats:
    """Return edges of bins that hold all scores; the threshold is one of them.

    So no bin lies on both sides of the threshold.
    """
    low = min(low, threshold)
    high = max(high, threshold)
    width = (high - low) / bins or 1.0

    bins_below = int(np.ceil((threshold - low) / width))
    # the highest score lies below the last edge, not on it
    bins_above = int(np.floor((high - threshold) / width)) + 1
    steps = np.arange(-bins_below, bins_above + 1, dtype=np.float64)
    return np.asarray(threshold + width * steps)


def _decision_area(
    name: str, score: Floats, class_count: Array, has_decision: Array, edges: Floats
) -> Line:
    """Return the histogram of the cases of a class that have one decision.

    ``class_count`` is the number of cases of the class at each score.
    """
    class_size = class_count.sum()
    count = class_count[has_decision]
    heights = _histogram(score[has_decision], count / class_size, edges)
    proportion = float(count.sum() / class_size)
    label = f"{name}: {percent(proportion)} of the class"
    return histogram_area(label, edges, heights)


def auc_figure(tallies: Tallies, *, level: float = 0.95) -> Intervals:
    """Return the AUC of each classifier with its interval, one below the other."""
    areas = {name: auc(tally, level=level) for name, tally in tallies.items()}
    return intervals("AUC", "AUC", areas)


def plan_figure(plan: Plan) -> Curves:
    """Return the power, or the half-width of the interval, by number of cases."""
    if plan.measure != "AUC":
        raise InputError(
            "The figure of a sample size is about an AUC; this plan is about a "
            f"{plan.measure}."
        )

    has_null = bool(np.isfinite(plan.null))
    quantity = "Power" if has_null else "Half-width of the interval"

    # from a third of the planned cases to three times as many
    sizes = np.geomspace(max(6, plan.n / 3), 3 * plan.n, 15).astype(int)
    sizes = np.union1d(sizes, [plan.n])
    reached = outlook(plan, sizes.tolist())
    planned = sizes == plan.n

    return Curves(
        f"{quantity} of an AUC of {plan.value:g}; {plan.n:,} cases are enough",
        Axis("n", "Cases", float(sizes.min()), float(sizes.max())),
        Axis("value", quantity, float(reached.min()), float(reached.max())),
        lines=(Line(quantity, {"n": sizes, "value": reached}),),
        dots=(Line("these cases", {"n": sizes[planned], "value": reached[planned]}),),
    )
