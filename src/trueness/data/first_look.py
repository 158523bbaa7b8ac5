"""What is in this file, and what can be asked of it?

``look`` says of each column what it could be and what is wrong with it, then which
questions the columns can answer. It decides nothing: whoever asks names the columns.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.data_types import Frame
from trueness._core.figures import html_table
from trueness._core.numbers import counted, listed
from trueness._core.records import Record, native_frame, shown
from trueness.counts.cases import COUNTS
from trueness.counts.design import CANNOT
from trueness.data import cleaning, engines
from trueness.data.column_names import plain_name
from trueness.data.column_roles import (
    LABEL_NAMES,
    NODE_NAMES,
    SCORE_NAMES,
    WEIGHT_NAMES,
    FoundColumns,
    find_columns,
    has_no_label,
    is_binary,
    several_scores,
)
from trueness.data.count_columns import COUNT_NAMES
from trueness.data.frame_tables import FrameTable
from trueness.data.named_roles import (
    ITEM_NAMES,
    READING_NAMES,
    column_called,
    find_winners,
)
from trueness.data.storage import are_counts, count_columns_of
from trueness.data.study_tables import has_study_tables

_CLUSTER_WORDS = ("patient", "subject", "person", "user", "site", "cluster",
                  "household")  # fmt: skip
_ITEM_WORDS = ("item", "question", "prompt", "case", "doc", "document", "task")
_JUDGE_WORDS = ("judge", "rater", "annotator", "reader", "reviewer", "grader", "model",
                "system")  # fmt: skip
MAX_ROWS = 100_000  # that are read
MAX_GROUPS = 50  # a column with more values is no group
# errors of three scores can be told apart by their agreement, those of two cannot
MIN_SCORES_FOR_AGREEMENT = 3
MAX_COMPARED = 12  # scores that are named in one command
_KINDS_OF_TEXT = {"numbers": "numbers as text", "missing": "nothing"}


@final
@dataclass(frozen=True)
class ColumnSummary:
    """Content of one column, in the rows that were read."""

    name: str
    kind: str  # numbers, whole numbers, words, dates, nothing, ...
    distinct: int
    missing: int
    could_be: tuple[str, ...]  # label, score, group, ..., the likeliest first
    remarks: tuple[str, ...]  # what is wrong with it, or has to be known

    def __str__(self) -> str:
        contents = f"{self.kind}, {counted(self.distinct, 'value')}"
        if self.missing:
            contents += f", {self.missing:,} missing"
        if self.could_be:
            contents += f"; could be {listed(self.could_be, 'or')}"
        return f"{contents}. {' '.join(self.remarks)}".strip()


@final
@dataclass(frozen=True)
class SuggestedQuestion:
    """Question that columns can answer, with its function and its command."""

    question: str
    function: str
    command: str
    columns: Mapping[str, Any]

    @property
    def call(self) -> str:
        """Return what to type in Python."""
        named = [f"{role}={name!r}" for role, name in self.columns.items()]
        return f"trueness.{self.function}({', '.join(['frame', *named])})"


@final
@dataclass(frozen=True, repr=False)
class Look(Record):
    """Columns of a frame or a file, and the questions that they can answer.

    Attributes
    ----------
    rows : int
        Number of rows that were read.
    columns : tuple of ColumnSummary
        The columns and their content.
    questions : tuple of SuggestedQuestion
        The questions that can be answered, with what to type.
    """

    rows: int
    columns: tuple[ColumnSummary, ...]
    questions: tuple[SuggestedQuestion, ...]

    def could_be(self, role: str) -> list[str]:
        """Return the columns whose likeliest role is this one."""
        return [
            column.name for column in self.columns if column.could_be[:1] == (role,)
        ]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a frame with one row for each column."""
        table = {
            "name": [column.name for column in self.columns],
            "kind": [column.kind for column in self.columns],
            "distinct": [column.distinct for column in self.columns],
            "missing": [column.missing for column in self.columns],
            "could_be": [", ".join(column.could_be) for column in self.columns],
            "remarks": [" ".join(column.remarks) for column in self.columns],
        }

        return native_frame(table, backend)

    def __repr__(self) -> str:
        """Return a line for each column, then the questions."""
        lines = [f"  {shown(column.name, 40)}: {column}" for column in self.columns]
        questions = [
            f"  {question.question} {question.call}" for question in self.questions
        ]
        return "\n".join([f"Look at {counted(self.rows, 'row')}:", *lines, *questions])

    def _repr_html_(self) -> str:
        rows = [(column.name, str(column)) for column in self.columns]
        questions = [(question.question, question.call) for question in self.questions]
        return html_table(("column", "what it holds"), rows) + html_table(
            ("question", "type"), questions
        )


