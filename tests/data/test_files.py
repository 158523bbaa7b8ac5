"""Files are counted where they are, and a broken one is a sentence.

Addresses of HTTP, S3 and PostgreSQL where DuckDB's extensions can be had:
``TRUENESS_DUCKDB_EXTENSIONS`` names a folder that holds them, for machines without a
network. Without the extensions the refusal is tested, and the rest is skipped.
"""

import bz2
import gzip
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from zipfile import ZipFile

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import trueness
from servers import postgres_server
from trueness import InputError
from trueness.data import text_files


@pytest.fixture
def cases(rng):
    score = np.round(rng.random(3000), 3)
    return pl.DataFrame({"y": (rng.random(3000) < score).astype(int), "p": score})


@pytest.fixture
def lake(cases, tmp_path):
    """Three Parquet files in two folders, with what Spark leaves beside them."""
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=2").mkdir()
    cases[:1000].write_parquet(tmp_path / "day=1" / "a.parquet")
    cases[1000:1500].write_parquet(tmp_path / "day=1" / "b.parquet")
    cases[1500:].write_parquet(tmp_path / "day=2" / "a.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "day=1" / ".a.parquet.crc").write_text("x")
    return tmp_path


def counted(frame):
    return trueness.tally(frame, label="y", score="p")


def test_parquet_files_globs_directories_and_lists(lake, cases):
    all_cases = trueness.tally(cases["y"], cases["p"])
    assert counted(trueness.scan(lake)) == all_cases
    assert counted(trueness.scan(f"{lake}/**/*.parquet")) == all_cases

    parts = [lake / "day=1", lake / "day=2" / "a.parquet"]
    assert counted(trueness.scan(parts)) == all_cases

    days = trueness.tally(trueness.scan(lake), label="y", score="p", by="day")
    assert {str(k): t.n for k, t in days.items()} == {"1": 1500, "2": 1500}

    kept = cases.filter(pl.col("p") > 0.5)
    frame = trueness.scan(
        lake, settings={"memory_limit": "200MB", "threads": 1}
    ).filter("p > 0.5")
    assert counted(frame) == trueness.tally(kept["y"], kept["p"])


def test_text_files_plain_and_compressed(tmp_path, cases):
    all_cases = trueness.tally(cases["y"], cases["p"])
    cases.write_csv(tmp_path / "a.csv")
    cases.write_ndjson(tmp_path / "a.jsonl")

    for name in ("a.csv", "a.jsonl"):
        plain = (tmp_path / name).read_bytes()
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(plain))
        with pa.CompressedOutputStream(str(tmp_path / f"{name}.zst"), "zstd") as out:
            out.write(plain)
        (tmp_path / f"{name}.bz2").write_bytes(bz2.compress(plain))
        for ending in ("", ".gz", ".zst", ".bz2"):
            assert counted(trueness.scan(tmp_path / f"{name}{ending}")) == all_cases

    turned = tmp_path / "b.csv"
    cases.select("p", "y").write_csv(turned)
    assert counted(trueness.scan([tmp_path / "a.csv", turned])) == all_cases + all_cases


def test_tables_of_a_database(tmp_path, cases):
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE preds AS SELECT * FROM cases")
    all_cases = trueness.tally(cases["y"], cases["p"])

    assert counted(trueness.scan(path)) == all_cases
    assert counted(trueness.scan(path, table="preds")) == all_cases
    assert counted(trueness.scan(f"{path}::preds")) == all_cases
    with pytest.raises(InputError, match=r"it has 'preds'. Did you mean 'preds'"):
        trueness.scan(path, table="pred")
    with pytest.raises(InputError, match="There is no database"):
        trueness.scan(tmp_path / "y.duckdb")
    with pytest.raises(InputError, match=r"has no table .preds.: it is not"):
        trueness.scan(tmp_path / "a.csv", table="preds")

    path = tmp_path / "o'brien; DROP.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE TABLE "a""b" AS SELECT 1 AS y, 0.5 AS p')
    assert counted(trueness.scan(path)).n == 1


def test_a_broken_file(lake):
    path = lake / "day=2" / "a.parquet"
    held = path.read_bytes()
    for broken in (held[:-100], held[:4] + bytes(596) + held[600:]):
        path.write_bytes(broken)
        with pytest.raises(InputError, match="cannot be read"):
            counted(trueness.scan(lake))


def test_a_file_that_changes_its_schema(lake, cases):
    single = cases[1500:].with_columns(pl.col("p").cast(pl.Float32))
    single.write_parquet(lake / "day=2" / "a.parquet")
    message = (
        r"1 of 3 differ, first .*day=2.*in 'p DOUBLE', 'p FLOAT'.*union_by_name=Tr"
    )

    with pytest.raises(InputError, match=message):
        trueness.scan(lake)

    merged = counted(trueness.scan(lake, union_by_name=True))
    assert merged == sum(trueness.tally(c["y"], c["p"]) for c in (cases[:1500], single))

    cases[1500:].rename({"y": "label"}).write_parquet(lake / "day=2" / "a.parquet")
    with pytest.raises(InputError, match="must have the same columns"):
        trueness.scan(lake)


