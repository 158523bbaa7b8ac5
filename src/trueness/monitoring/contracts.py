"""Contracts: a file that names the columns, and what is required of them.

A contract is a TOML file with a list of requirements (``[[require]]``); its JSON Schema
is ``docs/contract.schema.json``. A first one is written from data.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, final

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import nearest
from trueness._core.data_types import LabelValue
from trueness.counts.values import Tally
from trueness.monitoring.fields import KEYS, read_field
from trueness.monitoring.one_sided import one_sided_interval
from trueness.monitoring.requirements import Requirement, contradiction, requirement
from trueness.threshold.operating_point import best_threshold

# three requirements of a first contract share the 5 %, as in Holm's first step
_ALPHA_OF_FIRST_CONTRACT = 0.05 / 3


@final
@dataclass(frozen=True)
class Contract:
    """The columns of the data, and the requirements on them."""

    requirements: tuple[Requirement, ...]
    label: str | None = None
    score: str | None = None
    positive: LabelValue = None
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


def read_contract(path: str | Path) -> Contract:
    """Return the contract in a file; errors name the line."""
    text = _read_text(path)
    lines = text.splitlines()
    keys = _parse_toml(text, path)
    keys.pop("$schema", None)

    for key, value in keys.items():
        try:
            _check_key(key, value)
        except InputError as err:
            line = _line_of_key(lines, key)
            where = f"{path}, line {line}" if line else f"{path}"
            raise InputError(f"{where}: {err.message}", option=key) from None

    tables = keys.pop("require", None)
    requirements = _read_requirements(tables, lines, Path(path))
    return Contract(requirements, path=str(path), **keys)


def _read_text(path: str | Path) -> str:
    """Return the text of a contract."""
    file = Path(path)
    if not file.is_file():
        raise InputError(
            f"There is no contract {path}. The command trueness check, with its option "
            "init, writes a first one from predictions."
        )

    try:
        # some editors begin a file with a byte order mark
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} must be UTF-8 text.") from None


def _parse_toml(text: str, path: str | Path) -> dict[str, Any]:
    """Return the keys of a text in TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        raise InputError(f"{path} is not TOML: {err}.") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply.") from None


def _check_key(key: str, value: object) -> None:
    """Raise an error for an unknown key, or for a value that a key cannot have."""
    if key not in KEYS:
        known_keys = ", ".join(KEYS)
        raise InputError(
            f"there is no key {key!r}.{nearest(key, KEYS)} Known keys: {known_keys}."
        )

    if key == "require" and isinstance(value, dict):
        raise InputError(f"write [[{key}]] with two brackets, for several.")

    read_field(key, KEYS[key], value)


def _line_of_key(lines: list[str], key: str) -> int:
    """Return the number of the first line with a key; 0 if there is none."""
    names_key = re.compile(rf"\s*\[*\s*{re.escape(key)}\b")
    for number, line in enumerate(lines, 1):
        if names_key.match(line):
            return number
    return 0


def _read_requirements(
    tables: object, lines: list[str], file: Path
) -> tuple[Requirement, ...]:
    """Return the requirements in these tables; errors name the line."""
    if not isinstance(tables, list) or not tables:
        raise InputError(
            f"{file} holds no requirement. Add a table:\n[[require]]\nmetric = "
            '"auc"\nat_least = 0.8'
        )

    first_lines = [
        number
        for number, line in enumerate(lines, 1)
        if re.match(r"\s*\[\[\s*require", line)
    ]
    # inline tables have no line of their own: 0 stands for it
    first_lines += [0] * len(tables)

    def refuse(place: int, line: int, message: str) -> NoReturn:
        where = f" (line {line})" if line else ""
        raise InputError(f"{file}, requirement {place + 1}{where}: {message}") from None

    requirements: list[Requirement] = []
    for place, table in enumerate(tables):
        try:
            requirements.append(requirement(_with_path_of_rule(table, file.parent)))
        except InputError as err:
            line = _line_of_field(lines, first_lines[place], err.option)
            refuse(place, line, err.message)

    pair = contradiction(requirements)
    if pair is not None:
        first, second = pair
        refuse(
            second,
            first_lines[second],
            f"{requirements[second]} contradicts requirement {first + 1}, "
            f"{requirements[first]}; nothing can meet both.",
        )

    return tuple(requirements)


