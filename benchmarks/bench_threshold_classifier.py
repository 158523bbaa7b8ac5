"""How good and how fast is an exact cut, beside TunedThresholdClassifierCV?

python benchmarks/bench_threshold_classifier.py prints a table: for F1 and balanced
accuracy, the mean value on cases that neither saw, and the seconds of ``fit``.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

from trueness.estimators import ThresholdClassifier

METRICS = {"f1": f1_score, "balanced_accuracy": balanced_accuracy_score}
SIZES = (400, 4_000, 40_000)
SEEDS = range(10)


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


def main():
    print("| metric | training cases | Trueness | scikit-learn | s | s |")
    print("|---|---:|---:|---:|---:|---:|")
    for metric in METRICS:
        for n in SIZES:
            (a, s), (b, t) = measured(n, metric).values()
            row = f"{a:.4f} | {b:.4f} | {s:.3f} | {t:.3f}"
            print(f"| {metric} | {n // 2:,} | {row} |", flush=True)


if __name__ == "__main__":
    main()
