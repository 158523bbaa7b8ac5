"""Do classifiers err together? Size and power of both tests, by simulation

Four or five tests, 95 % level. Independent: the share of pairs with p < .05 must not be
above .05. Together: the first two tests share a part of their errors in negatives, and
the share counts their pair alone. With four tests a score test of a pair is that of the
other two as well. One overall test, and how often the answer says that these votes
cannot tell, stand beside them.

``python study_dependence.py overall 100`` has size and power of the overall test for
more designs, with tests of random accuracy whose errors a common normal variable
correlates. Where cases are many, tables are drawn from the normal approximation of the
posterior, which takes a tenth of the time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

import trueness
from trueness.nogold import pair_tests as pairs_of
from trueness.nogold.model import LatentRates, read_patterns
from trueness.nogold.random_effect import spread_of

GOOD = (0.4, [0.8, 0.7, 0.85, 0.75, 0.8], [0.1, 0.2, 0.15, 0.1, 0.2])
SHARP = (0.3, [0.99, 0.9, 0.97, 0.95, 0.96], [0.01, 0.03, 0.05, 0.005, 0.02])
RARE = (0.08, [0.8, 0.7, 0.85, 0.75, 0.8], [0.1, 0.2, 0.15, 0.1, 0.2])


class Row(NamedTuple):
    tests: str
    k: int
    cases: int
    shared_errors: float
    repeats: int
    predictive_below_05: float
    score_below_05: float
    overall_below_05: float
    not_identified: float


def votes(
    rng: np.random.Generator, n: int, k: int, truth: tuple, shared: float
) -> trueness.Panel:
    phi, alpha, beta = truth
    positive = rng.random(n) < phi
    rate = np.where(positive[:, None], alpha[:k], beta[:k])
    x = (rng.random((n, k)) < rate).astype(float)
    copied = ~positive & (rng.random(n) < shared)
    x[copied, 1] = x[copied, 0]
    return trueness.panel(None, {f"T{i}": x[:, i] for i in range(k)})


def study(
    name: str, k: int, n: int, shared: float, repeats: int, seed: int
) -> Iterator[Row]:
    truth = {"good": GOOD, "sharp": SHARP, "rare": RARE}[name]
    rng, below = np.random.default_rng(seed), []
    for _ in range(repeats):
        p = votes(rng, n, k, truth, shared)
        post = trueness.latent_class(p, rng=rng, draws=500)
        d = trueness.conditional_dependence(post, rng=rng, replicates=199)
        pairs = slice(0, 1) if shared else slice(None)
        below.append(
            [
                np.mean(d.p_value[pairs] < 0.05),
                np.mean(d.score_p_value[pairs] < 0.05),
                d.overall_p_value <= 0.05,
                not post.identified,
            ]
        )
    found = (round(float(share), 3) for share in np.mean(below, axis=0))
    yield Row(name, k, n, shared, repeats, *found)


def rows() -> Iterator[Row]:
    for name in ("good", "sharp", "rare"):
        yield from study(name, 4, 500, 0.0, 120, seed=1)
    yield from study("good", 5, 500, 0.0, 80, seed=2)
    for shared in (0.2, 0.4, 0.6):
        yield from study("good", 4, 500, shared, 60, seed=3)
    yield from study("good", 5, 500, 0.4, 60, seed=4)
    yield from study("good", 4, 3000, 0.2, 60, seed=5)


FEW = ((4, 100, 0.4), (4, 300, 0.05), (5, 200, 0.5), (6, 150, 0.3))
MANY = ((4, 2000, 0.3), (5, 1000, 0.05), (5, 5000, 0.3), (6, 2000, 0.1))
MANY = (*MANY, (7, 1000, 0.4), (8, 2000, 0.2))


def together(
    rng: np.random.Generator, k: int, n: int, rate: float, correlation: float
) -> trueness.Panel:
    """Draw votes of tests of random accuracy with errors that correlate."""
    sens, spec = rng.uniform(0.65, 0.95, k), rng.uniform(0.7, 0.98, k)
    y, spread = rng.random(n) < rate, spread_of(0.8, correlation)
    rho = spread**2 / (1 + spread**2)
    z = np.sqrt(rho) * rng.standard_normal((n, 1))
    z = z + np.sqrt(1 - rho) * rng.standard_normal((n, k))
    x = z < np.where(y[:, None], ndtri(sens), ndtri(1 - spec))
    return trueness.panel(None, {f"T{i}": x[:, i] * 1.0 for i in range(k)})


def p_sampled(panel: trueness.Panel, rng: np.random.Generator) -> float:
    post = trueness.latent_class(
        panel, dependence="none", draws=100, method="gibbs", rng=rng
    )
    return trueness.conditional_dependence(post, replicates=99, rng=rng).overall_p_value


def p_normal(panel: trueness.Panel, rng: np.random.Generator) -> float:
    """The same, with the posterior on logits taken as normal at the mode."""
    patterns = read_patterns(panel)
    fit, table = pairs_of.most_likely(patterns), pairs_of.complete(patterns)
    k = len(patterns.names)
    mode = logit(np.clip(np.concatenate([r.ravel() for r in fit]), 0.002, 0.998))

    def rates(points: np.ndarray) -> LatentRates:
        q = expit(points)
        return LatentRates(q[:, :1], q[:, 1 : 1 + k], q[:, 1 + k :])

    step = 1e-3 * np.eye(mode.size)
    corners = [
        mode + a * u + b * v
        for u, v in product(step, step)
        for a, b in product((1, -1), repeat=2)
    ]
    p = pairs_of._probabilities(rates(np.array(corners)), table.rows)[1]
    high = (table.total * np.log(np.maximum(p, 1e-300))).sum(axis=(1, 2))
    curve = high.reshape(mode.size, mode.size, 4) @ [1, -1, -1, 1] / 4e-6
    size, axes = np.linalg.eigh(0.3 * np.eye(mode.size) - curve)
    z = rng.standard_normal((99, mode.size)) / np.sqrt(np.maximum(size, 0.3))
    return pairs_of.p_values(fit, rates(mode + z @ axes.T), table, rng).overall


def overall(repeats: int, seed: int = 0) -> None:
    """Print how often the overall test says that errors go together."""
    designs = [(*d, 0.0, p_sampled) for d in FEW] + [(*d, 0.0, p_normal) for d in MANY]
    designs += [
        (k, n, 0.4, r, p_normal)
        for k, n, r in product((4, 6), (300, 1000, 5000), (0.1, 0.2, 0.4))
    ]
    for *design, p_value in designs:
        rng = np.random.default_rng([seed, *(int(1000 * v) for v in design)])
        p = [p_value(together(rng, *design), rng) for _ in range(repeats)]
        print(*design, f"{np.mean(np.array(p) <= 0.05):.3f}", flush=True)


if __name__ == "__main__" and sys.argv[1:2] == ["overall"]:
    overall(*map(int, sys.argv[2:]))
