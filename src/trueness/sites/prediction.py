r"""Prediction interval: where will the value of the next site lie?

The interval of Nagashima, Noma and Furukawa (2019) lets the variance :math:`\tau^2`
between sites vary as its confidence distribution says. Cochran's Q is a weighted sum of
chi-squared variables whose weights depend on :math:`\tau^2` (Biggerstaff and Jackson
2008), so that

.. math:: H(\tau^2) = P(Q \ge q_{obs} \mid \tau^2)

is a distribution of :math:`\tau^2`. At each, the next site has the value

.. math:: \theta_{new} = \hat\mu(\tau^2) + z\,\tau - t_{k-1}\,\mathrm{SE}_{HK}(\tau^2)

Differs from their Algorithm 1: the quantiles of this distribution are integrated
numerically instead of drawn, so that the same data have the same interval.

References
----------
Nagashima, Noma, Furukawa (2019), doi:10.1177/0962280218773520; Biggerstaff, Jackson
(2008), doi:10.1002/sim.3425; Davies (1980), doi:10.2307/2346911; Trefethen, Weideman,
Schmelzer (2006), doi:10.1007/s10543-006-0077-9; Higgins, Thompson, Spiegelhalter
(2009), doi:10.1111/j.1467-985X.2008.00552.x; Partlett, Riley (2017),
doi:10.1002/sim.7140 (Student's quantile after REML)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.progress import stop_if_requested
from trueness.inference.intervals import Interval, student_quantile
from trueness.sites.random_effects import (
    RandomEffects,
    dersimonian_laird_variance,
    fit_at,
)

# nodes over the confidence distribution, and over the chi-squared of Student's t
_VARIANCE_NODES = 200
_CHI_NODES = 40
# points at which the confidence distribution is computed, and its upper end
_GRID_POINTS = 70
_UPPER_TAIL = 1e-5
# where one site has nearly all the weight, rounding hides the end of the tail
_LARGEST_GROWTH = 1e6


def nagashima_interval(
    model: RandomEffects, level: float, sampling_variance: float = 0.0
) -> Interval:
    """Return the prediction interval of Nagashima, Noma and Furukawa (2019).

    With a ``sampling_variance``, it is the interval for an estimate at the new site,
    and not for the true value there.
    """
    from scipy.optimize import brentq

    predictive = _predictive_distribution(model, sampling_variance)
    tail = (1 - level) / 2
    # mean and standard deviation of the predictive distribution, to start from
    centre = float(predictive.weights @ predictive.means)
    width = float(np.sqrt(predictive.weights @ predictive.variances)) + 1e-300

    def end(probability: float, direction: int) -> float:
        """Return the quantile at a probability, searched in a direction."""
        # bracket the quantile between two places
        outer = centre + direction * width
        while (predictive.probability_below(outer) - probability) * direction < 0:
            outer += 2 * direction * abs(outer - centre)

        inner = centre
        while (predictive.probability_below(inner) - probability) * direction > 0:
            inner -= direction * width

        return float(
            brentq(
                lambda value: predictive.probability_below(value) - probability,
                min(inner, outer),
                max(inner, outer),
                xtol=1e-12 * width,
            )
        )

    return end(tail, -1), end(1 - tail, 1)


def student_interval(
    model: RandomEffects, level: float, sampling_variance: float = 0.0
) -> Interval:
    """Return Student's prediction interval with Hartung and Knapp's variance.

    The interval of Partlett and Riley (2017) with k - 1 degrees of freedom, which
    metafor 3.8.1 computes by ``predict(rma(yi, vi, test="knha"))``.
    """
    variance = model.between_variance + model.standard_error**2 + sampling_variance
    quantile = student_quantile(model.degrees_of_freedom, level)
    half_width = quantile * math.sqrt(variance)
    return model.mean - half_width, model.mean + half_width


def higgins_interval(
    model: RandomEffects, level: float, sampling_variance: float = 0.0
) -> Interval:
    """Return the prediction interval of Higgins, Thompson and Spiegelhalter (2009).

    With the moment estimate of the variance between sites, and k - 2 degrees of
    freedom: their eq. (12).
    """
    between_variance = dersimonian_laird_variance(model.values, model.variances)
    fit = fit_at(model.values, model.variances, model.design, between_variance)
    mean = float(fit.coefficients[0])
    mean_variance = float(fit.covariance[0, 0])

    # k - 2: one for the mean, one for the variance between sites
    quantile = student_quantile(model.degrees_of_freedom - 1, level)
    variance = between_variance + mean_variance + sampling_variance
    half_width = quantile * math.sqrt(variance)

    return mean - half_width, mean + half_width


# prediction intervals by the names of their methods
PREDICTION_INTERVALS: dict[str, Callable[[RandomEffects, float, float], Interval]] = {
    "nagashima": nagashima_interval,
    "knapp-hartung": student_interval,
    "higgins": higgins_interval,
}


@dataclass(frozen=True)
class _NormalMixture:
    """A mixture of normal distributions."""

    means: Floats
    variances: Floats
    weights: Floats

    def probability_below(self, value: float) -> float:
        """Return the distribution function of the mixture at a value."""
        from scipy.special import ndtr

        # standardised for each component
        distances = (value - self.means) / np.sqrt(self.variances)
        return float(self.weights @ ndtr(distances))


def _predictive_distribution(
    model: RandomEffects, sampling_variance: float
) -> _NormalMixture:
    """Return the distribution of the value of a new site."""
    between_variances, weights = _confidence_distribution(model)
    fits = [
        fit_at(model.values, model.variances, model.design, between_variance)
        for between_variance in between_variances
    ]
    degrees_of_freedom = model.degrees_of_freedom
    means = np.array([float(fit.coefficients[0]) for fit in fits])
    # Hartung's variance of the mean at each variance between sites
    mean_variances = np.array(
        [
            float(fit.covariance[0, 0]) * fit.residual_squares / degrees_of_freedom
            for fit in fits
        ]
    )

    # Student's t is normal with a variance of nu / chi^2
    chi_squared, chi_weights = _chi_squared_nodes(degrees_of_freedom)
    inflation = degrees_of_freedom / chi_squared
    variances = (
        between_variances[:, None]
        + sampling_variance
        + mean_variances[:, None] * inflation
    )
    # equal sites would have a variance of zero, and no normal distribution has that
    variances = np.maximum(variances, 1e-16 * float(model.variances.min()))

    return _NormalMixture(
        means=np.repeat(means, chi_squared.size),
        variances=variances.ravel(),
        weights=np.outer(weights, chi_weights).ravel(),
    )


def _chi_squared_nodes(degrees_of_freedom: float) -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss and Laguerre for a chi-squared variable."""
    from scipy.special import roots_genlaguerre

    half_values, weights = roots_genlaguerre(_CHI_NODES, degrees_of_freedom / 2 - 1)
    return 2 * half_values, weights / weights.sum()


