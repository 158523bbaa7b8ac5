r"""How much heavier than those drawn might the cases be that were not drawn?

Where the weight of a case goes with its score, few cases of extreme scores weigh most.
Samples that have missed them show an AUC on one side of the truth, and least spread.
What they do show is how weights grow with the score. So each case is moved a little, as
in the estimate of a density by kernels, and its weight goes along. With :math:`z_i` the
normal quantile of the share of the other class that the case beats (its placement),
:math:`g(z)` how the logarithm of weights goes with z, :math:`\epsilon` a normal
variable and :math:`w_i' = w_i e^{g(z_i + h \epsilon) - g(z_i)}`, the variance grows by

.. math:: \frac{\sum_i E\,w_i'^2 (\Phi(z_i + h \epsilon) - A)^2}
               {(\sum_i E\,w_i')^2}
          - \frac{\sum_i w_i^2\,E (\Phi(z_i + h \epsilon) - A)^2}{(\sum_i w_i)^2}

where that is positive. g is a line, or the local mean of log w in the other class,
which often shows the weights of scores that this class has not met; that of the two is
taken which goes better with the weights of this class, times the least squares' slope
and the correlation (weights that hardly go with the score tell little). The growth is
zero where the weights of a class are equal or do not go with the score, and vanishes
with many cases, as h does. That is the usual width of a kernel, for as many cases as
carry the variance. No case becomes heavier than the heaviest of both classes.

A missed case below A has left the AUC too large, so what it adds to the sum widens the
interval downwards only; one above A widens it upwards only.

The same growth says how likely a kind of cases that ranks last was missed as a whole.
Its cases would weigh as much more than others as g says, and would have been drawn as
much more rarely: it was missed among fewer cases than were drawn, though no fewer than
Kish's number. Weights that do not go with the score leave that number as it is.
``docs/maths/weights.md`` has what this does to coverage.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.counts.placements import placement_values
from trueness.counts.values import Tally
from trueness.counts.weights import heaviest

_WIDTH = 0.9  # in standard deviations of z: Silverman's rule of thumb
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(15)
_SHARES = _SHARES / _SHARES.sum()
_KNOTS = 129  # of the curve of weights, on which z is interpolated
_ROWS = 4096  # more of them are joined: neighbours weigh and rank about alike


class Missed(NamedTuple):
    """What a sample of one class may have missed.

    ``low`` and ``high`` are what the variance of its placements lacks of cases that
    would lower and raise the AUC; ``met`` is among how many cases it met none of a kind
    that ranks last.
    """

    low: float = 0.0
    high: float = 0.0
    met: float = math.inf


def missed_cases(t: Tally, a: float) -> tuple[Missed, Missed]:
    """What may have been missed of weighted positives, and of weighted negatives?"""
    below, above = placement_values(t)
    neg, pos, _ = t.squares
    most = heaviest(t)
    up = _Class(_rows(t.pos, pos, below), _rows(t.neg, neg, below))
    down = _Class(_rows(t.neg, neg, above), _rows(t.pos, pos, above))
    return up.missed(a, most), down.missed(a, most)


class _ClassRows(NamedTuple):
    """Rows of one class, each of a number of equal cases."""

    place: Floats  # which share of one of the classes they stand before
    weight: Floats  # of a case
    number: Floats

    @property
    def cases(self) -> float:
        """Give the number of all cases."""
        return float(self.number.sum())


class _WeightCurve(NamedTuple):
    """How does the logarithm of a weight go with z? A line, unless there are knots."""

    slope: float = 1.0
    knots: Floats | None = None
    means: Floats | None = None

    def __call__(self, z: Floats) -> Floats:
        if self.knots is None or self.means is None:
            return self.slope * z
        return np.asarray(self.slope * np.interp(z, self.knots, self.means))


def _rows(weight: Array, square: Array, place: Floats) -> _ClassRows:
    at = np.flatnonzero(square)  # squares of the smallest weights vanish
    w, q, p = weight[at], square[at], place[at] * weight[at]
    if at.size > _ROWS:
        start = np.linspace(0, at.size, _ROWS, endpoint=False).astype(np.intp)
        w, q, p = (np.add.reduceat(c, start) for c in (w, q, p))
    return _ClassRows(p / w, q / w, w**2 / q)


class _Class:
    """The cases of one class beside those of the other, by the other's quantiles."""

    def __init__(self, own: _ClassRows, other: _ClassRows) -> None:
        self.own, self.other = own, other
        self.rim = 0.5 / (
            other.cases + 1
        )  # beyond all others: half a case from the end

    def missed(self, a: float, most: float) -> Missed:
        """What may these cases lack?"""
        weight, number = self.own.weight, self.own.number
        # equal weights do not grow: nothing is added, not even a rounding
        if weight.size < 2 or weight.max() <= weight.min() * (1 + 1e-9):
            return Missed(met=self.own.cases)
        z = self._normal(self.own.place)
        kish = float(number @ weight) ** 2 / float(number @ weight**2)
        growth = self._growth(z)
        h = _width(z, number, self._carriers(a))
        low, high = self._lacks(z, h, growth, a, most) * kish**2 / max(kish - 1, 1.0)
        last = self._normal(np.array([0.0 if a > 0.5 else 1.0]))
        more = growth(last)[0] - number @ growth(z) / self.own.cases
        met = self.own.cases * math.exp(-max(float(more), 0.0))
        return Missed(float(low), float(high), max(met, kish))

    def _normal(self, place: Floats) -> Floats:
        from scipy.special import ndtri

        return np.asarray(ndtri(np.clip(place, self.rim, 1 - self.rim)))

    def _lacks(
        self, z: Floats, h: float, growth: _WeightCurve, a: float, most: float
    ) -> Array:
        """How much larger are the sums of squares below and above A after the moves?"""
        from scipy.special import ndtr

        weight, number = self.own.weight, self.own.number
        size, here = np.log(weight), growth(z)
        heavier, plain, total = np.zeros(2), np.zeros(2), 0.0
        for x, share in zip(h * _NODES, _SHARES, strict=True):
            away = ndtr(z + x) - a
            square = number * np.stack([np.minimum(away, 0), np.maximum(away, 0)]) ** 2
            w = np.exp(np.minimum(size + growth(z + x) - here, np.log(most)))
            heavier += share * (square @ w**2)
            plain += share * (square @ weight**2)
            total += share * float(w @ number)
        plain /= float(weight @ number) ** 2
        return np.maximum(heavier / total**2 - plain, 0.0)

    def _carriers(self, a: float) -> float:
        """How many cases carry the variance? Few, where few are heavy."""
        square = (self.own.weight * (self.own.place - a)) ** 2
        fourth = float(self.own.number @ square**2)
        return float(self.own.number @ square) ** 2 / fourth if fourth > 0 else math.inf

    def _growth(self, z: Floats) -> _WeightCurve:
        """How do these weights grow with z?

        In a line, or as those of the other class do: as these are explained better.
        """
        number, size = self.own.number, np.log(self.own.weight)
        best, found = 0.0, _WeightCurve(0.0)
        for curve in (_WeightCurve(), self._others()):
            x, y = (v - number @ v / self.own.cases for v in (curve(z), size))
            xx, yy, xy = (float(number @ p) for p in (x * x, y * y, x * y))
            if not xx > 0 or not yy > 0 or (curve.knots is not None and xy < 0):
                continue
            alike = abs(xy) / math.sqrt(xx * yy)
            if alike > best:
                # the least squares, times the correlation
                best, found = alike, curve._replace(slope=xy / xx * alike)
        return found

    def _others(self) -> _WeightCurve:
        """How do the weights of the other class go with z? Local means."""
        z, number = self._normal(self.other.place), self.other.number
        h = _width(z, number, self.other.cases)
        if not h > 0:
            return _WeightCurve(0.0)
        knots = np.linspace(z.min(), z.max(), _KNOTS)
        near = number * np.exp(-(((knots[:, None] - z) / h) ** 2) / 2)
        means = near @ np.log(self.other.weight) / near.sum(axis=1)
        return _WeightCurve(1.0, knots, means)


def _width(z: Floats, number: Floats, cases: float) -> float:
    """Give the width of a kernel for as many cases."""
    n = float(number.sum())
    away = z - number @ z / n
    spread = math.sqrt(float(number @ away**2) / max(n - 1, 1.0))
    return _WIDTH * spread * float(cases**-0.2)
