"""Which treatment lets readers see more? Means, differences, intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import combinations
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.data_types import Frame
from trueness._core.numbers import counted, p_is
from trueness._core.records import Estimate, Record, brief, native_frame
from trueness._core.solvers import rises_above_zero
from trueness.comparison.results import (
    Pair,
    adjust_for_pairs,
    pair_from_difference,
    read_margin,
)
from trueness.inference.estimates import estimate_from_interval
from trueness.inference.intervals import interval_from_variance, student_quantile
from trueness.inference.variance import ClassSizes, VarianceEstimate
from trueness.metrics.algebra import Metric
from trueness.readers.covariances import COVARIANCES
from trueness.readers.design import CLUSTER, ROLES, Readings, collect_readings
from trueness.readers.endpoints import Endpoint, choose_endpoint
from trueness.readers.model import (
    ReaderComponents,
    ReaderModel,
    ReaderVariance,
    TreatmentComponents,
    equality_test,
    fit_model,
    known_variance,
    tail_probability,
    treatment_variance,
)


@final
@dataclass(frozen=True, repr=False)
class ReaderStudy(Record):
    """Reader study: means of treatments, their differences and variance components.

    With which treatment are readers more accurate, and could that be chance?

    Attributes
    ----------
    results : array (treatments, readers)
        The endpoint of every reader with every treatment; NaN where there is none.
    means, pairs : tuple of Estimate, tuple of Pair
        Mean of each treatment over the readers; differences, with p-values.
    statistic, df1, df2, p_value : float
        Test that all treatments are equal: F (chi-squared over df1 with fixed readers)
        and degrees of freedom; NaN with one treatment.
    components : ReaderComponents
        Variance components, which :func:`plan_readers` takes.
    design, random_effects : str
        Fully crossed or nested; and whether readers, cases or both are random.
    metric, method : str
        The endpoint, and the method of analysis.
    groups : int
        Number of groups of readers without common cases. It is 1 in a crossed design,
        and one per reader if each has separate cases; in a split plot, between these.
    """

    treatments: tuple[str, ...]
    readers: tuple[str, ...]
    results: Floats
    means: tuple[Estimate, ...]
    pairs: tuple[Pair, ...]
    statistic: float
    df1: int
    df2: float
    p_value: float
    components: ReaderComponents
    n_pos: int
    n_neg: int
    design: str
    random_effects: str
    metric: str
    method: str
    level: float
    notes: tuple[str, ...]
    groups: int = 1

    def __repr__(self) -> str:
        """Return the means, the differences and the test, a line each."""
        lines = [
            f"ReaderStudy: {self.metric}, {counted(len(self.readers), 'reader')}, "
            f"{self.n_pos} + {self.n_neg} cases, {self.design}; {self.random_effects}; "
            f"{self.method}"
        ]
        for treatment, mean in zip(self.treatments, self.means, strict=True):
            lines.append(f"  {treatment}: {mean}")
        for pair in self.pairs:
            lines.append(f"  {pair}")

        if self.pairs:
            lines.append(f"  all equal? {p_is(self.p_value)} ({self._test_in_words})")

        for note in self.notes:
            lines.append(f"  Note: {note}")

        return "\n".join(lines)

    @property
    def _test_in_words(self) -> str:
        """Return the test that all treatments are equal, in words."""
        if math.isinf(self.df2):
            chi_squared = brief(self.df1 * self.statistic)
            degrees = counted(self.df1, "degree")
            return f"chi-squared {chi_squared} on {degrees} of freedom"

        return (
            f"F {brief(self.statistic)} on {self.df1} and {brief(self.df2)} degrees of "
            "freedom"
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with one row per treatment and reader."""
        treatment, reader = np.nonzero(np.isfinite(self.results))
        columns = {
            "treatment": [self.treatments[number] for number in treatment],
            "reader": [self.readers[number] for number in reader],
            "value": self.results[treatment, reader].tolist(),
        }
        return native_frame(columns, backend)


