r"""Random effects over sites: their mean, and how far sites differ.

Each site has a value :math:`y_i` with a variance :math:`v_i`, on an unbounded scale:

.. math:: y_i \sim N(x_i^\top\beta,\; \tau^2 + v_i)

Restricted maximum likelihood estimates the variance :math:`\tau^2` between sites,
Hartung and Knapp's variance gives the interval of the coefficients, and the Q-profile
that of :math:`\tau^2`. Without a covariate x is 1, and :math:`\beta` is the mean.

References
----------
Viechtbauer (2005), doi:10.3102/10769986030003261 (REML); Hartung, Knapp (2001),
doi:10.1002/sim.791; Knapp, Hartung (2003), doi:10.1002/sim.1482 (regression);
Viechtbauer (2007), doi:10.1002/sim.2514 (Q-profile); Higgins, Thompson (2002),
doi:10.1002/sim.1186; DerSimonian, Laird (1986), doi:10.1016/0197-2456(86)90046-2
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trueness._core.arrays import Floats
from trueness.inference.intervals import Interval, student_quantile

# the largest variance between sites that is tried, over the smallest above zero
_LARGEST_RATIO = 1e4


@dataclass(frozen=True)
class WeightedFit:
    r"""Coefficients at one variance between sites, by weighted least squares.

    Attributes
    ----------
    weights
        Of the sites, :math:`w_i = 1 / (v_i + \tau^2)`.
    coefficients
        The mean, and with a covariate its slopes.
    covariance
        Of the coefficients, if the weights are right.
    residuals
        Values less the fit.
    """

    weights: Floats
    coefficients: Floats
    covariance: Floats
    residuals: Floats

    @property
    def residual_squares(self) -> float:
        """Return the weighted sum of squared residuals: Q at these weights."""
        return float(self.weights @ self.residuals**2)


@dataclass(frozen=True)
class RandomEffects:
    """A fitted model of random effects.

    Attributes
    ----------
    values, variances, design : arrays (k,), (k,), (k, p)
        Of the sites, on an unbounded scale; one row of the design for each.
    between_variance
        The variance between sites, by restricted maximum likelihood.
    """

    values: Floats
    variances: Floats
    design: Floats
    between_variance: float

    @cached_property
    def fit(self) -> WeightedFit:
        """Return the coefficients at the estimated variance between sites."""
        return fit_at(self.values, self.variances, self.design, self.between_variance)

    @property
    def degrees_of_freedom(self) -> int:
        """Return the number of sites minus the number of coefficients."""
        sites, columns = self.design.shape
        return int(sites - columns)

    @property
    def mean(self) -> float:
        """Return the first coefficient: without a covariate, the mean."""
        return float(self.fit.coefficients[0])

    @cached_property
    def covariance(self) -> Floats:
        """Return the covariance of the coefficients by Hartung and Knapp (2001)."""
        # Knapp and Hartung (2003), eq. (6): the mean of the weighted squared residuals
        inflation = self.fit.residual_squares / self.degrees_of_freedom
        return self.fit.covariance * inflation

    @property
    def standard_error(self) -> float:
        """Return the standard error of the mean by Hartung and Knapp (2001)."""
        return math.sqrt(float(self.covariance[0, 0]))

    def mean_interval(self, level: float) -> Interval:
        """Return the confidence interval of the mean by Hartung and Knapp (2001)."""
        quantile = student_quantile(self.degrees_of_freedom, level)
        half_width = quantile * self.standard_error
        return self.mean - half_width, self.mean + half_width

    @property
    def typical_variance(self) -> float:
        """Return the typical variance within a site (Higgins and Thompson 2002)."""
        # eq. (9); with a covariate its generalisation, (k - p) / tr(P) at tau^2 = 0
        weights = 1 / self.variances
        projection_trace = _projection_trace(self.design, weights)
        return self.degrees_of_freedom / projection_trace

    def heterogeneity(self, between_variance: float) -> float:
        """Return I², the fraction of the variance of values that is between sites."""
        return between_variance / (between_variance + self.typical_variance)

    @cached_property
    def cochran_q(self) -> float:
        """Return Cochran's statistic of no difference between sites."""
        return fit_at(self.values, self.variances, self.design, 0.0).residual_squares

    @property
    def cochran_p_value(self) -> float:
        """Return the p-value of no difference between sites."""
        from scipy.special import chdtrc

        return float(chdtrc(self.degrees_of_freedom, self.cochran_q))


def fit_random_effects(
    values: Floats, variances: Floats, design: Floats | None = None
) -> RandomEffects:
    """Return random effects over sites, fitted by restricted maximum likelihood.

    ``design`` has a row for each site and a column for each coefficient; a column of
    ones when None.
    """
    if design is None:
        design = np.ones((values.size, 1))
    between_variance = _restricted_likelihood_variance(values, variances, design)
    return RandomEffects(values, variances, design, between_variance)


