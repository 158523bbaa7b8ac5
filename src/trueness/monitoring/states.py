"""What is kept of a watch, and which cases of a batch are new?

A batch that has a name is counted once; when it comes again, only labels that were
unknown before are new. A watch is kept in one file, whole or not at all: JSON, or
Parquet with a row for each look, and in its metadata all that is needed to go on.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict, TypeVar

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


class About(TypedDict):
    """The question of a watch, as JSON holds it."""

    metric: str
    threshold: Any
    side: int  # 1 where a bound must be reached, -1 where it must not be passed
    bound: float | None
    near: float | None
    level: float
    mean_time: float  # looks to a false alarm, on average
    rng: int
    judges: list[str]
    by: str | None
    named: list[str] | None  # the groups that were named
    columns: dict[str, Any]


class State(TypedDict):
    """What a watch has seen so far."""

    n: float  # cases that told something; their sum and that of their squares
    total: float
    squares: float
    peak: float  # the largest log evidence
    looks: int
    told: int  # looks that told something
    since: str | None  # the batch of the alarm
    log_m: list[list[float]] | None  # the logarithm of each bet's part
    history: list[dict[str, Any]]
    recent: list[dict[str, Any]]
    batches: dict[str, Any]
    waiting: Any
    baseline: Any
    seen: Any
    labels: dict[str, list[int]]


VERSION = 1
MOST_EVIDENCE = 700.0  # as a logarithm: the exponential is still a number
_TABLES = (".parquet", ".pq")
_LARGEST = 1e306  # above the largest evidence that is written
_NUMBERS = ("look", "n", "batch", "value", "low", "high", "evidence")


def counted(
    about: About, batch: tuple[Any, ...], columns: Mapping[str, Any], scores_only: bool
) -> Any:
    """Count a batch: a tally, of judges a panel of their verdicts, or one a group."""
    by, judges = about["by"], about["judges"]
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
    if isinstance(found, Mapping) and by is None:
        raise InputError(
            "A batch of this watch has no groups; found some. Begin another watch for "
            "the groups.",
            option="by",
            example="COLUMN",
        )
    if by is not None and not isinstance(found, Mapping):
        raise InputError(
            f"This watch is by {by!r}: a batch is a mapping from group to tally, or a "
            "frame with that column.",
            option="by",
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


def new_cases(seen: Mapping[str, Any], x: T, name: str) -> T | None:
    """Give the cases that got their label since a batch was counted; None if none."""
    if seen["mark"] == fingerprint(x):
        return None
    before = None if seen["counts"] is None else unpacked(seen["counts"], x)
    if before is not None and np.array_equal(
        outputs(before), outputs(x), equal_nan=True
    ):
        neg, pos = x.neg - before.neg, x.pos - before.pos
        new = neg + pos == before.unknown - x.unknown
        if new.all() and (neg >= 0).all() and (pos >= 0).all():
            counts = (outputs(x), neg, pos)
            if isinstance(x, Panel):
                return Panel(x.names, *counts)
            return Tally(*counts)
    raise InputError(
        f"Batch {name!r} was counted before, with other cases or other labels. Only "
        f"labels that were unknown may be added; give a new batch a new name."
    )


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
    file = _options.file_path(path, "load_watch")
    held: Any = None
    try:
        if file.suffix.lower() in _TABLES and file.is_file():
            held = read_columns(file, "watch")[1].get("watch")
        else:
            held = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no file {file} with a watch.") from None
    except OSError as err:
        raise InputError(f"{file} cannot be read: {err}.") from None
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        pass  # as if it held nothing; InputError is a ValueError
    known = isinstance(held, dict) and held.get("trueness") == "watch"
    version = held.get("version") if known else None
    if not known or "about" not in held or not isinstance(version, int):
        raise InputError(f"{file} is not the state of a watch.")
    if version > VERSION:
        raise InputError(
            f"{file} was written by a newer Trueness. Upgrade it (pip install -U "
            "trueness)."
        )
    if wrong := _wrong(held):
        raise InputError(
            f"{file} is the state of a watch, but {wrong} is missing or not what a "
            "watch writes. Restore the file from a copy, or begin a new watch in "
            "another file."
        )
    return dict(held)


def _wrong(held: object) -> str:
    """Name the first part of a watch that cannot be; nothing if all can."""
    if not isinstance(held, dict) or not isinstance(held.get("groups"), dict):
        return "groups"
    for part, shape in (("about", _ABOUT), ("state", _STATE)):
        if wrong := _unlike(held.get(part), shape):
            return wrong if isinstance(held.get(part), dict) else part
    for name, one in held["groups"].items():
        deeper = isinstance(one, dict) and one.get("groups")  # groups have none
        if wrong := "groups" if deeper else _wrong(one):
            return f"{wrong} of group {name!r}"
    return ""


def _unlike(value: object, shape: str) -> str:
    """Name the first field that a record lacks, or that is not of its kind.

    A shape has the names of fields and their kinds; ``number?`` may be None,
    ``[number]`` is a list of numbers and ``{text}`` a mapping to text.
    """
    kinds = dict(one.split() for one in shape.split(","))
    held = value if isinstance(value, dict) else {}
    return next((k for k in kinds if k not in held or not _is(held[k], kinds[k])), "")


def _is(value: object, kind: str) -> bool:
    if kind.endswith("?"):
        return value is None or _is(value, kind[:-1])
    if kind.startswith("["):
        return isinstance(value, list) and all(_is(v, kind[1:-1]) for v in value)
    if kind.startswith("{"):
        return isinstance(value, dict) and _is([*value.values()], f"[{kind[1:-1]}]")
    return bool(_KINDS[kind](value))


def _is_number(v: object, low: float = -_LARGEST, high: float = _LARGEST) -> bool:
    if isinstance(v, bool) or not isinstance(v, (int, float)):
        return False
    return low <= v <= high  # which no NaN is


def _equal_rows(v: object) -> bool:
    sizes = {len(row) for row in v} if _is(v, "[[number]]") else set()  # type: ignore[attr-defined]
    return len(sizes) == 1 and 0 not in sizes


def _is_counts(v: object) -> bool:
    """Is it what ``packed`` gives?"""
    if not isinstance(v, dict) or _unlike(v, _COUNTS):
        return False
    first: Any = v.get("score", v.get("rows"))
    known = _is(first, "[number]") or _is(first, "[[number?]]")
    return known and all(len(v[k]) == len(first) for k in ("neg", "pos", "unknown"))


def _is_recent(v: Any) -> bool:
    """Is it what each of the latest looks told, with the same bets in all of them?"""
    return _is(v, "[told]") and (not v or _equal_rows([row["gains"] for row in v]))


def _are(v: object, *kinds: str) -> bool:
    return isinstance(v, list) and len(v) == len(kinds) and all(map(_is, v, kinds))


# what each part of a file must be: a forged or damaged one is told at once, and never
# half believed
_COUNTS = "neg [whole], pos [whole], unknown [whole]"
_LOOK = "look whole, name text?, " + ", ".join(f"{k} number?" for k in _NUMBERS[1:])
_ABOUT = """metric text, threshold number?, side side, bound share?, near number?,
    level level, mean_time looks, rng whole, judges [text], by text?, named [text]?,
    columns {plain}"""
_STATE = """n amount, squares amount, peak log, total number, looks whole, told whole,
    since text?, log_m rows?, history [look], recent recent, batches {batch},
    waiting waiting?, baseline counts?, seen counts?, labels {labels}"""
_KINDS: dict[str, Callable[[Any], bool]] = {
    "number": _is_number,
    "amount": lambda v: _is_number(v, 0),
    "share": lambda v: _is_number(v, 0, 1),
    "level": lambda v: _is_number(v, 0, 1) and v not in (0, 1),
    "looks": lambda v: _is_number(v, 1) and v != 1,
    "log": lambda v: _is_number(v, 0, MOST_EVIDENCE),
    "sums": lambda v: _are(v, "number", "number", "number"),
    "side": lambda v: v in (1, -1),
    "whole": lambda v: type(v) is int and 0 <= v < 2**62,
    "text": lambda v: isinstance(v, str),
    "plain": lambda v: isinstance(v, (str, bool, int, float)),
    "look": lambda v: not _unlike(v, _LOOK),
    "told": lambda v: not _unlike(v, "name text, sums sums, gains [number]"),
    "batch": lambda v: not _unlike(v, "mark text, counts counts?"),
    "counts": _is_counts,
    "recent": _is_recent,
    "rows": _equal_rows,
    "labels": lambda v: _are(v, "whole", "whole"),
    # a tally that waits for the other class, or batches of verdicts
    "waiting": lambda v: _is_counts(v) or _is(v, "[verdicts]"),
    "verdicts": lambda v: _are(v, "text?", "{verdict}"),
    "verdict": lambda v: _are(v, "[number?]", "whole"),
}
