"""How far from calibrated are the probabilities? Slope, intercept, ECE and ICI.

Errors of smooth curves have the limits of likely calibration lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.numbers import p_is
from trueness._core.records import Answer, Estimate
from trueness._core.solvers import (
    bisect,
    coefficient_influence,
    fit_logistic,
    separated,
)
from trueness.calibration.forecasts import (
    Forecasts,
    binned,
    equal_mass,
    folded_mean,
    pooled,
    varied,
)
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.estimates import (
    estimate_from_interval,
    estimate_measure,
    interval_notes,
)
from trueness.inference.sample import MeasuredValue, Sample
from trueness.inference.variance import Influence
from trueness.inference.verification import unlabelled_notes

_EPS = 2.0**-52
_EVERYWHERE = (-math.inf, math.inf)
_Errors = Callable[[Floats, Array, Floats], Floats]
_BINNINGS = ("equal mass", "equal width")
# rows that the curve of the index is fitted to, and points at which it is
_ROWS, _POINTS = 2000, 400


@final
@dataclass(frozen=True, repr=False)
class CalibrationLine(Answer):
    """Calibration slope and intercept.

    Attributes
    ----------
    slope : Estimate
        Below 1 the scores are too extreme, above 1 too timid.
    intercept : Estimate
        Log-odds by which the scores are too low (above 0) or too high on the whole, the
        slope being held at 1 ("calibration in the large").
    clipped : int
        Labelled cases with a score of exactly 0 or 1, taken as 2^-52 from it.
    """

    slope: Estimate
    intercept: Estimate
    clipped: int
    notes: tuple[str, ...] = ()


@of_tally
def calibration_line(data: Tally, *, level: float = 0.95) -> CalibrationLine:
    r"""Are the probabilities too extreme, or too high overall?

    .. math:: \mathrm{logit}\, P(y=1) = a + b\, \mathrm{logit}(p)

    The slope is b with a free; the intercept is a with b = 1 (Cox 1958,
    doi:10.1093/biomet/45.3-4.562; Van Calster et al. 2019,
    doi:10.1186/s12916-019-1466-7). The variance is the sandwich estimator (Huber 1967;
    Binder 1983).

    Examples
    --------
    The scores have log-odds of -ln 9 and ln 9, where the true ones are -ln 3 and ln 3.

    >>> line = calibration_line(Tally([0.1, 0.9], neg=[30, 10], pos=[10, 30]))
    >>> round(line.slope.value, 6), round(abs(line.intercept.value), 6)
    (0.5, 0.0)
    """
    _cases.both_classes(data, "calibration_line")
    if why := no_line(Forecasts(data, "calibration_line")):
        raise NotEnoughCases(f"A calibration slope needs {why}")
    slope, intercept = (
        estimate_measure(data, m, level=level)
        for m in (slope_measure, intercept_measure)
    )
    known = data.labelled()
    clipped = int((known.neg + known.pos)[np.isin(known.score, (0, 1))].sum())
    notes = (*unlabelled_notes(data), *slope.notes)
    slope, intercept = replace(slope, notes=()), replace(intercept, notes=())
    return CalibrationLine(slope, intercept, clipped, notes)


def no_line(s: Forecasts) -> str:
    """Say what a slope needs that these cases have not."""
    logit = log_odds(s.score)
    if logit[0] == logit[-1]:
        return f"two different scores; all cases have {s.score[0]:g}."
    if not s.pos.any() or not s.neg.any() or separated(logit, s.pos, s.neg):
        return (
            "classes that overlap; here one threshold separates them perfectly, so the "
            "slope would be infinite."
        )
    return ""


def slope_measure(t: Tally) -> MeasuredValue:
    """Return the slope of the calibration line and its influence values."""
    beta, by_neg, by_pos = _coefficients(t, 1)
    return MeasuredValue(
        float(beta[1]), Influence(by_neg[:, 1], by_pos[:, 1]), _EVERYWHERE
    )


def intercept_measure(t: Tally) -> MeasuredValue:
    """Return the calibration in the large and its influence values."""
    logit = log_odds(t.score)
    (value, *_), *_ = fit_logistic([], t.pos[::-1], t.neg[::-1], offset=logit[::-1])
    value = float(value)
    ones = np.ones((logit.size, 1))
    unit, p = coefficient_influence(ones, value + logit, t.pos + t.neg)
    return MeasuredValue(
        value, Influence(-unit[:, 0] * p, unit[:, 0] * (1 - p)), _EVERYWHERE
    )


def _coefficients(t: Tally, degree: int) -> tuple[Floats, Floats, Floats]:
    """Fit a polynomial in the log-odds: coefficients and influences (m, degree + 1)."""
    columns = [log_odds(t.score) ** k for k in range(1, degree + 1)]
    beta, *_ = fit_logistic([c[::-1] for c in columns], t.pos[::-1], t.neg[::-1])
    design = np.stack([np.ones(len(t)), *columns], axis=1)
    unit, p = coefficient_influence(design, design @ beta, t.pos + t.neg)
    return beta, -unit * p[:, None], unit * (1 - p)[:, None]


def log_odds(score: Floats) -> Floats:
    """Give the logit of probabilities, 0 and 1 taken as 2^-52 from themselves."""
    p = np.clip(score, _EPS, 1 - _EPS)
    return np.asarray(np.log(p) - np.log1p(-p))


class LineFit:
    """Intercept and slope, both free, their covariance and its degrees of freedom."""

    def __init__(self, sample: Sample[Tally]) -> None:
        self.beta, by_neg, by_pos = _coefficients(sample.target_counts, 1)
        first, second, both = (
            varied(sample, by_neg @ along, by_pos @ along)
            for along in np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        )
        cross = (both.variance - first.variance - second.variance) / 2
        self.covariance = np.array([[first.variance, cross], [cross, second.variance]])
        self.df = min(first.degrees_of_freedom, second.degrees_of_freedom)

    def ideal(self) -> tuple[float, float]:
        """How far is the ideal line from this one? Wald's statistic and its p-value."""
        from scipy.special import chdtrc, fdtrc

        if not np.isfinite(self.covariance).all():  # a single case of a class
            return math.nan, math.nan
        gap = self.beta - np.array([0.0, 1.0])
        square = float(gap @ np.linalg.pinv(self.covariance, hermitian=True) @ gap)
        if math.isinf(self.df):
            return square, float(chdtrc(2, square))
        rest = max(self.df - 1, 1.0)
        return square, float(fdtrc(2, rest, square * rest / (2 * self.df)))

    def lines(self, level: float) -> Floats:
        """Give lines (r, 2) that fill the confidence ellipse (Scheffe 1953)."""
        from scipy.special import fdtri

        rest = max(self.df - 1, 1.0)
        reach = math.sqrt(2 * self.df / rest * float(fdtri(2, rest, level)))
        values, axes = np.linalg.eigh(self.covariance)
        angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        disc = np.concatenate([r * circle for r in (0.25, 0.5, 0.75, 1.0)])
        gap = (disc * reach * np.sqrt(np.maximum(values, 0.0))) @ axes.T
        return np.concatenate([self.beta[None], self.beta + gap])


