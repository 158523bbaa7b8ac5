"""Where do the positives stand among the negatives?

What every analysis of a ranking shares: exact counts of pairs, and the spread of the
placement values, in one pass over the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from karat._numerics import Array, Floats, blocks
from karat.counts import Tally


class Placements(NamedTuple):
    """What the mean and the spread of the placement values are.

    ``twice_wins`` counts pairs of a positive and a negative twice where the positive
    has the higher score and once where they are tied: a whole number. ``pos_var`` and
    ``neg_var`` are the sample variances of the placement values of the positives and
    negatives (DeLong's S10 and S01); NaN for a single case.
    """

    twice_wins: int
    auc: float
    pos_var: float
    neg_var: float


def placements(t: Tally) -> Placements:
    """Where do the positives stand among the negatives, and the reverse? O(m)."""
    pos_n, neg_n = t.n_pos, t.n_neg
    # beyond int64 the sums are taken in Python's integers
    exact = np.int64 if 2 * pos_n * neg_n < 2**62 else object
    wins, parts = 0, []
    pos_above = neg_above = 0
    for b in blocks(len(t)):
        pos, neg = t.pos[b].astype(exact), t.neg[b].astype(exact)
        pos_to, neg_to = np.cumsum(pos) + pos_above, np.cumsum(neg) + neg_above
        below = 2 * (neg_n - neg_to) + neg  # twice the negatives below, ties once
        above = 2 * pos_to - pos  # twice the positives above, ties once
        wins += int((pos * below).sum())
        parts.append(
            _moments(below / (2 * neg_n), pos) + _moments(above / (2 * pos_n), neg)
        )
        pos_above, neg_above = pos_to[-1], neg_to[-1]
    moments = np.array(parts, dtype=np.float64)
    return Placements(
        wins,
        wins / (2 * pos_n * neg_n),
        _pooled_variance(moments[:, :3]),
        _pooled_variance(moments[:, 3:]),
    )


def _moments(value: Array, count: Array) -> tuple[float, float, float]:
    """Give number, mean and squared deviations of repeated values."""
    n = float(count.sum())
    if n == 0:
        return 0.0, 0.0, 0.0
    value, count = value.astype(np.float64), count.astype(np.float64)
    mean = float(count @ value) / n
    value -= mean
    return n, mean, float(count @ (value * value))


def _pooled_variance(moments: Array) -> float:
    """Pool blocks by Chan's update: no difference of large squares is ever taken."""
    n, mean, squares = moments.T
    if n.sum() < 2:
        return float("nan")
    centre = (n @ mean) / n.sum()
    return float((squares.sum() + n @ (mean - centre) ** 2) / (n.sum() - 1))


def placement_values(t: Tally) -> tuple[Floats, Floats]:
    """Which share of the other class stands on the wrong side, row by row?

    The share of negatives below each score, seen by its positives, and the share of
    positives above each score, seen by its negatives; ties count one half.
    """
    neg, pos = t.neg.astype(np.float64), t.pos.astype(np.float64)
    below = t.n_neg - np.cumsum(neg) + neg / 2
    above = np.cumsum(pos) - pos / 2
    return below / t.n_neg, above / t.n_pos
