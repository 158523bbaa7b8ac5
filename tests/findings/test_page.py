"""The first screen of a report: sentences by hand."""

import pytest

import trueness
from trueness.findings import subject as subjects
from trueness.findings.notes import REPORT, say
from trueness.findings.page import auc_note


def sentence_of(tally):
    """Give the sentence about the AUC of the best classifier."""
    return say(auc_note(subjects.subject(tally).best), REPORT)


class TestAucNote:
    def test_counts_ties_of_a_test_with_two_outcomes(self):
        """8 of 10 positives and 3 of 10 negatives: 56 pairs won, 38 tied, 6 lost."""
        test = trueness.Tally([1, 0], neg=[3, 7], pos=[8, 2])

        text = sentence_of(test)

        assert "higher in 56 and both the same in 38" in text
        assert "AUC 0.750" in text

    def test_says_nothing_of_ties_without_one(self):
        label = [0, 1] * 20
        score = [k / 100 + 0.3 * y for k, y in enumerate(label)]

        assert "the same" not in sentence_of(trueness.tally(label, score))

    def test_does_not_count_a_bin_as_a_tie(self):
        label = [0, 1] * 20
        score = [k / 100 + 0.3 * y for k, y in enumerate(label)]

        text = sentence_of(trueness.tally(label, score, at_most=5))

        assert "if ties count one half" in text

    @pytest.mark.parametrize("weight", [1, 10**9])
    def test_large_counts_do_not_overflow(self, weight):
        test = trueness.Tally(
            [1, 0], neg=[3 * weight, 7 * weight], pos=[8 * weight, 2 * weight]
        )

        assert "both the same in 38" in sentence_of(test)


def test_an_evaluation_of_bins_says_where_the_exact_value_lies():
    label = [0, 1, 1, 0] * 30
    score = [(k * 37 % 101) / 101 for k in range(120)]
    binned = trueness.tally(label, score).bin(10)

    sentences = " ".join(map(str, trueness.evaluate(binned).notes))

    low, high = trueness.auc(binned).bounds
    assert f"AUC, exact value within {low:.4g} to {high:.4g}" in sentences
    assert "Brier score, exact value within" in sentences


class TestACopyOfTheLabel:
    def test_is_asked_about(self):
        label = [0, 1] * 20

        sentences = " ".join(map(str, trueness.evaluate(label, label).notes))

        assert "Is it a copy of the label?" in sentences

    def test_is_not_seen_in_a_score_with_errors(self):
        label = [0, 1] * 20
        vote = [1 - y if k == 3 else y for k, y in enumerate(label)]

        sentences = " ".join(map(str, trueness.evaluate(label, vote).notes))

        assert "copy" not in sentences
