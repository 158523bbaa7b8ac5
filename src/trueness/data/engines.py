"""How are rows counted where they are, so that only counts travel?

A lazy frame is aggregated by its own engine: one group-by over the columns that matter.
That is *pre-aggregation*: the engine may keep -0.0 apart from 0.0 or NaN from null, for
the meaning is given afterwards, in NumPy, by the lines that read an eager frame.
"""

from __future__ import annotations

import atexit
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from functools import wraps
from types import FrameType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast
from weakref import WeakSet

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, is_one, plain
from trueness._core.data_types import Frame
from trueness._core.imports import is_of_library, lazy_import
from trueness._core.progress import progress, stop_if_requested
from trueness.counts.counting import Weights
from trueness.data.columns import column, is_frame

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from typing_extensions import TypeIs
else:
    nw = lazy_import("narwhals.stable.v2", "cli")  # imported when a frame arrives

P = ParamSpec("P")
T = TypeVar("T")
_ENGINES = {"_duckdb", "duckdb", "ibis", "polars", "py4j", "pyarrow", "pyspark"}
# the connections that Trueness opened and somebody still uses: a relation keeps its
# own alive, and the last one to let go closes it. Ctrl-C interrupts what they do
CONNECTIONS: WeakSet[Any] = WeakSet()
atexit.register(CONNECTIONS.clear)  # none is left behind when Python ends
_ONE_AT_A_TIME = threading.RLock()
# rows of counts that an engine elsewhere may send: one per distinct score and label
MAX_ROWS_SENT = 5_000_000


def in_turn(count: Callable[P, T]) -> Callable[P, T]:
    """Return a function that reads relations of DuckDB in one thread at a time.

    DuckDB refuses a second thread on one connection, and a relation does not say which
    is its own. Little is lost: DuckDB uses all cores for one question.
    """

    @wraps(count)
    def wait_then_count(*args: P.args, **kwargs: P.kwargs) -> T:
        frame = args[0] if args else None
        is_relation = is_of_library(frame, "duckdb", "DuckDBPyRelation")
        with _ONE_AT_A_TIME if is_relation else nullcontext():
            return count(*args, **kwargs)

    return wait_then_count


def open_frame(frame: Frame) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """Return the Narwhals frame, eager or lazy, with names that differ."""
    if not is_frame(frame):
        raise InputError(
            "A frame is needed (pandas, Polars, Arrow, DuckDB, Spark or another that "
            f"Narwhals reads); found {described(frame)}.",
            example=PythonCode('trueness.scan("cases.parquet")'),
        )

    names = column_names(frame)
    for name in {n for n in names if names.count(n) > 1}:
        _columns.column(name, names, "frame column")

    opened: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(cast("Any", frame))
    return opened


def with_text_names(
    frame: Frame, roles: Mapping[str, object]
) -> tuple[Frame, dict[str, Any]]:
    """Return a frame and its roles with text for column names that are none.

    pandas names columns by numbers, or by tuples where a header has several lines.
    """
    # a Series of pandas has no columns
    pandas: Any = frame if hasattr(type(frame), "iloc") else None
    names = list(getattr(pandas, "columns", ()))
    if all(isinstance(name, str) for name in names):
        return frame, dict(roles)

    no_text = {name for name in names if isinstance(name, (int, float, tuple))}
    text_roles: dict[str, Any] = {}
    for role, name in roles.items():
        text_roles[role] = name
        if is_one(name) and name in no_text:
            text_roles[role] = _text_name(name)

    renamed = pandas.copy(deep=False)
    renamed.columns = [_text_name(name) for name in names]
    return renamed, text_roles


def _text_name(name: object) -> str:
    """Write the name of a column of pandas; the lines of a header are its words.

    pandas writes an empty cell of a header as "Unnamed: 0_level_1".
    """
    if not isinstance(name, tuple):
        return str(name)
    lines = [str(line) for line in name]
    return " ".join(
        line for line in lines if line and not line.startswith("Unnamed: ")
    ) or str(lines[0])


