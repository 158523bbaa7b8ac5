"""The query as text, run for real: the same counts as NumPy's, bit for bit."""

import csv
import io
import json
import sqlite3
from decimal import Decimal
from functools import lru_cache

import duckdb
import numpy as np
import polars as pl
import pytest
import sqlglot
from typer.testing import CliRunner

import trueness
from servers import house, needs, output, postgres_server, serving
from trueness import InputError
from trueness.cli import app
from trueness.scale.queries import DIALECTS

BIG = 10**15 + 1
# the types of score, label, decimal, count, weight, cluster and group
TYPES = {
    "duckdb": "DOUBLE INTEGER DECIMAL(6,3) BIGINT DOUBLE INTEGER VARCHAR",
    "sqlite": "REAL INTEGER NUMERIC INTEGER REAL INTEGER TEXT",
    "postgres": "FLOAT8 FLOAT8 NUMERIC BIGINT FLOAT8 INTEGER TEXT",
    "mariadb": "DOUBLE INTEGER DECIMAL(6,3) BIGINT DOUBLE INTEGER TEXT",
    "clickhouse": "Nullable(Float64) Nullable(Float64) Decimal(6,3) Int64 Float64 "
    "Int32 String",
}
NAMES = ("p", "y", "d", "n", "w", "c", "my site")


