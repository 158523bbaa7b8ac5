"""What does a number of cases reach? The limits of AUCs of many samples of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.fermi.distribution import fermi_dirac
from trueness.ranking.areas import exponential_spread, pair_variance
from trueness.ranking.gaussian import separation

# from this many cases of the smaller class on the AUC is normal enough
_MANY = 250
_SAMPLES = 4000
# of a class that is more times larger no more cases are drawn
_LARGER = 4
# power (NaN without a null) and mean half width that a number of cases reaches
Reach = tuple[float, float]
# AUCs of samples, or differences of two: value, variance, degrees of freedom and units
_Areas = tuple[Floats, Floats, Floats, int]


def split_cases(n: int, share: float) -> tuple[int, int]:
    """How many of n cases are positive and negative? At least two of each."""
    pos = min(max(2, round(n * share)), n - 2)
    return pos, n - pos


class Question(NamedTuple):
    """What is planned: a value, how it is drawn, and which interval answers."""

    value: float
    null: float
    share: float
    level: float
    draw: Callable[[np.random.Generator, Array], Floats]  # labels to (1 or 2, ...)
    variance: Callable[[int, int], float]
    two: bool = False  # is it a difference of two AUCs?
    cohort: bool = False

    def reach(self, n: int) -> Reach:
        """What do n cases reach? By drawing where a class has few."""
        many = min(split_cases(n, self.share)) >= _MANY
        power, half = self.by_law(n) if many else self._by_samples(n)
        return math.nan if math.isnan(self.null) else power, half

    def _judged(self, areas: Sequence[_Areas]) -> tuple[Array, Floats]:
        """Which samples exclude the null, and how wide is half of each interval?"""
        low, high = _limits(areas, self.level, self.two)
        return (self.null < low) | (self.null > high), (high - low) / 2

    def by_law(self, n: int) -> Reach:
        """Take the mean over 999 quantiles of a normal law with the exact variance."""
        pos, neg = split_cases(n, self.share)
        quantile = np.array([NormalDist().inv_cdf(k / 1000) for k in range(1, 1000)])
        variance = np.full(quantile.size, self.variance(pos, neg))
        value = self.value + quantile * np.sqrt(variance)
        if not self.two:  # the variance of an AUC goes with a(1 - a)
            a, area = (np.clip(x, 1e-9, 1 - 1e-9) for x in (value, self.value))
            variance = variance * a * (1 - a) / (area * (1 - area))
        df = np.full(value.size, pos + neg - 2.0)
        out, half = self._judged([(value, variance, df, min(pos, neg))])
        return float(np.mean(out)), float(np.mean(half))

    def _by_samples(self, n: int) -> Reach:
        """Draw samples; one without both classes excludes nothing."""
        rng = np.random.default_rng(0)
        n_pos = np.full(_SAMPLES, split_cases(n, self.share)[0])
        if self.cohort:
            n_pos = rng.binomial(n, self.share, _SAMPLES)
        excluded, half = 0.0, 0.5 * float(np.sum((n_pos == 0) | (n_pos == n)))
        for pos, times in zip(*np.unique(n_pos, return_counts=True), strict=True):
            sizes = int(pos), n - int(pos)
            step = max(1, (1 << 20) // min(n, (1 + _LARGER) * min(sizes) + 1))
            for start in range(0, int(times) if min(sizes) else 0, step):
                drawn = self._drawn(sizes, min(step, int(times) - start), rng)
                out, halves = self._judged(drawn)
                excluded, half = excluded + float(out.sum()), half + float(halves.sum())
        return excluded / _SAMPLES, half / _SAMPLES

    def _drawn(
        self, sizes: tuple[int, int], samples: int, rng: np.random.Generator
    ) -> list[_Areas]:
        """Draw values and their variances; more of a much larger class add little."""
        most = max(_LARGER * min(sizes), 20)
        pos, neg = (min(k, most) for k in sizes)
        label = np.tile(np.arange(pos + neg) < pos, (samples, 1))
        placed = [_placements(s, pos) for s in self.draw(rng, label)]
        if self.two:
            apart = [a - b for a, b in zip(*placed, strict=True)]
            placed.insert(0, (apart[0], apart[1]))
        areas = [_spreads(parts, (pos, neg)) for parts in placed]
        if (pos, neg) == sizes:
            return areas
        # as the exact variances of the larger and of the smaller number of cases say
        part = self.variance(*sizes) / self.variance(pos, neg)
        centres = [self.value, *(float(value.mean()) for value, *_ in areas[1:])]
        return [
            (c + (value - c) * math.sqrt(part), variance * part, df, min(sizes))
            for c, (value, variance, df, _) in zip(centres, areas, strict=True)
        ]


def _limits(
    areas: Sequence[_Areas], level: float, two: bool = False
) -> tuple[Floats, Floats]:
    """Give both limits, as ``inference`` makes them of an AUC, or of a contrast.

    Of a difference (``two``) both sides stand behind it, where they were drawn.
    """
    from scipy.special import stdtrit

    value, variance, df, units = areas[0]
    if len(areas) == 3:  # MOVER
        (one, v, *_), (other, w, *_) = areas[1:]
        (low, high), (least, most) = (_limits([x], level) for x in areas[1:])
        both = np.sqrt(v * w)
        joint = (v + w - variance) / 2
        r = np.clip(joint / np.where(both > 0, both, 1.0), -1, 1) * (both > 0)
        below, above = (
            np.sqrt(np.maximum(a**2 - 2 * r * a * b + b**2, 0.0))
            for a, b in ((one - low, most - other), (high - one, other - least))
        )
        return value - below, value + above
    t = stdtrit(np.maximum(df, 1.0), (1 + level) / 2)
    if two:
        half = t * np.sqrt(variance)
        return value - half, value + half
    a = np.clip(value, 0.0, 1.0)
    varied = (variance > 0) & (a > 0) & (a < 1)
    worth = a * (1 - a) / np.where(varied, variance, 1.0)
    z = NormalDist().inv_cdf((1 + level) / 2)
    k = np.where(varied, t, z) ** 2 / np.where(varied, worth, units)
    half = np.sqrt(k * a * (1 - a) + k * k / 4)
    return (a + k / 2 - half) / (1 + k), (a + k / 2 + half) / (1 + k)


def _placements(score: Floats, pos: int) -> tuple[Floats, Floats]:
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


def _spreads(parts: Sequence[Floats], sizes: tuple[int, int]) -> _Areas:
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
    return value, variance, np.where(doubt > 0, df, np.inf), min(sizes)


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
MODELS: dict[str, tuple[Callable[..., tuple[float, float]], Callable[..., Floats]]] = {
    "binormal": (
        lambda a, *_: (joint_excess(a, a, 0.5),) * 2,
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


def joint_excess(a: float, b: float, rho: float) -> float:
    """Phi_2(h, k; rho) - a b by quadrature over rho (Plackett's identity).

    At rho = 1/2 it is how far placements of normal scores spread, or spread together.
    """
    from scipy.special import ndtri

    h, k = float(ndtri(a)), float(ndtri(b))
    x, w = np.polynomial.legendre.leggauss(40)
    # d Phi_2 / d rho is the density; rho = sin(angle) takes away its pole at 1
    angle = math.asin(rho) * (x + 1) / 2
    s = np.sin(angle)
    inside = np.exp(-(h * h - 2 * h * k * s + k * k) / (2 * np.cos(angle) ** 2))
    return float(w @ inside) * math.asin(rho) / 2 / (2 * math.pi)


def auc_question(
    auc: float, null: float, prevalence: float, level: float, model: str, sampling: str
) -> Question:
    """Ask for the interval of :func:`auc`."""
    return Question(
        *(auc, null, prevalence, level),
        lambda rng, label: np.asarray(MODELS[model][1](rng, label, auc))[None],
        lambda pos, neg: model_variance(model, auc, pos, neg),
        cohort=sampling == "cohort",
    )