def column_names(frame: Frame) -> list[str]:
    """Return the names of the columns of a frame or a mapping."""
    if isinstance(frame, Mapping):
        return list(map(str, frame))

    try:
        return list(nw.from_native(cast("Any", frame)).collect_schema().names())
    except (TypeError, ValueError):  # Narwhals refuses duplicate names
        # the columns of an Arrow table are arrays, beside their names
        native = getattr(frame, "column_names", getattr(frame, "columns", ()))
        return [str(column) for column in native]


def is_lazy(opened: object) -> TypeIs[nw.LazyFrame[Any]]:
    """Return whether this Narwhals frame is a plan of an engine, not rows in memory."""
    return isinstance(opened, nw.LazyFrame)


def columns_of_roles(
    lazy: nw.LazyFrame[Any], roles: Mapping[str, object]
) -> dict[str, str]:
    """Return the column of each role; raise an error before the engine runs.

    A role is score or scores[0], scores[1], ...; label, by, node, count.
    """
    roles_in_use = {role: name for role, name in roles.items() if name is not None}
    for role, name in roles_in_use.items():
        if not isinstance(name, str):
            raise InputError(
                f"{role} must name a column of a lazy frame; found "
                f"{type(name).__name__}. Add it to the data first.",
                option=role,
            )

    column_of_role = _existing_columns(roles_in_use, column_names(lazy))
    schema = lazy.collect_schema()

    for role, name in column_of_role.items():
        if (content := unread_content(schema[name])) is not None:
            raise InputError(
                f"{role} {name!r} must hold one value per row; this column holds "
                f"{content}. Extract the part that you mean into a column of its own "
                "first.",
                option=role,
            )

        if role in ("count", "weight") and schema[name] == nw.String:
            raise InputError(
                f"{role} {name!r} must be numbers; this column is text. Convert it to "
                "numbers first.",
                option=role,
            )

    return column_of_role


def unread_content(kind: Any) -> str | None:
    """Return what a column of an engine holds that is never read, or None.

    A file of some hundred bytes may hold gigabytes of these.
    """
    if kind.is_nested():
        return "lists or objects with parts"
    if kind == nw.Binary:
        return "bytes"
    return None


def unread_columns(data: Frame) -> dict[str, str]:
    """Return the columns of a lazy frame that are never read, with what they hold."""
    if isinstance(data, Mapping):
        return {}

    opened = open_frame(data)
    if not is_lazy(opened):
        return {}

    contents = {
        column: unread_content(k) for column, k in opened.collect_schema().items()
    }
    return {
        column: content for column, content in contents.items() if content is not None
    }


def _existing_columns(
    roles: Mapping[str, object], names: Sequence[str]
) -> dict[str, str]:
    """Return the columns that roles name; raise an error for one that is missing."""
    return {
        role: _columns.column(name, names, role.split("[")[0])
        for role, name in roles.items()
        if isinstance(name, str)
    }


def quoted(name: str) -> str:
    """Write a name as an identifier of SQL, whatever it contains."""
    return '"' + name.replace('"', '""') + '"'


def text_in_sql(text: str) -> str:
    """Write text as a value of SQL, whatever it contains."""
    return "'" + text.replace("'", "''") + "'"


def rename_columns(lazy: nw.LazyFrame[Any], names: Sequence[str]) -> nw.LazyFrame[Any]:
    """Return a lazy frame whose columns have other names, in their order."""
    # not by expressions: there ``*`` is every column, ``^a.*$`` a pattern, ``a.b`` a
    # field of a structure
    native = lazy.to_native()
    engine = lazy.implementation
    new_names = dict(zip(lazy.collect_schema().names(), names, strict=True))

    if engine is nw.Implementation.DUCKDB:
        columns = [f"{quoted(old)} AS {quoted(new)}" for old, new in new_names.items()]
        native = native.select(", ".join(columns))
    elif hasattr(native, "toDF"):  # Spark, which would read dots and backticks
        native = native.toDF(*names)
    elif engine is nw.Implementation.IBIS:
        native = native.select(**{new: native[old] for old, new in new_names.items()})
    else:
        return lazy.rename(new_names)

    renamed: nw.LazyFrame[Any] = nw.from_native(native)
    return renamed


