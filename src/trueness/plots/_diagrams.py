"""Drawings of diagrams: nodes with words, edges between them, plates around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from trueness._core.figures import Diagram, Node
from trueness._core.imports import required
from trueness.plots._ink import COLUMN_WIDTH, INK, PALE_GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "X"}

# square points
_LARGEST_COLOURED_NODE = 130.0
_WHITE_NODE = 4 * _LARGEST_COLOURED_NODE
_SMALLEST_NODE = 0.12  # of the largest one


def diagram_size(figure: Diagram) -> tuple[float, float]:
    """Return width and height of a diagram in inches."""
    extent = _extent(figure)
    beside = 1.8 if figure.level_title else 0.8
    width = 0.9 * (extent.right - extent.left) + beside
    height = 0.95 * (extent.bottom - extent.top) + 1.0
    return max(COLUMN_WIDTH, width), max(2.0, height)


def draw_diagram(ax: Axes, figure: Diagram) -> None:
    """Draw plates, edges, nodes and their words, and what the shapes mean."""
    extent = _extent(figure)
    ax.set_axis_off()
    ax.set_xlim(extent.left - 0.6, extent.right + 0.6)
    ax.set_ylim(extent.bottom + 0.5, extent.top - 0.5)

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


class _DrawnExtent(NamedTuple):
    """The outermost places of a diagram; its vertical axis points down."""

    left: float
    right: float
    top: float
    bottom: float


def _extent(figure: Diagram) -> _DrawnExtent:
    """Return the outermost places of nodes, and of plates less their margin."""
    across = [node.x for node in figure.nodes]
    down = [node.y for node in figure.nodes]
    for plate in figure.plates:
        across += [plate.left + 0.5, plate.right - 0.5]
        down += [plate.top + 0.4, plate.bottom - 0.4]
    return _DrawnExtent(min(across), max(across), min(down), max(down))


def _draw_edges(ax: Axes, figure: Diagram) -> None:
    """Draw an arrow, or a line, from node to node."""
    for first, second in figure.edges:
        start = figure.nodes[first]
        end = figure.nodes[second]
        ax.annotate(
            "",
            (end.x, end.y),
            (start.x, start.y),
            arrowprops={
                "arrowstyle": "-|>" if figure.directed else "-",
                "color": PALE_GREY,
                "linewidth": 0.9,
                "shrinkA": 11 if start.shape or figure.directed else 2,
                # an edge ends above the words of its node
                "shrinkB": 19 if end.above else 11,
            },
        )


def _draw_plates(ax: Axes, figure: Diagram) -> None:
    """Draw the boxes around nodes that are repeated, each with its text."""
    patches = required("matplotlib.patches", "plots")
    for plate in figure.plates:
        box = patches.FancyBboxPatch(
            (plate.left, plate.top),
            width=plate.right - plate.left,
            height=plate.bottom - plate.top,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor="none",
            edgecolor=PALE_GREY,
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
    marks = None
    for shape in dict.fromkeys(node.shape for node in figure.nodes):
        if shape:
            marks = _draw_nodes_of_shape(ax, figure, shape)

    if marks is not None and figure.level_title:
        owner = ax.figure
        bar = owner.colorbar(marks, ax=ax, shrink=0.7, aspect=18, pad=0.02)
        bar.set_label(figure.level_title)
        bar.outline.set_visible(False)


def _draw_nodes_of_shape(ax: Axes, figure: Diagram, shape: str) -> Any:
    """Draw the nodes of one shape, coloured where all of them have a level."""
    nodes = [node for node in figure.nodes if node.shape == shape]
    levels = [node.level for node in nodes]
    low, high = figure.level_range
    area = _WHITE_NODE
    colours: dict[str, Any] = {"color": "white"}

    if None not in levels:
        area = _LARGEST_COLOURED_NODE
        colours = {"c": levels, "cmap": "viridis", "vmin": low, "vmax": high}

    return ax.scatter(
        [node.x for node in nodes],
        [node.y for node in nodes],
        s=[area * max(node.size, _SMALLEST_NODE) for node in nodes],
        marker=_MARKERS[shape],
        edgecolors=INK,
        linewidths=0.6,
        label=figure.shapes.get(shape, "_"),
        zorder=3,
        **colours,
    )


def _write_node(ax: Axes, node: Node) -> None:
    """Write the words above, inside and below a node."""
    distance = 0  # of a node without a mark
    if node.shape:
        distance = 9 if node.level is not None else 14
    _write_at(ax, node, node.above, offset=distance, alignment="bottom")
    _write_at(ax, node, node.inside, offset=0, alignment="center")
    _write_at(ax, node, node.below, offset=-distance, alignment="top")


def _write_at(ax: Axes, node: Node, text: str, *, offset: int, alignment: str) -> None:
    """Write a text at a distance from a node, in points."""
    if not text:
        return

    ax.annotate(
        text,
        (node.x, node.y),
        xytext=(0, offset),
        textcoords="offset points",
        ha="center",
        va=alignment,
        fontsize="medium" if text == node.inside else "small",
        zorder=4,
    )
