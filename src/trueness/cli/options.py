"""Options that several commands share: how each is typed, and what it means.

A command names an option by its type and gives its default::

    def evaluate_command(
        file: options.File,
        label: options.Label = None,
        level: options.Level = 0.95,
    ) -> CommandAnswer:

An option of one command only is written in its signature, with ``typer.Option`` or
with one of the three functions below: ``column`` (which a shell can complete),
``number`` (which may be typed as 80%) and ``unsupported`` (which says why not).
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from trueness._core.checks.errors import InputError
from trueness.cli._columns import read_number
from trueness.cli._source import is_there, open_source

# panels of the help; options without one are under "Options"
DATA = "Data"
DESIGN = "Sampling design"
OUTPUT = "Output"


def column(*names: str, help: str, panel: str | None = None) -> Any:
    """Make an option whose value is a column of the file."""
    return typer.Option(
        *names,
        metavar="COLUMN",
        help=help,
        rich_help_panel=panel,
        autocompletion=complete_column,
    )


def number(
    *names: str, help: str, metavar: str = "NUMBER", panel: str | None = None
) -> Any:
    """Make an option whose value is a real number, 0.8 or 80%."""
    return typer.Option(
        *names,
        metavar=metavar,
        help=help,
        rich_help_panel=panel,
        parser=_read_typed_number,
    )


def _read_typed_number(text: str) -> float:
    """Read a number as it was typed, or say what was needed."""
    try:
        return read_number(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a number. Type one such as 0.8 or 80%."
        ) from None


def unsupported(name: str) -> Any:
    """Make an option that the command refuses, with the reason; no help shows it."""
    return typer.Option(name, help="Not supported here.", hidden=True)


def complete_column(incomplete: str) -> list[str]:
    """Complete a column of the file that was typed before."""
    # Typer has lost the file by then: an option without its value ends the parsing
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    try:
        typed_words = shlex.split(line)[2:]
    except ValueError:  # an open quote
        typed_words = line.split()[2:]

    file = next(filter(is_there, typed_words), None)
    if file is None:
        return []

    try:
        names = list(open_source(file).types)
    except (InputError, OSError):
        return []

    return [name for name in names if name.startswith(incomplete)]


# --- the file and its columns

_FILE = typer.Argument(
    help="CSV, Parquet, JSON lines or Excel (also compressed, a folder, or "
    "'many/*.parquet'), a database or sheet (preds.duckdb::table), a declaration "
    "(.html), - for CSV on standard input, or sample:west_nile.",
    metavar="FILE",
    show_default=False,
)
File = Annotated[str, _FILE]
OptionalFile = Annotated[str | None, _FILE]
MoreFiles = Annotated[
    list[str] | None,
    typer.Argument(
        help="More files of the same kind; their cases or counts are added.",
        metavar="FILES",
        show_default=False,
    ),
]
Label = Annotated[
    str | None, column("--label", "-l", help="Column with the labels.", panel=DATA)
]
Score = Annotated[
    str | None,
    column(
        "--score",
        "-s",
        help="Column with the score; a higher score means more likely positive.",
        panel=DATA,
    ),
]
Scores = Annotated[
    list[str] | None,
    column(
        "--score",
        "-s",
        help="Column with scores; a higher score means more likely positive. Repeat "
        "it for several classifiers.",
        panel=DATA,
    ),
]
Votes = Annotated[
    list[str] | None,
    column(
        "--vote",
        help="Column with the verdicts of a test; repeat it for each.",
        panel=DATA,
    ),
]
Yes = Annotated[
    str | None,
    typer.Option(
        "--yes",
        metavar="VALUE",
        help="Verdict that means positive, if verdicts are words and not 0 and 1.",
        rich_help_panel=DATA,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="VALUE",
        help="Label that counts as positive (not needed for 0/1).",
        rich_help_panel=DATA,
    ),
]
Count = Annotated[
    str | None,
    column(
        "--count",
        help="Column with the number of cases that each row represents.",
        panel=DATA,
    ),
]
By = Annotated[
    str | None,
    column("--by", help="Column with groups; adds an answer for each.", panel=DATA),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        metavar="SIGN",
        help="Decimal sign in CSV, . or , (needed if 1,234 could be either).",
        rich_help_panel=DATA,
    ),
]
MissingScores = Annotated[
    str | None,
    typer.Option(
        "--missing-scores",
        metavar="HOW",
        help="Cases without a score: drop them, or refuse to answer.",
        rich_help_panel=DATA,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Stop with an error instead of cleaning values.",
        rich_help_panel=DATA,
    ),
]

# --- the sampling design

Weight = Annotated[
    str | None,
    column(
        "--weight",
        help="Column with the weights of cases (survey weights, inverse "
        "probabilities).",
        panel=DESIGN,
    ),
]
Cluster = Annotated[
    str | None,
    column(
        "--cluster",
        help="Column with clusters of related cases (patients, sites).",
        panel=DESIGN,
    ),
]
Sampling = Annotated[
    str | None,
    typer.Option(
        "--sampling",
        metavar="HOW",
        help='Sampling design: "cohort", or "case-control" if the number of cases in '
        "each class was fixed. Metrics that depend on the prevalence then need "
        "--prevalence.",
        rich_help_panel=DESIGN,
    ),
]
Prevalence = Annotated[
    str | None,
    typer.Option(
        "--prevalence",
        metavar="FRACTION",
        help="Prevalence where the score will be used, if it differs from the "
        "sample; threshold and report take a range, 0.01:0.05.",
        rich_help_panel=DESIGN,
    ),
]
Unlabelled = Annotated[
    str | None,
    typer.Option(
        "--unlabelled",
        metavar="HOW",
        help='Cases without a label: "left out", "missing at random" given the '
        "score, or expected labels from a map that calibrate saved (map.json).",
        rich_help_panel=DESIGN,
    ),
]

Target = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="WHAT",
        help="What an answer from expected labels is about: the process that drew "
        'these cases ("process"), or the labels of "these cases".',
        rich_help_panel=DESIGN,
    ),
]

# --- what is asked

CostFp = Annotated[float | None, number("--cost-fp", help="Cost of a false positive.")]
CostFn = Annotated[
    float | None,
    number("--cost-fn", help="Cost of a false negative (a missed positive)."),
]
Invert = Annotated[
    bool,
    typer.Option(
        "--invert",
        help="Low scores mean positive: reverse the sign of every score.",
        rich_help_panel=DATA,
    ),
]

Level = Annotated[
    float,
    number("--level", metavar="FRACTION", help="Confidence level of the intervals."),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="NUMBER", help="Seed of the random numbers."),
]
Margin = Annotated[
    float | None,
    number(
        "--margin",
        help="Also test whether scores are calibrated: a mean calibration error of "
        "at most this.",
    ),
]
Maximize = Annotated[
    str | None,
    typer.Option(
        "--maximize",
        metavar="METRIC",
        help='What to maximise: "f1", "0.7*accuracy + 0.3*recall", ...',
    ),
]
Minimize = Annotated[
    str | None,
    typer.Option(
        "--minimize",
        metavar="METRIC",
        help='What to minimise: "cost(fp=1, fn=20)", ...',
    ),
]
SubjectTo = Annotated[
    list[str] | None,
    typer.Option(
        "--subject-to",
        metavar="CONSTRAINT",
        help='Constraint: "recall >= 0.9", "flagged <= 500"; repeat it for several.',
    ),
]
Guarantee = Annotated[
    float | None,
    number(
        "--guarantee",
        metavar="FRACTION",
        help="Confidence with which the constraints must hold in the population.",
    ),
]
Null = Annotated[
    float | None,
    number(
        "--null",
        metavar="VALUE",
        help="Value under the null hypothesis.",
    ),
]
Power = Annotated[
    float | None,
    number(
        "--power",
        metavar="FRACTION",
        help="Wanted power of the test (0.9 by default).",
    ),
]

# --- where the answer goes; ``ShellCommand`` reads these four

Json = Annotated[
    bool,
    typer.Option("--json", help="Write JSON, for programs.", rich_help_panel=OUTPUT),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Draw the figure to this .svg, .png, .pdf or .html.",
        rich_help_panel=OUTPUT,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print only the answer and errors.",
        rich_help_panel=OUTPUT,
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Show the full traceback of an error.",
        rich_help_panel=OUTPUT,
    ),
]
RowsFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write all rows with the new column to this .parquet or .csv.",
        rich_help_panel=OUTPUT,
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write a report with figures to this HTML file.",
        rich_help_panel=OUTPUT,
    ),
]
NewColumn = Annotated[
    str | None,
    typer.Option(
        "--column",
        metavar="NAME",
        help="Name of the new column.",
        rich_help_panel=OUTPUT,
    ),
]
SaveFile = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FILE",
        help="Save the fitted map to this JSON file.",
        rich_help_panel=OUTPUT,
    ),
]


def read_cost(
    false_positive: float | None, false_negative: float | None
) -> dict[str, float] | None:
    """Return the costs of both errors, or None where there are none."""
    if false_positive is None and false_negative is None:
        return None

    if false_positive is None or false_negative is None:
        raise InputError(
            "Both costs are needed. Type --cost-fp 1 --cost-fn 20.",
            option="cost_fp" if false_positive is None else "cost_fn",
        )

    return {"fp": false_positive, "fn": false_negative}