def _bent(sample: Sample[Tally]) -> float:
    """How likely is a line at least so bent, if it is straight? The p-value."""
    from scipy.special import stdtr

    beta, by_neg, by_pos = _coefficients(sample.target_counts, 2)
    s = varied(sample, by_neg[:, 2], by_pos[:, 2])
    if not s.variance > 0:
        return 1.0
    return float(2 * stdtr(s.degrees_of_freedom, -abs(beta[2]) / s.standard_error))


@final
@dataclass(frozen=True, repr=False)
class CalibrationError(Answer):
    """The expected calibration error in four versions, and what calibrated scores get.

    Attributes
    ----------
    plain, debiased : Estimate
        Mean absolute difference of score and share of positives over the bins; the same
        less the part that noise in the bins adds on average.
    rms, smooth : Estimate
        Root mean square difference over the bins, its square being unbiased; smooth
        calibration error: no bins, a kernel that chooses its own width.
    bins, binning : int, str
        How many bins hold cases, and how they were made.
    chance : float
        The plain error that perfectly calibrated scores would have on average here.
    warning : str
        What the number is worth.
    """

    plain: Estimate
    debiased: Estimate
    rms: Estimate
    smooth: Estimate
    bins: int
    chance: float
    warning: str
    binning: str = "equal mass"
    notes: tuple[str, ...] = ()


