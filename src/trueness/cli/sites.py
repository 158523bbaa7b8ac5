"""Does it hold at every site, and what will it do at the next one?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._columns import choose_columns
from trueness.cli._file_data import say_what_was_taken
from trueness.cli._source import Source, existing_column, open_source
from trueness.counts.values import Tally
from trueness.data.column_roles import one_score
from trueness.data.engines import columns_of
from trueness.data.frames import tally
from trueness.data.named_roles import SITE_NAMES, column_called
from trueness.data.study_tables import StudyTables, has_study_tables, study_tables
from trueness.findings.next_site import next_site, summary_point
from trueness.findings.request import Request
from trueness.sites.across import FEWEST_SITES, AcrossSites
from trueness.sites.bivariate import FITS
from trueness.sites.prediction import PREDICTION_INTERVALS
from trueness.sites.summary_curve import SummaryROC
from trueness.sites.values import STATISTICS

# what is asked of 2x2 tables when no measure was named
_OF_TABLES = ("recall", "specificity")


def sites_command(
    file: options.File,
    site: Annotated[
        str | None,
        options.column(
            "--site", help="Column with the sites; not needed for 2x2 tables."
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help=f"{', '.join(STATISTICS)}, or a metric at a threshold: recall, "
            "precision, ... For 2x2 tables (columns tp, fp, fn, tn): "
            "sensitivity and specificity, jointly.",
        ),
    ] = None,
    label: options.Label = None,
    score: options.Score = None,
    positive: options.Positive = None,
    threshold: Annotated[
        float | None,
        options.number("--threshold", help="The threshold of such a metric."),
    ] = None,
    covariate: Annotated[
        str | None,
        options.column(
            "--covariate",
            help="Covariate of the sites, for a meta-regression.",
        ),
    ] = None,
    prediction: Annotated[
        str,
        typer.Option(
            "--prediction",
            metavar="NAME",
            help=f"Prediction interval: {', '.join(PREDICTION_INTERVALS)}.",
        ),
    ] = "nagashima",
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help=f"Model of sensitivity and specificity: {', '.join(FITS)}.",
        ),
    ] = "binomial",
    level: options.Level = 0.95,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> shell.CommandAnswer:
    """Does it hold at every site, and at the next? Meta-analysis of accuracy.

    Example:
    trueness sites sample:studies
    """
    source = open_source(file)
    tables_finding = has_study_tables(source.types)
    if tables_finding:
        if site is not None:
            raise InputError(
                "2x2 tables have one row per site. Leave the column of sites out.",
                option="site",
            )
        studies = study_tables(source.rows)
    else:
        studies = _count_sites(source, site, label, score, positive, covariate)

    measures = _measures(metric, of_tables=tables_finding)
    entries = _covariate_entries(studies, covariate)

    with progress("Sites", unit=""):
        answers = [
            trueness.across_sites(
                studies.tables,
                measure,
                threshold=threshold,
                covariate=entries,
                prediction=prediction,
                level=level,
            )
            for measure in measures
        ]
        summary = None
        if metric is None and tables_finding and len(studies.tables) >= FEWEST_SITES:
            summary = trueness.summary_roc(studies.tables, method=method, level=level)

    about = _about(file, studies.tables, {"site": site, "label": label, "score": score})

    if len(answers) == 1:
        return shell.command_answer(
            next_site(answers[0]),
            chart=lambda: trueness.plots.site_forest.figure_data(answers[0]),
            about=about,
        )

    return _answer_on_tables(summary, answers, about)


def _answer_on_tables(
    summary: SummaryROC | None, answers: list[AcrossSites], about: dict[str, Any]
) -> shell.CommandAnswer:
    """Return sensitivity and specificity together, then each by itself."""
    by_measure = [next_site(answer) for answer in answers]
    # both have the same names for their numbers, which stand under their measures
    numbers = {
        answer.measure: finding.numbers
        for answer, finding in zip(answers, by_measure, strict=True)
    }
    findings = [replace(finding, numbers={}) for finding in by_measure]

    if summary is None:
        return shell.command_answer(
            *findings,
            chart=lambda: trueness.plots.site_forest.figure_data(answers[0]),
            about=about,
            measures=numbers,
        )

    return shell.command_answer(
        summary_point(summary),
        *findings,
        chart=lambda: trueness.plots.summary_plane.figure_data(summary),
        about=about,
        measures=numbers,
    )


def _measures(metric: str | None, *, of_tables: bool) -> tuple[str, ...]:
    """Return what is measured: of 2x2 tables both rates, when nothing was named."""
    if metric is not None:
        return (metric,)
    return _OF_TABLES if of_tables else ("auc",)


def _count_sites(
    source: Source,
    site: str | None,
    label: str | None,
    score: str | None,
    positive: str | None,
    covariate: str | None,
) -> StudyTables:
    """Count the cases of each site, and read its covariate."""
    if site is None:
        site = column_called(source.types, SITE_NAMES)
        if site is not None:
            shell.say(f"Using site {site!r}: by name.")
    if site is None:
        raise InputError(
            "Which column names the sites? A file of 2x2 tables has the columns tp, "
            "fp, fn, tn instead.",
            option="site",
            choices=source.types,
        )

    existing_column(source, site, "--site")
    request = choose_columns(
        source,
        Request(
            label=label, scores=(score,) if score else (), positive=positive, by=site
        ),
        option="score",
        guess=one_score,
    )
    say_what_was_taken(source, request, "score")
    tallies = tally(
        source.only(request.columns),
        score=request.scores[0],
        by=site,
        **request.counting,
    )
    by_site = {str(name): counts for name, counts in tallies.items()}

    if covariate is None:
        return StudyTables(by_site, {})
    return StudyTables(by_site, {covariate: _site_covariate(source, site, covariate)})


def _site_covariate(source: Source, site: str, covariate: str) -> dict[str, object]:
    """Return the entry of a covariate for each site, which must be one."""
    existing_column(source, covariate, "--covariate")
    columns = columns_of(source.only([site, covariate]), [site, covariate])

    entries: dict[str, object] = {}
    for name, entry in zip(
        columns[site].tolist(), columns[covariate].tolist(), strict=True
    ):
        before = entries.setdefault(str(name), entry)
        if before != entry:
            raise InputError(
                f"A covariate must have one value per site; {covariate!r} has "
                f"{before!r} and {entry!r} at {str(name)!r}.",
                option="covariate",
            )

    return entries


def _covariate_entries(
    studies: StudyTables, covariate: str | None
) -> dict[str, dict[str, object]] | None:
    """Return a covariate with its name, as ``across_sites`` takes it."""
    if covariate is None:
        return None

    if covariate not in studies.covariates:
        raise InputError(
            f"There is no column {covariate!r} beside the tables; found "
            f"{listing(studies.covariates) or 'none'}.",
            option="covariate",
            choices=studies.covariates,
        )

    return {covariate: studies.covariates[covariate]}


def _about(
    file: str, tables: Mapping[str, Tally], columns: Mapping[str, str | None]
) -> dict[str, Any]:
    """Say which file, columns and cases an answer is about."""
    negatives = 0
    positives = 0
    unknown = 0
    for counts in tables.values():
        negatives += int(counts.n_neg)
        positives += int(counts.n_pos)
        unknown += int(counts.n_unknown)

    total = negatives + positives + unknown
    return shell.about_cases(file, columns, total, negatives, positives, unknown)
