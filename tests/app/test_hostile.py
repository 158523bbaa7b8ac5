"""Files and requests that are meant to harm: nothing is read, nothing is kept."""

import bz2
import gzip
import io
import re
import resource
import shutil
import signal
import socket
import tempfile
import threading
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueness
from app.conftest import process, running
from trueness._core.files import process_folder
from trueness._core.progress import steps
from trueness.app import files
from trueness.cli._source import in_memory
from trueness.data import log_files

TABLE = b"y,a,b\n" + b"".join(
    b"%d,%.4f,%.4f\n" % (k % 3 == 0, (k * 37 % 1000) / 1000, (k * 91 % 1000) / 1000)
    for k in range(2000)
)


# files


@pytest.mark.slow
def test_many_uploads_take_no_more_memory_and_no_more_threads_than_few():
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc")
    with process() as (made, server):
        taken = {}
        for k in range(45):
            status, said = server.upload(f"file{k}.csv", TABLE)
            assert status == 200
            assert server.ask(said["address"]).status == 200
            held = Path(f"/proc/{made.pid}/status").read_text()
            threads = int(re.search(r"Threads:\s+(\d+)", held)[1])
            taken[k] = int(re.search(r"VmRSS:\s+(\d+)", held)[1]) / 1024, threads
            assert taken[k][1] < 60
            assert taken[k][0] < 500
        assert taken[44][1] <= taken[15][1]
        assert taken[44][0] < taken[15][0] + 20
        # the last ones used are kept, and say so when they are gone
        gone = server.ask("/look?file=upload-1")
        assert gone.status == 404
        assert "no longer on the workbench" in gone.text
        assert server.ask("/look?file=upload-30").status == 200


def eval_log(*samples):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("header.json", '{"eval": {"model": "m", "task": "t"}}')
        for k, sample in enumerate(samples):
            log.writestr(f"samples/{k}.json", sample)
    return made.getvalue()


def long_text(letters):
    once = pa.DictionaryArray.from_arrays(
        pa.array([0] * 50_000, pa.int32()), pa.array(["a" * letters])
    )
    made = io.BytesIO()
    table = pa.table({"y": once, "p": pa.array([0.5] * 50_000)})
    pq.write_table(table, made, compression="zstd")
    return made.getvalue()


def zstandard(body):
    return pa.Codec("zstd").compress(body, asbytes=True)


LINES = b"y,p\n" + b"1,0.5\n" * 400_000  # 2.4 MB
DEEP = b"[" * 100_000 + b"]" * 100_000


# without the time, which would be part of the names of the tests
GZIPPED = gzip.compress(LINES, mtime=0)
CUT_OFF = gzip.compress(LINES[:9000], mtime=0)[:-30]


@pytest.fixture(scope="module")
def strict():
    with running(limit=1) as server:
        yield server


@pytest.fixture
def small_logs(monkeypatch):
    """Let logs unpack to 2 MB at most."""
    monkeypatch.setattr(log_files, "MAX_UNPACKED_BYTES", 2**21)


def refuse(server, name, body, status, sentence):
    """Upload a file that is refused with a sentence, and of which nothing stays."""
    answer, told = server.upload(name, body)

    assert answer == status
    assert sentence in told["problem"]
    assert "Traceback" not in told["problem"]
    # where it lies is nobody's concern, and it is gone
    assert tempfile.gettempdir() not in told["problem"]
    assert [p for p in process_folder().rglob("*") if p.name[:3] == name[:3]] == []
    assert server.ask("/").status == 200


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("a.csv.gz", GZIPPED),
        ("a.csv.zst", zstandard(LINES)),
        ("a.csv.bz2", bz2.compress(LINES)),
    ],
    ids=["gzip", "zstandard", "bzip2"],
)
def test_a_file_that_unpacks_to_more_is_refused(small_logs, strict, name, body):
    refuse(strict, name, body, 413, "unpacks to what is larger than 1 MB")


ONE_MEGABYTE = b'{"x": "%s"}' % (b"a" * 2**20)
MANY_VALUES = b'{"x": [' + b"[]," * 5000 + b"1]}"


@pytest.mark.parametrize(
    ("name", "body", "sentence"),
    [
        ("deep.json", b'{"a": ' + DEEP + b"}", "levels deep"),
        ("deep.jsonl", b'{"y": 1, "p": ' + DEEP + b"}\n", "levels deep"),
        ("long.parquet", long_text(2**21), "holds a value of 2,097,152 characters"),
        ("many.eval", eval_log(*[ONE_MEGABYTE] * 3), "unpacks to more than 2 MB"),
    ],
    ids=["JSON", "lines of JSON", "one value", "samples of a log"],
)
def test_a_file_that_takes_much_memory_is_refused(
    small_logs, strict, name, body, sentence
):
    refuse(strict, name, body, 400, sentence)


