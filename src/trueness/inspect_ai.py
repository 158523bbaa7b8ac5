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
    as_number = value_to_float()

    def compute(scores: list[SampleScore]) -> Value:
        """Return the pass rate and the ends of its interval."""
        if not scores:  # Inspect asks before the first sample is scored
            return dict.fromkeys(("pass_rate", "low", "high"), math.nan)

        values = [as_number(sample.score.value) for sample in scores]
        items = []
        for place, sample in enumerate(scores):
            # a sample without a name is an item of its own
            items.append(str(place if sample.sample_id is None else sample.sample_id))

        groups = None
        if cluster is not None:
            groups = [_group(sample, cluster) for sample in scores]
        rate = mean_of_items(values, items, groups, level=level)

        return {"pass_rate": rate.value, "low": rate.low, "high": rate.high}

    return compute


def _group(score: SampleScore, key: str) -> str:
    """Return the cluster of a sample: the value of a key of its metadata."""
    noted: dict[str, Any] = score.sample_metadata or {}
    if key in noted:
        return str(noted[key])

    raise InputError(
        f"Sample {score.sample_id} has no metadata {key!r} for the clusters. It has "
        f"{', '.join(map(repr, noted)) or 'none'}.",
        option="cluster",
    )
