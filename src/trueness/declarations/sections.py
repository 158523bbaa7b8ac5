"""The seven sections of a declaration, as sentences and tables.

The page and the Markdown file show the same sections; none of them computes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from trueness._core.numbers import counted, level_text, listed
from trueness.counts.values import Tally
from trueness.declarations.guidelines import GUIDELINE_ITEMS
from trueness.declarations.measurements import (
    CrossTable,
    Measurement,
    are_probabilities,
    shows_prevalence,
)
from trueness.declarations.records import (
    STATEMENTS,
    Declaration,
    StatedClaim,
    StatedVerdict,
)
from trueness.declarations.words import (
    bounds_text,
    cell_text,
    interval_text,
    measure_name,
    measurement_name,
    number_text,
    value_text,
)
from trueness.evals.attempts import Attempts
from trueness.monitoring.verdicts import FAILS, HOLDS, OPEN

Row = tuple[str, ...]

_SAMPLING = {
    "cohort": "The cases are a cohort.",
    "case-control": "The number of cases in each class was fixed (case-control).",
}

_VERIFICATION = (
    "Verification shows that every number and claim follows from these counts.",
    "It does not show that the counts are true. Compare the digests, and ask who "
    "signed this file.",
    "A page can be changed together with its script. For an independent check, run "
    "trueness verify on your own machine.",
)

_DIFFERENTIAL = (
    "Bins are not differential privacy. A reader who knows all cases of a bin except "
    "one can infer that one."
)


# rows of counts of groups that a page shows
_MOST_ROWS_SHOWN = 1_000


@final
@dataclass(frozen=True)
class ShownTable:
    """A table of texts; a ``folded`` one is closed until a reader opens it."""

    caption: str
    head: Row
    rows: tuple[Row, ...]
    folded: bool = False


@final
@dataclass(frozen=True)
class Section:
    """One of the seven sections: sentences, then tables."""

    key: str
    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[ShownTable, ...] = ()
    flow: tuple[Row, ...] = ()  # levels of a flow diagram, from rows to cases


def summary(declaration: Declaration) -> tuple[str, ...]:
    """Return the most important results in a few sentences."""
    counts = declaration.counts
    use = declaration.statements.get("intended_use", "")
    intended = (f"For: {use}",) if use else ()

    if isinstance(counts, Attempts):
        return (
            *intended,
            *_summary_of_attempts(declaration),
            *_summary_of_claims(declaration),
        )

    sentences = [
        f"{counted(round(counts.n_pos), 'positive')} and "
        f"{counted(round(counts.n_neg), 'negative')} were scored and compared with the "
        f"{'comparator' if declaration.agreement else 'reference standard'}."
    ]
    if declaration.thresholds:
        sentences += _summary_at(declaration, declaration.thresholds[0])

    sentences += _summary_of_ranking(declaration)
    worst_group = _worst_group(declaration)
    if worst_group:
        sentences.append(worst_group)

    return (*intended, *sentences, *_summary_of_claims(declaration))


def _find(
    declaration: Declaration, measure: str, threshold: float | None = None
) -> Measurement | None:
    """Return the number of a measure over all cases; None if it is not stated."""
    for measurement in declaration.measured:
        if measurement.key == (measure, threshold, "", ""):
            return measurement
    return None


def _summary_at(declaration: Declaration, threshold: float) -> Iterator[str]:
    """Yield sentences on sensitivity and specificity at the first threshold."""
    for measure, kind, verb in (
        ("recall", "positives", "flags"),
        ("specificity", "negatives", "leaves"),
    ):
        measurement = _find(declaration, measure, threshold)
        if measurement is None:
            continue

        name = measure_name(measure, declaration.agreement)
        unflagged = " unflagged" if verb == "leaves" else ""
        if math.isnan(measurement.value):
            yield (
                f"At the threshold {threshold:g} the {name} lies between "
                f"{bounds_text(measurement).replace(' to ', ' and ')}; small counts "
                "are hidden."
            )
        else:
            yield (
                f"The threshold {threshold:g} {verb} {_percent(measurement.value)} of "
                f"the {kind}{unflagged} ({name}; {_level(declaration)} CI "
                f"{_percent(measurement.low)} to {_percent(measurement.high)})."
            )


def _summary_of_ranking(declaration: Declaration) -> Iterator[str]:
    """Yield sentences on the AUC."""
    area = _find(declaration, "auc")
    if area is not None:
        yield (
            f"The AUC is {number_text(area.value)} ({_level(declaration)} CI "
            f"{interval_text(area)})."
        )
        if area.bounds is not None:
            between = bounds_text(area).replace(" to ", " and ")
            yield f"The counts prove that the AUC lies between {between}."


def _worst_group(declaration: Declaration) -> str:
    """Return a sentence on the group with the lowest sensitivity, or AUC; or ""."""
    if not declaration.groups:
        return ""

    threshold = declaration.thresholds[0] if declaration.thresholds else None
    measure = "auc" if threshold is None else "recall"
    of_groups = [
        measurement
        for measurement in declaration.measured
        if measurement.column
        and measurement.measure == measure
        and measurement.threshold == threshold
        and not math.isnan(measurement.value)
    ]
    if not of_groups:
        return ""

    worst = min(of_groups, key=lambda measurement: measurement.value)
    name = measurement_name(worst, declaration.agreement)

    return (
        f"The worst group: {name} is {number_text(worst.value)} "
        f"({_level(declaration)} CI {interval_text(worst)})."
    )


def _summary_of_attempts(declaration: Declaration) -> Iterator[str]:
    """Yield sentences on the numbers of items and attempts, and on the pass rate."""
    attempts = declaration.counts
    assert isinstance(attempts, Attempts)  # noqa: S101 - its caller has looked
    number = int(attempts.tried.sum())
    yield (
        f"{counted(len(attempts), 'item')} were tried {number:,} times; "
        f"{int(attempts.passed.sum()):,} attempts passed."
    )
    rate = _find(declaration, "pass_rate")

    if rate is not None:
        yield (
            f"The pass rate is {number_text(rate.value)} ({_level(declaration)} CI "
            f"{interval_text(rate)})."
        )


# the verdict on one claim, and on several
_VERDICTS_IN_WORDS = {
    HOLDS: ("holds", "hold"),
    FAILS: ("fails", "fail"),
    OPEN: ("cannot be decided yet", "cannot be decided yet"),
}


def _summary_of_claims(declaration: Declaration) -> tuple[str, ...]:
    """Return a sentence on how many claims hold, fail, or are undecided."""
    claims = declaration.claims
    if not claims:
        return ("Nothing is claimed.",)

    parts = []
    for verdict, (singular, plural) in _VERDICTS_IN_WORDS.items():
        number = sum(claim.verdict == verdict for claim in claims)
        if number == len(claims) and number > 1:
            return (f"All {number} claims {plural}.",)
        if number:
            parts.append(f"{number} {singular if number == 1 else plural}")

    return (f"Of {counted(len(claims), 'claim')}, {listed(parts)}.",)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _level(declaration: Declaration) -> str:
    return level_text(declaration.level)


def sections(declaration: Declaration) -> tuple[Section, ...]:
    """Return the seven sections of a declaration."""
    return (
        _author_section(declaration),
        _counts_section(declaration),
        _measures_section(declaration),
        _unmeasured_section(declaration),
        _claims_section(declaration),
        _guidelines_section(),
        _evidence_section(declaration),
    )


def _author_section(declaration: Declaration) -> Section:
    """Return the section of the author's statements."""
    rows = tuple(
        (name, declaration.statements.get(key, "not stated"))
        for key, name in STATEMENTS.items()
    )
    sentences = ["The author states this. The counts cannot confirm it."]

    if declaration.agreement:
        sentences.append(
            "The comparator is not a reference standard, so the table measures "
            "agreement, not accuracy (FDA 2007)."
        )

    table = ShownTable("Statements", ("about", "stated"), rows)
    return Section("said", "1 Stated by the author", tuple(sentences), (table,))


