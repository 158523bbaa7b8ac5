"""What do tallies and panels share: three columns of counts, or six of weights.

``neg``, ``pos`` and ``unknown`` are numbers of cases. Where cases are weighted they are
sums of weights, and three more columns hold the sums of the squared weights. Both are
added up, chosen and merged alike, so the two values treat them as "the columns".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Ints, no_cases
from trueness._core.checks import columns as _columns
from trueness._core.html import html_table
from trueness._core.numbers import number_of
from trueness._core.records import brief

Squares = tuple[Array, Array, Array]  # sums of squared weights: neg, pos, unknown


class Cases:
    """Rows with counts, or sums of weights, of negatives, positives and unknowns."""

    neg: Ints
    pos: Ints
    unknown: Ints
    _squares: Squares | None

    @property
    def n(self) -> int:
        """How many cases, labelled or not? Of weighted ones, the sum of weights."""
        return self.n_neg + self.n_pos + self.n_unknown

    @cached_property
    def n_neg(self) -> int:
        """How many negative cases?"""
        return total(self.neg)

    @cached_property
    def n_pos(self) -> int:
        """How many positive cases?"""
        return total(self.pos)

    @cached_property
    def n_unknown(self) -> int:
        """How many cases without a label?"""
        return total(self.unknown)

    @property
    def weighted(self) -> bool:
        """Are these sums of weights instead of counts?"""
        return self._squares is not None

    @property
    def squares(self) -> Squares:
        """Sums of squared weights of negatives, positives, unknowns; else the counts.

        A counted case has weight one, whose square is one.
        """
        return self._squares or (self.neg, self.pos, self.unknown)

    @property
    def counts(self) -> tuple[Array, ...]:
        """The columns that are added: three of counts, six of weights and squares."""
        three = (self.neg, self.pos, self.unknown)
        return (*three, *self.squares) if self.weighted else three

    def _hidden(self) -> list[Array]:
        """Give the columns of counts with every case unknown."""
        counts, zero = self.counts, no_cases(len(self.neg))
        whole = [np.add.reduce(counts[k : k + 3]) for k in range(0, len(counts), 3)]
        return [column for all_of in whole for column in (zero, zero, all_of)]

    @property
    def prevalence(self) -> float:
        """Which share of the labelled cases is positive? NaN when there are none."""
        return _share(self.n_pos, self.n_neg)


COUNTS = ("neg", "pos", "unknown")
# the names of the sums of squared weights, in frames and files
SQUARES = ("neg_squares", "pos_squares", "unknown_squares")


def fill(value: Any, names: Sequence[str], columns: Sequence[Any]) -> None:
    """Set the fields of a frozen value, arrays read-only; squares come last."""
    fixed = [_read_only(c) if isinstance(c, np.ndarray) else c for c in columns]
    for name, column in zip(names, fixed, strict=False):
        object.__setattr__(value, name, column)
    if len(columns) > len(names):
        object.__setattr__(value, "_squares", tuple(fixed[len(names) :]))


def _read_only(column: Array) -> Array:
    column = column.view()
    column.flags.writeable = False
    return column


def total(column: Array) -> int:
    """Add up; a Python number, whole for counts and with a fraction for weights."""
    number: int = column.sum().item()
    return number


def alike(a: Cases, b: Cases) -> list[list[Array]]:
    """Give the counts of both; beside weights, a case is one of weight one."""
    if not (a.weighted or b.weighted):
        _columns.fit_together(a.n + b.n)
        return [[*x.counts] for x in (a, b)]
    return [
        [np.asarray(c, dtype=np.float64) for c in (x.neg, x.pos, x.unknown, *x.squares)]
        for x in (a, b)
    ]


def same(some: Sequence[Array], others: Sequence[Array]) -> bool:
    """Are these the same columns?"""
    pairs = zip(some, others, strict=False)
    return len(some) == len(others) and all(np.array_equal(a, b) for a, b in pairs)


def known(x: Cases, keep: Array) -> list[Array]:
    """Give the counts of these rows, with the unknown cases left out."""
    zero = no_cases(int(keep.sum()))
    return [zero if k % 3 == 2 else c[keep] for k, c in enumerate(x.counts)]


def by_name(x: Cases) -> dict[str, Array]:
    """Give the columns by their names in frames and files."""
    return dict(zip((*COUNTS, *SQUARES), x.counts, strict=False))


def count_columns(
    size: int, output: str = "score", **given: ArrayLike | None
) -> list[Ints]:
    """Read columns of counts beside an output; None is a column without a case."""
    columns = []
    for name, values in given.items():
        if values is None:
            columns.append(no_cases(size))
            continue
        column = np.atleast_1d(_columns.as_array(values, name))
        column = column.astype(np.int64) if column.size == 0 else column
        column = _columns.whole_counts(_columns.one_dimensional(column, name), name)
        _columns.same_length(**{output: np.empty(size), name: column})
        columns.append(column)
    return columns


def _share(pos: int, neg: int) -> float:
    return pos / (pos + neg) if pos + neg else float("nan")


def describe(x: Cases) -> str:
    """Say what was counted."""
    n, neg, pos, unknown = map(number_of, (x.n, x.n_neg, x.n_pos, x.n_unknown))
    many = f"total weight {n}" if x.weighted else f"{n} cases"
    return f"{many} ({neg} negative, {pos} positive, {unknown} unknown)"


def html(x: Cases, head: tuple[str, ...], rows: Any, most: int = 10) -> str:
    """Show the first rows as a table."""
    first = [tuple(brief(v) for v in row) for row in islice(rows, most)]
    note = f"<p>{x.neg.size - most:,} more rows</p>" if x.neg.size > most else ""
    return f"<p>{type(x).__name__}: {describe(x)}</p>{html_table(head, first)}{note}"
