"""When classifiers err together: FiDEL, its correlated form, crowds, the best.

The correlated-ranks simulation of Kim et al. 2021 (Figs S1, S2): N = 500, prevalence
0.4, M classifiers with AUCs from 0.55 to 0.75, every pair correlating by r within the
classes. Fitted on one sample, judged on another of 5,000 cases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import trueness

REPEATS = 100
GRID = np.round(np.arange(0, 0.61, 0.1), 1)
NAMES = ("fidel", "fidel-correlated", "wisdom-of-crowds", "best-single")


class Row(NamedTuple):
    m: int
    r: float
    fidel: float
    correlated: float
    wisdom_of_crowds: float
    best_single: float
    fidel_minus_best: float
    correlated_minus_fidel: float
    standard_error: float
    crossing_measured: float
    crossing_predicted: float


def judge(m, r, rng):
    aucs = np.linspace(0.55, 0.75, m)
    found = np.empty((REPEATS, len(NAMES)))
    for k in range(REPEATS):
        p = trueness.simulate_panel(500, 200, aucs, correlation=r, rng=rng)
        new = trueness.simulate_panel(5000, 2000, aucs, correlation=r, rng=rng)
        found[k] = [
            trueness.auc(new.combine(trueness.COMBINERS[name](p))).value
            for name in NAMES
        ]
    return found


def crossing(gains):
    """Where does the gain over the best change its sign, between two correlations?"""
    for (a, x), (b, y) in zip(
        zip(GRID, gains, strict=True),
        zip(GRID[1:], gains[1:], strict=True),
        strict=False,
    ):
        if x > 0 >= y:
            return round(float(a + (b - a) * x / (x - y)), 3)
    return float("nan")


def rows():
    for m in (2, 4, 7, 10):
        rng = np.random.default_rng(m)
        found = [judge(m, r, rng) for r in GRID]
        cross = crossing([float((f[:, 0] - f[:, 3]).mean()) for f in found])
        predicted = round(
            trueness.ensembles.crossing_correlation(np.linspace(0.55, 0.75, m)), 3
        )
        for r, f in zip(GRID, found, strict=True):
            mean = [round(float(v), 4) for v in f.mean(axis=0)]
            gain, aware = f[:, 0] - f[:, 3], f[:, 1] - f[:, 0]
            error = float(aware.std(ddof=1)) / REPEATS**0.5
            numbers = [round(float(v), 4) for v in (gain.mean(), aware.mean(), error)]
            yield Row(m, float(r), *mean, *numbers, cross, predicted)