def _counts_section(declaration: Declaration) -> Section:
    """Return the section of the flow from rows to cases, and the 2x2 tables."""
    counts = declaration.counts
    if isinstance(counts, Attempts):
        rows = (
            ("items", f"{len(counts):,}"),
            ("attempts with a verdict", f"{int(counts.tried.sum()):,}"),
            ("attempts that passed", f"{int(counts.passed.sum()):,}"),
            ("attempts without a verdict", f"{counts.missing:,}"),
        )
        table = ShownTable("Items and attempts", ("step", "number"), rows)
        return Section("counted", "2 Counted", (), (table,))

    tables = [_flow_table(declaration, counts)]
    for threshold in declaration.thresholds:
        tables.append(_cross_table(declaration, threshold))
        group_tables = _group_tables(declaration, threshold)
        if group_tables.rows:
            tables.append(group_tables)

    sentences = [_SAMPLING[counts.design.sampling]]

    if counts.design.prevalence is not None:
        sentences.append(
            f"Predictive values are for a prevalence of {counts.design.prevalence:g}."
        )

    if counts.weighted:
        sentences.append("Cases are weighted: numbers are sums of weights.")

    return Section(
        "counted",
        "2 Counted",
        tuple(sentences),
        tuple(tables),
        _flow_diagram(declaration, counts),
    )


