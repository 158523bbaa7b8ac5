"""How is a table counted where it is, when no driver reaches it?

By a query as text, whose result holds counts in the format of ``docs/counts.md``. The
queries are written once, in DuckDB's SQL, and translated by sqlglot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
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
_CELLS = 1000  # of equal width for each bin, of which bins of equal size are made
_LONGEST = 1000  # steps of a map that is written out: ten comparisons deep
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
        CAST(p AS DOUBLE) AS score,
        'unknown' AS kind
      FROM preds
    )
    SELECT
      score,
      COUNT(CASE WHEN kind = 'neg' THEN 1 END) AS neg,
      COUNT(CASE WHEN kind = 'pos' THEN 1 END) AS pos,
      COUNT(CASE WHEN kind = 'unknown' THEN 1 END) AS unknown
    FROM cases
    GROUP BY
      score
    """
    to = DIALECTS[_options.choice(dialect, tuple(DIALECTS), "dialect")]
    given = {"score": score, "label": label, "count": count, "weight": weight}
    given |= {"cluster": cluster, "by": by}
    needed = {k: v for k, v in given.items() if v is not None or k == "score"}
    names = {k: _column(v, k, to) for k, v in needed.items()}
    source = _table(table, to)
    if apply is not None:
        query, said = _applied(apply, names, source, to)
    else:
        if by is not None and by.lower() in COLUMNS:
            raise InputError(
                f"by={by!r} is also the name of a column of counts. Rename it in a "
                "view."
            )
        said = (
            "How many negatives, positives and unknowns showed each score?",
            "Save the result as CSV or Parquet, then type: trueness evaluate FILE",
        )
        query = _counting(names, source, positive, to, bins)
    glot = required("sqlglot", "sql")
    tree = glot.parse_one(query, read="duckdb")
    # nothing that is ordered here can be missing
    small = glot.Dialect.get_or_raise(to).NULL_ORDERING == "nulls_are_small"
    for ordered in tree.find_all(glot.exp.Ordered):
        ordered.set("nulls_first", small)
    written_out = str(tree.sql(to, pretty=True))
    return "\n".join([*(f"-- {line}" for line in said), written_out])


def _column(name: object, what: str, to: str) -> str:
    """Write the name of a column, between quotes only if it needs them.

    Snowflake and others tell p from "p": a name between quotes keeps its capitals.
    """
    glot = required("sqlglot", "sql")
    if not isinstance(name, str) or not name:
        raise InputError(f"{what} must name a column; found {described(name)}.")
    simple = name.isidentifier() and all(_is_column(name, d) for d in (to, "duckdb"))
    return str(glot.exp.to_identifier(name, quoted=not simple).sql("duckdb"))


def _is_column(name: str, dialect: str) -> bool:
    """Does the dialect take this word for a column, and not for one of its own?"""
    glot = required("sqlglot", "sql")
    try:
        found = glot.parse_one(f"SELECT {name}", read=dialect).selects[0]
    except glot.errors.SqlglotError:
        return False
    return isinstance(found, glot.exp.Column) and found.name == name


def _table(table: object, to: str) -> str:
    glot = required("sqlglot", "sql")
    try:
        found = glot.parse_one(f"SELECT * FROM {table}", read=to)  # noqa: S608
    except (glot.errors.SqlglotError, ValueError):
        found = None
    named = found and found.find(glot.exp.Table)
    only = (
        named
        and not named.alias
        and all(isinstance(part, glot.exp.Identifier) for part in named.parts)
    )
    # nothing beside the name: no second table, no condition, no other statement
    if not only or found != glot.select("*").from_(named):
        raise InputError(
            f"table must be the name of a table, as preds or mart.public.preds; found "
            f"{described(table)}."
        )
    for part in named.parts:  # BigQuery takes my-project without quotes
        part.set("quoted", part.quoted or not part.name.isidentifier())
    return str(named.sql("duckdb"))


