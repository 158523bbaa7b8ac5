"""How many cases are needed to estimate an AUC well enough?

A plan is for the interval that will be reported: its width, and the chance that it
excludes what is to be excluded, are those of samples drawn from a model of the scores
(few cases) or of the large-sample law of the same interval (many).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Record
from trueness._core.search import smallest
from trueness.fermi.distribution import fermi_dirac
from trueness.ranking.auc_intervals import (
    AucSample,
    exponential_spread,
    pair_variance,
    score_ends,
    score_test,
)
from trueness.ranking.gaussian import separation


@final
@dataclass(frozen=True, repr=False)
class Plan(Record):
    """How many cases are needed?

    Attributes
    ----------
    n, n_pos, n_neg : int
        Cases in all, positive and negative (in a cohort: expected).
    sd : float
        Standard error that the AUC will have.
    half_width : float
        Half the mean width that its interval will have.
    power : float
        Probability that the interval excludes ``null``; NaN when no ``null`` was given.
    auc, null, prevalence, level : float
        The values that were given.
    method : str
        The interval that will be reported.
    model : str
        The model of the scores.
    sampling : str
        Is the number of positives fixed by design, or random?
    """

    n: int
    n_pos: int
    n_neg: int
    sd: float
    half_width: float
    power: float
    auc: float
    null: float
    prevalence: float
    level: float
    method: str
    model: str = "binormal"
    sampling: str = "case-control"


class _Design(NamedTuple):
    """What a plan was asked for: the last fields of :class:`Plan`."""

    auc: float
    null: float
    prevalence: float
    level: float
    method: str
    model: str
    sampling: str


class Reach(NamedTuple):
    """What a number of cases reaches: power, and mean half width."""

    power: float
    half_width: float


def plan_auc(
    *,
    auc: float,
    prevalence: float = 0.5,
    half_width: float | None = None,
    null: float | None = None,
    power: float | None = None,
    level: float = 0.95,
    method: str = "score",
    model: str = "binormal",
    sampling: str = "case-control",
) -> Plan:
    r"""How many cases are needed to estimate an AUC well enough?

    The answer is the smallest n for which the interval that will be reported is on
    average at most 2 ``half_width`` wide, or excludes ``null`` with a probability of at
    least ``power``.

    Parameters
    ----------
    auc
        The AUC that is expected.
    prevalence
        Share of positives among the cases that will be collected.
    half_width
        Wanted half width of the interval.
    null, power
        Instead of ``half_width``: the wanted power of the two-sided test against this
        AUC (0.9 when only ``null`` is given), which is the probability that the
        interval excludes it.
    level
        Confidence level of the interval; the test has level 1 - ``level``.
    method
        The interval that will be reported: ``"score"``, the default of :func:`auc`, or
        ``"delong"``. (As in earlier versions, the name of a model given here is taken
        as ``model``.)
    model
        How the scores are distributed, one of ``VARIANCES``: ``"binormal"`` (equal
        spread; default), ``"hanley-mcneil"`` (exponential scores; a larger variance
        when positives are rare) or ``"fermi-dirac"``.
    sampling
        ``"case-control"``: n_pos and n_neg cases are collected. ``"cohort"``: n cases
        as they come, so that the number of positives is random.

    Returns
    -------
    Plan
        The number of positives is n times the prevalence, rounded, and at least two.

    Notes
    -----
    With up to 150 cases of a class, width and power are those of 4000 samples drawn
    from the model (seed 0). With more, they are those of the same interval when the AUC
    is normally distributed about its mean, with the exact variance for n_pos and n_neg
    cases, eq. 18 of Kim et al. (2021). Both are confirmed by simulation in
    ``docs/maths/ranking.md``. No plan has fewer cases than an exact test needs: under
    ``null``, a perfectly separated sample must be less probable than (1 - level) / 2.

    References
    ----------
    Hanley, McNeil (1982), Radiology 143:29, doi:10.1148/radiology.143.1.7063747

    Examples
    --------
    >>> plan = plan_auc(auc=0.8, prevalence=0.5, half_width=0.05)
    >>> plan.n_pos == plan.n_neg, plan.half_width <= 0.05
    (True, True)
    """
    if isinstance(method, str) and method in VARIANCES:
        method, model = "score", method
    _options.choice(method, ("score", "delong"), "method")
    _options.choice(model, VARIANCES, "model")
    _options.choice(sampling, ("cohort", "case-control"), "sampling")
    area = _options.fraction(auc, "auc")
    share = _options.fraction(prevalence, "prevalence")
    level = _options.fraction(level, "level")
    goal, base = asked_goal("plan_auc", area, half_width, null, power, level)
    design = _Design(area, base, share, level, method, model, sampling)

    def enough(n: int) -> bool:
        if null is not None and not _perfect_is_rare(design, n):
            return False
        reach = _reach(design, n, width=null is None)
        return reach.half_width <= goal if null is None else reach.power >= goal

    n = smallest(enough, start=_first(design, goal), what="plan_auc")
    (n_pos, n_neg), sd = split_cases(n, share), _sd(area, share, n, model)
    power_then, half = _reach(design, n)
    return Plan(n, n_pos, n_neg, sd, half, power_then, *design)


def _first(d: _Design, goal: float) -> int:
    """Give a size that is too small: a third of what a normal AUC would need."""
    z = NormalDist().inv_cdf((1 + d.level) / 2)
    most = goal / z
    if not math.isnan(d.null):
        most = abs(d.auc - d.null) / max(z + NormalDist().inv_cdf(goal), 0.5)
    n = smallest(lambda k: _sd(d.auc, d.prevalence, k, d.model) <= most, start=4)
    return max(4, n // 3)


def outlook(plan: Plan, sizes: Sequence[int]) -> Floats:
    """Which power, or which half width, would other numbers of cases reach?"""
    design = _Design(*(getattr(plan, name) for name in _Design._fields))
    reach = [_reach(design, int(n)) for n in sizes]
    which = 1 if math.isnan(plan.null) else 0
    return np.array([r[which] for r in reach])


def asked_goal(
    what: str,
    value: float,
    half_width: object,
    null: object,
    power: object,
    level: float,
) -> tuple[float, float]:
    """Which half width, or which power against which null, is wanted?"""
    if (half_width is None) == (null is None) or (power is not None and null is None):
        raise InputError(
            f"{what} needs one goal: half_width=0.03, or null=0.75 with power=0.9."
        )
    if null is None:
        return _options.fraction(half_width, "half_width"), math.nan
    base = _options.fraction(null, "null", ends="[]")
    if base == value:
        raise InputError(
            f"{what} needs null to differ from what is expected; both are {value:g}. "
            "No number of cases can show a difference."
        )
    goal = 0.9 if power is None else _options.fraction(power, "power")
    if goal <= 1 - level:
        raise InputError(
            f"power={goal:g} is below the level of the test; any sample has more."
        )
    return goal, base


def split_cases(n: int, share: float) -> tuple[int, int]:
    """How many of n cases are positive and negative? At least two of each."""
    pos = min(max(2, round(n * share)), n - 2)
    return pos, n - pos


def _sd(area: float, share: float, n: int, model: str) -> float:
    pos, neg = split_cases(n, share)
    return math.sqrt(VARIANCES[model](area, pos, neg))


# from this many cases of the smaller class on the AUC is normal enough
_MANY = 150
_SAMPLES = 4000


def _reach(d: _Design, n: int, *, width: bool = True) -> Reach:
    """How wide is the interval of n cases, and how often does it exclude the null?"""
    if min(split_cases(n, d.prevalence)) >= _MANY:
        return _large(d, n, width)
    return _small(d, n, width)


def _large(d: _Design, n: int, width: bool) -> Reach:
    """By the law of a normal AUC: the mean over 999 of its quantiles."""
    n_pos, n_neg = split_cases(n, d.prevalence)
    quantile = np.array([NormalDist().inv_cdf(k / 1000) for k in range(1, 1000)])
    a = np.clip(d.auc + quantile * _sd(d.auc, d.prevalence, n, d.model), 1e-9, 1 - 1e-9)
    pos, neg = SPREADS[d.model](d.auc, n_pos, n_neg)
    # the spread follows the AUC of the sample as that of the exponential model does
    area = min(max(d.auc, 1e-9), 1 - 1e-9)
    scale = np.maximum(*exponential_spread(a)) / max(exponential_spread(area))
    return _answered(d, AucSample(a, pos * scale, neg * scale, n_pos, n_neg), width)


def _answered(d: _Design, seen: AucSample, width: bool) -> Reach:
    """Make the interval of many samples: mean half width, share without the null."""
    power = math.nan
    if d.method == "score" and not math.isnan(d.null):
        # the test alone: while a size is searched for nobody asks for the limits
        power = float(np.mean(score_test(seen, d.level)(d.null)))
        if not width:
            return Reach(power, math.nan)
    ends_of = score_ends if d.method == "score" else _delong_ends
    low, high = ends_of(seen, d.level)
    if d.method != "score" and not math.isnan(d.null):
        power = float(np.mean((d.null < low) | (d.null > high)))
    return Reach(power, float(np.mean(high - low)) / 2)


def _delong_ends(seen: AucSample, level: float) -> tuple[Array, Array]:
    """Give DeLong's limits, and the score interval where there is no spread."""
    error = np.sqrt(seen.pos_var / seen.n_pos + seen.neg_var / seen.n_neg)
    half = NormalDist().inv_cdf((1 + level) / 2) * error
    low, high = np.maximum(seen.auc - half, 0.0), np.minimum(seen.auc + half, 1.0)
    stand = score_ends(seen, level)
    flat = ~(half > 0)
    return np.where(flat, stand[0], low), np.where(flat, stand[1], high)


