"""What do figures of curves have in common? Names, axes, lines, bands and a legend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import altair as alt

from trueness._core.checks.errors import InputError
from trueness.counts.values import Panel, Tally
from trueness.plots._theme import GREY, frame, styled

POINTS = 400
LABEL = 420
ONE = "classifier"  # what a tally, which has no name, is called
Source = Tally | Panel | Mapping[Any, Tally]
Columns = dict[str, list[Any]]


class Axis(NamedTuple):
    """What an axis shows: its column, its title and its range."""

    name: str
    title: str
    low: float = 0.0
    high: float = 1.0


def named(x: Source) -> dict[str, Tally]:
    """Give every classifier of a tally, a panel or a mapping a name."""
    if isinstance(x, Tally):
        return {ONE: x}
    if isinstance(x, Panel):
        return {name: x[name] for name in x.names}
    if isinstance(x, Mapping) and x:
        return {str(name): t for name, t in x.items()}
    raise InputError(
        f"A figure needs a tally, a panel or a mapping from name to tally; found "
        f"{type(x).__name__}. Type trueness.tally(y_true, y_score)."
    )


def columns_of(curves: Mapping[str, Mapping[str, Any]]) -> Columns:
    """Put curves, each a mapping from column to values, under one another."""
    keys = list(next(iter(curves.values())))
    columns: Columns = {key: [] for key in ("curve", "at", *keys)}
    for name, values in curves.items():
        size = len(values[keys[0]])
        columns["curve"] += [name] * size
        columns["at"] += range(size)
        for key in keys:
            columns[key] += [float(v) for v in values[key]]
    return columns


def lines(
    curves: Mapping[str, Mapping[str, Any]],
    x: Axis,
    y: Axis,
    axes: tuple[Any, Any] | None = None,
) -> Any:
    """Draw curves; ``cut`` among their columns is the threshold, shown on touch."""
    columns = columns_of(curves)
    across, up = axes or (position(alt.X, x), position(alt.Y, y))
    shown = {"cut": "Threshold", x.name: x.title, y.name: y.title}
    return (
        alt.Chart(frame(columns))
        .mark_line(interpolate="linear", clip=True)
        .encode(
            x=across,
            y=up,
            color=colour(columns["curve"]),
            order=alt.Order("at:Q"),
            tooltip=[
                alt.Tooltip("curve:N", title="Curve"),
                *(
                    alt.Tooltip(f"{k}:Q", title=title, format=".4g")
                    for k, title in shown.items()
                    if k in columns
                ),
            ],
        )
    )


def bands(curves: Mapping[str, Mapping[str, Any]], x: Axis, y: Axis) -> Any:
    """Fill what lies between the columns ``low`` and ``high`` of each curve."""
    columns = columns_of(curves)
    return (
        alt.Chart(frame(columns))
        .mark_area(opacity=0.2, clip=True)
        .encode(
            x=position(alt.X, x),
            y=position(alt.Y, y._replace(name="low")),
            y2=alt.Y2("high"),
            color=colour(columns["curve"]),
        )
    )


def position(kind: Any, axis: Axis) -> Any:
    """Place a column on an axis with a fixed range."""
    scale = alt.Scale(domain=[axis.low, axis.high], nice=False)
    return kind(f"{axis.name}:Q", title=axis.title, scale=scale)


def colour(names: list[str]) -> Any:
    """Give each curve a colour, and a legend of lines when there are names."""
    legend = alt.Legend(
        orient="bottom",
        direction="vertical",
        labelLimit=LABEL,
        symbolType="stroke",
        symbolOpacity=1,
        symbolStrokeWidth=2,
    )
    return alt.Color(
        "curve:N",
        title=None,
        sort=list(dict.fromkeys(names)),
        legend=None if set(names) == {ONE} else legend,
    )


def straight(
    points: list[tuple[float, float]],
    x: Axis,
    y: Axis,
    axes: tuple[Any, Any] | None = None,
) -> Any:
    """Draw what chance would give, as a broken grey line."""
    columns = {x.name: [p[0] for p in points], y.name: [p[1] for p in points]}
    across, up = axes or (position(alt.X, x), position(alt.Y, y))
    return (
        alt.Chart(frame(columns))
        .mark_line(color=GREY, strokeDash=[4, 4], strokeWidth=1, clip=True)
        .encode(x=across, y=up)
    )


def finished(layers: list[Any], what: str, names: Any, title: str) -> Any:
    """Put layers over one another, with a title and a text alternative."""
    return styled(alt.layer(*layers), title, f"{what} of {', '.join(names)}")
