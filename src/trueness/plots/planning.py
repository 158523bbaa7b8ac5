"""What does a larger sample buy, as a picture?"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from trueness.plots._theme import COLOURS, frame, styled
from trueness.ranking.planning import Plan, plan_auc

_POINTS = 40


def sample_size(found: Plan, *, title: str = "") -> Any:
    """How does the half-width of the interval of an AUC, or the power, grow with n?

    Parameters
    ----------
    found
        From :func:`trueness.plan_auc`; it is the dot on the line.
    title
        Printed above.
    """
    power = np.isfinite(found.null)
    sizes, values = _sizes(found, power)
    what = "Power" if power else "Half-width of the interval"
    reached = found.power if power else found.half_width
    x = alt.X("n:Q", title="Cases", scale=alt.Scale(zero=False))
    y = alt.Y("value:Q", title=what, scale=alt.Scale(zero=False))
    line = alt.Chart(frame({"n": sizes, "value": values})).mark_line(color=COLOURS[0])
    dot = alt.Chart(frame({"n": [found.n], "value": [reached]})).mark_point(
        color=COLOURS[1], filled=True, size=110, opacity=1
    )
    words = (
        f"{what} of an AUC of {found.auc:g} against the number of cases; {found.n:,} "
        f"are enough."
    )
    tips = [alt.Tooltip("n:Q", format=","), alt.Tooltip("value:Q", format=".4g")]
    layers = [layer.encode(x=x, y=y, tooltip=tips) for layer in (line, dot)]
    return styled(alt.layer(*layers), title, words)


def _sizes(found: Plan, power: bool) -> tuple[list[int], list[float]]:
    """Plan for other goals around this one: each gives a point of the line."""
    keys = ("auc", "prevalence", "level", "method")
    about: dict[str, Any] = {k: getattr(found, k) for k in keys}
    if power:
        goals = np.linspace(max(0.1, 1 - found.level + 0.01), 0.995, _POINTS)
        plans = [plan_auc(**about, null=found.null, power=float(g)) for g in goals]
        return [p.n for p in plans], [p.power for p in plans]
    widths = found.half_width * np.geomspace(0.5, 2, _POINTS)
    plans = [plan_auc(**about, half_width=min(float(w), 0.99)) for w in widths]
    return [p.n for p in plans], [p.half_width for p in plans]
