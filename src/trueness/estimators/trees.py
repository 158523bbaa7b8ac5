"""Which leaves of a scikit-learn tree can be trusted, and which splits kept?"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

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
from trueness._core.data_types import Column, Features, LabelValue
from trueness._core.warn import warn_user
from trueness.data.frames import leaves
from trueness.estimators.classifiers import class_of, two_labels
from trueness.estimators.model_types import RandomState
from trueness.trees.leaf_reports import LeafReport, report_beside_prediction
from trueness.trees.leaves import Leaves
from trueness.trees.splits import merge_splits, node_counts

_ON_NEW_CASES = "Counted on cases that were not used to grow the tree."
_ON_TRAINING_CASES = (
    "Counted on the cases that were used to grow the tree. Its splits were chosen "
    "because they looked good on these cases, so the levels are too high and no leaf "
    "is called trusted. Pass cases that were held out: leaf_report(tree, X_test, "
    "y_test)."
)


def leaf_report(
    tree: BaseEstimator,
    X: Features | None = None,  # noqa: N803 - scikit-learn's name
    y: Column | None = None,
    *,
    positive: LabelValue = None,
    classes: Column | None = None,
    confidence: float = 0.95,
    level: float = 0.95,
    method: str = "blend",
    empty: str | float = "coin",
) -> LeafReport:
    """Report on the leaves of a tree: which can be trusted, and how many more cases do
    others need?

    Parameters
    ----------
    tree
        A fitted DecisionTreeClassifier or ExtraTreeClassifier of two classes, one tree
        of a forest, or a :class:`~trueness.estimators.ConfidentTree`. Also a fitted
        Pipeline that ends in one of these; X then goes through its first steps.
    X, y
        Cases that the tree was not grown on. Without them, the counts in the tree are
        used, with a warning; also where these are the cases that the tree was grown on.
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
    >>> report.verdict.tolist(), report.cases_needed.tolist()
    (['coin toss', 'thin'], [inf, 3.0])
    """
    tree, rows, names = _last_step(tree, X)
    leaf_counts, on_training_cases = tree_leaves(
        tree, rows, y, positive=positive, classes=classes
    )
    if on_training_cases:
        warn_user(_ON_TRAINING_CASES, OptimisticWarning)

    report = leaf_counts.report(
        confidence=confidence,
        level=level,
        method=method,
        empty=empty,
        fresh=not on_training_cases,
    )

    labels = class_labels(tree, y, classes)
    first_is_positive = positive is not None and positive == labels[0]
    negative_and_positive = labels[::-1] if first_is_positive else labels
    rules = _rules(tree_arrays(tree), names)
    report = replace(
        report, rule=rules[leaf_counts.node], classes=negative_and_positive
    )
    report = report_beside_prediction(
        report,
        neg=leaf_counts.neg,
        pos=leaf_counts.pos,
        predicted=_predicted_classes(tree, leaf_counts.node, labels),
        positive=negative_and_positive[1],
        fresh=not on_training_cases,
    )

    return replace(report, note=_note(report, on_training_cases))


def _predicted_classes(tree: Any, nodes: Array, labels: Array) -> Array:
    """Return the class that a tree predicts in each of these leaves."""
    # a ConfidentTree, whose leaves were counted anew
    if hasattr(tree, "leaves_"):
        place = np.searchsorted(tree.leaves_.node, nodes)
        is_second = tree.leaves_.scores(method=tree.method) > 0.5
        return np.asarray(labels[is_second[place].astype(np.intp)])

    counts = tree_arrays(tree).value[nodes, 0, :]
    return np.asarray(labels[np.argmax(counts, axis=1)])


def _note(report: LeafReport, on_training_cases: bool) -> str:
    """Say on which cases was counted, and whether they contradict the tree."""
    note = _ON_TRAINING_CASES if on_training_cases else _ON_NEW_CASES
    contradicted = int((report.verdict == "contradicted").sum())
    if contradicted:
        note += (
            f" In {contradicted} of {report.node.size} leaves most of these cases "
            "are not of the class that the tree predicts."
        )

    if 2 * contradicted > int((report.majority != "tie").sum()):
        note += " Are the labels swapped?"

    return note


def _last_step(tree: BaseEstimator, X: Features | None) -> tuple[Any, Any, Any]:  # noqa: N803
    """Return the tree at the end of a pipeline, what it sees, and names of features."""
    names = getattr(tree, "feature_names_in_", None)
    if not (hasattr(tree, "steps") and hasattr(tree, "named_steps")):
        return tree, X, names

    first_steps = tree[:-1]
    last_step = tree[-1]
    if not len(first_steps.steps):
        return last_step, X, names

    rows = None if X is None else first_steps.transform(X)
    try:
        names = first_steps.get_feature_names_out()
    except (AttributeError, ValueError):  # a step that cannot name what it makes
        names = getattr(last_step, "feature_names_in_", None)

    return last_step, rows, names


class _LeafInterval(NamedTuple):
    """The values of a feature that lead to a node: above low, up to high."""

    low: float = -np.inf
    high: float = np.inf

    def in_words(self, name: str) -> str:
        """Write the condition on a feature, such as ``0.5 < age <= 2``."""
        has_low = not np.isinf(self.low)
        has_high = not np.isinf(self.high)
        if has_low and has_high:
            return f"{self.low:.4g} < {name} <= {self.high:.4g}"
        if has_low:
            return f"{name} > {self.low:.4g}"
        if has_high:
            return f"{name} <= {self.high:.4g}"
        return name


def _rules(tree: Tree, names: Sequence[str] | None = None) -> Array:
    """Return the rule of each node of a tree, such as ``0.5 < age <= 2``."""
    rules = np.full(tree.node_count, "all cases", dtype=object)
    # for each node, the interval of each feature that was asked about on the way
    conditions: dict[int, dict[int, _LeafInterval]] = {0: {}}

    # a child has a larger number than its parent, so the parent's rule is there
    for node in range(tree.node_count):
        intervals = conditions[node]
        conditions_in_words = [
            interval.in_words(f"x{feature}" if names is None else str(names[feature]))
            for feature, interval in intervals.items()
        ]
        rules[node] = " and ".join(conditions_in_words) or "all cases"

        left_child = int(tree.children_left[node])
        right_child = int(tree.children_right[node])
        is_leaf = left_child < 0
        if is_leaf:
            continue

        feature = int(tree.feature[node])
        cut = float(tree.threshold[node])
        interval = intervals.get(feature, _LeafInterval())
        below = _LeafInterval(interval.low, min(interval.high, cut))
        above = _LeafInterval(max(interval.low, cut), interval.high)
        conditions[left_child] = intervals | {feature: below}
        conditions[right_child] = intervals | {feature: above}

    return rules


def tree_leaves(
    tree: BaseEstimator,
    X: Features | None = None,  # noqa: N803
    y: Column | None = None,
    *,
    positive: LabelValue = None,
    classes: Column | None = None,
) -> tuple[Leaves, bool]:
    """Count the cases of each leaf; say whether the tree was grown on them."""
    arrays = tree_arrays(tree)
    labels = class_labels(tree, y, classes)
    positive_class = labels[1] if positive is None else positive
    class_of(positive_class, labels.tolist(), "positive")
    first_is_positive = bool(positive_class == labels[0])

    if X is None:
        neg, pos = training_counts(tree)
        if first_is_positive:
            neg, pos = pos, neg
        is_leaf = arrays.children_left < 0
        return Leaves(np.flatnonzero(is_leaf), neg[is_leaf], pos[is_leaf]), True

    if y is None:
        raise InputError(
            "Cases need their labels: X and y, or neither of them for the counts that "
            "the tree keeps.",
            option="y",
        )

    nodes = tree.apply(X)
    leaf_counts = leaves(y, nodes, positive=plain(positive_class))
    return leaf_counts, _was_grown_on(tree, leaf_counts, nodes, first_is_positive)


def tree_arrays(tree: BaseEstimator) -> Tree:
    """Return scikit-learn's low-level tree, or say what was needed."""
    fitted_tree = getattr(tree, "estimator_", tree)
    arrays = getattr(fitted_tree, "tree_", None)
    kind = type(tree).__name__

    if arrays is None:
        hint = "Call fit first."
        if hasattr(tree, "estimators_"):
            hint = "Pass one of its trees: forest.estimators_[0]."
        raise InputError(
            f"A fitted scikit-learn tree is needed; found {kind} without a tree_. "
            f"{hint}"
        )

    classes = len(getattr(fitted_tree, "classes_", ()))
    if classes != 2:
        content = f"{classes} classes" if classes else "a regression tree"
        raise InputError(
            f"A tree of two classes is needed; this {kind} has {content}. For one "
            f"class against the rest grow the tree on y == that class."
        )

    return arrays


