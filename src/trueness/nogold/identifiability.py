"""Could any amount of data answer this, or does the answer come from the prior?

A model with more parameters than the table has degrees of freedom is not identified:
two classifiers in one population have 5 parameters and 3 degrees of freedom (Hui,
Walter 1980). Counting is necessary, not sufficient, so the rank of the derivative of
all probabilities is taken too, at a point in general position (Jones, Johnson, Hanson,
Christensen 2010, Biometrics 66:855, doi:10.1111/j.1541-0420.2009.01330.x).
"""

from __future__ import annotations

from itertools import product

import numpy as np

from trueness._core.arrays import Floats
from trueness.nogold._checks import only_value
from trueness.nogold.model import LatentModel, Patterns

# share of draws on the other side at which classes are said to swap names
SWAPPED = 0.01
# classifiers up to which all patterns are written down; more are identified by counting
MOST_RANKED = 8


def degrees_of_freedom(patterns: Patterns) -> tuple[int, int, int]:
    """How many numbers can the table tell, how many are asked, how many can be known?

    Returns the degrees of freedom of the data, the number of parameters, and the rank:
    the number of parameters (or combinations of them) that the data determine.
    """
    s, k = len(patterns.populations), len(patterns.names)
    parameters = s + 2 * k
    designs = _designs(patterns)
    free = sum(
        2 ** int(seen.sum()) * (2 if labelled else 1) - 1
        for _, seen, labelled in designs
    )
    if k > MOST_RANKED:
        return free, parameters, min(free, parameters)
    rows = np.vstack([_derivative(patterns, *design) for design in designs])
    size = np.linalg.norm(rows, axis=0)
    rank = np.linalg.matrix_rank(rows / np.where(size > 0, size, 1), tol=1e-7)
    return free, parameters, int(rank)


def _designs(patterns: Patterns) -> list[tuple[int, Floats, bool]]:
    """Which sets of tests were run, in which population, with or without labels?"""
    found = set()
    for j, row in enumerate(patterns.rows):
        seen = tuple(~np.isnan(row))
        for s in range(len(patterns.populations)):
            if patterns.unknown[s, j]:
                found.add((s, seen, False))
            if patterns.pos[s, j] or patterns.neg[s, j]:
                found.add((s, seen, True))
    return [(s, np.array(seen), labelled) for s, seen, labelled in sorted(found)]


def _derivative(patterns: Patterns, s: int, seen: Floats, labelled: bool) -> Floats:
    """Differentiate the probabilities of all patterns of one design."""
    populations, k = len(patterns.populations), len(patterns.names)
    general = np.random.default_rng(0)  # any point that is not special
    phi = general.uniform(0.2, 0.8, populations)[s]
    alpha, beta = general.uniform(0.55, 0.95, k), general.uniform(0.05, 0.45, k)
    x = np.array(list(product((0.0, 1.0), repeat=int(seen.sum()))))
    a = np.prod(np.where(x == 1, alpha[seen], 1 - alpha[seen]), axis=1)[:, None]
    b = np.prod(np.where(x == 1, beta[seen], 1 - beta[seen]), axis=1)[:, None]
    in_pos, in_neg = np.zeros((2, len(x), populations + 2 * k))
    at = populations + np.flatnonzero(seen)
    in_pos[:, [s]], in_neg[:, [s]] = a, -b
    in_pos[:, at] = phi * a * (x / alpha[seen] - (1 - x) / (1 - alpha[seen]))
    in_neg[:, at + k] = (1 - phi) * b * (x / beta[seen] - (1 - x) / (1 - beta[seen]))
    return np.vstack([in_pos, in_neg]) if labelled else in_pos + in_neg


def remarks(
    model: LatentModel, flat: dict[str, Floats]
) -> tuple[bool, tuple[str, ...]]:
    """Say whether the model is identified, and what a reader must know."""
    free, parameters, rank = degrees_of_freedom(model.patterns)
    identified = rank >= parameters
    notes = []
    if not identified and not model.shared:
        notes.append(
            f"Not identified: {parameters} parameters, but the data have {free} "
            f"degrees of freedom and determine {rank} combinations of them. However "
            f"many cases there are, the rest of the answer comes from the prior."
        )
    notes += constant_votes(model.patterns) + _swaps(model, flat)
    return identified, tuple(notes)


def constant_votes(patterns: Patterns) -> list[str]:
    """Say which classifiers give the same vote to all cases."""
    said = zip(patterns.names, map(only_value, patterns.rows.T), strict=True)
    return [
        f"{name} votes {vote:.0f} in every case, so its estimates rest on the prior "
        "and on the other classifiers."
        for name, vote in said
        if np.isfinite(vote)
    ]


def _swaps(model: LatentModel, flat: dict[str, Floats]) -> list[str]:
    if model.prior.ordered:
        return []
    sum_of_youden = (flat["sensitivity"] + flat["specificity"] - 1).sum(axis=1)
    share = float(np.mean(sum_of_youden < 0))
    if share < SWAPPED:
        return []
    return [
        f"The two classes are interchanged in {100 * share:.0f} % of the draws (label "
        "switching): there the classifiers, taken together, are worse than chance, "
        "and 'positive' means 'negative'. Means over all draws are meaningless; pass "
        "ordered=True or an informative prior."
    ]
