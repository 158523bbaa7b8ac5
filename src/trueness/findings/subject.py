"""What is asked, and of which classifiers? Counts, request, and what is known so far.

A ``Subject`` is counts with the request that is answered from them. What several
questions need (the classifiers in order, what is left of a threshold on new
cases) is worked out here, once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, final

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import (
    Infeasible,
    InputError,
    NotEnoughCases,
    UnsupportedDesign,
)
from trueness._core.names import distinguishable_names
from trueness._core.numbers import cut_text
from trueness._core.records import Estimate
from trueness.counts.groups import with_each_column
from trueness.counts.values import Panel, Tally
from trueness.findings.memory import (
    Memory,
    Model,
    ModelOrder,
    ScoreAtLevel,
    ScoreAtThreshold,
    ScoreWithBands,
    ThresholdEvaluation,
    ValidatedChoice,
)
from trueness.findings.notes import Note, note_if
from trueness.findings.request import SWEEP, Request, ThresholdGoal
from trueness.ranking.areas import auc, auc_measure
from trueness.threshold.constraints import DEFAULT_OBJECTIVE
from trueness.threshold.prevalences import Prevalences, read_prevalence
from trueness.threshold.rule import AtThreshold, at_threshold, confusion, rule_of

# Choosing and validating thresholds, and calibration, are loaded by the properties that
# need them: ``trueness evaluate`` measures without them.
if TYPE_CHECKING:
    from trueness.findings.meaning import Meaning
    from trueness.findings.slider_steps import Steps
    from trueness.threshold.guarantees import GuaranteedThreshold
    from trueness.threshold.operating_point import OperatingPoint
    from trueness.threshold.validation import Validation

T = TypeVar("T")
Counts = Panel | Tally | Mapping[str, Tally]  # tallies by the name of the classifier
NAME = 60  # letters of the name of a classifier
UNNAMED = "the classifier"  # what a tally, which has no name, is called
MOST_MODELS = 20  # classifiers that a page can show; they are compared pairwise
MOST_GROUPS = 30
DEFAULT_REQUEST = Request()
Groups = Mapping[Any, Panel | Tally] | None


@final
@dataclass(frozen=True)
class Subject:
    """Counts, what is asked of them, and what was worked out so far.

    ``data`` may be tallies by name, where counts of all classifiers together would be
    too many; questions that need the same cases are then left out. ``memory`` may be
    shared by subjects of the same counts.
    """

    data: Counts
    request: Request
    groups: Mapping[Any, Counts] | None = None
    sites: Mapping[Any, Counts] | None = None  # groups that are a sample of sites
    memory: Memory = field(default_factory=Memory)

    @property
    def cases(self) -> Panel | Tally:
        """Something that knows how many cases there are."""
        if isinstance(self.data, Mapping):
            return next(iter(self.data.values()))
        return self.data

    @property
    def cluster_notes(self) -> tuple[Note, ...]:
        """Say that cases belong together, by what they have in common."""
        cluster_name = self.request.cluster or "cluster"
        return note_if(
            self.cases.clusters is not None, "clusters", cluster=cluster_name
        )

    @property
    def several(self) -> bool:
        """Return whether there are several classifiers on the same cases."""
        return isinstance(self.data, Panel) and len(self.data.names) > 1

    @property
    def by(self) -> str:
        """What groups are called."""
        return self.request.by or "group"

    @property
    def models(self) -> list[Model]:
        """The classifiers, the best one first."""
        request = self.request
        order = ModelOrder(request.level, str(request.rng), request.threshold_choice)
        return self.memory.models.get_or_compute(order, lambda: _models(self))

    @property
    def best(self) -> Model:
        """The classifier that advice is about."""
        return self.models[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The classifiers as they are shown, in order."""
        return tuple(m.name for m in self.models)

    @property
    def tallies_by_key(self) -> Mapping[str, Tally]:
        """The counts of each classifier, by the name that it has in the data."""
        return self.memory.tallies.get_or_compute(None, lambda: tallies_of(self.data))

    @property
    def tallies(self) -> dict[str, Tally]:
        """The counts of each classifier, by the name that is shown."""
        return {m.name: m.tally for m in self.models}

    @property
    def named_model(self) -> Model:
        """The classifier that was named, or the best one."""
        if not self.request.classifier:
            return self.best
        keys = [m.key for m in self.models]
        _options.choice(self.request.classifier, keys, "classifier")
        return self.models[keys.index(self.request.classifier)]

    @property
    def evaluation(self) -> ThresholdEvaluation:
        """What remains of the threshold of the best classifier on new cases."""
        request = self.request
        best = self.best

        if request.at is not None:
            evaluated: AtThreshold = at_threshold(
                best.tally, request.at, level=request.level
            )
            return evaluated

        if self.guarantee_of(best.key, best.tally):
            # a guaranteed threshold has its proof; rates there take it as fixed
            evaluation_with_proof: AtThreshold = at_threshold(
                best.tally, best.point.threshold, level=request.level
            )
            return evaluation_with_proof

        if not best.feasible:
            return None
        if not request.replicates and not request.constraints:
            return None
        return self.validation_of(best.key, best.tally)

    def validation_of(self, score: str, tally: Tally) -> Validation | None:
        """Validate the threshold of a classifier; None where it cannot be done."""
        from trueness.findings.advised_threshold import validate_choice

        validate = partial(
            validate_choice, tally, self.request.single_goal, self.request
        )
        return self.memory.validations.get_or_compute(
            self._validated_choice(score), lambda: answer_or_none(validate)
        )

    def guarantee_of(self, score: str, tally: Tally) -> GuaranteedThreshold | None:
        """Find the threshold with the guarantee that was asked for; None without."""
        request = self.request
        if request.guarantee is None or not request.constraints:
            return None

        from trueness.findings.advised_threshold import guarantee_for

        find = partial(
            guarantee_for,
            tally,
            request.stated_goal,
            request.constraints,
            confidence=request.guarantee,
            rng=request.rng,
        )

        return self.memory.guarantees.get_or_compute(
            self._validated_choice(score), find
        )

    def _validated_choice(self, score: str) -> ValidatedChoice:
        request = self.request
        return ValidatedChoice(
            score, request.level, str(request.rng), request.threshold_choice
        )

    def area(self, score: str, tally: Tally) -> Estimate:
        """AUC of a score, which is known by its name."""
        level = self.request.level
        return self.memory.areas.get_or_compute(
            ScoreAtLevel(score, level), partial(auc, tally, level=level)
        )

    def meaning_of(self, model: Model) -> Meaning | None:
        """How well a classifier is calibrated; None where that cannot be measured."""
        if not model.is_probability:
            return None

        from trueness.findings.meaning import measure_meaning

        precision = self.request.precision
        measure = partial(measure_meaning, model.tally, precision)
        return self.memory.meanings.get_or_compute(
            ScoreWithBands(model.key, precision), lambda: answer_or_none(measure)
        )

    @property
    def steps(self) -> list[Steps]:
        """Where the slider of each classifier stops."""
        return [self._steps_of(model) for model in self.models]

    def _steps_of(self, model: Model) -> Steps:
        """Return where the slider of one classifier stops."""
        from trueness.findings.slider_steps import steps

        choose = partial(
            steps,
            model.tally,
            model.name,
            model.point.threshold,
            len(self.models),
        )
        at_threshold = ScoreAtThreshold(model.key, self.request.threshold_choice)
        return self.memory.steps.get_or_compute(at_threshold, choose)


