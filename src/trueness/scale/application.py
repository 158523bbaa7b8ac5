"""How does a fitted map become a column, where the rows are?

The formula of a calibrator is written as an expression of the engine; other maps are a
join with the distinct outputs and their new score. Python never sees a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import listing
from trueness._core.imports import lazy_import
from trueness.calibration.maps import Formula, Map
from trueness.data.columns import column as read_column
from trueness.data.columns import is_frame
from trueness.data.engine_bins import chosen_by, either
from trueness.data.engines import (
    collect,
    in_turn,
    open_frame,
    quoted,
    rename_columns,
)

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy_import("narwhals.stable.v2", "cli")  # imported when a frame arrives

# the most steps or points of an expression; with more, a join is faster (Spark takes
# minutes to compile hundreds of them)
_LONGEST_EXPRESSION = 64
# rows of such a table that a query may hold as text
_MOST_ROWS_AS_TEXT = 1000
# stands for a missing output in a join: null equals nothing
_MISSING = -1.7976931348623157e308


@in_turn
def apply(
    data: Any, map: Map, score: str | None = None, *, name: str | None = None
) -> Any:
    """Scores of all rows of a frame, by a fitted map.

    What does each row score, after calibration or combination?

    Parameters
    ----------
    data
        Any frame, eager or lazy.
    map
        A fitted map of one score (:func:`calibrate`), or of several: a combiner, which
        stores the names of its columns.
    score
        The score column, for a map of one score.
    name
        The name of the new column; by default ``"<column>_calibrated"`` or
        ``"combined"``.

    Notes
    -----
    A lazy frame stays lazy. A missing score stays missing (NaN or null, depending on
    the engine). Where a join is needed the engine may change the order of the rows.

    Examples
    --------
    >>> import polars as pl, trueness
    >>> t = trueness.Tally([1, 2], neg=[3, 1], pos=[1, 3])
    >>> isotonic = trueness.calibrate(t, method="isotonic")
    >>> rows = pl.LazyFrame({"s": [2.0, 1.0]})
    >>> apply(rows, isotonic, "s", name="p").collect()["p"].to_list()
    [0.75, 0.25]
    """
    _check_kinds(data, map)
    frame = open_frame(data)
    names = frame.collect_schema().names()
    inputs = _inputs(map, score, names)
    default_name = "combined" if score is None else f"{inputs[0]}_calibrated"
    new_name = name or default_name
    if new_name in names:
        raise InputError(
            f"The frame has a column {new_name!r} already; choose another name for the "
            "new one.",
            option="name",
        )

    if frame.implementation.is_dask():
        # each block is a frame of pandas
        return data.map_partitions(partial(apply, map=map, score=score, name=new_name))

    if isinstance(frame, nw.LazyFrame):
        return _with_new_scores(frame, map, inputs, new_name).to_native()

    values = _evaluate(map, [read_column(frame[column], column) for column in inputs])
    series = nw.new_series(new_name, values, nw.Float64, backend=frame.implementation)
    return frame.with_columns(series).to_native()


def _check_kinds(data: object, map: object) -> None:
    """Raise an error unless the map is a fitted map and the data are a frame."""
    if not isinstance(map, Map):
        raise InputError(
            "apply needs a fitted map, of a calibrator or a combiner; found "
            f"{type(map).__name__}.",
            example=PythonCode('trueness.apply(frame, map, score="p")'),
        )
    if not is_frame(data):
        raise InputError(
            f"apply needs a frame; found {type(data).__name__}. A map itself takes "
            "arrays, and a tally takes the map.",
            example=PythonCode("map(scores), or tally.map(map)"),
        )


def _with_new_scores(
    frame: nw.LazyFrame[Any], map: Map, inputs: Sequence[str], new_name: str
) -> nw.LazyFrame[Any]:
    """Return a lazy frame with the new column: as an expression, or by a join."""
    if map.reads_names:
        raise InputError(
            "A map of leaves looks names up in memory; found a lazy frame. Collect "
            "the frame first.",
            option="data",
        )

    # numbered columns, as an engine may read a name as an expression
    names = frame.collect_schema().names()
    numbered = [f"column_{k}" for k in range(len(names))]
    rows = rename_columns(frame, numbered)
    inputs = [numbered[names.index(column)] for column in inputs]
    formula = map.expression if inputs_of(map) is None else None
    if formula is not None and formula_length(formula) <= _LONGEST_EXPRESSION:
        rows = rows.with_columns(_expression(formula, inputs[0]).alias("new"))
    else:
        rows = _join_new_scores(rows, map, inputs, "new").select([*numbered, "new"])

    return rename_columns(rows, [*names, new_name])


def _expression(formula: Formula, column: str) -> nw.Expr:
    """Return a formula of a column as an expression of its engine."""
    score = nw.col(column).cast(nw.Float64)
    is_missing = score.is_null() | score.is_nan()
    value = write_formula(
        formula, score, _literal, lambda word, x: getattr(x, word)(), either
    )
    return nw.when(~is_missing).then(value)


def inputs_of(map: Map) -> Sequence[str] | None:
    """Return the columns that a map of several scores reads; None for a map of one."""
    # a map of one score has an expression; its names, if any, mean something else
    if type(map).expression is not Map.expression:
        return None
    return getattr(map, "names", None)


def _inputs(map: Map, score: str | None, names: Sequence[str]) -> list[str]:
    """Return the columns that the map reads, each of which the frame must have."""
    several = inputs_of(map)
    if score is not None and several is not None:
        raise InputError(
            f"{type(map).__name__} reads the columns {listing(several)}; leave score "
            "out.",
            option="score",
        )

    if several is None and score is None:
        raise InputError(
            "Which column holds the scores?",
            option="score",
            choices=names,
        )

    wanted = [score] if several is None else several
    return [_columns.column(str(column), names, "score") for column in wanted]


def _evaluate(map: Map, columns: Sequence[Array]) -> Floats:
    """Return the value of a map in each row of these columns."""
    if map.reads_names:
        return np.asarray(map(columns[0]))

    scores = [
        _columns.numeric_scores(column, "score").astype(np.float64)
        for column in columns
    ]

    if inputs_of(map) is None:
        return np.asarray(map(scores[0]))
    return np.asarray(map(np.column_stack(scores)))


def formula_length(formula: Formula) -> int:
    """Return the number of pieces of a formula: steps, and entries of its tables."""
    length = 0
    for step in formula:
        is_table = step[0] in ("table", "lines")
        length += step[1].size if is_table else 1
    return length


def _literal(value: float) -> Any:
    """Return a number as an expression of Narwhals."""
    return nw.lit(float(value), nw.Float64)


_TERMS: dict[str, Callable[[Any, Any, Callable[[Any], Any]], Any]] = {
    "identity": lambda s, one, log: s,
    "square": lambda s, one, log: s * s,
    "log": lambda s, one, log: log(s),
    "log1m": lambda s, one, log: log(one - s),
    "logit": lambda s, one, log: log(s) - log(one - s),
}


def write_formula(
    formula: Formula,
    score: Any,
    number: Callable[[float], Any],
    function: Callable[[str, Any], Any],
    choice: Callable[[Any, float, Any, Any], Any],
) -> Any:
    """Return a formula as an expression of the score, made by a library's functions.

    ``number`` makes a constant and ``function`` a log, exp or abs. ``choice(x, edge,
    below, above)`` is one of two expressions, by whether x is below the edge.
    """
    one = number(1.0)

    for step in formula:
        match step:
            case ("logistic", intercept, terms, low, high):
                if np.isfinite(low):
                    score = choice(score, low, number(low), score)
                if np.isfinite(high):
                    score = choice(score, high, score, number(high))
                log_odds = number(intercept)
                for coefficient, name in terms:
                    term = _TERMS[name](score, one, partial(function, "log"))
                    log_odds = log_odds + term * float(coefficient)
                # exp of minus the size never overflows
                small = function("exp", function("abs", log_odds) * -1.0)
                score = choice(log_odds, 0.0, small, one) / (small + 1.0)
            case ("table", edges, values):
                score = chosen_by(score, edges, [number(v) for v in values], choice)
            case ("lines", x, y):
                pieces = [number(y[0]), *_lines(score, x, y), number(y[-1])]
                score = chosen_by(score, x, pieces, choice)
            case (_, pos, neg):
                score = score * pos / (score * pos + (one - score) * neg)

    return score


def _lines(score: Any, x: Floats, y: Floats) -> list[Any]:
    """Return the expression of the straight line from each point to the next."""
    slopes = np.diff(y) / np.diff(x)
    return [
        (score - float(start)) * float(slope) + float(height)
        for start, slope, height in zip(x[:-1], slopes, y[:-1], strict=True)
    ]


def _join_new_scores(
    rows: nw.LazyFrame[Any], map: Map, inputs: Sequence[str], new_name: str
) -> nw.LazyFrame[Any]:
    """Return the rows joined with the new score of each distinct output."""
    keys = [f"_trueness_{k}" for k in range(len(inputs))]
    keyed = rows.with_columns(
        _key(column).alias(key) for column, key in zip(inputs, keys, strict=True)
    )
    # not unique(), which is a window function that some engines lack
    distinct = collect(keyed.group_by(keys).agg(nw.len().alias("_trueness_rows")))
    columns = {
        key: np.asarray(read_column(distinct[key], key), dtype=np.float64)
        for key in keys
    }
    outputs = [
        np.where(column == _MISSING, np.nan, column) for column in columns.values()
    ]
    table = columns | {new_name: _evaluate(map, outputs)}

    return keyed.join(_table(rows, table), on=keys, how="left").drop(keys)


def _key(column: str) -> nw.Expr:
    """Return the key of an output in a join: equal exactly for equal outputs."""
    value = nw.col(column).cast(nw.Float64)
    is_missing = value.is_null() | value.is_nan()
    # plus zero: -0.0 becomes 0.0
    return nw.when(is_missing).then(_literal(_MISSING)).otherwise(value + 0.0)


def _table(lazy: nw.LazyFrame[Any], columns: dict[str, Floats]) -> Any:
    """Return a small table as a frame of the engine of a lazy frame."""
    import pyarrow as pa

    native = lazy.to_native()
    table = pa.table(columns)
    kind = lazy.implementation
    if kind is nw.Implementation.POLARS:
        return nw.from_dict(columns, backend="polars").lazy()

    if kind is nw.Implementation.DUCKDB:
        # written out: a table of another connection cannot be joined
        lists = ", ".join(
            f"unnest({values.astype(str).tolist()}::DOUBLE[]) AS {quoted(name)}"
            for name, values in columns.items()
        )
        return nw.from_native(native.query("_trueness_rows", f"SELECT {lists}"))

    if kind is nw.Implementation.IBIS:
        import ibis

        return nw.from_native(ibis.memtable(table))

    # SQLFrame writes the table into the query
    if kind.is_sqlframe() and len(table) <= _MOST_ROWS_AS_TEXT:
        return nw.from_native(native.session.createDataFrame(table.to_pandas()))
    if hasattr(type(native), "sparkSession"):
        return nw.from_native(native.sparkSession.createDataFrame(table))

    raise InputError(
        f"A map with {len(table):,} steps is too long for {kind.name.title()}. "
        f"Collect the frame first, or use a map with fewer than {_LONGEST_EXPRESSION} "
        "steps."
    )
