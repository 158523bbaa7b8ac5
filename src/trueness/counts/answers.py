"""Decorators that let an analysis of counts take data as people have them.

An analysis is a pure function of counts. One decorator, put on where it is defined,
lets it be asked about whatever people have:

===========================  =======================================================
asked about                  answered with
===========================  =======================================================
a tally                      the answer
labels and scores, a frame   the answer about their tally (``data/arguments.py`` counts)
several scores, a panel      a dict, from classifier to answer
a mapping of tallies         a dict, from group to answer
data with ``by=``            a dict, from group to answer, and "all cases"
scores on a GPU              the answer, made there (``gpu/answers.py``)
a binned tally               the answer with its bounds (``scale/certificates.py``)
===========================  =======================================================

It also reads the five arguments of the sampling design, and refuses those that an
analysis cannot use (``design.py``). ``of_tally`` is for analyses of one classifier,
``of_panel`` for those of several on the same cases, ``of_counts`` for figures and
reports, which take either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import reduce, wraps
from inspect import Parameter, Signature, signature
from operator import add
from typing import (
    Any,
    Concatenate,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    overload,
    runtime_checkable,
)

from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import (
    CleanedWarning,
    InputError,
    NotEnoughCases,
    UnsupportedDesign,
)
from trueness._core.checks.options import known_options, takes_them, yes_or_no
from trueness._core.data_types import Column, Frame, LabelValue
from trueness._core.imports import HigherFunction
from trueness._core.names import documented
from trueness._core.progress import stop_if_requested
from trueness._core.records import Answers
from trueness._core.warn import warn_user
from trueness.counts import design as _design
from trueness.counts.cases import add_as_clusters
from trueness.counts.design import CANNOT
from trueness.counts.expected_labels import Unlabelled
from trueness.counts.folds import Folds
from trueness.counts.groups import design_of_group, with_each_column
from trueness.counts.values import Panel, Tally

P = ParamSpec("P")
K = TypeVar("K")
D_contra = TypeVar("D_contra", contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
G_co = TypeVar("G_co", covariant=True)
D = TypeVar("D")
F = TypeVar("F", bound=Callable[..., Any])


Data = Tally | Panel | Mapping[Any, Tally] | Column | Frame | None
_One = Tally | Column | None
_Counted = Data | Mapping[Any, Panel]
_Scores = Mapping[Any, Column] | Column


class CountArguments(Protocol):
    """Count the data that an analysis was called with."""

    def __call__(
        self, name: str, takes: str, args: tuple[Any, ...], words: dict[str, Any]
    ) -> tuple[Any, tuple[Any, ...], tuple[str, ...], str]:
        """Return the counts, the arguments left, remarks, and the name of the score."""
        ...


class AnswerFolds(Protocol):
    """Answer an analysis, by its name, from the folds of a cross-validation."""

    def __call__(
        self,
        name: str,
        folds: Folds,
        others: tuple[Any, ...],
        options: Mapping[str, Any],
    ) -> Any:
        """Answer it."""


class AnswerBins(Protocol):
    """Answer an analysis from bins of scores, with bounds of the exact answer."""

    def __call__(
        self,
        analysis: Callable[..., Any],
        args: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """Answer it."""


COUNT_ARGUMENTS: HigherFunction[CountArguments] = HigherFunction("count_arguments")
ANSWER_FOLDS: HigherFunction[AnswerFolds] = HigherFunction("answer_folds")
ANSWER_BINS: HigherFunction[AnswerBins] = HigherFunction("answer_with_bounds")


@runtime_checkable
class CountsElsewhere(Protocol):
    """Counts that stay where they are, on a device, and answer there."""

    def answer_analysis(
        self,
        analysis: Callable[..., Any],
        other_arguments: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """Answer an analysis there."""


class _Decorated(Protocol):
    """What tests and other rooms read of a decorated function."""

    __name__: str
    takes: str

    @property
    def __wrapped__(self) -> Callable[..., Any]: ...


# Python's types cannot say "these options and those arguments", so own options (``P``)
# are checked in calls without an argument about the data; at run time all of them are.
# fmt: off
class OfTally(_Decorated, Protocol[P, R]):
    """An analysis of one classifier: an answer for each classifier and each group."""

    @overload  # "by" is never an option of its own
    def __call__(  # type: ignore[overload-overlap]
        self, x: Tally, /, *a: P.args, **own: P.kwargs) -> R: ...
    @overload
    def __call__(self, x: Panel, /, *a: P.args, **own: P.kwargs) -> dict[str, R]: ...
    @overload
    def __call__(
        self, x: Mapping[K, Tally], /, *a: P.args, **own: P.kwargs) -> dict[K, R]: ...
    @overload
    def __call__(
        self, y_true: Column | None, y_score: Column, /, *a: P.args, **own: P.kwargs
    ) -> R: ...
    @overload
    def __call__(
        self, y_true: Column | None, y_score: Mapping[K, Column], /, *a: P.args,
        **own: P.kwargs) -> dict[K, R]: ...
    @overload
    def __call__(self, x: Data, /, *a: Any, by: Column, **kw: Any) -> dict[Any, R]: ...
    @overload
    def __call__(self, x: Frame, /, *a: Any, score: str, **kw: Any) -> R: ...
    @overload
    def __call__(
        self, x: Frame, /, *a: Any, score: list[str], **kw: Any) -> dict[str, R]: ...
    @overload
    def __call__(
        self, x: Frame, /, *a: Any, scores: Sequence[str], **kw: Any
    ) -> dict[str, R]: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, positive: LabelValue, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, pos_label: LabelValue, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, count: Column, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, weight: Column, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, sample_weight: Column, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, cluster: Column | bool, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, sampling: str, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, prevalence: float, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, unlabelled: Unlabelled, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, at_most: int, **kw: Any) -> R: ...
    @overload  # numbers in place of cases
    def __call__(self, *, n: int, auc: float, **kw: Any) -> R: ...


class OfTallyWithMeasure(OfTally[P, R], Protocol):
    """An analysis of one classifier whose influence values are known."""

    measure: Callable[[Tally], Any]


class OfCounts(_Decorated, Protocol[D_contra, P, R_co, G_co]):
    """An analysis of several classifiers, a figure: one answer, and G for groups."""

    @overload
    def __call__(self, x: D_contra, /, *a: P.args, **own: P.kwargs) -> R_co: ...
    @overload
    def __call__(
        self, y_true: Column | None, scores: _Scores, /, *a: P.args, **own: P.kwargs
    ) -> R_co: ...
    @overload
    def __call__(
        self, y_true: Column | None, a: Column, b: Column, /, *c: Any, **kw: Any
    ) -> R_co: ...
    @overload
    def __call__(self, x: _Counted, /, *a: Any, by: Column, **kw: Any) -> G_co: ...
    @overload
    def __call__(
        self, x: Frame, /, *a: Any, score: str | list[str], **kw: Any) -> R_co: ...
    @overload
    def __call__(
        self, x: Frame, /, *a: Any, scores: Sequence[str], **kw: Any) -> R_co: ...
    @overload
    def __call__(
        self, x: _Counted, /, *a: Any, positive: LabelValue, **kw: Any) -> R_co: ...
    @overload
    def __call__(
        self, x: _Counted, /, *a: Any, pos_label: LabelValue, **kw: Any) -> R_co: ...
    @overload
    def __call__(self, x: _Counted, /, *a: Any, count: Column, **kw: Any) -> R_co: ...
    @overload
    def __call__(self, x: _Counted, /, *a: Any, weight: Column, **kw: Any) -> R_co: ...
    @overload
    def __call__(
        self, x: _Counted, /, *a: Any, sample_weight: Column, **kw: Any) -> R_co: ...
    @overload
    def __call__(
        self, x: _Counted, /, *a: Any, cluster: Column | bool, **kw: Any) -> R_co: ...
    @overload
    def __call__(self, x: _Counted, /, *a: Any, sampling: str, **kw: Any) -> R_co: ...
    @overload
    def __call__(
        self, x: _Counted, /, *a: Any, prevalence: float, **kw: Any) -> R_co: ...
    @overload
    def __call__(
        self, x: _Counted, /, *a: Any, unlabelled: Unlabelled, **kw: Any) -> R_co: ...
    @overload
    def __call__(self, x: _Counted, /, *a: Any, at_most: int, **kw: Any) -> R_co: ...
# fmt: on


# the group of all cases, in an answer by groups
WHOLE = "all cases"
# what help says of the parameters that every analysis has
_DATA = {
    "data": "A tally or a panel; labels and scores; or a frame, with ``label=`` and\n"
    "``score=``. Several classifiers or groups get one answer each, in a dict, unless\n"
    "the analysis compares them.",
    "y_score, label, score, scores, positive, count, by": "The scores, if ``data`` "
    "are labels; otherwise columns, the positive label and\ngroups, as in "
    ":func:`tally` and :func:`panel`.",
    "weight, cluster, sampling, prevalence, unlabelled": "Sampling design, as in "
    ":func:`tally`.",
}
_DOCUMENTED_ARGUMENTS = [name for line in [*_DATA][1:] for name in line.split(", ")]
# the arguments of ``tally`` and ``panel``, which go along with data
_DATA_ARGUMENTS = frozenset(
    [
        *_DOCUMENTED_ARGUMENTS,
        "y_true",
        "at_most",
        "pos_label",
        "sample_weight",
        "missing_scores",
        "decimal",
    ]
)


class _DesignPart(NamedTuple):
    """A part of a sampling design, for an analysis that cannot use it.

    Attributes
    ----------
    in_words : str
        What the analysis does not take.
    remedy : str
        What to do instead.
    holds : callable
        Does it hold for these counts?
    """

    in_words: str
    remedy: str
    holds: Callable[[Tally | Panel], bool]


_DESIGN_PARTS = {
    "weight": _DesignPart(
        "weights",
        "Leave the weights out. If each row represents several cases, name the "
        "column of their number as count.",
        lambda counts: counts.weighted,
    ),
    "cluster": _DesignPart(
        "clusters",
        "Leave the clusters out to treat the cases as independent.",
        lambda counts: counts.clusters is not None,
    ),
    "sampling": _DesignPart(
        "case-control sampling",
        "Leave it out for an answer about the sampled cases.",
        lambda counts: counts.design.sampling != _design.COHORT,
    ),
    "prevalence": _DesignPart(
        "a prevalence",
        "Leave it out to use the proportion of positives in the sample.",
        lambda counts: counts.design.prevalence is not None,
    ),
    "unlabelled": _DesignPart(
        "labels that are missing at random",
        "Leave this option out to use labelled cases only.",
        lambda counts: (
            counts.design.unlabelled != _design.LEFT_OUT and counts.n_unknown > 0
        ),
    ),
    "expected": _DesignPart(
        "expected labels (unlabelled set to a calibration map)",
        "Use labelled cases.",
        lambda counts: counts.labels_expected,
    ),
}


class _OpenedAnalysis:
    """An analysis, which parameters it has, and what it may be asked about.

    Attributes
    ----------
    takes : str
        "tally", "panel", or "counts" for either.
    name : str
        What people type after "trueness.".
    parameters : Mapping[str, Parameter]
        Its own parameters; the first one holds the counts.
    any_option : bool
        Does it take options of any name?
    counts_type : type, optional
        The type that its counts must have; None where there are several.
    """

    def __init__(self, analysis: Callable[..., Any], takes: str) -> None:
        self.analysis = analysis
        self.takes = takes
        self.name = getattr(analysis, "typed", analysis.__name__)
        self.parameters = signature(analysis).parameters
        self.any_option = any(
            parameter.kind is Parameter.VAR_KEYWORD
            for parameter in self.parameters.values()
        )
        self.first = next(iter(self.parameters))
        self.counts_type = _counts_type(self.parameters[self.first], takes)


def _counts_type(first: Parameter, takes: str) -> type | None:
    """Return the type that counts must have; comparisons may take two tallies."""
    # annotations are text where a module postpones their evaluation
    annotation = getattr(first.annotation, "__name__", first.annotation)
    if takes == "tally" or (takes == "counts" and annotation == "Tally"):
        return Tally
    if takes == "panel" and annotation == "Panel":
        return Panel
    return None


Analysis: TypeAlias = Callable[Concatenate[Tally, P], R]


@overload
def of_tally(analysis: Analysis[P, R], /) -> OfTally[P, R]: ...
@overload
def of_tally(
    *, measure: Callable[[Tally], Any]
) -> Callable[[Analysis[P, R]], OfTallyWithMeasure[P, R]]: ...
def of_tally(
    analysis: Analysis[P, R] | None = None,
    /,
    *,
    measure: Callable[[Tally], Any] | None = None,
) -> Any:
    """Let an analysis of a tally take data, panels, groups and binned tallies.

    ``measure`` returns the value with its influence values; ``estimate``, ``compare``
    and folds read it.
    """
    if analysis is not None:
        return _open(analysis, "tally")

    def decorate(analysis: Analysis[P, R]) -> Any:
        return measured_by(measure)(_open(analysis, "tally"))

    return decorate


def measured_by(measure: Callable[[Tally], Any] | None) -> Callable[[F], F]:
    """Return a decorator that adds the measure behind the interval of a statistic."""

    def decorate(statistic: F) -> F:
        vars(statistic)["measure"] = measure
        return statistic

    return decorate


def of_panel(
    analysis: Callable[Concatenate[D, P], R],
) -> OfCounts[D, P, R, dict[Any, R]]:
    """Let an analysis of a panel take data, and groups by ``by=``."""
    return cast("OfCounts[D, P, R, dict[Any, R]]", _open(analysis, "panel"))


def of_counts(analysis: Callable[Concatenate[D, P], R]) -> OfCounts[D, P, R, R]:
    """Let what takes a tally, a panel or groups of them take data too."""
    return cast("OfCounts[D, P, R, R]", _open(analysis, "counts"))


def whole_cases(analysis: Callable[P, R]) -> Callable[P, R]:
    """Let an analysis of counts refuse sampling designs that it cannot use."""

    @wraps(analysis)
    def call(*args: P.args, **options: P.kwargs) -> R:
        for argument in (*args, *options.values()):
            refuse(argument, analysis.__name__)
        return analysis(*args, **options)

    return call


def refuse(
    x: object,
    name: str,
    why: Mapping[str, str] | None = None,
    *,
    option: str | None = None,
    example: object = None,
) -> None:
    """Raise an error if an analysis cannot use the sampling design of counts.

    ``why`` maps a part of the design to the reason, by default as in ``CANNOT``.
    ``option`` and ``example`` name what could use these counts, such as another method;
    by default the error is about the design argument itself.
    """
    reasons = CANNOT.get(name) if why is None else why
    if not reasons:
        return

    if isinstance(x, Mapping):
        for counts in x.values():
            refuse(counts, name, reasons, option=option, example=example)
    if not isinstance(x, (Tally, Panel)):
        return

    refused = next((part for part in design_parts_of(x) if part in reasons), None)
    if refused is None:
        return

    argument = "unlabelled" if refused == "expected" else refused
    by_map = argument == "unlabelled" and x.labels_expected
    raise UnsupportedDesign(
        refusal(name, "expected" if by_map else refused, reasons[refused]),
        option=option or argument,
        example=example,
    )


def refusal(name: str, part_name: str, why: str) -> str:
    """Return the sentence that an analysis cannot use a part of the design."""
    part = _DESIGN_PARTS[part_name]
    subject = _SUBJECTS.get(name, name)
    return f"{subject} does not take {part.in_words}. {why} {part.remedy}"


# analyses that Python and shell call by different names
_SUBJECTS = {
    "best_thresholds": "A pair of thresholds",
    "calibration_gain": "Cross-fitting",
    "group_thresholds": "A threshold for each group",
    "guaranteed_threshold": "A guarantee",
    "latent_class": "A latent class model",
    "validate_threshold": "A validation",
}


def design_parts_of(x: Tally | Panel) -> list[str]:
    """Return the parts of ``_DESIGN_PARTS`` that hold for these counts."""
    parts = [name for name, part in _DESIGN_PARTS.items() if part.holds(x)]
    if x.labels_expected:
        # of several reasons the one about the map of labels comes first
        parts.reverse()

    return parts


def _open(analysis: Callable[..., Any], takes: str) -> Any:
    """Return a function that takes data and asks the analysis about their counts."""
    question = _OpenedAnalysis(analysis, takes)
    parameters = question.parameters
    boolean_options = [
        name
        for name, parameter in parameters.items()
        if parameter.annotation in ("bool", bool)
    ]

    @wraps(analysis)
    def call(*args: Any, **options: Any) -> Any:
        for name in boolean_options:
            if name in options:
                yes_or_no(options[name], name)

        # the shortcut of the most common case, which must cost nothing
        is_tally = args and type(args[0]) is Tally and takes != "panel"
        if is_tally and args[0].plain and options.keys() <= parameters.keys():
            try:
                return analysis(*args, **options)
            except TypeError:
                takes_them(analysis, args, options)
                raise

        return _answer(question, args, options)

    opened: Any = call
    opened.takes = takes
    opened.__signature__ = _signature(analysis, takes)
    opened.__doc__ = documented(analysis.__doc__, parameters, _DATA)
    return opened


def _signature(analysis: Callable[..., Any], takes: str) -> Signature:
    """Return the signature, with the arguments about the data after its options."""
    own = signature(analysis)
    first, *others = own.parameters.values()
    # comparisons take the scores of several classifiers second, by another name
    second_name = "scores" if takes == "panel" else "y_score"
    second = Parameter(second_name, Parameter.POSITIONAL_OR_KEYWORD, default=None)
    any_option = [
        parameter for parameter in others if parameter.kind is Parameter.VAR_KEYWORD
    ]
    own_options = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY)
        for parameter in others
        if parameter not in any_option
    ]

    hidden = {second_name, "y_score", *own.parameters}
    data_arguments = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None)
        for name in _DOCUMENTED_ARGUMENTS
        if name not in hidden
    ]
    parameters = [
        first.replace(annotation="Data"),
        second,
        *own_options,
        *data_arguments,
        *any_option,
    ]
    return own.replace(parameters=parameters)


def _answer(
    question: _OpenedAnalysis, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Return the answer about counts, or about data that are counted first."""
    stop_if_requested()
    if not args and question.first in options:
        args = (options.pop(question.first),)

    data_arguments = _pop_data_arguments(question, options)
    if not args and not data_arguments:
        # numbers in place of cases, as in auc(n=..., auc=...)
        takes_them(question.analysis, (), options)
        return question.analysis(**options)

    design = {
        name: data_arguments.pop(name)
        for name in _design.ARGUMENTS
        if name in data_arguments
    }
    data = args[0] if args else None
    if _needs_no_counting(data, data_arguments):
        counts = _add_design(question.name, data, data_arguments, design)
        return _ask(question, counts, args[1:], options)

    stated = {name: value for name, value in design.items() if value is not None}
    return _count_and_ask(question, args, data_arguments | stated, options)


