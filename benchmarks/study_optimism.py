"""By how much does the sample flatter a chosen threshold, and what corrects it?

Samples from two normal distributions; the truth is the metric of the population at the
chosen threshold. Mean of estimate minus truth over the samples: the in-sample value,
Efron's 0.632 mixture of it and the mean out of bag, the in-sample value minus the mean
difference of in bag and out of bag, and ``validate_threshold(...).corrected``.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

import trueness

SAMPLES, REPLICATES = 200, 60
CASES = (
    ("accuracy", 60, 0.4, 1.0),
    ("f1", 60, 0.4, 1.0),
    ("f1", 200, 0.1, 1.5),
    ("youden", 100, 0.3, 1.0),
    ("f1", 500, 0.05, 1.0),
    ("f1", 2000, 0.05, 1.5),
)


class Row(NamedTuple):
    metric: str
    cases: int
    prevalence: float
    truth: str
    in_sample: str
    mixture_632: str
    in_minus_out: str
    corrected: str
    error: str


def truth(threshold: float, share: float, shift: float, metric: str) -> float:
    normal = NormalDist()
    tpr, fpr = 1 - normal.cdf(threshold - shift), 1 - normal.cdf(threshold)
    c = trueness.Confusion(
        share * tpr, (1 - share) * fpr, share * (1 - tpr), (1 - share) * (1 - fpr)
    )
    return float(trueness.metric(metric)(c))


def rows():
    for metric, n, share, shift in CASES:
        rng = np.random.default_rng(n)
        found = []
        for _ in range(SAMPLES):
            y = rng.random(n) < share
            y[:2] = False, True
            t = trueness.tally(y, rng.normal(size=n) + shift * y)
            v = trueness.validate_threshold(t, metric, rng=rng, replicates=REPLICATES)
            out = float(np.nanmean(v.out_of_bag))
            real = truth(v.choice.threshold, share, shift, metric)
            found.append(
                (
                    real,
                    v.value - real,
                    np.exp(-1) * v.value + (1 - np.exp(-1)) * out - real,
                    v.value - float(np.nanmean(v.in_bag - v.out_of_bag)) - real,
                    v.corrected.value - real,
                )
            )
        mean, error = np.mean(found, axis=0), np.std(found, axis=0) / SAMPLES**0.5
        numbers = [f"{mean[0]:.4f}", *(f"{m:+.4f}" for m in mean[1:])]
        yield Row(metric, n, share, *numbers, f"{error[4]:.4f}")
