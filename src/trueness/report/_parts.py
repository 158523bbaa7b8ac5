"""What is a report made of? Sections of sentences, figures and tables: plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, TypeVar, final

from markupsafe import Markup

from trueness._core.checks.errors import NeedsWholeCases, NotEnoughCases
from trueness._core.numbers import in_column
from trueness._core.records import shown

P = ParamSpec("P")
T = TypeVar("T")


@final
@dataclass(frozen=True)
class Grid:
    """A table: a caption, a head and rows of text."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def wordy(self) -> tuple[bool, ...]:
        """Which columns hold sentences rather than numbers?"""
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.head)
        return tuple(max(map(len, column), default=0) > 36 for column in columns)


@final
@dataclass(frozen=True)
class Figure:
    """A drawing with its title, what to read from it, and its numbers as a table."""

    title: str
    svg: Markup
    note: str
    numbers: Grid


@final
@dataclass(frozen=True)
class Section:
    """One question: what was found, in words, figures and tables, and how.

    ``title`` is the question; those of the report have theirs in its list of sections.
    ``headline`` is the sentence that the summary takes from it.
    """

    key: str
    title: str = ""
    words: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Grid, ...] = ()
    method: str = ""
    caveat: str = ""
    headline: str = ""


@final
@dataclass(frozen=True)
class Tile:
    """A number that is seen first: what it is, the number, and how sure."""

    name: str
    value: str
    detail: str


@final
@dataclass(frozen=True)
class Page:
    """A whole report, before it becomes HTML."""

    title: str
    facts: tuple[tuple[str, str], ...]
    tiles: tuple[Tile, ...]
    summary: tuple[tuple[str, tuple[str, ...]], ...]
    operating: Section | None
    sections: tuple[Section, ...]
    slider: dict[str, Any] = field(default_factory=dict)
    command: str = ""

    @property
    def all(self) -> tuple[Section, ...]:
        """Give every section, the one with the slider first."""
        return (*([self.operating] if self.operating else []), *self.sections)


def grid(caption: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Grid:
    """Write the values of a table as text, those of a column alike."""
    columns = (in_column(column) for column in zip(*rows, strict=True))
    texts = ([shown(text, 600) for text in column] for column in columns)
    return Grid(caption, tuple(head), tuple(zip(*texts, strict=True)))


def where_possible(section: Callable[P, T]) -> Callable[P, T | None]:
    """Let a section be left out, and nothing else, when there are too few cases."""

    @wraps(section)
    def made(*args: P.args, **options: P.kwargs) -> T | None:
        return possible(lambda: section(*args, **options))

    return made


def possible(ask: Callable[[], T]) -> T | None:
    """Ask, and take None when there are too few cases for an answer.

    A report on few cases, or on weighted ones, says what can be said, and leaves the
    rest out.
    """
    try:
        return ask()
    except (NotEnoughCases, NeedsWholeCases):
        return None
