"""How are the rows of a few bins counted again, where the rows are?

A source remembers where the rows are: in a tally, on a device, or in a lazy frame whose
engine counts them. Bins that are still open are counted again, score by score or in
finer bins, and put in the place of the old ones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from operator import neg
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueness._core.arrays import Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.imports import lazy_import
from trueness.counts.answers import CountsElsewhere, refuse
from trueness.counts.bins import join_into_bins
from trueness.counts.cases import COUNTS
from trueness.counts.counting import read_labels
from trueness.counts.placements import run_starts
from trueness.counts.values import Tally, tally_of_bins
from trueness.data import engine_bins, engines
from trueness.data.frames import tally
from trueness.scale.inner_cuts import Flags

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy_import("narwhals.stable.v2", "cli")  # imported when a frame arrives

# ranges of scores that one pass may ask for
_MOST_RANGES = 8
# finer bins pay when each doubtful one becomes so many
PARTS_OF_A_BIN = 8


class ScoreSource(NamedTuple):
    """Where the rows are (a lazy frame by roles, or a tally), and what was counted."""

    rows: Any
    names: Mapping[str, str]
    positive: Any
    counted: list[int]
    start: float


def open_source(
    data: object,
    *,
    label: str | None,
    score: str | None,
    positive: object,
    at_most: int,
    most_exact_rows: int = 0,
) -> tuple[ScoreSource, Tally]:
    """Count into bins; few rows of a lazy frame are counted score by score at once."""
    start = perf_counter()
    at_most = _options.whole_number(at_most, "at_most", at_least=1)
    reason = "It refines bins of counts. Use a tally without bins, which is exact."
    refuse(
        data,
        "An exact answer",
        dict.fromkeys(("weight", "cluster", "unlabelled"), reason),
    )
    if _stays_on_device(data):
        device: Any = data
        return ScoreSource(data, {}, None, [device.n], start), device.bin(at_most)

    rows = data if isinstance(data, Tally) else engines.open_frame(data)
    if not isinstance(rows, nw.LazyFrame):
        if not isinstance(rows, Tally):
            rows = tally(data, label=label, score=score, positive=positive)
        known = rows.labelled()
        step = 1 if most_exact_rows else max(len(known) // at_most, 1)
        source = ScoreSource(known, {}, None, [known.n], start)
        return source, _join_rows(known, np.arange(0, len(known), step))

    if score is None or label is None:
        raise InputError(
            "Which columns hold the labels and the scores?",
            option="label",
            choices=rows.collect_schema().names(),
        )
    names = engines.wanted_columns(rows, {"label": label, "score": score})
    by_role = engines.by_role(rows, names)
    extent = engine_bins.extent(by_role, names)
    if extent.rows <= most_exact_rows:
        counted = tally(rows, label=label, score=score, positive=positive)
        passes = [0, counted.n]
    else:
        counted = engine_bins.binned_tally(by_role, names, positive, at_most, extent)
        # where the scores lie, their quantiles, and the count: three passes
        passes = [0, 0, counted.n]
    return ScoreSource(by_role, names, positive, passes, start), counted


def _stays_on_device(data: object) -> bool:
    """Are these sorted scores that stay on a device?"""
    return isinstance(data, CountsElsewhere) and not hasattr(data, "names")


def _join_rows(t: Tally, start: Ints) -> Tally:
    """Join neighbouring rows into the bins that start there."""
    counts = (t.neg, t.pos, t.unknown)
    return tally_of_bins(*join_into_bins(start, t.score, t.high, counts))


def join_same_class(t: Tally) -> Tally:
    """Join neighbouring rows that hold one and the same class only."""
    return _join_rows(t, run_starts(t))


def refine(
    source: ScoreSource,
    t: Tally,
    open_bins: Flags,
    *,
    at_most: int,
    batch: int,
    shorten: Callable[[Tally], Tally] = Tally.labelled,
) -> Tally:
    """Count the rows of these bins again: score by score, or in finer bins."""
    cases = t.neg + t.pos
    finer_bins = None
    finer_bins_pay = PARTS_OF_A_BIN * int(np.count_nonzero(open_bins)) <= at_most
    if cases[open_bins].sum() > batch and finer_bins_pay:
        finer_bins = at_most
    else:
        # as many bins as the batch holds, and one at least
        cumulative = np.cumsum(np.where(open_bins, cases, 0))
        most_cases = max(batch, int(cumulative[np.argmax(open_bins)]))
        open_bins = open_bins & (cumulative <= most_cases)

    runs = _runs_of_bins(open_bins, cases)
    counted = _count_again(source, t, runs, finer_bins).labelled()
    source.counted.append(counted.n)
    _check_unchanged(_end_to_end([_take_rows(t, run) for run in runs]), counted)
    return _put_in_place(t, runs, counted, shorten)


def _check_unchanged(before: Tally, again: Tally) -> None:
    """Stop where the rows of the same bins are others than before."""
    if (before.n_neg, before.n_pos) != (again.n_neg, again.n_pos):
        raise InputError(
            f"The data changed while they were counted: {before.n:,} labelled cases "
            f"became {again.n:,}. Copy the data, or stop the process that writes to "
            "them, and try again."
        )


def _put_in_place(
    t: Tally, runs: list[_Run], counted: Tally, shorten: Callable[[Tally], Tally]
) -> Tally:
    """Return the tally with what was counted again in the place of its runs."""
    pieces = []
    row = 0
    row_counted = 0
    # run by run: what is shortened across a gap would swallow the bins in the gap
    for run in runs:
        pieces.append(_take_rows(t, _Run(row, run.first)))
        lowest_score = t.score[run.stop - 1]
        stop = int(np.searchsorted(-counted.score, -lowest_score, "right"))
        pieces.append(shorten(_take_rows(counted, _Run(row_counted, stop))))
        row = run.stop
        row_counted = stop
    pieces.append(_take_rows(t, _Run(row, len(t))))
    return _end_to_end(pieces)


class _Run(NamedTuple):
    """Neighbouring rows of a tally: the first one, and the one behind the last."""

    first: int
    stop: int


def _runs_of_bins(open_bins: Flags, cases: Ints) -> list[_Run]:
    """Return runs of neighbouring bins; of too many the nearest are joined."""
    change = np.diff(np.concatenate([[0], open_bins.astype(np.int8), [0]]))
    edges = np.flatnonzero(change)
    first = edges[0::2]
    stop = edges[1::2]
    cumulative = np.concatenate([[0], np.cumsum(cases)])
    cases_in_gap = cumulative[first[1:]] - cumulative[stop[:-1]]
    if cases_in_gap.size >= _MOST_RANGES:
        # the widest gaps stay open: few rows are counted twice
        by_width = np.argsort(-cases_in_gap, kind="stable")
        widest = np.sort(by_width[: _MOST_RANGES - 1])
        first = np.concatenate([first[:1], first[1:][widest]])
        stop = np.concatenate([stop[:-1][widest], stop[-1:]])
    return [_Run(*ends) for ends in zip(first.tolist(), stop.tolist(), strict=True)]


def _take_rows(t: Tally, run: _Run) -> Tally:
    rows = slice(run.first, run.stop)
    counts = [t.neg[rows], t.pos[rows], t.unknown[rows]]
    return tally_of_bins(t.score[rows], t.high[rows], counts)


def _end_to_end(parts: list[Tally]) -> Tally:
    """Join tallies of which each lies below the one before."""
    return tally_of_bins(
        np.concatenate([t.score for t in parts]),
        np.concatenate([t.high for t in parts]),
        [np.concatenate([getattr(t, name) for t in parts]) for name in COUNTS],
    )


def _count_again(
    source: ScoreSource, t: Tally, runs: list[_Run], bins: int | None
) -> Tally:
    """Count the rows of these runs: score by score, or in so many bins."""
    ranges = [(float(t.score[run.stop - 1]), float(t.high[run.first])) for run in runs]
    if isinstance(source.rows, Tally):
        return _rows_between(source.rows, ranges)
    if _stays_on_device(source.rows):
        on_device = source.rows.between(ranges)
        if bins is None:
            exact: Tally = on_device.to_host()
            return exact
        lowest_scores = [low for low, _ in ranges]
        binned: Tally = on_device.bin(bins, lowest_scores)
        return binned
    return _count_in_engine(source, ranges, bins)


def _rows_between(t: Tally, ranges: list[tuple[float, float]]) -> Tally:
    """Return the rows of a tally with scores in these ranges."""
    parts = []
    for low, high in ranges:
        # scores descend; NumPy would copy them to search the other way round
        first = bisect_left(t.high, -high, key=neg)
        stop = bisect_right(t.score, -low, key=neg)
        parts.append(_take_rows(t, _Run(first, stop)))
    return _end_to_end(parts)


def _count_in_engine(
    source: ScoreSource, ranges: list[tuple[float, float]], bins: int | None
) -> Tally:
    """Count the rows of a lazy frame with scores in these ranges."""
    score = nw.col("score").cast(nw.Float64)
    in_a_range = nw.any_horizontal(
        *((score >= low) & (score <= high) for low, high in ranges), ignore_nulls=True
    )
    rows = source.rows.filter(in_a_range)
    if bins is None:
        return tally(rows, label="label", score="score", positive=source.positive)

    edges = np.unique(ranges)
    bins_between_edges = max(bins // max(edges.size - 1, 1), 2)
    columns = engine_bins.count_bins(rows, source.names, edges, bins_between_edges)
    labels = read_labels(columns["label"], source.positive, "y_true")
    return engine_bins.bins_to_tally(columns, labels)
