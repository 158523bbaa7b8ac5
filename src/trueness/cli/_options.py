"""What can be typed after a command? Every option, once.

``SHARED`` holds those that mean the same everywhere; a command says by name which of
them it takes (see ``_command``). The other aliases belong to a few commands.
"""

from __future__ import annotations

import os
import re
import shlex
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

OUTPUT = "Output"


def column_names(incomplete: str) -> list[str]:
    """Complete a column of the file that was typed before."""
    from trueness._core.checks.errors import InputError
    from trueness.cli._source import is_there, open_source

    file = next(filter(is_there, _typed()), None)
    try:
        names = list(open_source(file).types) if file else []
    except (InputError, OSError):
        return []
    return [name for name in names if name.startswith(incomplete)]


def _typed() -> list[str]:
    """Give the words of the line that a shell asks to complete.

    Typer has lost the file by then: an option without its value ends the parsing.
    """
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    try:
        return shlex.split(line)[2:]
    except ValueError:  # an open quote
        return line.split()[2:]


_MEANING = re.compile(r"(--[\w/-]+)(?:, (-\w))?(?: ([A-Z]+))?: (.*)", re.DOTALL)


def option(text: str, panel: str | None = None) -> Any:
    """Make an option of how it is typed and what it means.

    ``--output, -o FILE: Where to write.`` is typed with a file, whose letter is -o.
    """
    found = re.fullmatch(_MEANING, text)
    assert found is not None, text  # noqa: S101 - a line of this program
    long, short, metavar, meaning = found.groups()
    return typer.Option(
        *filter(None, (long, short)),
        metavar=metavar,
        help=" ".join(meaning.split()),
        rich_help_panel=panel,
        autocompletion=column_names if metavar == "COLUMN" else None,
    )


def hidden(word: str) -> Any:
    """Make an option that no help shows, since the command will refuse it."""
    meaning = f"A command that cannot use --{word} says why."
    return Annotated[str | None, typer.Option(f"--{word}", help=meaning, hidden=True)]


_data, _out = partial(option, panel="Data"), partial(option, panel=OUTPUT)
_came = partial(option, panel="How the cases came")
File = Annotated[
    str,
    typer.Argument(
        help="CSV, Parquet or JSON lines (also compressed, a folder, or "
        "'many/*.parquet'), a database (preds.duckdb::table), - for CSV on standard "
        "input, or sample:west_nile.",
        metavar="FILE",
        show_default=False,
    ),
]
Label = Annotated[str | None, _data("--label, -l COLUMN: Column with the labels.")]
Score = Annotated[
    list[str] | None,
    _data(
        "--score, -s COLUMN: Column with the scores; higher means more likely positive."
    ),
]
Scores = Annotated[
    list[str] | None,
    _data("--score, -s COLUMN: Column with scores; repeat it for several."),
]
Votes = Annotated[
    list[str] | None,
    _data("--vote COLUMN: Column with the verdicts of a test; repeat it for each."),
]
Yes = Annotated[
    str | None,
    _data(
        "--yes VALUE: Verdict that means positive, if verdicts are words and not 0 "
        "and 1."
    ),
]
Node = Annotated[str | None, _data("--node COLUMN: Column with the leaves.")]
Rule = Annotated[
    str | None, _data("--rule COLUMN: Column with the rule of each leaf, in words.")
]
Positive = Annotated[
    str | None,
    _data("--positive VALUE: Label that counts as positive (not needed for 0/1)."),
]
Decimal = Annotated[
    str | None,
    _data(
        "--decimal SIGN: Decimal sign in CSV, . or , (needed if 1,234 could be either)."
    ),
]
MissingScores = Annotated[
    str | None,
    _data(
        "--missing-scores HOW: Cases without a score: drop them, or refuse to answer."
    ),
]
Strict = Annotated[
    bool,
    _data("--strict: Refuse values that would have to be cleaned to be understood."),
]
Count = Annotated[
    str | None,
    _data("--count COLUMN: Column with the number of cases that a row stands for."),
]
Weight = Annotated[
    str | None,
    _came(
        "--weight COLUMN: Column with the weights of cases (survey weights, inverse "
        "probabilities)."
    ),
]
By = Annotated[
    str | None, _data("--by COLUMN: Column with groups; answers for each group too.")
]
Cluster = Annotated[
    str | None,
    _came(
        "--cluster COLUMN: Column that says which cases belong together (patients, "
        "sites)."
    ),
]
Level = Annotated[float, option("--level SHARE: Confidence level of the intervals.")]
Seed = Annotated[int, option("--seed NUMBER: Seed of the random numbers.")]
Json = Annotated[bool, _out("--json: Write JSON, for programs.")]
Plot = Annotated[
    Path | None, _out("--plot FILE: Draw the figure to this .svg, .png, .pdf or .html.")
]
Debug = Annotated[bool, _out("--debug: Show the full traceback of an error.")]
Quiet = Annotated[bool, _out("--quiet, -q: Print only the answer and errors.")]

Maximize = Annotated[
    str | None,
    option(
        '--maximize METRIC: What to maximise: "f1", "0.7*accuracy + 0.3*recall", ...'
    ),
]
Minimize = Annotated[
    str | None, option('--minimize METRIC: What to minimise: "cost(fp=1, fn=20)", ...')
]
SubjectTo = Annotated[
    list[str] | None,
    option(
        '--subject-to CONSTRAINT: Constraint: "recall >= 0.9", "flagged <= 500"; '
        "repeat it for several."
    ),
]
Prevalence = Annotated[
    str | None,
    _came(
        "--prevalence SHARE: Share of positives where the score will be used, if it "
        "differs; threshold and report take a range, 0.01:0.05."
    ),
]
Sampling = Annotated[
    str | None,
    _came(
        '--sampling HOW: How the cases came: "cohort", or "case-control" when their '
        "number in each class was fixed; then what rests on the share of positives "
        "needs --prevalence."
    ),
]
Unlabelled = Annotated[
    str | None,
    _came(
        '--unlabelled HOW: Cases without a label are "left out", or "missing at '
        'random" given the score.'
    ),
]
Rows = Annotated[
    Path | None,
    _out(
        "--output, -o FILE: Write all rows with the new column to this .parquet or "
        ".csv."
    ),
]
Save = Annotated[
    Path | None, _out("--save FILE: Save what was fitted to this JSON file.")
]


def read_share(text: str | None) -> float | tuple[float, float] | None:
    """Read 0.01, or 0.01:0.05 for a range."""
    from trueness._core.checks.errors import InputError

    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise InputError(
            f"--prevalence must be a share such as 0.01, or a range such as 0.01:0.05; "
            f"found {text!r}."
        )
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


# name: what it is and its default
SHARED: dict[str, tuple[Any, Any]] = {
    "positive": (Positive, None),
    "count": (Count, None),
    "weight": (Weight, None),
    "cluster": (Cluster, None),
    "sampling": (Sampling, None),
    "prevalence": (Prevalence, None),
    "unlabelled": (Unlabelled, None),
    "by": (By, None),
    "decimal": (Decimal, None),
    "missing_scores": (MissingScores, None),
    "strict": (Strict, False),
    "level": (Level, 0.95),
    "seed": (Seed, 0),
}
LAST: dict[str, tuple[Any, Any]] = {
    "json": (Json, False),
    "plot": (Plot, None),
    "quiet": (Quiet, False),
    "debug": (Debug, False),
}
