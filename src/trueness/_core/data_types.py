"""What people pass: the types of columns, frames and labels of any library.

They are for type checkers and readers. What was passed is checked where it is read, at
the doors of the package.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias


class SupportsArray(Protocol):
    """What NumPy can read: an array, a Series, a tensor."""

    def __array__(self) -> Any:
        """Return an array."""


class NamesColumns(Protocol):
    """A frame of pandas, Polars, Arrow, DuckDB, Spark, Ibis, Narwhals."""

    @property
    def columns(self) -> Any:
        """Return the names, or the columns."""


Column: TypeAlias = SupportsArray | Sequence[Any]
"""A value for each case; beside a frame also the name of a column, a text."""

Frame: TypeAlias = NamesColumns | Mapping[str, Column]
"""Columns by their names."""

ColumnOrFrame: TypeAlias = Column | Frame
"""A column of labels, or the frame that holds them with the scores."""

Features: TypeAlias = SupportsArray | NamesColumns | Sequence[Any]
"""A row for each case, a column for each feature, as scikit-learn takes them."""

LabelValue: TypeAlias = Hashable
"""One value of a column of labels or groups: a number, a text, a truth value."""
