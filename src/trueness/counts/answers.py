"""What may an analysis be asked about?

Inside, an analysis is a pure function of counts. One decorator, put on where it is
defined, lets it be asked in the words that people have:

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

It also reads the five words that say how the cases came (``design.py``): they are part
of the counts from then on, and no analysis has them in its own signature. ``CANNOT``
says which analysis cannot use which of them; it refuses them in one sentence, so that
none ever takes a sum of weights for a number of cases, or a cluster for many.

``of_tally`` is for analyses of one classifier, ``of_panel`` for those of several on the
same cases, ``of_counts`` for figures and reports, which take either. Since it stands
at the definition, there is no path to an analysis that answers otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import InputError, NeedsWholeCases, NotEnoughCases
from trueness._core.checks.options import known_options, yes_or_no
from trueness._core.docs import documented
from trueness._core.imports import handler
from trueness.counts import design as _design
from trueness.counts.calls import OfCounts, OfPanel, OfTally
from trueness.counts.cannot import CANNOT
from trueness.counts.cases import in_clusters
from trueness.counts.folds import Folds
from trueness.counts.values import Panel, Tally

P = ParamSpec("P")
D = TypeVar("D")
R = TypeVar("R")

# the group of all cases, in an answer by groups
WHOLE = "all cases"
# the words of ``tally`` and ``panel``, which go along with data
_WORDS = frozenset(
    [
        *("y_true", "y_score", "label", "score", "scores", "positive", "count", "by"),
        *("at_most", "pos_label", "weight", "sample_weight", "cluster"),
        *("missing", "decimal"),
        *_design.WORDS,
    ]
)


class _Analysis(NamedTuple):
    """An analysis, and which words are its own."""

    analysis: Callable[..., Any]
    own: frozenset[str]
    first: str
    takes: str  # "tally", "panel" or "counts"
    only_panel: bool  # comparisons may take two tallies instead
    only_tally: bool  # a figure of one classifier

    @property
    def name(self) -> str:
        return self.analysis.__name__


def of_tally(analysis: Callable[Concatenate[Tally, P], R]) -> OfTally[P, R]:
    """Let an analysis of a tally take data, panels, groups and binned tallies."""
    made: OfTally[P, R] = _open(analysis, "tally")
    return made


def of_panel(analysis: Callable[Concatenate[D, P], R]) -> OfPanel[D, P, R]:
    """Let an analysis of a panel take data, and groups by ``by=``."""
    made: OfPanel[D, P, R] = _open(analysis, "panel")
    return made


def of_counts(analysis: Callable[Concatenate[D, P], R]) -> OfCounts[D, P, R]:
    """Let what takes a tally, a panel or groups of them take data too."""
    made: OfCounts[D, P, R] = _open(analysis, "counts")
    return made


def whole_cases(analysis: Callable[P, R]) -> Callable[P, R]:
    """Let an analysis that takes counts as they are refuse what it cannot use."""

    @wraps(analysis)
    def call(*args: P.args, **options: P.kwargs) -> R:
        for x in (*args, *options.values()):
            refuse(x, analysis.__name__)
        return analysis(*args, **options)

    return call


def refuse(x: Any, name: str, why: Mapping[str, str] | None = None) -> None:
    """Stop an analysis at counts that came in a way it cannot use, and say why.

    ``why`` has a sentence for each of the five words that cannot be used; those of
    ``CANNOT`` when None.
    """
    reasons = CANNOT.get(name, {}) if why is None else why
    if not reasons:
        return
    if isinstance(x, Mapping):
        for part in x.values():
            refuse(part, name, reasons)
    if not isinstance(x, (Tally, Panel)):
        return
    for word in words_of(x):
        if word in reasons:
            raise NeedsWholeCases(refusal(name, word, reasons[word]))


def refusal(name: str, word: str, why: str) -> str:
    """Say that an analysis does not take one of the five words, and what to do."""
    return f"{name} does not take {_SAID[word]}. {why} {_INSTEAD[word]}"


def words_of(x: Tally | Panel) -> list[str]:
    """Which of the five words hold for these counts?"""
    d = x.design
    said = {
        "weight": x.weighted,
        "cluster": x.clusters is not None,
        "sampling": d.sampling != _design.COHORT,
        "prevalence": d.prevalence is not None,
        "unlabelled": d.unlabelled != _design.LEFT_OUT and x.n_unknown > 0,
    }
    return [word for word, holds in said.items() if holds]


_SAID = {
    "weight": "weights",
    "cluster": "clusters",
    "sampling": 'sampling="case-control"',
    "prevalence": "prevalence=",
    "unlabelled": 'unlabelled="missing at random"',
}
_INSTEAD = {
    "weight": "Leave weight= out, or, where a row stands for several cases, type "
    "count= with whole numbers.",
    "cluster": "Leave cluster= out to treat the cases as independent.",
    "sampling": "Leave it out if the answer may be about the sampled cases.",
    "prevalence": "Leave it out to take the share of positives of the cases.",
    "unlabelled": "Leave it out to leave the unlabelled cases out.",
}


def _open(analysis: Callable[..., Any], takes: str) -> Any:
    given = signature(analysis).parameters
    own = frozenset(given)
    first = next(iter(given))
    anything = any(p.kind is Parameter.VAR_KEYWORD for p in given.values())
    only = takes == "panel" and given[first].annotation in ("Panel", Panel)
    single = takes == "counts" and given[first].annotation in ("Tally", Tally)
    q = _Analysis(analysis, own, first, takes, only, single)
    switches = [k for k, p in given.items() if p.annotation in ("bool", bool)]

    @wraps(analysis)
    def call(*args: Any, **options: Any) -> Any:
        for name in switches:
            if name in options:
                yes_or_no(options[name], name)
        # the common case first: it must cost nothing
        counted = args and type(args[0]) is Tally and takes != "panel"
        if counted and args[0].plain and (options.keys() <= own):
            return analysis(*args, **options)
        return _answer(q, args, options, anything)

    made: Any = call
    made.takes = takes
    made.__signature__ = _signature(analysis, takes)
    made.__doc__ = documented(analysis.__doc__, given, _DATA)
    return made


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


def _signature(analysis: Callable[..., Any], takes: str) -> Signature:
    """Give what can be passed: counts or data, own options, words about the data."""
    own = signature(analysis)
    first, *others = own.parameters.values()
    rest = [p for p in others if p.kind is Parameter.VAR_KEYWORD]
    named = [p.replace(kind=p.KEYWORD_ONLY) for p in others if p not in rest]
    words = [w for line in list(_DATA)[1:] for w in line.split(", ")]
    # comparisons take the scores of several classifiers second
    second = words.pop(words.index("scores" if takes == "panel" else "y_score"))
    named += [
        Parameter(w, Parameter.KEYWORD_ONLY, default=None)
        for w in words
        if w not in own.parameters and (w != "y_score" or takes != "panel")
    ]
    places = [
        first.replace(annotation="Data"),
        Parameter(second, Parameter.POSITIONAL_OR_KEYWORD, default=None),
    ]
    return own.replace(parameters=[*places, *named, *rest])


def _answer(
    q: _Analysis, args: tuple[Any, ...], options: dict[str, Any], anything: bool
) -> Any:
    if not args and q.first in options:
        args = (options.pop(q.first),)
    words = {k: options.pop(k) for k in [*options] if k in _WORDS - q.own}
    if not anything:
        known_options(options, q.own, _WORDS, q.name)
    if not args and not words:
        return q.analysis(**options)
    design = {k: words.pop(k) for k in _design.WORDS if k in words}
    if args and _is_counted(args[0], words):
        x = _said_of_counts(q.name, args[0], words, design)
        return _respond(q, x, args[1:], options)
    words |= {k: v for k, v in design.items() if v is not None}
    counts, rest = handler("count_arguments")(q.name, q.takes, args, words)
    if words.get("by") is None or q.takes == "counts":
        return _respond(q, counts, rest, options)
    if not counts:
        raise NotEnoughCases(f"{q.name} needs cases; found an empty mapping of groups.")
    parts = {**counts, WHOLE: _sum(counts)}
    return {name: _respond(q, x, rest, options) for name, x in parts.items()}


def _said_of_counts(
    name: str, x: Any, words: dict[str, Any], design: dict[str, Any]
) -> Any:
    """Add to counts what was said of how their cases came."""
    if words.pop("cluster", None) is not None:  # the keys of a mapping are clusters
        x = in_clusters(x)
    if words:
        raise InputError(
            f"{next(iter(words))}= is for arrays and frames; {name} was given "
            "counts, which already hold labels and scores. Leave it out."
        )
    if not any(v is not None for v in design.values()):
        return x
    if isinstance(x, Mapping):
        return {k: _said_of_counts(name, part, {}, design) for k, part in x.items()}
    if hasattr(x, "with_design"):  # counts, on the host or on a device
        return x.with_design(**design)
    word = next(k for k, v in design.items() if v is not None)
    raise InputError(f"{word}= is for data and counts; {name} was given an answer.")


def _is_counted(x: Any, words: Mapping[str, Any]) -> bool:
    if isinstance(x, Mapping):  # with label= and score= it is a frame of columns
        return not words or words.get("cluster") is True
    # a record of Trueness answers for itself: plots take curves, reports posteriors
    return isinstance(x, (Tally, Panel)) or type(x).__module__.startswith("trueness.")


def _sum(parts: Mapping[Any, Any]) -> Any:
    first, *others = parts.values()
    return sum(others, start=first)


def _respond(
    q: _Analysis, x: Any, rest: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Ask about counts: each classifier and each group for itself."""
    if isinstance(x, Folds):
        return handler("answer_folds")(q.name, x, rest, options)
    if type(x).__name__ in ("DeviceTally", "DevicePanel"):  # scores stay on the GPU
        return handler("answer_on_device")(q.analysis, x, rest, options)
    refuse(x, q.name)
    if q.takes == "counts":
        if q.only_tally:
            _cases.one_classifier(x, q.name)
        return q.analysis(x, *rest, **options)
    if q.takes == "tally" and isinstance(x, Panel):
        x = {name: x[name] for name in x.names}
    if isinstance(x, Mapping) and q.takes == "tally":
        return {name: _respond(q, part, rest, options) for name, part in x.items()}
    if isinstance(x, Tally) and x.binned and q.takes == "tally":
        return handler("answer_with_limits")(q.analysis, (x, *rest), options)
    if q.takes == "tally":
        _cases.one_classifier(x, q.name)
    elif q.only_panel:
        _cases.several_classifiers(x, q.name)
    return q.analysis(x, *rest, **options)
