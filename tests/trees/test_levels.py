"""Levels of confidence and utility, against sums, mpmath and the events themselves."""

import math
from fractions import Fraction
from itertools import product
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
from trueness.trees import entropic_binomial, entropic_tree, tree_levels


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
        stay = 1 - share
        cross = share * share * p * (1 - p)
        before = mp.mpf(0)
        now = mp.mpf(1)
        total = mp.mpf(0)
        for i in range(n):
            total += now
            later = (2 * i + 1) * stay * now - i * (stay**2 - 4 * cross) * before
            before, now = now, later / (i + 1)
        return float(0.5 + share * (2 * p - 1) * total / 2)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7, 10, 25, 100, 101])
@pytest.mark.parametrize("p", [0.5, 0.5 + 2**-40, 0.6, 0.75, 0.9, 1 - 2**-40, 1.0, 0.3])
def test_slow_twin(n, p):
    c = slow_confidence(n, p)
    top = max(Fraction(p), 1 - Fraction(p))
    assert confidence_level(n, p) == pytest.approx(float(c), abs=1e-15, rel=0)

    u = float(top * c + (1 - top) * (1 - c))
    assert utility_level(n, p) == pytest.approx(u, abs=1e-15, rel=0)


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

    both = plan_leaf(p=0.75, confidence=0.95, utility=0.74)

    assert both == plan_leaf(p=0.75, utility=0.74) > 9


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
    wrong = tree_levels(n, weights, p, empty="wrong")

    for leaf, (weight, top) in enumerate(zip(weights, p, strict=True)):
        chances = binomial_chances(n, Fraction(weight))
        confidences = [slow_confidence(cases, top) for cases in range(n + 1)]
        exact = sum(a * b for a, b in zip(chances, confidences, strict=True))
        # a leaf without a case counts as a coin, or as wrong
        if_wrong = exact - chances[0] / 2
        assert coin.node_confidence[leaf] == pytest.approx(float(exact), abs=2e-15)
        assert wrong.node_confidence[leaf] == pytest.approx(float(if_wrong), abs=2e-15)


def binomial_chances(n, weight):
    """Return the probability of each number of cases of n, in fractions."""
    return [
        comb(n, cases) * weight**cases * (1 - weight) ** (n - cases)
        for cases in range(n + 1)
    ]


@pytest.mark.parametrize(("n", "weights", "p"), TREES)
def test_levels_of_a_tree_are_means_over_its_leaves(n, weights, p):
    tree = tree_levels(n, weights, p)
    utility = tree.p * tree.node_confidence + (1 - tree.p) * (1 - tree.node_confidence)

    assert tree.confidence == pytest.approx(weights @ tree.node_confidence)
    np.testing.assert_allclose(tree.node_utility, utility, atol=1e-15)
    assert tree.utility == pytest.approx(weights @ utility)


@pytest.mark.parametrize("share", [1e-6, 1e-3, 0.3, 0.999])
@pytest.mark.parametrize("p", [0.5 + 1e-9, 0.51, 0.9, 1 - 1e-12])
def test_a_large_tree_agrees_with_the_random_walk(share, p):
    tree = tree_levels(3000, [share, 1 - share], [p, p])
    walked = [walk_confidence(3000, x, p) for x in (share, 1 - share)]
    assert tree.node_confidence == pytest.approx(walked, abs=1e-14)
    assert 0 <= tree.truncation_error < 1e-15


TOP_METHODS = ("mle", "emle", "blend")


def slow_law(n, p):
    """Eq. (2): walk through all counts and keep the larger."""
    law, p = {}, Fraction(p)
    for y in range(n + 1):
        top = max(y, n - y)
        law[top] = law.get(top, 0) + comb(n, y) * p**y * (1 - p) ** (n - y)
    return law


