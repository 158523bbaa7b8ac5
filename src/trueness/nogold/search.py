"""What makes a combination good, and which set of patterns is best?

A criterion is linear, convex (its level sets in the plane of both rates bound convex
sets), concave (product, minimum) or a sum of several. How sets are searched, and proved
to be the best, is in docs/maths/nogold.md, section "Combinations".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, listing, nearest
from trueness._core.progress import stop_if_requested
from trueness.metrics.algebra import Metric, Ratio
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import metric

Value = Callable[..., Array]
TIE = 1e-14  # part of its probability that a pattern must add to be flagged
STEP = 1e-6  # of slopes that are taken as differences
# open patterns that are tried in all ways, and patterns that are flipped alone
TRIED, NEAR = 12, 256
FEW = 16  # patterns of four classifiers, whose sets are all tried if need be
PARTS = 2**15  # into which a search is divided before it gives up, times patterns
ROUNDING = 1e-13  # sets whose values differ by less cannot be told apart
SMALL = 1e-7  # less probable patterns are decided by slopes: their square is rounding
TINY = 1e-300
OPEN, OUT, IN = -1, 0, 1
CONCAVE = ("product", "min")


class Draws(NamedTuple):
    """Pattern probabilities in positives and negatives, and the prevalence of draws."""

    a: Floats  # (draws, patterns)
    b: Floats
    phi: Floats  # (draws,)

    def rates(self, chosen: Array) -> Floats:
        """Give sensitivity and specificity of a set, or of one a draw, (2, draws)."""
        if chosen.ndim == 2:
            sens, fpr = (np.einsum("dj,dj->d", p, chosen) for p in (self.a, self.b))
        else:
            sens, fpr = (p @ chosen.astype(np.float64) for p in (self.a, self.b))
        return np.stack([sens, 1 - fpr])


class Criterion(NamedTuple):
    """A criterion by its name; what should be low is negated in ``value``."""

    name: str
    value: Value
    shape: str
    sign: float = 1.0
    parts: tuple[tuple[float, Criterion], ...] = ()
    constant: float = 0.0
    ratio: Ratio | None = None  # where it is a quotient of sums of counts

    def of(self, d: Draws, chosen: Array) -> Array:
        """How good is a set, or one a draw, in each draw?"""
        return self.value(*d.rates(chosen), d.phi)

    @property
    def bounded(self) -> bool:
        """Are limits of its slopes known? Of quotients whose denominator is above 0."""
        if self.ratio is None or self.ratio.under is None:
            return self.name in SLOPE_LIMITS
        at, up, down = self.planes(np.array([0.271, 0.618]))[1]
        return bool((at + np.minimum(up, 0) + np.minimum(down, 0) > 0).all())

    def planes(self, phi: Floats) -> Floats:
        """Give numerator and denominator of a quotient: constant, and both slopes."""
        over, under = self.ratio or (None, None)
        each = [
            [fn * phi + fp * (1 - phi), (tp - fn) * phi, (tn - fp) * (1 - phi)]
            for tp, fp, fn, tn in (self.sign * np.array(over), np.array(under))
        ]
        return np.array(each)

    def slopes(self, rates: Floats, phi: Floats) -> Floats:
        """How steep is it in sensitivity and in specificity, in each draw?"""
        if self.bounded:
            (s, p), one = rates, np.ones_like(phi)
            return np.stack(self.slope_limits((s, s), (p, p), phi)[0]) * one
        out = []
        # a linear criterion is as steep everywhere as between 0 and 1
        for step in np.eye(2)[:, :, None] * (1 if self.shape == "linear" else STEP):
            low, high = np.clip(rates - step, 0, 1), np.clip(rates + step, 0, 1)
            rise = self.value(*high, phi) - self.value(*low, phi)
            out.append(rise / (high - low).sum(axis=0))
        return np.stack(out)

    def slope_limits(self, sens: Any, spec: Any, phi: Floats) -> Any:
        """Give the lowest and highest slopes between two ends of both rates."""
        if self.name in SLOPE_LIMITS:
            return SLOPE_LIMITS[self.name](*sens, *spec)
        over, under = self.planes(phi)
        corners = [(s, p) for s in sens for p in spec]
        n, q = (np.array([plane(x, *at) for at in corners]) for x in (over, under))
        # a quotient and its denominator are extreme at corners; its slopes are linear
        # in the quotient and in 1 / Q, so they are extreme at the ends of these
        slopes = [
            (over[1:] - r * under[1:]) / x
            for r in ((n / q).min(axis=0), (n / q).max(axis=0))
            for x in (q.min(axis=0), q.max(axis=0))
        ]
        return np.min(slopes, axis=0), np.max(slopes, axis=0)

    def gain_and_loss(self, rates: Floats, d: Draws) -> Floats:
        """What does each pattern add and cost, to first order, summed over draws?"""
        up, down = self.slopes(rates, d.phi)
        return np.stack([up @ d.a, down @ d.b])

    def gains(self, rates: Floats, d: Draws) -> Floats:
        """What does each pattern add on average, to first order?"""
        return net(*self.gain_and_loss(rates, d) / len(d.phi))


def plane(form: Floats, sens: Floats, spec: Floats) -> Floats:
    """Give constant + slope * sensitivity + slope * specificity."""
    return np.asarray(form[0] + form[1] * sens + form[2] * spec)


def net(gain: Floats, loss: Floats) -> Floats:
    """Subtract a loss from a gain; what is no more than rounding is nothing."""
    noise = TIE * (np.abs(gain) + np.abs(loss))
    return np.where(np.abs(gain - loss) > noise, gain - loss, 0.0)


def read_criterion(given: str | Metric) -> Criterion:
    """Read a name of ``CRITERIA``, a metric, or the text of a metric."""
    if isinstance(given, str) and given in CRITERIA:
        return Criterion(given, CRITERIA[given], SHAPES[given])
    try:
        found = metric(given)
    except InputError as err:
        near = nearest(given, [*CRITERIA, *METRICS])
        why = f"found {described(given)}.{near}" if near else str(err)
        raise InputError(
            f"criterion must be one of {listing(tuple(CRITERIA))}, or a metric; {why}"
        ) from None
    return _of_metric(found)


def _of_metric(m: Metric) -> Criterion:
    if m.direction not in ("higher", "lower"):
        raise InputError(
            f"A criterion needs a direction; {m.name!r} is neither better when high "
            f"nor when low."
        )
    sign = 1.0 if m.direction == "higher" else -1.0

    def value(sens: Array, spec: Array, phi: Array) -> Array:
        # sums that are 0 or 1 but for rounding, where a metric may be undefined
        sens, spec = (
            np.where(np.abs(x - np.rint(x)) < TIE, np.rint(x), x) for x in (sens, spec)
        )
        pos, neg = phi, 1 - phi
        c = Confusion(pos * sens, neg * (1 - spec), pos * (1 - sens), neg * spec)
        return np.asarray(sign * np.nan_to_num(m(c), nan=-sign * np.inf), np.float64)

    if _is_linear(value):
        return Criterion(m.name, value, "linear", sign)
    if m.shape == "product":
        return Criterion(m.name, value, "product")
    if m.terms is None or len(m.terms) == 1:
        return Criterion(m.name, value, "convex", sign, ratio=m.ratio)
    # a direction is that of every part, so all of them turn round together
    parts = tuple((abs(w), _of_metric(part)) for w, part in m.terms)
    return Criterion(m.name, value, "sum of several", sign, parts, sign * m.constant)


def _is_linear(value: Value) -> bool:
    """Is this a plane over both rates? Tried at points in general position."""
    sens = np.array([0, 1, 0, 0.37, 0.81, 0.12, 0.95, 0.5, 0.23])
    spec = np.array([0, 0, 1, 0.59, 0.17, 0.93, 0.88, 0.5, 0.04])
    for phi in (0.271, 0.618):
        found = value(sens, spec, np.asarray(phi))
        if not np.isfinite(found).all():
            return False
        plane = found[0] + (found[1] - found[0]) * sens + (found[2] - found[0]) * spec
        if not np.allclose(found, plane, rtol=0, atol=1e-12 * np.abs(found).max()):
            return False
    return True


# the paper's four: Keith, Davey, Boyd 2012, Methods
CRITERIA: dict[str, Value] = {
    "product": lambda sens, spec, phi: sens * spec,
    "squares": lambda sens, spec, phi: sens**2 + spec**2,
    "sum": lambda sens, spec, phi: sens + spec,
    "min": lambda sens, spec, phi: np.minimum(sens, spec),
}
SHAPES = {"product": "product", "squares": "convex", "sum": "linear", "min": "min"}
# lowest and highest slopes, with sensitivity in [s, t] and specificity in [p, q]
SLOPE_LIMITS: dict[str, Any] = {
    "product": lambda s, t, p, q: ((p, s), (q, t)),
    "min": lambda s, t, p, q: ((t < p, s > q), (s <= q, t >= p)),
}


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
        stop_if_requested()
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
        stop_if_requested()
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
        stop_if_requested()
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
