"""Which judges err together? Five reward models as judges."""

import pandas as pd

import trueness


def chart():
    d = pd.read_csv(trueness.samples.path("judges"))
    judges = [c for c in d.columns if c not in ("pair", "kind", "human", "truth")]
    return trueness.plots.judge_errors(trueness.panel(d, label="truth", scores=judges))
