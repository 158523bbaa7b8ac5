"""How sure is a metric at a given cut?

A metric is a function of four counts, so its influence values are its slopes by them.
Proportions of cases have Wilson's interval, other metrics that of the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.binomial import clopper_pearson
from trueness._core.records import Estimate
from trueness.counts.answers import refuse
from trueness.counts.cases import Cases, kish
from trueness.counts.values import Tally, rescore
from trueness.inference.estimates import (
    EvaluatedMeasure,
    estimate_from_interval,
    evaluate_measure,
)
from trueness.inference.intervals import (
    CLOPPER_PEARSON,
    NEWCOMBE_RATES,
    SIMEL,
    WILSON,
    WOOLF,
    ConfidenceInterval,
    ProportionSample,
    interval_from_variance,
    proportion_interval,
    proportion_sample,
    student_quantile,
    wilson_interval,
)
from trueness.inference.sample import MeasuredValue, Sample, apply_design
from trueness.inference.variance import Influence, VarianceEstimate
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS, SYNONYMS

# how intervals of proportions are made
WILSON_METHOD, EXACT_METHOD = "wilson", "exact"
METHODS = (WILSON_METHOD, EXACT_METHOD)

_RECALL = METRICS["recall"]
_SPECIFICITY = METRICS["specificity"]

# slopes are taken over this part of a count: it errs by 1e-12 of the value, and
# rounding by 1e-10
_RELATIVE_STEP = 1e-6


def metric_measure(metric: Metric, flags: Array, cases: Cases) -> MeasuredValue:
    """Return a metric of the flagged cases, with its slopes by tp, fp, fn and tn."""
    cells = np.array(_cells(cases, flags))
    n_cases = float(cells.sum())

    value, cell_slopes = _value_and_slopes(metric, cells)
    # a mean over all cases, so that influence values sum to zero
    mean_slope = cell_slopes @ cells / n_cases if n_cases else 0.0
    # one more case enlarges its own cell, and the whole sample
    tp, fp, fn, tn = cell_slopes - mean_slope
    influence = Influence(
        by_negative=np.where(flags, fp, tn), by_positive=np.where(flags, tp, fn)
    )

    ends = metric.range
    if _is_count(metric):
        ends = (0.0, n_cases)
    return MeasuredValue(
        value,
        influence,
        ends,
        within_class=not depends_on_prevalence(metric),
    )


def _is_count(metric: Metric) -> bool:
    """Return whether the metric is a number of cases, at most that of all cases."""
    ratio = metric.ratio
    return ratio is not None and ratio.under is None and {*ratio.over} <= {0, 1}


def _cells(cases: Cases, flags: Array) -> list[float]:
    """Return tp, fp, fn and tn of the cases, where flags hold the flagged rows."""
    return [
        float(counts[side].sum())
        for side in (flags, ~flags)
        for counts in (cases.pos, cases.neg)
    ]


class _ValueAndSlopes(NamedTuple):
    """The value of a measure, and its slope by each count."""

    value: float
    slopes: Floats


def _value_and_slopes(metric: Metric, cells: Floats) -> _ValueAndSlopes:
    r"""Return a metric, and its slopes by tp, fp, fn and tn.

    A quotient of two sums of counts, :math:`a / b`, has the slopes
    :math:`(a_k - (a / b)\,b_k) / b` by its coefficients. They are exact, so that
    Wilson's interval of a proportion has all digits of its closed form.
    """
    if metric.ratio is None:
        return _slopes_by_differences(
            lambda counts: metric(Confusion(*counts.T)), cells
        )

    over = np.asarray(metric.ratio.over, dtype=np.float64)
    slopes = over
    if metric.ratio.under is not None:
        under = np.asarray(metric.ratio.under, dtype=np.float64)
        denominator = under @ cells
        # the slopes of the formula above, 0 / 0 where the denominator is empty
        with np.errstate(divide="ignore", invalid="ignore"):
            value = over @ cells / denominator
            slopes = (over - value * under) / denominator

    # an empty cell has no case to move anything, and an infinite value has no slope
    slopes = np.where(np.isfinite(slopes) & (cells != 0), slopes, 0.0)
    return _ValueAndSlopes(float(metric(Confusion(*cells))), slopes)


def slopes(measure: Callable[[Floats], Any], cells: Floats) -> Floats:
    """Return the slopes of a measure by each of some counts, by central differences."""
    return _slopes_by_differences(measure, cells).slopes


def _slopes_by_differences(
    measure: Callable[[Floats], Any], cells: Floats
) -> _ValueAndSlopes:
    """Return the value of a measure and its slopes, from a single call of it."""
    # the counts as they are, then with each cell a little larger, then smaller
    steps = _RELATIVE_STEP * np.diag(cells.ravel())
    steps = steps.reshape(-1, *cells.shape)
    tables = np.concatenate([cells[None], cells + steps, cells - steps])

    # a measure that is constant may return one number for all tables
    values = np.asarray(measure(tables), np.float64)
    values = np.broadcast_to(values, len(tables))
    above, below = np.split(values[1:], 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = (above - below) / (2 * _RELATIVE_STEP * cells.ravel())

    # an empty cell has no case to move anything, and an infinite value has no slope
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    return _ValueAndSlopes(float(values[0]), slopes.reshape(cells.shape))


def units_seen(
    measure: Callable[[Floats], Any], cells: Floats, group: int, tally: Tally
) -> list[float]:
    """Return the effective sizes of the classes of a group that a measure depends on.

    A measure depends on a class if it changes when the cases of this class change
    sides. ``cells`` has the axes group, side and class, with the positives first.
    """
    neg_squares, pos_squares, _ = tally.squares
    class_sizes = [
        kish(float(tally.pos.sum()), float(pos_squares.sum())),
        kish(float(tally.neg.sum()), float(neg_squares.sum())),
    ]

    value = measure(cells)
    sizes_seen = []
    for class_index, size in enumerate(class_sizes):
        swapped_cells = cells.copy()
        # flagged cases of the class are now unflagged ones, and the reverse
        swapped_cells[group, :, class_index] = cells[group, ::-1, class_index]
        if not np.isclose(measure(swapped_cells), value, equal_nan=True):
            sizes_seen.append(size)

    return sizes_seen or class_sizes


class Cut(NamedTuple):
    """The cases on both sides of a cut, and the counts of their target population."""

    sample: Sample[Tally]
    flags: Array

    @classmethod
    def of(cls, tally: Tally, threshold: float) -> Cut:
        """Cut a tally at a threshold.

        Where only the side of the cut matters, the rows of each side are merged.
        """
        if unknown_depend_on_score(tally):
            sample = apply_design(tally)
            return cls(sample, sample.observed.score >= threshold)
        two_rows = rescore(tally, tally.score >= threshold)  # bins at their lower ends
        return cls(apply_design(two_rows), two_rows.labelled().score == 1)

    @property
    def confusion(self) -> Confusion:
        """Return tp, fp, fn and tn of the target population."""
        return Confusion(*_cells(self.sample.target_counts, self.flags))

    def flagged_proportion(self, positive: bool) -> tuple[float, float]:
        """Return the flagged proportion of a class, and its effective sample size."""
        observed = self.sample.observed
        counts = observed.pos if positive else observed.neg
        total = float(counts.sum())
        proportion = float(counts[self.flags].sum()) / total if total else math.nan
        return proportion, observed.equal_cases[int(positive)]


def unknown_depend_on_score(tally: Tally) -> bool:
    """Return whether unknown labels depend on the score, so rows cannot be merged."""
    if tally.labels_expected:
        return True
    return tally.design.unlabelled != "left out" and tally.n_unknown > 0


def estimates(
    tally: Tally,
    threshold: float,
    metrics: Iterable[Metric] | None = None,
    *,
    level: float = 0.95,
    method: str = WILSON_METHOD,
) -> dict[str, Estimate]:
    """Metrics at a cut chosen beforehand, by name, with confidence intervals.

    How large is each metric, and how sure are we? Metrics that depend on the prevalence
    are left out of a case-control sample for which none is given. With the exact method
    proportions, likelihood ratios and the odds ratio have the intervals of R's epiR.

    Examples
    --------
    >>> t = Tally([1, 0], pos=[9, 1], neg=[2, 18])
    >>> estimates(t, 1, [METRICS["recall"]])
    {'recall': recall 0.900 (95 % CI 0.596 to 0.982)}
    """
    requested = METRICS.values() if metrics is None else metrics
    design = tally.design
    if design.sampling == "case-control" and design.prevalence is None:
        requested = [
            metric for metric in requested if not depends_on_prevalence(metric)
        ]
    requested = list(requested)
    cut = Cut.of(tally, threshold)

    # both rates first: intervals of other metrics are made from theirs
    known_estimates: dict[Metric, Estimate] = {}
    rates = (_RECALL, _SPECIFICITY)
    rates_first = sorted(requested, key=lambda metric: metric not in rates)
    for metric in rates_first:
        known_estimates[metric] = estimate_at(cut, metric, level, known_estimates)

    if method == EXACT_METHOD:
        refuse(tally, "The exact interval", _NO_EXACT_INTERVAL)
        return {
            metric.name: _with_exact_interval(cut, metric, known_estimates[metric])
            for metric in requested
        }
    return {metric.name: known_estimates[metric] for metric in requested}


def _with_exact_interval(cut: Cut, metric: Metric, usual: Estimate) -> Estimate:
    """Return a metric with the interval that R's epiR prints.

    A proportion has Clopper and Pearson's interval, likelihood ratios and the
    diagnostic odds ratio have one on the logarithmic scale. Other metrics keep the
    usual interval.
    """
    level = usual.level
    cells = np.array(_cells(cut.sample.target_counts, cut.flags))

    # a metric without a published interval of this kind keeps its own
    interval = None
    # a metric may be called by an alias, such as dor
    own_name = SYNONYMS.get(metric.name, metric.name)
    if metric.is_proportion:
        interval = _clopper_pearson_interval(metric, cells, level)
    elif metric.function is None and own_name in _LOG_VARIANCES:
        interval = _log_interval(own_name, usual.value, cells, level)
    if interval is None or math.isnan(usual.value):
        return usual
    return replace(usual, low=interval.low, high=interval.high, method=interval.method)


def _clopper_pearson_interval(
    metric: Metric, cells: Floats, level: float
) -> ConfidenceInterval:
    """Return the exact interval of a proportion, with equal tails."""
    assert metric.ratio is not None  # noqa: S101  # a proportion
    numerator = np.asarray(metric.ratio.over, dtype=np.float64) @ cells
    # a proportion of all cases has every cell below the line
    under = metric.ratio.under or (1, 1, 1, 1)
    denominator = np.asarray(under, dtype=np.float64) @ cells
    low, high = clopper_pearson(numerator, denominator, level)
    return ConfidenceInterval(float(low), float(high), CLOPPER_PEARSON)


def _log_interval(
    name: str, value: float, cells: Floats, level: float
) -> ConfidenceInterval | None:
    """Return the interval of a ratio on the logarithmic scale; None at 0 or infinity.

    Simel, Samsa and Matchar (1991), J. Clin. Epidemiol. 44:763; Woolf (1955), Ann. Hum.
    Genet. 19:251.
    """
    if not 0 < value < math.inf:
        return None
    variance = _LOG_VARIANCES[name](*cells)
    # on the logarithmic scale a distance is a factor
    factor = math.exp(NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance))
    method = WOOLF if name == "diagnostic_odds_ratio" else SIMEL
    return ConfidenceInterval(value / factor, value * factor, method)


# variances of the logarithms of ratios, from tp, fp, fn and tn
_LOG_VARIANCES: dict[str, Callable[[float, float, float, float], float]] = {
    "lr_positive": lambda tp, fp, fn, tn: (
        1 / tp - 1 / (tp + fn) + 1 / fp - 1 / (fp + tn)
    ),
    "lr_negative": lambda tp, fp, fn, tn: (
        1 / fn - 1 / (tp + fn) + 1 / tn - 1 / (fp + tn)
    ),
    "diagnostic_odds_ratio": lambda tp, fp, fn, tn: 1 / tp + 1 / fp + 1 / fn + 1 / tn,
}
_NO_EXACT_INTERVAL = dict.fromkeys(
    ("weight", "cluster", "prevalence", "unlabelled"), "It counts independent cases."
)


def estimate_at(
    cut: Cut,
    metric: Metric,
    level: float,
    known_estimates: Mapping[Metric, Estimate] = MappingProxyType({}),
) -> Estimate:
    """Return a metric at a cut, with its confidence interval.

    ``known_estimates`` holds estimates of other metrics at this threshold and level,
    which are then not computed again.
    """
    sample = cut.sample
    evaluated = evaluate_measure(sample, partial(metric_measure, metric, cut.flags))
    at_other_prevalence = sample.reweighted and depends_on_prevalence(metric)
    if at_other_prevalence and math.isnan(sum(sample.class_weights)):
        # a class without a case cannot be reweighted
        evaluated = replace(evaluated, value=math.nan)

    interval = _interval_at(
        cut,
        metric,
        evaluated,
        level,
        known_estimates,
        cases_are_counted=sample.imputation is None and not at_other_prevalence,
    )

    value = evaluated.value
    standard_error = evaluated.variance_estimate.standard_error
    if math.isnan(value):
        standard_error = math.nan
    # the labels are too few for a value: the interval alone is reported
    if not evaluated.variance_estimate.has_value:
        value = math.nan
    return estimate_from_interval(
        value,
        interval.low,
        interval.high,
        level,
        interval.method,
        standard_error,
        name=metric.name,
    )


def _interval_at(
    cut: Cut,
    metric: Metric,
    evaluated: EvaluatedMeasure,
    level: float,
    known_estimates: Mapping[Metric, Estimate],
    *,
    cases_are_counted: bool,
) -> ConfidenceInterval:
    """Return the interval of a metric at a cut, by the method that its form allows.

    ``cases_are_counted`` is false where labels are imputed, or classes are reweighted:
    then a proportion of cases is not one of the cases that were drawn.
    """
    value = evaluated.value
    if metric.is_proportion and cases_are_counted:
        low, high = _proportion_interval(cut, metric, evaluated, level)
        return ConfidenceInterval(low, high, WILSON)

    # such as an odds ratio of 0 or infinity, which has no slope
    at_end_of_infinite_range = value in metric.range and math.inf in metric.range
    if math.isinf(value) or at_end_of_infinite_range:
        low, high = _range_within_rate_intervals(cut, metric, level)
        return ConfidenceInterval(low, high, WILSON)

    rates = rate_coefficients(metric)
    if rates is not None and not math.isnan(value):
        low, high = _interval_from_both_rates(
            cut, rates, evaluated, level, known_estimates
        )
        return ConfidenceInterval(low, high, NEWCOMBE_RATES)

    return _interval_from_slopes(cut, metric, evaluated, level)


def _interval_from_slopes(
    cut: Cut, metric: Metric, evaluated: EvaluatedMeasure, level: float
) -> ConfidenceInterval:
    """Return the interval from the variance that the slopes of a metric imply.

    An end is further away where all cases of a class fell on one side of the cut.
    """
    variance_below = evaluated.variance_estimate
    variance_above = evaluated.variance_estimate
    is_stratified = evaluated.within_class or cut.sample.class_sizes_fixed
    if is_stratified and cut.sample.imputation is None:
        variance_below, variance_above = _variances_with_unseen_side(
            cut, metric, evaluated, level
        )

    value = evaluated.value
    lower = interval_from_variance(value, variance_below, evaluated.ends, level)
    # one interval serves both sides
    if variance_above == variance_below:
        return lower

    upper = interval_from_variance(value, variance_above, evaluated.ends, level)
    return ConfidenceInterval(lower.low, upper.high, lower.method)


class RateCoefficients(NamedTuple):
    """A metric that is a sum of multiples of recall and specificity."""

    recall: float
    specificity: float


@lru_cache(maxsize=256)
def rate_coefficients(metric: Metric) -> RateCoefficients | None:
    """Return the coefficients of both rates in a metric; None if it is no such sum.

    >>> rate_coefficients(METRICS["youden"])
    RateCoefficients(recall=1.0, specificity=1.0)
    """
    has_ends = all(math.isfinite(end) for end in metric.range)
    if not has_ends or depends_on_prevalence(metric):
        return None

    def value_at_rates(recall: float, specificity: float) -> float:
        return float(metric(Confusion.from_rates(recall, 1 - specificity, 0.5, 1.0)))

    # three points determine a linear metric: it must agree with them at all others
    origin = value_at_rates(0.25, 0.25)
    by_recall = 2 * (value_at_rates(0.75, 0.25) - origin)
    by_specificity = 2 * (value_at_rates(0.25, 0.75) - origin)
    for recall, specificity in ((0.75, 0.75), (0.5, 0.4), (0.9, 0.1)):
        expected = origin + by_recall * (recall - 0.25)
        expected += by_specificity * (specificity - 0.25)
        if not math.isclose(
            value_at_rates(recall, specificity), expected, abs_tol=1e-12
        ):
            return None
    if not by_recall or not by_specificity:
        return None
    # differences of metrics: 12 digits are exact, the last four are rounding
    return RateCoefficients(round(by_recall, 12), round(by_specificity, 12))


def _interval_from_both_rates(
    cut: Cut,
    rates: RateCoefficients,
    evaluated: EvaluatedMeasure,
    level: float,
    known_estimates: Mapping[Metric, Estimate],
) -> tuple[float, float]:
    r"""Return the interval of a sum of multiples of recall and specificity.

    Squares of the distances to the ends of both intervals are added, as in Newcombe's
    interval of a difference of two proportions (1998, method 10), with their
    correlation r where clusters or imputed labels make one (Zou and Donner 2008):

    .. math:: \hat\theta - \sqrt{a^2 + 2 r a b + b^2}

    a and b are how far each multiple can fall.
    """
    recall = known_estimates.get(_RECALL) or estimate_at(cut, _RECALL, level)
    specificity = known_estimates.get(_SPECIFICITY) or estimate_at(
        cut, _SPECIFICITY, level
    )
    recall_falls, recall_rises = _distances(recall, rates.recall)
    specificity_falls, specificity_rises = _distances(specificity, rates.specificity)

    # both rates are of different cases, unless clusters or a map link them
    correlation = 0.0
    if cut.sample.observed.grouped is not None or cut.sample.imputation is not None:
        correlation = _correlation_of_parts(
            evaluated.variance_estimate.variance,
            rates.recall * recall.se,
            rates.specificity * specificity.se,
        )

    value = evaluated.value
    return (
        value - _joint_distance(recall_falls, specificity_falls, correlation),
        value + _joint_distance(recall_rises, specificity_rises, correlation),
    )


def _distances(rate: Estimate, coefficient: float) -> tuple[float, float]:
    """Return how far a multiple of a rate can fall, and rise, within its interval."""
    below = abs(coefficient) * (rate.value - rate.low)
    above = abs(coefficient) * (rate.high - rate.value)
    return (below, above) if coefficient > 0 else (above, below)


def _joint_distance(first: float, second: float, correlation: float) -> float:
    """Return the length of two correlated distances together."""
    square = first**2 + 2 * correlation * first * second + second**2
    return math.sqrt(max(square, 0.0))


def _correlation_of_parts(variance: float, first: float, second: float) -> float:
    """Return the correlation of two parts from the variance of their sum."""
    product = abs(first * second)
    if not product > 0 or math.isnan(variance):
        return 0.0
    correlation = (variance - first**2 - second**2) / (2 * product)
    return min(max(correlation, -1.0), 1.0)


def _proportion_interval(
    cut: Cut, metric: Metric, evaluated: EvaluatedMeasure, level: float
) -> tuple[float, float]:
    """Return Wilson's interval, from the cases in the denominator of a proportion."""
    value = evaluated.value
    if math.isnan(value):
        return math.nan, math.nan
    sample = sample_of_proportion(cut, metric, value, evaluated.variance_estimate)
    return proportion_interval(value, sample, level)


