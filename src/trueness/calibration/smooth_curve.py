r"""How far are the probabilities from a smooth curve through what happened?

The integrated calibration index (ICI) of Austin and Steyerberg (2019): the labels are
smoothed over the scores by local regression, and the distance between that curve and
the score is averaged over the cases (ICI), or its median (E50) and its 90th percentile
(E90) are taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.records import Answer, Estimate
from trueness.calibration.error_intervals import Band, ErrorKind, error_estimates
from trueness.calibration.forecasts import DrawRequest, Forecasts
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally

# A band has the true curve nearer or farther at about 5 % of the scores, and up to 10 %
# in most samples, because neighbours are missed together: so the median distance lies
# between the 40th percentile of the nearest and the 60th of the farthest. Of the 10 %
# above the 90th percentile 2 % are left.
_BEYOND = (0.4, 0.6), (0.8, 0.98)
# rows that the curve is fitted to, and points at which it is; the bootstrap takes fewer
_ROWS, _POINTS = 2000, 400
_FEWER = 200, 50


@final
@dataclass(frozen=True, repr=False)
class CalibrationIndex(Answer):
    """Distances between the scores and a smooth calibration curve.

    Attributes
    ----------
    ici : Estimate
        Mean distance over the cases (integrated calibration index).
    e50, e90 : Estimate
        Median and 90th percentile of the distance.
    largest : Estimate
        Maximum of the distance (E_max).
    span : float
        Share of the cases that each local fit uses.
    notes : tuple of str
        How far the numbers can be relied on.
    """

    ici: Estimate
    e50: Estimate
    e90: Estimate
    largest: Estimate
    span: float
    notes: tuple[str, ...] = ()


@of_tally(
    weights="Its curve has the spread of cases of equal weight. calibration_line, "
    "calibration_test, brier and reliability take weights."
)
def calibration_index(
    t: Tally,
    *,
    span: float = 0.75,
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    replicates: int = 200,
    rng: Any = 0,
) -> CalibrationIndex:
    r"""How far is the score from a smooth curve of the share of positives?

    .. math:: \mathrm{ICI} = \frac1n \sum_i |\hat f(p_i) - p_i|

    with :math:`\hat f` the local quadratic regression (loess) of the labels on the
    scores.

    Parameters
    ----------
    t
        Labelled cases whose scores are probabilities.
    span
        Share of the cases in each local fit; R and the paper use 0.75.
    prevalence, sampling
        As in :func:`trueness.brier`.
    level
        Confidence level of the intervals: of a mean over cases for the ICI, of all
        curves within a band for the others. An interval starts at 0 unless the observed
        index is larger than calibrated scores would give.
    replicates
        Bootstrap samples.
    rng
        Seed or NumPy generator.

    Notes
    -----
    The curve is loess of degree 2 with tricube weights and without robust steps, as
    ``loess`` of R with ``surface = "direct"``; the curve may go outside [0, 1].
    Calibrated scores also have an index above 0, which shrinks as the number of cases
    grows; the interval corrects for this. A departure from the curve at fewer than a
    fortieth of the cases is not seen, and the interval of ``largest`` is about the
    scores of these cases. More than 2,000 distinct scores are pooled to
    2,000, and to 200 for the intervals.

    References
    ----------
    P. C. Austin, E. W. Steyerberg, The integrated calibration index (ICI) and related
    metrics for quantifying the calibration of logistic regression models, Statistics in
    Medicine 38 (2019) 4051, doi:10.1002/sim.8281.

    Examples
    --------
    The scores are 0.1 too high everywhere; the true curve is a line, which loess fits.

    >>> t = Tally([0.2, 0.4, 0.6, 0.8], neg=[90, 70, 50, 30], pos=[10, 30, 50, 70])
    >>> round(calibration_index(t).ici.value, 9)
    0.1
    """
    s = Forecasts.of(t, "calibration_index", sampling, prevalence)
    span = _options.fraction(span, "span", ends="(]")
    ask = DrawRequest.of(level, replicates, rng)
    values = _distances(*s.pooled(_ROWS)[:3], span=span, points=_POINTS)
    few = _pooled_within(s, _FEWER[0])
    smoother = _smoother(few, span)
    kind = ErrorKind(
        partial(_drawn_distances, span=span, smoother=smoother),
        partial(_true_distances, smoother=smoother),
        _signs,
        _within,
    )
    found, bent = error_estimates(values.tolist(), few, kind, ask)
    ici, e50, e90, largest = found
    notes = (
        "By chance, even perfectly calibrated scores have an index above 0; it says "
        "nothing about discrimination.",
        *bent,
        *s.notes,
    )
    return CalibrationIndex(ici, e50, e90, largest, span, notes)


def _pooled_within(s: Forecasts, most: int) -> Forecasts:
    """Pool rows but for the first and the last, where distances are often largest."""
    if s.score.size <= most:
        return s
    score, pos, neg = (c[1:-1] for c in s[:3])
    inner = Forecasts(score, pos, neg).pooled(most - 2)
    whole = zip(s[:3], inner[:3], strict=True)
    mean, pos, neg = (np.concatenate([x[:1], y, x[-1:]]) for x, y in whole)
    return Forecasts(mean, pos, neg, fixed=s.fixed)


def _distances(
    score: Floats, pos: Array, neg: Array, *, span: float, points: int
) -> Floats:
    cases = (pos + neg).astype(np.float64)
    at = _points(score, points)
    fitted = np.interp(score, at, loess(score, pos / cases, cases, at, span))
    return _summary(np.abs(fitted - score), cases)


def _drawn_distances(
    score: Floats, pos: Array, neg: Array, *, span: float, smoother: Floats
) -> Floats:
    """Give the distances of samples (..., 4); a cohort has the same cases in all."""
    cases = pos + neg
    if pos.ndim == 1 or ((cases == cases[0]) & (cases > 0)).all():
        return _summary(np.abs(pos / cases @ smoother.T - score), cases)
    found = []
    for up, down in zip(pos, neg, strict=True):
        at = np.flatnonzero(up + down)
        rows = score[at], up[at], down[at]
        found.append(_distances(*rows, span=span, points=_FEWER[1]))
    return np.array(found)


def _smoother(s: Forecasts, span: float) -> Floats:
    """What does each row's share add to the curve at each row? (m, m)"""
    at = _points(s.score, _FEWER[1])
    weights = loess_weights(s.score, s.cases.astype(np.float64), at, span)
    return np.stack([np.interp(s.score, at, w) for w in weights.T], axis=1)


