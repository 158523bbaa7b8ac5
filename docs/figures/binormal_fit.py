"""A binormal curve, fitted to the ranks alone."""

import pandas as pd

import trueness


def chart():
    traps = pd.read_csv(trueness.samples.path("west_nile"))
    t = trueness.tally(traps, label="virus", score="boosting")
    return trueness.plots.binormal_fit(t)
