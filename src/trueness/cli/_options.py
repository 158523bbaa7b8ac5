"""What can be typed after a command? What means the same everywhere, once.

A line is how an option is typed and what it means, under the panel of the help that
shows it. ``_command`` reads the lines of a command's documentation in the same way.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

OUTPUT = "Output"
_TEXT = f"""
[Data]
--label, -l COLUMN: Column with the labels.
--score, -s COLUMN: Column with scores; higher means more likely positive. Repeat it
    where several are compared.
--vote COLUMN: Column with the verdicts of a test; repeat it for each.
--yes VALUE: Verdict that means positive, if verdicts are words and not 0 and 1.
--node COLUMN: Column with the leaves.
--positive VALUE: Label that counts as positive (not needed for 0/1).
--count COLUMN: Column with the number of cases that a row stands for.
--by COLUMN: Column with groups; answers for each group too.
--decimal SIGN: Decimal sign in CSV, . or , (needed if 1,234 could be either).
--missing-scores HOW: Cases without a score: drop them, or refuse to answer.
--strict: Refuse values that would have to be cleaned to be understood.
[How the cases came]
--weight COLUMN: Column with the weights of cases (survey weights, inverse
    probabilities).
--cluster COLUMN: Column that says which cases belong together (patients, sites).
--sampling HOW: How the cases came: "cohort", or "case-control" when their number in
    each class was fixed; then what rests on the share of positives needs --prevalence.
--prevalence SHARE: Share of positives where the score will be used, if it differs;
    threshold and report take a range, 0.01:0.05.
--unlabelled HOW: Cases without a label are "left out", or "missing at random" given
    the score.
[Options]
--level SHARE: Confidence level of the intervals.
--seed NUMBER: Seed of the random numbers.
--maximize METRIC: What to maximise: "f1", "0.7*accuracy + 0.3*recall", ...
--minimize METRIC: What to minimise: "cost(fp=1, fn=20)", ...
--subject-to CONSTRAINT: Constraint: "recall >= 0.9", "flagged <= 500"; repeat it for
    several.
--at RULE: Threshold in use, or a rule that --save of threshold has written.
--half-width WIDTH: Wanted half-width of the interval of the AUC.
--null VALUE: Value from which it should be shown to differ (null hypothesis).
--power SHARE: Wanted power of that test (0.9 by default).
[{OUTPUT}]
--output, -o FILE: Write all rows with the new column to this .parquet or .csv.
--column NAME: Name of the new column.
--save FILE: Save what was found to this JSON file.
--json: Write JSON, for programs.
--plot FILE: Draw the figure to this .svg, .png, .pdf or .html.
--quiet, -q: Print only the answer and errors.
--debug: Show the full traceback of an error.
"""
# shared options: what they are and their defaults; not said: a text, and None
SHARED: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(("positive", "count", "weight", "cluster", "sampling"),
                    (str | None, None)),
    **dict.fromkeys(("prevalence", "unlabelled", "by", "decimal", "missing_scores"),
                    (str | None, None)),
    "strict": (bool, False),
    "level": (float, 0.95),
    "seed": (int, 0),
}  # fmt: skip
LAST: dict[str, tuple[Any, Any]] = {
    "json": (bool, False),
    "plot": (Path | None, None),
    "quiet": (bool, False),
    "debug": (bool, False),
}
_FILES = (
    "CSV, Parquet or JSON lines (also compressed, a folder, or 'many/*.parquet'), a "
    "database (preds.duckdb::table), - for CSV on standard input, or sample:west_nile."
)
File = Annotated[str, typer.Argument(help=_FILES, metavar="FILE", show_default=False)]

# an option may take several lines; all but its first are indented
LINE = re.compile(r"^--[\w/-]+[^:\n]*: .*(?:\n +.*)*\n", re.MULTILINE)
_TYPED = re.compile(r"(--[\w/-]+)(?:, (-\w))?(?: ([A-Z]+))?: (.*)", re.DOTALL)


def read_lines(text: str) -> dict[str, str]:
    """Give the lines of a text that explain options, by the names of the options."""
    found = [m.strip() for m in LINE.findall(text)]
    return {re.split("[/, :]", m[2:])[0].replace("-", "_"): m for m in found}


MEANINGS = read_lines(_TEXT)
PANELS = {
    name: panel
    for panel, lines in re.findall(r"\[([^]]+)\]\n([^[]*)", _TEXT)
    for name in read_lines(lines)
}


def option(name: str, text: str = "", panel: str | None = None) -> Any:
    """Make an option of how it is typed and what it means.

    ``--output, -o FILE: Where to write.`` is typed with a file, whose letter is -o.
    """
    found = re.fullmatch(_TYPED, text or MEANINGS[name])
    assert found is not None, text  # noqa: S101 - a line of this program
    long, short, metavar, meaning = found.groups()
    return typer.Option(
        *filter(None, (long, short)),
        metavar=metavar,
        help=" ".join(meaning.split()),
        rich_help_panel=panel or (None if text else PANELS[name]),
        autocompletion=column_names if metavar == "COLUMN" else None,
    )


def hidden(word: str) -> Any:
    """Make an option that no help shows, since the command will refuse it."""
    meaning = f"A command that cannot use --{word} says why."
    return Annotated[str | None, typer.Option(f"--{word}", help=meaning, hidden=True)]


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
