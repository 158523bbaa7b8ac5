"""Distinct scores, highest first, with the number of cases of each class.

``count_scores`` counts cases, ``weigh_scores`` adds up weights, ``merge_counts`` adds
counts of several parts. A score and its label are sorted as one whole number
(``score_keys``); few distinct scores are counted in a hash table, without a sort
(``score_table``). Long arrays are read in blocks that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import (
    Array,
    Floats,
    Ints,
    begins_run,
    blocks,
    map_blocks,
)
from trueness._core.progress import stop_if_requested
from trueness.counts.score_keys import (
    NotFinite,
    Packing,
    descending_order,
    sort_in_place,
)
from trueness.counts.score_table import count_in_table, few_distinct

# scores, highest first, and the negatives and positives of each
ScoreCounts = tuple[Floats, Ints, Ints]

# below this many scores np.unique costs less than packing them
_MIN_FOR_KEYS = 1 << 11


def count_scores(score: Array, is_pos: Callable[[slice], Array]) -> ScoreCounts:
    """Return the distinct scores, highest first, with their negatives and positives.

    ``score`` is float32 or float64; ``is_pos`` returns the labels of a slice as bools,
    so that the column of labels is never copied as a whole. Raises ``NotFinite``.
    """
    if score.size < _MIN_FOR_KEYS:
        return _count_plainly(score, is_pos)

    distinct = few_distinct(score)
    if distinct is None:
        return _count_sorted(score, is_pos)

    # few scores are counted in a table; those that a sample missed are sorted
    in_table = count_in_table(score, is_pos, distinct, kinds=2)
    parts: list[tuple[Array, ...]] = [in_table.columns]
    if in_table.missed.size:
        rare_scores = score[in_table.missed]
        parts.append(
            _count_sorted(rare_scores, lambda rows: in_table.missed_kind[rows])
        )

    value, neg, pos = merge_counts(parts)
    return value, neg, pos


def _count_plainly(score: Array, is_pos: Callable[[slice], Array]) -> ScoreCounts:
    """Return the counts of scores by ``np.unique``.

    For few scores, or for scores whose range is too wide for keys.
    """
    if not np.isfinite(score).all():
        raise NotFinite

    value, row = np.unique(score.astype(np.float64) + 0.0, return_inverse=True)
    is_positive = is_pos(slice(0, score.size)).astype(bool)
    pos = np.bincount(row[is_positive], minlength=value.size)
    cases = np.bincount(row, minlength=value.size)
    neg = cases - pos

    # highest score first
    return value[::-1].copy(), neg[::-1].copy(), pos[::-1].copy()


def _count_sorted(score: Array, is_pos: Callable[[slice], Array]) -> ScoreCounts:
    """Return the counts of scores, by sorting each with its label as one key."""
    packing = Packing(score)
    if not packing.fits:
        return _count_plainly(score, is_pos)

    buffer = np.empty(score.size, dtype=np.float64)
    # keys share the memory of the scores, which replace them later. Narrow keys take
    # the second half: scores, written from the front, never overwrite unread keys
    keys: Array = buffer.view(packing.key_type)[-score.size :]

    def write_keys(block: slice) -> None:
        keys[block] = packing.pack(score[block], is_pos(block))

    map_blocks(write_keys, score.size)
    sort_in_place(keys)

    rows = sum(map_blocks(lambda block: _number_of_runs(keys, block), keys.size))
    if rows == keys.size:
        neg, pos = _read_distinct_keys(keys, buffer, packing)
        return buffer, neg, pos

    neg, pos = _read_runs_of_keys(keys, buffer, packing, rows)
    value = buffer[:rows]
    # a view may keep up to half of the buffer in vain; beyond that, a copy is smaller
    if 2 * rows <= buffer.size:
        value = value.copy()
    return value, neg, pos


def _ends_of_runs(keys: Array, block: slice) -> NDArray[np.bool_]:
    """Return which keys of this block are the last of their score."""
    place = keys[block.start : block.stop + 1] >> keys.dtype.type(1)
    is_last = np.ones(block.stop - block.start, dtype=bool)
    np.not_equal(place[1:], place[:-1], out=is_last[: place.size - 1])
    return is_last


def _number_of_runs(keys: Array, block: slice) -> int:
    """Return how many scores end in this block."""
    return int(np.count_nonzero(_ends_of_runs(keys, block)))


def _read_distinct_keys(
    keys: Array, buffer: Floats, packing: Packing
) -> tuple[Ints, Ints]:
    """Replace sorted keys, all of distinct scores, by their scores in the same buffer.

    Return the negatives and positives of each score.
    """
    label_bit = packing.key_type(1)
    neg = np.empty(keys.size, np.int64)
    pos = np.empty(keys.size, np.int64)

    def read_keys(block: slice) -> None:
        # the last bit of a key is the label
        pos[block] = keys[block] & label_bit
        np.subtract(1, pos[block], out=neg[block])
        # all keys of the block are read before its scores are written
        buffer[block] = packing.unpack(keys[block] >> label_bit)

    if keys.itemsize == buffer.itemsize:
        # a score replaces only its own key, so blocks may run in parallel
        map_blocks(read_keys, keys.size)
    else:
        for block in blocks(keys.size):
            read_keys(block)

    return neg, pos


def _read_runs_of_keys(
    keys: Array, buffer: Floats, packing: Packing, rows: int
) -> tuple[Ints, Ints]:
    """Replace sorted keys by their distinct scores in the same buffer.

    Return the negatives and positives of each distinct score.
    """
    label_bit = packing.key_type(1)
    # running totals up to the end of each run, at first
    cases = np.empty(rows, np.int64)
    pos = np.empty(rows, np.int64)
    row = 0
    positives_before = 0
    for block in blocks(keys.size):
        ends = np.flatnonzero(_ends_of_runs(keys, block))
        block_keys = keys[block].copy()
        label = block_keys & label_bit
        block_rows = slice(row, row + ends.size)
        cases[block_rows] = ends + (block.start + 1)
        pos[block_rows] = np.cumsum(label, dtype=np.int64)[ends] + positives_before
        buffer[block_rows] = packing.unpack(block_keys[ends] >> label_bit)
        row = block_rows.stop
        positives_before += int(label.sum())

    _take_differences(cases)
    _take_differences(pos)
    cases -= pos
    return cases, pos


def _take_differences(totals: Ints) -> None:
    """Replace running totals by the single counts, in place."""
    # from the back, so that each block still sees its predecessor's total
    for block in reversed(list(blocks(totals.size))):
        total_before = totals[block.start - 1] if block.start else 0
        totals[block] = np.diff(totals[block], prepend=total_before)


def merge_counts(parts: Sequence[tuple[Array, ...]]) -> tuple[Any, ...]:
    """Return the sum of columns (score, count, count, ...), highest score first.

    Rows without a case are dropped. The scores must be finite, without -0.0.
    """
    stop_if_requested()
    score, *columns = parts[0]
    if len(parts) > 1:
        columns_of_parts = zip(*parts, strict=True)
        score, *columns = [np.concatenate(pieces) for pieces in columns_of_parts]

    # scores are often in order already, as after a map that keeps the order
    if (score[1:] > score[:-1]).any():
        order, score = descending_order(score)
        columns = [column[order] for column in columns]

    # one row for each score
    start = np.flatnonzero(begins_run(score))
    score = score[start]
    if start.size:
        columns = [np.add.reduceat(column, start) for column in columns]

    has_cases = np.zeros(score.size, dtype=bool)
    for column in columns:
        has_cases |= column != 0
    if not has_cases.all():
        score = score[has_cases]
        columns = [column[has_cases] for column in columns]

    return (score, *columns)


def weigh_scores(score: Array, kind: Array, weight: Array) -> tuple[Array, ...]:
    """Return the distinct scores, highest first, with sums of weights and of squares.

    ``score`` is float32 or float64 and finite; ``kind`` is 0 for negatives, 1 for
    positives, 2 for unknowns; weights are numbers of any type. Return the scores, three
    columns of weights and three of squares. Cases of weight zero are left out.
    """
    if not weight.min(initial=1.0) > 0:
        has_weight = weight > 0
        score = score[has_weight]
        kind = kind[has_weight]
        weight = weight[has_weight]

    distinct = few_distinct(score)
    if distinct is None:
        return _weigh_in_ranges(score, kind, weight)

    # few scores are counted in a table; those that a sample missed are sorted
    in_table = count_in_table(score, lambda rows: kind[rows], distinct, 3, weight)
    parts: list[tuple[Array, ...]] = [in_table.columns]
    missed = in_table.missed
    if missed.size:
        parts.append(
            _weigh_in_ranges(score[missed], in_table.missed_kind, weight[missed])
        )

    return merge_counts(parts)


# cases whose scores, labels and weights stay in the cache while they are put in order
_CASES_IN_CACHE = 1 << 20
# the number of a range is a byte
_MAX_RANGES = 256


def _weigh_in_ranges(score: Array, kind: Array, weight: Array) -> tuple[Array, ...]:
    """Return sums of weights by score, computed for ranges of scores in turn.

    Weights are looked up in the order of the scores, which is four times as fast among
    a million cases as among ten million. The ranges do not overlap.
    """
    ranges = min(-(-score.size // _CASES_IN_CACHE), _MAX_RANGES)
    if ranges < 2:
        return _weigh_sorted(score, kind, weight)

    # NumPy sorts bytes fast, by counting them
    range_of_case = _ranges_of_scores(score, ranges)
    order = np.argsort(range_of_case, kind="stable")
    cases_in_range = np.bincount(range_of_case, minlength=ranges)
    edges = np.cumsum(cases_in_range)[:-1]

    columns_of_ranges = [
        _weigh_sorted(score.take(rows), kind.take(rows), weight.take(rows))
        for rows in np.split(order, edges)
    ]
    return tuple(
        np.concatenate(column) for column in zip(*columns_of_ranges, strict=True)
    )


def _ranges_of_scores(score: Array, ranges: int) -> NDArray[np.uint8]:
    """Return the range of each score: 0 for the highest, all of about equal size."""
    # quantiles of some 4,096 cases, evenly spaced in the file, are the edges
    sample = np.sort(score[:: max(1, score.size // 4096)])[::-1]
    upper_edges = sample[np.arange(1, ranges) * sample.size // ranges]
    range_of_case = np.zeros(score.size, dtype=np.uint8)
    for block in blocks(score.size):
        for edge in upper_edges:
            # a score in range k lies below k edges
            range_of_case[block] += score[block] < edge
    return range_of_case


def _weigh_sorted(score: Array, kind: Array, weight: Array) -> tuple[Array, ...]:
    """Return sums of weights and of squares by score, by sorting the cases."""
    order, sorted_score = descending_order(score)
    begins = begins_run(sorted_score)
    value = sorted_score[begins]
    rows = value.size

    # a cell is a kind and a row: all negatives, then all positives, then all unknowns
    cell = np.cumsum(begins) - 1
    cell += (rows * np.arange(3)).take(kind.take(order))
    cell_weight = weight.take(order).astype(np.float64, copy=False)
    weights = np.bincount(cell, cell_weight, 3 * rows).reshape(3, rows)
    squares = np.bincount(cell, cell_weight * cell_weight, 3 * rows).reshape(3, rows)
    return value, *weights, *squares
