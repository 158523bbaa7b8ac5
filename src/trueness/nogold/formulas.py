"""How does one say a set of vote patterns in words?

Bit k (from the right, from 0) of a pattern's number is 1 when classifier k votes *no*
(Keith, Davey, Boyd 2012). An implicant says of each classifier that it says yes, says
no, or does not matter: a place of a table with three entries an axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.progress import stop_if_requested

MOST = 12  # classifiers up to which formulas are minimised; of more, patterns counted
LONG = 2  # literals a classifier beyond which a weighted vote says it better
# largest weight of a weighted vote, and subproblems of the program that finds it
LARGEST, NODES = 1000, 500
YES, NO, EITHER = 0, 1, 2
Term = tuple[int, ...]  # one of these for each classifier


def votes(k: int) -> Array:
    """Give the votes of every pattern, (2^K, K), in the paper's order.

    >>> votes(2).tolist()
    [[1, 1], [0, 1], [1, 0], [0, 0]]
    """
    return np.asarray(1 - (np.arange(2**k)[:, None] >> np.arange(k) & 1))


def formula(patterns: Sequence[int], names: Sequence[str]) -> str:
    """Write a set of patterns as people say it.

    >>> formula([0, 1, 2, 4, 6], ["A", "B", "C"])
    'A or (B and C)'
    >>> formula([0, 1, 2, 4], ["A", "B", "C"])
    'at least 2 of A, B, C'
    """
    inside = np.zeros(2 ** len(names), dtype=bool)
    inside[np.asarray(patterns, dtype=int)] = True
    if inside.all() or not inside.any():
        return "always" if inside.all() else "never"
    counted = _by_count(inside, names)
    if counted:
        return counted
    if len(names) > MOST:
        many = f"{inside.sum():,} of {inside.size:,} patterns"
        return _points(inside, names) or many
    yes, no = _cover(inside.tobytes()), _cover((~inside).tobytes())
    length = [sum(len(t) - t.count(EITHER) for t in terms) for terms in (yes, no)]
    points = _points(inside, names) if min(length) > LONG * len(names) else ""
    if points:
        return points
    if length[1] < length[0]:  # De Morgan: not (a and b) is (not a) or (not b)
        return _joined(no, names, NO, " or ", " and ")
    return _joined(yes, names, YES, " and ", " or ")


def _joined(
    terms: Sequence[Term], names: Sequence[str], plain: int, inner: str, outer: str
) -> str:
    """Join what each implicant says; votes other than ``plain`` are negated."""
    groups = []
    for term in terms:
        said = [
            name if v == plain else f"not {name}"
            for name, v in zip(names, term, strict=True)
            if v != EITHER
        ]
        alone = len(terms) == 1 or len(said) == 1
        groups.append(inner.join(said) if alone else f"({inner.join(said)})")
    return outer.join(groups)


def _by_axis(inside: Array) -> Array:
    """Give patterns one axis per classifier, the first one first: 0 yes, 1 no."""
    return inside.reshape((2,) * int(np.log2(inside.size))).T


def _by_count(inside: Array, names: Sequence[str]) -> str:
    """Recognise "at least t of these", where only the number of votes matters."""
    table = _by_axis(inside)
    matter = [
        i
        for i in range(len(names))
        if (table.take(YES, axis=i) != table.take(NO, axis=i)).any()
    ]
    yes = votes(len(names))[:, matter].sum(axis=1)
    within, without = set(yes[inside].tolist()), set(yes[~inside].tolist())
    if len(matter) < 2 or within & without:
        return ""
    these = ", ".join(names[i] for i in matter)
    if min(within) > max(without) and 1 < min(within) < len(matter):
        return f"at least {min(within)} of {these}"
    if max(within) < min(without) and 0 < max(within) < len(matter) - 1:
        return f"at most {max(within)} of {these}"
    if len(within) == 1 and within <= set(range(1, len(matter))):
        return f"exactly {within.pop()} of {these}"
    return ""


def _points(inside: Array, names: Sequence[str]) -> str:
    """Write a weighted vote with small whole weights, if the set is one.

    One more vote must never turn yes into no; then the smallest patterns inside and the
    largest outside decide, by an integer program: as few points as possible.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    table, k = _by_axis(inside), len(names)
    lowest, highest = table.copy(), ~table
    for i in range(k):
        yes, no = (np.take(table, [v], axis=i) for v in (YES, NO))
        if (no & ~yes).any():
            return ""
        # a pattern is lowest if each vote less is outside, highest if each more inside
        lowest &= np.concatenate([~no, np.ones_like(no)], axis=i)
        highest &= np.concatenate([np.ones_like(yes), yes], axis=i)
    low, high = (1.0 - np.argwhere(part) for part in (lowest, highest))
    # points less the least number: 0 or more inside, -1 or less outside
    rows = np.vstack([low, high])
    found = milp(
        np.array([*[1.0] * k, 0.0]),
        constraints=LinearConstraint(
            np.hstack([rows, np.full((len(rows), 1), -1.0)]),
            np.repeat([0.0, -np.inf], [len(low), len(high)]),
            np.repeat([np.inf, -1.0], [len(low), len(high)]),
        ),
        bounds=Bounds(np.zeros(k + 1), [*[LARGEST] * k, k * LARGEST]),
        integrality=np.ones(k + 1, dtype=int),
        options={"node_limit": NODES},
    )
    if found.x is None:
        return ""
    *weights, least = np.rint(found.x).astype(int)
    if ((votes(k) @ weights >= least) != inside).any():
        return ""
    each = ", ".join(f"{n} {w}" for n, w in zip(names, weights, strict=True) if w)
    return f"at least {least} points ({each})"


