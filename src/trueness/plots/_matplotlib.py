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
from trueness._core.figures import Axis, Bars, Curves, Intervals, Matrix

GREY, SHADE = "0.45", 0.2
DASHES = ("--", ":", "-.")
WHISKER: dict[str, Any] = {"fmt": "o", "capsize": 3}


def on_axes(ax: Axes, figure: object, title: str) -> Axes:
    """Draw a figure on these axes, and give them back."""
    draw: dict[type, Any] = {
        Curves: _curves, Intervals: _intervals, Bars: _bars, Matrix: _matrix
    }  # fmt: skip
    if type(figure) not in draw:
        raise InputError(
            "A tree, or a figure of several panels, is not drawn on one pair of axes. "
            "Leave ax out for a chart of Altair, or ask for fewer things at a time."
        )
    draw[type(figure)](ax, figure)
    if title:
        ax.set_title(title)
    return ax


def _curves(ax: Axes, figure: Curves) -> None:
    x, y = figure.x.name, figure.y.name
    seen: set[str] = set()

    def label(name: str) -> str:  # matplotlib leaves such names out of a legend
        known = not name or name in seen
        seen.add(name)
        return f"_{name}" if known else name

    for k, line in enumerate(figure.guides):
        look: Any = {"color": GREY, "linewidth": 1, "label": label(line.name)}
        if "low" in line.columns:
            ax.fill_between(line[x], line["low"], line["high"], alpha=SHADE, **look)
        else:
            dash = DASHES[k % len(DASHES)] if line.name else "--"
            ax.plot(line[x], line[y], dash, **look)
    colours: dict[str, Any] = {}
    for line in figure.lines:
        (curve,) = ax.plot(line[x], line[y], label=label(line.name))
        colours[line.name] = curve.get_color()
    for band in figure.bands:
        look = {"color": colours.get(band.name), "label": label(band.name)}
        ends = band["low"], band["high"]
        area = ax.fill_between(band[x], *ends, linewidth=0, alpha=SHADE, **look)
        colours.setdefault(band.name, area.get_facecolor())
    for dots in figure.dots:
        errors: Any = {
            error: [dots[at] - dots[low], dots[high] - dots[at]]
            for error, at, low, high in (("xerr", x, "left", "right"),
                                         ("yerr", y, "low", "high"))
            if low in dots.columns
        }  # fmt: skip
        look = WHISKER if errors else {"fmt": "o", "markersize": 4}
        look = {**look, "color": colours.get(dots.name), "label": label(dots.name)}
        ax.errorbar(dots[x], dots[y], **errors, **look)
    for k, (name, place) in enumerate(figure.rules):
        dash = DASHES[k % len(DASHES)]
        ax.axvline(place, color=GREY, linestyle=dash, linewidth=1, label=label(name))
    _axis(ax, "x", figure.x)
    _axis(ax, "y", figure.y)
    if len(seen - {""}) > 1:
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
