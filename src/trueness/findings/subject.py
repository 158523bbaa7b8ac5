"""What is asked, and of which classifiers? Counts, wishes, and what is known so far.

``Wanted`` is what a person wants to know, ``Subject`` the counts it is asked of. What
several questions need (the classifiers in order, what is left of a threshold on new
cases) is worked out here, once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar, final

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import (
    Infeasible,
    InputError,
    NotEnoughCases,
    UnsupportedDesign,
)
from trueness._core.names import told_apart
from trueness._core.numbers import cut_text
from trueness._core.records import Estimate
from trueness.counts.groups import with_each_column
from trueness.counts.resampling import Seed
from trueness.counts.values import Panel, Tally
from trueness.findings.notes import Note, when
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import constraints
from trueness.ranking.areas import auc, auc_measure
from trueness.threshold.constraints import (
    DEFAULT_OBJECTIVE,
    ConstraintLike,
    asks_for_groups,
    asks_for_two_cuts,
    read_objective,
    without_deferral_cost,
)
from trueness.threshold.operating_point import OperatingPoint, best_threshold
from trueness.threshold.prevalences import Prevalences, read_prevalence
from trueness.threshold.rule import AtThreshold, Rule, at_threshold, confusion, rule_of
from trueness.threshold.validation import Validation, validate_threshold

T = TypeVar("T")
Counts = Panel | Tally | Mapping[str, Tally]  # tallies by the name of the classifier
REPLICATES = 500  # of a bootstrap
NAME = 60  # letters of the name of a classifier
UNNAMED = "the classifier"  # what a tally, which has no name, is called
MOST_MODELS = 20  # classifiers that a page can show; they are compared pairwise
MOST_GROUPS = 30
Groups = Mapping[Any, Panel | Tally] | None
Goal = str | Metric | None
Cost = Mapping[str, float]  # of a false positive and of a false negative
_COST = re.compile(r"cost\(fp=([^,()]+), fn=([^,()]+)\)")
_DEFERRED = re.compile(r"\bdefer(red)?\s*<")
Checked = Validation | AtThreshold | None  # what a threshold is worth on new cases


@final
@dataclass(frozen=True)
class Wanted:
    """What a person wants to know, as it was said.

    ``at`` is a threshold that was given, ``share`` that of the positives, on which the
    costs depend that nobody gave. Without ``replicates`` what needs a bootstrap is left
    out. ``calibrator`` and ``half_width`` are about the ``classifier`` named, or the
    best one; ``combiner`` is the way to combine that is spoken of.
    """

    maximize: Goal = None
    minimize: Goal = None
    subject_to: tuple[ConstraintLike, ...] = ()
    cost: Cost | None = None
    at: float | Rule | None = None
    prevalences: Prevalences = None
    validate: bool = False
    guarantee: float | None = None
    level: float = 0.95
    rng: Seed = 0
    share: float = 0.5
    replicates: int = REPLICATES
    classes: bool = False
    calibrator: str = ""
    half_width: float | None = None
    classifier: str = ""
    combiner: str = ""

    @property
    def sure(self) -> tuple[Hashable, ...]:
        """What intervals and bands depend on."""
        return self.level, str(self.rng), self.replicates

    @property
    def cut(self) -> tuple[Hashable, ...]:
        """What the chosen threshold depends on."""
        limits = tuple(map(repr, self.limits))
        return repr(self.objective), self.smallest, limits, self.at

    @cached_property
    def goal(self) -> dict[str, Goal]:
        """The objective of one threshold, if one was said, or costs."""
        said = {"maximize": self.maximize, "minimize": self.minimize}
        found = {
            k: single
            for k, v in said.items()
            if v and (single := without_deferral_cost(v))
        }
        if not found and self.cost:
            return {"minimize": cost_text(self.costs)}
        return dict(found)

    @cached_property
    def objective(self) -> Metric:
        """What one threshold is chosen by."""
        return read_objective(self.goal.get("maximize"), self.goal.get("minimize"))[0]

    @property
    def smallest(self) -> bool:
        """Is the objective to be small?"""
        return "minimize" in self.goal

    @property
    def wants_a_threshold(self) -> bool:
        """Was a cost, an objective, a constraint or a threshold given?"""
        return bool(self.goal or self.limits or self.stated_cost or self.at is not None)

    @cached_property
    def stated_cost(self) -> Cost | None:
        """The costs that were given, by themselves or as an objective."""
        single = self.minimize and without_deferral_cost(self.minimize)
        found = single and re.fullmatch(_COST, single.name)
        read = {"fp": float(found[1]), "fn": float(found[2])} if found else None
        return self.cost or read

    @property
    def costs(self) -> tuple[float, float]:
        """The costs of both errors; if nobody gave them both rates count equally."""
        given = self.stated_cost or {"fp": 1.0, "fn": (1 - self.share) / self.share}
        return float(given["fp"]), float(given["fn"])

    @cached_property
    def limits(self) -> tuple[Constraint, ...]:
        """The constraints that one threshold can keep."""
        return constraints(of_one_cut(apart(self.subject_to)[0]))

    @property
    def choice(self) -> dict[str, Any]:
        """Give objective and constraints as ``best_threshold`` takes them."""
        goal = "minimize" if self.smallest else "maximize"
        return {goal: self.objective, "subject_to": self.limits}

    @property
    def between(self) -> tuple[ConstraintLike, ...]:
        """The limits on differences between groups."""
        return apart(self.subject_to)[1]

    @property
    def two(self) -> dict[str, Any] | None:
        """What was asked of two thresholds; None where one was meant."""
        equal = f"cost(fp=1, fn={(1 - self.share) / self.share:.15g})"
        limits = apart(self.subject_to)[0]
        return asked_of_two(self.maximize, self.minimize, limits, self.cost, equal)

    @property
    def for_groups(self) -> bool:
        """Is a threshold for each group asked for, or given?"""
        return bool(self.between or getattr(self.at, "groups", ()))

    @property
    def given(self) -> dict[str, Any]:
        """Give what was said, or what is meant by saying nothing, to the library."""
        told: dict[str, Any] = {"maximize": self.maximize, "minimize": self.minimize}
        told = {k: v for k, v in told.items() if v is not None}
        if not told and self.guarantee is None:
            told = (
                {"maximize": DEFAULT_OBJECTIVE}
                if self.two is None
                else {"minimize": "defer"}
            )
        if self.prevalences is not None:
            told["prevalences"] = self.prevalences
        return {"subject_to": list(self.subject_to), **told}


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
        """Could the scores be probabilities?"""
        return could_be_probabilities(self.tally)


@final
@dataclass(frozen=True)
class Subject:
    """Counts, what is asked of them, and what was found so far.

    ``data`` may be tallies by name, where counts of all classifiers together would be
    too many; questions that need the same cases are then left out. ``known`` remembers
    answers by what they depend on, and may be shared by subjects of the same counts.
    """

    data: Counts
    asked: Wanted
    groups: Mapping[Any, Counts] | None = None
    by: str = "group"
    known: dict[Any, Any] = field(default_factory=dict)
    cluster: str = ""  # what cases that belong together have in common
    sites: Mapping[Any, Counts] | None = None  # groups that are a sample of sites

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """Give an answer, which is worked out the first time."""
        if what not in self.known:
            self.known[what] = make()
        found: T = self.known[what]
        return found

    @property
    def cases(self) -> Panel | Tally:
        """Give something that knows how many cases there are."""
        if isinstance(self.data, Mapping):
            return next(iter(self.data.values()))
        return self.data

    @property
    def alike(self) -> tuple[Note, ...]:
        """Say that cases belong together, by what they have in common."""
        what = self.cluster or "cluster"
        return when(self.cases.clusters is not None, "clusters", cluster=what)

    @property
    def several(self) -> bool:
        """Are there several classifiers on the same cases?"""
        return isinstance(self.data, Panel) and len(self.data.names) > 1

    @property
    def models(self) -> list[Model]:
        """The classifiers, the best one first."""
        a = self.asked
        return self.once(("models", a.level, a.cut), lambda: _models(self))

    @property
    def best(self) -> Model:
        """The classifier that advice is about."""
        return self.models[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The classifiers as they are shown, in order."""
        return tuple(m.name for m in self.models)

    @property
    def tallies(self) -> dict[str, Tally]:
        """The counts of each classifier, by the name that is shown."""
        return {m.name: m.tally for m in self.models}

    @property
    def chosen(self) -> Model:
        """The classifier that was named, or the best one."""
        if not self.asked.classifier:
            return self.best
        keys = [m.key for m in self.models]
        _options.choice(self.asked.classifier, keys, "classifier")
        return self.models[keys.index(self.asked.classifier)]

    @property
    def checked(self) -> Checked:
        """What remains of the threshold of the best classifier on new cases."""
        a, best = self.asked, self.best
        if a.at is not None:
            made: AtThreshold = at_threshold(best.tally, a.at, level=a.level)
            return made
        if not a.replicates or not best.feasible:
            return None
        sure = {"level": a.level, "rng": a.rng}
        ask = partial(validate_threshold, best.tally, **a.choice, **sure)
        return self.once(("checked", a.sure, a.cut), lambda: possible(ask))


