"""Which cut should each group have, so that all are served alike?"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.numbers import cut_text
from trueness._core.records import Estimate, Record, brief
from trueness.counts.answers import of_counts
from trueness.counts.cases import weighed_counts
from trueness.counts.values import Tally
from trueness.inference.differences import (
    Difference,
    variance_of_independent_difference,
)
from trueness.inference.estimates import estimate_from_interval, evaluate_measure
from trueness.metrics.algebra import Metric, as_fraction
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.intervals import Cut, metric_measure
from trueness.threshold import cuts as _cuts
from trueness.threshold.constraints import (
    DEFAULT_OBJECTIVE,
    GROUPS,
    ConstraintLike,
    Objective,
    ScopedConstraint,
    read_objective,
    read_scoped_constraints,
)
from trueness.threshold.cuts import Cuts, Interval
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
from trueness.threshold.rule import Rule
from trueness.threshold.search import CLOSE, Group, GroupAnswer, GroupSearch


@final
@dataclass(frozen=True, repr=False)
class GroupThresholds(Record):
    """Which threshold does each group get, and how alike are the groups then?

    Attributes
    ----------
    score_ranges : dict of str to (float, float)
        The thresholds that flag the same cases.
    value, bound : float
        The objective over all groups together; no choice is better than ``bound``.
    proved : bool
        Whether ``value`` is proved to be the best there is (of weighted cases: to nine
        digits of all their weight).
    gaps : dict of str to Estimate
        Each limited difference (or ratio) between the groups, with an interval of what
        it is in the population.
    constraints : dict of str to float
        The value of each bounded metric, over all groups together.
    common_threshold, common_value, common_gaps
        The best common threshold that meets the limits on all groups together, its
        value, and what the limited differences would be there.
    free_value : float
        The value without limits on differences: what they cost.
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
    free_value: float
    objective: str
    notes: tuple[str, ...] = ()

    @property
    def rule(self) -> Rule:
        """Give the choice as a rule."""
        return Rule(self.thresholds)

    def __repr__(self) -> str:
        proof = "the best there is" if self.proved else f"at most {self.bound:.6g}"
        lines = [f"GroupThresholds: {self.objective} = {self.value:.6g} ({proof})"]
        lines += [
            f"  {name}: threshold {cut_text(at)}, flagged "
            f"{brief(self.confusions[name].tp + self.confusions[name].fp)} of "
            f"{brief(sum(self.confusions[name].cells))}"
            for name, at in self.thresholds.items()
        ]
        lines += [f"  {name}: {e!r}" for name, e in self.gaps.items()]
        lines += [f"  {name}: {v:.6g}" for name, v in self.constraints.items()]
        lines.append(
            f"  one threshold for all, {cut_text(self.common_threshold)}: "
            f"{self.common_value:.6g}"
        )
        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])


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
    r"""Which threshold should each group have, so that groups are treated alike?

    .. math:: \max_{\tau_1, \dots, \tau_G} f\Big(\sum_g C_g(\tau_g)\Big)
        \quad\text{with}\quad \max_g m(C_g) - \min_g m(C_g) \le \delta

    Parameters
    ----------
    data
        A mapping from name to tally, of different cases (and clusters), or data with
        ``by=``.
    maximize, minimize
        A weighted sum of counts or one quotient of such sums, of all groups together.
    subject_to
        ``"recall_gap <= 0.02"`` bounds the difference between the groups with the
        largest and the smallest recall; any metric takes ``_gap``, or ``_ratio`` for
        the smallest divided by the largest (``"flagged_rate_ratio >= 0.8"``, the
        four-fifths rule). ``"recall_min >= 0.7"`` and ``"fpr_max <= 0.2"`` bound the
        metric in every group. Constraints without such a suffix apply to all groups
        together: ``"flagged <= 500"``.
    time_limit
        Seconds after which the best thresholds so far are returned, with a bound on how
        much better others could be.

    Notes
    -----
    The search is exact, over deterministic thresholds and in whole numbers. The
    interval of a difference holds for these thresholds in the population, of all pairs
    of groups at once (Dunn 1961); it does not allow for their choice.

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
    shown, objective = read_objective(maximize, minimize)
    tallies, cuts, whole = _counted(data)
    bounds = read_scoped_constraints(subject_to, GROUPS)
    couples = [k for k in bounds if k.compares_groups]
    start = time.monotonic()
    # what the limits cost needs a second search: a quarter of the time is kept for it
    found, value, bound = best_for_groups(
        cuts, bounds, objective, start + 0.75 * time_limit
    )
    if found is None:
        raise _infeasible(cuts, bounds, time_limit)
    free = value
    if couples:
        until = max(start, time.monotonic() - 0.75 * time_limit) + time_limit
        uncoupled = [k for k in bounds if not k.compares_groups]
        free = best_for_groups(cuts, uncoupled, objective, until)[1]
    sign, proved = 1 if objective is shown else -1, bound == value
    common, common_value, common_gaps = _common(whole, cuts, bounds, objective)
    each = list(zip(map(str, tallies), cuts, found, strict=True))
    at = {name: _cuts.threshold_of(c.score, k) for name, c, k in each}
    sides = list(map(Cut.of, tallies.values(), at.values()))
    # the first cut, which flags nothing, tells how many cases there are
    all_ = _together(cuts, [[0, k] for k in found])
    weighed = filter(None, map(weighed_counts, tallies.values()))
    return GroupThresholds(
        thresholds=at,
        score_ranges={name: _cuts.interval_of(c.score, k) for name, c, k in each},
        value=float(sign * value),
        bound=float(sign * bound),
        proved=proved,
        confusions={name: c.seen[k] for name, c, k in each},
        gaps={k.name: _gap_estimate(k, cuts, found, sides, level) for k in couples},
        constraints={str(k): _cuts.value_at(all_, k.metric, 1)
                     for k in bounds if not k.scope},
        common_threshold=common,
        common_value=sign * common_value,
        common_gaps=common_gaps,
        free_value=float(sign * free),
        objective=str(Objective(shown, objective)),
        notes=(*(() if proved else (_UNPROVED,)), *_NOTES, *next(weighed, ())),
    )  # fmt: skip


_NOTES = (
    "Thresholds that differ between groups treat cases with the same score "
    "differently; whether this is wanted, or allowed, is a question that no "
    "statistic answers.",
    "The thresholds were tuned on the same data, so the results are optimistic: "
    "on new cases expect a worse value and larger differences.",
)
_UNPROVED = (
    "The time limit was reached before the proof was complete: other "
    "thresholds could be better, up to the bound. Give a longer time_limit."
)
_REFUSAL = (
    "Thresholds of several groups need a weighted sum of counts, or one quotient of "
    "such sums (accuracy, cost, precision, f1, kappa), of all groups together; {} is "
    'not. In every group any metric can be bounded: "mcc_min >= 0.3".'
)


def _counted(groups: object) -> tuple[dict[Any, Tally], list[Cuts], Cuts]:
    """Count at every cut of each group, and of all cases together."""
    what = "group_thresholds"
    if not isinstance(groups, Mapping):
        raise InputError(
            f"group_thresholds needs a mapping from group to tally; found "
            f"{type(groups).__name__}. Type trueness.tally(frame, label=..., "
            f'score=..., by="site").'
        )
    _cases.at_least_two(list(map(str, groups)), what)
    for name, t in groups.items():
        _cases.one_classifier(t, what)
        _cases.both_classes(t, f"group_thresholds of {name!r}")
    tallies = {n: t.labelled() for n, t in groups.items()}
    unit = _cuts.unit_of(c for t in tallies.values() for c in (t.pos, t.neg))
    cuts = [_cuts.all_cuts(t, None, what, unit) for t in tallies.values()]
    for name, c in zip(tallies, cuts, strict=True):
        if not (c.n_pos and c.n_neg):  # of weights so small no unit is left
            raise InputError(
                f"The cases of {name!r} weigh less than 10^-12 of those of all groups, "
                "which no search can tell from nothing. Are the weights of all groups "
                "on one scale?"
            )
    whole = sum((t.without_clusters() for t in tallies.values()), start=Tally([]))
    return tallies, cuts, _cuts.all_cuts(whole, None, what, unit)


def _together(cuts: Sequence[Cuts], places: Sequence[Sequence[int]]) -> Cuts:
    """Add up groups that are cut at these places, one list of them for each group."""
    seen, units = (
        Confusion(*np.sum([x[np.array(at)].cells
                           for x, at in zip(kind, places, strict=True)], axis=0))
        for kind in ([c.seen for c in cuts], [c.units for c in cuts])
    )  # fmt: skip
    units = seen if all(c.units is c.seen for c in cuts) else units
    return cuts[0]._replace(
        score=np.zeros(len(places[0]) - 1), seen=seen, used=seen, units=units
    )


def best_for_groups(
    cuts: Sequence[Cuts],
    bounds: Sequence[ScopedConstraint],
    objective: Metric,
    until: float,
) -> GroupAnswer:
    """Give the best cuts until some time, their value, and a bound on any other's."""
    whole = _together(cuts, [[0]] * len(cuts))
    couples = [k for k in bounds if k.compares_groups]
    allowed = [np.flatnonzero(_allowed(c, bounds)) for c in cuts]

    def quotient(m: Metric) -> Quotient:
        return quotient_of_metric(m, whole, ONE_CUT, _REFUSAL)

    goal = quotient(objective)
    rows = [r for k in bounds if not k.scope
            for r in constraint_rows(k.constraint, quotient(k.metric))]  # fmt: skip
    if not is_constant(goal[1]):
        rows.append(at_least_one(goal[1]))
    if not all(at.size for at in allowed) or any(
        is_constant(r) and r[-1] < 0 for r in rows
    ):
        return None, Fraction(0), Fraction(0)

    def agrees(at: list[int]) -> bool:
        places = [(c, int(x[k])) for c, x, k in zip(cuts, allowed, at, strict=True)]
        each = (([_exact(c, k.metric, i) for c, i in places], k) for k in couples)
        return all(k.is_met_by(k.summarize_groups(values)) for values, k in each)

    groups = [
        Group(
            c.units.tp[x],
            c.units.fp[x],
            [_cuts.values_of(c, k.metric)[x] for k in couples],
        )
        for c, x in zip(cuts, allowed, strict=True)
    ]
    whole_rows = [tuple(map(int, r)) for r in rows if not is_constant(r)]
    tops = [partial(_highest, k) for k in couples]
    search = GroupSearch(groups, whole_rows, tops, agrees, until)

    def best(form: LinearForm) -> GroupAnswer:
        unit = math.lcm(*(w.denominator for w in form[:-1]))
        tp, fp = (int(w * unit) for w in form[:-1])
        at, value, bound = search.run((tp, fp))
        # bounds are sums in floating point: of weights no proof goes beyond this
        if whole.units is not whole.seen:
            reach = (abs(tp) * whole.n_pos + abs(fp) * whole.n_neg) / 10**9
            bound = value if bound - value <= reach else bound
        found = at and [int(x[k]) for x, k in zip(allowed, at, strict=True)]
        return found, *(Fraction(v, unit) + form[-1] for v in (value, bound))

    def ratio(found: GroupAnswer) -> Fraction | None:
        if found[0] is None:
            return None
        at = [c.units[k] for c, k in zip(cuts, found[0], strict=True)]
        counts = sum(int(c.tp) for c in at), sum(int(c.fp) for c in at)
        return Fraction(
            evaluate_form(goal[0], *counts) / evaluate_form(goal[1], *counts)
        )

    value, answer, again, _ = maximize_quotient(goal, best, ratio)
    if is_constant(goal[1]) or answer[0] is None:
        return answer  # type: ignore[no-any-return]
    # over - q under is at most the bound left; under is a whole number above zero
    return answer[0], value, min(value + max(0, again[2]), objective.range[1])


