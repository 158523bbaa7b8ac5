"""How is a watch kept? One JSON file, or one Parquet file, whole or not at all.

The Parquet file has a row for each look, which any program can read, and in its
metadata everything that is needed to go on; the JSON file has both in one object.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness.data.storage import read_columns, replacing, write_columns

VERSION = 2
_TABLES = (".parquet", ".pq")
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
    newer = isinstance(version, int) and version > VERSION
    needed = {"about", "groups"} if known and "groups" in held else {"about", "state"}
    if not newer and not (known and {*needed, "version"} <= held.keys()):
        raise InputError(f"{os.fspath(path)} is not the state of a watch.")
    if newer:
        raise InputError(
            f"{os.fspath(path)} was written by a newer Trueness. Upgrade with pip "
            f"install -U trueness."
        )
    return dict(held)


def _read(path: str | os.PathLike[str]) -> Any:
    try:
        if Path(path).suffix.lower() in _TABLES and Path(path).is_file():
            return read_columns(path, "watch")[1].get("watch")
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except InputError:
        raise InputError(f"{os.fspath(path)} is not the state of a watch.") from None
    except FileNotFoundError:
        raise InputError(f"There is no file {os.fspath(path)} with a watch.") from None
    except OSError as err:
        raise InputError(f"{os.fspath(path)} cannot be read: {err}.") from None
    except ValueError:
        raise InputError(f"{os.fspath(path)} is not the state of a watch.") from None
