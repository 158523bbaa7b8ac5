"""The same cuts in the ROC plane."""

import pandas as pd

import karat


def chart():
    traps = pd.read_csv(karat.samples.path("west_nile"))
    t = karat.tally(traps, label="virus", score="boosting")
    return karat.plots.pareto_plane(t, ["recall", "precision"])
