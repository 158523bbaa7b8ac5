"""A binormal curve, fitted to the ranks alone."""

import pandas as pd

import karat


def chart():
    traps = pd.read_csv(karat.samples.path("west_nile"))
    t = karat.tally(traps, label="virus", score="boosting")
    return karat.plots.binormal_fit(t)
