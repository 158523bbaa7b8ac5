"""Combiners: FiDEL by hand and by brute force, its kin, and what they do when."""

import itertools
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import rankdata, spearmanr

import trueness
from trueness import DoubtfulAssumptionWarning, InputError, NotEnoughCases, Panel

NAMES = ["A", "B", "C"]


class LabelledRows(NamedTuple):
    """A panel, with the rows and labels of its cases one by one."""

    panel: Panel
    rows: np.ndarray
    label: np.ndarray


def tied_panel(rng, n=200, missing=0.0):
    """Outputs with many ties, an AUC below 1/2 in the last column, some missing."""
    label = (rng.random(n) < 0.4).astype(int)
    label[0] = 0
    label[1] = 1
    shift = np.linspace(1.5, -0.7, 3)
    rows = np.round(2 * (rng.normal(size=(n, 3)) + np.outer(label, shift)))
    rows[rng.random((n, 3)) < missing] = np.nan
    return LabelledRows(Panel(NAMES, rows, 1 - label, label), rows, label)


def quietly(fit, *data, **options):
    """Fit without the warning that the best classifier alone may rank better."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoubtfulAssumptionWarning)
        return fit(*data, **options)


def mid_rank(reference, output):
    """Rank a new output among a reference, 1 the highest; ties count by half."""
    above = (reference > output).sum()
    tied = (reference == output).sum()
    return above + tied / 2 + 0.5


def fidel_as_printed(rows, label, new_rows):
    """Eq. 26 as printed, classifier by classifier, on whole cases."""
    total = np.zeros(len(new_rows))
    for column, new_column in zip(rows.T, new_rows.T, strict=True):
        seen = ~np.isnan(column)
        reference = column[seen]
        line = trueness.fermi_dirac(trueness.tally(label[seen], reference))
        for case, output in enumerate(new_column):
            if not np.isnan(output):
                distance = line.rank_threshold - mid_rank(reference, output)
                total[case] += line.beta * distance

    return total


def test_two_cases_by_hand():
    # A ranks right with AUC 0.9, B says nothing: L = +-logit(0.9)
    panel = Panel(["A", "B"], [[2, 5], [1, 5]], unknown=[1, 1])

    combined = trueness.fidel(panel, auc={"A": 0.9, "B": 0.5}, prevalence=0.5)

    assert combined([[2, 5], [1, 5]]) == pytest.approx([np.log(9), -np.log(9)])
    assert combined.probability([[2, 5]]) == pytest.approx([0.9])
    assert list(combined.predict([[2, 5], [1, 5]])) == [True, False]
    assert combined.source == "published"


def test_an_output_between_the_cases_and_a_missing_one_say_nothing():
    panel = Panel(["A", "B"], [[2, 5], [1, 5]], unknown=[1, 1])

    combined = trueness.fidel(panel, auc={"A": 0.9, "B": 0.5}, prevalence=0.5)

    assert combined([[1.5, 5], [np.nan, np.nan]]) == pytest.approx([0, 0])


def test_an_auc_below_one_half_counts_with_its_sign():
    panel = Panel(["A"], [[4], [3], [2], [1]], neg=[1, 1, 0, 1], pos=[0, 0, 1, 0])

    combined = trueness.fidel(panel)

    assert combined.auc == pytest.approx([1 / 3])
    assert combined.beta[0] < 0
    assert combined([[1]])[0] > combined([[4]])[0]


def test_perfect_classifiers_stay_finite():
    panel = Panel(["A", "B"], [[2, 1], [1, 2]], neg=[0, 3], pos=[3, 0])

    combined = quietly(trueness.fidel, panel)

    assert list(combined.auc) == [1, 0]
    assert np.isfinite(combined([[2, 1], [1, 2], [5, 5]])).all()
    assert list(combined.predict([[2, 1], [1, 2]])) == [True, False]


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_fidel_is_equation_26(rng, missing):
    panel, rows, label = tied_panel(rng, missing=missing)
    new_rows = np.round(4 * rng.normal(size=(40, 3))) / 2
    new_rows[rng.random(new_rows.shape) < missing] = np.nan
    expected = fidel_as_printed(rows, label, new_rows)

    combined = quietly(trueness.fidel, panel)

    assert combined(new_rows) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert panel.combine(combined).n == 200


def test_rank_thresholds_are_those_of_each_classifier(rng):
    panel = tied_panel(rng).panel
    expected = [trueness.fermi_dirac(panel[name]).rank_threshold for name in NAMES]

    combined = quietly(trueness.fidel, panel)

    assert combined.rank_threshold == pytest.approx(expected)


def test_cases_without_labels_do_not_change_a_fit_to_labels(rng):
    panel = tied_panel(rng).panel
    unlabelled = Panel(NAMES, rng.normal(size=(50, 3)), unknown=np.ones(50, int))

    combined = quietly(trueness.fidel, panel + unlabelled)

    assert combined == quietly(trueness.fidel, panel)


def test_correlation_is_spearman_within_the_classes(rng):
    panel, rows, label = tied_panel(rng)
    of_positives = spearmanr(rows[label == 1]).statistic
    of_negatives = spearmanr(rows[label == 0]).statistic
    expected = (of_positives + of_negatives) / 2

    combined = quietly(trueness.fidel, panel)

    assert combined.correlation == pytest.approx(expected, abs=1e-12)

    pairs = expected[np.triu_indices(3, 1)]

    assert combined.mean_correlation == pytest.approx(pairs.mean())


def proportion_below(rows):
    """Return the mean proportion of cases that rank lower, by SciPy's ranks."""
    ranks = np.column_stack([rankdata(-column) for column in rows.T])
    return 1 - (ranks.mean(axis=1) - 0.5) / len(rows)


