"""Posterior and prior of the swine flu tests when errors may be shared."""

import trueness

PANEL = trueness.Panel(
    ["NPA", "NS"], [[0, 0], [0, 1], [1, 0], [1, 1]], unknown=[30, 2, 6, 10]
)


def chart():
    return trueness.plots.posterior_densities(trueness.latent_class(PANEL, rng=0))
