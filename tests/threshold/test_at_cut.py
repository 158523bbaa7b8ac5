"""Metrics at a threshold that was chosen beforehand."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk

import trueness
from trueness import InputError, Tally
from trueness.metrics.definitions import METRICS
from trueness.records import Confusion

RNG = np.random.default_rng(5)
Y = (RNG.random(200) < 0.3).astype(int)
S = np.round(1 / (1 + np.exp(-RNG.normal(2 * Y - 1, 1))), 2)


def test_metrics_at_a_threshold_by_hand():
    label = [1, 1, 1, 0, 0, 0]
    score = [0.9, 0.5, 0.2, 0.6, 0.5, 0.1]

    answer = trueness.at_threshold(label, score, 0.5)

    assert trueness.confusion(label, score, 0.5).cells == (2, 2, 1, 1)
    assert answer["recall"].value == 2 / 3
    assert answer["ppv"].value == 2 / 4
    assert answer["youden"].value == pytest.approx(2 / 3 - 2 / 3)
    assert "2 true and 2 false positives" in repr(answer)


def test_metrics_at_a_threshold_are_a_mapping():
    answer = trueness.at_threshold(Y, S, 0.5)

    assert "recall" in answer
    assert list(answer) == list(answer.metrics)
    assert answer["sensitivity"] is answer["recall"]


def test_infinite_thresholds_flag_everything_and_nothing():
    everything = trueness.confusion(Y, S, -np.inf)
    nothing = trueness.confusion(Y, S, np.inf)

    assert (everything.tp, everything.fp) == (Y.sum(), 200 - Y.sum())
    assert (nothing.tp, nothing.fp) == (0, 0)


@pytest.mark.parametrize(
    ("name", "name_of_scikit_learn"),
    [
        ("accuracy", "accuracy_score"),
        ("recall", "recall_score"),
        ("precision", "precision_score"),
        ("f1", "f1_score"),
        ("mcc", "matthews_corrcoef"),
        ("kappa", "cohen_kappa_score"),
        ("jaccard", "jaccard_score"),
        ("balanced_accuracy", "balanced_accuracy_score"),
    ],
)
def test_values_are_those_of_scikit_learn(name, name_of_scikit_learn):
    verdict = (S >= 0.4).astype(int)
    metric = getattr(trueness, name)

    estimate = metric(Y, S, threshold=0.4)

    expected = getattr(sk, name_of_scikit_learn)(Y, verdict)
    assert estimate.value == pytest.approx(expected, abs=1e-15)
    assert metric(Y, verdict).value == pytest.approx(expected, abs=1e-15)
    assert metric(Y, verdict) == metric(Y, verdict.astype(bool))


@pytest.mark.parametrize("name", ["accuracy", "recall", "f1", "mcc"])
def test_a_metric_is_one_answer_of_at_threshold(name):
    tally = trueness.tally(Y, S)

    estimate = getattr(trueness, name)(tally, threshold=0.4)

    assert estimate == trueness.at_threshold(tally, 0.4)[name]


@pytest.mark.parametrize(
    ("tp", "fp", "fn", "tn"),
    [(5, 0, 0, 5), (0, 0, 3, 4), (0, 5, 5, 0), (1, 0, 0, 0), (9, 4, 2, 7)],
)
def test_every_interval_holds_its_value_within_the_range(tp, fp, fn, tn):
    tally = Tally([1, 0], pos=[tp, fn], neg=[fp, tn])

    answer = trueness.at_threshold(tally, 1)

    for name, estimate in answer.metrics.items():
        if np.isnan(estimate.value):
            # one note says why
            reasons = [n for n in answer.notes if f"{name}," in n or f"{name}:" in n]
            assert len(reasons) == 1
            continue

        low, high = METRICS[name].range
        assert low <= estimate.low <= estimate.value <= estimate.high <= high, name
        assert estimate.low < estimate.high, name


def test_names_as_they_were_typed():
    result = trueness.at_threshold(Y, S, 0.4, metrics=["PPV", "sensitivity", "f1"])

    assert list(result.metrics) == ["PPV", "sensitivity", "f1"]
    assert repr(result.metrics["sensitivity"]).startswith("sensitivity 0.")
    assert trueness.sensitivity(Y, S, threshold=0.4).name == "sensitivity"
    assert trueness.ppv(Y, S, threshold=0.4).value == result["precision"].value
    assert not hasattr(trueness, "sensitivty")


def test_several_thresholds_and_tables():
    result = trueness.at_threshold(Y, S, [0.2, 0.6])

    assert list(result) == [0.2, 0.6]

    table = trueness.at_threshold(Y, S, 0.4).to_frame()

    assert list(table) == ["metric", "value", "low", "high", "level", "method", "group"]
    assert isinstance(table, pd.DataFrame)
    assert table["value"].dtype == float
    assert len(table) == len(METRICS)


def test_prevalence_and_sampling():
    point = trueness.at_threshold(Y, S, 0.4, prevalence=0.01)
    recall, fpr = point["recall"].value, point["fpr"].value
    expected = 0.01 * recall / (0.01 * recall + 0.99 * fpr)

    assert point["precision"].value == pytest.approx(expected)
    assert point["precision"].low < expected < point["precision"].high

    design = trueness.at_threshold(Y, S, 0.4, sampling="case-control")

    assert "precision" not in design.metrics
    assert "recall" in design.metrics
    assert "State the prevalence to get them" in design.notes[0]


AT_A_CUT = {
    "at_threshold": lambda t: trueness.at_threshold(t, 0.5),
    "best_threshold": lambda t: trueness.best_threshold(t, "f1"),
    "range": lambda t: trueness.best_threshold(t, "f1", prevalences=(0.2, 0.4)),
    "best_thresholds": lambda t: trueness.best_thresholds(
        t, minimize="cost(fp=1, fn=5, defer=0.3)"
    ),
    "guaranteed_threshold": lambda t: trueness.guaranteed_threshold(t, "recall >= 0.5"),
    "validate_threshold": lambda t: (
        trueness.validate_threshold(t, replicates=20).choice
    ),
}


def cases_with_unlabelled(unknown):
    return Tally(
        [0.9, 0.6, 0.4, 0.1],
        pos=[60, 40, 15, 5],
        neg=[5, 15, 40, 60],
        unknown=unknown,
    )


@pytest.mark.parametrize("name", AT_A_CUT)
def test_labels_of_high_scores_only_are_warned_of(name):
    tally = cases_with_unlabelled([0, 10, 60, 90])

    with pytest.warns(
        trueness.DoubtfulAssumptionWarning, match="although their scores"
    ) as caught:
        answer = AT_A_CUT[name](tally)

    (warning,) = caught

    assert warning.filename == __file__

    (note,) = [n for n in answer.notes if n.startswith("160 of 400 cases have no")]

    assert "'missing at random'" in note


@pytest.mark.parametrize("name", AT_A_CUT)
def test_labels_by_lot_are_said_not_to_differ(name):
    answer = AT_A_CUT[name](cases_with_unlabelled([33, 28, 27, 33]))

    assert any("do not differ significantly" in note for note in answer.notes)


@pytest.mark.parametrize("name", AT_A_CUT)
def test_of_labelled_cases_nothing_is_said_on_labels(name):
    answer = AT_A_CUT[name](cases_with_unlabelled([0, 0, 0, 0]))

    assert not any("label" in note for note in answer.notes)


def _partly_labelled(n=900):
    rng = np.random.default_rng(11)
    y = (rng.random(n) < 0.4).astype(float)
    s = np.minimum(np.floor(4 * (rng.random(n) + 0.4 * y)) / 4, 1.0)
    seen = rng.random(n) < np.where(s > 0.6, 0.9, 0.3)
    return np.where(seen, y, np.nan), s


def test_metrics_take_labels_missing_at_random():
    label, score = _partly_labelled()
    options = {"threshold": 0.7, "unlabelled": "missing at random"}

    recall = trueness.recall(label, score, **options)

    answer = trueness.at_threshold(label, score, **options)
    assert recall.value == answer["recall"].value
    assert "missing at random" in recall.notes[0]


def test_the_best_threshold_takes_labels_missing_at_random():
    label, score = _partly_labelled()

    point = trueness.best_threshold(
        label, score, maximize="f1", unlabelled="missing at random"
    )

    f1_at_each_score = [
        trueness.f1(
            label, score, threshold=threshold, unlabelled="missing at random"
        ).value
        for threshold in np.unique(score)
    ]
    assert point.value == pytest.approx(max(f1_at_each_score))
    assert point.metrics["f1"].value == pytest.approx(point.value)


def test_labels_missing_at_random_are_begg_and_greenes_on_counts():
    label, score = _partly_labelled()

    answer = trueness.at_threshold(
        label, score, threshold=0.7, unlabelled="missing at random"
    )

    # of all cases with a score, as many are positive as of the labelled ones
    flagged = np.zeros(2)
    not_flagged = np.zeros(2)
    for value in np.unique(score):
        has_score = score == value
        rate = np.nanmean(label[has_score])
        cells = flagged if value >= 0.7 else not_flagged
        cells += has_score.sum() * np.array([rate, 1 - rate])
    confusion = Confusion(*flagged, *not_flagged)
    for name, estimate in answer.metrics.items():
        assert estimate.value == pytest.approx(float(METRICS[name](confusion)))
        assert estimate.low < estimate.value < estimate.high


def test_labels_missing_at_random_at_the_ends_and_refused():
    labels, scores = _partly_labelled()
    options = {"unlabelled": "missing at random"}
    nothing = trueness.at_threshold(labels, scores, 9, **options)

    assert nothing["recall"].value == 0 < nothing["recall"].high < 0.2
    assert np.isnan(nothing["precision"].value)

    several = trueness.recall(labels, scores, threshold=[0.5, 0.7], **options)

    assert several[0.5] >= several[0.7]
    with pytest.raises(InputError, match="whose label is known"):
        trueness.validate_threshold(labels, scores, **options)

    one = trueness.recall(labels, scores, threshold=0.5, **options)
    same = trueness.recall(
        labels, scores, threshold=0.5, cluster=np.arange(900), **options
    )

    assert (one.low, one.high) == (same.low, same.high)