def slow_emle(y, n):
    """Maximise the likelihood of eq. (2) with 40 digits, from its derivative."""
    y = max(y, n - y)
    with mp.workdps(60):

        def slope(p):  # of p^y q^(n-y) + p^(n-y) q^y, divided by (pq)^(n-y-1)
            q = 1 - p
            d = 2 * y - n
            return p**d * (y * q - (n - y) * p) + q**d * ((n - y) * q - y * p)

        if y == n:
            return 1.0 if n > 1 else math.nan
        if slope(mp.mpf("0.5") + mp.mpf(10) ** -12) <= 0:
            return 0.5
        ends = mp.mpf("0.5") + mp.mpf(10) ** -12, mp.mpf(y) / n
        return float(mp.findroot(slope, ends, "anderson"))


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8, 31])
@pytest.mark.parametrize("p", [0.5, 0.3, 0.75, 0.999, 1.0])
def test_law_slow_twin(n, p):
    law = entropic_binomial(n, p)
    exact = slow_law(n, p)
    majority = np.arange(-1, n + 2)
    expected = np.array([float(exact.get(int(m), 0)) for m in majority])

    np.testing.assert_allclose(law.pmf(majority), expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(law.cdf(majority), np.cumsum(expected), atol=1e-14)

    mean = sum(m * chance for m, chance in exact.items())
    mean_square = sum(m * m * chance for m, chance in exact.items())
    assert law.mean() == pytest.approx(float(mean), rel=1e-14)
    assert law.var() == pytest.approx(float(mean_square - mean**2), abs=1e-12)


@pytest.mark.parametrize("p", [0.5, 0.5001, 0.8])
def test_law_of_a_million_cases(p):
    law = entropic_binomial(10**6, p)
    y = np.arange(500_000, 10**6 + 1)
    mass = law.pmf(y)

    assert mass.sum() == pytest.approx(1, abs=1e-12)
    assert law.mean() == pytest.approx(mass @ y, rel=1e-12)

    at = [500_000, 500_300, 800_000, 10**6]
    upto = np.cumsum(mass)[np.array(at) - 500_000]
    np.testing.assert_allclose(law.cdf(at), upto, atol=1e-12)


def test_draws_follow_the_law(rng):
    law = entropic_binomial(7, 0.4)
    draws = law.rvs(50_000, rng=rng)
    for y in range(4, 8):
        seen = (draws == y).mean()
        assert seen == pytest.approx(law.pmf(y), abs=4 * 0.5 / 50_000**0.5)

    assert (law.rvs(5, rng=1) == law.rvs(5, rng=1)).all()
    assert entropic_binomial(7, 0.4).p == 0.6


def law_by_all_samples(n, weights, top):
    """Eqs (3) and (4): every case chooses a leaf and a class; all ways, one by one."""
    kinds = [(leaf, label) for leaf in range(len(weights)) for label in (0, 1)]
    law = {}
    for sample in product(kinds, repeat=n):
        chance = 1.0
        counts = np.zeros((len(weights), 2), int)
        for leaf, label in sample:
            chance *= weights[leaf] * (top[leaf] if label else 1 - top[leaf])
            counts[leaf, label] += 1

        cases = tuple(counts.sum(axis=1))
        majority = tuple(counts.max(axis=1))
        law[cases, majority] = law.get((cases, majority), 0.0) + chance
    return law


@pytest.mark.parametrize(
    ("weights", "p"),
    [([0.2, 0.5, 0.3], [0.9, 0.6, 0.4]), ([0.0, 1.0], [0.7, 0.8]), ([1.0, 0.0], 0.7)],
)
def test_tree_law_by_walking_through_all_samples(weights, p):
    n = 4
    leaves = len(weights)
    tree = entropic_tree(n, weights, p)
    law = law_by_all_samples(n, weights, np.broadcast_to(p, leaves))

    for (cases, majority), chance in law.items():
        assert tree.pmf(cases, majority) == pytest.approx(chance, abs=1e-14)

    outcomes = np.array(list(law))
    assert tree.pmf(outcomes[:, 0], outcomes[:, 1]).sum() == pytest.approx(1)
    mean = sum(chance * np.array(outcome) for outcome, chance in law.items())
    np.testing.assert_allclose(tree.mean(), mean, atol=1e-13)
    # more cases than there are
    assert tree.pmf(np.full(leaves, n), np.full(leaves, n)) == 0


def test_tree_draws_follow_the_law(rng):
    tree = entropic_tree(6, [0.3, 0.7], [0.8, 0.45])
    cases, majority = tree.rvs(40_000, rng=rng)

    assert (cases.sum(axis=1) == 6).all()

    hit = (cases == [2, 4]).all(axis=1) & (majority == [2, 3]).all(axis=1)

    assert hit.mean() == pytest.approx(tree.pmf([2, 4], [2, 3]), abs=0.008)

    for drawn, known in zip((cases, majority), tree.mean(), strict=True):
        np.testing.assert_allclose(drawn.mean(axis=0), known, atol=0.03)

    with pytest.raises(InputError, match="one entry per leaf"):
        tree.pmf([1, 2, 3], [1, 2, 3])


@pytest.mark.parametrize(
    ("y", "n", "method", "value"),
    [
        # example 2 of the paper; errata: 5/7 is .7143, and the blend is 103/147
        (5, 7, "mle", 5 / 7),
        (5, 7, "emle", 2 / 3),
        (5, 7, "blend", 103 / 147),
        # (2y - n)^2 <= n, with equality for 3 of 4, 45 and 55 of 100
        *((y, n, "emle", 0.5) for y, n in ((8, 16), (5, 9), (3, 4), (50, 100))),
        *((y, 100, "emle", 0.5) for y in (45, 55)),
        (2, 2, "emle", 1.0),
        (0, 5, "emle", 1.0),
        (0, 5, "blend", 1.0),
        # one case says nothing
        (1, 1, "emle", math.nan),
        (1, 1, "mle", 1.0),
        (0, 1, "blend", 1.0),
    ],
)
def test_estimates_by_hand(y, n, method, value):
    estimate = top_probability(y, n, method)
    assert estimate.value == pytest.approx(value, abs=1e-15, nan_ok=True)
    if n == 1:
        assert (estimate.low, estimate.high) == (0.5, 1.0)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 9, 16, 25, 40])
