r"""Which arrangement of the cases within the bins is best, and which is worst?

Only the order inside the bins is lost. With every positive of a bin above its negatives
(*sharpest*), or below them (*dullest*), an answer is the largest or the smallest that
it can be; average precision, calibration errors and the calibration line have bounds of
their own. Derivations: ``docs/maths/scale.md``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.solvers import bisect
from trueness.calibration.lines import log_odds
from trueness.calibration.residuals import folded_mean
from trueness.counts.cases import COUNTS
from trueness.counts.placements import twice_wins
from trueness.counts.sorting import merge_counts
from trueness.counts.values import Tally, tally_of_rows

Ends = tuple[float, float]
_Pair = tuple[Array, Array]  # the least and the most, group by group
# sums over all cases round in their last digits
_ROUNDING = 1e-13
_FINE = 4096  # bins that are looked at; more are joined
_ROOM = 1e-9  # how well an intercept is found
_HALVINGS = 12  # of a way of which most is crossed
_STEEPEST = 1e3  # a slope that far from the first is as good as infinite


def sharpest(t: Tally) -> Tally:
    """Put the positives of each bin at its highest score, all others at its lowest."""
    return _split(t, COUNTS.index("pos"))


def dullest(t: Tally) -> Tally:
    """Put the negatives of each bin at its highest score, all others at its lowest."""
    return _split(t, COUNTS.index("neg"))


def _split(t: Tally, upper: int) -> Tally:
    counts = [
        np.concatenate([c, 0 * c] if k % 3 == upper else [0 * c, c])
        for k, c in enumerate(t.counts)
    ]
    return tally_of_rows(*merge_counts([(np.concatenate([t.high, t.score]), *counts)]))


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

    summed over the bins: half of the pairs that share one. Whole numbers divided once,
    so that the ends are reached to the last digit; sums of weights leave room for
    rounding.
    """
    wide = t.high > t.score
    wins = twice_wins(t)
    # Python's integers: a product of counts may leave int64
    pairs = zip(t.pos[wide].tolist(), t.neg[wide].tolist(), strict=True)
    open_pairs = sum(p * n for p, n in pairs)
    total = 2 * t.n_pos * t.n_neg
    low, high = (wins - open_pairs) / total, (wins + open_pairs) / total
    if not isinstance(total, int):
        low, high = rounded_out(low, high)
    return max(low, 0.0), min(high, 1.0)


def average_precision_ends(t: Tally, odds: float = 1.0) -> Ends:
    r"""Between which numbers does the average precision lie?

    With a positives and b negatives (times ``odds``) above a bin of p and n, its
    positives see together at most :math:`p (a+p) / (a+p+b)` and at least
    :math:`\sum_{j=1}^{p} (a+j) / (a+j+b+n)`: one by one, after all its negatives. Of
    weighted cases they are taken to be infinitely many, and the sum is an integral.
    """
    counts = np.issubdtype(t.pos.dtype, np.integer)  # cases that cannot be divided
    pos, neg = t.pos.astype(np.float64), odds * t.neg
    tp, fp = np.cumsum(pos), np.cumsum(neg)
    wide = t.high > t.score
    over = np.where(wide, fp - neg, fp)
    most = pos * np.divide(tp, tp + over, out=np.zeros_like(tp), where=tp + over > 0)
    least = most.copy()
    # sum of (a + j) / (a + j + b + n) = p - (b + n) sum of 1 / (a + j + b + n)
    a, p = (tp - pos)[wide], pos[wide]
    start = a + fp[wide]
    some = np.maximum(start, 1e-300)  # where nothing is above, nothing is taken off
    parts = reciprocals(start, p) if counts else np.log1p(p / some)
    least[wide] = p - fp[wide] * parts
    low, high = float(least.sum()) / t.n_pos, float(most.sum()) / t.n_pos
    low, high = rounded_out(low - _ROUNDING, high)
    return max(low, 0.0), min(high, 1.0)


