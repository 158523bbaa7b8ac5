r"""Which patterns make a quotient of linear functions largest on average? F, Jaccard.

In each draw the criterion is r = N / Q with N and Q linear in the 0/1 vector z of
flagged patterns. Pattern j changes it by

.. math:: \frac{n_j - r q_j}{Q + q_j},

whose range in a subproblem follows from those of r and Q. With r_0 the value of a good
set in the same draw, e = N - r_0 Q is linear and

.. math:: r - r_0 = e / Q \le \max(e / Q_{low}, e / Q_{high}),

which is convex in e and thus below its chord over the range of e in the subproblem: a
linear majorant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.metrics.algebra import Ratio
from trueness.nogold.combinations.branch_and_bound import (
    IN,
    OPEN,
    TIE,
    Majorant,
    Subproblem,
    everything_open,
)


class Range(NamedTuple):
    """Lowest and highest value in each draw of N - r_0 Q, Q and r."""

    start: Floats  # of N - r_0 Q with no open pattern
    error: tuple[Floats, Floats]
    under: tuple[Floats, Floats]
    ratio: tuple[Floats, Floats]


@final
@dataclass(frozen=True)
class Quotient:
    """The largest mean of N / Q over sets of patterns; Q rises with every pattern."""

    over: Floats  # (draws,) N of no pattern
    under: Floats
    n: Floats  # (draws, patterns)
    q: Floats
    good: Floats  # (draws,) the ratio of a good set
    tie: Floats

    @property
    def whole(self) -> Subproblem:
        """Give the subproblem of all sets."""
        return everything_open(self.tie.size)

    def totals(self, chosen: Array) -> Floats:
        """Give N and Q of a set in each draw, (2, draws)."""
        over = self.over + self.n[:, chosen].sum(axis=1)
        return np.stack([over, self.under + self.q[:, chosen].sum(axis=1)])

    def step(self, j: int) -> Floats:
        """What does one pattern add to N and to Q?"""
        return np.stack([self.n[:, j], self.q[:, j]])

    def value(self, chosen: Array) -> float:
        """Give the mean quotient."""
        over, under = self.totals(chosen)
        return float((over / under).mean())

    def gains(self, totals: Floats, inside: Array, among: Array) -> Floats:
        """What does each of these patterns add to the set without it?"""
        n, q = self.n[:, among], self.q[:, among]
        over, under = totals[:, :, None] - np.stack([n, q]) * inside
        return np.asarray(((n - over / under * q) / (under + q)).mean(axis=0))

    def _range(self, state: Array) -> Range:
        over, under = self.totals(state == IN)
        free = state == OPEN
        start = over - self.good * under
        slope = self.n[:, free] - self.good[:, None] * self.q[:, free]
        low = start + np.minimum(slope, 0).sum(axis=1)
        high = start + np.maximum(slope, 0).sum(axis=1)
        top = under + self.q[:, free].sum(axis=1)
        least = self.good + np.minimum(low / under, low / top)
        most = self.good + np.maximum(high / under, high / top)
        return Range(start, (low, high), (under, top), (least, most))

    def gain_range(self, state: Array) -> tuple[Floats, Floats]:
        """Take the gains at the highest and at the lowest quotient."""
        free = state == OPEN
        r, n, q = self._range(state), self.n[:, free], self.q[:, free]
        small, large = r.under[0][:, None] + q, r.under[1][:, None]
        worst, best = n - r.ratio[1][:, None] * q, n - r.ratio[0][:, None] * q
        # a loss is largest over the smallest denominator, a gain over the same
        least = (worst / np.where(worst < 0, small, large)).mean(axis=0)
        return least, (best / np.where(best < 0, large, small)).mean(axis=0)

    def majorant(self, subproblem: Subproblem) -> Majorant:
        """Take the chord of the excess over the good set."""
        free = subproblem.free
        r = self._range(subproblem.state)
        (low, high), (small, large) = r.error, r.under
        left, right = (np.maximum(e / small, e / large) for e in (low, high))
        width = high - low
        slope = np.where(width > 0, (right - left) / np.where(width > 0, width, 1), 0)
        draws = len(slope)
        rows = self.n[:, free] - self.good[:, None] * self.q[:, free]
        cost = np.einsum("d,dj->j", slope / draws, rows)
        base = float((self.good + left + slope * (r.start - low)).mean())
        upper = base + float(np.maximum(cost, 0).sum())
        return Majorant(upper, cost, subproblem.filled(cost > 0))

    def split(
        self, subproblem: Subproblem, majorant: Majorant, gap: float
    ) -> tuple[Subproblem, Subproblem]:
        """Divide at the pattern that moves the quotient most."""
        return subproblem.divided(self.tie[subproblem.free])


def quotient(
    ratio: Ratio, sign: float, a: Floats, b: Floats, phi: Floats, good: Array
) -> Quotient | None:
    """Prepare the maximisation of a quotient of counts, if it is of this kind.

    The denominator must be positive for every set and must not fall with any pattern.
    """
    if ratio.under is None:
        return None
    pos, neg = phi, 1 - phi
    over, n = _linear(ratio.over, a, b, pos, neg)
    under, q = _linear(ratio.under, a, b, pos, neg)
    if not (under > 0).all() or not (q >= 0).all():
        return None
    over, n = sign * over, sign * n
    best = (over + n[:, good].sum(axis=1)) / (under + q[:, good].sum(axis=1))
    tie = TIE * (np.abs(n) + q).mean(axis=0)
    return Quotient(over, under, n, q, best, tie)


def _linear(
    weights: tuple[float, ...], a: Floats, b: Floats, pos: Floats, neg: Floats
) -> tuple[Floats, Floats]:
    """Give a sum of counts with nothing flagged, and what each pattern adds."""
    tp, fp, fn, tn = weights
    each = (tp - fn) * pos[:, None] * a + (fp - tn) * neg[:, None] * b
    return fn * pos + tn * neg, each
