"""How good is each score, at a glance?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import trueness
from trueness._core.checks.cases import both_classes
from trueness._core.numbers import level_text, listed, percent
from trueness._core.progress import progress
from trueness._core.records import Estimate, shown
from trueness.calibration.proper_scores import brier
from trueness.cli._columns import (
    Request,
    classes_of,
    count_classes,
    count_tally,
)
from trueness.cli._command import SCORES, command
from trueness.cli._fields import fields_of
from trueness.cli._shell import (
    CommandAnswer,
    about,
    alike_sentence,
    cases_sentence,
    table,
)
from trueness.cli._words import noted
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Tally
from trueness.data.engines import quoted
from trueness.data.multiclass import multiclass_auc
from trueness.inference.limits import around
from trueness.metrics.algebra import write_number
from trueness.metrics.definitions import SHOWN
from trueness.metrics.grammar import text_of
from trueness.ranking.areas import REVERSED, auc, average_precision
from trueness.threshold.at_cut import AtThreshold, at_threshold

MEASURES = {
    "auc": "AUC",
    "average_precision": "average precision",
    "brier": "Brier score",
}
AT_FIELDS = ("threshold", "confusion", "metrics")
MOST_ROWS = 5_000_000  # for which all classes together are asked
Groups = dict[str, dict[str, Tally]]


@command(SCORES)
def evaluate(
    request: Request,
    at: float | None = None,
) -> CommandAnswer:
    """How good is each score? AUC, average precision and Brier score, with intervals.

    A label with more than two classes is answered class by class, when there is a score
    for each of them.

    --at: Threshold in use: also every metric there.

    Example: trueness evaluate sample:west_nile --label virus --score boosting
    """
    ask = partial(measures, level=request.level)
    classes = classes_of(request)
    tallies, groups = _counted(request, classes)
    first = next(iter(tallies.values()))
    both_classes(first, "evaluate")
    with progress("Measuring", len(HOW) * len(tallies), "numbers") as measured:
        numbers = {s: ask(t, measured=measured) for s, t in tallies.items()}
    by_group = {s: {g: ask(t) for g, t in found.items()} for s, found in groups.items()}
    together = _together(request, classes) if classes else None
    used = {} if at is None else {
        name: at_threshold(t, at, level=request.level) for name, t in tallies.items()
    }  # fmt: skip
    kind = "class" if classes else "score"
    parts: list[Any] = [
        *(_class_sentences(tallies, together) if classes else [cases_sentence(first)]),
        _table([kind], [[name, *row.values()] for name, row in numbers.items()]),
        *([_group_table(str(request.chosen.by), by_group)] if groups else []),
        *(_at_parts(at, kind, used) if used else []),
        _legend(request.level, numbers, by_group, first),
        *alike_sentence(request),
        *_notes(numbers),
        *_share_sentences(first),
    ]
    return CommandAnswer(
        "evaluate",
        {
            "scores": numbers,
            "groups": by_group,
            "multiclass_auc": together,
            "at": {k: fields_of(x, AT_FIELDS) for k, x in used.items()},
        },
        parts,
        chart=lambda: trueness.plots.roc(_drawn(tallies, groups)),
        about=about(request, first),
    )


def _counted(
    request: Request, classes: dict[Any, str]
) -> tuple[dict[str, Tally], Groups]:
    """Count each score, in each group too, or each class against the rest."""
    scores = request.chosen.scores
    with progress("Counting", unit=""):
        if classes:
            return count_classes(request, classes), {}
        tallies = {s: count_tally(request, s) for s in scores}
        if request.chosen.by is None:
            return tallies, {}
        parts = {s: count_tally(request, s, by=True) for s in scores}
        return tallies, {s: {str(g): t for g, t in p.items()} for s, p in parts.items()}


def _group_table(by: str, by_group: dict[str, Any]) -> Any:
    rows = [
        [group, name, *row.values()]
        for name, found in by_group.items()
        for group, row in found.items()
    ]
    return _table([by, "score"], rows)


def _at_parts(at: float | None, kind: str, used: dict[str, AtThreshold]) -> list[Any]:
    rows = [[name, *(x.metrics.get(m) for m in SHOWN)] for name, x in used.items()]
    return [
        f"Flagging every case with a score of {write_number(float(at or 0))} or more:",
        table([kind, *(text_of(m) for m in SHOWN)], rows),
    ]


def _together(request: Request, classes: dict[Any, str]) -> Estimate | None:
    """Give the AUC of all classes together, where the rows fit into memory."""
    names = [str(request.chosen.label), *classes.values()]
    c = request.chosen
    if c.count or c.weight or c.cluster or len(request.rows) > MOST_ROWS:
        return None
    rows = request.rows.project(", ".join(map(quoted, names))).fetchnumpy()
    truth = [None if v is None else str(v) for v in rows[names[0]].tolist()]
    scores = {str(c): rows[column] for c, column in classes.items()}
    return multiclass_auc(truth, scores, level=request.level)


def _class_sentences(tallies: dict[str, Tally], together: Estimate | None) -> list[str]:
    first = next(iter(tallies.values()))
    sizes = listed([f"{shown(c)} {t.n_pos:,}" for c, t in tallies.items()])
    lines = [f"{first.n:,} cases of {len(tallies)} classes: {sizes}. Each class is "
        "compared with the rest."]  # fmt: skip
    if together is not None:
        lines.append(
            f"All classes together: {together} (Hand and Till 2001; 0.5 is guessing)."
        )
    return lines


def _share_sentences(t: Tally) -> list[str]:
    """Say which share of positives the numbers are for."""
    prevalence, sampling = t.design.prevalence, t.design.sampling
    if prevalence is not None:
        return [
            f"Average precision, Brier score and metrics are for a prevalence of "
            f"{percent(prevalence)}; in the file it is {percent(t.prevalence)}."
        ]
    if sampling == "case-control":
        return [
            "Average precision, Brier score and precision depend on the share of "
            "positives, which a case-control sample does not know: its design fixed "
            "it. Give the share of use, as in --prevalence 0.01, to see them."
        ]
    return []


def measures(
    t: Tally, level: float, measured: Callable[[float], None] | None = None
) -> dict[str, Estimate | None]:
    """Give the numbers of one score; None for what these cases cannot tell."""
    if not t.n_pos or not t.n_neg:
        return dict.fromkeys(MEASURES)
    found: dict[str, Estimate | None] = {}
    for name, how in HOW.items():
        known = name == "auc" or not _unknown_share(t)
        found[name] = how(t, level=level) if known else None
        if measured:
            measured(1)
    return found


def _unknown_share(t: Tally) -> bool:
    """Is the share of positives fixed by the design, and no other one known?"""
    return t.design.sampling == CASE_CONTROL and t.design.prevalence is None


def _brier(t: Tally, *, level: float) -> Estimate | None:
    if t.score[-1] < 0 or t.score[0] > 1:
        return None
    b = brier(t, level=level)
    return around(b.value, b.low, b.high, b.level, b.method, b.sd)


HOW: dict[str, Callable[..., Estimate | None]] = {
    "auc": auc,
    "average_precision": average_precision,
    "brier": _brier,
}


def _drawn(tallies: dict[str, Tally], groups: Groups) -> dict[str, Tally]:
    """Draw a curve a score, and with groups one for each of them."""
    if not groups:
        return tallies
    return {
        group if len(groups) == 1 else f"{score}, {group}": t
        for score, found in groups.items()
        for group, t in found.items()
        if t.n_pos and t.n_neg
    }


def _notes(numbers: dict[str, dict[str, Estimate | None]]) -> list[str]:
    """Give what the estimates say of themselves, and warn of a reversed score."""
    lines = []
    for name, row in numbers.items():
        notes = [
            n for e in row.values() for n in getattr(e, "notes", ()) if n != REVERSED
        ]
        lines += [f"{shown(name)}: {n}" for n in noted(dict.fromkeys(notes)) if n]
        a = row["auc"]
        if a is not None and a.high < 0.5:
            lines.append(
                f"{shown(name)} ranks the wrong way round: its AUC is below 0.5. If "
                "low scores mean positive, change their sign; or check --positive."
            )
    return lines


def _table(first: list[str], rows: list[list[Any]]) -> Any:
    return table([*first, *MEASURES.values()], rows)


def _legend(
    level: float,
    numbers: dict[str, Any],
    groups: dict[str, Any],
    t: Tally,
) -> str:
    told = not _unknown_share(t)
    text = f"In parentheses: {level_text(level)} confidence intervals."
    if told and any(row["brier"] is None for row in numbers.values()):
        text += " The Brier score needs probabilities, so scores from 0 to 1."
    if any(row["auc"] is None for found in groups.values() for row in found.values()):
        text += " Groups that hold one class only have no values."
    return text
