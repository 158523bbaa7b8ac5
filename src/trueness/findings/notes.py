"""How is each thing said? A note is a code with numbers.

``sentences.txt`` has every sentence once, by its code, with the title of each question,
how its answer is found and what should be seen in a figure. In it ``{n:cases}`` is a
number and how it is written (``FORMS``), and ``{type costs}`` is what to type or to
click: that differs between Python, the shell and the page.

Sentences of other rooms are true everywhere, but for what is typed: in Python
``positive="yes"``, in a shell ``--positive yes``. That is the one rule. A sentence that
only Python can follow is left out; in a report, which nobody types into, so is every
sentence that says what to type.
"""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import get_data
from string import Formatter
from typing import Any, final

from trueness._core import numbers

FROM_ROOMS = ("said", "unknown gain")  # sentences that speak Python
PYTHON, SHELL, REPORT, PAGE = "python", "shell", "report", "page"


def _read() -> dict[str, dict[str, str]]:
    """Read the sentences, section by section."""
    found: dict[str, dict[str, str]] = {}
    for line in (get_data(__package__, "sentences.txt") or b"").decode().splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            code, _, text = line.partition(": ")
            section[code] = text
    return found


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


def say(what: Note, face: str = PYTHON) -> str:
    """Write a note out for Python, the shell, the report or the page."""
    text = _Writer(face).vformat(CATALOGUE[what.code], (), what.numbers)
    if what.code in FROM_ROOMS and face != PYTHON:
        text = for_the_shell(text) if face == SHELL else for_readers(text)
    return " ".join(text.split())


def words(section: str, code: str, told: Mapping[str, Any]) -> str:
    """Write a text of another section with its numbers; nothing where it has none."""
    return _Writer(PYTHON).vformat(SENTENCES[section].get(code, ""), (), told)


class _Writer(Formatter):
    """Writes numbers in the forms of ``FORMS``, and what is typed in one face."""

    def __init__(self, face: str) -> None:
        self._face = face

    def get_value(
        self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        what, _, code = str(key).partition(" ")
        if what == "type":
            return SENTENCES["type"].get(f"{code} {self._face}", "")
        return super().get_value(key, args, kwargs)

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

OPTIONS = re.findall(
    r"\w+",
    "label score vote node positive count by level seed weight maximize minimize "
    "subject_to prevalence guarantee method sampling unlabelled decimal folds fixed "
    "criterion dependence draws confidence utility null power half_width auc p cost_fp "
    "cost_fn column yes labelled judges item system passed judge cluster "
    "covariance missing_scores metric threshold margin recall correlation at model "
    "pairs reference "
    "at_least at_most",
)
# what a shell calls otherwise
NAMES = {
    "scores": "--score",
    "votes": "--vote",
    "replicates": "--draws",
    "rng": "--seed",
    "label_next": "--next 50",
    "guaranteed_threshold": "--guarantee",
    "validate_threshold": "--validate",
    "latent_class": "trueness nogold",
    "calibration_gain": "Cross-fitting",
    "best_thresholds": "A pair of thresholds",
    "group_thresholds": "A threshold for each group",
}
# name=value, or a name; what is to be typed has a value
_TYPED = re.compile(
    r"\b(?:([PpTt])(?:ass|ype) )?(?<!-)([a-z_]+)(?:\[\d+\])?="
    r"""(\.\.\.|"[^"]*"|'[^']*'|\[[^\]]*\]|\([^)]*\)|[^\s,;)]*[^\s,;).])?|"""
    rf"^({'|'.join(OPTIONS)})(?= must\b)|"
    rf"\b(?:trueness\.)?({'|'.join(n for n in NAMES if '_' in n)})\b(?!\()"
)
# signs of Python that no option stands for; "cost(fp=1, fn=5)" is typed in a shell too
_PYTHON = re.compile(
    r"(?<!pip install \")\b"
    r"(?:trueness|tally|panel|frame|leaves|scan|map|post|report)[.(\[][\"'\w\[]|"
    r"(?<![-\w])(?!(?:[ft][pn]|defer|beta|odds)=)[a-z_]+=(?=[\"'\d\[{( ])|"
    r"\by_true\b|\by_score\b|\blambda\b"
)


def for_the_shell(sentence: str) -> str:
    """Say a sentence of the library with the words of the command line.

    >>> for_the_shell('Is the positive label right? Pass positive="yes".')
    'Is the positive label right? Type --positive yes.'
    >>> for_the_shell("level must lie in (0, 1); found 95. Type level=0.95.")
    '--level must lie in (0, 1); found 95. Type --level 0.95.'
    """
    text = re.sub(r"\bdatetime\.(date|datetime)\(([\d, ]+)\)", _iso, sentence)
    text = _TYPED.sub(_option, text)
    # what still speaks Python is advice that a shell cannot follow
    said = re.split(r"(?<=[.?!])(?=\s+[A-Z(])", text)
    kept = [part for part in said if not _PYTHON.search(part)]
    return "".join(kept).lstrip() if kept else text


def for_readers(sentence: str) -> str:
    """Leave out what could be typed.

    >>> for_readers("Few cases. Type level=0.9 for narrower limits.")
    'Few cases.'
    """
    said = re.split(r"(?<=[.?!])(?=\s+[A-Z(])", for_the_shell(sentence))
    kept = [part for part in said if not re.search(r"(?<!\w)--[a-z]", part)]
    return "".join(kept).strip()


def _iso(match: re.Match[str]) -> str:
    """Write a date as files do."""
    kind = getattr(datetime, match[1])
    return repr(str(kind(*map(int, match[2].split(",")))))


def _option(match: re.Match[str]) -> str:
    verb, given, value, rule, name = match.groups()
    word = given or rule or name
    if word not in OPTIONS and word not in NAMES:
        return match[0]
    typed = NAMES.get(word, f"--{word.replace('_', '-')}")
    if value or verb:
        plain = (value or "...").strip("\"'")
        typed += f" {'VALUE' if plain == '...' else shlex.quote(plain)}"
    return f"{'Type ' if verb in 'PT' else 'type '}{typed}" if verb else typed
