r"""What if some cases are hard for every classifier?

Within a class every case has its own ease z,

.. math:: P(x_k = 1 \mid z) = \Phi(\sqrt{1 + \sigma^2}\,\Phi^{-1}(\alpha_k) + \sigma z),
   \qquad z \sim N(0, 1)

with one sigma for positives and one for negatives (Qu, Tan, Kutner 1996, Biometrics
52:797, doi:10.2307/2533043). The root keeps alpha_k the sensitivity itself, so that all
priors mean what they meant; sigma = 0 is independence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import final

import numpy as np
from scipy.special import betaln, ndtr, ndtri, xlog1py, xlogy

from trueness._core.arrays import Floats, blocks
from trueness._core.search import edge

# of the half-normal prior of sigma: at 1 half of the variance is the case's own
SPREAD = 1.0
# the ease of a case, in equal steps from -REACH to REACH. Gauss and Hermite's rule puts
# its nodes too far apart where sigma is large: with 17 of them and five classifiers a
# pattern is wrong by 26 % at sigma = 2. Equal steps are right to 1e-3 while sigma times
# the step is below 0.7 (errors fall as exp(-2 pi^2 / step^2), Trefethen, Weideman 2014)
REACH = 4.5
# up to which sigma so many steps are taken, and in the search for the posterior
STEPS = ((0.7, 10), (1.1, 14), (2.0, 26), (np.inf, 56))
ROUGH_STEPS = ((1.1, 8), (np.inf, 14))
# pairs of halves for each pattern seen, up to which all of them are multiplied out
MOST_UNSEEN = 4
# numbers in the largest table: what is larger leaves the processor's cache, and smaller
# ones are mostly overhead
CACHE = 48_000


@final
@dataclass(frozen=True)
class RandomEffect:
    """Classifiers err together on hard cases: one sigma for each class.

    The coordinate v is normal a priori, sigma = quantile of the half-normal at Phi(v):
    log sigma would have a long flat tail where the errors are nearly independent.
    """

    word: str = "spread"
    names: tuple[str, ...] = ("pos", "neg")
    steps: tuple[tuple[float, int], ...] = STEPS

    @property
    def rough(self) -> RandomEffect:
        """Give the same with fewer steps, to search the posterior with."""
        return RandomEffect(steps=ROUGH_STEPS)

    def natural(self, extra: Floats) -> Floats:
        """Give sigma: half-normal a priori."""
        # at most 8: beyond, the quantile of a float is infinite
        return np.asarray(-SPREAD * ndtri(ndtr(-np.minimum(extra, 8.0)) / 2))

    def coordinates(self, sigma: Floats) -> Floats:
        """Turn sigma into coordinates; 0 becomes a very small one."""
        return np.asarray(-ndtri(np.clip(2 * ndtr(-sigma / SPREAD), 1e-15, 1 - 1e-15)))

    def probabilities(self, rate: Floats, own: Floats, rows: Floats) -> Floats:
        """Integrate over the ease of a case, in steps as fine as sigma needs."""
        out, least = np.empty((len(rate), len(rows))), -np.inf
        if not out.size:  # of no pattern there is nothing to integrate
            return out
        halves = _halves(np.asarray(rows, np.float64).tobytes(), rows.shape)
        wide = max(len(half) for half, _ in halves)
        for most, steps in self.steps:
            here = np.flatnonzero((own[:, 0] > least) & (own[:, 0] <= most))
            size = max(CACHE // ((steps + 1) * wide), 16)
            for block in blocks(here.size, size):
                at = here[block]
                out[at] = _integral(rate[at], own[at, 0], halves, steps)
            least = most
        return out


Half = tuple[Floats, np.ndarray]


@lru_cache(maxsize=16)
def _halves(rows: bytes, shape: tuple[int, int]) -> tuple[Half, Half]:
    """Which votes do half of the classifiers give, and the others, and which row has?

    A pattern is one of the first half and one of the second: few tables say it all.
    The rows are the same in every block of draws, so they are sorted once.
    """
    codes = np.nan_to_num(np.frombuffer(rows).reshape(shape), nan=2.0).astype(int)
    k = shape[1] // 2
    first, second = (
        np.unique(part, axis=0, return_inverse=True)
        for part in (codes[:, :k], codes[:, k:])
    )
    return (first[0], first[1].ravel()), (second[0], second[1].ravel())


def _integral(
    rate: Floats, sigma: Floats, halves: tuple[Half, Half], steps: int
) -> Floats:
    """Sum over the ease of a case, by the trapezoid rule, (n, rows)."""
    nodes, weight = _trapezoid(steps)
    # E Phi(m + sigma z) = Phi(m / sqrt(1 + sigma^2)): the root keeps the rate a rate
    place = (ndtri(rate) * np.sqrt(1 + sigma**2)[:, None]).T
    yes = ndtr(place + nodes[:, None, None] * sigma)
    (left, i), (right, j) = halves
    k = left.shape[1]
    # given the ease of a case votes are independent, so the chance of a pattern is that
    # of its first half times that of its second: 2^(K/2) products each, not 2^K
    first = _patterns(yes[:, :k], left)
    second = _patterns(yes[:, k:], right) * weight[:, None]
    if len(left) * len(right) <= MOST_UNSEEN * i.size:
        return np.asarray(np.einsum("gan,gbn->abn", first, second)[i, j].T)
    # few of many patterns were seen: only theirs are multiplied
    total = np.zeros((i.size, len(rate)))
    for a, b in zip(first, second, strict=True):
        total += a[i] * b[j]
    return total.T


def _patterns(yes: Floats, votes: np.ndarray) -> Floats:
    """Give the probabilities of these votes, (nodes, votes, n); 2 is a missing one.

    A classifier at a time: the table triples, a probability, what is left of it to 1,
    and the table itself. A fit with dependence spends most of its time here.
    """
    symbols = 3 if (votes == 2).any() else 2
    nodes, k, n = yes.shape
    out = np.ones((nodes, symbols**k, n))
    # the last classifier first: the table is then in the order of sorted patterns
    for i in range(k):
        size = symbols**i
        none, one, missing = (out[:, j * size : (j + 1) * size] for j in range(3))
        np.multiply(none, yes[:, k - 1 - i, None], out=one)
        if symbols == 3:
            missing[:] = none
        none -= one
    if len(votes) == out.shape[1]:  # all of them: no copy is needed
        return out
    return np.asarray(out[:, votes @ symbols ** np.arange(k)[::-1]])


@cache
def _trapezoid(steps: int) -> tuple[Floats, Floats]:
    """Give the eases of cases, (nodes,), and how common each is, (nodes, 1)."""
    nodes = np.linspace(-REACH, REACH, steps + 1)
    weight = np.exp(-(nodes**2) / 2)
    return nodes, (weight / weight.sum())[:, None]


def right_votes(accuracy: float, sigma: float, k: int) -> Floats:
    """How likely are 0 to k right votes of k classifiers that are alike? (k + 1,)"""
    steps = next(steps for most, steps in STEPS if sigma <= most)
    nodes, weight = _trapezoid(steps)
    right = ndtr(ndtri(accuracy) * np.sqrt(1 + sigma**2) + sigma * nodes)[:, None]
    j = np.arange(k + 1)
    # binomial, given the ease of a case
    log_p = -betaln(j + 1, k - j + 1) - np.log(k + 1)
    log_p = log_p + xlogy(j, right) + xlog1py(k - j, -right)
    return np.asarray((weight * np.exp(log_p)).sum(axis=0))


def spread_of(accuracy: float, correlation: float) -> float:
    """Which sigma makes the errors of two classifiers correlate by this much?"""
    rate, pair = np.full((1, 2), accuracy), np.ones((1, 2))

    def too_little(sigma: float) -> bool:
        both = RandomEffect().probabilities(rate, np.array([[sigma]]), pair)[0, 0]
        return bool(both - accuracy**2 < correlation * accuracy * (1 - accuracy))

    return float(edge(too_little, 0.0, 30.0))
