r"""Between which numbers does the exact answer lie, when scores were put into bins?

Every analysis of ``trueness`` that is asked about a binned tally passes through
``answer_with_bounds`` (by ``counts/answers.py``), which attaches ``bounds``: two
numbers, a :class:`CurveBounds`, or the words why nothing is known. ``BOUNDED``, at the
foot, says how for each analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import unwrap
from typing import Any, NamedTuple, NoReturn, final

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError, PythonCode
from trueness._core.checks.words import described, nearest
from trueness._core.records import Answer, Record, apart
from trueness.calibration.errors import DEFAULT_BINS, calibration_error
from trueness.calibration.lines import calibration_line
from trueness.calibration.proper_scores import (
    Decomposition,
    ProperScore,
    brier,
    decomposition,
    log_loss,
)
from trueness.calibration.reliability_diagram import reliability
from trueness.counts.answers import design_parts_of, refuse
from trueness.counts.design import ARGUMENTS, AT_RANDOM
from trueness.counts.values import Tally
from trueness.inference.sample import reweight_to_prevalence
from trueness.metrics.algebra import Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import metric as read_metric
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.curves import det, gain_curve, lift_curve, precision_recall, roc
from trueness.scale.arrangements import (
    Ends,
    auc_bounds,
    average_precision_bounds,
    best_arrangement,
    widen_by_rounding,
    worst_arrangement,
)
from trueness.scale.calibration_bounds import (
    calibration_error_bounds,
    intercept_bounds,
    slope_bounds,
)
from trueness.scale.envelopes import (
    CurveBounds,
    decision_bounds,
    det_bounds,
    gain_bounds,
    lift_bounds,
    precision_bounds,
    reliability_bounds,
    roc_bounds,
)
from trueness.scale.inner_cuts import metric_range
from trueness.threshold.costs import decision_curve

NOT_KNOWN = "unknown: each bin was treated as its lowest score"
_ONLY_BETWEEN = (
    "only thresholds between bins were tried; exact_threshold, or a count of every "
    "score, tries all"
)
# the best threshold may lie inside a bin
_NOT_KNOWN_OF = {"best_threshold": f"unknown: {_ONLY_BETWEEN}"}


@final
@dataclass(frozen=True, repr=False)
class Bounds(Record):
    """Certain bounds of an answer from scores in bins.

    Attributes
    ----------
    value : float
        The value for the binned tally.
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
        return (
            f"{self.name} {self.value:.6g} (exactly between {ends}; {self.bins:,} bins)"
        )

    __str__ = __repr__


Options = Mapping[str, Any]
# attaches to the answer of a labelled tally the bounds that its bins leave
Attach = Callable[[Any, Tally, Options], Any]


def answer_with_bounds(
    analysis: Callable[..., Any], args: tuple[Any, ...], options: Options
) -> Any:
    """Return the answer of an analysis of a binned tally, with its bounds attached."""
    try:
        answer = analysis(*args, **options)
    except Infeasible as err:
        sentence = _ONLY_BETWEEN[0].upper() + _ONLY_BETWEEN[1:]
        raise err.rephrased(message=f"{err.message} {sentence}.") from None

    tally: Tally = args[0]
    name = analysis.__name__
    if name not in BOUNDED or _labels_are_expected(tally):
        return _attach_reason(answer, _NOT_KNOWN_OF.get(name, NOT_KNOWN))
    return BOUNDED[name].attach(answer, tally.labelled(), options)


def _labels_are_expected(t: Tally) -> bool:
    """Return whether labels are expected: bins do not bound answers by these."""
    return t.design.unlabelled == AT_RANDOM and t.n_unknown > 0


def _attach_reason(answer: object, reason: str) -> Any:
    """Return the answer with the reason why it has no bounds."""
    if not isinstance(answer, Answer):
        return answer
    return replace(answer, bounds=reason)


def _at_prevalence_of_use(t: Tally) -> Tally:
    """Return the tally weighted to the prevalence of use, where there is one."""
    prevalence = t.design.prevalence
    return t if prevalence is None else reweight_to_prevalence(t, prevalence)


def _widen_to_hold(value: float, ends: Ends) -> Ends:
    """Return ends that include the value itself, which is one of the arrangements."""
    low, high = ends
    return min(low, value), max(high, value)


# numbers


def _attach_to_number(bounds_of: Callable[[Tally], Ends]) -> Attach:
    """Return a function that attaches the bounds of a number to an estimate."""

    def attach(answer: Any, t: Tally, options: Options) -> Any:
        return replace(answer, bounds=_widen_to_hold(answer.value, bounds_of(t)))

    return attach


def _average_precision_in_use(t: Tally) -> Ends:
    """Return the bounds of the average precision at the prevalence of use."""
    prevalence = t.design.prevalence
    if prevalence is None:
        return average_precision_bounds(t)
    # the weight of a negative case in use, relative to a positive case
    odds = (1 - prevalence) / prevalence * t.n_pos / t.n_neg
    return average_precision_bounds(t, odds)


