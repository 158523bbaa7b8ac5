"""How many cases are needed to estimate an AUC, a difference of AUCs, or a rate?

A plan is for the interval that will be reported: its width, or the probability that it
excludes a null value, in samples from a model of the scores.
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
from trueness._core.progress import stop_if_requested
from trueness._core.records import Record
from trueness._core.solvers import smallest
from trueness.inference.intervals import normal_quantile, student_quantile
from trueness.inference.roc_intervals import design_effect, newcombe_intervals
from trueness.inference.variance import ClassSizes
from trueness.ranking.models import MODELS, joint_excess, model_variance, separation

_SAMPLING = ("case-control", "cohort")
# with this many cases of the smaller class the AUC is nearly normal
_MIN_NORMAL = 250
_N_SAMPLES = 4000
# the largest ratio of class sizes in drawn samples
_MAX_CLASS_RATIO = 4


class Reach(NamedTuple):
    """Power (NaN without a null) and mean half-width for a number of cases."""

    power: float
    half_width: float


class _Areas(NamedTuple):
    """AUCs of samples, or differences of two, with their variances."""

    value: Floats
    variance: Floats
    degrees_of_freedom: Floats
    sizes: tuple[int, int]  # positives and negatives


Enough = Callable[[Reach], bool]


@final
@dataclass(frozen=True, repr=False)
class Plan(Record):
    """Sample size of a study.

    Attributes
    ----------
    n, n_pos, n_neg, denominator : int
        Numbers of cases, positives, negatives, and cases in the denominator of a rate
        (in a cohort: expected).
    se, half_width : float
        Standard error that the estimate will have, and half the mean width of its
        interval; for a rate, that of Wilson's interval if the rate is as expected.
    power : float
        Probability that the interval excludes ``null``; NaN when no ``null`` was given.
    measure : str
        ``"AUC"``, ``"difference of AUCs"``, or a rate.
    value, null, prevalence, level, sampling, model
        The arguments of the plan; only an AUC has a model of the scores.
    """

    n: int
    n_pos: int
    n_neg: int
    denominator: int
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
    """Sample size for an AUC: for the width of its interval, or the power of a test.

    How many cases are needed to estimate an AUC well enough?

    The smallest n, within one per cent, for which the interval of :func:`auc` is on
    average at most 2 ``half_width`` wide, or excludes ``null`` with a probability of at
    least ``power``. It comes from 4000 samples of the model (seed 0); with more than
    250 cases of each class the AUC is assumed normal.

    Parameters
    ----------
    auc, prevalence
        The AUC that is expected, and the prevalence among the cases collected.
    half_width
        Wanted half-width of the interval.
    null, power
        Instead of ``half_width``: the power of the two-sided test against this AUC,
        that is, how often the interval excludes it. It is 0.9 with ``null`` alone.
    level
        Confidence level of the interval; the test has level 1 - ``level``.
    model
        How the scores are distributed: ``"binormal"`` (equal variances; default),
        ``"hanley-mcneil"`` (exponential scores; a larger variance when positives are
        rare) or ``"fermi-dirac"`` (Kim et al. 2021, eq. 18).
    sampling
        ``"case-control"``: n_pos and n_neg cases are collected. ``"cohort"``: n
        consecutive or random cases, so that the number of positives is random.

    Examples
    --------
    >>> plan = plan_auc(auc=0.8, prevalence=0.5, half_width=0.05)
    >>> plan.n_pos == plan.n_neg, plan.half_width <= 0.05
    (True, True)
    """
    _options.choice(model, MODELS, "model")
    _options.choice(sampling, _SAMPLING, "sampling")
    area = _options.fraction(auc, "auc")
    prevalence = _options.fraction(prevalence, "prevalence")
    level = _options.fraction(level, "level")
    null_area, enough = _read_goal("plan_auc", area, half_width, null, power, level)
    question = _auc_question(
        area,
        null=null_area,
        prevalence=prevalence,
        level=level,
        model=model,
        sampling=sampling,
    )
    return _make_plan("plan_auc", question, enough, "AUC", model)


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
    """Sample size for a difference of two AUCs on the same cases.

    How many cases are needed to show that two AUCs on the same cases differ?

    Scores are bivariate normal with equal standard deviations; the test is that of
    :func:`compare_auc`. The ``value`` of the plan is the difference.

    Parameters
    ----------
    first, second, correlation
        The AUCs that are expected, and the correlation of the two scores within a
        class.
    half_width, power
        Wanted half-width of the interval of the difference, or instead the wanted power
        of the paired test of equal AUCs (0.9 when neither is given).
    prevalence, level
        As in :func:`plan_auc`.

    Examples
    --------
    >>> plan = plan_auc_difference(first=0.85, second=0.8, power=0.8)
    >>> plan.power >= 0.8
    True
    """
    first = _options.fraction(first, "first")
    second = _options.fraction(second, "second")
    correlation = _options.real_number(correlation, "correlation")
    if not -1 <= correlation < 1:
        raise InputError(
            f"correlation must lie in [-1, 1); found {correlation:g}.",
            option="correlation",
        )

    prevalence = _options.fraction(prevalence, "prevalence")
    level = _options.fraction(level, "level")
    if half_width is not None and power is not None:
        raise InputError(
            "plan_auc_difference needs one goal: a half_width or a power.",
            option="power",
            example=0.8,
        )
    if half_width is None and first == second:
        raise InputError(
            f"plan_auc_difference needs two AUCs that differ; both are {first:g}. No "
            "number of cases can show a difference."
        )

    question = _difference_question(first, second, correlation, prevalence, level)
    if half_width is not None:
        enough = _narrow_enough(half_width)
    else:
        enough = _powerful_enough(0.9 if power is None else power)

    return _make_plan("plan_auc_difference", question, enough, "difference of AUCs")


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
    """Sample size for a rate: recall, specificity, precision and others.

    How many cases are needed to estimate recall, specificity or precision?

    The half-width is that of Wilson's interval if the rate is as expected; the power is
    an exact sum over the binomial distribution.

    Parameters
    ----------
    rate, value
        ``"recall"`` (sensitivity), ``"specificity"`` or ``"precision"`` (PPV, always
        planned for a cohort); and its expected value.
    recall
        For precision only: the recall that is expected, from which the number of
        flagged cases follows.
    prevalence, half_width, null, power, level
        As in :func:`plan_auc`, for this rate.
    sampling
        ``"cohort"``: consecutive or random cases, so that the denominator of the rate
        is random. ``"case-control"``: the denominator is fixed.

    Examples
    --------
    >>> plan = plan_rate("recall", value=0.9, prevalence=0.1, half_width=0.05)
    >>> plan.half_width <= 0.05, plan.n > plan.denominator
    (True, True)
    """
    _options.choice(rate, ("recall", "sensitivity", "specificity", "precision"), "rate")
    _options.choice(sampling, _SAMPLING, "sampling")
    expected = _options.fraction(value, "value")
    prevalence = _options.fraction(prevalence, "prevalence")
    level = _options.fraction(level, "level")
    class_fraction = _part_of_cases(rate, expected, prevalence, recall)
    null_rate, enough = _read_goal(
        "plan_rate", expected, half_width, null, power, level
    )
    is_cohort = sampling == "cohort" or rate == "precision"

    def reach(n: int) -> Reach:
        sizes, weights = _denominators(n, class_fraction, random=is_cohort)
        return _rate_reach(expected, null_rate, sizes, weights, level)

    n = smallest(lambda k: enough(reach(k)), start=4, analysis="plan_rate")
    if null is not None:
        # the power of a binomial test rises and falls: it must hold for larger n, too
        while not all(enough(reach(k)) for k in range(n, n + 4)):
            n += 1

    # the power and width that rounding to whole cases leaves
    n_pos, n_neg = _split(n, prevalence)
    denominator = max(1, round(n * class_fraction))
    reached = reach(n)
    return Plan(
        n,
        n_pos,
        n_neg,
        denominator,
        se=math.sqrt(expected * (1 - expected) / denominator),
        half_width=reached.half_width,
        power=reached.power,
        measure=rate,
        value=expected,
        null=null_rate,
        prevalence=prevalence,
        level=level,
        sampling=_SAMPLING[is_cohort],
        model="",
    )


def _rate_reach(
    rate: float, null: float, sizes: Floats, weights: Floats, level: float
) -> Reach:
    """Return the power and the half-width for a rate, averaged over denominators."""
    half_width = 0.0
    power = 0.0
    for size, weight in zip(sizes.tolist(), weights.tolist(), strict=True):
        # the denominator is random: a mean over its distribution
        half_width += weight * _wilson_half_width(rate, size, level)
        if not math.isnan(null):
            power += weight * _wilson_power(rate, null, size, level)

    if math.isnan(null):
        power = math.nan
    return Reach(power, half_width)


def _denominators(
    n: int, class_fraction: float, *, random: bool
) -> tuple[Floats, Floats]:
    """Return possible denominators of the rate among n cases, and their probabilities.

    ``class_fraction`` is the expected proportion of the cases in the denominator.
    """
    expected = n * class_fraction
    if not random:
        return np.array([max(1.0, round(expected))]), np.ones(1)

    # binomial numbers beyond nine standard deviations do not occur
    reach = 9 * math.sqrt(n * class_fraction * (1 - class_fraction)) + 9
    fewest = max(0, int(expected - reach))
    largest = min(n, int(expected + reach) + 1)
    # 41 of many sizes, evenly spaced, are enough for a mean of a smooth function
    number_of_sizes = min(largest - fewest + 1, 41)
    sizes = np.unique(np.linspace(fewest, largest, number_of_sizes).round())
    weights = binomial_pmf(sizes, n, class_fraction)
    return sizes, weights / weights.sum()


def _wilson_half_width(rate: float, size: float, level: float) -> float:
    """Return half the width of Wilson's interval of the expected rate."""
    low, high = wilson(np.array(rate * size), size, level)
    return float(high - low) / 2


