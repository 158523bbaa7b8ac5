r"""Between which two probabilities does isotonic calibration leave a new case?

A new case has one of two labels. Adding it with label 0 to the calibration cases, or
with label 1, and fitting isotonic regression each time gives two probabilities
:math:`p_0 \le p_1`; for exchangeable cases one of the two (the one of its true label)
is perfectly calibrated. Vovk, Petej and Fedorova (2015) compute both for all positions
of the new case by one walk along the cumulative sum diagram; here the walk is on rows
of counts, in whole numbers, so ties are exact.

References
----------
V. Vovk, I. Petej, V. Fedorova, Large-scale probabilistic predictors with and without
guarantees of validity, NeurIPS 28 (2015), arXiv:1511.00213, Algorithms 1 to 4.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Floats, Ints

_Point = tuple[int, int]
# below this many rows blocks cost more than they save
_LONG = 1 << 14


def bounds(pos: Ints, neg: Ints) -> tuple[Floats, Floats]:
    """Give p0 and p1 of a new case at each row, rows in ascending order of score.

    Examples
    --------
    Two negatives below two positives: a new case at the lowest score that is positive
    pools with both negatives, 1/3.

    >>> low, high = bounds(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    >>> high.round(3), low.round(3)
    (array([0.333, 0.5  , 1.   , 1.   ]), array([0.   , 0.   , 0.5  , 0.667]))
    """
    # a new negative among these cases is a new positive in their mirror image
    return 1 - _with_positive(neg[::-1], pos[::-1])[::-1], _with_positive(pos, neg)


def _with_positive(pos: Ints, neg: Ints) -> Floats:
    """Give the isotonic value at each row when one positive is added to that row."""
    x, y = np.cumsum(pos + neg), np.cumsum(pos)
    corners = _corners(x, y)
    # products of two counts must fit into int64 for the blocks
    find = _first_below if x.size > _LONG and x[-1] < 2**31 else _next_below
    out = np.empty(x.size)
    row = 0
    while row < x.size:
        a, b = corners[-1], corners[-2]
        stop = find(x, y, row, a, b)
        out[row : stop + 1] = (b[1] - a[1]) / (b[0] - a[0])
        if stop < x.size:
            # Algorithm 2: this row moves to the left of the added case, by (-1, -1)
            corners.pop()
            _step_left(corners, (int(x[stop]) - 1, int(y[stop]) - 1))
        row = stop + 1
    return out


def _next_below(x: Ints, y: Ints, row: int, a: _Point, b: _Point) -> int:
    """Which row from here on would end below the line a-b? One after the other."""
    run, rise = b[0] - a[0], b[1] - a[1]
    for k in range(row, x.size):
        if (int(y[k]) - 1 - a[1]) * run < rise * (int(x[k]) - 1 - a[0]):
            return k
    return x.size


def _first_below(x: Ints, y: Ints, row: int, a: _Point, b: _Point) -> int:
    """Which row from here on would end below the line a-b? In growing blocks."""
    run, rise, step = b[0] - a[0], b[1] - a[1], 64
    while row < x.size:
        s = slice(row, row + step)
        below = (y[s] - (1 + a[1])) * run < rise * (x[s] - (1 + a[0]))
        first = int(below.argmax())
        if below[first]:
            return row + first
        row, step = row + step, min(2 * step, 1 << 14)
    return x.size


def _corners(x: Ints, y: Ints) -> list[_Point]:
    """Algorithm 1: corners of the convex minorant, the leftmost last.

    The added case stands before the first row: the diagram starts at (-1, -1). Blocks
    of isotonic regression end at its corners, and may end at points between them.
    """
    from scipy.optimize import isotonic_regression

    x, y = np.concatenate([[-1, 0], x]), np.concatenate([[-1, 0], y])
    cases = np.diff(x)
    ends = isotonic_regression(np.diff(y) / cases, weights=cases).blocks
    corners: list[_Point] = []
    for point in zip(x[ends[::-1]].tolist(), y[ends[::-1]].tolist(), strict=True):
        _step_left(corners, point)
    return corners


def _step_left(corners: list[_Point], point: _Point) -> None:
    """Put a point to the left of the corners and drop those it hides."""
    x, y = point
    while len(corners) > 1:
        (ax, ay), (bx, by) = corners[-1], corners[-2]
        if (ay - y) * (bx - ax) < (by - ay) * (ax - x):
            break
        corners.pop()
    corners.append(point)
