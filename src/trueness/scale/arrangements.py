r"""Which arrangement of the cases within the bins is best, and which is worst?

Only the order inside the bins is lost. With every positive of a bin above its
negatives, or below them, an answer is the largest or the smallest possible. Average
precision has bounds of its own. Derivations are in ``docs/maths/scale.md``.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Floats
from trueness.counts.cases import COUNTS
from trueness.counts.placements import twice_wins
from trueness.counts.sorting import merge_counts
from trueness.counts.values import Tally, tally_of_rows

Ends = tuple[float, float]

# sums over all cases round in their last digits
ROUNDING = 1e-13

# the first terms of a sum of reciprocals, which are added one by one
_TERMS_ADDED = 16
# powers and 2k / B_2k of Bernoulli's numbers, for Euler and Maclaurin's formula
_BERNOULLI = ((2, 12), (4, -120), (6, 252), (8, -240), (10, 132))


def best_arrangement(t: Tally) -> Tally:
    """Return the tally with the positives of each bin at its highest score.

    All other cases are at its lowest score.
    """
    return _split(t, COUNTS.index("pos"))


def worst_arrangement(t: Tally) -> Tally:
    """Return the tally with the negatives of each bin at its highest score.

    All other cases are at its lowest score.
    """
    return _split(t, COUNTS.index("neg"))


def _split(t: Tally, kind_above: int) -> Tally:
    """Return the tally with one kind of cases at the highest score of each bin.

    All other cases are at the lowest score of their bin.
    """
    scores = np.concatenate([t.high, t.score])
    columns = []
    for number, counts in enumerate(t.counts):
        nothing = np.zeros_like(counts)
        # the squares of weights follow in the order of the counts
        is_above = number % len(COUNTS) == kind_above
        at_ends = [counts, nothing] if is_above else [nothing, counts]
        columns.append(np.concatenate(at_ends))

    return tally_of_rows(*merge_counts([(scores, *columns)]))


def widen_by_rounding(low: float, high: float) -> Ends:
    """Return bounds that allow for the rounding of sums over all cases."""
    return low - ROUNDING * abs(low), high + ROUNDING * abs(high)


def auc_bounds(t: Tally) -> Ends:
    r"""Return the bounds of the AUC.

    .. math:: A \pm \frac{\sum_i n_i^+ n_i^-}{2\, n_+ n_-}

    summed over the bins: half of the pairs that share one. Whole numbers divided once,
    so that the ends are reached to the last digit; sums of weights leave room for
    rounding.
    """
    is_bin = t.high > t.score
    # Python's integers: a product of counts may leave int64
    classes = zip(t.pos[is_bin].tolist(), t.neg[is_bin].tolist(), strict=True)
    open_pairs = sum(positives * negatives for positives, negatives in classes)
    wins = twice_wins(t)
    pairs = 2 * t.n_pos * t.n_neg
    low = (wins - open_pairs) / pairs
    high = (wins + open_pairs) / pairs
    if not isinstance(pairs, int):
        low, high = widen_by_rounding(low, high)

    return max(low, 0.0), min(high, 1.0)


def average_precision_bounds(t: Tally, odds: float = 1.0) -> Ends:
    r"""Return the bounds of the average precision.

    With a positives and b negatives (times ``odds``) above a bin of p and n, its
    positives see together at most :math:`p (a+p) / (a+p+b)` and at least
    :math:`\sum_{j=1}^{p} (a+j) / (a+j+b+n)`: one by one, after all its negatives. For
    weighted cases, treated as infinitely many, the sum becomes an integral.
    """
    pos = t.pos.astype(np.float64)
    neg = odds * t.neg
    tp = np.cumsum(pos)
    fp = np.cumsum(neg)
    is_bin = t.high > t.score

    # at most: the positives of a bin come before its negatives
    false_before = np.where(is_bin, fp - neg, fp)
    flagged = tp + false_before
    precision = np.divide(tp, flagged, out=np.zeros_like(tp), where=flagged > 0)
    highest = pos * precision

    # at least: with c = b + n, the sum of (a + j) / (a + j + c) is
    # p - c times the sum of 1 / (a + j + c)
    p = pos[is_bin]
    start = (tp - pos)[is_bin] + fp[is_bin]
    # whole cases cannot be divided, weights can
    are_cases = np.issubdtype(t.pos.dtype, np.integer)
    if are_cases:
        sum_of_reciprocals = reciprocals(start, p)
    else:
        # where no case is above, fp is zero, so that the logarithm does not matter
        sum_of_reciprocals = np.log1p(p / np.maximum(start, 1e-300))

    lowest = highest.copy()
    lowest[is_bin] = p - fp[is_bin] * sum_of_reciprocals

    low = float(lowest.sum()) / t.n_pos
    high = float(highest.sum()) / t.n_pos
    low, high = widen_by_rounding(low - ROUNDING, high)

    return max(low, 0.0), min(high, 1.0)


def reciprocals(start: Floats, terms: Floats) -> Floats:
    r"""Return :math:`\sum_{j=1}^{n} 1 / (x + j)` without a loop over the terms.

    Sixteen are added; of the others Euler and Maclaurin's formula errs below 1e-16.
    """
    total = np.zeros_like(start)
    for j in range(1, _TERMS_ADDED + 1):
        total += np.where(j <= terms, 1 / (start + j), 0.0)

    terms_left = np.maximum(terms - _TERMS_ADDED, 0.0)
    x = start + _TERMS_ADDED
    y = x + terms_left
    total += np.log1p(terms_left / x) + (1 / y - 1 / x) / 2
    for power, number in _BERNOULLI:
        total += (x**-power - y**-power) / number

    return total
