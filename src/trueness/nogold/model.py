r"""What is the probability of these votes when nobody knows the truth?

Two latent classes. A case of population s is positive with probability phi_s;
classifier k votes 1 with probability alpha_k for positives and beta_k for negatives,
independently of the other classifiers (Keith, Davey, Boyd 2012, Methods). Everything is
a function of how many cases showed each pattern of votes:

.. math::

   \ell = \sum_{sj} u_{sj} \log(\phi_s A_j + (1-\phi_s) B_j)
        + p_{sj} \log(\phi_s A_j) + n_{sj} \log((1-\phi_s) B_j)

with A_j, B_j the probabilities of pattern j in positives and negatives (a missing vote
takes no part) and u, p, n the cases without a label, known positive and known negative.

Samplers work on the whole real line: the coordinates are logit(phi), logit(alpha) and
either logit(beta) or, under the order constraint, logit(beta / alpha), which makes the
triangle alpha >= beta unbounded, so no draw is ever wasted outside of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, final

import numpy as np
from scipy.special import betaln, expit

from trueness._core.arrays import Array, Floats, blocks
from trueness.counts.values import Panel
from trueness.nogold import _checks as _votes
from trueness.nogold.sampling.ordered_betas import (
    log_sigmoids,
    order_mass,
    ordered_betas,
)
from trueness.nogold.sampling.products import product

Rng = np.random.Generator
# the smallest share of a prior that the order constraint may leave
LEAST_ORDERED = 1e-6
# probabilities nearest to 0 and 1 that have a logarithm of their own
EDGE, BELOW_ONE = 1e-300, 1 - 2**-53


class LatentRates(NamedTuple):
    """The parameters, or a count for each of them, one row a draw.

    With counts of all latent positives at hand each is a share, of cases or of votes.
    """

    phi: Floats  # (n, S) of positives among the cases
    alpha: Floats  # (n, K) of votes for "positive" among positives
    beta: Floats  # (n, K) the same among negatives


@final
@dataclass(frozen=True)
class Patterns:
    """How many cases of each population showed each pattern of votes?

    The counts may have another axis before these two: so many tables at once.
    """

    names: tuple[str, ...]
    populations: tuple[str, ...]
    rows: Floats  # (m, K) of 0, 1 and NaN
    unknown: Floats  # (S, m)
    pos: Floats
    neg: Floats

    @cached_property
    def ones(self) -> Floats:
        """Where is the vote 1?"""
        return np.asarray(self.rows == 1, dtype=np.float64)

    @cached_property
    def zeros(self) -> Floats:
        """Where is the vote 0?"""
        return np.asarray(self.rows == 0, dtype=np.float64)

    @cached_property
    def design(self) -> Array:
        """Which set of tests was run? The sets are numbered, (m,)."""
        seen = ~np.isnan(self.rows)
        return np.unique(seen, axis=0, return_inverse=True)[1].ravel()

    @property
    def total(self) -> Floats:
        """How many cases, labelled or not?"""
        return self.unknown + self.pos + self.neg

    def completed(self, hidden: Array) -> tuple[LatentRates, LatentRates]:
        """Count what speaks for and against each parameter, if so many are positive.

        ``hidden`` (n, S, m) is how many of the cases without a label are.
        """
        pos, neg = hidden + self.pos, self.unknown - hidden + self.neg
        in_pos, in_neg = pos.sum(axis=1), neg.sum(axis=1)
        yes, no = (
            (product(in_pos, vote), product(in_neg, vote))
            for vote in (self.ones, self.zeros)
        )
        return LatentRates(pos.sum(axis=2), *yes), LatentRates(neg.sum(axis=2), *no)


def read_patterns(data: Any) -> Patterns:
    """Count the patterns of one panel, or of each panel of a mapping."""
    panels = data if isinstance(data, Mapping) else {"": data}
    panels = _votes.panels_of_votes(panels)
    first = next(iter(panels.values()))
    panels = {s: p[list(first.names)] for s, p in panels.items()}
    together: Panel = sum(panels.values())
    at = {pattern_key(row): j for j, row in enumerate(together.rows)}
    counts = np.zeros((3, len(panels), len(together)))
    for s, p in enumerate(panels.values()):
        j = [at[pattern_key(row)] for row in p.rows]
        counts[:, s, j] = p.unknown, p.pos, p.neg
    return Patterns(first.names, tuple(map(str, panels)), together.rows, *counts)


def pattern_key(row: Floats) -> bytes:
    """Give a name to a pattern, so that patterns can be looked up."""
    return np.nan_to_num(row, nan=2.0).astype(np.int8).tobytes()


def pattern_word(row: Floats) -> str:
    """Write a pattern, a missing vote as a point: "10."."""
    return "".join("." if np.isnan(v) else f"{v:.0f}" for v in row)


Betas = tuple[Floats, ...]  # of phi, alpha and beta: a and b, (2, ...) each


@final
@dataclass(frozen=True)
class Prior:
    """Beta(a, b) for every parameter; each array holds one row (a, b) a parameter."""

    prevalence: Floats  # (S, 2)
    sensitivity: Floats  # (K, 2)
    specificity: Floats  # (K, 2)
    ordered: bool

    @property
    def betas(self) -> Betas:
        """Give a and b; those of beta = 1 - specificity in the other order."""
        return self.prevalence.T, self.sensitivity.T, self.specificity.T[::-1]

    @cached_property
    def in_order(self) -> Floats:
        """Which share of each classifier's prior has alpha >= beta?"""
        _, alpha, beta = self.betas
        return order_mass(*alpha, *beta)

    @cached_property
    def log_mass(self) -> float:
        """Give the log of the share of the prior that the order constraint leaves."""
        return float(np.log(self.in_order).sum()) if self.ordered else 0.0

    def updated(self, yes: LatentRates, no: LatentRates) -> Betas:
        """Give the posterior, when all labels are known: Beta(a + yes, b + no)."""
        return tuple(
            np.stack([a + y, b + n])
            for (a, b), y, n in zip(self.betas, yes, no, strict=True)
        )


