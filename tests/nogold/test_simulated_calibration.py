"""Known truth by simulation: are intervals and ranks those of the model?"""

import numpy as np
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
