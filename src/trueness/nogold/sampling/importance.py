"""How does one draw from a posterior without a chain that sticks?

Adaptive importance sampling. The proposal is a mixture of Student t distributions,
fitted to particles that came from the prior (``tempering.py``), then
to its own weighted draws. It is joined by a second component: the conditional
posteriors of ``conjugate.py`` where there are such, else the prior itself, so that no
mode which the prior allows is ever without a chance. At the end the proposal is frozen,
every chain gets proposals of its own, and plain draws are chosen from them by their
weights. What the weights cost is in the effective sizes, and chains that disagree show
in R-hat: nowhere is it hidden.

Cappé, Douc, Guillin, Marin, Robert 2008, Stat. Comput. 18:447,
doi:10.1007/s11222-008-9059-x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, final

import numpy as np
from scipy.special import gammaln, logsumexp

from trueness._core.arrays import Floats
from trueness.nogold.sampling.chains import GOOD_K, pareto_k
from trueness.nogold.sampling.products import dot, gram, product
from trueness.nogold.sampling.tempering import Target, kish, resample

Rng = np.random.Generator
DEGREES = 8.0  # of freedom: tails heavier than any posterior on the logit scale
# temperature of the wider particles, and the efficiency at which fitting ends
WIDE_TEMPERATURE, ENOUGH = 0.4, 0.6
# components; fewer where all draws are weighted by all proposals, which costs most
MOST_COMPONENTS, FEWER_COMPONENTS = 12, 8
# components at points of large weight, and which share of the proposals is theirs
HEAVY, HEAVY_SHARE = 6, 0.15
# proposals of the first round, where there are no conjugate components; how much a
# round may grow; and the largest one, per draw that is wanted
TRIAL, GROW, LARGEST = 8000, 1.6, 1.4
ROUNDS, LEAST_ROUNDS = 8, 3
# share of the wanted draws from which on parameters are looked at one by one
PROMISING = 0.9
CUT = 0.4  # power of the number of weights at which they are cut off
MOST_FITTED = 8000  # draws that a proposal is fitted to
FLATTER = 0.85  # power of the likelihood there: it is the tails that need proposals


@final
@dataclass(frozen=True)
class Mixture:
    """A mixture of Student t distributions."""

    weight: Floats  # (C,)
    mean: Floats  # (C, d)
    factor: Floats  # (C, d, d) lower triangular, factor @ factor.T is the scale
    inverse: Floats  # (C, d, d) inverse of each factor

    def draws(self, n: int, rng: Rng) -> Floats:
        """Draw n points."""
        at = rng.choice(self.weight.size, n, p=self.weight)
        z = rng.standard_normal((n, self.mean.shape[1]))
        z *= np.sqrt(DEGREES / rng.chisquare(DEGREES, n))[:, None]
        out = np.empty_like(z)
        for c in range(self.weight.size):
            here = at == c
            out[here] = self.mean[c] + product(z[here], self.factor[c].T)
        return out

    def distances(self, theta: Floats) -> Floats:
        """Give the squared Mahalanobis distance to each component, (n, C)."""
        out = np.empty((len(theta), self.weight.size))
        for c in range(self.weight.size):
            z = product(theta - self.mean[c], self.inverse[c].T)
            out[:, c] = np.einsum("ij,ij->i", z, z)
        return out

    def log_parts(self, distances: Floats) -> Floats:
        """Give the log density of each component, weighted, (n, C)."""
        d = self.mean.shape[1]
        size = np.log(np.diagonal(self.inverse, axis1=1, axis2=2)).sum(axis=1)
        # multivariate Student: its tails are heavier than those of the posterior
        constant = gammaln((DEGREES + d) / 2) - gammaln(DEGREES / 2)
        constant -= d / 2 * np.log(DEGREES * np.pi)
        kernel = -(DEGREES + d) / 2 * np.log1p(distances / DEGREES)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.weight) + size + constant + kernel)

    def log_density(self, theta: Floats) -> Floats:
        """Give the log density of the whole mixture."""
        return log_sum(self.log_parts(self.distances(theta)))


class Component(Protocol):
    """Another part of a proposal, beside the mixture."""

    @property
    def share(self) -> float:
        """Which share of the proposals comes from here?"""

    def draws(self, n: int, target: Any, rng: Rng) -> Floats:
        """Draw n points."""

    def log_density(self, theta: Floats, target: Any) -> Floats:
        """Give the log density."""


@final
@dataclass(frozen=True)
class FromPrior:
    """The prior as a component: no weight can be larger than its share allows."""

    share: float = 0.05

    def draws(self, n: int, target: Target, rng: Rng) -> Floats:
        """Draw n points."""
        return target.prior_draws(n, rng)

    def log_density(self, theta: Floats, target: Target) -> Floats:
        """Give the log density."""
        return target.log_prior(theta)


FitComponent = Callable[[Floats, Floats, Any, Rng], Component]


@final
@dataclass(frozen=True)
class Proposal:
    """Where are draws proposed, and how good was that when it was fitted?"""

    mixture: Mixture
    other: Component
    efficiency: float = np.nan  # Kish effective draws per proposal

    def draws(self, n: int, target: Target, rng: Rng) -> Weighted:
        """Propose n points and weigh them."""
        return self.weigh(self.points(n, target, rng), target)

    def points(self, n: int, target: Target, rng: Rng) -> Floats:
        """Propose n points."""
        few = int(rng.binomial(n, self.other.share))
        theta = np.empty((n, target.dim))
        there = rng.permutation(n) < few
        theta[there] = self.other.draws(few, target, rng)
        theta[~there] = self.mixture.draws(n - few, rng)
        return theta

    def log_density(self, theta: Floats, target: Target) -> Floats:
        """Give the log density of proposals."""
        own = np.log1p(-self.other.share) + self.mixture.log_density(theta)
        other = np.log(self.other.share) + self.other.log_density(theta, target)
        return np.asarray(np.logaddexp(own, other))

    def weigh(self, theta: Floats, target: Target) -> Weighted:
        """Weigh points as if they had been proposed here."""
        log_q = self.log_density(theta, target)
        prior, likelihood = target.log_densities(theta)
        return Weighted(theta, prior - log_q, likelihood)

    def jump(self, here: Floats, target: Target, rng: Rng) -> tuple[Floats, Floats]:
        """Propose a jump from each point, with the log of its chance (Metropolis)."""
        new = self.draws(len(here), target, rng)
        return new.theta, new.log_weight - self.weigh(here, target).log_weight


class Weighted(NamedTuple):
    """Proposed points; the weight at temperature t is exp(base + t * likelihood)."""

    theta: Floats
    base: Floats
    likelihood: Floats

    @property
    def log_weight(self) -> Floats:
        """Give the logarithm of the weight for the posterior itself."""
        return self.base + self.likelihood


def log_sum(x: Floats) -> Floats:
    """Give log of the sum of exp over each row, in place: this is most of the time."""
    top = x.max(axis=1)
    x -= top[:, None]
    np.exp(x, out=x)
    return np.asarray(np.log(x.sum(axis=1)) + top)


def adapt(
    particles: Floats, wide: Floats, target: Target, component: FitComponent, rng: Rng
) -> Proposal:
    """Fit a proposal to particles, then to its own weighted draws.

    Rounds grow where few proposals count: there is more shape to be learnt. A round
    that is worse than the one before may have found a mode that was missed, so one is
    not enough to stop.
    """
    n, worse = 2000 + 200 * target.dim, 0
    mixture = _fit(particles, None, rng)
    proposal = best = Proposal(mixture, component(particles, wide, target, rng))
    for _ in range(ROUNDS):
        now = proposal.draws(n, target, rng)
        efficiency = kish(now.log_weight) / n
        worse = worse + 1 if efficiency < 1.1 * np.nan_to_num(best.efficiency) else 0
        if not efficiency < best.efficiency:
            best = replace(proposal, efficiency=efficiency)
        if worse == 2 or efficiency > ENOUGH:
            break
        proposal = fit_again(now, target, component, rng)
        n = n if efficiency > 0.2 else min(2 * n, 40_000)
    return best


def adaptive_pool(
    particles: Floats,
    target: Target,
    wanted: float,
    worth: Callable[[Weighted], float],
    most: int,
    rng: Rng,
) -> tuple[Weighted, float, Proposal]:
    """Propose, fit a proposal to all that was proposed, propose from that, and so on.

    For models without conjugate components, whose posteriors have corners and several
    modes. No draw is thrown away: each is weighted as one of the mixture of all
    proposals (Cornuet, Marin, Mira, Robert 2012, Scand. J. Stat. 39:798,
    doi:10.1111/j.1467-9469.2011.00756.x, eq. (3)). A region that one proposal missed
    gets components in the next one, and with them its large weights are gone. A round
    is as large as what is missing takes at the efficiency of the one before.
    """
    mixture = _fit(particles, None, rng, FEWER_COMPONENTS)
    mixtures: list[Mixture] = []
    sizes, size, effective = [], TRIAL, 0.0
    pool = Weighted(np.zeros((0, target.dim)), *np.zeros((2, 0)))
    log_q = np.zeros((0, 0))  # a row per proposal, a column per draw
    while True:
        now = Proposal(mixture, FromPrior())
        theta = now.points(size, target, rng)
        if mixtures:
            more = np.stack([q.log_density(theta) for q in mixtures])
            log_q = np.hstack([log_q, more])
        mixtures.append(mixture)
        pool = _joined(pool, Weighted(theta, *target.log_densities(theta)))
        row = mixture.log_density(pool.theta)[None]
        log_q = np.vstack([log_q, row]) if len(mixtures) > 1 else row
        sizes.append(size)
        weighted = pool._replace(base=pool.base - _mixed(log_q, sizes, pool.base))
        cut = truncated(weighted)
        # what each parameter is worth takes a sort: not while weights are too few
        before, effective = effective, kish(cut.log_weight)
        if effective >= PROMISING * wanted:
            effective = worth(cut)
        enough = effective >= wanted and len(sizes) >= LEAST_ROUNDS
        enough = enough and pareto_k(cut.log_weight) <= GOOD_K
        done = len(pool.theta) / most
        if enough or done >= 1 or (done >= 0.5 and effective < 0.5 * wanted):
            return cut, effective, now
        some = resample(cut.base + FLATTER * cut.likelihood, MOST_FITTED, rng)
        mixture = _fit(pool.theta[some], None, rng, FEWER_COMPONENTS)
        mixture = _with_heavy(mixture, weighted, rng)
        gain = max(effective - before, 0.05 * size) / size
        missing = 1.1 * max(wanted - effective, 0.05 * wanted) / gain
        size = int(np.clip(missing, TRIAL // 2, min(GROW * size, LARGEST * wanted)))
        size = max(min(size, most - len(pool.theta)), 1)


def truncated(pool: Weighted) -> Weighted:
    """Cut weights off at the mean times a power of their number.

    A single proposal far out in a tail may outweigh thousands. Cutting it off adds a
    bias that vanishes and keeps the variance finite (Ionides 2008, J. Comput. Graph.
    Stat. 17:295, doi:10.1198/106186008X320456). He takes the root; a slightly smaller
    power costs less variance where, as here, only a few weights are concerned.
    """
    weight = pool.log_weight
    most = logsumexp(weight) - (1 - CUT) * np.log(weight.size)
    return pool._replace(base=pool.base - np.maximum(weight - most, 0.0))


def _joined(a: Weighted, b: Weighted) -> Weighted:
    return Weighted(*(np.concatenate(c) for c in zip(a, b, strict=True)))


def _mixed(log_q: Floats, sizes: list[int], prior: Floats) -> Floats:
    """Give the log density of the mixture of all proposals and of the prior."""
    share = FromPrior.share
    weight = np.log(np.array(sizes) / sum(sizes))
    own = np.log1p(-share) + log_sum((log_q + weight[:, None]).T)
    return np.asarray(np.logaddexp(own, np.log(share) + prior))


def _with_heavy(mixture: Mixture, pool: Weighted, rng: Rng) -> Mixture:
    """Add wide components at points of large weight, which a fit takes for outliers."""
    at = np.unique(resample(pool.log_weight, HEAVY, rng))
    scales = mixture.factor @ mixture.factor.swapaxes(1, 2)
    wide = np.einsum("c,cij->ij", mixture.weight, scales)
    share = np.full(at.size, HEAVY_SHARE / at.size)
    return _mixture(
        np.concatenate([(1 - HEAVY_SHARE) * mixture.weight, share]),
        np.concatenate([mixture.mean, pool.theta[at]]),
        np.concatenate([scales, np.repeat(wide[None], at.size, axis=0)]),
    )


def fit_again(
    now: Weighted, target: Target, component: FitComponent, rng: Rng
) -> Proposal:
    """Fit a proposal to weighted draws."""
    n = len(now.theta)
    particles = now.theta[resample(now.log_weight, n, rng)]
    wide = now.theta[resample(now.base + WIDE_TEMPERATURE * now.likelihood, n, rng)]
    mixture = _fit(now.theta, now.log_weight, rng)
    return Proposal(mixture, component(particles, wide, target, rng))


def _fit(
    theta: Floats, log_weight: Floats | None, rng: Rng, most: int = MOST_COMPONENTS
) -> Mixture:
    """Fit a mixture to weighted points by ten steps of expectation-maximisation."""
    log_weight = np.zeros(len(theta)) if log_weight is None else log_weight
    w = np.exp(log_weight - log_weight.max())
    # a single huge weight must not become the whole fit (Ionides 2008, truncation)
    w = np.minimum(w, w.mean() * np.sqrt(w.size))
    w /= w.sum()
    keep = w > 1e-12
    theta, w = theta[keep], w[keep] / w[keep].sum()
    d = theta.shape[1]
    centre = product(theta.T, w)
    spread = _covariance(theta - centre, w) + 1e-10 * np.eye(d)
    count = int(np.clip(1 / dot(w, w) / (6 * d), 1, most))
    # by the roots of the weights: a small mode must get a component too
    root = np.sqrt(w) / np.sqrt(w).sum()
    mean = theta[rng.choice(w.size, count, p=root)] if count > 1 else centre[None]
    scale = np.repeat(spread[None], count, axis=0)
    mixture = _mixture(np.full(count, 1 / count), mean, scale)
    for _ in range(10):
        mixture = _step(mixture, theta, w, spread)
    return mixture


def _step(mixture: Mixture, theta: Floats, w: Floats, spread: Floats) -> Mixture:
    d = theta.shape[1]
    distance = mixture.distances(theta)
    parts = mixture.log_parts(distance)
    share = np.exp(parts - log_sum(parts.copy())[:, None]) * w[:, None]
    near = share * (DEGREES + d) / (DEGREES + distance)  # Peel, McLachlan 2000, eq. (6)
    weight, means, scales = [], [], []
    for c in range(mixture.weight.size):
        effective = share[:, c].sum() ** 2 / max(dot(share[:, c], share[:, c]), 1e-300)
        if effective < d + 2:
            continue
        pull = near[:, c] / near[:, c].sum()
        mean = product(theta.T, pull)
        scale = _covariance(theta - mean, near[:, c]) / share[:, c].sum()
        # a component of few points borrows its shape from all points
        trust = effective / (effective + d)
        weight.append(share[:, c].sum())
        means.append(mean)
        scales.append(trust * scale + (1 - trust) * spread)
    if not weight:
        return _mixture(np.ones(1), product(theta.T, w)[None], spread[None])
    total = np.array(weight)
    return _mixture(total / total.sum(), np.array(means), np.array(scales))


def _covariance(centred: Floats, w: Floats) -> Floats:
    return gram(centred * w[:, None], centred)


def _mixture(weight: Floats, mean: Floats, scale: Floats) -> Mixture:
    factor: Any = np.linalg.cholesky(scale)
    return Mixture(weight, mean, factor, np.linalg.inv(factor))
