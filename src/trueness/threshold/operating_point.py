"""Where should a classifier be cut?

``best_threshold`` finds the threshold at which any metric is best, under any number of
constraints, for the prevalence of use. ``METHODS`` at the foot lists how.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.numbers import cut_texts
from trueness._core.records import Answer, Estimate, brief, within
from trueness.counts.answers import of_tally
from trueness.counts.design import AT_RANDOM, CASE_CONTROL, COHORT
from trueness.counts.values import Tally
from trueness.inference.verification import remarks
from trueness.metrics.algebra import Constraint, Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.intervals import Cut, estimate
from trueness.threshold.cuts import (
    Cuts,
    Interval,
    all_cuts,
    best_cuts,
    expected_cuts,
    interval_of,
    met_by,
    most_balanced,
    stop_infeasible,
    stop_undefined,
    stopped_by,
    threshold_of,
    value_at,
    values_of,
)
from trueness.threshold.milp import Certificate, maximise, per_case, per_score
from trueness.threshold.prevalence import (
    Prevalences,
    RobustCut,
    Share,
    cuts_in_use,
    robust_cut,
    share_in_use,
    stop_unknown_share,
)

ConstraintLike = str | Constraint
DEFAULT = "youden"  # what commands and report maximise when nothing is said
_SHOWN = ("recall", "specificity", "precision", "npv", "f1")  # in the text of a point


@final
@dataclass(frozen=True, repr=False)
class OperatingPoint(Answer):
    """Which threshold was chosen, and what follows from it?

    Attributes
    ----------
    threshold : float
        Flag a case when ``score >= threshold``.
    interval : (float, float)
        Every threshold above the first number, up to and including the second, flags
        the same cases.
    value : float
        The objective at the threshold, for the prevalence of use.
    confusion : Confusion
        The confusion matrix of the tally at the threshold.
    intervals : tuple of (float, float)
        All intervals that are optimal, highest first; each is another threshold with
        the same value. (``method="milp"`` finds one of them.)
    binding : tuple of str
        The limiting constraints: without one of them the objective would be better.
    objective : str
        What was maximised or minimised.
    constraints : dict of str to float
        The value of each bounded metric at the threshold.
    method : str
        How the threshold was found.
    prevalence : float
        The share of positives in use for which ``value`` and ``constraints`` are given;
        for a range, the prevalence at which the threshold is worst.
    certificate : Certificate or None
        What the solver says about its answer.
    threshold_bounds : (float, float) or None
        For a binned tally: the best threshold for the exact scores lies between these,
        while ``bounds`` holds the value that it has.
    robust : RobustCut or None
        For a range of prevalences: regret, and how the best threshold moves across it.
    notes : tuple of str
        What to keep in mind.
    sampling : str
        ``"case-control"`` where the design fixed the share of positives and none was
        given for use: precision and all that depends on it are then left out.
    """

    threshold: float
    interval: Interval
    value: float
    confusion: Confusion
    intervals: tuple[Interval, ...]
    binding: tuple[str, ...]
    objective: str
    constraints: dict[str, float]
    method: str
    prevalence: float
    certificate: Certificate | None = None
    threshold_bounds: Interval | None = None
    robust: RobustCut | None = None
    notes: tuple[str, ...] = ()
    sampling: str = "cohort"
    _cut: Cut | None = None  # both sides of it; None where all is expected

    @cached_property
    def metrics(self) -> dict[str, Estimate]:
        """How large is every metric at the threshold, taking it as fixed?

        The metrics are for the prevalence of use. :func:`validate_threshold` gives
        intervals that allow for the choice of the threshold.
        """
        return self._estimates(METRICS.values())

    def _estimates(self, metrics: Iterable[Metric]) -> dict[str, Estimate]:
        if self._cut is None:  # what is expected has no interval
            return {}
        unknown = self.sampling == CASE_CONTROL
        kept = [m for m in metrics if not (unknown and depends_on_prevalence(m))]
        return {m.name: estimate(self._cut, m, 0.95) for m in kept}

    def __repr__(self) -> str:
        """Give the threshold and what follows from it, in a few lines."""
        others, c = len(self.intervals) - 1, self.confusion
        at, low, high = cut_texts(self.threshold, self.interval)
        lines = [
            f"OperatingPoint: {self.objective} = {self.value:.6g}{within(self)}",
            f"  threshold: {at} in ({low}, {high}"
            + (")" if self.interval[1] == math.inf else "]")
            + (f", and {others} more optimal" if others else ""),
            "  confusion: "
            + ", ".join(f"{f.name} {brief(getattr(c, f.name))}" for f in fields(c)),
        ]
        for text, value in self.constraints.items():
            stops = " (limiting)" if text in self.binding else ""
            lines.append(f"  {text}: {value:.6g}{stops}")
        found = self._estimates(METRICS[name] for name in _SHOWN)
        lines += [f"  {e!r}" for e in found.values() if math.isfinite(e.value)]
        share = f"prevalence {self.prevalence:.4g}"
        if self.sampling == CASE_CONTROL:
            share = "prevalence unknown (case-control sample)"
        lines.append(f"  {share}, by {self.method}")
        if self.robust is not None:
            least, most = self.robust.prevalence
            lines.append(f"  worst of the prevalences from {least:g} to {most:g}")
        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])


class Problem(NamedTuple):
    """What is asked: the cuts, what to maximise, and what must hold where."""

    cuts: Cuts
    objective: Metric
    constraints: tuple[Constraint, ...]
    met: Array  # (constraints, cuts)

    @property
    def allowed(self) -> Array:
        """At which cuts do all constraints hold?"""
        return np.asarray(self.met.all(axis=0))


class Found(NamedTuple):
    """Which cuts are optimal, and on whose word?"""

    at: Ints
    certificate: Certificate | None = None


@of_tally
def best_threshold(
    data: Tally,
    maximize: str | Metric = "accuracy",
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    method: str = "sweep",
    *,
    minimize: str | Metric | None = None,
    prevalences: Prevalences = None,
    auc: float | None = None,
) -> OperatingPoint:
    r"""At which threshold is a metric best, subject to these constraints?

    .. math:: \max_\tau\; f(TP(\tau), FP(\tau), FN(\tau), TN(\tau))
        \quad\text{subject to}\quad g_k(\tau) \ge b_k

    Every distinct score is tried, so the answer is the exact optimum, and ties are
    recognised exactly (see Notes).

    Parameters
    ----------
    data
        Scores and labels of one classifier. Cases without a label do not count, or as
        expected where labels are missing at random. With weighted cases, the counts,
        also those in constraints (``flagged <= 500``), are sums of weights, and only
        ``method="sweep"`` is available.
    maximize
        Any metric, in Python or as text: ``"f1"``, ``0.7 * accuracy + 0.3 * recall``.
    subject_to
        Constraints: ``"recall >= 0.9"``, ``[precision >= 0.5, flagged <= 500]``.
    method
        ``"sweep"`` looks at every threshold; ``"milp"`` solves the 0-1 program with one
        binary variable per distinct score; ``"milp-cases"`` solves the one with two
        binary variables per case; ``"fermi-dirac"`` needs only ranks, AUC and
        prevalence (see Notes).
    minimize
        A metric to make small, in place of ``maximize``.
    prevalences
        Shares of positives where the classifier will be used, when they are not one
        number (``prevalence=``). Two numbers are a range: the threshold is the best in
        the worst case, every constraint holds whichever prevalence of the range is
        true, and ``robust`` has the threshold of smallest regret. Of an
        :class:`Estimate` only the value is used.
    auc
        For ``method="fermi-dirac"`` on cases without labels: the area under the ROC
        curve, known from elsewhere; ``prevalence`` must then be given too.

    Returns
    -------
    OperatingPoint
        The threshold, the interval in which it flags the same cases, all other optimal
        intervals, the value, the confusion matrix and the limiting constraints.

    Raises
    ------
    Infeasible
        No threshold meets the constraints; the message names them and says how close
        one can get.

    Notes
    -----
    At a prevalence of use, counts such as ``flagged`` are for the same number of cases
    at that prevalence.

    The thresholds that flag the same cases are an interval (low, high]. Of several
    optimal thresholds, the one is returned at which the number of flagged cases is
    closest to the number of positives (smallest abs(fp - fn), then fewer flagged), but
    none that has more false positives than another with the same true positives, or
    fewer true positives with the same false ones; the middle of its interval is given,
    and ``intervals`` has the others. The threshold that flags nothing is +inf; the one
    that flags everything is the lowest score.

    Equal values are recognised in whole numbers, with 0.7 meaning seven tenths; only
    sums with square roots (mcc, g_mean) are compared to 30 digits. An undefined value
    (precision when nothing is flagged) is never optimal and meets no constraint. The
    time is O(m) for m distinct scores.

    ``"fermi-dirac"`` puts the expectations of :func:`fermi_dirac` in the place of
    counts, so that the labels of the cases are not needed: ranks, AUC and prevalence
    are. For ``balanced_accuracy`` its threshold is the closed form r* (Kim et al. 2021,
    eq. 9): the first floor(r*) ranks are flagged. The value is an expectation and is
    only as accurate as the model.

    References
    ----------
    Kim et al. 2021, PNAS 118:e2100761118, doi:10.1073/pnas.2100761118.
    Ramazi, Mari Oriyad: Optimal accuracy threshold using 0-1 ILP formulation.
    Sameni 2025, section 6 (capacity, eq. 28; risk, eq. 29; bi-objective, eq. 30).

    Examples
    --------
    >>> t = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
    >>> p = best_threshold(t, "f1")  # 3 of 4 found, one false: 6 / (6 + 1 + 1)
    >>> p.threshold, p.interval, p.value
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
    if data.weighted:
        _options.choice(method, ("sweep",), "method of weighted cases")
    shown, objective = read_objective(maximize, minimize)
    bounds = read_constraints(subject_to)
    metrics = (shown, *(c.metric for c in bounds))
    share = share_in_use(data, prevalences)
    stop_unknown_share(data, share, metrics, "best_threshold")
    if share is not None and share.is_range:
        point = _in_the_worst_case(data, share, shown, objective, bounds, method)
        return _of_cases(point, data, remarks(data), share)
    cuts = _cuts(data, method, None if share is None else share.value, auc)
    problem = pose(cuts, objective, bounds)
    stop_infeasible(cuts, bounds, problem.met)
    stop_undefined(cuts, shown, problem.allowed)
    found = METHODS[method](problem)
    # ranks of all cases tell what labels would
    unlabelled = () if method == "fermi-dirac" else remarks(data)
    point = _point(problem, found, shown, method)
    if auc is not None:
        return point
    point = _of_cases(point, data, unlabelled, share)
    if share is None or share.level is None:
        return point
    note = (
        f"The prevalence {share.words()} is taken at its estimate; the intervals of "
        "validate_threshold allow for its uncertainty."
    )
    return replace(point, notes=(*point.notes, note))