def groups_again(
    goal: Metric,
    bounds: Sequence[ScopedConstraint],
    unit: Fraction,
    seen: list[Confusion],
) -> Ints:
    """Choose the best cuts of all groups in each of many samples."""
    found = []
    for k in range(len(seen[0].tp)):
        cuts = [_cuts.make_cuts(np.arange(c.tp.shape[1] - 1, 0, -1.0), c[k], None,
                                unit=unit) for c in seen]  # fmt: skip
        at = best_for_groups(cuts, bounds, goal, time.monotonic() + 1.0)[0]
        found.append([[k] for k in at or [-1] * len(seen)])
    return np.array(found)


def _highest(k: ScopedConstraint, v: Floats) -> Floats:
    """Which value may go with a smallest one?"""
    bound = k.constraint.bound
    # below zero a ratio stretches the other way
    high = v + bound if k.scope == "gap" else np.where(v < 0, v * bound, v / bound)
    # a strict limit ends before what rounding lets through
    return high - 4 * CLOSE * (1 + abs(high)) if k.constraint.strict else high


def _allowed(c: Cuts, bounds: Sequence[ScopedConstraint]) -> NDArray[np.bool_]:
    """Which cuts of a group meet the limits on every single group?"""
    keep = np.ones(len(c.score) + 1, dtype=bool)
    for k in bounds:
        if k.compares_groups:  # undefined meets no limit, and no ratio with a zero does
            values = _cuts.values_of(c, k.metric)
            keep &= np.isfinite(values) & ((values != 0) | (k.scope == "gap"))
        elif k.scope:
            keep &= _cuts.holds(c, k.constraint)
    return keep


