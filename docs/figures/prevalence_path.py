"""How the best cut moves with the prevalence of use."""

import pandas as pd

import trueness


def chart():
    traps = pd.read_csv(trueness.samples.path("west_nile"))
    t = trueness.tally(traps, label="virus", score="boosting")
    found = trueness.best_threshold(t, "f1", prevalences=(0.01, 0.1))
    return trueness.plots.prevalence_path(found)