def _with_path_of_rule(table: object, folder: Path) -> Any:
    """Return a table with the path of a rule relative to the folder of the contract."""
    if isinstance(table, dict) and isinstance(table.get("threshold"), str):
        return {**table, "threshold": str(folder / table["threshold"])}
    return table


def _line_of_field(lines: list[str], start: int, field: str | None) -> int:
    """Return the line of a field in the table that starts here, or its first line."""
    if not start:
        return start

    for number, line in enumerate(lines[start:], start + 1):
        if re.match(r"\s*\[", line):  # the next table
            break
        if line.partition("=")[0].strip() == field:
            return number

    return start


def first_contract(
    tally: Tally,
    label: str,
    score: str,
    *,
    positive: LabelValue = None,
    missing: float = 0.0,
) -> str:
    """Return the text of a contract that 19 of 20 new samples of the model meet.

    ``missing`` is the proportion of the rows of the file without a score.
    """
    lines = [
        "# Requirements for these predictions, written from the data. The bounds leave",
        "# room: 19 of 20 new samples of as many cases from the same model prove all",
        "# of them. Change them to what you need.",
        f"label = {_toml(label)}",
        f"score = {_toml(score)}",
    ]

    if positive is not None:
        lines.append(f"positive = {_toml(positive)}")

    lines += _table("positives", {"at_least": max(1, tally.n_pos // 2)})
    lines += _table("auc", {"at_least": _bound_with_room(tally, "auc")})

    best = best_threshold(tally, maximize="youden")
    threshold = float(f"{best.threshold:.6g}")
    if math.isfinite(threshold):
        lines += _tables_at_threshold(tally, threshold)

    if tally.score[-1] >= 0 and tally.score[0] <= 1:
        lines += _table("lowest_score", {"at_least": 0})
        lines += _table("highest_score", {"at_most": 1})

    if missing:
        rounded_up = math.ceil(missing * 1000) / 1000
        lines += _table("missing_scores", {"at_most": f"{rounded_up:g}"})

    return "\n".join([*lines, ""])


def _tables_at_threshold(tally: Tally, threshold: float) -> list[str]:
    """Return the lines of the requirements at the best threshold."""
    lines = [
        f"\n# The threshold {threshold:.6g} has the largest recall + specificity in "
        "these",
        "# cases (Youden's J). Put the one that you use in its place.",
    ]
    for name in ("recall", "precision"):
        bound = _bound_with_room(tally, name, threshold)
        lines += _table(name, {"threshold": f"{threshold:.6g}", "at_least": bound})

    return lines


def _table(metric: str, bounds: Mapping[str, float | str]) -> list[str]:
    """Return the lines of the table of a requirement."""
    fields = [f"{name} = {bound}" for name, bound in bounds.items()]
    return [f'\n[[require]]\nmetric = "{metric}"', *fields]


def _bound_with_room(
    tally: Tally, metric: str, threshold: float | None = None
) -> float:
    """Return a bound that 19 of 20 new samples prove, rounded down.

    Let r be the distance from a value to the lower end of its interval. Since both
    samples vary, the value of a new one is at most r times the root of 2 lower. The end
    of its interval is lower by another r.
    """
    interval = one_sided_interval(metric, tally, threshold)(_ALPHA_OF_FIRST_CONTRACT)
    distance = interval.value - interval.low
    bound = interval.value - distance * (1 + math.sqrt(2))
    if not math.isfinite(bound):
        return 0.0
    return math.floor(max(bound, 0.0) * 1000) / 1000


def _toml(value: object) -> str:
    """Return a value in TOML; its escapes are those of JSON, except for DEL."""
    if hasattr(value, "item"):
        value = value.item()  # a number of NumPy
    if not isinstance(value, (bool, int, float)):
        value = str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
