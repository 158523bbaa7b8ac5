"""Placements: pairs, runs and groups of neighbours, by counting cases one by one."""

import numpy as np
import pytest

import trueness
from trueness import Tally
from trueness.counts.placements import (
    coarsen,
    corners,
    group_counts,
    group_starts,
    runs,
    tied_proportion,
    twice_wins,
)


def sample(seed, rows=12):
    """Return a tally with ties, and rows that hold one class only."""
    rng = np.random.default_rng(seed)
    neg, pos, unknown = rng.integers(0, 4, (3, rows))
    neg[0] = pos[-1] = 1
    return Tally(np.arange(rows, 0, -1.0), neg=neg, pos=pos, unknown=unknown)


def pairs(tally):
    """Return the difference of scores of each positive and each negative."""
    positives = np.repeat(tally.score, tally.pos)
    negatives = np.repeat(tally.score, tally.neg)
    return positives[:, None] - negatives


@pytest.mark.parametrize("seed", range(5))
def test_wins_count_two_and_ties_one(seed):
    tally = sample(seed)

    difference = pairs(tally)

    assert twice_wins(tally) == 2 * (difference > 0).sum() + (difference == 0).sum()
    assert tied_proportion(tally) == pytest.approx((difference == 0).mean())


def test_wins_of_very_many_cases_are_exact():
    """Products of these counts are beyond 64 bits."""
    pos = [10**12 + 1, 7, 10**11]
    neg = [5, 10**12 - 3, 10**11 + 9]

    wins = twice_wins(Tally([3, 2, 1], pos=pos, neg=neg))

    below = [neg[1] + neg[2], neg[2], 0]

    assert wins == sum(p * (2 * b + n) for p, b, n in zip(pos, below, neg, strict=True))


@pytest.mark.parametrize("cases", [2**29, 2**30 - 1, 2**30, 2**31])
def test_wins_do_not_overflow_near_the_largest_product(cases):
    tally = Tally([2, 1], pos=[cases, 1], neg=[1, cases])

    assert twice_wins(tally) == cases * (2 * cases + 1) + cases


def test_wins_of_many_rows_are_added_block_by_block():
    rows = 200_000
    rng = np.random.default_rng(0)
    neg, pos = rng.integers(0, 5, (2, rows))

    wins = twice_wins(Tally(np.arange(rows, 0, -1.0), neg=neg, pos=pos))

    below = neg.sum() - np.cumsum(neg)

    assert wins == int((pos * (2 * below + neg)).sum())


def test_runs_hold_one_class_each():
    tally = Tally(
        [8, 7, 6, 5, 4, 3, 2, 1],
        pos=[2, 1, 0, 0, 1, 2, 0, 3],
        neg=[0, 0, 3, 1, 1, 4, 2, 0],
    )

    neg, pos = runs(tally)

    # rows with both classes stay alone
    assert pos.tolist() == [3, 0, 1, 2, 0, 3]
    assert neg.tolist() == [0, 4, 1, 4, 2, 0]


def test_rows_without_a_label_are_no_part_of_runs():
    tally = Tally([3, 2, 1], pos=[2, 0, 1], neg=[0, 0, 0], unknown=[0, 5, 0])

    neg, pos = runs(tally)

    assert (neg.tolist(), pos.tolist()) == ([0], [3])


@pytest.mark.parametrize("seed", range(3))
def test_corners_have_the_same_area_in_fewer_rows(seed):
    tally = sample(seed, rows=30)

    few = corners(tally)

    assert len(few) == len(runs(tally)[0])
    assert few.score.tolist() == list(range(len(few), 0, -1))
    assert twice_wins(few) == twice_wins(tally)


def test_corners_keep_clusters_where_they_are():
    label = [1, 1, 0, 0, 1, 0]
    cluster = ["a", "b", "a", "b", "a", "b"]
    tally = trueness.tally(label, [6, 5, 4, 3, 2, 1], cluster=cluster)

    few = corners(tally)

    assert few.pos.tolist() == [2, 0, 1, 0]

    positives = few.clusters.per_cluster(few.clusters.counts[1])

    assert sorted(positives.tolist()) == [1, 2]


@pytest.mark.parametrize(
    ("count", "most", "starts"),
    [
        (np.ones(12), 4, [0, 3, 6, 9]),
        (np.ones(5), 5, [0, 1, 2, 3, 4]),
        (np.ones(5), 1, [0]),
        # a large row has the groups that it fills
        (np.array([1, 1, 8, 1, 1]), 2, [0, 2]),
        (np.array([8, 1, 1]), 2, [0, 1]),
        (np.array([1, 1, 8]), 5, [0, 2]),
    ],
)
def test_groups_hold_about_equally_many_cases(count, most, starts):
    assert group_starts(count, most).tolist() == starts


@pytest.mark.parametrize("most", [3, 7, 20])
def test_fewer_rows_hold_all_cases(most):
    tally = sample(1, rows=60)

    coarse = coarsen(tally, most)
    neg, pos = group_counts(tally.neg, tally.pos, most)

    assert 1 < len(coarse) <= most
    assert coarse.pos.tolist() == pos.tolist()
    assert coarse.neg.tolist() == neg.tolist()
    assert coarse.n_pos == tally.n_pos
    assert coarse.n_unknown == tally.n_unknown


def test_few_rows_stay_as_they_are():
    tally = sample(1)

    assert coarsen(tally, len(tally)) is tally
    assert group_counts(tally.neg, tally.pos, len(tally))[0] is tally.neg


def test_both_classes_count_the_same_when_rows_are_joined():
    """Ten positives weigh as much as a thousand negatives."""
    pos = np.array([5, 5, 0, 0, 0, 0])
    neg = np.array([0, 0, 250, 250, 250, 250])

    of_negatives, of_positives = group_counts(neg, pos, 2)

    assert of_positives.tolist() == [10, 0]
    assert of_negatives.tolist() == [0, 1000]
