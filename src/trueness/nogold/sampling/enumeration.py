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
from trueness.nogold.model import EDGE, Independent, Patterns, order_mass
from trueness.nogold.sampling.gibbs import State, to_theta, votes
from trueness.nogold.sampling.ordered_betas import ordered_betas

Rng = np.random.Generator
# terms up to which the sum is taken without being asked for; and at all
FEW, MANY = 20_000, 2_000_000


def terms(patterns: Patterns) -> float:
    """How many ways are there to fill in the latent counts?"""
    return float(np.prod(patterns.unknown + 1))


class _Counts:
    """Cases and votes in either class, for each way to fill in the latent counts."""

    def __init__(self, patterns: Patterns) -> None:
        shape = [int(n) + 1 for n in patterns.unknown.ravel()]
        grid = np.indices(shape).reshape(len(shape), -1).T
        hidden = grid.reshape(-1, *patterns.unknown.shape)
        ways = _log_choose(patterns.unknown, hidden).sum(axis=(1, 2))
        pos, neg = hidden + patterns.pos, patterns.unknown - hidden + patterns.neg
        self.log_ways = ways
        self.pos, self.neg = pos.sum(axis=2), neg.sum(axis=2)
        everywhere = pos.sum(axis=1), neg.sum(axis=1)
        self.hit, self.miss = votes(everywhere[0], patterns)
        self.alarm, self.quiet = votes(everywhere[1], patterns)


def _log_choose(n: Floats, k: Array) -> Floats:
    return np.asarray(-np.log(n + 1) - betaln(n - k + 1, k + 1))


def _parameters(model: Independent, x: _Counts) -> list[Floats]:
    """Give (a, b) of prevalence, alpha and beta for every term."""
    p, a, b = (
        model.prior.prevalence,
        model.prior.sensitivity,
        model.prior.specificity,
    )
    return [
        *(p[:, 0] + x.pos, p[:, 1] + x.neg),
        *(a[:, 0] + x.hit, a[:, 1] + x.miss),
        *(b[:, 1] + x.alarm, b[:, 0] + x.quiet),
    ]


def log_weights(model: Independent) -> tuple[Floats, list[Floats]]:
    """Give the log weight of every term, and its Beta parameters."""
    x = _Counts(model.patterns)
    par = _parameters(model, x)
    out = x.log_ways
    for i in (0, 2, 4):
        out = out + betaln(par[i], par[i + 1]).sum(axis=1)
    if model.prior.ordered:
        with np.errstate(divide="ignore"):
            for k in range(len(model.patterns.names)):
                out = out + np.log(_share_ordered(*(c[:, k] for c in par[2:])))
    return out, par


def _share_ordered(*columns: Floats) -> Floats:
    """Give the share of the triangle, once for each distinct combination."""
    distinct, at = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return np.asarray(order_mass(*distinct.T)[at.ravel()])


def draws(model: Independent, chains: int, steps: int, rng: Rng) -> Floats:
    """Draw independently; coordinates of shape (chains, steps, parameters)."""
    log_weight, par = log_weights(model)
    w = np.exp(log_weight - log_weight.max())
    at = rng.choice(w.size, chains * steps, p=w / w.sum())
    a, b, c, d, e, f = (column[at] for column in par)
    phi = rng.beta(a, b)
    if model.prior.ordered:
        alpha, beta = ordered_betas(c, d, e, f, rng=rng)
    else:
        alpha, beta = rng.beta(c, d), rng.beta(e, f)
    state = State(*(np.clip(v, EDGE, 1 - 2**-53) for v in (phi, alpha, beta)))
    return to_theta(model, state).reshape(chains, steps, model.dim)
