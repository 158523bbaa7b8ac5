"""Lanes: where does each number lie on its scale?

A row of a table has the name, the lane, and the numbers in a column of their own, so
that no word lies over a line. A lane has no ``viewBox``: places are per cent of its
box, so that type and lines keep their size at every width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from trueness._core.arrays import Floats
from trueness._core.figures import Intervals
from trueness._core.numbers import in_column
from trueness._core.records import Estimate, shown
from trueness.findings.records import Figure, Lane, distinct_pair_names
from trueness.inference.estimates import estimate_from_interval
from trueness.reports.svg_marks import element, ticks

_LANE_MIDDLE = "50%"
_MAX_RANKED = 12  # classifiers on the first screen
_MAX_ROWS = 20  # of a forest; the table behind it has all
_MAX_NAME_LETTERS = 80  # of a name, or of both names of a pair


def draw_lane(lane: Lane) -> Markup:
    """Draw a number with its interval on its scale, and what to compare it with."""
    marks = [
        element("line", "lane-base", x1="0", x2="100%", y1="11", y2="11"),
        *_interval_marks(lane, y="11"),
    ]

    if lane.reference is not None:
        place = place_on_scale(lane.reference, lane.start, lane.end)
        marks.append(element("line", "lane-tick", x1=place, x2=place, y1="4", y2="18"))
        anchor = _text_anchor(lane.reference, lane.start, lane.end)
        text = lane.reference_text
        marks.append(element("text", f"tick {anchor}", text, x=place, y="29"))

    return element("svg", "lane", Markup("").join(marks), aria_hidden="true")


def _interval_marks(lane: Lane, y: str) -> list[Markup]:
    """Draw a value and its interval; what is undefined is not drawn."""
    marks = []
    if np.isfinite([lane.low, lane.high]).all():
        low = place_on_scale(lane.low, lane.start, lane.end)
        high = place_on_scale(lane.high, lane.start, lane.end)
        marks.append(element("line", "lane-interval", x1=low, x2=high, y1=y, y2=y))

    if np.isfinite(lane.value):
        place = place_on_scale(lane.value, lane.start, lane.end)
        marks.append(element("circle", "lane-dot", cx=place, cy=y, r="4.5"))

    return marks


def place_on_scale(value: float, start: float, end: float) -> str:
    """Return a place between both ends of a scale; what lies outside stands there."""
    # in halves: the whole scale may overflow
    fraction = (value / 2 - start / 2) / (end / 2 - start / 2)
    return css_percent(100 * min(max(fraction, 0.0), 1.0))


def css_percent(percent: float) -> str:
    """Write a place as CSS does."""
    return format(percent, ".2f") + "%"


def _text_anchor(value: float, start: float, end: float) -> str:
    """Return how a text stands at a place, so that it stays on the scale."""
    fraction = (value - start) / (end - start)
    if fraction < 0.2:
        return "begin"
    return "end" if fraction > 0.8 else "mid"


class RankedRow(NamedTuple):
    """A classifier in the ranking: its name, lane, and numbers.

    Classifiers in a tie share a cell: the first one has the rank of all of them and
    their number, and the others 0.
    """

    name: str
    lane: Markup
    value: str
    interval: str
    rank: str
    in_tie: int


class DrawnRanking(NamedTuple):
    """The ranking of the classifiers by AUC, and the axis under its lanes."""

    rows: list[RankedRow]
    axis: Markup
    n_left_out: int


def draw_ranking(
    areas: Sequence[tuple[str, Estimate]], ties: Sequence[int] = ()
) -> DrawnRanking:
    """Draw the AUC of each classifier with its interval, best first.

    ``ties`` are how many classifiers share each rank; without them there are no ranks.
    """
    best = areas[:_MAX_RANKED]
    estimates = [estimate for _, estimate in best]
    start, end = _ranking_range(estimates)
    grid, axis = _grid_and_axis(start, end, number_of_ticks=5)

    values = in_column([estimate.value for estimate in estimates], 3)
    ranks = _rank_cells(ties, len(best))
    rows = []
    for (name, estimate), value, rank in zip(best, values, ranks, strict=True):
        lane = Lane(estimate.value, estimate.low, estimate.high, start, end)
        marks = [*grid, *_interval_marks(lane, _LANE_MIDDLE)]
        drawing = element("svg", None, Markup("").join(marks), aria_hidden="true")
        interval = f"{estimate.low:.3f} to {estimate.high:.3f}"
        rows.append(RankedRow(shown(name), drawing, value, interval, *rank))

    return DrawnRanking(rows, axis, len(areas) - len(best))


def _ranking_range(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """Return the ends of a scale that holds all intervals, with a little room."""
    intervals = np.array(
        [[estimate.low, estimate.high, estimate.value] for estimate in estimates]
    )
    return _range_with_margin(intervals.ravel())


def _rank_cells(ties: Sequence[int], size: int) -> list[tuple[str, int]]:
    """Return the rank of each row, and over how many rows its cell goes.

    >>> _rank_cells([1, 2], 3)
    [('1', 1), ('2 to 3', 2), ('', 0)]
    """
    no_cell = ("", 0)
    cells: list[tuple[str, int]] = []
    rank = 1
    for tied in ties:
        ranks = str(rank)
        if tied > 1:
            ranks = f"{rank} to {rank + tied - 1}"

        # the ranking may end within a tie
        rows_left = size - len(cells)
        cells.append((ranks, min(tied, rows_left)))
        cells += [no_cell] * (tied - 1)
        rank += tied

    # rows without a rank
    cells += [no_cell] * (size - len(cells))
    return cells[:size]


class ForestRow(NamedTuple):
    """An estimate with its name, its lane, and its interval in words."""

    name: str
    lane: Markup
    value: str
    interval: str


class DrawnForest(NamedTuple):
    """Estimates under one another, the axis under their lanes, and what marks mean."""

    rows: list[ForestRow]
    axis: Markup
    label: str
    of: str
    marks: tuple[str, ...]
    n_left_out: int


def draw_forest(figure: Figure) -> DrawnForest | None:
    """Draw the intervals of a figure as rows with a lane; None for other figures."""
    data = figure.data
    if not isinstance(data, Intervals):
        return None

    start, end = _forest_range(data)
    grid, axis = _grid_and_axis(start, end, number_of_ticks=4)
    if data.zero is not None:
        place = place_on_scale(data.zero, start, end)
        grid.append(element("line", "zero", x1=place, x2=place, y1="0", y2="100%"))

    rows = []
    names = distinct_pair_names(
        [shown(name, 1000) for name in data.names], _MAX_NAME_LETTERS
    )
    texts = _texts_of_intervals(data)
    for row, (name, text) in enumerate(zip(names, texts, strict=True)):
        lane = Lane(data.value[row], data.low[row], data.high[row], start, end)
        marks = [*grid, *_interval_marks(lane, _LANE_MIDDLE)]
        marks += [
            _diamond(place_on_scale(values[row], start, end))
            for values in data.marks.values()
            if np.isfinite(values[row])
        ]
        value, _, interval = text.partition(" (")
        drawing = element("svg", None, Markup("").join(marks), aria_hidden="true")
        rows.append(ForestRow(name, drawing, value, interval.removesuffix(")")))

    return DrawnForest(
        rows[:_MAX_ROWS],
        axis,
        data.label,
        figure.of,
        tuple(data.marks),
        len(rows[_MAX_ROWS:]),
    )


def _texts_of_intervals(data: Intervals) -> list[str]:
    """Write each estimate with its interval, with equal decimals in all."""
    estimates = [
        estimate_from_interval(value, low, high)
        for value, low, high in zip(data.value, data.low, data.high, strict=True)
    ]
    return in_column(estimates)


def _forest_range(data: Intervals) -> tuple[float, float]:
    """Return the ends of a scale that holds every interval and zero, with room."""
    columns = (data.value, data.low, data.high, *data.marks.values())
    ends = np.concatenate([column[:_MAX_ROWS] for column in columns])
    if data.zero is not None:
        ends = np.append(ends, data.zero)

    return _range_with_margin(ends)


def _range_with_margin(ends: Floats) -> tuple[float, float]:
    """Return the ends of a scale that holds all finite values, with a little room."""
    ends = ends[np.isfinite(ends)]
    low = 0.0
    high = 1.0
    if ends.size:
        low = float(ends.min())
        high = float(ends.max())

    # in parts: the whole may overflow
    room = (0.06 * high - 0.06 * low) or 0.01
    if low >= 0.0 and high <= 1.0:
        # proportions stay where proportions are
        return max(low - room, 0.0), min(high + room, 1.0)
    largest = float(np.finfo(float).max)
    return max(low - room, -largest), min(high + room, largest)


def _diamond(place: str) -> Markup:
    """Mark another value of the same row."""
    shape = element("path", "diamond", d="M0-6l6 6-6 6-6-6z")
    return element("svg", "mark", shape, x=place, y=_LANE_MIDDLE)


def _grid_and_axis(
    start: float, end: float, number_of_ticks: int
) -> tuple[list[Markup], Markup]:
    """Draw the upright lines of a lane, and the numbers under the last one."""
    grid = []
    labels = []
    for tick, number in ticks(start, end, number=number_of_ticks):
        place = place_on_scale(tick, start, end)
        grid.append(element("line", "grid", x1=place, x2=place, y1="0", y2="100%"))
        labels.append(element("text", "tick mid", number, x=place, y="14"))

    return grid, element("svg", None, Markup("").join(labels), aria_hidden="true")
