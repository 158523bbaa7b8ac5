"""How far is the raw rate from the corrected one? Five reward models as judges."""

import pandas as pd

import trueness


def chart():
    d = pd.read_csv(trueness.samples.path("judges"))
    judges = [c for c in d.columns if c not in ("pair", "kind", "human", "truth")]
    panels = trueness.panel(d, label="human", scores=judges, by="kind")
    rates = {k: trueness.prevalence(p, labelled="random") for k, p in panels.items()}
    return trueness.plots.judge_rates(rates)
