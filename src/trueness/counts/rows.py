"""Rows of outputs: equal rows are one, and their cases are added up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints
from trueness.counts.score_keys import descending_order

# three outputs of a vote: 1, 0 and none
_VOTE_VALUES = np.array([1.0, 0.0, np.nan])
# 3**10 codes fit into 16 bits
_MAX_VOTERS = 10
# np.bincount adds in float64, which is exact below this number of cases
_EXACT_IN_FLOAT64 = 1 << 53
# below this many rows a stable sort costs less than packing keys
_MIN_FOR_KEYS = 1 << 12
# far above the rounding of a sum of millions, far below any weight that matters
ROUNDING = 1e-9


def merge_rows(rows: Floats, counts: Sequence[Ints]) -> tuple[Array, ...]:
    """Return the distinct rows in descending order, then the summed columns of counts.

    NaN comes last; rows without a case are dropped.
    """
    codes = _vote_codes(rows)
    total_cases = sum(int(column.sum()) for column in counts)
    # votes have codes; sums in float64 are exact up to so many cases
    if codes is not None and total_cases < _EXACT_IN_FLOAT64:
        return _merge_votes(codes, rows.shape[1], counts)

    order = _descending_order(rows)
    sorted_rows = rows[order]
    start = np.flatnonzero(_differs_from_previous(sorted_rows))
    sums = [column[order] for column in counts]
    if start.size:
        sums = [np.add.reduceat(column, start) for column in sums]

    occupied = has_cases(sums)
    return sorted_rows[start][occupied], *(column[occupied] for column in sums)


def has_cases(counts: Sequence[Array]) -> NDArray[np.bool_]:
    """Return which rows hold a case of any kind."""
    occupied = np.add.reduce([column != 0 for column in counts], axis=0)
    return np.asarray(occupied, dtype=bool)


def _vote_codes(rows: Floats) -> Array | None:
    """Return a number in base 3 for each row of votes (1, 0 or NaN).

    Ascending numbers are descending rows. None if an output is not a vote, or if there
    are too many voters.
    """
    if rows.shape[1] > _MAX_VOTERS or not _is_vote(rows[:1]).all():
        return None

    code = np.zeros(len(rows), dtype=np.uint16)
    for column in rows.T:
        if not _is_vote(column).all():
            return None
        # 0 for a vote of 1, 1 for a vote of 0, 2 for a missing one
        digit = np.uint16(1) - (column == 1) + np.isnan(column)
        code *= np.uint16(3)
        code += digit

    return code


def _is_vote(values: Array) -> NDArray[np.bool_]:
    return np.asarray((values == 0) | (values == 1) | np.isnan(values))


def _merge_votes(
    codes: Array, voters: int, counts: Sequence[Ints]
) -> tuple[Array, ...]:
    """Return distinct rows of votes with their counts, by codes instead of sorting."""
    sums = [
        np.bincount(codes, weights=column, minlength=3**voters).astype(column.dtype)
        for column in counts
    ]
    occupied = np.flatnonzero(np.add.reduce(sums))

    # votes are the digits of a code in base 3, the highest that of the first voter
    place_values = 3 ** np.arange(voters - 1, -1, -1)
    digits = occupied[:, None] // place_values % 3
    return _VOTE_VALUES[digits], *(column[occupied] for column in sums)


def _descending_order(rows: Floats) -> Array:
    """Return the order of rows from the highest down.

    Later columns only break ties of the first one.
    """
    order = _order_of_first_column(rows[:, 0])
    if rows.shape[1] == 1:
        return order

    tied = ~_differs_from_previous(rows[order, :1])
    # the first row of each run of ties is tied, too
    tied[:-1] |= tied[1:]
    positions = np.flatnonzero(tied)
    if positions.size:
        tied_rows = order[positions]
        # np.lexsort takes the last key first
        order[positions] = tied_rows[np.lexsort(-rows[tied_rows].T[::-1])]

    return order


def _order_of_first_column(values: Floats) -> Array:
    """Return the order from the highest value down, NaN last; ties keep their order."""
    if len(values) < _MIN_FOR_KEYS or np.isnan(values).any():
        return np.argsort(-values, kind="stable")

    # in less than half the time of a stable sort of floats
    order, _ = descending_order(np.ascontiguousarray(values))
    return order


def _differs_from_previous(rows: Floats) -> NDArray[np.bool_]:
    """Return which rows differ from the one before; NaN equals NaN."""
    differs = np.zeros(len(rows), dtype=bool)
    differs[:1] = True
    for column in rows.T:
        current = column[1:]
        previous = column[:-1]
        both_missing = np.isnan(current) & np.isnan(previous)
        differs[1:] |= (current != previous) & ~both_missing
        if differs.all():
            # continuous scores differ in the first column already
            break

    return differs


def find_rows(rows: Floats, distinct_rows: Floats) -> Ints:
    """Return the position of each row among distinct rows; -1 if it is not there."""
    size = len(distinct_rows)
    stacked = np.concatenate([distinct_rows, rows])
    # NaN must equal NaN; outputs are finite, so infinity can stand for it
    stacked = np.where(np.isnan(stacked), np.inf, stacked)

    code = np.unique(stacked, axis=0, return_inverse=True)[1].reshape(-1)
    position = np.full(code.max(initial=-1) + 1, -1)
    position[code[:size]] = np.arange(size)
    return position[code[size:]]


def subtract_counts(
    columns: Sequence[Array], rows: Ints, part_columns: Sequence[Array]
) -> list[Array]:
    """Return columns of counts, or weights, less those of a part at these rows.

    Differences of weights as small as rounding are set to zero.
    """
    remaining = []
    for column, part in zip(columns, part_columns, strict=True):
        remainder = column.copy()
        np.subtract.at(remainder, rows, part)
        if remainder.dtype.kind == "f":  # sums of weights
            remainder[np.abs(remainder) <= ROUNDING * column] = 0.0
        remaining.append(remainder)

    return remaining
