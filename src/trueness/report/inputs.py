"""Which classifiers is a report about, and what was asked of it?"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, final

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.names import told_apart
from trueness._core.records import Estimate
from trueness.counts.design import AT_RANDOM
from trueness.counts.values import Panel, Tally
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import constraints, metric
from trueness.ranking.areas import auc, auc_measure
from trueness.report.slider import Steps, steps
from trueness.threshold.at_cut import AtThreshold, confusion
from trueness.threshold.group_limits import asks_for_groups
from trueness.threshold.operating_point import (
    DEFAULT,
    OperatingPoint,
    best_threshold,
    read_objective,
)
from trueness.threshold.prevalence import Prevalences, read_prevalence
from trueness.threshold.validation import Validation
from trueness.threshold.zones import asks_for_two_cuts, undeferred

REPLICATES = 500  # of every bootstrap of the report
NAME = 60  # letters of the name of a classifier
UNNAMED = "the classifier"  # what a tally, which has no name, is called
_DEFERRED = re.compile(r"\bdefer(red)?\s*<")
Checked = Validation | AtThreshold | None  # what a threshold is worth on new cases
# gives an answer by what it depends on; who calls may remember it
Once = Callable[[Any, Callable[[], Any]], Any]


@final
@dataclass(frozen=True)
class ReportOptions:
    """An objective, constraints, costs, a level, a seed, and who asked.

    ``costs`` are those of a false positive and of a false negative; ``invented`` says
    that nobody gave them. ``prevalence`` is that of use, where it is another, ``range``
    one that is known to lie between two ends, ``at`` a threshold that was given;
    ``two`` is what is asked of two thresholds, ``between`` the limits on groups;
    ``classes`` says that the classifiers are classes, each against the rest.
    ``replicates`` are the samples of each bootstrap; 0 leaves out what needs them, for
    a first look. ``combiner`` is the way to combine that is spoken of (the best one by
    default). ``calibrator`` is the method whose gain is shown, and ``half_width``
    how narrow the interval of an AUC is wanted, both for the ``classifier`` named (the
    best one by default); sections that nobody asked for are left out. ``command`` is
    what was typed, when it was typed in a shell; ``live`` says that the page is the
    workbench, where things can be changed.
    """

    objective: Metric
    smallest: bool
    subject_to: tuple[Constraint, ...]
    costs: tuple[float, float]
    invented: bool
    stated: bool
    level: float
    rng: Any
    command: str = ""
    prevalence: float | None = None
    replicates: int = REPLICATES
    calibrator: str = ""
    half_width: float | None = None
    classifier: str = ""
    live: bool = False
    at: float | None = None
    range: Prevalences = None
    two: dict[str, Any] | None = None
    between: tuple[str, ...] = ()
    classes: bool = False
    combiner: str = ""

    @property
    def sure(self) -> tuple[Any, ...]:
        """What intervals and bands depend on."""
        return self.level, str(self.rng), self.replicates, self.prevalence

    @property
    def asked(self) -> tuple[Any, ...]:
        """What the chosen threshold depends on."""
        limits = tuple(map(repr, self.subject_to))
        return repr(self.objective), self.smallest, limits, self.prevalence, self.at

    @property
    def choice(self) -> dict[str, Any]:
        """Give the objective as ``best_threshold`` takes it."""
        return {"minimize" if self.smallest else "maximize": self.objective}

    @property
    def limits(self) -> dict[str, Any]:
        """Give constraints as ``best_threshold`` takes them."""
        return {"subject_to": self.subject_to}

    @property
    def how_labels_are_missing(self) -> str:
        """Say what to ask where labels are missing by the score alone."""
        if self.live:
            return f'use trueness report --unlabelled "{AT_RANDOM}"'
        if self.command:
            return f'set --unlabelled "{AT_RANDOM}"'
        return f'pass unlabelled="{AT_RANDOM}"'

    @property
    def how_to_give_costs(self) -> str:
        """Say how costs are given, in the language in which the report was asked."""
        if self.live:
            return "Set them under Costs to change this."
        if self.command:
            return "Set --cost-fp and --cost-fn to change this."
        return 'Pass cost={"fp": 1, "fn": 20}, with your own numbers, to change this.'


@final
@dataclass(frozen=True)
class Model:
    """A classifier: its name as shown and as given, its tally and its threshold."""

    name: str
    key: str
    tally: Tally
    auc: Estimate
    point: OperatingPoint
    steps: Steps
    feasible: bool = True  # can the constraints be met?

    @property
    def is_probability(self) -> bool:
        """Could the scores be probabilities?"""
        return bool(self.tally.score[-1] >= 0 and self.tally.score[0] <= 1)


def read_options(
    data: Panel | Tally,
    *,
    maximize: Any = None,
    minimize: Any = None,
    subject_to: Any = (),
    cost: Mapping[str, float] | None = None,
    level: float = 0.95,
    rng: Any = 0,
    prevalences: Prevalences = None,
    at: float | None = None,
    **more: Any,
) -> ReportOptions:
    """Read what is asked; without costs both error rates count equally.

    ``more`` are fields that need no reading.
    """
    if isinstance(subject_to, (str, Constraint)):
        subject_to = (subject_to,)
    limits, between = apart(subject_to)
    share = data.design.prevalence or (data.prevalence if data.n_pos else 0.5)
    odds = (1 - share) / share
    equal = f"cost(fp=1, fn={float(odds):.15g})"
    two = asked_of_two(maximize, minimize, limits, cost, equal)
    limits = of_one_cut(limits)
    maximize, minimize = (x and undeferred(x) for x in (maximize, minimize))
    if at is not None and (maximize or minimize or two or between):
        raise InputError(
            "at= gives the threshold, so there is nothing to choose. Leave out "
            "maximize, minimize and limits on two thresholds or on groups."
        )
    read_prevalence(prevalences)  # before the work
    cost = cost or _costs_of(minimize)
    costs = (float(cost["fp"]), float(cost["fn"])) if cost else (1.0, odds)
    stated = bool(cost) or maximize is not None or minimize is not None
    if cost and maximize is None and minimize is None:
        minimize = f"cost(fp={costs[0]!r}, fn={costs[1]!r})"
    if maximize is None:  # "accuracy" is what a wish to minimise leaves unsaid
        maximize = DEFAULT if minimize is None else "accuracy"
    objective, _ = read_objective(maximize, minimize)
    return ReportOptions(
        objective=objective,
        smallest=minimize is not None,
        subject_to=constraints(limits),
        costs=costs,
        invented=not cost,
        stated=stated,
        level=_options.fraction(level, "level"),
        rng=rng,
        prevalence=data.design.prevalence,
        at=None if at is None else _options.real_number(at, "at"),
        range=prevalences,
        two=two,
        between=between,
        **more,
    )


def _costs_of(objective: Any) -> dict[str, float] | None:
    """Give the costs that were stated as an objective: ``"cost(fp=1, fn=5)"``."""
    name = "" if objective is None else metric(objective).name
    found = re.fullmatch(r"cost\(fp=([^,()]+), fn=([^,()]+)\)", name)
    return None if found is None else {"fp": float(found[1]), "fn": float(found[2])}


def apart(limits: Iterable[Any]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Tell limits on all cases from those between groups."""
    given = tuple(limits)
    between = tuple(c for c in given if asks_for_groups([c]))
    return tuple(c for c in given if c not in between), between


