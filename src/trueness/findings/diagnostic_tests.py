"""How good is each test, whose verdict is 0 or 1, and which of two is better?

A test has no threshold to choose and no probability to calibrate. Sensitivity,
specificity, predictive values and likelihood ratios describe it; two tests on the same
cases are compared by McNemar's test and Tango's interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from trueness._core.checks.cases import both_classes
from trueness._core.figures import intervals
from trueness._core.numbers import MINUS, level_text, p_value, percent
from trueness._core.records import Estimate, shown
from trueness.counts.values import Panel, Tally, holds_tests
from trueness.findings import subject as subjects
from trueness.findings.notes import Note, as_notes, note, note_if
from trueness.findings.records import (
    Figure,
    Finding,
    Lane,
    Table,
    Tile,
    finding,
    table,
)
from trueness.inference.estimates import interval_notes
from trueness.inference.verification import unlabelled_notes
from trueness.metrics.algebra import Metric, Ratio
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.intervals import WILSON_METHOD, estimates
from trueness.threshold.rule import confusion

# One test alone is measured without what compares several.
if TYPE_CHECKING:
    from trueness.comparison.results import Comparison

_PREVALENCE = Metric(
    "prevalence",
    ratio=Ratio((1, 0, 1, 0), (1, 1, 1, 1)),
    question="What proportion of cases has the condition?",
)
# every measure of a test: the metric, and what tables call it; in the order of epiR
MEASURES: Mapping[str, tuple[Metric, str]] = {
    "apparent_prevalence": (METRICS["flagged_rate"], "apparent prevalence"),
    "prevalence": (_PREVALENCE, "true prevalence"),
    "sensitivity": (METRICS["recall"], "sensitivity"),
    "specificity": (METRICS["specificity"], "specificity"),
    "ppv": (METRICS["precision"], "positive predictive value (PPV)"),
    "npv": (METRICS["npv"], "negative predictive value (NPV)"),
    "lr_positive": (METRICS["lr_positive"], "positive likelihood ratio (LR+)"),
    "lr_negative": (METRICS["lr_negative"], "negative likelihood ratio (LR-)"),
    "diagnostic_odds_ratio": (
        METRICS["diagnostic_odds_ratio"],
        "diagnostic odds ratio",
    ),
    "youden": (METRICS["youden"], "Youden's J"),
    "accuracy": (METRICS["accuracy"], "correctly classified (accuracy)"),
}
# the columns of a table of several tests
COLUMNS: Mapping[str, str] = {
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "ppv": "PPV",
    "npv": "NPV",
    "lr_positive": "LR+",
    "lr_negative": "LR-",
}
COUNTS_OF_TEST = "Cases"  # the 2x2 table of one test
COMPARED = {"sensitivity": "recall", "specificity": "specificity"}
TestMeasures = dict[str, Estimate]


def are_tests(data: subjects.Counts) -> bool:
    """Return whether all outputs are verdicts of tests, 0 and 1, and no scores."""
    if isinstance(data, Mapping):
        return bool(data) and all(holds_tests(tally) for tally in data.values())
    return holds_tests(data)


def test_measures(tally: Tally, level: float, method: str) -> TestMeasures:
    """Return every measure of one test that these cases can tell."""
    metrics = [metric for metric, _ in MEASURES.values()]
    by_metric = estimates(tally, 1.0, metrics, level=level, method=method)
    measures = {
        key: by_metric[metric.name]
        for key, (metric, _) in MEASURES.items()
        if metric.name in by_metric
    }

    if tally.design.prevalence is not None:  # it was given, and is not measured here
        measures.pop("prevalence", None)

    return measures


def how_good_are_tests(
    subject: subjects.Subject, *, method: str = WILSON_METHOD, cases_note: Note
) -> Finding:
    """Measure each test on its cases, and in every group."""
    level = subject.request.level
    tallies = subject.tallies_by_key
    both_classes(next(iter(tallies.values())), "evaluate")
    measures = {
        name: test_measures(tally, level, method) for name, tally in tallies.items()
    }
    tables = {name: confusion(tally, 1.0) for name, tally in tallies.items()}
    by_group = {
        name: _measures_by_group(subject, name, level, method)
        for name in (measures if subject.groups else ())
    }
    single = len(measures) == 1

    return finding(
        "test" if single else "tests",
        {"tests": measures, "confusion": tables, "groups": by_group},
        key="tests",
        answer=(cases_note, *_answer(measures)),
        notes=_notes(subject, tallies, measures),
        tables=(
            *(_single_tables(measures, tables) if single else [table_of(measures)]),
            *(_group_tables(by_group, subject.by) if by_group else ()),
        ),
        figures=_figures(measures),
        title_values={"how": _interval_method(method)},
    )


def _interval_method(method: str) -> str:
    """Name the methods behind the intervals."""
    if method == WILSON_METHOD:
        return "Proportions: Wilson's interval (1927)."
    return "Proportions: Clopper and Pearson's exact interval (1934)."


def _measures_by_group(
    subject: subjects.Subject, name: str, level: float, method: str
) -> dict[str, TestMeasures]:
    """Return the measures of one test in each group that has cases of both classes."""
    tallies = subjects.named_groups(subject, name, each_column=True)
    return {
        group: test_measures(tally, level, method)
        for group, tally in tallies.items()
        if tally.n_pos and tally.n_neg
    }


def _answer(measures: Mapping[str, TestMeasures]) -> tuple[Note, ...]:
    """Say how good one test is, or between which numbers several lie."""
    if len(measures) > 1:
        sensitivity = {name: row["sensitivity"].value for name, row in measures.items()}
        lowest = min(sensitivity, key=lambda name: sensitivity[name])
        highest = max(sensitivity, key=lambda name: sensitivity[name])

        return (
            note(
                "several tests",
                least=sensitivity[lowest],
                lowest=shown(lowest),
                most=sensitivity[highest],
                highest=shown(highest),
            ),
        )

    ((name, row),) = measures.items()
    test_name = "The test" if name == subjects.UNNAMED else shown(name)
    first = note(
        "one test",
        name=test_name,
        sensitivity=row["sensitivity"],
        specificity=row["specificity"],
    )

    if "ppv" not in row:
        return (first,)
    return (first, note("predictive values", ppv=row["ppv"], npv=row["npv"]))


def _notes(
    subject: subjects.Subject,
    tallies: Mapping[str, Tally],
    measures: Mapping[str, TestMeasures],
) -> tuple[Note, ...]:
    """Say what to keep in mind."""
    tally = next(iter(tallies.values()))
    design = tally.design
    unknown_prevalence = design.sampling == "case-control" and design.prevalence is None
    wanted = design.prevalence
    copies = [
        shown(name)
        for name, row in measures.items()
        if row["sensitivity"].value == row["specificity"].value == 1
    ]

    return (
        note("intervals", level=subject.request.level),
        *note_if(copies, "like labels", names=copies),
        *subject.cluster_notes,
        *as_notes(interval_notes(tally)),
        *as_notes(unlabelled_notes(tally)),
        *note_if(
            wanted is not None, "test prevalence", wanted=wanted, share=tally.prevalence
        ),
        *note_if(unknown_prevalence, "tests case-control"),
    )


def _single_tables(
    measures: Mapping[str, TestMeasures], tables: Mapping[str, Confusion]
) -> list[Table]:
    """Return the 2x2 table, and every measure under one another."""
    ((name, row),) = measures.items()
    counts = tables[name]
    tp, fp, fn, tn = counts.cells
    cells = [
        ("test positive", tp, fp, tp + fp),
        ("test negative", fn, tn, fn + tn),
        ("total", tp + fn, fp + tn, tp + fp + fn + tn),
    ]

    head = ("", "condition present", "condition absent", "total")
    rows = [(MEASURES[key][1], estimate) for key, estimate in row.items()]

    return [
        table("Measures of the test", ("measure", "estimate"), rows),
        table(COUNTS_OF_TEST, head, cells),
    ]


def table_of(measures: Mapping[str, TestMeasures]) -> Table:
    """Return several tests under one another."""
    keys = [key for key in COLUMNS if key in next(iter(measures.values()))]
    rows = [(name, *(row[key] for key in keys)) for name, row in measures.items()]
    return table("Each test", ("test", *(COLUMNS[key] for key in keys)), rows)


def _group_tables(
    by_group: Mapping[str, Mapping[str, TestMeasures]], by: str
) -> list[Table]:
    """Return the tests in each group."""
    keys = ("sensitivity", "specificity")
    rows = [
        (group, name, *(row[key] for key in keys))
        for name, groups in by_group.items()
        for group, row in groups.items()
    ]
    return [table(f"In each {by}", (by, "test", *keys), rows)]


def _figures(measures: Mapping[str, TestMeasures]) -> tuple[Figure, ...]:
    """Return proportions of one test, or both rates of several, with intervals."""
    if len(measures) == 1:
        (estimates,) = measures.values()
        proportions = {
            COLUMNS[key]: estimates[key]
            for key in ("sensitivity", "specificity", "ppv", "npv")
            if key in estimates
        }
        title = "Rates of the test"
        forest = intervals(title, "proportion", proportions)
        return (Figure(forest, title, of="measure"),)

    figures = []
    for key in COMPARED:
        estimate_of_test = {
            shown(name): estimates[key] for name, estimates in measures.items()
        }
        title = key.capitalize()
        forest = intervals(title, key, estimate_of_test)
        figures.append(Figure(forest, title, of="test"))

    return tuple(figures)


def which_test_is_better(
    subject: subjects.Subject, *, cases_note: Note, metric: str = ""
) -> Finding:
    """Return how tests compare pair by pair: McNemar's test and Tango's interval."""
    from trueness.comparison.at_threshold import compare_metric

    panel = subject.data
    assert isinstance(panel, Panel)  # noqa: S101 - several tests on the same cases
    level = subject.request.level
    metric_of_measure = {metric: metric} if metric else COMPARED
    comparisons = {
        measure: compare_metric(panel, name_of_metric, level=level)
        for measure, name_of_metric in metric_of_measure.items()
    }

    rows = []
    values = {}
    pairs = {}
    notes_on_comparisons: list[str] = []
    for measure, comparison in comparisons.items():
        values[measure] = dict(zip(comparison.names, comparison.values, strict=True))
        pairs[measure] = comparison.pairs
        notes_on_comparisons += comparison.notes
        for pair in comparison.pairs:
            names = f"{shown(pair.first)} {MINUS} {shown(pair.second)}"
            p_values = (p_value(pair.p_value), p_value(pair.p_adjusted))
            rows.append((measure, names, pair.shown, *p_values))

    rows_of_tests = [
        (name, *(_estimate_of(comparison, name) for comparison in comparisons.values()))
        for name in panel.names
    ]
    head = ("measure", "pair", "difference", "p-value", "adjusted (Holm)")

    return finding(
        "test pairs",
        {"measures": values, "pairs": pairs},
        key="comparison",
        answer=(cases_note, *_verdicts(comparisons, level)),
        notes=(
            note("intervals", level=level),
            *subject.cluster_notes,
            *as_notes(notes_on_comparisons),
        ),
        tables=(
            table("Each test", ("test", *comparisons), rows_of_tests),
            table("Differences on the same cases", head, rows),
        ),
        figures=_difference_figures(comparisons),
    )


def _estimate_of(comparison: Comparison, name: str) -> Estimate:
    """Return the estimate of one test."""
    return dict(zip(comparison.names, comparison.values, strict=True))[name]


def _verdicts(comparisons: Mapping[str, Comparison], level: float) -> list[Note]:
    """Say of the first pair of tests which one is better, by each measure."""
    notes = []
    for measure, comparison in comparisons.items():
        pair = min(comparison.pairs, key=lambda p: p.p_adjusted)
        several = len(comparison.pairs)
        difference = pair.difference.value
        first, second = pair.first, pair.second

        if difference < 0:
            first, second = second, first

        significant = pair.p_adjusted < 1 - level
        code = "test differs" if significant else "test alike"
        notes.append(
            note(
                code,
                measure=f"The {measure}" if significant else measure.capitalize(),
                first=shown(first),
                second=shown(second),
                difference=f"{100 * abs(difference):.1f}",
                p=pair.p_adjusted,
                adjusted=f", allowing for {several} pairs" if several > 1 else "",
            )
        )

    return notes


def _difference_figures(comparisons: Mapping[str, Comparison]) -> tuple[Figure, ...]:
    """Return one figure of the differences of all pairs, by measure."""
    rows = {
        f"{measure}: {shown(pair.first)} {MINUS} {shown(pair.second)}": pair.difference
        for measure, comparison in comparisons.items()
        for pair in comparison.pairs
    }
    forest = intervals("Differences", "difference", rows, zero=0.0)
    return (Figure(forest, "Differences", of="pair"),)


def test_in_short(measures: TestMeasures, name: str) -> Note:
    """Say how good one test is; its intervals stand in the tiles."""
    return note(
        "test in short",
        name="This test" if name == subjects.UNNAMED else f"The test {shown(name, 40)}",
        sensitivity=measures["sensitivity"],
        specificity=measures["specificity"],
    )


def test_tiles(measures: TestMeasures, name: str) -> tuple[Tile, ...]:
    """Return the few numbers of a test that are seen first.

    ``name`` is that of the test, where there are several.
    """
    of_test = f" of {name}" if name else ""
    tiles = []
    for key in ("sensitivity", "specificity", "ppv", "npv"):
        if key in measures:
            estimate = measures[key]
            level = level_text(estimate.level)
            span = f"{level} CI {percent(estimate.low)} to {percent(estimate.high)}"
            lane = Lane(estimate.value, estimate.low, estimate.high)
            title = f"{MEASURES[key][1]}{of_test}"
            tiles.append(Tile(title, percent(estimate.value), span, lane))

    return tuple(tiles)
