r"""Have the scores changed? Bets on the rank of each new score among all before it.

While old and new scores are exchangeable, the rank of a new score among all so far,
ties broken at random, is uniform and independent of the ranks before it; bets on it,
:math:`\varepsilon p^{\varepsilon - 1}`, are fair (Vovk, Nouretdinov and Gammerman
2003). Bets on low ranks, on high ranks and on both ends are averaged.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Floats

POWERS = np.linspace(0.05, 0.95, 10)
_BLOCK = 1000


def rank_wealth(
    old: Floats, counts: Floats, new: Floats, rng: np.random.Generator
) -> Floats:
    """Log wealth of every bet after ``new`` scores, in this order.

    ``old`` holds distinct scores, increasing, ``counts`` how often each was seen.
    """
    total = np.zeros(3 * POWERS.size)
    score, times = old, counts.astype(np.float64)
    for start in range(0, new.size, _BLOCK):
        block = new[start : start + _BLOCK]
        p = _ranks(score, times, block, rng)
        total += _bets(p)
        score, times = _merged(score, times, block)
    return total


def _ranks(
    score: Floats, times: Floats, block: Floats, rng: np.random.Generator
) -> Floats:
    below = np.concatenate([[0.0], np.cumsum(times)])
    left, right = (np.searchsorted(score, block, side) for side in ("left", "right"))
    # within the block only those before count: a triangle of comparisons
    earlier = np.tri(block.size, k=-1, dtype=bool)
    less = below[left] + (earlier & (block[None, :] < block[:, None])).sum(1)
    ties = below[right] - below[left]
    ties = ties + (earlier & (block[None, :] == block[:, None])).sum(1)
    n = below[-1] + np.arange(block.size) + 1
    return np.asarray((less + rng.random(block.size) * (ties + 1)) / n, np.float64)


def _bets(p: Floats) -> Floats:
    p = np.clip(p, 1e-300, 1.0)
    ends = np.clip(1.0 - np.abs(2 * p - 1), 1e-300, 1.0)
    sums = [np.log(x).sum() for x in (p, np.clip(1 - p, 1e-300, 1.0), ends)]
    return np.concatenate([p.size * np.log(POWERS) + (POWERS - 1) * s for s in sums])


def _merged(score: Floats, times: Floats, block: Floats) -> tuple[Floats, Floats]:
    both, where = np.unique(np.concatenate([score, block]), return_inverse=True)
    counts = np.bincount(where, np.concatenate([times, np.ones(block.size)]))
    return both, np.asarray(counts, np.float64)
