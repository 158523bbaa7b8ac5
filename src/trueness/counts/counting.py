"""Counting: cases become counts.

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
from trueness._core.data_types import LabelValue
from trueness._core.progress import stop_if_requested
from trueness.counts.cases import assign_clusters
from trueness.counts.rows import find_rows, merge_rows
from trueness.counts.score_keys import NotFinite
from trueness.counts.sorting import count_scores, weigh_scores
from trueness.counts.values import (
    Panel,
    Tally,
    panel_of_rows,
    read_output,
    tally_of_rows,
    tally_of_sums,
)

# codes of labels; negatives are 0
_POSITIVE = 1
_UNKNOWN = 2


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
    """Return the weights of rows that are ``count`` cases each; None if all are one.

    A case of weight one is a counted case: estimates are the same for both.
    """
    weight = _columns.weights(values)
    # the first weight mostly decides, so that the others need not be read
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

    def is_pos(self, block: slice) -> Array:
        """Return which cases of a slice are positive; no label must be unknown."""
        if self.code is not None:
            return np.asarray(self.code[block] == _POSITIVE)

        values = self.values[block]
        if values.dtype == np.bool_:
            # the positive label is True or False: nothing needs to be compared
            return values if self.positive else ~values

        try:
            return np.asarray(values == self.positive)
        except OverflowError:  # no float equals a whole number as large as this
            return np.zeros(values.shape, dtype=bool)

    def codes(self) -> NDArray[np.int8]:
        """Return 0, 1 or 2 for every case."""
        if self.code is not None:
            return self.code
        return self.is_pos(slice(0, self.values.size)).astype(np.int8)


def read_labels(
    values: Array, positive: LabelValue, argument: str = "y_true"
) -> Labels:
    """Return labels with the positive value checked; missing labels are unknown."""
    values = _columns.one_dimensional(values, argument)
    two_numbers = _two_numbers(values)
    if two_numbers is not None:
        _, positive_value = _columns.label_pair(two_numbers, positive, argument)
        return Labels(values, positive_value)

    missing = _columns.missing(values)
    known_values = values[~missing]
    distinct = _distinct_values(known_values, argument)
    _, positive_value = _columns.label_pair(distinct, positive, argument)

    # a missing label is unknown, whatever the positive value
    code = np.full(values.size, _UNKNOWN, dtype=np.int8)
    code[~missing] = Labels(known_values, positive_value).is_pos(slice(None))
    return Labels(values, positive_value, code)


def _two_numbers(values: Array) -> list[Any] | None:
    """Return the distinct numbers of a column, if there are one or two; else None.

    The column is compared block by block, so that a long one is never copied.
    """
    if values.dtype.kind not in "biuf" or not values.size:
        return None

    low = values.min()
    high = values.max()
    # no whole number lies between neighbours
    neighbours = values.dtype.kind != "f" and int(high) - int(low) <= 1
    if not neighbours:
        for block in blocks(values.size):
            block_values = values[block]
            if not ((block_values == low) | (block_values == high)).all():
                return None

    return [low.item()] if low == high else [low.item(), high.item()]


def _distinct_values(values: Array, argument: str) -> list[Any]:
    """Return the distinct values, sorted by type and then by value."""
    if values.dtype.kind != "O":
        return [plain(value) for value in np.unique(values)]

    distinct = _columns.hashable(values, argument)
    try:
        return sorted(distinct, key=lambda value: (type(value).__name__, value))
    except TypeError:  # values that have no order, such as complex numbers
        return sorted(distinct, key=lambda value: (type(value).__name__, repr(value)))


def count_tally(
    score: Array,
    labels: Labels | None,
    count: Ints | None = None,
    weight: Weights | None = None,
    *,
    cluster: Array | None = None,
    argument: str = "y_score",
) -> Tally:
    """Return the tally of cases; with ``labels=None`` all labels are unknown."""
    score = _columns.numeric_scores(_columns.one_dimensional(score, argument), argument)

    if cluster is not None:
        tally = count_tally(score, labels, count, weight, argument=argument)
        # adding zero turns -0.0 into 0.0
        row = np.searchsorted(-tally.score, -(score.astype(np.float64) + 0.0))
        cases = _columns_of_cases(labels, score.size, count, weight)
        assign_clusters(tally, row, cluster, cases)
        return tally
    if weight is not None:
        return _weigh(_columns.finite_scores(score, argument), labels, weight)
    if count is not None:
        score = _columns.finite_scores(score.astype(np.float64), argument)
        return Tally(score, *split_counts(labels, count))

    try:
        return _count_single_cases(score, labels)
    except NotFinite:
        # the check says how many scores are not finite, and where
        _columns.finite_scores(score, argument)
        raise


def _weigh(score: Array, labels: Labels | None, weight: Weights) -> Tally:
    """Return the tally of weighted cases with finite scores."""
    if weight.square is not None:
        sums = split_weights(labels, weight)
        return tally_of_sums(score.astype(np.float64) + 0.0, sums)

    if labels is None:
        code = np.full(score.size, _UNKNOWN, np.int8)
    else:
        code = labels.codes()

    return tally_of_rows(*weigh_scores(score, code, weight.sum))


def _count_single_cases(score: Array, labels: Labels | None) -> Tally:
    """Return the tally of rows that are one case each."""
    if labels is None:
        none_positive = np.zeros(score.size, dtype=bool)
        distinct, n_none_positive, zero = count_scores(
            score, lambda block: none_positive[block]
        )
        return tally_of_rows(distinct, zero, zero, n_none_positive)

    # labelled and unlabelled cases are counted apart
    if labels.code is not None and (labels.code == _UNKNOWN).any():
        unknown = labels.code == _UNKNOWN
        known_labels = Labels(labels.values, labels.positive, labels.code[~unknown])
        labelled = _count_single_cases(score[~unknown], known_labels)
        return labelled + _count_single_cases(score[unknown], None)

    distinct, neg, pos = count_scores(score, labels.is_pos)
    return tally_of_rows(distinct, neg, pos, no_cases(distinct.size))


def split_counts(labels: Labels | None, count: Array) -> list[Array]:
    """Return the negative, positive and unknown cases of every row."""
    zero = no_cases(count.size)
    if labels is None:
        return [zero, zero, count]
    code = labels.codes()
    return [np.where(code == kind, count, 0) for kind in range(3)]


def split_weights(labels: Labels | None, weights: Weights) -> list[Array]:
    """Return the weights of negatives, positives, unknowns, then their squares."""
    total = weights.sum.astype(np.float64, copy=False)
    square = total * total if weights.square is None else weights.square
    columns = [*split_counts(labels, total), *split_counts(labels, square)]
    return [column.astype(np.float64, copy=False) for column in columns]


def _columns_of_cases(
    labels: Labels | None, size: int, count: Ints | None, weight: Weights | None
) -> list[Array]:
    """Return the counts, or weights and squares, of every case."""
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
    """Return the panel of cases; with ``labels=None`` all labels are unknown."""
    rows = np.column_stack(
        [
            read_output(column, name, allow_missing=True)
            for name, column in columns.items()
        ]
    )
    stop_if_requested()
    cases = _columns_of_cases(labels, len(rows), count, weight)
    panel = panel_of_rows(tuple(columns), *merge_rows(rows, cases))
    if cluster is not None:
        assign_clusters(panel, find_rows(rows, panel.rows), cluster, cases)
    return panel
