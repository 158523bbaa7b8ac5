"""What did the judges say, in numbers that an estimate can use?

Verdicts are read and checked once, centred for a regression, and counted for as much as
their clusters let them be worth; judges get accuracies, and a worth of the panel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.special import chdtrc

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate, Record
from trueness.counts.rows import Clusters
from trueness.counts.values import Panel, Tally
from trueness.inference.limits import around, student
from trueness.inference.spread import spread
from trueness.nogold._checks import only_value
from trueness.nogold.posterior import estimate

Rng = np.random.Generator
DRAWS = 4000
REPLICATES = 1000  # of the labelled cases, for the number of effective judges


class Verdicts(NamedTuple):
    """Patterns of verdicts, with counts; of clusters, as many as they are worth."""

    names: tuple[str, ...]
    rows: Floats  # (m, K)
    pos: Floats
    neg: Floats
    unknown: Floats

    @property
    def total(self) -> Floats:
        """How many cases, labelled or not?"""
        return self.pos + self.neg + self.unknown


def verdicts_of(panel: Panel, effect: float = 1.0) -> Verdicts:
    """Take the counts of a panel, over a design effect."""
    counts = (
        np.asarray(c, float) / effect for c in (panel.pos, panel.neg, panel.unknown)
    )
    return Verdicts(panel.names, panel.rows, *counts)


class Votes(NamedTuple):
    """Verdicts with a missing one at the mean, and counts of cases."""

    x: Floats  # (m, K), centred
    total: Floats
    pos: Floats
    neg: Floats
    yes: Array  # (m,), where more judges say yes than no, or grades are above average


def read_verdicts(data: object) -> Panel:
    """Pass on a panel of verdicts; a tally is one judge."""
    if isinstance(data, Tally):
        rows = data.score[:, None]
        data = Panel(["judge"], rows, neg=data.neg, pos=data.pos, unknown=data.unknown)
    if not isinstance(data, Panel):
        raise InputError(
            f"prevalence needs a Panel of verdicts, or the Tally of one judge; found "
            f"{type(data).__name__}. Type trueness.panel(labels, "
            f'{{"judge": verdicts}}).'
        )
    if data.n == 0:
        raise NotEnoughCases("prevalence needs cases; the panel is empty.")
    for name, column in zip(data.names, data.rows.T, strict=True):
        if np.isnan(column).all():
            raise NotEnoughCases(f"Judge {name!r} has given no verdict at all.")
    return data


def read_votes(x: Verdicts) -> Votes:
    """Centre verdicts at their mean, standardise grades, count copied judges once."""
    mean, scale = _centre(x)
    value = np.where(np.isnan(x.rows), mean, x.rows)
    kept = distinct(x.rows)
    away = (value - mean) / scale
    lean = np.where(graded(x.rows), away, value - 0.5)[:, kept].mean(axis=1)
    return Votes(away[:, kept], x.total, x.pos, x.neg, lean > 0)


def _centre(x: Verdicts) -> tuple[Floats, Floats]:
    """Give mean and unit of each judge."""
    seen = ~np.isnan(x.rows)
    weight = x.total[:, None] * seen
    value = np.where(seen, x.rows, 0.0)
    # grades of 1e300 have no square: the largest is the unit for a moment
    top = np.maximum(np.abs(value).max(axis=0, initial=0.0), 1.0)
    value, share = value / top, weight / weight.sum(axis=0)
    mean = (share * value).sum(axis=0)
    square = (share * (value - mean) ** 2).sum(axis=0)
    # a grade of standard deviation 1/2 weighs as a verdict that is split evenly
    unit = 2 * np.sqrt(np.maximum(square, 1e-300))
    return mean * top, np.where(graded(x.rows), unit * top, 1.0)


def graded(rows: Floats) -> Array:
    """Which judges give grades, not 0 and 1?"""
    return np.asarray((~np.isnan(rows) & (rows != 0) & (rows != 1)).any(axis=0))


def shares(total: Floats, draws: int, rng: Rng) -> Floats:
    """Draw the share of each pattern in the population (the Bayesian bootstrap)."""
    w = rng.standard_gamma(total, (draws, total.size))
    return np.asarray(w / w.sum(axis=1, keepdims=True))


def raw_shares(panel: Panel) -> dict[str, float]:
    """Give the share of yes of each judge, or its mean grade."""
    total = (panel.pos + panel.neg + panel.unknown).astype(float)
    out = {}
    for name, column in zip(panel.names, panel.rows.T, strict=True):
        seen = ~np.isnan(column)
        out[name] = float(total[seen] @ column[seen] / total[seen].sum())
    return out


def distinct(rows: Floats) -> list[int]:
    """Which judges remain when those that agree in every case count once?

    >>> distinct(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    [0, 2]
    """
    out: list[int] = []
    for k, column in enumerate(rows.T):
        if not any(np.array_equal(column, rows[:, j], equal_nan=True) for j in out):
            out.append(k)
    return out


def never_labelled(panel: Panel) -> float:
    """Which share of the cases has verdicts of which no case was labelled?"""
    if graded(panel.rows).any():
        return 0.0
    known = panel.pos + panel.neg
    return float(panel.unknown[known == 0].sum() / panel.n)


def random_p_value(v: Votes) -> float:
    """Could labels at random have fallen on cases with these verdicts?

    Hotelling's test of the mean verdict of each judge, and of how far a case is from
    the average, with the covariance of a sample without replacement.
    """
    known, cases = v.pos + v.neg, v.total.sum()
    z = np.column_stack([v.x, v.x.mean(axis=1) ** 2])
    z = z - v.total @ z / cases
    mean, left = known @ z / known.sum(), 1 - known.sum() / cases
    if left <= 0:
        return 1.0
    covariance = (z.T * v.total) @ z / cases * left / known.sum()
    rank = int(np.linalg.matrix_rank(covariance, hermitian=True))
    square = float(mean @ np.linalg.pinv(covariance, hermitian=True) @ mean)
    return float(chdtrc(rank, square)) if rank else 1.0


def design_effect(panel: Panel, u: Floats | None, level: float) -> float:
    """How many cases of a cluster are worth one that is alone (Kish 1965)?

    u is what a case adds to the rate, (m, 3) of one without a label, a positive and a
    negative; without labels None, and the effect is the mean over all patterns.
    """
    cells = panel.clusters
    if cells is None or cells.single:
        return 1.0
    if cells.number < 2:
        raise NotEnoughCases(
            "All cases are in one cluster, so nothing shows how clusters differ. Is "
            "cluster= the right column?"
        )
    if u is None:
        return _rao_scott(panel, cells)
    found = spread(panel, u[:, 2], u[:, 1], u[:, 0])
    plain = sum(
        float(np.asarray(c, float) @ u[:, k] ** 2)
        for k, c in enumerate((panel.unknown, panel.pos, panel.neg))
    )
    few = student(found.df, level) / student(np.inf, level)
    return max(1.0, found.variance / max(plain, 1e-300) * few**2)


def _rao_scott(panel: Panel, c: Clusters) -> float:
    """Average the design effects of the shares of all patterns."""
    size, total = c.per_cluster(c.counts[2]), panel.unknown / panel.n_unknown
    table = np.zeros((c.number, len(panel)))
    np.add.at(table, (c.code, c.row), c.counts[2])
    away = table - size[:, None] * total
    variance = c.number / (c.number - 1) * (away**2).sum(axis=0) / panel.n_unknown**2
    each = variance / (total * (1 - total) / panel.n_unknown).clip(1e-300)
    weight = 1 - total  # Rao and Scott (1984): the generalised effects average so
    return max(1.0, float(each @ weight / weight.sum()))


@final
@dataclass(frozen=True, repr=False)
class Judge(Record):
    """How good is one judge? NaN for a judge who gives grades.

    Attributes
    ----------
    sensitivity, specificity : Estimate
        Share of positives that get a yes, and of negatives that get a no.
    """

    sensitivity: Estimate
    specificity: Estimate


def nothing(level: float, why: str) -> Estimate:
    """Give the estimate of what cannot be known, with the reason."""
    return around(np.nan, np.nan, np.nan, level, why)


def by_shares(x: Verdicts, pos: Floats, neg: Floats, level: float) -> dict[str, Judge]:
    """Give each judge's accuracies from the shares of patterns in both classes."""

    def share(of: Floats, right: Floats, wrong: Floats) -> Floats:
        good, bad = of @ right, of @ wrong
        return np.asarray(good / np.maximum(good + bad, 1e-300))

    return _each(x, level, lambda y, n: (share(pos, y, n), share(neg, n, y)))


def by_counts(x: Verdicts, level: float, rng: Rng) -> dict[str, Judge]:
    """Give each judge's accuracies from labelled cases alone (prior of Jeffreys)."""

    def share(of: Array, right: Floats, wrong: Floats) -> Floats:
        return rng.beta(of @ right + 0.5, of @ wrong + 0.5, DRAWS)

    return _each(x, level, lambda y, n: (share(x.pos, y, n), share(x.neg, n, y)))


def _each(
    x: Verdicts, level: float, draws: Callable[[Floats, Floats], tuple[Floats, Floats]]
) -> dict[str, Judge]:
    """Summarise draws of both accuracies, given who said yes and who said no."""
    out = {}
    for k, (name, column) in enumerate(zip(x.names, x.rows.T, strict=True)):
        said = (column == 1).astype(float), (column == 0).astype(float)
        out[name] = (
            Judge(nothing(level, "graded"), nothing(level, "graded"))
            if graded(x.rows)[k]
            else Judge(*(estimate(d, level) for d in draws(*said)))
        )
    return out


def effective_judges(
    x: Verdicts,
    level: float,
    rng: Rng,
    both: tuple[Floats, Floats] | None = None,
) -> Estimate:
    """How many independent judges is the panel worth, by the labelled cases?

    ``both`` are shares of the patterns in positives and negatives, (draws, patterns),
    where labelled cases were chosen by their verdicts: judges agree more, or less, in
    these than in all.
    """
    # who always says the same errs independently of all others, but is worth nothing
    kept = [k for k in distinct(x.rows) if np.isnan(only_value(x.rows[:, k]))]
    k = len(kept)
    if k <= 1:
        return around(k, k, k, level, "one judge" if k else "constant verdicts")
    rows = x.rows[:, kept]
    known = x.pos + x.neg > 0
    seen = ~np.isnan(rows).any(axis=1) & (known | (both is not None))
    if x.pos[seen].sum() < 2 and x.neg[seen].sum() < 2:
        return nothing(level, "too few labels")
    if both is None:
        size = REPLICATES, x.pos.size
        both = rng.standard_gamma(x.pos, size), rng.standard_gamma(x.neg, size)
    pos, neg = (share[:REPLICATES, seen] for share in both)
    r = _mean_correlation(rows[seen], pos, neg)
    return estimate(k / (1 + (k - 1) * np.clip(r, 0, 1)), level)


def _mean_correlation(rows: Floats, pos: Floats, neg: Floats) -> Floats:
    """Average the correlation of errors over pairs, within classes, for each draw."""
    k = rows.shape[1]
    rows = rows - rows.mean(axis=0)
    products = (rows[:, :, None] * rows[:, None]).reshape(len(rows), k * k)
    covariance = np.zeros((len(pos), k, k))
    for w in (pos, neg):
        total = np.maximum(w.sum(axis=1), 1e-300)
        mean = w @ rows / total[:, None]
        covariance += (w @ products).reshape(-1, k, k)
        # within the class: products less those of the means
        covariance -= total[:, None, None] * mean[:, :, None] * mean[:, None]
    sd = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 1e-300))
    r = covariance / sd[:, :, None] / sd[:, None]
    i, j = np.triu_indices(k, 1)
    return np.asarray(r[:, i, j].mean(axis=1))
