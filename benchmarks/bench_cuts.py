"""How long does every question of the room threshold take?

    python benchmarks/bench_cuts.py [CASES] [DIGITS]

Scores of two normal distributions 1.5 apart, 30 % positive; DIGITS rounds them.
"""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

import numpy as np

import trueness


class Row(NamedTuple):
    question: str
    seconds: str


def _calls(t, p, groups):
    two = {"minimize": "cost(fp=1, fn=10, defer=0.3)"}
    sides = ["precision above >= 0.6", "npv below >= 0.97"]
    limits = ["recall_gap <= 0.02", f"flagged <= {t.n // 5}"]
    return {
        "best_threshold": lambda: trueness.best_threshold(t, "f1"),
        "best_threshold, two constraints": lambda: trueness.best_threshold(
            t, "80*tp - 5*fp", ["recall >= 0.6", "precision >= 0.5"]
        ),
        "best_threshold, range of prevalences": lambda: trueness.best_threshold(
            t, "net_benefit(0.25)", prevalence=(0.01, 0.05)
        ),
        "validate_threshold": lambda: trueness.validate_threshold(
            t, "f1", replicates=200
        ),
        "guaranteed_threshold, recall": lambda: trueness.guaranteed_threshold(
            t, "recall >= 0.8"
        ),
        "guaranteed_threshold, three": lambda: trueness.guaranteed_threshold(
            t, ["f1 >= 0.5", "precision >= 0.45", "youden >= 0.4"]
        ),
        "at_threshold": lambda: trueness.at_threshold(t, 0.5),
        "best_thresholds": lambda: trueness.best_thresholds(t, **two),
        "best_thresholds, constraints": lambda: trueness.best_thresholds(
            t, **two, subject_to=["defer <= 0.7", *sides]
        ),
        "best_thresholds, quotient": lambda: trueness.best_thresholds(
            t, maximize="accuracy", subject_to="defer <= 0.1"
        ),
        "best_thresholds, accuracy bound": lambda: trueness.best_thresholds(
            t, minimize="defer", subject_to="accuracy >= 0.9"
        ),
        "validate_threshold, two": lambda: trueness.validate_threshold(t, **two),
        "guaranteed_threshold, two": lambda: trueness.guaranteed_threshold(t, sides),
        "group_thresholds, 10 groups": lambda: trueness.group_thresholds(
            groups, subject_to=limits
        ),
    }


def rows(n: int = 1_000_000, digits: int = 15):
    rng = np.random.default_rng(1)
    y = rng.random(n) < 0.3
    s = np.round(
        rng.normal(size=(n, 3)) + np.array([1.5, 1.4, 1.2]) * y[:, None], digits
    )
    parts = [slice(k * n // 10, (k + 1) * n // 10) for k in range(10)]
    groups = {str(k): trueness.tally(y[x], s[x, 0]) for k, x in enumerate(parts)}
    p = trueness.panel(y, {"a": s[:, 0], "b": s[:, 1], "c": s[:, 2]})
    for name, call in _calls(trueness.tally(y, s[:, 0]), p, groups).items():
        start = time.perf_counter()
        call()
        yield Row(name, f"{time.perf_counter() - start:.2f}")


if __name__ == "__main__":
    print("| " + " | ".join(Row._fields) + " |")
    print("|" + " --- |" * len(Row._fields))
    for row in rows(*map(int, sys.argv[1:])):
        print("| " + " | ".join(row) + " |", flush=True)
