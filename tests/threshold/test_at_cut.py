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


def test_by_hand():
    y, s = [1, 1, 1, 0, 0, 0], [0.9, 0.5, 0.2, 0.6, 0.5, 0.1]

    assert trueness.confusion(y, s, 0.5).cells == (2, 2, 1, 1)

    found = trueness.at_threshold(y, s, 0.5)

    assert found["recall"].value == 2 / 3
    assert found["sensitivity"] is found["recall"]
    assert "recall" in found
    assert list(found) == list(found.metrics)
    assert found["ppv"].value == 2 / 4
    assert found["youden"].value == pytest.approx(2 / 3 - 2 / 3)
    assert "2 true and 2 false positives" in repr(found)

    all_, none = trueness.confusion(Y, S, -np.inf), trueness.confusion(Y, S, np.inf)

    assert (all_.tp, all_.fp) == (Y.sum(), 200 - Y.sum())
    assert (none.tp, none.fp) == (0, 0)


@pytest.mark.parametrize(
    "ours", ["accuracy", "recall", "precision", "f1", "mcc", "kappa", "jaccard",
             "balanced_accuracy"]
)  # fmt: skip
def test_against_scikit_learn(ours):
    theirs = {"mcc": "matthews_corrcoef", "kappa": "cohen_kappa_score"}
    verdict = (S >= 0.4).astype(int)
    expected = getattr(sk, theirs.get(ours, f"{ours}_score"))(Y, verdict)
    metric = getattr(trueness, ours)

    assert metric(Y, S, threshold=0.4).value == pytest.approx(expected, abs=1e-15)
    assert metric(Y, verdict) == metric(Y, verdict.astype(bool))
    assert metric(Y, verdict).value == pytest.approx(expected, abs=1e-15)

    t = trueness.tally(Y, S)

    assert trueness.at_threshold(t, 0.4)[ours] == metric(t, threshold=0.4)


def test_every_interval_holds_its_value_within_the_range():
    tables = [5, 0, 0, 5], [0, 0, 3, 4], [0, 5, 5, 0], [1, 0, 0, 0], [9, 4, 2, 7]
    for tp, fp, fn, tn in tables:
        found = trueness.at_threshold(Tally([1, 0], pos=[tp, fn], neg=[fp, tn]), 1)
        for name, e in found.metrics.items():
            if np.isnan(e.value):  # one note says why
                assert sum(f"{name}," in n or f"{name}:" in n for n in found.notes) == 1
                continue
            low, high = METRICS[name].range
            assert low <= e.low <= e.value <= e.high <= high, (name, tp, fp, fn, tn)
            assert e.low < e.high, (name, tp, fp, fn, tn)


def test_names_as_they_were_typed():
    found = trueness.at_threshold(Y, S, 0.4, metrics=["PPV", "sensitivity", "f1"])

    assert list(found.metrics) == ["PPV", "sensitivity", "f1"]
    assert repr(found.metrics["sensitivity"]).startswith("sensitivity 0.")
    assert trueness.sensitivity(Y, S, threshold=0.4).name == "sensitivity"
    assert trueness.ppv(Y, S, threshold=0.4).value == found["precision"].value
    assert not hasattr(trueness, "sensitivty")


def test_several_thresholds_and_tables():
    found = trueness.at_threshold(Y, S, [0.2, 0.6])

    assert list(found) == [0.2, 0.6]

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


def test_labels_missing_at_random_are_begg_and_greenes_on_counts():
    y, s = _partly_labelled()
    cells = np.zeros(4)  # tp, fp, fn, tn: each score shares its labels out
    for v in np.unique(s):
        at = s == v
        share = np.nanmean(y[at])
        first = 0 if v >= 0.7 else 2
        cells[first : first + 2] += at.sum() * np.array([share, 1 - share])

    words = {"threshold": 0.7, "unlabelled": "missing at random"}
    found = trueness.at_threshold(y, s, **words)
    for name, e in found.metrics.items():
        assert e.value == pytest.approx(float(METRICS[name](Confusion(*cells))))
        assert e.low < e.value < e.high

    assert trueness.recall(y, s, **words).value == found["recall"].value
    assert "missing at random" in trueness.specificity(y, s, **words).notes[0]

    best = trueness.best_threshold(y, s, maximize="f1", unlabelled="missing at random")
    tried = [
        trueness.f1(y, s, threshold=v, unlabelled="missing at random").value
        for v in np.unique(s)
    ]

    assert best.value == pytest.approx(max(tried))
    assert best.metrics["f1"].value == pytest.approx(best.value)


def test_labels_missing_at_random_at_the_ends_and_refused():
    y, s = _partly_labelled()
    words = {"unlabelled": "missing at random"}
    nothing = trueness.at_threshold(y, s, 9, **words)

    assert nothing["recall"].value == 0 < nothing["recall"].high < 0.2
    assert np.isnan(nothing["precision"].value)

    several = trueness.recall(y, s, threshold=[0.5, 0.7], **words)

    assert several[0.5] >= several[0.7]
    with pytest.raises(InputError, match="whose label is known"):
        trueness.validate_threshold(y, s, **words)

    one = trueness.recall(y, s, threshold=0.5, **words)
    same = trueness.recall(y, s, threshold=0.5, cluster=np.arange(900), **words)

    assert (one.low, one.high) == (same.low, same.high)
