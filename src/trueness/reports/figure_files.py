"""A figure in a file of its own: SVG, or a page of HTML around it.

Both are in the light colours, and show the numbers of the point under the pointer by
style rules alone: no script runs, and every name is escaped text. The page adds the
numbers as a table for readers who cannot see the figure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from textwrap import wrap
from typing import NamedTuple, final

import numpy as np
from markupsafe import Markup, escape

from trueness._core.arrays import Ints
from trueness._core.figures import (
    Bars,
    Crosses,
    Curves,
    Diagram,
    FigureData,
    Intervals,
    Line,
    Matrix,
    Node,
    Panels,
    TitledFigure,
    few_points,
    score_bands,
)
from trueness._core.records import shown
from trueness.findings.records import Figure, Table, table
from trueness.reports.svg import (
    colour_number,
    curve_table,
    dot_marks,
    draw,
    guide_marks,
)
from trueness.reports.svg_marks import (
    LEFT,
    RIGHT,
    TEXT_LINE_HEIGHT,
    TOP,
    WIDTH,
    Axes,
    area,
    axes_of,
    class_of_colour,
    clip_to_plot,
    drawing,
    element,
    line,
    picture,
    segment,
    text,
    upright_line,
)

PIXELS_PER_UNIT = 2  # pixels for a unit of the drawing
MAX_READOUTS_OF_LINE = 80  # points of a line whose numbers are shown
TITLE_LINE_LETTERS = 38
LEGEND_ROW_HEIGHT = 18
READOUT_HEIGHT = 26  # two lines with the numbers of the point under the pointer


@final
@dataclass(frozen=True)
class _DrawnPart:
    """One drawing of a file, with its height, its legend and its numbers."""

    svg: Markup
    height: float
    legend: tuple[tuple[str, str], ...] = ()  # class of the sample, and its name
    numbers: Table | None = None
    width: float = WIDTH


def figure_svg(figure: TitledFigure, *, with_readouts: bool = True) -> str:
    """Return a figure as the text of an SVG file.

    An image has no pointer over it, and needs no room for read-outs.
    """
    return str(_svg_and_parts(figure, READOUT_HEIGHT if with_readouts else 0)[0])


def figure_html(figure: TitledFigure) -> str:
    """Return a figure as a page, with its numbers as tables."""
    svg, drawings = _svg_and_parts(figure)
    title = escape(figure.title or figure.description or "Figure")
    tables = "".join(
        _table_html(drawing_of_part.numbers)
        for drawing_of_part in drawings
        if drawing_of_part.numbers
    )

    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_PAGE_STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n{svg}\n<details><summary>Numbers as a table</summary>\n{tables}"
        "</details>\n</main>\n</body>\n</html>\n"
    )


_PAGE_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem;color:#16181b}"
    "svg{max-width:100%;height:auto}table{border-collapse:collapse;margin:.5rem 0}"
    "th,td{padding:.15rem .7rem;border-bottom:1px solid #d5dae0;text-align:right}"
    "th:first-child{text-align:left}caption{text-align:left;font-weight:600}"
)
_READOUT_STYLE = (
    ".point .mark,.point .readout{visibility:hidden}"
    ".point:hover .mark,.point:hover .readout{visibility:visible}"
    ".catch{fill:transparent}.small{r:2px;stroke-width:.5}"
    ".heading{font:600 14px system-ui,sans-serif;fill:#16181b}"
    ".readout{font:10px system-ui,sans-serif;fill:#16181b;paint-order:stroke;"
    "stroke:#fff;stroke-width:3px}"
)


@cache
def light_style() -> str:
    """Return the rules of figures in the light colours, without any variable."""
    folder = resources.files("trueness.reports")
    light = (folder / "style.css").read_text(encoding="utf-8").split("}")[0]
    colours = dict(re.findall(r"(--[\w-]+):\s*([^;]+);", light))
    rules = (folder / "figure.css").read_text(encoding="utf-8").partition("*/")[2]
    return re.sub(r"var\((--[\w-]+)\)", lambda name: colours[name[1]], rules)


def _svg_and_parts(
    figure: TitledFigure, readout_height: int = READOUT_HEIGHT
) -> tuple[Markup, list[_DrawnPart]]:
    """Put title, drawings and legends under one another."""
    parts = _parts_of(figure.data, figure)
    width = max(part.width for part in parts)
    marks: list[Markup] = []
    y = 8.0

    for title_line in wrap(figure.title, int(TITLE_LINE_LETTERS * width / WIDTH)):
        marks.append(text("heading", RIGHT, y + 12, title_line))
        y += 19

    y += readout_height
    for part in parts:
        nested_svg = part.svg.replace(
            "<svg ",
            Markup(
                '<svg overflow="visible" x="0" y="{}" height="{}" width="{}" '
            ).format(f"{y:.0f}", f"{part.height:.0f}", f"{part.width:.0f}"),
            1,
        )
        marks.append(nested_svg)
        y += part.height

        if part.legend:
            marks += _legend_below(part.legend, y)
            y += LEGEND_ROW_HEIGHT * len(part.legend) + 8

    style = element("style", None, Markup(light_style() + _READOUT_STYLE))  # noqa: S704
    paper = element("rect", None, width=width, height=y, fill="#ffffff")
    svg = element(
        "svg",
        None,
        Markup("\n").join([style, paper, *marks]),
        xmlns="http://www.w3.org/2000/svg",
        width=PIXELS_PER_UNIT * width,
        height=PIXELS_PER_UNIT * y,
        viewBox=f"0 0 {width:.0f} {y:.0f}",
        role="img",
        aria_label=figure.description,
    )

    return svg, parts


def _legend_below(entries: Sequence[tuple[str, str]], top: float) -> list[Markup]:
    """Draw a row for each entry: a piece of its mark, and its name."""
    marks = []
    for row, (kind, name) in enumerate(entries):
        y = top + LEGEND_ROW_HEIGHT * row
        if "dot" in kind:
            marks.append(element("circle", kind, cx=LEFT + 15, cy=y + 8, r=4.5))
        elif "area" in kind or "expected" in kind:
            box = {"x": LEFT, "y": y + 2, "width": 30, "height": 11}
            marks.append(element("rect", kind, **box))
        else:
            marks.append(segment(kind, LEFT, y + 8, LEFT + 30, y + 8))

        marks.append(text("name", LEFT + 38, y + 12, shown(name, 60)))

    return marks


def _parts_of(data: FigureData, figure: TitledFigure) -> list[_DrawnPart]:
    """Return the drawings of a figure, from top to bottom."""
    if isinstance(data, Bars):
        data = score_bands(data)

    if isinstance(data, Panels):
        titles = data.titles or ("",) * len(data.parts)
        return [
            _curves_part(part, title or part.what)
            for part, title in zip(data.parts, titles, strict=True)
        ]

    if isinstance(data, Curves):
        return [_curves_part(data, figure.title or data.what)]
    if isinstance(data, Diagram):
        return [_diagram_part(data)]
    return [_finding_part(data, figure)]


def _finding_part(
    data: Intervals | Crosses | Matrix, figure: TitledFigure
) -> _DrawnPart:
    """Draw intervals, crosses and matrices as the report does, with their numbers."""
    names = tuple(data.names)
    order = names if isinstance(data, Crosses) else ()
    finding_figure = Figure(data, figure.title or data.what, order=order)
    svg, numbers = draw(finding_figure, most_intervals=len(names))

    # marks with a number are named beside the figure
    legend: list[tuple[str, str]] = []
    for place, name in enumerate(names):
        if isinstance(data, Crosses):
            legend.append((f"dot {class_of_colour(place)}", f"{place + 1}  {name}"))
        elif isinstance(data, Matrix):
            legend.append(("gone", f"{place + 1}  {name}"))

    return _DrawnPart(svg, _height_of(svg), tuple(legend), numbers)


def _height_of(svg: Markup) -> float:
    view_box = str(svg).partition('viewBox="')[2].partition('"')[0]
    return float(view_box.split()[3])


# curves


def _curves_part(data: Curves, title: str) -> _DrawnPart:
    """Draw curves, bands, points and rules, with a legend below."""
    axes = axes_of(data.x, data.y)
    order = _coloured_names(data)
    marks = [
        *_band_marks(axes, data, order),
        *guide_marks(axes, data),
        *_rule_lines(axes, data),
        *_line_marks(axes, data, order),
    ]

    marks_above = [
        *dot_marks(axes, data, order),
        *_rule_names(axes, data),
        *_readouts(axes, data, order),
    ]
    description = f"{title}: {data.y.title} against {data.x.title}"
    svg = drawing(axes, [clip_to_plot(axes, marks), *marks_above], description)
    legend = _legend_entries(data, order)

    return _DrawnPart(svg, axes.height, legend, curve_table(data, title))


def _coloured_names(data: Curves) -> tuple[str, ...]:
    curves = (*data.lines, *data.dots, *data.bands)
    return tuple(dict.fromkeys(curve.name for curve in curves))


def _band_marks(axes: Axes, data: Curves, order: Sequence[str]) -> list[Markup]:
    """Draw bands; one without a line is darker than one around a line."""
    line_names = {curve.name for curve in data.lines}
    marks = []
    for band in data.bands:
        around_a_line = band.name in line_names
        opacity = "band" if around_a_line else "shade"
        kind = f"{opacity} {class_of_colour(colour_number(order, band.name))}"
        marks.append(area(axes, band[data.x.name], band["low"], band["high"], kind))

    return marks


def _line_marks(axes: Axes, data: Curves, order: Sequence[str]) -> list[Markup]:
    """Draw every curve in the colour of its name."""
    return [
        line(
            axes,
            curve[data.x.name],
            curve[data.y.name],
            f"curve chosen {class_of_colour(colour_number(order, curve.name))}",
        )
        for curve in data.lines
    ]


def _rule_lines(axes: Axes, data: Curves) -> list[Markup]:
    return [upright_line(axes, position, "line chance") for _, position in data.rules]


def _rule_names(axes: Axes, data: Curves) -> list[Markup]:
    """Write the name of each upright line beside it, one below the other."""
    marks = []
    for number, (name, position) in enumerate(data.rules):
        on_the_right = data.name_on_the_right(number)
        x = float(axes.px(position)) + (4 if on_the_right else -4)
        kind = "name" if on_the_right else "name end"
        marks.append(text(kind, x, TOP + 12 + TEXT_LINE_HEIGHT * (number % 4), name))

    return marks


def _legend_entries(data: Curves, order: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return what a reader has to tell apart; a single curve needs no legend."""
    kind_of_name: dict[str, str] = {}
    for guide in data.guides:
        if guide.name:
            kind = "expected" if "low" in guide.columns else "line chance"
            kind_of_name.setdefault(guide.name, kind)

    line_names = {curve.name for curve in data.lines}

    for drawn in (*data.lines, *data.bands, *data.dots):
        hue = class_of_colour(colour_number(order, drawn.name))
        is_area = "low" in drawn.columns and data.y.name not in drawn.columns
        if drawn.name in line_names:
            kind = f"line curve chosen {hue}"
        elif is_area:
            kind = f"area shade {hue}"
        else:
            kind = f"dot {hue}"
        # a curve, its band and its points are one entry
        kind_of_name.setdefault(drawn.name, kind)

    names_tell_more = any(": " in name for name in kind_of_name)
    if len(kind_of_name) < 2 and not names_tell_more:
        return ()
    return tuple((kind, name) for name, kind in kind_of_name.items())


