r"""Do the probabilities mean what they say? The reliability diagram.

Bins are a choice, and another choice gives another diagram. CORP (Dimitriadis, Gneiting
and Jordan 2021) has none: the share of positives as a function of the score is the
isotonic regression of the labels on the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.isotonic import isotonic_curve, pool_violators
from trueness._core.progress import steps
from trueness._core.records import Answer
from trueness.calibration.forecasts import DrawRequest, Forecasts
from trueness.calibration.likely_curves import likely_curves
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally

_POINTS = 500


@final
@dataclass(frozen=True, repr=False, eq=False)
class Reliability(Answer):
    """The CORP reliability curve and its bands, in ascending order of score.

    Attributes
    ----------
    score : array (k,)
        Scores; between them the curve is straight.
    probability : array (k,)
        Share of positives at that score, by isotonic regression.
    consistency_low, consistency_high : array (k,)
        Where the curve would lie if the scores were calibrated: a curve outside this
        band is evidence against calibration.
    confidence_low, confidence_high : array (k,)
        Confidence band of the true share of positives.
    level : float
        Pointwise level of both bands.
    n, n_pos : int
        Labelled cases, and positives among them; for weighted cases, the sums of
        weights.
    notes : tuple of str
        Whether cases were weighted to another share of positives.
    """

    score: Floats
    probability: Floats
    consistency_low: Floats
    consistency_high: Floats
    confidence_low: Floats
    confidence_high: Floats
    level: float
    n: int
    n_pos: int
    notes: tuple[str, ...] = ()


@of_tally(weights=True)
def reliability(
    t: Tally,
    *,
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    replicates: int = 500,
    rng: Any = 0,
) -> Reliability:
    r"""Which share of the cases with a score of p is positive?

    .. math:: \hat p(s_i) = \max_{a \le i} \min_{b \ge i}
              \frac{\sum_{a..b} pos}{\sum_{a..b} (pos + neg)}

    Parameters
    ----------
    t
        Labelled cases whose scores are probabilities.
    prevalence, sampling
        As in :func:`trueness.brier`.
    level
        Pointwise level of the bands.
    replicates
        Resamples for each band.
    rng
        Seed or NumPy generator.

    Notes
    -----
    Consistency band: labels are drawn from the scores themselves and the curve is
    fitted again. Confidence band: labels are drawn from the fitted curve, where a block
    without positives, or without negatives, gets the share (k + 1) / (n + 2) instead of
    0 or 1, since 10 positives of 10 do not prove a share of 1. The bootstrap from a
    curve with steps is not consistent (Sen, Banerjee and Woodroofe 2010), and too sure
    at the ends of a flat curve; so labels are also drawn from a smooth curve (the mean
    of likely ones), and the band holds the fitted curve less the errors that fits to
    these labels have. Both bands are pointwise quantiles. With up to 500 distinct
    scores the curve has them all; with more it has the ends of the isotonic blocks and
    500 quantiles. More than 1,000 distinct scores are pooled to 1,000 for the bands,
    not for the curve.

    References
    ----------
    T. Dimitriadis, T. Gneiting, A. Jordan, PNAS 118 (2021) e2016191118,
    doi:10.1073/pnas.2016191118. B. Sen, M. Banerjee, M. Woodroofe, Inconsistency of
    bootstrap: the Grenander estimator, Annals of Statistics 38 (2010) 1953,
    doi:10.1214/09-AOS777.

    Examples
    --------
    >>> r = reliability(Tally([0.1, 0.5, 0.9], neg=[9, 6, 1], pos=[1, 4, 9]))
    >>> r.probability
    array([0.1, 0.4, 0.9])
    """
    s = Forecasts.of(t, "reliability", sampling, prevalence)
    ask = DrawRequest.of(level, replicates, rng)
    at = _points(s.score, pool_violators(s.pos, s.neg)[1])
    fitted = np.interp(at, s.score, isotonic_curve(s.pos, s.neg))
    few = s.pooled()
    drawn = few.to_draw()
    likely = likely_curves(drawn).middle
    consistent, again, beside = (
        np.quantile(_redrawn(drawn, chance, at, ask), ask.tails, axis=0)
        for chance in (few.score, _doubted(few), likely)
    )
    errors = beside - np.interp(at, few.score, likely)
    # the curve itself is among what is possible
    low = np.minimum.reduce([again[0], fitted, fitted - errors[1]])
    high = np.maximum.reduce([again[1], fitted, fitted - errors[0]])
    bands = consistent[0], consistent[1], np.maximum(low, 0.0), np.minimum(high, 1.0)
    known = t.labelled()
    numbers = (ask.level, known.n_neg + known.n_pos, known.n_pos)
    return Reliability(at, fitted, *bands, *numbers, s.notes)


def _doubted(s: Forecasts) -> Floats:
    """Give the isotonic value of every row, pure blocks taken by Laplace's rule."""
    share, start = pool_violators(s.pos, s.neg)
    cases = np.add.reduceat(s.cases, start[:-1])
    if s.squares is not None:  # as many equal cases as the block counts
        cases = cases**2 / np.add.reduceat(s.squares[0] + s.squares[1], start[:-1])
    pure = (share == 0) | (share == 1)
    share = np.where(pure, (share * cases + 1) / (cases + 2), share)
    return np.repeat(share, np.diff(start))


def _points(score: Floats, start: Array) -> Floats:
    if score.size <= _POINTS:
        return score
    ends = np.concatenate([start[:-1], start[1:] - 1])
    spread = np.linspace(0, score.size - 1, _POINTS).astype(int)
    return np.asarray(score[np.union1d(ends, spread)])


def _redrawn(s: Forecasts, chance: Floats, at: Floats, ask: DrawRequest) -> Floats:
    """Draw labels with these chances, fit again, and give the curves at the points."""
    curves = np.empty((ask.replicates, at.size))
    labels = s.labels(chance, ask.replicates, ask.rng)
    drawn = steps(labels, "Bootstrap", total=ask.replicates, unit="samples")
    for k, (pos, neg) in enumerate(drawn):
        some = np.flatnonzero(pos + neg)
        curves[k] = np.interp(at, s.score[some], isotonic_curve(pos[some], neg[some]))
    return curves
