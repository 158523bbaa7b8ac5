"""SVG: the histogram of the scores of two classes, with its thresholds.

Heights run from -1 to 1: negatives point down and positives up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats
from trueness._core.figures import Bars
from trueness.findings.records import Figure, table
from trueness.reports.svg_marks import (
    BOTTOM,
    TOP,
    Axes,
    Drawn,
    Tick,
    area,
    class_of_model,
    drawing,
    element,
    line,
    place,
    upright_line,
)

# the tallest bar has height 1, and a little air above it
HEIGHT_RANGE = 1.05
# probabilities nearer to 0 and 1 stand at the ends of a logit axis
LEAST_PROBABILITY = 0.001
LOGIT_TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 0.999)
MOST_ROWS = 60  # of the table: with several classifiers a row counts several bars
# so that the heights of a class without cases are 0 and not 0 / 0
SMALLEST_HEIGHT = 1e-300


def draw_bars(figure: Figure, data: Bars) -> Drawn:
    """Draw histograms of two classes, with one threshold that moves or two that stay.

    Positives point up and negatives down; both classes have the same area, so that rare
    positives are as easy to see. Hue is the truth and strength the decision: what is
    flagged is solid.
    """
    edges = _places_of_scores(figure, data.edges)
    lowest = float(edges[0])
    highest = float(edges[-1])
    axes = _axes_of_bars(figure, lowest, highest)
    thresholds = np.clip(_thresholds_on_axis(figure), lowest, highest)

    # each class twice: pale for all cases, and solid for those that are flagged
    marks = [
        *_filled_outlines(axes, edges, data),
        *_flagged_side(
            axes,
            _filled_outlines(axes, edges, data, flagged=True),
            thresholds,
            follow=figure.rule,
        ),
        line(axes, [lowest, highest], [0, 0], "zero"),
    ]

    if figure.rule:
        marks.append(upright_line(axes, float(thresholds[0]), "now rule", figure.rule))
    elif thresholds.size:
        # between two thresholds is the zone of cases that are deferred, under the rest
        bottom = [-HEIGHT_RANGE, -HEIGHT_RANGE]
        top = [HEIGHT_RANGE, HEIGHT_RANGE]
        marks.insert(0, area(axes, thresholds, bottom, top, "band c2"))
        marks += [upright_line(axes, float(cut), "now rule") for cut in thresholds]

    marks += _corner_counts(axes, figure)
    description = (
        f"Histogram of the scores of {', '.join(data.neg)}, from "
        f"{data.edges[0]:.3g} to {data.edges[-1]:.3g}, positives above and negatives "
        "below; the table has the numbers."
    )
    scale = "logit" if figure.logit else ""
    svg = drawing(axes, marks, description, scale=scale)

    head = ("classifier", "score", "negatives", "positives")
    n_bars = (data.edges.size - 1) * len(data.neg)
    bars_in_row = max(1, round(n_bars / MOST_ROWS))
    rows = [
        row for name in data.neg for row in _histogram_rows(data, name, bars_in_row)
    ]
    return svg, table(figure.title, head, rows)


def _thresholds_on_axis(figure: Figure) -> Floats:
    """Return where the thresholds of a figure lie: none, one that moves, or two."""
    scores: Sequence[float] = figure.at or ()
    if figure.rule:
        # of one that moves, the second number is a height
        scores = scores[:1]
    return _places_of_scores(figure, scores)


def _filled_outlines(
    axes: Axes, edges: Floats, data: Bars, *, flagged: bool = False
) -> list[Markup]:
    """Draw the filled histograms of both classes, for each classifier."""
    marks = []
    for number, name in enumerate(data.neg):
        negatives, positives = _class_outlines(edges, data, name)
        for kind, (across, up) in (("negatives", negatives), ("positives", positives)):
            style = f"{kind} flagged" if flagged else kind
            style = f"{style} {class_of_model(number)}"
            marks.append(line(axes, across, up, style, str(number), "area"))

    return marks


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
        (-HEIGHT_RANGE, HEIGHT_RANGE),
        bare=True,
        x_ticks=x_ticks,
        # in units of the drawing: half of the number under the left end
        names_width=8,
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


Outline = tuple[Floats, Floats]  # the corners of a histogram: across, and up


def _class_outlines(edges: Floats, data: Bars, name: str) -> tuple[Outline, Outline]:
    """Return the corners of the negatives, which point down, and of the positives."""
    negatives, positives = data.shares(name)
    tallest = max(float(negatives.max()), float(positives.max()), SMALLEST_HEIGHT)

    # each bar has two corners; the outline begins and ends at height 0
    across = np.repeat(edges, 2)
    down = np.concatenate([[0], np.repeat(-negatives / tallest, 2), [0]])
    up = np.concatenate([[0], np.repeat(positives / tallest, 2), [0]])
    return (across, down), (across, up)


def _flagged_side(
    axes: Axes, solid: Sequence[Markup], thresholds: Floats, follow: str
) -> list[Markup]:
    """Return the solid areas, seen through a window from the upper threshold on.

    The window moves with the quantity ``follow``, if there is one.
    """
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
            "now window" if follow else "window",
            Markup("").join(solid),
            **window,
            data_x=follow or None,
        )
    ]


def _corner_counts(axes: Axes, figure: Figure) -> list[Markup]:
    """Write how many cases each of the four areas holds into its corner."""
    if figure.counts is None:
        return []

    # base lines of the words, just inside the plot
    top = TOP + 10
    bottom = axes.height - BOTTOM - 6
    corners = (
        ("fn", "missed", "name", axes.left, top),
        ("tp", "found", "name end", axes.right, top),
        ("tn", "rightly passed", "name", axes.left, bottom),
        ("fp", "false alarms", "name end", axes.right, bottom),
    )

    marks = []
    for cell, meaning, kind, x, y in corners:
        number = element(
            "tspan", None, figure.counts[cell], data_value=cell, data_kind="count"
        )
        count_and_meaning = Markup("{} {}").format(number, meaning)
        marks.append(element("text", kind, count_and_meaning, x=x, y=y))

    return marks


def _histogram_rows(
    data: Bars, name: str, bars_in_row: int = 1
) -> list[tuple[Any, ...]]:
    """Return the counts of each bar that has any, or of a few bars together."""
    first_bars = np.arange(0, data.edges.size - 1, bars_in_row)
    edges = [*data.edges[first_bars], data.edges[-1]]
    negatives = np.add.reduceat(data.neg[name], first_bars)
    positives = np.add.reduceat(data.pos[name], first_bars)

    return [
        (
            name,
            f"{edges[row]:.3g} to {edges[row + 1]:.3g}",
            float(negatives[row]),
            float(positives[row]),
        )
        for row in np.flatnonzero(negatives + positives)
    ]
