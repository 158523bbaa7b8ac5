"""How good is it? AUC, average precision and Brier score, in all cases and in groups.

``evaluate`` is the question in Python, ``trueness evaluate`` in a shell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any

from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.options import choice
from trueness._core.figures import intervals
from trueness._core.numbers import listed, number_of
from trueness._core.progress import steps
from trueness._core.records import Estimate, shown, within
from trueness.calibration.proper_scores import brier
from trueness.comparison.any_number import compare_groups
from trueness.comparison.group_metrics import HIGHEST
from trueness.comparison.paired import compare_auc
from trueness.comparison.results import Comparison
from trueness.counts.answers import of_counts
from trueness.counts.cases import headings
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Panel, Tally, holds_readings, holds_tests
from trueness.findings import subject as subjects
from trueness.findings.diagnostic_tests import (
    are_tests,
    how_good_are_tests,
    table_of,
    test_measures,
)
from trueness.findings.memory import Measured, ScoreAtLevel, could_be_probabilities
from trueness.findings.notes import Note, note, said, when
from trueness.findings.records import Figure, Finding, Table, fields_of, finding, table
from trueness.findings.request import Request
from trueness.findings.scores_alone import has_no_labels, how_good_alone
from trueness.inference.estimates import estimate_from_interval
from trueness.metrics.algebra import write_number
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS, SHOWN
from trueness.metrics.grammar import text_of
from trueness.metrics.intervals import METHODS, WILSON_METHOD
from trueness.ranking.areas import REVERSED, auc, average_precision
from trueness.threshold.rule import AtThreshold, at_threshold, confusion

MEASURES = {
    "auc": "AUC",
    "average_precision": "average precision",
    "brier": "Brier score",
}
FEW = 50  # positives or negatives below which every rate is imprecise
_AT = ("flagged_rate", "recall", "fpr", "precision")


@of_counts
def evaluate(
    data: Panel | Tally | Confusion | Mapping[Any, Panel | Tally],
    *,
    level: float = 0.95,
    at: float | None = None,
    name: str = "",
    method: str = WILSON_METHOD,
) -> Finding:
    """How good is each score? AUC, average precision and Brier score, with intervals.

    Of tests, whose verdicts are 0 and 1 or a known pair of words: sensitivity,
    specificity, predictive values and likelihood ratios.

    Parameters
    ----------
    data
        A frame or a file, whose columns are found or named by ``label=`` and
        ``score=``; labels and scores (``evaluate(y, s)``); a classifier and its data
        (``evaluate(model, X, y)``); counts; a 2x2 table, ``Confusion(tp=815, fp=115,
        fn=208, tn=327)``; or groups of any of them by ``by=``.
    at
        A threshold in use: every metric there, too.
    name
        What one score is called in the answer; by default its column.
    method
        Intervals of proportions of tests: ``"wilson"``, or ``"exact"`` for Clopper and
        Pearson's, as R's epiR prints them.

    Returns
    -------
    Finding
        ``numbers["scores"]`` has the estimates of each score, ``to_frame()`` is the
        table, ``sentences`` says what to keep in mind.

    Examples
    --------
    >>> found = evaluate([0, 1, 1, 0, 1, 0], [0.1, 0.8, 0.4, 0.3, 0.9, 0.5])
    >>> round(found.numbers["scores"]["the classifier"]["auc"].value, 4)
    0.8889
    """
    choice(method, METHODS, "method")
    request = Request(level=level, at=at)
    if isinstance(data, Confusion):
        data = data.verdicts
    if not isinstance(data, Mapping):
        named = {name: data} if isinstance(data, Tally) and name else data
        s = subjects.subject(named, request)
        return replace(how_good(s, method=method), _subject=s)
    if not data:
        raise InputError(
            "evaluate needs one group or more; found none.",
            example=PythonCode(
                'trueness.evaluate({"a": tally}) or trueness.evaluate(y_true, y_score)'
            ),
        )
    whole: Any = reduce(add, data.values())
    groups: Mapping[Any, Any] = data
    if isinstance(whole, Tally) and name:
        whole = {name: whole}
        groups = {group: {name: tally} for group, tally in data.items()}
    s = subjects.subject(whole, request, groups=groups)
    return replace(how_good(s, method=method), _subject=s)


def how_good(
    s: subjects.Subject,
    together: Estimate | None = None,
    *,
    method: str = WILSON_METHOD,
) -> Finding:
    """Measure each classifier; ``together`` is the AUC of all classes, if known."""
    if has_no_labels(s.cases) and not are_tests(s.data):
        return how_good_alone(s)
    if are_tests(s.data) and not s.request.classes:
        return how_good_are_tests(s, method=method, cases_note=cases_note(s.cases))
    a, every = s.request, s.tallies_by_key
    tests = {n: t for n, t in every.items() if holds_tests(t) and not a.classes}
    tallies = {n: t for n, t in every.items() if n not in tests}
    first = next(iter(tallies.values()))
    both_classes(first, "evaluate")
    found: dict[str, Measured] = {}
    for n in steps(tallies, "Measuring", len(tallies)):
        ask = partial(measures, s, n, tallies[n])
        found[n] = s.memory.measures.once(ScoreAtLevel(n, a.level), ask)
    if not a.classes:  # the best one first
        worth = {n: x["auc"].value if x["auc"] else -1.0 for n, x in found.items()}
        found = {n: found[n] for n in sorted(found, key=lambda n: -worth[n])}
    by_group = _measures_by_group(s, found) if s.groups else {}
    used = {}
    if a.at is not None:
        used = {n: at_threshold(tallies[n], a.at, level=a.level) for n in found}
    counted = cases_note(s.cases)
    if a.classes:
        sizes = listed([f"{shown(c)} {t.n_pos:,}" for c, t in tallies.items()])
        counted = note("classes", n=s.cases.n, number=len(tallies), sizes=sizes)
    at = ("threshold", "confusion", "metrics")
    impact = _impact_at_threshold(s, found)
    measured_tests = {n: test_measures(t, a.level, method) for n, t in tests.items()}
    test_tables = (table_of(measured_tests),) if tests else ()
    return finding(
        "ranking",
        {
            "scores": found,
            "groups": by_group,
            "multiclass_auc": together,
            "tests": measured_tests,
            "impact": impact,
            "at": {n: fields_of(x, *at) for n, x in used.items()},
        },
        answer=(counted, *when(together, "all classes", auc=together)),
        notes=(
            *_notes(s, tallies, found, by_group, used),
            *when(tests, "tests and scores", names=[shown(n) for n in tests]),
            *said(text for each in impact.values() for text in each.notes),
        ),
        tables=(
            *_tables(s, found, by_group, used),
            *(
                replace(impact_table, brief=True)
                for each in impact.values()
                for impact_table in _impact_table(each)
            ),
            *test_tables,
        ),
        figures=_forests({shown(n): row for n, row in found.items()}),
    )


def _impact_at_threshold(
    s: subjects.Subject, names: Iterable[str]
) -> dict[str, Comparison]:
    """Return impact ratios of the groups of each score at the threshold in use."""
    if not s.groups or not isinstance(s.request.at, float):
        return {}
    impact = {}
    for name in names:
        groups = subjects.named_groups(s, name)
        compared = impact_of_groups(groups, s.request.at, s.request.level)
        if compared is not None:
            impact[name] = compared
    return impact


def _measures_by_group(
    s: subjects.Subject, names: Iterable[str]
) -> dict[str, dict[str, Measured]]:
    """Return the numbers of each score in each group."""
    alone = subjects.subject(s.data, Request(level=s.request.level))
    by_group = {}
    for name in names:
        tallies = subjects.named_groups(s, name, each_column=True)
        by_group[name] = {
            group: measures(alone, f"{name} in {group}", tally)
            for group, tally in tallies.items()
        }
    return by_group


def _notes(
    s: subjects.Subject,
    tallies: Mapping[str, Tally],
    found: Mapping[str, Measured],
    by_group: Mapping[str, Mapping[str, Measured]],
    used: Mapping[str, AtThreshold],
) -> tuple[Note, ...]:
    """Say what to keep in mind, warn of a reversed score, and repeat the warnings."""
    first = next(iter(tallies.values()))
    cuts, unknown = {write_number(x.threshold) for x in used.values()}, no_share(first)
    each = listed([f"{shown(n)} {number_of(t.n)}" for n, t in tallies.items()])
    readings = _are_readings(s, found)
    no_brier = any(x["brier"] is None for x in found.values())
    one_class = any(r["auc"] is None for x in by_group.values() for r in x.values())
    share = {"wanted": first.design.prevalence, "share": first.prevalence}
    brought: dict[str, dict[str, None]] = {}  # of which scores each is said
    for name, row in found.items():
        for text in (n for e in row.values() for n in getattr(e, "notes", ())):
            brought.setdefault(text, {})[shown(name)] = None
    brought.pop(REVERSED, None)
    own = said(
        text if len(of) == len(found) else f"{listed([*of])}: {text}"
        for text, of in brought.items()
    )
    return (
        *when(used, "at", cut=" ".join(cuts)),
        note("intervals", level=s.request.level),
        *exact_within(found),
        *when(copies := _like_labels(tallies, found), "like labels", names=copies),
        *when(len({t.n for t in tallies.values()}) > 1, "scored cases", each=each),
        *when(no_brier and not unknown and not readings, "no brier"),
        *when(readings, "readings"),
        *when(one_class, "one class"),
        *s.alike,
        *own,
        *(n for name, row in found.items() for n in doubt(name, row["auc"])),
        *when(share["wanted"] is not None, "for prevalence", **share),
        *when(unknown, "case-control"),
    )


def _tables(
    s: subjects.Subject,
    found: Mapping[str, Measured],
    by_group: Mapping[str, Mapping[str, Measured]],
    used: Mapping[str, AtThreshold],
) -> tuple[Table, ...]:
    kind = "class" if s.request.classes else "score"
    keys = _measures_shown(s, found)
    head = [MEASURES[key] for key in keys]
    rows = [[n, *(row[key] for key in keys)] for n, row in found.items()]
    tables = [table("How good is each?", [kind, *head], rows)]
    if by_group:
        every = [(g, n, r) for n, x in by_group.items() for g, r in x.items()]
        rows = [[g, n, *(r[key] for key in keys)] for g, n, r in every]
        tables.append(table(f"In each {s.by}", [s.by, "score", *head], rows))
    if used:
        values = [[n, *(x.metrics.get(m) for m in SHOWN)] for n, x in used.items()]
        names = [kind, *map(text_of, SHOWN)]
        tables.append(table("At the threshold in use", names, values))
    return tuple(tables)


def _measures_shown(s: subjects.Subject, found: Mapping[str, Measured]) -> list[str]:
    """Which measures have a column? Readings, such as 1 to 5, have no Brier score."""
    if _are_readings(s, found):
        return [key for key in MEASURES if key != "brier"]
    return list(MEASURES)


def _are_readings(s: subjects.Subject, found: Mapping[str, Measured]) -> bool:
    """Are all scores ordinal readings: a few whole numbers, such as 1 to 5?"""
    return all(holds_readings(s.tallies_by_key[name]) for name in found)


def measures(s: subjects.Subject, name: str, t: Tally) -> Measured:
    """Give the numbers of one score; None for what these cases cannot tell."""
    found: Measured = dict.fromkeys(MEASURES)
    if not (t.n_pos and t.n_neg) and not t.labels_expected:
        return found
    level = s.request.level
    found["auc"] = s.area(name, t)
    if no_share(t):
        return found
    found["average_precision"] = average_precision(t, level=level)
    if could_be_probabilities(t):
        b = brier(t, level=level)
        estimate = estimate_from_interval(
            b.value, b.low, b.high, b.level, b.method, b.se
        )
        found["brier"] = replace(estimate, bounds=b.bounds)
    return found


def exact_within(found: Mapping[str, Measured]) -> tuple[Note, ...]:
    """Say of scores in bins between which numbers the exact values lie."""
    notes: list[Note] = []
    for name, row in found.items():
        each = [
            f"{MEASURES[key]}{within(e).replace(';', ',')}"
            for key, e in row.items()
            if e is not None and e.bounds is not None
        ]
        notes += when(each, "exact within", name=shown(name), each="; ".join(each))
    return tuple(notes)


def _like_labels(
    tallies: Mapping[str, Tally], found: Mapping[str, Measured]
) -> list[str]:
    """Which scores have two values, one for each label? They may be copies of it."""
    names = []
    for name, row in found.items():
        area = row["auc"]
        # expected labels have no value that a score could copy
        two_values = tallies[name].labelled().score.size == 2
        if area is not None and two_values and area.value in (0.0, 1.0):
            names.append(shown(name))
    return names


def no_share(t: Panel | Tally) -> bool:
    """Is the proportion of positives fixed by the design, and no other one known?"""
    return t.design.sampling == CASE_CONTROL and t.design.prevalence is None


def cases_note(x: Panel | Tally) -> Note:
    """Say how many cases there are, and of which kind."""
    if x.design.stratified:
        return note("drawn by score", n=x.n_pos + x.n_neg)
    if x.labels_expected:
        return note("expected", n=x.n, labelled=number_of(x.n_pos + x.n_neg))
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


def turned(name: str, area: Estimate) -> tuple[Note, ...]:
    """Say where a score ranks the wrong way round."""
    return when(area.high < 0.5, "reversed", name=shown(name))


def doubt(name: str, area: Estimate | None) -> tuple[Note, ...]:
    """Say where a score ranks the wrong way round, or like guessing."""
    if area is None:
        return ()
    unsure = area.low <= 0.5 <= area.high
    return (*turned(name, area), *when(unsure, "guessing", name=shown(name)))


def few_cases(t: Tally) -> tuple[Note, ...]:
    """Say where there are few cases of a kind; heavy ones count for less."""
    if t.labels_expected:
        # their classes are not known; the map says how many cases it was fitted on
        return ()
    both = zip(t.equal_cases, ("negative", "positive"), strict=True)
    few, kind = min((round(n), name) for n, name in both)
    what = f"{number_of(few)} {kind} case{'' if few == 1 else 's'}"
    return when(few < FEW, "few", are="is" if few == 1 else "are", few=what)


def _forests(found: dict[str, Measured]) -> tuple[Figure, ...]:
    """Draw the areas of several classifiers under one another."""
    made = []
    for key in ("auc", "average_precision"):
        known = {n: row[key] for n, row in found.items() if row[key] is not None}
        if len(known) > 1:
            data, more = intervals(MEASURES[key], MEASURES[key], known), key != "auc"
            made.append(Figure(data, MEASURES[key], order=tuple(found), folded=more))
    return tuple(made)


def in_every_group(s: subjects.Subject) -> Finding | None:
    """Does it hold in every group? The best classifier at one threshold."""
    best, level = s.best, s.request.level
    tallies = subjects.named_groups(s, best.key, each_column=True)
    # groups that share no case with another: those can be compared
    apart = subjects.named_groups(s, best.key)
    both = {g: t for g, t in apart.items() if t.n_pos and t.n_neg}
    if len(both) < 2:
        return None
    measurable = {g: t for g, t in tallies.items() if t.n_pos and t.n_neg}
    areas = {g: auc(t, level=level) for g, t in measurable.items()}
    rows = []
    for g, t in tallies.items():
        c = confusion(t, best.point.threshold).at_prevalence(t.design.prevalence)
        rates = [float(METRICS[name](c)) for name in _AT]
        rows.append((g, t.n, t.n_pos, areas.get(g), *rates))
    low, high = (f(areas, key=lambda g: areas[g].value) for f in (min, max))
    spread: dict[str, Any] = {"name": best.name, "lowest": low, "highest": high}
    spread |= {"low": areas[low].value, "high": areas[high].value}
    test = subjects.possible(lambda: compare_auc(both, level=level))
    if test is not None:
        sure = "" if test.p_value < 1 - level else "not "
        spread |= {"could": f"{sure}statistically significant", "p": test.p_value}
    counts = headings(s.cases)
    head = ("group", *counts, "AUC", *map(text_of, _AT))
    impact = impact_of_groups(apart, best.point.threshold, level)
    drawn = intervals("AUC by group", "AUC", areas)
    return finding(
        "groups",
        {"auc": areas, "test": test, "impact": impact},
        answer=(note("groups untested" if test is None else "groups", **spread),),
        notes=(
            note("groups cut", cut=subjects.cut_of(best.point)),
            *said(impact.notes if impact else ()),
        ),
        tables=(
            table(f"{best.name}, by group", head, rows),
            *_impact_table(impact),
        ),
        figures=(Figure(drawn, "AUC by group", of="group"),),
    )


def impact_of_groups(
    groups: Mapping[str, Tally], threshold: float, level: float
) -> Comparison | None:
    """Compare selection rates of groups with the highest one (four-fifths rule)."""
    if len(groups) < 2:
        return None
    return subjects.possible(
        lambda: compare_groups(
            groups,
            METRICS["flagged_rate"],
            threshold=threshold,
            effect="ratio",
            reference=HIGHEST,
            level=level,
        )
    )


def _impact_table(impact: Comparison | None) -> tuple[Table, ...]:
    """Return the selection rates of groups beside the highest: gap and impact ratio."""
    if impact is None:
        return ()
    rates = dict(zip(impact.names, impact.values, strict=True))
    rows = [
        (pair.first, rates[pair.first], pair.difference, pair.ratio)
        for pair in impact.pairs
    ]
    reference = impact.pairs[0].second
    caption = f"Selection rate relative to the highest, {reference} (impact ratio)"
    head = ("group", "selection rate", "difference", "ratio")
    return (table(caption, head, rows, brief=False),)
