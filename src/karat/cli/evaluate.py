"""How good is each score, at a glance?"""

from __future__ import annotations

from typing import Any

from karat._checks import both_classes
from karat._doors import door
from karat._progress import progress
from karat._records import Estimate
from karat.areas import average_precision
from karat.cli._shell import (
    Answer,
    By,
    Count,
    Debug,
    File,
    Json,
    Label,
    Level,
    Plot,
    Positive,
    Scores,
    about,
    cases_sentence,
    opened,
    show,
    table,
)
from karat.cli._source import Chosen, Source, count_tally
from karat.counts import Tally
from karat.inference import auc
from karat.scoring import brier

MEASURES = {
    "auc": "AUC",
    "average_precision": "average precision",
    "brier": "Brier score",
}


def evaluate(
    file: File,
    label: Label = None,
    score: Scores = None,
    positive: Positive = None,
    count: Count = None,
    by: By = None,
    level: Level = 0.95,
    json: Json = False,
    plot: Plot = None,
    debug: Debug = False,
) -> None:
    """How good is each score? AUC, average precision and Brier score, with intervals.

    Example: karat evaluate sample:west_nile --label virus --score boosting
    """
    source, chosen = opened(
        file,
        label=label,
        scores=score or [],
        positive=positive,
        count=count,
        by=by,
        several=True,
    )
    with progress("Counting"):
        tallies = {s: count_tally(source, chosen, s) for s in chosen.scores}
        numbers = {s: measures(t, level) for s, t in tallies.items()}
        groups = _groups(source, chosen, level) if by else {}
    first = next(iter(tallies.values()))
    both_classes(first, "evaluate")
    rows = [[name, *row.values()] for name, row in numbers.items()]
    parts: list[Any] = [cases_sentence(first), _table("", ["score"], rows)]
    if groups:
        rows = [
            [group, name, *row.values()]
            for name, found in groups.items()
            for group, row in found.items()
        ]
        parts.append(_table(f"by {chosen.by}", ["group", "score"], rows))
    parts.append(f"Brackets: {100 * level:g}% confidence intervals.")
    result = {"scores": numbers, "groups": groups}
    answer = Answer(
        "evaluate",
        result,
        parts,
        chart=lambda: door("plots").roc(tallies),
        about=about(source, chosen, first),
    )
    show(answer, json, plot)


def measures(t: Tally, level: float) -> dict[str, Estimate | None]:
    """Give the numbers of one score; None for what these cases cannot tell."""
    if not t.n_pos or not t.n_neg:
        return dict.fromkeys(MEASURES)
    found: dict[str, Estimate | None] = {
        "auc": auc(t, level=level),
        "average_precision": average_precision(t, level=level),
        "brier": None,
    }
    if t.score[-1] >= 0 and t.score[0] <= 1:
        b = brier(t, level=level)
        found["brier"] = Estimate(b.value, b.low, b.high, b.level, b.method, b.sd)
    return found


def _groups(source: Source, chosen: Chosen, level: float) -> dict[str, Any]:
    """Give the numbers of each group with both classes; the others have none."""
    found: dict[str, Any] = {}
    for score in chosen.scores:
        tallies = count_tally(source, chosen, score, by=True)
        found[score] = {str(g): measures(t, level) for g, t in tallies.items()}
    return found


def _table(title: str, first: list[str], rows: list[list[Any]]) -> Any:
    return table(title, [*first, *MEASURES.values()], rows)
