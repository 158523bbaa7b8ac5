"""What do the Fermi-Dirac probabilities add up to, up to a rank and over all?

Far from the step every probability is 0 or 1 to the last digit, so sums run over a
window of ranks. A wide window has a slow beta, and Euler-Maclaurin gives the sum from
the integral, which is a logarithm.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from trueness._core.arrays import Floats, blocks
from trueness.fermi.solver import FermiSolution, unit_sums

# a window wider than this has beta < 0.0014: the second Euler-Maclaurin term is 1e-14
_WIDE = 1 << 16
_REACH = 45.0


class PartitionSums:
    """Sums of P(r) and 1 - P(r) of one Fermi-Dirac distribution."""

    def __init__(
        self, n: int, n_pos: float, auc: float, solution: FermiSolution
    ) -> None:
        self.n, self.n_pos, self.auc, self.solution = n, n_pos, auc, solution
        self.beta, llr, self.centre = solution
        self.height = math.log(n_pos / (n - n_pos)) + llr

    def logit(self, rank: Any) -> Any:
        """Give the log-odds of being positive at a rank."""
        return self.solution.line(rank, self.height)

    @cached_property
    def window(self) -> tuple[int, int]:
        """Give the first and last rank where the probability is not 0 or 1."""
        slope = abs(self.beta)
        if slope * self.n < 1e-3:
            return 1, self.n
        middle = self.centre + self.height / self.beta
        reach = _REACH / slope
        low = math.floor(min(max(middle - reach, 1), self.n))
        return low, math.ceil(max(min(middle + reach, self.n), low))

    @property
    def is_wide(self) -> bool:
        """Are there more such ranks than are summed one by one?"""
        low, high = self.window
        return high - low >= _WIDE

    @cached_property
    def _running(self) -> tuple[Floats, Floats]:
        """Running sums of P and 1 - P over the window, from 0."""
        low, high = self.window
        x = self.logit(np.arange(low, high + 1.0))
        return tuple(np.concatenate([[0.0], np.cumsum(expit(s * x))]) for s in (1, -1))  # type: ignore[return-value]

    def head(self, k: Floats, *, positive: bool = True) -> Any:
        """Sum P (or 1 - P) over the ranks 1 to k."""
        low, high = self.window
        rises = (self.beta < 0) == positive  # then the sum is 0 before the window
        inside = np.clip(k, low - 1, high)
        if self.is_wide:
            part = self._smooth_head(inside, low, 1 if positive else -1)
        else:
            part = self._running[0 if positive else 1][(inside - low + 1).astype(int)]
        outside = np.maximum(k - high, 0) if rises else np.minimum(k, low - 1)
        return part + outside

    def _smooth_head(self, k: Any, low: int, sign: int) -> Any:
        # midpoint Euler-Maclaurin: sum = integral - [f'] / 24
        start, end = low - 0.5, k + 0.5
        slope = self._slope(end, sign) - self._slope(start, sign)
        return self._integral(start, end, sign) - slope / 24

    def _slope(self, rank: Any, sign: int) -> Any:
        p = expit(self.logit(rank))
        return -sign * self.beta * p * (1 - p)

    def _integral(self, start: Any, end: Any, sign: int) -> Any:
        """Integrate P (or 1 - P) over ranks, accurately for beta near 0 too."""
        slope = abs(self.beta) or 1e-290
        x, y = sign * self.logit(start), sign * self.logit(end)
        low, rise = np.minimum(x, y), np.abs(self.beta) * (end - start)
        rise = np.where(rise == 0, slope * (end - start), rise)
        with np.errstate(over="ignore"):
            # log(1 + e^(x + d)) - log(1 + e^x) without the difference
            near = np.log1p(expit(low) * np.expm1(np.minimum(rise, 40.0)))
        far = np.logaddexp(0, low + rise) - np.logaddexp(0, low)
        return np.where(rise < 40, near, far) / slope

    @cached_property
    def variances(self) -> tuple[float, float]:
        """Give P110 - AUC^2 and P100 - AUC^2, ties of a rank with itself counting 1/2.

        They are variances: of F1 over the negatives and of F0 over the positives.
        Taken so, they keep their digits where both terms are near 1.
        """
        if self.beta < 0:  # reversing the ranks turns F into 1 - F
            mirror = FermiSolution(-self.beta, 0.0, self.n + 1 - self.centre)
            sums = PartitionSums(self.n, self.n_pos, 1 - self.auc, mirror)
            sums.height = self.height
            return sums._variances(self.auc)
        return self._variances(1 - self.auc)

    def _variances(self, miss: float) -> tuple[float, float]:
        low, high = self.window
        n_neg = self.n - self.n_pos
        p1, p0, w, late, early = self._misses()
        # late / N1 = 1 - F1, early / N0 = 1 - F0; their means are 1 - AUC (FD9)
        over_neg = float((w * p0) @ (late / self.n_pos - miss) ** 2)
        over_pos = float((w * p1) @ (early / n_neg - miss) ** 2)
        over_neg += miss**2 * (self.n - high)
        over_pos += miss**2 * (low - 1)
        return over_neg / n_neg, over_pos / self.n_pos

    def _misses(self) -> tuple[Floats, ...]:
        """At nodes in the window: P1, P0, weight, positives after, negatives before."""
        low, high = self.window
        if self.is_wide:
            return self._smooth_misses(low, high)
        x = self.logit(np.arange(low, high + 1.0))
        p1, p0 = expit(x), expit(-x)
        # ties of a rank with itself count one half
        late = np.cumsum(p1[::-1])[::-1] - p1 / 2
        return p1, p0, np.ones(p1.size), late, np.cumsum(p0) - p0 / 2

    def _smooth_misses(self, low: int, high: int) -> tuple[Floats, ...]:
        scale = max(abs(self.beta), 1e-290)
        rank, w = unit_sums(low - 1.0, high - low + 1, scale, math.inf)
        rank, start, end = rank + 0.5, low - 0.5, high + 0.5
        x = self.logit(rank)
        # a trapezoid end (weight 1/2) adds f'/12, a midpoint end takes f'/24 away
        late = self._integral(rank, end, 1) - self._slope(rank, 1) / 12
        late -= self._slope(end, 1) / 24
        early = self._integral(start, rank, -1) + self._slope(rank, -1) / 12
        early += self._slope(start, -1) / 24
        return expit(x), expit(-x), w, late, early

    def auprc(self, *, step: int) -> float:
        """Mean of Prec(k) Prec(k + step) over thresholds, as an area (Eqs 33, 34)."""
        total = 0.0
        first = 1.0 - step  # Eq. 33 starts at k = 0, where Prec(0) is Prec(1)
        for b in blocks(self.n, 1 << 16):
            k = np.arange(b.start + first, b.stop + first)
            total += float(self._precision(k) @ self._precision(k + step))
        rho = self.n_pos / self.n
        return rho / 2 * (1 + total / self.n / rho**2)

    def _precision(self, k: Floats) -> Any:
        k = np.maximum(k, 1.0)
        return self.head(k) / k
