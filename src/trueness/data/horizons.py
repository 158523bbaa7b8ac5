"""Labels at a time horizon, where some cases were not followed up so long.

Who had the event by the horizon is positive, who was free of it then is negative. A
case that was censored before has no label; the others stand for it by their weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import plain
from trueness._core.records import Record
from trueness.data.cleaning import has_text, read_label_column


@final
@dataclass(frozen=True, repr=False)
class HorizonLabels(Record):
    """Labels and weights of cases at a time horizon.

    Attributes
    ----------
    label : array
        1 with the event by the horizon, 0 free of it then, NaN where censored before.
    weight : array
        Inverse probability of not being censored; 0 without a label.
    horizon : float
        The time horizon.
    n_events, n_event_free, n_censored : int
        Cases with the event, free of it, and censored before the horizon.
    """

    label: Floats
    weight: Floats
    horizon: float
    n_events: int
    n_event_free: int
    n_censored: int
    notes: tuple[str, ...] = field(default=(), kw_only=True)


def at_horizon(time: ArrayLike, event: ArrayLike, horizon: float) -> HorizonLabels:
    r"""Labels at a time horizon with inverse probability of censoring weights (IPCW).

    Who had the event within five years, if some cases were censored earlier?

    .. math:: w_i = \frac{1}{G(T_i-)} \text{ with the event by } h, \qquad
              w_i = \frac{1}{G(h)} \text{ free of it}, \qquad
              w_i = 0 \text{ if censored before}

    G is the Kaplan-Meier estimate of not being censored. Pass ``label`` and ``weight``
    to any analysis, such as ``auc(found.label, score, weight=found.weight)``.

    Parameters
    ----------
    time
        Time of follow-up of each case, to the event or to censoring.
    event
        1 where the time is that of the event, 0 where the case was censored.
    horizon
        The time of interest, in the same unit.

    Notes
    -----
    Censoring must not depend on the score or on the time of the event. At equal times
    an event comes before censoring. Weighted AUC and Brier score are those of R's
    riskRegression; intervals take the weights as fixed. Competing events are not
    supported.

    References
    ----------
    Graf, Schmoor, Sauerbrei, Schumacher (1999),
    doi:10.1002/(SICI)1097-0258(19990915/30)18:17/18<2529::AID-SIM274>3.0.CO;2-5;
    Blanche, Dartigues, Jacqmin-Gadda (2013), doi:10.1002/sim.5958

    Examples
    --------
    >>> found = at_horizon(time=[1, 2, 3, 6], event=[1, 0, 1, 0], horizon=5)
    >>> found.label, found.weight  # the second stands behind the last two
    (array([ 1., nan,  1.,  0.]), array([1. , 0. , 1.5, 1.5]))
    """
    times = _read_times(time)
    had_event = _read_events(event, times.size)
    limit = _options.not_negative(horizon, "horizon")

    event_by_horizon = had_event & (times <= limit)
    free_at_horizon = times > limit
    has_label = event_by_horizon | free_at_horizon
    if not has_label.any():
        raise NotEnoughCases(
            f"All {times.size:,} cases were censored by the horizon {limit:g}."
        )

    uncensored = _KaplanMeierOfCensoring(times, had_event)
    weight = np.zeros(times.size)
    weight[event_by_horizon] = 1 / uncensored.before(times[event_by_horizon])

    if free_at_horizon.any():
        weight[free_at_horizon] = 1 / uncensored.through(limit)

    return HorizonLabels(
        label=np.where(has_label, event_by_horizon, np.nan),
        weight=weight,
        horizon=limit,
        n_events=int(event_by_horizon.sum()),
        n_event_free=int(free_at_horizon.sum()),
        n_censored=int((~has_label).sum()),
    )


def _read_times(time: ArrayLike) -> Floats:
    """Return times of follow-up, or stop where one is missing or negative."""
    times = np.asarray(time, dtype=np.float64).ravel()
    if not times.size:
        raise NotEnoughCases("at_horizon needs cases; found none.")

    unusable = np.flatnonzero(~(np.isfinite(times) & (times >= 0)))
    if unusable.size:
        raise InputError(
            f"time must be finite and not negative; found {times[unusable[0]]:g} at "
            f"position {unusable[0]} ({unusable.size:,} such cases).",
            option="time",
        )

    return times


def _read_events(event: ArrayLike, n_cases: int) -> Array:
    """Return whether each time is that of the event."""
    events: Array = np.asarray(event).ravel()
    if has_text(events):
        # words such as dead and alive are read as labels are
        events = np.asarray(read_label_column(events, None, "event").code)
    if events.size != n_cases:
        raise InputError(
            f"event needs one entry per time; found {events.size:,} for {n_cases:,}.",
            option="event",
        )

    unusable = np.flatnonzero(~np.isin(events, (0, 1)))
    if unusable.size:
        raise InputError(
            f"event must be 0 (censored) or 1; found {plain(events[unusable[0]])!r} at "
            f"position {unusable[0]}. Competing events are not supported.",
            option="event",
        )

    return np.asarray(events, dtype=bool)


class _KaplanMeierOfCensoring:
    """Probability of not being censored, by time (Kaplan and Meier 1958)."""

    def __init__(self, times: Floats, had_event: Array) -> None:
        self.censoring_times, n_censored = np.unique(
            times[~had_event], return_counts=True
        )
        ordered = np.sort(times)
        followed = times.size - np.searchsorted(ordered, self.censoring_times)
        # events come before censoring at the same time, and are then out of risk
        event_times = np.sort(times[had_event])
        events_then = np.searchsorted(
            event_times, self.censoring_times, side="right"
        ) - np.searchsorted(event_times, self.censoring_times)
        at_risk = followed - events_then
        steps = np.cumprod(1 - n_censored / at_risk)
        self._probability = np.concatenate([[1.0], steps])

    def before(self, times: Floats) -> Floats:
        """Return the probability of not being censored before each time."""
        steps_before = np.searchsorted(self.censoring_times, times)
        return np.asarray(self._probability[steps_before])

    def through(self, time: float) -> float:
        """Return the probability of not being censored up to a time."""
        steps = np.searchsorted(self.censoring_times, time, side="right")
        return float(self._probability[steps])
