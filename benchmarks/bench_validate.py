"""Validated threshold: 2000 bootstrap replicates of the best F1 with recall >= 0.5.

10^5 cases. The loop draws cases, takes scikit-learn's precision_recall_curve of them,
chooses the threshold and evaluates F1 on the cases left out; it is timed for 20
replicates, in turns, and multiplied.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from side_by_side import fastest
from sklearn.metrics import f1_score, precision_recall_curve

import trueness

CASES, REPLICATES, LOOPS = 10**5, 2000, 20


class Row(NamedTuple):
    scores: str
    distinct: int
    loop_s: str
    trueness_s: str
    ratio: str


def loop(y: np.ndarray, score: np.ndarray) -> list[float]:
    rng, values = np.random.default_rng(1), []
    for _ in range(LOOPS):
        drawn = rng.integers(y.size, size=y.size)
        precision, recall, cut = precision_recall_curve(y[drawn], score[drawn])
        f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
        best = cut[np.argmax(np.where(recall >= 0.5, f1, -1)[:-1])]
        out = np.ones(y.size, dtype=bool)
        out[drawn] = False
        values.append(f1_score(y[out], score[out] >= best))
    return values


def rows():
    rng = np.random.default_rng(0)
    y = (rng.random(CASES) < 0.2).astype(np.int64)
    raw = 1 / (1 + np.exp(-rng.normal(size=CASES) - y))
    for name, score in (("continuous", raw), ("three decimals", raw.round(3))):
        t = trueness.tally(y, score)
        took = fastest(
            {
                "loop": lambda s=score: loop(y, s),
                "trueness": lambda t=t: trueness.validate_threshold(
                    t, "f1", "recall >= 0.5", rng=1, replicates=REPLICATES
                ),
            },
            turns=2,
        )
        slow = took["loop"] * REPLICATES / LOOPS
        yield Row(
            name,
            len(t),
            f"{slow:.0f}",
            f"{took['trueness']:.1f}",
            f"{slow / took['trueness']:.0f}",
        )
