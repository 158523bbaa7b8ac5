r"""How sure are we of a metric at a threshold when the cases of a cluster are alike?

One cluster at a time is left out (the jackknife), and the limits have Student's
quantile. A share such as recall has limits that are symmetric on the logit scale. Any
other metric is a function :math:`f(x)` of the log odds x of recall, of the false
positive rate and of the share of positives, and has as limits the least and the largest
value that it takes on the ellipsoid

.. math:: (x - \hat x)' V^{-1} (x - \hat x) \le t_\nu^2

with the jackknife's variance V of the three: those of a profile likelihood whose
logarithm is a parabola. A tangent at the estimate (the delta method) would not see that
kappa, markedness and lift vary less where they are low, as samples with few positives
are: with 20 clusters it lay below the truth in 8 % of samples and above it in 1 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.binomial import wilson
from trueness._core.records import Estimate
from trueness.metrics.algebra import Metric, cells_of, depends_on_prevalence
from trueness.metrics.confusion import Confusion
from trueness.metrics.intervals import drawn_cells, middle, on_scale
from trueness.ranking.auc_intervals import student_quantile
from trueness.ranking.clusters import Clusters, ClusterSpread, cluster_freedom


class LeftOut(NamedTuple):
    """A metric of all cases, and with each cluster left out."""

    value: Floats  # (K,)
    without: Floats  # (m, K)
    there: Array  # (m, K) whether the metric depends on the cases of a cluster
    metric: Metric
    cells: Floats  # (4, K): tp, fp, fn and tn
    each: Floats  # (4,): clusters per case of the class
    number: Floats  # (K + 1,): clusters of which it depends, and all; as the heaviest
    log_odds: Floats  # (m + 1, K, 3) of recall, fpr and share, the last with all

    @property
    def influence(self) -> Floats:
        """Give what each cluster adds to the error."""
        m = len(self.without)
        centred: Floats = self.without - self.without.mean(axis=0)
        return centred * (m - 1) / m

    def spread(self, without: Floats, there: Array) -> ClusterSpread:
        """How far does a metric, or a difference of two, vary by these clusters?

        The variance is the jackknife's of all clusters, as in R's survey. Clusters
        without a positive are no part of the sample of a recall, nor those without a
        flagged case of that of a precision: taken for ones that change nothing, they
        made five of two clusters, so limits leave them out.
        """
        if not np.isfinite(without).all():  # a ratio to nothing
            return ClusterSpread(math.nan, math.nan, 1.0)
        both = []
        for c in (without, without[there] if there.any() else without):
            away = c - c.mean()
            both.append((len(c) - 1) / len(c) * float(away @ away))
        return ClusterSpread(both[0], max(both), cluster_freedom(away))


def left_out(c: Clusters, metric: Metric, flags: Array) -> LeftOut:
    """Leave out one cluster at a time; ``flags`` (rows, K) says who is flagged."""
    # counts of each cluster; those of the others are the totals less them
    tp = np.column_stack([np.bincount(c.code, c.pos * f, c.m) for f in flags.T])
    fp = np.column_stack([np.bincount(c.code, c.neg * f, c.m) for f in flags.T])
    pos, neg = (np.bincount(c.code, n, c.m)[:, None] for n in (c.pos, c.neg))
    cells = np.stack([tp, fp, pos - tp, neg - fp])
    there = (cells[np.array(cells_of(metric))] > 0).any(axis=0)
    rest = _without_each(cells)
    *each, value = np.asarray(metric(Confusion(*rest)), dtype=np.float64)
    # a metric without value when one cluster is missing rests on that cluster alone; of
    # an infinite one nothing is known
    known = np.where(np.isfinite(value), value, np.nan)
    without = np.where(np.isfinite(each), each, known)
    seen = c.as_cases
    fewer = np.tile([seen.n_pos / pos.sum(), seen.n_neg / neg.sum()], 2)
    number = c.as_heavy(np.column_stack([there, np.ones(c.m, dtype=bool)]))
    # half a case, of weighted ones the half of that whose weight is typical
    typical = sum(map(np.sum, c.squares or (pos, neg))) / (pos.sum() + neg.sum())
    odds = _log_odds(rest + typical / 2)
    whole = cells.sum(axis=1)
    return LeftOut(value, without, there, metric, whole, fewer, number, odds)


def _without_each(cells: Floats) -> Floats:
    """Give the cells without each cluster, as of equally many cases, and with all.

    Of a sum of weights less all of them a rounding is left, which is no case.
    """
    whole = cells.sum(axis=1)[:, None]
    rest = np.where(whole - cells > 1e-12 * whole, whole - cells, 0.0)
    rest *= whole.sum(axis=0) / rest.sum(axis=0)
    return np.concatenate([rest, whole], axis=1)


def left_out_estimate(left: LeftOut, k: int, level: float, name: str = "") -> Estimate:
    """Give a metric with Student's interval, on a scale without ends."""
    value, (least, most) = float(left.value[k]), left.metric.range
    spread = left.spread(left.without[:, k], left.there[:, k])
    half = student_quantile(spread.df, level) * math.sqrt(spread.cautious)
    empty = bool((left.cells[np.array(cells_of(left.metric)), k] == 0).any())
    inside = least < value < most and not half < 1e-9 * (most - least)
    if most == math.inf and empty:
        low, high = _posterior_ends(left, k, level)
    elif left.metric.ratio is None and (inside or most == math.inf):
        low, high = _ellipsoid_ends(left, k, level)
    else:
        low, high = _share_ends(value, half, left, k, level)
    # a ratio of 0 or infinity lies outside the limits that half a case gives
    ends = min(low, value), max(high, value)
    sd = math.sqrt(spread.variance)
    return Estimate(value, *ends, level, "clusters", sd, name=name)


