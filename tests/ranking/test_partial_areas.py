"""Partial areas and average precision: pROC, scikit-learn, fine grids, corners."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

import trueness
from conftest import tied_cases
from trueness import Tally
from trueness.ranking.mean_precision import _left_out

PROC = json.loads((Path(__file__).parents[1] / "reference" / "proc.json").read_text())


BOXES = ({"fpr": (0, 0.1)}, {"tpr": (0.8, 1)}, {"fpr": (0, 0.3), "tpr": (0.5, 1)})


def area(t, **options):
    return trueness.partial_auc(t, replicates=100, **options).value


@pytest.mark.parametrize("name", ["ndka", "s100b", "wfns"])
def test_proc_agrees(name):
    t = trueness.tally(PROC["poor"], PROC[name])
    assert area(t, fpr=(0, 0.1)) == pytest.approx(PROC[f"pauc_fpr_{name}"][0])
    assert area(t, fpr=(0.2, 0.5)) == pytest.approx(PROC[f"pauc_fpr_mid_{name}"][0])
    assert area(t, tpr=(0.9, 1)) == pytest.approx(PROC[f"pauc_tpr_{name}"][0])
    ours = area(t, fpr=(0, 0.1), corrected=True)
    assert ours == pytest.approx(PROC[f"pauc_fpr_corrected_{name}"][0])
    theirs = PROC[f"pauc_tpr_corrected_{name}"][0]
    ours = area(t, tpr=(0.9, 1), corrected=True)
    # pROC gives none below the diagonal
    assert ours == pytest.approx(theirs) if theirs is not None else ours < 0.5


def test_scikit_learn_agrees(rng):
    y, s = tied_cases(rng, 200, levels=30)
    t = trueness.tally(y, s)
    for most in (0.05, 0.3, 0.9):
        ours = area(t, fpr=(0, most), corrected=True)
        assert ours == pytest.approx(roc_auc_score(y, s, max_fpr=most))
    assert trueness.average_precision(t).value == pytest.approx(
        average_precision_score(y, s)
    )


def test_whole_ranges_give_the_auc(rng):
    t = trueness.tally(*tied_cases(rng, 70))
    whole = trueness.auc(t).value
    for part in ({"fpr": (0, 1)}, {"tpr": (0, 1)}, {"fpr": (0, 1), "tpr": (0, 1)}):
        assert area(t, **part) == pytest.approx(whole)
        assert area(t, **part, corrected=True) == pytest.approx(whole)


def test_slow_twin_of_the_box(rng):
    """The two-way area on a fine grid of the polyline."""
    for _ in range(5):
        t = trueness.tally(*tied_cases(rng, 40))
        curve = trueness.roc(t)
        f = np.linspace(0.1, 0.6, 400_001)
        height = np.interp(f, curve.fpr, curve.tpr)
        expected = np.trapezoid(np.clip(height, 0.4, 0.9) - 0.4, f)
        ours = area(t, fpr=(0.1, 0.6), tpr=(0.4, 0.9))
        assert ours == pytest.approx(expected, abs=1e-5)


def test_parts_add_up(rng):
    t = trueness.tally(*tied_cases(rng, 70))
    parts = [area(t, fpr=r) for r in ((0, 0.2), (0.2, 0.7), (0.7, 1))]
    assert sum(parts) == pytest.approx(trueness.auc(t).value)


def test_chance_and_ideal_on_mcclishs_scale():
    chance, ideal = Tally([1], [5], [5]), Tally([2, 1], [0, 5], [5, 0])
    for part in BOXES:
        assert area(chance, **part, corrected=True) == pytest.approx(0.5)
        assert area(ideal, **part, corrected=True) == pytest.approx(1)


@pytest.mark.parametrize("method", ["logit", "bca", "bootstrap", "normal"])
def test_intervals_cover_a_partial_area(rng, method):
    f = np.linspace(0, 0.3, 20_001)
    G = trueness.binormal(1, 1.2)
    truth = np.trapezoid(G.tpr(f), f)
    y, hits = np.repeat([0, 1], 60), 0
    for k in range(80):
        t = trueness.tally(y, rng.normal(size=y.size) + 1.2 * y)
        a = trueness.partial_auc(t, fpr=(0, 0.3), method=method, rng=k, replicates=200)
        hits += a.low <= truth <= a.high
    assert hits >= 67  # 0.95 of 80 is 76; four errors below


def test_the_error_of_a_partial_area_is_that_of_leaving_cases_out(rng):
    y = np.repeat([1, 0], [9, 14])
    s = np.round(rng.normal(size=y.size) + y, 1)

    def area(keep):
        t = trueness.tally(y[keep], s[keep])
        return trueness.partial_auc(t, fpr=(0, 0.4), replicates=100).value

    variance = 0.0
    for k in (1, 0):
        own = np.flatnonzero(y == k)
        left = np.array([area(np.arange(y.size) != i) for i in own])
        variance += (own.size - 1) / own.size * np.sum((left - left.mean()) ** 2)
    found = trueness.partial_auc(trueness.tally(y, s), fpr=(0, 0.4))
    assert found.sd == pytest.approx(np.sqrt(variance))
    assert found.method == "logit"


def test_average_precision_by_hand():
    t = Tally([3, 2, 1], pos=[2, 1, 1], neg=[0, 1, 3])
    assert (
        trueness.average_precision(t).value == 2 / 4 * 1 + 1 / 4 * 3 / 4 + 1 / 4 * 4 / 8
    )
    at = trueness.average_precision(t, prevalence=0.1).value
    p = [1, 0.1 * 0.75 / (0.1 * 0.75 + 0.9 * 0.25), 0.1]
    assert at == pytest.approx(2 / 4 * p[0] + 1 / 4 * p[1] + 1 / 4 * p[2])


def precision_of(neg, pos, share=None):
    """AP of counts that may be fractions, at a given prevalence or the sample's."""
    tp, fp = np.cumsum(pos), np.cumsum(neg)
    odds = 1.0 if share is None else (1 - share) / share * tp[-1] / fp[-1]
    return float(pos @ (tp / np.maximum(tp + odds * fp, 1e-300))) / tp[-1]