def reciprocals(start: Floats, terms: Floats) -> Floats:
    r"""Give :math:`\sum_{j=1}^{n} 1 / (x + j)` without a loop over the terms.

    Sixteen are added; of the others Euler and Maclaurin's formula errs below 1e-16.
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


def calibration_error_ends(t: Tally, groups: int) -> dict[str, Ends]:
    """Between which numbers do the binned calibration errors lie?"""
    pos, neg, (low, high) = _groups(t, groups)
    cases, n = (pos[0] + neg[0], pos[1] + neg[1]), t.n_pos + t.n_neg
    least = np.maximum(np.maximum(low, -high), 0.0)  # of the absolute value
    most = np.maximum(np.abs(low), np.abs(high))
    noise = _noise(cases, pos, neg)
    plain = float(least.sum()) / n, min(float(most.sum()) / n, 1.0)
    # noise adds less to the plain error where the gap is large
    gaps = most / np.maximum(cases[0], 1), least / np.maximum(cases[1], 1)
    gaps = np.minimum(gaps[0], 1.0), gaps[1]
    added = [folded_mean(g, v) - g for g, v in zip(gaps, noise, strict=True)]
    excess = [
        float((c * np.maximum(x, floor)).sum()) / n
        for c, x, floor in zip(cases, added, (0.0, -np.inf), strict=True)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        square = [
            np.where(x > 0, x * x / np.maximum(c, 1), 0.0) / n
            for x, c in ((least, cases[1]), (most, cases[0]))
        ]
    # a mean score and a share are at most 1 apart
    square[1] = np.minimum(square[1], cases[1] / n)
    rms = [
        max(0.0, float((s - cases[1 - k] * noise[1 - k] / n).sum()))
        for k, s in enumerate(square)
    ]
    found = {
        "plain": plain,
        "debiased": (max(0.0, plain[0] - excess[1]), max(0.0, plain[1] - excess[0])),
        "rms": (float(np.sqrt(rms[0])), float(np.sqrt(rms[1]))),
    }
    return {k: (max(v[0] - 1e-12, 0.0), v[1] + 1e-12) for k, v in found.items()}


def _groups(t: Tally, groups: int) -> tuple[_Pair, _Pair, _Pair]:
    """Bound the positives and negatives of each group, and sums of label less score."""
    low, high = t.score[::-1], t.high[::-1]
    pos, neg = t.pos[::-1], t.neg[::-1]
    first, last = _group_range(low, high, pos + neg, groups)
    sure = first == last

    def added(value: Array) -> Array:
        total = np.zeros(groups, dtype=value.dtype)
        np.add.at(total, first[sure], value[sure])
        return total

    gap_low, gap_high = (added(pos - (pos + neg) * x) for x in (high, low))
    more_pos, more_neg = np.zeros((2, groups), dtype=np.int64)
    # a bin across an edge may give any of its cases to any group it reaches
    for k in np.flatnonzero(~sure):
        reach = slice(first[k], last[k] + 1)
        more_pos[reach] += pos[k]
        more_neg[reach] += neg[k]
        gap_low[reach] -= neg[k] * high[k]
        gap_high[reach] += pos[k] * (1 - low[k])
    sure_pos, sure_neg = added(pos), added(neg)
    ends = (sure_pos, sure_pos + more_pos), (sure_neg, sure_neg + more_neg)
    return *ends, (gap_low, gap_high)


def _group_range(
    low: Floats, high: Floats, cases: Ints, groups: int
) -> tuple[Ints, Ints]:
    """Which groups can hold cases of each bin? See ``monotone.equal_mass``."""
    upto = np.cumsum(cases)
    scale = groups / cases.sum()
    middle = np.floor((upto - cases / 2) * scale)
    wide = high > low
    # the middle of a row inside the bin is at least half a case from its ends
    first = np.where(wide, np.floor((upto - cases + 0.5) * scale - 1e-9), middle)
    last = np.where(wide, np.floor((upto - 0.5) * scale + 1e-9), middle)
    first, last = (np.clip(x, 0, groups - 1).astype(np.int64) for x in (first, last))
    return first, last


def _noise(cases: _Pair, pos: _Pair, neg: _Pair) -> tuple[Floats, Floats]:
    """Bound the variance of the share of positives in each group."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.nan_to_num(pos[0] / (pos[0] + neg[1]))
        high = np.nan_to_num(pos[1] / (pos[1] + neg[0]))
    # p (1 - p) is concave: least at an end, largest at an end or at one half
    spread = low * (1 - low), high * (1 - high)
    least = np.minimum(*spread) / np.maximum(cases[1] - 1, 1)
    peak = np.where((low <= 0.5) & (high >= 0.5), 0.25, np.maximum(*spread))
    return least, peak / np.maximum(cases[0] - 1, 1)


def intercept_ends(t: Tally) -> Ends:
    """Bound the intercept with the slope held at 1."""
    t = t.bin(16 * _FINE)
    ends = [_intercept(t, log_odds(score), 1.0) for score in (t.high, t.score)]
    return min(ends) - _ROOM, max(ends) + _ROOM


def slope_ends(t: Tally, slope: float) -> Ends:
    """Bound the slope; ``slope`` is that of the lower ends."""
    t = t.bin(_FINE)
    low = _farthest(lambda b: _derivative(t, b)[0] > 0, slope, -1)
    high = _farthest(lambda b: _derivative(t, b)[1] < 0, slope, 1)
    return low, high


def _intercept(t: Tally, x: Floats, slope: float) -> float:
    """Find the intercept that expects as many positives as there are."""
    eta, cases = slope * x, t.pos + t.neg
    low, high = -float(eta.max()) - 50, 50 - float(eta.min())
    return float(bisect(lambda a: (cases * expit(a + eta)).sum() < t.n_pos, low, high))


def _derivative(t: Tally, slope: float) -> Ends:
    """Bound the derivative of the profile likelihood over all arrangements."""
    ends = log_odds(t.score), log_odds(t.high)
    a = sorted(_intercept(t, x, slope) for x in ends)
    steps = sorted((slope * x for x in ends), key=lambda v: float(v[0]))
    least = expit(a[0] - _ROOM + np.minimum(*steps))
    most = expit(a[1] + _ROOM + np.maximum(*steps))
    cases = t.pos + t.neg
    # residuals sum to zero, so any centre may be taken off; the mean keeps them small
    centre = float((cases * (ends[0] + ends[1])).sum() / (2 * cases.sum()))
    away = ends[0] - centre, ends[1] - centre
    up, down = _product(away, (1 - most, 1 - least)), _product(away, (least, most))
    low = t.pos * up[0] - t.neg * down[1]
    high = t.pos * up[1] - t.neg * down[0]
    return float(low.sum()), float(high.sum())


def _product(
    a: tuple[Floats, Floats], b: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Give the smallest and largest product of numbers between two ends each."""
    corners = np.array([x * y for x in a for y in b])
    return corners.min(axis=0), corners.max(axis=0)


def _farthest(settled: Callable[[float], bool], start: float, way: int) -> float:
    """Give the number nearest to ``start`` beyond which the slope cannot be."""
    step = 1e-6 * max(abs(start), 1e-3)
    while not settled(start + way * step):
        step *= 4
        if step > _STEEPEST * max(abs(start), 1.0):
            return way * np.inf
    # a thousandth of the way is known well enough; the end that is settled is given
    inner = bisect(lambda x: not settled(start + way * float(x)), 0.0, step, _HALVINGS)
    return float(start + way * (float(inner) + step / 2**_HALVINGS))
