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
false positives, so that two of them decide who dominates.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks.errors import InputError
from trueness.threshold.fronts import undominated

# windows are wider by some units in the last place; different quotients of counts up to
# 10^6 are further apart, and what is found is checked in fractions
CLOSE = 1e-15
_BATCH = 1 << 12  # ranges that are judged at once
_LOOKS = 25  # smallest values that are looked at before the search
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


class Gap(NamedTuple):
    """A metric that must not differ too much between groups.

    ``value`` has the metric at every cut of every group (NaN: undefined, forbidden);
    ``top`` gives the largest value that goes with a smallest one.
    """

    value: list[Floats]
    top: Callable[[Any], Any]


class GroupRow(NamedTuple):
    """A sum over groups, at one cut each, plus a constant, in whole numbers.

    The numbers are true and false positives at these weights.
    """

    value: list[Any]
    constant: int
    weights: tuple[int, int]

    def total(self, cuts: Sequence[int]) -> int:
        """Give the sum at some cuts."""
        pairs = zip(self.value, cuts, strict=True)
        return self.constant + sum(int(v[k]) for v, k in pairs)

    def at(self, places: list[Ints]) -> list[Floats]:
        """Give the entries at some cuts of each group, as floats."""
        pairs = zip(self.value, places, strict=True)
        try:
            return [np.asarray(v[x], dtype=np.float64) for v, x in pairs]
        except OverflowError:
            raise InputError(
                "A metric or a constraint of groups multiplies counts by a number that "
                "no float holds, beyond 1e308. Type smaller numbers."
            ) from None


class _Group:
    """The cuts of one group: which lie in a window, and how good is the best there?"""

    def __init__(self, gaps: list[Floats], may: NDArray[np.bool_]) -> None:
        self.may = may
        # does a metric rise (1), fall (-1), or neither (0), as where it is undefined?
        self.ways = [
            1 if (v[1:] >= v[:-1]).all() else -int((v[1:] <= v[:-1]).all())
            for v in gaps
        ]
        # along a metric that only rises or falls, windows are ranges of cuts; others
        # are sorted, undefined values last
        places = np.arange(may.size)
        orders = [places[::way] if way else np.argsort(v, kind="stable")
                  for v, way in zip(gaps, self.ways, strict=True)]  # fmt: skip
        self.sorted = [v[o] for v, o in zip(gaps, orders, strict=True)]
        self.odd = [o for o, way in zip(orders, self.ways, strict=True) if not way]

    def trees(self, worth: Floats) -> list[Tree]:
        """Make ready to be asked for the best cut of a window."""
        worth = np.where(self.may, worth, -np.inf)
        return [Tree(worth), *(Tree(worth[o]) for o in self.odd)]

    def windows(self, low: Floats, high: Floats) -> list[tuple[Ints, Ints]]:
        """Give the range of cuts of each window, then that in each other order."""
        size = self.may.size
        first, stop = np.zeros(len(low), np.int64), np.full(len(low), size)
        others = []
        for c, (v, way) in enumerate(zip(self.sorted, self.ways, strict=True)):
            a = np.searchsorted(v, low[:, c] - CLOSE * (1 + abs(low[:, c])), "left")
            b = np.searchsorted(v, high[:, c] + CLOSE * (1 + abs(high[:, c])), "right")
            a, b = (size - b, size - a) if way < 0 else (a, b)
            if way:
                first, stop = np.maximum(first, a), np.minimum(stop, b)
            else:
                others.append((a, b))
        return [(first, stop), *others]

    def inside(self, low: Floats, high: Floats) -> Ints:
        """Which cuts lie in one window?"""
        (first, stop), *others = self.windows(low[None], high[None])
        keep = np.zeros(self.may.size, dtype=bool)
        keep[first[0] : stop[0]] = self.may[first[0] : stop[0]]
        for order, (a, b) in zip(self.odd, others, strict=True):
            keep[order[: a[0]]] = keep[order[b[0] :]] = False
        return np.flatnonzero(keep)


