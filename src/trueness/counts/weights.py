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

from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.numbers import about
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


def remark(x: Cases, drawn: str = "cases") -> tuple[str, ...]:
    """Say what the intervals of weighted cases assume; nothing of counts.

    ``drawn`` says what was drawn: cases, or clusters of them.
    """
    if not x.weighted:
        return ()
    pos, neg = sizes(x)
    return (
        "Cases are weighted: the positives carry as much information as "
        f"{about(pos.number)} equally weighted ones, the negatives as "
        f"{about(neg.number)}. The intervals assume that {drawn} were drawn "
        "independently, with weights fixed beforehand, from a population much larger "
        "than the sample.",
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


def left_out_spread(change: Floats, number: Floats) -> Spread:
    r"""What variance has an estimate that changes so when one case is left out?

    ``number`` cases change it by ``change`` each. The jackknife's variance, whose
    degrees of freedom follow from how unequal the changes are:

    .. math:: V = \sum_i j_i^2, \qquad \nu = \frac{4}{3} \frac{V^2}{\sum_i j_i^4}

    For normal changes that is 4/9 of the cases. By Satterthwaite it would be all of
    them, if the fourth moment were known; it is taken from the same few large changes,
    and is most often too small.

    References
    ----------
    Tukey (1958), Ann. Math. Stat. 29:614; Satterthwaite (1946)

    Examples
    --------
    >>> round(left_out_spread(np.array([0.1]), np.array([9.0])).df, 12)
    12.0
    """
    variance = float(number @ change**2)
    fourth = float(number @ change**4)
    return Spread(variance, 4 / 3 * variance**2 / fourth if fourth > 0 else np.inf)


# as many equal cases the spread of the weights alone is trusted for, against the one
# that those on both sides of a share show; where a side is thin it shows little
_TRUST = 4.0


def equal_cases(share: Any, total: Any, yes: Any, no: Any, most: float) -> Any:
    r"""Of how many equal cases would a share of weights vary as much as this one?

    With squares of the weights of those that belong to the share (``yes``) and of the
    others (``no``), and weights W in all (``total``),

    .. math:: V = \frac{(1-p)^2 \sum_{yes} w^2 + p^2 \sum_{no} w^2}{W^2}, \qquad
              n = \frac{p(1-p)}{V}

    (Korn and Graubard 1998, Surv. Methodol. 24:193). Near 0 and 1 the cases on the thin
    side are few: there V leans on what weights that go with neither side would give. At
    0 and 1 a case that was not seen may weigh as much as the heaviest: then n is W in
    units of that one (``most``).
    """
    share, total = np.asarray(share, np.float64), np.asarray(total, np.float64)
    own = np.asarray(yes + no, dtype=np.float64)
    inner = (share > 0) & (share < 1) & (own > 0)
    p, own = np.where(inner, share, 0.5), np.where(own > 0, own, 1.0)
    plain = p * (1 - p) * own / total**2
    # linearised: a case moves the share by its weight times 1 - p, or by -p
    seen = ((1 - p) ** 2 * yes + p**2 * no) / total**2
    # effective cases, fewer where one side is thin: how far V can be believed
    known = total**2 / own * 4 * p * (1 - p)
    variance = (known * seen + _TRUST * plain) / (known + _TRUST)
    return np.where(inner, p * (1 - p) / variance, total / most)


def heaviest(x: Cases) -> float:
    """How much does a case weigh at most? About: the mean weight of a row's cases."""
    pairs = zip((x.neg, x.pos), x.squares[:2], strict=True)
    ratios = [np.divide(q, c, out=np.zeros(c.size), where=c > 0) for c, q in pairs]
    return float(np.max(ratios, initial=0.0))


def student_factor(df: float, level: float) -> float:
    """How much wider than the normal quantile is Student's?"""
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(max(df, 1.0), (1 + level) / 2) / ndtri((1 + level) / 2))


def whole_draws(weight: Array, square: Array) -> tuple[Array, Floats]:
    """As how many equal cases, of which weight, are the cases of each row drawn?"""
    # squares of the smallest weights vanish: such a row is one case
    whole = np.divide(weight**2, square, out=np.ones_like(square), where=square > 0)
    number = np.maximum(np.rint(whole), 1).astype(np.int64)
    return number, weight / number


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
    # weights so small that their squares vanish do not vary
    out = np.tile(weight.astype(np.float64), (number, 1))
    at = np.flatnonzero(square)
    scale = square[at] / weight[at]
    # rounded, since a last bit that differs, as in other units of weight, would send
    # the generator another way
    cases = np.round(weight[at] / scale, 9)
    out[:, at] = rng.standard_gamma(cases, (number, at.size)) * scale
    return out
