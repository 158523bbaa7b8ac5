"""Do the intervals of decision curves and cost curves hold the truth?

    python benchmarks/study_net_benefit.py [SAMPLES]

Cohorts (the number of positives is random) of two normal distributions, scores that are
the true probabilities. Share of 95 % intervals of the net benefit and of the
standardised net benefit that hold the truth, smallest and largest over the thresholds
0.05, 0.1, 0.2, 0.4 and 0.6 at which something is flagged in the population; and of the
intervals of ``cost_curve`` (a quarter of the samples) that hold the cost of the chosen
threshold, over the weights 0.1, 0.3, 0.5, 0.7 and 0.9.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

import trueness

AT = np.array([0.05, 0.1, 0.2, 0.4, 0.6])
WEIGHT = np.array([0.1, 0.3, 0.5, 0.7, 0.9])


class Row(NamedTuple):
    cases: int
    prevalence: float
    shift: float
    net_benefit: str
    standardised: str
    cost: str


def rows(samples: int = 1000):
    for n, share, shift in [
        (80, 0.2, 1.0),
        (250, 0.05, 1.5),
        (700, 0.02, 2.0),
        (1000, 0.05, 2.0),
        (3000, 0.1, 1.0),
    ]:
        rng = np.random.default_rng(n)
        cut = np.log(AT / (1 - AT) * (1 - share) / share) / shift + shift / 2
        tpr, fpr = ndtr(shift - cut), ndtr(-cut)
        truth = share * tpr - (1 - share) * AT / (1 - AT) * fpr
        hits, standard, cost = np.zeros(AT.size), np.zeros(AT.size), []
        for k in range(samples):
            y = rng.random(n) < share
            y[:2] = False, True
            x = rng.normal(size=n) + shift * y
            odds = share / (1 - share) * np.exp(shift * x - shift**2 / 2)
            t = trueness.tally(y, odds / (1 + odds))
            d = trueness.decision_curve(t, threshold=AT)
            hits += (d.low <= truth) & (truth <= d.high)
            low, high = d.standardised_low, d.standardised_high
            standard += (low <= truth / share) & (truth / share <= high)
            if k % 4 == 0:
                c = trueness.cost_curve(y, x, at=WEIGHT)
                miss, alarm = ndtr(c.threshold - shift), ndtr(-c.threshold)
                true = WEIGHT * miss + (1 - WEIGHT) * alarm
                cost.append((c.low <= true) & (true <= c.high))
        held = np.mean(cost, axis=0)
        seen = share * tpr * n >= 5  # with fewer expected there is little to see
        yield Row(
            n,
            share,
            shift,
            f"{min(hits[seen]) / samples:.3f} to {max(hits[seen]) / samples:.3f}",
            f"{min(standard[seen]) / samples:.3f} to "
            f"{max(standard[seen]) / samples:.3f}",
            f"{min(held):.3f} to {max(held):.3f}",
        )


if __name__ == "__main__":
    print("| " + " | ".join(Row._fields) + " |")
    print("|" + " --- |" * len(Row._fields))
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
