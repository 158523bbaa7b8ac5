"""The best combinations of the chloroplast classifiers, with their uncertainty."""

import itertools

import trueness

COUNT = [269, 14, 9, 4, 24, 13, 7, 17]
ROWS = list(itertools.product((0, 1), repeat=3))
PANEL = trueness.Panel(["AA", "DP", "NCC"], ROWS, unknown=COUNT)


def chart():
    return trueness.plots.combination_plane(
        trueness.latent_class(PANEL, rng=0), n_best=8
    )
