"""What do I send to my boss?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from karat._doors import door
from karat.cli._shell import (
    Count,
    Debug,
    File,
    Label,
    Level,
    Positive,
    Scores,
    Seed,
    say,
    took,
    working,
)
from karat.cli._source import choose, count_panel, open_source

Output = Annotated[
    Path, typer.Option("--output", "-o", help="The HTML file to be written.")
]
Maximize = Annotated[
    str | None, typer.Option(help='What the cut is to maximise, such as "f1".')
]
SubjectTo = Annotated[
    list[str] | None,
    typer.Option(help='What the cut must keep, such as "recall >= 0.9"; repeatable.'),
]


def report(
    file: File,
    label: Label = None,
    score: Scores = None,
    output: Output = Path("report.html"),
    positive: Positive = None,
    count: Count = None,
    maximize: Maximize = None,
    subject_to: SubjectTo = None,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
    level: Level = 0.95,
    seed: Seed = 0,
    debug: Debug = False,
) -> None:
    """Write a report: one HTML file that works offline, to be sent to anyone.

    Example: karat report sample:west_nile --label virus -o report.html
    """
    source = open_source(file)
    chosen = choose(
        source,
        label=label,
        scores=score or [],
        positive=positive,
        count=count,
        several=True,
    )
    took(chosen)
    with working("Counting"):
        panel = count_panel(source, chosen)
    with working("Writing the report"):
        door("report").write(
            panel,
            output,
            title=title,
            source=source.name,
            maximize=maximize,
            subject_to=subject_to or (),
            level=level,
            rng=seed,
        )
    say(f"Report written to {output}.")