def test_wisdom_of_crowds_is_the_mean_rank(rng):
    panel, rows, _ = tied_panel(rng)

    combined = trueness.wisdom_of_crowds(panel)

    assert combined(rows) == pytest.approx(proportion_below(rows))


def test_wisdom_of_crowds_leaves_missing_outputs_out(rng):
    panel, rows, _ = tied_panel(rng)
    without_b = rows.copy()
    without_b[:, 1] = np.nan

    combined = trueness.wisdom_of_crowds(panel)

    assert combined(without_b) == pytest.approx(proportion_below(rows[:, [0, 2]]))
    assert combined([[np.nan] * 3]) == [0.5]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_wisdom_of_crowds_does_not_depend_on_the_order_of_columns(rng, missing):
    # distinct whole numbers: many cases tie in the mean of their three ranks
    rows = rng.permuted(np.tile(np.arange(30.0), (3, 1)), axis=1).T
    rows[rng.random(rows.shape) < missing] = np.nan
    label = np.arange(30) % 2

    scores = []
    for order in itertools.permutations(range(3)):
        names = [NAMES[k] for k in order]
        panel = Panel(names, rows[:, order], 1 - label, label)
        scores.append(trueness.wisdom_of_crowds(panel)(rows[:, order]).tolist())

    assert all(score == scores[0] for score in scores)


def test_cases_of_equal_mean_rank_tie_in_wisdom_of_crowds():
    # three cases whose ranks are 1, 2, 3 in some order, and so 2 on average
    latin_square = np.array([[1.0, 2, 3], [2, 3, 1], [3, 1, 2]])
    panel = Panel(NAMES, latin_square, unknown=[1, 1, 1])

    combined = trueness.wisdom_of_crowds(panel)

    assert combined(latin_square).tolist() == [0.5, 0.5, 0.5]


def test_best_single_is_the_classifier_with_the_highest_auc(rng):
    panel = tied_panel(rng).panel
    aucs = {name: trueness.auc(panel[name]).value for name in NAMES}

    single = trueness.best_single(panel)

    assert single.best == max(aucs, key=aucs.get)
    assert single.auc == pytest.approx(aucs[single.best])
    assert panel.combine(single) == panel[single.best]


