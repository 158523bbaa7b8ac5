"""Labels of cases that were drawn by score: all samples that could have been drawn."""

import math
from itertools import combinations, product

import numpy as np
import pytest

import trueness
from trueness.inference.stratified_labels import notes_on_label_sample, weigh_bands
from trueness.inference.variance import Influence, VarianceEstimate

# a population in two bands: scores below 10 and from 10 on, each with its label
LOW_BAND = [(1, 0), (2, 1), (3, 0), (4, 0)]
HIGH_BAND = [(11, 1), (12, 0), (13, 1), (14, 1), (15, 0)]
NOTHING_YET = VarianceEstimate(0.0, math.inf, 0.0, 0.0)


def drawn(cases, target="these cases"):
    """Count the labelled cases of a sample of this population."""
    score, label = np.array(cases).T
    sample = trueness.LabelSample([10], [4, 5], target=target)
    return weigh_bands(trueness.tally(label, score, unlabelled=sample))


def number_of_positives(counts):
    """Return the estimated number of positives, and its variance."""
    ones = np.ones(len(counts.observed))
    influence = Influence(by_negative=0 * ones, by_positive=ones)
    estimate = counts.add_error_of_map(NOTHING_YET, influence)
    return counts.expected.n_pos, estimate


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


def test_every_sample_of_the_bands_together_is_unbiased():
    """Cochran (1977), section 5: two of four and three of five cases are labelled."""
    samples = product(combinations(LOW_BAND, 2), combinations(HIGH_BAND, 3))

    result = [number_of_positives(drawn([*low, *high])) for low, high in samples]

    numbers = np.array([number for number, _ in result])
    variances = np.array([estimate.variance for _, estimate in result])

    assert numbers.size == 60
    assert numbers.mean() == pytest.approx(4)
    assert variances.mean() == pytest.approx(numbers.var())


def test_a_labelled_case_stands_for_those_of_its_band():
    counts = drawn([(2, 1), (3, 0), (11, 1), (12, 0), (14, 1)])

    assert counts.expected.score.tolist() == [14, 12, 11, 3, 2]
    assert counts.expected.pos == pytest.approx([5 / 3, 0, 5 / 3, 0, 2])
    assert counts.expected.neg == pytest.approx([0, 5 / 3, 0, 2, 0])
    assert counts.band.tolist() == [1, 1, 1, 0, 0]
    assert counts.labelled.tolist() == [2, 3]


def test_a_negative_has_an_influence_of_its_own():
    counts = drawn([(2, 1), (3, 0), (11, 1), (12, 0), (14, 1)])
    by_negative = np.array([0.3, -0.2, 0.5, 1.1, 0.4])
    by_positive = np.array([0.7, 0.1, -0.4, 0.2, 0.9])

    estimate = counts.add_error_of_map(
        NOTHING_YET, Influence(by_negative=by_negative, by_positive=by_positive)
    )

    # from the highest score down: 14, 12, 11 and then 3, 2
    high = np.var([0.7, -0.2, -0.4], ddof=1)
    low = np.var([1.1, 0.9], ddof=1)
    parts = np.array([25 * (1 / 3 - 1 / 5) * high, 16 * (1 / 2 - 1 / 4) * low])

    assert estimate.variance == pytest.approx(parts.sum())

    # Satterthwaite (1946): two degrees of freedom of three cases, one of two
    freedom = parts.sum() ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 1)

    assert estimate.degrees_of_freedom == pytest.approx(freedom)
    assert estimate.uncorrected_variance == estimate.variance
    assert estimate.units == 2


def test_the_process_varies_as_if_all_cases_had_a_label():
    cases = [(2, 1), (3, 0), (11, 1), (12, 0), (14, 1)]

    _, of_these = number_of_positives(drawn(cases))
    _, of_process = number_of_positives(drawn(cases, target="process"))

    # one positive stands for two cases, two for five thirds each
    more = 1 * 4 / 2 + 2 * 5 / 3

    assert of_process.variance == pytest.approx(of_these.variance + more)


def test_bands_that_are_all_labelled_leave_no_doubt():
    number, estimate = number_of_positives(drawn(LOW_BAND + HIGH_BAND))

    assert number == 4
    assert estimate.variance == 0
    assert estimate.degrees_of_freedom == math.inf


def test_the_cases_themselves_have_no_influence_beside_the_bands():
    counts = drawn([(2, 1), (3, 0), (11, 1), (12, 0), (14, 1)])
    ones = np.ones(5)

    influence = counts.influence_of_cases(Influence(ones, 2 * ones, 3 * ones))

    assert influence.by_negative.tolist() == influence.by_positive.tolist() == [0] * 5
    assert influence.by_unlabelled is None


def test_each_band_needs_labels():
    with pytest.raises(trueness.NotEnoughCases, match="1 of 2 bands have none"):
        drawn([(2, 1), (3, 0)])


@pytest.mark.parametrize(
    ("target", "population"),
    [("these cases", "these very cases"), ("process", "the process that drew them")],
)
def test_notes_say_what_the_answer_is_about(target, population):
    sample = trueness.LabelSample([10], [4, 5], target=target)
    tally = trueness.tally([1, 0, 1], [1, 2, 11], unlabelled=sample)

    [note] = notes_on_label_sample(tally)

    assert note.startswith("3 of 9 cases were drawn by score")
    assert "2 bands" in note
    assert note.endswith(f"The answer is about {population}.")
