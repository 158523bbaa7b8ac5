"""What becomes of a choice that is made again, on resampled cases?

Whatever was chosen (a cut, two cuts, a classifier and its cut): ``rehearse`` repeats
the choice on bootstrap samples and counts the cases that each sample left out;
``without_optimism`` takes off what the choice made of chance; ``trusted`` gives limits
that allow for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.progress import steps
from trueness._core.records import Estimate, brief
from trueness.counts.clusters import Clusters
from trueness.counts.resampling import multiplicities, whole_draws
from trueness.counts.values import Panel, Tally
from trueness.inference.limits import limits
from trueness.inference.sample import Influence
from trueness.inference.spread import Spread
from trueness.inference.spread import spread as spread_of
from trueness.metrics.confusion import Confusion
from trueness.threshold.cuts import threshold_of


class Again(NamedTuple):
    """A choice that was made again; arrays of them, with a row for each sample.

    ``chosen`` is what was chosen; ``left`` counts positives and negatives on each side
    of it among the cases that the sample left out, ``bag`` those of the sample and
    ``whole`` all; ``inside`` is the objective in the sample.
    """

    chosen: Any
    left: Any
    bag: Any
    whole: Any
    inside: Any = math.nan


def rehearse(
    x: Tally | Panel,
    choose: Callable[..., Again | None],
    replicates: int,
    rng: np.random.Generator,
    what: str,
    lacking: str,
) -> Again:
    """Repeat a choice on bootstrap samples, and judge it by what each left out.

    ``choose`` is given the positives and negatives of each row in the sample, and those
    that it left out; None when nothing can be chosen, which most samples must not say.
    """
    draw = Resample(x)
    each = steps(range(replicates), "Bootstrap", unit="samples")
    runs = [run for run in (choose(*draw(rng)) for _ in each) if run is not None]
    if 2 * len(runs) < replicates:
        raise NotEnoughCases(
            f"{what} needs a choice in most bootstrap samples; in "
            f"{replicates - len(runs):,} of {replicates:,} {lacking}. Loosen the "
            f"constraints, or collect more than {brief(x.n_pos)} positives and "
            f"{brief(x.n_neg)} negatives."
        )
    return Again(*map(np.array, zip(*runs, strict=True)))


def sample_space(t: Tally) -> Array:
    """Make one place for the counts of all samples: fresh memory costs time."""
    return np.zeros((4, len(t) + 1), dtype=t.pos.dtype)


def sample_counts(
    space: Array, pos: Array, neg: Array, *, both: bool
) -> Confusion | None:
    """Count a sample at all cuts of the tally; None where it has too few classes.

    A row that the sample has no case of repeats the cut before it.
    """
    tp, fp, fn, tn = space
    np.cumsum(pos, out=tp[1:], dtype=tp.dtype)
    np.cumsum(neg, out=fp[1:], dtype=fp.dtype)
    if not (tp[-1] + fp[-1]) or (both and not (tp[-1] and fp[-1])):
        return None
    np.subtract(tp[-1], tp, out=fn)
    np.subtract(fp[-1], fp, out=tn)
    return Confusion(tp, fp, fn, tn)


def chosen_again(t: Tally, at: int, pos: Array, neg: Array) -> tuple[float, int]:
    """Carry a cut of a sample over to its tally: the threshold, the rows above it."""
    threshold = _sample_threshold(t.score, at, pos[at:] + neg[at:])
    row = t.score.size - np.searchsorted(t.score[::-1], threshold, side="left")
    return threshold, int(row)


def _sample_threshold(score: Floats, at: int, below: Array) -> float:
    """Give the threshold of a cut, between two scores that the sample has.

    Of cuts that repeat each other the first is taken, so the score above is one of the
    sample; ``below`` counts its cases at the scores from there on.
    """
    near = [score[at - 1]] if at else []
    lower = int(np.argmax(below > 0)) if below.size else 0
    if below.size and below[lower]:
        near.append(score[at + lower])
    return threshold_of(np.array(near), min(at, 1))


def counts_between(rows: Sequence[int], pos: Array, neg: Array) -> list[Any]:
    """Count positives and negatives of the rows before, between and behind cuts."""
    parts = [slice(*ends) for ends in pairwise([0, *rows, None])]
    return [n[part].sum().item() for part in parts for n in (pos, neg)]


def cells_at(c: Confusion, at: Sequence[int]) -> list[Any]:
    """Count positives and negatives before, between and behind cuts."""
    tp, fp = ([0, *(n[k].item() for k in (*at, -1))] for n in (c.tp, c.fp))
    pairs = zip(pairwise(tp), pairwise(fp), strict=True)
    return [b - a for pair in pairs for a, b in pair]


class Resample:
    """Which cases enter a bootstrap sample, and which are left out?

    Each case, or cluster, is taken a Poisson(1) number of times. Calling gives, for
    every row of the tally, the positives and negatives taken and the positives and
    negatives left out; of weighted cases their weights, the cases of a row being taken
    for equal ones.
    """

    def __init__(self, t: Tally | Panel) -> None:
        self.clusters: Clusters | None = t.grouped
        self.cells, self.weight = whole_cells(t)
        self.n, self.rows = int(self.cells.sum()), len(t.pos)
        # a round of binomials costs about as much a cell as some tens of cases
        self.by_case = self.n < 40 * self.rows
        if self.by_case:
            classes = np.tile([True, False], self.rows)
            self.is_pos = np.repeat(classes, self.cells.ravel())
            ends = np.cumsum(self.cells.sum(axis=1))
            self.starts = np.concatenate([[0], ends[:-1]])

    def __call__(self, rng: np.random.Generator) -> tuple[Array, ...]:
        """Draw one sample."""
        if self.clusters is not None:
            return self._whole_clusters(self.clusters, rng)
        drawn = self._cases(rng) if self.by_case else self._cells(rng)
        if self.weight is None:
            return drawn
        pos, neg = self.weight.T
        return tuple(n * w for n, w in zip(drawn, (pos, neg, pos, neg), strict=True))

    def _cases(self, rng: np.random.Generator) -> tuple[Array, ...]:
        """Say for each case how often it is taken."""
        times = multiplicities(self.n, rng)
        out = times == 0
        pos, pos_out = times * self.is_pos, out & self.is_pos
        parts = (pos, times - pos, pos_out, out & ~self.is_pos)
        if self.rows == self.n:
            return parts
        return tuple(np.add.reduceat(p, self.starts, dtype=np.int64) for p in parts)

    def _whole_clusters(
        self, c: Clusters, rng: np.random.Generator
    ) -> tuple[Array, ...]:
        times = multiplicities(c.number, rng).astype(np.int64)[c.code]
        neg, pos = c.counts[:2]
        return tuple(
            np.bincount(c.row, often * n, self.rows).astype(n.dtype)
            for often in (times, times == 0)
            for n in (pos, neg)
        )

    def _cells(self, rng: np.random.Generator) -> tuple[Array, ...]:
        bag, out = poisson_cells(self.cells, rng)
        return (*bag.T, *out.T)


def whole_cells(t: Tally | Panel) -> tuple[Ints, Floats | None]:
    """How many positives and negatives has each row, and what does each weigh?"""
    if not t.weighted:
        return np.column_stack([t.pos, t.neg]), None
    neg, pos, _ = t.squares
    number, weight = zip(whole_draws(t.pos, pos), whole_draws(t.neg, neg), strict=True)
    heavy = np.column_stack(weight)
    return np.where(heavy > 0, np.column_stack(number), 0), heavy


def poisson_cells(cells: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Take each case of each cell a Poisson(1) number of times: taken, left out.

    How many cases are taken 0, 1, 2, ... times: each is a binomial number of the cases
    that are taken at least so often.
    """
    left, bag, k = cells, np.zeros_like(cells), 0
    out = cells
    while left.any():
        taken = rng.binomial(left, _exactly(k))
        left, bag = left - taken, bag + k * taken
        out = taken if k == 0 else out
        k += 1
    return bag, out


