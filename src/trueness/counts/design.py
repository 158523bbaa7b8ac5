"""How were the cases sampled?

Five design arguments say it, once, when cases are counted: ``weight`` and ``cluster``
are kept in the counts themselves; ``sampling``, ``prevalence`` and ``unlabelled`` are a
:class:`Design` beside them. No analysis has these arguments in its own signature: the
decorator of ``answers.py`` reads them, and ``inference`` turns them into intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, final

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described
from trueness._core.imports import HigherFunction
from trueness.counts.expected_labels import (
    ExpectedLabels,
    LabelMap,
    LabelSample,
    Unlabelled,
)

# the default map of expected labels, fitted to labelled reference cases
FIT_LABEL_MAP: HigherFunction[Callable[[Any], LabelMap]] = HigherFunction(
    "fit_label_map"
)

COHORT, CASE_CONTROL = "cohort", "case-control"
LEFT_OUT, AT_RANDOM = "left out", "missing at random"


@final
@dataclass(frozen=True)
class Design:
    """How were the cases drawn, and about which population is the answer?

    Attributes
    ----------
    sampling : str
        ``"cohort"``: cases drawn regardless of their labels. ``"case-control"``: a
        fixed number of each class, so that the proportion of positives says nothing.
    prevalence : float or None
        The proportion of positives in the target population; that of the cases when
        None.
    unlabelled : str or ExpectedLabels
        Cases without a label are ``"left out"``, or ``"missing at random"`` given the
        score: whether a case was labelled depended on its score and nothing else that
        goes with the truth; or a calibration map of this score says how probable each
        label is.
    """

    sampling: str = COHORT
    prevalence: float | None = None
    unlabelled: str | ExpectedLabels | LabelSample = LEFT_OUT

    def __post_init__(self) -> None:
        """Check the arguments."""
        _options.choice(self.sampling, (COHORT, CASE_CONTROL), "sampling")
        object.__setattr__(self, "unlabelled", _read_unlabelled(self.unlabelled))
        if isinstance(self.prevalence, (tuple, list)):
            raise InputError(
                f"prevalence must be one proportion; found {self.prevalence!r}. Only "
                "best_threshold takes a range.",
                example=PythonCode("best_threshold(..., prevalences=(0.01, 0.05))"),
            )

        if self.prevalence is not None:
            prevalence = _options.fraction(self.prevalence, "prevalence")
            object.__setattr__(self, "prevalence", prevalence)
        if self.expects_labels:
            _check_map_alone(self)

    @property
    def expects_labels(self) -> bool:
        """Return whether a map says how likely cases without a label are positive."""
        return isinstance(self.unlabelled, (ExpectedLabels, LabelSample))

    @property
    def stratified(self) -> bool:
        """Return whether labelled cases were drawn at random within bands of scores."""
        return isinstance(self.unlabelled, LabelSample)

    @property
    def fixed_classes(self) -> bool:
        """Return whether the design fixes the numbers of positives and negatives."""
        return self.sampling == CASE_CONTROL or self.prevalence is not None

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments that state this design, by their names."""
        return {name: getattr(self, name) for name in ARGUMENTS}

    def with_arguments(self, arguments: dict[str, Any]) -> Design:
        """Return the design with other arguments; None leaves one as it is."""
        stated = {name: value for name, value in arguments.items() if value is not None}
        return replace(self, **stated)

    def __add__(self, other: Design) -> Design:
        """Return the design of two parts of one sample, which must agree."""
        for name in ARGUMENTS:
            own_value = getattr(self, name)
            other_value = getattr(other, name)
            if own_value != other_value:
                raise InputError(
                    "Counts can be added when their sampling designs are the same; "
                    f"found {name} {own_value!r} and {other_value!r}. Declare one "
                    "design for both.",
                    example=PythonCode(f"t.with_design({name}=...)"),
                )

        return self


def _read_unlabelled(unlabelled: Unlabelled) -> str | ExpectedLabels | LabelSample:
    """Return how unlabelled cases count: a word, expected labels, or a label sample."""
    if isinstance(unlabelled, str):
        return str(_options.choice(unlabelled, (LEFT_OUT, AT_RANDOM), "unlabelled"))
    if isinstance(unlabelled, (ExpectedLabels, LabelSample)):
        return unlabelled

    # a plan of labels holds the sample that was drawn
    sample_of_plan = getattr(unlabelled, "sample", None)
    if isinstance(sample_of_plan, LabelSample):
        return sample_of_plan

    # a map of several scores has ``names``, and does not belong to a single score
    if isinstance(unlabelled, LabelMap) and not hasattr(unlabelled, "names"):
        return ExpectedLabels(unlabelled)
    if hasattr(unlabelled, "labelled") and hasattr(unlabelled, "score"):
        # a tally of labelled reference cases, to which the default map is fitted
        return ExpectedLabels(FIT_LABEL_MAP.load()(unlabelled))

    raise InputError(
        f'unlabelled must be "{LEFT_OUT}", "{AT_RANDOM}" or a calibration map that '
        f"was fitted on labelled reference cases; found {described(unlabelled)}. "
        "Without such cases nothing shows whether a score is a probability.",
        option="unlabelled",
    )


