r"""Could differences be chance, when few cases say how far they vary?

Values that are means over the cases of one or several parts (positives and negatives,
or clusters) are compared here. Each part c has n_c cases and a matrix V_c: entry (i, j)
is the sample variance, over its cases, of the difference of the classifiers i and j.
All contrasts follow from differences, since :math:`L S L' = -L V L' / 2` for rows of L
that add up to zero, and a copy then has variance exactly 0.

What few cases ask for is always the same correction: the variance of a difference is a
sum of estimates with few degrees of freedom, which Satterthwaite (1946) replaces by one
with the same first two moments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness.ranking.auc_intervals import AucQuestion, score_interval, student_quantile


class ContrastPart(NamedTuple):
    """How do differences spread over the cases of one part?"""

    spread: Floats  # (K, K): sample variance of each difference
    n: float  # of weighted cases Kish's number


class Test(NamedTuple):
    """How far can a difference be by chance? An interval and its p-values."""

    low: float
    high: float
    score: float  # difference over its standard error
    above: Callable[[float], float]  # one-sided p of "no larger than this"

    def two_sided(self) -> float:
        """Give the p-value of "no difference"."""
        up = self.above(0.0)
        return min(1.0, 2 * min(up, 1 - up))


def variance(parts: tuple[ContrastPart, ...]) -> Floats:
    """How far does each difference vary between samples?"""
    return np.asarray(sum(part.spread / part.n for part in parts))


def settled(parts: tuple[ContrastPart, ...]) -> list[Floats]:
    """Give the spreads that decide about degrees of freedom.

    Two cases often have the same value by chance, and then Satterthwaite's formula
    believes in the many degrees of freedom of the other part: 5 % tests reject 10 to
    20 % of true hypotheses with two positives. So each part is given one case's worth
    of the spread of all. (Only degrees of freedom are: variances stay as they are.)
    """
    free = sum(part.n - 1 for part in parts)
    pooled = sum((part.n - 1) * part.spread for part in parts) / free
    return [((part.n - 1) * part.spread + pooled) / part.n for part in parts]


def freedom(parts: tuple[ContrastPart, ...]) -> Floats:
    """How many degrees of freedom has each variance? (Satterthwaite 1946)"""
    mean = [s / part.n for s, part in zip(settled(parts), parts, strict=True)]
    below = sum(v**2 / (part.n - 1) for v, part in zip(mean, parts, strict=True))
    top: Floats = np.asarray(sum(mean)) ** 2
    df: Floats = np.ones_like(top)
    np.divide(top, below, out=df, where=np.asarray(below) > 0)
    return df


def student_test(value: float, sd: float, df: float, level: float) -> Test:
    """Test a difference by Student's distribution; normal for infinite df."""
    from scipy.special import ndtr, stdtr

    half = student_quantile(df, level) * sd

    def above(null: float) -> float:
        if sd == 0:  # known exactly: above the null value or not
            return 0.5 * ((null >= value) + (null > value))
        score = (null - value) / sd
        return float(ndtr(score) if math.isinf(df) else stdtr(df, score))

    score = value / sd if sd > 0 else math.copysign(math.inf, value) if value else 0.0
    return Test(value - half, value + half, score, above)


def mover_test(a: AucQuestion, b: AucQuestion) -> Test:
    r"""Test a difference by the score intervals of both values.

    .. math:: L = d - \sqrt{(a - l_a)^2 + (u_b - b)^2}

    Where the data show no spread at all, or too few cases to know it, the two score
    intervals still have width (Zou and Donner 2008).
    """
    from scipy.special import ndtr

    def reach(z: float, up: bool) -> float:
        level = 2 * float(ndtr(z)) - 1
        one, two = (score_interval(q._replace(level=level)) for q in (a, b))
        own = one[1] - a.place.auc if up else a.place.auc - one[0]
        other = b.place.auc - two[0] if up else two[1] - b.place.auc
        return math.hypot(own, other)

    found = reach_test(a.place.auc - b.place.auc, reach, math.inf, a.level)
    return found._replace(low=max(-1.0, found.low), high=min(1.0, found.high))


