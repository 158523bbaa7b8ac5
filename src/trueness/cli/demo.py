"""Evaluate the sample data, summarise the results and write a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import trueness
from trueness import samples
from trueness._core.progress import progress
from trueness.cli import options
from trueness.cli._shell import CommandAnswer, shell_sentences, write_report
from trueness.counts.values import Panel
from trueness.data.files import scan
from trueness.findings.page import page_about
from trueness.findings.records import Finding, Page
from trueness.findings.request import Request
from trueness.findings.trust import which_leaves

MODELS = ("boosting", "logistic", "adaboost", "forest", "neighbours")


def demo_command(
    folder: Annotated[
        Path,
        typer.Option(
            "--folder",
            "-o",
            metavar="FOLDER",
            help="Folder for the files.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = Path("demo_output"),
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """Evaluate the sample data, summarise the results and write a report.

    Example:
    trueness demo
    """
    _make_folder(folder)
    traps = trueness.panel(
        scan(samples.path("west_nile")), label="virus", scores=list(MODELS)
    )

    with progress("Looking at the sample", unit=""):
        page = page_about(
            traps,
            Request(maximize="precision", subject_to=("recall >= 0.8",)),
            title="West Nile virus in mosquito traps",
            source="sample:west_nile",
        )
        leaves = _trusted_leaves()

    with progress("Writing the files", unit=""):
        files = _write_files(folder, page, traps)

    steps = [*page.answers, (leaves.question, leaves.answer)]
    parts = [
        f"Five models predict West Nile virus in {traps.n:,} mosquito traps of "
        f"Chicago; {traps.n_pos} of them had it."
    ]

    for title, notes in steps:
        parts += ["", title, *shell_sentences(notes)]

    parts += ["", "Files:"]
    parts += [f"  {path}  {content}" for path, content in files.items()]
    parts += [
        "",
        "To look around in the browser: trueness app sample:west_nile",
        "Now with your own file: trueness report FILE --label Y --score P",
    ]

    return CommandAnswer(
        result={
            "steps": [
                {"title": title, "sentences": shell_sentences(notes)}
                for title, notes in steps
            ],
            "files": [
                {"path": str(path), "what": content} for path, content in files.items()
            ],
        },
        parts=list(parts),
        chart=lambda: trueness.plots.roc.figure_data(traps),
    )


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        sentence = f"the folder {folder} cannot be made: {err.strerror}"
        raise OSError(err.errno, sentence) from err


def _trusted_leaves() -> Finding:
    tree = trueness.leaves(
        scan(samples.path("leaves")), node="leaf", label="virus", count="n"
    )
    return which_leaves(tree.report())


def _write_files(folder: Path, page: Page, traps: Panel) -> dict[Path, str]:
    """Write the report and a figure; return what each file holds."""
    report = folder / "report.html"
    write_report(page, report, announce=False)
    files = {report: "the full report, with a slider"}
    figure = folder / "roc.svg"
    trueness.plots.save(trueness.plots.roc.figure_data(traps), figure)
    files[figure] = "ROC curves of the five models"

    return files
