"""What is a command? A function from a question to an answer.

``command`` adds the options that all commands share, opens the file, chooses its
columns, and shows the answer, as text, JSON and figure; so a new command is a function
that takes a :class:`Request` and its own options and gives a ``CommandAnswer``. What
its own options mean is said in its documentation, a line for each, ``--folds: ...``, or
in ``_options`` where several commands have them.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
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
    without: tuple[str, ...] = (),
    cannot: str = "",
    ranges: bool = False,
    **lists: Iterable[str],
) -> Callable[[Callable[..., CommandAnswer]], Callable[..., None]]:
    """Make a command of a function; ``without`` names shared options it cannot use.

    ``cannot`` names its analysis: of the words that this one refuses no option is
    shown, and who types one reads why. ``ranges``: the prevalence may be a range.
    ``lists`` are names that the documentation lists where it says ``{methods}``.
    """
    refused = CANNOT.get(cannot, {})

    def make(function: Callable[..., CommandAnswer]) -> Callable[..., None]:
        names = {k: ", ".join(v) for k, v in lists.items()}
        text = (inspect.getdoc(function) or "").format(**names)
        meanings = _options.read_lines(text)
        shared = {} if columns is None else _shared(columns, (*without, *refused))

        @functools.wraps(function)
        def run(**given: Any) -> None:
            with ending(given["debug"], given["quiet"]):
                last = {k: given.pop(k, d) for k, (_, d) in _options.LAST.items()}
                for word, why in refused.items():
                    if given.pop(word) is not None:
                        raise NeedsWholeCases(refusal(cannot, word, why))
                check_figure(last["plot"])
                words = {name: given.pop(name) for name in shared}
                check_targets(words.get("file", given.get("file")), given | last)
                with warnings_said() as answers, listening() as cleaned:
                    one = (_request(columns, words, given, ranges),) if columns else ()
                    answer = saying(function(*one, **given), cleaned)
                    answers.append(answer)
                    show(answer, last["json"], last["plot"])
            if answer.code:
                raise SystemExit(answer.code)

        own = {
            p.name: (_explained(p.name, p.annotation, meanings), p.default)
            for p in inspect.signature(function, eval_str=True).parameters.values()
            if p.annotation is not Request
        }
        first = dict(list(shared.items())[:3])  # the file and its columns
        hidden = {word: (_options.hidden(word), None) for word in refused}
        ends = {k: v for k, v in _options.LAST.items() if k not in without}
        typed = [first, own, hidden, shared, ends]
        every = {k: v for part in typed for k, v in part.items()}
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [_parameter(name, *about) for name, about in every.items()]
        )
        run.__annotations__ = {}
        run.__doc__ = _help(_options.LINE.sub("", text))
        return run

    return make


def _shared(columns: Columns, without: tuple[str, ...]) -> dict[str, tuple[Any, Any]]:
    kind = list[str] | None if columns.several else str | None
    first = {
        "file": (_options.File, inspect.Parameter.empty),
        "label": (str | None, None),
        columns.option: (kind, None),
    }
    return first | {k: v for k, v in _options.SHARED.items() if k not in without}


def _explained(name: str, kind: Any, meanings: dict[str, str]) -> Any:
    """Make an option of a parameter that a line explains."""
    if name not in meanings and name not in _options.MEANINGS:
        return kind  # an argument, which says all itself
    writes = Path in (kind, *get_args(kind))
    panel = _options.OUTPUT if writes else None
    return Annotated[kind, _options.option(name, meanings.get(name, ""), panel)]


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    if not hasattr(kind, "__metadata__"):
        kind = _explained(name, kind, {})
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default
    )


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
) -> Request:
    """Open the file and choose its columns; say which ones nobody had named."""
    level = words.get("level", 0.95)
    fraction(level, "--level")
    # rows that are written back keep their order
    ordered = own.get("output") is not None
    source = open_source(words["file"], ordered=ordered, decimal=words.get("decimal"))
    option, named = _named(columns, words[columns.option], own.get(columns.instead))
    names = ("label", "positive", "count", "weight", "cluster", "by")
    chosen = choose(
        source,
        option=option,
        scores=named,
        guess=columns.guess,
        needs_label=columns.needs_label and option == columns.option,
        **{k: words.get(k) for k in names},
    )
    one = share = _options.read_share(words.get("prevalence"))
    if isinstance(share, tuple):
        one = None
        if not ranges:
            raise InputError(
                f"This command needs one prevalence, and found a range. Type "
                f"--prevalence {share[0]:g}."
            )
    came: dict[str, Any] = {
        k: words.get(k) for k in ("sampling", "unlabelled", "decimal")
    }
    came |= {"missing": words.get("missing_scores"), "prevalence": one}
    chosen = replace(chosen, **came, strict=bool(words.get("strict")))
    _say_what_was_taken(source, chosen)
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
    wanted = chosen.columns
    if chosen.label is None and are_counts(source.types):
        wanted = (*wanted, *count_columns_of(source.types).values())
    rows, seed = source.only(wanted), words.get("seed", 0)
    several = share if isinstance(share, tuple) else None
    return Request(source, chosen, rows, level, seed, several)


def _named(columns: Columns, usual: Any, instead: Any) -> tuple[str, list[str]]:
    """Which option named columns, and which? They may be given in one way only."""
    if instead and usual:
        raise InputError(
            f"--{columns.instead} is for tests without labels, --{columns.option} for "
            f"scores with labels. Type one of them."
        )
    named = instead or usual or []
    return (
        columns.instead if instead else columns.option,
        [named] if isinstance(named, str) else list(named),
    )


def _say_what_was_taken(source: Source, chosen: Chosen) -> None:
    """Say which columns were taken unasked, and why the others were not."""
    if chosen.missing not in (None, "drop", "refuse"):
        raise InputError(
            f"--missing-scores must be drop or refuse; found {chosen.missing!r}."
        )
    if not chosen.guessed:
        return
    say(f"Using {' and '.join(chosen.guessed)}: no other column fits.")
    left = [
        f"'{shown(n, 40)}' ({_why(source, n)})"
        for n in source.types
        if n not in chosen.columns
    ]
    if left:
        say(f"Not taken: {', '.join(left[:12])}{', ...' if len(left) > 12 else ''}.")


def _why(source: Source, name: str) -> str:
    """Why was a column not taken as a score?"""
    kind = source.types[name]
    if kind == "VARCHAR":
        read = {"numbers": "numbers", "missing": "empty"}
        return read.get(source.reads_as(name), "words")
    if kind.startswith(("DATE", "TIME")):
        return "dates"
    return "whole numbers" if kind in WHOLE_TYPES else "not asked for"
