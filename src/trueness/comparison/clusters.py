r"""Which is better, when the cases of a cluster are alike?

The twins of ``compare_auc`` and ``compare_metric`` for ``cluster=``. What a cluster
adds to the error of a difference is added up over its cases before it is squared;
Student's distribution has the degrees of freedom that the clusters leave.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.records import Estimate
from trueness.comparison.aucs import copies
from trueness.comparison.contrasts import (
    ContrastPart,
    Test,
    all_equal,
    mover_test,
    reach_test,
    student_test,
)
from trueness.comparison.paired import flagged
from trueness.comparison.results import Comparison, compared, judged
from trueness.counts.placements import placements
from trueness.counts.values import Panel
from trueness.metrics.algebra import Metric
from trueness.ranking.auc_intervals import AucQuestion, logit_ends
from trueness.ranking.cluster_metrics import left_out, left_out_estimate, scale_ends
from trueness.ranking.clusters import (
    ClusterSpread,
    auc_influence,
    auc_of_clusters,
    cautious_sd,
    cluster_spread,
    clusters,
)

Tested = Callable[[int, int], tuple[Estimate, Test | None]]


def compare_clustered_auc(cluster: Any, margin: float, level: float) -> Comparison:
    """Compare AUCs on the same clustered cases (Obuchowski 1997)."""
    c = clusters(cluster, "compare_auc")
    names = c.names
    _cases.at_least_two(names, "compare_auc")
    found = auc_influence(c)
    seen = c.as_cases
    place = [placements(c.tally(k)) for k in range(len(names))]
    # where clusters show no spread they count as cases, one each
    alone = [AucQuestion(seen, p._replace(pos_var=0.0, neg_var=0.0), level, 0, 0)
             for p in place]  # fmt: skip
    own = []
    for k, p in enumerate(place):
        spread = cluster_spread(c, *(x[:, k] for x in found))
        ends = partial(logit_ends, p.auc, cautious_sd(p.auc, spread, c))
        own.append(_Own(p.auc, spread.cautious, ends))

    def tested(i: int, j: int) -> tuple[Estimate, Test | None]:
        value = place[i].auc - place[j].auc
        spread = cluster_spread(c, *(x[:, i] - x[:, j] for x in found))
        sd = math.sqrt(spread.variance)
        if sd == 0 and copies(c.rows[:, i], c.rows[:, j]):
            return Estimate(0.0, 0.0, 0.0, level, "copies", 0.0), None
        if sd > 0:
            test = _paired_test(own[i], own[j], spread, level)
        else:
            test = mover_test(alone[i], alone[j])
        ends = max(-1.0, test.low), min(1.0, test.high)
        return Estimate(value, *ends, level, "clusters", sd), test

    values = tuple(auc_of_clusters(c, found, k, level) for k in range(len(names)))
    area = np.array([p.auc for p in place])
    return _comparison(
        names, values, area, found.pos + found.neg, tested, margin, "clusters"
    )


class _Own(NamedTuple):
    """What is known of one of two values by itself."""

    value: float
    variance: float
    ends: Callable[[float], tuple[float, float]]  # limits, so many standard errors away


def _paired_test(a: _Own, b: _Own, spread: ClusterSpread, level: float) -> Test:
    r"""Test a difference, with a limit away from 0 that knows of the ends of a scale.

    .. math:: U = d + \sqrt{(u_a - a)^2 + (b - l_b)^2 - 2 r (u_a - a)(b - l_b)}

    A share or an AUC that is near 1 by chance has a small error, so that a difference
    is larger than the symmetric limit in up to 18 % of samples of 5 clusters. Away from
    0 the limit is therefore the farther one of it and of that by the limits of both
    (Zou and Donner 2008), with the correlation r that the three errors imply. Towards
    0, and so in the test of equality, symmetric limits hold.
    """
    value, wide = a.value - b.value, math.sqrt(spread.cautious)
    plain = student_test(value, wide, spread.df, level)
    both = 2 * math.sqrt(a.variance * b.variance)
    shared = a.variance + b.variance - spread.cautious
    r = min(max(shared / both, -1.0), 1.0) if both > 0 else 0.0

    def reach(z: float, up: bool) -> float:
        own = a.ends(z)[up] - a.value
        other = b.ends(z)[not up] - b.value
        square = own**2 + other**2 + 2 * r * own * other
        return max(math.sqrt(max(square, 0.0)), z * wide)

    if value == 0:
        return plain
    far = reach_test(value, reach, spread.df, level)

    def above(null: float) -> float:
        beyond = null > value if value > 0 else null < value
        return (far if beyond else plain).above(null)

    ends = (plain.low, far.high) if value > 0 else (far.low, plain.high)
    return Test(*ends, plain.score, above)


def _comparison(
    names: tuple[str, ...],
    values: tuple[Estimate, ...],
    value: Floats,
    influence: Floats,
    tested: Tested,
    margin: float,
    method: str,
) -> Comparison:
    """Put all pairs and the omnibus test together; influence is (m, K)."""
    pairs = [
        judged(names[i], names[j], *tested(i, j), margin)
        for i, j in combinations(range(len(names)), 2)
    ]
    m = len(influence)
    gap = influence[:, :, None] - influence[:, None, :]
    # clusters are the cases of one part: each adds its influence, m times
    part = ContrastPart(m * m / (m - 1) * np.sum(gap**2, axis=0), m)
    same = all_equal(value, (part,))
    if len(names) == 2:  # one pair says it all
        same = same._replace(p_value=None)
    notes = values[0].notes
    return compared(names, values, pairs, same, paired=True, method=method, notes=notes)


def compare_clustered_metric(
    cluster: Any, metric: Metric, thresholds: Any, margin: float, level: float
) -> Comparison:
    """Compare a metric at thresholds on clustered cases, by leaving clusters out."""
    c = clusters(cluster, "compare_metric")
    names = c.names
    _cases.at_least_two(names, "compare_metric")
    Panel(names, c.rows[:1], [1]).vote(thresholds)  # checks the thresholds
    left = left_out(c, metric, flagged(names, c.rows, thresholds))
    own = []
    for k, value in enumerate(left.value):
        spread = left.spread(left.without[:, k], left.there[:, k])
        ends = partial(scale_ends, left, k, math.sqrt(spread.cautious), level)
        own.append(_Own(float(value), spread.cautious, ends))

    def tested(i: int, j: int) -> tuple[Estimate, Test | None]:
        value = float(left.value[i]) - float(left.value[j])
        there = left.there[:, i] | left.there[:, j]
        m = int(there.sum())
        spread = left.spread(left.without[:, i] - left.without[:, j], there)
        sd, wide = math.sqrt(spread.variance), math.sqrt(spread.cautious)
        same = sd == 0 and value == 0
        if sd == 0:  # all clusters agree: they count as cases, half of one added to
            # each side (Agresti and Min 2005)
            won, lost = (m * min(abs(value), 1.0) + 0.5) / (m + 2), 0.5 / (m + 2)
            sd = wide = math.sqrt((won + lost - (won - lost) ** 2) / (m + 2))
        test = student_test(value, wide, spread.df, level)
        if spread.variance > 0 and math.isfinite(own[i].variance + own[j].variance):
            test = _paired_test(own[i], own[j], spread, level)
        found = Estimate(value, test.low, test.high, level, "clusters", sd)
        return found, None if same else test

    values = tuple(left_out_estimate(left, k, level) for k in range(len(names)))
    method = f"{metric.name}, clusters"
    value = np.where(np.isfinite(left.value), left.value, np.nan)
    return _comparison(names, values, value, left.influence, tested, margin, method)
