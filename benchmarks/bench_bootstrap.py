"""2000 bootstrap replicates of the AUC at 10^5 rows, against a loop over scikit-learn

Goal: 40 times on continuous scores, 200 on three-decimal ones. The loop is timed over
few replicates and scaled up; both draw positives and negatives apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from side_by_side import fastest
from sklearn.metrics import roc_auc_score

import trueness
from trueness.counts.resampling import auc_replicates

REPLICATES, LOOP = 2000, 20


class Row(NamedTuple):
    rows: int
    scores: str
    prevalence: float
    trueness_s: float
    loop_s: float
    ratio: float
    spread_ratio: float  # standard deviation of the replicates over DeLong's


def loop(y: np.ndarray, s: np.ndarray, rng: np.random.Generator) -> None:
    pos, neg = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    for _ in range(LOOP):
        at = np.concatenate([rng.choice(pos, pos.size), rng.choice(neg, neg.size)])
        roc_auc_score(y[at], s[at])


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(1)
    n = 100_000
    for prevalence in (0.1, 0.5):
        y = (rng.random(n) < prevalence).astype(int)
        continuous = 1 / (1 + np.exp(-rng.normal(size=n) - y))
        for kind, s in (
            ("continuous", continuous),
            ("three decimals", continuous.round(3)),
        ):
            t = trueness.tally(y, s)
            # the tally is made inside: arrays to replicates
            best = fastest(
                {
                    "trueness": lambda y=y, s=s: auc_replicates(
                        trueness.tally(y, s), REPLICATES, 1
                    ),
                    "loop": lambda y=y, s=s: loop(y, s, rng),
                }
            )
            whole = best["loop"] * REPLICATES / LOOP
            spread = auc_replicates(t, REPLICATES, 2).std()
            yield Row(
                n,
                kind,
                prevalence,
                round(best["trueness"], 3),
                round(whole, 1),
                round(whole / best["trueness"], 1),
                round(spread / trueness.auc(t, method="delong").se, 3),
            )