@pytest.mark.parametrize("share", [None, 0.2])
@pytest.mark.parametrize("levels", [7, 1000])
def test_average_precision_leaves_out_every_case(rng, share, levels):
    """The jackknife in long data, and the curvature by differences."""
    t = trueness.tally(*tied_cases(rng, 150, levels=levels))
    value = precision_of(t.neg, t.pos, share)
    left, where = [], []
    for k, counts in enumerate((t.pos, t.neg)):
        each = np.repeat(np.arange(len(t)), counts)
        parts = [np.array([t.neg, t.pos], float) for _ in each]
        for part, row in zip(parts, each, strict=True):
            part[1 - k, row] -= 1
        left.append(np.array([precision_of(*part, share) for part in parts]))
        where.append(each)
    groups = left if share else [np.concatenate(left)]
    sizes = [g.size for g in groups]
    square = sum(
        (n - 1) / n * ((g - g.mean()) ** 2).sum()
        for n, g in zip(sizes, groups, strict=True)
    )
    bias = sum((n - 1) * (g.mean() - value) for n, g in zip(sizes, groups, strict=True))
    odds = 1.0 if share is None else (1 - share) / share * t.n_pos / t.n_neg
    found = _left_out(t, odds, fixed=share is not None)
    assert (found.value, found.sd, found.bias) == pytest.approx(
        (value, np.sqrt(square), bias), rel=1e-9
    )
    middle = [g.mean() for g in groups]
    change = [m - g for m, g in zip([middle[0], middle[-1]], left, strict=True)]
    d = np.concatenate(change)
    assert found.a == pytest.approx((d**3).sum() / 6 / (d @ d) ** 1.5)
    turn = np.zeros((2, len(t)))
    for k in (0, 1):
        turn[1 - k, where[k]] = change[k]

    def along(h):
        return precision_of(*(np.array([t.neg, t.pos]) * (1 + h * turn)), share)

    h = 0.05 / np.sqrt(d @ d)
    curve = (along(h) - 2 * value + along(-h)) / h**2 / 2 / (d @ d) ** 1.5
    assert found.c == pytest.approx(curve, abs=1e-4)


