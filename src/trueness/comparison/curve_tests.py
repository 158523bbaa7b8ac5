"""Is one ROC curve of the population above another, somewhere or everywhere?

``uncertain_difference`` is the difference of two curves with its bootstrap errors. From
it follow the simultaneous band, the tests whether one curve is higher somewhere, and
the test of a margin. Band and tests use the same random errors, so they agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.comparison.curve_ranges import ROUNDING, roc_corners
from trueness.comparison.redrawing import CurveRequest
from trueness.counts.cases import kish
from trueness.counts.values import Tally
from trueness.inference.intervals import student_quantile
from trueness.ranking.bands import height, rate_variance


class _CurveSampleSizes(NamedTuple):
    """Effective numbers of cases, or clusters, of each class (Kish 1965)."""

    negatives: float
    positives: float


def _class_sizes(tally: Tally) -> _CurveSampleSizes:
    """Return the effective class sizes; clusters are the units if there are any."""
    clusters = tally.grouped
    if clusters is None:
        return _CurveSampleSizes(*tally.equal_cases)

    # Kish (1965): clusters of unequal sizes count as fewer equal ones
    negatives = clusters.per_cluster(clusters.counts[0])
    positives = clusters.per_cluster(clusters.counts[1])
    return _CurveSampleSizes(
        kish(float(negatives.sum()), float(negatives @ negatives)),
        kish(float(positives.sum()), float(positives @ positives)),
    )


@dataclass(frozen=True)
class UncertainDifference:
    """A difference of two curves, with bootstrap errors at each rate of the grid.

    Attributes
    ----------
    value, standard_error : array (grid,)
        The difference, and its standard error, which allows for few cases.
    errors : array (draws, grid)
        Normal errors with the covariance of the redrawn differences.
    smallest_variance : array (grid,)
        Of a rate, where no redrawn curve varies.
    sample_size, negatives : float
        The smallest number of cases of a class, and of negatives.
    quantile_ratio : float
        Student's quantile over the normal one, for the sample size.
    """

    value: Floats
    standard_error: Floats
    errors: Floats
    smallest_variance: Floats
    sample_size: float
    negatives: float
    quantile_ratio: float


def uncertain_difference(
    first: Tally,
    second: Tally,
    redrawn_differences: Floats,
    multipliers: Floats,
    request: CurveRequest,
) -> UncertainDifference:
    """Return the difference of two curves with its standard error.

    ``multipliers`` are those of ``normal_multipliers``.
    """
    first_curve = height(*roc_corners(first), request.grid)
    second_curve = height(*roc_corners(second), request.grid)
    first_sizes = _class_sizes(first)
    second_sizes = _class_sizes(second)

    smallest_variance = np.minimum(
        rate_variance(first_curve, first_sizes.positives),
        rate_variance(second_curve, second_sizes.positives),
    )
    # where redrawn curves hardly vary, at least half the standard error of a rate
    standard_error = np.sqrt(
        np.maximum(redrawn_differences.var(axis=0), smallest_variance / 4)
    )

    # a factor on errors, so that normal quantiles become Student's
    sample_size = max(min(*first_sizes, *second_sizes), 2.0)
    normal_quantile = NormalDist().inv_cdf((1 + request.level) / 2)
    quantile_ratio = student_quantile(sample_size - 1, request.level) / normal_quantile

    # errors for the test, and a standard error for the band
    value = first_curve - second_curve
    return UncertainDifference(
        value=value,
        standard_error=quantile_ratio * standard_error,
        errors=_normal_errors(redrawn_differences, multipliers),
        smallest_variance=smallest_variance,
        sample_size=sample_size,
        negatives=min(first_sizes.negatives, second_sizes.negatives),
        quantile_ratio=quantile_ratio,
    )


# the number of random curves, whose inverse is the smallest p-value
_NORMAL_DRAWS = 4_000


def normal_multipliers(request: CurveRequest) -> Floats:
    """Return normal multipliers of redrawn curves, (draws, replicates).

    All pairs of classifiers share them, as they share the redrawn cases.
    """
    return request.rng.standard_normal((_NORMAL_DRAWS, request.replicates))


def _normal_errors(redrawn: Floats, multipliers: Floats) -> Floats:
    """Return normal errors with the covariance of redrawn curves: (draws, grid).

    Gaussian multiplier bootstrap (Chernozhukov, Chetverikov, Kato 2013). At the steep
    start of a curve, redrawn curves have only a few values, with long tails.
    """
    # each draw is a random combination of the centered replicates
    centered = redrawn - redrawn.mean(axis=0)
    return np.asarray(multipliers @ centered / math.sqrt(len(centered) - 1))


class _DifferenceBand(NamedTuple):
    """A band that holds at all rates at once."""

    low: Floats
    high: Floats


def simultaneous_band(uncertain: UncertainDifference, level: float) -> _DifferenceBand:
    """Return the simultaneous band, with half of the error probability on each side.

    Where a side excludes zero, the p-value by single rates is at most half of that
    probability, and the p-value together with ranges at most all of it.
    """
    above, below = _largest_standardized_errors(uncertain)
    # the sample may be as much too high, or too low, as random curves are
    low = uncertain.value - _critical_value(above, level) * uncertain.standard_error
    high = uncertain.value + _critical_value(below, level) * uncertain.standard_error
    return _DifferenceBand(np.clip(low, -1, 1), np.clip(high, -1, 1))


def _largest_standardized_errors(
    uncertain: UncertainDifference,
) -> tuple[Floats, Floats]:
    """Return the largest error upwards, and downwards, of each random curve."""
    standard_error = uncertain.standard_error / uncertain.quantile_ratio
    standardized = uncertain.errors / standard_error
    return standardized.max(axis=1), -standardized.min(axis=1)


def _critical_value(largest_errors: Floats, level: float) -> float:
    """Return the number of standard errors that few random curves exceed.

    A curve is outside the band exactly where its p-value is at most (1 - level) / 2.
    """
    n_curves = largest_errors.size
    # an order statistic of n values has rank / (n + 1) of the distribution below it
    rank = math.ceil((1 + level) / 2 * (n_curves + 1))
    if rank > n_curves:
        return math.inf

    # where curves do not vary, a band from their quantile alone would have no height
    pointwise = NormalDist().inv_cdf((1 + level) / 2)
    return max(pointwise, float(np.sort(largest_errors)[rank - 1]))


class _RangeTest(NamedTuple):
    """Is there a range where one classifier is better, and where is that clearest?"""

    p_value: float
    clearest_range: tuple[float, ...]


class _Statistics(NamedTuple):
    """A test statistic of "above zero": of the sample, and of random curves."""

    observed: float
    by_chance: Floats
    clearest_range: tuple[float, float]


def tests_of_ranges(
    uncertain: UncertainDifference, grid: Floats
) -> tuple[_RangeTest, _RangeTest]:
    """Return the tests whether the first is better, and whether it is worse."""
    reversed_difference = replace(
        uncertain, value=-uncertain.value, errors=-uncertain.errors
    )
    ranges = _ranges_of_fpr(grid, uncertain.negatives)
    return (
        _test_of_one_side(uncertain, grid, ranges),
        _test_of_one_side(reversed_difference, grid, ranges),
    )


def _test_of_one_side(
    uncertain: UncertainDifference, grid: Floats, ranges: _FprRanges
) -> _RangeTest:
    """Return the test whether the difference is above zero somewhere.

    It combines means over ranges and single rates, each of which finds what the other
    misses, by the minP method of Westfall and Young (1993): how often is the smaller of
    both p-values of a random curve as small as the observed one?
    """
    by_ranges = _statistics_of_ranges(uncertain, ranges)
    by_rates = _statistics_of_single_rates(uncertain, grid)
    statistics = (by_ranges, by_rates)
    if not max(statistic.observed for statistic in statistics) > 0:
        return _RangeTest(1.0, ())

    p_values = [_p_value(statistic.observed, statistic) for statistic in statistics]
    smallest = min(p_values)
    # the smaller p-value of two tests, beside those of random curves: the min-P method
    # (Westfall and Young 1993)
    p_values_by_chance = np.minimum(
        _p_values_by_chance(by_ranges), _p_values_by_chance(by_rates)
    )
    p_value = _proportion_of_draws(p_values_by_chance <= smallest)

    clearest = statistics[p_values.index(smallest)]
    return _RangeTest(p_value, clearest.clearest_range)


def _p_value(observed: float, statistics: _Statistics) -> float:
    """Return how often the statistic of a random curve is at least as large."""
    return _proportion_of_draws(statistics.by_chance >= observed)


def _p_values_by_chance(statistics: _Statistics) -> Floats:
    """Return the p-value of each random curve among all of them."""
    n_curves = statistics.by_chance.size
    ascending = np.sort(statistics.by_chance)
    smaller = np.searchsorted(ascending, statistics.by_chance, side="left")
    # as for the sample: larger or equal ones, with one added to both numbers
    return np.asarray((n_curves - smaller + 1) / (n_curves + 1))


def _proportion_of_draws(is_counted: Array) -> float:
    """Return a proportion of random curves; the sample itself counts as one."""
    return (int(is_counted.sum()) + 1) / (is_counted.size + 1)


@dataclass(frozen=True)
class _FprRanges:
    """Ranges of false positive rates: all, halves, quarters and eighths.

    Attributes
    ----------
    low, width : array (ranges,)
    weights : array (grid, ranges)
        Of the mean over the points of the grid that lie inside.
    """

    low: Floats
    width: Floats
    weights: Floats


# with fewer negatives in a range its standard error is unreliable
_MIN_NEGATIVES = 5


def _ranges_of_fpr(grid: Floats, negatives: float) -> _FprRanges:
    """Return the ranges over which differences are averaged."""
    parts = [k for k in (1, 2, 4, 8) if k <= 2 or negatives >= k * _MIN_NEGATIVES]
    low = np.concatenate([np.arange(k) / k for k in parts])
    width = np.concatenate([np.full(k, 1 / k) for k in parts])
    # (grid, 1) against (ranges,): which points lie in which range
    points = grid[:, None]
    is_inside = (points > low - ROUNDING) & (points < low + width - ROUNDING)

    # a coarse grid has no point in a narrow range
    has_points = is_inside.any(axis=0)
    is_inside = is_inside[:, has_points]
    return _FprRanges(
        low=low[has_points],
        width=width[has_points],
        weights=is_inside / is_inside.sum(axis=0),
    )


def _statistics_of_ranges(
    uncertain: UncertainDifference, ranges: _FprRanges
) -> _Statistics:
    """Return the largest mean over a range, in standard errors, less a penalty.

    Narrow ranges are penalised because there are more of them (Duembgen, Spokoiny
    2001).
    """
    # (draws, grid) @ (grid, ranges): the mean error of each draw over each range
    mean_errors = uncertain.errors @ ranges.weights
    variance = mean_errors.var(axis=0, ddof=1)
    varies = variance > ROUNDING
    standardized = mean_errors / np.sqrt(np.where(varies, variance, 1.0))

    # a bootstrap variance is too small by (n - 1) / n; if it is 0, take that of rates
    corrected = variance * uncertain.sample_size / (uncertain.sample_size - 1)
    variance_of_rates = uncertain.smallest_variance @ ranges.weights
    standard_error = np.sqrt(np.where(varies, corrected, variance_of_rates))
    # Student's factor is on the sample; random curves are normal
    mean_difference = (uncertain.value / uncertain.quantile_ratio) @ ranges.weights
    observed = mean_difference / standard_error

    # half of the size that the largest of 1 / width normal values has
    penalty = np.sqrt(2 * np.log(1 / ranges.width)) / 2
    penalized = observed - penalty
    clearest = int(penalized.argmax())
    low = float(ranges.low[clearest])
    # no evidence where the first is worse even over the clearest range
    statistic = -math.inf
    if observed[clearest] > 0:
        statistic = float(penalized[clearest])
    return _Statistics(
        observed=statistic,
        by_chance=(standardized - penalty).max(axis=1),
        clearest_range=(low, low + float(ranges.width[clearest])),
    )


def _statistics_of_single_rates(
    uncertain: UncertainDifference, grid: Floats
) -> _Statistics:
    """Return the largest difference at a rate, in standard errors."""
    observed = uncertain.value / uncertain.standard_error
    clearest = int(observed.argmax())
    above, _ = _largest_standardized_errors(uncertain)
    rate = float(grid[clearest])
    # the grid begins at 0, so its second point is its step
    step = float(grid[1])
    return _Statistics(
        observed=float(observed[clearest]),
        by_chance=above,
        clearest_range=(rate, rate + step),
    )


def p_value_of_margin(uncertain: UncertainDifference, margin: float) -> float:
    """Return the p-value of "the second is better by more than a margin somewhere"."""
    if math.isnan(margin):
        return math.nan
    # not worse at every rate: the least significant rate decides (Berger 1982)
    clearance = (uncertain.value + margin) / uncertain.standard_error
    return NormalDist().cdf(-float(clearance.min()))
