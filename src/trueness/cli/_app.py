"""Which commands are there? Each is loaded when it is typed.

To add a command: write a function ``NAME_command`` in a module of this package (its
parameters are its options, see ``options.py``), and add a row to ``COMMANDS``. The page
"Architecture" of the documentation shows one from beginning to end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, final

import typer
import typer.main
from typer.core import TyperCommand

from trueness._core.progress import stopped_by
from trueness._core.synonyms import is_absent
from trueness.cli import _signals
from trueness.cli._help import ShellGroup
from trueness.cli._synonyms import command_for, nearest_command

EXIT_CODES = (
    "Exit codes: 0 success; 1 the output could not be written; 2 wrong input; 3 too "
    "few cases, or no threshold meets the constraints; 4 a requirement fails, a "
    "declaration does not follow from its counts, or an alarm is raised; 5 no "
    "requirement fails, but at least one is undecided; 130 interrupted; 143 "
    "terminated."
)

# panels of ``trueness --help``
START = "Start here"
CLASSIFIER = "One classifier"
CLASSIFIERS = "Several classifiers"
NO_TRUTH = "Tests and judges without a gold standard"
SYSTEMS = "Systems, sites and trees"
PRACTICE = "Plans, checks and monitoring"


@final
@dataclass(frozen=True)
class CommandEntry:
    """A command: its module in this package, its line in the list, and its panel."""

    module: str
    help: str
    panel: str


COMMANDS: Mapping[str, CommandEntry] = {
    "report": CommandEntry(
        module="report",
        help=(
            "Write a report: one HTML file that works offline and can be sent to "
            "anyone."
        ),
        panel=START,
    ),
    "app": CommandEntry(
        module="workbench",
        help="Explore a file in the browser: choose columns, move the threshold, "
        "save a report.",
        panel=START,
    ),
    "look": CommandEntry(
        module="look",
        help="What does this file hold, and which analyses fit it? No data leave "
        "your machine.",
        panel=START,
    ),
    "demo": CommandEntry(
        module="demo",
        help="Evaluate the sample data, summarise the results and write a report.",
        panel=START,
    ),
    "evaluate": CommandEntry(
        module="evaluate",
        help="How good is each score? AUC, average precision and Brier score, with "
        "intervals.",
        panel=CLASSIFIER,
    ),
    "threshold": CommandEntry(
        module="threshold",
        help=(
            "Where should the threshold be? Finds the exact optimum under constraints."
        ),
        panel=CLASSIFIER,
    ),
    "calibrate": CommandEntry(
        module="calibrate",
        help="What does a score mean as a probability? Fits a map and applies it.",
        panel=CLASSIFIER,
    ),
    "apply": CommandEntry(
        module="apply",
        help="Score new rows with a map that calibrate or combine saved.",
        panel=CLASSIFIER,
    ),
    "fermi": CommandEntry(
        module="fermi",
        help="How probable is a positive at each rank, given only the AUC? "
        "Fermi-Dirac, FiDEL.",
        panel=CLASSIFIER,
    ),
    "scorecard": CommandEntry(
        module="scorecard",
        help="How good is the scorecard? Gini, KS, decile table, PSI, with intervals.",
        panel=CLASSIFIER,
    ),
    "curve": CommandEntry(
        module="scorecard",
        help="What is gained by acting on it? Net benefit, or risk and coverage.",
        panel=CLASSIFIER,
    ),
    "sql": CommandEntry(
        module="sql",
        help="Write a query that counts a table in its database; every command reads "
        "it.",
        panel=CLASSIFIER,
    ),
    "compare": CommandEntry(
        module="compare",
        help="Which score is better, and is it better everywhere? Paired tests, "
        "dominance.",
        panel=CLASSIFIERS,
    ),
    "combine": CommandEntry(
        module="compare",
        help="Would they be better together? Compares ways to combine scores, applies "
        "one.",
        panel=CLASSIFIERS,
    ),
    "readers": CommandEntry(
        module="readers",
        help="Do readers do better with one treatment? Multi-reader multi-case "
        "studies.",
        panel=CLASSIFIERS,
    ),
    "nogold": CommandEntry(
        module="nogold",
        help="How good is each test, and how common is the condition, without a gold "
        "standard?",
        panel=NO_TRUTH,
    ),
    "label": CommandEntry(
        module="label",
        help="Which cases should be labelled next? Draws a sample stratified by score.",
        panel=NO_TRUTH,
    ),
    "agree": CommandEntry(
        module="agree",
        help="How far do raters agree? Kappa (Cohen, weighted, Fleiss, Conger), AC1, "
        "alpha.",
        panel=NO_TRUTH,
    ),
    "judge": CommandEntry(
        module="judge",
        help="What is the true pass rate if judges make errors? Reads tables and logs.",
        panel=NO_TRUTH,
    ),
    "evals": CommandEntry(
        module="evals",
        help="How often do systems pass? pass@k, paired tests, leaderboards, from "
        "logs.",
        panel=SYSTEMS,
    ),
    "sites": CommandEntry(
        module="sites",
        help="Does it hold at every site, and at the next? Meta-analysis of accuracy.",
        panel=SYSTEMS,
    ),
    "leaves": CommandEntry(
        module="leaves",
        help="Can this leaf be trusted? Confidence and utility of every leaf of a "
        "tree.",
        panel=SYSTEMS,
    ),
    "plan": CommandEntry(
        module="plan",
        help="How many cases do I need? Sample sizes.",
        panel=PRACTICE,
    ),
    "check": CommandEntry(
        module="check",
        help="Do these predictions meet the requirements? For CI; allows for sampling "
        "error.",
        panel=PRACTICE,
    ),
    "declare": CommandEntry(
        module="declare",
        help="Declare how good a score is, with counts from which anyone can check it.",
        panel=PRACTICE,
    ),
    "verify": CommandEntry(
        module="declare",
        help="Does each number of a declaration follow from its counts? For CI.",
        panel=PRACTICE,
    ),
    "watch": CommandEntry(
        module="watch",
        help="Is it still good? Monitors new batches for drift, at any number of "
        "looks.",
        panel=PRACTICE,
    ),
}


class LazyGroup(ShellGroup):
    """A group that lists the commands of the table and loads the one that is typed."""

    def __init__(self, **settings: Any) -> None:
        listed = {
            name: TyperCommand(name, help=entry.help, rich_help_panel=entry.panel)
            for name, entry in COMMANDS.items()
        }
        super().__init__(**settings | {"commands": listed})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load a command; for another name say which of the table to type."""
        word = args[0] if args else ""
        if word not in COMMANDS and not ctx.resilient_parsing:
            _name_command_for(word, ctx)

        name, _, rest = super().resolve_command(ctx, args)
        command = load(name) if name else None
        return name, command, rest


