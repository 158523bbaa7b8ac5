"""What does the paper's own Markov chain say, run on patterns instead of cases?

Given the parameters, the number of positives among the cases that showed a pattern is
binomial; given these numbers, all parameters are Beta. So a sweep costs the number of
patterns, not of cases, and many chains run abreast. It is the chain of Keith, Davey,
Boyd (2012), with T_n summed within patterns, and mixes as badly as theirs does when
little is known about who is positive. Mixed with independence proposals (a jump a
sweep) it is the fallback where importance sampling alone is too thin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.progress import steps
from trueness.nogold.model import Independent, draw_rates

Rng = np.random.Generator


def sweep(model: Independent, theta: Floats, rng: Rng) -> Floats:
    """Draw the latent counts, then every parameter."""
    patterns, prior = model.patterns, model.prior
    share = model.latent_share(theta)
    hidden = rng.binomial(patterns.unknown.astype(np.int64), share)
    betas = prior.updated(*patterns.completed(hidden))
    return model.coordinates(draw_rates(betas, prior.ordered, rng))


def run(
    model: Independent,
    start: Floats,
    sweeps: int,
    rng: Rng,
    proposal: Any = None,
) -> Floats:
    """Give coordinates after each sweep, shape (chains, sweeps, parameters).

    With a proposal every sweep is followed by an independence Metropolis step.
    """
    theta = start
    out = np.empty((len(start), sweeps, model.dim))
    for i in steps(range(sweeps), "Sampling", unit="sweeps"):
        theta = sweep(model, theta, rng)
        if proposal is not None:
            there, gain = proposal.jump(theta, model, rng)
            accept = np.log(rng.random(len(theta))) < gain
            theta = np.where(accept[:, None], there, theta)
        out[:, i] = theta
    return out
