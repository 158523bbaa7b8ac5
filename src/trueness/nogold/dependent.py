r"""What if classifiers err together? Models with dependence, and what they share.

Each keeps the prevalences, sensitivities and specificities of ``model.Independent``
with their priors, so that all of them mean what they meant, and adds a few parameters
to each class that say how errors go together (a :class:`Kind`). Without labels the data
often cannot tell these models apart, although their answers differ (Albert, Dodd 2004,
Biometrics 60:427, doi:10.1111/j.0006-341X.2004.00187.x).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from scipy.special import expit, log_ndtr, ndtri

from trueness._core.arrays import Floats, blocks
from trueness.nogold.model import (
    Independent,
    Patterns,
    Prior,
    mixture_log_likelihood,
    parameter_labels,
)

Rng = np.random.Generator
EDGE = 1e-15
CACHE = 48_000  # numbers in a table of draws: larger ones leave the processor's cache


class Kind(Protocol):
    """How do errors go together within a class?"""

    @property
    def word(self) -> str:
        """What are the additional parameters called?"""

    @property
    def names(self) -> tuple[str, ...]:
        """Of what is there one parameter? The first half is of positives."""

    def natural(self, extra: Floats) -> Floats:
        """Turn coordinates, which are standard normal a priori, into parameters."""

    def probabilities(self, rate: Floats, own: Floats, rows: Floats) -> Floats:
        """Give P(row) of each draw in one class, (n, rows).

        ``rate`` (n, K) is the chance of the vote 1, ``own`` the additional parameters
        of the class.
        """


@final
@dataclass(frozen=True)
class Dependent:
    """Two latent classes whose classifiers may err together.

    Coordinates are normal quantiles of the probabilities, not logits: a direction of
    which the data say nothing is then normal, with light tails, and importance sampling
    keeps more of the proposals.
    """

    patterns: Patterns
    prior: Prior
    kind: Kind

    @property
    def extra(self) -> int:
        """How many parameters more than without dependence?"""
        return len(self.kind.names)

    @property
    def base(self) -> Independent:
        """Give the model without dependence, whose parameters these are."""
        return Independent(self.patterns, self.prior)

    @property
    def rough(self) -> Dependent:
        """Give the model as it is cheap to compute, to search the posterior with."""
        kind = getattr(self.kind, "rough", self.kind)
        return Dependent(self.patterns, self.prior, kind)

    @property
    def dim(self) -> int:
        """How many parameters?"""
        return self.base.dim + self.extra

    @property
    def labels(self) -> tuple[str, ...]:
        """Give the name of every parameter."""
        more = (f"{self.kind.word}[{n}]" for n in self.kind.names)
        return (*parameter_labels(self.patterns), *more)

    def log_prior(self, theta: Floats) -> Floats:
        """Give the density of the prior."""
        v, extra = self._split(theta)
        return self._log_prior(v, extra, *_log_normal_tails(v))

    def _log_prior(
        self, v: Floats, extra: Floats, below: Floats, above: Floats
    ) -> Floats:
        # d logit(Phi(v)) / dv = density(v) / (Phi(v) Phi(-v))
        slope = log_normal(v) - (below + above).sum(axis=1)
        base = self.base.log_prior_of(self.base.from_logs(below, above))
        return np.asarray(base + slope + log_normal(extra))

    def prior_draws(self, n: int, rng: Rng) -> Floats:
        """Draw coordinates from the prior."""
        logit = self.base.prior_draws(n, rng)
        # by the smaller tail, where nothing is lost
        v = np.sign(logit) * -ndtri(expit(-np.abs(logit)))
        return np.hstack([v, rng.standard_normal((n, self.extra))])

    def log_likelihood(self, theta: Floats) -> Floats:
        """Give the log probability of all votes and labels, for each draw."""
        return self.log_densities(theta)[1]

    def log_densities(self, theta: Floats) -> tuple[Floats, Floats]:
        """Give prior and likelihood at once: both need the same logarithms."""
        prior, likelihood = np.empty((2, len(theta)))
        for block in self._blocks(len(theta), self.patterns.rows):
            v, extra = self._split(theta[block])
            below, above = _log_normal_tails(v)
            prior[block] = self._log_prior(v, extra, below, above)
            x = self.base.from_logs(below, above)
            own = self.kind.natural(extra)
            a, b = self._given(np.exp(x.alpha), np.exp(x.beta), own, self.patterns.rows)
            likelihood[block] = mixture_log_likelihood(
                x.phi - x.not_phi,
                np.log(np.maximum(a, 1e-300)),
                np.log(np.maximum(b, 1e-300)),
                self.patterns,
            )
        return prior, likelihood

    def natural(self, theta: Floats) -> dict[str, Floats]:
        """Give prevalence, sensitivity, specificity and the additional parameters."""
        v, extra = self._split(theta)
        base = self.base.natural(self.logits(v))
        return {**base, self.kind.word: self.kind.natural(extra)}

    def class_probabilities(
        self, flat: Mapping[str, Floats], rows: Floats
    ) -> tuple[Floats, Floats]:
        """Give the probability of each pattern in positives and in negatives."""
        alpha, beta = flat["sensitivity"], 1 - flat["specificity"]
        return self._given(alpha, beta, flat[self.kind.word], rows)

    def post_test(
        self, flat: Mapping[str, Floats], rows: Floats, s: int, phi: float | None
    ) -> Floats:
        """Average P(positive | votes) over the posterior."""
        total = np.zeros(len(rows))
        n = len(flat["sensitivity"])
        for block in self._blocks(n, rows):
            part = {k: v[block] for k, v in flat.items()}
            a, b = self.class_probabilities(part, rows)
            share = part["prevalence"][:, [s]] if phi is None else phi
            either = np.maximum(share * a + (1 - share) * b, 1e-300)
            total += (share * a / either).sum(axis=0)
        return total / n

    def _blocks(self, n: int, rows: Floats) -> Iterator[slice]:
        return blocks(n, max(CACHE // max(len(rows), 1), 64))

    def _split(self, theta: Floats) -> tuple[Floats, Floats]:
        """Give the normal quantiles of the base model, and the additional ones."""
        return theta[:, : -self.extra], theta[:, -self.extra :]

    def logits(self, v: Floats) -> Floats:
        """Turn normal quantiles into the coordinates of the base model."""
        return np.asarray(log_ndtr(v) - log_ndtr(-v))

    def _given(
        self, alpha: Floats, beta: Floats, own: Floats, rows: Floats
    ) -> tuple[Floats, Floats]:
        half = self.extra // 2
        a = self.kind.probabilities(inside(alpha), own[:, :half], rows)
        # negatives are positives seen in a mirror: there a vote of 0 is the right one
        b = self.kind.probabilities(inside(1 - beta), own[:, half:], 1 - rows)
        return a, b


def _log_normal_tails(v: Floats) -> tuple[Floats, Floats]:
    """Give the logs of Phi(v) and of Phi(-v), without loss."""
    return np.asarray(log_ndtr(v)), np.asarray(log_ndtr(-v))


def log_normal(x: Floats) -> Floats:
    """Sum the log densities of standard normal coordinates, (n, size)."""
    with np.errstate(over="ignore"):  # far out there is no density
        return np.asarray(-(x**2 / 2 + 0.5 * np.log(2 * np.pi)).sum(axis=1))


def inside(rate: Floats) -> Floats:
    """Keep a probability off 0 and 1."""
    return np.clip(rate, EDGE, 1 - EDGE)


def independent_votes(rate: Floats, rows: Floats) -> Floats:
    """Give the probability of each row when votes are independent, (n, rows)."""
    ones, zeros = (rows == 1).astype(float), (rows == 0).astype(float)
    log_p = np.einsum("nk,mk->nm", np.log(rate), ones)
    log_p += np.einsum("nk,mk->nm", np.log1p(-rate), zeros)
    return np.asarray(np.exp(log_p))
