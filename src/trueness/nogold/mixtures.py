"""Which mixture of distributions follows a cloud of points?

The proposals of ``sampling`` come from such mixtures: normal components that are fitted
by expectation and maximisation, and stretched to Student t when points are drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from trueness._core.arrays import Array, Floats
from trueness._core.progress import stop_if_requested

Rng = np.random.Generator
# None of these changes what is drawn: weights and Metropolis steps are right for any
# proposal. They say how much time is spent on a good one
COMPONENTS = 4  # of a fitted mixture: two modes, each with a bend
EM_STEPS = 6
# of the proposals: heavier tails than the normal ones of the prior, which bound the
# weights, and still with a kurtosis
DEGREES_OF_FREEDOM = 8.0
TINY = 1e-300  # a weight below it has no logarithm


class Mixture(NamedTuple):
    """Normal components: weights, means, roots of covariances and their inverses."""

    weight: Floats  # (G,)
    mean: Floats  # (G, d)
    root: Floats  # (G, d, d)
    inverse_root: Floats  # (G, d, d)


class Density(NamedTuple):
    """Density of a mixture at n points, and the part of each of G components."""

    log_density: Floats  # (n,)
    membership: Floats  # (G, n), the probability that a point is of a component
    squared_distance: Floats  # (G, n), in units of the component


def log_standard_normal(points: Floats) -> Floats:
    """Return the log density of the standard normal distribution at rows, (n,)."""
    dimension = points.shape[1]
    exponent = -(points**2).sum(axis=1) / 2
    return np.asarray(exponent - dimension * np.log(2 * np.pi) / 2)


def regular_covariance(points: Floats) -> Floats:
    """Return the covariance of rows, with a diagonal that is a little larger."""
    covariance = np.atleast_2d(np.cov(points.T))
    # correlations of 1, as of a particle that was chosen again and again, have no root
    extra = 1e-9 * np.diag(covariance) + 1e-16
    return np.asarray(covariance + np.diag(extra))


def fit_mixture(points: Floats, rng: Rng) -> Mixture:
    """Return a mixture of normals, fitted by steps of expectation and maximisation."""
    center = points.mean(axis=0)
    root = np.linalg.cholesky(regular_covariance(points))
    inverse_root = np.linalg.inv(root)
    whitened = (points - center) @ inverse_root.T

    # each point belongs to one component first
    membership = _nearest_center(whitened, _spread_centers(whitened, rng))
    for _ in range(EM_STEPS):
        stop_if_requested()
        mixture = _maximize(whitened, membership)
        membership = mixture_density(mixture, whitened, np.inf).membership

    return Mixture(
        weight=mixture.weight,
        mean=center + mixture.mean @ root.T,
        root=root @ mixture.root,
        inverse_root=mixture.inverse_root @ inverse_root,
    )


def _spread_centers(points: Floats, rng: Rng) -> list[Floats]:
    """Choose a few points that are far from each other (k-means++)."""
    centers = [points[rng.integers(len(points))]]
    for _ in range(COMPONENTS - 1):
        # far points are chosen with a probability as their squared distance
        distance = np.min(_squared_distances(points, centers), axis=0) + 1e-12
        centers.append(points[rng.choice(len(points), p=distance / distance.sum())])
    return centers


def _nearest_center(points: Floats, centers: list[Floats]) -> Floats:
    """Return 1 where a point belongs to its nearest center, and 0 elsewhere, (G, n)."""
    nearest = np.argmin(_squared_distances(points, centers), axis=0)
    return np.asarray(np.eye(COMPONENTS)[nearest].T)


def _squared_distances(points: Floats, centers: list[Floats]) -> list[Floats]:
    return [((points - center) ** 2).sum(axis=1) for center in centers]


def _maximize(whitened: Floats, membership: Floats) -> Mixture:
    """Return the components that whitened points have, by their memberships (G, n).

    A covariance leans on that of all points by d + 2 cases (the conjugate prior of
    Fraley and Raftery 2007), so that none is singular.
    """
    dimension = whitened.shape[1]
    cases = membership.sum(axis=1) + 1e-9
    mean = membership @ whitened / cases[:, None]
    prior_scale = COMPONENTS ** (-2 / dimension) * np.eye(dimension)

    root = np.empty((COMPONENTS, dimension, dimension))
    for k in range(COMPONENTS):
        deviation = whitened - mean[k]
        # the sum of squares of the component, and that of the prior
        scatter = (deviation * membership[k][:, None]).T @ deviation + prior_scale
        root[k] = np.linalg.cholesky(scatter / (cases[k] + 2 * dimension + 4))

    return Mixture(
        weight=cases / cases.sum(),
        mean=mean,
        root=root,
        inverse_root=np.asarray(np.linalg.inv(root)),
    )


def draw_from_mixture(mixture: Mixture, n_points: int, rng: Rng) -> Floats:
    """Draw points, (n_points, d), from the components, stretched to Student t."""
    dimension = mixture.mean.shape[1]
    ends = np.cumsum(rng.multinomial(n_points, mixture.weight))
    chi_square = rng.chisquare(DEGREES_OF_FREEDOM, (n_points, 1))
    stretch = np.sqrt(DEGREES_OF_FREEDOM / chi_square)
    points = rng.standard_normal((n_points, dimension)) * stretch

    of_component = np.split(points, ends[:-1])  # views, so that points are changed
    for part, mean, root in zip(of_component, mixture.mean, mixture.root, strict=True):
        part[:] = mean + part @ root.T

    return np.asarray(rng.permutation(points))


def mixture_density(
    mixture: Mixture, points: Floats, degrees: float = DEGREES_OF_FREEDOM
) -> Density:
    """Return the density of Student t components, or of normals (infinite degrees)."""
    dimension = points.shape[1]
    squares = [
        (((points - mean) @ inverse_root.T) ** 2).sum(axis=1)
        for mean, inverse_root in zip(mixture.mean, mixture.inverse_root, strict=True)
    ]
    square = np.stack(squares)

    if np.isinf(degrees):
        height = -square / 2 - dimension * np.log(2 * np.pi) / 2
    else:
        height = -(degrees + dimension) / 2 * np.log1p(square / degrees)
        height += gammaln((degrees + dimension) / 2) - gammaln(degrees / 2)
        height -= dimension / 2 * np.log(degrees * np.pi)

    diagonal = np.diagonal(mixture.root, axis1=1, axis2=2)
    # the determinant of a triangular root is the product of its diagonal
    log_determinant = np.log(diagonal).sum(axis=1)
    height += (np.log(np.maximum(mixture.weight, TINY)) - log_determinant)[:, None]

    # exponentials of differences to the highest component do not overflow
    top = height.max(axis=0)
    relative = np.exp(height - top)
    total = relative.sum(axis=0)

    return Density(
        log_density=top + np.log(total),
        membership=relative / total,
        squared_distance=square,
    )


def choose_component(membership: Floats, rng: Rng) -> Array:
    """Draw a component of each point by its memberships (G, n)."""
    below = np.cumsum(membership, axis=0) < rng.random(membership.shape[1])
    # a sum of memberships may end below 1 by rounding
    return np.asarray(np.minimum(below.sum(axis=0), len(membership) - 1))
