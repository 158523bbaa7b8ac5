"""How good is a scorecard, and what is gained by acting on the score?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

import trueness
from trueness._core.checks.options import choice, fraction, whole_number
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._columns import FileData, count_tally
from trueness.cli._file_data import ONE_SCORE, ColumnRule, open_data
from trueness.cli._missing_scores import naming_rows_without_score
from trueness.counts.values import Tally
from trueness.data.column_roles import one_score
from trueness.findings.records import Finding
from trueness.findings.scorecards import (
    DEFAULT_COVERAGES,
    DEFAULT_THRESHOLDS,
    decisions,
    decisions_of_groups,
    grades,
    risks,
    risks_of_groups,
    scorecard,
    scorecard_of_groups,
)

# of which only the scores are needed
SCORES_OF_REFERENCE = ColumnRule("score", one_score, needs_label=False)
DECISION, RISK_COVERAGE = "decision", "risk-coverage"
KINDS = (DECISION, RISK_COVERAGE)
# where a curve is shown when no place is named
DEFAULT_PLACES = {
    DECISION: DEFAULT_THRESHOLDS,
    RISK_COVERAGE: DEFAULT_COVERAGES,
}


def scorecard_command(
    file: options.File,
    label: options.Label = None,
    score: options.Score = None,
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            metavar="FILE",
            help="File with the scores of the development sample: adds PSI, the "
            "population stability index.",
            rich_help_panel=options.DATA,
        ),
    ] = None,
    groups: Annotated[
        int,
        typer.Option(
            "--groups", metavar="NUMBER", help="Rows of the decile (gains) table."
        ),
    ] = 10,
    jeffreys: Annotated[
        bool,
        typer.Option(
            "--jeffreys",
            help="The score is the probability of default (PD) of a rating grade: adds "
            "the Jeffreys test of each grade.",
        ),
    ] = False,
    positive: options.Positive = None,
    count: options.Count = None,
    by: options.By = None,
    decimal: options.Decimal = None,
    missing_scores: options.MissingScores = None,
    invert: options.Invert = False,
    strict: options.Strict = False,
    weight: options.Weight = None,
    cluster: options.Cluster = None,
    level: options.Level = 0.95,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> shell.CommandAnswer:
    """How good is the scorecard? Gini, KS, decile table, PSI, with intervals.

    Example:
    trueness scorecard sample:west_nile --label virus --score boosting
    """
    whole_number(groups, "--groups", at_least=2)
    data = open_data(
        ONE_SCORE,
        file=file,
        label=label,
        columns=[score] if score else (),
        positive=positive,
        count=count,
        by=by,
        decimal=decimal,
        missing_scores=missing_scores,
        invert=invert,
        strict=strict,
        weight=weight,
        cluster=cluster,
        level=level,
    )
    with naming_rows_without_score(data):
        with progress("Counting", unit=""):
            tally = count_tally(data, data.request.scores[0])
            older = _count_reference(data, reference)
            tallies_by_group = _count_groups(data)

        finding = scorecard(tally, level=level, groups=groups, reference=older)
        if by is not None:
            finding = scorecard_of_groups(finding, tallies_by_group, by=by, level=level)

        findings = [finding]

        if jeffreys:
            findings.append(grades(tally, level=level))

        return shell.command_answer(
            *findings,
            about=shell.about(data, tally),
            chart=lambda: trueness.plots.gain_curve.figure_data(tally),
        )


def _count_groups(data: FileData) -> dict[Any, Tally]:
    """Count the score in each group of --by."""
    if data.request.by is None:
        return {}

    tallies: dict[Any, Tally] = count_tally(data, data.request.scores[0], by=True)
    return tallies


def _count_reference(data: FileData, reference: str | None) -> Tally | None:
    """Count the scores of the development sample, whatever its labels."""
    if reference is None:
        return None

    request = data.request
    older = open_data(
        SCORES_OF_REFERENCE,
        file=reference,
        label=None,
        columns=request.scores,
        decimal=request.decimal,
        missing_scores=request.missing_scores,
        invert=request.invert,
        strict=request.strict,
    )
    tally: Tally = count_tally(older, request.scores[0])

    return tally


def curve_command(
    file: options.File,
    label: options.Label = None,
    score: options.Score = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="NAME",
            help="decision (net benefit, net interventions avoided), or risk-coverage "
            "(error rate of the most confident cases).",
        ),
    ] = DECISION,
    show: Annotated[
        list[float] | None,
        options.number(
            "--show",
            metavar="FRACTION",
            help="Threshold probability, or coverage, to show; repeat it for several.",
        ),
    ] = None,
    at: Annotated[
        float,
        options.number(
            "--at", metavar="SCORE", help="Threshold in use, for risk-coverage."
        ),
    ] = 0.5,
    positive: options.Positive = None,
    count: options.Count = None,
    by: options.By = None,
    decimal: options.Decimal = None,
    missing_scores: options.MissingScores = None,
    invert: options.Invert = False,
    strict: options.Strict = False,
    weight: options.Weight = None,
    cluster: options.Cluster = None,
    sampling: options.Sampling = None,
    prevalence: options.Prevalence = None,
    level: options.Level = 0.95,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> shell.CommandAnswer:
    """What is gained by acting on it? Net benefit, or risk and coverage.

    Example:
    trueness curve sample:west_nile --label virus --score boosting --kind decision
    """
    choice(kind, KINDS, "--kind")
    places = [fraction(p, "--show", ends="[]") for p in show or DEFAULT_PLACES[kind]]
    data = open_data(
        ONE_SCORE,
        file=file,
        label=label,
        columns=[score] if score else (),
        positive=positive,
        count=count,
        by=by,
        decimal=decimal,
        missing_scores=missing_scores,
        invert=invert,
        strict=strict,
        weight=weight,
        cluster=cluster,
        sampling=sampling,
        prevalence=prevalence,
        level=level,
    )

    with naming_rows_without_score(data):
        with progress("Counting", unit=""):
            tally = count_tally(data, data.request.scores[0])
            tallies_by_group = _count_groups(data)

        finding: Finding
        if kind == DECISION:
            finding = decisions(tally, places, level)
        else:
            finding = risks(tally, places, at, level)

        if by is not None and kind == DECISION:
            finding = decisions_of_groups(
                finding, tallies_by_group, places, by=by, level=level
            )
        elif by is not None:
            finding = risks_of_groups(
                finding, tallies_by_group, places, threshold=at, by=by, level=level
            )

        return shell.command_answer(
            finding,
            about=shell.about(data, tally),
            chart=lambda: _chart(tally, kind, at, level),
        )


def _chart(tally: Tally, kind: str, threshold: float, level: float) -> Any:
    """Draw the whole curve."""
    if kind == DECISION:
        return trueness.plots.decision_curve.figure_data(tally)
    return trueness.plots.risk_coverage.figure_data(
        tally, threshold=threshold, level=level
    )
