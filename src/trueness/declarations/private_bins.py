"""Bins that hide single cases: which counts may be published, and at which edges?

A bin may be published when it has at least k cases of each class, so that it tells
nobody's label. All cases are published in fine bins, each group in coarser ones. What
can be derived by subtraction must be safe as well: all cases less the groups that are
known leave the groups that are not. So groups stand in a chain. Every edge of a group
is an edge of the groups before it, and at its edges both the group and all groups
behind it together are safe. ``docs/maths/declarations.md`` proves that every number
that can be derived is then a sum of safe bins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import pairwise
from typing import final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.progress import stop_if_requested
from trueness.counts.bins import Bins, join_into_bins
from trueness.counts.cases import kish
from trueness.counts.design import AT_RANDOM
from trueness.counts.values import Tally, rows_of, tally_of_bins
from trueness.data.storage import tally_of_columns

# more bins would make the file large, and show no more to a reader
MOST_BINS = 1_000

# the most rows of exact counts in a file; more are put into bins
MOST_ROWS = 20_000

# decimals of a float: two different ones differ within these
_DIGITS = 18


@final
@dataclass(frozen=True)
class PrivateGroups:
    """The counts of each group of a column in bins that may be published.

    Attributes
    ----------
    tallies : dict
        From group to counts; small groups are counted as one, last of all.
    pooled : tuple of str
        The groups that were too small to stand alone.
    """

    tallies: dict[str, Tally]
    pooled: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class PrivateCounts:
    """Counts that may be published: of all cases, and of each column of groups.

    Attributes
    ----------
    whole : Tally
        All cases, in bins.
    groups : dict
        From column to the counts of its groups.
    hidden : tuple of float
        Thresholds without an edge: a cell of their table would be too small.
    exposed : tuple of float
        Thresholds with an edge although a cell of their table is small.
    """

    whole: Tally
    groups: dict[str, PrivateGroups]
    hidden: tuple[float, ...] = ()
    exposed: tuple[float, ...] = ()


def private_counts(
    all_cases: Tally,
    groups: Mapping[str, Mapping[str, Tally]],
    *,
    at_least: int,
    thresholds: Sequence[float],
    exact_table: bool = False,
    edges: Sequence[float] | None = None,
) -> PrivateCounts:
    """Return counts in which no cell, and no difference of cells, is small.

    Parameters
    ----------
    whole, groups
        All cases; and from column to group to its cases.
    at_least
        The smallest number of cases k of each class in a bin.
    thresholds
        Where edges are wanted, the most important threshold first.
    exact_table
        Put an edge at each threshold even where a cell of its table is small.
    edges
        The only places where a bin may begin; anywhere by default.
    """
    if all_cases.design.expects_labels:
        raise InputError(
            "A declaration counts labels. Expected labels come from a map, which its "
            "readers do not have; leave unlabelled out.",
            option="unlabelled",
        )

    if at_least <= 1 and len(all_cases.named_columns["score"]) <= MOST_ROWS:
        return _exact_counts(all_cases, groups)

    rows = _Rows.of(all_cases, at_least)
    _refuse_few_cases(all_cases, rows)
    row_of_cut = {cut: _row_of_threshold(all_cases, cut) for cut in thresholds}
    safe_rows = _safe_places([rows], row_of_cut.values())
    edge_rows = sorted({*row_of_cut.values()}) if exact_table else safe_rows
    allowed = (
        None if edges is None else _rows_of_edges(all_cases, [*edges, *thresholds])
    )
    starts = _bin_starts([rows], edge_rows, allowed, size=len(all_cases))
    ends = published_ends(all_cases, starts, thresholds, edges)

    chain = _Chain(all_cases, starts, ends, at_least, edge_rows, exact_table)

    hidden = []
    exposed = []
    for cut, row in row_of_cut.items():
        separates_cases = 0 < row < len(all_cases)
        if row not in edge_rows:
            hidden.append(cut)
        elif row not in safe_rows and separates_cases:
            exposed.append(cut)

    return PrivateCounts(
        _publish(all_cases, starts, ends),
        groups={column: chain.publish(column, groups[column]) for column in groups},
        hidden=tuple(hidden),
        exposed=tuple(exposed),
    )


def _exact_counts(
    all_cases: Tally, groups: Mapping[str, Mapping[str, Tally]]
) -> PrivateCounts:
    """Return the counts as they are; clusters are numbered, not named."""
    by_column = {
        column: PrivateGroups({str(g): _number_clusters(t) for g, t in tallies.items()})
        for column, tallies in groups.items()
    }
    return PrivateCounts(_number_clusters(all_cases), by_column)


def _number_clusters(cases: Tally) -> Tally:
    """Return the same cases with numbers in place of the names of clusters."""
    if cases.clusters is None:
        return cases
    columns = cases.named_columns
    _, numbers = np.unique(columns["cluster"], return_inverse=True)
    numbered = tally_of_columns(columns | {"cluster": numbers}, {})
    return numbered.with_design(**cases.design.arguments)


def _refuse_few_cases(all_cases: Tally, rows: _Rows) -> None:
    """Raise an error if not even all cases together may be published."""
    if all_cases.clusters is not None:
        raise InputError(
            "Clusters cannot be published in bins: bins of single clusters are too "
            "small to be private. Publish exact counts (cells of 1 case), or "
            "leave the clusters out.",
            option="private",
            example=1,
        )

    if all_cases.n_unknown and all_cases.design.unlabelled == AT_RANDOM:
        raise InputError(
            "Labels that are missing at random given the score need exact scores, "
            "which bins hide. Publish exact counts.",
            option="private",
            example=1,
        )

    if not rows.is_safe(0, len(all_cases)):
        raise NotEnoughCases(
            f"At least {rows.at_least} negatives and {rows.at_least} positives are "
            f"needed, and 0 or {rows.at_least} cases without a label; found "
            f"{all_cases.n_neg:,}, {all_cases.n_pos:,} and {all_cases.n_unknown:,}. "
            "Choose a smaller number for private.",
            option="private",
        )


@final
@dataclass(frozen=True)
class _Rows:
    """Running sums of the counts of rows, and the requirements on a bin of them."""

    sums: list[list[float]]  # neg, pos, unknown, and squares of weights
    at_least: int
    least_cases: float

    @classmethod
    def of(cls, cases: Tally, at_least: int) -> _Rows:
        """Return the running sums of all cases."""
        return cls.of_columns(cases.counts, at_least)

    @classmethod
    def of_columns(cls, columns: Sequence[Array], at_least: int) -> _Rows:
        """Return the running sums of columns of counts, or of weights and squares."""
        sums = [[0, *np.cumsum(column).tolist()] for column in columns]
        cases = sum(column[-1] for column in sums[:3])
        return cls(sums, at_least, cases / MOST_BINS)

    def is_safe(self, first: int, stop: int) -> bool:
        """Return whether the rows from ``first`` to before ``stop`` make a safe bin."""
        totals = [column[stop] - column[first] for column in self.sums]
        all_cases = sum(totals[:3])
        # a thousandth less is enough: differences of running sums are rounded
        if all_cases < self.least_cases * 0.999:
            return False
        if self.at_least <= 1:
            return True

        negatives, positives, unknowns = self._numbers(totals)
        classes_hidden = min(negatives, positives) >= self.at_least
        return classes_hidden and (unknowns == 0 or unknowns >= self.at_least)

    def _numbers(self, totals: list[float]) -> list[float]:
        """Return numbers of cases; for weights, Kish's effective numbers."""
        if len(totals) == 3:
            return totals
        return [
            round(kish(weight, square), 9) if weight > 0 else 0.0
            for weight, square in zip(totals[:3], totals[3:], strict=True)
        ]


