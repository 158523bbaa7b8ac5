"""Which files may the page open? Those it was started with, uploads, and samples.

The page names a file by a word of this shelf, never by a path, so nothing else on the
disk can be reached. Uploads lie in a temporary folder that goes when the server ends.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import final

from starlette.concurrency import run_in_threadpool

from trueness._core.checks.errors import InputError
from trueness._core.records import shown
from trueness.cli._source import SAMPLE, Source
from trueness.cli._verdicts import open_verdicts
from trueness.data.engines import reading
from trueness.data.files import tables_of

FIRST_ROWS = 8
MOST_VALUES = 24  # of a column, to choose the positive one from
GIVEN = "given"  # the word for what the server was started with
PREFIX = "trueness-app-"
SHOWN_SAMPLES = ("west_nile", "hiv", "leaves", "judges")


@final
@dataclass(frozen=True)
class Filed:
    """A file on the shelf: its word, its name for people, and where it lies.

    ``typed`` is what a person would type after ``trueness report``. Whoever reads the
    rows holds the ``lock``: DuckDB refuses two threads on one connection.
    """

    word: str
    typed: str
    place: str
    lock: threading.RLock = field(default_factory=threading.RLock)

    @cached_property
    def _opened(self) -> tuple[Source, tuple[str, ...]]:
        """Open it; an error is said again each time, until the file is right."""
        try:
            found, judges = open_verdicts(self.place)
        except InputError as err:  # where uploads lie is nobody's concern
            raise InputError(str(err).replace(self.place, self.typed)) from None
        return Source(self.typed, found.rows), judges

    @property
    def source(self) -> Source:
        """Give what it holds: a table, or the log of an evaluation as one."""
        return self._opened[0]

    @property
    def judges(self) -> tuple[str, ...]:
        """Name the judges of a log; a table names none."""
        return self._opened[1]

    @cached_property
    def rows(self) -> int:
        """How many rows has it? Parquet files know; others are read once."""
        with self.lock, reading():
            return int(self.source.rows.aggregate("count(*)").fetchall()[0][0])

    @cached_property
    def first_rows(self) -> list[tuple[str, ...]]:
        """Give the first rows as text."""
        with self.lock, reading():
            rows = self.source.rows.limit(FIRST_ROWS).fetchall()
        return [tuple("" if v is None else shown(v, 60) for v in row) for row in rows]

    @cached_property
    def _values(self) -> dict[str, list[str]]:
        return {}

    def values(self, column: str) -> list[str]:
        """Give the values of a column, where they are few; to be chosen from."""
        if column not in self._values:
            with self.lock, reading():
                found = self.source.distinct(column, MOST_VALUES)
            few = [str(v) for v in found] if len(found) <= MOST_VALUES else []
            self._values[column] = few
        return self._values[column]


@final
class Shelf:
    """The files of one server."""

    def __init__(self, given: str | None, limit: int) -> None:
        self.limit = limit
        self.folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self._files: dict[str, Filed] = {}
        for name in SHOWN_SAMPLES:
            word = f"{SAMPLE}{name}"
            self._files[word] = Filed(word, word, word)
        if given is not None:
            for word, place in _tables(given).items():
                self._files[word] = Filed(word, _typed(place), _typed(place))
        self._numbers = 0

    @property
    def own(self) -> list[Filed]:
        """Give what a person brought: the files that are not samples."""
        return [f for w, f in self._files.items() if not w.startswith(SAMPLE)]

    @property
    def samples(self) -> list[Filed]:
        """Give what Trueness brings along."""
        return [f for w, f in self._files.items() if w.startswith(SAMPLE)]

    def get(self, word: str) -> Filed:
        """Find a file by its word."""
        if word not in self._files:
            raise InputError(
                "This file is no longer on the workbench: uploads are deleted when "
                "the server stops. Drop the file again."
            )
        return self._files[word]

    async def take(self, name: str, chunks: AsyncIterator[bytes]) -> Filed:
        """Take an upload, chunk by chunk; one that is too large leaves nothing."""
        self._numbers += 1
        folder = self.folder / str(self._numbers)
        folder.mkdir()
        path = folder / safe_name(name)
        size = 0
        try:
            with path.open("wb") as file:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > self.limit:
                        raise InputError(too_large(self.limit))
                    file.write(chunk)
            typed = _typed(last_part(name) or path.name, upload=True)
            found = Filed(f"upload-{self._numbers}", typed, str(path))
            # a file that cannot be read is told at once; others are answered meanwhile
            await run_in_threadpool(lambda: found.source)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._files[found.word] = found
        return found

    def close(self) -> None:
        """Delete the uploads, and let go of what was opened."""
        self._files.clear()
        shutil.rmtree(self.folder, ignore_errors=True)


def _tables(given: str) -> dict[str, str]:
    """Give each table of a database its word; another file has one."""
    names = tables_of(given) if "::" not in given else []
    if len(names) < 2:
        return {GIVEN: given}
    return {f"{GIVEN}::{name}": f"{given}::{name}" for name in names}


def _typed(name: str, upload: bool = False) -> str:
    """Write a name so that a command takes it for a file, not for an option."""
    option = name.startswith("-") and name != "-"
    return f"./{name}" if option or (upload and name.startswith(SAMPLE)) else name


def last_part(name: str) -> str:
    """Give the name of a file without its folders."""
    return re.split(r"[/\\]", name)[-1].replace("\x00", "_").strip(". ")


def too_large(limit: int) -> str:
    """Say what to do with a file that is too large to be uploaded."""
    return (
        f"This file is larger than {limit / 2**20:,.0f} MB, the limit for uploads. "
        "Start the workbench with its path instead, and it is read in place: "
        "trueness app FILE."
    )


def safe_name(name: str) -> str:
    """Keep of a name what can be the name of a file, in a folder of its own.

    >>> safe_name("../../etc/passwd"), safe_name("a b<c>.csv"), safe_name("")
    ('passwd', 'a b_c_.csv', 'upload.csv')
    """
    plain = re.sub(r'[\x00-\x1f\x7f<>:"|?*\[\]]', "_", last_part(name))
    stem, dot, ending = plain.rpartition(".")
    # a name may have 255 bytes; the endings say what the file is
    return f"{stem[:60]}{dot}{ending[:20]}" if plain else "upload.csv"
