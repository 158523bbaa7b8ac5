"""How sure is a metric at a given cut?

A metric is a function of four counts, so its influence values are its slopes by them.
Shares of cases have Wilson's interval, all other metrics that of the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.records import Estimate
from trueness.counts.cases import Cases, kish
from trueness.counts.values import Tally, rescored
from trueness.inference.estimates import (
    EvaluatedMeasure,
    estimate_from_interval,
    evaluate_measure,
)
from trueness.inference.intervals import (
    NEWCOMBE_RATES,
    WILSON,
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
from trueness.metrics.definitions import METRICS


def metric_measure(m: Metric, flags: Array, t: Cases) -> MeasuredValue:
    """Give a metric of the flagged cases and its slopes by tp, fp, fn and tn."""
    cells = np.array(_cells(t, flags))
    value, by = float(m(Confusion(*cells))), slopes(lambda x: m(Confusion(*x.T)), cells)
    n = float(cells.sum())
    ends, r = m.range, m.ratio
    if r is not None and r.under is None and {*r.over} <= {0, 1}:  # a number of cases
        ends = (0.0, n)
    tp, fp, fn, tn = by - (by @ cells / n if n else 0.0)
    by_neg, by_pos = np.where(flags, fp, tn), np.where(flags, tp, fn)
    return MeasuredValue(
        value,
        Influence(by_neg, by_pos),
        ends,
        within_class=not depends_on_prevalence(m),
    )


def _cells(t: Cases, flags: Array) -> list[float]:
    return [float(c[at].sum()) for at in (flags, ~flags) for c in (t.pos, t.neg)]


def slopes(measure: Callable[[Floats], Any], cells: Floats) -> Floats:
    """Give the slopes of a measure by each of some counts, from central differences."""
    # a step of a millionth of the count: errors of 1e-12 and of rounding, 1e-10
    step = (1e-6 * np.diag(cells.ravel())).reshape(-1, *cells.shape)
    up, down = (np.asarray(measure(cells + d), np.float64) for d in (step, -step))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (up - down) / (2e-6 * cells.ravel())
    # an empty cell has no case to move anything, and an infinite value has no slope
    return np.where(np.isfinite(found), found, 0.0).reshape(cells.shape)


def units_seen(
    measure: Callable[[Floats], Any], cells: Floats, group: int, t: Tally
) -> list[float]:
    """How many cases has each class of a group that a measure looks at?

    It changes when these change sides; of cells (groups, sides, classes).
    """
    numbers = [kish(float(w.sum()), float(q.sum())) for w, q in (
        (t.pos, t.squares[1]), (t.neg, t.squares[0]))]  # fmt: skip
    found = []
    for k, n in enumerate(numbers):
        other = cells.copy()
        other[group, :, k] = cells[group, ::-1, k]
        if not np.isclose(measure(other), measure(cells), equal_nan=True):
            found.append(n)
    return found or numbers


class Cut(NamedTuple):
    """The cases on both sides of a cut, and the counts that their design means."""

    sample: Sample[Tally]
    flags: Array

    @classmethod
    def of(cls, t: Tally, threshold: float) -> Cut:
        """Cut a tally. Rows on one side of the cut are one, if nothing else matters."""
        if meant_by_rows(t):
            return cls(apply_design(t), t.score >= threshold)
        two = rescored(t, t.score >= threshold)  # bins are cut at their lower ends
        return cls(apply_design(two), two.labelled().score == 1)

    @property
    def confusion(self) -> Confusion:
        """Give the four counts that are meant."""
        return Confusion(*_cells(self.sample.target_counts, self.flags))

    def of_class(self, positive: bool) -> tuple[float, float]:
        """Give the flagged share of a class, and as how many cases it counts."""
        count = self.sample.observed.pos if positive else self.sample.observed.neg
        square = self.sample.observed.squares[int(positive)]
        total = float(count.sum())
        share = float(count[self.flags].sum()) / total if total else math.nan
        return share, kish(total, float(square.sum()))


def meant_by_rows(t: Tally) -> bool:
    """Does the chance of a label go with the score, so that every row matters?"""
    return t.design.unlabelled != "left out" and t.n_unknown > 0


def estimates(
    t: Tally,
    threshold: float,
    metrics: Iterable[Metric] | None = None,
    *,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """How large is each metric at a cut chosen beforehand, and how sure are we?

    Metrics that depend on the share of positives are left out of a case-control sample
    without a prevalence.

    Examples
    --------
    >>> t = Tally([1, 0], pos=[9, 1], neg=[2, 18])
    >>> estimates(t, 1, [METRICS["recall"]])
    {'recall': recall 0.900 (95 % CI 0.596 to 0.982)}
    """
    d, wanted = t.design, METRICS.values() if metrics is None else metrics
    if d.sampling == "case-control" and d.prevalence is None:
        wanted = [m for m in wanted if not depends_on_prevalence(m)]
    cut = Cut.of(t, threshold)
    return {m.name: estimate_at(cut, m, level) for m in wanted}


def estimate_at(cut: Cut, m: Metric, level: float) -> Estimate:
    """How large is one metric at a cut, and how sure are we?"""
    sample = cut.sample
    evaluated = evaluate_measure(sample, partial(metric_measure, m, cut.flags))
    at_other_prevalence = sample.reweighted and depends_on_prevalence(m)
    if at_other_prevalence and math.isnan(sum(sample.class_weights)):
        # a class that has no case here
        evaluated = replace(evaluated, value=math.nan)

    value = evaluated.value
    rates = rate_coefficients(m)
    if m.is_share and sample.imputation is None and not at_other_prevalence:
        low, high = _of_share(cut, m, value, evaluated.variance_estimate, level)
        method = WILSON
    elif math.isinf(value) or (value in m.range and math.inf in m.range):
        low, high = _from_shares(cut, m, level)
        method = WILSON
    elif rates is not None and not math.isnan(value):
        low, high = _from_both_rates(cut, rates, evaluated, level)
        method = NEWCOMBE_RATES
    else:
        low, high, method = _from_slopes(cut, m, evaluated, level)

    standard_error = evaluated.variance_estimate.standard_error
    if math.isnan(value):
        standard_error = math.nan
    return estimate_from_interval(
        value, low, high, level, method, standard_error, name=m.name
    )


def _from_slopes(
    cut: Cut, m: Metric, evaluated: EvaluatedMeasure, level: float
) -> ConfidenceInterval:
    """Return the interval of the engine, with what a class may hide."""
    by_class = evaluated.within_class or cut.sample.class_sizes_fixed
    below = above = evaluated.variance_estimate
    if by_class and cut.sample.imputation is None:
        below, above = _with_silent(
            cut, m, evaluated.value, evaluated.variance_estimate, level
        )
    lower = interval_from_variance(evaluated.value, below, evaluated.ends, level)
    upper = interval_from_variance(evaluated.value, above, evaluated.ends, level)
    return ConfidenceInterval(lower.low, upper.high, lower.method)


class RateCoefficients(NamedTuple):
    """A metric that is a sum of multiples of recall and specificity."""

    recall: float
    specificity: float


@lru_cache(maxsize=256)
def rate_coefficients(m: Metric) -> RateCoefficients | None:
    """Return the multiples of both rates in a metric, None where it is no such sum.

    >>> rate_coefficients(METRICS["youden"])
    RateCoefficients(recall=1.0, specificity=1.0)
    """
    if not all(math.isfinite(end) for end in m.range) or depends_on_prevalence(m):
        return None

    def at_rates(recall: float, specificity: float) -> float:
        return float(m(Confusion.of_rates(recall, 1 - specificity, 0.5, 1.0)))

    # linear metrics are those that three corners of a square tell everywhere
    origin = at_rates(0.25, 0.25)
    by_recall = 2 * (at_rates(0.75, 0.25) - origin)
    by_specificity = 2 * (at_rates(0.25, 0.75) - origin)
    for recall, specificity in ((0.75, 0.75), (0.5, 0.4), (0.9, 0.1)):
        expected = origin + by_recall * (recall - 0.25)
        expected += by_specificity * (specificity - 0.25)
        if not math.isclose(at_rates(recall, specificity), expected, abs_tol=1e-12):
            return None
    if not by_recall or not by_specificity:
        return None
    return RateCoefficients(round(by_recall, 12), round(by_specificity, 12))


def _from_both_rates(
    cut: Cut, rates: RateCoefficients, evaluated: EvaluatedMeasure, level: float
) -> tuple[float, float]:
    r"""Return the interval of a sum of multiples of recall and specificity.

    Squares of the distances to the ends of both intervals are added, as in Newcombe's
    interval of a difference of two proportions (1998, method 10), with their
    correlation r where clusters or imputed labels make one (Zou and Donner 2008):

    .. math:: \hat\theta - \sqrt{a^2 + 2 r a b + b^2}

    a and b are how far each multiple can fall.
    """
    recall = estimate_at(cut, METRICS["recall"], level)
    specificity = estimate_at(cut, METRICS["specificity"], level)
    recall_falls, recall_rises = _distances(recall, rates.recall)
    specificity_falls, specificity_rises = _distances(specificity, rates.specificity)

    correlation = 0.0
    if cut.sample.observed.grouped is not None or cut.sample.imputation is not None:
        correlation = _correlation_of_parts(
            evaluated.variance_estimate.variance,
            rates.recall * recall.se,
            rates.specificity * specificity.se,
        )
    value = evaluated.value
    return (
        value - _joined(recall_falls, specificity_falls, correlation),
        value + _joined(recall_rises, specificity_rises, correlation),
    )


def _distances(rate: Estimate, coefficient: float) -> tuple[float, float]:
    """Return how far a multiple of a rate can fall, and rise, within its interval."""
    below = abs(coefficient) * (rate.value - rate.low)
    above = abs(coefficient) * (rate.high - rate.value)
    return (below, above) if coefficient > 0 else (above, below)


def _joined(first: float, second: float, correlation: float) -> float:
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


def _of_share(
    cut: Cut, m: Metric, value: float, s: VarianceEstimate, level: float
) -> tuple[float, float]:
    """Give Wilson's interval among the cases that the share is of."""
    if math.isnan(value):
        return math.nan, math.nan
    return proportion_interval(value, share_sample(cut, m, value, s), level)