def reader_study(
    data: Frame | None,
    *,
    metric: Metric | str = "auc",
    threshold: float | None = None,
    fixed: str | None = None,
    covariance: str = "jackknife",
    pair_variance: str = "own",
    margin: float | None = None,
    level: float = 0.95,
    **columns: Any,
) -> ReaderStudy:
    r"""Multi-reader multi-case analysis of variance (Obuchowski and Rockette).

    With which treatment are readers more accurate, and could that be chance?

    .. math:: F = \frac{MS_T}{MS_{TR} + J \max(\mathrm{Cov}_2 - \mathrm{Cov}_3, 0)}

    The design (crossed, cases or readers nested) follows from the readings. Obuchowski
    and Rockette (1995, doi:10.1080/03610919508813243) with the degrees of freedom of
    Hillis (2007, doi:10.1002/sim.2532; 2014, doi:10.1002/sim.5926).

    Parameters
    ----------
    data
        One row per reading: a frame of any library, or a mapping of columns.
    metric, threshold
        ``"auc"``, or any metric at a threshold: ``"recall"``, ``"specificity"``,
        ``"f1"``, where a score of at least the threshold is positive.
    fixed
        ``"readers"`` or ``"cases"``: the result applies to these alone. When None, it
        applies to other readers and cases like these.
    covariance
        ``"jackknife"``, ``"delong"`` or ``"unbiased"``, as in MRMCaov.
    pair_variance
        With three or more treatments that share different numbers of cases or readers:
        ``"own"`` uses the variance of each pair's own cases and readers; ``"pooled"``
        uses that of the overall test, as MRMCaov does.
    margin
        Adds tests of non-inferiority and of equivalence to every pair of treatments.
    level
        Confidence level of the intervals.
    **columns
        ``reader``, ``treatment``, ``case``, ``label``, ``score``: the columns, where
        they have other names than these or ``truth``, ``rating``, ``modality``.
        ``positive``: the positive label, where labels are not 0 and 1. ``cluster``,
        such as the patient, where cases (lesions, regions) of one
        cluster are not independent.

    Examples
    --------
    >>> rows = {"reader": [], "treatment": [], "case": [], "label": [], "score": []}
    >>> for r in "ab":
    ...     for t in "XY":
    ...         for c in range(6):
    ...             wrong = c == 3 and (r + t) in ("aY", "bX", "bY")
    ...             reading = [r, t, c, int(c > 2), (c > 2) - 1.5 * wrong]
    ...             for k, v in zip(rows, reading):
    ...                 rows[k].append(v)
    >>> study = reader_study(rows)
    >>> [round(m.value, 4) for m in study.means]  # (1 + 6/9) / 2 and 6/9
    [0.8333, 0.6667]
    """
    level = _options.fraction(level, "level")
    tested_margin = read_margin(margin)

    if fixed is not None:
        _options.choice(fixed, ("readers", "cases"), "fixed")

    _options.choice(covariance, COVARIANCES, "covariance")
    _options.choice(pair_variance, ("own", "pooled"), "pair_variance")
    own_options = [*signature(reader_study).parameters][1:-1]
    known_names = [*ROLES, CLUSTER, "positive", *own_options]
    _options.options(columns, known_names, "reader_study")

    readings = collect_readings(data, columns)
    endpoint = choose_endpoint(metric, threshold)
    _check_clusters(readings, covariance)
    model = fit_model(readings, endpoint, covariance)
    _check_enough_readers(model, fixed)

    method = f"obuchowski-rockette, {covariance}"
    interval_of_mean = _interval_of_mean_by(
        endpoint, _variance_of_constant(readings, endpoint, fixed)
    )
    means = tuple(
        _mean_of_treatment(
            value=float(model.means[treatment]),
            n_readers=int(model.readers_per_treatment[treatment]),
            components=components,
            fixed=fixed,
            interval_of_mean=interval_of_mean,
            level=level,
            method=method,
        )
        for treatment, components in enumerate(model.by_treatment)
    )

    differences = _compare_treatments(
        readings,
        model,
        endpoint,
        means,
        interval_of_mean=interval_of_mean,
        fixed=fixed,
        covariance=covariance,
        pair_variance=pair_variance,
        method=method,
        level=level,
        margin=tested_margin,
    )
    test = equality_test(model, fixed)
    if len(differences) == 1:
        # two treatments have one test, that of their difference
        test = test._replace(p_value=differences[0].p_value)

    n_pos, n_neg = readings.class_sizes

    return ReaderStudy(
        treatments=readings.treatments,
        readers=readings.readers,
        results=model.table,
        means=means,
        pairs=adjust_for_pairs(differences),
        statistic=test.statistic,
        df1=test.df1,
        df2=test.df2,
        p_value=test.p_value,
        components=model.components,
        n_pos=n_pos,
        n_neg=n_neg,
        design=readings.design,
        random_effects=_assumption_in_words(fixed),
        metric=endpoint.name,
        method=method,
        level=level,
        notes=(
            *_notes_on_readers(readings, model, fixed),
            *_notes_on_cases(readings, fixed, pair_variance),
            *_notes_on_intervals(model, endpoint, tested_margin, differences),
        ),
        groups=readings.groups,
    )


