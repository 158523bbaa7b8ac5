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
from trueness._core.figures import html_table
from trueness._core.numbers import counted, listed
from trueness._core.records import Record, native_frame, shown
from trueness.counts.cases import COUNTS
from trueness.counts.design import CANNOT
from trueness.data import cleaning, engines
from trueness.data.column_roles import (
    COUNT_NAMES,
    LABEL_NAMES,
    SCORE_NAMES,
    WEIGHT_NAMES,
    FoundColumns,
    FrameTable,
    find_columns,
    has_no_label,
    several_scores,
)
from trueness.data.storage import are_counts, count_columns_of

_CLUSTER_WORDS = ("patient", "subject", "person", "user", "site", "cluster",
                  "household")  # fmt: skip
_ITEM_WORDS = ("item", "question", "prompt", "case", "doc", "document", "task")
_JUDGE_WORDS = ("judge", "rater", "annotator", "reader", "reviewer", "grader", "model",
                "system")  # fmt: skip
MOST_ROWS = 100_000  # that are looked at
MOST_GROUPS = 50
LEAST_FOR_AGREEMENT = 3  # scores whose agreement tells something
NODE_NAMES = ("leaf", "node", "segment")  # of the leaves of a tree


@final
@dataclass(frozen=True)
class LookedColumn:
    """What is in one column, among the rows looked at?"""

    name: str
    kind: str  # numbers, whole numbers, words, dates, nothing, ...
    distinct: int
    missing: int
    could_be: tuple[str, ...]  # label, score, group, ..., the likeliest first
    remarks: tuple[str, ...]  # what is wrong with it, or has to be known

    def __str__(self) -> str:
        gone = f", {self.missing:,} missing" if self.missing else ""
        role = f"; could be {listed(self.could_be, 'or')}" if self.could_be else ""
        held = f"{self.kind}, {counted(self.distinct, 'value')}{gone}{role}."
        return f"{held} {' '.join(self.remarks)}".strip()


@final
@dataclass(frozen=True)
class LookedQuestion:
    """What can be asked, of which columns, by which function and command?"""

    question: str
    function: str
    command: str
    columns: Mapping[str, Any]

    @property
    def call(self) -> str:
        """Write what to type in Python."""
        words = ", ".join(f"{k}={v!r}" for k, v in self.columns.items())
        return f"trueness.{self.function}(frame{', ' if words else ''}{words})"


@final
@dataclass(frozen=True, repr=False)
class Look(Record):
    """What is in a frame or a file?

    Attributes
    ----------
    rows : int
        How many rows were looked at.
    columns : tuple of LookedColumn
        What each column holds.
    questions : tuple of LookedQuestion
        What can be asked, with the words to type.
    """

    rows: int
    columns: tuple[LookedColumn, ...]
    questions: tuple[LookedQuestion, ...]

    def could_be(self, role: str) -> list[str]:
        """Which columns could be this, as what they are likeliest to be?"""
        return [c.name for c in self.columns if c.could_be[:1] == (role,)]

    def to_frame(self, backend: str | None = None) -> Any:
        """Give one row a column."""
        names = ("name", "kind", "distinct", "missing")
        made: dict[str, Any] = {n: [getattr(c, n) for c in self.columns] for n in names}
        made["could_be"] = [", ".join(c.could_be) for c in self.columns]
        made["remarks"] = [" ".join(c.remarks) for c in self.columns]
        return native_frame(made, backend)

    def __repr__(self) -> str:
        """One line a column, then what can be asked."""
        lines = [f"  {shown(c.name, 40)}: {c}" for c in self.columns]
        asked = [f"  {q.question} {q.call}" for q in self.questions]
        return "\n".join([f"Look at {counted(self.rows, 'row')}:", *lines, *asked])

    def _repr_html_(self) -> str:
        rows = [(c.name, str(c)) for c in self.columns]
        asked = [(q.question, q.call) for q in self.questions]
        return html_table(("column", "what it holds"), rows) + html_table(
            ("question", "type"), asked
        )


