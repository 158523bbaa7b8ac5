"""SVG: the figures of the report and the page, and figures in files of their own.

``draw`` turns the figure data of a finding into a drawing and a table of its numbers. A
mark of class ``now`` is moved by the slider: ``data-x`` and ``data-y`` name the
quantities that it follows. Marks of one classifier carry its number, so that the page
can show those of the one that is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from trueness._core.arrays import Floats, Ints
from trueness._core.figures import Bars, Crosses, Curves, Intervals, Line, Matrix
from trueness._core.names import distinguishable_names
from trueness._core.records import shown
from trueness.findings.records import Figure, Table, table
from trueness.reports.svg_bars import draw_bars
from trueness.reports.svg_intervals import draw_forest
from trueness.reports.svg_marks import (
    BOTTOM,
    INVISIBLE_DISTANCE,
    LEFT,
    RIGHT,
    TEXT_LINE_HEIGHT,
    TOP,
    WIDTH,
    Axes,
    Drawn,
    area,
    axes_of,
    class_of_colour,
    class_of_model,
    clip_to_plot,
    dot,
    drawing,
    element,
    line,
    picture,
    place,
    segment,
    text,
    ticks,
    upright_line,
)

MAX_INTERVALS = 20  # intervals in a figure
TABLE_ROWS_OF_CURVE = 7
# bottom and top of a histogram under curves, in heights of their plot
HISTOGRAM_RANGE = (-0.2, -0.02)
MAX_LARGE_DOTS = 20  # more dots are drawn small
MAX_CURVE_LABELS = 8  # curves that have their name beside them
MAX_LABELS_WITH_INTERVAL = 5
MAX_LABEL_LETTERS = 26
LABEL_LETTER_WIDTH = 6.4  # width of a letter of these names, in units of the drawing
MAX_TABLE_ROWS = 25  # of the table of a figure: of many curves each has fewer
MIN_TABLE_ROWS_OF_CURVE = 3  # both ends of a curve, and its middle
MAX_FINE_CURVES = 3  # of more curves each is drawn with fewer points
MAX_LABEL_WIDTH = 0.83  # of the width of a plot; longer ones leave out the interval
RECALL_OF_LABEL = 0.3  # from which on the label of a falling curve stands


def draw(figure: Figure, most_intervals: int = MAX_INTERVALS) -> Drawn:
    """Draw a figure of a finding; of many intervals the first ones are drawn."""
    if isinstance(figure.data, Intervals):
        return draw_forest(figure, figure.data, most_intervals)

    drawings: dict[type, Callable[[Figure, Any], Drawn]] = {
        Curves: _draw_curves,
        Bars: draw_bars,
        Crosses: _draw_crosses,
        Matrix: _draw_matrix,
    }

    return drawings[type(figure.data)](figure, figure.data)


# curves


def _draw_curves(figure: Figure, data: Curves) -> Drawn:
    """Draw curves with their bands and guides, and what moves with the threshold."""
    axes = axes_of(data.x, data.y, figure.x, figure.y)
    if figure.histogram is not None:
        low, high = axes.y
        numbers = tuple(ticks(low, high))
        axes = replace(
            axes, y=(HISTOGRAM_RANGE[0] * (high - low), high), y_ticks=numbers
        )

    marks = [
        *_histogram_marks(axes, figure),
        *_forbidden_regions(axes, figure),
        *guide_marks(axes, data),
        *_band_marks(axes, figure, data),
        *_curve_lines(axes, figure, data),
        *_group_marks(axes, figure),
        *dot_marks(axes, data, figure.order),
    ]
    if figure.legend:
        marks += _legend_inside(axes, figure, data.lines)
    if figure.labels:
        falls = data.y.name == "precision"
        label = _labels_over_curves if falls else _labels_of_curves
        marks += label(axes, figure, data)

    moving = [*_moving_line(axes, figure), *_moving_point(axes, figure)]
    names = ", ".join(curve.name for curve in data.lines)
    description = (
        f"{figure.title} of {names}: {data.y.title} against {data.x.title}. "
        f"{figure.note}"
    )
    svg = drawing(axes, [clip_to_plot(axes, marks), *moving], description)

    return svg, curve_table(data, figure.title)


def _histogram_marks(axes: Axes, figure: Figure) -> list[Markup]:
    """Draw how many cases have each score, under the curves of their classifier."""
    data = figure.histogram
    if data is None:
        return []

    base = HISTOGRAM_RANGE[0] * axes.y[1]
    top = HISTOGRAM_RANGE[1] * axes.y[1]
    marks = []
    for name in data.neg:
        place = colour_number(figure.order, name)
        cases = data.neg[name] + data.pos[name]
        largest = float(cases.max()) or 1.0  # a classifier may have no case at all
        heights = np.repeat(cases / largest, 2)

        across = np.repeat(data.edges, 2)
        up = base + (top - base) * np.concatenate([[0], heights, [0]])
        kind = f"histogram {class_of_model(place)}"
        marks.append(line(axes, across, up, kind, str(place), "area"))

    return marks


def _group_marks(axes: Axes, figure: Figure) -> list[Markup]:
    """Draw groups of cases as dots with their intervals, those of one classifier."""
    marks = []
    for name, groups in (figure.groups or {}).items():
        model = colour_number(figure.order, name)
        across = [place(x) for x in axes.px(groups["x"])]
        intervals = ""
        dots = ""
        for x, y, low, high in zip(
            across,
            axes.py(groups["y"]),
            axes.py(groups["low"]),
            axes.py(groups["high"]),
            strict=True,
        ):
            intervals += f"M{x} {place(low)}V{place(high)}"
            dots += f"M{x} {place(y)}h0"

        for kind, path in (("group-interval", intervals), ("group-dot", dots)):
            classes = f"{kind} {class_of_model(model)}"
            marks.append(element("path", classes, d=path, data_model=str(model)))

    return marks


def _forbidden_regions(axes: Axes, figure: Figure) -> list[Markup]:
    """Shade the strips where a constraint is not met."""
    return [
        area(axes, across, low, high, "forbidden")
        for across, low, high in figure.shaded
    ]


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


def _band_marks(axes: Axes, figure: Figure, data: Curves) -> list[Markup]:
    """Draw the interval around each curve, in the colour of the curve."""
    marks = []
    for band in data.bands:
        place = colour_number(figure.order, band.name)
        kind = f"{figure.band} {class_of_model(place)} {class_of_colour(place)}"
        across = band[data.x.name]
        low_and_high = (band["low"], band["high"])
        unseen = _unseen(data)
        marks.append(area(axes, across, *low_and_high, kind, str(place), unseen=unseen))

    return marks


def _unseen(data: Curves) -> float:
    """Return how far lines may be off: farther where there are many."""
    return (
        INVISIBLE_DISTANCE
        if len(data.lines) <= MAX_FINE_CURVES
        else 2.5 * INVISIBLE_DISTANCE
    )


def _curve_lines(axes: Axes, figure: Figure, data: Curves) -> list[Markup]:
    """Draw each curve in its colour; without a legend the page chooses one of them."""
    marks = []
    # the first one lies on top
    for curve in reversed(data.lines):
        place = colour_number(figure.order, curve.name)
        kind = f"curve {class_of_colour(place)}"
        if figure.legend or place == 0:
            kind += " chosen"

        model = "" if figure.legend else str(place)
        points = (curve[data.x.name], curve[data.y.name])
        marks.append(line(axes, *points, kind, model, unseen=_unseen(data)))

    return marks


def colour_number(order: Sequence[str], name: str) -> int:
    """Return the number of a name's colour: its place in the order, or the first."""
    return order.index(name) if name in order else 0


