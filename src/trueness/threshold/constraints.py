"""What is maximised, what is bounded, and among which cases?

=====================  ================================================================
all decided cases      ``"recall >= 0.9"``
``above``, ``below``   ``"npv below >= 0.99"``: the upper or lower cut as if alone
``gap``, ``ratio``     ``"recall_gap <= 0.02"``: largest - smallest of the groups
``min``, ``max``       ``"fpr_max <= 0.2"``: every group
=====================  ================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array
from trueness._core.checks.errors import InputError
from trueness.metrics.algebra import Constraint, Metric, as_fraction
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import (
    CONSTRAINTS,
    known_names,
    metric_of_option,
    one_or_more,
)
from trueness.metrics.grammar import constraint as read_constraint
from trueness.metrics.grammar import metric as read_metric

ConstraintLike = str | Constraint
# what is maximised when nothing is said
DEFAULT_OBJECTIVE = "youden"

# scopes of a constraint, beside "" for all decided cases
SIDES = ("above", "below")
GROUPS = ("gap", "ratio", "min", "max")

_SIDE_PATTERN = re.compile(
    r"^\s*(?P<name>.+?)\s+(?P<scope>above|below)\s*(?P<rest>[<>].+)$"
)
_GROUP_PATTERN = re.compile(
    r"^\s*(?P<name>[A-Za-z_]\w*?(\([^)]*\))?)_(?P<scope>gap|ratio|min|max)"
    r"\s*(?P<rest>[<>].+)$"
)
_TWO_CUTS_PATTERN = re.compile(r"\bdefer(red)?\b|\s(above|below)\s*[<>]")


class ScopedConstraint(NamedTuple):
    """A constraint, and the scope in which it must hold.

    The scope is ``""`` (all decided cases), one of ``SIDES``, or one of ``GROUPS``.
    """

    constraint: Constraint
    scope: str = ""

    @property
    def metric(self) -> Metric:
        """Return the metric that is bounded."""
        return self.constraint.metric

    @property
    def suffix(self) -> str:
        """Return what follows the name of the metric: ``_gap``, `` above``."""
        if not self.scope:
            return ""
        separator = "_" if self.scope in GROUPS else " "
        return separator + self.scope

    @property
    def name(self) -> str:
        """Return the name of the quantity that is bounded."""
        return self.metric.name + self.suffix

    def __str__(self) -> str:
        """Return the constraint as it is typed."""
        sign = f" {self.constraint.sign} "
        return repr(self.constraint).replace(sign, self.suffix + sign, 1)

    @property
    def compares_groups(self) -> bool:
        """Return whether it is about the difference, or the ratio, between groups."""
        return self.scope in ("gap", "ratio")

    @property
    def range(self) -> tuple[float, float]:
        """Return the smallest and the largest value that the quantity can have."""
        low, high = self.metric.range
        if self.scope == "gap":
            return 0.0, high - low
        if self.scope == "ratio":
            return 0.0, 1.0
        return low, high

    def summarize_groups(self, values: ArrayLike | Sequence[Fraction | float]) -> Any:
        """Return the gap, ratio, minimum or maximum of groups, along the first axis."""
        values = np.asarray(values)
        smallest = values.min(axis=0)
        largest = values.max(axis=0)
        if self.scope == "min":
            return smallest
        if self.scope == "max":
            return largest

        with np.errstate(divide="ignore", invalid="ignore"):
            if self.scope == "gap":
                return largest - smallest
            return smallest / largest

    def is_met_by(self, value: Any) -> Any:
        """Say where values meet the bound; exactly where a value is a fraction."""
        if not isinstance(value, Fraction):
            return self.constraint.decide(value)
        exact_bound: Any = as_fraction(self.constraint.bound)
        exact = Constraint(self.metric, self.constraint.sign, exact_bound)
        return exact.decide(value)  # type: ignore[arg-type]

    def evaluate(self, cells: Array) -> Any:
        """Return the bounded quantity for cells (..., groups, zones, 2).

        The zones are flagged, deferred and cleared; the last axis has the positives
        and the negatives of each.
        """
        if self.scope in GROUPS:
            return self.summarize_groups(_metric_of_groups(self.metric, cells))

        zones = cells.sum(axis=-3)
        tp, fp = _positives_and_negatives(zones, zone=0)
        deferred_pos, deferred_neg = _positives_and_negatives(zones, zone=1)
        fn, tn = _positives_and_negatives(zones, zone=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.scope == "above":
                # the upper cut alone clears what is deferred
                upper = Confusion(tp, fp, fn + deferred_pos, tn + deferred_neg)
                return self.metric(upper)
            if self.scope == "below":
                lower = Confusion(tp + deferred_pos, fp + deferred_neg, fn, tn)
                return self.metric(lower)
            decided = Confusion(tp, fp, fn, tn)
            return _metric_of_zones(self.metric, decided, deferred_pos, deferred_neg)


def _positives_and_negatives(zones: Array, zone: int) -> tuple[Array, Array]:
    return zones[..., zone, 0], zones[..., zone, 1]


def _metric_of_groups(metric: Metric, cells: Array) -> Array:
    """Return the metric of each group, along the first axis; groups defer nothing."""
    # zones 0 and 2, positives and negatives of each: tp, fp, fn, tn
    flagged_and_cleared = cells[..., ::2, :].reshape(*cells.shape[:-2], 4)
    # the four counts first, as arguments
    values = metric(Confusion(*np.moveaxis(flagged_and_cleared, -1, 0)))
    return np.moveaxis(np.asarray(values), -1, 0)


def _metric_of_zones(
    metric: Metric, decided: Confusion, deferred_pos: Array, deferred_neg: Array
) -> Any:
    """Return a metric of the decided cases, in which deferred ones may be counted."""
    deferred = deferred_pos + deferred_neg
    positives = decided.tp + deferred_pos + decided.fn
    negatives = decided.fp + deferred_neg + decided.tn
    cases = positives + negatives
    counts_by_name = {
        "deferred": deferred,
        "defer": deferred / cases,
        "cases": cases,
        "positives": positives,
        "negatives": negatives,
    }

    total = 0
    for weight, term in metric.parts:
        if term.name in counts_by_name:
            value = counts_by_name[term.name]
        else:
            value = term(decided)
        total = total + weight * value

    return metric.constant + total


def read_scoped_constraints(
    subject_to: ConstraintLike | Iterable[ConstraintLike] | None,
    scopes: tuple[str, ...],
) -> tuple[ScopedConstraint, ...]:
    """Read constraints that may be about one side (``SIDES``), or about ``GROUPS``."""
    if subject_to is None:
        return ()

    if scopes is SIDES:
        example = ["defer <= 0.1"]
        read_one = _read_sided
    else:
        example = ["recall_gap <= 0.1"]
        read_one = _read_grouped

    constraints = one_or_more(subject_to, "subject_to", CONSTRAINTS, example)
    return tuple(read_one(constraint) for constraint in constraints)


def _read_sided(text_or_constraint: ConstraintLike) -> ScopedConstraint:
    """Return a constraint with the side that it names, or of both sides."""
    match = None
    if isinstance(text_or_constraint, str):
        match = _SIDE_PATTERN.match(text_or_constraint)
    if match is None:
        return ScopedConstraint(read_constraint(text_or_constraint))

    constraint = read_constraint(f"{match['name']} {match['rest']}")
    return ScopedConstraint(constraint, match["scope"])


def _read_grouped(text_or_constraint: ConstraintLike) -> ScopedConstraint:
    """Return a constraint with its bound on groups, or of all cases."""
    match = None
    if isinstance(text_or_constraint, str):
        match = _match_group_scope(text_or_constraint)
    if match is None:
        return ScopedConstraint(read_constraint(text_or_constraint))

    constraint = read_constraint(f"{match['name']} {match['rest']}")
    scoped = ScopedConstraint(constraint, match["scope"])
    _check_group_bound(scoped, str(text_or_constraint))
    return scoped


def _match_group_scope(text: str) -> re.Match[str] | None:
    """Return the parts of ``"recall_gap <= 0.1"``; None for another constraint."""
    match = _GROUP_PATTERN.match(text)
    # odds_ratio is a metric of its own
    if match is None or f"{match['name']}_{match['scope']}" in known_names():
        return None
    return match


def _check_group_bound(scoped: ScopedConstraint, text: str) -> None:
    """Refuse a gap that must be large, and bounds that no gap or ratio can have."""
    scope = scoped.scope
    constraint = scoped.constraint
    # a gap or a maximum is bounded from above
    bounded_from_below = scope in ("ratio", "min")
    if constraint.upward is not bounded_from_below:
        sign = ">=" if bounded_from_below else "<="
        direction = "at least" if bounded_from_below else "at most"
        raise InputError(
            f"{scoped.name} can only be required to be {direction} a number; found "
            f"{text!r}.",
            option="subject_to",
            example=f"{scoped.name} {sign} {constraint.bound:g}",
        )

    impossible_gap = scope == "gap" and constraint.bound < 0
    impossible_ratio = scope == "ratio" and not 0 < constraint.bound <= 1
    if impossible_gap or impossible_ratio:
        raise InputError(
            f"A gap is bounded by zero or more, a ratio by a number between 0 and 1; "
            f"found {text!r}.",
            option="subject_to",
        )


def asks_for_groups(subject_to: str | Constraint | Iterable[str | Constraint]) -> bool:
    """Return whether some constraint is about groups: each, or their difference."""
    several = [subject_to] if isinstance(subject_to, str) else subject_to
    if not isinstance(several, (list, tuple)):
        return False
    # an argument may be a column of many names: its head is enough
    return any(
        isinstance(text, str) and _match_group_scope(text) for text in several[:1000]
    )


def asks_for_two_cuts(objectives_and_constraints: Iterable[Any]) -> bool:
    """Return whether objective or constraints are about deferred cases, or one side."""
    texts = (
        getattr(passed, "name", None) or str(passed)
        for passed in objectives_and_constraints
        if passed is not None
    )
    return any(_TWO_CUTS_PATTERN.search(text) for text in texts)


class Objective(NamedTuple):
    """A metric as it was asked for, and the metric to maximise for it."""

    shown: Metric
    maximized: Metric

    @property
    def sign(self) -> int:
        """Return -1 where the metric that was asked for is minimised, else 1."""
        return 1 if self.maximized is self.shown else -1

    def __str__(self) -> str:
        """Return the objective in words: ``maximize f1``."""
        verb = "maximize" if self.maximized is self.shown else "minimize"
        return f"{verb} {self.shown.name}"


def read_objective(
    maximize: str | Metric | None, minimize: str | Metric | None
) -> Objective:
    """Return what is maximised or minimised; Youden's index by default."""
    if minimize is None:
        objective = DEFAULT_OBJECTIVE if maximize is None else maximize
        shown = metric_of_option(objective, "maximize")
        return Objective(shown, shown)

    is_default = isinstance(maximize, str) and maximize == DEFAULT_OBJECTIVE
    if maximize is not None and not is_default:
        raise InputError(
            f"Set either maximize or minimize, not both; found {maximize!r} and "
            f"{minimize!r}. For two objectives, use a Pareto front.",
            option="maximize",
        )

    shown = metric_of_option(minimize, "minimize")
    return Objective(shown, -shown)


def without_deferral_cost(objective: str | Metric) -> Metric | None:
    """Return an objective without its cost of deferred cases: that of a single cut.

    None where nothing else is in it.
    """
    metric = read_metric(objective)
    terms = [
        weight * term
        for weight, term in metric.parts
        if term.name not in ("defer", "deferred")
    ]
    if not terms:
        return None
    # from the first term on, since a metric cannot be added to 0
    return sum(terms[1:], terms[0]) + metric.constant