def class_labels(
    tree: BaseEstimator, y: Column | None, classes: Column | None
) -> Array:
    """Return the labels of the two classes of the tree, in its order."""
    # a tree of a forest knows its classes as 0 and 1 only
    own_classes = np.asarray(tree.classes_)
    if classes is not None:
        forest_classes = np.asarray(classes)
        if forest_classes.shape != (2,):
            raise InputError(
                f"classes must be the two classes of the forest; found {classes!r}.",
                option="classes",
                example=PythonCode("forest.classes_"),
            )
        return forest_classes

    if y is None:
        return own_classes

    column = np.asarray(y)
    labels = np.unique(column[~_columns.missing(column)])
    if np.isin(labels, own_classes).all():
        return own_classes

    only_numbers = own_classes.dtype.kind == "f" and own_classes.tolist() == [0.0, 1.0]
    if only_numbers and labels.size == 2:
        return labels

    raise InputError(
        f"y must hold the classes of the tree, {listing(own_classes)}; found "
        f"{listing(labels)}. A tree of a forest has the classes of the forest.",
        option="classes",
        example=PythonCode("forest.classes_"),
    )


def training_counts(tree: BaseEstimator) -> tuple[Array, Array]:
    """Return how many cases of each class every node had when the tree was grown."""
    arrays = tree_arrays(tree)
    weight = arrays.weighted_n_node_samples[:, None] * arrays.value[:, 0, :]
    counts = np.rint(weight).astype(np.int64)
    counts_all_cases = np.array_equal(counts.sum(axis=1), arrays.n_node_samples)

    if not counts_all_cases or not np.allclose(weight, counts, atol=1e-6):
        raise InputError(
            "The tree keeps weights, not counts: it was grown with sample_weight, "
            "class_weight or on a bootstrap sample. X and y are needed to count cases.",
            option="X",
        )

    return counts[:, 0], counts[:, 1]