def left_out(t: Tally, stacklevel: int = 5) -> tuple[str, ...]:
    """Say of a choice that takes labelled cases only whether the others differ."""
    whole = f'at_threshold(..., unlabelled="{AT_RANDOM}") judges it for all cases'
    return remarks(t, instead=whole, stacklevel=stacklevel)


def _of_cases(
    point: OperatingPoint, t: Tally, unlabelled: tuple[str, ...], share: Share | None
) -> OperatingPoint:
    """Keep the cases on both sides of the cut, and say what must be known of them."""
    weights = (WEIGHED,) if t.weighted else ()
    notes = (*weights, *point.notes, *unlabelled)
    sampling = t.design.sampling
    if share is not None:
        t, sampling = t.with_design(prevalence=point.prevalence), COHORT
    cut = Cut.of(t, point.threshold)
    return replace(point, notes=notes, sampling=sampling, _cut=cut)


WEIGHED = (
    "Cases are weighted: the confusion matrix, and counts such as flagged in objective "
    "and constraints, are sums of weights. With weights that add up to the population, "
    "flagged <= 500 means 500 of the population and not of the sample."
)


def _in_the_worst_case(
    t: Tally,
    share: Share,
    shown: Metric,
    objective: Metric,
    bounds: tuple[Constraint, ...],
    method: str,
) -> OperatingPoint:
    """Cut where the least favourable prevalence of a range does least harm."""
    if method != "sweep":
        raise InputError(
            f'A range of prevalences needs method="sweep"; found method={method!r}.'
        )
    metrics = (shown, *(c.metric for c in bounds))
    first = all_cuts(t, share.value, "best_threshold")
    cuts = cuts_in_use(first.score, first.seen, share, metrics)
    for c in cuts:  # the message names the prevalence at which it cannot be met
        stop_infeasible(c, bounds, met_by([c], bounds))
    met = met_by(cuts, bounds)
    stop_infeasible(cuts[0], bounds, met)
    found = best_cuts(cuts, objective, met.all(axis=0))
    stop_undefined(cuts[0], shown, met.all(axis=0))
    at = most_balanced(cuts[0], found)
    lowest = int(np.argmin([values_of(c, objective)[at] for c in cuts]))
    problem = Problem(cuts[lowest], objective, bounds, met)
    point = _point(problem, Found(found), shown, method)
    where = int(np.searchsorted(-cuts[0].score, -point.threshold, side="right"))
    robust = robust_cut(t, share, shown, objective, bounds, where)
    note = (
        f"Best in the worst case over prevalences from {share.low:g} to "
        f"{share.high:g}; the threshold of smallest regret is "
        f"{robust.regret_threshold:.6g}."
    )
    return replace(point, robust=robust, notes=(note,))


