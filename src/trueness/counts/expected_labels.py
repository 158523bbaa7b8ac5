"""Expected labels: the probability of a label, where the labels are not known.

A case without a label counts as positive with the probability that a label map assigns
to its score. ``ExpectedLabels`` is what ``unlabelled=`` of a sampling design keeps: the
map, and whether the answer is about the process that the cases were drawn from or about
these very cases. What a map must offer is a ``LabelMap``; the maps themselves are in
the room ``calibration``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, final, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Record

# what an answer from expected labels is about
PROCESS = "process"
THESE_CASES = "these cases"
TARGETS = (PROCESS, THESE_CASES)


@final
@dataclass(frozen=True, repr=False, eq=False)
class Reference(Record):
    """The labelled cases that a map was fitted on, as far as an interval needs them.

    Attributes
    ----------
    negatives, positives
        The effective numbers of reference cases of each class.
    lowest, highest
        The range of their scores.
    date
        The day of the fit, such as ``"2026-11-18"``.
    covariance : array
        Of the parameters of the map, in a form that the map knows.
    """

    negatives: float
    positives: float
    lowest: float
    highest: float
    date: str
    covariance: Floats

    def __post_init__(self) -> None:
        """Make the covariance constant."""
        covariance = np.array(self.covariance, dtype=np.float64)
        covariance.flags.writeable = False
        object.__setattr__(self, "covariance", covariance)

    @property
    def degrees_of_freedom(self) -> float:
        """Return the degrees of freedom of the covariance, from the rarer class."""
        return max(1.0, min(self.negatives, self.positives) - 1)


@runtime_checkable
class LabelMap(Protocol):
    """A fitted map from score to the probability of a positive label."""

    @property
    def reference(self) -> Reference | None:
        """Return the cases that it was fitted on; None where that is not known."""

    def __call__(self, score: ArrayLike) -> Floats:
        """Return the probability at each score."""

    def error_variance(self, score: Floats, by_log_odds: Floats) -> float:
        """Return the variance of a value that is due to the error of the map.

        ``by_log_odds`` is how far the log odds at each score move the value; NaN where
        the map does not know its own error.
        """

    def error_draws(
        self, score: Floats, n_draws: int, rng: np.random.Generator
    ) -> Floats | None:
        """Return errors (n_draws, m) of the log odds; None where they are not known."""


@final
@dataclass(frozen=True, repr=False, eq=False)
class ExpectedLabels(Record):
    """Cases without a label count with the probability that a map assigns to them.

    Parameters
    ----------
    map
        A calibration map of this score, fitted on labelled reference cases:
        ``trueness.calibrate(reference, method="pooled-bins")``.
    target
        ``"process"``: the estimate is for the process that these cases were drawn from.
        ``"these cases"``: it is for the labels that these cases will have.
    has_value
        Is there a value? Without labels, where classifiers may make the same errors,
        there is an interval only (:meth:`trueness.Panel.expected`).

    Examples
    --------
    >>> import trueness
    >>> reference = trueness.Tally([0.9, 0.1], neg=[10, 90], pos=[90, 10])
    >>> label_map = trueness.calibrate(reference, method="pooled-bins")
    >>> today = trueness.Tally([0.9, 0.1], unknown=[50, 50])
    >>> labels = ExpectedLabels(label_map, target="these cases")
    >>> round(trueness.auc(today.with_design(unlabelled=labels)).value, 2)
    0.9
    """

    map: Any
    target: str = PROCESS
    has_value: bool = True

    def __post_init__(self) -> None:
        """Check the target."""
        _options.choice(self.target, TARGETS, "target")

    def to_dict(self) -> dict[str, Any]:
        """Return what the labels are expected from; the map has a file of its own."""
        content: dict[str, Any] = {
            "map": type(self.map).__name__,
            "target": self.target,
        }
        reference: Reference | None = self.map.reference
        if reference is not None:
            content["fitted"] = reference.date
            content["reference_positives"] = reference.positives
            content["reference_negatives"] = reference.negatives

        return content


@final
@dataclass(frozen=True, repr=False, eq=False)
class LabelSample(Record):
    """How labelled cases were drawn: at random within bands of scores.

    ``plan.sample`` of :func:`trueness.plan_labels` returns it; pass it as
    ``unlabelled=``.

    Parameters
    ----------
    edges : array
        The lowest score of each band but the lowest one, ascending.
    sizes : array
        How many cases each band has, with a label or without.
    target
        ``"process"`` or ``"these cases"``, as in :class:`ExpectedLabels`.
    map
        The map behind the plan, whose expected labels are compared with the actual
        ones.
    """

    edges: Floats
    sizes: Floats
    target: str = PROCESS
    map: Any = None

    def __post_init__(self) -> None:
        """Check the target, and make the arrays constant."""
        _options.choice(self.target, TARGETS, "target")
        for name in ("edges", "sizes"):
            values = np.array(getattr(self, name), dtype=np.float64)
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    @classmethod
    def from_drawn_cases(
        cls,
        score: ArrayLike,
        stratum: ArrayLike,
        probability: ArrayLike,
        *,
        target: str = PROCESS,
    ) -> LabelSample:
        """Return the bands of a sample, from the strata and probabilities of its cases.

        The size of a stratum is the number of drawn cases over their probability.
        Strata are bands of scores that do not overlap.
        """
        scores = np.asarray(score, np.float64)
        chances = np.asarray(probability, np.float64)
        names, member = np.unique(np.asarray(stratum), return_inverse=True)
        member = member.reshape(-1)
        drawn = np.bincount(member).astype(np.float64)
        mean_chance = np.bincount(member, chances) / drawn
        lowest = np.array([scores[member == k].min() for k in range(names.size)])
        highest = np.array([scores[member == k].max() for k in range(names.size)])

        order = np.argsort(lowest)
        # bands from the lowest to the highest: each must end below the next
        overlap = highest[order][:-1] >= lowest[order][1:]
        if overlap.any() or not ((chances > 0) & (chances <= 1)).all():
            raise InputError(
                "Strata of a label sample are bands of scores without overlap, with "
                "probabilities above 0 and at most 1.",
                option="unlabelled",
            )

        sizes = np.rint(drawn / mean_chance)
        return cls(lowest[order][1:], sizes[order], target)

    def band_of(self, score: ArrayLike) -> Any:
        """Return the number of the band of each score, 0 for the lowest one."""
        return np.searchsorted(self.edges, np.asarray(score, np.float64), side="right")


class HasLabelSample(Protocol):
    """A plan of labels, which says how they were drawn."""

    @property
    def sample(self) -> LabelSample:
        """Return the bands of scores within which cases were drawn."""


class ReferenceCases(Protocol):
    """Counts of labelled cases, to which a map can be fitted: a tally."""

    @property
    def score(self) -> Floats:
        """Return the distinct scores."""

    @property
    def labelled(self) -> Any:
        """Return the cases with a label."""


_UnlabelledCases: TypeAlias = (
    str | LabelMap | ExpectedLabels | LabelSample | HasLabelSample | ReferenceCases
)

Unlabelled: TypeAlias = _UnlabelledCases | Mapping[Any, _UnlabelledCases]
"""What cases without a label count for: a word, a map, a plan; one for each group."""