def test_text_files_that_change_their_columns(tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n1,0.5\n")
    (tmp_path / "b.csv").write_text("y,q\n1,0.5\n")
    with pytest.raises(InputError, match=r"same columns.*b.csv, in 'p', 'q'"):
        trueness.scan(tmp_path)

    (tmp_path / "b.csv").write_text("y,p\n1,high\n")
    with pytest.raises(InputError, match="score 'p' must be numbers"):
        counted(trueness.scan(tmp_path))
    with pytest.raises(InputError, match=r"cannot be read.*high"):
        counted(trueness.scan(tmp_path, types={"p": "DOUBLE"}))


def test_files_that_are_not_there_or_not_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def refused(words, source=".", **options):
        with pytest.raises(InputError, match=words):
            counted(trueness.scan(source, **options))

    refused("There is no file none", "none/*.parquet")
    refused("There is no file a.xlsx", "a.xlsx")
    refused("empty list", [])
    refused("There are no files with '.parquet'")
    for name, text in {
        "a.xlsx": "x",
        "a.csv": "y,p\n1,0.5\n",
        "a.jsonl": '{"y": 1, "p": 0.5}\n{"y":',
    }.items():
        (tmp_path / name).write_text(text)
    refused("a.xlsx is not a readable spreadsheet", "a.xlsx")
    (tmp_path / "a.docx").write_text("x")
    refused("files of one kind.*found '.*a.docx'", "a.docx")
    (tmp_path / "long.csv").write_text("y,p\n1,0.5\n0,0.2,7\n1,0.4\n0,0.1\n")
    refused("Line 3 of long.csv has 3 fields, and the first has 2", "long.csv")
    (tmp_path / "p.csv.bz2").write_text("x")
    refused("cannot be read: Invalid data stream", "p.csv.bz2")
    refused("files of one kind")
    refused("Types of columns are for CSV", "a.jsonl", types={"p": "DOUBLE"})
    refused("cannot be read.*Malformed JSON", "a.jsonl")
    refused("cannot be read", "a.csv", settings={"memory_limit": "lots"})


@pytest.mark.parametrize("name", ["x.sqlite", "x.sqlite3", "x.db"])
def test_sqlite_is_refused_and_nothing_is_fetched(tmp_path, name):
    with closing(sqlite3.connect(tmp_path / name)) as connection, connection:
        connection.execute("CREATE TABLE t (y, p)")
    settings = {"extension_directory": tmp_path / "none"}
    said = r"is a sqlite database.* not installed.*downloads none.*-header -csv"
    with pytest.raises(InputError, match=said):
        trueness.scan(tmp_path / name, settings=settings)


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        ("y;p\n1;0,9\n0;0,25\n", [0.9, 0.25]),
        ("y\tp\n1\t1,5\n0\t2\n", [1.5, 2.0]),
        ('y,p\n1,"0,9"\n0,"-1,2e-3"\n', [0.9, -0.0012]),
        ("y;p\n1;0.9\n0;0.25\n", [0.9, 0.25]),
    ],
)
def test_decimal_commas_and_semicolons(tmp_path, text, scores):
    (tmp_path / "a.csv").write_text(text)
    result = counted(trueness.scan(tmp_path / "a.csv"))
    assert result == trueness.tally([1, 0], scores)


def test_a_comma_that_may_mean_thousands_is_not_guessed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y;p\n1;1,234\n0;2,345\n")
    with pytest.raises(InputError, match="where the comma may mark decimals"):
        counted(trueness.scan(path))

    result = counted(trueness.scan(path, decimal=","))
    assert result == trueness.tally([1, 0], [1.234, 2.345])
    with pytest.raises(InputError, match="decimal must be one of"):
        trueness.scan(path, decimal=";")


@pytest.mark.parametrize("header", ["y,p,p", "y,p,P", '"y","p, q","p, q"'])
def test_columns_of_one_name_are_numbered(tmp_path, header):
    (tmp_path / "a.csv").write_text(f"{header}\n1,0.5,0.1\n0,0.2,0.2\n")
    names = trueness.scan(tmp_path / "a.csv").columns
    assert [n[-3:] for n in names[1:]] == ["(1)", "(2)"]

    (tmp_path / "b.csv").write_text("y,p,p_1\n1,0.5,0.1\n0,0.2,0.2\n")
    assert trueness.scan(tmp_path / "b.csv").columns == ["y", "p", "p_1"]


