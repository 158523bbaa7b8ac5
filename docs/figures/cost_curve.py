"""What errors cost at best, for every weight of the two kinds."""

import pandas as pd

import trueness

MODELS = ["boosting", "logistic", "neighbours"]


def chart():
    traps = pd.read_csv(trueness.samples.path("west_nile"))
    models = trueness.panel(traps, label="virus", scores=MODELS)
    return trueness.plots.cost_curve(models)
