r"""Between which values does a calibration error lie?

Noise enlarges every calibration error, so intervals do not start from the error that
was seen but from the curves that are likely after it (``likely_curves``).

- A mean absolute error is the mean of :math:`s(p) (y - p)` with s the sign of
  :math:`f(p) - p`. The curve is needed for the signs only, and those in doubt are where
  the error is smallest; given the signs, it is a mean over cases and has its interval.
- Every error has a value for each likely curve, at scores drawn anew, and the middle
  95 % of them are an interval. The ends of a mean absolute error go towards the ends of
  these, if they lie farther out, as far as a departure from the line is likely: then
  signs may be wrong.
- Noise that is fitted spreads distances, which moves their quantiles. A quantile of
  the distance is therefore bounded by a band about the curves: a band holds the true
  curve not at every score but at a known share of the scores (Wahba 1983), so that
  bounds at all scores but that share bound a quantile that is so much lower or higher.
- A curve that is fitted to noise departs from the scores even where the true one does
  not. With e the error of the mean curve and :math:`e + \delta` the mean error of
  likely curves, noise of the same size was in the mean curve before; an interval is
  longer by a multiple of :math:`|\delta|` at its lower or upper end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.records import Estimate
from trueness.calibration.forecasts import DrawRequest, Forecasts
from trueness.calibration.likely_curves import LikelyCurves, likely_curves

# the errors (..., j) of scores, positives and negatives of samples
Errors = Callable[[Floats, Array, Array], Floats]
# the errors (v, ..., j) of scores, cases and their true shares of positives, each read
# in v ways: of bins and of single scores, of a smoothed curve and of the curve itself
Truth = Callable[[Floats, Array, Floats], Floats]
# of a mean absolute error the signs of rows for its lower and its upper end; for the
# lower one alone of an error that is at most such a mean; of another error nothing
Sides = tuple[Floats, Floats | None] | None
Signs = Callable[[Floats, Array, Floats], Sequence[Sides]]
Band = tuple[Floats, Floats]  # the nearest and the farthest distance at each score
# of a pointwise band, one of all scores at once and cases: lower and upper ends (2, j)
# of errors; NaN for those that have none
Within = Callable[[Band, Band, Array], Floats]
METHOD = "likely curves"


class ErrorKind(NamedTuple):
    """What errors samples and true shares have, and what bounds they are known by."""

    sample: Errors
    truth: Truth
    signs: Signs
    within: Within | None = None


_DRAWS = 300  # likely curves that are looked at
_TOGETHER = 500  # draws of labels that are looked at together
# What noise adds to |x| at x = 0 is .80 of its standard deviation; once more noise adds
# (sqrt(2) - 1) as much. So of delta, the mean curve has up to 2.4, curves drawn about
# it up to 3.4.
_IN_MIDDLE, _IN_DRAWS = 2.0, 3.0


def error_estimates(
    values: Sequence[float],
    s: Forecasts,
    kind: ErrorKind,
    ask: DrawRequest,
) -> tuple[list[Estimate], tuple[str, ...]]:
    """Give the intervals of errors between 0 and 1 that noise enlarges, and notes.

    An interval starts at 0 unless the error is above what calibrated scores show.
    """
    level = ask.level
    chance = _by_chance(s, kind.sample, ask)
    curves = likely_curves(s)
    drawn = curves.drawn(_DRAWS, ask.rng)
    ends, added = _of_curves(curves, drawn, s, kind.truth, ask)
    for j, both in enumerate(kind.signs(s.score, s.cases, curves.middle)):
        if both is None:
            continue
        low = signed_mean(s, both[0], level).low - _IN_MIDDLE * added[j]
        if both[1] is None:
            ends[0, j] = min(ends[0, j], low)
        else:
            high = signed_mean(s, both[1], level).high
            less, more = max(low - ends[0, j], 0.0), max(ends[1, j] - high, 0.0)
            ends[0, j] = low - (1 - curves.line) * less
            ends[1, j] = high + (1 - curves.line) * more
    if kind.within is not None:
        low, high = kind.within(*_band(drawn, s.score, level), s.cases)
        ends = np.stack([np.fmin(ends[0], low), np.fmax(ends[1], high)])
    ends[0] = np.where(kind.sample(*s[:3]) <= chance, 0.0, np.clip(ends[0], 0.0, 1.0))
    found = [
        Estimate(v, min(low, v), max(min(high, 1.0), v), level, METHOD)
        for v, low, high in zip(values, *ends.tolist(), strict=True)
    ]
    return found, _bent(curves.line)


def _by_chance(s: Forecasts, errors: Errors, ask: DrawRequest) -> Floats:
    """Which upper quantiles have the errors of calibrated scores? (j,)"""
    drawn, found = s.labels(s.score, ask.replicates, ask.rng), []
    while some := list(islice(drawn, _TOGETHER)):
        up, down = np.array(some).transpose(1, 0, 2)
        found.append(errors(s.score, up, down))
    return np.asarray(np.quantile(np.concatenate(found), ask.tails[1], axis=0))


def _of_curves(
    curves: LikelyCurves, drawn: Floats, s: Forecasts, truth: Truth, ask: DrawRequest
) -> tuple[Floats, Floats]:
    """Between which values do errors of likely curves lie (2, j), and what adds noise?

    An error that can be read in two ways has an interval that holds both.
    """
    # no more than NumPy can draw; of weighed cases, the nearest whole number
    whole = round(min(max(s.n, 1.0), 2.0**53))
    others = ask.rng.multinomial(whole, s.cases / s.n, size=len(drawn))
    found = truth(s.score, others, drawn)
    delta = found.mean(axis=1) - truth(s.score, s.cases, curves.middle)
    # a median may become smaller by noise
    added, taken = np.maximum(delta, 0.0), np.maximum(-delta, 0.0)
    low, high = np.quantile(found, ask.tails, axis=1)
    low = low - _IN_DRAWS * added - taken
    high = high + _IN_DRAWS * taken + (1 - curves.line) * added
    return np.stack([low.min(axis=0), high.max(axis=0)]), added.max(axis=0)


def _band(drawn: Floats, score: Floats, level: float) -> tuple[Band, Band]:
    """How near and how far are curves from each score, one by one and all at once?

    One end of a band is too near or too far; but a curve on the scores is missed at
    either, so each end of the band for near ones has half as many curves beyond.
    """
    tails = [(1 - level) / 2, (1 + level) / 2, 1 - level, level]
    inner = np.quantile(drawn, tails, axis=0)
    middle, sd = drawn.mean(axis=0), drawn.std(axis=0) + 1e-12
    reach = np.quantile((np.abs(drawn - middle) / sd).max(axis=1), level) * sd
    outer = np.clip([middle - reach, middle + reach], 0.0, 1.0)
    return (
        (_near(score, inner[0], inner[1]), _far(score, inner[2], inner[3])),
        (_near(score, outer[0], outer[1]), _far(score, outer[0], outer[1])),
    )


def _near(score: Floats, low: Floats, high: Floats) -> Floats:
    return np.maximum(np.maximum(low - score, score - high), 0.0)


def _far(score: Floats, low: Floats, high: Floats) -> Floats:
    return np.maximum(score - low, high - score)


def signed_mean(s: Forecasts, sign: Floats, level: float) -> Estimate:
    """How large is the mean of s (y - p), and between which values may it lie?"""
    return s.mean((-sign * s.score, sign * (1 - s.score)), level, 1.0, -1.0)


def _bent(line: float) -> tuple[str, ...]:
    """Say that no slope and intercept describe the curve, where the cases say so."""
    if line > 0.05:
        return ()
    return (
        "The share of positives does not follow a straight line in the log-odds of the "
        f"score (probability of a line: {line:.2g}): a slope and an intercept do not "
        "describe the miscalibration. Look at reliability.",
    )
