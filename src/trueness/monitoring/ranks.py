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
_BLOCK = 256


def rank_wealth(
    old: Floats, counts: Floats, new: Floats, rng: np.random.Generator
) -> Floats:
    """Log wealth of every bet after ``new`` scores, in this order.

    ``old`` holds distinct scores, increasing, ``counts`` how often each was seen. The
    time is O(n log n) in the new scores.
    """
    return _bets(_ranks(old, counts.astype(np.float64), new, rng))


def _ranks(
    score: Floats, times: Floats, new: Floats, rng: np.random.Generator
) -> Floats:
    below = np.concatenate([[0.0], np.cumsum(times)])
    left, right = (np.searchsorted(score, new, side) for side in ("left", "right"))
    less, ties = _earlier(new)
    n = below[-1] + np.arange(new.size) + 1
    ties = ties + below[right] - below[left]
    rank = below[left] + less + rng.random(new.size) * (ties + 1)
    return np.asarray(rank / n, np.float64)


def _earlier(x: Floats) -> tuple[Floats, Floats]:
    """How many before each are smaller, how many equal?

    Within short blocks by comparing all pairs; then blocks of twice the size, whose
    second half looks its ranks up in the first half, sorted, until one block is left.
    """
    less, ties = np.zeros((2, x.size))
    for start in range(0, x.size, _BLOCK):
        block = x[start : start + _BLOCK]
        before = np.tri(block.size, k=-1, dtype=bool)
        here = slice(start, start + block.size)
        less[here] = (before & (block[None, :] < block[:, None])).sum(1)
        ties[here] = (before & (block[None, :] == block[:, None])).sum(1)
    size = _BLOCK
    while size < x.size:
        for start in range(0, x.size - size, 2 * size):
            first, here = np.sort(x[start : start + size]), slice(start + size, None)
            later = x[here][:size]
            low, high = (np.searchsorted(first, later, s) for s in ("left", "right"))
            less[here][:size] += low
            ties[here][:size] += high - low
        size *= 2
    return less, ties


def _bets(p: Floats) -> Floats:
    p = np.clip(p, 1e-300, 1.0)
    ends = np.clip(1.0 - np.abs(2 * p - 1), 1e-300, 1.0)
    sums = [np.log(x).sum() for x in (p, np.clip(1 - p, 1e-300, 1.0), ends)]
    return np.concatenate([p.size * np.log(POWERS) + (POWERS - 1) * s for s in sums])
