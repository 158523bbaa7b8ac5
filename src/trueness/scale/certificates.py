r"""Between which numbers does the exact answer lie, when scores were put into bins?

Every analysis of ``trueness`` that is asked about a binned tally passes through
``answer_with_limits`` (by ``counts/answers.py``), which attaches ``bounds``: two
numbers, a :class:`CurveBounds`, or the words why nothing is known. ``BOUNDED``, at the
foot, says how for each analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature, unwrap
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.checks.words import described, nearest
from trueness._core.records import Answer, Record, apart
from trueness.calibration.errors import calibration_error
from trueness.calibration.lines import calibration_line
from trueness.calibration.proper_scores import (
    ProperScore,
    brier,
    decomposition,
    log_loss,
)
from trueness.calibration.reliability_diagram import reliability
from trueness.counts.answers import refuse, words_of
from trueness.counts.design import AT_RANDOM, WORDS
from trueness.counts.values import Tally
from trueness.inference.sample import reweight_to_prevalence
from trueness.metrics.algebra import Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.curves import (
    det,
    gain_curve,
    lift_curve,
    partial_area,
    partial_auc,
    precision_recall,
    roc,
)
from trueness.scale.arrangements import (
    Ends,
    auc_ends,
    average_precision_ends,
    between,
    dullest,
    rounded_out,
    sharpest,
)
from trueness.scale.calibration_bounds import (
    calibration_error_ends,
    intercept_ends,
    slope_ends,
)
from trueness.scale.envelopes import (
    CurveBounds,
    cost_bounds,
    decision_bounds,
    det_bounds,
    gain_bounds,
    lift_bounds,
    precision_bounds,
    reliability_bounds,
    roc_bounds,
)
from trueness.scale.inner_cuts import range_in, search
from trueness.threshold.constraints import read_objective
from trueness.threshold.costs import cost_curve, decision_curve
from trueness.threshold.operating_point import OperatingPoint, best_threshold, on_bins
from trueness.threshold.prevalences import prevalence_of_use

_ONLY_BETWEEN = (
    "The scores were counted in bins, so only thresholds between bins were tried; "
    "exact_threshold tries all."
)
NOT_KNOWN = "unknown: each bin was treated as its lowest score"


@final
@dataclass(frozen=True, repr=False)
class Bounds(Record):
    """Between which numbers does the exact answer lie?

    Attributes
    ----------
    value : float
        The answer of the binned tally.
    low, high : float
        The exact answer for these cases lies between these, with certainty: this is not
        a confidence interval.
    name : str
        What was asked.
    bins : int
        How many rows of the tally hold more than one score.

    Examples
    --------
    >>> Bounds(0.8125, 0.8, 0.825, "auc", 10)
    auc 0.8125 (exactly between 0.8 and 0.825; 10 bins)
    """

    value: float
    low: float
    high: float
    name: str = ""
    bins: int = 0

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        ends = apart(self.low, self.high).replace(" to ", " and ")
        if np.isnan(self.value):
            return (
                f"{self.name}: no threshold between the {self.bins:,} bins meets the "
                f"constraints; if one inside a bin does, its value is between {ends}"
            )
        return (
            f"{self.name} {self.value:.6g} (exactly between {ends}; {self.bins:,} bins)"
        )

    __str__ = __repr__


Options = Mapping[str, Any]
# what the bins leave open is attached to an answer of a labelled tally
Attach = Callable[[Any, Tally, Options], Any]


def answer_with_limits(
    analysis: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Ask an analysis about a binned tally, and say what the bins leave open."""
    try:
        answer = analysis(*args, **options)
    except Infeasible as err:
        message = f"{err.message} {_ONLY_BETWEEN}"
        raise err.rephrased(message=message) from None

    t: Tally = args[0]
    bound_arguments = signature(analysis).bind(*args, **options)
    bound_arguments.apply_defaults()
    attach: Attach = _attach_nothing
    # cases without a label may be positive: bins do not say which
    labels_are_expected = t.design.unlabelled == AT_RANDOM and t.n_unknown > 0
    if analysis.__name__ in BOUNDED and not labels_are_expected:
        attach = BOUNDED[analysis.__name__].attach
    return attach(answer, t.labelled(), bound_arguments.arguments)


def _attach_nothing(answer: Any, t: Tally, options: Options) -> Any:
    """Say that nothing is known of an answer beyond its bins."""
    if not isinstance(answer, Answer):
        return answer
    return replace(answer, bounds=NOT_KNOWN)


