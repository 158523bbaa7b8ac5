"""What acting on a score is worth."""

import numpy as np

import trueness


def chart():
    rng = np.random.default_rng(1)
    y = rng.random(2000) < 0.25
    x = rng.normal(size=2000) + 1.4 * y
    odds = 0.25 / 0.75 * np.exp(1.4 * x - 1.4**2 / 2)
    return trueness.plots.decision_curve(trueness.tally(y, odds / (1 + odds)))
