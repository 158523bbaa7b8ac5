"""How is a tree grown, or cut back, so that every split is worth it?"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from trueness._core.arrays import Array
from trueness._core.checks import options as _options
from trueness.estimators._common import two_labels
from trueness.estimators.tree_leaves import grown_counts, low_level, tree_leaves
from trueness.trees.leaves import Leaves
from trueness.trees.splits import merge_splits, node_counts


class ConfidentTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree without the splits that are not worth keeping.

    A tree is grown on a part of the cases. The other cases, which were not used to
    choose any split, decide which splits raise the level of utility and reach the level
    of confidence. All other splits are merged. Finally, all cases together give the
    leaves their probabilities, with the bias of the majority's share removed.

    Parameters
    ----------
    estimator : DecisionTreeClassifier, optional
        The tree to grow; by default one without limits.
    confidence : float
        Level of confidence that the last splits must reach; 0 merges by utility alone.
    method : {"blend", "emle", "mle"}
        How class probabilities are estimated; see :func:`trueness.top_probability`.
    holdout : float
        Share of the cases that decide on merging. With 0 the cases that the tree is
        grown on decide, and on these nearly every split looks useful.
    random_state : int, RandomState or None
        Decides which cases are held out, and seeds the tree.

    Attributes
    ----------
    classes_ : array (2,)
        The classes.
    estimator_ : DecisionTreeClassifier
        The tree that remained.
    grown_leaves_ : int
        Leaves before merging.
    leaves_ : Leaves
        All cases, counted in the leaves that remained; the second class is positive.
    report_ : LeafReport
        The leaves on the cases that were held out (all cases when none were).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    >>> tree = ConfidentTree(random_state=0).fit(X, y)
    >>> tree.grown_leaves_ > 50 > 10 > tree.get_n_leaves()
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence: float = 0.95,
        method: str = "blend",
        holdout: float = 0.3,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.confidence = confidence
        self.method = method
        self.holdout = holdout
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> ConfidentTree:  # noqa: N803
        """Grow the tree and merge the splits that are not worth keeping."""
        X, y = validate_data(self, X, y)  # noqa: N806
        y, self.classes_ = two_labels(y, type(self).__name__)
        code = np.searchsorted(self.classes_, y)
        random = check_random_state(self.random_state)
        held = self._held_out(len(code), random)
        tree = clone(self.estimator or DecisionTreeClassifier())
        if tree.get_params().get("random_state", 0) is None:
            tree.set_params(random_state=random.randint(2**31))
        tree.fit(X[~held], code[~held])
        self.grown_leaves_ = int(tree.get_n_leaves())
        judge = held if held.any() else ~held
        self.estimator_ = self._pruned(tree, X[judge], code[judge])
        self.leaves_ = self._counted(X, code)
        self.report_ = self._counted(X[judge], code[judge]).report(
            confidence=self.confidence or 0.95, method=self.method
        )
        return self

    def _held_out(self, n: int, random: Any) -> Array:
        share = _options.fraction(self.holdout, "holdout", ends="[)")
        held = np.zeros(n, dtype=bool)
        # at least one case must grow the tree
        size = min(round(share * n), n - 1)
        held[random.permutation(n)[:size]] = True
        return held

    def _pruned(self, tree: Any, X: Any, code: Array) -> Any:  # noqa: N803
        if len(tree.classes_) < 2:  # one class alone was grown on: nothing was split
            return tree
        return prune(tree, X, code, confidence=self.confidence, method=self.method)

    def _counted(self, X: Any, code: Array) -> Leaves:  # noqa: N803
        pos = code == 1
        return Leaves(self.estimator_.apply(X), ~pos + 0, pos + 0)

    def apply(self, X: Any) -> Array:  # noqa: N803
        """Into which leaf does each case fall?"""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)  # noqa: N806
        return np.asarray(self.estimator_.apply(X))

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """How likely is each class, with the bias of small leaves removed?"""
        node = self.apply(X)
        # every leaf has a case: the tree was grown on some of them
        at = np.searchsorted(self.leaves_.node, node)
        pos = self.leaves_.scores(method=self.method)[at]
        return np.column_stack([1 - pos, pos])

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Which class is the likelier one? The first in a tie."""
        check_is_fitted(self)
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    def get_n_leaves(self) -> int:
        """How many leaves remained?"""
        check_is_fitted(self)
        return int(self.estimator_.get_n_leaves())

    def get_depth(self) -> int:
        """How deep is the tree that remained?"""
        check_is_fitted(self)
        return int(self.estimator_.get_depth())


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
        As in :func:`trueness.trees.tree_levels` and :func:`trueness.top_probability`.
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
