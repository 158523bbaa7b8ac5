"""How is a figure of the report drawn?

As SVG, by hand: a page of the report must open at once from a mail attachment, under a
policy that forbids everything, and still show its figures where scripts are blocked.
A bundle of Vega is 0.9 MB of script that has to run first; these figures are text.

``draw`` makes marks on ``Axes`` of the figure data of a finding. Colours come from the
style sheet by class, so that light, dark and print need no second drawing. A mark of
class ``now`` is moved by the slider: ``data-x`` and ``data-y`` name the quantities that
it follows. Marks of one classifier carry its number, so that the page can show those of
the one that is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat, final

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import ArrayLike

from trueness._core.arrays import Array
from trueness._core.figures import Bars, Crosses, Curves, Intervals, Matrix, few_points
from trueness._core.numbers import in_column
from trueness._core.records import shown
from trueness.findings.records import Figure, Table, table
from trueness.inference.estimates import estimate_from_interval

WIDTH, HEIGHT = 360, 320
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 12, 46
ROW, TEXT = 38, 16  # height of an interval with its name above, and of a line of text
NAME, WIDE = 30, 52  # letters of a name that fit beside a number, and on a line
MOST_SHOWN = 20  # intervals in a figure
UNSEEN = 0.3  # of a unit: lines may be off by so much


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

    def px(self, values: ArrayLike) -> Array:
        """Give horizontal places."""
        share = _share(values, *self.x)
        return np.asarray(self.left + share * (WIDTH - self.left - RIGHT))

    def py(self, values: ArrayLike) -> Array:
        """Give vertical places; up is more."""
        share = _share(values, *self.y)
        return np.asarray(self.height - BOTTOM - share * (self.height - TOP - BOTTOM))


Drawn = tuple[Markup, Table]  # the drawing, and its numbers as a table


def draw(figure: Figure) -> Drawn:
    """Draw a figure of a finding."""
    kinds: dict[type, Callable[[Figure, Any], Drawn]] = {
        Curves: _curves, Bars: _bars, Intervals: _forest, Crosses: _crosses,
        Matrix: _matrix,
    }  # fmt: skip
    return kinds[type(figure.data)](figure, figure.data)


def _share(values: ArrayLike, low: float, high: float) -> Array:
    """How far between both ends? In eighths where the distance would overflow."""
    x, part = np.asarray(values, dtype=np.float64), 1.0
    if max(abs(low), abs(high)) > 1e307:
        part = 0.125
    return (x * part - low * part) / ((high * part - low * part) or 1.0)


def drawing(axes: Axes, marks: Sequence[Markup], description: str) -> Markup:
    """Put marks on axes; the description is what a screen reader says."""
    ranges = " ".join(f"{end:.9g}" for end in (*axes.x, *axes.y))
    plot = f"{axes.left} {TOP} {WIDTH - RIGHT} {axes.height - BOTTOM}"
    places = {"data_ranges": ranges, "data_plot": plot}
    return _picture(axes.height, description, [*_axes(axes), *marks], **places)


def _picture(
    height: float, description: str, marks: Sequence[Markup], **data: str
) -> Markup:
    words = {"viewBox": f"0 0 {WIDTH} {height:.0f}", "role": "img"}
    words |= {"aria_label": description, **data}
    return element("svg", "figure", Markup("").join(marks), **words)


def element(
    tag: str, kind: str | None, inside: str | None = None, /, **given: Any
) -> Markup:
    """Write a mark of this class with its attributes; those that are None are left out.

    >>> print(element("line", "rule", x1=1.04, data_x="a < b"))
    <line class="rule" x1="1" data-x="a &lt; b"/>
    """
    words = "".join(
        f' {name.replace("_", "-")}="'
        f'{escape(value) if isinstance(value, str) else _place(value)}"'
        for name, value in {"class": kind, **given}.items()
        if value is not None
    )
    end = "/>" if inside is None else f">{escape(inside)}</{tag}>"
    return Markup(f"<{tag}{words}{end}")  # noqa: S704 - escaped in these lines


def _axes(axes: Axes) -> list[Markup]:
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
    turned = f"translate(14 {middle:.1f}) rotate(-90)"
    parts.append(element("text", "title mid", axes.y_label, transform=turned))
    return parts


def ticks(low: float, high: float, about: int = 5) -> list[tuple[float, str]]:
    """Which round numbers lie on an axis?

    >>> [text for _, text in ticks(0, 1)]
    ['0', '0.2', '0.4', '0.6', '0.8', '1']
    """
    rough = high / about - low / about  # in parts: the whole may overflow
    size = 10.0 ** np.floor(np.log10(rough))
    step = size * min(k for k in (1, 2, 5, 10) if k * size >= 0.999 * rough)
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [(k * step, f"{k * step + 0.0:.6g}") for k in np.arange(first, last + 1)]


def line(
    axes: Axes,
    x: ArrayLike,
    y: ArrayLike,
    kind: str = "",
    data: str = "",
    shape: str = "line",
) -> Markup:
    """Draw a curve, or fill the region whose corners it joins: an area."""
    path = _path(axes, x, y) + ("Z" if shape == "area" else "")
    return element("path", f"{shape} {kind}", data_model=data or None, d=path)


def area(
    axes: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, kind: str, data: str = ""
) -> Markup:
    """Fill what lies between two curves."""
    xs = np.concatenate([np.asarray(x), np.asarray(x)[::-1]])
    ys = np.concatenate([np.asarray(high), np.asarray(low)[::-1]])
    return line(axes, xs, ys, kind, data, "area")


def dot(axes: Axes, x: float, y: float, kind: str = "", follow: str = "") -> Markup:
    """Mark a point; ``follow`` names the two quantities that move it.

    A point that is not in the figure is there, unseen, for the slider to bring in.
    """
    seen = axes.x[0] <= x <= axes.x[1] and min(axes.y) <= y <= max(axes.y)
    at = (x, y) if seen else (axes.x[0], axes.y[0])
    follows = {**_follow(follow), "visibility": None if seen else "hidden"}
    place = {"cx": axes.px(at[0]), "cy": axes.py(at[1])}
    return element("circle", f"dot {kind}", **follows, **place, r=5)


def upright(axes: Axes, x: float, kind: str = "", follow: str = "") -> Markup:
    """Draw a line from bottom to top; ``follow`` names the quantity that moves it."""
    at, foot = axes.px(x), axes.py(axes.y[0])
    return element("line", kind, **_follow(follow), x1=at, x2=at, y1=TOP, y2=foot)


def clipped(axes: Axes, marks: Sequence[Markup]) -> Markup:
    """Cut off what leaves the axes: an inner drawing does so by itself."""
    left, width = axes.left, WIDTH - axes.left - RIGHT
    height = axes.height - TOP - BOTTOM
    place = {"x": left, "y": TOP, "width": width, "height": height}
    box = " ".join(map(str, place.values()))
    return element("svg", None, Markup("").join(marks), **place, viewBox=box)


def only(k: int) -> str:
    """Show a mark of classifier k only while it is chosen; the first one is."""
    return "only gone" if k else "only"


def _curves(f: Figure, data: Curves) -> Drawn:
    """Draw bands, guides and curves, and what moves with the threshold."""
    across, up = f.x or (data.x.low, data.x.high), f.y or (data.y.low, data.y.high)
    axes = Axes(data.x.title, data.y.title, across, up)
    at = {name: k for k, name in enumerate(f.order)}
    drawn = [area(axes, *strip, "forbidden") for strip in f.shaded]
    x, y = data.x.name, data.y.name
    drawn += [line(axes, g[x], g[y], "chance") for g in data.guides]
    for b in data.bands:
        k = at[b.name]
        kind = f"{f.band} {only(k)} c{k % 8}"
        drawn.append(area(axes, b[x], b["low"], b["high"], kind, str(k)))
    for one in data.lines:
        k = at[one.name]
        kind = f"curve c{k % 8}{' chosen' if f.legend or not k else ''}"
        drawn.append(line(axes, one[x], one[y], kind, "" if f.legend else str(k)))
    right, low = WIDTH - RIGHT, axes.height - BOTTOM - 10 + TEXT
    for j, one in enumerate(data.lines if f.legend else ()):
        # in the lower right corner, beside a piece of its line
        place = low - TEXT * (len(data.lines) - j)
        kind = f"line curve chosen c{at[one.name] % 8}"
        drawn.append(_segment(kind, right - 150, place - 4, right - 122, place - 4))
        drawn.append(_text("name", right - 116, place, shown(one.name, 20)))
    moving = []  # what the slider moves: a straight line, an upright, a dot
    if f.tilt:
        names = dict(zip(("data_left", "data_right"), f.tilt.split(), strict=True))
        (x1, x2), (y1, y2) = axes.px(axes.x), axes.py(f.ends)
        straight = element("line", "now rule", **names, x1=x1, x2=x2, y1=y1, y2=y2)
        moving.append(clipped(axes, [straight]))
    if f.at is not None:
        moving += [upright(axes, f.at[0], "now rule", f.rule)] if f.rule else []
        moving.append(dot(axes, *f.at, "now", f.follow))
    names_of = ", ".join(one.name for one in data.lines)
    text = f"{f.title} of {names_of}: {data.y.title} against {data.x.title}. {f.note}"
    picture = drawing(axes, [clipped(axes, drawn), *moving], text)
    return picture, _numbers(data, f.title)


def _numbers(figure: Curves, title: str) -> Table:
    """Give some points of each curve, with thresholds and band where they have them.

    A threshold has more digits than a rate, since counts hang on it.
    """
    x, y = figure.x, figure.y
    cut = "cut" in figure.lines[0].columns
    ends = "low" in figure.lines[0].columns
    rows = []
    for one in figure.lines:
        size = len(one[x.name])
        for i in np.unique(np.linspace(0, size - 1, 7).astype(int)):
            row: list[Any] = [one.name]
            if cut:
                above = np.isposinf(one["cut"][i])
                row.append("above all" if above else f"{one['cut'][i]:.6g}")
            keys = (x.name, y.name, *(("low", "high") if ends else ()))
            rows.append([*row, *(float(one[k][i]) for k in keys)])
    head = ["classifier", *(["threshold"] if cut else []), x.title, y.title]
    return table(title, [*head, *(["from", "to"] if ends else [])], rows)


def _bars(f: Figure, data: Bars) -> Drawn:
    """Draw how scores are spread, with one threshold that moves or two that stay.

    Each class fills the height by itself: rare positives are as easy to see as the
    negatives, which the table counts.
    """
    shares = {name: data.shares(name) for name in data.neg}
    tops = [max(float(v.max()), 1e-300) for pair in shares.values() for v in pair]
    low, high = float(data.edges[0]), float(data.edges[-1])
    axes = Axes("Score", "Cases, scaled by class", (low, high), (0.0, 1.05))
    marks, rows = [], []
    for k, (name, pair) in enumerate(shares.items()):
        for j, (kind, heights) in enumerate(
            zip(("negatives", "positives"), pair, strict=True)
        ):
            up = np.concatenate([[0], np.repeat(heights / tops[2 * k + j], 2), [0]])
            across = np.repeat(data.edges, 2)
            marks.append(line(axes, across, up, f"{kind} {only(k)}", str(k), "area"))
        for b in np.flatnonzero(pair[0] + pair[1]):
            span = f"{data.edges[b]:.3g} to {data.edges[b + 1]:.3g}"
            counts = (float(data.neg[name][b]), float(data.pos[name][b]))
            rows.append((name, span, *counts))
    cuts = np.clip(f.at or (), low, high)
    if f.rule:
        marks.append(upright(axes, float(cuts[0]), "now rule", f.rule))
    elif cuts.size:
        marks.insert(0, area(axes, cuts, [0, 0], [1.05, 1.05], "band c2"))
        marks += [upright(axes, float(cut), "now rule") for cut in cuts]
    text = (
        f"Histogram of the scores of {', '.join(shares)}, from {low:.3g} to "
        f"{high:.3g}, positives and negatives separately; the table has the numbers."
    )
    head = ("classifier", "score", "negatives", "positives")
    return drawing(axes, marks, text), table(f.title, head, rows)


def _forest(f: Figure, data: Intervals) -> Drawn:
    """Draw estimates with their intervals under one another.

    Names and numbers stand above their lines, so that they need no margin. Of many the
    first ones are drawn; the table has all of them.
    """
    every = (data.value, data.low, data.high, *data.marks.values())
    ends = np.concatenate([v[:MOST_SHOWN] for v in every])
    ends = np.append(ends[np.isfinite(ends)], [] if data.zero is None else 0.0)
    low, high = (ends.min(), ends.max()) if ends.size else (0.0, 1.0)
    room, largest = 0.08 * high - 0.08 * low or 0.05, np.finfo(float).max
    span = max(low - room, -largest), min(high + room, largest)
    names = [_name_lines(name) for name in data.names[:MOST_SHOWN]]
    feet = np.cumsum([ROW + TEXT * (len(n) - 1) for n in names], dtype=float)
    height, tall = TOP + BOTTOM + int(feet[-1]), (float(feet[-1]), 0.0)
    axes = Axes(data.label, "", span, tall, height, bare=True)
    values = list(zip(data.value, data.low, data.high, strict=True))
    numbers = in_column([estimate_from_interval(*three) for three in values])
    marks = []
    for k, (lines, (value, low, high)) in enumerate(zip(names, values, strict=False)):
        at, colour = feet[k] - 0.28 * ROW, f"c{k % 8 if f.order else 0}"
        if data.zero is not None:
            zero = [at + 0.25 * ROW, at - 0.22 * ROW]
            marks.append(line(axes, [data.zero] * 2, zero, "chance"))
        if np.isfinite([low, high]).all():
            marks.append(line(axes, [low, high], [at, at], f"{colour} thick"))
        for other in data.marks.values():
            if np.isfinite(other[k]):  # a diamond, beside the estimate
                place = f"M{_place(axes.px(other[k]))} {_place(axes.py(at) - 6)}"
                marks.append(element("path", "line c1", d=f"{place}l6 6-6 6-6-6z"))
        marks.append(dot(axes, float(value), at, colour))
        foot = float(axes.py(at - 0.34 * ROW))
        for j, part in enumerate(reversed(lines)):
            marks.append(_text("name", axes.left, foot - TEXT * j, part))
        marks.append(_text("name end", WIDTH - RIGHT, foot, numbers[k]))
    text = f"{data.label} of each {f.of} with its interval. {f.note}".strip()
    rows = zip(data.names, *(v.tolist() for v in every), strict=True)
    head = (f.of, data.label, "from", "to", *data.marks)
    return drawing(axes, marks, text), table(f.title, head, rows)


def _crosses(f: Figure, data: Crosses) -> Drawn:
    """Draw points with an interval in both directions, numbered as in the table."""
    x, y = data.x, data.y
    axes = Axes(x.title, y.title, (x.low, x.high), (y.low, y.high))
    marks = [line(axes, g[x.name], g[y.name], "chance") for g in data.guides]
    names, rows = [], []
    every = zip(data.names, data.across, data.up, strict=True)
    for k, (name, a, b) in enumerate(every):
        colour, place = f"c{k % 8}", (float(a[0]), float(b[0]))
        marks.append(line(axes, a[1:], [b[0]] * 2, colour))
        marks.append(line(axes, [a[0]] * 2, b[1:], colour))
        marks.append(dot(axes, *place, colour))
        beside = float(axes.px(place[0])) + 7, float(axes.py(place[1])) - 6
        names.append(_text("name", *beside, str(k + 1)))
        rows.append((f"{k + 1} {name}", *map(float, (*b, *a))))
    head = (f.of, y.title, "from", "to", x.title, "from", "to")
    text = f"{f.title}: {y.title} against {x.title}. {f.note}"
    return drawing(axes, [*marks, *names], text), table(f.title, head, rows)


def _matrix(f: Figure, data: Matrix) -> Drawn:
    """Draw a number for each pair of names as a cell."""
    size = len(data.names)
    side = (WIDTH - LEFT - RIGHT) / max(size - 1, 1)
    tall = min(side, 46.0)
    marks, rows = [], []
    for i, j in zip(*np.tril_indices(size, -1), strict=True):
        x, y, value = LEFT + side * j, TOP + tall * (i - 1), float(data.value[i, j])
        rows.append((data.names[j], data.names[i], value))
        if np.isfinite(value):
            place = {"x": x + 1, "y": y + 1, "width": side - 2, "height": tall - 2}
            kind, shade = "area c0" if value >= 0 else "area c1", f"{abs(value):.2f}"
            marks.append(element("rect", kind, fill_opacity=shade, **place))
            middle = x + side / 2, y + tall / 2 + 4
            marks.append(_text("name mid", *middle, f"{value:.2f}"))
    below = TOP + tall * (size - 1) + 15
    for k in range(size - 1):
        beside = TOP + tall * (k + 0.5) + 4
        marks.append(_text("tick end", LEFT - 6, beside, str(k + 2)))
        marks.append(_text("tick mid", LEFT + side * (k + 0.5), below, str(k + 1)))
    text = f"{f.title}: {data.label} of each pair. {f.note}"
    numbers = table(f.title, ("first", "second", data.label), rows)
    return _picture(TOP + tall * size, text, marks), numbers


def _name_lines(name: str) -> list[str]:
    """Break a long name, so that the last line leaves room for the number.

    >>> _name_lines("short"), _name_lines("a" * 36)
    (['short'], ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', ''])
    """
    text = shown(name, 3 * WIDE)
    if len(text) <= NAME:
        return [text]
    minus = text.find(" \N{MINUS SIGN} ")
    cuts = [text] if minus < 0 else [text[: minus + 2], text[minus + 3 :]]
    lines = [part[k : k + WIDE] for part in cuts for k in range(0, len(part), WIDE)]
    return lines if len(lines[-1]) <= NAME else [*lines, ""]


def _segment(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return element("line", kind, x1=x1, y1=y1, x2=x2, y2=y2)


def _text(kind: str, x: float, y: float, text: str) -> Markup:
    return element("text", kind, text, x=x, y=y)


def _path(axes: Axes, x: ArrayLike, y: ArrayLike) -> str:
    """Write a line in steps, which are short, without points that nobody would see."""
    across, up = axes.px(x), axes.py(y)
    some = few_points(across / WIDTH, up / WIDTH, across.size, UNSEEN / WIDTH)
    places = np.round([across[some], up[some]], 1)
    places[:, 1:] = np.diff(places)
    first, *steps = (f"{_place(a)} {_place(b)}" for a, b in places.T)
    return f"M{first}l{' '.join(steps)}"


def _place(value: SupportsFloat) -> str:
    return f"{float(value):.1f}".removesuffix(".0")


def _follow(names: str) -> dict[str, str]:
    """Name the quantities that move a mark: one across, or two."""
    return dict(zip(("data_x", "data_y"), names.split(), strict=False))