def _attach_to_score(
    name: str, answer: ProperScore, t: Tally, options: Options
) -> ProperScore:
    """Return a proper score with its bounds; those of its parts are computed later."""
    in_use = _at_prevalence_of_use(t)
    best = decomposition(best_arrangement(in_use), name)
    worst = decomposition(worst_arrangement(in_use), name)
    ends = widen_by_rounding(best.loss, worst.loss)

    return replace(
        answer,
        bounds=_widen_to_hold(answer.value, ends),
        _parts=partial(_parts_with_bounds, answer, best, worst),
    )


def _parts_with_bounds(
    answer: ProperScore, best: Decomposition, worst: Decomposition
) -> Any:
    """Return the parts of a loss with bounds, from the best and worst arrangement."""
    parts = answer.parts
    # the smallest and the largest loss after recalibration
    lowest_after = best.unc - best.dsc
    highest_after = best.unc - worst.dsc
    ends = {
        "mcb": (max(0.0, best.loss - highest_after), worst.loss - lowest_after),
        "dsc": (worst.dsc, best.dsc),
        "unc": (parts.unc.value, parts.unc.value),
    }
    bounded = {}
    for name, (low, high) in ends.items():
        component = getattr(parts, name)
        part_ends = _widen_to_hold(component.value, widen_by_rounding(low, high))
        bounded[name] = replace(component, bounds=part_ends)

    return replace(parts, **bounded)


_CALIBRATION_ERRORS = ("plain", "debiased", "rms", "smooth")


def _attach_to_errors(answer: Any, t: Tally, options: Options) -> Any:
    """Return calibration errors with bounds, for groups of equally many cases."""
    if answer.binning != "equal mass":
        # bins of scores may lie across the edges of those bins
        return _attach_reason(answer, NOT_KNOWN)

    ends: dict[str, Any] = dict.fromkeys(_CALIBRATION_ERRORS, NOT_KNOWN)
    # no bounds for weighted cases: the edge of a group may divide such a case
    is_weighted = "weight" in design_parts_of(_at_prevalence_of_use(t))
    if not is_weighted:
        ends |= calibration_error_bounds(t, options.get("bins", DEFAULT_BINS))

    errors = {
        name: replace(getattr(answer, name), bounds=ends_of_error)
        for name, ends_of_error in ends.items()
    }
    return replace(answer, bounds=ends["plain"], **errors)


def _attach_to_line(answer: Any, t: Tally, options: Options) -> Any:
    """Return a calibration line with the bounds of its slope and intercept."""
    in_use = _at_prevalence_of_use(t)
    slope = answer.slope
    intercept = answer.intercept
    ends_of_slope = slope_bounds(in_use, slope.value)
    ends_of_intercept = intercept_bounds(in_use)

    return replace(
        answer,
        slope=replace(slope, bounds=_widen_to_hold(slope.value, ends_of_slope)),
        intercept=replace(
            intercept, bounds=_widen_to_hold(intercept.value, ends_of_intercept)
        ),
        bounds=ends_of_slope,
    )


# curves


def _attach_to_curve(bounds_of: Callable[[Tally], CurveBounds]) -> Attach:
    """Return a function that attaches two curves, at the prevalence of use."""

    def attach(answer: Any, t: Tally, options: Options) -> Any:
        return replace(answer, bounds=bounds_of(_at_prevalence_of_use(t)))

    return attach


def _attach_to_benefits(answer: Any, t: Tally, options: Options) -> Any:
    """Return a decision curve with its bounds."""
    return replace(answer, bounds=decision_bounds(t, answer))


def bounds(statistic: Any, data: Tally, **options: Any) -> Any:
    """Certain bounds of an answer from scores in bins.

    Between which numbers does the exact answer lie?

    Parameters
    ----------
    statistic
        An analysis that returns a number or a curve, as a function or by name:
        ``trueness.auc``, ``trueness.roc``, ``"log_loss"``, ... Or a metric, in Python
        or as text, with ``threshold=``.
    data
        A tally made with ``at_most=``, or by :meth:`Tally.bin`. For a tally without
        bins both bounds equal the estimate.
    **options
        Options of the analysis; ``threshold`` for a metric; ``prevalence`` and other
        design arguments.

    Notes
    -----
    The answers of the analyses have the same bounds in their field ``bounds``. The best
    threshold is not bounded: :func:`exact_threshold` finds it.

    Examples
    --------
    >>> t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0])  # AUC 3/4
    >>> bounds(auc, t.bin(2))
    auc 0.5 (exactly between 0.25 and 0.75; 2 bins)
    >>> bounds("recall", t.bin(2), threshold=2)
    recall 0.5 (exactly between 0.5 and 1; 2 bins)
    """
    _cases.one_classifier(data, "bounds")
    design = {word: options.pop(word) for word in ARGUMENTS if word in options}
    data = data.with_design(**design)

    name = getattr(statistic, "__name__", statistic)
    is_bounded = isinstance(name, str) and name in BOUNDED
    if isinstance(statistic, Metric) or (not is_bounded and "threshold" in options):
        return _metric_bounds(data, read_metric(statistic), **options)
    if not is_bounded:
        _stop_unbounded(name)

    refuse(data, name)
    return _bounds_of_analysis(name, data, options)


