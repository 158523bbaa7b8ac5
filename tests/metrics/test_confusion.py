"""Confusion, sweep and metrics against hand counts and brute force."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import trueness
from trueness import Confusion, InputError, Tally
from trueness.metrics.algebra import quotient
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
        assert m.question.endswith(("?", ")"))
        assert m.direction in ("higher", "lower", "none")
        assert m.shape != "unknown"
        assert m.title
        assert getattr(trueness, name) is m
        for alias in m.aliases:
            assert trueness.metric(alias) is m
            assert SYNONYMS[alias] == name

    assert not set(SYNONYMS) & (set(METRICS) | set(METRIC_FAMILIES))
    assert set(SYNONYMS.values()) <= set(METRICS) | set(METRIC_FAMILIES)
    assert trueness.recall.is_proportion
    assert not any(
        m.is_proportion for m in (trueness.f1, trueness.flagged, trueness.mcc)
    )


def test_floats_and_whole_numbers_come_from_one_formula(rng):
    for c in rng.integers(1, 50, (50, 4)).tolist():
        for m in METRICS.values():
            value = quotient(m, c, 1)
            value = float(Fraction(int(value[0]), int(value[1])))
            value = np.copysign(abs(value) ** 0.5, value) if m.root else value
            assert float(m(Confusion(*c))) == pytest.approx(value, rel=1e-14)

    big = 3_000_000_000  # products of four do not overflow

    assert trueness.mcc(Confusion(big, big, big, big)) == 0
    assert trueness.kappa(Confusion(big, big, big, big)) == 0
    assert trueness.youden(Confusion(big, 0, 0, big)) == 1


@pytest.mark.parametrize(
    "metric",
    [*METRICS.values(), trueness.f_beta(3), trueness.net_benefit(0.4)],
    ids=str,
)
def test_values_stay_in_their_range(metric, rng):
    values = metric(Confusion(*rng.integers(0, 6, (4, 2000))))

    low, high = metric.range
    defined = values[~np.isnan(values)]
    assert defined.min() >= low - 1e-12
    assert defined.max() <= high + 1e-12


def test_undefined_ratios_are_nan_and_silent():
    nothing_flagged = Confusion(0, 0, 3, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("precision", "mcc", "markedness", "lift", "lr_positive"):
            assert np.isnan(trueness.metric(name)(nothing_flagged)), name
        assert np.isnan(trueness.recall(Confusion(0, 1, 0, 2)))
        assert trueness.lr_positive(Confusion(2, 0, 1, 3)) == np.inf
        assert np.isnan(trueness.kappa(Confusion(5, 0, 0, 0)))


def test_sweep_equals_brute_force(rng):
    labels = rng.integers(0, 2, 60)
    score = rng.integers(0, 9, 60) / 4
    tally = trueness.tally(labels, score)

    sweep = trueness.sweep(tally)

    cuts = [np.inf, *sorted(set(score), reverse=True)]

    assert sweep.tp.tolist() == [(labels[score >= cut] == 1).sum() for cut in cuts]
    assert sweep.fp.tolist() == [(labels[score >= cut] == 0).sum() for cut in cuts]
    assert (sweep.tp + sweep.fn == tally.n_pos).all()
    assert (sweep.fp + sweep.tn == tally.n_neg).all()


def test_thresholds_are_the_scores_of_labelled_cases():
    tally = Tally([2, 1], pos=[1, 0], neg=[0, 1])
    with_unknown = tally + trueness.tally(None, [7.0, 0.1])

    assert trueness.thresholds(tally).tolist() == [np.inf, 2, 1]
    assert trueness.thresholds(with_unknown).tolist() == [np.inf, 2, 1]


def test_no_cases_have_one_cut():
    assert trueness.sweep(Tally()).tp.tolist() == [0]


def test_long_sweeps_are_walked_in_blocks(rng):
    c = trueness.sweep(rng.integers(0, 2, 40_000), rng.random(40_000))
    for name in ("accuracy", "f1", "mcc", "recall - 2*fpr"):
        m = trueness.metric(name)
        with np.errstate(invalid="ignore", divide="ignore"):
            halves = np.concatenate([m(c[:9999]), m(c[9999:])])
            assert np.array_equal(m(c), halves, equal_nan=True)


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
    ("make", "message"),
    [
        (lambda: Confusion("a", 1, 1, 1), "tp must be counts"),
        (lambda: trueness.f_beta(0), "beta must be above zero; found 0"),
        (lambda: trueness.f_beta("2"), "beta must be one finite number; found '2'"),
        (lambda: trueness.cost(fp=-1, fn=1), "costs of zero or more"),
        (lambda: trueness.cost(fp=0, fn=0), "one of them above zero"),
        (lambda: trueness.net_benefit(-1), "odds must be zero or more"),
    ],
)
def test_wrong_metrics(make, message):
    with pytest.raises(InputError, match=message):
        make()