def _exact(c: Cuts, m: Metric, k: int) -> Fraction | float:
    if not m.is_exact or m.root:
        return float(_cuts.values_of(c, m)[k])
    return _cuts.exact_values(c, m, np.array([k]))[0] + as_fraction(m.constant)  # type: ignore[no-any-return]


def _common(
    all_: Cuts, cuts: list[Cuts], bounds: Sequence[ScopedConstraint], goal: Metric
) -> tuple[float, float, dict[str, float]]:
    """Find the best cut that all groups share, within the limits on the total."""
    allowed = _cuts.met_by([all_], [k.constraint for k in bounds if not k.scope]).all(
        axis=0
    )
    best = _cuts.best_cuts([all_], goal, allowed)
    if not best.size:
        return math.nan, math.nan, {}
    at = _cuts.most_balanced(all_, best)
    least = _cuts.interval_of(all_.score, at)[1]
    here = [int((c.score >= least).sum()) for c in cuts]
    gaps = {k.name: _gap(cuts, k, here) for k in bounds if k.compares_groups}
    return _cuts.threshold_of(all_.score, at), _cuts.value_at(all_, goal, at), gaps


def _gap(cuts: list[Cuts], k: ScopedConstraint, at: Sequence[int]) -> float:
    pairs = zip(cuts, at, strict=True)
    return float(
        k.summarize_groups([_cuts.values_of(c, k.metric)[i] for c, i in pairs])
    )