def of_one_cut(limits: Iterable[Any]) -> tuple[Any, ...]:
    """Leave out the limits that only two cuts can keep."""
    return tuple(c for c in limits if not asks_for_two_cuts([c]))


def asked_of_two(
    maximize: Any,
    minimize: Any,
    limits: tuple[Any, ...],
    cost: Mapping[str, float] | None,
    equal: str,
) -> Any:
    """Give what was asked of two cuts; None where one was meant.

    Without an objective costs are minimised, or as few cases as possible deferred; who
    has limited those gets ``equal``, by which both error rates count equally.
    """
    if not asks_for_two_cuts([maximize, minimize, *limits]):
        return None
    if maximize is None and minimize is None:
        limited = any(_DEFERRED.search(str(c)) for c in limits)
        if cost:
            minimize = f"cost(fp={float(cost['fp'])!r}, fn={float(cost['fn'])!r})"
        elif limited:
            minimize = equal
        else:
            minimize = "defer"
    return {"maximize": maximize, "minimize": minimize, "subject_to": limits}


CountsT = TypeVar("CountsT", bound=Panel | Tally)
MOST_MODELS = 20  # classifiers that a page can show; sections compare them pairwise
MOST_GROUPS = 30  # groups, likewise


def strongest(data: Any, wanted: str) -> tuple[Any, str]:
    """Keep the classifiers that rank best, and say how many were left out.

    The one that is ``wanted`` stays. A page on hundreds would take hours to make, and
    nobody would read it.
    """
    few = not isinstance(data, Panel) or len(data.names) <= MOST_MODELS
    if few or not (data.n_pos and data.n_neg):
        return data, ""
    area = {n: auc_measure(data[n].labelled()).value for n in data.names}
    order = sorted(area, key=lambda n: (n != wanted, -area[n]))
    kept = [n for n in data.names if n in order[:MOST_MODELS]]
    left = len(data.names) - len(kept)
    return data[kept], (
        f"the {len(kept)} of {len(data.names)} scores with the highest AUC; "
        f"{left} were left out"
    )


