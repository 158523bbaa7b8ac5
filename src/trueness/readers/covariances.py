r"""How do the errors of readers go together?

All readers and treatments see the same cases, so their results vary together. Three
estimates of the covariance matrix of the results, one row per reader and treatment:

``jackknife``
    leaves out one case k of the N of the study at a time, :math:`\frac{N-1}{N} \sum_k
    (\theta_{(k)} - \bar\theta)(\theta_{(k)} - \bar\theta)'`; for every endpoint.
``delong``
    the placement values of the cases that two have in common (DeLong et al. 1988).
``unbiased``
    the product of two results less what it would be if they shared no case (Gallas
    2006): exact on average.

Results without a common case have covariance 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError
from trueness.readers.design import Endpoint, Readings


def results(x: Readings, end: Endpoint) -> Floats:
    """Give the endpoint of every row."""
    return np.array([end.value(*_sides(x, k)) for k in range(len(x.score))])


def _sides(x: Readings, row: int) -> tuple[Floats, Floats]:
    s, read = x.score[row], ~np.isnan(x.score[row])
    return s[read & x.positive], s[read & ~x.positive]


def jackknife(x: Readings, end: Endpoint) -> Floats:
    """Leave out one case at a time; a case that was not read changes nothing."""
    rows, n = x.score.shape
    value = results(x, end)
    less = np.repeat(value[:, None], n, axis=1)
    for k in range(rows):
        read = ~np.isnan(x.score[k])
        pos, neg = end.without(*_sides(x, k))
        less[k, read & x.positive], less[k, read & ~x.positive] = pos, neg
    centred = less - less.mean(axis=1, keepdims=True)
    return np.asarray((n - 1) / n * centred @ centred.T * _shares_cases(x))


def _shares_cases(x: Readings) -> Array:
    read = (~np.isnan(x.score)).astype(np.int64)
    return np.asarray(read @ read.T > 0)


def delong(x: Readings, end: Endpoint) -> Floats:
    """Sum the products of the deviations of common cases, class by class."""
    kernel = _kernel(end, "delong")
    total = np.zeros((len(x.score), len(x.score)))
    for side, axis in ((x.positive, 1), (~x.positive, 0)):
        at = np.flatnonzero(side)
        part = np.zeros((len(x.score), at.size))
        size = np.empty(len(x.score))
        for k in range(len(x.score)):
            place = kernel(*_sides(x, k)).mean(axis=axis)
            read = ~np.isnan(x.score[k, at])
            part[k, read], size[k] = place - place.mean(), read.sum()
        read_by = (~np.isnan(x.score[:, at])).astype(np.float64)
        common = read_by @ read_by.T
        factor = common / np.maximum(common - 1, 1) / np.outer(size, size)
        total += part @ part.T * factor
    return total


def unbiased(x: Readings, end: Endpoint) -> Floats:
    """Take off the product that independent cases would have. O(rows^2 n_pos n_neg)."""
    kernel = _kernel(end, "unbiased")
    pos, neg = np.flatnonzero(x.positive), np.flatnonzero(~x.positive)
    full, read_pos, read_neg = [], [], []
    for k in range(len(x.score)):
        p, q = ~np.isnan(x.score[k, pos]), ~np.isnan(x.score[k, neg])
        table = np.zeros((pos.size, neg.size))
        table[np.ix_(p, q)] = kernel(*_sides(x, k))
        full.append(table)
        read_pos.append(p.astype(np.float64))
        read_neg.append(q.astype(np.float64))
    flat = np.array([t.ravel() for t in full])
    by_pos = np.array([t.sum(axis=1) for t in full])
    by_neg = np.array([t.sum(axis=0) for t in full])
    rp, rn = np.array(read_pos), np.array(read_neg)
    total = by_pos.sum(axis=1)
    product = np.outer(total, total)
    # pairs of pairs that share neither their positive nor their negative
    apart = product - by_pos @ by_pos.T - by_neg @ by_neg.T + flat @ flat.T
    n_pos, n_neg = rp.sum(axis=1), rn.sum(axis=1)
    both_pos, both_neg = rp @ rp.T, rn @ rn.T
    all_pairs = np.outer(n_pos * n_neg, n_pos * n_neg)
    pairs_apart = (np.outer(n_pos, n_pos) - both_pos) * (
        np.outer(n_neg, n_neg) - both_neg
    )
    return np.asarray(product / all_pairs - apart / pairs_apart)


def _kernel(end: Endpoint, method: str) -> Callable[[Floats, Floats], Floats]:
    if end.kernel is None:
        raise InputError(
            f"covariance={method!r} is for the AUC, recall and specificity; found "
            f'{end.name}. Type covariance="jackknife".'
        )
    return end.kernel


COVARIANCES: dict[str, Callable[[Readings, Endpoint], Floats]] = {
    "jackknife": jackknife,
    "delong": delong,
    "unbiased": unbiased,
}
