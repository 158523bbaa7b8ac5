"""How alike three models err: rank correlation within the classes."""

import pandas as pd

import karat

MODELS = ["boosting", "logistic", "neighbours"]


def chart():
    traps = pd.read_csv(karat.samples.path("west_nile"))
    models = karat.panel(traps, label="virus", scores=MODELS)
    return karat.plots.rank_correlation(karat.fidel(models, method="correlated"))