def sample_of_proportion(
    cut: Cut, metric: Metric, value: float, variance_estimate: VarianceEstimate
) -> ProportionSample:
    """Return what the interval of a proportion needs of its denominator."""
    assert metric.ratio is not None  # noqa: S101  # a proportion
    tp, fp, fn, tn = metric.ratio.under or (1, 1, 1, 1)
    negatives_counted = np.where(cut.flags, fp, tn) > 0
    positives_counted = np.where(cut.flags, tp, fn) > 0
    return proportion_sample(
        cut.sample.observed,
        negatives_counted,
        positives_counted,
        variance_estimate.uncorrected_variance,
        varies=0 < value < 1,
    )


def _variances_with_unseen_side(
    cut: Cut, metric: Metric, evaluated: EvaluatedMeasure, level: float
) -> tuple[VarianceEstimate, VarianceEstimate]:
    r"""Return the variances below and above the value, with cases on an unseen side.

    Where all n cases of a class fell on one side, the proportion on the other side is
    at most Wilson's upper end of none of n, :math:`q = z^2 / (n + z^2)`. Squares of the
    distances are added, as in Newcombe's interval of a difference of two proportions
    (1998, method 10).
    """
    squares_below = 0.0
    squares_above = 0.0
    for positive in (False, True):
        change = _change_by_unseen_side(cut, metric, evaluated.value, positive, level)
        if not math.isfinite(change):
            continue
        if change > 0:
            squares_above += change**2
        else:
            squares_below += change**2

    estimate = evaluated.variance_estimate
    quantile = student_quantile(estimate.degrees_of_freedom, level)
    # a distance is a quantile times a standard error
    variance_below = estimate.variance + squares_below / quantile**2
    variance_above = estimate.variance + squares_above / quantile**2
    return (
        replace(estimate, variance=variance_below),
        replace(estimate, variance=variance_above),
    )