def dot_marks(axes: Axes, data: Curves, order: Sequence[str]) -> list[Markup]:
    """Draw points, with their intervals, in the colour of their name."""
    marks = []
    for dots in data.dots:
        hue = class_of_colour(colour_number(order, dots.name))
        across = dots[data.x.name].tolist()
        up = dots[data.y.name].tolist()
        style = hue
        if len(across) > MAX_LARGE_DOTS:
            style = f"{hue} small"

        for row, (x, y) in enumerate(zip(across, up, strict=True)):
            if "low" in dots.columns:
                interval_of_y = [dots["low"][row], dots["high"][row]]
                marks.append(line(axes, [x, x], interval_of_y, f"{hue} thick"))
            if "left" in dots.columns:
                interval_of_x = [dots["left"][row], dots["right"][row]]
                marks.append(line(axes, interval_of_x, [y, y], f"{hue} thick"))
            marks.append(dot(axes, x, y, style))

    return marks


def _legend_inside(axes: Axes, figure: Figure, curves: Sequence[Line]) -> list[Markup]:
    """Name the curves in the lower right corner, beside a piece of each line."""
    # from left to right: a piece of the line, and the name; in units of the drawing
    edge = WIDTH - RIGHT
    line_start = edge - 150
    line_end = edge - 122
    name_start = edge - 116
    last_base_line = axes.height - BOTTOM - 10

    marks = []
    for row, curve in enumerate(curves):
        rows_below = len(curves) - 1 - row
        base_line = last_base_line - TEXT_LINE_HEIGHT * rows_below
        middle = base_line - 4  # of the letters
        hue = class_of_colour(colour_number(figure.order, curve.name))
        kind = f"line curve chosen {hue}"
        marks.append(segment(kind, line_start, middle, line_end, middle))
        marks.append(text("name", name_start, base_line, shown(curve.name, 20)))

    return marks


