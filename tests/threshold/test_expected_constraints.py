"""Thresholds that are expected to keep their constraints on new cases."""

import numpy as np
import pytest
from scipy.stats import norm

import trueness
from trueness import Infeasible, InputError, Tally, validate_threshold

ON_NEW_CASES = {"constraints_on": "new cases", "rng": 0}


def binormal_tally(rng, n=400, prevalence=0.3, shift=1.5):
    label = rng.random(n) < prevalence
    score = rng.normal(size=n) + shift * label
    return trueness.tally(label.astype(int), score)


def test_the_constraint_is_expected_to_be_kept():
    tally = binormal_tally(np.random.default_rng(2))

    in_sample = validate_threshold(tally, "youden", "recall >= 0.85", rng=0)
    kept = validate_threshold(tally, "youden", "recall >= 0.85", **ON_NEW_CASES)

    assert in_sample.metrics["recall"].value < 0.85
    assert kept.metrics["recall"].value >= 0.85
    assert kept.choice.threshold < in_sample.choice.threshold
    # the answer speaks of the constraint as it was stated
    assert list(kept.choice.constraints) == list(kept.holds) == ["recall >= 0.85"]
    assert kept.choice.binding == ("recall >= 0.85",)


def test_it_is_the_in_sample_choice_where_that_keeps_the_constraint():
    tally = binormal_tally(np.random.default_rng(7))

    loose = validate_threshold(tally, "youden", "recall >= 0.3", rng=0)
    kept = validate_threshold(tally, "youden", "recall >= 0.3", **ON_NEW_CASES)

    assert kept.choice == loose.choice
    assert kept.metrics == loose.metrics


def test_several_constraints_and_bounds_from_above():
    tally = binormal_tally(np.random.default_rng(3), n=1000)
    constraints = ["fpr <= 0.2", "flagged_rate <= 0.35"]

    kept = validate_threshold(tally, "recall", constraints, **ON_NEW_CASES)

    assert kept.metrics["fpr"].value <= 0.2
    assert kept.metrics["flagged_rate"].value <= 0.35
    assert list(kept.choice.constraints) == constraints


def test_it_is_said_when_no_threshold_is_expected_to_keep_it():
    """Flagging all has recall 1 in the sample, so a strict bound above cannot hold."""
    tally = Tally([3, 2, 1], pos=[6, 3, 1], neg=[1, 3, 16])

    kept = validate_threshold(tally, "recall", "precision >= 0.85", **ON_NEW_CASES)

    assert kept.metrics["precision"].value < 0.85
    assert any("No threshold is expected to keep" in note for note in kept.notes)
    with pytest.raises(Infeasible):
        validate_threshold(tally, "recall", "precision >= 0.95", **ON_NEW_CASES)


def test_two_thresholds_and_wrong_words_are_refused():
    tally = binormal_tally(np.random.default_rng(1))

    with pytest.raises(InputError, match="one threshold"):
        validate_threshold(
            tally, minimize="defer", subject_to="npv below >= 0.9", **ON_NEW_CASES
        )
    with pytest.raises(InputError, match="constraints_on"):
        validate_threshold(tally, "f1", "recall >= 0.8", constraints_on="tomorrow")


@pytest.mark.slow
def test_mean_precision_in_the_population():
    """Over samples the precision of the choice is on average what was required."""
    precision_in_sample = []
    precision_kept = []
    for seed in range(120):
        tally = binormal_tally(np.random.default_rng(seed), n=200, shift=1.0)
        in_sample = trueness.best_threshold(tally, "recall", "precision >= 0.6")
        kept = validate_threshold(
            tally,
            "recall",
            "precision >= 0.6",
            constraints_on="new cases",
            replicates=200,
            rng=seed,
        )
        precision_in_sample.append(population_precision(in_sample.threshold))
        precision_kept.append(population_precision(kept.choice.threshold))

    standard_error = np.std(precision_kept) / np.sqrt(len(precision_kept))

    assert np.mean(precision_kept) > np.mean(precision_in_sample) + standard_error
    assert np.mean(precision_kept) > 0.6 - 2 * standard_error


def population_precision(threshold, prevalence=0.3, shift=1.0):
    true_positives = prevalence * norm.sf(threshold - shift)
    false_positives = (1 - prevalence) * norm.sf(threshold)
    return true_positives / (true_positives + false_positives)
