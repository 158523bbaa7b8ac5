"""Scores of the two classes, and the zone in which a person should look."""

import pandas as pd

import trueness


def chart():
    traps = pd.read_csv(trueness.samples.path("west_nile"))
    t = trueness.tally(traps, label="virus", score="boosting")
    found = trueness.best_thresholds(t, minimize="cost(fp=1, fn=20, defer=0.6)")
    return trueness.plots.zones(t, found)
