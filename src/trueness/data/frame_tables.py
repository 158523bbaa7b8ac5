"""Facts about columns in memory, of a frame or a mapping, for finding their roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import plain
from trueness._core.data_types import Frame
from trueness.data import cleaning, engines
from trueness.data.data_tables import (
    DATE,
    OTHER,
    REAL,
    ROUNDED,
    TEXT,
    TRUTH,
    WHOLE,
)
from trueness.data.repeated_cases import (
    RepeatedCases,
    count_repeats,
    number_of_values,
)

MAX_ROWS = 100_000  # of a lazy frame that are read


@final
class FrameTable:
    """Columns of a frame or a mapping; of a lazy frame only the first rows are read."""

    def __init__(self, data: Frame) -> None:
        self._data, _ = engines.with_text_names(data, {})
        lazy = not isinstance(self._data, Mapping)
        if lazy:
            lazy = engines.is_lazy(engines.open_frame(self._data))
        self._max_rows = MAX_ROWS if lazy else None
        self._columns: dict[str, Array] = {}

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """Return what each column holds."""
        unread = engines.unread_columns(self._data)
        readable = [
            column
            for column in engines.column_names(self._data)
            if column not in unread
        ]
        self._columns = engines.columns_of(
            self._data, readable, max_rows=self._max_rows
        )
        kinds = {column: _kind_of(values) for column, values in self._columns.items()}
        return kinds | dict.fromkeys(unread, OTHER)

    @cached_property
    def _present(self) -> dict[str, Array]:
        """Return the values of each column without missing ones."""
        return {column: v[~_columns.missing(v)] for column, v in self._readable.items()}

    @property
    def _readable(self) -> Mapping[str, Array]:
        """Return the columns that are no lists or objects."""
        # the property comes first: it reads the columns
        kinds = self.kinds
        return {
            column: values
            for column, values in self._columns.items()
            if kinds[column] != OTHER
        }

    def distinct(self, column: str, max_values: int) -> list[Any]:
        """Return the values of a column, at most one more than asked for."""
        if self.kinds[column] == OTHER:
            return [None] * (max_values + 1)

        remaining = self._present[column]
        values: list[Any] = []
        # max_values is small: this is faster than sorting the column
        while remaining.size and len(values) <= max_values:
            values.append(plain(remaining[0]))
            remaining = remaining[remaining != remaining[0]]

        return sorted(values, key=str)

    def reads_as(self, column: str) -> str:
        """Return what the words of a column of text mean."""
        if self.kinds[column] != TEXT:
            return ""
        return cleaning.meaning(self._present[column][:1000].tolist())

    def extents(self, columns: Sequence[str]) -> list[tuple[Any, Any]]:
        """Return the least and the largest value of columns of numbers."""
        present = [self._present[column] for column in columns]
        return [(v.min(), v.max()) if v.size else (None, None) for v in present]

    def different_rows(self, columns: Sequence[str]) -> tuple[int, int]:
        """Return how many rows there are, and how many differ in these columns."""
        rows = list(
            zip(*(self._columns[column].tolist() for column in columns), strict=True)
        )
        return len(rows), len({str(row) for row in rows})

    def value_counts(self, columns: Sequence[str]) -> tuple[int, dict[str, int]]:
        """Return how many rows there are, and how many values each column has."""
        number = {column: number_of_values(self._present[column]) for column in columns}
        return max(map(len, self._columns.values()), default=0), number

    def repeated_cases(
        self, case: str, columns_of_part: str, label: str
    ) -> RepeatedCases:
        """Return how often cases repeat, and whether their labels agree."""
        columns = self._columns
        return count_repeats(columns[case], columns[columns_of_part], columns[label])

    def add_up_to_one(self, first: str, second: str) -> bool:
        """Return whether two columns add up to 1 in each row, up to rounding."""
        total = _columns.numeric_scores(self._columns[first], "")
        total = total + _columns.numeric_scores(self._columns[second], "")
        present = total[~np.isnan(total)]
        return bool(present.size) and bool(np.all(np.abs(present - 1) < ROUNDED))

    def mostly_empty(self) -> list[str]:
        """Return the columns that are empty in more than half of the rows."""
        return [
            column
            for column, values in self._readable.items()
            if 2 * self._present[column].size < values.size
        ]


def _kind_of(values: Array) -> str:
    """Return what an array holds."""
    kind = values.dtype.kind
    if kind == "O":
        return _kind_of_objects(values)
    kinds = {"b": TRUTH, "i": WHOLE, "u": WHOLE, "f": REAL, "U": TEXT, "S": TEXT}
    return DATE if kind in "mM" else kinds.get(kind, OTHER)


def _kind_of_objects(values: Array) -> str:
    """Return what an array of Python objects holds, by its values."""
    present = values[~_columns.missing(values)]
    if cleaning.has_text(present):
        return TEXT
    if all(isinstance(v, (bool, np.bool_)) for v in present):
        return TRUTH if present.size else REAL
    if all(hasattr(v, "isoformat") for v in present):
        return DATE

    try:
        number = _columns.numeric_scores(present, "")
    except (InputError, TypeError, ValueError):
        return OTHER

    return WHOLE if (number == np.floor(number)).all() else REAL
