"""How does one say a set of vote patterns in words?

A combination of classifiers is a set of vote patterns.
Patterns are numbered as in Keith, Davey, Boyd (2012): bit k (from the right, from 0) of
the number is 1 when classifier k votes *no*. So pattern 0 is "all say yes".

Sums of products are minimised by prime implicants (Quine 1952, McCluskey 1956), all of
them, with a cover that takes the essential ones, then the one that covers most, and
drops what has become superfluous: short, though not always shortest. The shorter of
that and of the product of sums is written, or a weighted vote where both are long.

Implicants are places of a table with three entries an axis: the classifier says yes,
says no, or does not matter. A sum over such a table is one pass along each axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from trueness._core.arrays import Array

# classifiers up to which formulas are minimised; beyond, patterns are counted
MOST = 12
# literals a classifier beyond which a formula is better said as a weighted vote
LONG = 2

# largest weight of a weighted vote, and subproblems of the integer program that finds
# it
LARGEST, NODES = 1000, 500

# an implicant is (mask, value): the classifiers that matter, and those that say no
Term = tuple[int, int]
YES, NO, EITHER = 0, 1, 2


def votes(k: int) -> Array:
    """Give the votes of every pattern, (2^K, K), in the paper's order.

    >>> votes(2).tolist()
    [[1, 1], [0, 1], [1, 0], [0, 0]]
    """
    pattern = np.arange(2**k)[:, None]
    return np.asarray(1 - (pattern >> np.arange(k) & 1))


def formula(patterns: Sequence[int], names: Sequence[str]) -> str:
    """Write a set of patterns as people say it.

    >>> formula([0, 1, 2, 4, 6], ["A", "B", "C"])
    'A or (B and C)'
    >>> formula([0, 1, 2, 4], ["A", "B", "C"])
    'at least 2 of A, B, C'
    """
    inside = np.zeros(2 ** len(names), dtype=bool)
    inside[np.asarray(patterns, dtype=int)] = True
    if not inside.any():
        return "never"
    if inside.all():
        return "always"
    counted = _by_count(inside, names)
    if counted:
        return counted
    if len(names) > MOST:
        many = f"{inside.sum():,} of {inside.size:,} patterns"
        return _points(inside, names) or many
    yes, no = _cover(inside.tobytes()), _cover((~inside).tobytes())
    if min(_length(no), _length(yes)) > LONG * len(names):
        points = _points(inside, names)
        if points:
            return points
    if _length(no) < _length(yes):
        return _product_of_sums(no, names)
    return _sum_of_products(yes, names)


def _by_axis(inside: Array) -> Array:
    """Give patterns one axis per classifier, the first one first: 0 yes, 1 no."""
    k = int(np.log2(inside.size))
    return inside.reshape((2,) * k).transpose(range(k - 1, -1, -1))


def _by_count(inside: Array, names: Sequence[str]) -> str:
    """Recognise "at least t of these", where only the number of votes matters."""
    k = len(names)
    table = _by_axis(inside)
    matter = [
        i for i in range(k) if (table.take(0, axis=i) != table.take(1, axis=i)).any()
    ]
    if len(matter) < 2:
        return ""
    yes = votes(k)[:, matter].sum(axis=1)
    within, without = set(yes[inside].tolist()), set(yes[~inside].tolist())
    if within & without:
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
    largest outside decide. The weights solve an integer program: at least t points
    inside, at most t - 1 outside, as few points as possible.
    """
    table, k = _by_axis(inside), len(names)
    lowest, highest = table.copy(), ~table
    for i in range(k):
        yes, no = (np.take(table, [v], axis=i) for v in (YES, NO))
        if (no & ~yes).any():
            return ""
        # a pattern is lowest if each vote less is outside, highest if each more inside
        lowest &= np.concatenate([~no, np.ones_like(no)], axis=i)
        highest &= np.concatenate([np.ones_like(yes), yes], axis=i)
    found = _whole_weights(1 - np.argwhere(lowest), 1 - np.argwhere(highest))
    if found is None:
        return ""
    weights, least = found
    if ((votes(k) @ weights >= least) != inside).any():
        return ""
    each = ", ".join(f"{n} {w}" for n, w in zip(names, weights, strict=True) if w)
    return f"at least {least} points ({each})"


