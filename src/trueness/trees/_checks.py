"""Are these leaves and splits ones that can be judged?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.columns import missing, one_dimensional
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing, places


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
            f"node must name a leaf for every case; missing at {places(gone)}. Give "
            "these cases a leaf of their own."
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
