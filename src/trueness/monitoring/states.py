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

VERSION = 2
_TABLES = (".parquet", ".pq")
_LARGEST = 1e306  # above the largest evidence that is written
MOST_EVIDENCE = 700.0  # as a logarithm: the exponential is still a number
_NUMBERS = ("look", "n", "value", "low", "high", "evidence")


def write_state(
    held: dict[str, Any], rows: list[dict[str, Any]], path: str | os.PathLike[str]
) -> None:
    """Write what a watch holds; the ending of the name decides how."""
    if Path(path).suffix.lower() in _TABLES:
        columns: dict[str, Any] = {
            k: np.array([np.nan if r[k] is None else float(r[k]) for r in rows])
            for k in _NUMBERS
        }
        for k in ("name", "group"):
            columns[k] = np.array([str(r.get(k) or "") for r in rows], dtype=str)
        write_columns(columns, {"kind": "watch", "watch": _stamped(held)}, path)
        return
    text = json.dumps(_stamped(held))
    with replacing(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")


def _stamped(held: dict[str, Any]) -> dict[str, Any]:
    # what an older Trueness can read is marked as such
    plain = "groups" not in held and not held["about"].get("judges")
    return {"trueness": "watch", "version": 1 if plain else VERSION, **held}


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
    wrong = _wrong_family(held) if "groups" in held else _wrong(held)
    if wrong:
        raise InputError(
            f"{os.fspath(path)} is the state of a watch, but {wrong} is missing or not "
            "what a watch writes. Restore the file from a copy, or begin a new watch "
            "in another file."
        )
    return dict(held)


def _wrong_family(held: dict[str, Any]) -> str:
    """Name the first part of a watch on groups that cannot be; nothing if all can."""
    groups = held["groups"]
    if not isinstance(groups, dict):
        return "groups"
    found = [_first_wrong(held, _FAMILY), _first_wrong(held["about"], _ABOUT)]
    for name, one in groups.items():
        wrong = _wrong(one)
        found.append(f"{wrong} of group {name!r}" if wrong else "")
    return next(filter(None, found), "")


def _wrong(held: Any) -> str:
    """Name the first part of a watch that cannot be; nothing if all can."""
    if not isinstance(held, dict):
        return "all of it"
    about, state = held.get("about"), held.get("state")
    if isinstance(about, dict) and isinstance(state, dict):
        about.setdefault("judges", [])  # files of version 1 knew no judges
        earlier: dict[str, Any] = {"labels": {}, "yes": 0.0, "judged": state.get("n")}
        state |= {k: v for k, v in earlier.items() if k not in state}
        if isinstance(state.get("peak"), float):  # was without a limit once
            state["peak"] = min(state["peak"], MOST_EVIDENCE)
    return _first_wrong(about, _ABOUT) or _first_wrong(state, _STATE)


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


def _each(ok: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, list) and all(map(ok, v))


def _mapped(ok: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, dict) and all(map(ok, v.values()))


def _counts(v: Any) -> bool:
    """Is it what ``sums.packed`` gives?"""
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


def _batch(v: Any) -> bool:
    known = isinstance(v, dict) and {"mark", "unknown", "counts"} <= v.keys()
    return known and _text(v["mark"]) and _or_none(_counts)(v["counts"])


def _labels(v: Any) -> bool:
    return _each(_whole)(v) and len(v) == 2


# what each part of a file must be: a forged or damaged one is told at once, and never
# half believed
_ABOUT: dict[str, Callable[[Any], bool]] = {
    "metric": _text,
    "threshold": _or_none(_number),
    "side": lambda v: v in (1, -1),
    "bound": _or_none(_share),
    "near": _or_none(_number),
    "level": lambda v: _share(v) and 0 < v < 1,
    "rng": _whole,
    "judges": _each(_text),
}
_STATE: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("n", "squares", "peak", "judged", "yes"), _amount),
    "total": _number,
    "looks": _whole,
    "since": _or_none(_text),
    "history": _each(_row),
    "batches": _mapped(_batch),
    "wealth": _or_none(_each(_number)),
    "waiting": _or_none(_waiting),
    "bag": _or_none(_counts),
    "labels": _mapped(_labels),
}
_FAMILY: dict[str, Callable[[Any], bool]] = {
    "by": _text,
    "named": _or_none(_each(_text)),
    "looks": _whole,
    "since": _or_none(_text),
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
