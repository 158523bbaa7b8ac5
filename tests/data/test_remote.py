"""Addresses: HTTP, S3 and PostgreSQL, where DuckDB's extensions can be had.

``TRUENESS_DUCKDB_EXTENSIONS`` names a folder that holds them, for machines without a
network. Without the extensions the refusal is tested, and the rest is skipped.
"""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import trueness
from servers import postgres_server
from trueness import InputError

FOLDER = os.environ.get("TRUENESS_DUCKDB_EXTENSIONS")
SETTINGS = {"extension_directory": FOLDER} if FOLDER else {}


SCORE = np.arange(500) / 500
CASES = pl.DataFrame({"y": np.arange(500) % 3 % 2, "p": SCORE})


def counted(place, **settings):
    rows = trueness.scan(place, settings=SETTINGS | settings)
    return trueness.tally(rows, label="y", score="p")


WHOLE = trueness.tally(CASES["y"], CASES["p"])


def needs(extension):
    """Skip where DuckDB has no such extension and nothing is fetched for a test."""
    with duckdb.connect(config=SETTINGS) as connection:
        try:
            connection.load_extension(extension)
        except duckdb.Error as err:
            pytest.skip(f"DuckDB's extension {extension} is not here: {err}")


@pytest.fixture
def server(tmp_path):
    """A process of its own: DuckDB holds Python's lock while it asks for files."""
    command = [sys.executable, str(Path(__file__).with_name("file_server.py"))]
    with subprocess.Popen(
        [*command, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as found:
        yield int(found.stdout.readline())
        found.terminate()


def test_a_web_server_and_s3(server, tmp_path):
    needs("httpfs")
    (tmp_path / "bucket").mkdir()
    CASES.write_parquet(tmp_path / "bucket" / "a.parquet")
    CASES.write_csv(tmp_path / "bucket" / "a.csv")
    for name in ("a.parquet", "a.csv"):
        assert counted(f"http://127.0.0.1:{server}/bucket/{name}") == WHOLE
    with pytest.raises(InputError, match="cannot be read"):
        counted(f"http://127.0.0.1:{server}/none.parquet")
    settings = {
        "s3_endpoint": f"127.0.0.1:{server}",
        "s3_url_style": "path",
        "s3_use_ssl": False,
        "s3_region": "eu-central-1",
        "s3_access_key_id": "key",
        "s3_secret_access_key": "it's secret",
    }
    assert counted("s3://bucket/a.parquet", **settings) == WHOLE


@pytest.fixture
def address():
    needs("postgres_scanner")
    with postgres_server() as (home, _):
        yield f"postgres://me:secret@/postgres?host={home}"


def test_a_table_of_postgres(address):
    with duckdb.connect(config=SETTINGS) as connection:
        connection.load_extension("postgres_scanner")
        connection.execute(f"ATTACH '{address}' AS pg (TYPE postgres)")
        connection.register("cases", CASES.to_arrow())
        connection.execute('CREATE TABLE pg.public."odd ""name" AS SELECT * FROM cases')
    assert counted(address) == WHOLE
    with pytest.raises(InputError, match=r"me:\*\*\*@.*it has 'odd \"name'"):
        trueness.scan(address, table="none", settings=SETTINGS)


@pytest.mark.parametrize(
    ("place", "extension"),
    [
        ("s3://bucket/a.parquet", "httpfs"),
        ("https://example.org/a.parquet", "httpfs"),
        ("postgres://me:secret@host/db", "postgres"),
        ("mysql://me:secret@host/db", "mysql"),
    ],
)
def test_an_extension_that_cannot_be_had(place, extension, tmp_path):
    settings = {
        "extension_directory": tmp_path / "none",
        "custom_extension_repository": tmp_path / "nowhere",
    }
    words = rf"needs the extension {extension} of DuckDB.*INSTALL {extension}.*FOLDER"
    with pytest.raises(InputError, match=words) as found:
        trueness.scan(place, settings=settings)
    assert "secret" not in str(found.value)


def test_settings_are_passed_on(tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n1,0.5\n")
    rows = trueness.scan(
        tmp_path / "a.csv", settings={"temp_directory": tmp_path / "o'b"}
    )
    assert rows.columns == ["y", "p"]
    with pytest.raises(InputError, match="cannot be read"):
        trueness.scan(tmp_path / "a.csv", settings={"no_such_setting": 1})
    with pytest.raises(InputError, match="no name of DuckDB"):
        trueness.scan(tmp_path / "a.csv", settings={"a = 1; DROP": 1})
