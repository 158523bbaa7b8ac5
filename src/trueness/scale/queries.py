"""How is a table counted where it is, when no driver reaches it?

By a query as text, whose result holds counts in the format of ``docs/counts.md``. The
queries are written once, in DuckDB's SQL, and translated by sqlglot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described
from trueness._core.imports import required
from trueness.calibration.maps import Map
from trueness.data.engines import text_in_sql
from trueness.data.storage import COLUMNS
from trueness.scale.application import formula_length, written
from trueness.threshold.rule import Rule

# how people call the dialects, and how sqlglot does
_NAMES = """duckdb postgres mysql mariadb sqlite bigquery snowflake databricks spark
trino clickhouse redshift"""
DIALECTS = {n: n for n in _NAMES.split()} | {"mariadb": "mysql", "sqlserver": "tsql"}
# where no column can hold NaN, and where NaN has no function but equals itself
_WITHOUT_NAN = ("mysql", "sqlite", "tsql")
_NAN_IS_EQUAL = ("postgres", "redshift", "snowflake")
_LARGEST = "1.7976931348623157e308"
# cells of equal width for each bin, of which bins of equal size are made
_CELLS_PER_BIN = 1000
# steps of a map that is written out: ten comparisons deep
_LONGEST_MAP = 1000
Names = Mapping[str, str]


def sql(
    table: str,
    *,
    dialect: str,
    score: str,
    label: str | None = None,
    positive: bool | float | str | None = None,
    count: str | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
    bins: int | None = None,
    apply: Map | Rule | None = None,
) -> str:
    r"""Which query counts this table where it is?

    Run it with any tool of your warehouse and save the result as CSV or Parquet:
    ``trueness.tally(frame)``, :func:`read_tally` and every command recognise it by its
    columns, which ``docs/counts.md`` specifies.

    Parameters
    ----------
    table
        The table, as the dialect writes it: ``"preds"``, ``"mart.public.preds"``.
    dialect
        duckdb, postgres, mysql, mariadb, sqlite, bigquery, snowflake, databricks,
        spark, trino, clickhouse, redshift or sqlserver.
    score, label
        Names of columns; ``label=None`` makes all cases unknown. Scores are counted as
        float64.
    positive
        The label that counts as positive: a number, a text, or True for a column of
        booleans; every other label that is not missing is then negative. None: labels
        are 0 and 1, and the reader refuses the counts if there is any other.
    count, weight, cluster, by
        Names of columns, as in :func:`tally`.
    bins
        About how many bins of equal size are wanted at most, where the scores are
        continuous; None counts every distinct score.
    apply
        A fitted map of one score, or a rule: the query then gives all rows with a new
        column, ``calibrated`` or ``decision``, and counts nothing. ``by`` names
        the column of a rule's groups.

    Examples
    --------
    >>> print(sql("preds", dialect="snowflake", score="p"))
    -- How many negatives, positives and unknowns showed each score?
    -- Save the result as CSV or Parquet, then type: trueness evaluate FILE
    WITH cases AS (
      SELECT
        CAST(p AS DOUBLE) AS case_score,
        'unknown' AS case_kind
      FROM preds
    )
    SELECT
      case_score AS score,
      COUNT(CASE WHEN case_kind = 'neg' THEN 1 END) AS neg,
      COUNT(CASE WHEN case_kind = 'pos' THEN 1 END) AS pos,
      COUNT(CASE WHEN case_kind = 'unknown' THEN 1 END) AS unknown
    FROM cases
    GROUP BY
      case_score
    """
    to = DIALECTS[_options.choice(dialect, tuple(DIALECTS), "dialect")]
    columns = {
        "score": score,
        "label": label,
        "count": count,
        "weight": weight,
        "cluster": cluster,
        "by": by,
    }
    needed = {
        role: name
        for role, name in columns.items()
        if name is not None or role == "score"
    }
    names = {role: _column(name, role, to) for role, name in needed.items()}
    source = _table(table, to)
    table_parts = {part.name for part in source.parts}
    aliases = _unused_aliases({*map(str, needed.values()), *table_parts})

    if apply is not None:
        query = _applied(apply, names, aliases, to)
    else:
        if by is not None and by.lower() in COLUMNS:
            raise InputError(
                f"The groups {by!r} have the name of a column of counts. Rename it in "
                "a view.",
                option="by",
            )
        query = _Query(
            _counting(names, aliases, positive, to, bins),
            comments=(
                "How many negatives, positives and unknowns showed each score?",
                "Save the result as CSV or Parquet, then type: trueness evaluate FILE",
            ),
        )
    comments = [f"-- {line}" for line in query.comments]
    return "\n".join([*comments, _translate(query.text, source, aliases, to)])


class _Query(NamedTuple):
    """A query in DuckDB's SQL, and lines that say what it is for."""

    text: str
    comments: tuple[str, ...]


