"""How are names written so that they stay apart, and which words mean the same?

Names come with the data (``distinguishable_names``), from other libraries
(``not_here``), or are parameters that mean the same in every function: a docstring
describes what is its own, and ``documented`` adds what the words of ``WORDS`` mean.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from inspect import cleandoc
from typing import NamedTuple

from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import nearest
from trueness._core.records import shown
from trueness._core.synonyms import CALLS, calls_for, is_absent, nearest_call

NAMELESS = "(no name)"
CONTENTS = " help(trueness) lists all names, by question."


def distinguishable_names(names: Sequence[str], max_length: int = 40) -> list[str]:
    """Write names with at most so many letters, and no two of them the same.

    Names with the same beginning are cut there, and not where they differ.

    >>> names = ["a_long_prefix_of_model_1", "a_long_prefix_of_model_2"]
    >>> distinguishable_names(names, 16)
    ['a_lo…_of_model_1', 'a_lo…_of_model_2']
    """
    texts = [_cut(name, max_length) for name in names]
    positions_of_text: dict[str, list[int]] = defaultdict(list)
    for position, text in enumerate(texts):
        positions_of_text[text].append(position)

    for positions in positions_of_text.values():
        if len(positions) == 1:
            continue
        # cut at the end they look the same: show where they begin to differ
        full_names = [str(names[position]) for position in positions]
        first_difference = _common_beginning(full_names)
        for position, full_name in zip(positions, full_names, strict=True):
            texts[position] = _around(full_name, first_difference, max_length)

    return _number_repeated(texts, max_length)


def _common_beginning(texts: Sequence[str]) -> int:
    """Return how many letters all texts begin with."""
    # in alphabetical order the first and the last differ earliest
    first_text = min(texts)
    last_text = max(texts)
    for position, letter in enumerate(first_text):
        if letter != last_text[position]:
            return position
    return len(first_text)


def _number_repeated(texts: Sequence[str], max_length: int) -> list[str]:
    """Number the texts that are still the same: "a", "a (2)", "a (3)"."""
    numbered: list[str] = []
    for text in texts:
        candidate = text
        times = 1
        while candidate in numbered:
            times += 1
            candidate = f"{_cut(text, max_length - 6)} ({times})"
        numbered.append(candidate)

    return numbered


def _cut(name: str, max_length: int) -> str:
    """Return the beginning of a name, with an ellipsis where it was cut."""
    text = shown(name, 10 * max_length) or NAMELESS
    if len(text) <= max_length:
        return text
    return f"{text[: max_length - 1]}…"


def _around(name: str, first_difference: int, max_length: int) -> str:
    """Show the beginning of a name, and the place where it differs from others."""
    head = max_length // 4
    # as many letters before the difference, unless the end would leave room
    latest_start = len(name) - max_length + head + 1
    start = max(head, min(first_difference - head, latest_start))
    if len(name) <= max_length or start <= head:
        return _cut(name, max_length)
    return f"{shown(name[:head])}…{_cut(name[start:], max_length - head - 1)}"


def not_here(
    name: str, names: Collection[str], inside: Mapping[str, str] | None = None
) -> str:
    """Say what a name is called here, or in which room it is ``inside``.

    >>> not_here("auroc", [])
    "module 'trueness' has no attribute 'auroc'. Type trueness.auc(y_true, y_score)."
    >>> not_here("froc", []).partition(". ")[2]
    'It is not part of Trueness; the nearest is trueness.reader_study(frame).'
    """
    sentence = f"module 'trueness' has no attribute {name!r}."
    if inside and name in inside:
        return f"{sentence} Type trueness.{inside[name]}.{name}."
    if is_absent(name):
        return sentence + " It is not part of Trueness" + _nearest_here(name)
    advice = _typed_here(name, names) or nearest(name, names, cutoff=0.8)
    return sentence + (advice or CONTENTS)


def _nearest_here(name: str) -> str:
    """Say which call comes nearest to what is not computed here."""
    call = nearest_call(name)
    return f"; the nearest is trueness.{call}." if call else f".{CONTENTS}"


def not_a_function(name: str) -> InputError:
    """Return the error of a module that was called.

    >>> str(not_a_function("threshold"))
    'trueness.threshold is a module. Type trueness.best_threshold(y_true, y_score).'
    """
    return InputError(
        f"trueness.{name} is a module.",
        example=_call_here(name),
    )


def _typed_here(name: str, names: Collection[str]) -> str:
    """Say what to type for a name of another library or profession, or nothing.

    A misspelt name is answered too, unless a name of Trueness is nearer.

    >>> _typed_here("krippendorf_alpha", [])
    ' Type trueness.rater_agreement(panel).'
    """
    call = _call_here(name)
    if call is None:
        known = [synonym for synonyms in CALLS.values() for synonym in synonyms]
        for match in get_close_matches(name, [*names, *known], n=1, cutoff=0.85):
            call = None if match in names else _call_here(match)
    return f" Type {call}." if call else ""


def _call_here(name: str) -> PythonCode | None:
    """Return the call of Trueness for a name of another library or profession."""
    calls = [f"trueness.{call}" for call in calls_for(name)]
    return PythonCode(" or ".join(calls)) if calls else None


WORDS: dict[str, str] = {
    "level": "Confidence level of the intervals.",
    "rng": "A seed or a NumPy generator.",
    "margin": "Largest loss that still counts as no worse, for example 0.05; adds\n"
    "tests of non-inferiority and of equivalence for every pair.",
    "value_range": "The smallest and the largest value that the statistic can have;\n"
    "-inf or inf if it has no bound.",
    "replicates": "Number of replicates of the bootstrap.",
    "band": '"simultaneous" or "pointwise": also draw a 95 % confidence band.',
    "title": "Shown above the figure.",
    "points": "The largest number of points used to draw a curve; see\n"
    ":func:`trueness.ranking.simplify`.",
    "ax": "Matplotlib axes to draw on, which are returned; None makes new axes of\n"
    "print size.",
}
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def documented(
    doc: str | None, names: Iterable[str], more: Mapping[str, str] | None = None
) -> str | None:
    """Add to a docstring the parameters that it leaves to the table, ``more`` first.

    >>> documented("How good?", ["level"]).splitlines()[-2:]
    ['level', '    Confidence level of the intervals.']
    """
    if not doc:
        # python -OO leaves docstrings out
        return doc

    meanings = dict(more or {})
    meanings |= {name: WORDS[name] for name in names if name in WORDS}

    head, entries, tail = _split_at_parameters(cleandoc(doc))
    described_names = _names_of_entries(entries)
    added_entries = [
        f"\n{name}\n    " + meaning.replace("\n", "\n    ")
        for name, meaning in meanings.items()
        if name not in described_names
    ]
    if not added_entries:
        return cleandoc(doc)

    text = f"{head}\n\n{_PARAMETERS}{entries}{''.join(added_entries)}\n"
    if not tail:
        return text
    return f"{text}\n{tail}"


_PARAMETERS = "Parameters\n----------"


def _names_of_entries(entries: str) -> set[str]:
    """Return the parameters that entries describe; one entry may have several."""
    titles = re.findall(r"^\w.*$", entries, re.MULTILINE)
    return {name for title in titles for name in title.split(", ")}


class _DocstringParts(NamedTuple):
    """What stands before the parameters, their entries, and what follows."""

    head: str
    entries: str
    tail: str


def _split_at_parameters(text: str) -> _DocstringParts:
    """Split a docstring around its parameters; without any, where they would stand."""
    titles = list(_SECTION.finditer(text))
    names = [title[1] for title in titles]
    if "Parameters" not in names:
        head_end = titles[0].start() if titles else len(text)
        return _DocstringParts(text[:head_end].rstrip(), "", text[head_end:])

    position = names.index("Parameters")
    own_title = titles[position]
    entries_end = len(text)
    if position + 1 < len(titles):
        entries_end = titles[position + 1].start()
    return _DocstringParts(
        head=text[: own_title.start()].rstrip(),
        entries=text[own_title.end() : entries_end].rstrip(),
        tail=text[entries_end:],
    )