def test_best_single_takes_the_median_for_a_missing_output(rng):
    panel, rows, _ = tied_panel(rng)
    odd_number = Panel(["A"], [[5], [1], [2]], [0, 1, 1], [1, 0, 0])

    single = trueness.best_single(panel)

    column = rows[:, NAMES.index(single.best)]

    assert single([[np.nan] * 3]) == [np.median(column)]
    assert trueness.best_single(odd_number)([[np.nan]]) == [2]


def test_mean_score_is_the_mean_output(rng):
    panel, rows, _ = tied_panel(rng)

    combined = trueness.mean_score(panel)

    assert combined(rows) == pytest.approx(rows.mean(axis=1))
    assert combined([[np.nan] * 3]) == pytest.approx(rows.mean())


def test_correlated_is_the_discriminant_of_normal_scores(rng):
    panel, rows, label = tied_panel(rng, n=4000)
    ranks = np.column_stack([rankdata(-column) for column in rows.T])
    scores = -ndtri(ranks / 4001)
    positives = scores[label == 1]
    negatives = scores[label == 0]
    covariance = (np.cov(positives.T) + np.cov(negatives.T)) / 2
    difference = positives.mean(axis=0) - negatives.mean(axis=0)
    middle = (positives.mean(axis=0) + negatives.mean(axis=0)) / 2
    weights = np.linalg.solve(covariance, difference)
    discriminant = (scores - middle) @ weights

    combined = trueness.fidel(panel, method="correlated")

    # shrinkage and ridge are of the order of 1/n
    assert combined.weights == pytest.approx(weights, rel=0.1)
    assert np.corrcoef(combined(rows), discriminant)[0, 1] > 0.9999
    assert combined(rows).mean() == pytest.approx(discriminant.mean(), abs=0.02)


def test_correlated_without_an_output_is_that_of_the_others(rng):
    panel, rows, _ = tied_panel(rng, n=4000)
    without_b = rows.copy()
    without_b[:, 1] = np.nan
    of_others = trueness.fidel(panel[["A", "C"]], method="correlated")

    combined = trueness.fidel(panel, method="correlated")

    expected = of_others(rows[:, [0, 2]])

    assert combined(without_b) == pytest.approx(expected, rel=0.1, abs=0.1)
    assert combined([[np.nan] * 3]) == [0]


@settings(max_examples=12)
@given(st.integers(0, 10**6))
def test_order_and_merging_do_not_change_a_fit(seed):
    rng = np.random.default_rng(seed)
    panel, rows, label = tied_panel(rng, n=60)
    shuffled = rng.permutation(60)
    in_first = rng.random(60) < 0.5

    def part(cases):
        return Panel(NAMES, rows[cases], (1 - label)[cases], label[cases])

    for fit in trueness.COMBINERS.values():
        combined = fit(panel)
        assert fit(part(shuffled)) == combined
        assert fit(part(in_first) + part(~in_first)) == combined


@settings(max_examples=12)
@given(st.integers(0, 10**6))
def test_combiners_of_ranks_do_not_depend_on_the_scale(seed):
    rng = np.random.default_rng(seed)
    panel, rows, label = tied_panel(rng, n=60)
    stretched_rows = np.exp(rows) + rows
    stretched = Panel(NAMES, stretched_rows, 1 - label, label)

    for name, fit in trueness.COMBINERS.items():
        if name != "mean-score":
            order = rankdata(fit(panel)(rows).round(9))
            stretched_order = rankdata(fit(stretched)(stretched_rows).round(9))
            assert list(stretched_order) == list(order)


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_copies_combine_to_themselves(seed):
    rng = np.random.default_rng(seed)
    _, rows, label = tied_panel(rng, n=60)
    copies = Panel(NAMES, rows[:, [0, 0, 0]], 1 - label, label)
    area = trueness.auc(trueness.tally(label, rows[:, 0])).value

    for fit in trueness.COMBINERS.values():
        combined = copies.combine(fit(copies))
        # one that ranks worse than chance may be turned round
        assert trueness.auc(combined).value == pytest.approx(max(area, 1 - area))


