r"""How much heavier than those drawn might the cases be that were not drawn?

Where the weight of a case goes with its score, few cases of extreme scores weigh most.
Samples that have missed them show an AUC on one side of the truth, and least spread.
What they do show is how weights grow with the score. So each case is moved a little, as
in the estimate of a density by kernels, and its weight goes along. With :math:`z_i` the
normal quantile of the share of the other class that the case beats (its placement),
:math:`\beta` the slope of :math:`\log w` on z, times their correlation (weights that
hardly go with the score tell little), :math:`\epsilon` a normal variable and
:math:`w_i' = w_i e^{\beta h \epsilon}`, the variance grows by

.. math:: \frac{\sum_i E\,w_i'^2 (\Phi(z_i + h \epsilon) - A)^2}
               {(\sum_i E\,w_i')^2}
          - \frac{\sum_i w_i^2\,E (\Phi(z_i + h \epsilon) - A)^2}{(\sum_i w_i)^2}

where that is positive. It is zero where the weights of a class are equal or do not go
with the score, and vanishes with many cases, as h does. That is the usual width of a
kernel, for as many cases as carry the variance. No case becomes heavier than the
heaviest of both classes: one class often shows the weights that the other may have.

A missed case below A has left the AUC too large, so what it adds to the sum widens the
interval downwards only; one above A widens it upwards only.

The same growth says how likely a kind of cases that ranks last was missed as a whole.
Its cases would weigh :math:`e^{\beta (z_{last} - \bar z)}` times as much as others, and
would have been drawn as much more rarely: it was missed among fewer cases than were
drawn, though no fewer than Kish's number. Weights that do not go with the score leave
that number as it is. ``docs/maths/weights.md`` has what this does to coverage.
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
    up, down = _Class(t.pos, pos, below), _Class(t.neg, neg, above)
    return up.missed(a, most, down.cases), down.missed(a, most, up.cases)


class _Class:
    """The cases of one class; those of a row, or of joined ones, are taken for equal.

    Weights are in units of all weight of the class.
    """

    def __init__(self, weight: Array, square: Array, place: Floats) -> None:
        at = np.flatnonzero(square)  # squares of the smallest weights vanish
        w, q, p = weight[at], square[at], place[at] * weight[at]
        if at.size > _ROWS:
            start = np.linspace(0, at.size, _ROWS, endpoint=False).astype(np.intp)
            w, q, p = (np.add.reduceat(c, start) for c in (w, q, p))
        self.total = float(w.sum())
        self.place: Floats = p / w
        self.weight: Floats = q / w / self.total
        self.number: Floats = w**2 / q
        self.cases = float(self.number.sum())

    def missed(self, a: float, most: float, others: float) -> Missed:
        """What may these cases lack, beside as many of the other class?"""
        # equal weights do not grow: nothing is added, not even a rounding
        if self.weight.size < 2 or self.weight.max() <= self.weight.min() * (1 + 1e-9):
            return Missed(met=self.cases)
        from scipy.special import ndtri

        rim = 0.5 / (others + 1)  # beyond all others: half a case from the end
        z: Floats = ndtri(np.clip(self.place, rim, 1 - rim))
        slope, spread = self._growth(z)
        kish = 1 / float(self.number @ self.weight**2)
        h = _WIDTH * spread * self._carriers(a) ** -0.2
        low, high = self._lacks(z, h, slope, a, most) * kish**2 / max(kish - 1, 1.0)
        last = float(ndtri(rim if a > 0.5 else 1 - rim) - self.number @ z / self.cases)
        met = self.cases * math.exp(-max(slope * last, 0.0))
        return Missed(float(low), float(high), max(met, kish))

    def _lacks(self, z: Floats, h: float, slope: float, a: float, most: float) -> Array:
        """How much larger are the sums of squares below and above A after the moves?"""
        from scipy.special import ndtr

        weight, number = self.weight, self.number
        heavier, plain, total = np.zeros(2), np.zeros(2), 0.0
        for x, share in zip(h * _NODES, _SHARES, strict=True):
            away = ndtr(z + x) - a
            square = number * np.stack([np.minimum(away, 0), np.maximum(away, 0)]) ** 2
            grown = np.minimum(np.log(weight) + slope * x, np.log(most / self.total))
            w = np.exp(grown)
            heavier += share * (square @ w**2)
            plain += share * (square @ weight**2)
            total += share * float(w @ number)
        return np.maximum(heavier / total**2 - plain, 0.0)

    def _carriers(self, a: float) -> float:
        """How many cases carry the variance? Few, where few are heavy."""
        square = (self.weight * (self.place - a)) ** 2
        fourth = float(self.number @ square**2)
        return float(self.number @ square) ** 2 / fourth if fourth > 0 else math.inf

    def _growth(self, z: Floats) -> tuple[float, float]:
        """Give the slope of the logarithm of weights on z, and how far z spreads."""
        size = np.log(self.weight)
        x, y = (v - self.number @ v / self.cases for v in (z, size))
        xx, yy, xy = (float(self.number @ p) for p in (x * x, y * y, x * y))
        if not xx > 0 or not yy > 0:
            return 0.0, 0.0
        # the least squares, times the correlation
        slope = xy / xx * abs(xy) / math.sqrt(xx * yy)
        return slope, math.sqrt(xx / max(self.cases - 1, 1.0))
