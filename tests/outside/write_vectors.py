"""What every make.py shares: vectors are collected, then written as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Vectors:
    """Vectors of one suite; an input "$name" is the column of that name of ``data``."""

    def __init__(self, data: dict[str, Any] | None = None) -> None:
        self.data = data or {}
        self.rows: list[dict[str, Any]] = []

    def add(
        self, call: str, inputs: dict[str, Any], number: float, digits: int = 12
    ) -> None:
        vector = {
            "call": call,
            "inputs": inputs,
            "number": float(number),
            "digits": digits,
        }
        self.rows.append(vector)

    def write(self, script: str, differs: tuple[str, ...] = (), **about: str) -> None:
        """Write vectors.json beside the script, a line for each vector."""
        head = {**about, "differs": list(differs), "made_by": Path(script).name}
        columns = ",\n ".join(
            f"{json.dumps(name)}: {json.dumps(column)}"
            for name, column in self.data.items()
        )
        vectors = ",\n ".join(json.dumps(row) for row in self.rows)
        text = (
            json.dumps(head, ensure_ascii=False, indent=1)[:-2]
            + f',\n "data": {{{columns}}},\n "vectors": [\n {vectors}]\n}}\n'
        )
        Path(script).with_name("vectors.json").write_text(text)
