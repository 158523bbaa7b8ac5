"""Which threshold was asked for? The best one, a given one, one with a guarantee, two.

``trueness threshold`` asks here; the section of a report, with its slider and its
figures, is made by ``where_to_cut`` from the same choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from trueness._core import numbers
from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError
from trueness._core.records import Estimate
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Tally
from trueness.findings.advised_threshold import guarantee_for, validate_choice
from trueness.findings.how_good import cases_note, turned
from trueness.findings.notes import Note, as_notes, note, note_if
from trueness.findings.records import (
    Figure,
    Finding,
    Table,
    fields_of,
    figure,
    finding,
    in_groups,
    table,
)
from trueness.findings.request import SWEEP, Request, ThresholdGoal
from trueness.findings.scores_alone import flagged_rate
from trueness.findings.subject import (
    UNNAMED,
    best_for,
    cut_of,
    has_no_labels,
    possible,
)
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS, SHOWN
from trueness.metrics.grammar import cases_of, is_proportion, text_of
from trueness.metrics.grammar import constraints as read_constraints
from trueness.ranking.areas import auc
from trueness.ranking.figures import score_figure
from trueness.threshold import sentences
from trueness.threshold.constraints import (
    DEFAULT_OBJECTIVE,
    asks_for_two_cuts,
    read_objective,
)
from trueness.threshold.group_cuts import group_thresholds
from trueness.threshold.guarantees import GuaranteedThreshold, Proof
from trueness.threshold.operating_point import (
    BY_CAPACITY,
    OperatingPoint,
    best_threshold,
)
from trueness.threshold.rule import HoldsRule, Rule, at_threshold, confusion, rule_of
from trueness.threshold.validation import Validation, validate_threshold
from trueness.threshold.zones import Zones, best_thresholds

CutFinding = tuple[Finding, Any]  # what was found, and the choice itself, to be drawn
POINT = (
    *("threshold", "score_range", "objective", "value", "constraints", "binding"),
    *("score_ranges", "prevalence", "method", "notes"),
)
# every key of an answer; None where there is nothing to say
KEYS = (
    *POINT,
    *("confusion", "metrics", "estimates", "validation", "guarantee", "zones"),
    *("group_cuts", "groups", "certificate"),
)
NEW = ("metric", "on new cases")  # what to expect of the rule that was chosen
VALIDATION = (
    *("thresholds", "corrected", "optimism", "metrics", "holds", "failure_rate"),
    *("prevalence", "notes"),
)


def find_cut(
    t: Tally,
    request: Request,
    groups: Mapping[str, Tally] | None = None,
    name: str = UNNAMED,
) -> CutFinding:
    """Answer what is asked of a threshold; stop at what does not go together."""
    _fits(request)

    if has_no_labels(t):
        return _without_labels(t, request)

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

    if request.threshold is not None:
        return _given(t, request, groups or {})
    if request.for_groups:
        return _of_groups(t, groups or {}, request)
    if request.guarantee is not None:
        return _promised(t, request, request.guarantee)
    if request.pair_goal is None:
        return _best(t, request)
    return _two(t, request, name)


def _fits(request: Request) -> None:
    """Stop at what would be left out silently."""
    chosen = (
        request.maximize,
        request.minimize,
        request.subject_to,
        request.validate,
        request.guarantee,
    )
    if request.threshold is not None and any(chosen):
        raise InputError(
            "With a given threshold there is nothing to choose. Leave out objective, "
            "constraints, validation and guarantee.",
            option="threshold",
        )

    if request.threshold is not None and isinstance(request.prevalences, tuple):
        raise InputError(
            "A given threshold needs one prevalence; found a range.",
            option="prevalence",
            example=request.prevalences[0],
        )

    several = request.for_groups or request.pair_goal is not None
    if request.threshold is None and request.prevalences is not None and several:
        raise InputError(
            "A range of prevalences is for one threshold; found an objective or a "
            "constraint of several. Name one prevalence.",
            option="prevalence",
        )

    other = request.threshold is not None or request.guarantee is not None or several
    if request.method != SWEEP and other:
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


def _answer_about_cut(
    choice: Rule | HoldsRule,
    t: Tally,
    answer: Iterable[Note],
    tables: Iterable[Table],
    mind: Iterable[Note] = (),
    *,
    key: str = "threshold",
    figures: tuple[Figure, ...] = (),
    **known: Any,
) -> CutFinding:
    """Put an answer about a threshold together, with every key of its numbers."""
    values = dict.fromkeys(KEYS) | {"groups": {}} | known
    if values["estimates"] is not None:
        values["metrics"] = {k: e.value for k, e in values["estimates"].items()}

    answered = finding(
        key,
        values,
        answer=(cases_note(t), *answer),
        notes=tuple(mind),
        tables=tuple(tables),
        figures=figures,
    )

    return answered, choice


def _best(t: Tally, request: Request) -> CutFinding:
    """Choose one threshold for all cases."""
    point = best_for(t, request.goal_as_stated, request.prevalences, request.method)
    checked = _validated_choice(t, request)
    if checked is not None:
        # with constraints another one, which is expected to keep them on new cases
        point = checked.choice

    if request.prevalences is not None:
        # of a range the numbers are for the prevalence where the threshold is worst
        t = t.with_design(prevalence=point.prevalence)

    estimates = at_threshold(t, point.threshold, level=request.level).metrics
    tables = [_matrix(point.confusion)]
    flags_nothing = not point.confusion.tp + point.confusion.fp
    if flags_nothing:
        mind = [note("nothing flagged")]
    elif checked is None:
        tables.append(_metrics(estimates))
        mind = [note("intervals", level=request.level), note("optimistic")]
    else:
        tables.append(_metrics(checked.metrics, point.confusion))
        mind = _notes_of_validation(checked)

    return _answer_about_cut(
        point,
        t,
        about_point(point),
        tables,
        [
            *mind,
            *as_notes(_certified(point)),
            *turned("The score", auc(t, level=request.level)),
            *_for_prevalence(t),
        ],
        confusion=point.confusion,
        estimates=estimates,
        validation=checked and fields_of(checked, *VALIDATION),
        certificate=point.certificate,
        **fields_of(point, *POINT),
    )


def _notes_of_validation(checked: Validation) -> list[Note]:
    """Say what to expect of the threshold on new cases, and where it would lie."""
    corrected = checked.corrected
    threshold = checked.threshold

    return [
        note("optimistic"),
        note(
            "expect",
            value=corrected.value,
            low=corrected.low,
            high=corrected.high,
            instead=checked.value,
        ),
        note(
            "chosen again",
            level=threshold.level,
            low=numbers.cut_text(threshold.low),
            high=numbers.cut_text(threshold.high),
        ),
        *as_notes(_expected_constraints(checked)),
    ]


def _without_labels(t: Tally, request: Request) -> CutFinding:
    """Choose by capacity, or by an AUC and a prevalence that are known; else refuse."""
    if request.threshold is not None:
        return _flagged_at(t, request)

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
            "With a known AUC, ranks mean something once the prevalence is known.",
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

        return _answer_about_cut(
            point, t, lines, [], [note("flagged alone")], **fields_of(point, *POINT)
        )

    metrics = {m: float(METRICS[m](point.confusion)) for m in SHOWN}
    rows = [(text_of(name), value) for name, value in metrics.items()]
    assumed_auc = note("known auc", auc=request.auc, prevalence=t.design.prevalence)

    return _answer_about_cut(
        point,
        t,
        about_point(point),
        [_matrix(point.confusion), table("Metrics", ("metric", "expected"), rows)],
        [assumed_auc, note("no interval")],
        confusion=point.confusion,
        metrics=metrics,
        **fields_of(point, *POINT),
    )


def _asks_for_capacity(goal: ThresholdGoal) -> bool:
    """Return whether there are constraints, all on flagged, and so is the objective."""
    objective = read_objective(goal.maximize or DEFAULT_OBJECTIVE, goal.minimize).shown
    constraints = read_constraints(goal.subject_to)
    metrics = (objective, *(c.metric for c in constraints))
    parts = {part.name for metric in metrics for _, part in metric.parts}
    return bool(constraints) and parts <= BY_CAPACITY


def _flagged_at(t: Tally, request: Request) -> CutFinding:
    """Say how many cases a given threshold flags; nothing else is known."""
    _, threshold = rule_of(request.threshold).cuts()
    proportion = flagged_rate(t, threshold, request.level)
    flagged = float(t.unknown[t.score >= threshold].sum())
    cut = numbers.cut_text(threshold)

    return _answer_about_cut(
        rule_of(request.threshold),
        t,
        [note("flagged of all", cut=cut, flagged=flagged, n=t.n)],
        [
            table(
                "Flagged", ("metric", "value"), [(text_of("flagged_rate"), proportion)]
            )
        ],
        [note("intervals", level=request.level), note("flagged alone")],
        threshold=threshold,
        method="given",
        estimates={"flagged_rate": proportion},
    )


def _certified(point: OperatingPoint) -> list[str]:
    """Say what the solver of a 0-1 program certifies."""
    proof = point.certificate
    if proof is None:
        return []

    return [
        f"{proof.solver} solved a 0-1 program with {proof.binaries:,} binary "
        f"variables and proved that no threshold exceeds {proof.bound:.6g}."
    ]


def _expected_constraints(checked: Validation) -> list[str]:
    """Say what to expect of the constraints on new cases."""
    return [
        *sentences.missed_constraint_sentences(checked),
        *sentences.kept_constraint_sentences(checked),
        *sentences.rarely_met_constraint_sentences(checked),
    ]


def _validated_choice(t: Tally, request: Request) -> Validation | None:
    """Choose one threshold, and validate it where that is possible.

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
    return possible(validate)


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


