"""Are two values of a metric equal, or only close?

Metrics are quotients of polynomials in the counts, so that is answered in Python's
integers, with the numbers of a formula taken as they were typed (0.9 is nine tenths).
Only sums that mix square roots (``mcc``, ``g_mean``) with other terms are compared to
30 digits instead. Only what floating point cannot decide comes here.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array
from trueness._core.checks.errors import NotEnoughCases
from trueness.metrics.algebra import Constraint, Metric, as_fraction

# digits to which sums with square roots are compared
DIGITS = 30


class Scale(NamedTuple):
    """By which whole numbers do counts become those of another prevalence?

    A positive case counts ``up / unit``, a negative one ``down / unit``.
    """

    up: int = 1
    down: int = 1
    unit: int = 1

    def counts(self, tp: Array, fp: Array, n_pos: int, n_neg: int) -> tuple[Any, ...]:
        """Give tp, fp, fn, tn in Python's integers, ``unit`` times too large."""
        tp, fp = tp.astype(object), fp.astype(object)
        up, down = self.up, self.down
        return tp * up, fp * down, (n_pos - tp) * up, (n_neg - fp) * down


def scale_to(prevalence: float | None, n_pos: int, n_neg: int) -> Scale:
    """Scale counts to a prevalence, the number of cases staying the same."""
    if prevalence is None:
        return Scale()
    if not (n_pos and n_neg):
        raise NotEnoughCases(
            "Another prevalence needs a positive and a negative case; found "
            f"{n_pos:,} positives and {n_neg:,} negatives."
        )
    share, n = as_fraction(prevalence), n_pos + n_neg
    up, down = share * n / n_pos, (1 - share) * n / n_neg
    unit = math.lcm(up.denominator, down.denominator)
    return Scale(int(up * unit), int(down * unit), unit)


class Values(NamedTuple):
    """What a metric is at some cuts: exact quotients with denominators above zero.

    With ``root`` they are squares with the sign of the metric.
    """

    over: Any
    under: Any
    root: bool = False

    def best(self) -> NDArray[np.bool_]:
        """Which entries are the largest?"""
        at = 0
        while True:
            # a/b > c/d is ad > cb for denominators above zero: no division, no rounding
            lead = self.over * self.under[at] - self.over[at] * self.under
            if not (lead > 0).any():
                return np.asarray(lead == 0, dtype=bool)
            at = int(np.argmax((lead / self.under).astype(np.float64)))

    def against(self, bound: Fraction) -> Any:
        """Give numbers with the sign of metric - bound."""
        if self.root:
            bound = bound * abs(bound)
        return self.over * bound.denominator - bound.numerator * self.under


def is_exact(metric: Metric) -> bool:
    """Can the metric be compared in whole numbers?"""
    if metric.terms is not None:
        return all(is_exact(part) for _, part in metric.terms)
    return metric.ratio is not None or metric.exact is not None


def evaluate(metric: Metric, counts: tuple[Any, ...], unit: int) -> Values:
    """Evaluate a metric, without its constant, of counts ``unit`` times too large."""
    terms = [
        (as_fraction(w), _positive(*quotient(part, counts, unit), part.root))
        for w, part in metric.parts
    ]
    if len(terms) == 1:
        weight, value = terms[0]
        if value.root:
            weight = weight * abs(weight)
        over, under = value.over * weight.numerator, value.under * weight.denominator
        return _positive(over, under, value.root)
    zero = 0 * counts[0]
    if any(value.root for _, value in terms):  # rounded to ``DIGITS`` digits
        total = zero
        for weight, value in terms:
            pairs = zip(value.over, value.under, strict=True)
            exact = [weight * _real(Fraction(a, b), value.root) for a, b in pairs]
            total = total + np.array(exact, dtype=object)
        whole = np.array([round(x * 10**DIGITS) for x in total], dtype=object)
        return Values(whole, 0 * whole + 10**DIGITS)
    # over/under + (a/b) (o/u) = (over b u + a o under) / (under b u)
    over, under = zero, zero + 1
    for weight, value in terms:
        a, b = weight.numerator, weight.denominator
        over = over * (b * value.under) + a * value.over * under
        under = under * (b * value.under)
    return Values(over, under)


def quotient(metric: Metric, counts: tuple[Any, ...], unit: int) -> tuple[Any, Any]:
    """Give numerator and denominator of a metric that is not a sum."""
    if metric.ratio is None:
        assert metric.exact is not None  # noqa: S101 - is_exact was asked before
        return metric.exact(*counts)
    over, under = metric.ratio
    top, a = _dot(over, counts)
    if under is None:
        return top, 0 * top + unit * a
    bottom, b = _dot(under, counts)
    return top * b, bottom * a


def _dot(weights: tuple[float, ...], counts: tuple[Any, ...]) -> tuple[Any, int]:
    """Give a weighted sum of counts as a whole number, and how many times too large."""
    exact = [as_fraction(w) for w in weights]
    times = math.lcm(*(w.denominator for w in exact))
    parts = (int(w * times) * n for w, n in zip(exact, counts, strict=True) if w)
    return sum(parts, 0 * counts[0]), times


def _positive(over: Array, under: Array, root: bool = False) -> Values:
    flip = np.where(under < 0, -1, 1).astype(object)
    return Values(over * flip, under * flip, root)


def _real(value: Fraction, root: bool) -> Fraction:
    if not root:
        return value
    # ten digits more than are compared; a square of a fraction comes out exactly
    unit = 10 ** (DIGITS + 10)
    size = abs(value)
    # sqrt(a / b) = sqrt(a b) / b, the root of a whole number with so many digits
    whole = math.isqrt(size.numerator * size.denominator * unit * unit)
    return Fraction(whole if value >= 0 else -whole, size.denominator * unit)


def meets(constraint: Constraint, values: Values) -> NDArray[np.bool_]:
    """At which entries does the constraint hold, exactly?"""
    m = constraint.metric
    bound = as_fraction(constraint.bound) - as_fraction(m.constant)
    # the sign of metric - bound, turned round where the bound is one from above
    lead = values.against(bound) * (1 if constraint.upward else -1)
    return np.asarray(lead > 0 if constraint.strict else lead >= 0, dtype=bool)