def test_emle_maximises_the_likelihood(n):
    for y in range(n + 1):
        ours = top_probability(y, n, "emle").value
        assert ours == pytest.approx(slow_emle(y, n), abs=1e-13)


@pytest.mark.parametrize(
    ("y", "n"), [(500_501, 10**6), (500_600, 10**6), (999_999, 10**6)]
)
def test_emle_of_a_million_cases(y, n):
    """Its equation, d tanh(d t/2) = n tanh(t/2), with 60 digits."""
    p = top_probability(y, n, "emle").value
    with mp.workdps(60):
        d = 2 * y - n
        start = mp.log(mp.mpf(p) / (1 - mp.mpf(p)))
        root = mp.findroot(lambda t: d * mp.tanh(d * t / 2) - n * mp.tanh(t / 2), start)
        assert abs(1 / (1 + mp.exp(-root)) - p) < 1e-14


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_order_of_the_estimates(data):
    """Eq. (22): emle <= blend <= mle; the classes are forgotten; interval holds all."""
    y, n = data
    result = {m: top_probability(y, n, m) for m in TOP_METHODS}

    assert result["blend"].value <= result["mle"].value + 1e-15

    if n > 1:
        assert result["emle"].value <= result["blend"].value + 1e-15
        assert result["emle"].value >= 0.5

    for name, e in result.items():
        assert 0.5 <= e.low <= e.high <= 1
        mirror = top_probability(n - y, n, name)
        assert (mirror.low, mirror.high) == (e.low, e.high)
        if n > 1:
            assert e.low <= e.value <= e.high


@pytest.mark.parametrize("n", [1, 2, 5, 20, 101])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_interval_covers(n, level):
    estimates = [top_probability(y, n, "mle", level=level) for y in range(n + 1)]
    low = np.array([estimate.low for estimate in estimates])
    high = np.array([estimate.high for estimate in estimates])

    for p in np.linspace(0.5, 1, 101):
        covers = (low <= p) & (p <= high)
        assert np.array(binomial_chances(n, p)) @ covers >= level - 1e-12


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
        (lambda: top_probability(7, 5), "found 7 of 5"),
        (lambda: top_probability(0, 0), "at least one case"),
        (lambda: top_probability(1, 5, "mean"), "must be one of.*found 'mean'"),
        (lambda: top_probability(1, 5, level=95), "Type level=0.95"),
        (lambda: top_probability(1.5, 5), "y must be a whole number"),
        (lambda: entropic_binomial(5, 1.5), r"p must lie in \[0, 1\]"),
        (lambda: entropic_binomial(-5, 0.5), "n must be a whole number"),
        (lambda: plan_leaf(p=0.7), r"Type confidence=0.95"),
        (lambda: plan_leaf(p=0.7, utility=0.7), "larger class probability, 0.7"),
        (lambda: plan_leaf(p=0.5, confidence=0.9), "With p = 1/2 there is no majority"),
        (lambda: plan_leaf(p=0.5, utility=0.6), "stays below"),
        (lambda: plan_leaf(p=0.5 + 1e-13, confidence=0.9), "More than 9,007,199,254,"),
    ],
)
def test_wrong_input_is_answered_by_a_sentence(call, message):
    with pytest.raises((InputError, NotEnoughCases), match=message):
        call()