def _check_clusters(readings: Readings, covariance: str) -> None:
    """Raise an error where the covariance cannot use clusters, or has too few."""
    if readings.cluster is None:
        return

    if covariance not in ("jackknife", "delong"):
        raise InputError(
            f"The covariance {covariance!r} is for independent cases; found clusters.",
            option="covariance",
            example="jackknife",
        )

    fewest = min(readings.numbers_of_units)
    if fewest < 2:
        raise NotEnoughCases(
            "Each class needs cases of at least two clusters; found one cluster with "
            "cases of a class."
        )


def _check_enough_readers(model: ReaderModel, fixed: str | None) -> None:
    """Raise an error where readers are random, and a treatment has only one."""
    fewest = min(model.readers_per_treatment)
    if fixed != "readers" and fewest < 2:
        raise NotEnoughCases(
            "Random readers need at least two readers with each treatment; found "
            f"{fewest}. With fixed readers the result applies to these readers only.",
            option="fixed",
            example="readers",
        )


def _assumption_in_words(fixed: str | None) -> str:
    """Return in words whether readers and cases are fixed or random."""
    readers = "fixed readers" if fixed == "readers" else "random readers"
    cases = "fixed cases" if fixed == "cases" else "random cases"
    return f"{readers}, {cases}"


def _variance_of_constant(
    readings: Readings, endpoint: Endpoint, fixed: str | None
) -> VarianceEstimate:
    """Return the variance of a mean where all readers have the same result.

    The variance is zero, so the interval follows from the number of units: clusters or
    cases. Readers who agree count as one. An AUC has the interval of :func:`auc`.
    """
    if fixed == "cases":
        n_readers = len(readings.readers)
        return VarianceEstimate(0.0, math.inf, n_readers)

    n_pos, n_neg = readings.numbers_of_units
    if endpoint.name == "auc":
        sizes = ClassSizes(n_pos, n_neg, n_pos, n_neg)
        return VarianceEstimate(0.0, math.inf, min(n_pos, n_neg), roc_sizes=sizes)

    n_units = float(np.dot((n_pos, n_neg), endpoint.depends))
    return VarianceEstimate(0.0, math.inf, n_units)


# takes a mean, its standard error and the quantile that multiplies it; returns the
# ends of the interval
IntervalOfMean = Callable[[float, float, float], tuple[float, float]]


def _interval_of_mean_by(
    endpoint: Endpoint, constant: VarianceEstimate
) -> IntervalOfMean:
    """Return the function that computes the interval of a mean over readers."""
    lowest, highest = endpoint.range

    def interval_of_mean(
        value: float, standard_error: float, z: float
    ) -> tuple[float, float]:
        """Return the interval of a mean, within the range of the endpoint."""
        if standard_error == 0:
            # readers do not differ: the interval of that many cases, and not one of
            # width 0, at the level whose normal quantile is z
            level = 2 * NormalDist().cdf(z) - 1
            interval = interval_from_variance(value, constant, endpoint.range, level)
            return interval.low, interval.high

        # cut off at the ends of the endpoint
        half_width = z * standard_error
        return max(lowest, value - half_width), min(value + half_width, highest)

    return interval_of_mean


def _mean_of_treatment(
    *,
    value: float,
    n_readers: int,
    components: TreatmentComponents,
    fixed: str | None,
    interval_of_mean: IntervalOfMean,
    level: float,
    method: str,
) -> Estimate:
    """Return the mean of a treatment, with the variance of its own readers."""
    variance = _variance_of_treatment(components, n_readers, fixed)
    standard_error = math.sqrt(max(variance.value / n_readers, 0.0))
    # Student's quantile with Hillis' degrees of freedom
    z = student_quantile(variance.hillis_df, level)
    low, high = interval_of_mean(value, standard_error, z)
    return estimate_from_interval(value, low, high, level, method, standard_error)


