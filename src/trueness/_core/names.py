"""How are names written so that they stay apart, and which words mean the same?

Names come with the data (``told_apart``), from other libraries (``not_here``), or are
parameters that mean the same in every function: a docstring describes what is its own,
and ``documented`` adds what the words of ``WORDS`` mean.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from inspect import cleandoc

from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import nearest
from trueness._core.records import shown
from trueness._core.synonyms import CALLS

NAMELESS = "(no name)"


def told_apart(names: Sequence[str], max_length: int = 40) -> list[str]:
    """Write names with at most so many letters, and no two of them the same.

    Names with the same beginning are cut there, and not where they differ.

    >>> told_apart(["a_long_prefix_of_model_1", "a_long_prefix_of_model_2", "b"], 16)
    ['a_lo…_of_model_1', 'a_lo…_of_model_2', 'b']
    """
    texts = [_cut(name, max_length) for name in names]
    positions_of_text: dict[str, list[int]] = defaultdict(list)
    for position, text in enumerate(texts):
        positions_of_text[text].append(position)

    for positions in positions_of_text.values():
        if len(positions) > 1:
            same_texts = [str(names[k]) for k in positions]
            beginning = _common_beginning(same_texts)
            for k in positions:
                texts[k] = _around(str(names[k]), beginning, max_length)

    return _number_repeated(texts, max_length)


def _common_beginning(texts: Sequence[str]) -> int:
    """Return how many letters all texts begin with."""
    # those that differ earliest are the first and the last in their order
    first_text = min(texts)
    last_text = max(texts)
    for position, (letter, last_letter) in enumerate(
        zip(first_text, last_text, strict=False)
    ):
        if letter != last_letter:
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
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def _around(name: str, middle: int, max_length: int) -> str:
    """Show the beginning of a name, and the place where it differs from others."""
    head = max_length // 4
    start = max(head, min(middle - head, len(name) - max_length + head + 1))
    if len(name) <= max_length or start <= head:
        return _cut(name, max_length)
    return f"{shown(name[:head])}…{_cut(name[start:], max_length - head - 1)}"


def not_here(
    name: str, names: Collection[str], inside: Mapping[str, str] | None = None
) -> str:
    """Say what a name is called here, or in which room it is ``inside``.

    >>> not_here("auroc", [])
    "module 'trueness' has no attribute 'auroc'. Type trueness.auc(y_true, y_score)."
    """
    sentence = f"module 'trueness' has no attribute {name!r}."
    if inside and name in inside:
        return f"{sentence} Type trueness.{inside[name]}.{name}."
    return sentence + (_typed_here(name) or nearest(name, names))


def not_a_function(name: str) -> InputError:
    """Return the error of a module that was called.

    >>> str(not_a_function("threshold"))
    'trueness.threshold is a module. Type trueness.best_threshold(y_true, y_score).'
    """
    return InputError(
        f"trueness.{name} is a module.",
        example=_call_here(name),
    )


def _typed_here(name: str) -> str:
    """Say what to type for a name of another library or profession, or nothing."""
    call = _call_here(name)
    return f" Type {call}." if call else ""


def _call_here(name: str) -> PythonCode | None:
    """Which call of Trueness answers a name of another library or profession?"""
    calls = [f"trueness.{call}" for call, names in CALLS.items() if name in names]
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
    if not doc:  # python -OO
        return doc

    head, entries, tail = _split_at_parameters(cleandoc(doc))
    described = {
        name
        for line in re.findall(r"^\w.*$", entries, re.MULTILINE)
        for name in line.split(", ")
    }
    common = {name: WORDS[name] for name in names if name in WORDS}
    missing = {
        name: meaning
        for name, meaning in {**(more or {}), **common}.items()
        if name not in described
    }
    if not missing:
        return cleandoc(doc)

    for name, meaning in missing.items():
        entries += f"\n{name}\n    " + meaning.replace("\n", "\n    ")
    text = f"{head}\n\n{_PARAMETERS}{entries}\n"
    return f"{text}\n{tail}" if tail else text


_PARAMETERS = "Parameters\n----------"


def _split_at_parameters(text: str) -> tuple[str, str, str]:
    """Return what stands before the parameters, their entries, and what follows."""
    sections = list(_SECTION.finditer(text))
    own_title = next((title for title in sections if title[1] == "Parameters"), None)
    if own_title is not None:
        sections = [title for title in sections if title.start() > own_title.start()]
    end = sections[0].start() if sections else len(text)
    if own_title is None:
        return text[:end].rstrip(), "", text[end:]
    return (
        text[: own_title.start()].rstrip(),
        text[own_title.end() : end].rstrip(),
        text[end:],
    )
