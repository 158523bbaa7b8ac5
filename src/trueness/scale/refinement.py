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
from typing import Any, final

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible
from trueness._core.data_types import Frame, LabelValue
from trueness._core.numbers import counted
from trueness._core.records import Record, apart
from trueness.counts.answers import CountsElsewhere
from trueness.counts.design import PLAIN
from trueness.counts.values import Tally
from trueness.data import engines
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import constraints as read_constraints
from trueness.ranking.areas import auc
from trueness.scale.inner_cuts import Flags, search
from trueness.scale.recounting import (
    PassCounts,
    count_each_score,
    count_into_bins,
    open_rows,
    recount,
)
from trueness.threshold.constraints import read_objective
from trueness.threshold.operating_point import best_threshold

Bound = str | Constraint
# each pass settles or divides every open bin: this is far more than needed
_MOST_PASSES = 10_000

# the analyses without bounds, since bins are made finer until nothing is open
_auc = unwrap(auc)
_best_threshold = unwrap(best_threshold)


@final
@dataclass(frozen=True, repr=False)
class ExactResult(Record):
    """An exact answer, and the work that it took.

    Attributes
    ----------
    answer : OperatingPoint or Estimate
        As ``best_threshold`` or ``auc`` returns it.
    low, high : float
        The exact value lies between these; equal when the answer is exact.
    passes, rows, bins : int
        Number of passes over the data, rows counted in all passes together, and bins of
        the final tally.
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
        """Return whether the value is exact: both bounds are equal."""
        return self.low == self.high

    @property
    def threshold(self) -> float:
        """Return the threshold of the answer, where it has one."""
        return float(self.answer.threshold)

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        precision = "exact" if self.exact else f"within {apart(self.low, self.high)}"
        passes = counted(self.passes, "pass", "passes")
        return (
            f"{self.answer!r}\n  {precision}, after {passes} over {self.rows:,} rows "
            f"in {self.seconds:.1f} s; {self.bins:,} bins at the end"
        )


@engines.in_turn
def exact_threshold(
    data: Frame | Tally | CountsElsewhere,
    *,
    label: str | None = None,
    score: str | None = None,
    maximize: str | Metric | None = None,
    subject_to: Bound | Iterable[Bound] = (),
    minimize: str | Metric | None = None,
    prevalence: float | None = None,
    positive: LabelValue = None,
    tolerance: float = 0.0,
    at_most: int = 20_000,
    batch: int = 20_000_000,
) -> ExactResult:
    """The exact best threshold for a metric, on data that are read in place.

    Parameters
    ----------
    data
        Any frame; a lazy one (:func:`scan`, Polars, DuckDB, PySpark, Ibis) is counted
        by its engine. Or a tally: the result is that of :func:`best_threshold`, without
        a search over every threshold.
    label, score
        Names of the columns of the frame.
    maximize, subject_to, minimize, prevalence
        As in :func:`best_threshold`.
    positive
        As in :func:`tally`.
    tolerance
        Stop when the bounds of the best value are this close; 0 for the exact optimum.
    at_most
        How many bins one counting pass makes.
    batch
        How many rows one pass may count score by score.

    Notes
    -----
    A bin is counted again only if the upper bound of the metric in it (see
    :func:`bounds`) reaches the value at the best threshold found between bins. For your
    own metric, whose shape is not known, every bin is counted again.

    Examples
    --------
    >>> import polars as pl
    >>> columns = {"y": [1, 1, 0, 1, 0, 0], "p": [0.9, 0.8, 0.7, 0.6, 0.2, 0.1]}
    >>> rows = pl.LazyFrame(columns)
    >>> r = exact_threshold(rows, label="y", score="p", maximize="f1", at_most=2)
    >>> r.value, r.answer.score_range  # 3 found, 1 false: 6/7
    (0.8571428571428571, (0.2, 0.6))
    """
    start = perf_counter()
    objective = read_objective(maximize, minimize).maximized
    constraints = read_constraints(subject_to)
    tolerance = _options.not_negative(tolerance, "tolerance")
    batch = _options.whole_number(batch, "batch", at_least=1)
    design = getattr(data, "design", PLAIN).with_arguments({"prevalence": prevalence})

    rows = open_rows(data, label=label, score=score, positive=positive)
    counts = count_into_bins(rows, at_most)
    _cases.some_labels(counts.tally, "exact_threshold")

    for _ in range(_MOST_PASSES):
        result = search(counts.tally, objective, constraints, design.prevalence)
        open_bins = result.open_bins
        if tolerance == 0 and constraints:
            open_bins = open_bins | _bins_that_may_bind(
                counts.tally, objective, constraints, design.prevalence, result.possible
            )

        is_known_well = result.possible - result.reached <= tolerance > 0
        if not open_bins.any() or is_known_well:
            break

        counts = recount(rows, counts, open_bins, at_most=at_most, batch=batch)

    in_use = counts.tally.with_design(**design.arguments)

    try:
        point = _best_threshold(in_use, maximize, constraints, minimize=minimize)
    except Infeasible as err:
        if not in_use.binned:
            raise
        sentence = (
            "A threshold inside a bin may come nearer, but none meets the constraint."
        )
        raise err.rephrased(message=f"{err.message} {sentence}") from None

    if not open_bins.any():
        return _report(point, (point.value, point.value), counts, start)

    bounds = (result.reached, result.possible)
    if minimize is not None:
        bounds = (-result.possible, -result.reached)

    return _report(replace(point, bounds=bounds), bounds, counts, start)


@engines.in_turn
def exact_auc(
    data: Frame | Tally | CountsElsewhere,
    *,
    label: str | None = None,
    score: str | None = None,
    positive: LabelValue = None,
    method: str = "newcombe",
    level: float = 0.95,
) -> ExactResult:
    r"""The AUC of all cases, counted where the rows are.

    Parameters
    ----------
    data, label, score, positive
        As in :func:`exact_threshold`.
    method, level
        How the interval is made, as in :func:`auc`.

    Notes
    -----
    Every distinct score is counted, in one pass. Where these are too many for memory,
    ``auc(rows, at_most=100_000)`` counts bins: the exact AUC lies between its
    ``bounds``, which are usually less than 1 / ``at_most`` apart.

    Examples
    --------
    >>> import polars as pl
    >>> columns = {"y": [1, 1, 0, 1, 0, 0], "p": [0.9, 0.8, 0.7, 0.6, 0.2, 0.1]}
    >>> rows = pl.LazyFrame(columns)
    >>> exact_auc(rows, label="y", score="p").value  # 8 of 9 pairs
    0.8888888888888888
    """
    start = perf_counter()
    rows = open_rows(data, label=label, score=score, positive=positive)
    counts = count_each_score(rows)
    _cases.both_classes(counts.tally, "exact_auc")
    area = _auc(counts.tally, method=method, level=level)
    return _report(area, (area.value, area.value), counts, start)


def _report(
    answer: Any, bounds: tuple[float, float], counts: PassCounts, start: float
) -> ExactResult:
    """Return the answer with the work that it took since the start."""
    low, high = bounds
    return ExactResult(
        answer=answer,
        low=low,
        high=high,
        passes=counts.passes,
        rows=counts.rows,
        bins=len(counts.tally),
        seconds=perf_counter() - start,
    )


def _bins_that_may_bind(
    t: Tally,
    objective: Metric,
    constraints: tuple[Constraint, ...],
    prevalence: float | None,
    best: float,
) -> Flags:
    """Return the bins that decide whether a constraint binds.

    A constraint binds if the objective could be better than ``best`` without it.
    """
    without_one = [
        constraints[:k] + constraints[k + 1 :] for k in range(len(constraints))
    ]

    if len(constraints) > 1:
        without_one.append(())

    may_bind = np.zeros(len(t), dtype=bool)
    for fewer in without_one:
        result = search(t, objective, fewer, prevalence)
        # otherwise a real cut shows already that it binds
        if result.reached <= best:
            may_bind |= result.open_bins

    return may_bind
