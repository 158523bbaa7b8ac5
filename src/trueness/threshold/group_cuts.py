"""Which cut should each group have, so that all are served alike?

``group_thresholds`` finds the best cuts, one per group, under limits on how far the
groups may differ and on what all of them may cost together: ``"recall_gap <= 0.02"``,
``"fpr_ratio >= 0.8"``, ``"precision_min >= 0.5"``, ``"flagged <= 500"``.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from operator import ge, gt, le, lt
from typing import Any, Literal, NamedTuple, final

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.numbers import cut_text
from trueness._core.records import Estimate, Record, brief
from trueness._core.search import largest_quotient
from trueness.counts.answers import of_counts
from trueness.counts.cases import weighed_counts
from trueness.counts.values import Tally
from trueness.inference.differences import Contrast, apart
from trueness.inference.limits import around, inferred
from trueness.metrics.algebra import Constraint, Metric, as_fraction
from trueness.metrics.confusion import Confusion
from trueness.metrics.exact import is_exact
from trueness.metrics.grammar import BOUNDS, one_or_more
from trueness.metrics.grammar import constraint as read_constraint
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.intervals import Cut, metric_measure
from trueness.threshold import forms
from trueness.threshold.cuts import (
    Cuts,
    Interval,
    all_cuts,
    best_cuts,
    exact_values,
    holds,
    interval_of,
    met_by,
    most_balanced,
    threshold_of,
    unit_of,
    value_at,
    values_of,
)
from trueness.threshold.group_search import (
    Gap,
    GroupAnswer,
    GroupProblem,
    GroupRow,
    solve,
)
from trueness.threshold.operating_point import (
    DEFAULT,
    ConstraintLike,
    objective_text,
    read_objective,
)
from trueness.threshold.rule import Rule

_BETWEEN = re.compile(
    r"^\s*(?P<name>[A-Za-z_][A-Za-z_0-9]*?(\([^)]*\))?)_?(?P<kind>gap|ratio|min|max)"
    r"\s*(?P<sign>[<>]=?)\s*(?P<bound>[-+.\deE]+)\s*$"
)
_GROUPS = re.compile(r"_(gap|ratio|min|max)\s*[<>]")
Kind = Literal["gap", "ratio", "min", "max"]


class Between(NamedTuple):
    """A limit on how far groups may differ, or on the worst of them."""

    metric: Metric
    kind: Kind
    sign: str
    bound: float

    @property
    def name(self) -> str:
        """Give the quantity that is limited."""
        return f"{self.metric.name}_{self.kind}"

    def __str__(self) -> str:
        """Write it as it is typed."""
        return f"{self.name} {self.sign} {self.bound:g}"

    def of(self, values: Any) -> Any:
        """Give what is limited of the values of all groups, along the first axis."""
        low, high = (
            (values.min(axis=0), values.max(axis=0))
            if isinstance(values, np.ndarray)
            else (min(values), max(values))
        )
        if self.kind == "ratio":
            return (
                low / np.where(high == 0, np.nan, high)
                if np.ndim(high)
                else (low / high if high else math.nan)
            )
        return {"gap": high - low, "min": low, "max": high}[self.kind]

    def kept(self, value: Any) -> Any:
        """Is the limit kept?"""
        bound = as_fraction(self.bound) if isinstance(value, Fraction) else self.bound
        return _COMPARE[self.sign](value, bound)


_COMPARE = {"<": lt, "<=": le, ">": gt, ">=": ge}


def asks_for_groups(constraints: Iterable[Any]) -> bool:
    """Does a constraint speak of differences between groups, or of every group?"""
    return any(isinstance(c, str) and _GROUPS.search(c) for c in constraints)


def limits_groups(given: Any) -> bool:
    """Is this a constraint, or a list of them, that speaks of groups?"""
    if isinstance(given, str):
        return asks_for_groups([given])
    return isinstance(given, (list, tuple)) and asks_for_groups(given[:1000])


def several(given: Any) -> Iterable[Any]:
    """Give constraints as several, where one was typed."""
    return () if given is None else one_or_more(given, BOUNDS, '["recall_gap <= 0.1"]')


def read_limits(given: Any) -> tuple[list[Between], list[Constraint]]:
    """Tell limits between groups from limits on all cases together."""
    between, totals = [], []
    for text in several(given):
        found = _BETWEEN.match(text) if isinstance(text, str) else None
        if found is None:
            totals.append(read_constraint(text))
        else:
            between.append(_between(found, text))
    return between, totals


def _between(found: re.Match[str], text: str) -> Between:
    kind: Any = found["kind"]
    upward = {"gap": "<", "ratio": ">", "min": ">", "max": "<"}[kind]
    if not found["sign"].startswith(upward):
        word = "at most" if upward == "<" else "at least"
        raise InputError(
            f"{found['name']}_{kind} can only be required to be {word} a number; "
            f"found {text!r}. Type {found['name']}_{kind} {upward}= {found['bound']}."
        )
    try:
        bound = float(found["bound"])
    except ValueError:
        raise InputError(f"Cannot read the bound of {text!r}.") from None
    if (kind == "gap" and bound < 0) or (kind == "ratio" and not 0 < bound <= 1):
        raise InputError(
            f"A gap is bounded by zero or more, a ratio by a number between 0 and 1; "
            f"found {text!r}."
        )
    return Between(read_metric(found["name"].rstrip("_")), kind, found["sign"], bound)


# bounds are sums in floating point: of weights no proof goes beyond so small a part
_ROUNDING = Fraction(1, 10**9)


@final
@dataclass(frozen=True, repr=False)
class GroupThresholds(Record):
    """Which threshold does each group get, and how alike are the groups then?

    Attributes
    ----------
    thresholds : dict of str to float
        Flag a case of the group when ``score >= threshold``.
    score_ranges : dict of str to (float, float)
        The thresholds that flag the same cases.
    value : float
        The objective over all groups together.
    bound : float
        No choice of thresholds is better than this.
    proved : bool
        Whether ``value`` is proved to be the best there is (of weighted cases: to nine
        digits of all their weight).
    confusions : dict of str to Confusion
        The confusion matrix of each group.
    gaps : dict of str to Estimate
        Each limited difference (or ratio) between the groups, with an interval of what
        it is in the population.
    constraints : dict of str to float
        The value of each bounded metric, over all groups together.
    common_threshold, common_value : float
        The best common threshold for all groups that meets the limits on their total,
        and its value.
    common_gaps : dict of str to float
        What the limited differences would be at the common threshold.
    free_value : float
        The value without limits on differences; how far it is from ``value`` is what
        the limits cost.
    objective : str
        What was maximised or minimised.
    notes : tuple of str
        What to keep in mind.
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
        """Give the choice as a rule: a threshold for each group."""
        return Rule(self.thresholds)

    def __repr__(self) -> str:
        """Say where each group is cut and how far the groups differ."""
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
    maximize: str | Metric = DEFAULT,
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
        A mapping from name to tally, of different cases (and clusters): ``tally(...,
        by="site")``; or data: ``group_thresholds(y_true, y_score, by=site)``.
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
    level
        Confidence level of the intervals of the differences.

    Returns
    -------
    GroupThresholds
        The thresholds, what they give, how alike the groups are, and the best common
        threshold.

    Raises
    ------
    Infeasible
        No thresholds meet the limits.

    Notes
    -----
    The search is exact, over deterministic thresholds and in whole numbers. It is a
    branch and bound over the smallest value of each limited metric, with Lagrange
    multipliers for limits on totals and HiGHS for what these leave undecided
    (``group_search.py``). Without limits on totals the answer is proved optimal; with
    them it nearly always is, and otherwise ``bound`` says how much better it could be.
    The time is O(M log M) for one limit and M thresholds in all, times the number of
    groups.

    The interval of a difference is for the difference in the population, at these
    thresholds: Student's interval of each pair of groups, all of them at once (Dunn
    1961), of which the widest apart says how far the groups differ; a ratio is a
    difference of logarithms. It does not allow for the choice of the thresholds.

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
    tallies = _checked(data)
    level = _options.fraction(level, "level")
    time_limit = _options.positive_number(time_limit, "time_limit")
    shown, objective = read_objective(maximize, minimize)
    between, totals = read_limits(subject_to)
    unit = unit_of(c for t in tallies.values() for c in (t.pos, t.neg))
    cuts = [all_cuts(t, None, "group_thresholds", unit) for t in tallies.values()]
    for name, c in zip(tallies, cuts, strict=True):
        if not (c.n_pos and c.n_neg):  # of weights so small no unit is left
            raise InputError(
                f"The cases of {name!r} weigh less than 10^-12 of those of all groups, "
                "which no search can tell from nothing. Are the weights of all groups "
                "on one scale?"
            )
    ask = Ask(cuts, pooled(cuts), between, totals)
    goal, start = _quotient(objective, ask), time.monotonic()
    # what the limits cost needs a second search: a quarter of the time is kept for it
    found, value, bound = optimum(ask, goal, start + 0.75 * time_limit)
    if found.cuts is None:
        raise _infeasible(ask, time_limit)
    sign = 1 if objective is shown else -1
    common = _common(ask, objective)
    free = ask._replace(between=[b for b in between if b.kind in ("min", "max")])
    until = max(start, time.monotonic() - 0.75 * time_limit) + time_limit
    at = optimum(free, goal, until)[1] if between else value
    each = list(zip(map(str, tallies), cuts, found.cuts, strict=True))
    return GroupThresholds(
        thresholds={name: threshold_of(c.score, k) for name, c, k in each},
        score_ranges={name: interval_of(c.score, k) for name, c, k in each},
        value=float(sign * value),
        bound=float(sign * bound),
        proved=bound == value,
        confusions={name: c.seen[k] for name, c, k in each},
        gaps=_gap_estimates(ask, found.cuts, [*tallies.values()], level),
        constraints={repr(c): _total_value(ask, c, found.cuts) for c in totals},
        common_threshold=common[0],
        common_value=sign * common[1],
        common_gaps=common[2],
        free_value=float(sign * at),
        objective=objective_text(shown, objective),
        notes=(
            *(() if bound == value else (_UNPROVED,)),
            *_NOTES,
            *weighed_counts(next(iter(tallies.values()))),
        ),
    )


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


