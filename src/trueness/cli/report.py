"""What do I send to my boss?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueness._core.checks.errors import InputError
from trueness._core.doors import door
from trueness._core.progress import progress
from trueness.cli._command import Columns, command
from trueness.cli._options import Maximize, Minimize, Scores, SubjectTo, Votes
from trueness.cli._shell import Answer, about, say
from trueness.cli._source import Ask, count_panel, several_scores
from trueness.counts.values import Panel
from trueness.data.storage import is_device, replacing

COLUMNS = Columns("score", Scores, several_scores, instead="vote")


@command(COLUMNS)
def report(
    ask: Ask,
    vote: Votes = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The HTML file to be written.",
            rich_help_panel="Output",
        ),
    ] = Path("report.html"),
    maximize: Maximize = None,
    minimize: Minimize = None,
    subject_to: SubjectTo = None,
    cost_fp: Annotated[
        float | None, typer.Option(help="What a false alarm costs.")
    ] = None,
    cost_fn: Annotated[
        float | None, typer.Option(help="What a missed positive costs.")
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
) -> Answer:
    """Write a report: one HTML file that works offline, to be sent to anyone.

    Example: trueness report sample:west_nile --label virus -o report.html
    """
    prices = _prices(cost_fp, cost_fn)
    if vote:
        _nothing_to_cut(maximize, minimize, subject_to, prices, ask.chosen.by)
    with progress("Counting", unit=""):
        panel = count_panel(ask)
        groups = count_panel(ask, by=True) if ask.chosen.by else None
    with progress("Making the report", unit=""):
        page = door("report.summary").summarise(
            panel,
            title=title,
            source=ask.source.name,
            maximize=maximize,
            minimize=minimize,
            subject_to=subject_to or (),
            level=ask.level,
            cost=prices,
            groups=groups,
            rng=ask.seed,
        )
    size = write_page(page, output)
    say(f"Report written to {output} ({size / 1024:,.0f} KB); open it in a browser.")
    return Answer(
        "report",
        _result(page, output, size),
        # a page that goes to a device such as /dev/stdout goes there alone
        [] if is_device(output) else _words(page),
        chart=lambda: _figure(panel, ask),
        about=about(ask, panel),
    )


def _result(page: Any, output: Path, size: int) -> dict[str, Any]:
    return {
        "output": str(output),
        "bytes": size,
        "title": page.title,
        "summary": [{"title": q, "sentences": list(s)} for q, s in page.summary],
        "sections": [s.title for s in page.sections],
    }


def _words(page: Any) -> list[Any]:
    """Give the first page of the report as text."""
    lines = []
    for question, sentences in page.summary:
        lines += [question, *(f"  {s}" for s in sentences)]
    return lines


def write_page(page: Any, output: Path) -> int:
    """Write a page, all or nothing, and say how many bytes it has."""
    from trueness import __version__

    text = door("report.page").render(page, __version__).encode()
    with replacing(output) as temporary:
        temporary.write_bytes(text)
    return len(text)


def _figure(panel: Panel, ask: Ask) -> Any:
    """Draw the ROC curves, or without labels what the tests are worth."""
    plots = door("plots")
    if panel.n_pos and panel.n_neg:
        return plots.roc(panel)
    from trueness.nogold.posterior import latent_class

    return plots.posterior_densities(latent_class(panel, rng=ask.seed, level=ask.level))


def _nothing_to_cut(*wishes: Any) -> None:
    if any(wishes):
        raise InputError(
            "--vote is for tests without a known truth: there is no threshold to "
            "choose. Leave out --maximize, --minimize, --subject-to, costs and --by."
        )


def _prices(fp: float | None, fn: float | None) -> dict[str, float] | None:
    if fp is None and fn is None:
        return None
    if fp is None or fn is None:
        raise InputError("Prices come in pairs: type --cost-fp 1 --cost-fn 20.")
    return {"fp": fp, "fn": fn}