# read-outs


def _readouts(axes: Axes, data: Curves, order: Sequence[str]) -> list[Markup]:
    """Let the numbers of a point appear while the pointer is on it."""
    left, right = axes.x
    bottom, top = axes.y
    marks = []
    for curve in (*data.lines, *data.dots):
        kind = class_of_colour(colour_number(order, curve.name))
        for row in _points_to_read(axes, data, curve):
            x = float(curve[data.x.name][row])
            y = float(curve[data.y.name][row])
            if left <= x <= right and bottom <= y <= top:
                readout = _readout_text(data, curve, int(row))
                across = float(axes.px(x))
                down = float(axes.py(y))
                marks.append(_point_with_readout(across, down, kind, readout))

    return marks


def _points_to_read(axes: Axes, data: Curves, curve: Line) -> Ints:
    """Return the indices of the points whose numbers can be read."""
    across = axes.px(curve[data.x.name])
    up = axes.py(curve[data.y.name])
    readable = np.flatnonzero(np.isfinite(across) & np.isfinite(up))
    if readable.size <= MAX_READOUTS_OF_LINE:
        return readable

    places = few_points(across[readable], up[readable], MAX_READOUTS_OF_LINE, 0.0)
    return readable[places]


def _point_with_readout(x: float, y: float, kind: str, readout: str) -> Markup:
    marks = [
        element("circle", "catch", cx=x, cy=y, r=8),
        element("circle", f"dot mark {kind}", cx=x, cy=y, r=4),
        *_readout_lines(readout),
    ]
    return element("g", "point", Markup("").join(marks))


