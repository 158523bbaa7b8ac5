"""What does it cost that scores were put into bins? Limits for a binned tally."""

from __future__ import annotations

from typing import Any

from trueness._core.numbers import written
from trueness._core.records import Answer, apart
from trueness.calibration.proper_scores import brier, log_loss
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.curves import roc
from trueness.ranking.figures import FPR, TPR
from trueness.report import svg
from trueness.report._parts import Figure, Section, grid
from trueness.report.inputs import Model, ReportOptions
from trueness.threshold.operating_point import best_threshold


def section(model: Model, options: ReportOptions) -> Section | None:
    """Say between which numbers the exact answers lie, when the tally is binned."""
    if not model.tally.binned:
        return None
    answers = _answers(model, options)
    rows = [(what, x.value, _between(x)) for what, x in answers.items()]
    words = (
        f"The scores were counted in {len(model.tally.score):,} bins. The exact AUC "
        f"certainly lies between {_between(answers['AUC'])}."
    )
    return Section(
        "scale",
        words=(words,),
        figures=(_figure(model),),
        tables=(
            grid(
                "Exact values", ("what", "from the bins", "exact value between"), rows
            ),
        ),
        method=(
            "Only the order of the cases inside a bin is lost. For each number the "
            "best and the worst possible order are known, and they are the limits."
        ),
        caveat=(
            "These limits are not confidence intervals: they say what the bins hide, "
            "not how far new cases would differ. More bins make them narrower."
        ),
        headline=words,
    )


def _answers(model: Model, options: ReportOptions) -> dict[str, Any]:
    """Ask everything whose limits are known."""
    t, level = model.tally, options.level
    found = {
        "AUC": auc(t, level=level),
        "average precision": average_precision(t, level=level),
        f"best {options.objective.name}": best_threshold(
            t, **options.choice, subject_to=options.subject_to
        ),
    }
    if model.is_probability:
        found["Brier score"] = brier(t, level=level)
        found["log loss"] = log_loss(t, level=level)
    return found


def _between(x: Answer) -> str:
    if not isinstance(x.limits, tuple):
        return str(x.limits)
    low, high = x.limits
    return written(low) if low == high else apart(low, high).replace(" to ", " and ")


def _figure(model: Model) -> Figure:
    """Draw the region that holds the exact ROC curve."""
    limits = roc(model.tally).limits
    axes = svg.Axes(FPR.title, TPR.title)
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
        svg.drawing(axes, marks, f"Limits of the ROC curve of {model.name}. {note}"),
        note,
        grid("ROC curve, exactly", head, rows),
    )
