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
from typing import final

import numpy as np
from scipy.special import ndtr, ndtri

from trueness._core.arrays import Floats
from trueness.nogold.dependent import log_normal

Rng = np.random.Generator
# of the half-normal prior of sigma: at 1 half of the variance is the case's own
SPREAD = 1.0
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(17)
NODES, WEIGHTS = _NODES, _WEIGHTS / _WEIGHTS.sum()
# classifiers up to which the table of all patterns is cheaper than the patterns seen
MOST_DOUBLED = 7


@final
@dataclass(frozen=True)
class RandomEffect:
    """Classifiers err together on hard cases: one sigma for each class.

    The coordinate v is normal a priori, sigma = quantile of the half-normal at Phi(v):
    log sigma would have a long flat tail where the errors are nearly independent.
    """

    word: str = "spread"
    names: tuple[str, ...] = ("pos", "neg")

    def log_prior(self, extra: Floats) -> Floats:
        """Normal, by the choice of the coordinate."""
        return log_normal(extra)

    def prior_draws(self, n: int, rng: Rng) -> Floats:
        """Draw both coordinates."""
        return rng.standard_normal((n, 2))

    def natural(self, extra: Floats) -> Floats:
        """Give sigma: half-normal a priori."""
        # at most 8: beyond, the quantile of a float is infinite
        return np.asarray(-SPREAD * ndtri(ndtr(-np.minimum(extra, 8.0)) / 2))

    def coordinates(self, sigma: Floats) -> Floats:
        """Turn sigma into coordinates; 0 becomes a very small one."""
        return np.asarray(-ndtri(np.clip(2 * ndtr(-sigma / SPREAD), 1e-15, 1 - 1e-15)))

    def probabilities(self, rate: Floats, own: Floats, rows: Floats) -> Floats:
        """Integrate over the ease of a case by Gauss and Hermite."""
        sigma = own[:, 0]
        place = (ndtri(rate) * np.sqrt(1 + sigma**2)[:, None]).T
        full = rows.shape[1] <= MOST_DOUBLED and not np.isnan(rows).any()
        total = np.zeros((2 ** rows.shape[1] if full else len(rows), len(rate)))
        part = np.empty_like(total)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            yes = ndtr(place + sigma * node)
            part[:] = weight
            if full:
                _double(yes, part)
            else:
                _multiply(yes, rows, part)
            total += part
        return np.asarray((total[_numbers(rows)] if full else total).T)


def _double(yes: Floats, out: Floats) -> None:
    """Multiply all 2^K patterns (2^K, n) by their probability; bit k is the vote of k.

    The table doubles with each classifier: one multiplication and one subtraction per
    pattern, and no logarithm. A fit with dependence spends most of its time here.
    """
    for i, p in enumerate(yes):
        size = 2**i
        np.multiply(out[:size], p, out=out[size : 2 * size])
        out[:size] -= out[size : 2 * size]


def _multiply(yes: Floats, rows: Floats, out: Floats) -> None:
    """Multiply these patterns by their probability; a missing vote takes no part."""
    for p, vote in zip(yes, rows.T, strict=True):
        out[vote == 1] *= p
        out[vote == 0] *= 1 - p


def _numbers(rows: Floats) -> np.ndarray:
    return np.asarray(rows @ (1 << np.arange(rows.shape[1]))).astype(int)


def spread_of(accuracy: float, correlation: float) -> float:
    """Which sigma makes the errors of two classifiers correlate by this much?"""
    rate, pair = np.full((1, 2), accuracy), np.ones((1, 2))
    low, high = 0.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        both = RandomEffect().probabilities(rate, np.array([[middle]]), pair)[0, 0]
        found = (both - accuracy**2) / (accuracy * (1 - accuracy))
        low, high = (middle, high) if found < correlation else (low, middle)
    return float(low)