def _flow_diagram(declaration: Declaration, counts: Tally) -> tuple[Row, ...]:
    """Return the levels of a STARD flow diagram: rows, cases, flags, labels."""
    flow = declaration.flow
    without_score = None
    if flow.without_score is not None:
        without_score = sum(flow.without_score.values())

    levels: list[Row] = []
    if flow.rows is not None:
        levels.append((f"{flow.rows:,} rows",))

    levels += _excluded_level(declaration, without_score, "score")
    levels += _excluded_level(declaration, flow.without_label, "label")
    levels.append((f"{_amount(counts.n)} cases with a score",))

    if counts.n_unknown:
        levels.append((f"left out: {_amount(counts.n_unknown)} without a label",))

    return (*levels, *_levels_of_classes(declaration, counts))


def _excluded_level(
    declaration: Declaration, number: int | None, lacking: str
) -> list[Row]:
    """Return the level of rows that were left out.

    The number is None if it is too small to be published.
    """
    if number == 0:
        return []

    if number is None:
        amount = f"fewer than {declaration.privacy.at_least}"
    else:
        amount = f"{number:,}"

    return [(f"left out: {amount} without a {lacking}",)]


def _levels_of_classes(declaration: Declaration, counts: Tally) -> list[Row]:
    """Return the last levels: both classes, on each side of the first threshold."""
    if not declaration.thresholds:
        positives = f"{_amount(counts.n_pos)} positive"
        negatives = f"{_amount(counts.n_neg)} negative"
        return [(positives, negatives)]

    threshold = declaration.thresholds[0]
    tp, fp, fn, tn = _cells(_table_at(declaration, threshold), "tp", "fp", "fn", "tn")

    return [
        (f"flagged at {threshold:g}", "not flagged"),
        (f"{tp} positive", f"{fp} negative", f"{fn} positive", f"{tn} negative"),
    ]


def _table_at(declaration: Declaration, threshold: float) -> CrossTable:
    """Return the 2x2 table of all cases at a threshold."""
    return next(
        table
        for table in declaration.tables
        if table.threshold == threshold and not table.column
    )


_NO_SCORE = {
    "neg": "rows without a score, negative",
    "pos": "rows without a score, positive",
    "unknown": "rows without a score, without a label",
    "any": "rows without a score",
}


def _flow_table(declaration: Declaration, counts: Tally) -> ShownTable:
    """Return the table of the flow from rows to compared cases (STARD)."""
    flow = declaration.flow
    rows: list[Row] = []
    if flow.without_score is None:
        some_cases = f"some, fewer than {declaration.privacy.at_least}"
        rows.append((_NO_SCORE["any"], some_cases))
    else:
        if flow.rows is not None:
            rows.append(("rows", f"{flow.rows:,}"))
        rows += [
            (f"- {_NO_SCORE.get(name, _NO_SCORE['any'])}", f"{number:,}")
            for name, number in flow.without_score.items()
        ]

    unlabelled = f"some, fewer than {declaration.privacy.at_least}"
    if flow.without_label is not None:
        unlabelled = _amount(flow.without_label + counts.n_unknown)

    rows += [
        ("- cases without a label", unlabelled),
        ("cases compared", _amount(counts.n_pos + counts.n_neg)),
        ("- positive", _amount(counts.n_pos)),
        ("- negative", _amount(counts.n_neg)),
    ]

    return ShownTable("From rows to cases", ("step", "number"), tuple(rows))


def _amount(number: float) -> str:
    return f"{number:,.10g}"


def _cross_table(declaration: Declaration, threshold: float) -> ShownTable:
    """Return the 2x2 table of all cases, with cases that lack a score or a label."""
    table = _table_at(declaration, threshold)
    head: Row = ("", "positive", "negative")
    rows: list[Row] = [
        (f"flagged (score at least {threshold:g})", *_cells(table, "tp", "fp")),
        ("not flagged", *_cells(table, "fn", "tn")),
    ]

    missing = declaration.flow.without_score or {}
    if missing.get("pos") or missing.get("neg"):
        positives = f"{missing.get('pos', 0):,}"
        negatives = f"{missing.get('neg', 0):,}"
        rows.append(("no score", positives, negatives))

    has_unknown = any(table.cells["unknown_flagged"]) or any(
        table.cells["unknown_not_flagged"]
    )
    if has_unknown:
        head = (*head, "without a label")
        flagged, not_flagged = _cells(table, "unknown_flagged", "unknown_not_flagged")
        # the row of cases without a score has labelled cases only
        column = (flagged, not_flagged, "")
        rows = [(*row, cell) for row, cell in zip(rows, column, strict=False)]

    return ShownTable(f"All cases at {threshold:g}", head, tuple(rows))


