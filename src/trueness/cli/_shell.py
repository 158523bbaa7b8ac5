"""How does a command speak, and how does it end?

A command makes a :class:`CommandAnswer` of findings: their numbers for ``--json``,
their sentences and tables for people, a chart for ``--plot``. Errors are the library's
own sentences on standard error, without a traceback, and an exit code, which
``trueness --help`` explains.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, final

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

import trueness
from trueness._core import interrupts
from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.advice import shell_advice
from trueness._core.checks.errors import (
    DoubtfulAssumptionWarning,
    Infeasible,
    InputError,
    NotConvergedWarning,
    NotEnoughCases,
    OptimisticWarning,
)
from trueness._core.files import is_device, replacing
from trueness._core.imports import is_of_library, required
from trueness._core.progress import Stopped, progress, silent
from trueness._core.records import json_value, shown
from trueness.cli import _signals
from trueness.cli._columns import FileData
from trueness.cli._source import Source, is_local
from trueness.counts.design import PLAIN
from trueness.counts.values import Panel, Tally
from trueness.data.files import files_of_place
from trueness.findings.notes import SHELL, Note
from trueness.findings.notes import say as write_out
from trueness.findings.records import MAX_NAME_LETTERS, Finding, Page, Table

if TYPE_CHECKING:
    import pyarrow
    from rich.console import JustifyMethod

    from trueness.calibration.maps import Map
    from trueness.threshold.rule import Rule
    from trueness.trees.leaves import Leaves

OWN_WARNINGS = (DoubtfulAssumptionWarning, NotConvergedWarning, OptimisticWarning)
T = TypeVar("T")
R = TypeVar("R")
_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
_OPTIONS: ContextVar[frozenset[str]] = ContextVar("options", default=frozenset())

DRAWN_BY_MATPLOTLIB = (".png", ".pdf")
FIGURE_FORMATS = (".svg", ".html", *DRAWN_BY_MATPLOTLIB)
ROW_FORMATS = (".parquet", ".csv")
OUT_OF_MEMORY = (
    "There is not enough memory for this analysis. Name fewer columns, or use fewer "
    "rows."
)
COLUMN_GAP = 2  # characters between the columns of a table


@final
@dataclass(frozen=True)
class CommandAnswer:
    """What a command found: ``result`` for programs, ``parts`` for people."""

    result: dict[str, Any]
    parts: list[str | Table]
    chart: Callable[[], Any] | None = None
    about: dict[str, Any] = field(default_factory=dict)  # file, columns and cases
    code: int = 0  # exit code when all went well
    command: str = ""  # whose answer it is


def command_answer(
    *findings: Finding,
    chart: Callable[[], Any] | None = None,
    about: dict[str, Any] | None = None,
    code: int = 0,
    **numbers: object,
) -> CommandAnswer:
    """Answer of a command: the numbers, sentences and tables of its findings.

    ``about`` says which file, columns and cases they are about (:func:`about`);
    ``more`` are numbers that belong to the command itself.
    """
    result = dict(numbers)

    parts: list[str | Table] = []
    for finding in findings:
        result |= finding.numbers
        parts += shell_sentences(finding.answer)
        parts += [table for table in finding.tables if table.brief and table.rows]
        parts += shell_sentences(finding.notes)

    return CommandAnswer(
        result=result, parts=parts, chart=chart, about=about or {}, code=code
    )


def complete_answer(
    answer: CommandAnswer, command: str, cleaning_remarks: Sequence[str] = ()
) -> CommandAnswer:
    """Add the name of the command, and what was cleaned in the file."""
    answer = replace(answer, command=command)
    if not cleaning_remarks:
        return answer

    about = answer.about | {"cleaned": list(cleaning_remarks)}
    # a report says it itself, and what goes to a device has no other parts
    is_said = any("Cleaned: " in str(part) for part in answer.parts)
    if is_said or not answer.parts:
        return replace(answer, about=about)

    line = f"Cleaned: {' '.join(cleaning_remarks)}"
    return replace(answer, parts=[*answer.parts, line], about=about)


def shell_sentences(notes: Sequence[Note]) -> list[str]:
    """Say notes in the words of the command line."""
    options = _OPTIONS.get() or None
    return [write_out(note, SHELL, options) for note in notes]


def show(
    answer: CommandAnswer, as_json: bool = False, plot: Path | None = None
) -> None:
    """Draw the figure, then write the answer to standard output."""
    if plot is not None:
        if answer.chart is None:
            raise InputError(
                f"trueness {answer.command} draws no figure. Leave out --plot.",
                option="plot",
            )
        with progress("Drawing", unit=""):
            trueness.plots.save(answer.chart(), plot)
        say(f"Figure written to {plot}.")

    if as_json:
        text = json.dumps(envelope(answer), indent=2, allow_nan=False)
        sys.stdout.write(text + "\n")
    else:
        follows_table = False
        for number, part in enumerate(answer.parts):
            # a table stands apart from what is around it
            is_table = isinstance(part, Table)
            if number > 0 and (is_table or follows_table):
                _print(sys.stdout, "")
            _print(sys.stdout, part)
            follows_table = is_table

    sys.stdout.flush()


def envelope(answer: CommandAnswer) -> dict[str, Any]:
    """Return what ``--json`` writes; its keys are documented and stable."""
    from trueness import __version__

    head = {"schema": f"trueness/{answer.command}/1", "trueness": __version__}
    sentences = [part for part in answer.parts if isinstance(part, str) and part]
    body = json_value(answer.about | {"sentences": sentences, "result": answer.result})
    return {**head, **body}


def about(data: FileData, counts: Tally | Panel | Leaves) -> dict[str, Any]:
    """Say which file, which columns and how many cases an answer is about."""
    request = data.request
    columns: dict[str, Any] = {"label": request.label, "scores": list(request.scores)}
    for role in ("count", "weight", "cluster", "by"):
        columns[role] = getattr(request, role)

    content = about_cases(
        data.source.name,
        columns,
        counts.n,
        counts.neg.sum().item(),
        counts.pos.sum().item(),
        counts.unknown.sum().item(),
    )
    # leaves have no design
    content["design"] = json_value(getattr(counts, "design", PLAIN))
    content["positive"] = request.positive

    return content


def about_cases(
    file: str, columns: Mapping[str, Any], n: int, neg: int, pos: int, unknown: int
) -> dict[str, Any]:
    """Say which file, which columns and how many cases, as ``--json`` writes it."""
    cases = {"n": n, "negative": neg, "positive": pos, "unknown": unknown}
    head = {"file": file, "columns": columns, "design": asdict(PLAIN), "positive": None}
    return head | {"cases": cases}


def say(text: str) -> None:
    """Tell the person at the terminal something that is not part of the answer."""
    if not _QUIET.get():
        _print(sys.stderr, text)


def has_option(name: str) -> bool:
    """Return whether the command that runs has an option of this name."""
    return f"--{name}" in _OPTIONS.get()


@contextmanager
def printed_warnings() -> Iterator[list[CommandAnswer]]:
    """Print the warnings of the library that no answer has in its notes.

    The caller puts its answers into the list. Warnings of other libraries stay.
    """
    answers: list[CommandAnswer] = []
    with warnings.catch_warnings(record=True) as caught_warnings:
        for kind in OWN_WARNINGS:
            warnings.simplefilter("always", kind)
        yield answers

    sentences = []
    for answer in answers:
        sentences += [part for part in answer.parts if isinstance(part, str)]

    own_warnings = [
        str(warning.message) for warning in caught_warnings if _is_own_warning(warning)
    ]
    for text in dict.fromkeys(own_warnings):
        if not any(text in sentence for sentence in sentences):
            say(f"Warning: {text}")

    for warning in caught_warnings:
        if not _is_own_warning(warning):
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def _is_own_warning(warning: warnings.WarningMessage) -> bool:
    """Return whether a warning is one of this library."""
    return issubclass(warning.category, OWN_WARNINGS)


def _print(stream: TextIO, part: str | Table) -> None:
    """Print sentences, or a table in as many pieces as fit the width."""
    console = _console(stream)

    if isinstance(part, Table):
        for number, piece in enumerate(_grids_that_fit(part, console.width)):
            if number > 0:
                console.print()
            console.print(piece)
        return

    lines = [shown(line, 2000) for line in part.splitlines()]
    text = Text("\n".join(lines))
    # a terminal wraps between words; in a pipe or a file a sentence stays one line
    console.print(text, soft_wrap=not stream.isatty())


def answer_each_group(
    groups: Mapping[Any, T], analysis: Callable[[T], R]
) -> dict[str, R | None]:
    """Answer for each group; where its cases are too few say so, and give None."""
    answers: dict[str, R | None] = {}
    for name, cases in groups.items():
        try:
            answers[str(name)] = analysis(cases)
        except (NotEnoughCases, Infeasible) as err:
            say(f"There is no answer for group {str(name)!r}: {err.message}")
            answers[str(name)] = None

    return answers


def _head(grid: Table) -> list[str]:
    """Return the names of the columns, long ones cut."""
    return [shown(name, MAX_NAME_LETTERS) for name in grid.head]


def _grids_that_fit(grid: Table, width: int) -> list[Grid]:
    """Return a table in parts that fit, each with the names at its left."""
    widths = []
    for cells in zip(_head(grid), *grid.texts, strict=True):
        widths.append(COLUMN_GAP + max(map(cell_len, cells)))

    # the names are the columns of words before the first one of numbers
    number_of_names = 0
    while number_of_names < len(widths) and grid.wordy[number_of_names]:
        number_of_names += 1

    names = list(range(number_of_names))
    width_of_names = sum(widths[:number_of_names])
    columns_of_grids: list[list[int]] = [[]]
    width_used = width_of_names
    for column in range(number_of_names, len(widths)):
        # the last column needs no gap behind it
        if columns_of_grids[-1] and width_used + widths[column] - COLUMN_GAP > width:
            columns_of_grids.append([])
            width_used = width_of_names
        columns_of_grids[-1].append(column)
        width_used += widths[column]

    return [
        _grid_of_columns(grid, names, columns, widths, width)
        for columns in columns_of_grids
    ]


def _grid_of_columns(
    grid: Table,
    columns_of_names: list[int],
    columns_of_numbers: list[int],
    widths: list[int],
    width: int,
) -> Grid:
    """Return some columns as a grid; where room is short, names are cut."""
    room_for_names = width - sum(widths[column] for column in columns_of_numbers)
    if columns_of_numbers:
        room_for_names += COLUMN_GAP
    names_are_cut = sum(widths[column] for column in columns_of_names) > room_for_names

    rich_grid = Grid(box=None, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0))
    head = _head(grid)
    for column in (*columns_of_names, *columns_of_numbers):
        alignment: JustifyMethod = "left" if grid.wordy[column] else "right"
        rich_grid.add_column(Text(head[column]), justify=alignment, no_wrap=True)
        if column in columns_of_names and names_are_cut:
            # four letters are the least that tells names apart
            room_for_name = room_for_names // len(columns_of_names) - COLUMN_GAP
            rich_grid.columns[-1].max_width = max(4, room_for_name)

    for row in grid.texts:
        rich_grid.add_row(
            *(Text(row[column]) for column in (*columns_of_names, *columns_of_numbers))
        )

    return rich_grid


def _console(stream: TextIO) -> Console:
    # off a terminal nothing is cut: a table may be as wide as it needs
    width = None if stream.isatty() else 100_000
    return Console(file=stream, width=width, highlight=False, emoji=False, markup=False)


@contextmanager
def errors_as_exit_codes(
    debug: bool, quiet: bool, options: Iterable[str]
) -> Iterator[None]:
    """End a command with a sentence and an exit code, as the help says."""
    interrupts.raise_when_interrupted()
    quiet_token = _QUIET.set(quiet)
    options_token = _OPTIONS.set(
        frozenset(f"--{option.replace('_', '-')}" for option in options)
    )

    try:
        with silent() if quiet else nullcontext():
            yield
    except (InputError, NotEnoughCases, OSError, KeyboardInterrupt) as err:
        # a reader that closed the pipe, such as head, is no error even when debugging
        if debug and not isinstance(err, BrokenPipeError):
            raise
        raise typer.Exit(_print_why_it_ends(err)) from None
    except (Exception, Stopped) as err:
        # errors that no input explains keep their traceback, but for these two: memory
        # that ran out, and an engine that Ctrl-C or SIGTERM interrupted
        if not debug and _is_out_of_memory(err):
            _print(sys.stderr, f"Error: {OUT_OF_MEMORY}")
            raise typer.Exit(2) from None
        if debug or not _signals.was_asked_to_end(err):
            raise
        raise typer.Exit(_print_why_it_ends(KeyboardInterrupt())) from None
    finally:
        _QUIET.reset(quiet_token)
        _OPTIONS.reset(options_token)


# what a command calls otherwise than Python
OPTION_OF_ARGUMENT = {
    "path": "--output",
    "replicates": "--draws",
    "rng": "--seed",
    "scores": "--score",
    "votes": "--vote",
}


def error_text(err: BaseException) -> str:
    """Message of an error, and what to type on the command line."""
    if not isinstance(err, (InputError, NotEnoughCases)):
        return str(err)
    advice = shell_advice(err, options=_OPTIONS.get() or None, names=OPTION_OF_ARGUMENT)
    return f"{err.message} {advice}".strip()


def _is_out_of_memory(err: BaseException) -> bool:
    """Return whether memory is short, that of the machine or of the engine."""
    is_of_engine = is_of_library(err, "duckdb", "OutOfMemoryException")
    return isinstance(err, MemoryError) or is_of_engine


def _print_why_it_ends(err: BaseException) -> int:
    """Print why a command ends early, and return its exit code."""
    if isinstance(err, KeyboardInterrupt):
        _print(sys.stderr, "Interrupted; no file was left half-written.")
        return _signals.exit_code()

    if isinstance(err, OSError):
        try:
            sys.stdout.flush()
        except (OSError, ValueError):
            # else Python tries again, and complains, while it closes the output
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

        reason = str(err.strerror or err).rstrip(".")
        if "cannot be" not in reason:  # else it is a sentence of ours
            place = f" {err.filename}" if err.filename else ""
            reason = f"cannot write or read{place}: {reason}"
        if not isinstance(err, BrokenPipeError):
            _print(sys.stderr, f"Error: {reason}.")

        return 1

    _print(sys.stderr, f"Error: {error_text(err)}")
    impossible = isinstance(err, (NotEnoughCases, Infeasible))
    return 3 if impossible else 2


def check_figure(plot: Path | None) -> None:
    """Raise an error before the work when a figure has no format."""
    if plot is not None:
        _options.choice(plot.suffix.lower(), FIGURE_FORMATS, "the ending of --plot")
        if plot.suffix.lower() in DRAWN_BY_MATPLOTLIB:
            required("matplotlib", "plots")


def check_targets(file: str | None, options: Mapping[str, Any]) -> None:
    """Raise an error before the work when a file cannot be written where it is wanted.

    ``file`` is the input; the options that are paths are outputs.
    """
    inputs: set[str] = set()
    if file is not None and is_local(file):
        inputs = {os.path.realpath(path) for path in files_of_place(file)}

    option_of_place: dict[str, str] = {}
    for name, path in options.items():
        if not isinstance(path, Path) or name == "folder":
            continue

        option = f"--{name}"
        place = os.path.realpath(path)
        if place in inputs:
            raise InputError(
                f"{option} {path} is the input file, which would be overwritten. "
                f"Choose another name.",
                option=name,
            )

        if place in option_of_place:
            raise InputError(
                f"{option} and {option_of_place[place]} name the same file, {path}. "
                f"Give each its own name.",
                option=name,
            )

        option_of_place[place] = option
        _check_can_be_written(path)


def _check_can_be_written(path: Path) -> None:
    """Stop at a path without a folder, at a folder, and where nobody may write."""
    folder = path.parent
    if not folder.is_dir():
        message = f"{path} cannot be written: there is no folder {folder}"
        raise OSError(errno.ENOENT, f"{message}. Make the folder first")

    if path.is_dir():
        raise OSError(errno.EISDIR, f"{path} cannot be written: it is a folder")

    # a device is written itself, other files are replaced in their folder
    place_written = path if is_device(path) else folder
    if not os.access(place_written, os.W_OK):
        message = f"{path} cannot be written: the folder {folder} is read-only"
        raise OSError(errno.EACCES, message)


def check_rows(output: Path | None, source: Source, column: str) -> None:
    """Stop before the work when the rows cannot be written with this column."""
    if output is None:
        return

    if output.suffix.lower() == ".json":
        raise InputError(
            "The output holds the rows with their new column, as CSV or Parquet; "
            f"found {output}. To keep what was fitted, name that file as save.",
            option="output",
            example="rows.csv",
        )

    _options.choice(output.suffix.lower(), ROW_FORMATS, "the ending of --output")

    if column in source.types:
        raise InputError(
            "The new column needs a name of its own, but this file already has a "
            f"column {column!r}.",
            option="column",
            example="another_name",
        )


def write_rows(
    source: Source, column: str, score: Callable[[pyarrow.Table], Floats], output: Path
) -> int:
    """Write all rows of a file with one more column, all or nothing; return how many.

    ``score`` makes the column from the table, so that rows cannot get out of step.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    with progress("Writing", unit=""):
        table = source.rows.to_arrow_table()
        # NaN, a row without a score, is an empty cell
        new_column = pa.array(score(table), from_pandas=True)
        table = table.append_column(column, new_column)

        is_csv = output.suffix.lower() == ".csv"
        with replacing(output) as temporary:
            if is_csv and source.is_text:
                text = source.as_text().append_column(column, table[column])
                _write_as_typed(text, temporary)
            elif is_csv:
                pyarrow.csv.write_csv(table, temporary)
            else:
                pyarrow.parquet.write_table(table, temporary)

    say(f"Rows with column {column!r} written to {output}.")
    return int(table.num_rows)


def _write_as_typed(text: pyarrow.Table, path: Path) -> None:
    """Write a table as CSV, with its cells as they were typed: ``007``, ``1.50``."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(text.column_names)
        for batch in text.to_batches():
            columns = [cells.to_pylist() for cells in batch.columns]
            writer.writerows(zip(*columns, strict=True))


def write_text(path: Path, text: str) -> None:
    """Write a text, all or nothing."""
    with replacing(path) as temporary:
        Path(temporary).write_text(f"{text}\n", encoding="utf-8")


def write_report(
    page: Page, output: Path | None, evidence: Any = None, announce: bool = True
) -> int:
    """Write a page where it was asked for, say so, and give its size.

    ``evidence`` are the counts that the page carries.
    """
    if output is None:
        return 0

    from trueness.reports import write_page  # Jinja2 is loaded when needed

    report_file = write_page(page, output, evidence)

    if announce:
        say(f"{report_file}; open it in a browser.")

    return report_file.size


def save_fitted(map_or_rule: Map | Rule, path: Path | None, *score: str) -> None:
    """Save what was fitted, a map of one score with its name."""
    if path is None:
        return
    map_or_rule.save(path, *score)
    say(f"Saved what was fitted to {path}.")
