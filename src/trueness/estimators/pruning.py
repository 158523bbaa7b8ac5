"""How is a fitted scikit-learn tree cut back to the splits that are worth it?"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness.estimators.tree_leaves import grown_counts, low_level, tree_leaves
from trueness.trees.splits import merge_splits, node_counts


def prune(
    tree: Any,
    X: Any = None,  # noqa: N803 - scikit-learn's name
    y: Any = None,
    *,
    confidence: float = 0.95,
    method: str = "blend",
    empty: str | float = "coin",
    classes: Any = None,
) -> Any:
    """Which tree remains when splits that are not worth keeping are merged?

    The answer is a copy of the tree whose splits all raise the level of utility, and
    whose last splits reach a level of confidence; see
    :func:`trueness.trees.splits.merge_splits`.

    Parameters
    ----------
    tree
        A fitted DecisionTreeClassifier or ExtraTreeClassifier of two classes, or one
        tree of a forest. It is not changed.
    X, y
        Cases that decide, preferably cases that the tree was not grown on. Without them
        the counts that the tree keeps decide, and little is merged: on the cases it was
        grown on nearly every split looks useful.
    confidence
        Smallest level of confidence of the last splits; 0 merges by utility alone.
    method, empty
        As in :func:`trueness.tree_levels` and :func:`trueness.top_probability`.
    classes
        The forest's ``classes_`` when the tree is one of a forest.

    Returns
    -------
    estimator
        The same kind of tree, with its leaves' class shares as they were grown.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = [[0], [1], [2], [3]] * 20, [0, 1, 0, 1] * 10 + [1] * 40
    >>> tree = DecisionTreeClassifier().fit(X, y)
    >>> int(tree.get_n_leaves()), int(prune(tree).get_n_leaves())
    (4, 1)
    """
    low = low_level(tree)
    left, right = low.children_left, low.children_right
    if X is None:
        neg, pos = grown_counts(tree)
    else:
        found, _ = tree_leaves(tree, X, y, classes=classes)
        neg, pos = (np.zeros(left.size, np.int64) for _ in range(2))
        neg[found.node], pos[found.node] = found.neg, found.pos
        neg, pos = node_counts(left, right, neg), node_counts(left, right, pos)
    ends = merge_splits(
        left, right, neg, pos, confidence=confidence, method=method, empty=empty
    )
    return cut_back(tree, ends)


def cut_back(tree: Any, ends: Array) -> Any:
    """Copy a fitted tree with these nodes as its leaves, and without those below."""
    low = low_level(tree)
    state = low.__getstate__()
    nodes, depth = _reached(low.children_left, low.children_right, ends)
    place = np.full(low.node_count, -1)
    place[nodes] = np.arange(nodes.size)
    kept = state["nodes"][nodes].copy()
    stop = ends[nodes]
    for side in ("left_child", "right_child"):
        kept[side] = np.where(stop, -1, place[kept[side]])
    kept["feature"][stop] = -2  # scikit-learn's marks of a leaf
    kept["threshold"][stop] = -2.0
    maker, arguments, _ = low.__reduce__()
    smaller = maker(*arguments)
    smaller.__setstate__(
        {
            **state,
            "max_depth": depth,
            "node_count": nodes.size,
            "nodes": kept,
            "values": state["values"][nodes].copy(),
        }
    )
    pruned = copy.copy(tree)
    pruned.tree_ = smaller
    return pruned


def _reached(left: Array, right: Array, ends: Array) -> tuple[Array, int]:
    """Which nodes are reached from the root, in their order, and how deep is that?"""
    depth = np.full(left.size, -1)
    depth[0] = 0
    for node in range(left.size):
        if depth[node] >= 0 and not ends[node]:
            depth[[left[node], right[node]]] = depth[node] + 1
    return np.flatnonzero(depth >= 0), int(depth.max())