def test_a_log_of_many_values_is_refused(monkeypatch, small_logs, strict):
    monkeypatch.setattr(log_files, "MAX_JSON_VALUES", 1000)

    refuse(strict, "values.eval", eval_log(MANY_VALUES), 400, "more than 1,000 values")


@pytest.mark.parametrize(
    ("name", "body", "sentence"),
    [
        ("cut.csv.gz", CUT_OFF, "cannot be unpacked"),
        ("a.parquet", b"no parquet at all", "a.parquet"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"y,p\n", "no rows"),
        ("a.xlsx", b"PK", "spreadsheet"),
        ("a.exe", b"MZ", "files of one kind"),
        ("a.csv.gz", b"no gzip", "a.csv.gz"),
        ("a.jsonl", b"{]", "a.jsonl"),
        ("noise.csv", bytes(range(256)) * 40, "noise.csv"),
        ("short.parquet", b"PAR1" + bytes(40), "short.parquet"),
    ],
    ids=[
        *("gzip cut off", "text called Parquet", "empty", "header only"),
        *("head of a spreadsheet", "program", "text called gzip", "broken JSON"),
        *("noise", "Parquet cut off"),
    ],
)
def test_a_broken_file_is_refused(small_logs, strict, name, body, sentence):
    refuse(strict, name, body, 400, sentence)


def as_parquet(**columns):
    """Write 100 cases with labels, scores and one more column, in very few bytes."""
    table = {"y": [0, 1] * 50, "p": [k / 100 for k in range(100)], **columns}
    written = io.BytesIO()
    pq.write_table(pa.table(table), written, compression="zstd")
    return written.getvalue()


def repeated(value):
    once = pa.array([value])
    return pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), once)


LARGE_COLUMNS = {
    "bytes": repeated(bytes(4_000_000)),
    "list": pa.array([[0] * 2_000_000] + [[]] * 99),
    "structure": pa.array([{"a": [0] * 2_000_000}] + [{"a": []}] * 99),
}


@pytest.mark.parametrize("kind", LARGE_COLUMNS)
def test_lists_structures_and_bytes_are_never_read(served, kind):
    status, said = served.upload("x.parquet", as_parquet(big=LARGE_COLUMNS[kind]))
    assert status == 200, said
    word = said["address"].rpartition("=")[2]
    # a part of a structure is a column by its path
    column = "big.a" if kind == "structure" else "big"

    page = served.ask(said["address"])
    read = served.ask(f"/count?file={word}&label=y&column=p&by={column}")
    flagged = served.ask(f"/take/flagged.csv?file={word}&label=y&column=p&cut=0.5")

    assert page.status == 200
    assert "big" in page.text
    assert "must hold one value per row" in read.text
    assert flagged.text.splitlines()[0] == "y,p"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 3_000_000  # kB


def test_texts_are_limited_as_they_come_out(strict):
    status, said = strict.upload("x.parquet", as_parquet(t=repeated("a" * 20_000)))

    assert status == 413
    assert "unpacks to what is larger than 1 MB" in said["problem"]


@pytest.mark.parametrize("name", ["wide.csv", "wide.parquet"])
def test_a_file_with_very_many_columns_is_refused(served, name):
    columns = [f"c{k}" for k in range(1200)]
    body = ("y,p," + ",".join(columns) + "\n").encode()
    if name.endswith("parquet"):
        body = as_parquet(**dict.fromkeys(columns, ["a"] * 100))

    status, said = served.upload(name, body)

    assert status == 400
    assert "has 1,202 columns; 1,000 is the limit for uploads" in said["problem"]


GENERATED = "list_sum(range(10 + y))"


@pytest.mark.parametrize("way", ["page", "shell"])
def test_generated_columns_are_refused(served, tmp_path, way):
    path = tmp_path / "generated.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute(f"CREATE TABLE t (y INTEGER, s DOUBLE AS ({GENERATED}))")
        made.execute("INSERT INTO t SELECT 1 FROM range(10)")

    if way == "shell":
        with pytest.raises(trueness.InputError, match="has generated columns"):
            trueness.scan(path)
    else:
        status, said = served.upload(path.name, path.read_bytes())
        assert status == 400
        assert "has generated columns" in said["problem"]


def test_tables_in_memory_have_a_memory_limit_of_their_own():
    rows = in_memory(pa.table({"a": [1]}))
    limit = "SELECT current_setting('memory_limit')"

    assert rows.query("_", limit).fetchall() == [("953.6 MiB",)]


def test_rows_that_take_no_bytes_are_counted(monkeypatch, served):
    monkeypatch.setattr(files, "MAX_ROWS", 10_000)
    made = io.BytesIO()
    pq.write_table(pa.table({"y": [1] * 20_000, "p": [0.5] * 20_000}), made)
    status, said = served.upload("rows.parquet", made.getvalue())
    assert status == 400
    assert "holds 20,000 rows; 10,000 is the limit" in said["problem"]


