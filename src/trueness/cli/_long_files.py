"""Does a file have several rows for each case, and is it small enough to ask?"""

from __future__ import annotations

from pathlib import Path

from trueness.cli._source import Source
from trueness.data.engines import reading
from trueness.data.long_tables import LongTable, find_long_table, refuse_long_table
from trueness.findings.request import Request

MAX_BYTES = 1 << 27  # a larger file is not read once more for this


def refuse_long_file(source: Source, request: Request, compares: bool = False) -> None:
    """Raise an error where each case would count several times, and nobody said so."""
    if request.label is None or not _is_asked(source, request):
        return
    with reading():
        refuse_long_table(
            source.table, request.label, request.scores, compares=compares
        )


def long_file_of(source: Source, request: Request) -> LongTable | None:
    """Return the table if cases have several rows, and nobody said so; else None."""
    if request.label is None or not _is_asked(source, request):
        return None
    with reading():
        return find_long_table(
            source.table, request.label, {request.label, *request.scores}
        )


def _is_asked(source: Source, request: Request) -> bool:
    """Return whether cases may be counted twice, in a file small enough to look."""
    if request.cluster or request.count:
        return False
    path = Path(source.name)
    return not path.is_file() or path.stat().st_size <= MAX_BYTES
