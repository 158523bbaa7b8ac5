"""Ranks of columns that are long enough to be sorted as whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from trueness.ensembles.ranked_columns import MANY_ROWS, RankedColumn, rank_rows

N = MANY_ROWS + 500


def outputs(rng, kind):
    """Return outputs of both signs; 0 is among them."""
    values = rng.normal(size=N)
    values[:2] = 0.0
    if kind == "ties":
        return np.round(values, 1)
    if kind == "missing":
        values[rng.random(N) < 0.2] = np.nan
    if kind == "all magnitudes":
        return values * 10.0 ** rng.integers(-200, 200, N)
    return values


KINDS = ["distinct", "ties", "missing", "all magnitudes"]


@pytest.mark.parametrize("kind", KINDS)
def test_mid_ranks_are_those_of_scipy(rng, kind):
    column = outputs(rng, kind)
    ranks = np.empty(N)

    RankedColumn(column, np.ones(N, np.int64)).midranks(ranks)

    # rank 1 is the highest output
    expected = rankdata(-column, nan_policy="omit")
    np.testing.assert_array_equal(ranks, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_within_a_class_are_those_of_scipy(rng, kind):
    column = outputs(rng, kind)
    in_class = rng.random(N) < 0.3
    place = np.where(in_class, np.cumsum(in_class) - 1, -1)
    ranks = np.empty(in_class.sum())

    ranked = RankedColumn(column, np.ones(N, np.int64))
    ranked.ranks_within(in_class.astype(np.int64), place, ranks)

    expected = rankdata(-column[in_class], nan_policy="omit")
    np.testing.assert_array_equal(ranks, expected)


@pytest.mark.parametrize("extreme", [None, np.inf, -np.inf, np.nan])
def test_new_outputs_are_ranked_among_the_reference(rng, extreme):
    reference = np.unique(np.round(rng.normal(size=200), 1))
    output = np.round(rng.normal(size=N), 1)
    if extreme is not None:
        output[7] = extreme

    ranks = rank_rows(output[:, None], [reference], [np.ones(reference.size)])[:, 0]

    above = (reference > output[:, None]).sum(axis=1)
    tied = (reference == output[:, None]).sum(axis=1)
    expected = np.where(np.isnan(output), np.nan, above + tied / 2 + 0.5)
    np.testing.assert_array_equal(ranks, expected)


def test_a_sorted_column_holds_no_negative_zero(rng):
    column = outputs(rng, "distinct")

    score = RankedColumn(column, np.ones(N, np.int64)).score

    assert not np.signbit(score[score == 0]).any()
