"""What do the ranks of labelled cases say of each classifier, and of new cases?

The labelled cases of a panel are a reference: their ranks have an AUC for each
classifier, and a correlation for each pair. Maps that combine ranks have it in common.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import listing
from trueness._core.figures import Matrix
from trueness.calibration.field_rules import (
    check_correlation,
    check_finite,
    check_probabilities,
    check_reference,
    check_shape,
)
from trueness.calibration.maps import Map
from trueness.calibration.parametric import Platt, platt
from trueness.counts.values import Panel, Tally
from trueness.ensembles.ranked_columns import (
    rank_panel,
    rank_rows,
    rows_of,
)

# groups into which scores are merged for a curve of two numbers
POOLED_GROUPS = 4096


class RankReference:
    """Ranks and AUC of each classifier among the labelled cases of a panel.

    ``ranks`` (m, K) are mid-ranks among the cases with an output, of which there are
    ``n``, with ``n_pos`` positives. ``correlation`` is Spearman's, the mean of both
    classes.
    """

    def __init__(
        self, panel: Panel, function: str, *, correlation: bool = True
    ) -> None:
        _cases.both_classes(panel, function)
        panel = panel.labelled()
        self.names = panel.names
        self.neg = panel.neg
        self.pos = panel.pos
        self.prevalence = float(self.pos.sum() / (self.pos.sum() + self.neg.sum()))
        n_classifiers = len(self.names)
        several = correlation and n_classifiers > 1
        self.columns, self.ranks, correlations = rank_panel(
            panel.rows,
            self.neg + self.pos,
            classes=(self.pos, self.neg) if several else (),
        )

        self.n_pos, pos_mean = class_means(self.ranks, self.pos)
        n_neg, neg_mean = class_means(self.ranks, self.neg)
        lacks_class = (n_neg == 0) | (self.n_pos == 0)
        if lacks_class.any():
            lacking = [panel.names[k] for k in np.flatnonzero(lacks_class)]
            raise NotEnoughCases(
                f"{function} needs scores of a positive and a negative case from "
                f"every classifier; {listing(lacking)} has none for one class. Leave "
                "it out."
            )

        self.n = self.n_pos + n_neg
        self.auc = (neg_mean - pos_mean) / self.n + 0.5  # eq. (31)

        self.correlation: Floats = np.full((n_classifiers, n_classifiers), np.nan)
        if several:
            in_positives, in_negatives = correlations
            self.correlation = (in_positives + in_negatives) / 2


def class_means(value: Floats, cases: Array) -> tuple[Floats, Floats]:
    """Return the number of cases with a value, and the mean value, by column."""
    weight = cases.astype(np.float64)
    has_value = ~np.isnan(value)
    if has_value.all():
        n_cases = np.full(value.shape[1], weight.sum())
        total = weight @ value
    else:
        n_cases = weight @ has_value.astype(np.float64)
        total = weight @ np.where(has_value, value, 0.0)
    # a column without a value has the mean 0, not 0 / 0
    return n_cases, total / np.maximum(n_cases, 1.0)


class RankMap(Map):
    """Log-likelihood ratio L of a case, from the ranks of its scores."""

    names: tuple[str, ...]
    auc: Floats
    prevalence: float
    correlation: Floats
    calibrator: Map
    scores: tuple[Floats, ...]
    cases: tuple[Floats, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        size = len(self.names)
        check_reference(self.names, self.scores, self.cases)
        check_correlation(self.correlation, size)
        # a field with one axis has an entry for each classifier
        for name, values in vars(self).items():
            if isinstance(values, np.ndarray) and values.ndim == 1:
                check_shape(name, values, (size,))
                check_finite(name, *values.tolist())

        _options.fraction(self.prevalence, "prevalence")
        check_probabilities("auc", self.auc)

    def ranks(self, rows: ArrayLike) -> Floats:
        """Return the rank of each output among the reference; NaN where missing."""
        return rank_rows(rows_of(rows, self.names), self.scores, self.cases)

    def predict(self, rows: ArrayLike) -> Array:
        """Return which rows are positive: those with L > 0."""
        return self(rows) > 0

    def probability(self, rows: ArrayLike) -> Floats:
        """Return how likely each row is positive."""
        return self.calibrator(self(rows))

    @property
    def mean_correlation(self) -> float:
        """Return the rank correlation within classes, the mean over pairs."""
        pairs = self.correlation[np.triu_indices(len(self.correlation), 1)]
        return float(np.nanmean(pairs)) if np.isfinite(pairs).any() else math.nan


def calibrator_of(
    log_likelihood_ratio: Floats, reference: RankReference, prevalence: float
) -> Map:
    """Return a logistic curve in L, fitted to labels, at the prevalence of use."""
    labelled = Tally(log_likelihood_ratio, reference.neg, reference.pos)
    if len(labelled) > 8 * POOLED_GROUPS:  # two numbers do not need a million rows
        labelled = _pool_neighbours(labelled)
    fitted = platt(labelled)
    log_odds_of_use = math.log(prevalence / (1 - prevalence))
    log_odds_here = math.log(reference.prevalence / (1 - reference.prevalence))
    # Bayes' rule: another prevalence adds a constant to the log odds
    shift = log_odds_of_use - log_odds_here
    return Platt(fitted.intercept + shift, fitted.slope, targets=fitted.targets)


def _pool_neighbours(tally: Tally) -> Tally:
    """Return the tally with neighbouring scores merged into groups, at their means."""
    rows_per_group = -(-len(tally) // POOLED_GROUPS)  # rounded up
    start = np.arange(0, len(tally), rows_per_group)

    neg = np.add.reduceat(tally.neg, start)
    pos = np.add.reduceat(tally.pos, start)
    weighted_scores = tally.score * (tally.neg + tally.pos)
    mean_score = np.add.reduceat(weighted_scores, start) / (neg + pos)
    return Tally(mean_score, neg, pos)


def rank_correlation_figure(combiner: RankMap) -> Matrix:
    """Return the matrix of rank correlations within the classes (Spearman)."""
    title = (
        "Spearman's rank correlation within classes, averaged over both classes, by "
        "pair"
    )
    return Matrix(title, "rank correlation", combiner.names, combiner.correlation)


def independent_loses(auc: ArrayLike, correlation: Floats) -> bool:
    r"""Return whether FiDEL is expected to rank worse than its best classifier.

    With normal scores d apart and correlations C, FiDEL's classes are
    :math:`d^T d / \sqrt{d^T C d}` apart, those of the best :math:`\max |d|`.
    """
    separations = _separations(auc)
    # of normal scores, Pearson's correlation from Spearman's
    pearson = 2 * np.sin(np.pi / 6 * np.nan_to_num(correlation))
    np.fill_diagonal(pearson, 1.0)

    variance_of_sum = max(float(separations @ pearson @ separations), 0.0)
    best_alone = float(np.abs(separations).max())
    # a margin of rounding: equally good classifiers do not lose
    needed = (1 - 1e-9) * best_alone * math.sqrt(variance_of_sum)
    return float(separations @ separations) < needed


def crossing_correlation(auc: ArrayLike) -> float:
    r"""Rank correlation above which FiDEL is worse than its best classifier.

    If all pairs of classifiers have the rank correlation r (Spearman) within the
    classes, FiDEL is as good as the best of them when

    .. math:: c = \frac{(\sum d_i^2)^2 / \max d_i^2 - \sum d_i^2}
                       {(\sum d_i)^2 - \sum d_i^2}, \qquad
              r = \frac{6}{\pi} \arcsin\frac c2, \qquad d_i = \sqrt2\,\Phi^{-1}(A_i).

    and 1 where FiDEL is never worse.

    Examples
    --------
    >>> aucs = [np.linspace(0.55, 0.75, m) for m in (2, 4, 7, 10)]
    >>> [round(crossing_correlation(a), 2) for a in aucs]
    [0.09, 0.33, 0.38, 0.4]
    """
    separations = _separations(_options.grid(auc, "auc"))
    if not separations.size:
        raise InputError(
            "crossing_correlation needs the AUCs of classifiers; found none."
        )

    sum_of_squares = float(separations @ separations)
    largest_square = float((separations**2).max(initial=0.0))
    denominator = float(separations.sum()) ** 2 - sum_of_squares
    if denominator <= 0 or largest_square == 0:
        return 1.0

    pearson_correlation = (
        sum_of_squares**2 / largest_square - sum_of_squares
    ) / denominator
    # Spearman's correlation from Pearson's, of normal scores
    return 6 / math.pi * math.asin(min(pearson_correlation, 1.0) / 2)


def _separations(auc: ArrayLike) -> Floats:
    """Return the distance of the classes, in standard deviations of normal scores."""
    return np.asarray(math.sqrt(2) * ndtri(np.clip(auc, 1e-6, 1 - 1e-6)))
