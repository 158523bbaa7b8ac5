"""How likely is each pattern of votes, in draws from a posterior?

The combinations of tests are judged by these: 2^K probabilities in both classes, and
the prevalence, in every draw or in some of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import options as _options
from trueness.nogold.criteria import Draws
from trueness.nogold.formulas import votes
from trueness.nogold.posterior import LatentPosterior, which_population

MAX_ENTRIES = 2**22  # patterns times draws that are held at a time


@final
@dataclass(frozen=True)
class PatternDraws:
    """The draws of a posterior, as probabilities of all patterns.

    ``population`` is the number of the one whose prevalence is used, ``prevalence`` one
    that is used in its place.
    """

    posterior: LatentPosterior
    population: int = 0
    prevalence: float | None = None

    @property
    def number(self) -> int:
        """Return the number of draws."""
        return len(self.posterior.flat["sensitivity"])

    def evenly_spaced(self, at_most: int) -> Draws:
        """Return at most this many draws, evenly spaced; at least one."""
        size = min(self.number, max(1, at_most))
        rows = np.linspace(0, self.number - 1, size).astype(int)
        return self._take(rows)

    def as_many_as_fit(self) -> Draws:
        """Return as many draws as can be held with all of their patterns."""
        return self.evenly_spaced(MAX_ENTRIES >> len(self.posterior.names))

    def in_blocks(self) -> Iterator[Draws]:
        """Walk through all draws, some at a time."""
        size = max(1, MAX_ENTRIES >> len(self.posterior.names) + 2)
        for rows in blocks(self.number, size):
            yield self._take(rows)

    def _take(self, rows: Array | slice) -> Draws:
        """Return the pattern probabilities and the prevalence of some draws."""
        draws = {name: values[rows] for name, values in self.posterior.flat.items()}
        phi = draws["prevalence"][:, self.population]
        if self.prevalence is not None:
            phi = np.full_like(phi, self.prevalence)

        if self.posterior.model.shared:
            all_votes = votes(len(self.posterior.names)).astype(np.float64)
            in_positives, in_negatives = self.posterior.model.class_probabilities(
                draws, all_votes
            )
        else:  # much faster, and the same
            in_positives = _products(draws["sensitivity"])
            in_negatives = _products(1 - draws["specificity"])

        return Draws(in_positives, in_negatives, phi)


def read_pattern_draws(
    posterior: LatentPosterior,
    population: str | None,
    prevalence: float | None,
    *,
    any_population: bool = False,
) -> PatternDraws:
    """Read which population is meant, or which prevalence, and return its draws.

    With ``any_population`` the first one is taken where none is named.
    """
    population_number = which_population(
        population, posterior.populations, prevalence, single=any_population
    )
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence")
    return PatternDraws(posterior, population_number, prevalence)


def _products(rate: Floats) -> Floats:
    """Return the probabilities of all patterns of independent tests, (n, 2^K).

    ``rate`` is that of a yes, (n, K). Patterns of one half of the tests are multiplied
    with those of the other.
    """
    if rate.shape[1] == 1:
        return np.hstack([rate, 1 - rate])
    first_tests, last_tests = np.array_split(rate, 2, axis=1)
    first_half = _products(first_tests)
    last_half = _products(last_tests)
    # (n, last, 1) times (n, 1, first): every pair of patterns of the two halves, in
    # which the first tests are the low bits of a pattern's number
    return (last_half[:, :, None] * first_half[:, None, :]).reshape(len(rate), -1)


def rates_of(posterior: LatentPosterior, chosen: Array) -> Floats:
    """Return sensitivity and specificity of a set of patterns in every draw."""
    return np.hstack(
        [draws.rates(chosen) for draws in PatternDraws(posterior).in_blocks()]
    )
