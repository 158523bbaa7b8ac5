"""What is the posterior exactly, when the table is small?

Given how many positives hide in each pattern all parameters are Beta, so the posterior
is a finite mixture, with one term for each way to fill in the latent counts: the
product of (cases + 1) over the patterns. Its weights are products of Beta functions
(times the share of the triangle under the order constraint). Draws from it are
independent.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betaln

from trueness._core.arrays import Array, Floats
from trueness.nogold.model import Betas, Independent, Patterns, draw_rates
from trueness.nogold.sampling.ordered_betas import order_mass

Rng = np.random.Generator
# terms up to which the sum is taken without being asked for; and at all
FEW, MANY = 20_000, 2_000_000


def terms(patterns: Patterns) -> float:
    """How many ways are there to fill in the latent counts?"""
    return float(np.prod(patterns.unknown + 1))


def log_weights(model: Independent) -> tuple[Floats, Betas]:
    """Give the log weight of every term, and its Beta parameters."""
    patterns = model.patterns
    shape = [int(n) + 1 for n in patterns.unknown.ravel()]
    grid = np.indices(shape).reshape(len(shape), -1).T
    hidden = grid.reshape(-1, *patterns.unknown.shape)
    betas = model.prior.updated(*patterns.completed(hidden))
    out = _log_choose(patterns.unknown, hidden).sum(axis=(1, 2))
    for a, b in betas:
        out = out + betaln(a, b).sum(axis=1)
    if model.prior.ordered:
        with np.errstate(divide="ignore"):
            for k in range(len(patterns.names)):
                pair = (c[:, k] for ab in betas[1:] for c in ab)
                out = out + np.log(_share_ordered(*pair))
    return out, betas


def _log_choose(n: Floats, k: Array) -> Floats:
    return np.asarray(-np.log(n + 1) - betaln(n - k + 1, k + 1))


def _share_ordered(*columns: Floats) -> Floats:
    """Give the share of the triangle, once for each distinct combination."""
    distinct, at = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return np.asarray(order_mass(*distinct.T)[at.ravel()])


def draws(model: Independent, chains: int, steps: int, rng: Rng) -> Floats:
    """Draw independently; coordinates of shape (chains, steps, parameters)."""
    log_weight, betas = log_weights(model)
    w = np.exp(log_weight - log_weight.max())
    at = rng.choice(w.size, chains * steps, p=w / w.sum())
    rates = draw_rates(tuple(ab[:, at] for ab in betas), model.prior.ordered, rng)
    return model.coordinates(rates).reshape(chains, steps, model.dim)
