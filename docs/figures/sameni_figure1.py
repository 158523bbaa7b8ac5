"""Score distributions of both classes: Fig. 1 of Sameni (2025)."""

import numpy as np

import trueness


def chart():
    rng = np.random.default_rng(0)
    label = np.repeat([1, 0], 5000)
    score = rng.normal(np.where(label == 1, 1.5, 0.0), np.where(label == 1, 1.2, 1.0))
    return trueness.plots.score_distributions(trueness.tally(label, score))
