r"""What makes a combination good, and what is known about the shape of that?

A criterion is a function of sensitivity, specificity and prevalence. It is ``linear``
(sum, costs, accuracy, youden), ``convex`` (squares, and every metric of the table: its
level sets in the plane of both rates bound convex sets, as F, kappa and likelihood
ratios are quotients of linear functions, Matthews' coefficient and markedness linear
over concave), concave (``product``, ``min``), or a ``sum of several`` without a shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.metrics.algebra import Metric, Ratio
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import metric
from trueness.nogold import _checks as _votes

Value = Callable[..., Array]
# a pattern is flagged when that adds more than this part of its probability
TIE = 1e-14
# step of slopes that are taken as differences
STEP = 1e-6


class Draws(NamedTuple):
    """Pattern probabilities in positives and negatives, and the prevalence of draws."""

    a: Floats  # (draws, patterns)
    b: Floats
    phi: Floats  # (draws,)

    def rates(self, chosen: Array) -> Floats:
        """Give sensitivity and specificity of a set, or of one a draw, (2, draws)."""
        if chosen.ndim == 2:
            sens, fpr = (np.einsum("dj,dj->d", p, chosen) for p in (self.a, self.b))
        else:
            sens, fpr = (p @ chosen.astype(np.float64) for p in (self.a, self.b))
        return np.stack([sens, 1 - fpr])


class Criterion(NamedTuple):
    """A criterion by its name; what should be low is negated in ``value``."""

    name: str
    value: Value
    shape: str
    sign: float = 1.0
    parts: tuple[tuple[float, Criterion], ...] = ()
    constant: float = 0.0
    ratio: Ratio | None = None  # where it is a quotient of sums of counts

    def of(self, d: Draws, chosen: Array) -> Array:
        """How good is a set, or one a draw, in each draw?"""
        return self.value(*d.rates(chosen), d.phi)

    @property
    def bounded(self) -> bool:
        """Are limits of its slopes known? Of quotients whose denominator is above 0."""
        if self.ratio is None or self.ratio.under is None:
            return self.name in SLOPE_LIMITS
        at, up, down = self.planes(np.array([0.271, 0.618]))[1]
        return bool((at + np.minimum(up, 0) + np.minimum(down, 0) > 0).all())

    def planes(self, phi: Floats) -> Floats:
        """Give numerator and denominator of a quotient: constant, and both slopes."""
        over, under = self.ratio or (None, None)
        each = [
            [fn * phi + fp * (1 - phi), (tp - fn) * phi, (tn - fp) * (1 - phi)]
            for tp, fp, fn, tn in (self.sign * np.array(over), np.array(under))
        ]
        return np.array(each)

    def slopes(self, rates: Floats, phi: Floats) -> Floats:
        """How steep is it in sensitivity and in specificity, in each draw?"""
        if self.bounded:
            (s, p), one = rates, np.ones_like(phi)
            return np.stack(self.slope_limits((s, s), (p, p), phi)[0]) * one
        out = []
        # a linear criterion is as steep everywhere as between 0 and 1
        for step in np.eye(2)[:, :, None] * (1 if self.shape == "linear" else STEP):
            low, high = np.clip(rates - step, 0, 1), np.clip(rates + step, 0, 1)
            rise = self.value(*high, phi) - self.value(*low, phi)
            out.append(rise / (high - low).sum(axis=0))
        return np.stack(out)

    def slope_limits(self, sens: Any, spec: Any, phi: Floats) -> Any:
        """Give the lowest and highest slopes between two ends of both rates."""
        if self.name in SLOPE_LIMITS:
            return SLOPE_LIMITS[self.name](*sens, *spec)
        over, under = self.planes(phi)
        corners = [(s, p) for s in sens for p in spec]
        n, q = (np.array([plane(x, *at) for at in corners]) for x in (over, under))
        # a quotient and its denominator are extreme at corners; its slopes are linear
        # in the quotient and in 1 / Q, so they are extreme at the ends of these
        slopes = [
            (over[1:] - r * under[1:]) / x
            for r in ((n / q).min(axis=0), (n / q).max(axis=0))
            for x in (q.min(axis=0), q.max(axis=0))
        ]
        return np.min(slopes, axis=0), np.max(slopes, axis=0)

    def gain_and_loss(self, rates: Floats, d: Draws) -> Floats:
        """What does each pattern add and cost, to first order, summed over draws?"""
        up, down = self.slopes(rates, d.phi)
        return np.stack([up @ d.a, down @ d.b])

    def gains(self, rates: Floats, d: Draws) -> Floats:
        """What does each pattern add on average, to first order?"""
        return net(*self.gain_and_loss(rates, d) / len(d.phi))


def plane(form: Floats, sens: Floats, spec: Floats) -> Floats:
    """Give constant + slope * sensitivity + slope * specificity."""
    return np.asarray(form[0] + form[1] * sens + form[2] * spec)


def net(gain: Floats, loss: Floats) -> Floats:
    """Subtract a loss from a gain; what is no more than rounding is nothing."""
    noise = TIE * (np.abs(gain) + np.abs(loss))
    return np.where(np.abs(gain - loss) > noise, gain - loss, 0.0)


def read_criterion(given: Any) -> Criterion:
    """Read a name of ``CRITERIA``, a metric, or the text of a metric."""
    if isinstance(given, str) and given in CRITERIA:
        return Criterion(given, CRITERIA[given], SHAPES[given])
    return _of_metric(_votes.criterion(given, tuple(CRITERIA), metric, tuple(METRICS)))


def _of_metric(m: Metric) -> Criterion:
    sign = _votes.metric_sign(m)

    def value(sens: Array, spec: Array, phi: Array) -> Array:
        # sums that are 0 or 1 but for rounding, where a metric may be undefined
        sens, spec = (
            np.where(np.abs(x - np.rint(x)) < TIE, np.rint(x), x) for x in (sens, spec)
        )
        pos, neg = phi, 1 - phi
        c = Confusion(pos * sens, neg * (1 - spec), pos * (1 - sens), neg * spec)
        return np.asarray(sign * np.nan_to_num(m(c), nan=-sign * np.inf), np.float64)

    if _is_linear(value):
        return Criterion(m.name, value, "linear", sign)
    if m.shape == "product":
        return Criterion(m.name, value, "product")
    if m.terms is None or len(m.terms) == 1:
        return Criterion(m.name, value, "convex", sign, ratio=m.ratio)
    # a direction is that of every part, so all of them turn round together
    parts = tuple((abs(w), _of_metric(part)) for w, part in m.terms)
    return Criterion(m.name, value, "sum of several", sign, parts, sign * m.constant)


def _is_linear(value: Value) -> bool:
    """Is this a plane over both rates? Tried at points in general position."""
    sens = np.array([0, 1, 0, 0.37, 0.81, 0.12, 0.95, 0.5, 0.23])
    spec = np.array([0, 0, 1, 0.59, 0.17, 0.93, 0.88, 0.5, 0.04])
    for phi in (0.271, 0.618):
        found = value(sens, spec, np.asarray(phi))
        if not np.isfinite(found).all():
            return False
        plane = found[0] + (found[1] - found[0]) * sens + (found[2] - found[0]) * spec
        if not np.allclose(found, plane, rtol=0, atol=1e-12 * np.abs(found).max()):
            return False
    return True


# the paper's four: Keith, Davey, Boyd 2012, Methods
CRITERIA: dict[str, Value] = {
    "product": lambda sens, spec, phi: sens * spec,
    "squares": lambda sens, spec, phi: sens**2 + spec**2,
    "sum": lambda sens, spec, phi: sens + spec,
    "min": lambda sens, spec, phi: np.minimum(sens, spec),
}
SHAPES = {"product": "product", "squares": "convex", "sum": "linear", "min": "min"}
# lowest and highest slopes, with sensitivity in [s, t] and specificity in [p, q]
SLOPE_LIMITS: dict[str, Any] = {
    "product": lambda s, t, p, q: ((p, s), (q, t)),
    "min": lambda s, t, p, q: ((t < p, s > q), (s <= q, t >= p)),
}
