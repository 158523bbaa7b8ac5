"""The threshold that was asked for: the best, a given one, one with a guarantee, two.

``trueness threshold`` asks here; the section of a report, with its slider and its
figures, is made by ``where_to_cut`` from the same choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from trueness._core import numbers
from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError
from trueness.counts.values import Tally
from trueness.findings.advised_threshold import guarantee_for, validate_choice
from trueness.findings.cut_answers import (
    KEYS,
    ON_NEW_CASES,
    POINT_FIELDS,
    VALIDATION_FIELDS,
    CutFinding,
    about_point,
    answer_about_cut,
    certificate_sentences,
    matrix_table,
    metrics_table,
    prevalence_notes,
    promise_notes,
    proof_note,
    validation_notes,
    zones_table,
)
from trueness.findings.how_good import reversed_notes
from trueness.findings.notes import Note, as_notes, note, note_if
from trueness.findings.records import (
    Finding,
    fields_of,
    figure,
    in_groups,
    table,
)
from trueness.findings.request import SWEEP, Request, ThresholdGoal
from trueness.findings.scores_alone import flagged_rate
from trueness.findings.subject import (
    UNNAMED,
    answer_or_none,
    best_for,
    cut_of,
    has_no_labels,
)
from trueness.metrics.definitions import METRICS, SHOWN
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import text_of
from trueness.ranking.areas import auc
from trueness.ranking.figures import score_figure
from trueness.threshold import sentences
from trueness.threshold.constraints import (
    DEFAULT_OBJECTIVE,
    asks_for_two_cuts,
    read_objective,
)
from trueness.threshold.group_cuts import group_thresholds
from trueness.threshold.guarantees import GuaranteedThreshold
from trueness.threshold.operating_point import (
    BY_CAPACITY,
    OperatingPoint,
    best_threshold,
)
from trueness.threshold.rule import AtThreshold, at_threshold, confusion, rule_of
from trueness.threshold.validation import Validation, validate_threshold
from trueness.threshold.zones import best_thresholds


def find_cut(
    t: Tally,
    request: Request,
    groups: Mapping[str, Tally] | None = None,
    name: str = UNNAMED,
) -> CutFinding:
    """Return the answer to what is asked of a threshold, and the choice itself."""
    _check_request(request)

    if has_no_labels(t):
        return _threshold_without_labels(t, request)

    if request.auc is not None:
        raise InputError(
            "An AUC is given for cases without labels; these have labels, which "
            "carry more information.",
            option="auc",
        )

    if request.for_groups and not groups:
        raise InputError(
            "Constraints on differences between groups need groups.",
            option="by",
            example="COLUMN",
        )

    if request.at is not None:
        return _at_given_threshold(t, request, groups or {})
    if request.for_groups:
        return _threshold_for_each_group(t, groups or {}, request)
    if request.guarantee is not None:
        return _threshold_with_guarantee(t, request, request.guarantee)
    if request.pair_goal is None:
        return _best_for_all_cases(t, request)
    return _two_thresholds(t, request, name)


def _check_request(request: Request) -> None:
    """Raise an error where a part of the request would be ignored."""
    ways_to_choose = (
        request.maximize,
        request.minimize,
        request.subject_to,
        request.validate,
        request.guarantee,
    )
    if request.at is not None and any(ways_to_choose):
        raise InputError(
            "With a given threshold there is nothing to choose. Leave out objective, "
            "constraints, validation and guarantee.",
            option="at",
        )

    if request.at is not None and isinstance(request.prevalences, tuple):
        raise InputError(
            "A given threshold needs one prevalence; found a range.",
            option="prevalence",
            example=request.prevalences[0],
        )

    several_thresholds = request.for_groups or request.pair_goal is not None
    has_prevalences = request.prevalences is not None
    if request.at is None and has_prevalences and several_thresholds:
        raise InputError(
            "A range of prevalences is for one threshold; found an objective or a "
            "constraint of several. Name one prevalence.",
            option="prevalence",
        )

    is_no_search = request.at is not None or request.guarantee is not None
    if request.method != SWEEP and (is_no_search or several_thresholds):
        raise InputError(
            f"The method {request.method!r} chooses one threshold for all cases. Leave "
            "it out for a given threshold, a guarantee, groups or two thresholds.",
            option="method",
        )

    if request.guarantee is not None and not request.subject_to:
        raise InputError(
            "A guarantee needs a constraint; found none.",
            option="subject_to",
            example="recall >= 0.9",
        )

    if request.guarantee is not None and request.validate:
        raise InputError(
            "A guarantee includes its own validation. Leave out validation, or the "
            "guarantee."
        )


def _best_for_all_cases(t: Tally, request: Request) -> CutFinding:
    """Return the best threshold, one for all cases."""
    point = best_for(t, request.goal_as_stated, request.prevalences, request.method)
    validation = _validation_of_choice(t, request)
    if validation is not None:
        # with constraints another one, which is expected to keep them on new cases
        point = validation.choice

    if request.prevalences is not None:
        # of a range the numbers are for the prevalence where the threshold is worst
        t = t.with_design(prevalence=point.prevalence)

    estimates = at_threshold(t, point.threshold, level=request.level).metrics
    tables = [matrix_table(point.confusion)]
    flags_nothing = not point.confusion.tp + point.confusion.fp
    if flags_nothing:
        notes = [note("nothing flagged")]
    elif validation is None:
        tables.append(metrics_table(estimates))
        notes = [note("intervals", level=request.level), note("optimistic")]
    else:
        tables.append(metrics_table(validation.metrics, point.confusion))
        notes = validation_notes(validation)

    return answer_about_cut(
        point,
        t,
        {
            **fields_of(point, *POINT_FIELDS),
            "confusion": point.confusion,
            "estimates": estimates,
            "validation": _fields_of_validation(validation),
            "certificate": point.certificate,
        },
        answer=about_point(point),
        tables=tables,
        notes=[
            *notes,
            *as_notes(certificate_sentences(point)),
            *reversed_notes("The score", auc(t, level=request.level)),
            *prevalence_notes(t),
        ],
    )


def _fields_of_validation(validation: Validation | None) -> dict[str, Any] | None:
    """Return the numbers of a validation, or None where there is none."""
    if validation is None:
        return None
    return fields_of(validation, *VALIDATION_FIELDS)


def _threshold_without_labels(t: Tally, request: Request) -> CutFinding:
    """Return a threshold by capacity, or by a known AUC and prevalence; else refuse."""
    if request.at is not None:
        return _cases_flagged_at(t, request)

    goal = request.goal_as_stated
    if request.maximize is None and request.minimize is None:
        # Youden's J needs labels, the number of flagged cases does not
        goal = replace(goal, maximize=None if request.auc else "flagged")

    if request.auc is None and not _asks_for_capacity(goal):
        raise InputError(
            "Without labels a threshold follows from a capacity, from a known AUC with "
            "the prevalence, or from a calibration map.",
            option="subject_to",
            example="flagged <= 500",
        )

    if request.auc is not None and t.design.prevalence is None:
        raise InputError(
            "A known AUC turns ranks into probabilities only with a prevalence.",
            option="prevalence",
            example="0.1",
        )

    point: OperatingPoint = best_threshold(
        t,
        maximize=goal.maximize or DEFAULT_OBJECTIVE,
        minimize=goal.minimize,
        subject_to=goal.subject_to,
        method=SWEEP if request.auc is None else "fermi-dirac",
        auc=request.auc,
    )
    flagged = float(t.unknown[t.score >= point.threshold].sum())

    if request.auc is None:
        cut = cut_of(point)
        lines = [
            note("flag a score", cut=cut),
            note("flagged of all", cut=cut, flagged=flagged, n=t.n),
            *note_if(goal.maximize == "flagged", "as many as allowed"),
        ]

        return answer_about_cut(
            point,
            t,
            fields_of(point, *POINT_FIELDS),
            answer=lines,
            tables=[],
            notes=[note("flagged alone")],
        )

    metrics = {name: float(METRICS[name](point.confusion)) for name in SHOWN}
    rows = [(text_of(name), value) for name, value in metrics.items()]
    assumed_auc = note("known auc", auc=request.auc, prevalence=t.design.prevalence)

    return answer_about_cut(
        point,
        t,
        {
            **fields_of(point, *POINT_FIELDS),
            "confusion": point.confusion,
            "metrics": metrics,
        },
        answer=about_point(point),
        tables=[
            matrix_table(point.confusion),
            table("Metrics", ("metric", "expected"), rows),
        ],
        notes=[assumed_auc, note("no interval")],
    )


def _asks_for_capacity(goal: ThresholdGoal) -> bool:
    """Return whether there are constraints, all on flagged, and so is the objective."""
    objective = read_objective(goal.maximize or DEFAULT_OBJECTIVE, goal.minimize).shown
    constraints = read_constraints(goal.subject_to)
    metrics = (objective, *(constraint.metric for constraint in constraints))
    parts = {part.name for metric in metrics for _, part in metric.parts}
    return bool(constraints) and parts <= BY_CAPACITY


def _cases_flagged_at(t: Tally, request: Request) -> CutFinding:
    """Return how many cases a given threshold flags; nothing else is known."""
    _, threshold = rule_of(request.at).cuts()
    proportion = flagged_rate(t, threshold, request.level)
    flagged = float(t.unknown[t.score >= threshold].sum())
    cut = numbers.cut_text(threshold)

    rows = [(text_of("flagged_rate"), proportion)]
    return answer_about_cut(
        rule_of(request.at),
        t,
        {
            "threshold": threshold,
            "method": "given",
            "estimates": {"flagged_rate": proportion},
        },
        answer=[note("flagged of all", cut=cut, flagged=flagged, n=t.n)],
        tables=[table("Flagged", ("metric", "value"), rows)],
        notes=[note("intervals", level=request.level), note("flagged alone")],
    )


def _validation_of_choice(t: Tally, request: Request) -> Validation | None:
    """Return the validation of one threshold, where that is possible.

    With constraints it is always done, since they are to hold on new cases. A program
    that is solved (``method``) is about the cases at hand.
    """
    goal = request.goal_as_stated

    if request.method != SWEEP:
        return _validate_if_requested(t, request)

    validate = partial(validate_choice, t, goal, request, request.prevalences)

    if request.validate:
        return validate()
    if not goal.subject_to or not (t.n_pos and t.n_neg):
        return None
    return answer_or_none(validate)


def _validate_if_requested(
    data: Tally | Mapping[str, Tally], request: Request
) -> Validation | None:
    """Return the validation of the chosen threshold, or None where none is wanted."""
    if not request.validate:
        return None

    cases: Any = data  # constraints on groups have one answer for all of them
    goal = request.goal_as_stated
    validation: Validation = validate_threshold(
        cases,
        maximize=goal.maximize,
        minimize=goal.minimize,
        subject_to=goal.subject_to,
        prevalences=request.prevalences,
        level=request.level,
        rng=request.rng,
    )

    return validation


def _at_given_threshold(
    t: Tally, request: Request, groups: Mapping[str, Tally]
) -> CutFinding:
    """Return what a threshold, or a rule, does that was chosen beforehand."""
    both_classes(t, "threshold")
    rule = rule_of(request.at)
    data: Tally | dict[str, Tally] = t
    if rule.groups:
        data = {group: groups[group] for group in groups if group in rule.groups}

    evaluation = cast("AtThreshold", at_threshold(data, rule, level=request.level))
    tables = [matrix_table(evaluation.confusion), metrics_table(evaluation.metrics)]
    if rule.groups:
        rows = [(group, numbers.cut_text(rule.cuts(group)[1])) for group in rule.groups]
        tables.insert(0, table("Thresholds", ("group", "threshold"), rows))

    prevalence = t.design.prevalence
    if prevalence is None:
        prevalence = t.prevalence

    code = "flagging" if isinstance(request.at, float) else "by rule"
    cut = numbers.cut_text(evaluation.threshold)
    return answer_about_cut(
        evaluation,
        t,
        {
            "threshold": evaluation.threshold,
            "prevalence": prevalence,
            "method": "given",
            "estimates": evaluation.metrics,
            "confusion": evaluation.confusion,
            "notes": evaluation.notes,
        },
        answer=[note(code, cut=cut, rule=repr(rule))],
        tables=tables,
        notes=[
            note("intervals", level=request.level),
            note("given beforehand"),
            *note_if(rule.defers, "decided", share=evaluation.metrics.get("defer")),
            *prevalence_notes(t),
            *as_notes(evaluation.notes),
        ],
    )


def _threshold_with_guarantee(
    t: Tally, request: Request, confidence: float
) -> CutFinding:
    """Return one threshold, or two, whose constraints hold with a confidence."""
    two_thresholds = asks_for_two_cuts(request.subject_to)
    guarantee = guarantee_for(
        t,
        ThresholdGoal(
            None if two_thresholds else request.maximize,
            None if two_thresholds else request.minimize,
            request.subject_to,
        ),
        request.subject_to,
        confidence=confidence,
        rng=request.rng,
    )
    if two_thresholds:
        return _two_with_guarantee(t, guarantee)

    # a guarantee is about the cases as they were drawn
    as_drawn = t.without_design()
    evaluation = at_threshold(as_drawn, guarantee.threshold, level=request.level)
    counts = confusion(t, guarantee.threshold)

    objective = None
    if request.maximize is not None:
        objective = f"maximize {request.maximize}"
    if request.minimize is not None:
        objective = f"minimize {request.minimize}"

    return answer_about_cut(
        guarantee,
        t,
        {
            **fields_of(guarantee, "threshold", "score_range", "method", "notes"),
            "prevalence": t.prevalence,
            "guarantee": fields_of(guarantee, "level", "proofs"),
            "objective": objective,
            "constraints": {
                proof.constraint.split()[0]: proof.value for proof in guarantee.proofs
            },
            "binding": [],
            "score_ranges": [guarantee.score_range],
            "confusion": counts,
            "estimates": evaluation.metrics,
        },
        answer=[
            note("flag a score", cut=numbers.cut_text(guarantee.threshold)),
            *promise_notes(guarantee),
            *map(proof_note, guarantee.proofs),
        ],
        tables=[matrix_table(counts), metrics_table(evaluation.metrics)],
        notes=[note("two-sided", level=request.level), *as_notes(guarantee.notes)],
    )


def _two_with_guarantee(t: Tally, guarantee: GuaranteedThreshold) -> CutFinding:
    """Return the answer about two thresholds whose constraints are guaranteed."""
    return answer_about_cut(
        guarantee,
        t,
        {
            "prevalence": t.prevalence,
            "notes": guarantee.notes,
            "guarantee": fields_of(guarantee, "level", "proofs"),
            "constraints": {
                proof.constraint: proof.value for proof in guarantee.proofs
            },
            "method": "guaranteed pair of thresholds",
            "zones": guarantee.to_dict(),
        },
        answer=as_notes([sentences.guaranteed_zone_sentence(guarantee)]),
        tables=[zones_table(guarantee)],
    )


def _two_thresholds(t: Tally, request: Request, name: str) -> CutFinding:
    """Return the two best thresholds; cases between them are deferred."""
    goal = request.goal_as_stated
    zones = best_thresholds(
        t,
        maximize=goal.maximize,
        minimize=goal.minimize,
        subject_to=goal.subject_to,
    )

    validation = _validate_if_requested(t, request)
    tables = [zones_table(zones)]
    notes: list[Note] = []
    if validation is not None:
        tables.append(table("On new cases", ON_NEW_CASES, validation.metrics.items()))
        notes = [*as_notes([sentences.zone_check(validation)]), note("above and below")]

    scores_and_thresholds = figure(
        "Scores and deferred cases",
        score_figure({name: t.labelled()}),
        order=(name,),
        at=(zones.lower, zones.upper),
    )
    all_of_validation = validation.to_dict() if validation is not None else None

    return answer_about_cut(
        zones,
        t,
        {
            **fields_of(
                zones, "objective", "value", "constraints", "prevalence", "notes"
            ),
            "method": "pair of thresholds, exact",
            "zones": zones.to_dict() | {"validation": all_of_validation},
        },
        answer=as_notes(sentences.zone_sentences(zones)),
        tables=tables,
        notes=notes,
        key="zones",
        figures=(scores_and_thresholds,),
    )


def _threshold_for_each_group(
    t: Tally, groups: Mapping[str, Tally], request: Request
) -> CutFinding:
    """Return a threshold for each group, with constraints on their differences."""
    goal = request.goal_as_stated
    cuts = group_thresholds(
        groups,
        maximize=goal.maximize or DEFAULT_OBJECTIVE,
        minimize=goal.minimize,
        subject_to=goal.subject_to,
        level=request.level,
    )

    validation = _validate_if_requested(groups, request)
    tables = [table("Thresholds", sentences.GROUP_HEAD, sentences.group_rows(cuts))]
    notes = list(as_notes(cuts.notes))
    if validation is not None:
        rows = [
            (text_of(name), validation.metrics[name])
            for name in (*SHOWN, *cuts.gaps)
            if name in validation.metrics
        ]
        tables.append(table("On new cases", ON_NEW_CASES, rows))
        notes += as_notes([sentences.zone_check(validation)])

    numbers_of_groups = {}
    for group in groups:
        numbers_of_groups[group] = {
            # a group has every key but the certificate, which is of all together
            **dict.fromkeys(KEYS[:-1]),
            "threshold": cuts.thresholds[group],
            "score_range": cuts.score_ranges[group],
            "confusion": cuts.confusions[group],
        }

    certainty = "best threshold found within the time limit"
    if cuts.proved:
        certainty = "proved optimal"

    return answer_about_cut(
        cuts,
        t,
        {
            **fields_of(cuts, "objective", "value", "constraints", "notes"),
            "method": f"a threshold for each group, {certainty}",
            "group_cuts": cuts.to_dict(),
            "validation": _fields_of_validation(validation),
            "groups": numbers_of_groups,
        },
        answer=as_notes(sentences.group_sentences(cuts)),
        tables=tables,
        notes=notes,
        key="group-cuts",
    )


def with_groups(
    of_all_cases: Finding, of_groups: Mapping[str, Finding | None], column: str
) -> Finding:
    """Return an answer with the threshold of each group if it were alone.

    ``column`` made the groups; a group without an answer is None.
    """
    if not of_groups:
        return of_all_cases

    rows = [_row_of_group(name, answer) for name, answer in of_groups.items()]
    flagged = "flagged" if of_all_cases.answer[0].code == "cases" else "weight flagged"
    head = (column, "threshold", "objective", "recall", "precision", flagged)
    by_group = table(f"The best threshold for each {column} alone", head, rows)

    numbers_of_groups: dict[str, Any] = {}
    for name, answer in of_groups.items():
        numbers_of_groups[name] = None
        if answer is not None:
            # groups have no groups of their own
            without_groups = dict(answer.numbers)
            without_groups.pop("groups", None)
            numbers_of_groups[name] = without_groups

    return in_groups(of_all_cases, numbers_of_groups, by_group)


def _row_of_group(name: str, answer_in_group: Finding | None) -> tuple[Any, ...]:
    """Return the threshold of a group, and what it does there; None if unknown."""
    values = answer_in_group.numbers if answer_in_group else {}
    counts = values.get("confusion")
    if counts is None:
        return name, None, None, None, None, None

    flagged = counts.tp + counts.fp
    cut = "flag nothing"
    if flagged:
        cut = numbers.cut_text(values["threshold"], values["score_range"])

    metrics = values["metrics"]

    return (
        name,
        cut,
        values["value"],
        metrics.get("recall"),
        metrics.get("precision"),
        int(flagged),
    )
