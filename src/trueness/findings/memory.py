"""What was worked out so far? Answers about the same counts, each worked out once.

Several questions of a page need the same answers: the classifiers in order, their
curves, the steps of the slider. A ``Memory`` keeps each of them by what it depends on,
and may be shared by requests about the same counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar, final

from trueness._core.figures import Bars, Curves
from trueness._core.records import Estimate
from trueness.counts.values import Tally
from trueness.findings.request import Precision, ThresholdChoice

if TYPE_CHECKING:  # what is remembered is made elsewhere, where it is asked for
    from trueness.findings.meaning import Meaning
    from trueness.findings.slider_steps import Steps
    from trueness.threshold.guarantees import GuaranteedThreshold
    from trueness.threshold.operating_point import OperatingPoint
    from trueness.threshold.rule import AtThreshold
    from trueness.threshold.validation import Validation

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")
ScoreMeasures = dict[str, Estimate | None]  # the measures of one score, by their names
# what a threshold is worth on new cases
ThresholdEvaluation: TypeAlias = "Validation | AtThreshold | None"


@final
@dataclass(frozen=True)
class Model:
    """A classifier: its name as shown and as given, its tally and its threshold."""

    name: str
    key: str
    tally: Tally
    auc: Estimate
    point: OperatingPoint
    feasible: bool = True  # can the constraints be met?

    @property
    def is_probability(self) -> bool:
        """Return whether the scores could be probabilities."""
        return could_be_probabilities(self.tally)


def could_be_probabilities(tally: Tally) -> bool:
    """Return whether all scores lie between 0 and 1."""
    return bool(tally.score[-1] >= 0 and tally.score[0] <= 1)


@final
@dataclass(frozen=True)
class ScoreAtLevel:
    """Measures of a score depend on its name and on the level of their intervals."""

    score: str
    level: float


@final
@dataclass(frozen=True)
class ScoreWithBands:
    """The calibration of a score depends on how precisely its bands are drawn."""

    score: str
    precision: Precision


@final
@dataclass(frozen=True)
class ScoreAtThreshold:
    """The steps of a slider depend on the threshold that one of them is."""

    score: str
    choice: ThresholdChoice


@final
@dataclass(frozen=True)
class ModelOrder:
    """The order of classifiers depends on what their thresholds are chosen by."""

    level: float
    seed: str
    choice: ThresholdChoice


@final
@dataclass(frozen=True)
class ValidatedChoice:
    """The worth of a threshold depends on its choice and on the bootstrap."""

    score: str
    level: float
    seed: str
    choice: ThresholdChoice


@final
@dataclass(frozen=True)
class CurveDrawing:
    """Curves of all classifiers; None for what a kind of curve does not depend on."""

    kind: str
    precision: Precision | None = None
    level: float | None = None
    costs: tuple[float, float] | None = None


@final
class RememberedAnswers(Generic[Key, Answer]):
    """Answers to one question, by what they depend on."""

    def __init__(self) -> None:
        self._answers: dict[Key, Answer] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._answers

    def get_or_compute(self, key: Key, work_out: Callable[[], Answer]) -> Answer:
        """Return an answer, which is worked out the first time."""
        if key not in self._answers:
            self._answers[key] = work_out()
        return self._answers[key]

    def get(self, key: Key) -> Answer | None:
        """Return an answer if it is there."""
        return self._answers.get(key)

    def keep(self, key: Key, answer: Answer) -> None:
        """Remember an answer that was worked out elsewhere."""
        self._answers[key] = answer


@final
@dataclass(frozen=True)
class Memory:
    """All that was worked out about the same counts."""

    # of the counts alone: there is one of each
    tallies: RememberedAnswers[None, Mapping[str, Tally]] = field(
        default_factory=RememberedAnswers
    )
    histograms: RememberedAnswers[None, Bars] = field(default_factory=RememberedAnswers)

    areas: RememberedAnswers[ScoreAtLevel, Estimate] = field(
        default_factory=RememberedAnswers
    )
    measures: RememberedAnswers[ScoreAtLevel, ScoreMeasures] = field(
        default_factory=RememberedAnswers
    )
    models: RememberedAnswers[ModelOrder, list[Model]] = field(
        default_factory=RememberedAnswers
    )
    validations: RememberedAnswers[ValidatedChoice, Validation | None] = field(
        default_factory=RememberedAnswers
    )
    guarantees: RememberedAnswers[ValidatedChoice, GuaranteedThreshold] = field(
        default_factory=RememberedAnswers
    )
    meanings: RememberedAnswers[ScoreWithBands, Meaning | None] = field(
        default_factory=RememberedAnswers
    )
    steps: RememberedAnswers[ScoreAtThreshold, Steps] = field(
        default_factory=RememberedAnswers
    )
    curves: RememberedAnswers[CurveDrawing, Curves] = field(
        default_factory=RememberedAnswers
    )

    def reuse_bands(
        self,
        of_full_look: Precision,
        for_first_look: Precision,
        scores: tuple[str, ...],
    ) -> None:
        """Let a first look, which draws no bands, take those that are there already."""
        for kind in ("roc", "precision_recall"):
            curves = self.curves.get(CurveDrawing(kind, of_full_look))
            if curves is not None:
                self.curves.keep(CurveDrawing(kind, for_first_look), curves)

        for score in scores:
            full = ScoreWithBands(score, of_full_look)
            if full in self.meanings:
                meaning = self.meanings.get(full)
                self.meanings.keep(ScoreWithBands(score, for_first_look), meaning)
