r"""Label maps: probabilities of a label with their own standard error.

``pooled_bins`` is the default map of expected labels. It has the proportion of
positives in each of many bins of scores and, within a bin, a logistic line. So it can
follow any shape, and its covariance is that of independent proportions.
``logistic_errors.py`` has the covariance of a logistic curve such as Platt's.

A value moves by :math:`v_i` when the log odds of row i rise by one; the parameters of
the map have the covariance C, and row i has the design row :math:`x_i`. Then the error
of the map adds

.. math:: V_b = D^T C D, \qquad D = \sum_i v_i \, x_i

to the variance of the value (Murphy, Topel 1985; Newey, McFadden 1994, section 6).
"""

from __future__ import annotations

import math
from dataclasses import field
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness.calibration.field_rules import check_ascending, check_finite, check_shape
from trueness.calibration.logistic_errors import (
    draw_normal_errors,
    reference_of,
    residual_influence,
)
from trueness.calibration.maps import Formula, Map, evaluate_formula, register
from trueness.counts.cases import kish
from trueness.counts.expected_labels import Reference
from trueness.counts.values import Tally
from trueness.inference.verification import (
    LINE_CASES,
    bins_of_labelled_cases,
    fit_logistic_line,
    normal_scores_of,
)

# the most points of the normal score that a map keeps
_MOST_POINTS = 4096


@register("pooled-bins")
class PooledBins(Map):
    r"""A logistic line with a constant shift of the log odds in each bin.

    .. math:: \mathrm{logit}\, g(s) = \beta z(s) + \alpha_{k(s)}

    with z the normal score of a score among the reference cases, and k its bin. The
    fields ``shift`` and ``centre`` hold :math:`\alpha` and the mean of z of each bin.
    """

    score: Floats
    normal_score: Floats
    edges: Floats
    shift: Floats
    centre: Floats
    slope: float
    _reference: Reference | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending("score", self.score)
        check_shape("normal_score", self.normal_score, self.score.shape)
        check_ascending("edges", self.edges)
        check_shape("shift", self.shift, (self.edges.size + 1,))
        check_shape("centre", self.centre, self.shift.shape)
        check_finite("slope", self.slope)

    @property
    def expression(self) -> Formula:
        """Return straight lines to the log odds, then the logistic curve."""
        # a jump is a steep line between the edge and the float below it
        below_edges = np.nextafter(self.edges, -np.inf)
        points = np.unique(np.concatenate([self.score, below_edges, self.edges]))
        curve = ("logistic", 0.0, ((1.0, "identity"),), -math.inf, math.inf)
        return ("lines", points, self._log_odds(points)), curve

    def _log_odds(self, score: Floats) -> Floats:
        """Return the log odds of a label at each score."""
        normal_score = self._normal_score_of(score)
        return np.asarray(self.slope * normal_score + self.shift[self._bin(score)])

    def _normal_score_of(self, score: Floats) -> Floats:
        """Return the normal score at each score, straight between reference cases."""
        return evaluate_formula((("lines", self.score, self.normal_score),), score)

    def _bin(self, score: Floats) -> Ints:
        """Return the bin of each score."""
        return np.searchsorted(self.edges, score, side="right")

    def error_variance(self, score: Floats, by_log_odds: Floats) -> float:
        """Return the variance of a value that is due to the error of the map."""
        if self.reference is None:
            return math.nan

        bins = self._bin(score)
        by_bin = np.bincount(bins, by_log_odds, self.shift.size)
        by_slope = float(by_log_odds @ self._slope_factor(score, bins))
        # delta method: the value by the shift of each bin, then by the slope
        derivative = np.append(by_bin, by_slope)
        covariance = self.reference.covariance
        if _is_full(covariance):
            return float(derivative @ covariance @ derivative)

        # bins without clusters are independent given the slope
        variances, slope_covariances = _variances_and_slope(covariance)
        cross_term = 2 * by_slope * float(by_bin @ slope_covariances)
        return float(derivative**2 @ variances) + cross_term

    def error_draws(
        self, score: Floats, n_draws: int, rng: np.random.Generator
    ) -> Floats | None:
        """Return errors (n_draws, m) of the log odds at these scores."""
        if self.reference is None:
            return None
        bins = self._bin(score)
        errors = _draw_errors(self.reference.covariance, n_draws, rng)
        slope_factor = self._slope_factor(score, bins)
        return np.asarray(errors[:, bins] + errors[:, -1:] * slope_factor)

    def _slope_factor(self, score: Floats, bins: Ints) -> Floats:
        """Return how far the slope moves the log odds of each score.

        The line of a bin turns about the mean of the bin.
        """
        return np.asarray(self._normal_score_of(score) - self.centre[bins])


