"""What is in this file, and which query counts a table that no driver reaches?"""

from __future__ import annotations

import shlex
from typing import Any

import trueness
from trueness._core.checks.errors import InputError
from trueness.cli._command import command
from trueness.cli._options import File
from trueness.cli._shell import CommandAnswer
from trueness.cli._source import open_source
from trueness.data.first_look import LookedQuestion
from trueness.data.first_look import look as look_at
from trueness.findings.records import table
from trueness.scale.queries import DIALECTS
from trueness.scale.queries import sql as write_query
from trueness.threshold.rule import Rule


@command()
def look(file: File, decimal: str | None = None) -> CommandAnswer:
    """What is in this file, and what can be asked of it? Nothing is sent anywhere.

    Example: trueness look sample:west_nile
    """
    found = look_at(open_source(file, ordered=True, decimal=decimal).rows)
    rows = [
        [c.name, c.kind, c.distinct, c.missing, ", ".join(c.could_be)]
        for c in found.columns
    ]
    head = ["column", "holds", "values", "missing", "could be"]
    remarks = [f"{c.name}: {' '.join(c.remarks)}" for c in found.columns if c.remarks]
    typed = {q.question: _typed(q, file) for q in found.questions}
    asked: Any = "No question fits these columns as they are; see docs of formats."
    if typed:
        asked = table("Questions", ["question", "type"], typed.items(), most=400)
    questions = [{"question": q, "type": text} for q, text in typed.items()]
    return CommandAnswer(
        "look",
        {"rows": found.rows, "columns": found.columns, "questions": questions},
        [table("Columns", head, rows), *remarks, asked],
        about={"file": file},
    )


def _typed(question: LookedQuestion, file: str) -> str:
    """Write the command that answers a question."""
    words = ["trueness", question.command, file]
    for name, value in question.columns.items():
        option = "vote" if question.command == "nogold" else name.removesuffix("s")
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{option}", str(one)]
    return shlex.join(words)


@command(dialects=DIALECTS)
def sql(
    dialect: str | None = None,
    table: str | None = None,
    score: str | None = None,
    label: str | None = None,
    positive: str | None = None,
    count: str | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
    bins: int | None = None,
    map: str | None = None,
    rule: str | None = None,
) -> CommandAnswer:
    """Which query counts a table where it is? Its result is read by every command.

    Save the result as CSV or Parquet; trueness evaluate counts.csv and all other
    commands about one score recognise it by its columns.

    --dialect NAME: {dialects}.
    --table NAME: Table, as the dialect writes it.
    --positive VALUE: Label that counts as positive; all others are negative. A number,
        true for a column of booleans, or a text; '1' between quotes is a text.
    --by COLUMN: Column with groups.
    --bins NUMBER: Bins of about equal size in place of distinct scores.
    --map FILE: Do not count; apply this map, saved by calibrate, to every row.
    --rule FILE: Do not count; apply this rule, a threshold that was saved.

    Example: trueness sql --dialect snowflake --table preds --label y --score p
    """
    for name, value in {"dialect": dialect, "table": table, "score": score}.items():
        if value is None:
            raise InputError(f"Type --{name} NAME. {_NEEDED}")
    if map is not None and rule is not None:
        raise InputError("--map and --rule make a query each. Type one of them.")
    words: dict[str, Any] = {"score": score, "label": label, "count": count}
    words |= {"weight": weight, "cluster": cluster, "by": by, "bins": bins}
    words["positive"] = _value(positive)
    words["apply"] = (
        trueness.load_map(map) if map else Rule.load(rule) if rule else None
    )
    query = write_query(str(table), dialect=str(dialect), **words)
    return CommandAnswer("sql", {"dialect": dialect, "query": query}, [query])


_NEEDED = (
    "A query needs the dialect, the table and the column of the scores: trueness sql "
    f"--dialect {next(iter(DIALECTS))} --table preds --label y --score p."
)


def _value(text: str | None) -> Any:
    """Read a label as SQL would: a number, true or false, or a text."""
    if text is None or text.lower() in ("true", "false"):
        return None if text is None else text.lower() == "true"
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    try:
        return float(text)
    except ValueError:
        return text
