"""Where do the positives stand among the negatives?

What every analysis of a ranking shares: exact counts of pairs, and curves with fewer
rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness._core.arrays import Array, begins_run, blocks
from trueness.counts.cases import keep_clusters
from trueness.counts.values import Tally, tally_of_rows


def twice_wins(t: Tally) -> Any:
    """Count pairs of a positive and a negative: won ones twice, tied ones once.

    Of whole cases a whole number, exact for any number of pairs. O(m).
    """
    wins = neg_above = 0
    number: Any = type(t.n_neg + t.n_pos)
    for b in blocks(t.neg.size):
        pos, neg = t.pos[b], t.neg[b]
        if 4 * (int(pos.sum()) + int(neg.sum())) ** 2 >= 1 << 62:
            # products would overflow: on with Python's integers
            pos, neg = pos.astype(object), neg.astype(object)
        # twice the negatives below, ties once, counted from the top of this block
        below = neg - 2 * np.cumsum(neg)
        wins += 2 * (t.n_neg - neg_above) * number(pos.sum())
        wins += number((pos * below).sum())
        neg_above += number(neg.sum())
    return wins


def tied_proportion(t: Tally) -> float:
    """Proportion of pairs of a positive and a negative that have the same score."""
    # as floats: products of large counts would overflow
    tied = float((t.neg.astype(np.float64) * t.pos).sum())
    return tied / (float(t.n_neg) * float(t.n_pos))


def runs(t: Tally) -> tuple[Array, Array]:
    """Add up neighbouring rows that hold one and the same class only: (neg, pos).

    Within such a run the order of the cases says nothing about the ranking.
    """
    t = t.labelled()
    start = run_starts(t)
    return np.add.reduceat(t.neg, start), np.add.reduceat(t.pos, start)


def run_starts(t: Tally) -> Array:
    """Where does each run of rows begin that hold one and the same class only?"""
    kind = np.where(t.pos == 0, 0, np.where(t.neg == 0, 1, 2))
    return np.flatnonzero(begins_run(kind) | (kind == 2))


def corners(t: Tally) -> Tally:
    """Give the same curve with one row a run; scores are numbers of rows.

    A run of one class is a straight part of the curve: one row is enough.
    """
    t = t.labelled()
    return _starting(t, run_starts(t))


def coarser(t: Tally, most: int) -> Tally:
    """Join neighbouring rows until at most ``most`` are left, as ``grouped`` does."""
    if len(t) <= most:
        return t
    return _starting(t, group_starts(_weight(t.neg, t.pos), most))


def _starting(t: Tally, start: Array) -> Tally:
    columns = [np.add.reduceat(c, start) for c in t.counts]
    made = tally_of_rows(np.arange(start.size, 0, -1.0), *columns)
    size = np.diff([*start, len(t)])
    return keep_clusters(t, made, lambda: np.repeat(np.arange(start.size), size))


def grouped(neg: Array, pos: Array, most: int) -> tuple[Array, Array]:
    """Join neighbours until at most ``most`` cells of about equal weight are left."""
    if neg.size <= most:
        return neg, pos
    start = group_starts(_weight(neg, pos), most)
    return np.add.reduceat(neg, start), np.add.reduceat(pos, start)


def group_starts(count: Array, most: int) -> Array:
    """Where do groups of neighbours begin that hold about equally many cases?"""
    place = (np.cumsum(count) - count / 2) / float(count.sum()) * most
    return np.flatnonzero(np.diff(np.minimum(place, most - 1).astype(int), prepend=-1))


def _weight(neg: Array, pos: Array) -> Array:
    """Let both classes count alike."""
    return np.asarray(neg / neg.sum() + pos / pos.sum())
