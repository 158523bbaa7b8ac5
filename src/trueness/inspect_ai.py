"""How do pass rates with limits get into Inspect? Metrics that an eval can name.

Inspect finds this module by its entry point. In a task:

    from inspect_ai.scorer import match
    from trueness.inspect_ai import pass_rate

    Task(dataset, solver, scorer=match(), metrics=[pass_rate(cluster="passage")])

The metric is a value with its confidence interval; the item is the sampling unit,
however many epochs there are, and items with the same metadata ``cluster`` belong
together. Inspect takes means over epochs before its metrics see them; ``trueness evals
LOG`` counts attempts.
"""

from __future__ import annotations

import math
from typing import Any

from trueness._core.checks.errors import InputError
from trueness._core.imports import required as _required
from trueness.evals.attempts import mean_of_items

_required("inspect_ai", "inspect")
from inspect_ai.scorer import (  # noqa: E402
    Metric,
    SampleScore,
    Value,
    metric,
    value_to_float,
)


@metric  # type: ignore[untyped-decorator]  # Inspect is not installed everywhere
def pass_rate(level: float = 0.95, cluster: str | None = None) -> Metric:
    """Pass rate of a system, with a confidence interval over items.

    Parameters
    ----------
    level
        Confidence level of the interval.
    cluster
        Key of the metadata of a sample that says which items belong together.
    """
    number = value_to_float()

    def compute(scores: list[SampleScore]) -> Value:
        if not scores:  # Inspect asks before the first sample is scored
            return dict.fromkeys(("pass_rate", "low", "high"), math.nan)

        values = [number(s.score.value) for s in scores]
        items = [str(k if s.sample_id is None else s.sample_id)
                 for k, s in enumerate(scores)]  # fmt: skip
        groups = None if cluster is None else [_group(s, cluster) for s in scores]
        found = mean_of_items(values, items, groups, level=level)

        return {"pass_rate": found.value, "low": found.low, "high": found.high}

    return compute


def _group(score: SampleScore, key: str) -> str:
    noted: dict[str, Any] = score.sample_metadata or {}
    if key in noted:
        return str(noted[key])

    raise InputError(
        f"Sample {score.sample_id} has no metadata {key!r} for the clusters. It has "
        f"{', '.join(map(repr, noted)) or 'none'}.",
        option="cluster",
    )
