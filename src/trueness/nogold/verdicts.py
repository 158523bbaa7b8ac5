"""What did the judges say, in numbers that an estimate can use?

A panel of verdicts, 0/1 or graded, of one judge or many, with counts of labelled and
unlabelled cases: read and checked once (``read_verdicts``), centred for a regression
(``read_votes``), and without judges that say the same as another (``distinct``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness.counts.values import Panel, Tally
from trueness.nogold.copies import originals

Rng = np.random.Generator
# why these analyses take no weights
INDEPENDENT_CASES = (
    "Its likelihood is that of independent cases. Of weighted cases that are all "
    "labelled, at_threshold gives shares."
)


class Votes(NamedTuple):
    """Verdicts with a missing one at the mean, and counts of cases."""

    x: Floats  # (m, K), centred
    total: Floats
    pos: Floats
    neg: Floats
    yes: Array  # (m,), where more judges say yes than no, or grades are above average


def read_verdicts(data: Any) -> Panel:
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


def read_votes(panel: Panel, like: Panel | None = None) -> Votes:
    """Centre the verdicts at their mean over all cases; grades are standardised.

    Judges that agree in every case are one. ``like`` is a panel whose means and spreads
    are taken in place of its own.
    """
    pos, neg, unknown = (
        np.asarray(c, np.float64) for c in (panel.pos, panel.neg, panel.unknown)
    )
    total = pos + neg + unknown
    whole = panel if like is None else like
    mean, scale = centre(whole)
    value = np.where(np.isnan(panel.rows), mean, panel.rows)
    kept = distinct(whole)
    x = (value - mean) / scale
    lean = np.where(graded(whole), x, value - 0.5)[:, kept].mean(axis=1)
    return Votes(x[:, kept], total, pos, neg, lean > 0)


def centre(panel: Panel) -> tuple[Floats, Floats]:
    """Give mean and unit of each judge."""
    total = np.asarray(panel.pos + panel.neg + panel.unknown, np.float64)
    seen = ~np.isnan(panel.rows)
    weight = total[:, None] * seen
    value = np.where(seen, panel.rows, 0.0)
    # grades of 1e300 have no square: the largest is the unit for a moment
    top = np.maximum(np.abs(value).max(axis=0, initial=0.0), 1.0)
    value, share = value / top, weight / weight.sum(axis=0)
    mean = (share * value).sum(axis=0)
    square = (share * (value - mean) ** 2).sum(axis=0)
    # a grade of standard deviation 1/2 weighs as a verdict that is split evenly
    unit = 2 * np.sqrt(np.maximum(square, 1e-300))
    return mean * top, np.where(graded(panel), unit * top, 1.0)


def graded(panel: Panel) -> Array:
    """Which judges give grades, not 0 and 1?"""
    rows = panel.rows
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


def distinct(panel: Panel) -> list[int]:
    """Which judges remain when those that agree in every case count once?"""
    return sorted(set(originals(panel.rows)))


def never_labelled(panel: Panel) -> float:
    """Which share of the cases has verdicts of which no case was labelled?"""
    if graded(panel).any():
        return 0.0
    known = panel.pos + panel.neg
    return float(panel.unknown[known == 0].sum() / panel.n)


def random_p_value(v: Votes) -> float:
    """Could labels at random have fallen on cases with these verdicts?

    The mean verdict of each judge, and how far a case is from the average, are compared
    between labelled and all cases (Hotelling's test, with the covariance that a sample
    without replacement has).
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
