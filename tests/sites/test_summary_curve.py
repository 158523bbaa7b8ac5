"""The bivariate model against metafor, lme4 and mada (tests/reference/sites.R)."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import binom

import trueness
from trueness.sites.bivariate import StudyCounts, fit_binomial, fit_normal
from trueness.sites.summary_curve import summary_sensitivity

VECTORS = json.loads(
    (Path(__file__).parents[1] / "reference" / "sites_bivariate.json").read_text()
)
CELLS = ("tp", "fp", "fn", "tn")


def named(program):
    """Name the data sets that another program was run on."""
    return [name for name, study in VECTORS.items() if program in study]


def counts_of(study):
    return StudyCounts(*(np.array(study[cell], float) for cell in CELLS))


def tables_of(study):
    return trueness.read_studies({cell: study[cell] for cell in CELLS})


def agrees(fit, expected, rtol):
    """Compare a fit with that of another program."""
    assert_allclose(fit.mean, expected["mean"], rtol=rtol)
    assert_allclose(np.sqrt(np.diag(fit.covariance)), expected["se"], rtol=20 * rtol)
    assert_allclose(fit.covariance[0, 1], expected["covariance"], rtol=100 * rtol)
    assert_allclose(fit.deviations, expected["between"], rtol=10 * rtol)
    assert_allclose(fit.correlation, expected["correlation"], rtol=100 * rtol)


@pytest.mark.parametrize("name", named("normal"))
def test_normal_model_is_that_of_metafor(name):
    study = VECTORS[name]

    agrees(fit_normal(counts_of(study)), study["normal"], rtol=5e-8)


@pytest.mark.parametrize("name", named("mada"))
def test_normal_model_and_curve_are_those_of_mada(name):
    study = VECTORS[name]
    expected = study["mada"]
    fit = fit_normal(counts_of(study))

    assert_allclose(fit.mean, expected["mean"], rtol=1e-7)
    assert_allclose(np.sqrt(np.diag(fit.covariance)), expected["se"], rtol=1e-7)
    # the covariance there is that with the false positive rate
    signs = np.array([[1, -1], [-1, 1]])
    between = np.reshape(expected["between"], (2, 2))
    assert_allclose(fit.between * signs, between, rtol=1e-6)
    sensitivity = summary_sensitivity(fit, np.array(expected["curve_fpr"]))
    assert_allclose(sensitivity, expected["curve_sensitivity"], rtol=1e-6)


@pytest.mark.parametrize("name", named("mada"))
def test_interval_of_sensitivity_is_that_of_mada(name):
    study = VECTORS[name]

    answer = trueness.summary_roc(tables_of(study), method="normal")

    interval = [answer.sensitivity.low, answer.sensitivity.high]
    assert_allclose(interval, study["mada"]["interval_sensitivity"], rtol=1e-6)


@pytest.mark.parametrize("name", named("binomial"))
def test_binomial_model_is_that_of_lme4(name):
    study = VECTORS[name]
    expected = study["binomial"]
    fit = fit_binomial(counts_of(study))

    # lme4 stops earlier: its likelihood is lower by up to 5e-6, never higher
    assert -1e-9 < fit.log_likelihood - expected["log_likelihood"] < 1e-5
    agrees(fit, expected, rtol=3e-5)


def laplace_of_study(correct, wrong, mean, between):
    """Give Laplace's approximation for one study: the mode by a general search."""
    precision = np.linalg.inv(between)

    def minus_log_density(effect):
        chance = expit(mean + effect)
        binomial = binom.logpmf(correct, correct + wrong, chance).sum()
        return -binomial + effect @ precision @ effect / 2

    mode = minimize(minus_log_density, np.zeros(2), tol=1e-10)
    chance = expit(mean + mode.x)
    weights = np.diag((correct + wrong) * chance * (1 - chance))
    size = np.linalg.slogdet(np.eye(2) + between @ weights)[1]
    return -mode.fun - size / 2


def test_binomial_likelihood_is_that_of_a_slow_twin():
    counts = counts_of(VECTORS["dat.kearon1998, symptomatic"])
    fit = fit_binomial(counts)

    slow = sum(
        laplace_of_study(correct, wrong, fit.mean, fit.between)
        for correct, wrong in zip(counts.correct, counts.wrong, strict=True)
    )

    assert_allclose(fit.log_likelihood, slow, atol=1e-6)


def test_regions_hold_the_summary_point_and_one_another():
    answer = trueness.summary_roc(tables_of(VECTORS["simulated"]))

    point = np.array([1 - answer.specificity.value, answer.sensitivity.value])
    inner = answer.confidence_region
    outer = answer.prediction_region
    assert (inner.min(axis=0) < point).all()
    assert (point < inner.max(axis=0)).all()
    assert (outer.min(axis=0) < inner.min(axis=0)).all()
    assert (inner.max(axis=0) < outer.max(axis=0)).all()
    assert (np.diff(answer.tpr) > 0).all()


def test_ratios_are_those_of_the_summary_point():
    answer = trueness.summary_roc(tables_of(VECTORS["simulated"]), method="normal")
    sensitivity = answer.sensitivity.value
    specificity = answer.specificity.value

    assert_allclose(answer.lr_positive.value, sensitivity / (1 - specificity))
    assert_allclose(answer.lr_negative.value, (1 - sensitivity) / specificity)
    ratio = answer.lr_positive.value / answer.lr_negative.value
    assert_allclose(answer.odds_ratio.value, ratio)


def test_scores_are_cut_at_a_threshold():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 900)
    score = rng.normal(size=900) + label
    site = rng.integers(0, 9, 900)

    answer = trueness.summary_roc(
        label, score, site=site, threshold=0.5, method="normal"
    )

    assert len(answer.sites) == 9
    assert 0.5 < answer.sensitivity.value < 0.9
    assert any("Fewer than 10" in note for note in answer.notes)


def test_shown_and_as_a_table():
    answer = trueness.summary_roc(tables_of(VECTORS["simulated"]), method="normal")

    assert "SummaryROC of 14 sites" in repr(answer)
    assert len(answer.to_frame()) == 14
    assert answer.to_dict()["method"] == "normal"


def test_too_few_sites_are_refused():
    rows = {"tp": [9] * 4, "fp": [2] * 4, "fn": [1] * 4, "tn": [18] * 4}

    with pytest.raises(trueness.NotEnoughCases, match="needs 5 sites"):
        trueness.summary_roc(trueness.read_studies(rows))


def test_weighted_cases_are_refused():
    tally = trueness.tally([0, 1, 1], [0, 1, 1], weight=[1, 2, 3])

    with pytest.raises(trueness.InputError, match="does not take weights"):
        trueness.summary_roc(dict.fromkeys("ABCDE", tally))


def test_no_false_positive_anywhere_is_for_the_normal_model():
    rows = {"tp": [8, 9, 7, 6, 9], "fn": [2, 1, 3, 4, 1], "fp": [0] * 5, "tn": [20] * 5}
    studies = trueness.read_studies(rows)

    with pytest.raises(trueness.NotEnoughCases, match='method="normal"'):
        trueness.summary_roc(studies)
    answer = trueness.summary_roc(studies, method="normal")
    assert 0.9 < answer.specificity.value < 1