def _exactly(k: int) -> float:
    """How likely is a Poisson(1) number k, given that it is at least k?"""
    # 1 / sum of k!/(k+j)!: nothing cancels, however far out
    total = term = 1.0
    j = k
    while term > 1e-17 * total:
        j += 1
        term /= j
        total += term
    return 1 / total


def spread(value: float, values: Floats, level: float) -> Estimate:
    """Give a threshold with the interval in which repeated choices lie."""
    # +inf is a threshold too: quantiles must not take means of neighbours
    ends = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], method="nearest")
    finite = values[np.isfinite(values)]
    power = int(np.frexp(np.abs(finite).max(initial=0.0))[1])  # 1e300 has no square
    sd = float(np.ldexp(finite, -power).std(ddof=1)) if finite.size > 1 else math.nan
    sd = float(np.ldexp(sd, power))
    low, high = min(value, float(ends[0])), max(value, float(ends[1]))
    return Estimate(value, low, high, level, "bootstrap", sd)


class Sides(NamedTuple):
    """The cases on each side of the cuts of a chosen rule: flagged ones first."""

    cases: Tally | Panel
    side: Ints  # of each row
    number: int

    def cells(self) -> Floats:
        """Count positives and negatives on each side."""
        x = self.cases
        both = [np.bincount(self.side, n, self.number) for n in (x.pos, x.neg)]
        return np.column_stack(both).ravel().astype(np.float64)


