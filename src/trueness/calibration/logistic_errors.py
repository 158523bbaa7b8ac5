"""The error of a logistic curve: the covariance of its coefficients, and its effect.

A map that was fitted by logistic regression keeps its reference cases
(``logistic_reference``), from which the variance that its error adds to a value of
expected labels follows (``logistic_error_variance``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from trueness._core.arrays import Floats
from trueness.counts.clusters import Clusters
from trueness.counts.expected_labels import Reference
from trueness.counts.values import Tally


def reference_of(t: Tally, covariance: Floats) -> Reference:
    """Return a summary of the reference cases for intervals."""
    negatives, positives = t.equal_cases
    return Reference(
        negatives=negatives,
        positives=positives,
        lowest=float(t.score[-1]),
        highest=float(t.score[0]),
        date=date.today().isoformat(),
        covariance=covariance,
    )


def residual_influence(chances: Floats) -> Floats:
    """Return the residuals (2, m) of a negative and of a positive of each row."""
    return np.stack([-chances, 1 - chances])


@dataclass(frozen=True)
class LogisticCurve:
    """A logistic regression of labels on columns, the intercept being the first."""

    columns: Sequence[Floats]
    coefficients: Floats
    inverse_information: Floats


def logistic_reference(t: Tally, fit: LogisticCurve) -> Reference:
    """Return the reference cases of a logistic curve, with its covariance.

    The sandwich estimator HC3 (MacKinnon and White 1985), which does not assume that
    the curve is correct.
    """
    from scipy.special import expit

    design = np.column_stack([np.ones(len(t)), *fit.columns])
    chances = expit(design @ fit.coefficients)
    # x' I^-1: how a residual of each row moves the coefficients
    direction = design @ fit.inverse_information

    # HC3: the residual of a case from a fit without it
    mean_weight = (t.squares[0] + t.squares[1]) / np.maximum(t.neg + t.pos, 1e-300)
    case_variance = mean_weight * chances * (1 - chances)
    leverage = case_variance * np.sum(direction * design, axis=1)
    residuals = residual_influence(chances) / (1 - np.minimum(leverage, 0.5))

    if t.grouped is not None:
        covariance = _covariance_of_clusters(t.grouped, direction, residuals)
        return reference_of(t, covariance)

    squares = t.squares[0] * residuals[0] ** 2 + t.squares[1] * residuals[1] ** 2
    # I^-1 (sum of x r^2 x') I^-1, with direction x' I^-1
    covariance = (direction * squares[:, None]).T @ direction
    return reference_of(t, covariance)


def _covariance_of_clusters(
    clusters: Clusters, direction: Floats, residuals: Floats
) -> Floats:
    """Return the sandwich covariance from the total score of each cluster."""
    # a cell holds the cases of one cluster at one row
    negatives, positives = clusters.counts[:2]
    residual_of_cell = (
        negatives * residuals[0, clusters.row] + positives * residuals[1, clusters.row]
    )
    scores = direction[clusters.row] * residual_of_cell[:, None]

    # cases of a cluster are added up before squares are taken
    totals = np.column_stack([clusters.per_cluster(column) for column in scores.T])
    correction = clusters.number / max(clusters.number - 1, 1)
    return np.asarray(correction * totals.T @ totals)


def logistic_error_variance(
    reference: Reference | None, columns: Sequence[Floats], by_log_odds: Floats
) -> float:
    """Return the variance of a value that is due to the error of a logistic curve."""
    if reference is None:
        return math.nan

    # delta method: the value by the intercept, then by each slope
    by_slopes = [by_log_odds @ column for column in columns]
    derivative = np.array([by_log_odds.sum(), *by_slopes])
    return float(derivative @ reference.covariance @ derivative)


def logistic_error_draws(
    reference: Reference | None,
    columns: Sequence[Floats],
    n_draws: int,
    rng: np.random.Generator,
) -> Floats | None:
    """Return errors (n_draws, m) of the log odds of a logistic curve."""
    if reference is None:
        return None
    errors = draw_normal_errors(reference.covariance, n_draws, rng)
    design = np.stack([np.ones(len(columns[0])), *columns])
    return np.asarray(errors @ design)


def draw_normal_errors(
    covariance: Floats, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Return normal errors (n_draws, parameters) with this covariance."""
    return rng.multivariate_normal(np.zeros(len(covariance)), covariance, n_draws)
