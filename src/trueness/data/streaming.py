"""How is one score column counted batch by batch, as its engine hands over the rows?

A score becomes an integer key as wide as itself, counted for its label. Full
blocks of keys are sorted, and folded where scores repeat, while the next batch is read;
at the end the sorted runs are merged. Weights are added up as those of arrays are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from trueness._core.arrays import (
    Array,
    Floats,
    Ints,
    begins_run,
    no_cases,
    order_keys,
    threads,
)
from trueness._core.checks import columns as _columns
from trueness._core.checks.words import plain
from trueness._core.data_types import LabelValue
from trueness._core.imports import lazy_import, required
from trueness._core.progress import progress, visible
from trueness.counts.sorting import merge_counts, weigh_scores
from trueness.counts.values import Tally, tally_of_rows
from trueness.data.columns import arrow_numbers
from trueness.data.engines import reading, select_by_role

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pyarrow as pa
else:
    nw = lazy_import("narwhals.stable.v2", "cli")  # imported when a frame arrives

_ROWS_PER_BATCH = 1 << 18  # that an engine sends at a time
_ROLES = ("score", "label", "weight")
_MAX_ROWS_IN_MEMORY = 1 << 25  # weighted rows, before they are added up
_MAX_LABELS = 100  # a label column with more values is some other column
# a plan with one of these, and none of the next, has as many rows as its source
_SCANS = {
    "DUCKDB": ("READ_PARQUET", "PARQUET_SCAN", "TABLE_SCAN", "SEQ_SCAN", "ARROW_SCAN"),
    "POLARS": ("PARQUET SCAN", "DF ["),
}
_STEPS_THAT_DROP_ROWS = (
    "FILTER",
    "SELECTION",
    "JOIN",
    "AGGREGATE",
    "LIMIT",
    "SLICE",
    "DISTINCT",
)
_KEYS_PER_BLOCK = 1 << 21  # that one thread sorts
_KEYS_PER_RANGE = 1 << 18  # that one thread merges
_MAX_FOLDED_RUNS = 16  # of a label, before they are merged into one
# the unsigned and the signed integers with the bits of a float
_INTEGERS_OF_TYPE: dict[Any, tuple[Any, Any]] = {
    np.dtype(np.float32): (np.uint32, np.int32),
    np.dtype(np.float64): (np.uint64, np.int64),
}


def _number_of_rows(lazy: nw.LazyFrame[Any]) -> int | None:
    """Return the number of rows for a progress bar; None where it would cost a scan."""
    kind = lazy.implementation.name
    if not visible() or kind not in _SCANS:
        return None

    with reading():
        plan = str(lazy.to_native().explain()).upper()
        is_scan = any(scan in plan for scan in _SCANS[kind])
        drops_rows = any(step in plan for step in _STEPS_THAT_DROP_ROWS)
        if not is_scan or drops_rows:
            return None
        return int(lazy.select(nw.len().alias("rows")).collect()["rows"].to_list()[0])


def can_stream(lazy: nw.LazyFrame[Any], column_of_role: Mapping[str, str]) -> bool:
    """Return whether this lazy frame, of one score column, can be read in batches."""
    engines_with_batches = (nw.Implementation.DUCKDB, nw.Implementation.POLARS)
    if lazy.implementation not in engines_with_batches:
        return False
    if not column_of_role.keys() <= set(_ROLES):
        return False

    schema = lazy.collect_schema()
    score = schema.get(column_of_role.get("score", ""))
    label = schema.get(column_of_role.get("label", ""))
    weight = schema.get(column_of_role.get("weight", ""))

    # whole numbers of 128 bits have no place in a float
    if score is None or not _is_number(score) or score in (nw.Int128, nw.UInt128):
        return False
    if weight is not None and not (score.is_float() and _is_number(weight)):
        return False
    if label is None:
        return True

    types_of_words = (nw.Boolean, nw.String, nw.Categorical, nw.Enum)
    return isinstance(label, types_of_words) or _is_number(label)


def _is_number(dtype: nw.dtypes.DType) -> bool:
    """Return whether these are numbers of up to 64 bits."""
    return dtype.is_float() or dtype.is_integer()


def stream(
    lazy: nw.LazyFrame[Any], column_of_role: Mapping[str, str], positive: LabelValue
) -> Tally:
    """Return the tally of one score column, counted batch by batch."""
    with closing(KeyCounter()) as counter:
        for batch in _batches(lazy, column_of_role):
            for label, has_label in _rows_by_label(batch.labels, batch.score.size):
                if batch.is_not_finite is not None:
                    has_label = has_label & ~batch.is_not_finite
                counter.add(batch.score[has_label], label)
        score, counts_by_label = counter.result()

    zero = no_cases(score.size)
    unknown = counts_by_label.pop(None, zero)

    if "label" not in column_of_role:
        return tally_of_rows(score, zero, zero, unknown)

    negative_label, positive_label = _label_pair(
        counts_by_label, positive, column_of_role["label"]
    )
    neg = counts_by_label.get(negative_label, zero)
    pos = counts_by_label.get(positive_label, zero)
    return tally_of_rows(score, neg, pos, unknown)


def weigh(
    lazy: nw.LazyFrame[Any], column_of_role: Mapping[str, str], positive: LabelValue
) -> Tally:
    """Return the sums of weights of one score column of floats, batch by batch."""
    label = column_of_role.get("label")
    codes: dict[Any, int] = {None: 2}  # of labels, as they come; None is missing
    batches_in_memory: list[tuple[Array, ...]] = []  # scores, codes of labels, weights
    rows_in_memory = 0
    sums_of_parts: list[tuple[Array, ...]] = []
    all_are_one = True
    largest_weight = 0.0

    for batch in _batches(lazy, column_of_role):
        weight, smallest, largest = _weights(batch.weights, column_of_role["weight"])
        all_are_one = all_are_one and (smallest == largest == 1 or not weight.size)
        largest_weight = max(largest_weight, largest)
        size = batch.score.size
        batches_in_memory.append(
            (batch.score, _codes_of_labels(batch.labels, size, codes), weight)
        )

        if len(codes) > 3:
            # two labels and None are expected: raises the error for more
            _label_pair(codes, positive, label)

        rows_in_memory += size
        if rows_in_memory >= _MAX_ROWS_IN_MEMORY:
            sums_of_parts.append(_add_up(batches_in_memory))
            batches_in_memory = []
            rows_in_memory = 0

    _columns.weighable(largest_weight)
    if batches_in_memory:
        sums_of_parts.append(_add_up(batches_in_memory))
    if not sums_of_parts:
        return Tally()

    # adding parts costs time, and one part is added already
    all_sums = sums_of_parts[0]
    if len(sums_of_parts) > 1:
        all_sums = merge_counts(sums_of_parts)
    score, *sums = all_sums

    if label is not None:
        negative, positive_label = _label_pair(codes, positive, label)
        positives_came_first = (
            codes.get(positive_label) == 0 or codes.get(negative) == 1
        )
        if positives_came_first:
            sums = _with_classes_exchanged(sums)

    if all_are_one:
        # cases of weight one are cases: counts, and no sums of squares
        sums = [total.astype(np.int64) for total in sums[:3]]

    return tally_of_rows(score, *sums)


def _with_classes_exchanged(sums: Sequence[Array]) -> list[Array]:
    """Return the sums of weights and of squares, with the two classes exchanged."""
    first, second, unknown, first_squares, second_squares, unknown_squares = sums
    return [second, first, unknown, second_squares, first_squares, unknown_squares]


def _add_up(rows: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Return the sums of weights of batches, by score and label."""
    scores, codes, weights = zip(*rows, strict=True)
    return weigh_scores(
        np.concatenate(scores), np.concatenate(codes), np.concatenate(weights)
    )