def _gap_estimate(
    k: ScopedConstraint, cuts: list[Cuts], at: list[int], sides: list[Cut], level: float
) -> Estimate:
    """Give the largest difference, or the smallest ratio, of any pair, with limits."""
    each = [
        evaluate_measure(x.sample, partial(metric_measure, k.metric, x.flags))
        for x in sides
    ]
    values, spreads = [m.value for m in each], [m.variance_estimate for m in each]
    reach = k.metric.range[1] - k.metric.range[0]
    made = partial(
        estimate_from_interval,
        _gap(cuts, k, at),
        level=level,
        method="student",
        name=k.name,
    )
    if k.scope == "ratio":
        if not min(values) > 0:  # nothing is known of a ratio with zero
            return made(low=0.0, high=1.0)
        spreads = [replace(s, variance=s.variance / v**2)
                   for s, v in zip(spreads, values, strict=True)]  # fmt: skip
        values, reach = [math.log(v) for v in values], reach / min(values)
    pairs = list(combinations(range(len(values)), 2))
    least = most = 0.0
    for i, j in pairs:
        away = Difference(
            values[i] - values[j],
            variance_of_independent_difference(spreads[i], spreads[j]),
            reach,
        )
        low, high = away.interval(1 - (1 - level) / len(pairs))
        least, most = max(least, low, -high), max(most, high, -low)
    if k.scope == "ratio":
        least, most = math.exp(-most), math.exp(-least)
    return made(low=least, high=most)


def _infeasible(
    cuts: list[Cuts], bounds: Sequence[ScopedConstraint], seconds: float
) -> Infeasible:
    """Say what cannot be met: one limit alone, or only all of them together."""
    until = time.monotonic() + seconds
    for k in bounds:
        if best_for_groups(cuts, [k], METRICS["accuracy"], until)[0] is None:
            whose = (
                "any thresholds of these groups" if k.scope else "all groups together"
            )
            return Infeasible(f"{k} cannot be met by {whose}.")
    return Infeasible(
        f"{' and '.join(map(str, bounds))} cannot be met together, or no "
        "thresholds were found within the time limit. Loosen one of them, or give a "
        "longer time_limit."
    )