def _confidence_distribution(model: RandomEffects) -> tuple[Floats, Floats]:
    """Return nodes and weights of the confidence distribution H between sites.

    The nodes are variances. Zero has the weight H(0); above it H is inverted at nodes
    of Gauss and Legendre.
    """
    grid, probabilities = _distribution_on_grid(model)
    weight_of_zero = float(probabilities[0])

    nodes, node_weights = np.polynomial.legendre.leggauss(_VARIANCE_NODES)
    # from [-1, 1] to the levels above H(0)
    levels = weight_of_zero + (1 - weight_of_zero) * (nodes + 1) / 2
    between_variances = _interpolate_variances(levels, grid, probabilities)

    weights = node_weights / 2 * (1 - weight_of_zero)
    return (
        np.concatenate([[0.0], between_variances]),
        np.concatenate([[weight_of_zero], weights]),
    )


def _interpolate_variances(
    levels: Floats, grid: Floats, probabilities: Floats
) -> Floats:
    """Return the variances between sites at which H has the given levels."""
    from scipy.interpolate import PchipInterpolator
    from scipy.special import ndtri

    rising = np.concatenate([[True], np.diff(probabilities) > 1e-12])
    usable = rising & (probabilities > 1e-12) & (probabilities < 1 - 1e-9)
    if usable.sum() < 2:
        return np.zeros(levels.size)

    # square root against normal score: nearly a line, so that interpolation is exact
    scores = ndtri(probabilities[usable])
    deviation = PchipInterpolator(scores, np.sqrt(grid[usable]), extrapolate=True)
    inside = np.clip(ndtri(levels), scores[0], None)

    return np.asarray(np.maximum(deviation(inside), 0.0) ** 2)


