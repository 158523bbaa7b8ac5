"""Which contract does a file hold, and is it well formed?

A contract is a TOML file: which columns, and a list of requirements (``[[require]]``).
Mistakes are answered with the line, what was found and what to write. ``SCHEMA`` is its
JSON Schema, so that editors complete and check it.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, final

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, nearest
from trueness.counts.design import AT_RANDOM, CASE_CONTROL, COHORT, LEFT_OUT
from trueness.counts.values import Tally
from trueness.metrics.definitions import METRICS
from trueness.monitoring.measures import FACTS, MEASURES, limits_of
from trueness.monitoring.requirements import (
    KINDS,
    LABELLED,
    Requirement,
    contradiction,
    requirement,
)
from trueness.threshold.operating_point import best_threshold

_COLUMNS = {
    "label": "Column with the labels.",
    "score": "Column with the scores.",
    "key": "Column that names a case, in both files.",
    "count": "How many cases a row stands for.",
    "weight": "How much a case weighs.",
    "cluster": "Column that says which cases belong together: patients.",
}
_CHOICES = {
    "sampling": (COHORT, CASE_CONTROL),
    "unlabelled": (LEFT_OUT, AT_RANDOM),
    "adjust": ("holm", "none"),
    "undecided": ("report", "pass", "fail"),
}


@final
@dataclass(frozen=True)
class Contract:
    """Which columns, and what is required of them?"""

    requirements: tuple[Requirement, ...]
    label: str | None = None
    score: str | None = None
    positive: Any = None
    key: str | None = None
    count: str | None = None
    weight: str | None = None
    cluster: str | None = None
    sampling: str | None = None
    prevalence: float | None = None
    unlabelled: str | None = None
    level: float = 0.95
    adjust: str = "holm"
    undecided: str = "report"
    path: str = field(default="", compare=False)


_NAMED = (f.name for f in fields(Contract) if f.name not in ("requirements", "path"))
_KEYS = (*_NAMED, "require", "$schema")


def read_contract(path: str | Path) -> Contract:
    """Read a contract; every mistake is named with its line."""
    file = Path(path)
    if not file.is_file():
        raise InputError(
            f"There is no contract {path}. To write a first one from your data, type "
            f"trueness check --init predictions.parquet."
        )
    try:
        text = file.read_text(encoding="utf-8-sig")  # some editors put a mark first
        held = tomllib.loads(text)
    except UnicodeDecodeError:
        raise InputError(f"{path} must be UTF-8 text.") from None
    except tomllib.TOMLDecodeError as err:
        raise InputError(f"{path} is not TOML: {err}.") from None
    return _contract(held, text, str(path))


def _contract(held: dict[str, Any], text: str, path: str) -> Contract:
    for key in held:
        if key not in _KEYS:
            line = _line(text, rf"^\s*\[*\s*{re.escape(key)}\b")
            raise InputError(
                f"{path}{line}: there is no key {key!r}.{nearest(key, _KEYS)} "
                f"Known keys: {', '.join(_KEYS[:-1])}."
            )
    for key, value in held.items():
        needed = _needed(key, value)
        if needed:
            line = _line(text, rf"^\s*{key}\s*=")
            raise InputError(
                f"{path}{line}: {key} must be {needed}; found {described(value)}."
            )
    given = {k: v for k, v in held.items() if k not in ("require", "$schema")}
    return Contract(_required(held.get("require"), text, path), path=path, **given)


def _needed(key: str, value: Any) -> str:
    """Say what a key must be, where it is something else."""
    if key in _CHOICES and value not in _CHOICES[key]:
        return f"one of {', '.join(map(repr, _CHOICES[key]))}"
    if key in _COLUMNS and not isinstance(value, str):
        return f'the name of a column in quotes, such as {key} = "y"'
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if key == "level" and not (plain and 0.5 < value < 1):
        return "between 0.5 and 1, such as 0.95"
    if key == "prevalence" and not (plain and 0 < value < 1):
        return "a share of positives between 0 and 1, such as 0.01"
    return ""


def _required(given: Any, text: str, path: str) -> tuple[Requirement, ...]:
    if isinstance(given, dict):
        where = _line(text, r"^\s*\[\s*require")
        raise InputError(
            f"{path}{where}: write [[require]] with two brackets, since there may be "
            f"several."
        )
    if not isinstance(given, list) or not given:
        raise InputError(
            f"{path} requires nothing. Add a table:\n"
            f'[[require]]\nmetric = "auc"\nat_least = 0.8'
        )
    starts = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if re.match(r"\s*\[\[\s*require\s*\]\]", line)
    ]
    found = []
    for k, one in enumerate(given):
        line = starts[k] if k < len(starts) else 0
        try:
            found.append(requirement(one))
        except InputError as err:
            raise InputError(
                f"{path}, requirement {k + 1}"
                f"{_within(text, line, one, str(err))}: {err}"
            ) from None
    against = contradiction(found)
    if against is not None:
        first, second = against
        at = f" (line {starts[second]})" if second < len(starts) else ""
        raise InputError(
            f"{path}, requirement {second + 1}{at}: {found[second]} contradicts "
            f"requirement {first + 1}, {found[first]}; nothing can meet both."
        )
    return tuple(found)


def _within(text: str, start: int, one: Any, message: str) -> str:
    """Name the line of the field that a message speaks of, or of its table."""
    if not start:
        return ""
    lines = text.splitlines()
    for number in range(start, len(lines)):
        if re.match(r"\s*\[", lines[number]):
            break
        key = lines[number].partition("=")[0].strip()
        if (
            key
            and isinstance(one, dict)
            and key in one
            and _speaks(message, key, one[key])
        ):
            return f" (line {number + 1})"
    return f" (line {start})"


def _speaks(message: str, key: str, value: Any) -> bool:
    return (
        message.startswith(f"{key} ") or repr(value) in message or repr(key) in message
    )


def _line(text: str, pattern: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    # its end, since empty lines before it match as well
    return f", line {text[: found.end()].count(chr(10)) + 1}" if found else ""


def first_contract(
    t: Tally, label: str, score: str, *, positive: Any = None, missing: float = 0.0
) -> str:
    """Write a contract that new samples of the same model meet in 19 of 20 cases.

    ``missing`` is the share of cases that have no score. Where no threshold is better
    than none, none is required.
    """
    cut = float(f"{best_threshold(t, maximize='youden').threshold:.6g}")
    lines = [
        "# What these predictions must keep, written from the data. The bounds leave",
        "# room: 19 of 20 new samples of as many cases from the same model prove all",
        "# of them. Change them to what you need.",
        f"label = {_toml(label)}",
        f"score = {_toml(score)}",
        *([] if positive is None else [f"positive = {_value(positive)}"]),
        *_table("positives", at_least=max(1, t.n_pos // 2)),
        *_table("auc", at_least=_with_room(t, "auc")),
    ]
    if math.isfinite(cut):
        lines += [
            "",
            f"# The threshold {cut:.6g} has the largest recall + specificity in these",
            "# cases (Youden's J). Put the one that you use in its place.",
        ]
        for name in ("recall", "precision"):
            low = _with_room(t, name, cut)
            lines += _table(name, threshold=f"{cut:.6g}", at_least=low)
    if t.score[-1] >= 0 and t.score[0] <= 1:
        lines += _table("lowest_score", at_least=0) + _table("highest_score", at_most=1)
    if missing:
        most = math.ceil(missing * 1000) / 1000
        lines += _table("missing_scores", at_most=f"{most:g}")
    return "\n".join([*lines, ""])


def _table(metric: str, **bounds: Any) -> list[str]:
    fields = [f"{name} = {bound}" for name, bound in bounds.items()]
    return ["", "[[require]]", f'metric = "{metric}"', *fields]


def _with_room(t: Tally, metric: str, threshold: float | None = None) -> float:
    """Give a bound that 19 of 20 new samples prove, rounded down.

    With reach r from a value to its limit, the value of a new sample of the same size
    is not more than r times the root of 2 below this one, since both vary, and its
    limit is r below it. Three requirements share the 5 %, as Holm's first step has it.
    """
    found = limits_of(metric, t, threshold)(0.05 / 3)
    low = found.value - (found.value - found.low) * (1 + math.sqrt(2))
    return math.floor(max(low, 0.0) * 1000) / 1000 if math.isfinite(low) else 0.0


def _toml(text: str) -> str:
    """Write text as TOML does: JSON's escapes are TOML's, but for one control."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(label: Any) -> str:
    plain = getattr(label, "item", lambda: label)()
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return f"{plain!r}" if isinstance(plain, (int, float)) else _toml(str(plain))


