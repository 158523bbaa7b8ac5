r"""How do the errors of readers go together?

All readers and treatments see the same cases, so their results vary together. Three
estimates of the covariance matrix of the results, one row per reader and treatment:

``jackknife``
    leaves out one case k of the N of the study at a time, :math:`\frac{N-1}{N} \sum_k
    (\theta_{(k)} - \bar\theta)(\theta_{(k)} - \bar\theta)'`; for every endpoint. Of a
    sensitivity N counts the positives, of a specificity the negatives.
``delong``
    the placement values of the cases that two have in common (DeLong et al. 1988).
``unbiased``
    the product of two results less what it would be if they shared no case (Gallas
    2006): exact on average.

Results without a common case have covariance 0. ``one_shot`` is Gallas' estimate for
the means over readers themselves, which takes the readers as a third thing to share.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

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
    # A class that the endpoint does not depend on is no part of its sample: with the
    # negatives, a sensitivity would have the variance p (1 - p) / (n_pos - 1) times
    # (N - 1) n_pos / (N (n_pos - 1)), which is too large.
    less = less[:, np.where(x.positive, *end.depends)]
    n = less.shape[1]
    with np.errstate(invalid="ignore"):  # an infinite ratio: `defined` says so
        centred = less - less.mean(axis=1, keepdims=True)
        return np.asarray((n - 1) / n * centred @ centred.T * _shares_cases(x))


def _shares_cases(x: Readings) -> Array:
    read = (~np.isnan(x.score)).astype(np.int64)
    return np.asarray(read @ read.T > 0)


def delong(x: Readings, end: Endpoint) -> Floats:
    """Sum the products of the deviations of common cases, class by class."""
    kernel = kernel_of(end, "delong")
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
    won, read = _wins_of_rows(x, end, "unbiased")
    mean = won.sum(axis=(1, 2)) / read.sum(axis=(1, 2))
    apart = _apart(won) / _apart(read)
    return np.asarray((np.outer(mean, mean) - apart) * _shares_cases(x))


def one_shot(x: Readings, end: Endpoint, at: tuple[int, int]) -> float:
    """Give the standard error of the difference of two treatments (Gallas 2006)."""
    won, read = _wins_of_rows(x, end, "gallas")
    shape = (2, len(x.readers), *won.shape[1:])
    value, there = np.zeros(shape), np.zeros(shape)
    # the estimate is a mean of readers, who count alike however many cases they read
    pairs = read.sum(axis=(1, 2), keepdims=True)
    won, read = won / pairs, read / pairs
    for k, treatment in enumerate(at):
        rows = x.treatment == treatment
        value[k, x.reader[rows]], there[k, x.reader[rows]] = won[rows], read[rows]
    v = _without_bias(value, there)
    return float(np.sqrt(max(v[0, 0] + v[1, 1] - 2 * v[0, 1], 0.0)))


def _wins_of_rows(x: Readings, end: Endpoint, method: str) -> tuple[Floats, Floats]:
    """Which positive beats which negative, and which of them were read?

    Two arrays (rows, positives, negatives); what was not read is 0 in both.
    """
    kernel = kernel_of(end, method)
    there = ~np.isnan(x.score)
    p, q = there[:, x.positive], there[:, ~x.positive]
    read = (p[:, :, None] & q[:, None]).astype(np.float64)
    won = np.zeros_like(read)
    for k in range(len(won)):
        won[k][np.ix_(p[k], q[k])] = kernel(*_sides(x, k))
    return won, read


def _without_bias(value: Floats, read: Floats) -> Floats:
    """Estimate the covariances of means over readers, without bias.

    The mean of products of entries that share nothing (no reader, no positive, no
    negative) is the product of the expectations; what the product of the means has
    beyond that is their covariance. The means are taken off before, which changes
    nothing where everything was read. Where readings are missing, the products of two
    treatments are means over other entries than those of one, and what the size of the
    means adds to each would not cancel: a difference came out without a variance in up
    to 23 % of studies.
    """
    axes = tuple(range(1, value.ndim))
    mean = value.sum(axis=axes, keepdims=True) / read.sum(axis=axes, keepdims=True)
    return np.asarray(-_apart(value - mean * read) / _apart(read))


def _apart(a: Floats) -> Floats:
    """Sum, for any two of K arrays, the products of entries that differ in every index.

    By inclusion and exclusion: over all sets of indices that may be shared, the sums
    over the other indices are multiplied, with the sign of the size of the set. So
    nothing of the order of all pairs of entries is ever formed.
    """
    total = np.zeros((len(a), len(a)))
    for shared in product((False, True), repeat=a.ndim - 1):
        over = tuple(k + 1 for k, same in enumerate(shared) if not same)
        part = a.sum(axis=over).reshape(len(a), -1)
        total += (-1) ** sum(shared) * part @ part.T
    return total


def kernel_of(end: Endpoint, method: str) -> Callable[[Floats, Floats], Floats]:
    """Give the function of a positive and a negative whose mean the endpoint is."""
    if end.kernel is None:
        option, instead = "covariance", 'covariance="jackknife"'
        if method == "gallas":
            option, instead = "method", 'method="obuchowski-rockette"'
        raise InputError(
            f"{option}={method!r} is for the AUC, recall and specificity; found "
            f"{end.name}. Type {instead}."
        )
    return end.kernel


COVARIANCES: dict[str, Callable[[Readings, Endpoint], Floats]] = {
    "jackknife": jackknife,
    "delong": delong,
    "unbiased": unbiased,
}