def about_point(point: OperatingPoint) -> list[Note]:
    """Say where the threshold is, what is reached there, and what limits it."""
    lines = [note("flag nothing")]
    if not np.isposinf(point.threshold):
        _, low, high = numbers.cut_texts(point.threshold, point.score_range)
        lines = [
            note("flag a score", cut=cut_of(point)),
            note("same cases", low=low, high=high),
        ]

    objective = sentences.objective_of(point.objective)
    share = ""
    if point.sampling != CASE_CONTROL:
        share = f", at a prevalence of {numbers.percent(point.prevalence)}"

    other_thresholds = len(point.score_ranges) - 1
    are = numbers.counted(
        other_thresholds, "other threshold is", "other thresholds are"
    )

    return [
        *lines,
        note("then is", what=objective, value=point.value, share=share),
        *as_notes([*point.notes, *sentences.limiting_constraint_sentences(point)]),
        *note_if(other_thresholds > 0, "ties", are=are),
    ]


def _for_prevalence(t: Tally) -> tuple[Note, ...]:
    """Say for which prevalence metrics are, where it is not that of the cases."""
    wanted = t.design.prevalence
    return note_if(
        wanted is not None,
        "metrics for prevalence",
        wanted=wanted,
        share=t.prevalence,
    )


def _given(t: Tally, request: Request, groups: Mapping[str, Tally]) -> CutFinding:
    """Evaluate a threshold, or a rule, that was chosen beforehand."""
    both_classes(t, "threshold")
    rule = rule_of(request.threshold)
    data: Tally | dict[str, Tally] = t
    if rule.groups:
        data = {group: groups[group] for group in groups if group in rule.groups}

    evaluated: Any = at_threshold(data, rule, level=request.level)
    share = t.design.prevalence
    code = "flagging" if isinstance(request.threshold, float) else "by rule"
    tables = [_matrix(evaluated.confusion), _metrics(evaluated.metrics)]

    if rule.groups:
        rows = [(group, numbers.cut_text(rule.cuts(group)[1])) for group in rule.groups]
        tables.insert(0, table("Thresholds", ("group", "threshold"), rows))

    return _answer_about_cut(
        evaluated,
        t,
        [note(code, cut=numbers.cut_text(evaluated.threshold), rule=repr(rule))],
        tables,
        [
            note("intervals", level=request.level),
            note("given beforehand"),
            *note_if(rule.defers, "decided", share=evaluated.metrics.get("defer")),
            *_for_prevalence(t),
            *as_notes(evaluated.notes),
        ],
        threshold=evaluated.threshold,
        prevalence=t.prevalence if share is None else share,
        method="given",
        estimates=evaluated.metrics,
        **fields_of(evaluated, "notes", "confusion"),
    )


