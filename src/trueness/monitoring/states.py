"""How is a watch kept? One JSON file, or one Parquet file, whole or not at all.

The Parquet file has a row for each look, which any program can read, and in its
metadata everything that is needed to go on; the JSON file has both in one object.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.files import replacing
from trueness.data.storage import read_columns, write_columns

VERSION = 1
MOST_EVIDENCE = 700.0  # as a logarithm: the exponential is still a number
_TABLES = (".parquet", ".pq")
_LARGEST = 1e306  # above the largest evidence that is written
_NUMBERS = ("look", "n", "batch", "value", "low", "high", "evidence")


def write_state(
    held: dict[str, Any], rows: list[dict[str, Any]], path: str | os.PathLike[str]
) -> None:
    """Write what a watch holds; the ending of the name decides how."""
    stamped = {"trueness": "watch", "version": VERSION, **held}
    if Path(path).suffix.lower() in _TABLES:
        columns: dict[str, Any] = {
            k: np.array([np.nan if r[k] is None else float(r[k]) for r in rows])
            for k in _NUMBERS
        }
        for k in ("name", "group"):
            columns[k] = np.array([str(r.get(k) or "") for r in rows], dtype=str)
        write_columns(columns, {"kind": "watch", "watch": stamped}, path)
        return
    text = json.dumps(stamped)
    with replacing(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")


def read_state(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a watch held, or say what is wrong with the file."""
    held = _read(_options.file_path(path, "load_watch"))
    known = isinstance(held, dict) and held.get("trueness") == "watch"
    version = held.get("version") if known else None
    if isinstance(version, int) and version > VERSION:
        raise InputError(
            f"{os.fspath(path)} was written by a newer Trueness. Upgrade with pip "
            f"install -U trueness."
        )
    if not known or "about" not in held or not isinstance(version, int):
        raise InputError(f"{os.fspath(path)} is not the state of a watch.")
    wrong = _wrong(held)
    if wrong:
        raise InputError(
            f"{os.fspath(path)} is the state of a watch, but {wrong} is missing or not "
            "what a watch writes. Restore the file from a copy, or begin a new watch "
            "in another file."
        )
    return dict(held)


def _wrong(held: Any) -> str:
    """Name the first part of a watch that cannot be; nothing if all can."""
    if not isinstance(held, dict):
        return "all of it"
    groups = held.get("groups")
    if not isinstance(groups, dict):
        return "groups"
    found = [_first_wrong(held.get(k), _PARTS[k]) for k in _PARTS]
    for name, one in groups.items():
        wrong = _wrong(one)
        found.append(f"{wrong} of group {name!r}" if wrong else "")
    return next(filter(None, found), "")


def _first_wrong(part: Any, table: dict[str, Callable[[Any], bool]]) -> str:
    if not isinstance(part, dict):
        return "a part of it"
    return next((k for k, ok in table.items() if k not in part or not ok(part[k])), "")


def _number(v: Any) -> bool:
    plain = isinstance(v, (int, float)) and not isinstance(v, bool)
    return plain and -_LARGEST <= v <= _LARGEST  # which no NaN is


def _amount(v: Any) -> bool:
    return _number(v) and v >= 0


def _whole(v: Any) -> bool:
    return isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 2**62


def _text(v: Any) -> bool:
    return isinstance(v, str)


def _share(v: Any) -> bool:
    return _amount(v) and v <= 1


def _or_none(ok: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda v: v is None or ok(v)


def _each(ok: Callable[[Any], bool], size: int | None = None) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, list) and all(map(ok, v)) and size in (None, len(v))


def _mapped(ok: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, dict) and all(map(ok, v.values()))


def _equal_rows(v: Any) -> bool:
    rows = _each(_each(_number))(v) and len(v) > 0
    return rows and len({len(row) for row in v}) == 1 and len(v[0]) > 0


def _counts(v: Any) -> bool:
    """Is it what ``batches.packed`` gives?"""
    if not isinstance(v, dict):
        return False
    first: Any = v.get("score", v.get("rows"))
    if not (_each(_number)(first) or _each(_each(_or_none(_number)))(first)):
        return False
    parts = [v.get(k, ()) for k in ("neg", "pos", "unknown")]
    return all(_each(_whole)(p) and len(p) == len(first) for p in parts)


def _waiting(v: Any) -> bool:
    """Is it a tally that waits for the other class, or are they batches of verdicts?"""

    def pattern(x: Any) -> bool:
        two = isinstance(x, list) and len(x) == 2
        return two and _each(_or_none(_number))(x[0]) and _whole(x[1])

    def batch(x: Any) -> bool:
        two = isinstance(x, list) and len(x) == 2
        return two and _or_none(_text)(x[0]) and _mapped(pattern)(x[1])

    return _counts(v) or _each(batch)(v)


def _row(v: Any) -> bool:
    numbers = isinstance(v, dict) and all(_or_none(_number)(v.get(k)) for k in _NUMBERS)
    return numbers and {*_NUMBERS, "name"} <= v.keys() and _whole(v["look"])


def _recent(v: Any) -> bool:
    """Is it what each of the latest looks told, with the same bets in all of them?"""
    if not isinstance(v, list) or any(_first_wrong(row, _TOLD) for row in v):
        return False
    return not v or _equal_rows([row["gains"] for row in v])


def _batch(v: Any) -> bool:
    known = isinstance(v, dict) and {"mark", "counts"} <= v.keys()
    return known and _text(v["mark"]) and _or_none(_counts)(v["counts"])


_TOLD: dict[str, Callable[[Any], bool]] = {
    "name": _text,
    "sums": _each(_number, 3),
    "gains": _each(_number),
}
# what each part of a file must be: a forged or damaged one is told at once, and never
# half believed
_PARTS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "about": {
        "metric": _text,
        "threshold": _or_none(_number),
        "side": lambda v: v in (1, -1),
        "bound": _or_none(_share),
        "near": _or_none(_number),
        "level": lambda v: _share(v) and 0 < v < 1,
        "mean_time": lambda v: _number(v) and v > 1,
        "rng": _whole,
        "judges": _each(_text),
        "by": _or_none(_text),
        "named": _or_none(_each(_text)),
        "columns": _mapped(lambda v: isinstance(v, (str, bool, int, float))),
    },
    "state": {
        **dict.fromkeys(("n", "squares"), _amount),
        "peak": lambda v: _amount(v) and v <= MOST_EVIDENCE,
        "total": _number,
        **dict.fromkeys(("looks", "told"), _whole),
        "since": _or_none(_text),
        "log_m": _or_none(_equal_rows),
        "history": _each(_row),
        "recent": _recent,
        "batches": _mapped(_batch),
        "waiting": _or_none(_waiting),
        "baseline": _or_none(_counts),
        "seen": _or_none(_counts),
        "labels": _mapped(_each(_whole, 2)),
    },
}


def _read(path: str | os.PathLike[str]) -> Any:
    try:
        if Path(path).suffix.lower() in _TABLES and Path(path).is_file():
            return read_columns(path, "watch")[1].get("watch")
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no file {os.fspath(path)} with a watch.") from None
    except OSError as err:
        raise InputError(f"{os.fspath(path)} cannot be read: {err}.") from None
    except (ValueError, RecursionError):  # InputError is one of them
        raise InputError(f"{os.fspath(path)} is not the state of a watch.") from None