def draw_rates(betas: Betas, ordered: bool, rng: Rng) -> LatentRates:
    """Draw all parameters from Beta distributions, on the triangle if ordered."""
    phi, alpha, beta = betas
    first = np.asarray(rng.beta(*phi))
    return LatentRates(first, *_pairs(*alpha, *beta, ordered=ordered, rng=rng))


def _pairs(
    a: Floats, b: Floats, c: Floats, d: Floats, *, ordered: bool, rng: Rng
) -> tuple[Floats, Floats]:
    if ordered:
        return ordered_betas(a, b, c, d, rng=rng)
    return rng.beta(a, b), rng.beta(c, d)


def read_prior(given: Any, patterns: Patterns, ordered: bool) -> Prior:
    """Read ``{"sensitivity": {"A": (a, b)}, ...}``; what is not named is uniform."""
    given = _votes.prior_mapping(given, ("prevalence", "sensitivity", "specificity"))
    phi, sens, spec = (
        np.array([_votes.beta_prior(given.get(word), n, names, word) for n in names])
        for word, names in (
            ("prevalence", patterns.populations),
            ("sensitivity", patterns.names),
            ("specificity", patterns.names),
        )
    )
    prior = Prior(phi, sens, spec, ordered)
    if ordered:
        _votes.possible_order(prior.in_order, patterns.names, LEAST_ORDERED)
    return prior


class Logs(NamedTuple):
    """Logarithms of all probabilities and of their complements, one row a draw."""

    phi: Floats
    not_phi: Floats
    alpha: Floats
    not_alpha: Floats
    beta: Floats
    not_beta: Floats
    last: Floats  # of the third coordinate: beta, or beta / alpha if ordered
    not_last: Floats

    @property
    def probabilities(self) -> Floats:
        """Give the logarithms of the probabilities proper, side by side."""
        return np.hstack(self[:6])

    def log_slope(self, ordered: bool) -> Floats:
        """Give the log of the volume that a unit of the coordinates takes."""
        out = (self.phi + self.not_phi).sum(axis=1)
        out += (self.alpha + self.not_alpha).sum(axis=1)
        out += (self.last + self.not_last).sum(axis=1)
        # d beta = alpha d(beta / alpha)
        return np.asarray(out + self.alpha.sum(axis=1) if ordered else out)


