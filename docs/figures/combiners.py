"""Every way to combine three models, judged on cases not fitted on."""

import pandas as pd

import trueness

MODELS = ["boosting", "logistic", "neighbours"]


def chart():
    traps = pd.read_csv(trueness.samples.path("west_nile"))
    models = trueness.panel(traps, label="virus", scores=MODELS)
    return trueness.plots.combiners(trueness.compare_combiners(models, rng=0))
