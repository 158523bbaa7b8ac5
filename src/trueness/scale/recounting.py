"""How are the rows of a few bins counted again, where the rows are?

The rows are in a tally, on a device, or in a lazy frame whose engine counts them. Bins
that are still open are counted again, score by score or in finer bins, and put in the
place of the old ones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from operator import neg
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueness._core.arrays import Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.data_types import Frame, LabelValue
from trueness._core.imports import lazy_import
from trueness.counts.answers import CountsElsewhere, refuse
from trueness.counts.cases import keep_rows
from trueness.counts.counting import read_labels
from trueness.counts.values import Tally, tally_of_rows
from trueness.data import engine_bins, engines
from trueness.data.frames import tally
from trueness.scale.inner_cuts import Flags

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from typing_extensions import TypeIs
else:
    nw = lazy_import("narwhals.stable.v2", "cli")  # imported when a frame arrives

# the most ranges of scores in one pass
_MOST_RANGES = 8
# each open bin is divided into at least about so many
_PARTS_OF_A_BIN = 8


class LazyRows(NamedTuple):
    """A lazy frame, its columns by role, and the positive label."""

    frame: nw.LazyFrame[Any]
    names: Mapping[str, str]
    positive: object

    @property
    def by_role(self) -> nw.LazyFrame[Any]:
        """Return the frame with the columns ``label`` and ``score`` alone."""
        return engines.select_by_role(self.frame, self.names)


class PassCounts(NamedTuple):
    """Counts of labelled cases, with the passes over the data and the rows counted."""

    tally: Tally
    passes: int
    rows: int


def open_rows(
    data: Frame | Tally | CountsElsewhere,
    *,
    label: str | None,
    score: str | None,
    positive: LabelValue,
) -> Any:
    """Return rows that can be counted again: a tally, scores on a device, ``LazyRows``.

    A frame in memory is counted here.
    """
    reason = (
        "Its rows are counted one by one. Use a tally without bins, which is exact."
    )
    refuse(
        data,
        "An exact answer",
        dict.fromkeys(("weight", "cluster", "unlabelled"), reason),
    )

    if isinstance(data, Tally):
        if data.binned:
            raise InputError(
                "An exact answer needs every score; found a tally of bins, in which "
                "they are lost. Count the rows themselves.",
                example=PythonCode("exact_threshold(rows, label=, score=, maximize=)"),
            )
        labelled = data.labelled()
        # the counts as they are, without a design
        return tally_of_rows(labelled.score, *labelled.counts)

    if _stays_on_device(data):
        return data

    frame = engines.open_frame(data)
    if not isinstance(frame, nw.LazyFrame):
        return tally(frame, label=label, score=score, positive=positive).labelled()

    if score is None or label is None:
        raise InputError(
            "Which columns hold the labels and the scores?",
            option="label",
            choices=frame.collect_schema().names(),
        )

    names = engines.columns_of_roles(frame, {"label": label, "score": score})
    return LazyRows(frame, names, positive)


def _stays_on_device(data: object) -> TypeIs[CountsElsewhere]:
    """Return whether these are sorted scores that stay on a device."""
    return isinstance(data, CountsElsewhere) and not hasattr(data, "names")


def count_each_score(rows: Any) -> PassCounts:
    """Return the counts of every score, without bins."""
    if isinstance(rows, LazyRows):
        counted = tally(
            rows.frame,
            label=rows.names["label"],
            score=rows.names["score"],
            positive=rows.positive,
        )
    elif isinstance(rows, Tally):
        counted = rows
    else:
        counted = rows.to_host()
    return PassCounts(counted.labelled(), 1, counted.n)


def count_into_bins(rows: Any, at_most: int) -> PassCounts:
    """Return the counts of all rows in at most so many bins."""
    at_most = _options.whole_number(at_most, "at_most", at_least=1)
    if not isinstance(rows, LazyRows):
        return PassCounts(rows.bin(at_most).labelled(), 1, rows.n)
    binned = engine_bins.binned_tally(rows.by_role, rows.names, rows.positive, at_most)
    # three passes: the range of the scores, their quantiles, and the counts
    return PassCounts(binned.labelled(), 3, binned.n)


def recount(
    rows: Any, counts: PassCounts, open_bins: Flags, *, at_most: int, batch: int
) -> PassCounts:
    """Return the counts after one more pass, over the rows of these bins.

    Each score is counted if there are no more rows than a batch; finer bins otherwise.
    """
    counted = counts.tally
    cases = counted.neg + counted.pos

    bins = None  # each score
    if cases[open_bins].sum() > batch:
        bins = max(at_most, _PARTS_OF_A_BIN * int(np.count_nonzero(open_bins)))

    # bins between two open ones that are close are counted again as well
    runs = _runs_of_bins(open_bins, cases)
    inside = np.zeros(len(counted), dtype=bool)
    for run in runs:
        inside[run.first : run.stop] = True

    recounted = _count_runs(rows, counted, runs, bins).labelled()
    _check_unchanged(keep_rows(counted, inside), recounted)
    return PassCounts(
        tally=keep_rows(counted, ~inside) + recounted,
        passes=counts.passes + 1,
        rows=counts.rows + recounted.n,
    )


def _check_unchanged(before: Tally, again: Tally) -> None:
    """Raise an error if the bins hold other numbers of cases than before."""
    if (before.n_neg, before.n_pos) != (again.n_neg, again.n_pos):
        raise InputError(
            f"The data changed while they were counted: {before.n:,} labelled cases "
            f"became {again.n:,}. Copy the data, or stop the process that writes to "
            "them, and try again."
        )


class _Run(NamedTuple):
    """Neighbouring rows of a tally: from ``first`` to before ``stop``."""

    first: int
    stop: int


def _runs_of_bins(open_bins: Flags, cases: Ints) -> list[_Run]:
    """Return runs of neighbouring open bins; the nearest are joined if too many."""
    # runs begin and end where open follows closed, or the other way round
    change = np.diff(np.concatenate([[0], open_bins.astype(np.int8), [0]]))
    edges = np.flatnonzero(change)
    first = edges[0::2]
    stop = edges[1::2]

    cumulative = np.concatenate([[0], np.cumsum(cases)])
    cases_in_gap = cumulative[first[1:]] - cumulative[stop[:-1]]
    if cases_in_gap.size >= _MOST_RANGES:
        # keep the gaps with the most cases, so that few rows are counted twice
        largest_first = np.argsort(-cases_in_gap, kind="stable")
        gaps_kept = np.sort(largest_first[: _MOST_RANGES - 1])
        first = np.concatenate([first[:1], first[1:][gaps_kept]])
        stop = np.concatenate([stop[:-1][gaps_kept], stop[-1:]])

    return [
        _Run(first_bin, stop_bin)
        for first_bin, stop_bin in zip(first.tolist(), stop.tolist(), strict=True)
    ]


def _count_runs(rows: Any, t: Tally, runs: list[_Run], bins: int | None) -> Tally:
    """Return the counts of these runs: of each score, or in so many bins."""
    ranges = [(float(t.score[run.stop - 1]), float(t.high[run.first])) for run in runs]

    if isinstance(rows, LazyRows):
        return _count_in_engine(rows, ranges, bins)
    if isinstance(rows, Tally):
        return _rows_between(rows, ranges)

    on_device = rows.between(ranges)

    if bins is None:
        each_score: Tally = on_device.to_host()
        return each_score

    lowest_scores = [low for low, _ in ranges]
    binned: Tally = on_device.bin(bins, lowest_scores)
    return binned


def _rows_between(t: Tally, ranges: list[tuple[float, float]]) -> Tally:
    """Return the rows of a tally with scores in these ranges."""
    inside = np.zeros(len(t), dtype=bool)
    for low, high in ranges:
        # bisect, as scores descend: NumPy would need an ascending copy
        first = bisect_left(t.score, -high, key=neg)
        stop = bisect_right(t.score, -low, key=neg)
        inside[first:stop] = True

    return keep_rows(t, inside)


def _count_in_engine(
    rows: LazyRows, ranges: list[tuple[float, float]], bins: int | None
) -> Tally:
    """Return the counts of the rows of a lazy frame with scores in these ranges."""
    score = nw.col("score").cast(nw.Float64)
    in_a_range = nw.any_horizontal(
        *((score >= low) & (score <= high) for low, high in ranges), ignore_nulls=True
    )
    chosen = rows.by_role.filter(in_a_range)

    if bins is None:
        return tally(chosen, label="label", score="score", positive=rows.positive)

    edges = np.unique(ranges)
    bins_between_edges = max(bins // max(edges.size - 1, 1), 2)
    columns = engine_bins.count_bins(chosen, rows.names, edges, bins_between_edges)
    labels = read_labels(columns["label"], rows.positive, "y_true")

    return engine_bins.bins_to_tally(columns, labels)
