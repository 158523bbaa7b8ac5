"""Which fields of a record does ``--json`` write? ``_schema`` describes the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

POINT = (
    *("threshold", "score_range", "objective", "value", "constraints", "binding"),
    *("score_ranges", "prevalence", "method", "notes"),
)
# every key of an answer about a threshold; null where there is nothing to say
CUT = (
    *POINT,
    *("confusion", "metrics", "estimates", "validation", "guarantee", "zones"),
    "group_cuts",
)
VALIDATION = (
    *("thresholds", "corrected", "optimism", "metrics", "holds", "failed"),
    *("prevalence", "notes"),
)
GAIN = ("before", "in_sample", "cross_fitted", "gain")
OMNIBUS = ("statistic", "df", "p_value")
DOMINANCE = (
    *("verdict", "p_value", "p_better", "p_worse", "range_better", "range_worse"),
    *("fpr_better", "fpr_worse", "surely_better", "surely_worse", "margin"),
)
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
