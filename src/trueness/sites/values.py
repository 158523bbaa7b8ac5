r"""The value of one site, with its variance, on the unbounded scale of its measure.

Any measure that ``inference`` can evaluate: by name, a metric at a threshold, or a
function of counts. A site may be counts, a panel of two classifiers (their difference),
attempts at items, or an :class:`Estimate` that somebody published.

A value at an end of its range, such as an AUC of 1, is infinite on the log odds scale.
It is replaced as zero cells of a 2x2 table are: half a case is added on both sides,

.. math:: y = \log\frac{np + \frac12}{n(1-p) + \frac12}, \qquad
          v = \frac{1}{np + \frac12} + \frac{1}{n(1-p) + \frac12}

with n the cases behind it (Haldane 1956; Anscombe 1956); of an AUC those of the smaller
class.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described, listing, nearest
from trueness._core.records import Estimate
from trueness.calibration.lines import (
    calibration_line,
    intercept_measure,
    slope_measure,
)
from trueness.calibration.proper_scores import brier, log_loss
from trueness.comparison.any_number import compare
from trueness.comparison.at_threshold import compare_metric
from trueness.comparison.paired import name_of
from trueness.counts.answers import measured_by
from trueness.counts.values import Panel, Tally
from trueness.evals.attempts import Attempts, pass_rate
from trueness.inference.estimates import estimate_from_interval, evaluate_measure
from trueness.inference.intervals import PROPORTION, Ends, normal_quantile
from trueness.inference.jackknife import Statistic, evaluate_statistic
from trueness.inference.sample import apply_design
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.definitions import METRICS, by_name
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.intervals import (
    Cut,
    estimate_at,
    metric_measure,
    sample_of_proportion,
)
from trueness.ranking.areas import auc, average_precision
from trueness.sites.scales import UNBOUNDED, OpenScale

SiteData = Tally | Panel | Attempts | Estimate

_POSITIVE: Ends = (0.0, math.inf)


@measured_by(slope_measure)
def calibration_slope(cases: Tally) -> float:
    """Return the slope of the calibration line (Cox 1958)."""
    return slope_measure(cases).value


@measured_by(intercept_measure)
def calibration_intercept(cases: Tally) -> float:
    """Return the calibration in the large: the intercept at a slope of one."""
    return intercept_measure(cases).value


# measures without a threshold, by name; others are metrics of the confusion matrix
STATISTICS: dict[str, tuple[Statistic, Ends]] = {
    "auc": (auc, PROPORTION),
    "average_precision": (average_precision, PROPORTION),
    "brier": (brier, PROPORTION),
    "log_loss": (log_loss, _POSITIVE),
    "calibration_slope": (calibration_slope, UNBOUNDED),
    "calibration_intercept": (calibration_intercept, UNBOUNDED),
    "pass_rate": (pass_rate, PROPORTION),
}


def statistic_by_name(name: str) -> Statistic | Metric:
    """Return the analysis of this name, or the metric of this name."""
    if name in STATISTICS:
        statistic, _ = STATISTICS[name]
        return statistic

    try:
        # a metric keeps the name that was typed: sensitivity, not recall
        return by_name(name) or read_metric(name)
    except InputError:
        known = nearest(name, [*STATISTICS, *METRICS])
        advice = known or (
            f" Measures without a threshold are {listing(STATISTICS, 9)}; the others "
            "are metrics."
        )
        raise InputError(
            f"No measure is called {described(name)}.{advice}",
            option="statistic",
            choices=STATISTICS,
            example=None if known else "auc",
        ) from None


@dataclass(frozen=True)
class SiteMeasure:
    """The measure at each site.

    Attributes
    ----------
    name
        As it is shown.
    ends
        The smallest and the largest value that is possible.
    statistic
        A function of counts, or None of a metric.
    metric, threshold
        A metric of the confusion matrix, and where scores are cut.
    """

    name: str
    ends: Ends
    statistic: Statistic | None = None
    metric: Metric | None = None
    threshold: float | None = None


@dataclass(frozen=True)
class SiteValue:
    """The value of one site.

    Attributes
    ----------
    estimate
        The value with its own confidence interval.
    position, variance
        On the unbounded scale.
    corrected
        Was half a case added, because the value lies at an end?
    cases
        The number of cases of a proportion, or of the smaller class; NaN where it is
        not known.
    """

    estimate: Estimate
    position: float
    variance: float
    corrected: bool = False
    cases: float = math.nan

    @property
    def usable(self) -> bool:
        """Return whether the value has a place and a variance."""
        return math.isfinite(self.position) and 0 < self.variance < math.inf


def read_measure(
    measure: str | Metric | Statistic, threshold: float | None, ends: Ends | None
) -> SiteMeasure:
    """Return a measure: by its name, as a metric, or as a function of counts."""
    if isinstance(measure, str) and measure in STATISTICS:
        statistic, known_ends = STATISTICS[measure]
        _check_no_threshold(measure, threshold)
        return SiteMeasure(measure, known_ends, statistic=statistic)

    if isinstance(measure, (str, Metric)):
        parsed_metric = _metric_of_site(measure)
        return SiteMeasure(
            parsed_metric.name,
            parsed_metric.range,
            metric=parsed_metric,
            threshold=threshold,
        )

    if callable(measure):
        name = name_of(measure)
        _check_no_threshold(name, threshold)
        known_statistic, known_ends = STATISTICS.get(name, (None, PROPORTION))
        # another function of the same name has no known ends
        default_ends = known_ends if known_statistic is measure else PROPORTION

        return SiteMeasure(name, ends or default_ends, statistic=measure)

    raise InputError(
        "A measure is a name, a metric or a function of counts; found "
        f"{described(measure)}.",
        option="measure",
        example="auc",
    )


def _metric_of_site(measure: str | Metric) -> Metric:
    """Return a metric; an error names the measure that was meant, if it is none."""
    try:
        return read_metric(measure)
    except InputError as err:
        hint = nearest(measure, STATISTICS)
        if not hint:
            raise
        message = f"No measure is called {described(measure)}.{hint}"
        raise err.rephrased(message=message, option="measure") from None


def _check_no_threshold(name: str, threshold: float | None) -> None:
    """Raise an error for a threshold of a measure that has none."""
    if threshold is None:
        return
    raise InputError(
        f"{name} does not depend on a threshold; found {threshold:g}. Leave it out.",
        option="threshold",
    )


def site_value(data: SiteData, measure: SiteMeasure, level: float) -> SiteValue:
    """Return the value of one site; NaN where its cases do not define it."""
    try:
        return _evaluate_site(data, measure, level)
    except (NotEnoughCases, ZeroDivisionError):
        undefined = estimate_from_interval(
            math.nan, math.nan, math.nan, level, name=measure.name
        )
        return SiteValue(undefined, math.nan, math.nan, cases=_smaller_class(data))


def _evaluate_site(data: SiteData, measure: SiteMeasure, level: float) -> SiteValue:
    """Return the value of one site, by the kind of its data."""
    if isinstance(data, Estimate):
        return _published_value(data, measure)
    if isinstance(data, Attempts):
        return _value_of_attempts(data, measure, level)
    if isinstance(data, Panel):
        return _value_of_difference(data, measure, level)
    if measure.metric is not None:
        return _value_of_metric(data, measure.metric, measure.threshold, level)
    return _value_of_statistic(data, measure, level)


def _value_of_statistic(tally: Tally, measure: SiteMeasure, level: float) -> SiteValue:
    """Return a measure without a threshold, such as an AUC, of one site."""
    statistic = measure.statistic
    assert statistic is not None  # noqa: S101  # a measure without a metric has one
    _check_defined(tally, statistic, measure.name)
    evaluated = evaluate_statistic(
        tally, statistic, ends=measure.ends, level=level, name=measure.name
    )
    assert evaluated.estimate is not None  # noqa: S101  # made at a level

    return _on_open_scale(
        evaluated.estimate,
        evaluated.variance_estimate.variance,
        OpenScale(evaluated.ends),
        sample_size=evaluated.variance_estimate.units,
        cases=_smaller_class(tally),
    )


def _check_defined(tally: Tally, statistic: Statistic, name: str) -> None:
    """Raise an error if the cases of a site do not define a measure."""
    if statistic in (auc, average_precision):
        _cases.both_classes(tally, name)
    if statistic in (calibration_slope, calibration_intercept):
        # raises an error that says why a line cannot be fitted
        calibration_line(tally)


def _value_of_metric(
    tally: Tally, metric: Metric, threshold: float | None, level: float
) -> SiteValue:
    """Return a metric of the confusion matrix of one site."""
    if depends_on_prevalence(metric):
        apply_design(tally, metric.name)

    cut = Cut.of(tally, verdict_threshold(tally, metric.name, threshold))
    evaluated = evaluate_measure(cut.sample, partial(metric_measure, metric, cut.flags))
    estimate = estimate_at(cut, metric, level)
    variance_estimate = evaluated.variance_estimate

    variance = variance_estimate.variance
    sample_size = variance_estimate.units
    cases = _smaller_class(tally)

    if metric.is_proportion and not math.isnan(estimate.value):
        # as usual in meta-analysis, a proportion has the variance p (1 - p) / n
        variance = variance_estimate.uncorrected_variance
        sample = sample_of_proportion(cut, metric, estimate.value, variance_estimate)
        sample_size = sample.sample_size
        cases = sample_size

    return _on_open_scale(
        estimate,
        variance,
        OpenScale(evaluated.ends),
        sample_size=sample_size,
        cases=cases,
    )


def verdict_threshold(tally: Tally, name: str, threshold: float | None) -> float:
    """Return the threshold; for verdicts of 0 and 1 it need not be stated."""
    if threshold is not None:
        return threshold
    if np.isin(tally.score, (0.0, 1.0)).all():
        return 1.0

    raise InputError(
        f"{name} needs a threshold: which scores are flagged? Found scores from "
        f"{tally.score[-1]:g} to {tally.score[0]:g}.",
        option="threshold",
        example=0.5,
    )


def _value_of_difference(panel: Panel, measure: SiteMeasure, level: float) -> SiteValue:
    """Return the difference of two classifiers within one site."""
    if len(panel.names) != 2:
        raise InputError(
            "A difference within sites is that of two classifiers; found "
            f"{len(panel.names)}.",
            option="scores",
        )

    # both classifiers scored the same cases
    compared = _compare_classifiers(panel, measure, level)
    difference = compared.pairs[0].difference

    return _on_open_scale(
        difference,
        difference.se**2,
        OpenScale(UNBOUNDED),
        sample_size=math.nan,
        cases=_smaller_class(panel),
    )


def _compare_classifiers(panel: Panel, measure: SiteMeasure, level: float) -> Any:
    """Return the comparison of the two classifiers of a panel."""
    if measure.statistic is not None:
        return compare(panel, measure.statistic, value_range=measure.ends, level=level)

    assert measure.metric is not None  # noqa: S101  # a measure has one of both
    thresholds = [
        verdict_threshold(panel[name], measure.name, measure.threshold)
        for name in panel.names
    ]
    return compare_metric(panel, measure.metric, thresholds=thresholds, level=level)


def _value_of_attempts(
    attempts: Attempts, measure: SiteMeasure, level: float
) -> SiteValue:
    """Return the pass rate of one site."""
    analysis: Callable[..., Any] = measure.statistic or pass_rate
    estimate: Estimate = analysis(attempts, level=level)

    return _on_open_scale(
        estimate,
        estimate.se**2,
        OpenScale(measure.ends),
        sample_size=float(len(attempts)),
        cases=float(len(attempts)),
    )


def _published_value(estimate: Estimate, measure: SiteMeasure) -> SiteValue:
    """Return the value of an estimate with a standard error or an interval."""
    scale = OpenScale(measure.ends)
    if math.isfinite(estimate.se):
        return _on_open_scale(
            estimate, estimate.se**2, scale, sample_size=math.nan, cases=math.nan
        )

    # only an interval: its half-width on the open scale is z standard errors
    low = scale.position(estimate.low)
    high = scale.position(estimate.high)
    standard_error = (high - low) / (2 * normal_quantile(estimate.level))

    return SiteValue(estimate, scale.position(estimate.value), standard_error**2)


def _on_open_scale(
    estimate: Estimate,
    variance: float,
    scale: OpenScale,
    *,
    sample_size: float,
    cases: float,
) -> SiteValue:
    """Return the value and its variance on the unbounded scale."""
    lowest, highest = scale.ends
    value = estimate.value
    if math.isnan(value) or math.isnan(variance):
        # a single case or cluster has no variance
        return SiteValue(estimate, math.nan, math.nan, cases=cases)

    if lowest < value < highest and variance > 0:
        # the delta method
        position = scale.position(value)
        return SiteValue(
            estimate, position, variance * scale.slope(value) ** 2, cases=cases
        )

    if scale.name != "log odds" or not sample_size > 0:
        # half a case can only be added to a proportion of a known number
        return SiteValue(estimate, math.nan, math.nan, cases=cases)

    proportion = (value - lowest) / (highest - lowest)
    # half a case on either side (Gart and Zweifel 1967)
    above = sample_size * proportion + 0.5
    below = sample_size * (1 - proportion) + 0.5

    return SiteValue(
        estimate,
        math.log(above / below),
        1 / above + 1 / below,
        corrected=True,
        cases=cases,
    )


def _smaller_class(data: SiteData) -> float:
    """Return the number of cases of the smaller class, or of items."""
    if isinstance(data, (Tally, Panel)):
        return min(data.equal_cases)
    return float(len(data)) if isinstance(data, Attempts) else math.nan
