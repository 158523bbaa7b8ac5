"""Which rank has each output among the cases of a reference panel?

Combining classifiers by rank needs three things of every column: a table to rank new
outputs by, the mid-ranks of the reference itself, and its mid-ranks within each class.
One sort a column gives them all. Rank 1 is the highest output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints, begins_run, threads
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness.fermi.distribution import rank_scores

# below this, threads cost more than they save
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
        out[:] = np.nan
        out[self.order] = level_ranks(self.cases)[self.group]

    def ranks_within(self, cases: Ints, place: Ints, out: Floats) -> None:
        """Write the ranks of the rows that have ``cases``, among these alone.

        ``place`` says where in ``out`` each row of the panel goes, -1 for nowhere.
        """
        to = place[self.order]
        here = to >= 0
        group, count = self.group[here], cases[self.order[here]]
        out[:] = np.nan
        out[to[here]] = level_ranks(np.bincount(group, count, self.score.size))[group]

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

    def work(column: Floats) -> RankedColumn:
        order = np.argsort(column)[: column.size - int(np.isnan(column).sum())]
        value = column[order]  # NaN came last
        new = begins_run(value)
        group = np.cumsum(new) - 1
        count = np.bincount(group, cases[order]).astype(np.int64)
        return RankedColumn(value[new], count, order, group, column.size)

    return _parallel(work, list(np.ascontiguousarray(rows.T)), len(rows))


def rank_table(columns: Sequence[RankedColumn]) -> Floats:
    """Lay the mid-ranks of all columns side by side, (m, K)."""
    return _side_by_side(RankedColumn.midranks, columns, columns[0].size)


def rank_rows(rows: Floats, scores: Sequence[Floats], cases: Sequence[Array]) -> Floats:
    """Rank new rows (m, K) against a reference, column by column; NaN stays NaN.

    A new output has rank = above + tied/2 + 1/2, as ``fermi.midranks`` says.
    """

    def work(item: tuple[Floats, Floats, Array], out: Floats) -> None:
        output, score, count = item
        order = np.argsort(output)  # ascending outputs are looked up much faster
        out[order] = rank_scores(output[order], score, np.cumsum(count[::-1]))

    items = list(zip(rows.T, scores, cases, strict=True))
    return _side_by_side(work, items, len(rows))


def _side_by_side(
    work: Callable[[Any, Floats], None], items: Sequence[Any], size: int
) -> Floats:
    """Let each item write its column of a table, each in one stretch of memory."""
    table = np.empty((size, len(items)), order="F")
    pairs = list(zip(items, table.T, strict=True))
    _parallel(lambda pair: work(*pair), pairs, size)
    return table


def _parallel(work: Callable[[Any], Any], items: Sequence[Any], size: int) -> list[Any]:
    """Do the same work on every column, several at a time if they are long."""
    workers = min(threads(), len(items))
    if workers < 2 or size < _MANY:
        return [work(item) for item in items]
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
    both = (~np.isnan(ranks)).astype(np.float64)
    centred = np.nan_to_num(ranks)
    weighed = centred * weight[:, None]
    square, common = (centred * weighed).T @ both, both.T @ (both * weight[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        found = centred.T @ weighed / np.sqrt(square * square.T)
    found = np.where(common > 2, found, np.nan)
    known = np.isfinite(np.diag(found))
    found[known, known] = 1.0
    return np.clip(found, -1, 1)