def cases(seed=1, size=400):
    """Ties, both zeros, tiny and long numbers; labels of 0, 1 and none."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.normal(size=size), 1)
    p[:6] = [0.0, -0.0, 0.1 + 0.2, 0.3, 1e-300, 1 / 3]
    y = [None if k % 9 == 0 else int(rng.random() < 0.4) for k in range(size)]
    d = [Decimal(int(v)) / 1000 for v in rng.integers(-99_999, 99_999, size)]
    n = [BIG if k < 3 else int(rng.integers(0, 5)) for k in range(size)]
    w = rng.integers(0, 9, size) / 4  # exact in binary: sums are, too
    c = rng.integers(0, 20, size)
    g = rng.choice(["a", "it's"], size)
    columns = (p.tolist(), y, d, n, w.tolist(), c.tolist(), g.tolist())
    return dict(zip(NAMES, columns, strict=True))


DATA = cases()
ROWS = list(zip(*DATA.values(), strict=True))


def literal(value):
    if value is None:
        return "NULL"
    text = value.replace("'", "''") if isinstance(value, str) else ""
    return f"'{text}'" if text else str(value)


def statements(engine, quote='"', end=""):
    """Create the table and fill it, in plain SQL."""
    kinds = zip(NAMES, TYPES[engine].split(), strict=True)
    columns = ", ".join(f"{quote}{k}{quote} {v}" for k, v in kinds)
    values = ", ".join(f"({', '.join(map(literal, row))})" for row in ROWS)
    insert = f"INSERT INTO preds VALUES {values}"  # noqa: S608 - numbers of ours
    return f"CREATE TABLE preds ({columns}){end}", insert


GONE = ("NULL", "\\N")  # as MariaDB and ClickHouse print it


def as_csv(rows):
    out = io.StringIO()
    csv.writer(out).writerows([["" if v in GONE else v for v in r] for r in rows])
    return out.getvalue()


def frame_of(text, delimiter=","):
    """Write what a client printed to a file of CSV, as a person would save it."""
    return as_csv(csv.reader(io.StringIO(text), delimiter=delimiter))


def run_duckdb(folder):
    connection = duckdb.connect()
    for s in statements("duckdb"):
        connection.execute(s)
    return lambda query: connection.sql(query).pl().write_csv()


def run_sqlite(folder):
    connection = sqlite3.connect(":memory:")
    for s in statements("sqlite"):
        connection.execute(s)

    def ask(query):
        result = connection.execute(query)
        return as_csv([[d[0] for d in result.description], *result.fetchall()])

    return ask


def run_polars(folder):
    if pl.__version__ < "2":
        pytest.skip("the SQL of Polars 1 has no sums over all rows beside others")
    frame = pl.DataFrame(DATA, schema_overrides={"y": pl.Float64}, strict=False)
    context = pl.SQLContext(preds=frame.with_columns(pl.col("d").cast(pl.Float64)))
    return lambda query: context.execute(query, eager=True).write_csv()


@lru_cache(maxsize=1)
def clickhouse_session():
    """Start the engine of this process, which can have only one."""
    return pytest.importorskip("chdb.session").Session()


def run_clickhouse(folder):
    session = clickhouse_session()
    create, insert = statements("clickhouse", end=" ENGINE = Memory")
    session.query("CREATE DATABASE house")
    session.query("USE house")
    session.query(create)
    session.query(insert)
    return lambda query: frame_of(str(session.query(query, "CSVWithNames")))


@pytest.fixture(scope="module")
def postgres():
    with postgres_server() as (_, call):
        output(call, ";".join(statements("postgres")))
        yield lambda query: frame_of(output(call, query))


@pytest.fixture(scope="module")
def mariadb():
    install, server, client = needs("mariadb-install-db", "mariadbd", "mariadb")
    with house("mysql") as (home, user):
        data = ["--no-defaults", f"--datadir={home}/data"]
        init = [*user, install, *data, "--auth-root-authentication-method=normal"]
        output(init)
        words = [*user, server, *data, "--skip-networking", f"--socket={home}/s"]
        words += [f"--pid-file={home}/pid"]
        call = [client, "--no-defaults", "-u", "root", f"--socket={home}/s", "--batch"]
        with serving(words, [*call, "-e", "SELECT 1"]):
            output(call, "CREATE DATABASE house")
            call.append("house")
            output(call, ";".join(statements("mariadb", "`")))
            yield lambda query: frame_of(output(call, query), "\t")


@pytest.fixture(scope="module", name="spark_sql")
def spark_of_this_machine(spark):
    kinds = "p DOUBLE, y INT, d DECIMAL(6, 3), n BIGINT, w DOUBLE, c INT, site STRING"
    rows = spark.createDataFrame(ROWS, kinds).withColumnRenamed("site", "my site")
    rows.createOrReplaceTempView("preds")

    def ask(query):
        result = spark.sql(query)
        return as_csv([result.columns, *map(tuple, result.collect())])

    return ask


LOCAL = {"duckdb": run_duckdb, "sqlite": run_sqlite, "clickhouse": run_clickhouse,
         "polars": run_polars}  # fmt: skip
SERVED = [
    pytest.param(name, marks=pytest.mark.slow) for name in ("postgres", "mariadb")
] + [pytest.param("spark", marks=pytest.mark.spark)]


@pytest.fixture(scope="module", params=[*LOCAL, *SERVED])
def engine(request, tmp_path_factory):
    """Give the name of an engine, and a function from a query to its CSV."""
    if request.param in LOCAL:
        return request.param, LOCAL[request.param](tmp_path_factory.mktemp("engine"))
    fixture = {"spark": "spark_sql"}.get(request.param, request.param)
    return request.param, request.getfixturevalue(fixture)


def read(text, folder, **options):
    path = folder / "counts.csv"
    path.write_text(text)
    return trueness.tally(trueness.scan(path), **options)


def dialect(name):
    return "postgres" if name == "polars" else name


QUESTIONS = {
    "plain": {},
    "groups": {"by": "my site"},
    "clusters": {"cluster": "c"},
    "counts": {"count": "n"},
    "decimals": {"score": "d"},
    "weights": {"weight": "w"},
    "all": {"weight": "w", "cluster": "c", "by": "my site"},
    "no labels": {"label": None},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_engine_counts_as_numpy_does(engine, question, tmp_path):
    name, ask = engine
    options = {"label": "y", "score": "p", **QUESTIONS[question]}
    by = {"by": options["by"]} if "by" in options else {}

    counted = ask(trueness.sql("preds", dialect=dialect(name), **options))

    assert read(counted, tmp_path, **by) == trueness.tally(DATA, **options)


def test_bins_hold_the_same_cases(engine, tmp_path):
    name, ask = engine
    options = {"label": "y", "score": "p"}
    exact = trueness.tally(DATA, **options)

    query = trueness.sql("preds", dialect=dialect(name), **options, bins=15)
    bins = read(ask(query), tmp_path)

    assert 5 < len(bins) <= 15
    assert bins.binned
    for low, high, *counts in zip(bins.score, bins.high, *bins.counts, strict=True):
        inside = (exact.score >= low) & (exact.score <= high)
        inside_counts = [int(column[inside].sum()) for column in exact.counts]
        assert inside_counts == [int(number) for number in counts]
        assert {low, high} <= set(exact.score)


def test_bins_of_an_engine_bound_the_exact_answer(engine, tmp_path):
    name, ask = engine
    options = {"label": "y", "score": "p"}
    query = trueness.sql("preds", dialect=dialect(name), **options, bins=15)

    low, high = trueness.auc(read(ask(query), tmp_path)).bounds

    assert low <= trueness.auc(DATA, **options).value <= high


def on_duckdb(frame, **options):
    connection = duckdb.connect()
    connection.register("preds", frame)
    return connection.sql(trueness.sql("preds", dialect="duckdb", **options))


def test_nan_and_null_are_both_missing():
    columns = {
        "y": [1.0, 0.0, np.nan, None, 0.0],
        "p": [0.5, 0.5, 0.5, 0.25, np.float32(0.1)],
    }
    frame = pl.DataFrame(columns, strict=False)
    options = {"label": "y", "score": "p"}
    expected = trueness.tally(frame, **options)

    by_duckdb = on_duckdb(frame, **options)
    query = trueness.sql("preds", dialect="postgres", **options)
    by_polars = pl.SQLContext(preds=frame).execute(query)

    assert expected.n_unknown == 2
    assert trueness.tally(by_duckdb) == expected
    assert trueness.tally(by_polars) == expected


@pytest.mark.parametrize(
    ("labels", "positive"),
    [(["yes", None, "no"], "yes"), ([True, None, False], True), ([2, None, 1], 2)],
)
def test_other_labels_need_a_positive_one(labels, positive):
    frame = pl.DataFrame({"y": labels, "p": [0.3, 0.2, 0.1]})
    options = {"label": "y", "score": "p", "positive": positive}

    counted = on_duckdb(frame, **options)

    assert trueness.tally(counted) == trueness.tally(frame, **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": "y", "score": "w"}, "could not count 1 rows"),
        ({"score": "y", "weight": "w"}, "could not count 1 rows"),
        ({"score": "p"}, "missing or infinite in 1 of 2 cases"),
        ({"score": "p", "bins": 2}, "missing or infinite in 1 of 2 cases"),
    ],
)
def test_what_cannot_be_counted_is_refused(arguments, message):
    frame = pl.DataFrame({"y": [0, 2], "p": [0.3, None], "w": [1.0, -1.0]})
    with pytest.raises(InputError, match=message):
        trueness.tally(on_duckdb(frame, **arguments))


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("bins", [None, 100])
def test_every_dialect_reads_its_query(name, bins):
    options = {"label": "order", "score": "p", "by": "my site", "cluster": "c"}

    query = trueness.sql("mart.preds", dialect=name, **options, weight="w", bins=bins)
    (tree,) = sqlglot.parse(query, read=DIALECTS[name], error_level="raise")
    columns = [column.alias_or_name for column in tree.selects]

    assert columns[:3] == ["cluster", "my site", "score"]
    assert not tree.find(sqlglot.exp.Anonymous)  # no function of another dialect


def test_names_of_columns_are_names_whatever_they_contain():
    name = 'p"; DROP TABLE preds; --'
    frame = pl.DataFrame({name: [0.5, 0.1], "select": [1, 0]})

    counts = trueness.tally(on_duckdb(frame, score=name, label="select"))

    assert counts == trueness.tally([1, 0], [0.5, 0.1])


@pytest.mark.parametrize(
    "table", ["preds; DROP TABLE preds", "a, b", "preds p", "(SELECT 1)", ""]
)
def test_a_table_is_a_name_and_nothing_else(table):
    with pytest.raises(InputError, match="table must be the name"):
        trueness.sql(table, dialect="duckdb", score="p")


def test_a_name_that_a_dialect_takes_without_quotes():
    query = trueness.sql("my-house.x.preds", dialect="bigquery", score="p")

    assert "`my-house`.x.preds" in query


def test_groups_may_not_have_the_name_of_a_count():
    with pytest.raises(InputError, match="Rename it in a view"):
        trueness.sql("preds", dialect="duckdb", score="p", by="Score")


def test_a_dialect_that_is_not_known():
    with pytest.raises(InputError, match="dialect must be"):
        trueness.sql("preds", dialect="oracle", score="p")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "table",
    [
        None,
        3,
        "preds PARTITION (p0)",
        "preds TABLESAMPLE (10 PERCENT)",
        "preds WITH (NOLOCK)",
        "preds /* x */",
        "preds;",
        "preds::text",
        "ONLY preds",
    ],
)
def test_nothing_stands_beside_the_name_of_a_table(dialect, table):
    with pytest.raises(InputError, match="table must be the name"):
        trueness.sql(table, dialect=dialect, score="p")


@pytest.mark.parametrize("table", ["a.b", "a::b", "cases", "predictions", "p q"])
def test_odd_names_of_tables_are_read_between_quotes(table):
    connection = duckdb.connect()
    connection.execute(f'CREATE TABLE "{table}" AS SELECT 0.5 AS p, 1 AS y')

    query = trueness.sql(f'"{table}"', dialect="duckdb", score="p", label="y")

    assert connection.sql(query).fetchall() == [(0.5, 0, 1, 0, 0)]


# every name that the query gives to a column of its own
OWN_NAMES = (
    *("score", "case_score", "case_weight", "kind", "neg", "high", "cell", "bin"),
    *("cell_low", "cell_sum_pos", "lowest_score", "cases", "weight"),
)


def sums_of_weights(engine, name, bins):
    """Ask an engine about three cases whose weights stand in a column of this name."""
    rows = f"""(SELECT 0.2 AS p, 0 AS y, 5.0 AS "{name}"
        UNION ALL SELECT 0.4, 1, 6.0 UNION ALL SELECT 0.8, 1, 7.0)"""
    query = trueness.sql(
        "named", dialect=engine, score="p", label="y", weight=name, bins=bins
    )
    query = query.replace("FROM named", f"FROM {rows} AS named")
    if engine == "clickhouse":
        result = str(clickhouse_session().query(query, "CSVWithNames"))
        return list(csv.DictReader(io.StringIO(result)))
    return duckdb.sql(query).pl().to_dicts()


@pytest.mark.parametrize("engine", ["duckdb", "clickhouse"])
@pytest.mark.parametrize("bins", [None, 5])
@pytest.mark.parametrize("name", OWN_NAMES)
def test_columns_may_be_called_as_the_query_calls_its_own(engine, bins, name):
    counts = sums_of_weights(engine, name, bins)

    assert sum(float(row["neg"]) for row in counts) == 5
    assert sum(float(row["pos"]) for row in counts) == 13


def test_groups_of_a_rule_are_values_whatever_they_contain():
    groups = ['x"by"y', "score", "it's", '"score" >= 0 --', "a\\"]
    rule = trueness.Rule({name: 0.5 for name in groups})
    frame = pl.DataFrame({"by": groups * 2, 's"x': [0.4] * 5 + [0.6] * 5})

    query = trueness.sql("frame", dialect="duckdb", score='s"x', by="by", apply=rule)
    decided = duckdb.sql(query).pl()["decision"].to_list()

    assert len(frame) == 10
    assert decided == [0] * 5 + [1] * 5


def test_a_rule_decides_nothing_about_a_score_that_is_no_number():
    frame = pl.DataFrame({"p": [float("nan"), None, 0.9]})
    query = trueness.sql("frame", dialect="duckdb", score="p", apply=trueness.Rule(0.5))
    assert len(frame) == 3
    assert duckdb.sql(query).pl()["decision"].to_list() == [None, None, 1]


def test_the_new_column_may_not_be_the_one_that_is_read():
    with pytest.raises(InputError, match="name of the new column"):
        trueness.sql(
            "preds", dialect="duckdb", score="Decision", apply=trueness.Rule(0.5)
        )


MAPS = ("isotonic", "beta", "platt", "temperature")


@pytest.mark.parametrize("method", MAPS)
def test_a_map_is_a_query_too(engine, method):
    name, ask = engine
    t = trueness.tally([0, 1, 0, 1, 1, 0], [0.1, 0.4, 0.3, 0.8, 0.9, 0.2])
    fitted = trueness.calibrate(t, method=method)

    query = trueness.sql("preds", dialect=dialect(name), score="p", apply=fitted)
    rows = list(csv.DictReader(io.StringIO(ask(query))))
    scores = np.array([float(row["p"]) for row in rows])
    calibrated = np.array([float(row["calibrated"]) for row in rows])

    np.testing.assert_allclose(calibrated, fitted(scores), rtol=1e-12, atol=1e-300)


def test_a_rule_is_a_query_too(engine):
    name, ask = engine
    rule = trueness.Rule({"a": 0.5, "it's": 0.1}, {"a": -0.5, "it's": 0.1})
    options = {"score": "p", "by": "my site", "apply": rule}

    query = trueness.sql("preds", dialect=dialect(name), **options)
    rows = list(csv.DictReader(io.StringIO(ask(query))))
    scores = np.array([float(row["p"]) for row in rows])
    groups = np.array([row["my site"] for row in rows])
    decisions = [float(row["decision"] or "nan") for row in rows]

    np.testing.assert_array_equal(decisions, rule.decide(scores, groups))


def run(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


def test_the_command_writes_the_query_and_reads_its_result(tmp_path):
    words = ["--label", "y", "--score", "p", "--by", "my site"]
    result = run("sql", "--dialect", "duckdb", "--table", "preds", *words)
    wanted = {"dialect": "duckdb", "label": "y", "score": "p", "by": "my site"}

    assert result.output == trueness.sql("preds", **wanted) + "\n"

    (tmp_path / "counts.csv").write_text(run_duckdb(tmp_path)(result.output))
    pl.DataFrame(DATA).write_parquet(tmp_path / "rows.parquet")
    counts = tmp_path / "counts.csv"
    rows = tmp_path / "rows.parquet"
    for command in ("evaluate", "threshold", "calibrate"):
        one = run(command, counts, "--by", "my site", "--json")
        other = run(command, rows, *words, "--json")
        assert one.exit_code == 0, one.output
        one, other = (json.loads(x.stdout)["result"] for x in (one, other))
        assert plain(one) == plain(other)


def plain(result):
    """Forget what the score is called."""
    return json.loads(json.dumps(result).replace('"p', '"score'))


def test_the_command_says_what_is_missing_and_writes_json():
    made = run("sql", "--dialect", "duckdb", "--score", "p")
    assert made.exit_code == 2
    assert "Type --table preds." in made.output

    words = ["--dialect", "mysql", "--table", "preds", "--score", "p", "--json"]
    result = json.loads(run("sql", *words, "--positive", "'1'", "--label", "y").stdout)
    wanted = {"dialect": "mysql", "score": "p", "label": "y", "positive": "1"}
    assert result["schema"] == "trueness/sql/1"
    assert result["result"]["query"] == trueness.sql("preds", **wanted)
