"""Known truth by simulation: are intervals and ranks those of the model?"""

import numpy as np
import pytest
from scipy.stats import kstest

import trueness
from no_gold import simulate


def panel_of(votes):
    return trueness.panel(None, {f"T{i}": votes[:, i] for i in range(votes.shape[1])})


def test_ranks_of_the_truth_are_uniform():
    """Parameters from the prior, votes from the model: small tables."""
    rng = np.random.default_rng(5)
    place = []
    while len(place) < 100:
        u, v = rng.random((2, 2))
        alpha, beta, phi = np.maximum(u, v), np.minimum(u, v), rng.random()
        _, votes = simulate(rng, 20, phi, alpha, beta)
        if (votes == votes[0]).all():
            continue
        d = trueness.latent_class(
            panel_of(votes), rng=rng, draws=200, dependence="none"
        ).draws
        flat = np.column_stack([d["prevalence"], d["sensitivity"], d["specificity"]])
        place.append((flat < np.r_[phi, alpha, 1 - beta]).mean(axis=0))
    for column in np.array(place).T:
        assert kstest(column, "uniform").pvalue > 0.005


def test_intervals_hold_the_truth():
    alpha, beta, phi = np.array([0.9, 0.8, 0.75]), np.array([0.1, 0.15, 0.2]), 0.3
    rng, inside = np.random.default_rng(6), 0
    for _ in range(25):
        _, votes = simulate(rng, 500, phi, alpha, beta)
        s = trueness.latent_class(
            panel_of(votes), rng=rng, draws=300, dependence="none"
        ).summary()
        truth = np.r_[phi, alpha, 1 - beta]
        inside += ((s["low"] <= truth) & (truth <= s["high"])).sum()
    assert inside / (25 * 7) == pytest.approx(0.95, abs=0.05)
