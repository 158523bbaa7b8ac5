"""Which rank has each output among the cases of a reference panel?

Rank 1 is the highest output. One sort of a column gives a table to rank new outputs by,
the mid-ranks of the reference, and those within each class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

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
from trueness._core.progress import stop_if_requested
from trueness.counts.score_keys import descending_order
from trueness.fermi.distribution import rank_scores

T = TypeVar("T")

# below this, sorting outputs before they are looked up costs more than it saves
MANY_ROWS = 1 << 12


class RankedColumn:
    """One column of a panel, sorted; rows without ``cases`` do not count.

    ``score`` and ``cases`` (d,) are distinct outputs, ascending, and how many reference
    cases have each; ``order`` (m',) the rows with an output, ascending. ``distinct``:
    has every row an output of its own? ``single``: is each of them one case, too?
    """

    def __init__(self, column: Floats, cases: Ints) -> None:
        self.order, value = _ascending(np.ascontiguousarray(column))
        is_new = begins_run(value)
        self.distinct = bool(is_new.all())

        # where each row is one case, counting needs no weights
        all_ones = bool((cases == 1).all())
        self.single = self.distinct and all_ones
        if self.distinct:
            self.score = value
            # columns of single cases share their counts
            self.cases = cases[: value.size] if all_ones else cases[self.order]
            self._entry_of_row = None
        else:
            self.score = value[is_new]
            self._entry_of_row = np.cumsum(is_new) - 1
            row_cases = None if all_ones else cases[self.order]
            self.cases = np.bincount(self._entry_of_row, row_cases).astype(np.int64)

    @property
    def group(self) -> Ints:
        """Return the entry of ``score`` of each row in ``order``."""
        if self._entry_of_row is None:
            return np.arange(self.order.size)
        return self._entry_of_row

    def midranks(self, out: Floats) -> None:
        """Write the rank of each row among the reference; NaN where it is missing."""
        if self.order.size < out.size:
            out[:] = np.nan
        if self.single:
            out[self.order] = _ranks_of_single_cases(self.order.size)
            return

        level = _level_ranks(self.cases)
        out[self.order] = level if self.distinct else level[self.group]

    def ranks_within(self, cases: Ints, place: Ints, out: Floats) -> None:
        """Write the ranks of the rows that have ``cases``, among these alone.

        ``place`` says where in ``out`` each row of the panel goes, -1 for nowhere.
        """
        # a mask is small enough to stay in the cache when it is read out of order
        counted = np.flatnonzero((place >= 0).take(self.order))
        rows = self.order.take(counted)
        destination = place.take(rows)
        if rows.size < out.size:
            out[:] = np.nan
        if self.single:
            out[destination] = _ranks_of_single_cases(rows.size)
            return

        row_cases = cases[rows]
        if self.distinct:
            out[destination] = _level_ranks(row_cases)
            return

        group = self.group[counted]
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


def rank_panel(
    rows: Floats, cases: Ints, classes: Sequence[Ints] = ()
) -> tuple[list[RankedColumn], Floats, list[Floats]]:
    """Return the sorted columns of a panel, and the mid-ranks of its rows, (m, K).

    ``classes`` are counts of the rows: for each of them also Spearman's rank
    correlations of all pairs among its cases, (K, K).
    """
    n_classifiers = rows.shape[1]
    # column by column, so that each column is one stretch of memory
    ranks = np.empty((len(rows), n_classifiers), order="F")
    ranks_within = [ClassRanks(counts, n_classifiers) for counts in classes]

    def sort_and_rank(k: int) -> RankedColumn:
        stop_if_requested()
        column = RankedColumn(rows[:, k], cases)
        # while what was sorted is still in the cache
        column.midranks(ranks[:, k])
        for ranks_of_class in ranks_within:
            stop_if_requested()
            ranks_of_class.write(column, k)
        return column

    columns = _parallel(sort_and_rank, range(n_classifiers), len(rows))
    return columns, ranks, [within.correlation() for within in ranks_within]


def rank_rows(rows: Floats, scores: Sequence[Floats], cases: Sequence[Array]) -> Floats:
    """Return the ranks of new rows (m, K) among a reference; NaN stays NaN.

    A new output has rank = above + tied/2 + 1/2, as ``fermi.midranks`` says.
    """
    table = np.empty((len(rows), len(scores)), order="F")
    for column, ranks in zip(table.T, ranks_in_turn(rows, scores, cases), strict=True):
        column[:] = ranks
    return table


def ranks_in_turn(
    rows: Floats, scores: Sequence[Floats], cases: Sequence[Array]
) -> Iterator[Floats]:
    """Yield the columns of ``rank_rows``, one after the other, to save memory."""
    items = list(zip(rows.T, scores, cases, strict=True))
    workers = _workers(len(items), len(rows))
    if workers < 2:
        yield from (_ranks_of_column(*item) for item in items)
        return

    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda item: _ranks_of_column(*item), items)


def _ranks_of_column(output: Floats, score: Floats, count: Array) -> Floats:
    """Return the ranks of new outputs of one classifier among its reference."""
    if output.size < MANY_ROWS or not np.isfinite(output).all():
        return rank_scores(output, score, np.cumsum(count[::-1]))

    # ascending outputs are looked up eight times faster than mixed ones
    order, ascending = _ascending(np.ascontiguousarray(output))
    ranks = np.empty(output.size)
    ranks[order] = _ranks_of_ascending(ascending, score, count)
    return ranks


def _ranks_of_ascending(output: Floats, score: Floats, count: Array) -> Floats:
    """Return the mid-ranks of ascending finite outputs, as ``rank_scores`` does.

    Both columns are in order, so that a merge takes half the time of a search. A stable
    sort finds them so, and puts an output before the score that it ties with.
    """
    merged = np.argsort(np.concatenate([output, score]), kind="stable")
    place_of_output = np.flatnonzero(merged < output.size)
    # in front of an output are the outputs before it, and the scores below it
    scores_below = place_of_output - np.arange(output.size)

    cases_above = np.zeros(score.size + 1)
    np.cumsum(count[::-1], out=cases_above[1:])
    cases_at_or_above = cases_above[::-1].take(scores_below)
    ranks = cases_at_or_above + 0.5

    tied = np.flatnonzero(np.append(score, np.nan).take(scores_below) == output)
    # half of the tied cases count
    ranks[tied] -= count.take(scores_below.take(tied)) / 2
    return np.asarray(ranks)


def reference_of(
    columns: Sequence[RankedColumn],
) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Return scores and cases, the fields of a map that new outputs are ranked by."""
    scores = tuple(column.score for column in columns)
    # columns of single cases share one column of ones
    longest = max((column.score.size for column in columns), default=0)
    ones = np.ones(longest)
    cases = tuple(
        ones[: column.score.size] if column.single else column.cases.astype(np.float64)
        for column in columns
    )
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


def _ranks_of_single_cases(number: int) -> Floats:
    """Return the ranks of as many ascending cases: rank 1 is the last one."""
    return np.arange(number, 0, -1, dtype=np.float64)


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


def _parallel(work: Callable[[Any], Any], items: Any, size: int) -> list[Any]:
    """Return ``work`` of every column, of several at a time if they are long."""
    items = list(items)
    workers = _workers(len(items), size)
    if workers < 2:
        return list(map(work, items))
    # a request to stop is heard in the context that it was made in
    contexts = [copy_context() for _ in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(
            pool.map(lambda context, item: context.run(work, item), contexts, items)
        )


def _workers(columns: int, size: int) -> int:
    """Return how many threads to use for columns of this size."""
    if size < MANY_ROWS:
        return 1
    # sorting, merging and copying release the GIL
    return min(threads(), columns)


class ClassRanks:
    """Ranks of the cases of a class among these alone, about their mean.

    ``cases`` counts the cases of each row of a panel that are of this class.
    """

    def __init__(self, cases: Ints, columns: int) -> None:
        counted = np.flatnonzero(cases)
        self._cases = cases
        self._place = np.full(cases.size, -1)
        self._place[counted] = np.arange(counted.size)
        self._weight = cases[counted].astype(np.float64)
        self._total_weight = self._weight.sum()
        self._ranks = np.empty((counted.size, columns), order="F")

    def write(self, column: RankedColumn, k: int) -> None:
        """Write the ranks by the column of this number."""
        ranks = self._ranks[:, k]
        column.ranks_within(self._cases, self._place, ranks)
        number = self._total_weight
        if column.order.size < self._cases.size:
            number = self._weight[~np.isnan(ranks)].sum()
        # ranks 1 to n have the mean (n + 1) / 2, ties or not
        ranks -= (number + 1) / 2

    def correlation(self) -> Floats:
        """Return Spearman's rank correlations of all pairs of columns, (K, K).

        Each pair is compared where both gave output; the mean rank is that of the
        column. NaN where a column has one value only, or a pair fewer than three common
        cases.
        """
        correlation = _correlation_of_centered(self._ranks, self._weight)
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
