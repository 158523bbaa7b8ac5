r"""How sure is a weighted estimate? Here weights and their squares are read, once.

An estimate from weighted cases is, to first order, its true value plus a sum over
cases of weight times influence. So its variance is the sum over rows of squared weights
times squared influence (Horvitz and Thompson's, linearised; cases drawn independently
from a population that is much larger than the sample):

.. math:: \mathrm{var}(\hat\theta) = \sum_r w^{(2)}_r u_r^2, \qquad
          w_r = \sum_{i \in r} w_i, \quad w^{(2)}_r = \sum_{i \in r} w_i^2

Weights of k are k copies of a case to the estimate, and still one case here. Two
numbers say how much a set of weighted cases tells: Kish's effective number, as many
equal cases as would give a mean the same variance, and the degrees of freedom of that
variance, which few large weights make few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.counts.cases import Cases


class Effective(NamedTuple):
    """As how many cases do weighted ones count, and how well is their spread known?"""

    number: float
    df: float


def effective(weight: Array, square: Array) -> Effective:
    r"""As how many equal cases do these weighted ones count?

    .. math:: n = \frac{(\sum w)^2}{\sum w^2}, \qquad
              \nu = \frac{(\sum w^2)^2}{\sum w^4} - 1

    with :math:`\nu` by Satterthwaite (1946) for squares of normal deviations. Of a row
    the fourth powers are not known; they are at least :math:`(w^{(2)})^3 / w^2`
    (Hölder), with equality for equal weights, and that is taken. Counts are their own
    effective number.

    References
    ----------
    Kish (1965), Survey Sampling; Satterthwaite (1946), Biometrics Bull. 2:110,
    doi:10.2307/3002019

    Examples
    --------
    >>> effective(np.array([2.0, 2.0, 2.0]), np.array([4.0, 4.0, 4.0]))
    Effective(number=3.0, df=2.0)
    >>> effective(np.array([5, 2]), np.array([5, 2])).number
    7.0
    """
    second, fourth = float(square.sum()), float(fourths(weight, square).sum())
    if not second:
        return Effective(0.0, 0.0)
    number = float(weight.sum()) ** 2 / second
    return Effective(number, max(second**2 / fourth - 1, 0.0))


def fourths(weight: Array, square: Array) -> Floats:
    """How large are the sums of fourth powers of weights, row by row, at least?"""
    out = np.zeros(weight.size)
    at = np.flatnonzero(weight)
    out[at] = square[at] * (square[at] / weight[at]) ** 2
    return out


def sizes(x: Cases) -> tuple[Effective, Effective]:
    """As how many cases do the positives and the negatives count?"""
    neg, pos, _ = x.squares
    return effective(x.pos, pos), effective(x.neg, neg)


def remark(x: Cases) -> tuple[str, ...]:
    """Say what the intervals of weighted cases assume; nothing of counts."""
    if not x.weighted:
        return ()
    pos, neg = sizes(x)
    return (
        f"Cases are weighted: positives tell as much as {pos.number:,.3g} equal ones, "
        f"negatives as {neg.number:,.3g}. The intervals hold for cases drawn "
        f"independently, with weights known beforehand, from a population much larger "
        f"than the sample.",
    )


class Spread(NamedTuple):
    """A variance, and how many degrees of freedom it has."""

    variance: float
    df: float


def linearised(
    parts: list[tuple[Floats, Array, Array]], *, together: bool = False
) -> Spread:
    """What variance have sums of influence over weighted cases?

    ``parts`` holds influence per unit of weight, weights and squares of each class.
    A class by itself has one degree of freedom less than cases, and its variance is
    enlarged by n / (n - 1); ``together`` takes all parts for one such class.
    """
    if together:
        parts = [tuple(np.concatenate(c) for c in zip(*parts, strict=True))]  # type: ignore[list-item]
    variance = doubt = 0.0
    for influence, weight, square in parts:
        n, df = effective(weight, square)
        own = float(square @ influence**2) * n / max(n - 1, 1)
        variance += own
        doubt += own**2 / max(df, 0.5)
    return Spread(variance, variance**2 / doubt if doubt > 0 else np.inf)


def gamma_draw(
    weight: Array, square: Array, number: int, rng: np.random.Generator
) -> Floats:
    r"""Which weights would other samples have shown? (number, m)

    The Bayesian bootstrap: a case counts as often as an exponential variable of mean 1
    says, so that a row has mean w and variance :math:`w^{(2)}`, as the linearised
    variance has it. A row of several cases is drawn as the gamma variable with these
    two moments.

    References
    ----------
    Rubin (1981), Ann. Stat. 9:130, doi:10.1214/aos/1176345338
    """
    out = np.zeros((number, weight.size))
    at = np.flatnonzero(weight)
    scale = square[at] / weight[at]
    out[:, at] = rng.standard_gamma(weight[at] / scale, (number, at.size)) * scale
    return out
