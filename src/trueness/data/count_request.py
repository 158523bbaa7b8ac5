"""How are cases counted? The arguments of ``tally`` and ``panel`` as one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from trueness._core.checks.errors import InputError


@final
@dataclass(frozen=True)
class CountRequest:
    """What ``tally`` and ``panel`` are told beside labels and scores.

    Of a frame ``label``, ``score``, ``count``, ``weight``, ``cluster`` and ``by`` name
    columns; of arrays the last four are columns themselves.
    """

    kind: str  # "tally" or "panel"
    label: str | None = None
    score: str | None = None  # of a tally
    positive: Any = None
    count: Any = None
    weight: Any = None
    cluster: Any = None
    by: Any = None
    at_most: int | None = None  # rows of a tally
    missing_scores: str = "refuse"
    decimal: str | None = None

    # how a message calls the labels, and each column of scores
    labels_called: str = "y_true"
    score_called: str = "{}"

    @property
    def is_panel(self) -> bool:
        """Are several classifiers counted together?"""
        return self.kind == "panel"


def one_weight(weight: object, sample_weight: object) -> object:
    """Return the weights, which have two names."""
    if weight is not None and sample_weight is not None:
        raise InputError(
            "weight and sample_weight mean the same. Leave one of them out.",
            option="weight",
        )
    return sample_weight if weight is None else weight


def stated_design(
    sampling: str | None, prevalence: float | None, unlabelled: object
) -> Mapping[str, Any]:
    """Return the arguments of the sampling design that were stated."""
    design = {
        "sampling": sampling,
        "prevalence": prevalence,
        "unlabelled": unlabelled,
    }
    return {name: value for name, value in design.items() if value is not None}
