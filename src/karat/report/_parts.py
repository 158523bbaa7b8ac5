"""What is a report made of? Sections of sentences, figures and tables: plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeVar, final

from markupsafe import Markup

from karat._checks import NotEnoughCases
from karat._records import Estimate, shown

T = TypeVar("T")


@final
@dataclass(frozen=True)
class Grid:
    """A table: a caption, a head and rows of text."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@final
@dataclass(frozen=True)
class Figure:
    """A drawing with its title, what to read from it, and its numbers as a table."""

    title: str
    svg: Markup
    note: str = ""
    numbers: Grid | None = None


@final
@dataclass(frozen=True)
class Section:
    """One question: what was found, in words, figures and tables, and how."""

    key: str
    title: str
    words: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Grid, ...] = ()
    method: str = ""
    caveat: str = ""


@final
@dataclass(frozen=True)
class Page:
    """A whole report, before it becomes HTML."""

    title: str
    facts: tuple[tuple[str, str], ...]
    summary: tuple[tuple[str, tuple[str, ...]], ...]
    operating: Section | None
    sections: tuple[Section, ...]
    slider: dict[str, Any] = field(default_factory=dict)


def grid(caption: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Grid:
    """Write the values of a table as text."""
    text = tuple(tuple(written(v) for v in row) for row in rows)
    return Grid(caption, tuple(head), text)


def written(value: Any) -> str:
    """Write one value for a reader.

    >>> written(0.85184), written(12345), written(Estimate(0.5, 0.4, 0.6))
    ('0.852', '12,345', '0.5 (0.4 to 0.6)')
    """
    if isinstance(value, Estimate) and value.value == value.low == value.high:
        return written(value.value)
    if isinstance(value, Estimate) and not isfinite(value.high - value.low):
        return f"{written(value.value)} (no interval)"
    if isinstance(value, Estimate):
        return f"{value.value:.3g} ({value.low:.3g} to {value.high:.3g})"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return {"nan": "undefined", "inf": "infinite"}.get(str(value), f"{value:.3g}")
    return shown(value, 200)


def possible(ask: Callable[[], T]) -> T | None:
    """Ask, and take None when there are too few cases for an answer.

    A report on few cases says what can be said, and leaves the rest out.
    """
    try:
        return ask()
    except NotEnoughCases:
        return None


def chance(p: float) -> str:
    """Write a p-value.

    >>> chance(0.0312), chance(1e-9)
    ('0.031', 'under 0.0001')
    """
    return "under 0.0001" if p < 1e-4 else f"{p:.2g}"


def p_is(p: float) -> str:
    """Write a p-value within a sentence.

    >>> p_is(0.0312), p_is(1e-9)
    ('p = 0.031', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def percent(share: float) -> str:
    """Write a share.

    >>> percent(0.0531), percent(0.5), percent(float("nan"))
    ('5.31%', '50%', 'undefined')
    """
    return "undefined" if share != share else f"{100 * share:.3g}%"


def names_shown(names: Sequence[str], most: int = 40) -> list[str]:
    """Write names so that they stay short and still differ."""
    texts: list[str] = []
    for name in names:
        text = shown(name, most) or "(no name)"
        same = texts.count(text)
        while text in texts:
            same += 1
            text = f"{shown(name, most - 6)} ({same})"
        texts.append(text)
    return texts