def _row_of_threshold(cases: Tally, threshold: float) -> int:
    """Return the first row below a threshold: rows before it are flagged."""
    return int(np.searchsorted(-cases.score, -float(threshold), side="right"))


def _rows_of_edges(cases: Tally, edges: Sequence[float]) -> set[int]:
    """Return the rows at which a bin may begin."""
    return {_row_of_threshold(cases, edge) for edge in edges}


def _safe_places(tables: Sequence[_Rows], places: Iterable[int]) -> list[int]:
    """Return the places that leave every part safe; earlier places have priority."""
    size = len(tables[0].sums[0]) - 1
    safe: list[int] = []
    for place in places:
        cuts = sorted({0, *safe, place, size})
        if all(_parts_are_safe(rows, cuts) for rows in tables):
            safe.append(place)

    return sorted(safe)


def _parts_are_safe(rows: _Rows, cuts: Sequence[int]) -> bool:
    """Return whether the rows between each cut and the next make a safe bin."""
    return all(rows.is_safe(first, behind) for first, behind in pairwise(cuts))


def _bin_starts(
    tables: Sequence[_Rows],
    cuts: Sequence[int],
    allowed: set[int] | None = None,
    *,
    size: int,
) -> Ints:
    """Return the first rows of bins: as many as are safe in every table.

    Each cut begins a bin.
    """
    starts: list[int] = []
    inner = [cut for cut in cuts if 0 < cut < size]
    for begin, end in zip([0, *inner], [*inner, size], strict=True):
        starts += _starts_between(tables, begin, end, allowed)
    return np.array(starts, np.int64)


