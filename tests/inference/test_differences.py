"""Differences: Tango, constant classes, MOVER, DeLong; intervals and p agree."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize, stats

from trueness.inference.differences import (
    DeLongDifference,
    Difference,
    IndependentDifference,
    PairedProportionDifference,
    two_sided_p_value,
    variance_of_independent_difference,
)
from trueness.inference.estimates import EvaluatedMeasure
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
    """Return the score statistic at a difference d of proportions of n pairs.

    Of the pairs b and c disagree. Under d their probabilities are q + d and q; the
    nuisance q is found by maximising the likelihood.
    """

    def negative_log_likelihood(q):
        count_and_probability = (
            (b, q + d),
            (c, q),
            (n - b - c, 1 - 2 * q - d),
        )
        return -sum(count * math.log(p) for count, p in count_and_probability if count)

    q = optimize.minimize_scalar(
        negative_log_likelihood,
        bounds=(max(0.0, -d), (1 - d) / 2),
        method="bounded",
        options={"xatol": 1e-12},
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


def constant_classes(*sizes, variance=0.0, degrees_of_freedom=math.inf):
    """Return a variance, with classes in which all cases differ alike."""
    return VarianceEstimate(
        variance, degrees_of_freedom, min(sizes), constant_class_sizes=sizes
    )


def unseen(class_size, tail_probability=0.025):
    """Return the fraction of a kind that all cases of a class miss."""
    return 1 - tail_probability ** (1 / class_size)


def test_without_any_difference_the_smaller_class_decides():
    difference = Difference(0.0, constant_classes(8.0, 30.0))

    interval = difference.interval(0.95)

    assert interval == pytest.approx((-unseen(8), unseen(8)))
    assert two_sided_p_value(difference) == 1
    assert difference.statistic == 0


def test_no_other_way_to_miss_both_classes_moves_the_difference_further():
    # pairs differ in 1 - (1 - q0)(1 - q1), which is missed with .025
    smaller = np.linspace(0, -math.log(0.025) / 8, 1000)
    larger = (-math.log(0.025) - 8 * smaller) / 30
    possible = -np.expm1(-smaller - larger)

    difference = Difference(0.0, constant_classes(8.0, 30.0))

    assert difference.interval(0.95)[1] == pytest.approx(possible.max())


def test_a_constant_class_is_added_as_a_square():
    difference = Difference(
        0.1, constant_classes(8.0, variance=0.01, degrees_of_freedom=12.0)
    )

    low, high = difference.interval(0.95)

    of_sampling = stats.t.ppf(0.975, 12) * 0.1

    assert low == pytest.approx(0.1 - math.hypot(of_sampling, unseen(8) * 1.1))
    assert high == pytest.approx(0.1 + math.hypot(of_sampling, unseen(8) * 0.9))


@given(contrasts)
def test_statistic_and_p_value_agree(difference):
    degrees_of_freedom = difference.variance_estimate.degrees_of_freedom
    assume(not math.isnan(difference.variance_estimate.variance))

    p = 2 * stats.t.sf(abs(difference.statistic), degrees_of_freedom)

    assert two_sided_p_value(difference) == pytest.approx(p, rel=1e-6, abs=1e-12)
    assert difference.statistic * difference.value >= 0


def test_delong_has_the_normal_law():
    difference = DeLongDifference(value=-0.06, standard_error=0.01)

    assert difference.statistic == pytest.approx(-6)
    assert two_sided_p_value(difference) == pytest.approx(2 * stats.norm.sf(6))

    half_width = stats.norm.ppf(0.95) * 0.01

    assert difference.interval(0.9) == pytest.approx(
        (-0.06 - half_width, -0.06 + half_width)
    )


def test_delong_without_variance():
    assert two_sided_p_value(DeLongDifference(0.0, 0.0)) == 1
    assert two_sided_p_value(DeLongDifference(0.1, 0.0)) == 0


def test_intervals_of_different_cases_are_added_as_squares():
    first = EvaluatedMeasure(0.9, VarianceEstimate(0.001, 30.0, 40.0))
    second = EvaluatedMeasure(0.7, VarianceEstimate(0.002, 50.0, 60.0))
    difference = IndependentDifference(first, second)

    low, high = difference.interval(0.95)

    first_below, first_above = first.distances(0.025)
    second_below, second_above = second.distances(0.025)

    assert low == pytest.approx(0.2 - math.hypot(first_below, second_above))
    assert high == pytest.approx(0.2 + math.hypot(first_above, second_below))

    p = two_sided_p_value(difference)

    assert difference.interval(1 - p)[0] == pytest.approx(0, abs=1e-9)
    assert p == pytest.approx(2 * stats.norm.sf(difference.statistic))


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


def variance_of_mean(values):
    """Return the variance of the mean of independent values."""
    size = values.size
    return VarianceEstimate(values.var(ddof=1) / size, size - 1, size)


def test_different_cases_have_the_degrees_of_welch():
    first = np.array([1.0, 4, 2, 8])
    second = np.array([3.0, 3, 9, 2, 6])

    variance = variance_of_independent_difference(
        variance_of_mean(first), variance_of_mean(second)
    )

    expected = stats.ttest_ind(first, second, equal_var=False)
    difference = Difference(first.mean() - second.mean(), variance, 99.0)
    assert variance.degrees_of_freedom == pytest.approx(expected.df)
    assert two_sided_p_value(difference) == pytest.approx(expected.pvalue)
