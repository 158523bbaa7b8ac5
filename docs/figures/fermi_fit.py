"""Fermi-Dirac fit: probability of each rank, from AUC and prevalence alone."""

import pandas as pd

import trueness


def chart():
    traps = pd.read_csv(trueness.samples.path("west_nile"))
    t = trueness.tally(traps, label="virus", score="boosting")
    return trueness.plots.rank_probability(trueness.fermi_dirac(t))