def _variance_of_treatment(
    components: TreatmentComponents, n_readers: int, fixed: str | None
) -> ReaderVariance:
    """Return the variance of the mean of a treatment, times its number of readers."""
    # the error that cases cause for all readers alike; below 0 it is chance
    shared_by_readers = max(components.cov2, 0.0)

    if fixed == "readers":
        return known_variance(components.variance + (n_readers - 1) * shared_by_readers)

    value = components.ms_reader
    if fixed is None:
        value = components.ms_reader + n_readers * shared_by_readers

    return ReaderVariance(
        value,
        mean_square=components.ms_reader,
        mean_square_df=n_readers - 1.0,
    )


def _compare_treatments(
    readings: Readings,
    model: ReaderModel,
    endpoint: Endpoint,
    means: Sequence[Estimate],
    *,
    interval_of_mean: IntervalOfMean,
    fixed: str | None,
    covariance: str,
    pair_variance: str,
    method: str,
    level: float,
    margin: float,
) -> list[Pair]:
    """Return the difference of every two treatments, with interval and tests."""
    differences = []
    for first, second in combinations(range(len(means)), 2):
        standard_error, variance = _variance_of_difference(
            readings,
            model,
            endpoint,
            treatments=[first, second],
            fixed=fixed,
            covariance=covariance,
            pair_variance=pair_variance,
        )
        difference = DifferenceOfMeans(
            first=means[first],
            second=means[second],
            standard_error=standard_error,
            variance=variance,
            interval_of_mean=interval_of_mean,
        )
        differences.append(
            pair_from_difference(
                readings.treatments[first],
                readings.treatments[second],
                difference,
                method,
                level,
                margin,
            )
        )

    return differences


def _variance_of_difference(
    readings: Readings,
    model: ReaderModel,
    endpoint: Endpoint,
    *,
    treatments: list[int],
    fixed: str | None,
    covariance: str,
    pair_variance: str,
) -> tuple[float, ReaderVariance]:
    """Return the standard error of a difference of two treatments.

    Also return the variance of one reader's result, with its degrees of freedom.
    """
    positions = treatments
    if pair_variance == "own" and not readings.shares_evenly:
        # one covariance for all pairs would fit none of them
        model = fit_model(readings.of_treatments(treatments), endpoint, covariance)
        positions = [0, 1]

    # Differs from Hillis (2014), who has equal numbers of readers: the variance of a
    # difference is MS (1 / J_a + 1 / J_b) + 2 (Cov2 - Cov3), so J is harmonic.
    n_readers = float(2 / (1 / model.readers_per_treatment[positions]).sum())
    n_readers_of_variance = n_readers
    if pair_variance == "pooled":
        n_readers_of_variance = model.mean_number_of_readers

    variance = treatment_variance(model, fixed, n_readers_of_variance)

    standard_error = math.sqrt(max(2 * variance.value / n_readers, 0.0))
    if standard_error == 0:
        return 0.0, known_variance(0.0)
    return standard_error, variance


# normal p-values beyond so many standard errors are 0 in double precision
_LARGEST_Z = 8.2


