r"""How far is the proportion of positives from the score, bin by bin?

The mean squared residual follows a noncentral chi-square whose scale comes from the
design (Patnaik 1949; Satterthwaite 1946; Sun et al. 2024, arXiv:2408.08998):
``docs/maths/calibration.md``, "Residuals of bins". Its letters:

=============  ==================================================================
:math:`m_k`    mean residual of bin k, with its proportion :math:`w_k` of the cases
:math:`\Sigma` covariance of the mean residuals
:math:`S`      mean squared residual, of which noise alone makes :math:`A`
:math:`v_0`    variance of S where the scores are calibrated
:math:`c_m`    variance of the residuals along the true ones
:math:`\kappa` what the drawing of the scores adds to the variance of S
=============  ==================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.records import Estimate
from trueness._core.solvers import rises_above_zero
from trueness.calibration.forecasts import Forecasts
from trueness.counts.clusters import Clusters
from trueness.inference.estimates import estimate_from_interval
from trueness.inference.intervals import student_quantile, wilson_interval
from trueness.inference.variance import VarianceEstimate

# above this noncentrality SciPy's series fails
_MAX_NONCENTRALITY = 1e8
# E|X| of a standard normal X
HALF_NORMAL_MEAN = math.sqrt(2 / math.pi)


class SquareMoments(NamedTuple):
    """What determines the distribution of the mean squared residual."""

    noise_mean: float  # A
    noise_variance: float  # v_0
    variance_along: float  # c_m
    drawing: float  # kappa


class TestResult(NamedTuple):
    """A statistic with its p-value."""

    statistic: float
    p_value: float


@dataclass(frozen=True)
class BinnedResiduals:
    """Mean residuals of bins, and how they vary.

    Attributes
    ----------
    mean, weight : array (k,)
        Mean residual, and proportion of the cases, of each bin.
    covariance : array (k, k)
        Covariance of the mean residuals by the sampling design.
    noise_variance : array (k,)
        Variance of the proportion of positives that is taken off squared residuals:
        the unbiased one of independent cases, else that of the design.
    error_variance : VarianceEstimate
        Variance of the mean absolute residual, with the signs that were observed.
    units : float
        How many cases, or clusters, there are in all.
    drawing : float
        What the drawing of the scores adds to the variance of the square (kappa).
    """

    mean: Floats
    weight: Floats
    covariance: Floats
    noise_variance: Floats
    error_variance: VarianceEstimate
    units: float
    drawing: float = 0.0

    @property
    def mean_square(self) -> float:
        """Return the mean squared residual S, which noise enlarges."""
        return float(self.weight @ self.mean**2)

    @property
    def debiased_squares(self) -> Floats:
        """Return the squared residual of each bin less its variance, or 0."""
        return np.maximum(self.mean**2 - np.diag(self.covariance), 0.0)

    @property
    def debiased_means(self) -> Floats:
        """Return the residual of each bin, the root of its debiased square."""
        return np.sign(self.mean) * np.sqrt(self.debiased_squares)

    @property
    def varies(self) -> bool:
        """Return whether any residual has a variance."""
        return bool(self.covariance.any())

    def moments(self) -> SquareMoments:
        """Return the moments of the mean squared residual."""
        weighted_covariance = self.weight[:, None] * self.covariance
        # A = sum of w_k var(m_k)
        noise_mean = float(self.weight @ np.diag(self.covariance))
        # v_0 = 2 tr((W Sigma)^2), the variance of a quadratic form of normal variables
        noise_variance = 2 * float((weighted_covariance * weighted_covariance.T).sum())

        true_mean = self.debiased_means
        true_square = float(self.weight @ true_mean**2)
        # without a true residual its direction is unknown: that of noise
        variance_along = noise_variance / (2 * noise_mean)
        if true_square > 0:
            direction = self.weight * true_mean
            variance_along = float(direction @ self.covariance @ direction)
            variance_along /= true_square

        return SquareMoments(noise_mean, noise_variance, variance_along, self.drawing)

    def test(self) -> TestResult:
        """Return S with the p-value of the hypothesis that scores are calibrated."""
        if not self.varies:
            return TestResult(self.mean_square, math.nan)
        below = _probability_below(self.mean_square, 0.0, self.moments())
        return TestResult(self.mean_square, 1 - below)

    def square_interval(self, level: float) -> tuple[float, float]:
        """Return the confidence interval of the true mean squared residual."""
        observed = self.mean_square
        if not self.varies:  # Wilson's interval allows for unseen cases
            quantile = NormalDist().inv_cdf((1 + level) / 2)
            return wilson_interval(min(observed, 1.0), self.units, quantile)

        moments = self.moments()
        # an upper end of the search that no root exceeds
        widest = max(
            moments.noise_variance / (2 * moments.noise_mean), moments.variance_along
        )
        largest = 4 * observed + 50 * (moments.noise_mean + 50 * widest)

        def end(square: float, tail: float) -> float:
            """Return the true square for which the observed one is at this quantile."""
            if _probability_below(square, 0.0, moments) <= tail:
                return 0.0

            true_square = rises_above_zero(
                lambda true: tail - _probability_below(square, true, moments),
                0.0,
                largest,
            )
            return min(float(true_square), 1.0)

        low = end(observed, (1 + level) / 2)
        # power-constrained (Cowan et al. 2011): the square counts as no less than the
        # mean of noise
        high = end(max(observed, moments.noise_mean), (1 - level) / 2)
        return low, high

    @property
    def mean_error_plain(self) -> float:
        """Return the mean absolute residual (ECE), which noise enlarges."""
        return float(self.weight @ np.abs(self.mean))

    @property
    def mean_deviation(self) -> float:
        """Return the mean standard deviation of the residuals of bins."""
        return float(self.weight @ np.sqrt(np.diag(self.covariance)))

    def mean_error(self, level: float) -> Estimate:
        r"""Return the mean absolute residual, less what noise adds (Kumar et al. 2019).

        With the true error e and the mean standard deviation s of the bins, the plain
        error T has an expectation of at least :math:`E|N(e, s)|` (by convexity). So the
        upper end solves :math:`E|N(e, s)| = T + t_{1-\alpha/2}\,\mathrm{se}`. From the
        lower end what noise adds is subtracted as well; it is 0 where all squares of
        residuals may be noise.
        """
        plain = self.mean_error_plain
        size = np.abs(self.mean)
        bias = self.weight @ (folded_mean(self.mean, self.noise_variance) - size)
        value = max(plain - float(bias), 0.0)

        standard_error = self.error_variance.standard_error
        if not self.varies:  # Wilson's interval allows for unseen cases
            quantile = NormalDist().inv_cdf((1 + level) / 2)
            low, high = wilson_interval(min(plain, 1.0), self.units, quantile)
        elif not math.isfinite(standard_error):
            # a single case, or cluster, shows no variance
            low, high = 0.0, 1.0
        else:
            degrees_of_freedom = self.error_variance.degrees_of_freedom
            half_width = student_quantile(degrees_of_freedom, level) * standard_error
            low = 0.0
            if self.square_interval(level)[0] > 0:
                low = max(plain - self._noise_in_error() - half_width, 0.0)
            high = self._largest_error(plain, half_width)

        return estimate_from_interval(
            value, low, high, level, "folded normal", standard_error
        )

    def _noise_in_error(self) -> float:
        """Return what noise adds to the plain error of the debiased residuals.

        From the observed residuals, which noise enlarges, it would be too small.
        """
        expected = folded_mean(self.debiased_means, np.diag(self.covariance))
        return float(self.weight @ (expected - np.abs(self.debiased_means)))

    def bound_without_error(self, level: float, power_quantile: float) -> float:
        """Return the upper end that calibrated scores exceed with a known probability.

        ``power_quantile`` is that of the plain error, in standard errors.
        """
        standard_error = self.error_variance.standard_error
        if not (self.varies and math.isfinite(standard_error)):
            return math.nan
        quantile = student_quantile(self.error_variance.degrees_of_freedom, level)
        return self._largest_error(0.0, (quantile + power_quantile) * standard_error)

    def _largest_error(self, plain: float, half_width: float) -> float:
        """Return the true error whose expected plain error is the upper end of T."""
        deviation = self.mean_deviation
        # power-constrained (Cowan et al. 2011): the error counts as no less than the
        # mean of noise
        by_noise = HALF_NORMAL_MEAN * deviation
        largest_plain = max(plain, by_noise) + half_width
        variance = np.array([deviation**2])

        def excess(error: float) -> float:
            expected_plain = folded_mean(np.array([error]), variance)
            return float(expected_plain[0]) - largest_plain

        # E|X| is at least |E X|
        return min(rises_above_zero(excess, 0.0, largest_plain), 1.0)

    def chi_square_test(self, null_variance: Floats, parameters: int) -> TestResult:
        r"""Return Pearson's test of no residual, corrected by Rao and Scott (1981).

        ``null_variance`` is that of equal, independent and calibrated cases, N; with
        :math:`M = N^{-1/2} \Sigma N^{-1/2}` the statistic times
        :math:`\mathrm{tr} M / \mathrm{tr} M^2` has about
        :math:`(\mathrm{tr} M)^2 / \mathrm{tr} M^2` degrees of freedom.
        """
        from scipy.special import chdtrc

        # bins whose scores are 0 or 1 have no variance, and their labels agreed
        informative = null_variance > 0
        # the part of the bins that estimated parameters leave
        proportion_free = 1 - parameters / max(int(informative.sum()), 1)
        if not proportion_free > 0:
            return TestResult(math.nan, math.nan)

        root = np.sqrt(null_variance[informative])
        covariance = self.covariance[np.ix_(informative, informative)]
        design_effects = covariance / np.outer(root, root)
        trace = float(np.trace(design_effects))
        trace_of_square = float((design_effects * design_effects).sum())

        pearson = float(((self.mean[informative] / root) ** 2).sum())
        statistic = pearson * trace / trace_of_square
        degrees_of_freedom = trace**2 / trace_of_square * proportion_free
        return TestResult(statistic, float(chdtrc(degrees_of_freedom, statistic)))


def folded_mean(mean: Floats, variance: Floats) -> Floats:
    r"""Return the mean of the absolute value of a normal variable (folded normal).

    .. math:: E|X| = \sigma \sqrt{2 / \pi}\, e^{-\mu^2 / (2 \sigma^2)}
              + \mu (1 - 2 \Phi(-\mu / \sigma))
    """
    from scipy.special import ndtr

    standard_deviation = np.sqrt(variance)
    # without variance mu / sigma is infinite, and E|X| = |mu|
    standardised = np.copysign(np.inf, mean)
    np.divide(mean, standard_deviation, out=standardised, where=standard_deviation > 0)

    density_part = HALF_NORMAL_MEAN * standard_deviation
    density_part = density_part * np.exp(-standardised * standardised / 2)
    return np.asarray(density_part + mean * (1 - 2 * ndtr(-standardised)))


def _probability_below(observed: float, true: float, moments: SquareMoments) -> float:
    """Return the probability of a square up to the observed one, given the true."""
    from scipy.special import chndtr, ndtr

    # v_0 + 4 c_m theta + kappa theta^2, at the true square theta
    variance = moments.noise_variance
    variance += (4 * moments.variance_along + moments.drawing * true) * true
    # Patnaik (1949): scale times a noncentral chi-square has this mean and variance
    scale = variance / (2 * moments.noise_mean + 4 * true)
    statistic = observed / scale
    degrees_of_freedom = moments.noise_mean / scale
    noncentrality = true / scale

    if noncentrality > _MAX_NONCENTRALITY:  # the distribution is normal by then
        standard_deviation = math.sqrt(2 * (degrees_of_freedom + 2 * noncentrality))
        mean = degrees_of_freedom + noncentrality
        return float(ndtr((statistic - mean) / standard_deviation))
    return float(chndtr(statistic, degrees_of_freedom, noncentrality))


def residuals_from_scores(forecasts: Forecasts, start: Array) -> BinnedResiduals:
    """Return how far the proportion of positives is from the score, by bin."""
    return _residuals(forecasts, start, forecasts.score, prevalence_estimated=False)


def residuals_from_prevalence(forecasts: Forecasts, start: Array) -> BinnedResiduals:
    """Return how far the proportion of positives is from the prevalence, by bin."""
    stated = np.full(forecasts.score.size, forecasts.prevalence)
    return _residuals(forecasts, start, stated, prevalence_estimated=True)


def _residuals(
    forecasts: Forecasts, start: Array, stated: Floats, *, prevalence_estimated: bool
) -> BinnedResiduals:
    """Return mean residuals from the stated probabilities, with their covariance."""
    bin_of_row = np.repeat(np.arange(start.size), np.diff(start, append=stated.size))
    total = np.add.reduceat(forecasts.cases, start)
    positives = np.add.reduceat(forecasts.pos, start)
    # (bins,): the mean over the cases of each bin
    mean = np.add.reduceat(forecasts.pos - forecasts.cases * stated, start) / total
    weight = total / total.sum()

    # how far the residual of a negative, and of a positive, is from the mean of its bin
    deviations = (0 - stated - mean[bin_of_row], 1 - stated - mean[bin_of_row])
    covariance, units = _covariance_of_bins(
        forecasts,
        (deviations[0] / total[bin_of_row], deviations[1] / total[bin_of_row]),
        bin_of_row,
        start.size,
        prevalence_estimated=prevalence_estimated,
    )

    # a bin whose labels all agree shows too little variance: it gets at least that of
    # calibrated cases
    label_variance = forecasts.cases * stated * (1 - stated)
    calibrated_variance = np.add.reduceat(label_variance, start) / total**2
    pure = np.flatnonzero((positives <= 0) | (positives >= total))
    added_variance = np.maximum(calibrated_variance[pure] - covariance[pure, pure], 0.0)
    covariance[pure, pure] += added_variance

    error_variance = _variance_of_error(forecasts, mean, weight, bin_of_row, deviations)
    variance_of_pure_bins = float(weight[pure] ** 2 @ added_variance)
    residuals = BinnedResiduals(
        mean=mean,
        weight=weight,
        covariance=covariance,
        noise_variance=_noise_variance(forecasts, positives, total, covariance),
        error_variance=replace(
            error_variance, variance=error_variance.variance + variance_of_pure_bins
        ),
        units=units,
    )
    drawing = _variance_by_drawing(forecasts, residuals, bin_of_row, deviations)
    return replace(residuals, drawing=drawing)


def _noise_variance(
    forecasts: Forecasts, positives: Array, total: Array, covariance: Floats
) -> Floats:
    """Return the variance of the mean residual of each bin, to take noise off."""
    if not forecasts.is_simple_sample:
        return np.diag(covariance).copy()

    proportion = positives / total
    # unbiased, and 0 for a bin of one case, whose proportion shows no variance
    return np.asarray(proportion * (1 - proportion) / np.maximum(total - 1, 1))


def _variance_of_error(
    forecasts: Forecasts,
    mean: Floats,
    weight: Floats,
    bin_of_row: Array,
    deviations: tuple[Floats, Floats],
) -> VarianceEstimate:
    r"""Return the variance of the mean absolute residual T by the sampling design.

    The influence of a case is :math:`[\pm(u - m_k) + |m_k| - T] / n`, with the sign of
    the residual of its bin. An absolute value varies less than the residual itself.
    """
    deviation_of_negative, deviation_of_positive = deviations
    sign = np.where(mean < 0, -1.0, 1.0)[bin_of_row]
    # |m_k| - T
    excess = (np.abs(mean) - weight @ np.abs(mean))[bin_of_row]
    return forecasts.variance_of_sum(
        (sign * deviation_of_negative + excess) / forecasts.n,
        (sign * deviation_of_positive + excess) / forecasts.n,
    )


def _variance_by_drawing(
    forecasts: Forecasts,
    residuals: BinnedResiduals,
    bin_of_row: Array,
    deviations: tuple[Floats, Floats],
) -> float:
    r"""Return kappa, the part of the variance of S that is due to the sample of scores.

    The influence of a case on S is :math:`[2 \mu_k (u - m_k) + \mu_k^2 - \theta] / n`
    (Sun et al. 2024); without that part its variance is :math:`4 c_m \theta`.
    """
    true_square = float(residuals.weight @ residuals.debiased_squares)
    if not true_square > 0 or not residuals.varies:
        return 0.0

    deviation_of_negative, deviation_of_positive = deviations
    slope = 2 * residuals.debiased_means[bin_of_row]
    # mu_k^2 - theta
    excess = (residuals.debiased_squares - true_square)[bin_of_row]
    variance = forecasts.variance_of_sum(
        (slope * deviation_of_negative + excess) / forecasts.n,
        (slope * deviation_of_positive + excess) / forecasts.n,
    ).variance
    # kappa theta^2: what the error of the labels leaves
    drawing = variance - 4 * residuals.moments().variance_along * true_square
    return drawing / true_square**2 if drawing > 0 else 0.0


class _ClassContribution(NamedTuple):
    """The effect of a case of one class on the mean residuals of bins."""

    to_own_bin: Floats  # (m,), added to the mean of its own bin
    from_every_bin: Floats  # (bins,), subtracted from the mean of every bin


def _covariance_of_bins(
    forecasts: Forecasts,
    contributions: tuple[Floats, Floats],
    bin_of_row: Array,
    bins: int,
    *,
    prevalence_estimated: bool,
) -> tuple[Floats, float]:
    """Return the covariance of the mean residuals, and the number of sampled units.

    A negative and a positive case add ``contributions`` to the mean of their own bin.
    """
    by_class = [
        _class_contribution(
            forecasts,
            label,
            contribution,
            bin_of_row,
            bins,
            prevalence_estimated=prevalence_estimated,
        )
        for label, contribution in enumerate(contributions)
    ]
    negatives, positives = by_class
    clusters = forecasts.sample.observed.grouped
    if clusters is None:
        covariance, units_in_bin = _covariance_of_cases(
            forecasts, negatives, positives, bin_of_row, bins
        )
        units = forecasts.n
    else:
        covariance, units_in_bin = _covariance_of_clusters(
            clusters, negatives, positives, bin_of_row, bins
        )
        units = float(clusters.number)

    # the correction n / (n - 1), from the units in each bin
    correction = np.sqrt(units_in_bin / np.maximum(units_in_bin - 1, 1))
    return covariance * np.outer(correction, correction), units


def _class_contribution(
    forecasts: Forecasts,
    label: int,
    contribution: Floats,
    bin_of_row: Array,
    bins: int,
    *,
    prevalence_estimated: bool,
) -> _ClassContribution:
    """Return the effect of a case of a class on the mean residuals of all bins.

    Where the sizes of both classes are fixed, the mean of the class is subtracted;
    where the prevalence is estimated, the effect of the case on the prevalence.
    """
    sample = forecasts.sample
    count = (sample.observed.neg, sample.observed.pos)[label]
    unit = sample.class_weights[label] * forecasts.scale
    to_own_bin = contribution * unit
    from_every_bin = np.zeros(bins)

    if sample.class_sizes_fixed:
        # the mean contribution of a case of the class, to each bin
        class_sum = np.bincount(bin_of_row, count[::-1] * to_own_bin, bins)
        from_every_bin = class_sum / max(float(count.sum()), 1e-300)
    elif prevalence_estimated:
        from_every_bin += (label - forecasts.prevalence) / forecasts.n * unit

    return _ClassContribution(to_own_bin, from_every_bin)


def _covariance_of_cases(
    forecasts: Forecasts,
    negatives: _ClassContribution,
    positives: _ClassContribution,
    bin_of_row: Array,
    bins: int,
) -> tuple[Floats, Floats]:
    """Return the covariance for independent cases, and effective numbers by bin."""
    observed = forecasts.sample.observed
    squares_of_neg = observed.squares[0][::-1]
    squares_of_pos = observed.squares[1][::-1]
    covariance = np.zeros((bins, bins))

    for by_class, squares in ((negatives, squares_of_neg), (positives, squares_of_pos)):
        own_bin = by_class.to_own_bin
        shift = by_class.from_every_bin
        # the sum over cases of (own - shift)(own - shift)': own is 0 but in one bin
        cross = np.outer(np.bincount(bin_of_row, squares * own_bin, bins), shift)
        within = np.diag(np.bincount(bin_of_row, squares * own_bin * own_bin, bins))
        covariance += within - cross - cross.T
        covariance += float(squares.sum()) * np.outer(shift, shift)

    weight = np.bincount(bin_of_row, (observed.neg + observed.pos)[::-1], bins)
    squares = np.bincount(bin_of_row, squares_of_neg + squares_of_pos, bins)
    return covariance, weight**2 / squares


def _covariance_of_clusters(
    clusters: Clusters,
    negatives: _ClassContribution,
    positives: _ClassContribution,
    bin_of_row: Array,
    bins: int,
) -> tuple[Floats, Floats]:
    """Return the covariance for independent clusters, and their number by bin."""
    # clusters number rows from the highest score, bins from the lowest
    row = bin_of_row.size - 1 - clusters.row
    # the number of a pair of cluster and bin
    cell = clusters.code * bins + bin_of_row[row]
    sums = np.zeros((clusters.number, bins))

    for by_class, count in zip((negatives, positives), clusters.counts, strict=False):
        added = np.bincount(cell, count * by_class.to_own_bin[row], sums.size)
        sums += added.reshape(sums.shape)
        sums -= np.outer(clusters.per_cluster(count), by_class.from_every_bin)

    clusters_in_bin = np.bincount(np.unique(cell) % bins, minlength=bins) / 1.0
    return sums.T @ sums, clusters_in_bin
