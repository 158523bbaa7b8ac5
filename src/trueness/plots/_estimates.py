"""Drawings of estimates: forest plots, crosses in a plane, and a matrix of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trueness._core.arrays import Array
from trueness._core.figures import Crosses, Curves, Intervals, Matrix
from trueness._core.numbers import in_column
from trueness._core.records import shown
from trueness.inference.estimates import estimate_from_interval
from trueness.plots._axis_labels import (
    NamedPoint,
    fit_beside_points,
    name_points,
    put_legend_below,
    set_axes,
)
from trueness.plots._curves import LegendEntries, draw_guides
from trueness.plots._ink import ACCENT, BLUE, BROWN, GREY, INK, PURPLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# colour and marker of each verdict
_VERDICTS = {
    "trust": (BLUE, "o"),
    "holds": (BLUE, "o"),
    "thin": (BROWN, "^"),
    "cannot tell yet": (GREY, "^"),
    "untested": (GREY, "s"),
    "coin toss": (ACCENT, "X"),
    "fails": (ACCENT, "X"),
    "contradicted": (PURPLE, "D"),
}

_COLOURS_IN_CYCLE = 8
_CROSS_MARKERS = "osD^"

_LONGEST_ROW_NAME = 60


def draw_intervals(ax: Axes, figure: Intervals) -> None:
    """Draw estimates with their intervals; the numbers stand on the right."""
    rows = np.arange(len(figure.names))[::-1]  # the first one is at the top
    if figure.zero is not None:
        ax.axvline(figure.zero, color=GREY, linestyle="--", linewidth=1)

    verdicts = figure.more.get("verdict")
    if verdicts is None:
        ax.errorbar(figure.value, rows, xerr=_arms_of(figure), fmt="o", elinewidth=1.5)
    else:
        _draw_intervals_by_verdict(ax, figure, rows, verdicts)

    # error bars hang on their value; some intervals have none
    alone = np.isnan(figure.value) & np.isfinite(figure.low) & np.isfinite(figure.high)
    if alone.any():
        ax.hlines(rows[alone], figure.low[alone], figure.high[alone], colors=BLUE)

    for name, values in figure.marks.items():
        ax.plot(values, rows, "D", fillstyle="none", color=ACCENT, label=name)

    ax.set_yticks(rows, [shown(name, _LONGEST_ROW_NAME) for name in figure.names])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.set_xlabel(figure.label)
    ax.grid(visible=False, axis="y")
    _write_estimates(ax, figure, rows)

    if figure.marks or verdicts is not None:
        ax.legend(
            loc="lower right",
            bbox_to_anchor=(1, 1),
            ncols=4,
            frameon=False,
            handletextpad=0.1,
        )


def _draw_intervals_by_verdict(
    ax: Axes, figure: Intervals, rows: Array, verdicts: Array
) -> None:
    """Draw intervals with the colour and the marker of their verdict."""
    arms = _arms_of(figure)
    for verdict in dict.fromkeys(verdicts.tolist()):
        colour, marker = _VERDICTS[verdict]
        members = np.asarray(verdicts == verdict)
        ax.errorbar(
            figure.value[members],
            rows[members],
            xerr=arms[:, members],
            fmt=marker,
            color=colour,
            elinewidth=1.5,
            label=verdict,
        )


def _arms_of(figure: Intervals) -> Array:
    """Return how far each interval reaches to the left and to the right."""
    arms = [figure.value - figure.low, figure.high - figure.value]
    return np.maximum(arms, 0)


def _write_estimates(ax: Axes, figure: Intervals, rows: Array) -> None:
    """Write each estimate with its interval on the right, outside of the axes."""
    estimates = [
        estimate_from_interval(value, low, high)
        for value, low, high in zip(figure.value, figure.low, figure.high, strict=True)
    ]
    right = ax.secondary_yaxis("right")
    right.set_yticks(rows, in_column(estimates))
    right.tick_params(length=0, labelsize="small")
    right.spines["right"].set_visible(False)


def draw_crosses(ax: Axes, figure: Crosses) -> None:
    """Draw points with an interval in both directions, each with its name.

    Many or long names stand in a list below, beside the number of their point.
    """
    guides = Curves(figure.what, figure.x, figure.y, guides=figure.guides)
    draw_guides(ax, guides, LegendEntries())

    named_directly = fit_beside_points(figure.names)
    points = []
    for k, name in enumerate(figure.names):
        number = str(k + 1)
        label = f"_{name}" if named_directly else f"{number}  {name}"
        _draw_cross(ax, figure, k, label)
        points.append(
            NamedPoint(
                float(figure.across[k][0]),
                float(figure.up[k][0]),
                name if named_directly else number,
            )
        )

    set_axes(ax, figure.x, figure.y)
    name_points(ax, points)

    if not named_directly:
        put_legend_below(ax, handlelength=1)


def _draw_cross(ax: Axes, figure: Crosses, place: int, label: str) -> None:
    """Draw a point, and its intervals across and up in the same colour."""
    across, left, right = figure.across[place]
    up, low, high = figure.up[place]
    # colours come round again, but not with the same marker
    round_of_colours = place // _COLOURS_IN_CYCLE
    marker = _CROSS_MARKERS[round_of_colours % len(_CROSS_MARKERS)]

    (mark,) = ax.plot([across], [up], marker, label=label, zorder=3)
    colour = mark.get_color()
    ax.hlines([up], left, right, color=colour, linewidth=1, alpha=0.5)
    ax.vlines([across], low, high, color=colour, linewidth=1, alpha=0.5)


def draw_matrix(ax: Axes, figure: Matrix) -> None:
    """Draw a value for each pair of names, as colour and as number."""
    size = len(figure.names)
    below_diagonal = np.tri(size, k=-1, dtype=bool)
    # the first row and the last column of the lower triangle are empty
    value = np.where(below_diagonal, figure.value, np.nan)[1:, :-1]

    ax.grid(visible=False)
    ax.imshow(value, cmap="PuOr_r", vmin=-1, vmax=1)

    for i, j in np.argwhere(np.isfinite(value)):
        ax.text(
            j,
            i,
            f"{value[i, j]:.2f}",
            ha="center",
            va="center",
            color="white" if abs(value[i, j]) > 0.6 else INK,
            fontsize="small",
        )

    ax.set_xticks(range(size - 1), figure.names[:-1], rotation=45, ha="right")
    ax.set_yticks(range(size - 1), figure.names[1:])
    ax.set_xlabel(figure.label)
