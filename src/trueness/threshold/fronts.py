"""What is given up for what, as the threshold moves?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError
from trueness._core.records import Answer, native_frame
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.exact import is_exact
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.grammar import one_or_more
from trueness.threshold import cuts as _cuts
from trueness.threshold.cuts import Cuts
from trueness.threshold.limits import share_in_use, stop_unknown_share


@final
@dataclass(frozen=True, repr=False)
class ParetoFront(Answer):
    """Which thresholds are on the Pareto front, and what are their metrics?

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
        """Give a table with a row for each threshold."""
        columns = {k: getattr(self, k) for k in ("threshold", "low", "high")}
        counts = zip(("tp", "fp", "fn", "tn"), self.confusion.cells, strict=True)
        return native_frame({**columns, **self.values, **dict(counts)}, backend)


@of_tally
def pareto(
    data: Tally,
    metrics: Iterable[str | Metric] = (),
    *,
    maximize: Iterable[str | Metric] = (),
    minimize: Iterable[str | Metric] = (),
    subject_to: str | Constraint | Iterable[str | Constraint] = (),
) -> ParetoFront:
    """Which thresholds are worth considering when several metrics count?

    A threshold is left out when another one is at least as good in every metric and
    better in one: the whole Pareto front, also what no weighted sum would find.

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
    Sameni (2025), section 6.3. Thresholds with equal values in all metrics are kept
    together; equality is exact (see :func:`best_threshold`). An undefined metric
    excludes a threshold. O(m log m) for two metrics.

    Examples
    --------
    >>> t = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
    >>> pareto(t, ["recall", "precision"]).values["recall"]
    array([0.5 , 0.75, 1.  ])
    """
    asked_for = {"metrics": metrics, "maximize": maximize, "minimize": minimize}
    wanted = _directed({k: v for k, v in asked_for.items() if v is not None})
    bounds = read_constraints(subject_to)
    share = share_in_use(data)
    asked = (*(m for m, _ in wanted), *(c.metric for c in bounds))
    stop_unknown_share(data, share, asked, "pareto")
    cuts = _cuts.all_cuts(data, data.design.prevalence, "pareto")
    met = _cuts.met_by([cuts], bounds)
    _cuts.stop_infeasible(cuts, bounds, met)
    usable = np.asarray(met.all(axis=0))
    for m, _ in wanted:
        usable &= ~np.isnan(_cuts.values_of(cuts, m))
    at = np.flatnonzero(usable)
    if at.size:  # otherwise no cut has a value of every metric
        ranks = [_ranks(cuts, m if up else -m, at) for m, up in wanted]
        at = at[undominated(ranks)]
    ends = np.concatenate([[np.inf], cuts.score, [-np.inf]])
    return ParetoFront(
        threshold=_cuts.thresholds_of(cuts.score, at),
        low=ends[at + 1],
        high=ends[at],
        values={m.name: _cuts.values_of(cuts, m)[at] for m, _ in wanted},
        confusion=cuts.seen[at],
        directions={m.name: "higher" if up else "lower" for m, up in wanted},
        prevalence=cuts.prevalence,
    )


def undominated(ranks: Sequence[Ints]) -> NDArray[np.bool_]:
    """Which columns does no other dominate? Rows are metrics, more is better."""
    order = np.lexsort(ranks[::-1])[::-1]  # what dominates a column stands before it
    columns = np.stack(ranks, axis=1)[order]
    new = np.r_[True, (columns[1:] != columns[:-1]).any(axis=1)]
    points = columns[new]
    if len(ranks) == 2:  # the second must be better than at all larger ones
        best = np.maximum.accumulate(points[:, 1])
        kept = np.r_[True, points[1:, 1] > best[:-1]]
    else:
        front, kept = points[:0], np.zeros(len(points), dtype=bool)
        for start in range(0, len(points), 64):  # earlier blocks, then the block itself
            part = points[start : start + 64]
            before = np.concatenate([front, part])
            beaten = np.all(before[None] >= part[:, None], axis=2)
            own = np.arange(len(part))
            beaten[own, len(front) + own] = False
            kept[start : start + 64] = ~beaten.any(axis=1)
            front = np.concatenate([front, part[~beaten.any(axis=1)]])
    good = np.zeros(order.size, dtype=bool)
    good[order] = kept[np.cumsum(new) - 1]
    return good


def _directed(
    asked: dict[str, Iterable[str | Metric]],
) -> list[tuple[Metric, bool]]:
    """Read the metrics, and whether more of each is better."""
    wanted = []
    for what, given in asked.items():
        needed = f"{what} must be metrics or their names in a list"
        for m in map(read_metric, one_or_more(given, needed, '["recall", "f1"]')):
            up = m.direction if what == "metrics" else what
            if up == "none":
                raise InputError(
                    f"pareto cannot know whether more or less of {m.name} is better. "
                    f'Type maximize=["{m.name}"] or minimize=["{m.name}"].'
                )
            wanted.append((m, up in ("higher", "maximize")))
    if len(wanted) < 2:
        raise InputError(
            f"pareto needs two or more metrics; found {len(wanted)}. Type "
            f'metrics=["recall", "precision"].'
        )
    _columns.distinct_names([m.name for m, _ in wanted], "metrics")
    return wanted


def _ranks(cuts: Cuts, metric: Metric, at: Ints) -> Ints:
    """Number the values of a metric from low to high; equal values share a number."""
    values = _cuts.values_of(cuts, metric)[at]
    order = np.argsort(values, kind="stable")
    reach = _cuts.rounding_of(cuts, metric)
    with np.errstate(invalid="ignore"):  # inf - inf: equal, and left as it is
        apart = np.diff(values[order]) > reach
    step = np.r_[True, apart].astype(np.int64)
    starts = np.flatnonzero(step)
    # runs that rounding may have put in the wrong order are sorted again
    if reach and is_exact(metric):
        for start, stop in zip(starts, np.r_[starts[1:], order.size], strict=True):
            if stop - start > 1 and np.isfinite(values[order[start]]):
                run = order[start:stop]
                over, under, _ = _cuts.exact_values(cuts, metric, at[run])
                # squares of roots with their sign have the order of the roots
                exact = [Fraction(a, b) for a, b in zip(over, under, strict=True)]
                places = sorted(range(run.size), key=exact.__getitem__)
                new = [1, *(exact[a] != exact[b] for a, b in pairwise(places))]
                order[start:stop], step[start:stop] = run[places], new
    ranks = np.empty(at.size, dtype=np.int64)
    ranks[order] = np.cumsum(step)
    return ranks
