"""Solving the Fermi-Dirac equations: time for a distribution, whatever N.

Against the same equations by scipy.optimize.root on literal sums, as one would write
them, where that is possible at all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import root
from scipy.special import expit
from side_by_side import fastest

import trueness


class Row(NamedTuple):
    n: str
    n_pos: str
    auc: str
    trueness_ms: float
    scipy_root_ms: str
    scipy_error: str


def by_root(n, n_pos, auc):
    c = (np.arange(1, n + 1) - (n + 1) / 2) / n
    goal = np.array([n_pos, n_pos * (n - n_pos) * (0.5 - auc) / n])

    def equations(x):
        p = expit(x[0] - x[1] * c)
        return np.array([p.sum(), c @ p]) - goal

    start = [math.log(n_pos / (n - n_pos)), 12 * (auc - 0.5)]
    found = root(equations, start)
    return found.x[1] / n


def rows():
    cases = [
        (100, 50, 0.9),
        (1000, 20, 0.97),
        (100, 50, 0.5 + 1e-9),
        (100, 50, 1 - 1e-9),
        (10**6, 10**4, 0.9),
        (10**9, 10**7, 0.9),
        (10**9, 1, 1 - 1e-9),
    ]
    for n, n_pos, auc in cases:
        numbers = {"n": n, "n_pos": n_pos, "auc": auc}
        contestants = {"trueness": lambda k=numbers: trueness.fermi_dirac(**k)}
        small = n <= 10**6
        if small:
            contestants["scipy"] = lambda a=(n, n_pos, auc): by_root(*a)
        best = fastest(contestants, turns=30 if n <= 1000 else 5)
        error = "too large to try"
        if small:
            beta = trueness.fermi_dirac(**numbers).beta
            error = f"{abs(by_root(n, n_pos, auc) / beta - 1):.0e}"
        other = f"{1e3 * best['scipy']:.2f}" if small else ""
        ours = round(1e3 * best["trueness"], 3)
        yield Row(f"{n:,}", f"{n_pos:,}", f"{auc:.12g}", ours, other, error)
