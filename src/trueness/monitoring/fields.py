"""The values that fields of a requirement, and keys of a contract, can have."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness.counts.design import AT_RANDOM, CASE_CONTROL, COHORT, LEFT_OUT
from trueness.threshold.rule import Rule, rule_of

REAL_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PERCENTAGE = re.compile(rf"{REAL_NUMBER}\s*%")


class FieldKind(NamedTuple):
    """The description of the values of a field, and the function that reads one."""

    description: str
    read: Callable[[Any], Any]  # returns None for a value of another kind


def read_field(name: str, kind: FieldKind, value: object) -> Any:
    """Return the value of a field; an error says what it must be."""
    answer = kind.read(value)
    if answer is None:
        raise InputError(
            f"{name} must be {kind.description}; found {described(value)}.", option=name
        )
    return answer


def read_proportion(text: str) -> float:
    """Return the number in a text; a percentage as a proportion: 80% is 0.8."""
    number = Decimal(text.rstrip("% "))
    return float(number / 100 if "%" in text else number)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _finite_number(value: Any) -> float | None:
    """Return a finite number, or None for any other value."""
    if _is_number(value) and math.isfinite(value):
        return float(value)
    return None


def _number_or_percentage(value: object) -> float | None:
    """Return a finite number, also of a text such as "80 %"; else None."""
    if isinstance(value, str) and _PERCENTAGE.fullmatch(value):
        return read_proportion(value)
    return _finite_number(value)


def _threshold(value: Any) -> float | Rule | None:
    """Return a number, or a rule: from its file, from its fields, or as it is."""
    if isinstance(value, str):
        return Rule.load(value)
    if isinstance(value, Mapping):
        return Rule.from_dict(value)
    if isinstance(getattr(value, "rule", value), Rule):
        return rule_of(value)
    return _finite_number(value)


def _text(value: object) -> str | None:
    """Return a text without spaces at its ends, or None for any other value."""
    return value.strip() if isinstance(value, str) else None


def _true_or_false(value: object) -> bool | None:
    """Return a truth value, or None for any other value."""
    return value if isinstance(value, bool) else None


def _pair_of_numbers(value: Any) -> tuple[float, float] | None:
    """Return two numbers, or None for any other value."""
    if not _is_list(value) or len(value) != 2:
        return None
    first, second = value
    if not _is_number(first) or not _is_number(second):
        return None
    return float(first), float(second)


def _list_of_names(value: Any) -> tuple[str, ...] | None:
    """Return a list of texts, or None for any other value."""
    if _is_list(value) and all(isinstance(name, str) for name in value):
        return tuple(value)
    return None


def _between(low: float, high: float) -> Callable[[Any], float | None]:
    """Return a function that reads a number strictly between these two."""

    def read(value: Any) -> float | None:
        return value if _is_number(value) and low < value < high else None

    return read


def _one_of(choices: Iterable[str]) -> FieldKind:
    """Return the kind of a field with one of these values."""
    allowed = tuple(choices)
    description = f"one of {', '.join(repr(choice) for choice in allowed)}"
    return FieldKind(description, lambda value: value if value in allowed else None)


_NUMBER = FieldKind("a finite number, such as 0.9", _number_or_percentage)
_CUT = FieldKind(
    'a finite number, such as 0.5, or a file with a rule, such as "rule.json"',
    _threshold,
)
_PAIR = FieldKind("two numbers, such as [0, 0.1]", _pair_of_numbers)
_WORD = FieldKind('text in quotes, such as "auc"', _text)
_NAMES = FieldKind('a list of columns, such as ["a", "b"]', _list_of_names)
_COLUMN = FieldKind('the name of a column in quotes, such as "y"', _text)
_PREVALENCE = FieldKind(
    "a proportion of positives between 0 and 1, such as 0.01", _between(0.0, 1.0)
)
_LEVEL = FieldKind("between 0.5 and 1, such as 0.95", _between(0.5, 1.0))
_SWITCH = FieldKind("true or false", _true_or_false)
_ANYTHING = FieldKind("", lambda value: value)

CHOICES = {
    "sampling": (COHORT, CASE_CONTROL),
    "unlabelled": (LEFT_OUT, AT_RANDOM),
    "adjust": ("holm", "none"),
    "undecided": ("report", "pass", "fail"),
}
# the fields of a requirement
FIELDS = {
    "metric": _WORD,
    "by": _WORD,
    "not_worse_than": _WORD,
    "labelled": _WORD,
    "at_least": _NUMBER,
    "at_most": _NUMBER,
    "gap_at_most": _NUMBER,
    "margin": _NUMBER,
    "threshold": _CUT,
    "fpr": _PAIR,
    "judges": _NAMES,
    "next_site": _SWITCH,
}
# the keys of a contract
KEYS = {
    "label": _COLUMN,
    "score": _COLUMN,
    "key": _COLUMN,
    "count": _COLUMN,
    "weight": _COLUMN,
    "cluster": _COLUMN,
    **{key: _one_of(words) for key, words in CHOICES.items()},
    "positive": _ANYTHING,
    "prevalence": _PREVALENCE,
    "level": _LEVEL,
    "require": _ANYTHING,
}
# the words of other tools for these fields
OTHER_WORDS = {
    **dict.fromkeys(("min", "minimum", "ge", "gte", "lower", "above"), "at_least"),
    **dict.fromkeys(("max", "maximum", "le", "lte", "upper", "below"), "at_most"),
    **dict.fromkeys(("cut", "cutoff", "at"), "threshold"),
    **dict.fromkeys(("group", "groups", "group_by"), "by"),
    **dict.fromkeys(("name", "measure"), "metric"),
}
