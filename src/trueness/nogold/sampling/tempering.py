"""Where is a posterior, when it may have several modes, ridges and corners?

Sequential Monte Carlo. Particles are drawn from the prior and moved to the posterior
while the likelihood is raised to a power, the (inverse) temperature, that grows from 0
to 1: at each step the particles are resampled by their weights and moved by Metropolis
steps along differences of other particles, which follow whatever shape they have.
Nothing has to be exact here: the particles only tell importance sampling where to
propose.

Del Moral, Doucet, Jasra 2006, J. R. Stat. Soc. B 68:411,
doi:10.1111/j.1467-9868.2006.00553.x (the path); ter Braak 2006, Stat. Comput. 16:239,
doi:10.1007/s11222-006-8769-1 (the moves).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.progress import progress
from trueness._core.search import edge
from trueness.nogold.sampling.products import dot

Rng = np.random.Generator
# share of the particles that must stay effective when the temperature rises
STEP_SHARE = 0.5
MOST_LEVELS = 300
# temperature from which on particles count as the wide ones
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


class Particles(NamedTuple):
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


def anneal(
    target: Target, rng: Rng, moves: float = MOVES, most_steps: int = MOST_STEPS
) -> tuple[Floats, Floats]:
    """Move particles from the prior to the posterior.

    Also gives those of the last part of the way, which lie wider.
    """
    n, effort = 400 + 60 * target.dim, (moves, most_steps)
    particles = _particles(target.prior_draws(n, rng), target)
    temperature, path = 0.0, [(0.0, particles.theta)]
    with progress("From prior to posterior", 1, unit="") as came_by:
        while temperature < 1 and len(path) < MOST_LEVELS:
            temperature, before = (
                _next_temperature(temperature, particles.likelihood),
                temperature,
            )
            # a particle of one temperature, weighted for the next: the likelihood is
            # raised to the power by which the temperature rose
            chosen = resample((temperature - before) * particles.likelihood, n, rng)
            particles = Particles(*(column[chosen] for column in particles))
            particles = _move(particles, temperature, target, rng, effort)
            path.append((temperature, particles.theta))
            came_by(temperature - before)
    wide = [theta for h, theta in path[:-1] if h > WIDE] or [path[-2][1]]
    more = [_move(particles, temperature, target, rng, effort).theta for _ in range(3)]
    return np.concatenate([particles.theta, *more]), np.concatenate(wide)


def _particles(theta: Floats, target: Target) -> Particles:
    return Particles(theta, *target.log_densities(theta))


def _next_temperature(temperature: float, likelihood: Floats) -> float:
    """How far may the likelihood be turned up before too few points count?"""
    least = STEP_SHARE * likelihood.size
    rest = 1.0 - temperature
    step = edge(lambda more: kish(more * likelihood) >= least, 0.0, rest)
    return 1.0 if step == rest else temperature + float(step)


def resample(log_weight: Floats, n: int, rng: Rng) -> np.ndarray:
    """Choose n points by their weights, systematically: least extra noise."""
    w = np.exp(log_weight - log_weight.max())
    edges = np.cumsum(w) / w.sum()
    even = (rng.random() + np.arange(n)) / n
    return np.asarray(np.minimum(np.searchsorted(edges, even), w.size - 1))


def _move(
    particles: Particles,
    temperature: float,
    target: Target,
    rng: Rng,
    effort: tuple[float, int],
) -> Particles:
    others = particles.theta
    n, d = others.shape
    moved, size = 0.0, 2.38 / np.sqrt(2 * d)
    for _ in range(effort[1]):
        a, b = rng.integers(n, size=(2, n))
        # one in ten jumps the whole difference: from mode to mode
        scale = np.where(rng.random(n) < 0.1, 1.0, size * rng.exponential(size=n))
        noise = 1e-6 * rng.standard_normal((n, d))
        there = particles.theta + scale[:, None] * (others[a] - others[b]) + noise
        new = _particles(there, target)
        gain = (
            new.prior
            - particles.prior
            + temperature * (new.likelihood - particles.likelihood)
        )
        # Metropolis: differences of particles are symmetric, so no density of proposals
        accept = np.log(rng.random(n)) < gain
        particles = Particles(
            np.where(accept[:, None], new.theta, particles.theta),
            np.where(accept, new.prior, particles.prior),
            np.where(accept, new.likelihood, particles.likelihood),
        )
        moved += accept.mean()
        if moved >= effort[0]:
            break
    return particles