def _cells(table: CrossTable, *names: str) -> Row:
    return tuple(cell_text(table.cells[name]) for name in names)


def _group_tables(declaration: Declaration, threshold: float) -> ShownTable:
    """Return the cells of all groups at a threshold, a row for each group."""
    rows = [
        (f"{table.column} {table.group}", *_cells(table, "tp", "fn", "fp", "tn"))
        for table in declaration.tables
        if table.threshold == threshold and table.column
    ]
    head = (
        *("group", "positive, flagged", "positive, not flagged"),
        *("negative, flagged", "negative, not flagged"),
    )

    return ShownTable(f"Groups at {threshold:g}", head, tuple(rows))


def _measures_section(declaration: Declaration) -> Section:
    """Return the section of the numbers, with intervals and proved bounds."""
    overall_measurements = [m for m in declaration.measured if not m.column]
    group_measurements = [m for m in declaration.measured if m.column]
    interval = f"{_level(declaration)} CI"
    head = ("measure", "value", interval, "counts prove", "method of the interval")
    tables = [
        ShownTable("All cases", head, tuple(_rows(declaration, overall_measurements)))
    ]

    if group_measurements:
        tables.append(
            ShownTable(
                "Groups", head, tuple(_rows(declaration, group_measurements)), True
            )
        )

    sentences = ["Every number follows from the counts of section 7."]
    if any(m.bounds is not None for m in declaration.measured):
        sentences.append(
            "Where bins hide the order of scores, the counts prove bounds. The value "
            "is then that of the original rows, and the interval allows for the bins."
        )

    worst_group = _worst_group(declaration)
    if worst_group:
        sentences.append(worst_group)

    return Section("measured", "3 Measured", tuple(sentences), tuple(tables))


def _rows(
    declaration: Declaration, measurements: Sequence[Measurement]
) -> Iterator[Row]:
    """Yield a row for each number: name, value, interval, bounds, method."""
    for measurement in measurements:
        has_bounds = measurement.bounds is not None
        only_bounds = has_bounds and math.isnan(measurement.value)
        yield (
            measurement_name(measurement, declaration.agreement),
            "hidden" if only_bounds else value_text(measurement),
            interval_text(measurement),
            bounds_text(measurement) if has_bounds else "this value",
            measurement.method,
        )


def _unmeasured_section(declaration: Declaration) -> Section:
    """Return the section of what is not measured, with the reasons."""
    sentences = []
    counts = declaration.counts
    if isinstance(counts, Tally):
        if not declaration.thresholds:
            sentences.append("Sensitivity and specificity: no threshold is stated.")

        if declaration.agreement:
            sentences.append(
                "Predictive values and likelihood ratios: they need a reference "
                "standard."
            )

        if not are_probabilities(counts):
            sentences.append(
                "Calibration, Brier score and net benefit: the scores are not "
                "probabilities."
            )
        elif not shows_prevalence(counts):
            sentences.append(
                "Predictive values, calibration, Brier score and net benefit: a "
                "case-control sample does not show the prevalence."
            )

        if not declaration.groups:
            sentences.append("Groups and sites: no column of groups is stated.")

        if any(m.measure == "calibration_slope" for m in declaration.measured):
            sentences.append(
                "Calibration curve: only slope and intercept are stated here."
            )

    sentences += [
        "Change over time: these counts are of one period.",
        "Benefit and harm to people: no count of predictions shows them.",
        "How labels were made, and whether they are right.",
    ]

    return Section("not-measured", "4 Not measured", tuple(sentences))


def _claims_section(declaration: Declaration) -> Section:
    """Return the section of the claims with their verdicts."""
    if not declaration.claims:
        return Section("claims", "5 Claims", ("Nothing is claimed.",))

    rows = [row for claim in declaration.claims for row in _rows_of_claim(claim)]
    head = ("claim", "group", "verdict", "measured", "one-sided interval")
    sentences = (
        "A claim holds if its whole one-sided interval is on the good side of its "
        "bound, and fails if it is on the bad side.",
        f"The level of {_level(declaration)} holds for all claims jointly (Holm "
        "1979). Intervals allow for the bins.",
    )

    table = ShownTable("Claims and verdicts", head, tuple(rows))
    return Section("claims", "5 Claims", sentences, (table,))