def on_bins(point: OperatingPoint, t: Tally) -> OperatingPoint:
    """Let the intervals end above the highest score of the next bin."""
    if not t.binned:
        return point
    rising = t.score[::-1]

    def corrected(interval: Interval) -> Interval:
        at = int(np.searchsorted(rising, interval[0]))
        if at == rising.size or rising[at] != interval[0]:
            return interval
        return float(t.high[::-1][at]), interval[1]

    low, high = corrected(point.interval)
    ends = np.array([v for v in (high, low) if np.isfinite(v)])
    at = int(np.isfinite(high))
    return replace(
        point,
        threshold=threshold_of(ends, at),
        interval=(low, high),
        intervals=tuple(map(corrected, point.intervals)),
    )


def read_objective(
    maximize: str | Metric | None, minimize: str | Metric | None
) -> tuple[Metric, Metric]:
    """Give the metric as it was asked for, and what to maximise."""
    if minimize is None:
        shown = read_metric("accuracy" if maximize is None else maximize)
        return shown, shown
    named = isinstance(maximize, str) and maximize == "accuracy"
    if maximize is not None and not named:
        raise InputError(
            f"best_threshold takes maximize or minimize, not both; found "
            f"maximize={described(maximize)} and minimize={described(minimize)}. "
            f"For two objectives see trueness.pareto."
        )
    shown = read_metric(minimize)
    return shown, -shown


