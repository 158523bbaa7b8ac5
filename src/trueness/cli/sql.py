"""Which query counts a table where it is, when no driver reaches it?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trueness._core.checks.errors import InputError
from trueness.calibration.maps import load_map
from trueness.cli._command import command
from trueness.cli._shell import CommandAnswer
from trueness.scale.queries import DIALECTS
from trueness.scale.queries import sql as write_query
from trueness.threshold.rule import Rule


@command()
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
    map: Path | None = None,
    rule: Path | None = None,
) -> CommandAnswer:
    """Which query counts a table where it is? Its result is read by every command.

    Save the result as CSV or Parquet; trueness evaluate counts.csv and all other
    commands about one score recognise it by its columns.

    --dialect NAME: duckdb, postgres, mysql, mariadb, sqlite, bigquery, snowflake,
        databricks, spark, trino, clickhouse, redshift or sqlserver.
    --table NAME: Table, as the dialect writes it.
    --score, -s NAME: Column with the scores.
    --label, -l NAME: Column with the labels, 0 and 1 unless --positive says otherwise.
    --positive VALUE: Label that counts as positive; all others are negative. A number,
        true for a column of booleans, or a text; '1' between quotes is a text.
    --count NAME: Column with the number of cases that a row stands for.
    --weight NAME: Column with the weights of cases.
    --cluster NAME: Column that says which cases belong together.
    --by NAME: Column with groups.
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
    words["apply"] = load_map(map) if map else Rule.load(rule) if rule else None
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
