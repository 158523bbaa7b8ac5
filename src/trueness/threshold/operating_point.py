"""Where should a classifier be cut, and what is given up for what as that moves?"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from operator import neg
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.numbers import cut_texts
from trueness._core.records import Answer, Estimate, brief, native_frame, within
from trueness.counts.answers import of_tally
from trueness.counts.cases import weighted_counts_note
from trueness.counts.design import AT_RANDOM, CASE_CONTROL, COHORT
from trueness.counts.values import Tally
from trueness.inference.verification import unlabelled_notes
from trueness.metrics.algebra import Constraint, Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.grammar import one_or_more
from trueness.metrics.intervals import Cut, estimate_at
from trueness.threshold import cuts as _cuts
from trueness.threshold.constraints import (
    DEFAULT_OBJECTIVE,
    ConstraintLike,
    Objective,
    read_objective,
)
from trueness.threshold.cuts import Cuts, Interval
from trueness.threshold.milp import Certificate, maximise
from trueness.threshold.prevalences import (
    Prevalences,
    UsePrevalence,
    check_prevalence_of_use,
    prevalence_of_use,
    prevalences_to_try,
)
from trueness.threshold.rule import Rule

METHODS = ("sweep", "milp", "milp-cases", "fermi-dirac")


@final
@dataclass(frozen=True, repr=False)
class OperatingPoint(Answer):
    """Which threshold was chosen, and what follows from it?

    Attributes
    ----------
    score_range : (float, float)
        Every threshold above the first number, up to and including the second, flags
        the same cases. (It is no confidence interval.)
    score_ranges : tuple of (float, float)
        All such ranges that are optimal, highest first. (``method="milp"`` finds one.)
    binding : tuple of str
        The limiting constraints: without one of them the objective would be better.
    prevalence : float
        The share of positives in use for which ``value`` and ``constraints`` are given;
        for a range, the prevalence at which the threshold is worst.
    threshold_bounds : (float, float) or None
        For a binned tally: the best threshold for the exact scores lies between these,
        while ``bounds`` holds the value that it has.
    prevalences : (float, float) or None
        The range of prevalences, where the threshold is the best in its worst case.
    sampling : str
        ``"case-control"`` where the design fixed the share of positives and none was
        given for use: precision and all that depends on it are then left out.
    """

    threshold: float
    score_range: Interval
    value: float
    confusion: Confusion
    score_ranges: tuple[Interval, ...]
    binding: tuple[str, ...]
    objective: str
    constraints: dict[str, float]
    method: str
    prevalence: float
    certificate: Certificate | None = None
    threshold_bounds: Interval | None = None
    prevalences: Interval | None = None
    notes: tuple[str, ...] = ()
    sampling: str = "cohort"
    _cut: Cut | None = None  # both sides of it; None where all is expected

    @property
    def rule(self) -> Rule:
        """Give the choice as a rule."""
        return Rule(self.threshold)

    @cached_property
    def metrics(self) -> dict[str, Estimate]:
        """Give every metric in use; the intervals take the threshold as fixed."""
        if self._cut is None:  # what is expected has no interval
            return {}
        unknown = self.sampling == CASE_CONTROL
        kept = [
            m for m in METRICS.values() if not (unknown and depends_on_prevalence(m))
        ]
        return {m.name: estimate_at(self._cut, m, 0.95) for m in kept}

    def __repr__(self) -> str:
        others, c = len(self.score_ranges) - 1, self.confusion
        at, low, high = cut_texts(self.threshold, self.score_range)
        end = ")" if self.score_range[1] == math.inf else "]"
        more = f", and {others} more optimal" if others else ""
        lines = [
            f"OperatingPoint: {self.objective} = {self.value:.6g}{within(self)}",
            f"  threshold: {at} in ({low}, {high}{end}{more}",
            "  confusion: "
            + ", ".join(f"{f.name} {brief(getattr(c, f.name))}" for f in fields(c)),
        ]
        for text, value in self.constraints.items():
            stops = " (limiting)" if text in self.binding else ""
            lines.append(f"  {text}: {value:.6g}{stops}")
        share = f"prevalence {self.prevalence:.4g}"
        if self.sampling == CASE_CONTROL:
            share = "prevalence unknown (case-control sample)"
        elif self.prevalences is not None:
            least, most = self.prevalences
            share += f", the worst of those from {least:g} to {most:g}"
        lines.append(f"  {share}, by {self.method}")
        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])


@of_tally
def best_threshold(
    data: Tally,
    maximize: str | Metric = DEFAULT_OBJECTIVE,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    method: str = "sweep",
    *,
    minimize: str | Metric | None = None,
    prevalences: Prevalences = None,
    auc: float | None = None,
) -> OperatingPoint:
    r"""At which one threshold is a metric best, subject to these constraints?

    .. math:: \max_\tau\; f(TP(\tau), FP(\tau), FN(\tau), TN(\tau))
        \quad\text{subject to}\quad g_k(\tau) \ge b_k

    Every distinct score is tried, so the answer is the exact optimum.

    Parameters
    ----------
    data
        Scores and labels of one classifier. Cases without a label do not count, or as
        expected where labels are missing at random. Of weighted cases counts are sums
        of weights, and only ``method="sweep"`` is available.
    maximize, minimize
        Any metric, in Python or as text: ``"f1"``, ``0.7 * accuracy + 0.3 * recall``;
        by default Youden's J, recall + specificity - 1.
    subject_to
        Constraints: ``"recall >= 0.9"``, ``[precision >= 0.5, flagged <= 500]``.
    method
        ``"sweep"`` looks at every threshold; ``"milp"`` solves the 0-1 program with one
        binary variable per distinct score; ``"milp-cases"`` the one with two binary
        variables per case; ``"fermi-dirac"`` needs only ranks, AUC and prevalence, and
        puts the expectations of :func:`fermi_dirac` in the place of counts.
    prevalences
        Shares of positives in use, when they are not one number (``prevalence=``). Two
        numbers are a range: the threshold is the best in the worst case, and every
        constraint holds whichever of them is true. Of an :class:`Estimate` only the
        value is used.
    auc
        For ``method="fermi-dirac"`` on cases without labels: the area under the ROC
        curve, known from elsewhere; ``prevalence`` must then be given too.

    Notes
    -----
    Of several optimal thresholds the one is returned that flags nearest to as many
    cases as are positive (smallest abs(fp - fn), then fewer flagged), and none that
    another one of them dominates. +inf flags nothing, the lowest score everything. At a
    prevalence of use, counts such as ``flagged`` are for as many cases at that
    prevalence. Equal values are recognised exactly, with 0.7 meaning seven tenths. An
    undefined value (precision when nothing is flagged) is never optimal and meets no
    constraint.

    References
    ----------
    Kim et al. 2021, PNAS 118:e2100761118, doi:10.1073/pnas.2100761118.
    Ramazi, Mari Oriyad: Optimal accuracy threshold using 0-1 ILP formulation.
    Sameni 2025, section 6 (capacity, eq. 28; risk, eq. 29; bi-objective, eq. 30).

    Examples
    --------
    >>> t = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
    >>> p = best_threshold(t, "f1")  # 3 of 4 found, one false: 6 / (6 + 1 + 1)
    >>> p.threshold, p.score_range, p.value
    (0.6, (0.5, 0.7), 0.75)
    >>> best_threshold(t, "precision", subject_to="recall >= 0.75").binding
    ('recall >= 0.75',)
    """
    _options.choice(method, METHODS, "method")
    if auc is not None and method != "fermi-dirac":
        raise InputError(
            f'auc= is for method="fermi-dirac", which needs no labels; method='
            f'"{method}" counts labelled cases.'
        )
    shown, objective = read_objective(maximize, minimize)
    bounds = read_constraints(subject_to)
    metrics = (shown, *(c.metric for c in bounds))
    share = prevalence_of_use(data, prevalences)
    check_prevalence_of_use(data, share, metrics, "best_threshold")
    cuts = _counted(data, method, share, metrics, auc)
    for c in cuts[1:]:  # the message names the prevalence at which it cannot be met
        _cuts.stop_infeasible(c, bounds, _cuts.met_by([c], bounds))
    met = _cuts.met_by(cuts, bounds)
    _cuts.stop_infeasible(cuts[0], bounds, met)
    _cuts.stop_undefined(cuts[0], shown, met.all(axis=0))
    if method.startswith("milp"):
        if cuts[0].units is not cuts[0].seen:
            raise InputError(
                'Weighted cases need method="sweep": programs count cases.'
            )
        each_case = method == "milp-cases"
        best, proof = maximise(cuts[0], objective, bounds, each_case)
    else:
        best, proof = _cuts.best_cuts(cuts, objective, met.all(axis=0)), None
    at = _cuts.most_balanced(cuts[0], best)
    # all numbers are for the prevalence at which this cut is worst
    used = min(cuts, key=lambda c: _cuts.values_of(c, objective)[at])
    threshold, ends = _cuts.threshold_of(used.score, at), None
    notes, sampling, in_use = [*weighted_counts_note(data)], data.design.sampling, data
    if share is not None:
        in_use, sampling = data.with_design(prevalence=used.prevalence), COHORT
        if share.is_range:
            ends = share.low, share.high
            notes += [f"Best in the worst case over prevalences from {share.low:g} to "
                      f"{share.high:g}."]  # fmt: skip
        elif share.low < share.high:
            notes += [f"The prevalence {share.describe()} is taken at its estimate; "
                      "the "
                      "intervals of validate_threshold allow for its "
                      "uncertainty."]  # fmt: skip
    if method != "fermi-dirac":  # ranks of all cases tell what labels would
        notes += unlabelled_notes(data)
    return OperatingPoint(
        threshold=threshold,
        score_range=_cuts.interval_of(used.score, at),
        value=_cuts.value_at(used, shown, at),
        confusion=used.seen[at],
        score_ranges=tuple(_cuts.interval_of(used.score, int(i)) for i in best),
        binding=_cuts.stopped_by(used, objective, bounds, met, at),
        objective=str(Objective(shown, objective)),
        constraints={repr(c): _cuts.value_at(used, c.metric, at) for c in bounds},
        method=method,
        prevalence=used.prevalence,
        certificate=proof,
        prevalences=ends,
        notes=tuple(notes),
        sampling=sampling,
        _cut=Cut.of(in_use, threshold) if auc is None else None,
    )


def _counted(
    t: Tally,
    method: str,
    share: UsePrevalence | None,
    metrics: Sequence[Metric],
    auc: float | None,
) -> list[Cuts]:
    """Count at every cut, for each prevalence that has to be looked at."""
    if share is not None and share.is_range and method != "sweep":
        raise InputError(
            f'A range of prevalences needs method="sweep"; found method={method!r}.'
        )
    shares = prevalences_to_try(share, metrics)
    if method == "fermi-dirac":
        return [_cuts.expected_cuts(t, shares[0], auc)]
    first = _cuts.all_cuts(t, shares[0], "best_threshold")
    others = (_cuts.make_cuts(first.score, first.seen, p) for p in shares[1:])
    return [first, *others]


def cut_again(
    goal: Metric,
    bounds: Sequence[Constraint],
    shares: Sequence[float | None],
    seen: list[Confusion],
) -> Ints:
    """Choose the best cut of each of many samples, as best_threshold does."""
    value, allowed = np.asarray(np.inf), np.asarray(True)
    for used in map(seen[0].at_prevalence, shares):
        value = np.minimum(value, goal(used))  # undefined is never best
        for k in bounds:
            allowed = allowed & k(used)
    value = np.where(allowed & ~np.isnan(value), value, -np.inf)
    top = value.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # all may be -inf
        near = value >= top - _cuts.ROUNDING * np.abs(top)
    at = np.argmin(np.where(near, np.abs(used.fp - used.fn), np.inf), axis=1)
    return np.where(top[:, 0] > -np.inf, at, -1)[:, None, None]


def left_out(t: Tally, stacklevel: int = 5) -> tuple[str, ...]:
    """Say of a choice that takes labelled cases only whether the others differ."""
    whole = f'at_threshold(..., unlabelled="{AT_RANDOM}") judges it for all cases'
    return unlabelled_notes(t, remedy=whole, stacklevel=stacklevel)


def on_bins(point: OperatingPoint, t: Tally) -> OperatingPoint:
    """Let the ranges end above the highest score of the next bin."""
    if not t.binned:
        return point

    def corrected(interval: Interval) -> Interval:
        at = bisect_left(t.score, -interval[0], key=neg)  # scores descend
        here = at < len(t) and t.score[at] == interval[0]
        return float(t.high[at]) if here else interval[0], interval[1]

    low, high = corrected(point.score_range)
    ends = np.array([v for v in (high, low) if np.isfinite(v)])
    return replace(
        point,
        threshold=_cuts.threshold_of(ends, int(np.isfinite(high))),
        score_range=(low, high),
        score_ranges=tuple(map(corrected, point.score_ranges)),
    )


@final
@dataclass(frozen=True, repr=False)
class ParetoFront(Answer):
    """Which thresholds are on the Pareto front, and what are their metrics?

    Attributes
    ----------
    threshold, low, high : array (n,)
        The thresholds of the front, highest first, and the intervals (low, high] of
        those that flag the same cases.
    values : dict of str to array (n,)
        The metrics along the front, at the prevalence of use.
    directions : dict of str to str
        Which way each metric is better: "higher" or "lower".
    """

    threshold: Floats
    low: Floats
    high: Floats
    values: dict[str, Floats]
    confusion: Confusion
    directions: dict[str, str]
    prevalence: float

    def __len__(self) -> int:
        return len(self.threshold)

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a table with a row for each threshold."""
        columns = {k: getattr(self, k) for k in ("threshold", "low", "high")}
        counts = zip(("tp", "fp", "fn", "tn"), self.confusion.cells, strict=True)
        return native_frame({**columns, **self.values, **dict(counts)}, backend)


