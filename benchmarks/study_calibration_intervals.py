"""Do the intervals of proper scores, their parts and calibration errors cover?

    python benchmarks/study_calibration_intervals.py [SAMPLES]

Scores on a grid with a known share of positives at each, so that every truth is a sum:
"calibrated" (share = score), "sure" (scores near 0 and 1, calibrated), "overdone" (half
the log-odds are true), "rare" (2 % positive) and "too high" (20 % positive where 50 %
are said). One row a design and size: the share of samples whose 95 % interval holds the
truth. The confidence band of the reliability curve is counted at the scores of the
sample.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import trueness

SIZES = (20, 100, 1000)
GRID = (np.arange(60) + 0.5) / 60


class Row(NamedTuple):
    design: str
    n: int
    brier: float
    log_loss: float
    mcb: float
    dsc: float
    unc: float
    error: float
    ici: float
    band: float


def logistic(x):
    return 1 / (1 + np.exp(-x))


def designs() -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Scores, how often each is given, and the share of positives there."""
    flat = np.ones(GRID.size) / GRID.size
    ends = GRID**-0.5 * (1 - GRID) ** -0.5
    logit = np.log(GRID / (1 - GRID))
    sure = np.array([0.01, 0.03, 0.97, 0.99])
    rare = np.array([0.002, 0.005, 0.01, 0.05, 0.2])
    return {
        "calibrated": (GRID, flat, GRID),
        "sure": (sure, np.array([0.4, 0.2, 0.1, 0.3]), sure),
        "overdone": (GRID, ends / ends.sum(), logistic(logit / 2)),
        "rare": (rare, np.array([0.4, 0.25, 0.2, 0.1, 0.05]), rare),
        "too high": (GRID, flat, 0.4 * GRID),
    }


def truth(score, weight, share):
    """Brier score and log loss, then MCB, DSC, UNC of Brier, mean distance."""
    rho = float(weight @ share)
    brier = float(weight @ (share * (1 - score) ** 2 + (1 - share) * score**2))
    log = -float(weight @ (share * np.log(score) + (1 - share) * np.log1p(-score)))
    left = float(weight @ (share * (1 - share)))
    away = float(weight @ np.abs(share - score))
    return brier, log, brier - left, rho * (1 - rho) - left, rho * (1 - rho), away


def sample(rng, n, score, weight, share):
    at = rng.choice(score.size, n, p=weight)
    return trueness.tally(rng.random(n) < share[at], score[at], positive=True)


def one(t, rng, design):
    score, _, share = design
    true = truth(*design)
    b = trueness.brier(t, replicates=200, rng=rng)
    log = trueness.log_loss(t, replicates=20, rng=rng)
    error = trueness.calibration_error(t, replicates=120, rng=rng)
    index = trueness.calibration_index(t, replicates=120, rng=rng)
    r = trueness.reliability(t, replicates=200, rng=rng)
    at = np.interp(r.score, score, share)
    band = np.mean((r.confidence_low <= at) & (at <= r.confidence_high))
    parts = (b, log, b.mcb, b.dsc, b.unc)
    held = [e.low <= v <= e.high for e, v in zip(parts, true, strict=False)]
    away = [e.low <= true[5] <= e.high for e in (error.plain, index.ici)]
    return [*held, *away, band]


def rows(samples: int = 200) -> Iterator[Row]:
    warnings.simplefilter("error")
    for name, design in designs().items():
        for n in SIZES:
            rng = np.random.default_rng(n)
            found = [one(sample(rng, n, *design), rng, design) for _ in range(samples)]
            yield Row(name, n, *np.mean(found, axis=0).round(3).tolist())


if __name__ == "__main__":
    print("| " + " | ".join(Row._fields) + " |")
    print("|---" * len(Row._fields) + "|")
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 200):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
