"""Which number does a sign beside it mean? Limits of detection and grades.

A laboratory writes "<0.5" where it could not measure so little, and ">100" where it
could not measure so much. Only the order of scores matters here: such a value stands
just beyond its limit, and is refused where another value may lie on its other side. A
pathologist writes the grades 0, 1+, 2+ and 3+, whose sign means nothing more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import option_named

_LIMIT = re.compile(
    r"([<>\N{LESS-THAN OR EQUAL TO}\N{GREATER-THAN OR EQUAL TO}])(=?) ?(.+)"
)
_GRADE = re.compile(r"\d\+?")


class Limit(NamedTuple):
    """A limit of detection: ``"<0.5"`` is an upper one, and is not included."""

    number: str
    is_upper: bool
    is_included: bool


def without_plus(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of a column; of grades such as 2+, without their sign.

    Where 2 stands beside 2+, the sign may mean more, and is left where it is.
    """
    if not any(text.endswith("+") for text in texts.values()):
        return dict(texts)

    are_grades = all(_GRADE.fullmatch(text) for text in texts.values())
    distinct_texts = set(texts.values())
    distinct_grades = {text.rstrip("+") for text in distinct_texts}
    if not are_grades or len(distinct_grades) < len(distinct_texts):
        return dict(texts)

    return {word: text.rstrip("+") for word, text in texts.items()}


def limits_of_detection(texts: Mapping[str, str]) -> dict[str, Limit]:
    """Return the limit behind each word that begins with a sign such as <."""
    limits = {}
    for word, text in texts.items():
        parts = _LIMIT.fullmatch(text)
        if parts is not None:
            sign, equals, number = parts.groups()
            limits[word] = Limit(
                number=number,
                is_upper=sign in "<\N{LESS-THAN OR EQUAL TO}",
                is_included=bool(equals) or sign not in "<>",
            )
    return limits


def numbers_beyond_limits(
    number_of_word: Mapping[str, float], limits: Mapping[str, Limit], what: str
) -> dict[str, float]:
    """Return the numbers of a column, those with a limit just beyond it."""
    beyond = dict(number_of_word)
    for word, limit in limits.items():
        value = number_of_word[word]
        _check_is_outermost(word, limit, number_of_word, what)
        if not limit.is_included:
            direction = -math.inf if limit.is_upper else math.inf
            beyond[word] = math.nextafter(value, direction)
    return beyond


def _check_is_outermost(
    word: str, limit: Limit, number_of_word: Mapping[str, float], what: str
) -> None:
    """Raise an error where a value lies beyond a limit, so that its order is open."""
    value = number_of_word[word]
    for other_word, number in number_of_word.items():
        is_beyond = number < value if limit.is_upper else number > value
        if is_beyond:
            raise InputError(
                f"{what} has {word!r} beside {other_word!r}: it is not known which of "
                "them is higher. Give all values beyond one limit the same number.",
                option=option_named(what),
            )


def limits_in_words(limits: Mapping[str, Limit]) -> list[str]:
    """Return how each limit was read, for a remark."""
    remarks = []
    for word, limit in limits.items():
        where = "below" if limit.is_upper else "above"
        place = limit.number if limit.is_included else f"just {where} {limit.number}"
        remarks.append(f"{word!r} as {place}")
    return remarks