def _pop_data_arguments(
    question: _OpenedAnalysis, options: dict[str, Any]
) -> dict[str, Any]:
    """Remove the arguments about the data from the options, and return them.

    Options that the analysis does not know are errors.
    """
    data_arguments = {
        name: options.pop(name)
        for name in [*options]
        if name in _DATA_ARGUMENTS and name not in question.parameters
    }
    if not question.any_option and not options.keys() <= question.parameters.keys():
        known_options(options, question.parameters, _DATA_ARGUMENTS, question.name)
    return data_arguments


def _needs_no_counting(data: object, data_arguments: Mapping[str, Any]) -> bool:
    """Return whether these are counts or other records, such as the curves of a plot.

    A mapping of columns is a frame, which must be counted.
    """
    if isinstance(data, Mapping):
        keys_are_clusters = data_arguments.get("cluster") is True
        return keys_are_clusters or (not data_arguments and _holds_answers(data))
    return type(data).__module__.startswith("trueness.") and not _has_scores(data)


def _count_and_ask(
    question: _OpenedAnalysis,
    args: tuple[Any, ...],
    data_arguments: dict[str, Any],
    options: dict[str, Any],
) -> Any:
    """Count data, and return the answer about the counts, or about each group."""
    counts, other_arguments, remarks, name_of_score = COUNT_ARGUMENTS.load()(
        question.name, question.takes, args, data_arguments
    )
    if name_of_score and "name" in question.parameters:
        options.setdefault("name", name_of_score)
    if remarks and "remarks" in question.parameters:
        # pages print the remarks themselves
        options.setdefault("remarks", remarks)
        remarks = ()

    if data_arguments.get("by") is None or question.takes == "counts":
        answer = _ask(question, counts, other_arguments, options)
    else:
        answer = _ask_of_groups(question, counts, other_arguments, options)

    return with_remarks(answer, remarks)


