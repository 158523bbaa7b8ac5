"""Figure data: what a figure shows, before anybody draws it.

The module ``figures`` of a room turns tallies and records into these values, once.
``trueness.plots`` draws them on axes of matplotlib, ``trueness.reports.svg`` as SVG. So
a figure of a paper, of a notebook and of the report cannot disagree. A line has few
points (``few_points``); notebooks show small tables and curves, all escaped.
"""

from __future__ import annotations

import base64
import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.progress import stop_if_requested

POINTS = 400  # a line is drawn with at most so many


@final
@dataclass(frozen=True)
class Axis:
    """One axis: the column it shows, its title, its range, and special marks."""

    name: str
    title: str
    low: float = 0.0
    high: float = 1.0
    ticks: tuple[tuple[float, str], ...] = ()


@final
@dataclass(frozen=True)
class Line:
    """One line, or one band: a name and columns of equal length.

    A line has the columns that the axes name, often also ``cut``, the threshold at each
    point; a band has ``low`` and ``high`` in place of the vertical one.
    """

    name: str
    columns: Mapping[str, Array]

    def __getitem__(self, column: str) -> Array:
        """Return one column."""
        return self.columns[column]


@final
@dataclass(frozen=True)
class Curves:
    """Curves over common axes, with bands around them and lines to compare them with.

    ``guides`` are lines to compare a curve with, such as guessing; the legend lists
    those with a name. ``dots`` are points, in the colour of the line of their name;
    ``rules`` are names and places of upright lines; ``rule_sides`` says on which side
    of its line each name stands, "left" or "right", where that matters.
    """

    what: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...] = ()
    bands: tuple[Line, ...] = ()
    guides: tuple[Line, ...] = ()
    dots: tuple[Line, ...] = ()
    rules: tuple[tuple[str, float], ...] = ()
    rule_sides: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of what is distinguished by its colour."""
        return tuple(dict.fromkeys(line.name for line in (*self.lines, *self.dots)))

    def name_on_the_right(self, k: int) -> bool:
        """Return whether the name of the k-th rule stands on its right."""
        if self.rule_sides:
            return self.rule_sides[k] == "right"
        return self.rules[k][1] < (self.x.low + self.x.high) / 2


@final
@dataclass(frozen=True)
class Bars:
    """Histograms of scores: for each classifier counts by class between edges."""

    what: str
    edges: Floats
    neg: Mapping[str, Floats]
    pos: Mapping[str, Floats]

    def shares(self, name: str) -> tuple[Floats, Floats]:
        """Return the negatives and positives of one classifier as proportions."""
        neg, pos = self.neg[name], self.pos[name]
        return neg / (neg.sum() or 1), pos / (pos.sum() or 1)


@final
@dataclass(frozen=True)
class Intervals:
    """Estimates with their intervals under one another: a forest."""

    what: str
    label: str
    names: tuple[str, ...]
    value: Floats
    low: Floats
    high: Floats
    zero: float | None = None  # what an estimate is held against
    keys: tuple[str, str] = ("name", "value")  # what stands in a row, and its number
    more: Mapping[str, Array] = field(default_factory=dict)
    marks: Mapping[str, Floats] = field(default_factory=dict)  # to be seen beside it


@final
@dataclass(frozen=True)
class Crosses:
    """Points with an interval in both directions, each with its name.

    ``x`` and ``y`` are axes; ``across`` and ``up`` hold value, low and high of each.
    """

    what: str
    x: Axis
    y: Axis
    names: tuple[str, ...]
    across: Floats  # (n, 3)
    up: Floats  # (n, 3)
    guides: tuple[Line, ...] = ()
    key: str = "name"  # what has a cross


@final
@dataclass(frozen=True)
class Matrix:
    """A number for each pair of names, between -1 and 1; the diagonal is not shown."""

    what: str
    label: str
    names: tuple[str, ...]
    value: Floats


@final
@dataclass(frozen=True)
class Node:
    """One node of a diagram: its place, its mark and its words.

    ``y`` grows downwards, as trees do. ``shape`` is "circle", "square", "triangle",
    "diamond" or "cross", and "" for words without a mark. ``level`` decides the colour.
    """

    x: float
    y: float
    above: str = ""
    inside: str = ""
    below: str = ""
    shape: str = ""
    size: float = 1.0  # area, relative to the largest node
    level: float | None = None
    readout: str = ""


@final
@dataclass(frozen=True)
class Plate:
    """A box around the part of a diagram that is repeated, with its words."""

    left: float
    top: float
    right: float
    bottom: float
    text: str


@final
@dataclass(frozen=True)
class Diagram:
    """Nodes and the edges between them: a tree, or the graph of a model.

    ``shapes`` says what each shape means; ``level_title`` is the title of the colours,
    from ``level_range[0]`` to ``level_range[1]``.
    """

    what: str
    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]
    directed: bool = False
    plates: tuple[Plate, ...] = ()
    shapes: Mapping[str, str] = field(default_factory=dict)
    level_title: str = ""
    level_range: tuple[float, float] = (0.5, 1.0)


@final
@dataclass(frozen=True)
class Panels:
    """Figures beside one another, ``columns`` in a row.

    ``heights`` are those of the rows, relative to the first; ``joined`` panels lie
    below one another over the same horizontal axis.
    """

    what: str
    parts: tuple[Curves, ...]
    titles: tuple[str, ...] = ()
    columns: int = 1
    heights: tuple[float, ...] = (1.0,)
    joined: bool = False


FigureData = Curves | Bars | Intervals | Crosses | Matrix | Diagram | Panels


@final
@dataclass(frozen=True)
class TitledFigure:
    """Figure data with the title above it and its description for screen readers."""

    data: FigureData
    title: str = ""
    description: str = ""


def described(data: FigureData) -> str:
    """Return the description of a figure that has no better one."""
    names = [name for name in getattr(data, "names", ()) if name != data.what]
    if not names:
        return data.what
    joint = " with intervals: " if isinstance(data, Intervals | Crosses) else " of "
    return data.what + joint + ", ".join(names)


def score_bands(bars: Bars) -> Curves | Panels:
    """Return the histograms of two classes as areas, one panel for each classifier."""
    proportions = {name: bars.shares(name) for name in bars.neg}
    top = max(float(max(neg.max(), pos.max())) for neg, pos in proportions.values())
    x = span("score", "Score", bars.edges)
    y = Axis("share", "Proportion of each class", 0, 1.05 * top)
    title = f"Scores of negatives and positives by {', '.join(proportions)}"

    panels = []
    for neg, pos in proportions.values():
        areas = (
            histogram_area("negative", bars.edges, neg),
            histogram_area("positive", bars.edges, pos),
        )
        panels.append(Curves(title, x, y, bands=areas))
    if len(panels) == 1:
        return panels[0]
    return Panels(title, tuple(panels), tuple(proportions), heights=(0.5,))


def histogram_area(name: str, edges: Floats, heights: Floats) -> Line:
    """Return a histogram as the area between 0 and its outline."""
    outline = np.concatenate([[0.0], heights.repeat(2), [0.0]])
    return Line(name, {"score": edges.repeat(2), "low": 0 * outline, "high": outline})


def span(name: str, title: str, *values: ArrayLike) -> Axis:
    """Return an axis as long as these values need."""
    columns = [np.ravel(np.asarray(column, dtype=np.float64)) for column in values]
    low = float(np.nanmin(np.concatenate(columns)))
    high = float(np.nanmax(np.concatenate(columns)))
    if high <= low:
        high = low + 1.0
    return Axis(name, title, low, high)


def guide(
    x: Axis, y: Axis, x_values: ArrayLike, y_values: ArrayLike, name: str = ""
) -> Line:
    """Return a line to compare with, from its points."""
    return Line(name, {x.name: np.asarray(x_values), y.name: np.asarray(y_values)})


def intervals(
    what: str,
    label: str,
    estimates: Mapping[str, Any],
    *,
    zero: float | None = None,
    keys: tuple[str, str] = ("name", "value"),
    **other_columns: Array,
) -> Intervals:
    """Return a figure of estimates under one another, with their intervals."""
    return Intervals(
        what,
        label,
        names=tuple(estimates),
        value=np.array([float(estimate.value) for estimate in estimates.values()]),
        low=np.array([float(estimate.low) for estimate in estimates.values()]),
        high=np.array([float(estimate.high) for estimate in estimates.values()]),
        zero=zero,
        keys=keys,
        more=other_columns,
    )


# above this many points a first thinning, with a known error, saves the long search
_MAX_SEARCHED_POINTS = 50_000
_LONGEST_STRETCH = 1e-4
# squares of distances near 1e-16 are rounding, not shape
_ROUNDING = 1e-15


def few_points(x: Floats, y: Floats, max_points: int, allowed: float) -> Array:
    """Return points, at most ``max_points``, that keep a line within ``allowed``.

    Points are added where the line is farthest from its simplification, until it is
    near enough or has as many points as it may (Douglas, Peucker 1973,
    doi:10.3138/FM57-6770-U75U-7727).

    >>> few_points(np.arange(4.0), np.array([0.0, 1.0, 2.0, 0.0]), 100, 0.01)
    array([0, 2, 3])
    """
    candidates = np.arange(x.size)
    if x.size > _MAX_SEARCHED_POINTS:
        candidates = _one_point_a_stretch(x, y, allowed)
    # a thinned curve must be nearer: points that are left out may lie farther away
    near_enough = allowed if candidates.size == x.size else allowed / 2

    line_x = x[candidates]
    line_y = y[candidates]
    last_point = candidates.size - 1
    kept_points = {0, last_point}
    # the chord that is farthest from its part of the line comes first
    chords = [_chord(line_x, line_y, 0, last_point)] if last_point > 0 else []
    while (
        chords
        and len(kept_points) < max_points
        and -chords[0].minus_distance > near_enough
    ):
        stop_if_requested()
        worst = heapq.heappop(chords)
        kept_points.add(worst.farthest)
        if worst.farthest - worst.start > 1:
            heapq.heappush(chords, _chord(line_x, line_y, worst.start, worst.farthest))
        if worst.end - worst.farthest > 1:
            heapq.heappush(chords, _chord(line_x, line_y, worst.farthest, worst.end))

    return np.asarray(candidates[sorted(kept_points)])


def _one_point_a_stretch(x: Floats, y: Floats, allowed: float) -> Array:
    """Return the points at which a line enters a new short stretch of its length."""
    stretch_length = _LONGEST_STRETCH
    if allowed:
        stretch_length = min(stretch_length, allowed / 4)
    step_length = np.abs(np.diff(x)) + np.abs(np.diff(y))
    stretch = np.floor(np.cumsum(step_length) / stretch_length)
    enters = np.flatnonzero(np.diff(stretch, prepend=-1.0) > 0)
    return np.unique(np.concatenate([[0], enters, enters + 1, [x.size - 1]]))


class _Chord(NamedTuple):
    """A straight line in place of a part of a curve, and the point farthest from it."""

    minus_distance: float  # so that a heap has the largest distance first
    start: int
    farthest: int
    end: int


def _chord(x: Floats, y: Floats, start: int, end: int) -> _Chord:
    """Return the chord between two points of a line."""
    points = slice(start, end + 1)
    distances = _distances_from_chord(x[points], y[points])
    farthest = int(np.argmax(distances))
    distance = float(distances[farthest])
    if distance <= _ROUNDING:
        distance = 0.0
    return _Chord(-distance, start, start + farthest, end)


def _distances_from_chord(x: Floats, y: Floats) -> Floats:
    """Return how far the points of a line are from the chord between its ends.

    In place, and without checks: a figure asks for thousands of short chords.
    """
    # from the start of the chord to each point, and to its end
    point_x = x - x[0]
    point_y = y - y[0]
    chord_x = float(point_x[-1])
    chord_y = float(point_y[-1])
    square = chord_x * chord_x + chord_y * chord_y
    if not square > 0:
        return np.asarray(np.hypot(point_x, point_y))

    # the place of the nearest point of the chord, from 0 at its start to 1 at its end
    along = point_x * chord_x
    along += point_y * chord_y
    along /= square
    np.maximum(along, 0.0, out=along)
    np.minimum(along, 1.0, out=along)
    point_x -= along * chord_x
    point_y -= along * chord_y
    return np.asarray(np.hypot(point_x, point_y))


def largest_distance(x: Floats, y: Floats, kept_points: Array) -> float:
    """Return how far any point is from the chord that replaced it."""
    chord = np.repeat(np.arange(kept_points.size - 1), np.diff(kept_points))
    start = kept_points[chord]
    end = kept_points[chord + 1]
    # from the start of the chord to its end, and to the point
    chord_x = x[end] - x[start]
    chord_y = y[end] - y[start]
    point_x = x[: chord.size] - x[start]
    point_y = y[: chord.size] - y[start]

    # as in ``_distances_from_chord``, of all chords at once
    square = chord_x * chord_x + chord_y * chord_y
    with np.errstate(invalid="ignore", divide="ignore"):
        along = np.clip((point_x * chord_x + point_y * chord_y) / square, 0.0, 1.0)
    # a closed loop has a chord without length: its only point is the start
    along = np.where(square > 0, along, 0.0)

    distance = np.hypot(point_x - along * chord_x, point_y - along * chord_y)
    largest = float(distance.max(initial=0.0))
    return largest if largest > _ROUNDING else 0.0


SIDE = 160  # of the drawing of a curve
INK = "#767676"  # an image does not know the colours of its page: legible on both


def html_table(head: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """Write a small table; every cell is escaped, a list of lines is one a line."""
    titles = "".join(f"<th>{escape(str(title))}</th>" for title in head)
    body = ""
    for row in rows:
        cells = "".join(f"<td>{_html_cell(value)}</td>" for value in row)
        body += f"<tr>{cells}</tr>"
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(value: object) -> str:
    """Write what stands in a cell: one value, or a list of lines."""
    lines = value if isinstance(value, list) else [value]
    return "<br>".join(escape(str(line)) for line in lines)


def image(svg: str, text: str) -> str:
    """Show a drawing as an image.

    Jupyter removes drawings from the HTML of notebooks that somebody else ran, until
    they are trusted; it keeps images.
    """
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{escape(text)}" src="data:image/svg+xml;base64,{data}">'
