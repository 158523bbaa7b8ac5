"""Which cuts of the groups are best for a metric, under constraints?

A metric of all groups together is written as a quotient of linear forms, constraints as
rows, and the rest is left to the exact search of ``group_search``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Floats, Ints
from trueness.metrics.algebra import Metric, as_fraction
from trueness.metrics.confusion import Confusion
from trueness.threshold import cuts as _cuts
from trueness.threshold.constraints import ScopedConstraint
from trueness.threshold.cuts import Cuts
from trueness.threshold.group_search import (
    GroupProblem,
    GroupSearch,
    GroupSolution,
    Row,
)
from trueness.threshold.group_windows import WINDOW_TOLERANCE, GroupCuts
from trueness.threshold.linear_forms import (
    ONE_CUT,
    LinearForm,
    Quotient,
    at_least_one,
    constraint_rows,
    evaluate_form,
    is_constant,
    maximize_quotient,
    quotient_of_metric,
)

_REFUSAL = (
    "Thresholds of several groups need a weighted sum of counts over all groups, or "
    "one quotient of such sums (accuracy, precision, f1). {} is "
    'not. In every group any metric can be bounded: "mcc_min >= 0.3".'
)
# seconds that a repeated choice of a bootstrap sample may take
_SECONDS_PER_SAMPLE = 1.0
# of sums of weights, which are rounded to units, no proof goes beyond this part
_PROOF_DIGITS = 10**9

NOTHING_ALLOWED = GroupSolution(cuts=None, value=Fraction(0), bound=Fraction(0))


def best_cuts_of_groups(
    cuts: Sequence[Cuts],
    constraints: Sequence[ScopedConstraint],
    objective: Metric,
    deadline: float,
) -> GroupSolution:
    """Return the best cuts found until the deadline, with a bound on any other's."""
    all_groups = add_groups(cuts, [[0]] * len(cuts))
    allowed = [
        np.flatnonzero(_allowed_cuts(group_cuts, constraints)) for group_cuts in cuts
    ]
    goal = _quotient(objective, all_groups)
    rows = _rows_of_all_groups(goal, constraints, all_groups)

    some_group_has_none = not all(places.size for places in allowed)
    if some_group_has_none or any(is_constant(row) and row[-1] < 0 for row in rows):
        return NOTHING_ALLOWED

    problem = _search_problem(cuts, allowed, rows, constraints)
    search = GroupSearch(problem, deadline)

    def maximize_form(form: LinearForm) -> GroupSolution:
        return _maximize_form(search, form, allowed, all_groups)

    def value_of(solution: GroupSolution) -> Fraction | None:
        return _value_of_quotient(goal, cuts, solution)

    best = maximize_quotient(goal, maximize_form, value_of)
    solution: GroupSolution = best.solution
    if goal.is_linear or solution.cuts is None:
        return solution

    # a - q b is at most the bound of the last search, and b is at least one
    # a - q b with the best quotient q found: at most 0 if q is optimal
    lead = max(0, best.proof.bound)
    bound = min(best.value + lead, objective.range[1])
    return GroupSolution(solution.cuts, best.value, bound)


def add_groups(cuts: Sequence[Cuts], places: Sequence[Sequence[int]]) -> Cuts:
    """Return the sum of groups that are cut at these places, a list for each group."""
    observed = _add_confusions([group_cuts.observed for group_cuts in cuts], places)
    counts_cases = all(group_cuts.counts_cases for group_cuts in cuts)
    units = observed
    if not counts_cases:
        units = _add_confusions([group_cuts.units for group_cuts in cuts], places)
    return cuts[0]._replace(
        score=np.zeros(len(places[0]) - 1),
        observed=observed,
        in_use=observed,
        units=units,
        counts_cases=counts_cases,
    )


def _add_confusions(
    confusions: list[Confusion], places: Sequence[Sequence[int]]
) -> Confusion:
    """Return the sum of the counts of all groups at these places."""
    cells = [
        confusion[np.array(place)].cells
        for confusion, place in zip(confusions, places, strict=True)
    ]
    return Confusion(*np.sum(cells, axis=0))


def _allowed_cuts(
    cuts: Cuts, constraints: Sequence[ScopedConstraint]
) -> NDArray[np.bool_]:
    """Return which cuts of a group meet the constraints on every single group."""
    allowed = np.ones(len(cuts.score) + 1, dtype=bool)
    for scoped in constraints:
        if scoped.compares_groups:
            # an undefined metric meets no comparison, and a zero no ratio
            values = _cuts.values_of(cuts, scoped.metric)
            allowed &= np.isfinite(values)
            if scoped.scope == "ratio":
                allowed &= values != 0
        elif scoped.scope:
            allowed &= _cuts.holds(cuts, scoped.constraint)

    return allowed


def _quotient(metric: Metric, combined: Cuts) -> Quotient:
    return quotient_of_metric(metric, combined, ONE_CUT, _REFUSAL)


def _rows_of_all_groups(
    goal: Quotient, constraints: Sequence[ScopedConstraint], combined: Cuts
) -> list[LinearForm]:
    """Return rows that are not negative where all groups together are allowed."""
    rows = []
    for scoped in constraints:
        if not scoped.scope:
            quotient = _quotient(scoped.metric, combined)
            rows += constraint_rows(scoped.constraint, quotient)

    if not goal.is_linear:
        # the objective must be defined
        rows.append(at_least_one(goal.denominator))

    return rows