def _is_full(covariance: Floats) -> bool:
    """Return whether this is a full matrix, as for clusters, not the form of bins."""
    return covariance.ndim == 2


def _variances_and_slope(covariance: Floats) -> tuple[Floats, Floats]:
    """Return the variances of bins and slope, and the covariances of bin and slope."""
    number_of_bins = covariance.size // 2
    return covariance[: number_of_bins + 1], covariance[number_of_bins + 1 :]


def _draw_errors(covariance: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
    """Return normal errors (n_draws, parameters) with this covariance."""
    if _is_full(covariance):
        return draw_normal_errors(covariance, n_draws, rng)

    variances, slope_covariances = _variances_and_slope(covariance)
    slope_variance = float(variances[-1])
    errors = rng.standard_normal((n_draws, variances.size))
    errors[:, -1] *= math.sqrt(slope_variance)
    # given the error of the slope, the bins are independent
    regression = slope_covariances / max(slope_variance, 1e-300)
    remaining = np.maximum(variances[:-1] - regression * slope_covariances, 0.0)
    errors[:, :-1] = errors[:, :-1] * np.sqrt(remaining) + errors[:, -1:] * regression
    return np.asarray(errors)


class _BinnedReference(NamedTuple):
    """Reference cases by row, ascending by score, and the bin of each row."""

    tally: Tally
    scale: float  # what a unit of weight counts, in equal cases
    positives: Floats
    labelled: Floats
    normal_scores: Floats
    bins: Ints

    def per_bin(self, values: Array) -> Floats:
        """Return the sum over the labelled cases of each bin."""
        return np.bincount(self.bins, self.labelled * values).astype(np.float64)


def pooled_bins(t: Tally) -> PooledBins:
    """Pooled bins: proportions in bins that follow any shape, with their covariance.

    Bins hold about 2 n^(1/3) of the n labelled cases, at least five; neighbours that
    show one and the same class only are pooled. Within a bin the log odds follow a
    logistic line in the normal score of the rank. The line is fitted to all cases, and
    counts as two cases of the bin (as in ``unlabelled="missing at random"``). The map
    of :class:`trueness.ExpectedLabels`: it knows its own error.

    >>> t = Tally([1, 2, 3], neg=[60, 40, 20], pos=[20, 40, 60])
    >>> pooled_bins(t)([1, 2, 3]).round(2)
    array([0.25, 0.5 , 0.75])
    """
    _cases.both_classes(t, "pooled_bins")
    reference = _bin_reference(t)
    line = fit_logistic_line(
        reference.normal_scores, reference.positives, reference.labelled
    )

    bin_cases = reference.per_bin(np.ones(len(t)))
    bin_positives = np.bincount(reference.bins, reference.positives)
    bin_line = reference.per_bin(line.chances) / bin_cases
    centre = reference.per_bin(reference.normal_scores) / bin_cases
    # the line counts for two cases, so that no probability is 0 or 1
    weight = bin_cases + LINE_CASES
    proportion = (bin_positives + LINE_CASES * bin_line) / weight
    # the shift by which the line of a bin meets its proportion
    lift = _log_odds(proportion) - _log_odds(bin_line)

    covariance = _covariance_of_bins(
        reference, line.chances, line.covariance, proportion, weight
    )
    ascending_score = t.score[::-1]
    first_rows = np.searchsorted(reference.bins, np.arange(1, bin_cases.size))
    kept_rows = _rows_kept(ascending_score.size)
    return PooledBins(
        score=ascending_score[kept_rows],
        normal_score=reference.normal_scores[kept_rows],
        edges=_edges_before(ascending_score, first_rows),
        shift=line.intercept + lift,
        centre=centre,
        slope=line.slope,
        _reference=reference_of(t, covariance),
    )


def _bin_reference(t: Tally) -> _BinnedReference:
    """Return the reference cases, the lowest score first, in bins."""
    squares = sum(float(square.sum()) for square in t.squares[:2])
    total = float(t.n_pos + t.n_neg)
    # weighted cases count as an effective number of them (Kish 1965)
    scale = kish(total, squares) / total
    positives = np.asarray(t.pos[::-1] * scale, np.float64)
    labelled = np.asarray((t.pos + t.neg)[::-1] * scale, np.float64)
    narrow, _ = bins_of_labelled_cases(labelled)
    return _BinnedReference(
        tally=t,
        scale=scale,
        positives=positives,
        labelled=labelled,
        normal_scores=normal_scores_of(t)[::-1],
        bins=_pool_bins_of_one_class(narrow, positives, labelled),
    )


def _pool_bins_of_one_class(bins: Ints, positives: Floats, labelled: Floats) -> Ints:
    """Return bins in which neighbours with cases of the same single class are merged.

    So the variance of a case that they may miss is added once, not for each bin.
    """
    observed_proportion = np.bincount(bins, positives) / np.bincount(bins, labelled)
    differs = observed_proportion[1:] != observed_proportion[:-1]
    both_classes = (observed_proportion[1:] > 0) & (observed_proportion[1:] < 1)
    starts_new = np.append(False, differs | both_classes)
    return np.cumsum(starts_new)[bins]


def _edges_before(score: Floats, first_rows: Ints) -> Floats:
    """Return the middle between the first score of each bin and the score below."""
    below = score[first_rows - 1]
    above = score[first_rows]
    middle = below / 2 + above / 2
    # between neighbouring floats there is no middle
    has_middle = (middle > below) & (middle <= above)
    return np.where(has_middle, middle, above)


def _rows_kept(rows: int) -> Ints:
    """Return the rows whose normal scores a map keeps: all, or evenly spaced ones."""
    return np.unique(np.linspace(0, rows - 1, min(rows, _MOST_POINTS)).astype(np.int64))


def _log_odds(probability: Floats) -> Floats:
    """Return the logit of probabilities, always finite."""
    from scipy.special import logit

    # with tiny weights a probability may round to 0 or 1, whose logit is infinite
    return np.asarray(logit(np.clip(probability, 1e-300, 1 - 2.0**-53)))


def _covariance_of_bins(
    reference: _BinnedReference,
    line_chances: Floats,
    line_covariance: Floats,
    proportion: Floats,
    weight: Floats,
) -> Floats:
    """Return the covariance of the log odds of each bin and of the slope."""
    bins = reference.bins
    information = weight * proportion * (1 - proportion)
    # a label moves the shift of its own bin by its residual over the information
    by_shift = residual_influence(proportion[bins]) / information[bins]
    by_slope = _influence_on_slope(
        reference.normal_scores, line_chances, line_covariance
    )
    covariance = _covariance_by_cases(reference, by_shift, by_slope)

    # labels that all agree show no variance: it is estimated with half a case more of
    # each class
    bin_cases = np.bincount(bins, reference.labelled)
    observed_proportion = np.bincount(bins, reference.positives) / bin_cases
    smoothed = (proportion * weight + 0.5) / (weight + 1)
    observed_variance = observed_proportion * (1 - observed_proportion)
    missing = np.maximum(smoothed * (1 - smoothed) - observed_variance, 0.0)
    added = bin_cases * missing / information**2 * _cases_per_cluster(reference)
    if _is_full(covariance):
        return covariance + np.diag(np.append(added, 0.0))

    covariance[: added.size] += added
    return np.asarray(covariance)


def _cases_per_cluster(reference: _BinnedReference) -> Floats:
    """Return the mean number of cases that a cluster has in each bin.

    All cases of a cluster may be of the same unseen kind.
    """
    clusters = reference.tally.grouped
    number_of_bins = int(reference.bins[-1]) + 1
    if clusters is None:
        return np.ones(number_of_bins)

    # clusters number rows from the highest score, bins from the lowest
    bins = reference.bins[reference.labelled.size - 1 - clusters.row]
    # each pair of a bin and a cluster that has cases there, once
    cells = np.unique(bins * clusters.number + clusters.code)
    clusters_of_bin = np.bincount(cells // clusters.number, minlength=number_of_bins)
    return reference.per_bin(np.ones(reference.labelled.size)) / clusters_of_bin


def _influence_on_slope(
    normal_scores: Floats, chances: Floats, covariance: Floats
) -> Floats:
    """Return the influence of a negative and of a positive of each row on the slope."""
    by_residual = covariance[1, 0] + covariance[1, 1] * normal_scores
    # x' C x, with x = (1, z): the variance of the log odds of the line
    quadratic_form = covariance[0, 0] + 2 * covariance[0, 1] * normal_scores
    quadratic_form = quadratic_form + covariance[1, 1] * normal_scores**2
    leverage = np.minimum(chances * (1 - chances) * quadratic_form, 0.5)
    # HC3: a case pulls the line towards itself (MacKinnon and White 1985)
    return np.asarray(residual_influence(chances) * by_residual / (1 - leverage))


def _covariance_by_cases(
    reference: _BinnedReference, by_shift: Floats, by_slope: Floats
) -> Floats:
    """Return the covariance of the shifts and the slope, from influence values.

    In the short form: variances of shifts and slope, then covariances of both.
    """
    clusters = reference.tally.grouped
    number_of_bins = int(reference.bins[-1]) + 1
    if clusters is not None:
        return _covariance_by_clusters(reference, by_shift, by_slope, number_of_bins)

    squares = np.stack([reference.tally.squares[0], reference.tally.squares[1]])
    # (2, rows): squared weights of negatives and positives, lowest score first
    case_squares = squares[:, ::-1] * reference.scale**2
    shift_squares = (case_squares * by_shift**2).sum(axis=0)
    cross_products = (case_squares * by_shift * by_slope).sum(axis=0)
    slope_variance = float((case_squares * by_slope**2).sum())
    variances = np.bincount(reference.bins, shift_squares)
    slope_covariances = np.bincount(reference.bins, cross_products)
    return np.concatenate([variances, [slope_variance], slope_covariances])


def _covariance_by_clusters(
    reference: _BinnedReference,
    by_shift: Floats,
    by_slope: Floats,
    number_of_bins: int,
) -> Floats:
    """Return the full covariance, since cases of a cluster may lie in several bins."""
    clusters = reference.tally.grouped
    assert clusters is not None  # noqa: S101 - its caller saw to it
    # clusters number rows from the highest score, bins from the lowest
    row = reference.labelled.size - 1 - clusters.row
    negatives = clusters.counts[0] * reference.scale
    positives = clusters.counts[1] * reference.scale
    # a cell holds the cases of one cluster at one row
    shift_by_cell = negatives * by_shift[0, row] + positives * by_shift[1, row]
    slope_by_cell = negatives * by_slope[0, row] + positives * by_slope[1, row]

    totals = np.zeros((clusters.number, number_of_bins + 1))
    np.add.at(totals, (clusters.code, reference.bins[row]), shift_by_cell)
    np.add.at(totals[:, -1], clusters.code, slope_by_cell)
    # n / (n - 1), with clusters as the units
    correction = clusters.number / max(clusters.number - 1, 1)
    return np.asarray(correction * totals.T @ totals)
