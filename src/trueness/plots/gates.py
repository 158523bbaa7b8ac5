"""Which requirements hold, as a picture?"""

from __future__ import annotations

from typing import Any

from trueness.gates.verdicts import Check
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