def _codes_of_labels(
    labels: pa.Array | None, size: int, codes: dict[Any, int]
) -> Array:
    """Return the code of each label; a new label gets the next code, in ``codes``."""
    code = np.zeros(size, dtype=np.uint8)
    for label, has_label in _rows_by_label(labels, size):
        if has_label.any():
            code_of_label = codes.setdefault(label, len(codes) - 1)
            # a row has one label: adding bytes is faster than assigning by a mask
            code += has_label.view(np.uint8) * np.uint8(code_of_label)

    return code


def _weights(values: pa.Array, name: str) -> tuple[Floats, float, float]:
    """Return the weights of a batch, the smallest and the largest."""
    weight = np.asarray(arrow_numbers(values.cast("float64", safe=False)))
    smallest = float(weight.min(initial=np.inf))
    largest = float(weight.max(initial=0.0))
    # the smallest of weights with a NaN is NaN, which fails this comparison
    is_right = not values.null_count and smallest >= 0 and largest < np.inf
    _columns.weighed_rows(name, is_right)

    return weight, smallest, largest


def _label_pair(labels: Iterable[Any], positive: LabelValue, label: str | None) -> Any:
    """Return the negative and the positive label."""
    present = [value for value in labels if value is not None]
    # values of different types have no order of their own
    in_order = sorted(present, key=lambda value: (type(value).__name__, value))
    return _columns.label_pair(in_order, positive, f"column {label!r}")


