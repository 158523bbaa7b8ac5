r"""Between which two curves does the exact curve lie?

It passes through the rectangle of every bin (``inner_cuts``), from the counts before
the bin to those behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.records import Record
from trueness.counts.values import Tally
from trueness.scale.arrangements import ROUNDING, sharpest
from trueness.scale.inner_cuts import rectangles_of
from trueness.scale.isotonic_bounds import isotonic_bounds
from trueness.threshold.costs import CostCurve, DecisionCurve, cost_curve


@final
@dataclass(frozen=True, repr=False)
class CurveBounds(Record):
    """Between which two curves does the exact curve lie?

    Attributes
    ----------
    x : array
        Values on the first axis, ascending; each bin gives its ends and corners.
    low, high : array
        The exact curve lies between these two, each drawn with straight lines between
        its entries.
    axes : (str, str)
        Names of the horizontal and of the vertical axis, for example ("fpr", "tpr").
    """

    x: Floats
    low: Floats
    high: Floats
    axes: tuple[str, str] = ("fpr", "tpr")

    @property
    def width(self) -> float:
        """How far apart are the two curves at most?"""
        return float((self.high - self.low).max(initial=0.0))

    def __str__(self) -> str:
        """Say in one line how well the curve is known."""
        along, across = self.axes
        return f"{across} known to within {self.width:.3g} along {along}"


class _ClassWeights(NamedTuple):
    """What a positive and a negative case weigh in use, and the prevalence there."""

    of_positive: float
    of_negative: float
    prevalence: float


def _weights_in_use(t: Tally, prevalence: float | None) -> _ClassWeights:
    if prevalence is None:
        return _ClassWeights(1.0, 1.0, t.prevalence)
    n = t.n_pos + t.n_neg
    return _ClassWeights(
        n * prevalence / t.n_pos, n * (1 - prevalence) / t.n_neg, prevalence
    )


def _alternate(before: Array, behind: Array) -> Array:
    """Put what is before and behind each bin one after the other."""
    return np.stack([before, behind], axis=1).ravel()


def roc_bounds(t: Tally) -> CurveBounds:
    """Return the rectangle between the ends of each bin."""
    r = rectangles_of(t)
    # a row of one score is crossed on a straight line
    lowest_behind = np.where(r.is_bin, r.tp_before, r.tp_behind)
    highest_before = np.where(r.is_bin, r.tp_behind, r.tp_before)
    return CurveBounds(
        x=_alternate(r.fp_before, r.fp_behind) / t.n_neg,
        low=_alternate(r.tp_before, lowest_behind) / t.n_pos,
        high=_alternate(highest_before, r.tp_behind) / t.n_pos,
        axes=("fpr", "tpr"),
    )


def det_bounds(t: Tally) -> CurveBounds:
    """Return the rectangles of the ROC curve, turned round."""
    roc = roc_bounds(t)
    return CurveBounds(roc.x, 1 - roc.high, 1 - roc.low, ("fpr", "fnr"))


def gain_bounds(t: Tally, prevalence: float | None = None) -> CurveBounds:
    """Return the parallelogram between the ends of each bin.

    Its corners are reached by flagging the positives of a bin first, or last.
    """
    r = rectangles_of(t)
    weights = _weights_in_use(t, prevalence)
    positives = (weights.of_positive * t.pos)[:, None]
    negatives = (weights.of_negative * t.neg)[:, None]
    flagged = np.sort(
        np.concatenate(
            [0 * positives, positives, negatives, positives + negatives], axis=1
        ),
        axis=1,
    )

    # the proportion of the bin's positives among the flagged ones of its cases
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        positives_last = np.clip((flagged - negatives) / positives, 0, 1)
        positives_first = np.clip(flagged / positives, 0, 1)
        straight = flagged / (positives + negatives)

    def recall(proportion: Array) -> Array:
        in_bin = np.where(r.is_bin[:, None], proportion, straight) * (positives > 0)
        tp = r.tp_before[:, None] + np.nan_to_num(in_bin) * t.pos[:, None]
        return np.asarray(tp / t.n_pos).ravel()

    flagged_before = (
        weights.of_positive * r.tp_before + weights.of_negative * r.fp_before
    )
    flagged_rate = (flagged_before[:, None] + flagged) / (t.n_pos + t.n_neg)
    return CurveBounds(
        x=flagged_rate.ravel(),
        low=recall(positives_last),
        high=recall(positives_first),
        axes=("flagged_rate", "recall"),
    )


class _Precisions(NamedTuple):
    """The smallest and the largest precision at the ends of each bin, and behind it."""

    low: Floats
    high: Floats
    behind: Floats


def _precisions(t: Tally, prevalence: float | None) -> _Precisions:
    """Bound the precision at the ends of each bin.

    A row of one score has what lies before it, and behind it, at its ends.
    """
    r = rectangles_of(t)
    weights = _weights_in_use(t, prevalence)

    def precision(tp: Array, fp: Array, if_nothing_flagged: float) -> Floats:
        right: Floats = np.asarray(weights.of_positive * tp, dtype=np.float64)
        wrong = np.asarray(weights.of_negative * fp, dtype=np.float64)
        flagged = right + wrong
        default = np.full_like(flagged, if_nothing_flagged)
        return np.divide(right, flagged, out=default, where=flagged > 0)

    behind = precision(r.tp_behind, r.fp_behind, 0.0)
    before = np.concatenate([behind[:1], behind[:-1]])
    # nothing flagged: a first bin without negatives, or without positives
    lowest = precision(r.tp_before, r.fp_behind, 1.0)
    highest = precision(r.tp_behind, r.fp_before, 0.0)

    def at_ends(inside: Floats) -> Array:
        return _alternate(
            np.where(r.is_bin, inside, before), np.where(r.is_bin, inside, behind)
        )

    return _Precisions(at_ends(lowest), at_ends(highest), behind)


def precision_bounds(t: Tally, prevalence: float | None = None) -> CurveBounds:
    """Return the smallest and the largest precision at every recall."""
    precisions = _precisions(t, prevalence)
    low = precisions.low.copy()
    low[1::2] = precisions.behind
    r = rectangles_of(t)
    return CurveBounds(
        x=_alternate(r.tp_before, r.tp_behind) / t.n_pos,
        low=low * (1 - ROUNDING),
        high=precisions.high * (1 + ROUNDING),
        axes=("recall", "precision"),
    )


def lift_bounds(t: Tally, prevalence: float | None = None) -> CurveBounds:
    """Return the smallest and the largest lift inside each bin."""
    r = rectangles_of(t)
    weights = _weights_in_use(t, prevalence)
    tp = _alternate(r.tp_before, r.tp_behind)
    fp = _alternate(r.fp_before, r.fp_behind)
    flagged = weights.of_positive * tp + weights.of_negative * fp
    precisions = _precisions(t, prevalence)
    return CurveBounds(
        x=flagged / (t.n_pos + t.n_neg),
        low=precisions.low / weights.prevalence * (1 - ROUNDING),
        high=precisions.high / weights.prevalence * (1 + ROUNDING),
        axes=("flagged_rate", "lift"),
    )


def cost_bounds(t: Tally, curve: CostCurve) -> CurveBounds:
    """Bound the cost: cuts between bins exist, and the sharpest arrangement is best."""
    lowest = cost_curve(sharpest(t), at=curve.weight).cost
    return CurveBounds(
        x=curve.weight,
        low=np.minimum(lowest, curve.cost) - ROUNDING,
        high=curve.cost + ROUNDING,
        axes=("weight", "cost"),
    )


def decision_bounds(t: Tally, curve: DecisionCurve) -> CurveBounds:
    """Bound the net benefit: inside a bin any part of its cases may be flagged."""
    p = curve.threshold
    # rows whose lowest score reaches p are flagged, the next one perhaps in part
    rows_flagged = len(t) - np.searchsorted(t.score[::-1], p, side="left")
    highest_of_next = np.append(t.high, -np.inf)[rows_flagged]
    rows_perhaps = np.minimum(rows_flagged + (highest_of_next >= p), len(t))

    r = rectangles_of(t)
    tp = np.concatenate([[0], r.tp_behind])
    fp = np.concatenate([[0], r.fp_behind])
    prevalence = curve.prevalence
    price = (1 - prevalence) * p / (1 - p) / t.n_neg
    low = prevalence * tp[rows_flagged] / t.n_pos - price * fp[rows_perhaps]
    high = prevalence * tp[rows_perhaps] / t.n_pos - price * fp[rows_flagged]
    return CurveBounds(
        x=p,
        low=low - ROUNDING * (1 + abs(low)),
        high=high + ROUNDING * (1 + abs(high)),
        axes=("threshold", "net_benefit"),
    )


def reliability_bounds(t: Tally) -> CurveBounds:
    """Bound the proportion of positives that the isotonic curve gives each score."""
    bins = isotonic_bounds(t)
    low = np.repeat(bins.low, 2) - ROUNDING
    high = np.repeat(bins.high, 2) + ROUNDING
    return CurveBounds(
        x=_alternate(bins.score, bins.score_high),
        low=np.maximum(low, 0),
        high=np.minimum(high, 1),
        axes=("score", "probability"),
    )
