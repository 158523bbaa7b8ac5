"""Diagnostics of chains and weights, against ArviZ."""

import numpy as np
import pytest

import trueness
from no_gold import table
from trueness.nogold import arviz_door as diagnostics
from trueness.nogold.sampling import chains as _chains

arviz = pytest.importorskip("arviz")


def theirs(x, method):
    """Effective size by ArviZ 0.x or 1.x, of an array (chains, draws)."""
    ends = {"prob": _chains.TAILS} if method == "tail" else {}
    return float(arviz.ess(x, method=method, **ends))


def autoregressive(rng, shape, rho):
    noise = rng.normal(size=shape)
    for t in range(1, shape[1]):
        noise[:, t] += rho * noise[:, t - 1]
    return noise


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 0.99, -0.4])
@pytest.mark.parametrize("shape", [(4, 1000), (2, 501), (5, 2000), (64, 21), (9, 40)])
def test_agrees_with_arviz(rng, rho, shape):
    x = autoregressive(rng, shape, rho)
    assert _chains.ess_bulk(x) == pytest.approx(theirs(x, "bulk"), rel=1e-9)
    assert _chains.ess_tail(x) == pytest.approx(theirs(x, "tail"), rel=1e-9)
    assert _chains.ess_mean(x) == pytest.approx(theirs(x, "mean"), rel=1e-9)
    assert _chains.r_hat(x) == pytest.approx(float(arviz.rhat(x)), rel=1e-12)


def test_chains_in_two_places_are_told_apart(rng):
    x = rng.normal(size=(4, 500))
    x[0] += 3
    assert _chains.r_hat(x) > 1.3
    assert _chains.ess_bulk(x) < 20


def test_ties_share_a_rank(rng):
    x = rng.integers(3, size=(4, 400)).astype(float)
    assert _chains.ess_bulk(x) == pytest.approx(theirs(x, "bulk"), rel=1e-9)


def test_a_constant_is_no_problem():
    x = np.ones((4, 100))
    assert _chains.ess_bulk(x) == 400
    assert _chains.r_hat(x) == 1.0


@pytest.mark.parametrize("degrees", [1, 2, 4])
def test_pareto_k_agrees_with_arviz_and_theory(rng, degrees):
    log_weight = np.log(np.abs(rng.standard_t(degrees, 40_000)))
    k = _chains.pareto_k(log_weight)
    _, other = diagnostics._smoothed(log_weight[None])
    assert k == pytest.approx(float(other[0]), abs=0.02)
    assert k == pytest.approx(1 / degrees, abs=0.12)


def test_weighted_draws_are_worth_what_repetition_shows(rng):
    """Normal draws weighted to a shifted normal, repeated: spread of the mean."""
    means, worth = [], []
    for _ in range(300):
        x = rng.normal(size=400)
        log_weight = 0.7 * x
        w = np.exp(log_weight) / np.exp(log_weight).sum()
        means.append(w @ x)
        worth.append(_chains.weighted_ess(x, log_weight)[2])
    assert np.mean(worth) == pytest.approx(1 / np.var(means), rel=0.2)
    bulk, tail, mean = _chains.weighted_ess(x, np.zeros(400))
    assert (bulk, tail, mean) == pytest.approx((400, 400, 400))


@pytest.mark.parametrize("method", ["exact", "gibbs", "importance"])
def test_diagnostics_of_a_posterior_are_those_of_arviz(method):
    post = trueness.latent_class(
        table("swineflu_recovered"), rng=1, draws=1000, method=method
    )
    tree = post.to_datatree()
    if int(arviz.__version__.split(".")[0]) < 1:
        tree = arviz.InferenceData.from_datatree(tree)
    found = {
        "r_hat": arviz.rhat(tree),
        "ess_bulk": arviz.ess(tree, method="bulk"),
        "ess_tail": arviz.ess(tree, method="tail", prob=_chains.TAILS),
        "mcse": arviz.mcse(tree, method="mean"),
    }
    d = post.diagnostics
    for name, values in found.items():
        at = getattr(values, "dataset", values)
        value = np.concatenate([at[k].values.ravel() for k in post.chains])
        if method != "importance" or name == "r_hat":
            assert getattr(d, name) == pytest.approx(value, rel=1e-6), name
        elif name == "mcse":  # what the weights cost is unknown to ArviZ
            assert (d.mcse > value).all()
        else:
            assert (getattr(d, name) < value).all()


def test_smoothed_weights_are_normalised(rng):
    log_weight = rng.normal(size=(3, 2000))
    weight, k = diagnostics._smoothed(log_weight)
    assert np.exp(weight).sum(axis=1) == pytest.approx(np.ones(3))
    assert (k < 0.7).all()
    # smoothing changes the largest only: the order stays
    assert (np.argsort(weight, axis=1) == np.argsort(log_weight, axis=1)).all()
