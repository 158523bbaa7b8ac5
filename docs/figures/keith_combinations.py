"""Combinations of the swine flu tests: S7.2 of Keith, Davey, Boyd (2012)."""

import pandas as pd

import trueness


def chart():
    votes = pd.read_csv(trueness.samples.path("swine_flu"))
    tests = [*votes.columns[:-1]]
    panel = trueness.panel(votes, scores=tests, count="count")
    post = trueness.latent_class(panel, dependence="none", rng=0)
    return trueness.plots.combination_plane(post, n_best=8)