def look(data: Frame | str | os.PathLike[str]) -> Look:
    """First look at a frame or a file: its columns, and the questions that it can
    answer.

    Parameters
    ----------
    data
        A file, such as ``"preds.parquet"``; a frame of any library, lazy ones too; or a
        mapping from name to column.

    Notes
    -----
    At most the first 100,000 rows are read, and nothing is sent anywhere. Names and
    values suggest the role of a column; analyses do not rely on these suggestions.

    Examples
    --------
    >>> found = look({"sick": ["yes", "no", "No"], "risk": ["16,7 %", "3 %", "8 %"]})
    >>> found.could_be("label"), found.could_be("score")
    (['sick'], ['risk'])
    """
    if isinstance(data, (str, os.PathLike)):
        # DuckDB is loaded when a file is opened
        from trueness.data.files import scan
        from trueness.data.verdict_logs import is_log

        if is_log(os.fsdecode(data)):
            return Look(0, (), (SuggestedQuestion(*_QUESTION_OF_ATTEMPTS, {}),))
        return _look_at_table(scan(data))
    return _look_at_table(data)


def _look_at_table(frame: Frame) -> Look:
    """Return what is in the first rows of a frame or a mapping."""
    table, _ = engines.with_text_names(frame, {})
    unread = engines.unread_columns(table)
    names = [name for name in engines.column_names(table) if name not in unread]
    columns = engines.columns_of(table, names, max_rows=MAX_ROWS) if names else {}
    if not columns:
        raise NotEnoughCases("look needs columns of numbers or text; found none.")

    first_column = next(iter(columns.values()))
    rows = len(first_column)
    summaries = tuple(_look_at_column(name, values) for name, values in columns.items())
    summaries += tuple(
        _summary_of_unread(name, content) for name, content in unread.items()
    )

    if are_counts(columns):
        return _look_at_counts(rows, summaries, columns)
    if has_study_tables(columns):
        return Look(rows, summaries, (SuggestedQuestion(*_QUESTION_OF_STUDIES, {}),))
    if find_winners(columns) is not None and not column_called(columns, ITEM_NAMES):
        return Look(rows, summaries, (SuggestedQuestion(*_QUESTION_OF_WINNERS, {}),))

    found_columns = _found_columns(columns)
    if found_columns is None:
        scores_alone = _scores_without_labels(columns)
        if scores_alone:
            return Look(rows, summaries, _questions_without_labels(scores_alone))

    questions = (
        _questions_of_leaves(summaries)
        or _questions_of_tests(summaries, rows, found_columns)
        or _questions(summaries, rows, found_columns, _classes(columns, found_columns))
    )
    return Look(rows, summaries, questions)


def _look_at_counts(
    rows: int, summaries: Sequence[ColumnSummary], columns: Mapping[str, Array]
) -> Look:
    """Return what can be asked of a table of counts, whose cases are in few rows."""
    counts = {role: columns[name] for role, name in count_columns_of(columns).items()}
    counted_columns = tuple(_summary_of_counts(column, counts) for column in summaries)
    questions = tuple(
        SuggestedQuestion(*question, {}) for question in _QUESTIONS_OF_ONE_SCORE
    )
    return Look(rows, counted_columns, questions)


def _found_columns(columns: Mapping[str, Array]) -> FoundColumns | None:
    """Return label and scores as the analyses find them; None where there is doubt."""
    try:
        return find_columns(
            FrameTable(columns), label=None, scores=(), guess=several_scores
        )
    except InputError:
        return None


def _classes(columns: Mapping[str, Array], found: FoundColumns | None) -> str:
    """Return the two classes of which the positive one must be named; else nothing."""
    if found is None or found.label is None:
        return ""

    table = FrameTable({found.label: columns[found.label]})
    classes = [str(value) for value in table.distinct(found.label, 2)]
    if is_binary(table, found.label) or len(classes) != 2:
        return ""
    return "|".join(classes)