def _name_command_for(typed_word: str, ctx: Any) -> None:
    """Raise the error of a word that is no command, unless it is a misspelt one."""
    no_command = f"There is no command '{typed_word}'."
    if Path(typed_word).exists():
        ctx.fail(f"{no_command} It is a file; type: trueness look {quote(typed_word)}")

    if is_absent(typed_word):
        nearest = nearest_command(typed_word)
        no_command += " It is not part of Trueness"
        if nearest is not None:
            ctx.fail(f"{no_command}; the nearest is: {nearest}")
        ctx.fail(f"{no_command}. For the list of commands type: trueness --help")

    command = command_for(typed_word)
    if command is not None:
        ctx.fail(f"{no_command} Type: {command}")

    # Typer names a command that is written nearly so
    if (
        typed_word
        and not typed_word.startswith("-")
        and not get_close_matches(typed_word, COMMANDS)
    ):
        ctx.fail(f"{no_command} For the list of commands type: trueness --help")


@cache
def load(name: str) -> Any:
    """Make the command of this name, or the group of commands, from its module."""
    module = import_module(f"trueness.cli.{COMMANDS[name].module}")
    function_or_group = getattr(module, f"{name}_command")
    if isinstance(function_or_group, typer.Typer):
        return typer.main.get_command(function_or_group)

    shell_command = import_module("trueness.cli._command").ShellCommand
    single = typer.Typer(add_completion=False, rich_markup_mode="rich")
    single.command(name=name, cls=shell_command)(function_or_group)

    return typer.main.get_command(single)


app = typer.Typer(
    name="trueness",
    cls=LazyGroup,
    help="Measure, calibrate, threshold, compare and combine binary classifiers, with "
    "or without a gold standard.",
    epilog=f"Try: trueness demo\n\n{EXIT_CODES}",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from trueness import __version__

        typer.echo(f"trueness {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Show the version.",
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 - until the end

    if sys.stdout is None:
        sys.stderr.write("Error: standard output is closed.\n")
        raise SystemExit(1)

    _signals.handle_signals()

    try:
        with stopped_by(_signals.STOP_REQUEST):
            app()
    except BaseException as error:
        if not _signals.was_asked_to_end(error):
            raise
        _signals.exit_process(error)
