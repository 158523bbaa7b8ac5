"""What is a command, and what can be typed after it?

``command`` makes one of a function from a :class:`Request` and its own options to a
``CommandAnswer``: it adds the options that all commands share, opens the file, chooses
its columns, and shows the answer. What an option means is a line of the function's
documentation, ``--folds: ...``, or of the text below where several commands have it.
"""

from __future__ import annotations

import inspect
import os
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, final, get_args

import typer

from trueness._core.checks.errors import InputError, UnsupportedDesign
from trueness._core.checks.options import fraction
from trueness._core.checks.words import listing
from trueness._core.records import shown
from trueness.cli import _columns
from trueness.cli import _shell as shell
from trueness.cli._long_files import refuse_long_file
from trueness.cli._missing_scores import with_places
from trueness.cli._source import WHOLE_TYPES, Source, is_there, open_source
from trueness.counts.answers import refusal
from trueness.counts.design import CANNOT
from trueness.data.cleaning import listening, tell
from trueness.data.column_roles import (
    Guess,
    label_of_some,
    one_score,
    several_scores,
)
from trueness.data.storage import are_counts, count_columns_of

WIDTH = 74  # of an example
# how an option is typed and what it means, under the panel of the help that shows it
_TEXT = """
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
[Output]
--output, -o FILE: Write all rows with the new column to this .parquet or .csv.
--column NAME: Name of the new column.
--save FILE: Save what was found to this JSON file.
--json: Write JSON, for programs.
--plot FILE: Draw the figure to this .svg, .png, .pdf or .html.
--quiet, -q: Print only the answer and errors.
--debug: Show the full traceback of an error.
"""
# what is shared, with its default
WORDS = ("positive", "count", "weight", "cluster", "sampling", "prevalence",
         "unlabelled", "by", "decimal", "missing_scores")  # fmt: skip
SHARED: dict[str, tuple[Any, Any]] = {
    **dict.fromkeys(WORDS, (str | None, None)),
    "strict": (bool, False),
    "level": (float, 0.95),
    "seed": (int, 0),
}
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


@final
@dataclass(frozen=True)
class Columns:
    """Which columns does a command work on beside the labels, and what if unnamed?"""

    option: str
    guess: Guess
    least: int = 1
    several: bool = True
    needs_label: bool = True
    instead: str = ""  # an option of the command whose columns need no label


ONE_SCORE = Columns("score", one_score, several=False)
SCORES = Columns("score", several_scores)
TWO_SCORES = Columns("score", several_scores, least=2)


