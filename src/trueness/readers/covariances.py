"""How do the errors of readers go together?

Readers see the same cases, so their results share errors. Each estimate here returns
the covariance matrix of the results of all rows (reader and treatment); ``COVARIANCES``
has them by name.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.readers.design import Readings
from trueness.readers.endpoints import Endpoint


def row_results(readings: Readings, endpoint: Endpoint) -> Floats:
    """Return the endpoint of each row, which is a reader with a treatment."""
    return np.array(
        [
            endpoint.value(*_scores_by_class(readings, row))
            for row in range(len(readings.score))
        ]
    )


def _scores_by_class(readings: Readings, row: int) -> tuple[Floats, Floats]:
    """Return the scores of the positives and of the negatives read in a row."""
    score = readings.score[row]
    was_read = ~np.isnan(score)
    positives = score[was_read & readings.positive]
    negatives = score[was_read & ~readings.positive]
    return positives, negatives


def jackknife(readings: Readings, endpoint: Endpoint) -> Floats:
    """Return the jackknife covariance: one case at a time is left out.

    The sample of a sensitivity is the positives alone, of a specificity the negatives.
    Where cases belong to clusters, one cluster at a time is left out.
    """
    if readings.cluster is not None:
        return _jackknife_of_clusters(readings, endpoint, readings.cluster)

    results = row_results(readings, endpoint)
    # without a case that was not read, the result stays the same
    values = np.repeat(results[:, None], readings.score.shape[1], axis=1)
    for row, was_read in enumerate(readings.was_read):
        without_positive, without_negative = endpoint.leave_one_out(
            *_scores_by_class(readings, row)
        )
        values[row, was_read & readings.positive] = without_positive
        values[row, was_read & ~readings.positive] = without_negative

    # The sample is the classes on which the endpoint depends. If negatives counted, the
    # variance of a sensitivity would be p (1 - p) / (n_pos - 1) times
    # (N - 1) n_pos / (N (n_pos - 1)), which is too large.
    depends_on_positives, depends_on_negatives = endpoint.depends
    in_sample = np.where(readings.positive, depends_on_positives, depends_on_negatives)
    values = values[:, in_sample]

    n = values.shape[1]

    with np.errstate(invalid="ignore"):  # an infinite ratio: `fit_model` says so
        # Quenouille and Tukey: (n - 1) / n times the sums of products
        centered = values - values.mean(axis=1, keepdims=True)
        covariance = (n - 1) / n * centered @ centered.T
        return np.asarray(covariance * _have_common_cases(readings))


def _jackknife_of_clusters(
    readings: Readings, endpoint: Endpoint, cluster: Array
) -> Floats:
    """Return the jackknife covariance: one cluster at a time is left out."""
    depends_on_positives, depends_on_negatives = endpoint.depends
    in_sample = np.where(readings.positive, depends_on_positives, depends_on_negatives)
    clusters = np.unique(cluster[in_sample])

    values = np.empty((len(readings.score), clusters.size))
    for row, score in enumerate(readings.score):
        for column, left_out in enumerate(clusters):
            remains = ~np.isnan(score) & (cluster != left_out)
            values[row, column] = endpoint.value(
                score[remains & readings.positive], score[remains & ~readings.positive]
            )

    n = clusters.size

    with np.errstate(invalid="ignore"):  # an undefined ratio: `fit_model` says so
        # (rows, clusters): results without each cluster, less their mean
        centered = values - values.mean(axis=1, keepdims=True)
        covariance = (n - 1) / n * centered @ centered.T
        return np.asarray(covariance * _have_common_units(readings, cluster))


def _have_common_units(readings: Readings, cluster: Array) -> Array:
    """Return which pairs of rows have read cases of a common cluster."""
    # (cases, clusters): 1 where a case belongs to a cluster
    of_cluster = np.eye(int(cluster.max()) + 1, dtype=np.int64)[cluster]
    was_read = readings.was_read.astype(np.int64) @ of_cluster > 0
    was_read = was_read.astype(np.int64)
    return np.asarray(was_read @ was_read.T > 0)


def _have_common_cases(readings: Readings) -> Array:
    """Return which pairs of rows have read a case in common; others are independent."""
    was_read = readings.was_read.astype(np.int64)
    return np.asarray(was_read @ was_read.T > 0)


def delong(readings: Readings, endpoint: Endpoint) -> Floats:
    """Return the covariance of placement values (DeLong et al. 1988), by class.

    Where cases belong to clusters, placements are added by cluster (Obuchowski 1997).
    """
    if readings.cluster is not None:
        return _obuchowski(readings, endpoint, readings.cluster)
    of_positives = _placement_covariance(readings, endpoint, readings.positive, axis=1)
    of_negatives = _placement_covariance(readings, endpoint, ~readings.positive, axis=0)
    return of_positives + of_negatives


def _obuchowski(readings: Readings, endpoint: Endpoint, cluster: Array) -> Floats:
    r"""Return the covariance of sums of placements by cluster (Obuchowski 1997).

    .. math:: \frac{I_1}{I_1 - 1} \frac{S_{10}}{M^2} + \frac{I_0}{I_0 - 1}
        \frac{S_{01}}{N^2} + \frac{I}{I - 1} \frac{S_{11} + S_{11}'}{MN}

    with sums over clusters of products of what their M positives and N negatives
    deviate; I clusters, :math:`I_1` with a positive and :math:`I_0` with a negative.
    """
    of_positives = _deviations_by_cluster(readings, endpoint, cluster, positives=True)
    of_negatives = _deviations_by_cluster(readings, endpoint, cluster, positives=False)
    # I_1 and I_0: clusters with a positive, and with a negative
    with_positive, with_negative = readings.numbers_of_units
    clusters = np.unique(cluster).size

    # S_11: positives and negatives of the same cluster correlate
    between = of_positives @ of_negatives.T

    return np.asarray(
        of_positives @ of_positives.T * (with_positive / (with_positive - 1))
        + of_negatives @ of_negatives.T * (with_negative / (with_negative - 1))
        + (between + between.T) * (clusters / (clusters - 1))
    )


def _deviations_by_cluster(
    readings: Readings, endpoint: Endpoint, cluster: Array, *, positives: bool
) -> Floats:
    """Return deviations of the placements of a class, divided by n and summed.

    The sums are by row and cluster.
    """
    in_class = readings.positive if positives else ~readings.positive
    sums = np.zeros((len(readings.score), int(cluster.max()) + 1))

    for row, was_read in enumerate(readings.was_read):
        kernel = endpoint.kernel(*_scores_by_class(readings, row))
        # the placement of each case: its mean over the other class
        placements = kernel.mean(axis=1 if positives else 0)
        deviations = (placements - placements.mean()) / placements.size
        np.add.at(sums[row], cluster[was_read & in_class], deviations)

    return sums


def _placement_covariance(
    readings: Readings, endpoint: Endpoint, in_class: Array, *, axis: int
) -> Floats:
    """Return the part of one class; the other class, ``axis``, is averaged out."""
    was_read = readings.was_read[:, in_class]
    deviations = np.zeros(was_read.shape)
    for row in range(len(was_read)):
        kernel = endpoint.kernel(*_scores_by_class(readings, row))
        # the placement of each case: its mean over the other class
        placements = kernel.mean(axis=axis)
        deviations[row, was_read[row]] = placements - placements.mean()

    counts = was_read.astype(np.float64)
    n_read = counts.sum(axis=1)
    n_common = counts @ counts.T
    # the sum of products has n_common - 1 degrees of freedom; a mean divides it by n
    factor = n_common / np.maximum(n_common - 1, 1) / np.outer(n_read, n_read)

    return np.asarray(deviations @ deviations.T * factor)


def unbiased(readings: Readings, endpoint: Endpoint) -> Floats:
    """Return the unbiased covariance of U-statistics (Gallas 2006).

    It is the product of two means, minus the mean product over pairs of cases that have
    no case in common.
    """
    wins, was_read = _kernel_of_rows(readings, endpoint)
    # (rows,): the endpoint as the mean over all pairs that were read
    means = wins.sum(axis=(1, 2)) / was_read.sum(axis=(1, 2))
    independent = _sum_of_disjoint_products(wins) / _sum_of_disjoint_products(was_read)
    covariance = np.outer(means, means) - independent
    return np.asarray(covariance * _have_common_cases(readings))


def _kernel_of_rows(readings: Readings, endpoint: Endpoint) -> tuple[Floats, Floats]:
    """Return the kernel by row, positive and negative, and which pairs were read.

    The kernel is 0 where one of a pair was not read.
    """
    positives_read = readings.was_read[:, readings.positive]
    negatives_read = readings.was_read[:, ~readings.positive]
    # (rows, positives, negatives)
    both_read = positives_read[:, :, None] & negatives_read[:, None]
    was_read = both_read.astype(np.float64)

    kernel = np.zeros_like(was_read)
    for row in range(len(kernel)):
        pairs = np.ix_(positives_read[row], negatives_read[row])
        kernel[row][pairs] = endpoint.kernel(*_scores_by_class(readings, row))

    return kernel, was_read


def _sum_of_disjoint_products(arrays: Floats) -> Floats:
    """Return sums of products of entries that differ in every index, (K, K).

    The entries are of any two of K arrays.
    """
    # by inclusion and exclusion, over all sets of indices that may be shared
    total = np.zeros((len(arrays), len(arrays)))
    for is_shared in product((False, True), repeat=arrays.ndim - 1):
        free_axes = tuple(
            axis for axis, shared in enumerate(is_shared, start=1) if not shared
        )
        sums = arrays.sum(axis=free_axes).reshape(len(arrays), -1)
        total += (-1) ** sum(is_shared) * sums @ sums.T

    return total


COVARIANCES: dict[str, Callable[[Readings, Endpoint], Floats]] = {
    "jackknife": jackknife,
    "delong": delong,
    "unbiased": unbiased,
}