def _wilson_power(rate: float, null: float, size: float, level: float) -> float:
    """Return the probability that Wilson's interval excludes the null, exactly."""
    (first_count,), (last_count,) = bulk(int(size), np.array([rate]))
    counts = np.arange(int(first_count), int(last_count) + 1)
    low, high = wilson(counts, size, level)
    excluded = (null < low) | (null > high)
    return float(binomial_pmf(counts, size, rate)[excluded].sum())


def _narrow_enough(half_width: float) -> Enough:
    """Return the goal of at most this half-width."""
    widest = _options.fraction(half_width, "half_width")
    return lambda reach: reach.half_width <= widest


def _powerful_enough(power: float) -> Enough:
    """Return the goal of at least this power."""
    least_power = _options.fraction(power, "power")
    return lambda reach: reach.power >= least_power


def _read_goal(
    function: str,
    value: float,
    half_width: float | None,
    null: float | None,
    power: float | None,
    level: float,
) -> tuple[float, Enough]:
    """Return the null value (NaN if there is none) and the goal of a plan."""
    one_goal = (half_width is None) != (null is None)
    if not one_goal or (power is not None and null is None):
        raise InputError(
            f"{function} needs one goal: a half_width, or a null value with a power.",
            option="half_width",
            example=0.03,
        )
    if half_width is not None:
        return math.nan, _narrow_enough(half_width)

    null_value = _options.fraction(null, "null", ends="[]")
    if null_value == value:
        raise InputError(
            f"{function} needs null to differ from what is expected; both are "
            f"{value:g}. No number of cases can show a difference.",
            option="null",
        )

    required_power = 0.9 if power is None else _options.fraction(power, "power")
    if required_power <= 1 - level:
        raise InputError(
            f"The power {required_power:g} is below the level of the test. Choose a "
            "larger power.",
            option="power",
        )
    return null_value, _powerful_enough(required_power)