def _scores_without_labels(columns: Mapping[str, Array]) -> tuple[str, ...]:
    """Return the scores of a table in which no column could hold labels."""
    table = FrameTable(columns)
    if not has_no_label(table, set()):
        return ()

    try:
        columns_found = find_columns(
            table, label=None, scores=(), guess=several_scores, needs_label=False
        )
    except InputError:
        return ()

    return columns_found.scores


def _questions_of_tests(
    summaries: Sequence[ColumnSummary], rows: int, columns: FoundColumns | None
) -> tuple[SuggestedQuestion, ...]:
    """Return what can be asked of tests whose truth is in the file."""
    if columns is None:
        return ()

    by_name = {column.name: column for column in summaries}
    label = by_name[str(columns.label)]
    mostly_unlabelled = 2 * label.missing > rows
    holds_attempts = any("item" in column.could_be for column in summaries)
    all_are_tests = all(_could_be_verdict(by_name[name]) for name in columns.scores)
    if not all_are_tests or holds_attempts or mostly_unlabelled:
        return ()

    arguments = {"label": label.name, "scores": list(columns.scores)}
    questions = [
        SuggestedQuestion("How good is each test?", "evaluate", "evaluate", arguments)
    ]
    if len(columns.scores) > 1:
        questions.append(
            SuggestedQuestion("Which test is better?", "compare", "compare", arguments)
        )

    return tuple(questions)


def _could_be_verdict(column: ColumnSummary) -> bool:
    """Return whether the values of a column could be those of a binary test."""
    return "label" in column.could_be or "judge" in column.could_be


def _questions_of_leaves(
    summaries: Sequence[ColumnSummary],
) -> tuple[SuggestedQuestion, ...]:
    """Return what can be asked of the leaves of a tree and of the labels."""
    by_role = _by_likeliest_role(summaries)
    labels = _names(by_role.get("label", []))
    counts = _names(by_role.get("count", []))
    nodes = [name for name in _names(summaries) if name.lower() in NODE_NAMES]
    # leaves that are numbered look like scores
    scores = [name for name in _names(by_role.get("score", [])) if name not in nodes]
    if len(nodes) != 1 or len(labels) != 1 or scores:
        return ()

    columns = {"node": nodes[0], "label": labels[0]}
    if counts:
        columns["count"] = counts[0]

    return (
        SuggestedQuestion("Can this leaf be trusted?", "leaves", "leaves", columns),
    )


def _summary_of_counts(
    column: ColumnSummary, counts: Mapping[str, Array]
) -> ColumnSummary:
    """Return the summary of a column of counts, with its role in the format."""
    role = column.name.lower()
    if role not in counts:
        return column

    remarks: tuple[str, ...] = ()
    if role == "score":
        number = int(sum(counts[kind].sum() for kind in COUNTS))
        remarks = (f"The file holds counts of {number:,} cases.",)

    return replace(column, could_be=(role,), remarks=remarks)


def _summary_of_unread(name: str, content: str) -> ColumnSummary:
    """Return the summary of a column that is not read."""
    return ColumnSummary(
        name=name,
        kind=content,
        distinct=0,
        missing=0,
        could_be=(),
        remarks=("It is not read.",),
    )


def _look_at_column(name: str, values: Array) -> ColumnSummary:
    """Return what one column holds: its kind, its values, what it could be."""
    present = values[~_columns.missing(values)]
    remarks: list[str] = []
    kind = _kind(present)
    meaning = ""

    if cleaning.has_text(present):
        meaning = cleaning.meaning(present.tolist())
        kind = _KINDS_OF_TEXT.get(meaning, "words")
        # a column of labels names its words for a missing label itself
        if meaning != "labels":
            present, remarks = _without_missing_words(present)

    try:
        distinct = list(dict.fromkeys(present.tolist()))
    except TypeError:  # lists, or objects with parts
        return ColumnSummary(
            name=name,
            kind="lists or objects",
            distinct=0,
            missing=int(_columns.missing(values).sum()),
            could_be=(),
            remarks=("It holds lists or objects: extract the part that you need.",),
        )

    remarks += _remarks(name, present, distinct, meaning)

    if meaning == "text":
        few_texts = cleaning.few_words(values.tolist())
        if few_texts:
            remarks.append(f"It has {few_texts}; all others are numbers.")

    return ColumnSummary(
        name=name,
        kind=kind,
        distinct=len(distinct),
        missing=values.size - present.size,
        could_be=_could_be(
            plain_name(name) or name.lower(), kind, present, distinct, meaning
        ),
        remarks=tuple(remarks),
    )