def _translate(query: str, source: Any, aliases: _Aliases, to: str) -> str:
    """Write a query on the source in another dialect."""
    glot = required("sqlglot", "sql")
    tree = glot.parse_one(query, read="duckdb")
    _put_table(tree, source, aliases)
    # nothing that is ordered here can be missing
    nulls_are_small = glot.Dialect.get_or_raise(to).NULL_ORDERING == "nulls_are_small"
    for ordered in tree.find_all(glot.exp.Ordered):
        ordered.set("nulls_first", nulls_are_small)
    return str(tree.sql(to, pretty=True))


@dataclass(frozen=True)
class _Aliases:
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


def _unused_aliases(taken: set[str]) -> _Aliases:
    """Return aliases that differ from all these names, in capitals or not."""
    names_taken = [name.lower() for name in taken]
    aliases = {}
    for field in fields(_Aliases):
        alias = str(field.default)
        while any(name.startswith(alias) for name in names_taken):
            alias = f"q_{alias}"
        aliases[field.name] = alias
    return _Aliases(**aliases)


# reserved in the SQL standard; some parsers take them for names, engines do not
_RESERVED_WORDS = {
    *("all", "and", "any", "as", "asc", "between", "by", "case", "cast", "check"),
    *("column", "constraint", "create", "cross", "default", "desc", "distinct"),
    *("else", "end", "except", "exists", "false", "for", "foreign", "from", "full"),
    *("grant", "group", "having", "in", "inner", "intersect", "into", "is", "join"),
    *("left", "like", "limit", "not", "null", "offset", "on", "or", "order", "outer"),
    *("primary", "references", "right", "select", "table", "then", "to", "true"),
    *("union", "unique", "user", "using", "when", "where", "window", "with"),
}


def _column(name: object, what: str, to: str) -> str:
    """Write the name of a column, between quotes only if it needs them.

    Snowflake and others tell p from "p": a name between quotes keeps its capitals.
    """
    glot = required("sqlglot", "sql")
    if not isinstance(name, str) or not name:
        raise InputError(f"{what} must name a column; found {described(name)}.")
    is_reserved = name.lower() in _RESERVED_WORDS
    is_read = all(_is_column(name, dialect) for dialect in (to, "duckdb"))
    simple = name.isidentifier() and is_read and not is_reserved
    return str(glot.exp.to_identifier(name, quoted=not simple).sql("duckdb"))


def _is_column(name: str, dialect: str) -> bool:
    """Does the dialect take this word for a column, and not for one of its own?"""
    glot = required("sqlglot", "sql")
    try:
        selected = glot.parse_one(f"SELECT {name}", read=dialect).selects[0]
    except glot.errors.SqlglotError:
        return False
    return isinstance(selected, glot.exp.Column) and selected.name == name


def _table(table: object, to: str) -> Any:
    """Read the name of a table, and nothing beside it, as a node of sqlglot."""
    glot = required("sqlglot", "sql")
    refusal = InputError(
        f"table must be the name of a table, as preds or mart.public.preds; found "
        f"{described(table)}."
    )
    if not isinstance(table, str):
        raise refusal
    try:
        query = glot.parse_one(f"SELECT * FROM {table}", read=to)  # noqa: S608
    except (glot.errors.SqlglotError, ValueError):
        raise refusal from None

    named = query.find(glot.exp.Table)
    if named is None or not all(
        isinstance(part, glot.exp.Identifier) for part in named.parts
    ):
        raise refusal
    # the parser knows samples, partitions, hints and versions, and drops some of them
    # in silence: what it would write again must be what was typed
    names_alone = glot.exp.Table(
        **{key: named.args.get(key) for key in ("this", "db", "catalog")}
    )
    written_again = named.sql(
        to, comments=False, unsupported_level=glot.ErrorLevel.IGNORE
    )
    same_text = _without_quotes(written_again) == _without_quotes(table)
    if query != glot.select("*").from_(names_alone) or not same_text:
        raise refusal
    for part in named.parts:  # BigQuery takes my-project without quotes
        part.set("quoted", part.quoted or not part.name.isidentifier())
    return named


def _without_quotes(name: str) -> str:
    return "".join(sign for sign in name if sign not in '"`[]\\' and not sign.isspace())