def _checked(groups: Any) -> dict[Any, Tally]:
    if not isinstance(groups, Mapping):
        raise InputError(
            f"group_thresholds needs a mapping from group to tally; found "
            f"{type(groups).__name__}. Type trueness.tally(frame, label=..., "
            f'score=..., by="site").'
        )
    _cases.at_least_two([str(n) for n in groups], "group_thresholds")
    for name, t in groups.items():
        _cases.one_classifier(t, "group_thresholds")
        _cases.both_classes(t, f"group_thresholds of {name!r}")
    return {n: t.labelled() for n, t in groups.items()}


class Ask(NamedTuple):
    """The cuts of every group, all groups as one, and the limits."""

    cuts: list[Cuts]
    whole: Cuts
    between: list[Between]
    totals: list[Constraint]


def pooled(cuts: list[Cuts]) -> Cuts:
    """Give the totals of all groups as one tally that is not cut."""
    return _together(cuts, np.zeros(0), [np.zeros(1, dtype=np.int64)] * len(cuts))


def _together(cuts: list[Cuts], score: Floats, places: list[Ints]) -> Cuts:
    """Add up groups that are cut at these places, one for each common cut."""
    sums = (
        Confusion(
            *np.sum([x[at].cells for x, at in zip(kind, places, strict=True)], axis=0)
        )
        for kind in ([c.seen for c in cuts], [c.units for c in cuts])
    )
    seen, units = sums
    units = seen if cuts[0].units is cuts[0].seen else units
    return Cuts(score, seen, seen, units, cuts[0].scale)


