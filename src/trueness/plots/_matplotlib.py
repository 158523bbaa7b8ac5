"""Matplotlib: figure data drawn on axes, in print size.

``draw`` makes axes of its own in the look of ``theme.mplstyle``, or draws on axes that
were passed, beside what is there already and in the style of their owner. Each kind of
figure data has one drawing function; ``_DRAWINGS`` is the table of them.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.errors import InputError
from trueness._core.figures import (
    Axis,
    Bars,
    Crosses,
    Curves,
    Diagram,
    FigureData,
    Intervals,
    Line,
    Matrix,
    Node,
    Panels,
    TitledFigure,
    score_bands,
)
from trueness._core.imports import required
from trueness._core.numbers import in_column
from trueness._core.records import shown
from trueness.inference.estimates import estimate_from_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

THEME = Path(__file__).parent / "theme.mplstyle"
PRINT_DPI = 300
_SETTINGS = RLock()

# inches
COLUMN_WIDTH, COLUMN_HEIGHT = 3.5, 3.2
PAGE_WIDTH = 7.2
FOREST_WIDTH, FOREST_ROW, FOREST_FRAME = 5.2, 0.25, 0.75
POINT = 1 / 72

GREY = "#767676"
INK = "#16181b"
ACCENT = "#c14f00"
DASHES = ("--", ":", "-.")
AROUND_A_LINE, BY_ITSELF = 0.18, 0.4  # how opaque areas are
MOST_IN_LEGEND = 4  # entries inside the axes; more stand below them
LONGEST_IN_LEGEND = 34
TICKS_AND_TITLE, TURNED_TICKS = 30, 52  # points below the axes
FEW_POINTS = 20  # more are drawn small
SHORT_NAME = 16
DIRECT_NAMES = 8
DIRECT_RULES = 2

# colour and marker of each verdict
VERDICTS = {
    "trust": ("#2447c4", "o"),
    "holds": ("#2447c4", "o"),
    "thin": ("#8a6100", "^"),
    "cannot tell yet": (GREY, "^"),
    "untested": (GREY, "s"),
    "coin toss": ("#c14f00", "X"),
    "fails": ("#c14f00", "X"),
    "contradicted": ("#a8487f", "D"),
}
COLOURS = 8
CROSS_MARKERS = "osD^"
MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "X"}


def draw(figure: TitledFigure, ax: Axes | None = None) -> Axes:
    """Draw a figure on these axes, or on new ones of pyplot, and return the axes."""
    if ax is not None:
        return _draw_on(ax, figure)
    pyplot = required("matplotlib.pyplot", "plots")
    with theme():
        size = print_size(figure.data)
        new_axes: Axes = pyplot.subplots(figsize=size, layout="constrained")[1]
        return _draw_on(new_axes, figure)


def printed(figure: TitledFigure) -> Figure:
    """Return a figure that no window shows, to be written to a file."""
    figures = required("matplotlib.figure", "plots")
    with theme():
        size = print_size(figure.data)
        new_figure: Figure = figures.Figure(figsize=size, layout="constrained")
        _draw_on(new_figure.subplots(), figure)
    return new_figure


@contextmanager
def theme() -> Iterator[None]:
    """Use the look of Trueness for the figures that are made inside."""
    matplotlib = required("matplotlib", "plots")
    # settings of matplotlib are global: one thread changes them at a time
    with _SETTINGS, matplotlib.rc_context(fname=THEME):
        yield


def print_size(data: FigureData) -> tuple[float, float]:
    """Return width and height of a figure in inches."""
    if isinstance(data, Intervals):
        return FOREST_WIDTH, FOREST_FRAME + FOREST_ROW * len(data.names)
    if isinstance(data, Matrix):
        side = 1.2 + 0.42 * len(data.names)
        return side + 0.8, side
    if isinstance(data, Diagram):
        return _diagram_size(data)
    if isinstance(data, Bars):
        data = score_bands(data)
    if isinstance(data, Panels):
        return _panels_size(data)
    below = _entries_below(data) if isinstance(data, Curves) else 0
    if isinstance(data, Crosses) and not _named_directly(data.names):
        below = len(data.names)
    return COLUMN_WIDTH, COLUMN_HEIGHT + 0.15 * below


def _panels_size(panels: Panels) -> tuple[float, float]:
    if panels.joined:
        return COLUMN_WIDTH, COLUMN_HEIGHT * (1 + 0.8 * sum(panels.heights[1:]))
    width = min(COLUMN_WIDTH * panels.columns, PAGE_WIDTH)
    panel_height = COLUMN_HEIGHT * panels.heights[0] * width / panels.columns
    rows = -(-len(panels.parts) // panels.columns)
    return width, max(1.1, panel_height / COLUMN_WIDTH) * rows + 0.3


def _draw_on(ax: Axes, figure: TitledFigure) -> Axes:
    if isinstance(figure.data, Bars):
        _check_span(figure.data)
    _DRAWINGS[type(figure.data)](ax, figure.data)
    if figure.title:
        ax.set_title(_wrapped(ax, figure.title))
    return ax


def _check_span(bars: Bars) -> None:
    """Stop at scores so far apart that no axis holds them."""
    low = float(bars.edges[0])
    high = float(bars.edges[-1])
    if not math.isfinite(1.2 * (high - low)):  # with the margins of an axis
        raise InputError(
            f"Scores from {low:g} to {high:g} are too far apart to be drawn. Divide "
            "all of them by the same number."
        )


def _wrapped(ax: Axes, title: str) -> str:
    """Break a title into lines that fit over its axes."""
    figure: Any = ax.figure
    width = ax.get_window_extent().width / figure.dpi / POINT
    letter = 0.62 * float(ax.title.get_fontsize())
    return textwrap.fill(title, max(20, int(width / letter)))


# curves


def _draw_curves(ax: Axes, figure: Curves) -> None:
    legend = _Legend()
    colours: dict[str, Any] = {}
    _draw_guides(ax, figure, legend)
    _draw_lines(ax, figure, legend, colours)
    _draw_dots(ax, figure, legend, colours)
    _draw_bands(ax, figure, legend, colours)
    _draw_rules(ax, figure, legend)
    _set_axis(ax, "x", figure.x)
    _set_axis(ax, "y", figure.y)
    if len(legend.names) > 1 or any(": " in name for name in legend.names):
        _draw_legend(ax, figure, len(legend.names))


class _Legend:
    """Which names already have an entry; matplotlib leaves out "_..."."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def label(self, name: str) -> str:
        if not name or name in self.names:
            return f"_{name}"
        self.names.append(name)
        return name


