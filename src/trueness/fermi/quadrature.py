"""Sums over very many ranks, as sums over few nodes.

A sum of f over ranks that lie one apart is an integral of f, less the terms of Euler
and Maclaurin at both ends. The integral is taken by Gauss's rule on panels a few widths
of the step long, and the end terms are folded into the weights of the outer panels. So
the cost does not grow with the number of ranks.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from trueness._core.arrays import Floats

# more ranks than this are summed by quadrature: beta is below 0.05 then, and the first
# Euler-Maclaurin term that is left out is below 1e-15
_MAX_RANKS_ONE_BY_ONE = 2048
_NODES_PER_PANEL = 16
# in widths of the step 1 / beta
_PANEL_LENGTH = 4
_END_PANEL_LENGTH = 1


class WeightedSum(NamedTuple):
    """Nodes and weights: the sum of f is ``weights @ f(nodes)``."""

    nodes: Floats
    weights: Floats


def sum_over_ranks(
    start: float, count: int, beta: float, reach: float = math.inf
) -> WeightedSum:
    """Return nodes and weights of the sum over start + 1/2, start + 3/2, ... .

    It holds for functions that vary on the scale 1/beta and are negligible beyond
    ``reach`` of these scales.
    """
    ranks = math.ceil(min(float(count), reach / beta))

    if ranks <= _MAX_RANKS_ONE_BY_ONE:
        nodes: Floats = np.arange(ranks, dtype=np.float64) + (start + 0.5)
        return WeightedSum(nodes, np.ones(nodes.size))

    return _sum_by_quadrature(start, start + ranks, beta, reaches_end=ranks == count)


def _sum_by_quadrature(
    low: float, high: float, beta: float, *, reaches_end: bool
) -> WeightedSum:
    """Return nodes and weights of the sum over the midpoints of unit steps."""
    rule = _gauss_rule()
    edges = _panel_edges(low, high, beta)
    half_lengths = np.diff(edges)[:, None] / 2
    # (panels, nodes): from [-1, 1] to each panel
    nodes = (edges[:-1, None] + half_lengths) + half_lengths * rule.nodes
    weights = half_lengths * rule.weights

    # Euler-Maclaurin: sum over midpoints = integral - [f'] / 24 + 7 [f'''] / 5760
    for order, coefficient in ((1, -1 / 24), (3, 7 / 5760)):
        first_panel = half_lengths[0] ** order
        weights[0] -= coefficient * rule.derivatives_left[order] / first_panel
        if reaches_end:
            last_panel = half_lengths[-1] ** order
            weights[-1] += coefficient * rule.derivatives_right[order] / last_panel

    return WeightedSum(nodes.ravel(), weights.ravel())


def _panel_edges(low: float, high: float, beta: float) -> Floats:
    """Return panels four widths of the step long, the first and the last one width."""
    # in widths of the step, which are 1 / beta
    span = (high - low) * beta
    if span <= 2 * _END_PANEL_LENGTH:
        return np.array([low, high])

    inner_panels = max(1, math.ceil((span - 2 * _END_PANEL_LENGTH) / _PANEL_LENGTH))
    width = _END_PANEL_LENGTH / beta
    inner_edges = np.linspace(low + width, high - width, inner_panels + 1)
    return np.concatenate([[low], inner_edges, [high]])


class _GaussRule(NamedTuple):
    """Gauss-Legendre on [-1, 1].

    ``derivatives_left[k]`` turns values at the nodes into the k-th derivative at -1,
    ``derivatives_right[k]`` into that at 1.
    """

    nodes: Floats
    weights: Floats
    derivatives_left: dict[int, Floats]
    derivatives_right: dict[int, Floats]


@cache
def _gauss_rule() -> _GaussRule:
    """Return the Gauss-Legendre rule of a panel, with derivatives at both ends."""
    nodes, weights = legendre.leggauss(_NODES_PER_PANEL)

    # values at the nodes -> Legendre coefficients, by the discrete orthogonality
    degree = np.arange(_NODES_PER_PANEL)
    to_series = (legendre.legvander(nodes, _NODES_PER_PANEL - 1) * weights[:, None]).T
    # Legendre's polynomial of degree k has the squared norm 2 / (2 k + 1)
    to_series *= (2 * degree[:, None] + 1) / 2

    return _GaussRule(
        nodes,
        weights,
        derivatives_left={k: _derivative(-1.0, k, to_series) for k in (1, 3)},
        derivatives_right={k: _derivative(1.0, k, to_series) for k in (1, 3)},
    )


def _derivative(end: float, order: int, to_series: Floats) -> Floats:
    """Return the row that turns values at the nodes into a derivative at one end."""
    # a row for each polynomial of the series
    basis = np.eye(_NODES_PER_PANEL)
    at_end = legendre.legval(end, legendre.legder(basis, order))
    return np.asarray(at_end @ to_series)