def _put_table(tree: Any, source: Any, aliases: _Aliases) -> None:
    """Read from the table, where the query names its source."""
    glot = required("sqlglot", "sql")
    for table in list(tree.find_all(glot.exp.Table)):
        if table.name == aliases.source:
            named = source.copy()
            if table.alias:
                named = named.as_(table.alias)
            table.replace(named)


def _counting(
    names: Names, aliases: _Aliases, positive: object, to: str, bins: int | None
) -> str:
    """Write the query that counts, in DuckDB's SQL."""
    is_case_refused, kind = _kind(names, positive, to)
    columns = {aliases.score: _double(names["score"], to), aliases.kind: kind}
    # CLUSTER and GROUP are words of SQL, of which some engines take no column
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
        columns[aliases.weight] = _double(names["weight"], to)

    cases = (
        f"WITH {aliases.cases} AS "  # noqa: S608
        f"(SELECT {_select_list(columns)} FROM {aliases.source})"
    )
    sums = _sums(names, aliases, is_case_refused)
    if bins is None:
        select = (
            f"SELECT {_shown(keys)}{aliases.score} AS score, "  # noqa: S608
            f"{_select_list(sums)} FROM {aliases.cases}"
        )
        return f"{cases} {select} GROUP BY {', '.join([aliases.score, *keys])}"
    bins = _options.whole_number(bins, "bins", at_least=1)
    return f"{cases}, {_binned(sums, keys, aliases, bins)}"


def _select_list(expressions: Names) -> str:
    """Write expressions, each with its name."""
    return ", ".join(f"{how} AS {name}" for name, how in expressions.items())


def _double(name: str, to: str) -> str:
    # SQLite has no other real numbers, and would make zero of a word
    return name if to == "sqlite" else f"CAST({name} AS DOUBLE)"


def _is_nan(number: str, to: str) -> str:
    if to in _NAN_IS_EQUAL:
        return f"{number} = CAST('NaN' AS DOUBLE)"
    return f"ISNAN({number})"


class _Kind(NamedTuple):
    """Whether cases may be refused, and the expression of which kind a case is."""

    is_case_refused: bool
    expression: str


def _kind(names: Names, positive: object, to: str) -> _Kind:
    """Write which kind a case is of: pos, neg, unknown or refused."""
    unusable = []
    if "weight" in names:
        weight = _double(names["weight"], to)
        unusable.append(f"{weight} IS NULL OR NOT {weight} BETWEEN 0 AND {_LARGEST}")
    if "count" in names:
        unusable.append(f"{names['count']} IS NULL OR {names['count']} < 0")
    refusals = [f"WHEN {condition} THEN 'refused'" for condition in unusable]

    label = names.get("label")
    if label is None:
        if positive is not None:
            raise InputError(
                "A positive label needs labels; name their column.",
                option="label",
                example="COLUMN",
            )
        if not refusals:
            return _Kind(False, "'unknown'")
        return _Kind(True, " ".join(["CASE", *refusals, "ELSE 'unknown' END"]))

    is_missing = f"{label} IS NULL"
    if not isinstance(positive, (bool, str)) and to not in _WITHOUT_NAN:
        is_missing += f" OR {_is_nan(_double(label, to), to)}"
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
    return _Kind(
        is_case_refused=positive is None or bool(refusals),
        expression=" ".join(["CASE", *refusals, *kinds, "END"]),
    )


def _value(positive: object) -> str:
    if isinstance(positive, str):
        return text_in_sql(positive)
    if isinstance(positive, bool):
        return str(positive).upper()
    return repr(_options.real_number(positive, "positive")).removesuffix(".0")


def _sums(names: Names, aliases: _Aliases, refuses: bool) -> dict[str, str]:
    """Write the columns of counts, or of weights and of their squares."""
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


