"""How far is Fermi-Dirac from a Gaussian classifier, by rank and in the AUC's error?

Maximum entropy is not truth. Share of positives at each rank over 4,000 simulated test
sets against eq. 5 at the AUC of the population, and the standard deviation of the AUC
over these sets against eq. 18 and DeLong's formula (mean over the sets).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import trueness

REPEATS = 4000


class Row(NamedTuple):
    n: int
    n_pos: int
    auc: float
    largest_error: float
    mean_error: float
    se_true: float
    se_fermi_dirac: float
    se_delong: float


def rows():
    for n, n_pos in ((100, 50), (100, 25), (100, 10), (200, 20), (1000, 20)):
        for auc in (0.7, 0.9, 0.97):
            seen = trueness.counts.rank_frequencies(
                n, n_pos, auc, replicates=REPEATS, rng=n_pos
            )
            fd = trueness.fermi_dirac(n=n, n_pos=n_pos, auc=auc)
            error = np.abs(seen - fd.probability(np.arange(1, n + 1)))
            rng = np.random.default_rng(n_pos)
            found = [
                trueness.auc(
                    trueness.simulate_tally(n, n_pos, auc, rng=rng), method="delong"
                )
                for _ in range(REPEATS // 4)
            ]
            true = float(np.std([e.value for e in found], ddof=1))
            delong = float(np.sqrt(np.mean([e.se**2 for e in found])))
            numbers = (error.max(), error.mean(), true, fd.auc_se, delong)
            yield Row(n, n_pos, auc, *(round(float(v), 4) for v in numbers))