def largest(
    groups: Mapping[Any, CountsT] | None,
) -> tuple[Mapping[Any, CountsT] | None, str]:
    """Keep the largest groups, and say how many were left out."""
    if groups is None or len(groups) <= MOST_GROUPS:
        return groups, ""
    order = sorted(groups, key=lambda g: -groups[g].n)[:MOST_GROUPS]
    kept = {g: x for g, x in groups.items() if g in set(order)}
    return kept, (
        f"the {len(kept)} largest of {len(groups)}; {len(groups) - len(kept)} were "
        f"left out"
    )


def read_models(
    data: Panel | Tally | Mapping[str, Tally],
    options: ReportOptions,
    once: Once = lambda _, make: make(),
) -> list[Model]:
    """Put the classifiers in order, the best ranking first."""
    tallies = once("tallies", lambda: tallies_of(data))
    texts = told_apart([*tallies], NAME)
    models = []
    for text, (key, t) in zip(texts, tallies.items(), strict=True):
        _cases.both_classes(t, "report")
        point, feasible = _cut(t, options)
        found = steps(t, text, point.threshold, len(tallies))
        ask: Callable[[], Estimate] = partial(auc, t, level=options.level)
        a = once(("auc", key, options.level), ask)
        models.append(Model(text, key, t, a, point, found, feasible))
    models.sort(key=lambda m: -m.auc.value)
    if not models[0].feasible:  # say what stops the best one
        _named_cut(models[0], options)
    return models


def _cut(t: Tally, options: ReportOptions) -> tuple[OperatingPoint, bool]:
    """Choose within the constraints, or without them where they cannot be met."""
    if options.at is not None:
        return _given(t, options.at, options.subject_to), True
    try:
        return best_threshold(t, **options.choice, **options.limits), True
    except Infeasible:
        return best_threshold(t, **options.choice), False


def chosen_model(models: Sequence[Model], options: ReportOptions) -> Model:
    """Which classifier is looked at: the one that was chosen, or the best?"""
    if not options.classifier:
        return models[0]
    names = [m.key for m in models]
    _options.choice(options.classifier, names, "classifier")
    return models[names.index(options.classifier)]


def _given(t: Tally, at: float, limits: tuple[Constraint, ...]) -> OperatingPoint:
    """Give the point of a threshold that nobody has to choose."""
    c = confusion(t, at)
    return OperatingPoint(
        threshold=at, interval=(at, at), value=math.nan, confusion=c,
        intervals=((at, at),), binding=(), objective="given", method="given",
        constraints={repr(k): float(k.metric(c)) for k in limits},
        prevalence=t.prevalence,
    )  # fmt: skip


def _named_cut(m: Model, options: ReportOptions) -> None:
    try:
        best_threshold(m.tally, **options.choice, **options.limits)
    except Infeasible as err:
        raise Infeasible(f"{m.name}: {err}" if m.name != UNNAMED else str(err)) from err


def tallies_of(data: Panel | Tally | Mapping[str, Tally]) -> Mapping[str, Tally]:
    """Give each classifier by its name; a tally, which has none, is given one."""
    if isinstance(data, Tally):
        return {UNNAMED: data}
    if isinstance(data, Panel):
        return {name: data[name] for name in data.names}
    return data
