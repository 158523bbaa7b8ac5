"""Weighted cases: sums of weights and of their squares, added like counts."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

import trueness
from trueness._core.checks.errors import InputError, NotEnoughCases, UnsupportedDesign
from trueness.counts.design import CANNOT


def slow_twin(labels, scores, weights):
    """Add up fractions in a dict: score -> label -> (sum, sum of squares)."""
    found = defaultdict(lambda: [[Fraction(0)] * 2 for _ in range(3)])
    for y, s, w in zip(labels, scores, weights, strict=True):
        cell = found[float(s)][2 if y is None else int(y)]
        cell[0] += Fraction(w)
        cell[1] += Fraction(w) ** 2
    return {s: c for s, c in found.items() if any(x[0] for x in c)}


def sample(n, seed=0, digits=1, unknown=0.1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n).astype(object)
    y[rng.random(n) < unknown] = None
    weight = np.where(rng.random(n) < 0.1, 0.0, rng.exponential(size=n))
    return list(y), np.round(rng.normal(size=n), digits), weight


@pytest.mark.parametrize("digits", [1, 12])
def test_slow_twin(digits):
    y, s, w = sample(400, digits=digits)
    t = trueness.tally(y, s, weight=w)
    truth = slow_twin(y, s, w)

    assert t.weighted
    assert t.score.tolist() == sorted(truth, reverse=True)

    for k, column in enumerate((t.neg, t.pos, t.unknown)):
        want = [float(truth[v][k][0]) for v in t.score]
        np.testing.assert_allclose(column, want, rtol=1e-14)
        want = [float(truth[v][k][1]) for v in t.score]
        np.testing.assert_allclose(t.squares[k], want, rtol=1e-14)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("distinct", [50, 10**7])
def test_large_arrays_take_the_fast_ways(kind, distinct):
    """Hashed, and sorted by keys that hold the place, beside a plain argsort."""
    rng = np.random.default_rng(1)
    n = 200_000
    score = (rng.integers(0, distinct, n) / distinct - 0.3).astype(kind)
    label = rng.integers(0, 2, n)
    weight = rng.exponential(size=n)

    t = trueness.tally(label, score, weight=weight)

    value, row = np.unique(score.astype(np.float64), return_inverse=True)

    assert np.array_equal(t.score, value[::-1])

    for k, column in enumerate((t.neg, t.pos)):
        class_weight = weight * (label == k)
        sums = np.bincount(row, class_weight)[::-1]
        squares = np.bincount(row, class_weight**2)[::-1]
        np.testing.assert_allclose(column, sums, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(t.squares[k], squares, rtol=1e-12, atol=1e-15)


def test_weights_of_one_are_cases():
    y, s, _ = sample(100)
    assert trueness.tally(y, s, weight=np.ones(100)) == trueness.tally(y, s)
    scores = {"a": s, "b": -s}
    assert trueness.panel(y, scores, weight=[1] * 100) == trueness.panel(y, scores)


def test_more_cases_and_fewer():
    y, s, w = sample(300)
    whole = trueness.tally(y, s, weight=w)
    cuts = (slice(0, 100), slice(100, 180), slice(180, 300))
    parts = [trueness.tally(y[b], s[b], weight=w[b]) for b in cuts]
    merged = sum(parts)
    for a, b in zip(merged.counts, whole.counts, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    left = whole - parts[0]
    both = parts[1] + parts[2]

    assert np.array_equal(left.score, both.score)

    np.testing.assert_allclose(left.pos, both.pos, atol=1e-12)

    with pytest.raises(InputError, match="Is b the part"):
        parts[0] - whole


def test_a_case_weighs_one_beside_weights():
    counted = trueness.tally([0, 1], [0.1, 0.9])
    weighed = trueness.tally([1, 0], [0.9, 0.3], weight=[2.5, 0.5])
    both = counted + weighed

    assert both == trueness.tally([0, 1, 1, 0], [0.1, 0.9, 0.9, 0.3],
                                  weight=[1, 1, 2.5, 0.5])  # fmt: skip
    assert both.squares[1].tolist() == [7.25, 0, 0]


@pytest.fixture
def weighted_panel():
    """Two classifiers on 200 weighted cases, and the tally of the first."""
    y, s, w = sample(200)
    panel = trueness.panel(y, {"a": s, "b": np.round(s)}, weight=w)
    return panel, trueness.tally(y, s, weight=w)


def test_a_column_of_a_weighted_panel_is_its_tally(weighted_panel):
    panel, tally = weighted_panel

    column = panel["a"]

    for of_column, of_tally in zip(column.counts, tally.counts, strict=True):
        np.testing.assert_allclose(of_column, of_tally, rtol=1e-13)
    combined = panel.combine(lambda rows: rows[:, 0])

    assert combined.score.tolist() == tally.score.tolist()


def test_what_is_made_of_a_weighted_panel_is_weighted(weighted_panel):
    panel, tally = weighted_panel

    votes = panel.vote(0.0)

    assert votes.weighted
    assert votes.n == pytest.approx(tally.n)
    assert panel[["b", "a"]].complete_cases().weighted
    assert panel.without_labels().n_unknown == pytest.approx(tally.n)
    assert panel.labelled().n_unknown == 0


def test_a_weighted_panel_less_itself_is_itself(weighted_panel):
    panel, _ = weighted_panel

    assert (panel + panel) - panel == panel


def test_maps_and_bins_keep_weights(weighted_panel):
    _, tally = weighted_panel

    mapped = tally.map(lambda score: 2 * score)
    binned = tally.bin(10)

    assert mapped.squares[1].tolist() == tally.squares[1].tolist()
    assert binned.binned
    assert binned.n == pytest.approx(tally.n)


def test_count_times_weight():
    t = trueness.tally([1, 0], [0.9, 0.1], count=[3, 2], weight=[0.5, 2])
    assert (t.pos.tolist(), t.squares[1].tolist()) == ([1.5, 0], [0.75, 0])
    assert (t.neg.tolist(), t.squares[0].tolist()) == ([0, 4], [0, 8])


def test_repr_says_that_these_are_weights():
    t = trueness.tally([1, 0], [0.9, 0.1], weight=[1234.5, 2])
    assert "total weight of 1,236.5 (2 negative, 1,234.5 positive, 0 unknown)" in repr(
        t
    )
    assert "pos_squares" in t._repr_html_()


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1, -1], "zero or more; found -1"),
        ([1, np.nan], "finite numbers"),
        ([1, np.inf], "finite numbers"),
        (["a", "b"], "found text such as 'a'.* Convert the column to numbers first.$"),
        (np.array([1j, 2]), "must be numbers; found complex such as"),
        ([1, None], "finite numbers"),
        ([1, 2, 3], "one entry per case"),
        ([1e300, 1], "largest weight"),
        ([1e-300, 0], "largest weight"),
        ([1e100, 1], "largest weight"),
    ],
)
def test_bad_weights(weight, words):
    with pytest.raises(InputError, match=words):
        trueness.tally([0, 1], [0.1, 0.9], weight=weight)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.25, 2.5, 0], "0 positives among 3.75 labelled .* have all positives we"),
        ([0, 0, 2.5], "0 negatives among 2.5 labelled .* have all negatives we"),
        ([0, 0, 0], "among 0 labelled cases. All cases have weight 0"),
    ],
)
def test_a_class_of_weight_zero_is_named(weight, words):
    t = trueness.tally([0, 0, 1], [0.1, 0.2, 0.9], weight=weight)
    with pytest.raises(NotEnoughCases, match=words):
        trueness.auc(t)


def analyses():
    """Everything public that takes counts: which of it takes weights?"""
    for name in trueness.__all__:
        f = getattr(trueness, name)
        if hasattr(f, "takes"):
            yield pytest.param(f, id=name)


# a refusal says why, and what to type instead
REFUSED = r"does not take weights\. [A-Z].+\. Leave the weights out"
OF_VOTES = ("latent_class", "plan_labels", "prevalence")
OF_GROUPS = ("across_sites", "compare_groups", "group_thresholds", "summary_roc")
# analyses that the shell calls otherwise have a name that holds for both
SUBJECTS = {
    "best_thresholds": "A pair of thresholds",
    "calibration_gain": "Cross-fitting",
    "group_thresholds": "A threshold for each group",
    "guaranteed_threshold": "A guarantee",
    "latent_class": "A latent class model",
    "validate_threshold": "A validation",
}
# what these need beside counts
WORDS = {
    "confusion": {"threshold": 0.5},
    "at_threshold": {"threshold": 0.5},
    "partial_auc": {"fpr": (0, 0.5)},
    "best_threshold": {"maximize": "f1"},
    "validate_threshold": {"maximize": "f1", "replicates": 50},
    "best_thresholds": {"maximize": "f1"},
    "group_thresholds": {"subject_to": "recall_gap <= 0.2"},
    "guaranteed_threshold": {"subject_to": "recall >= 0.2"},
    "pareto": {"metrics": ["recall", "precision"]},
    "compare_metric": {"metric": "recall", "thresholds": 0.5},
    "compare": {"statistic": trueness.auc},
    "compare_groups": {"statistic": trueness.auc},
    "estimate": {"statistic": trueness.auc},
    "across_sites": {"measure": trueness.auc},
    "summary_roc": {"threshold": 0.5},
    "check": {"requirements": "auc >= 0.1"},
    "tipping_point": {"requirement": "auc >= 0.1"},
    "prevalence": {"labelled": "random"},
    "plan_labels": {"half_width": 0.2},
    "indeterminate_results": {"threshold": trueness.Rule(0.6, lower=0.4)},
    "declare": {"private": 1},  # bins hide clusters and exact scores
}
DESIGNS = {
    "weight": lambda n: {"weight": np.random.default_rng(0).exponential(size=n)},
    "cluster": lambda n: {"cluster": np.arange(n) // 3},
    "sampling": lambda n: {"sampling": "case-control", "prevalence": 0.3},
    "prevalence": lambda n: {"prevalence": 0.3},
    "unlabelled": lambda n: {"unlabelled": "missing at random"},
}


@pytest.mark.filterwarnings("ignore::trueness.DoubtfulAssumptionWarning")
@pytest.mark.parametrize("word", DESIGNS)
@pytest.mark.parametrize("analysis", list(analyses()))
def test_an_analysis_takes_a_design_or_says_that_it_does_not(analysis, word):
    """No analysis may take a weight for a number of cases, or a cluster for many."""
    y, s, _ = sample(90, digits=2, unknown=0.1 if word == "unlabelled" else 0)
    s = 1 / (1 + np.exp(-s))
    design = DESIGNS[word](90)
    panel = trueness.panel(y, {"a": s, "b": np.sqrt(s), "c": np.round(s)}, **design)
    name = analysis.__name__
    if name in OF_VOTES:
        panel = panel.vote(0.5)
    elif name != "agreement":
        panel = panel[["a", "b"]]

    x = panel if analysis.takes == "panel" else panel["a"]
    if name in OF_GROUPS:
        x = dict(zip("xy", (panel["a"], panel["b"]), strict=True))
    words = WORDS.get(name, {})
    if not set(CANNOT.get(name, {})) & set(design):
        assert analysis(x, **words) is not None
        return

    sentence = rf"^{SUBJECTS.get(name, name)} does not take .+\. Leave"

    with pytest.raises(UnsupportedDesign, match=sentence) as refused:
        analysis(x, **words)
    assert refused.value.option in design


def test_words_of_other_libraries():
    t = trueness.tally([0, 1], [0.1, 0.9], weight=[1, 2])

    with pytest.raises(InputError, match=REFUSED):
        trueness.fermi_dirac([0, 1], [0.1, 0.9], sample_weight=[1, 2])
    with pytest.raises(InputError, match=REFUSED):
        trueness.watch("auc >= 0.7", baseline=t)
    with pytest.raises(InputError, match="which mean the same"):
        trueness.auc([0, 1], [0.1, 0.9], sample_weight=[1, 2], weight=[1, 2])
    assert trueness.brier(t.bin(1)).bounds[0] > 0


@pytest.mark.parametrize("digits", [None, 1])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.float32])
def test_weights_of_any_type_are_added_up_as_floats(kind, digits, rng):
    y = rng.integers(0, 2, 500)
    score = rng.normal(size=500)
    if digits is not None:
        score = np.round(score, digits)
    weight = rng.integers(0, 120, 500).astype(kind)  # squares are beyond 8 bits

    tally = trueness.tally(y, score, weight=weight)

    assert tally == trueness.tally(y, score, weight=weight.astype(float))
    assert tally.squares[1].sum() == np.sum((weight * y).astype(float) ** 2)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.float32])
def test_weights_of_any_type_are_floats_in_panels_and_without_labels(kind, rng):
    y = rng.integers(0, 2, 500)
    score = rng.normal(size=500)
    scores = {"a": score, "b": -score}
    weight = rng.integers(0, 120, 500).astype(kind)

    panel = trueness.panel(y, scores, weight=weight)
    unlabelled = trueness.tally(None, score, weight=weight)

    assert panel == trueness.panel(y, scores, weight=weight.astype(float))
    assert unlabelled.unknown.sum() == weight.astype(float).sum()
