r"""How far would another sample be off? A variance, and how well it is known.

To first order a measure of a sample is its true value plus a sum, over what was drawn,
of influence values. So its variance is that of the sum, whatever the measure is:

.. math:: V = \frac{n-1}{n} \sum_{i=1}^n d_i^2, \quad
          d_i = \frac{w_i u_i}{1 - w_i/W}, \qquad
          \nu = \frac{2 V^2}{\widehat{\mathrm{var}}(V)}, \quad
          \widehat{\mathrm{var}}(V) = \sum_i d_i^4 - \frac1n \Big(\sum_i d_i^2\Big)^2

over n cases of weights w, W in all, or over n clusters, whose cases are added up first.
Of equal cases this is n / (n - 1) times the sum of squared influence values, the
linearised variance of survey samples (Binder 1983); of unequal ones it is the jackknife
(R's ``survey``, JK1), in which a heavy unit does not hide itself. The degrees of
freedom are Satterthwaite's, at most n - 1 of them. A measure that is about each
class by itself has such a sum for each class; then V is DeLong's of an AUC, and of
clusters Obuchowski's (1997).

References
----------
Binder (1983), Int. Stat. Rev. 51:279; DeLong, DeLong, Clarke-Pearson (1988), Biometrics
44:837; MacKinnon, White (1985), J. Econom. 29:305; Obuchowski (1997), Biometrics
53:567; Satterthwaite (1946), Biometrics Bull. 2:110; Kish (1965), Survey Sampling
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness.counts.cases import Cases
from trueness.counts.cases import kish as kish
from trueness.counts.rows import Clusters


class Spread(NamedTuple):
    """A variance, its degrees of freedom, and how many units could have shown more."""

    variance: float
    df: float
    units: float
    plain: float = 0.0  # the variance with n in place of n - 1
    silent: tuple[float, ...] = ()  # units of the classes in which nothing varied

    @property
    def sd(self) -> float:
        """Give the standard error."""
        return math.sqrt(self.variance) if self.variance >= 0 else math.nan


def spread(
    x: Cases,
    by_neg: Floats,
    by_pos: Floats,
    by_unknown: Floats | None = None,
    more: float = 0.0,
    *,
    by_class: bool = False,
) -> Spread:
    """How far does a sum of influence values vary between samples?

    They are those of a case of each row, per unit of its weight; ``more`` is variance
    that the cases do not show. ``units`` of the answer are the fewest cases, or
    clusters, in which something unseen could be.
    """
    influence = by_neg, by_pos, by_unknown
    if x.grouped is not None:
        return _of_clusters(x.grouped, influence, more, by_class)
    columns = zip((x.neg, x.pos, x.unknown), x.squares, influence, strict=True)
    kinds: list[Any] = [k for k in columns if k[2] is not None]
    sums = np.array([(w.sum(), q.sum()) for w, q, _ in kinds], dtype=np.float64)
    units = min(kish(*each) for each in sums[:2].tolist())
    if not by_class:  # drawn together
        sums[:] = sums.sum(axis=0)
    parts: list[Stratum] = []
    for (weight, square, u), (total, squares) in zip(kinds, sums.tolist(), strict=True):
        n = kish(total, squares)
        two = four = 0.0
        for b in blocks(len(weight)):  # long columns cost more than the sums
            w, q, values = weight[b], square[b], u[b]
            each: Any = 1.0
            if weight is not square:  # not whole cases
                # a row of equal weights w has cases of weight q / w; of unequal ones
                # this is the least that fourth powers can be (Hoelder)
                each = q / np.where(w > 0, w, 1.0)
                # a heavy case draws the value to itself: see ``left_out``
                share = np.where(each < total, each / total, 0.0)
                values = values * (1 - 1 / max(n, 1.0)) / (1 - share)
            again = q * values
            # not by ``@``, which starts threads for each block
            two += float(np.einsum("i,i->", again, values))
            four += float(np.einsum("i,i->", again * values, (each * values) ** 2))
        parts.append((n, two, four))
    if not by_class:
        parts = [(parts[0][0], sum(p[1] for p in parts), sum(p[2] for p in parts))]
    found = joined(parts, units, more)
    # of both classes at once, what was not seen may be in the smaller one
    return found if by_class or not found.silent else found._replace(silent=(units,))


# n cases that were drawn alike, their sums of squares and of fourth powers
Stratum = tuple[float, float, float]
# a single case, or one beside which all others weigh nothing, shows no spread
_SINGLE = 1 + 1e-6
# what is left of equal numbers is rounding: a variance of one case below this is none
_ROUNDING = 1e-24


def joined(parts: list[Stratum], units: float, more: float = 0.0) -> Spread:
    """Give the variance of all strata together, and its degrees of freedom."""
    variance = doubt = 0.0
    plain = sum(two for _, two, _ in parts) + more
    silent = tuple(n for n, two, _ in parts if not n * two > _ROUNDING)
    for n, two, four in parts:
        if 0 < n <= _SINGLE or math.isnan(two):
            return Spread(math.nan, 1.0, units, plain, silent)
        if not n * two > _ROUNDING:
            continue
        wider = n / (n - 1)
        variance += two * wider
        # not less than of normal values, of which V has n - 1 degrees of freedom
        doubt += max(four - two**2 / n, 2 * two**2 / (n - 1)) * wider**2
    variance += more
    df = 2 * variance**2 / doubt if doubt > 0 else math.inf
    return Spread(variance, max(df, 1.0), units, plain, silent)


def unit_spread(u: Floats, codes: Array | None = None) -> Spread:
    """How far does a sum over units vary, each with its influence on a mean?

    ``codes`` number the clusters of units that were drawn together, which are added up.
    """
    if codes is None:
        square = u * u
        whole = u.size, float(square.sum()), float(square @ square)
        return joined([whole], float(u.size))
    number = np.bincount(codes).astype(float)
    # ``joined`` gives sums of squares the factor m / (m - 1), and (m - 1) / m is meant
    total = np.bincount(codes, u).astype(float)
    found = unit_spread(left_out(total, number) * (1 - 1 / number.size))
    return found._replace(plain=found.variance)


def _of_clusters(
    c: Clusters, influence: tuple[Any, ...], more: float, by_class: bool
) -> Spread:
    cells = [
        np.zeros(c.row.size) if v is None else count * np.asarray(v)[c.row]
        for count, v in zip(c.counts[:3], influence, strict=True)
    ]
    # what is left of terms that cancel is rounding, and no spread
    least = 1e-13 * max(float(c.per_cluster(np.abs(v)).max()) for v in cells)
    neg, pos, unknown = (
        np.where(np.abs(total) <= least, 0.0, total)
        for total in map(c.per_cluster, cells)
    )
    has_neg, has_pos = (c.per_cluster(k) > 0 for k in c.counts[:2])
    m, m_neg, m_pos = c.number, int(has_neg.sum()), int(has_pos.sum())
    # cases without influence are no part of what is divided by
    # (slopes by differences leave rounding where there is none)
    few = 1e-9 * max(float(np.abs(v).max(initial=0.0)) for v in cells)
    weights = [
        c.per_cluster(np.where(np.abs(v) > few, k, 0))
        for k, v in zip(c.counts[:3], cells, strict=True)
    ]
    if by_class:
        neg, pos = left_out(neg, weights[0]), left_out(pos, weights[1])
        total = neg + pos
    else:
        total = left_out(neg + pos + unknown, np.add.reduce(weights))
    # ``joined`` gives sums of squares the factor m / (m - 1), and (m - 1) / m is meant
    square = (total * (m - 1) / m) ** 2
    whole = m, float(square.sum()), float(square @ square)
    found = joined([whole], min(m_neg, m_pos), more)
    found = found._replace(plain=found.variance)
    if found.silent:
        found = found._replace(silent=(found.units,))
    if not by_class or m < 2:
        return found
    if min(m_neg, m_pos) < 2:
        return found._replace(variance=math.nan, df=1.0)
    # Obuchowski (1997): each class has its own number of clusters
    extra = (1 / m - 1 / m_neg) * float(neg @ neg)
    extra += (1 / m - 1 / m_pos) * float(pos @ pos)
    each = (m_neg, neg.any()), (m_pos, pos.any())
    silent = tuple(float(n) for n, varied in each if not varied)
    return found._replace(variance=found.variance + extra, silent=silent)


def left_out(total: Floats, weight: Floats) -> Floats:
    """How far would leaving out a unit move a value, by its influence and its share?

    Exact of a quotient: without a unit that has a share h of what is divided by, the
    quotient changes by its influence over 1 - h (the jackknife; MacKinnon, White 1985).
    """
    share = weight / weight.sum() if weight.sum() > 0 else np.zeros(weight.size)
    return np.asarray(total / np.where(share < 1, 1 - share, 1.0))
