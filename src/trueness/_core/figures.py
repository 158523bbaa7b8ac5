"""What does a figure show, before anybody draws it? Numbers and words without ink.

The module ``figures`` of a room turns tallies and records into these values, once;
``trueness.plots`` draws them with Altair or on axes of matplotlib, ``trueness.report``
as SVG. So a figure of a paper, of a notebook and of the report cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats

POINTS = 400  # a line is drawn with at most so many


@final
@dataclass(frozen=True)
class Axis:
    """One axis: the column it shows, its title, its range, and its marks if special.

    ``ticks`` are places and their texts, where the scale is not the plain one.
    """

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
    ``rules`` are names and places of upright lines.
    """

    what: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...] = ()
    bands: tuple[Line, ...] = ()
    guides: tuple[Line, ...] = ()
    dots: tuple[Line, ...] = ()
    rules: tuple[tuple[str, float], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Name what is told apart by its colour."""
        return tuple(dict.fromkeys(line.name for line in (*self.lines, *self.dots)))

    def guide(self, x: Any, y: Any, name: str = "") -> Line:
        """Make a line to compare with, from its points."""
        return guide(self.x, self.y, x, y, name)


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
        return _share(self.neg[name]), _share(self.pos[name])


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


def span(name: str, title: str, *values: Any) -> Axis:
    """Make an axis as long as these values need."""
    every = np.concatenate([np.ravel(np.asarray(v, dtype=np.float64)) for v in values])
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    return Axis(name, title, low, high if high > low else low + 1.0)


def guide(x: Axis, y: Axis, across: Any, up: Any, name: str = "") -> Line:
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


def _share(count: Floats) -> Floats:
    total = count.sum()
    return count / total if total else count