def _draw_guides(ax: Axes, figure: Curves, legend: _Legend) -> None:
    """Draw what curves are compared with: grey, areas or dashed lines."""
    x, y = figure.x.name, figure.y.name
    named = list(dict.fromkeys(line.name for line in figure.guides if line.name))
    for line in figure.guides:
        label = legend.label(line.name)
        if "low" in line.columns:
            ax.fill_between(
                line[x],
                line["low"],
                line["high"],
                color=GREY,
                alpha=AROUND_A_LINE,
                linewidth=0,
                label=label,
            )
            continue
        dash = DASHES[named.index(line.name) % 3] if line.name else "--"
        ax.plot(line[x], line[y], color=GREY, linewidth=1, linestyle=dash, label=label)


def _draw_lines(
    ax: Axes, figure: Curves, legend: _Legend, colours: dict[str, Any]
) -> None:
    for line in figure.lines:
        across, up = line[figure.x.name], line[figure.y.name]
        (curve,) = ax.plot(across, up, label=legend.label(line.name))
        colours.setdefault(line.name, curve.get_color())


def _draw_bands(
    ax: Axes, figure: Curves, legend: _Legend, colours: dict[str, Any]
) -> None:
    drawn_lines = {line.name for line in figure.lines}
    for band in figure.bands:
        opacity = AROUND_A_LINE if band.name in drawn_lines else BY_ITSELF
        across, low, high = band[figure.x.name], band["low"], band["high"]
        if band.name not in colours:
            colours[band.name] = _next_colour(ax)
        ax.fill_between(
            across,
            low,
            high,
            color=colours[band.name],
            alpha=opacity,
            linewidth=0,
            label=legend.label(band.name),
        )


def _next_colour(ax: Axes) -> Any:
    """Return the next colour of the cycle of the axes, which lines use up."""
    (sample,) = ax.plot([], [])
    sample.remove()
    return sample.get_color()