def _starts_between(
    tables: Sequence[_Rows], begin: int, end: int, allowed: set[int] | None
) -> list[int]:
    """Return the first rows of bins between two cuts; each is as small as is safe."""
    starts = [begin]
    for behind in range(begin + 1, end):
        stop_if_requested()
        may_end = allowed is None or behind in allowed
        if may_end and all(rows.is_safe(starts[-1], behind) for rows in tables):
            starts.append(behind)

    # rows left at the end join the last bin, and bins before it if necessary
    while len(starts) > 1 and not all(rows.is_safe(starts[-1], end) for rows in tables):
        starts.pop()

    return starts


@final
@dataclass(frozen=True)
class _Chain:
    """Groups of one column, in bins whose edges are a subset of the bins before."""

    whole: Tally
    starts: Ints  # the bins of all cases
    ends: tuple[Floats, Floats]
    at_least: int
    cuts: Sequence[int]  # rows of the whole at which thresholds have an edge
    exact_table: bool

    def publish(self, column: str, tallies: Mapping[str, Tally]) -> PrivateGroups:
        """Return the groups of a column in safe bins."""
        counts = {str(name): self._in_bins(t) for name, t in tallies.items()}
        # cases in no group, whose counts follow by subtraction
        remaining = [
            total - in_groups
            for total, in_groups in zip(
                self._in_bins(self.whole), _add_columns([*counts.values()]), strict=True
            )
        ]
        _refuse_overlap(column, remaining)

        if any(values.sum() > 1e-9 * values.size for values in remaining[:3]):
            counts[_free_name("none named", counts)] = remaining

        counts, pooled = self._pool_small(counts)
        if len(counts) < 2:
            return PrivateGroups({}, pooled)
        return PrivateGroups(self._publish_chain(counts), pooled)

    def _in_bins(self, cases: Tally) -> list[Array]:
        """Return the counts of a group in the bins of the whole."""
        rows = np.minimum(rows_of(self.whole, cases.score), len(self.whole) - 1)
        bins = np.searchsorted(self.starts, rows, side="right") - 1
        size = self.starts.size

        return [
            np.bincount(bins, column, minlength=size).astype(column.dtype)
            for column in cases.counts
        ]

    def _rows(self, columns: Sequence[Array]) -> _Rows:
        """Return the running sums of a group."""
        # the whole has few enough bins already: bins of groups have no smallest size
        return _Rows(_Rows.of_columns(columns, self.at_least).sums, self.at_least, 0.0)

    def _pool_small(
        self, counts: dict[str, list[Array]]
    ) -> tuple[dict[str, list[Array]], tuple[str, ...]]:
        """Return the counts that can be published, and the names of small groups.

        The small groups are counted together.
        """
        by_falling_size = sorted(counts, key=lambda name: -_smaller_class(counts[name]))
        large = []
        small = []
        for name in by_falling_size:
            if self._is_safe(counts[name]):
                large.append(name)
            else:
                small.append(name)

        pool = _add_columns([counts[name] for name in small])
        # a pool that is still too small also takes the smallest of the large groups
        while small and large and not self._is_safe(pool):
            small.insert(0, large.pop())
            pool = _add_columns([counts[name] for name in small])

        publishable = {name: counts[name] for name in large}
        # without a large group only the total can be published
        if small and large:
            pool_name = _free_name(f"{len(small)} small groups combined", publishable)
            publishable[pool_name] = pool

        return publishable, tuple(sorted(small))

    def _is_safe(self, columns: Sequence[Array]) -> bool:
        """Return whether all cases of a group together make a safe bin."""
        return self._rows(columns).is_safe(0, self.starts.size)

    def _publish_chain(self, counts: dict[str, list[Array]]) -> dict[str, Tally]:
        """Return the groups in bins that get coarser, groups with safe tables first."""
        cuts = [int(np.searchsorted(self.starts, cut)) for cut in self.cuts]

        def rank(name: str) -> tuple[int, float]:
            safe_cuts = _safe_places([self._rows(counts[name])], cuts)
            return -len(safe_cuts), -_smaller_class(counts[name])

        order = sorted(counts, key=rank)
        published = {}
        starts = np.arange(self.starts.size)

        for place, name in enumerate(order):
            later = [counts[later_name] for later_name in order[place + 1 :]]
            if later:
                starts = self._coarsen(starts, counts[name], _add_columns(later), cuts)
            # the last group follows from the others by subtraction, so it has the edges
            # of the one before
            published[name] = self._tally(counts[name], starts)

        return published

    def _coarsen(
        self,
        starts: Ints,
        group: Sequence[Array],
        later_groups: Sequence[Array],
        cuts: Sequence[int],
    ) -> Ints:
        """Return the first rows of bins that are safe in a group and in later ones."""
        tables = [self._rows(group), self._rows(later_groups)]
        allowed = {*starts.tolist()}
        edges = [cut for cut in cuts if cut in allowed]
        if not self.exact_table:
            edges = _safe_places(tables, edges)
        return _bin_starts(tables, edges, allowed, size=self.starts.size)

    def _tally(self, columns: Sequence[Array], starts: Ints) -> Tally:
        """Return the counts of a group in the bins that start there."""
        low, high = self.ends
        return _tally_with_cases(
            join_into_bins(starts, low, high, list(columns)), self.whole
        )


