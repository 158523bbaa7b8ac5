"""What do I send to my boss? The report, the demonstration and the workbench."""

from __future__ import annotations

import webbrowser
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

import trueness
from trueness import samples
from trueness._core.checks.errors import InputError
from trueness._core.files import is_device
from trueness._core.imports import handler, required
from trueness._core.progress import progress
from trueness.calibration.calibrators import CALIBRATORS
from trueness.cli import _columns as columns
from trueness.cli._command import Columns, command
from trueness.cli._shell import CommandAnswer, say, spoken, write_report
from trueness.cli._source import known
from trueness.cli.evaluate import rule_typed
from trueness.cli.judge import open_verdicts
from trueness.counts.values import Panel, Tally
from trueness.data.cleaning import listening, tell
from trueness.data.column_roles import several_scores
from trueness.data.files import scan, tables_of
from trueness.ensembles.combiners import COMBINERS
from trueness.findings.page import page_about, with_cleaned
from trueness.findings.records import Page
from trueness.findings.trust import which_leaves

MODELS = ("boosting", "logistic", "adaboost", "forest", "neighbours")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


COLUMNS = Columns("score", several_scores, instead="vote")


@command(COLUMNS, ranges=True, maps=CALIBRATORS, combiners=COMBINERS)
def report_command(
    request: columns.Request,
    vote: list[str] | None = None,
    yes: str | None = None,
    output: Path = Path("report.html"),
    maximize: str | None = None,
    minimize: str | None = None,
    subject_to: list[str] | None = None,
    cost_fp: float | None = None,
    cost_fn: float | None = None,
    at: str | None = None,
    calibrate: str = "",
    half_width: float | None = None,
    classifier: str = "",
    combine: str = "",
    site: str | None = None,
    title: str = "",
) -> CommandAnswer:
    """Write a report: one HTML file that works offline, to be sent to anyone.

    --output, -o: HTML file to write.
    --cost-fp: Cost of a false positive.
    --cost-fn: Cost of a false negative (a missed positive).
    --calibrate METHOD: Add what calibration by this method would change:
        {maps}.
    --half-width WIDTH: Add how many cases an interval of the AUC of plus or minus this
        width needs.
    --classifier COLUMN: Score that --calibrate and --half-width are about; by default
        the one that ranks best.
    --combine METHOD: Way to combine several scores that the page speaks of, by default
        the best one: {combiners}.
    --site COLUMN: Column with sites that are a sample of sites: adds what the next one
        will do.
    --title: Title of the report.

    Example: trueness report sample:west_nile --label virus -o report.html
    """
    if not is_device(output) and output.suffix.lower() not in ("", ".html", ".htm"):
        pdf = " Open it in a browser and print it to a PDF file."
        raise InputError(  # before the work
            f"The report is an HTML page, so the name {output} would be misleading. "
            f"Type -o {output.with_suffix('.html')}."
            + (pdf if output.suffix.lower() == ".pdf" else "")
        )
    if (cost_fp is None) != (cost_fn is None):
        raise InputError("Both costs are needed. Type --cost-fp 1 --cost-fn 20.")
    costs = None if cost_fp is None else {"fp": cost_fp, "fn": cost_fn}
    if vote:
        share = request.chosen.prevalence or request.prevalences
        if any(
            (maximize, minimize, subject_to, costs, request.chosen.by, share, at, site)
        ):
            raise InputError(
                "--vote is for tests without known labels, where there is no threshold "
                "to choose. Leave out --maximize, --minimize, --subject-to, "
                "--prevalence, --at, costs, --by and --site."
            )
        request = columns.with_verdicts(request, yes)
    with progress("Counting", unit=""), listening() as cleaned:
        counted, groups = _counted(request, {} if vote else columns.classes_of(request))
        sites = None if site is None else _counted_by_site(request, site)
    asked: dict[str, Any] = {"maximize": maximize, "minimize": minimize, "title": title}
    asked |= {"calibrator": calibrate, "half_width": half_width, "combiner": combine}
    asked |= {"classifier": classifier, "cost": costs, "at": rule_typed(at)}
    asked |= {"prevalences": request.prevalences, "subject_to": subject_to or ()}
    asked |= {"level": request.level, "rng": request.seed, "groups": groups}
    asked |= {"sites": sites}
    with progress("Making the report", unit=""):
        several, source = isinstance(counted, dict), request.source.name
        page = page_about(counted, source=source, classes=several, **asked)
    tell(cleaned)
    page = with_cleaned(page, cleaned)
    return CommandAnswer(
        report_result(page, output, write_report(page, output)),
        # a page that goes to a device such as /dev/stdout goes there alone
        [] if is_device(output) else report_words(page),
        chart=partial(_chart, request, counted),
        counted=next(iter(counted.values())) if several else counted,
    )


def _counted(request: columns.Request, classes: dict[Any, str]) -> tuple[Any, Any]:
    """Count all scores together, or each class against the rest, and the groups."""
    if classes:
        return columns.count_classes(request, classes), None
    whole = columns.count_panel(request)
    return whole, columns.count_panel(request, by=True) if request.chosen.by else None


def _counted_by_site(request: columns.Request, site: str) -> Any:
    """Count all scores together at each site."""
    known(request.source, site, "--site")
    chosen = replace(request.chosen, by=site)
    rows = request.source.only(chosen.columns)
    return columns.count_panel(replace(request, chosen=chosen, rows=rows), by=True)


