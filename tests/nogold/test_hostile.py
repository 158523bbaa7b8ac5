"""Latent classes on data that nobody should have, but somebody has."""

import numpy as np
import pytest

import trueness
from no_gold import simulate

NAN = np.nan


def fit(rows, count, names=None, **options):
    names = names or [f"T{i}" for i in range(np.shape(rows)[1])]
    p = trueness.Panel(names, rows, unknown=count)
    return trueness.latent_class(p, rng=0, draws=300, **options)


FITTED = {
    "one test is constant": ([[1, 0], [1, 1]], [9, 4]),
    "two cases": ([[1, 0], [0, 1]], [1, 1]),
    "two tests never agree": ([[1, 0], [0, 1]], [50, 60]),
    "three tests never agree": ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [50, 60, 40]),
    "all agree always": ([[1, 1, 1], [0, 0, 0]], [50, 60]),
    "the third is the opposite": ([[1, 1, 0], [0, 0, 1]], [500, 600]),
    "never on the same case": ([[1, NAN], [NAN, 1], [0, NAN], [NAN, 0]], [3, 4, 5, 6]),
    "a case without votes": ([[1, 1], [0, 1], [NAN, NAN], [0, 0]], [3, 4, 5, 6]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FITTED))
def test_fitted_with_good_diagnostics(name):
    post = fit(*FITTED[name])
    for each in (post, post.independent):
        assert each.diagnostics.converged, each.diagnostics.message
        for word in ("prevalence", "sensitivity", "specificity"):
            assert ((each.flat[word] >= 0) & (each.flat[word] <= 1)).all()
    assert not post.identified


def test_a_test_that_contradicts_the_others_is_chance_at_best():
    """The order constraint forbids what the table shows: alpha is close to beta."""
    post = fit(*FITTED["the third is the opposite"], dependence="none")
    flat = post.draws
    gap = flat["sensitivity"][:, 2] + flat["specificity"][:, 2] - 1
    assert (gap >= 0).all()
    assert gap.mean() < 0.02
    free = fit(*FITTED["the third is the opposite"], ordered=False, dependence="none")
    assert any("label switching" in n for n in free.notes)


def test_twenty_classifiers(rng):
    _, votes = simulate(rng, 30, 0.4, [0.8] * 20, [0.2] * 20)
    p = trueness.panel(None, {f"T{i}": votes[:, i] for i in range(20)})
    post = trueness.latent_class(p, rng=0, draws=100, dependence="none")
    assert post.diagnostics.converged
    assert post.prevalence.low < 0.4 < post.prevalence.high
    assert len(post.sensitivity) == 20


def test_populations_that_do_not_fit_together():
    one = trueness.Panel(["A", "B"], [[1, 1], [0, 0]], unknown=[5, 6])
    other = trueness.Panel(["A", "C"], [[1, 1], [0, 0]], unknown=[5, 6])
    with pytest.raises(trueness.InputError, match="same classifiers"):
        trueness.latent_class({"x": one, "y": other})
    with pytest.raises(trueness.NotEnoughCases, match="in population 'y' is empty"):
        trueness.latent_class({"x": one, "y": EMPTY})


EMPTY = trueness.Panel(["A", "B"], [[1, 1], [0, 0]], unknown=[0, 0])


@pytest.mark.parametrize("ab", [(np.inf, 1), (NAN, 1), (-1, 1), ("a", 1), (1, 1, 1)])
def test_impossible_priors(ab):
    with pytest.raises(trueness.InputError, match="prior"):
        fit([[1, 1], [0, 0], [1, 0]], [5, 6, 3], prior={"sensitivity": ab})


@pytest.mark.parametrize("dependence", ["none", "shared"])
def test_a_million_millions_are_refused_in_words(dependence):
    with pytest.raises(trueness.InputError, match="divide all counts by 1,000"):
        fit([[1, 1], [1, 0], [0, 0]], [10**12] * 3, dependence=dependence)
    rows, count = [[1, 1, 1], [1, 0, 1], [0, 0, 0]], [3 * 10**8, 10**8, 5 * 10**8]
    post = fit(rows, count, dependence="none")
    assert 0.4 < post.prevalence.value < 0.5
