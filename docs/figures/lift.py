"""How many times more frequent positives are among the flagged (lift)."""

import pandas as pd

import karat

MODELS = ["boosting", "logistic", "neighbours"]


def chart():
    traps = pd.read_csv(karat.samples.path("west_nile"))
    models = karat.panel(traps, label="virus", scores=MODELS)
    return karat.plots.lift_curve(models)
