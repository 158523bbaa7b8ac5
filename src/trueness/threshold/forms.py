r"""Which metrics are a weighted sum of counts, or one quotient of such sums?

Searches over several cuts at once, and programs, can hold nothing else. The sizes of
the classes are known, so that the true and the false positives at a cut say all about
it, and those at an upper and a lower cut all about the zones of a pair:

========  ==================================  =======================================
one cut   tp, fp                              ``milp``, ``decisions``; ``group_cuts``
two cuts  tp, fp at the upper, then at the    ``zones``
          lower cut
========  ==================================  =======================================

The formula of a metric is code and not coefficients, which are therefore read off its
values. Everything is in fractions, or in whole numbers, and nothing is rounded.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from trueness._core.checks.errors import InputError
from trueness.metrics import exact
from trueness.metrics.algebra import Constraint, Metric, as_fraction
from trueness.threshold.cuts import Cuts

ONE_CUT, TWO_CUTS = 2, 4  # how many counts say all


class LinearForm(tuple[Any, ...]):
    """A weighted sum of counts; the last entry is a constant that is added."""

    __slots__ = ()

    @property
    def const(self) -> Any:
        """What is added to the counts?"""
        return self[-1]

    @property
    def is_constant(self) -> bool:
        """Is it the same at every cut?"""
        return not any(self[:-1])

    def plus(self, other: LinearForm, times: Any = 1) -> LinearForm:
        """Give ``self + times * other``."""
        return LinearForm(a + times * b for a, b in zip(self, other, strict=True))

    def times(self, factor: Any) -> LinearForm:
        """Give ``factor * self``."""
        return LinearForm(factor * a for a in self)

    def at(self, *counts: Any) -> Any:
        """Evaluate it."""
        return sum(w * n for w, n in zip(self, (*counts, 1), strict=True))

    def whole(self) -> LinearForm:
        """Multiply by the common denominator."""
        unit = math.lcm(*(w.denominator for w in self))
        return LinearForm(int(w * unit) for w in self)


class LinearQuotient(NamedTuple):
    """A quotient of weighted sums of counts; a denominator that is fixed is one."""

    over: LinearForm
    under: LinearForm

    def whole(self) -> LinearQuotient:
        """Give the same quotient in the smallest whole numbers."""
        both = LinearForm((*self.over, *self.under)).whole()
        both = LinearForm(w // math.gcd(*both) for w in both)
        size = len(self.over)
        return LinearQuotient(LinearForm(both[:size]), LinearForm(both[size:]))


def quotient(metric: Metric, cuts: Cuts, size: int, refusal: str) -> LinearQuotient:
    """Write a metric as a quotient of sums of the counts at one cut, or at two.

    ``refusal`` says what is needed, where the metric (``{}``) is none.
    """
    constant = LinearForm([0] * size + [as_fraction(metric.constant)])
    total: LinearQuotient | None = LinearQuotient(constant, _one(size))
    for weight, part in metric.parts:
        term = _read(part, cuts, size)
        total = total and term and _added(total, as_fraction(weight), term)
    if total is None:
        raise InputError(refusal.format(metric.name))
    return total


def _one(size: int) -> LinearForm:
    return LinearForm([Fraction(0)] * size + [Fraction(1)])


def _read(part: Metric, cuts: Cuts, size: int) -> LinearQuotient | None:
    """Read the coefficients off values; None when the formula is not linear.

    Nothing, one of each count, and all sums of two of these: a polynomial of degree two
    has no more coefficients. The first values give the candidate, the others refute it.
    """
    eye = np.eye(size, dtype=np.int64)
    two = [a + b for a, b in combinations_with_replacement(eye, 2)]
    points = np.vstack([0 * eye[:1], eye, two])
    found = _values(part, cuts, points)
    if found is None:
        return None
    forms = [LinearForm([*(v[1 : size + 1] - v[0]), v[0]]) for v in found]
    for form, values in zip(forms, found, strict=True):
        if [form.at(*p) for p in points.tolist()] != list(values):
            return None
    over, under = forms
    # the same denominator looks the same in all metrics
    unit = under.const if under.is_constant else math.gcd(*under)
    return LinearQuotient(*(f.times(Fraction(1, unit)) for f in (over, under)))


def _values(part: Metric, cuts: Cuts, points: Any) -> tuple[Any, Any] | None:
    """Give numerator and denominator of a metric at some counts, if they are exact."""
    s, upper, lower = cuts.scale, points.T[:2], points.T[-2:]  # one cut is both
    tp, fp, _, _ = s.counts(upper[0], upper[1], cuts.n_pos, cuts.n_neg)
    *found, fn, tn = s.counts(lower[0], lower[1], cuts.n_pos, cuts.n_neg)
    doubt = sum(found) - tp - fp
    # of all cases the deferred ones are part, every other metric is about decided ones
    pos, neg = 0 * tp + cuts.n_pos * s.up, 0 * tp + cuts.n_neg * s.down
    known = {"deferred": doubt, "cases": pos + neg, "positives": pos, "negatives": neg}
    if part.name in known:
        return known[part.name], 0 * tp + s.unit
    if part.name == "defer":
        return doubt, pos + neg
    if part.root or not exact.is_exact(part):
        return None
    return exact.quotient(part, (tp, fp, fn, tn), s.unit)


def _added(
    total: LinearQuotient, weight: Fraction, term: LinearQuotient
) -> LinearQuotient | None:
    """Add a weighted term; None when the sum is no quotient of this kind.

    A sum of two true quotients would have a product of denominators, which is not
    linear in the counts.
    """
    (a, b), (c, d) = total, LinearQuotient(term.over.times(weight), term.under)
    if not weight:
        return total
    if b == d:
        return LinearQuotient(a.plus(c), b)
    if b.is_constant:  # the constant first: a/b + c = (a + c b) / b
        (a, b), (c, d) = (c, d), (a, b)
    if d.is_constant and c.is_constant:
        return LinearQuotient(a.plus(b, c.const), b)
    return None


def row(form: LinearForm, strict: bool = False) -> LinearForm:
    """Write in whole numbers that a form is not negative; above zero is one or more."""
    *weights, const = form.whole()
    return LinearForm([*weights, const - strict])


def lead(constraint: Constraint, q: LinearQuotient) -> LinearForm:
    """Write a bound on a quotient as a form that must not be negative.

    over / under >= b is over - b under >= 0 for a denominator above zero.
    """
    above = q.over.plus(q.under, -as_fraction(constraint.bound))
    return above if constraint.upward else above.times(-1)


def rows_of(constraint: Constraint, q: LinearQuotient) -> list[LinearForm]:
    """Write a constraint as rows: the denominator is above zero, and the bound."""
    return [row(q.under, strict=True), row(lead(constraint, q), constraint.strict)]
