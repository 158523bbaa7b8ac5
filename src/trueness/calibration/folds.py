"""Which cases are held out in which fold?

Cases of one class are dealt at random, as evenly as possible. Dealt in the order of
their score, each fold would have the same proportion of positives at each score, and
cross-validation would not show how far a flexible map fits noise.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Array, Ints

# with more cases, the numbers in each fold are drawn row by row
MAX_CASES_DEALT_SINGLY = 1 << 24


def deal_cases(count: Ints, folds: int, rng: np.random.Generator) -> Array:
    """Return how many cases of each row are in each fold: (folds, rows)."""
    if count.sum() > MAX_CASES_DEALT_SINGLY:
        return _deal_rows(count, folds, rng)

    # one entry for each case, dealt out like cards after a shuffle
    row = np.repeat(np.arange(count.size), count)
    rng.shuffle(row)
    return np.array(
        [np.bincount(row[k::folds], minlength=count.size) for k in range(folds)]
    )


def _deal_rows(count: Ints, folds: int, rng: np.random.Generator) -> Array:
    """Return random numbers of cases of each row in each fold: (folds, rows).

    The cases of each fold are drawn from those that earlier folds left.
    """
    remaining = count
    count_by_fold = []
    for folds_left in range(folds, 0, -1):
        # a remaining case falls into each remaining fold with equal probability
        count_in_fold = rng.binomial(remaining, 1 / folds_left)
        count_by_fold.append(count_in_fold)
        remaining = remaining - count_in_fold

    return np.array(count_by_fold)
