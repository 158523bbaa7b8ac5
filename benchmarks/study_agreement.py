"""How good are AUCs and prevalence from agreement alone, without a label?

M classifiers that are independent within the classes, N = 5,000 cases. Errors are
against the truth of the simulation; the ensemble is FiDEL from the estimates against
FiDEL from all labels, on the same cases.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

import trueness

REPEATS = 40


class Row(NamedTuple):
    m: int
    aucs: str
    prevalence: float
    method: str
    mean_error: float
    largest_error: float
    prevalence_error: float
    auc_coverage: float
    prevalence_coverage: float
    doubted: float
    ensemble_loss: float


SETTINGS = [
    (10, 0.55, 0.75, 0.4),
    (10, 0.6, 0.9, 0.4),
    (5, 0.6, 0.9, 0.1),
    (4, 0.75, 0.9, 0.8),
    (3, 0.65, 0.85, 0.4),
    (5, 0.7, 0.9, 0.02),
    (5, 0.6, 0.8, 0.02),
]


def one(p, aucs, rho, method):
    found = trueness.agreement(p, dependence="none", method=method)
    estimates = list(found.auc.values())
    error = np.abs(np.array([e.value for e in estimates]) - aucs)
    cover = [e.low <= a <= e.high for e, a in zip(estimates, aucs, strict=True)]
    share = found.prevalence
    values = {k: float(np.clip(e.value, 0.01, 0.99)) for k, e in found.auc.items()}
    blind = trueness.fidel(p, auc=values, prevalence=share.value)
    areas = [trueness.auc(p.combine(f)).value for f in (trueness.fidel(p), blind)]
    return (
        error.mean(),
        error.max(),
        abs(share.value - rho),
        np.mean(cover),
        share.low <= rho <= share.high,
        found.misfit < 0.05,
        areas[0] - areas[1],
    )


def rows():
    warnings.simplefilter("ignore")
    for m, low, high, rho in SETTINGS:
        aucs = np.linspace(low, high, m)
        for method in ("covariance", "likelihood"):
            rng = np.random.default_rng(m)
            found = [
                one(
                    trueness.simulate_panel(5000, round(5000 * rho), aucs, rng=rng),
                    aucs,
                    rho,
                    method,
                )
                for _ in range(REPEATS)
            ]
            mean = [round(float(v), 4) for v in np.mean(found, axis=0)]
            yield Row(m, f"{low} to {high}", rho, method, *mean)


if __name__ == "__main__":
    print("| " + " | ".join(Row._fields) + " |")
    print("|---" * len(Row._fields) + "|")
    for row in rows():
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
