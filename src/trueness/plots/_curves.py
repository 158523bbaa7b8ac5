"""Drawings of curves: guides, lines, dots, bands and upright lines on one plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.figures import Curves, Line
from trueness.plots._axis_labels import (
    NamedPoint,
    fit_beside_points,
    halo,
    name_points,
    put_legend_below,
    set_axes,
)
from trueness.plots._ink import (
    DASHES,
    DECISIONS,
    GREY,
    OPACITY_OF_BAND_ALONE,
    OPACITY_OF_BAND_OF_LINE,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# what a legend inside the axes may hold; the lower right corner of a ROC plane is free
_MOST_ENTRIES = 4
_LONGEST_ENTRY = 34
_MOST_ENTRIES_OF_ROC = 8
_LONGEST_ENTRY_OF_ROC = 48

_FEW_DOTS = 20  # more are drawn small
_MOST_NAMED_RULES = 2  # more have their names in the legend


class LegendEntries:
    """The names that have an entry in the legend already."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def label(self, name: str) -> str:
        """Return the label of a mark; matplotlib leaves out those with a "_"."""
        if not name or name in self.names:
            return f"_{name}"
        self.names.append(name)
        return name


def draw_curves(ax: Axes, figure: Curves) -> None:
    """Draw all marks of a plane, with its axes and a legend where it needs one."""
    entries = LegendEntries()
    colours: dict[str, Any] = {}
    draw_guides(ax, figure, entries)
    _draw_lines(ax, figure, entries, colours)
    _draw_dots(ax, figure, entries, colours)
    _draw_bands(ax, figure, entries, colours)
    _draw_rules(ax, figure, entries)
    set_axes(ax, figure.x, figure.y)

    # one name alone says nothing, unless it holds a number: "model: AUC 0.8"
    has_numbers = any(": " in name for name in entries.names)
    if len(entries.names) > 1 or has_numbers:
        _draw_legend(ax, figure)


def draw_guides(ax: Axes, figure: Curves, entries: LegendEntries) -> None:
    """Draw what curves are compared with: grey, areas or dashed lines."""
    names = list(dict.fromkeys(line.name for line in figure.guides if line.name))
    for line in figure.guides:
        across = line[figure.x.name]
        label = entries.label(line.name)
        if "low" in line.columns:
            ax.fill_between(
                across,
                line["low"],
                line["high"],
                color=GREY,
                alpha=OPACITY_OF_BAND_OF_LINE,
                linewidth=0,
                label=label,
            )
            continue

        dash = DASHES[0]
        if line.name:
            dash = DASHES[names.index(line.name) % len(DASHES)]

        ax.plot(
            across,
            line[figure.y.name],
            color=GREY,
            linewidth=1,
            linestyle=dash,
            label=label,
        )


def _draw_lines(
    ax: Axes, figure: Curves, entries: LegendEntries, colours: dict[str, Any]
) -> None:
    for line in figure.lines:
        label = entries.label(line.name)
        (curve,) = ax.plot(line[figure.x.name], line[figure.y.name], label=label)
        colours.setdefault(line.name, curve.get_color())


def _draw_bands(
    ax: Axes, figure: Curves, entries: LegendEntries, colours: dict[str, Any]
) -> None:
    """Fill bands in the colours of their lines; one without a line is darker."""
    names_of_lines = {line.name for line in figure.lines}
    for band in figure.bands:
        decision = DECISIONS.get(band.name.partition(":")[0])
        opacity = (
            OPACITY_OF_BAND_OF_LINE
            if band.name in names_of_lines
            else OPACITY_OF_BAND_ALONE
        )
        if decision is not None:
            colours[band.name], opacity = decision
        elif band.name not in colours:
            colours[band.name] = _next_colour(ax)

        ax.fill_between(
            band[figure.x.name],
            band["low"],
            band["high"],
            color=colours[band.name],
            alpha=opacity,
            linewidth=0,
            label=entries.label(band.name),
        )


def _next_colour(ax: Axes) -> Any:
    """Return the next colour of the cycle of the axes, which lines use up."""
    (sample,) = ax.plot([], [])
    sample.remove()
    return sample.get_color()


