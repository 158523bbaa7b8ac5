"""Which file is meant, and what does it hold?

A source is opened without reading its rows, and counted where it is. What cannot be
read twice (standard input, ``<(...)``) is copied to a temporary file first.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import IO, Any, TypeVar, final

import duckdb

from trueness import samples
from trueness._core.checks.columns import there
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import nearest
from trueness._core.data_types import NamesColumns
from trueness._core.files import temporary_folder
from trueness._core.records import shown
from trueness.data.cleaning import few_words
from trueness.data.column_names import names_of
from trueness.data.engines import CONNECTIONS, quoted, reading
from trueness.data.files import is_data, scan
from trueness.data.relation_tables import (
    REAL_TYPES,
    WHOLE_TYPES,
    RelationTable,
    beginning,
    in_python,
)

Name = TypeVar("Name", str, str | None)
SAMPLE = "sample:"
MEMORY_LIMIT = "1GB"  # of the engine, for tables in memory
_MAX_BYTES_IN_MEMORY = (
    1 << 27
)  # bytes of a file that is read once, and not once a score
_COMPRESSED = (".gz", ".zst", ".bz2")
_UNPACKING_FACTOR = 8  # times, at least where a compressed table is very regular
_IN_ORDER = {"preserve_insertion_order": True}  # to write rows back
_UNREADABLE_SHEETS = (".numbers",)  # which nothing here reads
_TEXT_FILE = re.compile(r"\.(csv|tsv|txt)(\.gz|\.zst|\.bz2)?$")

__all__ = ["REAL_TYPES", "WHOLE_TYPES", "Source", "names_of", "open_source"]


@final
@dataclass(frozen=True)
class Source:
    """A file that DuckDB can read."""

    name: str
    rows: Any

    @cached_property
    def table(self) -> RelationTable:
        """What has to be known to find its columns."""
        return RelationTable(self.rows)

    @property
    def types(self) -> dict[str, str]:
        """Return the type of each column, by its name."""
        return self.table.types

    @property
    def is_text(self) -> bool:
        """Return whether it is one CSV file, whose text columns can stay as written."""
        return Path(self.path).is_file() and bool(_TEXT_FILE.search(self.path.lower()))

    @property
    def path(self) -> str:
        """Where is it? A sample has a file too."""
        return sample_path(self.name)

    def as_text(self) -> Any:
        """Return all rows as they are written, as an Arrow table of text."""
        types = dict.fromkeys(self.types, "VARCHAR")
        return scan(self.path, types=types, settings=_IN_ORDER).to_arrow_table()

    def distinct(self, column: str, max_values: int) -> list[Any]:
        """Which values does a column have? Missing ones do not count."""
        return self.table.distinct(column, max_values)

    def reads_as(self, column: str) -> str:
        """Return what a column of text holds: numbers, labels or neither."""
        return self.table.reads_as(column)

    def as_truth(self, column: str) -> list[str]:
        """Say which words of a text were read as true and false, where they are."""
        if self.types[column] != "BOOLEAN" or not self.is_text:
            return []

        # as they are written: the type of the column would hide the words
        texts = scan(self.path, types={column: "VARCHAR"}).select(quoted(column))
        head = texts.filter(f"{quoted(column)} IS NOT NULL").limit(1000).fetchall()
        spellings = sorted({text for (text,) in head}, reverse=True)
        if {spelling.lower() for spelling in spellings} <= {"true", "false"}:
            return []
        return [f"Column {column!r}: {names_of(spellings)} read as true and false."]

    def few_words(self, columns: Iterable[str]) -> str:
        """Return the columns that would hold numbers, but for a few words."""
        sentences = ""
        for name in columns:
            if self.types[name] != "VARCHAR":
                continue

            texts = self.rows.select(beginning(name)).limit(100_000).fetchall()
            # the engine returns rows in no order: they cannot be named
            odd_words = few_words([text for (text,) in texts], rows=False)
            if odd_words:
                sentences += (
                    f" Column {name!r} has {odd_words}; correct these values or leave "
                    "them empty."
                )

        return sentences

    def only(self, columns: Iterable[str]) -> Any:
        """Return some columns; those of a text file that is not large are read now.

        It would be read again for each score otherwise.
        """
        names = [there(name, self.types) for name in dict.fromkeys(columns)]
        rows = self.rows.select(", ".join(map(quoted, names)))
        path = Path(self.name)
        if not path.is_file() or not _fits_in_memory(path):
            return rows

        with reading():
            return in_memory(rows.to_arrow_table())


def in_memory(table: NamesColumns) -> Any:
    """Return an Arrow table as rows that DuckDB reads.

    They have a connection of their own: one of all would refuse a second thread.
    """
    return memory_engine().cursor().from_arrow(table)


@cache
def memory_engine() -> Any:
    """Return the engine of tables in memory, which has a memory limit of its own.

    The usual one may take four fifths of the machine.
    """
    engine = duckdb.connect(":memory:", config={"memory_limit": MEMORY_LIMIT})
    CONNECTIONS.add(engine)
    return engine


def groups_of(rows: duckdb.DuckDBPyRelation, column: str) -> Iterator[tuple[Any, Any]]:
    """Yield the values of a column, each with its rows."""
    types = dict(zip(rows.columns, map(str, rows.types), strict=True))
    python_value = in_python(column, types[column])
    distinct = rows.select(python_value).distinct().fetchall()

    column_value = duckdb.SQLExpression(quoted(column))
    for (value,) in sorted(distinct, key=str):
        yield value, rows.filter(column_value == duckdb.ConstantExpression(value))


def open_source(
    file: str | Sequence[str],
    ordered: bool = False,
    decimal: str | None = None,
    threads: int | None = None,
) -> Source:
    """Open a file, a pattern of files, a sample (``sample:west_nile``) or ``-``.

    A table of a database is ``predictions.duckdb::table``. ``decimal`` is what stands
    before the decimals in CSV; None finds out, where there is no doubt. ``threads`` are
    those that the engine may use for a file that stays open. One text file that is not
    large is read here, once. Several files are read as one; the counts of declarations
    are added.
    """
    if not isinstance(file, str):
        if len(file) > 1:
            return _source_of_rows(
                ", ".join(file), scan([sample_path(f) for f in file])
            )
        (file,) = file

    if decimal not in (None, ".", ","):
        raise InputError(
            f"decimal must be . or ,; found {shown(decimal)}.",
            option="decimal",
        )

    if file == "-":
        name = "standard input"
        return _source_of_rows(name, _rows_of_stream(sys.stdin.buffer, name, decimal))

    return _source_of_rows(
        file, _open_rows(sample_path(file), ordered, decimal, threads)
    )


def sample_path(file: str) -> str:
    """Return the file of a sample; other names as they are."""
    sample = file.startswith(SAMPLE)
    return str(samples.path(file.removeprefix(SAMPLE))) if sample else file


def is_there(file: str) -> bool:
    """Return whether this names a sample, or files that exist."""
    return file.startswith(SAMPLE) or (is_local(file) and Path(file).exists())


def is_local(file: str) -> bool:
    """Return whether this names files here, and no sample, address or stream."""
    return file != "-" and "://" not in file and not file.startswith(SAMPLE)


def _source_of_rows(name: str, rows: duckdb.DuckDBPyRelation) -> Source:
    with reading():
        first = rows.limit(1).select("1").fetchall()  # no column is fetched for it
    if not first:
        raise InputError(
            f"{name} has no rows, only the columns {names_of(rows.columns)}."
        )
    return Source(name, rows)


def _rows_of_stream(stream: IO[bytes], name: str, decimal: str | None) -> Any:
    """Copy a stream to a file: the types of a CSV are found by reading it twice."""
    path = temporary_folder() / "input.csv"

    try:
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        _check_not_empty(path, name)
        rows = scan(path, settings=_IN_ORDER, decimal=decimal).to_arrow_table()
    finally:
        path.unlink(missing_ok=True)

    return in_memory(rows)


def _open_rows(
    file: str, ordered: bool, decimal: str | None, threads: int | None
) -> Any:
    """Open a file, a stream or an address; what cannot be read says what to do."""
    path = Path(file)
    if path.is_fifo() or path.is_char_device():
        with path.open("rb") as stream:
            return _rows_of_stream(stream, file, decimal)

    names_one_file = "://" not in file and not re.search(r"[*?[]|::", file)
    if names_one_file and not path.exists():
        raise InputError(
            f"There is no file {path}.{_similar_name(path)} To try Trueness on sample "
            f"data, type {SAMPLE}west_nile."
        )

    if path.suffix.lower() in _UNREADABLE_SHEETS:
        raise InputError(
            f"{file} is an Apple Numbers file, which Trueness does not read. Export "
            "it as Excel or CSV (UTF-8)."
        )

    if path.is_file():
        _check_not_empty(path, file)

    settings: dict[str, Any] = {}
    if ordered:
        settings |= _IN_ORDER
    if threads:
        settings["threads"] = threads

    rows = scan(file, settings=settings, decimal=decimal)
    if not Source(file, rows).is_text or not _fits_in_memory(path):
        return rows

    # each question to a text file would find out anew how it is written
    with reading():
        return in_memory(rows.to_arrow_table())


def _similar_name(path: Path) -> str:
    """Return a question about a file with a similar name in the same folder, or ""."""
    folder = path.parent
    if not folder.is_dir():
        return ""

    # without their endings, which make all names alike
    name_of_stem = {}
    for neighbour in folder.iterdir():
        if is_data(neighbour):
            name_of_stem[neighbour.stem] = neighbour.name

    similar = get_close_matches(path.stem, name_of_stem, n=1)
    if not similar:
        return ""
    return f" Did you mean {name_of_stem[similar[0]]!r}?"


def _fits_in_memory(path: Path) -> bool:
    """Return whether a file is so small that it is read once for all questions."""
    size = path.stat().st_size
    if path.suffix.lower() in _COMPRESSED:
        size *= _UNPACKING_FACTOR
    return size <= _MAX_BYTES_IN_MEMORY


def _check_not_empty(path: Path, name: str) -> None:
    if path.stat().st_size == 0:
        raise InputError(f"{name} is empty. A header and rows are needed.")


def existing_column(source: Source, name: Name, option_typed: str) -> Name:
    """Return the name of a column that is there, or None; else raise an error."""
    names = list(source.types)
    if name is None or name in names:
        return name

    option = option_typed.removeprefix("--").replace("-", "_")

    if len(names) == 1 and name in re.split("[,;\t|]", names[0]):
        raise InputError(
            f"{option} must name a column, and this file could not be divided into "
            f"columns. Its first line is {names[0]!r}. Every line must have the same "
            "number of values.",
            option=option,
        )

    raise InputError(
        f"{option} must name a column, and {source.name} has no column {name!r}; it "
        f"has {names_of(names)}.{nearest(name, names)}",
        option=option,
    )