@final
@dataclass(frozen=True)
class _Batch:
    """Some rows: scores as numbers, labels and weights as Arrow arrays."""

    score: Array
    is_not_finite: Array | None  # None where all scores are finite
    labels: pa.Array | None
    weights: pa.Array | None


def _batches(
    lazy: nw.LazyFrame[Any], column_of_role: Mapping[str, str]
) -> Iterator[_Batch]:
    """Yield the rows of a lazy frame; raise an error at the end for missing scores.

    At the end, so that the error tells how many they are.
    """
    columns_by_role = select_by_role(lazy, column_of_role)
    name = column_of_role["score"]
    number_not_finite = 0
    number_infinite = 0
    total = 0

    bar = progress(f"counting {name}", _number_of_rows(columns_by_role))
    with bar as rows_done, reading() as stop_if_interrupted:
        for arrow_batch in _arrow_batches(columns_by_role.to_native()):
            stop_if_interrupted()
            columns = {role: arrow_batch.column(role) for role in column_of_role}
            score, is_not_finite = _numbers(columns["score"], name)
            total += score.size

            if is_not_finite is not None:
                number_not_finite += int(is_not_finite.sum())
                number_infinite += int(np.isinf(score[is_not_finite]).sum())

            yield _Batch(
                score, is_not_finite, columns.get("label"), columns.get("weight")
            )
            rows_done(score.size)

    if number_not_finite:
        raise _columns.not_finite(
            f"score {name!r}",
            f"in {number_not_finite:,} of {total:,} cases",
            only_infinite=number_infinite == number_not_finite,
        )


