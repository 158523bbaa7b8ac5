r"""Would the fit be better if two classifiers could err together?

A score test (Lagrange multipliers; a "modification index"): the model of independent
errors is widened by a correlation of two classifiers within each class,

.. math::

   P(x \mid +) = \prod_k \alpha_k^{x_k} (1-\alpha_k)^{1-x_k}
   \, (1 + \rho^+_{ij} z_i z_j), \qquad
   z_k = \frac{x_k - \alpha_k}{\sqrt{\alpha_k (1-\alpha_k)}}

and likewise for negatives, which is the covariance of Dendukuri and Joseph (2001,
Biometrics 57:158, doi:10.1111/j.0006-341X.2001.00158.x) in units of standard
deviations. The statistic is the slope of the log likelihood at rho = 0, cleared of the
slopes of all other parameters, so that these need not be at their maximum to the last
digit (Neyman's C(alpha)). Its distribution is simulated: with sensitivities near 1 and
empty patterns, chi-square with two degrees of freedom is too optimistic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness.nogold.maximum import em_step, highest
from trueness.nogold.model import (
    Independent,
    LatentRates,
    Patterns,
    pattern_key,
    read_prior,
)

Rng = np.random.Generator
EDGE = 1e-9
STEPS = 150  # of EM for each simulated table, from the parameters that it came from
# share of the information on a correlation that the other parameters must leave
LEAST = 1e-5
# classifiers up to which all patterns are written down
MOST_SCORED = 10
MOST_NUMBERS = 1 << 22  # in memory at once


def complete(patterns: Patterns) -> Patterns:
    """Write down all patterns of each set of tests that was run, seen or not.

    Counts get an axis for tables, of which this is one: (tables, S, m).
    """
    parts = []
    for seen in np.unique(~np.isnan(patterns.rows), axis=0):
        rows = np.full((2 ** int(seen.sum()), seen.size), np.nan)
        rows[:, seen] = list(product((1.0, 0.0), repeat=int(seen.sum())))
        parts.append(rows)
    every = np.vstack(parts)
    at = {pattern_key(row): j for j, row in enumerate(every)}
    counts = np.zeros((3, 1, len(patterns.populations), len(every)))
    j = [at[pattern_key(row)] for row in patterns.rows]
    counts[:, 0][:, :, j] = _counts(patterns)
    return _with_counts(patterns, every, *counts)


def _counts(patterns: Patterns) -> Floats:
    return np.stack([patterns.unknown, patterns.pos, patterns.neg])


def _with_counts(
    patterns: Patterns, rows: Floats, unknown: Floats, pos: Floats, neg: Floats
) -> Patterns:
    return replace(patterns, rows=rows, unknown=unknown, pos=pos, neg=neg)


class PairValues(NamedTuple):
    """P-values of every pair, and of all pairs together."""

    residual: Floats  # of the residual correlation
    score: Floats
    adjusted: Floats  # of the score, for the number of pairs
    overall: float  # of the sum of all scores and of the deviance


def p_values(
    fit: LatentRates, draws: LatentRates, table: Patterns, rng: Rng
) -> PairValues:
    """How often is a residual or a score as large, in tables without dependence?

    ``fit`` is the maximum of the likelihood for ``table``. A table is drawn from each
    of ``draws`` and fitted again, so that what fitting takes away from a residual is
    taken away there too. NaN where nothing can be seen. P-values are adjusted by the
    distribution of the largest score of all pairs (Westfall and Young 1993, single
    step): pairs share classifiers, and this knows how their scores go together.
    """
    fit, draws = _inside(fit), _inside(draws)
    (score, informed), rest = statistic(fit, table), residuals(fit, table)
    scores, rests, misfit = [], [], [deviance(fit, table)]
    size = _features(fit, table.rows)[0].size
    for b in blocks(len(draws.phi), max(1, MOST_NUMBERS // size)):
        here = LatentRates(*(r[b] for r in draws))
        new = replicate(here, table, rng)
        again = refit(here, new)
        scores.append(statistic(again, new)[0])
        rests.append(residuals(again, new))
        misfit.append(deviance(again, new))
    drawn, seen = np.concatenate(scores), informed[0]
    if not seen.any():
        nothing = np.full(score.shape[1], np.nan)
        return PairValues(nothing, nothing, nothing, np.nan)
    largest = np.where(seen, drawn, -np.inf).max(axis=1, keepdims=True)
    total = np.where(seen, np.vstack([score, drawn]), 0.0).sum(axis=1)
    each = (
        (np.abs(rest), np.abs(np.concatenate(rests))),
        (score, drawn),
        (score, largest),
    )
    p = [np.where(seen, _beyond(x, y), np.nan).ravel() for x, y in each]
    together = _either(np.column_stack([total, np.concatenate(misfit)]))
    return PairValues(p[0], p[1], p[2], together)


def _either(statistics: Floats) -> float:
    """How unusual is the first row among all, by whichever column says so more?

    Scores see pairs; the deviance sees also what goes together in larger groups. The
    smaller of both p-values is compared with the smaller ones of the drawn tables
    (Tippett's combination, by simulation), so that looking twice costs what it should.

    >>> _either(np.array([[9.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]))
    0.5
    """
    least = np.minimum.reduce([_beyond_all(column) for column in statistics.T])
    return float(np.mean(least <= least[0] * (1 + 1e-9)))


def _beyond_all(column: Floats) -> Floats:
    """Which share of a column is as large as each entry of it?"""
    below = np.searchsorted(np.sort(column), column * (1 - 1e-9), side="left")
    return np.asarray(1 - below / column.size)


def deviance(rates: LatentRates, table: Patterns) -> Floats:
    """Give twice the log likelihood that any table at all would gain, (tables,).

    Of the votes of all cases, and of the labels given the votes.
    """
    share, p = _probabilities(rates, table.rows)
    known = table.pos + table.neg
    parts = (
        (table.total, _sizes(table) * p),
        (table.pos, known * share),
        (table.neg, known * (1 - share)),
    )
    # a cell without a case adds nothing, whatever was expected
    terms = (
        n * np.log(np.where(n > 0, n / np.maximum(e, 1e-300), 1.0)) for n, e in parts
    )
    return np.asarray(2 * sum(term.sum(axis=(1, 2)) for term in terms))


def most_likely(patterns: Patterns) -> LatentRates:
    """Fit independent errors, one row of rates."""
    free = _free(patterns)
    theta, _ = highest(free, np.random.default_rng(0))
    return free.rates(theta[None])


def _free(patterns: Patterns) -> Independent:
    return Independent(patterns, read_prior(None, patterns, ordered=False))


def from_posterior(flat: Mapping[str, Floats], n: int, rng: Rng) -> LatentRates:
    """Choose n draws of the posterior, to draw tables from."""
    at = rng.integers(len(flat["sensitivity"]), size=n)
    names = ("prevalence", "sensitivity", "specificity")
    phi, alpha, spec = (flat[name][at] for name in names)
    return LatentRates(phi, alpha, 1 - spec)


def _beyond(seen: Floats, drawn: Floats) -> Floats:
    """How often is a drawn statistic as large? Rounding must not break a tie."""
    return np.asarray((1 + (drawn >= seen * (1 - 1e-9)).sum(axis=0)) / (1 + len(drawn)))


def strengths(patterns: Patterns) -> Floats:
    """How strongly does each pair err together, beyond the model without dependence?

    The score statistic; beyond ten classifiers the residual correlation of the votes.
    """
    fit = _inside(most_likely(patterns))
    if len(patterns.names) <= MOST_SCORED:
        return np.asarray(statistic(fit, complete(patterns))[0][0])
    table = _with_counts(patterns, patterns.rows, *_counts(patterns)[:, None])
    return np.asarray(residuals(fit, table)[0])


def _inside(rates: LatentRates) -> LatentRates:
    return LatentRates(*(np.clip(r, EDGE, 1 - EDGE) for r in rates))


def residuals(rates: LatentRates, table: Patterns) -> Floats:
    """Give the correlation of the votes of each pair, less the one expected."""
    expected = _sizes(table) * _probabilities(rates, table.rows)[1]
    return correlations(table.total, table.rows) - correlations(expected, table.rows)


def correlations(count: Floats, rows: Floats) -> Floats:
    """Give the correlation of the votes of each pair from counts (tables, S, m)."""
    n = count.sum(axis=1)
    yes, no = np.asarray(rows == 1, dtype=float), np.asarray(rows == 0, dtype=float)
    i, j = np.array(list(combinations(range(rows.shape[1]), 2))).T
    n11, n10, n01, n00 = (
        n @ (a[:, i] * b[:, j]) for a, b in product((yes, no), repeat=2)
    )
    size = np.sqrt((n11 + n10) * (n01 + n00) * (n11 + n01) * (n10 + n00))
    top = n11 * n00 - n10 * n01
    return np.asarray(np.where(size > 0, top / np.where(size > 0, size, 1), 0.0))


def _sizes(table: Patterns) -> Floats:
    """How many cases had the tests of each pattern?"""
    size = np.zeros(table.total.shape)
    for d in np.unique(table.design):
        here = table.design == d
        size[..., here] = table.total[..., here].sum(axis=-1, keepdims=True)
    return size


def _probabilities(rates: LatentRates, rows: Floats) -> tuple[Floats, Floats]:
    """Give P(positive | pattern) and P(pattern), (tables, S, m)."""
    ones, zeros = (rows == 1).astype(float).T, (rows == 0).astype(float).T
    in_pos, in_neg = (
        np.exp(np.log(r) @ ones + np.log1p(-r) @ zeros)[:, None] for r in rates[1:]
    )
    phi = rates.phi[:, :, None]
    p = phi * in_pos + (1 - phi) * in_neg
    return phi * in_pos / np.maximum(p, 1e-300), p


def _features(rates: LatentRates, rows: Floats) -> tuple[Floats, Floats]:
    """Differentiate the log probability of (pattern, label), positive and negative.

    By logit prevalences, logits of all rates, and the correlations of all pairs in
    positives, then in negatives: (tables, S, m, parameters).
    """
    seen = ~np.isnan(rows)
    (n, s), k = rates.phi.shape, rows.shape[1]
    i, j = np.array(list(combinations(range(k), 2))).T
    out = np.zeros((2, n, s, len(rows), s + 2 * k + 2 * i.size))
    for c, (f, rate) in enumerate(zip(out, rates[1:], strict=True)):
        off = np.where(seen, np.where(seen, rows, 0) - rate[:, None], 0)
        z = off / np.sqrt(rate * (1 - rate))[:, None]
        slope = -rates.phi if c else 1 - rates.phi  # of log(1 - phi), of log(phi)
        f[..., :s] = (slope[:, :, None] * np.eye(s))[:, :, None]
        f[..., s + c * k :][..., :k] = off[:, None]
        pairs = f[..., s + 2 * k + c * i.size :][..., : i.size]
        pairs[:] = (z[:, :, i] * z[:, :, j])[:, None]
    return out[0], out[1]


def statistic(rates: LatentRates, table: Patterns) -> tuple[Floats, Array]:
    """Give the score statistic of each pair, and whether it has any information."""
    share, p = _probabilities(rates, table.rows)
    f_pos, f_neg = _features(rates, table.rows)
    unknown = share[..., None] * f_pos + (1 - share[..., None]) * f_neg
    slope = sum(
        np.einsum("bsm,bsme->be", count, f)
        for count, f in (
            (table.unknown, unknown),
            (table.pos, f_pos),
            (table.neg, f_neg),
        )
    )
    information = _information(share, p, unknown, f_pos - f_neg, table)
    return _cleared(np.asarray(slope), information, table.rows.shape[1])


def _information(
    share: Floats, p: Floats, votes: Floats, label: Floats, table: Patterns
) -> Floats:
    """Expect the information: of all votes, and of the labels given the votes.

    In this way it is right also when cases were verified because of their votes.
    """
    known = table.pos + table.neg
    e = votes.shape[-1]
    out = np.zeros((len(votes), e, e))
    for f, weight in ((votes, _sizes(table) * p), (label, known * share * (1 - share))):
        part = (f * np.sqrt(weight)[..., None]).reshape(len(f), -1, e)
        out += part.swapaxes(1, 2) @ part
    return out


def _cleared(slope: Floats, information: Floats, k: int) -> tuple[Floats, Array]:
    """Clear the slopes of the pairs of those of all other parameters."""
    unit = np.sqrt(np.maximum(np.diagonal(information, axis1=1, axis2=2), 1e-300))
    # in units of their own errors, so that small and large parameters are alike
    u, v = slope / unit, information / unit[:, :, None] / unit[:, None, :]
    pairs = k * (k - 1) // 2
    q = u.shape[1] - 2 * pairs
    inverse = np.linalg.pinv(v[:, :q, :q], rtol=1e-7, hermitian=True)
    out, informed = np.zeros((len(u), pairs)), np.zeros((len(u), pairs), dtype=bool)
    for a in range(pairs):
        e = [q + a, q + pairs + a]
        # regress the slopes of the pair on all others: Schur complement
        on = v[:, e, :q] @ inverse
        left = u[:, e] - (on @ u[:, :q, None])[:, :, 0]
        size, axes = np.linalg.eigh(v[:, e][:, :, e] - on @ v[:, :q, e])
        along = np.einsum("bij,bi->bj", axes, left)
        # a direction without information says nothing: it gets no degree of freedom
        useful = size > LEAST
        out[:, a] = np.where(useful, along**2 / np.where(useful, size, 1), 0).sum(1)
        informed[:, a] = useful.any(axis=1)
    return out, informed


def replicate(rates: LatentRates, table: Patterns, rng: Rng) -> Patterns:
    """Draw a table from each row of rates, verified as often as each pattern was."""
    share, p = _probabilities(rates, table.rows)
    total = table.total[0]
    cases = np.zeros(p.shape, dtype=np.int64)
    for s in range(len(total)):
        for d in np.unique(table.design):
            here = table.design == d
            chance = p[:, s, here] / p[:, s, here].sum(axis=1, keepdims=True)
            cases[:, s, here] = rng.multinomial(int(total[s, here].sum()), chance)
    verified = (table.pos + table.neg)[0] / np.maximum(total, 1)
    known = rng.binomial(cases, verified)
    pos = rng.binomial(known, share)
    counts = (cases - known, pos, known - pos)
    return _with_counts(table, table.rows, *(c.astype(np.float64) for c in counts))


def refit(rates: LatentRates, table: Patterns) -> LatentRates:
    """Take EM steps on all tables at once."""
    free = _free(table)
    theta = free.coordinates(rates)
    for _ in range(STEPS):
        theta = em_step(free, theta, EDGE)
    return free.rates(theta)