def _was_grown_on(
    tree: Any, leaf_counts: Leaves, nodes: Array, first_is_positive: bool
) -> bool:
    """Return whether every leaf holds as many cases of each class as it grew on."""
    # of the first and of the second class of the tree
    of_first = leaf_counts.neg
    of_second = leaf_counts.pos
    if first_is_positive:
        of_first, of_second = of_second, of_first
    if hasattr(tree, "leaves_"):
        as_fitted = Leaves(leaf_counts.node, of_first, of_second, leaf_counts.unknown)
        return bool(as_fitted == tree.leaves_)

    tree_nodes = tree_arrays(tree)
    leaf_nodes = np.flatnonzero(tree_nodes.children_left < 0)
    # one leaf does not tell which cases it was grown on
    if leaf_nodes.size < 2:
        return False

    proportions = tree_nodes.value[leaf_nodes, 0, :]
    when_grown = proportions * tree_nodes.n_node_samples[leaf_nodes, None]
    if np.array_equal(leaf_counts.node, leaf_nodes) and np.allclose(
        when_grown, np.column_stack([of_first, of_second]), atol=1e-6
    ):
        return True

    return _is_own_bootstrap(tree, tree_nodes, nodes, leaf_nodes)


def _is_own_bootstrap(tree: Any, arrays: Tree, nodes: Array, leaf_nodes: Array) -> bool:
    """Return whether the tree grew on a bootstrap sample of these cases."""
    size = arrays.weighted_n_node_samples[0]
    is_bootstrap = arrays.n_node_samples[0] < size == round(size)
    seed = getattr(tree, "random_state", None)
    if not is_bootstrap or not isinstance(seed, (int, np.integer)):
        return False

    # as scikit-learn's forests draw: a bootstrap sample from the tree's own seed
    generator = np.random.RandomState(seed)
    cases_drawn = generator.randint(0, nodes.size, int(size), dtype=np.int32)
    cases = np.bincount(nodes[cases_drawn], minlength=arrays.node_count)

    return bool(
        np.array_equal(cases[leaf_nodes], arrays.weighted_n_node_samples[leaf_nodes])
    )


class ConfidentTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision tree pruned by the level of utility.

    A tree is grown on a part of the cases. The others decide which splits raise the
    level of utility and reach the level of confidence; all other splits are merged.
    The leaves then get their probabilities from all cases, with the bias of the
    majority's proportion removed.

    Parameters
    ----------
    estimator : DecisionTreeClassifier, optional
        The tree to grow; by default an unlimited one.
    confidence, method
        Level of confidence that the last splits must reach; 0 merges by utility alone.
        How class probabilities are estimated; see :func:`trueness.top_probability`.
    holdout : float
        Proportion of the cases that decide on merging. With 0 the training cases
        decide, where nearly every split looks useful.
    random_state : int, RandomState or None
        Decides which cases are held out, and seeds the tree.

    Attributes
    ----------
    classes_, estimator_, grown_leaves_
        The classes, the pruned tree, and its number of leaves before merging.
    leaves_, report_ : Leaves, LeafReport
        All cases, counted in the remaining leaves (the second class is positive); the
        report on the held-out cases, or on all if none were held out.

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
        random_state: RandomState = None,
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

    def fit(self, X: Features, y: Column) -> ConfidentTree:  # noqa: N803
        """Grow the tree and merge the splits that do not pay off."""
        rows, column = validate_data(self, X, y)
        column, self.classes_ = two_labels(column, type(self).__name__)
        code = np.searchsorted(self.classes_, column)
        random = check_random_state(self.random_state)
        proportion = _options.fraction(self.holdout, "holdout", ends="[)")
        # at least one case must grow the tree
        size = min(round(proportion * len(code)), len(code) - 1)
        held_out = np.zeros(len(code), dtype=bool)
        held_out[random.permutation(len(code))[:size]] = True

        tree = clone(self.estimator or DecisionTreeClassifier())
        if tree.get_params().get("random_state", 0) is None:
            tree.set_params(random_state=random.randint(2**31))

        tree.fit(rows[~held_out], code[~held_out])
        self.grown_leaves_ = int(tree.get_n_leaves())

        decides = held_out if held_out.any() else ~held_out
        if len(tree.classes_) == 2:  # else nothing was split
            tree = prune(
                tree,
                rows[decides],
                code[decides],
                confidence=self.confidence,
                method=self.method,
            )

        self.estimator_ = tree
        self.leaves_ = self._count_leaves(rows, code)
        self.report_ = self._count_leaves(rows[decides], code[decides]).report(
            confidence=self.confidence or 0.95,
            method=self.method,
            fresh=bool(held_out.any()),
        )

        return self

    def _count_leaves(self, rows: Features, code: Array) -> Leaves:
        is_positive = code == 1
        return Leaves(
            self.estimator_.apply(rows),
            neg=(~is_positive).astype(np.int64),
            pos=is_positive.astype(np.int64),
        )

    def apply(self, X: Features) -> Array:  # noqa: N803
        """Into which leaf does each case fall?"""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)  # noqa: N806
        return np.asarray(self.estimator_.apply(X))

    def predict_proba(self, X: Features) -> Array:  # noqa: N803
        """How likely is each class, with the bias of small leaves removed?"""
        node = self.apply(X)
        # every leaf has a case: the tree was grown on some of them
        place = np.searchsorted(self.leaves_.node, node)
        positive = self.leaves_.scores(method=self.method)[place]
        return np.column_stack([1 - positive, positive])

    def predict(self, X: Features) -> Array:  # noqa: N803
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
    X: Features | None = None,  # noqa: N803 - scikit-learn's name
    y: Column | None = None,
    *,
    confidence: float = 0.95,
    method: str = "blend",
    empty: str | float = "coin",
    classes: Column | None = None,
) -> Any:
    """Prune a tree: merge the splits that do not raise the level of utility.

    Returns a copy of the tree with the class proportions of its training cases. All its
    splits raise the level of utility, and its last splits reach a level of confidence.

    Parameters
    ----------
    tree
        A fitted DecisionTreeClassifier or ExtraTreeClassifier of two classes, or one
        tree of a forest. It is not changed.
    X, y
        Cases that decide on merging, preferably not those that the tree was grown on,
        where nearly every split looks useful. Without them, the counts in the tree
        decide.
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
    nodes = tree_arrays(tree)
    left_child = nodes.children_left
    right_child = nodes.children_right

    if X is None:
        neg, pos = training_counts(tree)
    else:
        leaves, _ = tree_leaves(tree, X, y, classes=classes)
        neg = np.zeros(left_child.size, np.int64)
        pos = np.zeros(left_child.size, np.int64)
        neg[leaves.node] = leaves.neg
        pos[leaves.node] = leaves.pos
        # an inner node has the cases of the leaves below it
        neg = node_counts(left_child, right_child, neg)
        pos = node_counts(left_child, right_child, pos)

    is_leaf = merge_splits(
        left_child,
        right_child,
        neg,
        pos,
        confidence=confidence,
        method=method,
        empty=empty,
    )
    pruned = copy.copy(tree)
    pruned.tree_ = _tree_cut_at(nodes, is_leaf)

    return pruned


def _tree_cut_at(arrays: Tree, is_leaf: Array) -> Tree:
    """Return a copy of a tree with these nodes as its leaves, and none below them."""
    left = arrays.children_left
    right = arrays.children_right
    depth = np.full(arrays.node_count, -1)
    depth[0] = 0

    for node in range(arrays.node_count):  # a child has a larger number than its parent
        if depth[node] >= 0 and not is_leaf[node]:
            depth[[left[node], right[node]]] = depth[node] + 1

    remaining_nodes = np.flatnonzero(depth >= 0)
    new_number = np.full(arrays.node_count, -1)
    new_number[remaining_nodes] = np.arange(remaining_nodes.size)

    state = arrays.__getstate__()
    nodes = state["nodes"][remaining_nodes].copy()
    is_remaining_leaf = is_leaf[remaining_nodes]

    for side in ("left_child", "right_child"):
        nodes[side] = np.where(is_remaining_leaf, -1, new_number[nodes[side]])

    nodes["feature"][is_remaining_leaf] = -2  # scikit-learn's marks of a leaf
    nodes["threshold"][is_remaining_leaf] = -2.0

    maker, arguments, _ = arrays.__reduce__()
    smaller: Tree = maker(*arguments)
    smaller.__setstate__(
        {
            **state,
            "max_depth": int(depth.max()),
            "node_count": remaining_nodes.size,
            "nodes": nodes,
            "values": state["values"][remaining_nodes].copy(),
        }
    )

    return smaller