def select_by_role(
    lazy: nw.LazyFrame[Any], column_of_role: Mapping[str, str]
) -> nw.LazyFrame[Any]:
    """Return the columns of these roles, named by them; scores[0] is scores_0."""
    names = lazy.collect_schema().names()
    # by number, since engines take names such as "P" and "p" for one
    numbered = rename_columns(lazy, [f"column_{place}" for place in range(len(names))])
    return numbered.select(
        nw.col(f"column_{names.index(name)}").alias(_as_key(role))
        for role, name in column_of_role.items()
    )


def _as_key(role: str) -> str:
    """Return a role as a column name that no engine misunderstands."""
    return role.replace("[", "_").replace("]", "")


def read(
    data: Frame, roles: Mapping[str, object], *, complete: bool = True
) -> dict[str, Any]:
    """Return a column for each role; of a lazy frame its distinct rows and ``count``.

    Arrays pass through. ``complete`` stops at scores that are missing.
    """
    columns = {role: name for role, name in roles.items() if name is not None}
    if isinstance(data, Mapping):
        for role, name in columns.items():
            if isinstance(name, str):
                columns[role] = data[_columns.there(name, data, role)]
        return columns

    opened = open_frame(data)
    if isinstance(opened, nw.LazyFrame):
        return _count_rows(opened, columns_of_roles(opened, columns), complete)

    for role, name in _existing_columns(columns, opened.columns).items():
        columns[role] = opened.get_column(name)

    return columns


def columns_of(
    data: Frame, names: Sequence[str] | None = None, max_rows: int | None = None
) -> dict[str, Array]:
    """Read some columns, or all, of a frame or a mapping; ``max_rows`` of the rows."""
    opened: Any
    if isinstance(data, Mapping):
        opened = {str(name): values for name, values in data.items()}
    else:
        opened = open_frame(data)

    existing = column_names(opened)
    if names is None:
        names = existing
    requested = [_columns.there(name, existing) for name in dict.fromkeys(names)]

    if is_lazy(opened):
        return _columns_of_lazy(opened, requested, max_rows)
    return {name: column(opened[name], name)[:max_rows] for name in requested}


def _columns_of_lazy(
    lazy: Any, names: Sequence[str], max_rows: int | None
) -> dict[str, Array]:
    """Return columns that an engine sends, at most ``max_rows`` of their rows."""
    # by number: a name may mean all columns, or a pattern, to an engine
    name_of_key = {f"c{number}": name for number, name in enumerate(names)}
    rows = select_by_role(lazy, name_of_key)
    if max_rows is not None:
        rows = rows.head(max_rows)

    sent = collect(rows)
    return {name: column(sent[key], name) for key, name in name_of_key.items()}


def _count_rows(
    lazy: nw.LazyFrame[Any], column_of_role: dict[str, str], complete: bool
) -> dict[str, Any]:
    """Return the distinct rows of a lazy frame and their counts, by one group-by."""
    keys = [role for role in column_of_role if role != "weight"]
    counts = _collect_counts(lazy, column_of_role, keys)
    columns: dict[str, Any] = {role: counts[_as_key(role)] for role in keys}

    # a row of the group-by stands for rows of the frame, these for cases
    rows: Ints = column(counts["cases"], "cases").astype(np.int64)
    cases_of_row = np.ones_like(rows)
    if "count" in columns:
        cases_of_row = _columns.whole_counts(column(columns["count"], "count"), "count")
    if (cases_of_row.astype(np.float64) * rows >= 2.0**63).any():
        raise InputError(
            "count is too large: the cases do not fit into 64 bits.", option="count"
        )

    cases = rows * cases_of_row
    columns["count"] = cases
    if "weight" in column_of_role:
        columns["weight"] = weights_of(counts, column_of_role["weight"], cases_of_row)

    schema = lazy.collect_schema()
    for role, name in column_of_role.items():
        is_text = schema[name] == nw.String
        if role.startswith("score") and not is_text:
            allow_nan = role != "score" or not complete
            columns[role] = _scores(columns[role], f"score {name!r}", cases, allow_nan)

        # of several columns of groups each has a number: by[0], by[1]
        argument, _, _ = role.partition("[")
        if argument in ("by", "cluster"):
            _columns.named_groups(column(columns[role], name), cases, argument)

    return columns