class DifferenceOfMeans(NamedTuple):
    """A difference of two means over readers, with its intervals and tests."""

    first: Estimate
    second: Estimate
    standard_error: float
    variance: ReaderVariance
    interval_of_mean: IntervalOfMean

    @property
    def value(self) -> float:
        """Return the first mean minus the second."""
        return self.first.value - self.second.value

    @property
    def statistic(self) -> float:
        """Return the test statistic: the difference in standard errors."""
        return self._standard_errors_from(0.0)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the confidence interval."""
        z = student_quantile(self.variance.hillis_df, level)
        low = self.value - self._half_width(z, upwards=False)
        high = self.value + self._half_width(z, upwards=True)
        return low, high

    def p_value_above(self, bound: float) -> float:
        """Return the one-sided p-value of a difference of at most ``bound``."""
        z = -self._standard_errors_from(bound)
        return tail_probability(self.variance, z)

    def _standard_errors_from(self, bound: float) -> float:
        """Return the standard errors from ``bound`` to the difference, signed.

        An interval of so many standard errors ends at ``bound``.
        """
        gap = abs(self.value - bound)
        upwards = bound > self.value

        if self.standard_error > 0:
            z = gap / self.standard_error
        else:
            # without one, the quantile at which the interval reaches the bound
            z = rises_above_zero(
                lambda z: self._half_width(z, upwards=upwards) - gap, 0.0, _LARGEST_Z
            )

        return -z if upwards else z

    def _half_width(self, z: float, *, upwards: bool) -> float:
        """Return how far an interval of z standard errors extends, up or down.

        Where nothing varies, it combines the intervals of both means (MOVER; Zou and
        Donner 2008).
        """
        if self.standard_error > 0:
            return z * self.standard_error

        # the difference is highest where the first is high and the second low
        half_width_of_first = self._distance_to_end(self.first, z, upper=upwards)
        half_width_of_second = self._distance_to_end(self.second, z, upper=not upwards)
        return math.hypot(half_width_of_first, half_width_of_second)

    def _distance_to_end(self, mean: Estimate, z: float, *, upper: bool) -> float:
        """Return the distance from a mean to the upper or lower end of its interval."""
        low, high = self.interval_of_mean(mean.value, 0.0, z)
        return high - mean.value if upper else low - mean.value


# with fewer readers, notes say that these are too few
_FEW_READERS = 4


def _notes_on_readers(
    readings: Readings, model: ReaderModel, fixed: str | None
) -> list[str]:
    """Return notes on the readers."""
    notes = []
    if readings.n_without_score:
        missing = counted(readings.n_without_score, "reading")
        notes.append(f"Left out: {missing} without a score.")

    fewest = min(model.readers_per_treatment)
    compares = len(readings.treatments) > 1
    if compares and fixed != "readers" and fewest < _FEW_READERS:
        notes.append(
            f"{fewest} readers are too few to generalise to other readers; "
            "plan_readers says how many are needed."
        )
        if fixed is None:
            notes.append(
                "Tests of so few readers reject too often if treatment effects "
                "differ much between readers."
            )

    if fixed == "readers":
        notes.append(
            "Readers are treated as fixed: the result applies to these readers only."
        )

    return notes


def _notes_on_cases(
    readings: Readings, fixed: str | None, pair_variance: str
) -> list[str]:
    """Return notes on the cases."""
    notes = []

    if fixed == "cases":
        notes.append(
            "Cases are treated as fixed: the result applies to these cases only."
        )

    if readings.shares_evenly:
        return notes

    if pair_variance == "own":
        notes.append(
            "Some treatments share more cases than others, so each difference is "
            "analysed separately and the overall test is approximate."
        )
    else:
        notes.append(
            "Some treatments share more cases than others. The pooled standard error "
            "is too small for treatments that share few cases."
        )

    return notes


def _notes_on_intervals(
    model: ReaderModel,
    endpoint: Endpoint,
    margin: float,
    differences: list[Pair],
) -> list[str]:
    """Return notes on intervals and tests."""
    notes = []
    if any(pair.difference.se == 0 for pair in differences):
        notes.append(
            "All readers show the same difference, so its variance between readers "
            "is 0. Interval and p-values are those of one reader, with independent "
            "cases for each treatment."
        )

    if _margin_tests_err(model, endpoint) and not math.isnan(margin):
        notes.append(
            "With fewer than 4 readers, or values above 0.9, tests against a margin "
            "reject too often: in up to 9 % of simulated studies, not 5 %."
        )

    if endpoint.name == "auc" and model.means.max() < 0.5:
        notes.append(
            "All treatments have an AUC below 0.5. Do high scores mean positive?"
        )

    return notes


def _margin_tests_err(model: ReaderModel, endpoint: Endpoint) -> bool:
    """Return whether tests against a margin reject too often.

    They do with few readers, and with means near 1.
    """
    if endpoint.range != (0, 1):
        return False
    few_readers = min(model.readers_per_treatment) < _FEW_READERS
    return few_readers or bool(model.means.max() > 0.9)
