"""What do I send to my boss?"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.files import is_device
from trueness._core.progress import progress
from trueness.calibration.calibrators import CALIBRATORS
from trueness.cli._columns import (
    Request,
    classes_of,
    count_classes,
    count_panel,
    several_scores,
    with_verdicts,
)
from trueness.cli._command import Columns, command
from trueness.cli._options import (
    Maximize,
    Minimize,
    Scores,
    SubjectTo,
    Votes,
    Yes,
    option,
)
from trueness.cli._shell import CommandAnswer, about, say
from trueness.ensembles.combiners import COMBINERS
from trueness.findings.notes import SHELL
from trueness.findings.notes import say as write_out
from trueness.findings.page import page_about

COLUMNS = Columns("score", Scores, several_scores, instead="vote")


@command(COLUMNS, ranges=True)
def report(
    request: Request,
    vote: Votes = None,
    yes: Yes = None,
    output: Path = Path("report.html"),
    maximize: Maximize = None,
    minimize: Minimize = None,
    subject_to: SubjectTo = None,
    cost_fp: float | None = None,
    cost_fn: float | None = None,
    at: float | None = None,
    calibrate: Annotated[
        str,
        option(
            "--calibrate METHOD: Add what calibration by this method would change: "
            f"{', '.join(CALIBRATORS)}."
        ),
    ] = "",
    half_width: float | None = None,
    classifier: str = "",
    combine: Annotated[
        str,
        option(
            "--combine METHOD: Way to combine several scores that the page speaks of, "
            f"by default the best one: {', '.join(COMBINERS)}."
        ),
    ] = "",
    title: str = "",
) -> CommandAnswer:
    """Write a report: one HTML file that works offline, to be sent to anyone.

    --output, -o: HTML file to write.
    --cost-fp: Cost of a false positive.
    --cost-fn: Cost of a false negative (a missed positive).
    --at: Threshold in use, instead of the best one.
    --half-width WIDTH: Add how many cases an interval of the AUC of plus or minus this
        width needs.
    --classifier COLUMN: Score that --calibrate and --half-width are about; by default
        the one that ranks best.
    --title: Title of the report.

    Example: trueness report sample:west_nile --label virus -o report.html
    """
    _is_html(output)
    costs = _costs(cost_fp, cost_fn)
    if vote:
        asked = (maximize, minimize, subject_to, costs, request.chosen.by)
        share = request.chosen.prevalence or request.prevalences
        _no_threshold(*asked, share, at is not None)
        request = with_verdicts(request, yes)
    classes = {} if vote else classes_of(request)
    with progress("Counting", unit=""):
        panel = count_classes(request, classes) if classes else count_panel(request)
        by = request.chosen.by and not classes
        groups = count_panel(request, by=True) if by else None
    from trueness.report.page import write_page  # Jinja2 is loaded when it is needed

    with progress("Making the report", unit=""):
        page = page_about(
            panel,
            title=title,
            source=request.source.name,
            maximize=maximize,
            minimize=minimize,
            subject_to=subject_to or (),
            level=request.level,
            cost=costs,
            groups=groups,
            rng=request.seed,
            prevalences=request.prevalences,
            at=at,
            classes=bool(classes),
            calibrator=calibrate,
            half_width=half_width,
            classifier=classifier,
            combiner=combine,
            command=command_line(),
        )
    written = write_page(page, output)
    say(f"{written}; open it in a browser.")
    return CommandAnswer(
        "report",
        report_result(page, output, written.size),
        # a page that goes to a device such as /dev/stdout goes there alone
        [] if is_device(output) else report_words(page),
        chart=lambda: _figure(panel, request),
        about=about(request, next(iter(panel.values())) if classes else panel),
    )


def report_result(page: Any, output: Path, size: int) -> dict[str, Any]:
    """Give what ``--json`` says of a report."""
    return {
        "output": str(output),
        "bytes": size,
        "title": page.title,
        "summary": [{"title": q, "sentences": _said(s)} for q, s in page.answers],
        "sections": [f.question for f in page.findings],
    }


def report_words(page: Any) -> list[Any]:
    """Give the first page of the report as text."""
    lines = []
    for question, notes in page.answers:
        lines += [question, *(f"  {s}" for s in _said(notes))]
    return lines


def _said(notes: Any) -> list[str]:
    return [write_out(n, SHELL) for n in notes]


def _figure(panel: Any, request: Request) -> Any:
    """Draw the ROC curves, or without labels what the tests are worth."""
    plots = trueness.plots
    if isinstance(panel, dict) or (panel.n_pos and panel.n_neg):
        return plots.roc(panel)
    from trueness.nogold.fitting import latent_class

    return plots.posterior_densities(
        latent_class(panel, rng=request.seed, level=request.level)
    )


def command_line() -> str:
    """Give what was typed, for the foot of the report."""
    return shlex.join(["trueness", *sys.argv[1:]])


def _is_html(output: Path) -> None:
    """Stop before the work when the name of the file promises something else."""
    if is_device(output) or output.suffix.lower() in ("", ".html", ".htm"):
        return
    pdf = " Open it in a browser and print it to a PDF file."
    raise InputError(
        f"The report is an HTML page, so the name {output} would be misleading. Type "
        f"-o {output.with_suffix('.html')}."
        + (pdf if output.suffix.lower() == ".pdf" else "")
    )


def _no_threshold(*asked: Any) -> None:
    if any(asked):
        raise InputError(
            "--vote is for tests without known labels, where there is no threshold to "
            "choose. Leave out --maximize, --minimize, --subject-to, --prevalence, "
            "--at, costs and --by."
        )


def _costs(fp: float | None, fn: float | None) -> dict[str, float] | None:
    if fp is None and fn is None:
        return None
    if fp is None or fn is None:
        raise InputError("Both costs are needed. Type --cost-fp 1 --cost-fn 20.")
    return {"fp": fp, "fn": fn}