def _distribution_on_grid(model: RandomEffects) -> tuple[Floats, Floats]:
    """Return a grid of variances between sites, and H at each of them."""
    quadratic_form = _CochranForm.of(model.variances)
    observed = model.cochran_q

    upper = float(model.values.var(ddof=1) + model.variances.mean())
    largest = _LARGEST_GROWTH * upper
    while upper < largest:
        if 1 - quadratic_form.probability_above(observed, upper) < _UPPER_TAIL:
            break
        upper *= 2

    # equal steps of the standard deviation up to an eighth, then equal factors
    inner = np.linspace(0.0, math.sqrt(upper) / 8, _GRID_POINTS // 2)
    outer = np.geomspace(math.sqrt(upper) / 8, math.sqrt(upper), _GRID_POINTS // 2)
    grid = np.concatenate([inner, outer[1:]]) ** 2
    probabilities = [
        quadratic_form.probability_above(observed, between_variance)
        for between_variance in grid
    ]

    return grid, np.maximum.accumulate(probabilities)


@dataclass(frozen=True)
class _CochranForm:
    """Cochran's Q as a quadratic form of the values of sites."""

    variances: Floats
    matrix: Floats  # Q = y'A y, with A = W - W 1 1'W / sum(w)

    @classmethod
    def of(cls, variances: Floats) -> _CochranForm:
        """Return the form of Q with inverse variances as weights."""
        weights = 1 / variances
        matrix = np.diag(weights) - np.outer(weights, weights) / weights.sum()
        return cls(variances, matrix)

    def probability_above(self, observed: float, between_variance: float) -> float:
        """Return P(Q >= observed) at a variance between sites."""
        stop_if_requested()
        # Biggerstaff and Jackson (2008): eigenvalues of S^1/2 A S^1/2
        deviations = np.sqrt(self.variances + between_variance)
        scaled = self.matrix * np.outer(deviations, deviations)
        # the smallest eigenvalue is zero: the direction of the mean
        eigenvalues = np.linalg.eigvalsh(scaled)[1:]
        return probability_above_weighted_sum(observed, eigenvalues)


# with up to so many variables the contour is exact; with more, the sum has few terms
_FEW_VARIABLES = 20


def probability_above_weighted_sum(value: float, coefficients: Floats) -> float:
    """Return the probability that a weighted sum of chi-squared variables is larger.

    Each variable has one degree of freedom and a positive coefficient. Few variables
    with very different coefficients need a contour integral. With many variables the
    terms of a sum fall fast.
    """
    if not value > 0:
        return 1.0

    # in units of the mean coefficient, so that both methods have one scale
    scale = float(coefficients.mean())
    weights = np.maximum(coefficients, 0.0) / scale
    if weights.size <= _FEW_VARIABLES:
        probability = _probability_by_contour(value / scale, weights)
    else:
        probability = _probability_by_sum(value / scale, weights)

    return min(max(probability, 0.0), 1.0)


# nodes of the contour; its error falls as 3.89 to the power of minus their number
_CONTOUR_NODES = 32


def _probability_by_contour(bound: float, weights: Floats) -> float:
    r"""Return P(Q > x) by inversion of a Laplace transform.

    The distribution function of the sum has the transform

    .. math:: \hat F(s) = \frac1s \prod_i (1 + 2 w_i s)^{-1/2}

    whose singularities lie on the negative axis and at zero. It is inverted on the
    contour of Talbot, as modified by Trefethen, Weideman and Schmelzer (2006), sec. 3.
    """
    nodes = _CONTOUR_NODES
    step = 2 * math.pi / nodes
    angles = -math.pi + (np.arange(nodes) + 0.5) * step

    # z = N (a phi cot(b phi) - c + d i phi), and its slope by phi
    cotangent = 1 / np.tan(0.6407 * angles)
    contour = nodes * (0.5017 * angles * cotangent - 0.6122 + 0.2645j * angles)
    slope = nodes * (
        0.5017 * cotangent - 0.5017 * 0.6407 * angles * (1 + cotangent**2) + 0.2645j
    )

    # s = z / x and ds = dz / x, so that x cancels in front
    factors = np.sqrt(1 + 2 * np.outer(contour / bound, weights))
    transform = 1 / (contour * np.prod(factors, axis=1))
    integral = step / (2j * math.pi) * np.sum(np.exp(contour) * transform * slope)

    return 1 - float(integral.real)


# what the sum may leave out beyond its end
_REMAINDER = 1e-10


def _probability_by_sum(bound: float, weights: Floats) -> float:
    r"""Return P(Q > x) by the sum of Davies (1980), eq. (5).

    .. math:: P(Q > x) = \frac12 + \sum_{j \ge 0}
              \frac{\sin\theta(u_j)}{\pi (j + \frac12) \rho(u_j)}, \qquad
              u_j = (j + \tfrac12)\Delta
    """
    # the sum is periodic in x: narrow steps put its period beyond all likely Q
    mean = float(weights.sum())
    deviation = math.sqrt(2 * float(weights @ weights))
    step = 2 * math.pi / (mean + 15 * deviation + 2 * bound)
    terms = math.ceil(_end_of_sum(weights) / step)

    indices = np.arange(terms) + 0.5
    products = (indices * step)[:, None] * weights
    angles = 0.5 * (np.arctan(products).sum(axis=1) - bound * indices * step)
    log_radius = 0.25 * np.log1p(products**2).sum(axis=1)
    total = float((np.sin(angles) / indices * np.exp(-log_radius)).sum())

    return 0.5 + total / math.pi


def _end_of_sum(weights: Floats) -> float:
    """Return the end of the sum: beyond it, the rest is negligible."""

    def log_bound(u: float) -> float:
        # a term is at most 1 / (u rho(u)), and rho grows as a power of u
        log_radius = 0.25 * float(np.log1p((u * weights) ** 2).sum())
        return -math.log(u) - log_radius

    end = 1.0
    while log_bound(end) > math.log(_REMAINDER):
        end *= 1.3
    return end
