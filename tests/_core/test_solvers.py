"""Halving, Dinkelbach's method, hulls and exact ends against brute force."""

import re
from fractions import Fraction
from itertools import pairwise
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

import trueness
from trueness._core.arrays import begins_run
from trueness._core.binomial import divergence, exact_end
from trueness._core.checks.errors import InputError
from trueness._core.solvers import bisect, concave_corners, largest_quotient, smallest

small = st.integers(0, 12)


@given(st.lists(st.tuples(small, st.integers(1, 12)), min_size=1, max_size=30))
def test_the_largest_of_many_quotients(pairs):
    def best_at(quotient):
        return max(pairs, key=lambda pair: pair[0] - quotient * pair[1])

    largest, best, last, searches = largest_quotient(best_at, lambda p: Fraction(*p))

    assert largest == Fraction(*best) == Fraction(*last)
    assert largest == max(Fraction(*pair) for pair in pairs)
    assert searches <= len(pairs) + 1


def test_no_quotient_where_nothing_is_allowed():
    largest, best, _, searches = largest_quotient(lambda q: None, lambda p: None)

    assert (largest, best, searches) == (0, None, 1)


@given(st.lists(st.tuples(small, small), min_size=1, max_size=12))
def test_no_point_of_a_path_is_above_its_hull(steps):
    up, right = np.array(steps).T
    if not (up + right).any():
        return

    corners = concave_corners(up, right)

    x = np.append(0, np.cumsum(right))
    y = np.append(0, np.cumsum(up))
    last = corners[-1]
    assert corners[0] == 0
    assert (x[last], y[last]) == (x[-1], y[-1])
    for start, end in pairwise(corners):
        # whole numbers: the cross product of the chord and any point
        rise = (x[end] - x[start]) * (y - y[start])
        run = (y[end] - y[start]) * (x - x[start])
        assert (rise <= run).all()


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (1, 5), (3, 7), (7, 7)])
def test_exact_ends_have_the_tail(successes, n):
    def tail(p, counts):
        return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in counts)

    low = exact_end(successes, n, 0.05, low=True)
    high = exact_end(successes, n, 0.05, low=False)

    # with no success, or only successes, there is no tail on that side
    expected_low = 0.0
    if successes:
        at_least = range(successes, n + 1)
        expected_low = brentq(lambda p: tail(p, at_least) - 0.05, 0, 1)
    expected_high = 1.0
    if successes < n:
        at_most = range(successes + 1)
        expected_high = brentq(lambda p: tail(p, at_most) - 0.05, 0, 1)
    assert (low, high) == pytest.approx((expected_low, expected_high))


def test_divergence_of_a_coin_that_always_falls_alike():
    assert divergence(1.0, 0.5) == pytest.approx(np.log(2))
    assert divergence(0.3, 0.3) == 0


def test_few_halvings_give_the_last_place_that_held():
    roots = bisect(lambda x: x * x <= np.array([2.0, 9.0]), 0.0, [2.0, 4.0])
    assert roots == pytest.approx([np.sqrt(2), 3])
    assert bisect(lambda x: x < 0.7, 0.0, 1.0, steps=2) == 0.5
    assert bisect(lambda x: x < 2, 0.0, 1.0) == 1


def test_a_search_that_has_an_end():
    assert smallest(lambda n: n >= 17, start=3) == 17
    with pytest.raises(InputError, match="no sample size"):
        smallest(lambda n: False, largest=100)


def test_runs_begin_where_values_change():
    assert begins_run(np.array([3, 3, 1, 1, 3])).tolist() == [1, 0, 1, 0, 1]
    assert begins_run(np.zeros(0)).tolist() == []


def test_no_other_module_halves_by_hand():
    source = Path(trueness.__file__).parent
    found = [
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if re.search(r"= \(low \+ high\) //? 2$", path.read_text("utf-8"), re.MULTILINE)
    ]

    assert found == [str(Path("_core", "solvers.py"))]
