"""Do the intervals of `agreement` cover, from 2 to 90 % prevalence?

    python benchmarks/study_agreement_coverage.py [SAMPLES]

Normal scores, independent within the classes; the share of samples whose interval holds
the AUC of each classifier and the prevalence, and the median width of the former.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import trueness

DESIGNS = [
    (400, 200, [0.7, 0.75, 0.8, 0.9]),
    (1000, 900, [0.7, 0.75, 0.8, 0.9]),
    (2000, 800, [0.65, 0.75, 0.85]),
    (2000, 40, [0.9, 0.85, 0.8]),
    (2000, 40, [0.8, 0.75, 0.7, 0.7, 0.65, 0.6]),
    (5000, 100, [0.9, 0.85, 0.8, 0.75, 0.7]),
    (10000, 200, [0.95, 0.9, 0.8, 0.8]),
    (20000, 400, [0.9, 0.85, 0.8, 0.75]),
]


def one(n, n_pos, aucs, seed):
    found = trueness.agreement(trueness.simulate_panel(n, n_pos, aucs, rng=seed).hide())
    each = [*zip(found.auc.values(), aucs, strict=True), (found.prevalence, n_pos / n)]
    return [[e.low <= v <= e.high, e.high - e.low] for e, v in each]


def main(samples: int = 100) -> None:
    warnings.simplefilter("ignore")
    for n, n_pos, aucs in DESIGNS:
        found = np.array([one(n, n_pos, aucs, seed) for seed in range(samples)])
        cover = found[:, :, 0].mean(axis=0).round(2).tolist()
        width = np.median(found[:, :-1, 1], axis=0).round(2).tolist()
        print(n, n_pos, aucs, cover[:-1], width, cover[-1], flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
