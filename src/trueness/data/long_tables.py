"""Does a table have several rows for each case?

A long table (case, truth, model, score) has a row for each case and model. Counted as
it is, each case counts as often as there are models: intervals are too narrow. It
is recognised by its columns: one names the cases, another tells the rows of a case
apart, no pair of their values comes twice, and the label belongs to the case.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import permutations
from typing import final

from trueness._core.checks.errors import InputError
from trueness.data.column_names import names_of
from trueness.data.data_tables import DATE, OTHER, TEXT, WHOLE, DataTable
from trueness.data.repeated_cases import RepeatedCases

# a larger table is not read once more for this
MOST_ROWS = 2_000_000
MOST_COLUMNS = 40  # that are looked at
MOST_PARTS = 50  # rows of one case
# fewer repeated cases than this, of either label, may agree by chance
LEAST_CASES = 5


@final
@dataclass(frozen=True)
class LongTable:
    """Columns of a table with several rows for each case."""

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


def refuse_long_table(
    table: DataTable, label: str, scores: Collection[str], *, compares: bool = False
) -> None:
    """Raise an error where each case would count several times, and nobody said so.

    ``compares``: the analysis needs a column of scores for each part.
    """
    long_table = find_long_table(table, label, {label, *scores})
    if long_table is None:
        return

    advice = "To compare them, put the scores of each into a column of its own."
    if compares:
        raise InputError(f"{long_table} {advice}", option="score")

    raise InputError(
        f"{long_table} Name the clusters; for an answer about each value, name "
        f"{long_table.part!r} as groups too. {advice}",
        option="cluster",
        example=long_table.case,
    )


def find_long_table(
    table: DataTable, label: str, taken: Collection[str]
) -> LongTable | None:
    """Return the columns of the cases and of their parts; None where there are none."""
    candidates = [
        column
        for column, kind in table.kinds.items()
        if column not in taken and kind in (WHOLE, TEXT, DATE)
    ][:MOST_COLUMNS]
    if len(candidates) < 2 or table.kinds.get(label, OTHER) == OTHER:
        return None

    rows, _ = table.value_counts([])
    if rows > MOST_ROWS:
        return None

    _, n_distinct = table.value_counts(candidates)
    for case, part in permutations(candidates, 2):
        if not _could_be_long(n_distinct[case], n_distinct[part], rows):
            continue
        repeats = table.repeated_cases(case, part, label)
        if _is_long(repeats):
            names = tuple(str(value) for value in table.distinct(part, MOST_PARTS))
            return LongTable(case, part, repeats.cases, repeats.rows, names)

    return None


def _could_be_long(cases: int, parts: int, rows: int) -> bool:
    """Return whether so many cases can have so many rows each, roughly."""
    several = 2 <= parts <= MOST_PARTS and LEAST_CASES <= cases <= 0.85 * rows
    return several and 0.8 * rows <= cases * parts <= 1.8 * rows


def _is_long(repeats: RepeatedCases) -> bool:
    """Return whether cases are repeated, once for each part, each with one label."""
    once_a_part = repeats.pairs == repeats.rows
    one_label = repeats.case_labels == repeats.labelled_cases
    repeated = 4 * repeats.cases <= 3 * repeats.rows
    if not (once_a_part and one_label and repeated):
        return False

    # with one positive the label could hardly differ within a case
    cases_of_labels = repeats.cases_of_labels
    return len(cases_of_labels) >= 2 and min(cases_of_labels) >= LEAST_CASES
