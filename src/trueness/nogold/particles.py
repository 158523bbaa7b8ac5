"""How do weighted points become points of equal weight?

``temper`` moves particles from an easy distribution to a hard one (Del Moral, Doucet,
Jasra 2006, doi:10.1111/j.1467-9868.2006.00553.x).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
from scipy.special import logsumexp

from trueness._core.arrays import Array, Floats
from trueness._core.progress import progress
from trueness._core.solvers import bisect

Rng = np.random.Generator
# proportion of the particles that stay effective when t rises (Del Moral et al. 2006)
EFFECTIVE_PROPORTION = 0.5
MAX_LEVELS = 300  # of t: 10^10 cases take about 60


def effective_number(log_weight: Floats) -> float:
    """Return the effective number of equal weights (Kish 1965)."""
    weight = np.exp(log_weight - log_weight.max())
    return float(weight.sum() ** 2 / (weight * weight).sum())


def resample(log_weight: Floats, n_points: int, rng: Rng) -> Array:
    """Return points chosen by their weights; systematic sampling adds least noise."""
    weight = np.exp(log_weight - log_weight.max())
    upper_ends = np.cumsum(weight) / weight.sum()
    # one random shift for all: stratified places from 0 to 1 (Kitagawa 1996)
    even_places = (rng.random() + np.arange(n_points)) / n_points
    chosen = np.searchsorted(upper_ends, even_places)
    return np.asarray(np.minimum(chosen, weight.size - 1))


def truncate_weights(log_weight: Floats) -> Floats:
    """Return weights of N points, none above root N times their mean (Ionides 2008)."""
    n_points = log_weight.size
    log_mean = logsumexp(log_weight) - np.log(n_points)
    return np.asarray(np.minimum(log_weight, log_mean + np.log(n_points) / 2))


class ParticleState(Protocol):
    """Points, with what is known of the target there."""

    def take(self: State, rows: Array) -> State:
        """Return some of the particles, perhaps one of them twice."""


State = TypeVar("State", bound=ParticleState)


def temper(
    title: str,
    particles: State,
    *,
    log_ratio: Callable[[State], Floats],
    move: Callable[[State, float], State],
    rng: Rng,
) -> State:
    """Return particles that were moved from a first distribution to the target.

    ``log_ratio`` is that of the target to the first distribution, which is multiplied
    by the ratio to the power t. As t rises from 0 to 1, no faster than enough particles
    count, ``move`` lets them follow.
    """
    t = 0.0
    with progress(title, 1, unit="") as advance:
        for _ in range(MAX_LEVELS):
            log_ratios = log_ratio(particles)
            # as far as half of the particles stay effective
            step = _largest_step(log_ratios, 1.0 - t)
            t = 1.0 if step == 1.0 - t else t + step

            # a particle of one t, weighted for the next: the ratio to the power by
            # which t rose
            rows = resample(step * log_ratios, log_ratios.size, rng)
            particles = move(particles.take(rows), t)

            advance(step)
            if t == 1.0:
                break

    return particles


def _largest_step(log_ratios: Floats, remaining: float) -> float:
    """Return by how much t may rise while enough particles stay effective."""
    enough = EFFECTIVE_PROPORTION * log_ratios.size
    return float(
        bisect(
            lambda step: effective_number(step * log_ratios) >= enough, 0.0, remaining
        )
    )