def command(
    columns: Columns | None = None,
    *,
    like: Callable[..., Any] | None = None,
    without: tuple[str, ...] = (),
    cannot: str = "",
    ranges: bool = False,
    **lists: Iterable[str],
) -> Callable[[Callable[..., shell.CommandAnswer]], Callable[..., None]]:
    """Make a command of a function; ``without`` names shared options it cannot use.

    The parameters of ``like`` are options too. ``cannot`` names its analysis: of the
    words that this one refuses no option is shown, and who types one reads why.
    ``ranges``: the prevalence may be a range. ``lists`` are names that the
    documentation lists where it says ``{methods}``.
    """
    refused = CANNOT.get(cannot, {})

    def make(function: Callable[..., shell.CommandAnswer]) -> Callable[..., None]:
        name = function.__name__.removesuffix("_command").replace("plan_for_", "plan ")
        names = {k: ", ".join(v) for k, v in lists.items()}
        text = (inspect.getdoc(function) or "").format(**names)
        meanings = read_lines(text)
        shared = {} if columns is None else _shared(columns, (*without, *refused))

        @wraps(function)
        def run(**given: Any) -> None:
            with shell.ending(given["debug"], given["quiet"], given):
                last = {k: given.pop(k, d) for k, (_, d) in LAST.items()}
                for word, why in refused.items():
                    if given.pop(word) is not None:
                        raise UnsupportedDesign(refusal(name, word, why))
                shell.check_figure(last["plot"])
                words = {name: given.pop(name) for name in shared}
                shell.check_targets(words.get("file", given.get("file")), given | last)
                fraction((given | words).get("level", 0.95), "--level")
                with shell.warnings_said() as answers, listening() as cleaned:
                    one = [_request(columns, words, given, ranges)] if columns else []
                    if words.get("strict"):
                        _columns.refuse_cleaned(cleaned)
                    asked = one[0] if one else None
                    try:
                        answer = function(*one, **given)
                    except InputError as err:
                        raise with_places(err, asked) from err
                    answer = shell.completed(answer, name, asked, cleaned)
                    answers.append(answer)
                    shell.show(answer, last["json"], last["plot"])
            if answer.code:
                raise SystemExit(answer.code)

        options = {p.name: p for p in _parameters(function)}
        more = {p.name: p for p in _parameters(like)} if like else {}
        options |= {k: p for k, p in more.items() if k not in options}
        own = {
            p.name: (_explained(p.name, p.annotation, meanings), p.default)
            for p in sorted(options.values(), key=lambda p: p.name == "level")
            if p.name in (*meanings, *MEANINGS) or hasattr(p.annotation, "__metadata__")
            if p.name not in without
        }
        first = dict(list(shared.items())[:3])  # the file and its columns
        # no help shows what the command will refuse
        unseen = partial(typer.Option, help="It says why not.", hidden=True)
        hidden = {w: (Annotated[str | None, unseen(f"--{w}")], None) for w in refused}
        ends = {k: v for k, v in LAST.items() if k not in without}
        every: dict[str, Any] = first | own | hidden | shared | ends
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    annotation=_explained(name, kind, {}),
                    default=default,
                )
                for name, (kind, default) in every.items()
            ]
        )
        run.__annotations__ = {}
        run.__doc__ = _help(LINE.sub("", text))
        return run

    return make


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())


def _shared(columns: Columns, without: tuple[str, ...]) -> dict[str, tuple[Any, Any]]:
    kind = list[str] | None if columns.several else str | None
    first = {
        "file": (File, inspect.Parameter.empty),
        "label": (str | None, None),
        columns.option: (kind, None),
    }
    return first | {k: v for k, v in SHARED.items() if k not in without}


def _explained(name: str, kind: Any, meanings: dict[str, str]) -> Any:
    """Make an option of a parameter that a line explains.

    ``--output, -o FILE: Where to write.`` is typed with a file, whose letter is -o.
    """
    if hasattr(kind, "__metadata__"):
        return kind  # says all itself
    own = name in meanings
    found = re.fullmatch(_TYPED, meanings[name] if own else MEANINGS[name])
    assert found is not None, name  # noqa: S101 - a line of this program
    long, short, metavar, meaning = found.groups()
    writes = Path in (kind, *get_args(kind))
    option = typer.Option(
        *filter(None, (long, short)),
        metavar=metavar or ("<float>" if float in (kind, *get_args(kind)) else None),
        parser=_columns.read_number if float in (kind, *get_args(kind)) else None,
        help=" ".join(meaning.split()),
        rich_help_panel="Output" if writes else None if own else PANELS[name],
        autocompletion=column_names if metavar == "COLUMN" else None,
    )
    return Annotated[kind, option]


def column_names(incomplete: str) -> list[str]:
    """Complete a column of the file that was typed before."""
    # Typer has lost the file by then: an option without its value ends the parsing
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    try:
        typed = shlex.split(line)[2:]
    except ValueError:  # an open quote
        typed = line.split()[2:]
    file = next(filter(is_there, typed), None)
    try:
        names = list(open_source(file).types) if file else []
    except (InputError, OSError):
        return []
    return [name for name in names if name.startswith(incomplete)]


