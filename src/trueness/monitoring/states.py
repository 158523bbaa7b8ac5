"""What is kept of a watch, and how is a file of it read?

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
_TABLE_SUFFIXES = (".parquet", ".pq")


def write_state(
    content: dict[str, Any], looks: list[dict[str, Any]], path: str | os.PathLike[str]
) -> None:
    """Write what a watch holds; the ending of the name decides how."""
    stamped = {"trueness": "watch", "version": VERSION, **content}
    if Path(path).suffix.lower() in _TABLE_SUFFIXES:
        metadata = {"kind": "watch", "watch": stamped}
        write_columns(_columns_of_looks(looks), metadata, path)
        return

    text = json.dumps(stamped)
    with replacing(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")


def _columns_of_looks(looks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the history of a watch as columns; what is None is NaN, or empty."""
    columns: dict[str, Any] = {}
    for name in NUMBERS_OF_LOOK:
        numbers = [np.nan if look[name] is None else look[name] for look in looks]
        columns[name] = np.array([float(number) for number in numbers])

    for name in ("name", "group"):
        texts = [str(look.get(name) or "") for look in looks]
        columns[name] = np.array(texts, dtype=str)

    return columns


def read_state(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a watch held, or say what is wrong with the file."""
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
    """Read JSON, or the metadata of a table; None where it holds nothing readable."""
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
