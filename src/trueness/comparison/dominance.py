"""Is one classifier better somewhere, and nowhere worse?

``dominates`` compares two ROC curves at every false positive rate, and the two
precision-recall curves at every recall: the answers agree (Sameni 2025, section 5). How
the curves of the sample lie is exact. Two things are said of the population, and they
are different: is there a range where the first is better (``p_better``), and by how
much could the second still be better anywhere (``margin``)?
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.options import renamed
from trueness._core.progress import steps
from trueness._core.records import Record
from trueness.comparison.aucs import asked_margin, copies
from trueness.counts.answers import of_panel
from trueness.counts.resampling import Seed
from trueness.counts.resampling import replicates as redraws
from trueness.counts.values import Panel, Tally, panel_of_rows
from trueness.counts.weights import sizes
from trueness.ranking.bands import (
    critical,
    curves_of,
    few_rows,
    few_weights,
    height,
    rate_variance,
    running_shares,
)
from trueness.ranking.curves import roc
from trueness.ranking.geometry import chord

Ranges = tuple[tuple[float, float], ...]
# curves are sums of shares: smaller differences are rounding
_EQUAL = 1e-12


@final
@dataclass(frozen=True, repr=False)
class Dominance(Record):
    """Is the first classifier better everywhere, and how sure are we?

    In an ``if`` the answer counts as True when the first dominates the second in the
    sample.

    Attributes
    ----------
    verdict : {"dominates", "is dominated", "equal", "crosses"}
        How the two curves of the sample compare.
    fpr_better, fpr_worse : tuple of (low, high)
        Ranges of false positive rates where the ROC curve of the first is higher, and
        where it is lower.
    recall_better, recall_worse : tuple of (low, high)
        Ranges of recall where the precision of the first is higher, and where it is
        lower, at any prevalence.
    p_better, p_worse : float
        One-sided p-values: is there a range of false positive rates where the first is
        better, and is there one where it is worse? A small value says yes.
    range_better, range_worse : tuple (low, high)
        The range of false positive rates where that is clearest; empty when the sample
        shows no such range.
    p_value : float
        Could the two curves be equal? Twice the smaller of ``p_better`` and
        ``p_worse``.
    margin : float
        With the confidence of ``level`` the second is nowhere better by more than this,
        in true positive rate: non-inferiority of the whole curve.
    margin_first : float
        The same of the first: it is nowhere better by more than this.
    tested_margin, p_noninferior : float
        The margin that was asked about, and the p-value of "the second is better by
        more than that at some false positive rate"; NaN when no margin was given.
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


