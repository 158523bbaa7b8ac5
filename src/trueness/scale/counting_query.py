"""The text of a query that counts scores, in DuckDB's SQL.

Cases get a kind first: negative, positive, unknown or refused. Then they are counted at
each score, or in bins of about equal size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.data_types import LabelValue
from trueness.data.engines import text_in_sql

# where no column can hold NaN, and where NaN has no function but equals itself
WITHOUT_NAN = ("mysql", "sqlite", "tsql")
_NAN_IS_EQUAL = ("postgres", "redshift", "snowflake")
_LARGEST = "1.7976931348623157e308"
# cells of equal width for each bin, of which bins of equal size are made
_CELLS_PER_BIN = 1000
Names = Mapping[str, str]


@dataclass(frozen=True)
class Aliases:
    """Names that a query gives to its own columns and tables.

    ClickHouse takes an alias for a column of the same name, so none of them may be the
    name of a column that the query reads or writes.
    """

    source: str = "predictions"
    cases: str = "cases"
    score: str = "case_score"
    kind: str = "case_kind"
    cluster: str = "case_cluster"
    group: str = "case_group"
    count: str = "case_count"
    weight: str = "case_weight"
    score_range: str = "score_range"
    lowest: str = "lowest_score"
    highest: str = "highest_score"
    numbered_cases: str = "numbered_cases"
    cells: str = "cells"
    cell: str = "cell"
    cell_low: str = "cell_low"
    cell_high: str = "cell_high"
    cell_cases: str = "cell_cases"
    cell_sum: str = "cell_sum"  # the beginning of several names
    bins: str = "bins"
    bin: str = "bin"


def unused_aliases(taken: set[str]) -> Aliases:
    """Return aliases that differ from all these names, whatever their capitals."""
    names_taken = [name.lower() for name in taken]
    aliases = {}
    for field in fields(Aliases):
        alias = str(field.default)
        # no name may even begin so: a query appends words to some aliases
        while any(name.startswith(alias) for name in names_taken):
            alias = f"q_{alias}"
        aliases[field.name] = alias

    return Aliases(**aliases)


def counting_query(
    names: Names, aliases: Aliases, positive: LabelValue, dialect: str, bins: int | None
) -> str:
    """Return the text of the query that counts, in DuckDB's SQL."""
    is_case_refused, kind = _kind(names, positive, dialect)
    columns = {aliases.score: as_double(names["score"], dialect), aliases.kind: kind}
    # CLUSTER and GROUP are words of SQL, which some engines refuse as column names
    keys = {}

    if "cluster" in names:
        columns[aliases.cluster] = names["cluster"]
        keys[aliases.cluster] = "cluster"

    if "by" in names:
        columns[aliases.group] = names["by"]
        keys[aliases.group] = names["by"]

    if "count" in names:
        columns[aliases.count] = names["count"]
    if "weight" in names:
        columns[aliases.weight] = as_double(names["weight"], dialect)

    cases = (
        f"WITH {aliases.cases} AS "  # noqa: S608
        f"(SELECT {_select_list(columns)} FROM {aliases.source})"
    )
    sums = _sums(names, aliases, is_case_refused)

    if bins is None:
        select = (
            f"SELECT {_key_columns(keys)}{aliases.score} AS score, "  # noqa: S608
            f"{_select_list(sums)} FROM {aliases.cases}"
        )
        return f"{cases} {select} GROUP BY {', '.join([aliases.score, *keys])}"

    bins = _options.whole_number(bins, "bins", at_least=1)
    return f"{cases}, {_binned_query(sums, keys, aliases, bins)}"


def _select_list(expressions: Names) -> str:
    """Return the text of expressions, each with its name."""
    return ", ".join(
        f"{expression} AS {name}" for name, expression in expressions.items()
    )


def as_double(name: str, dialect: str) -> str:
    """Return the text of a column as a number of double precision."""
    # SQLite has no other real numbers, and would turn a word into zero
    return name if dialect == "sqlite" else f"CAST({name} AS DOUBLE)"


def is_nan(number: str, dialect: str) -> str:
    """Return the text of the condition that a number is NaN, in this dialect."""
    if dialect in _NAN_IS_EQUAL:
        return f"{number} = CAST('NaN' AS DOUBLE)"
    return f"ISNAN({number})"


class _ColumnKind(NamedTuple):
    """The expression of the kind of a case, and whether it may be 'refused'."""

    is_case_refused: bool
    expression: str


def _kind(names: Names, positive: LabelValue, dialect: str) -> _ColumnKind:
    """Return the expression of the kind of a case: pos, neg, unknown or refused."""
    refusals = [
        f"WHEN {condition} THEN 'refused'" for condition in _unusable(names, dialect)
    ]
    label = names.get("label")
    if label is None:
        if positive is not None:
            raise InputError(
                "A positive label needs labels; name their column.",
                option="label",
                example="COLUMN",
            )
        if not refusals:
            return _ColumnKind(False, "'unknown'")
        return _ColumnKind(True, " ".join(["CASE", *refusals, "ELSE 'unknown' END"]))

    is_missing = f"{label} IS NULL"
    if not isinstance(positive, (bool, str)) and dialect not in WITHOUT_NAN:
        is_missing += f" OR {is_nan(as_double(label, dialect), dialect)}"

    if positive is None:
        kinds = [
            f"WHEN {label} = 1 THEN 'pos'",
            f"WHEN {label} = 0 THEN 'neg'",
            f"WHEN {is_missing} THEN 'unknown' ELSE 'refused'",
        ]
    else:
        kinds = [
            f"WHEN {label} = {_value(positive)} THEN 'pos'",
            f"WHEN {is_missing} THEN 'unknown' ELSE 'neg'",
        ]

    return _ColumnKind(
        is_case_refused=positive is None or bool(refusals),
        expression=" ".join(["CASE", *refusals, *kinds, "END"]),
    )