def answer_or_none(ask: Callable[[], T]) -> T | None:
    """Ask, and take None when there are too few cases, or cases of the wrong kind.

    A report on few cases, or on weighted ones, says what can be said, and leaves the
    rest out.
    """
    try:
        return ask()
    except (NotEnoughCases, UnsupportedDesign):
        return None


def check_metrics(request: Request) -> None:
    """Raise an error where the objective or a constraint cannot be read."""
    # both are read when they are asked for
    _ = request.objective
    _ = request.constraints


def check_request(request: Request, data: Panel | Tally) -> Request:
    """Return the request, checked, with the prevalence of the cases."""
    if not hasattr(data, "design"):
        _cases.one_classifier(data, "An evaluation")

    level = _options.fraction(request.level, "level")
    at = request.at
    if at is not None:
        at = _options.real_number(at, "at")

    prevalence = data.design.prevalence or (data.prevalence if data.n_pos else 0.5)
    request = replace(request, level=level, at=at, prevalence_in_sample=prevalence)

    if request.guarantee is not None:
        from trueness.findings.advised_threshold import check_guarantee

        check_guarantee(request)

    chooses_a_threshold = request.maximize or request.minimize or request.pair_goal
    if at is not None and (chooses_a_threshold or request.group_constraints):
        raise InputError(
            "With a given threshold there is nothing to choose. Leave out maximize, "
            "minimize and constraints on two thresholds or on groups.",
            option="at",
        )

    read_prevalence(request.prevalences)
    check_metrics(request)

    return request


