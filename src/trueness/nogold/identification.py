"""Do votes determine prevalence and accuracies, when errors are independent?"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array
from trueness.nogold.patterns import Patterns

MAX_RANKED_TESTS = 8  # of which all patterns are tried; more are counted


class Identification(NamedTuple):
    """Degrees of freedom of the table, parameters, and those that it determines."""

    degrees_of_freedom: int
    parameters: int
    rank: int  # of the derivative of all probabilities (Jones et al. 2010)

    @property
    def complete(self) -> bool:
        """Return whether the data determine all parameters."""
        return self.rank >= self.parameters


class TableDesign(NamedTuple):
    """Cases of one population on which the same tests were run."""

    population: int
    tests_run: tuple[bool, ...]
    labelled: bool

    @property
    def degrees_of_freedom(self) -> int:
        """Return the number of free probabilities of its table of patterns."""
        return int(2 ** (sum(self.tests_run) + self.labelled) - 1)


def identification(patterns: Patterns) -> Identification:
    """Return degrees of freedom, parameters, and those that the data determine."""
    populations = len(patterns.populations)
    tests = len(patterns.names)
    parameters = populations + 2 * tests
    designs = _table_designs(patterns)
    degrees_of_freedom = sum(design.degrees_of_freedom for design in designs)

    if tests > MAX_RANKED_TESTS:
        at_most = min(degrees_of_freedom, parameters)
        return Identification(degrees_of_freedom, parameters, at_most)

    general = np.random.default_rng(0)  # any point that is not special
    point = np.concatenate(
        [
            general.uniform(0.2, 0.8, populations),
            general.uniform(0.55, 0.95, tests),
            general.uniform(0.05, 0.45, tests),
        ]
    )
    # complex steps differentiate without rounding (Squire, Trapp 1998)
    steps = point + 1e-30j * np.eye(parameters)
    derivatives = [
        [_pattern_probabilities(step, populations, design) for step in steps]
        for design in designs
    ]
    # probabilities by parameters: the imaginary part over the step, whose size cancels
    jacobian = np.hstack(derivatives).imag.T
    size = np.linalg.norm(jacobian, axis=0)
    # columns of length 1, so that one tolerance fits all parameters
    scaled = jacobian / np.where(size > 0, size, 1)
    rank = int(np.linalg.matrix_rank(scaled, tol=1e-7))

    return Identification(degrees_of_freedom, parameters, rank)


def _table_designs(patterns: Patterns) -> list[TableDesign]:
    """Return the sets of tests that were run, by population and kind of label."""
    designs = set()
    for labelled, cases in (
        (False, patterns.unknown),
        (True, patterns.pos + patterns.neg),
    ):
        for population, counts in enumerate(cases):
            for row in patterns.rows[counts > 0]:
                designs.add(TableDesign(population, tuple(~np.isnan(row)), labelled))

    return sorted(designs)


def _pattern_probabilities(
    parameters: Array, populations: int, design: TableDesign
) -> Array:
    """Return the probabilities of all patterns of one design.

    ``parameters`` are the prevalences, then alpha and beta of all tests.
    """
    tests_run = np.array(design.tests_run)
    alpha, beta = np.split(parameters[populations:], 2)
    alpha = alpha[tests_run]
    beta = beta[tests_run]
    phi = parameters[design.population]

    # (patterns, tests): all patterns of the tests that were run
    votes = np.array(list(product((False, True), repeat=sum(design.tests_run))))
    positive = phi * np.where(votes, alpha, 1 - alpha).prod(axis=1)
    negative = (1 - phi) * np.where(votes, beta, 1 - beta).prod(axis=1)

    if design.labelled:
        return np.concatenate([positive, negative])
    return np.asarray(positive + negative)
