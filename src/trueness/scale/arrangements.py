r"""Which arrangement of the cases within the cells is best, and which is worst?

A binned tally knows the counts of each cell and its smallest and largest score; only
the order inside the cells is lost. So the true cases are one of the ways to arrange
each cell, and what an answer can be at most and at least is known:

* every positive of a cell above its negatives, at the cell's ends (*sharpest*), or the
  other way round (*dullest*). Exchanging a positive with a negative below it lifts the
  ROC curve and lowers every proper score, so the AUC, every part of it, the Brier score
  and the log loss lie between the two, and so does the loss after the best increasing
  recalibration;
* average precision is largest when the positives of a cell share its highest score and
  smallest when they follow one by one after all its negatives;
* the calibration errors take sums over bins; a cell that an edge may divide adds any
  part of its cases to the bins on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness.calibration.errors import folded_mean
from trueness.counts.placements import placements
from trueness.counts.values import Tally

Ends = tuple[float, float]
# sums over all cases round in their last digits
_ROUNDING = 1e-13


def sharpest(t: Tally) -> Tally:
    """Put the positives of each cell at its highest score, all others at its lowest.

    >>> t = Tally([2, 1], neg=[0, 1], pos=[1, 0]).coarse(1)
    >>> sharpest(t) == Tally([2, 1], neg=[0, 1], pos=[1, 0])
    True
    """
    return _split(t, t.pos)


def dullest(t: Tally) -> Tally:
    """Put the negatives of each cell at its highest score, all others at its lowest."""
    return _split(t, t.neg)


def _split(t: Tally, upper: Array) -> Tally:
    zero = np.zeros(len(t), dtype=np.int64)
    counts = [
        np.concatenate([zero, c] if c is not upper else [c, zero])
        for c in (t.neg, t.pos, t.unknown)
    ]
    return Tally(np.concatenate([t.high, t.score]), *counts)


def between(statistic: Callable[[Tally], float], t: Tally) -> Ends:
    """Bound a number that rises, or falls, as the classes are parted more sharply."""
    one, other = statistic(sharpest(t)), statistic(dullest(t))
    return rounded_out(min(one, other), max(one, other))


def rounded_out(low: float, high: float) -> Ends:
    """Leave room for the rounding of sums over all cases."""
    return low - _ROUNDING * abs(low), high + _ROUNDING * abs(high)


def auc_ends(t: Tally) -> Ends:
    r"""Between which numbers does the AUC lie?

    .. math:: A \pm \frac{\sum_i n_i^+ n_i^-}{2\, n_+ n_-}

    summed over the cells: half of the pairs that share one. Whole numbers divided once,
    so that the ends are reached to the last digit.
    """
    wide = t.high > t.score
    wins = placements(t).twice_wins
    # Python's integers: a product of counts may leave int64
    pairs = zip(t.pos[wide].tolist(), t.neg[wide].tolist(), strict=True)
    open_pairs = sum(p * n for p, n in pairs)
    total = 2 * t.n_pos * t.n_neg
    return (wins - open_pairs) / total, (wins + open_pairs) / total


def average_precision_ends(t: Tally, odds: float = 1.0) -> Ends:
    r"""Between which numbers does the average precision lie?

    With a positives and b negatives (times ``odds``) above a cell of p and n, its
    positives see together at most :math:`p (a+p) / (a+p+b)` and at least
    :math:`\sum_{j=1}^{p} (a+j) / (a+j+b+n)`: one by one, after all its negatives.
    """
    pos, neg = t.pos.astype(np.float64), odds * t.neg
    tp, fp = np.cumsum(pos), np.cumsum(neg)
    wide = t.high > t.score
    over = np.where(wide, fp - neg, fp)
    most = pos * np.divide(tp, tp + over, out=np.zeros_like(tp), where=tp + over > 0)
    least = most.copy()
    a, p = (tp - pos)[wide], pos[wide]
    least[wide] = p - fp[wide] * reciprocals(a + fp[wide], p)
    low, high = float(least.sum()) / t.n_pos, float(most.sum()) / t.n_pos
    low, high = rounded_out(low - _ROUNDING, high)
    return max(low, 0.0), min(high, 1.0)


def reciprocals(start: Floats, terms: Floats) -> Floats:
    r"""Give :math:`\sum_{j=1}^{n} 1 / (x + j)` without a loop over the terms.

    The first sixteen are added, the others are Euler and Maclaurin's formula, whose
    error is then below 1e-16.

    >>> reciprocals(np.array([0.0, 2.5]), np.array([4.0, 1.0]))  # 1 + 1/2 + 1/3 + 1/4
    array([2.08333333, 0.28571429])
    """
    total = np.zeros_like(start)
    for j in range(1, 17):
        total += np.where(j <= terms, 1 / (start + j), 0.0)
    rest = np.maximum(terms - 16, 0.0)
    x = start + 16
    y = x + rest
    total += np.log1p(rest / x) + (1 / y - 1 / x) / 2
    # Bernoulli numbers B_2k / 2k
    for power, number in ((2, 12), (4, -120), (6, 252), (8, -240), (10, 132)):
        total += (x**-power - y**-power) / number
    return total


class _Bins(NamedTuple):
    """Between which numbers do the sums over each bin lie?

    Cases, positives, negatives, and the sum of label less score.
    """

    cases: tuple[Array, Array]
    pos: tuple[Array, Array]
    neg: tuple[Array, Array]
    gap: tuple[Floats, Floats]


def calibration_error_ends(t: Tally, bins: int) -> dict[str, Ends]:
    """Between which numbers do the binned calibration errors lie?"""
    b = _bins(t, bins)
    n = t.n_pos + t.n_neg
    low, high = b.gap
    least = np.maximum(np.maximum(low, -high), 0.0)  # of the absolute value
    most = np.maximum(np.abs(low), np.abs(high))
    noise = _noise(b)
    plain = float(least.sum()) / n, min(float(most.sum()) / n, 1.0)
    excess = _excess(b, (least, most), noise, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = [
            np.where(x > 0, x * x / np.maximum(c, 1), 0.0) / n
            for x, c in ((least, b.cases[1]), (most, b.cases[0]))
        ]
    # a mean score and a share are at most 1 apart
    square[1] = np.minimum(square[1], b.cases[1] / n)
    rms = [
        max(0.0, float((s - c * v / n).sum()))
        for s, c, v in (
            (square[0], b.cases[1], noise[1]),
            (square[1], b.cases[0], noise[0]),
        )
    ]
    debiased = max(0.0, plain[0] - excess[1]), max(0.0, plain[1] - excess[0])
    found = {
        "plain": plain,
        "debiased": debiased,
        "rms": (float(np.sqrt(rms[0])), float(np.sqrt(rms[1]))),
    }
    return {k: (max(v[0] - 1e-12, 0.0), v[1] + 1e-12) for k, v in found.items()}


def _bins(t: Tally, bins: int) -> _Bins:
    """Add up the cells of each bin, and what the cells on an edge can add."""
    low, high = t.score[::-1], t.high[::-1]
    pos, neg = t.pos[::-1], t.neg[::-1]
    first, last = _bin_range(low, high, pos + neg, bins)
    sure = first == last
    zero: Ints = np.zeros(bins, dtype=np.int64)
    counts = [_added(first[sure], c[sure], bins) for c in (pos, neg)]
    gap_low = _added(first[sure], (pos - (pos + neg) * high)[sure], bins)
    gap_high = _added(first[sure], (pos - (pos + neg) * low)[sure], bins)
    more_pos, more_neg = zero.copy(), zero.copy()
    for k in np.flatnonzero(~sure):
        reach = slice(first[k], last[k] + 1)
        more_pos[reach] += pos[k]
        more_neg[reach] += neg[k]
        gap_low[reach] -= neg[k] * high[k]
        gap_high[reach] += pos[k] * (1 - low[k])
    ends = [(c, c + more) for c, more in zip(counts, (more_pos, more_neg), strict=True)]
    cases = (ends[0][0] + ends[1][0], ends[0][1] + ends[1][1])
    return _Bins(cases, ends[0], ends[1], (gap_low, gap_high))


def _bin_range(low: Floats, high: Floats, cases: Ints, bins: int) -> tuple[Ints, Ints]:
    """Which bins can hold cases of each cell? See ``monotone.equal_mass``."""
    upto = np.cumsum(cases)
    scale = bins / cases.sum()
    middle = np.floor((upto - cases / 2) * scale)
    wide = high > low
    # the middle of a row inside the cell is at least half a case from its ends
    first = np.where(wide, np.floor((upto - cases + 0.5) * scale - 1e-9), middle)
    last = np.where(wide, np.floor((upto - 0.5) * scale + 1e-9), middle)
    first, last = (np.clip(x, 0, bins - 1).astype(np.int64) for x in (first, last))
    return first, last


def _added(at: Ints, value: Array, bins: int) -> Array:
    total = np.zeros(bins, dtype=value.dtype)
    np.add.at(total, at, value)
    return total


def _noise(b: _Bins) -> tuple[Floats, Floats]:
    """Bound the variance of the share of positives in each bin."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.nan_to_num(b.pos[0] / (b.pos[0] + b.neg[1]))
        high = np.nan_to_num(b.pos[1] / (b.pos[1] + b.neg[0]))
    spread = low * (1 - low), high * (1 - high)
    least = np.minimum(*spread) / np.maximum(b.cases[1] - 1, 1)
    peak = np.where((low <= 0.5) & (high >= 0.5), 0.25, np.maximum(*spread))
    return least, peak / np.maximum(b.cases[0] - 1, 1)


def _excess(
    b: _Bins, size: tuple[Floats, Floats], noise: tuple[Floats, Floats], n: int
) -> Ends:
    """Bound what noise adds to the plain error: less where the gap is large."""
    gap_least = size[0] / np.maximum(b.cases[1], 1)
    gap_most = np.minimum(size[1] / np.maximum(b.cases[0], 1), 1.0)
    least = folded_mean(gap_most, noise[0]) - gap_most
    most = folded_mean(gap_least, noise[1]) - gap_least
    low = float((b.cases[0] * np.maximum(least, 0.0)).sum()) / n
    return low, float((b.cases[1] * most).sum()) / n
