"""How many cases are needed to know an AUC, a difference of two, or a rate well enough?

A plan is for the interval that will be reported: its width, and the chance that it
excludes what is to be excluded, in samples of a model of the scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.binomial import binomial_pmf, bulk, wilson
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Record
from trueness._core.solvers import smallest
from trueness.inference.intervals import normal_quantile, student_quantile
from trueness.inference.roc_intervals import design_effect, newcombe_intervals
from trueness.inference.variance import ClassSizes
from trueness.ranking.models import MODELS, joint_excess, model_variance, separation

_SAMPLING = ("case-control", "cohort")
# from this many cases of the smaller class on the AUC is normal enough
_MANY = 250
_SAMPLES = 4000
# of a class that is more times larger no more cases are drawn
_LARGER = 4
# power (NaN without a null) and mean half width that a number of cases reaches
Reach = tuple[float, float]
# AUCs of samples, or differences of two: values, variances, degrees of freedom and the
# numbers of positives and negatives
_Areas = tuple[Floats, Floats, Floats, tuple[int, int]]
Enough = Callable[[Reach], bool]


@final
@dataclass(frozen=True, repr=False)
class Plan(Record):
    """How many cases are needed?

    Attributes
    ----------
    n, n_pos, n_neg, counted : int
        Cases in all, positive, negative, and those in the denominator of a rate (in a
        cohort: expected).
    se, half_width : float
        Standard error that the estimate will have, and half the mean width of its
        interval; for a rate, that of Wilson's interval if the rate is as expected.
    power : float
        Probability that the interval excludes ``null``; NaN when no ``null`` was given.
    measure : str
        ``"AUC"``, ``"difference of AUCs"``, or a rate.
    value, null, prevalence, level, sampling, model
        What was given; only an AUC has a model of the scores.
    """

    n: int
    n_pos: int
    n_neg: int
    counted: int
    se: float
    half_width: float
    power: float
    measure: str
    value: float
    null: float
    prevalence: float
    level: float
    sampling: str = "case-control"
    model: str = "binormal"


def plan_auc(
    *,
    auc: float,
    prevalence: float = 0.5,
    half_width: float | None = None,
    null: float | None = None,
    power: float | None = None,
    level: float = 0.95,
    model: str = "binormal",
    sampling: str = "case-control",
) -> Plan:
    """How many cases are needed to estimate an AUC well enough?

    The smallest n, to a percent, for which the interval of :func:`auc` is on average at
    most 2 ``half_width`` wide, or excludes ``null`` with a probability of at least
    ``power``: of 4000 samples drawn from the model (seed 0), or, with more than 250
    cases of each class, of a normally distributed AUC.

    Parameters
    ----------
    auc, prevalence
        The AUC that is expected, and the share of positives that will be collected.
    half_width
        Wanted half width of the interval.
    null, power
        Instead of ``half_width``: the wanted power of the two-sided test against this
        AUC (0.9 when only ``null`` is given): how often the interval excludes it.
    level
        Confidence level of the interval; the test has level 1 - ``level``.
    model
        How the scores are distributed: ``"binormal"`` (equal spread; default),
        ``"hanley-mcneil"`` (exponential scores; a larger variance when positives are
        rare) or ``"fermi-dirac"`` (Kim et al. 2021, eq. 18).
    sampling
        ``"case-control"``: n_pos and n_neg cases are collected. ``"cohort"``: n cases
        as they come, so that the number of positives is random.

    Examples
    --------
    >>> plan = plan_auc(auc=0.8, prevalence=0.5, half_width=0.05)
    >>> plan.n_pos == plan.n_neg, plan.half_width <= 0.05
    (True, True)
    """
    _options.choice(model, MODELS, "model")
    _options.choice(sampling, _SAMPLING, "sampling")
    area, share, level = _shares(auc=auc, prevalence=prevalence, level=level)
    null, enough = _goal("plan_auc", area, half_width, null, power, level)
    question = _auc_question(area, null, share, level, model, sampling)
    return _planned("plan_auc", question, enough, "AUC", model)


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
    """How many cases are needed to show that two AUCs on the same cases differ?

    Of bivariate normal scores with equal standard deviations; the test is that of
    :func:`compare_auc`. The ``value`` of the plan is the difference.

    Parameters
    ----------
    first, second, correlation
        The AUCs that are expected, and the correlation of the two scores within a
        class.
    half_width, power
        Wanted half width of the interval of the difference, or instead the wanted power
        of the paired test of equal AUCs (0.9 when neither is given).
    prevalence, level
        As in :func:`plan_auc`.

    Examples
    --------
    >>> plan = plan_auc_difference(first=0.85, second=0.8, power=0.8)
    >>> plan.power >= 0.8
    True
    """
    a, b = _shares(first=first, second=second)
    rho = _options.real_number(correlation, "correlation")
    if not -1 <= rho < 1:
        raise InputError(f"correlation must lie in [-1, 1); found {rho:g}.")
    share, level = _shares(prevalence=prevalence, level=level)
    if half_width is not None and power is not None:
        raise InputError("plan_auc_difference needs one goal: half_width= or power=.")
    if half_width is None and a == b:
        raise InputError(
            f"plan_auc_difference needs two AUCs that differ; both are {a:g}. No "
            "number of cases can show a difference."
        )
    enough = _enough(half_width, 0.9 if power is None else power)
    shift = np.array([separation(a), separation(b)])

    def draw(rng: np.random.Generator, label: Array) -> Floats:
        z = rng.normal(size=(2, *label.shape))
        z[1] = rho * z[0] + math.sqrt(1 - rho**2) * z[1]
        return np.asarray(z + shift[:, None, None] * label)

    def variance(pos: int, neg: int) -> float:
        """Two areas covary over one pair, and over pairs that share a case (DeLong)."""
        own = sum(model_variance("binormal", area, pos, neg) for area in (a, b))
        pair, half = (joint_excess(a, b, r) for r in (rho, rho / 2))
        return max(own - 2 * (pair + (pos + neg - 2) * half) / pos / neg, 1e-300)

    question = _Question(a - b, 0.0, share, level, draw, variance, two=True)
    return _planned("plan_auc_difference", question, enough, "difference of AUCs")


def plan_rate(
    rate: str,
    *,
    value: float,
    prevalence: float = 0.5,
    recall: float | None = None,
    half_width: float | None = None,
    null: float | None = None,
    power: float | None = None,
    level: float = 0.95,
    sampling: str = "cohort",
) -> Plan:
    """How many cases are needed to estimate recall, specificity or precision?

    The half width is that of Wilson's interval if the rate is as expected; the power is
    an exact sum over the binomial distribution.

    Parameters
    ----------
    rate, value
        ``"recall"`` (sensitivity), ``"specificity"`` or ``"precision"`` (PPV), which is
        always planned for a cohort; and what is expected of it.
    recall
        For precision only: the recall that is expected, from which the number of
        flagged cases follows.
    prevalence, half_width, null, power, level
        As in :func:`plan_auc`, of this rate.
    sampling
        ``"cohort"``: cases as they come, so that the denominator of the rate is random.
        ``"case-control"``: the denominator is fixed.

    Examples
    --------
    >>> plan = plan_rate("recall", value=0.9, prevalence=0.1, half_width=0.05)
    >>> plan.half_width <= 0.05, plan.n > plan.counted
    (True, True)
    """
    _options.choice(rate, ("recall", "sensitivity", "specificity", "precision"), "rate")
    _options.choice(sampling, _SAMPLING, "sampling")
    expected, share, level = _shares(value=value, prevalence=prevalence, level=level)
    part = _part(rate, expected, share, recall)
    base, enough = _goal("plan_rate", expected, half_width, null, power, level)
    random = sampling == "cohort" or rate == "precision"

    def reached(n: int) -> Reach:
        """Return the chance to exclude the null, and the half width."""
        sizes, weights = _denominators(n, part, random=random)
        pairs = list(zip(sizes.tolist(), weights.tolist(), strict=True))
        half = sum(w * _wilson_half_width(expected, k, level) for k, w in pairs)
        if math.isnan(base):
            return math.nan, half
        power = sum(w * _wilson_power(expected, base, k, level) for k, w in pairs)
        return power, half

    n = smallest(lambda k: enough(reached(k)), start=4, what="plan_rate")
    if null is not None:  # the power climbs in steps: it must hold from here on
        while not all(enough(reached(k)) for k in range(n, n + 4)):
            n += 1
    (reach, half), counted = reached(n), max(1, round(n * part))
    sd = math.sqrt(expected * (1 - expected) / counted)
    came, sizes = _SAMPLING[random], _split(n, share)
    return Plan(
        n, *sizes, counted, sd, half, reach, rate, expected, base, share, level, came,
        model="",
    )  # fmt: skip


def _denominators(n: int, part: float, *, random: bool) -> tuple[Floats, Floats]:
    """Return denominators that the rate may have among n cases, and their weights."""
    if not random:
        return np.array([max(1.0, round(n * part))]), np.ones(1)

    reach = 9 * math.sqrt(n * part * (1 - part)) + 9
    first = max(0, int(n * part - reach))
    last = min(n, int(n * part + reach) + 1)
    # many sizes differ little: forty of them carry the mean
    sizes = np.unique(np.linspace(first, last, min(last - first + 1, 41)).round())
    weights = binomial_pmf(sizes, n, part)
    return sizes, weights / weights.sum()


def _wilson_half_width(rate: float, size: float, level: float) -> float:
    """Return half the width of Wilson's interval of a rate that is as expected."""
    low, high = wilson(np.array(rate * size), size, level)
    return float(high - low) / 2