def could_be_probabilities(t: Tally) -> bool:
    """Do all scores lie between 0 and 1?"""
    return bool(t.score[-1] >= 0 and t.score[0] <= 1)


def possible(ask: Callable[[], T]) -> T | None:
    """Ask, and take None when there are too few cases, or cases of the wrong kind.

    A report on few cases, or on weighted ones, says what can be said, and leaves the
    rest out.
    """
    try:
        return ask()
    except (NotEnoughCases, UnsupportedDesign):
        return None


def read_asked(
    data: Panel | Tally,
    *,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    level: float = 0.95,
    at: float | Rule | None = None,
    **more: Any,
) -> Wanted:
    """Read what is asked, before the work; ``more`` are fields of ``Wanted``."""
    if isinstance(subject_to, (str, Constraint)):
        subject_to = (subject_to,)
    if not hasattr(data, "design"):
        _cases.one_classifier(data, "An evaluation")
    a = Wanted(
        subject_to=tuple(subject_to),
        level=_options.fraction(level, "level"),
        at=None if at is None else _options.real_number(at, "at"),
        share=data.design.prevalence or (data.prevalence if data.n_pos else 0.5),
        **more,
    )
    if at is not None and (a.maximize or a.minimize or a.two or a.between):
        raise InputError(
            "A given threshold is evaluated, so there is nothing to choose. Leave out "
            "maximize, minimize and constraints on two thresholds or on groups.",
            option="at",
        )
    read_prevalence(a.prevalences)
    _ = a.objective, a.limits
    return a


