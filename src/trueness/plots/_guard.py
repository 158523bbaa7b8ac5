"""Was a figure given what it draws?

A figure of a record, say of a ``Comparison``, reads its fields. Whoever passes
something else should hear what was needed; the annotations say it already, so they are
read, once for all figures.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache, wraps
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described

F = TypeVar("F", bound=Callable[..., Any])


def guarded(figure: F) -> F:
    """Let a figure say in words which record, text or axes it needs."""
    signature = inspect.signature(figure)

    @wraps(figure)
    def call(*args: Any, **options: Any) -> Any:
        kinds = _hints(figure)
        given = options
        if not hasattr(figure, "takes"):  # else the door counts what comes first
            given = signature.bind_partial(*args, **options).arguments
        for name, value in given.items():
            if name == "ax":
                _axes(figure.__name__, value)
            elif name == "title" or given is not options:
                _kind(figure.__name__, name, value, kinds.get(name, Any))
        return figure(*args, **options)

    return call  # type: ignore[return-value]  # the same arguments, the same figure


@cache
def _hints(figure: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(figure)


def _axes(figure: str, ax: Any) -> None:
    if ax is not None and not hasattr(ax, "plot"):
        raise InputError(
            f"plots.{figure} draws on axes of matplotlib with ax=; found "
            f"{described(ax)}. Type fig, ax = matplotlib.pyplot.subplots() and pass "
            f"ax=ax, or leave ax out for a chart of Altair."
        )


def _kind(figure: str, name: str, value: Any, hint: Any) -> None:
    if not _fits(value, hint):
        raise InputError(
            f"plots.{figure} needs {name} to be {_written(hint)}; found "
            f"{described(value)}."
        )


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
