r"""Where should draws of a latent class model be proposed?

At the conditional distributions of the Gibbs sampler. Given how many positives hide in
each pattern all parameters are Beta (on the triangle, if ordered), and the posterior is
the average of these over the latent counts. So the proposal is that average over a few
hundred particles,

.. math::

   q(\theta) = \frac1C \sum_c p\bigl(\theta \mid f_c\, E[\text{counts} \mid
   \theta_c]\bigr)

with some components flattened (f < 1) and a few flattened to the prior (f = 0): the
weights are bounded and the tails are those of the posterior itself. It is at its best
where a mixture of Student t is at its worst, in weak data with many corners, and the
reverse: on long thin ridges. So both are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy.special import betaln

from trueness._core.arrays import Floats, blocks
from trueness.nogold.model import EDGE, Independent, order_mass
from trueness.nogold.sampling.gibbs import State, latent_share, to_theta, votes
from trueness.nogold.sampling.importance import log_sum
from trueness.nogold.sampling.ordered_betas import ordered_betas
from trueness.nogold.sampling.products import product

Rng = np.random.Generator
COMPONENTS = 300
# how far the counts of a component are taken at face value, in turns
FLATTEN = (1.0, 0.9, 1.0, 0.8, 1.0, 0.7, 0.5)
FROM_PRIOR = 20  # components
LEAST_MASS = 1e-100  # of a component in the right order


@final
@dataclass(frozen=True)
class Conjugate:
    """A mixture of products of Beta distributions; each array is (2, C, size)."""

    phi: Floats
    alpha: Floats
    beta: Floats
    ordered: bool
    share: float = 0.5  # of all proposals; the rest are Student t

    def draws(self, n: int, target: Independent, rng: Rng) -> Floats:
        """Draw n points."""
        at = rng.integers(self.phi.shape[1], size=n)
        phi = rng.beta(*self.phi[:, at])
        a, b, c, d = (*self.alpha[:, at], *self.beta[:, at])
        if self.ordered:
            alpha, beta = ordered_betas(a, b, c, d, rng=rng)
        else:
            alpha, beta = rng.beta(a, b), rng.beta(c, d)
        state = State(*(np.clip(x, EDGE, 1 - 2**-53) for x in (phi, alpha, beta)))
        return to_theta(target, state)

    def log_density(self, theta: Floats, target: Independent) -> Floats:
        """Give the log density."""
        powers, norm = self._powers
        parts = []
        for b in blocks(len(theta), 4096):
            x = target.logs(theta[b])
            log_q = log_sum(product(x.probabilities, powers) - norm)
            parts.append(log_q + x.log_slope(self.ordered))
        return np.concatenate(parts)

    @cached_property
    def _powers(self) -> tuple[Floats, Floats]:
        """Give the powers of every probability, and the log of each normalisation."""
        powers = np.hstack([*self.phi, *self.alpha, *self.beta]).T - 1
        norm = sum(betaln(*p).sum(axis=1) for p in (self.phi, self.alpha, self.beta))
        if self.ordered:
            norm = norm + np.log(order_mass(*self.alpha, *self.beta)).sum(axis=1)
        return powers, norm + np.log(self.phi.shape[1])


def component(
    particles: Floats, wide: Floats, model: Independent, rng: Rng
) -> Conjugate:
    """Fit components to particles and to wider ones, which cover ends of ridges."""
    return _components(_alternate(particles, wide, rng), model)


def _alternate(particles: Floats, wide: Floats, rng: Rng) -> Floats:
    """Take two particles, then one of the wider ones, and so on."""
    count = COMPONENTS - FROM_PRIOR
    a, b = (x[rng.permutation(len(x))] for x in (particles, wide))
    third = np.arange(count) % 3 == 2
    at = np.arange(count)[:, None]
    return np.where(third[:, None], b[at[:, 0] % len(b)], a[at[:, 0] % len(a)])


def _components(points: Floats, model: Independent) -> Conjugate:
    """Turn points into Beta parameters by the counts that they imply."""
    patterns, prior = model.patterns, model.prior
    count = COMPONENTS - FROM_PRIOR
    share = latent_share(model, points)
    flat = np.resize(FLATTEN, count)[:, None]
    pos = patterns.unknown * share + patterns.pos
    neg = patterns.unknown * (1 - share) + patterns.neg
    everywhere = pos.sum(axis=1), neg.sum(axis=1)
    pairs = (
        (prior.prevalence, pos.sum(axis=2), neg.sum(axis=2)),
        (prior.sensitivity, *votes(everywhere[0], patterns)),
        (
            prior.specificity[:, ::-1],
            *votes(everywhere[1], patterns),
        ),
    )
    parts = []
    for ab, yes, no in pairs:
        known = np.stack([ab[:, 0] + flat * yes, ab[:, 1] + flat * no])
        flat_prior = np.repeat(ab.T[:, None], FROM_PRIOR, axis=1)
        parts.append(np.concatenate([known, flat_prior], axis=1))
    phi, alpha, beta = parts
    if prior.ordered:  # counts that contradict the order: there the prior is better
        never = order_mass(*alpha, *beta) < LEAST_MASS
        alpha = np.where(never, alpha[:, -1:], alpha)
        beta = np.where(never, beta[:, -1:], beta)
    return Conjugate(phi, alpha, beta, prior.ordered)