class _Window:
    """The cuts that go with one smallest value, and what they are worth at prices."""

    def __init__(
        self, goal: GroupRow, rows: list[GroupRow], places: list[Ints]
    ) -> None:
        self.places, self.worth = places, goal.at(places)
        self.parts = [r.at(places) for r in rows]
        self.constants = np.array([float(r.constant) for r in rows])

    def weights(self, price: Floats) -> list[Floats]:
        """Give the worth of every cut: objective and priced sums."""
        found = list(self.worth)
        for each, parts in zip(price, self.parts, strict=True):
            if each:
                found = [w + each * x for w, x in zip(found, parts, strict=True)]
        return found

    def dual(self, rounds: int) -> tuple[float, Floats]:
        """Find prices that make the bound small: any are valid, good ones are sharp."""
        price = np.zeros(len(self.parts))
        bound = sum(float(w.max()) for w in self.worth)
        for _ in range(rounds if len(price) > 1 else 1):
            before = bound
            for r in range(len(price)):
                bound = self._least(price, r)
            if not before - bound > 0.5:  # values are whole numbers
                break
        return bound, price

    def rays(self) -> Iterator[tuple[float, Floats]]:
        """Find prices that show that no choice keeps all sums, where there are such."""
        for r in range(len(self.parts)):
            price, bound = np.zeros(len(self.parts)), math.inf
            # what one sum misses by a whole number weighs more than the objective
            price[r] = 1 + sum(float(np.ptp(w)) for w in self.worth)
            for other in range(len(price)):
                bound = bound if other == r else self._least(price, other)
            yield bound, price

    def _least(self, price: Floats, r: int) -> float:
        """Make the bound smallest in one price; ``price`` is changed in place.

        The bound is a maximum of lines, one for every choice of cuts. Of two, one falls
        (its cuts break the sum) and one rises (they keep it): where they meet is the
        next price to try, and the best one when no other line lies above it there.
        """

        def at(x: float) -> tuple[float, float, float]:
            price[r] = x
            weights = self.weights(price)
            best = [int(np.argmax(w)) for w in weights]
            chosen = zip(self.parts[r], best, strict=True)
            slope = self.constants[r] + sum(float(v[i]) for v, i in chosen)
            total = sum(float(w[i]) for w, i in zip(weights, best, strict=True))
            return x, total + float(price @ self.constants), slope

        low, high = at(0.0), at(0.0)
        while high[2] < 0 and high[0] < 1e12:
            low, high = high, at(8 * high[0] or 1.0)
        for _ in range(60 if low[2] < 0 <= high[2] else 0):
            # where a falling and a rising line meet; slopes are sums of whole numbers
            x = low[1] - high[1] + high[2] * high[0] - low[2] * low[0]
            here = at(x / (high[2] - low[2]))
            if here[1] <= low[1] + low[2] * (here[0] - low[0]) + 1e-9 * abs(here[1]):
                return here[1]
            low, high = (here, high) if here[2] < 0 else (low, here)
        return high[1]


# the best cuts found, their value, and the proof: nothing is above the last number
GroupAnswer = tuple[list[int] | None, Any, Any]


