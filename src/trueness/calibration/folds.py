"""Which cases are held out in which fold?

Cases of one class are dealt at random and as evenly as possible. To deal them in the
order of their score would give each fold the same proportion of positives at each
score, and hide from cross-validation what a flexible map owes to chance.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Array, Ints

# more cases are dealt row by row: chance makes the folds even enough
MAX_CASES_DEALT_SINGLY = 1 << 24


def deal_cases(count: Ints, folds: int, rng: np.random.Generator) -> Array:
    """Return how many cases of each row are in each fold: (folds, rows)."""
    if count.sum() > MAX_CASES_DEALT_SINGLY:
        return _deal_rows(count, folds, rng)

    row = np.repeat(np.arange(count.size), count)
    rng.shuffle(row)
    return np.array(
        [np.bincount(row[k::folds], minlength=count.size) for k in range(folds)]
    )


def _deal_rows(count: Ints, folds: int, rng: np.random.Generator) -> Array:
    """Return how many cases of each row chance puts into each fold: (folds, rows).

    Folds are drawn one after the other from the cases that are left.
    """
    remaining = count
    count_by_fold = []
    for folds_left in range(folds, 0, -1):
        # a case that is left is equally likely in each of the folds that are left; the
        # last fold takes all
        count_in_fold = rng.binomial(remaining, 1 / folds_left)
        count_by_fold.append(count_in_fold)
        remaining = remaining - count_in_fold

    return np.array(count_by_fold)
