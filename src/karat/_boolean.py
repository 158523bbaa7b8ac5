"""How does one say a set of vote patterns in words?

A combination of classifiers is a set of cells, a cell is one pattern of votes. Cells
are numbered as in Keith, Davey, Boyd (2012): bit k (from the right, from 0) of the
number is 1 when classifier k votes *no*. So cell 0 is "all say yes".

Sums of products are minimised by prime implicants (Quine 1952, McCluskey 1956) with a
greedy cover; the shorter of that and of the product of sums is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from karat._numerics import Array

# classifiers up to which formulas are minimised; beyond, cells are listed
MOST = 10
# literals a classifier beyond which a formula is better said as a weighted vote
LONG = 2

# an implicant is (mask, value): the classifiers that matter, and those that say no
Term = tuple[int, int]


def votes(k: int) -> Array:
    """Give the pattern of votes of every cell, (2^K, K), in the paper's order.

    >>> votes(2).tolist()
    [[1, 1], [0, 1], [1, 0], [0, 0]]
    """
    cell = np.arange(2**k)[:, None]
    return np.asarray(1 - (cell >> np.arange(k) & 1))


def formula(cells: Sequence[int], names: Sequence[str]) -> str:
    """Write a set of cells as people say it.

    >>> formula([0, 1, 2, 4, 6], ["A", "B", "C"])
    'A or (B and C)'
    >>> formula([0, 1, 2, 4], ["A", "B", "C"])
    'at least 2 of A, B, C'
    """
    k, chosen = len(names), frozenset(int(c) for c in cells)
    if not chosen:
        return "never"
    if len(chosen) == 2**k:
        return "always"
    if k > MOST:
        return f"{len(chosen):,} of {2**k:,} patterns"
    counted = _by_count(chosen, names)
    if counted:
        return counted
    rest = frozenset(range(2**k)) - chosen
    yes, no = _cover(chosen, k), _cover(rest, k)
    if min(_length(no), _length(yes)) > LONG * k:
        points = _points(chosen, names)
        if points:
            return points
    if _length(no) < _length(yes):
        return _product_of_sums(no, names)
    return _sum_of_products(yes, names)


def _by_count(chosen: frozenset[int], names: Sequence[str]) -> str:
    """Recognise "at least t of these", where only the number of votes matters."""
    k = len(names)
    matter = [i for i in range(k) if any((c ^ 1 << i) not in chosen for c in chosen)]
    if len(matter) < 2:
        return ""
    yes = [sum(not c >> i & 1 for i in matter) for c in range(2**k)]
    inside = {n for c, n in enumerate(yes) if c in chosen}
    outside = {n for c, n in enumerate(yes) if c not in chosen}
    if inside & outside:
        return ""
    these = ", ".join(names[i] for i in matter)
    if min(inside) > max(outside) and 1 < min(inside) < len(matter):
        return f"at least {min(inside)} of {these}"
    if max(inside) < min(outside) and 0 < max(inside) < len(matter) - 1:
        return f"at most {max(inside)} of {these}"
    if len(inside) == 1 and inside <= set(range(1, len(matter))):
        return f"exactly {inside.pop()} of {these}"
    return ""


def _points(chosen: frozenset[int], names: Sequence[str]) -> str:
    """Write a weighted vote with small whole weights, if the set is one.

    The weights solve an integer program: at least t points inside, at most t - 1
    outside, as few points as possible.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    k = len(names)
    table = np.hstack([votes(k), np.full((2**k, 1), -1)]).astype(float)
    inside = np.array([c in chosen for c in range(2**k)])
    rule = LinearConstraint(
        table, np.where(inside, 0, -np.inf), np.where(inside, np.inf, -1)
    )
    box = Bounds([*[-20] * k, -200], [*[20] * k, 200])
    found = milp(
        np.array([*[1.0] * k, 0.0]),
        constraints=rule,
        bounds=box,
        integrality=np.ones(k + 1, dtype=int),
        options={"time_limit": 2.0},
    )
    if found.x is None or (found.x[:k] < -0.5).any():
        return ""
    *weights, least = np.rint(found.x).astype(int)
    each = ", ".join(f"{n} {w}" for n, w in zip(names, weights, strict=True) if w)
    return f"at least {least} points ({each})"


@lru_cache(maxsize=4096)
def _cover(cells: frozenset[int], k: int) -> tuple[Term, ...]:
    """Cover cells by few large implicants: the essential ones, then the largest."""
    primes = _primes(cells, k)
    covered = {p: frozenset(_cells(p, k)) for p in primes}
    left, chosen = set(cells), []
    for cell in sorted(cells):
        by = [p for p in primes if cell in covered[p]]
        if len(by) == 1 and by[0] not in chosen:
            chosen.append(by[0])
            left -= covered[by[0]]
    while left:
        best = max(primes, key=lambda p: (len(covered[p] & left), -p[0].bit_count()))
        chosen.append(best)
        left -= covered[best]
    return tuple(sorted(chosen, key=lambda t: (t[0].bit_count(), t)))


def _primes(cells: frozenset[int], k: int) -> list[Term]:
    """Merge implicants that differ in one vote, until none is left to merge."""
    now: set[Term] = {(2**k - 1, c) for c in cells}
    primes: set[Term] = set()
    while now:
        merged, used = set(), set()
        for mask, value in now:
            for i in range(k):
                bit = 1 << i
                if mask & bit and (mask, value ^ bit) in now:
                    used.add((mask, value))
                    merged.add((mask & ~bit, value & ~bit))
        primes |= now - used
        now = merged
    return sorted(primes)


def _cells(term: Term, k: int) -> list[int]:
    mask, value = term
    free = [1 << i for i in range(k) if not mask >> i & 1]
    out = [value]
    for bit in free:
        out += [c | bit for c in out]
    return out


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
