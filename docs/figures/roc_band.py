"""Two classifiers on the same 400 cases, with bands for the whole curves."""

import numpy as np

import trueness


def chart():
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.3
    a = rng.normal(size=400) + 1.5 * y
    cases = trueness.panel(y, {"A": a, "B": a + 1.2 * rng.normal(size=400)})
    return trueness.plots.roc(cases, band="simultaneous")
