"""Posterior and prior of the swine flu tests: Fig. 2 of Keith, Davey, Boyd (2012)."""

import karat

PANEL = karat.Panel(
    ["NPA", "NS"], [[0, 0], [0, 1], [1, 0], [1, 1]], unknown=[30, 2, 6, 10]
)


def chart():
    return karat.plots.posterior_densities(karat.latent_class(PANEL, rng=0))
