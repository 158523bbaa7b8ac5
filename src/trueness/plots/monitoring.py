"""Which requirements hold, and how did a watch go, as pictures?"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness._core.checks.errors import NotEnoughCases
from trueness._core.figures import Axis, Curves, Intervals, Line, guide, span
from trueness.monitoring.verdicts import Check
from trueness.monitoring.watching import Watch
from trueness.plots._altair import Panels
from trueness.plots._draw import Captioned, Shown, picture


@picture
def verdict_lines(found: Check) -> Shown:
    """Where does each interval lie relative to its bound?

    Parameters
    ----------
    found
        From :func:`trueness.check`; what was counted, and has no interval, is left out.
    """
    shown = [v for v in found.ordered() if v.low < v.high] or found.ordered()
    value, low, high = (
        np.array([getattr(v, k) - v.bound for v in shown])
        for k in ("value", "low", "high")
    )
    figure = Intervals(
        f"Intervals of {len(shown)} requirements, seen from their bounds",
        "Distance from the bound",
        tuple(v.name for v in shown),
        value,
        low,
        high,
        zero=0.0,
        keys=("requirement", "value"),
        more={"verdict": np.array([v.verdict for v in shown])},
    )
    return figure


@picture
def sequence(found: Watch) -> Shown:
    """What did each batch show, and since when is there an alarm?

    Parameters
    ----------
    found
        From :func:`trueness.watch`; each group has a panel of its own.
    """
    about = f"Watch on {found.what}: {found.sentence()}"
    seen = {g: w for g, w in (found.groups or {"": found}).items() if _rows(w)}
    if not seen:
        raise NotEnoughCases(
            "A figure of a watch needs a batch with cases; found none."
        )
    parts = tuple(map(_batches, seen.values()))
    figure = Panels(about, parts, tuple(seen)) if found.groups else parts[0]
    return Captioned(figure, about=about)


def _rows(found: Watch) -> list[dict[str, Any]]:
    return [r for r in found.history if r["batch"] is not None]


def _batches(found: Watch) -> Curves:
    """Show each batch, the limits of all so far, the bound, the alarm, the change."""
    rows = _rows(found)
    names = {r["name"] or f"look {r['look']}": float(r["look"]) for r in rows}
    look, batch, low, high = (
        np.array([r[k] for r in rows], dtype=np.float64)
        for k in ("look", "batch", "low", "high")
    )
    bound = [] if found.bound is None else [found.bound]
    ticks = tuple((at, name) for name, at in names.items())
    x = Axis("look", "Batch", look.min() - 0.5, look.max() + 0.5, ticks)
    y = span("batch", found.what, batch, low, high, bound)
    guides = [guide(x, y, [x.low, x.high], bound * 2, "bound")] if bound else []
    dots, rules = [Line("each batch", {"look": look, "batch": batch})], []
    if found.change is not None and found.since in names:
        at = names[found.since]
        rules.append((f"alarm: {found.since}", at))
        here = {"look": np.array([at]), "batch": batch[look == at]}
        dots.append(Line("alarm", here))
        if (first := names.get(found.change.first)) is not None:
            last = names.get(found.change.last, first)
            sides = {"low": np.full(2, y.low), "high": np.full(2, y.high)}
            began = {"look": np.array([first - 0.5, last + 0.5]), **sides}
            guides.insert(0, Line("the change began here", began))
    line = Line("each batch", {"look": look, "batch": batch})
    band = Line("limits of all so far", {"look": look, "low": low, "high": high})
    marks = (tuple(guides), tuple(dots), tuple(rules))
    return Curves(found.what, x, y, (line,), (band,), *marks)