def _labels_of_curves(axes: Axes, figure: Figure, data: Curves) -> list[Markup]:
    """Write the name and the area of each curve, with a line that leads to the curve.

    They stand under the diagonal, where no ROC curve of a useful classifier is.
    """
    labelled_curves, texts = _texts_of_labels(axes, figure, data, MAX_CURVE_LABELS)
    if len(texts) > MAX_LABELS_WITH_INTERVAL:
        # of so many curves the weaker ones run where long labels would stand
        texts = [_without_interval(text) for text in texts]

    longest = max(len(label) for label in texts)
    left = axes.right - 6 - LABEL_LETTER_WIDTH * longest
    lowest = axes.height - BOTTOM - 12

    marks = []
    for row, (curve, label) in enumerate(zip(labelled_curves, texts, strict=True)):
        y = lowest - TEXT_LINE_HEIGHT * (len(labelled_curves) - 1 - row)
        model = colour_number(figure.order, curve.name)
        kind = "chosen" if model == 0 else ""
        on_curve = _crossing_of_height(axes, curve[data.x.name], curve[data.y.name], y)
        if on_curve < left - 4:
            leader = {"x1": on_curve, "x2": left - 4, "y1": y - 4, "y2": y - 4}
            marks.append(
                element("line", f"leader {kind}", **leader, data_model=str(model))
            )
        marks.append(_curve_label(f"curve-label {kind}", label, left, y, model))

    return marks


def _curve_label(kind: str, label: str, x: float, y: float, model: int) -> Markup:
    return element("text", kind, label, x=x, y=y, data_model=str(model))


def _texts_of_labels(
    axes: Axes, figure: Figure, data: Curves, most: int
) -> tuple[list[Line], list[str]]:
    """Return the curves that have a label, and their labels, which leave room."""
    areas = figure.labels or {}
    named = [curve for curve in data.lines if curve.name in areas][:most]
    texts = [areas[curve.name] for curve in named]
    if len(data.lines) > 1:
        names = distinguishable_names(
            [curve.name for curve in named], MAX_LABEL_LETTERS
        )
        texts = [f"{name} {text}" for name, text in zip(names, texts, strict=True)]

    letters = MAX_LABEL_WIDTH * (axes.right - axes.left) / LABEL_LETTER_WIDTH
    if max(map(len, texts), default=0) > letters:
        # the tables have the intervals
        texts = [_without_interval(text) for text in texts]

    return named, texts