def test_either_end_of_average_precision_errs_alone_in_5_percent(rng):
    """AUC .8 and 40 of 200 positive: the lower end lay above in 8 % once."""
    z = (np.arange(20_000) + 0.5) / 20_000
    fpr = stats.norm.sf(stats.norm.isf(z) + np.sqrt(2) * stats.norm.ppf(0.8))
    true = np.mean(0.2 * z / (0.2 * z + 0.8 * fpr))
    said = []
    for _ in range(1500):
        y = (rng.random(200) < 0.2).astype(int)
        s = rng.normal(size=200) + np.sqrt(2) * stats.norm.ppf(0.8) * y
        found = trueness.average_precision(trueness.tally(y, s), level=0.9)
        said.append((found.low > true, found.high < true))
    assert np.mean(said, axis=0).max() <= 0.067  # .05 and three standard errors


@pytest.mark.parametrize("method", ["logit", "bca", "bootstrap"])
def test_average_precision_covers(rng, method):
    many = np.repeat([0, 1], [180_000, 20_000])
    truth = trueness.average_precision(
        trueness.tally(many, rng.normal(size=many.size) + 1.5 * many)
    ).value
    y, hits = np.repeat([0, 1], [180, 20]), 0
    for k in range(80):
        t = trueness.tally(y, rng.normal(size=y.size) + 1.5 * y)
        a = trueness.average_precision(t, method=method, rng=k, replicates=150)
        hits += a.low <= truth <= a.high
    assert hits >= (70 if method == "logit" else 60)


def test_long_curves_are_joined_for_the_bootstrap_only(rng):
    y = rng.random(60_000) < 0.5
    t = trueness.tally(y, rng.normal(size=y.size) + y)
    a = trueness.partial_auc(t, fpr=(0, 0.2), replicates=200)
    curve = trueness.roc(t)
    at = np.linspace(0, 0.2, 200_001)
    expected = np.trapezoid(np.interp(at, curve.fpr, curve.tpr), at)
    assert a.value == pytest.approx(expected, abs=1e-6)
    assert a.low < a.value < a.high
    short = trueness.tally(y[:15_000], rng.normal(size=15_000) + y[:15_000])
    b = trueness.partial_auc(short, fpr=(0, 0.2), replicates=200)
    assert a.sd == pytest.approx(b.sd / 2, rel=0.25)


CORNERS = {
    "perfect": Tally([2, 1], pos=[5, 0], neg=[0, 9]),
    "wrong": Tally([2, 1], pos=[0, 5], neg=[9, 0]),
    "tied": Tally([1], pos=[5], neg=[9]),
    "one pair": Tally([2, 1], pos=[1, 0], neg=[0, 1]),
    "one positive": Tally([3, 2, 1], pos=[0, 1, 0], neg=[2, 0, 7]),
    "huge": Tally([3, 2, 1], pos=[10**9, 5, 0], neg=[1, 0, 10**9]),
}


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("method", ["bca", "bootstrap", "normal", "logit"])
def test_corners_have_width(corner, method):
    t = CORNERS[corner]
    answers = [
        trueness.average_precision(t, method=method, replicates=200),
        trueness.partial_auc(t, fpr=(0, 0.5), method=method, replicates=200),
    ]
    for a in answers:
        assert a.low < a.high
        assert a.low <= a.value <= a.high
        assert a.high <= 1


def test_errors():
    t = Tally([2, 1], pos=[3, 1], neg=[1, 5])
    with pytest.raises(trueness.InputError, match="needs a part of the curve"):
        trueness.partial_auc(t)
    with pytest.raises(trueness.InputError, match="fpr must rise"):
        trueness.partial_auc(t, fpr=(0.5, 0.1))
    with pytest.raises(trueness.InputError, match="fpr must be two numbers"):
        trueness.partial_auc(t, fpr=0.1)
    with pytest.raises(trueness.InputError, match=r"tpr must lie in \[0, 1\]"):
        trueness.partial_auc(t, tpr=(0, 90))
    with pytest.raises(trueness.InputError, match="method must be one of"):
        trueness.average_precision(t, method="wald")
    with pytest.raises(trueness.NotEnoughCases, match="average_precision needs"):
        trueness.average_precision(Tally([1], pos=[3]))
