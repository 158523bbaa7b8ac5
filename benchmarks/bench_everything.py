"""Arrays to all curves, areas and thresholds, against four functions of scikit-learn

Trueness: AUC with its DeLong interval, average precision, ROC and PR arrays, and the
best thresholds by accuracy, F1 and Youden's J, from one tally. scikit-learn:
roc_auc_score, roc_curve, precision_recall_curve and average_precision_score, and no
threshold at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from bench_counting import scores
from side_by_side import fastest, peak_bytes
from sklearn import metrics as sk

import trueness


class Row(NamedTuple):
    rows: str
    scores: str
    trueness_s: str
    sklearn_s: str
    times_faster: str
    trueness_bytes_a_row: str
    sklearn_bytes_a_row: str


def by_trueness(label: np.ndarray, score: np.ndarray) -> tuple[Any, ...]:
    t = trueness.tally(label, score)
    best = [trueness.best_threshold(t, m) for m in ("accuracy", "f1", "youden")]
    curves = trueness.roc(t), trueness.precision_recall(t)
    return trueness.auc(t, method="delong"), trueness.average_precision(t), best, curves


def by_sklearn(label: np.ndarray, score: np.ndarray) -> tuple[Any, ...]:
    return (
        sk.roc_auc_score(label, score),
        sk.average_precision_score(label, score),
        sk.roc_curve(label, score),
        sk.precision_recall_curve(label, score),
    )


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    for n in (10**6, 10**7):
        for name, score in scores(rng, n):
            label = (rng.random(n) < 0.2 + 0.3 * (score > 0.5)).astype(np.int64)
            runs = {
                "trueness": lambda y=label, s=score: by_trueness(y, s),
                "sklearn": lambda y=label, s=score: by_sklearn(y, s),
            }
            best = fastest(runs)
            yield Row(
                f"{n:.0e}",
                name,
                f"{best['trueness']:.3f}",
                f"{best['sklearn']:.3f}",
                f"{best['sklearn'] / best['trueness']:.1f}",
                *(f"{peak_bytes(run) / n:.1f}" for run in runs.values()),
            )
