"""One ROC curve for each year."""

import pandas as pd

import karat


def chart():
    traps = pd.read_csv(karat.samples.path("west_nile"))
    years = karat.tally(traps, label="virus", score="boosting", by="year")
    return karat.plots.roc(years)