def _at_prevalence_of_use(t: Tally) -> Tally:
    """Weigh the classes so that the proportion of positives is that of use."""
    prevalence = t.design.prevalence
    return t if prevalence is None else reweight_to_prevalence(t, prevalence)


def _widen_to_hold(value: float, ends: Ends) -> Ends:
    """Let the ends hold the value itself, which is one of the arrangements."""
    low, high = ends
    return min(low, value), max(high, value)


# numbers


def _attach_ends(ends_of: Callable[[Tally, Options], Ends]) -> Attach:
    """Return how two numbers are attached to an estimate."""

    def attach(answer: Any, t: Tally, options: Options) -> Any:
        ends = _widen_to_hold(answer.value, ends_of(t, options))
        return replace(answer, bounds=ends)

    return attach


def _ends_of_auc(t: Tally, options: Options) -> Ends:
    return auc_ends(t)


def _ends_of_partial_auc(t: Tally, options: Options) -> Ends:
    def area(arranged: Tally) -> float:
        return partial_area(
            arranged,
            fpr=options["fpr"],
            tpr=options["tpr"],
            max_fpr=options["max_fpr"],
            corrected=options["corrected"],
        )

    return between(area, t)


def _ends_of_average_precision(t: Tally, options: Options) -> Ends:
    prevalence = t.design.prevalence
    if prevalence is None:
        return average_precision_ends(t)
    # what a negative case weighs in use, for a positive one of weight one
    odds = (1 - prevalence) / prevalence * t.n_pos / t.n_neg
    return average_precision_ends(t, odds)


def _attach_to_score(
    name: str, answer: ProperScore, t: Tally, options: Options
) -> ProperScore:
    """Bound a proper score; its parts are bounded when they are asked for."""
    in_use = _at_prevalence_of_use(t)
    best = _BoundedDecomposition(*decomposition(sharpest(in_use), name))
    worst = _BoundedDecomposition(*decomposition(dullest(in_use), name))
    ends = rounded_out(best.loss, worst.loss)
    return replace(
        answer,
        bounds=_widen_to_hold(answer.value, ends),
        _parts=partial(_parts_with_bounds, answer, best, worst),
    )


class _BoundedDecomposition(NamedTuple):
    """A mean loss with its miscalibration, discrimination and uncertainty."""

    loss: float
    mcb: float
    dsc: float
    unc: float


def _parts_with_bounds(
    answer: ProperScore, best: _BoundedDecomposition, worst: _BoundedDecomposition
) -> Any:
    """Decompose a loss between its best and its worst arrangement within bins."""
    parts = answer.parts
    # the loss that is left after recalibration, at least and at most
    lowest_after = best.unc - best.dsc
    highest_after = best.unc - worst.dsc
    ends = {
        "mcb": (max(0.0, best.loss - highest_after), worst.loss - lowest_after),
        "dsc": (worst.dsc, best.dsc),
        "unc": (parts.unc.value, parts.unc.value),
    }
    bounded = {}
    for name, (low, high) in ends.items():
        part = getattr(parts, name)
        part_ends = _widen_to_hold(part.value, rounded_out(low, high))
        bounded[name] = replace(part, bounds=part_ends)
    return replace(parts, **bounded)


_CALIBRATION_ERRORS = ("plain", "debiased", "rms", "smooth")


def _attach_to_errors(answer: Any, t: Tally, options: Options) -> Any:
    """Bound the calibration errors of groups of equally many cases."""
    if options["binning"] != "equal mass":
        # bins of scores may lie across the edges of those bins
        return _attach_nothing(answer, t, options)
    ends: dict[str, Any] = dict.fromkeys(_CALIBRATION_ERRORS, NOT_KNOWN)
    # an edge may divide a bin of scores, and weighted cases at any part of a case
    is_weighted = "weight" in words_of(_at_prevalence_of_use(t))
    if answer.binning == "equal mass" and not is_weighted:
        ends |= calibration_error_ends(t, options["bins"])
    errors = {
        name: replace(getattr(answer, name), bounds=ends_of_error)
        for name, ends_of_error in ends.items()
    }
    return replace(answer, bounds=ends["plain"], **errors)


def _attach_to_line(answer: Any, t: Tally, options: Options) -> Any:
    """Bound the slope and the intercept of a calibration line."""
    in_use = _at_prevalence_of_use(t)
    slope = answer.slope
    intercept = answer.intercept
    ends_of_slope = slope_ends(in_use, slope.value)
    ends_of_intercept = intercept_ends(in_use)
    return replace(
        answer,
        slope=replace(slope, bounds=_widen_to_hold(slope.value, ends_of_slope)),
        intercept=replace(
            intercept, bounds=_widen_to_hold(intercept.value, ends_of_intercept)
        ),
        bounds=ends_of_slope,
    )


