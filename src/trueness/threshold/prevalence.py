r"""How common is the condition where the classifier will be used, and how sure is that?

A prevalence of use is a number, which the design of the cases says, or ``prevalences``:
a range within which it lies, or an estimate with an interval (from a survey, or
:func:`trueness.latent_class`). Rates of one class do not change with it; precision,
accuracy, costs and benefits do. For a range two answers are right whatever the
prevalence turns out to be: the cut that is best in the worst case, and the one that is
never far from the best (smallest regret).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.numbers import level_text
from trueness._core.records import Estimate, Record
from trueness.counts.values import Panel, Tally
from trueness.inference.sample import needs_prevalence
from trueness.metrics.algebra import Constraint, Metric, depends_on_prevalence
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

STEPS = 33  # prevalences looked at where the worst need not be at an end
_PATH = 21  # prevalences at which the best cut is shown


class Share(NamedTuple):
    """A share of positives: known (all three alike), a range, or an estimate.

    ``level`` is the confidence of ``low`` to ``high`` for an estimate; None otherwise.
    """

    low: float
    value: float
    high: float
    level: float | None = None

    @property
    def is_range(self) -> bool:
        """Is it a range of which nothing more is known?"""
        return self.level is None and self.low < self.high

    @property
    def ends(self) -> tuple[Share, ...]:
        """Give the cases to distinguish: both ends of a range, or the share itself."""
        if not self.is_range:
            return (self,)
        return Share(*[self.low] * 3), Share(*[self.high] * 3)

    def moved(self, z: Any, level: float, least: float = 1e-9) -> Any:
        """Which share lies z standard errors away from an estimate at this level?

        Normal on the scale of log odds, with its own spread to either side, so that the
        ends of the interval are those of the estimate. An interval may reach 0 or 1,
        where the log odds end: they are taken as this small ``least``.
        """
        ends = np.clip([self.low, self.value, self.high], least, 1 - least)
        low, mid, high = np.log(ends / (1 - ends))
        side = np.where(np.asarray(z) < 0, mid - low, high - mid)
        reach = NormalDist().inv_cdf((1 + level) / 2)
        return 1 / (1 + np.exp(-np.clip(mid + z / reach * side, -700, 700)))

    def words(self) -> str:
        """Say which share it is."""
        if self.level is None:
            return f"{self.low:g} to {self.high:g}" if self.is_range else f"{self[0]:g}"
        ends = f"{self.low:.4g} to {self.high:.4g}"
        return f"{self.value:.4g} ({level_text(self.level)} {ends})"


PrevalenceLike = float | tuple[float, float] | Estimate | Share | None
Prevalences = tuple[float, float] | Estimate | None


def share_in_use(t: Tally | Panel, given: Prevalences = None) -> Share | None:
    """Which share of positives is meant: a range, an estimate, or the design's?"""
    known = t.design.prevalence
    if given is None or known is None:
        return read_prevalence(known if given is None else given)
    raise InputError(
        f"Type prevalence= or prevalences=, not both; found {known:g} and "
        f"{described(given)}."
    )


def stop_unknown_share(
    t: Tally | Panel, share: Share | None, metrics: Iterable[Metric], what: str
) -> None:
    """Refuse what rests on the share of positives when the design fixed it."""
    for m in metrics:
        if share is None and depends_on_prevalence(m):
            needs_prevalence(t, f"{m.name} in {what}")


def read_prevalence(given: Any) -> Share | None:
    """Read a prevalence of use: a number, two numbers, or an estimate."""
    if given is None or isinstance(given, Share):
        return given
    if isinstance(given, Estimate):
        value = _options.fraction(given.value, "prevalence")
        if not 0 <= given.low <= value <= given.high <= 1:
            raise InputError(
                f"prevalence must be an estimate with an interval between 0 and 1 "
                f"around its value; found {given!r}."
            )
        return Share(given.low, value, given.high, given.level)
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        low, high = _options.share_range(given, "prevalence")
        if not 0 < low < high < 1:
            raise InputError(
                f"prevalence must be a range between 0 and 1, without its ends; found "
                f"({low:g}, {high:g}). Type prevalences=(0.01, 0.05)."
            )
        return Share(low, (low + high) / 2, high)
    return Share(*[_options.fraction(given, "prevalence")] * 3)


def prevalences(share: Share, metrics: Iterable[Metric]) -> Floats:
    """At which prevalences must a range be looked at, to find the worst?

    A quotient of counts is a quotient of linear functions of the prevalence at every
    cut, which only rises or only falls: its worst is at an end, exactly. Other metrics
    are looked at on a grid.
    """
    if not share.is_range:
        return np.array([share.value])
    if all(moves_one_way(m) for m in metrics):
        return np.array([share.low, share.high])
    return np.linspace(share.low, share.high, STEPS)


def moves_one_way(m: Metric) -> bool:
    """Does the metric, at any cut, only rise or only fall with the prevalence?"""
    return m.ratio is not None or is_linear(m) or not depends_on_prevalence(m)


def is_linear(m: Metric) -> bool:
    """Is the metric, at any cut, a linear function of the prevalence?

    Then the regret of a cut (the best value less its own: a maximum of linear
    functions, less one) is convex, and largest at an end of the range.
    """
    return all(_is_linear(part) for _, part in m.parts)


def _is_linear(m: Metric) -> bool:
    # a sum of counts, or its share of all cases, whose number does not change
    fixed = m.ratio is not None and m.ratio.under in (None, (1, 1, 1, 1))
    return fixed or not depends_on_prevalence(m)


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