def _change_by_unseen_side(
    cut: Cut, metric: Metric, value: float, positive: bool, level: float
) -> float:
    """Return the change of a metric if a one-sided class had cases on the other side.

    Their proportion is the end of Wilson's interval.
    """
    proportion, n = cut.flagged_proportion(positive)
    # a class with cases on both sides shows its own variance
    if 0 < proportion < 1 or not n > 0:
        return 0.0

    # the cells of the class among tp, fp, fn and tn
    flagged = 0 if positive else 1
    not_flagged = flagged + 2
    cells = np.array(_cells(cut.sample.target_counts, cut.flags))
    total = cells[flagged] + cells[not_flagged]

    # Wilson's interval ends z^2 / (n + z^2) from a proportion of 0 or 1
    z = NormalDist().inv_cdf((1 + level) / 2)
    proportion_not_flagged = n / (n + z * z)
    if cells[flagged]:
        proportion_not_flagged = z * z / (n + z * z)

    cells[flagged] = total * (1 - proportion_not_flagged)
    cells[not_flagged] = total * proportion_not_flagged
    return float(metric(Confusion(*cells))) - value


def _range_within_rate_intervals(
    cut: Cut, metric: Metric, level: float
) -> tuple[float, float]:
    """Return the least and largest value within the intervals of both rates.

    NaN where the metric is undefined at all of their corners.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    recall_ends = wilson_interval(*cut.flagged_proportion(positive=True), z)
    fpr_ends = wilson_interval(*cut.flagged_proportion(positive=False), z)

    target = cut.sample.target_counts
    n_cases = target.n_pos + target.n_neg
    values = []
    # the four corners of the rectangle of both intervals
    for recall, fpr in product(recall_ends, fpr_ends):
        corner = Confusion.from_rates(recall, fpr, target.prevalence, n_cases)
        value = float(metric(corner))
        if not math.isnan(value):
            values.append(value)

    if not values:
        return math.nan, math.nan
    return min(values), max(values)
