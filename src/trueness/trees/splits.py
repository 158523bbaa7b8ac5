"""Is a split worth it, with so many cases?

A split gives each leaf a clearer majority and fewer cases to find it with. The levels
of confidence and utility weigh one against the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.html import html_table
from trueness._core.records import Record, brief
from trueness.trees import _checks
from trueness.trees.entropic import TOP_METHODS
from trueness.trees.leaf_counts import Leaves, text_table
from trueness.trees.levels import tree_levels


@final
@dataclass(frozen=True, repr=False)
class SplitComparison(Record):
    """Which split is worth it at this number of cases? The most useful comes first.

    Attributes
    ----------
    name : array (K,)
        The splits, in order of decreasing utility, ties in order of decreasing
        confidence.
    leaves : array (K,)
        Into how many leaves each one splits.
    confidence, utility : array (K,)
        P(C) and P(U) of each.
    gini : array (K,)
        Weighted Gini impurity of the leaves; smaller is purer.
    gini_rank : array (K,)
        Rank by impurity; 1 is the purest.
    n : int
        Cases that are split.
    """

    name: Array
    leaves: Ints
    confidence: Floats
    utility: Floats
    gini: Floats
    gini_rank: Ints
    n: int

    def __repr__(self) -> str:
        """Write one line a split."""
        return text_table(*_comparison_rows(self)) + f"\nat {self.n:,} cases"

    def _repr_html_(self) -> str:
        return html_table(*_comparison_rows(self))

    @property
    def best(self) -> str:
        """Which one is the most useful?"""
        return str(self.name[0])


def _comparison_rows(
    c: SplitComparison,
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    head = ("split", "leaves", "P(C)", "P(U)", "Gini", "by Gini")
    columns = (c.name, c.leaves, c.confidence, c.utility, c.gini, c.gini_rank)
    rows = zip(*columns, strict=True)
    return head, [tuple(brief(v) for v in row) for row in rows]


def compare_splits(
    splits: Mapping[str, Any],
    n: int | None = None,
    *,
    method: str = "blend",
    empty: str | float = "coin",
) -> SplitComparison:
    r"""Which split is the most useful with n cases, or is no split better?

    Parameters
    ----------
    splits
        A mapping from the name of a split to its leaves: either :class:`Leaves`,
        counted on the same cases for each (a covariate is a split:
        ``trueness.leaves(frame, node="outlook", label="play")``), or a pair ``(weights,
        p)`` of what is known or assumed about its leaves, where ``([1], [0.7])`` is no
        split.
    n
        Number of cases; needed for pairs, and by default all cases of the leaves.
    method
        How the class probabilities of counted leaves are estimated; see
        :func:`trueness.top_probability`.
    empty
        How an empty leaf counts; see :func:`trueness.tree_levels`.

    Returns
    -------
    SplitComparison
        The splits, the most useful first. For counted leaves they include "no split",
        with all cases in one leaf.

    Notes
    -----
    Zhang (2024), section 2.3 (Figs 1 and 2) and example 3. The impurity is
    :math:`\sum_j \lambda_j\, 2 p_j (1 - p_j)` at the observed shares.

    References
    ----------
    Zhang, Z. (2024), Stats 7, 1209-1225, doi:10.3390/stats7040071.

    Examples
    --------
    >>> found = compare_splits({"A": ([0.9, 0.1], [0.75, 0.25]),
    ...                         "B": ([0.2, 0.8], [0.75, 0.6875]),
    ...                         "no split": ([1.0], [0.7])}, n=10)
    >>> found.name.tolist()
    ['A', 'no split', 'B']
    """
    _options.choice(method, TOP_METHODS, "method")
    known = _with_no_split(_checks.named_splits(splits, Leaves))
    rows = []
    for name, split in known.items():
        share, p, top = split_parameters(split, method)
        cases = _cases_of(split) if n is None else _options.whole_number(n, "n")
        levels = tree_levels(cases, share, top, empty)
        gini = float(levels.weights @ (2 * p * (1 - p)))
        rows.append((name, share.size, levels.confidence, levels.utility, gini, cases))
    return _ranked(rows)


def _ranked(rows: list[tuple[str, int, float, float, float, int]]) -> SplitComparison:
    # rounded, so that what is equal in theory stays in the given order
    rows = sorted(rows, key=lambda r: (-round(r[3], 12), -round(r[2], 12)))
    name, leaves, confidence, utility, gini, cases = zip(*rows, strict=True)
    purest = np.array(gini)
    # equal impurities share the better place
    rank = 1 + (purest[:, None] > purest[None, :] + 1e-12).sum(axis=1)
    return SplitComparison(
        np.array(name),
        np.array(leaves),
        np.array(confidence),
        np.array(utility),
        purest,
        rank,
        cases[0],
    )


def _with_no_split(splits: Mapping[str, Any]) -> dict[str, Any]:
    """Add "no split" to counted leaves, and see that all count the same cases."""
    counted = {k: s for k, s in splits.items() if isinstance(s, Leaves)}
    if not counted:
        return dict(splits)
    totals = {k: (s.n_neg, s.n_pos) for k, s in counted.items()}
    if len(set(totals.values())) > 1:
        found = "; ".join(f"{k}: {a:,} and {b:,}" for k, (a, b) in totals.items())
        raise InputError(
            f"Splits must count the same cases; found different numbers of negatives "
            f"and positives ({found}). Count every covariate on the same rows."
        )
    neg, pos = next(iter(totals.values()))
    whole = Leaves(["all"], [neg], [pos])
    return {**splits, "no split": splits.get("no split", whole)}


def _cases_of(split: Any) -> int:
    if isinstance(split, Leaves):
        return split.n_neg + split.n_pos
    raise InputError(
        "compare_splits needs the number of cases with pairs (weights, p). "
        "Type compare_splits(splits, n=100)."
    )


def split_parameters(split: Any, method: str) -> tuple[Floats, Floats, Floats]:
    """Give weights, observed or supposed p, and the p behind the levels."""
    if not isinstance(split, Leaves):
        share, p = (np.atleast_1d(np.asarray(v, np.float64)) for v in split)
        return share, p, p
    n = split.neg + split.pos
    if n.sum() == 0:
        raise NotEnoughCases(
            f"compare_splits needs labelled cases; found none among {split.n:,}."
        )
    some = n > 0
    pos, n = split.pos[some], n[some]
    top = TOP_METHODS[method](pos, n)
    return n / n.sum(), pos / n, np.where(np.isnan(top), 0.5, top)