def _readout_lines(readout: str) -> list[Markup]:
    """Write the numbers of a point in two lines above the figure."""
    return [
        text("readout", RIGHT, 12 * row - 6, text_line)
        for row, text_line in enumerate(readout.split("\n"))
    ]


def _readout_text(data: Curves, curve: Line, row: int) -> str:
    """Write every number of a point; ``cut`` among them is the threshold."""
    name = curve.name.partition(": ")[0]
    if "cut" in curve.columns:
        name += f", threshold {float(curve['cut'][row]):.4g}"

    titles = {
        data.x.name: data.x.title.partition(" (")[0],
        data.y.name: data.y.title.partition(" (")[0],
        "low": "from",
        "high": "to",
        "left": "from",
        "right": "to",
    }
    numbers = [
        f"{titles.get(key, key)} {float(column[row]):.4g}"
        for key, column in curve.columns.items()
        if key != "cut"
    ]

    return f"{name}\n{', '.join(numbers)}"


# diagrams

# of a diagram: between neighbouring nodes, and from the edge of the paper to the first
_STEP_X = 70.0
_STEP_Y = 84.0
_MARGIN_X = 60
_MARGIN_Y = 56
_SHAPES: dict[str, Callable[[float, float, float], str]] = {
    "square": lambda x, y, r: f"M{x - r} {y - r}h{2 * r}v{2 * r}h{-2 * r}z",
    "triangle": lambda x, y, r: f"M{x} {y - r}l{r} {2 * r}h{-2 * r}z",
    "diamond": lambda x, y, r: f"M{x} {y - r}l{r} {r}l{-r} {r}l{-r} {-r}z",
    "cross": lambda x, y, r: (
        f"M{x - r} {y - r / 2}l{r / 2} {-r / 2}l{r / 2} {r / 2}l{r / 2} {-r / 2}"
        f"l{r / 2} {r / 2}l{-r / 2} {r / 2}l{r / 2} {r / 2}l{-r / 2} {r / 2}"
        f"l{-r / 2} {-r / 2}l{-r / 2} {r / 2}l{-r / 2} {-r / 2}l{r / 2} {-r / 2}z"
    ),
}


