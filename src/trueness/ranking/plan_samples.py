"""How are scores drawn from a model, and how far do the AUCs of many samples vary?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.fermi.distribution import fermi_dirac
from trueness.ranking.areas import exponential_spread, pair_variance
from trueness.ranking.gaussian import separation


class SampledAreas(NamedTuple):
    """AUCs of samples, or differences of two, with how well each is known."""

    value: Floats
    variance: Floats
    df: Floats
    units: int
    sides: tuple[SampledAreas, ...] = ()  # of a difference, where they were drawn

    def limits(self, level: float, two: bool = False) -> tuple[Floats, Floats]:
        """Give both limits, as ``inference`` makes them of an AUC, or of a contrast."""
        from scipy.special import stdtrit

        if two and self.sides:
            return self._recovered(level)
        t = stdtrit(np.maximum(self.df, 1.0), (1 + level) / 2)
        if two:
            half = t * np.sqrt(self.variance)
            return self.value - half, self.value + half
        a = np.clip(self.value, 0.0, 1.0)
        varied = (self.variance > 0) & (a > 0) & (a < 1)
        worth = a * (1 - a) / np.where(varied, self.variance, 1.0)
        z = NormalDist().inv_cdf((1 + level) / 2)
        k = np.where(varied, t, z) ** 2 / np.where(varied, worth, self.units)
        half = np.sqrt(k * a * (1 - a) + k * k / 4)
        return (a + k / 2 - half) / (1 + k), (a + k / 2 + half) / (1 + k)

    def _recovered(self, level: float) -> tuple[Floats, Floats]:
        a, b = self.sides
        (low_a, high_a), (low_b, high_b) = a.limits(level), b.limits(level)
        both = np.sqrt(a.variance * b.variance)
        joint = (a.variance + b.variance - self.variance) / 2
        r = np.clip(joint / np.where(both > 0, both, 1.0), -1, 1) * (both > 0)

        def reach(one: Floats, other: Floats) -> Floats:
            square = one**2 - 2 * r * one * other + other**2
            return np.sqrt(np.maximum(square, 0.0))

        below = reach(a.value - low_a, high_b - b.value)
        return self.value - below, self.value + reach(high_a - a.value, b.value - low_b)

    def closer(self, centre: float, part: float, units: int) -> SampledAreas:
        """Draw values closer to their centre; sides of a difference to their means."""
        value = centre + (self.value - centre) * math.sqrt(part)
        sides = (s.closer(float(s.value.mean()), part, units) for s in self.sides)
        return SampledAreas(value, self.variance * part, self.df, units, tuple(sides))


def placements(score: Floats, pos: int) -> tuple[Floats, Floats]:
    """Give the share of the other class on the right side of positives, negatives.

    The first ``pos`` cases of each row are the positives.
    """
    n = score.shape[1]
    order = np.argsort(score, axis=1)
    below = np.cumsum(order >= pos, axis=1)  # negatives up to each place
    above = 1 - (np.arange(1, n + 1) - below) / pos
    placed = np.empty_like(score)
    ranked = np.where(order < pos, below / (n - pos), above)
    np.put_along_axis(placed, order, ranked, axis=1)
    return placed[:, :pos], placed[:, pos:]


def spreads(parts: Sequence[Floats], sizes: tuple[int, int]) -> SampledAreas:
    """Give variances and degrees of freedom, as ``inference.spread`` does."""
    value = parts[0].mean(axis=1)
    variance = doubt = np.zeros(value.size)
    for part, n in zip(parts, sizes, strict=True):
        square = (part - value[:, None]) ** 2
        two, four = square.mean(axis=1) / n, (square**2).mean(axis=1) / n**3
        less = max(n - 1, 1)
        variance = variance + two * n / less
        most = np.maximum(four - two**2 / n, 2 * two**2 / less)
        doubt = doubt + most * (n / less) ** 2
    df = 2 * variance**2 / np.where(doubt > 0, doubt, 1.0)
    return SampledAreas(value, variance, np.where(doubt > 0, df, np.inf), min(sizes))


def _normal_spread(area: float, *_: int) -> tuple[float, float]:
    r"""Both spreads are P(two of three) - A^2 of normals with correlation 1/2.

    Phi_2(h, h; 1/2) = A - 2 T(h, 1/sqrt(3)) with Owen's T and h = Phi^-1(A).
    """
    from scipy.special import ndtri, owens_t

    spread = area - 2 * float(owens_t(float(ndtri(area)), 1 / math.sqrt(3))) - area**2
    return spread, spread


def _fermi_spread(area: float, pos: int, neg: int) -> tuple[float, float]:
    fd = fermi_dirac(n=pos + neg, n_pos=pos, auc=area)
    return fd.p100 - area**2, fd.p110 - area**2


def _fermi_scores(rng: np.random.Generator, label: Array, area: float) -> Floats:
    """Put each case at a rank by its class; cases at one rank are in random order."""
    n, share = label.shape[-1], float(label.mean())
    n_pos = min(max(round(n * share), 1), n - 1)
    p = fermi_dirac(n=n, n_pos=n_pos, auc=area).probability(np.arange(1, n + 1))
    u = rng.random(label.shape)
    ranks = [np.searchsorted(np.cumsum(q) / q.sum(), u) for q in (1 - p, p)]
    return np.where(label, -ranks[1], -ranks[0]) + rng.random(label.shape)


# how far placements of both classes spread (of an AUC, positives, negatives), and how
# scores are drawn (of labels and an AUC)
MODELS: dict[str, tuple[Callable[..., tuple[float, float]], Callable[..., Any]]] = {
    "binormal": (
        _normal_spread,
        lambda rng, label, a: rng.normal(size=label.shape) + separation(a) * label,
    ),
    "hanley-mcneil": (
        lambda a, *_: exponential_spread(a),
        lambda rng, label, a: (
            rng.exponential(size=label.shape) * np.where(label, a / (1 - a), 1.0)
        ),
    ),
    "fermi-dirac": (_fermi_spread, _fermi_scores),
}


def model_variance(model: str, area: float, pos: int, neg: int) -> float:
    """How far does the AUC of a model vary between samples? Kim et al., eq. 18."""
    return float(pair_variance(area, *MODELS[model][0](area, pos, neg), pos, neg))


def difference_variance(a: float, b: float, rho: float, pos: int, neg: int) -> float:
    """Two areas covary over one pair, and over pairs that share a case (DeLong)."""
    own = sum(model_variance("binormal", area, pos, neg) for area in (a, b))
    pair, half = (_joint_excess(a, b, r) for r in (rho, rho / 2))
    return max(own - 2 * (pair + (pos + neg - 2) * half) / pos / neg, 1e-300)


def _joint_excess(a: float, b: float, rho: float) -> float:
    """Phi_2(h, k; rho) - a b by quadrature over rho (Plackett's identity)."""
    from scipy.special import ndtri

    h, k = float(ndtri(a)), float(ndtri(b))
    x, w = np.polynomial.legendre.leggauss(40)
    # d Phi_2 / d rho is the density; rho = sin(angle) takes away its pole at 1
    angle = math.asin(rho) * (x + 1) / 2
    s = np.sin(angle)
    inside = np.exp(-(h * h - 2 * h * k * s + k * k) / (2 * np.cos(angle) ** 2))
    return float(w @ inside) * math.asin(rho) / 2 / (2 * math.pi)
