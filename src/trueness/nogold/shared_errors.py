"""How likely is a pattern of votes, when tests share errors or do not?

Tests that share errors find the same cases hard. Given the ease of a case their votes
are independent, and the ease has a normal distribution over which is integrated
(docs/maths/nogold.md, "Model").
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from trueness._core.arrays import Array, Floats, blocks

TINY = 1e-300  # in place of a probability of 0, which has no logarithm

# The ease of a case, in equal steps from -REACH to REACH. Gauss and Hermite's rule puts
# its nodes too far apart where sigma is large. Equal steps are right to 1e-3 while
# sigma times the step is below 0.7 (errors fall as exp(-2 pi^2 / step^2), Trefethen,
# Weideman 2014, doi:10.1137/130932132), so that they follow sigma
REACH = 4.5
STEPS_UP_TO_SIGMA = ((1.1, 14), (2.2, 28), (3.3, 42), (np.inf, 56))

MAX_TABLE_SIZE = 96_000  # numbers: larger tables leave the processor's cache
MAX_PAIRS_PER_PATTERN = 4  # of halves, up to which all of them are multiplied out
MAX_TABLE_PER_VOTE = 4  # combinations of votes in a table, over those that were seen
MISSING = 2  # the code of a missing vote, after 0 and 1


class HalfPatterns(NamedTuple):
    """Votes of some of the tests: distinct combinations, and that of each pattern."""

    votes: Array  # (h, tests) of 0, 1 and MISSING, sorted
    of_pattern: Array  # (m,), a row of ``votes`` for each pattern


class Halves(NamedTuple):
    """The patterns, by the votes of the first and of the second half of the tests."""

    first: HalfPatterns
    second: HalfPatterns


def split_into_halves(rows: Floats) -> Halves:
    """Return which votes either half of the tests has in each row, (m, K)."""
    codes = np.nan_to_num(rows, nan=float(MISSING)).astype(int)
    middle = rows.shape[1] // 2
    return Halves(_half_patterns(codes[:, :middle]), _half_patterns(codes[:, middle:]))


def _half_patterns(codes: Array) -> HalfPatterns:
    votes, of_pattern = np.unique(codes, axis=0, return_inverse=True)
    return HalfPatterns(votes, of_pattern.ravel())


def independent_patterns(yes: Floats, no: Floats, rows: Floats) -> Floats:
    """Return the probability of each row when votes are independent, (n, rows).

    ``yes`` and ``no`` are the probabilities of both votes of each test, (n, K).
    """
    is_yes = (rows == 1).astype(float)
    is_no = (rows == 0).astype(float)
    # sums of logarithms over the tests that voted
    log_probability = np.log(np.maximum(yes, TINY)) @ is_yes.T
    log_probability += np.log(np.maximum(no, TINY)) @ is_no.T
    return np.asarray(np.exp(log_probability, out=log_probability))


def normal_quantile(yes: Floats, no: Floats) -> Floats:
    """Return the normal quantile of a probability, by the smaller of both tails."""
    smaller_tail = ndtri(np.clip(np.minimum(yes, no), TINY, 0.5))
    return np.where(yes < no, smaller_tail, -smaller_tail)


def shared_patterns(quantile: Floats, sigma: Floats, halves: Halves) -> Floats:
    """Return the probability of each pattern when tests share errors, (n, m).

    ``quantile`` is the normal quantile of each test's rate of yes, (n, K), and
    ``sigma`` says how much its votes depend on the ease of a case, (n,). The integral
    over the ease takes steps that are as fine as sigma needs.
    """
    probability = np.empty((len(quantile), halves.first.of_pattern.size))
    widest_half = max(len(half.votes) for half in halves)

    lowest_sigma = -np.inf
    for highest_sigma, steps in STEPS_UP_TO_SIGMA:
        draws_of_range = np.flatnonzero(
            (sigma > lowest_sigma) & (sigma <= highest_sigma)
        )
        # as many draws at once as one table of the integral may hold
        block_size = max(MAX_TABLE_SIZE // ((steps + 1) * widest_half), 16)
        for block in blocks(draws_of_range.size, block_size):
            draws = draws_of_range[block]
            probability[draws] = _integrate(
                quantile[draws], sigma[draws], halves, steps
            )
        lowest_sigma = highest_sigma

    return probability


def _integrate(quantile: Floats, sigma: Floats, halves: Halves, steps: int) -> Floats:
    """Sum over the ease of a case, by the trapezoid rule."""
    ease, weight = _trapezoid_rule(steps)
    # E Phi(m + sigma z) = Phi(m / sqrt(1 + sigma^2)): the root keeps the rate a rate
    center = (quantile * np.sqrt(1 + sigma**2)[:, None]).T
    yes = ndtr(center + ease[:, None, None] * sigma)

    # given the ease of a case votes are independent, so the chance of a pattern is that
    # of its first half times that of its second: 2^(K/2) products each, not 2^K
    (first_votes, i), (second_votes, j) = halves
    middle = first_votes.shape[1]
    first = _votes_given_ease(yes[:, :middle], first_votes)
    second = _votes_given_ease(yes[:, middle:], second_votes) * weight[:, None]

    patterns = i.size
    if len(first_votes) * len(second_votes) <= MAX_PAIRS_PER_PATTERN * patterns:
        # g: ease, a and b: votes of either half, n: draws
        all_pairs = np.einsum("gan,gbn->abn", first, second)
        return np.asarray(all_pairs[i, j].T)

    # few of many patterns were seen
    total = np.zeros((patterns, len(sigma)))
    for first_at_ease, second_at_ease in zip(first, second, strict=True):
        total += first_at_ease[i] * second_at_ease[j]

    return total.T


def _votes_given_ease(yes: Floats, votes: Array) -> Floats:
    """Return the probabilities of these votes at each ease, (nodes, votes, n).

    ``yes`` is that of a yes, (nodes, tests, n).
    """
    has_missing = bool((votes == MISSING).any())
    symbols = 3 if has_missing else 2
    if symbols ** yes.shape[1] > MAX_TABLE_PER_VOTE * len(votes):
        return _votes_one_by_one(yes, votes)
    return _votes_from_table(yes, votes, symbols)


def _votes_one_by_one(yes: Floats, votes: Array) -> Floats:
    """Return the products over the tests of these votes' probabilities."""
    nodes, tests, n = yes.shape
    probability = np.ones((nodes, len(votes), n))

    for test in range(tests):
        vote = votes[:, test, None]
        is_yes = np.where(vote == 1, 1.0, 0.0)
        probability_of_yes = yes[:, None, test]
        # p for a yes, 1 - p for a no, without a branch
        probability_of_vote = probability_of_yes * (2 * is_yes - 1) + 1 - is_yes
        probability *= np.where(vote == MISSING, 1.0, probability_of_vote)

    return probability