def _true_distances(
    score: Floats, cases: Array, shares: Floats, *, smoother: Floats
) -> Floats:
    """Give the distances of known shares, smoothed and as they are (2, ..., 4)."""
    curves = shares @ smoother.T, shares
    return np.stack([_summary(np.abs(f - score), cases) for f in curves])


def _within(pointwise: Band, at_once: Band, cases: Array) -> Floats:
    """Between which values do quantiles of the distance lie, of a curve in a band?"""
    ends = np.full((2, 4), np.nan)
    for end, away in enumerate(pointwise):
        order = np.argsort(away)
        upto = np.cumsum(cases[order], dtype=np.float64)
        for j, shares in enumerate(_BEYOND):
            ends[end, 1 + j] = _quantile(away[order], upto, shares[end])
        ends[end, 3] = at_once[end].max()
    return ends


def _points(score: Floats, most: int) -> Floats:
    """Give at most so many of the scores, from the first to the last."""
    if score.size <= most:
        return score
    some = np.unique(np.linspace(0, score.size - 1, most).astype(int))
    return np.asarray(score[some])


def _summary(away: Floats, cases: Array) -> Floats:
    """Give mean, median, 90th percentile and maximum of distances (..., 4)."""
    away, cases = np.broadcast_arrays(away, cases.astype(np.float64))
    order = np.argsort(away, axis=-1)
    ranked, upto = (np.take_along_axis(x, order, axis=-1) for x in (away, cases))
    upto = np.cumsum(upto, axis=-1)
    mean = (away * cases).sum(axis=-1) / cases.sum(axis=-1)
    quantiles = [_quantile(ranked, upto, share) for share in (0.5, 0.9)]
    return np.stack([mean, *quantiles, ranked[..., -1]], axis=-1)


