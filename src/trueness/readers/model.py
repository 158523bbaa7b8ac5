r"""What do the results of readers vary by?

Obuchowski and Rockette's model (1995): the result of reader j with treatment i is

.. math:: \hat\theta_{ij} = \mu + \tau_i + R_j + (\tau R)_{ij} + \epsilon_{ij}

with errors of variance Var that covary, since all readers see the same cases: Cov1
(same reader, other treatment), Cov2 (other reader, same treatment), Cov3 (both other).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import listing
from trueness._core.records import Record
from trueness.readers.covariances import COVARIANCES, row_results
from trueness.readers.design import Readings
from trueness.readers.endpoints import Endpoint


@final
@dataclass(frozen=True, repr=False)
class ReaderComponents(Record):
    """Variance components of a reader study (Obuchowski and Rockette).

    Attributes
    ----------
    ms_treatment, ms_reader, ms_interaction : float
        Mean squares of the results: between treatments, between readers (within
        treatments when readers are nested), and of their interaction; NaN where a
        design has none.
    error_variance, cov1, cov2, cov3 : float
        Variance of the estimation errors, and their covariances: one reader with two
        treatments, two readers with one, and two with two.
    reader_variance, interaction_variance : float
        Variance components of readers, and of their interaction with treatments,
        without that of the estimation errors. Chance can make them negative.
    """

    ms_treatment: float
    ms_reader: float
    ms_interaction: float
    error_variance: float
    cov1: float
    cov2: float
    cov3: float
    reader_variance: float
    interaction_variance: float


class TreatmentComponents(NamedTuple):
    """Mean square and error covariances of one treatment."""

    ms_reader: float  # NaN with one reader
    variance: float
    cov2: float


class ReaderModel(NamedTuple):
    """The results of all readers, and their variance components."""

    table: Floats  # (treatments, readers), NaN where readers are nested
    nested: bool
    components: ReaderComponents
    by_treatment: tuple[TreatmentComponents, ...]
    readers_per_treatment: Array

    @property
    def means(self) -> Floats:
        """Return the mean of each treatment."""
        return np.asarray(np.nanmean(self.table, axis=1))

    @property
    def mean_number_of_readers(self) -> float:
        """Return the number of readers per treatment in the test of all treatments."""
        numbers = self.readers_per_treatment
        if not self.nested:
            return float(numbers[0])
        # unequal numbers: the coefficient of Cov2 - Cov3 in the expected MS(T)
        total = numbers.sum()
        return float(total - (numbers**2).sum() / total) / (len(numbers) - 1)


class MeanSquares(NamedTuple):
    """Mean squares of the results; NaN where a design has none."""

    treatment: float
    reader: float
    interaction: float


class ErrorCovariances(NamedTuple):
    """Variance and covariances of the estimation errors, as means over rows."""

    variance: float
    cov1: float
    cov2: float
    cov3: float


def fit_model(readings: Readings, endpoint: Endpoint, covariance: str) -> ReaderModel:
    """Return the results of all readers, and their variance components."""
    results = row_results(readings, endpoint)
    table = np.full((len(readings.treatments), len(readings.readers)), np.nan)
    table[readings.treatment, readings.reader] = results
    nested = readings.nested_readers
    if not nested:
        _check_crossed(readings, table)

    # (rows, rows): the covariance of the errors of all pairs of results
    errors = COVARIANCES[covariance](readings, endpoint)
    _check_defined(readings, endpoint, results, errors)

    by_treatment = [
        _components_of_treatment(results, errors, readings.treatment == treatment)
        for treatment in range(len(readings.treatments))
    ]
    readers_by_treatment = np.bincount(
        readings.treatment, minlength=len(readings.treatments)
    )
    squares = (
        _nested_mean_squares(table, by_treatment, readers_by_treatment)
        if nested
        else _crossed_mean_squares(table)
    )

    return ReaderModel(
        table=table,
        nested=nested,
        components=_components(
            squares,
            _error_covariances(readings, errors),
            n_treatments=len(table),
            nested=nested,
        ),
        by_treatment=tuple(by_treatment),
        readers_per_treatment=readers_by_treatment,
    )


def _check_crossed(readings: Readings, table: Floats) -> None:
    """Raise an error if some readers lack some treatments."""
    every_pair_occurs = len(readings.score) == table.size
    if every_pair_occurs:
        return

    incomplete = np.flatnonzero(np.isnan(table).any(axis=0))
    names = [readings.readers[number] for number in incomplete]
    raise InputError(
        "Every reader must use every treatment, or every reader one treatment "
        f"only; this study is neither. Without all treatments: {listing(names)}. "
        "Leave out these readers."
    )


def _check_defined(
    readings: Readings, endpoint: Endpoint, results: Floats, errors: Floats
) -> None:
    """Raise an error if an endpoint is undefined, for a reader or without one case."""
    undefined = ~np.isfinite(results) | ~np.isfinite(np.diag(errors))
    if not undefined.any():
        return

    row = np.flatnonzero(undefined)[0]
    raise NotEnoughCases(
        f"The {endpoint.name} of every reader must have a value, also when a case is "
        f"left out. That of reader {readings.readers[readings.reader[row]]} with "
        f"treatment {readings.treatments[readings.treatment[row]]} has none "
        "(a ratio 0 / 0). Choose another threshold, or another metric.",
        option="metric",
        example="auc",
    )


def _error_covariances(readings: Readings, errors: Floats) -> ErrorCovariances:
    """Return the error variance and Cov1 to Cov3: means over all entries of a kind."""
    # (rows, rows): which pairs of results share a treatment, or a reader
    same_treatment = readings.treatment[:, None] == readings.treatment
    same_reader = readings.reader[:, None] == readings.reader

    return ErrorCovariances(
        variance=_mean_or_zero(errors[same_treatment & same_reader]),
        cov1=_mean_or_zero(errors[~same_treatment & same_reader]),
        cov2=_mean_or_zero(errors[same_treatment & ~same_reader]),
        cov3=_mean_or_zero(errors[~same_treatment & ~same_reader]),
    )


def _mean_or_zero(entries: Floats) -> float:
    """Return the mean of entries, 0 where the design has none."""
    return float(entries.mean()) if entries.size else 0.0


def _components_of_treatment(
    results: Floats, errors: Floats, rows: Array
) -> TreatmentComponents:
    """Return the mean square and the error covariances of one treatment."""
    results_of_readers = results[rows]
    n_readers = results_of_readers.size
    covariance = errors[np.ix_(rows, rows)]
    different_readers = ~np.eye(n_readers, dtype=bool)

    ms_reader = math.nan
    if n_readers > 1:
        ms_reader = float(results_of_readers.var(ddof=1))

    return TreatmentComponents(
        ms_reader=ms_reader,
        variance=float(np.diag(covariance).mean()),
        cov2=_mean_or_zero(covariance[different_readers]),
    )


def _nested_mean_squares(
    table: Floats, by_treatment: list[TreatmentComponents], numbers: Array
) -> MeanSquares:
    """Return the mean squares of readers who each use one treatment."""
    n_treatments = len(table)
    grand_mean = float(np.nanmean(table))
    deviations = np.nanmean(table, axis=1) - grand_mean
    ms_treatment = float(numbers @ deviations**2) / (n_treatments - 1)

    # sums of squares within treatments, pooled
    within_treatments = sum(
        (n_readers - 1) * components.ms_reader
        for n_readers, components in zip(numbers, by_treatment, strict=True)
        if n_readers > 1
    )
    degrees_of_freedom = int(numbers.sum()) - n_treatments

    return MeanSquares(
        treatment=ms_treatment,
        reader=_mean_square(within_treatments, degrees_of_freedom),
        interaction=math.nan,
    )


def _crossed_mean_squares(table: Floats) -> MeanSquares:
    """Return the mean squares of readers who all use all treatments."""
    n_treatments, n_readers = table.shape
    treatment_means = np.nanmean(table, axis=1)
    reader_means = table.mean(axis=0)
    grand_mean = float(table.mean())
    # the part that neither treatment nor reader explains
    residuals = table - treatment_means[:, None] - reader_means + grand_mean

    between_treatments = float(np.sum((treatment_means - grand_mean) ** 2))
    between_readers = float(np.sum((reader_means - grand_mean) ** 2))
    treatment_df = n_treatments - 1
    reader_df = n_readers - 1

    return MeanSquares(
        treatment=_mean_square(n_readers * between_treatments, treatment_df),
        reader=_mean_square(n_treatments * between_readers, reader_df),
        interaction=_mean_square(float(np.sum(residuals**2)), treatment_df * reader_df),
    )


def _mean_square(sum_of_squares: float, degrees_of_freedom: int) -> float:
    """Return a mean square, NaN without degrees of freedom."""
    if degrees_of_freedom == 0:
        return math.nan
    return sum_of_squares / degrees_of_freedom


def _components(
    squares: MeanSquares,
    errors: ErrorCovariances,
    *,
    n_treatments: int,
    nested: bool,
) -> ReaderComponents:
    """Return the variance components, free of the errors (Hillis 2014).

    MS(TR) has the mean interaction + Var - Cov1 - (Cov2 - Cov3), and MS(R) the mean of
    that plus I (readers + Cov1 - Cov3), with I treatments.
    """
    if nested or n_treatments == 1:
        # nested readers show no interaction of their own
        reader = squares.reader - errors.variance + errors.cov2
        interaction = 0.0
    else:
        reader = (squares.reader - squares.interaction) / n_treatments
        reader = reader - errors.cov1 + errors.cov3
        interaction = squares.interaction - errors.variance + errors.cov1
        interaction = interaction + errors.cov2 - errors.cov3

    return ReaderComponents(
        ms_treatment=squares.treatment,
        ms_reader=squares.reader,
        ms_interaction=squares.interaction,
        error_variance=errors.variance,
        cov1=errors.cov1,
        cov2=errors.cov2,
        cov3=errors.cov3,
        reader_variance=_zero_if_nan(reader),
        interaction_variance=_zero_if_nan(interaction),
    )


def _zero_if_nan(component: float) -> float:
    """Return 0 for a component that cannot be estimated (NaN)."""
    return 0.0 if math.isnan(component) else component


class ReaderVariance(NamedTuple):
    """Variance of one reader's result within a mean, and the mean square behind it."""

    value: float
    mean_square: float  # the part that a mean square of the readers shows
    mean_square_df: float  # its degrees of freedom

    @property
    def hillis_df(self) -> float:
        """Return Hillis' degrees of freedom: only the mean square is uncertain."""
        if not self.mean_square > 0:
            return math.inf
        return self.mean_square_df * (self.value / self.mean_square) ** 2


