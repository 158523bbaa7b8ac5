"""Bins of neighbouring scores, by looking at each score."""

from itertools import pairwise

import numpy as np
import pytest

from trueness import InputError
from trueness.counts.bins import (
    equal_depth_starts,
    join_into_bins,
    map_bins,
    merge_bins,
    starts_without_small_counts,
)


def test_overlapping_bins_are_one():
    low = np.array([1.0, 5.0, 2.5, 8.0, 4.0])
    high = np.array([3.0, 6.0, 4.0, 9.0, 4.5])
    counts = [np.array([1, 2, 4, 8, 16]), np.array([0, 0, 0, 1, 0])]

    bins = merge_bins(low, high, counts)

    # 1 to 3, 2.5 to 4 and 4 to 4.5 touch
    assert bins.low.tolist() == [8, 5, 1]
    assert bins.high.tolist() == [9, 6, 4.5]
    assert [column.tolist() for column in bins.counts] == [[8, 2, 21], [1, 0, 0]]


def test_a_bin_within_another_joins_it():
    bins = merge_bins(
        np.array([0.0, 4.0, 1.0]), np.array([9.0, 5.0, 2.0]), [np.array([1, 1, 1])]
    )

    assert (bins.low.tolist(), bins.high.tolist()) == ([0], [9])
    assert bins.counts[0].tolist() == [3]


def test_bins_without_a_case_are_dropped():
    counts = [np.array([0, 3]), np.array([0, 1])]

    bins = merge_bins(np.array([0.0, 2.0]), np.array([5.0, 3.0]), counts)
    nothing = merge_bins(np.array([0.0]), np.array([1.0]), [np.array([0])])

    assert (bins.low.tolist(), bins.high.tolist()) == ([2], [3])
    assert nothing.low.size == 0


@pytest.mark.parametrize(
    ("cases", "at_most", "starts"),
    [
        ([1, 1, 1, 1], 2, [0, 2]),
        ([1, 1, 1, 1], 9, [0, 1, 2, 3]),
        ([5, 1, 1, 1], 2, [0, 1]),
        ([1, 1, 1, 5], 2, [0]),
        ([2**61, 2**60, 2**60], 2, [0, 1]),
        ([], 3, []),
        ([0, 0], 3, [0]),
    ],
)
def test_bins_of_about_equal_depth(cases, at_most, starts):
    assert equal_depth_starts(np.array(cases, np.int64), at_most).tolist() == starts


def fine(starts, counts, at_least):
    """Is every count of every bin zero, or at least so many?"""
    sums = [np.add.reduceat(column, starts) for column in counts]
    return all(((total == 0) | (total >= at_least)).all() for total in sums)


@pytest.mark.parametrize("seed", range(8))
def test_bins_without_small_counts_end_as_soon_as_they_can(seed):
    counts = list(np.random.default_rng(seed).integers(0, 5, (3, 9)))

    starts = starts_without_small_counts(counts, 3).tolist()

    assert starts[0] == 0
    assert fine(starts, counts, 3)

    for first, end in pairwise(starts):
        for earlier_end in range(first + 1, end):
            part = [column[first:earlier_end] for column in counts]
            assert not fine([0], part, 3)


def test_too_few_cases_have_no_bin():
    with pytest.raises(InputError, match="0 or at least 4") as said:
        starts_without_small_counts([np.array([1, 1, 1]), np.array([9, 9, 9])], 4)

    assert said.value.option == "at_least"


def test_weighted_cases_count_by_kish():
    """Two cases of weights 3 and 1 are 16 / 10 equal cases."""
    none = np.zeros(4)
    weights = np.array([3.0, 1.0, 2.0, 2.0])
    counts = [weights, none, none, weights**2, none, none]

    assert starts_without_small_counts(counts, 2).tolist() == [0]
    assert starts_without_small_counts(counts, 1.6).tolist() == [0, 2]
    assert starts_without_small_counts(counts, 1).tolist() == [0, 1, 2, 3]


def test_what_rounding_left_is_no_case():
    none = np.zeros(2)
    weights = np.array([5.0, 1e-18])
    counts = [np.ones(2) * 2, weights, none, np.ones(2) * 2, weights * 1.0, none]

    assert starts_without_small_counts(counts, 2).tolist() == [0, 1]


def test_rows_are_joined_from_each_start():
    score = np.array([9.0, 7.0, 5.0, 3.0])

    bins = join_into_bins(
        np.array([0, 1]), score, score + 0.5, [np.array([1, 2, 3, 4])]
    )

    assert bins.low.tolist() == [9, 3]
    assert bins.high.tolist() == [9.5, 7.5]
    assert bins.counts[0].tolist() == [1, 9]


def test_no_rows_are_no_bins():
    empty = np.array([])

    bins = join_into_bins(np.array([], int), empty, empty, [empty])

    assert bins.low.size == bins.high.size == bins.counts[0].size == 0


def test_a_falling_function_turns_bins_around():
    low = np.array([4.0, 1.0])
    high = np.array([5.0, 2.0])

    bins = map_bins(-low, -high, [np.array([3, 7])])

    assert bins.low.tolist() == [-2, -5]
    assert bins.high.tolist() == [-1, -4]
    assert bins.counts[0].tolist() == [7, 3]


def test_a_flat_part_joins_bins():
    bins = map_bins(
        np.array([1.0, 1.0, 0.0]), np.array([2.0, 1.0, 0.5]), [np.array([1, 2, 4])]
    )

    assert bins.low.tolist() == [1, 0]
    assert bins.counts[0].tolist() == [3, 4]


def test_a_function_that_rises_and_falls_is_not_monotone():
    with pytest.raises(InputError, match="rises and falls") as said:
        map_bins(np.array([1.0, 3.0]), np.array([2.0, 4.0]), [np.array([1, 1])])

    assert said.value.option == "monotone"
