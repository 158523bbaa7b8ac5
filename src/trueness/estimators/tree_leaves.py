"""Which leaves of a fitted scikit-learn tree can be trusted?"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError, Optimistic
from trueness._core.checks.words import listing, plain
from trueness.data.frames import leaves
from trueness.estimators._common import class_of
from trueness.trees.leaves import LeafReport, Leaves, beside_prediction

_FRESH = "Counted on cases that were not used to grow the tree."
_GROWN = (
    "Counted on the cases that were used to grow the tree. Its splits were chosen "
    "because they looked good on these cases, so the levels are too high. Pass cases "
    "that were held out: leaf_report(tree, X_test, y_test)."
)


def leaf_report(
    tree: Any,
    X: Any = None,  # noqa: N803 - scikit-learn's name
    y: Any = None,
    *,
    positive: Any = None,
    classes: Any = None,
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
        keeps are used, with a warning. There is a warning too when these turn out to be
        the cases that the tree was grown on, in any order or, for a tree of a forest,
        in the order in which the forest saw them.
    positive
        The class that counts as positive; by default the second one.
    classes
        The forest's ``classes_`` when the tree is one of a forest, whose trees know
        their classes by number only.
    confidence, level, method, empty
        As in :meth:`trueness.Leaves.report`.

    Returns
    -------
    LeafReport
        One row per leaf, numbered as in ``tree.apply``; ``predicted`` is the class that
        the tree predicts there, ``rule`` which cases fall into it, ``note`` says on
        which cases it was counted. A leaf in which most of the new cases are of the
        other class is "contradicted": these come first, with their p-values.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [0], [1], [1]], [0, 0, 1, 1])
    >>> report = leaf_report(tree, [[0], [0], [1], [1], [1], [1]], [0, 1, 1, 1, 1, 1])
    >>> report.verdict.tolist(), report.more.tolist()
    (['coin toss', 'thin'], [inf, 1.0])
    """
    tree, seen, names = _last_step(tree, X)
    found, grown = tree_leaves(tree, seen, y, positive=positive, classes=classes)
    if grown:
        warnings.warn(_GROWN, Optimistic, stacklevel=2)
    report = found.report(
        confidence=confidence, level=level, method=method, empty=empty
    )
    labels = class_labels(tree, y, classes)
    swapped = positive is not None and positive == labels[0]
    report = replace(
        report,
        rule=leaf_rules(low_level(tree), names)[found.node],
        classes=labels[::-1] if swapped else labels,
    )
    predicted = labels[_majority(tree)[found.node]]
    chosen = labels[0 if swapped else 1]
    report = beside_prediction(report, found, predicted, chosen, not grown)
    return replace(report, note=_GROWN if grown else _on_fresh_cases(report))


def _on_fresh_cases(report: LeafReport) -> str:
    against = int((report.verdict == "contradicted").sum())
    if not against:
        return _FRESH
    most = 2 * against > int((report.majority != "tie").sum())
    return (
        f"{_FRESH} In {against} of {report.node.size} leaves most of them are not of "
        f"the class that the tree predicts."
        + " Are the labels the wrong way round?"
        * most
    )


def _last_step(tree: Any, X: Any) -> tuple[Any, Any, Any]:  # noqa: N803
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


def leaf_rules(low: Any, names: Any = None) -> Array:
    """Which cases fall into each node of a tree, in words?

    Conditions on one feature are put together: ``0.5 < age <= 2``. Nodes that are not
    leaves have their rule as well; the root's is "all cases".
    """
    rules = np.full(low.node_count, "all cases", dtype=object)
    limits: dict[int, dict[int, tuple[float, float]]] = {0: {}}
    for node in range(low.node_count):  # a child has a larger number than its parent
        if node in limits:
            rules[node] = _rule(limits[node], names) or "all cases"
        if low.children_left[node] < 0 or node not in limits:
            continue
        at, cut = int(low.feature[node]), float(low.threshold[node])
        least, most = limits[node].get(at, (-np.inf, np.inf))
        below, above = (least, min(most, cut)), (max(least, cut), most)
        limits[int(low.children_left[node])] = limits[node] | {at: below}
        limits[int(low.children_right[node])] = limits[node] | {at: above}
    return rules


def _rule(limits: dict[int, tuple[float, float]], names: Any) -> str:
    parts = []
    for at, (least, most) in limits.items():
        name = f"x{at}" if names is None else str(names[at])
        lower = (
            f"{least:.4g} < {name}" if np.isfinite(most) else f"{name} > {least:.4g}"
        )
        lower = name if np.isneginf(least) else lower
        parts.append(f"{lower} <= {most:.4g}" if np.isfinite(most) else lower)
    return " and ".join(parts)


