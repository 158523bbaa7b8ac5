r"""Which set of patterns is best, when each adds to sensitivity and to false alarms?

The votes of K classifiers fall into 2^K patterns with probabilities a_j in positives
and b_j in negatives; a combination is a set S of patterns, with sensitivity sum(a over
S) and false positive rate sum(b over S).

A criterion that is convex in both has its optimum at a prefix of the patterns in
likelihood-ratio order (the vertices of the set of all sums). The product and the
minimum are concave, and their optimum may lie off that order. For these the relaxed
optimum P* on the order (a fraction of one pattern allowed) has multipliers l and m with

.. math:: g(S) \le g(P^*) - \sum_{j\ \text{off the order}} |l a_j - m b_j|

so a pattern whose term exceeds the gap between P* and the best prefix must follow the
order, and only the few others are searched, with sums that are dominated dropped
(Nemhauser, Ullmann 1969, doi:10.1287/mnsc.15.9.494). The result is exact; when the
search is cut off, the gap is returned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats

# partial sums kept at a time; more are cut off, and the gap says so
MOST_STATES = 20_000
# patterns of which all pairs are tried first
PAIRS = 256
# patterns from which that is worth it
FEW = 12
TINY = 1e-300


class Choice(NamedTuple):
    """A set of patterns, its value, and how much better any other could be at most."""

    chosen: Array  # (2^K,) of bool
    value: float
    gap: float


def ratio_order(a: Floats, b: Floats) -> Array:
    """Order patterns by their likelihood ratio, highest first."""
    return np.argsort(-(a / np.maximum(a + b, TINY)), kind="stable")


def prefixes(a: Floats, b: Floats) -> tuple[Array, Floats, Floats]:
    """Give the order, and sensitivity and specificity of every prefix of it."""
    order = ratio_order(a, b)
    sens = np.concatenate([[0.0], np.cumsum(a[order])])
    spec = 1 - np.concatenate([[0.0], np.cumsum(b[order])])
    return order, sens, spec


def best_prefix(a: Floats, b: Floats, value: Floats) -> Choice:
    """Choose the prefix of the highest value; ``value`` has one entry a prefix."""
    order = ratio_order(a, b)
    chosen = np.zeros(a.size, dtype=bool)
    chosen[order[: int(np.argmax(value))]] = True
    return Choice(chosen, float(np.max(value)), 0.0)


def best_product(a: Floats, b: Floats) -> Choice:
    """Which patterns make sensitivity times specificity largest?"""
    order, sens, spec = prefixes(a, b)
    found = best_prefix(a, b, sens * spec)
    # along pattern j the product is (s + t a)(p - t b), largest at t = (p/b - s/a) / 2
    x, y = a[order], b[order]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.clip(np.nan_to_num((spec[:-1] / y - sens[:-1] / x) / 2), 0, 1)
    relaxed = (sens[:-1] + t * x) * (spec[:-1] - t * y)
    at = int(np.argmax(relaxed))
    s, p = sens[at] + t[at] * x[at], spec[at] - t[at] * y[at]
    # the logarithm of the product is concave: tangent at the relaxed optimum
    return _search(a, b, found, a / s - b / p, relaxed[at], np.multiply)


def best_minimum(a: Floats, b: Floats) -> Choice:
    """Which patterns make the smaller of sensitivity and specificity largest?"""
    order, sens, spec = prefixes(a, b)
    found = best_prefix(a, b, np.minimum(sens, spec))
    at = (
        int(np.argmax(sens >= spec)) - 1
    )  # sensitivity passes specificity in this pattern
    x, y = a[order][at], b[order][at]
    t = (spec[at] - sens[at]) / (x + y)
    relaxed = sens[at] + t * x
    weight = y / (x + y)
    cost = weight * a - (1 - weight) * b
    return _search(a, b, found, cost, relaxed, np.minimum)


def _search(
    a: Floats, b: Floats, found: Choice, cost: Floats, relaxed: float, combine: Any
) -> Choice:
    """Try all deviations from the sign of ``cost`` that the gap can pay for."""
    scale = SCALES[combine]
    base = cost > 0
    core, gap = _core(cost, scale(relaxed) - scale(max(found.value, TINY)))
    if core.size > FEW:
        found = _by_pairs(a, b, base, cost, found, combine)
        core, gap = _core(cost, scale(relaxed) - scale(max(found.value, TINY)))
    # the most probable first: what the others can still change falls quickly
    core = core[np.argsort(-(a + b)[core], kind="stable")]
    sums = DrawSums(
        a[base].sum(keepdims=True),
        1 - b[base].sum(keepdims=True),
        np.zeros(1),
        np.zeros((1, core.size), dtype=bool),
    )
    sign = np.where(base, -1.0, 1.0)
    more_sens = _rest(np.where(base, 0.0, a)[core])
    more_spec = _rest(np.where(base, b, 0.0)[core])
    best, chosen, cut = found.value, found.chosen, False
    for i, j in enumerate(core):
        step = (sign[j] * a[j], -sign[j] * b[j], abs(cost[j]))
        sums = _flipped(sums, i, step)
        most = combine(sums.sens + more_sens[i], sums.spec + more_spec[i])
        keep = np.flatnonzero((sums.paid <= gap) & (most >= best - 1e-15))
        keep = keep[_undominated(sums.sens[keep], sums.spec[keep])]
        if keep.size == 0:
            break
        if keep.size > MOST_STATES:
            keep, cut = keep[np.argsort(sums.paid[keep])[:MOST_STATES]], True
        sums = DrawSums(*(part[keep] for part in sums))
        value = combine(sums.sens, sums.spec)
        top = int(np.argmax(value))
        if value[top] > best * (1 + 1e-14):
            best, chosen = float(value[top]), base.copy()
            chosen[core] ^= sums.flips[top]
            gap = _payable(scale(relaxed) - scale(best))
    return Choice(chosen, best, max(float(relaxed - best), 0.0) if cut else 0.0)


class DrawSums(NamedTuple):
    """Sets of patterns: their rates, what they cost, and which patterns they flip."""

    sens: Floats
    spec: Floats
    paid: Floats
    flips: Array


def _flipped(sums: DrawSums, i: int, step: tuple[float, float, float]) -> DrawSums:
    """Add every set with one more pattern flipped, the i-th of the core."""
    flips = np.concatenate([sums.flips, sums.flips])
    flips[len(sums.flips) :, i] = True
    return DrawSums(
        np.concatenate([sums.sens, sums.sens + step[0]]),
        np.concatenate([sums.spec, sums.spec + step[1]]),
        np.concatenate([sums.paid, sums.paid + step[2]]),
        flips,
    )


def _payable(gap: float) -> float:
    """How much may a better set cost? The gap, and a little for rounding."""
    return float(gap) * (1 + 1e-9) + 1e-12


def _core(cost: Floats, gap: float) -> tuple[Array, float]:
    """Which patterns may be on the wrong side of their cost?"""
    pay = _payable(gap)
    return np.flatnonzero(np.abs(cost) <= pay), pay


def _rest(values: Floats) -> Floats:
    """Sum what comes after each entry."""
    return np.cumsum(values[::-1])[::-1] - values


def _by_pairs(
    a: Floats, b: Floats, base: Array, cost: Floats, found: Choice, combine: Any
) -> Choice:
    """Flip the two patterns that bring most, of those that cost least.

    It costs little, and a better start leaves fewer patterns to be searched.
    """
    few = np.argsort(np.abs(cost), kind="stable")[:PAIRS]
    sign = np.where(base[few], -1.0, 1.0)
    # the first entry flips nothing
    up = np.concatenate([[0.0], sign * a[few]])
    down = np.concatenate([[0.0], sign * b[few]])
    sens = a[base].sum() + up[:, None] + up
    spec = 1 - b[base].sum() - down[:, None] - down
    value = combine(sens, spec)
    np.fill_diagonal(value, -np.inf)
    i, j = divmod(int(np.argmax(value)), few.size + 1)
    if value[i, j] <= found.value:
        return found
    chosen = base.copy()
    for k in (i, j):
        if k:
            chosen[few[k - 1]] ^= True
    return Choice(chosen, float(value[i, j]), 0.0)


def _undominated(sens: Floats, spec: Floats) -> Array:
    """Which points does no other beat in both?"""
    order = np.lexsort((-spec, -sens))
    top = np.maximum.accumulate(spec[order])
    first = np.ones(order.size, dtype=bool)
    first[1:] = spec[order][1:] > top[:-1]
    return order[first]


def front(a: Floats, b: Floats) -> tuple[Floats, Floats, Array]:
    """Give all undominated (sensitivity, specificity), and the patterns of each.

    Adding pattern after pattern and keeping the undominated sums. The patterns are
    packed, eight a byte (``numpy.packbits``); points come with rising sensitivity.
    """
    sens, spec = np.zeros(1), np.ones(1)
    members = np.zeros((1, -(-a.size // 8)), dtype=np.uint8)
    # patterns that are clearly in or out come last: fewer sums in between
    for j in np.argsort(np.maximum(a, b)):
        more = members.copy()
        more[:, j // 8] |= np.uint8(128 >> (j % 8))
        sens = np.concatenate([sens, sens + a[j]])
        spec = np.concatenate([spec, spec - b[j]])
        keep = _undominated(sens, spec)[::-1]
        n = len(members)
        old, new = keep < n, keep >= n
        merged = np.empty((keep.size, members.shape[1]), dtype=np.uint8)
        merged[old], merged[new] = members[keep[old]], more[keep[new] - n]
        sens, spec, members = sens[keep], spec[keep], merged
    return sens, spec, members


# on which scale each criterion is concave
SCALES: dict[Any, Any] = {np.multiply: np.log, np.minimum: np.asarray}
