r"""Which monotone step function fits shares best? Pooling adjacent violators.

The one place where isotonic regression is asked for: calibration curves, the convex
hull of an ROC curve and the cheapest cut are all blocks of pooled shares.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Array, Floats


def pooled_blocks(part: Array, whole: Array, *, increasing: bool = True) -> Array:
    """Where do blocks of rows start within which part / whole is pooled?

    The number of rows is the last entry. Neighbouring blocks may have equal shares.

    >>> pooled_blocks(np.array([0, 1, 1, 2]), np.array([2, 1, 3, 2])).tolist()
    [0, 1, 3, 4]
    """
    from scipy.optimize import isotonic_regression

    weight = whole.astype(np.float64)
    found = isotonic_regression(part / whole, weights=weight, increasing=increasing)
    return np.asarray(found.blocks)


def concave_corners(up: Array, right: Array) -> Array:
    """At which points of a rising path does its concave hull touch the path?

    The path takes these steps; point 0 is its start. The slopes of the hull are the
    pooled slopes of the steps (Fawcett and Niculescu-Mizil 2007).

    >>> concave_corners(np.array([1, 0, 1]), np.array([0, 1, 0])).tolist()
    [0, 1, 3]
    """
    steps = np.flatnonzero(up + right > 0)
    up, right = up[steps], right[steps]
    at = pooled_blocks(up, up + right, increasing=False)
    return np.append(0, steps + 1)[at]


def pool_violators(pos: Array, neg: Array) -> tuple[Floats, Array]:
    """Give the share of positives of each block, ascending, and where blocks start.

    The shares come from whole counts, so equal shares are equal to the last bit, and
    neighbouring blocks differ.
    """
    cases = pos + neg
    start = pooled_blocks(pos, cases)
    share = _shares(pos, cases, start)
    level = np.concatenate([[True], share[1:] > share[:-1]])
    if not level.all():  # rounding kept apart what is equal
        start = np.append(start[:-1][level], start[-1])
        share = _shares(pos, cases, start)
    return share, start


def isotonic_curve(pos: Array, neg: Array) -> Floats:
    """Give the isotonic share of positives of every row.

    >>> isotonic_curve(np.array([0, 1, 0, 2]), np.array([1, 0, 1, 0])).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    share, start = pool_violators(pos, neg)
    return np.repeat(share, np.diff(start))


def _shares(pos: Array, cases: Array, start: Array) -> Floats:
    return np.add.reduceat(pos, start[:-1]) / np.add.reduceat(cases, start[:-1])
