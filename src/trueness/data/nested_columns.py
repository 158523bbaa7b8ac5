"""How do objects and lists of a file become columns?

The parts of objects get columns by their path; so do the classes of a list such as
``[{"label": "yes", "prob": 0.8}, {"label": "no", "prob": 0.2}]``. A JSON file of pandas
is one object with all columns or all rows, which is read as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness._core.imports import required
from trueness.data.engines import quoted, text_in_sql
from trueness.data.log_files import parse_json

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_CLASS_NAMES = ("label", "class", "name", "category", "value")
_PROBABILITY_NAMES = ("prob", "probability", "score", "confidence", "proba")
MAX_CLASSES = 30
_ROWS_LOOKED_AT = 10_000  # for the names of the classes
_MAX_BYTES = 1 << 27  # of a JSON file that is read as a whole


def in_plain_columns(rows: DuckDBPyRelation) -> DuckDBPyRelation:
    """Return rows with columns for the parts of objects, and rows for lists.

    The part ``score`` of ``output`` becomes the column ``output.score``. Lists are rows
    where every column is one, ``{"label": [1, 0], "score": [0.9, 0.2]}``, and where a
    single object has one list of objects, ``{"model": "a", "predictions": [...]}``. A
    list of classes with their probabilities, as BigQuery and Hugging Face write it,
    becomes a column for each class.
    """
    types: dict[str, Any] = dict(zip(rows.columns, rows.types, strict=True))
    if _is_one_row_of_lists(rows, types):
        entries = [f"unnest({quoted(name)}) AS {quoted(name)}" for name in types]
        return rows.project(", ".join(entries))

    list_column = _list_of_objects(rows, types)
    if list_column is not None:
        objects = rows.project(
            f"unnest({quoted(list_column)}) AS {quoted(list_column)}"
        )
        return in_plain_columns(objects.project(f"{quoted(list_column)}.*"))

    class_columns = _class_probabilities(rows, types)
    if class_columns:
        others = [quoted(name) for name in types if name not in class_columns]
        of_classes = [sql for columns in class_columns.values() for sql in columns]
        return in_plain_columns(rows.project(", ".join([*others, *of_classes])))

    columns: list[str] = []
    has_objects = False
    for name, kind in types.items():
        parts = []
        if kind.id == "struct":
            parts = [part for part, _ in kind.children]

        # a column that has the name of a part already is not replaced
        name_exists = any(f"{name}.{part}" in types for part in parts)
        if not parts or name_exists:
            columns.append(quoted(name))
            continue

        has_objects = True
        for part in parts:
            value = f"struct_extract({quoted(name)}, {text_in_sql(part)})"
            columns.append(f"{value} AS {quoted(f'{name}.{part}')}")

    if not has_objects:
        return rows
    # objects may hold objects
    return in_plain_columns(rows.project(", ".join(columns)))


def _list_of_objects(rows: DuckDBPyRelation, types: Mapping[str, Any]) -> str | None:
    """Return the one list of objects of a single row; None where there is none."""
    lists = [
        name
        for name, kind in types.items()
        if kind.id == "list" and str(kind).startswith("STRUCT")
    ]
    if len(lists) != 1 or len(rows.limit(2).fetchall()) != 1:
        return None
    return lists[0]


def _is_one_row_of_lists(rows: DuckDBPyRelation, types: Mapping[str, Any]) -> bool:
    """Return whether there is one row, whose columns are lists of one length."""
    if not types or any(kind.id != "list" for kind in types.values()):
        return False

    lengths = ", ".join(f"len({quoted(name)})" for name in types)
    first_rows = rows.select(lengths).limit(2).fetchall()
    return len(first_rows) == 1 and len(set(first_rows[0])) == 1


def _class_probabilities(
    rows: DuckDBPyRelation, types: Mapping[str, Any]
) -> dict[str, list[str]]:
    """Return columns in SQL for each list of classes with their probabilities."""
    columns: dict[str, list[str]] = {}
    for name, kind in types.items():
        parts = _class_and_probability(kind)
        if parts is None:
            continue

        # of the first rows: a large file is not read for it
        class_part, probability_part = map(text_in_sql, parts)
        of_class = f"CAST(struct_extract(c, {class_part}) AS VARCHAR)"
        classes = f"unnest(list_transform({quoted(name)}, lambda c: {of_class}))"
        distinct = rows.limit(_ROWS_LOOKED_AT).project(f"{classes} AS class").distinct()
        names = [str(value) for (value,) in distinct.limit(MAX_CLASSES + 1).fetchall()]
        if not 2 <= len(names) <= MAX_CLASSES:
            continue

        columns[name] = []
        for class_name in sorted(names):
            is_class = f"lambda c: {of_class} = {text_in_sql(class_name)}"
            class_entry = f"list_filter({quoted(name)}, {is_class})[1]"
            value = f"struct_extract({class_entry}, {probability_part})"
            columns[name].append(f"{value} AS {quoted(f'{name}.{class_name}')}")

    return columns


def _class_and_probability(kind: Any) -> tuple[str, str] | None:
    """Return the parts of a list of objects that name a class and its probability."""
    if kind.id != "list" or not str(kind).startswith("STRUCT"):
        return None

    part_types = dict(kind.children[0][1].children)
    classes = [part for part in part_types if part.lower() in _CLASS_NAMES]
    probabilities = [
        part
        for part, part_type in part_types.items()
        if part.lower() in _PROBABILITY_NAMES and str(part_type) in ("DOUBLE", "FLOAT")
    ]
    if len(part_types) == 2 and len(classes) == len(probabilities) == 1:
        return classes[0], probabilities[0]
    return None


def holds_pandas_json(types: Mapping[str, Any]) -> bool:
    """Return whether the columns of a JSON file may be one object that pandas wrote."""
    if {"columns", "data"} <= types.keys() <= {"columns", "index", "data"}:
        return True
    return bool(types) and all(kind.id in ("struct", "map") for kind in types.values())


def read_pandas_json(file: str) -> dict[str, list[Any]] | None:
    """Return the columns of a JSON file of pandas; None where it is no such file.

    ``DataFrame.to_json`` writes an object of columns, or of rows (``orient="index"``),
    or names and rows apart (``orient="split"``), which MLflow does too.
    """
    path = Path(file)
    if not path.is_file() or path.stat().st_size > _MAX_BYTES:
        return None
    content = parse_json(path.read_bytes())
    if not isinstance(content, dict):
        return None

    names = content.get("columns")
    data = content.get("data")
    if isinstance(names, list) and isinstance(data, list):
        rows_fit = all(isinstance(row, list) and len(row) == len(names) for row in data)
        columns = zip(*data, strict=True) if rows_fit else ()
        return dict(zip(map(str, names), map(list, columns), strict=False)) or None

    parts = list(content.values())
    keys = [tuple(part) for part in parts if isinstance(part, dict)]
    is_table = len(keys) == len(parts) and len(set(keys)) == 1
    if not is_table or any(isinstance(v, (dict, list)) for v in parts[0].values()):
        return None

    # the cases are more than the columns
    if len(keys[0]) > len(parts):
        return {name: list(part.values()) for name, part in content.items()}
    return {name: [part[name] for part in parts] for name in keys[0]}


def in_memory(
    connection: DuckDBPyConnection, columns: Mapping[str, list[Any]]
) -> DuckDBPyRelation:
    """Return columns as a relation of this connection."""
    arrow = required("pyarrow", "files")
    table = arrow.table({name: arrow.array(column) for name, column in columns.items()})
    return in_plain_columns(connection.from_arrow(table))