@of_tally
def calibration_error(
    data: Tally, *, bins: int = 15, binning: str = "equal mass", level: float = 0.95
) -> CalibrationError:
    r"""How far is the share of positives from the score, on average (ECE)?

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} |\bar y_b - \bar p_b|

    Two errors can be compared only at the same n, prevalence and bins: calibrated
    scores have on average the plain error ``chance``. Kumar, Liang and Ma (2019,
    arXiv:1909.10155); Błasiok and Nakkiran (2024, arXiv:2309.12236); limits by Scheffé
    (1953).

    Parameters
    ----------
    bins, binning
        Number of bins, and "equal mass": equally many cases in each, ties together; or
        "equal width": (0, 1/bins], (1/bins, 2/bins], ... as in Guo et al. (2017).

    Examples
    --------
    At score 0.2 the share of positives is 0.3, at score 0.8 it is 0.9.

    >>> e = calibration_error(Tally([0.2, 0.8], neg=[7, 1], pos=[3, 9]))
    >>> round(e.plain.value, 12), e.bins
    (0.1, 2)
    """
    s = Forecasts(data, "calibration_error")
    bins = _options.whole_number(bins, "bins", at_least=1)
    level = _options.fraction(level, "level")
    start = equal_mass(s.cases, bins)
    if _options.choice(binning, _BINNINGS, "binning") == "equal width":
        # rows of the bins (k/bins, (k+1)/bins]; empty ones are none
        number = np.searchsorted(np.arange(1, bins) / bins, s.score, side="left")
        start = np.flatnonzero(np.diff(number, prepend=-1))
    found = binned(s, start)
    # the expected plain error of calibrated scores, by the normal law
    total = np.add.reduceat(s.cases, start).astype(np.float64)  # squares overflow int64
    right = np.add.reduceat(s.cases * s.score * (1 - s.score), start) / total**2
    chance = float(found.weight @ folded_mean(np.zeros(start.size), right))
    low, high = (math.sqrt(x) for x in found.limits(level))
    debiased = found.mean_error(level)
    plain = replace(debiased, value=float(found.weight @ np.abs(found.gap)))
    rms = math.sqrt(max(float(found.weight @ (found.gap**2 - found.noise)), 0.0))
    # of hundreds of lines, on a coarser grid
    curves, said = _line_limits(
        s, level, lambda p, n, y: smooth_error(p, n * y, n * (1 - y), 12, 512)[:, None]
    )
    smooth = float(smooth_error(s.score, s.pos, s.neg))
    warning = (
        "By chance, even perfectly calibrated scores would have a plain error of "
        f"{chance:.3g} here. The error depends on the number of cases and on the "
        f"{start.size} bins, and says nothing about discrimination."
    )
    return CalibrationError(
        estimate_from_interval(plain.value, plain.low, plain.high, level, plain.method),
        debiased,
        estimate_from_interval(rms, low, high, level, "noncentral chi-square"),
        estimate_from_interval(
            smooth, curves[0, 0], curves[1, 0], level, "calibration line"
        ),
        *(int(start.size), chance, warning, binning),
        notes=(*unlabelled_notes(data), *said, *interval_notes(data)),
    )


