"""What is said first, in plain words?

What was measured, how good it is, how sure we are, what to do, and what to beware of.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import numpy as np

from trueness.counts.values import Panel, Tally
from trueness.metrics.definitions import precision, recall
from trueness.report._parts import Tile, confidence, percent, written
from trueness.report.calibration import Meaning
from trueness.report.inputs import UNNAMED, Model, Wishes
from trueness.threshold.validation import Validation

SAFE = 0.95  # a constraint that holds less often on other cases is mentioned
FEW = 50  # positives or negatives below which every rate is coarse
Answers = tuple[tuple[str, tuple[str, ...]], ...]


def in_plain_words(
    data: Panel | Tally,
    models: Sequence[Model],
    meaning: Sequence[Meaning | None],
    checked: Validation | None,
    wishes: Wishes,
    findings: Sequence[str] = (),
) -> Answers:
    """Answer the five questions of a reader in a hurry."""
    return (
        ("What was measured?", _measured(data, models)),
        ("How good is it?", (*_good(models, data), *findings)),
        ("How sure are we?", _sure(models, checked, wishes)),
        ("What to do?", _advice(models, wishes)),
        ("What to beware of?", _beware(data, models, meaning, checked)),
    )


def tiles(models: Sequence[Model], checked: Validation | None) -> tuple[Tile, ...]:
    """Give the few numbers that are seen first."""
    best = models[0]
    low, high = best.auc.low, best.auc.high
    c = best.point.confusion
    flagged = percent(float(c.tp + c.fp) / (best.tally.n_pos + best.tally.n_neg))
    cut = best.point.threshold
    return (
        Tile(
            f"AUC of {best.name}", f"{best.auc.value:.3f}", f"{low:.3f} to {high:.3f}"
        ),
        Tile(
            "flag from a score of",
            "flag nothing" if np.isposinf(cut) else f"{cut:.4g}",
            f"{flagged} of the cases",
        ),
        Tile("recall there", percent(float(recall(c))), _range(checked, "recall")),
        Tile(
            "precision there",
            percent(float(precision(c))),
            _range(checked, "precision"),
        ),
    )


def _range(checked: Validation | None, name: str) -> str:
    if checked is None or name not in checked.metrics:
        return ""
    e = checked.metrics[name]
    return f"{percent(e.low)} to {percent(e.high)}"


def _measured(data: Panel | Tally, models: Sequence[Model]) -> tuple[str, ...]:
    many, name = len(models) > 1, models[0].name
    who = "One classifier" if name == UNNAMED else f"The classifier {name}"
    who = f"{len(models)} classifiers" if many else who
    labelled = data.n_pos + data.n_neg
    known = f"; of the {labelled:,} with a label" if data.n_unknown else ""
    return (
        f"{who}, on {'the same ' if many else ''}{data.n:,} cases"
        f"{known or ', of which'} {data.n_pos:,} {'is' if data.n_pos == 1 else 'are'} "
        f"positive ({percent(data.prevalence)}).",
    )


def _good(models: Sequence[Model], data: Panel | Tally) -> tuple[str, ...]:
    best = models[0]
    of_100 = f"{100 * best.auc.value:.0f} of 100"
    lines = [
        f"Given one positive and one negative case, {best.name} scores the positive "
        f"one higher {of_100} times (AUC {best.auc.value:.3f}); guessing does so "
        "50 times."
    ]
    if len(models) > 1:
        others = ", ".join(f"{m.name} {m.auc.value:.3f}" for m in models[1:6])
        more = f" and {len(models) - 6} more" if len(models) > 6 else ""
        lines.append(f"The others: {others}{more}.")
    return tuple(lines)


def _sure(
    models: Sequence[Model], checked: Validation | None, wishes: Wishes
) -> tuple[str, ...]:
    best = models[0].auc
    line = (
        f"With {confidence(wishes.level)} confidence the AUC of {models[0].name} lies "
        f"between {best.low:.3f} and {best.high:.3f}."
    )
    if best.low <= 0.5:
        line += " That includes 0.5: it may be no better than guessing."
    lines = [line]
    if checked is not None and {"recall", "precision"} <= checked.metrics.keys():
        r, p = checked.metrics["recall"], checked.metrics["precision"]
        lines.append(
            f"At the cut below, between {percent(r.low)} and {percent(r.high)} of the "
            f"positives are found, and between {percent(p.low)} and {percent(p.high)} "
            "of the flagged cases are positive."
        )
    return tuple(lines)


def _advice(models: Sequence[Model], wishes: Wishes) -> tuple[str, ...]:
    best = models[0]
    point, c = best.point, best.point.confusion
    total = best.tally.n_pos + best.tally.n_neg
    if np.isposinf(point.threshold):
        return ("Flag nothing: for what was asked no cut is better than that.",)
    lines = [
        f"Flag a case when {best.name} gives it {point.threshold:.4g} or more. "
        f"That flags {percent(float(c.tp + c.fp) / total)} of the "
        f"{'labelled ' if best.tally.n_unknown else ''}cases, finds "
        f"{percent(float(recall(c)))} of the positives, and "
        f"{percent(float(precision(c)))} of the flagged cases are positive."
    ]
    if point.binding:
        lines.append(f"What holds it back: {', '.join(point.binding)}.")
    if not wishes.stated:
        lines.append(
            "Nobody said what an error costs, so both error rates weigh the same. "
            f"State prices{'' if wishes.subject_to else ', limits'} or an objective, "
            "and the cut moves."
        )
    return tuple(lines)


def _beware(
    data: Panel | Tally,
    models: Sequence[Model],
    meaning: Sequence[Meaning | None],
    checked: Validation | None,
) -> tuple[str, ...]:
    lines = []
    few = min(data.n_pos, data.n_neg)
    if few < FEW:
        kind = "positive" if data.n_pos <= data.n_neg else "negative"
        number = (
            f"is only 1 {kind} case" if few == 1 else f"are only {few} {kind} cases"
        )
        lines.append(f"There {number}: every rate is coarse.")
    if data.n_unknown:
        share = percent(data.n_unknown / data.n)
        lines.append(
            f"{data.n_unknown:,} cases ({share}) have no label and count nowhere. If "
            "labels are missing for a reason, all numbers are off."
        )
    doubted = [x.name for x in meaning if x is not None and x.doubted]
    if doubted:
        lines.append(
            f"The scores of {', '.join(doubted)} must not be read as probabilities."
        )
    outside = [m.name for m, x in zip(models, meaning, strict=True) if x is None]
    if outside:
        lines.append(
            f"The scores of {', '.join(outside)} leave 0 to 1: they are no "
            "probabilities, and have no calibration curve."
        )
    cannot = [m.name for m in models if not m.feasible]
    if cannot:
        lines.append(
            f"{', '.join(cannot)}: no threshold meets the limits; the cut shown is the "
            "best without them."
        )
    lines += _fragile(checked)
    lines.append(
        "All of it holds for cases like these, at this prevalence, and if the "
        "classifiers had not seen these cases before."
    )
    return tuple(lines)


def _fragile(checked: Validation | None) -> list[str]:
    """Say what the choice of the cut itself is worth on other cases."""
    if checked is None or isnan(checked.corrected):
        return ["The cut was chosen on the cases that it is judged by: it flatters."]
    objective = checked.point.objective.partition(" ")[2]
    lines = [
        "The cut was chosen on the cases that it is judged by: it flatters. On others "
        f"expect {objective} = {written(checked.corrected)} in place of "
        f"{written(checked.value)}."
    ]
    lines += [
        f"{name} held in {percent(share)} of the samples left out; to be surer, cut "
        "with a guarantee (trueness threshold --guarantee)."
        for name, share in checked.holds.items()
        if share < SAFE
    ]
    return lines
