"""What does it cost that scores were put into cells? Bounds for a binned tally."""

from __future__ import annotations

from typing import Any

from trueness._core.records import Answer, apart
from trueness.calibration.proper_scores import brier, log_loss
from trueness.ranking.auc_intervals import auc
from trueness.ranking.curves import roc
from trueness.ranking.partial_areas import average_precision
from trueness.report import svg
from trueness.report._parts import Figure, Section, grid, written
from trueness.report.calibration import FEW
from trueness.report.inputs import Model, Wishes
from trueness.threshold.operating_point import best_threshold


def section(model: Model, wishes: Wishes) -> tuple[Section, str] | None:
    """Say between which numbers the exact answers lie, when the tally is binned."""
    if not model.tally.binned:
        return None
    answers = _answers(model, wishes)
    rows = [(what, x.value, _between(x)) for what, x in answers.items()]
    words = (
        f"The scores were counted in {len(model.tally.score):,} cells. The exact AUC "
        f"lies between {_between(answers['AUC'])}, with certainty."
    )
    made = Section(
        "cells",
        "What do the cells cost?",
        words=(words,),
        figures=(_figure(model),),
        tables=(grid("Exact values", ("what", "by the cells", "exactly"), rows),),
        method=(
            "Only the order inside a cell is lost: for each number the order that is "
            "best for it and the one that is worst are known, and nothing lies outside."
        ),
        caveat=(
            "These are no confidence intervals: they say what the cells hide, not how "
            "far other cases would differ. More cells make them narrower."
        ),
    )
    return made, words


def _answers(model: Model, wishes: Wishes) -> dict[str, Any]:
    """Ask everything whose bounds are known."""
    t, level = model.tally, wishes.level
    found = {
        "AUC": auc(t, level=level),
        "average precision": average_precision(t, level=level),
        f"best {wishes.objective.name}": best_threshold(
            t, **wishes.choice, subject_to=wishes.subject_to
        ),
    }
    if model.is_probability:
        found["Brier score"] = brier(t, level=level, replicates=FEW)
        found["log loss"] = log_loss(t, level=level, replicates=FEW)
    return found


def _between(x: Answer) -> str:
    if not isinstance(x.limits, tuple):
        return str(x.limits)
    low, high = x.limits
    return written(low) if low == high else apart(low, high).replace(" to ", " and ")


def _figure(model: Model) -> Figure:
    """Draw the region that holds the exact ROC curve."""
    limits = roc(model.tally).limits
    axes = svg.Axes("false positive rate", "recall (true positive rate)")
    marks = [
        svg.line(axes, [0, 1], [0, 1], "chance"),
        svg.area(axes, limits.x, limits.low, limits.high, "band c0"),
    ]
    note = "The exact ROC curve runs inside the region."
    some = slice(None, None, max(1, len(limits.x) // 12))
    rows = [
        tuple(map(float, row))
        for row in zip(limits.x[some], limits.low[some], limits.high[some], strict=True)
    ]
    head = ("false positive rate", "recall from", "to")
    return Figure(
        "ROC curve, exactly",
        svg.drawing(axes, marks, f"Bounds of the ROC curve of {model.name}. {note}"),
        note,
        grid("ROC curve, exactly", head, rows),
    )
