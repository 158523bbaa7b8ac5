"""The best combination of 5 to 12 tests on average over 1000 draws, one BLAS thread

300 cases without labels, tests with sensitivity and specificity between .55 and .95.
Each time is that of ``best_combination`` as a whole: the best set of patterns on
average, the best of each of the draws, the formula. ``missing`` is the largest stated
gap of the three criteria; 0 is exact. HiGHS solves the minimum alone as an integer
program.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from side_by_side import fastest

import trueness
from trueness.nogold.criteria import read_criterion
from trueness.nogold.pattern_draws import PatternDraws
from trueness.nogold.search import best_on_average

CASES, DRAWS = 300, 1000


class Row(NamedTuple):
    tests: int
    patterns: int
    winners: int
    product_s: float
    squares_s: float
    min_s: float
    missing: float
    highs_ratio: str


def posterior(k: int) -> trueness.records.LatentPosterior:
    rng = np.random.default_rng(k)
    truth = rng.random(CASES) < 0.3
    yes, wrong = rng.uniform(0.55, 0.95, k), rng.uniform(0.05, 0.45, k)
    rows = rng.random((CASES, k)) < np.where(truth[:, None], yes, wrong)
    votes = {f"T{i}": column for i, column in enumerate(rows.T.astype(float))}
    return trueness.latent_class(trueness.panel(None, votes), draws=DRAWS, rng=0)


def highs_ratio(post: trueness.records.LatentPosterior) -> str:
    """How much longer does HiGHS take for the minimum, on the same draws?"""
    if len(post.names) > 6:
        return ""
    draws = PatternDraws(post).evenly_spaced(DRAWS)
    a, b, _ = draws
    d, n = a.shape
    rows = np.vstack([np.hstack([-a, np.eye(d)]), np.hstack([b, np.eye(d)])])

    def highs() -> object:
        return milp(
            np.concatenate([np.zeros(n), np.full(d, -1 / d)]),
            constraints=LinearConstraint(rows, ub=np.repeat([0.0, 1.0], d)),
            integrality=np.repeat([1, 0], [n, d]),
            bounds=Bounds(0, 1),
        )

    took = fastest(
        {"ours": lambda: best_on_average(read_criterion("min"), draws), "highs": highs},
        2,
    )
    return f"{took['highs'] / took['ours']:,.0f}"


def rows() -> Iterator[Row]:
    for k in range(5, 13):
        post = posterior(k)
        took, gaps = {}, []
        for criterion in ("product", "squares", "min"):
            start = time.perf_counter()
            best = trueness.best_combination(post, criterion=criterion)
            took[criterion] = round(time.perf_counter() - start, 2)
            gaps.append(best.gap)
        ratio = highs_ratio(post)
        yield Row(k, 2**k, best.winners, *took.values(), max(gaps), ratio)
