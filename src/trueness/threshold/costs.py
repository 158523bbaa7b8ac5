"""What do errors cost, and what is it worth to act on the scores?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.records import Answer, Estimate
from trueness._core.solvers import concave_corners
from trueness.counts.answers import of_tally
from trueness.counts.placements import coarsen, corners
from trueness.counts.resampling import Seed, replicates
from trueness.counts.values import Tally, rescore
from trueness.inference.estimates import evaluate_measure
from trueness.inference.sample import apply_design, check_prevalence_known
from trueness.metrics.algebra import Metric, Ratio
from trueness.metrics.confusion import sweep
from trueness.metrics.definitions import METRICS, net_benefit
from trueness.metrics.intervals import (
    Cut,
    estimate_at,
    metric_measure,
    unknown_depend_on_score,
)
from trueness.threshold.cuts import thresholds_of

# bootstrap samples in which the cheapest threshold is chosen again
_REPLICATES = 200
# corners of the ROC curve that are resampled
_MOST_ROWS = 1000


@final
@dataclass(frozen=True, repr=False)
class CostCurve(Answer):
    """The smallest cost of errors, for every weight of the two kinds.

    Attributes
    ----------
    weight : array (n,)
        The proportion of the largest possible cost that is due to missed positives,
        Holte's probability cost function PC(+).
    cost, low, high : array (n,)
        The smallest cost, as a proportion of the largest possible one, and its
        confidence interval.
    trivial : array (n,)
        The cost of the better of "flag all" and "flag none".
    threshold, recall, fpr : array (n,)
        The threshold with the smallest cost at each weight, and its rates.
    """

    weight: Floats
    cost: Floats
    low: Floats
    high: Floats
    trivial: Floats
    threshold: Floats
    recall: Floats
    fpr: Floats
    level: float


@of_tally
def cost_curve(
    data: Tally,
    *,
    at: ArrayLike | None = None,
    level: float = 0.95,
    rng: Seed = 0,
) -> CostCurve:
    r"""Cost curve of Drummond and Holte, with a confidence interval.

    How low can the cost of errors be, whatever the prevalence and costs are?

    .. math:: C(w) = \min_\tau\; w\,\mathrm{FNR}(\tau) + (1 - w)\,\mathrm{FPR}(\tau),
        \qquad w = \frac{\pi c_{fn}}{\pi c_{fn} + (1 - \pi) c_{fp}}

    Parameters
    ----------
    data
        Scores and labels of one classifier, both classes present.
    at
        The weights w at which to evaluate, between 0 and 1; by default 0, 0.01, ..., 1.

    Notes
    -----
    The interval is for the cost of the chosen threshold in the population, and allows
    for the choice (200 bootstrap samples, Efron 1983). If several thresholds have equal
    cost, the one that flags the fewest cases is returned.

    References
    ----------
    Drummond, Holte 2006, Mach. Learn. 65:95, doi:10.1007/s10994-006-8199-5.
    Efron 1983, J. Am. Stat. Assoc. 78:316, doi:10.2307/2288636.

    Examples
    --------
    >>> t = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
    >>> cost_curve(t, at=[0.5]).cost  # 0.5 * 1/4 + 0.5 * 1/6 at 0.7
    array([0.20833333])
    """
    _cases.one_classifier(data, "cost_curve")
    _cases.both_classes(data, "cost_curve")
    level = _options.fraction(level, "level")
    if at is None:
        at = np.arange(101) / 100
    weight = _options.grid(at, "at")

    labelled = data.labelled()
    counts = sweep(data)
    place = _cheapest_cuts(counts.tp, counts.fp, weight)
    recall = counts.tp[place] / labelled.n_pos
    fpr = counts.fp[place] / labelled.n_neg
    cost = weight * (1 - recall) + (1 - weight) * fpr

    at_fixed_cut = _estimate_costs(labelled, place, weight, level)
    low = np.array([estimate.low for estimate in at_fixed_cut])
    high = np.array([estimate.high for estimate in at_fixed_cut])
    standard_error = np.array([estimate.se for estimate in at_fixed_cut])

    # the interval is wider where the choice varies more than the cost at a fixed cut
    choice = _optimism_of_cheapest(labelled, weight, rng)
    widening = np.divide(
        choice.standard_deviation,
        standard_error,
        out=np.ones(weight.size),
        where=standard_error > 0,
    )
    widening = np.maximum(widening, 1.0)
    # corrected by the optimism of the choice; the cost in the sample stays inside
    low_on_new_cases = cost + choice.optimism - widening * (cost - low)
    high_on_new_cases = cost + choice.optimism + widening * (high - cost)

    return CostCurve(
        weight=weight,
        cost=cost,
        low=np.clip(low_on_new_cases, 0, cost),
        high=np.clip(high_on_new_cases, cost, 1),
        trivial=np.minimum(weight, 1 - weight),
        threshold=thresholds_of(labelled.score, place),
        recall=recall,
        fpr=fpr,
        level=level,
    )


def _estimate_costs(
    tally: Tally, place: Ints, weight: Floats, level: float
) -> list[Estimate]:
    """Return the cost at each weight, with an interval for its cut taken as fixed."""
    lowest_flagged = np.where(place > 0, tally.score[np.maximum(place, 1) - 1], np.inf)
    estimates = []
    for weight_of_positives, cut in zip(
        weight.tolist(), _cut_at(tally, lowest_flagged), strict=True
    ):
        # C(w) = w FNR + (1 - w) FPR
        cost = (
            weight_of_positives * METRICS["fnr"]
            + (1 - weight_of_positives) * METRICS["fpr"]
        )
        estimates.append(estimate_at(cut, replace(cost, range=(0.0, 1.0)), level))
    return estimates


def _cut_at(tally: Tally, thresholds: Floats) -> list[Cut]:
    """Return a tally cut at each threshold; rows between two of them are one."""
    if not unknown_depend_on_score(tally):
        # probabilities of labels would need the scores themselves
        distinct = np.unique(thresholds)
        interval = np.searchsorted(distinct, tally.score, side="right")
        tally = rescore(tally, interval)
        thresholds = np.asarray(np.searchsorted(distinct, thresholds) + 1.0, np.float64)

    sample = apply_design(tally)
    return [Cut(sample, sample.observed.score >= cut) for cut in thresholds]


def _cheapest_cuts(tp: Array, fp: Array, weight: Floats) -> Ints:
    """Return the cut with the smallest cost at each weight."""
    # w TPR - (1 - w) FPR is linear, so that it is largest at a corner of the hull
    corner = concave_corners(np.diff(tp), np.diff(fp))
    tpr = tp[corner] / tp[-1]
    fpr = fp[corner] / fp[-1]
    gain = weight[:, None] * tpr - (1 - weight)[:, None] * fpr
    return np.asarray(corner[np.argmax(gain, axis=1)], dtype=np.int64)


class _Choice(NamedTuple):
    """How much cheaper a choice looks than it is, and how far that varies."""

    optimism: Floats
    standard_deviation: Floats


def _optimism_of_cheapest(tally: Tally, weight: Floats, rng: Seed) -> _Choice:
    """Return by how much the cheapest cuts look too cheap, at each weight.

    The choice is repeated on bootstrap samples: the mean excess of the cost in all
    cases over that in the sample is the optimism (Efron 1983, JASA 78:316).
    """
    # neighbouring corners are pooled: 200 choices among 1,000 rows take little time
    pooled = coarsen(corners(tally), _MOST_ROWS)
    tpr = _running_rate(pooled.pos)
    fpr = _running_rate(pooled.neg)
    differences = []
    for negatives, positives in replicates(pooled, _REPLICATES, rng):
        for neg, pos in zip(negatives, positives, strict=True):
            # a sample of one class has no cost
            if not (neg.any() and pos.any()):
                continue

            sample_tpr = _running_rate(pos)
            sample_fpr = _running_rate(neg)
            cheapest = _cheapest_cuts(sample_tpr, sample_fpr, weight)
            # the cost in the sample less the cost of the same cut in all cases
            from_misses = weight * (tpr[cheapest] - sample_tpr[cheapest])
            from_alarms = (1 - weight) * (sample_fpr[cheapest] - fpr[cheapest])
            differences.append(from_misses + from_alarms)

    return _Choice(-np.mean(differences, axis=0), np.std(differences, axis=0))


def _running_rate(counts: Array) -> Floats:
    """Return which proportion of a class each cut flags."""
    running = np.concatenate([[0], np.cumsum(counts)])
    return np.asarray(running / running[-1])


@final
@dataclass(frozen=True, repr=False)
class DecisionCurve(Answer):
    """The net benefit of acting on the scores, at every threshold.

    Attributes
    ----------
    threshold : array (n,)
        The probability at which one would act.
    net_benefit, low, high : array (n,)
        True positives per case, minus false positives per case weighted by the odds of
        the threshold, and its interval.
    treat_all, treat_all_low, treat_all_high, treat_none : array (n,)
        Net benefit of acting always, and its interval. Acting never has net benefit 0.
    standardised, standardised_low, standardised_high : array (n,)
        Net benefit as a proportion of the largest possible one, the prevalence.
    interventions_avoided, avoided_low, avoided_high : array (n,)
        Net interventions avoided per case, compared with acting always, and its
        interval; NaN at the threshold 0.
    """

    threshold: Floats
    net_benefit: Floats
    low: Floats
    high: Floats
    treat_all: Floats
    treat_all_low: Floats
    treat_all_high: Floats
    treat_none: Floats
    standardised: Floats
    standardised_low: Floats
    standardised_high: Floats
    interventions_avoided: Floats
    avoided_low: Floats
    avoided_high: Floats
    prevalence: float
    level: float
    sampling: str = "cohort"


@of_tally
def decision_curve(
    data: Tally,
    *,
    threshold: ArrayLike | None = None,
    level: float = 0.95,
) -> DecisionCurve:
    r"""Decision curve: net benefit at every threshold probability.

    What is the net benefit of acting when the score reaches a probability?

    .. math:: NB(p) = \pi\,\mathrm{TPR}(p) - (1 - \pi)\,\frac{p}{1 - p}\,\mathrm{FPR}(p)

    *Net interventions avoided* compare with acting always: the true negatives per case,
    minus the false negatives weighted by :math:`(1 - p)/p`.

    Parameters
    ----------
    data
        Scores that are probabilities, and labels, both classes present.
    threshold
        The probabilities p at which one might act, from 0 to below 1; by default 0.01,
        0.02, ..., 0.99.

    Notes
    -----
    The scores are taken as probabilities, calibrated or not: calibrate them first
    (``t.map(trueness.calibrate(t))``). Intervals combine those of the proportions of
    true and false positives by Zou and Donner's method.

    References
    ----------
    Vickers, Elkin 2006, Med. Decis. Making 26:565, doi:10.1177/0272989X06295361.
    Kerr et al. 2016, J. Clin. Oncol. 34:2534, doi:10.1200/JCO.2015.65.5654.
    Zou, Donner 2008, Stat. Med. 27:1693, doi:10.1002/sim.3095.

    Examples
    --------
    >>> t = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
    >>> decision_curve(t, threshold=[0.6]).net_benefit  # 3/10 - 1/10 * 0.6/0.4
    array([0.15])
    """
    _cases.one_classifier(data, "decision_curve")
    _cases.both_classes(data, "decision_curve")
    _columns.unit_scores(data.score, "decision_curve", _CALIBRATE)
    level = _options.fraction(level, "level")
    if threshold is None:
        threshold = np.arange(1, 100) / 100
    probability = _options.grid(threshold, "threshold", below_one=True)
    check_prevalence_known(data, "The net benefit")

    cuts = _cut_at(data, probability)
    odds = probability / (1 - probability)
    # any cut will do, since acting always does not depend on it
    prevalence, prevalence_ends = _prevalence_with_ends(data, cuts[0], level)
    known_prevalence = data.design.prevalence
    benefits = []
    interventions_avoided = []
    for cut, cut_odds in zip(cuts, odds.tolist(), strict=True):
        if known_prevalence is None:
            benefit = _benefit_in_sample(cut, cut_odds, level)
        else:
            benefit = _benefit_at_prevalence(cut, cut_odds, prevalence, level)
        benefits.append(benefit)

        cases_avoided = _interventions_avoided(cut, cut_odds, known_prevalence, level)
        interventions_avoided.append(cases_avoided)

    # columns: the value, and the ends of its interval
    plain = np.array([benefit.plain for benefit in benefits])
    standardised = np.array([benefit.standardised for benefit in benefits])
    avoided = np.array(interventions_avoided)
    low_end, high_end = prevalence_ends
    return DecisionCurve(
        threshold=probability,
        net_benefit=plain[:, 0],
        low=plain[:, 1],
        high=plain[:, 2],
        treat_all=prevalence - (1 - prevalence) * odds,
        treat_all_low=low_end - (1 - low_end) * odds,
        treat_all_high=high_end - (1 - high_end) * odds,
        treat_none=np.zeros(probability.size),
        standardised=standardised[:, 0],
        standardised_low=standardised[:, 1],
        standardised_high=standardised[:, 2],
        interventions_avoided=avoided[:, 0],
        avoided_low=avoided[:, 1],
        avoided_high=avoided[:, 2],
        prevalence=prevalence,
        level=level,
        sampling=data.design.sampling,
    )


_CALIBRATE = "Calibrate them first, so that they are probabilities."


def _prevalence_with_ends(
    data: Tally, cut: Cut, level: float
) -> tuple[float, tuple[float, float]]:
    """Return the prevalence of use, known or estimated, and its interval."""
    known_prevalence = data.design.prevalence
    if known_prevalence is not None:
        return known_prevalence, (known_prevalence, known_prevalence)
    # the precision of flagging all is the prevalence
    everything = np.ones(len(cut.sample.observed), dtype=bool)
    estimate = estimate_at(Cut(cut.sample, everything), METRICS["precision"], level)
    return estimate.value, (estimate.low, estimate.high)


class _NetBenefit(NamedTuple):
    """Value, low and high of the net benefit, and of its part of the largest one."""

    plain: tuple[float, float, float]
    standardised: tuple[float, ...]


_CASES = (1, 1, 1, 1)
_TRUE_NEGATIVES = Metric("tn / n", ratio=Ratio((0, 0, 0, 1), _CASES))
_FALSE_NEGATIVES = Metric("fn / n", ratio=Ratio((0, 0, 1, 0), _CASES))
_TRUE_POSITIVES = Metric("tp / n", ratio=Ratio((1, 0, 0, 0), _CASES))
_FALSE_POSITIVES = Metric("fp / n", ratio=Ratio((0, 1, 0, 0), _CASES))
# false positives beside the positives: given their sum, a binomial number
_FALSE_AMONG_BOTH = Metric("fp / (fp + p)", ratio=Ratio((0, 1, 0, 0), (1, 1, 1, 0)))


def _benefit_at_prevalence(
    cut: Cut, odds: float, prevalence: float, level: float
) -> _NetBenefit:
    """Return the net benefit at a known prevalence: the classes are two samples."""
    plain = _weighted_sum(
        cut,
        net_benefit(odds),
        weights=(prevalence, -(1 - prevalence) * odds),
        rates=[estimate_at(cut, METRICS[name], level) for name in ("recall", "fpr")],
    )
    # at a prevalence of 1e-320 the quotient is beyond the largest float
    largest = float(np.finfo(float).max) / 4
    standardised = [
        min(max(benefit / prevalence, -largest), largest) for benefit in plain
    ]
    return _NetBenefit(plain, tuple(standardised))


def _benefit_in_sample(cut: Cut, odds: float, level: float) -> _NetBenefit:
    """Return the net benefit at the prevalence of the sample."""
    metric = net_benefit(odds)
    weights = (1.0, -odds)
    plain = _weighted_sum(
        cut,
        metric,
        weights,
        rates=[
            estimate_at(cut, _TRUE_POSITIVES, level),
            estimate_at(cut, _FALSE_POSITIVES, level),
        ],
    )
    # the net benefit over the prevalence: tp / p - odds * fp / p
    per_positive = replace(metric, ratio=Ratio((1, -odds, 0, 0), (1, 0, 1, 0)))
    standardised = _weighted_sum(
        cut,
        per_positive,
        weights,
        rates=[
            estimate_at(cut, METRICS["recall"], level),
            _odds_of(estimate_at(cut, _FALSE_AMONG_BOTH, level)),
        ],
    )
    return _NetBenefit(plain, standardised)


def _interventions_avoided(
    cut: Cut, odds: float, prevalence: float | None, level: float
) -> tuple[float, float, float]:
    r"""Return net interventions avoided per case: value, low and high.

    .. math:: \frac{NB - NB_{all}}{o} = \frac{TN}{N} - \frac1o \frac{FN}{N}
    """
    if not odds > 0:
        # at the threshold 0 no intervention is one too many
        return math.nan, math.nan, math.nan

    metric = Metric(
        "net interventions avoided", ratio=Ratio((0, 0, -1 / odds, 1), _CASES)
    )
    if prevalence is None:
        return _weighted_sum(
            cut,
            metric,
            weights=(1.0, -1 / odds),
            rates=[
                estimate_at(cut, _TRUE_NEGATIVES, level),
                estimate_at(cut, _FALSE_NEGATIVES, level),
            ],
        )

    return _weighted_sum(
        cut,
        metric,
        weights=(1 - prevalence, -prevalence / odds),
        rates=[
            estimate_at(cut, METRICS["specificity"], level),
            estimate_at(cut, METRICS["fnr"], level),
        ],
    )


def _odds_of(proportion: Estimate) -> Estimate:
    """Return the odds of a proportion, with its interval."""
    # an end may round to 1, whose odds no float holds
    smallest = float(np.finfo(float).epsneg)

    def odds(value: float) -> float:
        complement = max(1 - value, smallest)
        return (1 - complement) / complement

    # delta method: the slope of the odds is one over the squared complement
    standard_error = proportion.se / max(1 - proportion.value, smallest) ** 2
    return replace(
        proportion,
        value=odds(proportion.value),
        low=odds(proportion.low),
        high=odds(proportion.high),
        se=standard_error,
    )


def _weighted_sum(
    cut: Cut,
    metric: Metric,
    weights: tuple[float, float],
    rates: Sequence[Estimate],
) -> tuple[float, float, float]:
    """Return a weighted sum of two rates, and its interval by Zou and Donner (2008).

    The correlation of the rates is what the variance of their sum leaves.
    """
    measured = evaluate_measure(cut.sample, partial(metric_measure, metric, cut.flags))
    first, second = rates
    correlation = _correlation_in_sum(
        measured.variance_estimate.variance,
        weights[0] * first.se,
        weights[1] * second.se,
    )

    distances = []
    for upper in (False, True):
        first_distance = _distance_to_end(first, weights[0], upper)
        second_distance = _distance_to_end(second, weights[1], upper)
        # Zou and Donner (2008): squared distances, with twice their correlated product
        squared = (
            first_distance * first_distance
            + second_distance * second_distance
            + 2 * correlation * first_distance * second_distance
        )
        distances.append(math.sqrt(max(squared, 0.0)))

    low_distance, high_distance = distances
    value = measured.value
    return value, value - low_distance, value + high_distance


def _correlation_in_sum(
    variance_of_sum: float, first_se: float, second_se: float
) -> float:
    """Return the correlation of two terms, from the variance of their sum."""
    if not first_se * second_se:
        return 0.0
    # var(x + y) = var(x) + var(y) + 2 cov(x, y)
    covariance_part = variance_of_sum - first_se * first_se - second_se * second_se
    return min(max(covariance_part / (2 * abs(first_se * second_se)), -1.0), 1.0)


def _distance_to_end(rate: Estimate, weight: float, upper: bool) -> float:
    """Return how far the weighted rate is from the end of its interval."""
    # a negative weight turns an interval round
    end = rate.high if upper == (weight > 0) else rate.low
    return weight * (end - rate.value)
