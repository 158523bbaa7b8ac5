"""Which rows of outputs are the same, and how many cases do they hold together?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints, begins_run
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError


def merge_rows(rows: Floats, counts: Sequence[Ints]) -> tuple[Array, ...]:
    """Add up equal rows, in descending order, NaN last; drop rows without a case."""
    codes = _vote_codes(rows)
    if codes is not None and sum(int(c.sum()) for c in counts) < 1 << 53:
        return _merge_votes(codes, rows.shape[1], counts)
    order = _descending(rows)
    rows = rows[order]
    start = np.flatnonzero(_differs(rows))
    total = [
        np.add.reduceat(c[order], start) if start.size else c[order] for c in counts
    ]
    some = np.add.reduce([t != 0 for t in total], axis=0).astype(bool)
    return rows[start][some], *(t[some] for t in total)


def _vote_codes(rows: Floats) -> Array | None:
    """Number rows of 1, 0 and NaN in base 3, so that ascending is descending rows."""
    if rows.shape[1] > 10 or not _is_vote(rows[:1]).all():
        return None
    code = np.zeros(len(rows), dtype=np.uint16)  # 3**10 < 2**16
    for column in rows.T:
        if not _is_vote(column).all():
            return None
        code *= np.uint16(3)
        code += np.uint16(1) - (column == 1) + np.isnan(column)
    return code


def _is_vote(values: Array) -> NDArray[np.bool_]:
    return np.asarray((values == 0) | (values == 1) | np.isnan(values))


def _merge_votes(
    codes: Array, voters: int, counts: Sequence[Ints]
) -> tuple[Array, ...]:
    # bincount adds in float64, which is exact below 2**53
    total = [
        np.bincount(codes, weights=c, minlength=3**voters).astype(c.dtype)
        for c in counts
    ]
    code = np.flatnonzero(np.add.reduce(total))
    digits = code[:, None] // 3 ** np.arange(voters - 1, -1, -1) % 3
    return np.array([1.0, 0.0, np.nan])[digits], *(t[code] for t in total)


def _descending(rows: Floats) -> Array:
    """Order rows from the highest down; later columns only break ties of the first."""
    order = np.argsort(-rows[:, 0], kind="stable")
    tied = ~_differs(rows[order, :1])
    tied[:-1] |= tied[1:]
    at = np.flatnonzero(tied)
    if at.size and rows.shape[1] > 1:
        part = order[at]
        order[at] = part[np.lexsort(-rows[part].T[::-1])]
    return order


def _differs(rows: Floats) -> NDArray[np.bool_]:
    """Which rows differ from the one before? NaN equals NaN."""
    new = np.zeros(len(rows), dtype=bool)
    new[:1] = True
    for column in rows.T:
        a, b = column[1:], column[:-1]
        new[1:] |= (a != b) & ~(np.isnan(a) & np.isnan(b))
        if new.all():  # the usual case of continuous scores
            break
    return new


def find_rows(rows: Floats, among: Floats) -> Ints:
    """Where does each row stand among distinct ones? NaN equals NaN; -1: nowhere."""
    both = np.concatenate([among, rows])
    both = np.where(np.isnan(both), np.inf, both)  # outputs are finite
    code = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    place = np.full(code.max(initial=-1) + 1, -1)
    place[code[: len(among)]] = np.arange(len(among))
    return place[code[len(among) :]]


Bins = tuple[Floats, Floats, list[Ints]]
_Both = Sequence[Sequence[Array]]
BINS_FORGOTTEN = (
    "The bins of this binned tally are lost, and answers will have no limits, "
    "because the function may rise and fall within a bin. If it never does, type "
    "tally.map(f, monotone=True)."
)


def merge_bins(low: Floats, high: Floats, counts: Sequence[Ints]) -> Bins:
    """Join bins that overlap, highest first; bins without a case are dropped."""
    some = np.add.reduce([c != 0 for c in counts], axis=0).astype(bool)
    order = np.flatnonzero(some)[np.argsort(-high[some], kind="stable")]
    low, high = low[order], high[order]
    # a bin starts anew when it ends below everything before it
    reach = np.minimum.accumulate(low)
    start = np.flatnonzero(np.concatenate([[True], high[1:] < reach[:-1]])[: low.size])
    if start.size == 0:
        return low, high, [c[order] for c in counts]
    columns = [np.add.reduceat(c[order], start) for c in counts]
    return np.minimum.reduceat(low, start), high[start], columns


def equal_depth(cases: Ints, at_most: int) -> Ints:
    """Where does each bin start, when rows are put into bins of about equal size?

    At most ``at_most`` bins, of neighbouring rows; a row is never divided.

    >>> equal_depth(np.array([1, 1, 5, 1, 1]), 3)
    array([0, 3])
    """
    before = np.cumsum(cases) - cases
    # in floating point: the product of two large counts may leave int64
    bin = np.floor(before / (cases.sum() or 1) * at_most)
    return np.flatnonzero(np.diff(bin, prepend=-1))


def no_small(counts: Sequence[Array], at_least: int) -> Ints:
    """Where does each bin start, when no count in it may be small, but zero?

    A bin ends as soon as it can; what is left at the end joins the bins before it. Of
    weights and squares, Kish's number of equal cases is at most that of the cases.

    >>> no_small([np.array([0, 1, 3, 9]), np.array([6, 0, 2, 0])], 2)
    array([0, 1, 3])
    """
    upto = [np.cumsum(c) for c in counts]

    def fine(first: int, last: int) -> bool:
        sums = [u[last] - (u[first - 1] if first else 0) for u in upto]
        if len(sums) > 3:  # rounding neither makes a case nor takes one away
            each = zip(sums[:3], sums[3:], upto[:3], strict=True)
            sums = [
                w * w / q * (1 + _ROUNDING) if w > _ROUNDING * u[-1] else 0
                for w, q, u in each
            ]
        return all(n == 0 or n >= at_least for n in sums)

    size, start, first = len(counts[0]), [], 0
    for last in range(size):
        if fine(first, last):
            start.append(first)
            first = last + 1
    while first < size and start and not fine(start[-1], size - 1):
        start.pop()
    if first < size and not start:
        raise InputError(
            f"Counts can be shared when each kind of cases, negative, positive or "
            f"unknown, has none or at least {at_least}; there are fewer of one "
            f"of them. Choose a smaller at_least=, or leave these cases out."
        )
    return np.array(start, np.int64)


def joined(start: Ints, low: Floats, high: Floats, counts: Sequence[Array]) -> Bins:
    """Put neighbouring rows, highest first, into the bins that start there."""
    if start.size == 0:
        return low, high, list(counts)
    last = np.append(start[1:], low.size) - 1
    return low[last], high[start], [np.add.reduceat(c, start) for c in counts]


def less(columns: Sequence[Array], at: Ints, part: Sequence[Array]) -> list[Array]:
    """Subtract counts, or weights, of a part from those of the rows ``at``.

    Sums of weights are not exact, so a rest that rounding can explain is none.
    """
    left = []
    for whole, gone in zip(columns, part, strict=True):
        rest = whole.copy()
        np.subtract.at(rest, at, gone)
        if rest.dtype.kind == "f":
            rest[np.abs(rest) <= _ROUNDING * whole] = 0.0
        left.append(rest)
    return left


# far above the rounding of a sum of millions, far below any weight that matters
_ROUNDING = 1e-9


def turned_bins(ends: Floats, counts: Sequence[Ints]) -> Bins:
    """Give the bins after a monotone function of the scores.

    ``ends`` holds its values at the lower ends, then at the upper ones.
    """
    ends = ends.reshape(2, -1)
    steps = np.diff(ends[::-1].T.ravel())
    if (steps > 0).any() and (steps < 0).any():
        raise InputError(
            "monotone=True was given for a function that rises and falls: the ends "
            "of the bins are no longer in order. Leave it out."
        )
    return merge_bins(ends.min(axis=0), ends.max(axis=0), counts)


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


def cells(names: Array, row: Array, code: Array, columns: Iterable[Array]) -> Clusters:
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


def join(
    a: Clusters, b: Clusters, rows: tuple[Array, Array], columns: _Both
) -> Clusters:
    """Put the cells of both together; clusters of the same name are one.

    ``rows`` say where the rows of each are now, ``columns`` are counts of one kind.
    """
    names, mine, others = _one_list(a, b)
    row = np.concatenate([rows[0][a.row], rows[1][b.row]])
    both = [np.concatenate(pair) for pair in zip(*columns, strict=True)]
    return cells(names, row, np.concatenate([mine, others]), both)


def take_out(whole: Clusters, part: Clusters, held: Array, columns: _Both) -> Clusters:
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
