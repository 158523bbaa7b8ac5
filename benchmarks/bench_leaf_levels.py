"""Levels of confidence: 200,000 pairs, and a tree of 1000 leaves

Against ``scipy.stats.binom`` called directly: its survival function, and half of the
probability of a tie. The tree is grown on 100,000 cases; the direct way sums eq. (9)
over the same counts (all but 1e-17 of the mass) leaf by leaf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats
from side_by_side import fastest

import trueness
from trueness._core.binomial import bulk


class Row(NamedTuple):
    what: str
    trueness_s: float
    scipy_s: float
    times_faster: float
    largest_difference: float


def direct(n, p):
    level = stats.binom.sf(n // 2, n, p)
    return level + np.where(n % 2 == 0, stats.binom.pmf(n / 2, n, p) / 2, 0)


def direct_tree(n, weights, p):
    low, high = bulk(n, weights)
    total = 0.0
    for share, top, a, b in zip(weights, p, low, high, strict=True):
        m = np.arange(a, b + 1)
        total += share * (stats.binom.pmf(m, n, share) * direct(m, top)).sum()
    return total


def compared(what, ours, theirs, turns):
    seconds = fastest({"trueness": ours, "scipy": theirs}, turns)
    difference = float(np.abs(np.asarray(ours()) - theirs()).max())
    return Row(
        what,
        round(seconds["trueness"], 4),
        round(seconds["scipy"], 4),
        round(seconds["scipy"] / seconds["trueness"], 1),
        float(f"{difference:.1e}"),
    )


def rows():
    rng = np.random.default_rng(1)
    many = rng.integers(1, 10**6, 200_000)
    tops = rng.uniform(0.5, 1, many.size)
    yield compared(
        "200,000 pairs, n to 1e6",
        lambda: trueness.confidence_level(many, tops),
        lambda: direct(many, tops),
        5,
    )
    weights, p_leaf = rng.dirichlet(np.ones(1000)), rng.uniform(0.5, 1, 1000)
    yield compared(
        "tree",
        lambda: trueness.trees.tree_levels(100_000, weights, p_leaf).confidence,
        lambda: direct_tree(100_000, weights, p_leaf),
        3,
    )