@final
@dataclass(frozen=True)
class Independent:
    """Classifiers that err independently within each class: the paper's model."""

    patterns: Patterns
    prior: Prior

    @property
    def dim(self) -> int:
        """How many parameters?"""
        return len(self.patterns.populations) + 2 * len(self.patterns.names)

    @property
    def extra(self) -> int:
        """How many parameters besides prevalences and accuracies?"""
        return 0

    @property
    def labels(self) -> tuple[str, ...]:
        """Give the name of every parameter."""
        return parameter_labels(self.patterns)

    def split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Give the coordinates of prevalence, sensitivity and specificity."""
        s, k = len(self.patterns.populations), len(self.patterns.names)
        return theta[:, :s], theta[:, s : s + k], theta[:, s + k : s + 2 * k]

    def logs(self, theta: Floats) -> Logs:
        """Turn coordinates into probabilities, without loss near 0 and 1."""
        return self.from_logs(*log_sigmoids(theta))

    def from_logs(self, log_p: Floats, log_q: Floats) -> Logs:
        """Take the logs of what the coordinates stand for, and of their complements."""
        phi, alpha, last = self.split(log_p)
        not_phi, not_alpha, not_last = self.split(log_q)
        beta, not_beta = last, not_last
        if self.prior.ordered:  # the last coordinate is beta / alpha
            not_beta = np.logaddexp(not_alpha, alpha + not_last)
            beta = alpha + last
        return Logs(phi, not_phi, alpha, not_alpha, beta, not_beta, last, not_last)

    def log_prior(self, theta: Floats) -> Floats:
        """Give the density of the prior in these coordinates."""
        return self.log_prior_of(self.logs(theta))

    def log_prior_of(self, x: Logs) -> Floats:
        """Give the density of the prior in these coordinates, at given logarithms."""
        phi, alpha, beta = self.prior.betas
        out = x.log_slope(self.prior.ordered) - self.prior.log_mass
        out += _log_beta(x.phi, x.not_phi, phi) + _log_beta(x.alpha, x.not_alpha, alpha)
        return np.asarray(out + _log_beta(x.beta, x.not_beta, beta))

    def prior_draws(self, n: int, rng: Rng) -> Floats:
        """Draw coordinates from the prior."""
        (a, b), *pair = self.prior.betas
        phi = rng.beta(a, b, (n, a.size))
        alpha, beta = np.empty((2, n, len(self.patterns.names)))
        for k, each in enumerate(np.vstack(pair).T):
            each = np.repeat(each[:, None], n, axis=1)
            drawn = _pairs(*each, ordered=self.prior.ordered, rng=rng)
            alpha[:, k], beta[:, k] = drawn
        return self.coordinates(LatentRates(phi, alpha, beta))

    def coordinates(self, rates: LatentRates) -> Floats:
        """Turn parameters into coordinates."""
        phi, alpha, beta = (np.clip(r, EDGE, BELOW_ONE) for r in rates)
        last = beta / alpha if self.prior.ordered else beta
        value = np.clip(np.hstack([phi, alpha, last]), EDGE, BELOW_ONE)
        return np.asarray(np.log(value) - np.log1p(-value))

    def rates(self, theta: Floats) -> LatentRates:
        """Turn coordinates into parameters."""
        x = self.logs(theta)
        return LatentRates(np.exp(x.phi), np.exp(x.alpha), np.exp(x.beta))

    def latent_share(self, theta: Floats) -> Floats:
        """How likely is a case of each population and pattern positive? (n, S, m)"""
        odds = self.log_odds(self.logs(theta))
        return np.asarray(expit(self.split(theta)[0][:, :, None] + odds[:, None, :]))

    def log_odds(self, x: Logs) -> Floats:
        """How much likelier is each pattern in positives than in negatives, log A / B?

        With all votes present a 0 is what is not a 1, and one product is enough.
        """
        yes, no = x.alpha - x.beta, x.not_alpha - x.not_beta
        ones, zeros = self.patterns.ones.T, self.patterns.zeros.T
        if np.isnan(self.patterns.rows).any():
            return product(yes, ones) + product(no, zeros)
        return np.asarray(product(yes - no, ones) + no.sum(axis=1)[:, None])

    def log_likelihood(self, theta: Floats) -> Floats:
        """Give the log probability of all votes and labels, for each draw."""
        return self._log_likelihood(self.split(theta)[0], self.logs(theta))

    def _log_likelihood(self, logit_phi: Floats, x: Logs) -> Floats:
        # log(phi A + (1 - phi) B) = log((1 - phi) B) + log(1 + odds): cases without a
        # label count as negatives first, and add what they might be instead
        patterns, odds = self.patterns, self.log_odds(x)
        negative = patterns.unknown + patterns.neg
        out = product(x.not_phi, negative.sum(axis=1))
        out += product(x.phi, patterns.pos.sum(axis=1))
        for s, u in enumerate(patterns.unknown):
            out += product(_softplus(logit_phi[:, s, None] + odds), u)
        for count, yes, no in (
            (patterns.pos, x.alpha, x.not_alpha),
            (negative, x.beta, x.not_beta),
        ):
            n = count.sum(axis=0)
            out += product(yes, product(patterns.ones.T, n))
            out += product(no, product(patterns.zeros.T, n))
        return np.asarray(out)

    def log_densities(self, theta: Floats) -> tuple[Floats, Floats]:
        """Give prior and likelihood at once: both need the same logarithms."""
        x = self.logs(theta)
        return self.log_prior_of(x), self._log_likelihood(self.split(theta)[0], x)

    def class_probabilities(
        self, flat: Mapping[str, Floats], rows: Floats
    ) -> tuple[Floats, Floats]:
        """Give the probability of each pattern in positives and in negatives."""
        out = []
        for rate in (flat["sensitivity"], 1 - flat["specificity"]):
            total = np.ones((len(rate), len(rows)))
            for k, vote in enumerate(rows.T):
                here = np.where(vote == 1, rate[:, [k]], 1 - rate[:, [k]])
                total *= np.where(np.isnan(vote), 1.0, here)
            out.append(total)
        return out[0], out[1]

    def post_test(
        self, flat: Mapping[str, Floats], rows: Floats, s: int, phi: float | None
    ) -> Floats:
        """Average P(positive | votes) over the posterior."""
        ones, zeros = (rows == 1).astype(np.float64), (rows == 0).astype(np.float64)
        total = np.zeros(len(rows))
        n = len(flat["sensitivity"])
        for b in blocks(n, max(1, 2**22 // max(len(rows), 1))):
            x = {k: np.clip(v[b], EDGE, BELOW_ONE) for k, v in flat.items()}
            alpha, beta = x["sensitivity"], 1 - x["specificity"]
            share = x["prevalence"][:, s] if phi is None else np.full(len(alpha), phi)
            odds = (np.log(share) - np.log1p(-share))[:, None]
            # Bayes in log-odds: each vote adds the log of its likelihood ratio
            odds = odds + product(np.log(alpha) - np.log(beta), ones.T)
            odds += product(np.log1p(-alpha) - np.log(x["specificity"]), zeros.T)
            total += expit(odds).sum(axis=0)
        return total / n

    def natural(self, theta: Floats) -> dict[str, Floats]:
        """Give prevalence, sensitivity and specificity."""
        x = self.logs(theta)
        return {
            "prevalence": np.exp(x.phi),
            "sensitivity": np.exp(x.alpha),
            "specificity": np.exp(x.not_beta),
        }


def parameter_labels(patterns: Patterns) -> tuple[str, ...]:
    """Give the name of every parameter, in the order of the draws."""
    many = len(patterns.populations) > 1
    return (
        *(
            (f"prevalence[{s}]" for s in patterns.populations)
            if many
            else ("prevalence",)
        ),
        *(f"sensitivity[{n}]" for n in patterns.names),
        *(f"specificity[{n}]" for n in patterns.names),
    )


def by_name(
    patterns: Patterns, each: Sequence[Any]
) -> tuple[Any, Mapping[str, Any], Mapping[str, Any]]:
    """Give what there is of each parameter by population, and by classifier twice.

    A single population has no name: what there is of it is given as it is.
    """
    s, k = len(patterns.populations), len(patterns.names)
    phi, sens, spec = (
        MappingProxyType(dict(zip(names, part, strict=True)))
        for names, part in (
            (patterns.populations, each[:s]),
            (patterns.names, each[s : s + k]),
            (patterns.names, each[s + k :]),
        )
    )
    return each[0] if s == 1 else phi, sens, spec


def _log_beta(log_p: Floats, log_q: Floats, ab: Floats) -> Floats:
    """Sum the log densities of Beta(a, b) at p = 1 - q."""
    out = product(log_p, ab[0] - 1) + product(log_q, ab[1] - 1)
    return np.asarray(out - betaln(*ab).sum())


def mixture_log_likelihood(
    logit_phi: Floats, log_a: Floats, log_b: Floats, patterns: Patterns
) -> Floats:
    """Mix the two classes in each population and sum over all cases."""
    out = np.zeros(len(log_a))
    for s in range(len(patterns.populations)):
        phi, not_phi = log_sigmoids(logit_phi[:, s])
        u, p, n = patterns.unknown[s], patterns.pos[s], patterns.neg[s]
        odds = logit_phi[:, s, None] + log_a - log_b
        out += product(_softplus(odds), u) + product(log_b, u + n)
        out += (u + n).sum() * not_phi
        if p.any():
            out += product(log_a, p) + p.sum() * phi
    return out


def _softplus(x: Array) -> Floats:
    """Give log(1 + exp(x)); plain log is vectorised in NumPy, log1p is not."""
    out = np.exp(-np.abs(x))
    out += 1
    np.log(out, out=out)
    out += np.maximum(x, 0)
    return out
