"""Counting without sorting: few distinct scores are counted in a hash table.

The keys of the table come from a sample of the scores. Every hit is checked for
equality, so the counts stay exact; cases whose score is not in the table are returned,
to be counted otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, begins_run, blocks, threads
from trueness.counts.score_keys import FLOAT_LAYOUTS, sort_in_place

# below this many scores, probing for ties or starting a thread costs more than it saves
_MIN_FOR_TABLE = 1 << 16
# as many as there may be threads
_MAX_PARTS = 8
# the kind of each case of a slice: 0 for negatives, 1 for positives, 2 for unknowns
KindOfSlice = Callable[[slice], Array]


def few_distinct(score: Array) -> Array | None:
    """Return the distinct scores of a sample, as bits; None unless there are few."""
    if score.size < _MIN_FOR_TABLE:
        return None

    sample_size = min(score.size // 16, 1 << 16)
    sample = np.ascontiguousarray(score[:: score.size // sample_size])
    # adding zero turns -0.0 into 0.0
    sample = sample + score.dtype.type(0)
    if not np.isfinite(sample).all():
        return None

    bits = sample.view(FLOAT_LAYOUTS[score.dtype].bits)
    sort_in_place(bits)
    distinct: Array = bits[begins_run(bits)]
    if distinct.size > sample.size // 4:
        return None
    return distinct


# odd 64-bit constants of common hash functions (Knuth, Steele, Stafford, xxHash)
_MULTIPLIERS = (
    0x9E3779B97F4A7C15,
    0xBF58476D1CE4E5B9,
    0x94D049BB133111EB,
    0xC2B2AE3D27D4EB4F,
)


class HashTable:
    """Which row of the table holds this score?

    Multiplicative hashing with the multiplier, of a fixed few, that loses the fewest
    keys to collisions. A lost or unseen score is reported as absent, never miscounted.

    Attributes
    ----------
    key : array
        The bits of the score in each row.
    """

    def __init__(self, keys: Array) -> None:
        # n^2 slots for n keys have few collisions; 2^20 slots take 8 MiB
        self._slot_bits = min(max(12, 2 * int(keys.size).bit_length()), 20)
        wide_keys = keys.astype(np.uint64)
        trials = [
            self._place(wide_keys, np.uint64(multiplier)) for multiplier in _MULTIPLIERS
        ]
        # keys that collide with another one are not placed
        numbers_placed = [placed.size for placed, _ in trials]
        best = int(np.argmax(numbers_placed))

        placed, slot = trials[best]
        self._multiplier = np.uint64(_MULTIPLIERS[best])
        self._row_of_slot = np.zeros(1 << self._slot_bits, dtype=np.intp)
        self._row_of_slot[slot] = np.arange(placed.size)
        self.key = placed.astype(keys.dtype)

    def _place(self, wide_keys: Array, multiplier: np.uint64) -> tuple[Array, Array]:
        """Return the keys that come first in their slot, and their slots."""
        slot = self._slot(wide_keys, multiplier)
        distinct_slot, first_key = np.unique(slot, return_index=True)
        return wide_keys[first_key], distinct_slot

    def _slot(self, wide_keys: Array, multiplier: np.uint64) -> Array:
        """Return the slot of each key: the upper bits of key times multiplier."""
        product = wide_keys * multiplier
        return (product >> np.uint64(64 - self._slot_bits)).view(np.int64)

    def find(self, bits: Array) -> tuple[Array, Array]:
        """Return the row of each score, and whether the table holds the score."""
        wide_bits = bits if bits.dtype == np.uint64 else bits.astype(np.uint64)
        row = self._row_of_slot.take(self._slot(wide_bits, self._multiplier))
        return row, self.key.take(row) == bits


class TableCounts(NamedTuple):
    """Counts at the scores of a table, and the cases whose score is not in it."""

    columns: tuple[Array, ...]  # the scores, and a column of counts for each kind
    missed: Array  # positions of the other cases
    missed_kind: Array


def count_in_table(
    score: Array,
    kind_of: KindOfSlice,
    distinct: Array,
    kinds: int,
    weight: Array | None = None,
) -> TableCounts:
    """Return the number of cases of each kind at few distinct scores, unsorted.

    For weighted cases, the sums of weights of each kind, then of squared weights.
    """
    table = HashTable(distinct)
    # the number of parts must not depend on the number of threads: rounding of sums of
    # weights depends on the parts
    number_of_parts = max(1, min(_MAX_PARTS, score.size // _MIN_FOR_TABLE))
    edges = np.linspace(0, score.size, number_of_parts + 1).astype(int)
    spans = [slice(start, stop) for start, stop in pairwise(edges)]

    def count_span(span: slice) -> _SpanSums:
        return _sum_span(table, score, kind_of, kinds, weight, span)

    with ThreadPoolExecutor(min(number_of_parts, threads())) as pool:
        parts = list(pool.map(count_span, spans))

    sums = np.sum([part.sums for part in parts], axis=0)
    columns = []
    for sums_of_cells in sums:
        # the cells of a score are side by side, one for each kind
        for kind in range(kinds):
            columns.append(sums_of_cells[kind::kinds])

    distinct_score = table.key.view(score.dtype).astype(np.float64)
    return TableCounts(
        (distinct_score, *columns),
        missed=np.concatenate([part.missed for part in parts]),
        missed_kind=np.concatenate([part.missed_kind for part in parts]),
    )


class _SpanSums(NamedTuple):
    """Counts, or sums of weights and of squared weights, of one part of the cases."""

    sums: Array  # (1 or 2, rows times kinds)
    missed: Array
    missed_kind: Array


def _sum_span(
    table: HashTable,
    score: Array,
    kind_of: KindOfSlice,
    kinds: int,
    weight: Array | None,
    span: slice,
) -> _SpanSums:
    """Return the counts of the cases of one span, computed block by block.

    ``missed`` are the cases whose score is not in the table.
    """
    bits_type = FLOAT_LAYOUTS[score.dtype].bits
    zero = score.dtype.type(0)
    cells = kinds * table.key.size
    # a row of counts, or a row of weights and one of squared weights
    sums: Array = np.zeros((1, cells), np.int64)
    if weight is not None:
        sums = np.zeros((2, cells))

    # empty arrays of the right types, in case no case is missed
    missed = [np.zeros(0, dtype=np.int64)]
    missed_kind = [kind_of(slice(0, 0))]

    for part in blocks(span.stop - span.start):
        block = slice(span.start + part.start, span.start + part.stop)
        # adding zero turns -0.0 into 0.0
        row, is_in_table = table.find((score[block] + zero).view(bits_type))
        kind = kind_of(block)
        # the cells of a score are side by side, one for each kind
        cell = kinds * row + kind
        all_in_table = bool(is_in_table.all())
        if not all_in_table:
            missed.append(np.flatnonzero(~is_in_table) + block.start)
            missed_kind.append(kind[~is_in_table])
            cell = cell[is_in_table]

        if weight is None:
            sums[0] += np.bincount(cell, minlength=cells)
            continue

        cell_weight = weight[block].astype(np.float64, copy=False)
        if not all_in_table:
            cell_weight = cell_weight[is_in_table]
        sums[0] += np.bincount(cell, cell_weight, cells)
        sums[1] += np.bincount(cell, cell_weight * cell_weight, cells)

    return _SpanSums(sums, np.concatenate(missed), np.concatenate(missed_kind))