def _wilson_power(rate: float, null: float, size: float, level: float) -> float:
    """Return how often Wilson's interval excludes the null: an exact binomial sum."""
    (first,), (last,) = bulk(int(size), np.array([rate]))
    counts = np.arange(int(first), int(last) + 1)
    low, high = wilson(counts, size, level)
    excluded = (null < low) | (null > high)
    return float(binomial_pmf(counts, size, rate)[excluded].sum())


def _shares(**given: float) -> list[float]:
    return [_options.fraction(value, name) for name, value in given.items()]


def _enough(half_width: float | None, power: float | None) -> Enough:
    """Ask for a half width, or for a power."""
    if half_width is not None:
        widest = _options.fraction(half_width, "half_width")
        return lambda reach: reach[1] <= widest
    least = _options.fraction(power, "power")
    return lambda reach: reach[0] >= least


def _goal(
    what: str,
    value: float,
    half_width: float | None,
    null: float | None,
    power: float | None,
    level: float,
) -> tuple[float, Enough]:
    """Which half width, or which power against which null, is wanted?"""
    if (half_width is None) == (null is None) or (power is not None and null is None):
        raise InputError(
            f"{what} needs one goal: half_width=0.03, or null=0.75 with power=0.9."
        )
    if null is None:
        return math.nan, _enough(half_width, None)
    base = _options.fraction(null, "null", ends="[]")
    if base == value:
        raise InputError(
            f"{what} needs null to differ from what is expected; both are {value:g}. "
            "No number of cases can show a difference."
        )
    least = 0.9 if power is None else _options.fraction(power, "power")
    if least <= 1 - level:
        raise InputError(
            f"power={least:g} is below the level of the test; any sample has more."
        )
    return base, _enough(None, least)


