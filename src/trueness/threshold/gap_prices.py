"""What does it cost to let groups differ less?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.records import Record
from trueness.counts.answers import of_counts
from trueness.counts.values import Tally
from trueness.metrics.algebra import Metric
from trueness.threshold.group_cuts import group_thresholds
from trueness.threshold.group_limits import read_limits, several
from trueness.threshold.operating_point import objective_text, read_objective


@final
@dataclass(frozen=True, repr=False)
class GapPrice(Record):
    """What does each limit on the difference between groups cost?

    Attributes
    ----------
    limit : str
        The limited difference.
    at : array (n,)
        The bounds that were tried.
    value, bound : array (n,)
        The best objective found under each bound, and the proved limit of how good it
        could be.
    gap : array (n,)
        The difference that the best thresholds then have.
    objective : str
        What was maximised or minimised.
    """

    limit: str
    at: Floats
    value: Floats
    bound: Floats
    gap: Floats
    objective: str


@of_counts
def gap_price(
    data: Mapping[Any, Tally],
    limit: str = "recall_gap",
    *,
    at: ArrayLike = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    maximize: str | Metric = "accuracy",
    minimize: str | Metric | None = None,
    subject_to: Any = (),
    time_limit: float = 60.0,
) -> GapPrice:
    """How much of the objective does it cost to let groups differ less?

    Parameters
    ----------
    data, maximize, minimize, subject_to, time_limit
        As in :func:`group_thresholds`.
    limit
        What is limited: ``"recall_gap"``, ``"precision_gap"``,
        ``"flagged_rate_ratio"``; any metric with ``_gap`` or ``_ratio``.
    at
        The bounds to try. Where no thresholds meet one, value, bound and gap are NaN.

    Examples
    --------
    >>> a = Tally([3, 2, 1], pos=[5, 4, 1], neg=[1, 3, 6])
    >>> b = Tally([3, 2, 1], pos=[2, 6, 2], neg=[0, 2, 8])
    >>> gap_price({"a": a, "b": b}, at=[0.1, 0.5]).value
    array([0.775, 0.775])
    """
    places = _options.grid(at, "at")
    if not places.size:
        raise InputError("gap_price needs bounds to try; found none. Type at=[0.1].")
    sign = ">=" if str(limit).endswith("_ratio") else "<="
    asked = read_limits(f"{limit} {sign} 1")[0]
    if not asked or asked[0].kind not in ("gap", "ratio"):
        raise InputError(
            f"limit must be a metric with _gap or _ratio; found {limit!r}. Type "
            f'limit="recall_gap".'
        )
    options: dict[str, Any] = {"minimize": minimize, "time_limit": time_limit}
    found = np.full((len(places), 3), np.nan)
    for row, d in zip(found, places, strict=True):
        limits = [*several(subject_to), f"{limit} {sign} {float(d)!r}"]
        try:
            g = group_thresholds(data, maximize, limits, **options)
        except Infeasible:
            continue
        row[:] = g.value, g.bound, g.gaps[asked[0].name].value
    value, bound, gap = found.T
    text = objective_text(*read_objective(maximize, minimize))
    return GapPrice(limit, places, value, bound, gap, text)