def test_crossing_point_by_hand():
    crossing_correlation = trueness.ensembles.crossing_correlation

    assert crossing_correlation(np.linspace(0.55, 0.75, 7)) == pytest.approx(
        0.38, abs=0.005
    )
    # their errors cancel the more they agree
    assert (
        crossing_correlation([0.7])
        == crossing_correlation([0.5, 0.5])
        == crossing_correlation([0.7, 0.3])
        == 1
    )
    assert crossing_correlation([0.7, 0.7]) == pytest.approx(1)


def test_a_warning_comes_above_the_crossing_point_only():
    aucs = np.linspace(0.55, 0.75, 7)
    below = trueness.simulate_panel(5000, 2000, aucs, correlation=0.2, rng=1)
    above = trueness.simulate_panel(5000, 2000, aucs, correlation=0.5, rng=1)

    trueness.fidel(below)
    trueness.fidel(above, method="correlated")
    with pytest.warns(
        DoubtfulAssumptionWarning, match="correlate by 0.5.*Above about 0.3"
    ):
        trueness.fidel(above)


@pytest.fixture(scope="module")
def dependent():
    """Cases to fit, and new ones, of classifiers that err together."""
    aucs = [0.7, 0.75, 0.8]
    fitted = trueness.simulate_panel(4000, 1200, aucs, correlation=0.6, rng=3)
    new = trueness.simulate_panel(20_000, 6000, aucs, correlation=0.6, rng=4)
    return fitted, new


def in_top_tenth(probability):
    return probability > np.quantile(probability, 0.9)


@pytest.mark.parametrize("method", ["independent", "correlated"])
def test_probabilities_of_dependent_classifiers_are_calibrated(dependent, method):
    panel, new = dependent

    combined = quietly(trueness.fidel, panel, method=method)

    probability = combined.probability(new.rows)
    top = in_top_tenth(probability)

    assert probability.mean() == pytest.approx(0.3, abs=0.02)
    assert new.pos[top].mean() == pytest.approx(probability[top].mean(), abs=0.07)


def test_probabilities_as_if_independent_are_too_extreme(dependent):
    panel, new = dependent
    combined = quietly(trueness.fidel, panel)

    as_if_independent = combined.only(combined.names).probability(new.rows)

    top = in_top_tenth(as_if_independent)

    assert as_if_independent[top].mean() > 0.85
    assert new.pos[top].mean() < 0.85


def test_another_prevalence_shifts_the_log_odds_only(dependent):
    panel, new = dependent
    combined = quietly(trueness.fidel, panel)
    probability = combined.probability(new.rows)
    odds = probability / (1 - probability)
    shifted_odds = odds * (0.03 / 0.97) / (0.3 / 0.7)

    rare = quietly(trueness.fidel, panel, prevalence=0.03)

    assert list(rare(new.rows)) == list(combined(new.rows))

    expected = shifted_odds / (1 + shifted_odds)

    assert rare.probability(new.rows) == pytest.approx(expected)


def test_published_aucs_give_the_same_as_those_of_the_labels(rng):
    panel, rows, _ = tied_panel(rng)
    aucs = {name: trueness.auc(panel[name]).value for name in NAMES}
    by_labels = quietly(trueness.fidel, panel)

    published = trueness.fidel(
        panel.without_labels(), auc=aucs, prevalence=panel.prevalence
    )

    assert published(rows) == pytest.approx(by_labels(rows), rel=1e-6, abs=1e-6)
    assert trueness.fidel(panel, auc=aucs)(rows) == pytest.approx(published(rows))


