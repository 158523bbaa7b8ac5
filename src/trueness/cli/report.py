"""What do I send to my boss? One HTML file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.files import is_device
from trueness._core.progress import progress
from trueness.calibration.calibrators import CALIBRATORS
from trueness.cli import options
from trueness.cli._columns import (
    FileData,
    classes_of,
    count_classes,
    count_panel,
    count_tally,
    with_verdicts,
)
from trueness.cli._file_data import (
    SCORES_OR_NO_LABEL,
    ColumnRule,
    open_data,
    refuse_without_labels,
)
from trueness.cli._missing_scores import naming_rows_without_score
from trueness.cli._shell import CommandAnswer, about, shell_sentences, write_report
from trueness.cli._source import existing_column
from trueness.cli.threshold import read_rule
from trueness.counts.expected_labels import PROCESS, ExpectedLabels
from trueness.counts.values import Panel, Tally
from trueness.data.cleaning import collected_remarks, tell
from trueness.data.column_roles import several_scores
from trueness.ensembles.combiners import COMBINERS
from trueness.findings.page import page_about, with_cleaned, with_remarks
from trueness.findings.records import Page
from trueness.findings.subject import has_no_labels
from trueness.threshold.rule import Rule

VERDICTS = ColumnRule("vote", several_scores, needs_label=False)


def report_command(
    file: options.File,
    label: options.Label = None,
    score: options.Scores = None,
    vote: options.Votes = None,
    yes: options.Yes = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="HTML file to write.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = Path("report.html"),
    maximize: options.Maximize = None,
    minimize: options.Minimize = None,
    subject_to: options.SubjectTo = None,
    guarantee: options.Guarantee = None,
    cost_fp: options.CostFp = None,
    cost_fn: options.CostFn = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="RULE",
            help="Threshold in use, or a rule that --save of threshold has written.",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        options.number(
            "--margin",
            help="Largest mean calibration error of calibrated scores (0.05 by "
            "default, less for rare classes).",
        ),
    ] = None,
    calibrate: Annotated[
        str,
        typer.Option(
            "--calibrate",
            metavar="METHOD",
            help="Add the effect of calibration by this method: "
            f"{', '.join(CALIBRATORS)}.",
        ),
    ] = "",
    half_width: Annotated[
        float | None,
        options.number(
            "--half-width",
            metavar="WIDTH",
            help="Add the sample size for a confidence interval of the AUC with this "
            "half-width.",
        ),
    ] = None,
    classifier: Annotated[
        str,
        options.column(
            "--classifier",
            help="Score that --calibrate and --half-width apply to; by default the "
            "one with the highest AUC.",
        ),
    ] = "",
    combine: Annotated[
        str,
        typer.Option(
            "--combine",
            metavar="METHOD",
            help="How to combine several scores; by default the best way: "
            f"{', '.join(COMBINERS)}.",
        ),
    ] = "",
    site: Annotated[
        str | None,
        options.column(
            "--site",
            help="Column with sites, as a sample of all sites: adds a prediction "
            "interval for the next site.",
        ),
    ] = None,
    evidence: Annotated[
        bool,
        typer.Option(
            "--evidence",
            help="Put the counts of the score into the report, in bins that hide "
            "single cases; every command can read them.",
        ),
    ] = False,
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="Title of the report.")
    ] = "",
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
    target: options.Target = PROCESS,
    level: options.Level = 0.95,
    seed: options.Seed = 0,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """Write a report: one HTML file that works offline and can be sent to anyone.

    Example:
    trueness report sample:west_nile --label virus -o report.html
    """
    if vote and score:
        raise InputError(
            "Votes are for tests without labels, scores for cases with labels. Name "
            "one of them.",
            option="vote",
        )

    data = open_data(
        VERDICTS if vote else SCORES_OR_NO_LABEL,
        file=file,
        label=label,
        columns=vote or score or (),
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
        target=target,
        takes_range=True,
        keep_order=True,
        level=level,
        seed=seed,
    )
    _check_name_of_page(output)
    cost = options.read_cost(cost_fp, cost_fn)

    if vote:
        _refuse_with_votes(
            maximize,
            minimize,
            subject_to,
            guarantee,
            cost,
            prevalence,
            at,
            by,
            site,
        )
        data = with_verdicts(data, yes)

    with naming_rows_without_score(data):
        with progress("Counting", unit=""), collected_remarks() as cleaned:
            score_of_class = {} if vote else classes_of(data)
            counts, groups = _count(data, score_of_class)
            if not vote and has_no_labels(_first_counts(counts)):
                refuse_without_labels(
                    {
                        "maximize": maximize,
                        "minimize": minimize,
                        "subject_to": subject_to,
                        "at": at,
                        "by": by,
                        "site": site,
                    }
                )

            sites = None if site is None else _count_by_site(data, site)

        with progress("Making the report", unit=""):
            request = replace(
                data.request,
                maximize=maximize,
                minimize=minimize,
                subject_to=tuple(subject_to or ()),
                guarantee=guarantee,
                cost=cost,
                at=read_rule(at),
                margin=margin,
                calibrator=calibrate,
                half_width=half_width,
                classifier=classifier,
                combiner=combine,
                classes=bool(score_of_class),
            )
            page = page_about(
                counts,
                request,
                title=title,
                source=data.source.name,
                groups=groups,
                sites=sites,
            )

    published = None
    if evidence:
        published = _evidence(counts, threshold=read_rule(at), title=page.title)

    tell(cleaned)
    page = with_remarks(with_cleaned(page, cleaned), data.request.remarks)

    return CommandAnswer(
        result=report_result(page, output, write_report(page, output, published)),
        # a page that goes to a device such as /dev/stdout goes there alone
        parts=[] if is_device(output) else report_words(page),
        chart=lambda: _chart(data, counts),
        about=about(data, _first_counts(counts)),
    )


def _refuse_with_votes(*options_of_scores: object) -> None:
    """Stop at options of a threshold or of groups where tests have no labels."""
    if any(options_of_scores):
        raise InputError(
            "Tests without labels have no threshold to choose. Leave out the "
            "objective, constraints, guarantee, prevalence, threshold, costs, "
            "groups and sites.",
            option="vote",
        )


def _evidence(counts: Any, *, threshold: float | Rule | None, title: str) -> Any:
    """Return the counts that a report carries."""
    from trueness.reports import evidence_of  # Jinja2 is loaded when needed

    return evidence_of(counts, threshold, title=title)


def _check_name_of_page(output: Path) -> None:
    """Stop before the work at a name that promises something else than a page."""
    ending = output.suffix.lower()
    if is_device(output) or ending in ("", ".html", ".htm"):
        return

    pdf = ""
    if ending == ".pdf":
        pdf = " Open it in a browser and print it to a PDF file."

    raise InputError(
        f"The report is an HTML page, so the name {output} would be misleading. "
        f"Type -o {output.with_suffix('.html')}.{pdf}",
        option="output",
    )


def _first_counts(counts: Panel | Tally | dict[str, Tally]) -> Panel | Tally:
    """Return counts that know how many cases there are; classes share them."""
    if isinstance(counts, dict):
        return next(iter(counts.values()))
    return counts


def _count(data: FileData, score_of_class: dict[Any, str]) -> tuple[Any, Any]:
    """Count all scores together, or each class against the rest, and the groups."""
    if score_of_class:
        return count_classes(data, score_of_class), None

    labels_expected = isinstance(data.request.unlabelled, ExpectedLabels)
    if labels_expected and len(data.request.scores) == 1:
        # a map is one of a single score
        return count_tally(data, data.request.scores[0]), None

    counts = count_panel(data)
    groups = count_panel(data, by=True) if data.request.by else None
    return counts, groups


def _count_by_site(data: FileData, site: str) -> Any:
    """Count all scores together at each site."""
    existing_column(data.source, site, "--site")
    request = replace(data.request, by=site)
    rows = data.source.only(request.columns)
    return count_panel(replace(data, request=request, rows=rows), by=True)


def _chart(data: FileData, counts: Panel | Tally | dict[str, Tally]) -> object:
    if isinstance(counts, (dict, Tally)) or (counts.n_pos and counts.n_neg):
        return trueness.plots.roc.figure_data(counts)
    posterior = trueness.latent_class(
        counts, rng=data.request.rng, level=data.request.level
    )
    return trueness.plots.posterior_densities.figure_data(posterior)


def report_result(page: Page, output: Path, size: int) -> dict[str, Any]:
    """Return what ``--json`` says of a report."""
    summary = []
    for question, notes in page.answers:
        summary.append({"title": question, "sentences": shell_sentences(notes)})

    return {
        "output": str(output),
        "bytes": size,
        "title": page.title,
        "summary": summary,
        "sections": [finding.question for finding in page.findings],
    }


def report_words(page: Page) -> list[Any]:
    """Return the first page of the report as text."""
    lines = []
    for question, notes in page.answers:
        if notes:
            lines.append(question)
            lines += [f"  {sentence}" for sentence in shell_sentences(notes)]
    return lines
