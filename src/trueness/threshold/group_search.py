r"""Which cuts, one per group, are best together when the groups must stay alike?

Wanted is

.. math:: \max \sum_g u_g(k_g) \quad\text{with}\quad \sum_g l_{rg}(k_g) + c_r \ge 0,
    \qquad \max_g m_g(k_g) \le h\bigl(\min_g m_g(k_g)\bigr)

for whole numbers u and l (counts) and any metric m: a gap has
:math:`h(v) = v + \delta`, a ratio :math:`h(v) = v / r`. Only the gaps tie the groups
together in a way that is hard, and they do so through one number each, the smallest
value v. Given v, each group has a window of allowed cuts, :math:`v \le m_g \le h(v)`,
and the groups come apart; the sums are priced by multipliers :math:`\lambda_r \ge 0`:

.. math:: B(v) = \sum_g \max_{k \in W_g(v)} [u_g(k) + \lambda l_g(k)] + \lambda c

is an upper bound for that v, and exact without sums. Which prices make it smallest
depends on v, so that several are kept, and the smallest of their bounds counts. The
smallest value is that of some cut of some group, so that v runs over a finite list.
Branch and bound halves ranges of this list: a range has the windows of its ends joined,
:math:`[v_{low}, h(v_{high})]`, so its bound holds for every v in it. A range is dropped
when its bound cannot beat the best cuts known; since values are whole numbers, it must
beat them by one. What remains, single values of v, is solved: by the maxima themselves
without sums, by HiGHS over the few cuts whose loss in the bound is small enough with
them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Floats, Ints
from trueness._core.checks.errors import InputError
from trueness.threshold.pairs import way_of

_BLOCK = 16
_BATCH = 1 << 13  # ranges of v that are judged at once
# windows are wider by some units in the last place; different quotients of counts up to
# 10^6 are further apart, and what is found is checked in fractions
_CLOSE = 1e-15
_TRIES = 400  # values of v that are tried for a first answer
_NOTHING = -(1 << 300)  # below every sum, also of weights beyond 64 bits
_PRICES = 8  # that are kept at once: each takes as much memory as the cuts


class Gap(NamedTuple):
    """A metric that must not differ too much between groups.

    ``value`` has the metric at every cut of every group (NaN: undefined, forbidden);
    ``top`` gives the largest value that goes with a smallest one.
    """

    value: list[Floats]
    top: Callable[[Any], Any]


class GroupRow(NamedTuple):
    """A sum over groups of whole numbers, plus a constant, that must reach zero."""

    value: list[Any]
    constant: int


class GroupProblem(NamedTuple):
    """What to maximise, the sums and gaps to keep, and which cuts may be used."""

    objective: list[Any]
    rows: list[GroupRow]
    gaps: list[Gap]
    allowed: list[NDArray[np.bool_]]
    agrees: Callable[[list[int]], bool]  # are the gaps kept, exactly?

    def value(self, cuts: list[int]) -> int:
        """Add up the objective."""
        return sum(int(u[k]) for u, k in zip(self.objective, cuts, strict=True))

    def keeps_rows(self, cuts: list[int]) -> bool:
        """Do the sums hold, exactly?"""
        return all(
            sum(int(v[k]) for v, k in zip(r.value, cuts, strict=True)) + r.constant >= 0
            for r in self.rows
        )


class GroupAnswer(NamedTuple):
    """The best cuts found, their value, and the proof: nothing is above ``bound``."""

    cuts: list[int] | None
    value: int | Fraction  # whole, until a constant is added
    bound: int | Fraction


class RangeMax:
    """The largest of the entries between two places, for many queries at once.

    Blocks of 16 entries, a table of maxima of 1, 2, 4, ... blocks, and the two ends
    looked at entry by entry: O(m) memory, a few dozen operations a query.
    """

    def __init__(self, values: Floats) -> None:
        pad = -values.size % _BLOCK + _BLOCK
        self.values = np.concatenate([values, np.full(pad, -np.inf)])
        level = self.values.reshape(-1, _BLOCK).max(axis=1)
        self.levels, blocks, step = [level], level.size, 1
        while 2 * step <= blocks:
            level = np.maximum(level[:-step], level[step:])
            self.levels.append(level)
            step *= 2

    def __call__(self, first: Ints, last: Ints) -> Floats:
        """Give the maxima; -inf for an empty range."""
        best = np.full(first.size, -np.inf)
        start, stop = -(-first // _BLOCK), (last + 1) // _BLOCK
        near = np.arange(_BLOCK)
        for at in (first[:, None] + near, last[:, None] - near):
            inside = (at >= first[:, None]) & (at <= last[:, None])
            found = np.where(inside, self.values[np.clip(at, 0, None)], -np.inf)
            best = np.maximum(best, found.max(axis=1))
        wide = np.flatnonzero(stop > start)
        if wide.size:
            # two runs of 2^k blocks that overlap cover the whole blocks in between
            size = stop[wide] - start[wide]
            level = np.frexp(size.astype(np.float64))[1] - 1
            for k in np.unique(level):
                at = wide[level == k]
                table = self.levels[int(k)]
                two = np.maximum(table[start[at]], table[stop[at] - (1 << int(k))])
                best[at] = np.maximum(best[at], two)
        return best


class _Group:
    """The cuts of one group, ready to be asked for the best one in a window."""

    def __init__(self, gaps: list[Floats], may: NDArray[np.bool_]) -> None:
        self.may = may
        self.rising = [way_of(v) for v in gaps]
        self.together = all(self.rising)  # windows are ranges of cuts, and can be cut
        self.orders = [np.argsort(v, kind="stable") for v in gaps]  # NaN comes last
        self.sorted = [v[order] for v, order in zip(gaps, self.orders, strict=True)]

    def tables(self, weight: Floats) -> list[RangeMax]:
        """Make ready to be asked for the largest of these weights."""
        weight = np.where(self.may, weight, -np.inf)
        if self.together:
            return [RangeMax(weight)]
        return [RangeMax(weight[order]) for order in self.orders]

    def windows(self, low: Floats, high: Floats) -> list[tuple[Ints, Ints]]:
        """Give the places (in sorted order, or of cuts) that each window spans."""
        found = []
        for c, v in enumerate(self.sorted):
            a = np.searchsorted(v, low[:, c] - _CLOSE * (1 + abs(low[:, c])), "left")
            b = np.searchsorted(v, high[:, c] + _CLOSE * (1 + abs(high[:, c])), "right")
            found.append((a, b - 1))
        if not self.together:
            return found
        end = self.may.size - 1
        first, last = np.zeros(len(low), dtype=np.int64), np.full(len(low), end)
        for (a, b), way in zip(found, self.rising, strict=True):
            a, b = (a, b) if way > 0 else (end - b, end - a)
            first, last = np.maximum(first, a), np.minimum(last, b)
        return [(first, last)]

    def inside(self, low: Floats, high: Floats) -> Ints:
        """Which cuts lie in one window?"""
        spans = [
            (int(a[0]), int(b[0]) + 1) for a, b in self.windows(low[None], high[None])
        ]
        if self.together:
            at = np.arange(*spans[0])
            return at[self.may[at]]
        times = np.zeros(self.may.size, dtype=np.int64)
        for order, (first, stop) in zip(self.orders, spans, strict=True):
            times[order[first:stop]] += 1
        return np.flatnonzero((times == len(spans)) & self.may)


def solve(p: GroupProblem, until: float) -> GroupAnswer:
    """Find the best cuts, with a proof or with what is left open at that time."""
    return _Search(p, until).run()


class _Price(NamedTuple):
    """The worth of a unit of each sum, and the best cuts of the groups at that."""

    constant: float
    tables: list[list[RangeMax]]


class _Window:
    """The cuts that go with one v: what is the smallest bound that prices give?"""

    def __init__(self, p: GroupProblem, places: list[Ints]) -> None:
        self.p, self.places = p, places
        self.worth = _at(p.objective, places)
        self.parts = [_at(r.value, places) for r in p.rows]

    def weights(self, price: Floats) -> list[Floats]:
        """Give the worth of every cut: objective and priced sums."""
        found = list(self.worth)
        for each, parts in zip(price, self.parts, strict=True):
            found = [w + each * x for w, x in zip(found, parts, strict=True)]
        return found

    def line(self, price: Floats, r: int) -> tuple[float, float, list[int]]:
        """Give the bound, how it changes with price r, and the cuts that make it."""
        weights = self.weights(price)
        best = [int(np.argmax(w)) for w in weights]
        chosen = zip(self.parts[r], best, strict=True)
        slope = self.p.rows[r].constant + sum(float(x[i]) for x, i in chosen)
        total = sum(float(w[i]) for w, i in zip(weights, best, strict=True))
        cuts = [int(x[i]) for x, i in zip(self.places, best, strict=True)]
        return total + _constant(self.p, price), slope, cuts

    def dual(self) -> tuple[float, Floats, list[int] | None]:
        """Find prices that make the bound small, and cuts that keep the sums, if any.

        Several sums take turns: any prices are valid, good ones are sharp.
        """
        price, bound, kept = np.zeros(len(self.p.rows)), math.inf, None
        for _ in range(1 if len(price) == 1 else 3):
            for r in range(len(price)):
                bound, cuts = self._least(price, r)
                if cuts is not None and self.p.keeps_rows(cuts):
                    kept = cuts
        return bound, price, kept

    def _least(self, price: Floats, r: int) -> tuple[float, list[int] | None]:
        r"""Make the bound smallest in one price; ``price`` is changed in place.

        The bound is a maximum of lines, one for every choice of cuts. Of two, one falls
        (its cuts break the sum) and one rises (they keep it): where they meet is the
        next price to try, and the best one when no other line lies above it there.
        """

        def at(x: float) -> tuple[float, float, float, list[int]]:
            price[r] = x
            return x, *self.line(price, r)

        low = at(0.0)
        if low[2] >= 0:
            return low[1], low[3]
        high = at(1.0)
        while high[2] < 0:
            if high[0] > 1e12:  # no cuts keep this sum
                return high[1], None
            low, high = high, at(8 * high[0])
        for _ in range(60):
            # where a falling and a rising line meet; slopes are sums of whole numbers
            x = low[1] - high[1] + high[2] * high[0] - low[2] * low[0]
            here = at(x / (high[2] - low[2]))
            if here[1] <= low[1] + low[2] * (here[0] - low[0]) + 1e-9 * abs(here[1]):
                break
            low, high = (here, high) if here[2] < 0 else (low, here)
        return here[1], high[3]


def _constant(p: GroupProblem, price: Floats) -> float:
    return float(sum(x * row.constant for x, row in zip(price, p.rows, strict=True)))


def _at(values: list[Any], places: list[Ints]) -> list[Floats]:
    """Give the entries at some cuts of each group."""
    pairs = zip(values, places, strict=True)
    try:
        return [np.asarray(v[x], dtype=np.float64) for v, x in pairs]
    except OverflowError:
        raise InputError(
            "A metric or a constraint of groups multiplies counts by a number that no "
            "float holds, beyond 1e308. Type smaller numbers."
        ) from None


class _Ranges(NamedTuple):
    """Ranges of smallest values that are still open, each with its bound."""

    low: Ints
    high: Ints
    bound: Floats

    def some(self, which: Any) -> _Ranges:
        """Give those that are marked, or at these places."""
        return _Ranges(self.low[which], self.high[which], self.bound[which])

    def joined(self, other: _Ranges) -> _Ranges:
        """Give both."""
        parts: Any = [np.concatenate(x) for x in zip(self, other, strict=True)]
        return _Ranges(*parts)

    def largest(self, most: int) -> tuple[_Ranges, _Ranges]:
        """Tell those with the largest bounds, in order, from the others."""
        order = np.argsort(-self.bound)
        return self.some(order[:most]), self.some(order[most:])


class _Search:
    """Branch and bound over the smallest values of the gaps."""

    def __init__(self, p: GroupProblem, until: float) -> None:
        self.p, self.until = p, until
        self.best: list[int] | None = None
        self.value = _NOTHING
        self.prices: list[_Price] = []
        self.steps = [
            np.unique(np.concatenate([v[np.isfinite(v)] for v in g.value]))
            for g in p.gaps
        ]
        self.groups = [
            _Group([g.value[k] for g in p.gaps], may) for k, may in enumerate(p.allowed)
        ]

    def run(self) -> GroupAnswer:
        empty = any(not s.size for s in self.steps)
        if empty or not all(a.any() for a in self.p.allowed):
            return GroupAnswer(None, self.value, self.value)
        corners = self._first_corners()
        self._add_price(self._first_price(corners))
        self._try_corners(corners)
        bound = self._branch()
        return GroupAnswer(self.best, self.value, max(bound, self.value))

    @property
    def late(self) -> bool:
        """Is the time up?"""
        return time.monotonic() > self.until

    def _add_price(self, price: Floats) -> None:
        everywhere = [np.arange(a.size) for a in self.p.allowed]
        weights = _Window(self.p, everywhere).weights(price)
        tables = [g.tables(w) for g, w in zip(self.groups, weights, strict=True)]
        self.prices.append(_Price(_constant(self.p, price), tables))

    def _first_price(self, corners: Ints) -> Floats:
        """Price the sums as the most promising of a few values of v asks for."""
        price = np.zeros(len(self.p.rows))
        if not self.p.rows:
            return price
        some = np.unique(np.linspace(0, len(corners) - 1, 25).astype(np.int64))
        most = -math.inf
        for places in map(self._places, corners[some]):
            if all(x.size for x in places):
                bound, found, cuts = _Window(self.p, places).dual()
                if cuts is not None and bound > most:
                    most, price = bound, found
        return price

    def _first_corners(self) -> Ints:
        """Choose values of v for a first look: spread over each list, all together."""
        each = max(2, round(_TRIES ** (1 / max(1, len(self.steps)))))
        return _product(
            [np.linspace(0, s.size - 1, each).astype(np.int64) for s in self.steps]
        )

    def _ends(self, low: Ints, high: Ints) -> tuple[Floats, Floats]:
        bottom, top = np.empty(low.shape), np.empty(low.shape)
        for c, (s, gap) in enumerate(zip(self.steps, self.p.gaps, strict=True)):
            bottom[:, c], top[:, c] = s[low[:, c]], gap.top(s[high[:, c]])
        return bottom, top

    def _places(self, at: Ints) -> list[Ints]:
        """Which cuts of each group go with one smallest value?"""
        bottom, top = (e[0] for e in self._ends(at[None], at[None]))
        return [g.inside(bottom, top) for g in self.groups]

    def _bounds(self, low: Ints, high: Ints) -> Floats:
        """Bound the objective for ranges of smallest values.

        Every price gives a bound, so the least of them is one; later prices are only
        asked about ranges that the earlier ones leave open.
        """
        bottom, top = self._ends(low, high)
        best, rest = np.full(len(low), np.inf), np.arange(len(low))
        for price in self.prices:
            total = np.full(rest.size, price.constant)
            for group, tables in zip(self.groups, price.tables, strict=True):
                spans = group.windows(bottom[rest], top[rest])
                found = [t(a, b) for t, (a, b) in zip(tables, spans, strict=True)]
                total = total + np.min(found, axis=0)
            best[rest] = np.minimum(best[rest], total)
            rest = rest[_beats(best[rest], self.value)]
        return best

    def _try_corners(self, corners: Ints) -> None:
        """Look for good cuts where the bound is largest."""
        bounds = self._bounds(corners, corners)
        for at in np.argsort(-bounds)[:6]:
            if bounds[at] > self.value and not self.late:
                self._settle(corners[at], float(bounds[at]), quick=True)

    def _branch(self) -> int:
        """Halve ranges until nothing can be better; give the bound that is left.

        The ranges with the largest bounds come first: when the time is up, the bound
        that is left is as small as could be.
        """
        low = np.zeros((1, len(self.steps)), dtype=np.int64)
        high = np.array([[s.size - 1 for s in self.steps]], dtype=np.int64)
        ranges, left = _Ranges(low, high, self._bounds(low, high)), self.value
        while True:
            ranges = ranges.some(_beats(ranges.bound, self.value))
            if not len(ranges.bound):
                return max(left, self.value)
            if self.late:
                return max(left, int(_whole(ranges.bound.max())))
            first, ranges = ranges.largest(_BATCH)
            point = (first.low == first.high).all(axis=1)
            for at in np.flatnonzero(point):
                if not self._settle(first.low[at], float(first.bound[at]), quick=False):
                    left = max(left, int(_whole(first.bound[at])))
            halves = first.some(~point)
            if len(halves.bound):
                middle = (halves.low[0] + halves.high[0]) // 2
                self._settle(middle, float(halves.bound[0]), quick=True)
                ranges = ranges.joined(self._halved(halves))

    def _halved(self, r: _Ranges) -> _Ranges:
        """Halve every range along its longest side."""
        # both halves hold the middle of one side only: no v is in two of them
        c, row = np.argmax(r.high - r.low, axis=1), np.arange(len(r.low))
        middle = (r.low[row, c] + r.high[row, c]) // 2
        left, right = r.high.copy(), r.low.copy()
        left[row, c], right[row, c] = middle, middle + 1
        low, high = np.concatenate([r.low, right]), np.concatenate([left, r.high])
        return _Ranges(low, high, self._bounds(low, high))

    def _settle(self, at: Ints, bound: float, quick: bool) -> bool:
        """Solve for one v: give whether nothing better is left there."""
        if not _beats(bound, self.value):
            return True
        if self.late:
            return False
        places = self._places(at)
        if not all(x.size for x in places):
            return True
        if not self.p.rows:
            pairs = zip(self.p.objective, places, strict=True)
            return self._take([int(x[np.argmax(u[x])]) for u, x in pairs]) or quick
        window = _Window(self.p, places)
        least, price, cuts = window.dual()
        if not _beats(least, self.value):
            return True
        if cuts is not None:
            self._improve(cuts, places)
        if bound > least + 1 and len(self.prices) < _PRICES:
            self._add_price(price)
        return quick or self._by_program(window, least, price)

    def _take(self, cuts: list[int]) -> bool:
        """Keep cuts that are allowed and better; say whether they are allowed."""
        if not (self.p.keeps_rows(cuts) and self.p.agrees(cuts)):
            return False
        value = self.p.value(cuts)
        if value > self.value:
            self.value, self.best = value, cuts
        return True

    def _improve(self, cuts: list[int], places: list[Ints]) -> None:
        """Move single groups to better cuts as long as the sums hold."""
        p, cuts = self.p, list(cuts)
        for _ in range(4 * len(cuts) + 8):
            sums = [sum(int(r.value[g][k]) for g, k in enumerate(cuts)) + r.constant
                    for r in p.rows]  # fmt: skip
            # the one move that gains most; ties go to the later group
            moved = (0, 0, 0)
            for g, at in enumerate(places):
                step = p.objective[g][at] - p.objective[g][cuts[g]]
                for r, total in zip(p.rows, sums, strict=True):
                    allowed = r.value[g][at] - r.value[g][cuts[g]] + total >= 0
                    step = np.where(allowed, step, 0)
                best = int(np.argmax(step))
                moved = max(moved, (int(step[best]), g, int(at[best])))
            if not moved[0]:
                break
            cuts[moved[1]] = moved[2]
        self._take(cuts)

    def _by_program(self, window: _Window, bound: float, price: Floats) -> bool:
        """Solve the sums for one v by HiGHS, over the cuts that could still matter."""
        places = []
        for x, w in zip(window.places, window.weights(price), strict=True):
            # a cut whose loss in the bound is too large is in no better answer
            places.append(x[_beats(bound - w.max() + w, self.value)])
        if not all(map(len, places)):
            return True
        forbidden: list[list[int]] = []
        while not self.late and sum(map(len, places)) <= 200_000:
            left = self.until - time.monotonic()
            cuts, proved = _program(self.p, places, forbidden, left)
            if cuts is None or self._take(cuts):
                return proved
            forbidden.append(cuts)
            if len(forbidden) > 50:
                break
        return False


def _product(axes: list[Ints]) -> Ints:
    """Give all combinations of places, one a row; a row of none without axes."""
    if not axes:
        return np.zeros((1, 0), dtype=np.int64)
    grid = np.meshgrid(*map(np.unique, axes), indexing="ij")
    return np.stack([g.ravel() for g in grid], axis=1)


def _program(
    p: GroupProblem, places: list[Ints], forbidden: list[list[int]], seconds: float
) -> tuple[list[int] | None, bool]:
    """One binary a cut, one cut a group; say, too, whether HiGHS proved it."""
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    sizes = [len(x) for x in places]
    ends = np.cumsum([0, *sizes])
    group = np.repeat(np.arange(len(places)), sizes)
    shape = (len(places), int(ends[-1]))
    one = sparse.csr_array((np.ones(shape[1]), (group, np.arange(shape[1]))), shape)
    rules: list[Any] = [LinearConstraint(one, 1, 1)]
    for row in p.rows:
        values = np.concatenate(_at(row.value, places))
        # the tolerance of HiGHS is absolute: rows of large numbers are made smaller
        unit = max(1.0, float(np.abs(values).max(initial=0.0)) / 1e6)
        rules.append(LinearConstraint(values / unit, -row.constant / unit))
    for cuts in forbidden:
        hit = np.zeros(ends[-1])
        for g, k in enumerate(cuts):
            hit[ends[g] + np.searchsorted(places[g], k)] = 1.0
        rules.append(LinearConstraint(hit, -np.inf, len(cuts) - 1))
    worth = np.concatenate(_at(p.objective, places))
    result = milp(
        -worth / max(1.0, float(np.abs(worth).max(initial=0.0)) / 1e12),
        integrality=np.ones(ends[-1]),
        bounds=Bounds(0, 1),
        constraints=rules,
        options={"mip_rel_gap": 0.0, "time_limit": max(seconds, 0.1)},
    )
    if result.x is None:
        return None, result.status == 2  # proved infeasible
    chosen = [
        int(x[int(np.argmax(result.x[a:b]))])
        for x, a, b in zip(places, ends[:-1], ends[1:], strict=True)
    ]
    return chosen, result.status == 0


def _beats(bound: Any, value: int) -> Any:
    """Could something better than the value lie below the bound?"""
    return _whole(bound) > value


def _whole(bound: Any) -> Any:
    """Round a bound down to a whole number, rounding errors given to it."""
    with np.errstate(invalid="ignore"):  # -inf: nothing is allowed there
        return np.floor(bound + 1e-9 * (1 + np.abs(bound)))
