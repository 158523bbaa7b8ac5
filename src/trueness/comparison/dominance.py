"""Is one classifier better everywhere?

``dominates`` compares two ROC curves at every false positive rate, and the two
precision-recall curves at every recall: the answers agree (Sameni 2025, section 5). A
bootstrap says how sure that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.options import renamed
from trueness._core.progress import steps
from trueness._core.records import Record
from trueness.counts.answers import of_panel
from trueness.counts.resampling import Seed
from trueness.counts.resampling import replicates as redraws
from trueness.counts.values import Panel, Tally
from trueness.ranking.bands import critical, curves_of, few_rows, height, rate_variance
from trueness.ranking.curves import roc

Ranges = tuple[tuple[float, float], ...]
# curves are sums of shares: smaller differences are rounding
_EQUAL = 1e-12


@final
@dataclass(frozen=True, repr=False)
class Dominance(Record):
    """Is the first classifier better everywhere, and how sure are we?

    True in an ``if`` when the first dominates the second in the sample.

    Attributes
    ----------
    verdict : {"dominates", "is dominated", "equal", "crosses"}
        How the curves of the sample lie.
    fpr_better, fpr_worse : tuple of (low, high)
        False positive rates at which the first has the higher, the lower ROC curve.
    recall_better, recall_worse : tuple of (low, high)
        Recalls at which it has the higher, the lower precision, at any prevalence.
    p_value : float
        Could what the verdict says be chance? Of "dominates": if the first were nowhere
        better; of "is dominated": nowhere worse; of "crosses": the larger of both; of
        "equal": 1.
    p_better, p_worse : float
        One-sided: could the highest, the lowest difference be chance?
    margin : float
        With this confidence the second is nowhere better by more than this (TPR).
    surely_better, surely_worse : tuple of (low, high)
        False positive rates at which the band of the difference excludes zero.
    fpr, difference, low, high : array
        Difference of the true positive rates, with its simultaneous band.
    level : float
        Confidence level of the band.
    paired : bool
        Were both seen on the same cases?
    """

    verdict: str
    fpr_better: Ranges
    fpr_worse: Ranges
    recall_better: Ranges
    recall_worse: Ranges
    p_value: float
    p_better: float
    p_worse: float
    margin: float
    surely_better: Ranges
    surely_worse: Ranges
    fpr: Floats
    difference: Floats
    low: Floats
    high: Floats
    level: float
    paired: bool

    def __bool__(self) -> bool:
        """Does the first dominate the second in the sample?"""
        return self.verdict == "dominates"


@renamed(number="replicates")
@of_panel
def dominates(
    a: Tally | Panel,
    b: Tally | str | None = None,
    c: str | None = None,
    *,
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Dominance:
    r"""Is one classifier better everywhere, and how sure are we?

    .. math:: G_a(u) \le G_b(u) \text{ for all } u \in (0, 1)

    Parameters
    ----------
    a, b, c
        Two tallies (different cases), or a panel and two of its names (the same cases);
        a panel of two needs no names.
    level
        Confidence level of the band of the difference.
    points
        How many false positive rates the band has.
    rng, replicates
        Seed and number of bootstrap replicates.

    Returns
    -------
    Dominance
        The verdict on the sample with its ranges (exact), and the p-values and the
        simultaneous band (bootstrap; paired for a panel).

    Notes
    -----
    Sameni (2025), eq. (27), not strict: curves may touch. Differs from the text there:
    strict dominance on [0, 1] is impossible, since all curves meet at both ends, and
    dominance does carry over to accuracy and F-beta at equal specificity.

    Examples
    --------
    >>> good = Tally([3, 2, 1], pos=[6, 3, 1], neg=[0, 2, 8])
    >>> poor = Tally([3, 2, 1], pos=[3, 4, 3], neg=[2, 4, 4])
    >>> answer = dominates(good, poor)
    >>> answer.verdict, answer.fpr_better, answer.recall_better
    ('dominates', ((0.0, 1.0),), ((0.0, 1.0),))
    """
    level = _options.fraction(level, "level")
    number = _options.whole_number(replicates, "replicates", at_least=100)
    first, second, panel = _two(a, b, c)
    for t in (first, second):
        _cases.both_classes(t, "dominates")
    grid = np.linspace(0, 1, _options.whole_number(points, "points", at_least=3) + 1)[
        :-1
    ]
    fpr_better, fpr_worse = _ranges(_corners(first), _corners(second))
    recall_better, recall_worse = _recalls(first, second)
    verdict = _verdict(bool(fpr_better), bool(fpr_worse))
    sure = _uncertainty(first, second, panel, grid, level, rng, number)
    return Dominance(
        verdict,
        fpr_better,
        fpr_worse,
        recall_better,
        recall_worse,
        _p_of(verdict, sure),
        sure.p_better,
        sure.p_worse,
        max(0.0, -float(sure.low.min())),
        _where(grid, sure.low > 0),
        _where(grid, sure.high < 0),
        grid,
        sure.difference,
        sure.low,
        sure.high,
        level,
        panel is not None,
    )


def _two(a: object, b: object, c: object) -> tuple[Tally, Tally, Panel | None]:
    """Give both tallies and, for the same cases, the panel of the two."""
    if isinstance(a, Tally) and isinstance(b, Tally) and c is None:
        return a.labelled(), b.labelled(), None
    if isinstance(a, Panel):
        names = [n for n in (b, c) if isinstance(n, str)]
        names = names or list(a.names)
        if len(names) == 2:
            return _from_panel(a, *names)
    raise InputError(
        "dominates needs two tallies, or a panel and two of its names. Type "
        'trueness.dominates(a, b) or trueness.dominates(panel, "a", "b").'
    )


def _from_panel(panel: Panel, a: str, b: str) -> tuple[Tally, Tally, Panel | None]:
    if a == b:
        t = panel[a].labelled()
        return t, t, None
    panel = panel[[a, b]].labelled()
    _cases.complete_outputs(panel, "dominates")
    return panel[a], panel[b], panel


def _corners(t: Tally) -> tuple[Floats, Floats]:
    curve = roc(t)
    return curve.fpr, curve.tpr


def _recalls(first: Tally, second: Tally) -> tuple[Ranges, Ranges]:
    """Where is precision higher? Where the false positive rate at a recall is lower."""
    sides = []
    for t in (first, second):
        x, y = _corners(t)
        sides.append((1 - y[::-1], 1 - x[::-1]))  # specificity over the miss rate
    better, worse = _ranges(*sides)
    return _turned(better), _turned(worse)


def _turned(ranges: Ranges) -> Ranges:
    return tuple((1 - high, 1 - low) for low, high in reversed(ranges))


def _verdict(better: bool, worse: bool) -> str:
    if better and worse:
        return "crosses"
    if better or worse:
        return "dominates" if better else "is dominated"
    return "equal"


def _ranges(
    a: tuple[Floats, Floats], b: tuple[Floats, Floats]
) -> tuple[Ranges, Ranges]:
    """Where is the first of two rising curves higher, and where lower? Exact."""
    knot = np.unique(np.concatenate([a[0], b[0]]))
    # 1 - x rounds: knots that differ by less are one
    knot = knot[np.concatenate([[True], np.diff(knot) > _EQUAL])]
    right = _side(a, knot[:-1], "right") - _side(b, knot[:-1], "right")
    left = _side(a, knot[1:], "left") - _side(b, knot[1:], "left")
    return _positive(knot, right, left), _positive(knot, -right, -left)


def _side(curve: tuple[Floats, Floats], at: Floats, side: str) -> Floats:
    """Give the limit of a curve from the left or from the right."""
    x, y = curve
    if side == "right":
        i = np.searchsorted(x, at + _EQUAL, side="right") - 1
        j = np.minimum(i + 1, x.size - 1)
    else:
        j = np.searchsorted(x, at - _EQUAL, side="left")
        i = np.maximum(j - 1, 0)
    width = x[j] - x[i]
    part = np.divide(at - x[i], width, out=np.zeros_like(at), where=width > 0)
    return np.asarray(y[i] + np.clip(part, 0, 1) * (y[j] - y[i]))


def _positive(knot: Floats, start: Floats, end: Floats) -> Ranges:
    """Where is a difference above zero that is straight between knots?"""
    found: list[tuple[float, float]] = []
    for k in np.flatnonzero(np.maximum(start, end) > _EQUAL):
        low, high, s, e = knot[k], knot[k + 1], start[k], end[k]
        if s < -_EQUAL:
            low = low + (high - low) * s / (s - e)
        elif e < -_EQUAL:
            high = low + (high - low) * s / (s - e)
        if found and found[-1][1] >= low - _EQUAL:
            found[-1] = (found[-1][0], float(high))
        else:
            found.append((float(low), float(high)))
    return tuple(found)


class _Sure(NamedTuple):
    difference: Floats
    low: Floats
    high: Floats
    p_better: float
    p_worse: float


def _uncertainty(
    first: Tally,
    second: Tally,
    panel: Panel | None,
    grid: Floats,
    level: float,
    rng: Seed,
    number: int,
) -> _Sure:
    """Give the band of the difference of the curves, and both one-sided p-values."""
    curves = [height(*_corners(t), grid) for t in (first, second)]
    value = curves[0] - curves[1]
    rng = _options.generator(rng)
    if first is second:
        zero = np.zeros_like(grid)
        return _Sure(zero, zero, zero, 1.0, 1.0)
    if panel is None:
        drawn = curves_of(few_rows(first), grid, number, rng) - curves_of(
            few_rows(second), grid, number, rng
        )
    else:
        drawn = _paired_differences(panel, grid, number, rng)
    floor = [
        rate_variance(c, t.n_pos) for c, t in zip(curves, (first, second), strict=True)
    ]
    error = np.sqrt(np.maximum(drawn.var(axis=0), np.minimum(*floor) / 4))
    moved = (drawn - value) / error
    half = critical(np.abs(moved), level, "simultaneous") * error
    scaled = value / error
    p_better = _share_at_least(moved.max(axis=1), float(scaled.max()))
    p_worse = _share_at_least((-moved).max(axis=1), float((-scaled).max()))
    low, high = np.clip(value - half, -1, 1), np.clip(value + half, -1, 1)
    return _Sure(value, low, high, p_better, p_worse)


def _share_at_least(drawn: Floats, seen: float) -> float:
    """A bootstrap p-value, never zero; 1 when nothing points that way."""
    if seen <= 0:
        return 1.0
    return float((np.sum(drawn >= seen) + 1) / (drawn.size + 1))


def _paired_differences(
    panel: Panel, grid: Floats, number: int, rng: np.random.Generator
) -> Floats:
    """Draw cases with both outputs and take the difference of the two curves."""
    panel = _coarse(panel)
    orders = [_levels(panel.rows[:, k]) for k in range(2)]
    out = []
    for neg, pos in _one_by_one(panel, number, rng):
        one, two = (
            height(_shares(neg, level), _shares(pos, level), grid) for level in orders
        )
        out.append(one - two)
    return np.array(out)


def _one_by_one(panel: Panel, number: int, rng: np.random.Generator) -> Iterator[Any]:
    drawn = (zip(*block, strict=True) for block in redraws(panel, number, rng))
    yield from steps(chain.from_iterable(drawn), "Bootstrap", number, "samples")


# a panel with more rows is resampled on this many levels of each classifier: finer
# than the grid of the band
_ROWS, _LEVELS = 20_000, 250


def _coarse(panel: Panel) -> Panel:
    """Join neighbouring outputs of each classifier when there are very many rows."""
    if len(panel) <= _ROWS:
        return panel
    case = panel.neg / panel.n_neg + panel.pos / panel.n_pos
    columns = []
    for column in panel.rows.T:
        order = np.argsort(column, kind="stable")
        place = np.empty(column.size)
        place[order] = np.cumsum(case[order]) / 2
        # equal outputs take the place of their first
        first = np.searchsorted(column[order], column, side="left")
        columns.append(np.floor(place[order][first] * _LEVELS))
    return Panel(panel.names, np.column_stack(columns), panel.neg, panel.pos)


def _levels(column: Floats) -> Array:
    """Number the distinct outputs of a classifier, the highest first."""
    return np.unique(-column, return_inverse=True)[1]


def _shares(count: Array, level: Array) -> Floats:
    total = np.concatenate([[0.0], np.cumsum(np.bincount(level, weights=count))])
    return np.asarray(total / total[-1])


def _p_of(verdict: str, sure: _Sure) -> float:
    return {
        "dominates": sure.p_better,
        "is dominated": sure.p_worse,
        "crosses": max(sure.p_better, sure.p_worse),
        "equal": 1.0,
    }[verdict]


def _where(grid: Floats, inside: Array) -> Ranges:
    """Join neighbouring grid points into ranges."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]])))
    return tuple(
        (float(grid[i]), float(grid[j - 1]))
        for i, j in zip(edges[::2], edges[1::2], strict=True)
    )