@of_tally
def pareto(
    data: Tally,
    metrics: Iterable[str | Metric] = (),
    *,
    maximize: Iterable[str | Metric] = (),
    minimize: Iterable[str | Metric] = (),
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
) -> ParetoFront:
    """Which thresholds are worth considering when several metrics count?

    A threshold is left out when another one is at least as good in every metric and
    better in one: the whole Pareto front, also what no weighted sum would find.

    Parameters
    ----------
    data
        Scores and labels of one classifier.
    metrics
        Two or more metrics, each better in its own direction.
    maximize, minimize
        Metrics without a direction of their own, such as ``minimize=["flagged"]``.
    subject_to
        Constraints that every threshold of the front must meet.

    Notes
    -----
    Sameni (2025), section 6.3. Thresholds with equal values in all metrics are kept
    together; equality is exact (see :func:`best_threshold`). An undefined metric
    excludes a threshold. O(m log m) for two metrics.

    Examples
    --------
    >>> t = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
    >>> pareto(t, ["recall", "precision"]).values["recall"]
    array([0.5 , 0.75, 1.  ])
    """
    asked_for = {"metrics": metrics, "maximize": maximize, "minimize": minimize}
    wanted = _directed({k: v for k, v in asked_for.items() if v is not None})
    bounds = read_constraints(subject_to)
    share = prevalence_of_use(data)
    asked = (*(m for m, _ in wanted), *(c.metric for c in bounds))
    check_prevalence_of_use(data, share, asked, "pareto")
    cuts = _cuts.all_cuts(data, data.design.prevalence, "pareto")
    met = _cuts.met_by([cuts], bounds)
    _cuts.stop_infeasible(cuts, bounds, met)
    usable = np.asarray(met.all(axis=0))
    for m, _ in wanted:
        usable &= ~np.isnan(_cuts.values_of(cuts, m))
    at = np.flatnonzero(usable)
    if at.size:  # otherwise no cut has a value of every metric
        ranks = [_ranks(cuts, m if up else -m, at) for m, up in wanted]
        at = at[undominated(ranks)]
    ends = np.concatenate([[np.inf], cuts.score, [-np.inf]])
    return ParetoFront(
        threshold=_cuts.thresholds_of(cuts.score, at),
        low=ends[at + 1],
        high=ends[at],
        values={m.name: _cuts.values_of(cuts, m)[at] for m, _ in wanted},
        confusion=cuts.seen[at],
        directions={m.name: "higher" if up else "lower" for m, up in wanted},
        prevalence=cuts.prevalence,
    )


