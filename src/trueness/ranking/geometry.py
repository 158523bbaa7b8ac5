r"""What do ROC, precision, accuracy and F-beta have in common? The leakage function

.. math:: G(u) = F_p(F_n^{-1}(u)), \qquad 0 \le u \le 1, \qquad (10)

the proportion of positives that is missed where a proportion u of the negatives is not
flagged. Sameni (2025), "On the geometry of receiver operating characteristic and
precision-recall curves"; equation numbers are its own. Where a score is tied between
classes G is straight; where positives stand alone it jumps, and takes the lower value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.binomial import divergence
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.records import Answer, Estimate
from trueness.counts.answers import of_tally
from trueness.counts.placements import coarsen, runs
from trueness.counts.values import Tally
from trueness.inference.estimates import (
    EvaluatedMeasure,
    estimate_from_interval,
    evaluate_measure,
)
from trueness.inference.intervals import student_quantile
from trueness.inference.sample import MeasuredValue, apply_design
from trueness.inference.variance import Influence
from trueness.metrics.confusion import sweep
from trueness.ranking.models import Through, fit_binormal

# 1 - fpr is rounded: a specificity this close to a step is the step
_SNAP = 1e-12


@final
@dataclass(frozen=True, repr=False)
class Leakage(Answer, Through):
    """Leakage function: the proportion of positives missed at specificity ``u``.

    A call ``G(u)`` returns it; ``G.inverse(v)`` is the inverse function and
    ``G.density(u)`` the slope; ``tpr``, ``fpr``, ``miss_rate``, ``precision``,
    ``accuracy`` and ``f_beta`` follow from it.

    Attributes
    ----------
    specificity, miss_rate_at : array
        Corners of the curve, from (0, 0) to (1, 1).
    area : float
        Area under G, 1 - AUC: eqs. (17) and (19).
    """

    specificity: Floats
    miss_rate_at: Floats
    area: float

    def __call__(self, u: ArrayLike) -> Any:
        """Return G(u); at a jump the lower value."""
        u = _columns.probabilities(u, "u")
        specificity = self.specificity
        miss_rate = self.miss_rate_at
        # the first corner at or to the right of u
        corner = np.searchsorted(specificity, u - _SNAP, side="left")
        before = np.maximum(corner - 1, 0)
        straight = chord(specificity, miss_rate, before, corner, u)
        at_corner = np.abs(specificity[corner] - u) <= _SNAP
        return np.where(at_corner, miss_rate[corner], straight)

    def inverse(self, v: ArrayLike) -> Any:
        """Return the highest specificity that misses at most a proportion v."""
        v = _columns.probabilities(v, "v")
        specificity = self.specificity
        miss_rate = self.miss_rate_at
        # the last corner that misses at most v
        corner = np.searchsorted(miss_rate, v + _SNAP, side="right") - 1
        after = np.minimum(corner + 1, miss_rate.size - 1)
        straight = chord(miss_rate, specificity, corner, after, v)
        at_corner = np.abs(miss_rate[corner] - v) <= _SNAP
        return np.where(at_corner, specificity[corner], straight)

    def density(self, u: ArrayLike, bins: int = 20) -> Any:
        """Return the density of positives over that of negatives at this quantile.

        Eq. (11), averaged over ``bins`` equal parts of [0, 1], so that it integrates to
        1. Positives above all negatives belong to the last part.
        """
        u = _columns.probabilities(u, "u")
        n_bins = _options.whole_number(bins, "bins", at_least=1)
        miss_rates = self(np.linspace(0, 1, n_bins + 1))
        # positives above all negatives jump to 1 at the last corner
        miss_rates[-1] = 1.0
        bin_of_u = np.minimum((u * n_bins).astype(int), n_bins - 1)
        return np.diff(miss_rates)[bin_of_u] * n_bins


def chord(
    corner_x: Floats, corner_y: Floats, start: Array, end: Array, places: Floats
) -> Floats:
    """Return the heights of lines between corners; of a vertical one, its start."""
    start_x = corner_x[start]
    start_y = corner_y[start]
    run = corner_x[end] - start_x
    fraction = np.divide(
        places - start_x, run, out=np.zeros(np.shape(places)), where=run > 0
    )
    return np.asarray(start_y + np.clip(fraction, 0, 1) * (corner_y[end] - start_y))


@of_tally
def leakage(data: Tally) -> Leakage:
    """Leakage function of a classifier: miss rate as a function of specificity.

    What proportion of the positives falls below the threshold at each specificity?

    Sameni (2025), eqs. (10)-(26), with errata: see ``docs/maths/ranking_geometry.md``.

    Examples
    --------
    >>> G = leakage(Tally([2, 1], pos=[3, 1], neg=[1, 3]))
    >>> float(G(0.75)), float(G.tpr(0.25)), float(G.precision(0.75, prevalence=0.5))
    (0.25, 0.75, 0.75)
    """
    _cases.both_classes(data, "leakage")
    counts = apply_design(data).target_counts
    confusion = sweep(counts)
    specificity = (confusion.tn / counts.n_neg)[::-1]
    miss_rate = (confusion.fn / counts.n_pos)[::-1]
    # trapezoids between the corners
    area = float(np.sum(np.diff(specificity) * (miss_rate[1:] + miss_rate[:-1])) / 2)
    return Leakage(specificity, miss_rate, area)


@final
@dataclass(frozen=True, repr=False)
class Divergence(Answer):
    """Kullback-Leibler divergences of both classes, and where they overlap.

    Attributes
    ----------
    kl_pos_to_neg, kl_neg_to_pos : Estimate
        Kullback-Leibler divergence in nats of the positives' scores from the
        negatives', and the reverse; zero when the classifier is random.
    entropy, exp_entropy : float
        Differential entropy of the leakage density g, which is minus ``kl_pos_to_neg``
        (eq. (49)). exp(entropy), in [0, 1], is the proportion of the negatives' range
        that the positives occupy. Near 0 most thresholds separate the classes well.
    middle_half : (float, float)
        The middle half of the positives lies between these quantiles of the negatives.
    """

    kl_pos_to_neg: Estimate
    kl_neg_to_pos: Estimate
    entropy: float
    exp_entropy: float
    middle_half: tuple[float, float]
    method: str


@of_tally
def kl_divergence(
    data: Tally, *, method: str = "histogram", level: float = 0.95
) -> Divergence:
    r"""Kullback-Leibler divergence between positives and negatives, in nats.

    How different are the scores of both classes?

    .. math:: D(f_p \| f_n) = \int f_p \log\frac{f_p}{f_n}\,dx
              = \int_0^1 g(u) \log g(u)\,du

    Sameni (2025), eqs. (47)-(49). Only the order of the scores matters. The divergence
    is infinite if one threshold separates the classes; its interval then depends on the
    number of cases.

    Parameters
    ----------
    method
        ``"histogram"``: 2 n^(1/3) bins of equal weight (n cases in the smaller class),
        each with half a case added, minus the bias of this estimate. Differences within
        a bin are lost. ``"binormal"``: the closed form at the fitted curve.

    Examples
    --------
    >>> kl_divergence(Tally([1], pos=[40], neg=[60])).kl_pos_to_neg.value  # random
    0.0
    """
    _cases.both_classes(data, "kl_divergence")
    _options.choice(method, ("histogram", "binormal"), "method")
    level = _options.fraction(level, "level")
    labelled = data.labelled().without_design()
    if method == "histogram":
        estimates = _divergences_of_histogram(labelled, level)
    else:
        estimates = _divergences_of_binormal(labelled, level)

    first_quartile, third_quartile = leakage(labelled).inverse([0.25, 0.75])
    entropy = -estimates.kl_pos_to_neg.value
    return Divergence(
        kl_pos_to_neg=estimates.kl_pos_to_neg,
        kl_neg_to_pos=estimates.kl_neg_to_pos,
        entropy=entropy,
        exp_entropy=math.exp(entropy),
        middle_half=(float(first_quartile), float(third_quartile)),
        method=method,
    )


class _Divergences(NamedTuple):
    """The divergence in either direction."""

    kl_pos_to_neg: Estimate
    kl_neg_to_pos: Estimate


def _divergences_of_histogram(t: Tally, level: float) -> _Divergences:
    """Return the divergences of a histogram with bins of equal weight."""
    neg, pos = runs(t)
    # two runs, each of one class: all positives above all negatives, or below
    if neg.size == 2 and not (neg * pos).any():
        return _divergences_if_separated(t, level)

    # about 2 n^(1/3) bins of the effective number of cases of the smaller class
    n_bins = max(2, round(2 * min(t.equal_cases) ** (1 / 3)))
    binned = apply_design(coarsen(t, n_bins))
    kl_pos_to_neg = evaluate_measure(binned, _measure_pos_to_neg)
    kl_neg_to_pos = evaluate_measure(binned, _measure_neg_to_pos)
    varies = (
        kl_pos_to_neg.variance_estimate.variance > 0
        or kl_neg_to_pos.variance_estimate.variance > 0
    )
    if varies:
        return _Divergences(
            _estimate_from_measure(kl_pos_to_neg, level),
            _estimate_from_measure(kl_neg_to_pos, level),
        )

    # nothing varies: allow for a kind of positives that a sample of n cases may miss
    farthest = divergence(1 - _smallest_proportion(t.n_pos, level), 0.5 / (t.n_neg + 1))
    return _Divergences(
        _estimate_of_one_bin(kl_pos_to_neg.value, farthest, level),
        _estimate_of_one_bin(kl_neg_to_pos.value, farthest, level),
    )


def _divergences_if_separated(t: Tally, level: float) -> _Divergences:
    """Return infinite divergences, with a lower bound from the number of cases."""
    # at the cut between the classes: the smallest recall, and the largest fpr
    recall = _smallest_proportion(t.n_pos, level)
    fpr = max(0.0, 1 - _smallest_proportion(t.n_neg, level))
    proven_pos_to_neg = 0.0
    proven_neg_to_pos = 0.0
    if recall > fpr:
        proven_pos_to_neg = divergence(recall, fpr)
        proven_neg_to_pos = divergence(fpr, recall)

    return _Divergences(
        _infinite_estimate(proven_pos_to_neg, level),
        _infinite_estimate(proven_neg_to_pos, level),
    )


_INFINITE = (
    "One threshold separates the classes perfectly, so the estimated divergence is "
    "infinite; the lower end of the interval shows what this sample size supports.",
)


def _infinite_estimate(low: float, level: float) -> Estimate:
    """Return an infinite divergence whose interval begins at ``low``."""
    return estimate_from_interval(
        math.inf, max(0.0, low), math.inf, level, "separated", notes=_INFINITE
    )


def _estimate_from_measure(measured: EvaluatedMeasure, level: float) -> Estimate:
    """Return a divergence with Student's interval."""
    variance_estimate = measured.variance_estimate
    standard_error = variance_estimate.standard_error
    quantile = student_quantile(variance_estimate.degrees_of_freedom, level)
    half_width = standard_error * quantile
    # without its sampling excess a divergence may come out below zero
    value = max(0.0, measured.value)
    low = max(0.0, measured.value - half_width)
    # around the reported value, so that the interval always contains it
    high = value + half_width
    return estimate_from_interval(value, low, high, level, "histogram", standard_error)


