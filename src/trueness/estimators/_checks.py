"""Are this tree, these classes and this target ones that can be judged?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing


def base_estimators(estimators: object) -> None:
    """Stop when a list of (name, classifier) is something else."""
    listed = isinstance(estimators, (list, tuple)) and len(estimators) > 0
    if not listed or not all(
        hasattr(e[1] if isinstance(e, tuple) and len(e) == 2 else e, "fit")
        for e in estimators  # type: ignore[attr-defined]
    ):
        raise InputError(
            'estimators must be a list of (name, classifier), such as [("line", '
            f"LogisticRegression())]; found {estimators!r}."
        )


def class_of(value: object, known: Sequence[Any], what: str) -> None:
    """Stop when a value is not one of the classes."""
    if not any(bool(k == value) for k in known):
        raise InputError(
            f"{what} must be one of the classes {listing(known)}; found {value!r}."
        )


def labels_with_cases(y: object) -> None:
    """Stop when cases come without labels."""
    if y is None:
        raise InputError(
            "Cases need their labels: pass X and y, or neither of them for the counts "
            "that the tree keeps."
        )


def two_classes(values: object) -> Array:
    """Pass on the two classes of a forest."""
    labels = np.asarray(values)
    if labels.shape == (2,):
        return labels
    raise InputError(
        f"classes must be the two classes of the forest; found {values!r}. "
        f"Type classes=forest.classes_."
    )


def binary_tree(tree: object, fitted: bool, classes: int) -> None:
    """Stop when this is not a fitted tree of two classes."""
    kind = type(tree).__name__
    if not fitted:
        hint = " Pass one of its trees: forest.estimators_[0]." * hasattr(
            tree, "estimators_"
        )
        raise InputError(
            f"A fitted scikit-learn tree is needed; found {kind} without a tree_."
            f"{hint or ' Call fit first.'}"
        )
    if classes != 2:
        found = f"{classes} classes" if classes else "a regression tree"
        raise InputError(
            f"A tree of two classes is needed; this {kind} has {found}. For one class "
            f"against the rest grow the tree on y == that class."
        )


def labels_of_tree(seen: Array, own: Array, strangers: bool) -> None:
    """Stop when labels are not classes of the tree."""
    if strangers:
        raise InputError(
            f"y must hold the classes of the tree, {listing(own)}; found "
            f"{listing(seen)}. For a tree of a forest pass classes=forest.classes_."
        )


def unweighted_tree(whole: bool) -> None:
    """Stop when a tree keeps weights instead of counts."""
    if not whole:
        raise InputError(
            "The tree keeps weights, not counts: it was grown with sample_weight, "
            "class_weight or on a bootstrap sample. Pass X and y to count cases."
        )
