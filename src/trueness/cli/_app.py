"""Which commands are there? Each is loaded when it is asked for."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib import import_module
from pkgutil import get_data
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from trueness._core.progress import stopped_by
from trueness.cli import _signals

_NAMES = (
    "report app look evaluate threshold compare readers calibrate combine apply nogold "
    "judge evals sites leaves plan check watch sql demo"
)
_MODULES = "check", "compare", "evals", "evaluate", "judge", "plan", "report", "sites"
# a command with the first line of its documentation, or a group with its help
_COMMAND = re.compile(
    r'^@command.*?^def (\w+)_command\(.*?^    """(.+?)$|'
    r'^(\w+)_command = typer.Typer\(\s*help="(.+?)"',
    re.MULTILINE | re.DOTALL,
)


def _commands() -> dict[str, tuple[str, str]]:
    """Read the module and the question of each command, without loading it."""
    found = {}
    for module in _MODULES:
        text = (get_data(__package__, f"{module}.py") or b"").decode()
        for *one, group, its in _COMMAND.findall(text):
            name, question = one if one[0] else (group, its)
            found[name] = module, question
    return {name: found[name] for name in _NAMES.split()}


_FOUND = _commands()
COMMANDS = {name: question for name, (_, question) in _FOUND.items()}
CODES = (
    "Exit codes: 0 done; 1 the output could not be written or was closed by its "
    "reader; 2 wrong input; 3 too few cases, or no threshold meets the constraints; "
    "4 a requirement fails, or an alarm is raised; 5 none fails, but one cannot be "
    "decided yet; 130 interrupted; 143 terminated."
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
    module = import_module(f"trueness.cli.{_FOUND[name][0]}")
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


def main() -> None:
    """Run the command line."""
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 - until the end
    if sys.stdout is None:
        sys.stderr.write("Error: standard output is closed.\n")
        raise SystemExit(1)
    _signals.listen()
    try:
        with stopped_by(_signals.STOP_REQUEST):
            app()
    except BaseException as error:
        if not _signals.was_asked_to_end(error):
            raise
        _signals.leave(error)
