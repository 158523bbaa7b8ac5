"""Which cases should be labelled next? Draws a sample stratified by score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from trueness._core.checks.errors import InputError
from trueness._core.checks.options import whole_number
from trueness._core.files import replacing
from trueness._core.numbers import counted
from trueness.cli import options
from trueness.cli._columns import FileData, count_tally
from trueness.cli._file_data import ONE_SCORE, open_data
from trueness.cli._missing_scores import naming_rows_without_score
from trueness.cli._shell import CommandAnswer
from trueness.counts.expected_labels import PROCESS, ExpectedLabels
from trueness.findings.records import table
from trueness.nogold.label_plans import plan_labels
from trueness.nogold.score_label_plans import ScoreLabelPlan

STRATUM = "stratum"
PROBABILITY = "probability"


def label_command(
    file: options.File,
    score: options.Score = None,
    unlabelled: options.Unlabelled = None,
    target: options.Target = PROCESS,
    next_labels: Annotated[
        int,
        typer.Option("--next", metavar="NUMBER", help="How many cases to label next."),
    ] = 200,
    metric: Annotated[
        str,
        typer.Option(
            "--metric", metavar="NAME", help="The metric that the labels are for."
        ),
    ] = "recall",
    at: Annotated[
        float,
        options.number("--at", metavar="SCORE", help="Threshold in use."),
    ] = 0.5,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the cases to label to this .csv, with stratum and probability.",
        ),
    ] = None,
    level: options.Level = 0.95,
    seed: options.Seed = 0,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    r"""Which cases should be labelled next? Draws a sample stratified by score.

    Labels are allocated to bands of scores by the labels that a map expects (Neyman).
    The file that comes back is a stratified sample: its columns stratum and
    probability say how its cases were drawn.

    Example:
    trueness label sample:west_nile --score adaboost --unlabelled map.json \
        --at 0.4 --next 200 -o to_label.csv
    """
    if unlabelled is None or not unlabelled.endswith(".json"):
        raise InputError(
            "Drawing cases by score needs a calibration map. trueness calibrate fits "
            "one from labelled cases and saves it.",
            option="unlabelled",
            example="map.json",
        )

    whole_number(next_labels, "--next", at_least=1)
    data = open_data(
        ONE_SCORE,
        file=file,
        label=None,
        columns=[score] if score else (),
        unlabelled=unlabelled,
        target=target,
        keep_order=True,
        level=level,
        seed=seed,
    )
    with naming_rows_without_score(data):
        plan = _plan(data, metric, at, next_labels, level)

    rows = _draw(data, plan, seed)

    if output is not None:
        _write(rows, output)

    return CommandAnswer(
        result={
            "labels": plan.total,
            "value": plan.value,
            "half_width": plan.half_width,
            "output": None if output is None else str(output),
            "low": plan.low,
            "high": plan.high,
            "cases": plan.cases,
            "to_label": plan.labels,
        },
        parts=[
            f"{counted(plan.total, 'case')} to label: {metric} is then known to "
            f"± {plan.half_width:.3f}. The map expects it to be {plan.value:.3f}.",
            _table_of_bands(plan),
            *plan.notes,
        ],
        about={"file": file},
    )


def _plan(
    data: FileData, metric: str, threshold: float, labels: int, level: float
) -> ScoreLabelPlan:
    """Plan the labels of all cases of a file."""
    labels_expected = isinstance(data.request.unlabelled, ExpectedLabels)
    assert labels_expected  # noqa: S101 - open_data has read the map
    plan = plan_labels(
        count_tally(data, data.request.scores[0]),
        metric=metric,
        threshold=threshold,
        labels=labels,
        level=level,
    )
    assert isinstance(plan, ScoreLabelPlan)  # noqa: S101 - of a metric

    return plan


def _draw(data: FileData, plan: ScoreLabelPlan, seed: int) -> Any:
    """Return the rows that were drawn, with stratum and probability."""
    import pyarrow as pa

    rows = data.source.rows.to_arrow_table()
    column = rows[data.request.scores[0]].to_numpy(zero_copy_only=False)
    scores = np.asarray(column, np.float64)
    # rows without a score are not drawn
    places = np.flatnonzero(np.isfinite(scores))
    sample = plan.draw(scores[places], rng=seed)
    drawn_rows = rows.take(pa.array(places[sample.index]))
    drawn_rows = drawn_rows.append_column(STRATUM, pa.array(sample.stratum))

    return drawn_rows.append_column(PROBABILITY, pa.array(sample.probability))


def _write(rows: Any, output: Path) -> None:
    """Write the drawn rows to a CSV file, all or nothing."""
    from pyarrow import csv

    if output.suffix.lower() != ".csv":
        raise InputError(
            f"The cases to label are written to a .csv; found {output}.",
            option="output",
            example="to_label.csv",
        )

    with replacing(output) as temporary:
        csv.write_csv(rows, str(temporary))


def _table_of_bands(plan: ScoreLabelPlan) -> Any:
    """Show how many cases of each band to label."""
    rows = zip(
        plan.low.tolist(),
        plan.high.tolist(),
        plan.cases.tolist(),
        plan.labels.tolist(),
        strict=True,
    )
    return table("Strata by score", ["from", "to", "cases", "labels"], list(rows))
