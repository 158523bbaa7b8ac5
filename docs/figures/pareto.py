"""Two aims at once: the cuts that no other cut beats."""

import pandas as pd

import karat


def chart():
    traps = pd.read_csv(karat.samples.path("west_nile"))
    t = karat.tally(traps, label="virus", score="boosting")
    return karat.plots.pareto(t, ["recall", "precision"])
