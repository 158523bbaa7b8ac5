"""Which numbers does a declaration state, and what do its counts say of each?

The same function measures the rows of the author and the counts that were published,
so that a declaration and its verification cannot differ in how they measure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from trueness._core.checks.errors import NotEnoughCases
from trueness._core.records import Estimate
from trueness.calibration.lines import calibration_line
from trueness.calibration.proper_scores import brier
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Tally
from trueness.evals.attempts import Attempts, pass_at_k, pass_hat_k, pass_rate
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.definitions import METRICS, net_benefit
from trueness.metrics.intervals import estimates
from trueness.monitoring.one_sided import Interval, allow_for_bins
from trueness.ranking.areas import auc
from trueness.scale.certificates import bounds

# digits of a number that a declaration states
DIGITS = 4

# the metrics at a threshold: of all cases, and of each group
AT_THRESHOLD = (
    *("recall", "specificity", "precision", "npv", "lr_positive", "lr_negative"),
    "net_benefit",
)
OF_GROUPS = ("recall", "specificity")

# against a comparator that is no reference standard, only agreement is measured
OF_AGREEMENT = ("recall", "specificity")

# the largest k of pass@k and pass^k that is stated
_MOST_ATTEMPTS = 100


@final
@dataclass(frozen=True)
class Measurement:
    """A number of a declaration, with its interval and what its counts prove.

    Attributes
    ----------
    measure, threshold
        What was measured, and where scores are cut.
    column, group
        In which group; empty for all cases.
    value, low, high
        The value, and its confidence interval, which allows for the bins. Without a
        value (NaN) where the threshold falls into a bin.
    method
        The published method of the interval.
    bounds
        Between which numbers the exact value lies for certain; None where the counts
        determine the value.
    """

    measure: str
    threshold: float | None
    column: str
    group: str
    value: float
    low: float
    high: float
    method: str
    bounds: tuple[float, float] | None = None

    @property
    def key(self) -> tuple[str, float | None, str, str]:
        """Return what identifies this number in a declaration."""
        return self.measure, self.threshold, self.column, self.group


def shown_number(value: float) -> float:
    """Return a number rounded to the digits that a declaration states.

    >>> shown_number(0.123456), shown_number(123456.0)
    (0.1235, 123500.0)
    """
    return float(f"{value:.{DIGITS}g}")


def is_shown_as(value: float, stated: float) -> bool:
    """Return whether a stated number agrees with a value to the last shown digit."""
    if math.isnan(value) or math.isnan(stated):
        return math.isnan(value) and math.isnan(stated)
    if math.isinf(value) or math.isinf(stated) or value == stated:
        return value == stated

    size = max(abs(value), abs(stated))
    unit = 10.0 ** (math.floor(math.log10(size)) - DIGITS + 1)
    # half a unit, and room for sums that another machine rounds differently
    return abs(value - stated) <= unit * 0.500001 + 1e-12


def measure_counts(
    counts: Tally | Attempts,
    groups: Mapping[str, Mapping[str, Tally]],
    *,
    thresholds: Sequence[float],
    level: float,
    agreement: bool = False,
) -> list[Measurement]:
    """Return every number that a declaration of these counts states.

    ``agreement``: the comparator is no reference standard.
    """
    if isinstance(counts, Attempts):
        return _measure_attempts(counts, level)

    measured = []
    for threshold in thresholds:
        measured += _measure_at(counts, threshold, level, agreement=agreement)

    measured += _measure_scores(counts, level)
    for column, tallies in groups.items():
        for group, tally in tallies.items():
            if not tally.n_pos or not tally.n_neg:
                continue
            for threshold in thresholds:
                measured += [
                    _at_threshold(METRICS[name], tally, threshold, level, column, group)
                    for name in OF_GROUPS
                ]
            measured.append(_of_measure("auc", auc, tally, level, column, group))

    return measured


def metric_of(measure: str, threshold: float) -> Metric:
    """Return a metric at a threshold; the threshold sets the price of net benefit."""
    if measure == "net_benefit":
        return net_benefit(threshold / (1 - threshold))
    return METRICS[measure]


def are_probabilities(counts: Tally) -> bool:
    """Return whether all scores are between 0 and 1."""
    return bool(len(counts) and counts.score[-1] >= 0 and counts.high[0] <= 1)


def shows_prevalence(counts: Tally) -> bool:
    """Return whether the prevalence is known, from the cases or from the author."""
    design = counts.design
    return design.sampling != CASE_CONTROL or design.prevalence is not None


def _measure_at(
    counts: Tally, threshold: float, level: float, *, agreement: bool
) -> list[Measurement]:
    """Return the numbers of all cases at a threshold."""
    names = OF_AGREEMENT if agreement else AT_THRESHOLD
    has_price = are_probabilities(counts) and 0 < threshold < 1

    measured = []
    for name in names:
        if name == "net_benefit" and not has_price:
            continue
        metric = metric_of(name, threshold)
        if depends_on_prevalence(metric) and not shows_prevalence(counts):
            continue
        measured.append(_at_threshold(metric, counts, threshold, level, name=name))

    return measured


def _at_threshold(
    metric: Metric,
    counts: Tally,
    threshold: float,
    level: float,
    column: str = "",
    group: str = "",
    name: str = "",
) -> Measurement:
    """Return a metric at a threshold as a number, with bounds if scores are in bins."""
    estimate = estimates(counts, threshold, [metric], level=level)[metric.name]
    certain = None
    if counts.binned:
        exact = bounds(metric, counts, threshold=threshold)
        certain = _certain((exact.low, exact.high))

    return _measurement(
        name or metric.name, threshold, column, group, estimate, certain
    )


def _measure_scores(counts: Tally, level: float) -> list[Measurement]:
    """Return the numbers without a threshold: AUC, Brier score, calibration line."""
    if not counts.n_pos or not counts.n_neg:
        return []

    measured = [_of_measure("auc", auc, counts, level)]
    if not are_probabilities(counts) or not shows_prevalence(counts):
        return measured

    measured.append(_of_measure("brier", brier, counts, level))
    try:
        line = calibration_line(counts, level=level)
    except NotEnoughCases:
        return measured

    for name in ("calibration_intercept", "calibration_slope"):
        estimate = getattr(line, name.removeprefix("calibration_"))
        measured.append(
            _measurement(name, None, "", "", estimate, _certain(estimate.bounds))
        )

    return measured


def _of_measure(
    name: str,
    analysis: Callable[..., Any],
    counts: Tally,
    level: float,
    column: str = "",
    group: str = "",
) -> Measurement:
    """Return the estimate of an analysis as a number."""
    estimate = analysis(counts, level=level)
    certain = _certain(estimate.bounds)
    return _measurement(name, None, column, group, estimate, certain)


def _certain(known: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return bounds that differ; None if the value is known."""
    if not isinstance(known, tuple):
        return None
    low, high = known
    return (low, high) if low < high else None


