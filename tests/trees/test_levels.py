"""Levels of confidence and utility, against sums, mpmath and the events themselves."""

from fractions import Fraction
from math import comb

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueness import (
    InputError,
    NotEnoughCases,
    confidence_level,
    plan_leaf,
    top_probability,
    utility_level,
)
from trueness.trees import tree_levels


def slow_confidence(n, p):
    """Eq. (5) as it stands, in fractions."""
    p = Fraction(p)
    p = max(p, 1 - p)
    term = [comb(n, y) * p**y * (1 - p) ** (n - y) for y in range(n + 1)]
    above = sum(t for y, t in enumerate(term) if 2 * y > n)
    return above + sum(t for y, t in enumerate(term) if 2 * y == n) / 2


def precise_confidence(n, p):
    """Eq. (5) with 50 digits: one less the wrong majorities, largest first."""
    with mp.workdps(50):
        p = mp.mpf(p)
        p = max(p, 1 - p)
        term = mp.binomial(n, n // 2) * p ** (n // 2) * (1 - p) ** (n - n // 2)
        wrong = term / 2 if n % 2 == 0 else term
        for y in range(n // 2, 0, -1):
            term = term * y / (n - y + 1) * (1 - p) / p
            wrong += term
            if term < wrong * mp.mpf(10) ** -40:
                break
        return 1 - wrong


def walk_confidence(n, share, p):
    """Eq. (9) with a coin, by another road: a lazy random walk.

    Let S add +1 or -1 for each case of the leaf. E sign(S) rises with each case by
    share (2p - 1) P(S = 0), and P(S = 0) is a central trinomial coefficient, which a
    three-term recurrence gives.
    """
    with mp.workdps(30):
        share, p = mp.mpf(share), mp.mpf(p)
        stay, cross = 1 - share, share * share * p * (1 - p)
        before, now, total = mp.mpf(0), mp.mpf(1), mp.mpf(0)
        for i in range(n):
            total += now
            later = (2 * i + 1) * stay * now - i * (stay**2 - 4 * cross) * before
            before, now = now, later / (i + 1)
        return float(0.5 + share * (2 * p - 1) * total / 2)


def test_by_hand():
    assert confidence_level(1, 0.75) == 0.75
    assert confidence_level(3, 0.75) == pytest.approx(0.75**3 + 3 * 0.75**2 / 4)
    assert confidence_level(4, 0.75) == confidence_level(3, 0.75)
    assert utility_level(1, 0.75) == pytest.approx(0.75**2 + 0.25**2)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7, 10, 25, 100, 101])
@pytest.mark.parametrize("p", [0.5, 0.5 + 2**-40, 0.6, 0.75, 0.9, 1 - 2**-40, 1.0, 0.3])
def test_slow_twin(n, p):
    c = slow_confidence(n, p)
    top = max(Fraction(p), 1 - Fraction(p))
    assert confidence_level(n, p) == pytest.approx(float(c), abs=1e-15, rel=0)
    assert utility_level(n, p) == pytest.approx(
        float(top * c + (1 - top) * (1 - c)), abs=1e-15, rel=0
    )


@pytest.mark.parametrize("n", [999, 10**4, 99_999, 10**6])
@pytest.mark.parametrize(
    "p",
    [
        *(0.5, 0.5 + 1e-12, 0.5 + 1e-9, 0.5 - 1e-6, 0.5 + 1e-4, 0.5003, 0.501),
        *(0.505, 0.55, 0.8, 1 - 1e-6, 1 - 1e-12, 1e-12),
    ],
)
def test_many_cases_agree_with_mpmath(n, p):
    c = precise_confidence(n, p)
    assert abs(confidence_level(n, p) - c) < 1e-15
    top = max(mp.mpf(p), 1 - mp.mpf(p))
    assert abs(utility_level(n, p) - (top * c + (1 - top) * (1 - c))) < 1e-15


def test_broadcasting_and_types():
    grid = confidence_level(np.arange(1, 4)[:, None], [0.6, 0.7])
    assert grid.shape == (3, 2)
    assert grid[2, 1] == pytest.approx(confidence_level(3, 0.7), abs=1e-15)
    assert isinstance(confidence_level(3, 0.7), float)
    assert confidence_level(3, top_probability(5, 7)) > 0.5
    assert confidence_level([], 0.7).size == 0


@given(st.integers(0, 5000), st.floats(0, 1))
def test_laws_of_one_leaf(n, p):
    c, u = confidence_level(n, p), utility_level(n, p)
    assert c == pytest.approx(confidence_level(n, 1 - p), abs=1e-13)
    assert 0.5 <= u <= max(p, 1 - p) + 1e-15
    assert u <= c + 1e-15
    assert confidence_level(n + 1, p) >= c - 1e-15
    if n % 2:
        assert confidence_level(n + 1, p) == c


def test_plan_by_hand():
    assert plan_leaf(p=0.75, confidence=0.95) == 9
    # Differs from section 2.3: .75 * .8965 + .25 * .1035 = .6982 is below .70
    assert utility_level(5, 0.75) < 0.70 < utility_level(7, 0.75)
    assert plan_leaf(p=0.75, utility=0.70) == 7
    assert plan_leaf(p=0.75, utility=0.70, decimals=2) == 5
    assert plan_leaf(p=0.75, confidence=0.95, decimals=2) == 9
    assert plan_leaf(p=0.25, confidence=0.95) == 9
    assert plan_leaf(p=0.75, confidence=0.75) == 1  # met exactly
    assert plan_leaf(p=0.75, confidence=0.5) == 1
    assert plan_leaf(p=1, confidence=0.999, utility=1) == 1
    assert plan_leaf(p=0.75, confidence=0.95, utility=0.74) == max(
        9, plan_leaf(p=0.75, utility=0.74)
    )