def _tally_with_cases(bins: Bins, all_cases: Tally) -> Tally:
    """Return a tally of bins, without empty bins."""
    occupied = sum(bins.counts[:3]) > 0
    columns = [column[occupied] for column in bins.counts]
    published = tally_of_bins(bins.low[occupied], bins.high[occupied], columns)
    return published.with_design(**all_cases.design.arguments)


def _publish(all_cases: Tally, starts: Ints, ends: tuple[Floats, Floats]) -> Tally:
    """Return all cases in the bins with these first rows and published ends."""
    bins = join_into_bins(starts, all_cases.score, all_cases.high, all_cases.counts)
    return _tally_with_cases(Bins(*ends, bins.counts), all_cases)


def _add_columns(parts: Sequence[Sequence[Array]]) -> list[Array]:
    """Return the sums of columns of counts over all parts."""
    return [np.sum(columns, axis=0) for columns in zip(*parts, strict=True)]


def _smaller_class(columns: Sequence[Array]) -> float:
    """Return the number of cases, or the weight, of the smaller class."""
    return float(min(columns[0].sum(), columns[1].sum()))


def _free_name(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that no group has."""
    return name if name not in taken else _free_name(f"{name}_", taken)


def _refuse_overlap(column: str, rest: Sequence[Array]) -> None:
    """Raise an error if the groups have more cases than the whole."""
    if any((values < -1e-9 * max(values.size, 1)).any() for values in rest):
        raise InputError(
            f"The groups of {column!r} must not overlap; together they have more "
            "cases than the whole.",
            option="groups",
        )


def published_ends(
    cases: Tally,
    starts: Ints,
    thresholds: Sequence[float],
    edges: Sequence[float] | None = None,
) -> tuple[Floats, Floats]:
    """Return the published ends of each bin, low and high.

    They do not show the scores of single cases. An end is the shortest decimal number
    between two bins, or a threshold between them. A bin of one score keeps it.
    """
    last_rows = np.append(starts[1:], len(cases)) - 1
    lowest = cases.score[last_rows].tolist()
    highest = cases.high[starts].tolist()
    has_one_score = [low == high for low, high in zip(lowest, highest, strict=True)]
    preferred_ends = sorted({*map(float, thresholds), *map(float, edges or ())})
    low_ends = list(lowest)
    high_ends = list(highest)

    # bins are in descending order: a gap lies below one bin and above the next
    for upper in range(len(lowest) - 1):
        lower = upper + 1
        gap_low, gap_high = _ends_at_gap(
            highest[lower],
            lowest[upper],
            preferred_ends,
            keep_above=has_one_score[upper],
        )
        if not has_one_score[upper]:
            low_ends[upper] = gap_high
        if not has_one_score[lower]:
            high_ends[lower] = gap_low

    if not has_one_score[0]:
        high_ends[0] = _outer_end(highest[0], lowest[0], preferred_ends, up=True)
    if not has_one_score[-1]:
        low_ends[-1] = _outer_end(lowest[-1], highest[-1], preferred_ends, up=False)

    return np.array(low_ends), np.array(high_ends)


def _ends_at_gap(
    below: float, above: float, wanted: Sequence[float], *, keep_above: bool
) -> tuple[float, float]:
    """Return the ends at a gap: of the bin below it, and of the bin above it.

    ``below`` and ``above`` are the scores at the gap. With ``keep_above`` the bin above
    keeps its score.
    """
    between = [cut for cut in wanted if below < cut <= above]

    if keep_above:
        end_above = above
    elif between:
        end_above = between[-1]
    else:
        end_above = shortest_decimal(below, above, open_below=True)

    # no threshold may lie in a bin whose cases are all on one side of it
    ceiling = between[0] if between else end_above
    end_below = shortest_decimal(below, ceiling, open_above=True)
    return end_below, end_above


def _outer_end(
    end: float, other_end: float, preferred_ends: Sequence[float], up: bool
) -> float:
    """Return a short number beyond the outer end of a bin, by at most a tenth of it.

    Of the preferred ends, such as thresholds, the nearest is taken if it is within
    reach. A probability stays above 0 and below 1, where log odds exist.
    """
    room = abs(end - other_end) / 10

    if up:
        if end <= 1:
            room = min(room, (1 - end) / 2)

        farthest = end + room
        within_reach = [cut for cut in preferred_ends if end < cut <= farthest]
        farthest = min(within_reach, default=farthest)

        # scores at a preferred end belong to the next bin
        return shortest_decimal(end, farthest, open_above=bool(within_reach))

    if end >= 0:
        room = min(room, end / 2)

    farthest = end - room
    within_reach = [cut for cut in preferred_ends if farthest < cut <= end]
    return shortest_decimal(max(within_reach, default=farthest), end, down=True)


def shortest_decimal(
    low: float,
    high: float,
    *,
    open_below: bool = False,
    open_above: bool = False,
    down: bool = False,
) -> float:
    """Return the number with the fewest digits between two others.

    It is the smallest of these, or with ``down`` the largest.

    >>> shortest_decimal(0.31234, 0.31987)
    0.313
    >>> shortest_decimal(0.2, 0.31234, open_below=True)
    0.3
    """
    decimal_low = Decimal(repr(float(low)))
    decimal_high = Decimal(repr(float(high)))
    first = max(decimal_low.adjusted(), decimal_high.adjusted()) + 1

    for exponent in range(first, first - _DIGITS - 2, -1):
        unit = Decimal(1).scaleb(exponent)
        if down:
            multiple = (decimal_high / unit).to_integral_value(ROUND_FLOOR)
        else:
            multiple = (decimal_low / unit).to_integral_value(ROUND_CEILING)

        number = float(multiple * unit) + 0.0
        inside = low <= number <= high
        if open_below and number == low:
            number = float((multiple + 1) * unit)
            inside = low < number <= high
        if open_above and number >= high:
            inside = False
        if inside:
            return number

    return high if open_below or down else low
