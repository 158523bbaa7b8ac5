"""The leakage function against definitions, curves and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trueness
from conftest import tied_cases
from trueness import Tally
from trueness.ranking import leakage


def test_by_hand():
    G = leakage(Tally([3, 2, 1], pos=[2, 1, 1], neg=[0, 1, 3]))

    # thresholds 1, 2, 3: specificity 0, 3/4, 1; missed 0, 1/4, 2/4
    assert G([0, 0.75, 1]).tolist() == [0, 0.25, 0.5]
    assert float(G(0.375)) == 0.125  # a tie is a straight line
    assert G.inverse([0, 0.25, 0.5, 1]).tolist() == [0, 0.75, 1, 1]
    assert G.area == 3 / 4 * 1 / 8 + 1 / 4 * 3 / 8


def test_the_area_is_what_the_auc_leaves(rng):
    tally = trueness.tally(*tied_cases(rng, 60, levels=20))

    assert leakage(tally).area == pytest.approx(
        1 - trueness.auc(tally).value, abs=1e-12
    )


@pytest.mark.parametrize("bins", [1, 7, 20])
def test_a_density_has_the_mean_one(rng, bins):
    tally = trueness.tally(*tied_cases(rng, 60, levels=20))
    middle_of_bin = (np.arange(bins) + 0.5) / bins

    density = leakage(tally).density(middle_of_bin, bins=bins)

    assert density.mean() == pytest.approx(1)


def test_rates_are_those_of_the_curve(rng):
    tally = trueness.tally(*tied_cases(rng, 60, levels=20))

    geometry = leakage(tally)

    curve = trueness.roc(tally)
    for fpr in np.unique(curve.fpr):
        highest_tpr = curve.tpr[curve.fpr == fpr].max()
        assert geometry.tpr(fpr) == pytest.approx(highest_tpr, abs=1e-12)
    for tpr in np.unique(curve.tpr):
        lowest_fpr = curve.fpr[curve.tpr == tpr].min()
        assert geometry.fpr(tpr) == pytest.approx(lowest_fpr, abs=1e-12)


@given(st.integers(0, 2**32))
def test_monotone_and_inverse(seed):
    tally = trueness.tally(*tied_cases(np.random.default_rng(seed), 25))
    G = leakage(tally)
    u = np.linspace(0, 1, 201)

    assert (np.diff(G(u)) >= -1e-12).all()
    assert (np.diff(G.inverse(u)) >= -1e-12).all()
    assert (G(G.inverse(u)) <= u + 1e-9).all()  # highest specificity that misses <= u


@pytest.mark.parametrize("prevalence", [0.03, 0.5, None])
def test_metrics_through_g_are_those_of_the_sweep(rng, prevalence):
    """Accuracy and F-beta at a prevalence, eqs. (21)-(24) corrected."""
    tally = trueness.tally(*tied_cases(rng, 80, levels=15))
    prevalence = prevalence or tally.prevalence
    geometry = leakage(tally)
    sweep = trueness.sweep(tally)

    # one threshold for each specificity: the one with the most true positives
    specificity = sweep.tn / tally.n_neg
    best = [np.flatnonzero(specificity == v)[-1] for v in np.unique(specificity)]
    specificity = specificity[best]
    confusion = sweep.at_prevalence(prevalence)[best]

    accuracy = geometry.accuracy(specificity, prevalence)

    assert accuracy == pytest.approx(trueness.accuracy(confusion), abs=1e-12)

    for beta in (0.5, 1, 2):
        f_beta = geometry.f_beta(specificity, prevalence, beta)
        direct = trueness.f_beta(beta)(confusion)
        assert f_beta == pytest.approx(direct, abs=1e-12)


@pytest.mark.parametrize("prevalence", [0.03, 0.5, None])
def test_precision_through_g_is_that_of_the_sweep(rng, prevalence):
    """Precision at a prevalence, eqs. (25) and (26) corrected."""
    tally = trueness.tally(*tied_cases(rng, 80, levels=15))
    prevalence = prevalence or tally.prevalence
    geometry = leakage(tally)
    sweep = trueness.sweep(tally)

    # one threshold for each recall above zero: the one with the fewest false alarms
    result = [tp for tp in np.unique(sweep.tp) if tp]
    best = [np.flatnonzero(sweep.tp == tp)[0] for tp in result]
    precision = geometry.precision(sweep.tp[best] / tally.n_pos, prevalence)

    direct = trueness.precision(sweep.at_prevalence(prevalence)[best])

    assert precision == pytest.approx(direct, abs=1e-12)

    without_recall = geometry.precision(0.0, 0.3)

    assert np.isnan(without_recall) or without_recall >= 0


def test_random_ideal_and_wrong_classifier():
    u = np.linspace(0, 1, 11)

    chance = leakage(Tally([1], pos=[4], neg=[6]))
    ideal = leakage(Tally([2, 1], pos=[4, 0], neg=[0, 6]))
    wrong = leakage(Tally([2, 1], pos=[0, 4], neg=[6, 0]))

    assert chance(u) == pytest.approx(u)
    assert chance.inverse(u) == pytest.approx(u)
    assert chance.density(u[1:]) == pytest.approx(1)
    assert ideal(u).tolist() == [0] * 11
    assert ideal.inverse(u).tolist() == [1] * 11
    assert (chance.area, ideal.area, wrong.area) == (0.5, 0, 1)


def test_errors():
    G = leakage(Tally([2, 1], pos=[3, 1], neg=[1, 5]))

    with pytest.raises(trueness.InputError, match=r"u must lie in \[0, 1\]"):
        G(1.5)
    with pytest.raises(trueness.InputError, match="prevalence must lie"):
        G.accuracy(0.5, 0)
    with pytest.raises(trueness.InputError, match="beta must be above zero"):
        G.f_beta(0.5, 0.5, -1)
    with pytest.raises(trueness.NotEnoughCases, match="leakage needs"):
        leakage(Tally([1], pos=[2]))


def test_divergence_of_a_histogram_by_hand():
    tally = Tally([2, 1], pos=[30, 10], neg=[8, 24])

    result = trueness.ranking.kl_divergence(tally)

    # half a case is added to each of two bins
    p = np.array([30.5, 10.5]) / 41
    q = np.array([8.5, 24.5]) / 33
    # two samples of one law differ by (bins - 1) / 2n each on average
    excess = 1 / 2 * (1 / 40 + 1 / 32)

    assert result.kl_pos_to_neg.value == pytest.approx(p @ np.log(p / q) - excess)
    assert result.kl_neg_to_pos.value == pytest.approx(q @ np.log(q / p) - excess)
    assert result.entropy == -result.kl_pos_to_neg.value
    assert result.exp_entropy == pytest.approx(np.exp(result.entropy))


def test_errors_of_binormal_divergences_follow_from_those_of_the_curve(rng):
    label = (rng.random(400) < 0.4).astype(int)
    tally = trueness.tally(label, label + rng.normal(size=400))
    fit = trueness.ranking.fit_binormal(tally)

    def divergences(alpha, b):
        return np.array(
            [
                np.log(alpha) + (1 + b**2) / (2 * alpha**2) - 0.5,
                (alpha**2 + b**2 - 1) / 2 - np.log(alpha),
            ]
        )

    alpha, b = fit.curve.alpha, fit.curve.b
    step = 1e-6
    by_alpha = divergences(alpha + step, b) - divergences(alpha - step, b)
    by_b = divergences(alpha, b + step) - divergences(alpha, b - step)
    gradient = np.array([by_alpha, by_b]) / (2 * step)
    cross = fit.correlation * fit.alpha.se * fit.b.se
    covariance = np.array([[fit.alpha.se**2, cross], [cross, fit.b.se**2]])
    expected = np.sqrt(np.diag(gradient.T @ covariance @ gradient))

    result = trueness.ranking.kl_divergence(tally, method="binormal")

    assert [result.kl_pos_to_neg.se, result.kl_neg_to_pos.se] == pytest.approx(expected)
