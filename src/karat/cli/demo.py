"""What does Karat do, in one minute, on data that it brings along?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from karat.cli._shell import Debug, say
from karat.cli.evaluate import evaluate
from karat.cli.report import report

SAMPLE = "sample:west_nile"


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", "-o", help="Where the files go.")
    ] = Path("demo_output"),
    debug: Debug = False,
) -> None:
    """Evaluate the sample data, say what was found and write a report.

    Example: karat demo
    """
    folder.mkdir(parents=True, exist_ok=True)
    evaluate(SAMPLE, label="virus")
    report(SAMPLE, label="virus", output=folder / "report.html")
    say(f"Open {folder / 'report.html'} in a browser.")
