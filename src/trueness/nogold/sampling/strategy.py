"""How are draws from the posterior made, and when are there enough?

Three ways, each of which says that it ran. ``exact``: independent draws, from the sum
over all latent counts, for small tables. ``importance``: particles from the prior to
the posterior (``tempering.py``), then importance sampling (``importance.py``).
``gibbs``: the paper's chain (``gibbs.py``), as a check and, with jumps, as the fallback
when importance sampling is too thin. All of them go on until every parameter has as
many effective draws as were asked for, or say that they did not get there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from scipy.special import logsumexp

from trueness._core.arrays import Floats, blocks
from trueness._core.records import Record
from trueness.nogold.model import Independent
from trueness.nogold.sampling import conjugate as _conjugate
from trueness.nogold.sampling import enumeration as _enumeration
from trueness.nogold.sampling import gibbs as _gibbs
from trueness.nogold.sampling import importance as _importance
from trueness.nogold.sampling import tempering as _tempering
from trueness.nogold.sampling import two_tests as _two_tests
from trueness.nogold.sampling import walkers as _walkers
from trueness.nogold.sampling.chains import (
    GOOD_K,
    ess_bulk,
    ess_mean,
    ess_tail,
    pareto_k,
    r_hat,
    weighted_ess,
)
from trueness.nogold.sampling.importance import Proposal, Weighted
from trueness.nogold.sampling.tempering import Target

Rng = np.random.Generator
# proposals, or sweeps times chains, after which sampling gives up
MOST = 1_000_000
WALKERS = 64
# proposals for a model with dependence; walkers take over there, or already at half of
# it where the weights are far from enough
POOL = 500_000
# moves and Metropolis steps at each temperature; the proposals are fitted again anyway
FEWER_MOVES, FEWER_STEPS = 3.0, 16
# steps times walkers, after which those give up
WALKED = 300_000
# efficiency at which two tests are not proposed on their own surface
LEAST_EFFICIENT = 0.05
GOOD_R_HAT = 1.01  # rank-normalised, as Vehtari et al. (2021) recommend


@final
@dataclass(frozen=True, repr=False)
class Diagnostics(Record):
    """Can the draws be trusted?

    Attributes
    ----------
    method : str
        What ran: exact, importance, gibbs, or gibbs with jumps.
    converged : bool
        Whether every parameter has R-hat below 1.01 and the effective draws asked for.
    message : str
        The same in words.
    parameter : array of str
        Names of the parameters; the next four fields have one entry for each.
    r_hat : array
        Rank-normalised split R-hat, 1 is ideal.
    ess_bulk, ess_tail : array
        How many independent draws the bulk and the 5 % and 95 % points are worth.
    mcse : array
        Monte-Carlo standard error of the posterior mean.
    chains : int
        Number of chains.
    proposals : int
        Points at which the likelihood was evaluated in the final run.
    efficiency : float
        Kish effective draws per proposal (1 for exact draws, NaN for chains).
    pareto_k : float
        Tail of the importance weights; below 0.7 is good. NaN without weights.
    log_evidence, log_evidence_sd : float
        Log probability of the data under model and prior, with its Monte-Carlo error.
    """

    method: str
    converged: bool
    message: str
    parameter: np.ndarray
    r_hat: Floats
    ess_bulk: Floats
    ess_tail: Floats
    mcse: Floats
    chains: int
    proposals: int
    efficiency: float = np.nan
    pareto_k: float = np.nan
    log_evidence: float = np.nan
    log_evidence_sd: float = np.nan


class Sample(NamedTuple):
    """Chains in coordinates, (chains, steps, parameters), and how they were made."""

    theta: Floats
    method: str
    proposals: int
    pool: Weighted | None = None  # what was chosen from, and its weights


def sample(target: Target, method: str, draws: int, chains: int, rng: Rng) -> Sample:
    """Draw until every parameter has ``draws`` effective draws."""
    if not isinstance(target, Independent):
        return _without_conjugate(target, method, draws, chains, rng)
    few = _enumeration.terms(target.patterns) <= _enumeration.FEW
    if method == "exact" or (method == "auto" and few):
        # a quarter more: estimated effective sizes scatter around the true one
        steps = (5 * draws // 4 + 200) // chains
        return Sample(_enumeration.draws(target, chains, steps, rng), "exact", draws)
    if method == "gibbs":
        return _sweeps(target, None, draws, rng)
    surface = _two_tests.surface(target, rng)
    if surface.efficiency > LEAST_EFFICIENT:
        found = _proposals(target, surface, None, draws, chains, rng)
        if _good(found, draws):
            return found
    particles, wide = _tempering.anneal(target, rng)
    component = _conjugate.component
    proposal = _importance.adapt(particles, wide, target, component, rng)
    found = _proposals(target, proposal, component, draws, chains, rng)
    if method != "auto" or _good(found, draws):
        return found
    return _sweeps(target, proposal, draws, rng)


def _without_conjugate(
    target: Any, method: str, draws: int, chains: int, rng: Rng
) -> Sample:
    """Sample a model with dependence: by importance, else by walkers."""
    particles, wide = _tempering.anneal(target.rough, rng, FEWER_MOVES, FEWER_STEPS)
    # wider ones too: a broad mode of low density is easily lost on the way
    more = wide[rng.permutation(len(wide))[: len(particles) // 2]]
    particles = np.concatenate([particles, more])
    # fewer proposals and more choices: proposals are what costs, and n choices from
    # weights worth m leave n m / (n + m)
    wanted, chosen = 1.4 * draws + 300, 4 * draws + 400
    pool, worth, proposal = _importance.adaptive_pool(
        particles, target, wanted, _least_worth, POOL, rng
    )
    found = _choose(pool, chosen, chains, rng)
    enough = worth >= 1.35 * draws
    if method != "auto" or (enough and pareto_k(pool.log_weight) <= GOOD_K):
        return found
    start = pool.theta[_tempering.resample(pool.log_weight, 4 * WALKERS, rng)]
    walked = _until_enough(
        lambda at, n: _walkers.run(target, at, n, particles, proposal, rng),
        start,
        "walkers with jumps",
        draws,
        WALKED,
    )
    # a chain that sticks must not replace weights that are merely uneven
    return walked if least_ess(walked.theta) >= worth else found


def _good(found: Sample, draws: int) -> bool:
    """Were there enough proposals, and is no weight far above the others?"""
    if found.pool is None or pareto_k(found.pool.log_weight) > GOOD_K:
        return False
    return _least_worth(found.pool) >= 2 * draws


def _proposals(
    target: Target, proposal: Any, component: Any, draws: int, chains: int, rng: Rng
) -> Sample:
    """Propose in rounds until the weights suffice, then choose plain draws.

    Choosing n draws from weights worth m leaves n m / (n + m): both are twice what was
    asked for, and a tenth more, because estimated sizes scatter. When the first round
    is a surprise (a mode was found that fitting had missed) the proposal is fitted to
    it and the round is thrown away; without ``component`` there was no fitting.
    """
    wanted = _wanted(draws)
    parts: list[Weighted] = []
    need, done, surprises = int(1.1 * wanted / max(proposal.efficiency, 0.02)), 0, 0
    while True:
        size = min(need, MOST - done) // chains + 1
        parts.append(proposal.draws(size * chains, target, rng))
        pool = Weighted(*(np.concatenate(c) for c in zip(*parts, strict=True)))
        done = len(pool.theta)
        effective = _least_worth(pool)
        if effective >= wanted or done >= MOST:
            break
        less = effective < 0.5 * proposal.efficiency * done
        if less and surprises < 3 and component is not None:
            surprises += 1
            proposal = replace(
                _importance.fit_again(pool, target, component, rng),
                efficiency=effective / done,
            )
            parts, done = [], 0
            need = max(int(wanted), 20_000)
            continue
        # fitted again and still without hope: chains are the better use of the time
        if surprises == 3 and effective * MOST < wanted * done:
            break
        # a third more at least: rounds that just miss must not follow each other
        need = max(int(1.1 * done * (wanted / effective - 1)), done // 3) + 100
    return _choose(pool, wanted, chains, rng)


def _wanted(draws: int) -> float:
    return 2.2 * draws + 400


def _choose(pool: Weighted, wanted: float, chains: int, rng: Rng) -> Sample:
    """Choose plain draws by their weights, for each chain from proposals of its own."""
    steps = -(-int(wanted) // chains)
    # proposals are dealt to the chains in turns, so that no two share one
    theta = [
        _deal(pool.theta[c::chains], pool.log_weight[c::chains], steps, rng)
        for c in range(chains)
    ]
    return Sample(np.array(theta), "importance", len(pool.theta), pool)


def _deal(theta: Floats, log_weight: Floats, n: int, rng: Rng) -> Floats:
    return np.asarray(theta[rng.permutation(_tempering.resample(log_weight, n, rng))])


def _least_worth(pool: Weighted) -> float:
    # by ranks: outliers on the logit scale are none on the scale of probabilities
    return min(weighted_ess(c, pool.log_weight)[0] for c in pool.theta.T)


def _sweeps(
    model: Independent, proposal: Proposal | None, draws: int, rng: Rng
) -> Sample:
    """Run the paper's chain, with jumps where there is a proposal."""
    start = model.prior_draws(WALKERS, rng)
    method = "gibbs" if proposal is None else "gibbs with jumps"
    return _until_enough(
        lambda at, n: _gibbs.run(model, at, n, rng, proposal),
        start,
        method,
        draws,
        MOST if proposal is None else WALKED,
    )