def _line_limits(
    s: Forecasts, level: float, errors: _Errors
) -> tuple[Floats, list[str]]:
    """Between which numbers lie errors (j,) of likely calibration lines? (2, j), notes.

    ``errors`` takes scores, cases and shares of positives (r, m), and gives (r, j).
    """
    from scipy.special import expit

    score, pos, neg = pooled(s.score, s.pos, s.neg, 200)
    cases = pos + neg
    fit = None if no_line(s) else LineFit(s.sample)
    if fit is None or not np.isfinite(fit.covariance).all():
        none = errors(score, cases, score[None])[0]
        return np.stack([0 * none, 0 * none + 1]), [
            "These cases have no calibration line (one score, separated classes, or "
            "one case of a class), so that errors of smooth curves have no limits."
        ]
    lines = fit.lines(level)
    odds = lines[:, :1] + lines[:, 1:] * log_odds(score)
    found = errors(score, cases, expit(odds))
    low, high = found.min(axis=0), found.max(axis=0)
    if fit.ideal()[1] >= 1 - level:
        low = 0 * low
    p = _bent(s.sample)
    said = (
        "The share of positives does not follow a straight line in the log-odds of the "
        f"score ({p_is(p)}): a slope and an intercept do not describe the "
        "miscalibration, and limits of smooth errors, which are those of lines, fall "
        "short. Look at reliability."
    )
    return np.stack([low, high]), [said] if p < 0.05 else []


def smooth_error(
    score: Floats, pos: Array, neg: Array, halvings: int = 40, cells: int = 4096
) -> Any:
    """Give the smooth error (Błasiok and Nakkiran 2023) of samples (..., m).

    The Gaussian reflected at 0 and 1 is the heat kernel there, so smoothing damps each
    term of a cosine series on its own.
    """
    from scipy.fft import dct, idct

    cases = pos + neg
    place = np.clip((score * cells).astype(int), 0, cells - 1)
    start = np.flatnonzero(np.diff(place, prepend=-1))
    residual = np.zeros((*cases.shape[:-1], cells))
    sums = np.add.reduceat(pos - cases * score, start, axis=-1)
    residual[..., place[start]] = sums / cases.sum(axis=-1, keepdims=True)
    series = dct(residual, type=2, norm="ortho")

    def smoothed(width: Floats) -> Floats:
        damping = np.exp(-((np.pi * width[..., None] * np.arange(cells)) ** 2) / 2)
        smooth = np.abs(idct(series * damping, type=2, norm="ortho"))
        return np.asarray(smooth.sum(axis=-1))

    def below(width: Floats) -> Array:  # on the scale of logarithms
        return smoothed(np.exp(width)) <= np.exp(width)

    narrowest = np.full(cases.shape[:-1], np.log(1e-4))
    least = smoothed(np.exp(narrowest))
    # the error falls as the width grows: coming from a width of 1, where do they meet?
    meet = bisect(below, 0.0, narrowest, halvings)
    return np.where(least <= 1e-4, least, np.exp(meet))[()]


