"""What is given up for what, as the threshold of a classifier moves?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints, blocks
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError
from trueness._core.records import Answer, native_frame
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.metrics.algebra import Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric_of_option, one_or_more
from trueness.threshold import cuts as _cuts
from trueness.threshold.constraints import ConstraintLike
from trueness.threshold.cuts import Cuts
from trueness.threshold.prevalences import check_prevalence_of_use, prevalence_of_use

# points of more than two metrics that are compared with the front at once
_BLOCK = 64


@final
@dataclass(frozen=True, repr=False)
class ParetoFront(Answer):
    """The thresholds on the Pareto front, and their metrics.

    Attributes
    ----------
    threshold, low, high : array (n,)
        The thresholds of the front, highest first, and the intervals (low, high] of
        those that flag the same cases.
    values : dict of str to array (n,)
        The metrics along the front, at the prevalence of use.
    directions : dict of str to str
        Which way each metric is better: "higher" or "lower".
    """

    threshold: Floats
    low: Floats
    high: Floats
    values: dict[str, Floats]
    confusion: Confusion
    directions: dict[str, str]
    prevalence: float

    def __len__(self) -> int:
        return len(self.threshold)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with a row for each threshold."""
        columns = {
            "threshold": self.threshold,
            "low": self.low,
            "high": self.high,
            **self.values,
            "tp": self.confusion.tp,
            "fp": self.confusion.fp,
            "fn": self.confusion.fn,
            "tn": self.confusion.tn,
        }
        return native_frame(columns, backend)


@of_tally
def pareto(
    data: Tally,
    metrics: Iterable[str | Metric] = (),
    *,
    maximize: Iterable[str | Metric] = (),
    minimize: Iterable[str | Metric] = (),
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
) -> ParetoFront:
    """The Pareto front of several metrics over all thresholds.

    Which thresholds are candidates when several metrics matter?

    A threshold is left out if another one is at least as good in every metric and
    better in one. This is the whole Pareto front, including points that no weighted sum
    finds.

    Parameters
    ----------
    data
        Scores and labels of one classifier.
    metrics
        Two or more metrics, each better in its own direction.
    maximize, minimize
        Metrics without a direction of their own, such as ``minimize=["flagged"]``.
    subject_to
        Constraints that every threshold of the front must meet.

    Notes
    -----
    Sameni (2025), section 6.3. Thresholds with equal values in all metrics are all
    kept; equality is exact (see :func:`best_threshold`). An undefined metric excludes a
    threshold. O(m log m) for two metrics.

    Examples
    --------
    >>> t = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
    >>> pareto(t, ["recall", "precision"]).values["recall"]
    array([0.5 , 0.75, 1.  ])
    """
    directed_metrics = _read_directed_metrics(
        {"metrics": metrics, "maximize": maximize, "minimize": minimize}
    )
    constraints = read_constraints(subject_to)
    prevalence = prevalence_of_use(data)
    involved = [metric for metric, _ in directed_metrics]
    involved += [constraint.metric for constraint in constraints]
    check_prevalence_of_use(data, prevalence, involved, "pareto")

    cuts = _cuts.all_cuts(data, data.design.prevalence, "pareto")
    met = _cuts.met_by([cuts], constraints)
    _cuts.stop_infeasible(cuts, constraints, met)

    # a threshold without a value of some metric can be compared with no other
    usable = np.asarray(met.all(axis=0))
    for metric, _ in directed_metrics:
        usable &= ~np.isnan(_cuts.values_of(cuts, metric))

    places = np.flatnonzero(usable)
    if places.size:
        ranks = [
            _ranks(cuts, directed.maximized, places) for directed in directed_metrics
        ]
        places = places[undominated(ranks)]

    # cut k flags the k highest scores: it lies between the k-th and the next one
    ends = np.concatenate([[np.inf], cuts.score, [-np.inf]])
    return ParetoFront(
        threshold=_cuts.thresholds_of(cuts.score, places),
        low=ends[places + 1],
        high=ends[places],
        values={
            metric.name: _cuts.values_of(cuts, metric)[places]
            for metric, _ in directed_metrics
        },
        confusion=cuts.observed[places],
        directions={
            metric.name: "higher" if higher else "lower"
            for metric, higher in directed_metrics
        },
        prevalence=cuts.prevalence,
    )


class _DirectedMetric(NamedTuple):
    """A metric, and whether more of it is better."""

    metric: Metric
    higher_is_better: bool

    @property
    def maximized(self) -> Metric:
        """Return the metric, or its negative, so that more is better."""
        return self.metric if self.higher_is_better else -self.metric