def _counting(
    names: Names, table: str, positive: object, to: str, bins: int | None
) -> str:
    """Write the query that counts, in DuckDB's SQL."""
    # CLUSTER and GROUP are words of SQL, of which some engines take no column
    keys = {"unit": "cluster"} if "cluster" in names else {}
    keys |= {"part": names["by"]} if "by" in names else {}
    kind, refuses = _kind(names, positive, to)
    held = {
        "score": _double(names["score"], to),
        "kind": kind,
        "unit": names.get("cluster"),
        "part": names.get("by"),
        "number": names.get("count"),
        "weight": _double(names["weight"], to) if "weight" in names else None,
    }
    cases = [f"{how} AS {name}" for name, how in held.items() if how]
    first = f"WITH cases AS (SELECT {', '.join(cases)} FROM {table})"  # noqa: S608
    made = _sums(names, refuses)
    if bins is None:
        columns = ", ".join(f"{how} AS {name}" for name, how in made.items())
        grouped = ", ".join(["score", *keys])
        select = f"SELECT {_shown(keys)}score, {columns} FROM cases"  # noqa: S608
        return f"{first} {select} GROUP BY {grouped}"
    bins = _options.whole_number(bins, "bins", at_least=1)
    return f"{first}, {_binned(made, keys, bins)}"


def _double(name: str, to: str) -> str:
    # SQLite has no other real numbers, and would make zero of a word
    return name if to == "sqlite" else f"CAST({name} AS DOUBLE)"


def _is_nan(number: str, to: str) -> str:
    if to in _NAN_IS_EQUAL:
        return f"{number} = CAST('NaN' AS DOUBLE)"
    return f"ISNAN({number})"


def _kind(names: Names, positive: object, to: str) -> tuple[str, bool]:
    """Write which kind a case is of; say whether a case can be refused."""
    usable = []
    if "weight" in names:
        weight = _double(names["weight"], to)
        usable += [f"{weight} IS NULL OR NOT {weight} BETWEEN 0 AND {_LARGEST}"]
    if "count" in names:
        usable += [f"{names['count']} IS NULL OR {names['count']} < 0"]
    parts = [f"WHEN {condition} THEN 'refused'" for condition in usable]
    label = names.get("label")
    if label is None:
        if positive is not None:
            raise InputError("positive= needs labels; name their column with label=.")
        every = " ".join(["CASE", *parts, "ELSE 'unknown' END"])
        return (every, True) if parts else ("'unknown'", False)
    missing = f"{label} IS NULL"
    if not isinstance(positive, (bool, str)) and to not in _WITHOUT_NAN:
        missing += f" OR {_is_nan(_double(label, to), to)}"
    if positive is None:
        parts += [f"WHEN {label} = 1 THEN 'pos'", f"WHEN {label} = 0 THEN 'neg'"]
        parts += [f"WHEN {missing} THEN 'unknown' ELSE 'refused'"]
    else:
        parts += [f"WHEN {label} = {_value(positive)} THEN 'pos'"]
        parts += [f"WHEN {missing} THEN 'unknown' ELSE 'neg'"]
    return " ".join(["CASE", *parts, "END"]), positive is None or bool(usable)


def _value(positive: object) -> str:
    if isinstance(positive, str):
        return text_in_sql(positive)
    if isinstance(positive, bool):
        return str(positive).upper()
    return repr(_options.real_number(positive, "positive")).removesuffix(".0")


def _sums(names: Names, refuses: bool) -> dict[str, str]:
    """Write the columns of counts, or of weights and of their squares."""
    kinds = ("neg", "pos", "unknown")

    def added(kind: str, value: str) -> str:
        return f"SUM(CASE WHEN kind = '{kind}' THEN {value} ELSE 0 END)"

    made = {k: f"COUNT(CASE WHEN kind = '{k}' THEN 1 END)" for k in kinds}
    times = " * number" if "count" in names else ""
    if "weight" in names:
        made = {k: added(k, f"weight{times}") for k in kinds}
        made |= {f"{k}_squares": added(k, f"weight * weight{times}") for k in kinds}
    elif times:
        made = {k: f"CAST({added(k, 'number')} AS BIGINT)" for k in kinds}
    if refuses:
        made["refused"] = "COUNT(CASE WHEN kind = 'refused' THEN 1 END)"
    return made