# curves


def _attach_curve(bounds_of: Callable[[Tally, Any], CurveBounds]) -> Attach:
    """Return how two curves are attached to a curve."""

    def attach(answer: Any, t: Tally, options: Options) -> Any:
        return replace(answer, bounds=bounds_of(t, answer))

    return attach


def _attach_curve_at_prevalence(
    bounds_of: Callable[[Tally, float | None], CurveBounds],
) -> Attach:
    """The same for curves that depend on the prevalence of use."""
    return _attach_curve(lambda t, answer: bounds_of(t, t.design.prevalence))


def _attach_reweighted_curve(bounds_of: Callable[[Tally], CurveBounds]) -> Attach:
    """The same for curves of cases that are weighed to the prevalence of use."""
    return _attach_curve(lambda t, answer: bounds_of(_at_prevalence_of_use(t)))


# the best threshold


def _attach_to_threshold(
    point: OperatingPoint, t: Tally, options: Options
) -> OperatingPoint:
    """Bound the value of the best threshold, and where it lies."""
    point = on_bins(point, t)
    # one expects cases instead of counting them, the other has no one best cut
    if options["method"] == "fermi-dirac" or point.prevalences is not None:
        return replace(point, bounds=NOT_KNOWN)

    objective = read_objective(options["maximize"], options["minimize"])
    prevalence = prevalence_of_use(t, options["prevalences"])
    result = search(
        t,
        objective.maximized,
        read_constraints(options["subject_to"]),
        None if prevalence is None else prevalence.value,
    )
    ends = (result.reached, result.possible)
    if options["minimize"] is not None:
        ends = (-result.possible, -result.reached)

    places = [end for score_range in point.score_ranges for end in score_range]
    places += t.score[result.open_bins].tolist()
    places += t.high[result.open_bins].tolist()
    return replace(
        point,
        bounds=_widen_to_hold(point.value, ends),
        threshold_bounds=(min(places), max(places)),
    )


def _only_inside(t: Tally, options: Options) -> Bounds | None:
    """Bound the best value where only cuts inside the bins can meet the constraints.

    The exact data may or may not have such a cut; else None.
    """
    prevalence = prevalence_of_use(t, options["prevalences"])
    is_range = prevalence is not None and prevalence.is_range
    constraints = read_constraints(options["subject_to"])
    objective = read_objective(options["maximize"], options["minimize"])
    if options["method"] == "fermi-dirac" or is_range:
        return None

    at_prevalence = None if prevalence is None else prevalence.value
    result = search(t, objective.maximized, constraints, at_prevalence)
    if not constraints or not result.open_bins.any() or np.isfinite(result.reached):
        return None

    values = range_in(t, objective.maximized, at_prevalence)
    lowest, highest = objective.maximized.range
    low = max(float(values.low[result.open_bins].min()), lowest)
    high = min(float(values.high[result.open_bins].max()), highest)
    if options["minimize"] is not None:
        low, high = (0.0 - high, 0.0 - low)
    return Bounds(np.nan, low, high, f"best {objective.shown.name}", _bins(t))


def bounds(statistic: Any, data: Tally, **options: Any) -> Any:
    """Between which numbers does the exact answer lie, when scores are in bins?

    Parameters
    ----------
    statistic
        An analysis that gives a number or a curve, as a function or by name:
        ``trueness.auc``, ``trueness.roc``, ``"best_threshold"``, ... Or a metric, in
        Python or as text, with ``threshold=``.
    data
        A tally made with ``at_most=``, or by :meth:`Tally.bin`. For a tally without
        bins both bounds are the answer itself.
    **options
        Options of the analysis: ``maximize`` and ``subject_to`` for ``best_threshold``,
        ``threshold`` for a metric; ``prevalence`` and the other words of a design.

    Notes
    -----
    The answers of the analyses have the same bounds in their field ``bounds``. For
    ``best_threshold`` they are those of the best value, of which the lower one is
    reached. Where only a threshold inside a bin may meet the constraints, the value is
    NaN and the bounds are those of such a threshold; :func:`exact_threshold` decides
    whether there is one.

    Examples
    --------
    >>> t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0])  # AUC 3/4
    >>> bounds(auc, t.bin(2))
    auc 0.5 (exactly between 0.25 and 0.75; 2 bins)
    >>> bounds("recall", t.bin(2), threshold=2)
    recall 0.5 (exactly between 0.5 and 1; 2 bins)
    """
    _cases.one_classifier(data, "bounds")
    design = {word: options.pop(word) for word in WORDS if word in options}
    data = data.with_design(**design)
    name = getattr(statistic, "__name__", statistic)
    is_name = isinstance(name, str)
    is_other_name = is_name and "threshold" in options and name not in BOUNDED
    if isinstance(statistic, Metric) or is_other_name:
        return _metric_bounds(data, read_metric(statistic), **options)
    if not is_name or name not in BOUNDED:
        raise InputError(
            "bounds needs the name of a statistic, or a metric at a threshold; found "
            f"{described(name)}.{nearest(name, list(BOUNDED))}",
            option="statistic",
            choices=BOUNDED,
        )
    refuse(data, name)
    return _bounds_of_analysis(name, data, options)


