"""How alike three models err: rank correlation within the classes."""

import pandas as pd

import trueness

MODELS = ["boosting", "logistic", "neighbours"]


def chart():
    traps = pd.read_csv(trueness.samples.path("west_nile"))
    models = trueness.panel(traps, label="virus", scores=MODELS)
    return trueness.plots.rank_correlation(trueness.fidel(models, method="correlated"))
