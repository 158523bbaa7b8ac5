r"""What is the exact answer, when the rows are too many to be sorted?

Count the rows into bins first. The few bins that can change the answer are counted
again, finer or score by score, until nothing is left in doubt. The rows stay where they
are; each pass is one group-by of their engine or one stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from inspect import unwrap
from time import perf_counter
from typing import TYPE_CHECKING, Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.imports import lazy_import
from trueness._core.records import Record, apart
from trueness.counts.design import PLAIN
from trueness.counts.values import Tally
from trueness.data import engines
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import constraints as read_constraints
from trueness.ranking.areas import auc
from trueness.scale.inner_cuts import Flags, search
from trueness.scale.recounting import (
    PARTS_OF_A_BIN,
    ScoreSource,
    join_same_class,
    open_source,
    refine,
)
from trueness.threshold.constraints import read_objective
from trueness.threshold.operating_point import best_threshold, on_bins

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = lazy_import("narwhals.stable.v2", "cli")  # imported when a frame arrives

Bound = str | Constraint
# each pass settles ``batch`` rows or divides every doubtful bin: far more than needed
_MOST_PASSES = 10_000

# bins are made finer until nothing is open: the answers are asked for without bounds
_auc = unwrap(auc)
_best_threshold = unwrap(best_threshold)


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
        """Return the value of the answer."""
        return float(self.answer.value)

    @property
    def exact(self) -> bool:
        """Is the value exact, so that both bounds are equal?"""
        return self.low == self.high

    @property
    def threshold(self) -> float:
        """Return the threshold of the answer, where it has one."""
        return float(self.answer.threshold)

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        how = "exact" if self.exact else f"within {apart(self.low, self.high)}"
        return (
            f"{self.answer!r}\n  {how}, after {self.passes} passes over {self.rows:,} "
            f"rows in {self.seconds:.1f} s; {self.bins:,} bins at the end"
        )


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
    source, counted = open_source(
        data, label=label, score=score, positive=positive, at_most=at_most
    )
    _cases.some_labels(counted, "exact_threshold")
    objective = read_objective(maximize, minimize).maximized

    for _ in range(_MOST_PASSES):
        known = counted.labelled()
        result = search(known, objective, constraints, prevalence)
        open_bins = result.open_bins
        if tolerance == 0 and constraints:
            open_bins = open_bins | _bins_that_may_bind(
                known, objective, constraints, prevalence, result.possible
            )
        is_known_well = result.possible - result.reached <= tolerance > 0
        if not open_bins.any() or is_known_well:
            break
        # where many cuts are nearly as good, each of their bins is divided all the same
        parts_wanted = PARTS_OF_A_BIN * int(np.count_nonzero(open_bins))
        counted = refine(
            source,
            known,
            open_bins,
            at_most=max(at_most, parts_wanted),
            batch=batch,
        )

    in_use = known.with_design(sampling=design.sampling, prevalence=prevalence)
    point = _best_threshold(in_use, maximize, constraints, minimize=minimize)
    point = on_bins(point, known)
    if not open_bins.any():
        return _report(source, known, point.value, point.value, point)
    low, high = (result.reached, result.possible)
    if minimize is not None:
        low, high = (-result.possible, -result.reached)
    return _report(source, known, low, high, replace(point, bounds=(low, high)))


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
    source, t = open_source(
        data,
        label=label,
        score=score,
        positive=positive,
        at_most=at_most,
        most_exact_rows=batch if tolerance == 0 else 0,
    )
    _cases.both_classes(t, "exact_auc")
    pairs_allowed = 2 * tolerance * t.n_pos * t.n_neg

    for _ in range(_MOST_PASSES):
        t = join_same_class(t.labelled())
        is_bin = t.high > t.score
        open_pairs = np.where(is_bin, t.neg.astype(np.float64) * t.pos, 0.0)
        if open_pairs.sum() <= pairs_allowed:
            break
        t = refine(
            source,
            t,
            _bins_with_most_pairs(open_pairs, pairs_allowed),
            at_most=at_most,
            batch=batch,
            shorten=join_same_class,
        )

    answer = _auc(t, method=method, level=level)
    half_width = float(open_pairs.sum()) / (2 * t.n_pos * t.n_neg)
    low = max(0.0, answer.value - half_width)
    high = min(1.0, answer.value + half_width)
    if half_width:  # the interval holds what the bins leave open too
        answer = replace(
            answer,
            low=max(0.0, answer.low - half_width),
            high=min(1.0, answer.high + half_width),
            bounds=(low, high),
        )
    return _report(source, t, low, high, answer)


def _bins_with_most_pairs(open_pairs: Floats, pairs_allowed: float) -> Flags:
    """Return the bins with the most pairs, so many that the others may stay."""
    order = np.argsort(-open_pairs, kind="stable")
    pairs_left = open_pairs.sum() - np.cumsum(open_pairs[order])
    needed = int(np.count_nonzero(pairs_left > pairs_allowed)) + 1
    chosen = np.zeros(open_pairs.size, dtype=bool)
    chosen[order[:needed]] = True
    return chosen & (open_pairs > 0)


def _report(
    source: ScoreSource, t: Tally, low: float, high: float, answer: Any
) -> Refined:
    """Return the answer with what it took."""
    return Refined(
        answer=answer,
        low=low,
        high=high,
        passes=len(source.counted),
        rows=sum(source.counted),
        bins=len(t),
        seconds=perf_counter() - source.start,
    )


def _bins_that_may_bind(
    t: Tally,
    objective: Metric,
    constraints: tuple[Constraint, ...],
    prevalence: float | None,
    best: float,
) -> Flags:
    """Which bins decide whether a constraint stops the objective short of the best?"""
    without_one = [
        constraints[:k] + constraints[k + 1 :] for k in range(len(constraints))
    ]
    if len(constraints) > 1:
        without_one.append(())

    may_bind = np.zeros(len(t), dtype=bool)
    for fewer in without_one:
        result = search(t, objective, fewer, prevalence)
        if result.reached <= best:  # otherwise it is known that it does
            may_bind |= result.open_bins
    return may_bind
