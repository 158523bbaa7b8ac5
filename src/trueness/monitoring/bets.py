r"""How do bets on a change become evidence, and which values has it not ruled out?

Fair bets on the numbers of a batch multiply their stake by :math:`L_t`, at most one on
average while all is well; a unit is staked anew at each look. With an alarm at
:math:`M_t = (M_{t-1} + 1) L_t \ge c` a false one comes once in c looks at most
(Shiryaev-Roberts e-detectors; Shin, Ramdas and Rinaldo 2024). Proofs and bets are in
``docs/maths/monitoring.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincc, betaln, logsumexp, xlog1py, xlogy

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError
from trueness._core.solvers import bisect
from trueness.monitoring.states import State, WatchQuestion

# bets of a confidence sequence: between nothing and nearly all
_SEQUENCE_BETS = np.geomspace(0.005, 0.9, 24)
# the largest bet, as a fraction of the one that might lose everything in one case
_BOLDEST = 0.9


class Sums(NamedTuple):
    """Number, sum and sum of squares of the observations."""

    n: float
    total: float
    squares: float


NO_SUMS = Sums(0.0, 0.0, 0.0)


def log_stakes(watched: str, n_bets: int) -> Floats:
    """Return the logarithms of the stakes on each bet, which add up to one."""
    # scores: bets on a shift up and down count three times those on their scale
    stakes = np.array([3, 3, 1, 1] if watched == "scores" else [1])
    bets_per_stake = n_bets // stakes.size
    log_stake = np.log(stakes / (stakes.sum() * n_bets / stakes.size))
    return np.repeat(log_stake, bets_per_stake)


def effects(mean_time: float, per_look: float, level: float = 0.95) -> Floats:
    r"""Return the effect sizes to bet on, in standard deviations.

    There is one for each delay of d = 1, 2, 4, ... looks:
    :math:`\sqrt{2 \log c / (n d)}`, with n cases per look and the promised number c of
    looks between false alarms. Within the longest delay a false alarm has at most the
    probability 1 - level.
    """
    longest = max((1 - level) * mean_time, 1.0)
    delays = 2.0 ** np.arange(1 + int(math.log2(longest * (1 + 1e-9))))
    return np.asarray(np.sqrt(2 * math.log(mean_time) / (per_look * delays)))


def best_bets(effect: Floats, standard_deviation: float, largest_loss: float) -> Floats:
    """Return the bets with the fastest growth under these effects, within limits."""
    unlimited = effect / max(standard_deviation, 1e-9)
    boldest = _BOLDEST / max(largest_loss, 1e-9)
    return np.asarray(np.minimum(unlimited, boldest), np.float64)


def update_evidence(
    question: WatchQuestion, state: State, gains: Floats
) -> tuple[Floats, float]:
    """Return the log capital of each bet after a look, and the log evidence.

    Each row is a detector of its own. The evidence is the largest capital of a
    detector, divided by the number of detectors: this keeps the probability of a false
    alarm.
    """
    before = np.full(gains.shape[1:], -np.inf)
    if state["log_m"] is not None:
        before = np.array(state["log_m"])

    if before.shape != gains.shape[1:]:
        raise InputError(
            "Another version of Trueness wrote this watch, with a different test. "
            "Continue it with that version, or begin a new watch."
        )

    n_bets = gains.shape[2]
    with_new_stakes = np.logaddexp(before, log_stakes(question["metric"], n_bets))
    after = with_new_stakes + np.cumsum(gains, axis=0)
    n_detectors = after.shape[1]
    evidence = logsumexp(after, axis=2).max() - math.log(n_detectors)

    return np.asarray(after[-1]), float(evidence)


class ChangePoint(NamedTuple):
    """The first, the most likely and the last look at which a change began."""

    first: int
    likely: int
    last: int


def change_point(gains: Floats, stakes: Floats, level: float) -> ChangePoint:
    """Return a credible interval of looks for the beginning of a change.

    The posterior probability of a look is its part of the detector (Shiryaev 1963).
    """
    # the gain of a stake since each look
    gains_since = np.cumsum(gains[::-1], axis=0)[::-1]
    log_weight = logsumexp(gains_since + stakes, axis=1)
    probability = np.exp(log_weight - logsumexp(log_weight))

    # the most probable looks whose probabilities add up to the level
    order = np.argsort(-probability, kind="stable")
    cumulative = np.cumsum(probability[order])
    n_credible = np.searchsorted(cumulative, level) + 1
    credible = order[:n_credible]

    return ChangePoint(int(credible.min()), int(order[0]), int(credible.max()))


def confidence_sequence(
    sums: Sums, ends: tuple[float, float], level: float, *, is_proportion: bool
) -> tuple[float, float]:
    """Return the means that no evidence has excluded at any look (Ville 1939).

    Each side has half of the error.
    """
    low, high = ends
    if not sums.n:
        return low, high

    mean = min(max(sums.total / sums.n, low), high)
    threshold = -np.log((1 - level) / 2)
    sides = np.array([-1.0, 1.0])

    def is_possible(bound: Floats) -> Array:
        if is_proportion:
            evidence = _proportion_evidence(sums.total, sums.n, bound, sides)
        else:
            evidence = _mean_evidence(sums, bound, sides, ends)
        return np.asarray(evidence < threshold)

    lower, upper = bisect(is_possible, np.full(2, mean), np.array(ends))
    return float(lower), float(upper)


def _proportion_evidence(
    successes: float, cases: float, bound: Floats, side: Floats
) -> Floats:
    """Return the log evidence that a proportion is below (side 1) or above a bound.

    It mixes likelihood ratios over all proportions beyond the bound (Robbins 1970).
    """
    failures = cases - successes
    # the likelihood p^successes (1 - p)^failures is the density of this distribution
    alpha = successes + 1.0
    beta = failures + 1.0
    is_below = side > 0
    mass = np.where(is_below, betainc(alpha, beta, bound), betaincc(alpha, beta, bound))
    width = np.where(is_below, bound, 1.0 - bound)

    # beyond a bound of 0 or 1 there is no proportion on one side
    with np.errstate(divide="ignore", invalid="ignore"):
        log_mixture = betaln(alpha, beta) + np.log(mass) - np.log(width)
        evidence = log_mixture - xlogy(successes, bound) - xlog1py(failures, -bound)

    return np.where(np.isnan(evidence), 0.0, evidence)


def _mean_evidence(
    sums: Sequence[float], bound: Floats, side: Floats, value_range: tuple[float, float]
) -> Floats:
    """Return the log evidence that a mean is below (side 1) or above (-1) the bound.

    It mixes the bets of Fan, Grama and Liu (2015), for which sums are enough.
    """
    n, total, squares = sums
    lowest, highest = value_range
    width = highest - lowest

    # sums of b - x and of (b - x)^2, in units of the width
    shortfall = side * (n * bound - total) / width
    squares_about_bound = squares - 2 * bound * total + n * bound**2
    variation = np.maximum(squares_about_bound, 0.0) / width**2

    # Fan, Grama and Liu (2015): log(1 + bet x) >= bet x - price x^2 for x >= -1
    price = -np.log1p(-_SEQUENCE_BETS) - _SEQUENCE_BETS
    linear_gain = _SEQUENCE_BETS * shortfall[..., None]
    log_gains = linear_gain - price * variation[..., None]
    evidence = np.logaddexp.reduce(log_gains, axis=-1) - np.log(_SEQUENCE_BETS.size)

    return np.asarray(evidence, np.float64)
