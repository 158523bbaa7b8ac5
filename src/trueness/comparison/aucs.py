"""Which classifier is better, and could the difference be chance?

``compare_auc`` compares areas: paired (a panel, any number of classifiers) or not (a
mapping of tallies). Other numbers are compared in ``paired.py`` and ``groups.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Estimate
from trueness.comparison.results import Comparison, Pair, chi2_tail, holm, omnibus
from trueness.counts.answers import of_panel
from trueness.counts.placements import Placements
from trueness.counts.values import Panel, Tally
from trueness.ranking.auc_intervals import Question, answer, auc


class _Spread(NamedTuple):
    """Areas with intervals, all differences with variances, the areas' covariance."""

    values: tuple[Estimate, ...]
    difference: dict[tuple[int, int], tuple[float, float]]  # value and variance
    covariance: Floats

    @property
    def auc(self) -> Floats:
        return np.array([v.value for v in self.values])


@of_panel
def compare_auc(
    x: Panel | Tally | Mapping[Any, Tally],
    other: Tally | None = None,
    *,
    level: float = 0.95,
) -> Comparison:
    r"""Which classifier ranks better, and could the difference be chance?

    .. math:: z = \frac{A_i - A_j}{\sqrt{\mathrm{var}(A_i - A_j)}}

    Parameters
    ----------
    x
        A panel (paired: the same cases), a mapping from name to tally (unpaired:
        different cases), or a tally.
    other
        A second tally, unpaired, when ``x`` is a tally.
    level
        Confidence level of the intervals.

    Returns
    -------
    Comparison
        AUCs, all pairs with intervals and Holm-adjusted p-values, omnibus test.

    Notes
    -----
    DeLong's covariance of the placement values. The variance of a difference is that of
    the differences of placement values, so that a copy, or a monotone re-scoring, has
    exactly difference 0 and p = 1. Where a variance is zero though the classifiers are
    no copies (both perfect), or unknown (one positive), the two score intervals give it
    and p (MOVER). Cases without a label change nothing; cases for which a classifier
    gave no output must be left out first (``panel.observed()``). O(K m log m + K^2 m).

    References
    ----------
    DeLong, DeLong, Clarke-Pearson (1988), Biometrics 44:837, doi:10.2307/2531595;
    Holm (1979), Scand. J. Stat. 6:65;
    Zou, Donner (2008), Stat. Med. 27:1693, doi:10.1002/sim.3095

    Examples
    --------
    >>> p = Panel(["a", "b"], [[3, 6], [2, 4], [1, 2]], pos=[2, 1, 1], neg=[0, 1, 2])
    >>> pair = compare_auc(p).pairs[0]  # b is twice a
    >>> pair.difference.value, pair.p_value
    (0.0, 1.0)
    """
    level = _options.fraction(level, "level")
    if isinstance(x, Panel):
        if other is not None:
            raise InputError("compare_auc takes a panel alone; leave the rest out.")
        panel = x.labelled()
        return _compare(panel.names, _paired(panel, level), level, panel)
    tallies = _unpaired_tallies(x, other)
    return _compare(tuple(tallies), _unpaired(tallies, level), level, None)


def _unpaired_tallies(x: Any, other: Any) -> dict[str, Tally]:
    if isinstance(x, Tally) and isinstance(other, Tally):
        tallies = {"first": x, "second": other}
    elif isinstance(x, Mapping) and other is None:
        tallies = {str(name): t for name, t in x.items()}
    else:
        raise InputError(
            "compare_auc needs a panel (the same cases), a mapping of tallies or two "
            "tallies (different cases). Type trueness.compare_auc(panel)."
        )
    _cases.at_least_two(tuple(tallies), "compare_auc")
    for t in tallies.values():
        _cases.both_classes(t, "compare_auc")
    return {name: t.labelled() for name, t in tallies.items()}


def _unpaired(tallies: dict[str, Tally], level: float) -> _Spread:
    values = tuple(auc(t, level=level) for t in tallies.values())
    # a single case of a class has no spread: then the score intervals decide (MOVER)
    known = not any(math.isnan(v.sd) for v in values)
    variance = [v.sd**2 if known else 0.0 for v in values]
    differences = {
        (i, j): (values[i].value - values[j].value, variance[i] + variance[j])
        for i, j in combinations(range(len(values)), 2)
    }
    return _Spread(values, differences, np.diag(variance))


def _paired(panel: Panel, level: float) -> _Spread:
    _cases.at_least_two(panel.names, "compare_auc")
    _cases.both_classes(panel, "compare_auc")
    _cases.complete_outputs(panel, "compare_auc")
    below, above = _placement_columns(panel)
    n_pos, n_neg = panel.n_pos, panel.n_neg
    pos, neg = panel.pos[panel.pos > 0], panel.neg[panel.neg > 0]
    wins = [_whole_sum(pos, row, n_pos * n_neg) for row in below]
    up = _pair_moments(below, pos.astype(np.float64)) / (2 * n_neg) ** 2
    down = _pair_moments(above, neg.astype(np.float64)) / (2 * n_pos) ** 2
    variance = up / n_pos + down / n_neg
    if min(n_pos, n_neg) < 2:  # no spread is known: the score intervals decide (MOVER)
        variance = np.zeros_like(variance)
    differences = {
        (i, j): ((wins[i] - wins[j]) / (2 * n_pos * n_neg), float(variance[i, j]))
        for i, j in combinations(range(len(panel.names)), 2)
    }
    pos_var, neg_var = (_own_variances(c, w) for c, w in ((below, pos), (above, neg)))
    values = []
    for k, won in enumerate(wins):
        spread = pos_var[k] / (2 * n_neg) ** 2, neg_var[k] / (2 * n_pos) ** 2
        place = Placements(won, won / (2 * n_pos * n_neg), *spread)
        values.append(answer(Question(panel, place, level, 0, 0), "score"))
    own = np.nan_to_num([v.sd for v in values]) ** 2
    # cov(A, B) = (var A + var B - var(A - B)) / 2
    covariance = (own[:, None] + own - variance) / 2
    return _Spread(tuple(values), differences, covariance)


