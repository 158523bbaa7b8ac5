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
    """Join bins that overlap, highest first; bins without a case are dropped."""
    occupied = has_cases(counts)
    order = np.flatnonzero(occupied)[np.argsort(-high[occupied], kind="stable")]
    low = low[order]
    high = high[order]

    # a bin starts anew when it ends below everything before it
    lowest_so_far = np.minimum.accumulate(low)
    starts_anew = np.concatenate([[True], high[1:] < lowest_so_far[:-1]])[: low.size]
    start = np.flatnonzero(starts_anew)
    if start.size == 0:
        return Bins(low, high, [column[order] for column in counts])

    sums = [np.add.reduceat(column[order], start) for column in counts]
    return Bins(np.minimum.reduceat(low, start), high[start], sums)


def equal_depth_starts(cases: Ints, at_most: int) -> Ints:
    """Return where bins of about equally many cases start.

    At most ``at_most`` bins, of neighbouring rows; a row is never divided.

    >>> equal_depth_starts(np.array([1, 1, 5, 1, 1]), 3)
    array([0, 3])
    """
    cases_before = np.cumsum(cases) - cases
    # in floating point: the product of two large counts may leave int64
    bin_of_row = np.floor(cases_before / (cases.sum() or 1) * at_most)
    return np.flatnonzero(np.diff(bin_of_row, prepend=-1))


def starts_without_small_counts(counts: Sequence[Array], at_least: int) -> Ints:
    """Return where bins start in which no count is small, unless it is zero.

    A bin ends as soon as it can; what is left at the end joins the bins before it. Of
    weights and squares, Kish's number of equal cases is at most that of the cases.

    >>> starts_without_small_counts([np.array([0, 1, 3, 9]), np.array([6, 0, 2, 0])], 2)
    array([0, 1, 3])
    """
    size = len(counts[0])
    running_sums = [np.cumsum(column) for column in counts]
    starts: list[int] = []
    first = 0
    for last_row in range(size):
        if _no_count_is_small(running_sums, first, last_row, at_least):
            starts.append(first)
            first = last_row + 1

    # the rows behind the last bin join it, and bins before it if need be
    rows_are_left = first < size
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
    running_sums: Sequence[Array], first: int, last_row: int, at_least: int
) -> bool:
    """Are the counts of rows ``first`` to ``last_row`` zero or at least so many?"""
    sums = [
        running[last_row] - (running[first - 1] if first else 0)
        for running in running_sums
    ]
    if len(sums) > 3:
        totals = [running[-1] for running in running_sums[:3]]
        sums = [
            _effective_cases(weight, square, total)
            for weight, square, total in zip(sums[:3], sums[3:], totals, strict=True)
        ]

    return all(number == 0 or number >= at_least for number in sums)


def _effective_cases(weight: float, square: float, total_weight: float) -> float:
    """Return Kish's number of equal cases; rounding makes no case and takes none."""
    if weight <= ROUNDING * total_weight:
        return 0
    return weight * weight / square * (1 + ROUNDING)


def join_into_bins(
    start: Ints, low: Floats, high: Floats, counts: Sequence[Array]
) -> Bins:
    """Put neighbouring rows, highest first, into the bins that start there."""
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
    from_top = np.stack([high, low]).T.ravel()
    steps = np.diff(from_top)
    if (steps > 0).any() and (steps < 0).any():
        raise InputError(
            "A function declared as monotone rises and falls here: the bin edges are "
            "out of order. Leave monotone out.",
            option="monotone",
        )
    return merge_bins(np.minimum(low, high), np.maximum(low, high), counts)
