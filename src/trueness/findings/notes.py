"""Notes, the sentences of findings: a code with numbers.

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
from trueness._core.records import Estimate

# advice that only a command with this option can give
OPTION_OF_ADVICE = {"costs": "--cost-fp", "prevalence": "--prevalence"}
PYTHON, SHELL, REPORT, PAGE = "python", "shell", "report", "page"


def _read_sentences() -> dict[str, dict[str, str]]:
    """Read the sentences, section by section."""
    sections: dict[str, dict[str, str]] = {}
    for line in (get_data(__package__, "sentences.txt") or b"").decode().splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            code, _, text = line.partition(": ")
            section[code] = text

    return sections


SENTENCES = _read_sentences()
TITLES, CATALOGUE = SENTENCES["title"], SENTENCES["sentence"]


@final
@dataclass(frozen=True)
class Note:
    """A sentence to be written: its code, and the numbers and names in it."""

    code: str
    numbers: Mapping[str, Any]

    def __str__(self) -> str:
        """Return the sentence for people who write Python."""
        return say(self)


def note(code: str, **numbers: object) -> Note:
    """Return a note with these numbers."""
    return Note(code, numbers)


def note_if(condition: object, code: str, **numbers: object) -> tuple[Note, ...]:
    """Return one note if the condition is true, or not empty; else none."""
    return (Note(code, numbers),) if condition else ()


def as_notes(texts: Iterable[str]) -> tuple[Note, ...]:
    """Return sentences that an answer brings along as notes, each once."""
    return tuple(note("said", text=text) for text in dict.fromkeys(texts))


def say(noted: Note, face: str = PYTHON, options: Collection[str] | None = None) -> str:
    """Return the sentence of a note, for Python, the shell, the report or the page.

    ``options`` are those of the command, such as ``"--level"``; any if left out.
    """
    text = _Writer(face, options).vformat(CATALOGUE[noted.code], (), noted.numbers)
    # where there is nothing to type or to click, two spaces stand side by side
    return " ".join(text.split())


def section_text(section: str, code: str, values: Mapping[str, Any]) -> str:
    """Return a text of another section with its values; empty where it has none."""
    return _Writer(PYTHON).vformat(SENTENCES[section].get(code, ""), (), values)


class _Writer(Formatter):
    """Writes numbers in the forms of ``FORMS``, and what is typed in one face."""

    def __init__(self, face: str, options: Collection[str] | None = None) -> None:
        self._face = face
        self._options = options

    def get_value(
        self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Return a number, or what to type for ``{type costs}``."""
        first_word, _, code = str(key).partition(" ")
        if first_word == "type":
            return self._advice(code)
        return super().get_value(key, args, kwargs)

    def _advice(self, code: str) -> str:
        """Return what to type or click; nothing where the command has no option."""
        needed = OPTION_OF_ADVICE.get(code)
        if self._options is not None and needed and needed not in self._options:
            return ""
        return SENTENCES["type"].get(f"{code} {self._face}", "")

    def format_field(self, value: object, format_spec: str) -> str:
        """Return a value in one of our forms, or in one of Python's."""
        form = FORMS.get(format_spec)
        text = form(value) if form else format(value, format_spec)
        is_printed = self._face in (REPORT, PAGE) and isinstance(
            value, (float, Estimate)
        )
        return numbers.with_minus(text) if is_printed else text


def _with_interval(estimate: Estimate) -> str:
    """Return a proportion and its interval in per cent."""
    low = numbers.percent(estimate.low)
    high = numbers.percent(estimate.high)
    return f"{numbers.percent(estimate.value)} ({low} to {high})"


# how a number is written in a sentence
FORMS: dict[str, Callable[[Any], str]] = {
    "%": numbers.percent,
    "n": numbers.number_of,
    "about": numbers.about,
    "e": numbers.written,
    "p": numbers.p_is,
    "level": numbers.level_text,
    "list": numbers.listed,
    "span": _with_interval,
    "cases": lambda number: numbers.counted(number, "case"),
}
