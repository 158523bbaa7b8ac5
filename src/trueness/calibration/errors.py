"""How far from calibrated are the probabilities? ECE, smooth error and ICI.

Errors of bins have intervals from the residuals of these bins. Errors of smooth curves
have the intervals of likely calibration lines; a curve that is not a line has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.numbers import p_is
from trueness._core.records import Answer, Estimate
from trueness._core.solvers import bisect
from trueness.calibration.forecasts import (
    Forecasts,
    equal_mass_bins,
    equal_width_bins,
    pool_rows,
)
from trueness.calibration.lines import (
    LineFit,
    curvature_p_value,
    log_odds,
    obstacle_to_line,
)
from trueness.calibration.loess import loess_curve
from trueness.calibration.residuals import (
    BinnedResiduals,
    folded_mean,
    residuals_from_scores,
)
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.estimates import estimate_from_interval, interval_notes
from trueness.inference.verification import unlabelled_notes

_BINNINGS = ("equal mass", "equal width")
# as many as Hosmer and Lemeshow's deciles of risk
DEFAULT_BINS = 10
# below this p-value the calibration curve is not a line
SIGNIFICANT_CURVATURE = 0.05
# the errors of hundreds of lines are computed on fewer rows and a coarser grid
_LINE_ROWS = 200
_LINE_HALVINGS = 12
_LINE_CELLS = 512
# the largest number of rows to which the curve of the index is fitted
_INDEX_ROWS = 2000
# the smallest width of the smoothing kernel; the largest is 1
_NARROWEST_KERNEL = 1e-4

# from scores, cases and proportions of positives (r, m) to errors (r, j)
ErrorsOfCurves = Callable[[Floats, Array, Floats], Floats]


@final
@dataclass(frozen=True, repr=False)
class CalibrationError(Answer):
    """The expected calibration error in four versions, and what calibrated scores get.

    Attributes
    ----------
    plain, debiased : Estimate
        Mean absolute difference of score and proportion of positives over the bins; the
        same less the part that noise in the bins adds on average.
    rms, smooth : Estimate
        Root mean square difference over the bins, its square being unbiased; smooth
        calibration error: no bins, a kernel that chooses its own width.
    bins, binning : int, str
        How many bins hold cases, and how they were made.
    expected_by_chance : float
        The plain error that perfectly calibrated scores would have on average here.
    """

    plain: Estimate
    debiased: Estimate
    rms: Estimate
    smooth: Estimate
    bins: int
    expected_by_chance: float
    binning: str = "equal mass"
    notes: tuple[str, ...] = ()


@of_tally
def calibration_error(
    data: Tally,
    *,
    bins: int = DEFAULT_BINS,
    binning: str = "equal mass",
    level: float = 0.95,
) -> CalibrationError:
    r"""Expected calibration error (ECE) in four versions, with confidence intervals.

    How far is the proportion of positives from the score, on average?

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} |\bar y_b - \bar p_b|

    Compare errors only at the same n, prevalence and bins: even calibrated scores have,
    on average, the plain error ``expected_by_chance``. Kumar, Liang and Ma (2019,
    arXiv:1909.10155); Błasiok and Nakkiran (2024, arXiv:2309.12236). The interval of
    ``smooth`` is that of likely calibration lines (Scheffé 1953).

    Parameters
    ----------
    bins, binning
        Number of bins, and "equal mass": equally many cases in each, ties together; or
        "equal width": (0, 1/bins], (1/bins, 2/bins], ... as in Guo et al. (2017).

    Examples
    --------
    At score 0.2 the proportion of positives is 0.3, at score 0.8 it is 0.9.

    >>> e = calibration_error(Tally([0.2, 0.8], neg=[7, 1], pos=[3, 9]))
    >>> round(e.plain.value, 12), e.bins
    (0.1, 2)
    """
    forecasts = Forecasts(data, "calibration_error")
    bins = _options.whole_number(bins, "bins", at_least=1)
    level = _options.fraction(level, "level")
    binning = _options.choice(binning, _BINNINGS, "binning")
    if binning == "equal width":
        start = equal_width_bins(forecasts.score, bins)
    else:
        start = equal_mass_bins(forecasts.cases, bins)

    residuals = residuals_from_scores(forecasts, start)
    debiased = residuals.mean_error(level)
    chance = expected_error_by_chance(forecasts, start)
    smooth, smooth_notes = _smooth_estimate(forecasts, level)
    limitations = (
        f"Even perfectly calibrated scores would show an error of about {chance:.3g} "
        "here by chance. The error depends on the number of cases and on the "
        f"{start.size} bins. It says nothing about discrimination."
    )
    return CalibrationError(
        plain=estimate_from_interval(
            residuals.mean_error_plain,
            debiased.low,
            debiased.high,
            level,
            debiased.method,
        ),
        debiased=debiased,
        rms=_root_mean_square(residuals, level),
        smooth=smooth,
        bins=int(start.size),
        expected_by_chance=chance,
        binning=binning,
        notes=(
            *unlabelled_notes(data),
            limitations,
            *smooth_notes,
            *interval_notes(data),
        ),
    )


def error_bins(forecasts: Forecasts) -> Array:
    """Return the first rows of the default bins of errors."""
    return equal_mass_bins(forecasts.cases, DEFAULT_BINS)


def expected_error_by_chance(forecasts: Forecasts, start: Array) -> float:
    """Return the expected plain error of calibrated scores, by the normal law."""
    cases = forecasts.cases
    # floats, since squares of whole numbers could overflow int64
    total = np.add.reduceat(cases, start).astype(np.float64)
    variance = np.add.reduceat(cases * forecasts.score * (1 - forecasts.score), start)
    variance = variance / total**2
    weight = total / total.sum()
    # E|X| of a normal mean residual without error, over the bins
    return float(weight @ folded_mean(np.zeros(start.size), variance))


def _root_mean_square(residuals: BinnedResiduals, level: float) -> Estimate:
    """Return the root mean square residual, whose square is unbiased."""
    # squared residuals less their variance: unbiased
    square = residuals.weight @ (residuals.mean**2 - residuals.noise_variance)
    low, high = residuals.square_interval(level)
    return estimate_from_interval(
        math.sqrt(max(float(square), 0.0)),
        math.sqrt(low),
        math.sqrt(high),
        level,
        "noncentral chi-square",
    )


def _smooth_estimate(forecasts: Forecasts, level: float) -> tuple[Estimate, list[str]]:
    """Return the smooth calibration error with the interval of lines, and notes."""

    def errors_of_curves(score: Floats, cases: Array, proportion: Floats) -> Floats:
        # the positives that each line expects
        pos = cases * proportion
        neg = cases * (1 - proportion)
        errors = smooth_error(score, pos, neg, _LINE_HALVINGS, _LINE_CELLS)
        return np.asarray(errors)[:, None]

    value = float(smooth_error(forecasts.score, forecasts.pos, forecasts.neg))
    interval = _interval_from_lines(
        forecasts, np.array([value]), errors_of_curves, level
    )
    estimate = estimate_from_interval(
        value, interval.low[0], interval.high[0], level, "calibration line"
    )
    return estimate, interval.notes


class _LineInterval(NamedTuple):
    """The range of each of j errors over likely lines, with notes."""

    low: Floats
    high: Floats
    notes: list[str]


def _interval_from_lines(
    forecasts: Forecasts,
    values: Floats,
    errors_of_curves: ErrorsOfCurves,
    level: float,
) -> _LineInterval:
    """Return the smallest and the largest error of lines in the confidence ellipse.

    An error that no likely line has gets the whole range, 0 to 1.
    """
    from scipy.special import expit

    zero = np.zeros(len(values))
    one = np.ones(len(values))
    if obstacle_to_line(forecasts):
        return _LineInterval(zero, one, [_NOTE_ON_MISSING_LINE])

    fit = LineFit(forecasts.sample)
    if not fit.has_covariance:
        return _LineInterval(zero, one, [_NOTE_ON_MISSING_LINE])

    p_value = curvature_p_value(forecasts.sample)
    if p_value < SIGNIFICANT_CURVATURE:
        return _LineInterval(zero, one, [_note_on_curvature(p_value)])

    score, pos, neg = pool_rows(
        forecasts.score, forecasts.pos, forecasts.neg, _LINE_ROWS
    )
    lines = fit.lines_in_ellipse(level)
    # (lines, rows): log odds of each line at each score
    odds = lines[:, :1] + lines[:, 1:] * log_odds(score)
    errors = errors_of_curves(score, pos + neg, expit(odds))
    low = errors.min(axis=0)
    high = errors.max(axis=0)
    if fit.test_of_ideal().p_value >= 1 - level:
        # the ideal line, without any error, is in the ellipse
        low = zero

    outside = (values < low) | (values > high)
    notes = [_NOTE_ON_OTHER_CURVES] if outside.any() else []
    return _LineInterval(
        np.where(outside, 0.0, low), np.where(outside, 1.0, high), notes
    )


_NOTE_ON_MISSING_LINE = (
    "These cases have no calibration line (a single score, perfectly separated "
    "classes, or one case in a class), so the calibration error has no interval."
)
_NOTE_ON_OTHER_CURVES = (
    "No calibration line has so large an error, so the interval is 0 to 1."
)


def _note_on_curvature(p_value: float) -> str:
    """Return why errors of smooth curves have no interval."""
    return (
        "The log-odds of being positive are not linear in the log-odds of the score "
        f"({p_is(p_value)}), so this error has no interval. Look at the reliability "
        "diagram."
    )


def smooth_error(
    score: Floats, pos: Array, neg: Array, halvings: int = 40, cells: int = 4096
) -> Any:
    """Return the smooth error (Błasiok and Nakkiran 2023) of samples (..., m).

    The Gaussian reflected at 0 and 1 is the heat kernel there, so smoothing damps each
    term of a cosine series on its own.
    """
    from scipy.fft import dct, idct

    # the residuals of the cases, summed in narrow cells from 0 to 1
    cases = pos + neg
    cell_of_row = np.clip((score * cells).astype(int), 0, cells - 1)
    start = np.flatnonzero(np.diff(cell_of_row, prepend=-1))
    sums = np.add.reduceat(pos - cases * score, start, axis=-1)
    residual = np.zeros((*cases.shape[:-1], cells))
    residual[..., cell_of_row[start]] = sums / cases.sum(axis=-1, keepdims=True)

    series = dct(residual, type=2, norm="ortho")

    def error_at_width(width: Floats) -> Floats:
        # the Fourier transform of a Gaussian of this width
        frequency = np.pi * width[..., None] * np.arange(cells)
        damping = np.exp(-(frequency**2) / 2)
        smoothed = np.abs(idct(series * damping, type=2, norm="ortho"))
        return np.asarray(smoothed.sum(axis=-1))

    def error_is_below_width(log_width: Floats) -> Array:
        return error_at_width(np.exp(log_width)) <= np.exp(log_width)

    narrowest = np.full(cases.shape[:-1], np.log(_NARROWEST_KERNEL))
    error_at_narrowest = error_at_width(np.exp(narrowest))
    # the error falls as the width grows: find the width that equals its error, on the
    # logarithmic scale, from 1 down to 0.0001
    log_width = bisect(error_is_below_width, 0.0, narrowest, halvings)
    return np.where(
        error_at_narrowest <= _NARROWEST_KERNEL, error_at_narrowest, np.exp(log_width)
    )[()]


@final
@dataclass(frozen=True, repr=False)
class CalibrationIndex(Answer):
    """Distances between the scores and a smooth calibration curve.

    Attributes
    ----------
    ici, e50, e90, largest : Estimate
        Mean (integrated calibration index), median, 90th percentile and maximum.
    span : float
        Proportion of the cases that each local fit uses.
    """

    ici: Estimate
    e50: Estimate
    e90: Estimate
    largest: Estimate
    span: float
    notes: tuple[str, ...] = ()


@of_tally
def calibration_index(
    data: Tally, *, span: float = 0.75, level: float = 0.95
) -> CalibrationIndex:
    r"""Integrated calibration index (ICI), with E50, E90 and the largest distance.

    How far is the score from a smooth curve of the proportion of positives?

    .. math:: \mathrm{ICI} = \frac1n \sum_i |\hat f(p_i) - p_i|

    with :math:`\hat f` R's ``loess`` of degree 2 with ``surface="direct"``, which may
    go outside [0, 1] (Austin and Steyerberg 2019, doi:10.1002/sim.8281). More than
    2,000 distinct scores are pooled.

    Parameters
    ----------
    span
        Proportion of the cases in each local fit; R and the paper use 0.75.

    Examples
    --------
    The scores are 0.1 too high everywhere; the true curve is a line, which loess fits.

    >>> t = Tally([0.2, 0.4, 0.6, 0.8], neg=[90, 70, 50, 30], pos=[10, 30, 50, 70])
    >>> round(calibration_index(t).ici.value, 9)
    0.1
    """
    forecasts = Forecasts(data, "calibration_index")
    span = _options.fraction(span, "span", ends="(]")
    level = _options.fraction(level, "level")

    score, pos, neg = pool_rows(
        forecasts.score, forecasts.pos, forecasts.neg, _INDEX_ROWS
    )
    cases = (pos + neg).astype(np.float64)
    curve = loess_curve(score, pos, cases, span)
    values = _distance_summaries(score, cases, curve)

    interval = _interval_from_lines(forecasts, values, _distance_summaries, level)
    estimates = [
        estimate_from_interval(value, low, high, level, "calibration line")
        for value, low, high in zip(values, interval.low, interval.high, strict=True)
    ]
    ici, e50, e90, largest = estimates
    notes = (
        "Even perfectly calibrated scores have an index above 0 by chance. It says "
        "nothing about discrimination.",
        *interval.notes,
        *unlabelled_notes(data),
        *interval_notes(data),
    )
    return CalibrationIndex(ici, e50, e90, largest, span, notes)


def _distance_summaries(score: Floats, cases: Array, curve: Floats) -> Floats:
    """Return mean, median, 90th percentile and maximum distance of curves (..., 4)."""
    distance = np.abs(curve - score)
    distance, cases = np.broadcast_arrays(distance, cases.astype(np.float64))
    order = np.argsort(distance, axis=-1)
    ascending = np.take_along_axis(distance, order, axis=-1)
    # distances in ascending order, with the cases at or below each
    cases_up_to = np.cumsum(np.take_along_axis(cases, order, axis=-1), axis=-1)

    mean = (distance * cases).sum(axis=-1) / cases.sum(axis=-1)
    median = _quantile(ascending, cases_up_to, 0.5)
    ninetieth = _quantile(ascending, cases_up_to, 0.9)
    return np.stack([mean, median, ninetieth, ascending[..., -1]], axis=-1)


def _quantile(ascending: Floats, cases_up_to: Floats, probability: float) -> Floats:
    """Return a quantile of counted values, interpolated as in NumPy and R."""
    # the place of the quantile among the n - 1 gaps between cases (type 7 of R)
    position = probability * (cases_up_to[..., -1:] - 1)

    def value_at(case: Floats) -> Floats:
        # the first value up to which there are more cases than this one
        index = (cases_up_to <= case).sum(axis=-1)
        index = np.minimum(index, ascending.shape[-1] - 1)
        return np.take_along_axis(ascending, index[..., None], axis=-1)[..., 0]

    fraction = (position - np.floor(position))[..., 0]
    below = value_at(np.floor(position))
    above = value_at(np.ceil(position))
    return np.asarray(below * (1 - fraction) + above * fraction)
