r"""What do the ranks of a case say together, if errors are correlated?

For classifiers that err together each rank becomes a normal score z, and generalised
least squares weighs them: with S the mean of the covariances of both classes,

.. math:: L = (m_1 - m_0)^T S^{-1} \left(z - \frac{m_1 + m_0}{2}\right).

For normal classes no other weights have a higher AUC (Su and Liu 1993,
doi:10.1080/01621459.1993.10476417). S is shrunk towards equal correlations, as far as
its sampling error asks for (Ledoit and Wolf 2004; Schäfer and Strimmer 2005).
"""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness.calibration.field_rules import check_covariance
from trueness.calibration.maps import Map, register
from trueness.ensembles.ranked_columns import reference_of
from trueness.ensembles.ranks import (
    RankMap,
    RankReference,
    calibrator_of,
    class_means,
)


@final
@register("fidel-correlated")
class CorrelatedFiDEL(RankMap):
    """FiDEL for correlated errors: the evidence of all ranks of a case.

    Called with rows (m, K), it returns their log-likelihood ratio L. A missing output
    is left out: the others are weighted as if they were the whole panel. Made by
    ``trueness.fidel(panel, method="correlated")``; attributes beyond those of
    :class:`trueness.records.FiDEL`:

    Attributes
    ----------
    mean_pos, mean_neg, covariance : array (K,), (K,), (K, K)
        Mean normal score of each class, and the covariance within the classes.
    shrinkage : float
        From 0 (as found) to 1 (all pairs equally correlated).
    """

    names: tuple[str, ...]
    auc: Floats
    prevalence: float
    mean_pos: Floats
    mean_neg: Floats
    covariance: Floats
    shrinkage: float
    correlation: Floats
    calibrator: Map
    scores: tuple[Floats, ...]
    cases: tuple[Floats, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_covariance(self.covariance, len(self.names))
        _options.fraction(self.shrinkage, "shrinkage", ends="[]")

    def __call__(self, rows: ArrayLike) -> Floats:
        """Return L for each row; above 0 the ranks are evidence for positive."""
        reference_sizes = np.array([count.sum() for count in self.cases])
        scores = normal_scores(self.ranks(rows), reference_sizes)
        return discriminate(scores, self.mean_pos, self.mean_neg, self.covariance)

    @property
    def weights(self) -> Floats:
        """Return the weight of each classifier when none is missing."""
        difference = self.mean_pos - self.mean_neg
        weights = np.linalg.solve(self.covariance, difference)
        return np.asarray(weights, dtype=np.float64)


def correlated_fidel(reference: RankReference, prevalence: float) -> CorrelatedFiDEL:
    """Fit the combination that allows for dependence; see :func:`trueness.fidel`."""
    scores = normal_scores(reference.ranks, reference.n)
    _, mean_pos = class_means(scores, reference.pos)
    _, mean_neg = class_means(scores, reference.neg)
    covariance, sampling_error = _covariance_within_classes(
        scores, reference, mean_pos, mean_neg
    )

    standard_deviation = np.sqrt(np.diag(covariance))
    # a constant classifier does not vary, and its means do not differ either
    standard_deviation = np.where(standard_deviation > 0, standard_deviation, 1.0)
    scale = np.outer(standard_deviation, standard_deviation)
    # shrunk as correlations, then put back on the scale of the scores
    correlation = np.clip(covariance / scale, -1, 1)
    shrunk_correlation, shrinkage = _shrink(correlation, sampling_error)
    covariance = shrunk_correlation * scale

    log_likelihood_ratio = discriminate(scores, mean_pos, mean_neg, covariance)
    reference_scores, reference_cases = reference_of(reference.columns)
    return CorrelatedFiDEL(
        names=reference.names,
        auc=reference.auc,
        prevalence=prevalence,
        mean_pos=mean_pos,
        mean_neg=mean_neg,
        covariance=covariance,
        shrinkage=shrinkage,
        correlation=reference.correlation,
        calibrator=calibrator_of(log_likelihood_ratio, reference, prevalence),
        scores=reference_scores,
        cases=reference_cases,
    )


def _covariance_within_classes(
    scores: Floats, reference: RankReference, mean_pos: Floats, mean_neg: Floats
) -> tuple[Floats, Floats]:
    """Return the mean covariance of both classes, and its sampling error, (K, K).

    Pooling would let the larger class decide (Su and Liu 1993).
    """
    has_score = ~np.isnan(scores)
    classifiers = scores.shape[1]
    covariance = np.zeros((classifiers, classifiers))
    sampling_error = np.zeros((classifiers, classifiers))

    for mean, cases in ((mean_pos, reference.pos), (mean_neg, reference.neg)):
        # each pair over the cases that both have scored
        deviation = np.where(has_score, scores - mean, 0.0)
        products = deviation.T @ (deviation * cases[:, None])
        weighted = has_score * cases[:, None].astype(np.float64)
        common_cases = weighted.T @ has_score

        # half of either class: the mean of both
        covariance += products / np.maximum(common_cases - 1, 1) / 2
        sampling_error += 0.25 / np.maximum(common_cases, 1.0)

    return covariance, sampling_error


def _shrink(correlation: Floats, sampling_error: Floats) -> tuple[Floats, float]:
    """Return correlations shrunk towards their mean, and the shrinkage.

    The shrinkage is the part of their variance that chance explains: from 0 (none) to
    1 (all correlations become equal).
    """
    classifiers = len(correlation)
    if classifiers == 1:
        return np.ones((1, 1)), 0.0

    pairs = np.triu_indices(classifiers, 1)
    correlations_of_pairs = correlation[pairs]
    # Schafer and Strimmer (2005): the variance of a correlation r is (1 - r^2)^2 / n
    chance_variances = (1 - correlations_of_pairs**2) ** 2 * sampling_error[pairs]
    variance_by_chance = float(chance_variances.sum())
    variance = float(
        ((correlations_of_pairs - correlations_of_pairs.mean()) ** 2).sum()
    )

    shrinkage = 1.0
    if variance > 0:
        shrinkage = min(1.0, variance_by_chance / variance)

    shrunk = shrinkage * correlations_of_pairs.mean() + (1 - shrinkage) * correlation
    np.fill_diagonal(shrunk, 1.0)
    return _regular_correlation(shrunk, sampling_error), shrinkage


def _regular_correlation(correlation: Floats, sampling_error: Floats) -> Floats:
    """Return a matrix that can be inverted, also where classifiers are copies."""
    # as if errors were independent in one case
    ridge = min(float(sampling_error.max()), 0.5)
    eigenvalues, eigenvectors = np.linalg.eigh((1 - ridge) * correlation)
    # rounding leaves eigenvalues just below 0
    scaled_vectors = eigenvectors * np.maximum(eigenvalues, 0.0)
    identity = np.eye(len(correlation))
    return np.asarray(scaled_vectors @ eigenvectors.T + ridge * identity)


def normal_scores(ranks: Floats, n: Floats) -> Floats:
    """Return ranks among n cases as quantiles of the normal distribution."""
    # rank 1 is the highest score, hence the minus
    return np.asarray(-ndtri(ranks / (n + 1)))


def discriminate(
    scores: Floats, mean_pos: Floats, mean_neg: Floats, covariance: Floats
) -> Floats:
    """Return the log-likelihood ratio of each row from the outputs that it has.

    Both classes have a normal distribution, with the same covariance.
    """
    difference_of_means = mean_pos - mean_neg
    midpoint = (mean_pos + mean_neg) / 2
    log_ratio = np.zeros(len(scores))
    has_score = ~np.isnan(scores)

    # rows that lack the same outputs share one system of equations
    for pattern in np.unique(has_score, axis=0):
        # a row without outputs says nothing: its ratio is one
        if not pattern.any():
            continue

        covariance_of_seen = covariance[np.ix_(pattern, pattern)]
        # Fisher (1936): C w = difference of the means
        weight = np.linalg.solve(covariance_of_seen, difference_of_means[pattern])
        rows = (has_score == pattern).all(axis=1)
        log_ratio[rows] = (scores[rows][:, pattern] - midpoint[pattern]) @ weight

    return log_ratio
