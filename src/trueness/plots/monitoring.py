"""Which requirements hold, and how did a watch go, as pictures?"""

from __future__ import annotations

import json
from typing import Any

from trueness.monitoring.verdicts import Check
from trueness.monitoring.watching import Watch
from trueness.plots._theme import COLOURS, alt, frame, styled

_HUES = {"holds": COLOURS[0], "fails": COLOURS[1], "cannot tell yet": "#767676"}


def verdict_lines(found: Check, *, title: str = "") -> Any:
    """Where does each interval lie relative to its bound?

    Parameters
    ----------
    found
        From :func:`trueness.check`; what was counted, and has no interval, is left out.
    title
        Printed above.
    """
    drawn = [v for v in found.ordered() if v.low < v.high] or found.ordered()
    columns = {
        "requirement": [v.name for v in drawn],
        "value": [v.value - v.bound for v in drawn],
        "low": [v.low - v.bound for v in drawn],
        "high": [v.high - v.bound for v in drawn],
        "verdict": [v.verdict for v in drawn],
    }
    base = alt.Chart(frame(columns)).encode(
        y=alt.Y("requirement:N", title=None, sort=None, axis=alt.Axis(labelLimit=420)),
        color=alt.Color(
            "verdict:N",
            title=None,
            scale=alt.Scale(domain=list(_HUES), range=list(_HUES.values())),
        ),
        tooltip=["requirement:N", "verdict:N"],
    )
    x = alt.X("low:Q", title="Distance from the bound")
    lines = base.mark_rule(strokeWidth=3).encode(x=x, x2="high:Q")
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x="value:Q")
    bound = alt.Chart(frame({"x": [0.0]})).mark_rule(strokeDash=[4, 3]).encode(x="x:Q")
    words = f"Intervals of {len(drawn)} requirements, seen from their bounds."
    return styled(alt.layer(bound, lines, dots), title, words)


def sequence(found: Watch, *, title: str = "") -> Any:
    """What did each batch show, and since when is there an alarm?

    Parameters
    ----------
    found
        From :func:`trueness.watch`; each group has a panel of its own.
    title
        Printed above.
    """
    panels = [_batches(w, g) for g, w in found.groups.items()] or [_batches(found)]
    drawn = alt.vconcat(*panels) if found.groups else panels[0]
    return styled(drawn, title, f"Watch on {found.what}: {found.sentence()}")


def _batches(found: Watch, group: str = "") -> Any:
    """Draw the mean of each batch, the limits of all so far, the bound, the alarm."""
    rows = [r for r in found.history if r["batch"] is not None]
    names = {r["look"]: r["name"] or f"look {r['look']}" for r in rows}
    columns = {k: [r[k] for r in rows] for k in ("look", "batch", "low", "high")}
    columns["name"] = list(names.values())
    axis = alt.Axis(tickMinStep=1, format="d", labelExpr=_labels(names), labelAngle=-30)
    base = alt.Chart(frame(columns)).encode(x=alt.X("look:Q", title=None, axis=axis))
    y = alt.Y("low:Q", title=found.what, scale=alt.Scale(zero=False))
    layers = [
        base.mark_area(opacity=0.2, color=COLOURS[0]).encode(y=y, y2="high:Q"),
        base.mark_line(point=True, strokeWidth=1, color=COLOURS[0]).encode(
            y="batch:Q", tooltip=["name:N", "batch:Q"]
        ),
    ]
    if found.bound is not None:
        rule = alt.Chart(frame({"bound": [found.bound]})).mark_rule(strokeDash=[4, 3])
        layers.append(rule.encode(y="bound:Q"))
    layers += _alarm(found, {name: look for look, name in names.items()})
    return alt.layer(*layers).properties(**({"title": group} if group else {}))


def _alarm(found: Watch, looks: dict[str, int]) -> list[Any]:
    """Mark the batch of the alarm by its name, and where the change began."""
    if found.change is None or found.since not in looks:
        return []
    at = {"look": [looks[found.since]], "alarm": [f"alarm: {found.since}"]}
    base = alt.Chart(frame(at)).encode(x="look:Q")
    text = base.mark_text(align="right", baseline="bottom", color=COLOURS[1])
    drawn = [
        base.mark_rule(color=COLOURS[1], strokeWidth=2),
        text.encode(text="alarm:N", y=alt.value(-3)),
    ]
    ends = [looks.get(name) for name in (found.change.first, found.change.last)]
    if None not in ends:
        span = frame({"first": [ends[0]], "last": [ends[1]]})
        area = alt.Chart(span).mark_rect(opacity=0.15, color=COLOURS[1])
        drawn.append(area.encode(x="first:Q", x2="last:Q"))
    return drawn


def _labels(names: dict[int, str]) -> str:
    """Write an expression of Vega that gives the name of a look."""
    return f"{json.dumps({str(look): n for look, n in names.items()})}[datum.value]"