def _draw_dots(
    ax: Axes, figure: Curves, legend: _Legend, colours: dict[str, Any]
) -> None:
    direct: list[tuple[float, float, str]] = []
    names = [dots.name for dots in figure.dots]
    single_points = all(dots[figure.x.name].size == 1 for dots in figure.dots)
    named_directly = (
        single_points and not figure.lines and len(names) > 1 and _named_directly(names)
    )
    for dots in figure.dots:
        across, up = dots[figure.x.name], dots[figure.y.name]
        small = across.size > FEW_POINTS
        container = ax.errorbar(
            across,
            up,
            xerr=_arms(dots, figure.x.name, "left", "right"),
            yerr=_arms(dots, figure.y.name, "low", "high"),
            fmt="o",
            color=colours.get(dots.name),
            markersize=2.5 if small else 5,
            alpha=0.6 if small else 1,
            elinewidth=1.2,
            clip_on=False,
            zorder=3,
            label="_" if named_directly else legend.label(dots.name),
        )
        colours.setdefault(dots.name, container.lines[0].get_color())
        if named_directly:
            direct.append((float(across[0]), float(up[0]), dots.name))
    if direct:
        _set_axis(ax, "x", figure.x)
        _set_axis(ax, "y", figure.y)
        _name_points(ax, direct)


def _arms(dots: Line, value: str, low: str, high: str) -> Array | None:
    """Return the lengths of the two arms of each interval, if there is one."""
    if low not in dots.columns:
        return None
    arms = [dots[value] - dots[low], dots[high] - dots[value]]
    return np.maximum(arms, 0)


def _draw_rules(ax: Axes, figure: Curves, legend: _Legend) -> None:
    """Draw upright lines; one or two have their names beside their tops."""
    few = len(figure.rules) <= DIRECT_RULES
    for k, (name, place) in enumerate(figure.rules):
        dash = DASHES[k % len(DASHES)]
        label = "_" if few else legend.label(name)
        ax.axvline(place, color=GREY, linestyle=dash, linewidth=1, label=label)
        if few:
            _write_beside_top(
                ax, name, place, k, on_the_right=figure.name_on_the_right(k)
            )


def _write_beside_top(
    ax: Axes, name: str, place: float, line: int, *, on_the_right: bool
) -> None:
    ax.annotate(
        name,
        (place, 0.985 - 0.065 * line),
        xycoords=ax.get_xaxis_transform(),
        xytext=(3 if on_the_right else -3, 0),
        textcoords="offset points",
        horizontalalignment="left" if on_the_right else "right",
        verticalalignment="top",
        fontsize="small",
        **_halo(),
    )


def _halo() -> dict[str, Any]:
    """Return a white edge around letters, which lines may cross."""
    effects = required("matplotlib.patheffects", "plots")
    return {"path_effects": [effects.withStroke(linewidth=2, foreground="white")]}


def _set_axis(ax: Axes, side: str, axis: Axis) -> None:
    set_label: Any = ax.set_xlabel if side == "x" else ax.set_ylabel
    set_limits: Any = ax.set_xlim if side == "x" else ax.set_ylim
    set_ticks: Any = ax.set_xticks if side == "x" else ax.set_yticks
    set_label(axis.title)
    # a line along the edge of the axes would be cut in half
    room = 0.02 * (axis.high - axis.low)
    low = axis.low if axis.low in (0, 1) else axis.low - room
    high = axis.high if axis.high in (0, 1) else axis.high + room
    set_limits(low, high)
    if axis.ticks:
        places, texts = zip(*axis.ticks, strict=True)
        set_ticks(places, texts)
        if side == "x" and sum(map(len, texts)) > 50:
            for label in ax.get_xticklabels():
                label.set(rotation=30, horizontalalignment="right")
    elif not axis.title:  # a density has no scale that anybody reads
        set_ticks([])


def _draw_legend(ax: Axes, figure: Curves, entries: int) -> None:
    if _entries_below(figure):
        _legend_below(ax, handlelength=2.2)
        return
    ax.legend(loc="lower right" if _is_roc(figure) else "best")


def _legend_below(ax: Axes, *, handlelength: float) -> None:
    """Put the legend below the title of the horizontal axis, however high the axes."""
    transforms = required("matplotlib.transforms", "plots")
    turned = any(label.get_rotation() for label in ax.get_xticklabels())
    gap = TURNED_TICKS if turned else TICKS_AND_TITLE
    below = transforms.offset_copy(ax.transAxes, ax.figure, y=-gap, units="points")
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=below,
        borderaxespad=0,
        frameon=False,
        handlelength=handlelength,
    )


