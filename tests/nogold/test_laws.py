"""Laws of latent classes: what must not change the answer, and what must mirror it."""

import itertools

import numpy as np
import pytest

import trueness
from no_gold import simulate
from trueness.nogold.model import LatentModel, read_patterns, read_prior

NAN = np.nan
ROWS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))


def panel(rows, names="ABC", **counts):
    return trueness.Panel(list(names), rows, **counts)


@pytest.fixture(scope="module")
def cases():
    rng = np.random.default_rng(8)
    _, votes = simulate(rng, 60, 0.4, [0.9, 0.8, 0.7], [0.1, 0.2, 0.15])
    votes[rng.random(votes.shape) < 0.1] = NAN
    return votes


def draws(p, **options):
    return trueness.latent_class(
        p, rng=3, draws=200, dependence="none", **options
    ).draws


def same_draws(one, two):
    return all(np.array_equal(one[k], two[k]) for k in one)


def test_order_of_cases_is_irrelevant(cases, rng):
    shuffled = cases[rng.permutation(len(cases))]
    one, two = (trueness.panel(None, dict(zip("ABC", x.T, strict=True)))
                for x in (cases, shuffled))  # fmt: skip
    assert same_draws(draws(one), draws(two))


def test_parts_add_up_to_the_whole(cases):
    parts = [
        trueness.panel(None, dict(zip("ABC", x.T, strict=True)))
        for x in (cases[:25], cases[25:])
    ]
    whole = trueness.panel(None, dict(zip("ABC", cases.T, strict=True)))
    assert same_draws(draws(parts[1] + parts[0]), draws(whole))


def test_split_and_empty_rows_change_nothing():
    plain = panel(ROWS, unknown=[20, 3, 4, 2, 5, 2, 3, 11])
    split = panel(
        np.vstack([ROWS, ROWS]),
        unknown=[5, 3, 0, 2, 1, 2, 0, 11, 15, 0, 4, 0, 4, 0, 3, 0],
    )
    assert same_draws(draws(plain), draws(split))


def log_densities(p, prior=None, ordered=True, theta=None, shared=False):
    patterns = read_patterns(p)
    m = LatentModel(patterns, read_prior(prior, patterns, ordered), shared)
    prior_density, log_p = m.log_cells(theta)
    return prior_density, log_p @ m.cells[1]


def test_swapping_classifiers_swaps_their_parameters(rng):
    p = panel(ROWS, unknown=[20, 3, 4, 2, 5, 2, 3, 11], pos=[0, 1, 0, 2, 0, 0, 0, 3])
    prior = {"sensitivity": {"A": (3, 2)}, "specificity": {"C": (5, 1)}}
    theta = rng.normal(size=(9, 7))
    swapped = theta[:, [0, 3, 1, 2, 6, 4, 5]]
    one = log_densities(p, prior, theta=theta)
    two = log_densities(p[["C", "A", "B"]], prior, theta=swapped)
    assert np.allclose(one, two, rtol=1e-10)


def test_relabelling_all_votes_swaps_sensitivity_and_specificity(rng):
    """Mirror: 0 for 1 and positive for negative; phi, alpha, beta become 1 - each."""
    counts = [20, 3, 4, 2, 5, 2, 3, 11]
    p = panel(ROWS, unknown=counts, pos=[0, 1, 0, 2, 0, 0, 0, 3])
    mirror = panel(1 - ROWS, unknown=counts, neg=[0, 1, 0, 2, 0, 0, 0, 3])
    theta = rng.normal(size=(9, 7))
    prior = {"sensitivity": {"A": (3, 2)}, "specificity": {"B": (4, 1)}}
    turned = {"specificity": {"A": (3, 2)}, "sensitivity": {"B": (4, 1)}}
    other = np.hstack([-theta[:, :1], -theta[:, 4:], -theta[:, 1:4]])
    one = log_densities(p, prior, False, theta)
    two = log_densities(mirror, turned, False, other)
    assert np.allclose(one, two, rtol=1e-10)


def test_a_case_without_any_vote_says_nothing(rng):
    plain = panel(ROWS, unknown=[20, 3, 4, 2, 5, 2, 3, 11])
    more = plain + panel([[NAN, NAN, NAN]], unknown=[1000])
    theta = rng.normal(size=(5, 7))
    assert np.allclose(log_densities(plain, theta=theta)[1],
                       log_densities(more, theta=theta)[1])  # fmt: skip


def test_more_of_the_same_narrows_the_posterior():
    """A hundred times the counts: a tenth of the spread, at the same place."""
    count = np.array([400, 40, 50, 30, 60, 35, 45, 340])
    one = trueness.latent_class(
        panel(ROWS, unknown=count), rng=0, draws=2000, dependence="none"
    ).summary()
    many = panel(ROWS, unknown=100 * count)
    two = trueness.latent_class(many, rng=0, draws=2000, dependence="none").summary()
    assert one["sd"] / two["sd"] == pytest.approx(10 * np.ones(7), rel=0.15)
    assert (np.abs(one["mean"] - two["mean"]) < 2 * one["sd"]).all()


def test_verified_cases_give_beta_posteriors():
    """All labels known, no order: every marginal is a Beta distribution, exactly."""
    from scipy.stats import beta, kstest

    rows = [[1, 1], [1, 0], [0, 1], [0, 0]]
    p = panel(rows, "AB", pos=[30, 20, 5, 5], neg=[2, 8, 10, 40])
    post = trueness.latent_class(p, ordered=False, rng=0, draws=3000, dependence="none")
    expected = {
        "prevalence": [(61, 61)],
        "sensitivity": [(51, 11), (36, 26)],
        "specificity": [(51, 11), (49, 13)],
    }
    for word, pairs in expected.items():
        for column, ab in zip(post.flat[word].T, pairs, strict=True):
            assert kstest(column, beta(*ab).cdf).pvalue > 0.001
