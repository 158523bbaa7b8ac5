"""Can it be trusted? Bins, sample sizes, leaves of a tree, contracts and watches."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness._core.figures import Axis, Curves, Line
from trueness._core.numbers import written
from trueness._core.records import Answer, apart
from trueness.calibration.proper_scores import brier, log_loss
from trueness.findings.memory import Model
from trueness.findings.notes import Note, as_notes, note, note_if
from trueness.findings.records import Figure, Finding, fields_of, figure, finding, table
from trueness.findings.subject import Subject
from trueness.monitoring.verdicts import FAILS, HOLDS, OPEN, Check
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.curves import roc
from trueness.ranking.figures import FPR, TPR
from trueness.ranking.planning import Plan, plan_auc
from trueness.trees.leaf_reports import (
    LeafReport,
    leaf_figure,
    leaf_numbers,
    leaf_sentences,
    leaf_table,
)
from trueness.trees.levels import confidence_level, utility_level

if TYPE_CHECKING:  # most reports are of neither watches nor plans of labels
    from trueness.monitoring.watching import Watch
    from trueness.nogold.label_plans import LabelSampleSize

STEPS = (1.0, 0.75, 0.5)  # of the wanted half-width: what more would cost


def enough_cases(subject: Subject) -> Finding | None:
    """Say how many cases an interval of a wanted width needs."""
    model = subject.named_model
    level = subject.request.level
    half_width_wanted = subject.request.half_width
    # new cases must be able to have the AUC
    if half_width_wanted is None or not 0.5 <= model.auc.value < 1:
        return None

    plans = {
        half_width: plan_auc(
            auc=model.auc.value,
            prevalence=model.tally.design.prevalence or model.tally.prevalence,
            half_width=half_width,
            level=level,
        )
        for half_width in (half_width_wanted * step for step in STEPS)
    }
    plan = plans[half_width_wanted]
    labelled = model.tally.n_pos + model.tally.n_neg
    more = plan.n - labelled
    needed = note("narrow already", aim=half_width_wanted)

    if more > 0:
        needed = note(
            "cases needed", aim=half_width_wanted, n=plan.n, pos=plan.n_pos, more=more
        )

    now = note(
        "width now",
        n=labelled,
        level=level,
        name=model.name,
        half=(model.auc.high - model.auc.low) / 2,
    )
    caption = f"Cases needed for an interval of the AUC of {model.name}"
    head = ("half-width", "cases", "of them positive", "more than now")
    rows = [
        (f"±{half_width:.3g}", p.n, p.n_pos, max(p.n - labelled, 0))
        for half_width, p in plans.items()
    ]

    return finding(
        "planning",
        {"plan": plan},
        answer=(now, needed),
        tables=(table(caption, head, rows),),
    )


def lost_in_bins(subject: Subject) -> Finding | None:
    """Say between which numbers the exact answers lie, when the tally is binned."""
    model = subject.best
    tally = model.tally
    if not tally.binned:
        return None

    level = subject.request.level
    estimates: dict[str, Any] = {
        "AUC": auc(tally, level=level),
        "average precision": average_precision(tally, level=level),
    }

    if model.is_probability:
        estimates["Brier score"] = brier(tally, level=level)
        estimates["log loss"] = log_loss(tally, level=level)

    head = ("what", "from the bins", "exact value between")
    rows = [
        (name, estimate.value, _between(estimate))
        for name, estimate in estimates.items()
    ]
    curve = _bounds_of_roc(model)

    return finding(
        "scale",
        estimates,
        answer=(
            note("bins", bins=len(tally.score), between=_between(estimates["AUC"])),
        ),
        figures=(figure(curve.what, curve, order=(model.name,), folded=True),),
        tables=(table("Exact values", head, rows),),
    )


def _bounds_of_roc(model: Model) -> Curves:
    """Return the band in which the exact ROC curve lies, and its middle."""
    exact = roc(model.tally).bounds
    middle = (np.asarray(exact.low) + np.asarray(exact.high)) / 2
    line = Line(model.name, {"fpr": exact.x, "tpr": middle})
    band = Line(model.name, {"fpr": exact.x, "low": exact.low, "high": exact.high})

    return Curves(
        "ROC curve, exactly",
        Axis("fpr", FPR.title),
        Axis("tpr", TPR.title),
        (line,),
        (band,),
    )


def _between(x: Answer) -> str:
    """Write between which numbers the exact value lies."""
    if not isinstance(x.bounds, tuple):
        return str(x.bounds)
    low, high = x.bounds
    return written(low) if low == high else apart(low, high).replace(" to ", " and ")


def which_leaves(
    report: LeafReport,
    groups: Mapping[str, LeafReport | None] | None = None,
    by: str = "",
) -> Finding:
    """Show every leaf with its levels of confidence and utility."""
    tables = [table("Leaves", *leaf_table(report))]
    numbers_of_groups: dict[str, Any] = {}
    for group, report_of_group in (groups or {}).items():
        if report_of_group is None:
            # no case of this group
            numbers_of_groups[group] = None
            continue

        numbers_of_groups[group] = _leaf_numbers(report_of_group)
        head, rows = leaf_table(report_of_group)
        rows_with_group = [[group, *row] for row in rows]
        tables.append(table(f"{by} {group}", [by, *head], rows_with_group))

    sentences = [*leaf_sentences(report)]
    if report.note:
        sentences.append(report.note)

    return finding(
        "leaves",
        {**_leaf_numbers(report), "groups": numbers_of_groups},
        answer=as_notes(sentences),
        figures=(Figure(leaf_figure(report), "Leaves", of="leaf"),),
        tables=tuple(tables),
    )


def _leaf_numbers(leaf_report: LeafReport) -> dict[str, Any]:
    return {
        "leaves": leaf_numbers(leaf_report),
        "tree": fields_of(leaf_report.tree, "n", "confidence", "utility"),
        **fields_of(
            leaf_report, "required_confidence", "level", "trusted_level", "method"
        ),
    }


def plan_finding(plan: Plan, quantity: str) -> Finding:
    """Return how many cases a plan needs, and what it can show of a quantity."""
    size = note("plan", n=plan.n, pos=plan.n_pos)
    if plan.denominator != plan.n:
        # a rate is measured on a part of the cases
        size = note("plan rate", n=plan.n, part=plan.denominator, measure=plan.measure)

    width = note("plan width", level=plan.level, what=quantity, half=plan.half_width)
    lines = [size, width]
    if not isnan(plan.power):
        code = "paired power" if isnan(plan.null) else "plan power"
        lines.append(note(code, what=quantity, null=plan.null, power=plan.power))

    return finding("planning", {"plan": plan}, answer=tuple(lines))


def leaf_plan_finding(
    n: int, p: float, *, confidence: float | None, utility: float | None
) -> Finding:
    """Say how many cases a leaf needs for a level of confidence or of utility."""
    levels_reached = {
        "confidence": float(confidence_level(n, p)),
        "utility": float(utility_level(n, p)),
    }
    goal = {"p": p, "confidence": confidence, "utility": utility}
    numbers = {"n": n, "asked": goal, "reached": levels_reached}
    answer = (note("plan leaf", n=n, **levels_reached),)

    return finding("planning", numbers, answer=answer)


def label_plan_finding(plan: LabelSampleSize) -> Finding:
    """Say how many labels an interval needs."""
    needed = note(
        "labels needed",
        n=plan.labels,
        half=100 * plan.half_width,
        without=plan.without_judges,
    )
    return finding("planning", {"plan": plan}, answer=(needed, *as_notes(plan.notes)))


def requirements(check: Check, counts_note: Note, undecided: str = "report") -> Finding:
    """Say which requirements hold, fail, or are still undecided; and the exit code."""
    verdict_of_exit = check.verdict
    if verdict_of_exit == OPEN and undecided != "report":
        verdict_of_exit = HOLDS if undecided == "pass" else FAILS

    code = {HOLDS: 0, FAILS: 4, OPEN: 5}[verdict_of_exit]
    rows = [
        (
            requirement.verdict,
            requirement.name,
            f"{requirement.value:.4g}",
            requirement.span or "exact",
        )
        for requirement in check.ordered()
    ]
    head = ("verdict", "requirement", "measured", "interval")

    return finding(
        "check",
        {
            "verdict": check.verdict,
            "exit_code": code,
            **fields_of(check, "level", "adjust", "verdicts", "notes"),
        },
        answer=(counts_note,),
        notes=(
            *as_notes(
                requirement.reason
                for requirement in check.ordered()
                if requirement.verdict != HOLDS
            ),
            *as_notes(check.notes),
            note(check.verdict, exit=code),
        ),
        # a requirement is read to its end
        tables=(table("Requirements", head, rows, most=120),),
    )


def watch_finding(watch: Watch, counts_note: Note, alarm_is_new: bool) -> Finding:
    """Say whether a watch raises its alarm."""
    of_alarm = ("alarm", "since", "evidence")
    of_estimate = ("value", "low", "high", "change")
    rows = [
        (
            group,
            "alarm" if watch_of_group.alarm else "no alarm",
            watch_of_group.value,
            watch_of_group.low,
            watch_of_group.high,
        )
        for group, watch_of_group in watch.groups.items()
    ]

    head = ("group", "", "value", "from", "to")
    sentence = watch.sentence()

    return finding(
        "watch",
        {
            **fields_of(watch, *of_alarm, "looks", *of_estimate),
            "groups": {
                group: fields_of(watch_of_group, *of_alarm, *of_estimate)
                for group, watch_of_group in watch.groups.items()
            },
            "watching": watch.what,
            "counted": alarm_is_new,
            "sentence": sentence,
        },
        answer=(
            counts_note,
            *note_if(not alarm_is_new, "counted before"),
            note("watched", what=watch.what, found=sentence),
        ),
        tables=(table("Groups", head, rows),) if rows else (),
    )
