"""Every way to combine three models, judged on cases not fitted on."""

import pandas as pd

import karat

MODELS = ["boosting", "logistic", "neighbours"]


def chart():
    traps = pd.read_csv(karat.samples.path("west_nile"))
    models = karat.panel(traps, label="virus", scores=MODELS)
    return karat.plots.combiners(karat.compare_combiners(models, rng=0))