def _until_enough(
    run: Callable[[Floats, int], Floats],
    start: Floats,
    method: str,
    draws: int,
    most: int = MOST,
) -> Sample:
    """Run chains twice as long each time, until there are enough effective draws."""
    theta = run(start, 100)[:, 50:]
    done = 100
    while len(start) * done < most:
        # a twentieth more: the estimate of an effective size scatters
        if least_ess(theta) >= 1.05 * draws and theta.shape[1] >= 200:
            break
        more = run(theta[:, -1], done)
        # the first half is forgotten: whatever depends on the start goes with it
        theta = np.concatenate([theta[:, theta.shape[1] // 2 :], more], axis=1)
        done *= 2
    return Sample(theta, method, len(start) * done)


def least_ess(theta: Floats) -> float:
    """How many effective draws has the worst parameter?"""
    return min(ess_bulk(theta[:, :, i]) for i in range(theta.shape[2]))


def diagnose_sample(
    found: Sample, target: Any, columns: Floats, draws: int
) -> Diagnostics:
    """Judge chains of the parameters themselves, (chains, steps, parameters)."""
    more: dict[str, Any] = {"proposals": found.proposals}
    if found.method == "exact":
        more["efficiency"] = 1.0
    if found.pool is not None:
        pool = np.concatenate(list(natural(target, found.pool.theta).values()), axis=1)
        weight = found.pool.log_weight
        more |= _weight_diagnostics(weight)
        more["worth"] = np.array([weighted_ess(c, weight) for c in pool.T]).T
    return diagnose(columns, target.labels, draws, found.method, **more)


def diagnose(
    columns: Floats,
    parameter: tuple[str, ...],
    draws: int,
    method: str,
    *,
    worth: Any = np.inf,
    **more: Any,
) -> Diagnostics:
    """Judge chains of the parameters, which were chosen from draws of this ``worth``.

    A number, or one for bulk, tail and mean of every parameter.
    """
    sizes = np.array([_each(f, columns) for f in (ess_bulk, ess_tail, ess_mean)])
    # both the weights and the choice among them add to the error
    bulk, tail, mean = 1 / (1 / sizes + 1 / worth)
    out = Diagnostics(
        method,
        True,
        "All is well.",
        np.array(parameter),
        _each(r_hat, columns),
        bulk,
        tail,
        columns.std(axis=(0, 1), ddof=1) / np.sqrt(mean),
        chains=len(columns),
        **{"proposals": columns.shape[0] * columns.shape[1], **more},
    )
    fault = _verdict(out, draws)
    return replace(out, converged=False, message=fault) if fault else out


def natural(target: Any, theta: Floats) -> dict[str, Floats]:
    """Turn coordinates into parameters, a block at a time."""
    parts = [target.natural(theta[b]) for b in blocks(len(theta))]
    return {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}


def _each(f: Callable[[Floats], float], columns: Floats) -> Floats:
    return np.array([f(columns[:, :, i]) for i in range(columns.shape[2])])


def _weight_diagnostics(log_weight: Floats) -> dict[str, Any]:
    n = log_weight.size
    effective = _tempering.kish(log_weight)
    return {
        "efficiency": effective / n,
        "pareto_k": pareto_k(log_weight),
        "log_evidence": float(logsumexp(log_weight) - np.log(n)),
        # delta method: the relative error of the mean weight
        "log_evidence_sd": float(np.sqrt(max(1 / effective - 1 / n, 0.0))),
    }


def _verdict(d: Diagnostics, draws: int) -> str:
    """Say what is wrong, or nothing."""
    faults = []
    if d.ess_bulk.min() < draws and d.method != "exact":
        worst = d.parameter[d.ess_bulk.argmin()]
        faults.append(
            f"{worst} has {d.ess_bulk.min():,.0f} effective draws of the "
            f"{draws:,} asked for"
        )
    # R-hat of independent draws is itself above 1, by about chains / draws
    noise = 2 * d.chains / d.ess_bulk.min()
    if d.r_hat.max() > GOOD_R_HAT + noise and d.method != "exact":
        worst = d.parameter[d.r_hat.argmax()]
        faults.append(f"R-hat of {worst} is {d.r_hat.max():.3f}")
    if d.pareto_k > GOOD_K:
        faults.append(f"the importance weights have a heavy tail (k {d.pareto_k:.2f})")
    return "; ".join(faults)
