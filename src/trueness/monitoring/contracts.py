"""Which contract does a file hold, and is it well formed?

A contract is a TOML file: which columns, and a list of requirements (``[[require]]``).
Mistakes are answered with the line, what was found and what to write. Its JSON Schema,
by which editors complete and check it, is ``docs/contract.schema.json``.
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
from trueness.monitoring.measures import limits_of
from trueness.monitoring.requirements import Requirement, contradiction, requirement
from trueness.threshold.operating_point import best_threshold

_COLUMNS = ("label", "score", "key", "count", "weight", "cluster")
CHOICES = {
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
    for key, value in held.items():
        wrong = _wrong(key, value)
        if wrong:
            line = _line(text, rf"^\s*\[*\s*{re.escape(key)}\b")
            raise InputError(f"{path}{line}: {wrong}")
    given = {k: v for k, v in held.items() if k not in ("require", "$schema")}
    required = _required(held.get("require"), text, file)
    return Contract(required, path=str(path), **given)


def _wrong(key: str, value: Any) -> str:
    """Say what is wrong with a key or its value; nothing if all is well."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if key not in _KEYS:
        known = ", ".join(_KEYS[:-1])
        return f"there is no key {key!r}.{nearest(key, _KEYS)} Known keys: {known}."
    if key == "require" and isinstance(value, dict):
        return "write [[require]] with two brackets, since there may be several."
    needed = ""
    if key in CHOICES and value not in CHOICES[key]:
        needed = f"one of {', '.join(map(repr, CHOICES[key]))}"
    elif key in _COLUMNS and not isinstance(value, str):
        needed = f'the name of a column in quotes, such as {key} = "y"'
    elif key == "level" and not (plain and 0.5 < value < 1):
        needed = "between 0.5 and 1, such as 0.95"
    elif key == "prevalence" and not (plain and 0 < value < 1):
        needed = "a share of positives between 0 and 1, such as 0.01"
    return f"{key} must be {needed}; found {described(value)}." if needed else ""


def _required(given: Any, text: str, file: Path) -> tuple[Requirement, ...]:
    if not isinstance(given, list) or not given:
        raise InputError(
            f"{file} requires nothing. Add a table:\n"
            f'[[require]]\nmetric = "auc"\nat_least = 0.8'
        )
    lines = text.splitlines()
    starts = [k for k, s in enumerate(lines, 1) if re.match(r"\s*\[\[\s*require", s)]
    starts += [0] * len(given)  # of tables that are written in one line
    found: list[Requirement] = []
    for k, one in enumerate(given):
        if isinstance(one, dict) and isinstance(one.get("threshold"), str):
            one["threshold"] = str(file.parent / one["threshold"])  # a saved rule
        try:
            found.append(requirement(one))
        except InputError as err:
            line = _line_of(lines, starts[k], one, str(err))
            raise InputError(f"{file}, requirement {k + 1}{line}: {err}") from None
    against = contradiction(found)
    if against is not None:
        first, second = against
        at = f" (line {starts[second]})" if starts[second] else ""
        raise InputError(
            f"{file}, requirement {second + 1}{at}: {found[second]} contradicts "
            f"requirement {first + 1}, {found[first]}; nothing can meet both."
        )
    return tuple(found)


def _line_of(lines: list[str], start: int, one: Any, message: str) -> str:
    """Name the line of the field that a message speaks of, or of its table."""
    if not start:
        return ""
    for number, line in enumerate(lines[start:], start + 1):
        if re.match(r"\s*\[", line):
            break
        key = line.partition("=")[0].strip()
        if isinstance(one, dict) and key in one:
            named = repr(one[key]) in message or repr(key) in message
            if named or message.startswith(f"{key} "):
                return f" (line {number})"
    return f" (line {start})"


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