def _without_interval(label: str) -> str:
    """Return a label without what stands in its last parentheses.

    >>> _without_interval("model (2) AUC 0.8 (0.7 to 0.9)")
    'model (2) AUC 0.8'
    """
    before, _, interval = label.rpartition(" (")
    return before if " to " in interval else label


def _labels_over_curves(axes: Axes, figure: Figure, data: Curves) -> list[Markup]:
    """Write the area of the chosen curve over it, where it falls to the right.

    Where a curve stays near the top, its label stands below, in the corner.
    """
    named, texts = _texts_of_labels(axes, figure, data, len(data.lines))
    bands = {band.name: band for band in data.bands}
    marks = []
    for curve, label in zip(named, texts, strict=True):
        left = axes.right - 6 - LABEL_LETTER_WIDTH * len(label)
        left = max(min(left, float(axes.px(RECALL_OF_LABEL))), axes.left + 6)

        # above all that lies to the right, the band of the curve included
        upper = bands.get(curve.name, curve)
        heights = upper["high" if upper is not curve else data.y.name]
        is_right = axes.px(upper[data.x.name]) >= left
        y = float(axes.py(heights[is_right]).min(initial=axes.height)) - 7
        if y < TOP + 10:
            left = axes.left + 8
            y = axes.height - BOTTOM - 10

        model = colour_number(figure.order, curve.name)
        kind = f"curve-label chosen {class_of_model(model)}"
        marks.append(_curve_label(kind, label, left, y, model))

    return marks


def _crossing_of_height(axes: Axes, x: Floats, y: Floats, height: float) -> float:
    """Return where a rising curve reaches a height, on the paper."""
    across = axes.px(x)
    up = -axes.py(y)
    return float(np.interp(4 - height, up, across))


def _moving_line(axes: Axes, figure: Figure) -> list[Markup]:
    """Draw the straight line whose ends follow two quantities."""
    if not figure.tilt:
        return []

    left_quantity, right_quantity = figure.tilt.split()
    left, right = axes.px(axes.x)
    left_height, right_height = axes.py(figure.ends)
    straight = element(
        "line",
        "now rule",
        data_left=left_quantity,
        data_right=right_quantity,
        x1=left,
        x2=right,
        y1=left_height,
        y2=right_height,
    )

    return [clip_to_plot(axes, [straight])]


def _moving_point(axes: Axes, figure: Figure) -> list[Markup]:
    """Draw the dot of the threshold, with an upright line where one is wanted."""
    if figure.at is None:
        return []
    point = dot(axes, *figure.at, "now", figure.follow)
    if not figure.rule:
        return [point]
    return [upright_line(axes, figure.at[0], "now rule", figure.rule), point]


def curve_table(data: Curves, title: str) -> Table:
    """Return some points of each curve, with thresholds and bands where it has them."""
    curves = data.lines or data.dots or data.bands
    columns = curves[0].columns if curves else {}
    has_thresholds = any("cut" in curve.columns for curve in curves)

    # the title of each column of numbers, by its key in a curve
    titles = {
        axis.name: axis.title for axis in (data.x, data.y) if axis.name in columns
    }
    if "low" in columns:
        titles |= {"low": "from", "high": "to"}

    head = ["classifier", *titles.values()]
    if has_thresholds:
        head.insert(1, "threshold")

    rows_of_a_curve = MAX_TABLE_ROWS // max(len(curves), 1)
    rows_of_a_curve = max(
        MIN_TABLE_ROWS_OF_CURVE, min(TABLE_ROWS_OF_CURVE, rows_of_a_curve)
    )
    rows = []
    for curve in curves:
        thresholds = curve.columns.get("cut")
        for point in _even_places(len(curve[data.x.name]), rows_of_a_curve):
            row: list[Any] = [curve.name]
            if thresholds is not None:
                row.append(_threshold_text(thresholds[point]))
            elif has_thresholds:
                # the curve of a model, drawn beside data, has no thresholds
                row.append("")
            row += [float(curve[key][point]) for key in titles]
            rows.append(row)

    return table(title, head, rows)


