"""Two tests on their surface: against exact sums, and for any number of cases."""

import numpy as np
import pytest
from scipy.stats import kstest

import trueness
from trueness.nogold.model import Independent, order_mass, read_patterns, read_prior
from trueness.nogold.sampling import enumeration as _enumeration
from trueness.nogold.sampling import two_tests as _two_tests

ROWS = [[1, 1], [1, 0], [0, 1], [0, 0]]


def panel(count):
    return trueness.Panel(["A", "B"], ROWS, unknown=count)


def model(count, prior=None):
    patterns = read_patterns(panel(count))
    return Independent(patterns, read_prior(prior, patterns, ordered=True))


def exact(m):
    """Posterior means and evidence by the sum over all latent counts."""
    log_weight, ((a, b), (c, d), (e, f)) = _enumeration.log_weights(m)
    top = log_weight.max()
    w = np.exp(log_weight - top)
    share = order_mass(c, d, e, f)
    sens = c / (c + d) * order_mass(c + 1, d, e, f) / share
    spec = f / (e + f) * order_mass(c, d, e, f + 1) / share
    means = np.hstack([a / (a + b), sens, spec])
    prior = np.vstack([m.prior.prevalence, m.prior.sensitivity, m.prior.specificity])
    from scipy.special import betaln

    constant = betaln(*prior.T).sum() + m.prior.log_mass
    return w @ means / w.sum(), top + np.log(w.sum()) - constant


PRIORS = [None, {"sensitivity": (3, 2), "specificity": {"B": (4, 1)}}]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("count", [(10, 6, 2, 30), (3, 2, 1, 5), (9, 0, 4, 12)])
def test_weights_give_exact_means_and_evidence(rng, count, prior):
    m = model(count, prior)
    found = _two_tests.Surface(0.0).draws(100_000, m, rng)
    w = np.exp(found.log_weight - found.log_weight.max())
    x = np.concatenate(list(m.natural(found.theta).values()), axis=1)
    mean = w @ x / w.sum()
    error = np.sqrt(((w[:, None] * (x - mean)) ** 2).sum(axis=0)) / w.sum()
    expected, evidence = exact(m)
    assert (np.abs(mean - expected) < 4.5 * error).all()
    log_mean = found.log_weight.max() + np.log(w.mean())
    noise = w.std() / w.mean() / np.sqrt(w.size)
    assert log_mean == pytest.approx(evidence, abs=4.5 * noise)


def test_weights_are_the_posterior_over_the_proposal(rng):
    """The likelihood is that of the model: its ratio to the Dirichlet is constant."""
    m = model((10, 6, 2, 30))
    found = _two_tests.Surface(0.0).draws(50, m, rng)
    x = m.natural(found.theta)
    a, b = m.class_probabilities(x, np.array(ROWS, dtype=float))
    p = x["prevalence"] * a + (1 - x["prevalence"]) * b
    assert m.log_likelihood(found.theta) == pytest.approx(np.log(p) @ (10, 6, 2, 30))
    assert p.sum(axis=1) == pytest.approx(np.ones(50))


def test_trapezoid(rng):
    top, flat = 2.0, 3.0
    x = _two_tests._trapezoid(np.full(20_000, top), np.full(20_000, flat), rng)

    def below(t):
        t = np.asarray(t)
        rising = np.clip(t, 0, top) ** 2 / 2
        middle = top * np.clip(t - top, 0, flat)
        s = np.clip(t - top - flat, 0, top)
        return (rising + middle + top * s - s**2 / 2) / (top * (top + flat))

    assert kstest(x, below).pvalue > 0.001


def test_a_billion_cases_of_two_tests():
    """The surface is the same for a thousand cases and for a million times as many."""
    few, many = (
        trueness.latent_class(panel(k * np.array([1, 1, 1, 7])), rng=0, draws=4000)
        for k in (10_000, 100_000_000)
    )
    for post in (few, many):
        assert post.diagnostics.method == "importance"
        assert post.diagnostics.efficiency > 0.9
        assert post.diagnostics.ess_bulk.min() >= 4000
        assert not post.identified
    one, two = few.summary(), many.summary()
    error = 4.5 * np.hypot(one["mcse"], two["mcse"])
    assert (np.abs(one["mean"] - two["mean"]) < error + 1e-3).all()


def test_votes_that_disagree_go_another_way():
    post = trueness.latent_class(panel([1, 300, 400, 2]), rng=0, draws=200)
    flat = post.draws
    assert (flat["sensitivity"] + flat["specificity"] >= 1).all()
    assert _two_tests.surface(model([1, 300, 400, 2]), np.random.default_rng(0)) == (
        _two_tests.Surface(0.0)
    )


@pytest.mark.parametrize(
    "p",
    [
        trueness.Panel(["A", "B"], ROWS, unknown=[9] * 4, pos=[1, 0, 0, 0]),
        trueness.Panel(["A", "B"], [*ROWS, [1, np.nan]], unknown=[9] * 5),
    ],
)
def test_labels_and_missing_votes_are_not_for_the_sheet(p):
    patterns = read_patterns(p)
    prior = read_prior(None, patterns, ordered=True)
    assert not _two_tests.possible(Independent(patterns, prior))
