"""Fermi-Dirac fit: probability of each rank, from AUC and prevalence alone."""

import pandas as pd

import karat


def chart():
    traps = pd.read_csv(karat.samples.path("west_nile"))
    t = karat.tally(traps, label="virus", score="boosting")
    return karat.plots.rank_probability(karat.fermi_dirac(t))
