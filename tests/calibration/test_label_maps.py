"""Label maps: their probabilities, their own error, and their files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness
from trueness import Tally
from trueness.calibration.maps import map_from_json, map_to_json


def reference_cases(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    labels = rng.random(n) < expit(2 * x - 1.5)
    return trueness.tally(labels, expit(x))


def test_many_cases_a_score_have_their_proportion():
    tally = Tally([3, 2, 1], neg=[1000, 3000, 9000], pos=[9000, 3000, 1000])

    label_map = trueness.calibrate(tally, method="pooled-bins")

    assert label_map([3, 2, 1]) == pytest.approx([0.9, 0.5, 0.1], abs=1e-3)


def test_bins_of_one_class_are_pooled_and_never_certain():
    negative = (np.arange(100) < 50).astype(int)
    tally = Tally(np.arange(100.0), neg=negative, pos=1 - negative)

    label_map = trueness.calibrate(tally, method="pooled-bins")

    assert label_map.shift.size == 2
    assert (label_map([0.0, 99.0]) > 0).all()
    assert (label_map([0.0, 99.0]) < 1).all()


@pytest.mark.parametrize("method", ["pooled-bins", "platt"])
def test_the_error_of_a_mean_probability_is_that_of_drawn_errors(method):
    t = reference_cases()
    label_map = trueness.calibrate(t, method=method)
    p = label_map(t.score)
    by_log_odds = p * (1 - p) / len(t)

    variance = label_map.error_variance(t.score, by_log_odds)
    draws = label_map.error_draws(t.score, 4000, np.random.default_rng(1))

    assert np.var(draws @ by_log_odds) == pytest.approx(variance, rel=0.1)


@pytest.mark.parametrize("method", ["pooled-bins", "platt"])
def test_the_error_of_a_mean_probability_is_that_between_reference_samples(method):
    score = np.linspace(0.05, 0.95, 50)
    maps = [
        trueness.calibrate(reference_cases(seed=seed), method=method)
        for seed in range(150)
    ]
    means = [label_map(score).mean() for label_map in maps]

    variances = []
    for label_map in maps:
        p = label_map(score)
        variances.append(label_map.error_variance(score, p * (1 - p) / score.size))

    assert np.var(means) == pytest.approx(np.mean(variances), rel=0.35)


def test_clusters_of_reference_cases_widen_the_error():
    t = reference_cases(n=400)
    copies = Tally(
        np.repeat(t.score, 5),
        neg=np.repeat(t.neg, 5),
        pos=np.repeat(t.pos, 5),
        cluster=np.repeat(np.arange(len(t)), 5),
    )

    clustered = trueness.calibrate(copies, method="pooled-bins")
    independent = trueness.calibrate(copies.without_clusters(), method="pooled-bins")
    p = independent(t.score)
    by_log_odds = p * (1 - p) / len(t)

    ratio = clustered.error_variance(t.score, by_log_odds)
    ratio /= independent.error_variance(t.score, by_log_odds)

    assert ratio == pytest.approx(5, rel=0.1)


@pytest.mark.parametrize("method", ["pooled-bins", "platt"])
def test_a_saved_map_keeps_its_reference(tmp_path, method):
    label_map = trueness.calibrate(reference_cases(), method=method)
    label_map.save(tmp_path / "map.json")

    loaded = trueness.load_map(tmp_path / "map.json")

    assert loaded == label_map
    assert loaded.reference == label_map.reference
    assert loaded.reference.positives + loaded.reference.negatives == 1000


def test_a_file_without_a_reference_is_read():
    content = json.loads(map_to_json(trueness.calibrate(reference_cases(), "platt")))
    del content["fields"]["_reference"]

    loaded = map_from_json(json.dumps(content))

    assert loaded.reference is None


def test_a_damaged_reference_is_refused():
    content = json.loads(map_to_json(trueness.calibrate(reference_cases(), "platt")))
    del content["fields"]["_reference"]["reference"]["date"]

    with pytest.raises(trueness.InputError, match="damaged"):
        map_from_json(json.dumps(content))


def test_another_prevalence_moves_the_odds_and_not_the_error():
    t = reference_cases()
    label_map = trueness.calibrate(t, method="pooled-bins")

    moved = trueness.at_prevalence(label_map, 0.5, 0.1)

    shift = logit(moved(t.score)) - logit(label_map(t.score))

    assert shift == pytest.approx(np.full(len(t), -np.log(9)))

    ones = np.ones(len(t))

    assert moved.error_variance(t.score, ones) == pytest.approx(
        label_map.error_variance(t.score, ones)
    )
