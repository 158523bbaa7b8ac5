"""Between which limits does a measure lie, a difference, or the size of one?

Each gives a function from alpha to one-sided limits, so that a family of claims can be
tried at whichever alpha Holm's method leaves for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import hypot
from typing import Any

from trueness._core.checks.errors import InputError
from trueness.comparison.aucs import compare_auc
from trueness.comparison.paired import compare_metric
from trueness.counts.values import Panel, Tally
from trueness.gates.measures import (
    MEASURES,
    Interval,
    clustered_limits,
    equal_cases,
    metric_limits,
    paired_auc_limits,
    weighted_limits,
)
from trueness.gates.requirements import Requirement
from trueness.metrics.grammar import metric
from trueness.threshold.at_cut import confusion

Limits = Callable[[float], Interval]


def limits_of(r: Requirement, t: Tally, cluster: Any = None) -> Limits:
    """Give the function from alpha to the one-sided limits of what is required."""
    if cluster is not None:
        return cache(lambda a: clustered_limits(r.metric, cluster, r.threshold, a))
    if t.weighted:
        return cache(lambda a: weighted_limits(r.metric, t, r.threshold, a))
    if r.metric in MEASURES:
        options = {} if r.fpr is None else {"fpr": r.fpr}
        return cache(lambda alpha: MEASURES[r.metric][0](t, alpha, **options))
    m, c = metric(r.metric), confusion(t, r.threshold or 0.0)
    return cache(lambda alpha: metric_limits(m, c, alpha))


def difference_limits(a: Limits, b: Limits) -> Limits:
    """Limits of a difference of two independent measures, from their own.

    Zou and Donner (2008): each limit is as far from the difference as the square root
    of the sum of squares of the two distances that point the same way.
    """

    def limits(alpha: float) -> Interval:
        x, y = a(alpha), b(alpha)
        d = x.value - y.value
        low = d - hypot(x.value - x.low, y.high - y.value)
        high = d + hypot(x.high - x.value, y.value - y.low)
        return Interval(d, low, high, x.n + y.n, x.what)

    return limits


def paired_limits(r: Requirement, two: Panel, cluster: Any = None) -> Limits:
    """Limits of a difference on the same cases, first less second."""
    n, of = int(two.n_pos + two.n_neg), "labelled"
    if two.weighted:
        n, of = equal_cases(two), "equally weighted"
    tied = {} if cluster is None else {"cluster": cluster}
    if r.metric == "auc" and not tied and not two.weighted:
        return cache(lambda alpha: paired_auc_limits(two, alpha))

    def limits(alpha: float) -> Interval:
        if r.metric == "auc":
            found = compare_auc(two, level=1 - 2 * alpha, **tied)
        elif r.metric in MEASURES:
            raise InputError(
                f"{r.metric} is not compared case by case; use auc or a metric at a "
                f"threshold, or pass the baseline as a file of its own (unpaired)."
            )
        else:
            cut = r.threshold if r.threshold is not None else 0.5
            level = 1 - 2 * alpha
            found = compare_metric(two, r.metric, thresholds=cut, level=level, **tied)
        d = found.pairs[0].difference
        sign = 1 if found.pairs[0].first == two.names[0] else -1
        low, high = sorted((sign * d.low, sign * d.high))
        return Interval(sign * d.value, low, high, n, of)

    return cache(limits)


def size_limits(signed: Limits) -> Limits:
    """Limits of the size of a difference, whichever way it points."""

    def limits(alpha: float) -> Interval:
        # either end may be the one that matters: half of the error to each
        d = signed(alpha / 2)
        away = max(d.low, -d.high, 0.0)
        return d._replace(value=abs(d.value), low=away, high=max(-d.low, d.high))

    return limits
