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
from typing import Any, final

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
        """Give one column."""
        return self.columns[column]


@final
@dataclass(frozen=True)
class Curves:
    """Curves over common axes, with bands around them and lines to compare them with.

    ``guides`` are what a curve is held against, such as guessing; those with a name
    stand in the legend. ``dots`` are points, in the colour of the line of their name;
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
        """Name what is told apart by its colour."""
        return tuple(dict.fromkeys(line.name for line in (*self.lines, *self.dots)))

    def name_on_the_right(self, k: int) -> bool:
        """Does the name of the k-th rule stand on its right, where more room is?"""
        if self.rule_sides:
            return self.rule_sides[k] == "right"
        return self.rules[k][1] < (self.x.low + self.x.high) / 2


@final
@dataclass(frozen=True)
class Bars:
    """How are scores spread? For each classifier counts by class between edges."""

    what: str
    edges: Floats
    neg: Mapping[str, Floats]
    pos: Mapping[str, Floats]

    def shares(self, name: str) -> tuple[Floats, Floats]:
        """Give the negatives and the positives of one classifier as shares of each."""
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
    edges = bars.edges.repeat(2)
    outlines = {
        name: [np.array([0, *heights.repeat(2), 0]) for heights in bars.shares(name)]
        for name in bars.neg
    }
    top = max(float(up.max()) for both in outlines.values() for up in both)
    x = span("score", "Score", edges)
    y = Axis("share", "Proportion of each class", 0, 1.05 * top)
    what = f"Scores of negatives and positives by {', '.join(outlines)}"
    parts = [
        Curves(
            what,
            x,
            y,
            bands=(
                Line("negative", {"score": edges, "low": 0 * neg, "high": neg}),
                Line("positive", {"score": edges, "low": 0 * pos, "high": pos}),
            ),
        )
        for neg, pos in outlines.values()
    ]
    if len(parts) == 1:
        return parts[0]
    return Panels(what, tuple(parts), tuple(outlines), heights=(0.5,))


def span(name: str, title: str, *values: ArrayLike) -> Axis:
    """Make an axis as long as these values need."""
    every = np.concatenate([np.ravel(np.asarray(v, dtype=np.float64)) for v in values])
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    return Axis(name, title, low, high if high > low else low + 1.0)


def guide(x: Axis, y: Axis, across: ArrayLike, up: ArrayLike, name: str = "") -> Line:
    """Make a line to compare with, from its points."""
    return Line(name, {x.name: np.asarray(across), y.name: np.asarray(up)})


def intervals(
    what: str,
    label: str,
    estimates: Mapping[str, Any],
    *,
    zero: float | None = None,
    keys: tuple[str, str] = ("name", "value"),
    **more: Any,
) -> Intervals:
    """Put estimates, by name, under one another."""
    value, low, high = (
        np.array([getattr(e, k) for e in estimates.values()], dtype=np.float64)
        for k in ("value", "low", "high")
    )
    return Intervals(what, label, tuple(estimates), value, low, high, zero, keys, more)


# above this many points a first thinning, with a known error, saves the long search
_MANY = 50_000
_THIN = 1e-4


def few_points(x: Floats, y: Floats, most: int, allowed: float) -> Array:
    """Which points keep a line within ``allowed`` of itself, ``most`` of them?

    Points are added where the line is farthest from its simplification, until both
    wishes are met (Douglas, Peucker 1973, doi:10.3138/FM57-6770-U75U-7727).

    >>> few_points(np.arange(4.0), np.array([0.0, 1.0, 2.0, 0.0]), 100, 0.01)
    array([0, 2, 3])
    """
    among = np.arange(x.size)
    if x.size > _MANY:  # choose from one point for each short stretch
        step = min(_THIN, allowed / 4) if allowed else _THIN
        length = np.abs(np.diff(x)) + np.abs(np.diff(y))
        stretch = np.floor(np.cumsum(length) / step)
        new = np.flatnonzero(np.diff(stretch, prepend=-1.0) > 0)
        among = np.unique(np.concatenate([[0], new, new + 1, [x.size - 1]]))
    px, py = x[among], y[among]
    kept, last = {0, among.size - 1}, among.size - 1
    heap = [_worst(px, py, 0, last)] if last > 0 else []
    # a thinned curve is good enough a little earlier: the rest is measured at the end
    goal = allowed if among.size == x.size else allowed / 2
    while heap and len(kept) < most and -heap[0][0] > goal:
        stop_if_requested()
        _, first, middle, end = heapq.heappop(heap)
        kept.add(middle)
        for part in ((first, middle), (middle, end)):
            if part[1] - part[0] > 1:
                heapq.heappush(heap, _worst(px, py, *part))
    return np.asarray(among[sorted(kept)])


def _worst(x: Floats, y: Floats, first: int, last: int) -> tuple[float, int, int, int]:
    """Give (minus) the largest distance from a chord, and where it is."""
    inside = slice(first, last + 1)
    away = _distance_from_chord(x[inside], y[inside])
    at = int(np.argmax(away))
    # squares of distances near 1e-16 are rounding, not shape
    size = float(away[at]) if away[at] > 1e-15 else 0.0
    return -size, first, first + at, last


def _distance_from_chord(x: Floats, y: Floats) -> Floats:
    """How far are the points of a line from the chord between its ends?

    The same numbers as ``_distance``, for one chord: a figure asks for thousands of
    short ones, for which the checks of arrays would take most of the time.
    """
    right = x - x[0]
    up = y - y[0]
    dx = float(right[-1])
    dy = float(up[-1])
    square = dx * dx + dy * dy
    if not square > 0:
        return np.asarray(np.hypot(right, up))
    along = right * dx
    along += up * dy
    along /= square
    np.maximum(along, 0.0, out=along)
    np.minimum(along, 1.0, out=along)
    right -= along * dx
    up -= along * dy
    return np.asarray(np.hypot(right, up))


def _distance(x: Floats, y: Floats, start: Any, end: Any) -> Floats:
    """How far are points from the straight line between two ends?"""
    dx, dy = end[0] - start[0], end[1] - start[1]
    square = dx * dx + dy * dy
    ax, ay = x - start[0], y - start[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        along = np.clip((ax * dx + ay * dy) / square, 0.0, 1.0)
    along = np.where(square > 0, along, 0.0)
    return np.asarray(np.hypot(ax - along * dx, ay - along * dy))


def largest_distance(x: Floats, y: Floats, kept: Array) -> float:
    """How far is any point from the chord that replaced it?"""
    chord = np.repeat(np.arange(kept.size - 1), np.diff(kept))
    at = np.arange(chord.size)
    start, end = kept[chord], kept[chord + 1]
    away = _distance(x[at], y[at], (x[start], y[start]), (x[end], y[end]))
    largest = float(away.max(initial=0.0))
    return largest if largest > 1e-15 else 0.0


SIDE = 160  # of the drawing of a curve
INK = "#767676"  # an image does not know the colours of its page: legible on both


def html_table(head: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """Write a small table; every cell is escaped, a list of lines is one a line."""
    top = "".join(f"<th>{escape(str(h))}</th>" for h in head)
    body = ""
    for row in rows:
        lines = (cell if isinstance(cell, list) else [cell] for cell in row)
        cells = ("<br>".join(escape(str(line)) for line in each) for each in lines)
        body += f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def image(svg: str, text: str) -> str:
    """Show a drawing as an image.

    Jupyter removes drawings from the HTML of notebooks that somebody else ran, until
    they are trusted; it keeps images.
    """
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{escape(text)}" src="data:image/svg+xml;base64,{data}">'
