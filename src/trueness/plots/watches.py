"""How did a watch go, as a picture?"""

from __future__ import annotations

from typing import Any

from trueness.plots._theme import COLOURS, alt, frame, styled
from trueness.watches.groups import GroupWatch
from trueness.watches.watching import Watch


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
