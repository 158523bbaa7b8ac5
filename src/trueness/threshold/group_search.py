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

is an upper bound for that v, and exact without sums. The smallest value is that of some
cut of some group, so that v runs over a finite list. Branch and bound halves ranges of
this list: a range has the windows of its ends joined, :math:`[v_{low}, h(v_{high})]`,
so its bound holds for every v in it. A range is dropped when its bound cannot beat the
best cuts known; since values are whole numbers, it must beat them by one. What remains,
single values of v, is solved: by the maxima themselves without sums, by HiGHS over the
few cuts whose loss in the bound is small enough with them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Floats, Ints

_BLOCK = 16
_BATCH = 1 << 15  # ranges of v that are judged at once
# windows are wider by some units in the last place; different quotients of counts up to
# 10^6 are further apart, and what is found is checked in fractions
_CLOSE = 1e-15
_TRIES = 400  # values of v that are tried for a first answer


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
    value: int
    bound: int
    judged: int


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

    def __init__(self, weight: Floats, gaps: list[Floats], may: Any) -> None:
        self.weight = np.where(may, weight, -np.inf)
        self.gaps = gaps
        self.orders: list[Ints | None] = []
        self.sorted: list[Floats] = []
        rising = [_way(v) for v in gaps]
        self.together = all(rising)  # then windows are ranges of cuts, and can be cut
        self.rising = rising
        for v, way in zip(gaps, rising, strict=True):
            order = np.argsort(v, kind="stable")  # NaN comes last
            self.orders.append(None if way and self.together else order)
            self.sorted.append(v[order])
        self.reweigh(weight, may)

    def reweigh(self, weight: Floats, may: Any) -> None:
        """Take other prices."""
        self.weight = np.where(may, weight, -np.inf)
        keys: list[Ints | None] = [None] if self.together else self.orders
        self.tables = [
            RangeMax(self.weight if order is None else self.weight[order])
            for order in keys
        ]

    def windows(self, low: Floats, high: Floats) -> list[tuple[Ints, Ints]]:
        """Give the places (in sorted order, or of cuts) that each window spans."""
        found = []
        for c, v in enumerate(self.sorted):
            a = np.searchsorted(v, low[:, c] - _CLOSE * (1 + abs(low[:, c])), "left")
            b = np.searchsorted(v, high[:, c] + _CLOSE * (1 + abs(high[:, c])), "right")
            found.append((a, b - 1))
        if not self.together:
            return found
        first = np.zeros(len(low), dtype=np.int64)
        last = np.full(len(low), self.weight.size - 1)
        for (a, b), way in zip(found, self.rising, strict=True):
            if way < 0:
                a, b = self.weight.size - 1 - b, self.weight.size - 1 - a
            first, last = np.maximum(first, a), np.minimum(last, b)
        return [(first, last)]

    def best(self, low: Floats, high: Floats) -> Floats:
        """Bound the weight of the best cut in each window."""
        found = [
            table(a, b)
            for table, (a, b) in zip(self.tables, self.windows(low, high), strict=True)
        ]
        return np.asarray(np.min(found, axis=0))

    def inside(self, low: Floats, high: Floats) -> NDArray[np.bool_]:
        """Which cuts lie in one window?"""
        keep = np.isfinite(self.weight)
        for c, v in enumerate(self.gaps):
            reach = _CLOSE * (1 + abs(low[c])), _CLOSE * (1 + abs(high[c]))
            keep &= (v >= low[c] - reach[0]) & (v <= high[c] + reach[1])
        return keep


def _way(values: Floats) -> int:
    """Do the values rise (1) or fall (-1) from cut to cut, all defined?"""
    if np.isnan(values).any():
        return 0
    step = np.diff(values)
    if (step >= 0).all():
        return 1
    return -1 if (step <= 0).all() else 0


def solve(p: GroupProblem, seconds: float) -> GroupAnswer:
    """Find the best cuts, with a proof or with what is left open after so long."""
    return _Search(p, time.monotonic() + seconds).run()