def _measurement(
    name: str,
    threshold: float | None,
    column: str,
    group: str,
    estimate: Any,
    certain: tuple[float, float] | None,
) -> Measurement:
    """Return an estimate as a number; its interval allows for bins."""
    interval = Interval(estimate.value, estimate.low, estimate.high, 0, "")
    interval = allow_for_bins(interval, certain, range_of(name))
    # at a threshold inside a bin only bounds are known
    value_hidden = certain is not None and threshold is not None

    return Measurement(
        measure=name,
        threshold=threshold,
        column=column,
        group=group,
        value=math.nan if value_hidden else float(interval.value),
        low=float(interval.low),
        high=float(interval.high),
        method=estimate.method,
        bounds=certain,
    )


def range_of(measure: str) -> tuple[float, float]:
    """Return the smallest and the largest possible value of a measure."""
    if measure.startswith("lr_"):
        return 0.0, math.inf
    if measure.startswith("calibration_"):
        return -math.inf, math.inf
    return (-math.inf, 1.0) if measure == "net_benefit" else (0.0, 1.0)


def _measure_attempts(attempts: Attempts, level: float) -> list[Measurement]:
    """Return the numbers of attempts at items: pass rate, pass@k and pass^k."""
    fewest = int(attempts.tried.min())
    measured = [_of_attempts("pass_rate", pass_rate(attempts, level=level))]
    for number in dict.fromkeys((2, 5, 10, fewest)):
        if not 1 < number <= min(fewest, _MOST_ATTEMPTS):
            continue
        for name, rate in (("pass_at_k", pass_at_k), ("pass_hat_k", pass_hat_k)):
            estimate = rate(attempts, k=number, level=level)
            measured.append(_of_attempts(f"{name}(k={number})", estimate))

    return measured


def _of_attempts(name: str, estimate: Estimate) -> Measurement:
    return _measurement(name, None, "", "", estimate, None)


@final
@dataclass(frozen=True)
class CrossTable:
    """A 2x2 table at a threshold; a cell is a pair where bins leave it open.

    Attributes
    ----------
    threshold, column, group
        Where scores are cut, and in which group.
    cells : dict
        From tp, fp, fn, tn, and of unlabelled cases flagged and not flagged, to the
        smallest and the largest number of cases that the counts allow.
    """

    threshold: float
    column: str
    group: str
    cells: dict[str, tuple[float, float]]

    @property
    def key(self) -> tuple[float, str, str]:
        """Return what identifies this table in a declaration."""
        return self.threshold, self.column, self.group


CELLS = ("tp", "fp", "fn", "tn", "unknown_flagged", "unknown_not_flagged")


def cross_tables(
    counts: Tally | Attempts,
    groups: Mapping[str, Mapping[str, Tally]],
    thresholds: Sequence[float],
) -> list[CrossTable]:
    """Return the 2x2 tables of all cases and of each group."""
    if isinstance(counts, Attempts):
        return []

    tables = []
    for threshold in thresholds:
        tables.append(CrossTable(threshold, "", "", _cells(counts, threshold)))
        for column, tallies in groups.items():
            tables += [
                CrossTable(threshold, column, group, _cells(tally, threshold))
                for group, tally in tallies.items()
            ]

    return tables


def _cells(counts: Tally, threshold: float) -> dict[str, tuple[float, float]]:
    """Return the bounds of each cell: a bin at the threshold may be on either side."""
    flagged = counts.score >= threshold
    open_bin = ~flagged & (counts.high >= threshold)

    cells = {}
    for name, other, column in (
        ("tp", "fn", counts.pos),
        ("fp", "tn", counts.neg),
        ("unknown_flagged", "unknown_not_flagged", counts.unknown),
    ):
        certain = column[flagged].sum().item()
        undecided = column[open_bin].sum().item()
        total = column.sum().item()
        cells[name] = (certain, certain + undecided)
        cells[other] = (total - certain - undecided, total - certain)

    return {name: cells[name] for name in CELLS}
