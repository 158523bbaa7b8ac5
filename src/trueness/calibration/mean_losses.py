"""How large is a mean over cases, and between which values may it lie?

Losses of probabilities, what recalibration gains and signed distances are all means
over cases of something that depends on the score and the label.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.records import Estimate
from trueness.counts.values import Tally
from trueness.counts.weights import linearised, student_factor

Squares = tuple[Array, Array]  # squared weights of positives and negatives


def mean_estimate(
    losses: tuple[Floats, Floats],
    neg: Array,
    pos: Array,
    level: float,
    most: float,
    least: float = 0.0,
    squares: Squares | None = None,
) -> Estimate:
    r"""How large is the mean loss of cases, and between which values may it lie?

    ``losses`` are those of a negative and of a positive case at each row. The interval
    is normal after one more case of each class is spread over the rows:

    .. math:: \tilde m = \frac{n m + 2 m_0}{n + 2}, \qquad
              \tilde m \pm z \sqrt{\frac{\tilde q - \tilde m^2}{n + 2}}

    with :math:`m_0` the mean over cases of the loss that a coin for a label would give,
    and q the mean of squares, likewise. It holds the mean itself. Weighted cases count
    as many equal ones as would give the mean its linearised variance, with Student's
    quantile; ``squares`` are those of positives and negatives.
    """
    if squares is not None:
        neg, pos = _rescaled(losses, neg, pos, squares, level)
    n = float(neg.sum() + pos.sum())
    value = mean_loss(losses, pos, neg)
    if not np.isfinite(value):
        return Estimate(value, value, value, level, "one more of each")
    cases, z = neg + pos, NormalDist().inv_cdf((1 + level) / 2)
    away = (losses[0] - value) ** 2, (losses[1] - value) ** 2
    spread = mean_loss(away, pos, neg)
    sd = math.sqrt(spread / (n - 1)) if n > 1 else math.nan
    coin = mean_loss(losses, cases, cases), mean_loss(away, cases, cases)
    if not np.isfinite(coin[1]):  # a score of 0 or 1 that was right so far
        low = value - z * (sd if n > 1 else value)
        return Estimate(value, max(low, least), math.inf, level, "one more of each", sd)
    middle = (n * value + 2 * coin[0]) / (n + 2)
    square = (n * spread + 2 * coin[1]) / (n + 2) - (middle - value) ** 2
    half = z * math.sqrt(max(square, 0.0) / (n + 2))
    low, high = max(middle - half, least), min(middle + half, most)
    return Estimate(
        value, min(low, value), max(high, value), level, "one more of each", sd
    )


def _rescaled(
    losses: tuple[Floats, Floats],
    neg: Array,
    pos: Array,
    squares: Squares,
    level: float,
) -> tuple[Floats, Floats]:
    """Scale weights to as many equal cases as would vary like the mean loss."""
    total, mean = float(neg.sum() + pos.sum()), mean_loss(losses, pos, neg)
    if not np.isfinite(mean):
        return neg, pos
    columns = ((losses[0], neg, squares[1]), (losses[1], pos, squares[0]))
    met = [[x[c > 0] for x in (loss, c, q)] for loss, c, q in columns]
    parts = [((loss - mean) / total, c, q) for loss, c, q in met]
    varies = linearised(parts, together=True)
    spread = sum(float(c @ (loss - mean) ** 2) for loss, c, _ in met) / total
    n = effective_cases(pos, neg, squares)
    if varies.variance > 0:
        n = spread / varies.variance / student_factor(varies.df, level) ** 2
    return neg * (n / total), pos * (n / total)


def mean_loss(loss: tuple[Floats, Floats], pos: Array, neg: Array) -> float:
    """Give the mean loss of cases."""
    # a loss that nobody suffers is no loss, even an infinite one
    suffered = [x[n > 0] @ n[n > 0] for x, n in zip(loss, (neg, pos), strict=True)]
    cases = pos.sum() + neg.sum()
    return float(sum(suffered) / cases) if cases else np.nan


def squared_rows(t: Tally) -> Squares | None:
    """Give the squared weights of positives and negatives in the rows of ``t``."""
    if not t.weighted:
        return None
    neg, pos, _ = t.labelled().squares
    return pos[::-1], neg[::-1]


def effective_cases(pos: Array, neg: Array, squares: Squares | None) -> float:
    """How many cases, or equal ones, are there?"""
    n = float(pos.sum() + neg.sum())
    return n if squares is None else n**2 / float(squares[0].sum() + squares[1].sum())
