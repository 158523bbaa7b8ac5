"""How often does a guaranteed threshold break its promise, and what does it cost?

    python benchmarks/study_guarantees.py [SAMPLES]

Samples of 1,200 cases, 30 % positive, two normal distributions 1.5 apart. "wrong" is
the share of samples in which the constraint fails in the population at the cut that was
guaranteed with 95 % confidence (at most 0.05 is promised); "none" the share in which
nothing could be proved; "mean" the mean of the metric in the population at the cut.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

import trueness

ASKED = (
    ("recall >= 0.8", {}),
    ("fpr <= 0.2", {}),
    ("precision >= 0.6", {}),
    ("accuracy >= 0.75", {}),
    ("f1 >= 0.6", {}),
    ("f_beta(2) >= 0.6", {}),
    ("net_benefit(0.25) >= 0.12", {}),
    ("youden >= 0.4", {}),
    ("lr_positive >= 4", {}),
    ("precision >= 0.2", {"prevalence": 0.05}),
    ("precision >= 0.2", {"prevalence": (0.05, 0.1)}),
    ("f1 >= 0.6", {"thresholds": (1.4, 1.2, 1.0, 0.8, 0.6)}),
    ("f1 >= 0.6", {"thresholds": (1.4, 1.2, 1.0, 0.8, 0.6), "sequence": False}),
)


class Row(NamedTuple):
    constraint: str
    options: str
    wrong: str
    none: str
    mean: str


def population(threshold: float, share: float) -> trueness.Confusion:
    tpr, fpr = float(ndtr(1.5 - threshold)), float(ndtr(-threshold))
    p, q = 1e6 * share, 1e6 * (1 - share)
    return trueness.Confusion(p * tpr, q * fpr, p * (1 - tpr), q * (1 - fpr))


def rows(samples: int = 300):
    for text, options in ASKED:
        rng, asked = np.random.default_rng(20261115), trueness.constraint(text)
        given = options.get("prevalence", 0.3)
        share = given[0] if isinstance(given, tuple) else given
        wrong, none, values = 0, 0, []
        for _ in range(samples):
            y = rng.random(1200) < 0.3
            t = trueness.tally(y, np.round(rng.normal(size=1200) + 1.5 * y, 2))
            try:
                g = trueness.guaranteed_threshold(t, text, rng=rng, **options)
            except (trueness.NotEnoughCases, trueness.Infeasible):
                none += 1
                continue
            # rounded scores reach a threshold from half a step below it on
            c = population(np.ceil(100 * g.threshold - 1e-6) / 100 - 0.005, share)
            wrong += not asked(c)
            values.append(float(asked.metric(c)))
        mean = f"{np.mean(values):.3f}" if values else "-"
        words = ", ".join(f"{k}={v}" for k, v in options.items())
        yield Row(text, words, f"{wrong / samples:.3f}", f"{none / samples:.3f}", mean)


if __name__ == "__main__":
    print("| " + " | ".join(Row._fields) + " |")
    print("|" + " --- |" * len(Row._fields))
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 300):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
