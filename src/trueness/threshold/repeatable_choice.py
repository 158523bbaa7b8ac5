"""A choice that can be made again: of one cut, of two, or of one for each group.

Validation repeats a choice on bootstrap samples and measures quantities of it; here
stands what it needs to know of each kind of choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint, Metric, depends_on_prevalence
from trueness.metrics.definitions import METRICS
from trueness.threshold.constraints import (
    DEFAULT_OBJECTIVE,
    GROUPS,
    SIDES,
    ConstraintLike,
    Objective,
    ScopedConstraint,
    read_objective,
    read_scoped_constraints,
)
from trueness.threshold.cuts import unit_of
from trueness.threshold.expected_constraints import name_stated_constraints
from trueness.threshold.group_cuts import group_thresholds
from trueness.threshold.group_optimum import choose_groups_again
from trueness.threshold.operating_point import best_threshold, choose_cut_again
from trueness.threshold.prevalences import (
    Prevalences,
    UsePrevalence,
    prevalence_of_use,
    prevalences_to_try,
)
from trueness.threshold.repeated_choices import Chooser
from trueness.threshold.zones import best_thresholds, choose_zones_again

# rows that a choice is repeated on: neighbouring scores are pooled, since where exactly
# a repeated choice lies between them moves its value by far less than chance does
ROWS_OF_SWEEPS = 1000
ROWS_OF_SEARCHES = 200  # where each sample needs a search of its own


# from cells to values of a quantity
Measure = Callable[[Array], Any]


class Aim(NamedTuple):
    """What a choice is to make best, and under which constraints."""

    maximize: str | Metric | None
    minimize: str | Metric | None
    subject_to: Sequence[ConstraintLike]

    @property
    def objective(self) -> Objective:
        """Return the metric that is maximised or minimised."""
        return read_objective(self.maximize, self.minimize)

    @property
    def maximize_or_default(self) -> str | Metric:
        """Return what is maximised; Youden's index where nothing was said."""
        return DEFAULT_OBJECTIVE if self.maximize is None else self.maximize


@dataclass(frozen=True)
class RepeatableChoice:
    """A choice that can be made again, and the quantities that are measured of it.

    A quantity is a metric with the scope in which it is measured: a constraint, of
    which the bound is not looked at.

    Attributes
    ----------
    tallies
        One tally of all cases, or one of each group.
    cut_names
        The names of the cuts of a group, the highest first.
    shown
        Quantities that are measured besides the objective and the constraints.
    """

    choice: Any
    tallies: dict[str, Tally]
    cut_names: tuple[str, ...]
    choose: Chooser
    objective: Objective
    shown: Iterable[ScopedConstraint]
    constraints: tuple[ScopedConstraint, ...]
    prevalence_text: str
    note: str
    prevalence: UsePrevalence | None = None
    most_rows: int = ROWS_OF_SEARCHES

    @property
    def quantities(self) -> dict[str, ScopedConstraint]:
        """Return all that is measured, by name."""
        objective = _quantity(self.objective.shown)
        return {
            quantity.name: quantity
            for quantity in (*self.shown, *self.constraints, objective)
        }

    @property
    def plain_constraints(self) -> tuple[Constraint, ...]:
        """Return the constraints without their scopes, which one cut has not."""
        return tuple(scoped.constraint for scoped in self.constraints)

    @property
    def prevalences(self) -> list[float | None]:
        """Return the prevalences at which everything is measured."""
        if self.prevalence is None:
            return [None]
        return [*self.prevalence.ends]

    def measure(self, quantity: ScopedConstraint, prevalence: float | None) -> Measure:
        """Return the quantity as a function of cells, which are scaled first.

        Each group gets as many cases as it has, and each class as many as the
        prevalence says.
        """
        sizes = [float(tally.n_pos + tally.n_neg) for tally in self.tallies.values()]
        # (groups, zones, classes): by default all cells of a group are scaled alike
        cases: Floats = np.array(sizes)[:, None, None]
        axes: tuple[int, ...] = (-2, -1)
        if prevalence is not None:
            cases = cases * [prevalence, 1 - prevalence]
            # each class by itself, so that its zones keep their proportions
            axes = (-2,)

        def measure_cells(cells: Array) -> Any:
            total = cells.sum(axis=axes, keepdims=True)
            return quantity.evaluate(cells * (cases / np.where(total > 0, total, 1)))

        return measure_cells

    def value_in_use(self, quantity: ScopedConstraint, cells: Array) -> Any:
        """Return the quantity in use; of the objective the worst in a range."""
        if quantity.name != self.objective.shown.name:
            prevalence = None if self.prevalence is None else self.prevalence.value
            return self.measure(quantity, prevalence)(cells)
        values = [
            self.measure(quantity, prevalence)(cells) for prevalence in self.prevalences
        ]
        worst = np.min if self.objective.sign > 0 else np.max
        return worst(values, axis=0)