def undominated(ranks: Sequence[Ints]) -> NDArray[np.bool_]:
    """Which columns does no other dominate? Rows are metrics, more is better."""
    order = np.lexsort(ranks[::-1])[::-1]  # what dominates a column stands before it
    columns = np.stack(ranks, axis=1)[order]
    new = np.r_[True, (columns[1:] != columns[:-1]).any(axis=1)]
    points = columns[new]
    if len(ranks) == 2:  # the second must be better than at all larger ones
        best = np.maximum.accumulate(points[:, 1])
        kept = np.r_[True, points[1:, 1] > best[:-1]]
    else:
        front, kept = points[:0], np.zeros(len(points), dtype=bool)
        for start in range(0, len(points), 64):  # earlier blocks, then the block itself
            part = points[start : start + 64]
            before = np.concatenate([front, part])
            beaten = np.all(before[None] >= part[:, None], axis=2)
            own = np.arange(len(part))
            beaten[own, len(front) + own] = False
            kept[start : start + 64] = ~beaten.any(axis=1)
            front = np.concatenate([front, part[~beaten.any(axis=1)]])
    good = np.zeros(order.size, dtype=bool)
    good[order] = kept[np.cumsum(new) - 1]
    return good


def _directed(
    asked: dict[str, Iterable[str | Metric]],
) -> list[tuple[Metric, bool]]:
    """Read the metrics, and whether more of each is better."""
    wanted = []
    for what, given in asked.items():
        needed = f"{what} must be metrics or their names in a list"
        for m in map(read_metric, one_or_more(given, needed, '["recall", "f1"]')):
            up = m.direction if what == "metrics" else what
            if up == "none":
                raise InputError(
                    f"pareto cannot know whether more or less of {m.name} is better. "
                    f'Type maximize=["{m.name}"] or minimize=["{m.name}"].'
                )
            wanted.append((m, up in ("higher", "maximize")))
    if len(wanted) < 2:
        raise InputError(
            f"pareto needs two or more metrics; found {len(wanted)}. Type "
            f'metrics=["recall", "precision"].'
        )
    _columns.distinct_names([m.name for m, _ in wanted], "metrics")
    return wanted


def _ranks(cuts: Cuts, metric: Metric, at: Ints) -> Ints:
    """Number the values of a metric from low to high; equal values share a number."""
    values = _cuts.values_of(cuts, metric)[at]
    order = np.argsort(values, kind="stable")
    reach = _cuts.rounding_of(cuts, metric)
    with np.errstate(invalid="ignore"):  # inf - inf: equal, and left as it is
        apart = np.diff(values[order]) > reach
    step = np.r_[True, apart].astype(np.int64)
    starts = np.flatnonzero(step)
    # runs that rounding may have put in the wrong order are sorted again
    if reach and metric.is_exact:
        for start, stop in zip(starts, np.r_[starts[1:], order.size], strict=True):
            if stop - start > 1 and np.isfinite(values[order[start]]):
                run = order[start:stop]
                # squares of roots with their sign have the order of the roots
                exact = _cuts.exact_values(cuts, metric, at[run])
                places = sorted(range(run.size), key=exact.__getitem__)
                new = [1, *(exact[a] != exact[b] for a, b in pairwise(places))]
                order[start:stop], step[start:stop] = run[places], new
    ranks = np.empty(at.size, dtype=np.int64)
    ranks[order] = np.cumsum(step)
    return ranks
