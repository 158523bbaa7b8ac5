"""Do readers do better with one treatment? Multi-reader multi-case studies."""

from __future__ import annotations

from typing import Annotated

import typer

import trueness
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._file_data import ColumnRule, open_data, refuse_design
from trueness.cli._missing_scores import naming_rows_without_score
from trueness.counts.values import Tally
from trueness.data.column_roles import one_score
from trueness.data.data_tables import DataTable
from trueness.data.named_roles import READING_NAMES, column_called, find_readings
from trueness.findings.systems import reader_study_finding
from trueness.readers.covariances import COVARIANCES


def one_reading(table: DataTable, taken: set[str | None]) -> tuple[str, ...]:
    """Take the column of readings by its name, or the only one of scores."""
    free = [column for column in table.kinds if column not in taken]
    by_name = column_called(free, READING_NAMES["score"])
    return one_score(table, taken) if by_name is None else (by_name,)


# a row is a reading of a case by one reader
READINGS = ColumnRule("score", one_reading, rows_are_cases=False)


def readers_command(
    file: options.File,
    label: options.Label = None,
    score: options.Score = None,
    reader: Annotated[
        str | None, options.column("--reader", help="Column with the readers.")
    ] = None,
    treatment: Annotated[
        str | None, options.column("--treatment", help="Column with the treatments.")
    ] = None,
    case: Annotated[
        str | None, options.column("--case", help="Column with the cases.")
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="auc, or a metric at a threshold: recall, specificity, ...",
        ),
    ] = "auc",
    threshold: Annotated[
        float | None,
        options.number("--threshold", help="The threshold of such a metric."),
    ] = None,
    fixed: Annotated[
        str | None,
        typer.Option(
            "--fixed",
            metavar="WHAT",
            help="Fixed factor, not a random sample: readers, or cases.",
        ),
    ] = None,
    covariance: Annotated[
        str,
        typer.Option(
            "--covariance",
            metavar="NAME",
            help=f"How the covariances are estimated: {', '.join(COVARIANCES)}.",
        ),
    ] = "jackknife",
    pair_variance: Annotated[
        str,
        typer.Option(
            "--pair-variance",
            metavar="NAME",
            help="For unbalanced designs: a variance for each pair of treatments, or "
            "one pooled variance as in MRMCaov.",
        ),
    ] = "own",
    margin: Annotated[
        float | None,
        options.number(
            "--margin", help="Largest loss that would not matter (for non-inferiority)."
        ),
    ] = None,
    positive: options.Positive = None,
    decimal: options.Decimal = None,
    missing_scores: options.MissingScores = None,
    strict: options.Strict = False,
    weight: Annotated[str | None, options.unsupported("--weight")] = None,
    cluster: options.Cluster = None,
    sampling: Annotated[str | None, options.unsupported("--sampling")] = None,
    prevalence: Annotated[str | None, options.unsupported("--prevalence")] = None,
    unlabelled: Annotated[str | None, options.unsupported("--unlabelled")] = None,
    level: options.Level = 0.95,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> shell.CommandAnswer:
    """Do readers do better with one treatment? Multi-reader multi-case studies.

    Example:
    trueness readers sample:readers --label truth --score rating
    """
    refuse_design(
        "readers",
        "reader_study",
        {
            "weight": weight,
            "sampling": sampling,
            "prevalence": prevalence,
            "unlabelled": unlabelled,
        },
    )
    data = open_data(
        READINGS,
        file=file,
        label=label,
        columns=[score] if score else (),
        positive=positive,
        decimal=decimal,
        missing_scores=missing_scores,
        strict=strict,
        level=level,
    )
    request = data.request
    rating = request.scores[0]
    named = {"reader": reader, "treatment": treatment, "case": case}
    roles = find_readings(data.source.rows, named)

    with naming_rows_without_score(data), progress("Comparing", unit=""):
        design = {role: roles[role] for role in ("reader", "treatment", "case")}
        columns = [*design.values(), str(request.label), rating]
        if cluster is not None:
            columns.append(cluster)

        study = trueness.reader_study(
            data.source.only(columns).to_arrow_table(),
            label=request.label,
            score=rating,
            cluster=cluster,
            **design,
            positive=request.positive,
            metric=metric,
            threshold=threshold,
            fixed=fixed,
            covariance=covariance,
            pair_variance=pair_variance,
            margin=margin,
            level=level,
        )

    cases = Tally([0.0], neg=[study.n_neg], pos=[study.n_pos])

    return shell.command_answer(
        reader_study_finding(study),
        about=shell.about(data, cases),
        chart=lambda: trueness.plots.reader_results.figure_data(study),
    )