def _bounds_of_analysis(name: str, data: Tally, options: Options) -> Any:
    """Ask an analysis, and return the bounds of its answer."""
    analysis = unwrap(BOUNDED[name].analysis)
    bound_arguments = signature(analysis).bind(data, **options)
    bound_arguments.apply_defaults()
    arguments = bound_arguments.arguments
    if name == "best_threshold" and data.binned:
        inside = _only_inside(data.labelled(), arguments)
        if inside is not None:
            return inside

    answer = analysis(data, **options)
    answer = BOUNDED[name].attach(answer, data.labelled(), arguments)
    if isinstance(answer.bounds, CurveBounds):
        return answer.bounds

    estimate = answer
    if name == "calibration_error":
        estimate = answer.plain
    elif name == "calibration_line":
        estimate = answer.slope
    elif name == "best_threshold":
        name = f"best {answer.objective}"
    low, high = answer.bounds
    return Bounds(float(estimate.value), low, high, name, _bins(data))


def _bins(t: Tally) -> int:
    return int(np.count_nonzero(t.high > t.score))


def _metric_bounds(t: Tally, metric: Metric, *, threshold: float) -> Bounds:
    """Bound a metric at a threshold, which may fall into a bin."""
    labelled = t.labelled()
    prevalence = t.design.prevalence
    cut = float(threshold)
    rows_flagged = int(np.searchsorted(-labelled.score, -cut, side="right"))
    tp = labelled.pos[:rows_flagged].sum().item()
    fp = labelled.neg[:rows_flagged].sum().item()
    counts = Confusion(tp, fp, labelled.n_pos - tp, labelled.n_neg - fp)
    low = high = value = float(metric(counts.at_prevalence(prevalence)))

    has_next = rows_flagged < len(labelled)
    if has_next and labelled.score[rows_flagged] < cut <= labelled.high[rows_flagged]:
        values = range_in(labelled, metric, prevalence)
        low = float(values.low[rows_flagged])
        high = float(values.high[rows_flagged])
    return Bounds(value, low, high, metric.name, _bins(labelled))


class BoundedAnalysis(NamedTuple):
    """An analysis, and how its answer learns its bounds."""

    analysis: Callable[..., Any]
    attach: Attach


BOUNDED: dict[str, BoundedAnalysis] = {
    "auc": BoundedAnalysis(auc, _attach_ends(_ends_of_auc)),
    "average_precision": BoundedAnalysis(
        average_precision, _attach_ends(_ends_of_average_precision)
    ),
    "best_threshold": BoundedAnalysis(best_threshold, _attach_to_threshold),
    "brier": BoundedAnalysis(brier, partial(_attach_to_score, "brier")),
    "calibration_error": BoundedAnalysis(calibration_error, _attach_to_errors),
    "calibration_line": BoundedAnalysis(calibration_line, _attach_to_line),
    "cost_curve": BoundedAnalysis(cost_curve, _attach_curve(cost_bounds)),
    "decision_curve": BoundedAnalysis(decision_curve, _attach_curve(decision_bounds)),
    "det": BoundedAnalysis(det, _attach_reweighted_curve(det_bounds)),
    "gain_curve": BoundedAnalysis(gain_curve, _attach_curve_at_prevalence(gain_bounds)),
    "lift_curve": BoundedAnalysis(lift_curve, _attach_curve_at_prevalence(lift_bounds)),
    "log_loss": BoundedAnalysis(log_loss, partial(_attach_to_score, "log_loss")),
    "partial_auc": BoundedAnalysis(partial_auc, _attach_ends(_ends_of_partial_auc)),
    "precision_recall": BoundedAnalysis(
        precision_recall, _attach_curve_at_prevalence(precision_bounds)
    ),
    "reliability": BoundedAnalysis(
        reliability, _attach_reweighted_curve(reliability_bounds)
    ),
    "roc": BoundedAnalysis(roc, _attach_reweighted_curve(roc_bounds)),
}