def _even_places(size: int, number: int) -> Ints:
    """Return the places of the points that a table shows, evenly from end to end."""
    places = np.linspace(0, size - 1, number).astype(int)
    return np.unique(places)


def _threshold_text(threshold: float) -> str:
    """Write a threshold with more digits than a rate, since counts hang on it."""
    return "above all" if np.isposinf(threshold) else f"{threshold:.6g}"


# points in a plane, pairs in a matrix


def _draw_crosses(figure: Figure, data: Crosses) -> Drawn:
    """Draw points with an interval in both directions, numbered as in the table."""
    axes = axes_of(data.x, data.y)
    guides = Curves(data.what, data.x, data.y, guides=data.guides)
    marks = guide_marks(axes, guides)
    labels = []
    rows = []

    for index, name in enumerate(data.names):
        number = str(index + 1)
        hue = class_of_colour(index)
        x, x_low, x_high = data.across[index].tolist()
        y, y_low, y_high = data.up[index].tolist()
        marks += [
            line(axes, [x_low, x_high], [y, y], hue),
            line(axes, [x, x], [y_low, y_high], hue),
            dot(axes, x, y, hue),
        ]
        labels.append(_number_of_cross(axes, x, y, number))
        rows.append((f"{number} {name}", y, y_low, y_high, x, x_low, x_high))

    head = (figure.of, data.y.title, "from", "to", data.x.title, "from", "to")
    description = (
        f"{figure.title}: {data.y.title} against {data.x.title}. {figure.note}"
    )
    # the numbers come last, so that no interval is drawn over them
    svg = drawing(axes, [*marks, *labels], description)

    return svg, table(figure.title, head, rows)


def _number_of_cross(axes: Axes, x: float, y: float, number: str) -> Markup:
    """Write a number at the upper right of a point, clear of both its intervals."""
    units_right = 7
    units_up = 6
    return text(
        "name", float(axes.px(x)) + units_right, float(axes.py(y)) - units_up, number
    )


def _draw_matrix(figure: Figure, data: Matrix) -> Drawn:
    """Draw a number for each pair of names as a cell."""
    size = len(data.names)
    cell_width = (WIDTH - LEFT - RIGHT) / max(size - 1, 1)
    cell_height = min(cell_width, 46.0)
    marks = []
    rows = []

    # each pair once: the names below the first, against those before them
    for row, column in zip(*np.tril_indices(size, -1), strict=True):
        value = float(data.value[row, column])
        rows.append((data.names[column], data.names[row], value))
        if np.isfinite(value):
            left = LEFT + cell_width * column
            top = TOP + cell_height * (row - 1)
            marks += _cell_marks(left, top, cell_width, cell_height, value)

    marks += _matrix_numbers(size, cell_width, cell_height)
    description = f"{figure.title}: {data.label} of each pair. {figure.note}"
    numbers = table(figure.title, ("first", "second", data.label), rows)

    return picture(TOP + cell_height * size, description, marks), numbers


def _cell_marks(
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
    middle_x = left + width / 2
    middle_y = top + height / 2 + 4

    return [cell, text("name mid", middle_x, middle_y, f"{value:.2f}")]


def _matrix_numbers(size: int, width: float, height: float) -> list[Markup]:
    """Number rows and columns as the table names them."""
    below = TOP + height * (size - 1) + 15
    marks = []
    for index in range(size - 1):
        middle_of_row = TOP + height * (index + 0.5) + 4
        middle_of_column = LEFT + width * (index + 0.5)
        # the first row is that of the second name
        marks.append(text("tick end", LEFT - 6, middle_of_row, str(index + 2)))
        marks.append(text("tick mid", middle_of_column, below, str(index + 1)))

    return marks