def _without_missing_words(values: Array) -> tuple[Array, list[str]]:
    """Return values without words for a missing one, and a remark on these words."""
    is_missing = np.array(
        [cleaning.is_missing_word(value) for value in values.tolist()], dtype=bool
    )
    distinct = dict.fromkeys(values[is_missing].tolist())
    visible = [word for word in distinct if str(word).strip()]
    remarks = []

    if visible:
        remarks.append(f"Missing values are written {listed(visible[:3], 'or')}.")

    return values[~is_missing], remarks


def _kind(values: Array) -> str:
    """Return the kind of values of a column, none of which is missing."""
    if not values.size:
        return "nothing"

    first_values = values[:100].tolist()
    if values.dtype.kind == "b" or all(isinstance(v, bool) for v in first_values):
        return "true and false"
    if values.dtype.kind in "mM" or hasattr(values[0], "isoformat"):
        return "dates"

    try:
        number = _columns.numeric_scores(values, "")
    except InputError:
        return "words"

    is_whole = np.isfinite(number).all() and (number == np.floor(number)).all()
    return "whole numbers" if is_whole else "numbers"


def _remarks(
    name: str, values: Array, distinct: Sequence[Any], meaning: str
) -> list[str]:
    """Return remarks on what is wrong with a column, and how its words are read."""
    remarks: list[str] = []
    if meaning == "labels":
        labels = cleaning.label_words(distinct, None, name)
        remarks += cleaning.label_remarks(labels)

    if meaning == "numbers":
        try:
            way = cleaning.read_numbers(values, "The column").way
            remarks.append(f"It is {way}.")
        except InputError as err:
            remarks.append(err.message)

    if values.size > 1 and len(distinct) == 1:
        remarks.append("Every row has the same value.")
    if values.dtype.kind == "f" and np.isinf(values).any():
        remarks.append(f"{int(np.isinf(values).sum()):,} values are infinite.")

    return remarks