def _votes_from_table(yes: Floats, votes: Array, symbols: int) -> Floats:
    """Return probabilities of votes, from a table of all votes made test by test.

    The table grows by a probability and what is left of it to 1.
    """
    nodes, tests, n = yes.shape
    table = np.ones((nodes, symbols**tests, n))
    # the last test first: the table is then in the order of sorted votes
    for step in range(tests):
        size = symbols**step
        of_no = table[:, :size]
        of_yes = table[:, size : 2 * size]
        np.multiply(of_no, yes[:, tests - 1 - step, None], out=of_yes)
        if symbols == 3:
            table[:, 2 * size : 3 * size] = of_no  # a missing vote may be either
        of_no -= of_yes

    if len(votes) == table.shape[1]:  # all of them: no copy is needed
        return table

    place = votes @ symbols ** np.arange(tests)[::-1]
    return np.asarray(table[:, place])


@cache
def _trapezoid_rule(steps: int) -> tuple[Floats, Floats]:
    """Return the eases of cases, (nodes,), and how common each is, (nodes, 1)."""
    ease = np.linspace(-REACH, REACH, steps + 1)
    # weights that sum to 1, with the ends cut off at 4.5
    density = np.exp(-(ease**2) / 2)
    return ease, (density / density.sum())[:, None]