def _estimate_of_one_bin(value: float, farthest: float, level: float) -> Estimate:
    """Return the divergence of scores that all fall into one bin."""
    not_negative = max(0.0, value)
    return estimate_from_interval(
        not_negative,
        not_negative,
        max(0.0, value, farthest),
        level,
        "held-out cases for histogram",
    )


def _smallest_proportion(n: int, level: float) -> float:
    """Return the smallest likely proportion where all of n cases belong to it."""
    return float(((1 - level) / 2) ** (1 / n))


def _measure_pos_to_neg(t: Tally) -> MeasuredValue:
    """Return the divergence of the positives from the negatives."""
    n_neg, n_pos = t.equal_cases
    measured = _measure_divergence(t.pos, t.neg, n_pos, n_neg)
    influence = Influence(by_negative=measured.by_to, by_positive=measured.by_from)
    return MeasuredValue(measured.value, influence, (0.0, math.inf), within_class=True)


def _measure_neg_to_pos(t: Tally) -> MeasuredValue:
    """Return the divergence of the negatives from the positives."""
    n_neg, n_pos = t.equal_cases
    measured = _measure_divergence(t.neg, t.pos, n_neg, n_pos)
    influence = Influence(by_negative=measured.by_from, by_positive=measured.by_to)
    return MeasuredValue(measured.value, influence, (0.0, math.inf), within_class=True)


