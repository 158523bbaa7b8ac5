"""Which combination of tests is best, if one more positive test may not undo a flag?

A combination is monotone when every pattern with more positive votes than a flagged one
is flagged, too. "A and not B" is not: few would act on it, since it takes a negative
result for evidence of the condition. Patterns are numbered as in ``formulas.votes``: a
bit of the number is set where a classifier votes 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trueness._core.arrays import Array
from trueness.nogold.criteria import Criterion, Draws

# classifiers up to which all monotone combinations are tried: 7,581 of five (Dedekind)
MOST_ENUMERATED = 5


def is_monotone(flagged: Array) -> bool:
    """Return whether a set has every pattern with more positive votes."""
    return bool((upward_closure(flagged) == flagged).all())


def upward_closure(flagged: Array) -> Array:
    """Return the set with every pattern that has more positive votes than a member."""
    closed = flagged.copy()
    patterns = np.arange(flagged.size)
    for vote in _votes(flagged):
        # a pattern is added when it is in the set without this vote
        closed |= closed[patterns | vote]
    return closed


def monotone_interior(flagged: Array) -> Array:
    """Return the patterns all of whose extensions are in the set."""
    interior = flagged.copy()
    patterns = np.arange(flagged.size)
    for vote in _votes(flagged):
        interior &= interior[patterns & ~vote]
    return interior


def best_monotone(
    criterion: Criterion, draws: Draws, optimum: Array
) -> tuple[Array, float]:
    """Return the best monotone set on average, and how much better one could be.

    All are tried for up to five classifiers. Beyond, it is the better one of the
    smallest that contains the optimum among all sets, and the largest inside it.
    """
    if is_monotone(optimum):
        return optimum, 0.0

    all_are_tried = optimum.size <= 2**MOST_ENUMERATED
    if all_are_tried:
        candidates = list(monotone_sets(optimum.size))
    else:
        # the two nearest monotone sets, from above and from below
        candidates = [upward_closure(optimum), monotone_interior(optimum)]

    values = [
        float(criterion.evaluate(draws, candidate).mean()) for candidate in candidates
    ]
    best = int(np.argmax(values))
    if all_are_tried:
        return candidates[best], 0.0

    # no monotone set is better than the best of all sets
    upper = float(criterion.evaluate(draws, optimum).mean())
    return candidates[best], upper - values[best]


def monotone_sets(size: int) -> Iterator[Array]:
    """Walk through all monotone sets of this many patterns, none and all included."""
    if size == 1:
        yield np.array([False])
        yield np.array([True])
        return

    # without the last vote a subset of what is flagged with it
    halves = list(monotone_sets(size // 2))
    for without in halves:
        for including in halves:
            if not (without & ~including).any():
                yield np.concatenate([including, without])


def _votes(flagged: Array) -> list[int]:
    """Return the bit of each classifier in the number of a pattern."""
    n_classifiers = flagged.size.bit_length() - 1
    return [1 << k for k in range(n_classifiers)]