@lru_cache(maxsize=4096)
def _cover(packed: bytes) -> tuple[Term, ...]:
    """Cover patterns by few large implicants: the essential ones, then the largest."""
    patterns = _by_axis(np.frombuffer(packed, dtype=bool))
    primes = implicant = _gather(patterns, np.logical_and)
    for i in range(patterns.ndim):  # those that cannot be made larger
        larger = np.take(implicant, [EITHER], axis=i)
        primes = primes & ~np.concatenate([larger, larger, larger & False], axis=i)
    # a pattern that one prime implicant alone covers makes that one essential
    alone = patterns & (_spread(primes.astype(np.int32)) == 1)
    chosen = primes & _gather(alone, np.logical_or)
    left = patterns & (_spread(chosen.astype(np.int32)) == 0)
    while left.any():
        stop_if_requested()
        gain = np.where(primes, _gather(left.astype(np.int32), np.add), 0)
        most = int(gain.max())
        for term in np.argwhere(gain == most).tolist():
            at = _places(term)
            # one that was taken before may have covered some of its patterns
            if np.count_nonzero(left[at]) == most:
                chosen[tuple(term)] = True
                left[at] = False
    return _without_superfluous(chosen)


def _gather(patterns: Array, join: np.ufunc) -> Array:
    """Join, for every implicant, what its patterns hold: (2, ...) to (3, ...)."""
    for i in range(patterns.ndim):
        yes, no = (np.take(patterns, [v], axis=i) for v in (YES, NO))
        patterns = np.concatenate([yes, no, join(yes, no)], axis=i)
    return patterns


def _spread(terms: Array) -> Array:
    """Sum, for every pattern, what its implicants hold: (3, ...) to (2, ...)."""
    for i in range(terms.ndim):
        yes, no, either = (np.take(terms, [v], axis=i) for v in (YES, NO, EITHER))
        terms = np.concatenate([yes + either, no + either], axis=i)
    return terms


def _places(term: Sequence[int]) -> tuple[Any, ...]:
    """Where are the patterns of an implicant?"""
    return tuple(slice(None) if v == EITHER else v for v in term)


def _without_superfluous(chosen: Array) -> tuple[Term, ...]:
    """Drop implicants that the others cover, the longest first; the rest in order."""
    covered, kept = _spread(chosen.astype(np.int32)), []
    terms = [tuple(t) for t in np.argwhere(chosen).tolist()]
    for term in sorted(terms, key=lambda t: (t.count(EITHER), t)):
        at = _places(term)
        if (covered[at] > 1).all():
            covered[at] -= 1
        else:
            kept.append(term)
    # the shortest first, then by the classifiers that matter, then by their votes
    backwards = [t[::-1] for t in kept]
    backwards.sort(key=lambda t: (-t.count(EITHER), [v != EITHER for v in t], t))
    return tuple(t[::-1] for t in backwards)
