"""How good is it? AUC, average precision and Brier score, in all cases and in groups.

``evaluate`` is the question in Python, ``trueness evaluate`` in a shell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.options import choice
from trueness._core.figures import intervals
from trueness._core.numbers import counted, listed, number_of
from trueness._core.progress import steps
from trueness._core.records import Estimate, shown, within
from trueness.calibration.proper_scores import brier
from trueness.counts.answers import of_counts
from trueness.counts.cases import headings
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Panel, Tally, holds_readings, holds_tests
from trueness.data.multiclass import ClassTallies
from trueness.findings import subject as subjects
from trueness.findings.diagnostic_tests import (
    are_tests,
    how_good_are_tests,
    table_of,
    test_measures,
)
from trueness.findings.memory import ScoreAtLevel, ScoreMeasures, could_be_probabilities
from trueness.findings.notes import Note, as_notes, note, note_if
from trueness.findings.records import Figure, Finding, Table, fields_of, finding, table
from trueness.findings.request import Request
from trueness.findings.subject import has_no_labels
from trueness.inference.estimates import estimate_from_interval
from trueness.metrics.algebra import write_number
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS, SHOWN
from trueness.metrics.grammar import text_of
from trueness.metrics.intervals import METHODS, WILSON_METHOD
from trueness.ranking.areas import REVERSED, auc, average_precision
from trueness.threshold.rule import AtThreshold, at_threshold, confusion

# Groups are compared in few answers, which then import what compares them.
if TYPE_CHECKING:
    from trueness.comparison.results import Comparison

MEASURES = {
    "auc": "AUC",
    "average_precision": "average precision",
    "brier": "Brier score",
}
# numbers that stand for a missing value in files of many programs
CODES_OF_MISSING = frozenset(
    {-1.0, -9.0, -99.0, -999.0, -9999.0, 9.0, 99.0, 999.0, 9999.0}
)
MOST_READINGS = 11  # values of a scale, such as 0 to 10
MIN_CASES_OF_CLASS = 50  # positives or negatives below which every rate is imprecise
_RATES_OF_GROUPS = ("flagged_rate", "recall", "fpr", "precision")


@of_counts
def evaluate(
    data: Panel | Tally | Confusion | Mapping[Any, Panel | Tally],
    *,
    level: float = 0.95,
    at: float | None = None,
    name: str = "",
    method: str = WILSON_METHOD,
) -> Finding:
    """AUC, average precision and Brier score of each score, with intervals.

    How good is each score, or each test? Tests, whose results are 0 and 1 or a known
    pair of words, have sensitivity, specificity, predictive values and likelihood
    ratios instead.

    Parameters
    ----------
    data
        A frame or a file, whose columns are found or named by ``label=`` and
        ``score=``; labels and scores (``evaluate(y, s)``); a classifier and its data
        (``evaluate(model, X, y)``); counts; or a 2x2 table, ``Confusion(tp=815, fp=115,
        fn=208, tn=327)``. ``by=`` divides any of them into groups.
    at
        A threshold in use: adds every metric at this threshold.
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

    if isinstance(data, ClassTallies):
        subject = subjects.subject(data, replace(request, classes=True))
        answer = how_good(subject, data.auc_of_all(level), method=method)
        return replace(answer, _subject=subject)

    if not isinstance(data, Mapping):
        named_data = {name: data} if isinstance(data, Tally) and name else data
        subject = subjects.subject(named_data, request)
        return replace(how_good(subject, method=method), _subject=subject)

    if not data:
        raise InputError(
            "evaluate needs one group or more; found none.",
            example=PythonCode(
                'trueness.evaluate({"a": tally}) or trueness.evaluate(y_true, y_score)'
            ),
        )

    all_cases: Panel | Tally = reduce(add, data.values())
    if isinstance(all_cases, Tally) and name:
        named_groups = {
            group: {name: tally}
            for group, tally in data.items()
            if isinstance(tally, Tally)
        }
        subject = subjects.subject({name: all_cases}, request, groups=named_groups)
    else:
        subject = subjects.subject(all_cases, request, groups=data)

    return replace(how_good(subject, method=method), _subject=subject)


