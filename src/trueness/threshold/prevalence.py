r"""How common is the condition where the classifier will be used, and how sure is that?

A prevalence of use is a number, which the design of the cases says, or ``prevalences``:
a range within which it lies, or an estimate with an interval. For a range the cut that
is best in the worst case is right whatever the prevalence turns out to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.numbers import level_text
from trueness._core.records import Estimate
from trueness.counts.values import Panel, Tally
from trueness.inference.sample import needs_prevalence
from trueness.metrics.algebra import Metric, depends_on_prevalence

STEPS = 33  # prevalences looked at where the worst need not be at an end


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
    def ends(self) -> tuple[float, ...]:
        """Give the shares to distinguish: both ends of a range, or the share itself."""
        return (self.low, self.high) if self.is_range else (self.value,)

    def moved(self, z: Any, level: float, least: float = 1e-9) -> Any:
        """Which share lies z standard errors away from an estimate at this level?

        Normal on the scale of log odds, with its own spread to either side. An interval
        may reach 0 or 1, where the log odds end: they are taken as ``least``.
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

    def linear(part: Metric) -> bool:
        # a sum of counts, or its share of all cases, whose number does not change
        fixed = part.ratio is not None and part.ratio.under in (None, (1, 1, 1, 1))
        return fixed or not depends_on_prevalence(part)

    return m.ratio is not None or all(linear(part) for _, part in m.parts)
