"""Sums of P(r) and 1 - P(r) of one Fermi-Dirac distribution, up to any rank.

Far from the step every probability is 0 or 1 to the last digit, so sums run over a
window of ranks. A wide window has a slow beta, and Euler-Maclaurin gives the sum from
the integral, which is a logarithm.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from trueness._core.arrays import Floats, blocks
from trueness.fermi.quadrature import sum_over_ranks
from trueness.fermi.solver import (
    NEGLIGIBLE_BEYOND,
    RankLine,
    line,
    logit_of_prevalence,
)

# a window wider than this has beta < 0.0014: the second Euler-Maclaurin term is 1e-14
_MAX_RANKS_ONE_BY_ONE = 1 << 16
_RANKS_PER_BLOCK = 1 << 16
# stands for a beta of zero where it divides
_SMALLEST_BETA = 1e-290


class Misses(NamedTuple):
    """Probabilities at nodes of the window, and the cases on the wrong side of each."""

    probability: Floats
    complement: Floats
    weights: Floats
    positives_after: Floats
    negatives_before: Floats


class PartitionSums:
    """Sums over the ranks of one Fermi-Dirac distribution; see the module."""

    def __init__(self, n: int, n_pos: float, auc: float, solution: RankLine) -> None:
        self.n = n
        self.n_pos = n_pos
        self.auc = auc
        self.beta = solution.beta
        self.centre = solution.centre
        logit_rho = logit_of_prevalence(n_pos, n)
        # the log-odds at the centre
        self.height = logit_rho + solution.log_likelihood_ratio

    def logit(self, rank: Any) -> Any:
        """Return the log-odds of being positive at a rank."""
        return line(rank, self.height, self.beta, self.centre)

    @cached_property
    def window(self) -> tuple[int, int]:
        """Return the first and last rank where the probability is not 0 or 1."""
        steepness = abs(self.beta)
        # so flat a line leaves all ranks far from 0 and 1, and 1 / beta may overflow
        if steepness * self.n < 1e-3:
            return 1, self.n

        # the rank at which the log-odds are 0
        middle = self.centre + self.height / self.beta
        reach = NEGLIGIBLE_BEYOND / steepness
        first_rank = math.floor(min(max(middle - reach, 1), self.n))
        last_rank = math.ceil(max(min(middle + reach, self.n), first_rank))
        return first_rank, last_rank

    @property
    def is_wide(self) -> bool:
        """Return whether the window is too wide to be summed rank by rank."""
        first_rank, last_rank = self.window
        return last_rank - first_rank >= _MAX_RANKS_ONE_BY_ONE

    @cached_property
    def _running_positives(self) -> Floats:
        """Running sums of P over the window, from 0."""
        return self._running_sums(sign=1)

    @cached_property
    def _running_negatives(self) -> Floats:
        """Running sums of 1 - P over the window, from 0."""
        return self._running_sums(sign=-1)

    def _running_sums(self, sign: int) -> Floats:
        """Return running sums of P (sign 1) or of 1 - P (sign -1), from 0."""
        first_rank, last_rank = self.window
        log_odds = self.logit(np.arange(first_rank, last_rank + 1.0))
        return np.concatenate([[0.0], np.cumsum(expit(sign * log_odds))])

    def head(self, k: Floats, *, positive: bool = True) -> Any:
        """Return the sum of P (or 1 - P) over the ranks 1 to k."""
        first_rank, last_rank = self.window
        inside = np.clip(k, first_rank - 1, last_rank)
        sum_inside = self._sum_inside(inside, positive=positive)

        # on one side of the window each rank adds 1, on the other 0
        rises = (self.beta < 0) == positive
        ones_outside = (
            np.maximum(k - last_rank, 0) if rises else np.minimum(k, first_rank - 1)
        )
        return sum_inside + ones_outside

    def _sum_inside(self, k: Floats, *, positive: bool) -> Any:
        """Return the sum of P (or 1 - P) from the first rank of the window to k."""
        first_rank = self.window[0]
        if not self.is_wide:
            running = self._running_positives if positive else self._running_negatives
            return running[(k - first_rank + 1).astype(int)]

        # midpoint Euler-Maclaurin: sum = integral - [f'] / 24
        sign = 1 if positive else -1
        start = first_rank - 0.5
        end = k + 0.5
        slopes = self._slope(end, sign) - self._slope(start, sign)
        return self._integral(start, end, sign) - slopes / 24

    def _slope(self, rank: Any, sign: int) -> Any:
        """Return the slope of P (sign 1) or of 1 - P (sign -1) at a rank."""
        p = expit(self.logit(rank))
        return -sign * self.beta * p * (1 - p)

    def _integral(self, start: Any, end: Any, sign: int) -> Any:
        """Return the integral of P, or of 1 - P, over ranks.

        With log-odds that rise from x to x + d it is [log(1 + e^(x + d)) -
        log(1 + e^x)] / beta.
        """
        steepness = abs(self.beta) or _SMALLEST_BETA
        log_odds_start = sign * self.logit(start)
        log_odds_end = sign * self.logit(end)
        low = np.minimum(log_odds_start, log_odds_end)
        rise = np.abs(self.beta) * (end - start)
        # at beta = 0 the integrand is constant: a tiny slope stands for none
        rise = np.where(rise == 0, steepness * (end - start), rise)

        with np.errstate(over="ignore"):
            # without the difference, whose terms are nearly equal for a beta near 0
            of_small_rise = np.log1p(expit(low) * np.expm1(np.minimum(rise, 40.0)))

        # e^40 is beyond the digits of a float: here the difference loses none, while
        # expm1 would overflow
        of_large_rise = np.logaddexp(0, low + rise) - np.logaddexp(0, low)
        return np.where(rise < 40, of_small_rise, of_large_rise) / steepness

    @cached_property
    def variances(self) -> tuple[float, float]:
        """Return P110 - AUC^2 and P100 - AUC^2.

        They are the variances of F1 over the negatives and of F0 over the positives,
        where F counts the ranks before a rank and half of the rank itself. Summed as
        variances they keep their digits where both terms are near 1.
        """
        if self.beta >= 0:
            return self._variances_of_misses(1 - self.auc)

        # reversing the ranks turns F into 1 - F
        mirrored_line = RankLine(-self.beta, 0.0, self.n + 1 - self.centre)
        mirrored = PartitionSums(self.n, self.n_pos, 1 - self.auc, mirrored_line)
        mirrored.height = self.height
        return mirrored._variances_of_misses(self.auc)

    def _variances_of_misses(self, mean_miss: float) -> tuple[float, float]:
        """Return the variances of 1 - F1 and 1 - F0, whose means are 1 - AUC (FD9)."""
        first_rank, last_rank = self.window
        n_neg = self.n - self.n_pos
        misses = self._misses()

        weighted_negatives = misses.weights * misses.complement
        deviation_of_negatives = misses.positives_after / self.n_pos - mean_miss
        # the variance of 1 - F1 over the negatives: weights 1 - P(r)
        over_negatives = float(weighted_negatives @ deviation_of_negatives**2)

        weighted_positives = misses.weights * misses.probability
        deviation_of_positives = misses.negatives_before / n_neg - mean_miss
        over_positives = float(weighted_positives @ deviation_of_positives**2)

        # behind the window there are negatives only, before it positives only
        over_negatives += mean_miss**2 * (self.n - last_rank)
        over_positives += mean_miss**2 * (first_rank - 1)
        return over_negatives / n_neg, over_positives / self.n_pos

    def _misses(self) -> Misses:
        """Return the misses at all ranks of the window; at few nodes of a wide one."""
        if self.is_wide:
            return self._misses_by_quadrature()

        first_rank, last_rank = self.window
        log_odds = self.logit(np.arange(first_rank, last_rank + 1.0))
        p = expit(log_odds)
        complement = expit(-log_odds)
        return Misses(
            probability=p,
            complement=complement,
            weights=np.ones(p.size),
            # ties of a rank with itself count one half
            positives_after=np.cumsum(p[::-1])[::-1] - p / 2,
            negatives_before=np.cumsum(complement) - complement / 2,
        )

    def _misses_by_quadrature(self) -> Misses:
        """Return the misses at few nodes, sums by Euler-Maclaurin.

        A trapezoid end (weight 1/2) adds f'/12, a midpoint end takes f'/24 away.
        """
        first_rank, last_rank = self.window
        scale = max(abs(self.beta), _SMALLEST_BETA)
        nodes, weights = sum_over_ranks(
            first_rank - 1.0, last_rank - first_rank + 1, scale
        )
        rank = nodes + 0.5
        start = first_rank - 0.5
        end = last_rank + 0.5

        positives_after = self._integral(rank, end, 1) - self._slope(rank, 1) / 12
        positives_after -= self._slope(end, 1) / 24
        negatives_before = self._integral(start, rank, -1) + self._slope(rank, -1) / 12
        negatives_before += self._slope(start, -1) / 24

        log_odds = self.logit(rank)
        return Misses(
            probability=expit(log_odds),
            complement=expit(-log_odds),
            weights=weights,
            positives_after=positives_after,
            negatives_before=negatives_before,
        )

    def auprc(self, *, step: int) -> float:
        """Return the mean of Prec(k) Prec(k + step) over thresholds, as an area.

        Eq. 33 with step 1, Eq. 34 with step 0. Eq. 33 starts at k = 0, where Prec(0) is
        Prec(1).
        """
        first_rank = 1.0 - step
        total = 0.0
        for block in blocks(self.n, _RANKS_PER_BLOCK):
            k = np.arange(block.start + first_rank, block.stop + first_rank)
            rank = np.maximum(k, 1.0)
            next_rank = np.maximum(k + step, 1.0)
            precision = self.head(rank) / rank
            next_precision = self.head(next_rank) / next_rank
            total += float(precision @ next_precision)

        # Kim et al. (2021), eqs (33) and (34)
        rho = self.n_pos / self.n
        return rho / 2 * (1 + total / self.n / rho**2)
