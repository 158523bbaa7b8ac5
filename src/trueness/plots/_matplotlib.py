"""How does a figure come onto axes of matplotlib? The door for that library.

A figure is drawn on axes that somebody has made, beside what is there already, so that
it fits into a figure of a paper. Nothing is set but titles, ranges and a legend; the
look is that of the caller's style, except that guides are grey and broken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from trueness._core.checks.errors import InputError
from trueness._core.figures import Axis, Bars, Crosses, Curves, Intervals, Matrix

GREY, SHADE = "0.45", 0.2
DASHES = ("--", ":", "-.")
WHISKER: dict[str, Any] = {"fmt": "o", "capsize": 3}


def on_axes(ax: Any, figure: Any, title: str) -> Any:
    """Draw a figure on these axes, and give them back."""
    if not isinstance(ax, Axes):
        raise InputError(
            f"ax must be axes of matplotlib; found {type(ax).__name__}. Type "
            "fig, ax = matplotlib.pyplot.subplots() and pass ax=ax."
        )
    draw: dict[type, Any] = {
        Curves: _curves,
        Intervals: _intervals,
        Bars: _bars,
        Crosses: _crosses,
        Matrix: _matrix,
    }
    draw[type(figure)](ax, figure)
    if title:
        ax.set_title(title)
    return ax


def _curves(ax: Axes, figure: Curves) -> None:
    x, y = figure.x.name, figure.y.name
    for k, line in enumerate(figure.guides):
        dash = DASHES[k % len(DASHES)] if line.name else "--"
        label = line.name or "_guide"  # matplotlib leaves such names out of a legend
        ax.plot(line[x], line[y], dash, color=GREY, linewidth=1, label=label)
    colours = {}
    for line in figure.lines:
        (drawn,) = ax.plot(line[x], line[y], label=line.name)
        colours[line.name] = drawn.get_color()
    for band in figure.bands:
        shade: dict[str, Any] = {"color": colours[band.name], "alpha": SHADE}
        ax.fill_between(band[x], band["low"], band["high"], linewidth=0, **shade)
    for dots in figure.dots:
        known: dict[str, Any] = {"color": colours.get(dots.name)}
        label = "_dots" if dots.name in colours else dots.name
        ax.plot(dots[x], dots[y], "o", markersize=4, label=label, **known)
    for k, (name, place) in enumerate(figure.rules):
        dash = DASHES[k % len(DASHES)]
        ax.axvline(place, color=GREY, linestyle=dash, linewidth=1, label=name)
    _axis(ax, "x", figure.x)
    _axis(ax, "y", figure.y)
    others = (line.name for line in figure.guides)
    named = {*figure.names, *others, *(name for name, _ in figure.rules)} - {""}
    if len(named) > 1:
        ax.legend()


def _axis(ax: Axes, side: str, axis: Axis) -> None:
    getattr(ax, f"set_{side}label")(axis.title)
    getattr(ax, f"set_{side}lim")(axis.low, axis.high)
    if axis.ticks:
        places, texts = zip(*axis.ticks, strict=True)
        getattr(ax, f"set_{side}ticks")(places, texts)


def _intervals(ax: Axes, figure: Intervals) -> None:
    at = np.arange(len(figure.names))[::-1]  # the first one is at the top
    ends = np.maximum([figure.value - figure.low, figure.high - figure.value], 0)
    ax.errorbar(figure.value, at, xerr=ends, **WHISKER)
    if figure.zero is not None:
        ax.axvline(figure.zero, color=GREY, linestyle="--", linewidth=1)
    for name, values in figure.marks.items():
        ax.plot(values, at, "D", fillstyle="none", label=name)
    if figure.marks:
        ax.legend()
    ax.set_yticks(at, figure.names)
    ax.set_ylim(-0.5, len(at) - 0.5)
    ax.set_xlabel(figure.label)


def _crosses(ax: Axes, figure: Crosses) -> None:
    for line in figure.guides:
        across, up = line[figure.x.name], line[figure.y.name]
        ax.plot(across, up, "--", color=GREY, linewidth=1, label="_guide")
    for name, x, y in zip(figure.names, figure.across, figure.up, strict=True):
        ends = [[[v - low], [high - v]] for v, low, high in (x, y)]
        ax.errorbar(x[0], y[0], xerr=ends[0], yerr=ends[1], label=name, **WHISKER)
    _axis(ax, "x", figure.x)
    _axis(ax, "y", figure.y)
    ax.legend()


def _matrix(ax: Axes, figure: Matrix) -> None:
    shown = np.where(np.tri(len(figure.names), k=-1, dtype=bool), figure.value, np.nan)
    ax.imshow(shown, cmap="PuOr_r", vmin=-1, vmax=1)
    for i, j in np.argwhere(np.isfinite(shown)):
        ax.text(j, i, f"{shown[i, j]:.2f}", ha="center", va="center")
    at = range(len(figure.names))
    ax.set_xticks(at, figure.names, rotation=45, ha="right")
    ax.set_yticks(at, figure.names)
    ax.set_xlabel(figure.label)


def _bars(ax: Axes, figure: Bars) -> None:
    several = len(figure.neg) > 1
    for name in figure.neg:
        for label, heights in zip(
            ("negative", "positive"), figure.shares(name), strict=True
        ):
            text = f"{name}, {label}" if several else label
            ax.stairs(heights, figure.edges, label=text)
    ax.set_xlabel("Score")
    ax.set_ylabel("Share of each class")
    ax.legend()
