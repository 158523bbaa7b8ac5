r"""How good can a cut inside a bin be, and between which curves is the exact one?

It flags some of the bin's positives and negatives: tp and fp lie in a rectangle, at
whose corners quotients of sums of counts, and metrics that rise with tp and fall with
fp (``Metric.shape``), take their extremes. The exact curve passes through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats
from trueness._core.records import Record
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.confusion import Confusion
from trueness.scale.arrangements import sharpest
from trueness.threshold.costs import CostCurve, DecisionCurve, cost_curve
from trueness.threshold.cuts import all_cuts, met_by, rounding_of

Flags = NDArray[np.bool_]
_ROUNDING = 1e-13
_FINE = 4096  # bins that the isotonic bounds look at; more are joined


Pair = tuple[Array, Array]  # before and behind each row


def rectangles_of(t: Tally) -> tuple[Pair, Pair, Flags]:
    """Between which tp and which fp does a cut inside each row lie?

    And which rows hold more than one score, so that there are such cuts.
    """
    tp, fp = np.cumsum(t.pos), np.cumsum(t.neg)
    return (tp - t.pos, tp), (fp - t.neg, fp), t.high > t.score


def is_cornered(metric: Metric) -> bool:
    """Does this metric take its extremes at the corners, term by term?"""
    if metric.terms is not None:
        return all(is_cornered(part) for _, part in metric.terms)
    if metric.ratio is not None:
        under = metric.ratio.under
        # a denominator that changes its sign inside the rectangle has a pole there
        return under is None or min(under) >= 0 or max(under) <= 0
    return metric.shape != "unknown"


def range_in(t: Tally, metric: Metric, prevalence: float | None) -> tuple[Array, Array]:
    """Between which values does the metric lie in the rectangle of each row?

    An empty range (inf, -inf) where it is undefined throughout. A metric of unknown
    shape may have any value.
    """
    if not is_cornered(metric):
        return np.full(len(t), -np.inf), np.full(len(t), np.inf)
    low: Floats = np.full(len(t), metric.constant)
    high = low.copy()
    tps, fps, _ = rectangles_of(t)
    corners = [
        Confusion(tp, fp, t.n_pos - tp, t.n_neg - fp).at_prevalence(prevalence)
        for tp in tps
        for fp in fps
    ]
    for weight, part in metric.parts:
        lowest, highest = _extremes(part, corners)
        ends = (lowest, highest) if weight >= 0 else (highest, lowest)
        with np.errstate(invalid="ignore"):
            low, high = low + weight * ends[0], high + weight * ends[1]
    # inf - inf: nothing is known
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _extremes(metric: Metric, corners: Sequence[Confusion]) -> tuple[Floats, Floats]:
    """Give the smallest and largest value of a single metric at the corners."""
    # one where it is undefined is left out: a quotient is constant along the sides that
    # meet there. "Bent" metrics are not: next to it nothing is known of them
    values = np.array([metric(c) for c in corners], dtype=np.float64)
    gone = np.isnan(values)
    low = np.where(gone, np.inf, values).min(axis=0)
    high = np.where(gone, -np.inf, values).max(axis=0)
    if metric.shape == "bent":
        near = gone.any(axis=0) & ~gone.all(axis=0)
        low = np.where(near, metric.range[0], low)
        high = np.where(near, metric.range[1], high)
    return low, high


def search(
    t: Tally,
    objective: Metric,
    constraints: tuple[Constraint, ...],
    prevalence: float | None = None,
) -> tuple[float, float, Flags]:
    """What is known about the best cut of a labelled tally of bins?

    The best value of the cuts between bins, which are real cuts (-inf when none is
    allowed); what a cut inside a bin could reach at most; and which bins can hold a cut
    as good as that.
    """
    cuts = all_cuts(t, prevalence, "best_threshold")
    allowed = met_by([cuts], constraints).all(axis=0)
    values = np.where(allowed, np.asarray(objective(cuts.in_use)), np.nan)
    top = float(np.fmax.reduce(values))  # NaN only when all are
    reached = -np.inf if np.isnan(top) else top
    able = t.high > t.score
    for c in constraints:
        low, high = range_in(t, c.metric, prevalence)
        room = rounding_of(cuts, c.metric)
        able &= (high >= c.bound - room) if c.upward else (low <= c.bound + room)
    _, high = range_in(t, objective, prevalence)
    slack = rounding_of(cuts, objective) if np.isfinite(reached) else 0.0
    # a bin stays when its best corner reaches the best real cut, but for rounding
    alive = able & (high >= reached - slack)
    return reached, float(high[alive].max(initial=reached)), alive


@final
@dataclass(frozen=True, repr=False)
class CurveBounds(Record):
    """Between which two curves does the exact curve lie?

    Attributes
    ----------
    x : array
        Values on the first axis, ascending; each bin gives its ends and corners.
    low, high : array
        The exact curve lies between these two, each drawn with straight lines between
        its entries.
    axes : (str, str)
        Names of the horizontal and of the vertical axis, for example ("fpr", "tpr").
    """

    x: Floats
    low: Floats
    high: Floats
    axes: tuple[str, str] = ("fpr", "tpr")

    @property
    def width(self) -> float:
        """How far apart are the two curves at most?"""
        return float((self.high - self.low).max(initial=0.0))

    def __str__(self) -> str:
        """Say in one line how well the curve is known."""
        along, across = self.axes
        return f"{across} known to within {self.width:.3g} along {along}"


def _weights(t: Tally, prevalence: float | None) -> tuple[float, float, float]:
    """What does a positive and a negative case weigh, and which share is positive?"""
    n = t.n_pos + t.n_neg
    if prevalence is None:
        return 1.0, 1.0, t.prevalence
    return n * prevalence / t.n_pos, n * (1 - prevalence) / t.n_neg, prevalence


def _ends(values: Pair) -> Array:
    """Put before and behind each bin one after the other."""
    return np.stack(values, axis=1).ravel()


def roc_bounds(t: Tally) -> CurveBounds:
    """Give the rectangle between the ends of each bin."""
    tp, fp, wide = rectangles_of(t)
    low = _ends((tp[0], np.where(wide, *tp))) / t.n_pos
    high = _ends((np.where(wide, *tp[::-1]), tp[1])) / t.n_pos
    return CurveBounds(_ends(fp) / t.n_neg, low, high, ("fpr", "tpr"))


def det_bounds(t: Tally) -> CurveBounds:
    """Turn the rectangles of the ROC curve round."""
    r = roc_bounds(t)
    return CurveBounds(r.x, 1 - r.high, 1 - r.low, ("fpr", "fnr"))


def gain_bounds(t: Tally, prevalence: float | None = None) -> CurveBounds:
    """Give the parallelogram between the ends of each bin."""
    (tp, _), (fp, _), wide = rectangles_of(t)
    up, along, _ = _weights(t, prevalence)
    rise, run = (up * t.pos)[:, None], (along * t.neg)[:, None]
    corners = np.concatenate([0 * rise, rise, run, rise + run], axis=1)
    x = np.sort(corners, axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        most, least = np.clip(x / rise, 0, 1), np.clip((x - run) / rise, 0, 1)
        straight = x / (rise + run)
    low, high = (
        np.nan_to_num(np.where(wide[:, None], part, straight) * (rise > 0))
        for part in (least, most)
    )
    low, high = ((tp[:, None] + p * t.pos[:, None]) / t.n_pos for p in (low, high))
    place = ((up * tp + along * fp)[:, None] + x) / (t.n_pos + t.n_neg)
    return CurveBounds(
        place.ravel(), low.ravel(), high.ravel(), ("flagged_rate", "recall")
    )


def _precisions(t: Tally, prevalence: float | None) -> tuple[Floats, Floats, Floats]:
    """Give the smallest and largest precision at the ends of each bin, and behind it.

    A row of one score has what lies before it, and behind it, at its ends.
    """
    tps, fps, wide = rectangles_of(t)
    up, along, _ = _weights(t, prevalence)

    def share(tp: Array, fp: Array, otherwise: float) -> Floats:
        hits: Floats = np.asarray(up * tp, dtype=np.float64)
        total = hits + np.asarray(along * fp, dtype=np.float64)
        fill = np.full_like(total, otherwise)
        return np.divide(hits, total, out=fill, where=total > 0)

    here = share(tps[1], fps[1], 0.0)
    before = np.concatenate([here[:1], here[:-1]])
    # nothing flagged: a first bin without negatives, or without positives
    inside = share(tps[0], fps[1], 1.0), share(tps[1], fps[0], 0.0)
    low, high = (
        _ends((np.where(wide, x, before), np.where(wide, x, here))) for x in inside
    )
    return low, high, here


def precision_bounds(t: Tally, prevalence: float | None = None) -> CurveBounds:
    """Give the smallest and largest precision at every recall."""
    low, high, low[1::2] = _precisions(t, prevalence)
    x = _ends(rectangles_of(t)[0]) / t.n_pos
    room = low * (1 - _ROUNDING), high * (1 + _ROUNDING)  # for the last digits
    return CurveBounds(x, *room, ("recall", "precision"))


def lift_bounds(t: Tally, prevalence: float | None = None) -> CurveBounds:
    """Give the smallest and largest lift inside each bin."""
    tp, fp, _ = rectangles_of(t)
    up, along, share = _weights(t, prevalence)
    low, high, _ = _precisions(t, prevalence)
    x = (up * _ends(tp) + along * _ends(fp)) / (t.n_pos + t.n_neg)
    room = low / share * (1 - _ROUNDING), high / share * (1 + _ROUNDING)
    return CurveBounds(x, *room, ("flagged_rate", "lift"))


def cost_bounds(t: Tally, curve: CostCurve) -> CurveBounds:
    """The cuts between the bins are there; the sharpest arrangement has the best."""
    best = cost_curve(sharpest(t), at=curve.weight).cost
    low, high = np.minimum(best, curve.cost) - _ROUNDING, curve.cost + _ROUNDING
    return CurveBounds(curve.weight, low, high, ("weight", "cost"))


def decision_bounds(t: Tally, curve: DecisionCurve) -> CurveBounds:
    """At a threshold inside a bin any part of its cases is flagged."""
    every, p = rectangles_of(t)[:2], curve.threshold
    # rows whose lowest score reaches p are flagged, the next one perhaps in part
    at = len(t) - np.searchsorted(t.score[::-1], p, side="left")
    tp, fp = (np.concatenate([[0], x[1]]) for x in every)
    top = np.append(t.high, -np.inf)[at]
    row = np.minimum(at + (top >= p), len(t))
    share = curve.prevalence
    price = (1 - share) * p / (1 - p) / t.n_neg
    low = share * tp[at] / t.n_pos - price * fp[row]
    high = share * tp[row] / t.n_pos - price * fp[at]
    low, high = low - _ROUNDING * (1 + abs(low)), high + _ROUNDING * (1 + abs(high))
    return CurveBounds(p, low, high, ("threshold", "net_benefit"))


def reliability_bounds(t: Tally) -> CurveBounds:
    """Between which shares does the isotonic curve lie at the scores of each bin?

    Its value at a score is the largest, over all starts at or below, of the smallest
    mean of labels, over all ends at or above. It is largest when below and in the bin
    the positives come last, and above it first: then only ends of bins matter. The
    smallest value is the largest of the mirrored cases.
    """
    t = t.bin(_FINE)
    wide = (t.high > t.score)[::-1]
    pos, neg = t.pos[::-1].tolist(), t.neg[::-1].tolist()
    high = _steepest(pos, neg, wide.tolist())
    turned = _steepest(neg[::-1], pos[::-1], wide[::-1].tolist())
    low = 1 - turned[::-1]
    x = _ends((t.score[::-1], t.high[::-1]))
    ends = np.repeat(low, 2) - _ROUNDING, np.repeat(high, 2) + _ROUNDING
    return CurveBounds(
        x, np.maximum(ends[0], 0), np.minimum(ends[1], 1), ("score", "probability")
    )


Point = tuple[int, int]


def _steepest(pos: Sequence[int], neg: Sequence[int], wide: Sequence[bool]) -> Floats:
    """Give the largest isotonic value in each bin, in ascending order of score.

    It is the slope of the line that the hulls before and behind it have in common;
    points are (cases, positives) so far.
    """
    nodes: list[Point] = [(0, 0)]
    for p, n in zip(pos, neg, strict=True):
        nodes.append((nodes[-1][0] + p + n, nodes[-1][1] + p))
    # the starts that each bin can choose from: all before, and its own corner
    before, last = list[Point](), list[int]()
    for (x, y), p, n, open_bin in zip(nodes, pos, neg, wide, strict=False):
        before.append((x, y))
        if open_bin and p and n:
            before.append((x + n, y))
        last.append(len(before) - 1)
    # which corner follows on a hull: what precedes it on the mirrored one
    behind = _previous([(nodes[-1][0] - x, y) for x, y in reversed(nodes)])
    right = [-1 if b < 0 else len(nodes) - 1 - b for b in reversed(behind)]
    left = _previous(before)
    slopes = [_bridge(before, left, a, nodes, right, i + 1) for i, a in enumerate(last)]
    return np.array(slopes)


def _turn(a: Point, b: Point, c: Point) -> int:
    """Tell whether a, b, c turn left (above zero) in whole numbers."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _previous(points: list[Point]) -> list[int]:
    """Which corner comes before each point on the lower hull that ends there?"""
    before = [-1]
    for k in range(1, len(points)):
        at = k - 1
        # a corner above the line from the one before it to the new point is none
        while before[at] >= 0 and _turn(points[before[at]], points[at], points[k]) <= 0:
            at = before[at]
        before.append(at)
    return before


def _bridge(
    before: list[Point],
    left: list[int],
    a: int,
    nodes: list[Point],
    right: list[int],
    b: int,
) -> float:
    """Give the slope of the line below both hulls, from hull to hull."""
    moved = True
    while moved:
        moved = False
        while right[b] >= 0 and _turn(before[a], nodes[b], nodes[right[b]]) <= 0:
            b, moved = right[b], True
        while left[a] >= 0 and _turn(before[left[a]], before[a], nodes[b]) <= 0:
            a, moved = left[a], True
    # no corner of either hull lies below this line any more
    (x0, y0), (x1, y1) = before[a], nodes[b]
    return (y1 - y0) / (x1 - x0)
