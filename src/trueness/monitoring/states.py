"""What is kept of a watch, and which cases of a batch are new?

A batch that has a name is counted once. When it comes again, only labels that were
unknown before are new. A watch is kept in one JSON file, or one Parquet file, whole or
not at all. The Parquet file has a row for each look, which any program can read, and in
its metadata everything that is needed to go on; the JSON file has both in one object.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.files import replacing
from trueness.counts.answers import refuse
from trueness.counts.values import Panel, Tally
from trueness.data.frames import panel, tally
from trueness.data.storage import read_columns, write_columns

T = TypeVar("T", Tally, Panel)
About = dict[str, Any]  # the question of a watch, as JSON holds it
State = dict[str, Any]  # and what was seen so far
VERSION = 1
MOST_EVIDENCE = 700.0  # as a logarithm: the exponential is still a number
_LONG = 20  # distinct outputs from which on two batches are not equal by chance
_TABLES = (".parquet", ".pq")
_LARGEST = 1e306  # above the largest evidence that is written
_NUMBERS = ("look", "n", "batch", "value", "low", "high", "evidence")


def counted(
    batch: tuple[Any, ...],
    columns: Mapping[str, Any],
    *,
    by: str | None,
    judges: list[str],
    scores_only: bool,
) -> Any:
    """Count a batch: a tally, of judges a panel of their verdicts, or one a group."""
    found: Any = batch[0] if len(batch) == 1 else None
    parts = list(found.values()) if isinstance(found, Mapping) else [found]
    if not any(isinstance(part, Tally | Panel) for part in parts):
        words: dict[str, Any] = {} if by is None else {"by": by}
        if judges and len(batch) == 1:
            words["scores"] = judges
        plain = isinstance(found, list) or getattr(found, "ndim", 0) == 1
        given = (None, found) if scores_only and plain else batch
        count: Any = panel if judges else tally
        found = count(*given, **{**words, **columns})
    if isinstance(found, Mapping) != (by is not None):
        raise InputError(
            "A batch of this watch has no groups; found some. To watch each group, "
            'begin a watch with by="site".'
            if by is None
            else f"This watch is by {by!r}: a batch is a mapping from group to tally, "
            "or a frame with that column."
        )
    if by is not None:
        return found
    refuse(found, "watch")
    gone = [j for j in judges if j not in getattr(found, "names", ())]
    if gone or isinstance(found, Tally) == bool(judges):
        raise InputError(
            f"This watch needs the verdicts of {', '.join(judges)}; the batch has no "
            f"{gone[0]!r}."
            if judges
            else "A batch of this watch has labels and one score."
        )
    return found[judges] if judges else found


def new_cases(seen: Mapping[str, Any], x: Any, name: str) -> Any:
    """Give the cases that got their label since a batch was counted; None if none."""
    if seen["mark"] == fingerprint(x):
        return None
    if seen["counts"] is None:
        raise InputError(
            f"Batch {name!r} was counted before, with other cases. Give it another "
            f"name if it is new."
        )
    before = unpacked(seen["counts"], x)
    if np.array_equal(outputs(before), outputs(x), equal_nan=True):
        neg, pos = x.neg - before.neg, x.pos - before.pos
        gone = before.unknown - x.unknown
        if (neg >= 0).all() and (pos >= 0).all() and (neg + pos == gone).all():
            if isinstance(x, Panel):
                return Panel(x.names, x.rows, neg, pos)
            return Tally(x.score, neg, pos)
    raise InputError(
        f"Batch {name!r} was counted before, with other cases or other labels. Only "
        f"labels that were unknown may be added; give a new batch a new name."
    )


def remembered(x: Tally | Panel) -> dict[str, Any]:
    """Give what is kept of a batch, for when it comes twice."""
    held = packed(x) if x.n_unknown else None
    return {"mark": fingerprint(x), "counts": held}


def same_cases(batches: Mapping[str, Any], x: Tally | Panel) -> str | None:
    """Name the batch that had exactly these cases, if chance can hardly explain it."""
    if len(outputs(x)) < _LONG:
        return None
    mark = fingerprint(x)
    return next((name for name, held in batches.items() if held["mark"] == mark), None)


def fingerprint(x: Tally | Panel) -> str:
    """Give a mark that only equal counts share."""
    mark = hashlib.sha256()
    for part in (outputs(x), x.neg, x.pos, x.unknown):
        mark.update(np.ascontiguousarray(part).tobytes())
    return mark.hexdigest()


def outputs(x: Tally | Panel) -> Floats:
    """Give the scores, or the rows of verdicts."""
    return x.score if isinstance(x, Tally) else x.rows


def packed(x: Tally | Panel) -> dict[str, list[Any]]:
    """Give a tally or a panel as JSON holds it."""
    if isinstance(x, Tally):
        held: dict[str, list[Any]] = {"score": x.score.tolist()}
    else:
        held = {"rows": [packed_row(row) for row in x.rows]}
    return held | {k: getattr(x, k).tolist() for k in ("neg", "pos", "unknown")}


def packed_row(row: Floats) -> list[float | None]:
    """Give a row of verdicts as JSON holds it, which has no NaN."""
    return [None if np.isnan(v) else float(v) for v in row]


def unpacked(held: Mapping[str, list[Any]], x: T) -> T:
    """Give what JSON held: a tally, or a panel of the same classifiers as ``x``."""
    counts = (held[k] for k in ("neg", "pos", "unknown"))
    if isinstance(x, Panel):
        rows = np.array(held["rows"], np.float64).reshape(-1, len(x.names))
        return Panel(x.names, rows, *counts)
    return Tally(held["score"], *counts)


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
    if not isinstance(held, dict) or not isinstance(held.get("groups"), dict):
        return "groups"
    for part, shape in _SHAPE.items():
        if not isinstance(held.get(part), dict):
            return part
        for key, kind in shape.items():
            if key not in held[part] or not _is(held[part][key], kind):
                return key
    for name, one in held["groups"].items():
        deeper = isinstance(one, dict) and one.get("groups")  # groups have none
        if wrong := "groups" if deeper else _wrong(one):
            return f"{wrong} of group {name!r}"
    return ""


def _is(value: Any, kind: Any) -> bool:
    """Is a value of this kind: a word of ``_WORDS``, a list, a mapping, a record?

    ``"number?"`` and ``{"?": kind}`` may be None, ``["number"]`` is a list of numbers,
    ``("text", "whole")`` a list of these two, ``{"*": "text"}`` a mapping to text,
    ``{"name": "text"}`` a record, and a function says it by itself.
    """
    if isinstance(kind, str):
        none, word = kind.endswith("?"), kind.removesuffix("?")
        return none if value is None else _WORDS[word](value)
    if isinstance(kind, list):
        return isinstance(value, list) and all(_is(v, kind[0]) for v in value)
    if isinstance(kind, tuple):
        several = isinstance(value, list) and len(value) == len(kind)
        return several and all(map(_is, value, kind))
    if isinstance(kind, dict):
        if "?" in kind:
            return value is None or _is(value, kind["?"])
        if not isinstance(value, dict):
            return False
        if "*" in kind:
            return all(_is(v, kind["*"]) for v in value.values())
        return all(k in value and _is(value[k], one) for k, one in kind.items())
    return bool(kind(value))


def _number(v: Any) -> bool:
    plain = isinstance(v, (int, float)) and not isinstance(v, bool)
    return plain and -_LARGEST <= v <= _LARGEST  # which no NaN is


_WORDS: dict[str, Callable[[Any], bool]] = {
    "number": _number,
    "amount": lambda v: _number(v) and v >= 0,
    "share": lambda v: _number(v) and 0 <= v <= 1,
    "whole": lambda v: type(v) is int and 0 <= v < 2**62,
    "text": lambda v: isinstance(v, str),
    "plain": lambda v: isinstance(v, (str, bool, int, float)),
}


def _equal_rows(v: Any) -> bool:
    rows = _is(v, [["number"]]) and len(v) > 0
    return rows and len({len(row) for row in v}) == 1 and len(v[0]) > 0


def _counts(v: Any) -> bool:
    """Is it what ``packed`` gives?"""
    kinds = {k: ["whole"] for k in ("neg", "pos", "unknown")}
    if not _is(v, kinds):
        return False
    first: Any = v.get("score", v.get("rows"))
    known = _is(first, ["number"]) or _is(first, [["number?"]])
    return known and all(len(v[k]) == len(first) for k in kinds)


def _recent(v: Any) -> bool:
    """Is it what each of the latest looks told, with the same bets in all of them?"""
    rows = _is(v, [{"name": "text", "sums": ("number",) * 3, "gains": ["number"]}])
    return rows and (not v or _equal_rows([row["gains"] for row in v]))


def _waiting(v: Any) -> bool:
    """Is it a tally that waits for the other class, or are they batches of verdicts?"""
    return _counts(v) or _is(v, [("text?", {"*": (["number?"], "whole")})])


# what each part of a file must be: a forged or damaged one is told at once, and never
# half believed
_SHAPE: dict[str, dict[str, Any]] = {
    "about": {
        "metric": "text",
        "threshold": "number?",
        "side": lambda v: v in (1, -1),
        "bound": "share?",
        "near": "number?",
        "level": lambda v: _is(v, "share") and 0 < v < 1,
        "mean_time": lambda v: _number(v) and v > 1,
        "rng": "whole",
        "judges": ["text"],
        "by": "text?",
        "named": {"?": ["text"]},
        "columns": {"*": "plain"},
    },
    "state": {
        "n": "amount",
        "squares": "amount",
        "peak": lambda v: _is(v, "amount") and v <= MOST_EVIDENCE,
        "total": "number",
        "looks": "whole",
        "told": "whole",
        "since": "text?",
        "log_m": {"?": _equal_rows},
        "history": [
            {**dict.fromkeys(_NUMBERS, "number?"), "look": "whole", "name": "text?"}
        ],
        "recent": _recent,
        "batches": {"*": {"mark": "text", "counts": {"?": _counts}}},
        "waiting": {"?": _waiting},
        "baseline": {"?": _counts},
        "seen": {"?": _counts},
        "labels": {"*": ("whole", "whole")},
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
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # InputError is a ValueError
        raise InputError(f"{os.fspath(path)} is not the state of a watch.") from None
