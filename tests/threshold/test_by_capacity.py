"""A threshold by capacity needs no label: Keith, Davey and Boyd's top 1000 SNPs."""

import numpy as np
import pytest

import trueness


def test_the_smallest_number_at_or_above_the_capacity(rng):
    score = np.round(rng.random(5000), 3)  # with ties
    tally = trueness.tally(None, score)

    point = trueness.best_threshold(
        tally, minimize="flagged", subject_to="flagged >= 1000"
    )

    reached = [int((score >= c).sum()) for c in np.unique(score)]

    assert point.value == min(n for n in reached if n >= 1000)
    assert (score >= point.threshold).sum() == point.value


def test_the_largest_proportion_below_the_capacity():
    tally = trueness.tally(None, [5, 4, 4, 3, 2, 1])
    point = trueness.best_threshold(tally, "flagged", "flagged_rate <= 20%")
    assert (point.value, point.score_range) == (1, (4, 5))


def test_what_labels_would_say_is_not_known():
    tally = trueness.tally(None, [3, 2, 1])
    point = trueness.best_threshold(tally, "flagged", "flagged <= 2")

    assert np.isnan(point.prevalence)
    assert np.isnan(point.confusion.tp)
    assert point.metrics == {}
    assert "No case has a label" in point.notes[0]


def test_a_metric_that_needs_labels_still_asks_for_them():
    tally = trueness.tally(None, [3, 2, 1])
    with pytest.raises(trueness.NotEnoughCases):
        trueness.best_threshold(tally, "recall", "flagged <= 2")