def objective_text(shown: Metric, objective: Metric) -> str:
    """Write what was asked for."""
    return f"{'maximize' if objective is shown else 'minimize'} {shown.name}"


def _cuts(t: Tally, method: str, prevalence: float | None, auc: float | None) -> Cuts:
    if method == "fermi-dirac":
        return expected_cuts(t, prevalence, auc)
    return all_cuts(t, prevalence, "best_threshold")


def pose(cuts: Cuts, objective: Metric, constraints: tuple[Constraint, ...]) -> Problem:
    """Put the question: where does each constraint hold?"""
    return Problem(cuts, objective, constraints, met_by([cuts], constraints))


def _point(p: Problem, found: Found, shown: Metric, method: str) -> OperatingPoint:
    cuts = p.cuts
    at = most_balanced(cuts, found.at)
    return OperatingPoint(
        threshold=threshold_of(cuts.score, at),
        interval=interval_of(cuts.score, at),
        value=value_at(cuts, shown, at),
        confusion=cuts.seen[at],
        intervals=tuple(interval_of(cuts.score, int(i)) for i in found.at),
        binding=stopped_by(cuts, p.objective, p.constraints, p.met, at),
        objective=objective_text(shown, p.objective),
        constraints={repr(c): value_at(cuts, c.metric, at) for c in p.constraints},
        method=method,
        prevalence=cuts.prevalence,
        certificate=found.certificate,
    )


def sweep_cuts(problem: Problem) -> Found:
    """Look at every cut."""
    return Found(best_cuts([problem.cuts], problem.objective, problem.allowed))


def solve_scores(p: Problem) -> Found:
    """Solve the 0-1 program with a binary a distinct score."""
    return Found(*maximise(per_score(p.cuts), p.cuts, p.objective, p.constraints))


def solve_cases(p: Problem) -> Found:
    """Solve the 0-1 program with two binaries a case."""
    return Found(*maximise(per_case(p.cuts), p.cuts, p.objective, p.constraints))


METHODS: dict[str, Callable[[Problem], Found]] = {
    "sweep": sweep_cuts,
    "milp": solve_scores,
    "milp-cases": solve_cases,
    "fermi-dirac": sweep_cuts,  # over what is expected, in place of what was counted
}
