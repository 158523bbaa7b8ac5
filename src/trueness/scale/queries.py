"""How is a table counted where it is, when no driver reaches it?

By a query as text, whose result holds counts in the format of ``docs/counts.md``. The
queries are written once, in DuckDB's SQL, and translated by sqlglot.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, option_named
from trueness._core.imports import required
from trueness.calibration.maps import Map
from trueness.data.storage import COLUMNS
from trueness.scale.application import formula_length, write_formula
from trueness.scale.counting_query import (
    WITHOUT_NAN,
    Aliases,
    Names,
    as_double,
    counting_query,
    is_nan,
    unused_aliases,
)
from trueness.threshold.rule import Rule

# names of the dialects, and sqlglot's names for them
_NAMES = """duckdb postgres mysql mariadb sqlite bigquery snowflake databricks spark
trino clickhouse redshift"""
DIALECTS = {n: n for n in _NAMES.split()} | {"mariadb": "mysql", "sqlserver": "tsql"}
# the most steps of a map that is written out: ten nested comparisons
_LONGEST_MAP = 1000


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
    r"""SQL query that counts a table in its own database.

    Run it with any tool of your warehouse, and save the result as CSV or Parquet.
    ``trueness.tally(frame)``, :func:`read_tally` and every command recognise it by
    its columns, which ``docs/counts.md`` specifies.

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
        Approximate largest number of bins of equal size, if the scores are continuous;
        None counts every distinct score.
    apply
        A fitted map of one score, or a rule: the query then returns all rows with a new
        column, ``calibrated`` or ``decision``, instead of counts. ``by`` names the
        column of a rule's groups.

    Examples
    --------
    >>> print(sql("preds", dialect="snowflake", score="p"))
    -- Counts of negatives, positives and unknowns for each score.
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
    aliases = unused_aliases({*map(str, needed.values()), *table_parts})

    if apply is not None:
        query = _query_that_applies(apply, names, aliases, to)
    else:
        if by is not None and by.lower() in COLUMNS:
            raise InputError(
                f"The groups {by!r} have the name of a column of counts. Rename it in "
                "a view.",
                option="by",
            )
        query = _Query(
            counting_query(names, aliases, positive, to, bins),
            comments=(
                "Counts of negatives, positives and unknowns for each score.",
                "Save the result as CSV or Parquet, then type: trueness evaluate FILE",
            ),
        )

    comments = [f"-- {line}" for line in query.comments]
    return "\n".join([*comments, _translate(query.text, source, aliases, to)])


class _Query(NamedTuple):
    """A query in DuckDB's SQL, and comments on its purpose."""

    text: str
    comments: tuple[str, ...]


def _translate(query: str, source: Any, aliases: Aliases, dialect: str) -> str:
    """Return the text of a query on the source in another dialect."""
    glot = required("sqlglot", "sql")
    tree = glot.parse_one(query, read="duckdb")
    _insert_table(tree, source, aliases)
    # no ordered value can be missing: the dialect's own order of nulls needs no clause
    nulls_are_small = (
        glot.Dialect.get_or_raise(dialect).NULL_ORDERING == "nulls_are_small"
    )

    for ordered in tree.find_all(glot.exp.Ordered):
        ordered.set("nulls_first", nulls_are_small)

    return str(tree.sql(dialect, pretty=True))


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


def _column(name: object, role: str, dialect: str) -> str:
    """Return the name of a column, quoted only if necessary.

    Snowflake and others distinguish p from "p": a quoted name keeps its capitals.
    """
    glot = required("sqlglot", "sql")

    if not isinstance(name, str) or not name:
        raise InputError(
            f"{role} must name a column; found {described(name)}.",
            option=option_named(role),
        )

    is_reserved = name.lower() in _RESERVED_WORDS
    is_read = all(_is_column(name, language) for language in (dialect, "duckdb"))
    simple = name.isidentifier() and is_read and not is_reserved

    return str(glot.exp.to_identifier(name, quoted=not simple).sql("duckdb"))


def _is_column(name: str, dialect: str) -> bool:
    """Return whether the dialect reads this word as the name of a column."""
    glot = required("sqlglot", "sql")
    try:
        selected = glot.parse_one(f"SELECT {name}", read=dialect).selects[0]
    except glot.errors.SqlglotError:
        return False
    return isinstance(selected, glot.exp.Column) and selected.name == name


