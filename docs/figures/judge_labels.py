"""How much would more labels narrow the interval? Five reward models as judges."""

import pandas as pd

import trueness


def chart():
    d = pd.read_csv(trueness.samples.path("judges"))
    judges = [c for c in d.columns if c not in ("pair", "kind", "human", "truth")]
    panel = trueness.panel(d, label="human", scores=judges)
    found = trueness.prevalence(panel, labelled="random")
    return trueness.plots.judge_labels(found, panel)