def _search_problem(
    cuts: Sequence[Cuts],
    allowed: list[Ints],
    rows: list[LinearForm],
    constraints: Sequence[ScopedConstraint],
) -> GroupProblem:
    """Return the allowed cuts and the constraints as the search takes them."""
    comparisons = [scoped for scoped in constraints if scoped.compares_groups]

    def meets_comparisons(chosen: list[int]) -> bool:
        places = [
            int(places_of_group[k])
            for places_of_group, k in zip(allowed, chosen, strict=True)
        ]
        return all(_is_met_exactly(scoped, cuts, places) for scoped in comparisons)

    return GroupProblem(
        groups=[
            GroupCuts(
                tp=group_cuts.units.tp[places],
                fp=group_cuts.units.fp[places],
                compared=[
                    _cuts.values_of(group_cuts, scoped.metric)[places]
                    for scoped in comparisons
                ],
            )
            for group_cuts, places in zip(cuts, allowed, strict=True)
        ],
        rows=[_as_row(row) for row in rows if not is_constant(row)],
        largest_allowed=[partial(_largest_allowed, scoped) for scoped in comparisons],
        meets_comparisons=meets_comparisons,
    )


def _as_row(form: LinearForm) -> Row:
    weight_tp, weight_fp, constant = form
    return int(weight_tp), int(weight_fp), int(constant)


def _largest_allowed(scoped: ScopedConstraint, smallest: Floats) -> Floats:
    """Return the largest value that a group may have beside a smallest one."""
    bound = scoped.constraint.bound
    if scoped.scope == "gap":
        largest = smallest + bound
    else:
        # below zero a ratio stretches the other way
        # ratio = smallest / largest >= bound
        largest = np.where(smallest < 0, smallest * bound, smallest / bound)
    if scoped.constraint.strict:
        # a strict bound ends before what the tolerance of windows lets through
        return np.asarray(largest - 4 * WINDOW_TOLERANCE * (1 + abs(largest)))
    return largest


def _is_met_exactly(
    scoped: ScopedConstraint, cuts: Sequence[Cuts], places: list[int]
) -> bool:
    """Return whether groups cut at these places meet a comparison exactly."""
    values = [
        _exact_value(group_cuts, scoped.metric, place)
        for group_cuts, place in zip(cuts, places, strict=True)
    ]
    return bool(scoped.is_met_by(scoped.summarize_groups(values)))


def _exact_value(cuts: Cuts, metric: Metric, place: int) -> Fraction | float:
    """Return a metric at one cut as a fraction, or as a float where it is none."""
    if not metric.is_exact or metric.root:
        return float(_cuts.values_of(cuts, metric)[place])
    value: Fraction = _cuts.exact_values(cuts, metric, np.array([place]))[0]
    return value + as_fraction(metric.constant)


def _maximize_form(
    search: GroupSearch, form: LinearForm, allowed: list[Ints], combined: Cuts
) -> GroupSolution:
    """Return the cuts with the largest value of a linear form, as places of cuts."""
    *weights, constant = form
    # in whole numbers the search is exact
    denominator = math.lcm(*(weight.denominator for weight in weights))
    tp, fp = (int(weight * denominator) for weight in weights)
    chosen, value, bound = search.run((tp, fp))

    if not combined.counts_cases:
        largest_sum = abs(tp) * combined.n_pos + abs(fp) * combined.n_neg
        if bound - value <= largest_sum / _PROOF_DIGITS:
            bound = value

    places = None
    if chosen is not None:
        places = [
            int(places_of_group[index])
            for places_of_group, index in zip(allowed, chosen, strict=True)
        ]
    return GroupSolution(
        cuts=places,
        value=Fraction(value, denominator) + constant,
        bound=Fraction(bound, denominator) + constant,
    )


def _value_of_quotient(
    goal: Quotient, cuts: Sequence[Cuts], solution: GroupSolution
) -> Fraction | None:
    """Return the objective at the chosen cuts, exactly; None where there are none."""
    if solution.cuts is None:
        return None
    counts_at_cuts = [
        group_cuts.units[place]
        for group_cuts, place in zip(cuts, solution.cuts, strict=True)
    ]
    tp = sum(int(units.tp) for units in counts_at_cuts)
    fp = sum(int(units.fp) for units in counts_at_cuts)
    numerator = evaluate_form(goal.numerator, tp, fp)
    return Fraction(numerator / evaluate_form(goal.denominator, tp, fp))


def choose_groups_again(
    objective: Metric,
    constraints: Sequence[ScopedConstraint],
    unit: Fraction,
    samples: list[Confusion],
) -> Ints:
    """Return the best cuts of all groups in each of many samples, -1 for none.

    ``samples`` has the running counts (samples, cuts) of each group.
    """
    number_of_samples = len(samples[0].tp)
    return np.array(
        [
            _choose_in_sample(objective, constraints, unit, [c[k] for c in samples])
            for k in range(number_of_samples)
        ]
    )


def _choose_in_sample(
    objective: Metric,
    constraints: Sequence[ScopedConstraint],
    unit: Fraction,
    counts: list[Confusion],
) -> list[list[int]]:
    """Return the place of the best cut of each group, each in a list of its own."""
    # rows have no score here: their places, highest first, stand for scores
    cuts = [
        _cuts.make_cuts(
            np.arange(group_counts.tp.size - 1, 0, -1.0), group_counts, None, unit=unit
        )
        for group_counts in counts
    ]
    deadline = time.monotonic() + _SECONDS_PER_SAMPLE
    places = best_cuts_of_groups(cuts, constraints, objective, deadline).cuts
    return [[place] for place in places or [-1] * len(cuts)]
