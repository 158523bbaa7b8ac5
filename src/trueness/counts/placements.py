"""Where do the positives stand among the negatives?

What every analysis of a ranking shares: exact counts of pairs, and the spread of the
placement values, in one pass over the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, begins_run, blocks
from trueness.counts.values import Tally, tally_of_rows
from trueness.counts.weights import effective, linearised


class Placements(NamedTuple):
    """What the mean and the spread of the placement values are.

    ``twice_wins`` counts pairs of a positive and a negative twice where the positive
    has the higher score and once where they are tied: a whole number of counted pairs,
    a sum of products of weights where cases are weighted. ``pos_var`` and
    ``neg_var`` are the sample variances of the placement values of the positives and
    negatives (DeLong's S10 and S01); NaN for a single case.
    """

    twice_wins: float
    auc: float
    pos_var: float
    neg_var: float


def placements(t: Tally) -> Placements:
    """Where do the positives stand among the negatives, and the reverse? O(m)."""
    if t.weighted:
        return _weighted_placements(t)
    pos_n, neg_n = t.n_pos, t.n_neg
    wins, parts = 0, []
    pos_above = neg_above = 0
    for b in blocks(len(t)):
        pos, neg = _safe(t.pos[b], t.neg[b])
        pos_to, neg_to = np.cumsum(pos), np.cumsum(neg)
        pos_in, neg_in = int(pos_to[-1]), int(neg_to[-1])
        # twice the negatives below and the positives above, ties once, both counted
        # from the top of this block: small whole numbers, so every sum is exact
        below, above = neg - 2 * neg_to, 2 * pos_to - pos
        below_sum, *low = _moments(below, pos, pos_in, 2 * (neg_n - neg_above))
        _, *high = _moments(above, neg, neg_in, 2 * pos_above)
        wins += 2 * (neg_n - neg_above) * pos_in + below_sum
        parts.append((*low, *high))
        pos_above, neg_above = pos_above + pos_in, neg_above + neg_in
    moments = np.array(parts, dtype=np.float64)
    return Placements(
        wins,
        wins / (2 * pos_n * neg_n),
        _pooled_variance(moments[:, :3]) / (2 * neg_n) ** 2,
        _pooled_variance(moments[:, 3:]) / (2 * pos_n) ** 2,
    )


def _weighted_placements(t: Tally) -> Placements:
    """Weigh the placements; variances are those of as many equal cases.

    Divided by the effective number of their class they give the linearised variance.
    """
    below, above = placement_values(t)
    a = float(t.pos @ below) / t.n_pos
    values = []
    for k, place in ((1, below), (0, above)):
        weight, square = (t.neg, t.pos)[k], t.squares[k]
        n = effective(weight, square).number
        own = linearised([((place - a) / weight.sum(), weight, square)])
        values.append(own.variance * n if n > 1 + 1e-9 else float("nan"))
    return Placements(2 * a * t.n_pos * t.n_neg, min(max(a, 0.0), 1.0), *values)


def _safe(pos: Array, neg: Array) -> tuple[Array, Array]:
    """Go over to Python's integers where squares of the counts would overflow."""
    cases = int(pos.sum()) + int(neg.sum())
    if 4 * cases**3 < 1 << 62:
        return pos, neg
    return pos.astype(object), neg.astype(object)


def _moments(
    value: Array, count: Array, n: int, start: int
) -> tuple[int, int, float, float]:
    """Give sum, number, mean from ``start`` and squared deviations of whole values."""
    if n == 0:
        return 0, 0, 0.0, 0.0
    product = count * value
    total = int(product.sum())
    product *= value
    squares = int(product.sum())
    # one division of whole numbers: no difference of large squares is rounded
    return total, n, start + total / n, (squares * n - total * total) / n


def _pooled_variance(moments: Array) -> float:
    n, _, squares = pooled_moments(moments)
    return squares / (n - 1) if n > 1 else float("nan")


def pooled_moments(moments: Array) -> tuple[float, float, float]:
    """Give number, mean and squared deviations of blocks of which each is a row.

    Chan's update: no difference of large squares is ever taken.
    """
    n, mean, squares = moments.T
    centre = float((n * mean).sum() / n.sum()) if n.any() else 0.0
    between = (n * (mean - centre) ** 2).sum()
    return float(n.sum()), centre, float(squares.sum() + between)


def placement_values(t: Tally) -> tuple[Floats, Floats]:
    """Which share of the other class stands on the wrong side, row by row?

    The share of negatives below each score, seen by its positives, and the share of
    positives above each score, seen by its negatives; ties count one half.
    """
    neg, pos = t.neg.astype(np.float64), t.pos.astype(np.float64)
    below = t.n_neg - np.cumsum(neg) + neg / 2
    above = np.cumsum(pos) - pos / 2
    return below / t.n_neg, above / t.n_pos


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
    return _starting(t, _group_starts(t.neg, t.pos, most))


def _starting(t: Tally, start: Array) -> Tally:
    columns = [np.add.reduceat(c, start) for c in t.counts]
    return tally_of_rows(np.arange(start.size, 0, -1.0), *columns)


def grouped(neg: Array, pos: Array, most: int) -> tuple[Array, Array]:
    """Join neighbours until at most ``most`` cells of about equal weight are left."""
    if neg.size <= most:
        return neg, pos
    start = _group_starts(neg, pos, most)
    return np.add.reduceat(neg, start), np.add.reduceat(pos, start)


def _group_starts(neg: Array, pos: Array, most: int) -> Array:
    weight = neg / neg.sum() + pos / pos.sum()
    group = np.minimum((np.cumsum(weight) - weight / 2) / 2 * most, most - 1).astype(
        int
    )
    return np.flatnonzero(np.diff(group, prepend=-1))
