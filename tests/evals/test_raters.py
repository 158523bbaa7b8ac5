"""Agreement of raters against published examples, scikit-learn, R and definitions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import trueness
from trueness import InputError, NotEnoughCases

N = np.nan
# Gwet (2014), Handbook of Inter-Rater Reliability: 12 subjects, 4 raters
GWET = {
    "a": [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    "b": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, N],
    "c": [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
    "d": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
}
# two raters of 26 items, in four ordered categories
FIRST = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 1, 1, 2, 2]
SECOND = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3, 2, 0, 1, 0, 1, 0, 2, 1, 3, 2, 1]
METHODS = [
    "gwet", "krippendorff", "fleiss", "cohen", "conger", "brennan-prediger", "percent"
]  # fmt: skip


def panel_of(columns):
    labels = [None] * len(next(iter(columns.values())))
    return trueness.panel(labels, columns)


@pytest.mark.parametrize(
    ("method", "value", "se"),
    [("gwet", 0.77544, 0.14295), ("fleiss", 0.76117, 0.15302),
     ("krippendorff", 0.74342, None), ("conger", 0.76282, 0.14917),
     ("brennan-prediger", 0.77273, 0.14472), ("percent", 0.81818, 0.12561)],
)  # fmt: skip
def test_the_published_example(method, value, se):
    estimate = trueness.rater_agreement(panel_of(GWET), method=method)

    # as the vignettes of the R package irrCAC print them
    assert estimate.value == pytest.approx(value, abs=5e-6)
    assert se is None or estimate.se == pytest.approx(se, abs=5e-6)
    assert -1 <= estimate.low < estimate.value < estimate.high <= 1


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_cohen_is_that_of_scikit_learn(weights):
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 80)
    second = np.where(rng.random(80) < 0.6, first, rng.integers(0, 4, 80))
    panel = panel_of({"a": first, "b": second})

    estimate = trueness.rater_agreement(panel, method="cohen", weights=weights)

    expected = cohen_kappa_score(first, second, weights=weights)
    assert estimate.value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("weights", "value", "standard_error"),
    [(None, 0.535714285714, 0.124931248479), ("linear", 0.5775, 0.127985759782),
     ("quadratic", 0.641261498029, 0.132436465325)],
)  # fmt: skip
def test_standard_error_of_cohen_is_that_of_vcd(weights, value, standard_error):
    panel = panel_of({"a": FIRST, "b": SECOND})

    estimate = trueness.rater_agreement(panel, method="cohen", weights=weights)

    # vcd::Kappa, weights "Equal-Spacing" and "Fleiss-Cohen"; its variance divides by n
    n = len(FIRST)
    assert estimate.value == pytest.approx(value, abs=1e-9)
    assert estimate.se * np.sqrt((n - 1) / n) == pytest.approx(standard_error, abs=1e-9)


def test_weights_are_named_and_of_cohen_alone():
    panel = panel_of({"a": FIRST, "b": SECOND})

    estimate = trueness.rater_agreement(panel, method="cohen", weights="linear")

    assert estimate.name == "Cohen's kappa, linear weights"
    with pytest.raises(InputError, match="method cohen"):
        trueness.rater_agreement(panel, weights="linear")
    with pytest.raises(InputError, match="weights must be"):
        trueness.rater_agreement(panel, method="cohen", weights="cubic")


def test_conger_of_two_raters_is_cohen():
    panel = panel_of({"a": FIRST, "b": SECOND})

    conger = trueness.rater_agreement(panel, method="conger")

    cohen = trueness.rater_agreement(panel, method="cohen")
    assert (conger.value, conger.low) == pytest.approx((cohen.value, cohen.low))


@pytest.mark.parametrize("weights", [None, "linear"])
@pytest.mark.parametrize("method", METHODS)
def test_influence_is_the_jackknife(method, weights):
    if weights and method != "cohen":
        return
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 150)
    votes = {
        name: np.where(rng.random(150) < 0.8, truth, rng.integers(0, 3, 150))
        for name in "ab"
    }

    def agreement(columns):
        return trueness.rater_agreement(
            panel_of(columns), method=method, weights=weights
        )

    without_one = [
        agreement({name: np.delete(v, item) for name, v in votes.items()}).value
        for item in range(150)
    ]
    variance = 149 / 150 * ((without_one - np.mean(without_one)) ** 2).sum()
    assert agreement(votes).se == pytest.approx(np.sqrt(variance), rel=0.02)


def test_full_agreement_and_one_category():
    one = panel_of({"a": [1, 1, 1, 1], "b": [1, 1, 1, 1]})

    assert trueness.rater_agreement(one).value == 1
    assert trueness.rater_agreement(one, method="percent").value == 1
    for method in ("krippendorff", "fleiss", "cohen", "conger", "brennan-prediger"):
        with pytest.raises(NotEnoughCases, match="method gwet"):
            trueness.rater_agreement(one, method=method)


def test_one_array_of_ratings_is_answered_with_both_ways_to_pass_them():
    ratings = np.array([[1, 0, 1], [0, 0, 1]])

    with pytest.raises(InputError, match="two raters, or a frame") as caught:
        trueness.rater_agreement(ratings)

    assert "rater_agreement(first, second)" in str(caught.value)
    assert "y_true" not in str(caught.value)


def test_cohen_is_of_two_raters():
    with pytest.raises(NotEnoughCases, match="two raters; found 4"):
        trueness.rater_agreement(panel_of(GWET), method="cohen")


def test_each_rater_of_conger_has_rated_an_item():
    silent = panel_of({"a": [1, 2, 1], "b": [1, 2, 2], "c": [N, N, N]})

    with pytest.raises(NotEnoughCases, match="one rated none"):
        trueness.rater_agreement(silent, method="conger")


def test_clusters_widen_it():
    rng = np.random.default_rng(4)
    careless = (rng.random(25) < 0.4).repeat(8)
    truth = rng.integers(0, 2, 200)
    other = np.where(careless, rng.integers(0, 2, 200), truth)
    columns = {"a": truth.astype(float), "b": other.astype(float)}
    labels = [None] * 200

    alone = trueness.rater_agreement(trueness.panel(labels, columns))
    clustered = trueness.rater_agreement(
        trueness.panel(labels, columns, cluster=np.arange(200) // 8)
    )

    assert clustered.value == alone.value
    assert clustered.se > 1.3 * alone.se