def _posterior_ends(left: LeftOut, k: int, level: float) -> tuple[float, float]:
    """Give the limits of a ratio one of whose cells is empty.

    No cluster says how far such a cell varies: clusters then count as cases, class by
    class where the share of positives does not matter.
    """
    cells = left.cells[:, k]
    share, fewer = None, cells * left.number[-1] / cells.sum()
    if not depends_on_prevalence(left.metric):
        share, fewer = float(cells[[0, 2]].sum() / cells.sum()), cells * left.each
    rng = np.random.default_rng(0)
    drawn = drawn_cells(Confusion(*fewer), rng, None, level, prevalence=share)
    as_many = (x * cells.sum() / fewer.sum() for x in drawn.cells)
    return middle(left.metric(Confusion(*as_many)), level)


def _ellipsoid_ends(left: LeftOut, k: int, level: float) -> tuple[float, float]:
    """Give the least and the largest value on the ellipsoid of the three log odds."""
    *others, centre = left.log_odds[:, k]
    away = others - np.mean(others, axis=0)

    def value(odds: Floats) -> Floats:
        cells = left.cells[:, k].sum() * _shares(odds)
        return np.asarray(left.metric(Confusion(*cells)), dtype=np.float64)

    # to first order each cluster moves the metric along the tangent: of that movement
    # are the degrees of freedom, and by how much clusters that matter vary more
    step = 1e-4 * np.eye(3)
    tangent = (value(centre + step) - value(centre - step)) / 2e-4
    spread = left.spread(away @ tangent, left.there[:, k])
    few = spread.cautious / spread.variance if spread.variance > 0 else 1.0
    m = len(away)
    square, axes = np.linalg.eigh((m - 1) / m * few * away.T @ away)
    far = student_quantile(spread.df, level) * axes * np.sqrt(np.maximum(square, 0))
    low = -_farthest(lambda u: -value(centre + u @ far.T))
    return low, _farthest(lambda u: value(centre + u @ far.T))


def _farthest(value: Callable[[Floats], Floats]) -> float:
    """Give the largest value on the unit sphere: search everywhere, then ever nearer.

    The last steps are a thousandth of the radius apart, and a maximum is flat there.
    """
    sphere = _sphere(400)
    best = sphere[:1]
    for step in (math.inf, 0.15, 0.03, 0.005):
        near = sphere if step == math.inf else best + step * sphere
        some = np.concatenate([best, near / np.linalg.norm(near, axis=1)[:, None]])
        best = some[[np.nanargmax(value(some))]]
    return float(value(best)[0])


def _sphere(n: int) -> Floats:
    """Spread n directions evenly (Fibonacci's lattice)."""
    i = np.arange(n) + 0.5
    height, turn = 1 - 2 * i / n, math.pi * (1 + math.sqrt(5)) * i
    flat = np.sqrt(1 - height**2)
    return np.column_stack([flat * np.cos(turn), flat * np.sin(turn), height])


def _log_odds(cells: Floats) -> Floats:
    """Give the log odds of recall, false positive rate and share of positives."""
    tp, fp, fn, tn = cells
    odds = tp / fn, fp / tn, (tp + fn) / (fp + tn)
    return np.asarray(np.log(np.stack(odds, axis=-1)), dtype=np.float64)


def _shares(log_odds: Floats) -> Floats:
    """Give the shares of the cells back; none becomes 0, so ratios have a value."""
    from scipy.special import expit

    x = np.clip(log_odds, -200.0, 200.0)
    (r, f, p), (not_r, not_f, not_p) = expit(x).T, expit(-x).T
    return np.stack([p * r, not_p * f, p * not_r, not_p * not_f])


def scale_ends(
    left: LeftOut, k: int, sd: float, level: float, errors: float
) -> tuple[float, float]:
    """Give the limits of a metric, so many standard errors away; none beyond an end."""
    value, half = float(left.value[k]), errors * sd
    if math.isfinite(left.metric.range[1]):
        return _share_ends(value, half, left, k, level)
    return on_scale(value, half, left.metric.range)


def _share_ends(
    value: float, half: float, left: LeftOut, k: int, level: float
) -> tuple[float, float]:
    """Give the limits of a metric that has two ends; none is beyond them."""
    (least, most), m = left.metric.range, float(left.number[k])
    wide = most - least
    if not (math.isfinite(wide) and value == value):
        return value - half, value + half
    if value in (least, most):  # no cluster differs: Jeffreys with m of m
        from scipy.special import betaincinv

        edge = wide * (1 - float(betaincinv(m + 0.5, 0.5, (1 - level) / 2)))
        return (most - edge, most) if value == most else (least, least + edge)
    if half < 1e-9 * wide:  # clusters that agree count as cases, one each
        ends = wilson((value - least) / wide * m, m, level)
        return least + wide * float(ends[0]), least + wide * float(ends[1])
    # on the logit scale, as the AUC: few clusters make skewed estimates
    return on_scale(value, half, left.metric.range)
