"""FiDEL of 20 classifiers: fit and score, against 20 calls of scipy.stats.rankdata.

Ranking the columns is the least that any method by rank must do. Fitting also finds
AUCs, dependence and a calibration; scoring ranks a million new rows against the
reference. Trueness ranks columns in threads, rankdata does not: the ratio of CPU times
says what the work costs, that of wall times what one waits for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata
from side_by_side import best_times

import trueness


class Row(NamedTuple):
    rows: str
    classifiers: int
    rankdata_s: float
    fit_s: float
    score_s: float
    fit_and_score_over_rankdata: float
    cpu_over_rankdata: float


def rows(sizes=(100_000, 1_000_000)):
    for n in sizes:
        rng = np.random.default_rng(0)
        aucs = np.linspace(0.6, 0.8, 20)
        panel = trueness.simulate_panel(n, n // 5, aucs, correlation=0.1, rng=rng)
        new = trueness.simulate_panel(n, n // 5, aucs, correlation=0.1, rng=rng)
        fitted = trueness.fidel(panel)
        best = best_times(
            {
                "rankdata": lambda x=new.rows: [rankdata(c) for c in x.T],
                "fit": lambda p=panel: trueness.fidel(p),
                "score": lambda p=new, f=fitted: p.combine(f),
            },
            turns=3 if n < 10**6 else 2,
        )
        ratios = [
            round((fit + score) / rank, 2)
            for rank, fit, score in zip(*best.values(), strict=True)
        ]
        seconds = [round(wall, 2) for wall, _ in best.values()]
        yield Row(f"{n:,}", 20, *seconds, *ratios)


def peer_is_faster(rows):
    """Say where ranking alone took less CPU time."""
    slower = [row["rows"] for row in rows if row["cpu_over_rankdata"] > 1]
    if not slower:
        return ""
    return f"By CPU time ranking alone is faster, of {' and '.join(slower)} rows."
