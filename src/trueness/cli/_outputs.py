"""Where do results go? Files appear whole or not at all, and never over the input."""

from __future__ import annotations

import csv
import errno
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.files import is_device, replacing
from trueness._core.imports import required
from trueness._core.progress import progress
from trueness.cli._shell import say
from trueness.cli._source import Source, is_local
from trueness.data.files import meant_by
from trueness.findings.records import Page

FIGURES = (".svg", ".png", ".pdf", ".html")
ROWS = (".parquet", ".csv")


def check_figure(plot: Path | None) -> None:
    """Stop before the work, not after it, when a figure has no format."""
    if plot is not None:
        _options.choice(plot.suffix.lower(), FIGURES, "the ending of --plot")
        required("altair", "plots")
        if plot.suffix.lower() != ".html":
            required("vl_convert", "plots")


def check_targets(file: str | None, options: Mapping[str, Any]) -> None:
    """Stop before the work when a file cannot be written where it is wanted.

    ``file`` is the input; the options that are paths are outputs.
    """
    targets = {
        f"--{k}": v for k, v in options.items() if isinstance(v, Path) and k != "folder"
    }
    read = meant_by(file) if file is not None and is_local(file) else []
    inputs = {os.path.realpath(p) for p in read}
    seen: dict[str, str] = {}
    for option, path in targets.items():
        real = os.path.realpath(path)
        if real in inputs:
            raise InputError(
                f"{option} {path} is the input file, which would be overwritten. "
                f"Choose another name."
            )
        if real in seen:
            raise InputError(
                f"{option} and {seen[real]} name the same file, {path}. Give each its "
                f"own name."
            )
        seen[real] = option
        _check_place(path)


def _check_place(path: Path) -> None:
    if not path.parent.is_dir():
        words = f"{path} cannot be written: there is no folder {path.parent}"
        raise OSError(errno.ENOENT, f"{words}. Make the folder first")
    if path.is_dir():
        raise OSError(errno.EISDIR, f"{path} cannot be written: it is a folder")
    # a device is written itself, other files are replaced in their folder
    place = path if is_device(path) else path.parent
    if not os.access(place, os.W_OK):
        words = f"{path} cannot be written: the folder {path.parent} is read-only"
        raise OSError(errno.EACCES, words)


def make_folder(folder: Path) -> None:
    """Make a folder for several files, or say why it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        words = f"the folder {folder} cannot be made: {err.strerror}"
        raise OSError(err.errno, words) from err


def check_rows(output: Path | None, source: Source, column: str) -> None:
    """Stop before the work when the rows cannot be written with this column."""
    if output is None:
        return
    _options.choice(output.suffix.lower(), ROWS, "the ending of --output")
    if column in source.types:
        raise InputError(
            f"--column must be a new name, but this file already has a column "
            f"{column!r}. Type --column another_name."
        )


def write_rows(
    source: Source, column: str, score: Callable[[Any], Any], output: Path | None
) -> int:
    """Write all rows of a file with one more column, all or nothing; say how many.

    ``score`` makes the column from the table, so that rows cannot get out of step.
    """
    if output is None:
        return 0
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    with progress("Writing", unit=""):
        table = source.rows.to_arrow_table()
        table = table.append_column(column, pa.array(score(table)))
        with replacing(output) as temporary:
            if output.suffix.lower() == ".csv" and source.is_text:
                _write_as_it_was(source.as_text(), column, table[column], temporary)
            elif output.suffix.lower() == ".csv":
                pyarrow.csv.write_csv(table, temporary)
            else:
                pyarrow.parquet.write_table(table, temporary)
    say(f"Rows with column {column!r} written to {output}.")
    return int(table.num_rows)


def _write_as_it_was(rows: Any, column: str, values: Any, path: Path) -> None:
    """Write the text of every row, untouched, with one more column."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*rows.column_names, column])
        start = 0
        for batch in rows.to_batches():
            added = values.slice(start, batch.num_rows).to_pylist()
            start += batch.num_rows
            columns = [c.to_pylist() for c in batch.columns]
            writer.writerows(zip(*columns, added, strict=True))


def write_report(page: Callable[[str], Page], output: Path | None) -> None:
    """Write a page, which is told the command line, where it was asked for."""
    if output is None:
        return
    from trueness.report.page import write_page  # Jinja2 is loaded when needed

    say(f"{write_page(page(command_line()), output)}; open it in a browser.")


def command_line() -> str:
    """Give what was typed, for a report."""
    return shlex.join(["trueness", *sys.argv[1:]])


def save_fitted(fitted: Any, path: Path | None) -> None:
    """Save a fitted map or combiner, to be read by ``trueness.load_map``."""
    if path is None:
        return
    fitted.save(path)
    say(f"Saved what was fitted to {path}.")
