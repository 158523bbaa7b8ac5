r"""Which set of patterns is best, in one draw and on average over all draws?

A linear criterion decides pattern by pattern, in a draw and on average. In a draw, one
with convex level sets is best at a prefix of the patterns in likelihood-ratio order;
product and minimum may be better off that order, within the bound of a fraction.

On average others are climbed: patterns are decided by their gains at the set found so
far (for a quotient in one draw, Dinkelbach 1967, doi:10.1287/mnsc.13.7.492), and those
in doubt are flipped in all ways. Then some are proved, and the others stay *open*:

* limits of the slopes limit the gain of a pattern; where it has one sign, it is proved;
* a linear majorant has a largest value U, and no set with pattern j on the wrong side
  is worth more than U - abs(c_j); where that is less than was found, it is proved. With
  s, p, r rates and value of the set found in a draw, e = N - r Q, and chords for what
  is convex in a linear form,

  .. math::

     S P \le \frac{(p S + s P)^2}{4 s p}, \qquad \min(S, P) \le l S + (1 - l) P, \qquad
     \frac{N}{Q} \le r + \max\left(\frac{e}{Q_{low}}, \frac{e}{Q_{high}}\right)

What is proved narrows the range of the rest, which proves more. If few stay open, all
ways are tried; if not, the search is divided, with one pattern in or out. A search that
is given up states its gap to U, or to the mean of the best values of the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness.nogold.combinations.criteria import Criterion, Draws, net, plane

# open patterns that are tried in all ways, and patterns that are flipped alone
TRIED, NEAR = 12, 256
# patterns of four classifiers, whose sets are all tried if need be
FEW = 16
# parts into which a search is divided before it gives up, times patterns
PARTS = 2**15
# sets whose values differ by less cannot be told apart in floating point
ROUNDING = 1e-13
# patterns of smaller probability are decided by their slopes: their square is rounding
SMALL = 1e-7
TINY = 1e-300
OPEN, OUT, IN = -1, 0, 1
CONCAVE = ("product", "min")


def all_sets(d: Draws, tried: Array, fixed: Array) -> Iterator[Any]:
    """Walk through all ways to flag these patterns: codes, and rates (draws, codes).

    Bit i of a code is the i-th pattern of ``tried``; others are as in ``fixed``.
    """
    sens, spec = d.rates(fixed & ~np.isin(np.arange(fixed.size), tried))[:, :, None]
    for at in blocks(2**tried.size, max(1, 2**20 // len(d.a))):
        code = np.arange(at.start, at.stop)
        sets = (code >> np.arange(tried.size)[:, None] & 1).astype(np.float64)
        yield at, sens + d.a[:, tried] @ sets, spec - d.b[:, tried] @ sets


def _curves(d: Draws) -> Iterator[Any]:
    """Walk through the draws: places, prevalence, order, and rates of prefixes.

    Patterns are in the order of their likelihood ratio, highest first.
    """
    for at in blocks(len(d.a), max(1, 2**20 // d.a.shape[1])):
        a, b = d.a[at], d.b[at]
        order = np.argsort(-(a / np.maximum(a + b, TINY)), axis=1, kind="stable")
        rates = (np.take_along_axis(v, order, axis=1).cumsum(axis=1) for v in (a, b))
        sens, fpr = (np.pad(v, ((0, 0), (1, 0))) for v in rates)  # of none first
        yield at, d.phi[at, None], order, sens, 1 - fpr


def winners(c: Criterion, d: Draws) -> Array:
    """Which combination is best in each draw? (draws, patterns) of bool.

    Beyond four classifiers the best by product and minimum is the best that was found;
    beyond three, the best prefix stands for that by a sum of several metrics.
    """
    n, patterns = d.a.shape
    chosen = np.zeros(d.a.shape, dtype=bool)
    if c.shape == "linear":
        up, down = c.slopes(np.zeros((2, n)), d.phi)[:, :, None]
        return net(up * d.a, down * d.b) > 0
    if patterns < FEW or (patterns == FEW and c.shape in CONCAVE):
        best, code = np.full(n, -np.inf), np.zeros(n, dtype=np.int64)
        for at, sens, spec in all_sets(d, np.arange(patterns), chosen[0]):
            value = c.value(sens, spec, d.phi[:, None])
            # a margin of rounding, so that equal sets keep the smaller code
            better = value.max(axis=1) > best + ROUNDING
            code[better] = value[better].argmax(axis=1) + at.start
            best = np.where(better, value.max(axis=1), best)
        return np.asarray(code[:, None] >> np.arange(patterns) & 1 == 1)
    for at, phi, order, sens, spec in _curves(d):
        length = c.value(sens, spec, phi).argmax(axis=1)[:, None]
        np.put_along_axis(chosen[at], order, np.arange(patterns) < length, axis=1)
        if c.shape in CONCAVE:
            part = Draws(d.a[at], d.b[at], d.phi[at])
            chosen[at] = _off_order(c, part, chosen[at], _relaxed(c, sens, spec))
    return chosen


def _relaxed(c: Criterion, sens: Floats, spec: Floats) -> Any:
    """Give the best rates with a fraction t of one pattern, and its probabilities.

    (s + t x)(p - t y) is largest where its slope is 0, the minimum where both rates are
    equal.
    """
    x, y, s, p = np.diff(sens), -np.diff(spec), sens[:, :-1], spec[:, :-1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        t = (p / y - s / x) / 2 if c.shape == "product" else (p - s) / (x + y)
    t = np.clip(np.nan_to_num(t), 0, 1)
    s, p = s + t * x, p - t * y
    at = c.value(s, p, 0.5).argmax(axis=1)[:, None]
    return [np.take_along_axis(v, at, axis=1) for v in (s, p, x, y)]


def _off_order(c: Criterion, d: Draws, chosen: Array, relaxed: Any) -> Array:
    """Try to flip, in each draw, the weightiest patterns that the bound allows.

    A pattern on the wrong side costs no less than its distance from the tangent at the
    relaxed optimum.
    """
    s, p, x, y = relaxed
    up, down = (p, s) if c.shape == "product" else (y / (x + y), x / (x + y))
    cost = np.abs(up * d.a - down * d.b)
    room = c.value(s, p, 0.5) - c.of(d, chosen)[:, None]
    tried = np.argsort(np.where(cost <= room, -d.a - d.b, cost), axis=1)[:, :TRIED]
    flips = np.arange(2**TRIED) >> np.arange(TRIED)[:, None] & 1
    sign = np.where(np.take_along_axis(chosen, tried, axis=1), -1.0, 1.0)
    a, b = (sign * np.take_along_axis(v, tried, axis=1) for v in (d.a, d.b))
    sens, spec = d.rates(chosen)[:, :, None]
    best = c.value(sens + a @ flips, spec - b @ flips, 0.5).argmax(axis=1)
    chosen = chosen.copy()
    flipped = np.take_along_axis(chosen, tried, axis=1) ^ (flips[:, best].T == 1)
    np.put_along_axis(chosen, tried, flipped, axis=1)
    return chosen


def mean_of_best(c: Criterion, d: Draws) -> float:
    """How good were it on average to know the draw? No combination is better."""
    if c.shape == "sum of several":
        return c.constant + sum(w * mean_of_best(p, d) for w, p in c.parts)
    best = []
    for _, phi, _, s, p in _curves(d):
        s, p = _relaxed(c, s, p)[:2] if c.shape in CONCAVE else (s, p)
        best.append(c.value(s, p, phi).max(axis=1))
    return _mean(np.concatenate(best))


def best_on_average(c: Criterion, d: Draws) -> tuple[Array, float]:
    """Give the best set of patterns, and how much better another could be at most."""
    mean = Draws(*(x.mean(axis=0, keepdims=True) for x in d))
    chosen = winners(c, mean)[0]
    following = c.gains(d.rates(chosen), d) > 0
    while _mean(c.of(d, following)) > _mean(c.of(d, chosen)) + ROUNDING:
        chosen, following = following, c.gains(d.rates(following), d) > 0
    chosen, upper = _proved(c, d, chosen)
    # what the value cannot tell apart is decided by the slopes
    gain = c.gains(d.rates(chosen), d)
    small = ((mean.a + mean.b)[0] < SMALL) & np.isfinite(gain)
    chosen = np.where(small, gain > 0, chosen)
    if upper == -np.inf:
        return chosen, 0.0
    gap = min(upper, mean_of_best(c, d)) - _mean(c.of(d, chosen))
    return chosen, gap if gap > ROUNDING else 0.0


def _mean(value: Array) -> float:
    return float(value.mean())


def _proved(c: Criterion, d: Draws, chosen: Array) -> tuple[Array, float]:
    """Search all sets; if they are too many, those near this one, with a bound.

    As long as too many patterns are open, the most probable one is put in and out.
    """
    n, weight = chosen.size, (d.a + d.b).mean(axis=0)
    parts, best, top = [np.full(n, OPEN, np.int8)], chosen, np.inf
    for i in range(min(64, PARTS // n) if c.bounded or n <= FEW else 0):
        state, upper = _settled(c, d, best, parts.pop())
        top = top if i else upper  # of the first part, which is the whole
        free = np.flatnonzero(state == OPEN)
        if free.size <= TRIED or n == FEW:
            fixed = (state == IN) | (best & (state == OPEN))
            tried = _all_tried(c, d, fixed, free)
            if _mean(c.of(d, tried)) >= _mean(c.of(d, best)) - ROUNDING:
                best = tried
        else:
            j = free[np.argmax(weight[free])]
            parts += [np.where(np.arange(n) == j, x, state) for x in (OUT, IN)]
        if not parts:
            return best, -np.inf
    while True:
        # a flip changes the gains by products of two probabilities: it is of use where
        # a gain is small beside that
        gain = np.abs(c.gains(d.rates(best), d))
        near = np.argsort(gain / np.maximum(weight, 1e-100) ** 2)[:NEAR]
        sign = np.where(best[near], -1.0, 1.0) * np.stack([d.a[:, near], -d.b[:, near]])
        sens, spec = d.rates(best)[:, :, None] + sign
        flip = near[c.value(sens, spec, d.phi[:, None]).mean(axis=0).argmax()]
        tried = best ^ (np.arange(n) == flip)
        if not _mean(c.of(d, tried)) > _mean(c.of(d, best)) + ROUNDING:
            # as many as leave 4 million values to compute
            few = near[: min(TRIED, 22 - len(d.phi).bit_length())]
            tried = _all_tried(c, d, best, np.sort(few))
        if not _mean(c.of(d, tried)) > _mean(c.of(d, best)) + ROUNDING:
            return best, top
        best = tried


def _all_tried(c: Criterion, d: Draws, chosen: Array, tried: Array) -> Array:
    """Try all ways to flag these patterns, the others as they are."""
    if tried.size > TRIED:
        d = Draws(*(x[:: 1 + len(x) // 1000] for x in d))
    rates = (x[1:] for x in all_sets(d, tried, chosen))
    means = np.concatenate([c.value(*r, d.phi[:, None]).mean(axis=0) for r in rates])
    # a margin of rounding, so that equal sets keep the smaller code
    code = int(np.argmax(means >= means.max() - ROUNDING))
    best = chosen.copy()
    best[tried] = code >> np.arange(tried.size) & 1
    return best


def _settled(
    c: Criterion, d: Draws, chosen: Array, state: Array
) -> tuple[Array, float]:
    """Which open patterns are surely in or out of any better set? Also a bound.

    A rate lies between its values with the worst and with the best open patterns.
    """
    best, rates, upper = _mean(c.of(d, chosen)), d.rates(chosen), np.inf
    while c.bounded and (state == OPEN).any():
        free = np.flatnonzero(state == OPEN)
        none, every = d.rates(state == IN), d.rates(state != OUT)
        left = Draws(d.a[:, free], d.b[:, free], d.phi)
        # the slopes in sensitivity and in specificity, lowest and highest
        low, high = c.slope_limits((none[0], every[0]), (every[1], none[1]), d.phi)
        least = (low[0] @ left.a - high[1] @ left.b) / len(d.phi)
        most = (high[0] @ left.a - low[1] @ left.b) / len(d.phi)
        sure, inside = (least > 0) | (most <= 0), least > 0
        upper, cost = _majorant(c, left, (none, every), rates)
        far = np.abs(cost) > max(upper - best, 0.0) + ROUNDING
        sure, inside = sure | far, np.where(far, cost > 0, inside)
        state = state.copy()
        state[free[sure]] = np.where(inside[sure], IN, OUT)
        if not sure.any():
            break
    return state, max(upper, best)


def _majorant(
    c: Criterion, left: Draws, ends: tuple[Floats, Floats], rates: Floats
) -> tuple[float, Floats]:
    """Bound the criterion by a linear function: its largest value, and its slopes."""
    if c.name == "min":
        return _of_minimum(left, ends[0], rates)
    form, bent = _bent(c, left.phi, ends, rates)
    y = plane(form, *ends[0])
    rows = form[1, :, None] * left.a - form[2, :, None] * left.b
    low, high = (y + f(rows, 0).sum(axis=1) for f in (np.minimum, np.maximum))
    slope = (bent(high) - bent(low)) / np.maximum(high - low, TINY)
    cost = slope / len(y) @ rows
    upper = _mean(bent(low) + slope * (y - low))
    return upper + float(np.maximum(cost, 0).sum()), cost


def _bent(
    c: Criterion, phi: Floats, ends: tuple[Floats, Floats], rates: Floats
) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Give a linear form of both rates, and a convex function of it for a bound."""
    if c.name == "product":
        # any positive rates are right; those of a good set are close
        s, p = np.maximum(rates, 1e-6)
        return np.stack([0 * s, p, s]), lambda y: np.maximum(y, 0) ** 2 / (4 * s * p)
    over, under = c.planes(phi)
    q = [plane(under, x[0], y[1]) for x in ends for y in ends]
    low, high = np.min(q, axis=0), np.max(q, axis=0)
    r = plane(over, *rates) / plane(under, *rates)
    return over - r * under, lambda e: r + np.maximum(e / low, e / high)


def _of_minimum(left: Draws, none: Floats, rates: Floats) -> tuple[float, Floats]:
    """Weigh both rates of each draw: the lower one, or both where they are close."""
    apart, found = rates[1] - rates[0], []
    for width in np.quantile(np.abs(apart), [0.0, 0.02, 0.1, 0.3]):
        weight = np.clip(0.5 + apart / (2 * max(width, TINY)), 0, 1)
        cost = (weight @ left.a - (1 - weight) @ left.b) / len(weight)
        upper = _mean(weight * none[0] + (1 - weight) * none[1])
        found.append((upper + float(np.maximum(cost, 0).sum()), cost))
    return min(found, key=lambda x: x[0])
