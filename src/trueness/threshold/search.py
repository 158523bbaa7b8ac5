r"""Which cuts, one of each group, are best together when groups must stay alike?

.. math:: \max \sum_g u_g(k_g) \quad\text{with}\quad \sum_g l_{rg}(k_g) + c_r \ge 0,
    \qquad \max_g m_g(k_g) \le h\bigl(\min_g m_g(k_g)\bigr)

A gap has :math:`h(v) = v + \delta`, a ratio :math:`h(v) = v / r`. Gaps tie the groups
together through one number each, the smallest value v. Given v, each group has a window
of cuts, :math:`v \le m_g \le h(v)`, and with the sums priced by multipliers
:math:`\lambda_r \ge 0` the groups come apart:

.. math:: B(v) = \sum_g \max_{k \in W_g(v)} [u_g(k) + \lambda l_g(k)] + \lambda c

is an upper bound, and exact without sums. Branch and bound halves ranges of v (a value
of some cut): a range has the windows of its ends joined. Values are whole numbers: a
range that cannot be better by one is dropped. A single v that remains is solved by
adding one group after another, keeping partial choices that none dominates and whose
loss in the bound is small enough (Nemhauser and Ullmann 1969). All sums are of true and
false positives: priced, they are one direction of that plane, and two of them decide
who dominates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks.errors import InputError
from trueness._core.progress import stop_if_requested

# windows are wider by some units in the last place; different quotients of counts up to
# 10^6 are further apart, and what is found is checked in fractions
CLOSE = 1e-15
_BATCH = 1 << 12  # ranges that are judged at once
_PRICES = 8  # that are kept at once: each takes as much memory as the cuts
# partial choices that are kept at once: few for a first look, then more and more, since
# what few find leaves less to do for many
_STATES = (1 << 5, 1 << 9, 1 << 15, 1 << 18)
_SUMS = 1 << 24  # of partial choices and cuts of the next group: 128 MiB
# below every sum: of floats, of 64 bits, and of weights beyond them
_NOTHING: dict[str, Any] = {"f": -np.inf, "i": -(1 << 62), "O": -(1 << 300)}


class Tree:
    """The largest entry of all blocks of 1, 2, 4, ... neighbours.

    Block 1 is all of them, block k has the halves 2k and 2k + 1, and the entries
    themselves are the blocks from ``full`` on.
    """

    def __init__(self, values: Array) -> None:
        width = self.full = 1 << (values.size - 1).bit_length()
        top = np.full(2 * width, _NOTHING[values.dtype.kind], dtype=values.dtype)
        top[width : width + values.size] = values
        while width > 1:
            half, width = width, width // 2
            top[width:half] = np.maximum(top[half : 2 * half : 2],
                                         top[half + 1 : 2 * half : 2])  # fmt: skip
        self.top = top

    def largest(self, first: Ints, stop: Ints) -> Array:
        """Give the largest entries from first up to stop, for many ranges at once."""
        a, b = first + self.full, np.maximum(first, stop) + self.full
        best = np.full(a.size, -np.inf)
        while (a < b).any():
            # a block at an odd end is not half of a block within the range
            for end, odd in ((a, a & 1), (b - 1, b & 1)):
                at = np.flatnonzero((a < b) & (odd == 1))
                best[at] = np.maximum(best[at], self.top[end[at]])
            a, b = (a + 1) // 2, b // 2
        return best


class Group:
    """The allowed cuts of one group: their counts, and each metric with a gap there."""

    def __init__(self, tp: Ints, fp: Ints, gaps: list[Floats]) -> None:
        self.tp, self.fp, self.gaps, self.size = tp, fp, gaps, tp.size
        self.points = np.stack([tp, fp]).astype(np.float64)
        # along a metric that only rises (1) or falls (-1) windows are ranges of cuts;
        # by another one (0) the cuts are sorted
        self.ways = [
            1 if (v[1:] >= v[:-1]).all() else -int((v[1:] <= v[:-1]).all())
            for v in gaps
        ]
        orders = [np.arange(self.size)[::way] if way else np.argsort(v, kind="stable")
                  for v, way in zip(gaps, self.ways, strict=True)]  # fmt: skip
        self.sorted = [v[o] for v, o in zip(gaps, orders, strict=True)]
        self.odd = [o for o, way in zip(orders, self.ways, strict=True) if not way]

    def trees(self, worth: Floats) -> list[Tree]:
        """Make ready to be asked for the best cut of a window."""
        return [Tree(worth), *(Tree(worth[o]) for o in self.odd)]

    def ranges(self, low: Floats, high: Floats) -> list[tuple[Ints, Ints]]:
        """Give the range of cuts of each window, then that in each other order."""
        first, stop = np.zeros(len(low), np.int64), np.full(len(low), self.size)
        others = []
        for c, (v, way) in enumerate(zip(self.sorted, self.ways, strict=True)):
            a = np.searchsorted(v, low[:, c] - CLOSE * (1 + abs(low[:, c])), "left")
            b = np.searchsorted(v, high[:, c] + CLOSE * (1 + abs(high[:, c])), "right")
            a, b = (self.size - b, self.size - a) if way < 0 else (a, b)
            if way:
                first, stop = np.maximum(first, a), np.minimum(stop, b)
            else:
                others.append((a, b))
        return [(first, stop), *others]

    def inside(self, low: Floats, high: Floats) -> Ints:
        """Which cuts lie in one window?"""
        (first, stop), *others = self.ranges(low[None], high[None])
        found = np.arange(first[0], stop[0])
        for order, (a, b) in zip(self.odd, others, strict=True):
            found = np.intersect1d(found, order[a[0] : b[0]], assume_unique=True)
        return found


def _lowest(planes: Floats, most: float) -> Floats | None:
    """Where, from 0 to most, is the largest plane (slopes, -1, -height) lowest?"""
    if planes.shape[1] == 3:  # of lines: an end, or where two of them cross
        slope, start = planes[:, 0], -planes[:, -1]
        i, j = np.triu_indices(len(planes), 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = (start[j] - start[i]) / (slope[i] - slope[j])
        x = np.array([0.0, most, *cross[(cross > 0) & (cross < most)]])
        height = (slope[:, None] * x + start[:, None]).max(axis=0)
        at = int(np.argmin(height))
        return np.array([x[at], height[at]])
    from scipy.optimize import linprog

    size = planes.shape[1] - 1
    ends = [(0, most)] * (size - 1) + [(None, None)]
    found: Floats | None = linprog(
        np.eye(size)[-1], planes[:, :-1], planes[:, -1], bounds=ends
    ).x
    return found


# the best cuts found, their value, and the proof: nothing is above the last number
GroupAnswer = tuple[list[int] | None, Any, Any]
# what all constants are worth, and the worth of the cuts of each group
_Price = tuple[float, list[list[Tree]]]


class GroupSearch:
    """The search that the module describes.

    ``rows`` are weights of tp and fp and a constant, in whole numbers; ``tops`` give
    the largest value of a metric that goes with a smallest one; ``agrees`` says whether
    the gaps are kept, exactly.
    """

    def __init__(
        self,
        groups: list[Group],
        rows: list[tuple[int, ...]],
        tops: Sequence[Callable[[Floats], Floats]],
        agrees: Callable[[list[int]], bool],
        until: float,
    ) -> None:
        self.groups, self.rows, self.tops = groups, rows, tops
        self.agrees, self.until = agrees, until
        self.points = [g.points for g in groups]
        self.held = _floats(rows).reshape(-1, 3)
        # which values can be the smallest?
        self.steps = [np.unique(np.concatenate([g.gaps[c] for g in groups]))
                      for c in range(len(tops))]  # fmt: skip

    @property
    def late(self) -> bool:
        """Is the time up?"""
        return time.monotonic() > self.until

    def _whole(self, bound: ArrayLike) -> Floats:
        """Round a bound down to a whole number, rounding errors given to it."""
        with np.errstate(invalid="ignore"):  # -inf: nothing is allowed there
            return np.floor(np.asarray(bound) + self.slack + 1e-9 * (1 + np.abs(bound)))

    def _beats(self, bound: ArrayLike) -> NDArray[np.bool_]:
        """Could something better than the best so far lie below the bound?"""
        return self._whole(bound) > self.value

    def run(self, goal: tuple[int, int]) -> GroupAnswer:
        """Find the best cuts, with a proof or with what is left open at that time."""
        self.goal, self.aim = goal, _floats(goal)
        self.best: list[int] | None = None
        # below every choice: prices that bound all by this prove that there is none
        worst = (int(_worth(goal, g.tp, g.fp).min()) for g in self.groups)
        self.value = left = sum(worst) - 1
        self.prices: list[_Price] = []
        self.last = np.zeros(len(self.rows))
        # what rounding can do to a sum of this objective
        self.slack = 1e-12 * sum(float((abs(self.aim) @ p).max()) for p in self.points)
        low = np.zeros((1, len(self.steps)), dtype=np.int64)
        high = np.array([[s.size - 1 for s in self.steps]], dtype=np.int64)
        bound = np.array([sum(float((self.aim @ p).max()) for p in self.points)])
        while True:
            stop_if_requested()
            # the largest bounds first: what is left when the time is up is then small
            order = np.argsort(-bound, kind="stable")
            order = order[self._beats(bound[order])]
            low, high, bound = low[order], high[order], bound[order]
            if not bound.size or self.late:
                rest = map(int, self._whole(bound[:1]))
                return self.best, self.value, max([left, self.value, *rest])
            if self._price(low[0], high[0], bound[0]):
                bound = np.minimum(bound, self._bounds(low, high, self.prices[-1:]))
            point = (low[:_BATCH] == high[:_BATCH]).all(axis=1)
            for at in np.flatnonzero(point):
                if self._beats(bound[at]) and not self._look(low[at], _STATES):
                    left = max(left, int(self._whole(bound[at])))
            wide = np.flatnonzero(~point)
            if wide.size:
                self._look((low[wide[0]] + high[wide[0]]) // 2, _STATES[:1])
            more = self._halved(low[wide], high[wide], bound[wide])
            late = (low[_BATCH:], high[_BATCH:], bound[_BATCH:])
            low, high, bound = (np.concatenate(x) for x in zip(more, late, strict=True))

    def _ends(self, low: Ints, high: Ints) -> tuple[Floats, Floats]:
        """Give the smallest and the largest value that ranges of v allow."""
        bottom, top = np.empty(low.shape), np.empty(low.shape)
        for c, (s, f) in enumerate(zip(self.steps, self.tops, strict=True)):
            bottom[:, c], top[:, c] = s[low[:, c]], f(s[high[:, c]])
        return bottom, top

    def _places(self, low: Ints, high: Ints) -> list[Ints]:
        bottom, top = (e[0] for e in self._ends(low[None], high[None]))
        return [g.inside(bottom, top) for g in self.groups]

    def _bounds(self, low: Ints, high: Ints, prices: list[_Price]) -> Floats:
        """Bound the objective for ranges of smallest values.

        Every price gives a bound, so the least of them is one; later prices are only
        asked about ranges that the earlier ones leave open.
        """
        bottom, top = self._ends(low, high)
        best, rest = np.full(len(low), np.inf), np.arange(len(low))
        for constant, trees in prices:
            total = np.full(rest.size, constant)
            for group, tables in zip(self.groups, trees, strict=True):
                spans = group.ranges(bottom[rest], top[rest])
                found = [t.largest(*x) for t, x in zip(tables, spans, strict=True)]
                total = total + np.min(found, axis=0)
            best[rest] = np.minimum(best[rest], total)
            rest = rest[self._beats(best[rest])]
        return best

    def _halved(
        self, low: Ints, high: Ints, bound: Floats
    ) -> tuple[Ints, Ints, Floats]:
        """Halve every range along its longest side."""
        row = np.arange(len(low))
        c = np.argmax(high - low, axis=1) if len(low) else row
        left, right = high.copy(), low.copy()
        middle = (low[row, c] + high[row, c]) // 2
        left[row, c], right[row, c] = middle, middle + 1
        low, high = np.concatenate([low, right]), np.concatenate([left, high])
        found = self._bounds(low, high, self.prices)
        return low, high, np.minimum(found, np.tile(bound, 2))

    def _price(self, low: Ints, high: Ints, bound: float) -> bool:
        """Keep prices for a range, where they are much sharper than those there are."""
        if self.prices and not self.rows:
            return False
        least, price = self._dual(self._places(low, high))
        if self.prices and bound - least <= (bound - float(self.value)) / 4:
            return False
        trees = [g.trees(self._way(price) @ g.points) for g in self.groups]
        constant = float(price @ self.held[:, 2])
        self.prices = [*self.prices[1 - _PRICES :], (constant, trees)]
        return True

    def _way(self, price: Floats) -> Floats:
        """Give the weights of tp and fp in the objective with all sums priced."""
        return np.asarray(self.aim + price @ self.held[:, :2])

    def _dual(self, places: list[Ints]) -> tuple[float, Floats]:
        """Find prices that make the bound small: any are valid, good ones are sharp.

        The bound is the largest of planes over the prices, one for each choice of cuts.
        The lowest point of those seen is where the next one is looked for (Kelley 1960,
        J. SIAM 8:703). What no choice can keep gets a price above any objective.
        """
        price = self.last
        if not all(x.size for x in places):
            return -np.inf, price
        points = [p[:, x] for p, x in zip(self.points, places, strict=True)]
        spread = 1 + sum(float(np.ptp(self.aim @ p)) for p in points)
        best, planes = (np.inf, price), []
        for _ in range(50):
            stop_if_requested()
            way = self._way(price)
            at = sum(p[:, np.argmax(way @ p)] for p in points)
            worth, sums = self.aim @ at, self.held @ np.append(at, 1)
            here = float(worth + price @ sums)
            best = min(best, (here, price), key=lambda x: x[0])
            if not (price.size and self._beats(here)):
                break
            planes.append([*(sums / spread), -1.0, -worth / spread])
            low = _lowest(np.array(planes), 2 * spread)
            if low is None or best[0] - low[-1] * spread <= 0.5 + 1e-9 * abs(here):
                break
            price = low[:-1]
        self.last = best[1]  # neighbours have nearly the same
        return best

    def _look(self, at: Ints, sizes: Sequence[int]) -> bool:
        """Solve for one v: give whether nothing better is left there."""
        if self.late:
            return False
        places = self._places(at, at)
        bound, price = self._dual(places)
        return not self._beats(bound) or any(
            self._add_groups(places, bound, price, n) for n in sizes
        )

    def _add_groups(
        self, places: list[Ints], bound: float, price: Floats, most: int
    ) -> bool:
        """Take the best choice in a window; say whether nothing better is left."""
        points = [p[:, x] for p, x in zip(self.points, places, strict=True)]
        # what each group can give to each sum, at least and at most
        each = [self.held[:, :2] @ p for p in points]
        least, most_of = (
            np.array([f(x, axis=1) for x in each]).T for f in (np.min, np.max)
        )
        # sums that hold whatever is chosen here play no part
        live = np.flatnonzero(least.sum(axis=1) + self.held[:, 2] < 0)
        ends = _extremes([self.goal, *(self.rows[int(r)][:2] for r in live)])
        complete, loss, way = True, np.zeros(1), self._way(price)
        total, picks = np.zeros((2, 1), dtype=np.int64), np.zeros((0, 1), np.int64)
        for g, (group, x) in enumerate(zip(self.groups, places, strict=True)):
            if self.late or not loss.size:
                return complete and not self.late
            worth = way @ points[g]
            less = worth.max() - worth
            near = np.flatnonzero(self._beats(bound - less))
            near = near[np.argsort(less[near], kind="stable")]
            widest = min(8 * most, _SUMS // loss.size)
            complete &= near.size <= widest
            near = near[:widest]
            loss = loss[:, None] + less[near]
            keep = self._beats(bound - loss)
            for r in live:
                known = self.held[r, :2] @ total
                left = self.held[r, 2] + most_of[r, g + 1 :].sum()
                reach = known[:, None] + each[g][r, near] + left
                keep &= reach >= -1e-9 * (1 + abs(left))
            old, new = np.nonzero(keep)
            at = x[near[new]]
            total = total[:, old] + np.stack([group.tp[at], group.fp[at]])
            loss, some = loss[old, new], np.arange(old.size)
            if ends:
                one, two = (np.unique(_worth(w, *total), return_inverse=True)[1]
                            for w in ends)  # fmt: skip
                order = np.lexsort([two, one])[::-1]
                before = np.maximum.accumulate(two[order])[:-1]
                some = order[np.append(True, two[order][1:] > before)[: order.size]]
            if some.size > most:  # those that lost least
                some = some[np.argsort(loss[some], kind="stable")[:most]]
                complete = False
            total, loss = total[:, some], loss[some]
            picks = np.vstack([picks[:, old[some]], at[some]])
        order = np.argsort(-_worth(self.goal, *total), kind="stable")[:3]
        taken = [self._take(picks[:, k].tolist()) for k in order]
        return complete and (not taken or taken[0])

    def _take(self, cuts: list[int]) -> bool:
        """Keep cuts that are better and allowed; is nothing lost where they are not?"""
        tp, fp = (
            sum(int(x[k]) for x, k in zip(counts, cuts, strict=True))
            for counts in ([g.tp for g in self.groups], [g.fp for g in self.groups])
        )
        value = self.goal[0] * tp + self.goal[1] * fp
        if value <= self.value:
            return True
        kept = all(a * tp + b * fp + c >= 0 for a, b, c in self.rows)
        if not (kept and self.agrees(cuts)):
            return False
        self.value, self.best = value, cuts
        return True


def _floats(weights: Sequence[object]) -> Floats:
    try:
        return np.array(weights, dtype=np.float64)
    except OverflowError:
        raise InputError(
            "A metric or a constraint of groups multiplies counts by a number that no "
            "float holds, beyond 1e308. Type smaller numbers."
        ) from None


def _worth(weights: tuple[int, ...], tp: Ints, fp: Ints) -> Any:
    """Weigh counts in whole numbers, beyond 64 bits in Python's own."""
    a, b = weights
    size = (abs(a) + abs(b)) * (1 + int(max(tp.max(initial=0), fp.max(initial=0))))
    kind: Any = np.int64 if size < 2**62 else object
    return tp.astype(kind) * a + fp.astype(kind) * b


def _extremes(weights: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Which two sums of counts does a choice have to win to win them all?

    As directions of a plane they have all others between them; none if there are none.
    """

    def turn(x: tuple[int, ...], y: tuple[int, ...]) -> int:
        return x[0] * y[1] - x[1] * y[0]

    some = [w for w in weights if any(w)] or weights[:1]
    for x, y in product(some, repeat=2):
        between = all(turn(x, w) >= 0 <= turn(w, y) for w in some)
        alike = all(x[0] * w[0] + x[1] * w[1] >= 0 for w in some)
        if between and (turn(x, y) > 0 or alike):
            return [x, y]
    return []
