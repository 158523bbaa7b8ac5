r"""Which truths could have shown what was seen?

Isotonic recalibration, bins and smoothers fit noise: MCB, DSC and calibration errors
are too large on average, the more so the fewer cases there are, and a bootstrap sample
is enlarged once more. So the interval is found the other way round. A family of truths
runs from "nothing" (calibrated scores; no discrimination) through what the sample
suggests and beyond,

.. math:: f_c = \mathrm{clip}(b + c\, d), \qquad c \ge 0,

with b the scores (or the prevalence) and d the direction in which isotonic regression
departs from them. Samples are drawn from each, and those c stay in the interval for
which the value that was seen is not in the tails of what the samples show.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.isotonic import isotonic_curve, pool_violators
from trueness.calibration.forecasts import DrawRequest, Forecasts
from trueness.counts.weights import student_factor

# a number of scores, positives and negatives
Statistic = Callable[[Floats, Array, Array], float]
# the truth at so many members of a family; between them it is interpolated
_TRUTHS = 25


class Family(NamedTuple):
    """Shares of positives: from ``base`` along ``direction``, c from first to last."""

    base: Floats
    direction: Floats
    first: float
    last: float

    def at(self, c: float) -> Floats:
        """Give one member."""
        return np.clip(self.base + c * self.direction, 0.0, 1.0)


# a mean of n shares has an error of at most 1/2 over the root of n: members this many
# such roots from what was seen are beyond doubt
_BELOW, _ABOVE = 4.0, 2.5


def _between(seen: float, n: float) -> tuple[float, float]:
    """Which members need a look? All below, unless what was seen is far from 0."""
    unit = 1 / math.sqrt(n)
    return max(seen - _BELOW * unit, 0.0), seen + _ABOVE * unit


def departures(s: Forecasts) -> Family:
    """From calibrated scores to the isotonic curve and beyond."""
    score, pos, neg = s[:3]
    cases, n = s.cases, s.n
    away = doubted(pos, neg, 0.5) - score
    if np.abs(away).max() < 1e-9:  # no direction is suggested: towards a coin
        away = 0.5 - score + 1e-6
    seen = math.sqrt(cases @ (isotonic_curve(pos, neg) - score) ** 2 / n)
    away = away / math.sqrt(cases @ away**2 / n)
    return Family(score, away, *_between(seen, n))


def gradients(s: Forecasts) -> Family:
    """From no discrimination to the isotonic curve and beyond."""
    _, pos, neg = s[:3]
    cases, n = s.cases, s.n
    share = (float(pos.sum()) + 0.5) / (n + 1)
    lean = doubted(pos, neg, share)
    lean = lean - cases @ lean / n
    if np.abs(lean).max() < 1e-9:  # the curve is flat: any increasing one may be true
        lean = np.cumsum(cases) - cases / 2 - n / 2
    size = math.sqrt(cases @ lean**2 / n)
    lean = lean / size if size > 0 else lean
    seen = math.sqrt(cases @ (isotonic_curve(pos, neg) - pos.sum() / n) ** 2 / n)
    return Family(np.full(lean.size, share), lean, *_between(seen, n))


def doubted(pos: Array, neg: Array, share: float) -> Floats:
    """Give the isotonic value of every row, one more case added to each block."""
    start = pool_violators(pos, neg)[1]
    cases = np.add.reduceat(pos + neg, start[:-1])
    up = np.add.reduceat(pos, start[:-1])
    return np.repeat((up + share) / (cases + 1), np.diff(start))


def inverted(
    s: Forecasts, family: Family, statistic: Statistic, ask: DrawRequest, most: float
) -> tuple[float, float]:
    """Between which truths would the statistic of the sample not be rare?

    Samples are spread over the family; what they show at each member has a mean and a
    scale that change smoothly, and the shape of what is left is taken as common. The
    truth of a member is the statistic of expected counts. Where the end of the family
    is not rare either, the interval ends at ``most``.
    """
    c = np.linspace(family.first, family.last, ask.replicates)
    drawn = s.samples([family.at(x) for x in c], ask.rng)
    found = np.array([_of_some(s.score, *counts, statistic) for counts in drawn])
    few = np.linspace(family.first, family.last, _TRUTHS)
    members = [family.at(x) for x in few]
    true = [statistic(s.score, s.cases * f, s.cases * (1 - f)) for f in members]
    seen, between = statistic(*s[:3]), np.interp(c, few, true)
    if not (np.isfinite(found).all() and np.isfinite(true).all()):
        return 0.0, most  # a loss that may be infinite
    # few cases know little about their own spread
    z, tails = _standardised(seen, found, ask, student_factor(s.n - 1, ask.level))
    kept = (tails[0] <= z) & (z <= tails[1])
    if not kept.any():
        kept = np.abs(z) == np.abs(z).min()
    between = np.maximum.accumulate(between)
    high = most if kept[-1] else float(between[kept].max())
    return float(between[kept].min()), high


def by_chance(
    s: Forecasts, statistic: Statistic, replicates: int, rng: np.random.Generator
) -> Floats:
    """Which numbers do labels show that are drawn from the scores?"""
    drawn = s.labels(s.score, replicates, rng)
    return np.array([_of_some(s.score, *counts, statistic) for counts in drawn])


def _of_some(score: Floats, pos: Array, neg: Array, statistic: Statistic) -> float:
    """Give the statistic of the rows that were drawn."""
    at = np.flatnonzero(pos + neg)
    return statistic(score[at], pos[at], neg[at])


def _standardised(
    seen: float, found: Floats, ask: DrawRequest, wider: float
) -> tuple[Floats, Floats]:
    """Where does ``seen`` stand among what each member shows, and where are tails?"""
    x = np.linspace(0.0, 1.0, found.size)
    mean = _fitted(x, found, 3)
    rest = found - mean
    scale = np.abs(rest)
    # a scale of nothing would call everything rare
    scale = np.maximum(_fitted(x, scale, 1), max(0.2 * float(scale.mean()), 1e-12))
    tails = np.quantile(rest / scale, ask.tails) * wider
    return (seen - mean) / scale, tails


def _fitted(x: Floats, y: Floats, degree: int) -> Floats:
    powers = np.vander(x, degree + 1)
    return np.asarray(powers @ np.linalg.lstsq(powers, y, rcond=None)[0])
