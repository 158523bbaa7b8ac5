"""Miss rate against false alarm rate on probit axes (DET)."""

import pandas as pd

import karat

MODELS = ["boosting", "logistic", "neighbours"]


def chart():
    traps = pd.read_csv(karat.samples.path("west_nile"))
    models = karat.panel(traps, label="virus", scores=MODELS)
    return karat.plots.det(models)
