"""What if a classifier repeats the votes of another?

Two classifiers that agree in every case may both be right, or one may be a copy of the
other: their votes cannot show which. So they are counted once. The model is that of the
distinct classifiers, and a copy has the estimates of its original.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness.nogold.model import Patterns, Prior, parameter_labels

Rng = np.random.Generator
SHARED = ("sensitivity", "specificity")  # what a copy has of its original


def originals(rows: Floats) -> list[int]:
    """Give the first column that is equal to each column.

    >>> originals(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    [0, 0, 2]
    """
    out: list[int] = []
    for k, column in enumerate(rows.T):
        same = (
            j
            for j in sorted(set(out))
            if np.array_equal(column, rows[:, j], equal_nan=True)
        )
        out.append(next(same, k))
    return out


@final
@dataclass(frozen=True)
class Copied:
    """A model of distinct classifiers, told of all of them."""

    patterns: Patterns
    prior: Prior
    inner: Any
    source: tuple[int, ...]  # for each classifier its place among the distinct ones

    @property
    def extra(self) -> int:
        """How many parameters besides prevalences and accuracies?"""
        return int(self.inner.extra)

    @property
    def labels(self) -> tuple[str, ...]:
        """Give the name of every parameter."""
        more = self.inner.labels[len(parameter_labels(self.inner.patterns)) :]
        return (*parameter_labels(self.patterns), *more)

    def natural(self, theta: Floats) -> dict[str, Floats]:
        """Give all parameters."""
        return self.expanded(self.inner.natural(theta))

    def prior_draws(self, n: int, rng: Rng) -> Floats:
        """Draw coordinates of the distinct classifiers from the prior."""
        return np.asarray(self.inner.prior_draws(n, rng))

    def class_probabilities(
        self, flat: Mapping[str, Floats], rows: Floats
    ) -> tuple[Floats, Floats]:
        """Give the probability of each pattern; copies never differ."""
        votes, possible = self._first_votes(rows)
        a, b = self.inner.class_probabilities(self.reduced(flat), votes)
        return a * possible, b * possible

    def post_test(
        self, flat: Mapping[str, Floats], rows: Floats, s: int, phi: float | None
    ) -> Floats:
        """Average P(positive | votes); of copies that differ the first one counts."""
        votes, _ = self._first_votes(rows)
        return np.asarray(self.inner.post_test(self.reduced(flat), votes, s, phi))

    def _first_votes(self, rows: Floats) -> tuple[Floats, Floats]:
        """Give one vote of each distinct classifier, and where its copies agree."""
        votes = np.full((len(rows), max(self.source) + 1), np.nan)
        agree = np.ones(len(rows))
        for column, at in zip(rows.T, self.source, strict=True):
            first = np.isnan(votes[:, at])
            differ = ~first & ~np.isnan(column) & (column != votes[:, at])
            agree[differ] = 0.0
            votes[first, at] = column[first]
        return votes, agree

    def expanded(self, flat: Mapping[str, Floats]) -> dict[str, Floats]:
        """Repeat the accuracies of originals for their copies, in the last axis."""
        at = list(self.source)
        return {k: v[..., at] if k in SHARED else v for k, v in flat.items()}

    def reduced(self, flat: Mapping[str, Floats]) -> dict[str, Floats]:
        """Leave the copies out again."""
        at = [self.source.index(i) for i in range(max(self.source) + 1)]
        return {k: v[..., at] if k in SHARED else v for k, v in flat.items()}

    def places(self) -> list[int]:
        """Give the place of every parameter among those of the inner model."""
        s, k = len(self.patterns.populations), max(self.source) + 1
        at = list(self.source)
        more = range(s + 2 * k, len(self.inner.labels))
        return [*range(s), *(s + i for i in at), *(s + k + i for i in at), *more]


def without_copies(
    patterns: Patterns, prior: Prior
) -> tuple[Patterns, Prior, tuple[int, ...]] | None:
    """Leave out copies; None where there are none, or none that could be left out."""
    first = originals(patterns.rows)
    kept = sorted(set(first))
    told_apart = any(  # copies of which the prior says something else
        not np.array_equal(ab[k], ab[j])
        for ab in (prior.sensitivity, prior.specificity)
        for k, j in enumerate(first)
    )
    if len(kept) == len(first) or len(kept) < 2 or told_apart:
        return None
    names = tuple(patterns.names[k] for k in kept)
    fewer = replace(patterns, names=names, rows=patterns.rows[:, kept])
    sens, spec = prior.sensitivity[kept], prior.specificity[kept]
    small = replace(prior, sensitivity=sens, specificity=spec)
    return fewer, small, tuple(kept.index(j) for j in first)


def copies_note(patterns: Patterns) -> str:
    """Say which classifiers are counted once; nothing where there is no copy."""
    first = originals(patterns.rows)
    if len(set(first)) == 1:
        return ALL_AGREE
    names = patterns.names
    said = []
    for j in sorted(set(first)):
        copies = [names[k] for k, i in enumerate(first) if i == j and k != j]
        if copies:
            said.append(f"the same votes as {names[j]}: {', '.join(copies)}")
    if not said:
        return ""
    return (
        f"In every case there are {'; '.join(said)}. They are counted once and have "
        "the same estimates, because votes that never differ cannot show whether one "
        "repeats the other."
    )


def nearly_copied(patterns: Patterns) -> str:
    """Say which two nearly agree while no other pair does; nothing without such a pair.

    By Cohen's kappa, agreement beyond chance: two that are nearly always right and two
    of which one repeats the other look alike, but only if others are much worse.
    """
    pairs = list(combinations(range(len(patterns.names)), 2))
    total = patterns.total.sum(axis=0)
    apart = np.array([_disagreement(patterns.rows[:, pair], total) for pair in pairs])
    if apart.size < 2:
        return ""
    order = np.argsort(apart)
    if apart[order[0]] > NEAR or 3 * apart[order[0]] > apart[order[1]]:
        return ""
    a, b = (patterns.names[k] for k in pairs[order[0]])
    return NEARLY.format(a=a, b=b)


def _disagreement(votes: Floats, total: Floats) -> float:
    """Give one minus kappa: disagreement in units of that of independent votes."""
    seen = ~np.isnan(votes).any(axis=1)
    x, w = votes[seen], total[seen] / max(total[seen].sum(), 1e-300)
    a, b = w @ x
    return float(w @ (x[:, 0] != x[:, 1]) / max(a * (1 - b) + b * (1 - a), 1e-300))


NEAR = 0.05  # one minus kappa, below which one may repeat the other
NEARLY = (
    "{a} and {b} nearly always agree, and no other pair does. Either both are nearly "
    "always right, which the answer assumes, or one repeats the errors of the other; "
    "then these two are too good here and the others too bad. Label some cases, or "
    "leave one of the two out."
)
ALL_AGREE = (
    "All classifiers agree in every case. These votes cannot show whether all of them "
    "are right or repeat each other's errors; the answer assumes the first. Label some "
    "cases, or add a classifier that works differently."
)
