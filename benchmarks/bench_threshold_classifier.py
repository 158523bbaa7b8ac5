"""How good and how fast is an exact cut, beside TunedThresholdClassifierCV?

For F1 and balanced accuracy: the mean value on cases that neither saw, and the seconds
of ``fit``.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

from trueness.estimators import ThresholdClassifier

METRICS = {"f1": f1_score, "balanced_accuracy": balanced_accuracy_score}
SIZES = (400, 4_000, 40_000)
SEEDS = range(10)


class Row(NamedTuple):
    metric: str
    training_cases: int
    trueness_value: str
    sklearn_value: str
    trueness_s: str
    sklearn_s: str


def models(metric):
    line = LogisticRegression()
    yield "Trueness", ThresholdClassifier(line, maximize=metric, cv=5)
    yield "scikit-learn", TunedThresholdClassifierCV(line, scoring=metric, cv=5)


def measured(n, metric):
    found = {}
    for seed in SEEDS:
        X, y = make_classification(n, weights=[0.95], flip_y=0.02, random_state=seed)
        parts = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
        for name, model in models(metric):
            began = perf_counter()
            model.fit(parts[0], parts[2])
            seconds = perf_counter() - began
            value = METRICS[metric](parts[3], model.predict(parts[1]))
            found.setdefault(name, []).append((value, seconds))
    return {name: np.mean(rows, axis=0) for name, rows in found.items()}


def rows() -> Iterator[Row]:
    for metric in METRICS:
        for n in SIZES:
            (ours, seconds), (theirs, their_seconds) = measured(n, metric).values()
            yield Row(
                metric,
                n // 2,
                f"{ours:.4f}",
                f"{theirs:.4f}",
                f"{seconds:.3f}",
                f"{their_seconds:.3f}",
            )
