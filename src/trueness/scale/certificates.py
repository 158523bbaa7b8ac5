r"""Between which numbers does the exact answer lie, when scores were put into bins?

Every analysis of ``trueness`` that is asked about a binned tally passes through
``limited`` (by ``counts/answers.py``), which gives its answer ``limits``: two
numbers, a :class:`CurveBounds`, or the words why nothing is known. ``BOUNDED``, at the
foot, says how for each analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature, unwrap
from typing import Any, final

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.checks.words import described, nearest
from trueness._core.records import Answer, Record, apart
from trueness.calibration.errors import calibration_error
from trueness.calibration.lines import calibration_line
from trueness.calibration.proper_scores import brier, decomposition, log_loss
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
    auc_ends,
    average_precision_ends,
    between,
    calibration_error_ends,
    dullest,
    intercept_ends,
    rounded_out,
    sharpest,
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
    range_in,
    reliability_bounds,
    roc_bounds,
    search,
)
from trueness.threshold.constraints import read_objective
from trueness.threshold.costs import cost_curve, decision_curve
from trueness.threshold.operating_point import OperatingPoint, best_threshold, on_bins
from trueness.threshold.prevalences import prevalence_of_use

_ONLY_BETWEEN = (
    "The scores were counted in bins, and thresholds between them were tried; "
    "exact_threshold tries all."
)
NOT_KNOWN = "not known: each bin was taken at its lowest score"


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


Given = Mapping[str, Any]
Attach = Callable[[Any, Tally, Given], Any]
_Four = tuple[float, float, float, float]  # a loss, MCB, DSC, UNC


def answer_with_limits(
    analysis: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Ask an analysis about a binned tally, and say what the bins leave open."""
    try:
        answer = analysis(*args, **options)
    except Infeasible as err:
        message = f"{err.message} {_ONLY_BETWEEN}"
        raise err.rephrased(message=message) from None
    given = signature(analysis).bind(*args, **options)
    given.apply_defaults()
    t: Tally = args[0]
    _, attach = BOUNDED.get(analysis.__name__, (None, _nothing_known))
    # a share of a case without a label is positive: bins say nothing of which
    if t.design.unlabelled == AT_RANDOM and t.n_unknown > 0:
        attach = _nothing_known
    return attach(answer, t.labelled(), given.arguments)


def _meant(t: Tally) -> Tally:
    """Weigh the classes so that the share of positives is the one that is meant."""
    share = t.design.prevalence
    return t if share is None else reweight_to_prevalence(t, share)


def _nothing_known(answer: Any, t: Tally, given: Given) -> Any:
    return replace(answer, bounds=NOT_KNOWN) if isinstance(answer, Answer) else answer


def _of_number(ends: Callable[[Tally, Given], tuple[float, float]]) -> Attach:
    return lambda answer, t, given: replace(
        answer, bounds=_holding(ends(t, given), answer)
    )


def _average_precision(t: Tally, given: Given) -> tuple[float, float]:
    share = t.design.prevalence
    odds = 1.0 if share is None else (1 - share) / share * t.n_pos / t.n_neg
    return average_precision_ends(t, odds)


def _holding(ends: tuple[float, float], answer: Any) -> tuple[float, float]:
    """Let the ends hold the value itself, which is one of the arrangements."""
    return min(ends[0], answer.value), max(ends[1], answer.value)


def _proper_score(name: str) -> Attach:
    def attach(answer: Any, t: Tally, given: Given) -> Any:
        t = _meant(t)
        best, worst = (decomposition(x, name) for x in (sharpest(t), dullest(t)))
        value = _holding(rounded_out(best[0], worst[0]), answer)
        parts = partial(_parts_with_limits, answer, best, worst)
        return replace(answer, bounds=value, _parts=parts)

    return attach


