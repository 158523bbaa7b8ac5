"""Drawings of several panels: side by side, or strips below the first one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trueness._core.checks.errors import InputError
from trueness._core.figures import Panels
from trueness.plots._curves import draw_curves, names_in
from trueness.plots._ink import COLUMN_HEIGHT, COLUMN_WIDTH, PAGE_WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOWEST_PANEL = 1.1  # inches
_GAP_OF_STRIPS = 0.06  # of the height of the first panel


def panels_size(panels: Panels) -> tuple[float, float]:
    """Return width and height of a figure of several panels in inches."""
    if panels.joined:
        return COLUMN_WIDTH, COLUMN_HEIGHT * (1 + 0.8 * sum(panels.heights[1:]))
    width = min(COLUMN_WIDTH * panels.columns, PAGE_WIDTH)
    panel_height = COLUMN_HEIGHT * panels.heights[0] * width / panels.columns
    height = max(_LOWEST_PANEL, panel_height / COLUMN_WIDTH) * _rows(panels)
    return width, height + 0.3


def _rows(panels: Panels) -> int:
    return math.ceil(len(panels.parts) / panels.columns)


def draw_panels(ax: Axes, panels: Panels) -> None:
    """Draw each panel on axes of its own, in the place of these."""
    if panels.joined:
        _draw_joined(ax, panels)
    else:
        _draw_side_by_side(ax, panels)


def _draw_side_by_side(ax: Axes, panels: Panels) -> None:
    """Draw each panel on axes of its own, in the place of the axes."""
    place_in_grid = ax.get_subplotspec()
    if place_in_grid is None:
        raise InputError(
            "A figure of several panels needs axes that matplotlib placed in a grid. "
            "Make them with fig, ax = matplotlib.pyplot.subplots().",
            option="ax",
        )

    # the axes themselves hold the title only
    ax.set_axis_off()

    grid = place_in_grid.subgridspec(_rows(panels), panels.columns)
    owner = ax.figure
    same_names = len({names_in(part) for part in panels.parts}) == 1

    for k, part in enumerate(panels.parts):
        row, column = divmod(k, panels.columns)
        panel = owner.add_subplot(grid[row, column])
        draw_curves(panel, part)
        _tidy_panel(panel, panels, k, keep_legend=k == 0 or not same_names)


def _tidy_panel(panel: Axes, panels: Panels, k: int, *, keep_legend: bool) -> None:
    """Give a panel its title, and leave out what its neighbours say already."""
    if panels.titles:
        panel.set_title(panels.titles[k])

    legend = panel.get_legend()
    if legend is not None and not keep_legend:
        legend.remove()

    same_x = len({part.x for part in panels.parts}) == 1
    last_in_column = k + panels.columns >= len(panels.parts)
    if same_x and not last_in_column:
        panel.set_xlabel("")


def _draw_joined(ax: Axes, panels: Panels) -> None:
    """Draw the first panel on the axes, and the others as strips below them."""
    top, *strips = panels.parts
    draw_curves(ax, top)
    ax.set_xlabel("")
    ax.tick_params("x", labelbottom=False)

    bottom = 0.0
    for part, height in zip(strips, panels.heights[1:], strict=True):
        bottom -= height + _GAP_OF_STRIPS
        strip = ax.inset_axes((0, bottom, 1, height), sharex=ax)
        draw_curves(strip, part)
        # a strip is low: there is room for two numbers
        strip.locator_params(axis="y", nbins=2)
