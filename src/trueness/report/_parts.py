"""What is a report made of? Sections of sentences, figures and tables: plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import floor, inf, isfinite, log10
from statistics import median_low
from typing import Any, TypeVar, final

from markupsafe import Markup

from trueness._core.checks.errors import NotEnoughCases
from trueness._core.records import Estimate, shown

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


def grid(caption: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Grid:
    """Write the values of a table as text."""
    columns = (in_column(column) for column in zip(*rows, strict=True))
    return Grid(caption, tuple(head), tuple(zip(*columns, strict=True)))


def in_column(values: Sequence[Any]) -> list[str]:
    """Write values that stand under one another, intervals with the same places.

    >>> in_column([Estimate(0.5, 0.4, 0.61), Estimate(0.25, 0.2401, 0.2599)])
    ['0.50 (0.40 to 0.61)', '0.25 (0.24 to 0.26)']
    """
    estimates = [v for v in values if isinstance(v, Estimate)]
    places = [_places((e.high - e.low) / 2) for e in estimates if e.high > e.low]
    usual = median_low(places) if places else 3
    return [
        _estimate(v, usual) if isinstance(v, Estimate) else written(v) for v in values
    ]


def written(value: Any) -> str:
    """Write one value for a reader.

    >>> written(0.85184), written(12345), written(Estimate(0.5, 0.41, 0.6))
    ('0.852', '12,345', '0.500 (0.410 to 0.600)')
    """
    if isinstance(value, Estimate):
        return _estimate(value, _places((value.high - value.low) / 2))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float) and 1000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    if isinstance(value, float):
        return {"nan": "undefined", "inf": "infinite"}.get(str(value), f"{value:.3g}")
    return shown(value, 200)


def _estimate(e: Estimate, places: int) -> str:
    if e.value == e.low == e.high:
        return written(e.value)
    if not isfinite(e.high - e.low):
        return f"{written(e.value)} (no interval)"
    value, low, high = (f"{v:,.{places}f}" for v in (e.value, e.low, e.high))
    return f"{value} ({low} to {high})"


def _places(half: float) -> int:
    """How many decimal places show two digits of half the width of an interval?"""
    if not 0 < half < inf:
        return 3
    return min(8, max(0, 1 - floor(round(log10(half), 9))))


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
    ('0.031', '<0.0001')
    """
    return "<0.0001" if p < 1e-4 else f"{p:.2g}"


def p_is(p: float) -> str:
    """Write a p-value within a sentence.

    >>> p_is(0.0312), p_is(1e-9)
    ('p = 0.031', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def percent(share: float) -> str:
    """Write a share; only what is everything is 100%.

    >>> percent(0.0531), percent(0.5), percent(0.8225), percent(0.99999)
    ('5.31%', '50.0%', '82.3%', '99.99%')
    """
    x = 100 * share
    if x != x:
        return "undefined"
    if 99.95 <= x < 100:
        return f"{floor(100 * x) / 100:.2f}%"
    # a tie goes up, as in the script of the page
    return f"{x * (1 + 1e-12):#.3g}".rstrip(".") + "%" if x else "0%"


def confidence(level: float) -> str:
    """Write a level of confidence.

    >>> confidence(0.95), confidence(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:.6g}%"


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
