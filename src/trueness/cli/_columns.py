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
    existing_column,
    names_of,
)
from trueness.counts.values import Tally, with_rows
from trueness.data.cleaning import collected_remarks, one_spelling, tell
from trueness.data.column_roles import Guess, find_columns, tests_among
from trueness.data.count_columns import COUNT_NAMES
from trueness.data.engines import quoted, text_in_sql
from trueness.data.frames import panel, tally
from trueness.data.multiclass import is_called_after
from trueness.data.named_roles import find_attempts
from trueness.data.storage import are_counts, count_columns_of
from trueness.data.study_tables import has_study_tables
from trueness.findings.request import Request

_TRUE = ("true", "yes", "t", "1")
_FALSE = ("false", "no", "f", "0")


@final
@dataclass(frozen=True)
class FileData:
    """A file that was opened, the request about it, and the columns that it needs."""

    source: Source
    request: Request
    rows: Any  # of the columns of the request


def choose_columns(
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

    for role in ("label", "count", "weight", "by", "cluster"):
        existing_column(source, getattr(request, role), f"--{role}")

    for name in _columns.distinct_names(list(request.scores), f"--{option}"):
        _refuse_list(source, name, option)
        existing_column(source, name, f"--{option}")

    try:
        columns = find_columns(
            source.table,
            label=request.label,
            scores=request.scores,
            guess=guess,
            option=option,
            needs_label=needs_label,
            used_columns={request.count, request.weight, request.cluster, request.by},
            positive=request.positive,
        )
    except InputError as err:
        # a column of scores with a few odd words is the likely one
        advice = _advice_on_rows(source)
        if not advice and err.option == "label":
            advice = _advice_without_labels(source)
        if not advice and err.option != "label":
            advice = source.few_words(source.types)
        raise err.rephrased(message=f"{err.message}{advice}") from None

    return replace(
        request,
        label=columns.label,
        scores=columns.scores,
        positive=_positive_label(source, columns.label, request.positive),
        remarks=columns.remarks[:1],
    )


def _advice_on_rows(source: Source) -> str:
    """Say which commands read a file whose rows are no cases."""
    if has_study_tables(source.types):
        return (
            " Each row is a 2x2 table, which trueness sites reads; trueness evaluate "
            "--tp 8 --fp 1 --fn 2 --tn 9 reads one."
        )
    if find_attempts(source.table) is not None:
        return " If each row is an attempt of a system at an item, type trueness evals."
    return ""


def _advice_without_labels(source: Source) -> str:
    """Say which commands answer about tests without labels."""
    if len(tests_among(source.table, set())) >= 2:
        return " Where there are none, type trueness nogold or trueness agree."
    return ""


def _is_about_counts(source: Source, request: Request) -> bool:
    """Return whether the file holds counts, whose columns need not be named."""
    # the columns that a request names may be those of the cases that were counted
    named_columns = {request.label, *request.scores} & set(source.types)
    only_the_score = {str(name).lower() for name in named_columns} <= {"score"}
    of_cases = request.count or request.weight or request.cluster
    return are_counts(source.types) and only_the_score and not of_cases


def _refuse_list(source: Source, name: str, option: str) -> None:
    """Stop at several columns in one word: the option is repeated for each."""
    names_typed = [name_typed.strip() for name_typed in re.split("[,;]", name)]
    if (
        name in source.types
        or len(names_typed) < 2
        or not set(names_typed) <= set(source.types)
    ):
        return

    raise InputError(
        f"The option {option} takes one column; repeat it for several.",
        option=option,
        example=names_typed,
    )


def unnamed_count_column(source: Source, request: Request) -> str | None:
    """Return the column that nobody named and that looks like numbers of cases."""
    if request.count is not None:
        return None

    for column, kind in source.types.items():
        is_free = column not in request.columns
        if is_free and kind in WHOLE_TYPES and column.lower() in COUNT_NAMES:
            return column

    return None


def _positive_label(source: Source, label: str | None, text: str | None) -> Any:
    """Return the positive label with the type of its column: "1" is a number there."""
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
    return next(
        (value for value in source.distinct(label, 3) if str(value) == text), text
    )


def with_verdicts(
    data: FileData, yes: str | None, abstain: Sequence[str] = ()
) -> FileData:
    """Make 0 and 1 of verdicts that are words: 1 where a verdict is ``yes``.

    Where it is one of ``abstain`` there is none.
    """
    types = data.source.types
    tests = data.request.scores
    text_columns = [column for column in tests if types[column] == "VARCHAR"]
    if yes is None:
        if text_columns:
            raise _positive_verdict_missing(data.source, text_columns[0])
        return data

    if {types[column] for column in tests} == {"BOOLEAN"}:
        # DuckDB reads yes and no as truth values
        yes = str(yes.lower() in _TRUE).lower()

    verdicts = {
        column: _distinct_verdicts(data.source, column, abstain)
        for column in (text_columns or tests)
    }
    _check_verdicts(verdicts, yes)

    other_columns = [
        quoted(column) for column in data.rows.columns if column not in verdicts
    ]
    columns = [*other_columns, *as_votes(verdicts, yes, abstain)]
    return replace(data, rows=data.rows.project(", ".join(columns)))


def _positive_verdict_missing(source: Source, column: str) -> InputError:
    """Return the error of verdicts that are words, none of them named as positive."""
    verdicts = [str(value) for value in source.distinct(column, 3)]
    if not verdicts:
        return InputError(f"Column {column!r} holds no verdicts. Leave it out.")

    return InputError(
        f"Verdicts must be 0 and 1; column {column!r} holds "
        f"{names_of(verdicts, 3)}. Which verdict means positive?",
        option="yes",
        choices=verdicts,
    )


def _distinct_verdicts(
    source: Source, column: str, abstain: Sequence[str]
) -> list[str]:
    """Return the distinct verdicts of a column as SQL writes them, abstentions aside.

    At most three of them: with more than two, a column holds no verdicts of a test.
    """
    verdicts = []
    for value in source.distinct(column, 3 + len(abstain)):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if text != "" and text not in abstain:
            verdicts.append(text)

    return verdicts


def _check_verdicts(verdicts: Mapping[str, Sequence[str]], yes: str) -> None:
    """Stop when a column has more than two verdicts, or none of them is ``yes``."""
    for column, values in verdicts.items():
        if len(values) > 2:
            raise InputError(
                "A positive verdict needs columns with two verdicts; column "
                f"{column!r} has {names_of(values, 3)} and perhaps more. Make a column "
                "of 0 and 1.",
                option="yes",
            )

    all_verdicts = [value for values in verdicts.values() for value in values]
    if yes not in all_verdicts:
        raise InputError(
            "The positive verdict must occur in the tests; no test has the verdict "
            f"{yes!r}; found {names_of(dict.fromkeys(all_verdicts))}.",
            option="yes",
        )


def as_votes(
    columns: Iterable[str], yes: str, abstain: Sequence[str] = ()
) -> list[str]:
    """Write columns of words as columns of 0 and 1, in SQL."""
    abstentions = ", ".join(map(text_in_sql, abstain))

    votes = []
    for name in map(quoted, columns):
        text = f"CAST({name} AS VARCHAR)"
        vote = f"CAST({text} = {text_in_sql(yes)} AS INTEGER)"
        if abstentions:
            vote = f"CASE WHEN {text} NOT IN ({abstentions}) THEN {vote} END"
        votes.append(f"{vote} AS {name}")

    return votes


def count_tally(data: FileData, score: str, by: bool = False) -> Any:
    """Count one score: a Tally, or one for each group."""
    return _count_rows(tally, data, by, score=score)


MAX_CLASSES = 30  # of a label that is answered class by class


def classes_of(data: FileData) -> dict[Any, str]:
    """Return the score of each class, where the label has more than two values.

    A column belongs to a class that it is called after: ``cat``, ``p_cat``,
    ``cat_score``. Empty when the label has two values or a positive one was named.
    """
    label = data.request.label
    if label is None or data.request.positive is not None:
        return {}

    values = data.source.distinct(label, MAX_CLASSES + 1)
    if data.source.reads_as(label) == "labels":
        return {}

    values = one_spelling(values)
    if len(values) < 3 or data.source.types[label].startswith(REAL_TYPES):
        return {}

    classes = [str(value) for value in values]
    scores_by_class = {
        name: [score for score in data.request.scores if is_called_after(score, name)]
        for name in classes
    }
    one_score_each = all(len(scores) == 1 for scores in scores_by_class.values())
    if len(values) <= MAX_CLASSES and one_score_each:
        return {name: scores[0] for name, scores in scores_by_class.items()}

    raise InputError(
        f"Column {label!r} holds more than two classes: "
        f"{names_of(scores_by_class, 6)}. Name one column of scores per class, each "
        "with the name of its class "
        f"({names_of([f'p_{name}' for name in scores_by_class], 3)}). Or make a column "
        "that is 1 for one class and 0 for the rest.",
        option="score",
    )


def count_classes(data: FileData, classes: Mapping[Any, str]) -> dict[str, Any]:
    """Count each class against the rest."""
    request = data.request
    design_columns = [
        name
        for name in (request.count, request.weight, request.cluster)
        if name is not None
    ]

    tallies = {}
    for class_name, score in classes.items():
        is_of_class = as_votes([str(request.label)], str(class_name))
        columns = [*is_of_class, *map(quoted, (score, *design_columns))]
        data_of_class = replace(data, rows=data.rows.project(", ".join(columns)))
        tallies[str(class_name)] = count_tally(data_of_class, score)

    return tallies


def count_panel(data: FileData, by: bool = False) -> Any:
    """Count all scores together: a Panel, or one for each group; counts are a Tally."""
    if data.request.label is None and are_counts(data.rows.columns):
        return count_tally(data, data.request.scores[0], by)
    return _count_rows(panel, data, by, scores=list(data.request.scores))


def _count_rows(
    count: Callable[..., Any], data: FileData, by: bool, **columns: object
) -> Any:
    """Return the counts of a file as its request says; print what was cleaned."""
    request = data.request
    reading_options: dict[str, Any] = {}
    if request.missing_scores is not None:
        reading_options["missing_scores"] = request.missing_scores
    if request.decimal is not None:
        reading_options["decimal"] = request.decimal

    with collected_remarks() as cleaning_remarks:
        counts = count(
            data.rows,
            by=request.by if by else None,
            **columns,
            **reading_options,
            **request.counting,
        )

    if request.strict:
        refuse_cleaned(cleaning_remarks)

    tell(cleaning_remarks)
    return invert_scores(counts) if request.invert else counts


def invert_scores(counts: Any, pivot: float | None = None) -> Any:
    """Return counts with scores turned round: fractions from 1, others by their sign.

    ``pivot`` states it for all scores: the score s becomes ``pivot - s``.
    """
    if isinstance(counts, dict):
        return {
            group: invert_scores(counts_of_group, pivot)
            for group, counts_of_group in counts.items()
        }

    if isinstance(counts, Tally):
        pivot_of_scores = pivot_of(counts.score) if pivot is None else pivot
        return counts.map(lambda score: pivot_of_scores - score)

    pivots = []
    for column in counts.rows.T:
        pivots.append(pivot_of(column) if pivot is None else pivot)
    return with_rows(counts, np.array(pivots) - counts.rows, counts.names)


def pivot_of(scores: Floats) -> float:
    """Return what scores are subtracted from: probabilities stay probabilities."""
    known_scores = scores[~np.isnan(scores)]
    are_fractions = (
        bool(known_scores.size) and known_scores.min() >= 0 and known_scores.max() <= 1
    )
    return 1.0 if are_fractions else 0.0


def refuse_cleaned(cleaning_remarks: Sequence[str]) -> None:
    """Raise an error where something had to be cleaned."""
    if cleaning_remarks:
        raise InputError(
            "With --strict nothing is cleaned, and this needed it: "
            f"{' '.join(cleaning_remarks)} Clean the file, or leave --strict out."
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
