"""Shared data for the tests: one place for engines and for random tied data."""

import os
import shutil
import sys
import warnings
from functools import cache

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import settings

settings.register_profile("trueness", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("trueness")


def arrow(columns):
    """Make an Arrow table; columns that are Arrow already keep their type and NaN."""
    made = {
        k: v if isinstance(v, pa.Array) else pa.array(v, from_pandas=True)
        for k, v in columns.items()
    }
    return pa.table(made)


@cache
def spark():
    """One Spark on this machine, started by the first test that needs it."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        # a short life: no time for the optimising compiler
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    # local[2, 3]: two threads, and a task may fail twice before the job does
    builder = SparkSession.builder.master("local[2, 3]").appName("trueness")
    for key, value in settings.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return builder.getOrCreate()


@pytest.fixture(scope="session", name="spark")
def spark_session():
    return spark()


def on_spark(columns):
    return spark().createDataFrame(arrow(columns)).repartition(3)


def on_ibis(columns):
    backend = ibis.duckdb.connect()
    backend.con.register("cases", arrow(columns))
    return backend.table("cases")


def converted(columns, backend):
    # pandas before 3 casts huge numbers to see whether they are whole
    with np.errstate(invalid="ignore"):
        return pd.DataFrame(columns).convert_dtypes(dtype_backend=backend)


# a new dataframe engine is one line: a function from columns to its frame
EAGER = {
    "pandas": pd.DataFrame,
    "pandas-nullable": lambda columns: converted(columns, "numpy_nullable"),
    "pandas-arrow": lambda columns: converted(columns, "pyarrow"),
    "polars": lambda columns: pl.DataFrame(columns, strict=False, nan_to_null=True),
    "pyarrow": arrow,
    "pyarrow-chunked": lambda columns: pa.concat_tables(
        arrow({k: v[i::2] for k, v in columns.items()}) for i in range(2)
    ),
}
LAZY = {
    "polars-lazy": lambda columns: pl.from_arrow(arrow(columns)).lazy(),
    "duckdb": lambda columns: duckdb.connect().from_arrow(arrow(columns)),
    "ibis": on_ibis,
    "pyspark": on_spark,
}
ENGINES = EAGER | LAZY
# Ibis writes numbers into the SQL as decimals, and DuckDB before 2 reads them back with
# an error in the last digit: a score on the edge of a bin can fall beside it
IBIS_ROUNDS = int(duckdb.__version__.split(".")[0]) < 2
# engines that keep the types of Arrow columns
TYPED = {
    "pandas": lambda columns: arrow(columns).to_pandas(),
    "pandas-arrow": lambda columns: arrow(columns).to_pandas(
        types_mapper=pd.ArrowDtype
    ),
    "polars": lambda columns: pl.from_arrow(arrow(columns)),
    "pyarrow": arrow,
    **LAZY,
}


def named(engines):
    """Give the names as parameters of a fixture; Spark can be left out by its mark."""
    return [
        pytest.param(name, marks=pytest.mark.spark if name == "pyspark" else ())
        for name in sorted(engines)
    ]


@pytest.fixture(params=named(EAGER))
def eager_engine(request):
    return EAGER[request.param]


@pytest.fixture(params=named(LAZY))
def lazy_engine(request):
    return LAZY[request.param]


@pytest.fixture(params=named(LAZY))
def exact_engine(request):
    """An engine in which a number keeps its last digit."""
    if request.param == "ibis" and IBIS_ROUNDS:
        pytest.skip("Ibis on DuckDB before 2 rounds the last digit of a literal")
    return LAZY[request.param]


@pytest.fixture(params=named(TYPED))
def typed_engine(request):
    return TYPED[request.param]


@pytest.fixture(params=named(ENGINES))
def engine(request):
    return ENGINES[request.param]


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


def tied_cases(rng, n, *, levels=7, prevalence=0.4, shift=1.0):
    """Random labels and scores with many ties, both classes present."""
    y = (rng.random(n) < prevalence).astype(int)
    y[:2] = 0, 1
    score = np.round((rng.normal(size=n) + shift * y) * levels / 4) / levels
    return y, score


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium, driven by Playwright.

    Where it is missing the tests are skipped with a reason, except in CI (``CI=true``),
    where a missing browser is a failure.
    """
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None and os.environ.get("CI") == "true":
        pytest.fail("No browser: apt-get install chromium")
    if found is None:
        pytest.skip("No browser on this machine: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=flags)
        yield opened
        opened.close()


class AtOnce:
    """A timer that does not wait."""

    def __init__(self, seconds, function):
        assert seconds == 1
        self.function = function

    def start(self):
        self.function()

    def cancel(self):
        pass

    def join(self):
        pass


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Make standard error a terminal, where nobody waits for a second.

    To be called in the test: pytest changes the streams between its phases.
    """

    def begin():
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        monkeypatch.setattr("trueness._core.progress.threading.Timer", AtOnce)
        return capsys

    return begin


@pytest.fixture(autouse=True)
def figures_are_closed():
    """Close the figures of a test: pyplot keeps them, and warns at twenty."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