def reach_test(
    value: float, reach: Callable[[float, bool], float], df: float, level: float
) -> Test:
    """Test a difference by how far its limits reach, down or up, at any quantile z.

    The p-value of a null value is the level at which the interval would end there.
    """
    from scipy.special import ndtr, stdtr

    normal = math.isinf(df)

    def errors(null: float) -> float:
        """Give how many standard errors the null value lies below the difference."""
        gap, z = abs(value - null), 1.0
        if gap == 0:
            return 0.0
        for _ in range(6 if normal else 60):  # the reach is nearly proportional to z
            width = max(reach(z, null > value), 1e-300)
            z = min(max(z * gap / width, 1e-3), 8.2 if normal else 1e3)
        return z if value > null else -z

    def above(null: float) -> float:
        z = -errors(null)
        return float(ndtr(z) if normal else stdtr(df, z))

    z = float(student_quantile(df, level))
    ends = value - reach(z, False), value + reach(z, True)
    return Test(*ends, errors(0.0), above)


class Equality(NamedTuple):
    """Are all values equal? ``p_value`` is None where only the pairs can tell."""

    statistic: float
    df: int
    p_value: float | None


# with fewer cases than this for each contrast, the inverse of their covariance is noise
_CASES_PER_CONTRAST = 4


def all_equal(value: Floats, parts: tuple[ContrastPart, ...]) -> Equality:
    r"""Test that several values are equal.

    With many cases Wald's statistic :math:`x' T^{-1} x` of the contrasts x, as
    Hotelling's with the degrees of freedom of Nel and van der Merwe (1986). With few,
    Brunner's statistic :math:`x'x / \mathrm{tr}\,T`, which needs no inverse; its F
    distribution has :math:`\mathrm{tr}(T)^2 / \mathrm{tr}(T^2)` degrees of freedom
    (Box 1954) above, and Satterthwaite's for the trace below.
    """
    k = value.size
    # orthonormal rows that add up to zero
    contrast = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, 1:]]))[0][:, 1:].T
    x = contrast @ value
    each = [-contrast @ s @ contrast.T / 2 / p.n for s, p in
            zip(settled(parts), parts, strict=True)]  # fmt: skip
    total = -contrast @ variance(parts) @ contrast.T / 2
    size, vector = np.linalg.eigh(total)
    # copies make the covariance singular; what is left of them is rounding
    keep = size > 1e-10 * max(float(size.sum()), 1e-300)
    x, size = vector.T @ x, size[keep]
    m, statistic = int(keep.sum()), float(np.sum(x[keep] ** 2 / size))
    if not m or np.abs(x[~keep]).max(initial=0.0) > 1e-9:
        return Equality(statistic, m, None)  # a contrast differs without any variance
    each = [vector.T[keep] @ t @ vector[:, keep] for t in each]
    test = (
        _brunner if min(p.n for p in parts) <= _CASES_PER_CONTRAST * m else _hotelling
    )
    return Equality(statistic, m, test(x[keep], size, each, [p.n - 1 for p in parts]))


def _brunner(x: Floats, size: Floats, each: list[Floats], free: list[float]) -> float:
    from scipy.special import fdtrc

    # Box (1954): the quadratic form as a multiple of chi-square
    trace = float(size.sum())
    top = trace**2 / float(size @ size)
    doubt = sum(float(np.sum(t * t)) / f for t, f in zip(each, free, strict=True))
    below = float(np.trace(sum(each))) ** 2 / doubt
    return float(fdtrc(top, below, float(x @ x) / trace))


def _hotelling(x: Floats, size: Floats, each: list[Floats], free: list[float]) -> float:
    from scipy.special import fdtrc

    def moment(t: Floats) -> float:
        return float(np.sum(t * t) + np.trace(t) ** 2)

    doubt = sum(moment(t) / f for t, f in zip(each, free, strict=True))
    # Nel and van der Merwe (1986): a sum of Wishart matrices as one, by its moments
    df, m = moment(np.asarray(sum(each))) / doubt, x.size
    statistic = float(np.sum(x**2 / size))
    return float(fdtrc(m, df - m + 1, statistic * (df - m + 1) / (df * m)))
