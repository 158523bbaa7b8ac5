"""How good is each judge, by sixty labels? Five reward models as judges."""

import pandas as pd

import trueness


def chart():
    d = pd.read_csv(trueness.samples.path("judges"))
    judges = [c for c in d.columns if c not in ("pair", "kind", "human", "truth")]
    panel = trueness.panel(d, label="human", scores=judges)
    return trueness.plots.judge_plane(trueness.prevalence(panel, labelled="random"))
