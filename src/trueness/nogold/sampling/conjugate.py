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
from trueness.nogold.model import Betas, Independent, LatentRates, draw_rates
from trueness.nogold.sampling.importance import log_sum
from trueness.nogold.sampling.ordered_betas import order_mass
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
    """A mixture of products of Beta distributions."""

    betas: Betas  # (2, components, size) each
    ordered: bool
    share: float = 0.5  # of all proposals; the rest are Student t

    def draws(self, n: int, target: Independent, rng: Rng) -> Floats:
        """Draw n points."""
        at = rng.integers(COMPONENTS, size=n)
        rates = draw_rates(tuple(ab[:, at] for ab in self.betas), self.ordered, rng)
        return target.coordinates(rates)

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
        powers = np.hstack([part for ab in self.betas for part in ab]).T - 1
        norm = sum(betaln(*ab).sum(axis=1) for ab in self.betas)
        if self.ordered:
            _, alpha, beta = self.betas
            norm = norm + np.log(order_mass(*alpha, *beta)).sum(axis=1)
        return powers, norm + np.log(COMPONENTS)


def component(
    particles: Floats, wide: Floats, model: Independent, rng: Rng
) -> Conjugate:
    """Fit components to particles and to wider ones, which cover ends of ridges."""
    return _components(_alternate(particles, wide, rng), model)


def _alternate(particles: Floats, wide: Floats, rng: Rng) -> Floats:
    """Take two particles, then one of the wider ones, and so on."""
    count = COMPONENTS - FROM_PRIOR
    a, b = (x[rng.permutation(len(x))] for x in (particles, wide))
    at = np.arange(count)
    return np.where(at[:, None] % 3 == 2, b[at % len(b)], a[at % len(a)])


def _components(points: Floats, model: Independent) -> Conjugate:
    """Turn points into Beta parameters by the counts that they imply."""
    patterns, prior = model.patterns, model.prior
    # how much the counts of each component weigh; those at the end are the prior
    flat = np.zeros((COMPONENTS, 1))
    flat[: len(points)] = np.resize(FLATTEN, (len(points), 1))
    points = np.resize(points, (COMPONENTS, points.shape[1]))
    counts = patterns.completed(patterns.unknown * model.latent_share(points))
    yes, no = (LatentRates(*(flat * count for count in each)) for each in counts)
    phi, alpha, beta = prior.updated(yes, no)
    if prior.ordered:  # counts that contradict the order: there the prior is better
        never = order_mass(*alpha, *beta) < LEAST_MASS
        alpha = np.where(never, alpha[:, -1:], alpha)
        beta = np.where(never, beta[:, -1:], beta)
    return Conjugate((phi, alpha, beta), prior.ordered)
