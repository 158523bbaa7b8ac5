r"""How good can a cut inside a bin be, and between which curves is the exact one?

Such a cut flags some of the bin's positives and some of its negatives: tp and fp lie in
a rectangle. Quotients of sums of counts take their extremes over it at its corners, and
so do metrics that rise with tp and fall with fp: ``Metric.shape`` says so. The exact
curve passes through every point of the binned one, and inside a bin through its
rectangle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints
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


class Rectangles(NamedTuple):
    """Between which counts does a cut inside each row of a tally lie?

    ``open`` says which rows hold more than one score, so that there are such cuts.
    """

    tp: tuple[Ints, Ints]
    fp: tuple[Ints, Ints]
    n_pos: int
    n_neg: int
    open: Flags

    def at(self, rows: slice) -> Rectangles:
        """Choose some rows."""
        tp, fp = ((low[rows], high[rows]) for low, high in (self.tp, self.fp))
        return Rectangles(tp, fp, self.n_pos, self.n_neg, self.open[rows])


def rectangles_of(t: Tally) -> Rectangles:
    """Give the rectangle of each row of a labelled tally."""
    tp, fp = np.cumsum(t.pos), np.cumsum(t.neg)
    wide = t.high > t.score
    return Rectangles((tp - t.pos, tp), (fp - t.neg, fp), t.n_pos, t.n_neg, wide)


def is_cornered(metric: Metric) -> bool:
    """Does this metric take its extremes at the corners, term by term?"""
    if metric.terms is not None:
        return all(is_cornered(part) for _, part in metric.terms)
    if metric.ratio is not None:
        under = metric.ratio.under
        # a denominator that changes its sign inside the rectangle has a pole there
        return under is None or min(under) >= 0 or max(under) <= 0
    return metric.shape != "unknown"


def range_in(
    b: Rectangles, metric: Metric, prevalence: float | None
) -> tuple[Array, Array]:
    """Between which values does the metric lie in each rectangle?

    An empty range (inf, -inf) where it is undefined throughout. A metric of unknown
    shape may have any value.
    """
    if not is_cornered(metric):
        return np.full(b.open.size, -np.inf), np.full(b.open.size, np.inf)
    low: Floats = np.full(b.open.size, metric.constant)
    high = low.copy()
    corners = [
        Confusion(tp, fp, b.n_pos - tp, b.n_neg - fp).at_prevalence(prevalence)
        for tp in b.tp
        for fp in b.fp
    ]
    for weight, part in metric.parts:
        lowest, highest = _extremes(part, corners)
        ends = (lowest, highest) if weight >= 0 else (highest, lowest)
        with np.errstate(invalid="ignore"):
            low, high = low + weight * ends[0], high + weight * ends[1]
    # inf - inf: nothing is known
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _extremes(metric: Metric, corners: Sequence[Confusion]) -> tuple[Floats, Floats]:
    """Give the smallest and largest value of a single metric at the corners.

    A corner where the metric is undefined is left out: a quotient is constant along the
    sides that meet there. "Bent" metrics are not, so next to such a corner nothing is
    known of them.
    """
    values = np.array([metric(c) for c in corners], dtype=np.float64)
    gone = np.isnan(values)
    low = np.where(gone, np.inf, values).min(axis=0)
    high = np.where(gone, -np.inf, values).max(axis=0)
    if metric.shape == "bent":
        near = gone.any(axis=0) & ~gone.all(axis=0)
        low = np.where(near, metric.range[0], low)
        high = np.where(near, metric.range[1], high)
    return low, high


class RectangleSearch(NamedTuple):
    """What is known about the best cut of a tally of bins.

    ``reached`` is the best value of the cuts between bins, which are real cuts (-inf
    when none is allowed); ``possible`` what a cut inside a bin could reach at most;
    ``alive`` the bins that can hold a cut as good as that.
    """

    reached: float
    possible: float
    alive: Flags


def search(
    t: Tally,
    objective: Metric,
    constraints: tuple[Constraint, ...],
    prevalence: float | None = None,
) -> RectangleSearch:
    """Which bins of a labelled tally can still hold an optimal cut?"""
    cuts = all_cuts(t, prevalence, "best_threshold")
    b = rectangles_of(t)
    allowed = met_by([cuts], constraints).all(axis=0)
    values = np.where(allowed, np.asarray(objective(cuts.used)), np.nan)
    top = float(np.fmax.reduce(values))  # NaN only when all are
    reached = -np.inf if np.isnan(top) else top
    able = b.open.copy()
    for c in constraints:
        low, high = range_in(b, c.metric, prevalence)
        room = rounding_of(cuts, c.metric)
        able &= (high >= c.bound - room) if c.upward else (low <= c.bound + room)
    _, high = range_in(b, objective, prevalence)
    slack = rounding_of(cuts, objective) if np.isfinite(reached) else 0.0
    # a bin stays when its best corner reaches the best real cut, but for rounding
    alive = able & (high >= reached - slack)
    possible = float(high[alive].max(initial=reached))
    return RectangleSearch(reached, possible, alive)


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


def _ends(values: tuple[Array, Array]) -> Array:
    """Put before and behind each bin one after the other."""
    return np.stack(values, axis=1).ravel()


def roc_bounds(t: Tally) -> CurveBounds:
    """Give the rectangle between the ends of each bin."""
    b = rectangles_of(t)
    line = _ends(b.tp) / t.n_pos
    low = np.where(np.repeat(b.open, 2), np.repeat(b.tp[0], 2) / t.n_pos, line)
    high = np.where(np.repeat(b.open, 2), np.repeat(b.tp[1], 2) / t.n_pos, line)
    return CurveBounds(_ends(b.fp) / t.n_neg, low, high, ("fpr", "tpr"))


def det_bounds(t: Tally) -> CurveBounds:
    """Turn the rectangles of the ROC curve round."""
    r = roc_bounds(t)
    return CurveBounds(r.x, 1 - r.high, 1 - r.low, ("fpr", "fnr"))


def gain_bounds(t: Tally, prevalence: float | None = None) -> CurveBounds:
    """Give the parallelogram between the ends of each bin."""
    b, (up, along, _) = rectangles_of(t), _weights(t, prevalence)
    start = up * b.tp[0] + along * b.fp[0]
    rise, run = up * t.pos, along * t.neg
    x = np.sort(np.stack([0 * rise, rise, run, rise + run], axis=1), axis=1)
    full = np.where(rise > 0, 1.0, 0.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        most = np.clip(x / rise[:, None], 0, 1)
        least = np.clip((x - run[:, None]) / rise[:, None], 0, 1)
        straight = x / (rise + run)[:, None]
    wide = b.open[:, None]
    parts = [np.where(wide, part, straight) * full for part in (least, most)]
    low, high = (
        ((b.tp[0][:, None] + np.nan_to_num(part) * t.pos[:, None]) / t.n_pos).ravel()
        for part in parts
    )
    place = ((start[:, None] + x) / (t.n_pos + t.n_neg)).ravel()
    return CurveBounds(place, low, high, ("flagged_rate", "recall"))


def _precisions(
    t: Tally, prevalence: float | None
) -> tuple[tuple[Floats, Floats], Floats, Floats]:
    """Give the smallest and largest precision in each bin, and at both its ends."""
    b, (up, along, _) = rectangles_of(t), _weights(t, prevalence)
    tp, fp = (
        [np.asarray(w * x, dtype=np.float64) for x in ends]
        for w, ends in ((up, b.tp), (along, b.fp))
    )

    def share(hits: Floats, alarms: Floats, otherwise: float) -> Floats:
        total = hits + alarms
        fill = np.full_like(total, otherwise)
        return np.divide(hits, total, out=fill, where=total > 0)

    here = share(tp[1], fp[1], 0.0)
    before = np.concatenate([here[:1], here[:-1]])
    # nothing flagged: a first bin without negatives, or without positives
    return (share(tp[0], fp[1], 1.0), share(tp[1], fp[0], 0.0)), before, here


def precision_bounds(t: Tally, prevalence: float | None = None) -> CurveBounds:
    """Give the smallest and largest precision at every recall."""
    b = rectangles_of(t)
    (least, most), before, here = _precisions(t, prevalence)
    # at least: concave in the recall, so that the straight line lies below it
    low = _ends((np.where(b.open, least, before), here))
    high = _ends((np.where(b.open, most, before), np.where(b.open, most, here)))
    x = _ends(b.tp) / t.n_pos
    room = low * (1 - _ROUNDING), high * (1 + _ROUNDING)  # for the last digits
    return CurveBounds(x, *room, ("recall", "precision"))


def lift_bounds(t: Tally, prevalence: float | None = None) -> CurveBounds:
    """Give the smallest and largest lift inside each bin."""
    b, (up, along, share) = rectangles_of(t), _weights(t, prevalence)
    (least, most), before, here = _precisions(t, prevalence)
    pairs = zip(b.tp, b.fp, strict=True)
    flagged = [(up * p + along * n) / (t.n_pos + t.n_neg) for p, n in pairs]
    low = _ends((np.where(b.open, least, before), np.where(b.open, least, here)))
    high = _ends((np.where(b.open, most, before), np.where(b.open, most, here)))
    x = _ends((flagged[0], flagged[1]))
    room = low / share * (1 - _ROUNDING), high / share * (1 + _ROUNDING)
    return CurveBounds(x, *room, ("flagged_rate", "lift"))


def cost_bounds(t: Tally, curve: CostCurve) -> CurveBounds:
    """The cuts between the bins are there; the sharpest arrangement has the best."""
    best = cost_curve(sharpest(t), at=curve.weight).cost
    low, high = np.minimum(best, curve.cost) - _ROUNDING, curve.cost + _ROUNDING
    return CurveBounds(curve.weight, low, high, ("weight", "cost"))


def decision_bounds(t: Tally, curve: DecisionCurve) -> CurveBounds:
    """At a threshold inside a bin any part of its cases is flagged."""
    b, p = rectangles_of(t), curve.threshold
    # rows whose lowest score reaches p are flagged, the next one perhaps in part
    at = len(t) - np.searchsorted(t.score[::-1], p, side="left")
    tp, fp = (np.concatenate([[0], x[1]]) for x in (b.tp, b.fp))
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
    t = t.coarse(_FINE)
    wide = (t.high > t.score)[::-1]
    pos, neg = t.pos[::-1].tolist(), t.neg[::-1].tolist()
    high = _steepest(pos, neg, wide.tolist())
    turned = _steepest(neg[::-1], pos[::-1], wide[::-1].tolist())
    low = 1 - turned[::-1]
    x = np.stack([t.score[::-1], t.high[::-1]], axis=1).ravel()
    ends = np.repeat(low, 2) - _ROUNDING, np.repeat(high, 2) + _ROUNDING
    return CurveBounds(
        x, np.maximum(ends[0], 0), np.minimum(ends[1], 1), ("score", "probability")
    )


Point = tuple[int, int]


def _steepest(pos: Sequence[int], neg: Sequence[int], wide: Sequence[bool]) -> Floats:
    """Give the largest isotonic value in each bin, in ascending order of score.

    Points are (cases, positives) so far. The value in a bin is the slope of the line
    that the hull of what lies before and the hull of what lies behind have in common.
    """
    nodes: list[Point] = [(0, 0)]
    for p, n in zip(pos, neg, strict=True):
        nodes.append((nodes[-1][0] + p + n, nodes[-1][1] + p))
    # the starts that each bin can choose from: all before, and its own corner
    before: list[Point] = []
    last = []
    for (x, y), p, n, open_bin in zip(nodes, pos, neg, wide, strict=False):
        before.append((x, y))
        if open_bin and p and n:
            before.append((x + n, y))
        last.append(len(before) - 1)
    left, right = _previous(before), _next(nodes)
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


def _next(points: list[Point]) -> list[int]:
    """Which corner follows each point on the lower hull that begins there?"""
    most = points[-1]
    mirrored = [(most[0] - x, y) for x, y in reversed(points)]
    back = _previous(mirrored)
    size = len(points) - 1
    return [-1 if b < 0 else size - b for b in reversed(back)]


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
