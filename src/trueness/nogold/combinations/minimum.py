r"""Which patterns make the smaller of sensitivity and specificity largest on average?

With w = a + b in each draw and z the 0/1 vector of flagged patterns,

.. math:: E[\min(S, 1 - F)] = \bar a'z + E[\min(0, y)], \qquad y = 1 - w'z

is concave in z. Flagging pattern j changes it by

.. math:: \bar a_j - E[\operatorname{clip}(w_j - y, 0, w_j)],

which falls as y falls, so its range in a subproblem is known from the largest and the
smallest y of each draw. For weights l in [0, 1], one a draw, min(0, y) <= l y gives a
linear majorant; the best weights are the multipliers of a linear program: solved where
the subproblem is small, by a smoothed minimum where it is large. Draws in which y
cannot change its sign in a subproblem are summed up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.nogold.combinations.branch_and_bound import (
    IN,
    LEAST,
    OPEN,
    TIE,
    Majorant,
    Subproblem,
    descend,
    everything_open,
)

# entries of the linear program up to which it is solved
SMALL = 20_000
# widths of the smoothed kink, as parts of the range of y
WIDTHS = (0.1, 0.01, 0.001)


class MinimumPart(NamedTuple):
    """The criterion in a subproblem: base + gain'x + sum(min(0, y - w x)) / draws."""

    free: Array
    base: float
    gain: Floats
    y: Floats
    w: Floats
    range: Floats


@final
@dataclass(frozen=True)
class Minimum:
    """The largest E[min(S, 1 - F)] over sets of patterns."""

    mean: Floats  # (n,) of a
    w: Floats  # (draws, n): a + b
    tie: Floats

    @property
    def whole(self) -> Subproblem:
        """Give the subproblem of all sets."""
        return everything_open(self.mean.size)

    def value(self, chosen: Array) -> float:
        """Give the average of the smaller rate."""
        y = 1 - self.w[:, chosen].sum(axis=1)
        return float(self.mean[chosen].sum() + np.minimum(y, 0).mean())

    def totals(self, chosen: Array) -> Floats:
        """Give w'z, the weight of a set in each draw."""
        return np.asarray(self.w[:, chosen].sum(axis=1))

    def step(self, j: int) -> Floats:
        """Give the weight of one pattern in each draw."""
        return self.w[:, j]

    def gains(self, totals: Floats, inside: Array, among: Array) -> Floats:
        """What does each of these patterns add to the set without it?"""
        w = self.w[:, among]
        # without the pattern, y = 1 - totals is higher by its weight
        lost = np.where(inside, 0.0, w) - (1 - totals)[:, None]
        return np.asarray(self.mean[among] - np.clip(lost, 0, w).mean(axis=0))

    def gain_range(self, state: Array) -> tuple[Floats, Floats]:
        """Take the gains at the smallest and at the largest y of each draw."""
        part = self._part(state)
        n, y, w = len(self.w), part.y[:, None], part.w
        lowest = (part.y - part.range)[:, None]
        least = part.gain - np.clip(-lowest, 0, w).sum(axis=0) / n
        return least, part.gain - np.clip(w - y, 0, w).sum(axis=0) / n

    def _part(self, state: Array) -> MinimumPart:
        """Sum up the draws in which y cannot change its sign."""
        free, one = np.flatnonzero(state == OPEN), state == IN
        y, w = 1 - self.w[:, one].sum(axis=1), self.w[:, free]
        spread = w.sum(axis=1)
        below = y <= 0
        n = len(self.w)
        base = float(self.mean[one].sum() + y[below].sum() / n)
        gain = self.mean[free] - w[below].sum(axis=0) / n
        kept = ~below & (y < spread)
        return MinimumPart(free, base, gain, y[kept], w[kept], spread[kept])

    def majorant(self, subproblem: Subproblem) -> Majorant:
        """Weigh the two sides of the kink of each draw."""
        part = self._part(subproblem.state)
        solve = _program if part.w.size <= SMALL else _smoothed
        x, weight = solve(part, subproblem.x[part.free], len(self.w))
        weight = weight / len(self.w)
        cost = part.gain - np.einsum("d,dj->j", weight, part.w)
        upper = part.base + float((weight * part.y).sum() + np.maximum(cost, 0).sum())
        return Majorant(upper, cost, subproblem.filled(x))

    def split(
        self, subproblem: Subproblem, majorant: Majorant, gap: float
    ) -> tuple[Subproblem, Subproblem]:
        """Divide at the weightiest pattern in doubt."""
        free = subproblem.free
        doubt = np.abs(majorant.x[free] - 0.5) < 0.499
        weight = self.w[:, free].mean(axis=0) * np.where(doubt, 1.0, 1e-6)
        return subproblem.divided(weight)


def minimum(a: Floats, b: Floats) -> Minimum:
    """Prepare the maximisation of E[min(S, 1 - F)]."""
    w = a + b
    return Minimum(a.mean(axis=0), w, TIE * w.mean(axis=0))


def _program(part: MinimumPart, start: Floats, draws: int) -> tuple[Floats, Floats]:
    """Solve the relaxed problem as a linear program; its multipliers are weights."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, identity

    d, m = part.w.shape
    rows: Any = hstack([csr_array(part.w), identity(d)])
    found = linprog(
        -np.concatenate([draws * part.gain, np.ones(d)]),
        A_ub=rows,
        b_ub=part.y,
        bounds=[(0, 1)] * m + [(None, 0)] * d,
        method="highs-ds",
    )
    if found.x is None:
        return _smoothed(part, start, draws)
    return np.clip(found.x[:m], 0, 1), np.clip(-found.ineqlin.marginals, 0, 1)


def _smoothed(part: MinimumPart, start: Floats, draws: int) -> tuple[Floats, Floats]:
    """Maximise with the kink rounded off, narrower and narrower."""
    # the root of the probability as unit: slopes and curvatures of one size
    unit = np.sqrt(np.maximum(part.w.mean(axis=0), LEAST))
    gain, w = part.gain / unit, part.w / unit
    across = np.ascontiguousarray(w.T)
    x, scale = start * unit, float(part.range.mean())
    for width in WIDTHS:
        x = descend(
            partial(_bent, gain, w, across, part.y, draws, width * scale), x, unit
        )
    weight = _side(part.y - np.einsum("j,jd->d", x, across), WIDTHS[-1] * scale)
    return np.clip(x / unit, 0, 1), weight


def _side(y: Floats, width: float) -> Floats:
    """Give the slope of the rounded kink."""
    return np.clip(0.5 - y / (2 * width), 0, 1)


def _bent(
    gain: Floats,
    w: Floats,
    across: Floats,
    y: Floats,
    draws: int,
    width: float,
    x: Floats,
) -> tuple[float, Floats]:
    """Give the criterion with a rounded kink and its slope, negated."""
    # einsum, as threads of BLAS that wait for each other are slower than one
    y = y - np.einsum("j,jd->d", x, across)
    side = _side(y, width)
    bent = side * y - width * side * (1 - side)
    slope = gain - np.einsum("d,dj->j", side, w) / draws
    return -float((gain * x).sum() + bent.sum() / draws), -slope
