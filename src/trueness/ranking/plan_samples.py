"""What does a number of cases reach, when scores follow a model?

Samples are drawn from the model and answered as the library answers: the share that
excludes the null is the power, and the mean width of the interval its width. Of many
cases the AUC is normal, with the exact variance of the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.search import smallest
from trueness.fermi.distribution import fermi_dirac
from trueness.ranking.areas import exponential_spread, pair_variance
from trueness.ranking.gaussian import separation


def split_cases(n: int, share: float) -> tuple[int, int]:
    """How many of n cases are positive and negative? At least two of each."""
    pos = min(max(2, round(n * share)), n - 2)
    return pos, n - pos


class Reach(NamedTuple):
    """What a number of cases reaches: power, and mean half width."""

    power: float
    half_width: float


class _SampledAreas(NamedTuple):
    """Values of samples, with their variances and degrees of freedom."""

    value: Floats
    variance: Floats
    df: Floats
    units: int
    sides: tuple[_SampledAreas, ...] = ()  # of a difference, where they were drawn

    def quantile(self, level: float) -> Floats:
        from scipy.special import stdtrit

        return np.asarray(stdtrit(np.maximum(self.df, 1.0), (1 + level) / 2))

    def limits(self, level: float) -> tuple[Floats, Floats]:
        """Give both limits of an AUC, as ``inference.limits`` makes them."""
        a = np.clip(self.value, 0.0, 1.0)
        varied = (self.variance > 0) & (a > 0) & (a < 1)
        n = np.where(
            varied, a * (1 - a) / np.where(varied, self.variance, 1.0), self.units
        )
        z = NormalDist().inv_cdf((1 + level) / 2)
        k = np.where(varied, self.quantile(level), z) ** 2 / n
        half = np.sqrt(k * a * (1 - a) + k * k / 4)
        return (a + k / 2 - half) / (1 + k), (a + k / 2 + half) / (1 + k)

    def difference_limits(self, level: float) -> tuple[Floats, Floats]:
        """Give both limits of a difference, as ``inference.differences`` makes them."""
        if not self.sides:
            half = self.quantile(level) * np.sqrt(self.variance)
            return self.value - half, self.value + half
        (low_a, high_a), (low_b, high_b) = (x.limits(level) for x in self.sides)
        a, b = self.sides
        both = np.sqrt(a.variance * b.variance)
        joint = (a.variance + b.variance - self.variance) / 2
        r = np.clip(joint / np.where(both > 0, both, 1.0), -1, 1) * (both > 0)

        def away(one: Floats, other: Floats) -> Floats:
            square = one**2 - 2 * r * one * other + other**2
            return np.sqrt(np.maximum(square, 0.0))

        below = away(a.value - low_a, high_b - b.value)
        return self.value - below, self.value + away(high_a - a.value, b.value - low_b)


# from this many cases of the smaller class on the AUC is normal enough
_MANY = 250
_SAMPLES = 4000
# of a class that is more times larger no more cases are drawn
_LARGER = 4


class PlanQuestion(NamedTuple):
    """What is planned: a value, how it is drawn, and which interval answers."""

    value: float
    null: float
    share: float
    level: float
    draw: Callable[[np.random.Generator, Array], Floats]  # labels to (1 or 2, ...)
    variance: Callable[[int, int], float]
    two: bool = False  # is it a difference of two AUCs?
    cohort: bool = False

    def fewest(self, what: str, enough: Callable[[Reach], bool]) -> int:
        """Search from a third of what the normal law asks for, which is too few."""
        rough = smallest(lambda n: enough(self._by_law(n)), start=4, what=what)
        step = max(1, rough // 100)
        start = max(4, rough // 3) // step
        k = smallest(lambda k: enough(self.reach(k * step)), start=start, what=what)
        return k * step

    def reach(self, n: int) -> Reach:
        """What do n cases reach? By drawing where a class has few."""
        many = min(split_cases(n, self.share)) >= _MANY
        return self._by_law(n) if many else self._by_samples(n)

    def answer(self, x: _SampledAreas) -> tuple[Any, Any]:
        """Which samples exclude the null, and how wide is half of each interval?"""
        low, high = (x.difference_limits if self.two else x.limits)(self.level)
        return (self.null < low) | (self.null > high), (high - low) / 2

    def _by_law(self, n: int) -> Reach:
        """Take the mean over 999 quantiles of a normal law with the exact variance."""
        pos, neg = split_cases(n, self.share)
        quantile = np.array([NormalDist().inv_cdf(k / 1000) for k in range(1, 1000)])
        variance = np.full(quantile.size, self.variance(pos, neg))
        value = self.value + quantile * np.sqrt(variance)
        if not self.two:  # the variance of an AUC goes with a(1 - a)
            a, area = (np.clip(x, 1e-9, 1 - 1e-9) for x in (value, self.value))
            variance = variance * a * (1 - a) / (area * (1 - area))
        df = np.full(value.size, pos + neg - 2.0)
        out, half = self.answer(_SampledAreas(value, variance, df, min(pos, neg)))
        return Reach(float(np.mean(out)), float(np.mean(half)))

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
                out, halves = self.answer(drawn)
                excluded, half = excluded + float(out.sum()), half + float(halves.sum())
        return Reach(excluded / _SAMPLES, half / _SAMPLES)

    def _drawn(
        self, sizes: tuple[int, int], samples: int, rng: np.random.Generator
    ) -> _SampledAreas:
        """Draw values and their variances; more of a much larger class add little.

        Then what varies is drawn closer to the expected value, as the exact variances
        of the larger and of the smaller number of cases say.
        """
        most = max(_LARGER * min(sizes), 20)
        pos, neg = (min(k, most) for k in sizes)
        label = np.tile(np.arange(pos + neg) < pos, (samples, 1))
        placed = [_placements(s, pos) for s in self.draw(rng, label)]
        each = [_spreads(parts, (pos, neg)) for parts in placed]
        if self.two:
            apart = [a - b for a, b in zip(*placed, strict=True)]
            each = [_spreads(apart, (pos, neg))._replace(sides=tuple(each))]
        if (pos, neg) == sizes:
            return each[0]
        closer = self.variance(*sizes) / self.variance(pos, neg)
        return _closer(each[0], self.value, closer, min(sizes))


def _closer(x: _SampledAreas, centre: float, part: float, units: int) -> _SampledAreas:
    """Draw values closer to their centre; sides of a difference about their means."""
    value = centre + (x.value - centre) * math.sqrt(part)
    sides = tuple(_closer(s, float(s.value.mean()), part, units) for s in x.sides)
    return _SampledAreas(value, x.variance * part, x.df, units, sides)


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


def _spreads(parts: Sequence[Floats], sizes: tuple[int, int]) -> _SampledAreas:
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
    return _SampledAreas(value, variance, np.where(doubt > 0, df, np.inf), min(sizes))


def auc_question(
    auc: float, null: float, prevalence: float, level: float, model: str, sampling: str
) -> PlanQuestion:
    """Ask for the interval of :func:`auc`."""
    return PlanQuestion(
        auc,
        null,
        prevalence,
        level,
        lambda rng, label: MODELS[model].draw(rng, label, auc)[None],
        lambda pos, neg: model_variance(model, auc, pos, neg),
        cohort=sampling == "cohort",
    )


class _ScoreModel(NamedTuple):
    # how far do placements of both classes spread, and how are scores drawn?
    spread: Callable[[float, int, int], tuple[float, float]]
    draw: Callable[[np.random.Generator, Array, float], Floats]


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


def _normal_scores(rng: np.random.Generator, label: Array, area: float) -> Floats:
    return np.asarray(rng.normal(size=label.shape) + separation(area) * label)


def _exponential_scores(rng: np.random.Generator, label: Array, area: float) -> Floats:
    mean = np.where(label, area / (1 - area), 1.0)
    return np.asarray(rng.exponential(size=label.shape) * mean)


MODELS: dict[str, _ScoreModel] = {
    "binormal": _ScoreModel(_normal_spread, _normal_scores),
    "hanley-mcneil": _ScoreModel(
        lambda a, *_: exponential_spread(a), _exponential_scores
    ),
    "fermi-dirac": _ScoreModel(_fermi_spread, _fermi_scores),
}


def model_variance(model: str, area: float, pos: int, neg: int) -> float:
    """How far does the AUC of a model vary between samples? Kim et al., eq. 18."""
    return float(pair_variance(area, *MODELS[model].spread(area, pos, neg), pos, neg))


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
