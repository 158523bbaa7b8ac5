r"""How much heavier than those drawn might the cases be that were not drawn?

Where the weight of a case goes with its score, few cases of extreme scores weigh most.
Samples that have missed them show a mean on one side of the truth, and least spread.
What they do show is how weights grow with the score. So each case is moved a little, as
in the estimate of a density by kernels, and its weight goes along. With :math:`z_i` the
position of a case, v(z) how far a case at z is from the mean, g(z) how the logarithm of
weights goes with z, :math:`\epsilon` a normal variable and
:math:`w_i' = w_i e^{g(z_i + h \epsilon) - g(z_i)}`, the variance of the mean grows by

.. math:: \frac{\sum_i E\,w_i'^2 v(z_i + h \epsilon)^2}{(\sum_i E\,w_i')^2}
          - \frac{\sum_i w_i^2\,E\,v(z_i + h \epsilon)^2}{(\sum_i w_i)^2}

where that is positive. g is a line, or the local mean of log w in the other class,
which often shows the weights of scores that this class has not met; that of the two is
taken which goes better with the weights of this class, times the least squares' slope
and the correlation (weights that hardly go with the score tell little). The growth is
zero where the weights of a class are equal or do not go with the score, and vanishes
with many cases, as h does. That is the usual width of a kernel, for as many cases as
carry the variance. No case becomes heavier than the heaviest of both classes.

A missed case below the mean has left it too large, so what it adds to the sum widens an
interval downwards only; one above the mean widens it upwards only.
``docs/maths/weights.md`` has what this does to coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats

_WIDTH = 0.9  # in standard deviations of z: Silverman's rule of thumb
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(15)
_SHARES = _SHARES / _SHARES.sum()
_KNOTS = 129  # of the curve of weights, on which z is interpolated
_ROWS = 4096  # more of them are joined: neighbours weigh and rank about alike


class PlacedCases(NamedTuple):
    """Cases of one class where they stand, in rows of a number of equal ones."""

    at: Floats
    weight: Floats  # of a case
    number: Floats

    @classmethod
    def of(cls, weight: Array, square: Array, at: Floats) -> PlacedCases:
        """Take the rows of sums of weights and of their squares."""
        met = np.flatnonzero(square)  # squares of the smallest weights vanish
        w, q, z = weight[met], square[met], at[met] * weight[met]
        if met.size > _ROWS:
            start = np.linspace(0, met.size, _ROWS, endpoint=False).astype(np.intp)
            w, q, z = (np.add.reduceat(c, start) for c in (w, q, z))
        return cls(z / w, q / w, w**2 / q)

    @property
    def cases(self) -> float:
        """Give the number of all cases."""
        return float(self.number.sum())

    @property
    def alike(self) -> bool:
        """Do all cases weigh the same?"""
        w = self.weight
        return w.size < 2 or bool(w.max() <= w.min() * (1 + 1e-9))

    @property
    def kish(self) -> float:
        """As how many equal cases do these count?"""
        w, n = self.weight, self.number
        return float(n @ w) ** 2 / float(n @ w**2)


class WeightCurve(NamedTuple):
    """How does the logarithm of a weight go with z? A line, unless there are knots."""

    slope: float = 1.0
    knots: Floats | None = None
    means: Floats | None = None

    def __call__(self, z: Floats) -> Floats:
        """Give the logarithm of the weight at z, up to a constant."""
        if self.knots is None or self.means is None:
            return self.slope * z
        return np.asarray(self.slope * np.interp(z, self.knots, self.means))


def weight_curve(own: PlacedCases, other: PlacedCases) -> WeightCurve:
    """How do the weights of a class grow with z?

    In a line, or as those of the other class do: as they are explained better.
    """
    best, found = 0.0, WeightCurve(0.0)
    for curve in (WeightCurve(), _local_means(other)):
        both = curve(own.at), np.log(own.weight)
        x, y = (v - own.number @ v / own.cases for v in both)
        xx, yy, xy = (float(own.number @ p) for p in (x * x, y * y, x * y))
        if not xx > 0 or not yy > 0 or (curve.knots is not None and xy < 0):
            continue
        alike = abs(xy) / math.sqrt(xx * yy)
        if alike > best:
            # the least squares, times the correlation
            best, found = alike, curve._replace(slope=xy / xx * alike)
    return found


def _local_means(x: PlacedCases) -> WeightCurve:
    h = _width(x, x.cases) if x.at.size else 0.0
    if not h > 0:
        return WeightCurve(0.0)
    knots = np.linspace(x.at.min(), x.at.max(), _KNOTS)
    near = x.number * np.exp(-(((knots[:, None] - x.at) / h) ** 2) / 2)
    means = near @ np.log(x.weight) / near.sum(axis=1)
    return WeightCurve(1.0, knots, means)


def _width(x: PlacedCases, cases: float) -> float:
    """Give the width of a kernel for as many cases."""
    away = x.at - x.number @ x.at / x.cases
    spread = math.sqrt(float(x.number @ away**2) / max(x.cases - 1, 1.0))
    return _WIDTH * spread * float(cases**-0.2)


def lacking_variance(
    x: PlacedCases, growth: WeightCurve, away: Callable[[Floats], Floats], most: float
) -> tuple[float, float]:
    """What does the variance of a mean lack, of cases below the mean and above it?

    ``away`` says how far from the mean a case at z is; no case is heavier than
    ``most``.
    """
    weight, number, z = x.weight, x.number, x.at
    h = _width(x, _carriers(x, away(z)))
    size, here = np.log(weight), growth(z)
    heavier, plain, total = np.zeros(2), np.zeros(2), 0.0
    for step, share in zip(h * _NODES, _SHARES, strict=True):
        v = away(z + step)
        square = number * np.stack([np.minimum(v, 0), np.maximum(v, 0)]) ** 2
        w = np.exp(np.minimum(size + growth(z + step) - here, np.log(most)))
        heavier += share * (square @ w**2)
        plain += share * (square @ weight**2)
        total += share * float(w @ number)
    plain /= float(weight @ number) ** 2
    low, high = np.maximum(heavier / total**2 - plain, 0.0)
    return float(low), float(high)


def _carriers(x: PlacedCases, away: Floats) -> float:
    """How many cases carry the variance? Few, where few are heavy."""
    square = (x.weight / x.weight.max() * away) ** 2
    fourth = float(x.number @ square**2)
    return float(x.number @ square) ** 2 / fourth if fourth > 0 else math.inf
