"""How is a tally kept on disk, to be merged later?

A Parquet file with the columns of the value and versioned metadata, or for a tally CSV
or JSON (``docs/counts.md`` is the specification), written all or nothing.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.files import as_written, replacing
from trueness._core.imports import required
from trueness.counts.cases import by_cell, put_in_clusters
from trueness.counts.design import PLAIN
from trueness.counts.design import WORDS as DESIGN
from trueness.counts.rows import find_rows, merge_rows
from trueness.counts.values import Panel, Tally, panel_of_rows, read_output
from trueness.data.count_tables import (
    are_counts,
    count_columns_of,
    counts_in,
    tally_of_counts,
)

VERSION = 1
_KEY = b"trueness"
# bytes that any file may unpack to, and how many times its size a larger one may
_LARGE, _SWOLLEN = 2**28, 100


def write_tally(tally: Tally, path: str | os.PathLike[str]) -> None:
    """Write a tally; see :meth:`trueness.Tally.write`."""
    columns, design = tally.named_columns, _design(tally)
    match _options.file_path(path, "Tally.write").suffix.lower():
        case ".csv":
            said = {k: v for k, v in design.get("design", {}).items() if v}
            rows = zip(*(v.tolist() for v in columns.values()), strict=True)
            table = [[*columns, *said], *([*r, *said.values()] for r in rows)]
            with (
                replacing(path) as temporary,
                temporary.open("w", encoding="utf-8", newline="") as file,
            ):
                csv.writer(file).writerows(table)
        case ".json":
            about = {"trueness": "counts", "version": VERSION, **design}
            about["columns"] = {k: v.tolist() for k, v in columns.items()}
            with replacing(path) as temporary:
                temporary.write_text(json.dumps(about) + "\n", encoding="utf-8")
        case _:
            write_columns(columns, {"kind": "tally", **design}, path)


def write_panel(panel: Panel, path: str | os.PathLike[str]) -> None:
    """Write a panel; see :meth:`trueness.Panel.write`."""
    # columns are numbered: a classifier may be called "neg"
    columns = {f"output_{k}": column for k, column in enumerate(panel.rows.T)}
    about = {"kind": "panel", "names": list(panel.names), **_design(panel)}
    write_columns(by_cell(panel, columns), about, path)


def _design(x: Tally | Panel) -> dict[str, Any]:
    return {} if x.design == PLAIN else {"design": asdict(x.design)}


def read_tally(path: str | os.PathLike[str]) -> Tally:
    """Which tally does this file hold?

    Parameters
    ----------
    path
        A file written by :meth:`Tally.write`, or by anything else in the format of
        ``docs/counts.md``: Parquet, CSV or JSON, such as the result of :func:`sql`.

    Examples
    --------
    >>> import tempfile, os
    >>> t = Tally([0.9, 0.1], pos=[1, 0], neg=[0, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     t.write(os.path.join(folder, "t.parquet"))
    ...     read_tally(os.path.join(folder, "t.parquet")) == t
    True
    """
    place = _options.file_path(path, "read_tally")
    if not place.is_file():
        raise InputError(f"There is no file {place} to read a tally from.")
    with as_written(place, "counts as docs/counts.md says"):
        if place.suffix.lower() == ".json":
            about = json.loads(place.read_text(encoding="utf-8"))
            if about.get("trueness", "counts") != "counts":
                raise ValueError(f"it is a {about['trueness']!r}")
            held = dict(about["columns"])
            _known_version(about, place)
            columns = {k: _exact(v) for k, v in held.items()}
            return _recognised(columns, place).with_design(**_words(about))
        if place.suffix.lower() != ".csv":
            return tally_of_columns(*read_columns(path, "tally"))
        with place.open(encoding="utf-8-sig", newline="") as file:
            head, *rows = [r for r in csv.reader(file) if r] or [[]]
        if any(len(r) != len(head) for r in rows):
            raise InputError(f"{place} has lines of different numbers of fields.")
        texts = zip(*rows, strict=True) if rows else (() for _ in head)
        columns = {k: _read(k, v) for k, v in zip(head, texts, strict=True)}
        return _recognised(columns, place)


def _recognised(columns: dict[str, Any], place: Path) -> Tally:
    """Make a tally of columns that are recognised by their names."""
    if not are_counts(columns):
        raise InputError(
            f"{place} must have the columns score, neg, pos and unknown; it has "
            f"{listing(columns, 12)}. To count a file of predictions type "
            f'trueness.tally(trueness.scan(...), label="y", score="p").'
        )
    return tally_of_counts(
        {k: columns[name] for k, name in count_columns_of(columns).items()}
    )


def _read(name: str, texts: tuple[str, ...]) -> Any:
    """Read a column of text: whole numbers, numbers, or names."""
    names = name.lower() == "cluster"  # 7 and 007 are two, and one may be called nan
    for kind in (int,) if names else (int, float):
        with suppress(ValueError):
            values = [kind(t) for t in texts]
            if not names or tuple(map(str, values)) == texts:
                return _exact(values)
    return np.array(texts)


def _exact(values: list[Any]) -> Any:
    """Give an array; whole numbers that 64 bits cannot hold stay as they are."""
    whole = all(type(v) is int for v in values)
    wide = whole and any(abs(v) >= 2**63 for v in values)
    odd = wide or any(v is None for v in values)
    return np.array(values, object if odd else np.int64 if whole else None)


def tally_of_columns(columns: dict[str, Any], about: dict[str, Any]) -> Tally:
    """Make the tally again whose ``named_columns`` these are."""
    return tally_of_counts(columns).with_design(**_words(about))


def _words(about: dict[str, Any]) -> dict[str, Any]:
    """Give what a file says of the design; words of later versions are left out."""
    said = about.get("design") or {}
    return {k: said.get(k) for k in DESIGN}


def read_panel(path: str | os.PathLike[str]) -> Panel:
    """Which panel does this file hold?

    Parameters
    ----------
    path
        A file written by :meth:`Panel.write`.
    """
    with as_written(path, "a panel"):
        columns, about = read_columns(path, "panel")
        names = _columns.distinct_names(about["names"], "names")
        outputs = enumerate(names)
        rows = np.column_stack(
            [read_output(columns[f"output_{k}"], n) for k, n in outputs]
        )
        if len(names) != sum(k.startswith("output_") for k in columns):
            raise ValueError("it has not one name for each output")
        counts = counts_in(columns)
        made = panel_of_rows(tuple(names), *merge_rows(rows, counts))
        if "cluster" in columns:
            held = find_rows(rows, made.rows)
            put_in_clusters(made, held, columns["cluster"], counts)
        return made.with_design(**about.get("design", {}))


def write_columns(
    columns: dict[str, Any], about: dict[str, Any], path: str | os.PathLike[str]
) -> None:
    """Write named columns and what they are, all or nothing."""
    pa, pq = required("pyarrow", "files"), required("pyarrow.parquet", "files")

    metadata = {_KEY: json.dumps({"version": VERSION, **about}).encode()}
    with replacing(path) as temporary:
        table = pa.table({k: np.ascontiguousarray(v) for k, v in columns.items()})
        with temporary.open("wb") as file:  # PyArrow cannot open every name itself
            pq.write_table(table.replace_schema_metadata(metadata), file)


def read_columns(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what ``write_columns`` wrote, if it is of this kind."""
    pa, pq = required("pyarrow", "files"), required("pyarrow.parquet", "files")

    path = _options.file_path(path, f"read_{kind}")
    if not path.is_file():
        raise InputError(f"There is no file {path} to read a {kind} from.")
    try:
        # a file of Arrow's: its threads let go of one of Python's when Python is gone
        with pa.OSFile(os.fspath(path), "rb") as file:
            held = pq.ParquetFile(file)
            _not_swollen(path, held.metadata.num_rows * 8 * len(held.schema_arrow))
            texts = [f.name for f in held.schema_arrow if pa.types.is_string(f.type)]
            file.seek(0)
            table = pq.read_table(file, partitioning=None, read_dictionary=texts)
        # the longest text of each column, every one of which is held once
        held_once = [
            [c.dictionary for c in column.chunks if hasattr(c, "dictionary")]
            for column in table.columns
        ]
        letters = [
            max((len(str(v)) for words in texts for v in words.to_pylist()), default=0)
            for texts in held_once
        ]
        _not_swollen(path, table.num_rows * sum(letters))
    except (pa.ArrowInvalid, OSError) as err:
        raise InputError(
            f"{os.fspath(path)} must be a Parquet file written by {kind}.write; it "
            f"cannot be read: {err}"
        ) from None
    if kind == "tally" and are_counts(table.column_names):  # of whoever wrote it
        about = {"version": VERSION, "kind": kind}
        if _KEY in (table.schema.metadata or {}):
            about = _about(table.schema.metadata, path, kind)
        named = count_columns_of(table.column_names)
        return {k: table[name].to_numpy() for k, name in named.items()}, about
    about = _about(table.schema.metadata, path, kind)
    return {k: table[k].to_numpy() for k in table.column_names}, about


def _not_swollen(path: Path, size: int) -> None:
    """Stop before a small file takes all memory: the same value may stand often."""
    if size > max(_LARGE, _SWOLLEN * path.stat().st_size):
        raise InputError(
            f"{path} unpacks to {size >> 20:,} MB, more than {_SWOLLEN} times its own "
            f"size, which no file of counts does. Is it the right file?"
        )


def _known_version(about: Mapping[str, Any], path: Path) -> None:
    version = about.get("version", VERSION)
    if type(version) is not int or version < 1:
        raise ValueError(f"version {version!r} is none")
    if version > VERSION:
        raise InputError(
            f"{path} has format {about['version']}; this Trueness reads up "
            f"to {VERSION}. Upgrade with pip install -U trueness."
        )


def _about(
    metadata: Mapping[bytes, bytes] | None, path: Path, kind: str
) -> dict[str, Any]:
    if metadata is None or _KEY not in metadata:
        raise InputError(
            f"{path} was not written by {kind}.write. To count a file of "
            f"predictions, read it into a frame and type "
            f'trueness.{kind}(frame, label="y", ...).'
        )
    about: dict[str, Any] = json.loads(metadata[_KEY])
    _known_version(about, path)
    known = ("tally", "panel", "stream", "watch")
    _options.choice(about["kind"], known, "the kind in the file")
    if about["kind"] != kind:
        verb = "load" if about["kind"] == "watch" else "read"
        raise InputError(
            f"{path} holds a {about['kind']}; type trueness.{verb}_{about['kind']}."
        )
    return about
