"""What may an analysis be asked about?

An analysis is a pure function of counts. One decorator, put on where it is defined,
lets it be asked in the words that people have:

===========================  =======================================================
asked about                  answered with
===========================  =======================================================
a tally                      the answer
labels and scores, a frame   the answer about their tally (``data/arguments.py`` counts)
several scores, a panel      a dict, from classifier to answer
a mapping of tallies         a dict, from group to answer
data with ``by=``            a dict, from group to answer, and "all cases"
scores on a GPU              the answer, made there (``gpu/passes.py``)
a binned tally               the answer with its limits (``scale/certificates.py``)
===========================  =======================================================

It also reads the five words that say how the cases came, and refuses those that an
analysis cannot use (``design.py``). ``of_tally`` is for analyses of one classifier,
``of_panel`` for those of several on the same cases, ``of_counts`` for figures and
reports, which take either.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import reduce, wraps
from inspect import Parameter, Signature, signature
from operator import add
from typing import (
    Any,
    Concatenate,
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
from trueness._core.imports import HigherFunction
from trueness._core.names import documented
from trueness._core.progress import stop_if_requested
from trueness._core.records import Answers
from trueness.counts import design as _design
from trueness.counts.cases import add_as_clusters
from trueness.counts.design import CANNOT
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


class Array(Protocol):
    """What NumPy can read: an array, a Series, a tensor."""

    def __array__(self) -> Any:
        """Give an array."""


class NamesColumns(Protocol):
    """A frame of pandas, Polars, Arrow, DuckDB, Spark, Ibis, Narwhals."""

    @property
    def columns(self) -> Any:
        """Give the names, or the columns."""


Column = Array | Sequence[Any]
Frame = NamesColumns | Mapping[str, Column]
Data = Tally | Panel | Mapping[Any, Tally] | Column | Frame | None
_One = Tally | Column | None
_Scores = Mapping[Any, Column] | Column
_Name = Column | str  # a column, or its name


class CountArguments(Protocol):
    """Count the data that an analysis was given; say what is left of its arguments."""

    def __call__(
        self, name: str, takes: str, args: tuple[Any, ...], words: dict[str, Any]
    ) -> tuple[Any, tuple[Any, ...], tuple[str, ...], str]:
        """Count them."""
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
ANSWER_BINS: HigherFunction[AnswerBins] = HigherFunction("answer_with_limits")


@runtime_checkable
class CountsElsewhere(Protocol):
    """Counts that stay where they are, on a device, and answer there."""

    def answer_analysis(
        self,
        analysis: Callable[..., Any],
        rest: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """Answer an analysis there."""


class _Decorated(Protocol):
    """What tests and other rooms read of a decorated function."""

    __name__: str
    takes: str

    @property
    def __wrapped__(self) -> Callable[..., Any]: ...


# Python's types cannot say "these options and those words", so own options (``P``) are
# checked in calls without a word about the data; all of them are checked at run time.
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
    def __call__(self, x: Data, /, *a: Any, by: _Name, **kw: Any) -> dict[Any, R]: ...
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
    def __call__(self, x: _One, /, *a: Any, positive: object, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, pos_label: object, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, count: _Name, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, weight: _Name, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, sample_weight: _Name, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, cluster: _Name | bool, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, sampling: str, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, prevalence: float, **kw: Any) -> R: ...
    @overload
    def __call__(self, x: _One, /, *a: Any, unlabelled: object, **kw: Any) -> R: ...
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
    def __call__(self, x: object, /, *a: Any, by: _Name, **kw: Any) -> G_co: ...
    @overload
    def __call__(
        self, x: Frame, /, *a: Any, score: str | list[str], **kw: Any) -> R_co: ...
    @overload
    def __call__(
        self, x: Frame, /, *a: Any, scores: Sequence[str], **kw: Any) -> R_co: ...
    @overload
    def __call__(self, x: object, /, *a: Any, positive: object, **kw: Any) -> R_co: ...
    @overload
    def __call__(self, x: object, /, *a: Any, pos_label: object, **kw: Any) -> R_co: ...
    @overload
    def __call__(self, x: object, /, *a: Any, count: _Name, **kw: Any) -> R_co: ...
    @overload
    def __call__(self, x: object, /, *a: Any, weight: _Name, **kw: Any) -> R_co: ...
    @overload
    def __call__(
        self, x: object, /, *a: Any, sample_weight: _Name, **kw: Any) -> R_co: ...
    @overload
    def __call__(
        self, x: object, /, *a: Any, cluster: _Name | bool, **kw: Any) -> R_co: ...
    @overload
    def __call__(self, x: object, /, *a: Any, sampling: str, **kw: Any) -> R_co: ...
    @overload
    def __call__(self, x: object, /, *a: Any, prevalence: float, **kw: Any) -> R_co: ...
    @overload
    def __call__(
        self, x: object, /, *a: Any, unlabelled: object, **kw: Any) -> R_co: ...
    @overload
    def __call__(self, x: object, /, *a: Any, at_most: int, **kw: Any) -> R_co: ...
# fmt: on


# the group of all cases, in an answer by groups
WHOLE = "all cases"
# what help says of the words that every analysis takes
_DATA = {
    "data": "A tally or a panel; labels and scores; or a frame, with ``label=`` and\n"
    "``score=``. Of several classifiers or groups each has its own answer, in a\n"
    "dict, unless the analysis compares them.",
    "y_score, label, score, scores, positive, count, by": "The scores, when ``data`` "
    "are labels; columns, the positive label and groups\nof data that are not yet "
    "counted, as in :func:`tally` and :func:`panel`.",
    "weight, cluster, sampling, prevalence, unlabelled": "How the cases came, as in "
    ":func:`tally`.",
}
_TOLD = [word for line in [*_DATA][1:] for word in line.split(", ")]
# the words of ``tally`` and ``panel``, which go along with data
_WORDS = frozenset(
    [
        *_TOLD,
        "y_true",
        "at_most",
        "pos_label",
        "sample_weight",
        "missing_scores",
        "decimal",
    ]
)
# each of the five words in a sentence, and what to do where it cannot be used
_IN_WORDS = {
    "weight": (
        "weights",
        "Leave the weights out, or, where a row stands for several cases, name the "
        "column of their number as count.",
    ),
    "cluster": (
        "clusters",
        "Leave the clusters out to treat the cases as independent.",
    ),
    "sampling": (
        "case-control sampling",
        "Leave it out if the answer may be about the sampled cases.",
    ),
    "prevalence": (
        "a prevalence",
        "Leave it out to take the proportion of positives among the cases.",
    ),
    "unlabelled": (
        "labels that are missing at random",
        "Leave it out to leave the unlabelled cases out.",
    ),
    "expected": (
        "expected labels (unlabelled set to a calibration map)",
        "Ask it of labelled cases.",
    ),
}


class _Analysis:
    """An analysis, which words are its own, and what it may be given."""

    def __init__(self, analysis: Callable[..., Any], takes: str) -> None:
        self.analysis, self.takes = analysis, takes
        self.name = getattr(analysis, "typed", analysis.__name__)  # after "trueness."
        self.own = own = signature(analysis).parameters
        self.any_option = any(p.kind is Parameter.VAR_KEYWORD for p in own.values())
        self.first, first = next(iter(own.items()))
        # comparisons may take two tallies
        given = takes, getattr(first.annotation, "__name__", first.annotation)
        of = {("counts", "Tally"): Tally, ("panel", "Panel"): Panel}.get(given)
        self.of: type | None = Tally if takes == "tally" else of


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
    """Add the measure of a statistic, by which its interval is made."""

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
    """Let an analysis that takes counts as they are refuse what it cannot use."""

    @wraps(analysis)
    def call(*args: P.args, **options: P.kwargs) -> R:
        for x in (*args, *options.values()):
            refuse(x, analysis.__name__)
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
    """Stop at counts that came in a way that ``why`` (``CANNOT`` when None) names.

    ``option`` and ``example`` are what would take these counts (another method); by
    default the error is about the design argument itself.
    """
    reasons = CANNOT.get(name) if why is None else why
    if not reasons:
        return
    if isinstance(x, Mapping):
        for part in x.values():
            refuse(part, name, reasons, option=option, example=example)
    if isinstance(x, (Tally, Panel)):
        for word in words_of(x):
            if word in reasons:
                reason = reasons[word]
                if word == "unlabelled" and x.labels_expected:
                    word = "expected"
                argument = word if word != "expected" else "unlabelled"
                raise UnsupportedDesign(
                    refusal(name, word, reason),
                    option=option or argument,
                    example=example,
                )


def refusal(name: str, word: str, why: str) -> str:
    """Say that an analysis does not take one of the five words, and what to do."""
    said, instead = _IN_WORDS[word]
    return f"{_SUBJECTS.get(name, name)} does not take {said}. {why} {instead}"


# analyses that Python and shell call by different names
_SUBJECTS = {
    "best_thresholds": "A pair of thresholds",
    "calibration_gain": "Cross-fitting",
    "group_thresholds": "A threshold for each group",
    "guaranteed_threshold": "A guarantee",
    "latent_class": "A latent class model",
    "validate_threshold": "A validation",
}


def words_of(x: Tally | Panel) -> list[str]:
    """Which of the five words hold for these counts? A map is "expected", too."""
    d = x.design
    holds = (
        x.weighted,
        x.clusters is not None,
        d.sampling != _design.COHORT,
        d.prevalence is not None,
        d.unlabelled != _design.LEFT_OUT and x.n_unknown > 0,
        x.labels_expected,
    )
    words = [word for word, so in zip(_IN_WORDS, holds, strict=True) if so]
    # its own reason, where there is one, comes before that of missing labels
    return words[::-1] if x.labels_expected else words


def _open(analysis: Callable[..., Any], takes: str) -> Any:
    q = _Analysis(analysis, takes)
    own = q.own
    switches = [k for k, p in own.items() if p.annotation in ("bool", bool)]

    @wraps(analysis)
    def call(*args: Any, **options: Any) -> Any:
        for name in switches:
            if name in options:
                yes_or_no(options[name], name)
        # the common case first: it must cost nothing
        counted = args and type(args[0]) is Tally and takes != "panel"
        if counted and args[0].plain and options.keys() <= own.keys():
            try:
                return analysis(*args, **options)
            except TypeError:
                takes_them(analysis, args, options)
                raise
        return _answer(q, args, options)

    made: Any = call
    made.takes = takes
    made.__signature__ = _signature(analysis, takes)
    made.__doc__ = documented(analysis.__doc__, own, _DATA)
    return made


def _signature(analysis: Callable[..., Any], takes: str) -> Signature:
    """Give what can be passed: counts or data, own options, words about the data."""
    own = signature(analysis)
    first, *others = own.parameters.values()
    rest = [p for p in others if p.kind is Parameter.VAR_KEYWORD]
    named = [p.replace(kind=p.KEYWORD_ONLY) for p in others if p not in rest]
    # comparisons take the scores of several classifiers second
    second, gone = ("scores", "y_score") if takes == "panel" else ("y_score", "")
    named += [
        Parameter(w, Parameter.KEYWORD_ONLY, default=None)
        for w in _TOLD
        if w not in (second, gone) and w not in own.parameters
    ]
    places = [
        first.replace(annotation="Data"),
        Parameter(second, Parameter.POSITIONAL_OR_KEYWORD, default=None),
    ]
    return own.replace(parameters=[*places, *named, *rest])


def _answer(q: _Analysis, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Count data, add what was said of how cases came, and ask."""
    if not args and q.first in options:
        args = (options.pop(q.first),)
    stop_if_requested()
    words = {k: options.pop(k) for k in [*options] if k in _WORDS and k not in q.own}
    if not q.any_option and not options.keys() <= q.own.keys():
        known_options(options, q.own, _WORDS, q.name)
    if not args and not words:
        takes_them(q.analysis, (), options)
        return q.analysis(**options)
    design = {k: words.pop(k) for k in _design.WORDS if k in words}
    x = args[0] if args else None
    # a record of Trueness answers for itself: plots take curves, reports posteriors
    counted = type(x).__module__.startswith("trueness.") and not _has_scores(x)
    if isinstance(x, Mapping):  # otherwise it is a frame of columns
        counted = words.get("cluster") is True or (not words and _holds_answers(x))
    if counted:
        x = _said_of_counts(q.name, x, words, design)
        return _respond(q, x, args[1:], options)
    words |= {k: v for k, v in design.items() if v is not None}
    counts, rest, remarks, name_of_score = COUNT_ARGUMENTS.load()(
        q.name, q.takes, args, words
    )
    if name_of_score and "name" in q.own:
        options.setdefault("name", name_of_score)
    if words.get("by") is None or q.takes == "counts":
        return with_remarks(_respond(q, counts, rest, options), remarks)
    if not counts:
        raise NotEnoughCases(f"{q.name} needs cases; found an empty mapping of groups.")
    parts = {**with_each_column(counts)}
    if not any(getattr(x, "labels_expected", False) for x in counts.values()):
        # groups with a map each have no map that is one of all cases
        parts[WHOLE] = reduce(add, counts.values())
    answers = Answers(
        {name: _respond(q, x, rest, options) for name, x in parts.items()}
    )
    return with_remarks(answers, remarks)