def subject(
    data: Counts,
    request: Request = DEFAULT_REQUEST,
    *,
    groups: Mapping[Any, Counts] | None = None,
    sites: Mapping[Any, Counts] | None = None,
    memory: Memory | None = None,
) -> Subject:
    """Put counts together with what is asked of them, which is checked."""
    first = next(iter(data.values())) if isinstance(data, Mapping) else data
    return Subject(
        data,
        check_request(request, first),
        groups=groups,
        sites=sites,
        memory=Memory() if memory is None else memory,
    )


def tallies_of(data: Counts) -> Mapping[str, Tally]:
    """Return each classifier by its name; a tally, which has none, is given one."""
    if isinstance(data, Tally):
        return {UNNAMED: data}
    if isinstance(data, Panel):
        return {name: data[name] for name in data.names}
    return data


def has_no_labels(data: Panel | Tally) -> bool:
    """Return whether no case has a label, and none is expected."""
    labelled = bool(data.n_pos or data.n_neg)
    return not labelled and not data.labels_expected and data.n_unknown > 0


def _models(subject: Subject) -> list[Model]:
    """Put the classifiers in order: by the objective if one was stated, else by AUC."""
    request = subject.request
    tallies = subject.tallies_by_key
    models = []
    shown_names = distinguishable_names([*tallies], NAME)

    for name, (key, tally) in zip(shown_names, tallies.items(), strict=True):
        _cases.both_classes(tally, "report")
        point, feasible = _threshold_of(tally, request)
        models.append(
            Model(
                name=name,
                key=key,
                tally=tally,
                auc=subject.area(key, tally),
                point=point,
                feasible=feasible,
            )
        )

    by_objective = request.stated_goal is not None and request.at is None
    sign = 1 if request.minimizes else -1

    def order(model: Model) -> tuple[float, ...]:
        value = sign * model.point.value if by_objective else 0.0
        if math.isnan(value):
            value = math.inf  # undefined ones are last
        return (not model.feasible, value, -model.auc.value)

    models.sort(key=order)
    best = models[0]
    if not best.feasible:
        _say_what_is_infeasible(best, request)

    if request.at is not None or not request.constraints:
        return models

    # the best one raises the error that says why it cannot keep them
    advised = [replace(best, point=_advised_point(subject, best))]
    return advised + [_with_advised_point(subject, model) for model in models[1:]]


def _with_advised_point(subject: Subject, model: Model) -> Model:
    """Give a classifier its advised threshold; say so where there is none."""
    if not model.feasible:
        return model

    try:
        return replace(model, point=_advised_point(subject, model))
    except Infeasible:
        without_constraints = replace(subject.request.single_goal, subject_to=())
        point = best_for(model.tally, without_constraints)
        return replace(model, point=point, feasible=False)


def _advised_point(subject: Subject, model: Model) -> OperatingPoint:
    """Return the threshold that is to keep the constraints.

    They are guaranteed where that was asked for, and otherwise expected to hold on new
    cases.
    """
    guarantee = subject.guarantee_of(model.key, model.tally)
    if guarantee is not None:
        from trueness.findings.advised_threshold import point_of_guarantee

        return point_of_guarantee(model.tally, guarantee)

    validation = subject.validation_of(model.key, model.tally)
    if validation is None:
        return model.point

    point: OperatingPoint = validation.choice
    return point


def _say_what_is_infeasible(best: Model, request: Request) -> None:
    """Raise the error that says which constraint the best classifier cannot meet."""
    try:
        best_for(best.tally, request.single_goal)
    except Infeasible as err:
        prefix = "" if best.name == UNNAMED else f"{best.name}: "
        raise err.rephrased(message=f"{prefix}{err.message}") from err