def _entries_below(figure: Curves) -> int:
    """Return how many lines a legend needs below the axes; 0 where it fits inside."""
    drawn = (*figure.guides, *figure.lines, *figure.bands, *figure.dots)
    names = list(dict.fromkeys(line.name for line in drawn if line.name))
    single_points = figure.dots and all(d[figure.x.name].size == 1 for d in figure.dots)
    if single_points and not figure.lines and _named_directly(names):
        return 0
    longest = max(map(len, names), default=0)
    most, most_letters = MOST_IN_LEGEND, LONGEST_IN_LEGEND
    if _is_roc(figure):  # which leaves the lower right corner free
        most, most_letters = 2 * most, 48
    return len(names) if len(names) > most or longest > most_letters else 0


def _is_roc(figure: Curves) -> bool:
    return (figure.x.name, figure.y.name) == ("fpr", "tpr")


# points with names


def _named_directly(names: Sequence[str]) -> bool:
    """Do these names fit beside their points?"""
    return len(names) <= DIRECT_NAMES and max(map(len, names)) <= SHORT_NAME


def _draw_crosses(ax: Axes, figure: Crosses) -> None:
    """Draw points with an interval in both directions, each with its name.

    Many or long names stand in a list below, beside the number of their point.
    """
    _draw_guides(
        ax, Curves(figure.what, figure.x, figure.y, guides=figure.guides), _Legend()
    )
    direct = _named_directly(figure.names)
    labels = []
    for k, name in enumerate(figure.names):
        x, left, right = figure.across[k]
        y, low, high = figure.up[k]
        text = name if direct else str(k + 1)
        label = f"_{name}" if direct else f"{k + 1}  {name}"
        # colours come round again: no shape does with the same one
        marker = CROSS_MARKERS[k // COLOURS % len(CROSS_MARKERS)]
        (mark,) = ax.plot([x], [y], marker, label=label, zorder=3)
        bars: dict[str, Any] = {"color": mark.get_color(), "linewidth": 1, "alpha": 0.5}
        ax.hlines([y], left, right, **bars)
        ax.vlines([x], low, high, **bars)
        labels.append((float(x), float(y), text))
    _set_axis(ax, "x", figure.x)
    _set_axis(ax, "y", figure.y)
    _name_points(ax, labels)
    if not direct:
        _legend_below(ax, handlelength=1)


def _name_points(ax: Axes, labels: Sequence[tuple[float, float, str]]) -> None:
    """Write names beside points, each where it covers no other name or point."""
    transform = ax.transData.transform
    figure: Any = ax.figure
    to_points = 72 / figure.dpi
    places = [transform((x, y)) * to_points for x, y, _ in labels]
    size = 7.0
    taken = [(px - 3, py - 3, px + 3, py + 3) for px, py in places]
    frame = np.array(ax.get_window_extent().extents) * to_points
    for (x, y, text), (px, py) in zip(labels, places, strict=True):
        width, height = 0.6 * size * len(text), 1.2 * size
        boxes = [
            (px + dx if dx > 0 else px + dx - width, py + dy)
            for dx, dy in ((5, 2), (-5, 2), (5, -10), (-5, -10), (5, 12), (-5, -20))
        ]
        corners = [(a, b, a + width, b + height) for a, b in boxes]
        free = [
            c for c in corners if _inside(c, frame) and not _covers_any(c, taken)
        ] or corners
        left, bottom, *_ = free[0]
        taken.append(free[0])
        ax.annotate(
            text,
            (x, y),
            xytext=(left - px, bottom - py),
            textcoords="offset points",
            fontsize=size,
            verticalalignment="bottom",
            annotation_clip=False,
            **_halo(),
        )


def _inside(box: Sequence[float], frame: Array) -> bool:
    return bool(box[0] >= frame[0] and box[2] <= frame[2] and frame[1] <= box[1])


def _covers_any(box: Sequence[float], taken: Sequence[Sequence[float]]) -> bool:
    return any(
        box[0] < other[2]
        and other[0] < box[2]
        and box[1] < other[3]
        and other[1] < box[3]
        for other in taken
    )


# intervals, matrices, scores


def _draw_intervals(ax: Axes, figure: Intervals) -> None:
    """Draw estimates with their intervals; the numbers stand on the right."""
    rows = np.arange(len(figure.names))[::-1]  # the first one is at the top
    if figure.zero is not None:
        ax.axvline(figure.zero, color=GREY, linestyle="--", linewidth=1)
    verdicts = figure.more.get("verdict")
    if verdicts is None:
        _draw_interval_rows(ax, figure, rows, np.ones(rows.size, dtype=bool))
    else:
        for verdict in dict.fromkeys(verdicts.tolist()):
            colour, marker = VERDICTS[verdict]
            members = np.asarray(verdicts == verdict)
            look = {"color": colour, "fmt": marker, "label": verdict}
            _draw_interval_rows(ax, figure, rows, members, **look)
    for name, values in figure.marks.items():
        ax.plot(values, rows, "D", fillstyle="none", color=ACCENT, label=name)
    ax.set_yticks(rows, [shown(name, 60) for name in figure.names])
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


def _draw_interval_rows(
    ax: Axes, figure: Intervals, rows: Array, members: Array, **look: Any
) -> None:
    value, low, high = figure.value[members], figure.low[members], figure.high[members]
    arms = np.maximum([value - low, high - value], 0)
    marks: dict[str, Any] = {"fmt": "o", "elinewidth": 1.5} | look
    ax.errorbar(value, rows[members], xerr=arms, **marks)


def _write_estimates(ax: Axes, figure: Intervals, rows: Array) -> None:
    """Write each estimate with its interval on the right, outside of the axes."""
    triples = zip(figure.value, figure.low, figure.high, strict=True)
    texts = in_column([estimate_from_interval(*triple) for triple in triples])
    right = ax.secondary_yaxis("right")
    right.set_yticks(rows, texts)
    right.tick_params(length=0, labelsize="small")
    right.spines["right"].set_visible(False)


def _draw_matrix(ax: Axes, figure: Matrix) -> None:
    size = len(figure.names)
    below_diagonal = np.tri(size, k=-1, dtype=bool)
    value = np.where(below_diagonal, figure.value, np.nan)[1:, :-1]
    ax.grid(visible=False)
    ax.imshow(value, cmap="PuOr_r", vmin=-1, vmax=1)
    for i, j in np.argwhere(np.isfinite(value)):
        ink = "white" if abs(value[i, j]) > 0.6 else INK
        text = f"{value[i, j]:.2f}"
        ax.text(j, i, text, ha="center", va="center", color=ink, fontsize="small")
    ax.set_xticks(range(size - 1), figure.names[:-1], rotation=45, ha="right")
    ax.set_yticks(range(size - 1), figure.names[1:])
    ax.set_xlabel(figure.label)


def _draw_bars(ax: Axes, figure: Bars) -> None:
    data = score_bands(figure)
    _DRAWINGS[type(data)](ax, data)


# several panels


def _draw_panels(ax: Axes, panels: Panels) -> None:
    if panels.joined:
        _draw_joined(ax, panels)
        return
    spec = ax.get_subplotspec()
    if spec is None:
        raise InputError(
            "A figure of several panels needs axes that matplotlib placed in a grid. "
            "Make them with fig, ax = matplotlib.pyplot.subplots().",
            option="ax",
        )
    # the axes themselves hold the title only
    ax.set_axis_off()
    rows = -(-len(panels.parts) // panels.columns)
    grid = spec.subgridspec(rows, panels.columns)
    owner: Any = ax.figure
    same_names = len({_names_in(part) for part in panels.parts}) == 1
    for k, part in enumerate(panels.parts):
        panel = owner.add_subplot(grid[k // panels.columns, k % panels.columns])
        _draw_curves(panel, part)
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


def _names_in(figure: Curves) -> tuple[str, ...]:
    drawn = (*figure.guides, *figure.lines, *figure.bands, *figure.dots)
    return tuple(dict.fromkeys(line.name for line in drawn))


def _draw_joined(ax: Axes, panels: Panels) -> None:
    """Draw the first panel on the axes, and the others as strips below them."""
    first, *others = panels.parts
    _draw_curves(ax, first)
    ax.set_xlabel("")
    ax.tick_params("x", labelbottom=False)
    bottom = 0.0
    for part, height in zip(others, panels.heights[1:], strict=True):
        bottom -= height + 0.06
        strip = ax.inset_axes((0, bottom, 1, height), sharex=ax)
        _draw_curves(strip, part)
        # a strip is low: there is room for two numbers
        strip.locator_params(axis="y", nbins=2)


# diagrams

_NODE_AREA = 130.0  # of the largest node, in square points


def _diagram_size(figure: Diagram) -> tuple[float, float]:
    x, y = _extent(figure)
    width = 0.9 * (max(x) - min(x)) + (1.8 if figure.level_title else 0.8)
    height = 0.95 * (max(y) - min(y)) + 1.0
    return max(COLUMN_WIDTH, width), max(2.0, height)


def _draw_diagram(ax: Axes, figure: Diagram) -> None:
    ax.set_axis_off()
    across, down = _extent(figure)
    ax.set_xlim(min(across) - 0.6, max(across) + 0.6)
    ax.set_ylim(max(down) + 0.5, min(down) - 0.5)
    _draw_plates(ax, figure)
    _draw_edges(ax, figure)
    _draw_nodes(ax, figure)
    for node in figure.nodes:
        _write_node(ax, node)
    if figure.shapes:
        ax.legend(
            loc="upper left",
            bbox_to_anchor=(0, 0),
            ncols=4,
            frameon=False,
            markerscale=0.7,
        )


def _extent(figure: Diagram) -> tuple[list[float], list[float]]:
    """Return every horizontal and every vertical place of nodes and plates."""
    across = [node.x for node in figure.nodes]
    down = [node.y for node in figure.nodes]
    for plate in figure.plates:
        across += [plate.left + 0.5, plate.right - 0.5]
        down += [plate.top + 0.4, plate.bottom - 0.4]
    return across, down


def _draw_edges(ax: Axes, figure: Diagram) -> None:
    arrow = "-|>" if figure.directed else "-"
    for first, second in figure.edges:
        start, end = figure.nodes[first], figure.nodes[second]
        ax.annotate(
            "",
            (end.x, end.y),
            (start.x, start.y),
            arrowprops={
                "arrowstyle": arrow,
                "color": "#a4adb7",
                "linewidth": 0.9,
                "shrinkA": 11 if start.shape or figure.directed else 2,
                # an edge ends above the words of its node
                "shrinkB": 19 if end.above else 11,
            },
        )


def _draw_plates(ax: Axes, figure: Diagram) -> None:
    patches = required("matplotlib.patches", "plots")
    for plate in figure.plates:
        width, height = plate.right - plate.left, plate.bottom - plate.top
        box = patches.FancyBboxPatch(
            (plate.left, plate.top),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor="none",
            edgecolor="#a4adb7",
            linewidth=0.8,
        )
        ax.add_patch(box)
        ax.annotate(
            plate.text,
            (plate.left, plate.bottom),
            xytext=(5, 5),
            textcoords="offset points",
            ha="left",
            va="bottom",
            fontsize="small",
        )


def _draw_nodes(ax: Axes, figure: Diagram) -> None:
    """Draw the marks, one kind of shape after the other, with a scale of colours."""
    low, high = figure.level_range
    drawn = None
    for shape in dict.fromkeys(node.shape for node in figure.nodes if node.shape):
        nodes = [node for node in figure.nodes if node.shape == shape]
        coloured = all(node.level is not None for node in nodes)
        colours: dict[str, Any] = {"color": "white"}
        if coloured:
            levels = [node.level for node in nodes]
            colours = {"c": levels, "cmap": "viridis", "vmin": low, "vmax": high}
        area = _NODE_AREA if coloured else 4 * _NODE_AREA
        drawn = ax.scatter(
            [node.x for node in nodes],
            [node.y for node in nodes],
            s=[area * max(node.size, 0.12) for node in nodes],
            marker=MARKERS[shape],
            edgecolors=INK,
            linewidths=0.6,
            label=figure.shapes.get(shape, "_"),
            zorder=3,
            **colours,
        )
    if drawn is not None and figure.level_title:
        owner: Any = ax.figure
        bar = owner.colorbar(drawn, ax=ax, shrink=0.7, aspect=18, pad=0.02)
        bar.set_label(figure.level_title)
        bar.outline.set_visible(False)


def _write_node(ax: Axes, node: Node) -> None:
    beside = 9 if node.level is not None else 14
    places = (
        (node.above, beside, "bottom"),
        (node.inside, 0, "center"),
        (node.below, -beside, "top"),
    )
    for text, offset, alignment in places:
        if text:
            ax.annotate(
                text,
                (node.x, node.y),
                xytext=(0, offset if node.shape else 0),
                textcoords="offset points",
                ha="center",
                va=alignment,
                fontsize="medium" if text == node.inside else "small",
                zorder=4,
            )


_DRAWINGS: dict[type, Callable[[Any, Any], None]] = {
    Curves: _draw_curves,
    Crosses: _draw_crosses,
    Intervals: _draw_intervals,
    Matrix: _draw_matrix,
    Bars: _draw_bars,
    Panels: _draw_panels,
    Diagram: _draw_diagram,
}
