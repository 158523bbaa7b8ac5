r"""Certain bounds of a curve from scores in bins.

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
from trueness.scale.arrangements import ROUNDING
from trueness.scale.inner_cuts import rectangles_of
from trueness.scale.isotonic_bounds import isotonic_bounds
from trueness.threshold.costs import DecisionCurve


@final
@dataclass(frozen=True, repr=False)
class CurveBounds(Record):
    """Certain bounds of a curve from scores in bins.

    Attributes
    ----------
    x : array
        Values on the first axis, ascending: the ends and corners of each bin.
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
        """Return the largest distance between both curves."""
        return float((self.high - self.low).max(initial=0.0))

    def __str__(self) -> str:
        """Return in one line how closely the curve is known."""
        along, across = self.axes
        return f"{across} known to within {self.width:.3g} along {along}"


def _alternate(before: Array, behind: Array) -> Array:
    """Return values before and behind each bin in turn: before, behind, before, ..."""
    return np.stack([before, behind], axis=1).ravel()


def roc_bounds(t: Tally) -> CurveBounds:
    """Return the bounds of the ROC curve: a rectangle for each bin."""
    rectangles = rectangles_of(t)
    # a row with one score is a straight line, whose ends are exact
    lowest_behind = np.where(
        rectangles.is_bin, rectangles.tp_before, rectangles.tp_behind
    )
    highest_before = np.where(
        rectangles.is_bin, rectangles.tp_behind, rectangles.tp_before
    )

    return CurveBounds(
        x=_alternate(rectangles.fp_before, rectangles.fp_behind) / t.n_neg,
        low=_alternate(rectangles.tp_before, lowest_behind) / t.n_pos,
        high=_alternate(highest_before, rectangles.tp_behind) / t.n_pos,
        axes=("fpr", "tpr"),
    )


def det_bounds(t: Tally) -> CurveBounds:
    """Return the bounds of the DET curve: those of the ROC curve, upside down."""
    roc = roc_bounds(t)
    return CurveBounds(roc.x, 1 - roc.high, 1 - roc.low, ("fpr", "fnr"))


def gain_bounds(t: Tally) -> CurveBounds:
    """Return the bounds of the gain curve: a parallelogram for each bin.

    Its corners are reached by flagging the positives of a bin first, or last.
    """
    rectangles = rectangles_of(t)
    pos = t.pos[:, None]
    neg = t.neg[:, None]
    is_bin = rectangles.is_bin[:, None]
    corners = np.concatenate([np.zeros_like(pos), pos, neg, pos + neg], axis=1)
    flagged = np.sort(corners, axis=1)

    # a row of one score is crossed on a straight line
    straight = flagged * (pos / (pos + neg))
    fewest_positives = np.where(is_bin, np.clip(flagged - neg, 0, pos), straight)
    most_positives = np.where(is_bin, np.minimum(flagged, pos), straight)

    tp_before = rectangles.tp_before[:, None]
    flagged_before = (rectangles.tp_before + rectangles.fp_before)[:, None]

    return CurveBounds(
        x=((flagged_before + flagged) / (t.n_pos + t.n_neg)).ravel(),
        low=((tp_before + fewest_positives) / t.n_pos).ravel(),
        high=((tp_before + most_positives) / t.n_pos).ravel(),
        axes=("flagged_rate", "recall"),
    )


class _Precisions(NamedTuple):
    """The smallest and the largest precision at the ends of each bin, and behind it."""

    low: Floats
    high: Floats
    behind: Floats


