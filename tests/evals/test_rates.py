"""Pass rates against subsets counted one by one, Wilson, and simulated items."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binomtest

import trueness
from trueness import Attempts, NotEnoughCases


def made(passed, tried, cluster=None):
    return Attempts([f"i{k}" for k in range(len(passed))], passed, tried, cluster)


def by_subsets(passed, tried, k, of):
    each = []
    for c, n in zip(passed, tried, strict=True):
        subsets = list(combinations([True] * c + [False] * (n - c), k))
        each.append(Fraction(sum(map(of, subsets)), len(subsets)))
    return float(sum(each) / len(each))


@pytest.mark.parametrize("seed", range(8))
def test_every_subset_of_k_attempts(seed):
    rng = np.random.default_rng(seed)
    tried = rng.integers(3, 8, 6)
    passed = rng.integers(0, tried + 1)
    a = made(passed, tried)
    for k in (1, 2, 3):
        assert trueness.pass_at_k(a, k).value == by_subsets(passed, tried, k, any)
        assert trueness.pass_hat_k(a, k).value == by_subsets(passed, tried, k, all)


def test_one_attempt_per_item_is_a_counted_share():
    e = trueness.pass_rate(made([1] * 27 + [0] * 13, [1] * 40))
    wilson = binomtest(27, 40).proportion_ci(method="wilson")
    assert (e.low, e.high) == pytest.approx((wilson.low, wilson.high), abs=1e-12)
    assert e.method == "wilson"


def test_copies_of_attempts_add_nothing():
    """Attempts that always repeat the first one say no more than one attempt."""
    passed = np.array([1] * 60 + [0] * 40)
    one = trueness.pass_rate(made(passed, [1] * 100))
    ten = trueness.pass_rate(made(10 * passed, [10] * 100))
    assert ten.value == one.value
    assert ten.high - ten.low == pytest.approx(one.high - one.low, rel=0.05)


def test_clusters_of_items_are_wider_and_single_ones_are_none():
    rng = np.random.default_rng(3)
    easy = rng.random(20).repeat(10)
    passed = rng.binomial(4, easy)
    groups = [f"g{k // 10}" for k in range(200)]
    alone = trueness.pass_rate(made(passed, [4] * 200))
    grouped = trueness.pass_rate(made(passed, [4] * 200, groups))
    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)
    single = trueness.pass_rate(made(passed, [4] * 200, range(200)))
    assert (single.low, single.high) == (alone.low, alone.high)


def test_too_few_attempts_are_refused():
    with pytest.raises(NotEnoughCases, match="1 of 2 items have fewer"):
        trueness.pass_at_k(made([1, 1], [3, 2]), 3)


def test_a_mapping_of_systems_gives_a_dict():
    found = trueness.pass_rate({"a": made([1], [1]), "b": made([0], [2])})
    assert {k: e.value for k, e in found.items()} == {"a": 1.0, "b": 0.0}


@pytest.mark.parametrize(
    ("items", "attempts", "a", "b"),
    [(30, 1, 2, 2), (60, 5, 2, 2), (200, 3, 9, 1), (500, 10, 0.5, 0.5)],
)
def test_simulated_items_are_covered(items, attempts, a, b):
    rng = np.random.default_rng(items)
    hits, size, truth = 0, 400, a / (a + b)
    for _ in range(size):
        passed = rng.binomial(attempts, rng.beta(a, b, items))
        e = trueness.pass_rate(made(passed, [attempts] * items))
        hits += e.low <= truth <= e.high
    assert 0.92 <= hits / size <= 0.985
