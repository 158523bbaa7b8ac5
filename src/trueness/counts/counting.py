"""How do cases become counts?

Arrays come in, a :class:`~trueness.counts.values.Tally` or a
:class:`~trueness.counts.values.Panel` goes out. Which label is positive is decided
here, once, for every kind of input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints, blocks, no_cases
from trueness._core.checks import columns as _columns
from trueness._core.checks.words import plain
from trueness._core.progress import stop_if_requested
from trueness.counts.cases import assign_clusters
from trueness.counts.rows import find_rows, merge_rows
from trueness.counts.sorting import NotFinite, count_scores, weigh_scores
from trueness.counts.values import (
    Panel,
    Tally,
    panel_of_rows,
    read_output,
    tally_of_rows,
    tally_of_sums,
)


@final
@dataclass(frozen=True)
class Weights:
    """How much does each row weigh?

    ``square`` is the sum of the squared weights of its cases, None where a row is one
    case.
    """

    sum: Array
    square: Floats | None = None

    def __getitem__(self, rows: slice | Array) -> Weights:
        """Choose some rows."""
        square = None if self.square is None else self.square[rows]
        return Weights(self.sum[rows], square)


def read_weights(values: Array, count: Ints | None = None) -> Weights | None:
    """Read weights, each of ``count`` cases; None where all are one: then cases count.

    Differs from a weight of 1.000001 in no estimate: a case of weight one is a case.
    """
    weight = _columns.weights(values)
    # most often the first one tells, and no other is looked at
    if (weight[:1] == 1).all() and (weight == 1).all():
        return None
    if count is None:
        return Weights(weight)
    weight = weight.astype(np.float64, copy=False)
    return Weights(weight * count, weight * weight * count)


@final
@dataclass(frozen=True)
class Labels:
    """Which cases are positive, which negative, which unknown?

    ``code`` holds 0, 1 and 2 (unknown). It is None as long as the values themselves can
    be compared slice by slice, so that a column of millions is never copied.
    """

    values: Array
    positive: Any
    code: NDArray[np.int8] | None = None

    def is_pos(self, b: slice) -> Array:
        """Which cases of a slice are positive, when none is unknown?"""
        if self.code is not None:
            return np.asarray(self.code[b] == 1)
        if self.values.dtype == np.bool_:
            return self.values[b] if self.positive else ~self.values[b]
        try:
            return np.asarray(self.values[b] == self.positive)
        except OverflowError:  # a whole number beyond all floats is none of these
            return np.zeros(self.values[b].shape, dtype=bool)

    def codes(self) -> NDArray[np.int8]:
        """Give 0, 1 or 2 for every case."""
        if self.code is not None:
            return self.code
        return self.is_pos(slice(0, self.values.size)).astype(np.int8)


def read_labels(values: Array, positive: object, what: str = "y_true") -> Labels:
    """Which value is positive? Missing values are unknown; nothing is guessed."""
    values = _columns.one_dimensional(values, what)
    if values.dtype.kind in "biuf" and values.size:  # two numbers, none of them missing
        low, high = values.min(), values.max()
        whole = values.dtype.kind != "f" and int(high) - int(low) <= 1
        if whole or all(
            ((values[b] == low) | (values[b] == high)).all()
            for b in blocks(values.size)
        ):
            found = [low.item()] if low == high else [low.item(), high.item()]
            return Labels(values, _columns.label_pair(found, positive, what)[1])
    gone = _columns.missing(values)
    kept = values[~gone]
    found = _distinct(kept, what)
    _, chosen = _columns.label_pair(found, positive, what)
    code = np.full(values.size, 2, dtype=np.int8)
    code[~gone] = Labels(kept, chosen).is_pos(slice(None))
    return Labels(values, chosen, code)


def _distinct(values: Array, what: str) -> list[Any]:
    if values.dtype.kind == "O":
        found = _columns.hashable(values, what)
        try:
            return sorted(found, key=lambda v: (type(v).__name__, v))
        except TypeError:  # values that have no order, such as complex numbers
            return sorted(found, key=lambda v: (type(v).__name__, repr(v)))
    return [plain(v) for v in np.unique(values)]


def count_tally(
    score: Array,
    labels: Labels | None,
    count: Ints | None = None,
    weight: Weights | None = None,
    *,
    cluster: Array | None = None,
    what: str = "y_score",
) -> Tally:
    """Count cases into a tally; ``labels=None`` makes all unknown."""
    score = _columns.numeric_scores(_columns.one_dimensional(score, what), what)
    if cluster is not None:
        made = count_tally(score, labels, count, weight, what=what)
        row = np.searchsorted(-made.score, -(score.astype(np.float64) + 0.0))
        cases = _columns_of_cases(labels, score.size, count, weight)
        assign_clusters(made, row, cluster, cases)
        return made
    if weight is not None:
        score = _columns.finite_scores(score, what)
        if weight.square is None:
            code = np.full(score.size, 2, np.int8) if labels is None else labels.codes()
            return tally_of_rows(*weigh_scores(score, code, weight.sum))
        sums = split_weights(labels, weight)
        return tally_of_sums(score.astype(np.float64) + 0.0, sums)
    if count is not None:
        score = _columns.finite_scores(score.astype(np.float64), what)
        return Tally(score, *split_counts(labels, count))
    if labels is not None and labels.code is not None and (labels.code == 2).any():
        gone = labels.code == 2
        _columns.finite_scores(score, what)
        known = Labels(labels.values, labels.positive, labels.code[~gone])
        return count_tally(score[~gone], known, what=what) + count_tally(
            score[gone], None, what=what
        )
    try:
        if labels is not None:
            distinct, neg, pos = count_scores(score, labels.is_pos)
            return tally_of_rows(distinct, neg, pos, no_cases(distinct.size))
        none = np.zeros(score.size, dtype=bool)
        distinct, number, zero = count_scores(score, lambda b: none[b])
        return tally_of_rows(distinct, zero, zero, number)
    except NotFinite:
        _columns.finite_scores(score, what)
        raise


def split_counts(labels: Labels | None, count: Array) -> list[Array]:
    """Give the negative, positive and unknown cases of every row."""
    zero = no_cases(count.size)
    if labels is None:
        return [zero, zero, count]
    code = labels.codes()
    return [np.where(code == k, count, 0) for k in range(3)]


def split_weights(labels: Labels | None, w: Weights) -> list[Array]:
    """Give the weights of negatives, positives, unknowns, then their squares."""
    total = w.sum.astype(np.float64, copy=False)
    square = total * total if w.square is None else w.square
    each = [c for x in (total, square) for c in split_counts(labels, x)]
    return [c.astype(np.float64, copy=False) for c in each]


def _columns_of_cases(
    labels: Labels | None, size: int, count: Ints | None, weight: Weights | None
) -> list[Array]:
    """Give the counts, or weights and squares, of every case."""
    if weight is not None:
        return split_weights(labels, weight)
    ones = np.ones(size, dtype=np.int64) if count is None else count
    return split_counts(labels, ones)


def count_panel(
    columns: Mapping[str, Array],
    labels: Labels | None,
    count: Ints | None = None,
    weight: Weights | None = None,
    *,
    cluster: Array | None = None,
) -> Panel:
    """Count cases into a panel; ``labels=None`` makes all unknown."""
    rows = np.column_stack([read_output(c, k, gone=True) for k, c in columns.items()])
    stop_if_requested()
    cases = _columns_of_cases(labels, len(rows), count, weight)
    made = panel_of_rows(tuple(columns), *merge_rows(rows, cases))
    if cluster is not None:
        assign_clusters(made, find_rows(rows, made.rows), cluster, cases)
    return made
