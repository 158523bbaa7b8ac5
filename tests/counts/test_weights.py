"""Weighted cases: sums of weights and of their squares, added like counts."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

import trueness
from trueness._core.checks.errors import InputError, NotEnoughCases, UnsupportedDesign
from trueness.counts.design import CANNOT


def sums_of_weights(labels, scores, weights):
    """Return {score: (sum, sum of squares) of negatives, positives, unknowns}."""
    sums_by_score = defaultdict(lambda: [[Fraction(0), Fraction(0)] for _ in range(3)])
    for label, score, weight in zip(labels, scores, weights, strict=True):
        column = 2 if label is None else int(label)
        sums = sums_by_score[float(score)][column]
        sums[0] += Fraction(weight)
        sums[1] += Fraction(weight) ** 2

    return {
        score: columns
        for score, columns in sums_by_score.items()
        if any(total for total, _ in columns)
    }


def sample(n, seed=0, digits=1, unknown=0.1):
    """Return labels with unknown ones, scores, and weights of which some are 0."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n).astype(object)
    label[rng.random(n) < unknown] = None
    weight = np.where(rng.random(n) < 0.1, 0.0, rng.exponential(size=n))
    return list(label), np.round(rng.normal(size=n), digits), weight


@pytest.mark.parametrize("digits", [1, 12])
def test_weights_are_added_up_by_score_and_label(digits):
    labels, scores, weights = sample(400, digits=digits)

    tally = trueness.tally(labels, scores, weight=weights)

    sums_by_score = sums_of_weights(labels, scores, weights)
    assert tally.weighted
    assert tally.score.tolist() == sorted(sums_by_score, reverse=True)

    for column in range(3):
        sums = [sums_by_score[score][column] for score in tally.score]
        expected, expected_squares = np.array(sums, dtype=float).T
        np.testing.assert_allclose(tally.counts[column], expected, rtol=1e-14)
        np.testing.assert_allclose(tally.squares[column], expected_squares, rtol=1e-14)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("distinct", [50, 10**7])
def test_large_arrays_take_the_fast_ways(kind, distinct):
    """Hashed, and sorted by keys that hold the place, beside a plain argsort."""
    rng = np.random.default_rng(1)
    n = 200_000
    score = (rng.integers(0, distinct, n) / distinct - 0.3).astype(kind)
    label = rng.integers(0, 2, n)
    weight = rng.exponential(size=n)

    tally = trueness.tally(label, score, weight=weight)

    value, row = np.unique(score.astype(np.float64), return_inverse=True)

    assert np.array_equal(tally.score, value[::-1])

    for k, column in enumerate((tally.neg, tally.pos)):
        class_weight = weight * (label == k)
        sums = np.bincount(row, class_weight)[::-1]
        squares = np.bincount(row, class_weight**2)[::-1]
        np.testing.assert_allclose(column, sums, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(tally.squares[k], squares, rtol=1e-12, atol=1e-15)


def test_weights_of_one_are_cases():
    labels, score, _ = sample(100)

    assert trueness.tally(labels, score, weight=np.ones(100)) == trueness.tally(
        labels, score
    )

    scores = {"a": score, "b": -score}

    assert trueness.panel(labels, scores, weight=[1] * 100) == trueness.panel(
        labels, scores
    )


def weighted_parts():
    """Return 300 weighted cases, and three parts of them."""
    labels, scores, weights = sample(300)
    parts = [
        trueness.tally(labels[part], scores[part], weight=weights[part])
        for part in (slice(0, 100), slice(100, 180), slice(180, 300))
    ]
    return trueness.tally(labels, scores, weight=weights), parts


def test_parts_of_weighted_cases_add_up():
    whole, parts = weighted_parts()

    merged = sum(parts)

    for column, expected in zip(merged.counts, whole.counts, strict=True):
        np.testing.assert_allclose(column, expected, rtol=1e-13)


def test_a_part_of_weighted_cases_can_be_taken_out():
    whole, (first, second, third) = weighted_parts()

    remaining = whole - first

    assert np.array_equal(remaining.score, (second + third).score)
    np.testing.assert_allclose(remaining.pos, (second + third).pos, atol=1e-12)
    with pytest.raises(InputError, match="Is b the part"):
        first - whole


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
    labels, scores, weights = sample(200)
    panel = trueness.panel(labels, {"a": scores, "b": np.round(scores)}, weight=weights)
    return panel, trueness.tally(labels, scores, weight=weights)


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
    tally = trueness.tally([1, 0], [0.9, 0.1], count=[3, 2], weight=[0.5, 2])
    assert (tally.pos.tolist(), tally.squares[1].tolist()) == ([1.5, 0], [0.75, 0])
    assert (tally.neg.tolist(), tally.squares[0].tolist()) == ([0, 4], [0, 8])


def test_repr_says_that_these_are_weights():
    tally = trueness.tally([1, 0], [0.9, 0.1], weight=[1234.5, 2])

    assert "total weight of 1,236.5 (2 negative, 1,234.5 positive, 0 unknown)" in repr(
        tally
    )
    assert "pos_squares" in tally._repr_html_()


@pytest.mark.parametrize(
    ("weight", "message"),
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
def test_bad_weights(weight, message):
    with pytest.raises(InputError, match=message):
        trueness.tally([0, 1], [0.1, 0.9], weight=weight)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.25, 2.5, 0], "0 positives among 3.75 labelled .* do all positives have we"),
        ([0, 0, 2.5], "0 negatives among 2.5 labelled .* do all negatives have we"),
        ([0, 0, 0], "among 0 labelled cases. All cases have weight 0"),
    ],
)
def test_a_class_of_weight_zero_is_named(weight, message):
    tally = trueness.tally([0, 0, 1], [0.1, 0.2, 0.9], weight=weight)
    with pytest.raises(NotEnoughCases, match=message):
        trueness.auc(tally)


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


