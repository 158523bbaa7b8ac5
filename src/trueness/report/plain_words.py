"""What is said first, in plain words?

What was measured, how good it is, how sure we are, what to do, what to keep in mind.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import numpy as np

from trueness._core.numbers import (
    counted,
    cut_text,
    level_text,
    listed,
    number_of,
    percent,
    written,
)
from trueness.counts.cases import how_many
from trueness.inference.notes import notes_of
from trueness.inference.spread import kish
from trueness.inference.verification import remarks
from trueness.metrics.grammar import text_of
from trueness.metrics.intervals import meant_by_rows
from trueness.report._parts import Tile
from trueness.report.calibration import Meaning, outside
from trueness.report.inputs import UNNAMED, Checked, Model, ReportOptions
from trueness.threshold.at_cut import AtThreshold
from trueness.threshold.sentences import limiting, met
from trueness.threshold.validation import Validation

SAFE = 0.95  # a constraint that holds less often on new cases is mentioned
FEW = 50  # positives or negatives below which every rate is coarse
Answers = tuple[tuple[str, tuple[str, ...]], ...]


def in_plain_words(
    models: Sequence[Model],
    meaning: Sequence[Meaning | None],
    checked: Checked,
    options: ReportOptions,
    findings: Sequence[str] = (),
    advice: Sequence[str] = (),
) -> Answers:
    """Answer the five questions of a reader in a hurry.

    ``findings`` and ``advice`` are what other sections found, and what they advise.
    """
    return (
        ("What was measured?", _measured(models, options.classes)),
        ("How good is it?", (*_good(models), *findings)),
        ("How sure are we?", _sure(models, checked, options)),
        ("What should you do?", (*_advice(models, checked, options), *advice)),
        ("What should you keep in mind?", _mind(models, meaning, checked, options)),
    )


def tiles(models: Sequence[Model], checked: Checked) -> tuple[Tile, ...]:
    """Give the few numbers that are seen first."""
    best = models[0]
    a, cut = best.auc, best.point.threshold
    where, cases = {
        AtThreshold: ("there", "the cases"),
        Validation: ("on new cases", "new cases"),
    }.get(type(checked), ("in this sample", "the cases"))
    flagged, found, right = (_expected(best, checked, k) for k in _TOLD)
    return (
        Tile(
            f"AUC of {best.name}",
            f"{a.value:.3f}",
            f"{level_text(a.level)} CI {a.low:.3f} to {a.high:.3f}",
        ),
        Tile(
            "flag from a score of",
            "flag nothing" if np.isposinf(cut) else cut_text(cut, best.point.interval),
            f"{percent(flagged)} of {cases}",
        ),
        Tile(
            f"recall (sensitivity) {where}", percent(found), _range(checked, "recall")
        ),
        Tile(f"precision (PPV) {where}", percent(right), _range(checked, "precision")),
    )


_TOLD = ("flagged_rate", "recall", "precision")


def _expected(best: Model, checked: Checked, name: str) -> float:
    """Give a metric at the threshold: on new cases, or else in the sample."""
    if checked is None or name not in checked.metrics:
        return best.steps.at_start(name)
    return checked.metrics[name].value


def _range(checked: Checked, name: str) -> str:
    if checked is None or name not in checked.metrics:
        return ""
    e = checked.metrics[name]
    return f"{level_text(e.level)} CI {percent(e.low)} to {percent(e.high)}"


def _measured(models: Sequence[Model], classes: bool) -> tuple[str, ...]:
    data, many, name = models[0].tally, len(models) > 1, models[0].name
    if classes:
        return (
            f"{len(models)} classes, each compared with the rest, on the same "
            f"{counted(data.n, 'case')}.",
        )
    who = "One classifier" if name == UNNAMED else f"The classifier {name}"
    who = f"{len(models)} classifiers" if many else who
    labelled = data.n_pos + data.n_neg
    known = f"; of the {number_of(labelled)} with a label" if data.n_unknown else ""
    are = "is" if data.n_pos == 1 else "are"
    return (
        f"{who}, on {'the same ' if many else ''}{how_many(data)}"
        f"{known or ', of which'} {number_of(data.n_pos)} {are} "
        f"positive ({percent(data.prevalence)}).",
    )


def _good(models: Sequence[Model]) -> tuple[str, ...]:
    best = models[0]
    lines = [
        f"Given one positive and one negative case, {best.name} gives the positive one "
        f"the higher score {100 * best.auc.value:.0f} times out of 100 (AUC "
        f"{best.auc.value:.3f}); guessing does so 50 times."
    ]
    if len(models) > 1:
        others = ", ".join(f"{m.name} {m.auc.value:.3f}" for m in models[1:6])
        more = f" and {len(models) - 6} more" if len(models) > 6 else ""
        lines.append(f"AUC of the others: {others}{more}.")
    return tuple(lines)


def _sure(
    models: Sequence[Model],
    checked: Checked,
    options: ReportOptions,
) -> tuple[str, ...]:
    best = models[0].auc
    line = (
        f"With {level_text(options.level)} confidence the AUC of {models[0].name} lies "
        f"between {best.low:.3f} and {best.high:.3f}."
    )
    if best.high < 0.5:
        line += (
            " All of this is below 0.5: the score ranks the wrong way round. If low "
            "scores mean positive, use the negative of the score; otherwise check "
            "which label counts as positive."
        )
    elif best.low <= 0.5:
        line += " This includes 0.5, so it may be no better than guessing."
    lines = [line]
    if checked is not None and {"recall", "precision"} <= checked.metrics.keys():
        r, p = checked.metrics["recall"], checked.metrics["precision"]
        new = "on new cases, " if isinstance(checked, Validation) else ""
        lines.append(
            f"At the threshold below, {new}between {percent(r.low)} and "
            f"{percent(r.high)} of the positives are found, and between "
            f"{percent(p.low)} and {percent(p.high)} of the flagged cases are positive."
        )
    return tuple(lines)


def _advice(
    models: Sequence[Model], checked: Checked, options: ReportOptions
) -> tuple[str, ...]:
    best, point = models[0], models[0].point
    if np.isposinf(point.threshold):
        return ("Flag nothing: for this objective no threshold is better than that.",)
    flagged, found, right = (percent(_expected(best, checked, k)) for k in _TOLD)
    new = isinstance(checked, Validation)
    some = best.tally.n_unknown and not meant_by_rows(best.tally)
    seen = "labelled " if some and not new else ""
    lines = [
        f"Flag a case when {best.name} gives it "
        f"{cut_text(point.threshold, point.interval)} or more. "
        f"{'On new cases expect that this' if new else 'That'} flags {flagged} of the "
        f"{seen}cases, finds {found} of the positives, and {right} of the flagged "
        "cases are positive."
    ]
    lines += limiting(point)
    if not options.stated and options.at is None:
        lines.append(
            "No costs were given, so both error rates count equally. "
            + options.how_to_give_costs
        )
    return tuple(lines)


def _mind(
    models: Sequence[Model],
    meaning: Sequence[Meaning | None],
    checked: Checked,
    options: ReportOptions,
) -> tuple[str, ...]:
    lines: list[str] = []
    data = models[0].tally
    few, kind = min(
        (round(kish(float(c.sum()), float(q.sum()))), name)
        for c, q, name in (
            (data.pos, data.squares[1], "positive"),
            (data.neg, data.squares[0], "negative"),
        )
    )
    lines += notes_of(data)
    if few < FEW:
        are = "is" if few == 1 else "are"
        lines.append(
            f"There {are} only {counted(few, f'{kind} case')}, so every rate is coarse."
        )
    lines += remarks(data, instead=options.how_labels_are_missing)
    if meant_by_rows(data):
        lines.append(
            "Comparisons, calibration and what to expect on new cases rest on labelled "
            "cases alone, and are left out."
        )
    doubted = [x.name for x in meaning if x is not None and x.doubted]
    if doubted:
        lines.append(
            f"Do not read the scores of {listed(doubted)} as probabilities: they are "
            "not calibrated."
        )
    no_curve = [m.name for m in models if not m.is_probability]
    if no_curve:
        lines.append(f"{outside(no_curve)} They have no calibration curve.")
    cannot = [m.name for m in models if not m.feasible]
    if cannot:
        lines.append(
            f"{listed(cannot)}: no threshold meets the constraints; the threshold "
            "shown is the best without them."
        )
    lines += _optimism(checked, options)
    share = options.prevalence
    where = "this prevalence" if share is None else f"a prevalence of {percent(share)}"
    lines.append(
        f"All results hold for cases like these, at {where}, and only if the "
        "classifiers were not trained on these cases."
    )
    return tuple(lines)


def _optimism(checked: Checked, options: ReportOptions) -> list[str]:
    """Say what the choice of the threshold itself is worth on new cases."""
    if options.at is not None:
        return [
            "The threshold was given; its intervals are right if it was not chosen on "
            "these cases."
        ]
    line = "The threshold was tuned on the same data, so its results are optimistic."
    if not isinstance(checked, Validation) or isnan(checked.corrected.value):
        return [line]
    what = text_of(checked.point.objective.partition(" ")[2])
    lines = [
        f"{line} On new cases expect {what} = {written(checked.corrected.value)} "
        f"instead of {written(checked.value)}."
    ]
    how = "--guarantee 0.95" if options.command else "trueness.guaranteed_threshold"
    if options.live:
        how = "trueness threshold --guarantee 0.95"
    more = f"For more certainty, choose a threshold with a guarantee ({how})."
    return lines + [f"{line} {more}" for line in met(checked, below=SAFE)]
