"""How many times more frequent positives are among the flagged (lift)."""

import pandas as pd

import trueness

MODELS = ["boosting", "logistic", "neighbours"]


def chart():
    traps = pd.read_csv(trueness.samples.path("west_nile"))
    models = trueness.panel(traps, label="virus", scores=MODELS)
    return trueness.plots.lift_curve(models)
