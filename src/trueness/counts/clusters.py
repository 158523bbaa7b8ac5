"""Clusters: which cases of each row belong together.

The counts of each row are divided into cells, one for each cluster that has a case
there. Cells are in canonical form, so equal clusters are equal arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Ints, begins_run
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError
from trueness.counts.rows import has_cases, subtract_counts

# whole numbers below this one fit into an int64
_LARGEST_INT = 1 << 63


@final
@dataclass(frozen=True, eq=False)
class Clusters:
    """How many cases of each cluster does each row hold?

    Attributes
    ----------
    names : array (C,)
        The clusters that have a case, in order.
    row, code : array (r,) of int64
        Which row and which cluster a cell is of, in this order.
    counts : tuple of array (r,)
        Negatives, positives and unknowns of a cell; of weighted cases also the sums of
        their squares.
    """

    names: Array
    row: Ints
    code: Ints
    counts: tuple[Array, ...]

    @property
    def number(self) -> int:
        """Count the clusters."""
        return self.names.size

    @cached_property
    def single(self) -> bool:
        """Return whether every cluster holds one case only: cases are independent."""
        if self.row.size != self.number:
            return False

        total = np.add.reduce(self.counts[:3])
        if len(self.counts) == 3:
            return bool((total == 1).all())

        # of a single case, the sum of squares is the square of the sum
        total_square = np.add.reduce(self.counts[3:])
        return bool(np.allclose(total_square, total**2, rtol=1e-12))

    def per_cluster(self, values: Array) -> Array:
        """Add up a value of each cell, cluster by cluster."""
        return np.bincount(self.code, values, self.number)

    def change_counts(
        self, change: Callable[[Sequence[Array]], Sequence[Array]]
    ) -> Clusters:
        """Return the same clusters with changed columns of counts."""
        return canonical_clusters(self.names, self.row, self.code, change(self.counts))

    def move_rows(self, new_row: Array) -> Clusters:
        """Put the cells of row k at ``new_row[k]``; rows at -1 have no cells left."""
        row = new_row[self.row]
        remains = row >= 0
        columns = [column[remains] for column in self.counts]
        return canonical_clusters(self.names, row[remains], self.code[remains], columns)

    def same(self, other: Clusters) -> bool:
        """Return whether these are the same cells."""
        own_arrays = (self.names, self.row, self.code, *self.counts)
        other_arrays = (other.names, other.row, other.code, *other.counts)
        return all(map(np.array_equal, own_arrays, other_arrays))


def canonical_clusters(
    names: Array, row: Array, code: Array, counts: Iterable[Array]
) -> Clusters:
    """Return cells in canonical form: in order, each once, none without a case."""
    columns = list(counts)
    occupied = has_cases(columns)
    row = row[occupied]
    code = code[occupied]
    columns = [column[occupied] for column in columns]

    key = row * max(names.size, 1) + code
    order = np.argsort(key, kind="stable")
    start = np.flatnonzero(begins_run(key[order])) if key.size else order
    if start.size:
        columns = [np.add.reduceat(column[order], start) for column in columns]
    row = row[order][start]
    code = code[order][start]

    # names without a case are dropped, so that equal cells are equal clusters
    used, code = np.unique(code, return_inverse=True)
    return Clusters(names[used], row, code.astype(np.int64), tuple(columns))


def cluster_names(ids: Array) -> tuple[Array, Ints]:
    """Return the distinct names of clusters in order, and the number of each case.

    Whole numbers stay numbers; other names become text, so that shards can be added.
    """
    ids = _columns.one_dimensional(ids, "cluster")
    _columns.named_groups(ids, argument="cluster")
    names, code = np.unique(_canonical_ids(ids), return_inverse=True)
    return names, code.astype(np.int64, copy=False)


def _canonical_ids(ids: Array) -> Array:
    """Return ids in a form that does not depend on the other values of the column."""
    kind = ids.dtype.kind
    if kind == "M":
        return np.datetime_as_string(ids, unit="auto")
    if kind == "b":
        return ids.astype(np.int64)
    if kind in "iU":
        return ids

    names = [_canonical_name(value) for value in ids.tolist()]
    if not names:
        return np.array(names, int)

    # whole numbers that fit into 64 bits stay numbers, all others are texts
    are_numbers = all(type(name) is int and abs(name) < _LARGEST_INT for name in names)
    if are_numbers:
        return np.array(names)
    return np.array([str(name) for name in names])


def _canonical_name(value: Any) -> Any:
    """Return a whole number as an integer, a time as a text, and others as they are."""
    if isinstance(value, (bool, float)) and float(value).is_integer():
        return int(value)
    if not hasattr(value, "isoformat"):
        return value
    if getattr(value, "tzinfo", None) is not None:
        return value.isoformat()
    return str(np.datetime_as_string(np.datetime64(value), unit="auto"))


class _CommonNames(NamedTuple):
    """The names of two sets of clusters, and the number of each cell's name."""

    names: Array
    first_code: Array
    second_code: Array


def _common_names(first: Clusters, second: Clusters) -> _CommonNames:
    """Return the names of both sets of clusters, each name once."""
    first_names = first.names
    second_names = second.names
    if first_names.dtype.kind != second_names.dtype.kind:
        # numbers and text have no common order: both are compared as text
        first_names = first_names.astype(np.str_)
        second_names = second_names.astype(np.str_)

    stacked = np.concatenate([first_names, second_names])
    names, code = np.unique(stacked, return_inverse=True)
    return _CommonNames(
        names,
        first_code=code[: first.number][first.code],
        second_code=code[first.number :][second.code],
    )


def add_clusters(
    first: Clusters,
    second: Clusters,
    rows: tuple[Array, Array],
    columns: Sequence[Sequence[Array]],
) -> Clusters:
    """Return the clusters of both sets; those of the same name become one.

    ``rows`` are the new numbers of the rows of each set, ``columns`` the counts of both
    in the same form.
    """
    common = _common_names(first, second)
    row = np.concatenate([rows[0][first.row], rows[1][second.row]])
    code = np.concatenate([common.first_code, common.second_code])
    counts = [np.concatenate(pair) for pair in zip(*columns, strict=True)]
    return canonical_clusters(common.names, row, code, counts)


def subtract_clusters(
    whole: Clusters,
    part: Clusters,
    row_in_whole: Array,
    columns: Sequence[Sequence[Array]],
) -> Clusters:
    """Return the clusters of a whole without the cases of a part.

    ``row_in_whole`` is the row of the whole that holds each row of the part.
    """
    common = _common_names(whole, part)
    size = common.names.size
    key = whole.row * size + common.first_code
    part_key = row_in_whole[part.row] * size + common.second_code

    # find the cell of the whole that each cell of the part belongs to
    order = np.argsort(key)
    position = np.searchsorted(key, part_key, sorter=order)
    cell = order[np.minimum(position, key.size - 1)]
    is_stray = key[cell] != part_key

    whole_counts, part_counts = columns
    matched_counts = [column[~is_stray] for column in part_counts]
    remaining = subtract_counts(whole_counts, cell[~is_stray], matched_counts)
    if is_stray.any() or any((column < 0).any() for column in remaining):
        raise InputError(
            "a - b removes cases that were added before; some clusters have more "
            "cases in b than in a. Is b the part and a the whole?"
        )
    return canonical_clusters(common.names, whole.row, common.first_code, remaining)
