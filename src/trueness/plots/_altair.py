"""How does a figure become an Altair chart?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trueness._core.figures import Axis, Bars, Crosses, Curves, Intervals, Line, Matrix
from trueness.plots._theme import (
    CELL,
    COLOURS,
    GREY,
    alt,
    frame,
    on_cell,
    stacked,
    styled,
)

LABEL = 420
ONE = "classifier"  # what a tally, which has no name, is called
Columns = dict[str, list[Any]]
Figure = Curves | Intervals | Bars | Crosses | Matrix


def chart_of(figure: Figure, title: str) -> Any:
    """Draw a figure."""
    draw: dict[type, Any] = {
        Curves: curves,
        Intervals: intervals,
        Bars: bars,
        Crosses: crosses,
        Matrix: matrix,
    }
    return draw[type(figure)](figure, title)


def curves(figure: Curves, title: str) -> Any:
    """Draw curves over their bands and guides."""
    told = [n for n in figure.names if n != figure.what]
    about = f"{figure.what} of {', '.join(told)}" if told else figure.what
    return styled(alt.layer(*layers(figure)), title, about)


def layers(figure: Curves) -> list[Any]:
    """Give bands, guides, rules, lines and dots, each over those before."""
    named = [line.name for line in figure.guides if line.name]
    how = _told_apart(figure, named) if named else {}
    coloured = {k: v for k, v in how.items() if k == "color"}
    found = [bands(figure).encode(**coloured)] if figure.bands else []
    for line in figure.guides:
        if line.name:
            found.append(lines([line], figure.x, figure.y).encode(**how))
        else:
            found.append(straight(line, figure.x, figure.y))
    if figure.rules:
        found += upright(figure)
    if figure.lines:
        found.append(lines(figure.lines, figure.x, figure.y).encode(**how))
    return [*found, dots(figure)] if figure.dots else found


def upright(figure: Curves) -> list[Any]:
    """Draw upright lines with their names, one name below the other."""
    names, places = zip(*figure.rules, strict=True)
    low, high = figure.y.low, figure.y.high
    down = [low + (high - low) * (0.2 - 0.07 * (k % 3)) for k in range(len(names))]
    columns = {"rule": names, figure.x.name: places, figure.y.name: down}
    marks, x = alt.Chart(frame(columns)), position(alt.X, figure.x)
    tips = ["rule:N", alt.Tooltip(f"{figure.x.name}:Q", format=".4g")]
    rules = marks.mark_rule(color=GREY, strokeDash=[2, 2]).encode(x=x, tooltip=tips)
    words = marks.mark_text(align="left", dx=4, color="#333333", clip=True)
    return [rules, words.encode(x=x, y=position(alt.Y, figure.y), text="rule:N")]


def dots(figure: Curves) -> Any:
    """Draw points in the colour of the line that has their name."""
    columns = columns_of(figure.dots)
    few = len(columns["curve"]) < 20
    many = alt.Chart(frame(columns)).mark_point(
        filled=True, size=80 if few else 22, opacity=1 if few else 0.6
    )
    symbols = STROKE if figure.lines else {"symbolType": "circle"}
    return many.encode(
        x=position(alt.X, figure.x),
        y=position(alt.Y, figure.y),
        color=colour([*figure.names], symbols),
        tooltip=["curve:N", *(f"{k}:Q" for k in columns if k not in ("curve", "at"))],
    )


def _told_apart(figure: Curves, named: Sequence[str]) -> dict[str, Any]:
    """Tell lines and named guides apart by colour and dashes, in one legend."""
    names, others = [line.name for line in figure.lines], list(dict.fromkeys(named))
    domain = [*names, *others]
    legend: Any = alt.Legend(orient="bottom", columns=3, **STROKE)
    palette = [COLOURS[k % len(COLOURS)] for k in range(len(names))]
    colours = alt.Scale(domain=domain, range=[*palette, *[GREY] * len(others)])
    broken = [[6, 3], [2, 2]][: len(others)]
    dashes = alt.Scale(domain=domain, range=[[1, 0]] * len(names) + broken)
    return {
        "color": alt.Color("curve:N", title=None, scale=colours, legend=legend),
        "strokeDash": alt.StrokeDash(
            "curve:N", title=None, scale=dashes, legend=legend
        ),
    }


STROKE: dict[str, Any] = {
    "symbolType": "stroke", "symbolOpacity": 1, "symbolStrokeWidth": 2
}  # fmt: skip


def columns_of(several: Sequence[Line]) -> Columns:
    """Put lines under one another, with their names and the order of their points."""
    keys = list(several[0].columns)
    columns: Columns = {key: [] for key in ("curve", "at", *keys)}
    for line in several:
        size = len(line[keys[0]])
        columns["curve"] += [line.name] * size
        columns["at"] += range(size)
        for key in keys:
            columns[key] += [float(v) for v in line[key]]
    return columns


def lines(several: Sequence[Line], x: Axis, y: Axis) -> Any:
    """Draw lines; ``cut`` among their columns is the threshold, shown on touch."""
    columns = columns_of(several)
    order = [line.name for line in several]
    shown = {"cut": "Threshold", x.name: x.title, y.name: y.title}
    tips = [
        alt.Tooltip(f"{k}:Q", title=title, format=".4g")
        for k, title in shown.items()
        if k in columns
    ]
    line = alt.Chart(frame(columns)).mark_line(interpolate="linear", clip=True)
    return line.encode(
        x=position(alt.X, x),
        y=position(alt.Y, y),
        color=colour(columns["curve"]),
        strokeDash=alt.StrokeDash("curve:N", sort=order, legend=None),
        order=alt.Order("at:Q"),
        tooltip=[alt.Tooltip("curve:N", title="Curve"), *tips],
    )


def bands(figure: Curves) -> Any:
    """Fill what lies between the columns ``low`` and ``high`` of each band."""
    columns = columns_of(figure.bands)
    low = Axis("low", figure.y.title, figure.y.low, figure.y.high)
    area = alt.Chart(frame(columns)).mark_area(opacity=0.2, clip=True)
    return area.encode(
        x=position(alt.X, figure.x),
        y=position(alt.Y, low),
        y2=alt.Y2("high"),
        color=colour(columns["curve"]),
    )


def straight(line: Line, x: Axis, y: Axis) -> Any:
    """Draw what a curve is held against, as a broken grey line."""
    columns = {x.name: line[x.name].tolist(), y.name: line[y.name].tolist()}
    return (
        alt.Chart(frame(columns))
        .mark_line(color=GREY, strokeDash=[4, 4], strokeWidth=1, clip=True)
        .encode(x=position(alt.X, x), y=position(alt.Y, y))
    )


def position(kind: Any, axis: Axis) -> Any:
    """Place a column on an axis with a fixed range."""
    scale = alt.Scale(domain=[axis.low, axis.high], nice=False)
    given: dict[str, Any] = {"axis": _marks(axis)} if axis.ticks else {}
    return kind(f"{axis.name}:Q", title=axis.title, scale=scale, **given)


def _marks(axis: Axis) -> Any:
    return alt.Axis(
        values=[place for place, _ in axis.ticks],
        labelOverlap=False,
        labelFlush=False,
        labelFontSize=9,
        # Vega does not know this scale: the labels are looked up
        labelExpr=" : ".join(
            f"abs(datum.value - {place:.6f}) < 1e-4 ? '{text}'"
            for place, text in axis.ticks
        )
        + " : ''",
    )


def colour(names: list[str], symbols: Mapping[str, Any] = STROKE) -> Any:
    """Give each curve a colour, and a legend of lines when there are names."""
    legend = alt.Legend(
        orient="bottom", direction="vertical", labelLimit=LABEL, **symbols
    )
    return alt.Color(
        "curve:N",
        title=None,
        sort=list(dict.fromkeys(names)),
        legend=None if set(names) == {ONE} else legend,
    )


def intervals(figure: Intervals, title: str) -> Any:
    """Draw estimates with their intervals under one another."""
    order, (name, value) = list(figure.names), figure.keys
    columns: dict[str, Any] = {
        name: order, value: figure.value, "low": figure.low, "high": figure.high
    }  # fmt: skip
    columns |= {**figure.more, **figure.marks}
    base = alt.Chart(frame(columns)).encode(
        y=alt.Y(f"{name}:N", title=None, sort=order, axis=alt.Axis(labelLimit=LABEL)),
        tooltip=[f"{name}:N", *(f"{k}:Q" for k in columns if k != name)],
    )
    scale = alt.Scale(zero=figure.zero is not None)
    rule = base.mark_rule(color=COLOURS[0], strokeWidth=2).encode(
        x=alt.X("low:Q", title=figure.label, scale=scale), x2=alt.X2("high")
    )
    point = base.mark_point(filled=True, size=60, color=COLOURS[0], opacity=1).encode(
        x=alt.X(f"{value}:Q", title=figure.label, scale=scale)
    )
    zero = []
    if figure.zero is not None:
        at = alt.Chart(frame({"x": [figure.zero]}))
        mark = at.mark_rule(color=GREY, strokeDash=[4, 4])
        zero = [mark.encode(x=alt.X("x:Q", title=figure.label))]
    others = [
        base.mark_point(shape="diamond", filled=False, size=70, color=COLOURS[1])
        .encode(x=alt.X(f"{mark}:Q", title=figure.label, scale=scale))
        for mark in figure.marks
    ]  # fmt: skip
    chart = alt.layer(*zero, rule, *others, point)
    chart = chart.properties(height=26 * len(order) + 20)
    about = f"{figure.what} with intervals: {', '.join(order)}"
    return styled(chart, title, about)


def bars(figure: Bars, title: str) -> Any:
    """Draw the shares of negatives and positives, a panel per classifier."""
    chart = spread(figure)
    if len(figure.neg) > 1:
        order = list(figure.neg)
        chart = chart.properties(height=110).facet(
            row=alt.Row("name:N", title=None, sort=order)
        )
    about = f"Scores of negatives and positives by {', '.join(figure.neg)}"
    return styled(chart, title, about)


def spread(figure: Bars) -> Any:
    """Draw the shares of negatives and positives, without a look of their own."""
    labels, edges = ("negative", "positive"), figure.edges.repeat(2)
    steps = stacked(
        {
            "name": name,
            "label": label,
            "score": edges,
            "share": [0.0, *heights.repeat(2), 0.0],
            "at": range(edges.size),
        }
        for name in figure.neg
        for label, heights in zip(labels, figure.shares(name), strict=True)
    )
    scale = alt.Scale(domain=list(labels), range=[COLOURS[5], COLOURS[1]])
    across = alt.Scale(nice=False, zero=False)
    area = alt.Chart(steps).mark_area(opacity=0.35, line=True, interpolate="linear")
    return area.encode(
        x=alt.X("score:Q", title="Score", scale=across),
        y=alt.Y("share:Q", title="Share of each class", stack=None),
        color=alt.Color("label:N", title=None, scale=scale),
        order=alt.Order("at:Q"),
    )


def crosses(figure: Crosses, title: str) -> Any:
    """Draw points with an interval in both directions."""
    order = list(figure.names)
    columns: dict[str, Any] = {figure.key: order}
    x, y = figure.x.name, figure.y.name
    keys = ((x, "left", "right"), (y, "low", "high"))
    for named, ends in zip(keys, (figure.across, figure.up), strict=True):
        columns |= dict(zip(named, ends.T, strict=True))
    legend: Any = alt.Legend(labelLimit=LABEL)
    base = alt.Chart(frame(columns)).encode(
        color=alt.Color(
            f"{figure.key}:N",
            title=None,
            scale=alt.Scale(domain=order, range=[*COLOURS[:-1]]),
            legend=legend,
        )
    )
    right, up = position(alt.X, figure.x), position(alt.Y, figure.y)
    left, low = (
        position(kind, replace(axis, name=name))
        for kind, axis, name in ((alt.X, figure.x, "left"), (alt.Y, figure.y, "low"))
    )
    rules = (
        base.mark_rule(clip=True).encode(x=left, x2="right", y=up),
        base.mark_rule(clip=True).encode(x=right, y=low, y2="high"),
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=right,
        y=up,
        # colours come round again: no shape does with the same one
        shape=alt.Shape(
            f"{figure.key}:N", title=None, scale=alt.Scale(domain=order), legend=legend
        ),
        tooltip=[f"{figure.key}:N", f"{x}:Q", f"{y}:Q"],
    )
    guides = [straight(line, figure.x, figure.y) for line in figure.guides]
    about = f"{figure.what} with intervals: {', '.join(order)}"
    return styled(alt.layer(*guides, *rules, points), title, about)


def matrix(figure: Matrix, title: str) -> Any:
    """Draw a number for each pair of names."""
    at = [(i, j) for i in range(len(figure.names)) for j in range(i)]
    order = list(figure.names)
    rows = frame(
        {
            "first": [order[j] for _, j in at],
            "second": [order[i] for i, _ in at],
            "value": [float(figure.value[i, j]) for i, j in at],
        }
    )
    axis = alt.Axis(labelLimit=LABEL)
    base = alt.Chart(rows).encode(
        x=alt.X("first:N", sort=order, title=None, axis=axis),
        y=alt.Y("second:N", sort=order, title=None, axis=axis),
    )
    cells = base.mark_rect().encode(
        color=alt.Color(
            "value:Q",
            title=figure.label,
            scale=alt.Scale(scheme="blueorange", domain=[-1, 1], reverse=True),
        )
    )
    numbers = base.mark_text().encode(
        text=alt.Text("value:Q", format=".2f"), color=on_cell("value", 0.6)
    )
    wide = CELL * max(2, len(order) - 1)
    few = cells + numbers if len(order) <= 13 else cells  # more would not be read
    chart = few.properties(width=wide, height=0.7 * wide)
    return styled(chart, title, f"{figure.what}: {', '.join(order)}")
