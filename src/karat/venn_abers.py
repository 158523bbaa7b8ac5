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

from karat._numerics import Floats, Ints

_Point = tuple[int, int]


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
    x = np.cumsum(pos + neg).tolist()
    y = np.cumsum(pos).tolist()
    corners = _corners(x, y)
    (ax, ay), (bx, by) = corners[-1], corners[-2]
    out = []
    value = (by - ay) / (bx - ax)
    for xi, yi in zip(x, y, strict=True):
        out.append(value)
        # Algorithm 2: row i moves to the left of the added case, its end by (-1, -1)
        if (yi - 1 - ay) * (bx - ax) < (by - ay) * (xi - 1 - ax):
            corners.pop()
            _step_left(corners, (xi - 1, yi - 1))
            (ax, ay), (bx, by) = corners[-1], corners[-2]
            value = (by - ay) / (bx - ax)
    return np.array(out)


def _corners(x: list[int], y: list[int]) -> list[_Point]:
    """Algorithm 1: corners of the convex minorant, the leftmost last.

    The added case stands before the first row: the diagram starts at (-1, -1).
    """
    corners: list[_Point] = []
    for point in zip(reversed([-1, 0, *x]), reversed([-1, 0, *y]), strict=True):
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
