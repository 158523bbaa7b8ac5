"""How are draws from the posterior made, and when are there enough?

Tempered sequential Monte Carlo finds it (``particles``; ``ridge`` where errors are
shared), importance sampling draws from it by proposals of ``mixtures``, and Metropolis
steps polish the draws (docs/maths/nogold.md, "Sampling", with the papers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.progress import stop_if_requested
from trueness._core.records import Record
from trueness.nogold.mixtures import (
    TINY,
    Mixture,
    choose_component,
    draw_from_mixture,
    fit_mixture,
    log_standard_normal,
    mixture_density,
)
from trueness.nogold.model import LatentModel
from trueness.nogold.particles import (
    effective_number,
    resample,
    temper,
    truncate_weights,
)
from trueness.nogold.ridge import Peaks, climb, laplace_density, ridge_mixture

Rng = np.random.Generator
# None of these changes what is drawn: weights and Metropolis steps are right for any
# proposal. They say how much time is spent; the largest numbers are about 1 s each
MAX_PROPOSALS_INDEPENDENT = 60_000
MAX_PROPOSALS_SHARED = 12_000
MAX_STEPS_TIMES_TESTS = 504
STEPS_PER_FIT = 6  # after which the mixture is fitted again: each kind of step twice
# b of Kamatani's step: one in three is short, middling, almost a new draw
STEP_LENGTHS = (0.3, 0.6, 0.9)
CLIMBERS = 64  # points from the prior, and as many particles, that look for a peak
EVIDENCE_DRAWS = 4000  # at most, for the log evidence
LEAST_PROPORTION = 0.9  # of the draws asked for: nobody sees a tenth


@final
@dataclass(frozen=True, repr=False)
class Diagnostics(Record):
    """Can the draws be trusted?

    Attributes
    ----------
    converged, message : bool, str
        Whether there are as many effective draws as requested; the same in words.
    effective : float
        Effective number of independent draws.
    parameter, mcse : array
        Names of the parameters; Monte-Carlo standard error of each posterior mean.
    proposals : int
        Points at which the likelihood was evaluated for the draws.
    log_evidence, log_evidence_sd : float
        Log probability of the data under model and prior, with its Monte-Carlo error.
        NaN where the labels alone answer.
    """

    converged: bool
    message: str
    effective: float
    parameter: Array
    mcse: Floats
    proposals: int
    log_evidence: float = np.nan
    log_evidence_sd: float = np.nan


class Proposals(NamedTuple):
    """Points drawn from a mixture, with the logarithms of their weights."""

    point: Floats  # (n, d)
    log_weight: Floats  # (n,)

    @property
    def effective(self) -> float:
        """Return the effective number of equal weights, after truncation."""
        return effective_number(truncate_weights(self.log_weight))

    def choose(self, n_points: int, rng: Rng) -> Array:
        """Return the numbers of points that are chosen by their truncated weights."""
        return resample(truncate_weights(self.log_weight), n_points, rng)


class Particles(NamedTuple):
    """Points, with the log of likelihood times prior over the normal density."""

    point: Floats  # (n, d)
    log_ratio: Floats  # (n,)

    def take(self, rows: Array) -> Particles:
        """Return some of the particles, perhaps one of them twice."""
        return Particles(self.point[rows], self.log_ratio[rows])


class PolishedDraws(NamedTuple):
    """Rows after Metropolis steps, and how far they can be trusted."""

    rows: Floats  # (n, d)
    effective: float  # effective number of independent draws
    mcse: Floats  # Monte-Carlo standard error of each posterior mean
    proposals: int  # points that the steps tried


def sample(
    model: LatentModel, draws: int, rng: Rng, start: Floats | None = None
) -> tuple[Floats, Diagnostics]:
    """Draw coordinates, (rows, d), and say how far they can be trusted.

    ``start`` is the mean of independent errors, where a search of shared ones begins.
    """
    if start is None:
        particles = _find_posterior(model, 400 + 30 * model.dim, rng)
        first_mixture = fit_mixture(particles, rng)
    else:
        first_mixture = ridge_mixture(model, start, rng)

    # rows of shared errors depend on each other more, so there are more of them
    number_of_rows = (4 if model.shared else 2) * draws

    # a first pool teaches the proposal what the particles, which are few, did not
    pool = _propose(model, first_mixture, 2000 + 100 * model.dim, rng)
    mixture = _learn_from_pool(model, pool, first_mixture, number_of_rows, rng)

    # choosing rows adds the noise of as many rows: twice the draws are needed
    proposals = _propose_until(model, mixture, 2 * draws, rng)
    family = rng.permutation(proposals.choose(number_of_rows, rng))
    rows = proposals.point[family]

    if model.shared:  # proposals near one particle of the ridge have it in common
        family = mixture_density(first_mixture, rows).membership.argmax(axis=0)

    enough = LEAST_PROPORTION * draws
    max_steps = MAX_STEPS_TIMES_TESTS // len(model.patterns.names)
    polished = _polish(
        model,
        rows,
        family,
        enough=enough,
        max_steps=max(max_steps, 3 * STEPS_PER_FIT),
        rng=rng,
    )
    log_evidence, evidence_error = _bridge_sampling(
        model, polished.rows, mixture, proposals.log_weight
    )

    return polished.rows, Diagnostics(
        converged=polished.effective >= enough,
        message=f"{polished.effective:,.0f} effective draws of {draws:,} requested",
        effective=polished.effective,
        parameter=np.array(model.labels),
        mcse=polished.mcse,
        proposals=len(proposals.point) + polished.proposals,
        log_evidence=log_evidence,
        log_evidence_sd=evidence_error,
    )


def _learn_from_pool(
    model: LatentModel,
    pool: Proposals,
    first_mixture: Mixture,
    number_of_rows: int,
    rng: Rng,
) -> Mixture:
    """Return the mixture of a first pool of proposals, from which the draws come."""
    family = pool.choose(min(number_of_rows, len(pool.point)), rng)
    rows = pool.point[family]
    if not model.shared:
        return fit_mixture(rows, rng)

    polished = _polish(
        model, rows, family, enough=np.inf, max_steps=STEPS_PER_FIT, rng=rng
    )
    learned = fit_mixture(polished.rows, rng)
    # half of the proposals stay with the ridge (defensive: Hesterberg 1995)
    return Mixture(
        weight=np.concatenate([first_mixture.weight, learned.weight]) / 2,
        mean=np.concatenate([first_mixture.mean, learned.mean]),
        root=np.concatenate([first_mixture.root, learned.root]),
        inverse_root=np.concatenate([first_mixture.inverse_root, learned.inverse_root]),
    )


def _propose(
    model: LatentModel, mixture: Mixture, n_points: int, rng: Rng
) -> Proposals:
    """Return points of the mixture; weights are target over proposal density."""
    point = draw_from_mixture(mixture, n_points, rng)
    return Proposals(point, _log_weight(model, mixture, point))


def _log_weight(model: LatentModel, mixture: Mixture, point: Floats) -> Floats:
    """Return the log of the posterior, without its constant, over the mixture."""
    log_target = model.log_ratio(point) + log_standard_normal(point)
    return log_target - mixture_density(mixture, point).log_density


def _propose_until(
    model: LatentModel, mixture: Mixture, n_wanted: float, rng: Rng
) -> Proposals:
    """Propose points until they have as many effective ones, or are too many."""
    max_points = MAX_PROPOSALS_SHARED if model.shared else MAX_PROPOSALS_INDEPENDENT
    proposals = _propose(model, mixture, 4000, rng)

    while True:
        effective = proposals.effective
        n_points = len(proposals.point)
        if effective >= n_wanted or n_points >= max_points:
            return proposals

        stop_if_requested()
        # a tenth more than the present rate of effective points suggests
        n_missing = 1.1 * (n_wanted / effective - 1) * n_points
        size = min(max(n_missing, 1000), max_points - n_points, 4 * n_points)
        added = _propose(model, mixture, int(size), rng)
        proposals = Proposals(
            np.vstack([proposals.point, added.point]),
            np.concatenate([proposals.log_weight, added.log_weight]),
        )


def _polish(
    model: LatentModel,
    rows: Floats,
    family: Array,
    *,
    enough: float,
    max_steps: int,
    rng: Rng,
) -> PolishedDraws:
    """Return rows after Metropolis steps, enough of them for the effective draws.

    Those of shared errors take some in any case: their weights are the less reliable.
    """
    n_rows = len(rows)
    least_steps = min(3 * STEPS_PER_FIT, max_steps) if model.shared else 0
    at_start = _standardized_parameters(model, rows)
    start_variance = _variance_of_families(at_start, family)
    particles = Particles(rows, np.zeros(0))

    step = 0
    while True:
        stop_if_requested()
        now = _standardized_parameters(model, particles.point)
        correlation = np.maximum((at_start * now).mean(axis=0), 0)
        # of means, over that of parameters; steps are reversible, so that of what was
        # before they keep the correlation at twice as many, which is less (Geyer 1992),
        # but for the mixture, which adapts to all rows
        variance = correlation * start_variance + (1 - correlation) / n_rows
        effective = 1 / float(variance.max())
        if step >= max_steps or (step >= least_steps and effective >= enough):
            break

        if step == 0:
            particles = Particles(rows, model.log_ratio(rows))

        particles = _move(model, particles, 1.0, STEPS_PER_FIT // 3, rng)
        step += STEPS_PER_FIT

    sd = _parameters(model, particles.point).std(axis=0)
    return PolishedDraws(
        rows=particles.point,
        effective=effective,
        mcse=sd * np.sqrt(variance),
        proposals=step * n_rows,
    )


def _variance_of_families(standardized: Floats, family: Array) -> Floats:
    """Return the variance of each mean, over that of the parameter.

    Rows of a family have their first ancestor in common (Lee, Whiteley 2018), so sums
    over families are what varies independently.
    """
    order = np.argsort(family, kind="stable")
    first_of_family = np.flatnonzero(np.diff(family[order], prepend=-1))
    # the rows of a family are one unit: their sums vary independently
    sums = np.add.reduceat(standardized[order], first_of_family)
    return np.asarray((sums**2).sum(axis=0) / len(standardized) ** 2)


def _parameters(model: LatentModel, points: Floats) -> Floats:
    """Return prevalence, accuracies and spreads at each point, (n, parameters)."""
    return np.hstack(list(model.natural(points).values()))


def _standardized_parameters(model: LatentModel, points: Floats) -> Floats:
    """Return the parameters of points, with mean 0 and variance 1."""
    parameters = _parameters(model, points)
    sd = np.maximum(parameters.std(axis=0), TINY)
    return np.asarray((parameters - parameters.mean(axis=0)) / sd)


def _bridge_sampling(
    model: LatentModel, rows: Floats, mixture: Mixture, log_weight: Floats
) -> tuple[float, float]:
    """Return the log evidence and its standard error.

    Meng and Wong's optimal bridge (1996) between draws and proposals, iterated: its
    terms are bounded, whatever the weights are.
    """
    draws = rows[:: max(len(rows) // EVIDENCE_DRAWS, 1)]
    log_weight_of_draws = _log_weight(model, mixture, draws)
    proportion = len(draws) / (len(draws) + log_weight.size)

    # l_1 and l_2 of the paper: target over proposal density, here in units of a median
    # draw, since exponentials of large numbers overflow
    log_unit = float(np.median(log_weight_of_draws))
    at_draws = np.exp(np.clip(log_weight_of_draws - log_unit, -600, 600))
    at_proposals = np.exp(np.clip(log_weight - log_unit, -600, 600))

    evidence = 1.0
    for _ in range(200):
        stop_if_requested()
        weighted_evidence = (1 - proportion) * evidence
        # Meng and Wong (1996): the optimal bridge, with the last estimate in it
        numerator = at_proposals / (proportion * at_proposals + weighted_evidence)
        denominator = 1 / (proportion * at_draws + weighted_evidence)
        previous = evidence
        evidence = float(numerator.mean() / denominator.mean())
        if abs(np.log(evidence / previous)) < 1e-8:
            break

    error = _relative_variance(numerator) + _relative_variance(denominator)
    return log_unit + float(np.log(evidence)), float(np.sqrt(error))


def _relative_variance(terms: Floats) -> float:
    """Return the variance of a mean over the square of that mean."""
    return float(terms.var() / terms.mean() ** 2 / terms.size)


def _find_posterior(model: LatentModel, n_particles: int, rng: Rng) -> Floats:
    """Find the posterior, also where it is a needle: 10^9 cases, one in 10^6 positive.

    Particles move there from the normal distribution. In a needle they follow a wide
    mode that ends as the lower one. So some points climb; where a peak is higher than
    all particles by more than a peak is anyway, about half the dimension, it is taken
    with its own width.
    """
    point = rng.standard_normal((n_particles, model.dim))
    particles = temper(
        "From prior to posterior",
        Particles(point, model.log_ratio(point)),
        log_ratio=lambda particles: particles.log_ratio,
        move=lambda particles, t: _move(model, particles, t, 1, rng),
        rng=rng,
    )
    peak = _highest_peak(model, particles.point, rng)
    log_density = particles.log_ratio + log_standard_normal(particles.point)
    # normal draws lie half their dimension below the peak on average: particles that
    # reach up to it have found the posterior
    if peak.log_density[0] < log_density.max() + model.dim:
        return particles.point

    # a needle that they missed: normal draws at the peak, with covariance I^-1
    root = np.linalg.inv(np.linalg.cholesky(peak.information[0])).T
    return np.asarray(peak.place + rng.standard_normal(point.shape) @ root.T)


def _highest_peak(model: LatentModel, points: Floats, rng: Rng) -> Peaks:
    """Climb from points of the prior and from some of these, to the largest mass."""
    from_prior = rng.standard_normal((CLIMBERS, model.dim))
    all_coordinates = np.arange(model.dim)
    start = np.vstack([from_prior, points[:CLIMBERS]])
    peaks = climb(model, start, all_coordinates, steps=60)
    highest = laplace_density(peaks, all_coordinates).argmax()
    return peaks.take(np.array([highest]))


def _move(
    model: LatentModel, particles: Particles, t: float, rounds: int, rng: Rng
) -> Particles:
    """Take Metropolis steps with every particle: near by, anywhere and near by.

    The target is the normal density times the ratio to the power t.
    """
    mixture = fit_mixture(particles.point, rng)
    for propose in (_propose_nearby, _propose_anywhere, _propose_nearby) * rounds:
        point, log_ratio = particles
        proposed, log_correction = propose(point, mixture, rng)
        proposed_ratio = model.log_ratio(proposed)

        gain = t * (proposed_ratio - log_ratio)
        gain = gain + log_standard_normal(proposed) - log_standard_normal(point)
        # Metropolis and Hastings: accepted with the ratio of the densities, corrected
        accepted = np.log(rng.random(len(point))) < gain + log_correction
        particles = Particles(
            np.where(accepted[:, None], proposed, point),
            np.where(accepted, proposed_ratio, log_ratio),
        )

    return particles


def _propose_anywhere(
    point: Floats, mixture: Mixture, rng: Rng
) -> tuple[Floats, Floats]:
    """Propose points of the mixture, with their log density below that here."""
    proposed = draw_from_mixture(mixture, len(point), rng)
    # Hastings' correction: the density here over that of the proposal
    log_density = mixture_density(mixture, point).log_density
    proposed_log_density = mixture_density(mixture, proposed).log_density
    return proposed, log_density - proposed_log_density


def _propose_nearby(point: Floats, mixture: Mixture, rng: Rng) -> tuple[Floats, Floats]:
    """Propose steps around a component, chosen by how likely a point is of it.

    The step is reversible with respect to the density |x - m|^-d, in units of the
    component (Kamatani 2018); the chances to choose it enter as those of a mixture.
    """
    n_points, dimension = point.shape
    density = mixture_density(mixture, point)
    component = choose_component(density.membership, rng)
    of_component = (component, np.arange(n_points))
    squared_distance = density.squared_distance[of_component]

    # b of the paper: how much of a step is new, how much stays with the old place
    new_part = rng.choice(STEP_LENGTHS, size=n_points)[:, None]
    width = np.sqrt(squared_distance / rng.chisquare(dimension, n_points))[:, None]
    noise = _noise_of_components(mixture, component, dimension, rng)

    mean = mixture.mean[component]
    old_part = np.sqrt(1 - new_part**2)
    proposed = mean + old_part * (point - mean) + new_part * width * noise

    # the ratio of the densities |x - m|^-d, there and here
    proposed_density = mixture_density(mixture, proposed)
    proposed_square = proposed_density.squared_distance[of_component]
    log_density_ratio = np.log(proposed_square / np.maximum(squared_distance, TINY))

    # a component that could not have been chosen there has the log chance -inf
    with np.errstate(divide="ignore"):
        log_chance_back = np.log(proposed_density.membership[of_component])
        log_chance = np.log(density.membership[of_component])

    correction = dimension / 2 * log_density_ratio + log_chance_back - log_chance
    return proposed, correction


def _noise_of_components(
    mixture: Mixture, component: Array, dimension: int, rng: Rng
) -> Floats:
    """Draw for each point a normal step with the covariance of its component."""
    noise = np.empty((component.size, dimension))
    for k, root in enumerate(mixture.root):
        members = component == k
        standard_normal = rng.standard_normal((int(members.sum()), dimension))
        noise[members] = standard_normal @ root.T
    return noise
