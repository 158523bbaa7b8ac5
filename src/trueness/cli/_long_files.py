"""Does a file have several rows for each case?

A long file (case, truth, model, score) has a row for each case and model. Counted as it
is, each case counts as often as there are models, and every interval is too narrow. It
is recognised by its columns: one names the cases, another tells the rows of a case
apart, no pair of their values comes twice, and the label belongs to the case.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import final

from trueness._core.checks.errors import InputError
from trueness.cli._source import WHOLE_TYPES, Source, names_of
from trueness.data.engines import quoted, reading
from trueness.findings.request import Request

# a larger file is not read once more for this
MOST_ROWS = 2_000_000
MOST_BYTES = 1 << 27
MOST_COLUMNS = 40  # that are looked at
MOST_PARTS = 50  # rows of one case
# fewer repeated cases than this, of either label, may agree by chance
LEAST_CASES = 5
_NAMES = ("VARCHAR", "UUID", "DATE", "ENUM", *WHOLE_TYPES)


@final
@dataclass(frozen=True)
class LongFile:
    """Columns of a file with several rows for each case."""

    case: str  # the column that names the cases
    part: str  # the column that tells the rows of a case apart
    cases: int
    rows: int
    values: tuple[str, ...]  # of the part

    def __str__(self) -> str:
        times = round(self.rows / self.cases)
        return (
            f"Column {self.case!r} names each case in about {times} rows, one for each "
            f"value of {self.part!r} ({names_of(self.values, 4)}). Without clusters "
            f"each case would count {times} times."
        )


def refuse_long_file(source: Source, request: Request, compares: bool = False) -> None:
    """Stop where each case would count several times, and nobody said so.

    ``compares``: the command needs a column of scores for each part.
    """
    found = long_file_of(source, request)
    if found is None:
        return

    apart = "To compare them, put the scores of each into a column of its own."
    if compares:
        raise InputError(f"{found} {apart}", option="score")

    raise InputError(
        f"{found} Name the clusters; for an answer about each value, name "
        f"{found.part!r} as groups too. {apart}",
        option="cluster",
        example=found.case,
    )


def long_file_of(source: Source, request: Request) -> LongFile | None:
    """Is this a long file of which nobody said that rows belong together?"""
    if request.label is None or request.cluster or request.count:
        return None
    return find_long_file(source, request.label, {request.label, *request.scores})


def find_long_file(source: Source, label: str, taken: set[str]) -> LongFile | None:
    """Give the columns of the cases and of their parts; None where there are none."""
    path = Path(source.name)
    if path.is_file() and path.stat().st_size > MOST_BYTES:
        return None

    free = [
        column
        for column, kind in source.types.items()
        if column not in taken and kind.startswith(_NAMES)
    ][:MOST_COLUMNS]
    if len(free) < 2:
        return None

    with reading():
        rows, distinct = _distinct_values(source, free)
        for case, part in permutations(free, 2):
            if not _could_be_long(distinct[case], distinct[part], rows):
                continue
            found = _long_file(source, label, case, part)
            if found is not None:
                return found

    return None


def _distinct_values(source: Source, columns: list[str]) -> tuple[int, dict[str, int]]:
    """Count the rows, and roughly the distinct values of each column."""
    ((rows,),) = source.rows.aggregate("count(*)").fetchall()
    if rows > MOST_ROWS:
        return rows, dict.fromkeys(columns, rows)
    asked = ", ".join(f"approx_count_distinct({quoted(c)})" for c in columns)
    (counts,) = source.rows.aggregate(asked).fetchall()
    return rows, dict(zip(columns, counts, strict=True))


def _could_be_long(cases: int, parts: int, rows: int) -> bool:
    """Can so many cases have so many rows each? The numbers are rough ones."""
    several = 2 <= parts <= MOST_PARTS and LEAST_CASES <= cases <= 0.85 * rows
    return several and 0.8 * rows <= cases * parts <= 1.8 * rows


def _long_file(source: Source, label: str, case: str, part: str) -> LongFile | None:
    """Look exactly: are cases repeated, once a part, each with one label?"""
    a, b, y = quoted(case), quoted(part), quoted(label)
    rows = source.rows.filter(f"{a} IS NOT NULL AND {b} IS NOT NULL")
    asked = (
        f"count(*), count(DISTINCT {a}), count(DISTINCT ({a}, {b})), "
        f"count(DISTINCT ({a}, {y})) FILTER ({y} IS NOT NULL), "
        f"count(DISTINCT {a}) FILTER ({y} IS NOT NULL)"
    )
    ((n, cases, pairs, labelled, labelled_cases),) = rows.aggregate(asked).fetchall()
    if pairs < n or labelled > labelled_cases or 4 * cases > 3 * n:
        return None

    each = rows.aggregate(f"{y}, count(DISTINCT {a}) AS cases", y)
    of_label = sorted(m for v, m in each.fetchall() if v is not None)
    # with one positive the label could hardly differ within a case
    if len(of_label) < 2 or of_label[0] < LEAST_CASES:
        return None

    values = tuple(str(v) for v in source.distinct(part, MOST_PARTS))
    return LongFile(case, part, cases, n, values)
