"""The one interval, Wilson's, and as how many cases weighted ones count."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trueness.inference import intervals
from trueness.inference.variance import VarianceEstimate

SURVEY = json.loads((Path(__file__).parents[1] / "reference/survey.json").read_text())


@given(st.integers(1, 400), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.999]))
def test_wilson_is_that_of_scipy(n, fraction, level):
    successes = round(fraction * n)
    p = successes / n
    sample = intervals.ProportionSample(p * (1 - p) / n, n)

    interval = intervals.proportion_interval(p, sample, level)

    expected = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    assert interval == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("way", ["clusters", "both"])
def test_korn_graubard_as_survey_counts(way):
    proportion, standard_error = SURVEY[way]["accuracy"]
    [number_of_survey] = SURVEY[way]["n_eff"]
    n = len(SURVEY["y"])
    n_clusters = len(set(SURVEY["cluster"]))
    sample = intervals.ProportionSample(standard_error**2, n, n_clusters)

    number = intervals.effective_sample_size(
        proportion * (1 - proportion), sample, 0.95
    )

    # survey lets clusters count for more cases than there are; here n is the most
    quantile_of_cases = intervals.student_quantile(n - 1, 0.95)
    quantile_of_clusters = intervals.student_quantile(n_clusters - 1, 0.95)
    largest_number = n * (quantile_of_cases / quantile_of_clusters) ** 2
    assert number == pytest.approx(min(number_of_survey, largest_number), rel=1e-10)


def test_one_cluster_is_one_case():
    sample = intervals.ProportionSample(math.nan, 25, 1)
    assert intervals.effective_sample_size(0.24, sample, 0.95) == 1


@pytest.mark.parametrize("df", [1, 2.5, 30, 999_999, 1_000_001, 1e9, math.inf])
def test_student_is_that_of_scipy(df):
    expected = stats.t.ppf(0.975, df)
    assert intervals.student_quantile(df, 0.95) == pytest.approx(expected, rel=1e-14)


@given(
    st.floats(0.01, 0.99),
    st.floats(1e-6, 0.05),
    st.floats(1, 200),
    st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (0.0, 5.0)]),
)
def test_between_two_ends_it_is_the_score_interval(proportion, variance, freedom, ends):
    lowest, highest = ends
    width = highest - lowest
    value = lowest + width * proportion
    estimate = VarianceEstimate(variance * width**2, freedom, 10.0)

    low, high, method = intervals.interval_from_variance(value, estimate, ends, 0.95)

    assert method == "Wilson 1927"
    assert lowest <= low <= value <= high <= highest

    # each end is as far away as its own standard error allows
    sample_size = proportion * (1 - proportion) / variance
    quantile = stats.t.ppf(0.975, freedom)
    for end in (low, high):
        at_end = (end - lowest) / width
        allowed = quantile**2 * at_end * (1 - at_end) / sample_size
        assert (proportion - at_end) ** 2 == pytest.approx(allowed, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    ("value", "ends", "value_at"),
    [
        (2.0, (0.0, math.inf), lambda distance: 2 * math.exp(distance / 2)),
        (-2.0, (-math.inf, 0.0), lambda distance: -2 * math.exp(-distance / 2)),
        (2.0, (-math.inf, math.inf), lambda distance: 2 + distance),
    ],
)
def test_other_scales_by_hand(value, ends, value_at):
    variance = VarianceEstimate(0.04, 12.0, 9.0)

    low, high, _ = intervals.interval_from_variance(value, variance, ends, 0.95)

    half_width = stats.t.ppf(0.975, 12) * 0.2
    assert low == pytest.approx(value_at(-half_width))
    assert high == pytest.approx(value_at(half_width))


@pytest.mark.parametrize("variance", [0.0, math.nan])
def test_where_nothing_varied_it_is_wilson_of_none(variance):
    s = VarianceEstimate(variance, math.inf, 25.0)
    low, high, how = intervals.interval_from_variance(1.0, s, (0.0, 1.0), 0.95)
    z = stats.norm.ppf(0.975)

    assert how == "Wilson 1927"
    assert (low, high) == pytest.approx((25 / (25 + z * z), 1.0))

    open_end = intervals.interval_from_variance(3.0, s, (0.0, math.inf), 0.95)

    assert open_end == (0.0, math.inf, "Student 1908")


def test_no_value_no_limits():
    low, high, _ = intervals.interval_from_variance(
        math.nan, VarianceEstimate(1.0, 3.0, 4.0), (0.0, 1.0), 0.95
    )

    assert math.isnan(low)
    assert math.isnan(high)
    assert intervals.wilson_interval(0.5, 0.0, 1.96) == (0.0, 1.0)
