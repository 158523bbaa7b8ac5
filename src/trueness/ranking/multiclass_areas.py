r"""How well do the scores of several classes separate them, and how sure are we?

A(k|j) is how often a case of class k has a higher score *for class k* than a case of
class j. Every average of these areas is a sum of two-sample U-statistics, so its
variance follows from what each case adds (DeLong's placement values, over all pairs of
classes at once): no covariance between pairs is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness.counts.values import Tally
from trueness.ranking.auc_intervals import auc, logit_ends, student_quantile


class Areas(NamedTuple):
    """The areas of all ordered pairs of classes, and what each case adds to them.

    ``area[k, j]`` is A(k|j). ``win[i, j]`` is the share of class j that case i beats by
    the score of its own class, ``lose[i, k]`` the share of class k that beats case i by
    the score of class k; ties count a half. NaN for the case's own class.
    """

    area: Floats
    win: Floats
    lose: Floats


def pair_areas(code: Ints, scores: Floats) -> Areas:
    """Compare all pairs of classes; O(c^2 n log n) for c classes."""
    n, c = scores.shape
    win, lose = np.full((n, c), np.nan), np.full((n, c), np.nan)
    members = [np.flatnonzero(code == k) for k in range(c)]
    area = np.full((c, c), np.nan)
    for k, own in enumerate(members):
        s = scores[:, k]
        high = np.sort(s[own])
        for j, other in enumerate(members):
            if j == k:
                continue
            win[own, j] = _share_below(np.sort(s[other]), s[own])
            lose[other, k] = 1 - _share_below(high, s[other])
            area[k, j] = win[own, j].mean()
    return Areas(area, win, lose)


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
    found = pair_areas(code, scores)
    n, c = scores.shape
    size = np.bincount(code, minlength=c)
    share = size / n
    if average == "hand-till":
        weight = 1 / (c * (c - 1))
        value = weight * float(np.nansum(found.area))
        each = weight * (np.nansum(found.win, axis=1) + np.nansum(found.lose, axis=1))
        mean = np.bincount(code, each, minlength=c) / size
        return value, (each - mean[code]) / share[code]
    # against the rest: each other class counts by its size
    rest = np.where(np.eye(c, dtype=bool), 0.0, size) / (n - size)[:, None]
    one = np.nansum(rest * np.nan_to_num(found.area), axis=1)
    weights = np.full(c, 1 / c) if average == "macro" else share
    own = np.nansum(rest[code] * np.nan_to_num(found.win), axis=1)
    influence = weights[code] * (own - one[code]) / share[code]
    # a case of another class is one of the rest that class k must beat
    away = (found.lose - one) * weights / (1 - share)
    influence += np.nansum(away, axis=1)
    value = float(weights @ one)
    if average == "weighted":  # the weights are estimated too
        influence += one[code] - value
    return value, influence


def interval(
    code: Ints, value: float, influence: Floats, level: float
) -> tuple[float, float, float]:
    """Give both ends, on the scale of log odds, and the standard error.

    The variance is the sum of those of the classes, with Satterthwaite's degrees of
    freedom. Where no case differs from another there is no variance to be seen: the
    score interval of the two smallest classes stands in.
    """
    size = np.bincount(code)
    square = np.bincount(code, influence**2) / code.size**2
    # each class is a sample of its own: n / (n - 1) and Satterthwaite by class
    parts = square * size / np.maximum(size - 1, 1)
    error = float(np.sqrt(parts.sum()))
    if error < 1e-12 or not 0 < value < 1:  # sums round in their last digits
        return (*_stand_in(size, value, level), error)
    df = parts.sum() ** 2 / (parts**2 / np.maximum(size - 1, 1)).sum()
    return *logit_ends(value, error, float(student_quantile(df, level))), error


def _stand_in(size: Array, value: float, level: float) -> tuple[float, float]:
    fewest = np.sort(size)[:2].tolist()
    apart = Tally([1, 0], neg=[0, fewest[1]], pos=[fewest[0], 0])
    # how far below 1 the area may lie when so few cases show no overlap
    room = 1 - float(auc(apart, level=level).low)
    return max(0.0, value - room), min(1.0, value + room)
