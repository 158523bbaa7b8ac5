"""What is drawn on the first screen of a report?

What flagging more cases brings, and 1,000 cases as dots; ``lanes`` draws the ranking of
the classifiers beside it. A plot has no ``viewBox``: places are per cent of its box, so
that type and lines keep their size at every width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from trueness._core.arrays import Floats
from trueness._core.figures import few_points
from trueness.reports.lanes import css_percent, place_on_scale
from trueness.reports.svg_marks import element

_INVISIBLE_DISTANCE = 0.0008  # of the height of a plot: lines may be off by so much


def draw_flagging(slider: Mapping[str, Any]) -> Markup:
    """Draw recall and precision against the proportion of cases that is flagged."""
    marks = [_flagging_axes()]
    for number, model in enumerate(slider["models"]):
        columns = model["columns"]
        flagged = _numbers_or_nan(columns["flagged_rate"])
        kind = "only gone" if number else "only"

        for name in ("recall", "precision"):
            band = _band_path(model["bands"], name)
            line = _path_of_curve(flagged, _numbers_or_nan(columns[name]))
            for what, path in (("band", band), ("line", line)):
                if path:
                    marks.append(_stretched(f"{name}-{what} {kind}", path, number))

    marks += _required_lines(slider.get("required", ()))
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


def _stretched(kind: str, path: str, number: int) -> Markup:
    """Draw a path in thousandths of the plot, whose lines keep their width."""
    return element(
        "svg",
        None,
        element("path", kind, d=path, data_model=number),
        width="100%",
        height="100%",
        viewBox="0 0 1000 1000",
        preserveAspectRatio="none",
    )


def _band_path(bands: Mapping[str, Sequence[float]], name: str) -> str:
    """Write the outline of a band: along its upper end, and back along the lower."""
    if not bands:
        return ""

    flagged = bands["flagged_rate"]
    upper = zip(flagged, bands[f"{name}_high"], strict=True)
    lower = zip(flagged[::-1], bands[f"{name}_low"][::-1], strict=True)
    points = [f"{1000 * x:.0f} {1000 - 1000 * y:.0f}" for x, y in (*upper, *lower)]
    return "M" + "L".join(points) + "Z"


def _numbers_or_nan(values: Sequence[float | None]) -> Floats:
    """Return numbers; what is undefined is NaN."""
    return np.array(
        [np.nan if value is None else value for value in values], dtype=np.float64
    )


def _path_of_curve(x: Floats, y: Floats) -> str:
    """Write a curve in thousandths of its box, without points that nobody would see."""
    is_known = np.isfinite(x) & np.isfinite(y)
    x = x[is_known]
    y = y[is_known]

    if not x.size:
        return ""

    visible = few_points(x, y, x.size, _INVISIBLE_DISTANCE)
    across = np.round(1000 * x[visible])
    # pictures count from the top
    down = np.round(1000 - 1000 * y[visible])
    points = [f"{left:.0f} {top:.0f}" for left, top in zip(across, down, strict=True)]

    return "M" + "L".join(points)


def _flagging_axes() -> Markup:
    """Draw both axes in per cent, the upright one with lines across the plot."""
    marks = []
    for tick in (0, 20, 40, 60, 80, 100):
        place = css_percent(100 - tick)
        text = f"{tick} %" if tick == 100 else str(tick)
        marks.append(element("line", "grid", x1="0", x2="100%", y1=place, y2=place))
        marks.append(element("text", "tick end", text, x="0", y=place, dx="-8", dy="4"))

    for tick in (0, 25, 50, 75, 100):
        text = f"{tick} %" if tick == 100 else str(tick)
        marks.append(
            element("text", "tick mid", text, x=css_percent(tick), y="100%", dy="18")
        )

    return Markup("").join(marks)


_HIGH_BOUND = 0.88  # above it a name would lie on the curve of recall


def _required_lines(requirements: Sequence[Mapping[str, Any]]) -> list[Markup]:
    """Draw what a constraint requires of recall and of precision, as a broken line."""
    marks = []
    for constraint in requirements:
        name = constraint["metric"]
        if name not in ("recall", "precision"):
            continue

        place = css_percent(100 * (1 - constraint["bound"]))
        bound = "at least" if constraint["upward"] else "at most"
        requirement = f"{name} {bound} {100 * constraint['bound']:.4g} %"
        # on the right recall is near 1, and leaves room above all but a high bound
        below = name == "recall" and constraint["bound"] > _HIGH_BOUND
        marks.append(element("line", "required", x1="0", x2="100%", y1=place, y2=place))
        marks.append(
            element(
                "text",
                "tick end requirement",
                requirement,
                x="100%",
                y=place,
                dy="15" if below else "-6",
            )
        )

    return marks


_CLOSE_CURVES = 0.2  # of the height of the plot: names of two curves would touch


def _place_of_curve_name(
    name: str, flagged: float, recall: float | None, precision: float | None
) -> dict[str, str]:
    """Return where the name of a curve stands beside its dot, clear of the other.

    Recall rises and precision falls: above recall and below precision there is room on
    the left, and between them on the right. The script of the page does the same.
    """
    is_close = False
    if recall is not None and precision is not None:
        is_close = 0 <= recall - precision < _CLOSE_CURVES

    is_left = flagged > 0.7 or (is_close and flagged > 0.3)
    is_above = name == "precision"
    if is_left or is_close:
        is_above = name == "recall"

    return {
        "dx": "-10" if is_left else "10",
        "dy": "-10" if is_above else "18",
        "text_anchor": "end" if is_left else "start",
    }


def _moving_marks(model: Mapping[str, Any]) -> list[Markup]:
    """Draw what the slider moves: an upright line, and a dot on each curve."""
    start = model["start"]
    columns = model["columns"]
    flagged = columns["flagged_rate"][start]
    place = place_on_scale(flagged, 0.0, 1.0)
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
        up = place_on_scale(1.0 - (value or 0.0), 0.0, 1.0)
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
                **_place_of_curve_name(
                    name, flagged, columns["recall"][start], columns["precision"][start]
                ),
                data_x="flagged_rate",
                data_y=name,
                data_text=name,
            )
        )

    return marks


TOTAL_ICONS = 1000
ICONS_IN_A_COLUMN = 25
CELLS_OF_MATRIX = ("tp", "fn", "fp", "tn")


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
        values = {
            name: model["columns"][name][model["start"]] for name in _RATES_BY_CLASS
        }
    else:
        # the workbench looks numbers up
        values = {name: slider["now"][name] for name in _RATES_BY_CLASS}

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
    for cell in CELLS_OF_MATRIX:
        path = _icon_columns(first, first + counts[cell])
        first += counts[cell]
        marks.append(element("path", f"icon {cell}", d=path, data_cell=cell))

        if cell == "fn":
            # a ring: those who were missed
            marks.append(element("path", "icon hole", d=path, data_cell=cell))

    width = 10 * (TOTAL_ICONS // ICONS_IN_A_COLUMN)
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


_RATES_BY_CLASS = ("recall", "fpr")


def _icon_columns(first: int, end: int) -> str:
    """Write dots as dotted lines, each down one column.

    A line is a little longer than its dots are apart, so that the last one is drawn.
    """
    path = ""
    while first < end:
        column, row = divmod(first, ICONS_IN_A_COLUMN)
        dots = min(ICONS_IN_A_COLUMN - row, end - first)
        path += f"M{5 + 10 * column} {5 + 10 * row}v{10 * (dots - 1)}.1"
        first += dots

    return path


def of_a_thousand(proportions: Mapping[str, float]) -> dict[str, int]:
    """Return how many of 1,000 cases each proportion is, by largest remainders.

    >>> of_a_thousand({"a": 0.3333, "b": 0.3333, "c": 0.3334})
    {'a': 333, 'b': 333, 'c': 334}
    """
    # a product such as 1000 * 0.069 may lie just below its whole number
    counts = {
        name: int(TOTAL_ICONS * proportion + 1e-9)
        for name, proportion in proportions.items()
    }
    order = sorted(
        counts, key=lambda name: counts[name] - TOTAL_ICONS * proportions[name]
    )
    for name in order[: TOTAL_ICONS - sum(counts.values())]:
        counts[name] += 1
    return counts
