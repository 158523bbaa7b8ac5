"""The frame of a figure: its axes, its legend, and names beside points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array
from trueness._core.figures import Axis
from trueness._core.imports import required

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# points below the axes
_TICKS_AND_TITLE = 30
_TURNED_TICKS = 52

# more letters of tick labels than this do not fit side by side
_LETTERS_OF_TICKS = 50

_LONGEST_DIRECT_NAME = 16
_MOST_DIRECT_NAMES = 8

# points
_NAME_SIZE = 7.0
_LETTER_WIDTH = 0.6 * _NAME_SIZE
_LINE_HEIGHT = 1.2 * _NAME_SIZE
_POINT_RADIUS = 3

# where a name may stand, in points from its point; the first that is free is taken
_OFFSETS = ((5, 2), (-5, 2), (5, -10), (-5, -10), (5, 12), (-5, -20))


def set_axes(ax: Axes, x: Axis, y: Axis) -> None:
    """Set title, range and ticks of both axes."""
    ax.set_xlabel(x.title)
    ax.set_xlim(*_visible_range(x))
    _set_ticks(ax.set_xticks, x)

    if sum(len(text) for _, text in x.ticks) > _LETTERS_OF_TICKS:
        for label in ax.get_xticklabels():
            label.set(rotation=30, horizontalalignment="right")

    ax.set_ylabel(y.title)
    ax.set_ylim(*_visible_range(y))
    _set_ticks(ax.set_yticks, y)


def _visible_range(axis: Axis) -> tuple[float, float]:
    """Return the ends of an axis, with a margin where they are not 0 or 1."""
    # a line along the edge of the axes would be cut in half
    margin = 0.02 * (axis.high - axis.low)
    low = axis.low if axis.low in (0, 1) else axis.low - margin
    high = axis.high if axis.high in (0, 1) else axis.high + margin
    return low, high


def _set_ticks(set_ticks: Any, axis: Axis) -> None:
    if axis.ticks:
        places = [place for place, _ in axis.ticks]
        texts = [text for _, text in axis.ticks]
        set_ticks(places, texts)
    elif not axis.title:  # a density has no scale that anybody reads
        set_ticks([])


def put_legend_below(ax: Axes, *, handlelength: float) -> None:
    """Put the legend below the title of the horizontal axis, however high the axes."""
    transforms = required("matplotlib.transforms", "plots")
    turned = any(label.get_rotation() for label in ax.get_xticklabels())
    gap = _TURNED_TICKS if turned else _TICKS_AND_TITLE
    below = transforms.offset_copy(ax.transAxes, ax.figure, y=-gap, units="points")
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=below,
        borderaxespad=0,
        frameon=False,
        handlelength=handlelength,
    )


def halo() -> dict[str, Any]:
    """Return a white edge around letters, which lines may cross."""
    effects = required("matplotlib.patheffects", "plots")
    return {"path_effects": [effects.withStroke(linewidth=2, foreground="white")]}


def fit_beside_points(names: Sequence[str]) -> bool:
    """Return whether these names fit beside their points, and need no legend."""
    return (
        len(names) <= _MOST_DIRECT_NAMES
        and max(map(len, names), default=0) <= _LONGEST_DIRECT_NAME
    )


class NamedPoint(NamedTuple):
    """A point in the plane of the data, with the text that stands beside it."""

    x: float
    y: float
    text: str


class _Box(NamedTuple):
    """A rectangle of the page, in points."""

    left: float
    bottom: float
    right: float
    top: float

    def overlaps(self, other: _Box) -> bool:
        """Return whether the two share any part of the page."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )


def name_points(ax: Axes, points: Sequence[NamedPoint]) -> None:
    """Write names beside points, each where it covers no other name or point."""
    figure = ax.figure
    points_per_pixel = 72 / figure.dpi
    places = [
        ax.transData.transform((point.x, point.y)) * points_per_pixel
        for point in points
    ]
    frame = np.array(ax.get_window_extent().extents) * points_per_pixel

    taken = [
        _Box(
            across - _POINT_RADIUS,
            up - _POINT_RADIUS,
            across + _POINT_RADIUS,
            up + _POINT_RADIUS,
        )
        for across, up in places
    ]
    for point, (across, up) in zip(points, places, strict=True):
        box = _first_free_box(point.text, across, up, frame, taken)
        taken.append(box)
        ax.annotate(
            point.text,
            (point.x, point.y),
            xytext=(box.left - across, box.bottom - up),
            textcoords="offset points",
            fontsize=_NAME_SIZE,
            verticalalignment="bottom",
            annotation_clip=False,
            **halo(),
        )


def _first_free_box(
    text: str, across: float, up: float, frame: Array, taken: Sequence[_Box]
) -> _Box:
    """Return the first place around a point that is free; the first if none is."""
    boxes = list(_boxes_around(text, across, up))
    for box in boxes:
        inside = (
            box.left >= frame[0] and box.right <= frame[2] and box.bottom >= frame[1]
        )
        if inside and not any(box.overlaps(other) for other in taken):
            return box

    return boxes[0]


def _boxes_around(text: str, across: float, up: float) -> Iterator[_Box]:
    """Return where the name of a point may stand."""
    width = _LETTER_WIDTH * len(text)
    for to_the_right, upwards in _OFFSETS:
        left = across + to_the_right
        if to_the_right < 0:  # the name ends there
            left -= width
        bottom = up + upwards
        yield _Box(left, bottom, left + width, bottom + _LINE_HEIGHT)