def _precisions(t: Tally) -> _Precisions:
    """Return the range of the precision at the ends of each bin.

    In a row with one score it is the precision before, and behind, that row.
    """
    rectangles = rectangles_of(t)
    behind = _precision(
        rectangles.tp_behind, rectangles.fp_behind, if_nothing_flagged=0.0
    )
    before = np.concatenate([behind[:1], behind[:-1]])
    # nothing flagged: a first bin without negatives, or without positives
    lowest = _precision(
        rectangles.tp_before, rectangles.fp_behind, if_nothing_flagged=1.0
    )
    highest = _precision(
        rectangles.tp_behind, rectangles.fp_before, if_nothing_flagged=0.0
    )

    def at_ends(inside: Floats) -> Array:
        return _alternate(
            np.where(rectangles.is_bin, inside, before),
            np.where(rectangles.is_bin, inside, behind),
        )

    return _Precisions(at_ends(lowest), at_ends(highest), behind)


def _precision(tp: Array, fp: Array, *, if_nothing_flagged: float) -> Floats:
    """Return the proportion of positives among the flagged."""
    flagged = tp + fp
    precision: Floats = np.full(flagged.shape, if_nothing_flagged)
    np.divide(tp, flagged, out=precision, where=flagged > 0)
    return precision


def precision_bounds(t: Tally) -> CurveBounds:
    """Return the bounds of the precision-recall curve.

    If t positives of a bin are flagged, the precision is at least t / (t + all its
    negatives). This is concave in t, so its chord is a lower bound.
    """
    precisions = _precisions(t)
    low = precisions.low.copy()
    low[1::2] = precisions.behind
    rectangles = rectangles_of(t)

    return CurveBounds(
        x=_alternate(rectangles.tp_before, rectangles.tp_behind) / t.n_pos,
        low=low * (1 - ROUNDING),
        high=precisions.high * (1 + ROUNDING),
        axes=("recall", "precision"),
    )


def lift_bounds(t: Tally) -> CurveBounds:
    """Return the bounds of the lift curve inside each bin."""
    precisions = _precisions(t)
    rectangles = rectangles_of(t)
    tp = _alternate(rectangles.tp_before, rectangles.tp_behind)
    fp = _alternate(rectangles.fp_before, rectangles.fp_behind)

    return CurveBounds(
        x=(tp + fp) / (t.n_pos + t.n_neg),
        low=precisions.low / t.prevalence * (1 - ROUNDING),
        high=precisions.high / t.prevalence * (1 + ROUNDING),
        axes=("flagged_rate", "lift"),
    )


def decision_bounds(t: Tally, curve: DecisionCurve) -> CurveBounds:
    """Return the bounds of the net benefit, with any part of a bin flagged."""
    thresholds = curve.threshold
    # rows whose lowest score reaches p are flagged, and perhaps a part of the next row
    rows_flagged = len(t) - np.searchsorted(t.score[::-1], thresholds, side="left")
    highest_of_next = np.append(t.high, -np.inf)[rows_flagged]
    rows_perhaps = np.minimum(rows_flagged + (highest_of_next >= thresholds), len(t))

    rectangles = rectangles_of(t)
    tp = np.concatenate([[0], rectangles.tp_behind])
    fp = np.concatenate([[0], rectangles.fp_behind])
    prevalence = curve.prevalence
    price = (1 - prevalence) * thresholds / (1 - thresholds) / t.n_neg
    low = prevalence * tp[rows_flagged] / t.n_pos - price * fp[rows_perhaps]
    high = prevalence * tp[rows_perhaps] / t.n_pos - price * fp[rows_flagged]

    return CurveBounds(
        x=thresholds,
        low=low - ROUNDING * (1 + abs(low)),
        high=high + ROUNDING * (1 + abs(high)),
        axes=("threshold", "net_benefit"),
    )


def reliability_bounds(t: Tally) -> CurveBounds:
    """Return the bounds of the isotonic curve of a reliability diagram."""
    bins = isotonic_bounds(t)
    low = np.repeat(bins.low, 2) - ROUNDING
    high = np.repeat(bins.high, 2) + ROUNDING

    return CurveBounds(
        x=_alternate(bins.score, bins.score_high),
        low=np.maximum(low, 0),
        high=np.minimum(high, 1),
        axes=("score", "probability"),
    )
