"""What is drawn on the first screen of a report?

Lanes that show where a number lies on its scale, the ranking of the classifiers, and
what flagging more cases brings. A lane and a plot have no ``viewBox``: places are per
cent of their box, so that type and lines keep their size at every width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from trueness._core.arrays import Floats
from trueness._core.figures import few_points
from trueness._core.numbers import in_column
from trueness._core.records import Estimate, shown
from trueness.findings.records import Lane
from trueness.reports.svg_marks import element, ticks

_LANE_MIDDLE = "50%"
_UNSEEN = 0.0008  # of the height of a plot: lines may be off by so much
_MAX_RANKED = 12  # classifiers on the first screen


def draw_lane(lane: Lane) -> Markup:
    """Draw a number with its interval on its scale, and what to compare it with."""
    marks = [
        element("line", "lane-base", x1="0", x2="100%", y1="11", y2="11"),
        *_interval_marks(lane, y="11"),
    ]

    if lane.reference is not None:
        place = _percent(lane.reference, lane.start, lane.end)
        marks.append(element("line", "lane-tick", x1=place, x2=place, y1="4", y2="18"))
        anchor = _anchor(lane.reference, lane.start, lane.end)
        text = lane.reference_text
        marks.append(element("text", f"tick {anchor}", text, x=place, y="29"))

    return element("svg", "lane", Markup("").join(marks), aria_hidden="true")


def _interval_marks(lane: Lane, y: str) -> list[Markup]:
    """Draw a value and its interval; what is undefined is not drawn."""
    marks = []
    if np.isfinite([lane.low, lane.high]).all():
        low = _percent(lane.low, lane.start, lane.end)
        high = _percent(lane.high, lane.start, lane.end)
        marks.append(element("line", "lane-interval", x1=low, x2=high, y1=y, y2=y))

    if np.isfinite(lane.value):
        place = _percent(lane.value, lane.start, lane.end)
        marks.append(element("circle", "lane-dot", cx=place, cy=y, r="4.5"))

    return marks


def _percent(value: float, start: float, end: float) -> str:
    """Return a place between both ends of a scale; what lies outside stands there."""
    fraction = (value - start) / (end - start)
    return _place(100 * min(max(fraction, 0.0), 1.0))


def _place(percent: float) -> str:
    """Write a place as CSS does."""
    return format(percent, ".2f") + "%"


def _anchor(value: float, start: float, end: float) -> str:
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
    start, end = _scale_of(estimates)

    grid = []
    labels = []
    for tick, number in ticks(start, end, about=6):
        place = _percent(tick, start, end)
        grid.append(element("line", "grid", x1=place, x2=place, y1="0", y2="100%"))
        labels.append(element("text", "tick mid", number, x=place, y="14"))

    values = in_column([estimate.value for estimate in estimates], 3)
    ranks = _rank_cells(ties, len(best))
    rows = []
    for (name, estimate), value, rank in zip(best, values, ranks, strict=True):
        lane = Lane(estimate.value, estimate.low, estimate.high, start, end)
        marks = [*grid, *_interval_marks(lane, _LANE_MIDDLE)]
        drawing = element("svg", None, Markup("").join(marks), aria_hidden="true")
        interval = f"{estimate.low:.3f} to {estimate.high:.3f}"
        rows.append(RankedRow(shown(name), drawing, value, interval, *rank))

    axis = element("svg", None, Markup("").join(labels), aria_hidden="true")
    return DrawnRanking(rows, axis, len(areas) - len(best))


def _scale_of(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """Return the ends of a scale that holds all intervals, with a little room."""
    ends = np.array([[e.low, e.high, e.value] for e in estimates])
    ends = ends[np.isfinite(ends)]
    low = 0.0
    high = 1.0
    if ends.size:
        low = float(ends.min())
        high = float(ends.max())

    room = 0.06 * (high - low) or 0.01
    return max(low - room, 0.0), min(high + room, 1.0)


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


def draw_flagging(slider: Mapping[str, Any]) -> Markup:
    """Draw recall and precision against the proportion of cases that is flagged."""
    marks = [_flagging_axes()]
    for number, model in enumerate(slider["models"]):
        columns = model["columns"]
        flagged = _known(columns["flagged_rate"])
        kind = "only gone" if number else "only"

        for name in ("recall", "precision"):
            path = _path(flagged, _known(columns[name]))
            marks.append(
                element(
                    "svg",
                    None,
                    element("path", f"{name}-line {kind}", d=path, data_model=number),
                    width="100%",
                    height="100%",
                    viewBox="0 0 1000 1000",
                    preserveAspectRatio="none",
                )
            )

    marks += _moving_marks(slider["models"][0])
    names = ", ".join(model["name"] for model in slider["models"])
    description = (
        f"Recall and precision of {names} against the proportion of cases flagged."
    )

    return element(
        "svg",
        "plot",
        Markup("").join(marks),
        role="img",
        aria_label=description,
        data_across="flagged_rate",
    )


def _known(values: Sequence[float | None]) -> Floats:
    """Return numbers; what is undefined is NaN."""
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def _path(x: Floats, y: Floats) -> str:
    """Write a curve in thousandths of its box, without points that nobody would see."""
    is_known = np.isfinite(x) & np.isfinite(y)
    x = x[is_known]
    y = y[is_known]

    if not x.size:
        return ""

    visible = few_points(x, y, x.size, _UNSEEN)
    across = np.round(1000 * x[visible])
    # pictures count from the top
    down = np.round(1000 - 1000 * y[visible])
    points = [f"{left:.0f} {top:.0f}" for left, top in zip(across, down, strict=True)]

    return "M" + "L".join(points)


def _flagging_axes() -> Markup:
    """Draw both axes in per cent, the upright one with lines across the plot."""
    marks = []
    for tick in (0, 20, 40, 60, 80, 100):
        place = _place(100 - tick)
        text = f"{tick} %" if tick == 100 else str(tick)
        marks.append(element("line", "grid", x1="0", x2="100%", y1=place, y2=place))
        marks.append(element("text", "tick end", text, x="0", y=place, dx="-8", dy="4"))

    for tick in (0, 25, 50, 75, 100):
        text = f"{tick} %" if tick == 100 else str(tick)
        marks.append(
            element("text", "tick mid", text, x=_place(tick), y="100%", dy="18")
        )

    return Markup("").join(marks)


def _moving_marks(model: Mapping[str, Any]) -> list[Markup]:
    """Draw what the slider moves: an upright line, and a dot on each curve."""
    start = model["start"]
    columns = model["columns"]
    flagged = columns["flagged_rate"][start]
    place = _percent(flagged, 0.0, 1.0)
    marks = [
        element(
            "line",
            "now rule",
            x1=place,
            x2=place,
            y1="0",
            y2="100%",
            data_x="flagged_rate",
        )
    ]

    for name in ("recall", "precision"):
        value = columns[name][start]
        up = _percent(1.0 - (value or 0.0), 0.0, 1.0)
        marks.append(
            element(
                "circle",
                f"now {name}-dot",
                cx=place,
                cy=up,
                r="6",
                data_x="flagged_rate",
                data_y=name,
                visibility=None if value is not None else "hidden",
            )
        )

        marks.append(
            element(
                "text",
                "curve-name",
                name,
                x=place,
                y=up,
                dx="-10" if flagged > 0.7 else "10",
                dy="18" if name == "recall" else "-10",
                text_anchor="end" if flagged > 0.7 else "start",
                data_x="flagged_rate",
                data_y=name,
                data_text=name,
            )
        )

    return marks


ICONS = 1000
ICONS_IN_A_COLUMN = 25
CELLS = ("tp", "fn", "fp", "tn")


class DrawnIcons(NamedTuple):
    """1,000 cases as dots, and how many of them each cell of the matrix has."""

    drawing: Markup
    counts: dict[str, int]


def draw_icons(slider: Mapping[str, Any]) -> DrawnIcons | None:
    """Draw 1,000 cases: found, missed, false alarms, rightly passed.

    None where the threshold leaves the rates undefined.
    """
    model = slider["models"][0]
    if "columns" in model:
        values = {name: model["columns"][name][model["start"]] for name in _RATES}
    else:
        # the workbench looks numbers up
        values = {name: slider["now"][name] for name in _RATES}

    if None in values.values():
        return None

    prevalence = slider["prevalence"]
    counts = of_a_thousand(
        {
            "tp": prevalence * values["recall"],
            "fn": prevalence * (1 - values["recall"]),
            "fp": (1 - prevalence) * values["fpr"],
            "tn": (1 - prevalence) * (1 - values["fpr"]),
        }
    )

    marks = []
    first = 0
    for cell in CELLS:
        places = range(first, first + counts[cell])
        path = "".join(_icon_place(place) for place in places)
        first += counts[cell]
        marks.append(element("path", f"icon {cell}", d=path, data_cell=cell))

        if cell == "fn":
            # a ring: those who were missed
            marks.append(element("path", "icon hole", d=path, data_cell=cell))

    width = 10 * (ICONS // ICONS_IN_A_COLUMN)
    drawing = element(
        "svg",
        "icons",
        Markup("").join(marks),
        viewBox=f"0 0 {width} {10 * ICONS_IN_A_COLUMN}",
        role="img",
        aria_label="1,000 cases as dots; the sentence above has the numbers.",
        data_prevalence=repr(prevalence),
    )

    return DrawnIcons(drawing, counts)


_RATES = ("recall", "fpr")


def _icon_place(number: int) -> str:
    """Write a dot at its place; columns are filled one after the other."""
    column, row = divmod(number, ICONS_IN_A_COLUMN)
    return f"M{5 + 10 * column} {5 + 10 * row}h0"


def of_a_thousand(proportions: Mapping[str, float]) -> dict[str, int]:
    """Return how many of 1,000 cases each proportion is, by largest remainders.

    >>> of_a_thousand({"a": 0.3333, "b": 0.3333, "c": 0.3334})
    {'a': 333, 'b': 333, 'c': 334}
    """
    # a product such as 1000 * 0.069 may lie just below its whole number
    counts = {
        name: int(ICONS * proportion + 1e-9) for name, proportion in proportions.items()
    }
    order = sorted(counts, key=lambda name: counts[name] - ICONS * proportions[name])
    for name in order[: ICONS - sum(counts.values())]:
        counts[name] += 1
    return counts