def _quantity(metric: Metric) -> ScopedConstraint:
    """Return a metric of all decided cases as a quantity; its bound plays no part."""
    return ScopedConstraint(metric >= 0)


def choice_of_groups(data: Mapping[Any, Tally], aim: Aim) -> RepeatableChoice:
    """Return the choice of one cut for each group."""
    objective = aim.objective
    constraints = read_scoped_constraints(aim.subject_to, GROUPS)
    choice = group_thresholds(
        data, aim.maximize_or_default, aim.subject_to, minimize=aim.minimize
    )
    tallies = {str(name): tally.labelled() for name, tally in data.items()}
    unit = unit_of(
        counts for tally in tallies.values() for counts in (tally.pos, tally.neg)
    )
    return RepeatableChoice(
        choice=choice,
        tallies=tallies,
        cut_names=("",),
        choose=partial(choose_groups_again, objective.maximized, constraints, unit),
        objective=objective,
        shown=[_quantity(metric) for metric in METRICS.values()],
        constraints=constraints,
        prevalence_text="that of the sample",
        note="Groups were resampled separately, each with its own number of cases.",
    )


_SHOWN_OF_ZONES = ("precision above", "npv below", "recall above", "fpr above", "defer")


def choice_of_zones(data: Tally, aim: Aim) -> RepeatableChoice:
    """Return the choice of two cuts, with deferred cases between them."""
    objective = aim.objective
    constraints = read_scoped_constraints(aim.subject_to, SIDES)
    _cases.both_classes(data, "validate_threshold")
    choice = best_thresholds(data, aim.maximize, aim.subject_to, minimize=aim.minimize)
    return RepeatableChoice(
        choice=choice,
        tallies={"": data.labelled()},
        cut_names=("upper", "lower"),
        choose=partial(
            choose_zones_again, objective.maximized, constraints, data.design.prevalence
        ),
        objective=objective,
        shown=read_scoped_constraints(
            [f"{quantity} >= 0" for quantity in _SHOWN_OF_ZONES], SIDES
        ),
        constraints=constraints,
        prevalence_text=f"{choice.prevalence:.4g}",
        note="Decisions by people on deferred cases are not included.",
        prevalence=prevalence_of_use(data),
    )


def choice_of_one_cut(
    data: Tally,
    aim: Aim,
    prevalences: Prevalences,
    required: Sequence[Constraint] | None = None,
) -> RepeatableChoice:
    """Return the choice of one cut for all cases.

    ``required`` are tightened constraints, by which the choice is made; what is
    measured and shown are the constraints as they were stated.
    """
    objective = aim.objective
    constraints = read_scoped_constraints(aim.subject_to, SIDES)
    _cases.both_classes(data, "validate_threshold")
    stated = [scoped.constraint for scoped in constraints]
    if required is None:
        required = stated
    choice = best_threshold(
        data,
        aim.maximize_or_default,
        required,
        minimize=aim.minimize,
        prevalences=prevalences,
    )
    choice = name_stated_constraints(choice, stated, required)

    labelled = data.labelled()
    prevalence = prevalence_of_use(data, prevalences)

    metrics = [objective.shown, *(scoped.metric for scoped in constraints)]
    to_try = prevalences_to_try(prevalence, metrics)

    prevalence_text, note = _describe_prevalence(labelled, prevalence)
    return RepeatableChoice(
        choice=choice,
        tallies={"": labelled},
        cut_names=("threshold",),
        choose=partial(choose_cut_again, objective.maximized, required, to_try),
        objective=objective,
        shown=_metrics_of_one_cut(labelled, prevalence),
        constraints=constraints,
        prevalence_text=prevalence_text,
        note=note,
        prevalence=prevalence,
        most_rows=ROWS_OF_SWEEPS,
    )


def _describe_prevalence(
    labelled: Tally, prevalence: UsePrevalence | None
) -> tuple[str, str]:
    """Return the prevalence in words, and a note on it, which may be empty."""
    if prevalence is None:
        return (
            f"{labelled.prevalence:.4g}, that of the sample",
            "The prevalence is that of the sample; if it differs in use, state it.",
        )
    if prevalence.is_range:
        worst = "Values are the worst over the range of prevalences."
        return prevalence.describe(), worst
    return prevalence.describe(), ""


def _metrics_of_one_cut(
    labelled: Tally, prevalence: UsePrevalence | None
) -> list[ScopedConstraint]:
    """Return all metrics; of a case-control sample those without a prevalence."""
    quantities = [_quantity(metric) for metric in METRICS.values()]
    if prevalence is None and labelled.design.sampling == CASE_CONTROL:
        return [
            quantity
            for quantity in quantities
            if not depends_on_prevalence(quantity.metric)
        ]
    return quantities
