"""The counts of declarations as a table, which every command reads like any other.

Counts of several declarations are added by putting their rows together: the format of
counts adds rows of the same score, and joins bins that overlap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError
from trueness._core.imports import required
from trueness.counts.values import Tally
from trueness.data.engines import CONNECTIONS
from trueness.data.files import files_of_place
from trueness.declarations.reading import read_declaration
from trueness.declarations.records import Declaration


def declared_counts(places: Sequence[str], column: str | None = None) -> Any:
    """Return the counts of declarations as a relation of DuckDB.

    ``column`` asks for the counts of its groups: ``declaration.html::site``.
    """
    files = [file for place in places for file in files_of_place(place)]
    tables = []
    for file in files:
        declaration = read_declaration(file)
        if column is None:
            tables.append(_table(_scores_of(declaration, file), {}))
        else:
            tables += _group_tables(declaration, file, column)

    arrow = required("pyarrow", "files")
    duckdb = required("duckdb", "files")
    engine = duckdb.connect(":memory:")
    CONNECTIONS.add(engine)

    return engine.from_arrow(arrow.concat_tables(tables, promote_options="permissive"))


def _scores_of(declaration: Declaration, file: str) -> Tally:
    """Return the counts of scores in a declaration."""
    if not isinstance(declaration.counts, Tally):
        raise InputError(
            f"{file} declares attempts at items, which have no scores. "
            "Its numbers can be verified."
        )
    return declaration.counts


def _group_tables(declaration: Declaration, file: str, column: str) -> list[Any]:
    """Return the counts of each group of a column as tables."""
    if column not in declaration.groups:
        known_columns = ", ".join(declaration.groups) or "none"
        raise InputError(
            f"{file} has no groups of {column!r}; its columns of groups: "
            f"{known_columns}.",
            choices=tuple(declaration.groups),
        )

    return [
        _table(tally, {column: group})
        for group, tally in declaration.groups[column].items()
    ]


def _table(counts: Tally, constants: Mapping[str, Any]) -> Any:
    """Return counts as an Arrow table, with their design where it is not plain.

    ``constants`` are further columns, each with the same value in every row.
    """
    arrow = required("pyarrow", "files")
    columns = dict(counts.named_columns)
    columns.setdefault("high", columns["score"])
    size = len(columns["score"])

    for word, value in counts.design.arguments.items():
        if value and word not in constants:
            columns[word] = np.full(size, value)
    for name, value in constants.items():
        columns[name] = np.full(size, value)

    return arrow.table({name: arrow.array(values) for name, values in columns.items()})
