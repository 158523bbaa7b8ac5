"""Matplotlib: figure data drawn on axes, in print size.

``draw`` makes axes of its own in the look of ``theme.mplstyle``, or draws on axes that
were passed, beside what is there already and in the style of their owner. Each kind of
figure data has one drawing function; ``_DRAWINGS`` is the table of them.

The drawings stand in ``_curves``, ``_estimates``, ``_panels`` and ``_diagrams``; what
they share, in ``_axis_labels`` and ``_ink``.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trueness._core.checks.errors import InputError
from trueness._core.figures import (
    Bars,
    Crosses,
    Curves,
    Diagram,
    FigureData,
    Intervals,
    Matrix,
    Panels,
    TitledFigure,
    score_bands,
)
from trueness._core.imports import required
from trueness.plots._axis_labels import fit_beside_points
from trueness.plots._curves import draw_curves, entries_below
from trueness.plots._diagrams import diagram_size, draw_diagram
from trueness.plots._estimates import draw_crosses, draw_intervals, draw_matrix
from trueness.plots._ink import (
    COLUMN_HEIGHT,
    COLUMN_WIDTH,
    INCHES_PER_POINT,
    PRINT_DPI,
    theme,
)
from trueness.plots._panels import draw_panels, panels_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PRINT_DPI", "draw", "print_figure", "print_size", "theme"]

# inches
_FOREST_WIDTH = 5.2
_FOREST_ROW = 0.25
_FOREST_FRAME = 0.75
_LEGEND_ROW = 0.15


def draw(figure: TitledFigure, ax: Axes | None = None) -> Axes:
    """Draw a figure on these axes, or on new ones of pyplot, and return the axes."""
    if ax is not None:
        return _draw_on(ax, figure)

    pyplot = required("matplotlib.pyplot", "plots")

    with theme():
        size = print_size(figure.data)
        new_axes: Axes = pyplot.subplots(figsize=size, layout="constrained")[1]
        return _draw_on(new_axes, figure)


def print_figure(figure: TitledFigure) -> Figure:
    """Return a figure that no window shows, to be written to a file."""
    figures = required("matplotlib.figure", "plots")
    with theme():
        size = print_size(figure.data)
        new_figure: Figure = figures.Figure(figsize=size, layout="constrained")
        _draw_on(new_figure.subplots(), figure)
    return new_figure


def print_size(data: FigureData) -> tuple[float, float]:
    """Return width and height of a figure in inches."""
    if isinstance(data, Intervals):
        return _FOREST_WIDTH, _FOREST_FRAME + _FOREST_ROW * len(data.names)

    if isinstance(data, Matrix):
        side = 1.2 + 0.42 * len(data.names)
        return side + 0.8, side

    if isinstance(data, Diagram):
        return diagram_size(data)
    if isinstance(data, Bars):
        data = score_bands(data)
    if isinstance(data, Panels):
        return panels_size(data)
    return COLUMN_WIDTH, COLUMN_HEIGHT + _LEGEND_ROW * _legend_rows_below(data)


def _legend_rows_below(data: FigureData) -> int:
    """Return how many names stand below the axes of a plane."""
    if isinstance(data, Curves):
        return entries_below(data)
    if isinstance(data, Crosses) and not fit_beside_points(data.names):
        return len(data.names)
    return 0


def _draw_on(ax: Axes, figure: TitledFigure) -> Axes:
    if isinstance(figure.data, Bars):
        _check_span(figure.data)
    _DRAWINGS[type(figure.data)](ax, figure.data)
    if figure.title:
        ax.set_title(_wrapped(ax, figure.title))
    return ax


def _check_span(bars: Bars) -> None:
    """Raise an error for scores so far apart that no axis holds them."""
    low = float(bars.edges[0])
    high = float(bars.edges[-1])
    if not math.isfinite(1.2 * (high - low)):  # with the margins of an axis
        raise InputError(
            f"Scores from {low:g} to {high:g} are too far apart to be drawn. Divide "
            "all of them by the same number."
        )


def _wrapped(ax: Axes, title: str) -> str:
    """Break a title into lines that fit over its axes."""
    figure = ax.figure
    width = ax.get_window_extent().width / figure.dpi / INCHES_PER_POINT
    letter_width = 0.62 * float(ax.title.get_fontsize())
    letters = int(width / letter_width)
    return textwrap.fill(title, max(20, letters))


def _draw_bars(ax: Axes, figure: Bars) -> None:
    """Draw histograms as areas: one plane, or one panel for each classifier."""
    areas = score_bands(figure)
    if isinstance(areas, Panels):
        draw_panels(ax, areas)
    else:
        draw_curves(ax, areas)


_DRAWINGS: dict[type, Callable[[Any, Any], None]] = {
    Curves: draw_curves,
    Crosses: draw_crosses,
    Intervals: draw_intervals,
    Matrix: draw_matrix,
    Bars: _draw_bars,
    Panels: draw_panels,
    Diagram: draw_diagram,
}
