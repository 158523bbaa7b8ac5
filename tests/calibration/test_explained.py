"""Nagelkerke's R² against its definition by likelihoods, and R's rms."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import trueness
from trueness import InputError
from trueness.calibration import nagelkerke_r2
from trueness.calibration.explained import nagelkerke_measure


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    probability = rng.beta(2, 4, n)
    return (rng.random(n) < probability).astype(int), np.round(probability, 2)


def test_it_is_the_ratio_of_likelihoods():
    label, probability = sample()
    n = label.size
    prevalence = label.mean()
    of_model = np.log(np.where(label, probability, 1 - probability)).sum()
    of_prevalence = np.log(np.where(label, prevalence, 1 - prevalence)).sum()
    # Nagelkerke (1991): Cox and Snell's over its largest value
    cox_snell = 1 - math.exp(2 / n * (of_prevalence - of_model))
    largest = 1 - math.exp(2 / n * of_prevalence)

    assert nagelkerke_r2(label, probability).value == pytest.approx(cox_snell / largest)


def weighted(tally, weight):
    """Each row twice: as a negative and as a positive, with these weights."""
    label = np.repeat([0, 1], len(tally))
    return trueness.tally(label, np.tile(tally.score, 2), weight=weight)


def test_influence_of_a_case_is_its_slope():
    tally = trueness.tally(*sample())
    weight = np.concatenate([tally.neg, tally.pos]) + 1.0
    influence = nagelkerke_measure(weighted(tally, weight)).influence
    step = 1e-4
    for row in range(0, len(tally), 5):
        change = step * np.eye(weight.size)[len(tally) + row]
        higher = nagelkerke_measure(weighted(tally, weight + change)).value
        lower = nagelkerke_measure(weighted(tally, weight - change)).value

        slope = (higher - lower) / (2 * step)
        assert influence.by_positive[row] == pytest.approx(slope, abs=1e-6)


def test_interval_holds_the_value_and_narrows():
    few = nagelkerke_r2(*sample(200))
    many = nagelkerke_r2(*sample(5000))

    assert few.low < few.value < few.high <= 1
    assert many.high - many.low < few.high - few.low


def test_a_certain_wrong_probability_is_infinitely_bad():
    estimate = nagelkerke_r2([0, 1, 1], [0.0, 0.0, 1.0])

    assert (estimate.value, estimate.high) == (-math.inf, 1)
    assert "certain and wrong" in estimate.notes[0]
    assert not any("no variation" in note for note in estimate.notes)


@pytest.mark.parametrize("probability", [1e-40, 1e-100, 1e-300])
def test_nearly_certain_wrong_probabilities_do_not_overflow(probability):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate = nagelkerke_r2([0, 1, 1, 1], [probability] * 4)

    assert estimate.value < -1e50
    assert estimate.low <= estimate.value <= estimate.high


def test_scores_must_be_probabilities():
    with pytest.raises(InputError):
        nagelkerke_r2([0, 1, 1], [0.0, 2.0, 1.0])