@final
@dataclass(frozen=True, repr=False)
class CalibrationIndex(Answer):
    """Distances between the scores and a smooth calibration curve.

    Attributes
    ----------
    ici, e50, e90, largest : Estimate
        Mean (integrated calibration index), median, 90th percentile and maximum.
    span : float
        Share of the cases that each local fit uses.
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
    r"""How far is the score from a smooth curve of the share of positives?

    .. math:: \mathrm{ICI} = \frac1n \sum_i |\hat f(p_i) - p_i|

    with :math:`\hat f` R's ``loess`` of degree 2 with ``surface="direct"``, which may
    go outside [0, 1] (Austin and Steyerberg 2019, doi:10.1002/sim.8281). More than
    2,000 distinct scores are pooled.

    Parameters
    ----------
    span
        Share of the cases in each local fit; R and the paper use 0.75.

    Examples
    --------
    The scores are 0.1 too high everywhere; the true curve is a line, which loess fits.

    >>> t = Tally([0.2, 0.4, 0.6, 0.8], neg=[90, 70, 50, 30], pos=[10, 30, 50, 70])
    >>> round(calibration_index(t).ici.value, 9)
    0.1
    """
    s = Forecasts(data, "calibration_index")
    span = _options.fraction(span, "span", ends="(]")
    level = _options.fraction(level, "level")
    score, pos, neg = pooled(s.score, s.pos, s.neg, _ROWS)
    cases, at = (pos + neg).astype(np.float64), score
    if score.size > _POINTS:
        at = score[np.unique(np.linspace(0, score.size - 1, _POINTS).astype(int))]
    # a block of points at a time: the table of distances has score.size columns
    step = max(1, (1 << 20) // max(score.size, 1))
    parts = (at[k : k + step] for k in range(0, at.size, step))
    curve = [_loess(score, cases, some, span) @ (pos / cases) for some in parts]
    fitted = np.interp(score, at, np.concatenate(curve))
    values = _summary(score, cases, fitted)
    ends, said = _line_limits(s, level, _summary)
    rows = np.stack([values, *ends], axis=1).tolist()
    made = [
        estimate_from_interval(v, low, top, level, "calibration line")
        for v, low, top in rows
    ]
    notes = (
        "By chance, even perfectly calibrated scores have an index above 0; it says "
        "nothing about discrimination.",
        *(*said, *unlabelled_notes(data), *interval_notes(data)),
    )
    return CalibrationIndex(made[0], made[1], made[2], made[3], span, notes)


def _summary(score: Floats, cases: Array, shares: Floats) -> Floats:
    """Give mean, median, 90th percentile and maximum distance of curves (..., 4)."""
    distance = np.abs(shares - score)
    distance, cases = np.broadcast_arrays(distance, cases.astype(np.float64))
    order = np.argsort(distance, axis=-1)
    ranked, upto = (np.take_along_axis(x, order, axis=-1) for x in (distance, cases))
    upto = np.cumsum(upto, axis=-1)
    mean = (distance * cases).sum(axis=-1) / cases.sum(axis=-1)
    quantiles = [_quantile(ranked, upto, share) for share in (0.5, 0.9)]
    return np.stack([mean, *quantiles, ranked[..., -1]], axis=-1)


def _quantile(values: Floats, upto: Floats, share: float) -> Floats:
    """Give a quantile as NumPy and R do; ``upto`` cases have no larger a value."""
    place = share * (upto[..., -1:] - 1)
    ends = []
    for at in (np.floor(place), np.ceil(place)):
        index = np.minimum((upto <= at).sum(axis=-1), values.shape[-1] - 1)
        ends.append(np.take_along_axis(values, index[..., None], axis=-1)[..., 0])
    part = (place - np.floor(place))[..., 0]
    return np.asarray(ends[0] * (1 - part) + ends[1] * part)


def _loess(x: Floats, weight: Floats, at: Floats, span: float) -> Floats:
    """Give the weights of a local quadratic regression on x at some points."""
    offset = x - at[:, None]
    distance = np.abs(offset)
    order = np.argsort(distance, axis=1)
    upto = np.cumsum(weight[order], axis=1)
    wanted = max(1.0, np.floor(span * weight.sum() + 1e-5))
    last = np.argmax(upto >= wanted - 1e-9, axis=1)
    rows = np.arange(at.size)
    width = distance[rows, order[rows, last]]
    # a width of nothing: all that count are at the point itself
    width = np.where(width > 0, width, np.where(distance == 0, np.inf, distance).min(1))
    width = np.where(np.isfinite(width) & (width > 0), width, 1.0)[:, None]
    u = np.where(distance < width, offset, width) / width
    w = weight * np.clip(1 - np.abs(u) ** 3, 0, None) ** 3
    powers = np.stack([np.ones_like(u), u, u * u], axis=2)
    weighed = (w[:, :, None] * powers).transpose(0, 2, 1)
    # fewer than three scores within reach leave the curve open: the flattest one
    inverse = np.linalg.pinv(weighed @ powers, rcond=1e-9, hermitian=True)
    return np.asarray((inverse[:, :1] @ weighed)[:, 0])
