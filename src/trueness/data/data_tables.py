"""What has to be known of data to find their columns, wherever the data are.

Frames and mappings in memory are a ``FrameTable`` (``frame_tables``), files are a
``RelationTable`` (``relation_tables``), which asks DuckDB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from trueness.data.repeated_cases import RepeatedCases

# what a column holds
WHOLE, REAL, TRUTH, TEXT = "whole numbers", "numbers", "true and false", "text"
DATE, OTHER = "dates", "lists or objects"

ROUNDED = 0.02  # two probabilities with two decimals add up to 1 within this


class DataTable(Protocol):
    """Facts about data from which their columns are found."""

    @property
    def kinds(self) -> Mapping[str, str]:
        """Return what each column holds, a constant of this module."""
        ...

    def distinct(self, column: str, max_values: int) -> list[Any]:
        """Return the values of a column without missing ones, at most one too many."""
        ...

    def reads_as(self, column: str) -> str:
        """Return what the words of text mean: labels, numbers, missing or text."""
        ...

    def extents(self, columns: Sequence[str]) -> list[tuple[Any, Any]]:
        """Return the least and the largest value of columns of numbers."""
        ...

    def add_up_to_one(self, first: str, second: str) -> bool:
        """Return whether two columns add up to 1 in each row, up to rounding."""
        ...

    def mostly_empty(self) -> list[str]:
        """Return the columns that are empty in more than half of the rows."""
        ...

    def different_rows(self, columns: Sequence[str]) -> tuple[int, int]:
        """Return how many rows there are, and how many differ in these columns."""
        ...

    def value_counts(self, columns: Sequence[str]) -> tuple[int, dict[str, int]]:
        """Return how many rows there are, and about how many values of each column."""
        ...

    def repeated_cases(self, case: str, part: str, label: str) -> RepeatedCases:
        """Return how often cases repeat, and whether their labels agree."""
        ...
