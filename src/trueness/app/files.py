"""Which files may the page open? Those it was started with, uploads, and samples.

The page names a file by a word of this list, never by a path, so nothing else on the
disk can be reached. Uploads lie in a temporary folder that goes when the server ends.
Few files are open at a time, and few uploads are kept: the last ones used.
"""

from __future__ import annotations

import re
import shutil
import threading
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, final

from starlette.concurrency import run_in_threadpool

from trueness._core.checks.errors import InputError
from trueness._core.files import temporary_folder
from trueness._core.imports import required
from trueness._core.progress import stop_if_requested
from trueness._core.records import shown
from trueness.cli._source import SAMPLE, Source
from trueness.cli.judge import open_verdicts
from trueness.data.cleaning import collected_remarks, tell
from trueness.data.engines import CONNECTIONS, quoted, reading
from trueness.data.files import tables_of
from trueness.data.first_look import Look, look

FIRST_ROWS = 8
SHOWN_CELL_LENGTH = 60  # of a cell
# what is read to say what each column could be
MAX_LOOKED_ROWS = 10_000
MAX_LOOKED_COLUMNS = 60
MAX_LOOKED_LENGTH = 60
MAX_VALUES = 24  # of a column, to choose the positive one from
GIVEN = "given"  # the word for what the server was started with
SHOWN_SAMPLES = ("west_nile", "hiv", "leaves", "judges")
MAX_OPEN_FILES = 3  # at a time
MAX_UPLOADS = 20  # that are kept
ENGINE_THREADS = 4  # of the engine, for each file that is open
MAX_ROWS = 100_000_000  # of an upload: a small compressed file may hold many
MAX_TEXT_LENGTH = 2**20  # of a text in an upload
MAX_COLUMNS = 1000  # of an upload
COLUMNS_MEASURED_AT_ONCE = 20  # whose texts are measured before the sum is compared
CHUNK_BYTES = 2**20  # bytes that are unpacked at a time
_OPENING = threading.Lock()


class _OpenedFile(NamedTuple):
    """A file that was opened, and how it was understood."""

    source: Source
    judges: tuple[str, ...]
    connections: list[Any]
    cleaned: list[str]


