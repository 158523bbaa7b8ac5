"""Probabilities of weighted, clustered and case-control samples."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2, ncx2

import trueness
from trueness import InputError, Tally
from trueness.calibration.forecasts import Forecasts, equal_mass_bins
from trueness.calibration.residuals import BinnedResiduals, residuals_from_scores
from trueness.inference.variance import VarianceEstimate

SURVEY = json.loads(
    (Path(__file__).parents[1] / "reference/calibration_survey.json").read_text()
)
# 40 positives and 60 negatives by design; where it is used, one case in ten is positive
SAMPLE = Tally([0.8, 0.5, 0.2, 0.1], pos=[20, 12, 6, 2], neg=[3, 9, 20, 28])
# the same cases as a cohort would show them: each negative six times (40 + 360)
COHORT = Tally([0.8, 0.5, 0.2, 0.1], pos=[20, 12, 6, 2], neg=[18, 54, 120, 168])
USE = {"prevalence": 0.1, "sampling": "case-control"}
ANSWERS = {
    name: getattr(trueness, name)
    for name in (
        *("brier", "log_loss", "reliability", "calibration_line", "calibration_test"),
        *("calibration_error", "calibration_index", "calibration_verdict", "calibrate"),
    )
}


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n).round(2).clip(0.01, 0.99)
    return (rng.random(n) < p).astype(int), p, rng


@pytest.mark.parametrize(
    ("design", "arguments"),
    [("plain", ()), ("clusters", ("cluster",)), ("both", ("cluster", "weight"))],
)
def test_errors_are_those_of_the_survey_package(design, arguments):
    """R: svymean and svyglm; the script is tests/reference/calibration_survey.R."""
    case = np.arange(1, 121)
    label = (case * 5 % 7 < 3).astype(int)
    probability = (1 + case * 13 % 37) / 39
    columns = {"cluster": case * 7 % 23, "weight": 1 + case * 11 % 5}
    tally = trueness.tally(
        label, probability, **{name: columns[name] for name in arguments}
    )

    line = trueness.calibration_line(tally)
    estimates = {
        "brier": trueness.brier(tally),
        "log_loss": trueness.log_loss(tally),
        "slope": line.slope,
        "intercept": line.intercept,
    }

    # of unequal units the variance is the jackknife's, R's is linearised
    tolerance = 1e-8 if design == "plain" else 0.02
    for name, estimate in estimates.items():
        value, standard_error = SURVEY[design][name]
        assert estimate.value == pytest.approx(value, rel=1e-8)
        assert estimate.se == pytest.approx(standard_error, rel=tolerance)


def test_the_law_of_the_squares_is_exact_for_equal_bins():
    """Three bins alike: S is a scaled noncentral chi-square with 3 degrees."""
    gap = np.array([0.1, -0.2, 0.1])
    b = BinnedResiduals(
        mean=gap,
        weight=np.ones(3) / 3,
        covariance=np.eye(3) * 0.004,
        noise_variance=np.zeros(3),
        error_variance=VarianceEstimate(0.004 / 3, math.inf, 1e3),
        units=1e3,
    )
    low, high = b.square_interval(0.95)
    c = 0.004 / 3

    assert b.mean_square == pytest.approx(0.02)
    assert b.test().p_value == pytest.approx(chi2.sf(0.02 / c, 3))
    assert ncx2.cdf(0.02 / c, 3, low / c) == pytest.approx(0.975)
    assert ncx2.cdf(0.02 / c, 3, high / c) == pytest.approx(0.025)

    small = replace(b, mean=b.mean / 3)

    assert small.test().p_value > 0.05
    assert small.square_interval(0.95)[0] == 0


@pytest.mark.parametrize("seed", range(12))
def test_the_test_of_squares_agrees_with_their_interval(seed):
    labels, p, _ = sample(200, seed)
    forecasts = Forecasts(trueness.tally(labels, p ** (1 + seed / 10)), "test")
    residuals = residuals_from_scores(forecasts, equal_mass_bins(forecasts.cases, 8))

    low, _ = residuals.square_interval(0.95)

    # the lower end of 95 % is one of 97.5 %
    assert (low > 0) == (residuals.test().p_value < 0.025)


@pytest.mark.parametrize("name", ANSWERS)
def test_without_the_share_of_use_a_case_control_sample_is_refused(name):
    with pytest.raises(InputError, match=r"sample fixed. State.*Type prevalence=0.01"):
        ANSWERS[name](SAMPLE, sampling="case-control")
    ANSWERS[name](SAMPLE, **USE)


@pytest.mark.parametrize("analysis", [trueness.brier, trueness.log_loss])
def test_scores_are_those_of_a_cohort_with_that_prevalence(analysis):
    score = analysis(SAMPLE, **USE)

    of_cohort = analysis(COHORT)

    assert score.value == pytest.approx(of_cohort.value, rel=1e-12)

    for part in ("mcb", "dsc", "unc"):
        value = getattr(score, part).value
        assert value == pytest.approx(getattr(of_cohort, part).value, rel=1e-12)


@pytest.mark.parametrize(
    ("analysis", "part"),
    [
        (trueness.calibration_line, "slope"),
        (trueness.calibration_line, "intercept"),
        (trueness.calibration_error, "plain"),
        (trueness.calibration_error, "smooth"),
        (trueness.calibration_index, "ici"),
    ],
)
def test_errors_are_those_of_a_cohort_with_that_prevalence(analysis, part):
    value = getattr(analysis(SAMPLE, **USE), part).value

    assert value == pytest.approx(getattr(analysis(COHORT), part).value, rel=1e-9)


def test_the_diagram_is_that_of_a_cohort_with_that_prevalence():
    curve = trueness.reliability(SAMPLE, **USE)

    of_cohort = trueness.reliability(COHORT)

    assert curve.probability == pytest.approx(of_cohort.probability)


def test_brier_at_a_known_prevalence_by_hand():
    # positives: losses .04 and .25 in halves; negatives .64 and .25 in halves
    score = trueness.brier(Tally([0.8, 0.5], pos=[5, 5], neg=[5, 5]), **USE)

    assert score.value == pytest.approx(0.1 * 0.29 / 2 + 0.9 * 0.89 / 2)
    # it is known
    assert score.unc.low == score.unc.high == pytest.approx(0.09)

    # each class varies by itself: .1^2 .105^2 / 9 + .9^2 .195^2 / 9
    standard_error = math.sqrt((0.1 * 0.105) ** 2 + (0.9 * 0.195) ** 2) / 3

    assert score.se == pytest.approx(standard_error)


def test_a_map_of_a_case_control_sample_is_carried_to_the_share_of_use():
    fitted = trueness.calibrate(SAMPLE, method="platt")
    moved = trueness.calibrate(SAMPLE, method="platt", **USE)
    at = np.array([0.1, 0.3, 0.9])
    shift = logit(0.1) - logit(0.4)

    assert moved(at) == pytest.approx(expit(logit(fitted(at)) + shift))


def test_tests_that_draw_labels_refuse_weights_and_clusters():
    for how in ({"weight": [1, 2, 3.5]}, {"cluster": [1, 1, 2]}):
        asked = {"method": "isotonic", **how}
        sentence = 'The isotonic test does not take .* Type method="bins"'
        with pytest.raises(InputError, match=sentence):
            trueness.calibration_test([0, 1, 1], [0.2, 0.6, 0.7], **asked)
        asked["method"] = "bins"
        assert trueness.calibration_test([0, 1, 1], [0.2, 0.6, 0.7], **asked)


def test_parts_wait_until_they_are_asked_for():
    b = trueness.brier(SAMPLE)

    assert "parts" not in vars(b)
    assert b.value == pytest.approx(b.mcb.value - b.dsc.value + b.unc.value)
    assert {"mcb", "dsc", "unc", "skill"} <= set(b.to_dict())
    assert b == trueness.brier(SAMPLE)
