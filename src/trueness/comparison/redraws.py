"""What do redrawn samples say about values and their differences?

``summary`` turns the values of several classifiers or groups, and what they were in
redrawn samples, into a ``Comparison``. A bootstrap sees no spread where every case is
alike (a perfect classifier, five of five found), although the population has some.
There a value's own interval stands in, and a difference without any spread counts as a
difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.records import Estimate
from trueness.comparison.contrasts import ContrastPart, Equality, all_equal
from trueness.comparison.results import Comparison, Pair, compared
from trueness.counts.resampling import percentile_interval

Pairs = Sequence[tuple[int, int]]
Tested = Callable[[int, int, Estimate], tuple[float, float]]


class Redrawn(NamedTuple):
    """What each was in the sample, and in redrawn ones (r, K)."""

    names: tuple[str, ...]
    found: tuple[Any, ...]  # numbers, or estimates with an interval of their own
    drawn: Floats
    level: float
    paired: bool

    @property
    def value(self) -> Floats:
        """Give the numbers without their intervals."""
        return np.array([float(v) for v in self.found])


def summary(
    x: Redrawn, method: str, *, tested: Tested | None = None, pairs: Pairs | None = None
) -> Comparison:
    """Compare all pairs, by the spread of the redrawn values where they have one."""
    values = tuple(_estimate(x, k) for k in range(len(x.names)))
    chosen = list(combinations(range(len(x.names)), 2)) if pairs is None else pairs
    listed = []
    for i, j in chosen:
        difference = _difference(x, values, i, j)
        score, p = (tested or _normal_p(x))(i, j, difference)
        listed.append(Pair(x.names[i], x.names[j], difference, score, p, p))
    # the error of the redraws is known as well as they are many
    same = redrawn_equal(x.value, x.drawn, len)
    notes = _without_spread(x.names, values)
    return compared(
        x.names, values, listed, same, paired=x.paired, method=method, notes=notes
    )


def drawn_estimate(value: float, drawn: Floats, level: float, how: str) -> Estimate:
    """Give a value with the percentiles of its redrawn ones, which hold it."""
    drawn = drawn[np.isfinite(drawn)]
    if drawn.size < 2 or math.isnan(value):
        return Estimate(value, math.nan, math.nan, level, how, math.nan)
    low, high = percentile_interval(drawn, level)
    sd = float(drawn.std(ddof=1))
    return Estimate(value, min(low, value), max(high, value), level, how, sd)


def _estimate(x: Redrawn, k: int) -> Estimate:
    own = x.found[k]
    drawn = drawn_estimate(float(own), x.drawn[:, k], x.level, "bootstrap")
    if drawn.sd == 0 and isinstance(own, Estimate) and own.high > own.low:
        return Estimate(own.value, own.low, own.high, own.level, own.method, 0.0)
    return drawn


def _difference(x: Redrawn, values: tuple[Estimate, ...], i: int, j: int) -> Estimate:
    a, b = values[i], values[j]
    value = a.value - b.value
    moved = x.drawn[:, i] - x.drawn[:, j]
    drawn = drawn_estimate(value, moved, x.level, "bootstrap")
    if drawn.sd != 0 or (x.paired and value == 0):
        return drawn
    # Zou and Donner (2008): the intervals of both, where neither varied
    low = value - math.hypot(a.value - a.low, b.high - b.value)
    high = value + math.hypot(a.high - a.value, b.value - b.low)
    return Estimate(value, low, high, x.level, "intervals of both (MOVER)", 0.0)


def sided_p(difference: Estimate, drawn: Floats) -> tuple[float, float]:
    """How often would the difference change its side? Two-sided, never zero."""
    drawn = drawn[np.isfinite(drawn)]
    if math.isnan(difference.value) or drawn.size < 2:
        return math.nan, math.nan
    if difference.value == 0 and not difference.sd > 0:
        return 0.0, 1.0
    over = (np.sum(drawn >= 0) + 1) / (drawn.size + 1)
    under = (np.sum(drawn <= 0) + 1) / (drawn.size + 1)
    score = difference.value / difference.sd if difference.sd > 0 else math.inf
    p = min(1.0, 2 * float(min(over, under)))
    return math.copysign(score, difference.value), p


def _normal_p(x: Redrawn) -> Tested:
    """Test by the error of the redrawn differences, or what the intervals say of it."""

    def tested(i: int, j: int, d: Estimate) -> tuple[float, float]:
        if d.value == 0 or math.isnan(d.value):
            return 0.0, 1.0 if d.value == 0 else math.nan
        sd = d.sd
        if not sd > 0:  # the side of the interval towards zero has this error
            z = NormalDist().inv_cdf((1 + x.level) / 2)
            sd = (d.value - d.low if d.value > 0 else d.high - d.value) / z
        if sd > 0:
            from scipy.special import ndtr

            return d.value / sd, 2 * float(ndtr(-abs(d.value) / sd))
        return math.copysign(math.inf, d.value), 2 / (len(x.drawn) + 1)

    return tested


def redrawn_equal(
    value: Floats, drawn: Floats, cases: Callable[[Floats], float]
) -> Equality:
    """Test that values are equal by how redrawn ones vary.

    ``cases`` says for how many cases' worth of knowledge their variance counts.
    """
    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    if len(drawn) < 2 or not np.isfinite(value).all():
        return Equality(math.nan, 0, math.nan)
    moved, n = drawn[:, :, None] - drawn[:, None, :], cases(drawn)
    return all_equal(value, (ContrastPart(moved.var(axis=0, ddof=1) * n, n),))


def _without_spread(
    names: tuple[str, ...], values: tuple[Estimate, ...]
) -> tuple[str, ...]:
    flat = [n for n, v in zip(names, values, strict=True) if v.low == v.high]
    if not flat:
        return ()
    return (
        f"No redrawn sample changed the value of {', '.join(flat)}: its interval has "
        f"no width, which does not mean that it is known exactly.",
    )
