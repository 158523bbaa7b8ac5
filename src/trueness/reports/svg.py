"""SVG: the figures of the report and the page, and figures in files of their own.

``draw`` turns the figure data of a finding into a drawing and a table of its numbers. A
mark of class ``now`` is moved by the slider: ``data-x`` and ``data-y`` name the
quantities that it follows. Marks of one classifier carry its number, so that the page
can show those of the one that is chosen.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats, Ints
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
    Tick,
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
    ticks,
    upright,
)

Drawn = tuple[Markup, Table]  # the drawing, and its numbers as a table

ROW = 36  # height of an interval with two lines of words beside it
NAME, WIDE = 15, 52  # letters of a name that fit before an interval, and on a line
LETTER_OF_NAME = 6.4  # width of a letter of a name
LINE_OF_NAME = 14  # height of a line of a name
MOST_SHOWN = 20  # intervals in a figure
ROWS_OF_A_CURVE = 7
# probabilities nearer to 0 and 1 stand at the ends of a logit axis
LEAST_PROBABILITY = 0.001
LOGIT_TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 0.999)
HISTOGRAM = (-0.2, -0.02)  # of the height of a plot, under its curves
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
    if figure.histogram is not None:
        low, high = axes.y
        numbers = tuple(ticks(low, high))
        axes = replace(axes, y=(HISTOGRAM[0] * (high - low), high), y_ticks=numbers)

    marks = [
        *_histogram_marks(axes, figure),
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


def _histogram_marks(axes: Axes, figure: Figure) -> list[Markup]:
    """Draw how many cases have each score, under the curves of their classifier."""
    data = figure.histogram
    if data is None:
        return []

    base = HISTOGRAM[0] * axes.y[1]
    top = HISTOGRAM[1] * axes.y[1]
    marks = []
    for name in data.neg:
        place = place_in(figure.order, name)
        cases = data.neg[name] + data.pos[name]
        largest = float(cases.max()) or 1.0  # a classifier may have no case at all
        heights = np.repeat(cases / largest, 2)

        across = np.repeat(data.edges, 2)
        up = base + (top - base) * np.concatenate([[0], heights, [0]])
        kind = f"histogram {only(place)}"
        marks.append(line(axes, across, up, kind, str(place), "area"))

    return marks


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
    """Draw the interval around each curve, in the colour of the curve."""
    marks = []
    for band in data.bands:
        place = place_in(figure.order, band.name)
        kind = f"{figure.band} {only(place)} {colour(place)}"
        across = band[data.x.name]
        marks.append(area(axes, across, band["low"], band["high"], kind, str(place)))

    return marks


def _curve_lines(axes: Axes, figure: Figure, data: Curves) -> list[Markup]:
    """Draw each curve in its colour; without a legend the page chooses one of them."""
    marks = []
    for curve in data.lines:
        place = place_in(figure.order, curve.name)
        kind = f"curve {colour(place)}"
        if figure.legend or place == 0:
            kind += " chosen"

        model = "" if figure.legend else str(place)
        marks.append(line(axes, curve[data.x.name], curve[data.y.name], kind, model))

    return marks


def place_in(order: Sequence[str], name: str) -> int:
    """Return which colour a name has: its place in the order, or the first."""
    return order.index(name) if name in order else 0


def dot_marks(axes: Axes, data: Curves, order: Sequence[str]) -> list[Markup]:
    """Draw points, with their intervals, in the colour of their name."""
    marks = []
    for dots in data.dots:
        hue = colour(place_in(order, dots.name))
        across = dots[data.x.name].tolist()
        up = dots[data.y.name].tolist()
        style = hue
        if len(across) > LABELLED_DOTS:
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
    x1, x2 = axes.px(axes.x)
    y1, y2 = axes.py(figure.ends)
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
    curves = data.lines or data.dots or data.bands
    columns = curves[0].columns if curves else {}
    has_thresholds = any("cut" in curve.columns for curve in curves)

    head = ["classifier"]
    keys = []

    if has_thresholds:
        head.append("threshold")

    for axis in (data.x, data.y):
        if axis.name in columns:
            head.append(axis.title)
            keys.append(axis.name)

    if "low" in columns:
        head += ["from", "to"]
        keys += ["low", "high"]

    rows = []
    for curve in curves:
        thresholds = curve.columns.get("cut")
        for point in _even_places(len(curve[data.x.name])):
            row: list[Any] = [curve.name]
            if thresholds is not None:
                row.append(_threshold_text(thresholds[point]))
            elif has_thresholds:
                # the curve of a model, drawn beside data, has no thresholds
                row.append("")
            row += [float(curve[key][point]) for key in keys]
            rows.append(row)

    return table(title, head, rows)


def _even_places(size: int) -> Ints:
    """Return so many places of a curve as a table shows, from end to end."""
    places = np.linspace(0, size - 1, ROWS_OF_A_CURVE).astype(int)
    return np.unique(places)


def _threshold_text(threshold: float) -> str:
    """Write a threshold with more digits than a rate, since counts hang on it."""
    return "above all" if np.isposinf(threshold) else f"{threshold:.6g}"


# scores of two classes


def _draw_bars(figure: Figure, data: Bars) -> Drawn:
    """Draw histograms of two classes, with one threshold that moves or two that stay.

    Positives point up and negatives down; both classes have the same area, so that rare
    positives are as easy to see. Hue is the truth and strength the decision: what is
    flagged is solid.
    """
    edges = _places_of_scores(figure, data.edges)
    low = float(edges[0])
    high = float(edges[-1])
    axes = _axes_of_bars(figure, low, high)

    # each class twice: pale below the threshold, solid above it
    pale: list[Markup] = []
    solid: list[Markup] = []
    rows: list[tuple[Any, ...]] = []
    for number, name in enumerate(data.neg):
        outlines = _class_outlines(edges, data, name)
        for kind, outline in zip(("negatives", "positives"), outlines, strict=True):
            all_cases = f"{kind} {only(number)}"
            flagged = f"{kind} flagged {only(number)}"
            pale.append(line(axes, *outline, all_cases, str(number), "area"))
            solid.append(line(axes, *outline, flagged, str(number), "area"))
        rows += _histogram_rows(data, name)

    scores: Sequence[float] = figure.at or ()
    if figure.rule:
        # of one that moves, the second number is a height
        scores = scores[:1]
    thresholds = np.clip(_places_of_scores(figure, scores), low, high)
    marks = [*pale, *_flagged_side(axes, solid, thresholds, figure.rule)]
    marks.append(line(axes, [low, high], [0, 0], "zero"))

    if figure.rule:
        marks.append(upright(axes, float(thresholds[0]), "now rule", figure.rule))
    elif thresholds.size:
        marks.insert(0, area(axes, thresholds, [-1.05] * 2, [1.05] * 2, "band c2"))
        marks += [upright(axes, float(cut), "now rule") for cut in thresholds]

    marks += _corner_counts(axes, figure)
    description = (
        f"Histogram of the scores of {', '.join(data.neg)}, from "
        f"{data.edges[0]:.3g} to {data.edges[-1]:.3g}, positives above and negatives "
        "below; the table has the numbers."
    )

    head = ("classifier", "score", "negatives", "positives")
    scale = "logit" if figure.logit else ""
    svg = drawing(axes, marks, description, scale=scale)

    return svg, table(figure.title, head, rows)


def _axes_of_bars(figure: Figure, low: float, high: float) -> Axes:
    """Return axes for histograms that point up and down; heights have no numbers."""
    title = "Score"
    x_ticks: tuple[Tick, ...] = ()
    if figure.logit:
        title = "Score, logit scale"
        x_ticks = _logit_ticks(low, high)

    return Axes(
        title,
        "",
        (low, high),
        (-1.05, 1.05),
        bare=True,
        x_ticks=x_ticks,
        names_width=8,  # the first number stands under the left end
    )


def _places_of_scores(figure: Figure, scores: ArrayLike) -> Floats:
    """Return where scores lie on the axis; probabilities may have a logit axis."""
    values = np.asarray(scores, dtype=np.float64)
    if not figure.logit:
        return values
    inside = np.clip(values, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return np.asarray(np.log(inside / (1 - inside)))


def _logit_ticks(low: float, high: float) -> tuple[Tick, ...]:
    """Return probabilities that are marked on a logit axis."""
    marked = [(float(np.log(p / (1 - p))), f"{p:g}") for p in LOGIT_TICKS]
    return tuple(tick for tick in marked if low <= tick[0] <= high)


def _class_outlines(
    edges: Floats, data: Bars, name: str
) -> list[tuple[Floats, Floats]]:
    """Return the corners of the negatives, which point down, and of the positives."""
    negatives, positives = data.shares(name)
    top = max(float(negatives.max()), float(positives.max()), 1e-300)
    across = np.repeat(edges, 2)

    return [
        (across, np.concatenate([[0], np.repeat(heights / top, 2), [0]]))
        for heights in (-negatives, positives)
    ]


def _flagged_side(
    axes: Axes, solid: Sequence[Markup], thresholds: Floats, rule: str
) -> list[Markup]:
    """Show the solid areas from the (upper) threshold on: a window that moves."""
    if not thresholds.size:
        return []

    start = float(axes.px(thresholds.max()))
    width = max(axes.right - start, 0.0)
    height = axes.height - TOP - BOTTOM
    window = {
        "x": start,
        "y": TOP,
        "width": width,
        "height": height,
        "viewBox": f"{place(start)} {TOP} {place(width)} {height}",
    }

    return [
        element(
            "svg",
            "now window" if rule else "window",
            Markup("").join(solid),
            **window,
            data_x=rule or None,
        )
    ]


def _corner_counts(axes: Axes, figure: Figure) -> list[Markup]:
    """Write how many cases each of the four areas holds into its corner."""
    top = TOP + 10
    bottom = axes.height - BOTTOM - 6
    corners = (
        ("fn", "missed", "name", axes.left, top),
        ("tp", "found", "name end", axes.right, top),
        ("tn", "rightly passed", "name", axes.left, bottom),
        ("fp", "false alarms", "name end", axes.right, bottom),
    )

    marks = []
    counts = figure.counts or {}
    for cell, meaning, kind, x, y in corners if counts else ():
        number = element(
            "tspan", None, counts[cell], data_value=cell, data_kind="count"
        )
        count_and_meaning = Markup("{} {}").format(number, meaning)
        marks.append(element("text", kind, count_and_meaning, x=x, y=y))

    return marks


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


def _draw_forest(figure: Figure, data: Intervals, max_rows: int) -> Drawn:
    """Draw estimates with their intervals under one another.

    Names stand before the lines and numbers behind them, in columns of their own; a
    long name stands above its line. Of many the first ones are drawn; the table has all
    of them.
    """
    names = [_forest_name(name) for name in data.names[:max_rows]]
    numbers = _forest_numbers(data, max_rows)

    # rows grow by the lines of a long name above them
    heights = [ROW + TEXT * len(name.above) for name in names]
    bottoms = np.cumsum(heights, dtype=float)
    bottom = float(bottoms[-1])

    lines_of_names = []
    lines_of_numbers = []
    for name, number in zip(names, numbers, strict=True):
        lines_of_names += name.beside
        lines_of_numbers += number

    axes = Axes(
        data.label,
        "",
        _forest_range(data, max_rows),
        (bottom, 0.0),
        TOP + BOTTOM + int(bottom),
        bare=True,
        names_width=_column_width(lines_of_names),
        numbers_width=_column_width(lines_of_numbers),
    )

    marks: list[Markup] = []
    for row, name in enumerate(names):
        # colours tell classifiers apart, and only where they have an order
        hue = colour(row) if figure.order else colour(0)
        middle = bottoms[row] - 0.5 * ROW
        marks += _forest_row(axes, data, row, middle, hue)
        marks += _forest_words(axes, name, numbers[row], middle)

    description = f"{data.label} of each {figure.of} with its interval. {figure.note}"
    columns = (data.value, data.low, data.high, *data.marks.values())
    rows = zip(data.names, *(column.tolist() for column in columns), strict=True)
    head = (figure.of, data.label, "from", "to", *data.marks)
    svg = drawing(axes, marks, description.strip())

    return svg, table(figure.title, head, rows)


def _forest_numbers(data: Intervals, max_rows: int) -> list[list[str]]:
    """Return the lines of each estimate that is drawn, with equal decimals in all."""
    intervals = []
    for value, low, high in zip(data.value, data.low, data.high, strict=True):
        intervals.append(estimate_from_interval(value, low, high))

    # decimals follow from all estimates, also those that only the table has
    texts = in_column(intervals)
    return [_number_lines(text) for text in texts[:max_rows]]


class ForestName(NamedTuple):
    """The lines of a name that stand before its interval, and those above it."""

    beside: list[str]
    above: list[str]


def _forest_name(name: str) -> ForestName:
    """Break a name at its minus sign or between words; a long one stands above.

    >>> _forest_name("logistic - boosting").beside
    ['logistic -', 'boosting']
    """
    full_name = shown(name, 3 * WIDE)
    if len(full_name) <= NAME:
        return ForestName(beside=[full_name], above=[])

    lines = textwrap.wrap(
        full_name.replace(" \N{MINUS SIGN} ", " \N{MINUS SIGN}\xa0"), NAME
    )
    if len(lines) <= 2:
        return ForestName(beside=lines, above=[])

    above = [full_name[k : k + WIDE] for k in range(0, len(full_name), WIDE)]
    return ForestName(beside=[], above=above)


def _number_lines(number: str) -> list[str]:
    """Return an estimate, and its interval on the next line."""
    value, _, interval = number.partition(" (")
    return [value, interval.removesuffix(")")] if interval else [value]


def _column_width(lines: Iterable[str]) -> int:
    """Return the width of a column of words, with the space beside it."""
    longest = max((len(text_line) for text_line in lines), default=0)
    return round(LETTER_OF_NAME * longest) + 10 if longest else 0


def _forest_range(data: Intervals, max_rows: int) -> tuple[float, float]:
    """Return a range that holds every interval that is drawn, with a little room."""
    columns = (data.value, data.low, data.high, *data.marks.values())
    ends = np.concatenate([column[:max_rows] for column in columns])
    ends = ends[np.isfinite(ends)]
    if data.zero is not None:
        ends = np.append(ends, 0.0)

    low = 0.0
    high = 1.0
    if ends.size:
        low = ends.min()
        high = ends.max()

    # in parts: the whole may overflow
    room = 0.08 * high - 0.08 * low or 0.05
    largest = np.finfo(float).max
    return max(low - room, -largest), min(high + room, largest)


def _forest_row(
    axes: Axes, data: Intervals, k: int, middle: float, kind: str
) -> list[Markup]:
    """Draw one estimate with its interval, and what is to be seen beside it."""
    marks = []
    low, high = data.low[k], data.high[k]
    if data.zero is not None:
        ends = [middle + 0.5 * ROW, middle - 0.5 * ROW]
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
    axes: Axes, name: ForestName, number: Sequence[str], middle: float
) -> list[Markup]:
    """Write the name before, or above, the interval and the numbers behind it."""
    centre = float(axes.py(middle))
    top_of_row = float(axes.py(middle - 0.5 * ROW))

    return [
        *(
            text("name", RIGHT, top_of_row - TEXT * row - 1, name_line)
            for row, name_line in enumerate(reversed(name.above))
        ),
        *_lines_around(name.beside, RIGHT, centre, "name"),
        *_lines_around(number, WIDTH - RIGHT, centre, "name end"),
    ]


def _lines_around(
    lines: Sequence[str], across: float, centre: float, kind: str
) -> list[Markup]:
    """Write one or two lines of words whose middle is at a height."""
    first = centre + 4 - 0.5 * LINE_OF_NAME * (len(lines) - 1)
    return [
        text(
            kind if not row else f"{kind} second",
            across,
            first + LINE_OF_NAME * row,
            text_line,
        )
        for row, text_line in enumerate(lines)
    ]


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
        hue = colour(index)
        across, left, right = data.across[index].tolist()
        up, low, high = data.up[index].tolist()
        marks.append(line(axes, [left, right], [up, up], hue))
        marks.append(line(axes, [across, across], [low, high], hue))
        marks.append(dot(axes, across, up, hue))

        # at the upper right of the point, clear of both intervals
        label_x = float(axes.px(across)) + 7
        label_y = float(axes.py(up)) - 6
        labels.append(text("name", label_x, label_y, number))
        rows.append((f"{number} {name}", up, low, high, across, left, right))

    head = (figure.of, data.y.title, "from", "to", data.x.title, "from", "to")
    description = (
        f"{figure.title}: {data.y.title} against {data.x.title}. {figure.note}"
    )
    # numbers over all intervals
    svg = drawing(axes, [*marks, *labels], description)

    return svg, table(figure.title, head, rows)


def _draw_matrix(figure: Figure, data: Matrix) -> Drawn:
    """Draw a number for each pair of names as a cell."""
    size = len(data.names)
    cell_width = (WIDTH - LEFT - RIGHT) / max(size - 1, 1)
    cell_height = min(cell_width, 46.0)
    marks = []
    rows = []

    # the lower triangle: each pair once
    for row, column in zip(*np.tril_indices(size, -1), strict=True):
        value = float(data.value[row, column])
        rows.append((data.names[column], data.names[row], value))
        if np.isfinite(value):
            left = LEFT + cell_width * column
            top = TOP + cell_height * (row - 1)
            marks += _cell(left, top, cell_width, cell_height, value)

    marks += _matrix_numbers(size, cell_width, cell_height)
    description = f"{figure.title}: {data.label} of each pair. {figure.note}"
    numbers = table(figure.title, ("first", "second", data.label), rows)

    return picture(TOP + cell_height * size, description, marks), numbers


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