@renamed(number="replicates")
@of_panel(weights=True)
def dominates(
    a: Tally | Panel,
    b: Tally | str | None = None,
    c: str | None = None,
    *,
    margin: float | None = None,
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Dominance:
    r"""Is one classifier better somewhere and nowhere worse, and how sure are we?

    .. math:: G_a(u) \le G_b(u) \text{ for all } u \in (0, 1)

    Parameters
    ----------
    a, b, c
        Two tallies (different cases), or a panel and two of its names (the same cases);
        a panel of two needs no names.
    margin
        A loss of true positive rate that would not matter, for example 0.05: then
        ``p_noninferior`` says whether a larger loss can be excluded at every false
        positive rate.
    level
        Confidence level of the band of the difference and of the margin.
    points
        How many false positive rates the band has.
    rng, replicates
        Seed and number of bootstrap replicates.

    Returns
    -------
    Dominance
        The verdict on the sample with its ranges (exact), and the p-values, the margin
        and the simultaneous band (bootstrap; paired for a panel).

    Notes
    -----
    Sameni (2025), eq. (27), not strict: curves may touch. This differs from the text
    there: strict dominance on [0, 1] is impossible, since all curves meet at both ends,
    and dominance does carry over to accuracy and F-beta at equal specificity.

    *Better somewhere.* The mean differences over the whole range, its halves, quarters
    and eighths (while they hold five negatives) are each divided by their bootstrap
    standard error. The largest counts, after a penalty on narrow ranges, of which there
    are more: :math:`\max_w (t_w - \tfrac12 \sqrt{2 \ln(1 / w)})` for a range of width w
    (after Duembgen and Spokoiny 2001). Its null distribution is that for correlated
    normal values. The mean over the whole range is the difference of the AUCs, so
    little power is lost against DeLong's test, and curves that cross are found too.
    *Nowhere worse.* A one-sided bound is computed at each false positive rate; the
    worst of them holds without an adjustment for their number, since all must be passed
    (Berger 1982). ``docs/maths/comparison.md`` has measured error rates.

    References
    ----------
    Sameni (2025), section 5; Duembgen, Spokoiny (2001), Ann. Stat. 29:124,
    doi:10.1214/aos/996986504; Berger (1982), Technometrics 24:295,
    doi:10.1080/00401706.1982.10487790

    Examples
    --------
    >>> good = Tally([3, 2, 1], pos=[6, 3, 1], neg=[0, 2, 8])
    >>> poor = Tally([3, 2, 1], pos=[3, 4, 3], neg=[2, 4, 4])
    >>> answer = dominates(good, poor)
    >>> answer.verdict, answer.fpr_better, answer.recall_better
    ('dominates', ((0.0, 1.0),), ((0.0, 1.0),))
    """
    asked = _asked(margin, level, points, rng, replicates)
    first, second, panel = _two(a, b, c)
    for t in (first, second):
        _cases.both_classes(t, "dominates")
    drawn: Floats | None = None
    if panel is not None:
        if not copies(*panel.rows.T):
            drawn = np.subtract(*_paired_curves(panel, asked))
    elif first is not second:
        drawn = np.subtract(*(_own_curves(t, asked) for t in (first, second)))
    return _dominance(first, second, drawn, asked, panel is not None)


def dominance_of_pairs(
    panel: Panel,
    pairs: Sequence[tuple[str, str]],
    *,
    margin: float | None = None,
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    replicates: int = 1000,
) -> dict[tuple[str, str], Dominance]:
    """Which of each pair is better somewhere and nowhere worse?

    What :func:`dominates` says of a pair, for many of them on the same redrawn cases:
    the curve of a classifier is made once a sample, however many pairs it is in.
    """
    if not pairs:
        return {}
    asked = _asked(margin, level, points, rng, replicates)
    names = list(dict.fromkeys(chain.from_iterable(pairs)))
    panel = panel[names].labelled()
    _cases.complete_outputs(panel, "dominates")
    tallies = {name: panel[name] for name in names}
    for t in tallies.values():
        _cases.both_classes(t, "dominates")
    curves = dict(zip(names, _paired_curves(panel, asked), strict=True))
    column = dict(zip(names, panel.rows.T, strict=True))
    return {
        (a, b): _dominance(
            tallies[a],
            tallies[b],
            None if copies(column[a], column[b]) else curves[a] - curves[b],
            asked,
            paired=True,
        )
        for a, b in pairs
    }


class _CurvesAsked(NamedTuple):
    grid: Floats
    level: float
    margin: float
    number: int
    rng: np.random.Generator


def _asked(
    margin: float | None, level: float, points: int, rng: Seed, replicates: int
) -> _CurvesAsked:
    points = _options.whole_number(points, "points", at_least=3, at_most=10**6)
    return _CurvesAsked(
        np.linspace(0, 1, points + 1)[:-1],
        _options.fraction(level, "level"),
        asked_margin(margin),
        _options.whole_number(replicates, "replicates", at_least=100),
        _options.generator(rng),
    )


def _dominance(
    first: Tally, second: Tally, drawn: Floats | None, asked: _CurvesAsked, paired: bool
) -> Dominance:
    """Hold two curves against each other; ``drawn`` is None where they are one."""
    fpr_better, fpr_worse = _ranges(_corners(first), _corners(second))
    recall_better, recall_worse = _recalls(first, second)
    sure = _uncertainty(first, second, drawn, asked)
    return Dominance(
        _verdict(bool(fpr_better), bool(fpr_worse)),
        fpr_better,
        fpr_worse,
        recall_better,
        recall_worse,
        sure.better.p_value,
        sure.worse.p_value,
        sure.better.place,
        sure.worse.place,
        min(1.0, 2 * min(sure.better.p_value, sure.worse.p_value)),
        _most_better(-sure.difference, sure, asked.level),
        _most_better(sure.difference, sure, asked.level),
        asked.margin,
        _noninferior(sure, asked.margin),
        _where(asked.grid, sure.low > 0),
        _where(asked.grid, sure.high < 0),
        asked.grid,
        sure.difference,
        sure.low,
        sure.high,
        asked.level,
        paired,
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
    # specificity over the miss rate
    sides = [(1 - y[::-1], 1 - x[::-1]) for x, y in map(_corners, (first, second))]
    better, worse = (
        tuple((1 - high, 1 - low) for low, high in reversed(ranges))
        for ranges in _ranges(*sides)
    )
    return better, worse


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
    return np.asarray(chord(x, y, i, j, at))


def _positive(knot: Floats, start: Floats, end: Floats) -> Ranges:
    """Where is a difference above zero that is straight between knots?"""
    found: list[tuple[float, float]] = []
    for k in np.flatnonzero(np.maximum(start, end) > _EQUAL):
        low, high, s, e = knot[k], knot[k + 1], start[k], end[k]
        # a straight line crosses zero within the piece
        if s < -_EQUAL:
            low = low + (high - low) * s / (s - e)
        elif e < -_EQUAL:
            high = low + (high - low) * s / (s - e)
        if found and found[-1][1] >= low - _EQUAL:
            found[-1] = (found[-1][0], float(high))
        else:
            found.append((float(low), float(high)))
    return tuple(found)


class _Somewhere(NamedTuple):
    """Is there a range with a difference, and where is it clearest?"""

    p_value: float
    place: tuple[float, ...]


class _Sure(NamedTuple):
    difference: Floats
    error: Floats
    low: Floats
    high: Floats
    better: _Somewhere
    worse: _Somewhere


def _uncertainty(
    first: Tally, second: Tally, drawn: Floats | None, asked: _CurvesAsked
) -> _Sure:
    """Give the band of the difference of the curves, and both one-sided p-values."""
    grid, level = asked.grid, asked.level
    if drawn is None:
        zero, nowhere = np.zeros_like(grid), _Somewhere(1.0, ())
        return _Sure(zero, zero, zero, zero, nowhere, nowhere)
    curves = [height(*_corners(t), grid) for t in (first, second)]
    value = curves[0] - curves[1]
    floor = np.minimum(
        *(rate_variance(c, sizes(t)[0].number) for c, t in
          zip(curves, (first, second), strict=True))
    )  # fmt: skip
    # few large weights: Student's quantile, as a wider error
    wider = max(few_weights(t, level) for t in (first, second))
    error = wider * np.sqrt(np.maximum(drawn.var(axis=0), floor / 4))
    scaled = np.abs(drawn - value) / (error / wider)
    half = critical(scaled, level, "simultaneous") * error
    low, high = np.clip(value - half, -1, 1), np.clip(value + half, -1, 1)
    few = min(e.number for t in (first, second) for e in sizes(t))
    least = min(sizes(t)[1].number for t in (first, second))
    scan = _scanned(value, drawn, floor, grid, few, least)
    scan = scan._replace(scaled=scan.scaled / wider)
    sides = (_somewhere(scan, sign, asked.rng) for sign in (1, -1))
    return _Sure(value, error, low, high, *sides)


class _Scan(NamedTuple):
    """Mean differences over ranges, in standard errors, and how they hang together."""

    low: Floats
    high: Floats
    scaled: Floats
    correlation: Floats
    toll: Floats


_NEGATIVES = 5  # a range that holds fewer of them has no steady error
_DRAWS = 20_000


def _scanned(
    value: Floats,
    drawn: Floats,
    floor: Floats,
    grid: Floats,
    few: float,
    n_neg: float,
) -> _Scan:
    """Average the difference over the whole range, halves, quarters and eighths."""
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
    own = np.where(own > _EQUAL, own * few / max(few - 1, 1), floor @ mean)
    toll = np.sqrt(2 * np.log(1 / width)) / 2
    return _Scan(low, low + width, value @ mean / np.sqrt(own), correlation, toll)


def _somewhere(scan: _Scan, sign: int, rng: np.random.Generator) -> _Somewhere:
    """How often would equal curves show so clear a difference in some range?"""
    score = sign * scan.scaled - scan.toll
    best = int(score.argmax())
    if sign * scan.scaled[best] <= 0:
        return _Somewhere(1.0, ())
    # normal values with this correlation, under the same toll
    size, vector = np.linalg.eigh(scan.correlation)
    root = vector * np.sqrt(np.maximum(size, 0))
    chance = (rng.normal(size=(_DRAWS, size.size)) @ root.T - scan.toll).max(axis=1)
    p = (float(np.sum(chance >= score[best])) + 1) / (_DRAWS + 1)
    return _Somewhere(p, (float(scan.low[best]), float(scan.high[best])))


def _most_better(lead: Floats, sure: _Sure, level: float) -> float:
    """By how much could one that leads so be better, at some false positive rate?"""
    z = NormalDist().inv_cdf(level)
    return float(np.clip(lead + z * sure.error, 0.0, 1.0).max())


def _noninferior(sure: _Sure, margin: float) -> float:
    """Test each false positive rate; the largest p-value is that of all of them."""
    if math.isnan(margin):
        return math.nan
    if not sure.error.any():
        return 0.0
    z = float(((sure.difference + margin) / sure.error).min())
    return NormalDist().cdf(-z)


def _own_curves(t: Tally, asked: _CurvesAsked) -> Floats:
    """Draw the cases of one classifier: its curves, (number, grid)."""
    few = few_rows(t)
    curves = curves_of(few, asked.grid, asked.number, asked.rng)
    return curves + _lost(t, few, asked.grid)


def _paired_curves(panel: Panel, asked: _CurvesAsked) -> Floats:
    """Draw cases with all outputs: the curves of each classifier, (K, number, grid)."""
    few = _coarse(panel)
    # the distinct outputs of each classifier, the highest first
    orders = [np.unique(-column, return_inverse=True)[1] for column in few.rows.T]

    def curve(level: Array, neg: Array, pos: Array) -> Floats:
        x, y = (running_shares(np.bincount(level, n)) for n in (neg, pos))
        return height(x, y, asked.grid)

    out = [
        [curve(level, neg, pos) for level in orders]
        for neg, pos in _one_by_one(few, asked.number, asked.rng)
    ]
    curves = np.moveaxis(np.array(out), 1, 0)
    lost = [_lost(panel[name], few[name], asked.grid) for name in panel.names]
    return np.asarray(curves + np.array(lost)[:, None])


def _lost(t: Tally, few: Tally, grid: Floats) -> Floats:
    """What do rows that were joined take from a curve? Redrawn curves get it back.

    Else the band would be as wide as that loss at its worst, at the steep start.
    """
    return height(*_corners(t), grid) - height(*_corners(few), grid)


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
    rows, at = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    counts = [np.bincount(at.ravel(), c, len(rows)).astype(c.dtype)
              for c in panel.counts]  # fmt: skip
    return panel_of_rows(panel.names, rows, *counts)


def _where(grid: Floats, inside: Array) -> Ranges:
    """Join neighbouring grid points into ranges."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]])))
    return tuple(
        (float(grid[i]), float(grid[j - 1]))
        for i, j in zip(edges[::2], edges[1::2], strict=True)
    )
