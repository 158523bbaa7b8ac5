"""How good is it? AUC, average precision and Brier score, in all cases and in groups.

``evaluate`` is the question in Python, ``trueness evaluate`` in a shell.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError
from trueness._core.figures import intervals
from trueness._core.numbers import listed, number_of
from trueness._core.progress import steps
from trueness._core.records import Estimate, shown
from trueness.calibration.proper_scores import brier
from trueness.comparison.paired import compare_auc
from trueness.counts.answers import of_counts
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Panel, Tally
from trueness.findings.notes import TITLES, Note, note
from trueness.findings.records import Figure, Finding, Table, said, table
from trueness.findings.subject import (
    UNNAMED,
    Subject,
    Wanted,
    cut_of,
    named_groups,
    possible,
    subject,
    tallies_of,
)
from trueness.inference.limits import around
from trueness.inference.spread import kish
from trueness.metrics.algebra import write_number
from trueness.metrics.definitions import METRICS, SHOWN
from trueness.metrics.grammar import text_of
from trueness.ranking.areas import REVERSED, auc, average_precision
from trueness.threshold.at_cut import AtThreshold, at_threshold, confusion

MEASURES = {
    "auc": "AUC",
    "average_precision": "average precision",
    "brier": "Brier score",
}
FEW = 50  # positives or negatives below which every rate is coarse
Measured = dict[str, Estimate | None]
METHOD = (
    "AUC: DeLong's variance (1988, doi:10.2307/2531595; of clusters Obuchowski's, "
    "1997), Wilson's form of the interval with Student's quantile. The others: the "
    "same with their influence values."
)
CAVEAT = (
    "The AUC averages over all thresholds, including those that would never be used. "
    "Average precision depends on the prevalence, so compare it on the same cases only."
)


@of_counts
def evaluate(
    data: Panel | Tally | Mapping[Any, Panel | Tally],
    *,
    level: float = 0.95,
    at: float | None = None,
) -> Finding:
    """How good is each score? AUC, average precision and Brier score, with intervals.

    Parameters
    ----------
    data
        Labels and scores (``evaluate(y, s)``), a frame with ``label=`` and ``score=``
        (one column or a list of them), counts, or groups of any of them by ``by=``.
    at
        A threshold in use: every metric there, too.

    Returns
    -------
    Finding
        What ``trueness evaluate`` prints: ``numbers["scores"]`` has the estimates of
        each score, ``to_frame()`` is the table, ``sentences`` says what to keep in
        mind.

    Examples
    --------
    >>> found = evaluate([0, 1, 1, 0, 1, 0], [0.1, 0.8, 0.4, 0.3, 0.9, 0.5])
    >>> round(found.numbers["scores"]["the classifier"]["auc"].value, 4)
    0.8889
    """
    groups = data if isinstance(data, Mapping) else None
    if groups is not None:
        if not groups:
            raise InputError(
                "evaluate needs one group or more; found none. Type "
                'trueness.evaluate({"a": tally}) or trueness.evaluate(y_true, y_score).'
            )
        first, *others = groups.values()
        whole: Panel | Tally = sum(others, start=first)
    else:
        whole = data  # type: ignore[assignment]  # not a mapping
    return how_good(subject(whole, groups=groups, level=level, at=at))


def how_good(s: Subject, together: Estimate | None = None) -> Finding:
    """Measure each classifier; ``together`` is the AUC of all classes, if known."""
    a, tallies = s.asked, tallies_of(s.data)
    first = next(iter(tallies.values()))
    both_classes(first, "evaluate")
    names = steps(tallies, "Measuring", len(tallies))
    found = {n: _once(s, n, tallies[n]) for n in names}
    if not a.classes:  # the best one first
        order = sorted(found, key=lambda n: -_value(found[n]["auc"]))
        found = {n: found[n] for n in order}
    by_group = {n: _in_groups(s, n) for n in found} if s.groups else {}
    used = {} if a.at is None else {
        n: at_threshold(tallies[n], a.at, level=a.level) for n in found
    }  # fmt: skip
    kind = "class" if a.classes else "score"
    return Finding(
        TITLES["ranking"],
        {
            "scores": found,
            "groups": by_group,
            "multiclass_auc": together,
            "at": {n: at_numbers(x) for n, x in used.items()},
        },
        answer=(
            counted_note(s),
            *([note("all classes", auc=together)] if together else []),
        ),
        notes=(
            *([note("at", cut=write_number(float(a.at)))] if a.at is not None else []),
            *_legend(a, found, by_group, first),
            *alike(s.cluster),
            *_warnings(found),
            *_share(first),
        ),
        tables=(
            _measures("", [kind], [[n, *row.values()] for n, row in found.items()]),
            *_group_table(s.by, by_group),
            *_at_table(kind, used),
        ),
        figures=_forests({shown(n): row for n, row in found.items()}),
        method=METHOD,
        caveat=CAVEAT,
        key="ranking",
    )


def _value(e: Estimate | None) -> float:
    return -1.0 if e is None else e.value


def _once(s: Subject, name: str, t: Tally) -> Measured:
    return s.once(("measures", name, s.asked.level), partial(measures, s, name, t))


def measures(s: Subject, name: str, t: Tally) -> Measured:
    """Give the numbers of one score; None for what these cases cannot tell."""
    if not t.n_pos or not t.n_neg:
        return dict.fromkeys(MEASURES)
    level = s.asked.level
    area = s.once(("auc", name, level), partial(auc, t, level=level))
    if unknown_share(t):
        return {"auc": area, "average_precision": None, "brier": None}
    probabilities = t.score[-1] >= 0 and t.score[0] <= 1
    return {
        "auc": area,
        "average_precision": average_precision(t, level=level),
        "brier": _brier(t, level) if probabilities else None,
    }


def unknown_share(t: Panel | Tally) -> bool:
    """Is the share of positives fixed by the design, and no other one known?"""
    return t.design.sampling == CASE_CONTROL and t.design.prevalence is None


def _brier(t: Tally, level: float) -> Estimate:
    b = brier(t, level=level)
    return around(b.value, b.low, b.high, b.level, b.method, b.sd)


def _in_groups(s: Subject, name: str) -> dict[str, Measured]:
    level = s.asked.level
    alone = subject(s.data, level=level)
    parts = named_groups(s, name)
    return {g: measures(alone, f"{name} in {g}", t) for g, t in parts.items()}


def at_numbers(x: AtThreshold) -> dict[str, Any]:
    """Give what is known at a threshold in use."""
    return {name: getattr(x, name) for name in ("threshold", "confusion", "metrics")}


def counted_note(s: Subject) -> Note:
    """Say what was counted."""
    x = s.cases
    if s.asked.classes:
        sizes = {c: t.n_pos for c, t in tallies_of(s.data).items()}
        said_so = listed([f"{shown(c)} {n:,}" for c, n in sizes.items()])
        return note("classes", n=x.n, number=len(sizes), sizes=said_so)
    return cases_note(x)


def alike(cluster: str) -> list[Note]:
    """Say that the intervals allow for clusters, where there are some."""
    return [note("clusters", cluster=cluster)] if cluster else []


def cases_note(x: Panel | Tally) -> Note:
    """Say how many cases there are, and of which kind."""
    if not x.n_pos + x.n_neg:
        return note("unlabelled only", n=x.n)
    return note(
        x.unit,
        n=x.n,
        pos=x.n_pos,
        neg=x.n_neg,
        share=x.prevalence,
        known=" of those with a label" if x.n_unknown else "",
        unknown=f", {number_of(x.n_unknown)} without a label" if x.n_unknown else "",
    )


def _legend(
    a: Wanted, found: dict[str, Measured], groups: dict[str, Any], t: Tally
) -> list[Note]:
    lines = [note("intervals", level=a.level)]
    if not unknown_share(t) and any(row["brier"] is None for row in found.values()):
        lines.append(note("no brier"))
    if any(row["auc"] is None for parts in groups.values() for row in parts.values()):
        lines.append(note("one class"))
    return lines


def _warnings(found: dict[str, Measured]) -> list[Note]:
    """Give what the estimates say of themselves, and warn of a reversed score."""
    lines: list[Note] = []
    for name, row in found.items():
        notes = [n for e in row.values() for n in getattr(e, "notes", ())]
        who = "" if name == UNNAMED else f"{shown(name)}: "
        lines += said(f"{who}{n}" for n in notes if n != REVERSED)
        lines += doubt(name, row["auc"])
    return lines


def doubt(name: str, area: Estimate | None) -> list[Note]:
    """Say where a score ranks the wrong way round, or like guessing."""
    if area is None or area.low > 0.5:
        return []
    return [note("reversed" if area.high < 0.5 else "guessing", name=shown(name))]


def _share(t: Tally) -> list[Note]:
    """Say which share of positives the numbers are for."""
    if t.design.prevalence is not None:
        wanted = t.design.prevalence
        return [note("for prevalence", wanted=wanted, share=t.prevalence)]
    return [note("case-control")] if unknown_share(t) else []


def few_cases(t: Tally) -> list[Note]:
    """Say where there are few cases of a kind; heavy ones count for less."""
    few, kind = min(
        (round(kish(float(c.sum()), float(q.sum()))), name)
        for c, q, name in (
            (t.pos, t.squares[1], "positive"),
            (t.neg, t.squares[0], "negative"),
        )
    )
    if few >= FEW:
        return []
    what = f"{number_of(few)} {kind} case{'' if few == 1 else 's'}"
    return [note("few", are="is" if few == 1 else "are", few=what)]


def _measures(caption: str, first: list[str], rows: list[list[Any]]) -> Table:
    return table(caption or "How good is each?", [*first, *MEASURES.values()], rows)


def _group_table(by: str, groups: dict[str, dict[str, Measured]]) -> list[Table]:
    rows = [
        [group, name, *row.values()]
        for name, found in groups.items()
        for group, row in found.items()
    ]
    return [_measures(f"In each {by}", [by, "score"], rows)] if rows else []


def _at_table(kind: str, used: dict[str, AtThreshold]) -> list[Table]:
    if not used:
        return []
    rows = [[n, *(x.metrics.get(m) for m in SHOWN)] for n, x in used.items()]
    return [table("At the threshold in use", [kind, *map(text_of, SHOWN)], rows)]


def _forests(found: dict[str, Measured]) -> tuple[Figure, ...]:
    """Draw the areas of several classifiers under one another."""
    made = []
    for key in ("auc", "average_precision"):
        known = {n: row[key] for n, row in found.items() if row[key] is not None}
        if len(known) > 1:
            data = intervals(MEASURES[key], MEASURES[key], known)
            more = key != "auc"
            made.append(Figure(data, MEASURES[key], order=tuple(found), folded=more))
    return tuple(made)


def in_every_group(s: Subject) -> Finding | None:
    """Does it hold in every group? The best classifier at one threshold."""
    best, level = s.best, s.asked.level
    tallies = named_groups(s, best.key)
    both = {g: t for g, t in tallies.items() if t.n_pos and t.n_neg}
    if len(both) < 2:
        return None
    areas = {g: auc(t, level=level) for g, t in both.items()}
    at = best.point.threshold
    rows = [(g, t.n, t.n_pos, areas.get(g), *_rates(t, at)) for g, t in tallies.items()]
    test = possible(lambda: compare_auc(both, level=level))
    head = ("group", "cases", "positive", "AUC", *map(text_of, _AT))
    cut = note("groups cut", cut=cut_of(best.point))
    return Finding(
        TITLES["groups"],
        {"auc": areas, "test": test},
        answer=(_spread_of(best.name, areas, test, level),),
        notes=(cut,),
        tables=(table(f"{best.name}, by group", head, rows),),
        figures=(
            Figure(intervals("AUC by group", "AUC", areas), "AUC by group", of="group"),
        ),
        method="The groups hold different cases, so the test is unpaired (DeLong et "
        "al. 1988, doi:10.2307/2531595); groups with one class only have no AUC.",
        caveat="An AUC that is lower in each group than in all cases together is no "
        "error: part of the ranking then distinguishes the groups.",
        key="groups",
    )


_AT = ("flagged_rate", "recall", "fpr", "precision")


def _rates(t: Tally, at: float) -> list[float]:
    c = confusion(t, at).at_prevalence(t.design.prevalence)
    return [float(METRICS[name](c)) for name in _AT]


def _spread_of(
    name: str, areas: Mapping[str, Estimate], test: Any, level: float
) -> Note:
    low, high = (f(areas, key=lambda g: areas[g].value) for f in (min, max))
    ends = {"low": areas[low].value, "high": areas[high].value}
    who = {"name": name, "lowest": low, "highest": high}
    if test is None:
        return note("groups untested", **who, **ends)
    sure = test.p_value < 1 - level
    could = "statistically significant" if sure else "not statistically significant"
    return note("groups", **who, **ends, could=could, p=test.p_value)