def _arrow_batches(native: Any) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a plan of DuckDB or Polars, in batches of Arrow."""
    if hasattr(native, "to_arrow_reader"):
        with native.to_arrow_reader(_ROWS_PER_BATCH) as reader:
            yield from reader
        return

    for part in native.collect_batches(
        chunk_size=_ROWS_PER_BATCH, maintain_order=False, engine="streaming"
    ):
        yield from part.to_arrow().to_batches()


def _numbers(values: pa.Array, what: str) -> tuple[Array, Array | None]:
    """Return the scores of a batch and where they are missing or not finite, if any."""
    is_null = None
    if values.null_count:
        is_null = arrow_numbers(values.is_null())
        values = values.fill_null(0)

    number = _columns.numeric_scores(arrow_numbers(values), what)
    is_finite = np.isfinite(number)

    if is_null is not None:
        return number, is_null | ~is_finite
    if is_finite.all():
        return number, None
    return number, ~is_finite


def _rows_by_label(labels: pa.Array | None, size: int) -> Iterator[tuple[Any, Array]]:
    """Yield each label of a batch, and which rows have it; None is missing."""
    if labels is None:
        yield None, np.ones(size, dtype=bool)
        return

    # labels 0 and 1 are told apart without a dictionary
    whole_pair = _whole_pair(labels)
    if whole_pair is not None:
        low, high, is_high = whole_pair
        yield high, is_high
        if low != high:
            yield low, ~is_high
        return

    coded = labels.dictionary_encode()
    code = arrow_numbers(coded.indices.cast("int64").fill_null(-1))
    if len(coded.dictionary) > _MAX_LABELS:
        first_labels = coded.dictionary.to_pylist()[:_MAX_LABELS]
        _columns.label_pair(sorted(first_labels), None, "label")

    for place, value in enumerate([*coded.dictionary.to_pylist(), None]):
        code_of_value = -1 if value is None else place
        # a NaN is a missing label, too: only NaN differs from itself
        label = None if value != value else value
        yield label, code == code_of_value


def _whole_pair(labels: pa.Array) -> tuple[Any, Any, Array] | None:
    """Return two neighbouring whole numbers, and which labels are the higher one.

    None where a batch has other labels, or where some are missing.
    """
    types = required("pyarrow", "files").types
    are_whole = types.is_integer(labels.type) or types.is_boolean(labels.type)
    if labels.null_count or len(labels) == 0 or not are_whole:
        return None

    values = arrow_numbers(labels)
    low = plain(values.min())
    high = plain(values.max())
    if high - low > 1:
        return None
    return low, high, values == high


def _descending_keys(bits: Array) -> Array:
    """Return unsigned keys of floats, the highest first; twice gives the bits back."""
    keys: Array = order_keys(bits)
    # all bits but the sign are inverted, so the unsigned keys descend
    keys ^= np.iinfo(keys.dtype).max
    return keys


Run = tuple[Array, Array | None]  # sorted keys; counts where these are distinct
Piece = tuple[Array, dict[Hashable, Array]]


class KeyCounter:
    """Count of cases by score and label, of scores that come in batches.

    ``add`` takes finite scores, all float32 or all float64. ``result`` returns the
    distinct scores, highest first, and the counts of each label.

    Blocks of keys are sorted in threads. A sorted block is a run; it is folded, so
    that a key stands once with its count, where that takes less memory.
    """

    def __init__(self) -> None:
        self._dtype: np.dtype[Any] = np.dtype(np.float64)
        self._pool = ThreadPoolExecutor(threads())
        self._blocks: dict[Hashable, tuple[Array, int]] = {}
        self._runs: dict[Hashable, list[Future[Run]]] = {}

    def close(self) -> None:
        """Stop the sorting threads."""
        self._pool.shutdown(cancel_futures=True)

    def add(self, score: Array, label: Hashable) -> None:
        """Add cases of one label."""
        self._dtype = score.dtype
        unsigned, signed = _INTEGERS_OF_TYPE[score.dtype]
        without_negative_zero = score + score.dtype.type(0)
        keys = _descending_keys(without_negative_zero.view(signed)).view(unsigned)

        while keys.size:
            if label not in self._blocks:
                self._blocks[label] = np.empty(_KEYS_PER_BLOCK, dtype=keys.dtype), 0

            block, filled = self._blocks[label]
            part = keys[: block.size - filled]
            block[filled : filled + part.size] = part
            self._blocks[label] = block, filled + part.size

            if filled + part.size == block.size:
                self._store(label)

            keys = keys[part.size :]

    def _store(self, label: Hashable) -> None:
        """Sort a block in a thread; merge the folded runs where there are many."""
        block, filled = self._blocks.pop(label)
        runs = self._runs.setdefault(label, [])
        runs.append(self._pool.submit(_sort_block, block[:filled]))

        if len(runs) % _MAX_FOLDED_RUNS:
            return

        # only folded runs, those with counts, are small enough to be merged early
        folded = []
        unfolded = []
        for run in runs:
            _, counts = run.result()
            if counts is None:
                unfolded.append(run)
            else:
                folded.append(run)

        if len(folded) > 1:
            sorted_runs = [run.result() for run in folded]
            merged: Future[Any] = self._pool.submit(_merge, sorted_runs)
            runs[:] = [*unfolded, merged]

    def result(self) -> tuple[Floats, dict[Hashable, Ints]]:
        """Return the distinct scores, highest first, and the counts of each label."""
        for label in list(self._blocks):
            self._store(label)

        runs_by_label = {}
        for label, runs in self._runs.items():
            runs_by_label[label] = [run.result() for run in runs]
        self._runs = {}
        pieces = _merge_ranges(runs_by_label, self._pool)
        # the runs are as large as the data: freed before the columns are allocated
        del runs_by_label

        ends = np.cumsum([0, *(keys.size for keys, _ in pieces)]).tolist()
        score = np.empty(ends[-1])
        columns: dict[Hashable, Ints] = {}
        for _, counts in pieces:
            for label in counts:
                if label not in columns:
                    columns[label] = np.zeros(ends[-1], dtype=np.int64)

        def fill(piece: Piece, start: int, stop: int) -> None:
            """Write a piece into its rows of the columns."""
            keys, counts = piece
            bits = _descending_keys(keys.view(_INTEGERS_OF_TYPE[self._dtype][1]))
            score[start:stop] = bits.view(self._dtype)
            for label, count in counts.items():
                columns[label][start:stop] = count

        # in parallel: most of the time goes into the first touch of new memory
        list(self._pool.map(fill, pieces, ends[:-1], ends[1:]))
        return score, columns


def _sort_block(block: Array) -> Run:
    """Return the keys of a block in order, with counts where keys repeat."""
    block.sort()
    is_first = begins_run(block)
    # 4 bytes a count: folding pays when a key stands for two cases or more
    if 2 * int(is_first.sum()) > block.size:
        return block, None

    start = np.flatnonzero(is_first)
    return block[start], np.diff(start, append=block.size).astype(np.uint32)


def _merge(runs: Sequence[Run]) -> tuple[Array, Array]:
    """Return the distinct keys of sorted runs, and their counts."""
    keys = np.concatenate([keys_of_run for keys_of_run, _ in runs])

    if all(counts is None for _, counts in runs):
        keys.sort(kind="stable")  # NumPy's timsort: merges sorted runs in linear time
        start = np.flatnonzero(begins_run(keys))
        return keys[start], np.diff(start, append=keys.size)

    # in a run without counts each key stands for one case
    counts_of_runs = []
    for keys_of_run, counts in runs:
        counts_of_runs.append(np.ones(keys_of_run.size) if counts is None else counts)

    all_counts = np.concatenate(counts_of_runs, dtype=np.int64, casting="unsafe")
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    start = np.flatnonzero(begins_run(keys))
    if not start.size:
        return keys, all_counts
    return keys[start], np.add.reduceat(all_counts[order], start)


def _merge_ranges(
    runs_by_label: Mapping[Hashable, list[Run]], pool: ThreadPoolExecutor
) -> list[Piece]:
    """Return the merged runs of all labels, in ranges of ``_KEYS_PER_RANGE`` keys."""
    if not runs_by_label:
        return []

    # a 64th of the keys of a range from each run: their quantiles divide it evenly
    sample = [
        keys[:: _KEYS_PER_RANGE // 64]
        for runs in runs_by_label.values()
        for keys, _ in runs
    ]
    edges = [None, *np.unique(np.sort(np.concatenate(sample))[64::64]), None]

    def merge_range(ends: tuple[Any, Any]) -> Piece:
        """Return the keys between two ends, with the counts of each label."""
        low, high = ends
        merged = {
            label: _merge([_between(run, low, high) for run in runs])
            for label, runs in runs_by_label.items()
        }
        return _join(merged)

    return list(pool.map(merge_range, pairwise(edges)))


def _between(run: Run, low: Any, high: Any) -> Run:
    """Return the keys of a sorted run with low <= key < high, and their counts.

    None stands for an end without a bound.
    """
    keys, counts = run
    start = 0
    stop = keys.size

    if low is not None:
        start = int(np.searchsorted(keys, low))
    if high is not None:
        stop = int(np.searchsorted(keys, high))

    if counts is not None:
        counts = counts[start:stop]

    return keys[start:stop], counts


def _join(counts_by_label: Mapping[Hashable, tuple[Array, Array]]) -> Piece:
    """Return the keys of all labels once, with the counts of each label."""
    keys = np.concatenate(
        [keys_of_label for keys_of_label, _ in counts_by_label.values()]
    )
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = begins_run(ordered)
    distinct = ordered[is_first]
    # the row of each key among the distinct ones
    row = np.empty(keys.size, dtype=np.int32)
    row[order] = np.cumsum(is_first, dtype=np.int32) - 1

    columns = {}
    start = 0
    for label, (keys_of_label, counts) in counts_by_label.items():
        stop = start + keys_of_label.size
        # all pieces are in memory at once: most counts fit into one byte
        narrow_type = np.min_scalar_type(int(counts.max(initial=0)))
        columns[label] = np.zeros(distinct.size, dtype=narrow_type)
        columns[label][row[start:stop]] = counts
        start = stop

    return distinct, columns
