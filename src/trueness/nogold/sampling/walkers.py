"""What if importance weights are too uneven, and there is no Gibbs sampler?

Many Metropolis chains abreast, from particles that are in the posterior already. Most
steps go along the difference of two of those particles, scaled, in all or in some of
the coordinates (ter Braak 2006, Stat. Comput. 16:239, doi:10.1007/s11222-006-8769-1;
the particles are fixed, so each chain is a Markov chain of its own). Every fifth step
is a jump to a proposal of importance sampling, which mixes between modes.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.progress import steps as shown_steps
from trueness.nogold.sampling.importance import Proposal
from trueness.nogold.sampling.tempering import Target

Rng = np.random.Generator
# one step in so many is a jump
JUMP_EVERY = 5
# share of the coordinates that a partial step changes
PARTIAL = 0.3


def run(
    target: Target,
    start: Floats,
    steps: int,
    particles: Floats,
    proposal: Proposal,
    rng: Rng,
) -> Floats:
    """Give coordinates after each step, shape (walkers, steps, parameters)."""
    theta, density = start, _density(target, start)
    out = np.empty((len(start), steps, start.shape[1]))
    for i in shown_steps(range(steps), "Sampling", unit="steps"):
        if i % JUMP_EVERY == 0:
            there, gain = proposal.jump(theta, target, rng)
            above = _density(target, there)
        else:
            there = theta + _step(theta.shape, particles, rng)
            above = _density(target, there)
            gain = above - density
        accept = np.log(rng.random(len(theta))) < gain
        theta = np.where(accept[:, None], there, theta)
        density = np.where(accept, above, density)
        out[:, i] = theta
    return out


def _density(target: Target, theta: Floats) -> Floats:
    prior, likelihood = target.log_densities(theta)
    return prior + likelihood


def _step(shape: tuple[int, ...], particles: Floats, rng: Rng) -> Floats:
    """Scale the difference of two particles; with a noise all points are possible."""
    n, d = shape
    a, b = rng.integers(len(particles), size=(2, n))
    some = rng.random((n, d)) < np.where(rng.random((n, 1)) < 0.5, PARTIAL, 1.0)
    size = 2.38 / np.sqrt(2 * np.maximum(some.sum(axis=1), 1))
    # one in ten goes the whole difference: from mode to mode
    size = np.where(rng.random(n) < 0.1, 1.0, size * rng.exponential(size=n))
    step = np.where(some, size[:, None] * (particles[a] - particles[b]), 0.0)
    return np.asarray(step + 1e-6 * rng.standard_normal((n, d)))