def test_a_bar_is_shown_while_it_is_found_out_how_a_text_is_written(terminal, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y,p\n1,0.5\n0,0.2\n")
    screen = terminal()

    trueness.scan(path)

    assert "Opening the file" in screen.readouterr().err


FOLDER = os.environ.get("TRUENESS_DUCKDB_EXTENSIONS")
SETTINGS = {"extension_directory": FOLDER} if FOLDER else {}


CASES = pl.DataFrame({"y": np.arange(500) % 3 % 2, "p": np.arange(500) / 500})
WHOLE = trueness.tally(CASES["y"], CASES["p"])


def counted_there(place, **settings):
    return counted(trueness.scan(place, settings=SETTINGS | settings))


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
        assert counted_there(f"http://127.0.0.1:{server}/bucket/{name}") == WHOLE
    with pytest.raises(InputError, match="cannot be read"):
        counted_there(f"http://127.0.0.1:{server}/none.parquet")

    settings = {
        "s3_endpoint": f"127.0.0.1:{server}",
        "s3_url_style": "path",
        "s3_use_ssl": False,
        "s3_region": "eu-central-1",
        "s3_access_key_id": "key",
        "s3_secret_access_key": "it's secret",
    }
    assert counted_there("s3://bucket/a.parquet", **settings) == WHOLE


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
    assert counted_there(address) == WHOLE
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
    message = rf"needs the extension {extension} of DuckDB.*INSTALL {extension}.*FOLDER"
    with pytest.raises(InputError, match=message) as found:
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


TEXTS = {
    "plain": "y,p\n1,0.5\n0,0.25\n",
    "semicolons and decimal commas": "y;p\n1;0,5\n0;0,25\n",
    "quotes": 'y,note,p\n1,"a, ""b""",0.5\n0,c,0.25\n',
    "dates": "y,day,p\n1,02.01.2020,0.5\n0,13.01.2020,0.25\n",
    "times": "y,at,p\n1,2020-01-02 03:04:05,0.5\n0,2020-01-03 03:04:05,0.25\n",
    "no header": "1,0.5\n0,0.25\n1,0.75\n",
    "hostile names": "y,it's,\"p'}); DROP TABLE x; --\"\n1,2,0.5\n0,3,0.25\n",
    "tabs and carriage returns": "y\tp\r\n1\t0.5\r\n0\t0.25\r\n",
    "missing": "y,p\n1,\n,0.25\n0,NA\n",
    "same names": "y,p,p\n1,0.5,0.6\n0,0.25,0.7\n",
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_large_file_is_read_as_a_small_one(kind, tmp_path, monkeypatch):
    path = tmp_path / "cases.csv"
    path.write_text(TEXTS[kind])
    small = trueness.scan(path)
    expected = (small.columns, small.types, small.fetchall())

    monkeypatch.setattr(text_files, "_is_large", lambda files: len(files) == 1)
    large = trueness.scan(path)

    assert (large.columns, large.types, large.fetchall()) == expected


def test_how_a_large_file_is_written_is_found_out_once(tmp_path, monkeypatch):
    path = tmp_path / "cases.csv"
    path.write_text(TEXTS["plain"])
    monkeypatch.setattr(text_files, "_is_large", lambda files: True)
    rows = trueness.scan(path)

    path.write_text("y,p\n1,no number\n")

    with pytest.raises(duckdb.ConversionException):
        rows.fetchall()


LABELS = [1, 0, 1, 0, 1, 0]
SCORES = [0.9, 0.4, 0.4, 0.2, 0.7, 0.8]
EXPECTED = trueness.tally(LABELS, SCORES)


def test_parts_of_objects_are_columns(tmp_path):
    path = tmp_path / "nested.jsonl"
    lines = [
        json.dumps({"truth": y, "output": {"model": "m", "score": p}})
        for y, p in zip(LABELS, SCORES, strict=True)
    ]
    path.write_text("\n".join(lines))

    rows = trueness.scan(path)

    assert rows.columns == ["truth", "output.model", "output.score"]
    assert trueness.tally(rows, label="truth", score="output.score") == EXPECTED


def test_lists_of_one_length_are_columns(tmp_path):
    path = tmp_path / "columns.json"
    path.write_text(json.dumps({"label": LABELS, "score": SCORES}))

    assert trueness.tally(trueness.scan(path), label="label", score="score") == EXPECTED


def test_the_one_file_of_an_archive_is_read(tmp_path):
    text = "label,score\n" + "".join(
        f"{y},{p}\n" for y, p in zip(LABELS, SCORES, strict=True)
    )
    one = tmp_path / "one.zip"
    with ZipFile(one, "w") as archive:
        archive.writestr("__MACOSX/._preds.csv", "x")
        archive.writestr("folder/preds.csv", text)
    two = tmp_path / "two.zip"
    with ZipFile(two, "w") as archive:
        archive.writestr("a.csv", text)
        archive.writestr("b.csv", text)
    broken = tmp_path / "broken.zip"
    broken.write_text(text)

    assert trueness.tally(trueness.scan(one), label="label", score="score") == EXPECTED
    with pytest.raises(InputError, match=r"holds 2: 'a\.csv', 'b\.csv'"):
        trueness.scan(two)
    with pytest.raises(InputError, match="cannot be unpacked"):
        trueness.scan(broken)
