"""Where should a classifier be cut?"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from operator import neg
from typing import final

import numpy as np

from trueness._core.arrays import Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.numbers import cut_texts
from trueness._core.records import Answer, Estimate, brief, within
from trueness.counts.answers import of_tally
from trueness.counts.cases import weighted_counts_note
from trueness.counts.design import AT_RANDOM, CASE_CONTROL, COHORT
from trueness.counts.values import Tally
from trueness.inference.verification import unlabelled_notes
from trueness.metrics.algebra import Constraint, Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import constraints as read_constraints
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
# what is known of a threshold without any label: how many cases it flags
BY_CAPACITY = {"flagged", "flagged_rate"}
# the confidence level of the metrics that an operating point shows
_LEVEL = 0.95


@final
@dataclass(frozen=True, repr=False)
class OperatingPoint(Answer):
    """A chosen threshold, and what follows from it.

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
        The prevalence in use for which ``value`` and ``constraints`` are given;
        for a range, the prevalence at which the threshold is worst.
    prevalences : (float, float) or None
        The range of prevalences, where the threshold is the best in its worst case.
    sampling : str
        ``"case-control"`` where the design fixed the prevalence and none was given
        for use: precision and all that depends on it are then left out.
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
    prevalences: Interval | None = None
    notes: tuple[str, ...] = ()
    sampling: str = "cohort"
    _cut: Cut | None = None  # both sides of it; None where all is expected

    @property
    def rule(self) -> Rule:
        """Return the choice as a rule."""
        return Rule(self.threshold)

    @cached_property
    def metrics(self) -> dict[str, Estimate]:
        """Return every metric in use; the intervals take the threshold as fixed."""
        if self._cut is None:
            # what is expected has no interval
            return {}
        metrics = list(METRICS.values())
        if self.sampling == CASE_CONTROL:
            metrics = [
                metric for metric in metrics if not depends_on_prevalence(metric)
            ]
        return {
            metric.name: estimate_at(self._cut, metric, _LEVEL) for metric in metrics
        }

    def __repr__(self) -> str:
        threshold, low, high = cut_texts(self.threshold, self.score_range)
        bracket = ")" if self.score_range[1] == math.inf else "]"
        others = len(self.score_ranges) - 1
        other_optima = f", and {others} more optimal" if others else ""
        counts = [
            f"{field.name} {brief(getattr(self.confusion, field.name))}"
            for field in fields(self.confusion)
        ]
        lines = [
            f"OperatingPoint: {self.objective} = {self.value:.6g}{within(self)}",
            f"  threshold: {threshold} in ({low}, {high}{bracket}{other_optima}",
            f"  confusion: {', '.join(counts)}",
        ]
        for text, value in self.constraints.items():
            limiting = " (limiting)" if text in self.binding else ""
            lines.append(f"  {text}: {value:.6g}{limiting}")

        lines.append(f"  {self._prevalence_text()}")
        lines += [f"  Note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _prevalence_text(self) -> str:
        """Write the prevalence, or why it is unknown."""
        if math.isnan(self.prevalence):
            return "prevalence unknown (no labels)"
        if self.sampling == CASE_CONTROL:
            return "prevalence unknown (case-control sample)"
        if self.prevalences is None:
            return f"prevalence {self.prevalence:.4g}"

        low, high = self.prevalences
        return (
            f"prevalence {self.prevalence:.4g}, the worst of those from {low:g} to "
            f"{high:g}"
        )


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
    r"""The threshold at which a metric is best, subject to constraints.

    .. math:: \max_\tau\; f(TP(\tau), FP(\tau), FN(\tau), TN(\tau))
        \quad\text{subject to}\quad g_k(\tau) \ge b_k

    Every distinct score is tried, so the answer is the exact optimum. With binned
    scores only thresholds between bins are tried; :func:`exact_threshold` tries all.

    Parameters
    ----------
    data
        Scores and labels of one classifier. Cases without a label do not count; where
        labels are missing at random they count as expected. With weights, counts are
        sums of weights, and only ``method="sweep"`` is available. Objectives and
        constraints on ``flagged`` and ``flagged_rate`` alone (capacity) need no labels.
    maximize, minimize
        Any metric, in Python or as text: ``"f1"``, ``0.7 * accuracy + 0.3 * recall``;
        by default Youden's J, recall + specificity - 1.
    subject_to
        Constraints: ``"recall >= 0.9"``, ``[precision >= 0.5, flagged <= 500]``.
    method
        ``"sweep"`` tries every threshold. ``"milp"`` solves the 0-1 program with one
        binary variable per distinct score, ``"milp-cases"`` the one with two per case.
        ``"fermi-dirac"`` needs only ranks, AUC and prevalence; it replaces counts by
        the expectations of :func:`fermi_dirac`.
    prevalences
        Prevalences in use, when they are not one number (``prevalence=``). Two numbers
        are a range: the threshold is the best in the worst case, and every constraint
        holds over the whole range. Only the value of an :class:`Estimate` is used.
    auc
        For ``method="fermi-dirac"`` without labels: the area under the ROC curve, known
        from elsewhere. It needs ``prevalence`` too.

    Notes
    -----
    Among several optimal thresholds, it returns the one that flags about as many cases
    as are positive (smallest abs(fp - fn), then fewer flagged). No other optimal
    threshold dominates it. +inf flags nothing, the lowest score everything. At another
    prevalence, counts such as ``flagged`` are for the same number of cases at that
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
            "The option auc is for the method fermi-dirac, which needs no labels; "
            f"{method} counts labelled cases.",
            option="auc",
        )

    objective = read_objective(maximize, minimize)
    constraints = read_constraints(subject_to)
    metrics = (objective.shown, *(constraint.metric for constraint in constraints))
    prevalence = prevalence_of_use(data, prevalences)
    check_prevalence_of_use(data, prevalence, metrics, "best_threshold")

    if prevalence is None and _needs_no_labels(data, metrics):
        return _threshold_by_capacity(data, objective, constraints)

    # one set of counts for each prevalence that has to be looked at
    cuts = _count_cuts(data, method, prevalence, metrics, auc)
    met = _constraints_met(cuts, constraints)
    allowed = np.asarray(met.all(axis=0))
    _cuts.stop_undefined(cuts[0], objective.shown, allowed)

    certificate = None
    if method.startswith("milp"):
        best, certificate = _solve_program(cuts[0], objective, constraints, method)
    else:
        best = _cuts.best_cuts(cuts, objective.maximized, allowed)
    place = _cuts.most_balanced(cuts[0], best)

    # all numbers are for the prevalence at which this cut is worst
    worst = min(cuts, key=lambda c: _cuts.values_of(c, objective.maximized)[place])
    threshold = _cuts.threshold_of(worst.score, place)
    cut_in_use = None
    if auc is None:
        cut_in_use = _cut_in_use(data, threshold, worst.prevalence, prevalence)

    point = OperatingPoint(
        threshold=threshold,
        score_range=_cuts.interval_of(worst.score, place),
        value=_cuts.value_at(worst, objective.shown, place),
        confusion=worst.observed[place],
        score_ranges=tuple(_cuts.interval_of(worst.score, int(k)) for k in best),
        binding=_cuts.limiting_constraints(
            worst, objective.maximized, constraints, met, place
        ),
        objective=str(objective),
        constraints={
            repr(constraint): _cuts.value_at(worst, constraint.metric, place)
            for constraint in constraints
        },
        method=method,
        prevalence=worst.prevalence,
        certificate=certificate,
        prevalences=_range_ends(prevalence),
        notes=_notes_on_point(data, method, prevalence),
        sampling=_sampling_of_counts(data, prevalence),
        _cut=cut_in_use,
    )
    if data.binned:
        return _between_bins(point, data)
    return point


def _notes_on_point(
    data: Tally, method: str, prevalence: UsePrevalence | None
) -> tuple[str, ...]:
    """Say what the counts of an operating point rest on."""
    notes = [*weighted_counts_note(data), *_prevalence_notes(prevalence)]
    if method != "fermi-dirac":
        # that method reads ranks of all cases, so that no label is left out
        notes += unlabelled_notes(data)
    return tuple(notes)


def _sampling_of_counts(data: Tally, prevalence: UsePrevalence | None) -> str:
    """Return the sampling that the counts show: a cohort's at a prevalence of use."""
    if prevalence is None:
        return data.design.sampling
    return COHORT


def _cut_in_use(
    data: Tally,
    threshold: float,
    worst_prevalence: float,
    prevalence: UsePrevalence | None,
) -> Cut:
    """Return both sides of a threshold, at the prevalence of use if there is one."""
    if prevalence is None:
        return Cut.of(data, threshold)
    return Cut.of(data.with_design(prevalence=worst_prevalence), threshold)


def _needs_no_labels(tally: Tally, metrics: Sequence[Metric]) -> bool:
    """Say whether only numbers of flagged cases are asked for, and none has a label."""
    if tally.n_pos or tally.n_neg or tally.weighted or tally.n == 0:
        return False

    parts = {term.name for metric in metrics for _, term in metric.parts}
    return parts <= BY_CAPACITY


def _threshold_by_capacity(
    tally: Tally, objective: Objective, constraints: tuple[Constraint, ...]
) -> OperatingPoint:
    """Return the threshold of cases without labels that flags a number of them."""
    # whoever is flagged counts, whatever the truth: as if all cases were of one class
    of_one_class = Tally(tally.score, neg=tally.unknown)
    point = best_threshold(
        of_one_class, maximize=objective.maximized, subject_to=constraints
    )
    unknown = Confusion(tp=np.nan, fp=np.nan, fn=np.nan, tn=np.nan)
    flagged = int(point.confusion.fp)
    return replace(
        point,
        value=objective.shown(point.confusion).item(),
        objective=str(objective),
        confusion=unknown,
        prevalence=math.nan,
        notes=(
            f"No case has a label: {flagged:,} of {tally.n:,} cases are flagged, and "
            "how many of them are right is not known.",
        ),
        _cut=None,
    )


def _count_cuts(
    tally: Tally,
    method: str,
    prevalence: UsePrevalence | None,
    metrics: Sequence[Metric],
    auc: float | None,
) -> list[Cuts]:
    """Return the counts at every cut, for each prevalence that matters."""
    if prevalence is not None and prevalence.is_range and method != "sweep":
        raise InputError(
            f"A range of prevalences needs the method sweep; found {method!r}.",
            option="method",
            example="sweep",
        )

    first_prevalence, *others = prevalences_to_try(prevalence, metrics)
    if method == "fermi-dirac":
        return [_cuts.expected_cuts(tally, first_prevalence, auc)]

    first = _cuts.all_cuts(tally, first_prevalence, "best_threshold")
    return [
        first,
        *(
            _cuts.make_cuts(first.score, first.observed, prevalence)
            for prevalence in others
        ),
    ]


def _constraints_met(cuts: list[Cuts], constraints: Sequence[Constraint]) -> _cuts.Met:
    """Return where each constraint holds at all prevalences; stop where none can."""
    for cuts_at_prevalence in cuts[1:]:
        # the message names the prevalence at which it cannot be met
        met = _cuts.met_by([cuts_at_prevalence], constraints)
        _cuts.stop_infeasible(cuts_at_prevalence, constraints, met)
    met_by_all: _cuts.Met = _cuts.met_by(cuts, constraints)
    _cuts.stop_infeasible(cuts[0], constraints, met_by_all)
    return met_by_all


def _solve_program(
    cuts: Cuts, objective: Objective, constraints: tuple[Constraint, ...], method: str
) -> tuple[Ints, Certificate]:
    """Return an optimal cut of a 0-1 program, and what its solver certifies."""
    if not cuts.counts_cases:
        raise InputError(
            "Weighted cases need the method sweep, since programs count cases; found "
            f"{method!r}.",
            option="method",
            example="sweep",
        )

    per_case = method == "milp-cases"
    return maximise(cuts, objective.maximized, constraints, per_case)


def _range_ends(prevalence: UsePrevalence | None) -> Interval | None:
    """Return the ends of a range of prevalences; None for a single one."""
    if prevalence is None or not prevalence.is_range:
        return None
    return prevalence.low, prevalence.high


def _prevalence_notes(prevalence: UsePrevalence | None) -> list[str]:
    """Say how a range of prevalences, or an estimated one, was used."""
    if prevalence is None or prevalence.low == prevalence.high:
        return []
    if prevalence.is_range:
        return [
            f"Best in the worst case over prevalences from {prevalence.low:g} to "
            f"{prevalence.high:g}."
        ]

    return [
        f"The prevalence {prevalence.describe()} is treated as known; the intervals "
        "of validate_threshold allow for its uncertainty."
    ]


def choose_cut_again(
    objective: Metric,
    constraints: Sequence[Constraint],
    prevalences: Sequence[float | None],
    samples: list[Confusion],
) -> Ints:
    """Return the best cut of each of many samples, as best_threshold chooses it.

    ``samples`` has one entry, the running counts (samples, cuts); -1 stands for none.
    """
    value = np.asarray(np.inf)
    allowed = np.asarray(True)
    for prevalence in prevalences:
        in_use = samples[0].at_prevalence(prevalence)
        # the worst of the prevalences
        value = np.minimum(value, objective(in_use))
        for constraint in constraints:
            allowed = allowed & constraint(in_use)

    # an undefined value is never best
    value = np.where(allowed & ~np.isnan(value), value, -np.inf)
    best = value.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # all may be -inf
        # values that differ by rounding only are equally good
        optimal = value >= best - _cuts.ROUNDING * np.abs(best)

    # of equally good cuts the one that flags nearest to as many cases as are positive
    imbalance = np.where(optimal, np.abs(in_use.fp - in_use.fn), np.inf)
    places = np.argmin(imbalance, axis=1)
    chosen_cut = np.where(best[:, 0] > -np.inf, places, -1)
    # (samples, groups, cuts), with one group and one cut
    return chosen_cut[:, None, None]


def notes_on_unlabelled(tally: Tally) -> tuple[str, ...]:
    """Say of a choice by labelled cases only whether the unlabelled ones differ."""
    remedy = f"at_threshold with unlabelled {AT_RANDOM!r} evaluates it for all cases"
    return unlabelled_notes(tally, remedy=remedy)


def _between_bins(point: OperatingPoint, tally: Tally) -> OperatingPoint:
    """Return a choice on binned scores, its ranges above the highest score of a bin."""

    def above_bin(interval: Interval) -> Interval:
        """Return an interval that begins above the bin whose lowest score it names."""
        low, high = interval
        row = bisect_left(tally.score, -low, key=neg)  # scores descend
        if row < len(tally) and tally.score[row] == low:
            low = float(tally.high[row])
        return low, high

    low, high = above_bin(point.score_range)
    # the cut is below the high end and above the low one; infinity is no score
    # the two ends as scores, highest first: the cut is between them
    finite_ends = np.array([end for end in (high, low) if np.isfinite(end)])
    return replace(
        point,
        threshold=_cuts.threshold_of(finite_ends, int(np.isfinite(high))),
        score_range=(low, high),
        score_ranges=tuple(above_bin(interval) for interval in point.score_ranges),
    )
