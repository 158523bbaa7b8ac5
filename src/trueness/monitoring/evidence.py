r"""How much evidence is there by now, whenever one looks?

All evidence here is a likelihood ratio averaged over alternatives, and depends on the
stream only through sums. It starts at one, cannot be expected to grow while the bound
holds, and so exceeds :math:`1/\alpha` with probability at most :math:`\alpha`, over all
moments together (Ville's inequality). Being functions of sums, batches may be of any
size, arrive in any order and be looked at after each of them or never.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betainc, betaincc, betaln, logsumexp, xlog1py, xlogy

from trueness._core.arrays import Floats
from trueness._core.search import bisect

# bets for means of bounded numbers: between nothing and nearly all
BETS = np.geomspace(0.005, 0.9, 24)


def share_evidence(k: float, n: float, bound: float, side: int) -> float:
    r"""Log evidence that a share is below (side 1) or above (-1) the bound.

    .. math:: E = \frac{\int_0^b q^k (1-q)^{n-k}\,dq}{b \; b^k (1-b)^{n-k}}

    A mixture of likelihood ratios over all shares on the wrong side, uniformly. For a
    true share of ``b`` or more each ratio shrinks on average, so E is an e-process for
    "at least ``b``". ``k`` may be any sum of numbers in [0, 1]: a ratio is convex in
    them, so that zeros and ones are the worst case (Hoeffding 1963); this is how sums
    of AUCs of blocks of cases are judged.
    """
    if not 0.0 < bound < 1.0:
        wrong = (k < n) if side > 0 and bound >= 1 else (k > 0 and bound <= 0)
        return np.inf if wrong else 0.0
    a, b = k + 1.0, n - k + 1.0
    inside = betainc(a, b, bound) if side > 0 else betaincc(a, b, bound)
    width = bound if side > 0 else 1.0 - bound
    with np.errstate(divide="ignore"):
        top = betaln(a, b) + np.log(inside) - np.log(width)
    return float(top - xlogy(k, bound) - xlog1py(n - k, -bound))


def mean_evidence(
    n: float, total: float, squares: float, bound: float, side: int
) -> float:
    r"""Log evidence that a mean of numbers in [0, 1] is above (-1) or below (1).

    .. math:: E = \frac1J \sum_j \exp\Bigl(\lambda_j \sum_i y_i
        + (\log(1 - \lambda_j) + \lambda_j) \sum_i y_i^2\Bigr), \qquad
        y_i = \pm (x_i - b)

    Fan, Grama and Liu (2015): :math:`e^{\lambda y - \psi(\lambda) y^2} \le 1
    + \lambda y` for :math:`y \ge -1` with :math:`\psi = -\log(1-\lambda) - \lambda`, so
    each term is an e-process while the mean is on the right side of the bound; numbers
    with a small spread, as squared errors have, need few cases.
    """
    sign = -side
    y = sign * (total - n * bound)
    y2 = max(squares - 2 * bound * total + n * bound * bound, 0.0)
    psi = -np.log1p(-BETS) - BETS
    return float(logsumexp(BETS * y - psi * y2) - np.log(BETS.size))


def share_limits(k: float, n: float, alpha: float) -> tuple[float, float]:
    """Which shares have not been ruled out so far? Each side has half of alpha."""
    return limits(lambda b, side: share_evidence(k, n, b, side), k, n, alpha)


def mean_limits(
    n: float, total: float, squares: float, alpha: float
) -> tuple[float, float]:
    """Which means have not been ruled out, at any moment so far?"""
    return limits(
        lambda b, side: mean_evidence(n, total, squares, b, side), total, n, alpha
    )


def limits(
    evidence: Callable[[float, int], float], total: float, n: float, alpha: float
) -> tuple[float, float]:
    """Which bounds has the evidence against them, on either side, not ruled out?"""
    if not n:
        return 0.0, 1.0
    line, value = -np.log(alpha / 2), min(max(total / n, 0.0), 1.0)

    def end(side: int, outside: float) -> float:
        return float(bisect(lambda b: evidence(b, side) < line, value, outside))

    return end(-1, 0.0), end(1, 1.0)


def calibration_wealth(score: Floats, neg: Floats, pos: Floats) -> Floats:
    r"""Log wealth of each bet that positives are more, or fewer, than the scores say.

    .. math:: \log W_\lambda = \sum_i \log\bigl(1 + \lambda h(s_i) (y_i - s_i)\bigr)

    With :math:`P(y_i = 1) = s_i` every bet is fair. Those with :math:`h = 1` see scores
    that are all too high or too low, those with :math:`h = 2s - 1` scores that are too
    extreme or not enough.
    """
    up, down = 1.0 - score, -score
    return np.array(
        [
            pos @ np.log1p(b * h * up) + neg @ np.log1p(b * h * down)
            for h in (np.ones_like(score), 2.0 * score - 1.0)
            for b in (*BETS, *-BETS)
        ],
        np.float64,
    )
