"""How good is each score, at a glance?"""

from __future__ import annotations

from typing import Any

import trueness
from trueness._core.progress import progress
from trueness._core.records import Estimate
from trueness.cli._columns import Request, classes_of, count_classes, count_tally
from trueness.cli._command import SCORES, command
from trueness.cli._shell import CommandAnswer, about, answered
from trueness.data.engines import quoted
from trueness.data.multiclass import multiclass_auc
from trueness.findings.how_good import how_good
from trueness.findings.subject import subject

MOST_ROWS = 5_000_000  # for which all classes together are asked


@command(SCORES)
def evaluate(request: Request, at: float | None = None) -> CommandAnswer:
    """How good is each score? AUC, average precision and Brier score, with intervals.

    A label with more than two classes is answered class by class, when there is a score
    for each of them.

    --at SCORE: Threshold in use: also every metric there.

    Example: trueness evaluate sample:west_nile --label virus --score boosting
    """
    c, classes = request.chosen, classes_of(request)
    by = c.by if not classes else None
    with progress("Counting", unit=""):
        if classes:
            tallies = count_classes(request, classes)
        else:
            tallies = {s: count_tally(request, s) for s in c.scores}
        parts = {s: count_tally(request, s, by=True) for s in c.scores} if by else {}
    # from group to the counts of each score
    groups = {
        str(g): {s: parts[s][g] for s in parts} for g in next(iter(parts.values()), {})
    }
    words: Any = {
        "by": str(by),
        "level": request.level,
        "at": at,
        "classes": bool(classes),
    }
    s = subject(tallies, groups=groups or None, cluster=c.cluster or "", **words)
    drawn = {
        group if len(tallies) == 1 else f"{score}, {group}": t
        for group, found in groups.items()
        for score, t in found.items()
        if t.n_pos and t.n_neg
    }
    return answered(
        "evaluate",
        how_good(s, _together(request, classes)),
        chart=lambda: trueness.plots.roc(drawn or tallies),
        about=about(request, next(iter(tallies.values()))),
    )


def _together(request: Request, classes: dict[Any, str]) -> Estimate | None:
    """Give the AUC of all classes together, where the rows fit into memory."""
    c = request.chosen
    whole = c.count or c.weight or c.cluster
    if not classes or whole or len(request.rows) > MOST_ROWS:
        return None
    names = [str(c.label), *classes.values()]
    rows = request.rows.project(", ".join(map(quoted, names))).fetchnumpy()
    truth = [None if v is None else str(v) for v in rows[names[0]].tolist()]
    scores = {str(k): rows[column] for k, column in classes.items()}
    return multiclass_auc(truth, scores, level=request.level)