def _read_directed_metrics(
    options: Mapping[str, Iterable[str | Metric] | None],
) -> list[_DirectedMetric]:
    """Return the metrics of each option, with the direction in which each is better."""
    directed_metrics = []
    for option, metrics in options.items():
        if metrics is None:
            continue
        needed = "metrics or their names in a list"
        for name in one_or_more(metrics, option, needed, ["recall", "f1"]):
            directed_metrics.append(
                _with_direction(metric_of_option(name, option), option)
            )
    if len(directed_metrics) < 2:
        raise InputError(
            f"A Pareto front needs two or more metrics; found {len(directed_metrics)}.",
            option="metrics",
            example=["recall", "precision"],
        )

    _columns.distinct_names(
        [directed.metric.name for directed in directed_metrics], "metrics"
    )
    return directed_metrics


def _with_direction(metric: Metric, option: str) -> _DirectedMetric:
    """Return the direction that the option says, or that the metric has."""
    if option != "metrics":
        return _DirectedMetric(metric, higher_is_better=option == "maximize")
    if metric.direction == "none":
        raise InputError(
            f"It is not known whether a high or a low value of {metric.name} is "
            "better. Maximize or minimize it.",
            option="maximize",
            example=[metric.name],
        )
    return _DirectedMetric(metric, higher_is_better=metric.direction == "higher")


def undominated(ranks: Sequence[Ints]) -> NDArray[np.bool_]:
    """Return which points no other dominates: one array a metric, more is better."""
    # sorted by the first metric, then the second, ...: what dominates a point stands
    # before it
    order = np.lexsort(ranks[::-1])[::-1]
    sorted_points = np.stack(ranks, axis=1)[order]
    is_new = np.r_[True, (sorted_points[1:] != sorted_points[:-1]).any(axis=1)]
    points = sorted_points[is_new]

    if len(ranks) == 2:
        # the second metric must be better than at all points with a larger first one
        best_so_far = np.maximum.accumulate(points[:, 1])
        # points with an equal first metric are sorted by the second, so the first is
        # best
        on_front = np.r_[True, points[1:, 1] > best_so_far[:-1]]
    else:
        on_front = _undominated_in_order(points)

    # equal points share their place on the front
    result = np.zeros(order.size, dtype=bool)
    result[order] = on_front[np.cumsum(is_new) - 1]
    return result


def _undominated_in_order(points: Array) -> NDArray[np.bool_]:
    """Return which of different points none before them dominates, block by block."""
    on_front = np.zeros(len(points), dtype=bool)
    front = points[:0]
    for block in blocks(len(points), _BLOCK):
        in_block = points[block]
        candidates = np.concatenate([front, in_block])
        # (block, candidates): at least as good in every metric
        beaten_by = np.all(candidates[None] >= in_block[:, None], axis=2)
        # no point beats itself
        position = np.arange(len(in_block))
        beaten_by[position, len(front) + position] = False

        survives = ~beaten_by.any(axis=1)
        on_front[block] = survives
        front = np.concatenate([front, in_block[survives]])

    return on_front


def _ranks(cuts: Cuts, metric: Metric, places: Ints) -> Ints:
    """Return the ranks of a metric's values, from low to high; equal ones share one.

    Floats give an order, but for values so near to each other that rounding may have
    changed it; these are compared in fractions.
    """
    values = _cuts.values_of(cuts, metric)[places]
    order = np.argsort(values, kind="stable")
    rounding = _cuts.rounding_of(cuts, metric)
    with np.errstate(invalid="ignore"):  # inf - inf: equal, and left as it is
        # neighbours in order that differ by more than rounding
        is_larger = np.diff(values[order]) > rounding
    begins_rank = np.r_[True, is_larger]

    if rounding and metric.is_exact:
        starts = np.flatnonzero(begins_rank)
        stops = np.append(starts[1:], order.size)
        for start, stop in zip(starts, stops, strict=True):
            run = order[start:stop]
            if run.size > 1 and np.isfinite(values[run[0]]):
                run, is_new = _sort_exactly(cuts, metric, places, run)
                order[start:stop] = run
                begins_rank[start:stop] = is_new

    ranks = np.empty(places.size, dtype=np.int64)
    ranks[order] = np.cumsum(begins_rank)
    return ranks


def _sort_exactly(
    cuts: Cuts, metric: Metric, places: Ints, run: Ints
) -> tuple[Ints, NDArray[np.bool_]]:
    """Return a run of nearly equal values in order, and which differ from the last."""
    # squares of roots with their sign have the order of the roots
    exact = _cuts.exact_values(cuts, metric, places[run])
    order = sorted(range(run.size), key=exact.__getitem__)
    sorted_values = exact[order]
    differs = np.asarray(sorted_values[1:] != sorted_values[:-1], dtype=bool)
    return run[order], np.append(True, differs)
