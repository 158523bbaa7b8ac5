"""How is one score column counted batch by batch, as its engine hands over the rows?

The scores become compact keys (``batches``); for continuous ones that is faster and
smaller than the group-by of ``engines``. Weights are kept beside their scores, some
millions at a time, and added up as those of arrays are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats, no_cases
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import plain
from trueness._core.imports import required
from trueness._core.progress import progress, visible
from trueness.counts.sorting import merge_counts, weigh_scores
from trueness.counts.values import Tally, tally_of_rows
from trueness.data.batches import KeyCounter
from trueness.data.engines import by_role, reading

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
    if lazy.implementation not in batches or not wanted.keys() <= set(_ROLES):
        return False
    schema = lazy.collect_schema()
    score, label, weight = (schema.get(wanted.get(k, "")) for k in _ROLES)
    text = (nw.Boolean, nw.String, nw.Categorical, nw.Enum)
    if weight is not None and not (score.is_float() and _is_number(weight)):
        return False
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
            for values, labels, _ in _batches(opened):
                value, gone = _numbers(values, score)
                total += value.size
                lost += 0 if gone is None else int(gone.sum())
                if counter is None:
                    counter = KeyCounter(value.dtype)
                for pile, at in _piles(labels, value.size):
                    counter.add(value[at if gone is None else at & ~gone], pile)
                seen(value.size)
        if lost:
            raise InputError(_columns.not_finite(f"score={score!r}", lost, total))
        return Tally() if counter is None else _stacked(counter, label, positive)
    finally:
        if counter is not None:
            counter.close()


def weigh(opened: Any, wanted: Mapping[str, str], positive: Any) -> Tally:
    """Add up the weights of one score column of floats, batch by batch."""
    score, label, weight = (wanted.get(k) for k in _ROLES)
    opened = by_role(opened, wanted)
    codes: dict[Any, int] = {None: 2}  # of labels, as they come; None is missing
    rows: list[tuple[Array, ...]] = []
    parts: list[tuple[Array, ...]] = []
    lost = total = held = 0
    ones, most = True, 0.0
    with progress(f"counting {score}", known_rows(opened)) as seen:
        for values, labels, given in _batches(opened):
            value, gone = _numbers(values, str(score))
            total += value.size
            lost += 0 if gone is None else int(gone.sum())
            own, least, top = _weights(given, str(weight))
            ones = ones and (least == top == 1 or not own.size)
            most = max(most, top)
            rows.append((value, _coded(labels, value.size, codes), own))
            if len(codes) > 3:  # two labels and None: this says what is wrong
                _pair(codes, positive, label)
            held += value.size
            if held >= _TOGETHER:
                parts, rows, held = [*parts, _added(rows)], [], 0
            seen(value.size)
    if lost:
        raise InputError(_columns.not_finite(f"score={score!r}", lost, total))
    _columns.weighable(most)
    parts += [_added(rows)] if rows else []
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


def _coded(labels: Any, size: int, codes: dict[Any, int]) -> Array:
    """Give the code of each label; labels that were not met before get the next."""
    code = np.zeros(size, dtype=np.uint8)
    for pile, at in _piles(labels, size):
        if at.any():
            own = codes.setdefault(pile, len(codes) - 1)
            # the piles are disjoint: bytes are added, without a mask to assign by
            code += at.view(np.uint8) * np.uint8(own)
    return code


def _weights(values: Any, name: str) -> tuple[Floats, float, float]:
    """Give the weights of a batch, the least and the largest."""
    weight = np.asarray(
        values.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    )
    least, most = float(weight.min(initial=np.inf)), float(weight.max(initial=0.0))
    # of a weight that is not a number, the least is none
    _columns.weighed_rows(name, not values.null_count and least >= 0 and most < np.inf)
    return weight, least, most


def _added(rows: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    score, code, weight = (np.concatenate(c) for c in zip(*rows, strict=True))
    return weigh_scores(score, code, weight)


def _pair(labels: Iterable[Any], positive: Any, label: str | None) -> Any:
    """Which of the labels is negative, and which positive?"""
    known = sorted(
        (v for v in labels if v is not None), key=lambda v: (type(v).__name__, v)
    )
    return _columns.label_pair(known, positive, str(label))


def _batches(chosen: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Give Arrow arrays of scores, of labels and of weights, or None."""
    with reading() as stop_if_asked:
        for batch in _arrow_batches(chosen.to_native()):
            stop_if_asked()
            there = batch.schema.names
            score, *rest = (batch.column(k) if k in there else None for k in _ROLES)
            yield score, rest[0], rest[1]


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
    if len(coded.dictionary) > _MOST_LABELS:
        some = coded.dictionary.to_pylist()[:_MOST_LABELS]
        _columns.label_pair(sorted(some), None, "label")
    for k, value in enumerate([*coded.dictionary.to_pylist(), None]):
        k = -1 if value is None else k
        yield (None if value != value else value), code == k


def _whole_pair(labels: Any) -> tuple[Any, Any, Array] | None:
    """Read a batch of at most two neighbouring whole numbers, none missing."""
    pa = required("pyarrow", "files")

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
    columns = [piles.get(v, zero) for v in _pair(piles, positive, label)]
    return tally_of_rows(score, *columns, unknown)