def _signs(
    score: Floats, cases: Array, shares: Floats
) -> tuple[tuple[Floats, Floats], None, None, None]:
    """On which side of the scores is the true share at each row?"""
    sign = np.where(shares < score, -1.0, 1.0)
    return (sign, sign), None, None, None


def _quantile(values: Floats, upto: Floats, share: float) -> Floats:
    """Give a quantile of ascending values as NumPy and R do of single ones.

    ``upto`` says how many cases have each value or a smaller one.
    """
    place = share * (upto[..., -1:] - 1)
    ends = []
    for at in (np.floor(place), np.ceil(place)):
        met = np.minimum((upto <= at).sum(axis=-1), values.shape[-1] - 1)
        ends.append(np.take_along_axis(values, met[..., None], axis=-1)[..., 0])
    part = (place - np.floor(place))[..., 0]
    return np.asarray(ends[0] * (1 - part) + ends[1] * part)


def loess(x: Floats, y: Floats, weight: Floats, at: Floats, span: float) -> Floats:
    """Which value has the local quadratic regression of y on x at some points?

    ``x`` ascending; ``weight`` are cases. The nearest share ``span`` of the cases count
    at a point, with tricube weights (1 - (d / h)^3)^3 where h is the distance of the
    farthest of them.

    Examples
    --------
    A parabola is its own local quadratic regression.

    >>> x = np.linspace(0, 1, 21)
    >>> fit = loess(x, x**2, np.ones(21), np.array([0.3, 0.5]), 0.75)
    >>> bool(np.allclose(fit, [0.09, 0.25]))
    True
    """
    return np.asarray(loess_weights(x, weight, at, span) @ y)


def loess_weights(x: Floats, weight: Floats, at: Floats, span: float) -> Floats:
    """How much does each y count in the local quadratic regression at some points?

    The regression is linear in y: row i of (at.size, x.size) gives its value at point
    i.
    """
    out = np.empty((at.size, x.size))
    # a block of points at a time: the table of distances has x.size columns
    step = max(1, (1 << 20) // max(x.size, 1))
    for start in range(0, at.size, step):
        some = at[start : start + step]
        out[start : start + step] = _loess_block(x, weight, some, span)
    return out


def _loess_block(x: Floats, weight: Floats, at: Floats, span: float) -> Floats:
    away = x - at[:, None]
    distance = np.abs(away)
    order = np.argsort(distance, axis=1)
    upto = np.cumsum(weight[order], axis=1)
    wanted = max(1.0, np.floor(span * weight.sum() + 1e-5))
    last = np.argmax(upto >= wanted - 1e-9, axis=1)
    rows = np.arange(at.size)
    width = distance[rows, order[rows, last]]
    # a width of nothing: all that count are at the point itself
    width = np.where(width > 0, width, np.where(distance == 0, np.inf, distance).min(1))
    width = np.where(np.isfinite(width) & (width > 0), width, 1.0)[:, None]
    u = np.where(distance < width, away, width) / width
    w = weight * np.clip(1 - np.abs(u) ** 3, 0, None) ** 3
    powers = np.stack([np.ones_like(u), u, u * u], axis=2)
    weighed = (w[:, :, None] * powers).transpose(0, 2, 1)
    # fewer than three scores within reach leave the curve open: the flattest one
    inverse = np.linalg.pinv(weighed @ powers, rcond=1e-9, hermitian=True)
    return np.asarray((inverse[:, :1] @ weighed)[:, 0])
