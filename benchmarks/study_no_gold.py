"""Latent classes: simulation-based calibration and coverage of 95 % intervals

Truth from the prior (Talts et al. 2018, arXiv:1804.06788): parameters are drawn from
the prior and votes from the model; the ranks of the truth among the draws must then be
uniform, and 95 % intervals hold the truth in 95 % of all repeats exactly. Uniformity is
tested by chi-square on 20 bins, and by the largest standardised distance of the
empirical distribution function to the diagonal, against simulated uniform ranks
(Säilynoja, Bürkner, Vehtari 2022, doi:10.1007/s11222-022-10090-6). Repeats in which
every test votes the same are left out: that is a fact about the data, so the rest stays
calibrated. Fixed truth: coverage is then near 95 %, and need not be equal to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import betainc
from scipy.stats import chisquare

import trueness
from trueness.nogold.model import Independent, read_patterns, read_prior
from trueness.nogold.sampling.enumeration import log_weights

ALPHA, BETA, PHI = np.array([0.9, 0.8, 0.75]), np.array([0.1, 0.15, 0.2]), 0.3
WEAK_ALPHA, WEAK_BETA, RARE = np.array([0.7, 0.65, 0.8]), np.array([0.2, 0.1, 0.3]), 0.1
BINS = 20
DRAWS = 1000  # effective: with few of them the ends of the intervals are noise


class Row(NamedTuple):
    truth: str
    parameter: str
    repeats: int
    coverage: float
    chi_square_p: float | None
    ecdf_p: float | None
    ranks: str  # counts in 20 bins


def votes(
    rng: np.random.Generator, n: int, phi: float, alpha: np.ndarray, beta: np.ndarray
) -> trueness.Panel:
    truth = rng.random(n) < phi
    rate = np.where(truth[:, None], alpha, beta)
    x = (rng.random(rate.shape) < rate).astype(float)
    return trueness.panel(None, {f"T{i}": x[:, i] for i in range(x.shape[1])})


def place(
    rng: np.random.Generator, n: int, phi: float, alpha: np.ndarray, beta: np.ndarray
) -> np.ndarray | None:
    """Where does the truth rank among the draws? None when there is nothing to fit."""
    try:
        post = trueness.latent_class(
            votes(rng, n, phi, alpha, beta), rng=rng, draws=DRAWS
        )
    except trueness.NotEnoughCases:
        return None
    d = post.draws
    flat = np.column_stack([d["prevalence"], d["sensitivity"], d["specificity"]])
    return (flat < np.r_[phi, alpha, 1 - beta]).mean(axis=0)


def from_prior(
    rng: np.random.Generator, k: int
) -> tuple[float, np.ndarray, np.ndarray]:
    u, v = rng.random((2, k))
    return float(rng.random()), np.maximum(u, v), np.minimum(u, v)


def farthest(ranks: np.ndarray) -> np.ndarray:
    """How far is the distribution of each row of ranks from uniform, standardised?"""
    at = np.arange(1, 100) / 100
    below = (ranks[..., None] <= at).mean(axis=-2)
    return np.abs((below - at) / np.sqrt(at * (1 - at))).max(axis=-1)


def ecdf_p(ranks: np.ndarray, rng: np.random.Generator) -> float:
    null = np.array([farthest(rng.random(ranks.size)) for _ in range(2000)])
    return float((1 + (null >= farthest(ranks)).sum()) / 2001)


def study(
    name: str, repeats: int, k: int, n: int, fixed: tuple | None, seed: int
) -> Iterator[Row]:
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < repeats:
        here = place(rng, n, *(fixed or from_prior(rng, k)))
        if here is not None:
            found.append(here)
    labels = ["prevalence", *(f"sensitivity {i + 1}" for i in range(k))]
    labels += [f"specificity {i + 1}" for i in range(k)]
    for label, ranks in zip(labels, np.array(found).T, strict=True):
        yield row(f"{name}, K={k}, N={n}", label, ranks, fixed is None, rng)


def row(
    truth: str, label: str, ranks: np.ndarray, flat: bool, rng: np.random.Generator
) -> Row:
    count = np.histogram(ranks, bins=BINS, range=(0, 1))[0]
    return Row(
        truth,
        label,
        ranks.size,
        round(float(((ranks >= 0.025) & (ranks <= 0.975)).mean()), 3),
        round(float(chisquare(count).pvalue), 3) if flat else None,
        round(ecdf_p(ranks, rng), 3) if flat else None,
        " ".join(map(str, count)),
    )


def exact_prevalence(repeats: int, n: int, seed: int) -> Iterator[Row]:
    """Rank the prevalence by its exact posterior distribution function, K = 2."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < repeats:
        phi, alpha, beta = from_prior(rng, 2)
        try:
            patterns = read_patterns(votes(rng, n, phi, alpha, beta))
        except trueness.NotEnoughCases:
            continue
        log_weight, ((a, b), *_) = log_weights(
            Independent(patterns, read_prior(None, patterns, ordered=True))
        )
        w = np.exp(log_weight - log_weight.max())
        found.append(w @ betainc(a[:, 0], b[:, 0], phi) / w.sum())
    yield row(f"prior, exactly, K=2, N={n}", "prevalence", np.array(found), True, rng)


def rows() -> Iterator[Row]:
    yield from exact_prevalence(4000, 20, seed=5)
    yield from study("prior", 2000, 2, 40, None, seed=1)
    yield from study("prior", 1000, 3, 500, None, seed=2)
    yield from study("good tests", 600, 3, 500, (PHI, ALPHA, BETA), seed=3)
    yield from study("weak tests", 600, 3, 500, (RARE, WEAK_ALPHA, WEAK_BETA), seed=4)