def best_for(
    tally: Tally,
    goal: ThresholdGoal,
    prevalences: Prevalences = None,
    method: str = SWEEP,
) -> OperatingPoint:
    """Best threshold for an objective and its constraints."""
    from trueness.threshold.operating_point import best_threshold

    point: OperatingPoint = best_threshold(
        tally,
        maximize=goal.maximize or DEFAULT_OBJECTIVE,
        minimize=goal.minimize,
        subject_to=goal.subject_to,
        prevalences=prevalences,
        method=method,
    )

    return point


def _threshold_of(tally: Tally, request: Request) -> tuple[OperatingPoint, bool]:
    """Choose within the constraints, or without them where they cannot be met."""
    if request.at is None:
        goal = request.single_goal
        try:
            return best_for(tally, goal), True
        except Infeasible:
            return best_for(tally, replace(goal, subject_to=())), False

    # nothing is to be chosen
    from trueness.threshold.operating_point import OperatingPoint

    _, threshold = rule_of(request.at).cuts()
    counts = confusion(tally, threshold)
    in_use = OperatingPoint(
        threshold=threshold,
        score_range=(threshold, threshold),
        value=math.nan,
        confusion=counts,
        score_ranges=((threshold, threshold),),
        binding=(),
        objective="given",
        method="given",
        constraints={repr(c): float(c.metric(counts)) for c in request.constraints},
        prevalence=tally.prevalence,
    )

    return in_use, True


def strongest_classifiers(data: Counts, kept_name: str) -> tuple[Counts, str]:
    """Return the classifiers with the highest AUC, and a remark on those left out.

    The one called ``kept_name`` stays. A page on hundreds would take hours to make, and
    nobody would read it.
    """
    if not isinstance(data, Panel) or not (data.n_pos and data.n_neg):
        return data, ""

    number = len(data.names)
    if number <= MOST_MODELS:
        return data, ""

    area_of = {}
    for name in data.names:
        area_of[name] = auc_measure(data[name].labelled()).value

    # False sorts first: the one to be kept is never left out
    best_first = sorted(area_of, key=lambda name: (name != kept_name, -area_of[name]))
    strongest_names = set(best_first[:MOST_MODELS])
    # in the order of the data
    names = [name for name in data.names if name in strongest_names]
    remark = (
        f"the {len(names)} of {number} scores with the highest AUC; "
        f"{number - len(names)} were left out"
    )
    return data[names], remark


def largest_groups(groups: Groups) -> tuple[Groups, str]:
    """Return the largest groups, and a remark on how many were left out."""
    if groups is None or len(groups) <= MOST_GROUPS:
        return groups, ""

    largest_first = sorted(groups, key=lambda group: -groups[group].n)
    names = set(largest_first[:MOST_GROUPS])
    # in the order of the data
    large_groups = {group: groups[group] for group in groups if group in names}
    remark = (
        f"the {len(large_groups)} largest of {len(groups)}; "
        f"{len(groups) - len(large_groups)} were left out"
    )
    return large_groups, remark


def cut_of(point: OperatingPoint) -> str:
    """Write a threshold, with as many digits as it takes to flag the same cases."""
    if math.isinf(point.threshold):
        return "flag nothing"
    return cut_text(point.threshold, point.score_range)


def named_groups(
    subject: Subject, key: str, *, each_column: bool = False
) -> dict[str, Tally]:
    """Return the counts of one classifier in each group, by the name that is shown.

    With ``each_column``, groups of several columns have also those of each column
    alone, which share cases with the others.
    """
    groups = _of_classifier(subject.groups or {}, key)
    return _by_shown_name(with_each_column(groups) if each_column else groups)


def named_sites(subject: Subject, key: str) -> dict[str, Tally]:
    """Return the counts of one classifier at each site, by the name that is shown."""
    return _by_shown_name(_of_classifier(subject.sites or {}, key))


def _of_classifier(groups: Mapping[Any, Any], key: str) -> dict[Any, Tally]:
    """Return the counts of one classifier in each group."""
    return {g: x if isinstance(x, Tally) else x[key] for g, x in groups.items()}


def _by_shown_name(groups: Mapping[Any, Tally]) -> dict[str, Tally]:
    """Return the counts of each group by the name that is shown."""
    texts = distinguishable_names([str(g) for g in groups], NAME)
    return dict(zip(texts, groups.values(), strict=True))