def choose_cuts(
    cuts: list[Cuts],
    objective: Metric,
    between: list[Between],
    totals: list[Constraint],
    seconds: float,
) -> list[int] | None:
    """Give the best cut of each group; None when none meet the limits."""
    ask = Ask(cuts, pooled(cuts), between, totals)
    until = time.monotonic() + seconds
    return optimum(ask, _quotient(objective, ask), until)[0].cuts


def optimum(
    ask: Ask, goal: forms.LinearQuotient, until: float
) -> tuple[GroupAnswer, Fraction, Fraction]:
    """Maximise a sum, or a quotient of sums by Dinkelbach's method, up to some time."""
    allowed = [_allowed(c, ask.between) for c in ask.cuts]
    gaps = [_gap(ask.cuts, b) for b in ask.between if b.kind in ("gap", "ratio")]
    rows = [
        _row(ask, r)
        for c in ask.totals
        for r in forms.rows_of(c, _quotient(c.metric, ask))
        if not r.is_constant or r.const < 0
    ]
    agrees = _agrees(ask)
    over, under = goal

    def best(form: forms.LinearForm) -> GroupAnswer:
        """Give the answer with value and bound of the form itself."""
        *weights, const = form
        unit = math.lcm(*(w.denominator for w in weights))
        u = _parts(ask, [int(w * unit) for w in weights])
        answer = solve(GroupProblem(u, rows, gaps, allowed, agrees), until)
        # of weights no proof goes beyond so small a part of them
        reach = (
            0
            if ask.whole.units is ask.whole.seen
            else sum(int(abs(x).max()) for x in u)
        )
        close = answer.bound - answer.value <= _ROUNDING * reach
        ends = answer.value, answer.value if close else answer.bound
        value, bound = (Fraction(x, unit) + const for x in ends)
        return answer._replace(value=value, bound=bound)

    if under.is_constant:
        answer = best(over)
        return answer, Fraction(answer.value), Fraction(answer.bound)
    rows.append(_row(ask, forms.row(under, strict=True)))
    q, answer, again, _ = largest_quotient(
        lambda q: best(over.plus(under, -q)),
        lambda found: _ratio(ask, goal, found.cuts),
    )
    # over - q under is at most the bound left, and under is a whole number above zero
    return answer, q, q if answer.cuts is None else q + max(0, again.bound)