def _binned(sums: Names, keys: Names, aliases: _Aliases, bins: int) -> str:
    """Write how cells of equal width become bins of about equal size, without a sort.

    Rounding differs between engines, and never the order of the cells: each bin comes
    back with the smallest and the largest score in it.
    """
    a = aliases
    other_keys = "".join(f", {key}" for key in keys)
    sums_of_cells = _select_list(
        {f"{a.cell_sum}_{name}": expression for name, expression in sums.items()}
    )
    sums_of_bins = _select_list(_sums_of_cells(sums, a.cell_sum))
    finite = f"{a.score} BETWEEN -{_LARGEST} AND {_LARGEST}"
    width = f"NULLIF({a.highest} - {a.lowest}, 0)"
    place = f"({a.score} - {a.lowest}) / {width} * {bins * _CELLS_PER_BIN}"
    # every piece is a name that was quoted above, or a number
    return f"""
    {a.score_range} AS (
      SELECT MIN({a.score}) AS {a.lowest}, MAX({a.score}) AS {a.highest}
      FROM {a.cases} WHERE {finite}
    ),
    {a.numbered_cases} AS (
      /* cells of equal width; -1 where a score is missing or not finite */
      SELECT {a.cases}.*, CASE WHEN {finite}
        THEN CAST(COALESCE({place}, 0) AS BIGINT) ELSE -1 END AS {a.cell}
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
    SELECT {_shown(keys)}MIN({a.cell_low}) AS score, MAX({a.cell_high}) AS high,
      {sums_of_bins}
    FROM {a.bins} GROUP BY {a.bin}{other_keys}
    """  # noqa: S608


def _sums_of_cells(sums: Names, prefix: str) -> dict[str, str]:
    """Write the sums over the cells of a bin; those of counts are whole numbers."""
    are_weights = any(name.endswith("squares") for name in sums)
    expressions = {}
    for name in sums:
        total = f"SUM({prefix}_{name})"
        is_count = name == "refused" or not are_weights
        expressions[name] = f"CAST({total} AS BIGINT)" if is_count else total
    return expressions


def _shown(keys: Names) -> str:
    return "".join(f"{k} AS {v}, " for k, v in keys.items())


def _applied(what: object, names: Names, aliases: _Aliases, to: str) -> _Query:
    """Write the query that gives every row its new score, or its decision."""
    score = _double(names["score"], to)
    if isinstance(what, Rule):
        new_column = "decision"
        expression = _rule(what, score, names.get("by"))
        comment = "Decision of the rule: 1 flagged, 0 not flagged, NULL deferred."
    elif isinstance(what, Map):
        new_column = "calibrated"
        expression = _map(what, score)
        comment = "What does the score mean as a probability?"
    else:
        raise InputError(
            f"A query applies a fitted map or a rule; found {described(what)}.",
            option="apply",
        )
    for role, name in names.items():
        if name.strip('"').lower() == new_column:
            raise InputError(
                f"{role} {new_column!r} is also the name of the new column. Rename it "
                "in a view.",
                option=role,
            )

    if to not in _WITHOUT_NAN:  # which some engines take for the largest number
        expression = f"CASE WHEN NOT {_is_nan(score, to)} THEN {expression} END"
    rows = aliases.cases
    query = (
        f"SELECT {rows}.*, {expression} AS {new_column} "  # noqa: S608
        f"FROM {aliases.source} AS {rows}"
    )
    return _Query(query, comments=(comment,))


def _rule(rule: Rule, score: str, group: str | None) -> str:
    """Write a rule of these columns; its cuts and groups stay values."""
    if rule.groups and group is None:
        raise InputError(
            "This rule has a threshold for each group; name the column of the groups.",
            option="by",
            example="COLUMN",
        )
    glot = required("sqlglot", "sql")
    columns = {"score": score, "group": group or "group"}
    expression = glot.parse_one(rule.to_sql("score", "group"), read="duckdb")
    for column in list(expression.find_all(glot.exp.Column)):
        column.replace(glot.parse_one(columns[column.name], read="duckdb"))
    return str(expression.sql("duckdb"))


def _map(map: Map, score: str) -> str:
    formula = map.expression
    if formula is None or formula_length(formula) > _LONGEST_MAP:
        raise InputError(
            f"A query needs a map of one score with at most {_LONGEST_MAP:,} steps; a "
            f"{type(map).__name__} is not one. Fit another map, or apply it in Python.",
            example=PythonCode(
                'trueness.calibrate(t, method="beta"), or trueness.apply(frame, map)'
            ),
        )
    glot = required("sqlglot", "sql")

    def number(value: float) -> Any:
        return glot.exp.convert(float(value))

    def function(name: str, argument: Any) -> Any:
        return glot.exp.func("LN" if name == "log" else name.upper(), argument)

    def choice(value: Any, edge: float, below: Any, above: Any) -> Any:
        # both are compared, so that a missing score stays missing
        number_at_edge = glot.exp.convert(edge)
        is_below = value < number_at_edge
        is_above = value >= number_at_edge
        return glot.exp.case().when(is_below, below).when(is_above, above)

    column = glot.parse_one(score, read="duckdb")
    expression = written(formula, column, number, function, choice)
    return str(expression.sql("duckdb"))
