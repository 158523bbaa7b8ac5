"""Are the probabilities too extreme, or too high overall? Slope and intercept.

Logistic regression of the labels on the log-odds of the scores (Cox 1958). Its variance
is the sandwich estimator, from the influence of each case on the coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.records import Answer, Estimate
from trueness._core.solvers import are_separated, coefficient_influence, fit_logistic
from trueness.calibration.forecasts import Forecasts, variance_of_sum
from trueness.calibration.residuals import TestResult
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.estimates import estimate_measure
from trueness.inference.sample import MeasuredValue, Sample
from trueness.inference.variance import Influence, VarianceEstimate
from trueness.inference.verification import unlabelled_notes

# scores of 0 and 1 have no log-odds, and are moved inwards by this distance
_SMALLEST_DISTANCE = 2.0**-52
_ANY_NUMBER = (-math.inf, math.inf)

# lines that fill a confidence ellipse: directions, and parts of its radius
_DIRECTIONS = 48
_RADII = (0.25, 0.5, 0.75, 1.0)


@final
@dataclass(frozen=True, repr=False)
class CalibrationLine(Answer):
    """Calibration slope and intercept.

    Attributes
    ----------
    slope : Estimate
        Below 1 the scores are too extreme, above 1 too moderate.
    intercept : Estimate
        Log-odds by which the scores are too low (above 0) or too high on the whole, at
        a slope of 1 ("calibration in the large").
    clipped : int
        Labelled cases with a score of exactly 0 or 1, taken as 2^-52 from it.
    """

    slope: Estimate
    intercept: Estimate
    clipped: int
    notes: tuple[str, ...] = ()


@of_tally
def calibration_line(data: Tally, *, level: float = 0.95) -> CalibrationLine:
    r"""Calibration slope and intercept, with confidence intervals.

    Are the probabilities too extreme, or too high overall?

    .. math:: \mathrm{logit}\, P(y=1) = a + b\, \mathrm{logit}(p)

    The slope is b with a free; the intercept is a with b = 1 (Cox 1958,
    doi:10.1093/biomet/45.3-4.562; Van Calster et al. 2019,
    doi:10.1186/s12916-019-1466-7). The variance is the sandwich estimator (Huber 1967;
    Binder 1983).

    Examples
    --------
    The scores have log-odds of -ln 9 and ln 9, where the true ones are -ln 3 and ln 3.

    >>> line = calibration_line(Tally([0.1, 0.9], neg=[30, 10], pos=[10, 30]))
    >>> round(line.slope.value, 6), round(abs(line.intercept.value), 6)
    (0.5, 0.0)
    """
    _cases.both_classes(data, "calibration_line")
    obstacle = obstacle_to_line(Forecasts(data, "calibration_line"))
    if obstacle:
        raise NotEnoughCases(f"A calibration slope needs {obstacle}")

    slope = estimate_measure(data, slope_measure, level=level)
    intercept = estimate_measure(data, intercept_measure, level=level)
    labelled = data.labelled()
    at_the_ends = np.isin(labelled.score, (0, 1))
    return CalibrationLine(
        slope=replace(slope, notes=()),
        intercept=replace(intercept, notes=()),
        clipped=int((labelled.neg + labelled.pos)[at_the_ends].sum()),
        notes=(*unlabelled_notes(data), *slope.notes),
    )


def obstacle_to_line(forecasts: Forecasts) -> str:
    """Return what these cases lack for a slope, or an empty text."""
    logit = log_odds(forecasts.score)
    # scores ascend, so equal ends are equal scores
    if logit[0] == logit[-1]:
        return f"two different scores; all cases have {forecasts.score[0]:g}."

    one_class = not forecasts.pos.any() or not forecasts.neg.any()
    if one_class or are_separated(logit, forecasts.pos, forecasts.neg):
        return (
            "classes that overlap; here one threshold separates them perfectly, so the "
            "slope would be infinite."
        )
    return ""


def log_odds(score: Floats) -> Floats:
    """Return the logit of probabilities, with 0 and 1 moved inwards by 2^-52."""
    p = np.clip(score, _SMALLEST_DISTANCE, 1 - _SMALLEST_DISTANCE)
    return np.asarray(np.log(p) - np.log1p(-p))


def slope_measure(t: Tally) -> MeasuredValue:
    """Return the slope with the intercept free, and the influence of each case."""
    fit = _fit_polynomial(t, degree=1)
    influence = Influence(fit.by_negative[:, 1], fit.by_positive[:, 1])
    return MeasuredValue(float(fit.coefficients[1]), influence, _ANY_NUMBER)


def intercept_measure(t: Tally) -> MeasuredValue:
    """Return the intercept with a slope of 1, and the influence of each case."""
    logit = log_odds(t.score)
    # a free intercept, with the logit as an offset of slope 1
    coefficients, *_ = fit_logistic([], t.pos[::-1], t.neg[::-1], offset=logit[::-1])
    value = float(coefficients[0])

    ones = np.ones((logit.size, 1))
    # a case moves the intercept by its residual y - p, times a factor of its row
    factors, p = coefficient_influence(ones, value + logit, t.pos + t.neg)
    by_residual = factors[:, 0]
    influence = Influence(
        by_negative=-by_residual * p, by_positive=by_residual * (1 - p)
    )
    return MeasuredValue(value, influence, _ANY_NUMBER)


class _PolynomialFit(NamedTuple):
    """Coefficients, and the influence of a negative and of a positive of each row."""

    coefficients: Floats
    by_negative: Floats
    by_positive: Floats


def _fit_polynomial(t: Tally, degree: int) -> _PolynomialFit:
    """Return a logistic regression on powers of the log-odds of the score."""
    columns = [log_odds(t.score) ** k for k in range(1, degree + 1)]
    ascending = [column[::-1] for column in columns]
    coefficients, *_ = fit_logistic(ascending, t.pos[::-1], t.neg[::-1])

    regressors = np.stack([np.ones(len(t)), *columns], axis=1)
    # a case moves the coefficients by its residual y - p, times factors of its row
    by_residual, p = coefficient_influence(
        regressors, regressors @ coefficients, t.pos + t.neg
    )
    p = p[:, None]
    return _PolynomialFit(coefficients, -by_residual * p, by_residual * (1 - p))


class LineFit:
    """Intercept and slope, both free.

    Attributes
    ----------
    coefficients, covariance : array (2,), array (2, 2)
        Intercept and slope, with their covariance by the sampling design.
    degrees_of_freedom : float
        Those of the covariance.
    """

    def __init__(self, sample: Sample[Tally]) -> None:
        fit = _fit_polynomial(sample.target_counts, degree=1)
        self.coefficients = fit.coefficients

        def variance_along(direction: list[float]) -> VarianceEstimate:
            by_negative = fit.by_negative @ np.array(direction)
            by_positive = fit.by_positive @ np.array(direction)
            return variance_of_sum(sample, by_negative, by_positive)

        intercept = variance_along([1.0, 0.0])
        slope = variance_along([0.0, 1.0])
        total = variance_along([1.0, 1.0])
        # var(a + b) = var a + var b + 2 cov(a, b)
        covariance = (total.variance - intercept.variance - slope.variance) / 2
        self.covariance = np.array(
            [[intercept.variance, covariance], [covariance, slope.variance]]
        )
        self.degrees_of_freedom = min(
            intercept.degrees_of_freedom, slope.degrees_of_freedom
        )

    @property
    def has_covariance(self) -> bool:
        """Return whether the covariance is known: each class has two cases."""
        return bool(np.isfinite(self.covariance).all())

    def test_of_ideal(self) -> TestResult:
        """Return Wald's test of intercept 0 and slope 1, with Hotelling's law."""
        from scipy.special import chdtrc, fdtrc

        if not self.has_covariance:
            return TestResult(math.nan, math.nan)

        gap = self.coefficients - np.array([0.0, 1.0])
        inverse = np.linalg.pinv(self.covariance, hermitian=True)
        statistic = float(gap @ inverse @ gap)

        if math.isinf(self.degrees_of_freedom):
            return TestResult(statistic, float(chdtrc(2, statistic)))

        # Hotelling's T^2 with two components is F with 2 and nu - 1
        remaining = max(self.degrees_of_freedom - 1, 1.0)
        ratio = statistic * remaining / (2 * self.degrees_of_freedom)
        return TestResult(statistic, float(fdtrc(2, remaining, ratio)))

    def lines_in_ellipse(self, level: float) -> Floats:
        """Return intercepts and slopes (r, 2) that fill the confidence ellipse.

        The ellipse is Scheffe's (1953).
        """
        from scipy.special import fdtri

        remaining = max(self.degrees_of_freedom - 1, 1.0)
        quantile = float(fdtri(2, remaining, level))
        radius = math.sqrt(2 * self.degrees_of_freedom / remaining * quantile)

        angle = np.linspace(0, 2 * np.pi, _DIRECTIONS, endpoint=False)
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        # circles of several radii, then stretched along the axes of the ellipse
        disc = np.concatenate([relative_radius * circle for relative_radius in _RADII])
        variances, axes = np.linalg.eigh(self.covariance)
        offsets = (disc * radius * np.sqrt(np.maximum(variances, 0.0))) @ axes.T
        return np.concatenate([self.coefficients[None], self.coefficients + offsets])


def curvature_p_value(sample: Sample[Tally]) -> float:
    """Return the p-value of the quadratic term of a calibration curve."""
    from scipy.special import stdtr

    fit = _fit_polynomial(sample.target_counts, degree=2)
    variance = variance_of_sum(sample, fit.by_negative[:, 2], fit.by_positive[:, 2])
    if not variance.variance > 0:
        return 1.0
    statistic = abs(fit.coefficients[2]) / variance.standard_error
    return float(2 * stdtr(variance.degrees_of_freedom, -statistic))