def _part(rate: str, value: float, share: float, recall: object) -> float:
    """Which part of all cases is the rate a share of?"""
    if rate != "precision":
        return 1 - share if rate == "specificity" else share
    if recall is None:
        raise InputError(
            "plan_rate of precision needs the recall that is expected, which says "
            "how many cases will be flagged. Type recall=0.8."
        )
    flagged = share * _options.fraction(recall, "recall") / value
    if flagged >= 1:
        raise InputError(
            f"A precision of {value:g} at this recall and prevalence would flag "
            f"more cases than there are. Is one of them too high?"
        )
    return flagged


def _planned(
    what: str, q: _Question, enough: Enough, measure: str, model: str = "binormal"
) -> Plan:
    """Search from a third of what the normal law asks for, which is too few."""
    rough = smallest(lambda n: enough(q.by_law(n)), start=4, what=what)
    step = max(1, rough // 100)
    start = max(4, rough // 3) // step
    n = step * smallest(lambda k: enough(q.reach(k * step)), start=start, what=what)
    sizes, (power, half) = _split(n, q.share), q.reach(n)
    sd, came = math.sqrt(q.variance(*sizes)), _SAMPLING[q.cohort]
    return Plan(
        n, *sizes, n, sd, half, power, measure, q.value, q.null, q.share, q.level, came,
        model,
    )  # fmt: skip


def outlook(plan: Plan, sizes: Sequence[int]) -> Floats:
    """Which power, or which half width, would other numbers of cases reach?"""
    given = ("value", "null", "prevalence", "level", "model", "sampling")
    question = _auc_question(*(getattr(plan, k) for k in given))
    which = int(math.isnan(plan.null))
    return np.array([question.reach(int(n))[which] for n in sizes])


def _split(n: int, share: float) -> tuple[int, int]:
    """How many of n cases are positive and negative? At least two of each."""
    pos = min(max(2, round(n * share)), n - 2)
    return pos, n - pos


class _Question(NamedTuple):
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
        many = min(_split(n, self.share)) >= _MANY
        power, half = self.by_law(n) if many else self._by_samples(n)
        return math.nan if math.isnan(self.null) else power, half

    def _judged(self, areas: Sequence[_Areas]) -> tuple[Array, Floats]:
        """Which samples exclude the null, and how wide is half of each interval?"""
        low, high = _limits(areas, self.level, self.two)
        return (self.null < low) | (self.null > high), (high - low) / 2

    def by_law(self, n: int) -> Reach:
        """Take the mean over 999 quantiles of a normal law with the exact variance."""
        pos, neg = _split(n, self.share)
        quantile = np.array([NormalDist().inv_cdf(k / 1000) for k in range(1, 1000)])
        variance = np.full(quantile.size, self.variance(pos, neg))
        value = self.value + quantile * np.sqrt(variance)
        if not self.two:  # the variance of an AUC goes with a(1 - a)
            a, area = (np.clip(x, 1e-9, 1 - 1e-9) for x in (value, self.value))
            variance = variance * a * (1 - a) / (area * (1 - area))
        df = np.full(value.size, pos + neg - 2.0)
        out, half = self._judged([(value, variance, df, (pos, neg))])
        return float(np.mean(out)), float(np.mean(half))

    def _by_samples(self, n: int) -> Reach:
        """Draw samples; one without both classes excludes nothing."""
        rng = np.random.default_rng(0)
        n_pos = np.full(_SAMPLES, _split(n, self.share)[0])
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
            first, second = placed
            placed = [(first[0] - second[0], first[1] - second[1])]
        areas = [_spreads(parts, (pos, neg)) for parts in placed]
        if (pos, neg) == sizes:
            return areas
        # as the exact variances of the larger and of the smaller number of cases say
        part = self.variance(*sizes) / self.variance(pos, neg)
        centres = [self.value, *(float(value.mean()) for value, *_ in areas[1:])]
        return [
            (c + (value - c) * math.sqrt(part), variance * part, df, sizes)
            for c, (value, variance, df, _) in zip(centres, areas, strict=True)
        ]


def _limits(
    areas: Sequence[_Areas], level: float, two: bool = False
) -> tuple[Floats, Floats]:
    """Give limits as ``inference`` does; of a difference on the plain scale."""
    from scipy.special import stdtrit

    value, variance, df, sizes = areas[0]
    if two:
        half = stdtrit(np.maximum(df, 1.0), (1 + level) / 2) * np.sqrt(variance)
        return value - half, value + half
    return _newcombe_limits(value, variance, sizes, level)


def _newcombe_limits(
    value: Floats, variance: Floats, sizes: tuple[int, int], level: float
) -> tuple[Floats, Floats]:
    """Return the intervals of many AUCs, as ``inference.intervals`` has them."""
    positives, negatives = sizes
    class_sizes = ClassSizes(positives, negatives, positives, negatives)
    area = np.clip(value, 0.0, 1.0)
    varies = (variance > 0) & (area > 0) & (area < 1)
    of_students = student_quantile(min(sizes) - 1, level)
    quantile = np.where(varies, of_students, normal_quantile(level))
    # one half stands for areas that did not vary, whose effect is not used
    inside = np.where(varies, area, 0.5)
    effect = np.where(varies, design_effect(inside, variance, class_sizes), 1.0)
    return newcombe_intervals(area, effect, class_sizes, quantile)


def _placements(score: Floats, pos: int) -> tuple[Floats, Floats]:
    """Give the share of the other class on the right side; the first are positive."""
    n = score.shape[1]
    order = np.argsort(score, axis=1)
    below = np.cumsum(order >= pos, axis=1)  # negatives up to each place
    above = 1 - (np.arange(1, n + 1) - below) / pos
    placed = np.empty_like(score)
    ranked = np.where(order < pos, below / (n - pos), above)
    np.put_along_axis(placed, order, ranked, axis=1)
    return placed[:, :pos], placed[:, pos:]


def _spreads(parts: Sequence[Floats], sizes: tuple[int, int]) -> _Areas:
    """Give variances and degrees of freedom, as ``inference.variance`` does."""
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
    return value, variance, np.where(doubt > 0, df, np.inf), sizes


def _auc_question(
    auc: float, null: float, prevalence: float, level: float, model: str, sampling: str
) -> _Question:
    """Ask for the interval of :func:`auc`."""
    return _Question(
        *(auc, null, prevalence, level),
        lambda rng, label: np.asarray(MODELS[model].draw(rng, label, auc))[None],
        lambda pos, neg: model_variance(model, auc, pos, neg),
        cohort=sampling == "cohort",
    )
