"""Agreement of raters against published examples and the definitions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import trueness
from trueness import NotEnoughCases

N = np.nan
# Gwet (2014), Handbook of Inter-Rater Reliability: 12 subjects, 4 raters
GWET = {
    "a": [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    "b": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    "c": [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    "d": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
}


def made(columns):
    labels = [None] * len(next(iter(columns.values())))
    return trueness.panel(labels, columns)


@pytest.mark.parametrize(
    ("method", "value", "sd"),
    [("gwet", 0.77544, 0.14295), ("fleiss", 0.76117, 0.15302),
     ("krippendorff", 0.74342, None)],
)  # fmt: skip
def test_the_published_example(method, value, sd):
    e = trueness.rater_agreement(made(GWET), method=method)
    assert e.value == pytest.approx(value, abs=5e-6)
    assert sd is None or e.se == pytest.approx(sd, abs=5e-6)
    assert -1 <= e.low < e.value < e.high <= 1


def test_cohen_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 80)
    b = np.where(rng.random(80) < 0.6, a, rng.integers(0, 3, 80))
    e = trueness.rater_agreement(made({"a": a, "b": b}), method="cohen")
    assert e.value == pytest.approx(cohen_kappa_score(a, b))


@pytest.mark.parametrize("method", ["gwet", "krippendorff", "fleiss", "cohen"])
def test_influence_is_the_jackknife(method):
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 150)
    votes = {
        k: np.where(rng.random(150) < 0.8, truth, 1 - truth).astype(float) for k in "ab"
    }
    e = trueness.rater_agreement(made(votes), method=method)
    left = [
        trueness.rater_agreement(
            made({k: np.delete(v, i) for k, v in votes.items()}), method=method
        ).value
        for i in range(150)
    ]
    jackknife = np.sqrt(149 / 150 * ((left - np.mean(left)) ** 2).sum())
    assert e.se == pytest.approx(jackknife, rel=0.02)


def test_full_agreement_and_one_category():
    one = made({"a": [1, 1, 1, 1], "b": [1, 1, 1, 1]})
    assert trueness.rater_agreement(one).value == 1
    for method in ("krippendorff", "fleiss", "cohen"):
        with pytest.raises(NotEnoughCases, match='method="gwet"'):
            trueness.rater_agreement(one, method=method)
    with pytest.raises(NotEnoughCases, match="two raters; found 4"):
        trueness.rater_agreement(made(GWET), method="cohen")


def test_clusters_widen_it():
    rng = np.random.default_rng(4)
    bad = (rng.random(25) < 0.4).repeat(8)
    truth = rng.integers(0, 2, 200)
    other = np.where(bad, rng.integers(0, 2, 200), truth)
    columns = {"a": truth.astype(float), "b": other.astype(float)}
    labels, groups = [None] * 200, np.arange(200) // 8
    alone = trueness.rater_agreement(trueness.panel(labels, columns))
    grouped = trueness.rater_agreement(trueness.panel(labels, columns, cluster=groups))
    assert grouped.value == alone.value
    assert grouped.se > 1.3 * alone.se
