"""Hard cases: every answer is a sentence or sound numbers, and never a warning."""

import math
import warnings
from itertools import chain

import numpy as np
import pytest

import trueness
from trueness.counts.design import ARGUMENTS, CANNOT
from trueness.metrics.intervals import estimates

N = 60
RNG = np.random.default_rng(0)
Y = (RNG.random(N) < 0.4).astype(int)
S = np.round(RNG.normal(size=N) + Y, 1)
OTHER = np.round(S / 2 + RNG.normal(size=N), 1)
ONE = np.eye(N, dtype=int)[5]
SOME = [None if k % 3 == 0 else int(v) for k, v in enumerate(Y)]
AT_RANDOM = {"unlabelled": "missing at random"}
WEIGHT, FOURS = RNG.uniform(0.5, 2, N), np.arange(N) // 4

# labels, scores, words of the design
HARD = {
    "one positive": (ONE, S, {}),
    "one positive, clusters": (ONE, S, {"cluster": FOURS}),
    "two clusters": (Y, S, {"cluster": np.arange(N) % 2}),
    "one cluster": (Y, S, {"cluster": np.zeros(N, int)}),
    "all positives in one": (Y, S, {"cluster": np.where(Y, 0, np.arange(N) % 7 + 1)}),
    "positives together": (Y, S, {"cluster": np.where(Y, 0, np.arange(N) + 1)}),
    "tiny beside one": (Y, S, {"weight": np.where(np.arange(N) % 2, 1e-150, 1)}),
    "one heavy case": (Y, S, {"weight": np.where(np.arange(N) == 3, 1e12, 1)}),
    "tied": (Y, np.zeros(N), {}),
    "tied, clusters": (Y, np.zeros(N), {"cluster": FOURS}),
    "perfect": (Y, Y, {}),
    "perfect, clusters": (Y, Y, {"cluster": FOURS}),
    "reversed": (Y, 1 - Y, {}),
    "wrongly sure, clusters": (Y, np.arange(N) % 3 == 0, {"cluster": FOURS}),
    "rare": (Y, S, {"sampling": "case-control", "prevalence": 1e-6}),
    "rare, clusters": (Y, S, {"prevalence": 1e-6, "cluster": FOURS}),
    "case-control": (Y, S, {"sampling": "case-control"}),
    "only positives": (np.ones(N), S, {}),
    "only negatives": (np.zeros(N), S, {}),
    "two cases": ([0, 1], [0, 1], {}),
    "two cases, one cluster": ([0, 1], [0, 1], {"cluster": [1, 1]}),
    "unlabelled": (SOME, S, AT_RANDOM),
    "unlabelled, clusters": (SOME, S, {**AT_RANDOM, "cluster": FOURS}),
    "unlabelled, weights": (SOME, S, {**AT_RANDOM, "weight": WEIGHT}),
    "unlabelled, rare": (SOME, S, {**AT_RANDOM, "prevalence": 0.01}),
    "two labels": ([0, 1] + [None] * (N - 2), S, AT_RANDOM),
}


def mean_of_positives(t):
    return t.pos @ t.score / t.n_pos


def endless(call, x):
    return call(x, mean_of_positives, value_range=(-math.inf, math.inf))


ONE_SCORE = {
    "auc": trueness.auc,
    "bootstrap": lambda t: trueness.auc(t, method="bootstrap", replicates=100),
    "average precision": trueness.average_precision,
    "Brier score": trueness.brier,
    "log loss": trueness.log_loss,
    "partial area": lambda t: trueness.partial_auc(t, fpr=(0, 0.2)),
    "own": lambda t: endless(trueness.estimate, t),
    "own area": lambda t: trueness.estimate(t, lambda t: trueness.auc(t).value),
    "metrics": lambda t: estimates(t, 0.3),
}
SEVERAL = {
    "auc": trueness.compare_auc,
    "own": lambda p: endless(trueness.compare, p),
    **{
        name: lambda p, name=name: trueness.compare_metric(p, name, thresholds=0.3)
        for name in ("recall", "accuracy", "precision", "f1", "mcc", "lr_positive")
    },
}