def how_good(
    subject: subjects.Subject,
    joint_auc: Estimate | None = None,
    *,
    method: str = WILSON_METHOD,
) -> Finding:
    """Measure each classifier; ``joint_auc`` is the AUC of all classes, if known."""
    if has_no_labels(subject.cases) and not are_tests(subject.data):
        from trueness.findings.scores_alone import how_good_alone

        return how_good_alone(subject)
    if are_tests(subject.data) and not subject.request.classes:
        return how_good_are_tests(
            subject, method=method, cases_note=cases_note(subject.cases)
        )

    scores, tests = _scores_and_tests(subject)
    both_classes(next(iter(scores.values())), "evaluate")

    measures_by_score = _measure_each(subject, scores)
    measured_tests = {}
    for name, tally in tests.items():
        measured_tests[name] = test_measures(tally, subject.request.level, method)

    by_group: dict[str, dict[str, ScoreMeasures]] = {}
    if subject.groups:
        by_group = _measures_by_group(subject, measures_by_score)
    evaluations = _measures_at_cut(
        subject, {name: scores[name] for name in measures_by_score}
    )
    numbers_at_cut = {}
    for name, evaluated in evaluations.items():
        numbers_at_cut[name] = fields_of(evaluated, "threshold", "confusion", "metrics")

    notes = [*_notes(subject, scores, measures_by_score, by_group, evaluations)]
    tables = [*_tables(subject, measures_by_score, by_group, evaluations)]
    if tests:
        notes.append(note("tests and scores", names=[shown(name) for name in tests]))

    impact = _impact_at_threshold(subject, measures_by_score)
    sentences_on_impact: list[str] = []
    for comparison in impact.values():
        sentences_on_impact += comparison.notes
        for impact_table in _impact_table(comparison):
            tables.append(replace(impact_table, brief=True))
    notes += as_notes(sentences_on_impact)

    if tests:
        tables.append(table_of(measured_tests))

    return finding(
        "ranking",
        {
            "scores": measures_by_score,
            "groups": by_group,
            "multiclass_auc": joint_auc,
            "tests": measured_tests,
            "impact": impact,
            "at": numbers_at_cut,
        },
        answer=(
            _note_on_cases(subject, scores),
            *note_if(joint_auc, "all classes", auc=joint_auc),
        ),
        notes=tuple(notes),
        tables=tuple(tables),
        figures=_forests({shown(name): row for name, row in measures_by_score.items()}),
    )


def _scores_and_tests(
    subject: subjects.Subject,
) -> tuple[dict[str, Tally], dict[str, Tally]]:
    """Tell columns of scores from those of verdicts, which have no threshold."""
    if subject.request.classes:
        return dict(subject.tallies_by_key), {}

    scores = {}
    tests = {}
    for name, tally in subject.tallies_by_key.items():
        if holds_tests(tally):
            tests[name] = tally
        else:
            scores[name] = tally

    return scores, tests


def _measure_each(
    subject: subjects.Subject, tallies: Mapping[str, Tally]
) -> dict[str, ScoreMeasures]:
    """Measure each score, the best one first; classes stay in their order."""
    measures_by_score: dict[str, ScoreMeasures] = {}
    for name in steps(tallies, "Measuring", len(tallies)):
        measures_by_score[name] = measures_of(subject, name, tallies[name])

    if subject.request.classes:
        return measures_by_score

    def area_of(name: str) -> float:
        area = measures_by_score[name]["auc"]
        return area.value if area else -1.0

    best_first = sorted(measures_by_score, key=area_of, reverse=True)
    return {name: measures_by_score[name] for name in best_first}


