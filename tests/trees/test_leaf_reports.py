"""Verdicts on many leaves: what is discovered, and what its intervals hold."""

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness import Leaves
from trueness.trees.leaf_reports import benjamini_hochberg

LEAVES = 40
CASES = 30


def drawn_leaves(rng, probability):
    """Leaves of 30 cases each, with these probabilities of a positive."""
    positives = rng.binomial(CASES, probability)
    return Leaves(np.arange(probability.size), CASES - positives, positives)


def test_adjusted_p_values_are_those_of_scipy(rng):
    p_values = rng.random(50) ** 2

    adjusted = benjamini_hochberg(p_values)

    assert adjusted == pytest.approx(stats.false_discovery_control(p_values))


def test_the_sign_test_is_that_of_scipy():
    report = Leaves([1, 2], neg=[4, 20], pos=[16, 22]).report()

    p_values = [stats.binomtest(16, 20).pvalue, stats.binomtest(22, 42).pvalue]
    expected = stats.false_discovery_control(p_values)
    assert report.p_adjusted == pytest.approx(expected)


def test_coins_are_hardly_ever_trusted(rng):
    coins = np.full(LEAVES, 0.5)

    trees_with_trust = [
        (drawn_leaves(rng, coins).report().verdict == "trust").any() for _ in range(400)
    ]

    # with nothing but coins, any trusted leaf is false: at most 5 % of the trees
    assert np.mean(trees_with_trust) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_trusted_leaves_are_seldom_coins_and_their_intervals_hold(rng):
    probability = np.where(np.arange(LEAVES) < 20, 0.5, 0.7)
    utility = trueness.utility_level(CASES, probability)

    false_discoveries = []
    missed_intervals = []
    for _ in range(400):
        report = drawn_leaves(rng, probability).report()
        trusted = report.verdict == "trust"
        number = max(trusted.sum(), 1)
        outside = (utility < report.utility_low) | (utility > report.utility_high)
        false_discoveries.append((trusted & (probability == 0.5)).sum() / number)
        missed_intervals.append((trusted & outside).sum() / number)

    assert np.mean(false_discoveries) < 0.05
    assert np.mean(missed_intervals) < 0.05


def test_trusted_leaves_have_wider_intervals():
    report = Leaves(range(4), neg=[2, 12, 14, 15], pos=[28, 18, 16, 15]).report()

    low, high = stats.binomtest(28, 30).proportion_ci(report.trusted_level)

    assert report.verdict.tolist() == ["trust", "thin", "coin toss", "coin toss"]
    assert report.trusted_level == pytest.approx(1 - 0.05 / 4)
    assert (report.low[0], report.high[0]) == pytest.approx((low, high))
    assert report.high[1] == pytest.approx(stats.binomtest(18, 30).proportion_ci().high)


def test_no_leaf_is_trusted_on_cases_that_the_tree_was_grown_on():
    leaves = Leaves([1, 2, 3], neg=[0, 30, 5], pos=[40, 30, 7])

    report = leaves.report(fresh=False)

    assert report.verdict.tolist() == ["untested", "coin toss", "coin toss"]
    assert "0 of 3 leaves trusted" in repr(report)
    assert "The tree was grown on these cases" in report.note
    assert leaves.report().verdict[0] == "trust"


@pytest.mark.parametrize(("method", "least"), [("blend", 20), ("mle", 40)])
def test_the_size_that_the_paper_recommends_is_said(method, least):
    report = Leaves([1, 2], neg=[5, 30], pos=[10, 90]).report(method=method)

    assert f"1 of 2 leaves has fewer than {least} cases" in repr(report)
    assert "Zhang (2024)" in repr(report)


def test_a_thin_leaf_is_trusted_once_it_has_the_cases_that_it_needs():
    thin = Leaves([1], neg=[2], pos=[6]).report()
    needed = int(thin.n[0] + thin.cases_needed[0])
    # a count that has the estimated proportion, or the next larger one
    positives = int(np.ceil(thin.blend[0] * needed))

    grown = Leaves([1], neg=[needed - positives], pos=[positives]).report()

    assert thin.verdict.tolist() == ["thin"]
    assert grown.verdict.tolist() == ["trust"]