def _ask_of_groups(
    question: _OpenedAnalysis,
    counts_by_group: Mapping[Any, Any],
    other_arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> Answers:
    """Return the answers about each group, and about all cases."""
    if not counts_by_group:
        raise NotEnoughCases(
            f"{question.name} needs cases; found an empty mapping of groups."
        )

    parts = {**with_each_column(counts_by_group)}
    has_maps = any(
        getattr(counts, "labels_expected", False) for counts in counts_by_group.values()
    )
    if not has_maps:
        # where each group has a map of its own, no map is one of all cases
        parts[WHOLE] = reduce(add, counts_by_group.values())
    return Answers(
        {
            name: _ask(question, part, other_arguments, options)
            for name, part in parts.items()
        }
    )


def _has_scores(x: object) -> bool:
    """Return whether this is a classifier, which scores cases."""
    return hasattr(x, "predict_proba") or hasattr(x, "decision_function")


def _holds_answers(parts: Mapping[Any, Any]) -> bool:
    """Return whether a mapping holds counts or other records instead of columns."""
    are_columns = [
        hasattr(part, "__len__")
        and not isinstance(part, (str, bytes))
        and not type(part).__module__.startswith("trueness.")
        for part in parts.values()
    ]
    return not are_columns or not all(are_columns)


def with_remarks(answer: Any, remarks: tuple[str, ...]) -> Any:
    """Add remarks on the data to the notes of an answer; warn if it has no notes."""
    if not remarks:
        return answer
    if isinstance(answer, Mapping) and answer:
        return Answers(
            {name: with_remarks(part, remarks) for name, part in answer.items()}
        )
    if hasattr(answer, "with_remarks"):
        return answer.with_remarks(remarks)
    if is_dataclass(answer) and "notes" in {field.name for field in fields(answer)}:
        record: Any = answer
        return replace(record, notes=(*remarks, *record.notes))

    for remark in remarks:
        warn_user(remark, CleanedWarning)
    return answer


def _add_design(
    name: str, x: object, data_arguments: dict[str, Any], design: dict[str, Any]
) -> Any:
    """Return counts with the sampling design of a call."""
    if data_arguments.pop("cluster", None) is not None:
        # the keys of a mapping are clusters
        x = add_as_clusters(x)
    if data_arguments:
        option = next(iter(data_arguments))
        raise InputError(
            f"The option {option} is for arrays and frames; {name} received counts, "
            "which already hold labels and scores. Leave it out.",
            option=option,
        )

    stated = [option for option, value in design.items() if value is not None]
    if not stated:
        return x
    if isinstance(x, Mapping):
        return {
            group: _add_design(name, counts, {}, design_of_group(design, group))
            for group, counts in x.items()
        }
    if hasattr(x, "with_design"):  # counts, on the host or on a device
        return x.with_design(**design)

    raise InputError(
        f"The option {stated[0]} is for data and counts; {name} received a result.",
        option=stated[0],
    )


def _ask(
    question: _OpenedAnalysis,
    x: object,
    other_arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """Return the answer about counts, one for each classifier and each group.

    ``other_arguments`` are the positional arguments after the counts.
    """
    # a cross-validation holds folds
    folds = getattr(x, "folds", x)
    if isinstance(folds, Folds):
        return ANSWER_FOLDS.load()(question.name, folds, other_arguments, options)
    # scores on a GPU stay there; a protocol takes longer to check than an attribute
    if hasattr(x, "answer_analysis"):
        return x.answer_analysis(question.analysis, other_arguments, options)

    if question.name in CANNOT:
        refuse(x, question.name)

    if question.takes == "tally":
        if isinstance(x, Panel):
            x = {name: x[name] for name in x.names}
        if isinstance(x, Mapping):
            return Answers(
                {
                    name: _ask(question, part, other_arguments, options)
                    for name, part in x.items()
                }
            )
        if isinstance(x, Tally) and x.binned:
            return ANSWER_BINS.load()(question.analysis, (x, *other_arguments), options)

    _check_type_of_counts(question, x)

    try:
        return question.analysis(x, *other_arguments, **options)
    except TypeError:
        # a wrong argument gets a clearer sentence
        takes_them(question.analysis, (x, *other_arguments), options)
        raise


def _check_type_of_counts(question: _OpenedAnalysis, x: object) -> None:
    """Stop at counts of one classifier where several are needed, or the reverse."""
    if question.counts_type is Tally and type(x) is not Tally:
        _cases.one_classifier(x, question.name)
    if question.counts_type is Panel:
        _cases.several_classifiers(x, question.name)
