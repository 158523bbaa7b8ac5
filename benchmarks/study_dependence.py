"""Do classifiers err together? Size and power of both tests, by simulation

Four or five tests, 95 % level. Independent: the share of pairs with p < .05 must not be
above .05. Together: the first two tests share a part of their errors in negatives, and
the share counts their pair alone. With four tests a score test of a pair is that of the
other two as well. One overall test, and how often the answer says that these votes
cannot tell, stand beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import trueness

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
