"""How does a figure become an Altair chart, how does it look, how is it saved?

Every kind of figure has one drawing. ``Panels`` puts several beside one another; scores
of two classes, and points with intervals, are drawn as curves are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any, final

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.figures import (
    Axis,
    Bars,
    Crosses,
    Curves,
    Intervals,
    Line,
    Matrix,
    image,
    span,
)
from trueness._core.files import replacing
from trueness._core.imports import lazy_import
from trueness._core.records import json_value

if TYPE_CHECKING:
    from altair import TopLevelMixin as Chart

# imported at the first chart: figures on axes of matplotlib do not need it
alt: Any = lazy_import("altair", "plots")

# Okabe and Ito: eight colours that colour-blind readers can tell apart
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00",
           "#56B4E9", "#000000", "#F0E442")  # fmt: skip
GREY = "#767676"
SIZE = 320
FORMATS = ("svg", "png", "pdf", "html", "json")
LABEL = 420
CELL = 52  # width of a cell with a number in it
ONE = "classifier"  # what a tally, which has no name, is called
FEW = 20  # more dots are small
# every verdict has its colour, and its shape for who does not see colours
VERDICTS = {
    "trust": (COLOURS[0], "circle"),
    "holds": (COLOURS[0], "circle"),
    "thin": (COLOURS[4], "triangle-up"),
    "cannot tell yet": (GREY, "triangle-up"),
    "untested": (GREY, "square"),
    "coin toss": (COLOURS[1], "cross"),
    "fails": (COLOURS[1], "cross"),
    "contradicted": (COLOURS[3], "diamond"),
}


@final
@dataclass(frozen=True)
class Panels:
    """Figures beside one another, so many in a row."""

    what: str
    parts: tuple[Curves, ...]
    titles: tuple[str, ...] = ()
    columns: int = 1
    width: int = SIZE
    heights: tuple[int, ...] = (SIZE,)  # of each, or of all


Figure = Curves | Intervals | Bars | Crosses | Matrix | Panels


def chart_of(figure: Figure | Chart, title: str, about: str = "") -> Any:
    """Draw a figure; ``about`` says what it shows where its own words do not."""
    if isinstance(figure, Bars):
        figure = spread(figure)
    draw: dict[type, Any] = {
        Curves: _curves, Intervals: _intervals, Matrix: _matrix, Panels: _panels
    }  # fmt: skip
    made = draw.get(type(figure))
    chart = figure if made is None else made(figure)  # a tree is a chart already
    if not about:
        what = str(getattr(figure, "what", ""))
        names = [n for n in getattr(figure, "names", ()) if n != what]
        joined = " with intervals: " if isinstance(figure, Intervals) else " of "
        about = what + (joined + ", ".join(names) if names else "")
    return styled(chart, title, about)


def spread(figure: Bars) -> Curves | Panels:
    """Give the shares of negatives and positives as areas, by classifier."""
    edges, names = figure.edges.repeat(2), tuple(figure.neg)
    steps = np.array(
        [[[0, *h.repeat(2), 0] for h in figure.shares(name)] for name in names]
    )
    x = span("score", "Score", edges)
    y = Axis("share", "Share of each class", 0, float(steps.max()))
    what = f"Scores of negatives and positives by {', '.join(names)}"
    parts = tuple(
        Curves(what, x, y, bands=tuple(
            Line(label, {"score": edges, "low": 0 * up, "high": up})
            for label, up in zip(("negative", "positive"), both, strict=True)
        ))
        for both in steps
    )  # fmt: skip
    return Panels(what, parts, names, heights=(110,)) if len(parts) > 1 else parts[0]


def with_ends(figure: Crosses) -> Curves:
    """Give points with an interval in both directions as dots."""
    keys = ((figure.x.name, "left", "right"), (figure.y.name, "low", "high"))
    dots = [
        Line(name, {
            key: np.array([value])
            for named, ends in zip(keys, both, strict=True)
            for key, value in zip(named, ends, strict=True)
        })
        for name, *both in zip(figure.names, figure.across, figure.up, strict=True)
    ]  # fmt: skip
    what, guides = f"{figure.what} with intervals", figure.guides
    return Curves(what, figure.x, figure.y, guides=guides, dots=tuple(dots))


def _panels(figure: Panels) -> Any:
    heights = figure.heights * len(figure.parts)
    charts = [
        _curves(part).properties(width=figure.width, height=height)
        for part, height in zip(figure.parts, heights, strict=False)
    ]
    if figure.titles:
        titled = zip(charts, figure.titles, strict=True)
        charts = [chart.properties(title=title) for chart, title in titled]
    alike = len({tuple(_domain(part)) for part in figure.parts}) == 1
    how = "shared" if alike else "independent"
    chart = alt.concat(*charts, columns=figure.columns, spacing=8)
    return chart.resolve_scale(color=how, strokeDash=how)


def _curves(figure: Curves) -> Any:
    """Draw bands, guides, rules, lines and dots, each over those before."""
    how = _told_apart(figure)
    hue = {k: v for k, v in how.items() if k == "color"}
    own = {line.name for line in figure.lines}
    layers = []
    if figure.bands:  # an area by itself is darker than one around a line
        opacity = 0.2 if {band.name for band in figure.bands} <= own else 0.35
        layers.append(_area(figure, figure.bands, opacity).encode(**hue))
    for line in figure.guides:
        draw, look = (_area, hue) if "low" in line.columns else (_lines, how)
        drawn = draw(figure, [line], guide=True)
        layers.append(drawn.encode(**look) if line.name else drawn)
    if figure.rules:
        layers += _upright(figure)
    if figure.lines:
        layers.append(_lines(figure, figure.lines).encode(**how))
    if figure.dots:
        layers += _dots(figure, how)
    return alt.layer(*layers)


def _domain(figure: Curves) -> list[str]:
    """Name what is told apart: lines, dots, areas, and what they are held against."""
    drawn = (*figure.lines, *figure.dots, *figure.bands, *figure.guides)
    return list(dict.fromkeys(line.name for line in drawn if line.name))


def _told_apart(figure: Curves) -> dict[str, Any]:
    """Tell lines, areas and named guides apart by colour and dashes, in one legend."""
    domain = _domain(figure)
    own = {line.name for line in (*figure.lines, *figure.dots, *figure.bands)}
    hues = [COLOURS[k % len(COLOURS)] for k in range(len(domain))]
    solid, others = [[1, 0], [4, 2], [2, 1], [1, 1], [1, 2, 4, 2]], [[6, 3], [2, 2]]
    dashes = [solid[k % len(solid)] for k in range(len(domain))]
    if len(own) < len(domain):  # lines that are held against others are unbroken
        rest = [n for n in domain if n not in own]
        dashes = [[1, 0] if n in own else others[rest.index(n) % 2] for n in domain]
    symbols = (
        {"symbolType": "stroke", "symbolOpacity": 1, "symbolStrokeWidth": 2}
        if figure.lines
        else {"symbolType": "circle" if figure.dots else "square"}
    )
    columns = 3 if max(map(len, domain), default=0) < 20 else 1
    legend = alt.Legend(orient="bottom", columns=columns, labelLimit=LABEL, **symbols)
    legend = None if domain == [ONE] else legend
    grey = [h if n in own else GREY for h, n in zip(hues, domain, strict=True)]
    return {
        channel: kind("curve:N", title=None, legend=legend,
                      scale=alt.Scale(domain=domain, range=values))
        for channel, kind, values in (
            ("color", alt.Color, grey), ("strokeDash", alt.StrokeDash, dashes)
        )
        if channel == "color" or figure.lines
    }  # fmt: skip


def _rows(several: Sequence[Line]) -> dict[str, list[Any]]:
    """Put lines under one another, with their names and the order of their points."""
    keys = list(several[0].columns)
    columns: dict[str, list[Any]] = {key: [] for key in ("curve", "at", *keys)}
    for line in several:
        size = len(line[keys[0]])
        columns["curve"] += [line.name] * size
        columns["at"] += range(size)
        for key in keys:
            columns[key] += [float(v) for v in line[key]]
    return columns


def _tips(figure: Curves, columns: Mapping[str, Any]) -> list[Any]:
    """Show every number of a point; ``cut`` among them is the threshold."""
    titles = {"cut": "Threshold", **{a.name: a.title for a in (figure.x, figure.y)}}
    numbers = [
        # a name such as "0.5*f1" is data, not a path into it
        alt.Tooltip(field=k.replace(".", r"\."), type="quantitative", format=".4g",
                    title=titles.get(k) or k)
        for k in columns if k not in ("curve", "at")
    ]  # fmt: skip
    return [alt.Tooltip("curve:N", title="Curve"), *numbers]


def _lines(figure: Curves, several: Sequence[Line], guide: bool = False) -> Any:
    """Draw lines; those without a name are broken, grey and thin."""
    columns = _rows(several)
    look: dict[str, Any] = {"color": GREY} if guide else {}
    if not several[0].name:
        look |= {"strokeDash": [4, 4], "strokeWidth": 1}
    line = alt.Chart(frame(columns)).mark_line(clip=True, **look)
    named = {"tooltip": _tips(figure, columns)} if several[0].name else {}
    return line.encode(**_places(figure), order=alt.Order("at:Q"), **named)


def _area(
    figure: Curves, several: Sequence[Line], opacity: float = 0.15, guide: bool = False
) -> Any:
    """Fill what lies between the columns ``low`` and ``high`` of each."""
    # parts of one name are filled apart
    parts = [
        Line(line.name, {**line.columns, "part": np.full(line["low"].size, k)})
        for k, line in enumerate(several)
    ]
    look: dict[str, Any] = {"color": GREY} if guide else {}
    area = alt.Chart(frame(_rows(parts))).mark_area(opacity=opacity, clip=True, **look)
    high = replace(figure.y, name="high")
    return area.encode(
        x=position(alt.X, figure.x),
        y=position(alt.Y, high),
        y2="low:Q",
        detail="part:N",
    )


def _upright(figure: Curves) -> list[Any]:
    """Draw upright lines with their names, one name below the other."""
    places, (low, high) = _places(figure), (figure.y.low, figure.y.high)
    tips = ["rule:N", alt.Tooltip(f"{figure.x.name}:Q", format=".4g")]
    layers = []
    for k, (name, at) in enumerate(figure.rules):
        down = low + (high - low) * (0.2 - 0.07 * (k % 3))
        columns = {"rule": [name], figure.x.name: [at], figure.y.name: [down]}
        mark = alt.Chart(frame(columns))
        rule = mark.mark_rule(color=GREY, strokeDash=[2, 2], clip=True)
        # names stand on the side with more room
        left = at < (figure.x.low + figure.x.high) / 2
        align, dx = ("left", 4) if left else ("right", -4)
        text = mark.mark_text(color="#333333", clip=True, align=align, dx=dx)
        layers += [rule.encode(x=places["x"], tooltip=tips),
                   text.encode(**places, text="rule:N")]  # fmt: skip
    return layers


def _dots(figure: Curves, how: Mapping[str, Any]) -> list[Any]:
    """Draw points, with their intervals, in the colour of the line of their name."""
    columns, colour, places = _rows(figure.dots), how["color"], _places(figure)
    base = alt.Chart(frame(columns)).encode(color=colour)
    layers = []
    if "low" in columns:
        y = position(alt.Y, replace(figure.y, name="low"))
        mark = base.mark_rule(clip=True, strokeWidth=2)
        layers.append(mark.encode(x=places["x"], y=y, y2="high:Q"))
    if "left" in columns:
        x = position(alt.X, replace(figure.x, name="left"))
        mark = base.mark_rule(clip=True)
        layers.append(mark.encode(x=x, x2="right:Q", y=places["y"]))
    few = len(columns["curve"]) < FEW
    points = base.mark_point(
        filled=True, size=80 if few else 22, opacity=1 if few else 0.6
    ).encode(**places, tooltip=_tips(figure, columns))
    names = [line.name for line in figure.dots]
    if not figure.lines and len(set(names)) > 1:
        # colours come round again: no shape does with the same one
        legend = colour.to_dict()["legend"]
        del legend["symbolType"]
        look = {"scale": alt.Scale(domain=names), "legend": alt.Legend(**legend)}
        points = points.encode(shape=alt.Shape("curve:N", title=None, **look))
    return [*layers, points]


def _places(figure: Curves) -> dict[str, Any]:
    return {"x": position(alt.X, figure.x), "y": position(alt.Y, figure.y)}


def position(kind: Callable[..., Any], axis: Axis) -> Any:
    """Place a column on an axis with a fixed range; without a title it is not shown."""
    scale = alt.Scale(domain=[axis.low, axis.high], nice=False)
    look: dict[str, Any] = {} if axis.title else {"axis": None}
    if axis.ticks:
        words = {f"{place * 1e4:.0f}": text for place, text in axis.ticks}
        look["axis"] = alt.Axis(
            values=[place for place, _ in axis.ticks],
            labelOverlap=len(words) > FEW,
            labelAngle=-30 if sum(map(len, words.values())) > 50 else 0,
            labelFlush=False,
            labelFontSize=9,
            # Vega does not know this scale: the labels are looked up
            labelExpr=f"{json.dumps(words)}[round(datum.value * 10000)]",
        )
    return kind(f"{axis.name}:Q", title=axis.title or None, scale=scale, **look)


def _intervals(figure: Intervals) -> Any:
    """Draw estimates with their intervals under one another, in colours of verdicts."""
    order, (name, value) = list(figure.names), figure.keys
    columns: dict[str, Any] = {
        name: order, value: figure.value, "low": figure.low, "high": figure.high
    }  # fmt: skip
    columns |= {**figure.more, **figure.marks}
    words = (name, "verdict")
    tips = [f"{k}:{'N' if k in words else 'Q'}" for k in columns]
    base = alt.Chart(frame(columns)).encode(
        y=alt.Y(f"{name}:N", title=None, sort=order, axis=alt.Axis(labelLimit=LABEL)),
        tooltip=tips,
    )
    hue: dict[str, Any] = {"color": alt.value(COLOURS[0])}
    shape: dict[str, Any] = {}
    if "verdict" in columns:
        seen = [v for v in VERDICTS if v in columns["verdict"]]
        hues, shapes = zip(*(VERDICTS[v] for v in seen), strict=True)
        hue["color"], shape["shape"] = (
            kind("verdict:N", title=None, scale=alt.Scale(domain=seen, range=values))
            for kind, values in ((alt.Color, list(hues)), (alt.Shape, list(shapes)))
        )

    def across(column: str) -> Any:
        scale = alt.Scale(zero=figure.zero is not None)
        return alt.X(f"{column}:Q", title=figure.label, scale=scale)

    rule = base.mark_rule(strokeWidth=2).encode(x=across("low"), x2="high:Q", **hue)
    point = base.mark_point(filled=True, size=60, opacity=1)
    zero = []
    if figure.zero is not None:
        at = alt.Chart(frame({"x": [figure.zero]}))
        zero = [at.mark_rule(color=GREY, strokeDash=[4, 4]).encode(x=across("x"))]
    others = [
        base.mark_point(shape="diamond", filled=False, size=70, color=COLOURS[1])
        .encode(x=across(mark))
        for mark in figure.marks
    ]  # fmt: skip
    dots = point.encode(x=across(value), **hue, **shape)
    chart = alt.layer(*zero, rule, *others, dots)
    return chart.properties(height=min(1200, 26 * len(order) + 20))


def _matrix(figure: Matrix) -> Any:
    """Draw a number for each pair of names."""
    at = [(i, j) for i in range(len(figure.names)) for j in range(i)]
    order = list(figure.names)
    columns = {
        "first": [order[j] for _, j in at],
        "second": [order[i] for i, _ in at],
        "value": [float(figure.value[i, j]) for i, j in at],
    }
    axis = alt.Axis(labelLimit=LABEL)
    base = alt.Chart(frame(columns)).encode(
        x=alt.X("first:N", sort=order, title=None, axis=axis),
        y=alt.Y("second:N", sort=order, title=None, axis=axis),
    )
    scale = alt.Scale(scheme="blueorange", domain=[-1, 1], reverse=True)
    cells = base.mark_rect().encode(
        color=alt.Color("value:Q", title=figure.label, scale=scale)
    )
    # white where the colour of the cell is dark
    shade = alt.value("white"), alt.value("black")
    numbers = base.mark_text().encode(
        text=alt.Text("value:Q", format=".2f"),
        color=alt.condition("abs(datum['value']) > 0.6", *shade),
    )
    wide = CELL * max(2, len(order) - 1)
    few = cells + numbers if len(order) <= 13 else cells  # more would not be read
    return few.properties(width=wide, height=0.7 * wide)


def styled(chart: Any, title: str = "", description: str = "") -> Any:
    """Give a chart the common look, its title and its text alternative."""
    if title:
        # a title is data: text only, never markup
        chart = chart.properties(title=alt.TitleParams(title, anchor="start"))
    if description:
        chart = chart.properties(description=description)
    made = (
        chart.configure_view(continuousWidth=SIZE, continuousHeight=SIZE, stroke=None)
        .configure_range(category=list(COLOURS))
        .configure_axis(gridColor="#e5e5e5", titleFontWeight="normal", labelFontSize=11)
        .configure_title(fontSize=13, fontWeight="bold")
    )
    # not by assignment, which Altair takes for a property of the figure
    kind: Any = type(made)
    object.__setattr__(made, "__class__", _shown_as_image(kind))
    return made


@cache
def _shown_as_image(kind: Any) -> Any:
    """Give the kind of chart that shows itself in a notebook as a drawing.

    Altair's own output loads its scripts from the network, which an exported notebook
    may not have; a copy, as ``chart.properties`` makes one, is of the same kind.
    """

    def bundle(self: Any, *args: Any, **options: Any) -> Any:
        svg, text, _ = _drawn(self)
        # Jupyter shows the image of a notebook that somebody else ran, not the SVG
        return {"text/html": image(svg, text), "image/svg+xml": svg, "text/plain": text}

    more = {"_repr_mimebundle_": bundle, "__module__": kind.__module__}
    return type(kind.__name__, (kind,), more)


def frame(columns: dict[str, Any]) -> Any:
    """Turn columns into what Altair takes, without a frame library."""
    names = list(columns)
    rows = zip(*(map(json_value, columns[n]) for n in names), strict=True)
    return alt.InlineData(values=[dict(zip(names, row, strict=True)) for row in rows])


def save(chart: Chart, path: str | os.PathLike[str]) -> None:
    """Write a chart to a file, all or nothing; the ending decides the format.

    Parameters
    ----------
    chart
        An Altair chart, from any function of ``trueness.plots``.
    path
        A name that ends in .svg, .png, .pdf, .html or .json.
    """
    if not (hasattr(chart, "to_json") and hasattr(chart, "save")):
        raise InputError(
            f"save needs a chart of trueness.plots; found {described(chart)}. A figure "
            f"of matplotlib saves itself: ax.figure.savefig(...)."
        )
    ending = _options.file_path(path, "save").suffix.lower().lstrip(".")
    _options.choice(ending, FORMATS, "the ending of the file name")
    with replacing(path) as temporary:
        if ending == "json":
            temporary.write_text(chart.to_json(), encoding="utf-8")
        elif ending == "html":
            temporary.write_text(_page(chart), encoding="utf-8")
        else:
            scale = 2 if ending == "png" else 1
            how: Any = {"format": ending, "scale_factor": scale}
            chart.save(str(temporary), **how)


def _page(chart: Chart) -> str:
    """Write a page without any script: the drawing is an image, so names in it stay
    text whatever they hold (Altair's own pages let ``</script>`` through).
    """
    svg, text, title = _drawn(chart)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; img-src data:\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n</head>\n<body>\n<main>\n"
        f"{image(svg, text)}\n"
        "</main>\n</body>\n</html>\n"
    )


def _drawn(chart: Chart) -> tuple[str, str, str]:
    """Give the drawing, what it shows in words, and its title."""
    drawn, spec = StringIO(), chart.to_dict()
    chart.save(drawn, format="svg")
    title = spec.get("title", "Figure")
    title = title.get("text", "Figure") if isinstance(title, dict) else title
    return drawn.getvalue(), str(spec.get("description") or title), str(title)