_REFUSAL = (
    "Thresholds of several groups need a weighted sum of counts, or one quotient of "
    "such sums (accuracy, cost, precision, f1, kappa), of all groups together; {} is "
    'not. In every group any metric can be bounded: "mcc_min >= 0.3".'
)


def _quotient(m: Metric, ask: Ask) -> forms.LinearQuotient:
    """Write a metric of the total as a quotient of sums of its counts."""
    return forms.quotient(m, ask.whole, forms.ONE_CUT, _REFUSAL)


def _parts(ask: Ask, weights: Sequence[int]) -> list[Any]:
    """Write a weighted sum of counts as a sum over groups: a part for every cut."""
    tp, fp = weights
    # beyond 64 bits Python's integers: slow, and never wrong
    largest = abs(tp) * ask.whole.n_pos + abs(fp) * ask.whole.n_neg
    kind: Any = np.int64 if largest < 2**61 else object
    return [
        c.units.tp.astype(kind) * tp + c.units.fp.astype(kind) * fp for c in ask.cuts
    ]


def _row(ask: Ask, form: forms.LinearForm) -> GroupRow:
    return GroupRow(_parts(ask, form[:-1]), form.const)


def _ratio(
    ask: Ask, q: forms.LinearQuotient, cuts: Sequence[int] | None
) -> Fraction | None:
    """Give a quotient of sums at some cuts; None where it is undefined."""
    if cuts is None:
        return None
    pairs = list(zip(ask.cuts, cuts, strict=True))
    tp, fp = (sum(int(getattr(c.units, n)[k]) for c, k in pairs) for n in ("tp", "fp"))
    below = q.under.at(tp, fp)
    return Fraction(q.over.at(tp, fp) / below) if below else None


def _total_value(ask: Ask, c: Constraint, cuts: Sequence[int]) -> float:
    value = _ratio(ask, _quotient(c.metric, ask), cuts)
    return math.nan if value is None else float(value)


def _allowed(c: Cuts, between: list[Between]) -> Any:
    """Which cuts of a group meet the limits on every single group?"""
    keep = np.ones(len(c.score) + 1, dtype=bool)
    for b in between:
        if b.kind in ("min", "max"):
            sign: Any = b.sign
            keep &= holds(c, Constraint(b.metric, sign, b.bound))
        else:  # undefined meets no limit, and no ratio with a zero does
            values = values_of(c, b.metric)
            keep &= ~np.isnan(values) & ((values != 0) | (b.kind == "gap"))
    return keep


def _gap(cuts: list[Cuts], b: Between) -> Gap:
    values = [values_of(c, b.metric) for c in cuts]
    # what goes with the smallest value v; below zero a ratio stretches the other way
    if b.kind == "gap":
        return Gap(values, lambda v: v + b.bound)
    return Gap(values, lambda v: np.where(v >= 0, v / b.bound, v * b.bound))


def _agrees(ask: Ask) -> Any:
    """Are the limits on differences kept? In fractions where the metric allows."""
    limits = [b for b in ask.between if b.kind in ("gap", "ratio")]

    def check(cuts: list[int]) -> bool:
        return all(_kept(ask, b, cuts) for b in limits)

    return check


def _kept(ask: Ask, b: Between, cuts: Sequence[int]) -> bool:
    values = [_exact(c, b.metric, k) for c, k in zip(ask.cuts, cuts, strict=True)]
    return bool(b.kept(b.of(values)))


