"""Measures of expected labels: values by hand, variances by brute force, coverage."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri

import trueness
from trueness import ExpectedLabels, Tally
from trueness.inference.estimates import evaluate_measure
from trueness.inference.expected_counts import expect_labels
from trueness.inference.sample import apply_design
from trueness.inference.variance import Influence
from trueness.ranking.areas import auc_measure

NAMES = ["recall", "precision", "f1"]


def chance_of(x):
    return expit(2 * x - 1.5)


def curved_score(x):
    return expit(np.clip((2 * x - 1.5) ** 3 / 4 + x, -30, 30))


def drawn(rng, n, shift=0.0):
    x = shift + rng.standard_normal(n)
    return trueness.tally(rng.random(n) < chance_of(x), curved_score(x))


@pytest.fixture
def expected():
    rng = np.random.default_rng(0)
    label_map = trueness.calibrate(drawn(rng, 800), method="pooled-bins")
    return drawn(rng, 300, 0.5).without_labels().with_design(unlabelled=label_map)


def test_auc_is_that_of_weighted_copies(expected):
    metrics = pytest.importorskip("sklearn.metrics")
    chances = expect_labels(expected).chances
    unknown = expected.unknown

    by_copies = metrics.roc_auc_score(
        np.repeat([1, 0], len(expected)),
        np.tile(expected.score, 2),
        sample_weight=np.concatenate([unknown * chances, unknown * (1 - chances)]),
    )

    assert trueness.auc(expected).value == pytest.approx(by_copies, abs=1e-12)


def test_metrics_and_brier_are_expectations(expected):
    positives = expected.unknown * expect_labels(expected).chances
    negatives = expected.unknown - positives
    flagged = expected.score >= 0.5

    at_cut = trueness.at_threshold(expected, 0.5)
    loss = positives @ (1 - expected.score) ** 2 + negatives @ expected.score**2

    tp = positives[flagged].sum()

    assert at_cut.confusion.tp == pytest.approx(tp)
    assert at_cut["recall"].value == pytest.approx(tp / positives.sum())
    assert at_cut["precision"].value == pytest.approx(
        tp / expected.unknown[flagged].sum()
    )
    assert trueness.brier(expected).value == pytest.approx(loss / expected.n)


class MovedBin:
    """A label map with the log odds of some rows moved; the slow twin of D' C D."""

    reference = None

    def __init__(self, label_map, rows_moved, step):
        self.label_map = label_map
        self.rows_moved = rows_moved
        self.step = step

    def __call__(self, score):
        return expit(logit(self.label_map(score)) + self.step * self.rows_moved(score))

    def error_variance(self, score, by_log_odds):
        return 0.0

    def error_draws(self, score, number, rng):
        return None


def test_influence_of_a_case_is_expected_over_its_label():
    identity = MovedBin(lambda s: np.asarray(s), lambda s: 0.0, 0.0)
    sample = Tally([0.75, 0.25], unknown=[4, 6]).with_design(unlabelled=identity)
    by_label = Influence(
        by_negative=np.array([8.0, 4.0]), by_positive=np.array([16.0, 0.0])
    )

    by_case = expect_labels(sample).influence_of_cases(by_label)

    # 0.75 * 16 + 0.25 * 8, and 0.25 * 0 + 0.75 * 4
    assert by_case.by_unlabelled.tolist() == [14.0, 3.0]


def test_error_of_the_map_is_that_of_moving_each_parameter(expected):
    label_map = expected.design.unlabelled.map
    bins = label_map.shift.size
    step = 1e-5

    def value_when(rows_moved, size):
        moved = MovedBin(label_map, rows_moved, size)
        return trueness.auc(expected.with_design(unlabelled=moved)).value

    def derivative(rows_moved):
        return (value_when(rows_moved, step) - value_when(rows_moved, -step)) / (
            2 * step
        )

    by_bin = [
        derivative(lambda s, k=k: (label_map._bin(s) == k).astype(float))
        for k in range(bins)
    ]
    by_slope = derivative(lambda s: label_map._slope_factor(s, label_map._bin(s)))
    flat = label_map.reference.covariance
    covariance = np.diag(flat[: bins + 1])
    covariance[-1, :-1] = covariance[:-1, -1] = flat[bins + 1 :]
    gradient = np.append(by_bin, by_slope)

    result = evaluate_measure(apply_design(expected), auc_measure).variance_estimate

    assert result.map_variance == pytest.approx(
        gradient @ covariance @ gradient, rel=1e-4
    )


def test_labels_that_are_all_known_leave_the_usual_interval(expected):
    labelled = drawn(np.random.default_rng(5), 200)
    label_map = expected.design.unlabelled.map

    assert trueness.auc(labelled.with_design(unlabelled=label_map)) == trueness.auc(
        labelled
    )


