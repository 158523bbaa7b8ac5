"""Combiners: FiDEL by hand and by brute force, its kin, and what they do when."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

import trueness
from trueness import DoubtfulAssumptionWarning, InputError, NotEnoughCases, Panel

NAMES = ["A", "B", "C"]


def tied_panel(rng, n=200, k=3, missing=0.0):
    """Outputs with many ties, an AUC below 1/2 in the last column, some missing."""
    y = (rng.random(n) < 0.4).astype(int)
    y[:2] = 0, 1
    shift = np.linspace(1.5, -0.7, k)
    rows = np.round(2 * (rng.normal(size=(n, k)) + np.outer(y, shift)))
    rows[rng.random((n, k)) < missing] = np.nan
    return Panel(NAMES[:k], rows, 1 - y, y), rows, y


def quietly(f, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoubtfulAssumptionWarning)
        return f(*args, **kwargs)


def brute_fidel(rows, y, new):
    """Eq. 26 as printed, classifier by classifier, on whole cases."""
    total = np.zeros(len(new))
    for old, fresh in zip(rows.T, new.T, strict=True):
        here = ~np.isnan(old)
        fd = trueness.fermi_dirac(trueness.tally(y[here], old[here]))
        seen = np.array([np.r_[old[here], v] for v in fresh])
        for k, row in enumerate(seen):
            if not np.isnan(fresh[k]):
                above, tied = (row[:-1] > row[-1]).sum(), (row[:-1] == row[-1]).sum()
                total[k] += fd.beta * (fd.rank_threshold - (above + tied / 2 + 0.5))
    return total


def test_two_cases_by_hand():
    # A ranks right with AUC 0.9, B says nothing: L = +-logit(0.9)
    p = Panel(["A", "B"], [[2, 5], [1, 5]], unknown=[1, 1])
    f = trueness.fidel(p, aucs={"A": 0.9, "B": 0.5}, prevalence=0.5)
    assert f([[2, 5], [1, 5]]) == pytest.approx([np.log(9), -np.log(9)])
    assert f.probability([[2, 5]]) == pytest.approx([0.9])
    assert list(f.predict([[2, 5], [1, 5]])) == [True, False]
    assert f([[1.5, 5], [np.nan, np.nan]]) == pytest.approx([0, 0])  # between; missing
    assert f.source == "published"


def test_an_auc_below_one_half_counts_with_its_sign_and_perfect_ones_stay_finite():
    p = Panel(["A"], [[4], [3], [2], [1]], neg=[1, 1, 0, 1], pos=[0, 0, 1, 0])
    f = trueness.fidel(p)
    assert f.auc == pytest.approx([1 / 3])
    assert f.beta[0] < 0
    assert f([[1]])[0] > f([[4]])[0]
    p = Panel(["A", "B"], [[2, 1], [1, 2]], neg=[0, 3], pos=[3, 0])
    f = quietly(trueness.fidel, p)
    assert list(f.auc) == [1, 0]
    assert np.isfinite(f([[2, 1], [1, 2], [5, 5]])).all()
    assert list(f.predict([[2, 1], [1, 2]])) == [True, False]


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_fidel_is_equation_26(rng, missing):
    p, rows, y = tied_panel(rng, missing=missing)
    f = quietly(trueness.fidel, p)
    new = np.round(4 * rng.normal(size=(40, 3))) / 2
    new[rng.random(new.shape) < missing] = np.nan
    assert f(new) == pytest.approx(brute_fidel(rows, y, new), rel=1e-9, abs=1e-9)
    assert p.combine(f).n == 200
    if not missing:
        known = [trueness.fermi_dirac(p[k]).rank_threshold for k in p.names]
        assert f.rank_threshold == pytest.approx(known)
    extra = Panel(NAMES, rng.normal(size=(50, 3)), unknown=np.ones(50, int))
    assert quietly(trueness.fidel, p + extra) == f


def test_correlation_is_spearman_within_the_classes(rng):
    p, rows, y = tied_panel(rng)
    f = quietly(trueness.fidel, p)
    want = (spearmanr(rows[y == 1]).statistic + spearmanr(rows[y == 0]).statistic) / 2
    assert f.correlation == pytest.approx(want, abs=1e-12)
    pairs = want[np.triu_indices(3, 1)]
    assert f.mean_correlation == pytest.approx(pairs.mean())


def test_wisdom_of_crowds_is_the_mean_rank(rng):
    p, rows, _ = tied_panel(rng)
    ranks = np.column_stack([rankdata(-c) for c in rows.T])
    score = trueness.wisdom_of_crowds(p)(rows)
    assert score == pytest.approx(1 - (ranks.mean(axis=1) - 0.5) / len(rows))
    with_gap = rows.copy()
    with_gap[:, 1] = np.nan
    only = trueness.wisdom_of_crowds(p)(with_gap)
    assert only == pytest.approx(1 - (ranks[:, [0, 2]].mean(axis=1) - 0.5) / len(rows))
    assert trueness.wisdom_of_crowds(p)([[np.nan] * 3]) == [0.5]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_wisdom_of_crowds_does_not_depend_on_the_order_of_columns(rng, missing):
    # distinct whole numbers: many cases tie in the mean of their three ranks
    rows = rng.permuted(np.tile(np.arange(30.0), (3, 1)), axis=1).T
    rows[rng.random(rows.shape) < missing] = np.nan
    label = np.arange(30) % 2

    scores = []
    for order in itertools.permutations(range(3)):
        names = [NAMES[k] for k in order]
        p = Panel(names, rows[:, order], 1 - label, label)
        scores.append(trueness.wisdom_of_crowds(p)(rows[:, order]).tolist())

    assert all(score == scores[0] for score in scores)


def test_cases_of_equal_mean_rank_tie_in_wisdom_of_crowds():
    # three cases whose ranks are 1, 2, 3 in some order, and so 2 on average
    latin_square = np.array([[1.0, 2, 3], [2, 3, 1], [3, 1, 2]])
    p = Panel(NAMES, latin_square, unknown=[1, 1, 1])

    assert trueness.wisdom_of_crowds(p)(latin_square).tolist() == [0.5, 0.5, 0.5]


def test_best_single_and_mean_score(rng):
    p, rows, _ = tied_panel(rng)
    best = trueness.best_single(p)
    aucs = {k: trueness.auc(p[k]).value for k in p.names}
    assert best.best == max(aucs, key=aucs.get)
    assert best.auc == pytest.approx(aucs[best.best])
    assert p.combine(best) == p[best.best]
    column = rows[:, NAMES.index(best.best)]
    assert best([[np.nan] * 3]) == [np.median(column)]
    odd = Panel(["A"], [[5], [1], [2]], [0, 1, 1], [1, 0, 0])
    assert trueness.best_single(odd)([[np.nan]]) == [2]
    assert trueness.mean_score(p)(rows) == pytest.approx(rows.mean(axis=1))
    assert trueness.mean_score(p)([[np.nan] * 3]) == pytest.approx(rows.mean())


def test_correlated_is_the_discriminant_of_normal_scores(rng):
    from scipy.special import ndtri

    p, rows, y = tied_panel(rng, n=4000)
    f = trueness.fidel(p, method="correlated")
    z = -ndtri(np.column_stack([rankdata(-c) for c in rows.T]) / 4001)
    one, two = z[y == 1], z[y == 0]
    s = (np.cov(one.T) + np.cov(two.T)) / 2
    weights = np.linalg.solve(s, one.mean(axis=0) - two.mean(axis=0))
    score = (z - (one.mean(axis=0) + two.mean(axis=0)) / 2) @ weights
    # shrinkage and ridge are of the order of 1/n
    assert f.weights == pytest.approx(weights, rel=0.1)
    assert np.corrcoef(f(rows), score)[0, 1] > 0.9999
    assert f(rows).mean() == pytest.approx(score.mean(), abs=0.02)
    # without B it is the discriminant of the others
    gone = rows.copy()
    gone[:, 1] = np.nan
    two_of = trueness.fidel(p[["A", "C"]], method="correlated")
    assert f(gone) == pytest.approx(two_of(rows[:, [0, 2]]), rel=0.1, abs=0.1)
    assert f([[np.nan] * 3]) == [0]


@settings(max_examples=12)
@given(st.integers(0, 10**6))
def test_order_merge_and_rescoring(seed):
    rng = np.random.default_rng(seed)
    p, rows, y = tied_panel(rng, n=60)
    mixed = rng.permutation(60)
    again = Panel(NAMES, rows[mixed], (1 - y)[mixed], y[mixed])
    part = rng.random(60) < 0.5
    parts = [Panel(NAMES, rows[s], (1 - y)[s], y[s]) for s in (part, ~part)]
    stretched = Panel(NAMES, np.exp(rows) + rows, 1 - y, y)
    for name, fit in trueness.COMBINERS.items():
        f = fit(p)
        assert fit(again) == f
        assert fit(parts[0] + parts[1]) == f
        if name != "mean-score":
            order = rankdata(fit(stretched)(np.exp(rows) + rows).round(9))
            assert list(order) == list(rankdata(f(rows).round(9)))


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_copies_combine_to_themselves(seed):
    rng = np.random.default_rng(seed)
    _, rows, y = tied_panel(rng, n=60)
    copies = Panel(NAMES, rows[:, [0, 0, 0]], 1 - y, y)
    for fit in trueness.COMBINERS.values():
        t = copies.combine(fit(copies))
        a = trueness.auc(trueness.tally(y, rows[:, 0])).value
        assert trueness.auc(t).value == pytest.approx(a if a > 0.5 else max(a, 1 - a))


def test_warning_above_the_crossing_point():
    aucs = np.linspace(0.55, 0.75, 7)
    crossing = trueness.ensembles.crossing
    assert crossing(aucs) == pytest.approx(0.38, abs=0.005)  # measured: 0.39
    # their errors cancel the more they agree
    assert crossing([0.7]) == crossing([0.5, 0.5]) == crossing([0.7, 0.3]) == 1
    assert crossing([0.7, 0.7]) == pytest.approx(1)
    low = trueness.simulate_panel(5000, 2000, aucs, correlation=0.2, rng=1)
    trueness.fidel(low)
    high = trueness.simulate_panel(5000, 2000, aucs, correlation=0.5, rng=1)
    with pytest.warns(
        DoubtfulAssumptionWarning, match="correlate by 0.5.*Above about 0.3"
    ):
        trueness.fidel(high)
    trueness.fidel(high, method="correlated")


def test_probabilities_of_dependent_classifiers_are_calibrated():
    p = trueness.simulate_panel(4000, 1200, [0.7, 0.75, 0.8], correlation=0.6, rng=3)
    aucs = [0.7, 0.75, 0.8]
    new = trueness.simulate_panel(20_000, 6000, aucs, correlation=0.6, rng=4)
    f = quietly(trueness.fidel, p)
    for fitted in (f, trueness.fidel(p, method="correlated")):
        probability = fitted.probability(new.rows)
        assert probability.mean() == pytest.approx(0.3, abs=0.02)
        top = probability > np.quantile(probability, 0.9)
        assert new.pos[top].mean() == pytest.approx(probability[top].mean(), abs=0.07)
    naive = f.only(f.names).probability(new.rows)  # as if they were independent
    assert naive[naive > np.quantile(naive, 0.9)].mean() > 0.85 > new.pos[top].mean()
    rare = quietly(trueness.fidel, p, prevalence=0.03)
    assert list(rare(new.rows)) == list(f(new.rows))
    odds = f.probability(new.rows) / (1 - f.probability(new.rows))
    shifted = odds * (0.03 / 0.97) / (0.3 / 0.7)
    assert rare.probability(new.rows) == pytest.approx(shifted / (1 + shifted))


def test_published_aucs_and_parts_of_an_ensemble(rng):
    p, rows, _ = tied_panel(rng)
    aucs = {k: trueness.auc(p[k]).value for k in NAMES}
    f = trueness.fidel(p.without_labels(), aucs=aucs, prevalence=p.prevalence)
    g = quietly(trueness.fidel, p)
    assert f(rows) == pytest.approx(g(rows), rel=1e-6, abs=1e-6)
    assert trueness.fidel(p, aucs=aucs)(rows) == pytest.approx(f(rows))
    part = g.only(["C", "A"])
    assert part(rows[:, [2, 0]]) == pytest.approx(g.terms(rows)[:, [2, 0]].sum(axis=1))


@pytest.mark.parametrize("fit", trueness.COMBINERS.values())
def test_one_classifier_and_a_constant_one(fit):
    rows = np.array([[3, 0], [2, 0], [1, 0]])
    for p in (Panel(NAMES[:k], rows[:, :k], [0, 1, 1], [1, 0, 1]) for k in (1, 2)):
        assert trueness.auc(p.combine(fit(p))).value == trueness.auc(p["A"]).value


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
        (lambda: published({"A": 7, "B": 0.8}), r"aucs\['A'\] must lie in"),
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
    return trueness.fidel(TWO.without_labels(), aucs=aucs, prevalence=prevalence)


@pytest.mark.parametrize("seed", range(6))
def test_saved_and_loaded_is_equal_whatever_is_missing(seed, tmp_path):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(30, 3)), rng.integers(0, 3))
    rows[rng.random(rows.shape) < 0.3 * (seed % 3)] = np.nan
    label = rng.integers(0, 2, 30) if seed % 2 else np.repeat([0, 1], [29, 1])
    p = Panel(NAMES, rows, 1 - label, label)
    new = np.vstack([rows, [np.nan] * 3, [9, -9, np.nan]])
    known = {"aucs": {"A": 0.5, "B": 0.0, "C": 1.0}, "prevalence": 0.5}
    for fit in (*trueness.COMBINERS.values(), lambda p: trueness.fidel(p, **known)):
        try:
            f = fit(p)
        except NotEnoughCases:
            continue
        f.save(tmp_path / "map.json")
        back = trueness.load_map(tmp_path / "map.json")
        assert back == f
        np.testing.assert_array_equal(back(new), f(new))
        if hasattr(f, "probability"):
            np.testing.assert_array_equal(back.probability(new), f.probability(new))
