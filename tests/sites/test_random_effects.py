"""Random effects against metafor 3.8.1, on data of metadat."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from trueness.sites.covariates import covariate_effect, deleted_residuals
from trueness.sites.prediction import (
    higgins_interval,
    nagashima_interval,
    probability_above_weighted_sum,
    student_interval,
)
from trueness.sites.random_effects import (
    dersimonian_laird_variance,
    fit_random_effects,
    q_profile_interval,
)

VECTORS = json.loads(
    (Path(__file__).parents[1] / "reference" / "sites.json").read_text()
)


@pytest.fixture(params=VECTORS)
def study(request):
    return VECTORS[request.param]


@pytest.fixture
def model(study):
    return fit_random_effects(np.array(study["values"]), np.array(study["variances"]))


def test_mean_and_its_interval_are_those_of_metafor(study, model):
    assert_allclose(model.mean, study["mean"], rtol=1e-8)
    assert_allclose(model.standard_error, study["se"], rtol=1e-8)
    assert_allclose(model.mean_interval(0.95), study["mean_interval"], rtol=1e-8)


def test_variance_between_sites_is_that_of_metafor(study, model):
    assert_allclose(model.between_variance, study["tau2"], rtol=1e-8, atol=1e-12)
    low, high = q_profile_interval(model, 0.95)
    assert_allclose([low, high], study["tau2_interval"], rtol=1e-6, atol=1e-9)


def test_heterogeneity_is_that_of_metafor(study, model):
    assert_allclose(model.heterogeneity(model.between_variance), study["i2"], rtol=1e-8)

    interval = [model.heterogeneity(t) for t in q_profile_interval(model, 0.95)]
    assert_allclose(interval, study["i2_interval"], rtol=1e-6, atol=1e-9)
    assert_allclose(model.cochran_q, study["q"], rtol=1e-8)
    assert_allclose(model.cochran_p_value, study["q_p"], rtol=1e-6)


def test_prediction_intervals_are_those_of_metafor(study, model):
    by_student = student_interval(model, 0.95)
    by_higgins = higgins_interval(model, 0.95)

    assert_allclose(by_student, study["knha_prediction"], rtol=1e-8)
    assert_allclose(by_higgins, study["higgins_prediction"], rtol=1e-7)


def test_deleted_residuals_are_those_of_metafor(study, model):
    residuals = deleted_residuals(model)

    assert_allclose([r.statistic for r in residuals], study["rstudent"], rtol=1e-4)
    assert_allclose([r.mean for r in residuals], study["leave_one_out"], rtol=1e-5)


@pytest.mark.parametrize("name", [n for n, v in VECTORS.items() if "covariate" in v])
def test_meta_regression_is_that_of_metafor(name):
    study = VECTORS[name]
    model = fit_random_effects(np.array(study["values"]), np.array(study["variances"]))

    effect = covariate_effect(model, "x", study["covariate"], 0.95)

    slope = effect.coefficients["x"]
    assert_allclose(slope.value, study["coefficients"][1], rtol=1e-7)
    assert_allclose(slope.se, study["coefficient_se"][1], rtol=1e-7)
    assert_allclose(effect.p_value, study["f_p"], rtol=1e-6)
    assert_allclose(effect.residual_sd**2, study["residual_tau2"], rtol=1e-6, atol=1e-9)
    if study["tau2"] > 0:
        assert_allclose(effect.explained, study["r2"], rtol=1e-4, atol=1e-7)


# the data sbp of R's pimeta 1.1.3, and what its vignette prints
SBP = np.array([0.0, 0.1, -0.4, -0.8, -0.63, 0.22, -0.34, -0.51, 0.03, -0.81])
SBP_ERROR = np.array(
    [
        *(0.42347717, 0.21939179, 0.02551067, 0.19898325, 0.30102594),
        *(0.30102594, 0.07142988, 0.10204269, 0.12245123, 0.30102594),
    ]
)


def test_nagashima_interval_is_that_of_pimeta():
    model = fit_random_effects(SBP, SBP_ERROR**2)

    # drawn 25,000 times there: two standard errors of a quantile are .01
    assert_allclose(nagashima_interval(model, 0.95), [-0.8807, 0.2240], atol=0.01)
    assert_allclose(dersimonian_laird_variance(SBP, SBP_ERROR**2), 0.0282, atol=5e-5)


def draws_of_algorithm_1(values, variances, number, rng):
    """Draw the value of a new site, step by step as Nagashima et al. (2019) do."""
    between = draws_of_heterogeneity(values, variances, number, rng)

    # one row of weights for each drawn variance between sites
    weights = 1 / (variances + between[:, None])
    total_weight = weights.sum(axis=1)
    mean = (weights * values).sum(axis=1) / total_weight
    squares = (weights * (values - mean[:, None]) ** 2).sum(axis=1)
    error = np.sqrt(squares / (values.size - 1) / total_weight)
    student = rng.standard_t(values.size - 1, number)
    return mean + rng.normal(size=number) * np.sqrt(between) - student * error


def draws_of_heterogeneity(values, variances, number, rng):
    """Draw variances between sites from their confidence distribution.

    It is how often Cochran's Q is at least the observed one, by variance.
    """
    weights = 1 / variances
    observed = weights @ (values - weights @ values / weights.sum()) ** 2
    candidates = np.linspace(0, 3, 301) ** 2
    noise = rng.normal(size=(20_000, values.size))
    distribution = []
    for between in candidates:
        drawn = noise * np.sqrt(variances + between)
        mean = drawn @ weights / weights.sum()
        heterogeneity = (drawn - mean[:, None]) ** 2 @ weights
        distribution.append((heterogeneity >= observed).mean())

    increasing = np.maximum.accumulate(distribution)
    return np.interp(rng.random(number), increasing, candidates)


def test_nagashima_interval_is_the_quantiles_of_its_algorithm():
    rng = np.random.default_rng(3)
    variances = np.array([0.05, 0.1, 0.02, 0.2, 0.08, 0.15, 0.04])
    values = rng.normal(0, np.sqrt(variances + 0.1))
    model = fit_random_effects(values, variances)

    drawn = draws_of_algorithm_1(values, variances, 100_000, rng)

    expected = np.quantile(drawn, [0.025, 0.975])
    assert_allclose(nagashima_interval(model, 0.95), expected, atol=0.03)


@pytest.mark.parametrize("degrees_of_freedom", [1, 4, 20, 21, 39, 199])
def test_weighted_sum_of_equal_weights_is_chi_squared(degrees_of_freedom):
    for value in (0.01, 1.0, 5.0, 30.0, 200.0):
        probability = probability_above_weighted_sum(
            2 * value, np.full(degrees_of_freedom, 2.0)
        )
        assert_allclose(probability, chi2.sf(value, degrees_of_freedom), atol=1e-8)


def test_weighted_sum_of_unequal_weights_is_what_draws_show():
    rng = np.random.default_rng(0)
    weights = np.array([0.1, 0.5, 1.0, 5.0, 20.0])
    drawn = rng.chisquare(1, (400_000, 5)) @ weights

    for value in (5.0, 25.0, 80.0):
        expected = (drawn > value).mean()
        assert abs(probability_above_weighted_sum(value, weights) - expected) < 0.003


def test_weighted_sum_of_very_unequal_weights_is_exact():
    # the small ones add nothing: the sum of two equal weights is exponential
    weights = np.array([1.0, 1.0, 1e-9, 1e-12])

    for value in (0.1, 2.0, 20.0):
        probability = probability_above_weighted_sum(value, weights)
        assert_allclose(probability, np.exp(-value / 2), atol=1e-8)


def test_sites_of_very_different_size_have_an_interval():
    variances = np.array([1e-6, 1e-3, 1e-2, 0.1, 10.0])
    values = np.array([0.1, -0.2, 0.3, 0.0, 2.0])

    low, high = nagashima_interval(fit_random_effects(values, variances), 0.95)

    assert -2 < low < -0.2
    assert 0.3 < high < 2


def test_sites_that_do_not_differ_have_no_variance_between():
    model = fit_random_effects(np.full(6, 0.3), np.full(6, 0.01))

    assert model.between_variance == 0
    assert_allclose(nagashima_interval(model, 0.95), [0.3, 0.3], atol=1e-6)


def test_intervals_move_and_stretch_with_the_scale():
    rng = np.random.default_rng(1)
    variances = rng.uniform(0.01, 0.2, 9)
    values = rng.normal(0, np.sqrt(variances + 0.1))
    plain = fit_random_effects(values, variances)
    moved = fit_random_effects(7 - 3 * values, 9 * variances)

    low, high = nagashima_interval(plain, 0.9)
    expected = [7 - 3 * high, 7 - 3 * low]
    assert_allclose(nagashima_interval(moved, 0.9), expected, rtol=1e-5)
    low, high = q_profile_interval(plain, 0.9)
    assert_allclose(q_profile_interval(moved, 0.9), [9 * low, 9 * high], rtol=1e-8)
