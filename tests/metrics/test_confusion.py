"""Confusion, sweep and metrics against hand counts, brute force and scikit-learn."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn import metrics as sk

import trueness
from trueness import Confusion, InputError, Tally
from trueness.metrics.definitions import METRIC_FAMILIES, METRICS, SYNONYMS

HAND = Confusion(tp=3, fp=1, fn=2, tn=4)
EXPECTED = {
    "accuracy": 7 / 10,
    "balanced_accuracy": (3 / 5 + 4 / 5) / 2,
    "recall": 3 / 5,
    "specificity": 4 / 5,
    "fpr": 1 / 5,
    "fnr": 2 / 5,
    "precision": 3 / 4,
    "npv": 4 / 6,
    "f1": 2 * 3 / (2 * 3 + 1 + 2),
    "youden": 3 / 5 + 4 / 5 - 1,
    "mcc": (3 * 4 - 1 * 2) / np.sqrt(5 * 5 * 4 * 6),
    "kappa": (7 / 10 - (5 * 4 + 5 * 6) / 100) / (1 - (5 * 4 + 5 * 6) / 100),
    "g_mean": np.sqrt(3 / 5 * 4 / 5),
    "jaccard": 3 / 6,
    "markedness": 3 / 4 + 4 / 6 - 1,
    "lift": (3 / 4) / (5 / 10),
    "lr_positive": (3 / 5) / (1 / 5),
    "lr_negative": (2 / 5) / (4 / 5),
    "diagnostic_odds_ratio": (3 * 4) / (1 * 2),
    "flagged": 4,
    "flagged_rate": 4 / 10,
    "f_beta(2)": 5 * 3 / (5 * 3 + 4 * 2 + 1),
    "cost(fp=1, fn=5)": 1 * 1 + 5 * 2,
    "cost_rate(fp=1, fn=5)": (1 * 1 + 5 * 2) / (1 * 5 + 5 * 5),
    "net_benefit(0.25)": (3 - 0.25 * 1) / 10,
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_metric_by_hand(name):
    assert trueness.metric(name)(HAND) == pytest.approx(EXPECTED[name], abs=1e-15)


def test_the_table_of_metrics_is_complete():
    assert set(METRICS) | set(METRIC_FAMILIES) == {n.split("(")[0] for n in EXPECTED}
    for name, m in METRICS.items():
        assert m.name == name
        assert m.question.endswith((".", "?", ")"))
        assert m.direction in ("higher", "lower", "none")
        assert getattr(trueness, name) is m
        assert name in trueness.__all__
    assert not set(SYNONYMS) & (set(METRICS) | set(METRIC_FAMILIES))
    assert set(SYNONYMS.values()) <= set(METRICS) | set(METRIC_FAMILIES)


SKLEARN = {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "recall": sk.recall_score,
    "precision": sk.precision_score,
    "f1": sk.f1_score,
    "f_beta(0.5)": lambda y, p: sk.fbeta_score(y, p, beta=0.5),
    "mcc": sk.matthews_corrcoef,
    "kappa": sk.cohen_kappa_score,
    "jaccard": sk.jaccard_score,
    "lr_positive": lambda y, p: sk.class_likelihood_ratios(y, p)[0],
    "lr_negative": lambda y, p: sk.class_likelihood_ratios(y, p)[1],
}


def test_metrics_agree_with_scikit_learn(rng):
    for _ in range(20):
        y, p = rng.integers(0, 2, (2, 40))
        tn, fp, fn, tp = sk.confusion_matrix(y, p).ravel()
        for name, reference in SKLEARN.items():
            ours = trueness.metric(name)(Confusion(tp, fp, fn, tn))
            assert ours == pytest.approx(reference(y, p), abs=1e-12), name


def test_values_stay_in_their_range(rng):
    c = Confusion(*rng.integers(0, 6, (4, 2000)))
    for m in [*METRICS.values(), trueness.f_beta(3), trueness.net_benefit(0.4)]:
        value = m(c)
        value = value[~np.isnan(value)]
        assert value.min() >= m.range[0] - 1e-12
        assert value.max() <= m.range[1] + 1e-12


def test_the_ratio_of_a_metric_is_its_value(rng):
    c = rng.integers(1, 9, 4)
    for m in METRICS.values():
        if m.ratio is None:
            continue
        over = sum(Fraction(w) * int(n) for w, n in zip(m.ratio.over, c, strict=True))
        if m.ratio.under is not None:
            over /= sum(
                Fraction(w) * int(n) for w, n in zip(m.ratio.under, c, strict=True)
            )
        assert m(Confusion(*c)) == float(over)


def test_undefined_ratios_are_nan_and_silent():
    nothing_flagged = Confusion(0, 0, 3, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("precision", "mcc", "markedness", "lift", "lr_positive"):
            assert np.isnan(trueness.metric(name)(nothing_flagged)), name
        assert np.isnan(trueness.recall(Confusion(0, 1, 0, 2)))
        assert trueness.lr_positive(Confusion(2, 0, 1, 3)) == np.inf
        assert np.isnan(trueness.kappa(Confusion(5, 0, 0, 0)))


def test_huge_counts_do_not_overflow():
    big = 3_000_000_000
    c = Confusion(big, big, big, big)
    assert trueness.mcc(c) == 0
    assert trueness.kappa(c) == 0
    assert trueness.youden(Confusion(big, 0, 0, big)) == 1


def brute_sweep(y, score):
    for t in [np.inf, *sorted(set(score), reverse=True)]:
        p = np.asarray(score) >= t
        y = np.asarray(y)
        yield ((p & (y == 1)).sum(), (p & (y == 0)).sum()), t


def test_sweep_equals_brute_force(rng):
    y, s = rng.integers(0, 2, 60), rng.integers(0, 9, 60) / 4
    t = trueness.tally(y, s)
    c = trueness.sweep(t)
    expected = list(brute_sweep(y, s))
    assert list(zip(c.tp, c.fp, strict=True)) == [e[0] for e in expected]
    assert trueness.thresholds(t).tolist() == [e[1] for e in expected]
    assert (c.tp + c.fn == t.n_pos).all()
    assert (c.fp + c.tn == t.n_neg).all()
    with_unknown = t + trueness.tally(None, [7.0, 0.1])
    assert trueness.thresholds(with_unknown).tolist() == [e[1] for e in expected]


def test_long_sweeps_are_walked_in_blocks(rng):
    t = trueness.tally(rng.integers(0, 2, 40_000), rng.random(40_000))
    c = trueness.sweep(t)
    for m in (
        trueness.accuracy,
        trueness.f1,
        trueness.mcc,
        trueness.recall - 2 * trueness.fpr,
    ):
        with np.errstate(invalid="ignore", divide="ignore"):
            assert np.array_equal(m(c), m.function(c), equal_nan=True)
    assert trueness.sweep(Tally()).tp.tolist() == [0]


def test_at_another_prevalence():
    moved = HAND.at_prevalence(0.1)
    assert trueness.recall(moved) == pytest.approx(3 / 5)
    assert trueness.specificity(moved) == pytest.approx(4 / 5)
    # Bayes: 0.1 * 0.6 / (0.1 * 0.6 + 0.9 * 0.2)
    assert trueness.precision(moved) == pytest.approx(0.06 / 0.24)
    assert trueness.accuracy(moved) == pytest.approx(0.1 * 0.6 + 0.9 * 0.8)
    with pytest.raises(
        InputError, match=r"prevalence must lie in.*Type prevalence=0.2"
    ):
        HAND.at_prevalence(20)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Confusion("a", 1, 1, 1), "tp must be counts"),
        (lambda: trueness.f_beta(0), "beta must be above zero; found 0"),
        (lambda: trueness.f_beta("2"), "beta must be one finite number; found '2'"),
        (lambda: trueness.cost(fp=-1, fn=1), "costs of zero or more"),
        (lambda: trueness.cost(fp=0, fn=0), "one of them above zero"),
        (lambda: trueness.net_benefit(-1), "odds must be zero or more"),
    ],
)
def test_wrong_metrics(make, words):
    with pytest.raises(InputError, match=words):
        make()
