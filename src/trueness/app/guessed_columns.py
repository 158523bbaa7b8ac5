"""Columns that an address leaves open: guessed as the command line guesses them.

``complete`` returns the columns with the guesses or, where one cannot be made, a
problem with the field that it is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import final

from trueness._core.checks.errors import InputError
from trueness.app.address import (
    CHOICE_WITHOUT_COLUMN,
    DEFAULT_LEVEL,
    FIELDS,
    ITEM_NAMES,
    KINDS,
    NO_COLUMN,
    NO_LABELS,
    PASSED_NAMES,
    SYSTEM_NAMES,
    WEIGHT_NAMES,
    DataChoice,
    column_or_none,
    columns_named,
    marked_field,
    page_text,
)
from trueness.app.files import DataFile
from trueness.cli._columns import choose_columns
from trueness.cli._long_files import refuse_long_file
from trueness.cli._source import REAL_TYPES, WHOLE_TYPES, Source, existing_column
from trueness.cli.judge import (
    WideTable,
    as_wide_table,
    column_in_log,
    data_of_judges,
    guess_votes,
    repeats_column_of_log,
)
from trueness.data.column_roles import (
    NODE_NAMES,
    Guess,
    find_label,
    has_no_label,
    is_score,
)
from trueness.data.count_columns import COUNT_NAMES, count_column
from trueness.data.data_tables import DataTable
from trueness.data.engines import quoted
from trueness.data.verdict_logs import ITEM, SYSTEM
from trueness.findings.request import Request
from trueness.nogold.verdicts import LABELLED


@final
@dataclass(frozen=True)
class CompleteData:
    """The columns of an address with those that were guessed, or what hinders it."""

    data: DataChoice
    chosen_columns: Request | None
    problems: Mapping[str, str]


def complete_columns(data: DataChoice) -> CompleteData:
    """Return the columns, with guesses for those that an address leaves open.

    Where a guess cannot be made, no columns are chosen, and a problem says why.
    """
    # guessing reads some rows
    with data.file.locked():
        completed_data = _with_guesses(data)
        kind = KINDS[completed_data.kind]
        try:
            _check_columns(completed_data)
            chosen_columns = _chosen_columns(completed_data, kind.guess)
        except InputError as err:
            problems = {marked_field(err, kind.option): page_text(err)}
            # the label may be clear all the same
            with suppress(InputError):
                label = _chosen_columns(completed_data, lambda *_: ()).label
                columns = replace(completed_data.columns, label=label)
                completed_data = replace(completed_data, columns=columns)
            return CompleteData(completed_data, None, problems)

    if kind.has_labels:
        completed_data = _with_kind_of_scores(completed_data, chosen_columns)

    if not completed_data.is_long:
        # in the order of the file, so that one choice has one address
        in_order = [
            name for name in data.file.source.types if name in chosen_columns.scores
        ]
        chosen_columns = replace(chosen_columns, scores=tuple(in_order))

    return CompleteData(
        _name_all_columns(completed_data, chosen_columns), chosen_columns, {}
    )


def _with_kind_of_scores(data: DataChoice, chosen_columns: Request) -> DataChoice:
    """Return the data as scores, or as verdicts of tests, which have no threshold."""
    table = data.file.source.table
    with data.file.locked():
        any_score = any(is_score(table, column) for column in chosen_columns.scores)
    return replace(data, kind="scores" if any_score else "verified")


def _name_all_columns(data: DataChoice, chosen_columns: Request) -> DataChoice:
    """Return the columns that were chosen, as an address would name them."""
    columns = replace(
        data.columns,
        label=chosen_columns.label or data.columns.label,
        scores=data.columns.scores if data.is_long else chosen_columns.scores,
        count=chosen_columns.count or NO_COLUMN,
    )
    has_systems = data.kind in ("judges", "systems")
    verdicts = replace(data.verdicts, system=chosen_columns.by if has_systems else None)

    return replace(data, columns=columns, verdicts=verdicts)


def _with_guesses(data: DataChoice) -> DataChoice:
    """Return the data with guesses of their kind, and of counts, weights and rules."""
    source = data.file.source
    kind = data.kind
    if not kind:
        is_log = bool(data.file.judges)
        kind = "systems" if is_log else guess_kind(source)
    if kind == "alone" and data.columns.label:
        kind = "scores"

    if kind == "systems":
        verdicts = replace(
            data.verdicts,
            item=data.verdicts.item or _guess_in_log(data.file, ITEM, ITEM_NAMES),
            system=data.verdicts.system
            or _guess_in_log(data.file, SYSTEM, SYSTEM_NAMES),
        )
        return replace(data, kind=kind, verdicts=verdicts)

    columns = data.columns
    taken = {
        *(columns.label, columns.by, columns.count, columns.cluster),
        *columns.scores,
    }
    weight = columns.weight
    if KINDS[kind].has_labels and weight is None:
        weight = _guess_weight(source, taken)

    rule = NO_COLUMN
    if kind == "leaves":
        rule = data.verdicts.rule or _guess_rule(source, taken)

    return replace(
        data,
        kind=kind,
        columns=replace(columns, weight=weight or NO_COLUMN),
        verdicts=replace(data.verdicts, rule=rule),
    )


def _guess_rule(source: Source, taken: set[str | None]) -> str:
    """Return the column that says in words what a leaf is, if there is one."""
    for name in columns_named(source.table, ("rule",)):
        if name not in taken:
            return name
    return NO_COLUMN


def _guess_in_log(file: DataFile, of_log: str, names: tuple[str, ...]) -> str | None:
    """Return the column of a log, or the one of a table that is called like it."""
    if file.judges:
        return column_in_log(file.source, of_log)
    return next(iter(columns_named(file.source.table, names)), None)


def _chosen_columns(data: DataChoice, guess: Guess) -> Request:
    """Return the columns that the command would choose for such a file."""
    if data.kind == "judges":
        return _columns_of_judges(data, guess)
    if data.kind == "systems":
        return _columns_of_attempts(data, guess)

    columns = data.columns
    kind = KINDS[data.kind]
    has_labels = kind.has_labels
    chosen = choose_columns(
        data.file.source,
        replace(
            columns,
            count=column_or_none(columns.count),
            weight=column_or_none(columns.weight),
            cluster=column_or_none(columns.cluster),
            missing_scores=columns.missing_scores if has_labels else None,
        ),
        option=kind.option,
        guess=guess,
        needs_label=data.kind not in ("tests", "alone"),
    )

    if not columns.count:
        others = (chosen.by, chosen.weight, chosen.cluster)
        table = data.file.source.table
        count = count_column(table, chosen.label, chosen.scores, others)
        chosen = replace(chosen, count=count)

    if has_labels:
        refuse_long_file(data.file.source, chosen)

    return chosen


def _check_columns(data: DataChoice) -> None:
    """Raise an error for weights of whole cases, and for a rule that is not there."""
    if not KINDS[data.kind].has_labels:
        for name in data.design_columns:
            raise InputError(
                f"{FIELDS[name]} is for cases with labels; here they are counted one "
                f"by one. Choose {CHOICE_WITHOUT_COLUMN[name]!r} there.",
                option=name,
            )

    existing_column(data.file.source, column_or_none(data.verdicts.rule), "--rule")


def wide_table(data: DataChoice) -> WideTable:
    """Return verdicts with a row per answer; in the file each may have its own row."""
    verdicts = data.verdicts

    if data.is_long and len(data.columns.scores) != 1:
        raise InputError(
            "Which column holds the names of the judges?",
            option="judge",
            choices=data.file.source.types,
        )

    if data.is_long and verdicts.item is None:
        raise InputError(
            "Which column names what was judged?",
            option="item",
            choices=data.file.source.types,
        )

    with data.file.locked():
        return as_wide_table(
            data.file.source,
            data.file.judges,
            judge=data.columns.scores,
            verdict=verdicts.verdict,
            item=verdicts.item,
            system=verdicts.system,
            label=column_or_none(data.columns.label),
        )


def _columns_of_judges(data: DataChoice, guess: Guess) -> Request:
    """Return the columns of verdicts and labels, as ``trueness judge`` chooses them.

    The labels, and how the labelled cases were chosen, are never guessed.
    """
    columns = data.columns
    if columns.label is None:
        raise InputError(
            "Which column holds the labels? Where there are none, choose "
            f"{NO_LABELS!r} there.",
            option="label",
            choices=data.file.source.types,
        )

    label = column_or_none(columns.label)
    existing_column(data.file.source, label, "--label")
    count = column_or_none(columns.count)
    wide = wide_table(data)
    taken = {label, count, wide.item, wide.system}
    judges = wide.judges or tuple(guess(wide.source.table, taken))
    file_data = data_of_judges(
        replace(wide, judges=judges),
        label=label,
        positive=columns.positive or data.verdicts.yes,
        count=count,
        cluster=repeats_column_of_log(wide.source, data.file.judges),
        level=DEFAULT_LEVEL,
        seed=0,
    )

    if label is not None and data.verdicts.labelled is None:
        raise InputError(
            "Were the labelled cases chosen at random, by the verdicts of the judges, "
            "or by their true label? The data do not show it.",
            option="labelled",
            choices=LABELLED,
        )

    return file_data.request


def _columns_of_attempts(data: DataChoice, guess: Guess) -> Request:
    """Return the columns of attempts, as ``trueness evals`` chooses them.

    They hold what was tried, whether it passed, and by which system.
    """
    source = data.file.source
    if data.verdicts.item is None:
        raise InputError(
            "Which column names what was tried?",
            option="item",
            choices=source.types,
        )

    passed = data.columns.scores or data.file.judges[:1] or guess(source.table, set())
    if len(passed) != 1:
        raise InputError(
            "Which column says what passed?",
            option="passed",
            choices=source.types,
        )

    system = column_or_none(data.verdicts.system)
    existing_column(source, data.verdicts.item, "--item")
    existing_column(source, passed[0], "--passed")
    existing_column(source, system, "--system")

    return Request(scores=tuple(passed), by=system)


def guess_kind(source: Source) -> str:
    """Return the kind of data: scores, labelled or not, tests, leaves or attempts."""
    names = {column.lower() for column in source.types}
    if names & {*PASSED_NAMES} and names & {*ITEM_NAMES}:
        return "systems"

    has_fractions = any(kind.startswith(REAL_TYPES) for kind in source.types.values())
    if not has_fractions and names & set(NODE_NAMES):
        return "leaves"
    if has_no_label(source.table, set()):
        return "alone" if has_fractions else "scores"
    if has_fractions or _has_label(source.table):
        return "scores"

    count_columns: set[str | None] = {
        column for column in source.types if column.lower() in COUNT_NAMES
    }
    try:
        guess_votes(source.table, count_columns)
    except InputError:
        return "scores"

    return "tests"


def _has_label(table: DataTable) -> bool:
    """Return whether one column is beyond doubt that of the labels."""
    try:
        find_label(table, set())
    except InputError:
        return False
    return True


def _guess_weight(source: Source, taken: set[str | None]) -> str | None:
    """Return the column that is called like weights, and can hold them."""
    for name, kind in source.types.items():
        is_number = kind in WHOLE_TYPES or kind.startswith(REAL_TYPES)
        is_called_so = name.lower() in WEIGHT_NAMES and name not in taken
        if not is_called_so or not is_number:
            continue

        ((smallest,),) = source.rows.aggregate(f"min({quoted(name)})").fetchall()
        if smallest is not None and smallest >= 0:
            return name
        return None

    return None
