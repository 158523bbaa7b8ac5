"""Do the intervals of metrics at a given cut hold the truth as often as they say?

    python benchmarks/study_metrics_at_cut.py

Confusion matrices are drawn from known chances (a cohort: one multinomial sample); the
share of intervals that hold the true value of each metric is printed by design. The
standard error of a share is .005 with 2,000 repeats.
"""

import os

import numpy as np

from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.intervals import estimates

REPEATS = int(os.environ.get("TRUENESS_REPEATS", "2000"))
# cases, prevalence, recall, specificity
DESIGNS = [
    (50, 0.5, 0.8, 0.8),
    (100, 0.2, 0.7, 0.9),
    (200, 0.1, 0.9, 0.95),
    (500, 0.05, 0.6, 0.98),
    (1000, 0.3, 0.5, 0.7),
]
SKIP = {"flagged"}


def coverage(n, prevalence, recall, specificity, rng):
    chance = np.array(
        [
            prevalence * recall,
            (1 - prevalence) * (1 - specificity),
            prevalence * (1 - recall),
            (1 - prevalence) * specificity,
        ]
    )
    metrics = [m for m in METRICS.values() if m.name not in SKIP]
    truth = {m.name: float(m(Confusion(*(n * chance)))) for m in metrics}
    hits = dict.fromkeys(truth, 0)
    for counts in rng.multinomial(n, chance, REPEATS):
        found = estimates(Confusion(*counts), metrics, rng=rng)
        for name, e in found.items():
            hits[name] += bool(np.isnan(e.value) or e.low <= truth[name] <= e.high)
    return {name: hit / REPEATS for name, hit in hits.items()}


def main():
    rng = np.random.default_rng(1)
    found = [coverage(*design, rng) for design in DESIGNS]
    names = list(found[0])
    print("| metric | " + " | ".join(f"n={d[0]}, {d[1:]}" for d in DESIGNS) + " |")
    print("| --- |" + " ---: |" * len(DESIGNS))
    for name in names:
        print(f"| `{name}` | " + " | ".join(f"{f[name]:.3f}" for f in found) + " |")


if __name__ == "__main__":
    main()
