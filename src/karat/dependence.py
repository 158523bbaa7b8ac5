"""Do classifiers err together?

``conditional_dependence`` compares how strongly each pair of classifiers agrees with
what the fitted model predicts (a posterior predictive check). A model in which they may
is ``latent_class(panel, dependence="random effect")``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, final

import numpy as np

from karat import _checks
from karat._numerics import Array, Floats
from karat._records import Record
from karat.identifiability import degrees_of_freedom
from karat.latent import LatentPosterior

Rng = np.random.Generator


@final
@dataclass(frozen=True, repr=False)
class Dependence(Record):
    """Do classifiers agree more than the model says? One entry a pair.

    Attributes
    ----------
    first, second : array of str
        The pair.
    observed : array
        Correlation of their votes.
    expected : array
        What the model predicts, posterior mean.
    residual : array
        The difference: above 0 they agree more than the model can explain.
    p_value : array
        Two-sided posterior predictive p-value.
    note : str
        Whether the check can see anything at all.
    """

    first: Array
    second: Array
    observed: Floats
    expected: Floats
    residual: Floats
    p_value: Floats
    note: str


def conditional_dependence(
    post: LatentPosterior, *, rng: int | np.random.Generator | None = None
) -> Dependence:
    """Do two classifiers err together, beyond what the fitted model explains?

    For every draw of the posterior the votes of a pair are drawn anew; the p-value says
    how often their correlation is as far from its expectation as the observed one.

    Parameters
    ----------
    post
        From :func:`karat.latent_class`.
    rng
        A seed or a NumPy generator.

    Returns
    -------
    Dependence
        With correlation, residual and p-value of every pair.

    Notes
    -----
    A model with as many parameters as degrees of freedom (three classifiers in one
    population) fits any table, and the check cannot see dependence: ``note`` says so.
    Posterior predictive p-values are conservative.
    """
    _checks.latent_posterior(post)
    rng = np.random.default_rng(rng)
    model, flat = post._model, post._flat()
    at = np.linspace(0, len(flat["sensitivity"]) - 1, 4000).astype(int)
    flat = {k: v[at] for k, v in flat.items()}
    rows = []
    for i, j in combinations(range(len(post.names)), 2):
        seen, expected, drawn = _pair(model, flat, i, j, rng)
        tail = min(np.mean(drawn >= seen), np.mean(drawn <= seen))
        mean = float(np.mean(expected))
        rows.append((seen, mean, seen - mean, min(1.0, 2 * float(tail))))
    pairs = np.array(list(combinations(post.names, 2)))
    seen_, mean_, rest, p = np.array(rows).T
    return Dependence(pairs[:, 0], pairs[:, 1], seen_, mean_, rest, p, _power(post))


def _power(post: LatentPosterior) -> str:
    free, parameters, _ = degrees_of_freedom(post._model.cells)
    extra = post._flat()["spread"].shape[1] if "spread" in post._flat() else 0
    if free > parameters + extra:
        return "The table has degrees of freedom left that can show dependence."
    return (
        f"The model has {parameters + extra} parameters for {free} degrees of "
        f"freedom: it fits any table, so dependence cannot show here."
    )


def _pair(
    model: Any, flat: Mapping[str, Floats], i: int, j: int, rng: Rng
) -> tuple[float, Floats, Floats]:
    """Give the observed correlation, and for each draw the expected and a new one."""
    cells = model.cells
    rows = np.full((4, len(cells.names)), np.nan)
    rows[:, [i, j]] = (1, 1), (1, 0), (0, 1), (0, 0)
    a, b = model.class_probabilities(flat, rows)
    both = ~np.isnan(cells.rows[:, [i, j]]).any(axis=1)
    where = 2 * (cells.rows[both, i] == 0) + (cells.rows[both, j] == 0)
    table = np.zeros(4)
    new, mean = np.zeros((2, len(a), 4))
    for s in range(len(cells.populations)):
        phi = flat["prevalence"][:, [s]]
        kinds = (
            (cells.unknown[s, both], phi * a + (1 - phi) * b),
            (cells.pos[s, both], a),
            (cells.neg[s, both], b),
        )
        for count, p in kinds:
            table += np.bincount(where, count, minlength=4)
            p = p / p.sum(axis=1, keepdims=True)
            new += rng.multinomial(int(count.sum()), p)
            mean += count.sum() * p
    return float(_correlation(table[None])[0]), _correlation(mean), _correlation(new)


def _correlation(table: Floats) -> Floats:
    """Give the correlation of two votes from counts 11, 10, 01, 00; 0 if constant."""
    n11, n10, n01, n00 = (c.astype(np.float64) for c in table.T)
    top = n11 * n00 - n10 * n01
    size = np.sqrt((n11 + n10) * (n01 + n00) * (n11 + n01) * (n10 + n00))
    return np.where(size > 0, top / np.where(size > 0, size, 1), 0.0)
