"""What is the probability of these votes when nobody knows the truth?

Two latent classes, whose tests may share errors (docs/maths/nogold.md, "Model"). The
sampler works on the whole space: coordinates are normal quantiles of phi, alpha and
either beta or, under the order constraint, beta / alpha.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaln, ndtr, ndtri

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks.errors import InputError
from trueness._core.checks.options import choice, positive_number
from trueness._core.checks.words import listing, nearest
from trueness.nogold.patterns import Patterns, parameter_labels
from trueness.nogold.shared_errors import (
    Halves,
    independent_patterns,
    normal_quantile,
    shared_patterns,
    split_into_halves,
)

LEAST_ORDERED = 1e-6  # proportion of a prior that the order constraint may leave
LARGEST_QUANTILE = 8.2  # beyond it a normal probability rounds to 0 or 1
MAX_BLOCK_SIZE = 2**18  # points times cells whose likelihood is computed at a time
TINY = 1e-300  # in place of a probability of 0, which has no logarithm
PARAMETERS = ("prevalence", "sensitivity", "specificity")


class Accuracies(NamedTuple):
    """Sensitivities and specificities at n points, and one minus each of them.

    Both are computed, since one minus a value near 1 would lose its digits.
    """

    alpha: Floats  # (n, K), probability of a yes in positives
    not_alpha: Floats
    beta: Floats  # (n, K), probability of a yes in negatives
    not_beta: Floats
    sigma: Floats  # (n, 2), how much votes depend on the ease of a case; or (n, 0)


class Parameters(NamedTuple):
    """All parameters of the model at n points."""

    phi: Floats  # (n, S), prevalence of each population
    not_phi: Floats
    tests: Accuracies


class BetaPriors(NamedTuple):
    """Numbers (a, b) of the Beta prior of each parameter."""

    phi: Floats  # (S, 2)
    alpha: Floats  # (K, 2)
    beta: Floats  # (K, 2)


@final
@dataclass(frozen=True)
class LatentModel:
    """Two latent classes whose tests may share errors (``shared``), or do not."""

    patterns: Patterns
    prior: BetaPriors
    ordered: bool  # whether alpha >= beta
    shared: bool = False

    @cached_property
    def in_order(self) -> Floats:
        """Return which proportion of each test's prior has alpha >= beta."""
        alpha_prior = self.prior.alpha
        beta_prior = self.prior.beta
        return order_mass(
            alpha_prior[:, 0], alpha_prior[:, 1], beta_prior[:, 0], beta_prior[:, 1]
        )

    @property
    def dim(self) -> int:
        """Return the number of parameters."""
        populations = len(self.patterns.populations)
        tests = len(self.patterns.names)
        sigmas = 2 if self.shared else 0
        return populations + 2 * tests + sigmas

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the name of every parameter."""
        names = parameter_labels(self.patterns)
        if self.shared:
            return (*names, "spread[pos]", "spread[neg]")
        return names

    def log_ratio(self, coordinates: Floats) -> Floats:
        """Return the log of likelihood times prior over the standard normal density."""
        counts = self.patterns.cells.counts
        block_size = max(MAX_BLOCK_SIZE // max(counts.size, 1), 64)
        log_ratio = np.empty(len(coordinates))
        for block in blocks(len(coordinates), block_size):
            log_prior, log_cells = self.log_cells(coordinates[block])
            log_ratio[block] = log_prior + log_cells @ counts
        return log_ratio

    def log_cells(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """Return the log prior over a normal density, and log P of each cell."""
        parameters = self._parameters(coordinates)
        in_positives, in_negatives = self._class_probabilities(
            parameters.tests, self.patterns.rows, self.patterns.halves
        )
        log_cells = self.patterns.log_probabilities(
            parameters.phi, parameters.not_phi, in_positives, in_negatives
        )
        return self._log_prior(parameters), log_cells

    def _log_prior(self, parameters: Parameters) -> Floats:
        """Return the log prior density, over that of the coordinates."""
        phi, not_phi, tests = parameters

        log_density = np.zeros(len(phi))
        for yes, no, shapes in (
            (phi, not_phi, self.prior.phi),
            (tests.alpha, tests.not_alpha, self.prior.alpha),
            (tests.beta, tests.not_beta, self.prior.beta),
        ):
            # the log density of Beta(a, b) at each parameter, added up
            a, b = shapes.T
            if (shapes != 1).any():  # a uniform density is 1
                log_density += np.log(np.maximum(yes, TINY)) @ (a - 1)
                log_density += np.log(np.maximum(no, TINY)) @ (b - 1)
            log_density -= betaln(a, b).sum()

        if self.ordered:
            # what the constraint leaves, and d beta = alpha d(beta / alpha)
            log_jacobian = np.log(tests.alpha).sum(axis=1)
            log_density += log_jacobian - np.log(self.in_order).sum()

        return log_density

    def _parameters(self, coordinates: Floats) -> Parameters:
        """Return the parameters at rows of coordinates, (n, d)."""
        populations = len(self.patterns.populations)
        tests = len(self.patterns.names)
        coordinates = np.clip(coordinates, -LARGEST_QUANTILE, LARGEST_QUANTILE)

        # each probability and its complement: the smaller tail is exact, and the larger
        # one is 1 minus it
        quantile = coordinates[:, : populations + 2 * tests]
        above = quantile > 0
        tail = ndtr(-np.abs(quantile))
        probability = np.where(above, 1 - tail, tail)
        complement = np.where(above, tail, 1 - tail)

        of_alpha = slice(populations, populations + tests)
        of_beta = slice(populations + tests, populations + 2 * tests)
        alpha = probability[:, of_alpha]
        not_alpha = complement[:, of_alpha]
        beta = probability[:, of_beta]
        not_beta = complement[:, of_beta]

        if self.ordered:  # the last coordinates are those of beta / alpha
            # beta = alpha r with a ratio r below 1: 1 - beta without a difference
            not_beta = not_alpha + alpha * not_beta
            beta = alpha * beta

        # half-normal a priori: at 1 half of the variance is the case's own
        sigma = -ndtri(ndtr(-coordinates[:, populations + 2 * tests :]) / 2)
        return Parameters(
            phi=probability[:, :populations],
            not_phi=complement[:, :populations],
            tests=Accuracies(alpha, not_alpha, beta, not_beta, sigma),
        )

    def _class_probabilities(
        self, tests: Accuracies, rows: Floats, halves: Halves
    ) -> tuple[Floats, Floats]:
        """Return the probability of each pattern in positives and in negatives."""
        if not self.shared:
            in_positives = independent_patterns(tests.alpha, tests.not_alpha, rows)
            in_negatives = independent_patterns(tests.beta, tests.not_beta, rows)
            return in_positives, in_negatives

        alpha_quantile = normal_quantile(tests.alpha, tests.not_alpha)
        beta_quantile = normal_quantile(tests.beta, tests.not_beta)
        in_positives = shared_patterns(alpha_quantile, tests.sigma[:, 0], halves)
        in_negatives = shared_patterns(beta_quantile, tests.sigma[:, 1], halves)

        return in_positives, in_negatives

    def natural(self, coordinates: Floats) -> dict[str, Floats]:
        """Return prevalence, sensitivity, specificity and, if shared, both sigmas."""
        parameters = self._parameters(coordinates)
        natural = {
            "prevalence": parameters.phi,
            "sensitivity": parameters.tests.alpha,
            "specificity": parameters.tests.not_beta,
        }
        if self.shared:
            natural["spread"] = parameters.tests.sigma

        return natural

    def prior_draws(self, n: int, rng: np.random.Generator) -> dict[str, Floats]:
        """Return coordinates of draws from the prior, chosen by their weights."""
        coordinates = rng.standard_normal((4 * n, self.dim))
        # the coordinates are normal: their weights make them draws from the prior
        weight = np.exp(self._log_prior(self._parameters(coordinates)))
        rows = rng.choice(len(coordinates), n, p=weight / weight.sum())
        return self.natural(coordinates[rows])

    def class_probabilities(
        self, draws: Mapping[str, Floats], rows: Floats
    ) -> tuple[Floats, Floats]:
        """Return the probability of each pattern in positives and in negatives.

        ``draws`` are those of ``natural``, ``rows`` (m, K) any votes.
        """
        alpha = draws["sensitivity"]
        not_beta = draws["specificity"]
        if not rows.size:
            return np.empty((len(alpha), 0)), np.empty((len(alpha), 0))

        tests = Accuracies(
            alpha=alpha,
            not_alpha=1 - alpha,
            beta=1 - not_beta,
            not_beta=not_beta,
            sigma=draws.get("spread", alpha[:, :0]),
        )

        return self._class_probabilities(tests, rows, split_into_halves(rows))


def read_model(
    patterns: Patterns, prior: Mapping[str, Any] | None, ordered: bool
) -> LatentModel:
    """Return a model with a prior as people write it; what is not named is uniform.

    The prior is a mapping such as ``{"sensitivity": {"A": (a, b)}, ...}``.
    """
    if prior is not None and not isinstance(prior, Mapping):
        raise InputError(
            f"prior must be a mapping such as "
            f'{{"prevalence": (1, 1), "sensitivity": {{"A": (9, 1)}}}}; '
            f"found {prior!r}.",
            option="prior",
        )

    by_parameter = prior or {}
    for parameter in by_parameter:
        choice(parameter, PARAMETERS, "The parameters of prior")

    phi = _beta_shapes(by_parameter, "prevalence", patterns.populations)
    alpha = _beta_shapes(by_parameter, "sensitivity", patterns.names)
    specificity = _beta_shapes(by_parameter, "specificity", patterns.names)
    # beta is 1 - specificity, so a and b change places
    beta = specificity[:, ::-1]

    model = LatentModel(patterns, BetaPriors(phi, alpha, beta), ordered)
    if ordered:
        _check_order_is_possible(model)

    return model


def _beta_shapes(
    prior: Mapping[str, object], parameter: str, names: Sequence[str]
) -> Floats:
    """Read (a, b) of the Beta prior of each name, the same for all or by name."""
    pairs = prior.get(parameter)
    if not isinstance(pairs, Mapping):
        pairs = dict.fromkeys(names, pairs)

    shapes = np.ones((len(names), 2))  # uniform
    for name, pair in pairs.items():
        if name not in names:
            raise InputError(
                f"prior[{parameter!r}] names {name!r}, but there are only "
                f"{listing(names)}.{nearest(name, names)}",
                option="prior",
            )

        if pair is None:
            continue

        if not isinstance(pair, (tuple, list, np.ndarray)) or len(pair) != 2:
            raise InputError(
                f"prior[{parameter!r}] must be (a, b) of a Beta distribution, such as "
                f"(1, 1); found {pair!r}.",
                option="prior",
            )

        described = f"Each of (a, b) of prior[{parameter!r}]"
        row = list(names).index(name)
        shapes[row] = [positive_number(number, described) for number in pair]

    return shapes


def _check_order_is_possible(model: LatentModel) -> None:
    """Refuse a prior of which the order constraint leaves next to nothing."""
    for name, in_order in zip(model.patterns.names, model.in_order, strict=True):
        if in_order < LEAST_ORDERED:
            raise InputError(
                f"The prior of {name!r} is impossible with the order constraint: "
                f"only {in_order:.2g} of it has sensitivity >= 1 - specificity. Are "
                "positive and negative swapped?",
                option="ordered",
                example=False,
            )


def order_mass(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> Floats:
    """Probability that Beta(a, b) is at least as large as Beta(c, d), independently.

    The integral of the density of one times the distribution function of the other, by
    the trapezoid rule on the logit scale. Its nodes follow the narrower of both, which
    the step must resolve.

    >>> float(order_mass(1.0, 1.0, 1.0, 1.0))
    0.5
    """
    a, b, c, d = np.broadcast_arrays(
        np.asarray(a, np.float64),
        np.asarray(b, np.float64),
        np.asarray(c, np.float64),
        np.asarray(d, np.float64),
    )

    # X >= Y is 1 - Y >= 1 - X, where 1 - Y is Beta(d, c) and 1 - X is Beta(b, a): so
    # the narrower distribution can always stand on the left
    second_is_narrower = 1 / c + 1 / d < 1 / a + 1 / b
    narrow_a = np.where(second_is_narrower, d, a)[..., None]
    narrow_b = np.where(second_is_narrower, c, b)[..., None]
    wide_a = np.where(second_is_narrower, b, c)[..., None]
    wide_b = np.where(second_is_narrower, a, d)[..., None]

    # about 0.4 standard deviations a step, and 40 of them on either side
    step = 0.4 * np.sqrt(1 / narrow_a + 1 / narrow_b)
    logit = np.log(narrow_a / narrow_b) + step * np.arange(-100, 101)
    log_p, log_not_p = _log_expits(logit)

    # dp = p (1 - p) d logit, hence a and b in place of a - 1 and b - 1
    log_density = narrow_a * log_p + narrow_b * log_not_p - betaln(narrow_a, narrow_b)
    density = np.exp(log_density)
    wide_is_below = betainc(wide_a, wide_b, np.exp(log_p))

    # the same rule applied to 1 takes out what rounding adds
    integral = (density * wide_is_below).sum(axis=-1)
    return np.asarray(integral / density.sum(axis=-1))


def _log_expits(logit: Array) -> tuple[Floats, Floats]:
    """Return log p and log(1 - p) of a logit; neither overflows."""
    excess = np.log1p(np.exp(-np.abs(logit)))
    log_p = np.minimum(logit, 0) - excess
    log_not_p = -np.maximum(logit, 0) - excess
    return log_p, log_not_p
