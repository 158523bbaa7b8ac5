"""Levels of confidence and utility, against sums, mpmath and the events themselves."""

from fractions import Fraction
from math import comb

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness
from trueness import InputError, NotEnoughCases


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
    assert trueness.confidence_level(1, 0.75) == 0.75
    assert trueness.confidence_level(3, 0.75) == pytest.approx(
        0.75**3 + 3 * 0.75**2 / 4
    )
    assert trueness.confidence_level(4, 0.75) == trueness.confidence_level(3, 0.75)
    assert trueness.utility_level(1, 0.75) == pytest.approx(0.75**2 + 0.25**2)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7, 10, 25, 100, 101])
@pytest.mark.parametrize("p", [0.5, 0.5 + 2**-40, 0.6, 0.75, 0.9, 1 - 2**-40, 1.0, 0.3])
def test_slow_twin(n, p):
    c = slow_confidence(n, p)
    top = max(Fraction(p), 1 - Fraction(p))
    assert trueness.confidence_level(n, p) == pytest.approx(float(c), abs=1e-15, rel=0)
    assert trueness.utility_level(n, p) == pytest.approx(
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
    assert abs(trueness.confidence_level(n, p) - c) < 1e-15
    top = max(mp.mpf(p), 1 - mp.mpf(p))
    assert abs(trueness.utility_level(n, p) - (top * c + (1 - top) * (1 - c))) < 1e-15


def test_broadcasting_and_types():
    grid = trueness.confidence_level(np.arange(1, 4)[:, None], [0.6, 0.7])
    assert grid.shape == (3, 2)
    assert grid[2, 1] == pytest.approx(trueness.confidence_level(3, 0.7), abs=1e-15)
    assert isinstance(trueness.confidence_level(3, 0.7), float)
    assert trueness.confidence_level(3, trueness.top_probability(5, 7)) > 0.5
    assert trueness.confidence_level([], 0.7).size == 0


@given(st.integers(0, 5000), st.floats(0, 1))
def test_laws_of_one_leaf(n, p):
    c, u = trueness.confidence_level(n, p), trueness.utility_level(n, p)
    assert c == pytest.approx(trueness.confidence_level(n, 1 - p), abs=1e-13)
    assert 0.5 <= u <= max(p, 1 - p) + 1e-15
    assert u <= c + 1e-15
    assert trueness.confidence_level(n + 1, p) >= c - 1e-15
    if n % 2:
        assert trueness.confidence_level(n + 1, p) == c


def test_plan_by_hand():
    assert trueness.plan_leaf(p=0.75, confidence=0.95) == 9
    # Differs from section 2.3: .75 * .8965 + .25 * .1035 = .6982 is below .70
    assert trueness.utility_level(5, 0.75) < 0.70 < trueness.utility_level(7, 0.75)
    assert trueness.plan_leaf(p=0.75, utility=0.70) == 7
    assert trueness.plan_leaf(p=0.75, utility=0.70, decimals=2) == 5
    assert trueness.plan_leaf(p=0.75, confidence=0.95, decimals=2) == 9
    assert trueness.plan_leaf(p=0.25, confidence=0.95) == 9
    assert trueness.plan_leaf(p=0.75, confidence=0.75) == 1  # met exactly
    assert trueness.plan_leaf(p=0.75, confidence=0.5) == 1
    assert trueness.plan_leaf(p=1, confidence=0.999, utility=1) == 1
    assert trueness.plan_leaf(p=0.75, confidence=0.95, utility=0.74) == max(
        9, trueness.plan_leaf(p=0.75, utility=0.74)
    )


@pytest.mark.parametrize("p", [0.501, 0.55, 0.6, 0.9, 0.999])
@pytest.mark.parametrize("target", [0.51, 0.7, 0.95, 0.999])
def test_plan_is_the_smallest(p, target):
    n = trueness.plan_leaf(p=p, confidence=target)
    assert trueness.confidence_level(n, p) >= target - 1e-12
    assert n == 1 or trueness.confidence_level(n - 1, p) < target
    wanted = 0.5 + (target - 0.5) * (p - 0.5) * 1.9
    m = trueness.plan_leaf(p=p, utility=wanted)
    assert trueness.utility_level(m, p) >= wanted - 1e-12
    assert m == 1 or trueness.utility_level(m - 1, p) < wanted


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
        trueness.plan_leaf(**options)


def test_a_plan_close_to_a_coin():
    n = trueness.plan_leaf(p=0.5 + 1e-6, confidence=0.95)
    # normal limit: (1.6448536 / 2e-6)**2
    assert n == pytest.approx((1.6448536269514722 / 2e-6) ** 2, rel=1e-5)


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
    coin = trueness.trees.tree_levels(n, weights, p)
    printed = trueness.trees.tree_levels(n, weights, p, empty="wrong")
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
    levels = trueness.trees.tree_levels(10, [0.5, 0.5], [0.7, 0.7])
    assert round(levels.confidence, 5) == 0.81884
    assert (
        round(trueness.trees.tree_levels(10, [0.5, 0.5], 0.7, "wrong").confidence, 5)
        == 0.81835
    )
    assert (
        levels.confidence
        == trueness.trees.tree_levels(10, [0.5, 0.5], 0.7, 0.5).confidence
    )


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.3, 0.999])
@pytest.mark.parametrize("p", [0.5 + 1e-9, 0.51, 0.9, 1 - 1e-12])
def test_a_large_tree_agrees_with_the_random_walk(share, p):
    n = 3000
    tree = trueness.trees.tree_levels(n, [share, 1 - share], [p, p])
    assert tree.node_confidence[0] == pytest.approx(
        walk_confidence(n, share, p), abs=1e-14
    )
    assert tree.node_confidence[1] == pytest.approx(
        walk_confidence(n, 1 - share, p), abs=1e-14
    )
    assert 0 <= tree.left_out < 1e-15


