"""How good is each score, at a glance?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError
from trueness._core.checks.options import choice
from trueness._core.doors import door
from trueness._core.numbers import level_text, listed, percent
from trueness._core.progress import progress
from trueness._core.records import Estimate, shown
from trueness.calibration.proper_scores import brier
from trueness.cli._columns import (
    Request,
    classes_of,
    count_classes,
    count_clusters,
    count_tally,
)
from trueness.cli._command import SCORES, command
from trueness.cli._fields import fields_of
from trueness.cli._options import Cluster, Prevalence, Sampling
from trueness.cli._shell import CommandAnswer, about, cases_sentence, table
from trueness.cli._words import noted
from trueness.counts.values import Panel, Tally
from trueness.data.engines import quoted
from trueness.data.multiclass import multiclass_auc
from trueness.metrics.algebra import write_number
from trueness.metrics.definitions import SHOWN
from trueness.metrics.words import text_of
from trueness.ranking.auc_intervals import REVERSED, auc
from trueness.ranking.clusters import CLUSTER
from trueness.ranking.mean_precision import average_precision
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
    cluster: Cluster = None,
    at: float | None = None,
    prevalence: Prevalence = None,
    sampling: Sampling = "cohort",
) -> CommandAnswer:
    """How good is each score? AUC, average precision and Brier score, with intervals.

    A label with more than two classes is answered class by class, when there is a score
    for each of them.

    --at: Threshold in use: also every metric there.

    Example: trueness evaluate sample:west_nile --label virus --score boosting
    """
    choice(sampling, ("cohort", "case-control"), "--sampling")
    share = {"prevalence": prevalence, "sampling": sampling}
    ask = partial(measures, level=request.level, share=share)
    classes = classes_of(request)
    tallies, groups = _counted(request, classes)
    first = next(iter(tallies.values()))
    both_classes(first, "evaluate")
    with progress("Measuring", len(HOW) * len(tallies), "numbers") as measured:
        numbers = {s: ask(t, measured=measured) for s, t in tallies.items()}
        whole = None if cluster is None else count_clusters(request)
        if whole is not None:
            _allow_for_clusters(numbers, tallies, whole, request.level)
    by_group = {s: {g: ask(t) for g, t in found.items()} for s, found in groups.items()}
    together = _together(request, classes) if classes else None
    # what is known of another prevalence is known of independent cases only
    inside = whole if prevalence is None else None
    used = {} if at is None else _at(at, tallies, request, share, inside)
    kind = "class" if classes else "score"
    parts: list[Any] = [
        *(_class_sentences(tallies, together) if classes else [cases_sentence(first)]),
        _table([kind], [[name, *row.values()] for name, row in numbers.items()]),
        *([_group_table(str(request.chosen.by), by_group)] if groups else []),
        *(_at_parts(at, kind, used) if used else []),
        _legend(request.level, numbers, by_group, share),
        *([_clustered(cluster, bool(used) and prevalence is None)] if cluster else []),
        *_notes(numbers),
        *_share_sentences(prevalence, sampling, first),
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
        chart=lambda: door("plots").roc(_drawn(tallies, groups)),
        about=about(request, first),
    )


def _clustered(cluster: str, at: bool) -> str:
    """Say which intervals allow for clusters: also those at a threshold?"""
    which = "The interval of the AUC allows"
    if at:
        which = "The intervals of the AUC and of the metrics at the threshold allow"
    return (
        f"{which} for cases that share a value of {cluster}; the other intervals "
        "assume that all cases are independent."
    )


def _counted(
    request: Request, classes: dict[Any, str]
) -> tuple[dict[str, Tally], Groups]:
    """Count each score, in each group too, or each class against the rest."""
    if classes and request.chosen.cluster is not None:
        raise InputError(
            "--cluster is for a label with two values; found "
            f"{len(classes)}. Leave it out, or keep the rows of two classes."
        )
    scores = request.chosen.scores
    with progress("Counting", unit=""):
        if classes:
            return count_classes(request, classes), {}
        tallies = {s: count_tally(request, s) for s in scores}
        if request.chosen.by is None:
            return tallies, {}
        parts = {s: count_tally(request, s, by=True) for s in scores}
        return tallies, {s: {str(g): t for g, t in p.items()} for s, p in parts.items()}


def _allow_for_clusters(
    numbers: dict[str, Any], tallies: dict[str, Tally], whole: Panel, level: float
) -> None:
    for s, row in numbers.items():
        row["auc"] = auc(tallies[s], cluster=whole[[s, CLUSTER]], level=level)


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
    if request.chosen.count or len(request.rows) > MOST_ROWS:
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


def _share_sentences(prevalence: float | None, sampling: str, t: Tally) -> list[str]:
    """Say which share of positives the numbers are for."""
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


def _at(
    at: float,
    tallies: dict[str, Tally],
    request: Request,
    share: dict[str, Any],
    whole: Panel | None,
) -> dict[str, AtThreshold]:
    """Evaluate a threshold that was chosen beforehand, by clusters where there are."""
    found = {}
    for name, t in tallies.items():
        cluster = None if whole is None else whole[[name, CLUSTER]]
        found[name] = at_threshold(
            t, at, level=request.level, rng=request.seed, cluster=cluster, **share
        )
    return found


def measures(
    t: Tally,
    level: float,
    measured: Callable[[float], None] | None = None,
    share: dict[str, Any] | None = None,
) -> dict[str, Estimate | None]:
    """Give the numbers of one score; None for what these cases cannot tell."""
    if not t.n_pos or not t.n_neg:
        return dict.fromkeys(MEASURES)
    found: dict[str, Estimate | None] = {}
    share = share or {"prevalence": None, "sampling": "cohort"}
    unknown = share["sampling"] == "case-control" and share["prevalence"] is None
    for name, how in HOW.items():
        if name == "auc":
            found[name] = how(t, level=level)
        else:
            found[name] = None if unknown else how(t, level=level, **share)
        if measured:
            measured(1)
    return found


def _brier(t: Tally, *, level: float, **share: Any) -> Estimate | None:
    if t.score[-1] < 0 or t.score[0] > 1:
        return None
    # its parts, which need the resampling, are not shown
    b = brier(t, level=level, replicates=20, **share)
    return Estimate(b.value, b.low, b.high, b.level, b.method, b.sd)


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
    share: dict[str, Any],
) -> str:
    told = share["prevalence"] is not None or share["sampling"] == "cohort"
    text = f"In parentheses: {level_text(level)} confidence intervals."
    if told and any(row["brier"] is None for row in numbers.values()):
        text += " The Brier score needs probabilities, so scores from 0 to 1."
    if any(row["auc"] is None for found in groups.values() for row in found.values()):
        text += " Groups that hold one class only have no values."
    return text
