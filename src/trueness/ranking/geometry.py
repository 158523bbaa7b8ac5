r"""What do ROC, precision, accuracy and F-beta have in common? The leakage function

.. math:: G(u) = F_p(F_n^{-1}(u)), \qquad 0 \le u \le 1, \qquad (10)

the share of positives that is missed where a share u of the negatives is left alone.
Sameni (2025), "On the geometry of receiver operating characteristic and
precision-recall curves"; equation numbers are its own. Where a score is tied between
classes G is straight; where positives stand alone it jumps, and takes the lower value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.binomial import divergence
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.records import Answer, Estimate
from trueness.counts.answers import of_tally
from trueness.counts.placements import coarser, runs
from trueness.counts.values import Tally
from trueness.inference.estimates import estimate_from_interval, evaluate_measure
from trueness.inference.intervals import student_quantile
from trueness.inference.sample import MeasuredValue, apply_design
from trueness.inference.variance import Influence
from trueness.metrics.confusion import sweep
from trueness.ranking.models import Through, fit_binormal

# 1 - fpr is rounded: a specificity this close to a step is meant to be the step
_SNAP = 1e-12


@final
@dataclass(frozen=True, repr=False)
class Leakage(Answer, Through):
    """Which share of the positives is missed at specificity u?

    A call ``G(u)`` gives this share; ``G.inverse(v)`` is the inverse function and
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
        """Give G(u); at a jump the lower value."""
        u = _columns.probabilities(u, "u")
        x, y = self.specificity, self.miss_rate_at
        at = np.searchsorted(x, u - _SNAP, side="left")
        straight = chord(x, y, np.maximum(at - 1, 0), at, u)
        return np.where(np.abs(x[at] - u) <= _SNAP, y[at], straight)

    def inverse(self, v: ArrayLike) -> Any:
        """Give the highest specificity that misses at most a share v of positives."""
        v = _columns.probabilities(v, "v")
        x, y = self.specificity, self.miss_rate_at
        at = np.searchsorted(y, v + _SNAP, side="right") - 1
        straight = chord(y, x, at, np.minimum(at + 1, y.size - 1), v)
        return np.where(np.abs(y[at] - v) <= _SNAP, x[at], straight)

    def density(self, u: ArrayLike, bins: int = 20) -> Any:
        """What is the density of positives over that of negatives at this quantile?

        Eq. (11), as a mean over ``bins`` equal parts of [0, 1], so that it integrates
        to 1. Positives above all negatives count in the last part.
        """
        u = _columns.probabilities(u, "u")
        number = _options.whole_number(bins, "bins", at_least=1)
        edges = np.linspace(0, 1, number + 1)
        height = self(edges)
        height[-1] = 1.0
        at = np.minimum((u * number).astype(int), number - 1)
        return np.diff(height)[at] * number


def chord(x: Floats, y: Floats, i: Array, j: Array, u: Floats) -> Floats:
    """Go straight from corner i to corner j; where they are one above the other, i."""
    left, low = x[i], y[i]
    width = x[j] - left
    part = np.divide(u - left, width, out=np.zeros(np.shape(u)), where=width > 0)
    return np.asarray(low + np.clip(part, 0, 1) * (y[j] - low))


@of_tally
def leakage(data: Tally) -> Leakage:
    """Which share of positives leaks to the negative side at each specificity?

    Sameni (2025), eqs. (10)-(26), with errata: see ``docs/maths/ranking_geometry.md``.

    Examples
    --------
    >>> G = leakage(Tally([2, 1], pos=[3, 1], neg=[1, 3]))
    >>> float(G(0.75)), float(G.tpr(0.25)), float(G.precision(0.75, prevalence=0.5))
    (0.25, 0.75, 0.75)
    """
    _cases.both_classes(data, "leakage")
    t = apply_design(data).target_counts
    c = sweep(t)
    u, v = (c.tn / t.n_neg)[::-1], (c.fn / t.n_pos)[::-1]
    area = float(np.sum(np.diff(u) * (v[1:] + v[:-1])) / 2)
    return Leakage(u, v, area)


@final
@dataclass(frozen=True, repr=False)
class Divergence(Answer):
    """How different are the scores of both classes, and where do they overlap?

    Attributes
    ----------
    pos_to_neg, neg_to_pos : Estimate
        Kullback-Leibler divergence in nats of the positives' scores from the
        negatives', and the reverse; zero when the classifier is random.
    entropy, spread : float
        Differential entropy of the leakage density g, minus ``pos_to_neg`` (eq. (49));
        exp(entropy), in [0, 1]: the share of the negatives' range over which the
        positives are spread; near 0 most thresholds separate the classes well.
    middle_half : (float, float)
        The middle half of the positives lies between these quantiles of the negatives.
    """

    pos_to_neg: Estimate
    neg_to_pos: Estimate
    entropy: float
    spread: float
    middle_half: tuple[float, float]
    method: str


