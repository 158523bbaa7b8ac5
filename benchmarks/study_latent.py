"""Latent classes: coverage of 95 % intervals and simulation-based calibration

Coverage: K = 3, N = 500, parameters fixed. Calibration (Talts et al. 2018,
arXiv:1804.06788): parameters drawn from the prior, data from the model; ranks of the
truth among the draws must be uniform, tested by chi-square on 10 bins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import chisquare

import karat

ALPHA, BETA, PHI = np.array([0.9, 0.8, 0.75]), np.array([0.1, 0.15, 0.2]), 0.3


class Row(NamedTuple):
    study: str
    parameter: str
    repeats: int
    result: float
    wanted: str


def votes(
    rng: np.random.Generator, n: int, phi: float, alpha: np.ndarray, beta: np.ndarray
) -> karat.Panel:
    truth = rng.random(n) < phi
    rate = np.where(truth[:, None], alpha, beta)
    x = (rng.random(rate.shape) < rate).astype(float)
    return karat.panel(None, {f"T{i}": x[:, i] for i in range(x.shape[1])})


def coverage(repeats: int) -> Iterator[Row]:
    rng = np.random.default_rng(1)
    truth = np.r_[PHI, ALPHA, 1 - BETA]
    inside = np.zeros(truth.size)
    for _ in range(repeats):
        p = votes(rng, 500, PHI, ALPHA, BETA)
        s = karat.latent_class(p, rng=rng, draws=500).summary()
        inside += (s["low"] <= truth) & (truth <= s["high"])
    for name, share in zip(s["parameter"], inside / repeats, strict=True):
        yield Row(
            "coverage", str(name), repeats, round(float(share), 3), "0.93 to 0.97"
        )


def ranks(repeats: int, k: int, n: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Where does the truth rank among the draws? Shares in [0, 1]."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(repeats):
        u, v = rng.random((2, k))
        alpha, beta, phi = np.maximum(u, v), np.minimum(u, v), rng.random()
        p = votes(rng, n, phi, alpha, beta)
        try:
            d = karat.latent_class(p, rng=rng, draws=300)
        except karat.NotEnoughCases:  # every vote the same: nothing to fit
            continue
        flat = np.column_stack(
            [d.draws["prevalence"], d.draws["sensitivity"], d.draws["specificity"]]
        )
        out.append((flat < np.r_[phi, alpha, 1 - beta]).mean(axis=0))
    return [str(x) for x in d.diagnostics.parameter], np.array(out)


def calibration(repeats: int, k: int, n: int) -> Iterator[Row]:
    names, place = ranks(repeats, k, n, seed=2)
    for i, name in enumerate(names):
        count = np.histogram(place[:, i], bins=10, range=(0, 1))[0]
        p = float(chisquare(count).pvalue)
        study = f"calibration K={k} N={n}, p-value"
        yield Row(study, name, len(place), round(p, 3), "not small")


def rows() -> Iterator[Row]:
    yield from coverage(400)
    yield from calibration(300, 2, 40)
    yield from calibration(300, 3, 100)
