"""Which cuts of one window, one of each group, are best together?

Groups are added one after another; a *partial choice* has a cut of each group so far.
All that counts of it are its sums of true and false positives, so a choice that another
one beats in every sum that matters is dropped (Nemhauser and Ullmann 1969, Manag. Sci.
15:494). So is one that loses more, against the upper bound, than the best choice so far
leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueness._core.arrays import Floats, Ints
from trueness._core.checks.errors import InputError
from trueness.threshold.group_windows import GroupCuts

# partial choices times cuts of the next group that are tried at once: 128 MiB
_MOST_EXTENSIONS = 1 << 24
# cuts of a group that are tried, for each partial choice that may be kept
_CUTS_PER_STATE = 8
# complete choices that are offered, the best first
_OFFERED = 3

Weights = tuple[int, ...]  # of tp and fp, in whole numbers


class Incumbent(Protocol):
    """What a search has found so far, and how much time it has."""

    @property
    def is_late(self) -> bool:
        """Return whether the time is up."""

    def can_improve(self, bound: ArrayLike) -> NDArray[np.bool_]:
        """Return whether something better than the best may lie below the bound."""


@dataclass(frozen=True)
class Window:
    """The cuts that each group may take, and an upper bound on any choice of them.

    ``priced_weights`` are the weights of tp and fp in the objective with all rows
    priced; the best cut of each group by these adds up to ``bound``.
    """

    groups: list[GroupCuts]
    cuts: list[Ints]
    objective: tuple[int, int]
    rows: list[tuple[int, int, int]]
    priced_weights: Floats
    bound: float

    @cached_property
    def points(self) -> list[Floats]:
        """Return tp and fp of the cuts of each group."""
        pairs = zip(self.groups, self.cuts, strict=True)
        return [group.points[:, cuts] for group, cuts in pairs]

    @cached_property
    def row_weights(self) -> Floats:
        """Return the rows as floats."""
        return float_weights(self.rows).reshape(-1, 3)

    @cached_property
    def contributions(self) -> list[Floats]:
        """Return what each cut of each group adds to each row (rows, cuts)."""
        return [self.row_weights[:, :2] @ points for points in self.points]

    @cached_property
    def largest_contributions(self) -> Floats:
        """Return the most that each group can add to each row (rows, groups)."""
        return np.array([values.max(axis=1) for values in self.contributions]).T

    @cached_property
    def active_rows(self) -> Ints:
        """Return the rows that some choice here breaks; the others play no part."""
        smallest = np.array([values.min(axis=1) for values in self.contributions]).T
        return np.flatnonzero(smallest.sum(axis=1) + self.row_weights[:, 2] < 0)

    @cached_property
    def dominance(self) -> list[Weights]:
        """Return the two sums that decide which choice dominates, if two do."""
        active = [self.rows[int(row)][:2] for row in self.active_rows]
        return extreme_directions([self.objective, *active])


class PartialChoices(NamedTuple):
    """Choices of the first groups: their counts, losses and cuts.

    ``loss`` is how much less than the bound a choice can still reach.
    """

    counts: Ints  # tp and fp (2, choices)
    loss: Floats
    cuts: Ints  # (groups, choices)


class Extensions(NamedTuple):
    """Partial choices with a cut of the next group; their other cuts stay behind.

    ``previous`` is the place of the partial choice that was extended.
    """

    counts: Ints
    loss: Floats
    previous: Ints
    cut: Ints

    def take(self, which: Ints) -> Extensions:
        """Return some of the extensions."""
        return Extensions(
            self.counts[:, which],
            self.loss[which],
            self.previous[which],
            self.cut[which],
        )


class CutCombinations(NamedTuple):
    """The best choices of a window, and whether nothing was cut short."""

    choices: list[list[int]]
    is_exhaustive: bool


def combine_groups(
    window: Window, incumbent: Incumbent, most_states: int
) -> CutCombinations:
    """Return the best choices, with at most so many partial choices kept."""
    states = PartialChoices(
        counts=np.zeros((2, 1), dtype=np.int64),
        loss=np.zeros(1),
        cuts=np.zeros((0, 1), dtype=np.int64),
    )
    is_exhaustive = True
    for group in range(len(window.groups)):
        if incumbent.is_late:
            return CutCombinations([], is_exhaustive=False)
        if not states.loss.size:
            return CutCombinations([], is_exhaustive)

        # cuts that lose too much beside the bound can be in no better choice
        near = _near_optimal_cuts(window, incumbent, group)
        most_cuts = min(
            _CUTS_PER_STATE * most_states, _MOST_EXTENSIONS // states.loss.size
        )
        is_exhaustive &= near.size <= most_cuts
        extensions = _extend(window, incumbent, states, group, near[:most_cuts])

        if window.dominance:
            undominated = _undominated(extensions.counts, window.dominance)
            extensions = extensions.take(undominated)
        if extensions.loss.size > most_states:
            least_loss = np.argsort(extensions.loss, kind="stable")[:most_states]
            extensions = extensions.take(least_loss)
            is_exhaustive = False
        states = PartialChoices(
            counts=extensions.counts,
            loss=extensions.loss,
            cuts=np.vstack([states.cuts[:, extensions.previous], extensions.cut]),
        )

    values = exact_sum(window.objective, *states.counts)
    best = np.argsort(-values, kind="stable")[:_OFFERED]
    return CutCombinations([states.cuts[:, k].tolist() for k in best], is_exhaustive)


def _near_optimal_cuts(window: Window, incumbent: Incumbent, group: int) -> Ints:
    """Return the places of cuts that lose little enough, the least loss first."""
    loss = _losses(window, group)
    near = np.flatnonzero(incumbent.can_improve(window.bound - loss))
    return near[np.argsort(loss[near], kind="stable")]


def _losses(window: Window, group: int) -> Floats:
    """Return how much less than the best cut of the group each of its cuts gives."""
    priced = window.priced_weights @ window.points[group]
    return np.asarray(priced.max() - priced)


def _extend(
    window: Window, incumbent: Incumbent, states: PartialChoices, group: int, near: Ints
) -> Extensions:
    """Return the partial choices with each of these cuts of the next group."""
    # (choices, cuts): the loss so far, and that of the new cut
    loss = states.loss[:, None] + _losses(window, group)[near]
    keep = incumbent.can_improve(window.bound - loss)
    for row in window.active_rows:
        keep &= _can_meet(window, states, group, near, row)

    previous, added = np.nonzero(keep)
    cut = window.cuts[group][near[added]]
    counts_of_cut = np.stack(
        [window.groups[group].tp[cut], window.groups[group].fp[cut]]
    )
    return Extensions(
        counts=states.counts[:, previous] + counts_of_cut,
        loss=loss[previous, added],
        previous=previous,
        cut=cut,
    )


def _can_meet(
    window: Window, states: PartialChoices, group: int, near: Ints, row: int
) -> NDArray[np.bool_]:
    """Return where a row can still be met, if later groups add the most they can."""
    so_far = window.row_weights[row, :2] @ states.counts
    of_cuts = window.contributions[group][row, near]
    still_to_come = window.row_weights[row, 2]
    still_to_come = still_to_come + window.largest_contributions[row, group + 1 :].sum()

    # (partial choices, cuts): the row with everything that can still be added
    reach = so_far[:, None] + of_cuts + still_to_come
    return np.asarray(reach >= -1e-9 * (1 + abs(still_to_come)))


def _undominated(counts: Ints, directions: list[Weights]) -> Ints:
    """Return the choices that no other one beats, or equals, in both sums."""
    # ranks in place of sums: these may be beyond 64 bits
    first = np.unique(exact_sum(directions[0], *counts), return_inverse=True)[1]
    second = np.unique(exact_sum(directions[1], *counts), return_inverse=True)[1]

    # from the best first sum down; among equal ones, the best second sum first
    order = np.lexsort([second, first])[::-1]
    largest_before = np.maximum.accumulate(second[order])[:-1]
    # a choice counts if its second sum exceeds all with a better first one
    is_new = np.append(True, second[order][1:] > largest_before)
    return np.asarray(order[is_new[: order.size]])


def float_weights(weights: Sequence[object]) -> Floats:
    """Return whole numbers as floats."""
    try:
        return np.array(weights, dtype=np.float64)
    except OverflowError:
        raise InputError(
            "A metric or constraint multiplies counts by a number above 1e308. "
            "Choose smaller numbers."
        ) from None


def exact_sum(weights: Weights, tp: Ints, fp: Ints) -> Any:
    """Return weighted sums of counts in whole numbers, Python's own beyond 64 bits."""
    weight_tp, weight_fp = weights
    most_cases = 1 + int(max(tp.max(initial=0), fp.max(initial=0)))
    # weighted sums must stay below 2^63
    fits = (abs(weight_tp) + abs(weight_fp)) * most_cases < 2**62
    kind = np.dtype(np.int64 if fits else object)
    return tp.astype(kind) * weight_tp + fp.astype(kind) * weight_fp


def extreme_directions(weights: list[Weights]) -> list[Weights]:
    """Return two sums that a choice has to win in order to win them all.

    Weights of tp and fp are directions of a plane. Where two of them have all others
    between them, in an angle of at most 180 degrees, every other sum is a positive
    combination of these two. The list is empty where no two have.
    """

    def turn(x: Weights, y: Weights) -> int:
        """Return the cross product: positive where y lies to the left of x."""
        return x[0] * y[1] - x[1] * y[0]

    directions = [direction for direction in weights if any(direction)] or weights[:1]
    for upper_direction, lower_direction in product(directions, repeat=2):
        all_between = all(
            turn(upper_direction, direction) >= 0 <= turn(direction, lower_direction)
            for direction in directions
        )
        # directions on one line are all between: they must not be opposite
        none_opposite = all(
            upper_direction[0] * direction[0] + upper_direction[1] * direction[1] >= 0
            for direction in directions
        )
        if all_between and (
            turn(upper_direction, lower_direction) > 0 or none_opposite
        ):
            return [upper_direction, lower_direction]

    return []
