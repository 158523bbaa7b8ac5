"""Where is the posterior of shared errors, a long curved ridge?

Prevalence and spreads are *held* at the place of a particle, and each particle carries
the most probable accuracies, which are *free*, with their information (Laplace's
approximation; Rue, Martino, Chopin 2009, doi:10.1111/j.1467-9868.2008.00700.x).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.progress import stop_if_requested
from trueness.nogold.mixtures import Mixture, log_standard_normal, regular_covariance
from trueness.nogold.model import LatentModel
from trueness.nogold.particles import temper

Rng = np.random.Generator
# None of these changes what is drawn: they say how much time a good proposal takes
PARTICLES = 96  # in the 3 dimensions of the ridge, four to five a dimension
DIFFERENCE = 1e-4  # of a numerical slope: rounding and curvature both add 1e-8
FARTHEST = 6.5  # place of a climb: Phi(-6.5) is 4e-11, one in 10^10 cases
LONGEST_STEP = 1.5  # of a climb, in any coordinate
LEAST_GAIN = 0.02  # expected of a step: a hundredth of a log unit is no reason to climb


class Peaks(NamedTuple):
    """The most probable free coordinates of n particles."""

    place: Floats  # (n, d)
    log_density: Floats  # (n,)
    information: Floats  # (n, d, d)

    def take(self, rows: Array) -> Peaks:
        """Return some of the particles, perhaps one of them twice."""
        return Peaks(self.place[rows], self.log_density[rows], self.information[rows])


class Coordinates(NamedTuple):
    """Coordinates that are held fixed, and those that are free in a maximisation."""

    held: Array
    free: Array

    @property
    def free_block(self) -> tuple[Array, Array]:
        """Return the index of the rows and columns of free coordinates."""
        return self.free[:, None], self.free

    @property
    def mixed_block(self) -> tuple[Array, Array]:
        """Return the index of the rows of free and the columns of held coordinates."""
        return self.free[:, None], self.held

    def log_prior_of_held(self, peaks: Peaks) -> Floats:
        """Return the log density a priori of what is held, (n,)."""
        return log_standard_normal(peaks.place[:, self.held])


def ridge_mixture(model: LatentModel, start: Floats, rng: Rng) -> Mixture:
    """Return a mixture that follows the ridge, with a component at every particle.

    ``start`` is the mean of the coordinates when errors are independent.
    """
    dimension = model.dim
    populations = len(model.patterns.populations)
    # the prevalences come first and the two spreads last; accuracies lie between
    first_spread = dimension - 2
    coordinates = Coordinates(
        held=np.r_[np.arange(populations), first_spread, dimension - 1],
        free=np.arange(populations, first_spread),
    )

    # no accuracy starts in a tail of its prior; what is held is drawn from its prior
    place = np.zeros((PARTICLES, dimension))
    place[:, : start.size] = np.clip(start, -3, 3)
    place[:, coordinates.held] = rng.standard_normal((PARTICLES, coordinates.held.size))

    def log_ratio(peaks: Peaks) -> Floats:
        laplace = laplace_density(peaks, coordinates.free)
        return laplace - coordinates.log_prior_of_held(peaks)

    peaks = temper(
        "Along the ridge of shared errors",
        climb(model, place, coordinates.free, steps=12),
        log_ratio=log_ratio,
        move=lambda peaks, t: _walk(model, peaks, coordinates, t, rng),
        rng=rng,
    )

    return _mixture_at(peaks, coordinates)


def _walk(
    model: LatentModel, peaks: Peaks, coordinates: Coordinates, t: float, rng: Rng
) -> Peaks:
    """Return peaks after a Metropolis step in the held coordinates."""
    held, free = coordinates
    root = np.linalg.cholesky(regular_covariance(peaks.place[:, held]))
    step = rng.standard_normal((PARTICLES, held.size)) @ root.T
    # n: particles, a: free and h: held coordinates
    following = np.einsum("nah,nh->na", _slope_along(peaks, coordinates), step)

    place = peaks.place.copy()
    place[:, held] += step
    place[:, free] += np.clip(following, -2, 2)
    proposed = climb(model, np.clip(place, -FARTHEST, FARTHEST), free, steps=4)

    gain_of_target = laplace_density(proposed, free) - laplace_density(peaks, free)
    prior_of_proposed = coordinates.log_prior_of_held(proposed)
    gain_of_prior = prior_of_proposed - coordinates.log_prior_of_held(peaks)

    # tempering goes from the prior, t = 0, to the target, t = 1
    gain = t * gain_of_target
    gain += (1 - t) * gain_of_prior

    accepted = np.log(rng.random(PARTICLES)) < gain
    return Peaks(
        np.where(accepted[:, None], proposed.place, peaks.place),
        np.where(accepted, proposed.log_density, peaks.log_density),
        np.where(accepted[:, None, None], proposed.information, peaks.information),
    )


def _mixture_at(peaks: Peaks, coordinates: Coordinates) -> Mixture:
    """Return a component at each peak, as wide as a kernel along what is held."""
    held, free = coordinates
    n_peaks, dimension = peaks.place.shape
    # Silverman's rule, squared for a covariance
    squared_width = (4 / (held.size + 2) / n_peaks) ** (2 / (held.size + 4))
    kernel = regular_covariance(peaks.place[:, held]) * squared_width

    # the free coordinates follow the held ones, and vary around that line
    slope = _slope_along(peaks, coordinates)
    across = slope @ kernel
    around_line = np.linalg.inv(peaks.information[:, *coordinates.free_block])

    covariance = np.empty((n_peaks, dimension, dimension))
    covariance[:, held[:, None], held] = kernel
    covariance[:, *coordinates.mixed_block] = across
    covariance[:, held[:, None], free] = across.swapaxes(1, 2)
    covariance[:, *coordinates.free_block] = around_line + across @ slope.swapaxes(1, 2)

    root = np.asarray(np.linalg.cholesky(covariance))
    return Mixture(
        weight=np.full(n_peaks, 1 / n_peaks),
        mean=peaks.place,
        root=root,
        inverse_root=np.asarray(np.linalg.inv(root)),
    )


def _slope_along(peaks: Peaks, coordinates: Coordinates) -> Floats:
    """Return the slopes of the accuracies by what is held, (n, free, held)."""
    of_free = peaks.information[:, *coordinates.free_block]
    of_both = peaks.information[:, *coordinates.mixed_block]
    # implicit function theorem: where the gradient stays 0
    return np.asarray(-np.linalg.solve(of_free, of_both))


def laplace_density(peaks: Peaks, free: Array) -> Floats:
    """Return the log density of what is held, the rest integrated by Laplace, (n,)."""
    of_free = peaks.information[:, free[:, None], free]
    # Laplace: the integral of a normal density with this information
    log_determinant = np.linalg.slogdet(of_free)[1]
    normal_constant = free.size / 2 * np.log(2 * np.pi)
    return np.asarray(peaks.log_density - log_determinant / 2 + normal_constant)


def climb(model: LatentModel, place: Floats, free: Array, *, steps: int) -> Peaks:
    """Climb to the most probable free coordinates.

    Fisher's scoring, damped as Marquardt does.
    """
    place = place.copy()
    damping = np.full(len(place), 1e-3)
    log_density, gradient, information = _derivatives(model, place)

    for _ in range(steps):
        stop_if_requested()
        step = _damped_step(
            information[:, free[:, None], free], gradient[:, free], damping
        )
        # the expected gain of a step is its product with the gradient
        climbing = np.flatnonzero((step * gradient[:, free]).sum(axis=1) > LEAST_GAIN)
        if not climbing.size:
            break

        proposed = place[climbing]
        moved = proposed[:, free] + step[climbing]
        proposed[:, free] = np.clip(moved, -FARTHEST, FARTHEST)
        new_density, new_gradient, new_information = _derivatives(model, proposed)

        higher = new_density > log_density[climbing]
        risen = climbing[higher]
        place[risen] = proposed[higher]
        log_density[risen] = new_density[higher]
        gradient[risen] = new_gradient[higher]
        information[risen] = new_information[higher]

        # a step that led up may be longer next time, one that led down must be shorter
        failed = climbing[~higher]
        damping[risen] = damping[risen] / 4
        damping[failed] = np.maximum(8 * damping[failed], 0.05)

    return Peaks(place, log_density, information)


def _damped_step(information: Floats, gradient: Floats, damping: Floats) -> Floats:
    """Return (I + damping diag I)^-1 gradient, of no more than the longest step."""
    diagonal = np.einsum("nii->ni", information)
    damped_diagonal = damping[:, None, None] * diagonal[:, :, None]
    identity = np.eye(information.shape[-1])

    # Marquardt (1963): the more of the diagonal, the shorter the step
    matrix = information + damped_diagonal * identity
    step = np.linalg.solve(matrix, gradient[..., None])[..., 0]

    length = np.abs(step).max(axis=1)
    shortening = np.minimum(1, LONGEST_STEP / np.maximum(length, 1e-9))
    step *= shortening[:, None]
    return np.asarray(step)


def _derivatives(model: LatentModel, place: Floats) -> tuple[Floats, Floats, Floats]:
    """Return log density, gradient and information, by numerical slopes.

    The information weighs a cell by its cases, half observed and half expected ones.
    """
    dimension = place.shape[1]
    at_place, slope_of_prior, slope_of_cells = _prior_and_cells(model, place)
    log_prior, log_cells = at_place

    _, counts, total = model.patterns.cells
    log_likelihood = log_cells @ counts
    log_density = log_prior + log_likelihood + log_standard_normal(place)
    # the last term is the slope of the normal density of the coordinates
    gradient = slope_of_cells @ counts + slope_of_prior - place

    weight = (counts + total * np.exp(log_cells)) / 2
    weighted_slope = slope_of_cells * weight[:, None]
    information = weighted_slope @ slope_of_cells.swapaxes(1, 2) + np.eye(dimension)

    return log_density, gradient, information


def _prior_and_cells(
    model: LatentModel, place: Floats
) -> tuple[tuple[Floats, Floats], Floats, Floats]:
    """Return log prior and log P of cells at each place, and the slopes of both."""
    n_places, dimension = place.shape
    # each place, and behind it one that is a little off in each coordinate
    nearby = place[:, None] + DIFFERENCE * np.eye(dimension)
    points = np.concatenate([place[:, None], nearby], axis=1)

    flat_log_prior, flat_log_cells = model.log_cells(points.reshape(-1, dimension))
    log_prior = flat_log_prior.reshape(n_places, dimension + 1)
    log_cells = flat_log_cells.reshape(n_places, dimension + 1, -1)
    at_place = (log_prior[:, 0], log_cells[:, 0])

    slope_of_prior = (log_prior[:, 1:] - log_prior[:, :1]) / DIFFERENCE
    slope_of_cells = (log_cells[:, 1:] - log_cells[:, :1]) / DIFFERENCE
    return at_place, slope_of_prior, slope_of_cells