def _collect_counts(
    lazy: nw.LazyFrame[Any], column_of_role: Mapping[str, str], keys: Sequence[str]
) -> nw.DataFrame[Any]:
    """Return the number of equal rows and their weights, counted by the engine."""
    rows = select_by_role(lazy, column_of_role)
    # engines send whole numbers of 128 bits as floats
    wide_types = (nw.Int128, nw.UInt128)
    wide = [name for name, kind in rows.collect_schema().items() if kind in wide_types]
    if wide:
        rows = rows.with_columns(nw.col(name).cast(nw.String) for name in wide)

    sums = [nw.len().alias("cases")]
    if "weight" in column_of_role:
        rows = with_squared_weights(rows)
        sums += weight_sums()

    counts = rows.group_by(map(_as_key, keys)).agg(*sums)

    in_this_process = lazy.implementation.name in ("DUCKDB", "POLARS")
    if in_this_process:
        return collect(counts)

    sent = collect(counts.head(MAX_ROWS_SENT + 1))
    if len(sent) > MAX_ROWS_SENT:
        raise _too_many_rows(
            can_bin="score" in column_of_role and "cluster" not in column_of_role
        )
    return sent


def _too_many_rows(*, can_bin: bool) -> InputError:
    """Return the error of counts that are too many to be sent here."""
    remedy = "Round the scores, or use fewer rows."
    if can_bin:
        remedy = (
            "Count bins of scores instead; every answer then has bounds on the exact "
            "value."
        )

    return InputError(
        f"These data have more than {MAX_ROWS_SENT:,} distinct scores, which would all "
        f"be sent here. {remedy}",
        option="at_most" if can_bin else None,
        example=10_000 if can_bin else None,
    )


