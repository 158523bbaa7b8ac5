"""Which classifiers does a figure show, and who draws it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness.counts.values import Panel, Tally
from trueness.plots._altair import ONE, Figure, chart_of

Source = Tally | Panel | Mapping[Any, Tally]


def named(x: Source) -> dict[str, Tally]:
    """Give every classifier of a tally, a panel or a mapping a name."""
    if isinstance(x, Tally):
        return {ONE: x}
    if isinstance(x, Panel):
        return {name: x[name] for name in x.names}
    if isinstance(x, Mapping) and x and all(isinstance(t, Tally) for t in x.values()):
        return {str(name): t for name, t in x.items()}
    if isinstance(x, Mapping) and not x:
        raise NotEnoughCases(
            "A figure needs a classifier or a group with positive and negative cases; "
            "found none."
        )
    raise InputError(
        f"A figure needs a tally, a panel or a mapping from name to tally; found "
        f"{type(x).__name__}. Type trueness.tally(y_true, y_score)."
    )


def drawn(figure: Figure, title: str, ax: Any = None) -> Any:
    """Draw a figure on axes of matplotlib, or without them as an Altair chart."""
    if ax is None:
        return chart_of(figure, title)
    from trueness.plots._matplotlib import on_axes  # which needs the library

    return on_axes(ax, figure, title)