def tree_leaves(
    tree: Any,
    X: Any = None,  # noqa: N803
    y: Any = None,
    *,
    positive: Any = None,
    classes: Any = None,
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
            "Cases need their labels: pass X and y, or neither of them for the counts "
            "that the tree keeps."
        )
    nodes = tree.apply(X)
    found = leaves(y, nodes, positive=plain(chosen))
    grown = _same_cases(tree, found, chosen == labels[0]) or _drawn_from(tree, nodes)
    return found, grown


def low_level(tree: Any) -> Any:
    """Give scikit-learn's low-level tree, or say what was needed."""
    inner = getattr(tree, "estimator_", tree)
    low, classes = getattr(inner, "tree_", None), len(getattr(inner, "classes_", ()))
    kind = type(tree).__name__
    if low is None:
        forest = hasattr(tree, "estimators_")
        hint = (
            "Pass one of its trees: forest.estimators_[0]"
            if forest
            else "Call fit first"
        )
        raise InputError(
            f"A fitted scikit-learn tree is needed; found {kind} without a tree_. "
            f"{hint}."
        )
    if classes != 2:
        found = f"{classes} classes" if classes else "a regression tree"
        raise InputError(
            f"A tree of two classes is needed; this {kind} has {found}. For one class "
            f"against the rest grow the tree on y == that class."
        )
    return low


def class_labels(tree: Any, y: Any, classes: Any) -> Array:
    """Which labels do the two classes of the tree have, in its order?

    A tree of a forest knows its classes as 0 and 1 only; ``classes``, or else the two
    values of y in their order, say what they are called.
    """
    own = np.asarray(tree.classes_)
    if classes is not None:
        if np.shape(classes) != (2,):
            raise InputError(
                f"classes must be the two classes of the forest; found {classes!r}. "
                f"Type classes=forest.classes_."
            )
        return np.asarray(classes)
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
            f"{listing(seen)}. For a tree of a forest pass classes=forest.classes_."
        )
    return own


def _majority(tree: Any) -> Array:
    """Give the place of the class that is predicted at each node."""
    if hasattr(tree, "leaves_"):  # a ConfidentTree, whose leaves were counted anew
        place = np.zeros(low_level(tree).node_count, dtype=np.intp)
        place[tree.leaves_.node] = tree.leaves_.scores(method=tree.method) > 0.5
        return place
    return np.asarray(np.argmax(low_level(tree).value[:, 0, :], axis=1))


def grown_counts(tree: Any) -> tuple[Array, Array]:
    """How many cases of each class did every node have when the tree was grown?"""
    low = low_level(tree)
    weight = low.weighted_n_node_samples[:, None] * low.value[:, 0, :]
    counts = np.rint(weight).astype(np.int64)
    whole = np.array_equal(counts.sum(axis=1), low.n_node_samples)
    if not whole or not np.allclose(weight, counts, atol=1e-6):
        raise InputError(
            "The tree keeps weights, not counts: it was grown with sample_weight, "
            "class_weight or on a bootstrap sample. Pass X and y to count cases."
        )
    return counts[:, 0], counts[:, 1]


def _same_cases(tree: Any, found: Leaves, swapped: bool) -> bool:
    """Does every leaf hold just as many cases of each class as when it was grown?"""
    if hasattr(tree, "leaves_"):
        swap = Leaves(found.node, found.pos, found.neg, found.unknown)
        return bool((swap if swapped else found) == tree.leaves_)
    low = low_level(tree)
    ends = np.flatnonzero(low.children_left < 0)
    if ends.size < 2 or not np.array_equal(found.node, ends):
        return False
    share = low.value[ends, 0, :] * low.n_node_samples[ends, None]
    neg, pos = (found.pos, found.neg) if swapped else (found.neg, found.pos)
    return bool(np.allclose(share, np.column_stack([neg, pos]), atol=1e-6))


def _drawn_from(tree: Any, nodes: Array) -> bool:
    """Does the tree of a forest have the cases that its seed draws from these?"""
    low, seed = low_level(tree), getattr(tree, "random_state", None)
    ends = np.flatnonzero(low.children_left < 0)
    drawn = low.weighted_n_node_samples[0]
    bootstrap = low.n_node_samples[0] < drawn == round(drawn)
    if not bootstrap or not isinstance(seed, (int, np.integer)) or ends.size < 2:
        return False
    # as scikit-learn's forests draw: a bootstrap sample from the tree's own seed
    random = np.random.RandomState(seed)
    at = random.randint(0, nodes.size, int(drawn), dtype=np.int32)
    cases = np.bincount(nodes[at], minlength=low.node_count)
    return bool(np.array_equal(cases[ends], low.weighted_n_node_samples[ends]))
