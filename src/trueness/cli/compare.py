"""Which score is better, and would they be better together?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.checks.options import choice
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._columns import FileData, count_panel
from trueness.cli._file_data import (
    TWO_SCORES,
    TWO_SCORES_OR_NO_LABEL,
    open_data,
    refuse_design,
    refuse_without_labels,
)
from trueness.cli._missing_scores import naming_rows_without_score
from trueness.cli.apply import write_scored_rows
from trueness.counts.values import Panel
from trueness.ensembles.combiners import COMBINERS
from trueness.findings.diagnostic_tests import are_tests
from trueness.findings.metric_pairs import (
    DIFFERENCE,
    EFFECTS,
    better_by_metric,
)
from trueness.findings.records import Finding
from trueness.findings.scores_alone import combine_without_labels
from trueness.findings.subject import Subject, subject
from trueness.findings.which_is_better import (
    better_together,
    in_each_group,
    which_is_better,
)


def compare_command(
    file: options.File,
    label: options.Label = None,
    score: options.Scores = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="Metric to compare at a threshold, such as sensitivity. By default "
            "AUCs of scores, sensitivity and specificity of tests.",
        ),
    ] = None,
    at: Annotated[
        float | None,
        options.number(
            "--at", metavar="SCORE", help="Threshold of scores, for --metric."
        ),
    ] = None,
    effect: Annotated[
        str,
        typer.Option(
            "--effect",
            metavar="NAME",
            help="With --metric: difference, or ratio (relative sensitivity, relative "
            "false positive rate, ratio of predictive values).",
        ),
    ] = DIFFERENCE,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Test for --metric: auto, mcnemar; for predictive values also "
            "leisenring and kosinski.",
        ),
    ] = "auto",
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
    r"""Which score is better, and is it better everywhere? Paired tests, dominance.

    Example:
    trueness compare sample:west_nile --label virus --score boosting \
        --score logistic
    """
    data = open_data(
        TWO_SCORES,
        file=file,
        label=label,
        columns=score or (),
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
        level=level,
        seed=seed,
    )
    with naming_rows_without_score(data):
        ask = partial(_compare, metric=metric)
        if at is not None or effect != DIFFERENCE or method != "auto":
            ask = partial(
                _compare_metric,
                metric=metric,
                threshold=at,
                effect=choice(effect, EFFECTS, "--effect"),
                method=method,
            )

        panel, finding = _answer_with_groups(data, ask)
        return shell.command_answer(
            finding,
            about=shell.about(data, panel),
            chart=lambda: trueness.plots.roc.figure_data(panel),
        )


def _compare_metric(
    subject: Subject,
    metric: str | None,
    threshold: float | None,
    effect: str,
    method: str,
) -> Finding:
    """Compare a metric at a threshold: differences or ratios, by a named test."""
    if metric is None:
        raise InputError(
            "Threshold, effect and method are options of a metric. Name one.",
            option="metric",
            example="sensitivity",
        )

    if threshold is None and not are_tests(subject.data):
        raise InputError(
            f"The metric {metric} needs a threshold, but these columns are scores.",
            option="at",
            example="0.5",
        )

    return better_by_metric(
        subject,
        metric,
        threshold=0.5 if threshold is None else threshold,
        effect=effect,
        method=method,
    )


def _compare(subject: Subject, metric: str | None) -> Finding:
    """Compare scores over all thresholds, or tests by a metric."""
    if metric is not None and not are_tests(subject.data):
        raise InputError(
            f"The metric {metric} needs a threshold, but these columns are scores. "
            "Name the threshold, or leave the metric out to compare AUCs.",
            option="at",
            example="0.5",
        )

    return which_is_better(subject, metric or "")


def combine_command(
    file: options.File,
    label: options.Label = None,
    score: options.Scores = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help=f"One of {', '.join(COMBINERS)}; by default the best one.",
        ),
    ] = None,
    output: options.RowsFile = None,
    column: Annotated[
        str,
        typer.Option(
            "--column",
            metavar="NAME",
            help="Name of the new column.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = "combined",
    save: options.SaveFile = None,
    positive: options.Positive = None,
    count: options.Count = None,
    by: options.By = None,
    decimal: options.Decimal = None,
    missing_scores: options.MissingScores = None,
    invert: options.Invert = False,
    strict: options.Strict = False,
    weight: Annotated[str | None, options.unsupported("--weight")] = None,
    cluster: Annotated[str | None, options.unsupported("--cluster")] = None,
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
    r"""Would they be better together? Compares ways to combine scores, applies one.

    Example:
    trueness combine sample:west_nile --label virus --score boosting \
        --score logistic --score forest -o combined.parquet
    """
    refuse_design(
        "combine", "compare_combiners", {"weight": weight, "cluster": cluster}
    )
    data = open_data(
        TWO_SCORES_OR_NO_LABEL,
        file=file,
        label=label,
        columns=score or (),
        positive=positive,
        count=count,
        by=by,
        decimal=decimal,
        missing_scores=missing_scores,
        invert=invert,
        strict=strict,
        sampling=sampling,
        prevalence=prevalence,
        unlabelled=unlabelled,
        keep_order=output is not None,
        level=level,
        seed=seed,
    )

    if method is not None:
        choice(method, list(COMBINERS), "--method")

    shell.check_rows(output, data.source, column)

    with naming_rows_without_score(data):
        if data.request.label is None:
            return _combine_without_labels(data, method or "", output, column, save)

        panel, finding = _answer_with_groups(
            data, better_together, combiner=method or ""
        )
        combiner = COMBINERS[finding.numbers["method"]](panel)
        shell.save_fitted(combiner, save)

        if output is not None:
            names = list(panel.names)
            write_scored_rows(data.source, combiner, names, column, output)

        return shell.command_answer(
            finding,
            about=shell.about(data, panel),
            chart=lambda: _chart_of_combiners(data, panel),
            column=column,
        )


def _combine_without_labels(
    data: FileData, method: str, output: Path | None, column: str, save: Path | None
) -> shell.CommandAnswer:
    """Combine scores of which no case has a label, and write what was asked for."""
    refuse_without_labels(
        {"by": data.request.by, "prevalence": data.request.prevalence}
    )
    with progress("Counting", unit=""):
        panel = count_panel(data)

    finding, combiner = combine_without_labels(panel, method, data.request.level)
    shell.save_fitted(combiner, save)
    if output is not None:
        write_scored_rows(data.source, combiner, list(panel.names), column, output)

    return shell.command_answer(finding, about=shell.about(data, panel), column=column)


def _answer_with_groups(
    data: FileData, ask: Callable[[Subject], Finding], combiner: str = ""
) -> tuple[Panel, Finding]:
    """Count the scores together, and ask of all cases and of each group."""
    by = data.request.by
    request = replace(data.request, combiner=combiner)

    with progress("Counting", unit=""):
        panel = count_panel(data)
        groups = count_panel(data, by=True) if by else {}

    with progress("Comparing", unit=""):
        finding = ask(subject(panel, request))
        of_groups = shell.answer_each_group(
            groups, lambda cases: ask(subject(cases, request))
        )

    return panel, in_each_group(finding, of_groups, str(by))


def _chart_of_combiners(data: FileData, panel: Panel) -> Any:
    comparison = trueness.compare_combiners(
        panel, level=data.request.level, rng=data.request.rng
    )
    return trueness.plots.combiners.figure_data(comparison)
