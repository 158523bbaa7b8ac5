"""How is one score column counted batch by batch, as its engine hands over the rows?

A score becomes an integer key as wide as itself, and its label chooses the pile. Full
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
from trueness.data.engines import by_role, reading

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pyarrow as pa
else:
    nw = lazy_import("narwhals.stable.v2", "cli")  # imported when a frame arrives

_BATCH = 1 << 18
_ROLES = ("score", "label", "weight")
_TOGETHER = 1 << 25  # weighted rows that are in memory at a time
_MOST_LABELS = 100  # a label column with more values is some other column
# what a plan may hold whose rows are counted without reading them
_PLAIN = {
    "DUCKDB": ("READ_PARQUET", "PARQUET_SCAN", "TABLE_SCAN", "SEQ_SCAN", "ARROW_SCAN"),
    "POLARS": ("PARQUET SCAN", "DF ["),
}
_SELECTS = ("FILTER", "SELECTION", "JOIN", "AGGREGATE", "LIMIT", "SLICE", "DISTINCT")
_BLOCK = 1 << 21
_RANGE = 1 << 18  # keys merged at once
_FOLDED_AT_MOST = 16  # folded runs of a pile before they are merged into one
_BITS: dict[Any, tuple[Any, Any]] = {
    np.dtype(np.float32): (np.uint32, np.int32),
    np.dtype(np.float64): (np.uint64, np.int64),
}


def _known_rows(lazy: nw.LazyFrame[Any]) -> int | None:
    """Return how many rows will go by, for a bar; known of whole files and tables."""
    kind = lazy.implementation.name
    if not visible() or kind not in _PLAIN:
        return None

    with reading():
        plan = str(lazy.to_native().explain()).upper()
        plain = any(word in plan for word in _PLAIN[kind])
        if not plain or any(word in plan for word in _SELECTS):
            return None
        return int(lazy.select(nw.len().alias("rows")).collect()["rows"].to_list()[0])


def can_stream(lazy: nw.LazyFrame[Any], wanted: Mapping[str, str]) -> bool:
    """Return whether this lazy frame, of one score column, can be read in batches."""
    engines_with_batches = (nw.Implementation.DUCKDB, nw.Implementation.POLARS)
    if lazy.implementation not in engines_with_batches:
        return False
    if not wanted.keys() <= set(_ROLES):
        return False

    schema = lazy.collect_schema()
    score = schema.get(wanted.get("score", ""))
    label = schema.get(wanted.get("label", ""))
    weight = schema.get(wanted.get("weight", ""))

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
    lazy: nw.LazyFrame[Any], wanted: Mapping[str, str], positive: LabelValue
) -> Tally:
    """Count one score column batch by batch."""
    with closing(KeyCounter()) as counter:
        for batch in _batches(lazy, wanted):
            for pile, is_in_pile in _piles(batch.labels, batch.score.size):
                if batch.is_not_finite is not None:
                    is_in_pile = is_in_pile & ~batch.is_not_finite
                counter.add(batch.score[is_in_pile], pile)
        score, piles = counter.result()

    zero = no_cases(score.size)
    unknown = piles.pop(None, zero)

    if "label" not in wanted:
        return tally_of_rows(score, zero, zero, unknown)

    negative_label, positive_label = _pair(piles, positive, wanted["label"])
    neg = piles.get(negative_label, zero)
    pos = piles.get(positive_label, zero)
    return tally_of_rows(score, neg, pos, unknown)


def weigh(
    lazy: nw.LazyFrame[Any], wanted: Mapping[str, str], positive: LabelValue
) -> Tally:
    """Return the sums of weights of one score column of floats, batch by batch."""
    label = wanted.get("label")
    codes: dict[Any, int] = {None: 2}  # of labels, as they come; None is missing
    waiting: list[tuple[Array, ...]] = []  # scores, codes of labels, weights
    rows_waiting = 0
    sums_of_parts: list[tuple[Array, ...]] = []
    all_are_one = True
    largest_weight = 0.0

    for batch in _batches(lazy, wanted):
        weight, smallest, largest = _weights(batch.weights, wanted["weight"])
        all_are_one = all_are_one and (smallest == largest == 1 or not weight.size)
        largest_weight = max(largest_weight, largest)
        size = batch.score.size
        waiting.append((batch.score, _coded(batch.labels, size, codes), weight))

        if len(codes) > 3:
            # two labels and None are expected: this says what is wrong
            _pair(codes, positive, label)

        rows_waiting += size
        if rows_waiting >= _TOGETHER:
            sums_of_parts.append(_add_up(waiting))
            waiting = []
            rows_waiting = 0

    _columns.weighable(largest_weight)
    if waiting:
        sums_of_parts.append(_add_up(waiting))
    if not sums_of_parts:
        return Tally()

    # adding parts costs time, and one part is added already
    all_sums = sums_of_parts[0]
    if len(sums_of_parts) > 1:
        all_sums = merge_counts(sums_of_parts)
    score, *sums = all_sums

    if label is not None:
        negative, positive_label = _pair(codes, positive, label)
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
    """Add up the weights of batches by score and label."""
    scores, codes, weights = zip(*rows, strict=True)
    return weigh_scores(
        np.concatenate(scores), np.concatenate(codes), np.concatenate(weights)
    )


def _coded(labels: pa.Array | None, size: int, codes: dict[Any, int]) -> Array:
    """Return the code of each label; labels that were not met before get the next."""
    code = np.zeros(size, dtype=np.uint8)
    for pile, is_in_pile in _piles(labels, size):
        if is_in_pile.any():
            code_of_pile = codes.setdefault(pile, len(codes) - 1)
            # the piles are disjoint: bytes are added, without a mask to assign by
            code += is_in_pile.view(np.uint8) * np.uint8(code_of_pile)

    return code


def _weights(values: pa.Array, name: str) -> tuple[Floats, float, float]:
    """Return the weights of a batch, the smallest and the largest."""
    weight = np.asarray(arrow_numbers(values.cast("float64", safe=False)))
    smallest = float(weight.min(initial=np.inf))
    largest = float(weight.max(initial=0.0))
    # of a weight that is not a number, the smallest is none
    is_right = not values.null_count and smallest >= 0 and largest < np.inf
    _columns.weighed_rows(name, is_right)

    return weight, smallest, largest


def _pair(labels: Iterable[Any], positive: LabelValue, label: str | None) -> Any:
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


def _batches(lazy: nw.LazyFrame[Any], wanted: Mapping[str, str]) -> Iterator[_Batch]:
    """Yield the rows of a lazy frame; raise an error at the end for missing scores.

    At the end, so that the error tells how many they are.
    """
    columns_by_role = by_role(lazy, wanted)
    name = wanted["score"]
    number_not_finite = 0
    number_infinite = 0
    total = 0

    bar = progress(f"counting {name}", _known_rows(columns_by_role))
    with bar as rows_done, reading() as stop_if_interrupted:
        for arrow_batch in _arrow_batches(columns_by_role.to_native()):
            stop_if_interrupted()
            columns = {role: arrow_batch.column(role) for role in wanted}
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
        with native.to_arrow_reader(_BATCH) as reader:
            yield from reader
        return

    for part in native.collect_batches(
        chunk_size=_BATCH, maintain_order=False, engine="streaming"
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


def _piles(labels: pa.Array | None, size: int) -> Iterator[tuple[Any, Array]]:
    """Yield each label value of a batch and where it stands; None is missing."""
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
    if len(coded.dictionary) > _MOST_LABELS:
        first_labels = coded.dictionary.to_pylist()[:_MOST_LABELS]
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
    # turned over but for the sign: unsigned, they descend
    keys ^= np.iinfo(keys.dtype).max
    return keys


Run = tuple[Array, Array | None]  # sorted keys; counts where these are distinct
Piece = tuple[Array, dict[Hashable, Array]]


class KeyCounter:
    """How many cases of each pile showed each score, when scores come in batches?

    ``add`` takes finite scores, all float32 or all float64; a pile is any name, such as
    a label. ``result`` gives the distinct scores, highest first, and the counts of each
    pile.
    """

    def __init__(self) -> None:
        self._dtype: np.dtype[Any] = np.dtype(np.float64)
        self._pool = ThreadPoolExecutor(threads())
        self._blocks: dict[Hashable, tuple[Array, int]] = {}
        self._runs: dict[Hashable, list[Future[Run]]] = {}

    def close(self) -> None:
        """Stop the sorting threads."""
        self._pool.shutdown(cancel_futures=True)

    def add(self, score: Array, pile: Hashable) -> None:
        """Count these cases onto a pile."""
        self._dtype = score.dtype
        unsigned, signed = _BITS[score.dtype]
        without_negative_zero = score + score.dtype.type(0)
        keys = _descending_keys(without_negative_zero.view(signed)).view(unsigned)

        while keys.size:
            if pile not in self._blocks:
                self._blocks[pile] = np.empty(_BLOCK, dtype=keys.dtype), 0

            block, used = self._blocks[pile]
            part = keys[: block.size - used]
            block[used : used + part.size] = part
            self._blocks[pile] = block, used + part.size

            if used + part.size == block.size:
                self._store(pile)

            keys = keys[part.size :]

    def _store(self, pile: Hashable) -> None:
        """Sort a block in the background; many folded runs become one."""
        block, used = self._blocks.pop(pile)
        runs = self._runs.setdefault(pile, [])
        runs.append(self._pool.submit(_sorted_run, block[:used]))

        if len(runs) % _FOLDED_AT_MOST:
            return

        # a folded run has counts; only these are small enough to be merged on the way
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
        """Return the distinct scores, highest first, and the counts of each pile."""
        for pile in list(self._blocks):
            self._store(pile)

        runs_of_pile = {}
        for pile, runs in self._runs.items():
            runs_of_pile[pile] = [run.result() for run in runs]
        self._runs = {}
        pieces = _merge_ranges(runs_of_pile, self._pool)
        # the runs are as large as the data: gone before the columns grow
        del runs_of_pile

        ends = np.cumsum([0, *(keys.size for keys, _ in pieces)]).tolist()
        score = np.empty(ends[-1])
        columns: dict[Hashable, Ints] = {}
        for _, counts in pieces:
            for pile in counts:
                if pile not in columns:
                    columns[pile] = np.zeros(ends[-1], dtype=np.int64)

        def fill(piece: Piece, start: int, stop: int) -> None:
            """Write a piece into its rows of the columns."""
            keys, counts = piece
            bits = _descending_keys(keys.view(_BITS[self._dtype][1]))
            score[start:stop] = bits.view(self._dtype)
            for pile, count in counts.items():
                columns[pile][start:stop] = count

        # in parallel: most of the time goes into the first touch of new memory
        list(self._pool.map(fill, pieces, ends[:-1], ends[1:]))
        return score, columns


def _sorted_run(block: Array) -> Run:
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
    piles: Mapping[Hashable, list[Run]], pool: ThreadPoolExecutor
) -> list[Piece]:
    """Return the merged runs of all piles, in ranges of about ``_RANGE`` keys."""
    if not piles:
        return []

    # a 64th of the keys of a range from each run: their quantiles divide it evenly
    sample = [keys[:: _RANGE // 64] for runs in piles.values() for keys, _ in runs]
    edges = [None, *np.unique(np.sort(np.concatenate(sample))[64::64]), None]

    def merge_range(ends: tuple[Any, Any]) -> Piece:
        """Return the keys between two ends, with the counts of each pile."""
        low, high = ends
        merged = {
            pile: _merge([_between(run, low, high) for run in runs])
            for pile, runs in piles.items()
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


def _join(piles: Mapping[Hashable, tuple[Array, Array]]) -> Piece:
    """Return the keys of all piles once, with the counts of each pile."""
    keys = np.concatenate([keys_of_pile for keys_of_pile, _ in piles.values()])
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = begins_run(ordered)
    distinct = ordered[is_first]
    # the row of each key among the distinct ones
    row = np.empty(keys.size, dtype=np.int32)
    row[order] = np.cumsum(is_first, dtype=np.int32) - 1

    columns = {}
    start = 0
    for pile, (keys_of_pile, counts) in piles.items():
        stop = start + keys_of_pile.size
        # waiting pieces are as long as the answer: most counts fit into one byte
        narrow_type = np.min_scalar_type(int(counts.max(initial=0)))
        columns[pile] = np.zeros(distinct.size, dtype=narrow_type)
        columns[pile][row[start:stop]] = counts
        start = stop

    return distinct, columns
