"""How does a row of estimates with their intervals become a figure?"""

from __future__ import annotations

from collections.abc import Sequence

from trueness._core.records import Estimate
from trueness.report import svg
from trueness.report._parts import Figure, grid, in_column

MOST_SHOWN = 20


def figure(
    title: str,
    names: Sequence[str],
    values: Sequence[Estimate],
    label: str,
    *,
    of: str = "classifier",
    note: str = "",
    short: Sequence[str] = (),
    zero: bool = False,
    coloured: bool = False,
) -> Figure:
    """Draw estimates under one another, their numbers behind them as a table.

    ``short`` are names for the drawing when ``names`` are long. Of many the first ones
    are drawn, which the note says; the table has all of them.
    """
    drawn = slice(0, MOST_SHOWN)
    if len(names) > MOST_SHOWN:
        note = f"{note} The first {MOST_SHOWN} of {len(names)}; the table has all."
    text = f"{label} of each {of} with its interval. {note}".strip()
    made = svg.intervals(
        (short or names)[drawn],
        values[drawn],
        in_column(values[drawn]),
        label,
        text,
        zero=zero,
        coloured=coloured,
    )
    rows = [(n, v.value, v.low, v.high) for n, v in zip(names, values, strict=True)]
    return Figure(
        title, made, note.strip(), grid(title, (of, label, "from", "to"), rows)
    )
