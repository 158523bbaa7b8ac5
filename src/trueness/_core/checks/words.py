"""How are values, places and near misses written in a message?"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from datetime import date
from difflib import get_close_matches
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from trueness._core.synonyms import WORDS, letters

Array = NDArray[Any]


def listing(values: Iterable[Any], limit: int = 5) -> str:
    """Write the first few values, and how many more there are.

    >>> listing([1, 2, 3], limit=2)
    '1, 2 and 1 more'
    """
    values = list(values)
    shown = ", ".join(described(value) for value in values[:limit])
    n_omitted = len(values) - limit
    return f"{shown} and {n_omitted} more" if n_omitted > 0 else shown


def is_several(x: object) -> TypeGuard[Iterable[Any]]:
    """Return whether one can go through it, and it is no text.

    An array without a dimension is one value, although it calls itself iterable.
    """
    if isinstance(x, (str, bytes)) or not isinstance(x, Iterable):
        return False
    return bool(getattr(x, "ndim", 1))


def is_one(x: object) -> bool:
    """Return whether it is a single value, which can be compared with names and labels.

    Columns and frames are compared entry by entry, which is no answer, and what is
    not available (pandas' NA) equals nothing.
    """
    if isinstance(x, (str, bytes)):
        return True
    single = isinstance(x, Hashable) and not isinstance(x, Iterable)
    return single and type(x).__name__ != "NAType"


def described(value: object) -> str:
    """Write a value that was not wanted: briefly, and never by its place in memory.

    >>> described("x" * 90), described(object())
    ("'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...", 'an object')
    """
    kind = type(value).__name__
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    shows_its_place = type(value).__repr__ is object.__repr__ or callable(value)
    # thousands of digits are neither read nor, in newer Pythons, written
    is_huge = isinstance(value, int) and value.bit_length() > 200
    # asked of the class: a lazy frame works out its columns, and warns
    is_frame = hasattr(type(value), "columns")
    if shows_its_place or is_huge or is_frame:
        return f"{article} {kind}"

    readable = str(value) if isinstance(value, date) else plain(value)
    text = " ".join(repr(readable).split())
    # Arrow, and a list of objects, write a place among their values
    if not text or " at 0x" in text or "<class " in text:
        return f"{article} {kind}"
    return text if len(text) <= 80 else f"{text[:40]}..."


def plain(value: object) -> Any:
    """Turn a NumPy scalar into the Python value that a person would type."""
    return value.item() if isinstance(value, np.generic) else value


def nearest(name: object, names: Collection[str], cutoff: float = 0.6) -> str:
    """Name the known words that a wrong one can mean, as a sentence, or nothing.

    >>> nearest("acuracy", ["accuracy", "recall"]), nearest("conf", ["count", "level"])
    (" Did you mean 'accuracy'?", " Did you mean 'level'?")
    >>> nearest("Hit rate", ["recall", "fpr"])
    " Did you mean 'recall'?"
    """
    if not isinstance(name, str) or name in names:
        return ""

    wanted = letters(name)
    same_meaning = [
        word
        for word, synonyms in WORDS.items()
        if word in names and wanted in map(letters, synonyms)
    ]
    if same_meaning:
        return f" Did you mean {' or '.join(map(repr, same_meaning))}?"
    if f"{name} (1)" in names:
        return f" Several columns are called {name!r}; here they are numbered."

    by_lower_case = {word.lower(): word for word in names if isinstance(word, str)}
    matches = get_close_matches(name.lower(), list(by_lower_case), n=1, cutoff=cutoff)
    if not matches:
        return ""
    return f" Did you mean {by_lower_case[matches[0]]!r}?"


def option_named(argument: str) -> str | None:
    """Return the name of a parameter; None for other words, such as "a threshold".

    A parameter may stand with the column that it names: "score 'p'".

    >>> option_named("level"), option_named("--half-width"), option_named("A level")
    ('level', 'half_width', None)
    >>> option_named("score 'p'"), option_named("Column 'p'")
    ('score', None)
    """
    role, quote, _ = argument.partition(" '")
    if quote and not role.islower():
        return None
    name = role.removeprefix("--").replace("-", "_")
    return name if name.isidentifier() else None


def places(mask: Array) -> str:
    """Say how many entries are meant and where the first ones are."""
    where = np.flatnonzero(mask)
    word = "position" if where.size == 1 else "positions"
    return f"{where.size:,} of {mask.size:,} ({word} {listing(where)})"
