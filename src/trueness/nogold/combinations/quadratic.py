r"""Which patterns make a quadratic form largest? For the product and the squares.

With z the 0/1 vector of flagged patterns, and a, b their probabilities in one draw,

.. math::

   E[S (1 - F)] = \bar a'z - z' E[a b'] z, \qquad
   E[S^2 + (1 - F)^2] = 1 - 2 \bar b'z + z' E[a a' + b b'] z

are g'z - z'Hz. The gain of a pattern is linear in z, so its smallest and largest value
in a subproblem are sums. The majorant convexifies: as z_j^2 = z_j, adding d to the
diagonal of H and to g changes no value; with -d the fifth smallest eigenvalue of H, at
most four directions v_i with negative eigenvalue are left, for which (v_i'z)^2 is
replaced by its chord over the range of v_i'z in the subproblem. What remains is
concave; its tangent at any point is a linear majorant. Subproblems are divided at v_i'z
where the chord loses most, or at a pattern.

With many patterns no matrix of all pairs is made before those are settled that a
coarser majorant can settle. For the product, with s and p the rates of a good set in
the same draw,

.. math:: S P \le \frac{(p S + s P)^2}{4 s p},

and the square of y = pS + sP is bounded by its chord, as are both squares of
``squares``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.nogold.combinations.branch_and_bound import (
    IN,
    OPEN,
    OUT,
    TIE,
    Majorant,
    Subproblem,
    descend,
    everything_open,
    settle,
)

# directions in which the form may be convex; the others are made concave
DIRECTIONS = 4
# eigenvalues are right to this part of the largest, and a little more
EIGEN = 1e-12
# part of the gap that a chord must lose for a subproblem to be divided along it
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
    def whole(self) -> Subproblem:
        """Give the subproblem of all sets."""
        return everything_open(self.g.size, *_range(self.rows))

    def value(self, chosen: Array) -> float:
        """Give g'z - z'Hz."""
        at = np.flatnonzero(chosen)
        return float(self.g[at].sum() - self.h[np.ix_(at, at)].sum())

    def totals(self, chosen: Array) -> Floats:
        """Give Hz, by which a set acts on every pattern."""
        return np.asarray(self.h[:, chosen].sum(axis=1))

    def step(self, j: int) -> Floats:
        """What does one pattern add to Hz?"""
        return np.asarray(self.h[j])

    def gains(self, totals: Floats, inside: Array, among: Array) -> Floats:
        """What does each of these patterns add to the set without it?"""
        own = np.diag(self.h)[among]
        # a flagged pattern does not interact with itself
        others = totals[among] - np.where(inside, own, 0.0)
        return np.asarray(self.g[among] - own - 2 * others)

    def gain_range(self, state: Array) -> tuple[Floats, Floats]:
        """Add what the other open patterns can take away, or give, at most."""
        free = np.flatnonzero(state == OPEN)
        own, others = np.diag(self.h)[free], self.h[np.ix_(free, free)]
        gain = self.g[free] - own
        gain -= 2 * self.h[np.ix_(free, np.flatnonzero(state == IN))].sum(axis=1)
        least = gain - 2 * (np.maximum(others, 0).sum(axis=1) - np.maximum(own, 0))
        most = gain - 2 * (np.minimum(others, 0).sum(axis=1) - np.minimum(own, 0))
        return least, most

    def majorant(self, subproblem: Subproblem) -> Majorant:
        """Take the tangent at the optimum of the concave majorant."""
        one, free = np.flatnonzero(subproblem.state == IN), subproblem.free
        at, rows = self.rows[:, one].sum(axis=1), self.rows[:, free]
        low, high = self._limits(subproblem)
        # the chord of y^2 over [low, high]
        slope, height = low + high, -low * high
        g = self.g + self.shift
        c = self.concave[np.ix_(free, free)]
        linear = g[free] - 2 * self.concave[np.ix_(free, one)].sum(axis=1)
        linear += (slope[:, None] * rows).sum(axis=0)
        constant = g[one].sum() - self.concave[np.ix_(one, one)].sum()
        constant += float((slope * at + height).sum())
        x = _concave_optimum(linear, c, subproblem.x[free])
        bent = np.einsum("i,ij->j", x, c)
        cost = linear - 2 * bent
        upper = constant + float((x * bent).sum()) + float(np.maximum(cost, 0).sum())
        return Majorant(upper, cost, subproblem.filled(x))

    def _limits(self, subproblem: Subproblem) -> tuple[Floats, Floats]:
        """How far do the directions range in this subproblem?"""
        at = self.rows[:, subproblem.state == IN].sum(axis=1)
        low, high = _range(self.rows[:, subproblem.state == OPEN])
        low = np.clip(at + low, subproblem.low, subproblem.high)
        return low, np.clip(at + high, low, subproblem.high)

    def split(
        self, subproblem: Subproblem, majorant: Majorant, gap: float
    ) -> tuple[Subproblem, Subproblem]:
        """Divide where a chord loses most, or at the weightiest pattern in doubt."""
        low, high = self._limits(subproblem)
        y = np.clip((self.rows * majorant.x).sum(axis=1), low, high)
        lost = (y - low) * (high - y)
        if lost.size and lost.max() > SHARE * gap:
            i = int(np.argmax(lost))
            margin = 0.2 * (high[i] - low[i])
            cut = np.clip(y[i], low[i] + margin, high[i] - margin)
            under, over = high.copy(), low.copy()
            under[i] = over[i] = cut
            return subproblem._replace(low=low, high=under), subproblem._replace(
                low=over, high=high
            )
        free = subproblem.free
        doubt = np.abs(majorant.x[free] - 0.5) < 0.49
        weight = np.abs(np.diag(self.h)[free]) * np.where(doubt, 1.0, 1e-3)
        return subproblem.divided(weight)


def quadratic(g: Floats, h: Floats, weight: Floats) -> Quadratic:
    """Prepare the maximisation of g'z - z'Hz; ``weight`` is the probability."""
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


@final
@dataclass(frozen=True)
class Coarse:
    """The product, or the squares, without a matrix of all pairs.

    Sums over the draws give the gains; the square of the majorant below is bounded by
    its chord. Less sharp than ``Quadratic``, but its cost is linear in the patterns.
    """

    name: str
    a: Floats  # (draws, n)
    b: Floats
    own: Floats  # (n,) the diagonal of H
    tie: Floats

    def value(self, chosen: Array) -> float:
        """Give the average of the criterion."""
        s, p = self.totals(chosen)
        return float((s * p if self.name == "product" else s**2 + p**2).mean())

    def totals(self, chosen: Array) -> Floats:
        """Give sensitivity and specificity of a set in each draw, (2, draws)."""
        rates = self.a[:, chosen].sum(axis=1), 1 - self.b[:, chosen].sum(axis=1)
        return np.stack(rates)

    def step(self, j: int) -> Floats:
        """What does one pattern add to both rates?"""
        return np.stack([self.a[:, j], -self.b[:, j]])

    def gains(self, totals: Floats, inside: Array, among: Array) -> Floats:
        """What does each of these patterns add to the set without it?"""
        # a flagged pattern is in the rates already: that is twice its own term
        own = self.own[among] * (2.0 * inside - 1)
        return np.asarray(self._slopes(totals, among) + own)

    def _slopes(self, totals: Floats, among: Array) -> Floats:
        (s, p), a, b = totals, self.a[:, among], self.b[:, among]
        if self.name == "product":
            return _mean(p, a) - _mean(s, b)
        return 2 * (_mean(s, a) - _mean(p, b))

    def gain_range(self, state: Array) -> tuple[Floats, Floats]:
        """Take the gains with none and with all of the other open patterns."""
        free = np.flatnonzero(state == OPEN)
        ends = [
            self.gains(self.totals(chosen), np.full(free.size, inside), free)
            for chosen, inside in ((state == IN, False), (state != OUT, True))
        ]
        return np.minimum(*ends), np.maximum(*ends)

    def form(self, state: Array) -> Quadratic:
        """Write the criterion in the open patterns as g'z - z'Hz."""
        free = np.flatnonzero(state == OPEN)
        g = self._slopes(self.totals(state == IN), free)
        a, b, n = self.a[:, free], self.b[:, free], len(self.a)
        weight = a.mean(axis=0) + b.mean(axis=0)
        if self.name == "product":
            h = a.T @ b / n
            return quadratic(g, (h + h.T) / 2, weight)
        return quadratic(g, -(a.T @ a + b.T @ b) / n, weight)


def coarse(name: str, a: Floats, b: Floats) -> Coarse:
    """Prepare the maximisation of E[S (1 - F)] or of E[S^2 + (1 - F)^2]."""
    pairs = ((a, b),) if name == "product" else ((a, a), (b, b))
    own = sum(np.einsum("dj,dj->j", x, y) for x, y in pairs) / len(a)
    tie = TIE * (a.mean(axis=0) + b.mean(axis=0))
    return Coarse(name, a, b, own if name == "product" else -own, tie)


def _mean(weight: Floats, patterns: Floats) -> Floats:
    return np.asarray(np.einsum("d,dj->j", weight / len(weight), patterns))


def settle_by_chords(problem: Coarse, start: Array) -> tuple[Array, float]:
    """Which patterns are surely in or out of any set that is better than the start?

    Also an upper bound of the value of all sets.
    """
    state = np.full(start.size, OPEN, np.int8)
    best, parts, top = problem.value(start), _squares(problem, start), np.inf
    while True:
        free = np.flatnonzero(state == OPEN)
        upper, cost = _chords(parts, state)
        top = min(top, upper) if free.size == start.size else top
        sure = np.abs(cost) > upper - best
        state[free[sure]] = np.where(cost[sure] > 0, IN, OUT)
        state = settle(problem, state)
        left = np.count_nonzero(state == OPEN)
        if left in (0, free.size):
            return state, top


class Squares(NamedTuple):
    """The criterion is at most a mean of sums of weight * (at + rows z)^2."""

    weight: Floats  # (draws,)
    at: Floats  # (draws,)
    rows: Floats  # (draws, patterns)


def _squares(problem: Coarse, chosen: Array) -> list[Squares]:
    """Write the criterion, or what is above it, as squares of linear functions."""
    a, b = problem.a, problem.b
    if problem.name == "squares":
        one = np.ones(len(a))
        return [Squares(one, 0 * one, a), Squares(one, one, -b)]
    # any positive rates are right; those of a good set are close
    s, p = np.maximum(problem.totals(chosen), 1e-6)
    return [Squares(1 / (4 * s * p), s, p[:, None] * a - s[:, None] * b)]


def _chords(parts: list[Squares], state: Array) -> tuple[float, Floats]:
    """Bound the squares by their chords: upper, and the cost of open patterns."""
    one, free = state == IN, state == OPEN
    upper, cost = 0.0, np.zeros(np.count_nonzero(free))
    for part in parts:
        at, rows = part.at + part.rows[:, one].sum(axis=1), part.rows[:, free]
        # x^2 <= (low + high) x - low high between the ends that x can reach
        low = np.maximum(at + np.minimum(rows, 0).sum(axis=1), 0)
        high = np.maximum(at + np.maximum(rows, 0).sum(axis=1), low)
        weight = part.weight / len(at)
        upper += float((weight * ((low + high) * at - low * high)).sum())
        cost += np.einsum("d,dj->j", weight * (low + high), rows)
    return upper + float(np.maximum(cost, 0).sum()), cost
