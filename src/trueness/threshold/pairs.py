r"""Which pair of cuts is best, exactly, without trying all pairs?

Rows are in order of the score, highest first. A pair of cuts :math:`i \le j` flags the
rows before i, clears those from j on, and leaves the rows between them undecided. Every
count is then a function of i plus a function of j, and so is every weighted sum of
counts. The problem is

.. math:: \max_{i \le j}\; u(i) + v(j)
    \quad\text{with}\quad a_k(i) + b_k(j) \ge 0 \text{ for all } k,

in whole numbers. A row that depends on i or on j alone forbids cuts. A row in which
:math:`a_k` only rises or only falls allows, for each j, a range of i. What is left is
to find the largest u in a range, for all j at once: a table of maxima of blocks of 1,
2, 4, ... rows answers that in O(m log m). One further row of any shape is answered by
the same blocks, each sorted by its :math:`a_k`: O(m log^2 m). More than one is tried
pair by pair, up to ``MOST_ROWS``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Ints
from trueness._core.checks.errors import InputError

MOST_ROWS = 20_000  # pair by pair: 2 * 10^8 sums, some seconds
MOST_PAIRS = 1_000  # equally good pairs that are listed


class Sum(NamedTuple):
    """A function of a pair of cuts: ``i[first cut] + j[second cut]``."""

    i: Any
    j: Any

    def turned(self) -> Sum:
        """Read the rows from the lowest score on: the cuts change places."""
        return Sum(self.j[::-1], self.i[::-1])


class Pairs(NamedTuple):
    """The best pairs: their value, their cuts, and whether all are listed."""

    value: int
    first: Ints
    second: Ints
    all_listed: bool


def best_pairs(objective: Sum, rows: list[Sum]) -> Pairs | None:
    """Give the pairs with the largest objective; None when no pair is allowed."""
    may_i, may_j, coupled = _sorted_out(rows, len(objective.i))
    kinds = [way_of(r.i) for r in coupled]
    if not all(kinds):
        turned = [way_of(r.j) for r in coupled]
        if sum(map(bool, turned)) > sum(map(bool, kinds)):
            found = best_pairs(objective.turned(), [r.turned() for r in rows])
            last = len(objective.i) - 1
            if found is None:
                return None
            return found._replace(first=last - found.second, second=last - found.first)
    return _best(_PairQuestion(objective, coupled, kinds, may_i, may_j))


class _PairQuestion(NamedTuple):
    objective: Sum
    coupled: list[Sum]
    kinds: list[int]
    may_i: NDArray[np.bool_]
    may_j: NDArray[np.bool_]


def _sorted_out(
    rows: list[Sum], size: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], list[Sum]]:
    """Tell rows that forbid single cuts from those that couple the two."""
    may_i, may_j = np.ones(size, dtype=bool), np.ones(size, dtype=bool)
    coupled = []
    for row in rows:
        if (row.j == row.j[0]).all():
            may_i &= np.asarray(row.i + row.j[0] >= 0, dtype=bool)
        elif (row.i == row.i[0]).all():
            may_j &= np.asarray(row.j + row.i[0] >= 0, dtype=bool)
        else:
            coupled.append(row)
    return may_i, may_j, coupled


def way_of(values: Any) -> int:
    """Do the values rise (1), fall (-1), or neither (0), as where one is undefined?"""
    if (values[1:] >= values[:-1]).all():
        return 1
    return -1 if (values[1:] <= values[:-1]).all() else 0


def _best(q: _PairQuestion) -> Pairs | None:
    free = [r for r, kind in zip(q.coupled, q.kinds, strict=True) if not kind]
    if len(free) > 1:
        return _try_all(q)
    size = len(q.objective.i)
    low, high = np.zeros(size, dtype=np.int64), np.arange(size)
    for row, kind in zip(q.coupled, q.kinds, strict=True):
        if kind > 0:  # a(i) >= -b(j): from the first such i on
            low = np.maximum(low, np.searchsorted(row.i, -row.j, side="left"))
        elif kind < 0:  # up to the last i with a(i) >= -b(j)
            after = size - np.searchsorted(row.i[::-1], -row.j, side="left")
            high = np.minimum(high, after - 1)
    u, known = _masked(q.objective.i, q.may_i)
    wanted = np.flatnonzero(q.may_j & (low <= high))
    if not wanted.size or not q.may_i.any():
        return None
    if free:
        best = _largest_with_key(u, free[0], low, high, wanted)
    else:
        best = _largest_in_range(u, low[wanted], high[wanted])
    real = np.asarray(best >= known, dtype=bool)  # below: nothing allowed in the range
    if not real.any():
        return None
    wanted, best = wanted[real], best[real]
    total = best + q.objective.j[wanted]
    top = total.max()
    places = wanted[np.asarray(total == top, dtype=bool)]
    return _listed(q, free, top, places, low, high)


def _masked(values: Any, may: NDArray[np.bool_]) -> tuple[Any, Any]:
    """Put forbidden entries below all others; give the lowest that is allowed, too."""
    lowest = values.min()
    return np.where(may, values, lowest - 1), lowest


def _largest_in_range(u: Any, low: Ints, high: Ints) -> Any:
    """Find the largest u between low and high, for all queries at once.

    Two blocks of 2^k entries that overlap cover a range of 2^k to 2^(k+1) entries. The
    table of blocks is made level by level, and each query is answered at its own.
    """
    if not low.any():
        return np.maximum.accumulate(u)[high]
    best = np.empty(low.size, dtype=u.dtype)
    level = np.frexp((high - low + 1).astype(np.float64))[1] - 1  # floor of log2
    table = u
    for k in range(int(level.max()) + 1):
        if k:
            half = 1 << (k - 1)
            table = np.maximum(table[:-half], table[half:])
        at = np.flatnonzero(level == k)
        best[at] = np.maximum(table[low[at]], table[high[at] - (1 << k) + 1])
    return best


def _largest_with_key(u: Any, row: Sum, low: Ints, high: Ints, wanted: Ints) -> Any:
    """Find the largest u between low and high among entries with a(i) >= -b(j).

    A tree of blocks of 1, 2, 4, ... entries: each range is the union of at most two
    blocks of each size. Within a block the entries are sorted by a, with the largest u
    from each place on, so that a block is asked by one binary search.
    """
    size = len(u)
    order = np.argsort(row.i, kind="stable")
    rank = np.empty(size, dtype=np.int64)
    rank[order] = np.arange(size)
    # keys become ranks: a(i) >= -b(j) is the same as rank >= need
    need = np.searchsorted(row.i[order], -row.j[wanted], side="left")
    full = 1 << (size - 1).bit_length()
    none = u.min() - 1
    ranks = np.concatenate([rank, np.full(full - size, -1)])
    values = np.concatenate([u, np.full(full - size, none, dtype=u.dtype)])
    best = np.full(wanted.size, none, dtype=u.dtype)
    left, right = low[wanted].copy(), high[wanted] + 1
    width = 1
    while width <= full:
        flat, tops = _sorted_blocks(ranks, values, width)
        # climb as in a segment tree: an odd end is a block that its parent exceeds
        for side in (left, right):
            open_ = (left < right) & (side % 2 == 1)
            at = np.flatnonzero(open_)
            if side is right:
                right[at] -= 1
            block = side[at]
            place = np.searchsorted(flat, block * (full + 1) + need[at] + 1)
            inside = place < (block + 1) * width
            hit = at[inside]
            best[hit] = np.maximum(best[hit], tops[place[inside]])
            if side is left:
                left[at] += 1
        left //= 2
        right //= 2
        width *= 2
    return best


def _sorted_blocks(ranks: Ints, values: Any, width: int) -> tuple[Ints, Any]:
    """Sort blocks of entries by rank; give, too, the largest value from each place on.

    One ascending array holds all blocks, so that one search serves all of them.
    """
    sort = np.argsort(ranks.reshape(-1, width), axis=1)
    keys = np.take_along_axis(ranks.reshape(-1, width), sort, axis=1)
    tops = np.take_along_axis(values.reshape(-1, width), sort, axis=1)
    tops = np.maximum.accumulate(tops[:, ::-1], axis=1)[:, ::-1]
    lead = np.arange(ranks.size // width)[:, None] * (ranks.size + 1)
    return (keys + 1 + lead).ravel(), tops.ravel()


def _listed(
    q: _PairQuestion, free: list[Sum], top: Any, places: Ints, low: Ints, high: Ints
) -> Pairs:
    """List the pairs that reach the top, the first cut of each running over all."""
    first: list[int] = []
    second: list[int] = []
    for j in places[:MOST_PAIRS]:
        i = np.arange(low[j], high[j] + 1)
        good = (q.objective.i[i] == top - q.objective.j[j]) & q.may_i[i]
        for row in free:
            good &= row.i[i] + row.j[j] >= 0
        found = i[np.asarray(good, dtype=bool)]
        first += found.tolist()
        second += [int(j)] * found.size
        if len(first) > MOST_PAIRS:
            break
    return _some(top, first, second, places.size <= MOST_PAIRS)


def _some(top: Any, first: list[int], second: list[int], all_seen: bool) -> Pairs:
    i, j = (np.array(cuts[:MOST_PAIRS]) for cuts in (first, second))
    return Pairs(int(top), i, j, all_seen and len(first) <= MOST_PAIRS)


def _try_all(q: _PairQuestion) -> Pairs | None:
    """Try every pair, one second cut at a time: for rows that no order helps with."""
    size = len(q.objective.i)
    if size > MOST_ROWS:
        raise InputError(
            "Two or more constraints that involve both thresholds and neither rise "
            f"nor fall with them are tried pair by pair, up to {MOST_ROWS:,} distinct "
            f"scores; found {size - 1:,}. Bin the scores (trueness.tally(..., "
            'at_most=5000)), or bound the two sides apart: "precision above >= '
            '0.9", "npv below >= 0.99".'
        )
    top: Any = None
    first: list[int] = []
    second: list[int] = []
    for j in np.flatnonzero(q.may_j):
        good = q.may_i[: j + 1].copy()
        for row in q.coupled:
            good &= np.asarray(row.i[: j + 1] + row.j[j] >= 0, dtype=bool)
        i = np.flatnonzero(good)
        if not i.size:
            continue
        total = q.objective.i[i] + q.objective.j[j]
        best = total.max()
        if top is None or best > top:
            top, first, second = best, [], []
        if best == top:
            found = i[np.asarray(total == top, dtype=bool)].tolist()
            first += found
            second += [int(j)] * len(found)
    return None if top is None else _some(top, first, second, True)
