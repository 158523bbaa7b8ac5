"""How is a sheet of Excel or LibreOffice read?

As text: the sheet becomes a CSV file in a temporary folder, and is then read as any
other, with everything that is understood there (a second header, totals, words).
"""

from __future__ import annotations

import csv
import datetime
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing, nearest
from trueness._core.files import temporary_folder
from trueness._core.imports import required
from trueness.data.cleaning import collected_remarks, meaning, tell

MOST_CELLS = 1000  # of a column, to find out what it holds
ENDINGS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")


def is_spreadsheet(path: str) -> bool:
    """Return whether this is the name of a spreadsheet."""
    return os.path.splitext(path)[1].lower() in ENDINGS


def sheet_as_csv(path: str, sheet: str | None) -> str:
    """Write a sheet to a CSV file, the first one with data when None is named.

    A cell is written as a person reads it: whole numbers without decimals, dates as
    dates, truth values as true and false.
    """
    calamine = required("python_calamine", "files")

    try:
        book = calamine.CalamineWorkbook.from_path(path)
    except (calamine.CalamineError, OSError) as error:
        raise InputError(f"{path} is not a readable spreadsheet: {error}.") from None

    names = list(book.sheet_names)
    if sheet is not None and sheet not in names:
        raise InputError(
            f"{path} has no sheet {sheet!r}; it has {listing(names, 9)}."
            f"{nearest(sheet, names)}",
            option="file",
            choices=names,
        )

    chosen = sheet if sheet is not None else _first_with_data(book, names, path)

    if sheet is None and len(names) > 1:
        others = [name for name in names if name != chosen]
        file = os.path.basename(path)
        tell(
            [
                (
                    f"Sheet {chosen!r} was read. To read another, name it: "
                    f"{file}::{others[0]} is another."
                )
            ]
        )

    rows = _without_titles(_rows_of(book, chosen))
    target = temporary_folder() / f"sheet-{uuid4().hex}.csv"
    with target.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([_text_of(cell) for cell in row] for row in rows)

    return str(Path(target))


def _rows_of(book: Any, sheet: str) -> list[list[Any]]:
    """Return the rows of a sheet that hold a value."""
    rows: list[list[Any]] = book.get_sheet_by_name(sheet).to_python()
    return [row for row in rows if any(cell != "" for cell in row)]


def _without_titles(rows: list[list[Any]]) -> list[list[Any]]:
    """Return the rows from the header on, without titles, which have one cell."""
    header = 0
    for row in rows:
        if sum(cell != "" for cell in row) > 1:
            break
        header += 1

    # at the first row there is nothing above, and without a header all may be data
    if header in (0, len(rows)):
        return rows

    titles = [str(cell) for cell in rows[0] if cell != ""]
    left_out = f"{header} rows" if header > 1 else "a row"
    tell([f"Left out {left_out} above the header: {titles[0][:60]!r}."])
    return rows[header:]


def _first_with_data(book: Any, names: list[str], path: str) -> str:
    """Return the first sheet with a column of numbers or of labels, as data have.

    Where no sheet has one it is the first that holds a header and a row.
    """
    with_rows = []
    for name in names:
        rows = _rows_of(book, name)
        if len(rows) > 1:
            with_rows.append(name)
            with collected_remarks():  # titles are told of the sheet that is read
                cases = _without_titles(rows)[1:]
            if any(_are_data(column) for column in zip(*cases, strict=False)):
                return name

    if not with_rows:
        raise InputError(f"{path} has no sheet with a header and rows.")
    return with_rows[0]


def _are_data(cells: Sequence[Any]) -> bool:
    """Return whether most cells of a column hold numbers or labels."""
    texts = [_text_of(cell) for cell in cells[:MOST_CELLS]]
    return meaning(texts) in ("numbers", "labels")


def _text_of(cell: str | float | datetime.date | datetime.time | None) -> str:
    """Write a cell as text."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, (datetime.date, datetime.time)):
        return cell.isoformat()
    return "" if cell is None else str(cell)
