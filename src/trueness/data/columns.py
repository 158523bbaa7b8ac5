"""How does a column of any library become a NumPy array, and columns become counts?

One kind of array with one meaning: a missing value is NaN in numbers and None
elsewhere, a Decimal is the nearest float64, text is text. Narwhals is imported when a
frame or a Series arrives: plain arrays need NumPy alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import plain
from trueness._core.imports import required
from trueness._core.progress import stop_if_requested
from trueness.counts.counting import (
    Labels,
    Weights,
    count_panel,
    count_tally,
    read_weights,
)
from trueness.data import cleaning

# frames that Narwhals does not read, and what makes one of them that it does
_FOREIGN = {
    "daft": "frame.to_arrow()",
    "datafusion": "frame.to_arrow_table()",
    "ray": "frame.to_arrow_refs(), or count its blocks with map_batches",
    "vaex": "frame.to_arrow_table()",
}


def is_frame(data: object) -> bool:
    """Is this a frame and not a column? Decided without importing Narwhals."""
    library = type(data).__module__.partition(".")[0]
    if library in _FOREIGN:
        raise InputError(
            f"Frames of {library} are not counted where they are. Count its parts and "
            "add the tallies, or convert it.",
            example=PythonCode(_FOREIGN[library]),
        )
    # asked of the type: naming the columns of a lazy frame can cost a query
    return hasattr(type(data), "columns") or hasattr(type(data), "column_names")


def on_device(x: object) -> bool:
    """Is this an array on a CUDA device? Decided without importing anything."""
    name = type(x).__module__.partition(".")[0]
    return name == "cupy" or (name == "torch" and bool(getattr(x, "is_cuda", False)))


def one_thing(data: object) -> str:
    """Say what was found where labels and scores, or a frame, were needed."""
    name = os.fspath(data) if isinstance(data, (str, os.PathLike)) else ""
    if Path(name).suffix:
        return f"a name, {name!r}. A file is opened as a frame first"
    return f"one {type(data).__name__}"


def column(values: object, what: str) -> Array:
    """Turn a list, an array or a Series of any library into a NumPy array."""
    if isinstance(values, np.ma.MaskedArray):
        found = values.data.astype(object)
        found[np.ma.getmaskarray(values)] = None
        return _columns.one_dimensional(found, what)
    if isinstance(values, np.ndarray):
        return _columns.one_dimensional(values, what)
    if isinstance(values, (list, tuple, range)):
        return _columns.one_dimensional(_from_list(values, what), what)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise InputError(
            f"{what} must be a column of values; found {type(values).__name__}."
        )
    if is_frame(values):
        raise InputError(
            f"{what} must be one column; found a frame.",
            example=PythonCode(
                "frame['name']" + ', or trueness.tally(frame, label="y", score="p")'
            ),
        )
    return _columns.one_dimensional(_from_series(values, what), what)


def _from_list(values: Sequence[Any], what: str) -> Array:
    # mixed lists must not be turned into text: [1, None], ["a", 1]
    kinds = {type(v) for v in values}
    if len(kinds) > 1 and not kinds <= {int, float, bool}:
        mixed = np.empty(len(values), dtype=object)
        mixed[:] = list(values)
        return mixed
    return _columns.as_array(values, what)


def _from_series(values: Any, what: str) -> Array:
    if type(values).__module__.partition(".")[0] == "torch":
        host = values.detach()  # NumPy has no bfloat16, whose values are float32s
        return np.asarray(host.float() if "bfloat16" in str(host.dtype) else host)
    import narwhals.stable.v2 as nw

    try:
        # without its name: Polars takes "^p.*$" for a pattern
        series = nw.from_native(values, series_only=True).alias("values")
    except TypeError:
        return np.asarray(values)
    gaps = bool(series.is_null().any())
    # engines round decimals to floats each in their own way, and hold times in their
    # own units: Python decides
    exact = not (isinstance(series.dtype, nw.Decimal) or series.dtype.is_temporal())
    if exact and not gaps:
        if series.implementation.is_pyarrow() and series.dtype.is_numeric():
            return arrow_numbers(series.to_native())
        return np.asarray(series.to_numpy())
    if exact and series.dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64).fill_null(np.nan).to_numpy())
    return _from_list(series.to_list(), what)


def arrow_numbers(values: Any) -> Array:
    """Return numbers or truth values of Arrow as an array, which may be read-only.

    ``to_numpy`` of Arrow imports pandas wherever that is installed, which takes a
    quarter of a second; by DLPack there is no need for it.
    """
    types = required("pyarrow", "files").types
    if values.null_count or len(values) == 0:
        return np.asarray(values.to_numpy(zero_copy_only=False))
    if types.is_boolean(values.type):  # eight of them are one byte of Arrow
        return arrow_numbers(values.cast("uint8")).astype(bool)
    chunks = getattr(values, "chunks", [values])
    arrays = [np.from_dlpack(chunk) for chunk in chunks]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def several_columns(scores: Any) -> Any:
    """Give a mapping from name to column for a frame, a table or a list of columns.

    The columns of an array and of a list are called C1, C2, ...; anything else is left
    as it is.
    """
    if is_frame(scores):
        import narwhals.stable.v2 as nw

        if hasattr(type(scores), "iloc"):  # pandas allows a name twice, or a number
            _columns.distinct_names(list(map(str, scores.columns)))
            scores = scores.rename(columns=str)
        frame: Any = nw.from_native(scores)
        return {str(k): frame[k].to_native() for k in frame.columns}
    if isinstance(scores, (list, tuple)) and scores and np.ndim(scores[0]) == 1:
        return {f"C{k + 1}": column for k, column in enumerate(scores)}
    if isinstance(scores, Mapping) or len(getattr(scores, "shape", ())) != 2:
        return scores
    if on_device(scores):
        return {f"C{k + 1}": scores[:, k] for k in range(scores.shape[1])}
    return {f"C{k + 1}": x for k, x in enumerate(np.asarray(scores).T)}


def read_label_values(
    values: object, positive: object, what: str, scores: Mapping[str, Array]
) -> Labels | None:
    """Read labels, as many as scores; None where all are unknown."""
    if values is None:
        if positive is not None:
            raise InputError(
                "A positive label needs labels; there are none (all unknown).",
                option="positive",
            )
        return None
    labels = column(values, what)
    _columns.same_length(**{what: labels, **scores})
    return cleaning.read_label_column(labels, positive, what)


def read_scores(
    values: object,
    what: str,
    decimal: str | None,
    cases: Ints | None = None,
    positive: object = None,
) -> Array:
    """Read a column of scores, also one of text: then it is said how it was read.

    Verdicts in words, such as pos and neg, are read as 1 and 0.
    """
    found = column(values, what)
    if not cleaning.has_text(found):
        return found
    if cleaning.holds_verdicts(found, positive):
        return cleaning.read_verdicts(found, positive, what)
    cleaning.ask_for_positive(found, what)
    number, said = cleaning.numbers(found, what, decimal, cases)
    cleaning.tell([said])
    return number


def count_columns(
    kind: str, y_true: object, columns: Mapping[str, Array], words: Mapping[str, Any]
) -> Any:
    """Count columns of scores that were read, all cases or each group's."""
    _columns.same_length(**columns)
    first = next(iter(columns.values()))
    what = words.get("labels", "y_true")  # what a message calls them
    labels = read_label_values(y_true, words["positive"], what, columns)
    count, weights, members = (words[k] for k in ("count", "weight", "cluster"))
    counts = None if count is None else whole_cases(count, first)
    if weights is not None and not isinstance(weights, Weights):  # added by an engine
        weights = read_weights(beside(weights, "weight", first), counts)
    members = None if members is None else beside(members, "cluster", first)
    kept = _cases_of(list(columns.values()), labels, counts, words["missing_scores"])

    def counted(at: Any) -> Any:
        stop_if_requested()
        own = {name: values[at] for name, values in columns.items()}
        some = labels
        if labels is not None and not isinstance(at, slice):
            some = Labels(labels.values, labels.positive, labels.codes()[at])
        given: Any = (counts, weights, members)
        *cases, member = (None if x is None else x[at] for x in given)
        if kind == "panel":
            return count_panel(own, some, *cases, cluster=member)
        ((what, score),) = own.items()
        made = count_tally(score, some, *cases, cluster=member, what=what)
        return made if words["at_most"] is None else made.bin(words["at_most"])

    rows = None if kept is None else np.flatnonzero(kept)
    if words["by"] is None:
        return counted(slice(0, first.size) if rows is None else rows)
    groups = beside(words["by"], "by", first)
    rows = np.arange(first.size) if rows is None else rows
    names, member = _columns.group_members(groups[rows])
    order = np.argsort(member, kind="stable")
    edges = np.cumsum(np.bincount(member, minlength=names.size))[:-1]
    parts = np.split(rows[order], edges) if names.size else []
    return {plain(n): counted(part) for n, part in zip(names, parts, strict=True)}