def _draw_dots(
    ax: Axes, figure: Curves, entries: LegendEntries, colours: dict[str, Any]
) -> None:
    """Draw points with their intervals; a few with short names have them beside."""
    names = [dots.name for dots in figure.dots]
    named_directly = (
        len(names) > 1 and _are_single_points(figure) and fit_beside_points(names)
    )

    for dots in figure.dots:
        label = "_" if named_directly else entries.label(dots.name)
        marks = _draw_points(ax, figure, dots, label, colours.get(dots.name))
        colours.setdefault(dots.name, marks.lines[0].get_color())

    if named_directly:
        # where names fit depends on the range of the axes
        set_axes(ax, figure.x, figure.y)
        name_points(
            ax,
            [
                NamedPoint(
                    float(dots[figure.x.name][0]),
                    float(dots[figure.y.name][0]),
                    dots.name,
                )
                for dots in figure.dots
            ],
        )


def _draw_points(ax: Axes, figure: Curves, dots: Line, label: str, colour: Any) -> Any:
    """Draw points with their intervals; many of them are small and see-through."""
    across = dots[figure.x.name]
    many = across.size > _FEW_DOTS

    return ax.errorbar(
        across,
        dots[figure.y.name],
        xerr=_arms(dots, figure.x.name, "left", "right"),
        yerr=_arms(dots, figure.y.name, "low", "high"),
        fmt="o",
        color=colour,
        markersize=2.5 if many else 5,
        alpha=0.6 if many else 1,
        elinewidth=1.2,
        clip_on=False,
        zorder=3,
        label=label,
    )


def _arms(dots: Line, value: str, low: str, high: str) -> Array | None:
    """Return the lengths of the two arms of each interval, if there is one."""
    if low not in dots.columns:
        return None
    arms = [dots[value] - dots[low], dots[high] - dots[value]]
    return np.maximum(arms, 0)


def _draw_rules(ax: Axes, figure: Curves, entries: LegendEntries) -> None:
    """Draw upright lines; one or two have their names beside their tops."""
    named_directly = len(figure.rules) <= _MOST_NAMED_RULES
    for k, (name, place) in enumerate(figure.rules):
        ax.axvline(
            place,
            color=GREY,
            linestyle=DASHES[k % len(DASHES)],
            linewidth=1,
            label="_" if named_directly else entries.label(name),
        )
        if named_directly:
            _write_beside_top(
                ax, name, place, row=k, on_the_right=figure.name_on_the_right(k)
            )


def _write_beside_top(
    ax: Axes, name: str, place: float, *, row: int, on_the_right: bool
) -> None:
    """Write the name of an upright line beside its top, each name in its own row."""
    points_aside = 3 if on_the_right else -3
    side_of_text = "left" if on_the_right else "right"
    # in heights of the axes: names of lines that are close do not cover each other
    height = 0.985 - 0.065 * row

    ax.annotate(
        name,
        (place, height),
        xycoords=ax.get_xaxis_transform(),
        xytext=(points_aside, 0),
        textcoords="offset points",
        horizontalalignment=side_of_text,
        verticalalignment="top",
        fontsize="small",
        **halo(),
    )


def _draw_legend(ax: Axes, figure: Curves) -> None:
    if entries_below(figure):
        put_legend_below(ax, handlelength=2.2)
    elif _is_roc(figure):
        ax.legend(loc="lower right")
    else:
        ax.legend(loc="best")


def entries_below(figure: Curves) -> int:
    """Return how many lines a legend needs below the axes; 0 where it fits inside."""
    names = [name for name in names_in(figure) if name]
    # lines between named places fill the axes
    if figure.x.ticks and any(line.name for line in figure.guides):
        return len(names)
    if figure.dots and _are_single_points(figure) and fit_beside_points(names):
        return 0

    most_entries = _MOST_ENTRIES_OF_ROC if _is_roc(figure) else _MOST_ENTRIES
    longest_entry = _LONGEST_ENTRY_OF_ROC if _is_roc(figure) else _LONGEST_ENTRY
    longest = max(map(len, names), default=0)
    if len(names) > most_entries or longest > longest_entry:
        return len(names)
    return 0


def names_in(figure: Curves) -> tuple[str, ...]:
    """Return the names of all marks, each once."""
    marks = (*figure.guides, *figure.lines, *figure.bands, *figure.dots)
    return tuple(dict.fromkeys(line.name for line in marks))


def _are_single_points(figure: Curves) -> bool:
    """Return whether there are points only, each with a name of its own."""
    return not figure.lines and all(
        dots[figure.x.name].size == 1 for dots in figure.dots
    )


def _is_roc(figure: Curves) -> bool:
    return (figure.x.name, figure.y.name) == ("fpr", "tpr")
