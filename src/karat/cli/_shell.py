"""How does a command speak, and how does it end?

A command makes an :class:`Answer`: plain data for ``--json``, sentences and tables for
people, a chart for ``--plot``. Errors are the library's own sentences on standard
error, without a traceback, and an exit code:

    0    done
    1    the output could not be written, or the reader went away
    2    wrong input: a file, a column, an option
    3    the input is right, but too few cases, or no threshold meets the constraints
    130  interrupted
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from karat._checks import Infeasible, InputError, NotEnoughCases
from karat._doors import door
from karat._progress import progress
from karat._records import Estimate, json_value, shown
from karat.cli._source import Chosen, Source, choose, open_source

EXIT = {"written": 1, "input": 2, "cases": 3, "interrupted": 130}

File = Annotated[
    str,
    typer.Argument(
        help="CSV, Parquet or JSON lines (also packed, also 'many/*.parquet'), "
        "- for CSV on standard input, or sample:west_nile.",
        show_default=False,
    ),
]
Label = Annotated[
    str | None, typer.Option("--label", "-l", help="Column with the labels.")
]
Score = Annotated[
    str | None,
    typer.Option("--score", "-s", help="Column with the scores; higher is positive."),
]
Scores = Annotated[
    list[str] | None,
    typer.Option("--score", "-s", help="Column with scores; repeat for several."),
]
Positive = Annotated[
    str | None,
    typer.Option(help="Label that counts as positive (not needed for 0/1)."),
]
Count = Annotated[
    str | None, typer.Option(help="Column that says how many cases a row stands for.")
]
By = Annotated[str | None, typer.Option(help="Column with groups.")]
Maximize = Annotated[
    str | None,
    typer.Option(help='What to maximise: "f1", "0.7*accuracy + 0.3*recall", ...'),
]
Minimize = Annotated[
    str | None, typer.Option(help='What to minimise: "cost(fp=1, fn=20)", ...')
]
SubjectTo = Annotated[
    list[str] | None,
    typer.Option(help='What must hold: "recall >= 0.9", "flagged <= 500"; repeat.'),
]
Prevalence = Annotated[
    float | None,
    typer.Option(help="Share of positives in use, if not that of the file."),
]
Level = Annotated[float, typer.Option(help="Confidence level of the intervals.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Json = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
Plot = Annotated[
    Path | None,
    typer.Option(help="Draw the figure to this .svg, .png, .pdf or .html."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the trace of an error.")]


@final
@dataclass(frozen=True)
class Answer:
    """What a command found: ``result`` for programs, ``parts`` for people."""

    command: str
    result: dict[str, Any]
    parts: list[str | Table]
    chart: Callable[[], Any] | None = None
    about: dict[str, Any] = field(default_factory=dict)


def show(answer: Answer, as_json: bool = False, plot: Path | None = None) -> None:
    """Draw the figure, then write the answer to standard output."""
    if plot is not None:
        _draw(answer, plot)
    if as_json:
        sys.stdout.write(json.dumps(envelope(answer), indent=2) + "\n")
    else:
        console = _console(sys.stdout)
        for part in answer.parts:
            text = shown(part, 2000) if isinstance(part, str) else part
            console.print(text, markup=False, highlight=False, soft_wrap=False)
    sys.stdout.flush()


def envelope(answer: Answer) -> dict[str, Any]:
    """Give what ``--json`` writes; its keys are documented and stable."""
    from karat import __version__

    head = {"schema": f"karat/{answer.command}/1", "karat": __version__}
    body: dict[str, Any] = json_value(answer.about | {"result": answer.result})
    return head | body


def _draw(answer: Answer, plot: Path) -> None:
    if answer.chart is None:
        raise InputError(f"karat {answer.command} has no figure; leave out --plot.")
    with progress("Drawing"):
        door("plots").save(answer.chart(), plot)
    say(f"Figure written to {plot}.")


def about(source: Source, chosen: Chosen, counted: Any) -> dict[str, Any]:
    """Say which file, which columns and how many cases an answer is about."""
    return {
        "file": source.name,
        "columns": {
            "label": chosen.label,
            "scores": list(chosen.scores),
            "count": chosen.count,
            "by": chosen.by,
        },
        "positive": chosen.positive,
        "cases": {
            "n": counted.n,
            "negative": counted.n_neg,
            "positive": counted.n_pos,
            "unknown": counted.n_unknown,
            "prevalence": counted.prevalence,
        },
    }


def cases_sentence(counted: Any) -> str:
    """Say what was counted."""
    text = f"{counted.n:,} cases: {counted.n_pos:,} positive"
    labelled = counted.n_pos + counted.n_neg
    if labelled:
        text += f" ({100 * counted.prevalence:.3g}% of those with a label)"
    text += f", {counted.n_neg:,} negative"
    if counted.n_unknown:
        text += f", {counted.n_unknown:,} without a label"
    return text + "."


def say(text: str) -> None:
    """Tell the person at the terminal something that is not part of the answer."""
    lines = (shown(line, 2000) for line in text.splitlines())
    _console(sys.stderr).print(Text("\n".join(lines)), soft_wrap=True)


def opened(file: str, ordered: bool = False, **wanted: Any) -> tuple[Source, Chosen]:
    """Open a file and choose its columns; say which ones nobody had named."""
    source = open_source(file, ordered)
    chosen = choose(source, **wanted)
    if chosen.took:
        say(f"Taken without being named: {' and '.join(chosen.took)}.")
    return source, chosen


def table(title: str, head: list[str], rows: list[list[Any]]) -> Table:
    """Lay out a table: the first column is a name, the others are numbers."""
    grid = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for k, name in enumerate(head):
        grid.add_column(Text(shown(name)), justify="left" if k == 0 else "right")
    for row in rows:
        grid.add_row(*(Text(cell(v)) for v in row))
    return grid


def cell(value: Any) -> str:
    """Write one value of a table."""
    if isinstance(value, Estimate):
        return f"{value.value:.4g} ({value.low:.4g} to {value.high:.4g})"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return shown(value)


def sys_console() -> Console:
    """Give the console of standard output."""
    return _console(sys.stdout)


def _console(stream: Any) -> Console:
    # off a terminal nothing is cut: a table may be as wide as it needs
    width = None if stream.isatty() else 160
    return Console(file=stream, width=width, highlight=False, emoji=False, markup=False)


def guarded(function: Callable[..., None]) -> Callable[..., None]:
    """End a command as the head of this module says."""

    @functools.wraps(function)
    def command(*args: Any, **options: Any) -> None:
        try:
            function(*args, **options)
        except (InputError, NotEnoughCases, OSError, KeyboardInterrupt) as err:
            if options.get("debug") and not isinstance(err, BrokenPipeError):
                raise
            raise typer.Exit(_end(err)) from None

    return command


def _end(err: BaseException) -> int:
    if isinstance(err, BrokenPipeError):
        # Python would complain again while it closes standard output
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT["written"]
    if isinstance(err, KeyboardInterrupt):
        say("Interrupted; no file was left half-written.")
        return EXIT["interrupted"]
    if isinstance(err, OSError):
        where = f" {err.filename}" if err.filename else ""
        say(f"Error: cannot write or read{where}: {err.strerror or err}.")
        return EXIT["written"]
    say(f"Error: {err}")
    impossible = isinstance(err, (NotEnoughCases, Infeasible))
    return EXIT["cases" if impossible else "input"]
