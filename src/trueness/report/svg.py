"""How is a figure of the report drawn?

As SVG, by hand: a page of the report must open at once from a mail attachment, under a
policy that forbids everything, and still show its figures where scripts are blocked.
A bundle of Vega is 0.9 MB of script that has to run first; these figures are text.

A figure is a list of marks on ``Axes``. Colours come from the style sheet by class, so
that light, dark and print need no second drawing. A mark of class ``now`` is moved by
the slider: ``data-x`` and ``data-y`` name the quantities that it follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from markupsafe import Markup, escape

from trueness._core.arrays import Array
from trueness._core.polyline import few_points
from trueness._core.records import shown

WIDTH, HEIGHT = 360, 320
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 12, 46
ROW = 38  # height of an interval with its name above
NAME = 32  # letters of a name that fit beside a number
UNSEEN = 0.15  # of a unit: lines may be off by so much


@final
@dataclass(frozen=True)
class Axes:
    """Where is a value on the paper? Ranges and words of both axes."""

    x_label: str
    y_label: str
    x: tuple[float, float] = (0.0, 1.0)
    y: tuple[float, float] = (0.0, 1.0)
    height: int = HEIGHT
    bare: bool = False  # no numbers on the vertical axis

    @property
    def left(self) -> int:
        """Give the place of the left edge."""
        return RIGHT if self.bare else LEFT

    def px(self, values: Any) -> Array:
        """Give horizontal places."""
        low, high = self.x
        share = (np.asarray(values, dtype=np.float64) - low) / (high - low)
        return np.asarray(self.left + share * (WIDTH - self.left - RIGHT))

    def py(self, values: Any) -> Array:
        """Give vertical places; up is more."""
        low, high = self.y
        share = (np.asarray(values, dtype=np.float64) - low) / (high - low)
        return np.asarray(self.height - BOTTOM - share * (self.height - TOP - BOTTOM))


def drawing(axes: Axes, marks: Sequence[Markup], description: str) -> Markup:
    """Put marks on axes; the description is what a screen reader says."""
    x, y = axes.x, axes.y
    return Markup(
        '<svg class="figure" viewBox="0 0 {w} {h}" role="img" aria-label="{text}" '
        'data-ranges="{x0:.9g} {x1:.9g} {y0:.9g} {y1:.9g}">{axes}{marks}</svg>'
    ).format(
        w=WIDTH,
        h=axes.height,
        text=description,
        x0=x[0],
        x1=x[1],
        y0=y[0],
        y1=y[1],
        axes=_axes(axes),
        marks=Markup("").join(marks),
    )


def _axes(axes: Axes) -> Markup:
    left, right = axes.left, WIDTH - RIGHT
    bottom, middle = axes.height - BOTTOM, (axes.height - BOTTOM + TOP) / 2
    parts = []
    for value, text in ticks(*axes.x):
        at = float(axes.px(value))
        parts.append(_segment("grid", at, TOP, at, bottom))
        parts.append(_text("tick mid", at, bottom + 15, text))
    for value, text in [] if axes.bare else ticks(*axes.y):
        at = float(axes.py(value))
        parts.append(_segment("grid", left, at, right, at))
        parts.append(_text("tick end", left - 6, at + 4, text))
    parts.append(_text("title mid", (left + right) / 2, axes.height - 8, axes.x_label))
    parts.append(
        Markup(
            '<text class="title mid" transform="translate(14 {y:.1f}) rotate(-90)">'
            "{text}</text>"
        ).format(y=middle, text=axes.y_label)
    )
    return Markup("").join(parts)


def ticks(low: float, high: float, about: int = 5) -> list[tuple[float, str]]:
    """Which round numbers lie on an axis?

    >>> [text for _, text in ticks(0, 1)]
    ['0', '0.2', '0.4', '0.6', '0.8', '1']
    """
    rough = (high - low) / about
    size = 10.0 ** np.floor(np.log10(rough))
    step = size * min(k for k in (1, 2, 5, 10) if k * size >= 0.999 * rough)
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [(k * step, f"{k * step + 0.0:.6g}") for k in np.arange(first, last + 1)]


def line(axes: Axes, x: Any, y: Any, kind: str = "", data: str = "") -> Markup:
    """Draw a curve."""
    return Markup('<path class="line {kind}"{data} d="{path}"/>').format(
        kind=kind, data=_data(data), path=_path(axes, x, y)
    )


def area(axes: Axes, x: Any, low: Any, high: Any, kind: str, data: str = "") -> Markup:
    """Fill what lies between two curves."""
    xs = np.concatenate([np.asarray(x), np.asarray(x)[::-1]])
    ys = np.concatenate([np.asarray(high), np.asarray(low)[::-1]])
    return polygon(axes, xs, ys, kind, data)


def polygon(axes: Axes, x: Any, y: Any, kind: str, data: str = "") -> Markup:
    """Fill a region given by its corners."""
    return Markup('<path class="area {kind}"{data} d="{path}Z"/>').format(
        kind=kind, data=_data(data), path=_path(axes, x, y)
    )


def dot(axes: Axes, x: float, y: float, kind: str = "", follow: str = "") -> Markup:
    """Mark a point; ``follow`` names the two quantities that move it.

    A point that is not in the figure is there, unseen, for the slider to bring in.
    """
    seen = axes.x[0] <= x <= axes.x[1] and axes.y[0] <= y <= axes.y[1]
    at = (x, y) if seen else (axes.x[0], axes.y[0])
    return Markup(
        '<circle class="dot {kind}"{follow}{gone} cx="{x}" cy="{y}" r="5"/>'
    ).format(
        kind=kind,
        follow=_follow(follow),
        gone="" if seen else Markup(' visibility="hidden"'),
        x=_place(axes.px(at[0])),
        y=_place(axes.py(at[1])),
    )


def upright(axes: Axes, x: float, kind: str = "", follow: str = "") -> Markup:
    """Draw a line from bottom to top; ``follow`` names the quantity that moves it."""
    at = _place(axes.px(x))
    return Markup(
        '<line class="{kind}"{follow} x1="{x}" x2="{x}" y1="{a}" y2="{b}"/>'
    ).format(
        kind=kind, follow=_follow(follow), x=at, a=TOP, b=_place(axes.py(axes.y[0]))
    )


def tilted(axes: Axes, left: float, right: float, kind: str, follow: str) -> Markup:
    """Draw a line from edge to edge; ``follow`` names its heights there."""
    names = follow.split()
    return Markup(
        '<line class="{kind}" data-left="{from_}" data-right="{to}" '
        'x1="{a}" x2="{b}" y1="{c}" y2="{d}"/>'
    ).format(
        kind=kind, from_=names[0], to=names[1], a=_place(axes.px(axes.x[0])),
        b=_place(axes.px(axes.x[1])), c=_place(axes.py(left)), d=_place(axes.py(right)),
    )  # fmt: skip


def clipped(axes: Axes, marks: Sequence[Markup]) -> Markup:
    """Cut off what leaves the axes: an inner drawing does so by itself."""
    left, top = axes.left, TOP
    width, height = WIDTH - left - RIGHT, axes.height - TOP - BOTTOM
    return Markup(
        '<svg x="{x}" y="{y}" width="{w}" height="{h}" viewBox="{x} {y} {w} {h}">'
        "{marks}</svg>"
    ).format(x=left, y=top, w=width, h=height, marks=Markup("").join(marks))


def intervals(
    names: Sequence[str],
    estimates: Sequence[Any],
    texts: Sequence[str],
    label: str,
    description: str,
    *,
    zero: bool = False,
    coloured: bool = False,
) -> Markup:
    """Draw estimates with their intervals under one another; ``zero`` marks 0.

    Names and numbers stand above their lines, so that they need no margin.
    """
    ends = [v for e in estimates for v in (e.low, e.high, e.value) if np.isfinite(v)]
    ends += [0.0] if zero else []
    low, high = _padded(min(ends, default=0.0), max(ends, default=1.0))
    height = TOP + BOTTOM + ROW * len(names)
    axes = Axes(label, "", (low, high), (0.0, float(len(names))), height, bare=True)
    marks = []
    for k, (name, e, text) in enumerate(zip(names, estimates, texts, strict=True)):
        at, colour = len(names) - k - 0.72, f"c{k % 8 if coloured else 0}"
        if zero:
            marks.append(line(axes, [0, 0], [at - 0.25, at + 0.22], "chance"))
        if np.isfinite([e.low, e.high]).all():
            marks.append(line(axes, [e.low, e.high], [at, at], f"{colour} thick"))
        marks.append(dot(axes, e.value, at, colour))
        above = float(axes.py(at + 0.34))
        marks.append(_text("name", axes.left, above, shown(name, NAME)))
        marks.append(_text("name end", WIDTH - RIGHT, above, text))
    return drawing(axes, marks, description)


def _padded(low: float, high: float) -> tuple[float, float]:
    room = 0.08 * (high - low) or 0.05
    return low - room, high + room


def _segment(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line class="{kind}" x1="{a}" y1="{b}" x2="{c}" y2="{d}"/>').format(
        kind=kind, a=_place(x1), b=_place(y1), c=_place(x2), d=_place(y2)
    )


def _text(kind: str, x: float, y: float, text: str) -> Markup:
    return Markup('<text class="{kind}" x="{x}" y="{y}">{text}</text>').format(
        kind=kind, x=_place(x), y=_place(y), text=text
    )


def _path(axes: Axes, x: Any, y: Any) -> str:
    """Write a line, without the points that nobody would see."""
    across, up = axes.px(x), axes.py(y)
    some = few_points(across / WIDTH, up / WIDTH, across.size, UNSEEN / WIDTH)
    places = zip(across[some], up[some], strict=True)
    return "M" + "L".join(f"{_place(a)} {_place(b)}" for a, b in places)


def _place(value: Any) -> str:
    return f"{float(value):.1f}".removesuffix(".0")


def _data(model: str) -> Markup:
    return Markup(' data-model="{}"').format(model) if model else Markup("")


def _follow(names: str) -> Markup:
    if not names:
        return Markup("")
    x, _, y = names.partition(" ")
    more = Markup(' data-y="{}"').format(y) if y else Markup("")
    return Markup(' data-x="{}"').format(escape(x)) + more