def _help(text: str) -> str:
    r"""Break the example so that it can be copied from a terminal of 80 columns.

    >>> print(_help("A question?\n\nExample: trueness demo")[-22:])
    Example:
    trueness demo
    """
    question, _, example = re.sub(r"\n{3,}", "\n\n", text).partition("Example: ")
    lines = [""]
    for word in re.findall(r'(?:-\S+ )?(?:"[^"]*"|\S+)', example):
        if len(lines[-1]) + len(word) > WIDTH:
            lines.append("   ")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    # \b keeps Typer from joining the lines
    return f"{question}\b\nExample:\n" + " \\\n".join(lines)


def _request(
    columns: Columns, words: dict[str, Any], own: dict[str, Any], ranges: bool
) -> _columns.Request:
    """Open the file and choose its columns; say which ones nobody had named."""
    # rows that are written back keep their order
    ordered = own.get("output") is not None
    source = open_source(words["file"], ordered=ordered, decimal=words.get("decimal"))
    usual, instead = words[columns.option], own.get(columns.instead)
    if instead and usual:
        raise InputError(
            f"--{columns.instead} is for tests without labels, --{columns.option} for "
            f"scores with labels. Type one of them."
        )
    named = instead or usual or []
    share = _columns.read_share(words.get("prevalence"))
    several = share if isinstance(share, tuple) else None
    if several and not ranges:
        raise InputError(
            f"This command needs one prevalence, and found a range. Type --prevalence "
            f"{several[0]:g}."
        )
    told = {"prevalence": None if several else share}
    told |= {"missing": words.get("missing_scores")}
    chosen = _columns.choose(
        source,
        option=columns.instead if instead else columns.option,
        scores=[named] if isinstance(named, str) else named,
        guess=columns.guess,
        needs_label=columns.needs_label and not instead,
        **{k: v for k, v in words.items() if k in _columns.Chosen.__annotations__}
        | told,
    )
    say_what_was_taken(source, chosen, columns.option)
    if chosen.label is not None and chosen.positive is None:
        tell(source.as_truth(chosen.label))
    unused = _columns.looks_counted(source, chosen) if "count" in words else None
    if unused:
        shell.say(
            f"Every row counts as one case. If column {unused!r} says how many cases a "
            f"row stands for, type --count {unused}."
        )
    if "cluster" in words or "by" in words:
        refuse_long_file(source, chosen, compares=columns.least > 1)
    if len(chosen.scores) < columns.least:
        raise InputError(
            f"This command needs {columns.least} columns or more; found "
            f"{listing(chosen.scores)}. Type --{columns.option} NAME for each."
        )
    wanted = chosen.columns
    if chosen.label is None and are_counts(source.types):
        wanted = (*wanted, *count_columns_of(source.types).values())
    level, seed = words.get("level", 0.95), words.get("seed", 0)
    return _columns.Request(source, chosen, source.only(wanted), level, seed, several)


def say_what_was_taken(source: Source, chosen: _columns.Chosen, option: str) -> None:
    """Say which columns were taken unasked, and why the others were not."""
    if chosen.missing not in (None, "drop", "refuse"):
        raise InputError(
            f"--missing-scores must be drop or refuse; found {chosen.missing!r}."
        )
    if not chosen.guessed:
        return
    shell.say(" ".join(chosen.guessed))
    left = [
        f"'{shown(n, 40)}' ({_why(source, n)})"
        for n in source.types
        if n not in chosen.columns
    ]
    if left:
        shell.say(
            f"Not taken: {', '.join(left[:12])}{', ...' if len(left) > 12 else ''}."
        )
    truth = label_of_some(source.table) if option in ("vote", "judge") else None
    if truth and truth not in chosen.columns:
        shell.say(
            f"Column {truth!r} is empty in most rows. If it holds labels, type --label "
            f"{truth}."
        )


def _why(source: Source, name: str) -> str:
    """Why was a column not taken as a score?"""
    kind = source.types[name]
    if kind == "VARCHAR":
        read = {"numbers": "numbers", "missing": "empty"}
        return read.get(source.reads_as(name), "words")
    if kind.startswith(("DATE", "TIME")):
        return "dates"
    return "whole numbers" if kind in WHOLE_TYPES else "not asked for"
