r"""Which cells make a quotient of linear functions largest on average? F, Jaccard.

In each draw the criterion is r = N / Q with N and Q linear in the 0/1 vector z of
flagged cells. Cell j changes it by

.. math:: \frac{n_j - r q_j}{Q + q_j},

whose range in a box follows from those of r and Q. With r_0 the value of a good set in
the same draw, e = N - r_0 Q is linear and

.. math:: r - r_0 = e / Q \le \max(e / Q_{low}, e / Q_{high}),

which is convex in e and thus below its chord over the range of e in the box: a linear
majorant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.metrics.algebra import Ratio
from trueness.nogold.combinations.branch_and_bound import (
    IN,
    LEAST,
    OPEN,
    OUT,
    TIE,
    Bound,
    Box,
    with_cell,
)

# single flips of a set; every flip looks at all cells
FLIPS = 40


class Range(NamedTuple):
    """Lowest and highest value in each draw over a box, of N - r_0 Q, Q and r."""

    start: Floats  # of N - r_0 Q with no open cell
    error: tuple[Floats, Floats]
    under: tuple[Floats, Floats]
    ratio: tuple[Floats, Floats]


@final
@dataclass(frozen=True)
class Quotient:
    """The largest mean of N / Q over sets of cells; Q rises with every cell."""

    over: Floats  # (draws,) N of no cell
    under: Floats
    n: Floats  # (draws, cells)
    q: Floats
    good: Floats  # (draws,) the ratio of a good set
    tie: Floats

    @property
    def whole(self) -> Box:
        """Give the box of all sets."""
        cells, none = self.tie.size, np.zeros(0)
        return Box(np.full(cells, OPEN, np.int8), none, none, np.full(cells, 0.5))

    def _sums(self, chosen: Array) -> tuple[Floats, Floats]:
        over = self.over + self.n[:, chosen].sum(axis=1)
        return over, self.under + self.q[:, chosen].sum(axis=1)

    def value(self, chosen: Array) -> float:
        """Give the mean quotient."""
        over, under = self._sums(chosen)
        return float((over / under).mean())

    def polish(self, chosen: Array, among: Array) -> Array:
        """Flip single cells among these as long as the value rises."""
        chosen = chosen.copy()
        n, q, tie = self.n[:, among], self.q[:, among], self.tie[among]
        for _ in range(FLIPS):
            over, under = self._sums(chosen)
            inside = chosen[among]
            ratio, rest = (over / under)[:, None], under[:, None] + q * ~inside
            # what the cell adds to the set without it, whether it is in or not
            other = rest - q * inside
            without = np.where(inside, (over[:, None] - n) / other, ratio)
            gain = ((n - without * q) / (other + q * inside)).mean(axis=0)
            rise = np.where(inside, tie - gain + LEAST, gain - tie)
            j = int(np.argmax(rise))
            if rise[j] <= 0:
                break
            chosen[among[j]] = ~inside[j]
        return chosen

    def _range(self, state: Array) -> Range:
        over, under = self._sums(state == IN)
        free = state == OPEN
        start = over - self.good * under
        slope = self.n[:, free] - self.good[:, None] * self.q[:, free]
        low = start + np.minimum(slope, 0).sum(axis=1)
        high = start + np.maximum(slope, 0).sum(axis=1)
        top = under + self.q[:, free].sum(axis=1)
        least = self.good + np.minimum(low / under, low / top)
        most = self.good + np.maximum(high / under, high / top)
        return Range(start, (low, high), (under, top), (least, most))

    def settle(self, state: Array) -> Array:
        """Decide the open cells whose gain has one sign in the whole box."""
        state = state.copy()
        while (state == OPEN).any():
            free = np.flatnonzero(state == OPEN)
            r, n, q = self._range(state), self.n[:, free], self.q[:, free]
            small, large = r.under[0][:, None] + q, r.under[1][:, None]
            worst, best = n - r.ratio[1][:, None] * q, n - r.ratio[0][:, None] * q
            least = (worst / np.where(worst < 0, small, large)).mean(axis=0)
            most = (best / np.where(best < 0, large, small)).mean(axis=0)
            sure = least > self.tie[free]
            never = (most <= self.tie[free]) & ~sure
            state[free[sure]], state[free[never]] = IN, OUT
            if not (sure | never).any():
                break
        return state

    def bound(self, box: Box) -> Bound:
        """Take the chord of the excess over the good set."""
        free = np.flatnonzero(box.state == OPEN)
        r = self._range(box.state)
        (low, high), (small, large) = r.error, r.under
        left, right = (np.maximum(e / small, e / large) for e in (low, high))
        width = high - low
        slope = np.where(width > 0, (right - left) / np.where(width > 0, width, 1), 0)
        draws = len(slope)
        rows = self.n[:, free] - self.good[:, None] * self.q[:, free]
        cost = np.einsum("d,dj->j", slope / draws, rows)
        base = float((self.good + left + slope * (r.start - low)).mean())
        x = (box.state == IN).astype(np.float64)
        x[free] = cost > 0
        return Bound(base + float(np.maximum(cost, 0).sum()), cost, x)

    def split(self, box: Box, bound: Bound, gap: float) -> tuple[Box, Box]:
        """Divide at the cell that moves the quotient most."""
        free = np.flatnonzero(box.state == OPEN)
        cell = int(free[np.argmax(self.tie[free])])
        return with_cell(box, cell, OUT), with_cell(box, cell, IN)


def quotient(
    ratio: Ratio, sign: float, a: Floats, b: Floats, phi: Floats, good: Array
) -> Quotient | None:
    """Prepare the maximisation of a quotient of counts, if it is of this kind.

    The denominator must be positive for every set and must not fall with any cell.
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
    """Give a sum of counts with no cell flagged, and what each cell adds to it."""
    tp, fp, fn, tn = weights
    each = (tp - fn) * pos[:, None] * a + (fp - tn) * neg[:, None] * b
    return fn * pos + tn * neg, each
