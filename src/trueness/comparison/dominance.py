"""Is one classifier better somewhere, and nowhere worse?

How two curves of a sample lie is exact (Sameni 2025, section 5); of the population:
is there a range where the first is better, and by how much could the second be
better anywhere?
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import NormalDist
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats, begins_run
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.figures import Axis, Curves, Line, guide
from trueness._core.progress import progress
from trueness._core.records import Record
from trueness.comparison.results import asked_margin
from trueness.counts.answers import of_panel
from trueness.counts.cases import kish
from trueness.counts.placements import group_starts
from trueness.counts.resampling import Seed
from trueness.counts.resampling import replicates as redraws
from trueness.counts.values import Panel, Tally
from trueness.inference.intervals import student_quantile
from trueness.ranking.bands import critical, height, rate_variance, running_shares
from trueness.ranking.geometry import chord

Ranges = tuple[tuple[float, float], ...]
# curves are sums of shares: smaller differences are rounding
_EQUAL = 1e-12


@final
@dataclass(frozen=True, repr=False)
class Dominance(Record):
    """Is the first classifier better everywhere? True in an ``if`` when it dominates.

    Attributes
    ----------
    verdict : {"dominates", "is dominated", "equal", "crosses"}
        How the two curves of the sample compare.
    fpr_better, fpr_worse, recall_better, recall_worse : tuple of (low, high)
        False positive rates where the ROC curve of the first is higher, and lower;
        recalls where its precision is higher, and lower, at any prevalence.
    p_better, p_worse, p_value : float
        One-sided: is there a range of false positive rates where the first is better,
        and is there one where it is worse? A small value says yes. Twice the smaller:
        could the two curves be equal?
    range_better, range_worse : tuple (low, high)
        Where that is clearest; empty when the sample shows no such range.
    margin, margin_first : float
        With the confidence of ``level`` the second, and the first, is nowhere better by
        more than this, in true positive rate: non-inferiority of the whole curve.
    tested_margin, p_noninferior : float
        The margin that was asked about, and the p-value of "the second is better by
        more than that at some false positive rate"; NaN when no margin was given.
    surely_better, surely_worse : tuple of (low, high)
        False positive rates at which the band of the difference excludes zero.
    fpr, difference, low, high : array
        Difference of the true positive rates, with its simultaneous band.
    level, paired : float, bool
        Confidence level of the band; were both seen on the same cases?
    """

    verdict: str
    fpr_better: Ranges
    fpr_worse: Ranges
    recall_better: Ranges
    recall_worse: Ranges
    p_better: float
    p_worse: float
    range_better: tuple[float, ...]
    range_worse: tuple[float, ...]
    p_value: float
    margin: float
    margin_first: float
    tested_margin: float
    p_noninferior: float
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


@of_panel
def dominates(
    data: Tally | Panel,
    other: Tally | str | None = None,
    reference: str | None = None,
    *,
    margin: float | None = None,
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Dominance:
    r"""Is one classifier better somewhere and nowhere worse, and how sure are we?

    .. math:: G_a(u) \le G_b(u) \text{ for all } u \in (0, 1)

    Curves may touch, and all meet at both ends. *Better somewhere* is tested by mean
    differences over ranges of any width, *nowhere worse* by the worst of one-sided
    bounds at each false positive rate: ``docs/maths/comparison.md``.

    Parameters
    ----------
    data, other, reference
        Two tallies (different cases), or a panel and two of its names (the same cases);
        a panel of two needs no names.
    margin
        A loss of true positive rate that would not matter, for example 0.05: then
        ``p_noninferior`` says whether a larger loss can be excluded at every false
        positive rate.
    points
        How many false positive rates the band has.

    Examples
    --------
    >>> good = Tally([3, 2, 1], pos=[6, 3, 1], neg=[0, 2, 8])
    >>> poor = Tally([3, 2, 1], pos=[3, 4, 3], neg=[2, 4, 4])
    >>> answer = dominates(good, poor)
    >>> answer.verdict, answer.fpr_better, answer.recall_better
    ('dominates', ((0.0, 1.0),), ((0.0, 1.0),))
    """
    options: Any = {"margin": margin, "level": level, "points": points}
    options |= {"rng": rng, "replicates": replicates}
    if isinstance(data, Tally) and isinstance(other, Tally) and reference is None:
        asked, both = _Redraws(**options), (data.labelled(), other.labelled())
        for t in both:
            _cases.both_classes(t, "dominates")
        drawn = np.subtract(*(_curves(t, [t], asked)[0] for t in both))
        return replace(_dominance(*both, drawn, asked), paired=False)
    names = [n for n in (other, reference) if isinstance(n, str)]
    if isinstance(data, Panel):
        names = names or list(data.names)
    if not isinstance(data, Panel) or len(names) != 2:
        raise InputError(
            "dominates needs two tallies, or a panel and two of its names. Type "
            'trueness.dominates(a, b) or trueness.dominates(panel, "a", "b").'
        )
    pair = names[0], names[1]
    return dominance_of_pairs(data, [pair], **options)[pair]


def dominance_of_pairs(
    panel: Panel, pairs: Sequence[tuple[str, str]], **options: Any
) -> dict[tuple[str, str], Dominance]:
    """Say what :func:`dominates` does, of many pairs on the same redrawn cases."""
    if not pairs:
        return {}
    asked, names = _Redraws(**options), list(dict.fromkeys(chain.from_iterable(pairs)))
    panel = panel[names].labelled()
    _cases.complete_outputs(panel, "dominates")
    tallies = {name: panel[name] for name in names}
    for t in tallies.values():
        _cases.both_classes(t, "dominates")
    curves = dict(zip(names, _curves(panel, [*tallies.values()], asked), strict=True))
    return {
        (a, b): _dominance(tallies[a], tallies[b], curves[a] - curves[b], asked)
        for a, b in pairs
    }


class _Redraws:
    """At which rates curves are redrawn, how often, and what is asked of them."""

    def __init__(
        self,
        margin: float | None = None,
        level: float = 0.95,
        points: int = 101,
        rng: Seed = 0,
        replicates: int = 1000,
    ) -> None:
        points = _options.whole_number(points, "points", at_least=3, at_most=10**6)
        self.grid = np.linspace(0, 1, points + 1)[:-1]
        self.level = _options.fraction(level, "level")
        self.margin = asked_margin(margin)
        self.number = _options.whole_number(replicates, "replicates", at_least=100)
        self.rng = _options.generator(rng)


def _dominance(
    first: Tally, second: Tally, drawn: Floats, asked: _Redraws
) -> Dominance:
    """Hold two curves against each other, and against redrawn differences."""
    fpr_better, fpr_worse = _ranges(_corners(first), _corners(second))
    # precision is higher where the false positive rate at a recall is lower: of
    # specificity over the miss rate
    sides = [(1 - y[::-1], 1 - x[::-1]) for x, y in map(_corners, (first, second))]
    recall_better, recall_worse = (
        tuple((1 - high, 1 - low) for low, high in reversed(ranges))
        for ranges in _ranges(*sides)
    )
    grid, level, margin = asked.grid, asked.level, asked.margin
    curves = [height(*_corners(t), grid) for t in (first, second)]
    value, least = curves[0] - curves[1], _least(curves, (first, second))
    variance, few, _ = least
    error = np.sqrt(np.maximum(drawn.var(axis=0), variance / 4))
    many = critical(np.abs(drawn - value) / error, level, "simultaneous")
    # few cases, large weights or clusters: Student's quantile, as a wider error
    wider = student_quantile(few - 1, level) / NormalDist().inv_cdf((1 + level) / 2)
    error = wider * error
    (p_better, range_better), (p_worse, range_worse) = _somewhere(
        value / wider, drawn, least, asked
    )
    low, high = (np.clip(value + k * many * error, -1, 1) for k in (-1, 1))
    # each rate has a one-sided bound, and the worst of them holds (Berger 1982)
    reach = NormalDist().inv_cdf(level) * error
    clear = float(((value + margin) / error).min())
    p_noninferior = math.nan if math.isnan(margin) else NormalDist().cdf(-clear)
    return Dominance(
        verdict=_VERDICTS[2 * bool(fpr_better) + bool(fpr_worse)],
        fpr_better=fpr_better, fpr_worse=fpr_worse,
        recall_better=recall_better, recall_worse=recall_worse,
        p_better=p_better, p_worse=p_worse,
        range_better=range_better, range_worse=range_worse,
        p_value=min(1.0, 2 * min(p_better, p_worse)),
        margin=float(np.clip(reach - value, 0.0, 1.0).max()),
        margin_first=float(np.clip(reach + value, 0.0, 1.0).max()),
        tested_margin=margin, p_noninferior=p_noninferior,
        surely_better=_where(grid, low > 0), surely_worse=_where(grid, high < 0),
        fpr=grid, difference=value, low=low, high=high, level=level, paired=True,
    )  # fmt: skip


_VERDICTS = ("equal", "is dominated", "dominates", "crosses")


def _corners(t: Tally) -> tuple[Floats, Floats]:
    """Give the ROC curve, from (0, 0), one corner a row."""
    return running_shares(t.neg), running_shares(t.pos)


def _ranges(
    a: tuple[Floats, Floats], b: tuple[Floats, Floats]
) -> tuple[Ranges, Ranges]:
    """Where is the first of two rising curves higher, and where lower? Exact."""
    # a stable sort merges what is in order already
    knot = np.sort(np.concatenate([a[0], b[0]]), kind="stable")
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
    return np.asarray(chord(x, y, i, j, at))


def _positive(knot: Floats, start: Floats, end: Floats) -> Ranges:
    """Where is a difference above zero that is straight between knots?"""
    some = np.maximum(start, end) > _EQUAL
    low, high, s, e = knot[:-1][some], knot[1:][some], start[some], end[some]
    # a straight line crosses zero within the piece
    rise = np.where(s == e, 1.0, s - e)
    zero = low + (high - low) * s / rise
    low, high = np.where(s < -_EQUAL, zero, low), np.where(e < -_EQUAL, zero, high)
    apart = np.flatnonzero(low[1:] > high[:-1] + _EQUAL)
    starts, ends = np.append(0, apart + 1), np.append(apart, low.size - 1)
    if not low.size:
        return ()
    return tuple(zip(low[starts].tolist(), high[ends].tolist(), strict=True))


def _least(
    curves: Sequence[Floats], tallies: Sequence[Tally]
) -> tuple[Floats, float, float]:
    """How uncertain are two curves at least, and of how many cases?

    The variance of a rate, where no redrawn curve varies; cases of a class, or
    clusters, as equal ones (Kish 1965); negatives.
    """
    numbers = []
    for t in tallies:
        neg, pos = t.equal_cases
        if t.grouped is not None:
            each = map(t.grouped.per_cluster, t.grouped.counts[:2])
            neg, pos = (kish(float(w.sum()), float(w @ w)) for w in each)
        numbers.append((neg, pos))
    varies = (rate_variance(c, n[1]) for c, n in zip(curves, numbers, strict=True))
    few = max(min(map(min, numbers)), 2.0)
    return np.minimum(*varies), few, min(n[0] for n in numbers)


_NEGATIVES = 5  # a range that holds fewer of them has no steady error
_DRAWS = 20_000


def _somewhere(
    value: Floats, drawn: Floats, least: tuple[Floats, float, float], asked: _Redraws
) -> Iterator[tuple[float, tuple[float, ...]]]:
    """Give, for each side, how often equal curves differ as clearly, and where."""
    grid, (variance, few, n_neg) = asked.grid, least
    parts = [k for k in (1, 2, 4, 8) if k <= 2 or n_neg >= k * _NEGATIVES]
    low = np.concatenate([np.arange(k) / k for k in parts])
    width = np.concatenate([np.full(k, 1 / k) for k in parts])
    inside = (grid[:, None] > low - _EQUAL) & (grid[:, None] < low + width - _EQUAL)
    some = inside.any(axis=0)  # a coarse grid has no point in a narrow range
    low, width, inside = low[some], width[some], inside[:, some]
    mean = inside / inside.sum(axis=0)
    spread = np.atleast_2d(np.cov((drawn @ mean).T))
    own = np.diag(spread).copy()
    correlation = spread / np.sqrt(np.outer(own, own) + 1e-300)
    np.fill_diagonal(correlation, 1.0)
    # a bootstrap's variance is short by (n - 1) / n; where no draw varies, a rate's is
    own = np.where(own > _EQUAL, own * few / (few - 1), variance @ mean)
    scaled, toll = value @ mean / np.sqrt(own), np.sqrt(2 * np.log(1 / width)) / 2
    # normal values with this correlation, under the same toll
    size, vector = np.linalg.eigh(correlation)
    root = vector * np.sqrt(np.maximum(size, 0))
    for side in (scaled, -scaled):
        best = int((side - toll).argmax())
        noise = asked.rng.normal(size=(_DRAWS, size.size)) @ root.T
        above = (noise - toll).max(axis=1) >= (side - toll)[best]
        p = (float(above.sum()) + 1) / (_DRAWS + 1)
        place = float(low[best]), float(low[best] + width[best])
        yield (p, place) if side[best] > 0 else (1.0, ())


# with more rows, classifiers are redrawn on this many levels of their outputs each,
# which are finer than the usual grid of the band: one classifier, several
_ROWS, _LEVELS = (1_000, 20_000), (1_000, 128)


def _curves(x: Tally | Panel, tallies: Sequence[Tally], asked: _Redraws) -> Floats:
    """Draw cases with all outputs: the curves of each classifier, (K, number, grid)."""
    outputs = [x.score] if isinstance(x, Tally) else list(x.rows.T)
    several = len(outputs) > 1
    most = _LEVELS[several] if len(x) > _ROWS[several] else None
    levels = [_levels(v, t, most) for v, t in zip(outputs, tallies, strict=True)]
    cell, first = _cells(levels)
    cases = (x.map if isinstance(x, Tally) else x.combine)(lambda _: -cell)
    sides = [_shares_by(level[first]) for level in levels]
    out = np.empty((len(sides), asked.number, asked.grid.size))
    at = 0
    with progress("Bootstrap", asked.number, "samples") as went_by:
        for neg, pos in redraws(cases, asked.number, asked.rng):
            for k, side in enumerate(sides):
                for r, corner in enumerate(zip(side(neg), side(pos), strict=True), at):
                    out[k, r] = height(*corner, asked.grid)
            at += len(neg)
            went_by(len(neg))
    # What rows that were joined take from a curve, redrawn curves get back: else the
    # band would be as wide as that loss at its worst, at the steep start.
    for k, (t, side) in enumerate(zip(tallies, sides, strict=True)):
        joined = height(side(cases.neg[None])[0], side(cases.pos[None])[0], asked.grid)
        out[k] += height(*_corners(t), asked.grid) - joined
    return out


def _levels(output: Floats, t: Tally, most: int | None) -> Array:
    """Number outputs, the highest first; neighbours are joined into ``most`` levels."""
    start = np.arange(len(t))
    if most is not None:
        start = group_starts(t.neg / t.n_neg + t.pos / t.n_pos, most)
    return np.searchsorted(-t.score[start], -output, side="right") - 1


def _cells(levels: Sequence[Array]) -> tuple[Array, Array]:
    """Number the combinations of levels that occur: of each row, and a row of each."""
    key = levels[0]
    for level in levels[1:]:
        key = np.unique(key, return_inverse=True)[1] * (int(level.max()) + 1) + level
    _, first, cell = np.unique(key, return_index=True, return_inverse=True)
    return cell, first


def _shares_by(level: Array) -> Callable[[Array], Floats]:
    """Give a function from counts of cells to their shares up to each level."""
    order = np.argsort(level, kind="stable")
    start = np.flatnonzero(begins_run(level[order]))
    in_order = bool((np.diff(order) == 1).all())

    def shares(counts: Array) -> Floats:
        if not in_order:
            counts = np.take(counts, order, axis=1)
        total = np.zeros((len(counts), start.size + 1))
        at_level = np.add.reduceat(counts, start, axis=1)
        np.cumsum(at_level, axis=1, out=total[:, 1:])
        total /= total[:, -1:]
        return total

    return shares


def _where(grid: Floats, inside: Array) -> Ranges:
    """Join neighbouring grid points into ranges."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]])))
    return tuple(
        (float(grid[i]), float(grid[j - 1]))
        for i, j in zip(edges[::2], edges[1::2], strict=True)
    )


def difference_figure(d: Dominance, name: str = "") -> Curves:
    """Where is the first of two classifiers better, and how sure is that?"""
    reach = max(0.01, *(float(abs(v).max()) for v in (d.low, d.high)))
    x = Axis("fpr", "False positive rate")
    y = Axis("difference", "Difference of true positive rates", -reach, reach)
    columns = {k: getattr(d, k) for k in ("fpr", "difference", "low", "high")}
    line, zero = Line(name or "first - second", columns), guide(x, y, [0, 1], [0, 0])
    return Curves("Difference of two ROC curves", x, y, (line,), (line,), (zero,))
