"""Two aims at once: the cuts that no other cut beats."""

import pandas as pd

import trueness


def chart():
    traps = pd.read_csv(trueness.samples.path("west_nile"))
    t = trueness.tally(traps, label="virus", score="boosting")
    return trueness.plots.pareto(t, ["recall", "precision"])
