r"""Has it changed, at any time? Detectors whose false alarms are proved to be rare.

A fair bet on the cases of a look multiplies its stake by :math:`L_t`, which is at most
one on average while all is well. Since a change may come at any look, one unit is
staked anew at each; what all stakes have become is the Shiryaev-Roberts e-detector

.. math:: M_t = (M_{t-1} + 1) \, L_t .

As long as nothing has changed, :math:`M_t - t` cannot be expected to grow. So with an
alarm at :math:`M_t \ge c` the mean time to a false alarm is :math:`c` looks or more,
and within m looks one comes with probability :math:`m / c` or less, for looks of any
size (Shin, Ramdas and Rinaldo 2024, arXiv:2203.03532). The unit may be divided among
several bets: the sum is again such a detector.

*Which bets.* A change by :math:`\varepsilon` standard deviations lets the best bet win
:math:`n \varepsilon^2 / 2` a look of n cases. There is a bet for the change that takes
d = 1, 2, 4, ... looks to be found, :math:`\varepsilon = \sqrt{2 \log c / (n d)}`: a
geometric grid of rates of growth between two ends, as Shin et al. mix them. One is
what a single look can show, the other what takes so many looks that a false alarm
within them has the probability 1 - level.

*Within a look* the cases come in parts, in a random order, and the detector is asked
after each part. This the proof allows, since no unit is staked in between; it finds a
change sooner, because less of what was won is lost again before the alarm.

*Since when.* :math:`M_t` is a sum over the looks at which a stake was put down. The
share of each in it is the posterior probability that the change came there, with all
looks equally likely before (Shiryaev 1963).

*Between which numbers.* A confidence sequence holds the bounds that no evidence has
ruled out: likelihood ratios averaged over alternatives, which depend on the cases only
through sums. The evidence starts at one, cannot be expected to grow while the bound
holds, and so exceeds :math:`1/\alpha` with probability at most :math:`\alpha` over all
looks together (Ville 1939).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betaln, logsumexp, xlog1py, xlogy

from trueness._core.arrays import Floats
from trueness._core.search import bisect

BETS = np.geomspace(0.005, 0.9, 24)  # of a sequence: between nothing and nearly all
BOLDEST = 0.9  # of the bet that might lose everything in one case
PARTS = 16  # of a look
_MOST_DEALT = 10**6  # cases that are dealt out


def effects(mean_time: float, per_look: float, level: float = 0.95) -> Floats:
    """Give the changes, in standard deviations, that are bet on.

    ``mean_time`` is the promised number of looks between false alarms, which is the
    alarm level, and ``per_look`` the number of cases that a look usually has.
    """
    longest = max((1 - level) * mean_time, 1.0)
    waits = 2.0 ** np.arange(1 + int(math.log2(longest * (1 + 1e-9))))
    return np.asarray(np.sqrt(2 * math.log(mean_time) / (per_look * waits)))


def mean_gains(x: Floats, bound: float, side: int, bets: Floats) -> Floats:
    r"""Give the log gain of each bet, in columns, that a mean is worse than its bound.

    .. math:: \log L_i = \log\bigl(1 \pm \lambda (b - x_i)\bigr)

    Waudby-Smith and Ramdas (2024). Of zeros and ones it is the likelihood ratio of the
    share :math:`b \mp \lambda b (1 - b)` against b.
    """
    return np.asarray(np.log1p(np.outer(side * (bound - x), bets)))


def mean_bets(
    effect: Floats, spread: float, bound: float, side: int, ends: tuple[float, float]
) -> Floats:
    """Give the bets that are best for these changes, none of which can lose all."""
    worst = ends[1] - bound if side > 0 else bound - ends[0]
    tiny = 1e-9
    bets = np.minimum(effect / max(spread, tiny), BOLDEST / max(worst, tiny))
    return np.asarray(bets, np.float64)


def in_parts(times: Floats, rng: np.random.Generator) -> Floats:
    """Deal cases out to parts at random: how many of each kind a part has, in rows.

    ``times`` says how many cases there are of each kind. Very many are one part.
    """
    n, kinds = int(times.sum()), times.size
    if n < 2 or max(n, kinds * PARTS) > _MOST_DEALT:
        return times[None, :].astype(np.float64)
    parts = min(n, PARTS)
    kind = rng.permutation(np.repeat(np.arange(kinds), times.astype(np.int64)))
    cell = np.arange(n) * parts // n * kinds + kind
    counts = np.bincount(cell, minlength=parts * kinds).reshape(parts, kinds)
    return counts.astype(np.float64)


def grown(log_m: Floats | None, gains: Floats, stakes: Floats) -> tuple[Floats, float]:
    """Give the logarithm of each bet's part after a look, and that of the evidence.

    ``log_m`` has the logarithms before, None at the first look: rows of bets. A row is
    a detector with a history of its own. The mean of rows need not be a detector, but
    their largest divided by their number keeps the chance of a false alarm. ``gains``
    are those of each part of the look (parts, rows, bets), ``stakes`` the logarithm of
    what is staked on each bet.
    """
    before = np.full(gains.shape[1:], -np.inf) if log_m is None else log_m
    after = np.logaddexp(before, stakes) + np.cumsum(gains, axis=0)
    found = logsumexp(after, axis=2).max() - math.log(after.shape[1])
    return np.asarray(after[-1]), float(found)


def change_point(gains: Floats, stakes: Floats, level: float) -> tuple[int, int, int]:
    """Between which looks did the change come: first, most likely and last.

    ``gains`` has a row for each look and a column for each bet; ``level`` is the
    posterior probability of all looks from the first to the last.
    """
    since = np.cumsum(gains[::-1], axis=0)[::-1]  # of a stake put down at each look
    log_weight = logsumexp(since + stakes, axis=1)
    weight = np.exp(log_weight - logsumexp(log_weight))
    order = np.argsort(-weight, kind="stable")
    enough = int(np.searchsorted(np.cumsum(weight[order]), level)) + 1
    held = order[:enough]
    return int(held.min()), int(order[0]), int(held.max())


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