def _diagram_part(data: Diagram) -> _DrawnPart:
    """Draw nodes, edges and plates; the darker a node, the higher its level."""
    paper = _paper_of(data)

    # plates lie behind the edges, edges behind the nodes
    marks: list[Markup] = []
    for plate in data.plates:
        top_left = paper.place(plate.left, plate.top)
        bottom_right = paper.place(plate.right, plate.bottom)
        marks += _plate_marks(top_left, bottom_right, plate.text)

    for parent_number, child_number in data.edges:
        parent = data.nodes[parent_number]
        child = data.nodes[child_number]
        start = paper.place(parent.x, parent.y)
        end = paper.place(child.x, child.y)
        marks.append(_edge_mark(start, end, child, data.directed))

    for node in data.nodes:
        across, down = paper.place(node.x, node.y)
        marks += _node_marks(node, across, down, data.level_range)

    svg = picture(paper.height, data.what, marks, width=paper.width)
    legend = tuple(("gone", f"{shape}: {name}") for shape, name in data.shapes.items())

    return _DrawnPart(svg, paper.height, legend, _node_table(data), paper.width)


class _Paper(NamedTuple):
    """How the places of a diagram become places of a drawing."""

    left: float  # of the outermost node
    top: float
    width: float  # of the drawing
    height: float

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return a place of the diagram in the units of the drawing."""
        across = _MARGIN_X + _STEP_X * (x - self.left)
        down = _MARGIN_Y + _STEP_Y * (y - self.top)
        return across, down


def _paper_of(data: Diagram) -> _Paper:
    """Return a drawing that has room for all nodes and plates."""
    across = [node.x for node in data.nodes]
    across += [plate.right - 0.5 for plate in data.plates]
    down = [node.y for node in data.nodes]
    left = min(across)
    top = min(down)

    return _Paper(
        left=left,
        top=top,
        width=max(WIDTH, _STEP_X * (max(across) - left) + 120),
        height=_STEP_Y * (max(down) - top) + 120,
    )


def _plate_marks(
    top_left: tuple[float, float], bottom_right: tuple[float, float], name: str
) -> list[Markup]:
    """Draw a plate: a box around nodes that are repeated, with its name."""
    left, top = top_left
    right, bottom = bottom_right
    box = element(
        "rect", "plate", x=left, y=top, width=right - left, height=bottom - top, rx=6
    )
    return [box, text("tick", left + 6, bottom - 6, name)]


def _node_table(data: Diagram) -> Table | None:
    """Return what is said about each node, or None where nothing is."""
    rows = [
        (node.inside or node.above or node.below.replace("\n", " "), node.readout)
        for node in data.nodes
        if node.readout
    ]
    if not rows:
        return None
    return table(data.what, ("node", "what it is"), rows)


def _edge_mark(
    start: tuple[float, float], end: tuple[float, float], node: Node, directed: bool
) -> Markup:
    """Draw an edge that ends above the words of its node, or at its mark."""
    distance = float(np.hypot(end[0] - start[0], end[1] - start[1])) or 1.0
    gap_at_end = 17.0
    if node.above:  # end above the two lines of words, however the edge leans
        gap_at_end = 34 * distance / max(abs(end[1] - start[1]), 1.0)

    gap_at_start = 17 if directed else 0
    x1, y1 = _point_between(start, end, gap_at_start / distance)
    x2, y2 = _point_between(start, end, 1 - gap_at_end / distance)
    edge = segment("edge", x1, y1, x2, y2)

    if not directed:
        return edge

    angle = np.degrees(np.arctan2(end[1] - start[1], end[0] - start[0]))
    head = element(
        "path",
        "arrow",
        d="M0 0l-7-3v6z",
        transform=f"translate({x2:.1f} {y2:.1f}) rotate({angle:.1f})",
    )

    return edge + head


def _point_between(
    start: tuple[float, float], end: tuple[float, float], fraction: float
) -> tuple[float, float]:
    """Return the place that lies this fraction of the way from start to end."""
    return (
        start[0] + fraction * (end[0] - start[0]),
        start[1] + fraction * (end[1] - start[1]),
    )


def _node_marks(
    node: Node, x: float, y: float, level_range: tuple[float, float]
) -> list[Markup]:
    """Draw a node with the words around it, and the read-out of the pointer."""
    marks: list[Markup] = []
    if node.shape:
        marks.append(_node_shape(node, x, y, level_range))

    # words within a node make it larger: those around it stand farther away
    lift = 20 if node.inside else 6
    drop = 28 if node.inside else 24

    if node.above:
        # the last line stands next to the node
        for row, line_above in enumerate(reversed(node.above.split("\n"))):
            marks.append(text("tick mid", x, y - lift - 12 * row, line_above))
    if node.inside:
        marks.append(text("name mid", x, y + 4, node.inside))
    if node.below:
        for row, line_below in enumerate(node.below.split("\n")):
            marks.append(text("tick mid", x, y + drop + 12 * row, line_below))

    if node.readout and node.shape:
        readout = Markup("").join(_readout_lines(node.readout.replace("; ", "\n")))
        catch = element("circle", "catch", cx=x, cy=y, r=12)
        marks.append(element("g", "point", catch + readout))

    return marks


def _node_shape(
    node: Node, x: float, y: float, level_range: tuple[float, float]
) -> Markup:
    """Draw the mark of a node: white without a level, else the darker the higher."""
    radius = 15.0
    fill = "#ffffff"
    opacity = None
    if node.level is not None:
        low, high = level_range
        strength = float(np.clip((node.level - low) / (high - low), 0, 1))
        radius = 4 + 6 * float(np.sqrt(node.size))
        fill = "#2447c4"
        opacity = f"{0.08 + 0.92 * strength:.2f}"

    if node.shape == "circle":
        return element(
            "circle", "node", cx=x, cy=y, r=radius, fill=fill, fill_opacity=opacity
        )

    path = _SHAPES[node.shape](round(x, 1), round(y, 1), round(radius, 1))
    return element("path", "node", d=path, fill=fill, fill_opacity=opacity)


def _table_html(numbers: Table) -> str:
    """Return a table as HTML; the first cell of a row is its head."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in numbers.head)
    body = ""

    for row in numbers.texts:
        first, *cells = row
        data_cells = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        body += f'<tr><th scope="row">{escape(first)}</th>{data_cells}</tr>\n'

    caption = f"<caption>{escape(numbers.caption)}</caption>"
    return (
        f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
