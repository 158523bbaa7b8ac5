"""How good is a classifier as a ranking, and how sure are we?"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from karat import _checks
from karat._numerics import blocks
from karat._records import Estimate
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


def _moments(value: np.ndarray, count: np.ndarray) -> tuple[float, float, float]:
    """Give number, mean and squared deviations of repeated values."""
    n = float(count.sum())
    if n == 0:
        return 0.0, 0.0, 0.0
    value, count = value.astype(np.float64), count.astype(np.float64)
    mean = float(count @ value) / n
    value -= mean
    return n, mean, float(count @ (value * value))


def _pooled_variance(moments: np.ndarray) -> float:
    """Pool blocks by Chan's update: no difference of large squares is ever taken."""
    n, mean, squares = moments.T
    if n.sum() < 2:
        return float("nan")
    centre = (n @ mean) / n.sum()
    return float((squares.sum() + n @ (mean - centre) ** 2) / (n.sum() - 1))


def auc(t: Tally, *, method: str = "delong", level: float = 0.95) -> Estimate:
    r"""How often does a positive case have a higher score than a negative one?

    .. math:: A = P(s_+ > s_-) + \tfrac12 P(s_+ = s_-)

    Examples
    --------
    >>> auc(Tally([3, 2, 1], pos=[1, 1, 0], neg=[0, 1, 2])).value  # 5.5 of 6 pairs
    0.9166666666666666
    """
    _checks.both_classes(t, "auc")
    level = _checks.fraction(level, "level")
    _checks.choice(method, ("delong",), "method")
    p = placements(t)
    sd = float(np.sqrt(p.pos_var / t.n_pos + p.neg_var / t.n_neg))
    half = NormalDist().inv_cdf((1 + level) / 2) * sd
    return Estimate(
        p.auc, max(0.0, p.auc - half), min(1.0, p.auc + half), level, method, sd
    )
