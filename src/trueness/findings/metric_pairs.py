"""Which is better at a threshold? One metric, as differences or as ratios."""

from __future__ import annotations

from trueness._core.numbers import MINUS, p_value
from trueness._core.records import shown
from trueness.comparison.at_threshold import compare_metric
from trueness.counts.values import Panel
from trueness.findings.how_good import cases_note
from trueness.findings.notes import as_notes, note
from trueness.findings.records import Finding, finding, table
from trueness.findings.subject import Subject
from trueness.metrics.grammar import text_of

DIFFERENCE, RATIO = "difference", "ratio"
EFFECTS = (DIFFERENCE, RATIO)


def better_by_metric(
    subject: Subject, metric: str, *, threshold: float, effect: str, method: str
) -> Finding:
    """Compare a metric of classifiers on the same cases, pair by pair."""
    assert isinstance(subject.data, Panel)  # noqa: S101 - several on the same cases
    level = subject.request.level
    comparison = compare_metric(
        subject.data,
        metric,
        thresholds=threshold,
        method=method,
        effect=effect,
        level=level,
    )

    is_difference = effect == DIFFERENCE
    sign = MINUS if is_difference else "/"
    rows = []
    for pair in comparison.pairs:
        name_of_pair = f"{shown(pair.first)} {sign} {shown(pair.second)}"
        size_of_effect = pair.difference if is_difference else pair.ratio
        rows.append(
            (
                name_of_pair,
                size_of_effect,
                p_value(pair.p_value),
                p_value(pair.p_adjusted),
            )
        )

    value_by_classifier = dict(zip(comparison.names, comparison.values, strict=True))
    value_rows = [(shown(name), value) for name, value in value_by_classifier.items()]
    head = ("pair", effect, "p-value", "adjusted (Holm)")

    return finding(
        "metric pairs",
        {
            "metric": metric,
            "values": value_by_classifier,
            "pairs": comparison.pairs,
        },
        key="comparison",
        answer=(cases_note(subject.cases),),
        notes=(
            note("intervals", level=level),
            *subject.cluster_notes,
            *as_notes(comparison.notes),
        ),
        tables=(
            table("Each", ("classifier", text_of(metric)), value_rows),
            table(f"{effect.capitalize()}s on the same cases", head, rows),
        ),
    )