class _MeasuredDivergence(NamedTuple):
    """A divergence, and its slopes by the cases of either class in each bin."""

    value: float
    by_from: Floats
    by_to: Floats


def _measure_divergence(
    from_counts: Array, to_counts: Array, n_from: float, n_to: float
) -> _MeasuredDivergence:
    r"""Return a divergence, less its sampling excess, and its influence values.

    With proportions a of the one class and b of the other in each bin,
    :math:`D = \sum a \ln(a/b)` has the slopes :math:`(\ln(a/b) - D)/N_a` and
    :math:`(1 - a/b)/N_b`.
    """
    a = _smoothed_proportions(from_counts, n_from)
    b = _smoothed_proportions(to_counts, n_to)
    log_ratio = np.log(a / b)
    value = float(a @ log_ratio)
    # samples of n cases of one distribution differ by (k - 1)/2n each, as in a G-test
    excess = (from_counts.size - 1) / 2 * (1 / n_from + 1 / n_to)

    by_from = (log_ratio - value) / float(from_counts.sum())
    by_to = (1 - a / b) / float(to_counts.sum())
    return _MeasuredDivergence(value - excess, by_from, by_to)


def _smoothed_proportions(counts: Array, n: float) -> Floats:
    """Return proportions by bin, with half a case added to each bin."""
    # n is the effective number of cases, also for weighted ones
    proportions = counts / float(counts.sum())
    return np.asarray((proportions * n + 0.5) / (n + counts.size / 2))