class GroupSearch:
    """The search that the module describes: what to maximise, and what to keep.

    ``allowed`` says which cuts of each group may be used, ``agrees`` whether the gaps
    are kept, exactly.
    """

    def __init__(
        self,
        goal: GroupRow,
        rows: list[GroupRow],
        gaps: list[Gap],
        allowed: list[NDArray[np.bool_]],
        agrees: Callable[[list[int]], bool],
        until: float,
    ) -> None:
        self.goal, self.gaps, self.agrees, self.until = goal, gaps, agrees, until
        # sums that hold at all cuts are no limits
        self.rows = [r for r in rows if sum(v.min() for v in r.value) + r.constant < 0]
        self.best: list[int] | None = None
        # below every choice: prices that bound all by this prove that there is none
        self.value: Any = sum(int(u.min()) for u in goal.value) - 1
        self.prices: list[tuple[float, list[list[Tree]]]] = []
        self.steps = [
            np.unique(np.concatenate([v[np.isfinite(v)] for v in g.value]))
            for g in gaps
        ]
        self.groups = [
            _Group([g.value[k] for g in gaps], may) for k, may in enumerate(allowed)
        ]

    def run(self) -> GroupAnswer:
        """Find the best cuts, with a proof or with what is left open at that time."""
        if not all(s.size for s in self.steps) or not all(
            g.may.any() for g in self.groups
        ):
            return None, self.value, self.value
        each = max(2, round(_LOOKS ** (1 / max(1, len(self.steps)))))
        axes = [np.linspace(0, s.size - 1, each).astype(np.int64) for s in self.steps]
        looks = [self._look(np.array(at, dtype=np.int64)) for at in product(*axes)]
        self._add_price(max(looks, key=lambda x: x[0])[1])
        bound = self._branch()
        return self.best, self.value, max(bound, self.value)

    @property
    def late(self) -> bool:
        """Is the time up?"""
        return time.monotonic() > self.until

    def _add_price(self, price: Floats) -> None:
        places = [np.arange(g.may.size) for g in self.groups]
        everywhere = _Window(self.goal, self.rows, places)
        weights = zip(self.groups, everywhere.weights(price), strict=True)
        constant = float(price @ everywhere.constants)
        self.prices.append((constant, [g.trees(w) for g, w in weights]))

    def _ends(self, low: Ints, high: Ints) -> tuple[Floats, Floats]:
        bottom, top = np.empty(low.shape), np.empty(low.shape)
        for c, (s, gap) in enumerate(zip(self.steps, self.gaps, strict=True)):
            bottom[:, c], top[:, c] = s[low[:, c]], gap.top(s[high[:, c]])
        return bottom, top

    def _bounds(self, low: Ints, high: Ints) -> Floats:
        """Bound the objective for ranges of smallest values.

        Every price gives a bound, so the least of them is one; later prices are only
        asked about ranges that the earlier ones leave open.
        """
        bottom, top = self._ends(low, high)
        best, rest = np.full(len(low), np.inf), np.arange(len(low))
        for constant, trees in self.prices:
            total = np.full(rest.size, constant)
            for group, tables in zip(self.groups, trees, strict=True):
                spans = group.windows(bottom[rest], top[rest])
                found = [t.largest(*x) for t, x in zip(tables, spans, strict=True)]
                total = total + np.min(found, axis=0)
            best[rest] = np.minimum(best[rest], total)
            rest = rest[_beats(best[rest], self.value)]
        return best

    def _branch(self) -> Any:
        """Halve ranges until nothing can be better; give the bound that is left.

        The ranges with the largest bounds come first: when the time is up, the bound
        that is left is as small as could be.
        """
        low = np.zeros((1, len(self.steps)), dtype=np.int64)
        high = np.array([[s.size - 1 for s in self.steps]], dtype=np.int64)
        bound, left = self._bounds(low, high), self.value
        while True:
            order = np.argsort(-bound)
            order = order[_beats(bound[order], self.value)]
            low, high, bound = low[order], high[order], bound[order]
            if not bound.size:
                return max(left, self.value)
            if self.late:
                return max(left, int(_whole(bound[0])))
            point = (low[:_BATCH] == high[:_BATCH]).all(axis=1)
            for at in np.flatnonzero(point):
                known = len(self.prices)
                if not self._settle(low[at], float(bound[at])):
                    left = max(left, int(_whole(bound[at])))
                if len(self.prices) > known:  # a sharper bound for all that wait
                    rest = slice(at + 1, None)
                    bound[rest] = self._bounds(low[rest], high[rest])
            wide = np.flatnonzero(~point)
            if wide.size:
                self._look((low[wide[0]] + high[wide[0]]) // 2)
            more = self._halved(low[wide], high[wide])
            late = (low[_BATCH:], high[_BATCH:], bound[_BATCH:])
            low, high, bound = (np.concatenate(x) for x in zip(more, late, strict=True))

    def _halved(self, low: Ints, high: Ints) -> tuple[Ints, Ints, Floats]:
        """Halve every range along its longest side."""
        row = np.arange(len(low))
        c = np.argmax(high - low, axis=1) if len(low) else row
        left, right = high.copy(), low.copy()
        middle = (low[row, c] + high[row, c]) // 2
        left[row, c], right[row, c] = middle, middle + 1
        low, high = np.concatenate([low, right]), np.concatenate([left, high])
        return low, high, self._bounds(low, high)

    def _look(self, at: Ints, rounds: int = 3) -> tuple[float, Floats, _Window | None]:
        """Find good cuts for one smallest value, its bound and its prices."""
        bottom, top = (e[0] for e in self._ends(at[None], at[None]))
        places = [g.inside(bottom, top) for g in self.groups]
        if not all(x.size for x in places):
            return -math.inf, np.zeros(len(self.rows)), None
        window = _Window(self.goal, self.rows, places)
        bound, price = window.dual(rounds)
        if _beats(bound, self.value):
            self._add_groups(window, bound, price, _STATES[0])
            if self.best is None:
                proofs = (x for x in window.rays() if not _beats(x[0], self.value))
                bound, price = next(proofs, (bound, price))
        return bound, price, window

    def _settle(self, at: Ints, bound: float) -> bool:
        """Solve for one v: give whether nothing better is left there."""
        if not _beats(bound, self.value):
            return True
        if self.late:
            return False
        least, price, window = self._look(at, rounds=50)
        if bound > least + 1 and len(self.prices) < _PRICES and window is not None:
            self._add_price(price)
        if window is None or not _beats(least, self.value):
            return True
        return any(self._add_groups(window, least, price, n) for n in _STATES[1:])

    def _add_groups(
        self, window: _Window, bound: float, price: Floats, most: int
    ) -> bool:
        """Take the best choice in a window; say whether nothing better is left."""
        places = window.places
        if not self.rows:  # the groups come apart
            pairs = zip(self.goal.value, places, strict=True)
            return self._take([x[np.argmax(u[x])] for u, x in pairs])
        complete, loss = True, np.zeros(1)
        picks: list[Ints] = []
        # sums that hold whatever is chosen here play no part
        least = [sum(float(x.min()) for x in parts) for parts in window.parts]
        live = [r for r, s in zip(self.rows, least, strict=True) if s + r.constant < 0]
        sums = [self.goal, *live]
        ends = _extremes([r.weights for r in sums])
        totals = [0 * r.value[0][:1] + r.constant for r in sums]
        # what the groups that are not added yet can give to each sum at most
        ahead = [[float(v[x].max()) for v, x in zip(r.value, places, strict=True)]
                 for r in live]  # fmt: skip
        weights = window.weights(price)
        for g, x in enumerate(places):
            if self.late or not loss.size:
                return complete and not self.late
            less = weights[g].max() - weights[g]
            near = np.argsort(less, kind="stable")
            near = near[_beats(bound - less[near], self.value)]
            widest = min(8 * most, _SUMS // loss.size)
            complete &= near.size <= widest
            near = near[:widest]
            loss = loss[:, None] + less[near]
            keep = _beats(bound - loss, self.value)
            parts = [r.value[g][x[near]] for r in sums]
            for total, part, rest in zip(totals[1:], parts[1:], ahead, strict=True):
                left = sum(rest[g + 1 :])
                reach = (total[:, None] + part).astype(np.float64) + left
                keep &= reach >= -1e-9 * (1 + abs(left))
            old, new = np.nonzero(keep)
            totals = [t[old] + v[new] for t, v in zip(totals, parts, strict=True)]
            loss = loss[old, new]
            some = np.arange(loss.size)
            if ends:
                ranks = [_sortable(totals[k]) for k in ends]
                some = np.flatnonzero(undominated(ranks))
                some = some[np.unique(ranks[0][some], return_index=True)[1]]
            if some.size > most:  # those that lost least
                some = some[np.argsort(loss[some], kind="stable")[:most]]
                complete = False
            totals, loss = [t[some] for t in totals], loss[some]
            picks = [*(q[old[some]] for q in picks), x[near[new[some]]]]
        order = np.argsort(-totals[0], kind="stable")[:3]
        taken = [self._take([q[k] for q in picks]) for k in order]
        return complete and (not taken or taken[0])

    def _take(self, cuts: list[Any]) -> bool:
        """Keep cuts that are allowed and better; say whether they are allowed."""
        cuts = list(map(int, cuts))
        if any(r.total(cuts) < 0 for r in self.rows) or not self.agrees(cuts):
            return False
        if (value := self.goal.total(cuts)) > self.value:
            self.value, self.best = value, cuts
        return True


def _extremes(weights: Sequence[tuple[int, int]]) -> list[int]:
    """Which two sums of counts does a choice have to win to win them all?

    As directions of a plane they have all others between them; none if there are none.
    """

    def turn(i: int, j: int) -> int:
        (a, b), (c, d) = weights[i], weights[j]
        return a * d - b * c

    def alike(i: int, j: int) -> bool:
        return sum(a * b for a, b in zip(weights[i], weights[j], strict=True)) >= 0

    some = [k for k, w in enumerate(weights) if any(w)] or [0]
    for i, j in product(some, repeat=2):
        between = all(turn(i, k) >= 0 <= turn(k, j) for k in some)
        if between and (turn(i, j) > 0 or all(alike(i, k) for k in some)):
            return [i, j]
    return []


def _sortable(values: Any) -> Any:
    """Give whole numbers beyond 64 bits by their rank."""
    wide = values.dtype.kind == "O"
    return np.unique(values, return_inverse=True)[1] if wide else values


def _beats(bound: Any, value: Any) -> Any:
    """Could something better than the value lie below the bound?"""
    return _whole(bound) > value


def _whole(bound: Any) -> Any:
    """Round a bound down to a whole number, rounding errors given to it."""
    with np.errstate(invalid="ignore"):  # -inf: nothing is allowed there
        return np.floor(bound + 1e-9 * (1 + np.abs(bound)))