def cost_text(costs: tuple[float, float]) -> str:
    """Write costs as an objective."""
    return f"cost(fp={costs[0]!r}, fn={costs[1]!r})"


def apart(
    limits: Iterable[ConstraintLike],
) -> tuple[tuple[ConstraintLike, ...], tuple[ConstraintLike, ...]]:
    """Tell limits on all cases from those between groups."""
    given = tuple(limits)
    between = tuple(c for c in given if asks_for_groups([c]))
    return tuple(c for c in given if c not in between), between


def of_one_cut(limits: Iterable[ConstraintLike]) -> tuple[ConstraintLike, ...]:
    """Leave out the limits that only two cuts can keep."""
    return tuple(c for c in limits if not asks_for_two_cuts([c]))


def asked_of_two(
    maximize: Goal,
    minimize: Goal,
    limits: tuple[ConstraintLike, ...],
    cost: Cost | None,
    equal: str,
) -> dict[str, Any] | None:
    """Give what was asked of two cuts; None where one was meant.

    Without an objective costs are minimised, or as few cases as possible deferred; who
    has limited those gets ``equal``, by which both error rates count equally.
    """
    if not asks_for_two_cuts([maximize, minimize, *limits]):
        return None
    if maximize is None and minimize is None:
        limited = any(_DEFERRED.search(str(c)) for c in limits)
        minimize = equal if limited else "defer"
        if cost:
            minimize = cost_text((float(cost["fp"]), float(cost["fn"])))
    return {"maximize": maximize, "minimize": minimize, "subject_to": limits}


def subject(
    data: Counts,
    *,
    groups: Mapping[Any, Counts] | None = None,
    by: str = "group",
    known: dict[Any, Any] | None = None,
    cluster: str = "",
    sites: Mapping[Any, Counts] | None = None,
    **asked: Any,
) -> Subject:
    """Put counts and what is asked of them together; parameters as ``read_asked``."""
    first = next(iter(data.values())) if isinstance(data, Mapping) else data
    held = {} if known is None else known
    return Subject(data, read_asked(first, **asked), groups, by, held, cluster, sites)


def tallies_of(data: Counts) -> Mapping[str, Tally]:
    """Give each classifier by its name; a tally, which has none, is given one."""
    if isinstance(data, Tally):
        return {UNNAMED: data}
    if isinstance(data, Panel):
        return {name: data[name] for name in data.names}
    return data