def _chart(request: columns.Request, counted: Panel | dict[str, Tally]) -> object:
    if isinstance(counted, dict) or (counted.n_pos and counted.n_neg):
        return trueness.plots.roc(counted)
    found = trueness.latent_class(counted, rng=request.seed, level=request.level)
    return trueness.plots.posterior_densities(found)


def report_result(page: Page, output: Path, size: int) -> dict[str, Any]:
    """Give what ``--json`` says of a report."""
    return {
        "output": str(output),
        "bytes": size,
        "title": page.title,
        "summary": [{"title": q, "sentences": spoken(s)} for q, s in page.answers],
        "sections": [f.question for f in page.findings],
    }


def report_words(page: Page) -> list[Any]:
    """Give the first page of the report as text."""
    lines = []
    for question, notes in page.answers:
        lines += [question, *(f"  {s}" for s in spoken(notes))] if notes else []
    return lines


@command()
def demo_command(folder: Path = Path("demo_output")) -> CommandAnswer:
    """Evaluate the sample data, say what was found and write a report.

    --folder, -o: Folder for the files.

    Example: trueness demo
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        words = f"the folder {folder} cannot be made: {err.strerror}"
        raise OSError(err.errno, words) from err
    traps = trueness.panel(
        scan(samples.path("west_nile")), label="virus", scores=list(MODELS)
    )
    with progress("Looking at the sample", unit=""):
        page = page_about(
            traps,
            title="West Nile virus in mosquito traps",
            source="sample:west_nile",
            maximize="precision",
            subject_to=["recall >= 0.8"],
        )
        tree = trueness.leaves(
            scan(samples.path("leaves")), node="leaf", label="virus", count="n"
        )
        leaves = which_leaves(tree.report())
    written = {folder / "report.html": "the full report, with a slider"}
    with progress("Writing the files", unit=""):
        write_report(page, folder / "report.html", say_so=False)
        # pictures are an extra, which the command line does without
        if all(find_spec(library) for library in ("altair", "vl_convert")):
            trueness.plots.save(trueness.plots.roc(traps), folder / "roc.svg")
            written[folder / "roc.svg"] = "ROC curves of the five models"
    steps = [*page.answers, (leaves.question, leaves.answer)]
    parts: list[Any] = [
        f"Five models predict West Nile virus in {traps.n:,} mosquito traps of "
        f"Chicago; {traps.n_pos} of them had it."
    ]
    for title, notes in steps:
        parts += ["", title, *spoken(notes)]
    parts += ["", "Files:", *(f"  {path}  {what}" for path, what in written.items())]
    parts += [
        "",
        "To look around in the browser: trueness app sample:west_nile",
        "Now with your own file: trueness report FILE --label Y --score P",
    ]
    result = {
        "steps": [{"title": title, "sentences": spoken(said)} for title, said in steps],
        "files": [{"path": str(p), "what": what} for p, what in written.items()],
    }
    return CommandAnswer(result, parts, chart=lambda: trueness.plots.roc(traps))


@command(without=("json", "plot"))
def app_command(
    file: Annotated[
        str | None,
        typer.Argument(
            help="CSV, Parquet or JSON lines (also compressed, a folder, or "
            "'many/*.parquet'), a database, the log of an evaluation, or "
            "sample:west_nile. Without one, drop it on the page.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    port: int = 0,
    browser: bool = True,
    limit: int = 512,
    host: str = "127.0.0.1",
    i_know: bool = False,
) -> CommandAnswer:
    """Look around in the browser: choose columns, move the threshold, take the report.

    --port NUMBER: Port; 0 takes one that is free.
    --browser/--no-browser: Open the page in a browser, or only print its address.
    --limit MB: Largest upload, in megabytes.
    --host: Address to listen on; this machine only by default.
    --i-know: Allow another --host: others can then reach the page.

    Example: trueness app sample:west_nile
    """
    if host not in LOOPBACK and not i_know:
        raise InputError(
            f"--host {host} would let other machines reach the workbench and what it "
            "shows of your files. Leave --host out, or type --i-know as well if that "
            "is meant."
        )
    if not 0 <= port < 65_536 or limit < 1:
        raise InputError("--port must be 0 to 65535, and --limit 1 or more.")
    for library in ("uvicorn", "starlette"):
        required(library, "app")
    if file is not None and "::" not in file and not tables_of(file):
        open_verdicts(file)  # a file that cannot be read is told before anything begins
    if host not in LOOPBACK:
        say(
            f"Warning: listening on {host}. Whoever has the address and its token sees "
            "your files, and nothing is encrypted on the way."
        )

    def opened(address: str) -> None:
        say("The workbench is open at this address; stop it with Ctrl-C:")
        typer.echo(address)
        if browser:
            webbrowser.open(address)

    serve = handler("serve")
    try:
        serve(file, host=host, port=port, limit=limit, opened=opened)
    except OSError as err:
        words = f"port {port} of {host} cannot be used: {err.strerror}"
        raise OSError(err.errno, f"{words}. Type --port 0") from err
    except KeyboardInterrupt:
        say("Stopped.")
    return CommandAnswer({}, [])