def test_a_compressed_upload_is_the_table(served):
    for name, body in (
        ("a.csv.gz", gzip.compress(TABLE)),
        ("a.csv.zst", zstandard(TABLE)),
        ("a.csv.bz2", bz2.compress(TABLE)),
    ):
        status, said = served.upload(name, body)
        assert status == 200, said
        word = said["address"].rpartition("=")[2]
        assert "2,000" in served.section("summary", file=word)
        assert name in served.ask(said["address"]).text


@pytest.mark.parametrize(
    "view",
    [
        "SELECT * FROM read_csv('{secret}')",
        "SELECT content AS y, 1 AS p FROM read_text('{secret}')",
        "SELECT file AS y, 1 AS p FROM glob('{folder}/*')",
        "SELECT * FROM reads()",
        "SELECT * FROM query('FROM read_csv(''{secret}'')')",
        "SELECT * FROM '{secret}'",
        "SELECT content AS y, 1 AS p FROM read_blob('{secret}')",
        "SELECT name AS y, 1 AS p FROM duckdb_secrets()",
        "SELECT * FROM sniff_csv('{secret}')",
        # one that never ends, and one that tells where files lie
        "SELECT range % 2 AS y, random() AS p FROM range(1000000000000000)",
        "WITH RECURSIVE r AS (SELECT 1 AS y UNION ALL FROM r) SELECT y, y AS p FROM r",
        "SELECT current_setting('temp_directory') AS y, 1 AS p",
    ],
)
def test_a_view_of_a_database_reads_no_file(served, tmp_path, view):
    secret = tmp_path / "secret.csv"
    secret.write_text("y,p\n1,0.123456\n0,0.5\n")
    path = tmp_path / "view.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute(f"CREATE MACRO reads() AS TABLE FROM read_csv('{secret}')")
        made.execute(f"CREATE VIEW v AS {view.format(secret=secret, folder=tmp_path)}")
    status, said = served.upload("view.duckdb", path.read_bytes())
    assert status == 400
    assert "holds the view 'v'; uploads are read from tables" in said["problem"]
    if "secret" not in view and "reads" not in view and "glob" not in view:
        return
    same = Path(shutil.copy(path, tmp_path / "same.duckdb"))
    with pytest.raises(trueness.InputError, match="Cannot access") as told:
        trueness.look(trueness.scan(same))
    assert "0.123456" not in str(told.value)
    # one of its own tables is read all the same
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE t AS FROM (VALUES (1, 0.5), (0, 0.25)) AS t(y, p)")
        made.execute("CREATE OR REPLACE VIEW v AS SELECT y, p FROM t")
        made.execute("CREATE VIEW w AS FROM v")
    assert trueness.scan(path, table="w").fetchall()[0][0] == 1


# requests


def begun(server, number, body=b"", size=1000):
    """Begin requests that do not go on by themselves: heads, and bodies."""
    head = f"POST /upload?name=a.csv HTTP/1.1\r\nHost: {server.own}\r\n"
    session = f"X-Trueness-Session: {server.secret}\r\n"
    whole = f"{head}{session}Content-Length: {size}\r\n\r\n".encode() + body
    for k in range(number):
        line = socket.create_connection((server.host, server.port), timeout=10)
        line.sendall([whole, b"", head.encode()][k % 3])
        yield line


def test_half_requests_are_not_held(monkeypatch, served):
    monkeypatch.setattr("trueness.app.access.REQUEST_TIMEOUT_S", 0.3)
    lines, start = [*begun(served, 30, b"y,p\n")], time.monotonic()
    for line in lines:
        with line, suppress(ConnectionResetError):
            assert line.recv(100) == b""
    assert time.monotonic() - start < 8
    assert served.ask("/").status == 200


def test_a_slow_body_that_goes_on_is_taken(monkeypatch, served):
    monkeypatch.setattr("trueness.app.access.REQUEST_TIMEOUT_S", 0.5)
    monkeypatch.setattr("trueness.app.access.MIN_BODY_PART", 100)
    size = len(TABLE) // 5 + 1
    (line,) = begun(served, 1, size=len(TABLE))
    with line:
        for k in range(5):
            line.sendall(TABLE[k * size : (k + 1) * size])
            time.sleep(0.2)
        assert b" 200 " in line.recv(1000)


