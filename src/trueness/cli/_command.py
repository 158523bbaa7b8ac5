"""What is a command? A function from a question to an answer.

``command`` adds the options that all commands share, opens the file, chooses its
columns, and shows the answer, as text, JSON and figure; so a new command is a function
that takes a :class:`Request` and its own options and gives an ``Answer``. What its own
options mean is said in its documentation, a line for each: ``--output, -o FILE: ...``.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, final, get_args

from trueness._core.checks.errors import InputError, NeedsWholeCases
from trueness._core.checks.options import fraction
from trueness._core.checks.words import listing
from trueness._core.records import shown
from trueness.cli import _options
from trueness.cli._columns import (
    Chosen,
    Guess,
    Request,
    choose,
    looks_counted,
    one_score,
    several_scores,
)
from trueness.cli._outputs import check_figure, check_targets
from trueness.cli._shell import CommandAnswer, ending, say, saying, show, warnings_said
from trueness.cli._source import WHOLE_TYPES, Source, open_source
from trueness.counts.answers import refusal
from trueness.counts.design import CANNOT
from trueness.data.cleaning import listening
from trueness.data.count_tables import are_counts, count_columns_of

WIDTH = 74  # of an example


@final
@dataclass(frozen=True)
class Columns:
    """Which columns does a command work on beside the labels, and what if unnamed?"""

    option: str
    kind: Any
    guess: Guess
    least: int = 1
    most: int | None = None
    needs_label: bool = True
    instead: str = ""  # an option of the command whose columns need no label


ONE_SCORE = Columns("score", _options.Score, one_score, most=1)
SCORES = Columns("score", _options.Scores, several_scores)
TWO_SCORES = Columns("score", _options.Scores, several_scores, least=2)


def command(
    columns: Columns | None = None,
    *,
    without: tuple[str, ...] = (),
    cannot: str = "",
    ranges: bool = False,
) -> Callable[[Callable[..., CommandAnswer]], Callable[..., None]]:
    """Make a command of a function; ``without`` names shared options it cannot use.

    ``cannot`` names its analysis: of the words that this one refuses no option is
    shown, and who types one reads why. ``ranges``: the prevalence may be a range.
    """
    refused = {word: (_options.hidden(word), None) for word in CANNOT.get(cannot, {})}

    def make(function: Callable[..., CommandAnswer]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True).parameters.values()
        documentation, meanings = _documented(inspect.getdoc(function) or "")
        shared = {} if columns is None else _shared(columns, (*without, *refused))

        @functools.wraps(function)
        def run(**given: Any) -> None:
            with ending(given["debug"], given["quiet"]):
                last = {
                    name: given.pop(name, default)
                    for name, (_, default) in _options.LAST.items()
                }
                _refuse({word: given.pop(word) for word in refused}, cannot)
                check_figure(last["plot"])
                words = {name: given.pop(name) for name in shared}
                check_targets(words.get("file", given.get("file")), given | last)
                with warnings_said() as answers, listening() as cleaned:
                    one = (_request(columns, words, given),) if columns else ()
                    _one_share(one, ranges)
                    answer = saying(function(*one, **given), cleaned)
                    answers.append(answer)
                    show(answer, last["json"], last["plot"])
            if answer.code:
                raise SystemExit(answer.code)

        ends = {k: v for k, v in _options.LAST.items() if k not in without}
        added = {**shared, **refused, **ends}
        parameters = {name: _parameter(name, *about) for name, about in added.items()}
        mine = {
            p.name: _parameter(p.name, _option(p, meanings), p.default)
            for p in own
            if p.annotation is not Request
        }
        order = _order(list(shared), [*mine, *refused])
        parameters |= mine
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [parameters[name] for name in order if name in parameters]
        )
        run.__annotations__ = {}
        run.__doc__ = _help(documentation)
        return run

    return make


def _one_share(requests: tuple[Request, ...], ranges: bool) -> None:
    """Stop at a range of prevalences that the command would ignore."""
    for several in (r.prevalences for r in requests if r.prevalences and not ranges):
        raise InputError(
            f"This command needs one prevalence, and found a range. Type --prevalence "
            f"{several[0]:g}."
        )


def _refuse(given: dict[str, Any], analysis: str) -> None:
    """Stop at a word of the sample that the analysis cannot use, and say why."""
    for word, value in given.items():
        if value is not None:
            raise NeedsWholeCases(refusal(analysis, word, CANNOT[analysis][word]))


# an option may take several lines; all but its first are indented
_EXPLAINED = re.compile(r"^--[\w/-]+[^:\n]*: .*(?:\n +.*)*\n", re.MULTILINE)


def _documented(text: str) -> tuple[str, dict[str, str]]:
    r"""Tell what a command does from what its options mean.

    >>> _documented("A question?\n\n--at SHARE: Where to cut.\n\nSo.")
    ('A question?\n\nSo.', {'at': '--at SHARE: Where to cut.'})
    """
    found = [m.strip() for m in _EXPLAINED.findall(text)]
    named = {re.split("[/, :]", m[2:])[0].replace("-", "_"): m for m in found}
    return re.sub(r"\n{3,}", "\n\n", _EXPLAINED.sub("", text)), named


def _option(p: inspect.Parameter, meanings: dict[str, str]) -> Any:
    """Make an option of a parameter that the documentation explains."""
    if p.name not in meanings:
        return p.annotation  # one of ``_options``, or an argument: it says all itself
    writes = Path in (p.annotation, *get_args(p.annotation))
    panel = _options.OUTPUT if writes else None
    return Annotated[p.annotation, _options.option(meanings[p.name], panel)]


def _help(text: str) -> str:
    r"""Break the example so that it can be copied from a terminal of 80 columns.

    >>> print(_help("A question?\n\nExample: trueness demo")[-22:])
    Example:
    trueness demo
    """
    question, _, example = text.partition("Example: ")
    lines = [""]
    for word in re.findall(r'(?:-\S+ )?(?:"[^"]*"|\S+)', example):
        if len(lines[-1]) + len(word) > WIDTH:
            lines.append("   ")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    # \b keeps Typer from joining the lines
    return f"{question}\b\nExample:\n" + " \\\n".join(lines)


def _shared(columns: Columns, without: tuple[str, ...]) -> dict[str, tuple[Any, Any]]:
    first = {
        "file": (_options.File, inspect.Parameter.empty),
        "label": (_options.Label, None),
        columns.option: (columns.kind, None),
    }
    return first | {k: v for k, v in _options.SHARED.items() if k not in without}


def _order(shared: list[str], own: list[str]) -> list[str]:
    """Put the file and its columns first, then what is special, then the rest."""
    return [*shared[:3], *own, *shared[3:], *_options.LAST]


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default
    )


def _request(columns: Columns, words: dict[str, Any], own: dict[str, Any]) -> Request:
    """Open the file and choose its columns; say which ones nobody had named."""
    level = words.get("level", 0.95)
    fraction(level, "--level")
    # rows that are written back keep their order
    ordered = own.get("output") is not None
    source = open_source(words["file"], ordered=ordered, decimal=words.get("decimal"))
    option, named = _named(columns, words[columns.option], own.get(columns.instead))
    chosen = choose(
        source,
        option=option,
        scores=named,
        guess=columns.guess,
        needs_label=columns.needs_label and option == columns.option,
        **{k: words.get(k) for k in _COLUMNS},
    )
    share = _options.read_share(words.get("prevalence"))
    one, several = (None, share) if isinstance(share, tuple) else (share, None)
    chosen = replace(
        chosen,
        sampling=words.get("sampling"),
        prevalence=one,
        unlabelled=words.get("unlabelled"),
        missing=words.get("missing_scores"),
        decimal=words.get("decimal"),
        strict=bool(words.get("strict")),
    )
    _fits(columns, source, chosen)
    unused = looks_counted(source, chosen) if "count" in words else None
    if unused:
        say(
            f"Every row counts as one case. If column {unused!r} says how many cases a "
            f"row stands for, type --count {unused}."
        )
    if len(chosen.scores) < columns.least:
        raise InputError(
            f"This command needs {columns.least} columns or more; found "
            f"{listing(chosen.scores)}. Type --{columns.option} NAME for each."
        )
    more = (chosen.count, chosen.weight, chosen.by, chosen.cluster)
    wanted = (chosen.label, *chosen.scores, *more)
    if chosen.label is None and are_counts(source.types):
        wanted = (*wanted, *count_columns_of(source.types).values())
    rows = source.only(name for name in wanted if name is not None)
    return Request(source, chosen, rows, level, words.get("seed", 0), several)


_COLUMNS = ("label", "positive", "count", "weight", "cluster", "by")


def _named(columns: Columns, usual: Any, instead: Any) -> tuple[str, list[str]]:
    """Which option named columns, and which? They may be given in one way only."""
    named = instead or usual
    named = [named] if isinstance(named, str) else list(named or [])
    if instead and usual:
        raise InputError(
            f"--{columns.instead} is for tests without labels, --{columns.option} for "
            f"scores with labels. Type one of them."
        )
    if columns.most is not None and len(named) > columns.most:
        raise InputError(
            f"This command takes one --{columns.option}, but found "
            f"{listing(named)}. Run it once for each."
        )
    return columns.instead if instead else columns.option, named


def _fits(columns: Columns, source: Source, chosen: Chosen) -> None:
    """Stop at text that may be numbers; say which columns were taken unasked."""
    if chosen.missing not in (None, "drop", "refuse"):
        raise InputError(
            f"--missing-scores must be drop or refuse; found {chosen.missing!r}."
        )
    if not chosen.guessed:
        return
    say(f"Using {' and '.join(chosen.guessed)}: no other column fits.")
    used = {chosen.label, *chosen.scores, chosen.count, chosen.weight, chosen.by,
            chosen.cluster}  # fmt: skip
    left = [
        f"'{shown(n, 40)}' ({_why(source, n)})" for n in source.types if n not in used
    ]
    if left:
        say(f"Not taken: {', '.join(left[:12])}{', ...' if len(left) > 12 else ''}.")


def _why(source: Source, name: str) -> str:
    """Why was a column not taken as a score?"""
    kind = source.types[name]
    if kind == "VARCHAR":
        return {"numbers": "numbers", "missing": "empty"}.get(
            source.reads_as(name), "words"
        )
    if kind.startswith(("DATE", "TIME")):
        return "dates"
    return "whole numbers" if kind in WHOLE_TYPES else "not asked for"
