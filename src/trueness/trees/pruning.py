"""Which splits of a grown tree are worth keeping?

A tree is two arrays of children, as scikit-learn and others keep it, and the cases of
its nodes. What is merged is decided from the leaves upwards.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks import options as _options
from trueness.trees.entropic import TOP_METHODS
from trueness.trees.levels import TreeLevels, tree_levels, utility_level

# utilities closer than this are the same
_SAME = 1e-12


def node_counts(left: Ints, right: Ints, counts: Ints) -> Ints:
    """Add up the cases of the leaves for every node; children come after parents."""
    total = counts.copy()
    for node in range(left.size - 1, -1, -1):
        if left[node] >= 0:
            total[node] = total[left[node]] + total[right[node]]
    return total


def merge_splits(
    left: Ints,
    right: Ints,
    neg: Ints,
    pos: Ints,
    *,
    confidence: float = 0.95,
    method: str = "blend",
    empty: str | float = "coin",
) -> Array:
    r"""Which nodes remain leaves when splits that are not worth it are merged?

    From the bottom up, the splits below a node are merged when together they are not
    more useful than the node as a single leaf, :math:`P(U)_\text{split} \le
    P(U)_\text{leaf}` at the node's number of cases, or when the node is the last split
    above two leaves and its level of confidence is under the floor.

    Parameters
    ----------
    left, right
        Children of each node, -1 at a leaf; a child has a larger number than its
        parent, and the root is 0.
    neg, pos
        Cases that came through each node.
    confidence
        Floor of P(C) for a last split; 0 merges by utility alone.
    method
        How class probabilities are estimated; see :func:`trueness.top_probability`.
    empty
        What an empty leaf is worth; see :func:`trueness.tree_levels`.

    Returns
    -------
    array of bool
        True at the nodes that are leaves of the merged tree.

    Examples
    --------
    >>> left, right = np.array([1, -1, -1]), np.array([2, -1, -1])
    >>> merge_splits(left, right, np.array([40, 38, 2]), np.array([40, 2, 38]))
    array([False,  True,  True])
    >>> merge_splits(left, right, np.array([40, 20, 20]), np.array([40, 20, 20]))
    array([ True, False, False])
    """
    floor = _options.fraction(confidence, "confidence", ends="[)")
    _options.choice(method, TOP_METHODS, "method")
    below: list[list[int]] = [[node] for node in range(left.size)]
    for node in range(left.size - 1, -1, -1):
        if left[node] < 0:
            continue
        leaves = below[left[node]] + below[right[node]]
        split, alone = _levels_of(node, leaves, neg, pos, method, empty)
        thin = len(leaves) == 2 and split.confidence < floor
        if split.utility > alone + _SAME and not thin:
            below[node] = leaves
    remains = np.zeros(left.size, dtype=bool)
    remains[below[0]] = True
    return remains


def _levels_of(
    node: int, leaves: list[int], neg: Ints, pos: Ints, method: str, empty: str | float
) -> tuple[TreeLevels, float]:
    """Give the levels of the splits below a node, and its utility as a leaf."""
    at = np.array([node, *leaves])
    n = neg[at] + pos[at]
    top = TOP_METHODS[method](pos[at], n)
    top = np.where(np.isnan(top), 0.5, top)
    cases = int(n[0])
    # no case came here: every leaf is as good as a coin, and the split is merged
    share = n[1:] / cases if cases else np.full(len(leaves), 1 / len(leaves))
    split = tree_levels(cases, share, top[1:], empty)
    return split, float(utility_level(cases, top[0]))
