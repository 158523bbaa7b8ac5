"""How is a tally kept on disk, to be merged later?

A Parquet file with the columns of the value and versioned metadata, written to a
temporary file beside it and then moved into place: a reader never sees half a file, and
a failed write leaves what was there. The door for PyArrow.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Any

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.files import replacing
from trueness._core.imports import required
from trueness.counts.bins import merge_bins
from trueness.counts.cases import COUNTS, SQUARES, by_cell, put_in_clusters
from trueness.counts.design import PLAIN
from trueness.counts.rows import find_rows, merge_rows
from trueness.counts.values import Panel, Tally, panel_of_rows, rows_of, tally_of_bins

VERSION = 1
_KEY = b"trueness"


def write_tally(tally: Tally, path: str | os.PathLike[str]) -> None:
    """Write a tally; see :meth:`trueness.Tally.write`."""
    write_columns(tally.named_columns, {"kind": "tally", **_design(tally)}, path)


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
        A file written by :meth:`Tally.write`.

    Examples
    --------
    >>> import tempfile, os
    >>> t = Tally([0.9, 0.1], pos=[1, 0], neg=[0, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     t.write(os.path.join(folder, "t.parquet"))
    ...     read_tally(os.path.join(folder, "t.parquet")) == t
    True
    """
    return tally_of_columns(*read_columns(path, "tally"))


def tally_of_columns(columns: dict[str, Any], about: dict[str, Any]) -> Tally:
    """Make the tally again whose ``named_columns`` these are."""
    score, counts = columns["score"], counts_of(columns)
    made = tally_of_bins(*merge_bins(score, columns.get("high", score), counts))
    if "cluster" in columns:
        put_in_clusters(made, rows_of(made, score), columns["cluster"], counts)
    return made.with_design(**about.get("design", {}))


def read_panel(path: str | os.PathLike[str]) -> Panel:
    """Which panel does this file hold?

    Parameters
    ----------
    path
        A file written by :meth:`Panel.write`.
    """
    columns, about = read_columns(path, "panel")
    names = about["names"]
    rows = np.column_stack([columns[f"output_{k}"] for k in range(len(names))])
    counts = counts_of(columns)
    made = panel_of_rows(tuple(names), *merge_rows(rows, counts))
    if "cluster" in columns:
        held = find_rows(rows, made.rows)
        put_in_clusters(made, held, columns["cluster"], counts)
    return made.with_design(**about.get("design", {}))


def counts_of(columns: dict[str, Any]) -> list[Any]:
    """Give the counts; of weighted cases the sums of weights, then of squares."""
    return [columns[k] for k in (*COUNTS, *SQUARES) if k in columns]


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
        with path.open("rb") as file:
            table = pq.read_table(file, partitioning=None)
    except (pa.ArrowInvalid, OSError) as err:
        raise InputError(
            f"{os.fspath(path)} must be a Parquet file written by {kind}.write; it "
            f"cannot be read: {err}"
        ) from None
    about = _about(table.schema.metadata, path, kind)
    return {k: table[k].to_numpy() for k in table.column_names}, about


def _about(metadata: Any, path: Any, kind: str) -> dict[str, Any]:
    if _KEY not in (metadata or {}):
        raise InputError(
            f"{os.fspath(path)} was not written by {kind}.write. To count a file of "
            f"predictions, read it into a frame and type "
            f'trueness.{kind}(frame, label="y", ...).'
        )
    about: dict[str, Any] = json.loads(metadata[_KEY])
    if about["version"] > VERSION:
        raise InputError(
            f"{os.fspath(path)} has format {about['version']}; this Trueness reads up "
            f"to {VERSION}. Upgrade with pip install -U trueness."
        )
    known = ("tally", "panel", "stream", "watch")
    _options.choice(about["kind"], known, "the kind in the file")
    if about["kind"] != kind:
        verb = "load" if about["kind"] == "watch" else "read"
        raise InputError(
            f"{os.fspath(path)} holds a {about['kind']}; type trueness.{verb}_"
            f"{about['kind']}."
        )
    return about
