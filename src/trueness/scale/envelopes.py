r"""Between which two curves does the exact curve lie, when scores were put into bins?

Between bins the counts are known, so the exact curve passes through every point of the
binned one; inside a bin it goes from one end to the other, past any of the bin's
cases first. That is a rectangle for the ROC curve, a parallelogram for the gain curve,
and for the isotonic reliability curve the largest and smallest slope that a convex
curve between the two extreme arrangements can have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.records import Record
from trueness.counts.values import Tally
from trueness.scale.arrangements import sharpest
from trueness.scale.rectangles import rectangles_of
from trueness.threshold.costs import cost_curve

_ROUNDING = 1e-13
_FINE = 4096  # bins that the isotonic bounds look at; more are joined


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
    return CurveBounds(*_room(x, low, high), ("recall", "precision"))


def lift_bounds(t: Tally, prevalence: float | None = None) -> CurveBounds:
    """Give the smallest and largest lift inside each bin."""
    b, (up, along, share) = rectangles_of(t), _weights(t, prevalence)
    (least, most), before, here = _precisions(t, prevalence)
    pairs = zip(b.tp, b.fp, strict=True)
    flagged = [(up * p + along * n) / (t.n_pos + t.n_neg) for p, n in pairs]
    low = _ends((np.where(b.open, least, before), np.where(b.open, least, here)))
    high = _ends((np.where(b.open, most, before), np.where(b.open, most, here)))
    x = _ends((flagged[0], flagged[1]))
    return CurveBounds(*_room(x, low / share, high / share), ("flagged_rate", "lift"))


def _room(x: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Leave room for the last digits of quotients."""
    return x, low * (1 - _ROUNDING), high * (1 + _ROUNDING)


def cost_bounds(t: Tally, curve: Any) -> CurveBounds:
    """The cuts between the bins are there; the sharpest arrangement has the best."""
    best = cost_curve(sharpest(t), at=curve.weight).cost
    low, high = np.minimum(best, curve.cost) - _ROUNDING, curve.cost + _ROUNDING
    return CurveBounds(curve.weight, low, high, ("weight", "cost"))


def decision_bounds(t: Tally, curve: Any) -> CurveBounds:
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
