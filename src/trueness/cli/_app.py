"""Which commands are there? Each is loaded when it is asked for."""

from __future__ import annotations

import os
import signal
import sys
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

# a command is the name of its module and of the function in it; the question is the
# first line of its documentation (a test compares them)
COMMANDS = {
    "report": "Write a report: one HTML file that works offline, to be sent to anyone.",
    "app": "Look around in the browser: choose columns, move the threshold, take the "
    "report.",
    "look": "What is in this file, and what can be asked of it? Nothing is sent "
    "anywhere.",
    "evaluate": "How good is each score? AUC, average precision and Brier score, with "
    "intervals.",
    "threshold": "Where should the threshold be? The exact best one under constraints.",
    "compare": "Which score is better, and is it better everywhere? Paired tests, "
    "dominance.",
    "readers": "Do readers do better with one treatment? Multi-reader multi-case "
    "studies.",
    "calibrate": "What does a score mean as a probability? Fits a map and applies it.",
    "combine": "Would they be better together? Compares ways to combine scores, "
    "applies one.",
    "apply": "What are the scores of new rows? Applies a map saved by calibrate or "
    "combine.",
    "nogold": "How good is each test, and how common is the condition, if the truth is "
    "unknown?",
    "judge": "What is the true pass rate if judges make errors? Reads tables and logs.",
    "evals": "How often do systems pass? pass@k, paired tests, leaderboards, from "
    "logs.",
    "leaves": "Can this leaf be trusted? Confidence and utility of every leaf of a "
    "tree.",
    "plan": "How many cases do I need? Sample sizes.",
    "check": "Do these predictions meet the requirements? For CI; allows for sampling "
    "error.",
    "watch": "Is it still good? Monitors new batches; finds a change whenever it "
    "begins.",
    "sql": "Which query counts a table where it is? Its result is read by every "
    "command.",
    "demo": "Evaluate the sample data, say what was found and write a report.",
}
# commands that share a module
MODULES = {
    **dict.fromkeys(("look", "sql", "threshold"), "evaluate"),
    **dict.fromkeys(("combine", "calibrate", "apply"), "compare"),
    **dict.fromkeys(("demo", "app"), "report"),
    **{"nogold": "judge", "readers": "evals", "watch": "check", "leaves": "plan"},
}
CODES = (
    "Exit codes: 0 done; 1 the output could not be written or was closed by its "
    "reader; 2 wrong input; 3 too few cases, or no threshold meets the constraints; "
    "4 a requirement fails, or an alarm is raised; 5 none fails, but one cannot be "
    "decided yet; 130 interrupted."
)


class OnDemand(TyperGroup):
    """A group that lists names and questions, and loads the one that is asked for."""

    def __init__(self, **given: Any) -> None:
        listed = {n: TyperCommand(n, help=q) for n, q in COMMANDS.items()}
        super().__init__(**given | {"commands": listed})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load a command; Typer suggests one of those it knows for a misspelt name."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, name and load(name), rest


WORDS = "trueness.words"  # the words of a line, in the context of its command


class Careful(TyperCommand):
    """A command that refuses what was typed twice, rather than take the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a line; an option that ends at once may look at them."""
        ctx.meta[WORDS] = tuple(args)
        options = {o: p for p in self.params for o in p.opts if o.startswith("-")}
        args = _each_with_its_option(args, options)
        rest: list[str] = super().parse_args(ctx, list(args))
        words = (word.partition("=")[0] for word in args)
        typed = [options[w] for w in words if w in options]
        for p in typed:
            often = getattr(p, "multiple", False) or getattr(p, "is_flag", False)
            if not often and typed.count(p) > 1:
                ctx.fail(
                    f"{p.opts[0]} may be given once; found it {typed.count(p)} times. "
                    "Run the command once for each."
                )
        return rest


def _each_with_its_option(args: list[str], options: dict[str, Any]) -> list[str]:
    """Read ``--pass-at 1 5`` as ``--pass-at 1 --pass-at 5``."""
    made: list[str] = []
    last = ""
    for word in args:
        if last and word.isdecimal() and made[-1] != last:
            made.append(last)
        made.append(word)
        if not word.isdecimal():
            p: Any = options.get(word)
            several = getattr(p, "multiple", False) and p.metavar == "NUMBER"
            last = word if several else ""
    return made


@cache
def load(name: str) -> Any:
    """Make the command of this name from its module."""
    module = import_module(f"trueness.cli.{MODULES.get(name, name)}")
    found = getattr(module, f"{name}_command")
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    one = typer.Typer(add_completion=False, rich_markup_mode="rich")
    one.command(name=name, cls=Careful)(found)
    return typer.main.get_command(one)


app = typer.Typer(
    name="trueness",
    cls=OnDemand,
    help="Measure, calibrate, threshold, compare and combine binary classifiers, with "
    "or without a gold standard.",
    epilog=f"Try: trueness demo\n\n{CODES}",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from trueness import __version__

        typer.echo(f"trueness {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    pass


def _terminated(number: int, frame: object) -> None:
    # unwinds like an interrupt, so that no temporary file stays behind
    raise SystemExit(128 + number)


def main() -> None:
    """Run the command line."""
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 - until the end
    if sys.stdout is None:
        sys.stderr.write("Error: standard output is closed.\n")
        raise SystemExit(1)
    signal.signal(signal.SIGTERM, _terminated)
    app()
