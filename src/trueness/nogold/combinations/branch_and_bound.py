r"""Which set of patterns is best on average, when sets are too many to be tried?

Best first branch and bound over 0/1 vectors z. A *subproblem* is a part of all sets:
some patterns are in, some are out, the others are open. For each subproblem a problem
tells

* which open patterns add to (or take from) the value whatever the others do: they are
  settled, and every set that says otherwise is beaten by one that does not;
* a linear majorant, value(z) <= upper - sum of abs(c_j) over the patterns on the wrong
  side of c. A subproblem whose upper is no more than the best value found is done, and
  a pattern with abs(c_j) above the difference is settled.

Interactions of patterns are of second order in their probabilities, so settling some
patterns narrows what the others may add, which settles more: mostly one subproblem is
enough. What is found is exact up to ``ROUNDING``; a search that is cut off states its
gap.
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
# a pattern is flagged when that adds more than this part of its probability
TIE = 1e-14
# so that a pattern which adds nothing at all is taken out
LEAST = 1e-300
# subproblems looked at before a search is cut off and the gap is stated
MOST_SUBPROBLEMS = 2000
# steps towards a relaxed optimum; a bound is right wherever they end
STEPS = 80
OPEN, OUT, IN = -1, 0, 1
# patterns that are flipped before all are looked at again
FEW = 32
NOTHING: Floats = np.zeros(0)


class Subproblem(NamedTuple):
    """All sets with these patterns in and out, and these limits of some directions."""

    state: Array  # (n,) of OPEN, OUT, IN
    low: Floats
    high: Floats
    x: Floats  # (n,) where to begin, between 0 and 1

    @property
    def free(self) -> Array:
        """Which patterns are open?"""
        return np.flatnonzero(self.state == OPEN)

    def filled(self, x: Floats) -> Floats:
        """Write down all patterns, given the open ones between 0 and 1."""
        out: Floats = (self.state == IN).astype(np.float64)
        out[self.free] = x
        return out

    def divided(self, weight: Floats) -> tuple[Subproblem, Subproblem]:
        """Divide at the weightiest open pattern: without it, and with it."""
        j = self.free[np.argmax(weight)]
        without, within = self.state.copy(), self.state.copy()
        without[j], within[j] = OUT, IN
        return self._replace(state=without), self._replace(state=within)


class Majorant(NamedTuple):
    """No set is worth more than ``upper``, less what its patterns cost."""

    upper: float
    cost: Floats  # of the open patterns; above 0 they had better be in
    x: Floats  # (n,) the relaxed optimum


class Additive(Protocol):
    """A value that depends on a set only by sums over its patterns.

    A single flip then changes the sums by one ``step``, and nothing else has to be
    computed again: that is all a local search needs.
    """

    @property
    def tie(self) -> Floats:
        """Up to which gain does a pattern add nothing? One entry per pattern."""

    def totals(self, chosen: Array) -> Floats:
        """Give the sums over a set."""

    def step(self, j: int) -> Floats:
        """What does pattern j add to the sums?"""

    def gains(self, totals: Floats, inside: Array, among: Array) -> Floats:
        """What does each of these patterns add to the set without it?

        ``inside`` says which of them the totals already contain.
        """


class Ranged(Protocol):
    """A value of which the gains are known within limits in a subproblem."""

    @property
    def tie(self) -> Floats:
        """Up to which gain does a pattern add nothing?"""

    def gain_range(self, state: Array) -> tuple[Floats, Floats]:
        """Between which gains lies each open pattern, whatever the others do?"""


class SearchProblem(Additive, Ranged, Protocol):
    """What a search asks of a criterion."""

    @property
    def whole(self) -> Subproblem:
        """Give the subproblem of all sets."""

    def value(self, chosen: Array) -> float:
        """Give the value of a set."""

    def majorant(self, subproblem: Subproblem) -> Majorant:
        """Bound the values of a subproblem by a linear function."""

    def split(
        self, subproblem: Subproblem, majorant: Majorant, gap: float
    ) -> tuple[Subproblem, Subproblem]:
        """Divide a subproblem in two."""


class BestFound(NamedTuple):
    """A set of patterns, and how much better any other could be at most."""

    chosen: Array  # (n,) of bool
    gap: float
    subproblems: int


class Best:
    """The best set so far."""

    def __init__(self, problem: SearchProblem, chosen: Array) -> None:
        self.problem, self.chosen = problem, chosen
        self.value = problem.value(chosen)

    def offer(self, chosen: Array) -> None:
        """Keep a set if it is better."""
        value = self.problem.value(chosen)
        if value > self.value + TIE:
            self.chosen, self.value = chosen, value


def polish(problem: Additive, chosen: Array, among: Array) -> Array:
    """Flip single patterns among these as long as the value rises.

    All are looked at in each round, but flips are made among the most promising only,
    as a look at all of them takes long. It ends where no single flip is of use.
    """
    chosen, totals = chosen.copy(), problem.totals(chosen)
    for _ in range(among.size):
        rise = _rises(problem, totals, chosen, among)
        if rise.max() <= 0:
            break
        few = among[np.argsort(-rise)[:FEW]]
        for _ in range(FEW):
            rise = _rises(problem, totals, chosen, few)
            j = int(few[np.argmax(rise)])
            if rise.max() <= 0:
                break
            totals = totals + (-1.0 if chosen[j] else 1.0) * problem.step(j)
            chosen[j] = ~chosen[j]
    return chosen


def _rises(problem: Additive, totals: Floats, chosen: Array, among: Array) -> Floats:
    """By how much does the value rise when one of these patterns is flipped?"""
    inside, tie = chosen[among], problem.tie[among]
    gain = problem.gains(totals, inside, among)
    return np.asarray(np.where(inside, tie - gain + LEAST, gain - tie))


def settle(problem: Ranged, state: Array) -> Array:
    """Decide every open pattern whose gain has one sign in the whole subproblem.

    Whatever is decided narrows the range of the others, so it is done again until
    nothing is left that can be decided.
    """
    state = state.copy()
    while (state == OPEN).any():
        free = np.flatnonzero(state == OPEN)
        least, most = problem.gain_range(state)
        sure = least > problem.tie[free]
        never = (most <= problem.tie[free]) & ~sure
        state[free[sure]], state[free[never]] = IN, OUT
        if not (sure | never).any():
            break
    return state


def maximise(
    problem: SearchProblem, start: Array, most: int = MOST_SUBPROBLEMS
) -> BestFound:
    """Find the best set of patterns; ``start`` is any set."""
    best = Best(problem, start)
    number = itertools.count()  # breaks ties in the heap, whose entries do not compare
    heap = [(-np.inf, next(number), problem.whole)]
    done = 0
    # best first: once the most promising subproblem cannot beat what was found, none
    # can
    while heap and -heap[0][0] > best.value + ROUNDING and done < most:
        done += 1
        upper, _, subproblem = heapq.heappop(heap)
        for above, part in _examine(problem, subproblem, best):
            # a part cannot hold more than the whole, whatever its own majorant says
            heapq.heappush(heap, (max(-above, upper), next(number), part))
    gap = -heap[0][0] - best.value if heap else 0.0
    chosen = polish(problem, best.chosen, np.arange(start.size))
    return BestFound(chosen, gap if gap > ROUNDING else 0.0, done)


def _examine(
    problem: SearchProblem, subproblem: Subproblem, best: Best
) -> list[tuple[float, Subproblem]]:
    """Settle what can be settled; give the parts that may hold a better set."""
    while True:
        subproblem = subproblem._replace(state=settle(problem, subproblem.state))
        free = subproblem.free
        if free.size == 0:
            best.offer(subproblem.state == IN)
            return []
        majorant = problem.majorant(subproblem)
        best.offer(polish(problem, majorant.x > 0.5, free))
        gap = majorant.upper - best.value
        if gap <= ROUNDING:
            return []
        # a set with such a pattern on the wrong side of its cost lies below the best
        sure = np.abs(majorant.cost) > gap
        subproblem = subproblem._replace(x=majorant.x)
        if not sure.any():
            parts = problem.split(subproblem, majorant, gap)
            return [(majorant.upper, part) for part in parts]
        state = subproblem.state.copy()
        state[free[sure]] = np.where(majorant.cost[sure] > 0, IN, OUT)
        subproblem = subproblem._replace(state=state)


def everything_open(
    n: int, low: Floats = NOTHING, high: Floats = NOTHING
) -> Subproblem:
    """Give the subproblem of all sets of n patterns."""
    return Subproblem(np.full(n, OPEN, np.int8), low, high, np.full(n, 0.5))


def descend(
    down: Callable[[Floats], tuple[float, Floats]], start: Floats, high: Floats
) -> Floats:
    """Minimise a smooth convex function over a subproblem from 0 to ``high``, about.

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
