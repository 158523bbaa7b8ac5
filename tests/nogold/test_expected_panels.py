"""Expected labels from several classifiers, without any label."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

import trueness
from trueness import InputError

SHIFTS = {"a": 2.0, "b": 1.6, "c": 1.2, "d": 1.0, "e": 0.8}


def scores_of(rng, n=1500, prevalence=0.4):
    label = rng.random(n) < prevalence
    scores = {k: label * d + rng.standard_normal(n) for k, d in SHIFTS.items()}
    return label, scores


@pytest.fixture(scope="module")
def blind():
    label, scores = scores_of(np.random.default_rng(1))
    panel = trueness.panel(None, scores)
    return label, panel, trueness.fidel(panel, labels="none")


def test_counts_of_a_column_are_mean_probabilities(blind):
    _, panel, fit = blind
    expected = panel.expected(fit, dependence="none")

    table = expected["a"].design.unlabelled.map

    order = np.argsort(panel.rows[:, 0])
    assert table.score == pytest.approx(panel.rows[order, 0])
    assert table.chances == pytest.approx(fit.probability(panel.rows)[order])


def test_independent_errors_give_an_auc_near_the_truth(blind):
    _, panel, fit = blind

    area = trueness.auc(panel.expected(fit, dependence="none")["b"])

    truth = norm.cdf(SHIFTS["b"] / math.sqrt(2))
    assert abs(area.value - truth) < 4 * area.se
    assert any("independent" in note for note in area.notes)


def test_without_labels_there_is_an_interval_and_no_value(blind):
    _, panel, fit = blind
    expected = panel.expected(fit)

    area = trueness.auc(expected["a"])

    assert math.isnan(area.value)
    assert (area.low, area.high) == (0, 1)
    with pytest.raises(InputError, match="no curve"):
        trueness.best_threshold(expected["a"], maximize="f1")
    with pytest.raises(InputError, match="no curve"):
        trueness.roc(expected["a"])


def test_a_threshold_chosen_blind_is_nearly_the_best(blind):
    label, panel, fit = blind
    combined = panel.expected(fit, dependence="none").combine(fit)

    point = trueness.best_threshold(combined, maximize="accuracy")

    _, scores = scores_of(np.random.default_rng(1))
    with_labels = trueness.tally(label, fit(np.column_stack([*scores.values()])))
    accuracy = trueness.at_threshold(with_labels, point.threshold)["accuracy"].value
    best = trueness.best_threshold(with_labels, maximize="accuracy").value
    assert accuracy > best - 0.01


def test_a_posterior_of_votes_gives_the_sensitivities():
    rng = np.random.default_rng(2)
    _, scores = scores_of(rng)
    votes = trueness.panel(
        None, {k: (s > 0.6).astype(float) for k, s in scores.items()}
    )
    posterior = trueness.latent_class(votes, dependence="none")

    recall = trueness.at_threshold(votes.expected(posterior)["a"], 0.5)["recall"]

    sensitivity = posterior.sensitivity["a"]
    assert recall.value == pytest.approx(sensitivity.value, abs=0.01)
    assert recall.se == pytest.approx(sensitivity.se, rel=0.25)


def test_errors_that_may_be_shared_leave_the_interval_of_the_posterior():
    rng = np.random.default_rng(2)
    _, scores = scores_of(rng, n=600)
    votes = trueness.panel(
        None, {k: (s > 0.6).astype(float) for k, s in scores.items()}
    )
    expected = votes.expected(trueness.latent_class(votes))

    recall = trueness.at_threshold(expected["a"], 0.5)["recall"]

    assert math.isnan(recall.value)
    assert recall.high - recall.low > 0.1


def test_something_else_is_refused(blind):
    _, panel, _ = blind

    with pytest.raises(InputError, match="latent_class"):
        panel.expected(0.5)


@pytest.mark.slow
def test_coverage_with_independent_errors():
    rng = np.random.default_rng(7)
    truth = norm.cdf(SHIFTS["b"] / math.sqrt(2))
    held = 0
    for _ in range(60):
        _, scores = scores_of(rng, n=1000)
        panel = trueness.panel(None, scores)
        fit = trueness.fidel(panel, labels="none")
        area = trueness.auc(panel.expected(fit, dependence="none")["b"])
        held += area.low <= truth <= area.high

    assert held >= 52


def drawn_panel(rng, correlation, n=2000):
    """Draw labels and five scores whose errors are shared or not."""
    label = rng.random(n) < 0.4
    common = rng.standard_normal(n)
    scores = {}
    for name, distance in zip("abcde", (2.0, 1.8, 1.6, 1.4, 1.2), strict=True):
        own = rng.standard_normal(n)
        error = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
        scores[name] = distance * label + error
    return label, scores


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The errors of these classifiers")
def test_the_loop_without_labels_holds_where_errors_are_independent():
    rng = np.random.default_rng(60)
    label, scores = drawn_panel(rng, 0.0, 500_000)
    truth = trueness.auc(label, scores["a"]).value

    samples = 60
    held = 0
    for _ in range(samples):
        _, scores = drawn_panel(rng, 0.0)
        panel = trueness.panel(None, scores)
        blind = trueness.fidel(panel, labels="none")
        area = trueness.auc(panel.expected(blind, dependence="none")["a"])
        held += area.low <= truth <= area.high

    # 3 standard errors of a proportion of 60 below .95
    assert held / samples > 0.95 - 3 * np.sqrt(0.95 * 0.05 / samples)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The errors of these classifiers")
def test_shared_errors_break_stated_independence_and_not_the_open_interval():
    rng = np.random.default_rng(61)
    label, scores = drawn_panel(rng, 0.3, 500_000)
    truth = trueness.auc(label, scores["a"]).value

    samples = 30
    held = {"none": 0, "shared": 0}
    for _ in range(samples):
        _, scores = drawn_panel(rng, 0.3)
        panel = trueness.panel(None, scores)
        blind = trueness.fidel(panel, labels="none")
        for dependence in held:
            area = trueness.auc(panel.expected(blind, dependence=dependence)["a"])
            held[dependence] += area.low <= truth <= area.high

    assert held["shared"] == samples
    assert held["none"] < 0.9 * samples