def _divergences_of_binormal(t: Tally, level: float) -> _Divergences:
    """Return the divergences of a binormal fit, with errors by the delta method."""
    fit = fit_binormal(t, level=level)
    alpha = fit.curve.alpha
    b = fit.curve.b
    cross = fit.correlation * fit.alpha.se * fit.b.se
    covariance = np.array([[fit.alpha.se**2, cross], [cross, fit.b.se**2]])
    quantile = student_quantile(math.inf, level)

    # derivatives of eq. (49) by alpha and b, in either direction
    gradient_pos_to_neg = np.array([1 / alpha - (1 + b * b) / alpha**3, b / alpha**2])
    gradient_neg_to_pos = np.array([alpha - 1 / alpha, b])

    def estimate(value: float, gradient: Floats) -> Estimate:
        """Return a divergence with its interval, by the delta method."""
        standard_error = math.sqrt(gradient @ covariance @ gradient)
        half_width = quantile * standard_error
        return estimate_from_interval(
            max(0.0, value),
            max(0.0, value - half_width),
            max(0.0, value + half_width),
            level,
            "binormal",
            standard_error,
        )

    return _Divergences(
        estimate(fit.curve.kl_pos_to_neg, gradient_pos_to_neg),
        estimate(fit.curve.kl_neg_to_pos, gradient_neg_to_pos),
    )
