r"""Which combination is best on average over the posterior, for the named criteria?

``sum`` is linear: a cell is flagged when its mean probability is higher in positives.
``product`` and ``squares`` are quadratic forms, ``min`` is concave; all three are
solved by branch and bound (``_branching.py``). With more than ``MATRIX`` cells no
matrix of all pairs is made; first the cells are settled that a coarser majorant can
settle. For the product, with s and p the rates of a good set in the same draw,

.. math:: S P \le \frac{(p S + s P)^2}{4 s p},

and the square of y = pS + sP is bounded by its chord, as are both squares of
``squares``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.nogold.combinations.branch_and_bound import (
    IN,
    OPEN,
    OUT,
    TIE,
    Found,
    maximise,
)
from trueness.nogold.combinations.minimum import minimum
from trueness.nogold.combinations.one_draw import prefixes
from trueness.nogold.combinations.quadratic import quadratic

# cells from which some are settled before all pairs are written down, and
COARSE = 256
# cells up to which all pairs are
MATRIX = 2048
# boxes times cells before a search is cut off; a box of the minimum takes longer
WORK, WORK_MINIMUM = 2**18, 2**16
# single flips of a set that is too large for more
FLIPS = 200


def best_of_named(name: str, a: Floats, b: Floats) -> Found:
    """Give the best set of cells on average over the draws; a, b are (draws, cells)."""
    if name == "sum":
        gain, weight = (a - b).mean(axis=0), (a + b).mean(axis=0)
        return Found(gain > TIE * weight, 0.0, 1)
    start = _best_prefix(name, a.mean(axis=0), b.mean(axis=0))
    if name == "min":
        return maximise(minimum(a, b), start, WORK_MINIMUM // start.size)
    return _quadratic(name, a, b, start)


def _best_prefix(name: str, a: Floats, b: Floats) -> Array:
    """Give the best set on the likelihood-ratio order of the mean cells."""
    order, sens, spec = prefixes(a, b)
    value = {
        "product": sens * spec,
        "squares": sens**2 + spec**2,
        "min": np.minimum(sens, spec),
    }[name]
    chosen = np.zeros(a.size, dtype=bool)
    chosen[order[: int(np.argmax(value))]] = True
    return chosen


def _quadratic(name: str, a: Floats, b: Floats, start: Array) -> Found:
    """Settle what the coarse majorant can, then search among the other cells."""
    n = start.size
    state, upper = np.full(n, OPEN, np.int8), np.inf
    if n > COARSE:
        start = _flip(name, a, b, start)
        state, upper = _settle(name, a, b, start)
    free = np.flatnonzero(state == OPEN)
    if free.size > MATRIX:
        return Found(start, upper - _value(name, a, b, start), 0)
    chosen, gap, boxes = state == IN, 0.0, 0
    if free.size:
        form = quadratic(*_form(name, a, b, state))
        inside, gap, boxes = maximise(form, start[free], WORK // free.size)
        chosen[free] = inside
    # settling keeps what is better than the start, so it may have lost the start
    if _value(name, a, b, start) > _value(name, a, b, chosen):
        chosen = start
    return Found(chosen, gap, boxes)


def _value(name: str, a: Floats, b: Floats, chosen: Array) -> float:
    s, p = a[:, chosen].sum(axis=1), 1 - b[:, chosen].sum(axis=1)
    return float((s * p if name == "product" else s**2 + p**2).mean())


def _form(
    name: str, a: Floats, b: Floats, state: Array
) -> tuple[Floats, Floats, Floats]:
    """Write the criterion in the open cells as g'z - z'Hz; also their probability."""
    free, one = state == OPEN, state == IN
    s, p = a[:, one].sum(axis=1), 1 - b[:, one].sum(axis=1)
    a, b, n = a[:, free], b[:, free], len(a)
    weight = a.mean(axis=0) + b.mean(axis=0)
    if name == "product":
        h = a.T @ b / n
        return _mean(p, a) - _mean(s, b), (h + h.T) / 2, weight
    return 2 * (_mean(s, a) - _mean(p, b)), -(a.T @ a + b.T @ b) / n, weight


def _mean(weight: Floats, cells: Floats) -> Floats:
    return np.asarray(np.einsum("d,dj->j", weight / len(weight), cells))


def _gains(name: str, a: Floats, b: Floats, s: Floats, p: Floats) -> Floats:
    """What does each cell add to a set with these rates that does not hold it?"""
    if name == "product":
        own = np.einsum("dj,dj->j", a, b) / len(a)
        return np.asarray(_mean(p, a) - _mean(s, b) - own)
    own = np.einsum("dj,dj->j", a, a) + np.einsum("dj,dj->j", b, b)
    return np.asarray(2 * (_mean(s, a) - _mean(p, b)) + own / len(a))


def _flip(name: str, a: Floats, b: Floats, chosen: Array) -> Array:
    """Flip single cells as long as the value rises."""
    chosen, tie = chosen.copy(), TIE * (a.mean(axis=0) + b.mean(axis=0))
    own = np.einsum("dj,dj->j", a, b if name == "product" else a)
    if name == "squares":
        own = -own - np.einsum("dj,dj->j", b, b)
    for _ in range(FLIPS):
        s, p = a[:, chosen].sum(axis=1), 1 - b[:, chosen].sum(axis=1)
        # a flagged cell is in the rates already: without it, it adds more or less
        gain = _gains(name, a, b, s, p) + np.where(chosen, 2 * own / len(a), 0.0)
        rise = np.where(chosen, tie - gain, gain - tie)
        j = int(np.argmax(rise))
        if rise[j] <= 0:
            break
        chosen[j] = ~chosen[j]
    return chosen


def _settle(name: str, a: Floats, b: Floats, start: Array) -> tuple[Array, float]:
    """Which cells are surely in or out of any set that is better than the start?

    Also an upper bound of the value of all sets.
    """
    state = np.full(start.size, OPEN, np.int8)
    best, parts, top = _value(name, a, b, start), _squares(name, a, b, start), np.inf
    while True:
        free = np.flatnonzero(state == OPEN)
        upper, cost = _chords(parts, state)
        top = min(top, upper) if free.size == start.size else top
        sure = np.abs(cost) > upper - best
        state[free[sure]] = np.where(cost[sure] > 0, IN, OUT)
        _settle_by_gain(name, a, b, state)
        left = np.count_nonzero(state == OPEN)
        if left in (0, free.size):
            return state, top


def _settle_by_gain(name: str, a: Floats, b: Floats, state: Array) -> None:
    """Decide, in place, the open cells whose gain has one sign in the box."""
    while (state == OPEN).any():
        one, free = state == IN, np.flatnonzero(state == OPEN)
        x, y = a[:, free], b[:, free]
        tie = TIE * (x.mean(axis=0) + y.mean(axis=0))
        s, p = a[:, one].sum(axis=1), 1 - b[:, one].sum(axis=1)
        with_none = _gains(name, x, y, s, p)
        # a cell is not among the others: it is taken out of what they add
        own = np.einsum("dj,dj->j", x, y if name == "product" else x)
        if name == "squares":
            own = -own - np.einsum("dj,dj->j", y, y)
        full = _gains(name, x, y, s + x.sum(axis=1), p - y.sum(axis=1))
        with_all = full + 2 * own / len(x)
        least, most = np.minimum(with_none, with_all), np.maximum(with_none, with_all)
        sure = least > tie
        never = (most <= tie) & ~sure
        state[free[sure]], state[free[never]] = IN, OUT
        if not (sure | never).any():
            return


class Squares(NamedTuple):
    """The criterion is at most a mean of sums of weight * (at + rows z)^2."""

    weight: Floats  # (draws,)
    at: Floats  # (draws,)
    rows: Floats  # (draws, cells)


def _squares(name: str, a: Floats, b: Floats, chosen: Array) -> list[Squares]:
    if name == "squares":
        one = np.ones(len(a))
        return [Squares(one, 0 * one, a), Squares(one, one, -b)]
    s, p = a[:, chosen].sum(axis=1), 1 - b[:, chosen].sum(axis=1)
    # any positive rates are right; those of a good set are close
    s, p = np.maximum(s, 1e-6), np.maximum(p, 1e-6)
    return [Squares(1 / (4 * s * p), s, p[:, None] * a - s[:, None] * b)]


def _chords(parts: list[Squares], state: Array) -> tuple[float, Floats]:
    """Bound the squares by their chords: upper, and the cost of each open cell."""
    one, free = state == IN, state == OPEN
    upper, cost = 0.0, np.zeros(np.count_nonzero(free))
    for part in parts:
        at, rows = part.at + part.rows[:, one].sum(axis=1), part.rows[:, free]
        low = np.maximum(at + np.minimum(rows, 0).sum(axis=1), 0)
        high = np.maximum(at + np.maximum(rows, 0).sum(axis=1), low)
        weight = part.weight / len(at)
        upper += float((weight * ((low + high) * at - low * high)).sum())
        cost += np.einsum("d,dj->j", weight * (low + high), rows)
    return upper + float(np.maximum(cost, 0).sum()), cost
