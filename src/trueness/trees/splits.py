"""Is a split worth it, with so many cases, and which splits of a tree are kept?

A split gives each leaf a clearer majority and fewer cases to find it with. A grown tree
is two arrays of children, as scikit-learn keeps it, and the cases of its nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.figures import html_table
from trueness._core.records import Record, brief
from trueness.trees.leaf_reports import text_table
from trueness.trees.leaves import Leaves
from trueness.trees.levels import TOP_METHODS, top_or_half, tree_levels, utility_level

_HEAD = ("split", "leaves", "P(C)", "P(U)", "Gini", "by Gini")


@final
@dataclass(frozen=True, repr=False)
class SplitComparison(Record):
    """Comparison of splits by their utility; the most useful comes first.

    Attributes
    ----------
    name, leaves, confidence, utility : array (K,)
        The splits, their numbers of leaves, and their P(C) and P(U).
    gini, gini_rank : array (K,)
        Weighted Gini impurity of the leaves, and the rank by it; 1 is the purest.
    n : int
        Number of cases.
    """

    name: Array
    leaves: Ints
    confidence: Floats
    utility: Floats
    gini: Floats
    gini_rank: Ints
    n: int

    def __repr__(self) -> str:
        """Return a table with a line for each split."""
        return text_table(_HEAD, self._rows()) + f"\nat {self.n:,} cases"

    def _repr_html_(self) -> str:
        return html_table(_HEAD, self._rows())

    def _rows(self) -> list[tuple[str, ...]]:
        """Return the cells of the table, one row a split."""
        columns = (self.name, self.leaves, self.confidence, self.utility, self.gini)
        rows = zip(*columns, self.gini_rank, strict=True)
        return [tuple(brief(value) for value in row) for row in rows]

    @property
    def best(self) -> str:
        """Return the name of the most useful split."""
        return str(self.name[0])


def compare_splits(
    splits: Mapping[str, Any],
    n: int | None = None,
    *,
    method: str = "blend",
    empty: str | float = "coin",
) -> SplitComparison:
    r"""Splits in the order of their utility, beside their Gini impurity.

    Which split is the most useful with n cases, or is no split better?

    Zhang (2024, doi:10.3390/stats7040071), section 2.3 and example 3. For counted
    leaves "no split", with all cases in one leaf, is added. The impurity is
    :math:`\sum_j \lambda_j\, 2 p_j (1 - p_j)` at the observed proportions.

    Parameters
    ----------
    splits
        A mapping from the name of a split to its leaves. These are :class:`Leaves`,
        counted on the same cases (``trueness.leaves(frame, node="outlook",
        label="play")``), or a known or assumed pair ``(weights, p)``. ``([1], [0.7])``
        is no split.
    n
        Number of cases; needed for pairs, and by default all cases of the leaves.
    method, empty
        How class probabilities of counted leaves are estimated
        (:func:`trueness.top_probability`), and how an empty leaf counts
        (:func:`trueness.trees.tree_levels`).

    Examples
    --------
    >>> found = compare_splits({"A": ([0.9, 0.1], [0.75, 0.25]),
    ...                         "B": ([0.2, 0.8], [0.75, 0.6875]),
    ...                         "no split": ([1.0], [0.7])}, n=10)
    >>> found.name.tolist()
    ['A', 'no split', 'B']
    """
    judged_splits = [
        _judge_split(name, split, n, method, empty)
        for name, split in _with_no_split(named_splits(splits)).items()
    ]
    # rounded, so that splits that are equal in theory keep their order
    judged_splits.sort(
        key=lambda judged_split: (
            -round(judged_split.utility, 12),
            -round(judged_split.confidence, 12),
        )
    )

    gini = np.array([judged_split.gini for judged_split in judged_splits])
    # equal impurities share the better place
    gini_rank = 1 + (gini[:, None] > gini[None, :] + 1e-12).sum(axis=1)

    return SplitComparison(
        name=np.array([judged_split.name for judged_split in judged_splits]),
        leaves=np.array([judged_split.leaves for judged_split in judged_splits]),
        confidence=np.array(
            [judged_split.confidence for judged_split in judged_splits]
        ),
        utility=np.array([judged_split.utility for judged_split in judged_splits]),
        gini=gini,
        gini_rank=gini_rank,
        n=judged_splits[0].cases,
    )


class _JudgedSplit(NamedTuple):
    """One split: its leaves, its levels, and its weighted Gini impurity."""

    name: str
    leaves: int
    confidence: float
    utility: float
    gini: float
    cases: int


def _judge_split(
    name: str, split: Any, n: int | None, method: str, empty: str | float
) -> _JudgedSplit:
    """Return the levels and the impurity of one split at a number of cases."""
    weights, observed, estimated = split_parameters(split, method)

    if n is None and not isinstance(split, Leaves):
        raise InputError(
            "compare_splits needs the number of cases with pairs (weights, p).",
            option="n",
            example=100,
        )

    n_labelled = split.n_neg + split.n_pos if n is None else n
    cases = _options.whole_number(n_labelled, "n")
    levels = tree_levels(cases, weights, estimated, empty)
    # Breiman et al. (1984): 2 p (1 - p), weighted by the size of the leaves
    gini = float(levels.weights @ (2 * observed * (1 - observed)))

    return _JudgedSplit(
        name=name,
        leaves=weights.size,
        confidence=levels.confidence,
        utility=levels.utility,
        gini=gini,
        cases=cases,
    )


def named_splits(splits: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return splits by name, checked to be leaves or pairs (weights, p)."""
    if not isinstance(splits, Mapping) or not splits:
        raise InputError(
            "compare_splits needs a mapping from name to split with at least one "
            f"entry; found {type(splits).__name__}.",
            example=PythonCode(
                'compare_splits({"a": leaves, "b": ([0.9, 0.1], [0.75, 0.25])})'
            ),
        )

    for name, split in splits.items():
        pair = isinstance(split, (tuple, list)) and len(split) == 2
        if not (pair or isinstance(split, Leaves)):
            raise InputError(
                f"The split {name!r} must be Leaves or a pair (weights, p); "
                f"found {type(split).__name__}."
            )

    return splits


