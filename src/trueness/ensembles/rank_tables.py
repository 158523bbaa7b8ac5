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

# below this, sorting outputs before they are looked up costs more than it saves
_MANY = 1 << 12


@final
@dataclass(frozen=True)
class RankedColumn:
    """One column of a panel, sorted.

    Attributes
    ----------
    score, cases : array (d,)
        Distinct outputs, ascending, and how many reference cases have each.
    order : array (m',)
        The rows with an output, ascending.
    group : array (m',)
        Which entry of ``score`` each of them has.
    size : int
        Rows of the panel, m.
    """

    score: Floats
    cases: Ints
    order: Array
    group: Array
    size: int

    def midranks(self, cases: Ints | None = None) -> Floats:
        """Rank the rows among ``cases`` (by default the reference); NaN if missing."""
        distinct = self.order.size == self.score.size
        if cases is None:
            count = self.cases
        elif distinct:
            count = cases[self.order]
        else:
            count = np.bincount(self.group, cases[self.order], self.score.size)
        level = level_ranks(count)
        rank = np.full(self.size, np.nan)
        rank[self.order] = level if distinct else level[self.group]
        return rank

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


def reference_of(columns: Sequence[RankedColumn]) -> dict[str, tuple[Floats, ...]]:
    """Give the fields of a map that new outputs are ranked by."""
    return {
        "scores": tuple(c.score for c in columns),
        "cases": tuple(c.cases.astype(np.float64) for c in columns),
    }


def level_ranks(cases: Array) -> Floats:
    """Give the mid-rank of ascending levels that hold so many cases each.

    >>> level_ranks(np.array([2, 1]))
    array([2.5, 1. ])
    """
    above = cases.sum() - np.cumsum(cases)
    return np.asarray(above + (cases + 1) / 2)


def rank_columns(rows: Floats, cases: Ints) -> list[RankedColumn]:
    """Sort every column; rows without ``cases`` do not count in the reference."""
    return parallel(lambda column: _rank_column(column, cases), rows.T, len(rows))


def rank_table(columns: Sequence[RankedColumn], cases: Ints | None = None) -> Floats:
    """Lay the mid-ranks of all columns side by side, (m, K)."""
    size = columns[0].size
    ranks = parallel(lambda column: column.midranks(cases), columns, size)
    return columns_of(ranks, size)


def _rank_column(column: Floats, cases: Ints) -> RankedColumn:
    column = np.ascontiguousarray(column)
    order = np.argsort(column)  # NaN comes last
    order = order[: column.size - int(np.isnan(column).sum())]
    value = column[order]
    new = begins_run(value)
    group = np.cumsum(new) - 1
    count = np.bincount(group, cases[order], int(new.sum())).astype(np.int64)
    return RankedColumn(value[new], count, order, group, column.size)


def rank_rows(rows: Floats, scores: Sequence[Floats], cases: Sequence[Array]) -> Floats:
    """Rank new rows (m, K) against a reference, column by column; NaN stays NaN.

    A new output has rank = above + tied/2 + 1/2, as ``fermi.midranks`` says.
    """
    pairs = list(zip(rows.T, scores, cases, strict=True))
    ranks = parallel(lambda pair: _rank_outputs(*pair), pairs, len(rows))
    return columns_of(ranks, len(rows))


def columns_of(columns: Sequence[Floats], size: int) -> Floats:
    """Lay columns side by side, each in one stretch of memory."""
    table = np.empty((size, len(columns)), order="F")
    for k, column in enumerate(columns):
        table[:, k] = column
    return table


def _rank_outputs(output: Floats, score: Floats, cases: Array) -> Floats:
    upto = np.cumsum(cases[::-1])
    if output.size < _MANY:
        return rank_scores(output, score, upto)
    # ascending outputs are looked up eight times faster than mixed ones
    output = np.ascontiguousarray(output)
    order = np.argsort(output)
    rank = np.empty(output.size)
    rank[order] = rank_scores(output[order], score, upto)
    return rank


def parallel(work: Callable[[Any], Any], items: Any, size: int) -> list[Any]:
    """Do the same work on every column, several at a time if they are long."""
    items = list(items)
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
    weight = cases[here].astype(np.float64)
    size = columns[0].size
    ranks = parallel(lambda c: c.midranks(cases)[here], columns, size)
    seen = [~np.isnan(r) for r in ranks]
    # ranks 1 to n have the mean (n + 1) / 2, ties or not
    middle = [(weight[s].sum() + 1) / 2 for s in seen]
    pairs = zip(ranks, middle, strict=True)
    centred = columns_of([np.nan_to_num(r - m) for r, m in pairs], here.size)
    weighed = centred if (weight == 1).all() else centred * weight[:, None]
    together = centred.T @ weighed
    if all(s.all() for s in seen):
        square = np.broadcast_to(np.diag(together)[:, None], together.shape)
        common = np.full(together.shape, weight.sum())
    else:
        both = columns_of(seen, here.size)
        square = (centred**2 * weight[:, None]).T @ both
        common = both.T @ (both * weight[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(common > 2, together / np.sqrt(square * square.T), np.nan)
    known = np.isfinite(np.diag(found))
    found[known, known] = 1.0
    return np.clip(found, -1, 1)