def _part_of_cases(
    rate: str, value: float, prevalence: float, recall: float | None
) -> float:
    """Return the proportion of all cases that is in the denominator of the rate."""
    if rate == "specificity":
        return 1 - prevalence
    if rate != "precision":
        return prevalence

    if recall is None:
        raise InputError(
            "A plan for precision needs the expected recall, which determines how "
            "many cases will be flagged.",
            option="recall",
            example=0.8,
        )

    flagged = prevalence * _options.fraction(recall, "recall") / value
    if flagged >= 1:
        raise InputError(
            f"A precision of {value:g} at this recall and prevalence would flag "
            f"more cases than there are. Is one of them too high?"
        )
    return flagged


def _make_plan(
    function: str,
    question: _Question,
    enough: Enough,
    measure: str,
    model: str = "binormal",
) -> Plan:
    """Return the smallest plan that meets the goal.

    The search starts from a third of the number by the normal approximation.
    """
    approximate_n = smallest(
        lambda n: enough(question.by_normal_approximation(n)),
        start=4,
        analysis=function,
    )
    # in steps of one per cent
    step = max(1, approximate_n // 100)
    # few cases need far fewer, or more, than the normal approximation says
    start = max(4, approximate_n // 3) // step
    n_steps = smallest(
        lambda k: enough(question.reach(k * step)), start=start, analysis=function
    )
    n = step * n_steps

    n_pos, n_neg = _split(n, question.prevalence)
    reached = question.reach(n)
    return Plan(
        n,
        n_pos,
        n_neg,
        denominator=n,
        se=math.sqrt(question.variance(n_pos, n_neg)),
        half_width=reached.half_width,
        power=reached.power,
        measure=measure,
        value=question.value,
        null=question.null,
        prevalence=question.prevalence,
        level=question.level,
        sampling=_SAMPLING[question.is_cohort],
        model=model,
    )


def outlook(plan: Plan, sizes: Sequence[int]) -> Floats:
    """Return the power, or the half-width, for other numbers of cases."""
    question = _auc_question(
        plan.value,
        null=plan.null,
        prevalence=plan.prevalence,
        level=plan.level,
        model=plan.model,
        sampling=plan.sampling,
    )
    reached = [question.reach(int(n)) for n in sizes]
    if math.isnan(plan.null):
        return np.array([reach.half_width for reach in reached])
    return np.array([reach.power for reach in reached])


def _split(n: int, prevalence: float) -> tuple[int, int]:
    """Return the numbers of positives and negatives of n cases, at least two each."""
    n_pos = min(max(2, round(n * prevalence)), n - 2)
    return n_pos, n - n_pos


class _Question(NamedTuple):
    """The value that is planned for, how samples are drawn, and their interval."""

    value: float
    null: float
    prevalence: float
    level: float
    draw: Callable[[np.random.Generator, Array], Floats]  # labels to (1 or 2, ...)
    variance: Callable[[int, int], float]
    is_difference: bool = False  # of two AUCs
    is_cohort: bool = False

    def reach(self, n: int) -> Reach:
        """Return the power and half-width of n cases, simulated where they are few."""
        if min(_split(n, self.prevalence)) >= _MIN_NORMAL:
            reached = self.by_normal_approximation(n)
        else:
            reached = self._by_simulation(n)
        if math.isnan(self.null):
            # without a null there is nothing to exclude
            return reached._replace(power=math.nan)
        return reached

    def _judge(self, areas: _Areas) -> tuple[Array, Floats]:
        """Return which samples exclude the null, and the half-widths of intervals."""
        low, high = _intervals(areas, self.level, is_difference=self.is_difference)
        return (self.null < low) | (self.null > high), (high - low) / 2

    def by_normal_approximation(self, n: int) -> Reach:
        """Return the mean over a normal distribution of the value.

        It is a mean over 999 quantiles, of equal steps in probability; those of 0 and 1
        are infinite.
        """
        n_pos, n_neg = _split(n, self.prevalence)
        quantiles = np.array([NormalDist().inv_cdf(k / 1000) for k in range(1, 1000)])
        variance = np.full(quantiles.size, self.variance(n_pos, n_neg))
        value = self.value + quantiles * np.sqrt(variance)
        if not self.is_difference:
            # the variance of an AUC is proportional to a(1 - a), which must not be 0
            area = np.clip(value, 1e-9, 1 - 1e-9)
            expected = np.clip(self.value, 1e-9, 1 - 1e-9)
            variance = variance * area * (1 - area) / (expected * (1 - expected))

        degrees_of_freedom = np.full(value.size, n_pos + n_neg - 2.0)
        areas = _Areas(value, variance, degrees_of_freedom, (n_pos, n_neg))
        excludes, half_widths = self._judge(areas)
        return Reach(float(np.mean(excludes)), float(np.mean(half_widths)))

    def _by_simulation(self, n: int) -> Reach:
        """Return the power and half-width in simulated samples.

        A sample without both classes excludes nothing.
        """
        rng = np.random.default_rng(0)
        n_pos = np.full(_N_SAMPLES, _split(n, self.prevalence)[0])
        if self.is_cohort:
            n_pos = rng.binomial(n, self.prevalence, _N_SAMPLES)

        # without both classes the interval is [0, 1], half of which is 0.5
        excluded = 0.0
        half_widths = 0.5 * float(np.sum((n_pos == 0) | (n_pos == n)))

        # samples with the same number of positives are drawn together
        distinct_n_pos, n_samples = np.unique(n_pos, return_counts=True)
        for positives, n_samples_of_size in zip(distinct_n_pos, n_samples, strict=True):
            sizes = (int(positives), n - int(positives))
            if min(sizes) == 0:
                continue
            for batch in _batches(int(n_samples_of_size), n, sizes):
                stop_if_requested()
                excludes, batch_half_widths = self._judge(
                    self._draw_areas(sizes, batch, rng)
                )
                excluded += float(excludes.sum())
                half_widths += float(batch_half_widths.sum())

        return Reach(excluded / _N_SAMPLES, half_widths / _N_SAMPLES)

    def _draw_areas(
        self, sizes: tuple[int, int], n_samples: int, rng: np.random.Generator
    ) -> _Areas:
        """Return drawn values and their variances.

        Fewer cases of a much larger class are drawn, since more of them add little.
        """
        # at most four times the smaller class, or twenty
        most_of_class = max(_MAX_CLASS_RATIO * min(sizes), 20)
        n_pos = min(sizes[0], most_of_class)
        n_neg = min(sizes[1], most_of_class)
        labels = np.tile(np.arange(n_pos + n_neg) < n_pos, (n_samples, 1))
        placements = [_placements(scores, n_pos) for scores in self.draw(rng, labels)]
        positives, negatives = placements[0]
        if self.is_difference:
            second_positives, second_negatives = placements[1]
            positives = positives - second_positives
            negatives = negatives - second_negatives

        areas = _areas_of_placements(positives, negatives)
        if (n_pos, n_neg) == sizes:
            return areas

        # rescale by the exact variances for the full and for the drawn class sizes
        ratio = self.variance(*sizes) / self.variance(n_pos, n_neg)
        value = self.value + (areas.value - self.value) * math.sqrt(ratio)
        return areas._replace(value=value, variance=areas.variance * ratio, sizes=sizes)


def _batches(n_samples: int, n: int, sizes: tuple[int, int]) -> list[int]:
    """Return sizes of batches in which about a million scores are drawn at once."""
    scores_per_sample = min(n, (1 + _MAX_CLASS_RATIO) * min(sizes) + 1)
    step = max(1, (1 << 20) // scores_per_sample)
    return [min(step, n_samples - start) for start in range(0, n_samples, step)]


def _intervals(
    areas: _Areas, level: float, *, is_difference: bool
) -> tuple[Floats, Floats]:
    """Return the intervals of areas, or of differences, as ``inference`` does."""
    from scipy.special import stdtrit

    if not is_difference:
        return _newcombe_intervals(areas.value, areas.variance, areas.sizes, level)
    # at least one degree of freedom, as in ``inference.variance``
    degrees_of_freedom = np.maximum(areas.degrees_of_freedom, 1.0)
    quantile = stdtrit(degrees_of_freedom, (1 + level) / 2)
    half_width = quantile * np.sqrt(areas.variance)
    return areas.value - half_width, areas.value + half_width


def _newcombe_intervals(
    value: Floats, variance: Floats, sizes: tuple[int, int], level: float
) -> tuple[Floats, Floats]:
    """Return the intervals of many AUCs, as ``inference.intervals`` does."""
    positives, negatives = sizes
    class_sizes = ClassSizes(positives, negatives, positives, negatives)
    area = np.clip(value, 0.0, 1.0)
    varies = (variance > 0) & (area > 0) & (area < 1)
    quantile = np.where(
        varies, student_quantile(min(sizes) - 1, level), normal_quantile(level)
    )
    # areas that do not vary are replaced by 1/2, since their design effect is not used
    inside = np.where(varies, area, 0.5)
    effect = np.where(varies, design_effect(inside, variance, class_sizes), 1.0)
    return newcombe_intervals(area, effect, class_sizes, quantile)


def _placements(scores: Floats, n_pos: int) -> tuple[Floats, Floats]:
    """Return the placements of positives and of negatives in each sample.

    A placement is the proportion of the other class that is ranked correctly beside the
    case. The first columns of the scores are positive.
    """
    n = scores.shape[1]
    order = np.argsort(scores, axis=1)  # lowest score first
    is_pos = order < n_pos
    negatives_below = np.cumsum(~is_pos, axis=1)
    positives_below = np.arange(1, n + 1) - negatives_below
    # a positive is correct above negatives, a negative below positives
    sorted_placements = np.where(
        is_pos, negatives_below / (n - n_pos), 1 - positives_below / n_pos
    )

    # from the order of the scores to the order of the cases
    placements = np.empty_like(scores)
    np.put_along_axis(placements, order, sorted_placements, axis=1)
    return placements[:, :n_pos], placements[:, n_pos:]


def _areas_of_placements(positives: Floats, negatives: Floats) -> _Areas:
    """Return AUCs with variances and degrees of freedom, as ``inference.variance``."""
    value = positives.mean(axis=1)
    variance = np.zeros(value.size)
    variance_of_variance = np.zeros(value.size)
    for placements in (positives, negatives):
        n = placements.shape[1]
        squares = (placements - value[:, None]) ** 2
        # sums of powers of the influence values, which are (placement - AUC) / n
        squared = squares.mean(axis=1) / n
        fourth_powers = (squares**2).mean(axis=1) / n**3
        n_less_one = max(n - 1, 1)
        correction = n / n_less_one
        variance = variance + squared * n / n_less_one

        # at least that of normal values: few may by chance have small fourth powers
        by_fourth_powers = fourth_powers - squared**2 / n
        for_normal_values = 2 * squared**2 / n_less_one
        class_variance = np.maximum(by_fourth_powers, for_normal_values)
        variance_of_variance = variance_of_variance + class_variance * correction**2

    # Satterthwaite (1946); infinite where the variance itself does not vary
    varies = variance_of_variance > 0
    degrees_of_freedom = np.where(
        varies,
        2 * variance**2 / np.where(varies, variance_of_variance, 1.0),
        np.inf,
    )
    sizes = (positives.shape[1], negatives.shape[1])
    return _Areas(value, variance, degrees_of_freedom, sizes)


def _auc_question(
    auc: float,
    *,
    null: float,
    prevalence: float,
    level: float,
    model: str,
    sampling: str,
) -> _Question:
    """Return the question that the interval of :func:`auc` answers."""

    def draw(rng: np.random.Generator, labels: Array) -> Floats:
        return np.asarray(MODELS[model].draw(rng, labels, auc))[None]

    def variance(n_pos: int, n_neg: int) -> float:
        return model_variance(model, auc, n_pos, n_neg)

    return _Question(
        value=auc,
        null=null,
        prevalence=prevalence,
        level=level,
        draw=draw,
        variance=variance,
        is_cohort=sampling == "cohort",
    )


def _difference_question(
    first: float, second: float, correlation: float, prevalence: float, level: float
) -> _Question:
    """Return the question of a difference of two AUCs of bivariate normal scores."""
    shifts = np.array([separation(first), separation(second)])

    def draw(rng: np.random.Generator, labels: Array) -> Floats:
        scores = rng.normal(size=(2, *labels.shape))
        independent_part = math.sqrt(1 - correlation**2) * scores[1]
        # correlated normal scores by the Cholesky factor of their correlation
        scores[1] = correlation * scores[0] + independent_part
        return np.asarray(scores + shifts[:, None, None] * labels)

    def variance(n_pos: int, n_neg: int) -> float:
        """Return DeLong's variance of the difference.

        Two areas covary over the same pair, and over pairs that share a case.
        """
        first_variance = model_variance("binormal", first, n_pos, n_neg)
        second_variance = model_variance("binormal", second, n_pos, n_neg)
        same_pair = joint_excess(first, second, correlation)
        shared_case = joint_excess(first, second, correlation / 2)
        products = same_pair + (n_pos + n_neg - 2) * shared_case
        covariance = products / n_pos / n_neg
        # rounding may make the variance for equal scores negative
        return max(first_variance + second_variance - 2 * covariance, 1e-300)

    return _Question(
        value=first - second,
        null=0.0,
        prevalence=prevalence,
        level=level,
        draw=draw,
        variance=variance,
        is_difference=True,
    )
