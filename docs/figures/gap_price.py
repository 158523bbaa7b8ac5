"""What it costs to let the recall of groups differ less."""

import numpy as np

import trueness


def chart():
    rng, groups = np.random.default_rng(3), {}
    for name, share, shift in (("a", 0.1, 1.0), ("b", 0.2, 1.6), ("c", 0.35, 1.3)):
        y = rng.random(2000) < share
        groups[name] = trueness.tally(y, rng.normal(size=2000) + shift * y)
    steps = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5]
    return trueness.plots.gap_price(trueness.gap_price(groups, "recall_gap", at=steps))