def _parts_with_limits(answer: Any, best: _Four, worst: _Four) -> Any:
    """Decompose a loss between its best and its worst arrangement within bins."""
    found, unc = answer.parts, best[3]
    # what is left after recalibration: unc - dsc
    left = unc - best[2], unc - worst[2]
    ends = {
        "mcb": (max(0.0, best[0] - left[1]), worst[0] - left[0]),
        "dsc": (worst[2], best[2]),
        "unc": (found.unc.value, found.unc.value),
    }
    limits = {}
    for name, pair in ends.items():
        part = getattr(found, name)
        limits[name] = replace(part, bounds=_holding(rounded_out(*pair), part))
    return replace(found, **limits)


_ERRORS = ("plain", "debiased", "rms", "smooth")


def _calibration_error(answer: Any, t: Tally, given: Given) -> Any:
    if given["binning"] != "equal mass":  # bins of scores may straddle those bins
        return _nothing_known(answer, t, given)
    # a bin of scores may be parted by an edge, and weights at any part of a case
    ends: dict[str, Any] = dict.fromkeys(_ERRORS, NOT_KNOWN)
    if answer.binning == "equal mass" and "weight" not in words_of(_meant(t)):
        ends |= calibration_error_ends(t, given["bins"])
    parts = {k: replace(getattr(answer, k), bounds=v) for k, v in ends.items()}
    return replace(answer, bounds=ends["plain"], **parts)


def _calibration_line(answer: Any, t: Tally, given: Given) -> Any:
    t, slope, intercept = _meant(t), answer.slope, answer.intercept
    ends = slope_ends(t, slope.value)
    return replace(
        answer,
        slope=replace(slope, bounds=_holding(ends, slope)),
        intercept=replace(intercept, bounds=_holding(intercept_ends(t), intercept)),
        bounds=ends,
    )


def _of_curve(envelope: Callable[[Tally, Any], CurveBounds]) -> Attach:
    return lambda answer, t, given: replace(answer, bounds=envelope(t, answer))


def _at_share(envelope: Callable[[Tally, float | None], CurveBounds]) -> Attach:
    return _of_curve(lambda t, answer: envelope(t, t.design.prevalence))


def _as_meant(envelope: Callable[[Tally], CurveBounds]) -> Attach:
    return _of_curve(lambda t, answer: envelope(_meant(t)))


def _partial_auc(t: Tally, given: Given) -> tuple[float, float]:
    part = {k: given[k] for k in ("fpr", "tpr", "max_fpr", "corrected")}
    return between(lambda x: partial_area(x, **part), t)


def _best_threshold(point: OperatingPoint, t: Tally, given: Given) -> OperatingPoint:
    point = on_bins(point, t)
    # one expects cases instead of counting them, the other has no one best cut
    if given["method"] == "fermi-dirac" or point.prevalences is not None:
        return replace(point, bounds=NOT_KNOWN)
    _, objective = read_objective(given["maximize"], given["minimize"])
    share = prevalence_of_use(t, given["prevalences"])
    constraints = read_constraints(given["subject_to"])
    prevalence = None if share is None else share.value
    low, high, alive = search(t, objective, constraints, prevalence)
    low, high = (low, high) if given["minimize"] is None else (-high, -low)
    places = [v for ends in point.score_ranges for v in ends]
    places += [*t.score[alive].tolist(), *t.high[alive].tolist()]
    return replace(
        point,
        bounds=_holding((low, high), point),
        threshold_bounds=(min(places), max(places)),
    )