def _exact(c: Cuts, m: Metric, k: int) -> Any:
    if not is_exact(m) or m.root:
        return float(values_of(c, m)[k])
    v = exact_values(c, m, np.array([k]))
    return Fraction(v.over[0], v.under[0]) + as_fraction(m.constant)


def _common(ask: Ask, objective: Metric) -> tuple[float, float, dict[str, float]]:
    """Find the best cut that all groups share, within the limits on the total."""
    score = np.unique(np.concatenate([c.score for c in ask.cuts]))[::-1]
    # how many scores of each group are at least the k-th common one
    places = [
        np.concatenate([[0], np.searchsorted(-c.score, -score, side="right")])
        for c in ask.cuts
    ]
    cuts = _together(ask.cuts, score, places)
    best = best_cuts([cuts], objective, met_by([cuts], ask.totals).all(axis=0))
    if not best.size:
        return math.nan, math.nan, {}
    k = most_balanced(cuts, best)
    here = [int(at[k]) for at in places]
    gaps = {
        b.name: float(b.of(_values(ask, b, here)))
        for b in ask.between
        if b.kind in ("gap", "ratio")
    }
    return threshold_of(score, k), value_at(cuts, objective, k), gaps


def _gap_estimates(
    ask: Ask, cuts: Sequence[int], tallies: Sequence[Tally], level: float
) -> dict[str, Estimate]:
    """Give each difference between groups with an interval, the cuts taken as fixed."""
    thresholds = [threshold_of(c.score, k) for c, k in zip(ask.cuts, cuts, strict=True)]
    sides = [Cut.of(t, at) for t, at in zip(tallies, thresholds, strict=True)]
    found = {}
    for b in ask.between:
        if b.kind in ("gap", "ratio"):
            value = float(b.of(_values(ask, b, cuts)))
            ends = _gap_limits(b, sides, level)
            found[b.name] = around(value, *ends, level, "student", name=b.name)
    return found


def _gap_limits(b: Between, sides: list[Cut], level: float) -> tuple[float, float]:
    """Give the limits of the largest difference, or the smallest ratio, of any pair."""
    each = [
        inferred(x.sample, partial(metric_measure, b.metric, x.flags)) for x in sides
    ]
    values = [m.value for m, _ in each]
    spreads = [s for _, s in each]
    reach = b.metric.range[1] - b.metric.range[0]
    if b.kind == "ratio":
        if (
            not min(values) > 0
        ):  # of values that are not all above zero nothing is known
            return 0.0, 1.0
        spreads = [
            s._replace(variance=s.variance / v**2) for s, v in zip(spreads, values,
                                                                  strict=True)
        ]  # fmt: skip
        values, reach = [math.log(v) for v in values], reach / min(values)
    pairs = list(combinations(range(len(values)), 2))
    each_level = 1 - (1 - level) / len(pairs)
    least = most = 0.0
    for i, j in pairs:
        away = Contrast(values[i] - values[j], apart(spreads[i], spreads[j]), reach)
        low, high = away.limits(each_level)
        least, most = max(least, low, -high), max(most, high, -low)
    return (least, most) if b.kind == "gap" else (math.exp(-most), math.exp(-least))


def _values(ask: Ask, b: Between, cuts: Sequence[int]) -> list[float]:
    pairs = zip(ask.cuts, cuts, strict=True)
    return [float(values_of(c, b.metric)[k]) for c, k in pairs]


def _infeasible(ask: Ask, seconds: float) -> Infeasible:
    """Say what cannot be met: one limit alone, or only all of them together."""
    flat = forms.LinearQuotient(
        forms.LinearForm([0, 0, 0]), forms.LinearForm([0, 0, 1])
    )
    until = time.monotonic() + seconds

    def alone(between: list[Between], totals: list[Constraint]) -> bool:
        part = ask._replace(between=between, totals=totals)
        return optimum(part, flat, until)[0].cuts is not None

    for b in ask.between:
        if not alone([b], []):
            return Infeasible(f"{b} cannot be met by any thresholds of these groups.")
    for c in ask.totals:
        if not alone([], [c]):
            return Infeasible(f"{c!r} cannot be met by all groups together.")
    words = [*map(str, ask.between), *map(repr, ask.totals)]
    return Infeasible(
        f"{' and '.join(words)} cannot be met together, or no thresholds were found "
        "within the time limit. Loosen one of them, or give a longer time_limit."
    )
