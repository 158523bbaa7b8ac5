"""Where is a posterior, when it may have several modes, ridges and corners?

A cloud of points is drawn from the prior and carried to the posterior while the
likelihood is turned on slowly (heat 0 to 1): at each step the points are resampled by
their weights and moved by Metropolis steps along differences of other points, which
follow whatever shape the cloud has. Nothing has to be exact here: the cloud only tells
importance sampling where to propose.

Del Moral, Doucet, Jasra 2006, J. R. Stat. Soc. B 68:411,
doi:10.1111/j.1467-9868.2006.00553.x (the path); ter Braak 2006, Stat. Comput. 16:239,
doi:10.1007/s11222-006-8769-1 (the moves).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.progress import progress
from trueness.nogold.sampling.products import dot

Rng = np.random.Generator
# share of the cloud that must stay effective when the heat rises
STEP_SHARE = 0.5
MOST_LEVELS = 300
# heat from which on points belong to the wide cloud
WIDE = 0.15
# accepted moves that each point should make at a level, and steps tried for them
MOVES, MOST_STEPS = 4.0, 40


class Target(Protocol):
    """What a posterior must offer to be sampled."""

    @property
    def dim(self) -> int:
        """How many coordinates?"""

    def prior_draws(self, n: int, rng: Rng) -> Floats:
        """Draw from the prior."""

    def log_prior(self, theta: Floats) -> Floats:
        """Give the log density of the prior."""

    def log_densities(self, theta: Floats) -> tuple[Floats, Floats]:
        """Give the log density of the prior and the log likelihood."""


class Cloud(NamedTuple):
    """Points with their log prior and log likelihood."""

    theta: Floats
    prior: Floats
    likelihood: Floats


def kish(log_weight: Floats) -> float:
    """How many equal weights are these worth? (Kish)

    >>> kish(np.log([1.0, 1.0, 1e-300])) == 2.0
    True
    """
    w = np.exp(log_weight - log_weight.max())
    return float(w.sum() ** 2 / dot(w, w))


def carry(target: Target, rng: Rng) -> tuple[Floats, Floats]:
    """Carry a cloud from the prior to the posterior.

    Also gives the points on the last part of the way, which lie wider.
    """
    n = 400 + 60 * target.dim
    cloud = _cloud(target.prior_draws(n, rng), target)
    heat, path = 0.0, [(0.0, cloud.theta)]
    with progress("From prior to posterior", 1, unit="") as came_by:
        while heat < 1 and len(path) < MOST_LEVELS:
            heat, before = _next_heat(heat, cloud.likelihood), heat
            chosen = resample((heat - before) * cloud.likelihood, n, rng)
            cloud = Cloud(*(column[chosen] for column in cloud))
            cloud = _move(cloud, heat, target, rng)
            path.append((heat, cloud.theta))
            came_by(heat - before)
    wide = [theta for h, theta in path[:-1] if h > WIDE] or [path[-2][1]]
    more = [_move(cloud, heat, target, rng).theta for _ in range(3)]
    return np.concatenate([cloud.theta, *more]), np.concatenate(wide)


def _cloud(theta: Floats, target: Target) -> Cloud:
    return Cloud(theta, *target.log_densities(theta))


def _next_heat(heat: float, likelihood: Floats) -> float:
    """How far may the likelihood be turned up before too few points count?"""
    least = STEP_SHARE * likelihood.size
    low, high = 0.0, 1.0 - heat
    if kish(high * likelihood) >= least:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if kish(middle * likelihood) >= least:
            low = middle
        else:
            high = middle
    return heat + low


def resample(log_weight: Floats, n: int, rng: Rng) -> np.ndarray:
    """Choose n points by their weights, systematically: least extra noise."""
    w = np.exp(log_weight - log_weight.max())
    edges = np.cumsum(w) / w.sum()
    even = (rng.random() + np.arange(n)) / n
    return np.asarray(np.minimum(np.searchsorted(edges, even), w.size - 1))


def _move(cloud: Cloud, heat: float, target: Target, rng: Rng) -> Cloud:
    others = cloud.theta
    n, d = others.shape
    moved, size = 0.0, 2.38 / np.sqrt(2 * d)
    for _ in range(MOST_STEPS):
        a, b = rng.integers(n, size=(2, n))
        # one in ten jumps the whole difference: from mode to mode
        scale = np.where(rng.random(n) < 0.1, 1.0, size * rng.exponential(size=n))
        noise = 1e-6 * rng.standard_normal((n, d))
        there = cloud.theta + scale[:, None] * (others[a] - others[b]) + noise
        new = _cloud(there, target)
        gain = new.prior - cloud.prior + heat * (new.likelihood - cloud.likelihood)
        accept = np.log(rng.random(n)) < gain
        cloud = Cloud(
            np.where(accept[:, None], new.theta, cloud.theta),
            np.where(accept, new.prior, cloud.prior),
            np.where(accept, new.likelihood, cloud.likelihood),
        )
        moved += accept.mean()
        if moved >= MOVES:
            break
    return cloud
