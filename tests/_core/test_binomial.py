"""The binomial law, against exact fractions, mpmath and SciPy."""

from fractions import Fraction
from math import comb

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from trueness._core.binomial import (
    LEFT_OUT,
    at_least,
    binomial_pmf,
    bulk,
    clopper_pearson,
)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 15, 16, 17, 40])
@pytest.mark.parametrize("p", [0.0, 1e-12, 0.1, 0.5, 0.75, 1 - 1e-12, 1.0])
def test_pmf_is_the_exact_fraction(n, p):
    exact_p = Fraction(p)
    exact = [
        float(
            comb(n, successes) * exact_p**successes * (1 - exact_p) ** (n - successes)
        )
        for successes in range(n + 1)
    ]

    pmf = binomial_pmf(np.arange(n + 1), n, p)

    np.testing.assert_allclose(pmf, exact, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("n", [1000, 10**6])
@pytest.mark.parametrize("p", [1e-5, 0.3, 0.5, 0.999])
def test_pmf_of_many_cases_agrees_with_mpmath(n, p):
    low, high = bulk(n, np.array([p]))
    y = np.unique(np.linspace(low[0], high[0], 40).astype(int))
    with mp.workdps(50):
        exact = [
            float(
                mp.binomial(n, int(k))
                * mp.mpf(p) ** int(k)
                * (1 - mp.mpf(p)) ** (n - int(k))
            )
            for k in y
        ]

    np.testing.assert_allclose(binomial_pmf(y, n, p), exact, rtol=3e-12)


def test_counts_outside_have_no_mass():
    assert (binomial_pmf([-1, 6], 5, 0.3) == 0).all()


@pytest.mark.parametrize("n", [0, 1, 10, 1000, 10**5])
@pytest.mark.parametrize("p", [0.0, 1e-9, 1e-4, 0.2, 0.5, 0.97, 1.0])
def test_bulk_leaves_out_less_than_it_says(n, p):
    low, high = bulk(n, np.array([p]))

    below = stats.binom.cdf(low[0] - 1, n, p)
    above = stats.binom.sf(high[0], n, p)

    assert below + above <= LEFT_OUT


def test_at_least_is_scipys_survival_function():
    y = np.arange(-1, 13)
    expected = stats.binom.sf(y - 1, 11, 0.3)
    np.testing.assert_allclose(at_least(y, 11, 0.3), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 7, 300])
def test_clopper_pearson_is_scipys(n):
    y = np.arange(n + 1)
    low, high = clopper_pearson(y, np.full(n + 1, n), 0.9)
    for k in y:
        known = stats.binomtest(int(k), n).proportion_ci(0.9, "exact")
        assert (low[k], high[k]) == pytest.approx((known.low, known.high), abs=1e-12)
