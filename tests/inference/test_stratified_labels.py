"""Labels of cases that were drawn by score: when do they contradict the map?"""

import math

import numpy as np
import pytest

import trueness
from trueness.inference.stratified_labels import notes_on_label_sample


def one_in_five(score):
    return np.full(np.shape(score), 0.2)


@pytest.mark.parametrize("positives", [4, 5, 10, 16, 17, 18, 30])
def test_labels_contradict_a_map_beyond_two_standard_errors(positives):
    """Fifty of 500 cases have labels, of which the map expects ten to be positive."""
    label = np.arange(50) < positives
    sample = trueness.LabelSample([], [500], map=one_in_five)
    tally = trueness.tally(label, np.linspace(0, 1, 50), unlabelled=sample)

    notes = notes_on_label_sample(tally)

    # a positive is 0.8 away from the map, a negative 0.2
    error = math.sqrt(positives * 0.8**2 + (50 - positives) * 0.2**2)
    contradicts = abs(positives - 10) > 1.96 * error
    assert any("contradict the map" in note for note in notes) == contradicts


def test_numbers_of_a_contradiction_are_those_of_all_cases():
    label = np.arange(50) < 30
    sample = trueness.LabelSample([], [500], map=one_in_five)
    tally = trueness.tally(label, np.linspace(0, 1, 50), unlabelled=sample)

    drawn, contradiction = notes_on_label_sample(tally)

    assert "50 of 500 cases" in drawn
    assert "300 positives were found, but it expects 100" in contradiction