def _binned(made: Names, keys: Names, bins: int) -> str:
    """Write how cells of equal width become bins of about equal size, without a sort.

    Rounding differs between engines, and never the order of the cells: each bin comes
    back with the smallest and the largest score in it.
    """
    beside = "".join(f", {k}" for k in keys)
    inner = ", ".join(f"{how} AS sum_{name}" for name, how in made.items())
    weighted = any(name.endswith("squares") for name in made)
    outer = ", ".join(
        f"SUM(sum_{name}) AS {name}"
        if weighted and name != "refused"
        else f"CAST(SUM(sum_{name}) AS BIGINT) AS {name}"
        for name in made
    )
    place = f"(score - least) / NULLIF(most - least, 0) * {bins * _CELLS}"
    # every piece is a name that was quoted above, or a number
    return f"""
    ends AS (
      SELECT MIN(score) AS least, MAX(score) AS most FROM cases
      WHERE score BETWEEN -{_LARGEST} AND {_LARGEST}
    ),
    numbered AS (
      /* cells of equal width; -1 where a score is missing or not finite */
      SELECT cases.*, CASE WHEN score BETWEEN -{_LARGEST} AND {_LARGEST}
        THEN CAST(COALESCE({place}, 0) AS BIGINT) ELSE -1 END AS cell
      FROM cases CROSS JOIN ends
    ),
    cells AS (
      SELECT cell{beside}, MIN(score) AS low, MAX(score) AS top,
        COUNT(*) AS cases, {inner}
      FROM numbered GROUP BY cell{beside}
    ),
    bins AS (
      /* neighbouring cells together, with about as many cases in each bin */
      SELECT cells.*, CASE WHEN cell = -1 THEN -1 ELSE CAST({bins - 1}
        * CAST(SUM(cases) OVER (ORDER BY cell) AS DOUBLE)
        / SUM(cases) OVER () AS BIGINT) END AS bin
      FROM cells
    )
    SELECT {_shown(keys)}MIN(low) AS score, MAX(top) AS high, {outer}
    FROM bins GROUP BY bin{beside}
    """  # noqa: S608


def _shown(keys: Names) -> str:
    return "".join(f"{k} AS {v}, " for k, v in keys.items())


def _applied(
    what: object, names: Names, table: str, to: str
) -> tuple[str, tuple[str, ...]]:
    """Write the query that gives every row its new score, or its decision."""
    score = _double(names["score"], to)
    if isinstance(what, Rule):
        if what.groups and "by" not in names:
            raise InputError(
                "This rule has a threshold for each group; name the column of the "
                "groups with by=."
            )
        new, expression = "decision", what.to_sql("score", "by")
        for role in ("score", "by"):
            expression = expression.replace(f'"{role}"', names.get(role, role))
        said = ("What is decided? 1 flagged, 0 not flagged, NULL deferred.",)
    elif isinstance(what, Map):
        new, expression = "calibrated", _map(what, score)
        if to not in _WITHOUT_NAN:  # which some engines take for the largest number
            expression = f"CASE WHEN NOT {_is_nan(score, to)} THEN {expression} END"
        said = ("What does the score mean as a probability?",)
    else:
        raise InputError(
            f"apply= needs a fitted map or a rule; found {described(what)}."
        )
    query = f"SELECT {table}.*, {expression} AS {new} FROM {table}"  # noqa: S608
    return query, said


def _map(map: Map, score: str) -> str:
    formula = map.expression
    if formula is None or formula_length(formula) > _LONGEST:
        raise InputError(
            f"A query needs a map of one score with at most {_LONGEST:,} steps; a "
            f"{type(map).__name__} is none. Fit another one, for example by "
            f'trueness.calibrate(t, method="beta"), or type trueness.apply where the '
            f"rows can be read."
        )
    glot = required("sqlglot", "sql")

    def choice(s: Any, edge: float, below: Any, above: Any) -> Any:
        # both are compared, so that a missing score stays missing
        edged = glot.exp.convert(edge)
        return glot.exp.case().when(s < edged, below).when(s >= edged, above)

    def call(word: str, s: Any) -> Any:
        return glot.exp.func("LN" if word == "log" else word.upper(), s)

    place = glot.parse_one(score, read="duckdb")
    made = written(formula, place, lambda v: glot.exp.convert(float(v)), call, choice)
    return str(made.sql("duckdb"))
