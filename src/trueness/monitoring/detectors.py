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
d = 1, 2, 4, ... looks to be found, :math:`\varepsilon = \sqrt{2 \log c / (n d)}`, up
to a twentieth of c.

*Within a look* the cases come in parts, in a random order, and the detector is asked
after each part. This the proof allows, since no unit is staked in between; it finds a
change sooner, because less of what was won is lost again before the alarm.

*Since when.* :math:`M_t` is a sum over the looks at which a stake was put down. The
share of each in it is the posterior probability that the change came there, with all
looks equally likely before (Shiryaev 1963).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from trueness._core.arrays import Floats

BOLDEST = 0.9  # of the bet that might lose everything in one case
PARTS = 16  # of a look
_MOST_DEALT = 10**6  # cases that are dealt out


def effects(mean_time: float, per_look: float) -> Floats:
    """Give the changes, in standard deviations, that are bet on.

    Parameters
    ----------
    mean_time
        The promised number of looks between false alarms, which is the alarm level.
    per_look
        The number of cases that a look usually has.
    """
    waits = 2.0 ** np.arange(1 + int(math.log2(max(mean_time / 20, 1.0))))
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

    Parameters
    ----------
    log_m
        The logarithms before, or None at the first look: rows of bets. A row is a
        detector with a history of its own. The mean of rows need not be a detector,
        but their largest divided by their number keeps the chance of a false alarm.
    gains
        The log gains of each part of the look: parts, rows, bets.
    stakes
        The logarithm of what is staked on each bet.
    """
    before = np.full(gains.shape[1:], -np.inf) if log_m is None else log_m
    after = np.logaddexp(before, stakes) + np.cumsum(gains, axis=0)
    found = logsumexp(after, axis=2).max() - math.log(after.shape[1])
    return np.asarray(after[-1]), float(found)


def change_point(gains: Floats, stakes: Floats, level: float) -> tuple[int, int, int]:
    """Between which looks did the change come: first, most likely and last.

    Parameters
    ----------
    gains
        A row for each look, a column for each bet.
    stakes
        The logarithm of what is staked on each bet.
    level
        The posterior probability of all looks from the first to the last.
    """
    since = np.cumsum(gains[::-1], axis=0)[::-1]  # of a stake put down at each look
    log_weight = logsumexp(since + stakes, axis=1)
    weight = np.exp(log_weight - logsumexp(log_weight))
    order = np.argsort(-weight, kind="stable")
    enough = int(np.searchsorted(np.cumsum(weight[order]), level)) + 1
    held = order[:enough]
    return int(held.min()), int(order[0]), int(held.max())
