r"""Which set of cells is best on average, when sets are too many to be tried?

Best first branch and bound over 0/1 vectors z. A *box* is a part of all sets: some
cells are in, some are out, the others are open. For each box a problem tells

* which open cells add to (or take from) the value whatever the others do: they are
  settled, and every set that says otherwise is beaten by one that does not;
* a linear majorant, value(z) <= upper - sum of abs(c_j) over the cells on the wrong
  side of c. A box whose upper is no more than the best value found is done, and a cell
  with abs(c_j) above the difference is settled.

Interactions of cells are of second order in their probabilities, so settling some
cells narrows what the others may add, which settles more: mostly one box is enough.
What is found is exact up to ``ROUNDING``; a search that is cut off states its gap.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from trueness._core.arrays import Array, Floats

# sets whose values differ by less cannot be told apart in floating point
ROUNDING = 1e-13
# a cell is flagged when that adds more than this part of its probability
TIE = 1e-14
# so that a cell which adds nothing at all is taken out
LEAST = 1e-300
# boxes looked at before a search is cut off and the gap is stated
MOST_BOXES = 2000
# steps towards a relaxed optimum; a bound is right wherever they end
STEPS = 80
OPEN, OUT, IN = -1, 0, 1


class Box(NamedTuple):
    """All sets with these cells in and out, and these limits of some directions."""

    state: Array  # (n,) of OPEN, OUT, IN
    low: Floats
    high: Floats
    x: Floats  # (n,) where to begin, between 0 and 1


class Bound(NamedTuple):
    """No set of the box is worth more than ``upper``, less what its cells cost."""

    upper: float
    cost: Floats  # of the open cells; above 0 they had better be in
    x: Floats  # (n,) the relaxed optimum


class Problem(Protocol):
    """What a search asks of a criterion."""

    @property
    def whole(self) -> Box:
        """Give the box of all sets."""

    def value(self, chosen: Array) -> float:
        """Give the value of a set."""

    def polish(self, chosen: Array, among: Array) -> Array:
        """Flip single cells among these as long as the value rises."""

    def settle(self, state: Array) -> Array:
        """Give the state with every open cell decided whose gain has one sign."""

    def bound(self, box: Box) -> Bound:
        """Bound the values of a box by a linear function."""

    def split(self, box: Box, bound: Bound, gap: float) -> tuple[Box, Box]:
        """Divide a box in two."""


class Found(NamedTuple):
    """A set of cells, and how much better any other could be at most."""

    chosen: Array  # (n,) of bool
    gap: float
    boxes: int


class Best:
    """The best set so far."""

    def __init__(self, problem: Problem, chosen: Array) -> None:
        self.problem, self.chosen = problem, chosen
        self.value = problem.value(chosen)

    def offer(self, chosen: Array) -> None:
        """Keep a set if it is better."""
        value = self.problem.value(chosen)
        if value > self.value + TIE:
            self.chosen, self.value = chosen, value


def maximise(problem: Problem, start: Array, most: int = MOST_BOXES) -> Found:
    """Find the best set of cells; ``start`` is any set."""
    everywhere = np.arange(start.size)
    best = Best(problem, start)
    number = itertools.count()
    heap = [(-np.inf, next(number), problem.whole)]
    boxes = 0
    while heap and -heap[0][0] > best.value + ROUNDING and boxes < most:
        boxes += 1
        upper, _, box = heapq.heappop(heap)
        for above, part in _examine(problem, box, best):
            heapq.heappush(heap, (max(-above, upper), next(number), part))
    gap = -heap[0][0] - best.value if heap else 0.0
    chosen = problem.polish(best.chosen, everywhere)
    return Found(chosen, gap if gap > ROUNDING else 0.0, boxes)


def _examine(problem: Problem, box: Box, best: Best) -> list[tuple[float, Box]]:
    """Settle what can be settled; give the parts that may hold a better set."""
    while True:
        box = box._replace(state=problem.settle(box.state))
        free = np.flatnonzero(box.state == OPEN)
        if free.size == 0:
            best.offer(box.state == IN)
            return []
        bound = problem.bound(box)
        best.offer(problem.polish(bound.x > 0.5, free))
        gap = bound.upper - best.value
        if gap <= ROUNDING:
            return []
        sure = np.abs(bound.cost) > gap
        box = box._replace(x=bound.x)
        if not sure.any():
            return [(bound.upper, part) for part in problem.split(box, bound, gap)]
        state = box.state.copy()
        state[free[sure]] = np.where(bound.cost[sure] > 0, IN, OUT)
        box = box._replace(state=state)


def with_cell(box: Box, cell: int, state: int) -> Box:
    """Decide one open cell of a box."""
    changed = box.state.copy()
    changed[cell] = state
    return box._replace(state=changed)


def descend(
    down: Callable[[Floats], tuple[float, Floats]], start: Floats, high: Floats
) -> Floats:
    """Minimise a smooth convex function over a box from 0 to ``high``, about.

    ``down`` gives value and slope.
    """
    from scipy.optimize import minimize

    options: Any = {
        "jac": True,
        "method": "L-BFGS-B",
        "bounds": np.column_stack([np.zeros(high.size), high]),
        "options": {"maxiter": STEPS, "maxcor": 20},
    }
    return np.clip(minimize(down, start, **options).x, 0, high)
