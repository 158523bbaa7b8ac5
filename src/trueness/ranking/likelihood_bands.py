r"""Which precisions are likely at each recall?

A point of the curve is likely when some threshold makes its rates likely. At the
threshold that has recall r in the population, the number of positives found is
binomial, and so is the number of false alarms: twice the logarithm of the likelihood
ratio of both, smallest over the thresholds of the sample, measures how far the point is
from the data (the empirical likelihood ratio of Claeskens et al. 2003).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logit, ndtr, ndtri, xlogy

from trueness._core.arrays import Floats
from trueness._core.binomial import divergence
from trueness._core.search import edge
from trueness.counts.values import Tally


class AlarmLimits(NamedTuple):
    """The fewest and the most likely false alarms for each positive."""

    fewest: Floats
    most: Floats


def likely_alarms(
    t: Tally, recall: Floats, cohort: bool, level: float, kind: str
) -> AlarmLimits:
    r"""How many false alarms for each positive are likely at these recalls?

    With TP of P positives and FP of N negatives at a threshold, the distance of recall
    r and a false alarms for each positive is

    .. math:: P\,K(TP/P, r) + n\,K(FP/n, q), \qquad
        K(p, q) = p \ln\frac{p}{q} + (1 - p) \ln\frac{1 - p}{1 - q}

    with n = N and q = a P / N when both classes have fixed sizes. In a cohort FP is
    binomial given FP + P, with q = a / (1 + a): n = FP + P, and the doubt in the share
    of positives is part of it.
    """
    found, alarms = _path(t, recall)
    n_pos, n_neg = float(t.n_pos), float(t.n_neg)
    room = _distance(t, level, kind, cohort) ** 2 / 2
    left = room - n_pos * divergence((found / n_pos)[:, None], recall)
    row, column = np.nonzero(left >= 0)
    cases = alarms[row] + n_pos if cohort else np.full(row.size, n_neg)
    share, left = alarms[row] / cases, left[row, column] / cases
    ends = [np.ones(recall.size), np.zeros(recall.size)]
    np.minimum.at(ends[0], column, _end(share, left, -1))
    np.maximum.at(ends[1], column, _end(share, left, 1))
    if cohort:
        # a limit may round to 1, whose odds no number holds
        few, many = (q / np.maximum(1 - q, np.finfo(float).epsneg) for q in ends)
    else:
        few, many = (q * (n_neg / n_pos) for q in ends)
    # the true number rises with recall, so that what holds at one holds beside it
    most = np.minimum.accumulate(many[::-1])[::-1]
    return AlarmLimits(np.maximum.accumulate(few), most)


def _path(t: Tally, recall: Floats) -> tuple[Floats, Floats]:
    """Give positives found and false alarms at every threshold, and between ties.

    The straight lines of tied cases and of joined rows are points of the curve too:
    they are divided finely enough for the noise of a recall, and at each recall asked.
    """
    tp, fp = (np.append(0.0, np.cumsum(c)) for c in (t.pos, t.neg))
    steps = np.linspace(0, 1, 100 + 4 * math.isqrt(int(t.n_pos)))
    between = np.setdiff1d(np.concatenate([steps, recall]) * t.n_pos, tp)
    return np.append(tp, between), np.append(fp, np.interp(between, tp, fp))


def _end(share: Floats, left: Floats, side: int) -> Floats:
    """Solve K(share, q) = left for the q above (side 1) or below (side -1)."""
    # in log odds u of q K is convex: from outside Newton's steps come closer and do not
    # pass the root; logarithms are taken of u, since q itself may round to 0 or 1
    seen = (left > 1e-12) & (share < 1 if side > 0 else share > 0)
    p, room = share[seen], left[seen]
    lost = xlogy(p, p) + xlogy(1 - p, 1 - p) - room
    wide = np.sqrt(2 * room * np.maximum(p * (1 - p), room)) + 2 * room
    u = logit(np.clip(p + side * wide, 1e-15, 1 - 1e-15))
    for _ in range(30):
        over = lost - p * log_expit(u) - (1 - p) * log_expit(-u)
        u = u - over / (expit(u) - p)
    out = share.copy()
    out[seen] = expit(u)
    return out


def _distance(t: Tally, level: float, kind: str, cohort: bool) -> float:
    r"""How far from the data, in standard errors, are curves that are still likely?

    A smooth normal process of length kappa leaves the band of half width c with a
    probability of at most :math:`2(1 - \Phi(c)) + \kappa e^{-c^2/2}/\pi` (Naiman 1986).
    Small samples and few distinct scores tell fewer points of the curve apart: kappa
    grows with both classes.
    """
    if kind == "pointwise":
        return float(ndtri((1 + level) / 2))
    # powers and factors fitted to simulated curves: benchmarks/study_ranking.py length
    factor, of_pos, of_neg = (0.4, 0.36, 0.11) if cohort else (0.16, 0.27, 0.39)
    kappa = factor * t.n_pos**of_pos * t.n_neg**of_neg
    kappa = min(kappa, len(t) / 2, _LONGEST)

    def too_near(c: float) -> bool:
        beyond = 2 * ndtr(-c) + kappa / math.pi * math.exp(-c * c / 2)
        return bool(beyond > 1 - level)

    return float(edge(too_near, 0.0, 40.0))


# a grid of a hundred recalls tells no more apart, however many cases there are
_LONGEST = 30.0
