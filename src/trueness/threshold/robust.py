r"""Where to cut when the prevalence of use is known only to lie in a range?

Two answers that are right whatever the prevalence turns out to be: the cut that is best
in the worst case, and the one that is never far from the best (smallest regret).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.records import Record
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.confusion import Confusion
from trueness.threshold.cuts import (
    Cuts,
    Interval,
    all_cuts,
    best_cuts,
    interval_of,
    make_cuts,
    met_by,
    most_balanced,
    threshold_of,
    values_of,
)
from trueness.threshold.prevalence import STEPS, Share, is_linear, prevalences

_PATH = 21  # prevalences at which the best cut is shown


@final
@dataclass(frozen=True, repr=False)
class RobustCut(Record):
    """How does a range of prevalences affect the choice of a threshold?

    Attributes
    ----------
    prevalence : (float, float)
        The range.
    worst : float
        The prevalence at which the chosen threshold is worst.
    regret : float
        By how much, at most, the objective at the chosen threshold falls short of the
        best for the true prevalence.
    regret_threshold, regret_interval
        The threshold whose largest regret is smallest.
    smallest_regret : float
        Its largest regret.
    path_prevalence, path_threshold, path_value : array
        How the best threshold for one known prevalence moves across the range.
    notes : tuple of str
        How exact this is.
    """

    prevalence: Interval
    worst: float
    regret: float
    regret_threshold: float
    regret_interval: Interval
    smallest_regret: float
    path_prevalence: Floats
    path_threshold: Floats
    path_value: Floats
    notes: tuple[str, ...] = ()


def cuts_in_use(
    score: Floats, seen: Confusion, share: Share | None, metrics: Iterable[Metric]
) -> tuple[Cuts, ...]:
    """Put counts at every prevalence that has to be looked at."""
    if share is None:
        return (make_cuts(score, seen, None),)
    at = prevalences(share, metrics)
    return tuple(make_cuts(score, seen, float(p)) for p in at)


def best_of(
    cuts: Sequence[Cuts], objective: Metric, constraints: Sequence[Constraint]
) -> Ints:
    """Which cuts are best, in the worst case, with all constraints kept?"""
    return best_cuts(cuts, objective, met_by(cuts, constraints).all(axis=0))


def robust_cut(
    t: Tally,
    share: Share,
    shown: Metric,
    objective: Metric,
    constraints: Sequence[Constraint],
    chosen: int,
) -> RobustCut:
    r"""Say what the range of prevalences means for a chosen cut.

    .. math:: R_k = \max_\pi \bigl[\max_j f_j(\pi) - f_k(\pi)\bigr]
    """
    first = all_cuts(t, share.value, "best_threshold")
    # the regret of a linear metric is convex in the prevalence: the ends are enough
    exact = is_linear(objective)
    grid = np.linspace(share.low, share.high, 2 if exact else STEPS)
    cuts = [make_cuts(first.score, first.seen, float(p)) for p in grid]
    allowed = met_by(cuts, constraints).all(axis=0)
    values = np.array([values_of(c, objective) for c in cuts])
    top = np.array([np.nanmax(v[allowed]) for v in values])
    # what the best cut of each prevalence would have given more; none is infinite
    more = np.zeros(values.shape)
    np.subtract(top[:, None], values, out=more, where=values != top[:, None])
    regret = np.where(allowed, more.max(axis=0), np.nan)
    least = np.nanmin(regret)
    k = most_balanced(cuts[0], np.flatnonzero(regret <= least + 1e-12 * abs(least)))
    path = np.linspace(share.low, share.high, _PATH)
    best, value = _path(first, path, objective, constraints)
    sign = 1 if objective is shown else -1
    return RobustCut(
        prevalence=(share.low, share.high),
        worst=float(grid[int(np.argmin(values[:, chosen]))]),
        regret=float(regret[chosen]),
        regret_threshold=threshold_of(first.score, k),
        regret_interval=interval_of(first.score, k),
        smallest_regret=float(regret[k]),
        path_prevalence=path,
        path_threshold=best,
        path_value=sign * value,
        notes=(
            "Regrets are exact: they are largest at an end of the range."
            if exact
            else f"Regrets were looked at for {STEPS} prevalences of the range.",
        ),
    )


def _path(
    first: Cuts, path: Floats, objective: Metric, constraints: Sequence[Constraint]
) -> tuple[Floats, Floats]:
    """How does the best cut move with a known prevalence? NaN where none is allowed."""
    threshold, value = np.full(path.size, np.nan), np.full(path.size, np.nan)
    for i, p in enumerate(path):
        cuts = make_cuts(first.score, first.seen, float(p))
        best = best_of([cuts], objective, constraints)
        if best.size:
            at = most_balanced(cuts, best)
            threshold[i] = threshold_of(first.score, at)
            value[i] = values_of(cuts, objective)[at]
    return threshold, value
