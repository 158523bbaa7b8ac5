"""Which classifiers does a figure show, is it given what it needs, and who draws it?

A figure comes onto axes of matplotlib that somebody has made, beside what is there
already. Nothing is set but titles, ranges and a legend; the look is that of the
caller's style, except that guides are grey and broken.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    TypedDict,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.options import takes_them
from trueness._core.checks.words import described
from trueness._core.figures import Axis, Bars, Crosses, Curves, Intervals, Matrix
from trueness._core.names import documented
from trueness.counts.answers import OfCounts, of_counts
from trueness.counts.values import Panel, Tally
from trueness.plots._altair import ONE, Figure, chart_of, with_ends

if TYPE_CHECKING:
    from altair import TopLevelMixin as Chart
    from matplotlib.axes import Axes

GREY, SHADE = "0.45", 0.2  # of matplotlib
DASHES = ("--", ":", "-.")
WHISKER: dict[str, Any] = {"fmt": "o", "capsize": 3}
P = ParamSpec("P")
D = TypeVar("D")
Source = Tally | Panel | Mapping[Any, Tally]
# who makes the records that figures show
_MADE_BY = {
    "Dominance": "dominates", "Comparison": "compare_auc compare_metric",
    "CombinerComparison": "compare_combiners", "FiDEL | CorrelatedFiDEL": "fidel",
    "ReaderStudy": "reader_study", "Check": "check", "Watch": "watch",
    "Leaderboard | Mapping[str, Estimate]": "leaderboard", "Rate": "prevalence",
    "LatentPosterior": "latent_class", "Mapping[str, Rate]": "prevalence",
    "GuaranteedThreshold": "guaranteed_threshold", "Plan": "plan_auc",
    "AcrossSites": "across_sites", "SummaryROC": "summary_roc",
}  # fmt: skip


class Style(TypedDict, total=False):
    """What every figure takes besides: a title, and axes of matplotlib."""

    title: str
    ax: Axes | None


def named(x: Source) -> dict[str, Tally]:
    """Give every classifier of a tally, a panel or a mapping a name."""
    if isinstance(x, Tally):
        return {ONE: x}
    if isinstance(x, Panel):
        return {name: x[name] for name in x.names}
    if isinstance(x, Mapping) and x and all(isinstance(t, Tally) for t in x.values()):
        return {str(name): t for name, t in x.items()}
    if isinstance(x, Mapping) and not x:
        raise NotEnoughCases(
            "A figure needs a classifier or a group with positive and negative cases; "
            "found none."
        )
    raise InputError(
        f"A figure needs a tally, a panel or a mapping from name to tally; found "
        f"{type(x).__name__}. Type trueness.tally(y_true, y_score)."
    )


# a figure or chart; also with its title, what it is about, and what fits on axes alone
Shown = Figure | tuple[Any, dict[str, Any]]


def picture(make: Callable[P, Shown]) -> Callable[P, Any]:
    """Draw the figure that a function gives, with a title, or on axes.

    The annotations say which record or text is needed, so they are read, once for all
    figures.
    """
    parameters = {
        k: p for k, p in inspect.signature(make).parameters.items() if k != "look"
    }
    hints = get_type_hints(make)
    for k, default in {"title": "", "ax": None}.items():
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters[k] = inspect.Parameter(k, kind, default=default)

    @wraps(make)
    def call(
        *args: Any, title: str = "", ax: Axes | None = None, **options: Any
    ) -> Any:
        takes_them(said, args, options)
        bound = said.__signature__.bind(*args, **options).arguments
        for name, value in {"title": title, **bound}.items():
            hint = hints.get(name, str)
            if name != "data" and not _fits(value, hint):
                maker = _MADE_BY.get(str(parameters[name].annotation), "")
                raise InputError(
                    f"plots.{make.__name__} needs {name} to be {_written(hint)}; "
                    f"found {described(value)}."
                    + (f" Type trueness.{maker.split()[0]}(...)." if maker else "")
                )
        if ax is not None and not hasattr(ax, "plot"):
            raise InputError(
                f"plots.{make.__name__} draws on axes of matplotlib with ax=; found "
                f"{described(ax)}. Type fig, ax = matplotlib.pyplot.subplots() and "
                "pass ax=ax, or leave ax out for a chart of Altair."
            )
        made: Any = make(*args, **options)
        figure, words = made if isinstance(made, tuple) else (made, {})
        return _drawn(figure, ax, **words | ({"title": title} if title else {}))

    said = cast("Any", call)
    said.__signature__ = inspect.Signature([*parameters.values()])
    if "data" not in parameters:  # of data ``of_counts`` says more
        made_by = {
            k: f"From {' or '.join(f':func:`trueness.{w}`' for w in maker.split())}."
            for k, p in parameters.items()
            if (maker := _MADE_BY.get(str(p.annotation)))
        }
        said.__doc__ = documented(make.__doc__, parameters, made_by)
    return cast("Callable[P, Any]", said)


def picture_of(make: Callable[Concatenate[D, P], Shown]) -> OfCounts[D, P, Any, Any]:
    """Draw a figure that is asked about data, as analyses are."""
    return of_counts(picture(make))


def _drawn(
    figure: Figure | Chart,
    ax: Axes | None,
    title: str = "",
    about: str = "",
    alone: Figure | None = None,
) -> Any:
    """Draw a figure on axes of matplotlib, or without them as an Altair chart."""
    if isinstance(figure, Crosses):
        figure = with_ends(figure)
    if ax is None:
        return chart_of(figure, title, about)
    return _on_axes(ax, alone or figure, title)


def _fits(value: object, hint: object) -> bool:
    """Is this of the kind that the annotation says, as far as classes tell?"""
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    if get_origin(hint) is Mapping:
        inner = get_args(hint)[1]
        return isinstance(value, Mapping) and all(
            _fits(v, inner) for v in value.values()
        )
    # numbers are checked where they are used, with their range
    if hint in (Any, float, int, bool) or not isinstance(hint, type):
        return True
    return isinstance(value, hint)


def _written(hint: object) -> str:
    if get_origin(hint) is Mapping:
        return f"a mapping from name to {_written(get_args(hint)[1])}"
    if get_args(hint):
        return " or ".join(_written(part) for part in get_args(hint))
    known: dict[object, str] = {str: "text", type(None): "None", Any: "what it shows"}
    return known.get(hint, getattr(hint, "__name__", str(hint)))


def _on_axes(ax: Axes, figure: object, title: str) -> Axes:
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