def test_more_labels_of_today_narrow_the_interval(expected):
    rng = np.random.default_rng(5)
    labelled = drawn(rng, 300, 0.5)
    label_map = expected.design.unlabelled.map
    partly = labelled + labelled.without_labels()

    widths = []
    for t in (labelled.without_labels() + labelled.without_labels(), partly):
        interval = trueness.auc(t.with_design(unlabelled=label_map))
        widths.append(interval.high - interval.low)

    assert widths[1] < widths[0]


def test_these_cases_know_what_is_flagged(expected):
    labels = replace(expected.design.unlabelled, target="these cases")
    these = expected.with_design(unlabelled=labels)

    flagged = trueness.at_threshold(these, 0.5)["flagged_rate"]
    recall = trueness.at_threshold(these, 0.5)["recall"]

    assert flagged.high - flagged.low < 1e-6
    assert recall.method.startswith("prediction")


def test_a_map_without_its_error_has_a_value_and_no_interval():
    reference = Tally([0.9, 0.1], neg=[10, 90], pos=[90, 10])
    today = Tally([0.9, 0.1], unknown=[50, 50])
    isotonic = trueness.calibrate(reference, method="isotonic")

    area = trueness.auc(today.with_design(unlabelled=isotonic))

    assert area.value == pytest.approx(0.9)
    assert math.isnan(area.low)
    assert "no interval" in repr(area)

    band = trueness.roc_band(today.with_design(unlabelled=isotonic), points=5)

    assert np.isnan(band.low).all()


def test_notes_say_what_is_assumed(expected):
    notes = " ".join(trueness.auc(expected).notes)

    assert "cannot be detected" in notes
    assert "The map was fitted on" in notes
    assert "The error of the map is" in notes


def test_cases_beyond_the_map_are_noted():
    reference = Tally([0.6, 0.4], neg=[10, 90], pos=[90, 10])
    today = Tally([0.9, 0.5], unknown=[7, 50])

    notes = trueness.auc(today, unlabelled=reference).notes

    assert any("7 of 57 unlabelled cases have scores outside" in note for note in notes)


@pytest.mark.parametrize("target", ["process", "these cases"])
def test_bands_hold_the_expected_curve(expected, target):
    labels = ExpectedLabels(expected.design.unlabelled.map, target)
    band = trueness.roc_band(expected.with_design(unlabelled=labels), replicates=200)

    assert (band.low <= band.tpr + 1e-12).all()
    assert (band.tpr <= band.high + 1e-12).all()
    assert (band.high - band.low).mean() < 0.6


def test_a_gate_is_the_interval_of_its_estimate(expected):
    area = trueness.auc(expected, level=0.9)

    below = trueness.check(expected, [f"auc >= {area.low - 0.01}"])
    inside = trueness.check(expected, [f"auc >= {area.value}"])

    assert below.verdicts[0].verdict == "holds"
    assert inside.verdicts[0].verdict == "cannot tell yet"


def test_the_best_threshold_is_that_of_expected_counts(expected):
    counts = expect_labels(expected).expected
    tp = np.cumsum(counts.pos)
    fp = np.cumsum(counts.neg)
    f1 = 2 * tp / (tp + fp + tp[-1])

    point = trueness.best_threshold(expected, maximize="f1")

    assert point.value == pytest.approx(f1.max(), rel=1e-6)


def test_evaluate_and_report_answer(expected, tmp_path):
    answer = trueness.evaluate(expected, at=0.5)

    score = answer.numbers["scores"]["the classifier"]

    assert score["auc"].value == trueness.auc(expected).value

    trueness.report(expected, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")

    assert f"{score['auc'].value:.3f}" in text


@pytest.mark.slow
def test_coverage_under_covariate_shift():
    # 95 % intervals of today's truth, from 1,000 reference cases with curved scores
    rng = np.random.default_rng(57)
    shift = 0.6
    grid = shift - ndtri((np.arange(100_000) + 0.5) / 100_000)
    population = Tally(
        curved_score(grid),
        pos=np.rint(1e6 * chance_of(grid)).astype(int),
        neg=np.rint(1e6 * (1 - chance_of(grid))).astype(int),
    )
    truth = {"auc": trueness.auc(population).value}
    truth["brier"] = trueness.brier(population).value
    at_cut = trueness.at_threshold(population, 0.5, metrics=NAMES).metrics
    truth |= {name: at_cut[name].value for name in NAMES}

    samples = 200
    held = dict.fromkeys(truth, 0)
    for _ in range(samples):
        label_map = trueness.calibrate(drawn(rng, 1000), method="pooled-bins")
        today = drawn(rng, 2000, shift).without_labels()
        today = today.with_design(unlabelled=label_map)
        answers = trueness.at_threshold(today, 0.5, metrics=NAMES).metrics
        answers = {**answers, "auc": trueness.auc(today)}
        answers["brier"] = trueness.brier(today)
        for name, value in truth.items():
            held[name] += answers[name].low <= value <= answers[name].high

    # 3 standard errors of a proportion of 200 below .95
    assert min(held.values()) / samples > 0.95 - 3 * math.sqrt(0.95 * 0.05 / samples)