def answers(call, x):
    """Give the estimates of an answer; none where it is refused in a sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", trueness.DoubtfulAssumptionWarning)
        try:
            result = call(x)
        except (trueness.InputError, trueness.NotEnoughCases) as refusal:
            sentence = str(refusal)
            return [] if sentence.endswith((".", "?", ")")) else [sentence]
    if isinstance(result, dict):
        return result.values()
    return (
        [p.difference for p in result.pairs] if hasattr(result, "pairs") else [result]
    )


def sound(e):
    """Are these limits that hold the value? A text is no sentence."""
    if isinstance(e, str):
        return False
    if not math.isfinite(e.value) and math.isnan(e.low):
        return math.isnan(e.high)
    return e.low <= e.value <= e.high


@pytest.mark.parametrize("case", HARD)
def test_one_classifier(case):
    label, score, options = HARD[case]
    tally = trueness.tally(label, np.asarray(score, float), **options)
    for name, call in ONE_SCORE.items():
        assert all(map(sound, answers(call, tally))), name


@pytest.mark.parametrize("case", HARD)
def test_several_classifiers(case):
    label, score, options = HARD[case]
    score = np.asarray(score, float)
    outputs = {"a": score, "b": OTHER[: score.size], "c": 2 * score}
    p = trueness.panel(label, outputs, **options)
    for name, call in SEVERAL.items():
        assert all(map(sound, answers(call, p))), name


WIDE = ("one positive", "one positive, clusters", "one cluster", "one heavy case",
        "all positives in one", "positives together")  # fmt: skip


@pytest.mark.parametrize("case", WIDE)
def test_what_one_case_or_cluster_decides_is_not_known(case):
    label, score, options = HARD[case]
    tally = trueness.tally(label, score, **options)
    a, recall = trueness.auc(tally), estimates(tally, 0.3)["recall"]

    # as wide as if the class had one case
    assert a.high - a.low > 0.7
    assert recall.high - recall.low > 0.7

    p = trueness.panel(label, {"a": score, "b": OTHER}, **options)
    pair = trueness.compare_auc(p).pairs[0]

    assert (pair.difference.low, pair.difference.high) == (-1, 1)
    assert pair.p_value == 1

    d = trueness.compare_metric(p, "recall", thresholds=0.3).pairs[0].difference

    assert d.high - d.low > 1
    assert a.notes


def test_negatives_in_one_cluster_do_not_free_the_positives_from_theirs():
    cluster = np.where(Y == 0, -1, np.cumsum(Y) // 5)
    estimate = estimates(trueness.tally(Y, S, cluster=cluster), 0.3)["recall"]
    free = estimates(trueness.tally(Y, S), 0.3)["recall"]

    assert estimate.high - estimate.low > 1.1 * (free.high - free.low)


@pytest.mark.parametrize(("clusters", "notes"), [(14, 1), (15, 0)])
def test_fewer_than_fifteen_clusters_are_mentioned(clusters, notes):
    rng = np.random.default_rng(0)
    label = np.tile([0, 1], 3 * clusters)
    cluster = np.repeat(np.arange(clusters), 6)

    estimate = trueness.brier(label, rng.random(label.size), cluster=cluster)

    assert len(estimate.notes) == notes


def test_few_clusters_of_one_class_are_mentioned():
    label, score, options = HARD["positives together"]
    note = trueness.auc(label, score, **options).notes[0]
    assert note.startswith("Only one cluster with positives")


def test_huge_counts():
    tally = trueness.Tally([2, 1, 0], pos=[10**15, 10**14, 0], neg=[10**12, 0, 10**15])
    for call in ONE_SCORE.values():
        for e in answers(call, tally):
            assert sound(e)
            assert not e.high - e.low > 1e-5 * max(1, abs(e.value))


def test_every_refusal_names_an_analysis_and_is_a_sentence():
    for name, reasons in CANNOT.items():
        rooms = (getattr(trueness, room).__all__ for room in trueness._ROOMS)
        public = {*trueness.__all__, *dir(trueness.plots), *chain(*rooms)}
        assert name in public, name
        assert {*reasons} <= {"weight", "cluster", *ARGUMENTS, "expected"}
        assert all(why[0].isupper() and why.endswith(".") for why in reasons.values())