def _measures_at_cut(
    subject: subjects.Subject, tallies: Mapping[str, Tally]
) -> dict[str, AtThreshold]:
    """Measure each score at the threshold in use, if one was named."""
    threshold = subject.request.at
    if threshold is None:
        return {}

    level = subject.request.level

    return {
        name: at_threshold(tally, threshold, level=level)
        for name, tally in tallies.items()
    }


def _note_on_cases(subject: subjects.Subject, tallies: Mapping[str, Tally]) -> Note:
    """Say how many cases there are, of two classes or of several."""
    if not subject.request.classes:
        return cases_note(subject.cases)
    sizes = [f"{shown(name)} {tally.n_pos:,}" for name, tally in tallies.items()]
    return note("classes", n=subject.cases.n, number=len(tallies), sizes=listed(sizes))


def _impact_at_threshold(
    subject: subjects.Subject, names: Iterable[str]
) -> dict[str, Comparison]:
    """Return impact ratios of the groups of each score at the threshold in use."""
    if not subject.groups or not isinstance(subject.request.at, float):
        return {}

    impact = {}
    for name in names:
        groups = subjects.named_groups(subject, name)
        comparison = impact_of_groups(groups, subject.request.at, subject.request.level)
        if comparison is not None:
            impact[name] = comparison

    return impact


def _measures_by_group(
    subject: subjects.Subject, names: Iterable[str]
) -> dict[str, dict[str, ScoreMeasures]]:
    """Return the numbers of each score in each group."""
    subject_alone = subjects.subject(subject.data, Request(level=subject.request.level))
    by_group = {}
    for name in names:
        tallies = subjects.named_groups(subject, name, each_column=True)
        by_group[name] = {
            group: measures(subject_alone, f"{name} in {group}", tally)
            for group, tally in tallies.items()
        }

    return by_group


def _notes(
    subject: subjects.Subject,
    tallies: Mapping[str, Tally],
    measures_by_score: Mapping[str, ScoreMeasures],
    by_group: Mapping[str, Mapping[str, ScoreMeasures]],
    evaluations: Mapping[str, AtThreshold],
) -> tuple[Note, ...]:
    """Say what to keep in mind, warn of a reversed score, and repeat the warnings."""
    first_tally = next(iter(tallies.values()))
    cuts = {write_number(evaluated.threshold) for evaluated in evaluations.values()}
    notes = [
        *note_if(evaluations, "at", cut=" ".join(cuts)),
        note("intervals", level=subject.request.level),
        *bounds_notes(measures_by_score),
    ]

    # what is unusual about the data
    copies = _possible_copies_of_labels(tallies, measures_by_score)
    notes += note_if(copies, "like labels", names=copies)
    sizes = [
        f"{shown(name)} {number_of(counted.n)}" for name, counted in tallies.items()
    ]
    sizes_differ = len({tally.n for tally in tallies.values()}) > 1
    notes += note_if(sizes_differ, "scored cases", each=listed(sizes))

    # what could not be measured
    prevalence_unknown = prevalence_is_unknown(first_tally)
    are_readings = _are_readings(subject, measures_by_score)
    lacks_brier = any(row["brier"] is None for row in measures_by_score.values())
    if lacks_brier and not prevalence_unknown and not are_readings:
        notes.append(note("no brier"))

    notes += note_if(are_readings, "readings")
    notes += note_if(_a_group_lacks_a_class(by_group), "one class")

    notes += subject.cluster_notes
    notes += _notes_of_estimates(measures_by_score)
    for name, row in measures_by_score.items():
        notes += weak_auc_notes(name, row["auc"])
    for name, tally in tallies.items():
        notes += missing_code_notes(name, tally)

    # which prevalence the values are about
    prevalence = first_tally.design.prevalence
    if prevalence is not None:
        notes.append(
            note("for prevalence", wanted=prevalence, share=first_tally.prevalence)
        )

    notes += note_if(prevalence_unknown, "case-control")
    return tuple(notes)