def _placement_columns(panel: Panel) -> tuple[Floats, Floats]:
    """Count twice the negatives below, and the positives above, for every classifier.

    Row k of the first has an entry for each row of the panel with positives, of the
    second for each with negatives. Ties count once; whole numbers are exact as floats.
    """
    names = len(panel.names)
    has_pos, has_neg = panel.pos > 0, panel.neg > 0
    below = np.empty((names, int(has_pos.sum())))
    above = np.empty((names, int(has_neg.sum())))
    full = np.empty(len(panel))
    for k in range(names):
        column = np.ascontiguousarray(panel.rows[:, k])
        order = np.argsort(column)
        ordered = column[order]
        start = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        size = np.diff(np.append(start, ordered.size))
        full[order] = np.repeat(_twice_below(panel.neg[order], start), size)
        below[k] = full[has_pos]
        full[order] = np.repeat(_twice_below(panel.pos[order], start), size)
        above[k] = 2 * panel.n_pos - full[has_neg]
    return below, above


def _twice_below(count: Array, start: Array) -> Array:
    """Count twice the cases of lower levels and once those of the own level."""
    total = np.add.reduceat(count, start)
    return np.asarray(2 * np.cumsum(total) - total)


def _whole_sum(count: Array, twice: Floats, pairs: int) -> int:
    """Add whole numbers exactly, in Python's integers beyond int64."""
    exact: Any = np.int64 if 2 * pairs < 2**62 else object
    return int(count.astype(exact) @ twice.astype(np.int64).astype(exact))


def _pair_moments(columns: Floats, weight: Floats) -> Floats:
    """Give the sample variance of every difference of two rows; zero for copies.

    Differences are taken before squares, so that nothing large cancels.
    """
    k, n = len(columns), float(weight.sum())
    total, square = np.zeros((k, k)), np.zeros((k, k))
    if n < 2:
        return square
    for s in blocks(weight.size):
        block, w = columns[:, s], weight[s]
        for i in range(k - 1):
            part = block[i] - block[i + 1 :]
            total[i, i + 1 :] += part @ w
            np.square(part, out=part)
            square[i, i + 1 :] += part @ w
    variance = np.maximum(0.0, (square - total**2 / n) / (n - 1))
    return np.asarray(variance + variance.T)


def _own_variances(columns: Floats, weight: Array) -> Floats:
    n = float(weight.sum())
    if n < 2:
        return np.full(len(columns), np.nan)
    centre = (columns @ weight) / n
    parts = [
        np.square(columns[:, s] - centre[:, None]) @ weight[s]
        for s in blocks(weight.size)
    ]
    return np.asarray(np.sum(parts, axis=0) / (n - 1))


def _compare(
    names: tuple[str, ...], spread: _Spread, level: float, panel: Panel | None
) -> Comparison:
    found = [
        _pair(names, spread.values, at, difference, level, panel)
        for at, difference in spread.difference.items()
    ]
    adjusted = holm([p.p_value for p in found])
    pairs = tuple(
        replace(p, p_adjusted=a) for p, a in zip(found, adjusted, strict=True)
    )
    statistic, df = omnibus(spread.auc, spread.covariance)
    # no spread at all, as with two perfect classifiers: what the pairs say
    p_value = chi2_tail(statistic, df) if df else min(adjusted)
    paired = panel is not None
    return Comparison(
        names, spread.values, pairs, statistic, df, p_value, paired, "delong"
    )


def _copies(panel: Panel | None, i: int, j: int) -> bool:
    """Do two classifiers of a panel order all cases alike?"""
    if panel is None:
        return False
    a, b = (np.unique(panel.rows[:, k], return_inverse=True)[1] for k in (i, j))
    return bool(np.array_equal(a, b))


def _pair(
    names: tuple[str, ...],
    values: tuple[Estimate, ...],
    at: tuple[int, int],
    difference: tuple[float, float],
    level: float,
    panel: Panel | None,
) -> Pair:
    from scipy.special import ndtr, ndtri

    (i, j), (value, variance) = at, difference
    sd, z = math.sqrt(variance), float(ndtri((1 + level) / 2))
    first, second = names[i], names[j]
    if sd > 0:
        score = value / sd
        low, high = max(-1.0, value - z * sd), min(1.0, value + z * sd)
        p = 2 * float(ndtr(-abs(score)))
    elif _copies(panel, i, j):
        same = Estimate(0.0, 0.0, 0.0, level, "copies", 0.0)
        return Pair(first, second, same, 0.0, 1.0, 1.0)
    else:
        low, high = _mover(value, values[i], values[j])
        # the normal error that the side towards zero would have
        score = z * value / (value - low if value > 0 else high - value)
        p = 2 * float(ndtr(-abs(score)))
    method = "delong" if sd > 0 else "score (MOVER)"
    estimate = Estimate(value, low, high, level, method, sd)
    return Pair(first, second, estimate, score, p, p)


def _mover(value: float, a: Estimate, b: Estimate) -> tuple[float, float]:
    """Combine two intervals into one of the difference (Zou and Donner 2008)."""
    low = value - math.hypot(a.value - a.low, b.high - b.value)
    high = value + math.hypot(a.high - a.value, b.value - b.low)
    return max(-1.0, low), min(1.0, high)