def _whole_weights(inside: Array, outside: Array) -> tuple[Array, int] | None:
    """Find few points that tell two sets of patterns apart, if there are any."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    k = inside.shape[1]
    table = np.vstack([inside, outside]).astype(float)
    # points less the least number: 0 or more inside, -1 or less outside
    table = np.hstack([table, np.full((len(table), 1), -1.0)])
    low = np.repeat([0.0, -np.inf], [len(inside), len(outside)])
    high = np.repeat([np.inf, -1.0], [len(inside), len(outside)])
    found = milp(
        np.array([*[1.0] * k, 0.0]),
        constraints=LinearConstraint(table, low, high),
        bounds=Bounds(np.zeros(k + 1), [*[LARGEST] * k, k * LARGEST]),
        integrality=np.ones(k + 1, dtype=int),
        options={"node_limit": NODES},
    )
    if found.x is None:
        return None
    *weights, least = np.rint(found.x).astype(int)
    return np.array(weights), int(least)


@lru_cache(maxsize=4096)
def _cover(packed: bytes) -> tuple[Term, ...]:
    """Cover patterns by few large implicants: the essential ones, then the largest."""
    patterns = _by_axis(np.frombuffer(packed, dtype=bool))
    primes = _primes(patterns)
    # a pattern that one prime implicant alone covers makes that one essential
    alone = patterns & (_spread(primes.astype(np.int32)) == 1)
    chosen = primes & _gather(alone, np.logical_or)
    left = patterns & ~_spread(chosen, np.logical_or)
    while left.any():
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


def _spread(terms: Array, join: np.ufunc = np.add) -> Array:
    """Join, for every pattern, what its implicants hold: (3, ...) to (2, ...)."""
    for i in range(terms.ndim):
        yes, no, either = (np.take(terms, [v], axis=i) for v in (YES, NO, EITHER))
        terms = np.concatenate([join(yes, either), join(no, either)], axis=i)
    return terms


def _primes(patterns: Array) -> Array:
    """Which implicants cannot be made larger?"""
    implicant = _gather(patterns, np.logical_and)
    prime = implicant.copy()
    for i in range(patterns.ndim):
        larger = np.take(implicant, [EITHER], axis=i)
        none = np.zeros_like(larger)
        prime &= ~np.concatenate([larger, larger, none], axis=i)
    return prime


def _places(term: Sequence[int]) -> tuple[Any, ...]:
    """Where are the patterns of an implicant?"""
    return tuple(slice(None) if v == EITHER else v for v in term)


def _without_superfluous(chosen: Array) -> tuple[Term, ...]:
    """Drop implicants that the others cover, the longest first; the rest in order."""
    covered = _spread(chosen.astype(np.int32))
    terms = [tuple(t) for t in np.argwhere(chosen).tolist()]
    kept = []
    for term in sorted(terms, key=lambda t: (t.count(EITHER), t)):
        at = _places(term)
        if (covered[at] > 1).all():
            covered[at] -= 1
        else:
            kept.append(term)
    short = [
        (
            sum(1 << i for i, v in enumerate(t) if v != EITHER),
            sum(1 << i for i, v in enumerate(t) if v == NO),
        )
        for t in kept
    ]
    return tuple(sorted(short, key=lambda t: (t[0].bit_count(), t)))


def _length(terms: Sequence[Term]) -> int:
    return sum(mask.bit_count() for mask, _ in terms)


def _literals(term: Term, names: Sequence[str], no: bool) -> list[str]:
    mask, value = term
    return [
        name if bool(value >> i & 1) == no else f"not {name}"
        for i, name in enumerate(names)
        if mask >> i & 1
    ]


def _sum_of_products(terms: Sequence[Term], names: Sequence[str]) -> str:
    return _join([_literals(t, names, no=False) for t in terms], " and ", " or ")


def _product_of_sums(terms: Sequence[Term], names: Sequence[str]) -> str:
    # De Morgan: not (a and b) is (not a) or (not b)
    return _join([_literals(t, names, no=True) for t in terms], " or ", " and ")


def _join(groups: list[list[str]], inner: str, outer: str) -> str:
    alone = len(groups) == 1
    parts = [
        inner.join(g) if alone or len(g) == 1 else f"({inner.join(g)})" for g in groups
    ]
    return outer.join(parts)