class _Search:
    """Branch and bound over the smallest values of the gaps."""

    def __init__(self, p: GroupProblem, until: float) -> None:
        self.p, self.until, self.judged = p, until, 0
        self.best: list[int] | None = None
        self.value = -(1 << 62)
        self.price = np.zeros(len(p.rows))
        self.steps = [
            np.unique(np.concatenate([v[np.isfinite(v)] for v in g.value]))
            for g in p.gaps
        ]
        self.groups = [
            _Group(w, [g.value[k] for g in p.gaps], p.allowed[k])
            for k, w in enumerate(self._weights())
        ]

    def _weights(self) -> list[Floats]:
        found = []
        for k, u in enumerate(self.p.objective):
            w = np.asarray(u, dtype=np.float64)
            for price, row in zip(self.price, self.p.rows, strict=True):
                w = w + price * np.asarray(row.value[k], dtype=np.float64)
            found.append(w)
        return found

    def _set_price(self, price: Floats) -> None:
        self.price = price
        for k, w in enumerate(self._weights()):
            self.groups[k].reweigh(w, self.p.allowed[k])

    @property
    def _constant(self) -> float:
        rows = zip(self.price, self.p.rows, strict=True)
        return float(sum(price * row.constant for price, row in rows))

    def run(self) -> GroupAnswer:
        if any(not s.size for s in self.steps) or not all(
            a.any() for a in self.p.allowed
        ):
            return GroupAnswer(None, self.value, self.value, 0)
        corners = self._first_corners()
        if self.p.rows:
            self._find_price(corners)
        self._try_corners(corners)
        bound = self._branch()
        return GroupAnswer(self.best, self.value, max(bound, self.value), self.judged)

    def _first_corners(self) -> Ints:
        """Choose values of v for a first look: spread over each list, all together."""
        if not self.steps:
            return np.zeros((1, 0), dtype=np.int64)
        each = max(2, round(_TRIES ** (1 / len(self.steps))))
        axes = [np.unique(np.linspace(0, s.size - 1, each).astype(np.int64))
                for s in self.steps]  # fmt: skip
        grid = np.meshgrid(*axes, indexing="ij")
        return np.stack([g.ravel() for g in grid], axis=1)

    def _ends(self, low: Ints, high: Ints) -> tuple[Floats, Floats]:
        bottom, top = np.empty(low.shape), np.empty(low.shape)
        for c, (s, gap) in enumerate(zip(self.steps, self.p.gaps, strict=True)):
            bottom[:, c], top[:, c] = s[low[:, c]], gap.top(s[high[:, c]])
        return bottom, top

    def _bounds(self, low: Ints, high: Ints) -> Floats:
        """Bound the objective for ranges of smallest values."""
        self.judged += len(low)
        ends = self._ends(low, high)
        total = np.full(len(low), self._constant)
        for group in self.groups:
            total = total + group.best(*ends)
        return total

    def _find_price(self, corners: Ints) -> None:
        """Price the sums so that the bound over the first corners is small.

        The bound is convex in each price; any price is valid, a good one is sharp.
        """
        scale = [
            max(1.0, float(max(np.abs(np.asarray(u, np.float64)).max() for u in
                               self.p.objective)))
            / max(1.0, float(max(np.abs(np.asarray(v, np.float64)).max() for v in
                                 row.value)))
            for row in self.p.rows
        ]  # fmt: skip
        for _ in range(1 if len(scale) == 1 else 3):
            for r, unit in enumerate(scale):
                self._line_search(corners, r, unit)

    def _line_search(self, corners: Ints, r: int, unit: float) -> None:
        def at(x: float) -> float:
            price = self.price.copy()
            price[r] = x
            self._set_price(price)
            return float(self._bounds(corners, corners).max())

        low, high = 0.0, unit
        best = at(low)
        while (far := at(high)) < best and high < 1e6 * unit:
            best, low, high = far, high / 8, high * 4
        low = 0.0 if low <= unit / 2 else low
        golden = (math.sqrt(5) - 1) / 2
        a, b = high - golden * (high - low), low + golden * (high - low)
        fa, fb = at(a), at(b)
        for _ in range(24):
            if time.monotonic() > self.until:
                break
            if fa <= fb:
                high, b, fb = b, a, fa
                a = high - golden * (high - low)
                fa = at(a)
            else:
                low, a, fa = a, b, fb
                b = low + golden * (high - low)
                fb = at(b)
        at(a if fa <= fb else b)

    def _try_corners(self, corners: Ints) -> None:
        """Look for good cuts where the bound is largest, then closer and closer."""
        for _ in range(4):
            bounds = self._bounds(corners, corners)
            for at in np.argsort(-bounds)[:6]:
                if np.isfinite(bounds[at]) and bounds[at] > self.value:
                    self._settle(corners[at], quick=True)
            if not self.steps:
                return
            lead = corners[int(np.argmax(bounds))]
            width = [max(1, s.size // 200) for s in self.steps]
            near = [
                np.unique(
                    np.clip(lead[c] + np.arange(-20, 21) * w // 10, 0, s.size - 1)
                )
                for c, (s, w) in enumerate(zip(self.steps, width, strict=True))
            ]
            grid = np.meshgrid(*near, indexing="ij")
            corners = np.stack([g.ravel() for g in grid], axis=1)

    def _branch(self) -> int:
        """Halve ranges until nothing can be better; give the bound that is left."""
        if not self.steps:
            zero = np.zeros((1, 0), dtype=np.int64)
            top = self._bounds(zero, zero)[0]
            done = self._settle(zero[0], quick=False)
            return self.value if done else _whole(top)
        low = np.zeros((1, len(self.steps)), dtype=np.int64)
        high = np.array([[s.size - 1 for s in self.steps]])
        bounds = self._bounds(low, high)
        open_, left = [(low, high, bounds)], -(1 << 62)
        while open_:
            low, high, bounds = open_.pop()
            keep = np.asarray([_whole(b) > self.value for b in bounds])
            low, high, bounds = low[keep], high[keep], bounds[keep]
            if time.monotonic() > self.until:
                rest = [b for _, _, b in open_] + [bounds]
                tops = [_whole(b.max()) for b in rest if b.size]
                return max([left, self.value, *tops])
            point = (low == high).all(axis=1)
            for at in np.flatnonzero(point)[np.argsort(-bounds[point])]:
                if _whole(bounds[at]) > self.value and not self._settle(
                    low[at], quick=False
                ):
                    left = max(left, _whole(bounds[at]))
            low, high = low[~point], high[~point]
            if len(low):
                open_ += self._children(low, high)
        return max(left, self.value)

    def _children(self, low: Ints, high: Ints) -> list[tuple[Ints, Ints, Floats]]:
        """Halve every range along its longest side, the most promising ones last."""
        c = np.argmax(high - low, axis=1)
        row = np.arange(len(low))
        middle = (low[row, c] + high[row, c]) // 2
        left, right = high.copy(), low.copy()
        left[row, c], right[row, c] = middle, middle + 1
        low, high = np.concatenate([low, right]), np.concatenate([left, high])
        bounds = self._bounds(low, high)
        order = np.argsort(bounds)
        parts = range(0, len(order), _BATCH)
        return [(low[order[k : k + _BATCH]], high[order[k : k + _BATCH]],
                 bounds[order[k : k + _BATCH]]) for k in parts]  # fmt: skip

    def _settle(self, at: Ints, quick: bool) -> bool:
        """Solve for one v: give whether nothing better is left there."""
        bottom, top = (e[0] for e in self._ends(at[None], at[None]))
        masks = [g.inside(bottom, top) for g in self.groups]
        if not all(m.any() for m in masks):
            return True
        cuts = [
            int(np.argmax(np.where(m, g.weight, -np.inf)))
            for g, m in zip(self.groups, masks, strict=True)
        ]
        if not self.p.rows:
            return self._take(self._exact_best(masks)) or quick
        self._repair(cuts, masks)
        return True if quick else self._by_program(masks, bottom, top)

    def _exact_best(self, masks: list[NDArray[np.bool_]]) -> list[int]:
        found = []
        for u, m in zip(self.p.objective, masks, strict=True):
            at = np.flatnonzero(m)
            found.append(int(at[int(np.argmax(u[at]))]))
        return found

    def _take(self, cuts: list[int]) -> bool:
        """Keep cuts that are allowed and better; say whether they are allowed."""
        if not (self.p.keeps_rows(cuts) and self.p.agrees(cuts)):
            return False
        value = self.p.value(cuts)
        if value > self.value:
            self.value, self.best = value, cuts
        return True

    def _repair(self, cuts: list[int], masks: list[NDArray[np.bool_]]) -> None:
        """Move single groups until the sums hold, then up again while they do."""
        rows, p = self.p.rows, self.p
        places = [np.flatnonzero(m) for m in masks]
        for _ in range(4 * len(cuts) + 8):
            sums = [sum(int(r.value[g][k]) for g, k in enumerate(cuts)) + r.constant
                    for r in rows]  # fmt: skip
            worst = int(np.argmin(sums))
            moved = None
            for g, at in enumerate(places):
                gains = [r.value[g][at] - r.value[g][cuts[g]] for r in rows]
                step = p.objective[g][at] - p.objective[g][cuts[g]]
                if sums[worst] < 0:
                    good = gains[worst] > 0
                    need = np.minimum(gains[worst], -sums[worst]).astype(np.float64)
                    score = step / np.maximum(need, 1) * 1.0
                    full = gains[worst] >= -sums[worst]
                    score = np.where(full, score, score - 1e-9)
                else:
                    ok = [v + gain >= 0 for v, gain in zip(sums, gains, strict=True)]
                    good = (step > 0) & np.all(ok, axis=0)
                    score = np.asarray(step, dtype=np.float64)
                if good.any():
                    best = int(np.argmax(np.where(good, score, -np.inf)))
                    if moved is None or score[best] > moved[0]:
                        moved = (float(score[best]), g, int(at[best]))
            if moved is None:
                break
            cuts[moved[1]] = moved[2]
        self._take(list(cuts))

    def _by_program(
        self, masks: list[NDArray[np.bool_]], bottom: Floats, top: Floats
    ) -> bool:
        """Solve the sums for one v by HiGHS, over the cuts that could still matter."""
        tops = [float(np.where(m, g.weight, -np.inf).max())
                for g, m in zip(self.groups, masks, strict=True)]  # fmt: skip
        bound = sum(tops) + self._constant
        if _whole(bound) <= self.value:
            return True
        places = []
        for g, m, most in zip(self.groups, masks, tops, strict=True):
            # a cut whose loss in the bound is too large is in no better answer
            places.append(np.flatnonzero(m & (bound - most + g.weight > self.value)))
        forbidden: list[list[int]] = []
        while True:
            left = self.until - time.monotonic()
            if left <= 0 or sum(len(x) for x in places) > 200_000:
                return False
            cuts, status = _program(self.p, places, forbidden, left)
            if cuts is None:
                return status
            if self._take(cuts):
                return status
            forbidden.append(cuts)
            if len(forbidden) > 50:
                return False


def _program(
    p: GroupProblem, places: list[Ints], forbidden: list[list[int]], seconds: float
) -> tuple[list[int] | None, bool]:
    """One binary a cut, one cut a group; say, too, whether HiGHS proved it."""
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    sizes = [len(x) for x in places]
    ends = np.cumsum([0, *sizes])
    group = np.repeat(np.arange(len(places)), sizes)
    one = sparse.csr_array((np.ones(ends[-1]), (group, np.arange(ends[-1]))))
    rules: list[Any] = [LinearConstraint(one, 1, 1)]
    for row in p.rows:
        values = _chosen(row.value, places)
        unit = max(1.0, float(np.abs(values).max(initial=0.0)) / 1e6)
        rules.append(LinearConstraint(values / unit, -row.constant / unit))
    for cuts in forbidden:
        hit = np.zeros(ends[-1])
        for g, k in enumerate(cuts):
            hit[ends[g] + np.searchsorted(places[g], k)] = 1.0
        rules.append(LinearConstraint(hit, -np.inf, len(cuts) - 1))
    gain = _chosen(p.objective, places)
    result = milp(
        -gain,
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


def _chosen(values: list[Any], places: list[Ints]) -> Floats:
    """Give the entries at the cuts of each group, one after the other."""
    pairs = zip(values, places, strict=True)
    return np.concatenate([np.asarray(v[x], dtype=np.float64) for v, x in pairs])


def _whole(bound: float) -> int:
    """Round a bound down to a whole number, rounding errors given to it."""
    if not math.isfinite(bound):
        return -(1 << 62)
    return math.floor(bound + 1e-9 * (1 + abs(bound)))
