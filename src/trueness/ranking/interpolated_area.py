r"""Area under the interpolated precision–recall curve (Davis and Goadrich).

Between two thresholds, true and false positives both move on a straight line, so that
precision moves on a curve. Average precision, in contrast, takes steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.records import Estimate
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.estimates import estimate_measure
from trueness.inference.sample import MeasuredValue
from trueness.inference.variance import Influence
from trueness.inference.verification import unlabelled_notes
from trueness.ranking.areas import (
    extra_variance_of_precision,
    notes_on_few_negatives,
    reverse_cumsum,
)


def interpolated_area_measure(counts: Tally) -> MeasuredValue:
    r"""Return the area and its influence values.

    With t and n true positives and flagged cases at the higher threshold, and
    :math:`\Delta t, \Delta n` more at the lower one, the mean precision of a segment is

    .. math:: m = \frac{\Delta t}{\Delta n} +
        \frac{t\,\Delta n - n\,\Delta t}{\Delta n^2} \ln\frac{n + \Delta n}{n}

    and the area is the mean of m over positives. A case moves its own segment, and the
    start of all lower ones.
    """
    true_positives = np.cumsum(counts.pos, dtype=np.float64)
    false_positives = np.cumsum(counts.neg, dtype=np.float64)
    segments = _Segments(
        tp=true_positives - counts.pos,
        fp=false_positives - counts.neg,
        new_tp=counts.pos.astype(np.float64),
        new_fp=counts.neg.astype(np.float64),
    )
    mean_precision = _mean_precision(segments)
    value = float(segments.new_tp @ mean_precision) / counts.n_pos

    by_new_tp, by_new_fp, by_tp, by_fp = _slopes(segments, mean_precision)
    # the start of a segment moves with every case above it, but not with its own cases
    positives_above = reverse_cumsum(by_tp) - by_tp
    negatives_above = reverse_cumsum(by_fp) - by_fp

    effective_negatives, effective_positives = counts.equal_cases
    return MeasuredValue(
        value=min(max(value, 0.0), 1.0),
        influence=Influence(
            by_negative=(by_new_fp + negatives_above) / counts.n_pos,
            by_positive=(by_new_tp + positives_above - value) / counts.n_pos,
            extra_variance=extra_variance_of_precision(
                effective_positives, effective_negatives, counts.prevalence
            ),
        ),
    )


@of_tally(measure=interpolated_area_measure)
def precision_recall_area(data: Tally, *, level: float = 0.95) -> Estimate:
    r"""Area under the interpolated precision-recall curve, with a confidence interval.

    What is the mean precision over all recalls, between thresholds too?

    .. math:: \frac{1}{N_1} \sum_k \int_{T_{k-1}}^{T_k} \frac{t}{t + f_k(t)}\,dt

    :math:`f_k` is the line from :math:`F_{k-1}` to :math:`F_k` false positives. R's
    precrec and PRROC compute this area, scikit-learn :func:`average_precision`.

    Notes
    -----
    The integrals are exact; precrec sums a thousand trapezia. Before the first
    threshold precision is constant.

    References
    ----------
    Davis, Goadrich (2006), Proc. ICML 23:233, doi:10.1145/1143844.1143874; Keilwagen,
    Grosse, Grau (2014), PLoS ONE 9:e92209, doi:10.1371/journal.pone.0092209

    Examples
    --------
    >>> t = Tally([2, 1], pos=[1, 1], neg=[0, 0])
    >>> precision_recall_area(t + Tally([0], neg=[3])).value  # all positives first
    1.0
    """
    _cases.both_classes(data, "precision_recall_area")
    estimate = estimate_measure(
        data,
        interpolated_area_measure,
        level=level,
        name="precision-recall area",
        measure_name="precision_recall_area",
    )
    negatives, positives = data.equal_cases
    few_negatives = notes_on_few_negatives(positives, negatives, data.design.prevalence)
    return replace(
        estimate, notes=(*unlabelled_notes(data), *estimate.notes, *few_negatives)
    )


@dataclass(frozen=True)
class _Segments:
    """The curve between neighbouring thresholds.

    Attributes
    ----------
    tp, fp : array
        True and false positives at the higher threshold.
    new_tp, new_fp : array
        How many more there are at the lower one.
    """

    tp: Floats
    fp: Floats
    new_tp: Floats
    new_fp: Floats

    @cached_property
    def flagged(self) -> Floats:
        return self.tp + self.fp

    @property
    def new_flagged(self) -> Floats:
        return self.new_tp + self.new_fp

    @cached_property
    def log_growth(self) -> Floats:
        """Return the logarithm of the growth of the flagged cases.

        Zero before the first threshold: there precision is constant, and the factor of
        the logarithm is zero.
        """
        zeros = np.zeros(self.tp.size)
        growth = np.divide(
            self.new_flagged, self.flagged, out=zeros, where=self.flagged > 0
        )
        return np.asarray(np.log1p(growth))

    @cached_property
    def bend(self) -> Floats:
        """Return t dn - n dt, which is zero where precision is constant."""
        return self.tp * self.new_flagged - self.flagged * self.new_tp


def _mean_precision(segments: _Segments) -> Floats:
    """Return the mean precision of each segment, over its true positives."""
    size = segments.new_flagged
    by_size = np.divide(1.0, size, out=np.zeros(size.size), where=size > 0)
    # a segment without new cases has no precision, and no weight
    own_precision = segments.new_tp * by_size
    return np.asarray(own_precision + segments.bend * by_size**2 * segments.log_growth)


def _slopes(
    segments: _Segments, mean_precision: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the slopes of each part of the area by new tp, new fp, tp and fp."""
    size = segments.new_flagged
    by_size = np.divide(1.0, size, out=np.zeros(size.size), where=size > 0)
    log_growth = segments.log_growth
    bend = segments.bend
    flagged_after = segments.flagged + size
    by_after = np.divide(
        1.0, flagged_after, out=np.zeros(size.size), where=flagged_after > 0
    )
    by_flagged = np.divide(
        1.0, segments.flagged, out=np.zeros(size.size), where=segments.flagged > 0
    )

    # slope of the mean precision by the size of the segment, at constant new tp
    slope_by_size = (
        -segments.new_tp * by_size**2
        + (segments.tp * by_size**2 - 2 * bend * by_size**3) * log_growth
        + bend * by_size**2 * by_after
    )
    # ... and by the number of cases flagged before, at constant tp
    slope_by_flagged = -segments.new_tp * by_size**2 * log_growth
    slope_by_flagged += bend * by_size**2 * (by_after - by_flagged)

    # a new true positive also enlarges the segment, and moves the bend
    slope_by_new_tp = (
        slope_by_size + by_size - segments.flagged * by_size**2 * log_growth
    )
    slope_by_tp = slope_by_flagged + by_size * log_growth
    return (
        mean_precision + segments.new_tp * slope_by_new_tp,
        segments.new_tp * slope_by_size,
        segments.new_tp * slope_by_tp,
        segments.new_tp * slope_by_flagged,
    )
