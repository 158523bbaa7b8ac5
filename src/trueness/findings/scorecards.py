"""How good is a scorecard? Gini, KS, decile table, stability; curves as tables.

What credit and fraud teams, and readers of clinical prediction models, ask for by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError
from trueness._core.numbers import cut_text
from trueness._core.records import Estimate
from trueness.calibration.explained import nagelkerke_r2
from trueness.calibration.grades import jeffreys_test
from trueness.calibration.proper_scores import log_loss
from trueness.counts.cases import headings
from trueness.counts.values import Tally
from trueness.findings.how_good import cases_note
from trueness.findings.memory import could_be_probabilities
from trueness.findings.notes import as_notes, note
from trueness.findings.records import (
    Finding,
    Table,
    fields_of,
    finding,
    in_groups,
    table,
)
from trueness.findings.subject import Subject, answer_or_none
from trueness.inference.estimates import estimate_from_interval
from trueness.monitoring.stability import StabilityIndex, psi
from trueness.ranking.interpolated_area import precision_recall_area
from trueness.ranking.risk_coverage import risk_coverage
from trueness.ranking.scorecards import DecileTable, decile_table, gini, ks
from trueness.threshold.costs import decision_curve

# measures that a profession asks for by name, and how they are called
NAMED_MEASURES: Mapping[str, str] = {
    "gini": "Gini (2 AUC - 1)",
    "ks": "KS",
    "precision_recall_area": "precision-recall area, interpolated",
    "nagelkerke_r2": "Nagelkerke's R²",
    "log_loss": "log loss",
    "log_loss_clipped": "log loss, clipped as scikit-learn does",
}
MOST_GRADES = 100  # of a rating; more distinct scores are no grades
_FEW_GRADES = 25  # in a report, where nobody says that scores are grades
# where curves are shown when no place is named
DEFAULT_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
DEFAULT_COVERAGES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
MEASURES_OF_GROUPS = ("gini", "ks")  # in a table; all are among its numbers
DECILE_HEAD = ("decile", "from", "cases", "positives", "rate", "gain", "lift", "KS")


def scorecard(
    tally: Tally,
    *,
    level: float,
    groups: int = 10,
    reference: Tally | None = None,
) -> Finding:
    """Return Gini, KS and its place, the decile table, and PSI beside a reference."""
    measures = named_measures(tally, level)
    largest = ks(tally, level=level)
    deciles = decile_table(tally, groups=groups, level=level)
    stability = None if reference is None else psi(reference, tally, level=level)
    rows = [(NAMED_MEASURES[name], value) for name, value in measures.items()]

    if stability is not None:
        rows.append(("PSI (population stability index)", stability.psi))

    place = note(
        "place of KS",
        cut=cut_text(largest.threshold),
        tpr=largest.tpr,
        fpr=largest.fpr,
    )

    return finding(
        "scorecard",
        {
            "measures": measures,
            "ks": fields_of(largest, "threshold", "tpr", "fpr"),
            "deciles": deciles,
            "psi": stability,
        },
        answer=(cases_note(tally), place),
        notes=(
            note("intervals", level=level),
            *as_notes((*largest.notes, *deciles.notes, *_notes_of(stability))),
        ),
        tables=(
            table("Measures", ("measure", "value"), rows),
            table_of_deciles(deciles, level),
        ),
    )


def scorecard_of_groups(
    of_all_cases: Finding, groups: Mapping[Any, Tally], *, by: str, level: float
) -> Finding:
    """Add Gini, KS and the other measures of each group."""
    numbers = {}
    rows = []
    for group, tally in groups.items():
        measures = named_measures(tally, level)
        numbers[str(group)] = {"measures": measures}
        values = [measures.get(name) for name in MEASURES_OF_GROUPS]
        rows.append((str(group), tally.n, tally.n_pos, *values))

    first_tally = next(iter(groups.values()))
    titles = [NAMED_MEASURES[name] for name in MEASURES_OF_GROUPS]
    head = (by, *headings(first_tally), *titles)

    return in_groups(of_all_cases, numbers, table(f"In each {by}", head, rows))


def grades(tally: Tally, *, level: float) -> Finding:
    """Return the Jeffreys test of each rating grade; its score is its PD."""
    distinct = len(tally.score)
    if distinct > MOST_GRADES:
        raise InputError(
            "The Jeffreys test needs the probability of default (PD) of each rating "
            f"grade as its score; there are {distinct:,} distinct scores.",
            option="jeffreys",
        )

    tests = jeffreys_test(tally, level=level)
    rates = _estimates(tests.rate, tests.rate_low, tests.rate_high, level)
    rows = zip(
        tests.pd.tolist(),
        tests.n.tolist(),
        tests.n_pos.tolist(),
        rates,
        tests.p_value.tolist(),
        strict=True,
    )
    head = ("PD", *headings(tally), "rate", "p-value")

    return finding(
        "grades",
        {"grades": tests},
        answer=(note("portfolio", p=tests.portfolio_p_value),),
        notes=(note("grades tested"), *as_notes(tests.notes)),
        tables=(table("Jeffreys test of each grade", head, rows),),
    )


def measures_by_name(subject: Subject) -> Finding | None:
    """Return the same of the best classifier, for readers who look for a name."""
    best = subject.best
    if best.tally.binned or best.tally.labels_expected:
        return None

    level = subject.request.level
    measures = named_measures(best.tally, level)
    deciles = answer_or_none(partial(decile_table, best.tally, level=level))
    rows = [(NAMED_MEASURES[name], value) for name, value in measures.items()]
    tables = [table("Measures", ("measure", "value"), rows, brief=False)]

    if deciles is not None:
        tables.append(replace(table_of_deciles(deciles, level), brief=False))

    curves = _curves_by_name(best.tally, best.point.threshold, level)
    for curve in curves.values():
        tables += [replace(details, brief=False) for details in curve.tables]

    return finding(
        "by-name",
        {
            "measures": measures,
            "deciles": deciles,
            **{name: curve.numbers for name, curve in curves.items()},
        },
        answer=(note("measures of", name=best.name),),
        tables=tuple(tables),
    )


def _curves_by_name(tally: Tally, threshold: float, level: float) -> dict[str, Finding]:
    """Return risk and coverage; of probabilities also net benefit, and few grades."""
    questions: dict[str, Callable[[], Finding]] = {}
    # a threshold that flags no case is infinite, and no distance from it is known
    if math.isfinite(threshold):
        questions["risks"] = partial(risks, tally, DEFAULT_COVERAGES, threshold, level)
    if could_be_probabilities(tally):
        questions["decisions"] = partial(decisions, tally, DEFAULT_THRESHOLDS, level)
        # verdicts are no rating grades, and neither is a score of many distinct values
        if 2 < len(tally.score) <= _FEW_GRADES:
            questions["grades"] = partial(grades, tally, level=level)

    answers = {name: answer_or_none(ask) for name, ask in questions.items()}
    return {name: answer for name, answer in answers.items() if answer is not None}


def _notes_of(stability: StabilityIndex | None) -> Sequence[str]:
    return () if stability is None else stability.notes


def named_measures(tally: Tally, level: float) -> dict[str, Estimate]:
    """Return the measures that these cases can tell, by their names."""
    questions: dict[str, Callable[[], Any]] = {
        "gini": partial(gini, tally, level=level),
        "ks": lambda: ks(tally, level=level).ks,
        "precision_recall_area": partial(precision_recall_area, tally, level=level),
    }
    if could_be_probabilities(tally):
        questions |= {
            "nagelkerke_r2": partial(nagelkerke_r2, tally, level=level),
            "log_loss": partial(log_loss, tally, level=level),
            "log_loss_clipped": partial(
                log_loss, tally, clip="scikit-learn", level=level
            ),
        }

    answers = {name: answer_or_none(ask) for name, ask in questions.items()}
    return {name: value for name, value in answers.items() if value is not None}


def table_of_deciles(deciles: DecileTable, level: float) -> Table:
    """Return the decile (gains) table, highest scores first."""
    rates = [
        estimate_from_interval(value, low, high, level)
        for value, low, high in zip(
            deciles.rate.tolist(),
            deciles.rate_low.tolist(),
            deciles.rate_high.tolist(),
            strict=True,
        )
    ]
    columns = (
        deciles.decile.tolist(),
        deciles.score_low.tolist(),
        deciles.n.tolist(),
        deciles.n_pos.tolist(),
        rates,
        deciles.gain.tolist(),
        deciles.lift.tolist(),
        deciles.ks.tolist(),
    )

    return table("Decile table", DECILE_HEAD, zip(*columns, strict=True))


def decisions(tally: Tally, thresholds: Sequence[float], level: float) -> Finding:
    """Return net benefit and net interventions avoided at threshold probabilities."""
    curve = decision_curve(tally, threshold=np.array(thresholds), level=level)
    benefit = _estimates(curve.net_benefit, curve.low, curve.high, level)
    interventions_avoided = _estimates(
        curve.interventions_avoided, curve.avoided_low, curve.avoided_high, level
    )
    rows = zip(
        curve.threshold.tolist(),
        benefit,
        curve.treat_all.tolist(),
        interventions_avoided,
        strict=True,
    )

    head = (
        "threshold probability",
        "net benefit",
        "of treating all",
        "net interventions avoided",
    )

    return finding(
        "decisions",
        {"curve": curve},
        answer=(cases_note(tally),),
        notes=(note("intervals", level=level),),
        tables=(table("Net benefit", head, rows),),
    )


def decisions_of_groups(
    of_all_cases: Finding,
    groups: Mapping[Any, Tally],
    thresholds: Sequence[float],
    *,
    by: str,
    level: float,
) -> Finding:
    """Add net benefit and net interventions avoided in each group."""
    findings = {
        str(name): answer_or_none(partial(decisions, t, thresholds, level))
        for name, t in groups.items()
    }
    return _curves_of_groups(of_all_cases, findings, by)


def risks_of_groups(
    of_all_cases: Finding,
    groups: Mapping[Any, Tally],
    coverages: Sequence[float],
    *,
    threshold: float,
    by: str,
    level: float,
) -> Finding:
    """Add risk and coverage in each group."""
    findings = {
        str(name): answer_or_none(partial(risks, t, coverages, threshold, level))
        for name, t in groups.items()
    }
    return _curves_of_groups(of_all_cases, findings, by)


def _curves_of_groups(
    of_all_cases: Finding, findings: Mapping[str, Finding | None], by: str
) -> Finding:
    """Put the tables of groups below each other, with the name of the group."""
    rows = [
        (name, *row)
        for name, curve in findings.items()
        if curve is not None
        for row in curve.tables[0].rows
    ]
    head = (by, *of_all_cases.tables[0].head)
    numbers: dict[str, Any] = {}
    for name, curve in findings.items():
        # a group with too few cases has no numbers
        numbers[name] = None if curve is None else curve.numbers

    return in_groups(of_all_cases, numbers, table(f"In each {by}", head, rows))


def risks(
    tally: Tally, coverages: Sequence[float], threshold: float, level: float
) -> Finding:
    """Return the error rate of the cases that the classifier is surest of."""
    curve = risk_coverage(
        tally, threshold=threshold, coverage=np.array(coverages), level=level
    )
    risk = _estimates(curve.risk, curve.low, curve.high, level)
    rows = zip(curve.coverage.tolist(), risk, curve.confidence.tolist(), strict=True)
    head = ("coverage", "risk (error rate)", "distance from the threshold")

    return finding(
        "risks",
        {"curve": curve},
        answer=(cases_note(tally), note("aurc", aurc=curve.aurc)),
        notes=(note("intervals", level=level), *as_notes(curve.notes)),
        tables=(table("Risk and coverage", head, rows),),
    )


def _estimates(
    values: np.ndarray[Any, Any],
    lows: np.ndarray[Any, Any],
    highs: np.ndarray[Any, Any],
    level: float,
) -> list[Estimate]:
    """Return estimates from arrays of values and ends."""
    rows = zip(values.tolist(), lows.tolist(), highs.tolist(), strict=True)
    return [estimate_from_interval(*row, level) for row in rows]
