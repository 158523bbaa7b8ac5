r"""What makes a combination good, and what is known about the shape of that?

A criterion is a function of sensitivity, specificity and prevalence. Its shape decides
how the best set of patterns of one draw is found:

``linear``
    every pattern counts for itself (sum, costs, accuracy, youden and their sums);
``convex``
    no better set than a prefix of the patterns in likelihood-ratio order: squares, and
    every metric of the table, whose level sets in the (sensitivity, specificity) plane
    bound convex sets (F, kappa and likelihood ratios are quotients of linear functions;
    Matthews' coefficient and markedness are a linear one over a concave one);
``product``, ``min``
    concave: see ``one_draw.py``;
``sum of several``
    a sum of metrics has no shape of its own; the sum of the largest values of its parts
    is an upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness.metrics.algebra import Metric, Ratio
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import metric
from trueness.nogold import _checks as _votes
from trueness.nogold.combinations.branch_and_bound import TIE
from trueness.nogold.combinations.one_draw import (
    best_minimum,
    best_product,
    ratio_order,
)

Value = Callable[[Array, Array, Array], Array]


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
            sens, fpr = (p[:, chosen].sum(axis=1) for p in (self.a, self.b))
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
        sens, spec = d.rates(chosen)
        return self.value(sens, spec, d.phi)


def read_criterion(given: Any) -> Criterion:
    """Read a name of ``CRITERIA``, a metric, or the text of a metric."""
    if isinstance(given, str) and given in CRITERIA:
        return Criterion(given, CRITERIA[given], SHAPES[given])
    return _of_metric(_votes.criterion(given, tuple(CRITERIA), metric, tuple(METRICS)))


def _of_metric(m: Metric) -> Criterion:
    sign = _votes.metric_sign(m)

    def value(sens: Array, spec: Array, phi: Array) -> Array:
        c = Confusion(
            tp=phi * sens,
            fp=(1 - phi) * (1 - spec),
            fn=phi * (1 - sens),
            tn=(1 - phi) * spec,
        )
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
    """Is this a plane over (sensitivity, specificity)?

    Tried at points in general position, which no other quotient of low degree passes.
    """
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


def slopes(value: Value, phi: Floats) -> tuple[Floats, Floats]:
    """How steep is a linear criterion in sensitivity and specificity, a draw each?"""
    none, all_ = np.zeros_like(phi), np.ones_like(phi)
    start = value(none, none, phi)
    return value(all_, none, phi) - start, value(none, all_, phi) - start


def gains(gain: Floats, loss: Floats) -> Array:
    """Which patterns gain more than they lose, by more than rounding?"""
    return np.asarray(gain - loss > TIE * (np.abs(gain) + np.abs(loss)))


def winners_of(c: Criterion, d: Draws) -> Array:
    """Which combination is best in each draw? (draws, patterns) of bool.

    Exact but for a sum of several metrics, for which it is the best prefix.
    """
    if c.shape == "linear":
        up, down = slopes(c.value, d.phi)
        return gains(up[:, None] * d.a, down[:, None] * d.b)
    if c.shape in SOLVERS:
        solve = SOLVERS[c.shape]
        return np.array([solve(x, y).chosen for x, y in zip(d.a, d.b, strict=True)])
    return np.concatenate(list(_best_prefixes(c, d)))


def _best_prefixes(c: Criterion, d: Draws) -> Iterator[Array]:
    """Give the best prefix of each draw, some draws at a time."""
    n, patterns = d.a.shape
    for at in blocks(n, max(1, 2**20 // patterns)):
        a, b, phi = (part[at] for part in d)
        order = ratio_order(a, b)
        rates = (np.take_along_axis(p, order, axis=1).cumsum(axis=1) for p in (a, b))
        sens, fpr = (np.pad(rate, ((0, 0), (1, 0))) for rate in rates)  # of none first
        length = c.value(sens, 1 - fpr, phi[:, None]).argmax(axis=1)
        chosen = np.zeros(order.shape, dtype=bool)
        place = np.arange(patterns) < length[:, None]
        np.put_along_axis(chosen, order, place, axis=1)
        yield chosen


def mean_of_best(c: Criterion, d: Draws, winners: Array) -> float:
    """How good were it on average to know the draw? No combination is better."""
    if c.shape == "sum of several":
        each = (w * mean_of_best(p, d, winners_of(p, d)) for w, p in c.parts)
        return c.constant + sum(each)
    return float(c.of(d, winners).mean())


# the paper's four: Keith, Davey, Boyd 2012, Methods
CRITERIA: dict[str, Value] = {
    "product": lambda sens, spec, phi: sens * spec,
    "squares": lambda sens, spec, phi: sens**2 + spec**2,
    "sum": lambda sens, spec, phi: sens + spec,
    "min": lambda sens, spec, phi: np.minimum(sens, spec),
}
SHAPES = {"product": "product", "squares": "convex", "sum": "linear", "min": "min"}
SOLVERS: dict[str, Any] = {"product": best_product, "min": best_minimum}