@pytest.mark.parametrize("p", [0.501, 0.55, 0.6, 0.9, 0.999])
@pytest.mark.parametrize("target", [0.51, 0.7, 0.95, 0.999])
def test_plan_is_the_smallest(p, target):
    n = plan_leaf(p=p, confidence=target)
    assert confidence_level(n, p) >= target - 1e-12
    assert n == 1 or confidence_level(n - 1, p) < target
    wanted = 0.5 + (target - 0.5) * (p - 0.5) * 1.9
    m = plan_leaf(p=p, utility=wanted)
    assert utility_level(m, p) >= wanted - 1e-12
    assert m == 1 or utility_level(m - 1, p) < wanted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": 0.7}, r"needs a target. Type plan_leaf\(p=0.75, confidence=0.95\)"),
        ({"p": 0.7, "utility": 0.7}, "stays below the larger class probability, 0.7"),
        ({"p": 0.5, "confidence": 0.9}, "when p is 1/2: there is none"),
        ({"p": 0.5, "utility": 0.6}, "stays below"),
        ({"p": 0.5 + 1e-13, "confidence": 0.9}, "More than 9,007,199,254,740,992"),
    ],
)
def test_plans_that_cannot_be(options, message):
    with pytest.raises((InputError, NotEnoughCases), match=message):
        plan_leaf(**options)


TREES = [
    (10, [0.5, 0.5], [0.7, 0.7]),
    (14, [5 / 14, 4 / 14, 5 / 14], [0.6, 1.0, 0.6]),
    (1, [0.2, 0.8], [0.9, 0.55]),
    (0, [0.2, 0.8], [0.9, 0.55]),
    (60, [1.0], [0.6]),
    (50, [0.0, 0.01, 0.99], [0.9, 0.8, 0.51]),
]


@pytest.mark.parametrize(("n", "weights", "p"), TREES)
def test_tree_is_the_sum_of_eq_9(n, weights, p):
    coin = tree_levels(n, weights, p)
    printed = tree_levels(n, weights, p, empty="wrong")
    for j, (share, top) in enumerate(zip(map(Fraction, weights), p, strict=True)):
        mass = [comb(n, m) * share**m * (1 - share) ** (n - m) for m in range(n + 1)]
        levels = [slow_confidence(m, top) for m in range(n + 1)]
        exact = sum(w * c for w, c in zip(mass, levels, strict=True))
        assert coin.node_confidence[j] == pytest.approx(float(exact), abs=2e-15)
        assert printed.node_confidence[j] == pytest.approx(
            float(exact - mass[0] / 2), abs=2e-15
        )
    assert coin.confidence == pytest.approx(weights @ coin.node_confidence)
    utility = coin.p * coin.node_confidence + (1 - coin.p) * (1 - coin.node_confidence)
    np.testing.assert_allclose(coin.node_utility, utility, atol=1e-15)
    assert coin.utility == pytest.approx(weights @ utility)


def test_tree_by_the_errata():
    levels = tree_levels(10, [0.5, 0.5], [0.7, 0.7])
    assert round(levels.confidence, 5) == 0.81884
    assert round(tree_levels(10, [0.5, 0.5], 0.7, "wrong").confidence, 5) == 0.81835
    assert levels.confidence == tree_levels(10, [0.5, 0.5], 0.7, 0.5).confidence


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.3, 0.999])
@pytest.mark.parametrize("p", [0.5 + 1e-9, 0.51, 0.9, 1 - 1e-12])
def test_a_large_tree_agrees_with_the_random_walk(share, p):
    n = 3000
    tree = tree_levels(n, [share, 1 - share], [p, p])
    assert tree.node_confidence[0] == pytest.approx(
        walk_confidence(n, share, p), abs=1e-14
    )
    assert tree.node_confidence[1] == pytest.approx(
        walk_confidence(n, 1 - share, p), abs=1e-14
    )
    assert 0 <= tree.left_out < 1e-15


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: confidence_level(-1, 0.6), "n must be whole numbers, zero or more"),
        (lambda: confidence_level(2.5, 0.6), "n must be whole numbers"),
        (lambda: confidence_level(5, 60), r"p must lie in \[0, 1\]; found 60.0"),
        (lambda: confidence_level(5, [0.6, np.nan]), r"positions? 1"),
        (lambda: utility_level(5, "high"), "p must be numbers; found 'high'"),
        (lambda: tree_levels(5, [0.5, 0.6], [0.6, 0.6]), "sum to 1; found a sum"),
        (lambda: tree_levels(5, [0.5, 0.5], [0.6]), "one entry per case|same"),
        (lambda: tree_levels(5, [1], [0.6], empty="con"), "Did you mean 'coin'"),
        (lambda: tree_levels(5, [1], [0.6], empty=2), r"empty must lie in \[0, 1\]"),
        (lambda: tree_levels(2.5, [1], [0.6]), "n must be a whole number"),
        (lambda: tree_levels(5, [], []), "weights must sum to 1"),
    ],
)
def test_wrong_input_is_answered_by_a_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
