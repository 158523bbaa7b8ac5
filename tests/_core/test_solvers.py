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
    q, found, last, searches = largest_quotient(
        lambda q: max(pairs, key=lambda p: p[0] - q * p[1]),
        lambda p: Fraction(*p),
    )

    assert q == Fraction(*found) == Fraction(*last)
    assert q == max(Fraction(*p) for p in pairs)
    assert searches <= len(pairs) + 1


def test_no_quotient_where_nothing_is_allowed():
    q, found, _, searches = largest_quotient(lambda q: None, lambda p: None)
    assert (q, found, searches) == (0, None, 1)


@given(st.lists(st.tuples(small, small), min_size=1, max_size=12))
def test_no_point_of_a_path_is_above_its_hull(steps):
    up, right = np.array(steps).T
    if not (up + right).any():
        return

    x, y = (np.append(0, np.cumsum(s)) for s in (right, up))
    at = concave_corners(up, right)

    assert at[0] == 0
    assert (x[at[-1]], y[at[-1]]) == (x[-1], y[-1])

    for a, b in pairwise(at):
        # whole numbers: the cross product of the chord and any point
        above = (x[b] - x[a]) * (y - y[a]) - (y[b] - y[a]) * (x - x[a])
        assert (above <= 0).all()


@pytest.mark.parametrize(("y", "n"), [(0, 5), (1, 5), (3, 7), (7, 7)])
def test_exact_ends_have_the_tail(y, n):
    def tail(p, counts):
        return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in counts)

    low, high = (exact_end(y, n, 0.05, low=side) for side in (True, False))
    if y:
        root = brentq(lambda p: tail(p, range(y, n + 1)) - 0.05, 0, 1)
        assert low == pytest.approx(root)
    else:
        assert low == 0

    if y < n:
        root = brentq(lambda p: tail(p, range(y + 1)) - 0.05, 0, 1)
        assert high == pytest.approx(root)
    else:
        assert high == 1


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
