"""Diagnostics of chains and weights, against ArviZ."""

import numpy as np
import pytest

from karat import _chains

arviz = pytest.importorskip("arviz")


def autoregressive(rng, shape, rho):
    noise = rng.normal(size=shape)
    for t in range(1, shape[1]):
        noise[:, t] += rho * noise[:, t - 1]
    return noise


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, -0.4])
@pytest.mark.parametrize("shape", [(4, 1000), (2, 501), (5, 2000)])
def test_agrees_with_arviz(rng, rho, shape):
    x = autoregressive(rng, shape, rho)
    assert _chains.ess_bulk(x) == pytest.approx(arviz.ess(x, method="bulk"), rel=1e-9)
    assert _chains.ess_tail(x) == pytest.approx(arviz.ess(x, method="tail"), rel=1e-9)
    assert _chains.ess_mean(x) == pytest.approx(arviz.ess(x, method="mean"), rel=1e-9)
    assert _chains.r_hat(x) == pytest.approx(arviz.rhat(x), rel=1e-12)


def test_chains_in_two_places_are_told_apart(rng):
    x = rng.normal(size=(4, 500))
    x[0] += 3
    assert _chains.r_hat(x) > 1.3
    assert _chains.ess_bulk(x) < 20


def test_ties_share_a_rank(rng):
    x = rng.integers(3, size=(4, 400)).astype(float)
    assert _chains.ess_bulk(x) == pytest.approx(arviz.ess(x, method="bulk"), rel=1e-9)


def test_a_constant_is_no_problem():
    x = np.ones((4, 100))
    assert _chains.ess_bulk(x) == 400
    assert _chains.r_hat(x) == 1.0


@pytest.mark.parametrize("degrees", [1, 2, 4])
def test_pareto_k_agrees_with_arviz_and_theory(rng, degrees):
    log_weight = np.log(np.abs(rng.standard_t(degrees, 40_000)))
    k = _chains.pareto_k(log_weight)
    assert k == pytest.approx(float(arviz.psislw(log_weight)[1]), abs=0.02)
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