@final
@dataclass(frozen=True, eq=False)
class DataFile:
    """A file that the page may open: its word, its name for people, where it lies.

    ``typed`` is what a person would type after ``trueness report``. Whoever reads the
    rows holds the file: DuckDB refuses two threads on one connection.
    """

    word: str
    typed: str
    place: str
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _readers: list[int] = field(default_factory=list)
    _values: dict[str, list[str]] = field(default_factory=dict)

    @cached_property
    def _opened_file(self) -> _OpenedFile:
        """Open the file; an error is raised each time, until the file is right."""
        # new connections are those of this file, if no other file is opened meanwhile
        with _OPENING:
            connections_before = set(CONNECTIONS)
            try:
                with collected_remarks() as cleaning_remarks:
                    source, judges = open_verdicts(self.place, ENGINE_THREADS)
            except InputError as err:  # where uploads lie is nobody's concern
                raise err.with_file_name(self.place, self.typed) from None
            connections = [c for c in list(CONNECTIONS) if c not in connections_before]

        rows = source.rows if judges else without_unread_columns(source)
        return _OpenedFile(
            Source(self.typed, rows), judges, connections, cleaning_remarks
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other threads from reading; errors of the engine become sentences."""
        with self._lock:
            self._readers.append(threading.get_ident())
            try:
                with reading():
                    yield
            except KeyboardInterrupt:  # in a thread: somebody stopped the engine
                stop_if_requested()
                raise InputError(
                    f"Reading {self.typed} was stopped. Open the file again."
                ) from None
            finally:
                self._readers.pop()

    def close(self) -> None:
        """Close the file; it is opened again when it is read again."""
        self.__dict__.pop("_opened_file", None)

    def interrupt(self, thread: int) -> None:
        """End the query of this thread, and of no other."""
        if self._readers[-1:] == [thread] and "_opened_file" in self.__dict__:
            for connection in self._opened_file.connections:
                connection.interrupt()

    def fraction_read(self) -> float | None:
        """Return how far the engine is, if it counts now; it says so in per cent."""
        if not self._readers or "_opened_file" not in self.__dict__:
            return None
        fractions = [c.query_progress() / 100 for c in self._opened_file.connections]
        return max((f for f in fractions if 0 < f <= 1), default=None)

    @property
    def source(self) -> Source:
        """Return what the file holds: a table, or the log of an evaluation as one.

        Remarks on how the file was read reach every reader, not only the first one.
        """
        tell(self._opened_file.cleaned, warn=False)
        return self._opened_file.source

    @property
    def judges(self) -> tuple[str, ...]:
        """Name the judges of a log; a table names none."""
        return self._opened_file.judges

    @cached_property
    def rows(self) -> int:
        """Number of rows; Parquet files hold it, others are read once."""
        with self.locked():
            return int(self.source.rows.aggregate("count(*)").fetchall()[0][0])

    @cached_property
    def first_rows(self) -> list[tuple[str, ...]]:
        """Return the beginnings of the first rows as text."""
        # a letter more than is shown tells that there is more
        cells = ", ".join(
            f"left(CAST({quoted(column)} AS VARCHAR), {SHOWN_CELL_LENGTH + 1})"
            for column in self.source.types
        )
        with self.locked():
            rows = self.source.rows.limit(FIRST_ROWS).select(cells).fetchall()

        texts = []
        for row in rows:
            row_texts = ["" if v is None else shown(v, SHOWN_CELL_LENGTH) for v in row]
            texts.append(tuple(row_texts))
        return texts

    @cached_property
    def contents(self) -> Look:
        """What each column holds, what it could be, and what is wrong with it."""
        cells = []
        for name, kind in list(self.source.types.items())[:MAX_LOOKED_COLUMNS]:
            cell = quoted(name)
            if kind == "VARCHAR":  # a text may be very long
                cell = f"left({cell}, {MAX_LOOKED_LENGTH}) AS {cell}"
            cells.append(cell)

        with self.locked():
            rows = self.source.rows.limit(MAX_LOOKED_ROWS)
            return look(rows.select(", ".join(cells)))

    def values(self, column: str) -> list[str]:
        """Return the values of a column, where they are few; to be chosen from."""
        if column not in self._values:
            with self.locked():
                values = self.source.distinct(column, MAX_VALUES)
            are_few = len(values) <= MAX_VALUES
            self._values[column] = [str(value) for value in values] if are_few else []
        return self._values[column]

    def check_size(self, limit: int) -> None:
        """Refuse columns, rows or texts that nobody meant: few bytes may hold many.

        ``limit`` is that of uploads, in bytes; texts are counted as they come out.
        """
        if len(self.source.types) > MAX_COLUMNS:
            raise InputError(too_many_columns(self.typed, len(self.source.types)))

        if self.rows > MAX_ROWS:
            raise InputError(
                f"{self.typed} holds {self.rows:,} rows; {MAX_ROWS:,} is the limit "
                f"for uploads. {ADVICE_TO_READ_IN_PLACE}"
            )

        text_types = ("VARCHAR", "JSON", "ENUM")
        types = self.source.types.items()
        texts = [name for name, kind in types if kind.startswith(text_types)]

        total = 0
        for first in range(0, len(texts), COLUMNS_MEASURED_AT_ONCE):
            for column in texts[first : first + COLUMNS_MEASURED_AT_ONCE]:
                total += self._check_texts(column)
            if total > limit:
                raise TooLargeError(too_large(limit, "unpacks to what is"))

    def _check_texts(self, column: str) -> int:
        """Return how many letters a column holds; refuse one text that is too long."""
        length = f"strlen(CAST({quoted(column)} AS VARCHAR))"
        with self.locked():
            rows = self.source.rows.aggregate(f"max({length}), sum({length})")
            longest, total = rows.fetchall()[0]

        if longest is not None and longest > MAX_TEXT_LENGTH:
            raise InputError(
                f"Column {shown(column, 40)!r} of {self.typed} holds a value of "
                f"{longest:,} characters; {MAX_TEXT_LENGTH:,} is the limit for "
                "uploads. Leave the column out, or shorten its values."
            )

        return int(total or 0)


@final
class Files:
    """The files of one server."""

    def __init__(self, file: str | None, limit: int) -> None:
        self.limit = limit
        self.folder = temporary_folder()

        self._files: dict[str, DataFile] = {}
        for name in SHOWN_SAMPLES:
            word = f"{SAMPLE}{name}"
            self._files[word] = DataFile(word, word, word)

        if file is not None:
            for word, place in _tables(file).items():
                self._files[word] = DataFile(
                    word, _name_to_type(place), _name_to_type(place)
                )

        self._uploaded = 0

    @property
    def own(self) -> list[DataFile]:
        """The files of a person: those that are not samples."""
        return [
            file for word, file in self._files.items() if not word.startswith(SAMPLE)
        ]

    def get(self, word: str) -> DataFile:
        """Find a file by its word; of all files the last ones found stay open."""
        if word not in self._files:
            raise InputError(
                "This file is no longer on the workbench: the last "
                f"{MAX_UPLOADS} uploads are kept, until the server stops. Drop the "
                "file again."
            )

        file = self._files.pop(word)
        self._files[word] = file  # at the end: it is the last one used

        for other in list(self._files.values())[:-MAX_OPEN_FILES]:
            other.close()

        return file

    async def receive(self, name: str, chunks: AsyncIterator[bytes]) -> DataFile:
        """Take an upload, chunk by chunk; one that is too large leaves nothing."""
        self._uploaded += 1
        word = f"{UPLOAD}{self._uploaded}"
        folder = self.folder / word
        folder.mkdir()
        path = folder / safe_name(name)

        try:
            with path.open("wb") as file:
                size = 0
                async for chunk in chunks:
                    size += len(chunk)
                    if size > self.limit:
                        raise TooLargeError(too_large(self.limit))
                    file.write(chunk)
            typed = _name_to_type(last_part(name) or path.name, upload=True)
            # in a thread, so that other requests are answered meanwhile
            upload = await run_in_threadpool(
                _open_upload, word, typed, path, self.limit
            )
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

        self._files[word] = upload
        self._forget_oldest_uploads()
        return self.get(word)

    def _forget_oldest_uploads(self) -> None:
        """Delete the uploads that were used longest ago."""
        uploads = [word for word in self._files if word.startswith(UPLOAD)]
        for word in uploads[:-MAX_UPLOADS]:
            self._files.pop(word).close()
            shutil.rmtree(self.folder / word, ignore_errors=True)

    def close(self) -> None:
        """Delete the uploads, and close all files."""
        self._files.clear()
        shutil.rmtree(self.folder, ignore_errors=True)


UPLOAD = "upload-"
ADVICE_TO_READ_IN_PLACE = (
    "Start the workbench with its path instead, and it is read in place: "
    "trueness app FILE."
)


class TooLargeError(InputError):
    """An upload, or what it unpacks to, is larger than allowed."""


def too_large(limit: int, verb: str = "is") -> str:
    """Say what to do with a file that is too large to be uploaded."""
    return (
        f"This file {verb} larger than {limit / 2**20:,.0f} MB, the limit for uploads. "
        f"{ADVICE_TO_READ_IN_PLACE}"
    )


def _open_upload(word: str, typed: str, path: Path, limit: int) -> DataFile:
    """Unpack an upload and open it; refuse what cannot be read or is too large."""
    try:
        place = _unpack(path, limit)
    except (OSError, EOFError, zlib.error) as err:
        raise InputError(f"{typed} cannot be unpacked: {err}.") from None

    _check_header(typed, place)
    if views := tables_of(str(place), ("view",)):
        raise InputError(  # a view is a program, which may never end
            f"{typed} holds the view {shown(views[0], 40)!r}; uploads are read from "
            "tables. Store its rows in a table: CREATE TABLE rows AS FROM view."
        )

    file = DataFile(word, typed, str(place))
    file.check_size(limit)

    return file


def _check_header(typed: str, place: Path) -> None:
    """Refuse a text file with very many columns, before its types are guessed."""
    if place.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return

    with place.open("rb") as file:
        header = file.readline(CHUNK_BYTES)

    columns = 1 + max(header.count(sign) for sign in (b",", b";", b"\t", b"|"))
    if columns > MAX_COLUMNS:
        raise InputError(too_many_columns(typed, columns))


def too_many_columns(typed: str, columns: int) -> str:
    """Say what to do with a file that is too wide to be uploaded."""
    return (
        f"{typed} has {columns:,} columns; {MAX_COLUMNS:,} is the limit for uploads. "
        "Keep only the columns that you need, such as labels and scores."
    )


def is_never_read(kind: str) -> bool:
    """Return whether values of this type of DuckDB are never read: nested, or bytes."""
    nested = ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "VARIANT")
    return kind.startswith(nested) or kind.endswith("]")


def without_unread_columns(source: Source) -> Any:
    """Return the rows of a file with nothing in place of lists, structures and bytes.

    A file of some hundred bytes may hold gigabytes of them. Their names and types stay,
    so that the page can say what it does not read.
    """
    if not any(map(is_never_read, source.types.values())):
        return source.rows

    columns = [
        f"CAST(NULL AS {kind}) AS {quoted(name)}"
        if is_never_read(kind)
        else quoted(name)
        for name, kind in source.types.items()
    ]
    return source.rows.select(", ".join(columns))


def _unpack(path: Path, limit: int) -> Path:
    """Return the unpacked file, written beside the compressed one, which goes.

    The limit is on the bytes that come out: a small file may hold gigabytes.
    """
    compressions = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
    compression = compressions.get(path.suffix.lower())
    if compression is None:
        return path

    unpacked_path = path.with_suffix("")
    unpacked_size = 0
    pyarrow = required("pyarrow", "files")
    compressed = pyarrow.input_stream(str(path), compression=compression)

    with compressed, unpacked_path.open("wb") as unpacked:
        while chunk := compressed.read(CHUNK_BYTES):
            unpacked_size += len(chunk)
            if unpacked_size > limit:
                raise TooLargeError(too_large(limit, "unpacks to what is"))
            unpacked.write(chunk)

    path.unlink()
    return unpacked_path


def _tables(file: str) -> dict[str, str]:
    """Return each table of a database by its word; another file has one."""
    names_a_table = "::" in file
    names = [] if names_a_table else tables_of(file)
    if len(names) < 2:
        return {GIVEN: file}
    return {f"{GIVEN}::{name}": f"{file}::{name}" for name in names}


def _name_to_type(name: str, upload: bool = False) -> str:
    """Write a name so that a command takes it for a file, not for an option."""
    like_an_option = name.startswith("-") and name != "-"
    like_a_sample = upload and name.startswith(SAMPLE)
    return f"./{name}" if like_an_option or like_a_sample else name


def last_part(name: str) -> str:
    """Return the name of a file without its folders."""
    return re.split(r"[/\\]", name)[-1].replace("\x00", "_").strip(". ")


def safe_name(name: str) -> str:
    """Return what of a name can be the name of a file, in a folder of its own.

    >>> safe_name("../../etc/passwd"), safe_name("a b<c>.csv"), safe_name("")
    ('passwd', 'a b_c_.csv', 'upload.csv')
    """
    plain = re.sub(r'[\x00-\x1f\x7f<>:"|?*\[\]]', "_", last_part(name))
    stem, dot, ending = plain.rpartition(".")
    # a name may have 255 bytes; the endings say what the file is
    return f"{stem[:60]}{dot}{ending[:20]}" if plain else "upload.csv"
