r"""How good can a cut inside a bin be?

It flags some of the bin's positives and negatives: tp and fp lie in a rectangle, at
whose corners quotients of sums of counts, and metrics that rise with tp and fall with
fp (``Metric.shape``), take their extremes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.confusion import Confusion
from trueness.threshold.cuts import all_cuts, met_by, rounding_of

Flags = NDArray[np.bool_]


class Rectangles(NamedTuple):
    """True and false positives of the cuts before and behind each row.

    ``is_bin`` says which rows hold more than one score: only these have cuts inside.
    """

    tp_before: Array
    tp_behind: Array
    fp_before: Array
    fp_behind: Array
    is_bin: Flags


def rectangles_of(t: Tally) -> Rectangles:
    """Return the ranges of tp and fp of the cuts inside each row."""
    tp = np.cumsum(t.pos)
    fp = np.cumsum(t.neg)

    return Rectangles(
        tp_before=tp - t.pos,
        tp_behind=tp,
        fp_before=fp - t.neg,
        fp_behind=fp,
        is_bin=t.high > t.score,
    )


class MetricRange(NamedTuple):
    """The smallest and the largest value of a metric in each row."""

    low: Array
    high: Array


def metric_range(t: Tally, metric: Metric, prevalence: float | None) -> MetricRange:
    """Return the range of a metric in the rectangle of each row.

    The range is empty (inf, -inf) where the metric is undefined throughout. A metric of
    unknown shape may have any value.
    """
    if not has_extremes_at_corners(metric):
        return MetricRange(np.full(len(t), -np.inf), np.full(len(t), np.inf))

    corners = _corners(t, prevalence)
    low: Floats = np.full(len(t), metric.constant)
    high = low.copy()
    for weight, part in metric.parts:
        extremes = _extremes(part, corners)
        with np.errstate(invalid="ignore"):
            if weight >= 0:
                low = low + weight * extremes.low
                high = high + weight * extremes.high
            else:
                low = low + weight * extremes.high
                high = high + weight * extremes.low

    # inf - inf: the range is unknown, so it has no bound
    return MetricRange(
        low=np.where(np.isnan(low), -np.inf, low),
        high=np.where(np.isnan(high), np.inf, high),
    )


def has_extremes_at_corners(metric: Metric) -> bool:
    """Return whether every term of a metric has its extremes at the corners."""
    if metric.terms is not None:
        return all(has_extremes_at_corners(part) for _, part in metric.terms)

    if metric.ratio is not None:
        under = metric.ratio.under
        # a denominator that changes its sign inside the rectangle has a pole there
        return under is None or min(under) >= 0 or max(under) <= 0

    return metric.shape != "unknown"


def _corners(t: Tally, prevalence: float | None) -> list[Confusion]:
    """Return the counts at the four corners of all rectangles."""
    rectangles = rectangles_of(t)
    return [
        Confusion(tp, fp, t.n_pos - tp, t.n_neg - fp).at_prevalence(prevalence)
        for tp in (rectangles.tp_before, rectangles.tp_behind)
        for fp in (rectangles.fp_before, rectangles.fp_behind)
    ]


def _extremes(metric: Metric, corners: Sequence[Confusion]) -> MetricRange:
    """Return the smallest and the largest value of a single metric at the corners."""
    # a corner where the metric is undefined is left out: a quotient is constant along
    # the sides that meet there
    values = np.array([metric(corner) for corner in corners], dtype=np.float64)
    undefined = np.isnan(values)
    low = np.where(undefined, np.inf, values).min(axis=0)
    high = np.where(undefined, -np.inf, values).max(axis=0)
    if metric.shape == "bent":
        # next to an undefined corner, a "bent" metric may have any value
        in_part = undefined.any(axis=0) & ~undefined.all(axis=0)
        low = np.where(in_part, metric.range[0], low)
        high = np.where(in_part, metric.range[1], high)

    return MetricRange(low, high)


class CutSearch(NamedTuple):
    """The best value at a real cut, and what cuts inside bins could reach.

    Attributes
    ----------
    reached
        The best value of the cuts between bins, which are real cuts; -inf when none is
        allowed.
    possible
        What a cut inside a bin could reach at most.
    open_bins
        Which bins can hold a cut as good as the best one between bins.
    """

    reached: float
    possible: float
    open_bins: Flags


def search(
    t: Tally,
    objective: Metric,
    constraints: tuple[Constraint, ...],
    prevalence: float | None = None,
) -> CutSearch:
    """Return what is known about the best cut of a labelled tally of bins."""
    cuts = all_cuts(t, prevalence, "best_threshold")
    allowed = met_by([cuts], constraints).all(axis=0)
    values = np.where(allowed, np.asarray(objective(cuts.in_use)), np.nan)
    best = float(np.fmax.reduce(values))  # NaN only when all are
    reached = -np.inf if np.isnan(best) else best

    may_be_allowed = t.high > t.score
    for constraint in constraints:
        bounded = metric_range(t, constraint.metric, prevalence)
        rounding = rounding_of(cuts, constraint.metric)
        if constraint.upward:
            may_be_allowed &= bounded.high >= constraint.bound - rounding
        else:
            may_be_allowed &= bounded.low <= constraint.bound + rounding

    # a bin stays open if its best corner reaches the best real cut, up to rounding
    high = metric_range(t, objective, prevalence).high
    rounding = rounding_of(cuts, objective) if np.isfinite(reached) else 0.0
    open_bins = may_be_allowed & (high >= reached - rounding)
    possible = float(high[open_bins].max(initial=reached))

    return CutSearch(reached, possible, open_bins)
