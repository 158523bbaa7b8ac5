r"""What do two tests of the same cases say, however many cases there are?

Two tests have three degrees of freedom and five parameters, so a large table pins the
parameters to a thin surface, on which the prior decides. With p_k the share of votes
for "positive" of test k, c the covariance of the votes, and d_k = alpha_k - beta_k,

.. math::

   d\phi\, d\alpha_1\, d\beta_1\, d\alpha_2\, d\beta_2
   = d\pi\; d(\operatorname{logit}\phi)\; d(\log d_1),
   \qquad c = \phi (1 - \phi) d_1 d_2,

where pi are the probabilities of the four patterns: the likelihood knows these only.
All rates lie between 0 and 1 when log d_1 lies in an interval whose length, as a
function of logit(phi), rises with slope 1 from 0 to H, is flat between the logits of
p_1 and p_2, which are W apart, and falls with slope 1; H = log(min p (1 - max p) / c).
So pi is drawn from its Dirichlet distribution, phi and d_1 exactly under uniform
priors, and the weight is H (H + W) times the density of the prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import expit, gammaln, logit

from trueness._core.arrays import Floats
from trueness.nogold.model import Independent, LatentRates
from trueness.nogold.sampling.importance import Weighted
from trueness.nogold.sampling.tempering import kish

Rng = np.random.Generator
PILOT = 2000  # proposals that tell the efficiency


def possible(model: Independent) -> bool:
    """Are there two tests, run on all cases of one population, without any label?"""
    patterns = model.patterns
    return (
        len(patterns.names) == 2
        and len(patterns.populations) == 1
        and model.prior.ordered
        and not np.isnan(patterns.rows).any()
        and not (patterns.pos.any() or patterns.neg.any())
    )


@final
@dataclass(frozen=True)
class Surface:
    """Proposals on the surface of two tests."""

    efficiency: float  # Kish effective draws per proposal

    def draws(self, n: int, target: Independent, rng: Rng) -> Weighted:
        """Propose n points and weigh them."""
        count = _counts(target)
        p11, p10, p01, _ = rng.dirichlet(count + 1, n).T
        p = np.column_stack([p11 + p10, p11 + p01])
        covariance = p11 - p[:, 0] * p[:, 1]
        valid = covariance > 0  # alpha >= beta for both: never a negative one
        c = np.where(valid, covariance, p.min(axis=1) * (1 - p.max(axis=1)) / 2)
        phi, d, volume = _on_the_surface(p, c, rng)
        theta = target.coordinates(LatentRates(phi, p + (1 - phi) * d, p - phi * d))
        x = target.logs(theta)
        # the density of the prior by the parameters themselves, not by coordinates
        base = target.log_prior(theta) - x.log_slope(ordered=True) + np.log(volume)
        evidence = gammaln(count + 1).sum() - gammaln((count + 1).sum())
        return Weighted(theta, np.where(valid, base, -np.inf), np.full(n, evidence))


def surface(model: Independent, rng: Rng) -> Surface:
    """How well would proposals on the surface do? 0 where there is none."""
    if not possible(model):
        return Surface(0.0)
    weight = Surface(0.0).draws(PILOT, model, rng).log_weight
    return Surface(kish(weight) / PILOT if np.isfinite(weight).any() else 0.0)


def _counts(model: Independent) -> Floats:
    """Give the counts of 11, 10, 01 and 00."""
    at = (
        2 * (model.patterns.rows[:, 0] == 0) + (model.patterns.rows[:, 1] == 0)
    ).astype(int)
    return np.asarray(np.bincount(at, model.patterns.unknown[0], minlength=4))


def _on_the_surface(p: Floats, c: Floats, rng: Rng) -> tuple[Floats, Floats, Floats]:
    """Draw phi and both differences, and give the volume of what is possible."""
    low, high = p.min(axis=1), p.max(axis=1)
    top = np.log(low) + np.log1p(-high) - np.log(c)
    flat = logit(high) - logit(low)
    t = logit(low) - top + _trapezoid(top, flat, rng)
    phi = expit(t)[:, None]
    most = np.minimum(p / phi, (1 - p) / (1 - phi))  # d_k at which a rate is 0 or 1
    least = c / (phi[:, 0] * (1 - phi[:, 0]) * most[:, 1])
    d1 = least * (most[:, 0] / least) ** rng.random(len(p))
    d2 = c / (phi[:, 0] * (1 - phi[:, 0]) * d1)
    return phi, np.column_stack([d1, d2]), top * (top + flat)


def _trapezoid(top: Floats, flat: Floats, rng: Rng) -> Floats:
    """Draw from a density that rises to ``top`` with slope 1, is flat, and falls."""
    # the sum of two uniform variables, of lengths top and top + flat, has that density
    u, v = rng.random((2, top.size))
    return np.asarray(u * top + v * (top + flat))