@of_tally
def kl_divergence(
    data: Tally, *, method: str = "histogram", level: float = 0.95
) -> Divergence:
    r"""How different are the scores of positives and negatives, in nats?

    .. math:: D(f_p \| f_n) = \int f_p \log\frac{f_p}{f_n}\,dx
              = \int_0^1 g(u) \log g(u)\,du

    Sameni (2025), eqs. (47)-(49). Only the order of the scores matters; infinite where
    one threshold separates the classes, with an interval from what so many cases prove.

    Parameters
    ----------
    method
        ``"histogram"``: 2 n^(1/3) bins of equal weight (n cases in the smaller class)
        with half a case added to each, less the mean excess of such an estimate; what
        differs within a bin is lost. ``"binormal"``: the closed form at the fitted
        curve.

    Examples
    --------
    >>> kl_divergence(Tally([1], pos=[40], neg=[60])).pos_to_neg.value  # random
    0.0
    """
    _cases.both_classes(data, "kl_divergence")
    _options.choice(method, ("histogram", "binormal"), "method")
    level = _options.fraction(level, "level")
    t = data.labelled().without_design()
    forth, back = (_of_histogram if method == "histogram" else _of_binormal)(t, level)
    first, last = (float(q) for q in leakage(t).inverse([0.25, 0.75]))
    less = -forth.value
    return Divergence(forth, back, less, math.exp(less), (first, last), method)


def _of_histogram(t: Tally, level: float) -> tuple[Estimate, ...]:
    neg, pos = runs(t)
    if neg.size == 2 and not (neg * pos).any():
        # one cut parts the classes: flagged positives at least, and negatives at most
        p, q = _least(t.n_pos, level), max(0.0, 1 - _least(t.n_neg, level))
        proven = (divergence(p, q), divergence(q, p)) if p > q else (0.0, 0.0)
        ends = ((math.inf, low, math.inf) for low in proven)
        return tuple(_positive(*e, level, "separated", notes=_INFINITE) for e in ends)
    bins = max(2, round(2 * min(t.equal_cases) ** (1 / 3)))
    binned = apply_design(coarser(t, bins))
    both = [
        evaluate_measure(binned, partial(_measured, forth=f)) for f in (True, False)
    ]
    if any(m.variance_estimate.variance > 0 for m in both):
        ends = (
            (
                m.value,
                m.variance_estimate.standard_error
                * student_quantile(m.variance_estimate.degrees_of_freedom, level),
                m.variance_estimate.standard_error,
            )
            for m in both
        )
        return tuple(
            _positive(v, v - half, max(v, 0.0) + half, level, "histogram", sd)
            for v, half, sd in ends
        )
    # one bin: as far as a kind of positive that n cases miss could take it
    high = divergence(1 - _least(t.n_pos, level), 0.5 / (t.n_neg + 1))
    ends = ((m.value, m.value, max(m.value, high)) for m in both)
    return tuple(_positive(*e, level, "unseen cases for histogram") for e in ends)


_INFINITE = (
    "One threshold separates the classes perfectly, so the divergence of these cases "
    "is infinite; the lower end of the interval is what this number of cases can "
    "show.",
)


def _least(n: int, level: float) -> float:
    """How small may a share be of which all of n cases are part?"""
    return float(((1 - level) / 2) ** (1 / n))


def _measured(t: Tally, forth: bool) -> MeasuredValue:
    r"""Give a divergence, sampling excess taken off, and its influence values.

    With shares a of the positives and b of the negatives in each bin,
    :math:`D = \sum a \ln(a/b)` has the slopes :math:`(\ln(a/b) - D)/N_1` and
    :math:`(1 - a/b)/N_0`; the other direction is the same with the classes exchanged.
    """
    turn = -1 if forth else 1
    (one, n), (other, m) = [*zip((t.neg, t.pos), t.equal_cases, strict=True)][::turn]
    # weights count in units of equal cases, of which half a one is added
    a, b = (
        (c / float(c.sum()) * k + 0.5) / (k + c.size / 2)
        for c, k in ((one, n), (other, m))
    )
    ratio = np.log(a / b)
    value = float(a @ ratio)
    # two samples of one law differ by (k - 1)/2n each on average, as in a G-test
    excess = (len(t) - 1) / 2 * (1 / n + 1 / m)
    parts = (ratio - value) / float(one.sum()), (1 - a / b) / float(other.sum())
    by_neg, by_pos = parts[::turn]
    return MeasuredValue(
        value - excess,
        Influence(by_neg, by_pos),
        (0.0, math.inf),
        within_class=True,
    )


def _positive(
    value: float, low: float, high: float, *how: Any, **more: Any
) -> Estimate:
    """A divergence is never below zero."""
    value, low, high = (max(0.0, x) for x in (value, low, high))
    return estimate_from_interval(value, low, high, *how, **more)


def _of_binormal(t: Tally, level: float) -> tuple[Estimate, ...]:
    """Carry the errors of alpha and b through the closed forms (delta method)."""
    fit = fit_binormal(t, level=level)
    alpha, b = fit.curve.alpha, fit.curve.b
    cross = fit.correlation * fit.alpha.se * fit.b.se
    covariance = np.array([[fit.alpha.se**2, cross], [cross, fit.b.se**2]])
    # derivatives of eq. (49) by alpha and b, in either direction
    forth = np.array([1 / alpha - (1 + b * b) / alpha**3, b / alpha**2])
    back = np.array([alpha - 1 / alpha, b])
    values = ((fit.curve.kl_pos_to_neg, forth), (fit.curve.kl_neg_to_pos, back))
    z = student_quantile(math.inf, level)
    found = ((value, math.sqrt(s @ covariance @ s)) for value, s in values)
    return tuple(
        _positive(v, v - z * sd, v + z * sd, level, "binormal", sd) for v, sd in found
    )
