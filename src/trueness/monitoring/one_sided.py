"""Between which numbers does a measure lie, one-sided?

A gate asks the same analyses as everybody: a one-sided limit that errs with probability
``alpha`` is that of the interval at level ``1 - 2 alpha``. IntervalAt are functions of
alpha, since a family of claims is tried at whichever alpha Holm's method leaves for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from math import hypot, inf, isnan
from typing import Any, NamedTuple

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate
from trueness.comparison.any_number import compare
from trueness.comparison.at_threshold import compare_metric
from trueness.counts.cases import keep_rows, units_drawn
from trueness.counts.design import AT_RANDOM
from trueness.counts.values import Panel, Tally
from trueness.evals.attempts import Attempts
from trueness.evals.runs import compare_runs
from trueness.metrics.algebra import Metric
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.intervals import estimates
from trueness.monitoring.measures import measure_of, of_attempts
from trueness.scale.certificates import NOT_KNOWN, bounds
from trueness.threshold.rule import DEFERRED, FLAGGED, Rule, confusion

SITES = "sites"  # the unit of an interval for the next site
# a word for the cases in the denominator of a metric: any of tp, fp, fn, tn
_KINDS_OF_CASES: dict[tuple[bool, ...], str] = {
    (True, True, False, False): "flagged",
    (True, False, True, False): "positive",
    (False, True, False, True): "negative",
    (False, False, True, True): "not flagged",
    (True, True, True, False): "flagged or positive",
}


class Interval(NamedTuple):
    """A value, the ends of its two one-sided intervals, and the cases behind it."""

    value: float
    low: float
    high: float
    n: int
    what: str  # a word for these cases
    undecided: str = ""  # the reason, if nothing can be decided


IntervalAt = Callable[[float], Interval]  # by alpha, the error of each end
Counted = Tally | Attempts


def one_sided_interval(
    name: str,
    data: Counted,
    threshold: float | Rule | None,
    fpr: tuple[float, float] | None = None,
) -> IntervalAt:
    """Return the one-sided interval, by alpha, of a measure or metric."""
    _check_kind_of_data(name, data)
    measure = measure_of(name)
    counts: Any = data

    if isinstance(threshold, Rule):
        counts, threshold = _apply_rule(threshold, counts)

    def interval_at(alpha: float) -> Interval:
        # rounded, so that 1 - 0.95 leads to a level of exactly 0.9
        level = round(1 - 2 * alpha, 12)
        if measure is None:
            return _interval_of_metric(name, counts, threshold or 0.0, level)

        if fpr is None:
            estimate = measure.estimate(counts, level=level)
        else:
            estimate = measure.estimate(counts, level=level, fpr=fpr)

        interval = _as_interval(estimate, counts)
        return allow_for_bins(interval, estimate.bounds, measure.range)

    return cache(interval_at)


def _check_kind_of_data(name: str, data: Counted) -> None:
    """Raise an error for a measure of attempts with scores, or the reverse."""
    if isinstance(data, Attempts) and not of_attempts(name):
        raise InputError(
            f"{name} needs labels and scores; found attempts at items. Require "
            "pass_rate, pass_at_k(k=5) or pass_hat_k(k=3)."
        )

    if of_attempts(name) and not isinstance(data, Attempts):
        raise InputError(
            f"{name} needs attempts at items, as in an evaluation log; found labels "
            "and scores."
        )


def _apply_rule(rule: Rule, tally: Tally) -> tuple[Tally, float]:
    """Return the cases that a rule decides, and the threshold of its verdicts."""
    if tally.labels_expected:
        # expected labels need the scores
        return tally, _single_threshold(rule)
    verdicts = rule.verdicts(tally)
    return keep_rows(verdicts, verdicts.score != DEFERRED), FLAGGED


def _single_threshold(rule: Rule) -> float:
    """Return the threshold of a rule; raise an error if it has several."""
    if rule.groups or rule.defers:
        raise InputError(
            "Expected labels need a rule with one threshold for all cases; found two "
            "of them, or groups.",
            option="unlabelled",
        )
    return float(rule.cuts()[1])


def allow_for_bins(
    interval: Interval,
    bounds: tuple[float, float] | str | None,
    ends: tuple[float, float] = (-inf, inf),
) -> Interval:
    """Return the interval with its ends moved by the uncertainty from bins.

    ``bounds`` contain the exact value; they are None if it is known, and a text if it
    has no bounds. ``ends`` are the smallest and the largest possible value.
    """
    if bounds is None:
        return interval

    if not isinstance(bounds, tuple):
        reason = (
            "the scores were counted in bins, and their effect on the value is "
            "unknown. Count the scores themselves."
        )
        return interval._replace(undecided=reason, low=-inf, high=inf)

    lowest, highest = bounds
    return interval._replace(
        low=max(interval.low - (interval.value - lowest), ends[0]),
        high=min(interval.high + (highest - interval.value), ends[1]),
    )


def _interval_of_metric(
    name: str, tally: Tally, threshold: float, level: float
) -> Interval:
    """Return the interval of a metric of the confusion matrix."""
    metric = read_metric(name)
    estimate = estimates(tally, threshold, [metric], level=level).get(metric.name)
    if estimate is None:
        raise InputError(
            f"{name} depends on the prevalence, which a case-control sample does not "
            "show. State the prevalence.",
            option="prevalence",
            example=0.01,
        )

    denominator = _cells_of_denominator(metric)
    kind = _KINDS_OF_CASES.get(denominator, "labelled")

    if isnan(estimate.value):
        raise NotEnoughCases(
            f"{name} needs at least one case that is {kind}; found none."
        )

    interval = _as_interval(estimate, tally)
    if tally.single_cases and not interval.undecided:
        cases = int(confusion(tally, threshold).weighted_sum(denominator))
        interval = Interval(estimate.value, estimate.low, estimate.high, cases, kind)

    if not tally.binned:
        return interval

    certain_bounds = _bounds_of_metric(metric, tally, threshold)
    return allow_for_bins(interval, certain_bounds, metric.range)


def _cells_of_denominator(metric: Metric) -> tuple[bool, ...]:
    """Return which of tp, fp, fn, tn are in the denominator; all if unknown."""
    if metric.ratio is None or not metric.ratio.under:
        return (True, True, True, True)
    return tuple(bool(coefficient) for coefficient in metric.ratio.under)


def _bounds_of_metric(
    metric: Metric, tally: Tally, threshold: float
) -> tuple[float, float] | str:
    """Return the certain bounds of a metric of binned scores."""
    if tally.design.unlabelled == AT_RANDOM and tally.n_unknown > 0:
        return NOT_KNOWN
    certain = bounds(metric, tally, threshold=threshold)
    return certain.low, certain.high


def _as_interval(estimate: Estimate, data: Tally | Panel | Attempts) -> Interval:
    """Return an estimate as an interval, with the number of its cases or items."""
    if isinstance(data, Attempts):
        number, kind = data.units
    else:
        number, kind = units_drawn(data)

    interval = Interval(
        value=float(estimate.value),
        low=float(estimate.low),
        high=float(estimate.high),
        n=number,
        what=kind,
    )

    if isnan(estimate.low) and not isnan(estimate.value):
        reason = "the map of expected labels has no standard error."
        return interval._replace(undecided=reason, low=-inf, high=inf)

    return interval


def paired_interval(name: str, panel: Panel, threshold: float | None) -> IntervalAt:
    """Return the interval, by alpha, of first minus second on the same cases."""
    measure = measure_of(name)
    ask: Callable[..., Any]
    if measure is None:
        ask = partial(compare_metric, panel, name, thresholds=threshold)
    elif hasattr(measure.estimate, "measure"):
        ask = partial(compare, panel, measure.estimate)
    else:
        raise _not_compared_in_pairs(name)

    return _interval_of_pair(ask, panel)


def paired_interval_of_attempts(
    name: str, first: Attempts, second: Attempts
) -> IntervalAt:
    """Return the interval, by alpha, of first minus second on the same items."""
    if name != "pass_rate":
        raise _not_compared_in_pairs(name)
    runs = {"first": first, "second": second}
    return _interval_of_pair(partial(compare_runs, runs), first)


def _interval_of_pair(ask: Callable[..., Any], data: Panel | Attempts) -> IntervalAt:
    """Return the interval, by alpha, of the difference in a comparison of two."""

    def interval_at(alpha: float) -> Interval:
        comparison = ask(level=1 - 2 * alpha)
        return _as_interval(comparison.pairs[0].difference, data)

    return cache(interval_at)


def _not_compared_in_pairs(name: str) -> InputError:
    """Return the error for a measure that cannot be compared case by case."""
    return InputError(
        f"{name} cannot be compared case by case. Use auc, brier, a metric at a "
        "threshold, pass_rate for attempts, or a baseline in its own file."
    )


def difference_interval(first: IntervalAt, second: IntervalAt) -> IntervalAt:
    """Return the interval, by alpha, of a difference of two independent measures.

    The squared distances from values to ends are added (MOVER; Zou and Donner 2008).
    """

    def interval_at(alpha: float) -> Interval:
        minuend = first(alpha)
        subtrahend = second(alpha)
        difference = minuend.value - subtrahend.value

        # the difference is low where the minuend is low and the subtrahend high
        below = hypot(minuend.value - minuend.low, subtrahend.high - subtrahend.value)
        above = hypot(minuend.high - minuend.value, subtrahend.value - subtrahend.low)

        return Interval(
            value=difference,
            low=difference - below,
            high=difference + above,
            n=minuend.n + subtrahend.n,
            what=minuend.what,
        )

    return interval_at


def gap_interval(first: IntervalAt, second: IntervalAt) -> IntervalAt:
    """Return the interval, by alpha, of the absolute value of a difference.

    Each end has half of the error.
    """
    of_difference = difference_interval(first, second)

    def interval_at(alpha: float) -> Interval:
        difference = of_difference(alpha / 2)
        low = difference.low
        high = difference.high

        # an interval around 0 has the lower end 0; otherwise it is the end nearer to 0
        return difference._replace(
            value=abs(difference.value),
            low=max(low, -high, 0.0),
            high=max(-low, high),
        )

    return interval_at
