"""Parts of an answer about a threshold: its numbers, its tables and its notes.

``cut`` puts them together for a threshold that was chosen, given or guaranteed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from trueness._core import numbers
from trueness._core.records import Estimate
from trueness.counts.design import CASE_CONTROL
from trueness.counts.values import Tally
from trueness.findings.how_good import cases_note
from trueness.findings.notes import Note, as_notes, note, note_if
from trueness.findings.records import Figure, Finding, Table, finding, table
from trueness.findings.subject import cut_of
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS, SHOWN
from trueness.metrics.grammar import cases_of, is_proportion, text_of
from trueness.threshold import sentences
from trueness.threshold.guarantees import GuaranteedThreshold, Proof
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.rule import HoldsRule, Rule
from trueness.threshold.validation import Validation
from trueness.threshold.zones import Zones

CutFinding = tuple[Finding, Any]  # the finding, and the choice itself, to be drawn

# the fields of an operating point, and of a validation, that stand in the numbers
POINT_FIELDS = (
    *("threshold", "score_range", "objective", "value", "constraints", "binding"),
    *("score_ranges", "prevalence", "method", "notes"),
)
VALIDATION_FIELDS = (
    *("thresholds", "corrected", "optimism", "metrics", "holds", "failure_rate"),
    *("prevalence", "notes"),
)
# every key of the numbers; None where there is nothing to say
KEYS = (
    *POINT_FIELDS,
    *("confusion", "metrics", "estimates", "validation", "guarantee", "zones"),
    *("group_cuts", "groups", "certificate"),
)
ON_NEW_CASES = ("metric", "on new cases")  # head of a table of what to expect


def answer_about_cut(
    choice: Rule | HoldsRule,
    t: Tally,
    values: Mapping[str, Any],
    *,
    answer: Iterable[Note],
    tables: Iterable[Table],
    notes: Iterable[Note] = (),
    key: str = "threshold",
    figures: tuple[Figure, ...] = (),
) -> CutFinding:
    """Return the answer about a threshold; ``values`` are numbers that it has."""
    all_values = dict.fromkeys(KEYS) | {"groups": {}} | dict(values)
    estimates: Mapping[str, Estimate] | None = all_values["estimates"]
    if estimates is not None:
        all_values["metrics"] = {
            name: estimate.value for name, estimate in estimates.items()
        }

    finding_on_cut = finding(
        key,
        all_values,
        answer=(cases_note(t), *answer),
        notes=tuple(notes),
        tables=tuple(tables),
        figures=figures,
    )

    return finding_on_cut, choice


# tables


def matrix_table(counts: Confusion) -> Table:
    """Return the confusion matrix."""
    rows = [
        ("positive", _whole_number(counts.tp), _whole_number(counts.fn)),
        ("negative", _whole_number(counts.fp), _whole_number(counts.tn)),
    ]
    return table("Cases", ("cases", "flagged", "not flagged"), rows)


def _whole_number(count: Any) -> str:
    """Return a count, or a sum of weights, as text."""
    return numbers.number_of(float(count))


def metrics_table(
    estimates: Mapping[str, Estimate], counts_seen: Confusion | None = None
) -> Table:
    """Return metrics; those expected on new cases come with the counts seen."""
    shown_estimates = {name: estimates[name] for name in SHOWN if name in estimates}
    head = ("metric", "value") if counts_seen is None else ON_NEW_CASES
    return table("Metrics", head, rows_of(shown_estimates, counts_seen))


def rows_of(
    estimates: Mapping[str, Estimate], counts_seen: Confusion | None = None
) -> list[tuple[str, Any]]:
    """Return the name and the value of each metric.

    A metric that is undefined for the counts that were seen is so on new cases as well.
    """
    rows: list[tuple[str, Any]] = []
    for name, estimate in estimates.items():
        value: Estimate | float | str = estimate
        if counts_seen is not None and _is_undefined(name, counts_seen):
            value = np.nan
        elif name == "flagged":
            # a count is a whole number
            value = numbers.written(estimate, 0)
        rows.append((text_of(name), value))

    return rows


def _is_undefined(name: str, counts: Confusion) -> bool:
    """Return whether a metric of the library is undefined for these counts."""
    return name in METRICS and bool(np.isnan(METRICS[name](counts)))


def zones_table(zones: Zones | GuaranteedThreshold) -> Table:
    """Return how many cases lie above, between and below two thresholds."""
    return table("Cases", ("cases", "positive", "negative"), sentences.zone_rows(zones))


# notes


def about_point(point: OperatingPoint) -> list[Note]:
    """Return where the threshold is, what is reached there, and what limits it."""
    lines = [note("flag nothing")]
    if not np.isposinf(point.threshold):
        _, low, high = numbers.cut_texts(point.threshold, point.score_range)
        lines = [
            note("flag a score", cut=cut_of(point)),
            note("same cases", low=low, high=high),
        ]

    objective = sentences.objective_of(point.objective)
    at_prevalence = ""
    if point.sampling != CASE_CONTROL:
        at_prevalence = f", at a prevalence of {numbers.percent(point.prevalence)}"

    other_thresholds = len(point.score_ranges) - 1
    are = numbers.counted(
        other_thresholds, "other threshold is", "other thresholds are"
    )

    return [
        *lines,
        note("then is", what=objective, value=point.value, share=at_prevalence),
        *as_notes([*point.notes, *sentences.limiting_constraint_sentences(point)]),
        *note_if(other_thresholds > 0, "ties", are=are),
    ]


def prevalence_notes(t: Tally) -> tuple[Note, ...]:
    """Return for which prevalence metrics are, where it is not that of the cases."""
    target_prevalence = t.design.prevalence
    return note_if(
        target_prevalence is not None,
        "metrics for prevalence",
        wanted=target_prevalence,
        share=t.prevalence,
    )


def validation_notes(validation: Validation) -> list[Note]:
    """Return what to expect of the threshold on new cases, and where it would lie."""
    corrected = validation.corrected
    threshold = validation.threshold

    return [
        note("optimistic"),
        note(
            "expect",
            value=corrected.value,
            low=corrected.low,
            high=corrected.high,
            instead=validation.value,
        ),
        note(
            "chosen again",
            level=threshold.level,
            low=numbers.cut_text(threshold.low),
            high=numbers.cut_text(threshold.high),
        ),
        *as_notes(_expected_constraints(validation)),
    ]


def _expected_constraints(validation: Validation) -> list[str]:
    """Return what to expect of the constraints on new cases."""
    return [
        *sentences.missed_constraint_sentences(validation),
        *sentences.kept_constraint_sentences(validation),
        *sentences.rarely_met_constraint_sentences(validation),
    ]


def certificate_sentences(point: OperatingPoint) -> list[str]:
    """Return what the solver of a 0-1 program certifies, if there is one."""
    proof = point.certificate
    if proof is None:
        return []

    return [
        f"{proof.solver} solved a 0-1 program with {proof.binaries:,} binary "
        f"variables and proved that no threshold exceeds {proof.bound:.6g}."
    ]


def promise_notes(guarantee: GuaranteedThreshold | None) -> tuple[Note, ...]:
    """Return what is guaranteed, if anything is."""
    if guarantee is None:
        return ()
    return (note("promise", level=guarantee.level, constraint=guarantee.constraint),)


def proof_note(proof: Proof) -> Note:
    """Return which evidence a guarantee rests on."""
    name, sign, _ = proof.constraint.split(maxsplit=2)
    text = text_of(name)
    number_of_cases = numbers.counted(proof.cases, *cases_of(name))
    write = numbers.percent if is_proportion(name) else numbers.written

    return note(
        "proof",
        text=text[:1].upper() + text[1:],
        value=write(proof.value),
        many=number_of_cases,
        level=proof.level,
        side="upper" if sign.startswith("<") else "lower",
        bound=write(proof.bound),
    )
