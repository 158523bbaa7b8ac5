"""Which classifiers does a figure show, is it given what it needs, and who draws it?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache, wraps
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described
from trueness._core.docs import documented
from trueness._core.figures import Crosses
from trueness.counts.values import Panel, Tally
from trueness.plots._altair import ONE, Figure, chart_of, with_ends

F = TypeVar("F", bound=Callable[..., Any])
Source = Tally | Panel | Mapping[Any, Tally]


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


def drawn(figure: Figure, title: str, ax: Any = None, about: str = "") -> Any:
    """Draw a figure on axes of matplotlib, or without them as an Altair chart."""
    if isinstance(figure, Crosses):
        figure = with_ends(figure)
    if ax is None:
        return chart_of(figure, title, about)
    from trueness.plots._matplotlib import on_axes  # which needs the library

    return on_axes(ax, figure, title)


def guarded(figure: F) -> F:
    """Let a figure say in words which record, text or axes it needs.

    The annotations say it already, so they are read, once for all figures.
    """
    signature, counts = inspect.signature(figure), hasattr(figure, "takes")

    @wraps(figure)
    def call(*args: Any, **options: Any) -> Any:
        # what is counted is read by its own decorator: title and axes are left
        given = (
            options if counts else signature.bind_partial(*args, **options).arguments
        )
        for name, value in given.items():
            hint = _hints(figure).get(name, Any)
            wrong = not _fits(value, hint) and (name == "title" or not counts)
            if name == "ax" and value is not None and not hasattr(value, "plot"):
                raise InputError(
                    f"plots.{figure.__name__} draws on axes of matplotlib with ax=; "
                    f"found {described(value)}. Type fig, ax = "
                    "matplotlib.pyplot.subplots() and pass ax=ax, or leave ax out for "
                    "a chart of Altair."
                )
            if wrong:
                raise InputError(
                    f"plots.{figure.__name__} needs {name} to be {_written(hint)}; "
                    f"found {described(value)}."
                )
        return figure(*args, **options)

    if not counts:
        call.__doc__ = documented(figure.__doc__, signature.parameters)
    return call  # type: ignore[return-value]  # the same arguments, the same figure


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
