r"""Which cuts, one of each group, are best together when groups are compared?

.. math:: \max \sum_g u_g(k_g) \quad\text{with}\quad \sum_g l_{rg}(k_g) + c_r \ge 0,
    \qquad \max_g m_g(k_g) \le h\bigl(\min_g m_g(k_g)\bigr)

:math:`u_g` is the objective at cut :math:`k_g` of group g, each row r a constraint on
all groups together, and m a compared metric: a gap has :math:`h(v) = v + \delta`, a
ratio :math:`h(v) = v / r`. The search is exact, in five steps.

1. **Windows.** Comparisons tie the groups through one number each, the smallest value v
   of the metric. Given v, a group may take the cuts of its window
   :math:`W_g(v) = \{k : v \le m_g(k) \le h(v)\}` (``group_windows``).
2. **Bound.** With multipliers :math:`\lambda_r \ge 0` on the rows the groups fall apart
   (Lagrangian relaxation, Geoffrion 1974), and

   .. math:: B(v) = \sum_g \max_{k \in W_g(v)} [u_g(k) + \lambda l_g(k)] + \lambda c

   is an upper bound; without rows it is exact.
3. **Branch and bound** (Land and Doig 1960). v is a value of some cut, so the search
   halves ranges of such values; a range has the union of its windows. Objectives are
   whole numbers: a range whose bound is not larger by one than the best is dropped.
4. **Multipliers.** Any are valid; Kelley's (1960) cutting planes find sharp ones. They
   are kept, and serve neighbouring ranges as well.
5. **A single v** that remains is solved by adding one group after another and keeping
   the partial choices that no other dominates (Nemhauser and Ullmann 1969;
   ``group_states``).

A mixed-integer program says the same in fewer lines, and HiGHS solves it too slowly,
with a binary for every cut that can be optimal. Accuracy with ``recall_gap <= 0.02`` on
two cores: 3 groups of 10^4 cases (7,000 binaries) take 16 s, this search 0.5 s; 10
groups of 10^4 (34,000) end without a proof after 100 s, here 0.4 s; of 10 groups of
10^5 (335,000) the linear relaxation alone takes 27 s, this search 1.3 s.

References
----------
Geoffrion 1974, Math. Program. Study 2:82, doi:10.1007/BFb0120690.
Kelley 1960, J. SIAM 8:703, doi:10.1137/0108053.
Land, Doig 1960, Econometrica 28:497, doi:10.2307/1910129.
Nemhauser, Ullmann 1969, Manag. Sci. 15:494, doi:10.1287/mnsc.15.9.494.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueness._core.arrays import Floats, Ints
from trueness.threshold.group_states import (
    Window,
    combine_groups,
    exact_sum,
    float_weights,
)
from trueness.threshold.group_windows import GroupCuts
from trueness.threshold.maximum_tree import MaximumTree

# ranges of smallest values that are judged at once
_BATCH = 1 << 12
# sets of multipliers that are kept: each takes as much memory as the cuts
_KEPT_MULTIPLIERS = 8
# Kelley's method stops after so many planes; each is a valid bound
_MOST_PLANES = 50
# partial choices that are kept at once: few for a first look, then more and more, since
# what few find leaves less to do for many
_STATE_LIMITS = (1 << 5, 1 << 9, 1 << 15, 1 << 18)

# weights of tp and fp, and a constant: not negative where a constraint holds
Row = tuple[int, int, int]


@dataclass(frozen=True)
class GroupProblem:
    """The cuts of each group, and what a choice of them must meet.

    Attributes
    ----------
    rows
        Constraints on all groups together, in whole numbers.
    largest_allowed
        For each compared metric, h: the largest value that goes with a smallest one.
    meets_comparisons
        Whether cuts, one of each group, meet all comparisons, in exact numbers.
    """

    groups: list[GroupCuts]
    rows: list[Row]
    largest_allowed: Sequence[Callable[[Floats], Floats]]
    meets_comparisons: Callable[[list[int]], bool]


class GroupSolution(NamedTuple):
    """The best cuts (None: none are allowed), their value, and a bound on any other.

    ``value`` and ``bound`` are whole numbers of the search, or fractions of a metric.
    """

    cuts: list[int] | None
    value: Any
    bound: Any


class Ranges(NamedTuple):
    """Ranges of smallest values, as places in their sorted lists, with their bounds.

    ``low`` and ``high`` have a column for each compared metric.
    """

    low: Ints
    high: Ints
    bound: Floats

    def take(self, which: Any) -> Ranges:
        """Return some of the ranges."""
        return Ranges(self.low[which], self.high[which], self.bound[which])

    def append(self, others: Ranges) -> Ranges:
        """Return these ranges and others after them."""
        return Ranges(
            low=np.concatenate([self.low, others.low]),
            high=np.concatenate([self.high, others.high]),
            bound=np.concatenate([self.bound, others.bound]),
        )


class KeptMultipliers(NamedTuple):
    """Multipliers made ready: what the constants add, and trees of priced cuts."""

    constant: float
    trees_of_groups: list[list[MaximumTree]]


class LagrangianBound(NamedTuple):
    """An upper bound, and the multipliers that give it."""

    bound: float
    multipliers: Floats


class GroupSearch:
    """The search that the module describes; ``deadline`` is a monotonic time."""

    def __init__(self, problem: GroupProblem, deadline: float) -> None:
        self.problem = problem
        self.deadline = deadline
        self._points = [group.points for group in problem.groups]
        self._rows = float_weights(problem.rows).reshape(-1, 3)
        # the values that can be the smallest of all groups, for each compared metric
        self._smallest_values = [
            np.unique(
                np.concatenate([group.compared[comparison] for group in problem.groups])
            )
            for comparison in range(len(problem.largest_allowed))
        ]

    @property
    def is_late(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() > self.deadline

    def run(self, objective: tuple[int, int]) -> GroupSolution:
        """Return the best cuts for weights of tp and fp, with a proof or a bound."""
        self._start(objective)
        ranges = self._whole_range()
        # no choice is better than this at the single values that were given up
        bound_given_up = self.best_value
        while True:
            ranges = self._open_ranges(ranges)
            if not ranges.bound.size or self.is_late:
                # the first of the open ranges, if there is one, has the largest bound
                bounds_left = [
                    int(bound_left) for bound_left in self._round_down(ranges.bound[:1])
                ]
                bound = max([bound_given_up, self.best_value, *bounds_left])
                return GroupSolution(self.best_cuts, self.best_value, bound)

            if self._keep_multipliers(ranges.take(0)):
                newest = self._bounds(ranges.low, ranges.high, self._kept[-1:])
                ranges = ranges._replace(bound=np.minimum(ranges.bound, newest))

            batch = ranges.take(slice(_BATCH))
            is_single = (batch.low == batch.high).all(axis=1)
            unsettled = self._solve_single_values(batch.take(is_single))
            bound_given_up = max([bound_given_up, *unsettled])

            wide = batch.take(~is_single)
            if wide.bound.size:
                # a quick look at the middle may raise the best value early
                middle = (wide.low[0] + wide.high[0]) // 2
                self._solve_single_value(middle, _STATE_LIMITS[:1])
                wide = self._halve(wide)
            ranges = wide.append(ranges.take(slice(_BATCH, None)))

    def _start(self, objective: tuple[int, int]) -> None:
        """Forget the search for another objective, whose bounds do not hold here."""
        self.objective = objective
        self._weights = float_weights(objective)
        self.best_cuts: list[int] | None = None
        # below every choice: a bound that is not above it proves that none is allowed
        smallest = [
            int(exact_sum(objective, group.tp, group.fp).min())
            for group in self.problem.groups
        ]
        # one less than the worst choice
        self.best_value = sum(smallest) - 1
        self._kept: list[KeptMultipliers] = []
        self._last_multipliers = np.zeros(len(self.problem.rows))
        # what rounding can do to a sum of this objective: each term adds an error of at
        # most 1.1e-16 of all, so that 1e-12 suffices for thousands of groups
        self._rounding = 1e-12 * sum(
            float((abs(self._weights) @ points).max()) for points in self._points
        )

    def _whole_range(self) -> Ranges:
        """Return the one range of all smallest values."""
        last_places = [values.size - 1 for values in self._smallest_values]
        unconstrained = sum(
            float((self._weights @ points_of_group).max())
            for points_of_group in self._points
        )
        return Ranges(
            low=np.zeros((1, len(last_places)), dtype=np.int64),
            high=np.array([last_places], dtype=np.int64),
            bound=np.array([unconstrained]),
        )

    def _open_ranges(self, ranges: Ranges) -> Ranges:
        """Return the ranges that may hold something better, the largest bounds first.

        What is left when the time is up is then small.
        """
        order = np.argsort(-ranges.bound, kind="stable")
        return ranges.take(order[self.can_improve(ranges.bound[order])])

    def _round_down(self, bound: ArrayLike) -> Floats:
        """Return the largest whole number at a bound, rounding errors allowed for."""
        # and a billionth of the bound, which holds priced constraints too
        relative = 1e-9 * (1 + np.abs(bound))
        with np.errstate(invalid="ignore"):  # -inf: nothing is allowed there
            return np.asarray(np.floor(np.asarray(bound) + self._rounding + relative))

    def can_improve(self, bound: ArrayLike) -> NDArray[np.bool_]:
        """Return whether something better than the best may lie below the bound."""
        return np.asarray(self._round_down(bound) > self.best_value)

    def _window_ends(self, low: Ints, high: Ints) -> tuple[Floats, Floats]:
        """Return the smallest and the largest value that each range allows."""
        smallest = np.empty(low.shape)
        largest = np.empty(low.shape)
        for metric, values in enumerate(self._smallest_values):
            largest_allowed = self.problem.largest_allowed[metric]
            smallest[:, metric] = values[low[:, metric]]
            # the largest value beside the largest of the smallest ones
            largest[:, metric] = largest_allowed(values[high[:, metric]])
        return smallest, largest

    def _cuts_inside(self, low: Ints, high: Ints) -> list[Ints]:
        """Return the cuts of each group in the window of one range."""
        smallest, largest = self._window_ends(low[None], high[None])
        return [group.inside(smallest[0], largest[0]) for group in self.problem.groups]

    def _bounds(
        self, low: Ints, high: Ints, kept_cuts: list[KeptMultipliers]
    ) -> Floats:
        """Return an upper bound for each range of smallest values.

        All multipliers give a bound, so the least of these is one; later ones are only
        tried on ranges that the earlier ones leave open.
        """
        smallest, largest = self._window_ends(low, high)
        bounds = np.full(len(low), np.inf)
        open_ranges = np.arange(len(low))
        for constant, trees_of_groups in kept_cuts:
            total = np.full(open_ranges.size, constant)
            for group, trees in zip(self.problem.groups, trees_of_groups, strict=True):
                spans = group.ranges(smallest[open_ranges], largest[open_ranges])
                # a window lies in its range of every order: the least bound holds
                by_order = [
                    tree.largest(first, stop)
                    for tree, (first, stop) in zip(trees, spans, strict=True)
                ]
                total = total + np.min(by_order, axis=0)
            bounds[open_ranges] = np.minimum(bounds[open_ranges], total)
            open_ranges = open_ranges[self.can_improve(bounds[open_ranges])]

        return bounds

    def _halve(self, ranges: Ranges) -> Ranges:
        """Return both halves of every range, cut across its longest side."""
        row = np.arange(len(ranges.low))
        side = np.argmax(ranges.high - ranges.low, axis=1)
        middle = (ranges.low[row, side] + ranges.high[row, side]) // 2

        high_of_lower = ranges.high.copy()
        high_of_lower[row, side] = middle
        low_of_upper = ranges.low.copy()
        low_of_upper[row, side] = middle + 1

        low = np.concatenate([ranges.low, low_of_upper])
        high = np.concatenate([high_of_lower, ranges.high])
        bounds = self._bounds(low, high, self._kept)
        # a half is never better than the whole
        return Ranges(low, high, np.minimum(bounds, np.tile(ranges.bound, 2)))

    def _keep_multipliers(self, widest: Ranges) -> bool:
        """Keep the multipliers of one range where they are much sharper than others."""
        if self._kept and not self.problem.rows:
            return False

        cuts = self._cuts_inside(widest.low, widest.high)
        bound, multipliers = self._dual_bound(cuts)
        gain = float(widest.bound) - bound
        still_open = float(widest.bound) - float(self.best_value)
        # more multipliers cost time: they must close a quarter of the gap
        if self._kept and gain <= still_open / 4:
            return False

        weights = self._priced_weights(multipliers)
        trees = [group.trees(weights @ group.points) for group in self.problem.groups]
        constant = float(multipliers @ self._rows[:, 2])
        newest = KeptMultipliers(constant, trees)
        self._kept = [*self._kept[1 - _KEPT_MULTIPLIERS :], newest]
        return True

    def _priced_weights(self, multipliers: Floats) -> Floats:
        """Return the weights of tp and fp in the objective with all rows priced."""
        return np.asarray(self._weights + multipliers @ self._rows[:, :2])

    def _dual_bound(self, cuts: list[Ints]) -> LagrangianBound:
        """Return multipliers that make the bound for these cuts small.

        As a function of the multipliers the bound is the largest of planes, one for
        each choice of cuts. The lowest point of the planes seen so far is where the
        next one is looked for (Kelley 1960). A row that no choice can meet gets a
        multiplier above any objective.
        """
        multipliers = self._last_multipliers
        if not all(of_group.size for of_group in cuts):
            return LagrangianBound(-np.inf, multipliers)

        points = [
            points_of_group[:, place]
            for points_of_group, place in zip(self._points, cuts, strict=True)
        ]
        scale = 1 + sum(
            float(np.ptp(self._weights @ points_of_group)) for points_of_group in points
        )

        best = LagrangianBound(np.inf, multipliers)
        planes = []
        for _ in range(_MOST_PLANES):
            weights = self._priced_weights(multipliers)
            chosen = sum(
                points_of_group[:, np.argmax(weights @ points_of_group)]
                for points_of_group in points
            )
            objective = self._weights @ chosen
            row_values = self._rows @ np.append(chosen, 1)
            bound = float(objective + multipliers @ row_values)
            if bound < best.bound:
                best = LagrangianBound(bound, multipliers)
            if not (multipliers.size and self.can_improve(bound)):
                break

            # slopes by each multiplier, scaled, in the form of ``_lowest_point``
            planes.append([*(row_values / scale), -1.0, -objective / scale])
            lowest = _lowest_point(np.array(planes), 2 * scale)
            # the planes seen so far bound the best bound from below
            if lowest is None:
                break
            if best.bound - lowest[-1] * scale <= 0.5 + 1e-9 * abs(bound):
                break
            multipliers = lowest[:-1]

        # neighbouring ranges have nearly the same
        self._last_multipliers = best.multipliers
        return best

    def _solve_single_values(self, singles: Ranges) -> list[int]:
        """Solve for single values; return the bounds of those left unsettled."""
        unsettled = []
        for place, bound in zip(singles.low, singles.bound, strict=True):
            if not self.can_improve(bound):
                continue
            if not self._solve_single_value(place, _STATE_LIMITS):
                unsettled.append(int(self._round_down(bound)))
        return unsettled

    def _solve_single_value(self, value: Ints, state_limits: Sequence[int]) -> bool:
        """Look for the best cuts of one window; return whether none better is left."""
        if self.is_late:
            return False

        cuts = self._cuts_inside(value, value)
        bound, multipliers = self._dual_bound(cuts)
        if not self.can_improve(bound):
            return True

        window = Window(
            groups=self.problem.groups,
            cuts=cuts,
            objective=self.objective,
            rows=self.problem.rows,
            priced_weights=self._priced_weights(multipliers),
            bound=bound,
        )
        for most_states in state_limits:
            combination = combine_groups(window, self, most_states)
            accepted = [self._accept(choice) for choice in combination.choices]
            if combination.is_exhaustive and (not accepted or accepted[0]):
                return True

        return False

    def _accept(self, cuts: list[int]) -> bool:
        """Keep cuts that are better; return False where better ones are not allowed."""
        groups = self.problem.groups
        tp = sum(int(group.tp[cut]) for group, cut in zip(groups, cuts, strict=True))
        fp = sum(int(group.fp[cut]) for group, cut in zip(groups, cuts, strict=True))
        value = self.objective[0] * tp + self.objective[1] * fp
        if value <= self.best_value:
            return True

        # constraints on all groups together: a TP + b FP + c >= 0
        meets_rows = all(a * tp + b * fp + c >= 0 for a, b, c in self.problem.rows)
        if not (meets_rows and self.problem.meets_comparisons(cuts)):
            return False

        self.best_value = value
        self.best_cuts = cuts
        return True


def _lowest_point(planes: Floats, largest: float) -> Floats | None:
    """Return where the upper envelope of planes is lowest, and how high it is there.

    A plane is (slopes, -1, -height at zero); each coordinate runs from 0 to
    ``largest``. None where the linear program has no solution.
    """
    if planes.shape[1] == 3:
        return _lowest_point_of_lines(planes[:, 0], -planes[:, -1], largest)

    from scipy.optimize import linprog

    # minimise the height t subject to slopes * x - t <= -height at zero
    size = planes.shape[1] - 1
    solution = linprog(
        c=np.eye(size)[-1],
        A_ub=planes[:, :-1],
        b_ub=planes[:, -1],
        bounds=[(0, largest)] * (size - 1) + [(None, None)],
    )
    point: Floats | None = solution.x
    return point


def _lowest_point_of_lines(slope: Floats, height: Floats, largest: float) -> Floats:
    """Return the lowest point of an envelope of lines: an end, or a crossing."""
    i, j = np.triu_indices(len(slope), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # where lines i and j have equal heights; parallel lines never cross
        crossing = (height[j] - height[i]) / (slope[i] - slope[j])
    inside = crossing[(crossing > 0) & (crossing < largest)]

    places = np.array([0.0, largest, *inside])
    envelope = (slope[:, None] * places + height[:, None]).max(axis=0)
    lowest = int(np.argmin(envelope))
    return np.array([places[lowest], envelope[lowest]])
