"""What is said first, in plain words?

What was measured, how good it is, how sure we are, what to do, and what to beware of.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from karat.confusion import precision, recall
from karat.counts import Panel, Tally
from karat.report._parts import percent
from karat.report.meaning import Meaning
from karat.report.models import Model, Wishes

FEW = 50  # positives or negatives below which every rate is coarse
Answers = tuple[tuple[str, tuple[str, ...]], ...]


def in_plain_words(
    data: Panel | Tally,
    models: Sequence[Model],
    meaning: Sequence[Meaning | None],
    wishes: Wishes,
    findings: Sequence[str] = (),
) -> Answers:
    """Answer the five questions of a reader in a hurry."""
    return (
        ("What was measured?", _measured(data, models)),
        ("How good is it?", (*_good(models, data), *findings)),
        ("How sure are we?", _sure(models, wishes)),
        ("What to do?", _advice(models, wishes)),
        ("What to beware of?", _beware(data, models, meaning, wishes)),
    )


def _measured(data: Panel | Tally, models: Sequence[Model]) -> tuple[str, ...]:
    many = len(models) > 1
    who = f"{len(models)} classifiers" if many else f"The classifier {models[0].name}"
    return (
        f"{who}, on {'the same ' if many else ''}{data.n:,} cases, of which "
        f"{data.n_pos:,} are positive ({percent(data.prevalence)}).",
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


def _sure(models: Sequence[Model], wishes: Wishes) -> tuple[str, ...]:
    best = models[0].auc
    line = (
        f"With {percent(wishes.level)} confidence the AUC of {models[0].name} lies "
        f"between {best.low:.3f} and {best.high:.3f}."
    )
    if best.low <= 0.5:
        line += " That includes 0.5: it may be no better than guessing."
    return (line,)


def _advice(models: Sequence[Model], wishes: Wishes) -> tuple[str, ...]:
    best = models[0]
    point, c = best.point, best.point.confusion
    total = best.tally.n_pos + best.tally.n_neg
    if np.isposinf(point.threshold):
        return ("Flag nothing: for what was asked no cut is better than that.",)
    lines = [
        f"Flag a case when its {best.name} score is {point.threshold:.4g} or more. "
        f"That flags {percent(float(c.tp + c.fp) / total)} of the cases, finds "
        f"{percent(float(recall(c)))} of the positives, and "
        f"{percent(float(precision(c)))} of the flagged cases are positive."
    ]
    if point.binding:
        lines.append(f"What holds it back: {', '.join(point.binding)}.")
    if not wishes.stated:
        lines.append(
            "Nobody said what an error costs, so both error rates weigh the same. "
            "State prices, an objective or limits, and the cut moves."
        )
    return tuple(lines)


def _beware(
    data: Panel | Tally,
    models: Sequence[Model],
    meaning: Sequence[Meaning | None],
    wishes: Wishes,
) -> tuple[str, ...]:
    lines = []
    few = min(data.n_pos, data.n_neg)
    if few < FEW:
        kind = "positive" if data.n_pos <= data.n_neg else "negative"
        lines.append(f"There are only {few} {kind} cases: every rate is coarse.")
    if data.n_unknown:
        share = percent(data.n_unknown / data.n)
        lines.append(
            f"{data.n_unknown:,} cases ({share}) have no label and count nowhere. If "
            "labels are missing for a reason, all numbers are off."
        )
    doubted = [x.name for x in meaning if x is not None and x.doubted]
    if doubted:
        lines.append(f"The scores of {', '.join(doubted)} are not probabilities.")
    lines.append(
        "The cut was chosen on the cases that it is judged by, so it looks a little "
        "better here than it will be; and all of it holds for cases like these, at "
        "this prevalence."
    )
    return tuple(lines)
