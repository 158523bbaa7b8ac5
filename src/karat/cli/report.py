"""What do I send to my boss?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from karat._checks import InputError
from karat._doors import door
from karat._progress import progress
from karat.cli._shell import (
    By,
    Count,
    Debug,
    File,
    Label,
    Level,
    Maximize,
    Positive,
    Scores,
    Seed,
    SubjectTo,
    opened,
    say,
)
from karat.cli._source import count_panel

Output = Annotated[
    Path, typer.Option("--output", "-o", help="The HTML file to be written.")
]


def report(
    file: File,
    label: Label = None,
    score: Scores = None,
    vote: Annotated[
        list[str] | None,
        typer.Option(help="Column with verdicts, 0 or 1: a report without labels."),
    ] = None,
    output: Output = Path("report.html"),
    positive: Positive = None,
    count: Count = None,
    by: By = None,
    maximize: Maximize = None,
    subject_to: SubjectTo = None,
    cost_fp: Annotated[
        float | None, typer.Option(help="What a false alarm costs.")
    ] = None,
    cost_fn: Annotated[
        float | None, typer.Option(help="What a missed positive costs.")
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
    level: Level = 0.95,
    seed: Seed = 0,
    debug: Debug = False,
) -> None:
    """Write a report: one HTML file that works offline, to be sent to anyone.

    Example: karat report sample:west_nile --label virus -o report.html
    """
    source, chosen = opened(
        file,
        label=label,
        scores=vote or score or [],
        needs_label=not vote,
        positive=positive,
        count=count,
        by=by,
        several=True,
    )
    with progress("Counting"):
        panel = count_panel(source, chosen)
        groups = count_panel(source, chosen, by=True) if by else None
    with progress("Writing the report"):
        door("report").write(
            panel,
            output,
            title=title,
            source=source.name,
            maximize=maximize,
            subject_to=subject_to or (),
            level=level,
            cost=_prices(cost_fp, cost_fn),
            groups=groups,
            rng=seed,
        )
    say(f"Report written to {output}.")


def _prices(fp: float | None, fn: float | None) -> dict[str, float] | None:
    if fp is None and fn is None:
        return None
    if fp is None or fn is None:
        raise InputError("Prices come in pairs: type --cost-fp 1 --cost-fn 20.")
    return {"fp": fp, "fn": fn}
