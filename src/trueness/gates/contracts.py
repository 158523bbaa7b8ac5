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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, nearest
from trueness.counts.values import Tally
from trueness.gates.measures import FACTS, MEASURES
from trueness.gates.requirements import (
    LABELLED,
    Requirement,
    contradiction,
    requirement,
)
from trueness.metrics.definitions import METRICS
from trueness.ranking.auc_intervals import auc

_TEXTS = ("label", "score", "positive", "key", "count", "weight", "cluster")
_KEYS = (*_TEXTS, "level", "adjust", "undecided", "require", "$schema")


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
    level: float = 0.95
    adjust: str = "holm"
    undecided: str = "report"
    path: str = field(default="", compare=False)


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
    for key in ("label", "score", "key", "count", "weight", "cluster"):
        if key in held and not isinstance(held[key], str):
            line = _line(text, rf"^\s*{key}\s*=")
            raise InputError(
                f"{path}{line}: {key} must be the name of a column in quotes, such as "
                f'{key} = "y"; found {described(held[key])}.'
            )
    level = _share(held.get("level", 0.95), "level", text, path)
    choices = {"adjust": ("holm", "none"), "undecided": ("report", "pass", "fail")}
    for key, allowed in choices.items():
        if key in held and held[key] not in allowed:
            line = _line(text, rf"^\s*{key}\s*=")
            raise InputError(
                f"{path}{line}: {key} must be one of {', '.join(map(repr, allowed))}; "
                f"found {described(held[key])}."
            )
    return Contract(
        _required(held.get("require"), text, path),
        level=level,
        path=path,
        **{k: held[k] for k in (*_TEXTS, "adjust", "undecided") if k in held},
    )


def _share(value: Any, name: str, text: str, path: str) -> float:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not plain or not 0.5 < value < 1:
        line = _line(text, rf"^\s*{name}\s*=")
        raise InputError(
            f"{path}{line}: {name} must be between 0.5 and 1, such as 0.95; found "
            f"{described(value)}."
        )
    return float(value)


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
    """Write a contract that these data meet, with honest numbers: lower limits.

    The bounds are what the data can prove at 95 %, rounded down, so the file passes
    its own contract; raise them to what you need. ``missing`` is the share of cases
    that have no score. Where no threshold is better than none, none is required.
    """
    a = auc(t, level=0.90)
    cut = _best_cut(t)
    lines = [
        "# What these predictions must keep. Written from the data: each bound is what",
        "# these cases can prove at 95 % confidence. Change them to what you need.",
        f"label = {_toml(label)}",
        f"score = {_toml(score)}",
        *([] if positive is None else [f"positive = {_value(positive)}"]),
        "",
        "[[require]]",
        'metric = "positives"',
        f"at_least = {max(1, t.n_pos // 2)}",
        "",
        "[[require]]",
        'metric = "auc"',
        f"at_least = {_down(_proved(t, {'metric': 'auc', 'at_least': 0.0}, a.low))}",
    ]
    for name in ("recall", "precision") if math.isfinite(cut) else ():
        fields = {"metric": name, "at_least": 0.0, "threshold": cut}
        low = _down(_proved(t, fields, 0.0))
        lines += ["", "[[require]]", f'metric = "{name}"', f"threshold = {cut:.6g}"]
        lines += [f"at_least = {low}"]
    if t.score[-1] >= 0 and t.score[0] <= 1:
        for name, bound in (
            ("lowest_score", "at_least = 0"),
            ("highest_score", "at_most = 1"),
        ):
            lines += ["", "[[require]]", f'metric = "{name}"', bound]
    if missing:
        bound = f"at_most = {math.ceil(missing * 1000) / 1000:g}"
        lines += ["", "[[require]]", 'metric = "missing_scores"', bound]
    return "\n".join([*lines, ""])


def _proved(t: Tally, fields: dict[str, Any], otherwise: float) -> float:
    from trueness.gates.limits import limits_of

    # three requirements share the 5 %, as Holm's first step would have it
    low = limits_of(requirement(fields), t)(0.05 / 3).low
    return low if math.isfinite(low) else otherwise


def _best_cut(t: Tally) -> float:
    from trueness.threshold.operating_point import best_threshold

    return float(f"{best_threshold(t, maximize='youden').threshold:.6g}")


def _down(value: float) -> float:
    return math.floor(max(value - 1e-9, 0.0) * 1000) / 1000


def _toml(text: str) -> str:
    """Write text as TOML does: JSON's escapes are TOML's, but for one control."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(label: Any) -> str:
    plain = getattr(label, "item", lambda: label)()
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return f"{plain!r}" if isinstance(plain, (int, float)) else _toml(str(plain))


def _properties() -> dict[str, Any]:
    number = {"type": "number"}
    known = [*MEASURES, *FACTS, "missing_scores", *METRICS]
    return {
        "metric": {
            "description": "What is measured: one of these, or a sum of metrics.",
            "anyOf": [{"enum": known}, {"type": "string"}],
        },
        "at_least": {**number, "description": "It must be this or more."},
        "at_most": {**number, "description": "It must be this or less."},
        "threshold": {**number, "description": "Scores from here on are flagged."},
        "by": {"type": "string", "description": "Column of groups: in each of them."},
        "gap_at_most": {**number, "description": "Largest difference between groups."},
        "not_worse_than": {
            "type": "string",
            "description": 'A column of the file, or "baseline" for --baseline.',
        },
        "margin": {**number, "minimum": 0, "description": "How much worse is allowed."},
        "fpr": {"type": "array", "items": number, "minItems": 2, "maxItems": 2},
        "judges": {
            "type": "array",
            "items": {"type": "string"},
            "description": "For prevalence: columns with the verdicts of judges.",
        },
        "labelled": {
            "enum": list(LABELLED),
            "description": "For judges: how the labelled cases were chosen.",
        },
    }


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://github.com/trueness/trueness/blob/main/docs/contract.schema.json",
    "title": "A contract for trueness check",
    "type": "object",
    "additionalProperties": False,
    "required": ["require"],
    "properties": {
        "label": {"type": "string", "description": "Column with the labels."},
        "score": {"type": "string", "description": "Column with the scores."},
        "positive": {"description": "Label that counts as positive."},
        "key": {
            "type": "string",
            "description": "Column that names a case, in both files.",
        },
        "count": {"type": "string", "description": "How many cases a row stands for."},
        "weight": {"type": "string", "description": "How much a case weighs."},
        "cluster": {
            "type": "string",
            "description": "Column that says which cases belong together: patients.",
        },
        "level": {"type": "number", "exclusiveMinimum": 0.5, "exclusiveMaximum": 1},
        "adjust": {"enum": ["holm", "none"]},
        "undecided": {"enum": ["report", "pass", "fail"]},
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