def _promised(t: Tally, request: Request, confidence: float) -> CutFinding:
    """Find one cut, or two, whose constraints hold with a confidence."""
    two = asks_for_two_cuts(request.subject_to)
    maximize = None if two else request.maximize
    minimize = None if two else request.minimize
    guaranteed = guarantee_for(
        t,
        ThresholdGoal(maximize, minimize, request.subject_to),
        request.subject_to,
        confidence=confidence,
        rng=request.rng,
    )
    further_numbers: dict[str, Any] = {
        "prevalence": t.prevalence,
        "notes": guaranteed.notes,
        "guarantee": fields_of(guaranteed, "level", "proofs"),
    }

    if two:
        proven = {proof.constraint: proof.value for proof in guaranteed.proofs}
        further_numbers |= {"constraints": proven}
        further_numbers |= {
            "method": "guaranteed pair of thresholds",
            "zones": guaranteed.to_dict(),
        }
        sentence = as_notes([sentences.guaranteed_zone_sentence(guaranteed)])
        return _answer_about_cut(
            guaranteed, t, sentence, [_zones(guaranteed)], **further_numbers
        )

    # a guarantee speaks of the cases as they came
    as_drawn = t.without_design()
    evaluated = at_threshold(as_drawn, guaranteed.threshold, level=request.level)
    estimates = evaluated.metrics

    objective = f"maximize {maximize}" if maximize is not None else None
    if minimize is not None:
        objective = f"minimize {minimize}"

    counts_at_cut = confusion(t, guaranteed.threshold)

    return _answer_about_cut(
        guaranteed,
        t,
        [
            note("flag a score", cut=numbers.cut_text(guaranteed.threshold)),
            *promise_notes(guaranteed),
            *map(proof_note, guaranteed.proofs),
        ],
        [_matrix(counts_at_cut), _metrics(estimates)],
        [note("two-sided", level=request.level), *as_notes(guaranteed.notes)],
        **fields_of(guaranteed, "threshold", "score_range", "method"),
        objective=objective,
        constraints={
            proof.constraint.split()[0]: proof.value for proof in guaranteed.proofs
        },
        binding=[],
        score_ranges=[guaranteed.score_range],
        confusion=counts_at_cut,
        estimates=estimates,
        **further_numbers,
    )


