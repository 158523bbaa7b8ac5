"""How sure is a number that a bootstrap gives, also where no replicate varies?

Shared by partial areas, average precision and the H-measure: a statistic of counts
(neg, pos) of shape (replicates, rows), and where the possible values end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.records import Estimate
from trueness.counts.placements import coarser
from trueness.counts.resampling import (
    Seed,
    bca_interval,
    bootstrap,
    percentile_interval,
)
from trueness.counts.values import Tally
from trueness.counts.weights import left_out_spread, sizes, student_factor
from trueness.ranking.auc_intervals import logit_ends, student_quantile

Statistic = Callable[[Array, Array], Floats]
METHODS = ("logit", "bca", "bootstrap", "normal")
# of weighted cases, up to this many rows are left out one by one
_ROWS = 1000
# the acceleration is a third moment: a few hundred bins give it well
_JACKKNIFE = 256


class Resampling(NamedTuple):
    """What is computed, how the interval is made, and which values are possible."""

    statistic: Statistic
    method: str
    level: float
    rng: Seed
    replicates: int
    lowest: float = 0.0
    highest: float = 1.0
    stratified: bool = True

    def value(self, t: Tally) -> float:
        """Give the value of one tally, inside the possible range."""
        found = float(self.statistic(t.neg[None], t.pos[None])[0])
        return min(max(found, self.lowest), self.highest)


def checked(
    statistic: Statistic, method: str, level: float, rng: Seed, replicates: int
) -> Resampling:
    """Pass on what a resampling was asked for."""
    _options.choice(method, METHODS, "method")
    level = _options.fraction(level, "level")
    number = _options.whole_number(replicates, "replicates", at_least=100)
    return Resampling(statistic, method, level, rng, number)


def resampled(
    t: Tally, r: Resampling, name: str, drawn_from: Tally | None = None
) -> Estimate:
    """Give a value with its bootstrap interval.

    ``drawn_from`` has the rows of ``t`` in fewer bins; replicates are then shifted to
    the exact value.
    """
    value, values, sd = redrawn(t, r, drawn_from)
    few = min(1 + e.df for e in sizes(t))
    if not sd > 1e-12 * (r.highest - r.lowest) or few < 1.5:
        return unseen(t, r, value, name, sd)
    low, high = _ends(t, r, value, values, sd)
    # a bootstrap of few cases is too narrow by Student's factor
    wider = student_factor(few - 1.0, r.level)
    low, high = value - wider * (value - low), value + wider * (high - value)
    return inside(r, value, low, high, name, sd)


def redrawn(
    t: Tally, r: Resampling, drawn_from: Tally | None = None
) -> tuple[float, Floats, float]:
    """Give a value, those of bootstrap samples, and their standard deviation."""
    value, source = r.value(t), t if drawn_from is None else drawn_from
    ask = (r.statistic, r.replicates, r.rng)
    values = bootstrap(source, *ask, stratified=r.stratified)
    values = values[np.isfinite(values)]
    if drawn_from is not None:
        values += value - r.value(source)
    sd = float(values.std(ddof=1)) if values.size > 1 else math.nan
    return value, values, sd


def _ends(
    t: Tally, r: Resampling, value: float, values: Floats, sd: float
) -> tuple[float, float]:
    if r.method == "bca":
        influence, weight = _jackknife(t, r.statistic)
        return bca_interval(value, values, influence, weight, r.level)
    if r.method == "bootstrap":
        return percentile_interval(values, r.level)
    half = NormalDist().inv_cdf((1 + r.level) / 2) * sd
    return value - half, value + half


def inside(
    r: Resampling, value: float, low: float, high: float, name: str, sd: float
) -> Estimate:
    """Keep the interval around the value and among the possible values."""
    low, high = max(min(low, value), r.lowest), min(max(high, value), r.highest)
    return Estimate(value, low, high, r.level, name, sd)


def _jackknife(t: Tally, statistic: Statistic) -> tuple[Floats, Floats]:
    """How much does leaving out one case of a row change the value?

    Long tallies are first grouped into neighbouring rows.
    """
    rows = coarser(t, _JACKKNIFE)
    change, number = left_out(rows, statistic)
    one = [own[own > 0] for own in (rows.pos, rows.neg)]
    share = np.concatenate([own / own.sum() for own in one])
    return change * (1 - share / number), number


def left_out(t: Tally, statistic: Statistic) -> tuple[Floats, Floats]:
    """How does leaving out one case of a row change a value, and how many has the row?

    Rows with positives first, then rows with negatives. O(m^2).
    """
    neg, pos = t.neg, t.pos
    full = float(statistic(neg[None], pos[None])[0])
    parts, numbers = [], []
    for own, square, less_pos in ((pos, t.squares[1], 1), (neg, t.squares[0], 0)):
        at = np.flatnonzero(own)
        case = square[at] / own[at]  # the weight of a case of that row: one of counts
        drop = np.zeros((at.size, own.size))
        drop[np.arange(at.size), at] = case
        with np.errstate(invalid="ignore"):  # the only case of a class
            left = statistic(neg - (1 - less_pos) * drop, pos - less_pos * drop)
        parts.append(full - left)
        numbers.append(own[at] / case)
    return np.concatenate(parts), np.concatenate(numbers)


class SkewedSpread(NamedTuple):
    """A value, how far other samples would be from it, and how lopsided they are."""

    value: float
    sd: float
    bias: float
    a: float  # acceleration: a sixth of the skewness of the changes
    c: float  # curvature of the value in the direction of the changes
    df: float


def skewed(t: Tally, r: Resampling, s: SkewedSpread, name: str) -> Estimate:
    r"""Make the interval on the logit scale, about the value less its bias.

    With :math:`T = (g(\hat\theta) - g(\theta)) / \hat s_g`, the upper end of level
    :math:`\alpha` that errs by :math:`O(1/n)` and not :math:`O(1/\sqrt n)` lies at

    .. math:: g(\hat\theta) + \hat s_g \{z + (a + c) + (2a + c_g) z^2\}

    DiCiccio and Efron (1996), sec. 4: a is the acceleration, c the curvature of the
    value in the direction of the changes that single cases make, and
    :math:`c_g = c + s g''/2g'` that of its logit. The bias is taken off before.
    """
    wide = r.highest - r.lowest
    if not s.sd > 1e-12 * wide or not r.lowest < s.value < r.highest:
        return unseen(t, r, s.value, name, s.sd)
    centre = _less_bias(r, s.value, s.bias)
    # how much the logit itself bends
    bend = -0.5 * s.sd / wide * (1 - 2 * centre) / (centre * (1 - centre))
    # beyond a half the expansion says nothing: few cases, and nearly all alike
    shift, skew = np.clip([s.a + s.c, 2 * s.a + s.c + bend], -0.5, 0.5)
    z = NormalDist().inv_cdf((1 + r.level) / 2)
    quantile = float(student_quantile(s.df, r.level))
    ends = quantile * _stretch(-skew * z) - shift, quantile * _stretch(skew * z) + shift
    return _on_logit_scale(r, s, ends, name)


def _less_bias(r: Resampling, value: float, bias: float) -> float:
    """Where between the possible ends, 0 and 1, does the value less its bias lie?"""
    place, bias = (x / (r.highest - r.lowest) for x in (value - r.lowest, bias))
    return min(max(place - bias, 1e-3 * place), 1 - 1e-3 * (1 - place))


def _on_logit_scale(
    r: Resampling, s: SkewedSpread, quantiles: tuple[float, float], name: str
) -> Estimate:
    """Go so many errors down and up from the value less its bias.

    The bias counts as an error too, since it is as uncertain as it is large.
    """
    wide = r.highest - r.lowest
    centre, error = _less_bias(r, s.value, s.bias), math.hypot(s.sd, s.bias) / wide
    low, high = (
        r.lowest + wide * logit_ends(centre, error, quantiles[k])[k] for k in (0, 1)
    )
    return inside(r, s.value, low, high, name, s.sd)


def _stretch(x: float) -> float:
    """Give 1 + x to first order, so that z times it grows with z for either sign."""
    return 1 + x if x >= 0 else 1 / (1 - x)


def by_leaving_out(t: Tally, r: Resampling, name: str) -> Estimate:
    """Give the value with the jackknife's interval, each class a sample of its own.

    Long tallies are first grouped into neighbouring rows.
    """
    if not t.weighted and min(t.n_pos, t.n_neg) < 2:
        return unseen(t, r, r.value(t), name)
    rows = coarser(t, _ROWS)
    change, number = left_out(rows, r.statistic)
    if t.weighted:
        return from_changes(t, r, change, number, name)
    spread = _lopsided(rows, r, change, number)
    return skewed(t, r, spread._replace(value=r.value(t)), name)


def _lopsided(t: Tally, r: Resampling, change: Floats, number: Floats) -> SkewedSpread:
    """How skewed is a value, by what one case less of each class changes?"""
    is_pos = np.arange(change.size) < np.count_nonzero(t.pos)
    bias, lost, d = 0.0, np.empty(change.size), np.empty(change.size)
    for some in (is_pos, ~is_pos):
        n = float(number[some].sum())
        mean = float(number[some] @ change[some]) / n
        d[some], lost[some] = change[some] - mean, (n - 1) / n
        bias -= (n - 1) * mean
    powers = [float(number @ d**k) for k in (2, 3, 4)]
    variance, n = float(lost * number @ d**2), float(number.sum())
    # the second derivative along the changes, from steps of half a standard error
    step = 0.5 / math.sqrt(powers[0]) if powers[0] > 0 else 1.0
    pos, neg = (np.zeros(len(t)) for _ in range(2))
    pos[t.pos > 0], neg[t.neg > 0] = d[is_pos], d[~is_pos]
    ways = np.array([[-step], [0.0], [step]])
    below, at, above = r.statistic(t.neg * (1 + ways * neg), t.pos * (1 + ways * pos))
    second = float(below - 2 * at + above) / step**2
    return jackknifed(r.value(t), variance, bias, powers, second, n)


def jackknifed(
    value: float, variance: float, bias: float, powers: Any, second: float, n: float
) -> SkewedSpread:
    """Give the spread of a value by what single cases change.

    ``powers`` are the sums of powers 2, 3 and 4 of the changes of n cases, ``second``
    the second derivative of the value in their direction.
    """
    square, cube, fourth = powers
    if not square > 0:
        return SkewedSpread(value, 0.0, bias, 0.0, 0.0, 1.0)
    # the variance of a variance is that of squares: few large changes tell little
    df = 2 / max(fourth / square**2 - 1 / n, 1e-9)
    skew, curve = cube / (6 * square**1.5), second / (2 * square**1.5)
    return SkewedSpread(value, math.sqrt(variance), bias, skew, curve, max(1.0, df))


def from_changes(
    t: Tally, r: Resampling, change: Floats, number: Floats, name: str
) -> Estimate:
    """Carry what one case less changes to the logit scale, with Student's quantile.

    To first order the changes of all cases cancel; what is left of their sum is the
    jackknife's bias with the sign turned (Quenouille 1956), which is taken off.
    """
    known = np.isfinite(change)  # without its only case a class has no value
    change, number = change[known], number[known]
    variance, df = left_out_spread(change, number)
    value, sd, bias = r.value(t), math.sqrt(variance), -float(number @ change)
    if not sd > 1e-12 * (r.highest - r.lowest) or not r.lowest < value < r.highest:
        return unseen(t, r, value, name, sd)
    quantile = float(student_quantile(max(df, 1.0), r.level))
    spread = SkewedSpread(value, sd, bias, 0.0, 0.0, df)
    return _on_logit_scale(r, spread, (quantile, quantile), name)


def unseen(
    t: Tally, r: Resampling, value: float, name: str, sd: float = math.nan
) -> Estimate:
    r"""How far could it be off by cases of a kind that was not seen?

    Where no replicate varies, or a class has a single case, the sample says nothing
    about spread. But n cases miss a kind that is a share q of them with probability
    (1 - q)^n; so at either end a share

    .. math:: q = 1 - \left(\frac{1 - \text{level}}{2}\right)^{1/n}

    of the positives may stand at the other end of the ranking, and likewise of the
    negatives (and the share of positives itself may differ, when it is random). The
    distances are added as squares (the method of variance estimates recovery).
    """
    neg, pos = t.neg.astype(np.float64), t.pos.astype(np.float64)
    q_pos, q_neg = (_missed(n, r.level) for n in _equal(t))
    worse = [(neg, _moved(pos, q_pos, -1)), (_moved(neg, q_neg, 0), pos)]
    better = [(neg, _moved(pos, q_pos, 0)), (_moved(neg, q_neg, -1), pos)]
    if not r.stratified:
        for share, ends in zip(_shares(t, r.level), (worse, better), strict=True):
            odds = (1 - share) / share * t.n_pos / t.n_neg
            ends.append((neg * odds, pos))
    low, high = (
        value + sign * _far(r, e, value, sign) for sign, e in ((-1, worse), (1, better))
    )
    return inside(r, value, low, high, f"unseen cases for {name}", sd)


def _equal(t: Tally) -> list[float]:
    """As how many equal cases do positives and negatives count, for what they lack?

    A weighted case of a kind that was not seen may weigh as much as the heaviest.
    """
    if not t.weighted:
        return [e.number for e in sizes(t)]
    squares = t.squares[1], t.squares[0]
    return [
        float(own.sum() / np.max(q[own > 0] / own[own > 0]))
        for own, q in zip((t.pos, t.neg), squares, strict=True)
    ]


def _missed(n: float, level: float) -> float:
    """Which share of cases is missed by n of them with probability (1 - level) / 2?"""
    return -math.expm1(math.log((1 - level) / 2) / n)


def _moved(count: Floats, share: float, to: int) -> Floats:
    """Take a share of the cases to a new row: before the first (0) or after the last.

    The other class gets an empty row at both ends, so that both keep their places.
    """
    out = np.concatenate([[0.0], count * (1 - share), [0.0]])
    out[to] = share * count.sum()
    return out


def _shares(t: Tally, level: float) -> tuple[float, float]:
    """Between which shares of positives could this sample have been drawn?"""
    from trueness._core.binomial import clopper_pearson, wilson

    n = t.n_pos + t.n_neg
    if t.weighted:
        # Kish's effective number of cases
        known = n**2 / (t.squares[0].sum() + t.squares[1].sum())
        low, high = wilson(t.n_pos / n * known, known, level)
        return float(low), float(high)
    low, high = clopper_pearson(np.array(t.n_pos), np.array(n), level)
    return float(low), float(high)


def _far(
    r: Resampling, ends: list[tuple[Floats, Floats]], value: float, sign: int
) -> float:
    """How far away, on one side, do all these changes together take the value?"""
    total = 0.0
    for neg, pos in ends:
        width = max(neg.size, pos.size)
        both = (_padded(c, width)[None] for c in (neg, pos))
        total += max(0.0, sign * (float(r.statistic(*both)[0]) - value)) ** 2
    return math.sqrt(total)


def _padded(count: Floats, width: int) -> Floats:
    return count if count.size == width else np.concatenate([[0.0], count, [0.0]])
