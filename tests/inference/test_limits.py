"""The one interval, Wilson's, and as how many cases weighted ones count."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trueness.inference import limits as made
from trueness.inference.spread import Spread

SURVEY = json.loads((Path(__file__).parents[1] / "reference/survey.json").read_text())


@given(st.integers(1, 400), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.999]))
def test_wilson_is_that_of_scipy(n, part, level):
    k = round(part * n)
    ci = stats.binomtest(k, n).proportion_ci(level, method="wilson")
    p = k / n
    found = made.share_limits(p, p * (1 - p) / n, n, math.inf, level)
    assert found == pytest.approx((ci.low, ci.high), abs=1e-12)


@pytest.mark.parametrize("way", ["clusters", "both"])
def test_korn_graubard_as_survey_counts(way):
    (p, error), (n_eff,) = SURVEY[way]["accuracy"], SURVEY[way]["n_eff"]
    n, clusters = len(SURVEY["y"]), len(set(SURVEY["cluster"]))
    found = made.effective_number(p * (1 - p), error**2, n, clusters, 0.95)
    # survey lets clusters count for more cases than there are; here n is the most
    most = n * (made.student(n - 1, 0.95) / made.student(clusters - 1, 0.95)) ** 2
    assert found == pytest.approx(min(n_eff, most), rel=1e-10)
    # svyciprop(method = "beta") is Clopper's and Pearson's interval at that number
    if n_eff < most:
        _, *beta = SURVEY[way]["beta"]
        k = n_eff * p
        assert beta == pytest.approx(
            [stats.beta.ppf(0.025, k, n_eff - k + 1),
             stats.beta.ppf(0.975, k + 1, n_eff - k)]
        )  # fmt: skip


def test_one_cluster_is_one_case():
    assert made.effective_number(0.24, math.nan, 25, 1, 0.95) == 1


@pytest.mark.parametrize("df", [1, 2.5, 30, 999_999, 1_000_001, 1e9, math.inf])
def test_student_is_that_of_scipy(df):
    wanted = stats.t.ppf(0.975, df)
    assert made.student(df, 0.95) == pytest.approx(wanted, rel=1e-12)


@given(
    st.floats(0.01, 0.99),
    st.floats(1e-6, 0.05),
    st.floats(1, 200),
    st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (0.0, 5.0)]),
)
def test_between_two_ends_it_is_the_score_interval(p, variance, df, ends):
    wide = ends[1] - ends[0]
    value = ends[0] + wide * p
    s = Spread(variance * wide**2, df, 10.0)
    (low, high), how = made.limits(value, s, ends, 0.95)
    assert how == "student"
    n, t = p * (1 - p) / variance, stats.t.ppf(0.975, df)
    for limit in ((low - ends[0]) / wide, (high - ends[0]) / wide):
        # each limit is as far away as its own spread allows
        assert (p - limit) ** 2 == pytest.approx(
            t**2 * limit * (1 - limit) / n, rel=1e-6, abs=1e-12
        )
    assert ends[0] <= low <= value <= high <= ends[1]


@pytest.mark.parametrize(
    ("value", "ends", "made_of"),
    [
        (2.0, (0.0, math.inf), lambda d: 2 * math.exp(d / 2)),
        (-2.0, (-math.inf, 0.0), lambda d: -2 * math.exp(-d / 2)),
        (2.0, (-math.inf, math.inf), lambda d: 2 + d),
    ],
)
def test_other_scales_by_hand(value, ends, made_of):
    half = stats.t.ppf(0.975, 12) * 0.2
    found, _ = made.limits(value, Spread(0.04, 12.0, 9.0), ends, 0.95)
    assert found == pytest.approx((made_of(-half), made_of(half)))


@pytest.mark.parametrize("variance", [0.0, math.nan])
def test_where_nothing_varied_it_is_wilson_of_none(variance):
    s = Spread(variance, math.inf, 25.0)
    (low, high), how = made.limits(1.0, s, (0.0, 1.0), 0.95)
    z = stats.norm.ppf(0.975)
    assert how == "unseen"
    assert (low, high) == pytest.approx((25 / (25 + z * z), 1.0))
    assert made.limits(3.0, s, (0.0, math.inf), 0.95) == ((0.0, math.inf), "unseen")


def test_no_value_no_limits():
    (low, high), _ = made.limits(math.nan, Spread(1.0, 3.0, 4.0), (0.0, 1.0), 0.95)
    assert math.isnan(low)
    assert math.isnan(high)
    assert made.score_limits(0.5, 0.0, 1.96) == (0.0, 1.0)
