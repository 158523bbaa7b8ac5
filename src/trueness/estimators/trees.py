"""Which leaves of a scikit-learn tree can be trusted, and which splits are worth it?"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from trueness._core.arrays import Array
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, OptimisticWarning, PythonCode
from trueness._core.checks.words import listing, plain
from trueness.data.frames import leaves
from trueness.estimators.classifiers import class_of, two_labels
from trueness.trees.leaf_reports import LeafReport, report_beside_prediction
from trueness.trees.leaves import Leaves
from trueness.trees.splits import merge_splits, node_counts

_FRESH = "Counted on cases that were not used to grow the tree."
_GROWN = (
    "Counted on the cases that were used to grow the tree. Its splits were chosen "
    "because they looked good on these cases, so the levels are too high and no leaf "
    "is called trusted. Pass cases that were held out: leaf_report(tree, X_test, "
    "y_test)."
)


def leaf_report(
    tree: BaseEstimator,
    X: object = None,  # noqa: N803 - scikit-learn's name
    y: object = None,
    *,
    positive: object = None,
    classes: object = None,
    confidence: float = 0.95,
    level: float = 0.95,
    method: str = "blend",
    empty: str | float = "coin",
) -> LeafReport:
    """Which leaves of this tree can be trusted, and how many more cases do others need?

    Parameters
    ----------
    tree
        A fitted DecisionTreeClassifier or ExtraTreeClassifier of two classes, one tree
        of a forest, a :class:`~trueness.estimators.ConfidentTree`, or a fitted Pipeline
        that ends in one of these; X then goes through its first steps.
    X, y
        Cases that the tree was not grown on. Without them the counts that the tree
        keeps are used, with a warning, as when these turn out to be the cases that the
        tree was grown on.
    positive
        The class that counts as positive; by default the second one.
    classes
        The forest's ``classes_`` when the tree is one of a forest.
    confidence, level, method, empty
        As in :meth:`trueness.Leaves.report`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [0], [1], [1]], [0, 0, 1, 1])
    >>> report = leaf_report(tree, [[0], [0], [1], [1], [1], [1]], [0, 1, 1, 1, 1, 1])
    >>> report.verdict.tolist(), report.more.tolist()
    (['coin toss', 'thin'], [inf, 3.0])
    """
    tree, seen, names = _last_step(tree, X)
    found, grown = tree_leaves(tree, seen, y, positive=positive, classes=classes)
    if grown:
        warnings.warn(_GROWN, OptimisticWarning, stacklevel=2)
    report = found.report(
        confidence=confidence,
        level=level,
        method=method,
        empty=empty,
        fresh=not grown,
    )
    labels = class_labels(tree, y, classes)
    swapped = positive is not None and positive == labels[0]
    named = labels[::-1] if swapped else labels
    low = low_level(tree)
    rule = _rules(low, names)[found.node]
    predicted = labels[np.argmax(low.value[found.node, 0, :], axis=1)]
    if hasattr(tree, "leaves_"):  # a ConfidentTree, whose leaves were counted anew
        place = np.searchsorted(tree.leaves_.node, found.node)
        above = tree.leaves_.scores(method=tree.method) > 0.5
        predicted = labels[above[place].astype(np.intp)]
    report = replace(report, rule=rule, classes=named)
    report = report_beside_prediction(
        report,
        neg=found.neg,
        pos=found.pos,
        predicted=predicted,
        positive=named[1],
        fresh=not grown,
    )
    against = int((report.verdict == "contradicted").sum())
    note = _GROWN if grown else _FRESH
    if against:
        note += (
            f" In {against} of {report.node.size} leaves most of them are not of the "
            "class that the tree predicts."
        )
    if 2 * against > int((report.majority != "tie").sum()):
        note += " Are the labels the wrong way round?"
    return replace(report, note=note)


def _last_step(tree: BaseEstimator, X: object) -> tuple[Any, Any, Any]:  # noqa: N803
    """Give the tree at the end of a pipeline, what it sees, and names of features."""
    names = getattr(tree, "feature_names_in_", None)
    if not (hasattr(tree, "steps") and hasattr(tree, "named_steps")):
        return tree, X, names
    before, last = tree[:-1], tree[-1]
    seen = X if X is None or not len(before.steps) else before.transform(X)
    try:
        names = before.get_feature_names_out() if len(before.steps) else names
    except (AttributeError, ValueError):  # a step that cannot name what it makes
        names = getattr(last, "feature_names_in_", None)
    return last, seen, names


def _rules(low: Tree, names: Sequence[str] | None = None) -> Array:
    """Which cases fall into each node of a tree, such as ``0.5 < age <= 2``?"""
    rules = np.full(low.node_count, "all cases", dtype=object)
    limits: dict[int, dict[int, tuple[float, float]]] = {0: {}}
    for node in range(low.node_count):  # a child has a larger number than its parent
        parts = []
        for at, (least, most) in limits[node].items():
            name, ends = f"x{at}" if names is None else str(names[at]), ""
            if np.isfinite(most):
                name, ends = f"{name} <= {most:.4g}", f"{least:.4g} < "
            elif np.isfinite(least):
                name = f"{name} > {least:.4g}"
            parts.append(name if np.isneginf(least) else ends + name)
        rules[node] = " and ".join(parts) or "all cases"
        if low.children_left[node] < 0:
            continue
        at, cut = int(low.feature[node]), float(low.threshold[node])
        least, most = limits[node].get(at, (-np.inf, np.inf))
        below, above = (least, min(most, cut)), (max(least, cut), most)
        limits[int(low.children_left[node])] = limits[node] | {at: below}
        limits[int(low.children_right[node])] = limits[node] | {at: above}
    return rules


def tree_leaves(
    tree: BaseEstimator,
    X: object = None,  # noqa: N803
    y: object = None,
    *,
    positive: object = None,
    classes: object = None,
) -> tuple[Leaves, bool]:
    """Count the cases of each leaf; say whether the tree was grown on them."""
    low = low_level(tree)
    labels = class_labels(tree, y, classes)
    chosen = labels[1] if positive is None else positive
    class_of(chosen, labels.tolist(), "positive")
    if X is None:
        neg, pos = grown_counts(tree)
        if chosen == labels[0]:
            neg, pos = pos, neg
        ends = low.children_left < 0
        return Leaves(np.flatnonzero(ends), neg[ends], pos[ends]), True
    if y is None:
        raise InputError(
            "Cases need their labels: X and y, or neither of them for the counts that "
            "the tree keeps.",
            option="y",
        )
    nodes = tree.apply(X)
    found = leaves(y, nodes, positive=plain(chosen))
    return found, _grown_on(tree, found, nodes, chosen == labels[0])


def low_level(tree: BaseEstimator) -> Tree:
    """Give scikit-learn's low-level tree, or say what was needed."""
    inner = getattr(tree, "estimator_", tree)
    low, classes = getattr(inner, "tree_", None), len(getattr(inner, "classes_", ()))
    kind = type(tree).__name__
    if low is None:
        hint = "Call fit first."
        if hasattr(tree, "estimators_"):
            hint = "Pass one of its trees: forest.estimators_[0]."
        raise InputError(
            f"A fitted scikit-learn tree is needed; found {kind} without a tree_. "
            f"{hint}"
        )
    if classes != 2:
        found = f"{classes} classes" if classes else "a regression tree"
        raise InputError(
            f"A tree of two classes is needed; this {kind} has {found}. For one class "
            f"against the rest grow the tree on y == that class."
        )
    return low