def _a_group_lacks_a_class(
    by_group: Mapping[str, Mapping[str, ScoreMeasures]],
) -> bool:
    """Return whether a group has cases of one class only, and so no AUC."""
    for measures_of_groups in by_group.values():
        if any(row["auc"] is None for row in measures_of_groups.values()):
            return True
    return False


def _notes_of_estimates(
    measures_by_score: Mapping[str, ScoreMeasures],
) -> tuple[Note, ...]:
    """Repeat what estimates say, each once, with the scores of which it is said."""
    scores_of_text: dict[str, list[str]] = {}
    for name, row in measures_by_score.items():
        texts: list[str] = []
        for estimate in row.values():
            if estimate is not None:
                texts += estimate.notes
        for text in dict.fromkeys(texts):
            scores_of_text.setdefault(text, []).append(shown(name))

    scores_of_text.pop(REVERSED, None)  # it has a note of its own

    sentences = []
    for text, names in scores_of_text.items():
        is_true_of_all = len(names) == len(measures_by_score)
        sentences.append(text if is_true_of_all else f"{listed(names)}: {text}")

    return as_notes(sentences)


def _tables(
    subject: subjects.Subject,
    measures_by_score: Mapping[str, ScoreMeasures],
    by_group: Mapping[str, Mapping[str, ScoreMeasures]],
    evaluations: Mapping[str, AtThreshold],
) -> tuple[Table, ...]:
    """Return the measures of all cases, of each group, and at the threshold in use."""
    kind = "class" if subject.request.classes else "score"
    keys = _measures_shown(subject, measures_by_score)
    titles = [MEASURES[key] for key in keys]
    rows = [
        [name, *(row[key] for key in keys)] for name, row in measures_by_score.items()
    ]
    tables = [table("How good is each?", [kind, *titles], rows)]

    if by_group:
        rows_of_groups = []
        for name, measures_of_groups in by_group.items():
            for group, row in measures_of_groups.items():
                rows_of_groups.append([group, name, *(row[key] for key in keys)])
        head = [subject.by, "score", *titles]
        tables.append(table(f"In each {subject.by}", head, rows_of_groups))

    if evaluations:
        rows_at_cut = []
        for name, evaluated in evaluations.items():
            values = [evaluated.metrics.get(metric) for metric in SHOWN]
            rows_at_cut.append([name, *values])
        head = [kind, *map(text_of, SHOWN)]
        tables.append(table("At the threshold in use", head, rows_at_cut))

    return tuple(tables)


def _measures_shown(
    subject: subjects.Subject, measures_by_score: Mapping[str, ScoreMeasures]
) -> list[str]:
    """Return the measures that have a column; readings have no Brier score."""
    if _are_readings(subject, measures_by_score):
        return [key for key in MEASURES if key != "brier"]
    return list(MEASURES)


def _are_readings(subject: subjects.Subject, names: Iterable[str]) -> bool:
    """Return whether all scores are ordinal readings: whole numbers, as 1 to 5."""
    return all(holds_readings(subject.tallies_by_key[name]) for name in names)


def measures_of(subject: subjects.Subject, name: str, tally: Tally) -> ScoreMeasures:
    """Return the numbers of one score, which are worked out once."""
    return subject.memory.measures.get_or_compute(
        ScoreAtLevel(name, subject.request.level),
        partial(measures, subject, name, tally),
    )


def measures(subject: subjects.Subject, name: str, tally: Tally) -> ScoreMeasures:
    """Return the numbers of one score; None for what these cases cannot tell."""
    score_measures: ScoreMeasures = dict.fromkeys(MEASURES)
    has_both_classes = tally.n_pos and tally.n_neg
    if not has_both_classes and not tally.labels_expected:
        return score_measures

    score_measures["auc"] = subject.area(name, tally)
    if prevalence_is_unknown(tally):  # the others depend on the prevalence
        return score_measures

    level = subject.request.level
    score_measures["average_precision"] = average_precision(tally, level=level)
    if could_be_probabilities(tally):
        score = brier(tally, level=level)
        estimate = estimate_from_interval(
            score.value, score.low, score.high, score.level, score.method, score.se
        )
        score_measures["brier"] = replace(estimate, bounds=score.bounds)

    return score_measures


