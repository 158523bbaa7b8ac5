"""Which requirements hold, and how did a watch go, as pictures?"""

from __future__ import annotations

from typing import Any

from trueness.monitoring.groups import GroupWatch
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


def sequence(found: Watch | GroupWatch, *, title: str = "") -> Any:
    """Where was the estimate at each look, and what was ruled out?

    Parameters
    ----------
    found
        From :func:`trueness.watch`; a watch without an interval shows its evidence.
    title
        Printed above.
    """
    if isinstance(found, GroupWatch):
        parts = [_layers(w, g) for g, w in found.groups.items()]
        words = f"Watch on {found.what}: {found.sentence()}"
        return styled(alt.vconcat(*parts), title, words)
    words = f"Watch on {found.what}: {found.sentence()}"
    return styled(_layers(found), title, words)


def _layers(found: Watch, group: str = "") -> Any:
    rows = [r for r in found.history if r["low"] is not None]
    about: dict[str, Any] = {"title": group} if group else {}
    if not rows:
        rows = found.history
        columns = {k: [r[k] for r in rows] for k in ("look", "evidence")}
        y = alt.Y("evidence:Q", title="Evidence", scale=alt.Scale(type="log"))
        chart = alt.Chart(frame(columns)).mark_line(point=True, color=COLOURS[0])
        chart = chart.encode(x=alt.X("look:Q", title="Look"), y=y)
        return chart.properties(**about)
    columns = {k: [r[k] for r in rows] for k in ("look", "value", "low", "high")}
    base = alt.Chart(frame(columns)).encode(x=alt.X("look:Q", title="Look"))
    y = alt.Y("low:Q", title=found.what, scale=alt.Scale(zero=False))
    band = base.mark_area(opacity=0.25, color=COLOURS[0]).encode(y=y, y2="high:Q")
    line = base.mark_line(point=True, color=COLOURS[0]).encode(y="value:Q")
    layers = [band, line]
    if found.bound is not None:
        rule = alt.Chart(frame({"bound": [found.bound]})).mark_rule(strokeDash=[4, 3])
        layers.append(rule.encode(y="bound:Q"))
    return alt.layer(*layers).properties(**about)
