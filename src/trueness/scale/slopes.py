r"""Between which numbers do calibration slope and intercept of cells lie?

The intercept falls as any score rises, so it is largest with all cases at the lower
ends of their cells and smallest with all at the upper ones. The slope is the maximum of
a concave profile likelihood: it lies above b where the derivative at b is positive,

.. math:: \sum_i (x_i - c) (y_i - \sigma(a + b x_i)) > 0,

whatever c is, with a the intercept that belongs to b. Each term has a smallest value
over its cell and over the a that are possible, and if the sum of these is positive, so
is the derivative, wherever the cases lie.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueness._core.arrays import Floats
from trueness.calibration.errors import log_odds
from trueness.calibration.formulas import sigmoid
from trueness.counts.values import Tally
from trueness.scale.arrangements import Ends

_FINE = 4096  # cells that are looked at; more are joined
_ROOM = 1e-9  # how well an intercept is found
_HALVINGS = 60
_STEEPEST = 1e3  # a slope that far from the first is as good as infinite


def intercept_ends(t: Tally) -> Ends:
    """Bound the intercept with the slope held at 1."""
    t = t.coarse(16 * _FINE)
    ends = [_intercept(t, log_odds(score), 1.0) for score in (t.high, t.score)]
    return min(ends) - _ROOM, max(ends) + _ROOM


def slope_ends(t: Tally, slope: float) -> Ends:
    """Bound the slope; ``slope`` is that of the lower ends."""
    t = t.coarse(_FINE)
    low = _farthest(lambda b: _derivative(t, b)[0] > 0, slope, -1)
    high = _farthest(lambda b: _derivative(t, b)[1] < 0, slope, 1)
    return low, high


def _intercept(t: Tally, x: Floats, slope: float) -> float:
    """Find by halving the intercept that expects as many positives as there are."""
    eta, cases = slope * x, t.pos + t.neg
    low, high = -float(eta.max()) - 50, 50 - float(eta.min())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float((cases * sigmoid(middle + eta)).sum()) < t.n_pos:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _derivative(t: Tally, slope: float) -> Ends:
    """Bound the derivative of the profile likelihood over all arrangements."""
    ends = log_odds(t.score), log_odds(t.high)
    a = sorted(_intercept(t, x, slope) for x in ends)
    steps = sorted((slope * x for x in ends), key=lambda v: float(v[0]))
    least = sigmoid(a[0] - _ROOM + np.minimum(*steps))
    most = sigmoid(a[1] + _ROOM + np.maximum(*steps))
    cases = t.pos + t.neg
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
    inner, outer = 0.0, step
    for _ in range(_HALVINGS):
        middle = (inner + outer) / 2
        if settled(start + way * middle):
            outer = middle
        else:
            inner = middle
        if outer - inner <= 1e-3 * outer:  # how wide it is, is known well enough
            break
    return start + way * outer