def _could_be(
    name: str, kind: str, values: Array, distinct: Sequence[Any], meaning: str
) -> tuple[str, ...]:
    """Return the roles that a column could have, the likeliest first."""
    number_distinct = len(distinct)
    is_number = kind in ("numbers", "whole numbers", "numbers as text")
    is_whole = kind == "whole numbers"
    has_two_values = _has_two_values(kind, distinct, meaning)

    all_differ = number_distinct == values.size > 20
    is_identifier = "id" in _parts_of_name(name) or (is_whole and all_differ)
    most_groups = min(MAX_GROUPS, max(2, values.size // 3))
    could_be_group = (
        1 < number_distinct <= most_groups
        and not has_two_values
        and kind in ("words", "whole numbers")
    )

    roles = []

    if name in LABEL_NAMES or has_two_values:
        roles.append("label")

    roles += _roles_by_name(name, kind, values.size, number_distinct)

    # where the name tells nothing, the values do
    is_fraction = (
        is_number and not is_whole and not is_identifier and number_distinct > 1
    )
    if name in SCORE_NAMES or (is_fraction and not roles):
        roles.append("score")
    if has_two_values:
        roles.append("judge")
    if could_be_group:
        roles.append("group")
    if could_be_group and kind == "words" and number_distinct == 2:
        roles.append("label")
    if is_whole and not is_identifier and not roles and number_distinct > 2:
        roles.append("score")

    return tuple(dict.fromkeys(roles))


def _has_two_values(kind: str, distinct: Sequence[Any], meaning: str) -> bool:
    """Return whether a column holds two values as labels are written."""
    if kind == "true and false" or meaning == "labels":
        return True
    return kind == "whole numbers" and set(distinct) in ({0, 1}, {-1, 1})


def _parts_of_name(name: str) -> set[str]:
    """Return a name and its words: of "judge_id2" also "judge" and "id"."""
    without_number = re.sub(r"\d+$", "", name)
    return {name, *without_number.replace("-", "_").split("_")}


def _roles_by_name(name: str, kind: str, size: int, number_distinct: int) -> list[str]:
    """Return the roles that the name of a column tells, where its values allow them."""
    parts = _parts_of_name(name)
    is_whole = kind == "whole numbers"
    is_number = is_whole or kind in ("numbers", "numbers as text")

    roles = []

    if is_whole and name in COUNT_NAMES:
        roles.append("count")
    if is_number and name in WEIGHT_NAMES:
        roles.append("weight")
    if parts & set(_CLUSTER_WORDS) and 1 < number_distinct < size:
        roles.append("cluster")
    if parts & set(_ITEM_WORDS) and number_distinct > 1:
        roles.append("item")
    if parts & set(_JUDGE_WORDS) and kind == "words":
        roles.append("judge")

    return roles


_QUESTIONS_OF_ONE_SCORE = (
    ("How good is the score?", "evaluate", "evaluate"),
    ("Where should the threshold be?", "best_threshold", "threshold"),
    ("What does a score mean as a probability?", "calibrate", "calibrate"),
)


def _is_study_of_readers(summaries: Sequence[ColumnSummary]) -> bool:
    """Return whether columns are called reader, treatment and case, or alike."""
    names = _names(summaries)
    return all(
        column_called(names, READING_NAMES[role]) for role in _READER_STUDY_ROLES
    )


def _questions_of_readers(
    summaries: Sequence[ColumnSummary],
    labels: Sequence[str],
    scores: Sequence[str],
    items: Sequence[str],
) -> tuple[SuggestedQuestion, ...]:
    """Return what can be asked of a study of readers."""
    numbers = [column.name for column in summaries if column.kind.endswith("numbers")]
    others = {*labels, *items}
    for role in _READER_STUDY_ROLES:
        others.add(str(column_called(_names(summaries), READING_NAMES[role])))
    ratings = [name for name in (*scores, *numbers) if name not in others]
    if not ratings:
        return ()

    study = SuggestedQuestion(
        "Do readers do better with one treatment?",
        "reader_study",
        "readers",
        {"label": labels[0], "score": ratings[0]},
    )

    return (study,)


def _by_likeliest_role(
    summaries: Sequence[ColumnSummary],
) -> dict[str, list[ColumnSummary]]:
    """Return the columns by the likeliest role of each."""
    by_role: dict[str, list[ColumnSummary]] = {}
    for column in summaries:
        if column.could_be:
            by_role.setdefault(column.could_be[0], []).append(column)
    return by_role


def _questions(
    summaries: Sequence[ColumnSummary],
    rows: int,
    columns: FoundColumns | None,
    classes: str,
) -> tuple[SuggestedQuestion, ...]:
    """Return what can be asked of these columns.

    ``classes`` are those of which a person must choose the positive one.
    """
    by_role = _by_likeliest_role(summaries)
    labels = _names(by_role.get("label", []))
    scores = _names(by_role.get("score", []))
    items = _names(by_role.get("item", []))
    judges = _names(by_role.get("judge", []))

    if labels and _is_study_of_readers(summaries):
        return _questions_of_readers(summaries, labels, scores, items)

    binary = {column.name for column in summaries if "label" in column.could_be}
    if columns is not None and not {*columns.scores} <= binary:
        # the questions are about the columns that the analyses find
        labels = [str(columns.label)]
        scores = list(columns.scores)

    design = _design_arguments(by_role, rows)
    if classes:
        design["positive"] = classes
    questions: list[SuggestedQuestion] = []
    if labels and scores:
        questions += _questions_of_one_score(summaries, labels[0], scores, design)
    if labels and len(scores) > 1:
        questions += _questions_of_several_scores(
            labels[0], scores[:MAX_COMPARED], design
        )

    # a label that is mostly missing is the truth of a few cases
    holds_few_labels = any(
        2 * column.missing > rows for column in by_role.get("label", ())
    )
    enough_votes = len(labels) > 2 or (len(labels) == 2 and holds_few_labels)
    if enough_votes and not scores:
        questions += _questions_of_votes(by_role["label"], labels, rows)
    elif labels and not scores and items:
        attempts = {"item": items[0], "passed": labels[0]}
        if judges:
            attempts["system"] = judges[0]
        questions.append(SuggestedQuestion(*_QUESTION_OF_ATTEMPTS, attempts))

    return tuple(questions)


def _names(columns: Sequence[ColumnSummary]) -> list[str]:
    """Return the names of the columns."""
    return [column.name for column in columns]


def _design_arguments(
    by_role: Mapping[str, Sequence[ColumnSummary]], rows: int
) -> dict[str, str]:
    """Return the columns of weights and clusters, and what missing scores need."""
    arguments: dict[str, str] = {}
    if by_role.get("weight"):
        arguments["weight"] = by_role["weight"][0].name

    # two clusters say nothing: of several columns the finest, and none of two values
    repeated_items = [
        column
        for column in by_role.get("item", ())
        if column.distinct < rows - column.missing
    ]
    clusters = [
        column
        for column in by_role.get("cluster", repeated_items)
        if column.distinct > 2
    ]
    if clusters:
        arguments["cluster"] = max(clusters, key=lambda column: column.distinct).name
    if any(column.missing for column in by_role.get("score", ())):
        arguments["missing_scores"] = "drop"

    return arguments


def _questions_of_one_score(
    summaries: Sequence[ColumnSummary],
    label: str,
    scores: Sequence[str],
    design: Mapping[str, str],
) -> list[SuggestedQuestion]:
    """Return what can be asked of the first score and its labels, also in groups."""
    columns = {"label": label, "score": scores[0]}
    questions = [
        SuggestedQuestion(*question, {**columns, **design})
        for question in _QUESTIONS_OF_ONE_SCORE
    ]
    groups = [
        column.name
        for column in summaries
        if "group" in column.could_be
        and column.name not in (label, *scores, *design.values())
    ]
    if groups:
        by_group = {**columns, "by": groups[0], **design}
        questions.append(
            SuggestedQuestion(
                "Is it as good in every group?", "auc", "evaluate", by_group
            )
        )

    return questions


def _questions_of_several_scores(
    label: str, scores: Sequence[str], design: Mapping[str, str]
) -> list[SuggestedQuestion]:
    """Return what can be asked of scores of the same cases."""
    columns = {"label": label, "scores": scores, **design}
    questions = [
        SuggestedQuestion("Which score is better?", "compare_auc", "compare", columns)
    ]

    if not {*design} & {*CANNOT["compare_combiners"]}:
        combined = "Would they be better together?"
        questions.append(
            SuggestedQuestion(combined, "compare_combiners", "combine", columns)
        )

    return questions


def _questions_of_votes(
    binary: Sequence[ColumnSummary], names: Sequence[str], rows: int
) -> list[SuggestedQuestion]:
    """Return what can be asked of tests or judges, where few cases have a label."""
    # a column that is mostly empty has the labels of a few cases
    mostly_empty = [column.name for column in binary if 2 * column.missing > rows]
    truth = {"label": mostly_empty[0]} if mostly_empty else {}
    votes = {"scores": [name for name in names if name not in truth.values()]}
    questions = []

    if truth:
        questions.append(
            SuggestedQuestion(
                "What is the true pass rate if judges make errors?",
                "prevalence",
                "judge",
                {**votes, **truth, "labelled": "random"},
            )
        )

    if len(votes["scores"]) > 1:
        questions.append(
            SuggestedQuestion(
                "How good is each test, without a known truth?",
                "latent_class",
                "nogold",
                {**votes, **truth},
            )
        )

    return questions


def _questions_without_labels(scores: Sequence[str]) -> tuple[SuggestedQuestion, ...]:
    """Return what can be asked of scores when no column holds labels."""
    all_scores = {"scores": list(scores)}
    questions = []

    if len(scores) >= MIN_SCORES_FOR_AGREEMENT:
        questions.append(
            SuggestedQuestion(
                "What does the agreement of scores show, without labels?",
                "agreement",
                "evaluate",
                all_scores,
            )
        )

    if len(scores) > 1:
        questions.append(
            SuggestedQuestion(
                "How are scores combined, without labels?",
                "wisdom_of_crowds",
                "combine",
                all_scores,
            )
        )

    flag_a_tenth = {
        "score": scores[0],
        "maximize": "flagged",
        "subject_to": "flagged_rate <= 0.1",
    }
    questions.append(
        SuggestedQuestion(
            "Which threshold flags a tenth of the cases?",
            "best_threshold",
            "threshold",
            flag_a_tenth,
        )
    )

    return tuple(questions)


_QUESTION_OF_STUDIES = ("Does it hold in every study?", "summary_roc", "sites")
_QUESTION_OF_WINNERS = ("Which system wins more often?", "head_to_head", "evals")
_QUESTION_OF_ATTEMPTS = ("How often do systems pass?", "attempts", "evals")
_READER_STUDY_ROLES = ("reader", "treatment", "case")