def class_labels(tree: BaseEstimator, y: object, classes: object) -> Array:
    """Which labels do the two classes of the tree have, in its order?"""
    # a tree of a forest knows its classes as 0 and 1 only
    own = np.asarray(tree.classes_)
    if classes is not None:
        found = np.asarray(classes)
        if found.shape != (2,):
            raise InputError(
                f"classes must be the two classes of the forest; found {classes!r}.",
                option="classes",
                example=PythonCode("forest.classes_"),
            )
        return found
    if y is None:
        return own
    column = np.asarray(y)
    seen = np.unique(column[~_columns.missing(column)])
    numbered = own.dtype.kind == "f" and own.tolist() == [0.0, 1.0]
    strangers = not np.isin(seen, own).all()
    if strangers and numbered and seen.size == 2:
        return seen
    if strangers:
        raise InputError(
            f"y must hold the classes of the tree, {listing(own)}; found "
            f"{listing(seen)}. A tree of a forest has the classes of the forest.",
            option="classes",
            example=PythonCode("forest.classes_"),
        )
    return own


def grown_counts(tree: BaseEstimator) -> tuple[Array, Array]:
    """How many cases of each class did every node have when the tree was grown?"""
    low = low_level(tree)
    weight = low.weighted_n_node_samples[:, None] * low.value[:, 0, :]
    counts = np.rint(weight).astype(np.int64)
    whole = np.array_equal(counts.sum(axis=1), low.n_node_samples)
    if not whole or not np.allclose(weight, counts, atol=1e-6):
        raise InputError(
            "The tree keeps weights, not counts: it was grown with sample_weight, "
            "class_weight or on a bootstrap sample. X and y are needed to count cases.",
            option="X",
        )
    return counts[:, 0], counts[:, 1]


