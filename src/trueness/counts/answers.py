"""What may an analysis be asked about?

Inside, an analysis is a pure function of counts. One decorator, put on where it is
defined, lets it be asked in the words that people have:

===========================  =======================================================
asked about                  answered with
===========================  =======================================================
a tally                      the answer
labels and scores, a frame   the answer about their tally (``data/asked.py`` counts)
several scores, a panel      a dict, from classifier to answer
a mapping of tallies         a dict, from group to answer
data with ``by=``            a dict, from group to answer, and "all cases"
scores on a GPU              the answer, made there (``gpu/passes.py``)
a binned tally               the answer with its limits (``scale/certificates.py``)
weighted cases               the answer, where ``weights=True`` stands at the analysis;
                             a text there says what to do instead
===========================  =======================================================

``of_tally`` is for analyses of one classifier, ``of_panel`` for those of several on the
same cases, ``of_counts`` for figures and reports, which take either. Since it stands
at the definition, there is no path to an analysis that answers otherwise. An analysis
that has not been taught weights refuses them here, in one sentence: none ever takes a
sum of weights for a number of cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any, NamedTuple, TypeVar, overload

from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import InputError, NeedsWholeCases, NotEnoughCases
from trueness._core.checks.options import known_options, yes_or_no
from trueness._core.doors import door
from trueness.counts.values import Panel, Tally

F = TypeVar("F", bound=Callable[..., Any])

# the group of all cases, in an answer by groups
WHOLE = "all cases"
# the words of ``tally`` and ``panel``, which go along with data
_WORDS = frozenset(
    [
        *("y_true", "y_score", "label", "score", "scores", "positive", "count", "by"),
        *("at_most", "pos_label", "weight", "sample_weight"),
    ]
)


class _Analysis(NamedTuple):
    """An analysis, and which words are its own."""

    analysis: Callable[..., Any]
    own: frozenset[str]
    first: str
    takes: str  # "tally", "panel" or "counts"
    weights: bool | str  # a text: why not, and what to do instead
    only_panel: bool  # comparisons may take two tallies instead
    only_tally: bool  # a figure of one classifier

    @property
    def name(self) -> str:
        return self.analysis.__name__

    def stop_weights(self, x: Any) -> None:
        """Stop at weighted cases, unless the analysis was taught them."""
        if self.weights is not True:
            refuse_weights(x, self.name, self.weights or "It counts single cases.")


@overload
def of_tally(analysis: F) -> F: ...
@overload
def of_tally(*, weights: bool | str) -> Callable[[F], F]: ...
def of_tally(analysis: Any = None, *, weights: bool | str = False) -> Any:
    """Let an analysis of a tally take data, panels, groups and binned tallies."""
    return _opened(analysis, "tally", weights)


@overload
def of_panel(analysis: F) -> F: ...
@overload
def of_panel(*, weights: bool | str) -> Callable[[F], F]: ...
def of_panel(analysis: Any = None, *, weights: bool | str = False) -> Any:
    """Let an analysis of a panel take data, and groups by ``by=``."""
    return _opened(analysis, "panel", weights)


@overload
def of_counts(analysis: F) -> F: ...
@overload
def of_counts(*, weights: bool | str) -> Callable[[F], F]: ...
def of_counts(analysis: Any = None, *, weights: bool | str = False) -> Any:
    """Let what takes a tally, a panel or groups of them take data too."""
    return _opened(analysis, "counts", weights)


def _opened(analysis: Any, takes: str, weights: bool | str) -> Any:
    """Open an analysis at once, or give the decorator that will."""
    if analysis is None:
        return lambda a: _open(a, takes, weights)
    return _open(analysis, takes, weights)


def whole_cases(why: str) -> Callable[[F], F]:
    """Let an analysis that takes counts as they are refuse weighted ones, and why."""

    def closed(analysis: F) -> F:
        @wraps(analysis)
        def call(*args: Any, **options: Any) -> Any:
            for x in (*args, *options.values()):
                refuse_weights(x, analysis.__name__, why)
            return analysis(*args, **options)

        return call  # type: ignore[return-value]  # same arguments, same answer

    return closed


def are_weighted(x: Any) -> bool:
    """Are there weighted cases among these counts, or groups of counts?"""
    if isinstance(x, Mapping):
        return any(are_weighted(part) for part in x.values())
    return isinstance(x, (Tally, Panel)) and x.weighted


def refuse_weights(x: Any, name: str, why: str) -> None:
    """Stop an analysis that needs whole cases at weighted ones, and say why."""
    if are_weighted(x):
        raise NeedsWholeCases(
            f"{name} needs whole cases and does not take weights. {why} Leave weight= "
            "out, or, where a row stands for several cases, type count= with whole "
            "numbers."
        )


def _open(analysis: F, takes: str, weights: bool | str) -> F:
    given = signature(analysis).parameters
    own = frozenset(given)
    first = next(iter(given))
    anything = any(p.kind is Parameter.VAR_KEYWORD for p in given.values())
    only = takes == "panel" and given[first].annotation in ("Panel", Panel)
    single = takes == "counts" and given[first].annotation in ("Tally", Tally)
    q = _Analysis(analysis, own, first, takes, weights, only, single)
    switches = [k for k, p in given.items() if p.annotation in ("bool", bool)]

    @wraps(analysis)
    def call(*args: Any, **options: Any) -> Any:
        for name in switches:
            if name in options:
                yes_or_no(options[name], name)
        # the common case first: it must cost nothing
        counted = args and type(args[0]) is Tally and takes != "panel"
        if counted and args[0].plain and (anything or options.keys() <= own):
            return analysis(*args, **options)
        return _answer(q, args, options, anything)

    call.takes = takes  # type: ignore[attr-defined]  # the tests read them
    call.weights = weights is True  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]  # wider arguments, same answer


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
    if options.get("cluster") is not None and "cluster" in q.own:
        return _clustered(q, args, words, options)
    if args and _is_counted(args[0], words):
        if words:
            raise InputError(
                f"{next(iter(words))}= is for arrays and frames; {q.name} was given "
                "counts, which already hold labels and scores. Leave it out."
            )
        return _respond(q, args[0], args[1:], options)
    counts, rest = door("data.asked").counted(q.name, q.takes, args, words)
    if words.get("by") is None or q.takes == "counts":
        return _respond(q, counts, rest, options)
    if not counts:
        raise NotEnoughCases(f"{q.name} needs cases; found an empty mapping of groups.")
    parts = {**counts, WHOLE: _sum(counts)}
    return {name: _respond(q, x, rest, options) for name, x in parts.items()}


def _clustered(
    q: _Analysis, args: tuple[Any, ...], words: dict[str, Any], options: dict[str, Any]
) -> Any:
    """Count data with the cluster as one more output; counts bring a mapping."""
    if args and _is_counted(args[0], words) and not words:
        q.stop_weights(options["cluster"])
        return q.analysis(*args, **options)
    ids = options.pop("cluster")
    counts, rest = door("data.asked").clustered(q.name, q.takes, args, words, ids)
    parts = counts if isinstance(counts, Mapping) else {None: counts}
    for whole, _ in parts.values():
        q.stop_weights(whole)
    answers = {
        name: q.analysis(whole, *rest, **options, cluster=panel)
        for name, (whole, panel) in parts.items()
    }
    return answers if isinstance(counts, Mapping) else answers[None]


def _is_counted(x: Any, words: Mapping[str, Any]) -> bool:
    if isinstance(x, Mapping):  # with label= and score= it is a frame of columns
        return not words
    # a record of Trueness answers for itself: plots take curves, reports posteriors
    return isinstance(x, (Tally, Panel)) or type(x).__module__.startswith("trueness.")


def _sum(parts: Mapping[Any, Any]) -> Any:
    first, *others = parts.values()
    return sum(others, start=first)


def _respond(
    q: _Analysis, x: Any, rest: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Ask about counts: each classifier and each group for itself."""
    if type(x).__name__ in ("DeviceTally", "DevicePanel"):  # scores stay on the GPU
        return door("gpu.passes").ask(q.analysis, x, rest, options)
    q.stop_weights(x)
    if q.takes == "counts":
        if q.only_tally:
            _cases.one_classifier(x, q.name)
        return q.analysis(x, *rest, **options)
    if q.takes == "tally" and isinstance(x, Panel):
        x = {name: x[name] for name in x.names}
    if isinstance(x, Mapping) and q.takes == "tally":
        return {name: _respond(q, part, rest, options) for name, part in x.items()}
    if isinstance(x, Tally) and x.binned and q.takes == "tally":
        return door("scale.certificates").limited(q.analysis, (x, *rest), options)
    if q.takes == "tally":
        _cases.one_classifier(x, q.name)
    elif q.only_panel:
        _cases.several_classifiers(x, q.name)
    return q.analysis(x, *rest, **options)
