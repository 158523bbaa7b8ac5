"""Do the intervals of ``validate_threshold`` hold the truth of the chosen rule?

    python benchmarks/study_validation.py [SAMPLES]

Samples from two normal or exponential distributions. The threshold is chosen in each
sample; the truth is what that threshold does in the population (``flagged``: in as many
new cases, on average). Share of 95 % intervals that hold it: "fixed" takes the cut as
given (Wilson), the others are those of ``validate_threshold``:
``corrected``, ``flagged``, and the lowest and highest of all metrics that it reports.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

import trueness
from trueness._core.binomial import wilson
from trueness.metrics.definitions import METRICS

REPLICATES = 100
DESIGNS = (
    # objective, constraints, cases, prevalence, shift, shape
    ("accuracy", (), 60, 0.4, 1.0, "normal"),
    ("f1", (), 200, 0.1, 1.5, "normal"),
    ("f1", (), 1000, 0.02, 1.5, "normal"),
    ("accuracy", (), 1000, 0.5, 0.5, "normal"),
    ("specificity", ("recall >= 0.9",), 200, 0.3, 1.5, "normal"),
    ("youden", (), 80, 0.5, 1.0, "exponential"),
    ("5*fn + fp", (), 200, 0.2, 1.2, "normal"),
    ("recall", ("precision >= 0.6",), 300, 0.3, 1.5, "normal"),
)


class Row(NamedTuple):
    objective: str
    cases: int
    prevalence: float
    shape: str
    fixed_accuracy: str
    corrected: str
    flagged: str
    metrics: str


def rates(threshold: float, shift: float, shape: str) -> tuple[float, float]:
    """Recall and false positive rate of the population."""
    if shape == "normal":
        return float(ndtr(shift - threshold)), float(ndtr(-threshold))
    tail = [np.exp(-max(threshold, 0.0) / mean) for mean in (1 + shift, 1.0)]
    return float(tail[0]), float(tail[1])


def draw(rng, n, share, shift, shape):
    y = rng.random(n) < share
    y[:2] = False, True
    if shape == "normal":
        return y, rng.normal(size=n) + shift * y
    return y, rng.exponential(size=n) * (1 + shift * y)


def rows(samples: int = 300):
    for objective, limits, n, share, shift, shape in DESIGNS:
        rng = np.random.default_rng(n + len(objective))
        hits, fixed, corrected = {m: [] for m in METRICS}, [], []
        goal = {"minimize" if "fn" in objective else "maximize": objective}
        for _ in range(samples):
            t = trueness.tally(*draw(rng, n, share, shift, shape))
            v = trueness.validate_threshold(
                t, subject_to=limits, rng=rng, replicates=REPLICATES, **goal
            )
            tpr, fpr = rates(v.choice.threshold, shift, shape)
            c = trueness.Confusion.from_rates(tpr, fpr, share, n)
            corrected.append(holds(v.corrected, trueness.metric(objective), c))
            right = v.choice.confusion.tp + v.choice.confusion.tn
            low, high = wilson(right, n, 0.95)
            fixed.append(low <= float(trueness.accuracy(c)) <= high)
            for name in hits:
                if name in v.metrics:
                    hits[name].append(holds(v.metrics[name], METRICS[name], c))
        covered = [np.nanmean(h) for h in hits.values()]
        yield Row(
            " with ".join((objective, *limits)),
            n,
            share,
            shape,
            f"{np.mean(fixed):.3f}",
            f"{np.nanmean(corrected):.3f}",
            f"{np.mean(hits['flagged']):.3f}",
            f"{min(covered):.3f} to {max(covered):.3f}",
        )


def holds(e: Any, metric: Any, c: Any) -> float:
    """Does the interval hold the metric of the population? NaN where it has none."""
    true = float(metric(c))
    return float(e.low - 1e-9 <= true <= e.high + 1e-9) if np.isfinite(true) else np.nan


if __name__ == "__main__":
    print("| " + " | ".join(Row._fields) + " |")
    print("|" + " --- |" * len(Row._fields))
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 300):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
