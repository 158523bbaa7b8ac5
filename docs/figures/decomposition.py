"""Which model discriminates better, which is calibrated better?"""

import pandas as pd

import trueness

MODELS = ["boosting", "logistic", "neighbours"]


def chart():
    traps = pd.read_csv(trueness.samples.path("west_nile"))
    models = trueness.panel(traps, label="virus", scores=MODELS)
    return trueness.plots.decomposition(trueness.brier(models))
