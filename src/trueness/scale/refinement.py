r"""What is the exact answer, when the rows are too many to be sorted?

Count the rows into bins first. The few bins that can change the answer are counted
again, finer or score by score, until nothing is left in doubt. The rows stay where they
are; each pass is one group-by of their engine or one stream.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from inspect import unwrap
from operator import neg
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.imports import lazy_import
from trueness._core.records import Record, apart
from trueness.counts.answers import CountsElsewhere, refuse
from trueness.counts.bins import join_into_bins
from trueness.counts.cases import COUNTS
from trueness.counts.counting import read_labels
from trueness.counts.design import PLAIN
from trueness.counts.placements import run_starts
from trueness.counts.values import Tally, tally_of_bins
from trueness.data import engine_bins, engines
from trueness.data.frames import tally
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import constraints as read_constraints
from trueness.ranking.areas import auc
from trueness.scale.envelopes import Flags, search
from trueness.threshold.constraints import read_objective
from trueness.threshold.operating_point import best_threshold, on_bins

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy_import("narwhals.stable.v2", "cli")  # imported when a frame arrives

Bound = str | Constraint
_RANGES = 8  # ranges of scores that one pass may ask for
_DIVIDE = 8  # finer bins pay when each doubtful one becomes so many


# bins are made finer until their limits are gone: the answers are asked for plain
_auc, _best_threshold = unwrap(auc), unwrap(best_threshold)


@final
@dataclass(frozen=True, repr=False)
class Refined(Record):
    """What is the exact answer, and how much work did it take?

    Attributes
    ----------
    answer : OperatingPoint or Estimate
        As ``best_threshold`` or ``auc`` gives it.
    low, high : float
        The exact value lies between these; equal when the answer is exact.
    passes, rows, bins : int
        How often the data were read, how many rows were counted in all passes together,
        and how many the tally had at the end.
    seconds : float
        How long it took.
    """

    answer: Any
    low: float
    high: float
    passes: int
    rows: int
    bins: int
    seconds: float = 0.0

    @property
    def value(self) -> float:
        """Give the value of the answer."""
        return float(self.answer.value)

    @property
    def exact(self) -> bool:
        """Is the value exact, so that both bounds are equal?"""
        return self.low == self.high

    @property
    def threshold(self) -> float:
        """Give the threshold of the answer, where it has one."""
        return float(self.answer.threshold)

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        how = "exact" if self.exact else f"within {apart(self.low, self.high)}"
        return (
            f"{self.answer!r}\n  {how}, after {self.passes} passes over {self.rows:,} "
            f"rows in {self.seconds:.1f} s; {self.bins:,} bins at the end"
        )


class ScoreSource(NamedTuple):
    """Where the rows are (a lazy frame by roles, or a tally), and what was counted."""

    rows: Any
    names: Mapping[str, str]
    positive: Any
    counted: list[int]
    start: float

    def done(self, t: Tally, low: float, high: float, answer: Any) -> Refined:
        """Report the answer with what it took."""
        passes, rows = len(self.counted), sum(self.counted)
        seconds = perf_counter() - self.start
        return Refined(answer, low, high, passes, rows, len(t), seconds)


@engines.in_turn
def exact_threshold(
    data: object,
    *,
    label: str | None = None,
    score: str | None = None,
    maximize: str | Metric | None = None,
    subject_to: Bound | Iterable[Bound] = (),
    minimize: str | Metric | None = None,
    prevalence: float | None = None,
    positive: object = None,
    tolerance: float = 0.0,
    at_most: int = 20_000,
    batch: int = 20_000_000,
) -> Refined:
    """At which threshold is a metric best, exactly, on data that are read in place?

    Parameters
    ----------
    data
        Any frame; a lazy one (:func:`scan`, Polars, DuckDB, PySpark, Ibis) is counted
        by its engine. Or a tally: then the answer is that of :func:`best_threshold`,
        found without looking at every threshold.
    label, score
        Names of the columns of the frame.
    maximize, subject_to, minimize, prevalence
        As in :func:`best_threshold`.
    positive
        As in :func:`tally`.
    tolerance
        Stop when the best value is known to within this much; 0 for the exact optimum.
    at_most
        How many bins one counting pass makes.
    batch
        How many rows one pass may count score by score.

    Notes
    -----
    A bin is counted again only if the upper bound of the metric in it (see
    :func:`bounds`) reaches the value at the best threshold found between bins. For a
    metric of one's own, whose shape is not known, that is every bin.

    Examples
    --------
    >>> import polars as pl
    >>> columns = {"y": [1, 1, 0, 1, 0, 0], "p": [0.9, 0.8, 0.7, 0.6, 0.2, 0.1]}
    >>> rows = pl.LazyFrame(columns)
    >>> r = exact_threshold(rows, label="y", score="p", maximize="f1", at_most=2)
    >>> r.value, r.answer.score_range  # 3 found, 1 false: 6/7
    (0.8571428571428571, (0.2, 0.6))
    """
    constraints = read_constraints(subject_to)
    tolerance = _options.not_negative(tolerance, "tolerance")
    batch = _options.whole_number(batch, "batch", at_least=1)
    design = getattr(data, "design", PLAIN).with_words({"prevalence": prevalence})
    prevalence = design.prevalence
    source, t = _first(data, label, score, positive, at_most)
    _cases.some_labels(t, "exact_threshold")
    _, objective = read_objective(maximize, minimize)
    for _ in range(_MOST_PASSES):
        known = t.labelled()
        reached, possible, alive = search(known, objective, constraints, prevalence)
        if tolerance == 0 and constraints:
            binds = _may_bind(known, objective, constraints, prevalence, possible)
            alive = alive | binds
        if not alive.any() or possible - reached <= tolerance > 0:
            break
        # where many cuts are nearly as good, each of their bins is divided all the same
        finer = max(at_most, _DIVIDE * int(np.count_nonzero(alive)))
        t = _refined(source, known, alive, finer, batch)
    in_use = known.with_design(sampling=design.sampling, prevalence=prevalence)
    point = _best_threshold(in_use, maximize, constraints, minimize=minimize)
    point = on_bins(point, known)
    low = high = point.value
    if alive.any():
        low, high = (reached, possible) if minimize is None else (-possible, -reached)
        point = replace(point, bounds=(low, high))
    return source.done(known, low, high, point)


@engines.in_turn
def exact_auc(
    data: object,
    *,
    label: str | None = None,
    score: str | None = None,
    positive: object = None,
    tolerance: float = 0.0,
    method: str = "newcombe",
    level: float = 0.95,
    at_most: int = 100_000,
    batch: int = 20_000_000,
) -> Refined:
    r"""What is the AUC, exactly or within a tolerance, without sorting the data?

    Parameters
    ----------
    data, label, score, positive
        As in :func:`exact_threshold`.
    tolerance
        Stop when the AUC is known to within this much; 0 for the exact AUC.
    method, level
        How the interval is made, as in :func:`auc`.
    at_most, batch
        As in :func:`exact_threshold`.

    Notes
    -----
    The AUC of the bins differs from the exact one by at most half of the pairs that
    share a bin; bins with the most pairs are counted again first. With ``tolerance=0``
    nearly all rows of continuous scores are counted once more, ``batch`` in a pass.

    Examples
    --------
    >>> import polars as pl
    >>> columns = {"y": [1, 1, 0, 1, 0, 0], "p": [0.9, 0.8, 0.7, 0.6, 0.2, 0.1]}
    >>> rows = pl.LazyFrame(columns)
    >>> exact_auc(rows, label="y", score="p", at_most=2).value  # 8 of 9 pairs
    0.8888888888888888
    """
    tolerance = _options.not_negative(tolerance, "tolerance")
    batch = _options.whole_number(batch, "batch", at_least=1)
    whole = batch if tolerance == 0 else 0
    source, t = _first(data, label, score, positive, at_most, whole)
    _cases.both_classes(t, "exact_auc")
    allowed = 2 * tolerance * t.n_pos * t.n_neg
    for _ in range(_MOST_PASSES):
        t = _same_class_joined(t.labelled())
        pairs = np.where(t.high > t.score, t.neg.astype(np.float64) * t.pos, 0.0)
        if pairs.sum() <= allowed:
            break
        # those with the most pairs, until the rest may stay
        order = np.argsort(-pairs, kind="stable")
        left = pairs.sum() - np.cumsum(pairs[order])
        chosen = np.zeros(pairs.size, dtype=bool)
        chosen[order[: int(np.count_nonzero(left > allowed)) + 1]] = True
        chosen &= pairs > 0
        t = _refined(source, t, chosen, at_most, batch, _same_class_joined)
    answer = _auc(t, method=method, level=level)
    half = float(pairs.sum()) / (2 * t.n_pos * t.n_neg)
    limits = max(0.0, answer.value - half), min(1.0, answer.value + half)
    if half:  # the interval holds what the bins leave open too
        low, high = max(0.0, answer.low - half), min(1.0, answer.high + half)
        answer = replace(answer, low=low, high=high, bounds=limits)
    return source.done(t, *limits, answer)


# each pass settles ``batch`` rows or divides every doubtful bin: far more than needed
_MOST_PASSES = 10_000


def _first(
    frame: object,
    label: str | None,
    score: str | None,
    positive: object,
    at_most: int,
    whole: int = 0,
) -> tuple[ScoreSource, Tally]:
    """Count into bins; up to ``whole`` rows of a lazy frame score by score at once."""
    began = perf_counter()
    at_most = _options.whole_number(at_most, "at_most", at_least=1)
    why = (
        "It halves bins of counts. A tally that is not binned is exact, and takes them."
    )
    words = ("weight", "cluster", "unlabelled")
    refuse(frame, "An exact answer", dict.fromkeys(words, why))
    if _looks_up(frame):
        device: Any = frame
        return ScoreSource(frame, {}, None, [device.n], began), device.bin(at_most)
    lazy = frame if isinstance(frame, Tally) else engines.open_frame(frame)
    if not isinstance(lazy, nw.LazyFrame):
        if not isinstance(lazy, Tally):
            lazy = tally(frame, label=label, score=score, positive=positive)
        known = lazy.labelled()
        step = 1 if whole else max(len(known) // at_most, 1)
        start, counts = np.arange(0, len(known), step), known.counts[:3]
        bins = tally_of_bins(*join_into_bins(start, known.score, known.high, counts))
        return ScoreSource(known, {}, None, [known.n], began), bins
    if score is None or label is None:
        raise InputError(
            "Which columns hold the labels and the scores?",
            option="label",
            choices=lazy.collect_schema().names(),
        )
    names = engines.wanted_columns(lazy, {"label": label, "score": score})
    rows = engines.by_role(lazy, names)
    e = engine_bins.extent(rows, names)
    if e[0] <= whole:
        t = tally(lazy, label=label, score=score, positive=positive)
        return ScoreSource(rows, names, positive, [0, t.n], began), t
    t = engine_bins.binned_tally(rows, names, positive, at_most, e)
    # where the scores lie, their quantiles, and the count: three passes
    return ScoreSource(rows, names, positive, [0, 0, t.n], began), t


def _looks_up(frame: object) -> bool:
    """Are these sorted scores that stay on a device?"""
    return isinstance(frame, CountsElsewhere) and not hasattr(frame, "names")


def _same_class_joined(t: Tally) -> Tally:
    """Join neighbouring rows that hold one and the same class only."""
    counts = (t.neg, t.pos, t.unknown)
    return tally_of_bins(*join_into_bins(run_starts(t), t.score, t.high, counts))


def _may_bind(
    t: Tally,
    objective: Metric,
    constraints: tuple[Constraint, ...],
    prevalence: float | None,
    best: float,
) -> Flags:
    """Which bins decide whether a constraint stops the objective short of the best?"""
    alive = np.zeros(len(t), dtype=bool)
    sets = [constraints[:k] + constraints[k + 1 :] for k in range(len(constraints))]
    for fewer in sets + ([()] if len(constraints) > 1 else []):
        reached, _, some = search(t, objective, fewer, prevalence)
        if reached <= best:  # otherwise it is known that it does
            alive |= some
    return alive


def _refined(
    source: ScoreSource,
    t: Tally,
    alive: Flags,
    at_most: int,
    batch: int,
    shorten: Callable[[Tally], Tally] = Tally.labelled,
) -> Tally:
    """Count the rows of these bins again: score by score, or in finer bins."""
    cases, bins = t.neg + t.pos, None
    enough = _DIVIDE * int(np.count_nonzero(alive)) <= at_most
    if cases[alive].sum() > batch and enough:
        bins = at_most
    else:
        upto = np.cumsum(np.where(alive, cases, 0))
        alive = alive & (upto <= max(batch, int(upto[np.argmax(alive)])))
    runs = _runs(alive, cases)
    part = _counted_again(source, t, runs, bins).labelled()
    source.counted.append(part.n)
    inside = _end_to_end([_rows(t, *run) for run in runs])
    if (inside.n_neg, inside.n_pos) != (part.n_neg, part.n_pos):
        raise InputError(
            f"The data changed while they were counted: {inside.n:,} labelled cases "
            f"became {part.n:,}. Make a copy, or stop what writes to them, and ask "
            f"again."
        )
    # run by run: what is shortened across a gap would swallow the bins in the gap
    lowest = np.searchsorted(
        -part.score, [-t.score[stop - 1] for _, stop in runs], "right"
    )
    pieces, last, done = [], 0, 0
    for (first, stop), upto in zip(runs, lowest.tolist(), strict=True):
        pieces += [_rows(t, last, first), shorten(_rows(part, done, upto))]
        last, done = stop, upto
    return _end_to_end([*pieces, _rows(t, last, len(t))])


Run = tuple[int, int]  # neighbouring rows of a tally, first and behind the last


def _runs(alive: Flags, cases: Ints) -> list[Run]:
    """Give runs of neighbouring bins; the nearest are joined if there are too many."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], alive.astype(np.int8), [0]])))
    first, stop = edges[0::2], edges[1::2]
    upto = np.concatenate([[0], np.cumsum(cases)])
    gap = upto[first[1:]] - upto[stop[:-1]]
    if gap.size >= _RANGES:
        # the widest gaps stay open: few rows are counted twice
        keep = np.sort(np.argsort(-gap, kind="stable")[: _RANGES - 1])
        first = np.concatenate([first[:1], first[1:][keep]])
        stop = np.concatenate([stop[:-1][keep], stop[-1:]])
    return list(zip(first.tolist(), stop.tolist(), strict=True))