def test_part_of_an_ensemble_adds_up_its_terms(rng):
    panel, rows, _ = tied_panel(rng)
    combined = quietly(trueness.fidel, panel)

    of_two = combined.only(["C", "A"])

    terms = combined.terms(rows)[:, [2, 0]]
    assert of_two(rows[:, [2, 0]]) == pytest.approx(terms.sum(axis=1))


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("fit", trueness.COMBINERS.values())
def test_one_classifier_and_a_constant_one(fit, number):
    rows = np.array([[3, 0], [2, 0], [1, 0]])[:, :number]
    panel = Panel(NAMES[:number], rows, [0, 1, 1], [1, 0, 1])

    combined = panel.combine(fit(panel))

    assert trueness.auc(combined).value == trueness.auc(panel["A"]).value


CORRELATED = {"method": "correlated"}
TWO = Panel(["A", "B"], [[2, 1], [1, 2]], [0, 1], [1, 0])
GAP = Panel(["A", "B"], [[2, np.nan], [1, 2]], [0, 1], [1, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: trueness.fidel(TWO.without_labels()),
            "fidel needs at least one positive",
        ),
        (lambda: trueness.best_single(TWO.without_labels()), "best_single needs"),
        (lambda: published({"A": 0.7, "B": 0.8}, None), "needs the prevalence"),
        (lambda: published({"A": 0.7}), "none for 'B'"),
        (lambda: published({"A": 0.7, "B": 0.7, "C": 0.7}), "also 'C'"),
        (lambda: published([0.7, 0.8]), "mapping from name to AUC"),
        (lambda: published({"A": 7, "B": 0.8}), r"auc\['A'\] must lie in"),
        (lambda: trueness.fidel(TWO, labels="none", **CORRELATED), "needs labelled"),
        (lambda: trueness.fidel(TWO, labels="no"), "labels must be one of"),
        (lambda: trueness.fidel(GAP), "'B' has none for one class"),
        (lambda: trueness.wisdom_of_crowds(TWO)([[1, 2, 3]]), r"found shape \(1, 3\)"),
        (lambda: trueness.mean_score(TWO)([["a", "b"]]), "rows must be numbers"),
        (lambda: trueness.mean_score(TWO)({"A": [1]}), "none called 'B'"),
    ],
)
def test_errors(call, message):
    with pytest.raises((InputError, NotEnoughCases), match=message):
        call()


def test_columns_are_taken_by_name():
    f = trueness.best_single(TWO)
    rows = {"B": [5.0, 6.0], "more": [0, 0], "A": [1.0, 2.0]}
    expected = f([[1.0, 5.0], [2.0, 6.0]])
    for data in (rows, pd.DataFrame(rows), pl.DataFrame(rows)):
        assert f(data).tolist() == expected.tolist()


def published(aucs, prevalence=0.2):
    return trueness.fidel(TWO.without_labels(), auc=aucs, prevalence=prevalence)


@pytest.mark.parametrize("seed", range(6))
def test_saved_and_loaded_is_equal_whatever_is_missing(seed, tmp_path):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(30, 3)), rng.integers(0, 3))
    rows[rng.random(rows.shape) < 0.3 * (seed % 3)] = np.nan
    label = rng.integers(0, 2, 30) if seed % 2 else np.repeat([0, 1], [29, 1])
    panel = Panel(NAMES, rows, 1 - label, label)
    new_rows = np.vstack([rows, [np.nan] * 3, [9, -9, np.nan]])

    for fit in (*trueness.COMBINERS.values(), fit_published):
        try:
            combined = fit(panel)
        except NotEnoughCases:
            continue
        combined.save(tmp_path / "map.json")
        loaded = trueness.load_map(tmp_path / "map.json")

        assert loaded == combined
        np.testing.assert_array_equal(loaded(new_rows), combined(new_rows))
        if hasattr(combined, "probability"):
            np.testing.assert_array_equal(
                loaded.probability(new_rows), combined.probability(new_rows)
            )


def fit_published(panel):
    return trueness.fidel(panel, auc={"A": 0.5, "B": 0.0, "C": 1.0}, prevalence=0.5)
