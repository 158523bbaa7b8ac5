"""What can be asked from a shell? The door for Typer and Rich.

One module a group of commands; ``_source`` opens files, ``_shell`` speaks.
"""

from __future__ import annotations

from typing import Annotated

import typer

from karat.cli._shell import guarded
from karat.cli.calibrate import calibrate
from karat.cli.combine import combine
from karat.cli.compare import compare
from karat.cli.demo import demo
from karat.cli.evaluate import evaluate
from karat.cli.leaves import leaves
from karat.cli.nogold import nogold
from karat.cli.plan import plan
from karat.cli.report import report
from karat.cli.threshold import threshold

app = typer.Typer(
    name="karat",
    help="Measure, calibrate, threshold, compare and combine binary classifiers, with "
    "or without a gold standard.",
    epilog="Try: karat demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from karat import __version__

        typer.echo(f"karat {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    pass


COMMANDS = (
    report,
    evaluate,
    threshold,
    compare,
    calibrate,
    combine,
    nogold,
    leaves,
    demo,
)
for _command in COMMANDS:
    app.command()(guarded(_command))
app.add_typer(plan, name="plan")


def main() -> None:
    """Run the command line."""
    app()