def known_variance(value: float) -> ReaderVariance:
    """Return a variance with infinite degrees of freedom, as fixed readers have."""
    return ReaderVariance(value, mean_square=0.0, mean_square_df=math.inf)


def treatment_variance(
    model: ReaderModel, fixed: str | None, n_readers: float
) -> ReaderVariance:
    """Return the variance of MS(T) if all treatments are equal, with so many readers.

    It is the denominator of the F test.
    """
    # The mean square of readers contains what varies from reader to reader. It does not
    # contain Cov2 - Cov3, the error that cases cause for all readers of a treatment.
    # Negative estimates of that are chance (Hillis 2007).
    components = model.components
    due_to_cases = components.cov2 - components.cov3

    if fixed == "readers":
        # Nested readers have one treatment, so that any other pair has Cov3.
        shared = components.cov3 if model.nested else components.cov1
        return known_variance(
            components.error_variance - shared + (n_readers - 1) * due_to_cases
        )

    n_readers_by_treatment = model.readers_per_treatment
    n_treatments = len(model.table)

    if model.nested:
        mean_square = components.ms_reader
        mean_square_df = float(n_readers_by_treatment.sum() - n_treatments)
    else:
        mean_square = components.ms_interaction
        mean_square_df = (n_treatments - 1.0) * (n_readers_by_treatment[0] - 1.0)

    value = mean_square
    if fixed != "cases":
        value = mean_square + n_readers * max(due_to_cases, 0.0)

    return ReaderVariance(value, mean_square, mean_square_df)