def counts_for(analysis, design, *, with_unknown):
    """Return 90 cases in the form that an analysis takes."""
    labels, scores, _ = sample(90, digits=2, unknown=0.1 if with_unknown else 0)
    probability = 1 / (1 + np.exp(-scores))
    outputs = {
        "a": probability,
        "b": np.sqrt(probability),
        "c": np.round(probability),
    }
    panel = trueness.panel(labels, outputs, **design)

    name = analysis.__name__
    if name in OF_GROUPS:
        return {"x": panel["a"], "y": panel["b"]}
    if analysis.takes != "panel":
        return panel["a"]
    if name in OF_VOTES:
        return panel.vote(0.5)
    # other comparisons take a pair
    return panel if name == "agreement" else panel[["a", "b"]]


@pytest.mark.filterwarnings("ignore::trueness.DoubtfulAssumptionWarning")
@pytest.mark.parametrize("word", DESIGNS)
@pytest.mark.parametrize("analysis", list(analyses()))
def test_an_analysis_takes_a_design_or_says_that_it_does_not(analysis, word):
    """No analysis may take a weight for a number of cases, or a cluster for many."""
    name = analysis.__name__
    counts = counts_for(analysis, DESIGNS[word](90), with_unknown=word == "unlabelled")
    options = WORDS.get(name, {})

    if not set(CANNOT.get(name, {})) & set(DESIGNS[word](90)):
        assert analysis(counts, **options) is not None
        return

    message = rf"^{SUBJECTS.get(name, name)} does not take .+\. Leave"
    with pytest.raises(UnsupportedDesign, match=message) as refused:
        analysis(counts, **options)
    assert refused.value.option in DESIGNS[word](90)


def test_words_of_other_libraries():
    tally = trueness.tally([0, 1], [0.1, 0.9], weight=[1, 2])

    with pytest.raises(InputError, match=REFUSED):
        trueness.fermi_dirac([0, 1], [0.1, 0.9], sample_weight=[1, 2])
    with pytest.raises(InputError, match=REFUSED):
        trueness.watch("auc >= 0.7", baseline=tally)
    with pytest.raises(InputError, match="which mean the same"):
        trueness.auc([0, 1], [0.1, 0.9], sample_weight=[1, 2], weight=[1, 2])
    assert trueness.brier(tally.bin(1)).bounds[0] > 0


@pytest.mark.parametrize("digits", [None, 1])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.float32])
def test_weights_of_any_type_are_added_up_as_floats(kind, digits, rng):
    labels = rng.integers(0, 2, 500)
    score = rng.normal(size=500)
    if digits is not None:
        score = np.round(score, digits)
    weight = rng.integers(0, 120, 500).astype(kind)  # squares are beyond 8 bits

    tally = trueness.tally(labels, score, weight=weight)

    assert tally == trueness.tally(labels, score, weight=weight.astype(float))
    assert tally.squares[1].sum() == np.sum((weight * labels).astype(float) ** 2)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.float32])
def test_weights_of_any_type_are_floats_in_panels_and_without_labels(kind, rng):
    labels = rng.integers(0, 2, 500)
    score = rng.normal(size=500)
    scores = {"a": score, "b": -score}
    weight = rng.integers(0, 120, 500).astype(kind)

    panel = trueness.panel(labels, scores, weight=weight)
    unlabelled = trueness.tally(None, score, weight=weight)

    assert panel == trueness.panel(labels, scores, weight=weight.astype(float))
    assert unlabelled.unknown.sum() == weight.astype(float).sum()
