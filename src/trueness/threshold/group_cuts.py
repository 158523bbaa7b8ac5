"""Which cut should each group have, so that all are treated alike?"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, TypeVar, final

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.numbers import cut_text
from trueness._core.records import Estimate, Record, brief
from trueness.counts.answers import of_counts
from trueness.counts.cases import weighted_counts_note
from trueness.counts.values import Tally
from trueness.inference.differences import (
    Difference,
    variance_of_independent_difference,
)
from trueness.inference.estimates import estimate_from_interval, evaluate_measure
from trueness.inference.variance import VarianceEstimate
from trueness.metrics.algebra import Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.intervals import Cut, metric_measure
from trueness.threshold import cuts as _cuts
from trueness.threshold.constraints import (
    DEFAULT_OBJECTIVE,
    GROUPS,
    ConstraintLike,
    ScopedConstraint,
    read_objective,
    read_scoped_constraints,
)
from trueness.threshold.cuts import Cuts, Interval
from trueness.threshold.group_optimum import add_groups, best_cuts_of_groups
from trueness.threshold.group_search import GroupSolution
from trueness.threshold.rule import Rule

T = TypeVar("T")

# what comparisons cost needs a second search: a quarter of the time is kept for it
_TIME_OF_FIRST_SEARCH = 0.75


@final
@dataclass(frozen=True, repr=False)
class GroupThresholds(Record):
    """A threshold for each group, and the remaining differences between groups.

    Attributes
    ----------
    score_ranges : dict of str to (float, float)
        The thresholds that flag the same cases.
    value, bound : float
        The objective over all groups, and an upper bound for every choice of
        thresholds.
    proved : bool
        Whether ``value`` is proved optimal (with weights: to nine digits of the total
        weight).
    gaps : dict of str to Estimate
        Each bounded difference (or ratio) between the groups, with its confidence
        interval.
    constraints : dict of str to float
        The value of each bounded metric, over all groups.
    common_threshold, common_value, common_gaps
        The best common threshold that meets the constraints on all groups jointly, its
        value, and the bounded differences there.
    unconstrained_value : float
        The value without bounds on differences, which shows their cost.
    """

    thresholds: dict[str, float]
    score_ranges: dict[str, Interval]
    value: float
    bound: float
    proved: bool
    confusions: dict[str, Confusion]
    gaps: dict[str, Estimate]
    constraints: dict[str, float]
    common_threshold: float
    common_value: float
    common_gaps: dict[str, float]
    unconstrained_value: float
    objective: str
    notes: tuple[str, ...] = ()

    @property
    def rule(self) -> Rule:
        """Return the choice as a rule."""
        return Rule(self.thresholds)

    def __repr__(self) -> str:
        proof = "proved optimal" if self.proved else f"at most {self.bound:.6g}"
        lines = [f"GroupThresholds: {self.objective} = {self.value:.6g} ({proof})"]
        lines += [self._line_of_group(name) for name in self.thresholds]
        lines += [f"  {name}: {gap!r}" for name, gap in self.gaps.items()]
        lines += [f"  {name}: {value:.6g}" for name, value in self.constraints.items()]
        lines.append(
            f"  one threshold for all, {cut_text(self.common_threshold)}: "
            f"{self.common_value:.6g}"
        )
        lines += [f"  Note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _line_of_group(self, name: str) -> str:
        confusion = self.confusions[name]
        flagged = brief(confusion.tp + confusion.fp)
        cases = brief(sum(confusion.cells))
        threshold = cut_text(self.thresholds[name])
        return f"  {name}: threshold {threshold}, flagged {flagged} of {cases}"


@of_counts
def group_thresholds(
    data: Mapping[Any, Tally],
    maximize: str | Metric = DEFAULT_OBJECTIVE,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    minimize: str | Metric | None = None,
    time_limit: float = 60.0,
    level: float = 0.95,
) -> GroupThresholds:
    r"""Thresholds that differ between groups, under bounds on their differences.

    Which threshold should each group have, so that groups are treated equally?

    .. math:: \max_{\tau_1, \dots, \tau_G} f\Big(\sum_g C_g(\tau_g)\Big)
        \quad\text{with}\quad \max_g m(C_g) - \min_g m(C_g) \le \delta

    Parameters
    ----------
    data
        A mapping from name to tally, of different cases (and clusters), or data with
        ``by=``.
    maximize, minimize
        A weighted sum of counts, or a quotient of such sums, over all groups.
    subject_to
        ``"recall_gap <= 0.02"`` bounds the difference between the groups with the
        largest and the smallest recall; any metric takes ``_gap``, or ``_ratio`` for
        the smallest divided by the largest (``"flagged_rate_ratio >= 0.8"``, the
        four-fifths rule). ``"recall_min >= 0.7"`` and ``"fpr_max <= 0.2"`` bound the
        metric in every group. Constraints without such a suffix apply to all groups
        together: ``"flagged <= 500"``.
    time_limit
        Seconds after which the best thresholds so far are returned, with a bound on the
        best possible value.

    Notes
    -----
    The search over deterministic thresholds is exact, by integer arithmetic. The
    interval of a difference is simultaneous for all pairs of groups (Dunn 1961). It
    treats these thresholds as fixed, without allowance for their choice.

    References
    ----------
    Dunn 1961, J. Am. Stat. Assoc. 56:52, doi:10.2307/2282330.
    Hardt, Price, Srebro 2016, Adv. Neural Inf. Process. Syst. 29:3315.

    Examples
    --------
    >>> a = Tally([3, 2, 1], pos=[5, 4, 1], neg=[1, 3, 6])
    >>> b = Tally([3, 2, 1], pos=[2, 6, 2], neg=[0, 2, 8])
    >>> g = group_thresholds({"a": a, "b": b}, "accuracy", "recall_gap <= 0.1")
    >>> g.thresholds, g.value  # recall 9/10 and 8/10
    ({'a': 1.5, 'b': 1.5}, 0.775)
    """
    level = _options.fraction(level, "level")
    time_limit = _options.positive_number(time_limit, "time_limit")
    objective = read_objective(maximize, minimize)
    tallies = _labelled_groups(data)
    cuts, cuts_of_all = _count_cuts(tallies)
    constraints = read_scoped_constraints(subject_to, GROUPS)

    solution, unconstrained_value = _search(
        cuts, constraints, objective.maximized, time_limit
    )
    common = _best_common_cut(cuts_of_all, cuts, constraints, objective.maximized)

    places: list[int] = solution.cuts or []
    scores = [cuts_of_group.score for cuts_of_group in cuts]
    thresholds = _by_group(tallies, map(_cuts.threshold_of, scores, places))
    sides = [Cut.of(tally, thresholds[name]) for name, tally in tallies.items()]
    counts = [
        group_cuts.observed[place]
        for group_cuts, place in zip(cuts, places, strict=True)
    ]
    proved = solution.bound == solution.value
    return GroupThresholds(
        thresholds=thresholds,
        score_ranges=_by_group(tallies, map(_cuts.interval_of, scores, places)),
        value=float(objective.sign * solution.value),
        bound=float(objective.sign * solution.bound),
        proved=proved,
        confusions=_by_group(tallies, counts),
        gaps={
            scoped.name: _estimate_gap(scoped, cuts, places, sides, level)
            for scoped in constraints
            if scoped.compares_groups
        },
        constraints=_values_over_all_groups(cuts, places, constraints),
        common_threshold=common.threshold,
        common_value=objective.sign * common.value,
        common_gaps=common.gaps,
        unconstrained_value=float(objective.sign * unconstrained_value),
        objective=str(objective),
        notes=_notes(tallies, proved),
    )


def _by_group(tallies: Mapping[str, Tally], values: Iterable[T]) -> dict[str, T]:
    return dict(zip(tallies, values, strict=True))


class _SearchResult(NamedTuple):
    """The best cuts, and the value that cuts without comparisons could have."""

    solution: GroupSolution
    unconstrained_value: Any


def _search(
    cuts: list[Cuts],
    constraints: Sequence[ScopedConstraint],
    objective: Metric,
    time_limit: float,
) -> _SearchResult:
    """Search with the comparisons, then without them, within the time limit."""
    start = time.monotonic()
    first_deadline = start + _TIME_OF_FIRST_SEARCH * time_limit
    solution = best_cuts_of_groups(cuts, constraints, objective, first_deadline)
    if solution.cuts is None:
        raise _infeasible(cuts, constraints, time_limit)

    # what equal treatment costs: the same search without comparisons
    uncompared = [scoped for scoped in constraints if not scoped.compares_groups]
    if len(uncompared) == len(constraints):
        return _SearchResult(solution, solution.value)

    # a quarter of the time, and what the first search left of its own
    second_start = max(start, time.monotonic() - _TIME_OF_FIRST_SEARCH * time_limit)
    free = best_cuts_of_groups(cuts, uncompared, objective, second_start + time_limit)
    return _SearchResult(solution, free.value)


def _values_over_all_groups(
    cuts: list[Cuts], places: list[int], constraints: Sequence[ScopedConstraint]
) -> dict[str, float]:
    """Return each metric that is bounded over all groups together."""
    # the first cut, which flags nothing, tells how many cases there are
    all_groups = add_groups(cuts, [[0, place] for place in places])
    return {
        str(scoped): _cuts.value_at(all_groups, scoped.metric, 1)
        for scoped in constraints
        if not scoped.scope
    }


_UNPROVED = (
    "The time limit was reached before the proof was complete: other "
    "thresholds could be better, up to the bound. Give a longer time_limit."
)
_DIFFERENT_TREATMENT = (
    "Thresholds that differ between groups treat cases with the same score "
    "differently; check that this is intended and lawful."
)
_TUNED = (
    "The thresholds were tuned on the same data, so the results are optimistic: "
    "on new cases expect a worse value and larger differences."
)


def _notes(tallies: Mapping[str, Tally], proved: bool) -> tuple[str, ...]:
    """Return notes on the search, on thresholds by group, and on weights."""
    notes = [] if proved else [_UNPROVED]
    notes += [_DIFFERENT_TREATMENT, _TUNED]
    for tally in tallies.values():
        if on_weights := weighted_counts_note(tally):
            # the same for every group: it is said once
            return (*notes, *on_weights)
    return tuple(notes)


def _labelled_groups(groups: Mapping[Any, Tally]) -> dict[str, Tally]:
    """Return the labelled cases of each group; each must have both classes."""
    if not isinstance(groups, Mapping):
        raise InputError(
            "group_thresholds needs a mapping from group to tally; found "
            f"{type(groups).__name__}.",
            option="by",
            example="COLUMN",
        )

    _cases.at_least_two([str(name) for name in groups], "group_thresholds", "groups")
    for name, tally in groups.items():
        _cases.one_classifier(tally, "group_thresholds")
        _cases.both_classes(tally, f"group_thresholds of {name!r}")

    return {str(name): tally.labelled() for name, tally in groups.items()}


def _count_cuts(tallies: Mapping[str, Tally]) -> tuple[list[Cuts], Cuts]:
    """Return the counts at every cut of each group, and of all cases, in one unit."""
    unit = _cuts.unit_of(
        counts for tally in tallies.values() for counts in (tally.pos, tally.neg)
    )
    cuts = []
    for name, tally in tallies.items():
        of_group = _cuts.all_cuts(tally, None, "group_thresholds", unit)
        if not (of_group.n_pos and of_group.n_neg):
            # the weights of the group are so small that no unit is left of them
            raise InputError(
                f"The cases of {name!r} have less than 10^-12 of the total weight, "
                "too little for the search. Are the weights of all groups on one "
                "scale?",
                option="weight",
            )
        cuts.append(of_group)

    all_cases = sum(
        (tally.without_clusters() for tally in tallies.values()), start=Tally([])
    )
    return cuts, _cuts.all_cuts(all_cases, None, "group_thresholds", unit)


class _CommonCut(NamedTuple):
    """One threshold for all groups, its objective, and the gaps that it leaves."""

    threshold: float
    value: float
    gaps: dict[str, float]


def _best_common_cut(
    cuts_of_all: Cuts,
    cuts: list[Cuts],
    constraints: Sequence[ScopedConstraint],
    objective: Metric,
) -> _CommonCut:
    """Return the best cut of all groups under the constraints on all together."""
    constraints_on_all = [
        scoped.constraint for scoped in constraints if not scoped.scope
    ]
    allowed = np.asarray(_cuts.met_by([cuts_of_all], constraints_on_all).all(axis=0))
    best = _cuts.best_cuts([cuts_of_all], objective, allowed)
    if not best.size:
        return _CommonCut(math.nan, math.nan, {})

    place = _cuts.most_balanced(cuts_of_all, best)
    lowest_flagged = _cuts.interval_of(cuts_of_all.score, place)[1]
    # how many rows of each group the common cut flags
    places = [int((group_cuts.score >= lowest_flagged).sum()) for group_cuts in cuts]
    return _CommonCut(
        threshold=_cuts.threshold_of(cuts_of_all.score, place),
        value=_cuts.value_at(cuts_of_all, objective, place),
        gaps={
            scoped.name: _gap_at(cuts, scoped, places)
            for scoped in constraints
            if scoped.compares_groups
        },
    )


def _gap_at(cuts: list[Cuts], scoped: ScopedConstraint, places: Sequence[int]) -> float:
    """Return the gap, or the ratio, of groups that are cut at these places."""
    values = [
        _cuts.values_of(cuts_of_group, scoped.metric)[place]
        for cuts_of_group, place in zip(cuts, places, strict=True)
    ]
    return float(scoped.summarize_groups(values))


def _estimate_gap(
    scoped: ScopedConstraint,
    cuts: list[Cuts],
    places: list[int],
    sides: list[Cut],
    level: float,
) -> Estimate:
    """Return the largest difference, or the smallest ratio, of any two groups.

    The interval holds for all pairs at once: Bonferroni's correction (Dunn 1961).
    Ratios are differences of logarithms.
    """
    measured = [
        evaluate_measure(
            side.sample, partial(metric_measure, scoped.metric, side.flags)
        )
        for side in sides
    ]
    values = [rate.value for rate in measured]
    variances = [rate.variance_estimate for rate in measured]
    low_end, high_end = scoped.metric.range
    largest_possible = high_end - low_end
    estimate = partial(
        estimate_from_interval,
        _gap_at(cuts, scoped, places),
        level=level,
        method="student",
        name=scoped.name,
    )

    if scoped.scope == "gap":
        low, high = _interval_of_largest_difference(
            values, variances, largest_possible, level
        )
        return estimate(low=low, high=high)

    if not min(values) > 0:
        # nothing is known of a ratio with zero
        return estimate(low=0.0, high=1.0)

    # delta method: the variance of log x is that of x over x squared
    variances_of_log = [
        replace(variance_estimate, variance=variance_estimate.variance / value**2)
        for variance_estimate, value in zip(variances, values, strict=True)
    ]
    # the largest difference of logarithms belongs to the smallest ratio
    low, high = _interval_of_largest_difference(
        [math.log(value) for value in values],
        variances_of_log,
        largest_possible / min(values),
        level,
    )
    return estimate(low=math.exp(-high), high=math.exp(-low))


def _interval_of_largest_difference(
    values: list[float],
    variances: list[VarianceEstimate],
    largest_possible: float,
    level: float,
) -> tuple[float, float]:
    """Return an interval of the largest absolute difference between two groups."""
    pairs = list(combinations(range(len(values)), 2))
    level_of_pair = 1 - (1 - level) / len(pairs)
    low = high = 0.0
    for i, j in pairs:
        difference = Difference(
            values[i] - values[j],
            variance_of_independent_difference(variances[i], variances[j]),
            largest_possible,
        )
        low_of_pair, high_of_pair = difference.interval(level_of_pair)
        # an interval that includes 0 says nothing from below; either group may be
        # larger
        low = max(low, low_of_pair, -high_of_pair)
        high = max(high, high_of_pair, -low_of_pair)

    return low, high


def _infeasible(
    cuts: list[Cuts], constraints: Sequence[ScopedConstraint], seconds: float
) -> Infeasible:
    """Say what cannot be met: one constraint alone, or only all of them together."""
    deadline = time.monotonic() + seconds
    for scoped in constraints:
        alone = best_cuts_of_groups(cuts, [scoped], METRICS["accuracy"], deadline)
        if alone.cuts is None:
            by_whom = "all groups together"
            if scoped.scope:
                by_whom = "any thresholds of these groups"
            return Infeasible(
                f"{scoped} cannot be met by {by_whom}.", option="subject_to"
            )

    return Infeasible(
        f"{' and '.join(map(str, constraints))} cannot be met together, or no "
        "thresholds were found within the time limit. Loosen one of them, or give a "
        "longer time_limit.",
        option="subject_to",
    )
