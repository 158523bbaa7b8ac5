r"""How good can a cut be whose counts are only known to lie in a rectangle?

A cut somewhere inside a bin of scores flags some of the bin's positives and some of
its negatives: tp and fp lie in a rectangle whose corners are known. Metrics that are
quotients of sums of counts take their extremes over a rectangle at its corners
(a quotient of two linear functions has no extremes inside), and so do those that rise
with tp and fall with fp: ``Metric.shape`` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.confusion import Confusion
from trueness.threshold.cuts import Cuts, all_cuts, met_by, rounding_of

Flags = NDArray[np.bool_]


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
    corners = _corners(b, prevalence)
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


def _corners(b: Rectangles, prevalence: float | None) -> list[Confusion]:
    return [
        Confusion(tp, fp, b.n_pos - tp, b.n_neg - fp).at_prevalence(prevalence)
        for tp in b.tp
        for fp in b.fp
    ]


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
        able &= _can_hold(cuts, b, c, prevalence)
    _, high = range_in(b, objective, prevalence)
    slack = rounding_of(cuts, objective) if np.isfinite(reached) else 0.0
    # a bin stays when its best corner reaches the best real cut, but for rounding
    alive = able & (high >= reached - slack)
    possible = float(high[alive].max(initial=reached))
    return RectangleSearch(reached, possible, alive)


def _can_hold(
    cuts: Cuts, b: Rectangles, c: Constraint, prevalence: float | None
) -> Flags:
    low, high = range_in(b, c.metric, prevalence)
    slack = rounding_of(cuts, c.metric)
    if c.upward:
        return np.asarray(high >= c.bound - slack)
    return np.asarray(low <= c.bound + slack)
