"""What is in this file?"""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from trueness.cli._command import command
from trueness.cli._options import Decimal
from trueness.cli._shell import CommandAnswer, table
from trueness.cli._source import open_source
from trueness.data.first_look import LookedQuestion
from trueness.data.first_look import look as look_at

# options whose names differ from the words of the library
_OPTIONS = {"scores": "score"}


@command()
def look(
    file: Annotated[str, typer.Argument(help="File, or sample:NAME.")],
    decimal: Decimal = None,
) -> CommandAnswer:
    """What is in this file, and what can be asked of it? Nothing is sent anywhere.

    Example: trueness look sample:west_nile
    """
    source = open_source(file, ordered=True, decimal=decimal)
    found = look_at(source.rows)
    rows = [
        [c.name, c.kind, c.distinct, c.missing, ", ".join(c.could_be)]
        for c in found.columns
    ]
    remarks = [f"{c.name}: {' '.join(c.remarks)}" for c in found.columns if c.remarks]
    asked = [[q.question, _typed(q, file)] for q in found.questions]
    parts: list[Any] = [
        table(["column", "holds", "values", "missing", "could be"], rows),
        *remarks,
    ]
    if asked:
        parts.append(table(["question", "type"], asked, 400))
    else:
        parts.append("No question fits these columns as they are; see docs of formats.")
    questions = [
        {"question": q.question, "type": _typed(q, file)} for q in found.questions
    ]
    return CommandAnswer(
        "look",
        {"rows": found.rows, "columns": found.columns, "questions": questions},
        parts,
        about={"file": file},
    )


def _typed(question: LookedQuestion, file: str) -> str:
    """Write the command that answers a question."""
    words = ["trueness", question.command, file]
    for name, value in question.columns.items():
        option = "vote" if question.command == "nogold" else _OPTIONS.get(name, name)
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{option}", str(one)]
    return shlex.join(words)
