"""Do whole curves lie in their bands, and do tests of curves keep their level?

    python benchmarks/study_curves.py bands|dominance [SAMPLES]

``bands``: how often the band of the ROC curve, and that of the precision-recall curve,
holds the whole curve of the population. ``dominance``: p-values below .05 of
``dominates``, of classifiers that are equally good, better, or cross; how often
``margin`` is at least the truth.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import trueness

Line = dict[str, Any]
TAIL = np.geomspace(1e-12, 0.5, 4000)
FPR = np.concatenate([[0.0], TAIL, 1 - TAIL[-2::-1], [1.0]])
BANDS = (
    # cases, prevalence, AUC, law, share of positives by design (0: a cohort)
    (50, 0.3, 0.8, "normal", 0), (80, 0.2, 0.75, "mixture", 0),
    (250, 0.1, 0.7, "exponential", 0), (400, 0.02, 0.9, "normal", 0),
    (2000, 0.1, 0.75, "mixture", 0), (120, 0.1, 0.85, "exponential", 0.4),
    (1200, 0.02, 0.9, "normal", 0.25),
)  # fmt: skip
PAIRS = (
    # positives and negatives, AUC of the second, gain of the first, do curves cross?
    ((10, 40), 0.75, 0.0, False), ((30, 30), 0.8, 0.0, False),
    ((200, 200), 0.95, 0.0, False), ((50, 50), 0.78, 0.1, False),
    ((200, 200), 0.8, 0.05, False), ((100, 100), 0.8, 0.0, True),
)  # fmt: skip


def rates(law: str, area: float) -> np.ndarray:
    """Give the true positive rates at ``FPR``; in a mixture 30 % are like negatives."""
    if law == "exponential":
        return FPR ** ((1 - area) / area)
    if law == "mixture":
        shift = np.sqrt(2) * ndtri((area - 0.15) / 0.7)
        return 0.7 * ndtr(shift + ndtri(FPR)) + 0.3 * FPR
    return ndtr(np.sqrt(2) * ndtri(area) + ndtri(FPR))


def cohort(rng: np.random.Generator, n: int, share: float) -> np.ndarray:
    """Draw labels as they come, until both classes are there."""
    while True:
        y = (rng.random(n) < share).astype(int)
        if 0 < y.sum() < n:
            return y


def bands(samples: int) -> Iterator[Line]:
    """How often do bands hold the whole curve, and how wide are they?"""
    for k, (n, share, area, law, design) in enumerate(BANDS):
        rng, tpr = np.random.default_rng([2027, k]), rates(law, area)
        how = {"prevalence": share, "sampling": "case-control"} if design else {}
        held, width = [], []
        for i in range(samples):
            y = np.arange(n) < n * design if design else cohort(rng, n, share)
            u = rng.random(n)
            s = -ndtri(np.clip(np.where(y, np.interp(u, tpr, FPR), u), 1e-300, 1))
            t = trueness.tally(y * 1, s)
            pr = trueness.precision_recall_band(t, **how)
            roc = trueness.roc_band(t, rng=i, replicates=300)
            alarms = (1 - share) * np.interp(pr.recall, tpr, FPR)
            purity = share * pr.recall / (share * pr.recall + alarms)
            both = (roc, np.interp(roc.fpr, FPR, tpr)), (pr, purity)
            held.append(
                [np.all((b.low <= v + 1e-9) & (v <= b.high + 1e-9)) for b, v in both]
            )
            width.append([np.mean(b.high - b.low) for b, _ in both])
        (one, two), (wide, other) = (np.mean(x, axis=0).round(3) for x in (held, width))
        yield {
            "cases": n, "prevalence": share, "AUC": area, "scores": law,
            "positives by design": design or "", "ROC": one, "its width": wide,
            "precision-recall": two, "width": other,
        }  # fmt: skip


def dominance(samples: int) -> Iterator[Line]:
    """Better somewhere: level and power beside the test of AUCs; the margin."""
    f = np.linspace(0, 1, 20_001)[1:-1]
    for row, (cases, auc, gain, cross) in enumerate(PAIRS):
        rng, y = np.random.default_rng([2028, row]), np.repeat([1, 0], cases)
        spread = np.array([1.0, 2.0 if cross else 1.0])
        shift = np.sqrt(1 + spread**2) * ndtri([auc + gain, auc])
        a, b = ndtr((shift + ndtri(f)[:, None]) / spread).T
        found, areas = [], []
        for k in range(samples):
            z = rng.normal(size=(y.size, 3))
            z = (z[:, :1] + z[:, 1:]) / np.sqrt(2)  # half of the noise is shared
            s = np.where(y[:, None] == 1, z * spread + shift, z)
            p = trueness.panel(y, {"a": s[:, 0], "b": s[:, 1]})
            found.append(trueness.dominates(p, rng=k, replicates=400))
            areas.append(trueness.compare_auc(p).pairs[0].p_value)
        sides = [d.p_better for d in found], [d.p_worse for d in found], areas
        low = [np.mean([p < 0.05 for p in x]).round(3) for x in sides]
        yield {
            "cases": f"{cases[0]} + {cases[1]}", "AUCs": f"{auc + gain:g}, {auc:g}",
            "curves": "cross" if cross else "do not cross", "p_better": low[0],
            "p_worse": low[1], "compare_auc": low[2],
            "margin holds": np.mean([d.margin >= (b - a).max() for d in found]).round(3)
        }  # fmt: skip


PARTS = {"bands": bands, "dominance": dominance}

if __name__ == "__main__":
    for k, line in enumerate(PARTS[sys.argv[1]](int((sys.argv[2:] or ["200"])[0]))):
        if not k:
            print(f"| {' | '.join(line)} |\n|{' --- |' * len(line)}")
        print("| " + " | ".join(map(str, line.values())) + " |", flush=True)
