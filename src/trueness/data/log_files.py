"""How are the files of logs read: JSON, JSON lines, ZIP files of JSON?

Nothing is unpacked, and no JSON parsed, that is larger than any log of an evaluation.
"""

from __future__ import annotations

import json
import os
import struct
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trueness._core.checks.errors import InputError
from trueness._core.imports import required

# bytes that a log may unpack to, and values in its JSON: what is more is no log
MAX_UNPACKED_BYTES = 2**29
MAX_JSON_VALUES = 10_000_000
# the head of an entry of a ZIP file, before its name; the last two of its fields are
# the lengths of name and extra field
_LOCAL_HEADER_BYTES = 30
_LENGTHS_START = 26


def parse_json(text: str | bytes) -> Any:
    """Return what JSON holds; None where it is not whole."""
    raw = text.encode() if isinstance(text, str) else text
    # each value follows a bracket or a comma; in memory it takes 20 times its letters
    values = raw.count(b"[") + raw.count(b"{") + raw.count(b",")
    if values > MAX_JSON_VALUES:
        raise InputError(
            f"This JSON holds more than {MAX_JSON_VALUES:,} values, too many for an "
            "evaluation log. Save tables as JSON lines, Parquet or CSV."
        )

    try:
        return json.loads(text)
    except ValueError:
        return None
    except RecursionError:
        raise InputError(
            "This JSON is nested thousands of levels deep, unlike an evaluation log. "
            "Is it the right file?"
        ) from None


def read_json(file: str) -> Any:
    """Return what a file of JSON holds."""
    content = parse_json(Path(file).read_text(encoding="utf-8", errors="replace"))
    if content is None:
        raise InputError(f"{file} is incomplete: its JSON ends too early.")
    return content


def read_json_lines(file: str) -> list[dict[str, Any]]:
    """Return the objects of a file, one in each line."""
    objects = []
    with open(file, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            content = parse_json(line)
            if not isinstance(content, dict):
                raise InputError(
                    f"{file}, line {number}: this is not a sample in JSON."
                )
            objects.append(content)

    return objects


def first_object(path: Path) -> dict[str, Any]:
    """Return the one object of a JSON file, or that of the first line; else nothing."""
    with path.open(encoding="utf-8", errors="replace") as file:
        first_line = file.readline()
        second_line = file.readline()

    if not first_line.lstrip().startswith("{"):
        return {}

    content = parse_json(first_line)
    goes_on = path.suffix.lower() == ".json" and second_line
    if not isinstance(content, dict) and goes_on:
        content = parse_json(path.read_text(encoding="utf-8", errors="replace"))

    return content if isinstance(content, dict) else {}


class InspectArchive(NamedTuple):
    """Content of an ``.eval`` file of Inspect."""

    head: dict[str, Any]
    samples: list[Any]


def read_inspect_archive(file: str) -> InspectArchive:
    """Read an ``.eval`` file: a ZIP file of JSON, often packed by Zstandard."""
    try:
        with zipfile.ZipFile(file) as archive:
            return _head_and_samples(archive, file)
    except zipfile.BadZipFile:
        raise InputError(
            f"{file} is not a log of Inspect, or it was cut off: an .eval file is a "
            "ZIP file. A run that was stopped is recovered by: inspect log recover "
            f"{file}."
        ) from None


def _head_and_samples(archive: zipfile.ZipFile, file: str) -> InspectArchive:
    """Return the header and the samples of a log of Inspect."""
    names = set(archive.namelist())
    # a run that was stopped has no header, but what it was started with
    if "header.json" in names:
        head_name = "header.json"
    elif "_journal/start.json" in names:
        head_name = "_journal/start.json"
    else:
        raise InputError(f"{file} is not a log of Inspect: it has no header.")

    if "summaries.json" in names:
        head, samples = _entries(archive, [head_name, "summaries.json"])
    else:
        sample_names = sorted(name for name in names if name.startswith("samples/"))
        head, *samples = _entries(archive, [head_name, *sample_names])

    return InspectArchive(head["eval"], samples)


def _entries(archive: zipfile.ZipFile, names: Iterable[str]) -> Iterator[Any]:
    """Read entries of a ZIP file; the limit counts what comes out of all of them."""
    bytes_left = MAX_UNPACKED_BYTES
    for name in names:
        stated_size = archive.getinfo(name).file_size
        if stated_size > bytes_left:
            raise InputError(
                f"{archive.filename} unpacks to more than "
                f"{MAX_UNPACKED_BYTES >> 20:,} MB, too large for an evaluation log "
                f"({name}). Is it the right file?"
            )

        bytes_left -= stated_size

        # no further than it says: it may hold more
        content = parse_json(_unpack(archive, name, stated_size))
        if content is None:
            raise InputError(
                f"{archive.filename} is incomplete: the JSON of {name} is cut off."
            )

        yield content


def _unpack(archive: zipfile.ZipFile, name: str, size: int) -> bytes:
    """Return so many bytes of an entry."""
    try:
        with archive.open(name) as file:
            return file.read(size)
    except NotImplementedError:
        # Zstandard, which Python knows from 3.14 on
        return _unpack_zstandard(archive, name, size)


def _unpack_zstandard(archive: zipfile.ZipFile, name: str, size: int) -> bytes:
    """Return the unpacked bytes of an entry that Python cannot unpack by itself."""
    arrow = required("pyarrow", "files")
    entry = archive.getinfo(name)

    with open(str(archive.filename), "rb") as file:
        file.seek(entry.header_offset)
        header = file.read(_LOCAL_HEADER_BYTES)
        name_length, extra_length = struct.unpack("<HH", header[_LENGTHS_START:])
        file.seek(name_length + extra_length, os.SEEK_CUR)
        packed = file.read(entry.compress_size)

    stream = arrow.CompressedInputStream(arrow.BufferReader(packed), "zstd")
    return bytes(stream.read(size))
