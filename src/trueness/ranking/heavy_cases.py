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
``docs/maths/weights.md`` has what this does to coverage.
"""

from __future__ import annotations

import math

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.counts.placements import placement_values
from trueness.counts.values import Tally
from trueness.counts.weights import heaviest

_WIDTH = 1.06  # in standard deviations of z: best for a normal density (Silverman)
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(15)
_SHARES = _SHARES / _SHARES.sum()
_ROWS = 4096  # more of them are joined: neighbours weigh and rank about alike


def heavier_spread(t: Tally, a: float) -> tuple[float, float]:
    """By how much do ``pos_var`` and ``neg_var`` of weighted placements fall short?"""
    below, above = placement_values(t)
    neg, pos, _ = t.squares
    most = heaviest(t)
    up, down = _Class(t.pos, pos, below), _Class(t.neg, neg, above)
    return up.shortfall(a, most, down.cases), down.shortfall(a, most, up.cases)


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

    def shortfall(self, a: float, most: float, others: float) -> float:
        """How much larger is the variance of as many equal cases after the moves?"""
        weight, number = self.weight, self.number
        # equal weights do not grow: nothing is added, not even a rounding
        if weight.size < 2 or weight.max() <= weight.min() * (1 + 1e-9):
            return 0.0
        from scipy.special import ndtr, ndtri

        rim = 0.5 / (others + 1)  # beyond all others: half a case from the end
        z: Floats = ndtri(np.clip(self.place, rim, 1 - rim))
        slope, spread = self._growth(z)
        h = _WIDTH * spread * self._carriers(a) ** -0.2
        heavier = plain = total = 0.0
        for x, share in zip(h * _NODES, _SHARES, strict=True):
            square = number * (ndtr(z + x) - a) ** 2
            grown = np.minimum(np.log(weight) + slope * x, np.log(most / self.total))
            w = np.exp(grown)
            heavier += share * float(w**2 @ square)
            plain += share * float(weight**2 @ square)
            total += share * float(w @ number)
        n = 1 / float(number @ weight**2)
        more = float(max(heavier / total**2 - plain, 0.0))
        return more * n**2 / max(n - 1, 1.0)

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
