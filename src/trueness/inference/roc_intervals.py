r"""Confidence interval of an area under the ROC curve, or under a part of it.

DeLong's variance follows the estimate: an area that is too high by chance has a
variance that is too small. Newcombe (2006), method 5, takes the variance at the end of
the interval instead, from Hanley and McNeil's model (1982) with both class sizes
averaged. All areas A with

.. math:: (\hat A - A)^2 \le t^2\,M(A; N_1/D, N_0/D)

M is the variance of the model, t Student's quantile with one degree of freedom less
than the smaller class has units, and D the design effect: the variance that the cases
show over that of the model. Below 1 it is moderated (``design_effect``).

All functions but the last two take numbers or arrays: plans evaluate thousands.

References
----------
Newcombe (2006), Stat. Med. 25:559; Hanley, McNeil (1982), Radiology 143:29; Korn,
Graubard (1998), Surv. Methodol. 24:193; DerSimonian, Laird (1986), Control. Clin.
Trials 7:177; Efron, Morris (1973), J. Am. Stat. Assoc. 68:117
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from trueness._core.arrays import Floats
from trueness.inference.variance import ClassSizes

# a bisection of the unit interval has then reached the last digit of a float
_BISECTIONS = 60
# the secant method takes four or five steps to the last digits of a float
_SECANT_STEPS = 8
_LAST_DIGITS = 1e-15


def placement_variances(area: Any) -> tuple[Any, Any]:
    """Return the variances of placements of positives and negatives with this AUC.

    Both classes have exponentially distributed scores.

    Hanley and McNeil (1982): P100 = 2 A^2 / (1 + A), P110 = A / (2 - A), less A^2.
    """
    complement = 1 - area
    # P100 - A^2 and P110 - A^2 without the cancellation near A = 1
    variance_of_positives = area * area * complement / (1 + area)
    variance_of_negatives = area * complement * complement / (1 + complement)
    return variance_of_positives, variance_of_negatives


def newcombe_variance(area: Any, positives: Any, negatives: Any) -> Any:
    """Return the variance of an area by Hanley and McNeil, class sizes averaged.

    Newcombe (2006), method 5: N - 1, with N the mean of both sizes, stands in the place
    of N_1 - 1 and of N_0 - 1, so that either class may have the larger variance.
    """
    variance_of_positives, variance_of_negatives = placement_variances(area)
    mean_size = (positives + negatives) / 2
    placement_variance = variance_of_positives + variance_of_negatives
    total = area * (1 - area) + (mean_size - 1) * placement_variance
    return total / (positives * negatives)


def design_effect(area: Any, variance: Any, sizes: ClassSizes) -> Floats:
    r"""Return the variance that the cases show over that of the model, moderated.

    A design effect of 1 or more is taken as it is. Below 1 the cases would count for
    more than their number, and with few of them a small variance is mostly chance. With
    :math:`d = \hat D - 1`, whose sampling variance under the model is
    :math:`\sigma^2`, the moderated one is

    .. math:: D = 1 + d \Big(1 - \frac{\sigma^2}{d^2}\Big)_+

    the posterior mean of an effect whose variance between populations is estimated by
    its moment :math:`(d^2 - \sigma^2)_+` (DerSimonian and Laird 1986; the positive part
    of Efron and Morris 1973 for one value).
    """
    model_variance = newcombe_variance(area, sizes.positives, sizes.negatives)
    effect = variance / model_variance
    deviation = np.minimum(effect - 1, 0.0)

    sampling_variance = _variance_of_design_effect(area, sizes)
    variance_between = np.maximum(deviation**2 - sampling_variance, 0.0)
    # 1e-300 keeps 0 / 0, of an effect of exactly 1, from being NaN
    weight = variance_between / np.maximum(deviation**2, 1e-300)
    return np.asarray(np.where(effect < 1, 1 + weight * deviation, effect))


def _variance_of_design_effect(area: Any, sizes: ClassSizes) -> Any:
    """Return the variance of the observed design effect if the model is true.

    The design effect is DeLong's variance over the variance of the model.
    """
    if min(sizes.positive_units, sizes.negative_units) <= 1:
        # one unit shows no variance
        return np.inf

    kurtosis = _kurtosis_of_placements(area)
    inverse_sizes = 1 / sizes.positive_units + 1 / sizes.negative_units
    variance = 0.0
    for units in (sizes.positive_units, sizes.negative_units):
        # the variance of a sample variance over its square (Cramer 1946, eq. 27.4.2)
        class_variance = kurtosis / units - (units - 3) / (units * (units - 1))
        # placements of both classes have one variance, which a class divides by its n
        class_proportion = 1 / units / inverse_sizes
        variance = variance + class_proportion**2 * class_variance

    return variance


def _kurtosis_of_placements(area: Any) -> Any:
    """Return the kurtosis of placements under the averaged exponential model.

    The model is that of Hanley and McNeil (1982), averaged over both classes by
    Newcombe (2006). Errors 1 - V are beta distributed, with l = (1 - A) / A: as
    Beta(l, 1) in the class with the larger variance, as Beta(1, 1 / l) in the other.
    """
    # the kurtosis is the same at A and 1 - A; above 1/2 no digits cancel
    upper = np.maximum(area, 1 - area)
    wide_shape = (1 - upper) / upper
    # no division by zero at an area of 1
    narrow_shape = upper / np.maximum(1 - upper, 1e-300)

    # raw moments: E[X^k] = l / (l + k) for Beta(l, 1)
    wide_moments = [wide_shape / (wide_shape + power) for power in (1, 2, 3, 4)]
    # and for Beta(1, b), with b = 1 / l, the product of j / (b + j) for j up to k
    narrow_moments = [1 / (narrow_shape + 1)]
    for power in (2, 3, 4):
        narrow_moments.append(narrow_moments[-1] * power / (narrow_shape + power))

    wide_second, wide_fourth = _central_moments(wide_moments)
    narrow_second, narrow_fourth = _central_moments(narrow_moments)
    # both classes are averaged, as in Newcombe's method 5
    second = (wide_second + narrow_second) / 2
    fourth = (wide_fourth + narrow_fourth) / 2
    return fourth / np.maximum(second**2, 1e-300)


def _central_moments(raw: list[Any]) -> tuple[Any, Any]:
    """Return the second and fourth central moment from the first four raw ones."""
    mean, second, third, fourth = raw
    # expanding E[(X - mean)^k] by powers of the mean
    central_second = second - mean**2
    central_fourth = fourth - 4 * third * mean + 6 * second * mean**2 - 3 * mean**4
    return central_second, central_fourth


def newcombe_interval(
    area: float, effect: float, sizes: ClassSizes, quantile: float
) -> tuple[float, float]:
    """Return the areas whose distance is within a quantile of their standard error.

    The class sizes are divided by the design effect.
    """
    area = float(area)
    positives = float(sizes.positives / effect)
    negatives = float(sizes.negatives / effect)
    squared_quantile = float(quantile) ** 2

    # a score interval: the variance is that of the candidate, not of the area
    def variance(candidate: float) -> float:
        return float(newcombe_variance(candidate, positives, negatives))

    def is_outside(candidate: float) -> bool:
        return (candidate - area) ** 2 > squared_quantile * variance(candidate)

    def boundary(outer: float) -> float:
        """Return the end of the interval between ``outer`` and the area."""
        inner = area
        # two guesses close to the end save most of the bisections
        for guess in _near_end(area, outer, quantile, variance):
            if not min(inner, outer) < guess < max(inner, outer):
                continue
            if is_outside(guess):
                outer = guess
            else:
                inner = guess

        for _ in range(_BISECTIONS):
            middle = (outer + inner) / 2
            if middle in (inner, outer):  # no float lies between them
                break
            if is_outside(middle):
                outer = middle
            else:
                inner = middle

        return outer

    return boundary(0.0), boundary(1.0)


def _near_end(
    area: float, outer: float, quantile: float, variance: Callable[[float], float]
) -> list[float]:
    """Return areas just inside and just outside of an end, by the secant method.

    An end is as far from the area as a quantile of its standard error. Nothing is
    returned if the method leaves the range between the area and ``outer``.
    """
    factor = math.copysign(quantile, outer - area)
    before = area
    excess_before = -factor * math.sqrt(max(variance(area), 0.0))
    # Wald's end, to begin with
    end = area - excess_before
    for _ in range(_SECANT_STEPS):
        if not min(area, outer) < end < max(area, outer):
            return []

        excess = end - area - factor * math.sqrt(max(variance(end), 0.0))
        if excess == excess_before:
            break
        step = excess * (end - before) / (excess - excess_before)
        before = end
        excess_before = excess
        end -= step
        if abs(step) <= _LAST_DIGITS * end:
            break

    margin = math.copysign(_LAST_DIGITS * end, outer - area)
    return [end - margin, end + margin]


def newcombe_intervals(
    areas: Floats, effects: Floats, sizes: ClassSizes, quantiles: Floats
) -> tuple[Floats, Floats]:
    """Return the intervals of many areas, as ``newcombe_interval`` does of one."""
    positives = sizes.positives / effects
    negatives = sizes.negatives / effects

    # all areas are bisected at once; a float reaches its last digit in 60 steps
    def boundaries(outer: Floats) -> Floats:
        """Return the end of each interval between ``outer`` and the area."""
        inner = areas
        for _ in range(_BISECTIONS):
            middle = (outer + inner) / 2
            variance = newcombe_variance(middle, positives, negatives)
            is_outside = (middle - areas) ** 2 > quantiles**2 * variance
            outer = np.where(is_outside, middle, outer)
            inner = np.where(is_outside, inner, middle)

        return outer

    return boundaries(np.zeros_like(areas)), boundaries(np.ones_like(areas))
