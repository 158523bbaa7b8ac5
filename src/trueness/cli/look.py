"""What is in this file, and what can be asked of it?"""

from __future__ import annotations

import shlex
from typing import Any

from trueness._core.progress import progress
from trueness.cli import options
from trueness.cli._shell import CommandAnswer
from trueness.cli._source import is_local, open_source
from trueness.data.first_look import LookedQuestion
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
            [c.name, c.kind, c.distinct, c.missing, ", ".join(c.could_be)]
            for c in content.columns
        ],
    )
    remarks = [f"{c.name}: {' '.join(c.remarks)}" for c in content.columns if c.remarks]
    # what only Python answers has no command
    questions = [q for q in content.questions if q.command]
    lines = {q.question: _line_to_type(q, file) for q in questions}

    return CommandAnswer(
        result={
            "rows": content.rows,
            "columns": content.columns,
            "questions": [{"question": q, "type": line} for q, line in lines.items()],
        },
        parts=[
            columns,
            *remarks,
            _table_of_questions(lines),
            *_advice_without_labels(questions, file),
        ],
        about={"file": file},
    )


def _advice_without_labels(asked: list[LookedQuestion], file: str) -> list[str]:
    """Say how a score is measured, where nobody has labelled a case."""
    if not asked or any("label" in question.columns for question in asked):
        return []

    # counts have their labels, and no column to be named
    scored = [q for q in asked if q.command == "threshold" and "score" in q.columns]
    if not scored:
        return []

    typed = shlex.join([file, "--score", str(scored[0].columns["score"])])
    return [
        "No column holds labels. A map from labelled cases tells how good a score is: "
        f"trueness evaluate {typed} --unlabelled map.json."
    ]


def _line_to_type(question: LookedQuestion, file: str) -> str:
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
    if not lines:
        return (
            "The columns alone do not tell what to ask. With labels and scores type "
            "trueness evaluate FILE --label COLUMN --score COLUMN; with labels and "
            "groups, trueness leaves FILE --label COLUMN --node COLUMN."
        )
    return table("Questions", ["question", "type"], lines.items(), most=400)
