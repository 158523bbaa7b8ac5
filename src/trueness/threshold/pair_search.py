"""Which pairs of cuts are best, under constraints on the pair?

Branch and bound (Land and Doig 1960, Econometrica 28:497). A square is a block of
neighbouring upper cuts and a block of neighbouring lower ones. The largest entries of
both blocks bound the objective, and every row, within it. Squares are quartered, the
largest bounds first, and dropped when their bound, or that of a row, allows no pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness.threshold.maximum_tree import MaximumTree

# equally good pairs that are listed
MOST_LISTED = 1_000
# squares that are judged at once
_BATCH = 1 << 12
# the four quarters of a square: halves of the upper and of the lower cuts
_QUARTERS = np.array([[[0], [0], [1], [1]], [[0], [1], [0], [1]]])


class PairSum(NamedTuple):
    """A function of a pair of cuts: one of the upper cut plus one of the lower."""

    of_upper: Array
    of_lower: Array


class BestPairs(NamedTuple):
    """The best pairs of cuts, and whether all of them are listed."""

    upper: Ints
    lower: Ints
    is_complete: bool


class _PairTree(NamedTuple):
    """Trees of both parts of a pair sum: bounds of it within any square."""

    of_upper: MaximumTree
    of_lower: MaximumTree

    def bounds(self, squares: Ints) -> Array:
        """Return the largest value that the sum can have within each square."""
        upper, lower = squares
        return np.asarray(self.of_upper.maxima[upper] + self.of_lower.maxima[lower])


def best_pairs(objective: PairSum, rows: Sequence[PairSum]) -> BestPairs | None:
    """Return the pairs with the largest objective at which no row is negative.

    None where every pair breaks a row. The upper cut is never below the lower one.
    """
    objective_tree = _pair_tree(objective)
    row_trees = [_pair_tree(row) for row in rows]
    first_leaf = objective_tree.of_upper.first_leaf

    best_value: Any = None
    best: list[Ints] = []
    # the whole square first; blocks are numbered as in a maximum tree
    waiting = [np.ones((2, 1), dtype=np.int64)]
    while waiting:
        squares = _possible_squares(waiting.pop(), row_trees)
        bounds = objective_tree.bounds(squares)
        if best_value is not None:
            # of very many pairs that are as good, some are enough
            enough = sum(pairs.shape[1] for pairs in best) > MOST_LISTED
            keep = bounds > best_value if enough else bounds >= best_value
            keep = np.asarray(keep, dtype=bool)
            squares = squares[:, keep]
            bounds = bounds[keep]
        if not squares.size:
            continue

        if squares[0, 0] >= first_leaf:
            # single pairs, since all squares of a batch are equally large
            largest = bounds.max()
            if largest != best_value:
                best = []
            best_value = largest
            best.append(squares[:, np.asarray(bounds == largest, dtype=bool)])
        else:
            waiting += _quarter(squares, bounds)

    if best_value is None:
        return None

    upper, lower = np.concatenate(best, axis=1) - first_leaf
    order = np.lexsort([upper, lower])[:MOST_LISTED]
    return BestPairs(upper[order], lower[order], upper.size <= MOST_LISTED)


def _pair_tree(pair_sum: PairSum) -> _PairTree:
    return _PairTree(MaximumTree(pair_sum.of_upper), MaximumTree(pair_sum.of_lower))


def _possible_squares(squares: Ints, row_trees: list[_PairTree]) -> Ints:
    """Return the squares in which some pair may meet every row."""
    upper, lower = squares
    # the upper cut flags no more cases than the lower one
    keep = upper <= lower
    for tree in row_trees:
        keep &= np.asarray(tree.bounds(squares) >= 0, dtype=bool)
    return np.asarray(squares[:, keep])


def _quarter(squares: Ints, bounds: Array) -> list[Ints]:
    """Return the quarters of squares in batches, those with the largest bounds last.

    The last batch is the next one to be judged.
    """
    order = np.argsort(bounds)
    # rounded up
    number_of_batches = -(-order.size // _BATCH)
    batches = []
    for batch in np.array_split(order, number_of_batches):
        # blocks 2k and 2k + 1 are the halves of block k
        quarters = 2 * squares[:, None, batch] + _QUARTERS
        batches.append(quarters.reshape(2, -1))
    return batches
