"""Which fields of a record does ``--json`` write?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

EQUALITY = ("statistic", "df1", "df2", "p_value")
STUDY = ("metric", "pairs", "components", "design", "assumed", "method", "notes")
COMBINATION = (
    *("criterion", "formula", "sensitivity", "specificity", "probability_best", "gap"),
)
RATE = (
    *("effective_judges", "labelled", "labels", "cases", "identified", "independent"),
    "notes",
)
TREE = ("n", "confidence", "utility")
LEAVES = ("wanted", "level", "method")


def fields_of(
    record: Any, names: Iterable[str], row: int | None = None
) -> dict[str, Any]:
    """Give some fields of a record, or with ``row`` that entry of each."""
    found = {name: getattr(record, name) for name in names}
    return found if row is None else {name: v[row] for name, v in found.items()}
