r"""Which cells make a quadratic form largest? For the product and the squares.

With z the 0/1 vector of flagged cells, and a, b their probabilities in one draw,

.. math::

   E[S (1 - F)] = \bar a'z - z' E[a b'] z, \qquad
   E[S^2 + (1 - F)^2] = 1 - 2 \bar b'z + z' E[a a' + b b'] z

are g'z - z'Hz. The gain of a cell is linear in z, so its smallest and largest value in
a box are sums. The upper bound convexifies: as z_j^2 = z_j, adding d to the diagonal of
H and to g changes no value; with -d the fifth smallest eigenvalue of H, at most four
directions v_i with negative eigenvalue are left, for which (v_i'z)^2 is replaced by its
chord over the range of v_i'z in the box. What remains is concave; its tangent at any
point is a linear majorant. Boxes are divided at v_i'z where the chord loses most, or at
a cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.nogold.combinations.branch_and_bound import (
    IN,
    LEAST,
    OPEN,
    OUT,
    TIE,
    Bound,
    Box,
    descend,
    with_cell,
)

# directions in which the form may be convex; the others are made concave
DIRECTIONS = 4
# eigenvalues are right to this part of the largest, and a little more
EIGEN = 1e-12
# part of the gap that a chord must lose for a box to be divided along it
SHARE = 0.1


@final
@dataclass(frozen=True)
class Quadratic:
    """The largest g'z - z'Hz over 0/1 vectors z."""

    g: Floats
    h: Floats  # (n, n), symmetric
    tie: Floats  # gains up to this are none
    rows: Floats  # (directions, n): the convex part is the sum of (rows @ z)^2
    concave: Floats  # (n, n): h + shift + rows' rows, without negative eigenvalues
    shift: float

    @property
    def whole(self) -> Box:
        """Give the box of all sets."""
        n = self.g.size
        low, high = _range(self.rows)
        return Box(np.full(n, OPEN, np.int8), low, high, np.full(n, 0.5))

    def value(self, chosen: Array) -> float:
        """Give g'z - z'Hz."""
        at = np.flatnonzero(chosen)
        return float(self.g[at].sum() - self.h[np.ix_(at, at)].sum())

    def polish(self, chosen: Array, among: Array) -> Array:
        """Flip single cells among these as long as the value rises."""
        chosen = chosen.copy()
        own, tie = np.diag(self.h)[among], self.tie[among]
        gain = self.g[among] - own
        gain -= 2 * self.h[np.ix_(np.flatnonzero(chosen), among)].sum(axis=0)
        # a flagged cell does not interact with itself
        gain += 2 * np.where(chosen[among], own, 0.0)
        for _ in range(4 * among.size):
            inside = chosen[among]
            rise = np.where(inside, tie - gain + LEAST, gain - tie)
            j = int(np.argmax(rise))
            if rise[j] <= 0:
                break
            sign = -1.0 if inside[j] else 1.0
            kept = gain[j]
            gain -= 2 * sign * self.h[among[j], among]
            gain[j] = kept
            chosen[among[j]] = ~inside[j]
        return chosen

    def settle(self, state: Array) -> Array:
        """Decide the open cells whose gain has one sign in the whole box."""
        state = state.copy()
        while True:
            free = np.flatnonzero(state == OPEN)
            own = np.diag(self.h)[free]
            gain = self.g[free] - own
            gain -= 2 * self.h[np.ix_(free, np.flatnonzero(state == IN))].sum(axis=1)
            others = self.h[np.ix_(free, free)]
            least = gain - 2 * (np.maximum(others, 0).sum(axis=1) - np.maximum(own, 0))
            most = gain - 2 * (np.minimum(others, 0).sum(axis=1) - np.minimum(own, 0))
            sure = least > self.tie[free]
            never = (most <= self.tie[free]) & ~sure
            state[free[sure]], state[free[never]] = IN, OUT
            if not (sure | never).any():
                return state

    def bound(self, box: Box) -> Bound:
        """Take the tangent at the optimum of the concave majorant."""
        one, free = np.flatnonzero(box.state == IN), np.flatnonzero(box.state == OPEN)
        at, rows = self.rows[:, one].sum(axis=1), self.rows[:, free]
        low, high = self._limits(box)
        # the chord of y^2 over [low, high]
        slope, height = low + high, -low * high
        g = self.g + self.shift
        c = self.concave[np.ix_(free, free)]
        linear = g[free] - 2 * self.concave[np.ix_(free, one)].sum(axis=1)
        linear += (slope[:, None] * rows).sum(axis=0)
        constant = g[one].sum() - self.concave[np.ix_(one, one)].sum()
        constant += float((slope * at + height).sum())
        x = _concave_optimum(linear, c, box.x[free])
        bent = np.einsum("i,ij->j", x, c)
        cost = linear - 2 * bent
        everything = (box.state == IN).astype(np.float64)
        everything[free] = x
        upper = constant + float((x * bent).sum()) + float(np.maximum(cost, 0).sum())
        return Bound(upper, cost, everything)

    def _limits(self, box: Box) -> tuple[Floats, Floats]:
        """How far do the directions range in this box?"""
        at = self.rows[:, box.state == IN].sum(axis=1)
        low, high = _range(self.rows[:, box.state == OPEN])
        low = np.clip(at + low, box.low, box.high)
        return low, np.clip(at + high, low, box.high)

    def split(self, box: Box, bound: Bound, gap: float) -> tuple[Box, Box]:
        """Divide where a chord loses most, or at the weightiest cell in doubt."""
        low, high = self._limits(box)
        y = np.clip((self.rows * bound.x).sum(axis=1), low, high)
        lost = (y - low) * (high - y)
        if lost.size and lost.max() > SHARE * gap:
            i = int(np.argmax(lost))
            margin = 0.2 * (high[i] - low[i])
            cut = np.clip(y[i], low[i] + margin, high[i] - margin)
            under, over = high.copy(), low.copy()
            under[i] = over[i] = cut
            return box._replace(low=low, high=under), box._replace(low=over, high=high)
        free = np.flatnonzero(box.state == OPEN)
        doubt = np.abs(bound.x[free] - 0.5) < 0.49
        weight = np.abs(np.diag(self.h)[free]) * np.where(doubt, 1.0, 1e-3)
        cell = int(free[np.argmax(weight)])
        return with_cell(box, cell, OUT), with_cell(box, cell, IN)


def quadratic(g: Floats, h: Floats, weight: Floats) -> Quadratic:
    """Prepare the maximisation of g'z - z'Hz; ``weight`` is how probable cells are."""
    from scipy.linalg import eigh

    last = min(DIRECTIONS, g.size - 1)
    value, vector = eigh(h, subset_by_index=[0, last])
    # the largest row sum is no less than any eigenvalue
    safe = EIGEN * float(np.abs(h).sum(axis=1).max())
    shift = max(-float(value[-1]), 0.0) + safe
    convex = value + shift < 0
    rows = (vector[:, convex] * np.sqrt(-(value[convex] + shift))).T
    concave = h + shift * np.eye(g.size) + rows.T @ rows
    return Quadratic(g, h, TIE * weight, rows, concave, shift)


def _range(rows: Floats) -> tuple[Floats, Floats]:
    return np.minimum(rows, 0).sum(axis=1), np.maximum(rows, 0).sum(axis=1)


def _concave_optimum(linear: Floats, c: Floats, start: Floats) -> Floats:
    """Maximise linear'x - x'Cx over the unit cube, about."""

    def down(x: Floats) -> tuple[float, Floats]:
        bent = np.einsum("i,ij->j", x, c)
        return float((x * (bent - linear)).sum()), 2 * bent - linear

    return descend(down, start, np.ones(linear.size))
