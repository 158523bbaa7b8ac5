"""Which tests err together, beyond what the model explains? Four tests for HIV."""

import pandas as pd

import trueness


def chart():
    votes = pd.read_csv(trueness.samples.path("hiv"))
    tests = trueness.panel(votes, scores=["V1", "V2", "V3", "V4"], count="count")
    found = trueness.conditional_dependence(trueness.latent_class(tests, rng=0), rng=0)
    return trueness.plots.dependence_matrix(found)
