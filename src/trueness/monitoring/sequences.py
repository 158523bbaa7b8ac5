r"""Between which numbers does a mean lie, at every look so far?

A confidence sequence holds the bounds that no evidence has ruled out. The evidence is
a likelihood ratio averaged over alternatives, and depends on the cases only through
sums. It starts at one, cannot be expected to grow while the bound holds, and so exceeds
:math:`1/\alpha` with probability at most :math:`\alpha` over all looks together (Ville
1939).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betaln, xlog1py, xlogy

from trueness._core.arrays import Floats
from trueness._core.search import bisect

BETS = np.geomspace(0.005, 0.9, 24)  # between nothing and nearly all


def share_evidence(k: Any, n: Any, bound: Any, side: Any) -> Any:
    r"""Log evidence that a share is below (side 1) or above (-1) the bound.

    .. math:: E = \frac{\int_0^b q^k (1-q)^{n-k}\,dq}{b \; b^k (1-b)^{n-k}}

    A mixture of likelihood ratios over all shares on the wrong side, uniformly (Robbins
    1970). For a true share of ``b`` or more each ratio shrinks on average. Numbers or
    arrays.
    """
    a, b = k + 1.0, n - k + 1.0
    below = np.asarray(side) > 0
    inside = np.where(below, betainc(a, b, bound), betaincc(a, b, bound))
    width = np.where(below, bound, 1.0 - np.asarray(bound))
    with np.errstate(divide="ignore", invalid="ignore"):
        top = betaln(a, b) + np.log(inside) - np.log(width)
        found = top - xlogy(k, bound) - xlog1py(n - k, -np.asarray(bound))
    return np.where(np.isnan(found), 0.0, found)[()]


def mean_evidence(
    sums: tuple[float, float, float],
    bound: Any,
    side: Any,
    ends: tuple[float, float] = (0.0, 1.0),
) -> Any:
    r"""Log evidence that a mean is below (side 1) or above (-1) the bound.

    .. math:: E = \frac1J \sum_j \exp\Bigl(\lambda_j \sum_i y_i
        + (\log(1 - \lambda_j) + \lambda_j) \sum_i y_i^2\Bigr), \qquad
        y_i = \pm (b - x_i) / w

    with ``sums`` the number of cases, their sum and that of their squares, and w the
    distance between the ends of what a case may be. Fan, Grama and Liu (2015):
    :math:`e^{\lambda y - \psi(\lambda) y^2} \le 1 + \lambda y` for :math:`y \ge -1`
    with :math:`\psi = -\log(1-\lambda) - \lambda`.
    """
    n, total, squares = sums
    bound, width = np.asarray(bound), ends[1] - ends[0]
    y = side * (n * bound - total) / width
    y2 = np.maximum(squares - 2 * bound * total + n * bound**2, 0.0) / width**2
    psi = -np.log1p(-BETS) - BETS
    logs = BETS * y[..., None] - psi * y2[..., None]
    return np.logaddexp.reduce(logs, axis=-1) - np.log(BETS.size)


def limits(
    sums: tuple[float, float, float],
    alpha: float,
    ends: tuple[float, float] = (0.0, 1.0),
    *,
    share: bool,
) -> tuple[float, float]:
    """Which means have not been ruled out, at any moment so far?

    Each side has half of alpha. ``share`` says that all cases are zeros and ones.
    """
    n, total, _ = sums
    if not n:
        return ends
    line, value = -np.log(alpha / 2), min(max(total / n, ends[0]), ends[1])
    sides = np.array([-1, 1])

    def held(bound: Floats) -> Any:
        if share:
            return share_evidence(total, n, bound, sides) < line
        return mean_evidence(sums, bound, sides, ends) < line

    low, high = bisect(held, np.full(2, value), np.array(ends))
    return float(low), float(high)