def test_connections_beyond_the_handles_are_refused_quietly(small):
    """Open more connections than handles; the page then answers as before."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (160, 160))"
    with process(small, first=limit) as (server_process, server):
        assert server.ask("/").status == 200
        lines = []
        for _ in range(400):
            line = socket.socket()
            line.settimeout(2)
            with suppress(OSError):
                line.connect((server.host, server.port))
            lines.append(line)
        time.sleep(0.5)
        for line in lines:
            line.close()
        time.sleep(0.5)
        assert server.ask("/").status == 200

        server_process.send_signal(signal.SIGINT)
        told = server_process.communicate(timeout=20)[1]

    assert "Traceback" not in told
    assert "accept" not in told


# jobs


def stopped_soon(one_lane, work, seconds=10.0):
    """Start work of minutes, stop it in its midst, and say whether its thread ends.

    On a quiet machine it ends within a second; a loaded one gets more time, and is
    still far from the minutes that the work would take.
    """
    job = one_lane.find_or_begin("long", work, "tab", 0)
    while job.thread is None:
        time.sleep(0.01)
    time.sleep(0.5)
    assert job.thread.is_alive(), job.result

    one_lane.stop("long")
    job.thread.join(seconds)

    return not job.thread.is_alive()


def pairs_of_scores(size):
    rng = np.random.default_rng(5)
    y = rng.random(size) < 0.3
    return y, {name: rng.normal(size=size) + y for name in ("a", "b", "c")}


LONG_WORK = {
    "bootstrap": lambda t, p: [trueness.roc_band(t) for _ in range(1000)],
    "comparison": lambda t, p: [trueness.dominates(p, "a", "b") for _ in range(1000)],
    "validation": lambda t, p: [trueness.validate_threshold(t) for _ in range(10**4)],
    "combiners": lambda t, p: [trueness.compare_combiners(p) for _ in range(1000)],
    "calibration": lambda t, p: [trueness.calibrate(t) for _ in range(10**4)],
    "thresholds": lambda t, p: [trueness.best_threshold(t) for _ in range(10**6)],
}


@pytest.mark.parametrize("name", LONG_WORK)
def test_long_work_ends_soon_after_a_stop(one_lane, name):
    y, scores = pairs_of_scores(20_000)
    tally = trueness.tally(y, scores["a"])
    panel = trueness.panel(y, scores)

    assert stopped_soon(one_lane, lambda: LONG_WORK[name](tally, panel))


def test_after_a_stop_the_lane_takes_the_next_job(one_lane):
    assert stopped_soon(one_lane, endless_bootstrap)

    after = one_lane.find_or_begin("next", lambda: 7, "tab", 0)

    assert after.finished.wait(10)
    assert after.result == 7


def endless_bootstrap():
    for _ in steps(range(10**9), "Bootstrap"):
        time.sleep(0.001)


def test_what_fails_tells_no_path_of_this_machine(one_lane):
    def broken():
        raise RuntimeError(f"in {tempfile.gettempdir()}/trueness-1/x.csv")

    job = one_lane.find_or_begin("broken", broken, "tab", 0)

    assert job.finished.wait(10)
    assert "RuntimeError" in job.result
    assert tempfile.gettempdir() not in job.result


def test_a_stop_ends_the_query_of_its_job_and_of_no_other(one_lane, tmp_path):
    duckdb.sql("SELECT random() AS y, random() AS p FROM range(1000)").write_parquet(
        str(tmp_path / "a.parquet")
    )
    file = files.DataFile("a", "a.parquet", str(tmp_path / "a.parquet"))
    begun = threading.Event()

    def endless():
        with file.locked():
            begun.set()
            join = "SELECT count(*) FROM r a, r b, r c, r d WHERE a.p + b.p > c.p + d.y"
            return file.source.rows.query("r", join).fetchall()

    job = one_lane.find_or_begin("long", endless, "tab", 0, engine=file)
    assert begun.wait(10)
    time.sleep(0.2)
    file.interrupt(threading.get_ident())  # not of this thread: nothing happens
    assert job.thread.is_alive(), job.result
    one_lane.stop("long")
    job.thread.join(10)
    assert not job.thread.is_alive()
    assert file.rows == 1000


# what a kill leaves


@pytest.mark.slow
def test_what_a_killed_server_left_is_swept_by_the_next(tmp_path):
    def kept():
        return [p for p in tmp_path.glob("trueness-*/**/*.csv") if p.is_file()]

    with process(TMPDIR=str(tmp_path)) as (killed, server):
        assert server.upload("left.csv", TABLE)[0] == 200
        assert len(kept()) == 1
        killed.kill()
        killed.wait()
    assert len(kept()) == 1
    with process(TMPDIR=str(tmp_path)) as (second, server):
        assert kept() == []
        assert server.upload("mine.csv", TABLE)[0] == 200
        with process(TMPDIR=str(tmp_path)):  # of one that lives nothing is taken
            assert len(kept()) == 1
        second.send_signal(signal.SIGINT)
        second.wait(20)
    assert kept() == []
    assert tempfile.gettempdir() != str(tmp_path)