def fit_at(
    values: Floats, variances: Floats, design: Floats, between_variance: float
) -> WeightedFit:
    """Return the coefficients at a given variance between sites."""
    weights = 1 / (variances + between_variance)
    weighted_design = design * weights[:, None]
    # weighted least squares: (X' W X)^-1 X' W y
    covariance: Floats = np.asarray(np.linalg.inv(design.T @ weighted_design))
    coefficients = covariance @ (weighted_design.T @ values)
    residuals = values - design @ coefficients
    return WeightedFit(weights, coefficients, covariance, residuals)


def q_profile_interval(model: RandomEffects, level: float) -> Interval:
    """Return the confidence interval of the variance between sites (Q-profile).

    It holds all variances at which the weighted sum of squares is between two quantiles
    of the chi-squared distribution (Viechtbauer 2007). It may hold zero only.
    """
    from scipy.special import chdtri

    tail = (1 - level) / 2
    largest_squares = float(chdtri(model.degrees_of_freedom, tail))
    smallest_squares = float(chdtri(model.degrees_of_freedom, 1 - tail))

    # the larger the variance, the smaller the weighted squares
    return (
        _variance_with_squares(model, largest_squares),
        _variance_with_squares(model, smallest_squares),
    )


def _variance_with_squares(model: RandomEffects, squares: float) -> float:
    """Return the variance between sites at which the sum of squares has this value."""
    from scipy.optimize import brentq

    def excess(between_variance: float) -> float:
        fit = fit_at(model.values, model.variances, model.design, between_variance)
        return fit.residual_squares - squares

    if excess(0.0) <= 0:
        return 0.0

    # the weighted squares fall as the variance grows
    upper = _value_variance(model.values, model.variances)
    while excess(upper) > 0:
        upper *= 2

    return float(brentq(excess, 0.0, upper, xtol=1e-15 * upper, rtol=1e-14))


def dersimonian_laird_variance(values: Floats, variances: Floats) -> float:
    """Return the moment estimate of the variance between sites.

    DerSimonian and Laird (1986), without a covariate.
    """
    weights = 1 / variances
    total = float(weights.sum())
    fixed_mean = float(weights @ values) / total
    squares = float(weights @ (values - fixed_mean) ** 2)
    # E[Q] = k - 1 + tau^2 (sum w - sum w^2 / sum w), solved for tau^2
    scale = total - float(weights @ weights) / total
    return max(0.0, (squares - (values.size - 1)) / scale)


def _restricted_likelihood_variance(
    values: Floats, variances: Floats, design: Floats
) -> float:
    """Return the variance between sites with the largest restricted likelihood.

    The likelihood may have several maxima. So the highest point of a grid is found
    first, and then the place near it where the slope is zero.
    """
    from scipy.optimize import brentq

    def slope(between_variance: float) -> float:
        return _likelihood_slope(values, variances, design, between_variance)

    largest = _value_variance(values, variances)
    grid = np.concatenate([[0.0], np.geomspace(largest / _LARGEST_RATIO, largest, 60)])
    likelihoods = [
        _restricted_likelihood(values, variances, design, between_variance)
        for between_variance in grid
    ]
    best = int(np.argmax(likelihoods))

    # the maximum lies between both neighbours of the highest point
    low = float(grid[max(best - 1, 0)])
    high = float(grid[min(best + 1, grid.size - 1)])
    while slope(high) > 0:
        high *= 2

    if slope(low) <= 0:
        # the likelihood falls from here on, so that this is its maximum
        return low

    return float(brentq(slope, low, high, xtol=1e-15 * high, rtol=1e-14))


def _value_variance(values: Floats, variances: Floats) -> float:
    """Return an upper bound for the variance between sites: ten times the total."""
    return float(values.var(ddof=1) + variances.mean()) * 10


def _restricted_likelihood(
    values: Floats, variances: Floats, design: Floats, between_variance: float
) -> float:
    """Return the restricted log-likelihood, without its constant.

    Viechtbauer (2005), eq. (12).
    """
    fit = fit_at(values, variances, design, between_variance)
    _, log_determinant = np.linalg.slogdet(fit.covariance)
    log_weights = float(np.log(fit.weights).sum())
    return 0.5 * (log_weights + float(log_determinant) - fit.residual_squares)


def _likelihood_slope(
    values: Floats, variances: Floats, design: Floats, between_variance: float
) -> float:
    """Return the slope of the restricted log-likelihood by the variance."""
    fit = fit_at(values, variances, design, between_variance)
    # with P the projection: (y'PPy - tr P) / 2, where Py are the weighted residuals
    weighted_residuals = fit.weights * fit.residuals
    squares = float(weighted_residuals @ weighted_residuals)
    return 0.5 * (squares - _projection_trace(design, fit.weights))


def _projection_trace(design: Floats, weights: Floats) -> float:
    """Return the trace of P = W - W X (X'W X)^-1 X'W."""
    weighted_design = design * weights[:, None]
    inverse = np.linalg.inv(design.T @ weighted_design)
    leverage = np.trace(inverse @ (weighted_design.T @ weighted_design))
    return float(weights.sum() - leverage)