def test_the_events_of_a_tree(rng):
    draws, n = 100_000, 8
    weights, p = np.array([0.6, 0.3, 0.1]), np.array([0.7, 0.2, 0.9])
    cases = rng.multinomial(n, weights, draws)
    ones = rng.binomial(cases, p)
    coin = rng.random(ones.shape) < 0.5
    guess = np.where(2 * ones == cases, coin, 2 * ones > cases)
    leaf = rng.choice(3, draws, p=weights)
    guess = guess[np.arange(draws), leaf]
    letter = guess == (p[leaf] > 0.5)
    case = guess == (rng.random(draws) < p[leaf])
    tree = trueness.trees.tree_levels(n, weights, p)
    assert letter.mean() == pytest.approx(tree.confidence, abs=4 * 0.5 / draws**0.5)
    assert case.mean() == pytest.approx(tree.utility, abs=4 * 0.5 / draws**0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: trueness.confidence_level(-1, 0.6),
            "n must be whole numbers, zero or more",
        ),
        (lambda: trueness.confidence_level(2.5, 0.6), "n must be whole numbers"),
        (
            lambda: trueness.confidence_level(5, 60),
            r"p must lie in \[0, 1\]; found 60.0",
        ),
        (lambda: trueness.confidence_level(5, [0.6, np.nan]), r"positions? 1"),
        (lambda: trueness.utility_level(5, "high"), "p must be numbers; found 'high'"),
        (
            lambda: trueness.trees.tree_levels(5, [0.5, 0.6], [0.6, 0.6]),
            "sum to 1; found a sum",
        ),
        (
            lambda: trueness.trees.tree_levels(5, [0.5, 0.5], [0.6]),
            "one entry per case|same",
        ),
        (
            lambda: trueness.trees.tree_levels(5, [1], [0.6], empty="con"),
            "Did you mean 'coin'",
        ),
        (
            lambda: trueness.trees.tree_levels(5, [1], [0.6], empty=2),
            r"empty must lie in \[0, 1\]",
        ),
        (
            lambda: trueness.trees.tree_levels(2.5, [1], [0.6]),
            "n must be a whole number",
        ),
        (lambda: trueness.trees.tree_levels(5, [], []), "weights must sum to 1"),
    ],
)
def test_wrong_input_is_answered_by_a_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