def look(data: object) -> Look:
    """What is in this frame, and what can be asked of it?

    Parameters
    ----------
    data
        A file, such as ``"preds.parquet"``; a frame of any library, lazy ones too; or a
        mapping from name to column.

    Notes
    -----
    At most the first 100,000 rows are read, and nothing is sent anywhere. Names and
    values decide what a column could be; nothing is assumed by the analyses.

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
            return Look(0, (), (LookedQuestion(*_OF_A_LOG, {}),))
        data = scan(data)
    table, _ = engines.with_text_names(data, {})
    unread = engines.unread_columns(table)
    names = [name for name in engines.column_names(table) if name not in unread]
    columns = engines.columns_of(table, names, most=MOST_ROWS)
    if not columns:
        raise NotEnoughCases("look needs columns of numbers or text; found none.")
    rows = len(next(iter(columns.values())))
    looked = tuple(_looked(name, values) for name, values in columns.items())
    looked += tuple(_unread(name, content) for name, content in unread.items())
    if are_counts(columns):
        held = {k: columns[n] for k, n in count_columns_of(columns).items()}
        looked = tuple(_counted(c, held) for c in looked)
        asked = tuple(LookedQuestion(*words, {}) for words in _ONE_SCORE)
        return Look(rows, looked, asked)
    found = _found_columns(columns)
    if found is None:
        unlabelled = _scores_without_labels(columns)
        if unlabelled:
            return Look(rows, looked, _questions_without_labels(unlabelled))
    special = _questions_of_leaves(looked) or _questions_of_tests(looked, rows, found)
    return Look(rows, looked, special or _questions(looked, rows, found))


def _found_columns(columns: Mapping[str, Array]) -> FoundColumns | None:
    """Find label and scores as the analyses do; None where there is doubt."""
    try:
        return find_columns(
            FrameTable(columns), label=None, scores=(), guess=several_scores
        )
    except InputError:
        return None


def _scores_without_labels(columns: Mapping[str, Array]) -> tuple[str, ...]:
    """Return the scores of a table in which no column could hold labels."""
    table = FrameTable(columns)
    if not has_no_label(table, set()):
        return ()
    try:
        found = find_columns(
            table, label=None, scores=(), guess=several_scores, needs_label=False
        )
    except InputError:
        return ()
    return found.scores


def _questions_of_tests(
    looked: Sequence[LookedColumn], rows: int, found: FoundColumns | None
) -> tuple[LookedQuestion, ...]:
    """What can be asked of tests of which the truth is in the file?"""
    if found is None:
        return ()
    by_name = {column.name: column for column in looked}
    label = by_name[str(found.label)]
    verdicts = [by_name[name] for name in found.scores]
    tests = all("label" in v.could_be or "judge" in v.could_be for v in verdicts)
    attempts = any("item" in column.could_be for column in looked)
    if not tests or attempts or 2 * label.missing > rows:
        return ()
    columns = {"label": label.name, "scores": list(found.scores)}
    questions = [("How good is each test?", "evaluate", "evaluate", columns)]
    if len(verdicts) > 1:
        questions.append(("Which test is better?", "compare", "compare", columns))
    return tuple(LookedQuestion(*question) for question in questions)


def _questions_of_leaves(looked: Sequence[LookedColumn]) -> tuple[LookedQuestion, ...]:
    """What can be asked of the leaves of a tree, and the labels of their cases?"""
    nodes = [c.name for c in looked if c.name.lower() in NODE_NAMES]
    labels = [c.name for c in looked if c.could_be[:1] == ("label",)]
    # leaves that are numbered look like scores
    scores = [
        c.name for c in looked if c.could_be[:1] == ("score",) and c.name not in nodes
    ]
    counts = [c.name for c in looked if c.could_be[:1] == ("count",)]
    if len(nodes) != 1 or len(labels) != 1 or scores:
        return ()
    columns = {"node": nodes[0], "label": labels[0]}
    columns |= dict(zip(["count"], counts, strict=False))
    return (LookedQuestion("Can this leaf be trusted?", "leaves", "leaves", columns),)


def _counted(c: LookedColumn, held: Mapping[str, Array]) -> LookedColumn:
    """Say of a column of counts what it is in the format."""
    if c.name.lower() not in held:
        return c
    cases = f"{int(sum(held[k].sum() for k in COUNTS)):,} cases"
    said = (f"The file holds counts of {cases}.",) if c.name.lower() == "score" else ()
    return replace(c, could_be=(c.name.lower(),), remarks=said)


def _unread(name: str, content: str) -> LookedColumn:
    """Say of a column what it holds, without reading it."""
    return LookedColumn(
        name=name,
        kind=content,
        distinct=0,
        missing=0,
        could_be=(),
        remarks=("It is not read.",),
    )


def _looked(name: str, values: Array) -> LookedColumn:
    gone = _columns.missing(values)
    kept, remarks = values[~gone], []
    text = cleaning.has_text(kept)
    kind, meaning = _kind(kept), ""
    if text:
        words = kept.tolist()
        meaning = cleaning.meaning(words)
        lost = np.array([cleaning.is_missing_word(v) for v in words], dtype=bool)
        if meaning != "labels":
            blank = [v for v in dict.fromkeys(kept[lost].tolist()) if str(v).strip()]
            if blank:
                remarks.append(f"Missing values are written {listed(blank[:3], 'or')}.")
            kept = kept[~lost]
        named = {"numbers": "numbers as text", "missing": "nothing"}
        kind = named.get(meaning, "words")
    try:
        distinct = list(dict.fromkeys(kept.tolist()))
    except TypeError:  # lists, or objects with parts
        said = "It holds lists or objects with parts: extract the part that you mean."
        return LookedColumn(name, "parts", 0, int(gone.sum()), (), (said,))
    remarks += _remarks(name, kept, distinct, meaning)
    if meaning == "text" and (odd := cleaning.few_words(values.tolist())):
        remarks.append(f"It has {odd}; all others are numbers.")
    missing = values.size - kept.size
    could_be = _could_be(name.lower(), kind, kept, distinct, meaning)
    return LookedColumn(name, kind, len(distinct), missing, could_be, tuple(remarks))


def _kind(kept: Array) -> str:
    if not kept.size:
        return "nothing"
    if kept.dtype.kind == "b" or all(isinstance(v, bool) for v in kept[:100].tolist()):
        return "true and false"
    if kept.dtype.kind in "mM" or hasattr(kept[0], "isoformat"):
        return "dates"
    try:
        number = _columns.numeric_scores(kept, "")
    except InputError:
        return "words"
    whole = np.isfinite(number).all() and (number == np.floor(number)).all()
    return "whole numbers" if whole else "numbers"


def _remarks(
    name: str, kept: Array, distinct: Sequence[Any], meaning: str
) -> list[str]:
    """Say what is wrong with a column, and how its words are read."""
    out: list[str] = []
    if meaning == "labels":
        out += cleaning.label_words(distinct, None, name)[-1]
    if meaning == "numbers":
        try:
            out.append(f"It is {cleaning.read_numbers(kept, 'The column').way}.")
        except InputError as err:
            out.append(err.message)
    if kept.size > 1 and len(distinct) == 1:
        out.append("Every row has the same value.")
    if kept.dtype.kind == "f" and np.isinf(kept).any():
        out.append(f"{int(np.isinf(kept).sum()):,} values are infinite.")
    return out


def _could_be(
    name: str, kind: str, kept: Array, distinct: Sequence[Any], meaning: str
) -> tuple[str, ...]:
    """Which roles could a column have, the likeliest first?"""
    number = kind in ("numbers", "whole numbers", "numbers as text")
    whole, many = kind == "whole numbers", len(distinct)
    signs = whole and set(distinct) in ({0, 1}, {-1, 1})
    two = kind == "true and false" or meaning == "labels" or signs
    named = {*re.sub(r"\d+$", "", name).replace("-", "_").split("_"), name}
    numbered = "id" in named or (whole and many == kept.size > 20)  # an identifier
    few = 1 < many <= min(MOST_GROUPS, max(2, kept.size // 3))
    group = few and not two and kind in ("words", "whole numbers")
    rules = {
        "label": name in LABEL_NAMES or two,
        "count": whole and name in COUNT_NAMES,
        "weight": number and name in WEIGHT_NAMES,
        "cluster": bool(named & set(_CLUSTER_WORDS)) and 1 < many < kept.size,
        "item": bool(named & set(_ITEM_WORDS)) and many > 1,
        "judge": bool(named & set(_JUDGE_WORDS)) and kind == "words",
    }
    found = [role for role, holds in rules.items() if holds]
    if name in SCORE_NAMES or (number and not whole and not numbered and not found):
        found.append("score")
    found += ["judge"] * two + ["group"] * group
    found += ["label"] * (group and kind == "words" and many == 2)
    found += ["score"] * (whole and not numbered and not found and many > 2)
    return tuple(dict.fromkeys(found))


_ONE_SCORE = (
    ("How good is the score?", "evaluate", "evaluate"),
    ("Where should the threshold be?", "best_threshold", "threshold"),
    ("What does a score mean as a probability?", "calibrate", "calibrate"),
)


def _questions_of_readers(
    looked: Sequence[LookedColumn],
    labels: Sequence[str],
    scores: Sequence[str],
    items: Sequence[str],
) -> tuple[LookedQuestion, ...]:
    """What can be asked of a study of readers?"""
    numbers = [c.name for c in looked if c.kind.endswith("numbers")]
    other = {*_STUDY, *labels, *items}
    rated = [n for n in (*scores, *numbers) if n not in other][:1]
    study = "Do readers do better with one treatment?", "reader_study", "readers"
    return tuple(
        LookedQuestion(*study, {"label": labels[0], "score": n}) for n in rated
    )


def _by_likeliest_role(
    looked: Sequence[LookedColumn],
) -> dict[str, list[LookedColumn]]:
    """Put the columns together by what each is likeliest to be."""
    by_role: dict[str, list[LookedColumn]] = {}
    for column in looked:
        if column.could_be:
            by_role.setdefault(column.could_be[0], []).append(column)
    return by_role


def _questions(
    looked: Sequence[LookedColumn], rows: int, columns: FoundColumns | None
) -> tuple[LookedQuestion, ...]:
    """What can be asked of these columns?"""
    first = _by_likeliest_role(looked)
    names = {role: [c.name for c in found] for role, found in first.items()}
    labels, scores = names.get("label", []), names.get("score", [])
    if labels and {*_STUDY} <= {c.name for c in looked}:
        return _questions_of_readers(looked, labels, scores, names.get("item", []))
    binary = {c.name for c in looked if "label" in c.could_be}
    if columns is not None and not {*columns.scores} <= binary:
        # those that the analyses take, too
        labels, scores = [str(columns.label)], list(columns.scores)
    out: list[tuple[str, str, str, Mapping[str, Any]]] = []
    # two clusters say nothing: of several columns the finest, and none of two values
    repeated = [c for c in first.get("item", []) if c.distinct < rows - c.missing]
    drawn = sorted(first.get("cluster", repeated), key=lambda c: -c.distinct)
    finest = [c.name for c in drawn if c.distinct > 2]
    found = {"weight": names.get("weight"), "cluster": finest}
    beside = {role: columns[0] for role, columns in found.items() if columns}
    if any(c.missing for c in first.get("score", [])):
        beside["missing_scores"] = "drop"
    if labels and scores:
        one = {"label": labels[0], "score": scores[0]}
        out += [(*words, one | beside) for words in _ONE_SCORE]
        taken = beside.values()
        groups = [c.name for c in looked if "group" in c.could_be]
        if groups := [name for name in groups if name not in taken]:
            by = {**one, "by": groups[0], **beside}
            out.append(("Is it as good in every group?", "auc", "evaluate", by))
    if labels and len(scores) > 1:
        several = {"label": labels[0], "scores": scores[:5]}
        better = "Would they be better together?", "compare_combiners", "combine"
        compared = "Which score is better?", "compare_auc", "compare"
        out.append((*compared, several | beside))
        if not {*beside} & {*CANNOT[better[1]]}:
            out.append((*better, several | beside))
    if len(labels) > 2 and not scores:
        # a column that is mostly empty has the labels of a few cases
        known = [c.name for c in first["label"] if 2 * c.missing > rows][:1]
        truth = dict(zip(["label"], known, strict=False))
        votes = {"scores": [n for n in labels if n not in known]}
        if known:
            rate = "What is the true pass rate if judges make errors?"
            drawn_labels = votes | truth | {"labelled": "random"}
            out.append((rate, "prevalence", "judge", drawn_labels))
        question = "How good is each test, without a known truth?"
        out.append((question, "latent_class", "nogold", votes | truth))
    elif labels and not scores and "item" in names:
        tried = {"item": names["item"][0], "passed": labels[0]}
        tried |= dict(zip(["system"], names.get("judge", []), strict=False))
        out.append(("How often do systems pass?", "attempts", "evals", tried))
    return tuple(LookedQuestion(*words) for words in out)


def _questions_without_labels(scores: Sequence[str]) -> tuple[LookedQuestion, ...]:
    """What can be asked of scores when no column holds labels?"""
    several = {"scores": list(scores)}
    tenth = {"maximize": "flagged", "subject_to": "flagged_rate <= 0.1"}
    capacity = "Which threshold flags a tenth of the cases?"
    questions = []
    if len(scores) >= LEAST_FOR_AGREEMENT:
        agreed = "What does the agreement of scores tell, without labels?"
        questions.append(LookedQuestion(agreed, "agreement", "evaluate", several))
    if len(scores) > 1:
        combined = "How are scores combined, without labels?"
        questions.append(
            LookedQuestion(combined, "wisdom_of_crowds", "combine", several)
        )
    of_one = {"score": scores[0], **tenth}
    questions.append(LookedQuestion(capacity, "best_threshold", "threshold", of_one))
    return tuple(questions)


_OF_A_LOG = ("How often do systems pass?", "attempts", "evals")
_STUDY = ("reader", "treatment", "case")  # columns of a study of readers
