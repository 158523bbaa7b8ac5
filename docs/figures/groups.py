"""One ROC curve for each year."""

import pandas as pd

import trueness


def chart():
    traps = pd.read_csv(trueness.samples.path("west_nile"))
    years = trueness.tally(traps, label="virus", score="boosting", by="year")
    return trueness.plots.roc(years)
