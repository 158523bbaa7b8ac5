"""How is one score column counted batch by batch, as its engine hands over the rows?

A score becomes an integer key as wide as itself, and its label chooses the pile. Full
blocks of keys are sorted, and folded where scores repeat, while the next batch is read;
at the end the sorted runs are merged. Weights are added up as those of arrays are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness._core.arrays import Array, Floats, Ints, begins_run, no_cases, threads
from trueness._core.checks import columns as _columns
from trueness._core.checks.words import plain
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
    """How many rows will go by? For a bar, and only of whole files and tables."""
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
    """Can this lazy frame be read in batches, and is one score column all of it?"""
    batches = (nw.Implementation.DUCKDB, nw.Implementation.POLARS)
    if lazy.implementation not in batches or not wanted.keys() <= set(_ROLES):
        return False
    schema = lazy.collect_schema()
    score, label, weight = (schema.get(wanted.get(k, "")) for k in _ROLES)
    text = (nw.Boolean, nw.String, nw.Categorical, nw.Enum)
    if score is None or not _is_number(score) or score in (nw.Int128, nw.UInt128):
        return False
    if weight is not None and not (score.is_float() and _is_number(weight)):
        return False
    return label is None or isinstance(label, text) or _is_number(label)


def _is_number(dtype: nw.dtypes.DType) -> bool:
    return dtype.is_float() or dtype.is_integer()


def stream(
    lazy: nw.LazyFrame[Any], wanted: Mapping[str, str], positive: object
) -> Tally:
    """Count one score column batch by batch."""
    with closing(KeyCounter()) as counter:
        for value, gone, labels, _ in _batches(lazy, wanted):
            for pile, at in _piles(labels, value.size):
                counter.add(value[at if gone is None else at & ~gone], pile)
        score, piles = counter.result()
    zero = no_cases(score.size)
    unknown = piles.pop(None, zero)
    if "label" not in wanted:
        return tally_of_rows(score, zero, zero, unknown)
    columns = [piles.get(v, zero) for v in _pair(piles, positive, wanted["label"])]
    return tally_of_rows(score, *columns, unknown)


def weigh(
    lazy: nw.LazyFrame[Any], wanted: Mapping[str, str], positive: object
) -> Tally:
    """Add up the weights of one score column of floats, batch by batch."""
    label = wanted.get("label")
    codes: dict[Any, int] = {None: 2}  # of labels, as they come; None is missing
    rows: list[tuple[Array, ...]] = []
    parts: list[tuple[Array, ...]] = []
    ones, most, held = True, 0.0, 0

    def added() -> tuple[Array, ...]:
        return weigh_scores(*(np.concatenate(c) for c in zip(*rows, strict=True)))

    for value, _, labels, given in _batches(lazy, wanted):
        own, least, top = _weights(given, wanted["weight"])
        ones = ones and (least == top == 1 or not own.size)
        most = max(most, top)
        rows.append((value, _coded(labels, value.size, codes), own))
        if len(codes) > 3:  # two labels and None: this says what is wrong
            _pair(codes, positive, label)
        held += value.size
        if held >= _TOGETHER:
            parts.append(added())
            rows, held = [], 0
    _columns.weighable(most)
    parts += [added()] if rows else []
    if not parts:
        return Tally()
    place, *sums = parts[0] if len(parts) == 1 else merge_counts(parts)
    if label is not None:
        negative, chosen = _pair(codes, positive, label)
        if codes.get(chosen) == 0 or codes.get(negative) == 1:  # they came first
            sums = [sums[k] for k in (1, 0, 2, 4, 3, 5)]
    if ones:  # cases of weight one are cases
        sums = [c.astype(np.int64) for c in sums[:3]]
    return tally_of_rows(place, *sums)


def _coded(labels: pa.Array | None, size: int, codes: dict[Any, int]) -> Array:
    """Give the code of each label; labels that were not met before get the next."""
    code = np.zeros(size, dtype=np.uint8)
    for pile, at in _piles(labels, size):
        if at.any():
            own = codes.setdefault(pile, len(codes) - 1)
            # the piles are disjoint: bytes are added, without a mask to assign by
            code += at.view(np.uint8) * np.uint8(own)
    return code


def _weights(values: pa.Array, name: str) -> tuple[Floats, float, float]:
    """Give the weights of a batch, the least and the largest."""
    weight = np.asarray(arrow_numbers(values.cast("float64", safe=False)))
    least, most = float(weight.min(initial=np.inf)), float(weight.max(initial=0.0))
    # of a weight that is not a number, the least is none
    _columns.weighed_rows(name, not values.null_count and least >= 0 and most < np.inf)
    return weight, least, most


def _pair(labels: Iterable[Any], positive: object, label: str | None) -> Any:
    """Which of the labels is negative, and which positive?"""
    known = sorted(
        (v for v in labels if v is not None), key=lambda v: (type(v).__name__, v)
    )
    return _columns.label_pair(known, positive, f"column {label!r}")


def _batches(
    lazy: nw.LazyFrame[Any], wanted: Mapping[str, str]
) -> Iterator[tuple[Array, Array | None, pa.Array | None, pa.Array | None]]:
    """Give scores, where they are not finite, Arrow arrays of labels and of weights."""
    chosen, name = by_role(lazy, wanted), wanted["score"]
    lost = infinite = total = 0
    with progress(f"counting {name}", _known_rows(chosen)) as seen, reading() as heed:
        for batch in _arrow_batches(chosen.to_native()):
            heed()
            there = batch.schema.names
            score, *others = (batch.column(k) if k in there else None for k in _ROLES)
            value, gone = _numbers(score, name)
            total += value.size
            if gone is not None:
                lost += int(gone.sum())
                infinite += int(np.isinf(value[gone]).sum())
            yield value, gone, others[0], others[1]
            seen(value.size)
    if lost:
        raise _columns.not_finite(
            f"score {name!r}",
            f"in {lost:,} of {total:,} cases",
            only_infinite=infinite == lost,
        )


def _arrow_batches(native: Any) -> Iterator[pa.RecordBatch]:
    if hasattr(native, "to_arrow_reader"):
        with native.to_arrow_reader(_BATCH) as reader:
            yield from reader
        return
    for part in native.collect_batches(
        chunk_size=_BATCH, maintain_order=False, engine="streaming"
    ):
        yield from part.to_arrow().to_batches()


def _numbers(values: pa.Array, what: str) -> tuple[Array, Array | None]:
    """Give the scores of a batch and where they are missing or not finite, if any."""
    null = None
    if values.null_count:
        null = arrow_numbers(values.is_null())
        values = values.fill_null(0)
    number = _columns.numeric_scores(arrow_numbers(values), what)
    fine = np.isfinite(number)
    if null is None and fine.all():
        return number, None
    return number, ~fine if null is None else null | ~fine


def _piles(labels: pa.Array | None, size: int) -> Iterator[tuple[Any, Array]]:
    """Give each label value of a batch and where it stands; None is missing."""
    if labels is None:
        yield None, np.ones(size, dtype=bool)
        return
    simple = _whole_pair(labels)
    if simple is not None:
        low, high, is_high = simple
        yield high, is_high
        if low != high:
            yield low, ~is_high
        return
    coded = labels.dictionary_encode()
    code = arrow_numbers(coded.indices.cast("int64").fill_null(-1))
    if len(coded.dictionary) > _MOST_LABELS:
        some = coded.dictionary.to_pylist()[:_MOST_LABELS]
        _columns.label_pair(sorted(some), None, "label")
    for k, value in enumerate([*coded.dictionary.to_pylist(), None]):
        k = -1 if value is None else k
        yield (None if value != value else value), code == k


def _whole_pair(labels: pa.Array) -> tuple[Any, Any, Array] | None:
    """Read a batch of at most two neighbouring whole numbers, none missing."""
    types = required("pyarrow", "files").types
    whole = types.is_integer(labels.type) or types.is_boolean(labels.type)
    if labels.null_count or len(labels) == 0 or not whole:
        return None
    values = arrow_numbers(labels)
    low, high = plain(values.min()), plain(values.max())
    return (low, high, values == high) if high - low <= 1 else None


def _turned(bits: Array) -> Array:
    """Turn all but the sign of positive floats round; twice gives them back.

    The bits of a positive float ascend with it, those of a negative one descend.
    """
    flip = bits >> (8 * bits.itemsize - 1)
    np.invert(flip, out=flip)
    flip &= np.iinfo(bits.dtype).max
    flip ^= bits
    return flip


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
        self._dtype, (unsigned, signed) = score.dtype, _BITS[score.dtype]
        # keys ascend as the scores descend; -0.0 is 0.0
        keys = _turned((score + score.dtype.type(0)).view(signed)).view(unsigned)
        while keys.size:
            new = pile not in self._blocks
            empty = (np.empty(_BLOCK, dtype=keys.dtype), 0) if new else None
            block, used = empty or self._blocks[pile]
            part = keys[: block.size - used]
            block[used : used + part.size] = part
            self._blocks[pile] = block, used + part.size
            if used + part.size == block.size:
                self._store(pile)
            keys = keys[part.size :]

    def _store(self, pile: Hashable) -> None:
        block, used = self._blocks.pop(pile)
        runs = self._runs.setdefault(pile, [])
        runs.append(self._pool.submit(_sorted_run, block[:used]))
        if len(runs) % _FOLDED_AT_MOST == 0:
            folded = [r for r in runs if r.result()[1] is not None]
            if len(folded) > 1:
                whole = [r.result() for r in folded]
                merged: Future[Any] = self._pool.submit(_merge, whole)
                runs[:] = [r for r in runs if r not in folded] + [merged]

    def result(self) -> tuple[Floats, dict[Hashable, Ints]]:
        """Give the distinct scores, highest first, and a column of counts per pile."""
        for pile in list(self._blocks):
            self._store(pile)
        piles = {p: [r.result() for r in runs] for p, runs in self._runs.items()}
        self._runs = {}
        pieces = _merge_ranges(piles, self._pool)
        del piles  # the runs are as large as the data: gone before the columns grow
        ends = np.cumsum([0, *(keys.size for keys, _ in pieces)]).tolist()
        score = np.empty(ends[-1])
        names = {pile for _, found in pieces for pile in found}
        columns = {pile: np.zeros(ends[-1], dtype=np.int64) for pile in names}

        def fill(piece: Piece, first: int, stop: int) -> None:
            keys, found = piece
            bits = _turned(keys.view(_BITS[self._dtype][1]))
            score[first:stop] = bits.view(self._dtype)
            for pile, count in found.items():
                columns[pile][first:stop] = count

        # in parallel: most of the time goes into the first touch of new memory
        list(self._pool.map(fill, pieces, ends[:-1], ends[1:]))
        return score, columns


def _sorted_run(block: Array) -> Run:
    block.sort()
    new = begins_run(block)
    # 4 bytes a count: folding pays when a key stands for two cases or more
    if 2 * int(new.sum()) > block.size:
        return block, None
    start = np.flatnonzero(new)
    return block[start], np.diff(start, append=block.size).astype(np.uint32)


def _merge(runs: Sequence[Run]) -> tuple[Array, Array]:
    """Merge sorted runs into distinct keys and their counts."""
    keys = np.concatenate([own for own, _ in runs])
    if all(counts is None for _, counts in runs):
        keys.sort(kind="stable")  # NumPy's timsort: merges sorted runs in linear time
        start = np.flatnonzero(begins_run(keys))
        return keys[start], np.diff(start, append=keys.size)
    each = [np.ones(own.size) if counts is None else counts for own, counts in runs]
    total = np.concatenate(each, dtype=np.int64, casting="unsafe")
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    start = np.flatnonzero(begins_run(keys))
    return keys[start], np.add.reduceat(total[order], start) if start.size else total


def _merge_ranges(
    piles: Mapping[Hashable, list[Run]], pool: ThreadPoolExecutor
) -> list[Piece]:
    """Merge the runs of all piles, in ranges of about ``_RANGE`` keys."""
    if not piles:
        return []
    every = [keys[:: _RANGE // 64] for runs in piles.values() for keys, _ in runs]
    edges = [None, *np.unique(np.sort(np.concatenate(every))[64::64]), None]

    def between(run: Run, low: Any, high: Any) -> Run:  # low <= key < high
        keys, counts = run
        a = 0 if low is None else int(np.searchsorted(keys, low))
        b = keys.size if high is None else int(np.searchsorted(keys, high))
        return keys[a:b], None if counts is None else counts[a:b]

    def piece(ends: tuple[Any, Any]) -> Piece:
        cut = {p: [between(r, *ends) for r in runs] for p, runs in piles.items()}
        return _join({p: _merge(runs) for p, runs in cut.items()})

    return list(pool.map(piece, pairwise(edges)))


def _join(piles: Mapping[Hashable, tuple[Array, Array]]) -> Piece:
    """Give the keys of all piles once, with the counts of each pile."""
    keys = np.concatenate([own for own, _ in piles.values()])
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = begins_run(ordered)
    distinct = ordered[new]
    row = np.empty(keys.size, dtype=np.int32)
    row[order] = np.cumsum(new, dtype=np.int32) - 1
    columns, at = {}, 0
    for pile, (own, counts) in piles.items():
        # waiting pieces are as long as the answer: most counts fit into one byte
        narrow = np.min_scalar_type(int(counts.max(initial=0)))
        columns[pile] = np.zeros(distinct.size, dtype=narrow)
        columns[pile][row[at : at + own.size]] = counts
        at += own.size
    return distinct, columns
