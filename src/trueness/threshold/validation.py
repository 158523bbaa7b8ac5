r"""How far can a chosen rule be trusted?

What a repeated choice gains in its own bootstrap sample over the cases left out is what
the choice makes of chance (Efron 1983). All that a measure sees of a rule is how many
positives and negatives are on its sides: *cells*, (..., groups, sides, 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import product
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.progress import progress
from trueness._core.records import Answer, Estimate, brief
from trueness.counts.design import CASE_CONTROL
from trueness.counts.placements import coarser, group_starts
from trueness.counts.resampling import Seed, draw, whole_draws
from trueness.counts.values import Tally
from trueness.inference.differences import variance_of_independent_difference
from trueness.inference.estimates import (
    estimate_from_interval,
    estimate_from_replicates,
    estimate_from_variance,
    interval_notes,
)
from trueness.inference.variance import Influence, VarianceEstimate, estimate_variance
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import BOUNDS, one_or_more
from trueness.metrics.intervals import slopes, units_seen
from trueness.threshold.constraints import (
    GROUPS,
    SIDES,
    ConstraintLike,
    ScopedConstraint,
    asks_for_groups,
    asks_for_two_cuts,
    read_objective,
    read_scoped_constraints,
)
from trueness.threshold.cuts import thresholds_of, unit_of
from trueness.threshold.group_cuts import group_thresholds
from trueness.threshold.group_optimum import choose_groups_again
from trueness.threshold.operating_point import best_threshold, cut_again
from trueness.threshold.prevalences import (
    Prevalences,
    UsePrevalence,
    prevalence_of_use,
    prevalences_to_try,
)
from trueness.threshold.rule import together
from trueness.threshold.zones import best_thresholds, zones_again

# rows that a choice is repeated on: neighbouring scores are joined, since where exactly
# a repeated choice lies between them moves its value by far less than chance does
_ROWS = 1000
_ROWS_OF_SEARCHES = 200  # where each sample needs a search of its own


@final
@dataclass(frozen=True, repr=False)
class Validation(Answer):
    """How good will a chosen rule be on new cases?

    Attributes
    ----------
    choice : OperatingPoint, Zones or GroupThresholds
        The choice made from all cases.
    thresholds : dict of str to Estimate
        Each chosen threshold and the interval in which repeated choices lie:
        "threshold", or "lower" and "upper", or one for each group.
    value, optimism : float
        The objective in the sample, and what of it is optimism (negative when an
        objective is minimised).
    corrected : Estimate
        What to expect of the choice on new cases, with an interval for the objective of
        the chosen rule in the population.
    in_bag, out_of_bag : array
        The objective of each repeated choice on its own cases, and on those left out.
    metrics : dict of str to Estimate
        What to expect of each metric on new cases; intervals allow for the choice.
    holds : dict of str to float
        How often each constraint held on the cases that a repeated choice left out.
    failed : float
        The share of samples in which nothing could be chosen.
    """

    choice: Any
    thresholds: dict[str, Estimate]
    value: float
    corrected: Estimate
    optimism: float
    in_bag: Floats
    out_of_bag: Floats
    metrics: dict[str, Estimate]
    holds: dict[str, float]
    failed: float
    prevalence: str = ""
    notes: tuple[str, ...] = ()

    @property
    def threshold(self) -> Estimate:
        """Give the chosen threshold (the upper one of two) with its interval."""
        return next(iter(self.thresholds.values()))


@together(asks_for_groups)
def validate_threshold(
    data: Tally | Mapping[Any, Tally],
    maximize: str | Metric | None = None,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    minimize: str | Metric | None = None,
    prevalences: Prevalences = None,
    replicates: int = 1000,
    level: float = 0.95,
    rng: Seed = 0,
) -> Validation:
    r"""What can be expected of a chosen rule on new cases?

    The choice of :func:`best_threshold` is repeated on bootstrap samples; where the
    words speak of deferred cases, or of one side, that of :func:`best_thresholds`;
    where they limit differences between groups, that of :func:`group_thresholds`.

    Parameters
    ----------
    data
        Scores and labels of one classifier, both classes present; of groups a mapping
        from name to tally, or data with ``by=``.
    maximize, minimize, subject_to, prevalences
        As in these functions. The uncertainty of an estimated prevalence goes into the
        intervals; for a range they hold whichever prevalence of it is true.
    replicates
        How many bootstrap samples; a fifth of that where each needs a search of its
        own, for two thresholds or groups.

    Notes
    -----
    Of what repeated choices gain in their samples over the cases left out .632 is taken
    off (Efron 1983, doi:10.2307/2288636); intervals have the variance of the rule taken
    as fixed or, where it is larger, of the repeated choices. Whole clusters are drawn.
    Beyond 1,000 distinct scores neighbours are joined before the choice is repeated.

    Examples
    --------
    >>> t = Tally([4, 3, 2, 1], pos=[40, 30, 20, 10], neg=[10, 20, 30, 40])
    >>> v = validate_threshold(t, "accuracy", rng=1)
    >>> v.value, v.corrected.low < 0.7 < v.corrected.high
    (0.7, True)
    """
    level = _options.fraction(level, "level")
    number = _options.whole_number(replicates, "replicates", at_least=2)
    words = one_or_more(subject_to, BOUNDS, '["recall >= 0.9"]')
    goal = read_objective(maximize, minimize)
    aim: dict[str, Any] = {"minimize": minimize, "subject_to": words}
    aim |= {} if maximize is None else {"maximize": maximize}
    two = asks_for_two_cuts([*words, maximize, minimize])
    task = _task(data, aim, goal, two, prevalences)
    number = number if task.rows == _ROWS else max(2, number // 5)
    runs = _repeated(task, number, _options.generator(rng))
    missing = number - len(runs[0])
    if 2 * missing > number:
        every = task.tallies.values()
        pos, neg = (sum(getattr(t, k) for t in every) for k in ("n_pos", "n_neg"))
        raise NotEnoughCases(
            f"validate_threshold needs a choice in most bootstrap samples; in "
            f"{missing:,} of {number:,} no threshold met the constraints or "
            f"{goal[0].name} was undefined. Loosen the constraints, or collect "
            f"more than {brief(pos)} positives and {brief(neg)} negatives."
        )
    return _judged(task, runs, missing / number, level)


Measure = Callable[[Array], Any]  # of cells
Goal = tuple[Metric, Metric]  # as it was asked for, and what to maximise
# the places of repeated choices in their tallies (samples, groups, cuts), and their
# cells (samples, groups, sides, 2): of the sample, of the cases left out, and of all
Runs = tuple[Ints, Floats, Floats, Floats]


class _Task(NamedTuple):
    """A choice that can be made again, and what is measured of it."""

    choice: Any
    tallies: dict[str, Tally]  # one of all cases, or one of each group
    names: tuple[str, ...]  # of the cuts of a group, the highest first
    # from running counts (samples, cuts) of each group to places of cuts, -1 for none
    choose: Callable[[list[Confusion]], Ints]
    goal: Goal
    shown: Iterable[ScopedConstraint]  # measured besides objective and constraints
    bounds: tuple[ScopedConstraint, ...]
    prevalence: str
    note: str
    share: UsePrevalence | None = None
    rows: int = _ROWS_OF_SEARCHES

    @property
    def measured(self) -> dict[str, ScopedConstraint]:
        """Give all that is measured, by name."""
        goal = ScopedConstraint(self.goal[0] >= 0)
        return {k.name: k for k in (*self.shown, *self.bounds, goal)}

    @property
    def ends(self) -> list[float | None]:
        """At which prevalences is everything measured?"""
        return [None] if self.share is None else [*self.share.ends]

    def measure(self, what: ScopedConstraint, prevalence: float | None) -> Measure:
        """Measure cells, scaled to the cases of each group and to a prevalence."""
        sizes = [float(t.n_pos + t.n_neg) for t in self.tallies.values()]
        parts: Any = np.array(sizes)[:, None, None]
        axes: Any = (-2, -1)
        if prevalence is not None:
            parts, axes = parts * [prevalence, 1 - prevalence], -2

        def measured(cells: Array) -> Any:
            total = cells.sum(axis=axes, keepdims=True)
            return what.evaluate(cells * (parts / np.where(total > 0, total, 1)))

        return measured

    def value(self, what: ScopedConstraint, cells: Array) -> Any:
        """Give a measure in use; of the objective the worst in a range."""
        shown, objective = self.goal
        if what.name != shown.name:
            share = None if self.share is None else self.share.value
            return self.measure(what, share)(cells)
        worst = np.min if objective is shown else np.max
        return worst([self.measure(what, p)(cells) for p in self.ends], axis=0)


_SHOWN_OF_ZONES = ("precision above", "npv below", "recall above", "fpr above", "defer")


def _task(
    data: Any, aim: dict[str, Any], goal: Goal, two: bool, prevalences: Prevalences
) -> _Task:
    """Make the choice from all cases, and say how it is made again."""
    groups = isinstance(data, Mapping)
    kind = GROUPS if groups else SIDES
    bounds = read_scoped_constraints(aim["subject_to"], kind)
    every = [ScopedConstraint(m >= 0) for m in METRICS.values()]
    if groups:
        found: Any = group_thresholds(data, **aim)
        tallies = {str(name): t.labelled() for name, t in data.items()}
        unit = unit_of(c for t in tallies.values() for c in (t.pos, t.neg))
        note = "Each group was drawn by itself, with as many cases as it has."
        again = partial(choose_groups_again, goal[1], bounds, unit)
        return _Task(found, tallies, ("",), again, goal, every, bounds,
                     "that of the sample", note)  # fmt: skip
    _cases.both_classes(data, "validate_threshold")
    t = data.labelled()
    if two:
        found, share = best_thresholds(data, **aim), prevalence_of_use(data)
        again = partial(zones_again, goal[1], bounds, data.design.prevalence)
        note = "What a person decides about the deferred cases is not included."
        shown = read_scoped_constraints([f"{k} >= 0" for k in _SHOWN_OF_ZONES], kind)
        return _Task(found, {"": t}, ("upper", "lower"), again, goal, shown, bounds,
                     f"{found.prevalence:.4g}", note, share)  # fmt: skip
    found = best_threshold(data, prevalences=prevalences, **aim)
    share = prevalence_of_use(data, prevalences)
    if share is None:
        words = f"{t.prevalence:.4g}, that of the sample"
        note = "The prevalence is that of the sample; if it differs in use, pass "
        note += "prevalence=."
        if t.design.sampling == CASE_CONTROL:
            every = [k for k in every if not depends_on_prevalence(k.metric)]
    else:
        words, note = share.describe(), ""
        if share.is_range:
            note = "Values are the worst over the range of prevalences."
    shares = prevalences_to_try(share, [goal[0], *(k.metric for k in bounds)])
    again = partial(cut_again, goal[1], [k.constraint for k in bounds], shares)
    return _Task(found, {"": t}, ("threshold",), again, goal, every, bounds, words,
                 note, share, _ROWS)  # fmt: skip


def _repeated(task: _Task, number: int, rng: np.random.Generator) -> Runs:
    """Repeat a choice on samples of each tally, joined to so many rows."""
    joined = [coarser(t, task.rows) for t in task.tallies.values()]
    draws = [_drawn(t) for t in joined]
    # where the cuts of joined rows are in their tally
    befores = [
        np.append(group_starts(t.neg / t.n_neg + t.pos / t.n_pos, task.rows), len(t))
        if len(t) > task.rows else np.arange(len(t) + 1)
        for t in task.tallies.values()
    ]  # fmt: skip
    parts: list[list[Any]] = []
    with progress("Bootstrap", number, "samples") as went_by:
        for start in range(0, number, 64):  # which stay in the processor's cache
            some = min(64, number - start)
            both = [one(some, rng) for one in draws]
            all_ = [[np.tile(x, (some, 1)) for x in (t.pos, t.neg)] for t in joined]
            kinds = (*zip(*both, strict=True), all_)
            running = [[_running(*pair) for pair in kind] for kind in kinds]
            at = task.choose(running[0])
            good = np.asarray((at >= 0).all(axis=(1, 2)))
            found: list[list[Any]] = [[x[at[good, g]] for g, x in enumerate(befores)]]
            found += [[_cells(c, at[good, g], good) for g, c in enumerate(kind)]
                      for kind in running]  # fmt: skip
            parts.append([np.stack(x, axis=1) for x in found])
            went_by(some)
    places, bag, out, of_all = (np.concatenate(x) for x in zip(*parts, strict=True))
    return places, bag, out, of_all


def _drawn(t: Tally) -> Callable[[int, np.random.Generator], list[list[Array]]]:
    """Draw samples: positives and negatives of each, and those that it left out.

    Of N equal cases of a row, of which B were drawn, :math:`N (1 - 1/N)^B` are left out
    on average; that mean stands for them. A cluster is drawn like one case.
    """
    pairs = (t.pos, t.squares[1]), (t.neg, t.squares[0])
    kinds = [whole_draws(w.astype(float), q.astype(float)) for w, q in pairs]
    units = [np.where(weight > 0, n, 0) for n, weight in kinds]
    tables: Any = None
    if (c := t.grouped) is not None:
        from scipy.sparse import csr_array

        units, shape = [np.ones(c.number, dtype=np.int64)], (c.number, len(t))
        tables = [csr_array((k, (c.code, c.row)), shape=shape)
                  for k in (c.counts[1], c.counts[0])]  # fmt: skip

    def in_rows(units: list[Array]) -> list[Array]:
        if tables is not None:
            return [units[0] @ table for table in tables]
        return [n * weight for n, (_, weight) in zip(units, kinds, strict=True)]

    def one(number: int, rng: np.random.Generator) -> list[list[Array]]:
        if t.design.fixed_classes:
            taken = [draw(n, number, rng) for n in units]
        else:
            every = draw(np.concatenate(units), number, rng)
            taken = np.split(every, len(units), axis=1)
        left = [n * np.power(1 - 1 / np.maximum(n, 1), b)
                for n, b in zip(units, taken, strict=True)]  # fmt: skip
        return [in_rows(taken), in_rows(left)]

    return one


def _running(pos: Array, neg: Array) -> Confusion:
    """Count right and wrong cases at all cuts of some samples."""
    tp, fp = (np.pad(np.cumsum(x, axis=1), ((0, 0), (1, 0))) for x in (pos, neg))
    return Confusion(tp, fp, tp[:, -1:] - tp, fp[:, -1:] - fp)


def _cells(c: Confusion, at: Ints, which: NDArray[np.bool_]) -> Floats:
    """Count positives and negatives flagged, deferred and cleared in some samples."""
    at = at if at.shape[1] == 2 else np.repeat(at, 2, axis=1)  # one cut defers nothing
    sides = []
    for x in (c.tp[which], c.fp[which]):
        ends = np.take_along_axis(x, at, axis=1)
        sides.append(np.diff(ends, axis=1, prepend=0, append=x[:, -1:]))
    return np.stack(sides, axis=-1).astype(np.float64)


def _judged(task: _Task, runs: Runs, failed: float, level: float) -> Validation:
    rule, goal = task.choice.rule, task.goal[0].name
    rows = [rule.verdicts({name: t} if rule.groups else t)
            for name, t in task.tallies.items()]  # fmt: skip
    cells = np.array([[[x[t.score == kind].sum() for x in (t.pos, t.neg)]
                       for kind in (1.0, 0.5, 0.0)] for t in rows], float)  # fmt: skip
    fair = _without_optimism(cells, runs)
    metrics = {
        name: _expected(task, what, (rows, cells, fair), runs, level)
        for name, what in task.measured.items()
        if math.isfinite(float(task.value(what, fair)))
    }
    if goal not in metrics:
        raise NotEnoughCases(
            f"validate_threshold needs cases on which {goal} is defined; the cases "
            "that samples left out are too few."
        )
    out = runs[2]
    held = {str(k): [k.is_met_by(task.measure(k, p)(out)) for p in task.ends]
            for k in task.bounds}  # fmt: skip
    in_bag, left_out = (task.value(task.measured[goal], x) for x in runs[1:3])
    first = next(iter(task.tallies.values()))
    alike = "The cases are assumed to be like those in use"
    if first.clusters is None:
        alike += ", and independent; if some are of one person or one site, say so "
        alike += "with cluster="
    return Validation(
        choice=task.choice,
        thresholds=_thresholds(task, runs, level),
        value=task.choice.value,
        corrected=metrics[goal],
        optimism=task.choice.value - metrics[goal].value,
        in_bag=np.asarray(in_bag),
        out_of_bag=np.asarray(left_out),
        metrics=metrics,
        holds={k: float(np.mean(np.all(kept, axis=0))) for k, kept in held.items()},
        failed=failed,
        prevalence=task.prevalence,
        notes=(alike + ".", *filter(None, [task.note]), *interval_notes(first)),
    )


def _thresholds(task: _Task, runs: Runs, level: float) -> dict[str, Estimate]:
    """Give each chosen threshold, and the interval in which repeated choices lie."""
    found = {}
    for g, (group, t) in enumerate(task.tallies.items()):
        chosen = task.choice.rule.cuts(group)[::-1]
        for k, name in enumerate(task.names):
            at = runs[0][:, g, k]
            # places have an order and no gaps, also where nothing is flagged
            here = float((t.score >= chosen[k]).sum())
            e = estimate_from_replicates(here, at.astype(float), level)
            ends = np.rint([e.low, e.high]).astype(np.int64)
            high, low = thresholds_of(t.score, ends)
            values = thresholds_of(t.score, at)
            values = values[np.isfinite(values)]
            # in units of the largest: squares beyond 1e308 are infinite
            size = float(np.abs(values).max(initial=0.0))
            many = values.size > 1 and size
            sd = size * float((values / size).std(ddof=1)) if many else math.nan
            found[name or group] = estimate_from_interval(
                chosen[k], low, high, level, "bootstrap", sd
            )
    return found


_DISTINCT = 1 - math.exp(-1)  # the share of the cases that a sample holds


def _without_optimism(cells: Floats, runs: Runs) -> Floats:
    """Count the cases on each side as they would be without the choice (Efron's .632).

    A sample has fewer distinct cases and chooses worse. Cases left out are added up
    first: the mean of a ratio of few cases is biased.
    """

    def shares(cells: Floats) -> Floats:
        with np.errstate(invalid="ignore"):  # a sample may have none of a class
            return np.asarray(cells / cells.sum(axis=-2, keepdims=True))

    gain = np.nanmean(shares(runs[1]), axis=0) - shares(runs[2].sum(axis=0))
    fair = shares(np.maximum(shares(cells) - _DISTINCT * gain, 0))
    return np.asarray(fair * cells.sum(axis=-2, keepdims=True))


def _expected(
    task: _Task, what: ScopedConstraint, seen: Any, runs: Runs, level: float
) -> Estimate:
    """Give a corrected value and limits that allow for the choice."""
    (rows, cells, fair), found, doubt = seen, [], 0.0
    if (share := task.share) is not None and share.level is not None:
        # the variance that an estimated prevalence adds
        ends = [float(task.measure(what, p)(cells)) for p in (share.low, share.high)]
        away = NormalDist().inv_cdf((1 + share.level) / 2)
        doubt = ((ends[0] - ends[1]) / (2 * away)) ** 2
    for measure in (task.measure(what, p) for p in task.ends):
        value = float(measure(fair))
        between = _corner_values(measure, cells, what.range, len(task.names))
        # limits without an upper end are made on the logarithmic scale
        log = between[0] > -math.inf and between[1] == math.inf
        s = _spread(measure, rows, cells)
        with np.errstate(divide="ignore", invalid="ignore"):  # odds may be infinite
            bag, all_ = (np.asarray(measure(x), float) for x in runs[1::2])
            if log:
                bag, all_ = np.log(bag - between[0]), np.log(all_ - between[0])
            gain = bag - all_
        gain = gain[np.isfinite(gain)]
        varies = float(gain.var(ddof=1)) if gain.size > 1 else 0.0
        away = float(measure(cells)) - between[0] if log else 1.0
        fixed = s.variance / away**2 if away else 0.0
        variance = max(fixed, varies) * ((value - between[0]) ** 2 if log else 1.0)
        s = replace(s, variance=variance + doubt)
        found.append(estimate_from_variance(value, s, between, level))
    low, high = min(e.low for e in found), max(e.high for e in found)
    sd, value = max(e.se for e in found), float(task.value(what, fair))
    return estimate_from_interval(
        value, low, high, level, "bootstrap", sd, name=what.name
    )


def _spread(measure: Measure, rows: list[Tally], cells: Floats) -> VarianceEstimate:
    """How far does a measure vary, the rule taken as fixed?"""
    each = []
    for g, (t, by) in enumerate(zip(rows, slopes(measure, cells), strict=True)):
        pos, neg = by[np.rint(2 - 2 * t.score).astype(np.int64)].T
        s = estimate_variance(
            t, Influence(neg, pos), within_class=t.design.fixed_classes
        )
        if not s.variance > 0 and t.clusters is None:
            # a kind that was not seen is in a class that the measure looks at
            s = replace(s, units=min(units_seen(measure, cells, g, t)))
        each.append(replace(s, variance=max(0.0, s.variance)))  # 0 for NaN, too
    return reduce(variance_of_independent_difference, each)


def _corner_values(
    measure: Measure, cells: Floats, ends: tuple[float, float], cuts: int
) -> tuple[float, float]:
    """Between which values does a measure lie? A count or a cost has no other end.

    Sums of counts are largest, and smallest, where each class is on one side.
    """
    if np.isfinite(ends).all():
        return ends
    sides = list(product((0, 2) if cuts == 1 else (0, 1, 2), repeat=2))
    tables = np.zeros((len(sides), *cells.shape))
    for table, (a, b) in zip(tables, sides, strict=True):
        table[:, a, 0], table[:, b, 1] = cells.sum(axis=1).T
    values = np.asarray(measure(tables), np.float64)
    known = values[~np.isnan(values)]
    if not known.size:
        return ends
    least, most = max(ends[0], float(known.min())), min(ends[1], float(known.max()))
    return (least, most) if least < most else ends