def _grown_on(tree: Any, found: Leaves, nodes: Array, swapped: bool) -> bool:
    """Does every leaf hold just as many cases of each class as when it was grown?"""
    neg, pos = (found.pos, found.neg) if swapped else (found.neg, found.pos)
    if hasattr(tree, "leaves_"):
        return bool(Leaves(found.node, neg, pos, found.unknown) == tree.leaves_)
    low, seed = low_level(tree), getattr(tree, "random_state", None)
    ends = np.flatnonzero(low.children_left < 0)
    if ends.size < 2:
        return False
    share = low.value[ends, 0, :] * low.n_node_samples[ends, None]
    if np.array_equal(found.node, ends) and np.allclose(
        share, np.column_stack([neg, pos]), atol=1e-6
    ):
        return True
    drawn = low.weighted_n_node_samples[0]
    bootstrap = low.n_node_samples[0] < drawn == round(drawn)
    if not bootstrap or not isinstance(seed, (int, np.integer)):
        return False
    # as scikit-learn's forests draw: a bootstrap sample from the tree's own seed
    random = np.random.RandomState(seed)
    at = random.randint(0, nodes.size, int(drawn), dtype=np.int32)
    cases = np.bincount(nodes[at], minlength=low.node_count)
    return bool(np.array_equal(cases[ends], low.weighted_n_node_samples[ends]))


class ConfidentTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree without the splits that are not worth keeping.

    A tree is grown on a part of the cases. The others decide which splits raise the
    level of utility and reach the level of confidence; all other splits are merged.
    All cases together then give the leaves their probabilities, with the bias of the
    majority's share removed.

    Parameters
    ----------
    estimator : DecisionTreeClassifier, optional
        The tree to grow; by default one without limits.
    confidence, method
        Level of confidence that the last splits must reach; 0 merges by utility alone.
        How class probabilities are estimated; see :func:`trueness.top_probability`.
    holdout : float
        Share of the cases that decide on merging. With 0 those that the tree is grown
        on decide, on which nearly every split looks useful.
    random_state : int, RandomState or None
        Decides which cases are held out, and seeds the tree.

    Attributes
    ----------
    classes_, estimator_, grown_leaves_
        The classes, the tree that remained, and its number of leaves before merging.
    leaves_, report_ : Leaves, LeafReport
        All cases, counted in the leaves that remained (the second class is positive);
        the report on those that were held out (on all when none were).

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
        estimator: BaseEstimator | None = None,
        *,
        confidence: float = 0.95,
        method: str = "blend",
        holdout: float = 0.3,
        random_state: object = None,
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

    def fit(self, X: object, y: object) -> ConfidentTree:  # noqa: N803
        """Grow the tree and merge the splits that are not worth keeping."""
        rows, column = validate_data(self, X, y)
        column, self.classes_ = two_labels(column, type(self).__name__)
        code = np.searchsorted(self.classes_, column)
        random = check_random_state(self.random_state)
        share = _options.fraction(self.holdout, "holdout", ends="[)")
        held = np.zeros(len(code), dtype=bool)
        # at least one case must grow the tree
        size = min(round(share * len(code)), len(code) - 1)
        held[random.permutation(len(code))[:size]] = True
        tree = clone(self.estimator or DecisionTreeClassifier())
        if tree.get_params().get("random_state", 0) is None:
            tree.set_params(random_state=random.randint(2**31))
        tree.fit(rows[~held], code[~held])
        self.grown_leaves_ = int(tree.get_n_leaves())
        judge = held if held.any() else ~held
        if len(tree.classes_) == 2:  # else nothing was split
            tree = prune(
                tree,
                rows[judge],
                code[judge],
                confidence=self.confidence,
                method=self.method,
            )
        self.estimator_ = tree
        self.leaves_ = self._counted(rows, code)
        counted = self._counted(rows[judge], code[judge])
        self.report_ = counted.report(
            confidence=self.confidence or 0.95,
            method=self.method,
            fresh=bool(held.any()),
        )
        return self

    def _counted(self, X: object, code: Array) -> Leaves:  # noqa: N803
        pos = code == 1
        return Leaves(self.estimator_.apply(X), ~pos + 0, pos + 0)

    def apply(self, X: object) -> Array:  # noqa: N803
        """Into which leaf does each case fall?"""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)  # noqa: N806
        return np.asarray(self.estimator_.apply(X))

    def predict_proba(self, X: object) -> Array:  # noqa: N803
        """How likely is each class, with the bias of small leaves removed?"""
        node = self.apply(X)
        # every leaf has a case: the tree was grown on some of them
        at = np.searchsorted(self.leaves_.node, node)
        pos = self.leaves_.scores(method=self.method)[at]
        return np.column_stack([1 - pos, pos])

    def predict(self, X: object) -> Array:  # noqa: N803
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
    tree: BaseEstimator,
    X: object = None,  # noqa: N803 - scikit-learn's name
    y: object = None,
    *,
    confidence: float = 0.95,
    method: str = "blend",
    empty: str | float = "coin",
    classes: object = None,
) -> Any:
    """Which tree remains when splits that are not worth keeping are merged?

    The answer is a copy of the tree, with its leaves' class shares as they were grown,
    whose splits all raise the level of utility, and whose last splits reach a level of
    confidence.

    Parameters
    ----------
    tree
        A fitted DecisionTreeClassifier or ExtraTreeClassifier of two classes, or one
        tree of a forest. It is not changed.
    X, y
        Cases that decide, preferably cases that the tree was not grown on, on which
        nearly every split looks useful. Without them the counts that it keeps decide.
    confidence
        Smallest level of confidence of the last splits; 0 merges by utility alone.
    method, empty
        As in :func:`trueness.trees.tree_levels` and :func:`trueness.top_probability`.
    classes
        The forest's ``classes_`` when the tree is one of a forest.

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
    # a copy of the tree with these nodes as its leaves, and without those below
    state = low.__getstate__()
    depths = np.full(low.node_count, -1)
    depths[0] = 0
    for node in range(low.node_count):  # a child has a larger number than its parent
        if depths[node] >= 0 and not ends[node]:
            depths[[left[node], right[node]]] = depths[node] + 1
    nodes = np.flatnonzero(depths >= 0)
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
    state |= {"max_depth": int(depths.max()), "node_count": nodes.size, "nodes": kept}
    smaller.__setstate__({**state, "values": state["values"][nodes].copy()})
    pruned = copy.copy(tree)
    pruned.tree_ = smaller
    return pruned
