"""What is asked? One record for shell, report, findings and page.

A :class:`Request` names the columns of the data, how the cases were sampled, and what
a person wants to know of them. The shell reads it from options, the page from an
address, ``trueness.report`` from its arguments; findings answer it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

from trueness.counts.design import ARGUMENTS as DESIGN_ARGUMENTS
from trueness.counts.expected_labels import Unlabelled
from trueness.counts.resampling import Seed
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import constraints as read_constraints
from trueness.threshold.constraints import (
    DEFAULT_OBJECTIVE,
    ConstraintLike,
    asks_for_groups,
    asks_for_two_cuts,
    read_objective,
    without_deferral_cost,
)
from trueness.threshold.prevalences import Prevalences
from trueness.threshold.rule import Rule

REPLICATES = 500  # of a bootstrap
Goal = str | Metric | None
Cost = Mapping[str, float]  # of a false positive and of a false negative
_COST = re.compile(r"cost\(fp=([^,()]+), fn=([^,()]+)\)")
_LIMITS_DEFERRED = re.compile(r"\bdefer(red)?\s*<")
SWEEP = "sweep"  # the search that looks at every threshold


@final
@dataclass(frozen=True)
class ThresholdGoal:
    """An objective and constraints, as ``best_threshold`` and others take them."""

    maximize: Goal
    minimize: Goal
    subject_to: tuple[ConstraintLike, ...]


@final
@dataclass(frozen=True)
class Precision:
    """What intervals and bands depend on."""

    level: float
    rng: Seed
    replicates: int  # of a bootstrap
    margin: float | None  # mean error up to which scores count as calibrated


@final
@dataclass(frozen=True)
class ThresholdChoice:
    """What the chosen threshold depends on, as text where values cannot be hashed."""

    objective: str
    minimizes: bool
    constraints: tuple[str, ...]
    at: float | Rule | None  # a threshold in use
    guarantee: float | None = None


@final
@dataclass(frozen=True)
class Request:
    """Which columns of which data, and what a person wants to know of them.

    None, "" and () where nothing was said.
    """

    # which columns: those that were named, or that were found
    label: str | None = None
    scores: tuple[str, ...] = ()
    positive: Any = None  # as typed, then with the type of its column
    count: str | None = None
    by: str | None = None
    remarks: tuple[str, ...] = ()  # on columns that were found, not named

    # how values are read
    missing_scores: str | None = None
    decimal: str | None = None
    strict: bool = False
    invert: bool = False  # low scores mean positive

    # the sampling design
    weight: str | None = None
    cluster: str | None = None
    sampling: str | None = None
    prevalence: float | None = None
    unlabelled: Unlabelled | None = None

    # which threshold
    maximize: Goal = None
    minimize: Goal = None
    subject_to: tuple[ConstraintLike, ...] = ()
    cost: Cost | None = None
    at: float | Rule | None = None  # a threshold in use
    prevalences: Prevalences = None  # a range of them
    auc: float | None = None  # known from elsewhere, where no case has a label
    validate: bool = False
    guarantee: float | None = None
    method: str = SWEEP  # how the best threshold is searched for

    # what else is worked out
    margin: float | None = None  # mean error up to which scores count as calibrated
    calibrator: str = ""
    half_width: float | None = None
    classifier: str = ""  # that calibrator and half_width are about; else the best one
    combiner: str = ""
    classes: bool = False  # each classifier is a class against the rest

    # how sure
    level: float = 0.95
    rng: Seed = 0
    replicates: int = REPLICATES  # without any, what needs a bootstrap is left out

    # on which the costs depend, where none were stated
    prevalence_in_sample: float = 0.5

    # ---- columns

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is used."""
        others = (self.count, self.weight, self.by, self.cluster)
        names = (self.label, *self.scores, *others)
        return tuple(name for name in names if name is not None)

    @property
    def counting(self) -> dict[str, Any]:
        """The arguments of ``tally`` and ``panel`` beside scores and groups."""
        names = ("label", "positive", "count", "weight", "cluster", *DESIGN_ARGUMENTS)
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    # ---- one threshold

    @cached_property
    def stated_goal(self) -> ThresholdGoal | None:
        """The objective of one threshold, if one was stated, or costs."""
        maximize = self.maximize and without_deferral_cost(self.maximize)
        minimize = self.minimize and without_deferral_cost(self.minimize)
        if not maximize and not minimize and self.cost:
            minimize = read_objective(None, cost_text(self.costs)).shown
        if not maximize and not minimize:
            return None
        return ThresholdGoal(maximize or None, minimize or None, self.constraints)

    @cached_property
    def objective(self) -> Metric:
        """What one threshold is chosen by: Youden's index, where nothing was stated."""
        goal = self.stated_goal
        if goal is None:
            return read_objective(None, None).shown
        return read_objective(goal.maximize, goal.minimize).shown

    @property
    def minimizes(self) -> bool:
        """Return whether the objective of one threshold is to be small."""
        return self.stated_goal is not None and self.stated_goal.minimize is not None

    @property
    def wants_a_threshold(self) -> bool:
        """Return whether there is a cost, an objective, a constraint or a threshold."""
        goal = self.stated_goal or self.constraints or self.stated_cost
        return bool(goal) or self.at is not None

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints that one threshold can meet."""
        of_all_cases, _ = separate_constraints(self.subject_to)
        return read_constraints(for_one_threshold(of_all_cases))

    @property
    def single_goal(self) -> ThresholdGoal:
        """Objective and constraints of one threshold."""
        return ThresholdGoal(
            maximize=None if self.minimizes else self.objective,
            minimize=self.objective if self.minimizes else None,
            subject_to=self.constraints,
        )

    @property
    def goal_as_stated(self) -> ThresholdGoal:
        """Objective and constraints as they were stated, or the usual objective."""
        maximize = self.maximize
        minimize = self.minimize
        nothing_stated = maximize is None and minimize is None
        if nothing_stated and self.guarantee is None:
            if self.pair_goal is None:
                maximize = DEFAULT_OBJECTIVE
            else:
                minimize = "defer"

        return ThresholdGoal(maximize, minimize, self.subject_to)

    @cached_property
    def stated_cost(self) -> Cost | None:
        """The costs that were stated, by themselves or as an objective."""
        if self.cost:
            return self.cost
        single = self.minimize and without_deferral_cost(self.minimize)
        match = single and re.fullmatch(_COST, single.name)
        return {"fp": float(match[1]), "fn": float(match[2])} if match else None

    @property
    def costs(self) -> tuple[float, float]:
        """The costs of both errors; without any, both error rates count equally."""
        if self.stated_cost is None:
            return 1.0, self._cost_of_equal_rates
        return float(self.stated_cost["fp"]), float(self.stated_cost["fn"])

    @property
    def _cost_of_equal_rates(self) -> float:
        """Cost of a false negative by which both error rates count equally."""
        return (1 - self.prevalence_in_sample) / self.prevalence_in_sample

    # ---- two thresholds, and those of groups

    @property
    def pair_goal(self) -> ThresholdGoal | None:
        """What two thresholds are chosen by; None where one was meant."""
        of_all_cases, _ = separate_constraints(self.subject_to)
        return goal_of_pair(
            self.maximize,
            self.minimize,
            of_all_cases,
            self.cost,
            f"cost(fp=1, fn={self._cost_of_equal_rates:.15g})",
        )

    @property
    def group_constraints(self) -> tuple[ConstraintLike, ...]:
        """The constraints on differences between groups."""
        return separate_constraints(self.subject_to)[1]

    @property
    def for_groups(self) -> bool:
        """Return whether each group has, or is to have, a threshold of its own."""
        return bool(self.group_constraints or getattr(self.at, "groups", ()))

    # ---- what answers depend on

    @property
    def precision(self) -> Precision:
        """What intervals and bands depend on."""
        return Precision(
            level=self.level,
            rng=self.rng,
            replicates=self.replicates,
            margin=self.margin,
        )

    @property
    def threshold_choice(self) -> ThresholdChoice:
        """What the chosen threshold depends on."""
        return ThresholdChoice(
            objective=repr(self.objective),
            minimizes=self.minimizes,
            constraints=tuple(map(repr, self.constraints)),
            at=self.at,
            guarantee=self.guarantee,
        )


def without_column_names(request: Request) -> Request:
    """Forget what groups and clusters are called.

    ``trueness.report`` takes counts, which do not know it; one report for all faces.
    """
    return replace(request, by=None, cluster=None)


def as_constraints(
    subject_to: ConstraintLike | Iterable[ConstraintLike],
) -> tuple[ConstraintLike, ...]:
    """Return one constraint, or several, as a tuple."""
    if isinstance(subject_to, (str, Constraint)):
        return (subject_to,)
    return tuple(subject_to)


def cost_text(costs: tuple[float, float]) -> str:
    """Write costs as an objective."""
    return f"cost(fp={costs[0]!r}, fn={costs[1]!r})"


def separate_constraints(
    constraints: Iterable[ConstraintLike],
) -> tuple[tuple[ConstraintLike, ...], tuple[ConstraintLike, ...]]:
    """Separate constraints on all cases from those on differences between groups."""
    of_all_cases: list[ConstraintLike] = []
    of_groups: list[ConstraintLike] = []
    for constraint in constraints:
        kind = of_groups if asks_for_groups([constraint]) else of_all_cases
        kind.append(constraint)
    return tuple(of_all_cases), tuple(of_groups)


def for_one_threshold(
    constraints: Iterable[ConstraintLike],
) -> tuple[ConstraintLike, ...]:
    """Leave out the constraints that only two thresholds can meet."""
    return tuple(c for c in constraints if not asks_for_two_cuts([c]))


def goal_of_pair(
    maximize: Goal,
    minimize: Goal,
    constraints: tuple[ConstraintLike, ...],
    cost: Cost | None,
    equal_rates: str,
) -> ThresholdGoal | None:
    """Return what two thresholds are chosen by; None where one was meant.

    Without an objective costs are minimised, or as few cases as possible deferred.
    Where a constraint bounds those, the objective is ``equal_rates``, by which both
    error rates count equally.
    """
    if not asks_for_two_cuts([maximize, minimize, *constraints]):
        return None

    if maximize is None and minimize is None:
        deferral_is_bounded = any(_LIMITS_DEFERRED.search(str(c)) for c in constraints)
        minimize = equal_rates if deferral_is_bounded else "defer"
        if cost:
            minimize = cost_text((float(cost["fp"]), float(cost["fn"])))

    return ThresholdGoal(maximize, minimize, constraints)
