"""Where does the true curve lie?

Bands around ROC and precision-recall curves: pointwise, or simultaneous, so that the
whole curve lies inside with the stated confidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.records import Answer
from trueness.counts.answers import of_tally
from trueness.counts.placements import grouped, runs
from trueness.counts.resampling import Seed, replicates
from trueness.counts.values import Tally
from trueness.ranking.curves import precision_at


@final
@dataclass(frozen=True, repr=False)
class RocBand(Answer):
    """Where does the true ROC curve lie?

    Attributes
    ----------
    fpr : array
        Grid of false positive rates.
    tpr, low, high : array
        The curve of the sample and the ends of the band there.
    level : float
        Confidence level.
    kind : {"simultaneous", "pointwise"}
        Does it hold for the whole curve, or for each point alone?
    method : str
        How the band was made.
    """

    fpr: Floats
    tpr: Floats
    low: Floats
    high: Floats
    level: float
    kind: str
    method: str


@final
@dataclass(frozen=True, repr=False)
class PrecisionRecallBand(Answer):
    """Where does the true precision-recall curve lie?

    Attributes
    ----------
    recall : array
        Grid of recalls.
    precision, low, high : array
        The curve of the sample and the ends of the band there.
    prevalence : float
        Share of positives for which it holds.
    level : float
        Confidence level.
    kind : {"simultaneous", "pointwise"}
        Does it hold for the whole curve, or for each point alone?
    method : str
        How the band was made.
    """

    recall: Floats
    precision: Floats
    low: Floats
    high: Floats
    prevalence: float
    level: float
    kind: str
    method: str


class _Wish(NamedTuple):
    level: float
    kind: str
    method: str
    rng: Seed
    number: int


@of_tally
def roc_band(
    t: Tally,
    *,
    kind: str = "simultaneous",
    method: str = "bootstrap",
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    number: int = 1000,
) -> RocBand:
    r"""Where does the true ROC curve lie?

    .. math:: \widehat{\mathrm{tpr}}(f) \pm c\,\hat\sigma(f), \qquad
              P\Big(\max_f |\mathrm{tpr}^*(f) - \widehat{\mathrm{tpr}}(f)|
              / \hat\sigma(f) \le c\Big) = \text{level}

    Parameters
    ----------
    t
        The counts; cases without a label change nothing.
    kind
        ``"simultaneous"``: the whole curve lies inside with this confidence.
        ``"pointwise"``: each point does.
    method
        ``"bootstrap"`` (stratified), or ``"kolmogorov"``: wider, and right for every
        sample size, by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart for
        both classes (simultaneous only).
    level
        Confidence level.
    points
        How many false positive rates, from 0 to 1.
    rng, number
        Seed and number of replicates.

    Notes
    -----
    Near 0 and 1, where no replicate varies, the error is that of a rate after two more
    successes and two more failures (Agresti and Coull), and the band reaches two
    negatives further to both sides: below that a sample does not resolve the false
    positive rate. Measured coverage is in ``docs/maths/ranking.md``.

    References
    ----------
    Campbell (1994), Stat. Med. 13:499; Massart (1990), Ann. Probab. 18:1269.

    Examples
    --------
    >>> band = roc_band(Tally([2, 1], pos=[8, 2], neg=[2, 8]), points=3, rng=1)
    >>> bool((band.low <= band.tpr).all() and (band.tpr <= band.high).all())
    True
    """
    t = t.labelled()
    _cases.both_classes(t, "roc_band")
    wish = _wish(kind, method, level, rng, number)
    grid = np.linspace(0, 1, _options.whole_number(points, "points", at_least=3))
    tpr, low, high = _vertical(t, grid, wish)
    return RocBand(grid, tpr, low, high, wish.level, kind, method)


@of_tally
def precision_recall_band(
    t: Tally,
    *,
    prevalence: float | None = None,
    kind: str = "simultaneous",
    method: str = "bootstrap",
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    number: int = 1000,
) -> PrecisionRecallBand:
    """Where does the true precision-recall curve lie?

    Parameters
    ----------
    t
        The counts; cases without a label change nothing.
    prevalence
        Share of positives for which precision is meant; that of the sample, taken as
        known, when None.
    kind, method, level, points, rng, number
        As in :func:`roc_band`.

    Notes
    -----
    At a given recall precision falls with the false positive rate, and with nothing
    else; so the band is that of the false positive rate at each recall (the band of the
    ROC curve with the classes exchanged), carried over by eq. (21) of Sameni (2025).

    Examples
    --------
    >>> t = Tally([2, 1], pos=[8, 2], neg=[2, 8])
    >>> band = precision_recall_band(t, points=3, rng=1)
    >>> band.precision.round(3).tolist()  # at recall 1/3, 2/3, 1
    [0.8, 0.8, 0.5]
    """
    t = t.labelled()
    _cases.both_classes(t, "precision_recall_band")
    wish = _wish(kind, method, level, rng, number)
    points = _options.whole_number(points, "points", at_least=3)
    recall = np.linspace(0, 1, points + 1)[1:]
    share = t.prevalence
    if prevalence is not None:
        share = _options.fraction(prevalence, "prevalence")
    # seen from the negatives: their "hit rate" is specificity, their "fpr" a miss
    mirror = Tally(-t.score, neg=t.pos, pos=t.neg)
    spec, low, high = _vertical(mirror, (1 - recall)[::-1], wish)
    value, worst, best = (
        precision_at(1 - s[::-1], recall, share) for s in (spec, low, high)
    )
    return PrecisionRecallBand(
        recall, value, worst, best, share, wish.level, kind, method
    )


def _wish(kind: str, method: str, level: float, rng: Seed, number: int) -> _Wish:
    _options.choice(kind, ("simultaneous", "pointwise"), "kind")
    _options.choice(method, ("bootstrap", "kolmogorov"), "method")
    if method == "kolmogorov":
        _options.choice(kind, ("simultaneous",), "kind with method='kolmogorov'")
    number = _options.whole_number(number, "number", at_least=100)
    return _Wish(_options.fraction(level, "level"), kind, method, rng, number)


# rows beyond this are joined to neighbours before resampling: a change below 1/1000
_ROWS = 1000


def few_rows(t: Tally) -> Tally:
    """Give the same curve with at most a thousand corners, to be resampled."""
    neg, pos = grouped(*runs(t), _ROWS)
    return Tally(np.arange(neg.size, 0, -1), neg, pos)


def _vertical(t: Tally, grid: Floats, wish: _Wish) -> tuple[Floats, Floats, Floats]:
    """Give the curve and the band of tpr over a grid of fpr."""
    counts = few_rows(t)
    x, y = _shares(counts.neg), _shares(counts.pos)
    value = height(x, y, grid)
    if wish.method == "kolmogorov":
        up, side = (_massart(n, wish.level) for n in (t.n_pos, t.n_neg))
        low = np.where(grid >= side, height(x, y, np.maximum(grid - side, 0)) - up, 0.0)
        high = height(x, y, np.minimum(grid + side, 1)) + up
        return value, np.clip(low, 0, 1), np.clip(high, 0, 1)
    drawn = curves_of(counts, grid, wish.number, wish.rng)
    error = np.sqrt(np.maximum(drawn.var(axis=0), rate_variance(value, t.n_pos)))
    c = critical(np.abs(drawn - value) / error, wish.level, wish.kind)
    return value, *_widened(grid, value, c * error, 2 / t.n_neg)


def _widened(
    grid: Floats, value: Floats, half: Floats, side: float
) -> tuple[Floats, Floats]:
    """Let the band reach two negatives to both sides, rise with fpr and end at 0, 1."""
    low = np.maximum.accumulate(np.clip(value - half, 0, 1))
    high = np.minimum.accumulate(np.clip(value + half, 0, 1)[::-1])[::-1]
    low = np.where(grid >= side, np.interp(grid - side, grid, low), 0.0)
    return low, np.interp(grid + side, grid, high)


def _shares(count: Array) -> Floats:
    total = np.concatenate([[0], np.cumsum(count)])
    return np.asarray(total / total[-1])


def height(x: Floats, y: Floats, at: Floats) -> Floats:
    """Read a rising curve of corners (x, y); at a jump the upper value."""
    # interp takes the last of equal corners just to the right of them
    return np.asarray(np.interp(np.minimum(at + 1e-12, 1.0), x, y))


def curves_of(t: Tally, grid: Floats, number: int, rng: Seed) -> Floats:
    """Which ROC curves would other samples have shown? (number, grid)."""
    out = [
        height(_shares(n), _shares(p), grid)
        for neg, pos in replicates(t, number, rng)
        for n, p in zip(neg, pos, strict=True)
    ]
    return np.array(out)


def rate_variance(rate: Floats, n: int) -> Floats:
    """How uncertain is a rate, also at 0 and 1? Two successes and failures added."""
    middle = (n * rate + 2) / (n + 4)
    return np.asarray(middle * (1 - middle) / (n + 4))


def critical(scaled: Floats, level: float, kind: str) -> float:
    """How many errors wide must the band be?"""
    from scipy.special import ndtri

    if kind == "pointwise":
        return float(ndtri((1 + level) / 2))
    return float(np.quantile(scaled.max(axis=1), level))


def _massart(n: int, level: float) -> float:
    """How far is a distribution function from its estimate at most, at this level?

    Both classes must hold at once, so each has the root of the level.
    """
    return math.sqrt(math.log(2 / (1 - math.sqrt(level))) / (2 * n))
