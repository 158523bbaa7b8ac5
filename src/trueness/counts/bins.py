"""Bins of neighbouring scores: made, merged, and carried through a function.

A bin has a lowest and a highest score. Bins stand highest first and do not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks.errors import InputError
from trueness.counts.rows import ROUNDING, has_cases

BINS_FORGOTTEN = (
    "Answers will have no bounds, because the function may rise and fall within a "
    "bin. If it is monotone, declare it as monotone."
)


class Bins(NamedTuple):
    """The lowest and the highest score of each bin, and its columns of counts."""

    low: Floats
    high: Floats
    counts: list[Array]


def merge_bins(low: Floats, high: Floats, counts: Sequence[Array]) -> Bins:
    """Return the bins in order, highest first, with overlapping ones merged.

    Bins without a case are dropped.
    """
    occupied = has_cases(counts)
    order = np.flatnonzero(occupied)[np.argsort(-high[occupied], kind="stable")]
    low = low[order]
    high = high[order]

    # a merged bin starts where the highest score is below all scores before it
    lowest_so_far = np.minimum.accumulate(low)
    is_start = np.concatenate([[True], high[1:] < lowest_so_far[:-1]])[: low.size]
    start = np.flatnonzero(is_start)
    if start.size == 0:
        return Bins(low, high, [column[order] for column in counts])

    sums = [np.add.reduceat(column[order], start) for column in counts]
    return Bins(np.minimum.reduceat(low, start), high[start], sums)


def equal_depth_starts(cases: Ints, at_most: int) -> Ints:
    """Return the first row of each bin, for bins of about equally many cases.

    At most ``at_most`` bins, of neighbouring rows; a row is never divided.

    >>> equal_depth_starts(np.array([1, 1, 5, 1, 1]), 3)
    array([0, 3])
    """
    cases_before = np.cumsum(cases) - cases
    # in floating point: the product of two large counts may leave int64
    bin_of_row = np.floor(cases_before / (cases.sum() or 1) * at_most)
    return np.flatnonzero(np.diff(bin_of_row, prepend=-1))


def starts_without_small_counts(counts: Sequence[Array], at_least: int) -> Ints:
    """Return the first row of each bin, for bins whose counts are 0 or ``at_least``.

    A bin ends as soon as it can; the rows left at the end join the bins before it.
    Weighted cases are counted by Kish's effective number, which is never too large.

    >>> starts_without_small_counts([np.array([0, 1, 3, 9]), np.array([6, 0, 2, 0])], 2)
    array([0, 1, 3])
    """
    size = len(counts[0])
    running_sums = [np.cumsum(column) for column in counts]
    starts: list[int] = []
    first_row = 0
    for last_row in range(size):
        if _no_count_is_small(running_sums, first_row, last_row, at_least):
            starts.append(first_row)
            first_row = last_row + 1

    # the rows after the last bin join it, and as many bins before it as necessary
    rows_are_left = first_row < size
    while (
        rows_are_left
        and starts
        and not _no_count_is_small(running_sums, starts[-1], size - 1, at_least)
    ):
        starts.pop()

    if rows_are_left and not starts:
        raise InputError(
            "Negative, positive and unlabelled cases must each number 0 or at least "
            f"{at_least}; one kind has fewer. Choose a smaller minimum, or leave "
            "these cases out.",
            option="at_least",
        )
    return np.array(starts, np.int64)


def _no_count_is_small(
    running_sums: Sequence[Array], first_row: int, last_row: int, at_least: int
) -> bool:
    """Return whether each count of these rows is zero, or large enough."""
    sums = []
    for running_sum in running_sums:
        sum_before = running_sum[first_row - 1] if first_row else 0
        sums.append(running_sum[last_row] - sum_before)

    is_weighted = len(sums) > 3
    if is_weighted:
        # three sums of weights, then three of squared weights
        totals = [running_sum[-1] for running_sum in running_sums[:3]]
        sums = [
            _effective_cases(weight, square, total)
            for weight, square, total in zip(sums[:3], sums[3:], totals, strict=True)
        ]

    return all(number == 0 or number >= at_least for number in sums)


def _effective_cases(weight: float, square: float, total_weight: float) -> float:
    """Return Kish's effective number of cases, with a tolerance for rounding."""
    if weight <= ROUNDING * total_weight:
        return 0
    return weight * weight / square * (1 + ROUNDING)


def join_into_bins(
    start: Ints, low: Floats, high: Floats, counts: Sequence[Array]
) -> Bins:
    """Merge neighbouring rows, highest first, into bins from each row ``start`` on."""
    if start.size == 0:
        return Bins(low, high, list(counts))

    last_row = np.append(start[1:], low.size) - 1
    sums = [np.add.reduceat(column, start) for column in counts]
    return Bins(low[last_row], high[start], sums)


def map_bins(low: Floats, high: Floats, counts: Sequence[Array]) -> Bins:
    """Return the bins after a monotone function of the scores.

    ``low`` and ``high`` are its values at the lower and the upper ends.
    """
    # both ends of each bin in turn, from the highest score down: a monotone function
    # only rises along them, or only falls
    ends_from_top = np.stack([high, low]).T.ravel()
    steps = np.diff(ends_from_top)
    if (steps > 0).any() and (steps < 0).any():
        raise InputError(
            "A function declared as monotone rises and falls here: the bin edges are "
            "out of order. Leave monotone out.",
            option="monotone",
        )
    return merge_bins(np.minimum(low, high), np.maximum(low, high), counts)
