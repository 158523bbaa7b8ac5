"""Are these leaves, splits and trees ones that can be judged?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._core.checks.columns import missing, one_dimensional
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing, places

Array = NDArray[Any]


def one_entry_per_leaf(shape: tuple[int, ...], leaves: int) -> None:
    """Stop when the last axis does not run over the leaves."""
    if shape[-1:] != (leaves,):
        raise InputError(
            f"Cases and majorities need one entry per leaf in their last axis, "
            f"{leaves}; found shape {shape}."
        )


def leaf_names(values: Array) -> Array:
    """Pass on names of leaves that can be sorted: all numbers, or all text."""
    names = one_dimensional(values, "node")
    gone = missing(names)
    if gone.any():
        raise InputError(
            f"node must name a leaf for every case; missing at {places(gone)}. "
            f"Fill these with a name of their own."
        )
    if names.dtype.kind != "O":
        return names
    kinds = sorted({type(v).__name__ for v in names})
    if len(kinds) > 1:
        raise InputError(
            f"node must hold names of one kind; found {listing(kinds)}. "
            f"Turn them all into text."
        )
    return np.array(names.tolist()) if names.size else names.astype(str)


def same_kind_of_names(a: Array, b: Array) -> None:
    """Stop when text and numbers would be merged as names of leaves."""
    if (a.dtype.kind == "U") != (b.dtype.kind == "U"):
        raise InputError(
            f"Leaves can be added when their nodes are of one kind; found "
            f"{listing(a[:1])} and {listing(b[:1])}. Turn both into text."
        )


def named_splits(splits: object, counted: type) -> Mapping[str, Any]:
    """Pass on splits by name, each of them counted or a pair of columns."""
    if not isinstance(splits, Mapping) or not splits:
        raise InputError(
            f"compare_splits needs a mapping from name to split with at least one "
            f"entry; found {type(splits).__name__}. "
            f'Type compare_splits({{"a": leaves, "b": ([0.9, 0.1], [0.75, 0.25])}}).'
        )
    for name, split in splits.items():
        if isinstance(split, counted):
            continue
        if not isinstance(split, (tuple, list)) or len(split) != 2:
            raise InputError(
                f"The split {name!r} must be Leaves or a pair (weights, p); "
                f"found {type(split).__name__}."
            )
    return splits


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
