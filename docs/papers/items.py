"""What a paper states, the call that answers it here, and whether both agree.

An item is an equation, a table or a figure of a paper. Its call is Python, as the page
shows it; it is run, and its value is compared with what the paper prints, or with what
the equation gives when it is typed as it stands. ``make papers`` writes the tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

EQUAL = "equal"
CORRECTED = "corrected"
LEFT_OUT = "left out"
# two ways to compute one number differ by rounding only
ROUNDING = 1e-9
# a value that lies half-way between two decimals may be printed as either
HALF_UNIT = 0.5001
DIGITS = 6


class MismatchError(Exception):
    """A call does not give what the page says."""


@dataclass(frozen=True)
class Item:
    """One equation, table, figure or statement of a paper.

    Attributes
    ----------
    place
        Where it stands in the paper: "Eq. 5", "Table 3", "Fig. 2".
    content
        What it says, in the paper's words.
    call
        The Python that answers it; empty where something is left out.
    printed
        The number that the paper prints, with its decimals, or words.
    equation
        Where no number is printed: the equation as it stands, in Python.
    verdict
        "equal", "corrected" or "left out".
    reason
        Why it is corrected or left out; or a remark.
    noise
        How far the printed number may be off because it was simulated.
    figure
        The script in ``docs/figures`` that draws it.
    """

    place: str
    content: str
    call: str = ""
    printed: str = ""
    equation: str = ""
    verdict: str = EQUAL
    reason: str = ""
    noise: float = 0.0
    figure: str = ""


@dataclass(frozen=True)
class Section:
    """A section of the paper, under its own heading."""

    title: str
    items: Sequence[Item]


@dataclass(frozen=True)
class Paper:
    """All items of a paper, and the names that their calls use.

    Attributes
    ----------
    name
        Of its page and of its files.
    setup
        Python that runs before all calls; the page shows it.
    sections
        The items, under the headings of the paper.
    tables
        A function that returns whole tables, from title to lines of Markdown; it is
        called when a page is written, for it may take seconds.
    """

    name: str
    setup: str
    sections: Sequence[Section]
    tables: Callable[[], Mapping[str, Sequence[str]]] = dict

    @property
    def items(self) -> list[Item]:
        """All items, in the order of the paper."""
        return [item for section in self.sections for item in section.items]


def names_of(paper: Paper) -> dict[str, Any]:
    """Return the names that the calls of a paper use."""
    names: dict[str, Any] = {}
    exec(paper.setup, names)  # noqa: S102 - our own lines, which the page shows
    return names


def evaluate(expression: str, names: dict[str, Any]) -> Any:
    """Return the value of a call as it stands on the page."""
    return eval(expression, names)  # noqa: S307 - our own lines, which the page shows


def decimals_of(printed: str) -> int:
    """Return the number of decimals of a printed number."""
    return len(printed.partition(".")[2])


def is_number(text: str) -> bool:
    """Say whether the paper prints a number and no words."""
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


def agrees(item: Item, ours: Any, names: dict[str, Any]) -> bool:
    """Say whether our value is that of the paper."""
    if item.equation:
        by_equation = np.asarray(evaluate(item.equation, names), np.float64)
        own = np.asarray(ours, np.float64)
        return bool(np.allclose(own, by_equation, rtol=ROUNDING, atol=ROUNDING))
    if is_number(item.printed):
        number = float(item.printed.replace(",", ""))
        unit = 10.0 ** -decimals_of(item.printed)
        return abs(float(ours) - number) <= HALF_UNIT * unit + item.noise
    return str(ours) == item.printed


def check(item: Item, names: dict[str, Any]) -> Any:
    """Run the call of an item and compare; return its value.

    Raises
    ------
    MismatchError
        When "equal" is said of values that differ, or "corrected" of equal ones, or
        when a reason is missing.
    """
    if item.verdict != EQUAL and not item.reason:
        raise MismatchError(f"{item.place}: {item.verdict} without a reason.")
    if item.verdict == LEFT_OUT:
        return None
    ours = evaluate(item.call, names) if item.call else None
    comparable = bool(item.call and (item.printed or item.equation))
    if comparable and agrees(item, ours, names) != (item.verdict == EQUAL):
        raise MismatchError(
            f"{item.place}: {item.call} gives {ours!r}, the paper "
            f"{item.printed or evaluate(item.equation, names)!r}; the page says "
            f"{item.verdict}."
        )
    return ours


def written(value: Any, decimals: int | None = None) -> str:
    """Write a value as a page shows it."""
    if isinstance(value, (bool, np.bool_, str)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    if isinstance(value, (float, np.floating)):
        return _written_float(float(value), decimals)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return written(value[()], decimals)
    if isinstance(value, (Sequence, np.ndarray)):
        return ", ".join(written(part, decimals) for part in value)
    return str(value)


def _written_float(value: float, decimals: int | None) -> str:
    if not math.isfinite(value):
        return str(value)
    if decimals is not None:
        return f"{value + 0.0:.{decimals}f}"
    return f"{value:.{DIGITS}g}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


def row_of(item: Item, names: dict[str, Any]) -> list[str]:
    """Return the row of an item: place, content, call, printed, ours, verdict."""
    ours = check(item, names)
    printed = item.printed
    if item.equation:
        printed = written(np.asarray(evaluate(item.equation, names))) + " (equation)"
    shown = ""
    if item.figure:
        shown = f"[figure](../_generated/figures/{item.figure}.svg)"
    elif item.call:
        decimals = None
        if is_number(item.printed):
            # one decimal more than the paper shows that rounding is not hidden
            decimals = decimals_of(item.printed) + 1
        shown = written(ours, decimals)
    verdict = item.verdict if item.verdict == EQUAL else f"**{item.verdict}**"
    if item.figure and item.verdict == EQUAL:
        verdict = "drawn"
    if item.reason:
        verdict = f"{verdict}: {item.reason}"
    cells = [item.place, item.content, _code(item.call), printed, shown, verdict]
    return [cells[0], _cell(cells[1]), cells[2], *map(_cell, cells[3:])]


HEAD = ("where", "the paper", "call", "printed", "ours", "verdict")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def summary(paper: Paper) -> str:
    """Count the verdicts of a paper in one sentence."""
    total = len(paper.items)
    count = {
        verdict: sum(item.verdict == verdict for item in paper.items)
        for verdict in (EQUAL, CORRECTED, LEFT_OUT)
    }
    return (
        f"{total} items: {count[EQUAL]} equal, {count[CORRECTED]} corrected, "
        f"{count[LEFT_OUT]} left out."
    )


def lines_of(paper: Paper) -> Iterator[str]:
    """Yield the tables of a paper: a row for each item, then its whole tables."""
    names = names_of(paper)
    yield summary(paper)
    yield ""
    for section in paper.sections:
        yield f"### {section.title}"
        yield ""
        yield from table(HEAD, [row_of(item, names) for item in section.items])
    for title, lines in paper.tables().items():
        yield f"### {title}"
        yield ""
        yield from lines
