"""Arrays to AUC with its interval, against scikit-learn's roc_auc_score alone

Scores and labels are NumPy arrays; time and memory include everything from them to
the answer. Memory is what is allocated beyond the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from side_by_side import fastest, peak_bytes
from sklearn.metrics import roc_auc_score

import trueness


class Row(NamedTuple):
    rows: str
    scores: str
    trueness_s: str
    sklearn_s: str
    times_faster: str
    trueness_bytes_a_row: str
    sklearn_bytes_a_row: str
    same_auc_to: str


def scores(rng: np.random.Generator, n: int) -> Iterator[tuple[str, np.ndarray]]:
    p = rng.random(n)
    yield "float64", p
    yield "float32", p.astype(np.float32)
    yield "logits of both signs", np.log(p / (1 - p))
    yield "three decimals", np.round(p, 3)


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    for n in (10**6, 10**7):
        for name, score in scores(rng, n):
            label = (rng.random(n) < 0.2 + 0.3 * (score > 0.5)).astype(np.int64)
            runs = {
                "trueness": lambda y=label, s=score: (
                    trueness.auc(trueness.tally(y, s)).value
                ),
                "sklearn": lambda y=label, s=score: roc_auc_score(y, s),
            }
            best = fastest(runs)
            yield Row(
                f"{n:.0e}",
                name,
                f"{best['trueness']:.3f}",
                f"{best['sklearn']:.3f}",
                f"{best['sklearn'] / best['trueness']:.1f}",
                *(f"{peak_bytes(run) / n:.1f}" for run in runs.values()),
                f"{abs(runs['trueness']() - runs['sklearn']()):.0e}",
            )
