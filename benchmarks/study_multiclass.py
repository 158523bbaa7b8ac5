"""Do the intervals of multiclass_auc cover? Cohorts of c normal classes.

python benchmarks/study_multiclass.py prints the share of 95 % intervals that hold the
true value (of 400,000 cases), with 1,000 samples each.
"""

from __future__ import annotations

import numpy as np

from trueness.data.multiclass import multiclass_auc

SAMPLES = 1000
DESIGNS = {
    "3 equal classes, 30 cases": ([1 / 3] * 3, 30, 1.0),
    "3 equal classes, 150 cases": ([1 / 3] * 3, 150, 1.0),
    "3 equal classes, 150 cases, far apart": ([1 / 3] * 3, 150, 3.0),
    "5 classes, the rarest 4 %, 200 cases": ([0.4, 0.3, 0.16, 0.1, 0.04], 200, 1.5),
}


def drawn(shares, n, shift, rng):
    code = rng.choice(len(shares), n, p=shares)
    while np.bincount(code, minlength=len(shares)).min() < 2:
        code = rng.choice(len(shares), n, p=shares)
    scores = rng.normal(size=(n, len(shares)))
    scores[np.arange(n), code] += shift
    return code, scores


def covered(shares, n, shift, average, rng):
    options = {"classes": range(len(shares)), "average": average}
    truth = multiclass_auc(*drawn(shares, 400_000, shift, rng), **options).value
    inside = 0
    for _ in range(SAMPLES):
        e = multiclass_auc(*drawn(shares, n, shift, rng), **options)
        inside += e.low <= truth <= e.high
    return inside / SAMPLES


def main():
    averages = ("hand-till", "macro", "weighted")
    print(f"| design | {' | '.join(averages)} |")
    print("|---|---:|---:|---:|")
    for name, (shares, n, shift) in DESIGNS.items():
        rng = np.random.default_rng(1)
        row = [f"{covered(shares, n, shift, a, rng):.3f}" for a in averages]
        print(f"| {name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
