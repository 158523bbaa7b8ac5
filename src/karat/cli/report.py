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
    Maximize,
    Positive,
    Scores,
    Seed,
    SubjectTo,
    opened,
    say,
    working,
)
from karat.cli._source import count_panel

Output = Annotated[
    Path, typer.Option("--output", "-o", help="The HTML file to be written.")
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
    source, chosen = opened(
        file,
        label=label,
        scores=score or [],
        positive=positive,
        count=count,
        several=True,
    )
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
