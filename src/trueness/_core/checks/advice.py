"""What should be typed or chosen instead? One sentence, for each face of the library.

An error says what was needed and what was found; these sentences hold for every
reader. What to do next depends on the face that shows it, and is written here from
three fields of the error: ``option`` (a parameter, by its name in Python), ``choices``
(the values that it can take) and ``example`` (a value that would do).

=========  =============================  ======================================
Face       with an example                with choices
=========  =============================  ======================================
Python     ``Type recall_at=0.9.``        ``Choose label from "y", "outcome".``
shell      ``Type --recall-at 0.9.``      ``Choose --label from y, outcome.``
page       ``Choose 0.9 under Recall.``   ``Choose one under Label.``
=========  =============================  ======================================

An example that is code (:class:`PythonCode`) is shown by Python alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, TypeGuard

import numpy as np

MOST_CHOICES = 12
LONGEST_CHOICE = 60


class Advised(Protocol):
    """An error, or anything else that carries advice as data."""

    option: str | None
    choices: tuple[Any, ...]
    example: object


class PythonCode(str):
    """An example that only somebody who writes Python can follow."""

    __slots__ = ()


def python_advice(error: Advised) -> str:
    """Say what to type in Python; nothing where the error has no advice.

    >>> from trueness._core.checks.errors import InputError
    >>> python_advice(InputError("level is 95.", option="level", example=0.95))
    'Type level=0.95.'
    """
    keyword = f"{error.option}=" if error.option else ""
    if error.example is not None:
        return f"Type {keyword}{_in_python(error.example)}."
    if not error.choices:
        return ""

    choices = [_in_python(value) for value in error.choices]
    if error.option and len(choices) <= 2:
        # so few are typed out in full, to be copied
        return f"Type {' or '.join(keyword + choice for choice in choices)}."
    return _choose_from(error.option, choices)


def shell_advice(
    error: Advised,
    *,
    options: Collection[str] | None = None,
    names: Mapping[str, str] | None = None,
) -> str:
    """Say what to type in a shell; nothing where the command has no such option.

    Parameters
    ----------
    error
        The error.
    options
        The options of the command, such as ``"--level"``; any if left out.
    names
        What the shell may call otherwise than Python: ``{"rng": "--seed"}``.

    >>> from trueness._core.checks.errors import InputError
    >>> shell_advice(InputError("level is 95.", option="level", example=0.95))
    'Type --level 0.95.'
    """
    if isinstance(error.example, PythonCode):
        return ""

    flag = _shell_flag(error.option, options, names or {})
    choices = [_shell_word(value) for value in error.choices]
    if flag is not None and error.example is not None:
        return f"Type {_in_shell(flag, error.example)}."
    if not choices:
        return ""
    if flag is None:
        return _choose_from(None, choices)

    if len(choices) <= 2:
        # so few are typed out in full, to be copied
        typed = [_in_shell(flag, value) for value in error.choices]
        return f"Type {' or '.join(typed)}."
    return _choose_from(flag, choices)


def _shell_flag(
    option: str | None, options: Collection[str] | None, names: Mapping[str, str]
) -> str | None:
    """Return what the shell calls an option; None where the command has none such."""
    if option is None:
        return None

    # a command may have the option by the name of Python, or by a name of its own
    flag = f"--{option.replace('_', '-')}"
    if options is None or flag not in options:
        flag = names.get(option, flag)
    if options is not None and flag not in options:
        return None
    return flag


def page_advice(
    error: Advised,
    fields: Mapping[str, str],
    values: Mapping[str, str] | None = None,
) -> str:
    """Say under which field of a page to choose; nothing where it has no such field.

    ``fields`` are the titles of the fields by option, ``values`` what the page calls
    otherwise than Python.

    >>> from trueness._core.checks.errors import InputError
    >>> wrong = InputError("level is 95.", option="level", example=0.95)
    >>> page_advice(wrong, {"level": "Level"})
    'Choose 0.95 under Level.'
    """
    if error.option is None:
        if not error.choices:
            return ""
        return _choose_from(None, [_on_page(value) for value in error.choices])

    field = fields.get(error.option)
    # code is for those who type it; switches and mappings are no entries of a field
    if field is None or isinstance(error.example, (PythonCode, bool, Mapping)):
        return ""
    return _choose_under(field, error, values or {})


def _choose_under(field: str, error: Advised, values: Mapping[str, str]) -> str:
    """Say what to choose under a field, by the words of the page."""
    if error.example is not None and not _stands_for_any(error.example):
        text = _on_page(error.example)
        return f"Choose {values.get(text, text)} under {field}."
    if error.choices or error.example is not None:
        return f"Choose one under {field}."
    return ""


def _choose_from(option: str | None, values: list[str]) -> str:
    """Name the first values that an option can take, and how many more there are."""
    listed = ", ".join(_cut(value) for value in values[:MOST_CHOICES])
    n_omitted = len(values) - MOST_CHOICES
    if n_omitted > 0:
        listed += f" and {n_omitted} more"

    if not option:
        return f"Choose from {listed}."
    return f"Choose {option} from {listed}."


def _cut(text: str) -> str:
    """Return the beginning of a long text, with an ellipsis where it was cut."""
    if len(text) <= LONGEST_CHOICE:
        return text
    return f"{text[: LONGEST_CHOICE - 1]}…"


def _in_python(value: object) -> str:
    """Write a value as it is typed in Python."""
    if isinstance(value, PythonCode):
        return str(value)
    if isinstance(value, str):
        # in double quotes where nothing has to be escaped
        if '"' in value or "\\" in value:
            return repr(value)
        return f'"{value}"'
    if isinstance(value, np.generic):
        return _in_python(value.item())
    if isinstance(value, list):
        return f"[{', '.join(map(_in_python, value))}]"
    return repr(value)


def _in_shell(flag: str, value: object) -> str:
    """Write an option with its value; an option that takes several is repeated."""
    if value is True:
        return flag
    if _is_several(value):
        return " ".join(f"{flag} {_shell_word(entry)}" for entry in value)
    return f"{flag} {_shell_word(value)}"


def _shell_word(value: object) -> str:
    """Write a value as one word of a shell, in quotes where it needs them."""
    return shlex.quote(str(value))


def _on_page(value: object) -> str:
    """Write a value, or several, as a page shows them."""
    if _is_several(value):
        return ", ".join(map(str, value))
    return str(value)


def _is_several(value: object) -> TypeGuard[Sequence[object]]:
    """Return whether it is a list of values; a text is one value."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _stands_for_any(value: object) -> bool:
    """Return whether it is a word such as COLUMN, instead of which a name is typed."""
    return isinstance(value, str) and value.isupper()
