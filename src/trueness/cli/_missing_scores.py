"""In which rows of the user's file is a score missing?

Counts know no rows. Where an answer stops at a missing score, the file is read once
more, in its order, and the error says where to look.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError
from trueness.cli._columns import FileData
from trueness.cli._source import Source, open_source
from trueness.data.cleaning import is_missing_word
from trueness.data.columns import column
from trueness.data.text_files import decoded, separators

MAX_BYTES = 1 << 27  # a larger file is not read once more
MAX_ROWS_NAMED = 5  # rows that are named


@contextmanager
def naming_rows_without_score(data: FileData) -> Iterator[None]:
    """Add to an error about missing scores where they are in the file."""
    try:
        yield
    except InputError as err:
        where = _rows_to_name(err, data)
        if not where:
            raise
        raise err.rephrased(message=f"{err.message} {where}") from err


def _rows_to_name(err: InputError, data: FileData) -> str:
    """Return a sentence about the rows without a score; empty where there is none."""
    path = Path(data.source.path)
    is_about_scores = err.option == "missing_scores"
    if not is_about_scores or not path.is_file() or path.stat().st_size > MAX_BYTES:
        return ""

    with suppress(InputError, OSError, UnicodeError, csv.Error):
        return places_without_score(data.source, data.request.scores)

    return ""


def places_without_score(source: Source, scores: Sequence[str]) -> str:
    """Say in which lines, or rows, of a file a score is missing or infinite."""
    if source.is_text:
        lines = _lines_of_text(source, scores)
        if lines is not None:
            return _sentence_on_places("line", lines)
    return _sentence_on_places("row", _rows_in_order(source, scores))


def _sentence_on_places(kind: str, numbers: Sequence[int]) -> str:
    """Name the lines or rows, the first few of many."""
    if not numbers:
        return ""

    kinds = kind if len(numbers) == 1 else f"{kind}s"
    named = ", ".join(f"{number:,}" for number in numbers[:MAX_ROWS_NAMED])
    others = ""
    if len(numbers) > MAX_ROWS_NAMED:
        others = f" and {len(numbers) - MAX_ROWS_NAMED:,} more"

    return f"See {kinds} {named}{others} of the file."


def _lines_of_text(source: Source, scores: Sequence[str]) -> list[int] | None:
    """Return the lines of a CSV file, as an editor counts them; None where unclear."""
    if Path(source.path).suffix.lower() not in (".csv", ".tsv", ".txt"):
        return None  # compressed

    text = decoded(source.path)
    for sign in separators(text):
        records = csv.reader(io.StringIO(text, newline=""), delimiter=sign)
        # the header is the first line that has the name of every score once
        for record in records:
            names = [" ".join(name.split()) for name in record]
            if all(names.count(score) == 1 for score in scores):
                places = [names.index(score) for score in scores]
                return _lines_that_lack(records, places)

    return None


def _lines_that_lack(records: Any, places: Sequence[int]) -> list[int]:
    """Return the lines of a CSV reader that have no number in one of these places."""
    lines = []
    for record in records:
        is_empty = not any(map(str.strip, record))
        if not is_empty and _lacks_a_number(record, places):
            lines.append(records.line_num)
    return lines


def _lacks_a_number(record: Sequence[str], places: Sequence[int]) -> bool:
    """Return whether this record lacks a number in one of these places."""
    for place in places:
        # a line may end before the score
        word = record[place].strip() if place < len(record) else ""
        is_infinite = word.lower().lstrip("+-") in ("inf", "infinity")
        if is_missing_word(word) or is_infinite:
            return True
    return False


def _rows_in_order(source: Source, scores: Sequence[str]) -> list[int]:
    """Return the rows of Parquet, JSON lines or a table, counted from 1."""
    table = open_source(source.name, ordered=True).only(scores).to_arrow_table()

    lacks_score = np.zeros(table.num_rows, bool)
    for score in scores:
        values = column(table[score], score)
        if values.dtype.kind == "f":
            lacks_score |= ~np.isfinite(values)
        elif values.dtype.kind == "O":
            missing = [value is None or is_missing_word(value) for value in values]
            lacks_score |= np.array(missing, bool)

    return [int(row) + 1 for row in np.flatnonzero(lacks_score)]
