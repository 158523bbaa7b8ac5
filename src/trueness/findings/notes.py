"""How is each thing said? A note is a code with numbers.

``sentences.txt`` has every sentence once, by its code, with the title of each question,
how its answer is found and what should be seen in a figure. In it ``{n:cases}`` is a
number and how it is written (``FORMS``), and ``{type costs}`` is what to type or to
click: that differs between Python, the shell and the page.

Sentences of other rooms name an option in words, and are shown as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import get_data
from string import Formatter
from typing import Any, final

from trueness._core import numbers

# advice that only a command with this option can give
OPTION_OF_ADVICE = {"costs": "--cost-fp", "prevalence": "--prevalence"}
PYTHON, SHELL, REPORT, PAGE = "python", "shell", "report", "page"


def _read() -> dict[str, dict[str, str]]:
    """Read the sentences, section by section."""
    sections: dict[str, dict[str, str]] = {}
    for line in (get_data(__package__, "sentences.txt") or b"").decode().splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            code, _, text = line.partition(": ")
            section[code] = text

    return sections


SENTENCES = _read()
TITLES, CATALOGUE = SENTENCES["title"], SENTENCES["sentence"]


@final
@dataclass(frozen=True)
class Note:
    """A thing to say: its code, and the numbers and names in it."""

    code: str
    numbers: Mapping[str, Any]

    def __str__(self) -> str:
        """Say it to who writes Python."""
        return say(self)


def note(code: str, **numbers: object) -> Note:
    """Make a note."""
    return Note(code, numbers)


def when(said: object, code: str, **numbers: object) -> tuple[Note, ...]:
    """Make a note where there is something to say."""
    return (Note(code, numbers),) if said else ()


def said(texts: Iterable[str]) -> tuple[Note, ...]:
    """Make notes of sentences that an answer of a room brings along, each once."""
    return tuple(note("said", text=text) for text in dict.fromkeys(texts))


def say(what: Note, face: str = PYTHON, options: Collection[str] | None = None) -> str:
    """Write a note out for Python, the shell, the report or the page.

    ``options`` are those of the command, such as ``"--level"``; any if left out.
    """
    text = _Writer(face, options).vformat(CATALOGUE[what.code], (), what.numbers)
    return " ".join(text.split())


def words(section: str, code: str, told: Mapping[str, Any]) -> str:
    """Write a text of another section with its numbers; nothing where it has none."""
    return _Writer(PYTHON).vformat(SENTENCES[section].get(code, ""), (), told)


class _Writer(Formatter):
    """Writes numbers in the forms of ``FORMS``, and what is typed in one face."""

    def __init__(self, face: str, options: Collection[str] | None = None) -> None:
        self._face = face
        self._options = options

    def get_value(
        self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        what, _, code = str(key).partition(" ")
        if what == "type":
            return self._advice(code)
        return super().get_value(key, args, kwargs)

    def _advice(self, code: str) -> str:
        """Return what to type or click; nothing where the command has no option."""
        needed = OPTION_OF_ADVICE.get(code)
        if self._options is not None and needed and needed not in self._options:
            return ""
        return SENTENCES["type"].get(f"{code} {self._face}", "")

    def format_field(self, value: object, format_spec: str) -> str:
        form = FORMS.get(format_spec)
        return form(value) if form else format(value, format_spec)


# how a number is written in a sentence
FORMS: dict[str, Callable[[Any], str]] = {
    "%": numbers.percent,
    "n": numbers.number_of,
    "about": numbers.about,
    "e": numbers.written,
    "p": numbers.p_is,
    "level": numbers.level_text,
    "list": numbers.listed,
    "span": lambda e: "{} ({} to {})".format(
        *map(numbers.percent, (e.value, e.low, e.high))
    ),
    "cases": lambda n: numbers.counted(n, "case"),
}
