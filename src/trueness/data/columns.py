"""How does a column of any library become a NumPy array, and columns become counts?

One kind of array with one meaning: a missing value is NaN in numbers and None
elsewhere, a Decimal is the nearest float64, text is text. Narwhals is imported when a
frame or a Series arrives: plain arrays need NumPy alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import option_named, plain
from trueness._core.data_types import Column, ColumnOrFrame, LabelValue, NamesColumns
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
from trueness.data.count_request import CountRequest

if TYPE_CHECKING:
    from typing_extensions import TypeIs

# frames that Narwhals does not read, and what makes one of them that it does
_FOREIGN = {
    "daft": "frame.to_arrow()",
    "datafusion": "frame.to_arrow_table()",
    "ray": "frame.to_arrow_refs(), or count its blocks with map_batches",
    "vaex": "frame.to_arrow_table()",
}


def is_frame(data: object) -> TypeIs[NamesColumns]:
    """Return whether this is a frame and no column, without importing Narwhals."""
    library = type(data).__module__.partition(".")[0]
    if library in _FOREIGN:
        raise InputError(
            f"Frames of {library} are not read in place. Count parts of it and add "
            "the tallies, or convert it.",
            example=PythonCode(_FOREIGN[library]),
        )

    # asked of the type: naming the columns of a lazy frame can cost a query
    return hasattr(type(data), "columns") or hasattr(type(data), "column_names")


def on_device(x: object) -> bool:
    """Return whether this is an array on a CUDA device, without importing anything."""
    name = type(x).__module__.partition(".")[0]
    return name == "cupy" or (name == "torch" and bool(getattr(x, "is_cuda", False)))


def one_thing(data: object) -> str:
    """Return in words what was found in place of labels and scores, or a frame."""
    name = os.fspath(data) if isinstance(data, (str, os.PathLike)) else ""
    if Path(name).suffix:
        return f"a name, {name!r}. A file is opened as a frame first"
    return f"one {type(data).__name__}"


def column(values: ColumnOrFrame, what: str) -> Array:
    """Return a list, an array or a Series of any library as a NumPy array."""
    if isinstance(values, np.ma.MaskedArray):
        with_gaps = values.data.astype(object)
        with_gaps[np.ma.getmaskarray(values)] = None
        return _columns.one_dimensional(with_gaps, what)

    if isinstance(values, np.ndarray):
        return _columns.one_dimensional(values, what)
    if isinstance(values, (list, tuple, range)):
        return _columns.one_dimensional(_from_list(values, what), what)

    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise InputError(
            f"{what} must be a column of values; found {type(values).__name__}.",
            option=option_named(what),
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
    """Return a list as an array, of objects where its values are of several kinds."""
    # mixed lists must not be turned into text: [1, None], ["a", 1]
    kinds = {type(value) for value in values}
    if len(kinds) > 1 and not kinds <= {int, float, bool}:
        mixed = np.empty(len(values), dtype=object)
        mixed[:] = list(values)
        return mixed

    return _columns.as_array(values, what)


def _from_series(values: Any, what: str) -> Array:
    """Return a tensor, or a Series that Narwhals knows, as an array."""
    if type(values).__module__.partition(".")[0] == "torch":
        host = values.detach()  # NumPy has no bfloat16, whose values are float32s
        return np.asarray(host.float() if "bfloat16" in str(host.dtype) else host)

    import narwhals.stable.v2 as nw

    try:
        # without its name: Polars takes "^p.*$" for a pattern
        series = nw.from_native(values, series_only=True).alias("values")
    except TypeError:
        return np.asarray(values)

    # engines round decimals to floats each in their own way, and hold times in their
    # own units: Python decides
    python_decides = isinstance(series.dtype, nw.Decimal) or series.dtype.is_temporal()
    if python_decides:
        return _from_list(series.to_list(), what)

    has_gaps = bool(series.is_null().any())
    is_number = series.dtype.is_numeric()
    if not has_gaps and is_number and series.implementation.is_pyarrow():
        return arrow_numbers(series.to_native())
    if not has_gaps:
        return np.asarray(series.to_numpy())
    if is_number:
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
    """Return a mapping from name to column for a frame, a table or a list of columns.

    The columns of an array and of a list are called C1, C2, ...; anything else is left
    as it is.
    """
    if is_frame(scores):
        return _columns_of_frame(scores)
    if isinstance(scores, (list, tuple)) and scores and np.ndim(scores[0]) == 1:
        return _with_numbered_names(scores)
    if isinstance(scores, Mapping) or len(getattr(scores, "shape", ())) != 2:
        return scores
    if on_device(scores):
        columns = [scores[:, number] for number in range(scores.shape[1])]
        return _with_numbered_names(columns)
    return _with_numbered_names(np.asarray(scores).T)


def _columns_of_frame(frame: Any) -> dict[str, Any]:
    """Return the columns of a frame as their library has them."""
    import narwhals.stable.v2 as nw

    # pandas allows a name twice, or a number
    if hasattr(type(frame), "iloc"):
        _columns.distinct_names(list(map(str, frame.columns)))
        frame = frame.rename(columns=str)

    opened = nw.from_native(frame)
    return {str(name): opened[name].to_native() for name in opened.columns}


def _with_numbered_names(columns: Iterable[Any]) -> dict[str, Any]:
    return {f"C{number}": column for number, column in enumerate(columns, start=1)}


def read_label_values(
    values: ColumnOrFrame | None,
    positive: LabelValue,
    what: str,
    scores: Mapping[str, Array],
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
    values: Column,
    what: str,
    decimal: str | None,
    cases: Ints | None = None,
    positive: LabelValue = None,
    *,
    indeterminate: float = np.nan,
) -> Array:
    """Read a column of scores, also one of text: then it is said how it was read.

    Verdicts in words, such as pos and neg, are read as 1 and 0, and a result that is
    neither ("equivocal") as ``indeterminate``.
    """
    score = column(values, what)
    if not cleaning.has_text(score):
        return score
    if cleaning.holds_verdicts(score, positive):
        return cleaning.read_verdicts(
            score, positive, what, indeterminate=indeterminate
        )

    cleaning.ask_for_positive(score, what)
    number, sentence = cleaning.numbers_and_remark(score, what, decimal, cases)
    cleaning.tell([sentence])

    return number


def count_columns(
    y_true: ColumnOrFrame | None, columns: Mapping[str, Array], request: CountRequest
) -> Any:
    """Return the counts of columns of scores, of all cases or of each group."""
    _columns.same_length(**columns)
    cases = _read_cases(y_true, columns, request)
    is_counted = _cases_to_count(cases, request.missing_scores)
    rows = None if is_counted is None else np.flatnonzero(is_counted)

    if request.by is None:
        return _count_rows(cases, request, rows)

    groups = column_beside_scores(request.by, "by", cases.first_score)
    if rows is None:
        rows = np.arange(cases.first_score.size)

    names, member = _columns.group_members(groups[rows])
    order = np.argsort(member, kind="stable")
    edges = np.cumsum(np.bincount(member, minlength=names.size))[:-1]
    rows_of_groups = np.split(rows[order], edges) if names.size else []

    return {
        plain(name): _count_rows(cases, request, rows_of_group)
        for name, rows_of_group in zip(names, rows_of_groups, strict=True)
    }


@final
@dataclass(frozen=True)
class _CountedColumns:
    """Columns that were read, a value for each row; None where one was not given."""

    scores: Mapping[str, Array]
    labels: Labels | None
    count: Ints | None
    weight: Weights | None
    cluster: Array | None

    @property
    def first_score(self) -> Array:
        """A column of scores."""
        return next(iter(self.scores.values()))

    def at(self, rows: Ints) -> _CountedColumns:
        """Return some of the rows."""
        labels = self.labels
        if labels is not None:
            labels = Labels(labels.values, labels.positive, labels.codes()[rows])

        return _CountedColumns(
            scores={name: values[rows] for name, values in self.scores.items()},
            labels=labels,
            count=None if self.count is None else self.count[rows],
            weight=None if self.weight is None else self.weight[rows],
            cluster=None if self.cluster is None else self.cluster[rows],
        )


def _read_cases(
    y_true: ColumnOrFrame | None, columns: Mapping[str, Array], request: CountRequest
) -> _CountedColumns:
    """Read labels, counts, weights and clusters, as many as there are scores."""
    first = next(iter(columns.values()))
    labels = read_label_values(y_true, request.positive, request.labels_called, columns)
    count = None

    if request.count is not None:
        count = whole_cases(request.count, first)

    weight = request.weight
    if weight is not None and not isinstance(weight, Weights):
        # an engine has added up the weights of its rows already
        weight = read_weights(column_beside_scores(weight, "weight", first), count)

    cluster = None
    if request.cluster is not None:
        cluster = column_beside_scores(request.cluster, "cluster", first)

    return _CountedColumns(columns, labels, count, weight, cluster)


def _count_rows(
    cases: _CountedColumns, request: CountRequest, rows: Ints | None
) -> Any:
    """Return the tally or the panel of some rows, or of all."""
    stop_if_requested()
    if rows is not None:
        cases = cases.at(rows)

    if request.is_panel:
        return count_panel(
            cases.scores, cases.labels, cases.count, cases.weight, cluster=cases.cluster
        )

    ((score_name, score),) = cases.scores.items()
    tally = count_tally(
        score,
        cases.labels,
        cases.count,
        cases.weight,
        cluster=cases.cluster,
        argument=score_name,
    )

    return tally if request.at_most is None else tally.bin(request.at_most)


def _cases_to_count(cases: _CountedColumns, missing_scores: str) -> Array | None:
    """Return which rows are cases to be counted; None where all of them are."""
    is_counted = None
    if cases.labels is not None and cases.labels.code is not None:
        is_counted = cases.labels.code <= 2  # a total is no case

    # the counting of one score says itself which of them are missing
    looks_for_missing = missing_scores == "drop" or (
        missing_scores == "refuse" and len(cases.scores) > 1
    )
    if looks_for_missing:
        is_missing = np.any(
            [_columns.missing(score) for score in cases.scores.values()], axis=0
        )
        if is_counted is not None:
            is_missing &= is_counted
        if is_missing.any():
            _refuse_or_drop(is_missing, cases, missing_scores)
            is_counted = ~is_missing if is_counted is None else is_counted & ~is_missing

    if is_counted is None or is_counted.all():
        return None
    return is_counted


def _refuse_or_drop(
    is_missing: Array, cases: _CountedColumns, missing_scores: str
) -> None:
    """Raise an error for cases without a score, or say how many are left out."""
    if missing_scores == "refuse":
        raise InputError(
            "scores must not be missing; found missing scores in "
            f"{int(is_missing.sum()):,} of {is_missing.size:,} rows. Complete them, "
            "or leave these cases out.",
            option="missing_scores",
            example="drop",
        )

    cleaning.tell([_remark_on_dropped(is_missing, cases.labels, cases.count)])


def _remark_on_dropped(
    is_missing: Array, labels: Labels | None, count: Ints | None
) -> str:
    """Return a remark on how many cases without a score were left out, by label."""
    cases = np.ones(is_missing.size, np.int64)
    if count is not None:
        cases = count

    unlabelled_code = 2
    code = np.full(is_missing.size, unlabelled_code)
    if labels is not None:
        code = labels.codes()

    negatives = int(cases[is_missing & (code == 0)].sum())
    positives = int(cases[is_missing & (code == 1)].sum())
    unknown = int(cases[is_missing & (code == unlabelled_code)].sum())

    total = positives + negatives + unknown
    subject = f"{total:,} case without a score was"
    if total > 1:
        subject = f"{total:,} cases without a score were"
    return (
        f"{subject} left out ({positives:,} positive, {negatives:,} negative, "
        f"{unknown:,} without a label)."
    )


def column_beside_scores(values: Column, name: str, scores: Array) -> Array:
    """Read a column with a value for each score."""
    if isinstance(values, str):
        raise InputError(
            f"{name} {values!r} names a column of a frame; for arrays {name} must be "
            "an array too.",
            option=name,
        )

    array = column(values, name)
    _columns.same_length(**{name: array, "scores": scores})

    return array


def whole_cases(count: Column, like: Array) -> Ints:
    """Read how many cases each row stands for."""
    return _columns.whole_counts(column_beside_scores(count, "count", like), "count")
