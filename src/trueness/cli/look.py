"""What is in this file, and what can be asked of it?"""

from __future__ import annotations

import shlex
from typing import Any

from trueness._core.progress import progress
from trueness.cli import options
from trueness.cli._shell import CommandAnswer
from trueness.cli._source import is_local, open_source
from trueness.data.first_look import SuggestedQuestion
from trueness.data.first_look import look as look_at
from trueness.data.verdict_logs import is_log
from trueness.findings.records import table

# what the option for the scores is called, where it is not --score
_OPTION_OF_SCORES = {"nogold": "vote", "judge": "judge"}


def look_command(
    file: options.File,
    decimal: options.Decimal = None,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """What does this file hold, and which analyses fit it? No data leave your machine.

    Example:
    trueness look sample:west_nile
    """
    with progress("Looking at the file", unit=""):
        if is_local(file) and is_log(file):
            content = look_at(file)
        else:
            content = look_at(open_source(file, ordered=True, decimal=decimal).rows)

    columns = table(
        "Columns",
        ["column", "holds", "values", "missing", "could be"],
        [
            [
                column.name,
                column.kind,
                column.distinct,
                column.missing,
                ", ".join(column.could_be),
            ]
            for column in content.columns
        ],
    )
    remarks = [
        f"{column.name}: {' '.join(column.remarks)}"
        for column in content.columns
        if column.remarks
    ]
    # what only Python answers has no command
    questions = [question for question in content.questions if question.command]
    lines = {question.question: _line_to_type(question, file) for question in questions}

    return CommandAnswer(
        result={
            "rows": content.rows,
            "columns": content.columns,
            "questions": [
                {"question": question, "type": line} for question, line in lines.items()
            ],
        },
        parts=[
            # a log is no table: its columns are not shown
            *([columns] if content.columns else []),
            *remarks,
            _table_of_questions(lines),
            *_advice_without_labels(questions, file),
        ],
        about={"file": file},
    )


def _advice_without_labels(questions: list[SuggestedQuestion], file: str) -> list[str]:
    """Say how a score is measured, where nobody has labelled a case."""
    if not questions or any("label" in question.columns for question in questions):
        return []

    # counts have their labels, and no column to be named
    score_columns = [
        candidate
        for candidate in questions
        if candidate.command == "threshold" and "score" in candidate.columns
    ]
    if not score_columns:
        return []

    typed = shlex.join([file, "--score", str(score_columns[0].columns["score"])])
    return [
        "No column holds labels. A map from labelled cases shows how good a score is: "
        f"trueness evaluate {typed} --unlabelled map.json."
    ]


def _line_to_type(question: SuggestedQuestion, file: str) -> str:
    """Write the command line that answers a question about a file."""
    typed = ["trueness", question.command, file]
    for name, value in question.columns.items():
        if name == "scores":
            option = _OPTION_OF_SCORES.get(question.command, "score")
        else:
            option = name.replace("_", "-")
        for column in value if isinstance(value, list) else [value]:
            typed += [f"--{option}", str(column)]

    return shlex.join(typed)


def _table_of_questions(lines: dict[str, str]) -> Any:
    """Return the questions with what to type, or advice where there are none."""
    if not lines:
        return (
            "The columns alone do not show which analysis fits. With labels and scores "
            "type "
            "trueness evaluate FILE --label COLUMN --score COLUMN; with labels and "
            "groups, trueness leaves FILE --label COLUMN --node COLUMN."
        )
    return table("Questions", ["question", "type"], lines.items(), most=400)