def _check_map_alone(design: Design) -> None:
    """Stop at a design that contradicts the probabilities of a map."""
    if design.prevalence is not None:
        raise InputError(
            "A prevalence cannot be combined with a map of expected labels, which "
            "already determines the prevalence. Leave one of them out.",
            example=PythonCode("trueness.at_prevalence(map, old, new)"),
        )
    if design.sampling == CASE_CONTROL:
        raise InputError(
            "Case-control sampling cannot be combined with a map of expected labels: "
            "cases without a label were not drawn by their label.",
            option="sampling",
        )


PLAIN = Design()
# the arguments of a design, without those that are kept in the counts
ARGUMENTS = tuple(field.name for field in fields(Design))


_LIKELIHOOD = "Its likelihood assumes independent cases of equal weight."
_RANKS = "It is fitted to the ranks of individual cases."
_EXACT = "Its bound is exact for a number of independent cases."
_FOLDS = "It divides whole cases into folds."
_ONE_BY_ONE = "Its evidence is a product over individual cases in sequence."
_MOMENTS = "Its moments assume independent cases."
_COUNTED = "It counts, or draws, cases whose label is known."
_TOTALS = "It adds up groups, each with its own prevalence."
_ESTIMATED = "It estimates the prevalence of the cases as they were sampled."
_STUDY = "It treats readers and cases as a sample, whatever the prevalence."
_ITEMS = "It counts items and pairs of ratings, each once."
_RATED = "It compares ratings with each other and uses no labels."
_WHOLE = "It counts whole cases. Find the best threshold with the method sweep."
_CIRCULAR = (
    "Labels expected from a map always agree with that map: the answer would be "
    "circular."
)
_VOTES = "A panel has no single score on which missing labels could depend."

_REFUSED = (
    ("fermi_dirac midranks fidel wisdom_of_crowds", "weight cluster", _RANKS),
    ("best_single compare_combiners calibration_gain", "weight cluster", _FOLDS),
    ("agreement", "weight cluster", _MOMENTS),
    ("latent_class plan_labels", "weight cluster", _LIKELIHOOD),
    ("prevalence compare_prevalence", "weight", _LIKELIHOOD),
    ("fit_binormal binormal_fit", "weight cluster unlabelled", _LIKELIHOOD),
    ("kl_divergence", "unlabelled", "Its histogram shows labelled cases."),
    ("fermi_dirac", "unlabelled", _RANKS),
    ("latent_class plan_labels prevalence compare_prevalence agreement leaves",
     "sampling prevalence", _ESTIMATED),
    ("summary_roc", "weight cluster sampling prevalence unlabelled", _LIKELIHOOD),
    ("guaranteed_threshold", "weight cluster unlabelled", _EXACT),
    ("validate_threshold best_thresholds cost_curve group_thresholds leaves "
     "reader_study", "unlabelled", _COUNTED),
    ("group_thresholds", "sampling prevalence", _TOTALS),
    ("leaves", "weight cluster", _EXACT),
    ("jeffreys_test", "weight cluster unlabelled", _LIKELIHOOD),
    ("jeffreys_test", "sampling prevalence", _ESTIMATED),
    ("reader_study", "weight sampling prevalence", _STUDY),
    ("rater_agreement", "weight", _ITEMS),
    ("rater_agreement", "sampling prevalence", _RATED),
    ("watch", "weight cluster", _ONE_BY_ONE),
    ("compare_auc compare_metric compare dominates", "unlabelled", _VOTES),
    ("calibration_error calibration_index calibration_test calibration_gain "
     "calibration_verdict reliability indeterminate_results", "unlabelled",
     "It counts labelled cases."),
    ("milp_program", "weight unlabelled", _WHOLE),
    ("calibrate calibration_line calibration_error calibration_index calibration_test "
     "calibration_gain calibration_verdict reliability", "expected", _CIRCULAR),
    ("watch", "expected", _ONE_BY_ONE),
)  # fmt: skip
# from an analysis to the design arguments that it cannot use, and why
CANNOT: dict[str, dict[str, str]] = {}
for _names, _arguments, _why in _REFUSED:
    for _name in _names.split():
        CANNOT.setdefault(_name, {}).update(dict.fromkeys(_arguments.split(), _why))
