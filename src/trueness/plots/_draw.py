"""Which classifiers does a figure show, is it given what it needs, and who draws it?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from types import UnionType
from typing import Any, Union, cast, final, get_args, get_origin, get_type_hints

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described, nearest
from trueness._core.docs import documented
from trueness._core.figures import Crosses
from trueness.counts.answers import of_counts
from trueness.counts.values import Panel, Tally
from trueness.plots._altair import ONE, Figure, chart_of, with_ends

Source = Tally | Panel | Mapping[Any, Tally]
_ADDED = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
    for name, value in {"title": "", "ax": None}.items()
]


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


@final
@dataclass(frozen=True)
class Captioned:
    """A figure with words of its own, and what of it fits on one pair of axes."""

    figure: Any  # a Figure, or a chart of Altair
    title: str = ""
    about: str = ""
    alone: Figure | None = None


Shown = Figure | Captioned


def picture(make: Callable[..., Shown]) -> Callable[..., Any]:
    """Draw the figure that a function gives: it takes ``title`` and ``ax`` besides.

    What is asked about ``data`` counts them. Of others the annotations say which record
    or text they need, so they are read, once for all figures.
    """
    signature = inspect.signature(make)
    counts = next(iter(signature.parameters)) == "data"
    asked: Any = of_counts(make) if counts else make

    @wraps(asked)
    def call(*args: Any, title: str = "", ax: Any = None, **options: Any) -> Any:
        given: dict[str, Any] = {"title": title}
        if not counts:
            given |= signature.bind_partial(*args, **options).arguments
        for name, value in given.items():
            hint = str if name == "title" else _hints(make).get(name, Any)
            if not _fits(value, hint):
                raise InputError(
                    f"plots.{make.__name__} needs {name} to be {_written(hint)}; "
                    f"found {described(value)}."
                )
        if ax is not None and not hasattr(ax, "plot"):
            raise InputError(
                f"plots.{make.__name__} draws on axes of matplotlib with ax=; found "
                f"{described(ax)}. Type fig, ax = matplotlib.pyplot.subplots() and "
                "pass ax=ax, or leave ax out for a chart of Altair."
            )
        for name in options.keys() - said.__signature__.parameters.keys():
            if hint := nearest(name, [p.name for p in _ADDED]):
                raise InputError(f"plots.{make.__name__} has no option {name}=.{hint}")
        made = asked(*args, **options)
        shown = made if isinstance(made, Captioned) else Captioned(made)
        return _drawn(shown, title or shown.title, ax)

    own, said = inspect.signature(asked), cast("Any", call)
    said.__signature__ = own.replace(parameters=[*own.parameters.values(), *_ADDED])
    said.__doc__ = documented(asked.__doc__, said.__signature__.parameters)
    return call


def _drawn(shown: Captioned, title: str, ax: Any) -> Any:
    """Draw a figure on axes of matplotlib, or without them as an Altair chart."""
    figure = shown.figure if ax is None else shown.alone or shown.figure
    if isinstance(figure, Crosses):
        figure = with_ends(figure)
    if ax is None:
        return chart_of(figure, title, shown.about)
    from trueness.plots._matplotlib import on_axes  # which needs the library

    return on_axes(ax, figure, title)


@cache
def _hints(figure: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(figure)


def _fits(value: Any, hint: Any) -> bool:
    """Is this of the kind that the annotation says, as far as classes tell?"""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    if origin is Mapping:
        inner = get_args(hint)[1]
        return isinstance(value, Mapping) and all(
            _fits(v, inner) for v in value.values()
        )
    if hint in (Any, float, int):
        return True  # numbers are checked where they are used, with their range
    return not isinstance(hint, type) or isinstance(value, hint)


def _written(hint: Any) -> str:
    if get_origin(hint) is Mapping:
        return f"a mapping from name to {_written(get_args(hint)[1])}"
    if get_args(hint):
        return " or ".join(_written(part) for part in get_args(hint))
    known = {str: "text", type(None): "None", Any: "what it is to show"}
    return known.get(hint, getattr(hint, "__name__", str(hint)))