# analyses without bounds, and the call that answers them with every score
_COUNT_EVERY_SCORE = {
    "best_threshold": "exact_threshold(rows, label=, score=, maximize=)",
    "cost_curve": "cost_curve(rows, label=, score=)",
    "partial_auc": "partial_auc(rows, label=, score=, fpr=(0, 0.1))",
}


def _stop_unbounded(name: object) -> NoReturn:
    """Raise an error for a statistic without bounds, with what to call instead."""
    if isinstance(name, str) and name in _COUNT_EVERY_SCORE:
        raise InputError(
            f"The bounds of {name} are not known. A count of every score, without "
            "bins, answers it exactly.",
            example=PythonCode(f"trueness.{_COUNT_EVERY_SCORE[name]}"),
        )
    raise InputError(
        "bounds needs the name of a statistic, or a metric at a threshold; found "
        f"{described(name)}.{nearest(name, list(BOUNDED))}",
        option="statistic",
        choices=BOUNDED,
    )


# the main estimate of an answer that has several
_MAIN_ESTIMATE = {"calibration_error": "plain", "calibration_line": "slope"}


def _bounds_of_analysis(name: str, data: Tally, options: Options) -> Any:
    """Return the bounds of the answer of an analysis."""
    answer = answer_with_bounds(unwrap(BOUNDED[name].analysis), (data,), options)
    if isinstance(answer.bounds, CurveBounds):
        return answer.bounds

    estimate = getattr(answer, _MAIN_ESTIMATE.get(name, ""), answer)
    if not data.binned and hasattr(estimate, "value"):
        value = float(estimate.value)
        return Bounds(value, value, value, name)

    if isinstance(answer.bounds, str):
        raise InputError(
            f"Bins do not bound {name} here. Count every score, without bins.",
            option="data",
            example=PythonCode("trueness.tally(..., at_most=None)"),
        )

    low, high = answer.bounds
    return Bounds(float(estimate.value), low, high, name, _bins(data))


def _bins(t: Tally) -> int:
    """Return the number of rows that hold more than one score."""
    return int(np.count_nonzero(t.high > t.score))


def _metric_bounds(t: Tally, metric: Metric, *, threshold: float) -> Bounds:
    """Return the bounds of a metric at a threshold, which may lie inside a bin."""
    labelled = t.labelled()
    prevalence = t.design.prevalence
    cut = _options.real_number(threshold, "threshold")
    rows_flagged = int(np.searchsorted(-labelled.score, -cut, side="right"))
    tp = labelled.pos[:rows_flagged].sum().item()
    fp = labelled.neg[:rows_flagged].sum().item()
    counts = Confusion(tp, fp, labelled.n_pos - tp, labelled.n_neg - fp)
    low = high = value = float(metric(counts.at_prevalence(prevalence)))

    # the next row has a lower score; as a bin it may reach above the threshold
    is_inside = rows_flagged < len(labelled) and cut <= labelled.high[rows_flagged]
    if is_inside:
        values = metric_range(labelled, metric, prevalence)
        low = float(values.low[rows_flagged])
        high = float(values.high[rows_flagged])

    return Bounds(value, low, high, metric.name, _bins(labelled))


class BoundedAnalysis(NamedTuple):
    """An analysis, and the function that attaches bounds to its answer."""

    analysis: Callable[..., Any]
    attach: Attach


BOUNDED: dict[str, BoundedAnalysis] = {
    "auc": BoundedAnalysis(auc, _attach_to_number(auc_bounds)),
    "average_precision": BoundedAnalysis(
        average_precision, _attach_to_number(_average_precision_in_use)
    ),
    "brier": BoundedAnalysis(brier, partial(_attach_to_score, "brier")),
    "calibration_error": BoundedAnalysis(calibration_error, _attach_to_errors),
    "calibration_line": BoundedAnalysis(calibration_line, _attach_to_line),
    "decision_curve": BoundedAnalysis(decision_curve, _attach_to_benefits),
    "det": BoundedAnalysis(det, _attach_to_curve(det_bounds)),
    "gain_curve": BoundedAnalysis(gain_curve, _attach_to_curve(gain_bounds)),
    "lift_curve": BoundedAnalysis(lift_curve, _attach_to_curve(lift_bounds)),
    "log_loss": BoundedAnalysis(log_loss, partial(_attach_to_score, "log_loss")),
    "precision_recall": BoundedAnalysis(
        precision_recall, _attach_to_curve(precision_bounds)
    ),
    "reliability": BoundedAnalysis(reliability, _attach_to_curve(reliability_bounds)),
    "roc": BoundedAnalysis(roc, _attach_to_curve(roc_bounds)),
}