def _rows_of_claim(claim: StatedClaim) -> Iterator[Row]:
    """Yield a row for each group in which a claim was judged."""
    for verdict in claim.verdicts:
        yield (
            claim.claim,
            verdict.group.replace("=", " ", 1) or "all cases",
            verdict.verdict,
            number_text(verdict.value),
            _limits(verdict),
        )


def _limits(verdict: StatedVerdict) -> str:
    """Return the one-sided confidence limits behind a verdict, as text."""
    if math.isnan(verdict.low):
        return "not known"
    if verdict.low == verdict.high:
        return "counted"
    return f"{number_text(verdict.low)} to {number_text(verdict.high)}"


def _guidelines_section() -> Section:
    """Return the section that maps items of guidelines and laws to sections."""
    rows = tuple(tuple(item) for item in GUIDELINE_ITEMS)
    table = ShownTable(
        caption="Where each item is answered",
        head=("document", "item", "topic", "section"),
        rows=rows,
        folded=True,
    )

    sentence = (
        "This table shows where a declaration answers each item of a guideline or law."
    )
    return Section("map", "6 Map to guidelines and law", (sentence,), (table,))


def _evidence_section(declaration: Declaration) -> Section:
    """Return the section of the origin of the counts, and the counts."""
    provenance = declaration.provenance
    rows = [
        ("written by", provenance.software),
        ("date", provenance.date),
        ("file of the predictions", provenance.source or "not stated"),
        ("its SHA-256", provenance.digest.removeprefix("sha256:") or "not stated"),
    ]
    tables = [ShownTable("Where the counts are from", ("about", "stated"), tuple(rows))]
    counts = declaration.counts

    if isinstance(counts, Tally):
        tables.append(_counts_table("All cases", counts))
        of_groups = [
            _counts_table(f"{column} {group}", tally)
            for column, tallies in declaration.groups.items()
            for group, tally in tallies.items()
        ]
        # large tables are left out; programs find these counts in the data
        if sum(len(shown.rows) for shown in of_groups) <= _MOST_ROWS_SHOWN:
            tables += of_groups

    sentences = (*_VERIFICATION, *privacy_sentences(declaration))
    return Section("evidence", "7 Evidence", sentences, tuple(tables))


def privacy_sentences(declaration: Declaration) -> Iterator[str]:
    """Yield sentences on what the bins protect, and what they do not."""
    if isinstance(declaration.counts, Attempts):
        yield "Items are counted, not named."
        return

    privacy = declaration.privacy
    if privacy.at_least <= 1:
        yield "The counts are exact: a rare score can reveal the label of its case."
        return

    k = privacy.at_least
    yield (
        f"Every bin has at least {k} positives and {k} negatives, so it does not "
        "reveal any person's label. This also holds for differences between tables."
    )
    yield (
        "Ends of bins are rounded, and are not scores of cases unless many cases share "
        "them."
    )

    for threshold in privacy.hidden:
        yield (
            f"At {threshold:g} a cell of the 2x2 table is below {k}, so only bounds "
            "are published."
        )

    for threshold in _hidden_in_groups(declaration):
        yield (
            f"At {threshold:g} cells of some groups would be below {k}, or could be "
            "found by subtraction, so their tables have bounds."
        )

    for threshold in privacy.exposed:
        yield (
            f"At {threshold:g} the author publishes the 2x2 table although a cell is "
            f"below {k}."
        )

    for column, names in privacy.pooled.items():
        yield (
            f"Groups of {column} with fewer than {k} of a class are counted together: "
            f"{listed(list(names))}."
        )

    yield _DIFFERENTIAL


def _hidden_in_groups(declaration: Declaration) -> list[float]:
    """Return thresholds where the table of a group has bounds, but not that of all."""
    hidden = [
        table.threshold
        for table in declaration.tables
        if table.column
        and any(smallest < largest for smallest, largest in table.cells.values())
    ]
    return [t for t in dict.fromkeys(hidden) if t not in declaration.privacy.hidden]


def _counts_table(caption: str, counts: Tally) -> ShownTable:
    """Return the table of the counts of every row or bin."""
    columns = counts.named_columns
    texts = [
        [_count_text(value) for value in column.tolist()] for column in columns.values()
    ]
    rows = tuple(zip(*texts, strict=True))
    return ShownTable(f"Counts: {caption}", tuple(columns), rows, folded=True)


def _count_text(value: float | str) -> str:
    """Return a count, a weight or a score as text."""
    return f"{value:.10g}" if isinstance(value, float) else f"{value}"
