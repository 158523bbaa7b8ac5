"""SVG: estimates with their intervals under one another, a forest.

Names stand before the lines and numbers behind them, in columns of their own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from trueness._core.figures import Intervals
from trueness._core.numbers import in_column
from trueness._core.records import shown
from trueness.findings.records import Figure, Table, table
from trueness.inference.estimates import estimate_from_interval
from trueness.reports.svg_marks import (
    BOTTOM,
    RIGHT,
    TEXT_LINE_HEIGHT,
    TOP,
    WIDTH,
    Axes,
    Drawn,
    class_of_colour,
    dot,
    drawing,
    element,
    line,
    place,
    text,
)

# lengths in units of the drawing
ROW_HEIGHT = 36  # of an interval with two lines of words beside it
LINE_HEIGHT = 14  # of a line of a name
LETTER_WIDTH = 6.4  # of a letter of a name

LINE_OF_NAME_LETTERS = 18  # that fit before an interval
MAX_COLUMN_LETTERS = 52  # that fit on a line of the figure


class ForestName(NamedTuple):
    """The lines of a name that stand before its interval, and those above it."""

    beside: list[str]
    above: list[str]


def draw_forest(figure: Figure, data: Intervals, max_rows: int) -> Drawn:
    """Draw estimates with their intervals under one another.

    A long name stands above its line. Of many estimates the first ones are drawn; the
    table has all of them.
    """
    names = [_forest_name(name) for name in data.names[:max_rows]]
    numbers = _forest_numbers(data, max_rows)

    # rows grow by the lines of a long name above them
    heights = [ROW_HEIGHT + TEXT_LINE_HEIGHT * len(name.above) for name in names]
    bottoms = np.cumsum(heights, dtype=float)
    axes = _forest_axes(data, names, numbers, height=float(bottoms[-1]))

    marks: list[Markup] = []
    for row, name in enumerate(names):
        # colours tell classifiers apart, and only where they have an order
        hue = class_of_colour(row) if figure.order else class_of_colour(0)
        middle = bottoms[row] - 0.5 * ROW_HEIGHT
        marks += _forest_row(axes, data, row, middle, hue)
        marks += _forest_words(axes, name, numbers[row], middle)

    description = f"{data.label} of each {figure.of} with its interval. {figure.note}"
    svg = drawing(axes, marks, description.strip())

    return svg, _forest_table(figure, data)


def _forest_axes(
    data: Intervals,
    names: Sequence[ForestName],
    numbers: Sequence[list[str]],
    height: float,
) -> Axes:
    """Return axes with room for the names and the numbers; heights grow downwards."""
    lines_of_names = [line for name in names for line in name.beside]
    lines_of_numbers = [line for number in numbers for line in number]

    return Axes(
        data.label,
        "",
        _forest_range(data, max_rows=len(names)),
        (height, 0.0),
        TOP + BOTTOM + int(height),
        bare=True,
        names_width=_column_width(lines_of_names),
        numbers_width=_column_width(lines_of_numbers),
    )


def _forest_table(figure: Figure, data: Intervals) -> Table:
    """Return all estimates with their intervals, and what is marked beside them."""
    head = (figure.of, data.label, "from", "to", *data.marks)
    columns = (data.value, data.low, data.high, *data.marks.values())
    rows = zip(data.names, *(column.tolist() for column in columns), strict=True)
    return table(figure.title, head, rows)


def _forest_numbers(data: Intervals, max_rows: int) -> list[list[str]]:
    """Return the lines of each estimate that is drawn, with equal decimals in all."""
    intervals = []
    for value, low, high in zip(data.value, data.low, data.high, strict=True):
        intervals.append(estimate_from_interval(value, low, high))

    # decimals follow from all estimates, also those that only the table has
    texts = in_column(intervals)
    return [_number_lines(text) for text in texts[:max_rows]]


def _forest_name(name: str) -> ForestName:
    """Break a name at its minus sign or between words; a long one stands above.

    >>> _forest_name("logistic - boosting").beside
    ['logistic -', 'boosting']
    """
    full_name = shown(name, 3 * MAX_COLUMN_LETTERS)
    if len(full_name) <= LINE_OF_NAME_LETTERS:
        return ForestName(beside=[full_name], above=[])

    # a space that does not break keeps the minus sign of a negative number with it
    lines = textwrap.wrap(
        full_name.replace(" \N{MINUS SIGN} ", " \N{MINUS SIGN}\xa0"),
        LINE_OF_NAME_LETTERS,
    )
    if len(lines) <= 2:
        return ForestName(beside=lines, above=[])

    starts = range(0, len(full_name), MAX_COLUMN_LETTERS)
    above = [full_name[start : start + MAX_COLUMN_LETTERS] for start in starts]
    return ForestName(beside=[], above=above)


def _number_lines(number: str) -> list[str]:
    """Return an estimate, and its interval on the next line."""
    value, _, interval = number.partition(" (")
    return [value, interval.removesuffix(")")] if interval else [value]


def _column_width(lines: Iterable[str]) -> int:
    """Return the width of a column of words, with the space beside it."""
    longest = max((len(text_line) for text_line in lines), default=0)
    return round(LETTER_WIDTH * longest) + 10 if longest else 0


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
    axes: Axes, data: Intervals, row: int, middle: float, hue: str
) -> list[Markup]:
    """Draw one estimate with its interval, and what is to be seen beside it."""
    marks = []
    if data.zero is not None:
        # a piece of the broken line that all intervals are held against
        ends_of_row = [middle + 0.5 * ROW_HEIGHT, middle - 0.5 * ROW_HEIGHT]
        marks.append(line(axes, [data.zero, data.zero], ends_of_row, "chance"))

    low = data.low[row]
    high = data.high[row]
    if np.isfinite([low, high]).all():
        marks.append(line(axes, [low, high], [middle, middle], f"{hue} thick"))

    for values in data.marks.values():
        if np.isfinite(values[row]):
            marks.append(_diamond(axes, values[row], middle))

    marks.append(dot(axes, float(data.value[row]), middle, hue))
    return marks


def _diamond(axes: Axes, x: float, y: float) -> Markup:
    """Draw a diamond whose corners are 6 units from its middle."""
    top = f"M{place(axes.px(x))} {place(axes.py(y) - 6)}"
    return element("path", "line c1", d=f"{top}l6 6-6 6-6-6z")


def _forest_words(
    axes: Axes, name: ForestName, number: Sequence[str], middle: float
) -> list[Markup]:
    """Write the name before, or above, the interval and the numbers behind it."""
    centre = float(axes.py(middle))
    top_of_row = float(axes.py(middle - 0.5 * ROW_HEIGHT))

    # from the line just above the interval upwards
    marks_above = [
        text("name", RIGHT, top_of_row - TEXT_LINE_HEIGHT * row - 1, name_line)
        for row, name_line in enumerate(reversed(name.above))
    ]
    return [
        *marks_above,
        *_name_lines_around(name.beside, RIGHT, centre, "name"),
        *_name_lines_around(number, WIDTH - RIGHT, centre, "name end"),
    ]


def _name_lines_around(
    lines: Sequence[str], across: float, centre: float, kind: str
) -> list[Markup]:
    """Write one or two lines of words whose middle is at a height."""
    # letters stand about 4 units above and below their middle
    base_line = centre + 4 - 0.5 * LINE_HEIGHT * (len(lines) - 1)
    marks = []
    for row, text_line in enumerate(lines):
        style = f"{kind} second" if row else kind
        marks.append(text(style, across, base_line + LINE_HEIGHT * row, text_line))

    return marks
