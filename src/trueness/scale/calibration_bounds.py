r"""How well can calibration be known from bins: its errors, its intercept, its slope?

A bin may lie across the edge of two groups of equally many cases, and a score anywhere
in its bin; what a group holds, and what a score is, lie between two numbers each.
Derivations: ``docs/maths/scale.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.solvers import bisect, rises_above_zero
from trueness.calibration.lines import log_odds
from trueness.calibration.residuals import folded_mean
from trueness.counts.values import Tally
from trueness.scale.arrangements import Ends

# the most bins for the intercept, and for the slope; more bins are merged
_BINS_OF_INTERCEPT = 1 << 16
_BINS_OF_SLOPE = 1 << 12

_ROUNDING_OF_ERRORS = 1e-12
_ERROR_OF_INTERCEPT = 1e-9  # of the search for its root
_LARGEST_LOG_ODDS = 50.0
_HALVINGS = 12  # of the last step of a search
_LARGEST_STEP = 1e3  # a slope this far from the first one counts as infinite


class _Range(NamedTuple):
    """The smallest and the largest value that each of several numbers can have."""

    low: Array
    high: Array


class _GroupRanges(NamedTuple):
    """Ranges of the positives, the negatives and the sum of label - score by group."""

    positives: _Range
    negatives: _Range
    gap: _Range

    @property
    def cases(self) -> _Range:
        """Return the smallest and the largest number of cases of each group."""
        return _Range(
            low=self.positives.low + self.negatives.low,
            high=self.positives.high + self.negatives.high,
        )


def calibration_error_bounds(t: Tally, groups: int) -> dict[str, Ends]:
    """Return the bounds of the calibration errors of equal groups, by error."""
    n = t.n_pos + t.n_neg
    ranges = _ranges_of_groups(t, groups)
    variance = _variance_of_proportion(ranges)
    # the absolute value of the gap
    gap = _Range(
        low=np.maximum(np.maximum(ranges.gap.low, -ranges.gap.high), 0.0),
        high=np.maximum(np.abs(ranges.gap.low), np.abs(ranges.gap.high)),
    )

    lowest_plain = float(gap.low.sum()) / n
    highest_plain = min(float(gap.high.sum()) / n, 1.0)
    lowest_excess, highest_excess = _ends_of_excess(gap, ranges.cases, variance, n)
    ends = {
        "plain": (lowest_plain, highest_plain),
        "debiased": (
            max(0.0, lowest_plain - highest_excess),
            max(0.0, highest_plain - lowest_excess),
        ),
        "rms": _ends_of_root_mean_square(gap, ranges.cases, variance, n),
    }

    return {
        name: (max(low - _ROUNDING_OF_ERRORS, 0.0), high + _ROUNDING_OF_ERRORS)
        for name, (low, high) in ends.items()
    }


def _ranges_of_groups(t: Tally, groups: int) -> _GroupRanges:
    """Return the ranges of counts and gaps for groups of about equally many cases."""
    low = t.score[::-1]
    high = t.high[::-1]
    pos = t.pos[::-1]
    neg = t.neg[::-1]
    cases = pos + neg
    first_group, last_group = _groups_of_bins(low, high, cases, groups)
    in_one_group = first_group == last_group

    def sum_by_group(values: Array) -> Array:
        total = np.zeros(groups, dtype=values.dtype)
        np.add.at(total, first_group[in_one_group], values[in_one_group])
        return total

    positives = sum_by_group(pos)
    negatives = sum_by_group(neg)
    gap_low = sum_by_group(pos - cases * high)
    gap_high = sum_by_group(pos - cases * low)

    # a bin that reaches into several groups may give any of its cases to each of them
    more_positives = np.zeros(groups, dtype=np.int64)
    more_negatives = np.zeros(groups, dtype=np.int64)
    for k in np.flatnonzero(~in_one_group):
        reach = slice(first_group[k], last_group[k] + 1)
        more_positives[reach] += pos[k]
        more_negatives[reach] += neg[k]
        gap_low[reach] -= neg[k] * high[k]
        gap_high[reach] += pos[k] * (1 - low[k])

    return _GroupRanges(
        positives=_Range(positives, positives + more_positives),
        negatives=_Range(negatives, negatives + more_negatives),
        gap=_Range(gap_low, gap_high),
    )


def _groups_of_bins(
    low: Floats, high: Floats, cases: Ints, groups: int
) -> tuple[Ints, Ints]:
    """Return the first and the last group that can hold cases of each bin.

    The groups are those of ``calibration.forecasts.equal_mass_bins``.
    """
    cumulative = np.cumsum(cases)
    groups_per_case = groups / cases.sum()
    of_middle = np.floor((cumulative - cases / 2) * groups_per_case)

    # the middle of a row inside the bin is at least half a case from its ends
    of_first_case = (cumulative - cases + 0.5) * groups_per_case
    of_last_case = (cumulative - 0.5) * groups_per_case
    is_bin = high > low
    first_group = np.where(is_bin, np.floor(of_first_case - 1e-9), of_middle)
    last_group = np.where(is_bin, np.floor(of_last_case + 1e-9), of_middle)

    return (
        np.clip(first_group, 0, groups - 1).astype(np.int64),
        np.clip(last_group, 0, groups - 1).astype(np.int64),
    )


def _variance_of_proportion(ranges: _GroupRanges) -> _Range:
    """Return the range of the variance of the proportion of positives in each group."""
    positives = ranges.positives
    negatives = ranges.negatives

    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.nan_to_num(positives.low / (positives.low + negatives.high))
        high = np.nan_to_num(positives.high / (positives.high + negatives.low))

    # p (1 - p) is concave: smallest at an end, largest at an end or at one half
    at_low = low * (1 - low)
    at_high = high * (1 - high)
    holds_one_half = (low <= 0.5) & (high >= 0.5)
    largest = np.where(holds_one_half, 0.25, np.maximum(at_low, at_high))

    return _Range(
        low=np.minimum(at_low, at_high) / np.maximum(ranges.cases.high - 1, 1),
        high=largest / np.maximum(ranges.cases.low - 1, 1),
    )


def _ends_of_excess(gap: _Range, cases: _Range, variance: _Range, n: float) -> Ends:
    """Return the bounds of what chance adds to the plain error.

    Chance adds less where gaps are large.
    """
    largest_gap = np.minimum(gap.high / np.maximum(cases.low, 1), 1.0)
    smallest_gap = gap.low / np.maximum(cases.high, 1)
    smallest_addition = folded_mean(largest_gap, variance.low) - largest_gap
    largest_addition = folded_mean(smallest_gap, variance.high) - smallest_gap
    low = float((cases.low * np.maximum(smallest_addition, 0.0)).sum()) / n
    high = float((cases.high * largest_addition).sum()) / n

    return low, high


def _ends_of_root_mean_square(
    gap: _Range, cases: _Range, variance: _Range, n: float
) -> Ends:
    """Return the bounds of the root mean square gap, less the part of chance."""
    smallest = np.where(gap.low > 0, gap.low**2 / np.maximum(cases.high, 1), 0.0) / n
    largest = np.where(gap.high > 0, gap.high**2 / np.maximum(cases.low, 1), 0.0) / n
    # a mean score and a proportion are at most 1 apart
    largest = np.minimum(largest, cases.high / n)

    low = max(0.0, float((smallest - cases.high * variance.high / n).sum()))
    high = max(0.0, float((largest - cases.low * variance.low / n).sum()))
    return float(np.sqrt(low)), float(np.sqrt(high))


def intercept_bounds(t: Tally) -> Ends:
    """Return the bounds of the intercept with a slope of 1."""
    t = t.bin(_BINS_OF_INTERCEPT)
    of_high_scores = _intercept(t, log_odds(t.high), 1.0)
    of_low_scores = _intercept(t, log_odds(t.score), 1.0)

    return (
        min(of_high_scores, of_low_scores) - _ERROR_OF_INTERCEPT,
        max(of_high_scores, of_low_scores) + _ERROR_OF_INTERCEPT,
    )


def slope_bounds(t: Tally, slope: float) -> Ends:
    """Return the bounds of the slope, near that of the lowest scores of the bins.

    The likelihood is concave: the slope lies where its derivative may be zero.
    """
    bins = t.bin(_BINS_OF_SLOPE)

    def is_too_small(candidate: float) -> bool:
        lowest_derivative, _ = _derivative_ends(bins, candidate)
        return lowest_derivative > 0

    def is_too_large(candidate: float) -> bool:
        _, highest_derivative = _derivative_ends(bins, candidate)
        return highest_derivative < 0

    low = _nearest_excluded(is_too_small, slope, -1)
    high = _nearest_excluded(is_too_large, slope, 1)
    return low, high


def _intercept(t: Tally, log_odds_of_scores: Floats, slope: float) -> float:
    """Return the intercept for which as many positives are expected as there are."""
    eta = slope * log_odds_of_scores
    cases = t.pos + t.neg

    def too_many_expected(intercept: float) -> float:
        return float((cases * expit(intercept + eta)).sum() - t.n_pos)

    start = -float(eta.max()) - _LARGEST_LOG_ODDS
    end = _LARGEST_LOG_ODDS - float(eta.min())
    return rises_above_zero(too_many_expected, start, end)


def _derivative_ends(t: Tally, slope: float) -> Ends:
    """Return the bounds of the derivative of the profile likelihood."""
    low_odds = log_odds(t.score)
    high_odds = log_odds(t.high)
    intercepts = (_intercept(t, low_odds, slope), _intercept(t, high_odds, slope))
    smallest_step = np.minimum(slope * low_odds, slope * high_odds)
    largest_step = np.maximum(slope * low_odds, slope * high_odds)
    # the probability that the line gives to the cases of each bin
    probability_low = expit(min(intercepts) - _ERROR_OF_INTERCEPT + smallest_step)
    probability_high = expit(max(intercepts) + _ERROR_OF_INTERCEPT + largest_step)

    # residuals sum to zero, so any centre may be subtracted; the mean makes terms small
    cases = t.pos + t.neg
    centre = float((cases * (low_odds + high_odds)).sum() / (2 * cases.sum()))
    distance = _Range(low_odds - centre, high_odds - centre)
    of_positives = _product(distance, _Range(1 - probability_high, 1 - probability_low))
    of_negatives = _product(distance, _Range(probability_low, probability_high))
    low = t.pos * of_positives.low - t.neg * of_negatives.high
    high = t.pos * of_positives.high - t.neg * of_negatives.low

    return float(low.sum()), float(high.sum())


def _product(first: _Range, second: _Range) -> _Range:
    """Return the range of the product of two numbers, each from its own range."""
    corners = np.array([x * y for x in first for y in second])
    return _Range(corners.min(axis=0), corners.max(axis=0))


def _nearest_excluded(
    is_excluded: Callable[[float], bool], start: float, direction: int
) -> float:
    """Return a number beyond which the slope cannot lie.

    It is above ``start`` if ``direction`` is 1, and below it if -1.
    """
    step = 1e-6 * max(abs(start), 1e-3)
    while not is_excluded(start + direction * step):
        step *= 4
        if step > _LARGEST_STEP * max(abs(start), 1.0):
            return direction * np.inf

    # bisect the last step; the excluded end is returned
    def is_possible(distance: float) -> bool:
        return not is_excluded(start + direction * float(distance))

    possible = float(bisect(is_possible, 0.0, step, _HALVINGS))
    return float(start + direction * (possible + step / 2**_HALVINGS))
