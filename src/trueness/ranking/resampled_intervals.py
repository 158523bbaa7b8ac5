"""How sure is a number that a bootstrap gives, also where no replicate varies?

Shared by partial areas, average precision and the H-measure: a statistic of counts
(neg, pos) of shape (replicates, rows), and where the possible values end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

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
METHODS = ("bca", "bootstrap", "normal")
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
    value, source = r.value(t), t if drawn_from is None else drawn_from
    values = bootstrap(
        source, r.statistic, r.replicates, r.rng, stratified=r.stratified
    )
    values = values[np.isfinite(values)]
    if drawn_from is not None:
        values += value - r.value(source)
    sd = float(values.std(ddof=1)) if values.size > 1 else math.nan
    few = min(1 + e.df for e in sizes(t))
    if not sd > 1e-12 * (r.highest - r.lowest) or few < 1.5:
        return unseen(t, r, value, name, sd)
    low, high = _ends(t, r, value, values, sd)
    # a bootstrap of few cases is too narrow by Student's factor
    wider = student_factor(few - 1.0, r.level)
    low, high = value - wider * (value - low), value + wider * (high - value)
    return _inside(r, value, low, high, name, sd)


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


def _inside(
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


def by_leaving_out(t: Tally, r: Resampling, name: str) -> Estimate:
    """Give the value of weighted cases with the jackknife's interval.

    Long tallies are first grouped into neighbouring rows.
    """
    change, number = left_out(coarser(t, _ROWS), r.statistic)
    return from_changes(t, r, change, number, name)


def from_changes(
    t: Tally, r: Resampling, change: Floats, number: Floats, name: str
) -> Estimate:
    """Carry what one case less changes to the logit scale, with Student's quantile.

    To first order the changes of all cases cancel; what is left of their sum is the
    jackknife's bias with the sign turned (Quenouille 1956). It is taken off, and counts
    as an error too, since it is as uncertain as it is large.
    """
    value = r.value(t)
    known = np.isfinite(change)  # without its only case a class has no value
    change, number = change[known], number[known]
    spread = left_out_spread(change, number)
    sd, wide = math.sqrt(spread.variance), r.highest - r.lowest
    if not sd > 1e-12 * wide or not r.lowest < value < r.highest:
        return unseen(t, r, value, name, sd)
    quantile = float(student_quantile(max(spread.df, 1.0), r.level))
    place, bias = (value - r.lowest) / wide, -float(number @ change) / wide
    centre = min(max(place - bias, 1e-3 * place), 1 - 1e-3 * (1 - place))
    ends = logit_ends(centre, math.hypot(sd / wide, bias), quantile)
    low, high = (r.lowest + wide * e for e in ends)
    return _inside(r, value, min(low, value), max(high, value), name, sd)


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
    return _inside(r, value, low, high, f"unseen cases for {name}", sd)


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
