"""Which rank has each output among the cases of a reference panel?

Rank 1 is the highest output. One sort of a column gives a table to rank new outputs by,
the mid-ranks of the reference, and those within each class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import (
    Array,
    Floats,
    Ints,
    begins_run,
    threads,
)
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.data_types import Frame
from trueness.counts.score_keys import descending_order
from trueness.fermi.distribution import rank_scores

# below this, sorting outputs before they are looked up costs more than it saves
MANY_ROWS = 1 << 12


class RankedColumn:
    """One column of a panel, sorted; rows without ``cases`` do not count.

    ``score`` and ``cases`` (d,) are distinct outputs, ascending, and how many reference
    cases have each; ``order`` (m',) the rows with an output, ascending, and ``group``
    which entry of ``score`` each of them has.
    """

    def __init__(self, column: Floats, cases: Ints) -> None:
        self.order, value = _ascending(np.ascontiguousarray(column))
        is_new = begins_run(value)
        self.distinct = bool(is_new.all())  # has every row an output of its own?

        # where each row is one case, counting needs no weights
        row_cases = None if (cases == 1).all() else cases[self.order]
        if self.distinct:
            self.score = value
            self.group = np.arange(self.order.size)
            self.cases = np.ones(self.order.size, np.int64)
            if row_cases is not None:
                self.cases = row_cases
        else:
            self.score = value[is_new]
            self.group = np.cumsum(is_new) - 1
            self.cases = np.bincount(self.group, row_cases).astype(np.int64)

    def midranks(self, out: Floats) -> None:
        """Write the rank of each row among the reference; NaN where it is missing."""
        if self.order.size < out.size:
            out[:] = np.nan
        level = _level_ranks(self.cases)
        out[self.order] = level if self.distinct else level[self.group]

    def ranks_within(self, cases: Ints, place: Ints, out: Floats) -> None:
        """Write the ranks of the rows that have ``cases``, among these alone.

        ``place`` says where in ``out`` each row of the panel goes, -1 for nowhere.
        """
        # a mask is small enough to stay in the cache when it is read out of order
        is_counted = (place >= 0)[self.order]
        rows = self.order[is_counted]
        destination = place[rows]
        row_cases = cases[rows]
        out[:] = np.nan
        if self.distinct:
            out[destination] = _level_ranks(row_cases)
            return

        group = self.group[is_counted]
        level_cases = np.bincount(group, row_cases, self.score.size)
        out[destination] = _level_ranks(level_cases)[group]

    @property
    def median(self) -> float:
        """Return the middle output of the reference cases; 0 where there is none."""
        cumulative = np.cumsum(self.cases)
        if not cumulative.size or not cumulative[-1]:
            return 0.0
        total = cumulative[-1]
        # the middle case, or the two in the middle of an even number
        low, high = np.searchsorted(2 * cumulative, [total, total + 1])
        return float(self.score[low] / 2 + self.score[high] / 2)  # 1e308 has no sum


def rank_columns(rows: Floats, cases: Ints) -> list[RankedColumn]:
    """Return the sorted columns; rows without ``cases`` are not in the reference."""
    return _parallel(lambda column: RankedColumn(column, cases), rows.T, len(rows))


def rank_table(columns: Sequence[RankedColumn], size: int) -> Floats:
    """Return the mid-ranks of all columns, (m, K)."""
    return _side_by_side(lambda column, out: column.midranks(out), columns, size)


def rank_rows(rows: Floats, scores: Sequence[Floats], cases: Sequence[Array]) -> Floats:
    """Return the ranks of new rows (m, K) among a reference; NaN stays NaN.

    A new output has rank = above + tied/2 + 1/2, as ``fermi.midranks`` says.
    """

    def write_ranks(item: tuple[Floats, Floats, Array], out: Floats) -> None:
        output, score, count = item
        cases_from_top = np.cumsum(count[::-1])
        if output.size < MANY_ROWS or not np.isfinite(output).all():
            out[:] = rank_scores(output, score, cases_from_top)
            return

        # ascending outputs are looked up eight times faster than mixed ones
        order, ascending = _ascending(np.ascontiguousarray(output))
        out[order] = rank_scores(ascending, score, cases_from_top)

    items = list(zip(rows.T, scores, cases, strict=True))
    return _side_by_side(write_ranks, items, len(rows))


def reference_of(
    columns: Sequence[RankedColumn],
) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Return scores and cases, the fields of a map that new outputs are ranked by."""
    scores = tuple(column.score for column in columns)
    cases = tuple(column.cases.astype(np.float64) for column in columns)
    return scores, cases


def rows_of(rows: ArrayLike | Frame, names: Sequence[str]) -> Floats:
    """Return rows of outputs (m, K), one column a classifier; NaN is missing.

    Of a frame, or a mapping from name to column, the columns are taken by name.
    """
    if isinstance(rows, Mapping) or hasattr(type(rows), "columns"):
        rows = _columns_by_name(rows, names)
    outputs = np.asarray(rows)
    if outputs.dtype.kind not in "biuf":
        raise InputError(f"rows must be numbers; found {outputs.dtype}.")
    if outputs.ndim != 2 or outputs.shape[1] != len(names):
        raise InputError(
            f"rows must have a column for each of {listing(names, 12)}, shape (m, "
            f"{len(names)}); found shape {outputs.shape}."
        )
    return outputs.astype(np.float64, copy=False)


def _columns_by_name(table: Any, names: Sequence[str]) -> Array:
    """Return the columns of these names, (m, K), of a frame or a mapping."""
    columns = tuple(getattr(table, "columns", table))
    lacking = [name for name in names if name not in columns]
    if lacking:
        raise InputError(
            f"rows need the columns {listing(names, 12)}; found none called "
            f"{listing(lacking, 12)}."
        )
    return np.column_stack([table[name] for name in names])


def _level_ranks(cases: Array) -> Floats:
    """Return the mid-rank of ascending levels that hold so many cases each."""
    # tied cases share the mean of their ranks
    above = cases.sum() - np.cumsum(cases)
    return np.asarray(above + (cases + 1) / 2)


def _ascending(values: Floats) -> tuple[Ints, Floats]:
    """Return the places of numbers in ascending order, and the sorted numbers.

    Missing numbers are left out.
    """
    is_missing = np.isnan(values)
    if is_missing.any():
        seen = np.flatnonzero(~is_missing)
        order, ascending = _ascending(values[seen])
        return seen[order], ascending

    if values.size < MANY_ROWS:
        order = np.argsort(values)
        return order, values[order]

    # by one thread: each column has its own
    order, descending = descending_order(-values, workers=1)
    # from zero, since -x makes a negative zero
    return order, 0.0 - descending


def _side_by_side(
    work: Callable[[Any, Floats], None], items: Sequence[Any], size: int
) -> Floats:
    """Return a table in which ``work`` has written one column for each item."""
    # column by column, so that each column is one stretch of memory
    table = np.empty((size, len(items)), order="F")
    pairs = list(zip(items, table.T, strict=True))
    _parallel(lambda pair: work(*pair), pairs, size)
    return table


def _parallel(work: Callable[[Any], Any], items: Any, size: int) -> list[Any]:
    """Return ``work`` of every column, of several at a time if they are long."""
    items = list(items)
    workers = min(threads(), len(items))
    if workers < 2 or size < MANY_ROWS:
        return list(map(work, items))
    # sorting, searching and copying release the GIL
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


def rank_correlation(columns: Sequence[RankedColumn], cases: Ints) -> Floats:
    """Return Spearman's rank correlations of all pairs among these cases, (K, K).

    Each pair is compared where both gave output; the mean rank is that of the column.
    NaN where a column has one value only, or a pair fewer than three common cases.
    """
    counted = np.flatnonzero(cases)
    place = np.full(cases.size, -1)
    place[counted] = np.arange(counted.size)
    weight = cases[counted].astype(np.float64)

    def write_centered_ranks(column: RankedColumn, out: Floats) -> None:
        column.ranks_within(cases, place, out)
        # ranks 1 to n have the mean (n + 1) / 2, ties or not
        out -= (weight[~np.isnan(out)].sum() + 1) / 2

    ranks = _side_by_side(write_centered_ranks, columns, counted.size)
    correlation = _correlation_of_centered(ranks, weight)
    varies = np.isfinite(np.diag(correlation))
    correlation[varies, varies] = 1.0
    return np.clip(correlation, -1, 1)


def _correlation_of_centered(ranks: Floats, weight: Floats) -> Floats:
    """Return the correlations of centred columns, each over common cases, (K, K)."""
    is_seen = ~np.isnan(ranks)
    if is_seen.all():
        products = _weighted_products(ranks, weight)
        squares = np.diag(products)[:, None]
        common_cases = np.asarray(weight.sum())
    else:
        # a missing rank adds nothing to any sum
        ranks = np.nan_to_num(ranks)
        products = _weighted_products(ranks, weight)
        # sums over the cases that a column has in common with each other one
        seen = is_seen.astype(np.float64)
        squares = (ranks**2 * weight[:, None]).T @ seen
        common_cases = seen.T @ (seen * weight[:, None])

    with np.errstate(invalid="ignore", divide="ignore"):
        # Pearson's correlation of ranks is Spearman's
        correlation = products / np.sqrt(squares * squares.T)
    # through two cases there is always a line: their correlation is 1 or -1
    return np.where(common_cases > 2, correlation, np.nan)


def _weighted_products(columns: Floats, weight: Floats) -> Floats:
    """Return the sums of products of all pairs of columns, (K, K)."""
    if (weight == 1).all():
        return np.asarray(columns.T @ columns)
    return np.asarray(columns.T @ (columns * weight[:, None]))
