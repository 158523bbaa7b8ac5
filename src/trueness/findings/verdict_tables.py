"""Do raters agree, who wins, and what of results that are neither?

Tables of verdicts by raters, of head-to-head comparisons, and of tests with
indeterminate results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueness._core.numbers import number_of, p_value
from trueness._core.records import Estimate
from trueness.counts.values import Panel, Tally
from trueness.evals.raters import METHODS as RATER_METHODS
from trueness.evals.raters import rater_agreement
from trueness.evals.wins import HeadToHead
from trueness.findings.how_good import cases_note
from trueness.findings.notes import as_notes, note
from trueness.findings.records import Finding, fields_of, finding, table
from trueness.metrics.grammar import text_of
from trueness.threshold.indeterminate import indeterminate_results
from trueness.threshold.rule import Rule

READINGS = {
    "as_positive": "counted as positive",
    "as_negative": "counted as negative",
    "left_out": "left out",
}
RESULTS = ("positive", "indeterminate", "negative")


def how_raters_agree(
    panel: Panel, *, method: str, weights: str | None, level: float
) -> Finding:
    """Return the agreement of raters by one coefficient, and the plain percentage."""
    coefficient: Estimate = rater_agreement(
        panel, method=method, weights=weights, level=level
    )
    percent: Estimate = rater_agreement(panel, method="percent", level=level)
    name = RATER_METHODS[method].name

    if weights is not None:
        name = f"{name}, {weights} weights"

    rows = [(name, coefficient)]
    if method != "percent":
        rows.append((RATER_METHODS["percent"].name, percent))

    return finding(
        "raters",
        {"agreement": coefficient, "percent": percent, "method": method},
        answer=(note("rated", n=panel.n, raters=list(panel.names)),),
        notes=(note("intervals", level=level), *as_notes(coefficient.notes)),
        tables=(table("Agreement", ("coefficient", "value"), rows),),
    )


def who_wins(result: HeadToHead, level: float) -> Finding:
    """Return win rates of systems by pairs, with the sign test."""
    rows = [
        (
            pair.first,
            pair.second,
            pair.wins,
            pair.losses,
            pair.ties,
            pair.win_rate,
            p_value(pair.p_value),
            p_value(pair.p_adjusted),
        )
        for pair in result.pairs
    ]
    head = (
        *("first", "second", "wins", "losses", "ties", "win rate of the first"),
        *("p-value", "adjusted (Holm)"),
    )

    return finding(
        "wins",
        {"pairs": result.pairs},
        notes=(note("intervals", level=level), *as_notes(result.notes)),
        tables=(table("Head to head", head, rows),),
    )


def with_indeterminate_results(tally: Tally, rule: Rule, level: float) -> Finding:
    """Return the 3x2 table, and the metrics by each reading of the third result."""
    result = indeterminate_results(tally, rule, level=level)
    readings: Mapping[str, Any] = {name: getattr(result, name) for name in READINGS}
    metrics = [name for name in result.left_out.metrics if name != "defer"]
    metrics_by_reading = {
        name: {metric: reading[metric] for metric in metrics}
        for name, reading in readings.items()
    }

    metric_rows = []
    for metric in metrics:
        values = [reading[metric] for reading in readings.values()]
        metric_rows.append((text_of(metric), *values))

    count_rows = []
    for name in RESULTS:
        cases_by_class = [number_of(number) for number in getattr(result, name)]
        count_rows.append((name, *cases_by_class))

    return finding(
        "indeterminate",
        {
            **fields_of(result, *RESULTS, "rate"),
            **metrics_by_reading,
        },
        answer=(cases_note(tally), note("indeterminate rate", rate=result.rate)),
        notes=(note("intervals", level=level), *as_notes(result.notes)),
        tables=(
            table("3x2 table", ("result", "positives", "negatives"), count_rows),
            table("Metrics", ("metric", *READINGS.values()), metric_rows),
        ),
    )