def _cases_of(
    scores: Sequence[Array], labels: Labels | None, count: Ints | None, missing: str
) -> Array | None:
    """Which rows are cases to be counted? None where all of them are."""
    kept = None
    if labels is not None and labels.code is not None:
        kept = labels.code <= 2  # a total is no case
    if missing == "drop" or (missing == "refuse" and len(scores) > 1):
        gone = np.any([_columns.missing(s) for s in scores], axis=0)
        gone = gone if kept is None else gone & kept
        if missing == "refuse" and gone.any():
            raise InputError(
                f"scores must not be missing; found some in {int(gone.sum()):,} of "
                f"{gone.size:,} rows. These cases can be left out.",
                option="missing_scores",
                example="drop",
            )
        if missing == "drop" and gone.any():
            cleaning.tell([_dropped(gone, labels, count)])
            kept = ~gone if kept is None else kept & ~gone
    return None if kept is None or kept.all() else kept


def _dropped(gone: Array, labels: Labels | None, count: Ints | None) -> str:
    """Say how many cases without a score were left out, by label."""
    cases = np.ones(gone.size, np.int64) if count is None else count
    code = np.full(gone.size, 2) if labels is None else labels.codes()
    each = [int(cases[gone & (code == k)].sum()) for k in (1, 0, 2)]
    lost = f"{sum(each):,} case{'s' if sum(each) > 1 else ''} without a score"
    return (
        f"{lost} {'were' if sum(each) > 1 else 'was'} left out ({each[0]:,} positive, "
        f"{each[1]:,} negative, {each[2]:,} without a label)."
    )


def beside(values: object, name: str, like: Array) -> Array:
    """Read a column with a value for each score."""
    if isinstance(values, str):
        raise InputError(
            f"{name} {values!r} names a column of a frame; with arrays {name} is an "
            "array too.",
            option=name,
        )
    found = column(values, name)
    _columns.same_length(**{name: found, "scores": like})
    return found


def whole_cases(count: object, like: Array) -> Ints:
    """Read how many cases each row stands for."""
    return _columns.whole_counts(beside(count, "count", like), "count")
