"""Which query counts a table where it is?"""

from __future__ import annotations

from typing import Annotated

import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness.calibration.maps import Map
from trueness.cli import options
from trueness.cli._shell import CommandAnswer
from trueness.scale.queries import DIALECTS
from trueness.scale.queries import sql as write_query
from trueness.threshold.rule import Rule


def sql_command(
    dialect: Annotated[
        str | None,
        typer.Option("--dialect", metavar="NAME", help=f"{', '.join(DIALECTS)}."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table", metavar="NAME", help="Table, as the dialect writes it."
        ),
    ] = None,
    score: options.Score = None,
    label: options.Label = None,
    positive: Annotated[
        str | None,
        typer.Option(
            "--positive",
            metavar="VALUE",
            help="Label that counts as positive; all others are negative. A number, "
            "true for a boolean column, or text; '1' in quotes is text.",
        ),
    ] = None,
    count: options.Count = None,
    weight: options.Weight = None,
    cluster: options.Cluster = None,
    by: Annotated[
        str | None, options.column("--by", help="Column with groups.")
    ] = None,
    bins: Annotated[
        int | None,
        typer.Option(
            "--bins",
            metavar="NUMBER",
            help="Count bins of about equal size instead of distinct scores.",
        ),
    ] = None,
    map: Annotated[
        str | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="Instead of counting, apply this map that calibrate saved.",
        ),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            "--rule",
            metavar="FILE",
            help="Instead of counting, apply this rule that threshold saved.",
        ),
    ] = None,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """Write a query that counts a table in its database; every command reads it.

    Save the result as CSV or Parquet. Then trueness evaluate counts.csv, and
    all other commands about one score, recognise it by its columns.

    Example:
    trueness sql --dialect snowflake --table preds --label y --score p
    """
    query = write_query(
        _required_option(table, "table"),
        dialect=_required_option(dialect, "dialect"),
        score=_required_option(score, "score"),
        label=label,
        positive=_read_value(positive),
        count=count,
        weight=weight,
        cluster=cluster,
        by=by,
        bins=bins,
        apply=_read_saved(map, rule),
    )

    return CommandAnswer(result={"dialect": dialect, "query": query}, parts=[query])


def _required_option(value: str | None, option: str) -> str:
    """Return the value of an option, which must be typed."""
    if value is None:
        raise InputError(
            "A query needs the dialect, the table and the column of the scores; "
            f"found no {option}.",
            option=option,
            example={"dialect": next(iter(DIALECTS)), "table": "preds"}.get(
                option, "p"
            ),
        )

    return value


def _read_saved(map_file: str | None, rule_file: str | None) -> Map | Rule | None:
    """Read the map or the rule that the query applies, where one was named."""
    if map_file is not None and rule_file is not None:
        raise InputError(
            "A query applies a map or a rule; found both. Leave one of them out."
        )

    if map_file is not None:
        return trueness.load_map(map_file)
    if rule_file is not None:
        return Rule.load(rule_file)
    return None


def _read_value(text: str | None) -> bool | float | str | None:
    """Read a label as SQL would: a number, true or false, or a text."""
    if text is None:
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]

    try:
        return float(text)
    except ValueError:
        return text
