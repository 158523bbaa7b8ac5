"""SVG: the figures of the report and the page, and figures in files of their own.

``draw`` turns the figure data of a finding into a drawing and a table of its numbers. A
mark of class ``now`` is moved by the slider: ``data-x`` and ``data-y`` name the
quantities that it follows. Marks of one classifier carry its number, so that the page
can show those of the one that is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from trueness._core.arrays import Floats
from trueness._core.figures import Bars, Crosses, Curves, Intervals, Line, Matrix
from trueness._core.numbers import in_column
from trueness._core.records import shown
from trueness.findings.records import Figure, Table, table
from trueness.inference.estimates import estimate_from_interval
from trueness.reports.svg_marks import (
    BOTTOM,
    LEFT,
    RIGHT,
    TEXT,
    TOP,
    WIDTH,
    Axes,
    area,
    axes_of,
    clipped,
    colour,
    dot,
    drawing,
    element,
    line,
    only,
    picture,
    place,
    segment,
    text,
    upright,
)

Drawn = tuple[Markup, Table]  # the drawing, and its numbers as a table

ROW = 38  # height of an interval with its name above
NAME, WIDE = 30, 52  # letters of a name that fit beside a number, and on a line
MOST_SHOWN = 20  # intervals in a figure
ROWS_OF_A_CURVE = 7
LABELLED_DOTS = 20  # more dots are drawn small


def draw(figure: Figure, most_intervals: int = MOST_SHOWN) -> Drawn:
    """Draw a figure of a finding; of many intervals the first ones are drawn."""
    if isinstance(figure.data, Intervals):
        return _draw_forest(figure, figure.data, most_intervals)
    drawings: dict[type, Callable[[Figure, Any], Drawn]] = {
        Curves: _draw_curves,
        Bars: _draw_bars,
        Crosses: _draw_crosses,
        Matrix: _draw_matrix,
    }
    return drawings[type(figure.data)](figure, figure.data)


# curves


def _draw_curves(figure: Figure, data: Curves) -> Drawn:
    """Draw curves with their bands and guides, and what moves with the threshold."""
    axes = axes_of(data.x, data.y, figure.x, figure.y)
    marks = [
        *_forbidden_regions(axes, figure),
        *guide_marks(axes, data),
        *_bands(axes, figure, data),
        *_curve_lines(axes, figure, data),
        *dot_marks(axes, data, figure.order),
    ]
    if figure.legend:
        marks += _legend_inside(axes, figure, data.lines)
    moving = [*_moving_line(axes, figure), *_moving_point(axes, figure)]
    names = ", ".join(curve.name for curve in data.lines)
    description = (
        f"{figure.title} of {names}: {data.y.title} against {data.x.title}. "
        f"{figure.note}"
    )
    svg = drawing(axes, [clipped(axes, marks), *moving], description)
    return svg, curve_table(data, figure.title)


def _forbidden_regions(axes: Axes, figure: Figure) -> list[Markup]:
    return [area(axes, *strip, "forbidden") for strip in figure.shaded]


def guide_marks(axes: Axes, data: Curves) -> list[Markup]:
    """Draw what curves are compared with: grey areas and broken lines."""
    marks = []
    for guide in data.guides:
        across = guide[data.x.name]
        if "low" in guide.columns:
            marks.append(area(axes, across, guide["low"], guide["high"], "expected"))
        else:
            marks.append(line(axes, across, guide[data.y.name], "chance"))
    return marks


def _bands(axes: Axes, figure: Figure, data: Curves) -> list[Markup]:
    marks = []
    for band in data.bands:
        k = place_in(figure.order, band.name)
        kind = f"{figure.band} {only(k)} {colour(k)}"
        across, low, high = band[data.x.name], band["low"], band["high"]
        marks.append(area(axes, across, low, high, kind, str(k)))
    return marks


def _curve_lines(axes: Axes, figure: Figure, data: Curves) -> list[Markup]:
    marks = []
    for curve in data.lines:
        k = place_in(figure.order, curve.name)
        is_chosen = figure.legend or k == 0
        kind = f"curve {colour(k)}{' chosen' if is_chosen else ''}"
        model = "" if figure.legend else str(k)
        marks.append(line(axes, curve[data.x.name], curve[data.y.name], kind, model))
    return marks


def place_in(order: Sequence[str], name: str) -> int:
    """Return which colour a name has: its place in the order, or the first."""
    return order.index(name) if name in order else 0


def dot_marks(axes: Axes, data: Curves, order: Sequence[str]) -> list[Markup]:
    """Draw points, with their intervals, in the colour of their name."""
    marks = []
    for dots in data.dots:
        kind = colour(place_in(order, dots.name))
        across, up = dots[data.x.name], dots[data.y.name]
        small = across.size > LABELLED_DOTS
        for i, (x, y) in enumerate(zip(across.tolist(), up.tolist(), strict=True)):
            if "low" in dots.columns:
                ends = [dots["low"][i], dots["high"][i]]
                marks.append(line(axes, [x, x], ends, f"{kind} thick"))
            if "left" in dots.columns:
                ends = [dots["left"][i], dots["right"][i]]
                marks.append(line(axes, ends, [y, y], f"{kind} thick"))
            marks.append(dot(axes, x, y, f"{kind} small" if small else kind))
    return marks


def _legend_inside(axes: Axes, figure: Figure, curves: Sequence[Line]) -> list[Markup]:
    """Name the curves in the lower right corner, beside a piece of each line."""
    right = WIDTH - RIGHT
    lowest = axes.height - BOTTOM - 10 + TEXT
    marks = []
    for row, curve in enumerate(curves):
        y = lowest - TEXT * (len(curves) - row)
        kind = f"line curve chosen {colour(place_in(figure.order, curve.name))}"
        marks.append(segment(kind, right - 150, y - 4, right - 122, y - 4))
        marks.append(text("name", right - 116, y, shown(curve.name, 20)))
    return marks


def _moving_line(axes: Axes, figure: Figure) -> list[Markup]:
    """Draw the straight line whose ends follow two quantities."""
    if not figure.tilt:
        return []
    left_quantity, right_quantity = figure.tilt.split()
    (x1, x2), (y1, y2) = axes.px(axes.x), axes.py(figure.ends)
    straight = element(
        "line",
        "now rule",
        data_left=left_quantity,
        data_right=right_quantity,
        x1=x1,
        x2=x2,
        y1=y1,
        y2=y2,
    )
    return [clipped(axes, [straight])]


def _moving_point(axes: Axes, figure: Figure) -> list[Markup]:
    """Draw the dot of the threshold, with an upright line where one is wanted."""
    if figure.at is None:
        return []
    point = dot(axes, *figure.at, "now", figure.follow)
    if not figure.rule:
        return [point]
    return [upright(axes, figure.at[0], "now rule", figure.rule), point]


def curve_table(data: Curves, title: str) -> Table:
    """Return some points of each curve, with thresholds and bands where it has them."""
    x, y = data.x, data.y
    lines = data.lines or data.dots or data.bands
    columns = lines[0].columns if lines else {}
    has_thresholds = any("cut" in curve.columns for curve in lines)
    has_band = "low" in columns
    keys = [key for key in (x.name, y.name) if key in columns]
    keys += ["low", "high"] if has_band else []

    rows = []
    for curve in lines:
        size = len(curve[x.name])
        for i in np.unique(np.linspace(0, size - 1, ROWS_OF_A_CURVE).astype(int)):
            row: list[Any] = [curve.name]
            if has_thresholds:  # a model beside data has none
                cuts = curve.columns.get("cut")
                row.append("" if cuts is None else _threshold_text(cuts[i]))
            rows.append([*row, *(float(curve[key][i]) for key in keys)])
    titles = [axis.title for axis in (x, y) if axis.name in columns]
    head = ["classifier", *(["threshold"] if has_thresholds else []), *titles]
    return table(title, [*head, *(["from", "to"] if has_band else [])], rows)


def _threshold_text(threshold: float) -> str:
    """Write a threshold with more digits than a rate, since counts hang on it."""
    return "above all" if np.isposinf(threshold) else f"{threshold:.6g}"


# scores of two classes


def _draw_bars(figure: Figure, data: Bars) -> Drawn:
    """Draw histograms of two classes, with one threshold that moves or two that stay.

    Each class fills the height by itself: rare positives are as easy to see as the
    negatives, which the table counts.
    """
    low, high = float(data.edges[0]), float(data.edges[-1])
    axes = Axes("Score", "Cases, scaled by class", (low, high), (0.0, 1.05))
    marks: list[Markup] = []
    rows: list[tuple[Any, ...]] = []
    for k, name in enumerate(data.neg):
        for kind, heights in zip(
            ("negatives", "positives"), data.shares(name), strict=True
        ):
            outline = _histogram_outline(data.edges, heights)
            marks.append(line(axes, *outline, f"{kind} {only(k)}", str(k), "area"))
        rows += _histogram_rows(data, name)

    thresholds = np.clip(figure.at or (), low, high)
    if figure.rule:
        marks.append(upright(axes, float(thresholds[0]), "now rule", figure.rule))
    elif thresholds.size:
        marks.insert(0, area(axes, thresholds, [0, 0], [1.05, 1.05], "band c2"))
        marks += [upright(axes, float(cut), "now rule") for cut in thresholds]
    description = (
        f"Histogram of the scores of {', '.join(data.neg)}, from {low:.3g} to "
        f"{high:.3g}, positives and negatives separately; the table has the numbers."
    )
    head = ("classifier", "score", "negatives", "positives")
    return drawing(axes, marks, description), table(figure.title, head, rows)


def _histogram_outline(edges: Floats, heights: Floats) -> tuple[Floats, Floats]:
    """Return the corners of a histogram whose highest bar has the height 1."""
    top = max(float(heights.max()), 1e-300)
    up = np.concatenate([[0], np.repeat(heights / top, 2), [0]])
    return np.repeat(edges, 2), up


def _histogram_rows(data: Bars, name: str) -> list[tuple[Any, ...]]:
    """Return the counts of each bar that has any."""
    neg, pos = data.neg[name], data.pos[name]
    return [
        (
            name,
            f"{data.edges[bar]:.3g} to {data.edges[bar + 1]:.3g}",
            float(neg[bar]),
            float(pos[bar]),
        )
        for bar in np.flatnonzero(neg + pos)
    ]


# intervals under one another


def _draw_forest(figure: Figure, data: Intervals, most: int) -> Drawn:
    """Draw estimates with their intervals under one another.

    Names and numbers stand above their lines, so that they need no margin. Of many the
    first ones are drawn; the table has all of them.
    """
    names = [_name_lines(name) for name in data.names[:most]]
    heights = [ROW + TEXT * (len(lines) - 1) for lines in names]
    feet = np.cumsum(heights, dtype=float)
    bottom = float(feet[-1])
    height = TOP + BOTTOM + int(bottom)
    span = _forest_range(data, most)
    axes = Axes(data.label, "", span, (bottom, 0.0), height, bare=True)

    triples = list(zip(data.value, data.low, data.high, strict=True))
    numbers = in_column([estimate_from_interval(*triple) for triple in triples])
    marks: list[Markup] = []
    for k, lines in enumerate(names):
        kind = colour(k) if figure.order else colour(0)
        middle = feet[k] - 0.28 * ROW
        marks += _forest_row(axes, data, k, middle, kind)
        marks += _forest_words(axes, lines, numbers[k], middle)

    description = f"{data.label} of each {figure.of} with its interval. {figure.note}"
    columns = (data.value, data.low, data.high, *data.marks.values())
    rows = zip(data.names, *(column.tolist() for column in columns), strict=True)
    head = (figure.of, data.label, "from", "to", *data.marks)
    svg = drawing(axes, marks, description.strip())
    return svg, table(figure.title, head, rows)


def _forest_range(data: Intervals, most: int) -> tuple[float, float]:
    """Return a range that holds every interval that is drawn, with a little room."""
    columns = (data.value, data.low, data.high, *data.marks.values())
    ends = np.concatenate([column[:most] for column in columns])
    ends = ends[np.isfinite(ends)]
    if data.zero is not None:
        ends = np.append(ends, 0.0)
    low, high = (ends.min(), ends.max()) if ends.size else (0.0, 1.0)
    room = 0.08 * high - 0.08 * low or 0.05  # in parts: the whole may overflow
    largest = np.finfo(float).max
    return max(low - room, -largest), min(high + room, largest)


def _forest_row(
    axes: Axes, data: Intervals, k: int, middle: float, kind: str
) -> list[Markup]:
    """Draw one estimate with its interval, and what is to be seen beside it."""
    marks = []
    low, high = data.low[k], data.high[k]
    if data.zero is not None:
        ends = [middle + 0.25 * ROW, middle - 0.22 * ROW]
        marks.append(line(axes, [data.zero] * 2, ends, "chance"))
    if np.isfinite([low, high]).all():
        marks.append(line(axes, [low, high], [middle, middle], f"{kind} thick"))
    marks += [
        _diamond(axes, values[k], middle)
        for values in data.marks.values()
        if np.isfinite(values[k])
    ]
    marks.append(dot(axes, float(data.value[k]), middle, kind))
    return marks


def _diamond(axes: Axes, x: float, y: float) -> Markup:
    top = f"M{place(axes.px(x))} {place(axes.py(y) - 6)}"
    return element("path", "line c1", d=f"{top}l6 6-6 6-6-6z")


def _forest_words(
    axes: Axes, lines: Sequence[str], number: str, middle: float
) -> list[Markup]:
    """Write name and number above the interval."""
    foot = float(axes.py(middle - 0.34 * ROW))
    marks = [
        text("name", axes.left, foot - TEXT * row, part)
        for row, part in enumerate(reversed(lines))
    ]
    return [*marks, text("name end", WIDTH - RIGHT, foot, number)]


def _name_lines(name: str) -> list[str]:
    """Break a long name, so that the last line leaves room for the number.

    >>> _name_lines("short"), _name_lines("a" * 36)
    (['short'], ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', ''])
    """
    words = shown(name, 3 * WIDE)
    if len(words) <= NAME:
        return [words]
    minus = words.find(" \N{MINUS SIGN} ")
    parts = [words] if minus < 0 else [words[: minus + 2], words[minus + 3 :]]
    lines = [part[k : k + WIDE] for part in parts for k in range(0, len(part), WIDE)]
    return lines if len(lines[-1]) <= NAME else [*lines, ""]


# points in a plane, pairs in a matrix


def _draw_crosses(figure: Figure, data: Crosses) -> Drawn:
    """Draw points with an interval in both directions, numbered as in the table."""
    axes = axes_of(data.x, data.y)
    guides = Curves(data.what, data.x, data.y, guides=data.guides)
    marks = guide_marks(axes, guides)
    numbers, rows = [], []
    for k, name in enumerate(data.names):
        x, left, right = data.across[k].tolist()
        y, low, high = data.up[k].tolist()
        kind = colour(k)
        marks.append(line(axes, [left, right], [y, y], kind))
        marks.append(line(axes, [x, x], [low, high], kind))
        marks.append(dot(axes, x, y, kind))
        beside, above = float(axes.px(x)) + 7, float(axes.py(y)) - 6
        numbers.append(text("name", beside, above, str(k + 1)))
        rows.append((f"{k + 1} {name}", y, low, high, x, left, right))
    head = (figure.of, data.y.title, "from", "to", data.x.title, "from", "to")
    description = (
        f"{figure.title}: {data.y.title} against {data.x.title}. {figure.note}"
    )
    svg = drawing(axes, [*marks, *numbers], description)
    return svg, table(figure.title, head, rows)


def _draw_matrix(figure: Figure, data: Matrix) -> Drawn:
    """Draw a number for each pair of names as a cell."""
    size = len(data.names)
    width = (WIDTH - LEFT - RIGHT) / max(size - 1, 1)
    height = min(width, 46.0)
    marks, rows = [], []
    for i, j in zip(*np.tril_indices(size, -1), strict=True):
        value = float(data.value[i, j])
        rows.append((data.names[j], data.names[i], value))
        if np.isfinite(value):
            left, top = LEFT + width * j, TOP + height * (i - 1)
            marks += _cell(left, top, width, height, value)
    marks += _matrix_numbers(size, width, height)
    description = f"{figure.title}: {data.label} of each pair. {figure.note}"
    numbers = table(figure.title, ("first", "second", data.label), rows)
    return picture(TOP + height * size, description, marks), numbers


def _cell(
    left: float, top: float, width: float, height: float, value: float
) -> list[Markup]:
    """Draw one cell, the darker the farther its value is from zero."""
    cell = element(
        "rect",
        "area c0" if value >= 0 else "area c1",
        fill_opacity=f"{abs(value):.2f}",
        x=left + 1,
        y=top + 1,
        width=width - 2,
        height=height - 2,
    )
    middle_x, middle_y = left + width / 2, top + height / 2 + 4
    return [cell, text("name mid", middle_x, middle_y, f"{value:.2f}")]


def _matrix_numbers(size: int, width: float, height: float) -> list[Markup]:
    """Number rows and columns as the table names them."""
    below = TOP + height * (size - 1) + 15
    marks = []
    for k in range(size - 1):
        beside = TOP + height * (k + 0.5) + 4
        marks.append(text("tick end", LEFT - 6, beside, str(k + 2)))
        marks.append(text("tick mid", LEFT + width * (k + 0.5), below, str(k + 1)))
    return marks