def _with_no_split(splits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the splits with "no split" added, where all are counted leaves.

    Counted leaves must hold the same cases.
    """
    totals = {
        name: (split.n_neg, split.n_pos)
        for name, split in splits.items()
        if isinstance(split, Leaves)
    }
    if not totals:
        return dict(splits)

    if len(set(totals.values())) > 1:
        numbers = "; ".join(
            f"{name}: {neg:,} and {pos:,}" for name, (neg, pos) in totals.items()
        )
        raise InputError(
            f"Splits must count the same cases; found different numbers of negatives "
            f"and positives ({numbers}). Count every covariate on the same rows."
        )

    (neg, pos), *_ = totals.values()
    parent = Leaves(["all"], [neg], [pos])
    return {**splits, "no split": splits.get("no split", parent)}


def split_parameters(
    split: Leaves | Sequence[ArrayLike], method: str
) -> tuple[Floats, Floats, Floats]:
    """Return the weights, the observed (or assumed) p, and the p for the levels."""
    _options.choice(method, TOP_METHODS, "method")
    if not isinstance(split, Leaves):
        weights, p = split
        assumed = np.atleast_1d(np.asarray(p, np.float64))
        return np.atleast_1d(np.asarray(weights, np.float64)), assumed, assumed

    n = split.neg + split.pos
    if n.sum() == 0:
        raise NotEnoughCases(
            f"compare_splits needs labelled cases; found none among {split.n:,}."
        )

    # a leaf without labelled cases has no weight
    pos = split.pos[n > 0]
    n = n[n > 0]
    return n / n.sum(), pos / n, top_or_half(pos, n, method)


def node_counts(left: Ints, right: Ints, counts: Ints) -> Ints:
    """Return the cases below every node; children come after their parents."""
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
    r"""Nodes that remain leaves when splits that are not worth it are merged.

    The splits below a node are merged, from the bottom up, in two cases. Together they
    are not more useful than the node as a single leaf, at its number of cases. Or the
    node is the last split above two leaves, and its P(C) is below ``confidence``.
    ``left`` and ``right`` are the children of each node, -1 at a leaf; a child has a
    larger number than its parent. ``neg`` and ``pos`` are the cases of each node.

    Examples
    --------
    >>> left, right = np.array([1, -1, -1]), np.array([2, -1, -1])
    >>> merge_splits(left, right, np.array([40, 38, 2]), np.array([40, 2, 38]))
    array([False,  True,  True])
    >>> merge_splits(left, right, np.array([40, 20, 20]), np.array([40, 20, 20]))
    array([ True, False, False])
    """
    least_confidence = _options.fraction(confidence, "confidence", ends="[)")
    n = neg + pos
    probability = top_or_half(pos, n, method)

    # the leaves below each node that remain; children come after their parents
    leaves_below: list[list[int]] = [[node] for node in range(left.size)]
    for node in range(left.size - 1, -1, -1):
        if left[node] < 0:
            continue

        leaves = leaves_below[left[node]] + leaves_below[right[node]]
        cases = int(n[node])
        # no case came here: every leaf is as good as a coin, and the split is merged
        weights = np.full(len(leaves), 1 / len(leaves))
        if cases:
            weights = n[leaves] / cases

        split = tree_levels(cases, weights, probability[leaves], empty)
        # more useful by more than rounding
        useful = split.utility > utility_level(cases, probability[node]) + 1e-12
        thin = len(leaves) == 2 and split.confidence < least_confidence
        if useful and not thin:
            leaves_below[node] = leaves

    remains = np.zeros(left.size, dtype=bool)
    remains[leaves_below[0]] = True
    return remains
