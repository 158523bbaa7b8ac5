r"""Which combination is best on average over the posterior, for the named criteria?

``sum`` is linear: a pattern is flagged when its mean probability is higher in
positives. ``product`` and ``squares`` are quadratic forms (``quadratic.py``), ``min``
is concave (``minimum.py``); all three are solved by branch and bound.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.nogold.combinations.branch_and_bound import (
    IN,
    OPEN,
    TIE,
    BestFound,
    maximise,
    polish,
)
from trueness.nogold.combinations.criteria import CRITERIA
from trueness.nogold.combinations.minimum import minimum
from trueness.nogold.combinations.one_draw import best_prefix, prefixes
from trueness.nogold.combinations.quadratic import coarse, settle_by_chords

# patterns from which some are settled before all pairs are written down, and
COARSE = 256
# patterns up to which all pairs are
MATRIX = 2048
# subproblems times patterns before a search is cut off; those of the minimum take
# longer
WORK, WORK_MINIMUM = 2**18, 2**16


def best_of_named(name: str, a: Floats, b: Floats) -> BestFound:
    """Give the best set of patterns on average; a and b are (draws, patterns)."""
    if name == "sum":
        gain, weight = (a - b).mean(axis=0), (a + b).mean(axis=0)
        return BestFound(gain > TIE * weight, 0.0, 1)
    mean = a.mean(axis=0), b.mean(axis=0)
    _, sens, spec = prefixes(*mean)
    start = best_prefix(*mean, CRITERIA[name](sens, spec, sens)).chosen
    if name == "min":
        return maximise(minimum(a, b), start, WORK_MINIMUM // start.size)
    return _quadratic(name, a, b, start)


def _quadratic(name: str, a: Floats, b: Floats, start: Array) -> BestFound:
    """Settle what the coarse majorant can, then search among the other patterns."""
    problem, n = coarse(name, a, b), start.size
    state, upper = np.full(n, OPEN, np.int8), np.inf
    if n > COARSE:
        start = polish(problem, start, np.arange(n))
        state, upper = settle_by_chords(problem, start)
    free = np.flatnonzero(state == OPEN)
    if free.size > MATRIX:
        return BestFound(start, upper - problem.value(start), 0)
    chosen, gap, done = state == IN, 0.0, 0
    if free.size:
        found = maximise(problem.form(state), start[free], WORK // free.size)
        (inside, gap, done) = found
        chosen[free] = inside
    # settling keeps what is better than the start, so it may have lost the start
    if problem.value(start) > problem.value(chosen):
        chosen = start
    return BestFound(chosen, gap, done)