def _has_scores(x: object) -> bool:
    """Is this a classifier, which scores cases?"""
    return hasattr(x, "predict_proba") or hasattr(x, "decision_function")


def _holds_answers(parts: Mapping[Any, Any]) -> bool:
    """Does a mapping hold counts or other records of Trueness, and no columns?"""
    columns = [
        hasattr(part, "__len__")
        and not isinstance(part, (str, bytes))
        and not type(part).__module__.startswith("trueness.")
        for part in parts.values()
    ]
    return not columns or not all(columns)


def with_remarks(answer: Any, remarks: tuple[str, ...]) -> Any:
    """Add remarks on what was taken to the notes of an answer, or else warn."""
    if not remarks:
        return answer
    if isinstance(answer, Mapping) and answer:
        return Answers(
            {name: with_remarks(part, remarks) for name, part in answer.items()}
        )
    if hasattr(answer, "with_remarks"):
        return answer.with_remarks(remarks)
    if is_dataclass(answer) and "notes" in {f.name for f in fields(answer)}:
        own: Any = answer
        return replace(own, notes=(*remarks, *own.notes))
    for remark in remarks:
        warnings.warn(remark, CleanedWarning, stacklevel=5)
    return answer


def _said_of_counts(
    name: str, x: object, words: dict[str, Any], design: dict[str, Any]
) -> Any:
    """Add to counts what was said of how their cases came."""
    if words.pop("cluster", None) is not None:  # the keys of a mapping are clusters
        x = add_as_clusters(x)
    if words:
        raise InputError(
            f"The option {next(iter(words))} is for arrays and frames; {name} was "
            "given counts, which already hold labels and scores. Leave it out.",
            option=next(iter(words)),
        )
    said = [k for k, v in design.items() if v is not None]
    if not said:
        return x
    if isinstance(x, Mapping):
        return {
            k: _said_of_counts(name, part, {}, design_of_group(design, k))
            for k, part in x.items()
        }
    if hasattr(x, "with_design"):  # counts, on the host or on a device
        return x.with_design(**design)
    raise InputError(
        f"The option {said[0]} is for data and counts; {name} was given an answer.",
        option=said[0],
    )


def _respond(
    q: _Analysis, x: object, rest: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Ask about counts: each classifier and each group for itself."""
    folds = getattr(x, "folds", x)  # of a cross-validation
    if isinstance(folds, Folds):
        return ANSWER_FOLDS.load()(q.name, folds, rest, options)
    if isinstance(x, CountsElsewhere):  # scores stay on the GPU
        return x.answer_analysis(q.analysis, rest, options)
    if q.name in CANNOT:
        refuse(x, q.name)
    if q.takes == "tally":
        if isinstance(x, Panel):
            x = {name: x[name] for name in x.names}
        if isinstance(x, Mapping):
            return Answers(
                {name: _respond(q, part, rest, options) for name, part in x.items()}
            )
        if isinstance(x, Tally) and x.binned:
            return ANSWER_BINS.load()(q.analysis, (x, *rest), options)
    if q.of is Tally and type(x) is not Tally:
        _cases.one_classifier(x, q.name)
    elif q.of is Panel:
        _cases.several_classifiers(x, q.name)
    try:
        return q.analysis(x, *rest, **options)
    except TypeError:
        takes_them(q.analysis, (x, *rest), options)
        raise