def promise_notes(guaranteed: GuaranteedThreshold | None) -> tuple[Note, ...]:
    """Say what is guaranteed; nothing where nothing is."""
    if guaranteed is None:
        return ()
    return (note("promise", level=guaranteed.level, constraint=guaranteed.constraint),)


def proof_note(proof: Proof) -> Note:
    """Say which evidence a guarantee rests on."""
    name, sign, _ = proof.constraint.split(maxsplit=2)
    text = text_of(name)
    many = numbers.counted(proof.cases, *cases_of(name))
    write = numbers.percent if is_proportion(name) else numbers.written

    return note(
        "proof",
        text=text[:1].upper() + text[1:],
        value=write(proof.value),
        many=many,
        level=proof.level,
        side="upper" if sign.startswith("<") else "lower",
        bound=write(proof.bound),
    )


def _two(t: Tally, request: Request, name: str) -> CutFinding:
    """Choose two thresholds; cases between them are deferred."""
    goal = request.goal_as_stated
    zones = best_thresholds(
        t,
        maximize=goal.maximize,
        minimize=goal.minimize,
        subject_to=goal.subject_to,
    )

    checked = _validate_if_requested(t, request)
    tables = [_zones(zones)]
    notes: list[Note] = []

    if checked is not None:
        tables.append(table("On new cases", NEW, checked.metrics.items()))
        notes = [*as_notes([sentences.zone_check(checked)]), note("above and below")]

    drawn = figure(
        "Scores and deferred cases",
        score_figure({name: t.labelled()}),
        order=(name,),
        at=(zones.lower, zones.upper),
    )

    return _answer_about_cut(
        zones,
        t,
        as_notes(sentences.zone_sentences(zones)),
        tables,
        notes,
        key="zones",
        figures=(drawn,),
        method="pair of thresholds, exact",
        zones=zones.to_dict() | {"validation": checked and checked.to_dict()},
        **fields_of(zones, "objective", "value", "constraints", "prevalence", "notes"),
    )


