"""How are cases counted? The arguments of ``tally`` and ``panel`` as one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from trueness._core.checks.errors import InputError
from trueness._core.data_types import Column, LabelValue
from trueness.counts.counting import Weights
from trueness.counts.expected_labels import Unlabelled


@final
@dataclass(frozen=True)
class CountRequest:
    """Arguments of ``tally`` and ``panel`` beside labels and scores.

    Of a frame ``label``, ``score``, ``count``, ``weight``, ``cluster`` and ``by`` name
    columns; of arrays the last four are columns themselves.
    """

    kind: str  # "tally" or "panel"
    label: str | None = None
    score: str | None = None  # of a tally
    positive: LabelValue = None
    count: Column | None = None
    # an engine has added up the weights of its rows
    weight: Column | Weights | None = None
    cluster: Column | None = None
    by: Column | None = None
    at_most: int | None = None  # rows of a tally
    missing_scores: str = "refuse"
    decimal: str | None = None

    # how a message calls the labels, and each column of scores
    labels_called: str = "y_true"
    score_called: str = "{}"

    @property
    def is_panel(self) -> bool:
        """Return whether several classifiers are counted together."""
        return self.kind == "panel"


def one_weight(weight: Column | None, sample_weight: Column | None) -> Column | None:
    """Return the weights, which have two names."""
    if weight is not None and sample_weight is not None:
        raise InputError(
            "weight and sample_weight mean the same. Leave one of them out.",
            option="weight",
        )
    return sample_weight if weight is None else weight


def stated_design(
    sampling: str | None, prevalence: float | None, unlabelled: Unlabelled | None
) -> Mapping[str, Any]:
    """Return the arguments of the sampling design that were stated."""
    design = {
        "sampling": sampling,
        "prevalence": prevalence,
        "unlabelled": unlabelled,
    }
    return {name: value for name, value in design.items() if value is not None}