_NUMBER, _TEXT = {"type": "number"}, {"type": "string"}
_TYPES: dict[str, dict[str, Any]] = {
    "number": _NUMBER,
    "text": _TEXT,
    "two numbers": {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2},
    "names": {"type": "array", "items": _TEXT},
}
_MEANINGS = {
    "metric": "What is measured: one of these, or a sum of metrics.",
    "at_least": "It must be this or more.",
    "at_most": "It must be this or less.",
    "threshold": "Scores from here on are flagged.",
    "by": "Column of groups: in each of them.",
    "gap_at_most": "Largest difference between groups.",
    "not_worse_than": 'A column of the file, or "baseline" for --baseline.',
    "margin": "How much worse is allowed.",
    "judges": "For prevalence: columns with the verdicts of judges.",
    "labelled": "For judges: how the labelled cases were chosen.",
}


def _described(kind: dict[str, Any], meaning: str | None) -> dict[str, Any]:
    return kind if meaning is None else {**kind, "description": meaning}


def _properties() -> dict[str, Any]:
    """Describe the fields of a requirement."""
    known = [*MEASURES, *FACTS, "missing_scores", *METRICS]
    kinds = {name: _TYPES[kind] for name, kind in KINDS.items()} | {
        "metric": {"anyOf": [{"enum": known}, _TEXT]},
        "margin": {**_NUMBER, "minimum": 0},
        "labelled": {"enum": list(LABELLED)},
    }
    return {name: _described(kind, _MEANINGS.get(name)) for name, kind in kinds.items()}


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://github.com/trueness/trueness/blob/main/docs/contract.schema.json",
    "title": "A contract for trueness check",
    "type": "object",
    "additionalProperties": False,
    "required": ["require"],
    "properties": {
        **{name: _described(_TEXT, meaning) for name, meaning in _COLUMNS.items()},
        "positive": {"description": "Label that counts as positive."},
        "prevalence": {**_NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "level": {**_NUMBER, "exclusiveMinimum": 0.5, "exclusiveMaximum": 1},
        **{name: {"enum": list(words)} for name, words in _CHOICES.items()},
        "require": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["metric"],
                "properties": _properties(),
            },
        },
    },
}
