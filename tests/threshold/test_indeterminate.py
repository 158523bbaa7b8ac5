"""Indeterminate results: the 3x2 table by hand, rules, intervals, errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness import InputError, Rule, Tally, indeterminate_results
from trueness._core.checks.errors import CleanedWarning
from trueness.data.row_counts import INDETERMINATE_SCORE
from trueness.threshold.rule import DEFERRED

RESULTS = Tally([1, 0.5, 0], pos=[80, 12, 8], neg=[5, 20, 175])


def test_the_table_has_every_case_once():
    answer = indeterminate_results(RESULTS)

    assert answer.positive == (80, 5)
    assert answer.indeterminate == (12, 20)
    assert answer.negative == (8, 175)


def test_three_readings_side_by_side():
    answer = indeterminate_results(RESULTS)

    def sensitivity_and_specificity(reading):
        return reading["sensitivity"].value, reading["specificity"].value

    assert sensitivity_and_specificity(answer.as_positive) == (92 / 100, 175 / 200)
    assert sensitivity_and_specificity(answer.as_negative) == (80 / 100, 195 / 200)
    assert sensitivity_and_specificity(answer.left_out) == (80 / 88, 175 / 180)


def test_intervals_are_wilsons():
    answer = indeterminate_results(RESULTS)

    for estimate, successes, cases in (
        (answer.as_positive["recall"], 92, 100),
        (answer.left_out["npv"], 175, 183),
        (answer.rate, 32, 300),
        (answer.rate_in_positives, 12, 100),
        (answer.rate_in_negatives, 20, 200),
    ):
        wilson = stats.binomtest(successes, cases).proportion_ci(method="wilson")
        assert estimate.ci == pytest.approx((wilson.low, wilson.high))


def test_two_thresholds_make_results_of_scores():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 200)
    score = label + rng.normal(size=200)
    result = np.select([score >= 0.9, score < 0.2], [1.0, 0.0], 0.5)

    by_rule = indeterminate_results(label, score, Rule(0.9, lower=0.2))
    by_result = indeterminate_results(label, result)

    assert by_rule.indeterminate == by_result.indeterminate
    assert by_rule.to_frame().equals(by_result.to_frame())


def test_results_may_be_words():
    truth = [1] * 4 + [0] * 4
    words = ["pos", "equivocal", "Inconclusive", "neg", "neg", "neg", "pos", "invalid"]
    numbers = [1, 0.5, 0.5, 0, 0, 0, 1, 0.5]

    with pytest.warns(CleanedWarning) as told:
        of_words = indeterminate_results(truth, words)

    assert "'invalid' as indeterminate, 0.5" in str(told[-1].message)
    assert of_words.indeterminate == (2, 1)
    assert of_words.to_frame().equals(indeterminate_results(truth, numbers).to_frame())


def test_a_test_that_was_not_done_has_no_result():
    truth = [1, 1, 1, 0, 0, 0]
    words = ["pos", "maybe", "not done", "neg", "neg", "pos"]

    with (
        pytest.warns(CleanedWarning) as told,
        pytest.raises(InputError, match="at 1 of 6"),
    ):
        indeterminate_results(truth, words)

    assert "'not done' as a missing result" in str(told[-1].message)


def test_votes_that_are_neither_are_missing():
    votes = {"A": ["yes", "unsure", "no", "yes"], "B": ["yes", "no", "no", "no"]}

    with pytest.warns(CleanedWarning) as told:
        panel = trueness.panel([1, 1, 0, 0], votes)

    assert any("'unsure' as a missing result" in str(t.message) for t in told)
    assert np.isnan(panel.rows).sum() == 1


def test_words_lie_where_a_rule_defers():
    assert INDETERMINATE_SCORE == DEFERRED


def test_without_indeterminate_results_all_readings_agree():
    answer = indeterminate_results(Tally([1, 0], pos=[8, 2], neg=[1, 9]))

    assert answer.rate.value == 0

    for metric in ("recall", "specificity", "precision", "npv"):
        readings = (answer.as_positive, answer.as_negative, answer.left_out)
        assert len({reading[metric].value for reading in readings}) == 1


def test_it_prints_the_table_and_a_row_for_each_reading():
    text = repr(indeterminate_results(RESULTS, metrics=["accuracy"]))

    assert "indeterminate          12         20" in text
    assert "as positive  accuracy 0.890" in text
    assert "left out" in text


def test_scores_without_a_rule_are_refused():
    with pytest.raises(InputError, match=r"0\.5.*Type threshold=trueness\.Rule"):
        indeterminate_results([0, 1, 1], [0.2, 0.7, 0.9])
    with pytest.raises(InputError, match="two thresholds"):
        indeterminate_results([0, 1, 1], [0.2, 0.7, 0.9], 0.5)


def test_weights_count():
    label = [1, 1, 0, 0]
    result = [1, 0.5, 0.5, 0]

    answer = trueness.indeterminate_results(label, result, weight=[3, 1, 1, 1])

    assert answer.as_negative["recall"].value == 0.75
