"""The same cuts in the ROC plane."""

import pandas as pd

import trueness


def chart():
    traps = pd.read_csv(trueness.samples.path("west_nile"))
    t = trueness.tally(traps, label="virus", score="boosting")
    return trueness.plots.pareto_plane(t, ["recall", "precision"])
