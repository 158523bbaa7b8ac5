"""What did the judges say? Reads the logs of programs that run evaluations.

``log_formats`` has one function for each program; here their answers become a table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.files import as_written
from trueness._core.numbers import counted
from trueness._core.records import native_frame
from trueness.data.files import files_of_place
from trueness.data.log_formats import ENDINGS, FORMATS, TASK, LoggedAnswer, log_format

ITEM, SYSTEM, CLUSTER = "item", "system", "cluster"
# what Inspect's own metrics make of its letters
_INSPECT_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_VERDICT_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


@final
@dataclass(frozen=True)
class VerdictLog:
    """Verdicts of judges on the answers of systems, one row per answer.

    Attributes
    ----------
    format : str
        Which program wrote it.
    judges : tuple of str
        The columns that hold verdicts: 1 is yes, 0 is no, NaN is missing, and a value
        between 0 and 1 is a grade.
    columns : mapping from str to array
        ``item``, ``system``, one column per judge, and what else was recorded about a
        case, such as ``metadata.human``. For items with several answers (epochs,
        repeats), ``cluster`` names the item of each answer.
    """

    format: str
    judges: tuple[str, ...]
    columns: Mapping[str, Array]

    def __repr__(self) -> str:
        rows = len(self.columns[ITEM])
        systems = set(self.columns[SYSTEM].tolist())
        return (
            f"VerdictLog of {self.format}: {counted(rows, 'answer')} of "
            f"{counted(len(systems), 'system')}, judged by {', '.join(self.judges)}"
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a frame; ``backend`` is pandas, polars, pyarrow or dict."""
        return native_frame({k: v.tolist() for k, v in self.columns.items()}, backend)


def read_verdicts(path: str | os.PathLike[str]) -> VerdictLog:
    """Verdicts of judges, from the log of an evaluation.

    Parameters
    ----------
    path
        A log of Inspect (``.eval`` or ``.json``), results of promptfoo or DeepEval
        (``.json``), or samples of the lm-evaluation-harness (``.jsonl``); or a folder
        or pattern such as ``"logs/*.eval"``, all of one program.

    Notes
    -----
    Inspect: C is 1, I and N are 0, P is one half, as in its own metrics; a sample that
    failed has no verdicts. promptfoo: a judge is named after the ``metric`` of its
    assertion or, without one, after its type; ratings given by hand are in the column
    ``human``. DeepEval: the verdict is whether the metric reached its threshold.
    lm-evaluation-harness: the system is the folder of the file, since the samples do
    not name it.
    """
    place = os.fspath(_options.file_path(path, "read_verdicts"))
    files = files_of_place(place)
    if os.path.isdir(place):
        files = [file for file in files if Path(file).suffix in ENDINGS]
    if not files:
        raise InputError(f"There is no log {place}. Is the folder right?")

    format_of = {file: log_format(file) for file in files}
    logs = {file: name for file, name in format_of.items() if name is not None}
    formats = sorted(set(logs.values()))
    if len(formats) != 1:
        kinds = f"logs of {' and '.join(formats)}" if formats else "none of these"
        raise InputError(
            f"read_verdicts needs logs of one of {', '.join(FORMATS)}; found {kinds} "
            f"in {place}. Other tables of verdicts are opened as frames.",
            example=PythonCode("trueness.scan(path)"),
        )

    answers: list[LoggedAnswer] = []
    for file, name in logs.items():
        with as_written(file, f"a log of {name}"):
            answers += FORMATS[name].read(file)

    return _verdict_log(formats[0], _with_distinct_items(answers), place)


def is_log(place: str) -> bool:
    """Return whether this is a known log, or a folder or a pattern with one in it."""
    return any(log_format(file) is not None for file in files_of_place(place))


def refuse_log(place: str, analysis: str) -> None:
    """Raise an error for a log, where an analysis needs labels and scores."""
    files = files_of_place(place) if "://" not in place else []
    formats = [name for name in map(log_format, files) if name is not None]
    if formats:
        raise InputError(
            f"{analysis} needs labels, and scores or tests; {place} is a log of "
            f"{formats[0]}, with verdicts on answers.",
            example=PythonCode(f"trueness.attempts({place!r})"),
        )


def _with_distinct_items(answers: list[LoggedAnswer]) -> list[LoggedAnswer]:
    """Return answers whose items include the task, where there are several tasks."""
    tasks = {answer.notes.get(TASK) for answer in answers}
    if len(tasks) < 2:
        return answers

    return [
        answer._replace(item=f"{answer.notes.get(TASK)} {answer.item}")
        for answer in answers
    ]


def _verdict_log(
    format_name: str, answers: Sequence[LoggedAnswer], source: str
) -> VerdictLog:
    """Return the log of these answers, one a row; what one of them lacks is missing."""
    judges = _names_in_order([answer.verdicts for answer in answers])
    if not judges:
        raise NotEnoughCases(
            f"{source} has {counted(len(answers), 'answer')} and no verdict. Did the "
            f"judges run?"
        )

    items = [answer.item for answer in answers]
    columns: dict[str, Array] = {
        ITEM: np.array([_item_and_epoch(answer) for answer in answers], object),
        SYSTEM: np.array([answer.system for answer in answers], object),
    }
    if any(answer.epoch > 1 for answer in answers):
        # repeats of an item are not independent
        columns[CLUSTER] = np.array(items, object)

    judge_columns = []
    for judge in judges:
        taken = judge in (ITEM, SYSTEM, CLUSTER)
        name = f"{judge} (judge)" if taken else judge
        verdicts = [_as_number(answer.verdicts.get(judge)) for answer in answers]
        columns[name] = _column(verdicts)
        judge_columns.append(name)

    for note in _names_in_order([answer.notes for answer in answers]):
        # a note never takes the place of a verdict
        name = f"{note} (noted)" if note in columns else note
        columns[name] = _column([answer.notes.get(note) for answer in answers])

    return VerdictLog(format_name, tuple(judge_columns), columns)


def _names_in_order(mappings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys of all mappings, in the order in which they first occur."""
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))


def _item_and_epoch(answer: LoggedAnswer) -> str:
    """Return a name that is of this answer alone."""
    if answer.epoch > 1:
        return f"{answer.item} (epoch {answer.epoch})"
    return answer.item


def _column(values: Sequence[Any]) -> Array:
    """Return numbers as numbers; everything else stays text."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, (bool, int, float)) for value in known):
        # a whole number beyond every float stays text
        with suppress(OverflowError):
            numbers = [np.nan if value is None else float(value) for value in values]
            return np.array(numbers)

    texts = [None if value is None else str(value) for value in values]
    return np.array(texts, object)


def _as_number(verdict: str | float | None) -> object:
    """Return a verdict as a number; words that are not known stay words."""
    if not isinstance(verdict, str):
        return verdict
    if verdict in _INSPECT_LETTERS:
        return _INSPECT_LETTERS[verdict]
    return _VERDICT_WORDS.get(verdict.lower(), verdict)
