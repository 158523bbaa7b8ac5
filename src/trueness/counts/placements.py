"""Placements: where the positives stand among the negatives.

What every analysis of a ranking shares: exact counts of pairs, and curves with fewer
rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness._core.arrays import Array, begins_run, map_blocks
from trueness.counts.cases import keep_clusters
from trueness.counts.values import Tally, tally_of_rows

# sums of products below this fit into 64 bits
_SAFE_PRODUCT = 1 << 62


def twice_wins(t: Tally) -> Any:
    """Return the number of pairs that a positive wins, twice, plus the tied pairs.

    For counted cases an exact whole number, however large. O(m) for m rows.
    """
    # int for counted cases, float for weighted ones
    number_type = type(t.n_neg + t.n_pos)

    def sums_of_block(block: slice) -> tuple[Any, Any, Any]:
        """Return positives, negatives, and their wins within the block.

        Negatives are counted as if none were below the block.
        """
        pos = t.pos[block]
        neg = t.neg[block]
        positives = pos.sum()
        negatives = neg.sum()
        if 4 * (int(positives) + int(negatives)) ** 2 >= _SAFE_PRODUCT:
            # products would overflow 64 bits: use Python's integers
            pos = pos.astype(object)
            neg = neg.astype(object)

        # twice the negatives below, ties once, counted from the top of this block
        twice_below = neg - 2 * np.cumsum(neg)
        within = (pos * twice_below).sum()
        return number_type(positives), number_type(negatives), number_type(within)

    wins = 0
    negatives_above = 0
    for positives, negatives, within in map_blocks(sums_of_block, t.neg.size):
        # twice all negatives that are not above the block, less those within it
        wins += 2 * (t.n_neg - negatives_above) * positives
        wins += within
        negatives_above += negatives

    return wins


def tied_proportion(t: Tally) -> float:
    """Proportion of pairs of a positive and a negative that have the same score."""
    # as floats: products of large counts would overflow
    tied = float((t.neg.astype(np.float64) * t.pos).sum())
    return tied / (float(t.n_neg) * float(t.n_pos))


def runs(t: Tally) -> tuple[Array, Array]:
    """Return counts (neg, pos) with neighbouring rows of a single class merged.

    The order within such a run does not matter for the ranking.
    """
    t = t.labelled()
    start = run_starts(t)
    return np.add.reduceat(t.neg, start), np.add.reduceat(t.pos, start)


def run_starts(t: Tally) -> Array:
    """Return the first row of each run of rows that hold the same single class.

    A row with cases of both classes is a run of its own.
    """
    only_negative = 0
    only_positive = 1
    both_classes = 2
    kind = np.where(t.neg == 0, only_positive, both_classes)
    kind[t.pos == 0] = only_negative
    return np.flatnonzero(begins_run(kind) | (kind == both_classes))


def corners(t: Tally) -> Tally:
    """Return a tally with the same ROC curve, and one row for each straight part.

    Scores are replaced by row numbers.
    """
    labelled = t.labelled()
    return _join_rows(labelled, run_starts(labelled))


def coarsen(t: Tally, max_rows: int) -> Tally:
    """Return a tally of fewer rows, by merging neighbours as ``group_counts``."""
    if len(t) <= max_rows:
        return t
    starts = group_starts(_class_balanced_weight(t.neg, t.pos), max_rows)
    return _join_rows(t, starts)


def _join_rows(t: Tally, start: Array) -> Tally:
    """Return a tally in which the rows from each start on are merged."""
    columns = [np.add.reduceat(column, start) for column in t.counts]
    coarse = tally_of_rows(np.arange(start.size, 0, -1.0), *columns)
    rows_per_group = np.diff([*start, len(t)])
    return keep_clusters(
        t, coarse, lambda: np.repeat(np.arange(start.size), rows_per_group)
    )


def group_counts(neg: Array, pos: Array, max_groups: int) -> tuple[Array, Array]:
    """Return counts in groups of neighbours of about equal weight."""
    if neg.size <= max_groups:
        return neg, pos
    starts = group_starts(_class_balanced_weight(neg, pos), max_groups)
    return np.add.reduceat(neg, starts), np.add.reduceat(pos, starts)


def group_starts(count: Array, max_groups: int) -> Array:
    """Return the first row of each group of neighbours, of about equally many cases."""
    middle = np.cumsum(count) - count / 2
    # where the middle of each row lies among groups of equal counts
    position = middle / float(count.sum()) * max_groups
    group = np.minimum(position, max_groups - 1).astype(int)
    return np.flatnonzero(np.diff(group, prepend=-1))


def _class_balanced_weight(neg: Array, pos: Array) -> Array:
    """Return weights of rows in which both classes count the same."""
    return np.asarray(neg / neg.sum() + pos / pos.sum())
