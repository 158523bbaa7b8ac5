"""Posterior of the chloroplast classifiers: Fig. 1 of Keith, Davey, Boyd (2012)."""

import pandas as pd

import trueness


def chart():
    votes = pd.read_csv(trueness.samples.path("chloroplast"))
    tests = [*votes.columns[:-1]]
    panel = trueness.panel(votes, scores=tests, count="count")
    post = trueness.latent_class(panel, dependence="none", rng=0)
    return trueness.plots.posterior_densities(post)
