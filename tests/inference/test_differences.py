"""Differences: Tango, silent classes, Hotelling; limits and p-values agree."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize, stats

from trueness.inference.differences import (
    Difference,
    PairedProportionDifference,
    hotelling_test,
    two_sided_p_value,
    variance_of_independent_difference,
)
from trueness.inference.variance import VarianceEstimate

# Bentur et al. in Fagerland, Lydersen, Laake (2014), Stat. Med. 33:2850, table IX;
# Karacan et al. in Tango (1998), sec. 6.2
PUBLISHED = {(21, 1, 7): (-0.517, -0.026), (32, 9, 3): (-0.027, 0.390)}


@pytest.mark.parametrize("table", PUBLISHED)
def test_tango_as_published(table):
    assert PairedProportionDifference(*table).interval(0.95) == pytest.approx(
        PUBLISHED[table], abs=5e-4
    )


def score_by_likelihood(n, b, c, d):
    """The score statistic at d, its nuisance found by maximising the likelihood."""

    def loss(q):
        terms = ((b, q + d), (c, q), (n - b - c, 1 - 2 * q - d))
        return -sum(k * math.log(p) for k, p in terms if k)

    least, most = max(0.0, -d), (1 - d) / 2
    q = optimize.minimize_scalar(
        loss, bounds=(least, most), method="bounded", options={"xatol": 1e-12}
    ).x
    return (b - c - n * d) / math.sqrt(n * (2 * q + d * (1 - d)))


@pytest.mark.parametrize("table", [(21, 1, 7), (50, 12, 2), (60, 4, 4), (40, 1, 6)])
def test_tango_inverts_the_score_test(table):
    z = stats.norm.ppf(0.975)
    low, high = PairedProportionDifference(*table).interval(0.95)
    assert score_by_likelihood(*table, low) == pytest.approx(z, abs=1e-4)
    assert score_by_likelihood(*table, high) == pytest.approx(-z, abs=1e-4)


def test_no_cases_no_difference():
    c = PairedProportionDifference(0.0, 0.0, 0.0)
    assert math.isnan(c.value)
    assert math.isnan(c.standard_error)
    assert all(map(math.isnan, c.interval(0.95)))
    assert two_sided_p_value(c) == 1


contrasts = st.builds(
    Difference,
    st.floats(-0.9, 0.9),
    st.builds(
        VarianceEstimate,
        st.sampled_from([0.0, 1e-4, 0.01, 0.04, math.nan]),
        st.floats(1, 100),
        st.just(5.0),
        st.just(0.0),
        st.sampled_from([(), (8.0,), (8.0, 30.0), (1.0,), (0.0,)]),
    ),
    st.just(1.0),
    st.none(),
).filter(
    lambda c: (
        c.variance_estimate.variance != 0 or c.variance_estimate.constant_class_sizes
    )
)
shares = st.builds(
    lambda n, b, c: PairedProportionDifference(n, b * n / 2, c * n / 2),
    st.floats(0.5, 200),
    st.floats(0, 1),
    st.floats(0, 1),
)


@given(contrasts | shares, st.floats(0.5, 0.999))
def test_limits_leave_out_zero_exactly_when_p_is_small(c, level):
    p = two_sided_p_value(c)
    assume(abs(p - (1 - level)) > 1e-6)
    low, high = c.interval(level)
    assert low <= c.value <= high
    assert (low > 0 or high < 0) == (p < 1 - level)


@given(contrasts | shares, st.floats(-0.5, 0.5), st.floats(0.5, 0.999))
def test_tests_of_a_margin_agree_with_limits(c, bound, level):
    p, tail = c.p_value_above(bound), (1 - level) / 2
    assume(abs(p - tail) > 1e-6)
    assert (c.interval(level)[0] > bound) == (p < tail)


def test_a_silent_class_by_hand():
    # nothing differed: a share q of 8 cases is missed with (1 - q)^8 = 0.025
    c = Difference(
        0.0, VarianceEstimate(0.0, math.inf, 8.0, constant_class_sizes=(8.0,))
    )
    q = 1 - 0.025 ** (1 / 8)
    assert c.interval(0.95) == pytest.approx((-q, q))
    assert two_sided_p_value(c) == 1
    # beside a spread both distances are added as squares
    c = Difference(0.1, VarianceEstimate(0.01, 12.0, 8.0, constant_class_sizes=(8.0,)))
    half = math.hypot(stats.t.ppf(0.975, 12) * 0.1, q)
    assert c.interval(0.95) == pytest.approx((0.1 - half, 0.1 + half))


def test_unknown_spread_says_nothing():
    c = Difference(0.9, VarianceEstimate(math.nan, 1.0, 1.0))
    assert c.interval(0.95) == (-1.0, 1.0)
    assert two_sided_p_value(c) == 1


def test_without_ends_a_silent_class_adds_nothing():
    c = Difference(
        2.0, VarianceEstimate(0.25, 9.0, 5.0, constant_class_sizes=(30.0,)), math.inf
    )
    half = stats.t.ppf(0.975, 9) / 2
    assert c.interval(0.95) == pytest.approx((2 - half, 2 + half))


def test_different_cases_have_the_degrees_of_welch():
    a, b = np.array([1.0, 4, 2, 8]), np.array([3.0, 3, 9, 2, 6])
    s = variance_of_independent_difference(
        *(VarianceEstimate(x.var(ddof=1) / x.size, x.size - 1, x.size) for x in (a, b))
    )
    wanted = stats.ttest_ind(a, b, equal_var=False)
    assert s.degrees_of_freedom == pytest.approx(wanted.df)
    assert two_sided_p_value(Difference(a.mean() - b.mean(), s, 99.0)) == pytest.approx(
        wanted.pvalue
    )


@pytest.mark.parametrize("kinds", [2, 3, 5])
def test_hotelling_on_the_contrasts(kinds):
    x = np.random.default_rng(kinds).normal(size=(30, kinds)) + np.arange(kinds) * 0.1
    d = x[:, :-1] - x[:, -1:]
    square = 30 * d.mean(0) @ np.linalg.solve(np.atleast_2d(np.cov(d.T)), d.mean(0))
    p, n = kinds - 1, 30
    wanted = stats.f.sf(square * (n - p) / (p * (n - 1)), p, n - p)
    variances = np.array(
        [[(x[:, i] - x[:, j]).var(ddof=1) / n for j in range(kinds)]
         for i in range(kinds)]
    )  # fmt: skip
    statistic, _, p_value = hotelling_test(x.mean(0), variances, [n - 1.0])
    assert statistic == pytest.approx(square)
    if kinds == 2:  # the pair says it all
        assert p_value is None
    else:
        assert p_value == pytest.approx(wanted)
        *_, p_value = hotelling_test(x.mean(0), variances, [math.inf])
        assert p_value == pytest.approx(stats.chi2.sf(square, p))


def test_hotelling_of_copies_and_of_infinite_values():
    zero = np.zeros((3, 3))
    assert hotelling_test(np.ones(3), zero, [9.0]) == (0.0, 0, None)
    assert hotelling_test(np.array([1, 2, math.inf]), zero, [9.0])[2] is None