def _table(table: object, dialect: str) -> Any:
    """Return the name of a table as a node of sqlglot; refuse any other text."""
    glot = required("sqlglot", "sql")
    refusal = InputError(
        f"table must be the name of a table, as preds or mart.public.preds; found "
        f"{described(table)}."
    )

    if not isinstance(table, str):
        raise refusal

    try:
        query = glot.parse_one(f"SELECT * FROM {table}", read=dialect)  # noqa: S608
    except (glot.errors.SqlglotError, ValueError):
        raise refusal from None

    named = query.find(glot.exp.Table)
    if named is None or not all(
        isinstance(part, glot.exp.Identifier) for part in named.parts
    ):
        raise refusal

    # the parser reads samples, partitions, hints and versions, and silently drops some
    # of them: the name alone, written again, must be the text that was passed
    names_alone = glot.exp.Table(
        **{key: named.args.get(key) for key in ("this", "db", "catalog")}
    )
    written_again = named.sql(
        dialect, comments=False, unsupported_level=glot.ErrorLevel.IGNORE
    )
    same_text = _without_quotes(written_again) == _without_quotes(table)
    if query != glot.select("*").from_(names_alone) or not same_text:
        raise refusal

    # BigQuery accepts my-project without quotes
    for part in named.parts:
        part.set("quoted", part.quoted or not part.name.isidentifier())

    return named


def _without_quotes(name: str) -> str:
    """Return a name without quotes and spaces."""
    return "".join(sign for sign in name if sign not in '"`[]\\' and not sign.isspace())


def _insert_table(tree: Any, source: Any, aliases: Aliases) -> None:
    """Replace the source in the tree of a query by the table."""
    glot = required("sqlglot", "sql")
    for table in list(tree.find_all(glot.exp.Table)):
        if table.name == aliases.source:
            named = source.copy()
            if table.alias:
                named = named.as_(table.alias)
            table.replace(named)


def _query_that_applies(
    map_or_rule: object, names: Names, aliases: Aliases, dialect: str
) -> _Query:
    """Return the query that adds the new score, or the decision, to every row."""
    score = as_double(names["score"], dialect)

    if isinstance(map_or_rule, Rule):
        new_column = "decision"
        expression = _rule(map_or_rule, score, names.get("by"))
        comment = "Decision of the rule: 1 flagged, 0 not flagged, NULL deferred."
    elif isinstance(map_or_rule, Map):
        new_column = "calibrated"
        expression = _expression_of_map(map_or_rule, score)
        comment = "What does the score mean as a probability?"
    else:
        raise InputError(
            f"A query applies a fitted map or a rule; found {described(map_or_rule)}.",
            option="apply",
        )

    for role, name in names.items():
        if name.strip('"').lower() == new_column:
            raise InputError(
                f"{role} {new_column!r} is also the name of the new column. Rename it "
                "in a view.",
                option=role,
            )

    # some engines treat NaN as the largest number
    if dialect not in WITHOUT_NAN:
        expression = f"CASE WHEN NOT {is_nan(score, dialect)} THEN {expression} END"

    rows = aliases.cases
    query = (
        f"SELECT {rows}.*, {expression} AS {new_column} "  # noqa: S608
        f"FROM {aliases.source} AS {rows}"
    )
    return _Query(query, comments=(comment,))


def _rule(rule: Rule, score: str, group: str | None) -> str:
    """Return the SQL expression of a rule on these columns."""
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


def _expression_of_map(calibrator: Map, score: str) -> str:
    """Return the SQL expression of a map of one score, in DuckDB's dialect."""
    formula = calibrator.expression
    if formula is None or formula_length(formula) > _LONGEST_MAP:
        raise InputError(
            f"A query needs a map of one score with at most {_LONGEST_MAP:,} steps; a "
            f"{type(calibrator).__name__} is not one. Fit another map, or apply it in "
            "Python.",
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
        # compare twice, so that a missing score stays missing
        number_at_edge = glot.exp.convert(edge)
        is_below = value < number_at_edge
        is_above = value >= number_at_edge
        return glot.exp.case().when(is_below, below).when(is_above, above)

    column = glot.parse_one(score, read="duckdb")
    expression = write_formula(formula, column, number, function, choice)
    return str(expression.sql("duckdb"))