def _rows(t: Tally, first: int, stop: int) -> Tally:
    counts = [c[first:stop] for c in (t.neg, t.pos, t.unknown)]
    return tally_of_bins(t.score[first:stop], t.high[first:stop], counts)


def _end_to_end(parts: list[Tally]) -> Tally:
    """Join tallies of which each lies below the one before."""
    low, high, *counts = (
        np.concatenate([getattr(t, k) for t in parts])
        for k in ("score", "high", *COUNTS)
    )
    return tally_of_bins(low, high, counts)


def _counted_again(
    source: ScoreSource, t: Tally, runs: list[Run], bins: int | None
) -> Tally:
    ends = [(float(t.score[stop - 1]), float(t.high[first])) for first, stop in runs]
    if isinstance(source.rows, Tally):
        x = source.rows
        # scores descend; NumPy would copy them to search the other way round
        places = [
            (bisect_left(x.high, -high, key=neg), bisect_right(x.score, -low, key=neg))
            for low, high in ends
        ]
        return _end_to_end([_rows(x, *pair) for pair in places])
    if _looks_up(source.rows):
        some = source.rows.between(ends)
        lows = [e[0] for e in ends]
        again: Tally = some.bin(bins, lows) if bins else some.to_host()
        return again
    value = nw.col("score").cast(nw.Float64)
    chosen = nw.any_horizontal(
        *((value >= low) & (value <= high) for low, high in ends), ignore_nulls=True
    )
    rows = source.rows.filter(chosen)
    if bins is None:
        return tally(rows, label="label", score="score", positive=source.positive)
    edges = np.unique([e for pair in ends for e in pair])
    each = max(bins // max(edges.size - 1, 1), 2)
    found = engine_bins.count_bins(rows, source.names, edges, each)
    labels = read_labels(found["label"], source.positive, "y_true")
    return engine_bins.bins_to_tally(found, labels)
