r"""What if some cases are hard for every classifier?

Within a class every case has its own ease z,

.. math:: P(x_k = 1 \mid z) = \Phi(\sqrt{1 + \sigma^2}\,\Phi^{-1}(\alpha_k) + \sigma z),
   \qquad z \sim N(0, 1)

with one sigma for positives and one for negatives (Qu, Tan, Kutner 1996, Biometrics
52:797, doi:10.2307/2533043). The root keeps alpha_k the sensitivity itself, so that all
priors mean what they meant; sigma = 0 is independence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import ndtr, ndtri

from trueness._core.arrays import Floats, blocks
from trueness.nogold.model import (
    Independent,
    Patterns,
    Prior,
    mixture_log_likelihood,
    parameter_labels,
)
from trueness.nogold.sampling.products import product

Rng = np.random.Generator
# of the half-normal prior of sigma: at 1 half of the variance is the case's own
SPREAD = 1.0
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(17)
NODES, WEIGHTS = _NODES, _WEIGHTS / _WEIGHTS.sum()


@final
@dataclass(frozen=True)
class RandomEffect:
    """Classifiers that err together on hard cases: one more sigma a class."""

    patterns: Patterns
    prior: Prior

    @property
    def extra(self) -> int:
        """How many parameters more than without dependence?"""
        return 2

    @property
    def base(self) -> Independent:
        """Give the model without dependence, whose parameters these are."""
        return Independent(self.patterns, self.prior)

    @property
    def dim(self) -> int:
        """How many parameters?"""
        return self.base.dim + 2

    @property
    def labels(self) -> tuple[str, ...]:
        """Give the name of every parameter."""
        return (*parameter_labels(self.patterns), "spread[pos]", "spread[neg]")

    def log_prior(self, theta: Floats) -> Floats:
        """Give the density of the prior; sigma is half-normal, in log sigma."""
        log_sigma = theta[:, -2:]
        sigma = np.exp(np.minimum(log_sigma, 300))
        with np.errstate(over="ignore"):
            half = (
                -(sigma**2) / (2 * SPREAD**2) + 0.5 * np.log(2 / np.pi) - np.log(SPREAD)
            )
        return np.asarray(
            self.base.log_prior(theta[:, :-2]) + (half + log_sigma).sum(axis=1)
        )

    def prior_draws(self, n: int, rng: Rng) -> Floats:
        """Draw coordinates from the prior."""
        sigma = np.abs(rng.normal(scale=SPREAD, size=(n, 2)))
        return np.hstack([self.base.prior_draws(n, rng), np.log(sigma)])

    def log_likelihood(self, theta: Floats) -> Floats:
        """Give the log probability of all votes and labels, for each draw."""
        x = self.base.logs(theta[:, :-2])
        sigma = np.exp(np.clip(theta[:, -2:], -20, 5))
        rows = self.patterns.rows
        log_a = _log_patterns(np.exp(x.alpha), sigma[:, 0], rows)
        log_b = _log_patterns(np.exp(x.beta), sigma[:, 1], rows)
        f = self.base.split(theta[:, :-2])[0]
        return mixture_log_likelihood(f, log_a, log_b, self.patterns)

    def log_densities(self, theta: Floats) -> tuple[Floats, Floats]:
        """Give prior and likelihood."""
        return self.log_prior(theta), self.log_likelihood(theta)

    def natural(self, theta: Floats) -> dict[str, Floats]:
        """Give prevalence, sensitivity, specificity and sigma."""
        out = self.base.natural(theta[:, :-2])
        return {**out, "spread": np.exp(theta[:, -2:])}

    def class_probabilities(
        self, flat: Mapping[str, Floats], rows: Floats
    ) -> tuple[Floats, Floats]:
        """Give the probability of each pattern in positives and in negatives."""
        rates = (flat["sensitivity"], 1 - flat["specificity"])
        a, b = (
            np.exp(_log_patterns(rate, flat["spread"][:, c], rows))
            for c, rate in enumerate(rates)
        )
        return a, b

    def post_test(
        self, flat: Mapping[str, Floats], rows: Floats, s: int, phi: float | None
    ) -> Floats:
        """Average P(positive | votes) over the posterior."""
        total = np.zeros(len(rows))
        n = len(flat["sensitivity"])
        for block in blocks(n, 4096):
            part = {k: v[block] for k, v in flat.items()}
            a, b = self.class_probabilities(part, rows)
            share = part["prevalence"][:, [s]] if phi is None else phi
            total += (share * a / (share * a + (1 - share) * b)).sum(axis=0)
        return total / n


def _log_patterns(rate: Floats, sigma: Floats, rows: Floats) -> Floats:
    """Integrate over the ease of a case by Gauss and Hermite."""
    ones, zeros = (rows == 1).astype(float).T, (rows == 0).astype(float).T
    place = ndtri(np.clip(rate, 1e-15, 1 - 1e-15)) * np.sqrt(1 + sigma**2)[:, None]
    total = np.zeros((len(rate), len(rows)))
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        at = place + (sigma * node)[:, None]
        yes, no = (
            np.log(np.maximum(ndtr(at), 1e-300)),
            np.log(np.maximum(ndtr(-at), 1e-300)),
        )
        total += weight * np.exp(product(yes, ones) + product(no, zeros))
    return np.log(np.maximum(total, 1e-300))
