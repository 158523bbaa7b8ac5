"""Which columns are meant, and what do they count?

Columns that were not named are taken only when there is no doubt. Columns and file
together are a :class:`FileData`, which ``count_tally`` and ``count_panel`` count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness.cli._source import (
    REAL_TYPES,
    WHOLE_TYPES,
    Source,
    known,
    names_of,
)
from trueness.counts.values import Tally, with_rows
from trueness.data.cleaning import listening, one_spelling, tell
from trueness.data.column_roles import COUNT_NAMES, Guess, find_columns
from trueness.data.engines import quoted, text_in_sql
from trueness.data.frames import panel, tally
from trueness.data.storage import are_counts, count_columns_of
from trueness.findings.request import Request

_TRUE, _FALSE = ("true", "yes", "t", "1"), ("false", "no", "f", "0")


@final
@dataclass(frozen=True)
class FileData:
    """A file that was opened, the request about it, and the columns that it needs."""

    source: Source
    request: Request
    rows: Any  # of the columns of the request


def choose(
    source: Source,
    request: Request,
    *,
    option: str,
    guess: Guess,
    needs_label: bool = True,
) -> Request:
    """Complete a request: columns not named are taken when there is no doubt.

    ``option`` names the scores, or what takes their place.
    """
    if _is_about_counts(source, request):
        score = count_columns_of(list(source.types))["score"]
        return replace(request, label=None, scores=(score,), positive=None)

    for what in ("label", "count", "weight", "by", "cluster"):
        known(source, getattr(request, what), f"--{what}")

    for name in _columns.distinct_names(list(request.scores), f"--{option}"):
        _refuse_list(source, name, option)
        known(source, name, f"--{option}")

    try:
        columns = find_columns(
            source.table,
            label=request.label,
            scores=request.scores,
            guess=guess,
            option=option,
            needs_label=needs_label,
            taken={request.count, request.weight, request.cluster, request.by},
            positive=request.positive,
        )
    except InputError as err:
        # a column of scores with a few odd words is the likely one
        odd = "" if err.option == "label" else source.few_words(source.types)
        raise err.rephrased(message=f"{err.message}{odd}") from None

    return replace(
        request,
        label=columns.label,
        scores=columns.scores,
        positive=_positive(source, columns.label, request.positive),
        remarks=columns.remarks[:1],
    )


def _is_about_counts(source: Source, request: Request) -> bool:
    """Does the file hold counts, whose columns need not be named?"""
    # of counts the columns that are named are those of what was counted
    named = {request.label, *request.scores} & set(source.types)
    only_the_score = {str(name).lower() for name in named} <= {"score"}
    of_cases = request.count or request.weight or request.cluster
    return are_counts(source.types) and only_the_score and not of_cases


def _refuse_list(source: Source, name: str, option: str) -> None:
    """Stop at several columns in one word: the option is repeated for each."""
    parts = [part.strip() for part in re.split("[,;]", name)]
    if name in source.types or len(parts) < 2 or not set(parts) <= set(source.types):
        return

    raise InputError(
        f"The option {option} takes one column; repeat it for several.",
        option=option,
        example=parts,
    )


def looks_counted(source: Source, request: Request) -> str | None:
    """Which column, that nobody named, looks like numbers of cases?"""
    free = (c for c, kind in source.types.items() if kind in WHOLE_TYPES)
    like = [c for c in free if c.lower() in COUNT_NAMES and c not in request.columns]
    return like[0] if like and request.count is None else None


def _positive(source: Source, label: str | None, text: str | None) -> Any:
    """Give the positive label the type of its column: "1" is a number there."""
    if text is None or label is None:
        return None

    kind = source.types[label]
    if kind == "BOOLEAN":  # DuckDB reads yes and no as such, too
        _options.choice(text.lower(), (*_TRUE, *_FALSE), "--positive")
        return text.lower() in _TRUE

    if kind in WHOLE_TYPES or kind.startswith(REAL_TYPES):
        try:
            number = float(text)
            return int(number) if number.is_integer() else number
        except ValueError:
            raise InputError(
                f"positive must be a value of column {label!r}, which holds numbers; "
                f"found {text!r}.",
                option="positive",
            ) from None

    if kind == "VARCHAR":
        return text
    # a date has a type of its own, and is typed as it is written
    return next((v for v in source.distinct(label, 3) if str(v) == text), text)


def with_verdicts(
    data: FileData, yes: str | None, abstain: Sequence[str] = ()
) -> FileData:
    """Make 0 and 1 of verdicts that are words: 1 where a verdict is ``yes``.

    Where it is one of ``abstain`` there is none.
    """
    votes, types = data.request.scores, data.source.types
    words = [c for c in votes if types[c] == "VARCHAR"]
    if yes is None and words:
        values = [str(v) for v in data.source.distinct(words[0], 3)]
        if not values:
            raise InputError(f"Column {words[0]!r} holds no verdicts. Leave it out.")

        raise InputError(
            f"Verdicts must be 0 and 1; column {words[0]!r} holds "
            f"{names_of(values, 3)}. Which verdict means positive?",
            option="yes",
            choices=values,
        )

    if yes is None:
        return data
    if {types[c] for c in votes} == {"BOOLEAN"}:  # DuckDB reads yes and no as such
        yes = str(yes.lower() in _TRUE).lower()

    most = 2 + len(abstain)
    found = {
        # as SQL writes them
        c: [str(v).lower() if isinstance(v, bool) else str(v)
            for v in data.source.distinct(c, most + 1) if v != ""]
        for c in (words or votes)
    }  # fmt: skip
    found = {c: [w for w in values if w not in abstain] for c, values in found.items()}

    for column, values in found.items():
        if len(values) > 2:
            raise InputError(
                "A positive verdict needs columns with two verdicts; column "
                f"{column!r} has {names_of(values, 3)} and perhaps more. Make a column "
                "of 0 and 1.",
                option="yes",
            )

    if not any(yes in values for values in found.values()):
        raise InputError(
            "The positive verdict must occur in the tests; none of them says "
            f"{yes!r}; found "
            f"{names_of(dict.fromkeys(v for vs in found.values() for v in vs))}.",
            option="yes",
        )

    others = [quoted(c) for c in data.rows.columns if c not in found]
    made = as_votes(found, yes, abstain)
    return replace(data, rows=data.rows.project(", ".join(others + made)))


def as_votes(
    columns: Iterable[str], yes: str, abstain: Sequence[str] = ()
) -> list[str]:
    """Write columns of words as columns of 0 and 1, in SQL."""
    made, none = [], ", ".join(map(text_in_sql, abstain))
    for name in map(quoted, columns):
        said = f"CAST({name} AS VARCHAR)"
        vote = f"CAST({said} = {text_in_sql(yes)} AS INTEGER)"
        if none:
            vote = f"CASE WHEN {said} NOT IN ({none}) THEN {vote} END"
        made.append(f"{vote} AS {name}")

    return made


def count_tally(data: FileData, score: str, by: bool = False) -> Any:
    """Count one score: a Tally, or one for each group."""
    return _count(tally, data, by, score=score)


MOST_CLASSES = 30  # of a label that is answered class by class


def classes_of(data: FileData) -> dict[Any, str]:
    """Which score belongs to which class, when the label has more than two values?

    A column belongs to a class that it is called after: ``cat``, ``p_cat``,
    ``cat_score``. Empty when the label has two values or a positive one was named.
    """
    label, positive = data.request.label, data.request.positive
    if label is None or positive is not None:
        return {}

    found = data.source.distinct(label, MOST_CLASSES + 1)
    if data.source.reads_as(label) == "labels":
        return {}

    found = one_spelling(found)
    if len(found) < 3 or data.source.types[label].startswith(REAL_TYPES):
        return {}

    names: dict[str, list[str]] = {str(c): [] for c in found}
    for score in data.request.scores:
        name = score.lower()
        parts = re.split(r"[^0-9a-z]+", name)
        for c, own in names.items():  # alone, or with another word beside it
            word = c.lower()
            if word in (name, parts[0], parts[-1]) or name.endswith(f"_{word}"):
                own.append(score)

    if len(found) <= MOST_CLASSES and all(len(x) == 1 for x in names.values()):
        return {c: x[0] for c, x in names.items()}

    raise InputError(
        f"Column {label!r} holds more than two classes: {names_of(names, 6)}. Name "
        "one column of scores per class, each with the name of its class "
        f"({names_of([f'p_{c}' for c in names], 3)}). Or make a column that is 1 for "
        "one class and 0 for the rest.",
        option="score",
    )


def count_classes(data: FileData, classes: Mapping[Any, str]) -> dict[str, Any]:
    """Count each class against the rest."""
    c, found = data.request, {}
    beside = [name for name in (c.count, c.weight, c.cluster) if name is not None]
    for name, score in classes.items():
        kept = map(quoted, (score, *beside))
        columns = ", ".join([*as_votes([str(c.label)], str(name)), *kept])
        part = replace(data, rows=data.rows.project(columns))
        found[str(name)] = count_tally(part, score)

    return found


def count_panel(data: FileData, by: bool = False) -> Any:
    """Count all scores together: a Panel, or one for each group; counts are a Tally."""
    if data.request.label is None and are_counts(data.rows.columns):
        return count_tally(data, data.request.scores[0], by)
    return _count(panel, data, by, scores=list(data.request.scores))


def _count(
    count: Callable[..., Any], data: FileData, by: bool, **columns: object
) -> Any:
    request = data.request
    reading: dict[str, Any] = {}
    if request.missing_scores is not None:
        reading["missing_scores"] = request.missing_scores
    if request.decimal is not None:
        reading["decimal"] = request.decimal

    with listening() as cleaned:
        counts = count(
            data.rows,
            by=request.by if by else None,
            **columns,
            **reading,
            **request.counting,
        )

    if request.strict:
        refuse_cleaned(cleaned)

    tell(cleaned)
    return _inverted(counts) if request.invert else counts


def _inverted(counts: Any) -> Any:
    """Turn scores round: fractions from 1, others by their sign."""
    if isinstance(counts, dict):
        return {name: _inverted(part) for name, part in counts.items()}
    if isinstance(counts, Tally):
        return counts.map(_inverted_scores(counts.score))
    columns = [_inverted_scores(column)(column) for column in counts.rows.T]
    return with_rows(counts, np.column_stack(columns), counts.names)


def _inverted_scores(scores: Floats) -> Callable[[Floats], Floats]:
    """Return a function that turns scores round; probabilities stay probabilities."""
    known = scores[~np.isnan(scores)]
    fractions = bool(known.size) and known.min() >= 0 and known.max() <= 1
    return (lambda s: 1 - s) if fractions else np.negative


def refuse_cleaned(said: Sequence[str]) -> None:
    """Stop where something had to be cleaned."""
    if said:
        raise InputError(
            f"With --strict nothing is cleaned, and this needed it: {' '.join(said)} "
            "Clean the file, or leave --strict out."
        )


def read_number(text: str) -> float:
    """Read 0.8, or 80% for it."""
    number = str(text).strip()
    return float(number[:-1]) / 100 if number.endswith("%") else float(number)


def read_share(text: str | None) -> float | tuple[float, float] | None:
    """Read 0.01, or 0.01:0.05 for a range."""
    if text is None:
        return None

    try:
        numbers = [read_number(part) for part in text.split(":")]
    except ValueError:
        numbers = []

    if len(numbers) not in (1, 2):
        raise InputError(
            "prevalence must be a proportion such as 0.01, or a range such as "
            f"0.01:0.05; found {text!r}.",
            option="prevalence",
        )

    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])
