"""Which numbers would calibrated scores show? Labels are drawn from the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness.calibration.fixed_shares import (
    FixedShare,
)
from trueness.calibration.inversion import (
    Draws,
)
from trueness.calibration.monotone import equal_mass
from trueness.counts.values import Tally

# draws look at this many rows at most: more are pooled to as many equal cells
MOST_ROWS = 1000


def probability_rows(t: Tally, what: str) -> tuple[Floats, Array, Array]:
    """Give score, positives and negatives of labelled rows, in ascending order."""
    _cases.some_labels(t, what)
    instead = "Calibrate first: t.map(trueness.calibrate(other_cases))."
    t = t.labelled()
    _columns.unit_scores(t.score, what, instead)
    if t.binned:
        _columns.unit_scores(t.high, what, instead)
    return t.score[::-1], t.pos[::-1], t.neg[::-1]


def pooled(
    score: Floats, pos: Array, neg: Array, most: int = MOST_ROWS
) -> tuple[Floats, Array, Array]:
    """Pool neighbouring rows to at most ``most`` cells with their mean score."""
    mean, (pos, neg) = pooled_columns(score, [pos, neg], most)
    return mean, pos, neg


def pooled_columns(
    score: Floats, columns: list[Array], most: int = MOST_ROWS
) -> tuple[Floats, list[Array]]:
    """Pool rows; the first two columns say how many cases they hold."""
    if score.size <= most:
        return score, columns
    cases = columns[0] + columns[1]
    start = equal_mass(cases, most)
    total = np.add.reduceat(cases, start)
    mean = np.add.reduceat(score * cases, start) / total
    return mean, [np.add.reduceat(c, start) for c in columns]


def by_chance(
    score: Floats,
    pos: Array,
    neg: Array,
    statistic: Callable[[Floats, Array, Array], tuple[float, ...]],
    level: float,
    replicates: int,
    rng: Any,
    draws: Draws | FixedShare | None = None,
) -> Floats:
    """Which upper quantiles have these numbers when the scores are calibrated?"""
    drawn = chance_draws(score, pos, neg, statistic, replicates, rng, draws)
    # between a number and infinity, where a score of 0 was wrong, there is no middle
    at = (1 + level) / 2
    if not np.isfinite(drawn).all():
        return np.asarray(np.quantile(drawn, at, axis=0, method="higher"))
    return np.asarray(np.quantile(drawn, at, axis=0))


def chance_draws(
    score: Floats,
    pos: Array,
    neg: Array,
    statistic: Callable[[Floats, Array, Array], tuple[float, ...]],
    replicates: int,
    rng: Any,
    draws: Draws | FixedShare | None = None,
) -> list[tuple[float, ...]]:
    """Which numbers do labels show that are drawn from the scores?"""
    score, pos, neg = pooled(score, pos, neg)
    found = []
    for up, down in labels_drawn(pos + neg, score, replicates, rng, draws):
        at = np.flatnonzero(up + down)
        found.append(statistic(score[at], up[at], down[at]))
    return found


def labels_drawn(
    cases: Array,
    chance: Floats,
    replicates: int,
    rng: Any,
    draws: Draws | FixedShare | None = None,
) -> Iterator[tuple[Array, Array]]:
    """Draw labels with these chances: of a cohort at the scores that it has."""
    if isinstance(draws, FixedShare):
        yield from draws.samples(cases, [chance] * replicates, rng)
        return
    number, each = (cases, 1) if draws is None else draws
    for _ in range(replicates):
        up = rng.binomial(number, chance)
        yield up * each, (number - up) * each
