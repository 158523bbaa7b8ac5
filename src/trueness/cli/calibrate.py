"""What does a score mean as a probability?"""

from __future__ import annotations

import json as json_text
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import trueness
from trueness._core.checks.options import whole_number
from trueness._core.progress import progress
from trueness.calibration.calibrators import CALIBRATORS
from trueness.calibration.maps import map_to_json
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._columns import FileData, count_tally
from trueness.cli._file_data import ONE_SCORE, open_data
from trueness.cli._missing_scores import naming_rows_without_score
from trueness.cli.apply import write_scored_rows
from trueness.counts.values import Tally
from trueness.findings.what_scores_mean import (
    calibration_as_it_is,
    what_a_map_changes,
)


def calibrate_command(
    file: options.File,
    label: options.Label = None,
    score: options.Score = None,
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="NAME", help=f"One of {', '.join(CALIBRATORS)}."
        ),
    ] = "auto",
    folds: Annotated[
        int,
        typer.Option(
            "--folds",
            metavar="NUMBER",
            help=(
                "Folds of the cross-fitting that tests the map on cases not used to "
                "fit it."
            ),
        ),
    ] = 5,
    margin: options.Margin = None,
    output: options.RowsFile = None,
    column: options.NewColumn = None,
    save: options.SaveFile = None,
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
    unlabelled: options.Unlabelled = None,
    level: options.Level = 0.95,
    seed: options.Seed = 0,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> shell.CommandAnswer:
    r"""What does a score mean as a probability? Fits a map and applies it.

    Example:
    trueness calibrate sample:west_nile --label virus --score adaboost \
        -o calibrated.parquet --save map.json
    """
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
        unlabelled=unlabelled,
        keep_order=output is not None,
        level=level,
        seed=seed,
    )
    new_column = column or f"{data.request.scores[0]}_calibrated"
    whole_number(folds, "--folds", at_least=2)
    shell.check_rows(output, data.source, new_column)

    with naming_rows_without_score(data):
        data = replace(data, request=replace(data.request, margin=margin))
        return _calibrate(data, method, folds, output, new_column, save)


def _calibrate(
    data: FileData,
    method: str,
    folds: int,
    output: Path | None,
    new_column: str,
    save: Path | None,
) -> shell.CommandAnswer:
    """Fit a map, say what it changes, and write it and the new scores."""
    score = data.request.scores[0]
    by = data.request.by

    with progress("Fitting", unit=""):
        tally = count_tally(data, score)
        groups: dict[Any, Tally] = count_tally(data, score, by=True) if by else {}
        fitted = trueness.calibrate(tally, method=method)
        findings, calibrated = what_a_map_changes(
            tally,
            fitted,
            method,
            score,
            groups,
            str(by),
            level=data.request.level,
            rng=data.request.rng,
            folds=folds,
        )

    shell.save_fitted(fitted, save, score)

    if output is not None:
        write_scored_rows(data.source, fitted, [score], new_column, output)
    if data.request.margin is not None:
        findings.append(calibration_as_it_is({score: tally}, data.request))

    return shell.command_answer(
        *findings,
        about=shell.about(data, tally),
        chart=lambda: trueness.plots.reliability.figure_data(calibrated),
        method=method,
        column=new_column,
        map=json_text.loads(map_to_json(fitted)),
    )