def share_sample(
    cut: Cut, m: Metric, value: float, variance_estimate: VarianceEstimate
) -> ProportionSample:
    """Return the cases that a proportion is of, as its interval needs them."""
    assert m.ratio is not None  # noqa: S101  # a share
    tp, fp, fn, tn = m.ratio.under or (1, 1, 1, 1)
    negatives_counted = np.where(cut.flags, fp, tn) > 0
    positives_counted = np.where(cut.flags, tp, fn) > 0
    return proportion_sample(
        cut.sample.observed,
        negatives_counted,
        positives_counted,
        variance_estimate.uncorrected_variance,
        varies=0 < value < 1,
    )


def _with_silent(
    cut: Cut, m: Metric, value: float, s: VarianceEstimate, level: float
) -> tuple[VarianceEstimate, VarianceEstimate]:
    r"""Add what a class may hide of which all cases fell on one side: below, above.

    Its share of the others is at most Wilson's limit of none of n,
    :math:`q = z^2 / (n + z^2)`; squares of the distances are added, as in Newcombe's
    interval of a difference of shares (1998, method 10).
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    more = [0.0, 0.0]
    for positive in (False, True):
        share, n = cut.of_class(positive)
        if 0 < share < 1 or not n > 0:
            continue
        cells = np.array(_cells(cut.sample.target_counts, cut.flags))
        a, b = (0, 2) if positive else (1, 3)
        others = z * z / (n + z * z) if cells[a] else n / (n + z * z)
        cells[[a, b]] = (cells[a] + cells[b]) * np.array([1 - others, others])
        change = float(m(Confusion(*cells))) - value
        more[change > 0] += change**2 if math.isfinite(change) else 0.0
    t = student_quantile(s.degrees_of_freedom, level)
    low, high = (replace(s, variance=s.variance + k / t**2) for k in more)
    return low, high


def _from_shares(cut: Cut, m: Metric, level: float) -> tuple[float, float]:
    """Give the least and the largest value within the limits of both rates."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    rates = [
        wilson_interval(share, n, z) for share, n in map(cut.of_class, (True, False))
    ]
    c = cut.sample.target_counts
    values = [
        float(m(Confusion.of_rates(recall, fpr, c.prevalence, c.n_pos + c.n_neg)))
        for recall, fpr in product(*rates)
    ]
    known = [v for v in values if not math.isnan(v)]
    return (min(known), max(known)) if known else (math.nan, math.nan)