def bounds_notes(measures_by_score: Mapping[str, ScoreMeasures]) -> tuple[Note, ...]:
    """Say of scores in bins between which numbers the exact values lie."""
    notes: list[Note] = []
    for name, row in measures_by_score.items():
        texts = [
            f"{MEASURES[key]}{within(estimate).replace(';', ',')}"
            for key, estimate in row.items()
            if estimate is not None and estimate.bounds is not None
        ]
        notes += note_if(texts, "exact within", name=shown(name), each="; ".join(texts))

    return tuple(notes)


def _possible_copies_of_labels(
    tallies: Mapping[str, Tally], measures_by_score: Mapping[str, ScoreMeasures]
) -> list[str]:
    """Return the scores that have one value for each label, and may be copies of it."""
    names = []
    for name, row in measures_by_score.items():
        area = row["auc"]
        # expected labels have no value that a score could copy
        two_values = tallies[name].labelled().score.size == 2
        if area is not None and two_values and area.value in (0.0, 1.0):
            names.append(shown(name))

    return names


def prevalence_is_unknown(t: Panel | Tally) -> bool:
    """Return whether the design fixes the prevalence, and no other one is known."""
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


def reversed_notes(name: str, area: Estimate) -> tuple[Note, ...]:
    """Say where a score ranks the wrong way round."""
    return note_if(area.high < 0.5, "reversed", name=shown(name))


def missing_code_notes(name: str, tally: Tally) -> tuple[Note, ...]:
    """Say where one score is a code that people use for missing.

    Such a code stands beyond probabilities, or beyond readings such as 1 to 5.
    """
    if tally.score.size < 3:
        return ()

    # the highest score stands first
    for row, others in ((0, tally.score[1:]), (-1, tally.score[:-1])):
        code = float(tally.score[row])
        are_fractions = others[0] <= 1 and others[-1] >= 0
        if _is_beyond(code, others) and (are_fractions or _are_of_one_scale(others)):
            cases = tally.neg[row] + tally.pos[row] + tally.unknown[row]
            return (
                note(
                    "like missing",
                    name=shown(name),
                    value=f"{code:g}",
                    lowest=f"{0 if are_fractions else others[-1]:g}",
                    highest=f"{1 if are_fractions else others[0]:g}",
                    cases=counted(float(cases), "case"),
                ),
            )

    return ()


def _is_beyond(code: float, others: Floats) -> bool:
    """Return whether a code of missing values is no neighbour of the other scores."""
    distance = max(code - float(others[0]), float(others[-1]) - code)
    return code in CODES_OF_MISSING and distance > 1


def _are_of_one_scale(scores: Floats) -> bool:
    """Return whether these are a few whole numbers of one scale, such as 1 to 5."""
    is_whole = bool(np.all(scores == np.floor(scores)))
    return is_whole and scores.size > 1 and scores[0] - scores[-1] < MOST_READINGS


def weak_auc_notes(name: str, area: Estimate | None) -> tuple[Note, ...]:
    """Say where a score ranks the wrong way round, or like guessing."""
    if area is None:
        return ()
    is_like_guessing = area.low <= 0.5 <= area.high
    return (
        *reversed_notes(name, area),
        *note_if(is_like_guessing, "guessing", name=shown(name)),
    )


def few_cases_notes(tally: Tally) -> tuple[Note, ...]:
    """Return a note where a class has few cases; unequal weights make them fewer."""
    if tally.labels_expected:
        # their classes are not known; the map says how many cases it was fitted on
        return ()

    # numbers of equally weighted cases that would tell as much
    negatives, positives = map(round, tally.equal_cases)
    number, kind = min((negatives, "negative"), (positives, "positive"))
    if number >= MIN_CASES_OF_CLASS:
        return ()
    if number == 1:
        return (note("few", are="is", few=f"{number_of(1)} {kind} case"),)
    return (note("few", are="are", few=f"{number_of(number)} {kind} cases"),)


