"""Which cases belong together?

Several images of a patient, several days of a site: such cases say less than as many
independent ones. A clustered tally therefore keeps, beside the counts of each row, how
many of them each cluster has: a *cell* is a row and a cluster, with its counts. Values
never look at cells; limits do, since what was drawn is the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Ints, begins_run
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError
from trueness.counts.bins import less


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
        """Has every cluster one case only? Then there are no clusters."""
        if self.row.size != self.number:
            return False
        total = np.add.reduce(self.counts[:3])
        if len(self.counts) == 3:
            return bool((total == 1).all())
        return bool(np.allclose(np.add.reduce(self.counts[3:]), total**2, rtol=1e-12))

    def per_cluster(self, values: Array) -> Array:
        """Add up a value of each cell, cluster by cluster."""
        return np.bincount(self.code, values, self.number)

    def changed(self, change: Callable[[Sequence[Array]], Sequence[Array]]) -> Clusters:
        """Change the columns of counts, cell by cell."""
        return cells(self.names, self.row, self.code, change(self.counts))

    def moved(self, to: Array) -> Clusters:
        """Put the cells of row k at row ``to[k]``; rows at -1 have no cells left."""
        row = to[self.row]
        keep = row >= 0
        columns = [c[keep] for c in self.counts]
        return cells(self.names, row[keep], self.code[keep], columns)

    def same(self, other: Clusters) -> bool:
        """Are these the same cells?"""
        mine, others = ((x.names, x.row, x.code, *x.counts) for x in (self, other))
        return all(map(np.array_equal, mine, others))


def cluster_names(ids: Array) -> tuple[Array, Ints]:
    """Read clusters of any type: their names in order, and the number of each case's.

    Whole numbers stay numbers; other names are texts, so that shards can be joined.
    """
    ids = _columns.one_dimensional(ids, "cluster")
    _columns.named_groups(ids, what="cluster=")
    kind = ids.dtype.kind
    if kind == "M":
        ids = np.datetime_as_string(ids, unit="auto")
    elif kind not in "biU":
        each = [_name(v) for v in ids.tolist()]
        small = all(type(v) is int and abs(v) < 1 << 63 for v in each)
        ids = np.array(each if small else [str(v) for v in each], None if each else int)
    names, code = np.unique(ids.astype(np.int64) if kind == "b" else ids,
                            return_inverse=True)  # fmt: skip
    return names, code.astype(np.int64, copy=False)


def _name(value: Any) -> Any:
    """Give a name that is the same in all shards, whatever else is in their columns."""
    if isinstance(value, (bool, float)) and value == int(value):
        return int(value)
    if hasattr(value, "isoformat"):
        if getattr(value, "tzinfo", None) is not None:
            return value.isoformat()
        return str(np.datetime_as_string(np.datetime64(value), unit="auto"))
    return value


def cells(names: Array, row: Array, code: Array, columns: Any) -> Clusters:
    """Bring cells into canonical form: in order, none twice, none without a case."""
    columns = list(columns)
    some = np.add.reduce([c != 0 for c in columns], axis=0).astype(bool)
    row, code, columns = row[some], code[some], [c[some] for c in columns]
    key = row * max(names.size, 1) + code
    order = np.argsort(key, kind="stable")
    start = np.flatnonzero(begins_run(key[order])) if key.size else order
    columns = [np.add.reduceat(c[order], start) if start.size else c for c in columns]
    row, code = row[order][start], code[order][start]
    # names without a case are gone, so that equal cells are equal clusters
    there, code = np.unique(code, return_inverse=True)
    return Clusters(names[there], row, code.astype(np.int64), tuple(columns))


def join(a: Clusters, b: Clusters, rows: tuple[Array, Array], columns: Any) -> Clusters:
    """Put the cells of both together; clusters of the same name are one.

    ``rows`` say where the rows of each are now, ``columns`` are counts of one kind.
    """
    names, mine, others = _one_list(a, b)
    row = np.concatenate([rows[0][a.row], rows[1][b.row]])
    both = [np.concatenate(pair) for pair in zip(*columns, strict=True)]
    return cells(names, row, np.concatenate([mine, others]), both)


def take_out(whole: Clusters, part: Clusters, held: Array, columns: Any) -> Clusters:
    """Take the cells of a part out of those of the whole.

    ``held`` says which row of the whole holds each row of the part.
    """
    names, mine, others = _one_list(whole, part)
    key = whole.row * names.size + mine
    wanted = held[part.row] * names.size + others
    order = np.argsort(key)
    at = order[np.minimum(np.searchsorted(key, wanted, sorter=order), key.size - 1)]
    stray = key[at] != wanted
    left = less(columns[0], at[~stray], [c[~stray] for c in columns[1]])
    if stray.any() or any((c < 0).any() for c in left):
        raise InputError(
            "a - b takes out cases that + put in; b has cases in clusters that have "
            "fewer of them in a. Is b the part and a the whole?"
        )
    return cells(names, whole.row, mine, left)


def _one_list(a: Clusters, b: Clusters) -> tuple[Array, Array, Array]:
    """Give the names of both, and of which each of their cells is."""
    first, second = a.names, b.names
    if first.dtype.kind != second.dtype.kind:
        first, second = first.astype(np.str_), second.astype(np.str_)
    names, code = np.unique(np.concatenate([first, second]), return_inverse=True)
    return names, code[: a.number][a.code], code[a.number :][b.code]