def tail_probability(variance: ReaderVariance, z: float) -> float:
    """Return the probability that a standardised mean is at most ``z``."""
    from scipy.special import ndtr, stdtr

    if math.isinf(variance.hillis_df):
        return float(ndtr(z))
    return float(stdtr(variance.hillis_df, z))


class EqualityTest(NamedTuple):
    """Test that all treatments are equal."""

    statistic: float
    df1: int
    df2: float
    p_value: float


def equality_test(model: ReaderModel, fixed: str | None) -> EqualityTest:
    """Return the F test that all treatments are equal; NaN with one treatment."""
    df1 = len(model.table) - 1
    if df1 == 0:
        return EqualityTest(math.nan, 0, math.nan, math.nan)

    variance = treatment_variance(model, fixed, model.mean_number_of_readers)
    df2 = variance.hillis_df
    ms_treatment = model.components.ms_treatment
    if not variance.value > 0:
        # without variance, any difference of means is infinitely many standard errors
        statistic = math.inf if ms_treatment > 0 else 0.0
        return EqualityTest(statistic, df1, df2, math.nan)

    statistic = ms_treatment / variance.value
    p_value = _equality_p_value(variance, statistic, df1)
    return EqualityTest(statistic, df1, df2, p_value)


def _equality_p_value(variance: ReaderVariance, statistic: float, df1: int) -> float:
    """Return the p-value of the F statistic."""
    from scipy.special import chdtrc, fdtrc

    if math.isinf(variance.hillis_df):
        return float(chdtrc(df1, df1 * statistic))
    return float(fdtrc(df1, variance.hillis_df, statistic))
