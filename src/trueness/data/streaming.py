"""How is one score column counted batch by batch, as its engine hands over the rows?

The scores become compact keys (``batches``); for continuous ones that is faster and
smaller than the group-by of ``engines``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from trueness._core.arrays import Array, no_cases
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import plain
from trueness._core.doors import installed
from trueness._core.progress import progress, visible
from trueness.counts.values import Tally, tally_of_rows
from trueness.data.batches import KeyCounter
from trueness.data.engines import by_role, reading

_BATCH = 1 << 18
_MOST_LABELS = 100  # a label column with more values is some other column
# what a plan may hold whose rows are counted without reading them
_PLAIN = {
    "DUCKDB": ("READ_PARQUET", "PARQUET_SCAN", "TABLE_SCAN", "SEQ_SCAN", "ARROW_SCAN"),
    "POLARS": ("PARQUET SCAN", "DF ["),
}
_SELECTS = ("FILTER", "SELECTION", "JOIN", "AGGREGATE", "LIMIT", "SLICE", "DISTINCT")


def known_rows(lazy: Any) -> int | None:
    """How many rows will go by? Asked for a bar, and only where it costs nothing.

    That is a plan which reads whole Parquet files or tables: their number of rows is
    in the metadata. None for every other plan.
    """
    kind = lazy.implementation.name
    if not visible() or kind not in _PLAIN:
        return None
    with reading():
        plan = str(lazy.to_native().explain()).upper()
        if any(word in plan for word in _SELECTS):
            return None
        if not any(word in plan for word in _PLAIN[kind]):
            return None
        import narwhals as nw

        return int(lazy.select(nw.len().alias("rows")).collect()["rows"].to_list()[0])


def can_stream(lazy: Any, wanted: Mapping[str, str]) -> bool:
    """Can this lazy frame be read in batches, and is one score column all of it?"""
    import narwhals as nw

    batches = (nw.Implementation.DUCKDB, nw.Implementation.POLARS)
    if lazy.implementation not in batches or not wanted.keys() <= {"score", "label"}:
        return False
    schema = lazy.collect_schema()
    score, label = schema[wanted["score"]], schema.get(wanted.get("label", ""))
    text = (nw.Boolean, nw.String, nw.Categorical, nw.Enum)
    return (
        bool(_is_number(score))
        and score not in (nw.Int128, nw.UInt128)
        and (label is None or isinstance(label, text) or _is_number(label))
    )


def _is_number(dtype: Any) -> bool:
    return bool(dtype.is_float() or dtype.is_integer())


def stream(opened: Any, wanted: Mapping[str, str], positive: Any) -> Tally:
    """Count one score column batch by batch."""
    score, label = wanted["score"], wanted.get("label")
    opened = by_role(opened, wanted)
    counter: KeyCounter | None = None
    lost = total = 0
    try:
        with progress(f"counting {score}", known_rows(opened)) as seen:
            for values, labels in _batches(opened, label is not None):
                value, gone = _numbers(values, score)
                total += value.size
                lost += 0 if gone is None else int(gone.sum())
                if counter is None:
                    counter = KeyCounter(value.dtype)
                for pile, at in _piles(labels, value.size):
                    counter.add(value[_without(at, gone)], pile)
                seen(value.size)
        if lost:
            raise InputError(_columns.not_finite(score, lost, total))
        return Tally() if counter is None else _stacked(counter, label, positive)
    finally:
        if counter is not None:
            counter.close()


def _batches(chosen: Any, labelled: bool) -> Iterator[tuple[Any, Any]]:
    """Give Arrow arrays of scores and labels."""
    with reading() as stop_if_asked:
        for batch in _arrow_batches(chosen.to_native()):
            stop_if_asked()
            yield batch.column("score"), batch.column("label") if labelled else None


def _arrow_batches(native: Any) -> Iterator[Any]:
    if hasattr(native, "to_arrow_reader"):
        with native.to_arrow_reader(_BATCH) as reader:
            yield from reader
        return
    for part in native.collect_batches(
        chunk_size=_BATCH, maintain_order=False, engine="streaming"
    ):
        yield from part.to_arrow().to_batches()


def _numbers(values: Any, what: str) -> tuple[Array, Array | None]:
    """Give the scores of a batch and where they are missing or not finite, if any."""
    null = None
    if values.null_count:
        null = values.is_null().to_numpy(zero_copy_only=False)
        values = values.fill_null(0)
    number = _columns.numeric_scores(values.to_numpy(zero_copy_only=False), what)
    fine = np.isfinite(number)
    if null is None and fine.all():
        return number, None
    return number, ~fine if null is None else null | ~fine


def _without(at: Array, gone: Array | None) -> Array:
    return at if gone is None else at & ~gone


def _piles(labels: Any, size: int) -> Iterator[tuple[Any, Array]]:
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
    code = coded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    _too_many(coded.dictionary)
    for k, value in enumerate([*coded.dictionary.to_pylist(), None]):
        k = -1 if value is None else k
        yield (None if value != value else value), code == k


def _too_many(values: Any) -> None:
    if len(values) > _MOST_LABELS:
        _columns.label_pair(sorted(values.to_pylist()[:_MOST_LABELS]), None, "label")


def _whole_pair(labels: Any) -> tuple[Any, Any, Array] | None:
    """Read a batch of at most two neighbouring whole numbers, none missing."""
    pa = installed("pyarrow", "files")

    whole = pa.types.is_integer(labels.type) or pa.types.is_boolean(labels.type)
    if labels.null_count or len(labels) == 0 or not whole:
        return None
    values = labels.to_numpy(zero_copy_only=False)
    low, high = plain(values.min()), plain(values.max())
    return (low, high, values == high) if high - low <= 1 else None


def _stacked(counter: KeyCounter, label: str | None, positive: Any) -> Tally:
    """Decide which pile is positive, and stack the piles to a tally."""
    score, piles = counter.result()
    zero = no_cases(score.size)
    unknown = piles.pop(None, zero)
    if label is None:
        return tally_of_rows(score, zero, zero, unknown)
    found = sorted(piles, key=lambda v: (type(v).__name__, v))
    negative, chosen = _columns.label_pair(found, positive, label)
    columns = [piles.get(v, zero) for v in (negative, chosen)]
    return tally_of_rows(score, *columns, unknown)
