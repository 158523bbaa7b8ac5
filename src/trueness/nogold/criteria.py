"""What makes a combination of tests good?

A criterion is linear, convex (its level sets in the plane of both rates bound convex
sets), concave (product, minimum) or a sum of several. ``search`` finds the set of vote
patterns that is best by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, listing, nearest
from trueness.metrics.algebra import Metric, Ratio
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import metric

Value = Callable[..., Array]
Ends = tuple[Floats, Floats]  # the lowest and the highest value of a rate, by draw
TIE = 1e-14  # part of its probability that a pattern must add to be flagged
DIFFERENCE = 1e-6  # of slopes that are taken as differences
CONCAVE = ("product", "min")
# prevalences in general position, at which the form of a metric is looked at
TRIAL_PREVALENCES = (0.271, 0.618)


class Draws(NamedTuple):
    """Pattern probabilities in both classes, and the prevalence, of posterior draws."""

    in_positives: Floats  # (draws, patterns)
    in_negatives: Floats
    prevalence: Floats  # (draws,)

    def rates(self, flagged_set: Array) -> Floats:
        """Return sensitivity and specificity of a set, or of one a draw, (2, draws)."""
        if flagged_set.ndim == 2:
            # d: draws, j: patterns, each draw with a set of its own
            sens = np.einsum("dj,dj->d", self.in_positives, flagged_set)
            fpr = np.einsum("dj,dj->d", self.in_negatives, flagged_set)
        else:
            flagged = flagged_set.astype(np.float64)
            sens = self.in_positives @ flagged
            fpr = self.in_negatives @ flagged

        return np.stack([sens, 1 - fpr])

    def take(self, rows: slice) -> Draws:
        """Return some of the draws."""
        return Draws(
            self.in_positives[rows], self.in_negatives[rows], self.prevalence[rows]
        )

    def of_patterns(self, patterns: Array) -> Draws:
        """Return the draws of some of the patterns."""
        return Draws(
            self.in_positives[:, patterns],
            self.in_negatives[:, patterns],
            self.prevalence,
        )

    def mean(self) -> Draws:
        """Return the mean over all draws, as one draw."""
        return Draws(
            self.in_positives.mean(axis=0, keepdims=True),
            self.in_negatives.mean(axis=0, keepdims=True),
            self.prevalence.mean(axis=0, keepdims=True),
        )


class Planes(NamedTuple):
    """Numerator and denominator of a quotient, as planes over both rates."""

    numerator: Floats  # (3, draws): constant, slopes in sensitivity and specificity
    denominator: Floats


class SlopeBounds(NamedTuple):
    """Lowest and highest slopes in sensitivity and in specificity, (2, draws) each."""

    lowest: Floats
    highest: Floats


class Criterion(NamedTuple):
    """A criterion by its name; what should be low is negated in ``value``."""

    name: str
    value: Value
    shape: str
    sign: float = 1.0
    parts: tuple[tuple[float, Criterion], ...] = ()
    constant: float = 0.0
    ratio: Ratio | None = None  # where it is a quotient of sums of counts

    def evaluate(self, draws: Draws, flagged_set: Array) -> Array:
        """Return the value of a set, or of one a draw, in each draw."""
        sens, spec = draws.rates(flagged_set)
        return self.value(sens, spec, draws.prevalence)

    @property
    def bounded(self) -> bool:
        """Return whether slopes have bounds: the denominator of a ratio is positive."""
        if self.ratio is None or self.ratio.under is None:
            return self.name in SLOPE_BOUNDS
        denominator = self.planes(np.array(TRIAL_PREVALENCES)).denominator
        constant, by_sens, by_spec = denominator
        # a plane over the unit square is lowest at a corner
        lowest = constant + np.minimum(by_sens, 0) + np.minimum(by_spec, 0)
        return bool((lowest > 0).all())

    def planes(self, prevalence: Floats) -> Planes:
        """Return numerator and denominator of a quotient of sums of counts."""
        over, under = self.ratio or (None, None)
        return Planes(
            _plane_of_counts(self.sign * np.array(over), prevalence),
            _plane_of_counts(np.array(under), prevalence),
        )

    def slopes(self, rates: Floats, prevalence: Floats) -> Floats:
        """Return the slopes in sensitivity and in specificity, in each draw."""
        if self.bounded:
            sens, spec = rates
            bounds = self.slope_bounds((sens, sens), (spec, spec), prevalence)
            return bounds.lowest * np.ones_like(prevalence)

        # a linear criterion is as steep everywhere as between 0 and 1
        size = 1 if self.shape == "linear" else DIFFERENCE
        slopes = []
        for step in np.eye(2)[:, :, None] * size:
            low = np.clip(rates - step, 0, 1)
            high = np.clip(rates + step, 0, 1)
            # central differences, within the unit square
            rise = self.value(*high, prevalence) - self.value(*low, prevalence)
            slopes.append(rise / (high - low).sum(axis=0))

        return np.stack(slopes)

    def slope_bounds(self, sens: Ends, spec: Ends, prevalence: Floats) -> SlopeBounds:
        """Return the lowest and highest slopes between two ends of both rates."""
        if self.name in SLOPE_BOUNDS:
            return SLOPE_BOUNDS[self.name](sens, spec)
        return _slopes_of_quotient(self.planes(prevalence), sens, spec)

    def gain_and_loss(self, rates: Floats, draws: Draws) -> Floats:
        """Return what each pattern adds and costs, to first order, over all draws."""
        by_sens, by_spec = self.slopes(rates, draws.prevalence)
        return np.stack([by_sens @ draws.in_positives, by_spec @ draws.in_negatives])

    def gains(self, rates: Floats, draws: Draws) -> Floats:
        """Return what each pattern adds on average, to first order."""
        gain, loss = self.gain_and_loss(rates, draws) / len(draws.prevalence)
        return net(gain, loss)


def _plane_of_counts(coefficients: Floats, prevalence: Floats) -> Floats:
    """Write a sum of counts as constant and slopes in both rates, (3, draws)."""
    tp, fp, fn, tn = coefficients
    constant = fn * prevalence + fp * (1 - prevalence)
    by_sens = (tp - fn) * prevalence
    by_spec = (tn - fp) * (1 - prevalence)
    return np.array([constant, by_sens, by_spec])


def plane_value(plane: Floats, sens: Floats, spec: Floats) -> Floats:
    """Return constant + slope * sensitivity + slope * specificity."""
    return np.asarray(plane[0] + plane[1] * sens + plane[2] * spec)


def net(gain: Floats, loss: Floats) -> Floats:
    """Subtract a loss from a gain; what is no more than rounding is nothing."""
    noise = TIE * (np.abs(gain) + np.abs(loss))
    return np.where(np.abs(gain - loss) > noise, gain - loss, 0.0)


def _slopes_of_product(sens: Ends, spec: Ends) -> SlopeBounds:
    """Return bounds of the slopes of a product: each rate is that of the other."""
    return SlopeBounds(np.stack([spec[0], sens[0]]), np.stack([spec[1], sens[1]]))


def _slopes_of_minimum(sens: Ends, spec: Ends) -> SlopeBounds:
    """Return bounds of the slopes of a minimum: 1 in the lower rate, 0 in the other."""
    lowest = np.stack([sens[1] < spec[0], sens[0] > spec[1]])
    highest = np.stack([sens[0] <= spec[1], sens[1] >= spec[0]])
    return SlopeBounds(lowest.astype(float), highest.astype(float))


def _slopes_of_quotient(planes: Planes, sens: Ends, spec: Ends) -> SlopeBounds:
    """Return bounds of the slopes of a quotient N / Q of two planes.

    A quotient and its denominator are extreme at corners; its slopes are linear in the
    quotient and in 1 / Q, so they are extreme at the ends of these.
    """
    numerator, denominator = planes
    numerators = np.array(_values_at_corners(numerator, sens, spec))
    denominators = np.array(_values_at_corners(denominator, sens, spec))
    quotients = numerators / denominators

    # the derivative of N / Q is (N' - (N / Q) Q') / Q, in both rates
    slopes = []
    for quotient in (quotients.min(axis=0), quotients.max(axis=0)):
        change = numerator[1:] - quotient * denominator[1:]
        slopes.append(change / denominators.min(axis=0))
        slopes.append(change / denominators.max(axis=0))

    return SlopeBounds(np.min(slopes, axis=0), np.max(slopes, axis=0))


def _values_at_corners(plane: Floats, sens: Ends, spec: Ends) -> list[Floats]:
    """Return the heights of a plane at the four corners of a rectangle of rates."""
    heights = []
    for sensitivity in sens:
        for specificity in spec:
            heights.append(plane_value(plane, sensitivity, specificity))
    return heights


# the paper's four: Keith, Davey, Boyd 2012, Methods
CRITERIA: dict[str, Value] = {
    "product": lambda sens, spec, prevalence: sens * spec,
    "squares": lambda sens, spec, prevalence: sens**2 + spec**2,
    "sum": lambda sens, spec, prevalence: sens + spec,
    "min": lambda sens, spec, prevalence: np.minimum(sens, spec),
}
SHAPES = {"product": "product", "squares": "convex", "sum": "linear", "min": "min"}
SLOPE_BOUNDS: dict[str, Callable[[Ends, Ends], SlopeBounds]] = {
    "product": _slopes_of_product,
    "min": _slopes_of_minimum,
}


def read_criterion(criterion: str | Metric) -> Criterion:
    """Read a name of ``CRITERIA``, a metric, or the text of a metric."""
    if isinstance(criterion, str) and criterion in CRITERIA:
        return Criterion(criterion, CRITERIA[criterion], SHAPES[criterion])

    try:
        parsed_metric = metric(criterion)
    except InputError as err:
        similar = nearest(criterion, [*CRITERIA, *METRICS])
        reason = similar or f" {err.message}"
        raise InputError(
            f"criterion must be one of {listing(tuple(CRITERIA))}, or a metric; found "
            f"{described(criterion)}.{reason}",
            option="criterion",
        ) from None

    return _criterion_of_metric(parsed_metric)


def _criterion_of_metric(metric: Metric) -> Criterion:
    """Return a metric as a criterion, with what is known of its shape."""
    if metric.direction not in ("higher", "lower"):
        raise InputError(
            f"A criterion needs a direction; for {metric.name!r} neither high nor low "
            "values are better."
        )

    sign = 1.0 if metric.direction == "higher" else -1.0

    def value(sens: Array, spec: Array, prevalence: Array) -> Array:
        counts = _expected_counts(sens, spec, prevalence)
        # where it is undefined it is the worst
        worst = -sign * np.inf
        return np.asarray(sign * np.nan_to_num(metric(counts), nan=worst), np.float64)

    if _is_linear(value):
        return Criterion(metric.name, value, "linear", sign)
    if metric.shape == "product":
        return Criterion(metric.name, value, "product")
    if metric.terms is None or len(metric.terms) == 1:
        return Criterion(metric.name, value, "convex", sign, ratio=metric.ratio)

    # a direction is that of every part, so all of them turn round together
    parts = tuple(
        (abs(weight), _criterion_of_metric(part)) for weight, part in metric.terms
    )
    return Criterion(
        metric.name, value, "sum of several", sign, parts, sign * metric.constant
    )


def _expected_counts(sens: Array, spec: Array, prevalence: Array) -> Confusion:
    """Return the confusion matrix, as proportions of all cases."""
    sens = _round_to_end(sens)
    spec = _round_to_end(spec)
    negatives = 1 - prevalence

    return Confusion(
        tp=prevalence * sens,
        fp=negatives * (1 - spec),
        fn=prevalence * (1 - sens),
        tn=negatives * spec,
    )


def _round_to_end(rate: Array) -> Array:
    """Return 0 or 1 for sums that are so but for rounding: a metric may end there."""
    nearest_whole = np.rint(rate)
    return np.where(np.abs(rate - nearest_whole) < TIE, nearest_whole, rate)


def _is_linear(value: Value) -> bool:
    """Return whether this is a plane over both rates, by points in general position."""
    sens = np.array([0, 1, 0, 0.37, 0.81, 0.12, 0.95, 0.5, 0.23])
    spec = np.array([0, 0, 1, 0.59, 0.17, 0.93, 0.88, 0.5, 0.04])
    for prevalence in TRIAL_PREVALENCES:
        values = value(sens, spec, np.asarray(prevalence))
        if not np.isfinite(values).all():
            return False
        # the first three points are the corners that a plane is known by
        origin, at_sens, at_spec = values[:3]
        plane = origin + (at_sens - origin) * sens + (at_spec - origin) * spec
        if not np.allclose(values, plane, rtol=0, atol=1e-12 * np.abs(values).max()):
            return False

    return True
