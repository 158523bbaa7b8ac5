"""What does the paper's own Markov chain say, run on patterns instead of cases?

Given the parameters, the number of positives among the cases that showed a pattern is
binomial; given these numbers, all parameters are Beta. So a sweep costs the number of
patterns, not of cases, and many chains run abreast. It is the chain of Keith, Davey,
Boyd (2012), with T_n summed within patterns, and mixes as badly as theirs does when
little is known about who is positive. Mixed with independence proposals (a jump a
sweep) it is the fallback where importance sampling alone is too thin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from trueness._core.arrays import Floats
from trueness._core.progress import steps
from trueness.nogold.model import EDGE, Independent, Patterns
from trueness.nogold.sampling.products import product

Rng = np.random.Generator
# draws that miss the triangle are drawn again this often, then the pair stays put
TRIES = 20


class State(NamedTuple):
    """Where the chains are, one row each."""

    phi: Floats
    alpha: Floats
    beta: Floats


def to_state(model: Independent, theta: Floats) -> State:
    """Turn coordinates into the parameters of the sweep."""
    x = model.logs(theta)
    return State(np.exp(x.phi), np.exp(x.alpha), np.exp(x.beta))


def to_theta(model: Independent, state: State) -> Floats:
    """Turn the parameters of the sweep into coordinates."""
    last = state.beta / state.alpha if model.prior.ordered else state.beta
    value = np.clip(np.hstack([state.phi, state.alpha, last]), EDGE, 1 - 2**-53)
    return np.asarray(np.log(value) - np.log1p(-value))


def sweep(model: Independent, state: State, rng: Rng) -> State:
    """Draw the latent counts, then every parameter."""
    patterns, prior = model.patterns, model.prior
    pos, neg = _latent_counts(model, state, rng)
    phi = rng.beta(
        prior.prevalence[:, 0] + pos.sum(axis=2),
        prior.prevalence[:, 1] + neg.sum(axis=2),
    )
    hit, miss = votes(pos.sum(axis=1), patterns)
    alarm, quiet = votes(neg.sum(axis=1), patterns)
    sens, spec = prior.sensitivity, prior.specificity
    a, b = sens[:, 0] + hit, sens[:, 1] + miss
    c, d = spec[:, 1] + alarm, spec[:, 0] + quiet
    alpha, beta = _draw_pairs(a, b, c, d, state, rng, prior.ordered)
    return State(np.clip(phi, EDGE, 1 - 2**-53), alpha, beta)


def latent_share(model: Independent, theta: Floats) -> Floats:
    """How likely is a case of each population and pattern positive? (n, S, m)"""
    odds = model.log_odds(model.logs(theta))
    return np.asarray(expit(model.split(theta)[0][:, :, None] + odds[:, None, :]))


def _latent_counts(model: Independent, state: State, rng: Rng) -> tuple[Floats, Floats]:
    patterns = model.patterns
    share = latent_share(model, to_theta(model, state))
    hidden = rng.binomial(patterns.unknown.astype(np.int64), share)
    return hidden + patterns.pos, patterns.unknown - hidden + patterns.neg


def votes(count: Floats, patterns: Patterns) -> tuple[Floats, Floats]:
    """How many votes of 1, and of 0, does each classifier give to these cases?"""
    return product(count, patterns.ones), product(count, patterns.zeros)


def _draw_pairs(
    a: Floats, b: Floats, c: Floats, d: Floats, state: State, rng: Rng, ordered: bool
) -> tuple[Floats, Floats]:
    alpha, beta = rng.beta(a, b), rng.beta(c, d)
    wrong = (alpha < beta) if ordered else np.zeros(alpha.shape, dtype=bool)
    for _ in range(TRIES):
        if not wrong.any():
            break
        alpha[wrong], beta[wrong] = (
            rng.beta(a[wrong], b[wrong]),
            rng.beta(c[wrong], d[wrong]),
        )
        wrong &= alpha < beta
    # staying with a chance that does not depend on where one is keeps the posterior
    alpha, beta = np.where(wrong, state.alpha, alpha), np.where(wrong, state.beta, beta)
    return np.clip(alpha, EDGE, 1 - 2**-53), np.clip(beta, EDGE, 1 - 2**-53)


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
    state, chains = to_state(model, start), len(start)
    out = np.empty((chains, sweeps, model.dim))
    for i in steps(range(sweeps), "Sampling", unit="sweeps"):
        state = sweep(model, state, rng)
        if proposal is not None:
            state = _jump(model, state, proposal, rng)
        out[:, i] = to_theta(model, state)
    return out


def _jump(model: Independent, state: State, proposal: Any, rng: Rng) -> State:
    here = to_theta(model, state)
    new = proposal.draws(len(here), model, rng)
    old = proposal.weigh(here, model)
    accept = np.log(rng.random(len(here))) < new.log_weight - old.log_weight
    theta = np.where(accept[:, None], new.theta, here)
    return to_state(model, theta)
