"""What does a file hold, as far as DuckDB can say without sending its rows?

A ``RelationTable`` tells ``column_roles`` of all rows what a ``FrameTable`` tells of
columns in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from trueness.data.cleaning import meaning
from trueness.data.data_tables import DATE, OTHER, REAL, ROUNDED, TEXT, TRUTH, WHOLE
from trueness.data.engines import quoted
from trueness.data.repeated_cases import RepeatedCases

LETTERS = 200  # of a text, to find out what it means
ROWS_OF_TEXT = 1000  # to find out what its words mean
_SIGNED_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
WHOLE_TYPES = (*_SIGNED_TYPES, *(f"U{kind}" for kind in _SIGNED_TYPES))
REAL_TYPES = ("FLOAT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True)
class _DistinctValues:
    """Values of a column: all of them, or one more than the number asked for."""

    values: list[Any]
    most: int

    def tells(self, most: int) -> bool:
        """Return whether these values answer a request for so many, and for no more.

        So they do if they are all, or if as many were asked for.
        """
        return len(self.values) <= self.most or most <= self.most


@final
@dataclass(frozen=True)
class RelationTable:
    """A relation of DuckDB, of which each question is one query."""

    rows: Any

    @cached_property
    def types(self) -> dict[str, str]:
        """Return the DuckDB type of each column, by its name."""
        return dict(zip(self.rows.columns, map(str, self.rows.types), strict=True))

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """Return what each column holds."""
        return {name: _kind_of(kind) for name, kind in self.types.items()}

    def distinct(self, column: str, max_values: int) -> list[Any]:
        """Return the distinct values of a column, without missing ones.

        Each question reads the whole column, of a file that may be large, so that its
        answer is kept for the next one.
        """
        answer = self._values.get(column)
        if answer is None or not answer.tells(max_values):
            answer = _DistinctValues(
                self._query_distinct(column, max_values), max_values
            )
            self._values[column] = answer
        return answer.values[: max_values + 1]

    @cached_property
    def _values(self) -> dict[str, _DistinctValues]:
        """Return what was found of the values of columns, by their names."""
        return {}

    def _query_distinct(self, column: str, max_values: int) -> list[Any]:
        """Return distinct values of a column, at most one more than ``max_values``."""
        known = self.rows.filter(f"{quoted(column)} IS NOT NULL")
        values = known.select(in_python(column, self.types[column])).distinct()
        rows = values.limit(max_values + 1).fetchall()
        return sorted((value for (value,) in rows), key=str)

    def reads_as(self, column: str) -> str:
        """Return what a column of text holds: numbers, labels or neither."""
        if self.types[column] != "VARCHAR":
            return ""
        rows = self.rows.select(beginning(column)).limit(ROWS_OF_TEXT).fetchall()
        return meaning([value for (value,) in rows if value is not None])

    def extents(self, columns: Sequence[str]) -> list[tuple[Any, Any]]:
        """Return the least and the largest value of columns of numbers."""
        if not columns:
            return []
        expressions = [
            f"min({quoted(column)}), max({quoted(column)})" for column in columns
        ]
        (ends,) = self.rows.aggregate(", ".join(expressions)).fetchall()
        return list(zip(ends[::2], ends[1::2], strict=True))

    def different_rows(self, columns: Sequence[str]) -> tuple[int, int]:
        """Return how many rows there are, and how many differ in these columns."""
        names = ", ".join(map(quoted, columns))
        (total,) = self.rows.aggregate("count(*)").fetchall()[0]
        different = self.rows.select(names).distinct()
        (number,) = different.aggregate("count(*)").fetchall()[0]
        return int(total), int(number)

    def value_counts(self, columns: Sequence[str]) -> tuple[int, dict[str, int]]:
        """Return how many rows there are, and about how many values of each column."""
        expressions = [f"approx_count_distinct({quoted(column)})" for column in columns]
        (counts,) = self.rows.aggregate(
            ", ".join(["count(*)", *expressions])
        ).fetchall()
        return int(counts[0]), dict(zip(columns, counts[1:], strict=True))

    def repeated_cases(self, case: str, part: str, label: str) -> RepeatedCases:
        """Return how often cases repeat, and whether their labels agree."""
        of_case = quoted(case)
        of_part = quoted(part)
        of_label = quoted(label)
        labelled = f"FILTER ({of_label} IS NOT NULL)"
        different_cases = f"count(DISTINCT {of_case})"
        aggregates = [
            "count(*)",
            different_cases,
            f"count(DISTINCT ({of_case}, {of_part}))",
            f"{different_cases} {labelled}",
            f"count(DISTINCT ({of_case}, {of_label})) {labelled}",
        ]
        named = self.rows.filter(f"{of_case} IS NOT NULL AND {of_part} IS NOT NULL")
        (counts,) = named.aggregate(", ".join(aggregates)).fetchall()
        rows, cases, pairs, labelled_cases, case_labels = map(int, counts)
        by_label = named.aggregate(f"{of_label}, {different_cases}", of_label)
        cases_of_labels = tuple(
            int(number)
            for label_value, number in by_label.fetchall()
            if label_value is not None
        )

        return RepeatedCases(
            rows=rows,
            cases=cases,
            pairs=pairs,
            labelled_cases=labelled_cases,
            case_labels=case_labels,
            cases_of_labels=cases_of_labels,
        )

    def add_up_to_one(self, first: str, second: str) -> bool:
        """Return whether two columns add up to 1 in each row, up to rounding."""
        distance = f"max(abs({quoted(first)} + {quoted(second)} - 1))"
        ((largest,),) = self.rows.aggregate(distance).fetchall()
        return largest is not None and largest < ROUNDED

    def mostly_empty(self) -> list[str]:
        """Return the columns that are empty in more than half of the rows."""
        expressions = [
            f"2 * count({quoted(column)}) < count(*)" for column in self.types
        ]
        (empty,) = self.rows.aggregate(", ".join(expressions)).fetchall()
        return [
            column for column, mostly in zip(self.types, empty, strict=True) if mostly
        ]


def _kind_of(kind: str) -> str:
    """Return what a type of DuckDB holds: whole numbers, text, dates and so on."""
    # DOUBLE[] is a list of numbers
    if kind.endswith("]"):
        return OTHER
    if kind in WHOLE_TYPES:
        return WHOLE
    if kind.startswith(REAL_TYPES):
        return REAL
    if kind.startswith(("DATE", "TIME")):
        return DATE
    return {"BOOLEAN": TRUTH, "VARCHAR": TEXT}.get(kind, OTHER)


def beginning(column: str) -> str:
    """Write in SQL the first letters of a text, which may be as long as a book."""
    return f"left({quoted(column)}, {LETTERS})"


def in_python(column: str, kind: str) -> str:
    """Write a column in SQL so that Python can hold its values.

    DuckDB gives times with a time zone through pytz, which need not be installed: they
    are text.
    """
    name = quoted(column)
    return f"CAST({name} AS VARCHAR)" if kind.endswith("WITH TIME ZONE") else name