def chosen_sides(t: Tally, cuts: Sequence[float]) -> Sides:
    """Divide cases by cuts, the highest first; those on one side are one row."""

    def place(score: Floats) -> Floats:
        return np.asarray(-np.add.reduce([score < cut for cut in cuts], dtype=float))

    few = t.map(place, monotone=True)
    return Sides(few, (-few.score).astype(np.int64), len(cuts) + 1)


def without_optimism(rule: Sides, runs: Again) -> Floats:
    """Count the cases on each side as they would be without the choice.

    The share of a class on a side is that of the population, plus chance, plus what the
    choice made of chance. The repeated choices, judged by their samples and by all
    cases, show the same difference, whose mean is taken off (Efron 1983).
    """
    bag, whole = _shares(runs.bag), _shares(runs.whole)
    cells = _shares(rule.cells()) - np.nanmean(bag - whole, axis=0)
    cells = np.maximum(cells, 0).reshape(-1, 2)
    sizes = rule.cases.n_pos, rule.cases.n_neg
    return np.asarray(cells / cells.sum(axis=0) * sizes).ravel()


def _shares(counts: Array) -> Floats:
    """Give counts (..., sides x 2) as shares of their class."""
    x = counts.reshape(*counts.shape[:-1], -1, 2)
    with np.errstate(invalid="ignore"):  # a sample may have none of a class
        return np.asarray(x / x.sum(axis=-2, keepdims=True)).reshape(counts.shape)


def scaled(counts: Array, n: float) -> Floats:
    """Scale counts (..., k) to a number of cases."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.asarray(counts * (n / np.where(total > 0, total, 1)), dtype=np.float64)


def trusted(
    rule: Sides,
    runs: Again,
    measure: Callable[[Array], Any],
    ends: tuple[float, float],
    value: float,
    level: float,
    more: float = 0.0,
) -> Estimate:
    """Give the limits of a corrected value, which allow for the choice.

    ``measure`` takes counts (..., sides x 2) of positives and negatives; ``more`` is
    variance that neither the cases nor the choices show.
    """
    s = _fixed_spread(rule, measure)
    ends = _corner_values(rule, measure, ends)
    chosen, inside, out = (
        np.asarray(measure(x), dtype=np.float64)
        for x in (rule.cells(), runs.bag, runs.whole)
    )
    fixed, times = s.variance, 1.0
    with np.errstate(divide="ignore", invalid="ignore"):  # odds may be infinite
        if ends[0] > -math.inf and ends[1] == math.inf:
            # on the logarithmic scale, as the limits are
            inside, out = (np.log(x - ends[0]) for x in (inside, out))
            away = float(chosen) - ends[0]
            fixed, times = fixed / away**2 if away else 0.0, value - ends[0]
        lead = inside - out
    lead = lead[np.isfinite(lead)]
    varied = float(lead.var(ddof=1)) if lead.size > 1 else 0.0
    s = s._replace(variance=max(varied, fixed) * times**2 + more)
    low, high = limits(value, s, ends, level)[0]
    return Estimate(value, low, high, level, "bootstrap", s.sd)


def _fixed_spread(rule: Sides, measure: Callable[[Array], Any]) -> Spread:
    """How far does a measure vary, the cuts taken as fixed?"""
    cells, x = rule.cells(), rule.cases
    # central differences, a millionth of each count away
    step = np.diag(1e-6 * cells)
    up, down = (np.asarray(measure(cells + d), np.float64) for d in (step, -step))
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (up - down) / (2e-6 * cells)
    slope = np.where(np.isfinite(slope), slope, 0.0).reshape(-1, 2)
    pos, neg = slope[rule.side].T
    s = spread_of(x, Influence(neg, pos), by_class=x.design.fixed_classes)
    return s if s.variance >= 0 else s._replace(variance=0.0)


def _corner_values(
    rule: Sides, measure: Callable[[Array], Any], ends: tuple[float, float]
) -> tuple[float, float]:
    """Between which values does a measure lie? A count or a cost has no other end.

    Sums of counts are largest, and smallest, where each class is on one side.
    """
    if np.isfinite(ends).all():
        return ends
    tables = np.zeros((rule.number**2, rule.number, 2))
    for table, pair in zip(tables, product(range(rule.number), repeat=2), strict=True):
        table[pair, (0, 1)] = rule.cases.n_pos, rule.cases.n_neg
    values = np.asarray(measure(tables.reshape(len(tables), -1)), np.float64)
    known = values[~np.isnan(values)]
    least, most = ends
    if known.size:
        least = max(least, float(known.min()))
        most = min(most, float(known.max()))
    return (least, most) if least < most else ends
