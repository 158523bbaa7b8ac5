"""Differences of the AUC of every pair, on the same cases."""

import pandas as pd

import karat

MODELS = ["boosting", "logistic", "neighbours"]


def chart():
    traps = pd.read_csv(karat.samples.path("west_nile"))
    models = karat.panel(traps, label="virus", scores=MODELS)
    return karat.plots.comparison(karat.compare_auc(models))