def _forests(measures_by_score: dict[str, ScoreMeasures]) -> tuple[Figure, ...]:
    """Draw the areas of several classifiers under one another."""
    pictures = []
    for key in ("auc", "average_precision"):
        title = MEASURES[key]
        estimates = {
            n: row[key] for n, row in measures_by_score.items() if row[key] is not None
        }
        if len(estimates) > 1:
            pictures.append(
                Figure(
                    intervals(title, title, estimates),
                    title,
                    order=tuple(measures_by_score),
                    folded=key != "auc",
                )
            )

    return tuple(pictures)


def in_every_group(subject: subjects.Subject) -> Finding | None:
    """Does it hold in every group? The best classifier at one threshold."""
    best = subject.best
    level = subject.request.level
    threshold = best.point.threshold
    tallies = subjects.named_groups(subject, best.key, each_column=True)
    # groups that share no case with another: those can be compared
    disjoint = subjects.named_groups(subject, best.key)
    comparable = _with_both_classes(disjoint)
    if len(comparable) < 2:
        return None

    from trueness.comparison.paired import compare_auc

    areas = {}
    for group, tally in _with_both_classes(tallies).items():
        areas[group] = auc(tally, level=level)
    test = subjects.answer_or_none(lambda: compare_auc(comparable, level=level))
    impact = impact_of_groups(disjoint, threshold, level)

    rows = []
    for group, tally in tallies.items():
        rates = _rates_at(tally, threshold)
        rows.append((group, tally.n, tally.n_pos, areas.get(group), *rates))

    head = ("group", *headings(subject.cases), "AUC", *map(text_of, _RATES_OF_GROUPS))
    forest = intervals("AUC by group", "AUC", areas)

    return finding(
        "groups",
        {"auc": areas, "test": test, "impact": impact},
        answer=(_note_on_groups(best.name, areas, test, level),),
        notes=(
            note("groups cut", cut=subjects.cut_of(best.point)),
            *as_notes(impact.notes if impact else ()),
        ),
        tables=(
            table(f"{best.name}, by group", head, rows),
            *_impact_table(impact),
        ),
        figures=(Figure(forest, "AUC by group", of="group"),),
    )


def _with_both_classes(tallies: Mapping[str, Tally]) -> dict[str, Tally]:
    """Return the groups that have an AUC."""
    return {group: t for group, t in tallies.items() if t.n_pos and t.n_neg}


def _rates_at(tally: Tally, threshold: float) -> list[float]:
    """Return the rates at a threshold, for the prevalence of the design."""
    counts = confusion(tally, threshold).at_prevalence(tally.design.prevalence)
    return [float(METRICS[name](counts)) for name in _RATES_OF_GROUPS]


def _note_on_groups(
    name: str, areas: Mapping[str, Estimate], test: Comparison | None, level: float
) -> Note:
    """Say in which group the AUC is lowest and highest, and whether they differ."""
    lowest = min(areas, key=lambda group: areas[group].value)
    highest = max(areas, key=lambda group: areas[group].value)
    values: dict[str, Any] = {
        "name": name,
        "lowest": lowest,
        "highest": highest,
        "low": areas[lowest].value,
        "high": areas[highest].value,
    }

    if test is None:
        return note("groups untested", **values)

    is_significant = test.p_value < 1 - level
    could = "not statistically significant"
    if is_significant:
        could = "statistically significant"

    return note("groups", **values, could=could, p=test.p_value)


def impact_of_groups(
    groups: Mapping[str, Tally], threshold: float, level: float
) -> Comparison | None:
    """Compare selection rates of groups with the highest one (four-fifths rule)."""
    if len(groups) < 2:
        return None

    from trueness.comparison.any_number import compare_groups
    from trueness.comparison.group_metrics import HIGHEST

    return subjects.answer_or_none(
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