def _of_groups(t: Tally, groups: Mapping[str, Tally], request: Request) -> CutFinding:
    """Find a cut for each group under limits on their differences."""
    goal = request.goal_as_stated
    counted_group = group_thresholds(
        groups,
        maximize=goal.maximize or DEFAULT_OBJECTIVE,
        minimize=goal.minimize,
        subject_to=goal.subject_to,
        level=request.level,
    )

    checked = _validate_if_requested(groups, request)
    tables = [
        table("Thresholds", sentences.GROUP_HEAD, sentences.group_rows(counted_group))
    ]
    notes = list(as_notes(counted_group.notes))

    if checked is not None:
        names = [n for n in (*SHOWN, *counted_group.gaps) if n in checked.metrics]
        rows = [(text_of(n), checked.metrics[n]) for n in names]
        tables.append(table("On new cases", NEW, rows))
        notes += as_notes([sentences.zone_check(checked)])

    how = (
        "proved optimal"
        if counted_group.proved
        else "best threshold found within the time limit"
    )
    numbers_of_groups = {
        group: {
            **dict.fromkeys(KEYS[:-1]),
            "threshold": counted_group.thresholds[group],
            "score_range": counted_group.score_ranges[group],
            "confusion": counted_group.confusions[group],
        }
        for group in groups
    }

    return _answer_about_cut(
        counted_group,
        t,
        as_notes(sentences.group_sentences(counted_group)),
        tables,
        notes,
        key="group-cuts",
        method=f"a threshold for each group, {how}",
        group_cuts=counted_group.to_dict(),
        validation=checked and fields_of(checked, *VALIDATION),
        groups=numbers_of_groups,
        **fields_of(counted_group, "objective", "value", "constraints", "notes"),
    )


def with_groups(
    of_all_cases: Finding, parts: Mapping[str, Finding | None], by: str
) -> Finding:
    """Add where each group would be cut if it were alone."""
    if not parts:
        return of_all_cases

    rows = [_row_of_group(name, part) for name, part in parts.items()]
    flagged = "flagged" if of_all_cases.answer[0].code == "cases" else "weight flagged"
    head = (by, "threshold", "objective", "recall", "precision", flagged)
    by_group = table(f"The best threshold for each {by} alone", head, rows)
    numbers_of_groups = {
        name: part and {k: v for k, v in part.numbers.items() if k != "groups"}
        for name, part in parts.items()
    }

    return in_groups(of_all_cases, numbers_of_groups, by_group)


def _row_of_group(name: str, of_group: Finding | None) -> tuple[Any, ...]:
    """Return the threshold of a group, and what it does there; None if unknown."""
    values = of_group.numbers if of_group else {}
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


def _matrix(c: Confusion) -> Table:
    """Return the confusion matrix."""
    counts = {"positive": (c.tp, c.fn), "negative": (c.fp, c.tn)}
    rows = [
        (kind, *(numbers.number_of(float(n)) for n in two))
        for kind, two in counts.items()
    ]
    return table("Cases", ("cases", "flagged", "not flagged"), rows)


def _metrics(estimates: Mapping[str, Estimate], new: Confusion | None = None) -> Table:
    """Show metrics; those to expect on ``new`` cases come with the counts seen."""
    known = {name: estimates[name] for name in SHOWN if name in estimates}
    return table(
        "Metrics", NEW if new is not None else ("metric", "value"), rows_of(known, new)
    )


def rows_of(
    estimates: Mapping[str, Estimate], table: Confusion | None = None
) -> list[tuple[str, Any]]:
    """Write a count as a whole number, and what the rule leaves undefined as that."""
    rows: list[tuple[str, Any]] = []
    for name, estimate in estimates.items():
        value: Estimate | float | str = estimate
        if table is not None and name in METRICS and np.isnan(METRICS[name](table)):
            value = np.nan
        elif name == "flagged":
            value = numbers.written(estimate, 0)
        rows.append((text_of(name), value))

    return rows


def _zones(zones: Zones | GuaranteedThreshold) -> Table:
    """Return how many cases lie above, between and below two thresholds."""
    return table("Cases", ("cases", "positive", "negative"), sentences.zone_rows(zones))
