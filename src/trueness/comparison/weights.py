r"""Which classifier is better at its threshold, when some cases weigh more than others?

The twin of ``compare_metric`` for weighted cases. A few heavy cases decide how far a
difference varies, and leaving one out changes a ratio by more than its derivative says.
With j the change by leaving a case out, and l the change to first order,

.. math:: V = \sum_i \tfrac12 (j_i^2 + l_i^2), \qquad
          \nu = \frac{2 V^2}{\sum_i \frac14 (j_i^2 + l_i^2)^2}

Sums of :math:`l^2` are too small by 10 to 25 % where few cases are heavy, and sums of
:math:`j^2`, the jackknife's, too large by as much, as in a regression (MacKinnon and
White 1985, J. Econom. 29:305); their mean is neither. For normal changes the degrees of
freedom are two thirds of the cases; by Satterthwaite they would be all of them, if the
fourth moment were known. The limits are Student's. Drawing the cells anew (the Bayesian
bootstrap) made them skewed to the wrong side.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.records import Estimate
from trueness.comparison.contrasts import (
    ContrastPart,
    Equality,
    all_equal,
    student_test,
)
from trueness.comparison.results import Comparison, Pair, compared, judged
from trueness.counts.values import Panel
from trueness.counts.weights import Spread, remark
from trueness.metrics.algebra import Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.intervals import estimates, weighed_cells

_STEP = 1e-7  # of all weight: how far a cell is moved for a derivative


class _Changes(NamedTuple):
    """How does the metric of each classifier change without a case?

    Cells are numbered as in a confusion matrix: tp, fp, fn and tn.
    """

    value: Floats  # (K,)
    cell: Array  # (entries, K): where the cases of an entry are counted
    number: Floats  # (entries,): how many they are
    unit: Floats  # (entries,): how much each of them weighs
    left: Floats  # (entries, K): by leaving a case out
    first: Floats  # (entries, K): to first order
    slope: Floats  # (4, K): by a unit of weight in each cell

    def spread(self, i: int, j: int) -> Spread:
        """How far does the difference of two classifiers vary?

        One more case of each kind on which the two differ may have been missed (after
        Agresti and Min 2005, who add half a case). It weighs as much as those that the
        same classifier alone flags, but no less than is usual. Where its kind was seen
        it counts only as far as it is heavier than usual: without it, a difference that
        few heavy cases decide varies least in samples that have missed them.
        """
        left, first = (x[:, i] - x[:, j] for x in (self.left, self.first))
        square = (left**2 + first**2) / 2
        variance = float(self.number @ square)
        # of several cases that are taken for equal ones the fourth powers are too small
        times = self.number * np.where(self.number > 1.5, 1.5, 1.0)
        fourth = float(times @ square**2)
        usual = self.typical(np.ones(len(self.number), dtype=bool))
        for a, b in _DIFFER:
            alone = (self.cell[:, i] < 2) == (a < 2)
            alone &= (self.cell[:, j] < 2) == (b < 2)
            seen = ((self.cell[:, i] == a) & (self.cell[:, j] == b)).any()
            one = float(self.slope[a, i] - self.slope[b, j]) ** 2
            variance += one * (max(self.typical(alone), usual) ** 2 - seen * usual**2)
            fourth += one**2 * usual**4 * (not seen)
        df = max(2 * variance**2 / fourth, 1.0) if fourth > 0 else math.inf
        return Spread(variance, df)

    def typical(self, some: Array) -> float:
        """How much do some cases weigh, on average over their weight? 0 of none."""
        weight = self.number[some] * self.unit[some]
        return float(weight @ self.unit[some] / weight.sum()) if weight.size else 0.0


# cells of a case that only the first flags, and of one that only the second does
_DIFFER = ((0, 2), (1, 3), (2, 0), (3, 1))


def compare_weighted_metric(
    panel: Panel,
    metric: Metric,
    flags: Array,
    *,
    prevalence: float | None,
    margin: float,
    level: float,
) -> Comparison:
    """Compare a metric of weighted cases; ``flags`` (m, K) says who is flagged."""
    names, size = panel.names, len(panel.names)
    changes = _changes(panel, metric, flags, prevalence)
    spreads = {(i, j): changes.spread(i, j) for i, j in combinations(range(size), 2)}
    pairs = []
    for (i, j), spread in spreads.items():
        value = float(changes.value[i] - changes.value[j])
        alike = bool((flags[:, i] == flags[:, j]).all())
        pairs.append(
            _pair((names[i], names[j]), value, spread, alike, metric, margin, level)
        )
    values = tuple(
        _value(panel, metric, flags[:, k], prevalence, level) for k in range(size)
    )
    same = _all_equal(changes.value, spreads)
    method = f"{metric.name}, jackknife"
    found = names, values, pairs, same
    return compared(*found, paired=True, method=method, notes=remark(panel))


def _changes(
    panel: Panel, metric: Metric, flags: Array, share: float | None
) -> _Changes:
    """Leave out the cases one by one, those of a row taken for equal ones."""
    neg, pos, _ = panel.squares
    weight, square = np.append(panel.neg, panel.pos), np.append(neg, pos)
    at = np.flatnonzero(square)
    unit = square[at] / weight[at]
    is_neg = at < len(panel)
    cell = is_neg[:, None] + 2 * ~np.concatenate([flags, flags])[at]
    whole: Floats = np.stack([np.bincount(c, weight[at], 4) for c in cell.T], axis=1)
    total = whole[:, 0].sum()

    def value(cells: Floats) -> Floats:
        as_many = Confusion(*(cells * (total / cells.sum(axis=0))))
        return np.asarray(metric(as_many.at_prevalence(share)), dtype=np.float64)

    known, step = value(whole), _STEP * total
    moved = value(whole[:, None] + step * np.eye(4)[:, :, None])
    slope = (moved - known) / step
    first = np.take_along_axis(slope, cell, axis=0) * unit[:, None]
    left = np.empty_like(first)
    for b in blocks(at.size):
        taken = unit[b, None] * (cell[b] == np.arange(4)[:, None, None])
        rest = whole[:, None] - taken
        # of a sum less all of it a rounding is left, which is no case
        left[b] = known - value(np.where(rest > 1e-12 * total, rest, 0.0))
    # a ratio may be undefined without its only case
    left = np.where(np.isfinite(left), left, first)
    return _Changes(known, cell, weight[at] / unit, unit, left, first, slope)


def _pair(
    names: tuple[str, str],
    value: float,
    spread: Spread,
    alike: bool,
    metric: Metric,
    margin: float,
    level: float,
) -> Pair:
    if not math.isfinite(value + spread.variance):
        unknown = Estimate(value, math.nan, math.nan, level, "jackknife", math.nan)
        return Pair(*names, unknown, math.nan, math.nan, math.nan)
    sd = math.sqrt(spread.variance)
    test = student_test(value, sd, spread.df, level)
    wide = metric.range[1] - metric.range[0]
    ends = max(test.low, -wide), min(test.high, wide)
    estimate = Estimate(value, *ends, level, "jackknife", sd)
    if alike and math.isnan(margin):
        return judged(*names, estimate, None, margin)
    return judged(*names, estimate, test, margin)


def _value(
    panel: Panel, metric: Metric, above: Array, share: float | None, level: float
) -> Estimate:
    """Give the metric of one classifier with the interval of ``at_threshold``."""
    cells = (c[at].sum() for at in (above, ~above) for c in (panel.pos, panel.neg))
    found = estimates(
        Confusion(*cells),
        [metric],
        level=level,
        prevalence=share,
        weighed=weighed_cells(panel, above),
    )
    return replace(found[metric.name], name="")


def _all_equal(value: Floats, spreads: dict[tuple[int, int], Spread]) -> Equality:
    if len(spreads) == 1:  # the pair says it all
        (spread,) = spreads.values()
        gap = float(value[0] - value[1]) ** 2 / spread.variance
        return Equality(gap, 1, None)
    known = np.zeros((value.size,) * 2)
    for (i, j), spread in spreads.items():
        known[i, j] = known[j, i] = spread.variance
    if not np.isfinite(known).all() or not np.isfinite(value).all():
        return Equality(math.nan, 0, math.nan)
    n = 1 + min(spread.df for spread in spreads.values())
    return all_equal(value, (ContrastPart(known * n, n),))
