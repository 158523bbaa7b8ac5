r"""Which metrics are linear in the counts, or quotients of linear functions?

Searches over several cuts, and 0-1 programs, need metrics of that kind. A linear form

.. math:: w_1 TP + w_2 FP + c

is kept as an array of its weights and its constant, in fractions: false negatives and
true negatives are what remains of the class sizes, so two counts say all of one cut,
and four all of two cuts. The formula of a metric is code; its coefficients are read off
its values, exactly. A bound on a quotient becomes linear rows that must not be
negative, and a quotient is maximised by Dinkelbach's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Ints
from trueness._core.checks.errors import InputError
from trueness._core.solvers import largest_quotient
from trueness.metrics.algebra import Constraint, Metric, as_fraction
from trueness.metrics.algebra import quotient as exact_quotient
from trueness.threshold.cuts import Cuts

# weights of tp and fp (of each cut, the upper one first), then a constant
LinearForm = NDArray[np.object_]
# how many counts say all of one cut, and of two
ONE_CUT, TWO_CUTS = 2, 4

Solution = TypeVar("Solution")


class Quotient(NamedTuple):
    """A quotient of two linear forms; a constant denominator is 1."""

    numerator: LinearForm
    denominator: LinearForm

    @property
    def is_linear(self) -> bool:
        """Return whether the denominator is the same at every cut."""
        return is_constant(self.denominator)


def linear_form(weights_and_constant: Iterable[Any]) -> LinearForm:
    """Return weights and a constant, in exact numbers, as a linear form."""
    return np.array(list(weights_and_constant), dtype=object)


def is_constant(form: LinearForm) -> bool:
    """Return whether the form has the same value at every cut."""
    return not form[:-1].any()


def evaluate_form(form: LinearForm, *counts: int) -> Any:
    """Return the value of a form, in exact numbers."""
    return form @ linear_form([*counts, 1])


def in_whole_numbers(form: LinearForm) -> LinearForm:
    """Return the form times its common denominator."""
    common = math.lcm(*(weight.denominator for weight in form))
    return linear_form(int(weight * common) for weight in form)


def at_least_one(form: LinearForm) -> LinearForm:
    """Return a row that is not negative exactly where the form is above zero.

    In whole numbers, above zero is at least one.
    """
    row = in_whole_numbers(form)
    row[-1] -= 1
    return row


def quotient_of_metric(
    metric: Metric, cuts: Cuts, n_counts: int, refusal: str
) -> Quotient:
    """Return a metric as a quotient of linear forms of the counts of its cuts.

    ``n_counts`` is ``ONE_CUT`` or ``TWO_CUTS``. A metric that is no such quotient is
    refused by the message ``refusal``, which has a place for its name.
    """
    zeros = [0] * n_counts
    total: Quotient | None = Quotient(
        numerator=linear_form([*zeros, as_fraction(metric.constant)]),
        denominator=linear_form([*zeros, 1]),
    )
    for weight, part in metric.parts:
        term = _quotient_of_part(part, cuts, n_counts)
        if total is not None and term is not None:
            total = _add_term(total, as_fraction(weight), term)
        else:
            total = None

    if total is None:
        raise InputError(refusal.format(metric.name))
    return total


def _quotient_of_part(term: Metric, cuts: Cuts, n_counts: int) -> Quotient | None:
    """Return the coefficients of a metric, from its values; None if not linear."""
    # no case, one case of each count, and all sums of two of these: a polynomial of
    # degree two has no more coefficients. The first values give the weights of a
    # linear function, the others refute one that is not.
    units = np.eye(n_counts, dtype=np.int64)
    sums_of_two = [
        first + second for first, second in combinations_with_replacement(units, 2)
    ]
    points = np.vstack([0 * units[:1], units, sums_of_two])

    values = _exact_numerator_and_denominator(term, cuts, points)
    if values is None:
        return None

    numerator = _form_through_values(points, values[0])
    denominator = _form_through_values(points, values[1])
    if numerator is None or denominator is None:
        return None

    # the same denominator looks the same in all metrics
    constant = is_constant(denominator)
    divisor = denominator[-1] if constant else math.gcd(*denominator)
    return Quotient(
        numerator=numerator * Fraction(1, divisor),
        denominator=denominator * Fraction(1, divisor),
    )


def _form_through_values(
    points: Ints, values: NDArray[np.object_]
) -> LinearForm | None:
    """Return the linear form that has these values, or None if none has."""
    n_counts = points.shape[1]
    # the first point has no case, each of the next ones a single case
    constant = values[0]
    form = linear_form([*(values[1 : n_counts + 1] - constant), constant])

    # a column of ones for the constant
    points_and_one = np.pad(points, ((0, 0), (0, 1)), constant_values=1).astype(object)
    if (points_and_one @ form != values).any():
        return None
    return form


def _exact_numerator_and_denominator(
    term: Metric, cuts: Cuts, points: Ints
) -> tuple[NDArray[np.object_], NDArray[np.object_]] | None:
    """Return both parts of a metric at these counts; None if they are not exact."""
    # with one cut the upper and the lower one are the same
    counts = points.T
    tp, fp, _, _ = cuts.counts(*counts[:2])
    tp_of_lower, fp_of_lower, fn, tn = cuts.counts(*counts[-2:])

    # the deferred cases are a part of all cases; other metrics are of decided ones
    deferred = tp_of_lower + fp_of_lower - tp - fp
    # adding zeros makes a column of a number, of Python's own whole numbers
    zeros = 0 * tp
    positives = zeros + cuts.n_pos * cuts.positive_weight
    negatives = zeros + cuts.n_neg * cuts.negative_weight
    counts_by_name = {
        "deferred": deferred,
        "cases": positives + negatives,
        "positives": positives,
        "negatives": negatives,
    }
    if term.name in counts_by_name:
        return counts_by_name[term.name], zeros + cuts.divisor
    if term.name == "defer":
        return deferred, positives + negatives
    if term.root or not term.is_exact:
        return None
    return exact_quotient(term, (tp, fp, fn, tn), cuts.divisor)


def _add_term(total: Quotient, weight: Fraction, term: Quotient) -> Quotient | None:
    """Return the total with a weighted term; None if it is no quotient any more.

    A sum of two quotients is one of linear forms only if they share the denominator, or
    if one of them is a constant.
    """
    if not weight:
        return total

    added = Quotient(term.numerator * weight, term.denominator)
    if (total.denominator == added.denominator).all():
        return Quotient(total.numerator + added.numerator, total.denominator)

    # a linear function beside a quotient: the quotient first
    if total.is_linear:
        total, added = added, total
    if added.is_linear and is_constant(added.numerator):
        # a/b + c = (a + c b) / b
        constant = added.numerator[-1]
        return Quotient(
            total.numerator + total.denominator * constant, total.denominator
        )
    return None


def constraint_form(constraint: Constraint, quotient: Quotient) -> LinearForm:
    """Return the form that is not negative where a quotient meets its bound.

    With a positive denominator, a/b >= c is a - c b >= 0.
    """
    numerator, denominator = quotient
    excess: LinearForm = numerator - denominator * as_fraction(constraint.bound)
    return excess if constraint.upward else -excess


def constraint_rows(constraint: Constraint, quotient: Quotient) -> list[LinearForm]:
    """Return rows that are not negative where a quotient is defined and meets a bound.

    The first says that the denominator is above zero, the second is the bound.
    """
    form = constraint_form(constraint, quotient)
    bound_row = at_least_one(form) if constraint.strict else in_whole_numbers(form)
    return [at_least_one(quotient.denominator), bound_row]


class LargestQuotient(NamedTuple):
    """The largest value of a quotient, what has it, and what proves that."""

    value: Any
    solution: Any
    proof: Any  # the solution of the last search: no difference is above zero
    searches: int


def maximize_quotient(
    quotient: Quotient,
    maximize_form: Callable[[LinearForm], Solution],
    value_of: Callable[[Solution], Any],
) -> LargestQuotient:
    """Return the largest value of a quotient when linear forms can be maximised.

    One search is enough for a linear function; quotients take Dinkelbach's steps.
    """
    numerator, denominator = quotient
    if quotient.is_linear:
        solution = maximize_form(numerator)
        return LargestQuotient(value_of(solution), solution, solution, searches=1)

    return LargestQuotient(
        *largest_quotient(
            lambda value: maximize_form(numerator - denominator * value), value_of
        )
    )
