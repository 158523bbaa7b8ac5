"""The state of a watch, and its file.

A watch is kept in one file, whole or not at all: JSON, or Parquet with a row for each
look, and in its metadata all that is needed to go on.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.files import replacing
from trueness.data.storage import read_columns, write_columns
from trueness.monitoring.state_shapes import NUMBERS_OF_LOOK, first_misshapen


class WatchQuestion(TypedDict):
    """The question of a watch, in the form of JSON."""

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
    """The data of a watch so far, in the form of JSON."""

    n: float  # observations; below, their sum and the sum of their squares
    total: float
    squares: float
    peak: float  # the largest log evidence
    looks: int
    informative: int  # looks with observations
    since: str | None  # the batch of the alarm
    log_m: list[list[float]] | None  # the log capital of each bet
    history: list[dict[str, Any]]
    recent: list[dict[str, Any]]
    batches: dict[str, Any]
    waiting: Any
    baseline: Any
    seen: Any
    labels: dict[str, list[int]]


VERSION = 1
_TABLE_SUFFIXES = (".parquet", ".pq")


def write_state(
    content: dict[str, Any], looks: list[dict[str, Any]], path: str | os.PathLike[str]
) -> None:
    """Write the content of a watch, as a table or as JSON by the ending of the name."""
    stamped = {"trueness": "watch", "version": VERSION, **content}

    if Path(path).suffix.lower() in _TABLE_SUFFIXES:
        metadata = {"kind": "watch", "watch": stamped}
        write_columns(_columns_of_looks(looks), metadata, path)
        return

    text = json.dumps(stamped)

    with replacing(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")


def _columns_of_looks(looks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the history of a watch as columns, with NaN or "" for None."""
    columns: dict[str, Any] = {}
    for name in NUMBERS_OF_LOOK:
        numbers = [np.nan if look[name] is None else look[name] for look in looks]
        columns[name] = np.array([float(number) for number in numbers])

    for name in ("name", "group"):
        texts = [str(look.get(name) or "") for look in looks]
        columns[name] = np.array(texts, dtype=str)

    return columns


def read_state(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of the file of a watch, checked."""
    file = _options.file_path(path, "load_watch")
    content = _read_content(file)
    if not isinstance(content, dict) or content.get("trueness") != "watch":
        raise InputError(f"{file} is not the state of a watch.")

    version = content.get("version")
    if "about" not in content or not isinstance(version, int):
        raise InputError(f"{file} is not the state of a watch.")

    if version > VERSION:
        raise InputError(
            f"{file} was written by a newer Trueness. Upgrade it (pip install -U "
            "trueness)."
        )

    misshapen = first_misshapen(content)
    if misshapen:
        raise InputError(
            f"{file} is the state of a watch, but {misshapen} is missing or not what a "
            "watch writes. Restore the file from a copy, or begin a new watch in "
            "another file."
        )

    return dict(content)


def _read_content(file: Path) -> Any:
    """Return the JSON of a file, or in the metadata of a table; None if unreadable."""
    try:
        if file.suffix.lower() in _TABLE_SUFFIXES and file.is_file():
            _, metadata = read_columns(file, "watch")
            return metadata.get("watch")
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no file {file} with a watch.") from None
    except OSError as err:
        raise InputError(f"{file} cannot be read: {err}.") from None
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None  # InputError is a ValueError
