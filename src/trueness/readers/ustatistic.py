r"""How far does a mean over readers and cases vary? Gallas' one-shot estimate.

The square of a mean over readers r, positives i and negatives j, less the mean of the
products :math:`h_{rij} h_{r'i'j'}` that share no reader, no positive and no negative,
is its variance without bias (Gallas 2006). Sums over what is different follow from sums
over what is shared by inclusion and exclusion, so nothing of order n^4 is ever formed.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError
from trueness.readers.design import Endpoint, Readings


class _Successes(NamedTuple):
    """The kernel of a treatment, (readers, positives, negatives), and what was read."""

    value: Floats
    read: Floats


def _successes(x: Readings, end: Endpoint, treatment: int) -> _Successes:
    if end.kernel is None:
        raise InputError(
            f'method="gallas" is for the AUC, recall and specificity; found {end.name}.'
        )
    pos, neg = np.flatnonzero(x.positive), np.flatnonzero(~x.positive)
    shape = (len(x.readers), pos.size, neg.size)
    value, read = np.zeros(shape), np.zeros(shape)
    for row in np.flatnonzero(x.treatment == treatment):
        p, q = (~np.isnan(x.score[row, at]) for at in (pos, neg))
        at = np.ix_([x.reader[row]], np.flatnonzero(p), np.flatnonzero(q))
        value[at] = end.kernel(x.score[row, pos[p]], x.score[row, neg[q]])
        read[at] = 1.0
    return _Successes(value, read)


def _apart(a: Array, b: Array) -> float:
    """Sum the products of entries that differ in reader, positive and negative.

    Over all that share a set of indices, add the product of the sums over the others,
    with the sign of inclusion and exclusion.
    """
    total = 0.0
    for shared in product((False, True), repeat=3):
        over = tuple(k for k in range(3) if not shared[k])
        part = float(np.sum(a.sum(axis=over) * b.sum(axis=over)))
        total += (-1) ** sum(shared) * part
    return total


def covariance(a: _Successes, b: _Successes) -> float:
    """Estimate the covariance of two means without bias."""
    mean = (s.value.sum() / s.read.sum() for s in (a, b))
    one, two = mean
    return float(one * two - _apart(a.value, b.value) / _apart(a.read, b.read))


def one_shot(x: Readings, end: Endpoint, at: tuple[int, int]) -> float:
    """Give the standard error of the difference of two treatments."""
    a, b = (_successes(x, end, k) for k in at)
    square = covariance(a, a) + covariance(b, b) - 2 * covariance(a, b)
    return float(np.sqrt(max(square, 0.0)))
