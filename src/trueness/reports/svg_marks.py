"""Marks of SVG: lines, areas, dots and words on axes.

A page of the report must open at once from a mail attachment, under a policy that
forbids everything, and show its figures where scripts are blocked. So figures are text.
Colours come from the style sheet by class: light, dark and print need one drawing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, SupportsFloat, final

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import ArrayLike

from trueness._core.arrays import Array
from trueness._core.figures import Axis, few_points
from trueness._core.numbers import with_minus
from trueness.findings.records import Table

# lengths in units of the drawing, which the page stretches to its column
WIDTH, HEIGHT = 360, 320
# margins around the plot
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 12, 46
TEXT_LINE_HEIGHT = 16  # height of a line of text
LETTER_WIDTH_OF_TICKS = 6  # width of a letter of a tick
INVISIBLE_DISTANCE = 0.3  # lines may be off by so much

NUMBER_OF_COLOURS = 8  # in the style sheet

Tick = tuple[float, str]
Drawn = tuple[Markup, Table]  # the drawing, and its numbers as a table


@final
@dataclass(frozen=True)
class Axes:
    """Where a value lies on the paper: ranges and words of both axes."""

    x_label: str
    y_label: str
    x: tuple[float, float] = (0.0, 1.0)
    y: tuple[float, float] = (0.0, 1.0)
    height: int = HEIGHT
    bare: bool = False  # no numbers on the vertical axis
    x_ticks: tuple[Tick, ...] = ()
    y_ticks: tuple[Tick, ...] = ()
    names_width: int = 0  # of a column of names before the axes
    numbers_width: int = 0  # of a column of numbers behind them

    @cached_property
    def left(self) -> int:
        """Return the place of the left edge, which leaves room for the numbers."""
        if self.bare:
            return RIGHT + self.names_width
        longest = max((len(label) for _, label in self.numbers_of_y), default=0)
        # the title of the axis takes 26 units before the numbers
        return max(LEFT, 26 + LETTER_WIDTH_OF_TICKS * longest)

    @property
    def right(self) -> int:
        """Return the place of the right edge."""
        return WIDTH - RIGHT - self.numbers_width

    @cached_property
    def numbers_of_x(self) -> Sequence[Tick]:
        """Return the numbers on the horizontal axis, or the names that stand there."""
        # five on a plot of the usual width, and never fewer than three
        usual_width = WIDTH - LEFT - RIGHT
        number = round(5 * (self.right - self.left) / usual_width)
        if self.x_ticks:
            return _ticks_that_fit(self.x_ticks)

        numbers = ticks(*self.x, number=min(max(number, 3), 5))
        # one number alone shows no scale
        return numbers if len(numbers) > 1 else ticks(*self.x, number=5)

    @cached_property
    def numbers_of_y(self) -> Sequence[Tick]:
        """Return the numbers on the vertical axis."""
        return self.y_ticks or ticks(*self.y)

    def px(self, values: ArrayLike) -> Array:
        """Return horizontal places."""
        fraction = _fraction(values, *self.x)
        return np.asarray(self.left + fraction * (self.right - self.left))

    def py(self, values: ArrayLike) -> Array:
        """Return vertical places; up is more."""
        fraction = _fraction(values, *self.y)
        inner_height = self.height - TOP - BOTTOM
        return np.asarray(self.height - BOTTOM - fraction * inner_height)


def axes_of(
    x: Axis,
    y: Axis,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
) -> Axes:
    """Return the axes of a figure, with another range where one is passed."""
    return Axes(
        x.title,
        y.title,
        x_range or (x.low, x.high),
        y_range or (y.low, y.high),
        bare=not y.title,
        x_ticks=x.ticks,
        y_ticks=y.ticks,
    )


def _ticks_that_fit(named_ticks: Sequence[Tick]) -> Sequence[Tick]:
    """Return every tick, or every second, third ... one, so that names do not touch."""
    if not named_ticks:
        return ()
    longest = max(len(label) for _, label in named_ticks)
    most_names = (WIDTH - LEFT - RIGHT) // (LETTER_WIDTH_OF_TICKS * (longest + 1))
    step = math.ceil(len(named_ticks) / max(most_names, 1))
    return named_ticks[::step]


def _fraction(values: ArrayLike, low: float, high: float) -> Array:
    """Return how far values lie between both ends: 0 at the low one, 1 at the high."""
    numbers = np.asarray(values, dtype=np.float64)
    scale = 1.0
    if max(abs(low), abs(high)) > 1e307:
        scale = 0.125  # in eighths, where the distance of the ends would overflow
    length = (high * scale - low * scale) or 1.0
    return (numbers * scale - low * scale) / length


def element(
    tag: str, kind: str | None, inside: str | None = None, /, **attributes: Any
) -> Markup:
    """Write a mark of this class; attributes that are None are left out.

    >>> print(element("line", "rule", x1=1.04, data_x="a < b"))
    <line class="rule" x1="1" data-x="a &lt; b"/>
    """
    attributes_text = ""
    for name, value in {"class": kind, **attributes}.items():
        if value is not None:
            text = escape(value) if isinstance(value, str) else place(value)
            attributes_text += f' {name.replace("_", "-")}="{text}"'

    end = "/>" if inside is None else f">{escape(inside)}</{tag}>"
    return Markup(f"<{tag}{attributes_text}{end}")  # noqa: S704 - escaped in these lines


def place(value: SupportsFloat) -> str:
    """Write a coordinate, in tenths of a unit."""
    return f"{float(value):.1f}".removesuffix(".0")


def segment(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    """Draw a straight line between two places on the paper."""
    return element("line", kind, x1=x1, y1=y1, x2=x2, y2=y2)


def text(kind: str, x: float, y: float, content: str) -> Markup:
    """Write a text at a place on the paper."""
    return element("text", kind, content, x=x, y=y)


def drawing(
    axes: Axes, marks: Sequence[Markup], description: str, *, scale: str = ""
) -> Markup:
    """Put marks on axes; the description is what a screen reader says.

    ``scale`` tells the script of a page that the horizontal axis is not linear.
    """
    # the script turns values into places by these: ends of the axes, edges of the plot
    ranges = " ".join(f"{end:.9g}" for end in (*axes.x, *axes.y))
    edges = f"{axes.left} {TOP} {axes.right} {axes.height - BOTTOM}"
    attributes = {"data_ranges": ranges, "data_plot": edges}
    if scale:
        attributes["data_scale"] = scale
    return picture(axes.height, description, [*_frame(axes), *marks], data=attributes)


def picture(
    height: float,
    description: str,
    marks: Sequence[Markup],
    *,
    width: float = WIDTH,
    data: Mapping[str, str] | None = None,
) -> Markup:
    """Return one drawing of these marks; a script reads the attributes ``data``."""
    attributes = {"viewBox": f"0 0 {width:.0f} {height:.0f}", "role": "img"}
    attributes |= {"aria_label": description, **(data or {})}
    return element("svg", "figure", Markup("").join(marks), **attributes)


def _frame(axes: Axes) -> list[Markup]:
    """Draw grid, numbers and titles of both axes."""
    left = axes.left
    right = axes.right
    bottom = axes.height - BOTTOM

    marks = []
    for value, label in axes.numbers_of_x:
        x = float(axes.px(value))
        marks.append(segment("grid", x, TOP, x, bottom))
        marks.append(text("tick mid", x, bottom + 15, label))

    if not axes.bare:
        for value, label in axes.numbers_of_y:
            y = float(axes.py(value))
            marks.append(segment("grid", left, y, right, y))
            marks.append(text("tick end", left - 6, y + 4, label))

    marks.append(text("title mid", (left + right) / 2, axes.height - 8, axes.x_label))
    middle = (bottom + TOP) / 2
    turned = f"translate(14 {middle:.1f}) rotate(-90)"
    marks.append(element("text", "title mid", axes.y_label, transform=turned))

    return marks


def ticks(low: float, high: float, number: int = 5) -> list[Tick]:
    """Return about ``about`` round numbers for the ticks of an axis.

    Whole numbers are written as such, and others with equal decimals.

    >>> [words for _, words in ticks(0.79, 1)]
    ['0.80', '0.85', '0.90', '0.95', '1']
    """
    rough_step = high / number - low / number  # in parts: the whole may overflow
    power_of_ten = 10.0 ** np.floor(np.log10(rough_step))
    # the smallest round step that is no smaller, but for rounding
    factors = [
        factor
        for factor in (1, 2, 5, 10)
        if factor * power_of_ten >= 0.999 * rough_step
    ]
    step = power_of_ten * min(factors)

    lowest = np.ceil(low / step - 1e-9)
    highest = np.floor(high / step + 1e-9)
    # -0.0 + 0.0 is 0.0, which has no sign
    values = [
        float(multiple * step + 0.0) for multiple in np.arange(lowest, highest + 1)
    ]

    return [(value, _tick_label(value, step)) for value in values]


def _tick_label(value: float, step: float) -> str:
    """Write a number of an axis; those that are not whole have as many decimals."""
    short = f"{value:.6g}"
    decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    if "e" in short or float(short).is_integer() or decimals > 6:
        return with_minus(short)
    return with_minus(f"{value:.{decimals}f}")


def line(
    axes: Axes,
    x: ArrayLike,
    y: ArrayLike,
    kind: str = "",
    data: str = "",
    shape: str = "line",
    *,
    unseen: float = INVISIBLE_DISTANCE,
) -> Markup:
    """Draw a curve through these points, or fill the region that it encloses.

    ``shape`` is ``"line"`` or ``"area"``; ``data`` is the number of the classifier that
    the page shows it for. Points are left out that move the curve by less than
    ``unseen``.
    """
    path = _path(axes, x, y, unseen)
    if shape == "area":
        path += "Z"  # back to the first point
    return element("path", f"{shape} {kind}", data_model=data or None, d=path)


def area(
    axes: Axes,
    x: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    kind: str,
    data: str = "",
    *,
    unseen: float = INVISIBLE_DISTANCE,
) -> Markup:
    """Fill what lies between two curves."""
    # along the upper curve, and back along the lower one
    across = np.concatenate([np.asarray(x), np.asarray(x)[::-1]])
    up = np.concatenate([np.asarray(high), np.asarray(low)[::-1]])
    return line(axes, across, up, kind, data, "area", unseen=unseen)


def dot(axes: Axes, x: float, y: float, kind: str = "", follow: str = "") -> Markup:
    """Mark a point; ``follow`` names the two quantities that move it.

    A point outside of the figure is there, unseen, for the slider to bring in.
    """
    inside = axes.x[0] <= x <= axes.x[1] and min(axes.y) <= y <= max(axes.y)
    if not inside:
        x = axes.x[0]
        y = axes.y[0]

    visibility = None if inside else "hidden"
    follows = {**_followed_quantities(follow), "visibility": visibility}
    return element(
        "circle", f"dot {kind}", **follows, cx=axes.px(x), cy=axes.py(y), r=5
    )


def upright_line(axes: Axes, x: float, kind: str = "", follow: str = "") -> Markup:
    """Draw a line from bottom to top; ``follow`` names the quantity that moves it."""
    across = axes.px(x)
    foot = axes.py(axes.y[0])
    follows = _followed_quantities(follow)
    return element("line", kind, **follows, x1=across, x2=across, y1=TOP, y2=foot)


def _followed_quantities(names: str) -> dict[str, str]:
    """Name the quantities that move a mark: one across, or two."""
    return dict(zip(("data_x", "data_y"), names.split(), strict=False))


def clip_to_plot(axes: Axes, marks: Sequence[Markup]) -> Markup:
    """Cut off what leaves the axes: an inner drawing does so by itself."""
    left = axes.left
    width = axes.right - axes.left
    height = axes.height - TOP - BOTTOM

    return element(
        "svg",
        None,
        Markup("").join(marks),
        x=left,
        y=TOP,
        width=width,
        height=height,
        viewBox=f"{left} {TOP} {width} {height}",
    )


def class_of_model(k: int) -> str:
    """Return the classes of a mark that is shown while classifier k is chosen."""
    return "only gone" if k else "only"


def class_of_colour(k: int) -> str:
    """Return the class of the k-th colour; they come round again."""
    return f"c{k % NUMBER_OF_COLOURS}"


def _path(axes: Axes, x: ArrayLike, y: ArrayLike, unseen: float) -> str:
    """Write a line in steps, which are short, without points that nobody would see."""
    across = axes.px(x)
    down = axes.py(y)
    visible = few_points(across / WIDTH, down / WIDTH, across.size, unseen / WIDTH)

    places = np.round([across[visible], down[visible]], 1)
    # behind the first point, how far each is from the one before
    places[:, 1:] = np.diff(places)
    start, *steps = [f"{place(dx)} {place(dy)}" for dx, dy in places.T]

    return f"M{start}l{' '.join(steps)}"
