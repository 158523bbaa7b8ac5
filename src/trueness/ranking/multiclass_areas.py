r"""How well do the scores of several classes separate them, and how sure are we?

A(k|j) is how often a case of class k has a higher score *for class k* than a case of
class j. Every average of these areas is a sum of two-sample U-statistics, so its
variance follows from what each case adds (DeLong's placement values, over all pairs of
classes at once): no covariance between pairs is left out.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.records import Estimate
from trueness.inference.limits import limited
from trueness.inference.spread import Stratum, joined


def _pair_areas(code: Ints, scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Compare all pairs of classes, and say what each case adds; O(c^2 n log n).

    ``area[k, j]`` is A(k|j). ``win[i, j]`` is the share of class j that case i beats by
    the score of its own class, ``lose[i, k]`` the share of class k that beats case i by
    the score of class k; ties count a half. Nothing for the case's own class.
    """
    n, c = scores.shape
    win, lose, area = np.zeros((n, c)), np.zeros((n, c)), np.zeros((c, c))
    members = [np.flatnonzero(code == k) for k in range(c)]
    for k, j in permutations(range(c), 2):
        own, other, s = members[k], members[j], scores[:, k]
        win[own, j] = _share_below(np.sort(s[other]), s[own])
        lose[other, k] = 1 - _share_below(np.sort(s[own]), s[other])
        area[k, j] = win[own, j].mean()
    return area, win, lose


def _share_below(ordered: Floats, at: Floats) -> Floats:
    """Give the share of ``ordered`` below each value, ties counting a half."""
    below = np.searchsorted(ordered, at, side="left")
    upto = np.searchsorted(ordered, at, side="right")
    return (below + upto) / (2 * ordered.size)


def averaged(code: Ints, scores: Floats, average: str) -> tuple[float, Floats]:
    r"""Give an average of the areas, and the influence of each case on it.

    "hand-till": :math:`M = \frac{1}{c(c-1)} \sum_{k \ne j} A(k|j)`, Hand and Till
    (2001), eq. (7); it does not depend on how common the classes are. "macro" and
    "weighted" average the areas of each class against all others, by equal weights or
    by the shares of the classes.
    """
    area, win, lose = _pair_areas(code, scores)
    n, c = scores.shape
    size = np.bincount(code, minlength=c)
    share = size / n
    if average == "hand-till":
        weight = 1 / (c * (c - 1))
        value = weight * float(area.sum())
        each = weight * (win.sum(axis=1) + lose.sum(axis=1))
        mean = np.bincount(code, each, minlength=c) / size
        return value, (each - mean[code]) / share[code]
    # against the rest: each other class counts by its size
    rest = np.where(np.eye(c, dtype=bool), 0.0, size) / (n - size)[:, None]
    one = (rest * area).sum(axis=1)
    weights = np.full(c, 1 / c) if average == "macro" else share
    own = (rest[code] * win).sum(axis=1)
    influence = weights[code] * (own - one[code]) / share[code]
    # a case of another class is one of the rest that class k must beat
    away = (lose - one) * weights / (1 - share)
    influence += np.where(code[:, None] == np.arange(c), 0.0, away).sum(axis=1)
    value = float(weights @ one)
    if average == "weighted":  # the weights are estimated too
        influence += one[code] - value
    return value, influence


def estimated(code: Ints, value: float, influence: Floats, level: float) -> Estimate:
    """Give an average its limits, as every measure has them.

    Where the influence adds up to zero within each class, every class is a sample of
    its own; otherwise the sizes of the classes are part of what varies.
    """
    u = influence / code.size
    size = np.bincount(code).astype(np.float64)
    two, four = (np.bincount(code, u**k) for k in (2, 4))
    if np.abs(np.bincount(code, u)).max() < 1e-12:  # sums round in their last digits
        parts = [Stratum(*x) for x in zip(size, two, four, strict=True)]
    else:
        parts = [Stratum(size.sum(), two.sum(), four.sum())]
    return limited(value, joined(parts, size.min()), level=level)
