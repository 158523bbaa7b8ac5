"""Do the intervals of ``decision_curve`` hold the net benefit of the population?

    python benchmarks/study_net_benefit.py [SAMPLES]

Cohorts (the number of positives is random) of two normal distributions, scores that are
the true probabilities. Share of 95 % intervals of the net benefit and of the
standardised net benefit that hold the truth, smallest and largest over the thresholds
0.05, 0.1, 0.2, 0.4 and 0.6 at which something is flagged in the population.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

import trueness

AT = np.array([0.05, 0.1, 0.2, 0.4, 0.6])


class Row(NamedTuple):
    cases: int
    prevalence: float
    shift: float
    net_benefit: str
    standardised: str


def rows(samples: int = 1000):
    for n, share, shift in [
        (100, 0.3, 1.0),
        (200, 0.1, 1.5),
        (300, 0.2, 1.5),
        (500, 0.5, 0.7),
        (1000, 0.05, 2.0),
        (3000, 0.1, 1.0),
    ]:
        rng = np.random.default_rng(n)
        cut = np.log(AT / (1 - AT) * (1 - share) / share) / shift + shift / 2
        tpr, fpr = ndtr(shift - cut), ndtr(-cut)
        truth = share * tpr - (1 - share) * AT / (1 - AT) * fpr
        hits, standard = np.zeros(AT.size), np.zeros(AT.size)
        for _ in range(samples):
            y = rng.random(n) < share
            y[:2] = False, True
            x = rng.normal(size=n) + shift * y
            odds = share / (1 - share) * np.exp(shift * x - shift**2 / 2)
            t = trueness.tally(y, odds / (1 + odds))
            d = trueness.decision_curve(t, threshold=AT)
            hits += (d.low <= truth) & (truth <= d.high)
            low, high = d.standardised_low, d.standardised_high
            standard += (low <= truth / share) & (truth / share <= high)
        seen = share * tpr * n >= 5  # with fewer expected there is little to see
        yield Row(
            n,
            share,
            shift,
            f"{min(hits[seen]) / samples:.3f} to {max(hits[seen]) / samples:.3f}",
            f"{min(standard[seen]) / samples:.3f} to "
            f"{max(standard[seen]) / samples:.3f}",
        )


if __name__ == "__main__":
    print("| " + " | ".join(Row._fields) + " |")
    print("|" + " --- |" * len(Row._fields))
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