def _small(d: _Design, n: int, width: bool) -> Reach:
    """By drawing samples; one without both classes excludes nothing."""
    rng = np.random.default_rng(0)
    step = max(1, (1 << 21) // min(n, CROWD))
    parts = [
        _placed(d, n, min(step, _SAMPLES - start), rng)
        for start in range(0, _SAMPLES, step)
    ]
    a, pos, neg, n_pos, n_neg = (np.concatenate(c) for c in zip(*parts, strict=True))
    seen = AucSample(a, pos, neg, n_pos, n_neg)
    reach, share = _answered(d, seen, width), a.size / _SAMPLES
    return Reach(reach.power * share, reach.half_width * share + (1 - share) / 2)


def _placed(
    d: _Design, n: int, samples: int, rng: np.random.Generator
) -> tuple[Array, ...]:
    """Draw samples: their AUCs, spreads of the placement values, and class sizes."""
    n_pos = np.full(samples, split_cases(n, d.prevalence)[0])
    if d.sampling == "cohort":
        n_pos = rng.binomial(n, d.prevalence, samples)
        n_pos = n_pos[(n_pos > 0) & (n_pos < n)]
    if n_pos.size and max(split_cases(n, d.prevalence)) >= CROWD:
        return _placed_in_a_crowd(d, n, n_pos, rng)
    label = np.arange(n) < n_pos[:, None]
    score = DRAWS[d.model](rng, label, d.auc, d.prevalence, n)
    label = np.take_along_axis(label, np.argsort(-score, axis=1), axis=1)
    above = np.cumsum(label, axis=1)
    size, rest = n_pos[:, None], n - n_pos[:, None]
    # from the top: the negatives that are not yet met
    below = rest - (np.arange(1, n + 1) - above)
    a = np.where(label, below, 0).sum(axis=1) / n_pos / (n - n_pos)
    pos = _spread(below / rest, label, a, n_pos)
    neg = _spread(above / size, ~label, a, n - n_pos)
    return a, pos, neg, n_pos, n - n_pos


# a class of so many cases is as good as its population, of which so many are drawn
CROWD, _POPULATION = 2000, 200_000


def _placed_in_a_crowd(
    d: _Design, n: int, n_pos: Array, rng: np.random.Generator
) -> tuple[Array, ...]:
    r"""Draw the smaller class only, and place it in the population of the larger one.

    With places u of the r smaller ones, each case x of the crowd has the placement
    :math:`G(x)`, the share of the r beyond it, and

    .. math:: E\,G^2 = \frac{1}{r^2} \sum_{i,j} \min(u_i, u_j)
              = \frac{1}{r^2} \sum_k (2k - 1)\, u_{(k)}, \qquad
              u_{(1)} \ge u_{(2)} \ge \dots

    What the crowd, itself a sample, adds to the AUC is normal with that spread.
    """
    rare = d.prevalence < 0.5
    few, many = (n_pos, n - n_pos) if rare else (n - n_pos, n_pos)
    draw, k = DRAWS[d.model], np.arange(1, few.max() + 1)
    asked = (d.auc, d.prevalence, _POPULATION)
    crowd = np.sort(draw(rng, np.full((1, _POPULATION), not rare), *asked)[0])
    score = draw(rng, np.full((few.size, k.size), rare), *asked)
    met = k <= few[:, None]
    place = np.searchsorted(crowd, score) / _POPULATION
    u = np.where(met, place if rare else 1 - place, 0.0)
    a = u.sum(axis=1) / few
    squares = -np.sort(-u, axis=1) @ (2.0 * k - 1) / few**2
    spreads = [_spread(u, met, a, few), np.maximum(squares - a**2, 0.0)]
    a = np.clip(a + rng.normal(size=a.size) * np.sqrt(spreads[1] / many), 0.0, 1.0)
    pos, neg = spreads if rare else spreads[::-1]
    return a, pos, neg, n_pos, n - n_pos


def _spread(value: Array, among: Array, mean: Array, n: Array) -> Array:
    square = np.where(among, (value - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return np.asarray(square / np.maximum(n - 1, 1))


def _perfect_is_rare(d: _Design, n: int) -> bool:
    r"""Could any exact test reject? The best possible sample must be rare enough.

    .. math:: P(\min s_+ > \max s_-) = \int n_0 \phi(x) \Phi(x)^{n_0 - 1}
              \Phi(\delta - x)^{n_1}\,dx \le (1 - \text{level}) / 2
    """
    if d.null in (0.0, 1.0):
        return True
    from scipy.special import log_ndtr

    n_pos, n_neg = split_cases(n, d.prevalence)
    null = d.null if d.auc > d.null else 1 - d.null
    # the highest negative at x, and all positives above it
    x = np.linspace(-9, 9, 2001)
    shift = separation(null)
    log = (n_neg - 1) * log_ndtr(x) + n_pos * log_ndtr(shift - x) - x * x / 2
    density = n_neg * np.exp(log) / math.sqrt(2 * math.pi)
    chance = float(density.sum() * (x[1] - x[0]))
    return chance <= (1 - d.level) / 2


def _fermi_scores(
    rng: np.random.Generator, label: Array, area: float, share: float, n: int
) -> Array:
    """Put each case at a rank by its class; cases at one rank are in random order."""
    fd = fermi_dirac(n=n, n_pos=split_cases(n, share)[0], auc=area)
    p = fd.probability(np.arange(1, n + 1))
    u = rng.random(label.shape)
    ranks = [np.searchsorted(np.cumsum(q) / q.sum(), u) for q in (1 - p, p)]
    return np.where(label, -ranks[1], -ranks[0]) + rng.random(label.shape)


def _binormal_spread(area: float, pos: int, neg: int) -> tuple[float, float]:
    r"""Both spreads are P(two of three) - A^2 of normals with correlation 1/2.

    Phi_2(h, h; 1/2) = A - 2 T(h, 1/sqrt(3)) with Owen's T and h = Phi^-1(A).
    """
    from scipy.special import ndtri, owens_t

    spread = area - 2 * float(owens_t(float(ndtri(area)), 1 / math.sqrt(3))) - area**2
    return spread, spread


def _fermi_spread(area: float, pos: int, neg: int) -> tuple[float, float]:
    fd = fermi_dirac(n=pos + neg, n_pos=pos, auc=area)
    return fd.p100 - area**2, fd.p110 - area**2


def _variance(spread: Spreads, area: float, pos: int, neg: int) -> float:
    return float(pair_variance(area, *spread(area, pos, neg), pos, neg))


Spreads = Callable[[float, int, int], tuple[float, float]]
# how far placement values of positives and negatives spread
SPREADS: dict[str, Spreads] = {
    "binormal": _binormal_spread,
    "hanley-mcneil": lambda area, pos, neg: exponential_spread(area),
    "fermi-dirac": _fermi_spread,
}
# how far the AUC of each model varies between samples
VARIANCES: dict[str, Callable[[float, int, int], float]] = {
    name: partial(_variance, spread) for name, spread in SPREADS.items()
}
# scores of cases whose labels are given, at an AUC, a share of positives and a size
DRAWS: dict[str, Callable[[np.random.Generator, Array, float, float, int], Array]] = {
    "binormal": lambda rng, label, area, share, n: (
        rng.normal(size=label.shape) + separation(area) * label
    ),
    "hanley-mcneil": lambda rng, label, area, share, n: (
        rng.exponential(size=label.shape) * np.where(label, area / (1 - area), 1.0)
    ),
    "fermi-dirac": _fermi_scores,
}