def _only_inside(t: Tally, given: Given) -> Bounds | None:
    """Bound the best value where only cuts inside the bins can meet the constraints.

    The exact data may or may not have such a cut; else None.
    """
    share = prevalence_of_use(t, given["prevalences"])
    if given["method"] == "fermi-dirac" or (share is not None and share.is_range):
        return None
    asked, objective = read_objective(given["maximize"], given["minimize"])
    constraints = read_constraints(given["subject_to"])
    prevalence = None if share is None else share.value
    reached, _, alive = search(t, objective, constraints, prevalence)
    if not constraints or not alive.any() or np.isfinite(reached):
        return None
    ends = range_in(t, objective, prevalence)
    low, high = float(ends[0][alive].min()), float(ends[1][alive].max())
    low, high = max(low, objective.range[0]), min(high, objective.range[1])
    if given["minimize"] is not None:
        low, high = 0.0 - high, 0.0 - low
    return Bounds(np.nan, low, high, f"best {asked.name}", _bins(t))


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
    The answers of the analyses have the same bounds in their field ``limits``. For
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
    data = data.with_design(
        **{word: options.pop(word) for word in WORDS if word in options}
    )
    name = getattr(statistic, "__name__", statistic)
    if isinstance(statistic, Metric) or (
        isinstance(name, str) and "threshold" in options and name not in BOUNDED
    ):
        return _metric_bounds(data, read_metric(statistic), **options)
    if not isinstance(name, str) or name not in BOUNDED:
        raise InputError(
            f"bounds takes some statistics by name, and any metric at a threshold; "
            f"found {described(name)}.{nearest(name, list(BOUNDED))}",
            option="statistic",
            choices=BOUNDED,
        )
    refuse(data, name)
    ask, attach = unwrap(BOUNDED[name][0]), BOUNDED[name][1]
    given = signature(ask).bind(data, **options)
    given.apply_defaults()
    if name == "best_threshold" and data.binned:
        inside = _only_inside(data.labelled(), given.arguments)
        if inside is not None:
            return inside
    answer = attach(ask(data, **options), data.labelled(), given.arguments)
    if isinstance(answer.bounds, CurveBounds):
        return answer.bounds
    own = {"calibration_error": "plain", "calibration_line": "slope"}.get(name)
    value = (getattr(answer, own) if own else answer).value
    if isinstance(answer, OperatingPoint):
        name = f"best {answer.objective}"
    low, high = answer.bounds
    return Bounds(float(value), low, high, name, _bins(data))


def _bins(t: Tally) -> int:
    return int(np.count_nonzero(t.high > t.score))


def _metric_bounds(t: Tally, metric: Metric, *, threshold: float) -> Bounds:
    """Bound a metric at a threshold, which may fall into a bin."""
    t, prevalence = t.labelled(), t.design.prevalence
    at = int(np.searchsorted(-t.score, -float(threshold), side="right"))
    tp, fp = (c[:at].sum().item() for c in (t.pos, t.neg))
    cut = Confusion(tp, fp, t.n_pos - tp, t.n_neg - fp)
    low = high = value = float(metric(cut.at_prevalence(prevalence)))
    if at < len(t) and t.score[at] < float(threshold) <= t.high[at]:  # inside a bin
        low, high = (float(x[at]) for x in range_in(t, metric, prevalence))
    return Bounds(value, low, high, metric.name, _bins(t))


# an analysis, and how its answer learns its bounds
BOUNDED: dict[str, tuple[Callable[..., Any], Attach]] = {
    "auc": (auc, _of_number(lambda t, given: auc_ends(t))),
    "average_precision": (average_precision, _of_number(_average_precision)),
    "best_threshold": (best_threshold, _best_threshold),
    "brier": (brier, _proper_score("brier")),
    "calibration_error": (calibration_error, _calibration_error),
    "calibration_line": (calibration_line, _calibration_line),
    "cost_curve": (cost_curve, _of_curve(cost_bounds)),
    "decision_curve": (decision_curve, _of_curve(decision_bounds)),
    "det": (det, _as_meant(det_bounds)),
    "gain_curve": (gain_curve, _at_share(gain_bounds)),
    "lift_curve": (lift_curve, _at_share(lift_bounds)),
    "log_loss": (log_loss, _proper_score("log_loss")),
    "partial_auc": (partial_auc, _of_number(_partial_auc)),
    "precision_recall": (precision_recall, _at_share(precision_bounds)),
    "reliability": (reliability, _as_meant(reliability_bounds)),
    "roc": (roc, _as_meant(roc_bounds)),
}
