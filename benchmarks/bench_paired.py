"""Paired DeLong comparison of 10 classifiers at 10^6 rows

Against the same from mid-ranks of ``scipy.stats.rankdata`` and ``numpy.cov``, the usual
way in Python. The panel is counted beforehand; its counting is shown too.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata
from side_by_side import fastest

import trueness


class Row(NamedTuple):
    rows: int
    classifiers: int
    count_s: float
    compare_s: float
    midranks_s: float
    ratio: float
    ratio_with_counting: float


def midranks(y: np.ndarray, columns: dict[str, np.ndarray]) -> np.ndarray:
    m, n = int(y.sum()), int((1 - y).sum())
    up, down = [], []
    for s in columns.values():
        pos, neg = s[y == 1], s[y == 0]
        both = rankdata(np.concatenate([pos, neg]))
        up.append((both[:m] - rankdata(pos)) / n)
        down.append(1 - (both[m:] - rankdata(neg)) / m)
    return np.cov(up) / m + np.cov(down) / n


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(1)
    for n in (100_000, 1_000_000):
        y = (rng.random(n) < 0.2).astype(int)
        base = rng.normal(size=n) + y
        columns = {f"c{k}": base + 0.5 * rng.normal(size=n) for k in range(10)}
        start = perf_counter()
        panel = trueness.panel(y, columns)
        count = perf_counter() - start
        best = fastest(
            {
                "trueness": lambda panel=panel: trueness.compare_auc(panel),
                "midranks": lambda y=y, columns=columns: midranks(y, columns),
            },
            turns=2,
        )
        yield Row(
            n,
            10,
            round(count, 2),
            round(best["trueness"], 2),
            round(best["midranks"], 2),
            round(best["midranks"] / best["trueness"], 2),
            round(best["midranks"] / (best["trueness"] + count), 2),
        )
