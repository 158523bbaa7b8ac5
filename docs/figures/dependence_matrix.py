"""Which tests err together, beyond what the model explains? Four tests for HIV."""

import pandas as pd

import karat


def chart():
    votes = pd.read_csv(karat.samples.path("hiv"))
    tests = karat.panel(votes, scores=["V1", "V2", "V3", "V4"], count="count")
    found = karat.conditional_dependence(karat.latent_class(tests, rng=0), rng=0)
    return karat.plots.dependence_matrix(found)