def with_squared_weights(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Return the rows with their weights and the squares of these."""
    # in float64, so that no engine rounds or overflows in its own way
    weight = nw.col("weight").cast(nw.Float64)
    return rows.with_columns(weight.alias("weight"), (weight * weight).alias("square"))


def weight_sums() -> list[nw.Expr]:
    """Return the sums of weights and squares, and what shows a wrong weight."""
    weight = nw.col("weight")
    return [
        weight.sum().alias("weights"),
        nw.col("square").sum().alias("squares"),
        weight.min().alias("smallest"),
        weight.max().alias("largest"),
        weight.count().alias("present"),
    ]


def weights_of(
    counts: nw.DataFrame[Any], name: str, cases_of_row: Ints | int
) -> Weights | None:
    """Return the sums that an engine made; None where every weight is one."""
    total = _as_floats(counts["weights"])
    square = _as_floats(counts["squares"])
    smallest = _as_floats(counts["smallest"])
    largest = _as_floats(counts["largest"])
    number_missing = counts["cases"].to_numpy() - counts["present"].to_numpy()
    is_right = (number_missing == 0) & np.isfinite(total) & (smallest >= 0)
    _columns.weighed_rows(name, bool(is_right.all()))
    _columns.weighable(float(largest.max(initial=0.0)))

    if (smallest == 1).all() and (largest == 1).all():
        return None
    return Weights(total * cases_of_row, square * cases_of_row)


def _as_floats(values: nw.Series[Any]) -> Array:
    """Read a column of an engine as floats; NaN where one is missing."""
    return values.cast(nw.Float64).fill_null(np.nan).to_numpy()


def label_values(frame: Frame, label: str) -> list[Any]:
    """Return the distinct labels of a frame, without missing ones."""
    opened = frame if is_lazy(frame) else open_frame(frame)
    column_of_role = _existing_columns({"label": label}, column_names(opened))

    if is_lazy(opened):
        values = collect(select_by_role(opened, column_of_role).unique())["label"]
    else:
        values = opened[label].unique()

    distinct = column(values, label)
    present = distinct[~_columns.missing(distinct)]
    return [plain(v) for v in dict.fromkeys(_columns.hashable(present, label))]


def _scores(values: nw.Series[Any], what: str, cases: Ints, allow_nan: bool) -> Array:
    """Return scores as floats; an error counts cases, not rows of the group-by."""
    number = column(values, what)
    if number.dtype.kind in "OU":  # whole numbers of 128 bits, sent as text
        number = np.array([int(v) if isinstance(v, str) else v for v in number], object)
    number = _columns.numeric_scores(number, what)
    return _columns.finite_scores(number, what, allow_nan=allow_nan, cases=cases)


def collect(lazy: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Run the plan of a Narwhals frame; its errors become ours."""
    with reading(), progress("counting in the engine"):
        if lazy.implementation is nw.Implementation.POLARS:
            return lazy.collect(engine="streaming")
        if lazy.implementation is nw.Implementation.DUCKDB:
            return run_in_thread(lambda: lazy.collect(backend="pyarrow"))
        return lazy.collect(backend="pyarrow")


def run_in_thread(query: Callable[[], T]) -> T:
    """Run a query of DuckDB in a thread of its own, so that Ctrl-C ends it for sure."""
    if threading.current_thread() is not threading.main_thread():
        return query()

    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(query())
        except BaseException as err:
            answer.set_exception(err)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    try:
        while thread.is_alive():
            thread.join(0.05)
    except (KeyboardInterrupt, SystemExit):
        interrupt_connections()
        thread.join(5)
        raise

    return answer.result()


def interrupt_connections() -> None:
    """End every query that an engine of this process runs."""
    for connection in list(CONNECTIONS):
        connection.interrupt()


@contextmanager
def reading() -> Iterator[Callable[[], None]]:
    """Turn an engine's error about its data into an ``InputError`` with its message.

    Yields a function to be called now and then: it ends the work if Ctrl-C was pressed,
    since an engine may swallow that while it runs.
    """
    interrupts: list[int] = []

    def note_interrupt(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        signal.default_int_handler(number, frame)

    def stop_if_asked() -> None:
        stop_if_requested()
        if interrupts:
            raise KeyboardInterrupt

    is_main_thread = threading.current_thread() is threading.main_thread()
    replaces_handler = (
        is_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if replaces_handler:
        signal.signal(signal.SIGINT, note_interrupt)

    try:
        yield stop_if_asked
        stop_if_asked()
    except Exception as err:
        # some engines turn Ctrl-C into an error of their own
        is_interrupt = is_of_library(err, "duckdb", "InterruptException")
        if is_interrupt or str(err) == "Query interrupted":
            raise KeyboardInterrupt from err

        # by name: importing every engine to catch its errors would open every door
        libraries = {kind.__module__.split(".")[0] for kind in type(err).__mro__}
        # OSError: what an engine's stream of Arrow batches ends with
        if not libraries & _ENGINES and not isinstance(err, OSError):
            raise

        if is_of_library(err, "duckdb", "OutOfMemoryException"):
            raise InputError(
                "The data cannot be read: it needs more memory than is allowed. Are "
                "there very many columns?"
            ) from err

        message = first_lines(err)
        end = "" if message.endswith((".", "!", "?")) else "."
        raise InputError(f"The data cannot be read: {message}{end}") from err
    finally:
        if replaces_handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def first_lines(err: BaseException, max_letters: int = 400) -> str:
    """Return the beginning of an engine's message without its stack trace."""
    text = " ".join(str(err).split("\n\tat ")[0].split("\nJVM stacktrace")[0].split())
    text = without_password(text)
    return text if len(text) <= max_letters else f"{text[:max_letters]} ..."


def without_password(text: str) -> str:
    """Hide the password of an address: postgres://me:***@host/db."""
    return re.sub(r"(://[^:/@\s]*):[^@/\s]+@", r"\1:***@", text)
