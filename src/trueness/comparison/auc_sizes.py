"""How many cases are needed to tell two AUCs on the same cases apart?"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.search import smallest
from trueness.comparison.contrasts import ContrastPart, freedom, variance
from trueness.ranking.auc_intervals import student_quantile
from trueness.ranking.sample_sizes import CROWD, VARIANCES, Plan, Reach, split_cases

# from this many cases of the smaller class on the difference is normal enough
_MANY = 150
_SAMPLES = 2000
# a power this near to the goal is drawn more often: the smallest of several numbers of
# cases would otherwise be one whose samples happened to show too much
_NEAR, _MORE_SAMPLES = 0.03, 8000


class _SizedPair(NamedTuple):
    first: float
    second: float
    rho: float  # of the scores within a class
    share: float
    level: float
    goal: float = math.nan  # the power to reach, where not a width is


def plan_auc_difference(
    *,
    first: float,
    second: float,
    correlation: float = 0.5,
    prevalence: float = 0.5,
    half_width: float | None = None,
    power: float | None = None,
    level: float = 0.95,
) -> Plan:
    r"""How many cases are needed to show that two AUCs on the same cases differ?

    .. math:: \mathrm{cov} = \frac{[\Phi_2(h_1, h_2; \rho) - A_1 A_2]
              + (N_1 + N_0 - 2) [\Phi_2(h_1, h_2; \rho/2) - A_1 A_2]}{N_1 N_0}

    Parameters
    ----------
    first, second
        The AUCs that are expected.
    correlation
        Correlation between the two scores within a class.
    prevalence
        Share of positives.
    half_width
        Wanted half width of the interval of the difference.
    power
        Instead of ``half_width``: the wanted power of the paired test of equal AUCs
        (0.9 when neither is given).
    level
        Confidence level; the test has level 1 - ``level``.

    Returns
    -------
    Plan
        Its ``auc`` is the difference of the AUCs, and its ``null`` is 0.

    Notes
    -----
    The model is that of bivariate normal scores with equal standard deviations: two
    pairs of cases that share a positive or a negative have the correlation rho / 2, and
    the same pair has rho. With up to 150 cases of a class, power and width are those of
    the test of :func:`compare_auc` in 2000 samples drawn from that model (seed 0), in
    8000 where the power is near the goal. With more, they are those of a normally
    distributed difference with this variance.

    Examples
    --------
    >>> plan = plan_auc_difference(first=0.85, second=0.8, power=0.8)
    >>> plan.power >= 0.8
    True
    """
    a, b = _options.fraction(first, "first"), _options.fraction(second, "second")
    rho = _options.real_number(correlation, "correlation")
    if not -1 <= rho < 1:
        raise InputError(f"correlation must lie in [-1, 1); found {rho:g}.")
    share = _options.fraction(prevalence, "prevalence")
    level = _options.fraction(level, "level")
    if half_width is not None and power is not None:
        raise InputError("plan_auc_difference needs one goal: half_width= or power=.")
    if half_width is None and a == b:
        raise InputError(
            f"plan_auc_difference needs two AUCs that differ; both are {a:g}. No "
            "number of cases can show a difference."
        )
    goal = 0.9 if power is None else _options.fraction(power, "power")
    width = None if half_width is None else _options.fraction(half_width, "half_width")
    design = _SizedPair(a, b, rho, share, level, goal if width is None else math.nan)

    def fewest(reach: Callable[[_SizedPair, int], Reach], start: int) -> int:
        def enough(n: int) -> bool:
            found = reach(design, n)
            return found.power >= goal if width is None else found.half_width <= width

        return smallest(enough, start=start, what="plan_auc_difference")

    # half of what a normal difference of known variance would need is too few
    n = fewest(_reach, max(6, fewest(_large, 6) // 2))
    found, (pos, neg) = _reach(design, n), split_cases(n, share)
    sd = math.sqrt(_difference_variance(a, b, rho, pos, neg))
    asked = (a - b, 0.0, share, level, "delong", "binormal", "case-control")
    return Plan(n, pos, neg, sd, found.half_width, found.power, *asked)


def _reach(d: _SizedPair, n: int) -> Reach:
    """What does the test of n cases reach? By drawing where a class has few."""
    return _large(d, n) if min(split_cases(n, d.share)) >= _MANY else _small(d, n)


def _large(d: _SizedPair, n: int) -> Reach:
    """By the law of a normal difference with its exact variance."""
    pos, neg = split_cases(n, d.share)
    sd = math.sqrt(_difference_variance(d.first, d.second, d.rho, pos, neg))
    t = float(student_quantile(pos + neg - 2.0, d.level))
    return Reach(NormalDist().cdf(abs(d.first - d.second) / sd - t), t * sd)


def _small(d: _SizedPair, n: int) -> Reach:
    """By the paired test of ``compare_auc`` in samples drawn from the model."""
    from scipy.special import ndtri

    rng, sizes = np.random.default_rng(0), split_cases(n, d.share)
    shift = math.sqrt(2) * ndtri([d.first, d.second])
    draw = _drawn_in_a_crowd if max(sizes) >= CROWD else _drawn
    power, wide, done, samples = 0.0, 0.0, 0, _SAMPLES
    while done < samples:
        some = min(max(1, (1 << 19) // min(n, CROWD)), samples - done)
        found, parts = draw(d, shift, sizes, some, rng)
        half = student_quantile(freedom(parts), d.level) * np.sqrt(variance(parts))
        power += float(np.sum(np.abs(found) > half))
        wide += float(np.sum(half))
        done += some
        if done == _SAMPLES and abs(power / done - d.goal) < _NEAR:
            samples = _MORE_SAMPLES
    return Reach(power / samples, wide / samples)


_Parts = tuple[ContrastPart, ContrastPart]


def _drawn(
    d: _SizedPair,
    shift: Floats,
    sizes: tuple[int, int],
    samples: int,
    rng: np.random.Generator,
) -> tuple[Floats, _Parts]:
    """Draw differences of AUCs, with the spreads of both classes."""
    pos, neg = sizes
    label = np.arange(pos + neg) < pos
    z = _two_scores(d, (samples, pos + neg), rng)
    placed = [_placements(z[k] + shift[k] * label, pos) for k in (0, 1)]
    gap = placed[0] - placed[1]
    up, down = gap[:, :pos], gap[:, pos:]
    spreads = (part.var(axis=1, ddof=1) for part in (up, down))
    return up.mean(axis=1), (
        ContrastPart(next(spreads), pos),
        ContrastPart(next(spreads), neg),
    )


def _drawn_in_a_crowd(
    d: _SizedPair,
    shift: Floats,
    sizes: tuple[int, int],
    samples: int,
    rng: np.random.Generator,
) -> tuple[Floats, _Parts]:
    """Draw the smaller class only, and place it in the population of the larger one.

    The model is the same with both classes interchanged and the signs of scores turned,
    so that it does not matter which one is small. What the crowd, itself a sample, adds
    to the difference is normal.
    """
    from scipy.special import ndtr

    few, many = min(sizes), max(sizes)
    z = _two_scores(d, (samples, few), rng) + shift[:, None, None]
    crowd = _two_scores(d, (CROWD,), rng)
    gap = ndtr(z[0]) - ndtr(z[1])
    z.sort(axis=2)
    below = [
        np.array([np.searchsorted(row, crowd[k]) for row in z[k]]) / few for k in (0, 1)
    ]
    spread = (below[0] - below[1]).var(axis=1)
    noise = rng.normal(size=samples) * np.sqrt(spread / many)
    parts = ContrastPart(gap.var(axis=1, ddof=1), few), ContrastPart(spread, many)
    return gap.mean(axis=1) + noise, parts


def _two_scores(
    d: _SizedPair, shape: tuple[int, ...], rng: np.random.Generator
) -> Floats:
    """Draw two normal scores of the same cases, correlated within their class."""
    z = rng.normal(size=(2, *shape))
    z[1] = d.rho * z[0] + math.sqrt(1 - d.rho**2) * z[1]
    return z


def _placements(score: Floats, pos: int) -> Floats:
    """Give the share of the other class that each case has on the right side.

    The first ``pos`` cases are the positives; for negatives it is the share of
    positives above them.
    """
    n = score.shape[1]
    order = np.argsort(score, axis=1)
    below = np.cumsum(order >= pos, axis=1)  # negatives up to each place
    # positives: negatives below; negatives: positives above, all less those up to here
    ranked = np.where(
        order < pos, below / (n - pos), 1 - (np.arange(1, n + 1) - below) / pos
    )
    placed = np.empty_like(score)
    np.put_along_axis(placed, order, ranked, axis=1)
    return placed


def _difference_variance(a: float, b: float, rho: float, pos: int, neg: int) -> float:
    # DeLong's structure: two areas covary over the same pair, and over pairs that share
    # a positive or a negative
    own = sum(VARIANCES["binormal"](area, pos, neg) for area in (a, b))
    pair, half = (_both(a, b, r) - a * b for r in (rho, rho / 2))
    return max(own - 2 * (pair + (pos + neg - 2) * half) / pos / neg, 1e-300)


def _both(a: float, b: float, rho: float) -> float:
    """Phi_2(h, k; rho) by quadrature over the correlation (Plackett's identity)."""
    from scipy.special import ndtri

    h, k = float(ndtri(a)), float(ndtri(b))
    x, w = np.polynomial.legendre.leggauss(40)
    # d Phi_2 / d rho is the density; rho = sin(angle) takes away its pole at 1
    angle = math.asin(rho) * (x + 1) / 2
    s = np.sin(angle)
    inside = np.exp(-(h * h - 2 * h * k * s + k * k) / (2 * np.cos(angle) ** 2))
    return a * b + float(w @ inside) * math.asin(rho) / 2 / (2 * math.pi)