def _models(s: Subject) -> list[Model]:
    """Put the classifiers in order: by the objective if one was stated, else by AUC."""
    a = s.asked
    tallies = s.once("tallies", lambda: tallies_of(s.data))
    models, texts = [], told_apart([*tallies], NAME)
    for text, (key, t) in zip(texts, tallies.items(), strict=True):
        _cases.both_classes(t, "report")
        point, feasible = _cut(t, a)
        area: Estimate = s.once(("auc", key, a.level), partial(auc, t, level=a.level))
        models.append(Model(text, key, t, area, point, feasible))
    sign = 1 if a.smallest else -1
    by_goal = a.goal and a.at is None

    def order(m: Model) -> tuple[float, ...]:
        goal = sign * m.point.value if by_goal else 0.0
        return (not m.feasible, goal if goal == goal else math.inf, -m.auc.value)

    models.sort(key=order)
    first = models[0]
    if not first.feasible:  # say what stops the best one
        try:
            best_threshold(first.tally, **a.choice)
        except Infeasible as err:
            who = "" if first.name == UNNAMED else f"{first.name}: "
            raise err.rephrased(message=f"{who}{err.message}") from err
    return models


def _cut(t: Tally, a: Wanted) -> tuple[OperatingPoint, bool]:
    """Choose within the constraints, or without them where they cannot be met."""
    if a.at is None:
        try:
            return best_threshold(t, **a.choice), True
        except Infeasible:
            return best_threshold(t, **a.choice | {"subject_to": ()}), False
    _, at = rule_of(a.at).cuts()  # nobody has to choose
    c, span = confusion(t, at), (at, at)
    given = OperatingPoint(
        threshold=at, score_range=span, value=math.nan, confusion=c,
        score_ranges=(span,), binding=(), objective="given", method="given",
        constraints={repr(k): float(k.metric(c)) for k in a.limits},
        prevalence=t.prevalence,
    )  # fmt: skip
    return given, True


def strongest(data: Counts, wanted: str) -> tuple[Counts, str]:
    """Keep the classifiers that rank best, and say how many were left out.

    The one that is ``wanted`` stays. A page on hundreds would take hours to make, and
    nobody would read it.
    """
    if not isinstance(data, Panel) or not (data.n_pos and data.n_neg):
        return data, ""
    if len(data.names) <= MOST_MODELS:
        return data, ""
    area = {n: auc_measure(data[n].labelled()).value for n in data.names}
    order = sorted(area, key=lambda n: (n != wanted, -area[n]))
    kept = [n for n in data.names if n in order[:MOST_MODELS]]
    whole, left = len(data.names), len(data.names) - len(kept)
    what = f"the {len(kept)} of {whole} scores with the highest AUC"
    return data[kept], f"{what}; {left} were left out"


def largest(groups: Groups) -> tuple[Groups, str]:
    """Keep the largest groups, and say how many were left out."""
    if groups is None or len(groups) <= MOST_GROUPS:
        return groups, ""
    order = sorted(groups, key=lambda g: -groups[g].n)[:MOST_GROUPS]
    kept = {g: x for g, x in groups.items() if g in set(order)}
    left = len(groups) - len(kept)
    return kept, f"the {len(kept)} largest of {len(groups)}; {left} were left out"


def cut_of(point: OperatingPoint) -> str:
    """Write a threshold, with as many digits as it takes to flag the same cases."""
    if math.isinf(point.threshold):
        return "flag nothing"
    return cut_text(point.threshold, point.score_range)


def named_groups(
    s: Subject, key: str, *, each_column: bool = False
) -> dict[str, Tally]:
    """Give the counts of one classifier in each group, by the name that is shown.

    ``each_column``: of groups of several columns also those of each column alone, which
    share cases with the others.
    """
    groups: Mapping[Any, Any] = s.groups or {}
    return _of_classifier(with_each_column(groups) if each_column else groups, key)


def named_sites(s: Subject, key: str) -> dict[str, Tally]:
    """Give the counts of one classifier at each site, by the name that is shown."""
    return _of_classifier(s.sites or {}, key)


def _of_classifier(groups: Mapping[Any, Any], key: str) -> dict[str, Tally]:
    """Give the counts of one classifier in each group, by the name that is shown."""
    texts = told_apart([str(g) for g in groups], NAME)
    both = zip(texts, groups.values(), strict=True)
    return {text: x if isinstance(x, Tally) else x[key] for text, x in both}
