r"""What if two classifiers err together, whatever the others do?

Within a class the votes of a pair have a covariance,

.. math:: P(x_i, x_j \mid +) = \alpha_i^{x_i} (1 - \alpha_i)^{1 - x_i}
   \alpha_j^{x_j} (1 - \alpha_j)^{1 - x_j} \pm c_{ij}, \qquad
   0 \le c_{ij} \le \min(\alpha_i, \alpha_j) - \alpha_i \alpha_j

(Dendukuri and Joseph 2001, Biometrics 57:158, doi:10.1111/j.0006-341X.2001.00158.x;
plus where the votes agree), and likewise for negatives. A priori the covariance is
uniform up to its largest value. No classifier belongs to two pairs: so any values are
possible together.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np
from scipy.special import ndtr

from trueness._core.arrays import Floats
from trueness.nogold import pair_tests
from trueness.nogold.dependent import independent_votes
from trueness.nogold.identifiability import degrees_of_freedom
from trueness.nogold.model import Patterns


@final
@dataclass(frozen=True)
class Covariances:
    """Pairs that err together. The parameter is c over its largest value, 0 to 1."""

    pairs: tuple[tuple[int, int], ...]
    titles: tuple[str, ...]
    word: str = "covariance"

    @property
    def names(self) -> tuple[str, ...]:
        """Each pair in positives, then each in negatives."""
        return tuple(f"{t}, {c}" for c in ("pos", "neg") for t in self.titles)

    def natural(self, extra: Floats) -> Floats:
        """Turn coordinates into shares of the largest covariance, uniform a priori."""
        return np.asarray(ndtr(extra))

    def probabilities(self, rate: Floats, own: Floats, rows: Floats) -> Floats:
        """Multiply by 1 + c / (p_i p_j), with the sign of agreement."""
        out = independent_votes(rate, rows)
        for (i, j), share in zip(self.pairs, own.T, strict=True):
            a, b = rate[:, i], rate[:, j]
            most = np.minimum(a, b) - a * b  # at which one vote implies the other
            # +1 / (p p') where both say the same, -1 / ((1 - p) p') where they differ:
            # times the covariance it is what the product of both chances gains
            lift = _slope(a, rows[:, i]) * _slope(b, rows[:, j])
            out *= np.maximum(1 + (share * most)[:, None] * lift, 0.0)
        return out


def _slope(rate: Floats, vote: Floats) -> Floats:
    """Give 1 / p for a vote of 1, -1 / (1 - p) for a vote of 0, nothing for none."""
    yes, no = 1 / rate[:, None], -1 / (1 - rate[:, None])
    out = np.where(vote == 1, yes, no)
    return np.asarray(np.where(np.isnan(vote), 0.0, out))


def likely_pairs(patterns: Patterns) -> Covariances:
    """Which pairs err together most? None shares a classifier with another.

    In the order of the score test, at most as many as the table has degrees of freedom
    for, and one at least.
    """
    pairs = list(combinations(range(len(patterns.names)), 2))
    strength = pair_tests.strengths(patterns)
    free, parameters, _ = degrees_of_freedom(patterns)
    most = max((free - parameters) // 2, 1)
    taken: set[int] = set()
    kept: list[tuple[int, int]] = []
    for p in np.argsort(-np.nan_to_num(strength), kind="stable"):
        i, j = pairs[int(p)]
        if len(kept) < most and not {i, j} & taken:
            taken |= {i, j}
            kept.append((i, j))
    titles = [f"{patterns.names[i]}, {patterns.names[j]}" for i, j in kept]
    return Covariances(tuple(kept), tuple(titles))
