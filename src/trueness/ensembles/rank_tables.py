"""Which rank has each output among the cases of a reference panel?

Combining classifiers by rank needs three things of every column: a table to rank new
outputs by, the mid-ranks of the reference itself, and its mid-ranks within each class.
One sort a column gives them all. Rank 1 is the highest output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints, begins_run, threads
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness.fermi.distribution import rank_scores

# below this, sorting outputs before they are looked up costs more than it saves
_MANY = 1 << 12


@final
@dataclass(frozen=True)
class RankedColumn:
    """One column of a panel of ``size`` rows, sorted.

    ``score`` and ``cases`` (d,) are distinct outputs, ascending, and how many reference
    cases have each; ``order`` (m',) the rows with an output, ascending, and ``group``
    which entry of ``score`` each of them has.
    """

    score: Floats
    cases: Ints
    order: Array
    group: Array
    size: int

    def midranks(self, out: Floats) -> None:
        """Write the rank of each row among the reference; NaN where it is missing."""
        if self.order.size < out.size:
            out[:] = np.nan
        level = level_ranks(self.cases)
        out[self.order] = level if self.distinct else level[self.group]

    def ranks_within(self, cases: Ints, place: Ints, out: Floats) -> None:
        """Write the ranks of the rows that have ``cases``, among these alone.

        ``place`` says where in ``out`` each row of the panel goes, -1 for nowhere.
        """
        to = place[self.order]
        here = to >= 0
        to, count = to[here], cases[self.order[here]]
        out[:] = np.nan
        if self.distinct:
            out[to] = level_ranks(count)
            return
        group = self.group[here]
        out[to] = level_ranks(np.bincount(group, count, self.score.size))[group]

    @property
    def distinct(self) -> bool:
        """Has every row an output of its own?"""
        return self.order.size == self.score.size

    @property
    def median(self) -> float:
        """Give the middle output of the reference cases; 0 where there is none."""
        upto = np.cumsum(self.cases)
        if not upto.size or not upto[-1]:
            return 0.0
        low, high = np.searchsorted(2 * upto, [upto[-1], upto[-1] + 1])
        return float(self.score[low] / 2 + self.score[high] / 2)  # 1e308 has no sum


def rows_of(rows: object, names: Sequence[str]) -> Floats:
    """Pass on rows of outputs (m, K), one column a classifier; NaN is missing."""
    value = np.asarray(rows)
    if value.dtype.kind not in "biuf":
        raise InputError(f"rows must be numbers; found {value.dtype}.")
    if value.ndim != 2 or value.shape[1] != len(names):
        raise InputError(
            f"rows must have a column for each of {listing(names, 12)}, shape (m, "
            f"{len(names)}); found shape {value.shape}."
        )
    return value.astype(np.float64, copy=False)


def reference_of(
    columns: Sequence[RankedColumn],
) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Give scores and cases, the fields of a map that new outputs are ranked by."""
    cases = tuple(c.cases.astype(np.float64) for c in columns)
    return tuple(c.score for c in columns), cases


def level_ranks(cases: Array) -> Floats:
    """Give the mid-rank of ascending levels that hold so many cases each.

    >>> level_ranks(np.array([2, 1]))
    array([2.5, 1. ])
    """
    above = cases.sum() - np.cumsum(cases)
    return np.asarray(above + (cases + 1) / 2)


def rank_columns(rows: Floats, cases: Ints) -> list[RankedColumn]:
    """Sort every column; rows without ``cases`` do not count in the reference."""
    single = bool((cases == 1).all())
    work = partial(_rank_column, cases=cases, single=single)
    return _parallel(work, rows.T, len(rows))


def rank_table(columns: Sequence[RankedColumn]) -> Floats:
    """Lay the mid-ranks of all columns side by side, (m, K)."""
    return _side_by_side(lambda c, out: c.midranks(out), columns, columns[0].size)


def _side_by_side(
    work: Callable[[Any, Floats], None], items: Sequence[Any], size: int
) -> Floats:
    """Let each item write its column of a table, each in one stretch of memory."""
    table = np.empty((size, len(items)), order="F")
    pairs = list(zip(items, table.T, strict=True))
    _parallel(lambda pair: work(*pair), pairs, size)
    return table


def _rank_column(column: Floats, cases: Ints, single: bool) -> RankedColumn:
    column = np.ascontiguousarray(column)
    order = ascending(column)
    value = column[order]
    new = begins_run(value)
    if new.all():
        count = np.ones(order.size, np.int64) if single else cases[order]
        return RankedColumn(value, count, order, np.arange(order.size), column.size)
    group = np.cumsum(new) - 1
    count = np.bincount(group, None if single else cases[order]).astype(np.int64)
    return RankedColumn(value[new], count, order, group, column.size)


def ascending(x: Floats) -> Ints:
    """Give the places of numbers in ascending order, without those that are missing.

    The bits of a float, turned for negative ones, are in its order. Their last bits
    make room for the place, so that keys alone are sorted, which is faster than an
    argsort. Numbers that differ in those bits only are put right afterwards: what is
    nearly in order is sorted in one pass.
    """
    gone = int(np.isnan(x).sum())
    if gone or x.size < _MANY:
        return np.argsort(x)[: x.size - gone]  # NaN comes last
    bits, top = x.view(np.uint64), np.uint64(1 << 63)
    low = np.uint64((1 << (x.size - 1).bit_length()) - 1)
    key = np.where(bits < top, bits | top, ~bits)
    key &= ~low
    key |= np.arange(x.size, dtype=np.uint64)
    key.sort()
    key &= low
    order = key.view(np.int64)
    value = x[order]
    if (value[1:] < value[:-1]).any():
        order = order[np.argsort(value, kind="stable")]
    return order


def rank_rows(rows: Floats, scores: Sequence[Floats], cases: Sequence[Array]) -> Floats:
    """Rank new rows (m, K) against a reference, column by column; NaN stays NaN.

    A new output has rank = above + tied/2 + 1/2, as ``fermi.midranks`` says.
    """

    def work(item: tuple[Floats, Floats, Array], out: Floats) -> None:
        output, score, count = item
        upto = np.cumsum(count[::-1])
        if output.size < _MANY or np.isnan(output).any():
            out[:] = rank_scores(output, score, upto)
            return
        # ascending outputs are looked up eight times faster than mixed ones
        output = np.ascontiguousarray(output)
        order = ascending(output)
        out[order] = rank_scores(output[order], score, upto)

    items = list(zip(rows.T, scores, cases, strict=True))
    return _side_by_side(work, items, len(rows))


def _parallel(work: Callable[[Any], Any], items: Any, size: int) -> list[Any]:
    """Do the same work on every column, several at a time if they are long."""
    items = list(items)
    workers = min(threads(), len(items))
    if workers < 2 or size < _MANY:
        return list(map(work, items))
    # sorting, searching and copying release the GIL
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


def rank_correlation(columns: Sequence[RankedColumn], cases: Ints) -> Floats:
    """How strongly do the ranks of pairs correlate among these cases? (Spearman)

    Each pair is compared where both gave output; the mean rank is that of the column.
    NaN where a column has one value only, or a pair fewer than three common cases.
    """
    here = np.flatnonzero(cases)
    place = np.full(cases.size, -1)
    place[here] = np.arange(here.size)
    weight = cases[here].astype(np.float64)

    def work(column: RankedColumn, out: Floats) -> None:
        column.ranks_within(cases, place, out)
        # ranks 1 to n have the mean (n + 1) / 2, ties or not
        out -= (weight[~np.isnan(out)].sum() + 1) / 2

    ranks = _side_by_side(work, columns, here.size)
    seen = ~np.isnan(ranks)
    centred = ranks if seen.all() else np.nan_to_num(ranks)
    weighed = centred if (weight == 1).all() else centred * weight[:, None]
    together = centred.T @ weighed
    square, common = np.diag(together)[:, None], np.asarray(weight.sum())
    if not seen.all():
        both = seen.astype(np.float64)
        square = (centred**2 * weight[:, None]).T @ both
        common = both.T @ (both * weight[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(common > 2, together / np.sqrt(square * square.T), np.nan)
    known = np.isfinite(np.diag(found))
    found[known, known] = 1.0
    return np.clip(found, -1, 1)