def _unusable(names: Names, dialect: str) -> list[str]:
    """Return the conditions in which a case has no usable weight or count."""
    conditions = []

    if "weight" in names:
        weight = as_double(names["weight"], dialect)
        conditions.append(f"{weight} IS NULL OR NOT {weight} BETWEEN 0 AND {_LARGEST}")

    if "count" in names:
        conditions.append(f"{names['count']} IS NULL OR {names['count']} < 0")

    return conditions


def _value(positive: LabelValue) -> str:
    """Return the positive label as a value of SQL."""
    if isinstance(positive, str):
        return text_in_sql(positive)
    if isinstance(positive, bool):
        return str(positive).upper()
    return repr(_options.real_number(positive, "positive")).removesuffix(".0")


def _sums(names: Names, aliases: Aliases, refuses: bool) -> dict[str, str]:
    """Return the columns of counts, or of weights and their squares, by name."""
    kinds = ("neg", "pos", "unknown")

    def total(kind: str, value: str) -> str:
        return f"SUM(CASE WHEN {aliases.kind} = '{kind}' THEN {value} ELSE 0 END)"

    def number(kind: str) -> str:
        return f"COUNT(CASE WHEN {aliases.kind} = '{kind}' THEN 1 END)"

    weight = aliases.weight
    times_count = f" * {aliases.count}" if "count" in names else ""
    sums = {}

    if "weight" in names:
        square = f"{weight} * {weight}"
        for kind in kinds:
            sums[kind] = total(kind, f"{weight}{times_count}")
        for kind in kinds:
            sums[f"{kind}_squares"] = total(kind, f"{square}{times_count}")
    elif "count" in names:
        for kind in kinds:
            sums[kind] = f"CAST({total(kind, aliases.count)} AS BIGINT)"
    else:
        for kind in kinds:
            sums[kind] = number(kind)

    if refuses:
        sums["refused"] = number("refused")

    return sums


def _binned_query(sums: Names, keys: Names, aliases: Aliases, bins: int) -> str:
    """Return the query that merges cells of equal width into bins of about equal size.

    It needs no sort. Engines may round differently, but the order of the cells stays:
    each bin has the smallest and the largest score in it.
    """
    a = aliases
    other_keys = "".join(f", {key}" for key in keys)
    sums_of_cells = _select_list(
        {f"{a.cell_sum}_{name}": expression for name, expression in sums.items()}
    )
    sums_of_bins = _select_list(_sums_of_cells(sums, a.cell_sum))
    finite = f"{a.score} BETWEEN -{_LARGEST} AND {_LARGEST}"
    # equal scores have a width of zero: NULL makes one cell of them, not an error
    width = f"NULLIF({a.highest} - {a.lowest}, 0)"
    number_of_cells = bins * _CELLS_PER_BIN
    cell = f"({a.score} - {a.lowest}) / {width} * {number_of_cells}"

    # every piece is a name that was quoted above, or a number
    return f"""
    {a.score_range} AS (
      SELECT MIN({a.score}) AS {a.lowest}, MAX({a.score}) AS {a.highest}
      FROM {a.cases} WHERE {finite}
    ),
    {a.numbered_cases} AS (
      /* cells of equal width; -1 where a score is missing or not finite */
      SELECT {a.cases}.*, CASE WHEN {finite}
        THEN CAST(COALESCE({cell}, 0) AS BIGINT) ELSE -1 END AS {a.cell}
      FROM {a.cases} CROSS JOIN {a.score_range}
    ),
    {a.cells} AS (
      SELECT {a.cell}{other_keys},
        MIN({a.score}) AS {a.cell_low}, MAX({a.score}) AS {a.cell_high},
        COUNT(*) AS {a.cell_cases}, {sums_of_cells}
      FROM {a.numbered_cases} GROUP BY {a.cell}{other_keys}
    ),
    {a.bins} AS (
      /* neighbouring cells together, with about as many cases in each bin */
      SELECT {a.cells}.*, CASE WHEN {a.cell} = -1 THEN -1 ELSE CAST({bins - 1}
        * CAST(SUM({a.cell_cases}) OVER (ORDER BY {a.cell}) AS DOUBLE)
        / SUM({a.cell_cases}) OVER () AS BIGINT) END AS {a.bin}
      FROM {a.cells}
    )
    SELECT {_key_columns(keys)}MIN({a.cell_low}) AS score, MAX({a.cell_high}) AS high,
      {sums_of_bins}
    FROM {a.bins} GROUP BY {a.bin}{other_keys}
    """  # noqa: S608


def _sums_of_cells(sums: Names, prefix: str) -> dict[str, str]:
    """Return the sums over the cells of a bin; sums of counts are whole numbers."""
    are_weights = any(name.endswith("squares") for name in sums)
    expressions = {}
    for name in sums:
        total = f"SUM({prefix}_{name})"
        is_count = name == "refused" or not are_weights
        expressions[name] = f"CAST({total} AS BIGINT)" if is_count else total

    return expressions


def _key_columns(keys: Names) -> str:
    """Return the text of the key columns, with the names of the user's columns."""
    return "".join(f"{alias} AS {name}, " for alias, name in keys.items())
